//! Accesses of textures: what the IR and both engines know of them. What a texture holds and how it is filtered is its
//! caller's to say, through [`Textures`]; so every engine gets the same bits.

use crate::entity::{Resource, Sampler};
use crate::function::Imm;
use crate::memory::{AtomicFunction, is_memory_op};
use crate::op::{Op, TypeRule};
use std::fmt;
use std::sync::atomic::AtomicU32;

macro_rules! define_shapes {
    ($( $(#[$doc:meta])* $name:ident $text:literal: $coordinates:literal $array:literal; )*) => {
        /// The shape of a texture.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum TextureShape { $( $(#[$doc])* $name, )* }

        impl TextureShape {
            /// Every shape.
            pub const ALL: &'static [TextureShape] = &[$( TextureShape::$name, )*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $( TextureShape::$name => $text, )* } }

            /// How many coordinates a point of one slice has: 3 for cubes, which are looked up by direction.
            pub const fn coordinates(self) -> usize { match self { $( TextureShape::$name => $coordinates, )* } }

            /// Whether it has slices; which one is a number behind the coordinates.
            pub const fn is_array(self) -> bool { match self { $( TextureShape::$name => $array, )* } }
        }
    };
}
define_shapes! {
    /// A row of texels.
    D1 "texture1d": 1 false;
    /// Slices of rows.
    D1Array "texture1darray": 1 true;
    /// A rectangle.
    D2 "texture2d": 2 false;
    /// Slices of rectangles.
    D2Array "texture2darray": 2 true;
    /// A rectangle of texels of several samples.
    D2Ms "texture2dms": 2 false;
    /// Slices of such rectangles.
    D2MsArray "texture2dmsarray": 2 true;
    /// A block.
    D3 "texture3d": 3 false;
    /// Six square faces.
    Cube "texturecube": 3 false;
    /// Slices of six faces.
    CubeArray "texturecubearray": 3 true;
}

impl TextureShape {
    /// The shape of that name.
    pub fn from_name(name: &str) -> Option<TextureShape> {
        TextureShape::ALL.iter().copied().find(|shape| shape.name() == name)
    }

    /// Whether texels have several samples: it has one level, and is not filtered.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, TextureShape::D2Ms | TextureShape::D2MsArray)
    }

    /// Whether it is looked up by direction.
    pub const fn is_cube(self) -> bool {
        matches!(self, TextureShape::Cube | TextureShape::CubeArray)
    }

    /// Why `op` cannot access this shape; none if it can. `offsets` are those of its immediate.
    pub fn objection(self, op: Op, offsets: [i8; 3]) -> Option<&'static str> {
        let filters = matches!(op.operands().first(), Some(TypeRule::Row)) && op != Op::TextureLoad;
        let gathers = matches!(op, Op::Gather | Op::GatherAt | Op::GatherCompare | Op::GatherCompareAt);
        match op {
            _ if filters && self.is_multisampled() => Some("texels of several samples are not filtered"),
            Op::TextureLoad if self.is_cube() => Some("cubes have no integer addresses"),
            Op::TextureSamples if !self.is_multisampled() => Some("texels have one sample"),
            _ if gathers && self.coordinates() != 2 && !self.is_cube() => {
                Some("only rectangles and cubes are gathered")
            }
            Op::GatherAt | Op::GatherCompareAt if self.is_cube() => Some("cubes have no texel offsets"),
            _ if offsets != [0; 3] && self.is_cube() => Some("cubes have no texel offsets"),
            _ => None,
        }
    }
}

impl fmt::Display for TextureShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The ops that access textures.
pub const OPS: [Op; 12] = [
    Op::TextureLoad,
    Op::SampleLevel,
    Op::SampleGradients,
    Op::SampleCompare,
    Op::SampleCompareGradients,
    Op::TextureLod,
    Op::Gather,
    Op::GatherAt,
    Op::GatherCompare,
    Op::GatherCompareAt,
    Op::TextureSize,
    Op::TextureSamples,
];

/// Whether an op is one of [`OPS`]. These are read-only; [`is_access`] has those on memory beside them.
pub fn is_texture_op(op: Op) -> bool {
    OPS.contains(&op)
}

/// Whether an op is a question to [`Textures`].
pub fn is_access(op: Op) -> bool {
    is_texture_op(op) || is_memory_op(op)
}

