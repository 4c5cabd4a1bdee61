//! Words of elements side by side in memory, as threads have elements of structured buffers: what is loaded of them is
//! loaded by rows and transposed, what is stored of them is transposed and stored by rows, as vertices are.
//!
//! Where half of the lanes have one element and the others another one, as the rows of a tile, both rows are loaded
//! instead of each word of both.
//!
//! As those of vertices, rows are of four words. Loads of a block at one address are made with the first of them that
//! is in the row, unless something is stored in between; stores that follow each other, of words side by side, are made
//! with the last.

use super::Selector;
use super::coalesce::{Certainty, MAX_DISTANCE, Place, Shape, Together, UPPER_HALF};
use super::code::Address;
use super::encode::Condition;
use super::fetch::RowAddresses;
use super::simd::wanted_words;
use foldhash::HashMap;
use regalloc2::VReg;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::Memory;
use shaderjit_ir::{Block, Inst, Op, Resource, Value};

/// Fewer words of a row are no quicker than each by itself: where words are gathered by an instruction, and of two
/// elements.
const WORTH_ROWS: u32 = 3;

/// Where the elements of lanes lie.
#[derive(Clone, Copy)]
enum Lie {
    /// So many bytes from each lane's to the next.
    Apart(u32),
    /// The lower half of the lanes has one, the upper half another so many bytes behind it.
    InHalves(u32),
}

/// Words that are loaded together.
struct Loads {
    address: Value,
    lie: Lie,
    is_memory: bool,
    resource: Resource,
    /// Where the row begins, behind the address.
    at: u32,
    /// Which of its words, bit 0 for the first.
    wanted: u8,
    /// They, once they are there.
    words: Option<[VReg; 4]>,
}

/// Words side by side that are stored together.
struct Stores {
    insts: Vec<Inst>,
    /// From the element of each lane to the next.
    distance: u32,
    resource: Resource,
    /// Where the first is, behind the address.
    at: u32,
}

/// The accesses of a block to elements.
#[derive(Default)]
pub struct Elements {
    loads: Vec<Loads>,
    stores: Vec<Stores>,
    /// Which of them each instruction is part of.
    load_of: HashMap<Inst, usize>,
    store_of: HashMap<Inst, usize>,
}

impl Elements {
    pub fn has(&self, inst: Inst) -> bool {
        self.load_of.contains_key(&inst) || self.store_of.contains_key(&inst)
    }
}

