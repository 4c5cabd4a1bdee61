//! Reflection of a VBC.

use super::name;
use serde::Serialize;
use shaderjit::container::vbc::{self, BindingDetail, InterfaceVariable, SubpassInput};

#[derive(Serialize)]
pub struct Vbc {
    stages: Vec<VbcStage>,
    tables: Tables,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
    bindings: Vec<Binding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform_block: Option<UniformBlock>,
    subpass_inputs: Vec<Subpass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Serialize)]
struct VbcStage {
    stage: &'static str,
    words: usize,
}

#[derive(Serialize)]
struct Tables {
    samplers: u16,
    images: u16,
    buffers: u16,
    ro_texels: u16,
    rw_texels: u16,
}

#[derive(Serialize)]
struct Variable {
    location: u8,
    base: String,
    dimensions: [u8; 2],
    array: u8,
}

#[derive(Serialize)]
struct Binding {
    slot: u8,
    base: String,
    stages: String,
    /// Bytes of a buffer's element.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    component_bytes: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<u8>,
}

#[derive(Serialize)]
struct UniformBlock {
    size: u16,
    stages: String,
    members: Vec<VbcMember>,
}

#[derive(Serialize)]
struct VbcMember {
    name: String,
    offset: u16,
    base: String,
    dimensions: [u8; 2],
    array: u8,
}

#[derive(Serialize)]
struct Subpass {
    #[serde(skip_serializing_if = "Option::is_none")]
    texel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<u8>,
}

/// Everything that can be read; what cannot is in the list of malformed parts.
pub fn reflect(container: &vbc::Vbc<'_>) -> Vbc {
    let tables = container.tables();
    let mut document = Vbc {
        stages: container
            .stages()
            .flatten()
            .map(|module| VbcStage { stage: module.stage.name(), words: module.words().len() })
            .collect(),
        tables: Tables {
            samplers: tables.samplers,
            images: tables.images,
            buffers: tables.buffers,
            ro_texels: tables.ro_texels,
            rw_texels: tables.rw_texels,
        },
        inputs: Vec::new(),
        outputs: Vec::new(),
        bindings: Vec::new(),
        uniform_block: None,
        subpass_inputs: Vec::new(),
        warning: None,
    };
    if let Ok(reflection) = container.reflection() {
        document.inputs = reflection.inputs.iter().map(variable).collect();
        document.outputs = reflection.outputs.iter().map(variable).collect();
        document.bindings = reflection.bindings.iter().map(binding).collect();
        document.uniform_block = reflection.uniform.as_ref().map(uniform_block);
        document.subpass_inputs = reflection.subpass_inputs.iter().map(subpass).collect();
        document.warning = reflection.warning.as_ref().map(ToString::to_string);
    }
    document
}

fn variable(variable: &InterfaceVariable) -> Variable {
    Variable {
        location: variable.location,
        base: variable.base.to_string(),
        dimensions: variable.dimensions,
        array: variable.array,
    }
}

fn binding(binding: &vbc::Binding) -> Binding {
    let mut document = Binding {
        slot: binding.slot,
        base: binding.base.to_string(),
        stages: binding.stages.to_string(),
        size: None,
        rank: None,
        texel: None,
        component_bytes: None,
        components: None,
    };
    match binding.detail {
        BindingDetail::Buffer { size, .. } => document.size = Some(size),
        BindingDetail::Texel { rank, ty, size, components } => {
            document.rank = Some(rank.to_string());
            document.texel = Some(ty.to_string());
            document.component_bytes = Some(size);
            document.components = Some(components);
        }
        _ => {}
    }
    document
}

fn uniform_block(block: &vbc::UniformBlock<'_>) -> UniformBlock {
    let member = |member: &vbc::VbcMember<'_>| VbcMember {
        name: name(member.name),
        offset: member.offset,
        base: member.base.to_string(),
        dimensions: member.dimensions,
        array: member.array,
    };
    UniformBlock {
        size: block.size,
        stages: block.stages.to_string(),
        members: block.members.iter().map(member).collect(),
    }
}

fn subpass(input: &SubpassInput<'_>) -> Subpass {
    match input {
        SubpassInput::Record { ty, components, .. } => {
            Subpass { texel: Some(ty.to_string()), components: Some(*components) }
        }
        _ => Subpass { texel: None, components: None },
    }
}
