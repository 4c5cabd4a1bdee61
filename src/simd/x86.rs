//! Vectors of AVX2 with eight lanes and of AVX-512 with sixteen.
//!
//! # Contract
//! The methods use instructions that a machine may not have. They are called in [tasks](Task) only, which a
//! [`Machine`](super::Machine) has begun that has the instructions.

use super::{Array, Floats, Mask, Task, Words};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

/// Methods that are one expression of intrinsics.
macro_rules! methods {
    ($( fn $name:ident($($arg:ident: $ty:ty),*) -> $result:ty { $body:expr } )*) => {
        $(
            #[inline(always)]
            fn $name($($arg: $ty),*) -> $result {
                // SAFETY: the machine has the instructions, by the module's contract.
                unsafe { $body }
            }
        )*
    };
}

macro_rules! operators {
    ($( $trait:ident $method:ident $ty:ident($a:ident, $b:ident) $body:expr; )*) => {
        $(
            impl $trait for $ty {
                type Output = $ty;

                #[inline(always)]
                fn $method(self, other: $ty) -> $ty {
                    let ($a, $b) = (self.0, other.0);
                    // SAFETY: the machine has the instructions, by the module's contract.
                    $ty(unsafe { $body })
                }
            }
        )*
    };
}

/// How many words a gather reaches: it takes numbers to be signed.
#[inline(always)]
fn reachable(words: &[[u8; 4]]) -> u32 {
    words.len().min(i32::MAX as usize) as u32
}

/// Numbers of bytes for a shuffle that makes each of four words its lowest byte: those with the highest bit are zero.
#[inline(always)]
fn first_bytes() -> __m128i {
    let first = 0x8080_8000u32 as i32;
    // SAFETY: every machine of the architecture has the instruction.
    unsafe { _mm_setr_epi32(first, first + 4, first + 8, first + 12) }
}

// ---- AVX2

/// Eight floats.
#[derive(Clone, Copy)]
pub struct Floats8(__m256);

/// Eight words.
#[derive(Clone, Copy)]
pub struct Words8(__m256i);

/// All bits of some of eight lanes.
#[derive(Clone, Copy)]
pub struct Mask8(__m256i);

operators! {
    Add add Floats8(a, b) _mm256_add_ps(a, b);
    Sub sub Floats8(a, b) _mm256_sub_ps(a, b);
    Mul mul Floats8(a, b) _mm256_mul_ps(a, b);
    Div div Floats8(a, b) _mm256_div_ps(a, b);
    Add add Words8(a, b) _mm256_add_epi32(a, b);
    Sub sub Words8(a, b) _mm256_sub_epi32(a, b);
    Mul mul Words8(a, b) _mm256_mullo_epi32(a, b);
    BitAnd bitand Words8(a, b) _mm256_and_si256(a, b);
    BitOr bitor Words8(a, b) _mm256_or_si256(a, b);
    BitXor bitxor Words8(a, b) _mm256_xor_si256(a, b);
    BitAnd bitand Mask8(a, b) _mm256_and_si256(a, b);
    BitOr bitor Mask8(a, b) _mm256_or_si256(a, b);
}

impl Not for Mask8 {
    type Output = Mask8;

    methods! {
        fn not(self: Mask8) -> Mask8 { Mask8(_mm256_xor_si256(self.0, _mm256_set1_epi32(-1))) }
    }
}

impl Mask for Mask8 {
    methods! {
        fn bits(self: Mask8) -> u32 { _mm256_movemask_ps(_mm256_castsi256_ps(self.0)) as u32 }
    }
}

impl Floats for Floats8 {
    const LANES: usize = 8;
    type Words = Words8;
    type Mask = Mask8;

    #[inline(always)]
    fn apart<T: Task<Floats8>>(task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn run<T: Task<Floats8>>(task: T) -> T::Output {
            task.run()
        }
        // SAFETY: the machine has the instructions, by the module's contract.
        unsafe { run(task) }
    }

