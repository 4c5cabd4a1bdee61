//! The table of resource bindings.

use std::fmt::Write;

use super::line;
use crate::container::dxbc::{Dimension, InputType, ResourceBinding, ResourceDefinitions, ReturnType};
use crate::frontend::sm4::{Dialect, RegisterFile, Version};

pub(super) fn table(out: &mut String, definitions: &ResourceDefinitions<'_>, version: Version, dialect: Dialect) {
    if definitions.bindings.is_empty() {
        return;
    }
    line!(out, "Resource Bindings:");
    line!(out);
    let names = "Name                                 Type  Format         Dim";
    let rules = "------------------------------ ---------- ------- -----------";
    let numbers_slots = dialect.spelling().numbers_slots;
    let (names_end, rules_end) = match (numbers_slots, version.has_register_spaces()) {
        (true, _) => ("Slot Elements", "---- --------"),
        (false, false) => ("     HLSL Bind  Count", "-------------- ------"),
        (false, true) => ("     ID      HLSL Bind  Count", "------- -------------- ------"),
    };
    line!(out, "{names} {names_end}");
    line!(out, "{rules} {rules_end}");
    for binding in &definitions.bindings {
        let lower = file(binding).letters();
        let (name, kind, first) = (binding.name, kind(binding), binding.slots.first);
        let common = format!("{name:<30} {kind:>10} {:>7} {:>11}", format(binding), dimension(binding));
        if numbers_slots {
            line!(out, "{common} {first:>4} {:>8}", binding.slots.count);
            continue;
        }
        let count = match (binding.slots.count, version.has_register_spaces()) {
            (0, true) => "unbounded".to_string(),
            (count, _) => count.to_string(),
        };
        let slot = match binding.space {
            0 => format!("{lower}{first}"),
            space => format!("{lower}{first},space{space}"),
        };
        match binding.id {
            Some(id) => {
                line!(out, "{common} {:>7} {slot:>14} {count:>6} ", format!("{}{id}", lower.to_ascii_uppercase()))
            }
            None => line!(out, "{common} {slot:>14} {count:>6} "),
        }
    }
    line!(out);
    line!(out);
}

/// The register file something is bound to.
fn file(binding: &ResourceBinding<'_>) -> RegisterFile {
    RegisterFile::of_binding(binding.input_type).unwrap_or(RegisterFile::Resource)
}

/// The column `Type`.
fn kind(binding: &ResourceBinding<'_>) -> &'static str {
    match binding.input_type {
        InputType::CBUFFER => "cbuffer",
        InputType::TBUFFER => "tbuffer",
        InputType::SAMPLER if binding.is_comparison() => "sampler_c",
        InputType::SAMPLER => "sampler",
        _ if file(binding) == RegisterFile::UnorderedAccess => "UAV",
        _ => "texture",
    }
}

/// The column `Format`.
fn format(binding: &ResourceBinding<'_>) -> String {
    match binding.input_type {
        InputType::CBUFFER | InputType::TBUFFER | InputType::SAMPLER => "NA".to_string(),
        InputType::BYTE_ADDRESS | InputType::UAV_BYTE_ADDRESS => "byte".to_string(),
        InputType::TEXTURE | InputType::UAV_TYPED => match (binding.return_type, binding.components()) {
            (ReturnType::NONE, _) => "NA".to_string(),
            (of, 1) => of.to_string(),
            (of, components) => format!("{of}{components}"),
        },
        _ => "struct".to_string(),
    }
}

/// The column `Dim`.
fn dimension(binding: &ResourceBinding<'_>) -> String {
    let name = match binding.input_type {
        InputType::CBUFFER | InputType::TBUFFER | InputType::SAMPLER => "NA",
        InputType::STRUCTURED | InputType::BYTE_ADDRESS => "r/o",
        InputType::UAV_STRUCTURED | InputType::UAV_BYTE_ADDRESS => "r/w",
        InputType::UAV_APPEND => "append",
        InputType::UAV_CONSUME => "consume",
        InputType::UAV_STRUCTURED_COUNTER => "r/w+cnt",
        _ => match binding.dimension {
            Dimension::BUFFER => "buf",
            Dimension::TEXTURE_1D => "1d",
            Dimension::TEXTURE_1D_ARRAY => "1darray",
            Dimension::TEXTURE_2D => "2d",
            Dimension::TEXTURE_2D_ARRAY => "2darray",
            Dimension::TEXTURE_2D_MS => return multisampled("2dMS", binding),
            Dimension::TEXTURE_2D_MS_ARRAY => return multisampled("2darrayMS", binding),
            Dimension::TEXTURE_3D => "3d",
            Dimension::TEXTURE_CUBE => "cube",
            Dimension::TEXTURE_CUBE_ARRAY => "cubearray",
            Dimension::NONE => "NA",
            other => return other.to_string(),
        },
    };
    name.to_string()
}

/// With the number of samples, if the source states it.
fn multisampled(name: &str, binding: &ResourceBinding<'_>) -> String {
    match binding.samples_or_stride {
        0 | u32::MAX => name.to_string(),
        samples => format!("{name}{samples}"),
    }
}
