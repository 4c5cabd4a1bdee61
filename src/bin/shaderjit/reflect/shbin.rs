//! Reflection of a SHBIN, and of the unlinked object DVOJ.

use super::{letters, name};
use serde::Serialize;
use shaderjit::container::shbin::{self, Constant, Dvle};
use shaderjit::error::ContainerError;

#[derive(Serialize)]
pub struct Shbin {
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramInfo>,
    executables: Vec<Executable>,
}

#[derive(Serialize)]
struct ProgramInfo {
    words: usize,
    descriptors: usize,
}

#[derive(Serialize)]
struct Executable {
    number: usize,
    stage: String,
    entry: u32,
    end: u32,
    input_mask: u16,
    output_mask: u16,
    merge_output_maps: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometry: Option<Geometry>,
    #[serde(flatten)]
    tables: Tables,
}

#[derive(Serialize)]
pub struct Object {
    program: ProgramInfo,
    stage: String,
    input_mask: u16,
    output_mask: u16,
    merge_output_maps: bool,
    #[serde(flatten)]
    tables: Tables,
}

/// What executables and objects both declare.
#[derive(Serialize)]
struct Tables {
    inputs: Vec<Named>,
    uniforms: Vec<Named>,
    outputs: Vec<Output>,
    constants: Vec<ConstantInfo>,
    labels: Vec<Label>,
}

#[derive(Serialize)]
struct Geometry {
    mode: String,
    fixed_start: u8,
    variable_vertices: u8,
    fixed_vertices: u8,
}

#[derive(Serialize)]
struct Named {
    name: String,
    registers: String,
}

#[derive(Serialize)]
struct Output {
    register: u8,
    mask: String,
    semantic: String,
}

#[derive(Serialize)]
struct ConstantInfo {
    register: String,
    value: Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Bool(bool),
    Int([u8; 4]),
    /// As text, which alone can say infinity and NaN.
    Float([String; 4]),
}

#[derive(Serialize)]
struct Label {
    name: String,
    id: u16,
    position: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<u32>,
}

/// Everything that can be read; what cannot is in the list of malformed parts.
pub fn reflect(container: &shbin::Shbin<'_>) -> Shbin {
    let executables = (0..container.dvle_count()).filter_map(|number| {
        let dvle = container.dvle(number).ok().flatten()?;
        Some(executable(number, &dvle))
    });
    let program = |dvlp: shbin::Dvlp<'_>| ProgramInfo { words: dvlp.code.len(), descriptors: dvlp.descriptors.len() };
    Shbin { program: container.dvlp().ok().map(program), executables: executables.collect() }
}

/// An object.
///
/// # Errors
/// One of its tables is malformed.
pub fn reflect_object(container: &shbin::Dvoj<'_>) -> Result<Object, ContainerError> {
    let object = container.object()?;
    Ok(Object {
        program: ProgramInfo { words: object.code.len(), descriptors: object.descriptors.len() },
        stage: object.kind.to_string(),
        input_mask: object.input_mask,
        output_mask: object.output_mask,
        merge_output_maps: object.merges_output_maps(),
        tables: tables(&object.uniforms, &object.outputs, &object.constants, &object.labels),
    })
}

fn executable(number: usize, dvle: &Dvle<'_>) -> Executable {
    Executable {
        number,
        stage: dvle.kind.to_string(),
        entry: dvle.main,
        end: dvle.end,
        input_mask: dvle.input_mask,
        output_mask: dvle.output_mask,
        merge_output_maps: dvle.merges_output_maps(),
        geometry: dvle.geometry.map(|geometry| Geometry {
            mode: geometry.mode.to_string(),
            fixed_start: geometry.fixed_start,
            variable_vertices: geometry.variable_vertices,
            fixed_vertices: geometry.fixed_vertices,
        }),
        tables: tables(&dvle.uniforms, &dvle.outputs, &dvle.constants, &dvle.labels),
    }
}

fn tables(
    uniforms: &[shbin::Uniform<'_>],
    outputs: &[shbin::OutputMapping],
    constants: &[Constant],
    labels: &[shbin::Label<'_>],
) -> Tables {
    let is_input = |uniform: &&shbin::Uniform<'_>| uniform.registers.file == shbin::RegisterFile::Input;
    let named =
        |uniform: &shbin::Uniform<'_>| Named { name: name(uniform.name), registers: uniform.registers.to_string() };
    let output = |output: &shbin::OutputMapping| Output {
        register: output.register,
        mask: letters(output.mask),
        semantic: output.semantic.to_string(),
    };
    let label = |label: &shbin::Label<'_>| Label {
        name: name(label.name),
        id: label.id,
        position: label.position,
        words: label.words,
    };
    Tables {
        inputs: uniforms.iter().filter(is_input).map(named).collect(),
        uniforms: uniforms.iter().filter(|uniform| !is_input(uniform)).map(named).collect(),
        outputs: outputs.iter().map(output).collect(),
        constants: constants.iter().map(constant).collect(),
        labels: labels.iter().map(label).collect(),
    }
}

fn constant(constant: &Constant) -> ConstantInfo {
    let (file, register) = constant.register();
    let value = match (constant, constant.float_value()) {
        (_, Some(value)) => Value::Float(value.map(|component| component.to_string())),
        (Constant::Int { value, .. }, _) => Value::Int(*value),
        (Constant::Bool { value, .. }, _) => Value::Bool(*value),
        (Constant::Float { .. }, None) => unreachable!("a float constant has a value"),
    };
    ConstantInfo { register: format!("{}{register}", file.letter()), value }
}
