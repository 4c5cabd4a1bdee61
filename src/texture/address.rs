//! From coordinates to texels: the nearest one or the nearest two of a direction, and what stands for those beyond the
//! edge.

use super::AddressMode;

/// Where a sample lies along one direction: between two texels, which may be one. `None` is the border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub texels: [Option<u32>; 2],
    /// The weight of the second; the first has the rest.
    pub weight: f32,
}

impl Span {
    /// All of a direction that there is none of.
    pub const NONE: Span = Span { texels: [Some(0); 2], weight: 0.0 };

    /// The nearest texel.
    pub fn nearest(coordinate: f32, size: u32, mode: AddressMode, offset: i32) -> Span {
        let texel = apply(whole(reduce(coordinate, mode) * size as f32).0 + offset, size, mode);
        Span { texels: [texel; 2], weight: 0.0 }
    }

    /// The nearest two texels.
    pub fn linear(coordinate: f32, size: u32, mode: AddressMode, offset: i32) -> Span {
        let (first, weight) = whole(reduce(coordinate, mode) * size as f32 - 0.5);
        Span { texels: [first + offset, first + offset + 1].map(|texel| apply(texel, size, mode)), weight }
    }
}

/// The whole number below, and how far above it the value is: less than 1.
pub fn whole(value: f32) -> (i32, f32) {
    let floor = value.floor();
    let rest = value - floor;
    // Just below 0, the difference is rounded up.
    if rest < 1.0 { (floor as i32, rest) } else { (floor as i32 + 1, 0.0) }
}

/// Keeps coordinates so small that they can be scaled by any size, without a change of the texels (Direct3D 11.3
/// functional specification, 7.18.6). What is no number is 0.
fn reduce(coordinate: f32, mode: AddressMode) -> f32 {
    let reduced = match mode {
        AddressMode::Wrap => coordinate - coordinate.floor(),
        AddressMode::Mirror => {
            let half = coordinate / 2.0;
            (half - half.trunc()) * 2.0
        }
        AddressMode::Clamp | AddressMode::Border | AddressMode::MirrorOnce => coordinate.clamp(-10.0, 10.0),
    };
    if reduced.is_nan() { 0.0 } else { reduced }
}

/// The texel that stands for one of any number; `None` is the border.
fn apply(texel: i32, size: u32, mode: AddressMode) -> Option<u32> {
    let size = size as i32;
    let last = size - 1;
    let texel = match mode {
        AddressMode::Wrap => texel.rem_euclid(size),
        AddressMode::Mirror => {
            let place = texel.rem_euclid(2 * size);
            place.min(2 * size - 1 - place)
        }
        AddressMode::Clamp => texel.clamp(0, last),
        AddressMode::MirrorOnce => (if texel < 0 { -1 - texel } else { texel }).min(last),
        AddressMode::Border if (0..size).contains(&texel) => texel,
        AddressMode::Border => return None,
    };
    Some(texel as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};

    fn texels(mode: AddressMode) -> Vec<Option<u32>> {
        (-5..8).map(|texel| apply(texel, 3, mode)).collect()
    }

    #[test]
    fn every_mode_says_what_is_beyond_the_edge() {
        let some = |texels: [u32; 13]| texels.map(Some).to_vec();
        assert_eq!(texels(Wrap), some([1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]));
        assert_eq!(texels(Mirror), some([1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]));
        assert_eq!(texels(Clamp), some([0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]));
        assert_eq!(texels(MirrorOnce), some([2, 2, 2, 1, 0, 0, 1, 2, 2, 2, 2, 2, 2]));
        let inside = [None, None, None, None, None, Some(0), Some(1), Some(2), None, None, None, None, None];
        assert_eq!(texels(Border), inside);
    }

    #[test]
    fn the_nearest_texel_is_the_one_the_coordinate_is_in() {
        let nearest = |coordinate, mode, offset| Span::nearest(coordinate, 4, mode, offset).texels[0];
        assert_eq!([0.0, 0.24, 0.25, 0.99, 1.0].map(|u| nearest(u, Wrap, 0)), [0, 0, 1, 3, 0].map(Some));
        assert_eq!(nearest(1.0, Clamp, 0), Some(3));
        assert_eq!(nearest(1.0, Border, 0), None);
        assert_eq!(nearest(1.0, Border, -1), Some(3));
        assert_eq!(nearest(-0.1, Border, 1), Some(0));
        assert_eq!(nearest(0.9, Wrap, 1), Some(0));
        assert_eq!(nearest(-1.1, Mirror, 0), Some(3));
        assert_eq!(nearest(1e9, Mirror, 0), Some(0));
    }

    #[test]
    fn linear_weights_are_distances_from_centres() {
        let linear = |coordinate, mode| Span::linear(coordinate, 4, mode, 0);
        assert_eq!(linear(0.125, Wrap), Span { texels: [Some(0), Some(1)], weight: 0.0 });
        assert_eq!(linear(0.25, Wrap), Span { texels: [Some(0), Some(1)], weight: 0.5 });
        assert_eq!(linear(0.0, Wrap), Span { texels: [Some(3), Some(0)], weight: 0.5 });
        assert_eq!(linear(0.0, Border), Span { texels: [None, Some(0)], weight: 0.5 });
        assert_eq!(linear(1.0, Clamp), Span { texels: [Some(3), Some(3)], weight: 0.5 });
        assert_eq!(linear(0.9375, Mirror), Span { texels: [Some(3), Some(3)], weight: 0.25 });
    }

    #[test]
    fn any_coordinate_is_somewhere() {
        let hostile = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e-45, -1e-45, 16777217.0];
        for (coordinate, mode) in
            hostile.into_iter().flat_map(|u| [Wrap, Mirror, Clamp, MirrorOnce].map(|mode| (u, mode)))
        {
            for size in [1, 3, 16384] {
                for offset in [-32, 0, 31] {
                    let nearest = Span::nearest(coordinate, size, mode, offset);
                    let linear = Span::linear(coordinate, size, mode, offset);
                    for texel in nearest.texels.into_iter().chain(linear.texels) {
                        assert!(texel.is_some_and(|texel| texel < size), "{coordinate} {mode:?} {size} {offset}");
                    }
                    assert!((0.0..1.0).contains(&linear.weight), "{coordinate} {mode:?} {size}: {}", linear.weight);
                }
            }
        }
    }
}
