//! What arithmetic on `f64` computes: IEEE 754 binary64, rounded to nearest even, denormals kept.
//!
//! Written once, one invocation at a time: the interpreter and constant folding call it, and so does native code, whose
//! floating-point mode would flush the denormals of doubles. Every NaN that arithmetic makes has the same bits, because
//! which ones Rust's `f64` gives may depend on how a caller is compiled.

use crate::float;
use crate::fused;
use crate::op::Op;

/// Most operands of an op of [`OPS`].
pub const OPERANDS: usize = 3;

/// Calls `$callback!` with the table: op, operands, result. Operands and results are 64 bits: what has 32 bits lies in
/// the low half, under zeros; an `i1` is 0 or 1.
macro_rules! for_each_double_op {
    ($callback:ident) => {
        $callback! {
            Dadd(a, b) => double(d(a) + d(b));
            Dmul(a, b) => double(d(a) * d(b));
            Ddiv(a, b) => double(d(a) / d(b));
            Dfma(a, b, c) => double(fused::double(d(a), d(b), d(c)));
            Dmin(a, b) => double(if d(a) < d(b) || d(b).is_nan() { d(a) } else { d(b) });
            Dmax(a, b) => double(if d(a) > d(b) || d(b).is_nan() { d(a) } else { d(b) });
            Deq(a, b) => u64::from(d(a) == d(b));
            Dne(a, b) => u64::from(d(a) != d(b));
            Dlt(a, b) => u64::from(d(a) < d(b));
            Dle(a, b) => u64::from(d(a) <= d(b));
            // Rust's casts round to nearest even; to integers they truncate, clamp and give 0 for NaN, as D3D asks.
            Dtof(a) => single(d(a) as f32);
            Dtoi(a) => u64::from(d(a) as i32 as u32);
            Dtou(a) => u64::from(d(a) as u32);
            Ftod(a) => double(f64::from(float::flush(f32::from_bits(a as u32))));
            Itod(a) => double(f64::from(a as u32 as i32));
            Utod(a) => double(f64::from(a as u32));
        }
    };
}

macro_rules! define {
    ($( $op:ident($($operand:ident),*) => $result:expr; )*) => {
        /// Every op of this kind. Native code calls them by their place here.
        pub const OPS: &[Op] = &[$( Op::$op, )*];

        /// Whether [`eval`] computes the op: its operands or its result are doubles, and it does more than move their
        /// words.
        pub const fn is_double_op(op: Op) -> bool {
            matches!(op, $( Op::$op )|*)
        }

        /// Computes an op of [`OPS`]; operands it does not have are not looked at. Total: never panics but where a
        /// debug build is given another op.
        pub fn eval(op: Op, operands: [u64; OPERANDS]) -> u64 {
            match op {
                $( Op::$op => {
                    let [$( $operand, )* ..] = operands;
                    $result
                } )*
                op => {
                    debug_assert!(false, "{op} is no arithmetic on doubles");
                    0
                }
            }
        }
    };
}
for_each_double_op!(define);

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn double(result: f64) -> u64 {
    if result.is_nan() { 0x7ff8_0000_0000_0000 } else { result.to_bits() }
}

/// The result is an `f32`, whose denormals are flushed.
fn single(result: f32) -> u64 {
    u64::from(if result.is_nan() { 0x7fc0_0000 } else { float::flush(result).to_bits() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::TypeRule;

    fn of(op: Op, operands: [f64; 3]) -> u64 {
        eval(op, operands.map(f64::to_bits))
    }

    #[test]
    fn the_ops_are_those_of_the_table_that_do_more_than_move_words() {
        let has_doubles = |op: Op| op.operands().contains(&TypeRule::F64) || op.result() == TypeRule::F64;
        let moves = [Op::F64join, Op::F64lo, Op::F64hi];
        for &op in Op::ALL {
            assert_eq!(is_double_op(op), has_doubles(op) && !moves.contains(&op), "{op}");
            assert_eq!(is_double_op(op), OPS.contains(&op), "{op}");
        }
    }

    #[test]
    fn denormals_are_kept_and_products_rounded_once() {
        let tiny = f64::from_bits(1);
        assert_eq!(of(Op::Dadd, [tiny, tiny, 0.0]), 2);
        assert_eq!(of(Op::Dmul, [tiny, 1.0, 0.0]), 1);
        assert_eq!(of(Op::Ddiv, [f64::MIN_POSITIVE, 2.0, 0.0]), 1 << 51);
        assert_eq!(of(Op::Dmax, [-tiny, tiny, 0.0]), 1);
        let x = 1.0 + f64::EPSILON;
        assert_eq!(f64::from_bits(of(Op::Dfma, [x, x, -(x * x)])), f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn nans_lose_against_numbers_and_have_one_pattern() {
        let nan = f64::from_bits(0xfff0_0000_0000_0001);
        for op in [Op::Dmin, Op::Dmax] {
            assert_eq!(of(op, [nan, 1.0, 0.0]), 1.0f64.to_bits());
            assert_eq!(of(op, [1.0, nan, 0.0]), 1.0f64.to_bits());
            assert_eq!(of(op, [nan, nan, 0.0]), f64::NAN.to_bits());
        }
        assert_eq!(of(Op::Ddiv, [-0.0, 0.0, 0.0]), 0x7ff8_0000_0000_0000);
        assert_eq!(of(Op::Dtof, [nan, 0.0, 0.0]), 0x7fc0_0000);
        assert_eq!(eval(Op::Ftod, [0xff80_0001, 0, 0]), 0x7ff8_0000_0000_0000);
        assert_eq!([Op::Deq, Op::Dne, Op::Dlt, Op::Dle].map(|op| of(op, [nan, nan, 0.0])), [0, 1, 0, 0]);
    }

    #[test]
    fn conversions_round_clamp_and_flush() {
        let dtof = |x: f64| of(Op::Dtof, [x, 0.0, 0.0]) as u32;
        // A tie goes to even, anything above it up.
        let tie = 1.0 + f64::from(f32::EPSILON) / 2.0;
        assert_eq!([dtof(tie), dtof(tie.next_up())], [0x3f80_0000, 0x3f80_0001]);
        assert_eq!(dtof(-1e40), 0xff80_0000);
        assert_eq!(dtof(-1e-40), 0x8000_0000);
        assert_eq!(dtof(f64::from(f32::MIN_POSITIVE)), 0x0080_0000);
        assert_eq!(eval(Op::Ftod, [0x8000_0001, 0, 0]), 1 << 63);
        let integers = |x: f64| [Op::Dtoi, Op::Dtou].map(|op| of(op, [x, 0.0, 0.0]) as u32);
        assert_eq!(integers(-1.9), [-1i32 as u32, 0]);
        assert_eq!(integers(3e9), [i32::MAX as u32, 3_000_000_000]);
        assert_eq!(integers(-f64::INFINITY), [i32::MIN as u32, 0]);
        assert_eq!(integers(f64::NAN), [0, 0]);
        assert_eq!(eval(Op::Itod, [0xffff_ffff, 0, 0]), (-1.0f64).to_bits());
        assert_eq!(eval(Op::Utod, [0xffff_ffff, 0, 0]), 4_294_967_295.0f64.to_bits());
    }
}
