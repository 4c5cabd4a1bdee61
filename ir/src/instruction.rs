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
    #[inline]
    pub fn new(values: &[Value]) -> Operands {
        assert!(values.len() <= Operands::MAX);
        // For so few, one after the other is faster than a copy of any length.
        let operand = |number| values.get(number).copied().unwrap_or(Value::from_u32(0));
        Operands { values: [operand(0), operand(1), operand(2), operand(3)], len: values.len() as u8 }
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
    /// Where each lane has its word from.
    Picks(Picks),
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

/// For each of sixteen lanes one of two operands and a lane of it: 80 bits, so that no immediate is larger for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Picks {
    /// The lanes, two a byte.
    lanes: [u8; 8],
    /// A bit for each that is of the second operand.
    second: [u8; 2],
}

impl Picks {
    /// Lanes that there are numbers for.
    pub const LANES: usize = 16;

    /// Numbers below 16 are lanes of the first operand, those from 16 on of the second. Only their low five bits count.
    pub fn new(numbers: [u8; Picks::LANES]) -> Picks {
        let mut picks = Picks { lanes: [0; 8], second: [0; 2] };
        for (lane, number) in numbers.into_iter().enumerate() {
            picks.lanes[lane / 2] |= (number & 15) << (lane % 2 * 4);
            picks.second[lane / 8] |= (number >> 4 & 1) << (lane % 8);
        }
        picks
    }

    /// The numbers that it was made of.
    pub fn numbers(self) -> [u8; Picks::LANES] {
        std::array::from_fn(|lane| {
            let number = self.lanes[lane / 2] >> (lane % 2 * 4) & 15;
            number | (self.second[lane / 8] >> (lane % 8) & 1) << 4
        })
    }

    /// For each of so many lanes of a vector, the operand that it has its word from, and the lane of that. Lanes count
    /// modulo as many as there are.
    pub fn sources(self, lanes: usize) -> impl Iterator<Item = (usize, usize)> {
        let numbers = self.numbers().into_iter().take(lanes).map(usize::from);
        numbers.map(move |number| (number / Picks::LANES, number % Picks::LANES.min(lanes)))
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
