//! GLSL's own forms of the stages between vertices and pixels, which no HLSL compiler writes: `gl_in` and `gl_out`,
//! arrays without a length, modes that only the evaluation shader has, `gl_PrimitiveID` that is put out. What is
//! expected is computed from the sources' formulas.

use crate::{data, read};
use shaderjit::tessellator::{Domain, Output, Partitioning, Tessellation, Tessellator};
use shaderjit::{
    Backend, CompileOptions, CompiledShader, ComponentType, Config, Descriptor, Element, Engine, Lanes, PrimitiveIds,
    Primitives, Shader, VertexTable,
};
use std::sync::Arc;

/// The entry point of both compilations of a case, on every engine.
fn everywhere(case: &str, options: &CompileOptions, mut run: impl FnMut(&CompiledShader)) {
    let engine = Engine::new(Config::default()).unwrap();
    for compiler in ["glslang", "glslangOs"] {
        for lanes in Lanes::ALL {
            for backend in [Backend::Interpreter, Backend::Jit] {
                run(&compile(&engine, case, compiler, &options.clone().lanes(lanes).backend(backend)));
            }
        }
    }
}

fn compile(engine: &Engine, case: &str, compiler: &str, options: &CompileOptions) -> Arc<CompiledShader> {
    let extension = [("g_", "geom"), ("tc_", "tesc"), ("te_", "tese")];
    let extension = extension.into_iter().find(|(prefix, _)| case.starts_with(prefix)).unwrap().1;
    let file = data().join(format!("spirv/glsl/{case}/{case}.{extension}.{compiler}.spv"));
    engine.compile(&Shader::parse(&read(&file)).unwrap(), options).unwrap_or_else(|error| panic!("{case}: {error}"))
}

fn bytes(floats: impl IntoIterator<Item = f32>) -> Vec<u8> {
    floats.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn floats(words: [u32; 4]) -> [f32; 4] {
    words.map(f32::from_bits)
}

fn are_close(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0))
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|n| a[n] - b[n])
}

fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    [0, 1, 2].map(|n| a[n] * (1.0 - t) + b[n] * t)
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: [f32; 3]) -> f32 {
    a.iter().map(|a| a * a).sum::<f32>().sqrt()
}

/// Corner `n` of a patch.
fn corner(patch: usize, n: usize) -> [f32; 3] {
    let (x, y) = ([0.0, 1.0, 1.0, 0.0][n], [0.0, 0.0, 1.0, 1.0][n]);
    [x * (1.0 + patch as f32), y + 0.25 * x, 0.5 * n as f32 - patch as f32]
}

const EYE: [f32; 3] = [0.5, -1.0, 3.0];
const SCALE: f32 = 12.0;
const PATCHES: usize = 19;

/// The corners of all patches, as a vertex shader would put them out.
fn corners() -> VertexTable {
    let elements =
        [Element::new("SV_Position", 0, 4, ComponentType::F32), Element::new("LOCATION", 0, 3, ComponentType::F32)];
    let all = (0..4 * PATCHES).flat_map(|n| {
        let [x, y, z] = corner(n / 4, n % 4);
        [x, y, z, 1.0, x, y, z]
    });
    VertexTable::from_bytes(&elements, bytes(all)).unwrap()
}

fn factors(patch: usize) -> [f32; 4] {
    [0, 1, 2, 3].map(|n| {
        let middle = mix(corner(patch, n), corner(patch, (n + 1) & 3), 0.5);
        (SCALE / length(sub(middle, EYE))).clamp(1.0, 64.0)
    })
}

fn area(patch: usize) -> f32 {
    let q = |n| corner(patch, n);
    length(cross(sub(q(1), q(0)), sub(q(3), q(0))))
}

#[test]
fn control_shaders_make_patches_of_arrays_without_a_length() {
    let (vertices, indices) = (corners(), (0..4 * PATCHES as u32).collect::<Vec<u32>>());
    let push = bytes([EYE[0], EYE[1], EYE[2], 1.0, SCALE]);
    everywhere("tc_lod", &CompileOptions::default(), |code| {
        let mut call = code.call();
        call.push_constants(&push).unwrap();
        let patches = Primitives { vertices: &vertices, indices: &indices, ids: PrimitiveIds::From(0) };
        let patches = call.patches(&patches).unwrap();
        assert_eq!((patches.points, patches.factors.len(), patches.modes.domain), (4, PATCHES, None));
        let named = |name: &str| patches.control_points.find(name, 0).unwrap();
        for (n, patch) in (0..4 * PATCHES).map(|n| (n, n / 4)) {
            let [x, y, z] = corner(patch, n % 4);
            assert_eq!(floats(patches.control_points.get(n, named("LOCATION")))[..3], [x, y, z]);
            assert_eq!(floats(patches.control_points.get(n, named("SV_Position"))), [x, y, z, 1.0]);
        }
        for (patch, found) in patches.factors.iter().enumerate() {
            let wanted = factors(patch);
            assert!(are_close(&found.edges, &wanted), "{found:?} not {wanted:?}");
            assert!(are_close(&found.inside, &[wanted[0].max(wanted[2]), wanted[1]]), "{found:?}");
            let constant = patches.constants.find("LOCATION", 1).unwrap();
            assert!(are_close(&floats(patches.constants.get(patch, constant))[..1], &[area(patch)]));
        }
    });
    // Patches of three points have another `gl_PatchVerticesIn`.
    everywhere("tc_lod", &CompileOptions::default().patch_vertices(3), |code| {
        let mut call = code.call();
        call.push_constants(&push).unwrap();
        let patches = Primitives { vertices: &vertices, indices: &indices[..3], ids: PrimitiveIds::From(0) };
        let patches = call.patches(&patches).unwrap();
        assert_eq!((patches.points, patches.factors[0].inside[1]), (4, 1.0));
    });
}

