//! The fixed-function tessellator of Direct3D 11: factors in, domain points and what connects them out.
//!
//! Written from the Direct3D 11.3 functional specification, chapter 11. Points and triangles, their order included, are
//! those of its reference tessellator, all in its fixed point with 16 bits of fraction: neighbours that share a factor
//! share the points of the edge, bit for bit.
//!
//! ```
//! use shaderjit::tessellator::{Domain, Factors, Output, Partitioning, Tessellation, Tessellator};
//!
//! let tessellator = Tessellator::new(Domain::Quad, Partitioning::Integer, Output::TriangleCw);
//! let tessellator = tessellator.expect("quads have triangles");
//! let mut patch = Tessellation::default();
//! tessellator.tessellate(&Factors { edges: [2.0; 4], inside: [2.0; 2] }, &mut patch);
//! assert_eq!((patch.points.len(), patch.indices.len() / 3), (9, 8));
//! assert_eq!(patch.points[8], [0.5, 0.5, 0.0]);
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `factors` | what factors count as |
//! | `division` | where points lie on an edge |
//! | `points` | where they lie on the domain |
//! | `stitch` | the triangles between them |
//! | `modes` | what shaders say of all that |

mod division;
mod factors;
mod modes;
mod points;
mod stitch;
#[cfg(test)]
mod tests;

use division::ONE;
pub use modes::TessellationModes;
use points::Point;
use std::fmt;

/// What is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Lines of constant v on a square.
    Isoline,
    /// A triangle in barycentric coordinates u, v and w.
    Tri,
    /// A square with coordinates u and v.
    Quad,
}

impl Domain {
    /// How many edge factors it has: of an isoline patch the density and the detail.
    pub fn edges(self) -> usize {
        match self {
            Domain::Isoline => 2,
            Domain::Tri => 3,
            Domain::Quad => 4,
        }
    }

    /// How many inside factors it has.
    pub fn insides(self) -> usize {
        match self {
            Domain::Isoline => 0,
            Domain::Tri => 1,
            Domain::Quad => 2,
        }
    }
}

/// How edges are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Partitioning {
    /// Into as many segments of equal length as the factor, rounded up, says.
    Integer,
    /// As [`Integer`](Self::Integer): that factors are powers of two is up to the hull shader.
    Pow2,
    /// Into an odd number of segments, two of which grow with the factor.
    FractionalOdd,
    /// Into an even number of segments, two of which grow with the factor.
    FractionalEven,
}

/// What is made of the domain points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Each point once.
    Point,
    /// The segments of lines.
    Line,
    /// Triangles that run from u to v.
    TriangleCw,
    /// Triangles that run from v to u.
    TriangleCcw,
}

impl Output {
    /// Vertices of a primitive.
    pub fn vertices(self) -> usize {
        match self {
            Output::Point => 1,
            Output::Line => 2,
            Output::TriangleCw | Output::TriangleCcw => 3,
        }
    }
}

/// Tessellation factors of a patch, as a hull shader writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Factors {
    /// Of the edges `u = 0`, `v = 0` and `w = 0` of a triangle; `u = 0`, `v = 0`, `u = 1` and `v = 1` of a quad. For
    /// isolines how many lines there are, and how many segments a line has. The rest is not looked at.
    pub edges: [f32; 4],
    /// Of the inside of a triangle; along u and v for a quad.
    pub inside: [f32; 2],
}

/// The points of a patch and what connects them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tessellation {
    /// Domain locations: u, v, and for triangles w.
    pub points: Vec<[f32; 3]>,
    /// Which points make the primitives, one primitive behind the other. A patch has less than 2^16 points.
    pub indices: Vec<u16>,
}

/// Divides patches one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tessellator {
    domain: Domain,
    partitioning: Partitioning,
    output: Output,
}

impl Tessellator {
    /// `None` for an output that the domain does not have: lines are of isolines, triangles of the others.
    pub fn new(domain: Domain, partitioning: Partitioning, output: Output) -> Option<Tessellator> {
        let fits = match output {
            Output::Point => true,
            Output::Line => domain == Domain::Isoline,
            Output::TriangleCw | Output::TriangleCcw => domain != Domain::Isoline,
        };
        fits.then_some(Tessellator { domain, partitioning, output })
    }

    /// What it divides.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// What it makes.
    pub fn output(&self) -> Output {
        self.output
    }

    /// Divides a patch. Nothing is left of one with an edge factor that is NaN or not above 0.
    pub fn tessellate(&self, factors: &Factors, into: &mut Tessellation) {
        into.points.clear();
        into.indices.clear();
        if factors::is_culled(self.domain, factors) {
            return;
        }
        if self.domain == Domain::Isoline {
            return self.lines(factors, into);
        }
        let divisions = factors::divisions(self.domain, self.partitioning, factors);
        let Tessellation { points, indices } = into;
        let is_triangle = self.domain == Domain::Tri;
        let add = |point| points.push(location(point, is_triangle));
        let mirrored = self.output == Output::TriangleCcw;
        let mut connect = |triangle: [u32; 3]| {
            let [a, b, c] = triangle.map(|point| point as u16);
            indices.extend(if mirrored { [a, c, b] } else { [a, b, c] });
        };
        if is_triangle {
            points::triangle(&divisions, add);
        } else {
            points::quad(&divisions, add);
        }
        match self.output {
            Output::Point => indices.extend(0..points.len() as u16),
            _ if is_triangle => stitch::triangle(&divisions, &mut connect),
            _ => stitch::quad(&divisions, &mut connect),
        }
    }

    fn lines(&self, factors: &Factors, into: &mut Tessellation) {
        let lines = factors::lines(self.partitioning, factors);
        points::lines(&lines, |point| into.points.push(location(point, false)));
        let points = into.points.len() as u16;
        if self.output == Output::Point {
            into.indices.extend(0..points);
        } else {
            let ends_line = |point: &u16| (u32::from(*point) + 1).is_multiple_of(lines.detail.points);
            let segments = (0..points).filter(|point| !ends_line(point));
            into.indices.extend(segments.flat_map(|point| [point, point + 1]));
        }
    }
}

fn location([u, v]: Point, is_triangle: bool) -> [f32; 3] {
    let w = if is_triangle { ONE - u - v } else { 0 };
    // 17 bits at most, so every step is exact.
    [u, v, w].map(|fixed| fixed as f32 / ONE as f32)
}

/// One line a point, one line a primitive.
impl fmt::Display for Tessellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, [u, v, w]) in self.points.iter().enumerate() {
            writeln!(f, "point {number}: {u} {v} {w}")?;
        }
        writeln!(f, "indices: {:?}", self.indices)
    }
}
