//! Which opcodes run.

use super::lower;
use crate::container::dxbc::{FourCc, Signature};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Primitive, Stage, TessDomain, TessOutput, TessPartitioning, Topology};
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
    tokens.extend(needed(stage));
    tokens.push(opcode.number() | (1 + operands.len() as u32) << 24);
    tokens.extend(operands);
    tokens[1] = tokens.len() as u32;
    let bytes: Vec<u8> = tokens.into_iter().flat_map(u32::to_le_bytes).collect();
    let signature = |part| Signature { part, elements: Vec::new() };
    let Ok(program) = Program::decode(&bytes, 0) else { return false };
    let lowered = lower(&program, &signature(FourCc::ISGN), &signature(FourCc::OSGN));
    !matches!(lowered, Err(LowerError::Unsupported { .. }))
}

/// The declarations that programs of a stage do not go without.
fn needed(stage: Stage) -> Vec<u32> {
    let declare = |opcode: Opcode, value: u32| opcode.number() | value << 11 | 1 << 24;
    match stage {
        Stage::Compute => vec![Opcode::DclThreadGroup.number() | 4 << 24, 1, 1, 1],
        Stage::Geometry => vec![
            declare(Opcode::DclInputPrimitive, Primitive::Point.number()),
            declare(Opcode::DclOutputTopology, Topology::PointList.number()),
            Opcode::DclMaxOut.number() | 2 << 24,
            1,
        ],
        Stage::Hull => vec![
            declare(Opcode::DclInputControlPointCount, 1),
            declare(Opcode::DclOutputControlPointCount, 1),
            declare(Opcode::DclTessDomain, TessDomain::Tri.number()),
            declare(Opcode::DclTessPartitioning, TessPartitioning::Integer.number()),
            declare(Opcode::DclTessOutputPrimitive, TessOutput::Point.number()),
            declare(Opcode::HsForkPhase, 0),
        ],
        Stage::Domain => vec![declare(Opcode::DclTessDomain, TessDomain::Tri.number())],
        Stage::Vertex | Stage::Pixel => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_decodes_and_stages_differ() {
        use Stage::{Compute, Geometry, Pixel, Vertex};
        let everywhere = |opcode| Stage::ALL.iter().all(|&stage| runs(stage, opcode));
        assert!(everywhere(Opcode::Add) && everywhere(Opcode::StoreRaw) && everywhere(Opcode::Sync));
        assert!(!runs(Vertex, Opcode::Sample) && !runs(Vertex, Opcode::Emit) && !runs(Compute, Opcode::Cut));
        assert!(runs(Pixel, Opcode::Sample) && runs(Pixel, Opcode::EvalCentroid));
        assert!(runs(Pixel, Opcode::Discard) && runs(Pixel, Opcode::InterfaceCall));
        assert!(runs(Geometry, Opcode::Emit) && runs(Geometry, Opcode::CutStream));
    }
}
