//! Words of elements side by side in memory, as threads have elements of structured buffers: which accesses of a block
//! load or store words of one row, so that rows are loaded and transposed, or transposed and stored, as those of
//! vertices are.
//!
//! As those of vertices, rows are of four words. Loads of a block at one address are made with the first of them that
//! is in the row, unless something is stored in between; stores that follow each other, of words side by side, are made
//! with the last.

use super::{Coalescing, MAX_DISTANCE, Shape};
use foldhash::HashMap;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::Memory;
use shaderjit_ir::{Block, Inst, Op, Resource, Value};

/// Fewer words of a row are no quicker than each by itself: where words are gathered by an instruction, and of two
/// elements.
const WORTH_ROWS: u32 = 3;

/// Where the elements of lanes lie.
#[derive(Clone, Copy)]
pub enum Lie {
    /// So many bytes from each lane's to the next.
    Apart(u32),
    /// The lower half of the lanes has one, the upper half another so many bytes behind it.
    InHalves(u32),
}

/// Words that are loaded together.
#[derive(Clone, Copy)]
pub struct Loads {
    pub address: Value,
    pub lie: Lie,
    pub is_memory: bool,
    pub resource: Resource,
    /// Where the row begins, behind the address.
    pub at: u32,
    /// Which of its words, bit 0 for the first.
    pub wanted: u8,
}

impl Loads {
    /// The part of the row that has the words: how many it leaves out in front, and how many bytes it takes.
    pub fn part(&self) -> (u32, u32) {
        match (self.wanted, self.lie) {
            (1 | 2 | 4 | 8, Lie::Apart(_)) => (self.wanted.trailing_zeros(), 4),
            (3, Lie::Apart(_)) => (0, 8),
            (12, Lie::Apart(_)) => (2, 8),
            _ => (0, 16),
        }
    }
}

/// Words side by side that are stored together.
#[derive(Clone)]
pub struct Stores {
    pub insts: Vec<Inst>,
    /// From the element of each lane to the next.
    pub distance: u32,
    pub resource: Resource,
    /// Where the first is, behind the address.
    pub at: u32,
}

impl Stores {
    pub fn lie(&self) -> Lie {
        Lie::Apart(self.distance)
    }
}

/// What is done for an instruction that is part of an access to elements.
pub enum ElementAccess {
    /// It loads one of these words, which have a number.
    Load { number: usize, loads: Loads, word: usize },
    /// It stores the last of these words, and all of them are stored.
    Store(Stores),
    /// It stores a word that one behind it stores.
    Put,
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

    /// What is to be done for an instruction, if it is part of them.
    pub fn access(&self, inst: Inst, imm: Imm) -> Option<ElementAccess> {
        if let (Some(&number), Imm::ResourceByte { offset, .. }) = (self.load_of.get(&inst), imm) {
            return Some(ElementAccess::Load { number, loads: self.loads[number], word: offset as usize / 4 % 4 });
        }
        let stores = &self.stores[*self.store_of.get(&inst)?];
        let is_last = stores.insts.last() == Some(&inst);
        Some(if is_last { ElementAccess::Store(stores.clone()) } else { ElementAccess::Put })
    }
}

impl Coalescing<'_> {
    /// Finds those of a block.
    pub fn elements(&self, block: Block) -> Elements {
        let mut elements = Elements::default();
        if !self.has_scattered_resources() {
            return elements;
        }
        // By resource, address and offset, and, of what can be written, how often that has been.
        let mut rows: HashMap<(Resource, Value, u32, u32), usize> = HashMap::default();
        let mut writes = 0;
        // Whether the last stores may go on.
        let mut goes_on = false;
        for &inst in &self.program.func.blocks[block].insts {
            let data = &self.program.func.insts[inst];
            match (data.op, data.imm) {
                (Op::ResourceLoad | Op::MemoryLoad, Imm::ResourceByte { resource, offset }) => {
                    let is_memory = data.op == Op::MemoryLoad;
                    goes_on &= !is_memory;
                    let offset = if is_memory { offset & !3 } else { offset };
                    let Some(lie) = self.lie(data).filter(|_| offset.is_multiple_of(4)) else { continue };
                    let (address, at, loads) = (data.args[0], offset & !15, &mut elements.loads);
                    let key = (resource, address, at, if is_memory { writes } else { 0 });
                    let number = *rows.entry(key).or_insert_with(|| {
                        loads.push(Loads { address, lie, is_memory, resource, at, wanted: 0 });
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
        let gathers = self.vectors.gathers;
        let is_worth = |loads: &Loads| match loads.lie {
            Lie::Apart(_) if !gathers => true,
            _ => loads.wanted.count_ones() >= WORTH_ROWS,
        };
        elements.load_of.retain(|_, number| is_worth(&elements.loads[*number]));
        elements.store_of.retain(|_, number| !gathers || elements.stores[*number].insts.len() as u32 >= WORTH_ROWS);
        elements
    }

    /// The shape of so many bytes of all lanes' elements.
    pub fn shape_of_elements(&self, address: Value, lie: Lie, bytes: u32) -> Shape {
        let last = match lie {
            Lie::Apart(distance) => distance * (u32::from(self.vectors.lanes) - 1),
            Lie::InHalves(distance) => distance,
        };
        Shape { steps: self.steps_in_vector(address), reach: last + bytes - 4 }
    }

    /// Whether a store's word is behind those of others in the same elements, which do not overlap.
    fn follows(&self, Stores { insts, distance, resource, at }: &Stores, inst: Inst) -> bool {
        let count = insts.len() as u32;
        let [first, next] = [insts[0], inst].map(|inst| &self.program.func.insts[inst]);
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
        let steps = self.steps(address)?.steps;
        let distance = steps.0[0];
        let is_same = (0..4).all(|bit| 1 << bit >= self.vectors.lanes || steps.0[bit] == distance << bit);
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
}