impl Selector<'_> {
    /// Finds those of a block.
    pub(super) fn find_elements(&self, block: Block) -> Elements {
        let mut elements = Elements::default();
        if !self.has_scattered_resources() {
            return elements;
        }
        // By resource, address and offset, and, of what can be written, how often that has been.
        let mut rows: HashMap<(Resource, Value, u32, u32), usize> = HashMap::default();
        let mut writes = 0;
        // Whether the last stores may go on.
        let mut goes_on = false;
        for &inst in &self.func.blocks[block].insts {
            let data = &self.func.insts[inst];
            match (data.op, data.imm) {
                (Op::ResourceLoad | Op::MemoryLoad, Imm::ResourceByte { resource, offset }) => {
                    let is_memory = data.op == Op::MemoryLoad;
                    goes_on &= !is_memory;
                    let offset = if is_memory { offset & !3 } else { offset };
                    let Some(lie) = self.lie(data).filter(|_| offset.is_multiple_of(4)) else { continue };
                    let (address, at, loads) = (data.args[0], offset & !15, &mut elements.loads);
                    let key = (resource, address, at, if is_memory { writes } else { 0 });
                    let number = *rows.entry(key).or_insert_with(|| {
                        loads.push(Loads { address, lie, is_memory, resource, at, wanted: 0, words: None });
                        loads.len() - 1
                    });
                    loads[number].wanted |= 1 << (offset / 4 % 4);
                    elements.load_of.insert(inst, number);
                }
                (Op::MemoryStoreMasked, Imm::ResourceByte { resource, offset }) => {
                    writes += 1;
                    let Some(distance) = self.distance(data) else {
                        goes_on = false;
                        continue;
                    };
                    let at = offset & !3;
                    let last = elements.stores.last_mut().filter(|last| goes_on && self.follows(last, inst));
                    match last {
                        Some(last) => last.insts.push(inst),
                        None => elements.stores.push(Stores { insts: vec![inst], distance, resource, at }),
                    }
                    goes_on = true;
                    elements.store_of.insert(inst, elements.stores.len() - 1);
                }
                (op, _) if op.memory() == Some(Memory::Buffer) => {
                    goes_on = false;
                    writes += u32::from(op.writes_buffers());
                }
                _ => {}
            }
        }
        let gathers = self.simd.gathers();
        let is_worth = |loads: &Loads| match loads.lie {
            Lie::Apart(_) if !gathers => true,
            _ => loads.wanted.count_ones() >= WORTH_ROWS,
        };
        elements.load_of.retain(|_, number| is_worth(&elements.loads[*number]));
        elements.store_of.retain(|_, number| !gathers || elements.stores[*number].insts.len() as u32 >= WORTH_ROWS);
        elements
    }

    /// Whether a store's word is behind those of others in the same elements, which do not overlap.
    fn follows(&self, Stores { insts, distance, resource, at }: &Stores, inst: Inst) -> bool {
        let count = insts.len() as u32;
        let [first, next] = [insts[0], inst].map(|inst| &self.func.insts[inst]);
        let place = Imm::ResourceByte { resource: *resource, offset: at + 4 * count };
        count < 4
            && 4 * (count + 1) <= *distance
            && next.imm == place
            && [first.args[0], first.args[2]] == [next.args[0], next.args[2]]
    }

    /// Bytes from the word of each lane to that of the next, if those are likely the same, and too many for one access
    /// of all.
    fn distance(&self, access: &InstData) -> Option<u32> {
        let address = access.args[0];
        if self.is_uniform(address) || self.may_lie_together(access) {
            return None;
        }
        let (lanes, steps) = (self.simd.lanes(), self.addresses.steps[address]?.steps);
        let distance = steps.0[0];
        let is_same = (0..4).all(|bit| 1 << bit >= lanes || steps.0[bit] == distance << bit);
        (is_same && distance.is_multiple_of(4) && (8..MAX_DISTANCE).contains(&distance)).then_some(distance)
    }

    /// How the elements of a load's lanes likely lie, if several words of them are quicker to have together.
    fn lie(&self, load: &InstData) -> Option<Lie> {
        if let Some(distance) = self.distance(load) {
            return Some(Lie::Apart(distance));
        }
        let steps = self.steps_in_vector(load.args[0]);
        (!self.is_uniform(load.args[0]) && self.is_two_words(steps)).then_some(Lie::InHalves(steps.0[3]))
    }

    /// Selects for an access to elements; false if it is none.
    pub(super) fn element_access(&mut self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        if let Some(&number) = self.here.elements.load_of.get(&inst) {
            self.set_origin(data.origin);
            let words = match self.here.elements.loads[number].words {
                Some(words) => words,
                None => self.load_elements(number),
            };
            self.here.elements.loads[number].words = Some(words);
            let Imm::ResourceByte { offset, .. } = data.imm else { unreachable!("it loads from a place") };
            self.define_vector(super::result(data), words[offset as usize / 4 % 4]);
            return true;
        }
        let Some(&number) = self.here.elements.store_of.get(&inst) else { return false };
        if self.here.elements.stores[number].insts.last() == Some(&inst) {
            self.set_origin(data.origin);
            self.store_elements(number);
        }
        true
    }

    /// The words of all lanes, in order of a row, those that are wanted.
    fn load_elements(&mut self, number: usize) -> [VReg; 4] {
        let Loads { address, lie, is_memory, resource, at, wanted, .. } = self.here.elements.loads[number];
        // The part of the row that has them.
        let (skipped, bytes) = match (wanted, lie) {
            (1 | 2 | 4 | 8, Lie::Apart(_)) => (wanted.trailing_zeros(), 4),
            (3, Lie::Apart(_)) => (0, 8),
            (12, Lie::Apart(_)) => (2, 8),
            _ => (0, 16),
        };
        let (place, wanted) = ((resource, at + 4 * skipped), wanted >> skipped);
        let apart = |this: &mut Self, is_kept: bool| {
            wanted_words(wanted, |word| {
                let place = (resource, place.1 + 4 * u32::from(word));
                this.load_apart((address, is_memory), place, is_kept)
            })
        };
        if let Lie::InHalves(_) = lie {
            // What loads of a block share is made in front of branches.
            self.some_lanes(UPPER_HALF);
        }
        let together = |this: &mut Self, first: Address| match lie {
            Lie::InHalves(distance) => this.two_rows([first, first.plus(distance as i32)], wanted),
            Lie::Apart(distance) => {
                this.fetch(bytes as usize, &RowAddresses::Apart { first, distance: distance as i32 }, wanted)
            }
        };
        let found = match self.elements_at((address, is_memory), place, lie, bytes) {
            None => apart(self, true),
            Some((first, Certainty::Certain)) => together(self, first),
            Some((first, Certainty::Compared)) => {
                let together = |this: &mut Self| together(this, first);
                self.likely_words(Condition::LessEqual, wanted, together, |this| apart(this, false))
            }
        };
        let mut words = [VReg::invalid(); 4];
        words[skipped as usize..].copy_from_slice(&found[..4 - skipped as usize]);
        words
    }

    /// Words of two rows: of the first in the lower lanes, of the second in the upper ones.
    fn two_rows(&mut self, rows: [Address; 2], wanted: u8) -> [VReg; 4] {
        let upper = self.some_lanes(UPPER_HALF);
        let [low, high] = rows.map(|row| self.simd.load_row(row));
        let both = self.simd.blend(upper, high, low);
        wanted_words(wanted, |word| self.simd.permute(both, [word; 4]))
    }

    /// Where so many bytes of the first lane's element lie, and all others like that: `LessEqual` holds if they do,
    /// unless that is certain.
    fn elements_at(
        &mut self,
        address: (Value, bool),
        place: Place,
        lie: Lie,
        bytes: u32,
    ) -> Option<(Address, Certainty)> {
        let last = match lie {
            Lie::Apart(distance) => distance * (u32::from(self.simd.lanes()) - 1),
            Lie::InHalves(distance) => distance,
        };
        let shape = Shape { steps: self.steps_in_vector(address.0), reach: last + bytes - 4 };
        let (together, certainty) = self.compare_addresses(address, place, Some(shape))?;
        let Together::Shape(first) = together else { unreachable!("a shape has been asked for") };
        Some((first, certainty))
    }

    /// Stores words side by side.
    fn store_elements(&mut self, number: usize) {
        let Stores { insts, distance, resource, at } = &self.here.elements.stores[number];
        let (distance, resource, at, func) = (*distance, *resource, *at, self.func);
        let insts: Vec<&InstData> = insts.iter().map(|&inst| &func.insts[inst]).collect();
        let address = insts[0].args[0];
        let words: Vec<VReg> = insts.iter().map(|inst| self.vector(inst.args[1])).collect();
        let mask = self.stores_where(insts[0].args[2]);
        let apart = |this: &mut Self| {
            for (at, &word) in (at..).step_by(4).zip(&words) {
                this.store_apart(address, (resource, at), word, mask);
            }
        };
        let bytes = 4 * words.len() as u32;
        match self.elements_at((address, true), (resource, at), Lie::Apart(distance), bytes) {
            None => apart(self),
            Some((first, certainty)) => {
                let rows = RowAddresses::Apart { first, distance: distance as i32 };
                let together = |this: &mut Self| this.store_components(&words, &rows);
                self.store_if_together(certainty, mask, together, apart);
            }
        }
    }
}
