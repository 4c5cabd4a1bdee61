//! The idioms of vector code, one method each, over [`Code`]: what several ops are selected from.

use super::Level;
use super::code::{Address, Code, Source};
use super::constants::Constant;
use super::encode::{Condition, Size};
use super::table::{Class, Op};
use regalloc2::VReg;

/// Of each row of two vectors, the low words of its pairs, as [`Simd::shuffle`] takes them.
pub const EVEN_WORDS: [u8; 4] = [0, 2, 0, 2];
/// Their high words.
pub const ODD_WORDS: [u8; 4] = [1, 3, 1, 3];

/// What rounding instructions do, exceptions suppressed.
pub mod round {
    pub const NEAREST: u32 = 8;
    pub const DOWN: u32 = 9;
    pub const UP: u32 = 10;
    pub const TRUNCATE: u32 = 11;
}

/// Predicates of comparisons of floats.
pub mod float {
    pub const EQUAL: u32 = 0;
    pub const UNORDERED: u32 = 3;
    pub const NOT_EQUAL: u32 = 4;
    pub const ORDERED: u32 = 7;
    pub const EQUAL_OR_UNORDERED: u32 = 8;
    pub const LESS: u32 = 0x11;
    pub const LESS_EQUAL: u32 = 0x12;
    pub const GREATER_EQUAL: u32 = 0x1d;
}

/// What takes the place of a logarithm by the class of its operand, as `vfixupimmps` tells floats apart, denormals
/// being zero. Four bits a class: 0 keeps it, 1 is the operand, 3 NaN, 4 and 5 infinities. From the lowest bits on of
/// quiet and other NaNs, zero, one, negative and positive infinity, what else is negative and what is positive.
pub const LOGARITHM_CASES: u32 = 0x0353_0411;

/// Predicates of comparisons of integers.
pub mod integer {
    pub const EQUAL: u32 = 0;
    pub const LESS: u32 = 1;
    pub const LESS_EQUAL: u32 = 2;
    pub const NOT_EQUAL: u32 = 4;
    pub const GREATER: u32 = 6;
}

/// The instructions of `a * b + c` for floats: those that [`Simd::fused`] chooses from.
pub const FLOATS: [Op; 3] = [Op::Fma132, Op::Fma213, Op::Fma231];

/// The same where the product or `c` is negated: NaN keeps its sign then, which no op promises.
pub fn floats_with_signs(product: bool, c: bool) -> [Op; 3] {
    match (product, c) {
        (false, false) => FLOATS,
        (false, true) => [Op::Fms132, Op::Fms213, Op::Fms231],
        (true, false) => [Op::Fnma132, Op::Fnma213, Op::Fnma231],
        (true, true) => [Op::Fnms132, Op::Fnms213, Op::Fnms231],
    }
}

/// A builder of vector code.
pub struct Simd {
    pub code: Code,
    pub level: Level,
    /// Words that a register holds in all lanes for the whole call.
    pub pinned: Vec<(u32, VReg)>,
}

impl Simd {
    /// The size of vectors.
    pub fn size(&self) -> Size {
        self.level.size()
    }

    /// Whether masks have registers of their own, and memory operands broadcast.
    pub fn has_masks(&self) -> bool {
        self.level.has_masks()
    }

    /// Whether words at addresses of lanes' own are accessed by one instruction.
    pub fn gathers(&self) -> bool {
        self.level.gathers()
    }

    /// Lanes of a vector.
    pub fn lanes(&self) -> u8 {
        self.level.lanes()
    }

    /// An instruction with a result. The last of its operands is the source.
    pub fn sized(&mut self, op: Op, size: Size, uses: &[VReg], source: Source, immediate: u32) -> VReg {
        let mut all = [VReg::invalid(); 4];
        all[..uses.len()].copy_from_slice(uses);
        let (count, memory) = match source {
            Source::Register(register) => {
                all[uses.len()] = register;
                (uses.len() + 1, None)
            }
            Source::Memory(address) => (uses.len(), Some(address)),
        };
        self.code.inst(op, size, &all[..count], memory, None, immediate).expect("it has a result")
    }

    /// The same on whole vectors.
    pub fn op(&mut self, op: Op, uses: &[VReg], source: impl Into<Source>) -> VReg {
        self.sized(op, self.size(), uses, source.into(), 0)
    }

