//! Set-up: what a primitive is on the screen. Edge functions in fixed point, which say exactly what is inside, and
//! planes, which give depth and barycentric coordinates anywhere.
//!
//! Positions are 16.8 fixed point (functional specification, 15.16), so an edge function is an integer below 2^49.
//! Planes are made in doubles, of the same positions or of those before they were rounded, and rounded once.

/// Steps of a coordinate in a pixel.
pub(super) const STEPS: i32 = 256;

/// `a * x + b * y + c` of a position in steps: 0 or more inside. The top-left rule (3.4.2.1) is part of `c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edge {
    pub a: i32,
    pub b: i32,
    pub c: i64,
}

impl Edge {
    /// What is to the right of the way from one point to another, on a screen whose y points down.
    #[inline(always)]
    pub fn between([x, y]: [i32; 2], [to_x, to_y]: [i32; 2]) -> Edge {
        let (dx, dy) = (to_x - x, to_y - y);
        let is_top_left = dy < 0 || (dy == 0 && dx > 0);
        let c = i64::from(dy) * i64::from(x) - i64::from(dx) * i64::from(y) - i64::from(!is_top_left);
        Edge { a: -dy, b: dx, c }
    }

    #[inline(always)]
    pub fn at(&self, x: i32, y: i32) -> i64 {
        i64::from(self.a) * i64::from(x) + i64::from(self.b) * i64::from(y) + self.c
    }

    /// The least and the most of it within so many steps to the right and downwards from where it has a value.
    #[inline(always)]
    pub fn range(&self, at: i64, [width, height]: [i32; 2]) -> [i64; 2] {
        let [a, b] = [i64::from(self.a) * i64::from(width), i64::from(self.b) * i64::from(height)];
        [at + a.min(0) + b.min(0), at + a.max(0) + b.max(0)]
    }
}

/// A corner on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ScreenVertex {
    /// Position in steps.
    pub at: [i32; 2],
    /// Position in pixels that planes are made with: the same, or what it was before it was rounded.
    pub plane_at: [f32; 2],
    pub z: f32,
    /// 1 / w.
    pub inverse_w: f32,
}

/// How coverage is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outline {
    /// Inside of the edges between three points.
    #[default]
    Triangle,
    /// Inside of the edges between four points.
    Rectangle,
    /// Pixels whose diamonds a line leaves, which goes from the first point to the second.
    Line,
}

/// Pixels, from left to right and top to bottom, the last ones excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Bounds {
    pub fn is_empty(&self) -> bool {
        self.left >= self.right || self.top >= self.bottom
    }

    pub fn intersect(&self, other: &Bounds) -> Bounds {
        Bounds {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// Pixels whose centres may be between points.
    pub fn of_centres(points: &[[i32; 2]; 3]) -> Bounds {
        let [x, y] = [0, 1].map(|axis| points.map(|point| point[axis]));
        let first = |places: [i32; 3]| (places[0].min(places[1]).min(places[2]) + STEPS / 2 - 1).div_euclid(STEPS);
        let end = |places: [i32; 3]| (places[0].max(places[1]).max(places[2]) - STEPS / 2).div_euclid(STEPS) + 1;
        Bounds { left: first(x), top: first(y), right: end(x), bottom: end(y) }
    }

    /// Pixels that points may touch, of which any part may hold a sample.
    pub fn of(points: &[[i32; 2]]) -> Bounds {
        let least = |axis: usize| points.iter().map(|point| point[axis]).min().unwrap_or(0).div_euclid(STEPS);
        let most = |axis: usize| points.iter().map(|point| point[axis]).max().unwrap_or(0).div_euclid(STEPS) + 1;
        Bounds { left: least(0), top: least(1), right: most(0), bottom: most(1) }
    }
}

/// A primitive on the screen.
///
/// It is made where it stays: to copy what has just been written piece by piece takes as long as to make it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub outline: Outline,
    /// The outline's points, in steps, clockwise.
    pub points: [[i32; 2]; 4],
    /// Pixels that may be covered.
    pub bounds: Bounds,
    /// Where the planes begin: the first corner, in pixels.
    pub origin: [f32; 2],
    /// Change of the second corner's barycentric coordinate a pixel to the right, and downwards.
    pub second: [f32; 2],
    /// Change of the third corner's.
    pub third: [f32; 2],
    /// Depth at the origin.
    pub depth: f32,
    /// Change of depth.
    pub slope: [f32; 2],
    /// 1 / w of the corners.
    pub inverse_w: [f32; 3],
    /// Rows of the corners' data.
    pub corners: [u32; 3],
    /// Row of the leading vertex.
    pub leading: u32,
    /// Number of the primitive in its draw.
    pub primitive: u32,
    /// Whether it faces the eye.
    pub is_front: bool,
    /// Slice of the targets.
    pub layer: u16,
    /// Number of the viewport, whose depths it is clamped to.
    pub viewport: u8,
}

/// Twice the area in steps, above 0 for corners that go clockwise on the screen.
pub(super) fn area([a, b, c]: [[i32; 2]; 3]) -> i64 {
    let wide = |to: [i32; 2], axis: usize| i64::from(to[axis]) - i64::from(a[axis]);
    wide(b, 0) * wide(c, 1) - wide(c, 0) * wide(b, 1)
}

