//! Which thread of its group an invocation is.
//!
//! Threads of a group are numbered x first, then y, then z (Direct3D 11.3 functional specification, 7.6; SPIR-V's
//! `LocalInvocationIndex`). The number is the invocation's.

use shaderjit_ir::{FunctionBuilder, SysVal, Value};

/// Most threads of a group (Direct3D 11: `D3D11_CS_THREAD_GROUP_MAX_THREADS_PER_GROUP`).
pub(crate) const MAX_THREADS: u64 = 1024;

/// A quotient of two numbers up to [`MAX_THREADS`] is exact if the reciprocal has so many bits behind the point: the
/// error, less than one unit times the dividend, stays below the quotient's distance from the next integer.
const RECIPROCAL_BITS: u32 = 22;

/// The reciprocal of a divisor, rounded up.
fn reciprocal(divisor: u32) -> u32 {
    (1 << RECIPROCAL_BITS) / divisor + 1
}

/// The place of a thread in its group of `[x, y, z]` threads, in one direction.
pub(crate) fn in_group(b: &mut FunctionBuilder, [x, y, z]: [u32; 3], component: u8) -> Value {
    // How many numbers share one of the component, and how many it has.
    let (divisor, count) = match component {
        0 => (1, x),
        1 => (x, y),
        _ => (x * y, z),
    };
    if count == 1 {
        return b.i32(0);
    }
    let number = b.sysval(SysVal::VertexId);
    let quotient = quotient_of(b, number, divisor);
    if divisor * count == x * y * z {
        return quotient;
    }
    if count.is_power_of_two() {
        let mask = b.i32(count - 1);
        return b.and([quotient, mask]);
    }
    let rest = quotient_of(b, quotient, count);
    let count = b.i32(count);
    let whole = b.imul([rest, count]);
    b.isub([quotient, whole])
}

/// The quotient of a thread's number.
fn quotient_of(b: &mut FunctionBuilder, number: Value, divisor: u32) -> Value {
    if divisor.is_power_of_two() {
        let shift = b.i32(divisor.ilog2());
        return b.ushr([number, shift]);
    }
    let [reciprocal, shift] = [reciprocal(divisor), RECIPROCAL_BITS].map(|word| b.i32(word));
    let product = b.imul([number, reciprocal]);
    b.ushr([product, shift])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_threads_are_exact() {
        for divisor in 1..=MAX_THREADS as u32 {
            for number in 0..MAX_THREADS as u32 {
                let quotient = number.wrapping_mul(reciprocal(divisor)) >> RECIPROCAL_BITS;
                assert_eq!(quotient, number / divisor, "{number} / {divisor}");
            }
        }
    }
}