#[test]
fn evaluation_shaders_say_how_patches_are_divided() {
    let (vertices, indices) = (corners(), (0..4 * PATCHES as u32).collect::<Vec<u32>>());
    let push = bytes([EYE[0], EYE[1], EYE[2], 1.0, SCALE]);
    let engine = Engine::new(Config::default()).unwrap();
    let control = compile(&engine, "tc_lod", "glslang", &CompileOptions::default());
    let mut call = control.call();
    call.push_constants(&push).unwrap();
    let patches = Primitives { vertices: &vertices, indices: &indices, ids: PrimitiveIds::From(0) };
    let patches = call.patches(&patches).unwrap();
    // A matrix of twos on its diagonal, and the amplitude.
    let (amplitude, mut block) = (0.125f32, [0.0; 17]);
    for n in [0, 5, 10, 15] {
        block[n] = 2.0;
    }
    block[16] = amplitude;
    let block = bytes(block);
    let tessellator = Tessellator::new(Domain::Quad, Partitioning::FractionalOdd, Output::TriangleCw).unwrap();
    everywhere("te_bez", &CompileOptions::default(), |code| {
        let mut call = code.call();
        call.descriptor(0, 0, 0, Descriptor::Block(&block)).unwrap();
        let made = call.tessellate(&patches).unwrap();
        let [position, normal, height] = [("SV_Position", 0), ("LOCATION", 0), ("LOCATION", 1)]
            .map(|(name, index)| made.vertices.find(name, index).unwrap());
        let (mut vertex, mut division) = (0, Tessellation::default());
        for (patch, factors) in patches.factors.iter().enumerate() {
            tessellator.tessellate(factors, &mut division);
            let q = |n| corner(patch, n);
            for &[u, v, _] in &division.points {
                let (a, b) = (mix(q(0), q(1), u), mix(q(3), q(2), u));
                let n = cross(mix(sub(q(1), q(0)), sub(q(2), q(3)), v), sub(b, a));
                let (n, p) = (n.map(|c| c / length(n)), mix(a, b, v));
                let d = amplitude * (p[0] * 6.0).sin() * area(patch) * factors.inside[0];
                let wanted = [0, 1, 2].map(|c| 2.0 * (p[c] + n[c] * d));
                let get = |element| floats(made.vertices.get(vertex, element));
                assert!(are_close(&get(position), &[wanted[0], wanted[1], wanted[2], 2.0]), "{:?}", get(position));
                assert!(are_close(&get(normal)[..3], &n) && are_close(&get(height)[..1], &[d]));
                vertex += 1;
            }
        }
        assert_eq!(made.vertices.len(), vertex);
    });
}

#[test]
fn geometry_shaders_number_what_they_emit() {
    let (vertices, indices) = (corners(), (0..3 * PATCHES as u32).collect::<Vec<u32>>());
    // Colours are what the case calls them: location 0, of four components.
    let elements =
        [Element::new("SV_Position", 0, 4, ComponentType::F32), Element::new("LOCATION", 0, 4, ComponentType::F32)];
    let colour = |n: usize| [n as f32, 0.5, 1.0 - n as f32, 1.0];
    let place = |n: usize| floats(vertices.get(n, 0));
    let rows = (0..3 * PATCHES).flat_map(|n| place(n).into_iter().chain(colour(n)));
    let vertices = VertexTable::from_bytes(&elements, bytes(rows.collect::<Vec<f32>>())).unwrap();
    everywhere("g_fan", &CompileOptions::default(), |code| {
        let triangles = Primitives { vertices: &vertices, indices: &indices, ids: PrimitiveIds::From(7) };
        let streams = code.call().primitives(&triangles).unwrap();
        let [stream] = &streams[..] else { panic!("{} streams", streams.len()) };
        // Two invocations, each of which leaves out one corner.
        assert_eq!((stream.indices.len(), stream.vertices.len()), (PATCHES * 2 * 6, PATCHES * 2 * 6));
        let [position, colours, primitive, own] =
            [("SV_Position", 0), ("LOCATION", 0), ("LOCATION", 1), ("SV_PrimitiveID", 0)]
                .map(|(name, index)| stream.vertices.find(name, index).unwrap());
        let mut vertex = 0;
        for (triangle, invocation) in (0..PATCHES).flat_map(|n| [(n, 0), (n, 1)]) {
            for corner in (0..3).filter(|&corner| corner != invocation) {
                let ids = [corner, (corner + 1) % 3].map(|corner| 3 * triangle + corner);
                let mean = |of: &dyn Fn(usize) -> [f32; 4]| {
                    [0, 1, 2, 3].map(|c| (0..3).map(|corner| of(3 * triangle + corner)[c]).sum::<f32>() / 3.0)
                };
                let wanted =
                    [(place(ids[0]), colour(ids[0])), (place(ids[1]), colour(ids[1])), (mean(&place), mean(&colour))];
                for (number, (at, shade)) in wanted.into_iter().enumerate() {
                    let get = |element| floats(stream.vertices.get(vertex, element));
                    assert!(are_close(&get(position), &at), "{:?} not {at:?}", get(position));
                    assert!(are_close(&get(colours), &shade), "{:?} not {shade:?}", get(colours));
                    let id = 7 + triangle as u32;
                    assert_eq!(stream.vertices.get(vertex, primitive)[0], id);
                    // Only the last vertex is given one.
                    assert!(number < 2 || stream.vertices.get(vertex, own)[0] == id * 3 + corner as u32);
                    vertex += 1;
                }
            }
        }
    });
}
