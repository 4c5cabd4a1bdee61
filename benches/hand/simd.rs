//! Vector registers of 128, 256 and 512 bits under one set of names.
//!
//! A register is one to four *quarters* of 128 bits. Vertices are in the order of the lanes, so that a quarter has four
//! that follow each other. Closures are left out: they are compiled without the features of what they are in.

use std::arch::x86_64::*;

/// A width. What is done with it is safe where the machine has its features: in the functions that
/// [`mod`](super) compiles for them.
pub trait Simd {
    /// Floats.
    type F: Copy;
    /// Integers of 32 bits.
    type I: Copy;
    /// Vertices in lockstep.
    const LANES: usize;

    fn splat(x: f32) -> Self::F;
    fn ints(x: i32) -> Self::I;
    fn add(a: Self::F, b: Self::F) -> Self::F;
    fn sub(a: Self::F, b: Self::F) -> Self::F;
    fn mul(a: Self::F, b: Self::F) -> Self::F;
    fn max(a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `c - a * b`, rounded once.
    fn fnma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    fn floor(x: Self::F) -> Self::F;
    /// The machine's estimate.
    fn reciprocal_sqrt(x: Self::F) -> Self::F;
    fn truncate(x: Self::F) -> Self::I;
    fn convert(x: Self::I) -> Self::F;
    fn bits(x: Self::F) -> Self::I;
    fn float(x: Self::I) -> Self::F;
    fn iadd(a: Self::I, b: Self::I) -> Self::I;
    fn isub(a: Self::I, b: Self::I) -> Self::I;
    fn imul(a: Self::I, b: Self::I) -> Self::I;
    fn and(a: Self::I, b: Self::I) -> Self::I;
    fn xor(a: Self::I, b: Self::I) -> Self::I;
    fn shl(x: Self::I, by: i32) -> Self::I;
    fn shr(x: Self::I, by: i32) -> Self::I;
    fn sar(x: Self::I, by: i32) -> Self::I;
    /// The first where the sign bit of `x` is set, else the second.
    fn where_negative(x: Self::F, first: Self::F, second: Self::F) -> Self::F;
    fn all_negative(x: Self::F) -> bool;
    /// One lane of each quarter in all four of it.
    fn lane_of_quarters(x: Self::F, lane: usize) -> Self::F;
    /// In each quarter rows to columns, and back.
    fn transpose(rows: [Self::F; 4]) -> [Self::F; 4];
    /// A register of the first of these quarters.
    fn join(quarters: [&[u8; 16]; 4]) -> Self::F;
    /// Its quarters, of which those that it does not have are like the first.
    fn split(x: Self::F) -> [__m128; 4];
}

/// What all widths have under names that differ in nothing but their beginning.
macro_rules! common {
    ($F:ident, $I:ident, $lanes:literal, $splat:ident, $ints:ident, $add:ident, $sub:ident, $mul:ident, $max:ident,
     $fma:ident, $fnma:ident, $truncate:ident, $convert:ident, $bits:ident, $float:ident, $iadd:ident, $isub:ident,
     $imul:ident, $shl:ident, $shr:ident, $sar:ident, $low:ident, $high:ident, $low_pairs:ident, $high_pairs:ident,
     $as_pairs:ident, $of_pairs:ident, $permute:ident) => {
        type F = $F;
        type I = $I;
        const LANES: usize = $lanes;

        common!(@two F, add $add, sub $sub, mul $mul, max $max);
        common!(@two I, iadd $iadd, isub $isub, imul $imul);
        common!(@one splat $splat f32 F, ints $ints i32 I);
        common!(@convert truncate $truncate F I, convert $convert I F, bits $bits F I, float $float I F);
        common!(@shift shl $shl, shr $shr, sar $sar);

        #[inline(always)]
        fn fma(a: $F, b: $F, c: $F) -> $F {
            // SAFETY: see the trait.
            unsafe { $fma(a, b, c) }
        }

        #[inline(always)]
        fn fnma(a: $F, b: $F, c: $F) -> $F {
            // SAFETY: see the trait.
            unsafe { $fnma(a, b, c) }
        }

        #[inline(always)]
        fn lane_of_quarters(x: $F, lane: usize) -> $F {
            // SAFETY: see the trait.
            unsafe {
                match lane {
                    0 => $permute::<0b00_00_00_00>(x),
                    1 => $permute::<0b01_01_01_01>(x),
                    2 => $permute::<0b10_10_10_10>(x),
                    _ => $permute::<0b11_11_11_11>(x),
                }
            }
        }

        #[inline(always)]
        fn transpose([a, b, c, d]: [$F; 4]) -> [$F; 4] {
            // SAFETY: see the trait.
            unsafe {
                let (ab, cd) = ($as_pairs($low(a, b)), $as_pairs($low(c, d)));
                let (high_ab, high_cd) = ($as_pairs($high(a, b)), $as_pairs($high(c, d)));
                [
                    $of_pairs($low_pairs(ab, cd)),
                    $of_pairs($high_pairs(ab, cd)),
                    $of_pairs($low_pairs(high_ab, high_cd)),
                    $of_pairs($high_pairs(high_ab, high_cd)),
                ]
            }
        }
    };
    (@two $T:ident, $($name:ident $intrinsic:ident),*) => { $(
        #[inline(always)]
        fn $name(a: Self::$T, b: Self::$T) -> Self::$T {
            // SAFETY: see the trait.
            unsafe { $intrinsic(a, b) }
        }
    )* };
    (@one $($name:ident $intrinsic:ident $from:ident $T:ident),*) => { $(
        #[inline(always)]
        fn $name(x: $from) -> Self::$T {
            // SAFETY: see the trait.
            unsafe { $intrinsic(x) }
        }
    )* };
    (@convert $($name:ident $intrinsic:ident $from:ident $to:ident),*) => { $(
        #[inline(always)]
        fn $name(x: Self::$from) -> Self::$to {
            // SAFETY: see the trait.
            unsafe { $intrinsic(x) }
        }
    )* };
    (@shift $($name:ident $intrinsic:ident),*) => { $(
        #[inline(always)]
        fn $name(x: Self::I, by: i32) -> Self::I {
            // SAFETY: see the trait.
            unsafe { $intrinsic(x, _mm_cvtsi32_si128(by)) }
        }
    )* };
}

/// Loads the bytes of a quarter.
#[inline(always)]
fn load(bytes: &[u8; 16]) -> __m128 {
    // SAFETY: these are 16 bytes, and the instruction does not ask for alignment.
    unsafe { _mm_loadu_ps(bytes.as_ptr().cast()) }
}

/// AVX2 and FMA, in the low halves of its registers.
pub struct Narrow;

impl Simd for Narrow {
    common!(
        __m128,
        __m128i,
        4,
        _mm_set1_ps,
        _mm_set1_epi32,
        _mm_add_ps,
        _mm_sub_ps,
        _mm_mul_ps,
        _mm_max_ps,
        _mm_fmadd_ps,
        _mm_fnmadd_ps,
        _mm_cvttps_epi32,
        _mm_cvtepi32_ps,
        _mm_castps_si128,
        _mm_castsi128_ps,
        _mm_add_epi32,
        _mm_sub_epi32,
        _mm_mullo_epi32,
        _mm_sll_epi32,
        _mm_srl_epi32,
        _mm_sra_epi32,
        _mm_unpacklo_ps,
        _mm_unpackhi_ps,
        _mm_unpacklo_pd,
        _mm_unpackhi_pd,
        _mm_castps_pd,
        _mm_castpd_ps,
        _mm_permute_ps
    );
    common!(@two I, and _mm_and_si128, xor _mm_xor_si128);
    common!(@convert floor _mm_floor_ps F F, reciprocal_sqrt _mm_rsqrt_ps F F);

