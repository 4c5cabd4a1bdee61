//! Accesses of textures.

use super::Generator;
use super::declare::{Sampler, View};
use super::operand::Shape;
use crate::frontend::sm4::codes::{Dimension, InfoReturn, ReturnType, SamplerMode};
use crate::frontend::sm4::opcode::{Controls, DataClass, Role};
use crate::frontend::sm4::operand::{Component, Components, Mask, Swizzle};
use crate::frontend::sm4::{Group, Opcode, OpcodeToken, Operand, Operation, RegisterFile};
use arbitrary::Result;

/// The dimensions of textures, and the shader model that each came with.
pub const DIMENSIONS: [(Dimension, (u8, u8)); 9] = [
    (Dimension::Texture2d, (4, 0)),
    (Dimension::Texture1d, (4, 0)),
    (Dimension::Texture3d, (4, 0)),
    (Dimension::TextureCube, (4, 0)),
    (Dimension::Texture1dArray, (4, 0)),
    (Dimension::Texture2dArray, (4, 0)),
    (Dimension::Texture2dMs, (4, 1)),
    (Dimension::Texture2dMsArray, (4, 1)),
    (Dimension::TextureCubeArray, (4, 1)),
];

fn is_multisampled(dimension: Dimension) -> bool {
    matches!(dimension, Dimension::Texture2dMs | Dimension::Texture2dMsArray)
}

fn is_cube(dimension: Dimension) -> bool {
    matches!(dimension, Dimension::TextureCube | Dimension::TextureCubeArray)
}

/// Whether an opcode compares with a reference.
fn compares(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::SampleC | Opcode::SampleCLz | Opcode::Gather4C | Opcode::Gather4PoC)
}

fn has_sampler(opcode: Opcode) -> bool {
    opcode.slots().iter().any(|slot| slot.class == DataClass::Sampler)
}

/// Whether an opcode accesses such textures. Integers are loaded, and not filtered.
fn accesses(opcode: Opcode, view: &View) -> bool {
    let is_integer = matches!(view.return_types[0], ReturnType::Sint | ReturnType::Uint);
    let dimension = view.dimension;
    match opcode {
        Opcode::BufInfo => false,
        Opcode::Ld => !is_multisampled(dimension) && !is_cube(dimension),
        Opcode::LdMs | Opcode::SampleInfo | Opcode::SamplePos => is_multisampled(dimension),
        Opcode::Gather4 | Opcode::Gather4C if is_cube(dimension) => !is_integer,
        Opcode::Gather4 | Opcode::Gather4C | Opcode::Gather4Po | Opcode::Gather4PoC => {
            !is_integer && matches!(dimension, Dimension::Texture2d | Dimension::Texture2dArray)
        }
        _ if compares(opcode) && dimension == Dimension::Texture3d => false,
        _ => !has_sampler(opcode) || !is_integer && !is_multisampled(dimension),
    }
}

impl Generator<'_, '_> {
    /// An access of a declared texture, or a question about it.
    pub fn texture_access(&mut self, view: &View) -> Result<()> {
        let of_view = self.running().filter(|&opcode| opcode.group() == Group::Texture && accesses(opcode, view));
        let opcodes = of_view.filter(|&opcode| self.has_opcode(opcode));
        let opcodes: Vec<Opcode> =
            opcodes.filter(|&opcode| !has_sampler(opcode) || !self.samplers(opcode).is_empty()).collect();
        // Of every texture the size can be asked, so there is one.
        let opcode = *self.u.choose(&opcodes)?;
        let mut operands = Vec::new();
        for number in 0..opcode.slots().len() {
            operands.push(self.texture_operand(opcode, number, view)?);
        }
        let mut token = OpcodeToken::new(opcode);
        if matches!(opcode.controls(), Controls::ResinfoReturn | Controls::SampleInfoReturn) {
            token = token.returning(*self.u.choose(InfoReturn::ALL)?);
        }
        // Where offsets are an operand there are no others.
        let may_offset = match opcode {
            Opcode::ResInfo | Opcode::SampleInfo | Opcode::SamplePos | Opcode::Lod => false,
            Opcode::Gather4Po | Opcode::Gather4PoC => false,
            _ => !is_cube(view.dimension),
        };
        let offsets = if may_offset && self.one_in(3)? { Some(self.texel_offsets(view.dimension)?) } else { None };
        let extended = self.extended(view, offsets)?;
        let padding = if self.one_in(16)? { Box::from([0]) } else { Box::default() };
        self.access(token, Operation { extended, operands, padding })
    }

