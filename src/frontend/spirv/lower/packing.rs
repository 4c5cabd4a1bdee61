//! Halves, and numbers that are packed into words.

use shaderjit_ir::Value;
use spirv::GlslStd450Op as Extended;

use super::Lowering;

/// 65520.0: from here on halves are infinite.
const HALF_OVERFLOW: u32 = 0x477f_f000;
/// 2^-14, the least half that is not denormal.
const HALF_NORMAL: u32 = 0x3880_0000;
/// Bits of a float's mantissa that a half does not have.
const HALF_CUT: u32 = 13;
const INFINITY: u32 = 0x7f80_0000;

impl Lowering<'_> {
    /// The nearest half as a float, ties to even. `flushes` makes zero of what is no normal half.
    pub(super) fn nearest_half(&mut self, x: Value, flushes: bool) -> Value {
        let b = &mut self.b;
        let [sign_mask, cut, one, below, kept, overflow, normal, infinity] = [
            0x8000_0000,
            HALF_CUT,
            1,
            (1 << (HALF_CUT - 1)) - 1,
            !((1 << HALF_CUT) - 1),
            HALF_OVERFLOW,
            HALF_NORMAL,
            INFINITY,
        ]
        .map(|bits| b.i32(bits));
        let bits = b.bitcast_i32([x]);
        let (sign, magnitude) = (b.and([bits, sign_mask]), b.fabs([x]));
        let word = b.bitcast_i32([magnitude]);
        // To even: one more is added where the last bit that stays is set.
        let last = b.ushr([word, cut]);
        let last = b.and([last, one]);
        let nearest = b.iadd([word, below]);
        let nearest = b.iadd([nearest, last]);
        let nearest = b.and([nearest, kept]);
        // Floats around 0.5 are as far apart as denormal halves.
        let small = if flushes {
            b.i32(0)
        } else {
            let half = b.f32(0.5);
            let sum = b.fadd([magnitude, half]);
            let rounded = b.fsub([sum, half]);
            b.bitcast_i32([rounded])
        };
        let is_small = b.ult([word, normal]);
        let finite = b.select([is_small, small, nearest]);
        let is_large = b.ule([overflow, word]);
        let (is_nan, large) = (b.ult([infinity, word]), infinity);
        let result = b.select([is_large, large, finite]);
        let result = b.select([is_nan, word, result]);
        let result = b.or([result, sign]);
        b.bitcast_f32([result])
    }

    /// The bits of a float that is a half.
    pub(super) fn half_bits(&mut self, half: Value) -> Value {
        self.b.f32tof16([half])
    }

    /// Packs components into a word, or takes them out of one. None if the instruction does neither.
    pub(super) fn packed(&mut self, opcode: Extended, args: &[Value]) -> Option<Vec<Value>> {
        let (bits, signed) = match opcode {
            Extended::PackSnorm4x8 | Extended::UnpackSnorm4x8 => (8, true),
            Extended::PackUnorm4x8 | Extended::UnpackUnorm4x8 => (8, false),
            Extended::PackSnorm2x16 | Extended::UnpackSnorm2x16 => (16, true),
            Extended::PackUnorm2x16 | Extended::UnpackUnorm2x16 => (16, false),
            Extended::PackHalf2x16 => {
                let halves: Vec<Value> = args.iter().map(|&x| self.nearest_half(x, false)).collect();
                let bits: Vec<Value> = halves.into_iter().map(|half| self.half_bits(half)).collect();
                return Some(vec![self.join_bits(&bits, 16)]);
            }
            Extended::UnpackHalf2x16 => {
                let fields = self.fields(args[0], 16, 2, false);
                return Some(fields.into_iter().map(|bits| self.b.f16tof32([bits])).collect());
            }
            _ => return None,
        };
        let scale = if signed { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
        let unpacks = matches!(
            opcode,
            Extended::UnpackSnorm4x8 | Extended::UnpackUnorm4x8 | Extended::UnpackSnorm2x16 | Extended::UnpackUnorm2x16
        );
        let factor = self.b.f32(scale as f32);
        let [zero, one, minus] = [0.0, 1.0, -1.0].map(|number| self.b.f32(number));
        if unpacks {
            let fields = self.fields(args[0], bits, 32 / bits, signed);
            let components = fields.into_iter().map(|field| {
                if signed {
                    let number = self.b.itof([field]);
                    let number = self.b.fdiv([number, factor]);
                    self.b.fmax([number, minus])
                } else {
                    let number = self.b.utof([field]);
                    self.b.fdiv([number, factor])
                }
            });
            return Some(components.collect());
        }
        let numbers: Vec<Value> = args
            .iter()
            .map(|&x| {
                let clamped = self.b.fmax([x, if signed { minus } else { zero }]);
                let clamped = self.b.fmin([clamped, one]);
                let scaled = self.b.fmul([clamped, factor]);
                let whole = self.b.fnearest([scaled]);
                self.b.ftoi([whole])
            })
            .collect();
        Some(vec![self.join_bits(&numbers, bits)])
    }

    /// A word of the low so many bits of each number, the first lowest.
    fn join_bits(&mut self, numbers: &[Value], bits: u32) -> Value {
        let mask = self.b.i32((1 << bits) - 1);
        let mut word = self.b.i32(0);
        for (place, &number) in (0..).zip(numbers) {
            let (field, shift) = (self.b.and([number, mask]), self.b.i32(place * bits));
            let moved = self.b.ishl([field, shift]);
            word = self.b.or([word, moved]);
        }
        word
    }

    /// The fields of so many bits in a word, the lowest first.
    fn fields(&mut self, word: Value, bits: u32, count: u32, signed: bool) -> Vec<Value> {
        let width = self.b.i32(32 - bits);
        let fields = (0..count).map(|place| {
            let up = self.b.i32(32 - bits - place * bits);
            let high = self.b.ishl([word, up]);
            if signed { self.b.sshr([high, width]) } else { self.b.ushr([high, width]) }
        });
        fields.collect()
    }
}
