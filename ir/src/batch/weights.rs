//! What one instruction of a batch program is to a machine: about how many machine instructions, and how many cycles
//! until what it makes can be used.
//!
//! Only what differs among lanes weighs much. Vectors of 128 bits are Cranelift's code and wider ones our own: the
//! number of lanes tells them apart.

use super::Parts;
use crate::Op;
use crate::double::is_double_op;
use crate::function::{Imm, InstData};
use crate::op::Memory;
use crate::texture::is_access;

/// For each lane, a row that is loaded and transposed, and one that is transposed and stored.
pub const ROW_IN: f64 = 3.0;
pub const ROW_OUT: f64 = 2.0;

/// The address of the first of a vector's rows.
pub const ADDRESSED: f64 = 1.0;

/// A word for each lane, from an address of its own: four of them are often one row.
const WORD: f64 = 1.0;

/// A row for each lane, from an address of its own.
const ROW: f64 = 2.0;

/// What is the same in all lanes: most of it runs beside the vectors.
const UNIFORM: f64 = 0.25;

/// Cycles of a sum or a product.
const FLOAT: f64 = 4.0;

/// An access to a texture: a call, and filtering for each lane. Nothing overlaps with it.
const TEXTURE: (f64, f64) = (60.0, 200.0);

/// An op on doubles: our own code has two vectors of them, and changes the mode around; Cranelift's calls, for the
/// lanes one by one.
const DOUBLE: f64 = 20.0;
const DOUBLE_CALL: (f64, f64) = (48.0, 22.0);

/// What an instruction takes.
#[derive(Clone, Copy)]
pub struct Weight {
    /// Machine instructions.
    pub insts: f64,
    /// Cycles.
    pub latency: f64,
}

/// What an instruction takes; `in_run` if it is one of a [run](super). Of components it says only whether there is
/// anything to do: they come and go by the row.
pub fn of_inst(program: &Parts, inst: &InstData, in_run: bool) -> Weight {
    let lanes = f64::from(program.lanes);
    let is_narrow = program.lanes == 4;
    let is_uniform = |value| program.uniform.contains(value);
    let (insts, latency) = match inst.op {
        Op::InputRow | Op::OutputRow if in_run => (lanes * ROW_IN, 2.0),
        Op::RowAt if in_run => (lanes * ROW, 5.0),
        Op::CallLoad if in_run => (1.0, 0.0),
        // A vector has a row of every fourth lane.
        _ if in_run => (4.0, FLOAT),
        op if is_access(op) => {
            let lanes = if inst.result.is_some_and(is_uniform) { 1.0 } else { lanes };
            (TEXTURE.0 + TEXTURE.1 * lanes, 0.0)
        }
        op if is_double_op(op) && is_narrow => (DOUBLE_CALL.0 + DOUBLE_CALL.1 * lanes, DOUBLE_CALL.0),
        op if is_double_op(op) => (DOUBLE, 6.0),
        Op::Input | Op::InputWord => {
            (f64::from(u8::from(inst.result.is_some_and(|result| program.is_used(result)))), 1.0)
        }
        Op::Output => match inst.imm {
            Imm::Element { element, .. } if !program.is_stored(element) => (0.0, 0.0),
            _ => (1.0, 1.0),
        },
        // Literals and most of what a call has are operands in memory; words have come with their rows.
        Op::Const | Op::RowJoin | Op::RowWord | Op::BitcastF32 | Op::BitcastI32 => (0.0, 0.0),
        Op::F64join | Op::F64lo | Op::F64hi | Op::CallLoad => (0.0, 0.0),
        _ if inst.result.is_some_and(is_uniform) => (UNIFORM, 1.0),
        Op::Fadd | Op::Fsub | Op::Fmul | Op::Fma | Op::Imul => (1.0, FLOAT),
        Op::Ffloor | Op::Fceil | Op::Ftrunc | Op::Fnearest | Op::Itof => (1.0, FLOAT),
        Op::Fdiv | Op::Fsqrt => (4.0, 12.0),
        Op::Feq | Op::Fne | Op::Flt | Op::Fle | Op::Funo => (1.0, if program.lanes == 16 { 5.0 } else { 2.0 }),
        Op::Select | Op::Pmin | Op::Pmax => (1.0, 2.0),
        Op::Ftoi => (5.0, 8.0),
        Op::Ftou => (if program.lanes == 16 { 2.0 } else { 9.0 }, 8.0),
        Op::Utof => (if program.lanes == 16 { 1.0 } else { 6.0 }, 8.0),
        Op::Fscale => (2.0, 8.0),
        Op::Flogcase => (1.0, FLOAT),
        Op::Udiv | Op::Urem => (30.0, 40.0),
        Op::Smulhi | Op::Umulhi => (6.0, 8.0),
        Op::Popcnt => (8.0, 8.0),
        Op::Clz | Op::Ctz => (if program.lanes == 16 { 3.0 } else { 9.0 }, 8.0),
        Op::Ishl | Op::Ushr | Op::Sshr if program.constant(inst.args[1]).is_none() => {
            if is_narrow {
                (10.0, 15.0)
            } else {
                (2.0, 2.0)
            }
        }
        Op::Any => (2.0, 4.0),
        Op::UniformLoadAt | Op::ResourceLoad => (lanes * WORD, 8.0),
        op if op.memory() == Some(Memory::Array) => (if is_uniform(inst.args[0]) { 2.0 } else { lanes * WORD }, 8.0),
        // Loads are operands of what uses them.
        Op::SlotLoad => (if is_narrow { 1.0 } else { 0.5 }, 1.0),
        Op::SlotStore => (1.0, 0.0),
        Op::WorklistPush => (6.0, 4.0),
        _ => (1.0, 1.0),
    };
    Weight { insts, latency }
}
