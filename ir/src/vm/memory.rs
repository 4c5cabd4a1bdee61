//! What instructions read and write beside registers, and the ops that are done lane by lane.

use super::bytecode::{Bytecode, Double, Instruction, TextureAccess, split};
use super::dispatch::Together;
use super::{LANES, Register};
use crate::double;
use crate::entity::Resource;
use crate::eval::Lanes;
use crate::function::Function;
use crate::op::RESOURCE_BYTES;
use crate::texture::{self, Rows, Textures};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// What all runs of a call share.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// One entry a uniform space: its rows, which are the table for spaces that are tables.
    pub uniforms: &'a [&'a [[u32; 4]]],
    /// One entry a resource: its bytes; none for textures.
    pub resources: &'a [&'a [u8]],
    /// What texture accesses give.
    pub textures: &'a dyn Textures,
}

impl<'a> Shared<'a> {
    /// The rows of each uniform space of a function: a table's own, else what is bound in its place.
    pub fn rows(
        func: &'a Function,
        bound: impl IntoIterator<Item = &'a [[u32; 4]]>,
    ) -> impl Iterator<Item = &'a [[u32; 4]]> {
        let mut bound = bound.into_iter();
        func.spaces.values().map(move |space| {
            let rows = bound.next().unwrap_or_default();
            space.table.as_deref().unwrap_or(rows)
        })
    }

    /// One component of the row of each lane's index in a uniform space.
    #[inline]
    pub(super) fn uniform_words(&self, inst: &Instruction, index: &Lanes<LANES>) -> Lanes<LANES> {
        let (space, component) = split(inst.b);
        let rows = self.uniforms.get(space).copied().unwrap_or_default();
        let word = |index: u32| rows.get(inst.c.wrapping_add(index) as usize).map_or(0, |row| row[component]);
        if is_same(index) { [word(index[0]); LANES] } else { index.map(word) }
    }

    /// What can be read of a resource.
    #[inline]
    pub(super) fn readable(&self, resource: u32) -> &'a [u8] {
        let bytes = self.resources.get(resource as usize).copied().unwrap_or_default();
        &bytes[..bytes.len().min(RESOURCE_BYTES as usize)]
    }

    /// The word at each lane's address in a resource.
    #[inline]
    pub(super) fn resource_words(&self, inst: &Instruction, address: &Lanes<LANES>) -> Lanes<LANES> {
        let bytes = self.readable(inst.b);
        address.map(|at| {
            let word = (at as usize).checked_add(inst.c as usize).and_then(|start| bytes.get(start..)?.first_chunk());
            word.map_or(0, |&word| u32::from_le_bytes(word))
        })
    }
}

impl Shared<'_> {
    /// The words of memory, behind the one that takes what is dropped.
    fn memory(&self, resource: u32) -> &[AtomicU32] {
        self.textures.words(Resource::from_u32(resource)).and_then(|words| words.get(1..)).unwrap_or_default()
    }

    /// The word at each lane's address in memory.
    #[inline]
    pub(super) fn memory_words(&self, inst: &Instruction, address: &Lanes<LANES>) -> Lanes<LANES> {
        let words = self.memory(inst.b);
        address.map(|at| words.get(word_number(at, inst.c)).map_or(0, |word| word.load(Ordering::Acquire)))
    }

    /// Stores what each lane has at its address in memory, one lane after the other, where the mask is not zero.
    #[inline]
    pub(super) fn store_words(
        &self,
        (resource, offset): (u32, u32),
        address: &Lanes<LANES>,
        values: &Lanes<LANES>,
        mask: &[u32],
    ) {
        let words = self.memory(resource);
        for (lane, _) in mask.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            if let Some(word) = words.get(word_number(address[lane], offset)) {
                word.store(values[lane], Ordering::Release);
            }
        }
    }
}

/// The number of the word at a byte; the low two bits do not count.
fn word_number(byte: u32, offset: u32) -> usize {
    ((u64::from(byte & !3) + u64::from(offset & !3)) / 4) as usize
}

/// Whether a register holds the same in all lanes.
#[inline]
fn is_same(lanes: &Lanes<LANES>) -> bool {
    lanes.iter().fold(0, |differences, lane| differences | (lane ^ lanes[0])) == 0
}

