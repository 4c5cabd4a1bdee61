//! Primitives on their way to the screen: culling by distances, clipping, the viewport, snapping, facing, depth bias
//! (functional specification, 15.4 to 15.12).

use super::clip::{Corner, Polygon, screen_weights};
use super::depth::bias_step;
use super::link::{Link, PlaneSource};
use super::shape::{Bounds, STEPS, ScreenVertex, Shape, area};
use super::state::{CullMode, FillMode, RasterizerState, Scissor, Viewport};
use super::target::TargetLayout;
use super::vertices::{ShadedVertices, SystemValues};
use crate::frontend::pixel::Interpolation;

/// A corner that is none of the vertices, but the result of clipping: its number among those.
pub(super) const CLIPPED: u32 = 1 << 31;

/// Least w that is drawn: the volume is open there.
const LEAST_W: f64 = 1e-30;

/// Pixels from 0 that 16 bits before the point reach.
const FARTHEST: f32 = 32768.0;

/// Sides of the frustum that a vertex is beyond, and why it may not be drawn as it is.
mod outside {
    pub const SIDES: u16 = 0b1111;
    pub const NEAR: u16 = 1 << 4;
    pub const FAR: u16 = 1 << 5;
    /// w is not above 0, a component is no number, x or y is beyond the guard band, or a clip distance is below 0.
    pub const CLIP: u16 = 1 << 6;
}

/// A vertex on the screen, if it is not to be clipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placed {
    vertex: ScreenVertex,
    outside: u16,
}

/// A viewport, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    viewport: Viewport,
    /// Pixels that may be drawn.
    bounds: Bounds,
    /// Least and most x / w, and y / w, whose pixels have numbers of 16 bits.
    guard: [[f64; 2]; 2],
    /// Whether planes are made with positions before they are rounded.
    has_exact_planes: bool,
}

impl View {
    pub fn new(
        viewport: Viewport,
        scissor: Option<&Scissor>,
        [width, height]: [u32; 2],
        has_exact_planes: bool,
    ) -> View {
        // The implicit scissor is rounded down (15.7).
        let edge = |at: f32| at.floor() as i32;
        let Viewport { x, y, width: across, height: down, .. } = viewport;
        let mut bounds = Bounds { left: edge(x), top: edge(y), right: edge(x + across), bottom: edge(y + down) };
        bounds = bounds.intersect(&Bounds { left: 0, top: 0, right: width as i32, bottom: height as i32 });
        if let Some(&Scissor { left, top, right, bottom }) = scissor {
            bounds = bounds.intersect(&Bounds { left, top, right, bottom });
        }
        let most = |start: f32, size: f32| {
            let (start, half) = (f64::from(start), f64::from(size).max(1e-6) / 2.0);
            let pixel = f64::from(FARTHEST) - 1.0;
            [(-pixel - start) / half - 1.0, (pixel - start) / half - 1.0]
        };
        let [above, below] = most(y, down);
        View { viewport, bounds, guard: [most(x, across), [-below, -above]], has_exact_planes }
    }

    fn project(&self, [x, y, z, w]: [f32; 4]) -> ScreenVertex {
        let Viewport { x: left, y: top, width, height, min_depth, max_depth } = self.viewport;
        let snap = |at: f32| (at * STEPS as f32).round_ties_even() as i32;
        // A corner of clipping lies where numbers of very different size were mixed: rounding may leave it beyond the
        // guard band, or make it no number. `max` then takes the bound.
        #[expect(clippy::manual_clamp, reason = "`clamp` leaves a NaN one")]
        let within = |at: f32| at.max(-FARTHEST).min(FARTHEST);
        let x = within((x / w + 1.0) * width * 0.5 + left);
        let y = within((1.0 - y / w) * height * 0.5 + top);
        let at = [snap(x), snap(y)];
        let plane_at = if self.has_exact_planes { [x, y] } else { at.map(|steps| steps as f32 / STEPS as f32) };
        ScreenVertex { at, plane_at, z: min_depth + z / w * (max_depth - min_depth), inverse_w: 1.0 / w }
    }

    /// The corner nearest to what is drawn. Planes that begin there keep most digits; beginning at a corner, they have
    /// its values exactly.
    fn nearest(&self, corners: [[i32; 2]; 3]) -> usize {
        let Bounds { left, top, right, bottom } = self.bounds;
        let beyond = |at: i32, least: i32, most: i32| {
            let (least, most) = (i64::from(least) * i64::from(STEPS), i64::from(most) * i64::from(STEPS));
            (least - i64::from(at)).max(i64::from(at) - most).max(0)
        };
        let distance = |[x, y]: [i32; 2]| beyond(x, left, right).max(beyond(y, top, bottom));
        (0..3).min_by_key(|&n| distance(corners[n])).unwrap_or(0)
    }