    /// The same with an immediate.
    pub fn op_imm(&mut self, op: Op, uses: &[VReg], source: impl Into<Source>, immediate: u32) -> VReg {
        self.sized(op, self.size(), uses, source.into(), immediate)
    }

    /// The same on 128 bits.
    pub fn row_op(&mut self, op: Op, uses: &[VReg], source: impl Into<Source>, immediate: u32) -> VReg {
        self.sized(op, Size::X, uses, source.into(), immediate)
    }

    /// An instruction without a result.
    pub fn effect(&mut self, op: Op, size: Size, uses: &[VReg], memory: Option<Address>, immediate: u32) {
        let result = self.code.inst(op, size, uses, memory, None, immediate);
        debug_assert!(result.is_none(), "{op:?} has a result");
    }

    /// `a * b + c` by one of the instructions. The result takes the register of an operand: one that nothing else uses,
    /// if there is one.
    pub fn fused(
        &mut self,
        &[fma132, fma213, fma231]: &[Op; 3],
        [mut a, mut b, c]: [Source; 3],
        [a_dies, b_dies, c_dies]: [bool; 3],
    ) -> VReg {
        let is_memory = |source: Source| matches!(source, Source::Memory(_));
        if is_memory(a) || b_dies && !a_dies && !is_memory(b) {
            (a, b) = (b, a);
        }
        let a = self.in_register(a);
        match (b, c) {
            // What is loaded for this alone can go.
            (Source::Memory(b), Source::Memory(_)) => {
                let b = self.load(b);
                self.op(fma213, &[b, a], c)
            }
            (Source::Register(b), Source::Memory(_)) => self.op(fma213, &[a, b], c),
            (b, Source::Register(c)) if c_dies => self.op(fma231, &[c, a], b),
            (Source::Memory(_), Source::Register(c)) => self.op(fma132, &[a, c], b),
            (Source::Register(b), _) => self.op(fma213, &[a, b], c),
        }
    }

    // ---- memory

    pub fn load(&mut self, address: Address) -> VReg {
        let op = if address.broadcast { Op::Broadcastss } else { Op::Movups };
        let size = self.size();
        self.sized(op, size, &[], Address { broadcast: false, ..address }.into(), 0)
    }

    pub fn store(&mut self, vector: VReg, address: Address) {
        self.effect(Op::StoreVector, self.size(), &[vector], Some(address), 0);
    }

    /// Stores a vector whose words are loaded one by one. Of 64 bytes that one instruction has stored, Intel's
    /// processors forward only the first half to loads of some of them; a load from the other half waits for the cache.
    pub fn store_for_words(&mut self, vector: VReg, address: Address) {
        if self.size() != Size::Z {
            return self.store(vector, address);
        }
        self.effect(Op::StoreVector, Size::Y, &[vector], Some(address), 0);
        self.effect(Op::StoreHalf, Size::Z, &[vector], Some(address.plus(Size::Y.bytes())), 1);
    }

    /// The word at each lane's address where the mask holds, else zero. The address has a vector as its index, of
    /// signed offsets; this is where the machine [gathers](Simd::gathers).
    pub fn gather(&mut self, mask: VReg, address: Address) -> VReg {
        // One of its own, which is no offset's: the instruction cannot have the same register for both.
        let zero = self.zero();
        let mask = self.row_op(Op::Kmov, &[], mask, 0);
        self.code.inst(Op::Gather, self.size(), &[zero], Some(address), Some(mask), 0).expect("it has a result")
    }

    /// Stores each lane's word to such an address where the mask holds, the lowest lane first.
    pub fn scatter(&mut self, vector: VReg, mask: VReg, address: Address) {
        let mask = self.row_op(Op::Kmov, &[], mask, 0);
        self.code.inst(Op::Scatter, self.size(), &[vector], Some(address), Some(mask), 0);
    }

    /// Four words, in each row of 128 bits.
    pub fn load_row(&mut self, address: Address) -> VReg {
        self.op(Op::BroadcastRow, &[], address)
    }

    // ---- constants

    fn pinned(&self, word: u32) -> Option<VReg> {
        self.pinned.iter().find(|&&(pinned, _)| pinned == word).map(|&(_, register)| register)
    }

