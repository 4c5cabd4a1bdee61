//! Bounds checks that one comparison makes redundant: addresses that are a multiple of a number, or out of every range
//! where that would lose bits, as those of elements of structured buffers are.
//!
//! Where lanes' numbers have certain [steps](shaderjit_ir::batch::Steps), their words are where steps say if the last
//! one, computed with more bits, is inside. So what an access finds out about the first and the last of its words says
//! as much of the numbers, and addresses are computed only where words are apart.

use super::Selector;
use super::table::Op as X;
use crate::jit::coalesce::MAX_DISTANCE;
use foldhash::{HashMap, HashSet};
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Block, Op, Value};

/// A number, and what it is multiplied by for its address.
#[derive(Clone, Copy)]
pub struct Number {
    pub value: Value,
    pub factor: u32,
    /// The largest one that has an address.
    most: u32,
}

impl Number {
    /// By how much an address in memory shifts it, or 0.
    pub fn shift(self) -> u8 {
        if matches!(self.factor, 4 | 8) { self.factor.trailing_zeros() as u8 } else { 0 }
    }
}

/// The addresses of that kind in a block.
#[derive(Default)]
pub struct Bounded {
    numbers: HashMap<Value, Number>,
    /// What is computed only where words are apart: the addresses, and what nothing else needs.
    put_off: HashSet<Value>,
}

impl Bounded {
    /// The number that an address is made of.
    pub fn number(&self, address: Value) -> Option<Number> {
        self.numbers.get(&address).copied()
    }

    pub fn is_put_off(&self, value: Value) -> bool {
        self.put_off.contains(&value)
    }
}

impl Selector<'_> {
    /// Finds the addresses of a block that nothing but accesses use which take their words together.
    pub(super) fn bounded(&self, block: Block) -> Bounded {
        let mut bounded = Bounded::default();
        if !self.coalescing.has_scattered_resources() {
            return bounded;
        }
        let mut together: HashMap<Value, u32> = HashMap::default();
        for &inst in &self.func.blocks[block].insts {
            let data = &self.func.insts[inst];
            let is_access = matches!(data.op, Op::ResourceLoad | Op::MemoryLoad | Op::MemoryStoreMasked);
            if is_access && (self.here.elements.has(inst) || self.coalescing.may_lie_together(data)) {
                *together.entry(data.args[0]).or_default() += 1;
            }
        }
        if together.is_empty() {
            return bounded;
        }
        for inst in self.func.insts_in(block).filter(|inst| inst.op == Op::Select) {
            let Some((address, count)) = inst.result.and_then(|result| Some((result, *together.get(&result)?))) else {
                continue;
            };
            let uses = self.program.uses[address];
            if uses.guards + uses.others == count
                && let Some(number) = self.bounded_number(inst)
            {
                bounded.numbers.insert(address, number);
                let needless = [inst.args[0], inst.args[1]].into_iter().filter(|&arg| self.dies(arg));
                bounded.put_off.extend(needless.chain([address]));
            }
        }
        bounded
    }

    /// The number of `number <= most ? number * factor : u32::MAX`, if its steps are certain and lose nothing.
    fn bounded_number(&self, select: &InstData) -> Option<Number> {
        let [inside, multiple, outside] = [0, 1, 2].map(|arg| select.args[arg]);
        let compare = self.func.def_inst(inside).filter(|inst| inst.op == Op::Ule)?;
        let (multiple, most) = (self.func.def_inst(multiple)?, self.literal(compare.args[1])?);
        let factor = match multiple.op {
            Op::Ishl => 1 << (self.literal(multiple.args[1])? & 31),
            Op::Imul => self.literal(multiple.args[1])?,
            _ => return None,
        };
        let value = multiple.args[0];
        // Multiples have room in 32 bits up to there, and behind it are past the end of every resource.
        let (last, next) = [0, 1].map(|more| (u64::from(most) + more) * u64::from(factor)).into();
        let is_bounded = compare.args[0] == value
            && last <= u32::MAX.into()
            && next >= (1 << 32) - 4
            && self.literal(outside) == Some(u32::MAX)
            && factor.is_multiple_of(4)
            && factor < MAX_DISTANCE;
        let known = self.coalescing.steps(value).filter(|known| is_bounded && known.is_certain)?;
        known.steps.allows_factor(factor).then_some(Number { value, factor, most })
    }

    /// The addresses where words are apart. What it makes, no other code may use.
    pub(super) fn bounded_addresses(&mut self, Number { value, factor, most }: Number) -> VReg {
        let (number, last) = (self.late_vector(value), self.simd.word_source(most));
        let inside = self.at_most(number, last);
        let multiple = if factor.is_power_of_two() {
            self.shift(Op::Ishl, number, factor.trailing_zeros())
        } else {
            let factor = self.simd.word_source(factor);
            self.simd.op(X::Pmulld, &[number], factor)
        };
        let outside = self.simd.word(u32::MAX);
        self.simd.blend(inside, multiple, outside)
    }
}
