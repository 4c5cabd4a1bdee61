//! Ops on uniform values.

use super::Emitter;
use crate::error::JitError;
use crate::jit::places::codegen;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use shaderjit_ir::{Op, Type};

impl Emitter<'_, '_> {
    /// A pure op on scalars, floats or not, unless operands and result all are floats. `ty` is the instruction's type.
    pub(super) fn scalar_op(&mut self, op: Op, ty: Type, args: &[Value]) -> Result<Value, JitError> {
        let simd = &mut self.simd;
        Ok(match (op, args) {
            (Op::And, &[a, b]) => simd.ins().band(a, b),
            (Op::Or, &[a, b]) => simd.ins().bor(a, b),
            (Op::Xor, &[a, b]) => simd.ins().bxor(a, b),
            // A scalar i1 is 0 or 1.
            (Op::Not, &[a]) if ty == Type::I1 => {
                let one = simd.ins().iconst(I8, 1);
                simd.ins().bxor(a, one)
            }
            (Op::Not, &[a]) => simd.ins().bnot(a),
            (Op::BitcastI32, &[a]) => simd.ins().bitcast(I32, MemFlagsData::new(), a),
            (Op::BitcastF32, &[a]) => simd.ins().bitcast(F32, MemFlagsData::new(), a),
            (Op::Ishl, &[a, b]) => simd.ins().ishl(a, b),
            (Op::Ushr, &[a, b]) => simd.ins().ushr(a, b),
            (Op::Sshr, &[a, b]) => simd.ins().sshr(a, b),
            (Op::Popcnt, &[a]) => simd.ins().popcnt(a),
            (Op::Clz, &[a]) => simd.ins().clz(a),
            (Op::Ctz, &[a]) => simd.ins().ctz(a),
            (Op::Iadd, &[a, b]) => simd.ins().iadd(a, b),
            (Op::Isub, &[a, b]) => simd.ins().isub(a, b),
            (Op::Imul, &[a, b]) => simd.ins().imul(a, b),
            (Op::Smulhi, &[a, b]) => simd.ins().smulhi(a, b),
            (Op::Umulhi, &[a, b]) => simd.ins().umulhi(a, b),
            (Op::Smin, &[a, b]) => simd.ins().smin(a, b),
            (Op::Smax, &[a, b]) => simd.ins().smax(a, b),
            (Op::Umin, &[a, b]) => simd.ins().umin(a, b),
            (Op::Umax, &[a, b]) => simd.ins().umax(a, b),
            // Cranelift's scalar division traps; ours on vectors does not.
            (Op::Udiv | Op::Urem, &[a, b]) => {
                let vectors = [a, b].map(|scalar| simd.ins().splat(I32X4, scalar));
                let vector = self.vector_op(op, |arg| vectors[arg])?;
                self.simd.ins().extractlane(vector, 0u8)
            }
            (Op::Ieq, &[a, b]) => simd.icmp(IntCC::Equal, a, b),
            (Op::Ine, &[a, b]) => simd.icmp(IntCC::NotEqual, a, b),
            (Op::Slt, &[a, b]) => simd.icmp(IntCC::SignedLessThan, a, b),
            (Op::Sle, &[a, b]) => simd.icmp(IntCC::SignedLessThanOrEqual, a, b),
            (Op::Ult, &[a, b]) => simd.icmp(IntCC::UnsignedLessThan, a, b),
            (Op::Ule, &[a, b]) => simd.icmp(IntCC::UnsignedLessThanOrEqual, a, b),
            (Op::Feq, &[a, b]) => simd.fcmp(FloatCC::Equal, a, b),
            (Op::Fne, &[a, b]) => simd.fcmp(FloatCC::NotEqual, a, b),
            (Op::Flt, &[a, b]) => simd.fcmp(FloatCC::LessThan, a, b),
            (Op::Fle, &[a, b]) => simd.fcmp(FloatCC::LessThanOrEqual, a, b),
            (Op::Funo, &[a, b]) => simd.fcmp(FloatCC::Unordered, a, b),
            (Op::Ftoi, &[a]) => simd.ins().fcvt_to_sint_sat(I32, a),
            (Op::Ftou, &[a]) => simd.ins().fcvt_to_uint_sat(I32, a),
            (Op::Itof, &[a]) => simd.ins().fcvt_from_sint(F32, a),
            (Op::Utof, &[a]) => simd.ins().fcvt_from_uint(F32, a),
            (op, _) => return Err(codegen(format!("{op} has no native form"))),
        })
    }

    /// The low and high words of an integer as a double.
    pub(super) fn scalar_to_double(&mut self, signed: bool, integer: Value) -> [Value; 2] {
        let simd = &mut self.simd;
        let wide = if signed { simd.ins().sextend(I64, integer) } else { simd.ins().uextend(I64, integer) };
        let double = simd.ins().fcvt_from_sint(F64, wide);
        let bits = simd.ins().bitcast(I64, MemFlagsData::new(), double);
        let high = simd.shr(bits, 32);
        [bits, high].map(|word| simd.ins().ireduce(I32, word))
    }
}
