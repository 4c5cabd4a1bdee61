//! The ops of the IR on memory: on the views of a call, and on what a group shares. What reads only, it leaves to the
//! call's textures.

use super::view::View;
use super::{AtomicBuffer, LINE, MemoryView, PAGE};
use crate::frontend::{ResourceDecl, ResourceFile};
use crate::texture::{BoundTextures, ImageLayout, TexelFormat, TextureShape};
use shaderjit_ir::memory::{AtomicFunction, is_memory_op};
use shaderjit_ir::texture::{Access, LANES, Rows, Textures};
use shaderjit_ir::{Op, Resource};
use std::sync::atomic::AtomicU32;

/// The views of a call. One entry a resource of the interface.
#[derive(Clone, Debug)]
pub(crate) struct BoundMemory<'a>(Vec<Option<MemoryView<'a>>>);

impl<'a> BoundMemory<'a> {
    /// Nothing is bound to so many resources.
    pub fn new(resources: usize) -> BoundMemory<'a> {
        BoundMemory(vec![None; resources])
    }

    pub fn bind(&mut self, index: usize, view: Option<MemoryView<'a>>) {
        self.0[index] = view;
    }

    pub fn is_bound(&self, index: usize) -> bool {
        self.0[index].is_some()
    }
}

/// Everything that the accesses of a group ask.
#[derive(Debug)]
pub(crate) struct GroupMemory<'c, 'a> {
    textures: &'c BoundTextures<'a>,
    views: &'c BoundMemory<'a>,
    /// One entry a resource: what the group shares.
    shared: Vec<Option<AtomicBuffer>>,
}

impl<'c, 'a> GroupMemory<'c, 'a> {
    /// Memory for one group at a time.
    pub fn new(
        textures: &'c BoundTextures<'a>,
        views: &'c BoundMemory<'a>,
        declared: &[ResourceDecl],
    ) -> GroupMemory<'c, 'a> {
        let mut next = 0;
        let shared = declared.iter().map(|decl| match decl.file {
            ResourceFile::Shared { bytes } => {
                let offset = in_one_page(&mut next, (bytes as usize).div_ceil(4));
                Some(AtomicBuffer::in_page(bytes as usize, offset))
            }
            _ => None,
        });
        GroupMemory { textures, views, shared: shared.collect() }
    }

    /// Makes what is shared zero, for another group.
    pub fn clear_shared(&self) {
        self.shared.iter().flatten().for_each(AtomicBuffer::clear);
    }

    /// The memory of a resource.
    fn view(&self, resource: usize) -> Option<MemoryView<'_>> {
        match self.shared.get(resource)? {
            Some(shared) => Some(MemoryView::raw(shared)),
            None => *self.views.0.get(resource)?,
        }
    }
}

/// Where in a page the next of what a group shares lies, in words: one behind the other, but what has room in a page
/// lies in one. Rows of a tile begin at any word, and a vector that is stored into two pages takes tens of cycles.
fn in_one_page(next: &mut usize, words: usize) -> usize {
    // Each has a word in front.
    let at = next.next_multiple_of(LINE) + LINE;
    let page = at.next_multiple_of(PAGE);
    let at = if at + words > page && words + LINE <= PAGE { page + LINE } else { at };
    *next = at + words;
    at % PAGE
}

impl Textures for GroupMemory<'_, '_> {
    fn words(&self, resource: Resource) -> Option<&[AtomicU32]> {
        self.view(resource.as_u32() as usize)?.words()
    }

    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        if !is_memory_op(access.op) {
            return self.textures.access(access, lanes, rows);
        }
        let view = self.view(access.texture.as_u32() as usize);
        let mask = access.op.is_masked().then(|| access.op.operands().len() - 1);
        for lane in 0..lanes.min(LANES) {
            let runs = mask.is_none_or(|mask| rows.0[mask][0][lane] != 0);
            let answer = match &view {
                Some(view) if runs => view.answer(access, rows.get(0, lane), rows.get(1, lane)),
                _ => [0; 4],
            };
            rows.set(lane, answer);
        }
    }
}

