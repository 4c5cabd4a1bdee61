//! Memory that calls work with and leave to the next call, so that none after the first allocates.

use super::vertex_buffer::VertexBufferView;

/// What the driver of a call works with.
#[derive(Default)]
pub(super) struct Work<'b> {
    /// One entry an input element: what the vertices of the call's range read, the first one's bytes first.
    pub attributes: Vec<VertexBufferView<'b>>,
    /// For the attributes of a block.
    pub block: Vec<VertexBufferView<'static>>,
    /// For rows of vertices that do not lie one behind the other.
    pub gathered: Vec<u8>,
}

impl Work<'_> {
    /// The memory, for a call that borrows something else.
    pub fn recycle<'b>(self) -> Work<'b> {
        let Work { attributes, block, gathered } = self;
        Work { attributes: recycle(attributes), block, gathered }
    }
}

/// The memory of a vector, for items that borrow something else.
pub(super) fn recycle<A, B>(mut items: Vec<A>) -> Vec<B> {
    const { assert!(size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()) };
    items.clear();
    items.into_iter().map(|_| unreachable!("it has been cleared")).collect()
}
