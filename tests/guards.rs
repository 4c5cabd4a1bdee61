//! Native code of PICA200 programs takes products for plain ones under guard, and runs the exact form where a guard
//! fails.

use shaderjit::{CompileOptions, Config, Engine, Lanes, PicaUniforms, Shader, VertexBufferView};

/// Position by a matrix: its rows are c0 to c3.
const TRANSFORM: &[u8] = include_bytes!("data/pica/t01_transform.shbin");

/// The first and the last vertex of a group, groups side by side, a group far from the next, the tail.
const INFINITE: [usize; 7] = [3, 4, 5, 96, 97, 150, 202];

#[test]
fn zero_times_infinity_is_zero_wherever_it_occurs_in_a_batch() {
    let count = 203;
    let mut vertices: Vec<[f32; 4]> = (0..count).map(|i| [i as f32, 1.0, -2.5, 1.0]).collect();
    for vertex in INFINITE {
        vertices[vertex][1] = f32::INFINITY;
    }
    let bytes: Vec<u8> = vertices.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    let mut uniforms = PicaUniforms::default();
    // Nothing of y, so that what is infinite is multiplied by zero.
    uniforms.floats[..4].copy_from_slice(&[
        [2.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, -0.0, 0.0, 3.0],
        [0.0, 0.0, 0.0, 1.0],
    ]);
    for lanes in Lanes::ALL {
        let engine = Engine::new(Config::default()).unwrap();
        let code = engine.compile(&Shader::parse(TRANSFORM).unwrap(), &CompileOptions::default().lanes(lanes)).unwrap();
        let mut call = code.call();
        call.input_element(0, VertexBufferView::f32x4(&bytes, 16))
            .unwrap()
            .pica_uniforms(&uniforms)
            .unbound_as_zero(true);
        let outputs = call.run(0..count as u32).unwrap();
        for (i, vertex) in vertices.iter().enumerate() {
            let want = [2.0 * vertex[0] + 1.0, -2.5, 3.0, 1.0];
            assert_eq!(outputs.element(0).unwrap().vec4(i).unwrap(), want, "vertex {i}");
        }
        assert!(call.interpret(0..count as u32).unwrap().first_difference(&outputs).is_none());
        // From a vertex in the middle of a group on, as one whose guards all fail.
        let some = call.run(150..153).unwrap();
        assert_eq!(some.element(0).unwrap().vec4(0).unwrap(), [301.0, -2.5, 3.0, 1.0]);
    }
}
