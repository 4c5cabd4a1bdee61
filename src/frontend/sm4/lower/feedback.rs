//! Shader feedback of tiled resources: accesses that also say whether all that they touched was mapped.
//!
//! Every resource is whole here, and "Non-Tiled Resources always appear to be fully mapped" (Direct3D 11.3 functional
//! specification, 5.9.4.5.5). The status is opaque to programs, but the compiler joins those of several accesses by a
//! bitwise or, so the status of a mapped access has no bit set, and `check_access_fully_mapped` looks for none
//! (5.9.4.5.3).

use super::Lowering;
use crate::error::LowerError;
use crate::frontend::sm4::decode::Operation;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::token::OpcodeToken;

/// The status of an access to what is mapped.
const MAPPED: u32 = 0;

/// The same access without a status, whose operand is the second.
pub(crate) fn without_status(opcode: Opcode) -> Option<Opcode> {
    Some(match opcode {
        Opcode::Gather4S => Opcode::Gather4,
        Opcode::Gather4CS => Opcode::Gather4C,
        Opcode::Gather4PoS => Opcode::Gather4Po,
        Opcode::Gather4PoCS => Opcode::Gather4PoC,
        Opcode::LdS => Opcode::Ld,
        Opcode::LdMsS => Opcode::LdMs,
        Opcode::LdUavTypedS => Opcode::LdUavTyped,
        Opcode::LdRawS => Opcode::LdRaw,
        Opcode::LdStructuredS => Opcode::LdStructured,
        Opcode::SampleLS => Opcode::SampleL,
        Opcode::SampleCLzS => Opcode::SampleCLz,
        // Behind the operands of these is the least level.
        Opcode::SampleClS => Opcode::Sample,
        Opcode::SampleBClS => Opcode::SampleB,
        Opcode::SampleDClS => Opcode::SampleD,
        Opcode::SampleCClS => Opcode::SampleC,
        _ => return None,
    })
}

impl Lowering {
    /// Lowers an instruction of the group of tiled feedback.
    pub(super) fn feedback_operation(&mut self, token: OpcodeToken, operation: &Operation) -> Result<(), LowerError> {
        if token.opcode == Opcode::CheckAccessFullyMapped {
            return self.check_mapped(operation);
        }
        let (Some(opcode), Some(status)) = (without_status(token.opcode), operation.operands.get(1)) else {
            return Err(self.unsupported(token.opcode));
        };
        let mut access = operation.clone();
        access.operands.remove(1);
        // Where it goes is found out before the access writes a register that its index reads.
        let status = self.destination(status)?;
        self.view_operation(OpcodeToken { opcode, ..token }, &access).map_err(|error| match error {
            LowerError::Unsupported { what, .. } if what == opcode.mnemonic() => self.unsupported(token.opcode),
            error => error,
        })?;
        let mapped = self.b.i32(MAPPED);
        status.mask.components().try_for_each(|component| self.write(&status, component, mapped))
    }

    fn check_mapped(&mut self, operation: &Operation) -> Result<(), LowerError> {
        let [destination, status] = &operation.operands[..] else {
            return Err(self.unsupported(Opcode::CheckAccessFullyMapped));
        };
        let target = self.destination(destination)?;
        let [mapped, all, none] = [MAPPED, u32::MAX, 0].map(|word| self.b.i32(word));
        let mut answers = Vec::with_capacity(4);
        for component in target.mask.components() {
            let status = self.read(status, component, DataClass::Uint)?;
            let is_mapped = self.b.ieq([status, mapped]);
            answers.push((component, self.b.select([is_mapped, all, none])));
        }
        answers.into_iter().try_for_each(|(component, answer)| self.write(&target, component, answer))
    }
}
