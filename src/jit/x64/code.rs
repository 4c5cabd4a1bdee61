//! Machine instructions before register allocation: three-address code over virtual registers, in basic blocks.
//!
//! Blocks are emitted one after the other, each in one piece, and are numbered in that order. A block that ends with a
//! branch has targets that no other edge leads to; [`Code::branch`] puts an edge block in between where it has to.

use super::constants::{Constant, Constants};
use super::encode::{Condition, Size};
use super::table::{Class, Field, Op, Role};
use crate::jit::mode;
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, RegClass, VReg};
use std::ops::{Deref, Range};

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId(pub u32);

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One machine instruction.
    Op(Op),
    /// Begins the function: defines its parameters.
    Entry,
    /// Calls what lies at one of [`Code::addresses`], by the system's convention.
    Call(u32),
    /// Calls what lies there and keeps every register; it finds the arguments in the frame.
    Refuel(u32),
    /// Goes on in the block's one successor.
    Jump,
    /// Goes to the first successor if the condition holds, else to the second.
    Branch(Condition),
    /// Ends the function.
    Return,
}

/// An instruction. Its operands lie in [`Code::operands`]: those of its form in order, but for that which is in
/// memory, then the registers of the address, then the mask.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    pub kind: Kind,
    pub size: Size,
    pub memory: Option<Address>,
    pub masked: bool,
    pub immediate: u32,
    /// Where its operands end; they begin where those of the instruction before end.
    pub end: u32,
    /// What it is for, one more than a byte offset, or 0.
    pub origin: u32,
}

/// An address in memory. Registers are those of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Base,
    /// A register, general or of vectors as the instruction has it, or an invalid one if there is none.
    pub index: VReg,
    pub offset: i32,
    /// The power of two that the index is multiplied by.
    pub shift: u8,
    /// Whether every lane has the one word that is there.
    pub broadcast: bool,
}

/// What an address begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Register(VReg),
    /// A constant behind the code.
    Constant(u32),
    /// The part of the stack frame that calls pass operands in.
    Stack,
}

impl Address {
    fn new(base: Base, offset: i32) -> Address {
        Address { base, index: VReg::invalid(), offset, shift: 0, broadcast: false }
    }

    /// The register that is added.
    pub fn index(&self) -> Option<VReg> {
        Some(self.index).filter(|&index| index != VReg::invalid())
    }

    /// So many bytes behind what a register holds.
    pub fn at(base: VReg, offset: i32) -> Address {
        Address::new(Base::Register(base), offset)
    }

    /// The same with a register added, multiplied by a power of two up to 8.
    pub fn indexed(base: VReg, index: VReg, shift: u8, offset: i32) -> Address {
        Address { index, shift, ..Address::at(base, offset) }
    }

    /// The same address with a register added, or with each lane's word of a vector.
    pub fn with_index(self, index: VReg) -> Address {
        Address { index, shift: 0, ..self }
    }

    /// In the frame.
    pub fn stack(offset: i32) -> Address {
        Address::new(Base::Stack, offset)
    }

    /// So many bytes further on.
    pub fn plus(self, bytes: i32) -> Address {
        Address { offset: self.offset + bytes, ..self }
    }

    /// The one word that is there in all lanes.
    pub fn in_all_lanes(self) -> Address {
        Address { broadcast: true, ..self }
    }
}

/// What an instruction reads: a register, or memory in its place.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    Register(VReg),
    Memory(Address),
}

impl From<VReg> for Source {
    fn from(register: VReg) -> Source {
        Source::Register(register)
    }
}

impl From<Address> for Source {
    fn from(address: Address) -> Source {
        Source::Memory(address)
    }
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Its instructions, once it is ended.
    pub insts: Range<u32>,
    /// Its [parameters](Code::params_of).
    params: Range<u32>,
    pub successors: Successors,
    /// Its [predecessors](Code::predecessors_of), once all blocks are emitted.
    predecessors: Range<u32>,
    /// What its jump gives the successor's parameters, among [`Code::args`].
    pub args: Range<u32>,
    /// Whether it hardly ever runs: it is laid out behind all others.
    pub is_cold: bool,
}