    #[inline(always)]
    fn where_negative(x: __m128, first: __m128, second: __m128) -> __m128 {
        // SAFETY: see the trait.
        unsafe { _mm_blendv_ps(second, first, x) }
    }

    #[inline(always)]
    fn all_negative(x: __m128) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm_movemask_ps(x) == 0b1111 }
    }

    #[inline(always)]
    fn join(quarters: [&[u8; 16]; 4]) -> __m128 {
        load(quarters[0])
    }

    #[inline(always)]
    fn split(x: __m128) -> [__m128; 4] {
        [x; 4]
    }
}

/// AVX2 and FMA.
pub struct Avx2;

impl Simd for Avx2 {
    common!(
        __m256,
        __m256i,
        8,
        _mm256_set1_ps,
        _mm256_set1_epi32,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_max_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps,
        _mm256_cvttps_epi32,
        _mm256_cvtepi32_ps,
        _mm256_castps_si256,
        _mm256_castsi256_ps,
        _mm256_add_epi32,
        _mm256_sub_epi32,
        _mm256_mullo_epi32,
        _mm256_sll_epi32,
        _mm256_srl_epi32,
        _mm256_sra_epi32,
        _mm256_unpacklo_ps,
        _mm256_unpackhi_ps,
        _mm256_unpacklo_pd,
        _mm256_unpackhi_pd,
        _mm256_castps_pd,
        _mm256_castpd_ps,
        _mm256_permute_ps
    );
    common!(@two I, and _mm256_and_si256, xor _mm256_xor_si256);
    common!(@convert floor _mm256_floor_ps F F, reciprocal_sqrt _mm256_rsqrt_ps F F);

