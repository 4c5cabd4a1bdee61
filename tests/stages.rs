//! The calls of geometry, hull and domain shaders: what passes between stages, and what is refused.

use shaderjit::error::CallError;
use shaderjit::tessellator::{Domain, Output};
use shaderjit::{
    CompileOptions, CompiledShader, Config, Draw, DrawVertices, Engine, PrimitiveIds, Primitives, Shader, Topology,
    VertexTable,
};
use std::path::Path;
use std::sync::Arc;

/// A shader of the corpus.
fn shader(path: &str) -> Arc<CompiledShader> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dxbc").join(path);
    let engine = Engine::new(Config::default()).unwrap();
    engine.compile(&Shader::parse(&std::fs::read(file).unwrap()).unwrap(), &CompileOptions::default()).unwrap()
}

/// Vertices that a geometry or hull shader reads, of made-up words.
fn vertices(code: &CompiledShader, count: usize) -> VertexTable {
    let elements = code.interface().signature_inputs();
    let words: usize = elements.iter().map(|element| element.components() as usize).sum();
    let bytes = (0..count * words).flat_map(|word| (word as f32 * 0.25).to_le_bytes());
    VertexTable::from_bytes(elements, bytes.collect()).unwrap()
}

fn primitives<'p>(vertices: &'p VertexTable, indices: &'p [u32]) -> Primitives<'p> {
    Primitives { vertices, indices, ids: PrimitiveIds::From(0) }
}

#[test]
fn a_kind_of_call_that_a_stage_does_not_have_is_refused() {
    let [vertex, geometry, hull, domain] = [
        "tess_pass/VS.vs_5_0.fxc101.dxbc",
        "tess_pass/G.gs_5_0.fxc101.dxbc",
        "tess_pass/HS.hs_5_0.fxc101.dxbc",
        "tess_pass/DS.ds_5_0.fxc101.dxbc",
    ]
    .map(shader);
    let table = vertices(&hull, 4);
    let patch = primitives(&table, &[0, 1, 2, 3]);
    let wrong = |result: Result<(), CallError>, wanted: &str| match result {
        Err(CallError::WrongStage { kind, .. }) => assert_eq!(kind, wanted),
        other => panic!("{wanted}: {other:?}"),
    };
    for code in [&vertex, &hull, &domain] {
        wrong(code.call().primitives(&patch).map(drop), "primitives");
    }
    for code in [&vertex, &geometry, &domain] {
        wrong(code.call().patches(&patch).map(drop), "patches");
    }
    let mut call = hull.call();
    let patches = call.unbound_as_zero(true).patches(&patch).unwrap();
    for code in [&vertex, &geometry, &hull] {
        wrong(code.call().tessellate(&patches).map(drop), "domain points");
        if !Arc::ptr_eq(code, &vertex) {
            wrong(code.call().run(0..1).map(drop), "vertices");
        }
    }
    wrong(domain.call().run(0..1).map(drop), "vertices");
}

#[test]
fn indices_and_numbers_must_be_there() {
    let geometry = shader("gs_expand/GS.gs_5_0.fxc101.dxbc");
    let table = vertices(&geometry, 3);
    let mut call = geometry.call();
    let call = call.unbound_as_zero(true);
    let invalid = |primitives: &Primitives<'_>, what: &str| match call.primitives(primitives) {
        Err(CallError::Invalid(found)) => assert!(found.contains(what), "{found}"),
        other => panic!("{what}: {other:?}"),
    };
    invalid(&primitives(&table, &[0, 3]), "index 3 of 3 vertices");
    let ids = PrimitiveIds::Each(&[7]);
    invalid(&Primitives { vertices: &table, indices: &[0, 1], ids }, "1 numbers of 2 primitives");
    assert!(call.primitives(&primitives(&table, &[])).unwrap()[0].indices.is_empty());

    let triangles = shader("gs_instance/GS.gs_5_0.fxc101.dxbc");
    let table = vertices(&triangles, 4);
    let mut call = triangles.call();
    let error = call.unbound_as_zero(true).primitives(&primitives(&table, &[0, 1, 2, 3])).unwrap_err();
    assert!(matches!(error, CallError::Invalid(what) if what.contains("4 indices")));
}