/// The blocks that a block leads to, at most two.
#[derive(Clone, Copy, Debug)]
pub struct Successors {
    blocks: [regalloc2::Block; 2],
    count: u8,
}

impl Default for Successors {
    fn default() -> Successors {
        Successors { blocks: [regalloc2::Block::invalid(); 2], count: 0 }
    }
}

impl Deref for Successors {
    type Target = [regalloc2::Block];

    fn deref(&self) -> &[regalloc2::Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Where a register is defined.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The instruction that defines it; of a parameter, the first of its block.
    pub inst: u32,
    /// The block of that, in the order of [`Code::blocks`]; [`NOWHERE`] if nothing defines it.
    pub block: u32,
    /// The number of its class.
    pub class: u8,
    pub is_param: bool,
}

/// The block of no definition.
pub const NOWHERE: u32 = u32::MAX;

/// What register allocation is told that an instruction does with an operand. The first three are those of [`Role`].
const USE: usize = Role::Use as usize;
const DEF: usize = Role::Def as usize;
const REUSE: usize = Role::Reuse as usize;
/// Reads it, in a register or in its spill slot.
const USE_ANYWHERE: usize = 3;

/// Operands but for their registers, by what is done with them and by class: made once, since to make one takes as long
/// as all else that is done for it.
#[derive(Debug)]
struct Templates([[u64; 4]; 4]);

impl Default for Templates {
    fn default() -> Templates {
        let mut templates = [[0; 4]; 4];
        for class in [RegClass::Int, RegClass::Float, RegClass::Vector] {
            let register = VReg::new(0, class);
            let mut set = |kind: usize, operand: Operand| templates[kind][class as usize] = operand.bits();
            set(USE, Operand::reg_use(register));
            set(DEF, Operand::reg_def(register));
            set(REUSE, Operand::reg_reuse_def(register, 1));
            set(USE_ANYWHERE, Operand::any_use(register));
        }
        Templates(templates)
    }
}

impl Templates {
    /// An operand.
    #[inline]
    fn operand(&self, kind: usize, register: VReg) -> Operand {
        Operand::from_bits(self.0[kind][register.bits() & 3] | register.vreg() as u64)
    }
}

/// The code. Its memory is used again for the next function.
#[derive(Debug, Default)]
pub struct Code {
    pub insts: Vec<Inst>,
    pub operands: Vec<Operand>,
    /// In the order in which they were emitted.
    pub blocks: Vec<BlockData>,
    pub constants: Constants,
    /// What is called.
    pub addresses: Vec<usize>,
    /// By register.
    pub definitions: Vec<Definition>,
    templates: Templates,
    /// Where each block is among the emitted ones.
    numbers: Vec<u32>,
    /// The parameters of all blocks, those of each side by side, and where those of each [`BlockId`] are.
    params: Vec<VReg>,
    places: Vec<Range<u32>>,
    /// What all jumps give.
    pub args: Vec<VReg>,
    cold: Vec<bool>,
    /// Edges by [`BlockId`], by their sources.
    edges: Vec<(u32, BlockId)>,
    /// The predecessors of all blocks.
    predecessors: Vec<regalloc2::Block>,
    /// What the next instructions are for.
    pub origin: u32,
    /// Whether denormals are kept here, not flushed as everywhere between blocks.
    keeps_denormals: bool,
}

/// Which class a register is in, as the allocator has it.
pub fn class_of(class: Class) -> RegClass {
    match class {
        Class::G => RegClass::Int,
        Class::V => RegClass::Float,
        Class::K => RegClass::Vector,
    }
}

impl Code {
    /// Forgets the function.
    pub fn clear(&mut self) {
        let Code { insts, operands, blocks, constants, definitions, numbers, params, places, args, .. } = self;
        let Code { addresses, cold, edges, predecessors, .. } = self;
        insts.clear();
        operands.clear();
        blocks.clear();
        constants.clear();
        addresses.clear();
        definitions.clear();
        numbers.clear();
        params.clear();
        places.clear();
        args.clear();
        cold.clear();
        edges.clear();
        predecessors.clear();
        (self.origin, self.keeps_denormals) = (0, false);
    }