/// Register arrays.
#[derive(Debug)]
pub(super) struct Arrays {
    /// One entry an array: `[element][component]`.
    cells: Vec<Vec<Register>>,
    components: Vec<usize>,
    /// Those that begin as zero.
    zeroed: Vec<usize>,
}

impl Arrays {
    pub fn new(code: &Bytecode) -> Arrays {
        let shapes = &code.arrays;
        Arrays {
            cells: shapes
                .iter()
                .map(|shape| vec![Register::ZERO; shape.elements as usize * usize::from(shape.components)])
                .collect(),
            components: shapes.iter().map(|shape| usize::from(shape.components)).collect(),
            zeroed: (0..shapes.len()).filter(|&array| !shapes[array].kept).collect(),
        }
    }

    /// Begins a run.
    pub fn clear(&mut self) {
        for &array in &self.zeroed {
            self.cells[array].fill(Register::ZERO);
        }
    }

    /// The cells of an array.
    pub fn cells(&self, array: usize) -> &[Register] {
        &self.cells[array]
    }

    fn cell(&self, place: u32, index: u32) -> Option<usize> {
        let (array, component) = split(place);
        (index as usize).checked_mul(self.components[array])?.checked_add(component)
    }

    /// What each lane has at its index.
    #[inline]
    pub fn load(&self, place: u32, index: &Lanes<LANES>) -> Lanes<LANES> {
        let cells = &self.cells[split(place).0];
        let cell = |index: u32| cells.get(self.cell(place, index)?);
        if is_same(index) {
            return cell(index[0]).map_or([0; LANES], |cell| cell.0);
        }
        std::array::from_fn(|lane| cell(index[lane]).map_or(0, |cell| cell.0[lane]))
    }

    /// Stores what each lane has at its index, where the mask is not zero.
    #[inline]
    pub fn store(&mut self, place: u32, index: &Lanes<LANES>, values: &Lanes<LANES>, mask: &Lanes<LANES>) {
        let array = split(place).0;
        for lane in (0..LANES).filter(|&lane| mask[lane] != 0) {
            let cell = self.cell(place, index[lane]);
            if let Some(cell) = cell.and_then(|cell| self.cells[array].get_mut(cell)) {
                cell.0[lane] = values[lane];
            }
        }
    }
}

/// Does an op on doubles, and gives the words of its result.
pub(super) fn compute(op: &Double, registers: &[Register]) -> [Lanes<LANES>; 2] {
    let operands = op.operands.map(|[low, high]| [&registers[low as usize].0, &registers[high as usize].0]);
    let mut result = [[0; LANES]; 2];
    for lane in 0..LANES {
        let bits = operands.map(|[low, high]| u64::from(high[lane]) << 32 | u64::from(low[lane]));
        let bits = double::eval(op.op, bits);
        (result[0][lane], result[1][lane]) = (bits as u32, (bits >> 32) as u32);
    }
    result
}

/// Makes an access for the waves that go on together, and gives the words of the answer. Lanes behind the last wave's
/// get what that one gets.
pub(super) fn access_all(
    op: &TextureAccess,
    registers: &[Register],
    lanes: usize,
    together: &Together<'_, '_>,
    textures: &dyn Textures,
) -> [Lanes<LANES>; 4] {
    let mut result = [[0; LANES]; 4];
    for wave in (0..together.waves).filter(|&wave| together.meters[wave].is_some()) {
        access(op, registers, wave * lanes..(wave + 1) * lanes, textures, &mut result);
    }
    let used = together.waves * lanes;
    for word in &mut result {
        for lane in used..LANES {
            word[lane] = word[lane - lanes];
        }
    }
    result
}

/// Makes an access for some lanes, and gives the words of the answer.
fn access(
    access: &TextureAccess,
    registers: &[Register],
    lanes: Range<usize>,
    textures: &dyn Textures,
    result: &mut [Lanes<LANES>; 4],
) {
    let mut rows = Rows::ZERO;
    let count = lanes.len().min(texture::LANES);
    for (to, from) in rows.0.iter_mut().zip(&access.operands).take(access.count) {
        for (to, &from) in to.iter_mut().zip(from) {
            to[..count].copy_from_slice(&registers[from as usize].0[lanes.start..lanes.start + count]);
        }
    }
    textures.access(&access.access, count, &mut rows);
    for (to, from) in result.iter_mut().zip(&rows.0[0]) {
        to[lanes.start..lanes.start + count].copy_from_slice(&from[..count]);
    }
}
