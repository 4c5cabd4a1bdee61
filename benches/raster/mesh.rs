//! A torus as an indexed mesh, and where the eye is.

use shaderjit::VertexBufferView;

/// Position, normal, tangent and texture coordinate.
const VERTEX: usize = 4 * (3 + 3 + 3 + 2);

pub struct Mesh {
    vertices: Vec<u8>,
    pub indices: Vec<u32>,
}

impl Mesh {
    /// So many quads around the axis, and around the tube.
    pub fn torus(around: u32, across: u32) -> Mesh {
        let (radius, tube) = (1.0f32, 0.55f32);
        let angle = |at: u32, of: u32| at as f32 / of as f32 * std::f32::consts::TAU;
        let mut vertices = Vec::new();
        for (a, b) in (0..=around).flat_map(|a| (0..=across).map(move |b| (a, b))) {
            let ((sa, ca), (sb, cb)) = (angle(a, around).sin_cos(), angle(b, across).sin_cos());
            let normal = [ca * cb, sa * cb, sb];
            let position = [ca * (radius + tube * cb), sa * (radius + tube * cb), tube * sb];
            let coordinate = [8.0 * a as f32 / around as f32, 3.0 * b as f32 / across as f32];
            let values = [&position[..], &normal, &[-sa, ca, 0.0], &coordinate].concat();
            vertices.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let place = |a: u32, b: u32| a * (across + 1) + b;
        let cell = |a: u32, b: u32| {
            let [first, second, third, last] = [place(a, b), place(a, b + 1), place(a + 1, b), place(a + 1, b + 1)];
            [first, second, third, third, second, last]
        };
        let indices = (0..around).flat_map(|a| (0..across).flat_map(move |b| cell(a, b))).collect();
        Mesh { vertices, indices }
    }

    /// The four inputs.
    pub fn streams(&self) -> [VertexBufferView<'_>; 4] {
        let at = |offset: usize| &self.vertices[offset..];
        [
            VertexBufferView::f32x3(at(0), VERTEX),
            VertexBufferView::f32x3(at(12), VERTEX),
            VertexBufferView::f32x3(at(24), VERTEX),
            VertexBufferView::f32x2(at(36), VERTEX),
        ]
    }
}

/// Rows of the matrix from the mesh's space to clip space: turned about x, and seen from a distance, so that it fills
/// most of the screen.
pub fn view([width, height]: [u32; 2]) -> [[f32; 4]; 4] {
    let (sine, cosine) = 0.9f32.sin_cos();
    let turned = [[1.0, 0.0, 0.0, 0.0], [0.0, cosine, -sine, 0.0], [0.0, sine, cosine, 2.6]];
    let (near, far, zoom) = (0.1, 10.0, 1.9);
    let scale = |row: [f32; 4], by: f32| row.map(|value| value * by);
    let mut depth = scale(turned[2], far / (far - near));
    depth[3] -= near * far / (far - near);
    [scale(turned[0], zoom * height as f32 / width as f32), scale(turned[1], zoom), depth, turned[2]]
}