    /// How many registers there are.
    pub fn registers(&self) -> usize {
        self.definitions.len()
    }

    fn register(&mut self, class: Class, [inst, block]: [u32; 2], is_param: bool) -> VReg {
        let class = class_of(class);
        self.definitions.push(Definition { inst, block, class: class as u8, is_param });
        VReg::new(self.definitions.len() - 1, class)
    }

    /// A register that the next instruction defines.
    fn result(&mut self, class: Class) -> VReg {
        let (inst, block) = (self.insts.len() as u32, self.blocks.len() as u32 - 1);
        self.register(class, [inst, block], false)
    }

    // ---- blocks

    /// A block to be emitted later.
    pub fn block(&mut self) -> BlockId {
        self.numbers.push(u32::MAX);
        self.places.push(0..0);
        self.cold.push(false);
        BlockId(self.numbers.len() as u32 - 1)
    }

    /// A block that hardly ever runs.
    pub fn cold_block(&mut self) -> BlockId {
        let block = self.block();
        self.cold[block.0 as usize] = true;
        block
    }

    /// Another parameter of a block that is not emitted yet.
    pub fn param(&mut self, block: BlockId, class: Class) -> VReg {
        let param = self.register(class, [0, NOWHERE], true);
        let (list, end) = (&mut self.places[block.0 as usize], self.params.len());
        if list.end as usize != end {
            // Others came in between.
            self.params.extend_from_within(list.start as usize..list.end as usize);
            *list = end as u32..self.params.len() as u32;
        }
        self.params.push(param);
        list.end += 1;
        param
    }

    /// Begins to emit a block; the one before has been ended.
    pub fn switch_to(&mut self, block: BlockId) {
        let index = block.0 as usize;
        debug_assert_eq!(self.numbers[index], u32::MAX, "a block is emitted once");
        let (number, start) = (self.blocks.len() as u32, self.insts.len() as u32);
        self.numbers[index] = number;
        let params = self.places[index].clone();
        for param in &self.params[params.start as usize..params.end as usize] {
            let definition = &mut self.definitions[param.vreg()];
            (definition.inst, definition.block) = (start, number);
        }
        let is_cold = self.cold[index];
        self.blocks.push(BlockData { insts: start..start, params, is_cold, ..BlockData::default() });
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, block: BlockId, args: &[VReg]) {
        let start = self.args.len() as u32;
        self.args.extend_from_slice(args);
        self.blocks.last_mut().expect("a block is being emitted").args = start..self.args.len() as u32;
        self.end(Kind::Jump, &[block]);
    }

    /// Ends the block with a branch. Targets with arguments, or which other edges may lead to, get a block of their
    /// own for this edge.
    pub fn branch(&mut self, condition: Condition, then: (BlockId, &[VReg]), otherwise: (BlockId, &[VReg])) {
        let edges = [then, otherwise];
        let targets = edges.map(|_| self.block());
        let is_cold = self.blocks.last().is_some_and(|block| block.is_cold);
        self.end(Kind::Branch(condition), &targets);
        for ((block, args), edge) in edges.into_iter().zip(targets) {
            self.cold[edge.0 as usize] = is_cold || self.cold[block.0 as usize];
            self.switch_to(edge);
            self.jump(block, args);
        }
    }

    /// Ends the block with a branch to blocks that no other edge leads to, and that have no parameters.
    pub fn branch_only(&mut self, condition: Condition, then: BlockId, otherwise: BlockId) {
        self.end(Kind::Branch(condition), &[then, otherwise]);
    }

    /// Ends the function with a status, which is in a register.
    pub fn ret(&mut self, status: VReg) {
        self.operands.push(fixed(status, OperandKind::Use, 0));
        self.end(Kind::Return, &[]);
    }

