//! From coordinates to texels: the nearest two of a direction with their weights, and what stands for those beyond the
//! edge (Direct3D 11.3 functional specification, 7.18.5 to 7.18.9).

use super::AddressMode;
use super::lanes::{bounded, fixed, float, number, whole, word};
use crate::simd::{Floats, Words};

/// The number of no texel: the border.
pub const BORDER: u32 = u32::MAX;

/// Where each lane's sample lies along one direction: between two texels.
#[derive(Clone, Copy)]
pub struct Span<F: Floats> {
    pub texels: [F::Words; 2],
    /// The weight of the second; the first has the rest.
    pub weight: F,
}

impl<F: Floats> Span<F> {
    /// One texel, with all of the weight.
    #[inline(always)]
    pub fn one(texel: F::Words) -> Span<F> {
        Span { texels: [texel; 2], weight: float(0.0) }
    }
}

/// How coordinates of one direction become texels.
#[derive(Clone, Copy)]
pub struct Direction<F: Floats> {
    /// Texels there are, at most 2^14.
    pub size: F::Words,
    /// Whether all sizes are powers of two.
    pub is_power_of_two: bool,
    /// What stands for those beyond the edge.
    pub mode: AddressMode,
    /// Added to the texels, at most 2^6 from zero.
    pub offset: Option<F::Words>,
    /// Whether places are rounded to eight bits of fraction.
    pub is_fixed: bool,
}

impl<F: Floats> Direction<F> {
    /// The nearest two texels of the lanes where `shift` is half a texel; the nearest one, with all of the weight,
    /// where it is 0. The coordinate is [reduced](reduced).
    #[inline(always)]
    pub fn span(&self, coordinate: F, shift: F) -> Span<F> {
        let (mut first, weight) = place(coordinate, self.size, shift, self.is_fixed);
        if let Some(offset) = self.offset {
            first = first + offset;
        }
        Span { texels: [self.apply(first), self.apply(first + word::<F>(1))], weight }
    }

    /// The texels that stand for those of any number.
    #[inline(always)]
    fn apply(&self, texel: F::Words) -> F::Words {
        let (size, zero) = (self.size, word::<F>(0));
        let last = size - word::<F>(1);
        match self.mode {
            AddressMode::Wrap if self.is_power_of_two => texel & last,
            // Without offsets they are at most one beyond the edge, or two, with no weight.
            AddressMode::Wrap if self.offset.is_none() => {
                let texel = (texel + size).or_where_not(texel.less(zero), texel);
                texel.or_where_not(texel.less(size), texel - size).min(last)
            }
            AddressMode::Wrap => remainder::<F>(texel, size),
            AddressMode::Mirror => {
                let place = remainder::<F>(texel, size + size);
                place.min(size + last - place)
            }
            AddressMode::Clamp => texel.max(zero).min(last),
            // -1 is 0, -2 is 1.
            AddressMode::MirrorOnce => texel.max(word::<F>(u32::MAX) - texel).min(last),
            AddressMode::Border => texel.or_where_not(texel.is_below(size), word::<F>(BORDER)),
        }
    }
}

/// A coordinate near the texture that stands for the same texels, of any level.
#[inline(always)]
pub fn reduced<F: Floats>(coordinate: F, mode: AddressMode) -> F {
    match mode {
        // What is no number becomes 0, the second of the two.
        AddressMode::Wrap => (coordinate - coordinate.floor()).max(float(0.0)),
        AddressMode::Mirror => {
            let half = coordinate * float(0.5);
            number((half - half.trunc()) * float(2.0))
        }
        AddressMode::Clamp | AddressMode::Border | AddressMode::MirrorOnce => bounded(number(coordinate), -10.0, 10.0),
    }
}

