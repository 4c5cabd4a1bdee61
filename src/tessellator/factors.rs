//! What tessellation factors count as: patches that are culled, clamping, rounding (Direct3D 11.3 functional
//! specification, 11.7.10 to 11.7.12).

use super::division::{Division, Fixed, ONE, Parity};
use super::{Domain, Factors, Partitioning};

/// The edges of a patch and the axes of its inside, divided.
pub(super) struct Divisions {
    pub edges: [Division; 4],
    /// The axes u and v. A triangle has one, which stands here twice.
    pub inside: [Division; 2],
    /// Whether all factors are 1 and one segment is what that means: the patch has no inside.
    pub undivided: bool,
}

/// The lines of an isoline patch: how many there are, and each of them.
pub(super) struct Lines {
    pub density: Division,
    pub detail: Division,
}

/// The distance of two fixed-point numbers.
const EPSILON: f32 = 1.0 / 65536.0;

/// The range of factors.
fn range(partitioning: Partitioning) -> (f32, f32) {
    match partitioning {
        Partitioning::Integer | Partitioning::Pow2 => (1.0, 64.0),
        Partitioning::FractionalEven => (2.0, 64.0),
        Partitioning::FractionalOdd => (1.0, 63.0),
    }
}

/// Clamps as the specification's `min` and `max` do, for which NaN is the lower bound.
fn clamp(factor: f32, (lower, upper): (f32, f32)) -> f32 {
    factor.max(lower).min(upper)
}

fn is_integer(partitioning: Partitioning) -> bool {
    matches!(partitioning, Partitioning::Integer | Partitioning::Pow2)
}

/// To fixed point, to the nearest and ties to even.
fn to_fixed(factor: f32) -> Fixed {
    (factor * ONE as f32).round_ties_even() as Fixed
}

/// How a clamped factor divides.
fn parity(partitioning: Partitioning, factor: f32) -> Parity {
    match partitioning {
        Partitioning::FractionalEven => Parity::Even,
        Partitioning::FractionalOdd => Parity::Odd,
        _ if factor % 2.0 == 0.0 => Parity::Even,
        _ => Parity::Odd,
    }
}

/// Whether the patch is left out.
pub(super) fn is_culled(domain: Domain, factors: &Factors) -> bool {
    let edges = &factors.edges[..domain.edges()];
    edges.iter().any(|factor| factor.is_nan() || *factor <= 0.0)
}

/// The divisions of a triangle or quad that is not culled.
pub(super) fn divisions(domain: Domain, partitioning: Partitioning, factors: &Factors) -> Divisions {
    let range = range(partitioning);
    let whole = |factor: f32| if is_integer(partitioning) { factor.ceil() } else { factor };
    let edges = factors.edges.map(|factor| whole(clamp(factor, range)));
    let axes = if domain == Domain::Tri { [factors.inside[0]; 2] } else { factors.inside };
    let mut all = edges[..domain.edges()].iter().chain(&axes);
    // An inside that could vanish is kept as long as anything else is divided.
    let kept = partitioning == Partitioning::FractionalOdd && all.any(|&factor| factor > 1.0 + EPSILON / 2.0);
    let lower = if kept { 1.0 + EPSILON } else { range.0 };
    let inside = axes.map(|factor| whole(clamp(factor, (lower, range.1))));
    let mut clamped = edges[..domain.edges()].iter().chain(&inside);
    Divisions {
        undivided: partitioning != Partitioning::FractionalEven && clamped.all(|&factor| to_fixed(factor) == ONE),
        edges: edges.map(|factor| Division::new(to_fixed(factor), parity(partitioning, factor))),
        inside: inside.map(|factor| {
            // Rounded to 1 beside other factors, an inside is a point, as with 2.
            let point = is_integer(partitioning) && factor == 1.0;
            let parity = if point { Parity::Even } else { parity(partitioning, factor) };
            Division::new(to_fixed(factor), parity)
        }),
    }
}

/// The lines of an isoline patch that is not culled.
pub(super) fn lines(partitioning: Partitioning, factors: &Factors) -> Lines {
    let [density, detail, ..] = factors.edges;
    let divide = |partitioning, factor| {
        let factor = clamp(factor, range(partitioning));
        let factor = if is_integer(partitioning) { factor.ceil() } else { factor };
        Division::new(to_fixed(factor), parity(partitioning, factor))
    };
    Lines { density: divide(Partitioning::Integer, density), detail: divide(partitioning, detail) }
}
