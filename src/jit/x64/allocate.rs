//! Register allocation by regalloc2: which registers there are, and the code as the allocator sees it.

use super::code::{Code, Kind};
use super::encode::Size;
use crate::error::JitError;
use regalloc2::{
    Algorithm, Block, Ctx, Function, Inst, InstRange, MachineEnv, Operand, Output, PReg, PRegSet, RegClass,
    RegallocOptions, VReg,
};

/// The stack pointer and the frame pointer, which hold no values.
pub const STACK: u8 = 4;
pub const FRAME: u8 = 5;

/// General registers that a function leaves as they were: rbx, r12 to r15.
pub const SAVED: [u8; 5] = [3, 12, 13, 14, 15];

/// Bytes of a spill slot; vectors take several.
pub const SLOT: usize = 8;

fn set(class: RegClass, numbers: impl IntoIterator<Item = usize>) -> PRegSet {
    numbers.into_iter().fold(PRegSet::empty(), |set, number| set.with(PReg::new(number, class)))
}

/// The registers of a machine whose vectors have this size.
fn environment(size: Size) -> MachineEnv {
    let is_saved = |number: &usize| SAVED.contains(&(*number as u8));
    let is_free = |number: &usize| !is_saved(number) && ![STACK, FRAME].contains(&(*number as u8));
    let vectors = if size == Size::Z { 32 } else { 16 };
    let masks = if size == Size::Z { 1..8 } else { 0..0 };
    let none = PRegSet::empty();
    MachineEnv {
        preferred_regs_by_class: [
            set(RegClass::Int, (0..16).filter(is_free)),
            set(RegClass::Float, 0..vectors),
            set(RegClass::Vector, masks),
        ],
        non_preferred_regs_by_class: [set(RegClass::Int, (0..16).filter(is_saved)), none, none],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

/// What a call may change: all but what is [saved](SAVED).
fn clobbered(size: Size) -> PRegSet {
    let environment = environment(size);
    environment.preferred_regs_by_class.into_iter().fold(PRegSet::empty(), |mut all, set| {
        all.union_from(set);
        all
    })
}

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
        &self.code.blocks[block.index()].predecessors
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.code.blocks[block.index()].params
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.code.insts[inst.index()].kind == Kind::Return
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.code.insts[inst.index()].kind, Kind::Jump | Kind::Branch(_))
    }

    fn branch_blockparams(&self, block: Block, _inst: Inst, _successor: usize) -> &[VReg] {
        &self.code.blocks[block.index()].args
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
        self.code.registers
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Float => self.size.bytes() as usize / SLOT,
            RegClass::Int | RegClass::Vector => 1,
        }
    }
}

/// Working memory of the allocator, which is dear to make anew for each small function.
#[derive(Default)]
pub struct Allocator {
    context: Ctx,
}

impl Allocator {
    /// Allocates registers: thoroughly, or in one pass.
    pub fn run(&mut self, code: &Code, size: Size, is_quick: bool) -> Result<&Output, JitError> {
        let function = Allocated { code, size, clobbered: clobbered(size) };
        let algorithm = if is_quick { Algorithm::Fastalloc } else { Algorithm::Ion };
        let options = RegallocOptions { verbose_log: false, validate_ssa: cfg!(debug_assertions), algorithm };
        let environment = environment(size);
        let failed = |error: &dyn std::fmt::Debug| JitError::Codegen(format!("register allocation: {error:?}"));
        let output = regalloc2::run_with_ctx(&function, &environment, &options, &mut self.context)
            .map_err(|error| failed(&error))?;
        if cfg!(debug_assertions) {
            let mut checker = regalloc2::checker::Checker::new(&function, &environment);
            checker.prepare(output);
            checker.run().map_err(|errors| failed(&errors))?;
        }
        Ok(output)
    }
}
