//! An executable of a SHBIN, or an unlinked object → IR, with the constants it brings along.

use shaderjit_ir::Space;

use super::decode::decode;
use super::lower::{LowerOptions, lower, lower_geometry};
use super::operand::Address;
use crate::container::shbin::{Constant, ShaderKind};
use crate::container::{Dvoj, Shbin};
use crate::error::{Error, LowerError};
use crate::frontend::{Interface, Lowered, UniformKind, UniformPreset};

/// Absolute byte offset of the number of executables in a SHBIN.
const DVLE_COUNT_OFFSET: usize = 4;

/// Lowers executable `index` of a SHBIN as [`lower`] or [`lower_geometry`] does; its constants become
/// `Interface::presets`. A geometry shader emits what its output mask says.
///
/// # Errors
///
/// What is wrong with the container's parts, what [`lower`] and [`lower_geometry`] report, and [`LowerError::Invalid`]
/// if there is no such executable.
pub fn lower_shbin(shbin: &Shbin<'_>, index: usize, options: &LowerOptions) -> Result<Lowered, Error> {
    let Some(dvle) = shbin.dvle(index)? else {
        let what = format!("executable {index} does not exist, the file has {}", shbin.dvle_count());
        return Err(LowerError::Invalid { what, offset: DVLE_COUNT_OFFSET }.into());
    };
    let dvlp = shbin.dvlp()?;
    let emitted = emitted(dvle.kind, dvle.output_mask);
    let executable = Executable { emitted, main: dvle.main, constants: &dvle.constants };
    executable.lower(&dvlp.code, &dvlp.descriptors, dvlp.code_offset, options)
}

/// Lowers an unlinked object, which begins at its first word, as [`lower_shbin`] does an executable. What a linker
/// would do to the program is not known, and not done.
///
/// # Errors
///
/// What is wrong with the container, and what [`lower`] and [`lower_geometry`] report.
pub fn lower_dvoj(dvoj: &Dvoj<'_>, options: &LowerOptions) -> Result<Lowered, Error> {
    let object = dvoj.object()?;
    let emitted = emitted(object.kind, object.output_mask);
    let executable = Executable { emitted, main: 0, constants: &object.constants };
    executable.lower(&object.code, &object.descriptors, object.code_offset, options)
}

/// What an executable says of a program.
struct Executable<'a> {
    /// For a geometry shader, what EMIT copies.
    emitted: Option<[u8; 16]>,
    main: u32,
    constants: &'a [Constant],
}

impl Executable<'_> {
    fn lower(
        &self,
        code: &[u32],
        descriptors: &[u32],
        code_offset: usize,
        options: &LowerOptions,
    ) -> Result<Lowered, Error> {
        let program = decode(code, descriptors, code_offset)?;
        let entry = Address(u16::try_from(self.main).expect("an entry point lies in program memory"));
        let options = self.known(*options);
        let mut lowered = match self.emitted {
            Some(emitted) => lower_geometry(&program, entry, emitted, &options)?,
            None => lower(&program, entry, &options)?,
        };
        let presets: Vec<_> = self.constants.iter().map(|constant| preset(&lowered.interface, constant)).collect();
        lowered.interface.presets.extend(presets);
        Ok(lowered)
    }

    /// The uniforms a program is made for, with the constants on top.
    fn known(&self, mut options: LowerOptions) -> LowerOptions {
        for constant in self.constants {
            match (*constant, &mut options) {
                (Constant::Bool { register, value }, LowerOptions { bools: Some(bools), .. }) => {
                    *bools = *bools & !(1 << register) | u16::from(value) << register;
                }
                (Constant::Int { register, value }, LowerOptions { ints: Some(ints), .. }) => {
                    ints[usize::from(register)] = value;
                }
                _ => {}
            }
        }
        options
    }
}

/// The components that EMIT copies, for a geometry shader: all of the registers in its mask.
fn emitted(kind: ShaderKind, output_mask: u16) -> Option<[u8; 16]> {
    let components = |register| 0xf * (output_mask >> register & 1) as u8;
    (kind == ShaderKind::Geometry).then(|| std::array::from_fn(components))
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
