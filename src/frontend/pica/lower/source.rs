//! Reading sources: registers, uniforms, relative addressing, swizzle, negation.

use shaderjit_ir::{Type, Value};

use super::{FloatPrecision, Lowering, RELATIVE_ROWS};
use crate::error::LowerError;
use crate::frontend::pica::decode::{Program, Sources};
use crate::frontend::pica::operand::{Component, Descriptor, DescriptorIndex, Source};

/// One source of the instruction at hand.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    place: Place,
    /// Position among the sources, which finds its fields in the descriptor.
    number: usize,
    descriptor: Descriptor,
}

/// Where a source is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Its components, swizzled and negated.
    Fetched([Value; 4]),
    Input(u8),
    Temporary(u8),
    Uniform(u8),
    /// The row of the float uniforms at a base plus what is at most 127. The first rows stand again behind the last.
    Relative(u8, Value),
}

/// The descriptor that leaves sources as they are: `xyzw`, not negated.
const UNCHANGED: Descriptor = Descriptor(0x1b << 5);

impl Operand {
    /// A source of these components.
    pub fn fetched(components: [Value; 4]) -> Operand {
        Operand { place: Place::Fetched(components), number: 0, descriptor: UNCHANGED }
    }
}

/// The descriptor `index` of the instruction at byte `offset`.
pub(super) fn descriptor(program: &Program, index: DescriptorIndex, offset: usize) -> Result<Descriptor, LowerError> {
    program.descriptor(index).ok_or_else(|| {
        let what = format!("operand descriptor {} is past the end of the table", index.0);
        LowerError::Invalid { what, offset }
    })
}

impl Lowering<'_> {
    /// Source `number` of an instruction that has it. Address registers are read now, components when asked for.
    pub(super) fn operand(&mut self, sources: &Sources, number: usize, descriptor: Descriptor) -> Operand {
        let place = match sources.get(number).expect("the opcode's picture has that source") {
            Source::Input(register) => Place::Input(register),
            Source::Temporary(register) => Place::Temporary(register),
            Source::Uniform { base, relative: None } => Place::Uniform(base),
            Source::Uniform { base, relative: Some(register) } => {
                let offset = self.address_register(register);
                let offset = self.relative_offset(offset);
                Place::Relative(base, self.wrapped(offset))
            }
        };
        Operand { place, number, descriptor }
    }

    /// An offset outside of a signed byte counts as 0, and the row it is added to wraps at 7 bits. Recorded on hardware
    /// (citra pull requests 6910, 6920, 6942).
    pub(super) fn relative_offset(&mut self, offset: Value) -> Value {
        let (half, bytes, zero) = (self.b.i32(128), self.b.i32(256), self.b.i32(0));
        let shifted = self.b.iadd([offset, half]);
        let is_byte = self.b.ult([shifted, bytes]);
        self.b.select([is_byte, offset, zero])
    }

    /// A row as it wraps around.
    pub(super) fn wrapped(&mut self, row: Value) -> Value {
        let last = self.b.i32(RELATIVE_ROWS - 1);
        self.b.and([row, last])
    }

    /// What the operand gives for `component`, swizzled and negated: what moves and comparisons see.
    pub(super) fn read(&mut self, operand: Operand, component: Component) -> Value {
        let value = self.fetch(operand, component);
        if operand.descriptor.negates(operand.number) { self.negate(value) } else { value }
    }

    /// The same as arithmetic sees it, to which denormals are zero. To `f32` arithmetic they are anyway.
    pub(super) fn number(&mut self, operand: Operand, component: Component) -> Value {
        let mut value = self.fetch(operand, component);
        if self.options.numbers == FloatPrecision::Float24 {
            value = self.b.fflush24([value]);
        }
        if operand.descriptor.negates(operand.number) { self.negate(value) } else { value }
    }

    pub(super) fn negate(&mut self, value: Value) -> Value {
        match self.options.numbers {
            FloatPrecision::Fast => self.b.fneg([value]),
            // There is no -0.
            FloatPrecision::Float24 => {
                let zero = self.b.f32(0.0);
                self.b.fsub([zero, value])
            }
        }
    }

    /// Swizzled, not negated.
    fn fetch(&mut self, operand: Operand, component: Component) -> Value {
        self.place(operand.place, operand.descriptor.select(operand.number, component))
    }

    /// What is in a place.
    pub(super) fn place(&mut self, place: Place, component: Component) -> Value {
        let c = component.index() as u8;
        match place {
            Place::Fetched(components) => components[component.index()],
            Place::Input(register) => {
                let value = self.b.input(Type::F32, register.into(), c);
                self.loaded(value)
            }
            Place::Temporary(register) => {
                let variable = self.registers.temporary(&mut self.b, register, component);
                self.b.use_var(variable)
            }
            Place::Uniform(row) => {
                let value = self.b.uniform_load(Type::F32, self.spaces.float, row.into(), c);
                self.loaded(value)
            }
            Place::Relative(base, offset) => {
                let value = self.b.uniform_load_at(Type::F32, self.spaces.float, base.into(), c, offset);
                self.loaded(value)
            }
        }
    }

    /// What the caller binds, as the hardware keeps it.
    pub(super) fn loaded(&mut self, value: Value) -> Value {
        match self.options.numbers {
            FloatPrecision::Fast => value,
            FloatPrecision::Float24 => self.b.f32tof24([value]),
        }
    }

    /// The result of one arithmetic operation, as the hardware keeps it.
    pub(super) fn rounded(&mut self, value: Value) -> Value {
        match self.options.numbers {
            FloatPrecision::Fast => value,
            FloatPrecision::Float24 => self.b.fround24([value]),
        }
    }
}
