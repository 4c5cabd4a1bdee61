//! What a program declares.

use super::Generator;
use super::patch::Hull;
use super::primitive::Streams;
use super::signature::Element;
use super::subroutine::Interface;
use super::texture::DIMENSIONS;
use crate::frontend::sm4::codes::{Dimension, GlobalFlags, ReturnType, SamplerMode, Stage};
use crate::frontend::sm4::custom_data::CustomData;
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::operand::{Components, Mask, Swizzle};
use crate::frontend::sm4::{Body, Declaration, Instruction, Opcode, OpcodeToken, Operand, RegisterFile};
use arbitrary::Result;
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;

/// What instructions can name.
#[derive(Default)]
pub struct Declared {
    /// Number of `r#` that anything may be written to. Behind them are those that count loops.
    pub temps: u32,
    /// `x#`, by number.
    pub arrays: Vec<Array>,
    /// `v#`, and inputs with a register of their own.
    pub inputs: Vec<Register>,
    /// `o#`, and outputs with a register of their own.
    pub outputs: Vec<Register>,
    /// The `v#` or `vpc#` that are indexed.
    pub input_range: Option<IndexRange>,
    /// The `o#` that are indexed.
    pub output_range: Option<IndexRange>,
    /// Constant buffers.
    pub buffers: Vec<ConstantBuffer>,
    /// Rows of the immediate constant buffer.
    pub table_rows: u32,
    /// `t#`.
    pub views: Vec<View>,
    /// `u#` and `g#`.
    pub memory: Vec<Memory>,
    /// `s#`.
    pub samplers: Vec<Sampler>,
    /// An array of interface slots.
    pub interface: Option<Interface>,
    /// Number of labels.
    pub labels: u32,
    /// Whether each label does no more than call the next one.
    pub is_chain: bool,
    /// Files whose registers belong to one of so many vertices or control points.
    pub points: Vec<(RegisterFile, u32)>,
    /// The streams of a geometry shader.
    pub streams: Option<Streams>,
    /// What the phases of a hull shader share.
    pub hull: Option<Hull>,
    /// The input signature.
    pub input_elements: Vec<Element>,
    /// The output signature.
    pub output_elements: Vec<Element>,
    /// The signature of patch constants.
    pub constant_elements: Vec<Element>,
}

impl Declared {
    /// How many vertices or control points have registers of a file.
    pub fn points_of(&self, file: RegisterFile) -> Option<u32> {
        self.points.iter().find(|(other, _)| *other == file).map(|(_, count)| *count)
    }
}

/// An `x#`.
#[derive(Clone, Copy)]
pub struct Array {
    pub size: u32,
    pub mask: Mask,
}

/// An input or output register.
#[derive(Clone, Copy)]
pub struct Register {
    pub file: RegisterFile,
    /// None if it is the only one of its file.
    pub number: Option<u32>,
    /// The components declared.
    pub mask: Mask,
}

/// Registers that are indexed dynamically.
#[derive(Clone, Copy)]
pub struct IndexRange {
    pub file: RegisterFile,
    pub first: u32,
    pub count: u32,
    pub mask: Mask,
}

/// A constant buffer, or a range of them.
#[derive(Clone, Copy)]
pub struct ConstantBuffer {
    pub binding: Binding,
    pub rows: u32,
}

/// A view.
#[derive(Clone, Copy)]
pub struct View {
    pub binding: Binding,
    pub dimension: Dimension,
    /// Bytes of a structure.
    pub stride: u16,
    pub return_types: [ReturnType; 4],
}

/// Memory that programs write.
#[derive(Clone, Copy)]
pub struct Memory {
    pub view: View,
    /// Whether it is a `g#`, and so a group's own.
    pub is_shared: bool,
    /// Whether it has a hidden counter.
    pub counts: bool,
}

/// A sampler.
#[derive(Clone, Copy)]
pub struct Sampler {
    pub binding: Binding,
    pub mode: SamplerMode,
}

