//! From coordinates to texels: the nearest one or the nearest two of a direction, and what stands for those beyond the
//! edge.

use crate::texture::{AddressMode, Precision};

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
    pub fn nearest(coordinate: f32, size: u32, mode: AddressMode, offset: i32, precision: Precision) -> Span {
        let texel = apply(whole(snap(reduce(coordinate, mode) * size as f32, precision)).0 + offset, size, mode);
        Span { texels: [texel; 2], weight: 0.0 }
    }

    /// The nearest two texels.
    pub fn linear(coordinate: f32, size: u32, mode: AddressMode, offset: i32, precision: Precision) -> Span {
        let (first, weight) = whole(snap(reduce(coordinate, mode) * size as f32 - 0.5, precision));
        Span { texels: [first + offset, first + offset + 1].map(|texel| apply(texel, size, mode)), weight }
    }
}

/// As exact as a sampler is.
pub fn snap(value: f32, precision: Precision) -> f32 {
    match precision {
        Precision::Float => value,
        Precision::Fixed8 => (value * 256.0).round_ties_even() / 256.0,
    }
}

/// The whole number below, and how far above it the value is: less than 1.
pub fn whole(value: f32) -> (i32, f32) {
    let floor = value.floor();
    // Just below 0, the difference is rounded up.
    (floor as i32, (value - floor).min(1.0f32.next_down()))
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