impl<'a> MemoryView<'a> {
    /// The words that ops on bytes reach, behind one that takes what is dropped.
    fn words(&self) -> Option<&'a [AtomicU32]> {
        let has_bytes = matches!(self.kind, View::Raw | View::Structured { .. });
        has_bytes.then(|| &self.buffer.words()[..1 + self.size() / 4])
    }

    /// One lane's answer.
    fn answer(&self, access: &Access, address: [u32; 4], value: [u32; 4]) -> [u32; 4] {
        let word = || self.word_at(address[0], access.offset);
        match (access.op, access.function) {
            (Op::MemoryLoad, _) => [word().and_then(|index| self.buffer.word(index)).unwrap_or(0), 0, 0, 0],
            (Op::MemoryStore | Op::MemoryStoreMasked, _) => {
                if let Some(index) = word() {
                    self.buffer.set_word(index, value[0]);
                }
                [0; 4]
            }
            (Op::MemoryAtomic | Op::MemoryAtomicMasked, Some(function)) => self.update(word(), function, value),
            (Op::TexelAtomic | Op::TexelAtomicMasked, Some(function)) => {
                let texel = self.texel_at(address).filter(|(format, _)| format.is_word());
                self.update(texel.map(|(_, start)| start / 4), function, value)
            }
            (Op::TexelLoad, _) => match self.texel_at(address) {
                Some((format, start)) => format.decode(&self.buffer.element(start, format.bytes())[..format.bytes()]),
                None => self.format().map_or([0; 4], |format| format.decode(&[])),
            },
            (Op::TexelStore | Op::TexelStoreMasked, _) => {
                if let Some((format, start)) = self.texel_at(address) {
                    self.buffer.set_element(start, format.bytes(), format.encode(value));
                }
                [0; 4]
            }
            (Op::MemorySize, _) => self.sizes(),
            (op, _) => {
                debug_assert!(false, "{op} accesses no memory");
                [0; 4]
            }
        }
    }

    fn update(&self, index: Option<usize>, function: AtomicFunction, [value, compare, ..]: [u32; 4]) -> [u32; 4] {
        let old = index.and_then(|index| self.buffer.update(index, |old| function.apply(old, value, compare)));
        [old.unwrap_or(0), 0, 0, 0]
    }

    /// The number of the word at a byte, if it is inside.
    fn word_at(&self, byte: u32, offset: u32) -> Option<usize> {
        let start = (byte as usize & !3).checked_add(offset as usize & !3)?;
        (matches!(self.kind, View::Raw | View::Structured { .. }) && start < self.size()).then_some(start / 4)
    }

    fn format(&self) -> Option<TexelFormat> {
        match self.kind {
            View::Typed(format) => Some(format),
            View::Image(layout) => Some(layout.format()),
            View::Raw | View::Structured { .. } => None,
        }
    }

    /// Format and first byte of the texel at an address, if it is inside.
    fn texel_at(&self, address: [u32; 4]) -> Option<(TexelFormat, usize)> {
        let (format, index) = match self.kind {
            View::Typed(format) => (format, address[0] as usize),
            View::Image(layout) => (layout.format(), texel_number(&layout, address)?),
            View::Raw | View::Structured { .. } => return None,
        };
        (index < self.size()).then(|| (format, index * format.bytes()))
    }

    fn sizes(&self) -> [u32; 4] {
        let View::Image(layout) = self.kind else { return [self.size() as u32, 0, 0, 0] };
        let info = layout.info();
        match info.shape {
            TextureShape::D1 => [info.width, 0, 0, 0],
            TextureShape::D1Array => [info.width, info.slices, 0, 0],
            TextureShape::D2Array => [info.width, info.height, info.slices, 0],
            TextureShape::D3 => [info.width, info.height, info.depth, 0],
            _ => [info.width, info.height, 0, 0],
        }
    }
}

/// The number of a texel, if it is inside.
fn texel_number(layout: &ImageLayout, address: [u32; 4]) -> Option<usize> {
    let info = layout.info();
    let directions = info.shape.coordinates();
    let place: [u32; 3] = std::array::from_fn(|axis| if axis < directions { address[axis] } else { 0 });
    let layer = if info.shape.is_array() { address[directions] } else { 0 };
    let sizes = [info.width, info.height, info.depth];
    let is_inside = layer < info.layers() && place.iter().zip(sizes).all(|(&at, size)| at < size);
    let [x, y, z] = place.map(|at| at as usize);
    let [width, height, depth] = sizes.map(|size| size as usize);
    is_inside.then(|| ((layer as usize * depth + z) * height + y) * width + x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_group_shares_lies_in_one_page_if_that_has_room() {
        let (mut next, mut places) = (0, Vec::new());
        for words in [64, 72, 0, PAGE - LINE, 900, 200, 5000, 10] {
            let at = in_one_page(&mut next, words);
            assert!(at.is_multiple_of(LINE) && (at + words <= PAGE || words > PAGE - LINE), "{words} at {at}");
            places.push(at);
        }
        assert_eq!(places[..4], [16, 96, 192, 16]);
    }
}
