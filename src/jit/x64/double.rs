//! Arithmetic on doubles: one lane takes two words, so a value of all lanes is two vectors, each with half of them.
//!
//! Which lanes those are makes conversions cheap. With AVX-512 the first vector has the first half of the lanes: masks
//! are shifted and joined, two-source permutes split words. AVX2 has shuffles within rows of 128 bits alone: the first
//! vector has the first two lanes of each row. What is uniform is computed in all lanes of one vector.
//!
//! Denormals are kept, so the processor changes its mode around arithmetic on doubles, once for a run of instructions:
//! see [`Code::flush_denormals`](super::code::Code::flush_denormals). The bits of a NaN are those of
//! [`shaderjit_ir::double`] where code may see them.

use super::code::Source;
use super::constants::Constant;
use super::encode::Size;
use super::simd::{EVEN_WORDS, ODD_WORDS, float, round};
use super::table::Op as X;
use super::value::Memo;
use super::{Selector, result};
use crate::error::JitError;
use crate::jit::places::codegen;
use regalloc2::VReg;
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::double::is_double_op;
use shaderjit_ir::function::InstData;
use shaderjit_ir::set::EntitySet;
use shaderjit_ir::{Op, Type, Value};

/// The instructions of `a * b + c`.
const FUSED: [X; 3] = [X::Fma132pd, X::Fma213pd, X::Fma231pd];

/// The bits of every NaN that arithmetic makes.
const NAN: u64 = 0x7ff8_0000_0000_0000;

/// 2^52, whose last bit is worth 1: the sum with a smaller number has that number in its low word.
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;

/// Orders that exchange the middle two of four pairs of words.
const EXCHANGE_MIDDLE: u32 = 0b11_01_10_00;

/// The doubles whose bits code may see: all but those that only arithmetic uses, to which every NaN is the same.
pub fn seen_doubles(program: &BatchProgram) -> EntitySet<Value> {
    let func = &program.func;
    let mut seen = EntitySet::new();
    if !func.values.values().any(|value| value.ty == Type::F64) {
        return seen;
    }
    let is_double = |value: &Value| func.ty(*value) == Type::F64;
    for &block in &program.layout {
        let others = program.insts_in(block).filter(|inst| !is_double_op(inst.op));
        others.for_each(|inst| seen.extend(inst.args.iter().copied().filter(is_double)));
        seen.extend(func.blocks[block].terminator().uses().filter(is_double));
    }
    seen
}

