//! Geometry, domain points and the tessellator beside plain Rust, side by side: nanoseconds a primitive or point.
//!
//! `cargo bench --bench stages` prints the table; `cargo test` checks the results and times nothing.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../contest/mod.rs"]
mod contest;
#[path = "../engines/mod.rs"]
mod engines;
#[path = "../measure/mod.rs"]
mod measure;
mod plain;

use contest::{Contender, compile, ours, race};
use engines::Engines;
use shaderjit::tessellator::{Domain, Factors, Output, Partitioning, Tessellation, Tessellator};
use shaderjit::{
    Backend, CompiledShader, ComponentType, Element, Lanes, Patches, PrimitiveIds, Primitives, Shader, Tessellated,
    VertexTable,
};
use std::cell::RefCell;
use std::hint::black_box;

/// Points that are expanded in a call: what they become stays in the second cache.
const POINTS: usize = 1024;
/// Patches that are displaced, at this factor.
const PATCHES: usize = 64;
const FACTOR: f32 = 16.0;

fn shader(file: &str) -> Shader {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Shader::parse(&bytes).expect("the container is well-formed")
}

/// Floats between -1 and 1, the same everywhere.
fn floats(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

/// `gs_quads`: a point becomes a rotated quad of four vertices.
fn points(engines: &Engines, times: bool) {
    let shader = shader("dxbc/gs_quads/GS.gs_5_0.fxc101.dxbc");
    let (input, constants) = (floats(4 * POINTS), plain::QUAD_CONSTANTS);
    let indices: Vec<u32> = (0..POINTS as u32).collect();
    let code = compile(engines.narrow(), &shader, Lanes::Four, Backend::Interpreter);
    // The number of the primitive is an input without a register.
    let inputs = code.interface().signature_inputs().iter().filter(|element| element.register != u32::MAX);
    let elements: Vec<Element> = inputs.cloned().collect();
    let table = VertexTable::from_bytes(&elements, bytes(&input)).expect("whole points");
    let (constant_bytes, streams) = (bytes(&constants), RefCell::new(Vec::new()));
    let run = |code: &CompiledShader| {
        let mut call = code.call();
        call.constant_buffer(0, &constant_bytes).expect("it has one");
        let primitives = Primitives { vertices: &table, indices: &indices, ids: PrimitiveIds::From(0) };
        call.primitives_into(&primitives, &mut streams.borrow_mut()).expect("it runs");
    };
    let mut plain = Vec::new();
    plain::quads(&input, &constants, &mut plain);
    run(&code);
    let made = streams.borrow().clone().remove(0);
    let words = made.vertices.bytes().as_chunks().0.iter().map(|&word| f32::from_le_bytes(word));
    for (number, (ours, plain)) in words.zip(&plain).enumerate() {
        // The last word of each vertex is an integer.
        let same = if number % 7 == 6 { ours.to_bits() == plain.to_bits() } else { (ours - plain).abs() < 1e-4 };
        assert!(same, "word {number}: {ours} and {plain}");
    }
    let mut contenders = ours(engines, &shader, |code| run(black_box(code)));
    contenders.push(("plain Rust".to_string(), Box::new(|| plain::quads(black_box(&input), &constants, &mut plain))));
    race("points to quads (gs_quads)", "point", POINTS, &mut contenders, times);
}

/// `grass.geom`: a point becomes a blade of grass, a strip of seven vertices.
fn grass(engines: &Engines, times: bool) {
    let shader = shader("perf/grass.geom.spv");
    let mut input = floats(4 * POINTS);
    // Each has a number of its own between 0 and 1.
    input.as_chunks_mut::<4>().0.iter_mut().for_each(|[_, _, _, own]| *own = 0.5 * *own + 0.5);
    let indices: Vec<u32> = (0..POINTS as u32).collect();
    let elements = [Element::new("LOCATION", 0, 4, ComponentType::F32)];
    let table = VertexTable::from_bytes(&elements, bytes(&input)).expect("whole points");
    // Columns of a matrix of blocks, then the wind.
    let push = bytes(&[plain::GRASS_COLUMNS.as_flattened(), &plain::GRASS_WIND].concat());
    let streams = RefCell::new(Vec::new());
    let run = |code: &CompiledShader| {
        let mut call = code.call();
        call.push_constants(&push).expect("it has some");
        let primitives = Primitives { vertices: &table, indices: &indices, ids: PrimitiveIds::From(0) };
        call.primitives_into(&primitives, &mut streams.borrow_mut()).expect("it runs");
    };
    let mut plain = Vec::new();
    plain::grass(&input, &mut plain);
    run(&compile(engines.narrow(), &shader, Lanes::Four, Backend::Interpreter));
    let made = streams.borrow().clone().remove(0);
    let places = ["SV_Position", "LOCATION", "LOCATION"].into_iter().zip([0, 0, 1]);
    let places = places.map(|(name, index)| made.vertices.find(name, index).expect("it is emitted"));
    for (vertex, plain) in plain.as_chunks::<9>().0.iter().enumerate() {
        let row: Vec<f32> = places
            .clone()
            .zip([4, 3, 2])
            .flat_map(|(place, count)| made.vertices.get(vertex, place)[..count].to_vec())
            .map(f32::from_bits)
            .collect();
        assert!(row.iter().zip(plain).all(|(ours, plain)| (ours - plain).abs() < 1e-4), "{row:?} and {plain:?}");
    }
    assert_eq!(made.vertices.len(), 7 * POINTS);
    let mut contenders = ours(engines, &shader, |code| run(black_box(code)));
    contenders.push(("plain Rust".to_string(), Box::new(|| plain::grass(black_box(&input), &mut plain))));
    race("points to blades of grass (grass.geom)", "point", POINTS, &mut contenders, times);
}

/// `tess_bezier`: points of bicubic patches, with normals.
fn patches(engines: &Engines, times: bool) {
    let shader = shader("dxbc/tess_bezier/DS.ds_5_0.fxc101.dxbc");
    let control_points = floats(64 * PATCHES);
    let code = compile(engines.narrow(), &shader, Lanes::Four, Backend::Interpreter);
    let Some(shaderjit::PrimitiveStage::Domain(domain)) = &code.interface().primitive else {
        panic!("it is a domain shader")
    };
    let factors = Factors { edges: [FACTOR; 4], inside: [FACTOR; 2] };
    let tessellator = Tessellator::new(Domain::Quad, Partitioning::Integer, Output::TriangleCw).expect("quads have");
    let constants: usize = domain.constants.iter().map(|element| 4 * element.components() as usize).sum();
    let patches = Patches {
        modes: tessellator.into(),
        points: 16,
        control_points: VertexTable::from_bytes(&domain.elements, bytes(&control_points)).expect("whole points"),
        constants: VertexTable::from_bytes(&domain.constants, vec![0; PATCHES * constants]).expect("whole patches"),
        factors: vec![factors; PATCHES],
        ids: (0..PATCHES as u32).collect(),
    };
    let made = RefCell::new(Tessellated::default());
    let run = |code: &CompiledShader| {
        code.call().tessellate_into(&patches, &mut made.borrow_mut()).expect("it runs");
    };
    let mut plain = Vec::new();
    plain::bezier(&control_points, &tessellator, &factors, &mut plain);
    run(&code);
    let count = made.borrow().vertices.len();
    let first = made.borrow().clone();
    let words = first.vertices.bytes().as_chunks().0.iter().map(|&word| f32::from_le_bytes(word));
    for (number, (ours, plain)) in words.zip(&plain).enumerate() {
        assert!((ours - plain).abs() < 1e-4, "word {number}: {ours} and {plain}");
    }
    let mut contenders = ours(engines, &shader, |code| run(black_box(code)));
    let twin = || plain::bezier(black_box(&control_points), &tessellator, &factors, &mut plain);
    contenders.push(("plain Rust".to_string(), Box::new(twin)));
    race("points of bicubic patches (tess_bezier), tessellated", "point", count, &mut contenders, times);
}

/// The tessellator by itself, beside each point computed by the specification's formula.
fn tessellator(times: bool) {
    for (name, partitioning, factor) in
        [("integer 16", Partitioning::Integer, 16.0), ("fractional 40.3", Partitioning::FractionalOdd, 40.3)]
    {
        let factors = Factors { edges: [factor; 4], inside: [factor; 2] };
        let tessellator = Tessellator::new(Domain::Quad, partitioning, Output::Point).expect("quads have points");
        let mut made = Tessellation::default();
        tessellator.tessellate(&factors, &mut made);
        let count = made.points.len();
        let mut formula = Vec::new();
        plain::quad_points(factor, partitioning == Partitioning::FractionalOdd, &mut formula);
        assert_eq!(formula.len(), count);
        let sorted = |mut points: Vec<[f32; 2]>| {
            points.sort_by(|a, b| a.partial_cmp(b).expect("places are numbers"));
            points
        };
        assert_eq!(sorted(formula.clone()), sorted(made.points.iter().map(|&[u, v, _]| [u, v]).collect()));
        let run = || tessellator.tessellate(black_box(&factors), &mut made);
        let twin = || plain::quad_points(black_box(factor), partitioning == Partitioning::FractionalOdd, &mut formula);
        let mut contenders: Vec<Contender<'_>> =
            vec![("tessellator".to_string(), Box::new(run)), ("formula".to_string(), Box::new(twin))];
        race(&format!("tessellator, quad, {name}"), "point", count, &mut contenders, times);
    }
}

fn main() {
    let times = asked::times();
    let engines = Engines::new();
    points(&engines, times);
    grass(&engines, times);
    patches(&engines, times);
    tessellator(times);
}
