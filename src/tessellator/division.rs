//! An edge divided: where the points of one tessellation factor lie on [0, 1].
//!
//! Points lie symmetrically about the middle, so a division is one of half the edge. Between two whole divisions one
//! point of the half splits in two, which the *ruler function* chooses (Direct3D 11.3 functional specification,
//! 11.7.5). All of it is fixed point with 16 bits of fraction (11.7.14).

/// A number with 16 bits of fraction.
pub(super) type Fixed = u32;

/// 1.
pub(super) const ONE: Fixed = 1 << 16;
const HALF: Fixed = ONE / 2;

/// Whether an edge has an even or an odd number of segments. With an even one a point lies in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parity {
    Even,
    Odd,
}

/// An edge divided by one factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub parity: Parity,
    /// Points on the whole edge, both ends among them.
    pub points: u32,
    /// Points on half of it, the one in the middle not among them.
    pub half: u32,
    /// The point of the half behind which those of the coarser division have numbers less by one.
    split: u32,
    /// How far the division is on the way from the coarser to the finer one.
    fraction: Fixed,
    /// The length of a segment of the coarser and of the finer one.
    segments: [Fixed; 2],
}

impl Division {
    /// The division by a factor of at most 64. A factor of 1 has two segments if it is taken for even.
    pub fn new(factor: Fixed, parity: Parity) -> Division {
        let half_factor = factor.div_ceil(2);
        let odd = parity == Parity::Odd;
        // An odd division has half a segment in the middle, which counts as a whole one.
        let half = if odd || half_factor == HALF { half_factor + HALF } else { half_factor };
        let (floor, ceil) = (half / ONE, half.div_ceil(ONE));
        let split = match floor {
            _ if floor == ceil => ceil + 1,
            1 if odd => 0,
            _ => 2 * without_highest_bit(floor - u32::from(odd)) + 1,
        };
        Division {
            parity,
            points: 2 * ceil + u32::from(!odd),
            half: ceil,
            split,
            fraction: half % ONE,
            segments: [floor, ceil].map(|half| reciprocal(2 * half - u32::from(odd))),
        }
    }

    /// Where a point lies.
    pub fn place(&self, point: u32) -> Fixed {
        let mirrored = self.points - 1 - point;
        if self.parity == Parity::Even && mirrored == point {
            // A multiple of a rounded segment would miss it.
            return HALF;
        }
        let nearer = point.min(mirrored);
        let [coarser, finer] = self.segments;
        let coarser = coarser * (nearer - u32::from(nearer > self.split));
        let finer = finer * nearer;
        // Neither is more than 1/2, so that neither product nor sum is more than 2^31.
        let place = (coarser * (ONE - self.fraction) + finer * self.fraction + HALF) >> 16;
        if nearer == point { place } else { ONE - place }
    }
}

fn without_highest_bit(number: u32) -> u32 {
    number - (1 << number.ilog2())
}

/// One divided by a whole number, to the nearest.
fn reciprocal(divisor: u32) -> Fixed {
    (ONE + divisor / 2) / divisor
}

/// At which number of points on half an edge the point at a place of the finest division, 1 to 32 from the end, is
/// there: the ruler function. Coarse marks come first, each kind from the end to the middle.
pub(super) fn appears_behind(place: u32) -> u32 {
    match place - 1 {
        0 => 32,
        mark => (32 + mark) >> (mark.trailing_zeros() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_factors_divide_evenly() {
        for segments in 1..=64 {
            let parity = if segments % 2 == 0 { Parity::Even } else { Parity::Odd };
            let division = Division::new(segments * ONE, parity);
            assert_eq!(division.points, segments + 1);
            for point in 0..division.points {
                let even = f64::from(point) / f64::from(segments) * 65536.0;
                // A segment is rounded to half a unit, and there are at most 32 of them to the nearer end.
                assert!((f64::from(division.place(point)) - even).abs() <= 16.0, "{point} of {segments}");
            }
        }
    }

    #[test]
    fn places_mirror_exactly_and_rise() {
        for parity in [Parity::Even, Parity::Odd] {
            let least = if parity == Parity::Even { 2 * ONE } else { ONE };
            for factor in (least..=63 * ONE).step_by(977) {
                let division = Division::new(factor, parity);
                let places: Vec<u32> = (0..division.points).map(|point| division.place(point)).collect();
                assert!(places.is_sorted(), "{factor}");
                assert_eq!((places[0], places[places.len() - 1]), (0, ONE));
                assert!(places.iter().eq(places.iter().rev().map(|place| ONE - place).collect::<Vec<_>>().iter()));
            }
        }
    }

    #[test]
    fn each_point_of_the_finest_half_appears_once() {
        let mut numbers: Vec<u32> = (1..=32).map(appears_behind).collect();
        assert_eq!(numbers[..9], [32, 16, 8, 17, 4, 18, 9, 19, 2]);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..=32));
    }
}
