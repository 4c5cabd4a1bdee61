//! The table of operations: one line an op. The enum, names, operand and result types, effects, the builder's methods
//! and the text form are all derived from it.
//!
//! What an op computes is written once, in [`crate::eval`], [`crate::double`] and [`crate::interp`]; what a *composite*
//! op computes is its expansion in [`crate::pass::expand`], which the interpreter runs too. "Flushes" means: denormal
//! operands count as zero of the same sign, and a denormal result becomes zero of the same sign.

use crate::types::Type;
use std::fmt;

/// Calls `$callback!` with the whole table. Each line:
/// doc, variant, mnemonic, operand types, `->` result type, immediate, effect, attribute, whether lanes may see
/// different results; for ops on memory that is written, which memory it is; and `=>` the same op under a mask.
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
            // ---- constants and selection
            /// A literal, given as the bits of its type.
            Const const () -> Any, Bits, Pure, Plain, Follows;
            /// The first value operand where the condition holds, else the second. Moves bits, never flushes.
            Select select (I1 Any Any) -> Any, None, Pure, Plain, Follows;

            // ---- bits
            /// Bitwise and.
            And and (Bits Bits) -> Bits, None, Pure, Commutes, Follows;
            /// Bitwise or.
            Or or (Bits Bits) -> Bits, None, Pure, Commutes, Follows;
            /// Bitwise exclusive or.
            Xor xor (Bits Bits) -> Bits, None, Pure, Commutes, Follows;
            /// Bitwise complement.
            Not not (Bits) -> Bits, None, Pure, Plain, Follows;
            /// The bits of a float.
            BitcastI32 bitcast_i32 (F32) -> I32, None, Pure, Plain, Follows;
            /// The float of these bits.
            BitcastF32 bitcast_f32 (I32) -> F32, None, Pure, Plain, Follows;
            /// Shift left by the low 5 bits of the second operand.
            Ishl ishl (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Logical shift right by the low 5 bits of the second operand.
            Ushr ushr (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Arithmetic shift right by the low 5 bits of the second operand.
            Sshr sshr (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Number of set bits.
            Popcnt popcnt (I32) -> I32, None, Pure, Plain, Follows;
            /// Number of zero bits above the highest set bit; 32 for zero.
            Clz clz (I32) -> I32, None, Pure, Plain, Follows;
            /// Number of zero bits below the lowest set bit; 32 for zero.
            Ctz ctz (I32) -> I32, None, Pure, Plain, Follows;
            /// Bits in reverse order.
            Bitrev bitrev (I32) -> I32, None, Pure, Composite, Follows;

            // ---- integers, modulo 2^32
            /// Sum.
            Iadd iadd (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Difference.
            Isub isub (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Low 32 bits of the product.
            Imul imul (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// High 32 bits of the signed product.
            Smulhi smulhi (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// High 32 bits of the unsigned product.
            Umulhi umulhi (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Unsigned quotient; all ones if the divisor is zero.
            Udiv udiv (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Unsigned remainder; all ones if the divisor is zero.
            Urem urem (I32 I32) -> I32, None, Pure, Plain, Follows;
            /// Signed minimum.
            Smin smin (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Signed maximum.
            Smax smax (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Unsigned minimum.
            Umin umin (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Unsigned maximum.
            Umax umax (I32 I32) -> I32, None, Pure, Commutes, Follows;
            /// Equal.
            Ieq ieq (I32 I32) -> I1, None, Pure, Commutes, Follows;
            /// Not equal.
            Ine ine (I32 I32) -> I1, None, Pure, Commutes, Follows;
            /// Signed less than.
            Slt slt (I32 I32) -> I1, None, Pure, Plain, Follows;
            /// Signed less than or equal.
            Sle sle (I32 I32) -> I1, None, Pure, Plain, Follows;
            /// Unsigned less than.
            Ult ult (I32 I32) -> I1, None, Pure, Plain, Follows;
            /// Unsigned less than or equal.
            Ule ule (I32 I32) -> I1, None, Pure, Plain, Follows;

            // ---- f32
            /// Sum, rounded to nearest even; flushes.
            Fadd fadd (Float Float) -> Float, None, Pure, Commutes, Follows;
            /// Difference, rounded to nearest even; flushes.
            Fsub fsub (Float Float) -> Float, None, Pure, Plain, Follows;
            /// Product, rounded to nearest even; flushes.
            Fmul fmul (Float Float) -> Float, None, Pure, Commutes, Follows;
            /// Quotient, rounded to nearest even; flushes.
            Fdiv fdiv (Float Float) -> Float, None, Pure, Plain, Follows;
            /// Square root, rounded to nearest even; -0 for -0, NaN below; flushes.
            Fsqrt fsqrt (Float) -> Float, None, Pure, Plain, Follows;
            /// First times second plus third, rounded once; flushes operands and result.
            Fma fma (Float Float Float) -> Float, None, Pure, Plain, Follows;
            /// First times second plus third, rounded once or twice as the target prefers; the same everywhere in one
            /// compilation.
            Fmad fmad (F32 F32 F32) -> F32, None, Pure, Composite, Follows;
            /// Product in which zero times infinity is zero and NaN stays NaN (PICA200).
            Fmulz fmulz (F32 F32) -> F32, None, Pure, Composite, Follows;
            /// Rounded to the nearest float24 (PICA200: 7 bits of exponent, 16 of mantissa), ties to even: from 2^64 -
            /// 2^46 on infinity, below 2^-62 after rounding, and for -0, +0.
            Fround24 fround24 (F32) -> F32, None, Pure, Composite, Follows;
            /// The operand, but +0 if its magnitude is below 2^-62: where float24 arithmetic takes it for zero.
            Fflush24 fflush24 (F32) -> F32, None, Pure, Composite, Follows;
            /// The nearest float24 with its denormals, which are multiples of 2^-78; else as `fround24`.
            F32tof24 f32tof24 (F32) -> F32, None, Pure, Composite, Follows;
            /// Sign bit flipped. A bit operation: never flushes, keeps NaN payloads.
            Fneg fneg (Float) -> Float, None, Pure, Plain, Follows;
            /// Sign bit cleared. A bit operation: never flushes, keeps NaN payloads.
            Fabs fabs (Float) -> Float, None, Pure, Plain, Follows;
            /// The first operand if it is less than the second, else the second (also for NaN); flushes.
            Pmin pmin (Float Float) -> Float, None, Pure, Plain, Follows;
            /// The first operand if it is greater than the second, else the second (also for NaN); flushes.
            Pmax pmax (Float Float) -> Float, None, Pure, Plain, Follows;
            /// D3D minimum: as `pmin`, but a NaN operand loses. The first operand is not flushed where the second is
            /// NaN.
            Fmin fmin (F32 F32) -> F32, None, Pure, Composite, Follows;
            /// D3D maximum: as `pmax`, but a NaN operand loses. The first operand is not flushed where the second is
            /// NaN.
            Fmax fmax (F32 F32) -> F32, None, Pure, Composite, Follows;
            /// D3D saturate: clamped to 0..1, NaN gives 0; flushes.
            Fsat fsat (F32) -> F32, None, Pure, Composite, Follows;
            /// Rounded toward negative infinity; flushes the operand.
            Ffloor ffloor (F32) -> F32, None, Pure, Plain, Follows;
            /// Rounded toward positive infinity; flushes the operand.
            Fceil fceil (F32) -> F32, None, Pure, Plain, Follows;
            /// Rounded toward zero; flushes the operand.
            Ftrunc ftrunc (F32) -> F32, None, Pure, Plain, Follows;
            /// Rounded to the nearest integer, ties to even; flushes the operand.
            Fnearest fnearest (F32) -> F32, None, Pure, Plain, Follows;
            /// 2 to the power of the operand.
            Fexp2 fexp2 (F32) -> F32, None, Pure, Composite, Follows;
            /// Logarithm to base 2; -inf for zero, NaN below.
            Flog2 flog2 (F32) -> F32, None, Pure, Composite, Follows;
            /// The first times 2 to the power of the floor of the second, as `vscalefps` has it; flushes operands and
            /// result. Planning makes it, for machines that have it.
            Fscale fscale (F32 F32) -> F32, None, Pure, Plain, Follows;
            /// The first, a logarithm of the second, where that is positive and finite; else what the logarithm to base
            /// 2 of the second is. Planning makes it, for machines that have it.
            Flogcase flogcase (F32 F32) -> F32, None, Pure, Plain, Follows;
            /// Sine; NaN for infinities.
            Fsin fsin (F32) -> F32, None, Pure, Composite, Follows;
            /// Cosine; NaN for infinities.
            Fcos fcos (F32) -> F32, None, Pure, Composite, Follows;
            /// Equal; false if either is NaN; denormals count as zero.
            Feq feq (F32 F32) -> I1, None, Pure, Commutes, Follows;
            /// Not equal; true if either is NaN; denormals count as zero.
            Fne fne (F32 F32) -> I1, None, Pure, Commutes, Follows;
            /// Less than; false if either is NaN; denormals count as zero.
            Flt flt (F32 F32) -> I1, None, Pure, Plain, Follows;
            /// Less than or equal; false if either is NaN; denormals count as zero.
            Fle fle (F32 F32) -> I1, None, Pure, Plain, Follows;
            /// Unordered: either is NaN.
            Funo funo (F32 F32) -> I1, None, Pure, Commutes, Follows;

            // ---- conversions
            /// Toward zero to signed, clamped; 0 for NaN.
            Ftoi ftoi (F32) -> I32, None, Pure, Plain, Follows;
            /// Toward zero to unsigned, clamped; 0 for NaN.
            Ftou ftou (F32) -> I32, None, Pure, Plain, Follows;
            /// Signed to float, rounded to nearest even.
            Itof itof (I32) -> F32, None, Pure, Plain, Follows;
            /// Unsigned to float, rounded to nearest even.
            Utof utof (I32) -> F32, None, Pure, Plain, Follows;
            /// The half in the low 16 bits as a float; denormal halves and the payloads of NaNs are kept.
            F16tof32 f16tof32 (I32) -> F32, None, Pure, Composite, Follows;
            /// To half in the low 16 bits, rounded toward zero: overflow gives the largest finite half, denormal
            /// operands zero.
            F32tof16 f32tof16 (F32) -> I32, None, Pure, Composite, Follows;

            // ---- f64: denormals are kept; a NaN result is always the same one, 0x7ff8000000000000
            /// The double of these low and high 32 bits.
            F64join f64join (I32 I32) -> F64, None, Pure, Plain, Follows;
            /// Low 32 bits of a double.
            F64lo f64lo (F64) -> I32, None, Pure, Plain, Follows;
            /// High 32 bits of a double.
            F64hi f64hi (F64) -> I32, None, Pure, Plain, Follows;
            /// Sum, rounded to nearest even.
            Dadd dadd (F64 F64) -> F64, None, Pure, Commutes, Follows;
            /// Product, rounded to nearest even.
            Dmul dmul (F64 F64) -> F64, None, Pure, Commutes, Follows;
            /// Quotient, rounded to nearest even.
            Ddiv ddiv (F64 F64) -> F64, None, Pure, Plain, Follows;
            /// First times second plus third, rounded once on every target.
            Dfma dfma (F64 F64 F64) -> F64, None, Pure, Plain, Follows;
            /// D3D minimum: the first operand if it is less than the second, else the second; a NaN operand loses.
            Dmin dmin (F64 F64) -> F64, None, Pure, Plain, Follows;
            /// D3D maximum: the first operand if it is greater than the second, else the second; a NaN operand loses.
            Dmax dmax (F64 F64) -> F64, None, Pure, Plain, Follows;
            /// Equal; false if either is NaN.
            Deq deq (F64 F64) -> I1, None, Pure, Commutes, Follows;
            /// Not equal; true if either is NaN.
            Dne dne (F64 F64) -> I1, None, Pure, Commutes, Follows;
            /// Less than; false if either is NaN.
            Dlt dlt (F64 F64) -> I1, None, Pure, Plain, Follows;
            /// Less than or equal; false if either is NaN.
            Dle dle (F64 F64) -> I1, None, Pure, Plain, Follows;
            /// Double to float, rounded to nearest even, then flushed.
            Dtof dtof (F64) -> F32, None, Pure, Plain, Follows;
            /// Double to signed toward zero, clamped; 0 for NaN.
            Dtoi dtoi (F64) -> I32, None, Pure, Plain, Follows;
            /// Double to unsigned toward zero, clamped; 0 for NaN.
            Dtou dtou (F64) -> I32, None, Pure, Plain, Follows;
            /// Float to double, exact; flushes the operand.
            Ftod ftod (F32) -> F64, None, Pure, Plain, Follows;
            /// Signed to double, exact.
            Itod itod (I32) -> F64, None, Pure, Plain, Follows;
            /// Unsigned to double, exact.
            Utod utod (I32) -> F64, None, Pure, Plain, Follows;

            // ---- what an invocation sees
            /// One component of an input element, bits as bound.
            Input input () -> Word, Element, Pure, Plain, Differs;
            /// A value the caller's batch defines, such as the vertex number.
            Sysval sysval () -> I32, SysVal, Pure, Plain, ByImmediate;
            /// Sets one component of an output element; components never set are zero, the last write wins.
            Output output (Word) -> Nothing, Element, Write, Plain, Follows, Output;
            /// One component of a row of a uniform space; zero past the bound rows.
            UniformLoad uniform_load () -> Word, Row, Pure, Plain, Follows;
            /// The same with an index (unsigned, modulo 2^32) added to the row; zero past the bound rows.
            UniformLoadAt uniform_load_at (I32) -> Word, Row, Pure, Plain, Follows;
            /// The four bytes, little-endian, at an unsigned byte offset of a resource, to which the immediate is added
            /// without wrapping; zero unless all four are inside. Read-only, so loads may move and merge.
            ResourceLoad resource_load (I32) -> Word, ResourceByte, Pure, Plain, Follows;
            /// How many bytes of a resource can be read; see [`RESOURCE_BYTES`].
            ResourceBytes resource_bytes () -> I32, Resource, Pure, Plain, Follows;
            /// One component of an element of a register array at an unsigned index; zero past its end. Arrays start as
            /// zero.
            ArrayLoad array_load (I32) -> Word, Array, Read, Plain, Differs, Array;
            /// Stores index, value; nothing happens past the array's end.
            ArrayStore array_store (I32 Word) -> Nothing, Array, Write, Plain, Follows, Array => ArrayStoreMasked;
            /// Stores index, value where the mask holds; nothing happens past the array's end.
            ArrayStoreMasked array_store_masked (I32 Word I1) -> Nothing, Array, Write, Plain, Follows, Array;

            // ---- rows: four words that travel together
            /// Four words as a row.
            RowJoin row_join (Word Word Word Word) -> Row, None, Pure, Plain, Follows;
            /// One word of a row.
            RowWord row_word (Row) -> Word, Component, Pure, Plain, Follows;

            // ---- batch programs: see [`crate::batch`]
            /// A word of each lane's row in an input stream, as it lies in the caller's buffer. Bits that the row does
            /// not have are anything.
            InputWord input_word () -> I32, Element, Pure, Plain, Differs;
            /// The first four words of each lane's row in an input stream of whole words. Those that the row does not
            /// have are anything.
            InputRow input_row () -> Row, Stream, Pure, Plain, Differs;
            /// One word of a row in all four.
            RowSplat row_splat (Row) -> Row, Component, Pure, Plain, Follows;
            /// For each lane a word of some lane of either operand.
            LanePick lane_pick (Word Word) -> Word, Picks, Pure, Plain, Differs;
            /// A float in all four words.
            RowEach row_each (F32) -> Row, None, Pure, Plain, Follows;
            /// A row of a uniform space at an index (unsigned, modulo 2^32) that is added to the immediate; zero past
            /// the bound rows.
            RowAt row_at (I32) -> Row, SpaceRow, Pure, Plain, Follows;
            /// Sets all of an output element.
            OutputRow output_row (Row) -> Nothing, Stream, Write, Plain, Follows, Output;
            /// Keeps a value in a slot of its wave. A slot holds 32 bits a lane, an `f64` takes two.
            SlotStore slot_store (Any) -> Nothing, Slot, Write, Plain, Follows, Slot;
            /// What was kept in a slot of the wave, as a value of the type it was kept as.
            SlotLoad slot_load () -> Any, Slot, Read, Plain, Differs, Slot;
            /// Keeps a float in all lanes, or a row, in a slot of the call.
            CallStore call_store (Float) -> Nothing, Slot, Write, Plain, Follows, Call;
            /// What a slot of the call has, which is there before any wave runs.
            CallLoad call_load () -> Float, Slot, Pure, Plain, Same, Call;
            /// Lists the wave if the operand holds in any of its lanes: it will be in the worklist. Runs once in each
            /// wave that comes to the phase.
            WorklistPush worklist_push (I1) -> Nothing, Worklist, Write, Plain, Follows, Worklist;
            /// Makes the waves that the phase before has listed the worklist, and says whether there are any.
            WorklistAny worklist_any () -> I1, Worklist, Read, Plain, Same, Worklist;
            /// Makes the waves of the worklist around it the worklist.
            WorklistEnter worklist_enter () -> Nothing, Nested, Write, Plain, Follows, Worklist;

            // ---- quads: pixels (0,0), (1,0), (0,1), (1,1) in lanes 4q to 4q + 3. Code for one invocation says what is
            // wanted; `lockstep` knows which lanes run it, and puts it under their mask unless all see the operand.
            /// How much the operand changes from a pixel to the one on its right, by the two upper pixels of the quad;
            /// flushes.
            QuadDx quad_dx (F32) -> F32, None, Convergent, Composite, Follows => QuadDxMasked;
            /// How much it changes from a pixel to the one below, by the two left pixels of the quad; flushes.
            QuadDy quad_dy (F32) -> F32, None, Convergent, Composite, Follows => QuadDyMasked;
            /// As `quad_dx`, by the two pixels of the own row.
            QuadDxFine quad_dx_fine (F32) -> F32, None, Convergent, Composite, Follows => QuadDxFineMasked;
            /// As `quad_dy`, by the two pixels of the own column.
            QuadDyFine quad_dy_fine (F32) -> F32, None, Convergent, Composite, Follows => QuadDyFineMasked;
            /// As `quad_dx`, zero unless the mask holds in both of the pixels: what others have is not known.
            QuadDxMasked quad_dx_masked (F32 I1) -> F32, None, Convergent, Composite, Follows;
            /// As `quad_dy`, zero unless the mask holds in both of the pixels.
            QuadDyMasked quad_dy_masked (F32 I1) -> F32, None, Convergent, Composite, Follows;
            /// As `quad_dx_fine`, zero unless the mask holds in both of the pixels.
            QuadDxFineMasked quad_dx_fine_masked (F32 I1) -> F32, None, Convergent, Composite, Follows;
            /// As `quad_dy_fine`, zero unless the mask holds in both of the pixels.
            QuadDyFineMasked quad_dy_fine_masked (F32 I1) -> F32, None, Convergent, Composite, Follows;
            /// What the left pixel of the own row has. Moves bits, as the next three do.
            QuadLeft quad_left (F32) -> F32, None, Pure, Plain, Follows;
            /// What the right pixel of the own row has.
            QuadRight quad_right (F32) -> F32, None, Pure, Plain, Follows;
            /// What the upper pixel of the own column has.
            QuadTop quad_top (F32) -> F32, None, Pure, Plain, Follows;
            /// What the lower pixel of the own column has.
            QuadBottom quad_bottom (F32) -> F32, None, Pure, Plain, Follows;

            // ---- textures: see [`crate::texture`]. They are read-only, so accesses may move and merge.
            /// The texel at an integer address: the coordinates, then the slice of an array; the level, or the sample
            /// of a multisampled texture, is the last word.
            TextureLoad texture_load (Row) -> Row, Texel, Pure, Plain, Follows;
            /// Filtered at normalized coordinates, the slice of an array behind them, and a level.
            SampleLevel sample_level (Row F32) -> Row, Sample, Pure, Plain, Follows;
            /// Filtered at the level that derivatives of the coordinates in two directions give. The last word of the
            /// first is the least level there may be, that of the second is added to the level.
            SampleGradients sample_gradients (Row Row Row) -> Row, Sample, Pure, Plain, Follows;
            /// How much of what is filtered at level 0 passes the sampler's comparison with a reference.
            SampleCompare sample_compare (Row F32) -> F32, Sample, Pure, Plain, Follows;
            /// How much of what is filtered passes the sampler's comparison with a reference; derivatives as for
            /// `sample_gradients`.
            SampleCompareGradients sample_compare_gradients (Row F32 Row Row) -> F32, Sample, Pure, Plain, Follows;
            /// The level that `sample_gradients` with the same derivatives takes; what it is before anything bounds it;
            /// and two zeros.
            TextureLod texture_lod (Row Row Row) -> Row, Sample, Pure, Plain, Follows;
            /// One component of each of the four texels that a bilinear sample of level 0 would read.
            Gather gather (Row) -> Row, Gather, Pure, Plain, Follows;
            /// The same with texel offsets in the second operand, of which 6 bits count.
            GatherAt gather_at (Row Row) -> Row, Gather, Pure, Plain, Follows;
            /// Whether each of the four passes the sampler's comparison with a reference: 1.0 or 0.0.
            GatherCompare gather_compare (Row F32) -> Row, Sample, Pure, Plain, Follows;
            /// The same with texel offsets in the last operand, of which 6 bits count.
            GatherCompareAt gather_compare_at (Row F32 Row) -> Row, Sample, Pure, Plain, Follows;
            /// Width, height and depth of a level, the array's length behind the sizes there are; the number of levels
            /// last.
            TextureSize texture_size (I32) -> Row, Resource, Pure, Plain, Follows;
            /// Number of samples of a texel.
            TextureSamples texture_samples () -> I32, Resource, Pure, Plain, Follows;

            // ---- memory that is written: see [`crate::memory`], which says in what order
            /// The word, little-endian, at an unsigned byte offset, to which the immediate is added without wrapping;
            /// the low two bits of both do not count. Zero unless all of it is inside.
            MemoryLoad memory_load (I32) -> Word, ResourceByte, Read, Plain, Follows, Buffer;
            /// Stores byte offset, value; nothing happens unless all of the word is inside.
            MemoryStore memory_store (I32 Word) -> Nothing, ResourceByte, Write, Plain, Follows, Buffer => MemoryStoreMasked;
            /// The same where the mask holds.
            MemoryStoreMasked memory_store_masked (I32 Word I1) -> Nothing, ResourceByte, Write, Plain, Follows, Buffer;
            /// Replaces the four bytes at a byte offset by what a [function](crate::memory::AtomicFunction) makes of
            /// them and the row's first words: value, compared value. Gives what was there; zero, and nothing happens,
            /// unless all four are inside.
            MemoryAtomic memory_atomic (I32 Row) -> I32, Atomic, Write, Plain, Differs, Buffer => MemoryAtomicMasked;
            /// The same where the mask holds, and zero elsewhere.
            MemoryAtomicMasked memory_atomic_masked (I32 Row I1) -> I32, Atomic, Write, Plain, Differs, Buffer;
            /// The element or texel at an integer address: the coordinates, then the slice of an array.
            TexelLoad texel_load (Row) -> Row, Resource, Read, Plain, Follows, Buffer;
            /// Stores address, texel; nothing happens outside.
            TexelStore texel_store (Row Row) -> Nothing, Resource, Write, Plain, Follows, Buffer => TexelStoreMasked;
            /// The same where the mask holds.
            TexelStoreMasked texel_store_masked (Row Row I1) -> Nothing, Resource, Write, Plain, Follows, Buffer;
            /// As `memory_atomic`, of the word that is the texel at an address.
            TexelAtomic texel_atomic (Row Row) -> I32, Atomic, Write, Plain, Differs, Buffer => TexelAtomicMasked;
            /// The same where the mask holds, and zero elsewhere.
            TexelAtomicMasked texel_atomic_masked (Row Row I1) -> I32, Atomic, Write, Plain, Differs, Buffer;
            /// How large it is: bytes; or elements; or width, height and depth, the array's length behind the sizes
            /// there are.
            MemorySize memory_size () -> Row, Resource, Pure, Plain, Follows;

            // ---- lockstep
            /// Whether the operand holds in any lane: the same answer in every lane.
            Any any (I1) -> I1, None, Convergent, Plain, Same;
            /// Asserts that the operand is no NaN. Where it is one, in whatever lane, the run is void: its outputs mean
            /// nothing, and the function that was there before [`guard_products`](crate::pass::guard_products) has to
            /// run instead.
            GuardOrdered guard_ordered (Float) -> Nothing, None, Write, Plain, Follows;
            /// No wave of a group goes on before all of them have come here. In lockstep form all lanes are there
            /// together.
            Barrier barrier () -> Nothing, None, Convergent, Plain, Follows;
        }
    };
}
pub(crate) use for_each_op;

/// An operand's or result's type in the table: one type, or one of a set. All the set-typed operands and the set-typed
/// result of one instruction have one type, the instruction's [`InstData::ty`](crate::function::InstData::ty).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// `i1`.
    I1,
    /// `i32`.
    I32,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `row`.
    Row,
    /// Any type of one value.
    Any,
    /// `i1`, `i32`, or `row` for the same in each of its words.
    Bits,
    /// `i32` or `f32`.
    Word,
    /// `f32`, or `row` for the same in each of its words.
    Float,
    /// No result.
    Nothing,
}

impl TypeRule {
    /// The type, if the rule allows only one in code for one invocation.
    pub const fn fixed(self) -> Option<Type> {
        match self {
            TypeRule::I1 => Some(Type::I1),
            TypeRule::I32 => Some(Type::I32),
            TypeRule::F32 | TypeRule::Float => Some(Type::F32),
            TypeRule::F64 => Some(Type::F64),
            TypeRule::Row => Some(Type::Row),
            TypeRule::Any | TypeRule::Bits | TypeRule::Word | TypeRule::Nothing => None,
        }
    }

    /// The type in an instruction of type `ty`; `None` for no result.
    pub const fn of_inst(self, ty: Type) -> Option<Type> {
        match (self, self.fixed()) {
            (TypeRule::Nothing, _) => None,
            (TypeRule::Float, _) if matches!(ty, Type::Row) => Some(ty),
            (_, Some(fixed)) => Some(fixed),
            (_, None) => Some(ty),
        }
    }

    /// Whether the rule allows `ty`.
    pub const fn allows(self, ty: Type) -> bool {
        match (self, self.fixed()) {
            (TypeRule::Any, _) => !matches!(ty, Type::Row),
            (TypeRule::Bits, _) => matches!(ty, Type::I1 | Type::I32 | Type::Row),
            (TypeRule::Word, _) => matches!(ty, Type::I32 | Type::F32),
            (TypeRule::Float, _) => matches!(ty, Type::F32 | Type::Row),
            (_, Some(fixed)) => fixed as u8 == ty as u8,
            (_, None) => false,
        }
    }

    /// Whether it allows rows beside words.
    const fn allows_rows(self) -> bool {
        matches!(self, TypeRule::Float | TypeRule::Bits)
    }

    /// Whether the rule leaves a choice in code for one invocation, which the text form then spells out
    /// (`select.f32`).
    pub const fn is_set(self) -> bool {
        matches!(self, TypeRule::Any | TypeRule::Bits | TypeRule::Word)
    }
}

/// Which immediate an op carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmKind {
    /// None.
    None,
    /// The bits of a literal.
    Bits,
    /// Element and component of an input or output.
    Element,
    /// Element of an input or output.
    Stream,
    /// Number of a slot.
    Slot,
    /// Number of a worklist.
    Worklist,
    /// Number of a worklist and of the one around it; none if that is all waves.
    Nested,
    /// A [`SysVal`].
    SysVal,
    /// Space, row and component.
    Row,
    /// Space and row.
    SpaceRow,
    /// Resource and byte offset.
    ResourceByte,
    /// Resource.
    Resource,
    /// Array and component.
    Array,
    /// Component of a row.
    Component,
    /// Texture and texel offsets.
    Texel,
    /// Texture, sampler and texel offsets.
    Sample,
    /// Texture, component, sampler and texel offsets.
    Gather,
    /// Resource and function.
    Atomic,
    /// Operand and lane, for each lane.
    Picks,
}

/// No more bytes of a resource than this can be read: what is bound beyond is not there.
pub const RESOURCE_BYTES: u32 = u32::MAX - 3;

/// No program has more slots than this, which bounds what a wave keeps.
pub const SLOTS: u32 = 4096;

/// No program has more worklists than this.
pub const WORKLISTS: u32 = 256;

/// What else an op does than compute its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: may be removed, duplicated and moved.
    Pure,
    /// Reads what `Write` ops write: may be removed, not moved across them.
    Read,
    /// Writes: stays where it is.
    Write,
    /// Depends on which lanes run it: stays under the control flow it is under.
    Convergent,
}

/// A property passes ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// None.
    Plain,
    /// The two operands may be swapped (NaN payloads apart).
    Commutes,
    /// Means exactly its expansion in [`crate::pass::expand`]; a back end never sees it.
    Composite,
}

/// Whether lanes may see different results of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {
    /// Where they see different operands.
    Follows,
    /// Always.
    Differs,
    /// Never: it tells all lanes the same, whatever they ask.
    Same,
    /// As the [system value](SysVal::is_uniform) does that it reads.
    ByImmediate,
}

/// What an op reads or writes of what code writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Register arrays.
    Array,
    /// Output elements.
    Output,
    /// Slots of a wave.
    Slot,
    /// Slots of the call.
    Call,
    /// Worklists of a tile.
    Worklist,
    /// Buffers, texels and what a group shares: see [`crate::memory`].
    Buffer,
}

macro_rules! define_ops {
    ($( $(#[$doc:meta])* $name:ident $mnemonic:ident ($($operand:ident)*) -> $result:ident, $imm:ident, $effect:ident,
        $attribute:ident, $varies:ident $(, $memory:ident)? $(=> $masked:ident)?; )*) => {
        /// An operation. Its documentation is its line in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Op { $( $(#[$doc])* $name, )* }

        impl Op {
            /// Every op, in table order.
            pub const ALL: &'static [Op] = &[$( Op::$name, )*];
            /// The name in the text form, without a type suffix.
            pub const fn mnemonic(self) -> &'static str { match self { $( Op::$name => stringify!($mnemonic), )* } }
            /// Operand types.
            #[inline]
            pub const fn operands(self) -> &'static [TypeRule] {
                static OPERANDS: [&[TypeRule]; Op::ALL.len()] = [$( &[$( TypeRule::$operand, )*], )*];
                OPERANDS[self as usize]
            }
            /// Result type.
            #[inline]
            pub const fn result(self) -> TypeRule { match self { $( Op::$name => TypeRule::$result, )* } }
            /// Immediate.
            #[inline]
            pub const fn imm(self) -> ImmKind { match self { $( Op::$name => ImmKind::$imm, )* } }
            /// Effect.
            #[inline]
            pub const fn effect(self) -> Effect { match self { $( Op::$name => Effect::$effect, )* } }
            /// Attribute.
            #[inline]
            pub const fn attribute(self) -> Attribute { match self { $( Op::$name => Attribute::$attribute, )* } }
            /// Whether lanes may see different results.
            #[inline]
            pub const fn varies(self) -> Varies { match self { $( Op::$name => Varies::$varies, )* } }
            /// The memory that it reads or writes, if code can write that.
            #[inline]
            pub const fn memory(self) -> Option<Memory> { match self { $( $( Op::$name => Some(Memory::$memory), )? )* _ => None } }
            /// The op that does the same where a mask holds, its last operand.
            pub const fn masked(self) -> Option<Op> { match self { $( $( Op::$name => Some(Op::$masked), )? )* _ => None } }
        }
    };
}
for_each_op!(define_ops);

/// What a property is for each op: passes ask for some so often that looking through the operands takes time.
macro_rules! tabulated {
    ($property:path) => {{
        static TABLE: [bool; Op::ALL.len()] = {
            let (mut table, mut at) = ([false; Op::ALL.len()], 0);
            while at < table.len() {
                table[at] = $property(Op::ALL[at]);
                at += 1;
            }
            table
        };
        &TABLE
    }};
}

impl Op {
    /// The op of that mnemonic.
    pub fn from_mnemonic(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.mnemonic() == name)
    }

    /// Whether the instruction's type must be spelt out: some operand or the result may have several.
    pub fn is_typed(self) -> bool {
        tabulated!(Op::has_choice)[self as usize]
    }

    pub(crate) const fn has_choice(self) -> bool {
        let (rules, mut found, mut at) = (self.operands(), self.result().is_set(), 0);
        while at < rules.len() {
            found |= rules[at].is_set();
            at += 1;
        }
        found
    }

    /// Whether the op has a meaning only where lanes run in lockstep.
    pub const fn is_of_lockstep(self) -> bool {
        matches!(self, Op::Any | Op::GuardOrdered | Op::QuadLeft | Op::QuadRight | Op::QuadTop | Op::QuadBottom)
    }

    /// Whether it takes a derivative among the pixels of a quad.
    pub const fn is_derivative(self) -> bool {
        matches!(
            self,
            Op::QuadDx
                | Op::QuadDy
                | Op::QuadDxFine
                | Op::QuadDyFine
                | Op::QuadDxMasked
                | Op::QuadDyMasked
                | Op::QuadDxFineMasked
                | Op::QuadDyFineMasked
        )
    }

    /// Whether an instruction of this op stands in [batch programs](crate::batch) alone, if it is of type `ty`.
    pub const fn is_of_batch(self, ty: Type) -> bool {
        let is_kept = matches!(self.memory(), Some(Memory::Slot | Memory::Call | Memory::Worklist));
        matches!(self, Op::InputWord | Op::LanePick) || self.is_of_run(ty) || is_kept || self.is_of_machines()
    }

    /// Whether only some machines have it.
    pub const fn is_of_machines(self) -> bool {
        matches!(self, Op::Fscale | Op::Flogcase)
    }

    /// Whether an instruction of this op is one of those of which [runs](crate::batch) are made, if it is of type `ty`.
    pub const fn is_of_run(self, ty: Type) -> bool {
        matches!(self, Op::InputRow | Op::RowSplat | Op::RowEach | Op::RowAt | Op::OutputRow)
            || matches!(ty, Type::Row) && self.is_by_row() && !matches!(self, Op::CallStore)
    }

    /// Whether the op can be of type `row`, and then does the same in each word.
    pub const fn is_by_row(self) -> bool {
        tabulated!(Op::takes_rows)[self as usize]
    }

    pub(crate) const fn takes_rows(self) -> bool {
        let (rules, mut found, mut at) = (self.operands(), false, 0);
        while at < rules.len() {
            found |= rules[at].allows_rows();
            at += 1;
        }
        found || rules.is_empty() && self.result().allows_rows()
    }

    /// The type of an instruction that is made to be of type `ty`, which counts only where the op leaves a choice.
    pub fn inst_type(self, ty: Type) -> Type {
        if self.is_typed() || ty == Type::Row && self.is_by_row() { ty } else { self.untyped() }
    }

    /// The type of an instruction whose type is not [spelt out](Self::is_typed): that of its result, `i32` if it has
    /// none.
    pub const fn untyped(self) -> Type {
        match self.result().fixed() {
            Some(ty) => ty,
            None => Type::I32,
        }
    }

    /// Whether it writes what other invocations see before this one ends.
    pub const fn writes_buffers(self) -> bool {
        matches!(self.memory(), Some(Memory::Buffer)) && matches!(self.effect(), Effect::Write)
    }

    /// Whether it is the op under a mask, its last operand, that another is [without](Op::masked).
    pub const fn is_masked(self) -> bool {
        matches!(
            self,
            Op::ArrayStoreMasked
                | Op::MemoryStoreMasked
                | Op::MemoryAtomicMasked
                | Op::TexelStoreMasked
                | Op::TexelAtomicMasked
                | Op::QuadDxMasked
                | Op::QuadDyMasked
                | Op::QuadDxFineMasked
                | Op::QuadDyFineMasked
        )
    }

    /// Whether an instruction of this op may be removed when nothing uses its result.
    pub fn is_removable(self) -> bool {
        self.effect() != Effect::Write && self.result() != TypeRule::Nothing
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

/// A value the caller's batch defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SysVal {
    /// Number of the vertex in its draw, or of the thread in its group.
    VertexId,
    /// Number of the instance.
    InstanceId,
    /// 1 in a lane that has an invocation of its own, 0 in one of the tail, which repeats another and must not write to
    /// memory. For masks alone: lanes of the tail may store outputs for the one that they repeat.
    Active,
}

impl SysVal {
    /// Every system value.
    pub const ALL: [SysVal; 3] = [SysVal::VertexId, SysVal::InstanceId, SysVal::Active];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            SysVal::VertexId => "vertex_id",
            SysVal::InstanceId => "instance_id",
            SysVal::Active => "active",
        }
    }

    /// Whether all lanes of one call see the same value.
    pub const fn is_uniform(self) -> bool {
        matches!(self, SysVal::InstanceId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_unique_and_found() {
        for &op in Op::ALL {
            assert_eq!(Op::from_mnemonic(op.mnemonic()), Some(op));
        }
    }

    #[test]
    fn operands_fit_the_inline_array() {
        for &op in Op::ALL {
            assert!(op.operands().len() <= crate::function::Operands::MAX, "{op}");
        }
    }

    #[test]
    fn masked_ops_are_those_that_others_name() {
        for &op in Op::ALL {
            assert_eq!(op.is_masked(), Op::ALL.iter().any(|other| other.masked() == Some(op)), "{op}");
        }
    }

    #[test]
    fn commuting_ops_are_binary() {
        for &op in Op::ALL {
            assert!(op.attribute() != Attribute::Commutes || op.operands().len() == 2, "{op}");
        }
    }
}