impl Selector<'_> {
    /// An op that takes doubles or gives one.
    pub(super) fn double(&mut self, inst: &InstData) -> Result<(), JitError> {
        match inst.op {
            Op::Dtof => self.double_to_float(inst),
            Op::Ftod => self.float_to_double(inst),
            Op::Dtoi | Op::Dtou => self.double_to_integer(inst),
            Op::Itod | Op::Utod => self.integer_to_double(inst),
            Op::Deq | Op::Dne | Op::Dlt | Op::Dle => self.compare_doubles(inst),
            Op::Dadd | Op::Dmul | Op::Ddiv | Op::Dfma | Op::Dmin | Op::Dmax => self.double_arithmetic(inst),
            op => return Err(codegen(format!("{op} has no native form"))),
        }
        Ok(())
    }

    // ---- how doubles are held

    /// The two halves of a double, to be read where they are used.
    fn double_sources(&mut self, value: Value) -> [Source; 2] {
        match self.func.constant(value) {
            Some(bits) => [self.double_constant(bits); 2],
            None => self.doubles(value).map(Source::Register),
        }
    }

    /// The same in registers.
    pub(super) fn doubles(&mut self, value: Value) -> [VReg; 2] {
        let [low, high, ..] = self.values[value].0;
        let splat = match self.func.constant(value) {
            Some(bits) => self.memoised(Memo::Splat(value), |this| this.double_word(bits)),
            None if self.is_uniform(value) => self.memoised(Memo::Splat(value), |this| {
                let row = this.simd.row_op(X::Movd, &[], low, 0);
                let pair = this.simd.row_op(X::Pinsrd, &[row], high, 1);
                this.simd.op(X::Broadcastsd, &[], pair)
            }),
            None => return [low, high],
        };
        [splat; 2]
    }

    /// A double in all lanes of a register.
    fn double_word(&mut self, bits: u64) -> VReg {
        let address = self.simd.code.constant(Constant::Pair([bits as u32, (bits >> 32) as u32], 1));
        self.simd.op(X::Broadcastsd, &[], address)
    }

    /// A double in all lanes, to be read where it is used.
    fn double_constant(&mut self, bits: u64) -> Source {
        self.simd.pair_source([bits as u32, (bits >> 32) as u32])
    }

    /// How many of the two halves are computed.
    fn halves(&self, value: Value) -> usize {
        if self.is_uniform(value) { 1 } else { 2 }
    }

    /// Defines a double by its halves, or by the one that there is if it is uniform.
    fn define_doubles(&mut self, value: Value, halves: &[VReg]) {
        if !self.is_uniform(value) {
            return self.define(value, halves);
        }
        let low = self.simd.first_word(halves[0]);
        let high = self.simd.sized(X::Pextrd, Size::X, &[], halves[0].into(), 1);
        self.define(value, &[low, high]);
    }

    /// Words of a double, and a double of words.
    pub(super) fn double_words(&mut self, inst: &InstData) {
        let result = result(inst);
        match inst.op {
            Op::F64join if self.is_uniform(result) => {
                let words = [0, 1].map(|word| self.scalar(inst.args[word]));
                self.define(result, &words);
            }
            Op::F64join => {
                let [low, high] = [0, 1].map(|word| self.vector(inst.args[word]));
                let halves = self.interleave(low, high);
                self.define(result, &halves);
            }
            op => {
                let word = usize::from(op == Op::F64hi);
                let word = if self.is_uniform(result) {
                    self.words(inst.args[0], true)[word]
                } else {
                    let halves = self.doubles(inst.args[0]);
                    self.words_of_halves(halves, word)
                };
                self.define(result, &[word]);
            }
        }
    }

    /// Doubles of their low and high words.
    fn interleave(&mut self, low: VReg, high: VReg) -> [VReg; 2] {
        if !self.simd.has_masks() {
            return [X::Punpckldq, X::Punpckhdq].map(|unpack| self.simd.op(unpack, &[low], high));
        }
        let lanes = self.simd.lanes();
        [0, lanes / 2].map(|first| {
            let order = self.simd.code.constant(Constant::Interleaved(u32::from(first), lanes));
            let order = self.simd.load(order);
            self.simd.op(X::Permt2d, &[low, order], high)
        })
    }

    /// The low (0) or high (1) words of doubles.
    fn words_of_halves(&mut self, [first, second]: [VReg; 2], word: usize) -> VReg {
        if !self.simd.has_masks() {
            return self.simd.shuffle(first, second, [EVEN_WORDS, ODD_WORDS][word]);
        }
        let order = self.simd.code.constant(Constant::Count(word as u32, 2, self.simd.lanes()));
        let order = self.simd.load(order);
        self.simd.op(X::Permt2d, &[first, order], second)
    }

    /// The halves of a vector of words, each in the low half of a register.
    fn split(&mut self, words: VReg) -> [VReg; 2] {
        if self.simd.has_masks() {
            return [words, self.simd.op_imm(X::ExtractHalf, &[], words, 1)];
        }
        let words = self.simd.op_imm(X::Permpd, &[], words, EXCHANGE_MIDDLE);
        [words, self.simd.row(words, 1)]
    }

    /// A vector of words of its halves, the reverse of [`Selector::split`].
    fn unite(&mut self, [first, second]: [VReg; 2]) -> VReg {
        if self.simd.has_masks() {
            return self.simd.op_imm(X::InsertHalf, &[first], second, 1);
        }
        let words = self.simd.op_imm(X::InsertRow, &[first], second, 1);
        self.simd.op_imm(X::Permpd, &[], words, EXCHANGE_MIDDLE)
    }

    // ---- arithmetic

    fn double_arithmetic(&mut self, inst: &InstData) {
        let result = result(inst);
        let mut args: Vec<Value> = inst.args.to_vec();
        let is_constant = |value: Value| self.func.constant(value).is_some();
        if matches!(inst.op, Op::Dadd | Op::Dmul) && is_constant(args[0]) {
            args.swap(0, 1);
        }
        let last = match inst.op {
            Op::Dmin | Op::Dmax => self.doubles(args[1]).map(Source::Register),
            _ => self.double_sources(args[args.len() - 1]),
        };
        let others: Vec<[VReg; 2]> = args[..args.len() - 1].iter().map(|&arg| self.doubles(arg)).collect();
        let dies: Vec<bool> = args.iter().map(|&arg| !self.is_uniform(arg) && self.dies(arg)).collect();
        self.simd.code.flush_denormals(false);
        let halves: Vec<VReg> = (0..self.halves(result))
            .map(|half| {
                let (a, last) = (others[0][half], last[half]);
                let number = match inst.op {
                    Op::Dadd => self.simd.op(X::Addpd, &[a], last),
                    Op::Dmul => self.simd.op(X::Mulpd, &[a], last),
                    Op::Ddiv => self.simd.op(X::Divpd, &[a], last),
                    Op::Dmin => self.extreme(X::Minpd, a, last),
                    Op::Dmax => self.extreme(X::Maxpd, a, last),
                    _ => {
                        let factors = [a.into(), others[1][half].into(), last];
                        self.simd.fused(&FUSED, factors, [dies[0], dies[1], dies[2]])
                    }
                };
                self.with_seen_nan(result, number)
            })
            .collect();
        self.define_doubles(result, &halves);
    }

    /// The instruction gives the second operand where one is NaN: here the first one is wanted where the second is.
    fn extreme(&mut self, op: X, a: VReg, b: Source) -> VReg {
        let b = self.simd.in_register(b);
        let extreme = self.simd.op(op, &[a], b);
        let is_nan = self.compare_half(float::UNORDERED, b, b);
        self.blend_half(is_nan, a, extreme)
    }

    /// Gives NaN its bits, if code may see them.
    fn with_seen_nan(&mut self, value: Value, half: VReg) -> VReg {
        if !self.seen_doubles.contains(value) {
            return half;
        }
        let is_nan = self.compare_half(float::UNORDERED, half, half);
        let nan = self.double_constant(NAN);
        self.blend_half(is_nan, nan, half)
    }

    // ---- comparisons, masks, selects

    fn compare_doubles(&mut self, inst: &InstData) {
        let result = result(inst);
        let (first, second) = (self.doubles(inst.args[0]), self.double_sources(inst.args[1]));
        let predicate = match inst.op {
            Op::Deq => float::EQUAL,
            Op::Dne => float::NOT_EQUAL,
            Op::Dlt => float::LESS,
            _ => float::LESS_EQUAL,
        };
        self.simd.code.flush_denormals(false);
        let masks: Vec<VReg> =
            (0..self.halves(result)).map(|half| self.compare_half(predicate, first[half], second[half])).collect();
        match *masks {
            [first, second] if self.simd.has_masks() => {
                let mask = self.simd.row_op(X::Kunpck, &[second], first, 0);
                self.define_vector(result, mask);
            }
            [first, second] => {
                let mask = self.simd.shuffle(first, second, EVEN_WORDS);
                self.define_vector(result, mask);
            }
            _ => {
                let bits = self.simd.mask_bits(masks[0]);
                let bit = self.simd.general_imm(X::AndImmediate, bits, 1);
                self.define_scalar(result, bit);
            }
        }
    }

    /// The mask of one half: a bit a double, or all of its bits.
    fn compare_half(&mut self, predicate: u32, a: VReg, b: impl Into<Source>) -> VReg {
        let op = if self.simd.has_masks() { X::CmppdMask } else { X::Cmppd };
        self.simd.op_imm(op, &[a], b, predicate)
    }

    fn blend_half(&mut self, mask: VReg, yes: impl Into<Source>, no: VReg) -> VReg {
        self.simd.blend_by([X::Blendvpd, X::Blendmpd], mask, yes.into(), no)
    }

    /// The masks of both halves.
    fn half_masks(&mut self, mask: VReg) -> [VReg; 2] {
        if self.simd.has_masks() {
            let half = u32::from(self.simd.lanes() / 2);
            return [mask, self.simd.row_op(X::Kshiftr, &[], mask, half)];
        }
        [X::Punpckldq, X::Punpckhdq].map(|unpack| self.simd.op(unpack, &[mask], mask))
    }

    /// One of two doubles, in each lane.
    pub(super) fn select_doubles(&mut self, result: Value, [condition, yes, no]: [Value; 3]) {
        let mask = self.mask(condition);
        let masks = self.half_masks(mask);
        let (yes, no) = (self.double_sources(yes), self.doubles(no));
        let halves = [0, 1].map(|half| self.blend_half(masks[half], yes[half], no[half]));
        self.define(result, &halves);
    }

    // ---- conversions

    /// Rounded with denormals kept, and then flushed: that is not the same as rounding to what is flushed.
    fn double_to_float(&mut self, inst: &InstData) {
        let result = result(inst);
        let [first, second] = self.doubles(inst.args[0]);
        self.simd.code.flush_denormals(false);
        let floats = self.simd.op(X::Cvtpd2ps, &[], first);
        let floats = if self.is_uniform(result) {
            self.simd.op(X::Broadcastss, &[], floats)
        } else {
            let others = self.simd.op(X::Cvtpd2ps, &[], second);
            self.unite([floats, others])
        };
        let one = self.simd.word_source(1.0f32.to_bits());
        let flushed = self.simd.op(X::Mulps, &[floats], one);
        self.define_vector(result, flushed);
    }

    fn float_to_double(&mut self, inst: &InstData) {
        let result = result(inst);
        let floats = self.vector(inst.args[0]);
        let floats = if self.is_uniform(result) { vec![floats] } else { self.split(floats).to_vec() };
        let halves: Vec<VReg> = floats
            .into_iter()
            .map(|floats| {
                let half = self.simd.op(X::Cvtps2pd, &[], floats);
                self.with_seen_nan(result, half)
            })
            .collect();
        self.define_doubles(result, &halves);
    }

    /// Toward zero, clamped, NaN zero. No mode changes that: denormals are zero as integers.
    fn double_to_integer(&mut self, inst: &InstData) {
        let result = result(inst);
        let is_signed = inst.op == Op::Dtoi;
        let [least, most] =
            if is_signed { [i32::MIN, i32::MAX].map(f64::from) } else { [u32::MIN, u32::MAX].map(f64::from) };
        // Negative numbers borrow from a bit above those of the result.
        let bias = if is_signed { 1.5 * TWO_TO_52 } else { TWO_TO_52 };
        let [least, most, bias] = [least, most, bias].map(|bound| self.double_constant(bound.to_bits()));
        let halves = self.doubles(inst.args[0]);
        let biased = halves[..self.halves(result)].iter().map(|&half| {
            let mut number = half;
            if is_signed {
                let is_number = self.compare_half(float::ORDERED, half, half);
                number = self.keep_half(is_number, half);
            }
            // The second operand where the first is NaN.
            let number = self.simd.op(X::Maxpd, &[number], least);
            let number = self.simd.op(X::Minpd, &[number], most);
            let whole = self.simd.op_imm(X::Roundpd, &[], number, round::TRUNCATE);
            self.simd.op(X::Addpd, &[whole], bias)
        });
        match *biased.collect::<Vec<VReg>>() {
            [first, second] => {
                let words = self.words_of_halves([first, second], 0);
                self.define_vector(result, words);
            }
            ref biased => {
                let word = self.simd.first_word(biased[0]);
                self.define_scalar(result, word);
            }
        }
    }

    /// Doubles where the mask holds, else zero.
    fn keep_half(&mut self, mask: VReg, half: VReg) -> VReg {
        if !self.simd.has_masks() {
            return self.simd.op(X::Pand, &[mask], half);
        }
        let size = self.simd.size();
        self.simd.code.inst(X::Movupd, size, &[half], None, Some(mask), 0).expect("it has a result")
    }

    /// Exact.
    fn integer_to_double(&mut self, inst: &InstData) {
        let result = result(inst);
        let integers = self.vector(inst.args[0]);
        let halves = match (self.simd.has_masks(), inst.op) {
            (true, op) => {
                let convert = if op == Op::Itod { X::Cvtdq2pd } else { X::Cvtudq2pd };
                self.split(integers).map(|half| self.simd.op(convert, &[], half))
            }
            (false, Op::Utod) => self.integers_as_doubles(integers, 0),
            (false, _) => {
                // Raised by 2^31 they are unsigned.
                let raised = 1 << 31;
                let top = self.simd.word_source(raised);
                let integers = self.simd.op(X::Pxor, &[integers], top);
                self.integers_as_doubles(integers, raised)
            }
        };
        self.define_doubles(result, &halves[..self.halves(result)]);
    }
}
