//! Index buffers.

/// The part of an index buffer that is drawn. No index restarts a strip: the caller removes such indices before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Indices<'a> {
    /// `DXGI_FORMAT_R16_UINT`.
    U16(&'a [u16]),
    /// `DXGI_FORMAT_R32_UINT`.
    U32(&'a [u32]),
}

impl Indices<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Indices::U16(indices) => indices.len(),
            Indices::U32(indices) => indices.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