/// Loops that have a counter: a component of one of two registers behind the others.
pub const MAX_LOOPS: u32 = 8;

impl Generator<'_, '_> {
    /// Declares registers, buffers, views and interfaces.
    pub fn declare(&mut self) -> Result<()> {
        if self.version.stage == Stage::Hull {
            self.declare_as(Opcode::HsDecls, Declaration::HsDecls);
        }
        let flags = [
            (GlobalFlags::REFACTORING_ALLOWED, self.one_in(2)?),
            (GlobalFlags::DOUBLE_PRECISION, self.has_model(5, 0)),
            (GlobalFlags::DOUBLE_EXTENSIONS, self.has_model(5, 0)),
            (GlobalFlags::SHADER_EXTENSIONS, self.has_model(5, 0)),
            (GlobalFlags::MINIMUM_PRECISION, self.has_model(5, 0)),
        ];
        let token = flags.iter().filter(|(_, set)| *set).fold(0, |token, (flag, _)| token | flag.bits());
        self.declare_as(Opcode::DclGlobalFlags, Declaration::GlobalFlags(GlobalFlags::from_token(token)));
        self.declare_table()?;
        self.declare_buffers()?;
        self.declare_views()?;
        self.declare_samplers()?;
        // Stages between vertices and pixels write no memory in these versions.
        if matches!(self.version.stage, Stage::Vertex | Stage::Pixel | Stage::Compute) {
            self.declare_memory()?;
        }
        match self.version.stage {
            Stage::Compute => self.declare_group()?,
            Stage::Geometry => self.declare_primitive()?,
            Stage::Domain => self.declare_domain()?,
            // Phases declare registers, and call nothing.
            Stage::Hull => return self.declare_hull(),
            _ => self.declare_signatures()?,
        }
        self.declare_temps()?;
        self.declare_subroutines()
    }

    /// The immediate constant buffer.
    fn declare_table(&mut self) -> Result<()> {
        if self.one_in(2)? {
            return Ok(());
        }
        let mut rows = Vec::new();
        for _ in 0..self.u.int_in_range(1..=5)? {
            let mut row = [0; 4];
            for word in &mut row {
                let ty = *self.u.choose(&[Type::I32, Type::F32])?;
                *word = edge_bits(self.u, ty)? as u32;
            }
            rows.push(row);
        }
        self.declared.table_rows = rows.len() as u32;
        let (token, data) = (OpcodeToken::new(Opcode::CustomData), CustomData::ImmediateConstants(rows));
        self.declarations.push(Instruction { offset: 0, token, body: Body::CustomData(Box::new(data)) });
        Ok(())
    }

    fn declare_buffers(&mut self) -> Result<()> {
        for id in 0..self.u.int_in_range(0..=3)? {
            let rows = self.u.int_in_range(1..=8)?;
            let binding = self.bind(RegisterFile::ConstantBuffer, id)?;
            let dynamic = self.u.arbitrary()?;
            self.declare_as(Opcode::DclConstantBuffer, Declaration::ConstantBuffer { binding, rows, dynamic });
            self.declared.buffers.push(ConstantBuffer { binding, rows });
        }
        Ok(())
    }

    fn declare_views(&mut self) -> Result<()> {
        for id in 0..self.u.int_in_range(0..=4)? {
            let dimension = self.dimension()?;
            let binding = self.bind(RegisterFile::Resource, id)?;
            let stride = if dimension == Dimension::StructuredBuffer { 4 * self.u.int_in_range(1..=9)? } else { 0 };
            let typed = [ReturnType::Float, ReturnType::Sint, ReturnType::Uint, ReturnType::Unorm, ReturnType::Snorm];
            let return_types = match dimension {
                Dimension::RawBuffer | Dimension::StructuredBuffer => [ReturnType::Mixed; 4],
                _ => [*self.u.choose(&typed)?; 4],
            };
            let (opcode, declaration) = match dimension {
                Dimension::RawBuffer => (Opcode::DclResourceRaw, Declaration::ResourceRaw { binding }),
                Dimension::StructuredBuffer => {
                    (Opcode::DclResourceStructured, Declaration::ResourceStructured { binding, stride: stride.into() })
                }
                _ => (Opcode::DclResource, Declaration::Resource { binding, dimension, samples: 0, return_types }),
            };
            self.declare_as(opcode, declaration);
            self.declared.views.push(View { binding, dimension, stride, return_types });
        }
        Ok(())
    }

