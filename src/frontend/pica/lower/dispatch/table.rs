//! The table of words: what decoding them gives, in 128 bits a word.

use crate::error::LowerError;
use crate::frontend::pica::decode::{Effect, Instruction, Program, Sources};
use crate::frontend::pica::flow::may_reach;
use crate::frontend::pica::opcode::Opcode;
use crate::frontend::pica::operand::{
    Address, Comparison, Component, Descriptor, DescriptorIndex, Destination, Source, Test,
};

/// A field of a row: component, lowest bit, number of bits.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub component: u8,
    pub shift: u32,
    pub bits: u32,
}

impl Field {
    const fn new(component: u8, shift: u32, bits: u32) -> Field {
        Field { component, shift, bits }
    }

    fn put(self, row: &mut [u32; 4], value: u32) {
        debug_assert!(value >> self.bits == 0, "{value:#x} has more than {} bits", self.bits);
        row[usize::from(self.component)] |= value << self.shift;
    }
}

/// What a word does, an [`Action`] or, from [`ARITHMETIC`] on, one of [`Table::opcodes`].
pub(super) const KIND: Field = Field::new(0, 0, 8);

// ---- fields of arithmetic

/// First cell of the destination.
pub(super) const DESTINATION: Field = Field::new(0, 8, 8);
/// The written components of the destination, bit 0 = x.
pub(super) const MASK: Field = Field::new(0, 16, 4);
/// The index field: 0, or 1 + the address register.
pub(super) const INDEX: Field = Field::new(0, 20, 2);
/// The written components of `a0`.
pub(super) const ADDRESS_MASK: Field = Field::new(0, 22, 2);
/// For `cmp.x` and `cmp.y` for which orders it is set, see [`orders`].
pub(super) const ORDERS: [Field; 2] = [Field::new(0, 24, 4), Field::new(0, 28, 4)];

/// Whether there is a source `number`.
pub(super) const fn is_present(number: u8) -> Field {
    Field::new(1 + number, 31, 1)
}

/// Whether source `number` is a float uniform.
pub(super) const fn is_uniform(number: u8) -> Field {
    Field::new(1 + number, 30, 1)
}

/// Whether source `number` is negated.
pub(super) const fn is_negated(number: u8) -> Field {
    Field::new(1 + number, 29, 1)
}

/// Source `number`, no uniform: the cell read for a component.
pub(super) const fn cell(number: u8, component: u8) -> Field {
    Field::new(1 + number, 7 * component as u32, 7)
}

/// Source `number`, a uniform: its number without what is added.
pub(super) const fn base(number: u8) -> Field {
    Field::new(1 + number, 0, 7)
}

/// Source `number`, a uniform: the component read for a component.
pub(super) const fn select(number: u8, component: u8) -> Field {
    Field::new(1 + number, 8 + 2 * component as u32, 2)
}

// ---- fields of control flow

/// The action if the test holds is the kind; this one if not.
pub(super) const OTHERWISE: Field = Field::new(0, 8, 8);
/// For JUMP, IF (the else part) and CALL where to; for LOOP the word behind the body.
pub(super) const TARGET: Field = Field::new(1, 0, 16);
/// The word behind the procedure, or behind the else part.
pub(super) const END: Field = Field::new(1, 16, 16);
/// For each state of the flags, `cmp.x + 2 * cmp.y`, whether the test holds.
pub(super) const TRUTH: Field = Field::new(2, 0, 4);
/// Whether the test is of a bool uniform, instead.
pub(super) const IS_BOOL: Field = Field::new(2, 4, 1);
/// The value that is to have.
pub(super) const BOOL_VALUE: Field = Field::new(2, 5, 1);
/// Its number.
pub(super) const BOOL: Field = Field::new(2, 8, 4);
/// The integer uniform of LOOP.
pub(super) const INT: Field = Field::new(3, 0, 2);
/// SETEMIT: the vertex buffer.
pub(super) const BUFFER: Field = Field::new(1, 0, 2);
/// SETEMIT: whether a triangle ends.
pub(super) const ENDS: Field = Field::new(1, 2, 1);
/// SETEMIT: whether it is inverted.
pub(super) const INVERTED: Field = Field::new(1, 3, 1);