/// The texel at or below each lane's coordinate, which is no NaN and at most 10 from zero, and how far above it that
/// is.
#[inline(always)]
pub fn place<F: Floats>(coordinate: F, size: F::Words, shift: F, is_fixed: bool) -> (F::Words, F) {
    let mut scaled = coordinate * size.to_floats() - shift;
    if is_fixed {
        scaled = fixed(scaled);
    }
    let (first, weight) = whole(scaled);
    (first, float::<F>(0.0).or_where_not(shift.equals(float(0.0)), weight))
}

/// The remainder of a floored division, of numbers of less than 2^17. The quotient of floats is rounded, but never onto
/// a whole number that it does not have: it is farther from any than 1 in 2^17 of itself.
#[inline(always)]
fn remainder<F: Floats>(number: F::Words, divisor: F::Words) -> F::Words {
    let quotient = (number.to_floats() / divisor.to_floats()).floor();
    number - quotient.to_integers() * divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Array;
    use crate::simd::array::Floats8;
    use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};

    fn words(of: impl Fn(usize) -> i32) -> <Floats8 as Floats>::Words {
        let array: Array = std::array::from_fn(|lane| of(lane) as u32);
        Words::from_array(&array)
    }

    #[test]
    fn remainders_are_those_of_integers() {
        for divisor in (1..=64).chain([127, 1000, 16383, 16384, 32766, 32768]) {
            for number in (-33_000..33_000).step_by(if divisor > 64 { 1 } else { 7 }) {
                let found = remainder::<Floats8>(words(|_| number), words(|_| divisor)).to_array()[0];
                assert_eq!(found as i32, number.rem_euclid(divisor), "{number} by {divisor}");
            }
        }
    }

    #[test]
    fn every_mode_says_what_is_beyond_the_edge() {
        let texels = |mode, offset: Option<i32>| -> Vec<i32> {
            let offset = offset.map(|offset| words(|_| offset));
            let (size, is_fixed) = (words(|_| 3), false);
            let direction = Direction::<Floats8> { size, is_power_of_two: false, mode, offset, is_fixed };
            let both = [-5, 3].map(|first| direction.apply(words(|lane| first + lane as i32)).to_array());
            both[0][..8].iter().chain(&both[1][..5]).map(|&texel| texel as i32).collect()
        };
        let some = Some(0);
        assert_eq!(texels(Wrap, some), [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(texels(Wrap, None)[4..9], [2, 0, 1, 2, 0]);
        let four = Direction::<Floats8> {
            size: words(|_| 4),
            is_power_of_two: true,
            mode: Wrap,
            offset: None,
            is_fixed: false,
        };
        assert_eq!(four.apply(words(|lane| lane as i32 - 5)).to_array()[..8], [3, 0, 1, 2, 3, 0, 1, 2]);
        assert_eq!(texels(Mirror, None), [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert_eq!(texels(Clamp, None), [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(texels(MirrorOnce, None), [2, 2, 2, 1, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(texels(Border, None), [-1, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1]);
    }

    #[test]
    fn any_coordinate_is_somewhere() {
        let hostile = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e-45, -1e-45, 16777217.0];
        for mode in [Wrap, Mirror, Clamp, MirrorOnce] {
            for size in [1, 3, 16384] {
                for offset in [None, Some(-32), Some(31)] {
                    for shift in [0.0, 0.5] {
                        let offset = offset.map(|offset| words(|_| offset));
                        let direction = Direction::<Floats8> {
                            size: words(|_| size),
                            is_power_of_two: size != 3,
                            mode,
                            offset,
                            is_fixed: shift == 0.5,
                        };
                        let coordinates = words(|lane| hostile[lane % 8].to_bits() as i32).as_floats();
                        let span = direction.span(reduced(coordinates, mode), Floats8::all(shift));
                        for texels in span.texels.map(|texels| texels.to_array()) {
                            assert!(
                                texels[..8].iter().all(|&texel| texel < size as u32),
                                "{mode:?} {size}: {texels:?}"
                            );
                        }
                        let weights = span.weight.bits().to_array().map(f32::from_bits);
                        assert!(weights[..8].iter().all(|weight| (0.0..1.0).contains(weight)));
                    }
                }
            }
        }
    }
}
