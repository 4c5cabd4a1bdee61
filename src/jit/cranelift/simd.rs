//! Cranelift's builder with the four-lane idioms that select well on every target.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::types::{F32X4, I8X16, I32, I32X4};
use cranelift_codegen::ir::{
    Block, Constant, ConstantData, Endianness, InstBuilder, MemFlags, MemFlagsData, Opcode, Type, Value,
};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};

/// Lanes 0 to 3 of the first operand of a shuffle are 0 to 3, those of the second 4 to 7.
pub type Lanes = [u8; 4];

/// A builder of four-lane code.
pub struct Simd<'b> {
    pub builder: FunctionBuilder<'b>,
    /// x86-64: blends are one instruction, and some operations have the IR's semantics outright.
    pub x86: bool,
    /// Of loads and stores: the memory is mapped, which the caller of the native code vouches for.
    mapped: MemFlags,
    /// Of casts between lane sizes, which must say how lanes lie in the bits.
    little_endian: MemFlags,
}

impl<'b> Simd<'b> {
    pub fn new(builder: FunctionBuilder<'b>, x86: bool) -> Simd<'b> {
        // Looked up once: every load, store and cast has flags, and Cranelift would hash them each time.
        let flags = &mut builder.func.dfg.mem_flags;
        let mapped = flags.insert_unchecked(MemFlagsData::new().with_notrap());
        let little_endian = flags.insert_unchecked(MemFlagsData::new().with_endianness(Endianness::Little));
        Simd { builder, x86, mapped, little_endian }
    }

    pub fn ins(&mut self) -> FuncInstBuilder<'_, 'b> {
        self.builder.ins()
    }

    pub fn ty(&self, value: Value) -> Type {
        self.builder.func.dfg.value_type(value)
    }

    /// The same bits as another type.
    pub fn cast(&mut self, ty: Type, value: Value) -> Value {
        if self.ty(value) == ty {
            return value;
        }
        let flags = self.little_endian;
        let (cast, dfg) = self.ins().LoadNoOffset(Opcode::Bitcast, ty, flags, value);
        dfg.first_result(cast)
    }

    /// The four words as a constant.
    pub fn words(&mut self, ty: Type, words: [u32; 4]) -> Value {
        let constant = self.constant(words);
        self.ins().vconst(ty, constant)
    }

    fn constant(&mut self, words: [u32; 4]) -> Constant {
        let bytes: [u8; 16] = std::array::from_fn(|byte| words[byte / 4].to_le_bytes()[byte % 4]);
        self.builder.func.dfg.constants.insert(ConstantData::from(&bytes[..]))
    }

    /// The same word in all lanes.
    pub fn word(&mut self, ty: Type, word: u32) -> Value {
        self.words(ty, [word; 4])
    }

    /// The same, made at the end of a block that has its branch already.
    pub fn word_in(&mut self, block: Block, ty: Type, word: u32) -> Value {
        let constant = self.constant([word; 4]);
        let func = &mut self.builder.func;
        let end = func.layout.last_inst(block).expect("the block is ended");
        FuncCursor::new(func).at_inst(end).ins().vconst(ty, constant)
    }

    pub fn iconst(&mut self, word: u32) -> Value {
        self.ins().iconst(I32, i64::from(word))
    }

    /// 32-bit lanes of two vectors, as `I8X16`: what shuffles make is often shuffled again.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: Lanes) -> Value {
        let bytes = self.cast(I8X16, a);
        let (a, b) = (bytes, if a == b { bytes } else { self.cast(I8X16, b) });
        let mask: [u8; 16] = std::array::from_fn(|byte| lanes[byte / 4] * 4 + byte as u8 % 4);
        let mask = self.builder.func.dfg.immediates.push(ConstantData::from(&mask[..]));
        self.ins().shuffle(a, b, mask)
    }

    /// The same as `I32X4`.
    pub fn shuffle_words(&mut self, a: Value, b: Value, lanes: Lanes) -> Value {
        let shuffled = self.shuffle(a, b, lanes);
        self.cast(I32X4, shuffled)
    }

