//! Which opcodes run.

use super::lower;
use crate::container::dxbc::{FourCc, Signature};
use crate::error::LowerError;
use crate::frontend::sm4::codes::Stage;
use crate::frontend::sm4::decode::Program;
use crate::frontend::sm4::opcode::Opcode;

/// Whether programs of a stage with this opcode, an instruction's, can be lowered: a program of nothing else is not
/// refused as [`Unsupported`](LowerError::Unsupported).
///
/// ```
/// use shaderjit::frontend::sm4::{Opcode, Stage, runs};
///
/// assert!(runs(Stage::Vertex, Opcode::Mad));
/// assert!(!runs(Stage::Vertex, Opcode::Emit));
/// ```
pub fn runs(stage: Stage, opcode: Opcode) -> bool {
    /// `r0.xyzw`, whatever the operand should be.
    const R0: [u32; 2] = [0x0010_00f2, 0];
    // An interface call has the number of its function in front.
    let function = (opcode == Opcode::InterfaceCall).then_some(0);
    let operands: Vec<u32> = function.into_iter().chain(opcode.slots().iter().flat_map(|_| R0)).collect();
    let mut tokens = vec![stage.number() << 16 | 0x50, 0, Opcode::DclTemps.number() | 2 << 24, 1];
    if stage == Stage::Compute {
        tokens.extend([Opcode::DclThreadGroup.number() | 4 << 24, 1, 1, 1]);
    }
    tokens.push(opcode.number() | (1 + operands.len() as u32) << 24);
    tokens.extend(operands);
    tokens[1] = tokens.len() as u32;
    let bytes: Vec<u8> = tokens.into_iter().flat_map(u32::to_le_bytes).collect();
    let signature = |part| Signature { part, elements: Vec::new() };
    let Ok(program) = Program::decode(&bytes, 0) else { return false };
    let lowered = lower(&program, &signature(FourCc::ISGN), &signature(FourCc::OSGN));
    !matches!(lowered, Err(LowerError::Unsupported { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_decodes_and_stages_differ() {
        use Stage::{Compute, Geometry, Pixel, Vertex};
        assert!([Vertex, Pixel, Compute].into_iter().all(|stage| runs(stage, Opcode::Add)));
        assert!(!runs(Geometry, Opcode::Add) && !runs(Pixel, Opcode::Sample));
        assert!(runs(Pixel, Opcode::Discard) && runs(Pixel, Opcode::InterfaceCall));
        assert!([Vertex, Pixel, Compute].into_iter().all(|stage| runs(stage, Opcode::StoreRaw)));
        assert!([Vertex, Pixel, Compute].into_iter().all(|stage| runs(stage, Opcode::Sync)));
    }
}