    /// A word in all lanes, to be read where it is used.
    pub fn word_source(&mut self, word: u32) -> Source {
        if let Some(register) = self.pinned(word) {
            return register.into();
        }
        let lanes = if self.has_masks() { 1 } else { self.lanes() };
        let address = self.code.constant(Constant::Word(word, lanes));
        Address { broadcast: self.has_masks(), ..address }.into()
    }

    /// A word in all lanes of a register.
    pub fn word(&mut self, word: u32) -> VReg {
        if let Some(register) = self.pinned(word) {
            return register;
        }
        match word {
            0 => self.zero(),
            _ => {
                let address = self.code.constant(Constant::Word(word, 1));
                let size = self.size();
                self.sized(Op::Broadcastss, size, &[], address.into(), 0)
            }
        }
    }

    /// Zeros in a register of their own.
    fn zero(&mut self) -> VReg {
        // Of nothing: the register it reads is not defined before.
        self.code.inst(Op::Zero, Size::X, &[], None, None, 0).expect("it has a result")
    }

    /// Two words in each pair of lanes.
    pub fn pair_source(&mut self, words: [u32; 2]) -> Source {
        let pairs = if self.has_masks() { 1 } else { self.lanes() / 2 };
        let address = self.code.constant(Constant::Pair(words, pairs));
        Address { broadcast: self.has_masks(), ..address }.into()
    }

    /// Four words in each row of 128 bits.
    pub fn row_constant(&mut self, words: [u32; 4]) -> VReg {
        let address = self.code.constant(Constant::Row(words, 1));
        self.load_row(address)
    }

    /// A source in a register.
    pub fn in_register(&mut self, source: Source) -> VReg {
        match source {
            Source::Register(register) => register,
            Source::Memory(address) => self.load(address),
        }
    }

    // ---- rows of 128 bits, and lanes

    /// In each row, two words of the first and two of the second operand.
    pub fn shuffle(&mut self, a: VReg, b: VReg, lanes: [u8; 4]) -> VReg {
        self.op_imm(Op::Shufps, &[a], b, shuffle_immediate(lanes))
    }

    /// In each row, its words in another order.
    pub fn permute(&mut self, a: impl Into<Source>, lanes: [u8; 4]) -> VReg {
        self.op_imm(Op::Pshufd, &[], a, shuffle_immediate(lanes))
    }

    /// Rows to columns in each four rows: those columns that are wanted, bit 0 for the first.
    pub fn transpose(&mut self, rows: [VReg; 4], wanted: u8) -> [VReg; 4] {
        let mut columns = [VReg::invalid(); 4];
        for (half, words) in [[0, 1, 0, 1], [2, 3, 2, 3]].into_iter().enumerate() {
            if wanted >> (2 * half) & 3 == 0 {
                continue;
            }
            let pairs = [[rows[0], rows[1]], [rows[2], rows[3]]];
            let [first, second] = pairs.map(|[a, b]| self.shuffle(a, b, words));
            for (column, words) in [EVEN_WORDS, ODD_WORDS].into_iter().enumerate() {
                if wanted >> (2 * half + column) & 1 == 1 {
                    columns[2 * half + column] = self.shuffle(first, second, words);
                }
            }
        }
        columns
    }

    /// A row of a vector: 128 bits.
    pub fn row(&mut self, vector: VReg, row: u32) -> VReg {
        if row == 0 {
            return vector;
        }
        let size = self.size();
        self.sized(Op::ExtractRow, size, &[], vector.into(), row)
    }

    // ---- general registers

    /// A general register's word in all lanes.
    pub fn splat(&mut self, word: VReg) -> VReg {
        if self.has_masks() {
            return self.op(Op::BroadcastWord, &[], word);
        }
        let low = self.row_op(Op::Movd, &[], word, 0);
        self.op(Op::Broadcastss, &[], low)
    }

    /// The word of the first lane.
    pub fn first_word(&mut self, vector: VReg) -> VReg {
        self.row_op(Op::MovdOut, &[], vector, 0)
    }

    pub fn load_word(&mut self, address: Address) -> VReg {
        self.general(Op::Mov, &[], address)
    }

    pub fn load_pointer(&mut self, address: Address) -> VReg {
        self.general(Op::Mov64, &[], address)
    }