    fn declare_samplers(&mut self) -> Result<()> {
        for id in 0..self.u.int_in_range(0..=3)? {
            let binding = self.bind(RegisterFile::Sampler, id)?;
            let mode = *self.u.choose(&[SamplerMode::Default, SamplerMode::Comparison])?;
            self.declare_as(Opcode::DclSampler, Declaration::Sampler { binding, mode });
            self.declared.samplers.push(Sampler { binding, mode });
        }
        Ok(())
    }

    fn dimension(&mut self) -> Result<Dimension> {
        // Raw and structured views came with shader model 5, but for compute shaders.
        let buffers =
            [(Dimension::Buffer, (4, 0)), (Dimension::RawBuffer, (5, 0)), (Dimension::StructuredBuffer, (5, 0))];
        let all = buffers.iter().chain(&buffers).chain(&DIMENSIONS);
        let known = all.filter(|(_, (major, minor))| self.has_model(*major, *minor));
        let known: Vec<Dimension> = known.map(|&(dimension, _)| dimension).collect();
        Ok(*self.u.choose(&known)?)
    }

    /// What number `id` of a file is bound to: in shader model 5.1 one register or some, in a register space.
    pub fn bind(&mut self, file: RegisterFile, id: u32) -> Result<Binding> {
        let has_spaces = self.version.has_register_spaces();
        let (indices, has_components) = match file {
            _ if has_spaces => (3, file != RegisterFile::Sampler),
            // The second one says how many rows there are.
            RegisterFile::ConstantBuffer => (2, true),
            _ => (1, false),
        };
        let components = if has_components { Components::Swizzle(Swizzle::IDENTITY) } else { Components::None };
        let token = Operand::new(file, components, vec![(0, None); indices]).token();
        if !has_spaces {
            return Ok(Binding { id, lower: id, upper: id, space: 0, token });
        }
        // Four registers apart, so that none overlap.
        let lower = 4 * id + self.u.int_in_range(0..=1)?;
        let upper = lower + self.u.int_in_range(0..=2)?;
        Ok(Binding { id, lower, upper, space: self.u.int_in_range(0..=2)?, token })
    }

    /// Temporary registers and arrays of them.
    pub fn declare_temps(&mut self) -> Result<()> {
        self.declared.temps = self.u.int_in_range(1..=8)?;
        self.declare_as(Opcode::DclTemps, Declaration::Temps(self.own_register() + 1));
        for register in 0..self.u.int_in_range(0..=2)? {
            let (size, components) = (self.u.int_in_range(1..=6)?, self.u.int_in_range(1..=4u32)?);
            self.declare_as(Opcode::DclIndexableTemp, Declaration::IndexableTemp { register, size, components });
            self.declared.arrays.push(Array { size, mask: Mask::from_bits((1 << components) - 1) });
        }
        Ok(())
    }

    /// Declares an input register that is the only one of its file.
    pub fn declare_own_input(&mut self, file: RegisterFile, mask: Mask) {
        let components = if mask.bits() == 1 { Components::None } else { Components::Mask(mask) };
        let operand = Operand::new(file, components, Vec::new());
        self.declare_as(Opcode::DclInput, Declaration::Input { operand, interpolation: None, system_value: None });
        self.declared.inputs.push(Register { file, number: None, mask });
    }

    /// The `r#` behind all others, for what a thread has to itself.
    pub fn own_register(&self) -> u32 {
        self.declared.temps + MAX_LOOPS.div_ceil(4)
    }

    /// Whether the program is a pixel shader.
    pub fn is_pixel(&self) -> bool {
        self.version.stage == Stage::Pixel
    }
}