impl Shape {
    fn set(&mut self, outline: Outline, corners: &[[i32; 2]], vertices: &[ScreenVertex; 3]) {
        let [first, ..] = vertices;
        self.outline = outline;
        self.points[..corners.len()].copy_from_slice(corners);
        self.origin = first.plane_at;
        self.depth = first.z;
        self.inverse_w = vertices.each_ref().map(|vertex| vertex.inverse_w);
        self.is_front = true;
    }

    /// Becomes a triangle whose corners go clockwise and have an area, without bounds yet.
    #[inline]
    pub fn set_triangle(&mut self, vertices: [ScreenVertex; 3]) {
        self.set(Outline::Triangle, &vertices.each_ref().map(|vertex| vertex.at), &vertices);
        self.set_planes(&vertices);
    }

    /// Becomes a square of one pixel about a point (3.4.6).
    pub fn set_point(&mut self, vertex: ScreenVertex) {
        let [x, y] = vertex.at;
        let half = STEPS / 2;
        let corners = [[x - half, y - half], [x + half, y - half], [x + half, y + half], [x - half, y + half]];
        self.set(Outline::Rectangle, &corners, &[vertex; 3]);
        self.bounds = Bounds::of(&corners);
    }

    /// Becomes a line of one pixel in each column or row (3.4.3).
    pub fn set_line(&mut self, from: ScreenVertex, to: ScreenVertex) {
        self.set(Outline::Line, &[from.at, to.at], &[from, to, from]);
        self.bounds = Bounds::of(&[from.at, to.at]);
        // What is between two pixels belongs to the one on the left, or above.
        self.bounds.left -= 1;
        self.bounds.top -= 1;
        self.along(from, to);
    }

    /// Becomes a rectangle about a line, 1.4 pixels wide (3.4.5); nothing if the line has no length.
    pub fn set_wide_line(&mut self, from: ScreenVertex, to: ScreenVertex) {
        let [dx, dy] = [0, 1].map(|axis| f64::from(to.at[axis]) - f64::from(from.at[axis]));
        let length = dx.hypot(dy);
        if length == 0.0 {
            return;
        }
        let half = 0.7 * f64::from(STEPS) / length;
        let aside = [(-dy * half).round_ties_even() as i32, (dx * half).round_ties_even() as i32];
        let beside = |at: [i32; 2], side: i32| [at[0] + side * aside[0], at[1] + side * aside[1]];
        let corners = [beside(from.at, -1), beside(to.at, -1), beside(to.at, 1), beside(from.at, 1)];
        self.set(Outline::Rectangle, &corners, &[from, to, from]);
        self.bounds = Bounds::of(&corners);
        self.along(from, to);
    }

    /// Its edges; those that it does not have, nothing is outside of.
    #[inline(always)]
    pub fn edges(&self) -> [Edge; 4] {
        let [a, b, c, d] = self.points;
        match self.outline {
            Outline::Triangle => [Edge::between(a, b), Edge::between(b, c), Edge::between(c, a), Edge::default()],
            Outline::Rectangle => [Edge::between(a, b), Edge::between(b, c), Edge::between(c, d), Edge::between(d, a)],
            Outline::Line => [Edge::default(); 4],
        }
    }

    /// The planes of a triangle.
    fn set_planes(&mut self, vertices: &[ScreenVertex; 3]) {
        let in_pixels = |vertex: &ScreenVertex| vertex.at.map(|steps| f64::from(steps) / f64::from(STEPS));
        let mut ways = Ways::new(vertices.each_ref().map(|vertex| vertex.plane_at.map(f64::from)));
        // Rounding may turn a sliver around, whose area then says nothing.
        if ways.twice_area <= 0.0 || ways.twice_area.is_nan() {
            self.origin = in_pixels(&vertices[0]).map(|at| at as f32);
            ways = Ways::new(vertices.each_ref().map(in_pixels));
        }
        let Ways { to_second: [right, down], to_third: [other_right, other_down], twice_area } = ways;
        let second = [other_down / twice_area, -other_right / twice_area];
        let third = [-down / twice_area, right / twice_area];
        let [rise, other_rise] = [1, 2].map(|n| f64::from(vertices[n].z) - f64::from(vertices[0].z));
        self.slope = std::array::from_fn(|axis| (rise * second[axis] + other_rise * third[axis]) as f32);
        [self.second, self.third] = [second, third].map(|plane| plane.map(|change| change as f32));
    }

    /// Planes that rise along a line and not across.
    fn along(&mut self, from: ScreenVertex, to: ScreenVertex) {
        let way = [0, 1].map(|axis| f64::from(to.plane_at[axis]) - f64::from(from.plane_at[axis]));
        let square = way[0] * way[0] + way[1] * way[1];
        if square > 0.0 {
            let rise = f64::from(to.z) - f64::from(from.z);
            self.second = way.map(|way| (way / square) as f32);
            self.slope = way.map(|way| (rise * way / square) as f32);
        }
    }
}

/// A triangle's ways from its first corner to the others, in pixels.
struct Ways {
    to_second: [f64; 2],
    to_third: [f64; 2],
    twice_area: f64,
}

impl Ways {
    fn new([first, second, third]: [[f64; 2]; 3]) -> Ways {
        let to = |corner: [f64; 2]| [corner[0] - first[0], corner[1] - first[1]];
        let (to_second, to_third) = (to(second), to(third));
        Ways { to_second, to_third, twice_area: to_second[0] * to_third[1] - to_second[1] * to_third[0] }
    }
}
