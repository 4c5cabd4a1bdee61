//! Bounds checks that one comparison makes redundant: addresses that are a number shifted to the left, or out of every
//! range where that would lose bits, as those of elements of structured buffers are.
//!
//! Where lanes' numbers have certain [steps](shaderjit_ir::batch::Steps), their words are together if the last one,
//! computed with more bits, is inside. So what an access finds out about the first and the last of its words says as
//! much of the numbers, and addresses are computed only where words are apart.

use super::Selector;
use foldhash::{HashMap, HashSet};
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Block, Op, Value};

/// A number, and by how much it is shifted for its address.
#[derive(Clone, Copy)]
pub struct Number {
    pub value: Value,
    pub shift: u8,
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
    /// Finds the addresses of a block that nothing but its accesses use.
    pub(super) fn bounded(&self, block: Block) -> Bounded {
        let mut bounded = Bounded::default();
        let facts = &self.program.facts;
        if !facts.scattered || !facts.uses_resources {
            return bounded;
        }
        let mut accesses: HashMap<Value, u32> = HashMap::default();
        for inst in self.func.insts_in(block) {
            if matches!(inst.op, Op::ResourceLoad | Op::MemoryLoad | Op::MemoryStoreMasked) {
                *accesses.entry(inst.args[0]).or_default() += 1;
            }
        }
        if accesses.is_empty() {
            return bounded;
        }
        for inst in self.func.insts_in(block).filter(|inst| inst.op == Op::Select) {
            let Some((address, count)) = inst.result.and_then(|result| Some((result, *accesses.get(&result)?))) else {
                continue;
            };
            let uses = self.program.uses[address];
            if uses.guards + uses.others == count
                && let Some(number) = self.bounded_number(inst)
                && self.may_lie_together(address)
            {
                bounded.numbers.insert(address, number);
                let needless = [inst.args[0], inst.args[1]].into_iter().filter(|&arg| self.dies(arg));
                bounded.put_off.extend(needless.chain([address]));
            }
        }
        bounded
    }

    /// The number of `number <= MAX >> shift ? number << shift : MAX`, if its steps are certain and lose nothing.
    fn bounded_number(&self, select: &InstData) -> Option<Number> {
        let [inside, shifted, outside] = [0, 1, 2].map(|arg| select.args[arg]);
        let made_by = |value: Value, op: Op| self.func.def_inst(value).filter(|inst| inst.op == op);
        let (compare, shifts) = (made_by(inside, Op::Ule)?, made_by(shifted, Op::Ishl)?);
        let (value, shift) = (shifts.args[0], self.literal(shifts.args[1])?);
        let is_bounded = compare.args[0] == value
            && self.literal(compare.args[1]) == Some(u32::MAX.checked_shr(shift)?)
            && self.literal(outside) == Some(u32::MAX)
            // Addresses of words, which an address has factors for.
            && (shift == 2 || shift == 3);
        let known = self.addresses.steps[value].filter(|known| is_bounded && known.is_certain)?;
        known.steps.keeps_bits(shift).then_some(Number { value, shift: shift as u8 })
    }

    /// The addresses where words are apart. What it makes, no other code may use.
    pub(super) fn bounded_addresses(&mut self, Number { value, shift }: Number) -> VReg {
        let (number, shift) = (self.vector(value), u32::from(shift));
        let last = self.simd.word_source(u32::MAX >> shift);
        let inside = self.at_most(number, last);
        let (shifted, outside) = (self.shift(Op::Ishl, number, shift), self.simd.word(u32::MAX));
        self.simd.blend(inside, shifted, outside)
    }
}
