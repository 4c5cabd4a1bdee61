//! An executable of a SHBIN, or an unlinked object → IR, with the constants it brings along.

use shaderjit_ir::Space;

use super::decode::decode;
use super::lower::{Form, lower_as};
use super::operand::Address;
use super::slots::Slots;
use crate::container::shbin::{Constant, ShaderKind};
use crate::container::{Dvoj, Shbin};
use crate::error::{Error, LowerError};
use crate::frontend::{Interface, Lowered, UniformKind, UniformPreset};

/// Absolute byte offset of the number of executables in a SHBIN.
const DVLE_COUNT_OFFSET: usize = 4;

/// Lowers executable `index` of a SHBIN as [`lower_as`] does; its constants become [`Interface::presets`]. The outputs of a
/// vertex shader become the rasteriser's slots if those are given; a geometry shader emits what its output mask says.
///
/// # Errors
///
/// What is wrong with the container's parts, what [`lower_as`] reports, and [`LowerError::Invalid`] if there is no such
/// executable.
pub fn lower_shbin(shbin: &Shbin<'_>, index: usize, slots: Option<Slots>) -> Result<Lowered, Error> {
    let Some(dvle) = shbin.dvle(index)? else {
        let what = format!("executable {index} does not exist, the file has {}", shbin.dvle_count());
        return Err(LowerError::Invalid { what, offset: DVLE_COUNT_OFFSET }.into());
    };
    let dvlp = shbin.dvlp()?;
    let form = form(dvle.kind, dvle.output_mask, slots);
    let executable = Executable { form, main: dvle.main, constants: &dvle.constants };
    executable.lower(&dvlp.code, &dvlp.descriptors, dvlp.code_offset)
}

/// Lowers an unlinked object, which begins at its first word, as [`lower_shbin`] does an executable. What a linker would do to
/// the program is not known, and not done.
///
/// # Errors
///
/// What is wrong with the container, and what [`lower_as`] reports.
pub fn lower_dvoj(dvoj: &Dvoj<'_>, slots: Option<Slots>) -> Result<Lowered, Error> {
    let object = dvoj.object()?;
    let form = form(object.kind, object.output_mask, slots);
    let executable = Executable { form, main: 0, constants: &object.constants };
    executable.lower(&object.code, &object.descriptors, object.code_offset)
}

/// What an executable says of a program.
struct Executable<'a> {
    form: Form,
    main: u32,
    constants: &'a [Constant],
}

impl Executable<'_> {
    fn lower(&self, code: &[u32], descriptors: &[u32], code_offset: usize) -> Result<Lowered, Error> {
        let program = decode(code, descriptors, code_offset)?;
        let entry = Address(u16::try_from(self.main).expect("an entry point lies in program memory"));
        let mut lowered = lower_as(&program, entry, self.form)?;
        let presets = self.constants.iter().map(|constant| preset(&lowered.interface, constant)).collect();
        lowered.interface.presets = presets;
        Ok(lowered)
    }
}

fn form(kind: ShaderKind, output_mask: u16, slots: Option<Slots>) -> Form {
    match (kind, slots) {
        (ShaderKind::Geometry, _) => {
            Form::Geometry { components: std::array::from_fn(|register| 0xf * (output_mask >> register & 1) as u8) }
        }
        (ShaderKind::Vertex, Some(slots)) => Form::Slots(slots),
        (ShaderKind::Vertex, None) => Form::Vertex,
    }
}

/// The value a constant fixes.
fn preset(interface: &Interface, constant: &Constant) -> UniformPreset {
    let space = |kind| space_of(interface, kind);
    let all = [u32::MAX; 4];
    match *constant {
        Constant::Bool { register, value } => {
            let bit = 1 << register;
            let bits = if value { bit } else { 0 };
            UniformPreset { space: space(UniformKind::PicaBool), row: 0, bits: [bits, 0, 0, 0], mask: [bit, 0, 0, 0] }
        }
        Constant::Int { register, value } => {
            let bits = value.map(u32::from);
            UniformPreset { space: space(UniformKind::PicaInt), row: register.into(), bits, mask: all }
        }
        Constant::Float { register, .. } => {
            let value = constant.float_value().expect("it is a float constant");
            let bits = value.map(f32::to_bits);
            UniformPreset { space: space(UniformKind::PicaFloat), row: register.into(), bits, mask: all }
        }
    }
}

fn space_of(interface: &Interface, kind: UniformKind) -> Space {
    let decl = interface.uniforms.iter().find(|decl| decl.kind == kind);
    decl.expect("every PICA program has the three uniform spaces").space
}

#[cfg(test)]
mod tests;
