//! Bytecode: a function as instructions on registers, one behind the other.

use crate::op::Op;
use crate::texture::{self, Access};

/// What an instruction does. `d` is the register of its result, `a`, `b` and `c` its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// An op of the table in [`crate::eval`], on the registers `a`, `b` and `c`.
    Plain(Op),
    /// The register `a`.
    Move,
    /// Whether `a` holds in any lane of the wave.
    Any,
    /// Word [`place`] `b` of the row that is `a` plus the number `c`.
    UniformLoad,
    /// The word at byte `a` plus the number `c` of resource `b`.
    ResourceLoad,
    /// The word at byte `a` plus the number `c` of memory `b`.
    MemoryLoad,
    /// Stores the register `c` at byte `a` of memory, place `b` of [`Bytecode::stores`], in lanes where the register
    /// `d` is not zero.
    MemoryStore,
    /// Bytes of resource `b`.
    ResourceBytes,
    /// Word [`place`] `b` of the element with the index `a`.
    ArrayLoad,
    /// Stores the register `c` where `a` says, in the place `b`.
    ArrayStore,
    /// The same in lanes where the register `d` is not zero.
    ArrayStoreMasked,
    /// An op on doubles, number `a` of [`Bytecode::doubles`].
    Double,
    /// An access to a texture, number `a` of [`Bytecode::accesses`].
    Access,
    /// Ends a phase: waves of a group wait for each other. The instruction was made for byte `a` - 1 of the program.
    Barrier,
    /// Notes where the register `a` is NaN.
    Guard,
    /// Goes on at instruction `a`, for `c` units of fuel.
    Jump,
    /// Goes on at instruction `b` where the register `a` is not zero, else at `c`.
    Branch,
    /// Goes on where number `b` of [`Bytecode::switches`] says for the register `a`.
    Switch,
    /// The end.
    Return,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub code: Code,
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

/// Component of a row or element, and the space or array that has it, as one operand.
pub(super) fn place(of: u32, component: u8) -> u32 {
    of << 2 | u32::from(component)
}

/// The two again.
pub(super) fn split(place: u32) -> (usize, usize) {
    ((place >> 2) as usize, (place & 3) as usize)
}

/// An op on doubles: the registers of the low and high words. An operand of one word has a register of zeros beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double {
    pub op: Op,
    pub operands: [[u32; 2]; 3],
    pub result: [u32; 2],
    /// Words of the result.
    pub words: usize,
}

/// An access: the registers of the words of operands and result.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextureAccess {
    pub access: Access,
    pub operands: [[u32; 4]; texture::OPERANDS],
    /// Number of operands.
    pub count: usize,
    pub result: [u32; 4],
    /// Words of the result; 0 if there is none.
    pub words: usize,
}

/// The instructions that a switch goes on at, by ascending value.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    pub cases: Vec<(u32, u32)>,
    pub default: u32,
}

impl Switch {
    /// Where it goes on for a value.
    pub fn target(&self, value: u32) -> u32 {
        let found = self.cases.binary_search_by_key(&value, |&(case, _)| case);
        found.map_or(self.default, |at| self.cases[at].1)
    }
}

/// Elements of a register array, which lie component by component.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayShape {
    pub elements: u32,
    pub components: u8,
    pub kept: bool,
}

impl Bytecode {
    /// Whether waves of a group wait for each other.
    pub fn has_barriers(&self) -> bool {
        self.code.iter().any(|inst| inst.code == Code::Barrier)
    }

    /// Bytes that a [`Machine`](super::Machine) keeps, roughly.
    pub fn bytes_of_wave(&self) -> usize {
        let cells = self.arrays.iter().map(|array| array.elements as usize * usize::from(array.components));
        (self.registers as usize).saturating_add(cells.fold(0, usize::saturating_add)).saturating_mul(64)
    }
}

/// A function, translated for a [`Machine`](super::Machine).
#[derive(Debug)]
pub struct Bytecode {
    /// What is computed before the first wave.
    pub(super) prologue: Vec<Instruction>,
    /// What each wave runs, from the first instruction on.
    pub(super) code: Vec<Instruction>,
    pub(super) doubles: Vec<Double>,
    pub(super) accesses: Vec<TextureAccess>,
    /// Where words are stored: the memory, and what is added to the byte.
    pub(super) stores: Vec<(u32, u32)>,
    pub(super) switches: Vec<Switch>,
    pub(super) arrays: Vec<ArrayShape>,
    /// The first registers: what they hold in every lane before anything runs.
    pub(super) literals: Vec<u32>,
    /// Number of registers.
    pub(super) registers: u32,
    /// The register of each component of each input element that is read.
    pub(super) inputs: Vec<[Option<u32>; 4]>,
    /// The register that holds each component of each output element at the end.
    pub(super) outputs: Vec<[u32; 4]>,
    /// Registers that are zero when a run begins.
    pub(super) zeroed: Vec<u32>,
    pub(super) vertex_id: Option<u32>,
    pub(super) active: Option<u32>,
    pub(super) instance_id: Option<u32>,
}