    /// Depths that are written are clamped to these.
    pub fn depths(&self) -> [f32; 2] {
        [self.viewport.min_depth, self.viewport.max_depth]
    }
}

/// What primitives of a draw are turned into shapes by.
pub(super) struct Geometry<'d> {
    pub vertices: ShadedVertices<'d>,
    pub values: SystemValues,
    pub state: &'d RasterizerState,
    pub views: Vec<View>,
    pub layout: &'d TargetLayout,
    pub link: &'d Link,
}

/// What a stretch of primitives has become.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub shapes: Vec<Shape>,
    /// Attributes of the corners that clipping made, so many words each as a primitive has planes.
    pub clipped: Vec<u32>,
}

/// What the shapes of a primitive have in common.
#[derive(Clone, Copy)]
struct Common<'v> {
    view: &'v View,
    viewport: u8,
    layer: u16,
    leading: u32,
    primitive: u32,
}

impl Geometry<'_> {
    fn position(&self, row: u32) -> [f32; 4] {
        std::array::from_fn(|n| self.vertices.float(row, self.values.position + 4 * n))
    }

    /// Whether all vertices choose the same viewport, so that each has one place on the screen.
    pub fn has_one_view(&self) -> bool {
        self.values.viewport.is_none()
    }

    pub fn place(&self, row: u32, view: &View) -> Placed {
        let position @ [x, y, z, w] = self.position(row);
        let mut outside = u16::from(x < -w) | u16::from(x > w) << 1 | u16::from(y < -w) << 2 | u16::from(y > w) << 3;
        if self.state.depth_clip {
            outside |= if z < 0.0 { outside::NEAR } else { 0 } | if z > w { outside::FAR } else { 0 };
        }
        let within = |value: f32, [least, most]: [f64; 2]| {
            let (value, w) = (f64::from(value), f64::from(w));
            value >= least * w && value <= most * w
        };
        let is_plain = w > 0.0
            && f64::from(w) >= LEAST_W
            && within(x, view.guard[0])
            && within(y, view.guard[1])
            && (z / w).is_finite()
            && w.is_finite()
            && self.values.clip.iter().all(|&offset| self.vertices.float(row, offset) >= 0.0);
        if !is_plain {
            return Placed { vertex: ScreenVertex::default(), outside: outside | outside::CLIP };
        }
        Placed { vertex: view.project(position), outside }
    }

    /// Makes shapes of the primitive of these rows.
    pub fn add(&self, rows: &[u32], primitive: u32, placed: &[Placed], shapes: &mut Shapes) {
        if rows.iter().any(|&row| row as usize >= self.vertices.count()) || self.is_culled(rows) {
            return;
        }
        let leading = rows[0];
        let chosen = |offset: Option<usize>, count: u32| {
            let chosen = offset.map_or(0, |offset| self.vertices.word(leading, offset));
            // Out of range is the first (15.8.1, 15.15).
            if chosen < count { chosen } else { 0 }
        };
        let viewport = chosen(self.values.viewport, self.views.len() as u32);
        let layer = chosen(self.values.layer, self.layout.layer_count()) as u16;
        let Some(view) = self.views.get(viewport as usize) else { return };
        let common = Common { view, viewport: viewport as u8, layer, leading, primitive };
        // Those that are placed stay where they are: to copy what has just been written piece by piece takes long.
        let mut own = [Placed::default(); 3];
        if placed.is_empty() {
            own.iter_mut().zip(rows).for_each(|(own, &row)| *own = self.place(row, view));
        }
        let mut corners = own.each_ref();
        for (corner, &row) in corners.iter_mut().zip(rows) {
            *corner = placed.get(row as usize).unwrap_or(corner);
        }
        let corners = &corners[..rows.len()];
        let union = corners.iter().fold(0, |union, corner| union | corner.outside);
        let in_common = corners.iter().fold(u16::MAX, |common, corner| common & corner.outside);
        // Points and lines are wider than their positions.
        let rejecting = if let [_, _, _] = rows { outside::SIDES } else { 0 } | outside::NEAR | outside::FAR;
        if in_common & rejecting != 0 {
            return;
        }
        if union & (outside::NEAR | outside::FAR | outside::CLIP) != 0 {
            return self.add_clipped(rows, &common, shapes);
        }
        match *corners {
            [a] => self.push([rows[0]; 3], &common, shapes, |shape| shape.set_point(a.vertex)),
            [a, b] => self.add_line([a.vertex, b.vertex], [rows[0], rows[1]], true, &common, shapes),
            [a, b, c] => {
                let rows = [rows[0], rows[1], rows[2]];
                self.add_triangle([a.vertex, b.vertex, c.vertex], rows, [true; 3], &common, shapes);
            }
            _ => {}
        }
    }

    /// A primitive is dropped if one of its cull distances is below 0 at every vertex; no number is (15.4.2).
    fn is_culled(&self, rows: &[u32]) -> bool {
        let is_out = |distance: f32| distance < 0.0 || distance.is_nan();
        self.values.cull.iter().any(|&offset| rows.iter().all(|&row| is_out(self.vertices.float(row, offset))))
    }

    fn add_clipped(&self, rows: &[u32], common: &Common<'_>, shapes: &mut Shapes) {
        let mut positions = [[0.0; 4]; 3];
        positions.iter_mut().zip(rows).for_each(|(position, &row)| *position = self.position(row));
        let positions = &positions[..rows.len()];
        let distance = |row: u32, offset: usize| self.vertices.float(row, offset);
        let is_number = |value: &f32| value.is_finite();
        let has_distances =
            rows.iter().all(|&row| self.values.clip.iter().all(|&offset| !distance(row, offset).is_nan()));
        if !positions.as_flattened().iter().all(is_number) || !has_distances {
            return;
        }
        let mut polygon = Polygon::new(positions);
        polygon.clip(|corner| corner.position[3] - LEAST_W);
        if self.state.depth_clip {
            polygon.clip(|corner| corner.position[2]);
            polygon.clip(|corner| corner.position[3] - corner.position[2]);
        }
        for (axis, &[least, most]) in common.view.guard.iter().enumerate() {
            polygon.clip(|corner| corner.position[axis] - least * corner.position[3]);
            polygon.clip(|corner| most * corner.position[3] - corner.position[axis]);
        }
        for &offset in &self.values.clip {
            let distances = [0, 1, 2].map(|n| rows.get(n).map_or(0.0, |&row| f64::from(distance(row, offset))));
            // Infinite distances weigh nothing where their vertex weighs nothing.
            let part = |weight: f64, distance: f64| if weight == 0.0 { 0.0 } else { weight * distance };
            polygon.clip(|corner| (0..3).map(|n| part(corner.weights[n], distances[n])).sum());
        }
        let corners = polygon.corners();
        let mut vertices = [ScreenVertex::default(); super::clip::MAX_CORNERS];
        let mut numbers = [0; super::clip::MAX_CORNERS];
        for (n, corner) in corners.iter().enumerate() {
            vertices[n] = common.view.project(corner.position.map(|value| value as f32));
            if !vertices[n].z.is_finite() || !vertices[n].inverse_w.is_finite() {
                return;
            }
            numbers[n] = self.corner(corner, rows, shapes);
        }
        match (rows.len(), corners.len()) {
            (1, 1) => self.push([numbers[0]; 3], common, shapes, |shape| shape.set_point(vertices[0])),
            (2, 2) => self.add_line([vertices[0], vertices[1]], [numbers[0], numbers[1]], true, common, shapes),
            (3, count @ 3..) => {
                for n in 1..count - 1 {
                    // Of a fan, only the first triangle has the polygon's first edge, and only the last its last.
                    let edges = [
                        n == 1 && corners[0].is_old_edge,
                        corners[n].is_old_edge,
                        n + 2 == count && corners[n + 1].is_old_edge,
                    ];
                    let pick = |of: &[u32]| [of[0], of[n], of[n + 1]];
                    let triangle = [vertices[0], vertices[n], vertices[n + 1]];
                    self.add_triangle(triangle, pick(&numbers), edges, common, shapes);
                }
            }
            _ => {}
        }
    }

    /// The row of a corner, or its number among the clipped ones, whose attributes are mixed.
    fn corner(&self, corner: &Corner, rows: &[u32], shapes: &mut Shapes) -> u32 {
        if let Some(old) = corner.weights.iter().position(|&weight| weight == 1.0) {
            return rows[old];
        }
        let planes = self.link.planes.len();
        let number = shapes.clipped.len().checked_div(planes).unwrap_or(0) as u32;
        let w = [0, 1, 2].map(|n| rows.get(n).map_or(0.0, |&row| self.position(row)[3]));
        let on_screen = screen_weights(corner, w);
        for &PlaneSource { offset, interpolation } in &self.link.planes {
            let weights = match interpolation {
                // Flat inputs are taken of the leading vertex.
                Interpolation::Constant => [0.0; 3],
                Interpolation::Perspective => corner.weights,
                Interpolation::NoPerspective => on_screen,
            };
            let value = |n: usize| offset.map_or(0.0, |offset| f64::from(self.vertices.float(rows[n], offset)));
            let mixed: f64 = (0..rows.len()).map(|n| weights[n] * value(n)).sum();
            shapes.clipped.push((mixed as f32).to_bits());
        }
        number | CLIPPED
    }

    fn add_triangle(
        &self,
        mut vertices: [ScreenVertex; 3],
        corners: [u32; 3],
        edges: [bool; 3],
        common: &Common<'_>,
        shapes: &mut Shapes,
    ) {
        let twice_area = area(vertices.map(|vertex| vertex.at));
        // What has no area faces away (15.11.1).
        let is_front = twice_area != 0 && (twice_area > 0) != self.state.front_counter_clockwise;
        let is_dropped = match self.state.cull {
            CullMode::None => false,
            CullMode::Front => is_front,
            CullMode::Back => !is_front,
        };
        if is_dropped || (twice_area == 0 && self.state.fill == FillMode::Solid) {
            return;
        }
        let has_bias = self.state.depth_bias != 0 || self.state.slope_scaled_depth_bias != 0.0;
        if has_bias {
            let bias = self.bias(&vertices, twice_area);
            vertices.iter_mut().for_each(|vertex| vertex.z += bias);
        }
        if self.state.fill == FillMode::Wireframe {
            for (n, _) in edges.iter().enumerate().filter(|&(_, &is_edge)| is_edge) {
                let next = (n + 1) % 3;
                let ends = [vertices[n], vertices[next]];
                self.add_line(ends, [corners[n], corners[next]], is_front, common, shapes);
            }
            return;
        }
        let points = vertices.each_ref().map(|vertex| vertex.at);
        let bounds = if self.layout.sample_count() == 1 { Bounds::of_centres(&points) } else { Bounds::of(&points) };
        // Many small triangles have no pixel's centre, and end here.
        if bounds.intersect(&common.view.bounds).is_empty() {
            return;
        }
        // Clockwise, from the corner that is nearest to the view.
        let mut order = if twice_area < 0 { [0, 2, 1] } else { [0, 1, 2] };
        let first = common.view.nearest(order.map(|n| points[n]));
        order = [order[first % 3], order[(first + 1) % 3], order[(first + 2) % 3]];
        let corners = order.map(|n| corners[n]);
        self.push(corners, common, shapes, |shape| {
            shape.set_triangle(order.map(|n| vertices[n]));
            shape.is_front = is_front;
            shape.bounds = bounds;
        });
    }

    /// What is added to the depths of a triangle (15.10).
    fn bias(&self, vertices: &[ScreenVertex; 3], twice_area: i64) -> f32 {
        let state = self.state;
        let most = vertices.iter().fold(0.0f32, |most, vertex| most.max(vertex.z.abs()));
        let mut bias = state.depth_bias as f32 * bias_step(self.layout.depth_format(), most);
        if state.slope_scaled_depth_bias != 0.0 && twice_area != 0 {
            let [a, b, c] = *vertices;
            let clockwise = if twice_area > 0 { [a, b, c] } else { [a, c, b] };
            let mut shape = Shape::default();
            shape.set_triangle(clockwise);
            let slope = shape.slope.map(f32::abs);
            bias += state.slope_scaled_depth_bias * slope[0].max(slope[1]);
        }
        match state.depth_bias_clamp {
            clamp if clamp > 0.0 => bias.min(clamp),
            clamp if clamp < 0.0 => bias.max(clamp),
            _ => bias,
        }
    }

    fn add_line(
        &self,
        [from, to]: [ScreenVertex; 2],
        corners: [u32; 2],
        is_front: bool,
        common: &Common<'_>,
        shapes: &mut Shapes,
    ) {
        let multisample = self.state.multisample;
        self.push([corners[0], corners[1], corners[0]], common, shapes, |shape| {
            match multisample {
                true => shape.set_wide_line(from, to),
                false => shape.set_line(from, to),
            }
            shape.is_front = is_front;
        });
    }

    /// Adds a shape, unless none of it is within the view.
    #[inline(always)]
    fn push(&self, corners: [u32; 3], common: &Common<'_>, shapes: &mut Shapes, make: impl FnOnce(&mut Shape)) {
        shapes.shapes.push(Shape::default());
        let Some(shape) = shapes.shapes.last_mut() else { return };
        make(shape);
        shape.bounds = shape.bounds.intersect(&common.view.bounds);
        shape.corners = corners;
        shape.leading = common.leading;
        shape.primitive = common.primitive;
        shape.viewport = common.viewport;
        shape.layer = common.layer;
        if shape.bounds.is_empty() {
            shapes.shapes.pop();
        }
    }
}
