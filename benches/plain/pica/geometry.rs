//! What a unit needs beside its registers to run geometry programs.

use super::{Machine, Program};
use crate::plain::vertex::Vec4;

/// A triangle: its winding, and o0 to o15 of each vertex.
pub struct Primitive {
    pub inverted: bool,
    pub vertices: [[Vec4; 16]; 3],
}

/// The other bank of outputs, the vertex buffers, what SETEMIT set, and the triangles so far.
pub struct Stage {
    /// Numbers of the registers that EMIT copies.
    emitted: Vec<usize>,
    other_bank: [Vec4; 16],
    buffers: [[Vec4; 16]; 3],
    pub(super) latch: (usize, bool, bool),
    pub primitives: Vec<Primitive>,
}

impl Stage {
    /// With nothing emitted. Bit n of the mask: EMIT copies `on`.
    pub fn new(mask: u16) -> Stage {
        Stage {
            emitted: (0..16).filter(|register| mask >> register & 1 != 0).collect(),
            other_bank: [[0.0; 4]; 16],
            buffers: [[[0.0; 4]; 16]; 3],
            latch: (0, false, false),
            primitives: Vec::new(),
        }
    }

    pub(super) fn emit(&mut self, outputs: &mut [Vec4; 16]) {
        let (buffer, ends, inverted) = self.latch;
        if let Some(buffer) = self.buffers.get_mut(buffer) {
            for &register in &self.emitted {
                buffer[register] = outputs[register];
            }
        }
        std::mem::swap(outputs, &mut self.other_bank);
        if ends {
            self.primitives.push(Primitive { inverted, vertices: self.buffers });
        }
    }
}

impl Program {
    /// Runs one invocation of a geometry program, given v0 and on. Registers are as the one before has left them.
    pub fn invoke(&self, machine: &mut Machine, stage: &mut Stage, inputs: &[Vec4]) {
        machine.rows[..inputs.len()].copy_from_slice(inputs);
        self.run(machine, Some(stage));
    }
}
