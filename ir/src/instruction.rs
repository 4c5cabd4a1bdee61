//! The data of one instruction: its op, its operands and immediate, and what it was made for.

use crate::entity::{Array, Resource, Sampler, Space, Value};
use crate::memory::AtomicFunction;
use crate::op::{Op, SysVal};
use crate::types::Type;
use std::ops::{Deref, DerefMut};

/// The operands of an instruction, inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operands {
    values: [Value; Operands::MAX],
    len: u8,
}

impl Operands {
    /// No op takes more.
    pub const MAX: usize = 4;

    /// Copies a slice of at most [`Operands::MAX`] values.
    pub fn new(values: &[Value]) -> Operands {
        let mut operands = Operands { values: [Value::from_u32(0); Operands::MAX], len: values.len() as u8 };
        operands.values[..values.len()].copy_from_slice(values);
        operands
    }
}

impl Deref for Operands {
    type Target = [Value];
    #[inline]
    fn deref(&self) -> &[Value] {
        &self.values[..usize::from(self.len)]
    }
}

impl DerefMut for Operands {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Value] {
        &mut self.values[..usize::from(self.len)]
    }
}

/// The immediate of an instruction; which variant is in [`Op::imm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Imm {
    /// None.
    None,
    /// The bits of a literal, zero-extended.
    Bits(u64),
    /// Component `component` of element `element`.
    Element {
        /// Input or output element.
        element: u32,
        /// Component, 0 to 3.
        component: u8,
    },
    /// All of an input or output element.
    Stream(u32),
    /// A slot.
    Slot(u32),
    /// A worklist.
    Worklist(u32),
    /// A worklist in another.
    Nested {
        /// The worklist.
        worklist: u32,
        /// The one around it; none if that is all waves.
        outer: Option<u32>,
    },
    /// A system value.
    SysVal(SysVal),
    /// Component `component` of row `row` of `space`.
    Row {
        /// Uniform space.
        space: Space,
        /// Row, to which `uniform_load_at` adds its operand.
        row: u32,
        /// Component, 0 to 3.
        component: u8,
    },
    /// Row `row` of `space`.
    SpaceRow {
        /// Uniform space.
        space: Space,
        /// Row, to which the operand is added.
        row: u32,
    },
    /// The bytes of `resource` from `offset` on.
    ResourceByte {
        /// Resource.
        resource: Resource,
        /// Added to the operand, without wrapping.
        offset: u32,
    },
    /// All of a resource.
    Resource(Resource),
    /// Component `component` of the elements of `array`.
    Array {
        /// Register array.
        array: Array,
        /// Component, below the array's count.
        component: u8,
    },
    /// Component of a row, 0 to 3.
    Component(u8),
    /// A texel of `texture`.
    Texel {
        /// A resource that is a texture.
        texture: Resource,
        /// Added to the address: x, y, z in texels.
        offsets: [i8; 3],
    },
    /// What `sampler` makes of `texture`.
    Sample {
        /// A resource that is a texture.
        texture: Resource,
        /// Sampler.
        sampler: Sampler,
        /// Added to the address: x, y, z in texels.
        offsets: [i8; 3],
    },
    /// Component `component` of four texels.
    Gather {
        /// A resource that is a texture.
        texture: Resource,
        /// Sampler.
        sampler: Sampler,
        /// Added to the address: x, y, z in texels.
        offsets: [i8; 3],
        /// Component, 0 to 3.
        component: u8,
    },
    /// What a function makes of words of `resource`.
    Atomic {
        /// A resource that is [memory](crate::memory).
        resource: Resource,
        /// The function.
        function: AtomicFunction,
    },
}

impl Imm {
    /// The resource that is memory or bytes, if it names one.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Imm::ResourceByte { resource, .. } | Imm::Resource(resource) | Imm::Atomic { resource, .. } => {
                Some(resource)
            }
            _ => None,
        }
    }
}

/// The instruction of the source program that an instruction was made for, by its byte offset; or none. Only listings
/// look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// One more than the offset; 0 for none.
    number: u32,
}

impl Origin {
    /// The source instruction at a byte offset. None, if the offset is too large for a program.
    pub fn at(offset: usize) -> Origin {
        Origin { number: u32::try_from(offset).ok().and_then(|offset| offset.checked_add(1)).unwrap_or(0) }
    }

    /// Its byte offset.
    pub fn offset(self) -> Option<u32> {
        self.number.checked_sub(1)
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// The type its set-typed operands and result have; for other ops the result's type.
    pub ty: Type,
    /// Operands.
    pub args: Operands,
    /// Immediate.
    pub imm: Imm,
    /// The value it defines, if its op has a result.
    pub result: Option<Value>,
    /// What it was made for.
    pub origin: Origin,
    /// Which vector of the wave's lanes it is for, in a [batch program](crate::batch) that interleaves several.
    pub vector: u8,
}
