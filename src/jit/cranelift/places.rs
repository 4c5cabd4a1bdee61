//! Where things lie in memory that a call lends the code: register arrays and the frame.

use super::lanes;
use crate::error::JitError;
use crate::jit::abi::ArrayPlace;
use crate::jit::{Layout, limit, limits};
use cranelift_entity::SecondaryMap;
use shaderjit_ir::batch::{BatchProgram, Frame, TILE};
use shaderjit_ir::{Array, Function};

/// How many vertices a round of the loop shades where all is done by rows. More are more code of the same kind, fewer
/// are shaded more slowly.
const ROWS_AT_ONCE: usize = 2;

/// The places.
pub struct Places {
    /// Vectors of four lanes that a wave has.
    pub vectors: usize,
    /// How many vertices a round of the native loop shades.
    pub step: usize,
    /// What lies where beside the caller's buffers.
    pub frame: Frame,
    /// Where the arrays lie.
    pub arrays: SecondaryMap<Array, ArrayPlace>,
    /// Their size, a multiple of 64.
    pub scratch_bytes: u32,
    /// How much of it, from the start, begins as zero: all but the arrays that are kept. A multiple of 64.
    pub zeroed_bytes: u32,
}

impl Places {
    pub fn new(program: &BatchProgram, layout: &Layout) -> Result<Places, JitError> {
        let reads = program.facts.reads.iter();
        if let Some(element) = reads.skip(layout.inputs.len()).position(|&reads| reads) {
            return Err(codegen(format!("the layout has no input {}", layout.inputs.len() + element)));
        }
        for (element, (wanted, format)) in program.facts.wanted.iter().zip(&layout.inputs).enumerate() {
            if *wanted >> format.bytes().div_ceil(4) != 0 {
                return Err(codegen(format!("input {element} has fewer words in the layout")));
            }
        }
        let vectors = usize::from(program.vectors);
        let (arrays, zeroed_bytes, scratch_bytes) = place_arrays(program, vectors)?;
        let waves = if program.is_cut() { TILE as u64 } else { 1 };
        limit("the size of register arrays", u64::from(scratch_bytes) * waves, limits::SCRATCH_BYTES)?;
        Ok(Places {
            vectors,
            step: if program.by_rows { ROWS_AT_ONCE } else { 4 * vectors },
            frame: Frame::new(program, if program.facts.scattered { 16 * lanes::SLOTS } else { 0 }),
            arrays,
            scratch_bytes,
            zeroed_bytes,
        })
    }
}

/// The arrays' places, the end of those that are not kept, and the end.
fn place_arrays(func: &Function, vectors: usize) -> Result<(SecondaryMap<Array, ArrayPlace>, u32, u32), JitError> {
    let (mut arrays, mut zeroed, mut end) = (SecondaryMap::new(), 0, 0u64);
    for kept in [false, true] {
        zeroed = if kept { end as u32 } else { 0 };
        for (array, data) in func.arrays.iter().filter(|(_, data)| data.kept == kept) {
            let (offset, element_bytes) = (end, u64::from(data.components) * vectors as u64 * 16);
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
