//! Vectors: a float or a word of each lane, and what is computed with all of them at once.
//!
//! What is generic over [`Floats`] is compiled once for each kind of vector: [`x86`] has those of AVX2 and of AVX-512,
//! [`array`] plain arrays for every other machine; a [`Machine`] runs what was compiled for it. Loops over arrays alone
//! would be shorter, but whether the compiler makes vectors of them hangs on what stands around them: a filter's loop
//! over its corners came out scalar, and ten times as slow. `unsafe` is only in `x86.rs`.
//!
//! All give the same bits: each operation is one of IEEE 754 or of integers, rounded once.

pub mod array;
mod machine;
#[cfg(target_arch = "x86_64")]
pub mod x86;

pub use machine::{Machine, Task};

use shaderjit_ir::texture::LANES;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

/// As many words as an access has lanes; of vectors with fewer, the first.
pub type Array = [u32; LANES];

/// A float of each lane.
pub trait Floats: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// How many.
    const LANES: usize;
    /// A word of each lane.
    type Words: Words<Floats = Self, Mask = Self::Mask>;
    /// Some of the lanes.
    type Mask: Mask;

    /// The same in every lane.
    fn all(value: f32) -> Self;
    /// Runs a task in a function of its own.
    fn apart<T: Task<Self>>(task: T) -> T::Output;
    fn bits(self) -> Self::Words;
    /// Toward zero; of numbers that no integer is near, anything.
    fn to_integers(self) -> Self::Words;
    /// Rounded down.
    fn floor(self) -> Self;
    /// Rounded toward zero.
    fn trunc(self) -> Self;
    /// Rounded to nearest, to even between two.
    fn round(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self < other ? self : other`.
    fn min(self, other: Self) -> Self;
    /// `self > other ? self : other`.
    fn max(self, other: Self) -> Self;
    /// `self * factor + term`, where the product is exact: fused or not makes no difference.
    fn exact_product_plus(self, factor: Self, term: Self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn equals(self, other: Self) -> Self::Mask;

    /// The lanes that hold no number.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        !self.equals(self)
    }

    /// This where the mask has the lane, the other elsewhere.
    #[inline(always)]
    fn or_where_not(self, mask: Self::Mask, other: Self) -> Self {
        self.bits().or_where_not(mask, other.bits()).as_floats()
    }

    #[inline(always)]
    fn abs(self) -> Self {
        (self.bits() & Self::Words::all(0x7fff_ffff)).as_floats()
    }

    #[inline(always)]
    fn negated(self) -> Self {
        (self.bits() ^ Self::Words::all(0x8000_0000)).as_floats()
    }
}

/// A word of each lane.
#[cfg_attr(not(feature = "raster"), expect(dead_code, reason = "only the rasteriser has pixels in rows"))]
pub trait Words:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    type Floats: Floats<Words = Self, Mask = Self::Mask>;
    type Mask: Mask;

    /// The same in every lane.
    fn all(value: u32) -> Self;
    /// The first of an array's.
    fn from_array(array: &Array) -> Self;
    /// With zeros behind them.
    fn to_array(self) -> Array;
    fn as_floats(self) -> Self::Floats;
    /// Of signed integers.
    fn to_floats(self) -> Self::Floats;
    fn shl(self, bits: u32) -> Self;
    fn shr(self, bits: u32) -> Self;
    /// With a sign.
    fn sar(self, bits: u32) -> Self;
    /// One byte of each word, by its number, 0 to 3: 0 is the lowest.
    fn byte(self, number: u32) -> Self;
    /// This number shifted right by so many bits a lane, fewer than 32.
    fn shifted_by(self, bits: Self) -> Self;
    /// The lesser, of signed integers.
    fn min(self, other: Self) -> Self;
    /// The greater, of signed integers.
    fn max(self, other: Self) -> Self;
    /// Of signed integers.
    fn less(self, other: Self) -> Self::Mask;
    fn equals(self, other: Self) -> Self::Mask;
    /// This where the mask has the lane, the other elsewhere.
    fn or_where_not(self, mask: Self::Mask, other: Self) -> Self;
    /// The words of these numbers, from 0 on, little-endian; zero where there is none.
    fn look_up(self, words: &[[u8; 4]]) -> Self;
    /// The words of these numbers, and those behind them: as many loads as for one of the two. Zeros where either is
    /// missing.
    fn look_up_pairs(self, words: &[[u8; 4]]) -> [Self; 2];
    /// The entries of a table with these numbers, which are less than 16.
    fn entries_of(self, table: &[u32; 16]) -> Self;

    /// Lanes that are two rows of pixels, one behind the other, become quads: four pixels each, the upper two first.
    fn in_quads(self) -> Self;
    /// Lanes that are [quads](Self::in_quads) become rows.
    fn in_rows(self) -> Self;

    /// Of unsigned integers.
    #[inline(always)]
    fn is_below(self, limit: Self) -> Self::Mask {
        let sign = Self::all(1 << 31);
        (self ^ sign).less(limit ^ sign)
    }
}

/// Some of the lanes.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// A bit for each lane, the lowest for the first: 1 for those.
    fn bits(self) -> u32;

    /// Whether there is one.
    #[inline(always)]
    fn any(self) -> bool {
        self.bits() != 0
    }
}
