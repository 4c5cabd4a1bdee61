//! Double arithmetic that Cranelift's code calls. Its own mode would flush the denormals of doubles, and Cranelift
//! cannot change the mode; a call costs more than the arithmetic, but gives what the interpreter gives by being the
//! same code.

use shaderjit_ir::{Op, double};

/// Most lanes of a call: those of a vector.
pub const LANES: usize = 4;

/// What a call is given, and where it leaves its results: the low and high words of up to three operands, for each
/// lane. Results replace the first operand. High words of what is no double are neither read nor written.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Words([[[u32; LANES]; 2]; 3]);

impl Words {
    /// Byte of lane 0 of an operand's low (0) or high (1) words; the lanes follow.
    pub const fn offset(operand: usize, word: usize) -> i32 {
        ((operand * 2 + word) * LANES * size_of::<u32>()) as i32
    }

    /// Computes an op on the first `lanes` lanes.
    fn compute(&mut self, op: Op, lanes: usize) {
        let is_double = |rule| rule == shaderjit_ir::op::TypeRule::F64;
        for lane in 0..lanes.min(LANES) {
            let mut operands = [0; 3];
            for ((operand, words), &rule) in operands.iter_mut().zip(&self.0).zip(op.operands()) {
                let high = if is_double(rule) { words[1][lane] } else { 0 };
                *operand = u64::from(high) << 32 | u64::from(words[0][lane]);
            }
            let result = double::eval(op, operands);
            self.0[0][0][lane] = result as u32;
            if is_double(op.result()) {
                self.0[0][1][lane] = (result >> 32) as u32;
            }
        }
    }
}

/// The number by which native code calls an op, if it is one of [`double::OPS`].
pub fn number(op: Op) -> Option<u32> {
    double::OPS.iter().position(|&it| it == op).map(|position| position as u32)
}

/// Computes op number `op` on the first `lanes` lanes. Total: a number that is none does nothing.
///
/// # Safety
/// `words` must point to words that nothing else accesses during the call. Those the op does not have need not be
/// initialised.
pub unsafe extern "C" fn compute(op: u32, lanes: u32, words: *mut Words) {
    debug_assert!((op as usize) < double::OPS.len() && lanes as usize <= LANES);
    let Some(&op) = double::OPS.get(op as usize) else { return };
    // SAFETY: the caller vouches for the pointer. The words come from code the compiler does not know, so they have
    // some value, and those that the op does not have are not read.
    unsafe { &mut *words }.compute(op, lanes as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(operands: &[[u64; LANES]]) -> Words {
        let mut words = Words([[[0; LANES]; 2]; 3]);
        for (to, from) in words.0.iter_mut().zip(operands) {
            *to = [from.map(|bits| bits as u32), from.map(|bits| (bits >> 32) as u32)];
        }
        words
    }

    #[test]
    fn lanes_are_computed_one_by_one_and_the_others_left() {
        let numbers: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
        let mut words = words(&[numbers.map(f64::to_bits), [0.5f64.to_bits(); LANES]]);
        let op = number(Op::Dmul).unwrap();
        // SAFETY: the words are ours.
        unsafe { compute(op, 3, &raw mut words) };
        let result: Vec<f64> = (0..LANES)
            .map(|lane| f64::from_bits(u64::from(words.0[0][1][lane]) << 32 | u64::from(words.0[0][0][lane])))
            .collect();
        assert_eq!(result, [0.0, 0.5, 1.0, 3.0]);
    }

    #[test]
    fn every_op_has_a_number() {
        assert!(double::OPS.iter().all(|&op| double::OPS[number(op).unwrap() as usize] == op));
        assert_eq!(number(Op::Fadd), None);
    }
}