/// One access, all but its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// One of [`OPS`], or one on [memory](crate::memory).
    pub op: Op,
    /// The texture, or the memory.
    pub texture: Resource,
    /// The sampler, for the ops that have one.
    pub sampler: Option<Sampler>,
    /// Added to the address: x, y, z in texels.
    pub offsets: [i8; 3],
    /// The component that is gathered.
    pub component: u8,
    /// Added to a byte offset, without wrapping.
    pub offset: u32,
    /// What an atomic op does.
    pub function: Option<AtomicFunction>,
    /// How many words of an answer that is a row are read, 1 to 4, the first ones. The others may be anything.
    pub words: u8,
}

impl Access {
    /// What an instruction accesses; none if it [is none](is_access).
    pub fn new(op: Op, imm: Imm) -> Option<Access> {
        if !is_access(op) {
            return None;
        }
        let (texture, sampler, offsets, component) = match imm {
            Imm::Resource(texture) => (texture, None, [0; 3], 0),
            Imm::Texel { texture, offsets } => (texture, None, offsets, 0),
            Imm::Sample { texture, sampler, offsets } => (texture, Some(sampler), offsets, 0),
            Imm::Gather { texture, sampler, offsets, component } => (texture, Some(sampler), offsets, component),
            Imm::ResourceByte { resource, .. } | Imm::Atomic { resource, .. } => (resource, None, [0; 3], 0),
            _ => return None,
        };
        let offset = if let Imm::ResourceByte { offset, .. } = imm { offset } else { 0 };
        let function = if let Imm::Atomic { function, .. } = imm { Some(function) } else { None };
        Some(Access { op, texture, sampler, offsets, component, offset, function, words: 4 })
    }
}

/// Most lanes of one access.
pub const LANES: usize = 16;

/// Most operands of an access.
pub const OPERANDS: usize = 4;

/// The operands of an access and, instead of the first, its result: `[operand][word][lane]`. An operand that is one
/// word is the first of its row.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows(pub [[[u32; LANES]; 4]; OPERANDS]);

impl Rows {
    /// Zeros.
    pub const ZERO: Rows = Rows([[[0; LANES]; 4]; OPERANDS]);

    /// One lane of an operand.
    pub fn get(&self, operand: usize, lane: usize) -> [u32; 4] {
        self.0[operand].map(|word| word[lane])
    }

    /// Sets one lane of the result.
    pub fn set(&mut self, lane: usize, row: [u32; 4]) {
        for (word, value) in self.0[0].iter_mut().zip(row) {
            word[lane] = value;
        }
    }
}

/// The textures, samplers and [memory](crate::memory) of a function.
///
/// What is written changes as the ops say, lane by lane in the order of the lanes, where the mask, the last operand of
/// ops that have one, is not zero. All other answers must depend on nothing but the access and the lane's own operands,
/// and not on the payload of a NaN among them: passes move and merge accesses, and engines differ in payloads. Lanes
/// may be inactive and then hold anything.
pub trait Textures: fmt::Debug + Sync {
    /// Replaces the first operand by the answer, as many words of it as are read, in the first `lanes` lanes, at most
    /// [`LANES`].
    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows);

    /// The words of memory that ops on bytes reach, behind one that takes what is dropped. Native code loads and stores
    /// there by itself; where there are none, nothing is in range. The default is none.
    fn words(&self, resource: Resource) -> Option<&[AtomicU32]> {
        let _ = resource;
        None
    }
}

/// Textures and memory that are zero everywhere and have no size, for functions that use none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTextures;

impl Textures for NoTextures {
    fn access(&self, _access: &Access, lanes: usize, rows: &mut Rows) {
        (0..lanes).for_each(|lane| rows.set(lane, [0; 4]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ImmKind;

    #[test]
    fn the_ops_are_those_with_a_texture_and_have_few_operands() {
        let names_texture = |op: Op| {
            matches!(op.imm(), ImmKind::Texel | ImmKind::Sample | ImmKind::Gather)
                || op.imm() == ImmKind::Resource && op != Op::ResourceBytes && !is_memory_op(op)
        };
        for &op in Op::ALL {
            assert_eq!(is_texture_op(op), names_texture(op), "{op}");
            assert!(!is_access(op) || op.operands().len() <= OPERANDS, "{op}");
        }
    }

    #[test]
    fn shapes_are_found_by_name() {
        for &shape in TextureShape::ALL {
            assert_eq!(TextureShape::from_name(shape.name()), Some(shape));
            assert!(shape.coordinates() + usize::from(shape.is_array()) <= 4);
        }
    }
}