    fn end(&mut self, kind: Kind, targets: &[BlockId]) {
        self.flush_denormals(true);
        let number = self.blocks.len() as u32 - 1;
        self.edges.extend(targets.iter().map(|&target| (number, target)));
        self.put(kind, Size::X, None, false, 0);
        self.blocks[number as usize].insts.end = self.insts.len() as u32;
    }

    /// Whether any edge leads to a block so far.
    pub fn is_entered(&self, block: BlockId) -> bool {
        self.edges.iter().any(|&(_, target)| target == block)
    }

    /// All blocks are emitted: links them.
    pub fn seal(&mut self) {
        for &(from, target) in &self.edges {
            let to = self.numbers[target.0 as usize];
            debug_assert_ne!(to, u32::MAX, "a block that an edge leads to is emitted");
            let Successors { blocks, count } = &mut self.blocks[from as usize].successors;
            blocks[usize::from(*count)] = regalloc2::Block::new(to as usize);
            *count += 1;
            self.blocks[to as usize].predecessors.end += 1;
        }
        let mut start = 0;
        for block in &mut self.blocks {
            let count = block.predecessors.end;
            block.predecessors = start..start;
            start += count;
        }
        self.predecessors.resize(self.edges.len(), regalloc2::Block::invalid());
        for &(from, target) in &self.edges {
            let end = &mut self.blocks[self.numbers[target.0 as usize] as usize].predecessors.end;
            self.predecessors[*end as usize] = regalloc2::Block::new(from as usize);
            *end += 1;
        }
    }

    /// The blocks that lead to a block.
    pub fn predecessors_of(&self, block: &BlockData) -> &[regalloc2::Block] {
        &self.predecessors[block.predecessors.start as usize..block.predecessors.end as usize]
    }

    /// The parameters of a block.
    pub fn params_of(&self, block: &BlockData) -> &[VReg] {
        &self.params[block.params.start as usize..block.params.end as usize]
    }

    /// What the jump of a block gives its successor's parameters.
    pub fn args_of(&self, block: &BlockData) -> &[VReg] {
        &self.args[block.args.start as usize..block.args.end as usize]
    }

    // ---- instructions

    /// Says whether the next instructions are to see denormals as zero, as floats are computed with, or as what they
    /// are. Instructions of [floats](super::table::Encoding::flushes) and the end of a block see to it themselves.
    pub fn flush_denormals(&mut self, is_wanted: bool) {
        if is_wanted == self.keeps_denormals {
            self.keeps_denormals = !is_wanted;
            let mode = self.constant(Constant::Word(mode::mxcsr(is_wanted), 1));
            self.put(Kind::Op(Op::Ldmxcsr), Size::X, Some(mode), false, 0);
        }
    }

    fn put(&mut self, kind: Kind, size: Size, memory: Option<Address>, masked: bool, immediate: u32) {
        let (end, origin) = (self.operands.len() as u32, self.origin);
        self.insts.push(Inst { kind, size, memory, masked, immediate, end, origin });
    }

    /// The operands of an instruction.
    pub fn operands_of(&self, inst: usize) -> Range<usize> {
        let start = if inst == 0 { 0 } else { self.insts[inst - 1].end };
        start as usize..self.insts[inst].end as usize
    }

    /// Begins the function: its two parameters.
    pub fn entry(&mut self) -> [VReg; 2] {
        let params = [(); 2].map(|()| self.result(Class::G));
        // rdi and rsi, by the System V convention on every system: the caller is our own assembly.
        for (param, register) in params.into_iter().zip([7, 6]) {
            self.operands.push(fixed(param, OperandKind::Def, register));
        }
        self.put(Kind::Entry, Size::X, None, false, 0);
        params
    }

    /// The number of an address that is called.
    fn address(&mut self, address: usize) -> u32 {
        self.addresses.push(address);
        self.addresses.len() as u32 - 1
    }

    /// A call with up to four arguments.
    pub fn call(&mut self, address: usize, args: &[VReg]) {
        // rcx, rdx, r8, r9; rdi, rsi, rdx, rcx.
        let registers = if cfg!(windows) { [1, 2, 8, 9] } else { [7, 6, 2, 1] };
        for (&arg, register) in args.iter().zip(registers) {
            self.operands.push(fixed(arg, OperandKind::Use, register));
        }
        let number = self.address(address);
        self.put(Kind::Call(number), Size::X, None, false, 0);
    }

