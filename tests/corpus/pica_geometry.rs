//! PICA200 geometry shaders: every triangle exactly as the reference has it, on both engines.

use crate::{data, engine, names, read};
use shaderjit::container::Shbin;
use shaderjit::container::shbin::GeometryMode;
use shaderjit::pica::{EmittedTriangles, GeometryInput, GeometryState};
use shaderjit::{Backend, CompileOptions, CompiledShader, Lanes, PicaUniforms, Shader, VertexBufferView};

/// Bytes of sixteen registers of four floats.
const VERTEX: usize = 256;
/// Attributes of a vertex in the references of fixed mode.
const FIXED_ATTRIBUTES: usize = 2;

/// The bytes that a reference has for these triangles.
fn records(triangles: &EmittedTriangles) -> Vec<u8> {
    let mut bytes = Vec::new();
    for triangle in triangles.iter() {
        bytes.extend(triangle.invocation.to_le_bytes());
        bytes.extend(u32::from(triangle.inverted).to_le_bytes());
        for vertex in 0..3 {
            for register in 0..16 {
                let row = triangle.register(vertex, register).unwrap_or_default();
                bytes.extend(row.into_iter().flat_map(f32::to_le_bytes));
            }
        }
    }
    bytes
}

/// The rows of uniforms that each invocation finds in fixed mode, one invocation's behind the other's.
fn windows(vertices: &[u8], fixed_vertices: usize) -> Vec<[f32; 4]> {
    let whole = vertices.len() / (VERTEX * fixed_vertices) * fixed_vertices;
    let rows =
        vertices.chunks_exact(VERTEX).take(whole).flat_map(|vertex| &vertex.as_chunks::<16>().0[..FIXED_ATTRIBUTES]);
    rows.map(|row| std::array::from_fn(|c| f32::from_le_bytes(row.as_chunks().0[c]))).collect()
}

#[test]
fn every_geometry_reference_is_reproduced() {
    let folder = data().join("pica");
    let references: Vec<String> = names(&folder).into_iter().filter(|name| name.ends_with(".ref.gsout")).collect();
    assert!(references.len() >= 8, "only {} references", references.len());
    let engine = engine(true);
    for name in references {
        let parts: Vec<&str> = name.split('.').collect();
        let [title, dvle, input, "ref", "gsout"] = parts[..] else { panic!("{name} is no reference") };
        let bytes = read(&folder.join(format!("{title}.shbin")));
        let entry: usize = dvle[1..].parse().expect("the number of a DVLE");
        let uniforms =
            PicaUniforms::from_bytes(&read(&folder.join(format!("{title}.{dvle}.uni.bin")))).expect("1556 bytes");
        let vertices = read(&folder.join("inputs").join(format!("{input}.bin")));
        let reference = read(&folder.join(&name));
        let shbin = Shbin::parse(&bytes).expect("a SHBIN");
        let geometry = shbin.dvle(entry).expect("well-formed").expect("it exists").geometry.expect("a geometry shader");
        let rows = windows(&vertices, usize::from(geometry.fixed_vertices).max(1));
        let rows_each = usize::from(geometry.fixed_vertices) * FIXED_ATTRIBUTES;
        let counts = vec![rows_each as u32; rows.len().checked_div(rows_each).unwrap_or(0)];
        let input = || match geometry.mode {
            GeometryMode::FIXED => {
                GeometryInput::Uniforms { first: geometry.fixed_start, rows: &rows, counts: &counts }
            }
            _ => (0..(vertices.len() / VERTEX) as u32).into(),
        };

        let run = |code: &CompiledShader| {
            let mut call = code.call();
            for register in 0..16 {
                call.input_element(register, VertexBufferView::f32x4(&vertices[16 * register..], VERTEX))
                    .expect("v0 to v15");
            }
            let mut state = GeometryState::default();
            let call = call.pica_uniforms(&uniforms);
            let triangles = call.run_geometry(input(), &mut state).unwrap_or_else(|error| panic!("{name}: {error}"));
            (triangles, state)
        };
        let shader = Shader::parse(&bytes).expect("a SHBIN");
        let options = CompileOptions::default().entry(entry);
        let compile = |options: &CompileOptions| engine.compile(&shader, options).expect("it compiles");
        let (triangles, state) = run(&compile(&options.clone().backend(Backend::Interpreter)));
        for lanes in Lanes::ALL {
            let native = run(&compile(&options.clone().lanes(lanes)));
            assert_eq!(native.0.first_difference(&triangles), None, "{name}, {lanes:?}");
            assert_eq!(native.1, state, "{name}, {lanes:?}: what is left");
        }
        let ours = records(&triangles);
        assert_eq!(ours.len() / 776, reference.len() / 776, "{name}: number of triangles");
        for (index, (ours, theirs)) in ours.chunks(776).zip(reference.chunks(776)).enumerate() {
            let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|&w| u32::from_le_bytes(w)).collect::<Vec<_>>();
            assert_eq!(words(ours), words(theirs), "{name}: triangle {index}");
        }
    }
}
