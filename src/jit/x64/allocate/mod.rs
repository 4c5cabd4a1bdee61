//! Register allocation: a linear scan of our own, in regalloc2's terms, which checks it.
//!
//! `places` says where values can be, `live` where they are needed. `scan` walks over the code once, `edges` makes
//! blocks agree where they meet, with parallel `moves`, and `slots` lays out what is spilled.
//!
//! regalloc2's thorough algorithm takes three times as long, which was half of all compile time, for code that is no
//! faster, and slower where much is spilled (t40 by a third with AVX2). Its quick one takes over where a program is too
//! hard for the scan, whose time does not depend on how long values live.

mod edges;
mod live;
mod moves;
mod places;
mod scan;
mod slots;
#[cfg(test)]
mod tests;

use super::code::{Code, Kind};
use super::encode::Size;
use crate::error::JitError;
use places::{Place, Registers, Set, pregs};
use regalloc2::{
    Algorithm, Allocation, Block, Ctx, Edit, Function, Inst, InstRange, Operand, Output, PRegSet, RegClass,
    RegallocOptions, VReg,
};
use scan::Scan;
use smallvec::SmallVec;

/// The stack pointer and the frame pointer, which hold no values.
pub const STACK: u8 = 4;
pub const FRAME: u8 = 5;

/// General registers that a function leaves as they were: rbx, r12 to r15.
pub const SAVED: [u8; 5] = [3, 12, 13, 14, 15];

/// Some of them.
pub type Saved = SmallVec<[u8; SAVED.len()]>;

/// Bytes of a spill slot; vectors take several.
pub const SLOT: usize = 8;

/// The code, and what the allocator asks beside it.
struct Allocated<'a> {
    code: &'a Code,
    size: Size,
    clobbered: PRegSet,
}

impl Function for Allocated<'_> {
    fn num_insts(&self) -> usize {
        self.code.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.code.blocks.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        let range = &self.code.blocks[block.index()].insts;
        InstRange::new(Inst::new(range.start as usize), Inst::new(range.end as usize))
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.code.blocks[block.index()].successors
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        self.code.predecessors_of(&self.code.blocks[block.index()])
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        self.code.params_of(&self.code.blocks[block.index()])
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.code.insts[inst.index()].kind == Kind::Return
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.code.insts[inst.index()].kind, Kind::Jump | Kind::Branch(_))
    }

    fn branch_blockparams(&self, block: Block, _inst: Inst, _successor: usize) -> &[VReg] {
        self.code.args_of(&self.code.blocks[block.index()])
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        &self.code.operands[self.code.operands_of(inst.index())]
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        match self.code.insts[inst.index()].kind {
            Kind::Call(_) => self.clobbered,
            _ => PRegSet::empty(),
        }
    }

    fn num_vregs(&self) -> usize {
        self.code.registers()
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Float => self.size.bytes() as usize / SLOT,
            RegClass::Int | RegClass::Vector => 1,
        }
    }
}

/// Working memory, and what comes out.
#[derive(Default)]
pub struct Allocator {
    scan: Scan,
    output: Output,
}

impl Allocator {
    /// Allocates registers; gives the numbers of those as well that the code has to restore.
    pub fn run(&mut self, code: &Code, size: Size) -> Result<(&Output, Saved), JitError> {
        let registers = Registers::new(size);
        let function = Allocated { code, size, clobbered: pregs(registers.clobbered()) };
        let failed = |error: &dyn std::fmt::Debug| JitError::Codegen(format!("register allocation: {error:?}"));
        if self.scan.walk(code, registers).is_err() {
            let algorithm = Algorithm::Fastalloc;
            let options = RegallocOptions { verbose_log: false, validate_ssa: cfg!(debug_assertions), algorithm };
            let environment = registers.environment();
            self.output = regalloc2::run_with_ctx(&function, &environment, &options, &mut Ctx::default())
                .map_err(|error| failed(&error))?
                .clone();
            self.scan.used = used_registers(&self.output);
        } else {
            self.scan.output(code, size.bytes() as usize, &mut self.output);
        }
        if cfg!(debug_assertions) {
            let environment = registers.environment();
            let mut checker = regalloc2::checker::Checker::new(&function, &environment);
            checker.prepare(&self.output);
            checker.run().map_err(|errors| failed(&errors))?;
        }
        let saved = SAVED.into_iter().filter(|&number| self.scan.used & registers.saved & 1 << number != 0);
        Ok((&self.output, saved.collect()))
    }
}

/// The registers that code uses.
fn used_registers(output: &Output) -> Set {
    let moved = output.edits.iter().flat_map(|(_, Edit::Move { from, to })| [*from, *to]);
    let registers = output.allocs.iter().copied().chain(moved).filter_map(Allocation::as_reg);
    registers.fold(0, |used, register| used | 1 << Place::from(register).0)
}
