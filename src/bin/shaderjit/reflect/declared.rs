//! Bindings and constant buffers of containers without resource definitions, from what the program declares. The
//! registers are the names.

use super::buffers::ConstantBuffer;
use super::dxbc::Binding;
use shaderjit::container::dxbc::InputType;
use shaderjit::frontend::sm4::codes::Dimension;
use shaderjit::frontend::sm4::declaration;
use shaderjit::frontend::sm4::{Declaration, Program};

pub fn bindings(program: &Program) -> Vec<Binding> {
    program.instructions.iter().filter_map(|instruction| binding(instruction.declaration()?)).collect()
}

pub fn constant_buffers(program: &Program) -> Vec<ConstantBuffer> {
    let buffer = |declaration: &Declaration| match declaration {
        Declaration::ConstantBuffer { binding, rows, .. } => Some(ConstantBuffer {
            name: register("cb", binding),
            kind: "cbuffer".to_string(),
            size: rows.saturating_mul(16),
            ..ConstantBuffer::default()
        }),
        _ => None,
    };
    program.instructions.iter().filter_map(|instruction| buffer(instruction.declaration()?)).collect()
}

fn binding(declaration: &Declaration) -> Option<Binding> {
    let bound = |kind: InputType, prefix: &str, binding: &declaration::Binding| Binding {
        name: register(prefix, binding),
        kind: kind.to_string(),
        slot: binding.lower,
        count: binding.upper.checked_sub(binding.lower).filter(|_| !binding.is_unbounded()).map(|last| last + 1),
        space: binding.space,
        ..Binding::default()
    };
    Some(match declaration {
        Declaration::ConstantBuffer { binding, .. } => bound(InputType::CBUFFER, "cb", binding),
        Declaration::Sampler { binding, mode } => {
            Binding { comparison: mode.name().contains("comparison"), ..bound(InputType::SAMPLER, "s", binding) }
        }
        Declaration::Resource { binding, dimension, .. } => {
            Binding { dimension: Some(shape(*dimension)), ..bound(InputType::TEXTURE, "t", binding) }
        }
        Declaration::ResourceRaw { binding } => bound(InputType::BYTE_ADDRESS, "t", binding),
        Declaration::ResourceStructured { binding, stride } => {
            Binding { stride: Some(*stride), ..bound(InputType::STRUCTURED, "t", binding) }
        }
        Declaration::UavTyped { binding, dimension, .. } => {
            Binding { dimension: Some(shape(*dimension)), ..bound(InputType::UAV_TYPED, "u", binding) }
        }
        Declaration::UavRaw { binding, .. } => bound(InputType::UAV_BYTE_ADDRESS, "u", binding),
        Declaration::UavStructured { binding, stride, .. } => {
            Binding { stride: Some(*stride), ..bound(InputType::UAV_STRUCTURED, "u", binding) }
        }
        _ => return None,
    })
}

/// The register of the first slot.
fn register(prefix: &str, binding: &declaration::Binding) -> String {
    format!("{prefix}{}", binding.lower)
}

/// A shape as resource definitions have it: `texture2dmsarray` is `2d multisampled array`.
fn shape(dimension: Dimension) -> String {
    let name = dimension.name();
    let (name, array) = name.strip_suffix("array").map_or((name, ""), |name| (name, " array"));
    let (name, samples) = name.strip_suffix("ms").map_or((name, ""), |name| (name, " multisampled"));
    format!("{}{samples}{array}", name.strip_prefix("texture").unwrap_or(name))
}
