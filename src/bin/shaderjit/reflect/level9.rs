//! Reflection of the Direct3D 9 programs of a level-9 profile.

use serde::Serialize;
use shaderjit::container::dxbc::{self, DataConversion, Dxbc, Level9Program, PartContent};
use shaderjit::frontend::d3d9::{InstructionSlots, Program, Version};

/// A program, and what its registers stand for.
#[derive(Serialize)]
pub struct Level9 {
    part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Instructions>,
    /// Why the program cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    float_constants: Vec<Constants>,
    int_constants: Vec<Integer>,
    /// How many registers have truth values, of which no more is known.
    bool_constants: u16,
    samplers: Vec<Sampler>,
    runtime_constants: Vec<RuntimeConstant>,
}

/// Instruction slots, as the listing counts them.
#[derive(Serialize)]
struct Instructions {
    slots: usize,
    texture: usize,
    arithmetic: usize,
}

#[derive(Serialize)]
struct Constants {
    register: u16,
    buffer: u16,
    row: u16,
    rows: u16,
    conversion: Vec<String>,
}

#[derive(Serialize)]
struct Integer {
    register: u16,
    buffer: u16,
    row: u16,
    component: u16,
}

#[derive(Serialize)]
struct Sampler {
    register: u8,
    sampler: u8,
    texture: u8,
}

#[derive(Serialize)]
struct RuntimeConstant {
    register: u16,
    constant: String,
}

/// The programs in the order of their parts.
pub fn reflect(container: &Dxbc<'_>) -> Vec<Level9> {
    let programs = container.parts().iter().filter_map(|part| match part.content() {
        Ok(PartContent::Level9Program(program)) => Some(level9(&program)),
        _ => None,
    });
    programs.collect()
}

fn level9(level9: &Level9Program<'_>) -> Level9 {
    let program = Program::from_container(level9);
    let slots = program.as_ref().ok().map(Program::instruction_slots);
    Level9 {
        part: level9.part.to_string(),
        profile: Version::from_container(level9).ok().map(|version| version.to_string()),
        instructions: slots.map(|slots| {
            let InstructionSlots { texture, arithmetic } = slots;
            Instructions { slots: slots.total(), texture, arithmetic }
        }),
        error: program.err().map(|error| error.to_string()),
        float_constants: level9.float_constants.iter().map(constants).collect(),
        int_constants: level9.int_constants.iter().map(integer).collect(),
        bool_constants: level9.bool_constants.count,
        samplers: level9.samplers.iter().map(sampler).collect(),
        runtime_constants: level9.runtime_constants.iter().map(runtime_constant).collect(),
    }
}

fn constants(it: &dxbc::Level9Constants) -> Constants {
    let conversion = it.conversion.iter().map(DataConversion::to_string).collect();
    Constants { register: it.register, buffer: it.buffer, row: it.row, rows: it.count, conversion }
}

fn integer(it: &dxbc::Level9Integer) -> Integer {
    Integer { register: it.register, buffer: it.buffer, row: it.row, component: it.component }
}

fn sampler(it: &dxbc::Level9Sampler) -> Sampler {
    Sampler { register: it.register, sampler: it.sampler, texture: it.texture }
}

fn runtime_constant(it: &dxbc::Level9RuntimeConstant) -> RuntimeConstant {
    RuntimeConstant { register: it.register, constant: it.constant.to_string() }
}