    pub fn store_word(&mut self, word: VReg, address: Address) {
        self.effect(Op::Store, Size::X, &[word], Some(address), 0);
    }

    pub fn store_pointer(&mut self, word: VReg, address: Address) {
        self.effect(Op::Store64, Size::X, &[word], Some(address), 0);
    }

    /// A literal in a general register, zero-extended.
    pub fn literal(&mut self, word: u32) -> VReg {
        self.code.inst(Op::MovImmediate, Size::X, &[], None, None, word).expect("it has a result")
    }

    pub fn address(&mut self, address: Address) -> VReg {
        self.general(Op::Lea, &[], address)
    }

    /// An instruction on general registers that has a result.
    pub fn general(&mut self, op: Op, uses: &[VReg], source: impl Into<Source>) -> VReg {
        self.sized(op, Size::X, uses, source.into(), 0)
    }

    /// One whose last operand is an immediate.
    pub fn general_imm(&mut self, op: Op, register: VReg, immediate: u32) -> VReg {
        self.sized(op, Size::X, &[], register.into(), immediate)
    }

    /// Compares, for a branch or what else has a condition.
    pub fn compare(&mut self, op: Op, register: VReg, source: impl Into<Source>) {
        let (uses, memory) = match source.into() {
            Source::Register(other) => (vec![register, other], None),
            Source::Memory(address) => (vec![register], Some(address)),
        };
        self.effect(op, Size::X, &uses, memory, 0);
    }

    /// The same with an immediate.
    pub fn compare_imm(&mut self, op: Op, source: impl Into<Source>, immediate: u32) {
        match source.into() {
            Source::Register(register) => self.effect(op, Size::X, &[register], None, immediate),
            Source::Memory(address) => self.effect(op, Size::X, &[], Some(address), immediate),
        }
    }

    /// 1 if a condition holds of what was compared, else 0.
    pub fn set(&mut self, condition: Condition) -> VReg {
        let inst = self.code.inst(Op::Setcc, Size::X, &[], None, None, condition as u32);
        let low = inst.expect("it has a result");
        self.general(Op::Movzx8, &[], low)
    }

    /// `yes` if a condition holds of what was compared, else `no`.
    pub fn choose(&mut self, condition: Condition, yes: VReg, no: VReg) -> VReg {
        self.sized(Op::Cmov, Size::X, &[no], yes.into(), condition as u32)
    }

    /// The same of 64 bits.
    pub fn choose64(&mut self, condition: Condition, yes: VReg, no: VReg) -> VReg {
        self.sized(Op::Cmov64, Size::X, &[no], yes.into(), condition as u32)
    }

    /// The smaller of two unsigned numbers.
    pub fn umin(&mut self, a: VReg, b: VReg) -> VReg {
        self.compare(Op::Cmp, a, b);
        self.choose(Condition::Below, a, b)
    }

    /// The larger one.
    pub fn umax(&mut self, a: VReg, b: VReg) -> VReg {
        self.compare(Op::Cmp, a, b);
        self.choose(Condition::Above, a, b)
    }

    // ---- masks: a register of masks, or a vector of all ones and zeroes

    /// The class of masks.
    pub fn mask_class(&self) -> Class {
        if self.has_masks() { Class::K } else { Class::V }
    }

    /// Compares floats.
    pub fn compare_floats(&mut self, predicate: u32, a: VReg, b: impl Into<Source>) -> VReg {
        let op = if self.has_masks() { Op::CmppsMask } else { Op::Cmpps };
        self.op_imm(op, &[a], b, predicate)
    }

    /// Lanes of a vector where the mask holds, else zero.
    pub fn keep(&mut self, mask: VReg, source: Source) -> VReg {
        if !self.has_masks() {
            return self.op(Op::Pand, &[mask], source);
        }
        let (size, broadcasts) = (self.size(), matches!(source, Source::Memory(Address { broadcast: true, .. })));
        let op = if broadcasts { Op::Broadcastss } else { Op::Movups };
        let (register, memory) = match source {
            Source::Register(register) => (Some(register), None),
            Source::Memory(address) => (None, Some(Address { broadcast: false, ..address })),
        };
        self.code.inst(op, size, register.as_slice(), memory, Some(mask), 0).expect("it has a result")
    }