    #[inline(always)]
    fn where_negative(x: __m256, first: __m256, second: __m256) -> __m256 {
        // SAFETY: see the trait.
        unsafe { _mm256_blendv_ps(second, first, x) }
    }

    #[inline(always)]
    fn all_negative(x: __m256) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm256_movemask_ps(x) == 0xff }
    }

    #[inline(always)]
    fn join(quarters: [&[u8; 16]; 4]) -> __m256 {
        // SAFETY: see the trait.
        unsafe { _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(load(quarters[0])), load(quarters[1])) }
    }

    #[inline(always)]
    fn split(x: __m256) -> [__m128; 4] {
        // SAFETY: see the trait.
        let [first, second] = unsafe { [_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x)] };
        [first, second, first, first]
    }
}

/// AVX-512 F and DQ.
pub struct Avx512;

impl Simd for Avx512 {
    common!(
        __m512,
        __m512i,
        16,
        _mm512_set1_ps,
        _mm512_set1_epi32,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_max_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps,
        _mm512_cvttps_epi32,
        _mm512_cvtepi32_ps,
        _mm512_castps_si512,
        _mm512_castsi512_ps,
        _mm512_add_epi32,
        _mm512_sub_epi32,
        _mm512_mullo_epi32,
        _mm512_sll_epi32,
        _mm512_srl_epi32,
        _mm512_sra_epi32,
        _mm512_unpacklo_ps,
        _mm512_unpackhi_ps,
        _mm512_unpacklo_pd,
        _mm512_unpackhi_pd,
        _mm512_castps_pd,
        _mm512_castpd_ps,
        _mm512_permute_ps
    );
    common!(@two I, and _mm512_and_si512, xor _mm512_xor_si512);
    common!(@convert reciprocal_sqrt _mm512_rsqrt14_ps F F);

    #[inline(always)]
    fn floor(x: __m512) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x) }
    }

    #[inline(always)]
    fn where_negative(x: __m512, first: __m512, second: __m512) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), second, first) }
    }

    #[inline(always)]
    fn all_negative(x: __m512) -> bool {
        // SAFETY: see the trait.
        unsafe { _mm512_movepi32_mask(_mm512_castps_si512(x)) == 0xffff }
    }

    #[inline(always)]
    fn join(quarters: [&[u8; 16]; 4]) -> __m512 {
        // SAFETY: see the trait.
        unsafe {
            let low = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(load(quarters[0])), load(quarters[1]));
            let high = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(load(quarters[2])), load(quarters[3]));
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        }
    }

    #[inline(always)]
    fn split(x: __m512) -> [__m128; 4] {
        // SAFETY: see the trait.
        unsafe {
            [
                _mm512_castps512_ps128(x),
                _mm512_extractf32x4_ps::<1>(x),
                _mm512_extractf32x4_ps::<2>(x),
                _mm512_extractf32x4_ps::<3>(x),
            ]
        }
    }
}