/// What a word of control flow does. A row of zeros ends the invocation, and so does what lies behind the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    End,
    Nop,
    Jump,
    Call,
    If,
    Loop,
    Break,
    SetEmit,
    Emit,
}

/// The first kind that is arithmetic.
pub(super) const ARITHMETIC: u32 = 16;

/// Cells of the registers: `v0` to `v15`, `r0` to `r15`, `o0` to `o15`, four each.
pub(super) const CELLS: u32 = 3 * 16 * 4;
/// First cell of the outputs.
const OUTPUTS: u32 = 2 * 16 * 4;

/// First cell of a destination.
pub(super) fn cell_of(destination: Destination) -> u32 {
    match destination {
        Destination::Output(number) => OUTPUTS + 4 * u32::from(number),
        temporary @ Destination::Temporary(_) => 4 * temporary.to_field(),
    }
}

/// A program as a table, and what it needs besides.
#[derive(Default)]
pub(super) struct Table {
    pub rows: Vec<[u32; 4]>,
    /// The arithmetic opcodes that occur; those that differ only in their encoding are one.
    pub opcodes: Vec<Opcode>,
    /// The input registers that are read.
    pub inputs: [bool; 16],
    /// The components of the output registers that are written, bit 0 = x.
    pub outputs: [u8; 16],
    /// Whether some uniform is addressed relatively.
    pub is_relative: bool,
    pub has_call: bool,
    pub has_if: bool,
    pub has_loop: bool,
    /// Whether some test is of a bool uniform.
    pub has_bool: bool,
    /// Whether there is an EMIT or SETEMIT.
    pub has_emit: bool,
}

impl Table {
    /// The words that the program may get to; the others' rows stay zero.
    ///
    /// # Errors
    ///
    /// As [`lower`](super::super::lower), for any of these words.
    pub fn new(program: &Program, entry: Address, is_geometry: bool) -> Result<Table, LowerError> {
        let mut table = Table::default();
        for (address, reached) in (0..).map(Address).zip(may_reach(program, entry)) {
            let row = match program.get(address).filter(|_| reached) {
                None => [0; 4],
                Some(instruction) => table.row(program, address, instruction, is_geometry)?,
            };
            table.rows.push(row);
        }
        Ok(table)
    }

    fn row(
        &mut self,
        program: &Program,
        address: Address,
        instruction: &Instruction,
        is_geometry: bool,
    ) -> Result<[u32; 4], LowerError> {
        let mut row = [0; 4];
        let offset = program.byte_offset(address);
        let descriptor = |index: DescriptorIndex| super::super::source::descriptor(program, index, offset);
        match instruction.effect {
            Effect::Arithmetic { destination, ref sources, descriptor: index } => {
                let descriptor = descriptor(index)?;
                let opcode = instruction.opcode.expect("only undefined words have none");
                KIND.put(&mut row, self.kind(plain(opcode)));
                self.sources(&mut row, sources, descriptor);
                let mask = descriptor.written().fold(0, |mask, component| mask | 1 << component.index());
                match destination {
                    None => ADDRESS_MASK.put(&mut row, mask & 3),
                    Some(destination) => {
                        DESTINATION.put(&mut row, cell_of(destination));
                        MASK.put(&mut row, mask);
                        if let Destination::Output(number) = destination {
                            self.outputs[usize::from(number)] |= mask as u8;
                        }
                    }
                }
            }
            Effect::Compare { comparisons, ref sources, descriptor: index } => {
                KIND.put(&mut row, self.kind(Opcode::Cmp));
                self.sources(&mut row, sources, descriptor(index)?);
                for (field, comparison) in ORDERS.into_iter().zip(comparisons) {
                    field.put(&mut row, orders(comparison));
                }
            }
            Effect::Nop | Effect::Undefined => KIND.put(&mut row, Action::Nop as u32),
            Effect::End => {}
            Effect::Break { test } => self.control(&mut row, Action::Break, Action::Nop, test),
            Effect::Call { test, target, end } => {
                self.control(&mut row, Action::Call, Action::Nop, test);
                TARGET.put(&mut row, target.0.into());
                END.put(&mut row, end.0.into());
                self.has_call = true;
            }
            Effect::If { test, otherwise, end } => {
                self.control(&mut row, Action::If, Action::Jump, Some(test));
                TARGET.put(&mut row, otherwise.0.into());
                END.put(&mut row, end.0.into());
                self.has_if = true;
            }
            Effect::Loop { uniform, last } => {
                self.control(&mut row, Action::Loop, Action::Nop, None);
                TARGET.put(&mut row, last.next().0.into());
                INT.put(&mut row, u32::from(uniform.0 & 3));
                self.has_loop = true;
            }
            Effect::Jump { test, target } => {
                self.control(&mut row, Action::Jump, Action::Nop, Some(test));
                TARGET.put(&mut row, target.0.into());
            }
            Effect::Emit | Effect::SetEmit { .. } if !is_geometry => {
                return Err(LowerError::Unsupported { what: instruction.mnemonic(), offset });
            }
            Effect::Emit => {
                self.control(&mut row, Action::Emit, Action::Nop, None);
                self.has_emit = true;
            }
            Effect::SetEmit { vertex, primitive, inverted } => {
                self.control(&mut row, Action::SetEmit, Action::Nop, None);
                BUFFER.put(&mut row, u32::from(vertex & 3));
                ENDS.put(&mut row, primitive.into());
                INVERTED.put(&mut row, inverted.into());
                self.has_emit = true;
            }
        }
        Ok(row)
    }