    /// Lanes of `yes` where the mask holds, else of `no`.
    pub fn blend(&mut self, mask: VReg, yes: impl Into<Source>, no: VReg) -> VReg {
        self.blend_by([Op::Blendvps, Op::Blendmps], mask, yes.into(), no)
    }

    /// The same by one of two instructions, for vectors of masks or registers of masks.
    pub fn blend_by(&mut self, [by_vectors, by_registers]: [Op; 2], mask: VReg, yes: Source, no: VReg) -> VReg {
        let (op, in_register) = match self.has_masks() {
            true => (by_registers, Some(mask)),
            false => (by_vectors, None),
        };
        // A vector that is a mask is the last operand.
        let last = usize::from(in_register.is_none());
        let (uses, count, memory) = match yes {
            Source::Register(yes) => ([no, yes, mask], 2 + last, None),
            Source::Memory(address) => ([no, mask, mask], 1 + last, Some(address)),
        };
        self.code.inst(op, self.size(), &uses[..count], memory, in_register, 0).expect("it has a result")
    }

    /// Where a mask does not hold.
    pub fn not_mask(&mut self, mask: VReg) -> VReg {
        if self.has_masks() {
            return self.row_op(Op::Knot, &[], mask, 0);
        }
        let ones = self.word_source(u32::MAX);
        self.op(Op::Pxor, &[mask], ones)
    }

    /// An operation on two masks: of vectors, or of registers of masks.
    pub fn masks(&mut self, vectors: Op, registers: Op, a: VReg, b: VReg) -> VReg {
        if self.has_masks() { self.row_op(registers, &[a], b, 0) } else { self.op(vectors, &[a], b) }
    }

    /// A mask that holds everywhere or nowhere.
    pub fn whole_mask(&mut self, holds: bool) -> VReg {
        let bits = if holds { u32::MAX } else { 0 };
        if self.has_masks() { self.lanes_mask(bits) } else { self.word(bits) }
    }

    /// A mask, in a register for masks, of the lanes whose bits are set.
    pub fn lanes_mask(&mut self, lanes: u32) -> VReg {
        let bits = self.literal(lanes);
        self.row_op(Op::KmovIn, &[], bits, 0)
    }

    /// A mask that holds everywhere or nowhere, of a register that is 1 or 0.
    pub fn splat_mask(&mut self, bit: VReg) -> VReg {
        let bits = self.general_imm(Op::Neg, bit, 0);
        if self.has_masks() { self.row_op(Op::KmovIn, &[], bits, 0) } else { self.splat(bits) }
    }

    /// A mask as a vector of all ones and zeroes.
    pub fn mask_to_vector(&mut self, mask: VReg) -> VReg {
        if !self.has_masks() {
            return mask;
        }
        let ones = self.word_source(u32::MAX);
        self.keep(mask, ones)
    }

    /// The lanes of a vector that are not zero, where the others are all ones.
    pub fn vector_to_mask(&mut self, vector: impl Into<Source>) -> VReg {
        if !self.has_masks() {
            return self.in_register(vector.into());
        }
        let zero = self.word(0);
        self.op_imm(Op::PcmpdMask, &[zero], vector, integer::NOT_EQUAL)
    }

    /// A bit a lane, in a general register.
    pub fn mask_bits(&mut self, mask: VReg) -> VReg {
        if self.has_masks() {
            return self.row_op(Op::KmovOut, &[], mask, 0);
        }
        self.op(Op::Movmskps, &[], mask)
    }

    /// Sets flags: not equal if the mask holds anywhere.
    pub fn test_mask(&mut self, mask: VReg) {
        if self.has_masks() {
            return self.effect(Op::Kortest, Size::X, &[mask, mask], None, 0);
        }
        let bits = self.mask_bits(mask);
        self.effect(Op::Test, Size::X, &[bits, bits], None, 0);
    }
}

/// What is made for each word that is wanted, bit 0 for the first.
pub fn wanted_words(wanted: u8, mut make: impl FnMut(u8) -> VReg) -> [VReg; 4] {
    [0, 1, 2, 3].map(|word| if wanted >> word & 1 == 1 { make(word) } else { VReg::invalid() })
}

fn shuffle_immediate(lanes: [u8; 4]) -> u32 {
    lanes.iter().rev().fold(0, |all, &lane| all << 2 | u32::from(lane))
}