    pub fn refuel(&mut self, address: usize) {
        let number = self.address(address);
        self.put(Kind::Refuel(number), Size::X, None, false, 0);
    }

    /// An instruction whose operands are in the order of its form: the result, if it has one.
    pub fn inst(
        &mut self,
        op: Op,
        size: Size,
        uses: &[VReg],
        memory: Option<Address>,
        mask: Option<VReg>,
        immediate: u32,
    ) -> Option<VReg> {
        if op.encoding().flushes {
            self.flush_denormals(true);
        }
        let (mut uses, mut result) = (uses.iter().copied(), None);
        for slot in op.form() {
            if slot.field == Field::Rm && memory.is_some() {
                continue;
            }
            let (register, kind) = match slot.role {
                Role::Use if slot.field == Field::Rm && op.reads_slots() => (uses.next(), USE_ANYWHERE),
                Role::Use => (uses.next(), USE),
                Role::Def | Role::Reuse => {
                    result = Some(self.result(slot.class));
                    (result, slot.role as usize)
                }
            };
            let register = register.expect("each operand is given");
            debug_assert_eq!(register.class(), class_of(slot.class), "{op:?}");
            self.operands.push(self.templates.operand(kind, register));
        }
        debug_assert!(uses.next().is_none(), "{op:?} has no more operands");
        if let Some(address) = memory {
            if let Base::Register(base) = address.base {
                self.operands.push(self.templates.operand(USE, base));
            }
            if let Some(index) = address.index() {
                self.operands.push(self.templates.operand(USE, index));
            }
        }
        if let Some(mask) = mask {
            self.operands.push(self.templates.operand(USE, mask));
        }
        self.put(Kind::Op(op), size, memory, mask.is_some(), immediate);
        result
    }

    /// The address of a constant.
    pub fn constant(&mut self, constant: Constant) -> Address {
        Address::new(Base::Constant(self.constants.number(constant)), 0)
    }
}

/// The number of an operand's register: its lowest bits. Decoding all of it takes several times as long, and register
/// allocation does so for each operand several times.
#[inline]
pub fn number_of(operand: Operand) -> usize {
    let number = operand.bits() as usize & VReg::MAX;
    debug_assert_eq!(number, operand.vreg().vreg());
    number
}

/// The number of a register's class, by which tables of classes go.
#[inline]
pub fn class_number(register: VReg) -> usize {
    let class = register.bits() & 3;
    debug_assert_eq!(class, register.class() as usize);
    class
}

/// That of an operand's register.
#[inline]
pub fn class_number_of(operand: Operand) -> usize {
    let class = (operand.bits() >> 32) as usize & 3;
    debug_assert_eq!(class, operand.class() as usize);
    class
}

fn fixed(register: VReg, kind: OperandKind, number: usize) -> Operand {
    let constraint = OperandConstraint::FixedReg(PReg::new(number, RegClass::Int));
    let pos = if kind == OperandKind::Use { OperandPos::Early } else { OperandPos::Late };
    Operand::new(register, constraint, kind, pos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_block_are_side_by_side_in_whatever_order_they_come() {
        let mut code = Code::default();
        let blocks = [(); 3].map(|()| code.block());
        let mut given = [const { Vec::new() }; 3];
        for number in [0, 1, 1, 0, 2, 0, 1] {
            given[number].push(code.param(blocks[number], Class::V));
        }
        for (block, args) in blocks.into_iter().zip([&[][..], &given[0][..1], &given[1]]) {
            code.switch_to(block);
            code.jump(blocks[0], args);
        }
        let params: Vec<&[VReg]> = code.blocks.iter().map(|block| code.params_of(block)).collect();
        let args: Vec<&[VReg]> = code.blocks.iter().map(|block| code.args_of(block)).collect();
        assert_eq!(params, given);
        assert_eq!(args, [&[][..], &given[0][..1], &given[1]]);
    }
}