    /// Rows to columns, as `I8X16`. Cranelift drops the shuffles of columns that are not used.
    pub fn transpose(&mut self, rows: [Value; 4]) -> [Value; 4] {
        let rows = rows.map(|row| self.cast(I8X16, row));
        let xy01 = self.shuffle(rows[0], rows[1], [0, 4, 1, 5]);
        let xy23 = self.shuffle(rows[2], rows[3], [0, 4, 1, 5]);
        let zw01 = self.shuffle(rows[0], rows[1], [2, 6, 3, 7]);
        let zw23 = self.shuffle(rows[2], rows[3], [2, 6, 3, 7]);
        let [x, y] = self.unpack_pairs(xy01, xy23);
        let [z, w] = self.unpack_pairs(zw01, zw23);
        [x, y, z, w]
    }

    /// The low halves of two vectors, and the high halves.
    pub fn unpack_pairs(&mut self, a: Value, b: Value) -> [Value; 2] {
        [self.shuffle(a, b, [0, 1, 4, 5]), self.shuffle(a, b, [2, 3, 6, 7])]
    }

    pub fn load(&mut self, ty: Type, base: Value, offset: impl Into<Offset32>) -> Value {
        self.load_as(Opcode::Load, ty, base, offset.into())
    }

    /// A word, zero-extended to 64 bits.
    pub fn load_word(&mut self, base: Value, offset: impl Into<Offset32>) -> Value {
        self.load_extended(Opcode::Uload32, base, offset.into())
    }

    /// 1, 2 or 4 bytes, zero-extended to a word.
    pub fn load_bytes(&mut self, bytes: usize, base: Value) -> Value {
        let op = match bytes {
            1 => Opcode::Uload8,
            2 => Opcode::Uload16,
            _ => Opcode::Load,
        };
        self.load_as(op, I32, base, Offset32::new(0))
    }

    /// Loads of this kind have the address's type for theirs.
    fn load_extended(&mut self, op: Opcode, base: Value, offset: Offset32) -> Value {
        let ty = self.ty(base);
        self.load_as(op, ty, base, offset)
    }

    fn load_as(&mut self, op: Opcode, ty: Type, base: Value, offset: Offset32) -> Value {
        let flags = self.mapped;
        let (load, dfg) = self.ins().Load(op, ty, flags, offset, base);
        dfg.first_result(load)
    }

    /// Two words, in lanes 0 and 2 of an `I32X4`; the others are zero.
    pub fn load_two(&mut self, base: Value, offset: impl Into<Offset32>) -> Value {
        let words = self.load_extended(Opcode::Uload32x2, base, offset.into());
        self.cast(I32X4, words)
    }

    pub fn store(&mut self, value: Value, base: Value, offset: impl Into<Offset32>) {
        let (flags, ty) = (self.mapped, self.ty(value));
        self.ins().Store(Opcode::Store, ty, flags, offset.into(), value, base);
    }

    /// The first value where the mask's lane is all ones, the second where it is zero. Both have the same type.
    pub fn blend(&mut self, mask: Value, yes: Value, no: Value) -> Value {
        let ty = self.ty(yes);
        let (yes, no) = (self.cast(I32X4, yes), self.cast(I32X4, no));
        // `bitselect` would be three instructions on x86, `blendv` is not known elsewhere.
        let blended = if self.x86 { self.ins().blendv(mask, yes, no) } else { self.ins().bitselect(mask, yes, no) };
        self.cast(ty, blended)
    }

    pub fn fcmp(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        self.ins().fcmp(condition, a, b)
    }

    pub fn icmp(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        self.ins().icmp(condition, a, b)
    }

    /// `if_less.0 < if_less.1 ? a : b`, in the one form that Cranelift turns into `minps` and `maxps`. Flushes what it
    /// returns.
    pub fn float_min_max(&mut self, less: [Value; 2], a: Value, b: Value) -> Value {
        let mask = self.fcmp(FloatCC::LessThan, less[0], less[1]);
        let mask = self.cast(F32X4, mask);
        let chosen = self.ins().bitselect(mask, a, b);
        if self.x86 {
            return chosen;
        }
        let one = self.word(F32X4, 1.0f32.to_bits());
        self.ins().fmul(chosen, one)
    }

    // Shifts of all lanes by one amount.

    pub fn shl(&mut self, value: Value, amount: u32) -> Value {
        let amount = self.iconst(amount);
        self.ins().ishl(value, amount)
    }

    pub fn shr(&mut self, value: Value, amount: u32) -> Value {
        let amount = self.iconst(amount);
        self.ins().ushr(value, amount)
    }

    pub fn sar(&mut self, value: Value, amount: u32) -> Value {
        let amount = self.iconst(amount);
        self.ins().sshr(value, amount)
    }
}
