//! Where things lie in memory that a call lends the code: register arrays and the frame.

use super::abi::ArrayPlace;
use super::call::SlotFill;
use super::{CodeInfo, Layout, UniformRows, limit, limits};
use crate::error::JitError;
use cranelift_entity::SecondaryMap;
use shaderjit_ir::Array;
use shaderjit_ir::batch::{BatchProgram, Frame};
use shaderjit_ir::texture::Access;

/// The places.
pub struct Places {
    /// What lies where beside the caller's buffers.
    pub frame: Frame,
    /// Where the arrays lie.
    pub arrays: SecondaryMap<Array, ArrayPlace>,
    /// Their size, a multiple of 64.
    pub scratch_bytes: u32,
    /// How much of it, from the start, begins as zero: all but the arrays that are kept, or stored before they are
    /// loaded. A multiple of 64.
    pub zeroed_bytes: u32,
}

impl Places {
    /// The places of a program, if the layout has all that it reads. A back end asks for some bytes of the frame for
    /// itself, a multiple of 16.
    pub fn new(program: &BatchProgram, layout: &Layout, own: usize) -> Result<Places, JitError> {
        let reads = program.facts.reads.iter();
        if let Some(element) = reads.skip(layout.inputs.len()).position(|&reads| reads) {
            return Err(codegen(format!("the layout has no input {}", layout.inputs.len() + element)));
        }
        for (element, (wanted, format)) in program.facts.wanted.iter().zip(&layout.inputs).enumerate() {
            if *wanted >> format.bytes().div_ceil(4) != 0 {
                return Err(codegen(format!("input {element} has fewer words in the layout")));
            }
        }
        let (arrays, zeroed_bytes, scratch_bytes) = place_arrays(program)?;
        let waves = waves_of_tile(program) as u64;
        limit("the size of register arrays", u64::from(scratch_bytes) * waves, limits::SCRATCH_BYTES)?;
        Ok(Places { frame: Frame::new(program, own), arrays, scratch_bytes, zeroed_bytes })
    }

    /// What a call must know about the code of a program, a round of whose loop shades so many vertices. The stack it
    /// takes is left out.
    pub fn info(&self, program: &BatchProgram, layout: &Layout, accesses: Vec<Access>, round: usize) -> CodeInfo {
        let facts = &program.facts;
        let waves = waves_of_tile(program);
        let reads = facts.reads.iter().copied().chain(std::iter::repeat(false));
        let tables = program.spaces.values().zip(&facts.readable_rows);
        CodeInfo {
            lanes: program.wave() as u32,
            vertices_of_round: round,
            inputs: layout.inputs.iter().zip(reads).map(|(&format, reads)| reads.then_some(format)).collect(),
            outputs: layout.outputs.clone(),
            uniform_rows: facts.readable_rows.clone(),
            tables: tables.map(|(space, &rows)| Some(UniformRows::from_rows(space.table.as_ref()?, rows))).collect(),
            resources: program.resources.len(),
            threads: program.threads.map(|threads| threads * program.waves_of_group),
            waves_of_group: program.waves_of_group as usize,
            memory: program.resources.values().map(|resource| resource.memory).collect(),
            accesses,
            scratch_bytes: self.scratch_bytes as usize * waves,
            arrays: self.arrays.clone(),
            frame_bytes: self.frame.bytes(),
            vertices_of_fuel: if facts.pays { program.wave() * waves } else { round },
            vertices_of_tile: program.wave() * program.tile(),
            is_cut: program.is_cut(),
            worklists: program.cut.worklists,
            vertices_at_once: program.waves_at_once() * program.wave(),
            stack_bytes: 0,
            copies: program.copies.to_vec(),
            fills: program.call.fills.iter().copied().map(SlotFill::from).collect(),
        }
    }
}

/// How many waves have memory of their own.
fn waves_of_tile(program: &BatchProgram) -> usize {
    if program.is_cut() { program.tile() } else { 1 }
}

/// The places of arrays, the end of those that begin as zero, and the end.
fn place_arrays(program: &BatchProgram) -> Result<(SecondaryMap<Array, ArrayPlace>, u32, u32), JitError> {
    let (mut arrays, mut zeroed, mut end, lanes) = (SecondaryMap::new(), 0, 0u64, program.wave());
    let begins_as_zero = |array: Array| !program.arrays[array].kept && !program.facts.assigned.contains(array);
    for is_zero in [true, false] {
        zeroed = if is_zero { 0 } else { end as u32 };
        for (array, data) in program.arrays.iter().filter(|&(array, _)| begins_as_zero(array) == is_zero) {
            let (offset, element_bytes) = (end, u64::from(data.components) * lanes as u64 * 4);
            end += ((u64::from(data.elements) + 2) * element_bytes).next_multiple_of(64);
            limit("the size of register arrays", end, limits::SCRATCH_BYTES)?;
            arrays[array] =
                ArrayPlace { offset: offset as u32, element_bytes: element_bytes as u32, elements: data.elements };
        }
    }
    Ok((arrays, zeroed, end as u32))
}

/// What the function may not have here: a defect of the passes before.
pub fn codegen(what: String) -> JitError {
    JitError::Codegen(what)
}