    fn texture_operand(&mut self, opcode: Opcode, number: usize, view: &View) -> Result<Operand> {
        let slot = opcode.slots()[number];
        match (slot.role, slot.class) {
            (Role::Destination, _) => self.destination(Shape::Any),
            (_, DataClass::View) if matches!(opcode, Opcode::SampleInfo | Opcode::SamplePos) && self.one_in(4)? => {
                Ok(Operand::new(RegisterFile::Rasterizer, Components::Swizzle(Swizzle::IDENTITY), Vec::new()))
            }
            (_, DataClass::View) => self.view_operand(view),
            (_, DataClass::Sampler) => self.sampler_operand(opcode),
            // A level, or the sample behind the view.
            (_, DataClass::Int) if opcode == Opcode::ResInfo || number > 1 && opcode == Opcode::LdMs => self.small(4),
            (_, DataClass::Int) if opcode == Opcode::SamplePos => self.small(20),
            (_, DataClass::Int) if matches!(opcode, Opcode::Ld | Opcode::LdMs) => self.texel_address(),
            (_, class) => self.source(class, Mask::ALL, false),
        }
    }

    /// The samplers that an opcode can have.
    fn samplers(&self, opcode: Opcode) -> Vec<Sampler> {
        let mode = if compares(opcode) { SamplerMode::Comparison } else { SamplerMode::Default };
        self.declared.samplers.iter().copied().filter(|sampler| sampler.mode == mode).collect()
    }

    /// The operand that names a sampler; gathers take the component that it selects.
    fn sampler_operand(&mut self, opcode: Opcode) -> Result<Operand> {
        let Sampler { binding, .. } = *self.u.choose(&self.samplers(opcode))?;
        let components = match opcode {
            Opcode::Gather4 | Opcode::Gather4Po if self.has_model(5, 0) => {
                Components::Select(self.component(Mask::ALL)?)
            }
            Opcode::Gather4C | Opcode::Gather4PoC => Components::Select(Component::X),
            _ => Components::None,
        };
        let dynamic = self.one_in(4)?;
        Ok(Operand::new(RegisterFile::Sampler, components, self.register_of(binding, dynamic)?))
    }

    /// Four integers that are mostly small: coordinates, slice and level.
    pub fn texel_address(&mut self) -> Result<Operand> {
        let source = self.source(DataClass::Int, Mask::ALL, false)?;
        if self.one_in(5)? {
            return Ok(source);
        }
        let register = self.u.int_in_range(0..=self.declared.temps - 1)?;
        let temp = |components| Operand::new(RegisterFile::Temp, components, vec![(register, None)]);
        let most = Operand::immediate_words(RegisterFile::Immediate32, &[7, 3, 3, 1]);
        let result = temp(Components::Swizzle(Swizzle::IDENTITY));
        self.emit(OpcodeToken::new(Opcode::And), vec![temp(Components::Mask(Mask::ALL)), source, most]);
        Ok(result)
    }

    /// Offsets in the directions there are.
    fn texel_offsets(&mut self, dimension: Dimension) -> Result<[i8; 3]> {
        let directions = match dimension {
            Dimension::Texture1d | Dimension::Texture1dArray => 1,
            Dimension::Texture3d => 3,
            _ => 2,
        };
        let mut offsets = [0; 3];
        for offset in &mut offsets[..directions] {
            *offset = self.u.int_in_range(-8..=7)?;
        }
        Ok(offsets)
    }
}
