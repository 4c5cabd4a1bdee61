//! Reflection of a SPIR-V module.

use serde::Serialize;
use shaderjit::Error;
use shaderjit::frontend::spirv::{self, BoundVariable, InterfaceVariable, Module};

#[derive(Serialize)]
pub struct Spirv {
    spirv_version: String,
    entry_points: Vec<EntryPoint>,
}

#[derive(Serialize)]
struct EntryPoint {
    name: String,
    execution_model: String,
    execution_modes: Vec<String>,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
    bindings: Vec<Binding>,
    blocks: Vec<Block>,
    specialization_constants: Vec<Constant>,
}

#[derive(Serialize)]
struct Variable {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<u32>,
    component: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    built_in: Option<String>,
}

#[derive(Serialize)]
struct Binding {
    name: String,
    storage_class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<u32>,
    /// 0 where the array has no end.
    count: u32,
    #[serde(rename = "type")]
    ty: String,
    non_writable: bool,
}

#[derive(Serialize)]
struct Block {
    name: String,
    bytes: u64,
    members: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    offset: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    array_stride: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matrix_stride: Option<u32>,
    row_major: bool,
}

#[derive(Serialize)]
struct Constant {
    id: u32,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    /// The bits that it has by default.
    default: u64,
}

/// What each entry point declares.
pub fn reflect(bytes: &[u8]) -> Result<Spirv, Error> {
    let module = Module::decode(bytes, 0)?;
    let (major, minor) = module.version();
    let entries = spirv::entry_points(&module)?;
    let entry_points = (0..entries.len()).map(|number| entry_point(spirv::reflect(&module, number)?));
    Ok(Spirv { spirv_version: format!("{major}.{minor}"), entry_points: entry_points.collect::<Result<_, Error>>()? })
}

fn entry_point(reflection: spirv::Reflection) -> Result<EntryPoint, Error> {
    let blocks = reflection.bound.iter().filter_map(|bound| {
        let block = bound.block.as_ref()?;
        let members = block.members.iter().map(|member| Member {
            name: member.name.clone(),
            ty: member.ty.clone(),
            offset: member.offset,
            array_stride: member.array_stride,
            matrix_stride: member.matrix_stride,
            row_major: member.row_major,
        });
        Some(Block { name: bound.name.clone(), bytes: block.bytes, members: members.collect() })
    });
    Ok(EntryPoint {
        name: reflection.name,
        execution_model: format!("{:?}", reflection.model),
        execution_modes: reflection.modes,
        inputs: reflection.inputs.into_iter().map(variable).collect(),
        outputs: reflection.outputs.into_iter().map(variable).collect(),
        blocks: blocks.collect(),
        bindings: reflection.bound.iter().map(binding).collect(),
        specialization_constants: reflection
            .constants
            .into_iter()
            .map(|constant| Constant {
                id: constant.number,
                name: constant.name,
                ty: constant.ty,
                default: constant.bits,
            })
            .collect(),
    })
}

fn variable(variable: InterfaceVariable) -> Variable {
    let InterfaceVariable { name, ty, location, component, built_in, .. } = variable;
    Variable { name, ty, location, component, built_in }
}

fn binding(bound: &BoundVariable) -> Binding {
    Binding {
        name: bound.name.clone(),
        storage_class: format!("{:?}", bound.class),
        set: bound.set,
        binding: bound.binding,
        count: bound.count,
        ty: bound.ty.clone(),
        non_writable: bound.non_writable,
    }
}
