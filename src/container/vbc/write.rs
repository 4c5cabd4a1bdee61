//! Typed parts → the bytes of a VBC.

use super::reflection::{BindingDetail, InterfaceVariable, Reflection, SubpassInput};
use super::{GRAPHICS, MAGIC, SpirV, TableSizes, VERSION, Vbc, VbcStage};
use crate::container::reader::{invalid, over_limit};
use crate::container::writer::{Writer, count};
use crate::error::ContainerError;

/// Writes a VBC of these parts. The offsets of the stages say where they were read and do not count; nor does their
/// order, but each may be there once.
///
/// # Errors
/// A stage has more than 65,535 words or is there twice, a member's name has more than 255 bytes, or what reading the
/// written file would report. The offset is that in the file to be written.
pub fn write(tables: TableSizes, reflection: &Reflection<'_>, stages: &[SpirV<'_>]) -> Result<Vec<u8>, ContainerError> {
    let mut file = Writer::default();
    file.bytes(&MAGIC);
    file.u8(VERSION);
    file.u8(GRAPHICS);
    for stage in VbcStage::ALL {
        let words = stages.iter().filter(|module| module.stage == stage).map(|module| module.bytes.len() / 4).sum();
        file.u16(small(words, "SPIR-V size in words", &file)?);
    }
    let TableSizes { samplers, images, buffers, ro_texels, rw_texels } = tables;
    [samplers, images, buffers, ro_texels, rw_texels].iter().for_each(|&size| file.u16(size));
    write_reflection(&mut file, reflection)?;
    for stage in VbcStage::ALL {
        let mut modules = stages.iter().filter(|module| module.stage == stage);
        let Some(module) = modules.next() else { continue };
        let offset = file.offset() as usize;
        if let Some(second) = modules.next() {
            return Err(invalid("second module of a stage", second.bytes.len() as u64, offset));
        }
        if !module.bytes.len().is_multiple_of(4) {
            return Err(invalid("SPIR-V size in bytes", module.bytes.len() as u64, offset));
        }
        file.bytes(module.bytes);
    }
    let bytes = file.finish();
    match Vbc::parse(&bytes)?.errors().into_iter().next() {
        Some(error) => Err(error),
        None => Ok(bytes),
    }
}

fn write_reflection(file: &mut Writer, reflection: &Reflection<'_>) -> Result<(), ContainerError> {
    let Reflection { inputs, outputs, bindings, uniform, subpass_inputs, warning: _ } = reflection;
    for variables in [inputs, outputs] {
        file.u32(count(variables.len()));
        variables.iter().for_each(|variable| interface_variable(file, variable));
    }
    file.u32(count(bindings.len()));
    for binding in bindings {
        file.u8(binding.slot);
        file.u8(binding.base.0);
        file.u16(binding.stages.0);
        match binding.detail {
            BindingDetail::Buffer { size, reserved } => {
                file.u16(size);
                file.bytes(&reserved);
            }
            BindingDetail::Texel { rank, ty, size, components } => file.bytes(&[rank.0, ty.0, size, components]),
            BindingDetail::Unknown(bytes) => file.bytes(&bytes),
        }
    }
    match uniform {
        None => file.u16(0),
        Some(block) => {
            if block.size == 0 {
                return Err(invalid("uniform block size", 0, file.offset() as usize));
            }
            file.u16(block.size);
            file.u16(block.stages.0);
            file.u32(count(block.members.len()));
            for member in &block.members {
                let name = member.name.as_bytes();
                file.u8(small(name.len(), "length of a member's name", file)?);
                file.bytes(name);
                file.u16(member.offset);
                let [rows, columns] = member.dimensions;
                file.bytes(&[member.base.0, rows, columns, member.array]);
            }
        }
    }
    file.u32(count(subpass_inputs.len()));
    for input in subpass_inputs {
        match *input {
            SubpassInput::Record { ty, components, reserved: [a, b] } => file.bytes(&[ty.0, components, a, b]),
            SubpassInput::Object(bytes) => file.bytes(bytes),
        }
    }
    Ok(())
}

fn interface_variable(file: &mut Writer, variable: &InterfaceVariable) {
    let [rows, columns] = variable.dimensions;
    file.bytes(&[variable.location, variable.base.0, rows, columns, variable.array]);
    file.bytes(&variable.reserved);
}

/// A count in a field that is smaller than most.
fn small<T: TryFrom<usize>>(value: usize, what: &'static str, file: &Writer) -> Result<T, ContainerError> {
    let limit = (1u64 << (8 * size_of::<T>())) - 1;
    T::try_from(value).map_err(|_| over_limit(what, value as u64, limit, file.offset() as usize))
}
