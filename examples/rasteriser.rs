//! A software rasteriser's use: an indexed mesh through a vertex shader, its pixels through a pixel shader.
//!
//! `cargo run --example rasteriser`

use shaderjit::{CompileOptions, Config, Engine, Error, Indices, Shader, VertexBufferView};

const SIZE: usize = 8;
/// Twice the area of a triangle.
fn area([ax, ay]: [f32; 2], [bx, by]: [f32; 2], [cx, cy]: [f32; 2]) -> f32 {
    (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
}

pub(crate) fn main() -> Result<(), Error> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/pipe_two/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}.fxc101.dxbc")).expect("the file is there");
    let engine = Engine::new(Config::default())?;
    let compile = |bytes: Vec<u8>| engine.compile(&Shader::parse(&bytes)?, &CompileOptions::default());
    let (vertex_shader, pixel_shader) = (compile(read("VS.vs_5_0"))?, compile(read("PS.ps_5_0"))?);
    // A square of two triangles that faces the eye: position, normal and texture coordinate of four floats each.
    let corner = |x: f32, y: f32| [x, y, 0.5, 1.0, 0.0, 0.0, -1.0, 1.0, x, y, 0.0, 0.0];
    let vertices = [corner(-1.0, 1.0), corner(1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)];
    let vertices: Vec<u8> = vertices.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let indices = [0u16, 1, 2, 2, 1, 3];
    let mut call = vertex_shader.call();
    for (semantic, offset) in [("POSITION", 0), ("NORMAL", 16), ("UV", 32)] {
        call.input(semantic, 0, VertexBufferView::f32x4(&vertices[offset..], 48))?;
    }
    let identity: [[f32; 4]; 4] = std::array::from_fn(|row| std::array::from_fn(|column| f32::from(row == column)));
    let draw = call.set("m", identity)?.run_indexed(Indices::U16(&indices), 0)?;
    // A record a pixel: every input of the pixel shader, four floats each, interpolated.
    let inputs = pixel_shader.interface().signature_inputs();
    let mut records = Vec::<u8>::new();
    for triangle in indices.as_chunks::<3>().0 {
        let rows = triangle.map(|index| draw.row(index.into()).expect("it is drawn"));
        let output = |semantic, row| draw.outputs.output(semantic, 0).and_then(|it| it.vec4(row)).expect("it is there");
        let screen = |[x, y, _, w]: [f32; 4]| [x / w + 1.0, 1.0 - y / w].map(|ndc| ndc * SIZE as f32 / 2.0);
        let [a, b, c] = rows.map(|row| screen(output("SV_Position", row)));
        for at in (0..SIZE * SIZE).map(|pixel| [pixel % SIZE, pixel / SIZE].map(|place| place as f32 + 0.5)) {
            let weights = [area(b, c, at), area(c, a, at), area(a, b, at)].map(|part| part / area(a, b, c));
            // A pixel on the edge between the triangles belongs to the first.
            let is_inside =
                weights.iter().all(|&weight| weight >= 0.0) && (triangle[0] == 0 || !weights.contains(&0.0));
            for element in inputs.iter().filter(|_| is_inside) {
                let values = rows.map(|row| output(&element.semantic, row));
                let value = |n: usize| (0..3).map(|corner| weights[corner] * values[corner][n]).sum::<f32>();
                records.extend((0..4).flat_map(|n| value(n).to_le_bytes()));
            }
        }
    }
    let mut call = pixel_shader.call();
    for number in 0..inputs.len() {
        call.input_element(number, VertexBufferView::f32x4(&records[16 * number..], 16 * inputs.len()))?;
    }
    call.set("light", [0.0f32, 0.0, -1.0, 0.0])?.set("eye", [0.0f32, 0.0, -2.0, 1.0])?;
    let count = records.len() / (16 * inputs.len());
    assert_eq!(count, SIZE * SIZE, "each pixel of the square once");
    let colours = call.unbound_as_zero(true).run(0..count as u32)?;
    println!("the first pixel is {:?}", colours.output("SV_Target", 0).and_then(|target| target.vec4(0)));
    Ok(())
}
