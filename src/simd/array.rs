//! Vectors of eight lanes as arrays, for any machine: the compiler makes of them what it has.

use super::{Array, Floats, Mask, Task, Words};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

const LANES: usize = 8;

/// Eight floats.
#[derive(Clone, Copy, Debug)]
pub struct Floats8([f32; LANES]);

/// Eight words.
#[derive(Clone, Copy, Debug)]
pub struct Words8([u32; LANES]);

/// Some of eight lanes.
#[derive(Clone, Copy, Debug)]
pub struct Mask8([bool; LANES]);

/// What each lane gets. Written out, for compilers take minutes over the thousands of loops that a filter would have.
#[inline(always)]
fn each<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
}

macro_rules! operators {
    ($( $trait:ident $method:ident $ty:ident |$a:ident, $b:ident| $result:expr; )*) => {
        $(
            impl $trait for $ty {
                type Output = $ty;

                #[inline(always)]
                fn $method(self, other: $ty) -> $ty {
                    $ty(each(|lane| {
                        let ($a, $b) = (self.0[lane], other.0[lane]);
                        $result
                    }))
                }
            }
        )*
    };
}
operators! {
    Add add Floats8 |a, b| a + b;
    Sub sub Floats8 |a, b| a - b;
    Mul mul Floats8 |a, b| a * b;
    Div div Floats8 |a, b| a / b;
    Add add Words8 |a, b| a.wrapping_add(b);
    Sub sub Words8 |a, b| a.wrapping_sub(b);
    Mul mul Words8 |a, b| a.wrapping_mul(b);
    BitAnd bitand Words8 |a, b| a & b;
    BitOr bitor Words8 |a, b| a | b;
    BitXor bitxor Words8 |a, b| a ^ b;
    BitAnd bitand Mask8 |a, b| a & b;
    BitOr bitor Mask8 |a, b| a | b;
}

impl Not for Mask8 {
    type Output = Mask8;

    #[inline(always)]
    fn not(self) -> Mask8 {
        Mask8(each(|lane| !self.0[lane]))
    }
}

impl Mask for Mask8 {
    #[inline(always)]
    fn bits(self) -> u32 {
        let [a, b, c, d, e, f, g, h] = each(|lane| u32::from(self.0[lane]) << lane);
        a | b | c | d | e | f | g | h
    }
}

impl Floats for Floats8 {
    const LANES: usize = LANES;
    type Words = Words8;
    type Mask = Mask8;

    #[inline(never)]
    fn apart<T: Task<Floats8>>(task: T) -> T::Output {
        task.run()
    }

    #[inline(always)]
    fn all(value: f32) -> Floats8 {
        Floats8([value; LANES])
    }

    #[inline(always)]
    fn bits(self) -> Words8 {
        Words8(each(|lane| self.0[lane].to_bits()))
    }

    #[inline(always)]
    fn to_integers(self) -> Words8 {
        Words8(each(|lane| self.0[lane] as i32 as u32))
    }

    #[inline(always)]
    fn floor(self) -> Floats8 {
        Floats8(each(|lane| self.0[lane].floor()))
    }

    #[inline(always)]
    fn trunc(self) -> Floats8 {
        Floats8(each(|lane| self.0[lane].trunc()))
    }

    #[inline(always)]
    fn round(self) -> Floats8 {
        Floats8(each(|lane| self.0[lane].round_ties_even()))
    }

    #[inline(always)]
    fn sqrt(self) -> Floats8 {
        Floats8(each(|lane| self.0[lane].sqrt()))
    }

    #[inline(always)]
    fn min(self, other: Floats8) -> Floats8 {
        Floats8(each(|lane| if self.0[lane] < other.0[lane] { self.0[lane] } else { other.0[lane] }))
    }