    methods! {
        fn all(value: f32) -> Floats8 { Floats8(_mm256_set1_ps(value)) }
        fn bits(self: Floats8) -> Words8 { Words8(_mm256_castps_si256(self.0)) }
        fn to_integers(self: Floats8) -> Words8 { Words8(_mm256_cvttps_epi32(self.0)) }
        fn floor(self: Floats8) -> Floats8 { Floats8(_mm256_floor_ps(self.0)) }
        fn trunc(self: Floats8) -> Floats8 {
            Floats8(_mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0))
        }
        fn round(self: Floats8) -> Floats8 {
            Floats8(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0))
        }
        fn sqrt(self: Floats8) -> Floats8 { Floats8(_mm256_sqrt_ps(self.0)) }
        fn min(self: Floats8, other: Floats8) -> Floats8 { Floats8(_mm256_min_ps(self.0, other.0)) }
        fn max(self: Floats8, other: Floats8) -> Floats8 { Floats8(_mm256_max_ps(self.0, other.0)) }
        fn exact_product_plus(self: Floats8, factor: Floats8, term: Floats8) -> Floats8 {
            Floats8(_mm256_fmadd_ps(self.0, factor.0, term.0))
        }
        fn less(self: Floats8, other: Floats8) -> Mask8 {
            Mask8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0)))
        }
        fn equals(self: Floats8, other: Floats8) -> Mask8 {
            Mask8(_mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0)))
        }
    }
}

impl Words for Words8 {
    type Floats = Floats8;
    type Mask = Mask8;

    methods! {
        fn all(value: u32) -> Words8 { Words8(_mm256_set1_epi32(value as i32)) }
        fn from_array(array: &Array) -> Words8 { Words8(_mm256_loadu_si256(array.as_ptr().cast())) }
        fn as_floats(self: Words8) -> Floats8 { Floats8(_mm256_castsi256_ps(self.0)) }
        fn to_floats(self: Words8) -> Floats8 { Floats8(_mm256_cvtepi32_ps(self.0)) }
        fn shl(self: Words8, bits: u32) -> Words8 { Words8(_mm256_sll_epi32(self.0, _mm_cvtsi32_si128(bits as i32))) }
        fn shr(self: Words8, bits: u32) -> Words8 { Words8(_mm256_srl_epi32(self.0, _mm_cvtsi32_si128(bits as i32))) }
        fn sar(self: Words8, bits: u32) -> Words8 { Words8(_mm256_sra_epi32(self.0, _mm_cvtsi32_si128(bits as i32))) }
        fn byte(self: Words8, number: u32) -> Words8 {{
                let places = _mm256_broadcastsi128_si256(first_bytes());
            Words8(_mm256_shuffle_epi8(self.0, _mm256_add_epi32(places, _mm256_set1_epi32(number as i32))))
            }
        }
        fn shifted_by(self: Words8, bits: Words8) -> Words8 { Words8(_mm256_srlv_epi32(self.0, bits.0)) }
        fn in_quads(self: Words8) -> Words8 { Words8(_mm256_permute4x64_epi64::<0b11_01_10_00>(self.0)) }
        fn in_rows(self: Words8) -> Words8 { Words8(_mm256_permute4x64_epi64::<0b11_01_10_00>(self.0)) }
        fn min(self: Words8, other: Words8) -> Words8 { Words8(_mm256_min_epi32(self.0, other.0)) }
        fn max(self: Words8, other: Words8) -> Words8 { Words8(_mm256_max_epi32(self.0, other.0)) }
        fn less(self: Words8, other: Words8) -> Mask8 { Mask8(_mm256_cmpgt_epi32(other.0, self.0)) }
        fn equals(self: Words8, other: Words8) -> Mask8 { Mask8(_mm256_cmpeq_epi32(self.0, other.0)) }
        fn or_where_not(self: Words8, mask: Mask8, other: Words8) -> Words8 {
            Words8(_mm256_blendv_epi8(other.0, self.0, mask.0))
        }
    }

    #[inline(always)]
    fn to_array(self) -> Array {
        let mut array = [0; _];
        // SAFETY: as above; an array is longer than the vector.
        unsafe { _mm256_storeu_si256((&raw mut array).cast(), self.0) };
        array
    }