/// An element that the stage before does not have reads zero, whatever it is bound to elsewhere.
#[test]
fn stages_find_elements_by_semantic() {
    let geometry = shader("gs_expand/GS.gs_5_0.fxc101.dxbc");
    let other = shader("tess_line/VS.vs_5_0.fxc101.dxbc");
    let none = VertexTable::from_bytes(&other.interface().signature_inputs()[..0], Vec::new()).unwrap();
    let mut call = geometry.call();
    let error = call.unbound_as_zero(true).primitives(&primitives(&none, &[0])).unwrap_err();
    assert!(matches!(error, CallError::Invalid(what) if what.contains("index 0 of 0 vertices")));
    assert!(VertexTable::from_bytes(other.interface().signature_inputs(), vec![0; 7]).is_err());
}

#[test]
fn patches_of_another_domain_are_refused() {
    let (hull, domain) = (shader("tess_tri/HS.hs_5_0.fxc101.dxbc"), shader("tess_pass/DS.ds_5_0.fxc101.dxbc"));
    let table = vertices(&hull, 3);
    let mut call = hull.call();
    let patches = call.unbound_as_zero(true).patches(&primitives(&table, &[0, 1, 2])).unwrap();
    assert_eq!((patches.modes.domain, patches.points, patches.ids.as_slice()), (Some(Domain::Tri), 3, &[0][..]));
    let error = domain.call().tessellate(&patches).unwrap_err();
    assert!(matches!(error, CallError::Invalid(what) if what.contains("Quad")));
}

/// Without a geometry shader the tessellator's primitives come out as they are; numbers are those of patches.
#[test]
fn draws_end_with_the_last_stage_there_is() {
    let [vertex, hull, domain] =
        ["tess_tri/VS.vs_5_0.fxc101.dxbc", "tess_tri/HS.hs_5_0.fxc101.dxbc", "tess_tri/DS.ds_5_0.fxc101.dxbc"]
            .map(shader);
    let constants = [2.0f32; 64].map(f32::to_le_bytes);
    let mut calls = [&vertex, &hull, &domain].map(|code| code.call());
    for call in &mut calls {
        let _ = call.unbound_as_zero(true).constant_buffer(0, constants.as_flattened());
    }
    let [vertex, hull, domain] = &calls;
    let draw = Draw::new(vertex, Topology::PatchList(3)).tessellation(hull, domain);
    let streams = draw.run(DrawVertices::Count(7), 0..2).unwrap();
    let [stream] = &streams[..] else { panic!("{} streams", streams.len()) };
    assert_eq!(stream.topology, Topology::TriangleList);
    // Two patches for each of two instances, the seventh vertex left over; all alike.
    let each = stream.ids.len() / 4;
    assert!(each > 0 && stream.ids.len() == 4 * each && stream.indices.len() == 3 * stream.ids.len());
    assert!(stream.ids.chunks(each).map(|ids| ids[0]).eq([0, 1, 0, 1]));
    assert!(stream.indices.iter().all(|&index| (index as usize) < stream.vertices.len()));

    let alone = Draw::new(vertex, Topology::TriangleStripAdjacency).run(DrawVertices::Count(8), 0..1).unwrap();
    assert_eq!((alone[0].topology, &alone[0].indices[..]), (Topology::TriangleList, &[0, 2, 4, 2, 6, 4][..]));
    let indices = [3, 2, 1, 0xffff, 5, 4, 3];
    let indexed = DrawVertices::Indexed { indices: &indices, cut: Some(0xffff) };
    // Vertices that no index names are not there.
    let alone = Draw::new(vertex, Topology::LineStrip).run(indexed, 0..1).unwrap();
    assert_eq!((alone[0].vertices.len(), &alone[0].indices[..]), (5, &[2, 1, 1, 0, 4, 3, 3, 2][..]));
}

#[test]
fn tessellators_have_the_outputs_of_their_domain() {
    use shaderjit::tessellator::{Partitioning, Tessellator};
    let made = |domain, output| Tessellator::new(domain, Partitioning::Integer, output).is_some();
    assert!(made(Domain::Isoline, Output::Line) && !made(Domain::Isoline, Output::TriangleCw));
    assert!(made(Domain::Tri, Output::Point) && !made(Domain::Quad, Output::Line));
}
