//! Constant buffers and their variables, types included.

use super::name;
use serde::Serialize;
use shaderjit::container::dxbc::{self, ResourceDefinitions, TypeId, Variable};

#[derive(Serialize, Default)]
pub struct ConstantBuffer {
    pub name: String,
    pub kind: String,
    pub size: u32,
    pub flags: u32,
    pub variables: Vec<VariableInfo>,
}

#[derive(Serialize)]
pub struct VariableInfo {
    name: String,
    offset: u32,
    size: u32,
    used: bool,
    /// The default value's dwords, as hexadecimal numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    textures: Option<Slots>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samplers: Option<Slots>,
    #[serde(flatten)]
    ty: TypeInfo,
}

#[derive(Serialize)]
struct Slots {
    first: u32,
    count: u32,
}

#[derive(Serialize)]
struct TypeInfo {
    /// As HLSL spells it.
    #[serde(rename = "type")]
    name: String,
    class: String,
    base: String,
    rows: u16,
    columns: u16,
    /// Elements of the array; 0 if it is none.
    elements: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_class: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<MemberInfo>,
}

#[derive(Serialize)]
struct MemberInfo {
    name: String,
    offset: u32,
    #[serde(flatten)]
    ty: TypeInfo,
}

pub fn constant_buffer(buffer: &dxbc::ConstantBuffer<'_>, definitions: &ResourceDefinitions<'_>) -> ConstantBuffer {
    ConstantBuffer {
        name: name(buffer.name),
        kind: buffer.kind.to_string(),
        size: buffer.size,
        flags: buffer.flags,
        variables: buffer.variables.iter().map(|it| variable(it, definitions)).collect(),
    }
}

fn variable(variable: &Variable<'_>, definitions: &ResourceDefinitions<'_>) -> VariableInfo {
    let slots = |range: dxbc::SlotRange| Slots { first: range.first, count: range.count };
    VariableInfo {
        name: name(variable.name),
        ty: type_info(variable.ty, definitions),
        offset: variable.offset,
        size: variable.size,
        used: variable.is_used(),
        default: variable.default_dwords().map(|dwords| dwords.map(|dword| format!("{dword:#010x}")).collect()),
        textures: variable.textures.map(slots),
        samplers: variable.samplers.map(slots),
    }
}

/// The recursion is as deep as types nest, which parsing the part has bounded, as it has the number of members.
fn type_info(id: TypeId, definitions: &ResourceDefinitions<'_>) -> TypeInfo {
    let ty = definitions.type_of(id);
    let member = |member: &dxbc::Member<'_>| MemberInfo {
        name: name(member.name),
        offset: member.offset,
        ty: type_info(member.ty, definitions),
    };
    TypeInfo {
        name: ty.spelling(),
        class: ty.class.to_string(),
        base: ty.base.to_string(),
        rows: ty.rows,
        columns: ty.columns,
        elements: ty.elements,
        base_class: ty.base_class.map(|id| definitions.type_of(id).spelling()),
        interfaces: ty.interfaces.iter().map(|&id| definitions.type_of(id).spelling()).collect(),
        members: ty.members.iter().map(member).collect(),
    }
}