    #[inline(always)]
    fn look_up(self, words: &[[u8; 4]]) -> Words8 {
        let is_there = self.is_below(Words8::all(reachable(words)));
        // SAFETY: as above; what is read is a word of the slice, for the mask has no other lanes.
        let found = unsafe {
            _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), words.as_ptr().cast(), self.0, is_there.0)
        };
        Words8(found)
    }

    #[inline(always)]
    fn look_up_pairs(self, words: &[[u8; 4]]) -> [Words8; 2] {
        let is_there = self.is_below(Words8::all(reachable(words).saturating_sub(1)));
        // SAFETY: as above; what is read is two words of the slice, for the mask has no other lanes.
        unsafe {
            let gather = |numbers: __m128i, mask: __m128i| {
                let mask = _mm256_cvtepi32_epi64(mask);
                let none = _mm256_setzero_si256();
                _mm256_mask_i32gather_epi64::<4>(none, words.as_ptr().cast(), numbers, mask)
            };
            let low = gather(_mm256_castsi256_si128(self.0), _mm256_castsi256_si128(is_there.0));
            let high = gather(_mm256_extracti128_si256::<1>(self.0), _mm256_extracti128_si256::<1>(is_there.0));
            let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
            // Each half has two lanes of the lower gather, then two of the higher one.
            let first = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
            let second = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
            [first, second].map(|words| Words8(_mm256_permute4x64_epi64::<0b11_01_10_00>(words)))
        }
    }

    #[inline(always)]
    fn entries_of(self, table: &[u32; 16]) -> Words8 {
        let [low, high] = table.as_chunks::<8>().0 else { return self };
        // SAFETY: as above; each half is as long as a vector.
        let found = unsafe {
            let [low, high] = [low, high].map(|half| {
                let half = _mm256_loadu_si256(half.as_ptr().cast());
                _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(half, self.0))
            });
            // The bit of 8 becomes the sign, which chooses.
            _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(self.0)))
        };
        Floats8(found).bits()
    }
}

// ---- AVX-512

/// Sixteen floats.
#[derive(Clone, Copy)]
pub struct Floats16(__m512);

/// Sixteen words.
#[derive(Clone, Copy)]
pub struct Words16(__m512i);

/// Some of sixteen lanes.
#[derive(Clone, Copy)]
pub struct Mask16(__mmask16);

operators! {
    Add add Floats16(a, b) _mm512_add_ps(a, b);
    Sub sub Floats16(a, b) _mm512_sub_ps(a, b);
    Mul mul Floats16(a, b) _mm512_mul_ps(a, b);
    Div div Floats16(a, b) _mm512_div_ps(a, b);
    Add add Words16(a, b) _mm512_add_epi32(a, b);
    Sub sub Words16(a, b) _mm512_sub_epi32(a, b);
    Mul mul Words16(a, b) _mm512_mullo_epi32(a, b);
    BitAnd bitand Words16(a, b) _mm512_and_si512(a, b);
    BitOr bitor Words16(a, b) _mm512_or_si512(a, b);
    BitXor bitxor Words16(a, b) _mm512_xor_si512(a, b);
    BitAnd bitand Mask16(a, b) _kand_mask16(a, b);
    BitOr bitor Mask16(a, b) _kor_mask16(a, b);
}

impl Not for Mask16 {
    type Output = Mask16;

    methods! {
        fn not(self: Mask16) -> Mask16 { Mask16(_knot_mask16(self.0)) }
    }
}

impl Mask for Mask16 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.0.into()
    }
}

impl Floats for Floats16 {
    const LANES: usize = 16;
    type Words = Words16;
    type Mask = Mask16;

    #[inline(always)]
    fn apart<T: Task<Floats16>>(task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
        #[inline(never)]
        fn run<T: Task<Floats16>>(task: T) -> T::Output {
            task.run()
        }
        // SAFETY: the machine has the instructions, by the module's contract.
        unsafe { run(task) }
    }

    methods! {
        fn all(value: f32) -> Floats16 { Floats16(_mm512_set1_ps(value)) }
        fn bits(self: Floats16) -> Words16 { Words16(_mm512_castps_si512(self.0)) }
        fn to_integers(self: Floats16) -> Words16 { Words16(_mm512_cvttps_epi32(self.0)) }
        fn floor(self: Floats16) -> Floats16 {
            Floats16(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0))
        }
        fn trunc(self: Floats16) -> Floats16 {
            Floats16(_mm512_roundscale_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0))
        }
        fn round(self: Floats16) -> Floats16 {
            Floats16(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0))
        }
        fn sqrt(self: Floats16) -> Floats16 { Floats16(_mm512_sqrt_ps(self.0)) }
        fn min(self: Floats16, other: Floats16) -> Floats16 { Floats16(_mm512_min_ps(self.0, other.0)) }
        fn max(self: Floats16, other: Floats16) -> Floats16 { Floats16(_mm512_max_ps(self.0, other.0)) }
        fn exact_product_plus(self: Floats16, factor: Floats16, term: Floats16) -> Floats16 {
            Floats16(_mm512_fmadd_ps(self.0, factor.0, term.0))
        }
        fn less(self: Floats16, other: Floats16) -> Mask16 {
            Mask16(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0))
        }
        fn equals(self: Floats16, other: Floats16) -> Mask16 {
            Mask16(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, other.0))
        }
    }
}