    #[inline(always)]
    fn max(self, other: Floats8) -> Floats8 {
        Floats8(each(|lane| if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] }))
    }

    #[inline(always)]
    fn exact_product_plus(self, factor: Floats8, term: Floats8) -> Floats8 {
        self * factor + term
    }

    #[inline(always)]
    fn less(self, other: Floats8) -> Mask8 {
        Mask8(each(|lane| self.0[lane] < other.0[lane]))
    }

    #[inline(always)]
    fn equals(self, other: Floats8) -> Mask8 {
        Mask8(each(|lane| self.0[lane] == other.0[lane]))
    }
}

impl Words for Words8 {
    type Floats = Floats8;
    type Mask = Mask8;

    #[inline(always)]
    fn all(value: u32) -> Words8 {
        Words8([value; LANES])
    }

    #[inline(always)]
    fn from_array(array: &Array) -> Words8 {
        Words8(each(|lane| array[lane]))
    }

    #[inline(always)]
    fn to_array(self) -> Array {
        let mut array = [0; _];
        array[..LANES].copy_from_slice(&self.0);
        array
    }

    #[inline(always)]
    fn as_floats(self) -> Floats8 {
        Floats8(each(|lane| f32::from_bits(self.0[lane])))
    }

    #[inline(always)]
    fn to_floats(self) -> Floats8 {
        Floats8(each(|lane| self.0[lane] as i32 as f32))
    }

    #[inline(always)]
    fn shl(self, bits: u32) -> Words8 {
        Words8(each(|lane| self.0[lane] << (bits % 32)))
    }

    #[inline(always)]
    fn shr(self, bits: u32) -> Words8 {
        Words8(each(|lane| self.0[lane] >> (bits % 32)))
    }

    #[inline(always)]
    fn sar(self, bits: u32) -> Words8 {
        Words8(each(|lane| (self.0[lane] as i32 >> (bits % 32)) as u32))
    }

    #[inline(always)]
    fn byte(self, number: u32) -> Words8 {
        self.shr(8 * (number % 4)) & Words8::all(0xff)
    }

    #[inline(always)]
    fn shifted_by(self, bits: Words8) -> Words8 {
        Words8(each(|lane| self.0[lane] >> (bits.0[lane] % 32)))
    }

    #[inline(always)]
    fn min(self, other: Words8) -> Words8 {
        Words8(each(|lane| (self.0[lane] as i32).min(other.0[lane] as i32) as u32))
    }

    #[inline(always)]
    fn max(self, other: Words8) -> Words8 {
        Words8(each(|lane| (self.0[lane] as i32).max(other.0[lane] as i32) as u32))
    }

    #[inline(always)]
    fn less(self, other: Words8) -> Mask8 {
        Mask8(each(|lane| (self.0[lane] as i32) < other.0[lane] as i32))
    }

    #[inline(always)]
    fn equals(self, other: Words8) -> Mask8 {
        Mask8(each(|lane| self.0[lane] == other.0[lane]))
    }

    #[inline(always)]
    fn or_where_not(self, mask: Mask8, other: Words8) -> Words8 {
        Words8(each(|lane| if mask.0[lane] { self.0[lane] } else { other.0[lane] }))
    }

    #[inline]
    fn look_up(self, words: &[[u8; 4]]) -> Words8 {
        Words8(each(|lane| words.get(self.0[lane] as usize).map_or(0, |&word| u32::from_le_bytes(word))))
    }

    #[inline]
    fn look_up_pairs(self, words: &[[u8; 4]]) -> [Words8; 2] {
        let pairs = each(|lane| match words.get(self.0[lane] as usize..) {
            Some(&[first, second, ..]) => [u32::from_le_bytes(first), u32::from_le_bytes(second)],
            _ => [0; 2],
        });
        [Words8(each(|lane| pairs[lane][0])), Words8(each(|lane| pairs[lane][1]))]
    }

    #[inline]
    fn entries_of(self, table: &[u32; 16]) -> Words8 {
        Words8(each(|lane| table[self.0[lane] as usize % 16]))
    }

    #[inline(always)]
    fn in_quads(self) -> Words8 {
        let [a, b, c, d, e, f, g, h] = self.0;
        Words8([a, b, e, f, c, d, g, h])
    }

    #[inline(always)]
    fn in_rows(self) -> Words8 {
        self.in_quads()
    }
}