    /// The kind of an arithmetic opcode.
    fn kind(&mut self, opcode: Opcode) -> u32 {
        let known = self.opcodes.iter().position(|&known| known == opcode);
        let index = known.unwrap_or_else(|| {
            self.opcodes.push(opcode);
            self.opcodes.len() - 1
        });
        ARITHMETIC + index as u32
    }

    fn sources(&mut self, row: &mut [u32; 4], sources: &Sources, descriptor: Descriptor) {
        for (number, source) in sources.iter().enumerate() {
            let n = number as u8;
            is_present(n).put(row, 1);
            is_negated(n).put(row, descriptor.negates(number).into());
            let selected = Component::ALL.map(|component| descriptor.select(number, component).index() as u32);
            if let Source::Uniform { base: uniform, relative } = source {
                is_uniform(n).put(row, 1);
                base(n).put(row, uniform.into());
                (0..).zip(selected).for_each(|(c, selected)| select(n, c).put(row, selected));
                // No two sources are uniforms.
                INDEX.put(row, relative.map_or(0, |register| register.to_field()));
                self.is_relative |= relative.is_some();
            } else {
                (0..).zip(selected).for_each(|(c, selected)| cell(n, c).put(row, 4 * source.to_field() + selected));
            }
            if let Source::Input(number) = source {
                self.inputs[usize::from(number)] = true;
            }
        }
    }

    fn control(&mut self, row: &mut [u32; 4], action: Action, otherwise: Action, test: Option<Test>) {
        KIND.put(row, action as u32);
        OTHERWISE.put(row, otherwise as u32);
        match test {
            None => TRUTH.put(row, 0xf),
            Some(Test::Flags(test)) => {
                let truth = (0..4).filter(|state| test.holds(state & 1 != 0, state & 2 != 0));
                TRUTH.put(row, truth.fold(0, |truth, state| truth | 1 << state));
            }
            Some(Test::Bool { uniform, value }) => {
                IS_BOOL.put(row, 1);
                BOOL_VALUE.put(row, value.into());
                BOOL.put(row, u32::from(uniform.0 & 0xf));
                self.has_bool = true;
            }
        }
    }
}

/// The opcode that does the same with its wide source first, or second.
fn plain(opcode: Opcode) -> Opcode {
    match opcode {
        Opcode::Dphi => Opcode::Dph,
        Opcode::Dsti => Opcode::Dst,
        Opcode::Sgei => Opcode::Sge,
        Opcode::Slti => Opcode::Slt,
        Opcode::Madi => Opcode::Mad,
        opcode => opcode,
    }
}

/// For which orders of its operands a comparison holds: bit 0 less, bit 1 equal, bit 2 greater, bit 3 none of these.
fn orders(comparison: Comparison) -> u32 {
    match comparison {
        Comparison::Less => 0b0001,
        Comparison::Equal => 0b0010,
        Comparison::LessEqual => 0b0011,
        Comparison::Greater => 0b0100,
        Comparison::GreaterEqual => 0b0110,
        Comparison::NotEqual => 0b1101,
        Comparison::Always6 | Comparison::Always7 => 0b1111,
    }
}