impl Words for Words16 {
    type Floats = Floats16;
    type Mask = Mask16;

    methods! {
        fn all(value: u32) -> Words16 { Words16(_mm512_set1_epi32(value as i32)) }
        fn from_array(array: &Array) -> Words16 { Words16(_mm512_loadu_si512(array.as_ptr().cast())) }
        fn as_floats(self: Words16) -> Floats16 { Floats16(_mm512_castsi512_ps(self.0)) }
        fn to_floats(self: Words16) -> Floats16 { Floats16(_mm512_cvtepi32_ps(self.0)) }
        fn shl(self: Words16, bits: u32) -> Words16 {
            Words16(_mm512_sll_epi32(self.0, _mm_cvtsi32_si128(bits as i32)))
        }
        fn shr(self: Words16, bits: u32) -> Words16 {
            Words16(_mm512_srl_epi32(self.0, _mm_cvtsi32_si128(bits as i32)))
        }
        fn sar(self: Words16, bits: u32) -> Words16 {
            Words16(_mm512_sra_epi32(self.0, _mm_cvtsi32_si128(bits as i32)))
        }
        fn byte(self: Words16, number: u32) -> Words16 {{
                let places = _mm512_broadcast_i32x4(first_bytes());
            Words16(_mm512_shuffle_epi8(self.0, _mm512_add_epi32(places, _mm512_set1_epi32(number as i32))))
            }
        }
        fn shifted_by(self: Words16, bits: Words16) -> Words16 { Words16(_mm512_srlv_epi32(self.0, bits.0)) }
        fn in_quads(self: Words16) -> Words16 {
            Words16(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), self.0))
        }
        fn in_rows(self: Words16) -> Words16 {
            Words16(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), self.0))
        }
        fn min(self: Words16, other: Words16) -> Words16 { Words16(_mm512_min_epi32(self.0, other.0)) }
        fn max(self: Words16, other: Words16) -> Words16 { Words16(_mm512_max_epi32(self.0, other.0)) }
        fn less(self: Words16, other: Words16) -> Mask16 { Mask16(_mm512_cmplt_epi32_mask(self.0, other.0)) }
        fn equals(self: Words16, other: Words16) -> Mask16 { Mask16(_mm512_cmpeq_epi32_mask(self.0, other.0)) }
        fn or_where_not(self: Words16, mask: Mask16, other: Words16) -> Words16 {
            Words16(_mm512_mask_mov_epi32(other.0, mask.0, self.0))
        }
    }

    #[inline(always)]
    fn to_array(self) -> Array {
        let mut array = [0; _];
        // SAFETY: as above; an array is as long as the vector.
        unsafe { _mm512_storeu_si512((&raw mut array).cast(), self.0) };
        array
    }

    #[inline(always)]
    fn look_up(self, words: &[[u8; 4]]) -> Words16 {
        let limit = Words16::all(reachable(words));
        // SAFETY: as above; what is read is a word of the slice, for the mask has no other lanes.
        let found = unsafe {
            let is_there = _mm512_cmplt_epu32_mask(self.0, limit.0);
            _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), is_there, self.0, words.as_ptr().cast())
        };
        Words16(found)
    }

    #[inline(always)]
    fn look_up_pairs(self, words: &[[u8; 4]]) -> [Words16; 2] {
        let limit = Words16::all(reachable(words).saturating_sub(1));
        // SAFETY: as above; what is read is two words of the slice, for the mask has no other lanes.
        unsafe {
            let is_there = _mm512_cmplt_epu32_mask(self.0, limit.0);
            let gather = |numbers: __m256i, mask: u8| {
                _mm512_mask_i32gather_epi64::<4>(_mm512_setzero_si512(), mask, numbers, words.as_ptr().cast())
            };
            let low = gather(_mm512_castsi512_si256(self.0), is_there as u8);
            let high = gather(_mm512_extracti64x4_epi64::<1>(self.0), (is_there >> 8) as u8);
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
            [even, odd].map(|numbers| Words16(_mm512_permutex2var_epi32(low, numbers, high)))
        }
    }

    #[inline(always)]
    fn entries_of(self, table: &[u32; 16]) -> Words16 {
        // SAFETY: as above; the table is as long as the vector.
        Words16(unsafe { _mm512_permutexvar_epi32(self.0, _mm512_loadu_si512(table.as_ptr().cast())) })
    }
}
