//! Indexed draws give the rows that a plain run of the same vertices gives, each once, whatever the indices are.

#[path = "../benches/draw/mod.rs"]
#[expect(dead_code, reason = "nothing here asks for the references")]
mod draw;

use arbtest::arbitrary::{Result as Arbitrary, Unstructured};
use draw::{Draw, VERTICES, data};
use shaderjit::error::CallError;
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, Config, DistinctVertices, Engine, Indices, Lanes, OutputLayout,
    Outputs, PicaUniforms, Place, Shader, VertexBufferView,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Both engines, both numbers of lanes.
const ENGINES: [(Backend, Lanes); 4] = [
    (Backend::Jit, Lanes::Four),
    (Backend::Jit, Lanes::Eight),
    (Backend::Interpreter, Lanes::Four),
    (Backend::Interpreter, Lanes::Eight),
];

fn engine() -> Engine {
    Engine::new(Config::default()).unwrap()
}

fn compile(path: &str, backend: Backend, lanes: Lanes) -> Arc<CompiledShader> {
    let shader = Shader::parse(&data(path)).unwrap();
    engine().compile(&shader, &CompileOptions::default().backend(backend).lanes(lanes)).unwrap()
}

/// A grid of quads, two triangles each, shuffled: nearly six indices a vertex.
fn grid(width: u32, height: u32) -> Vec<u32> {
    let quads = (0..height - 1).flat_map(|y| (0..width - 1).map(move |x| y * width + x));
    let mut triangles: Vec<[u32; 3]> = quads
        .flat_map(|corner| [[corner, corner + 1, corner + width], [corner + width, corner + 1, corner + width + 1]])
        .collect();
    for number in 0..triangles.len() {
        triangles.swap(number, number * 7919 % (number + 1));
    }
    triangles.into_flattened()
}

/// What indices there may be among so many vertices.
fn patterns(vertices: u32) -> Vec<(&'static str, Vec<u32>)> {
    let step = |step: usize| (0..vertices).step_by(step).collect::<Vec<_>>();
    vec![
        ("none", vec![]),
        ("the first", vec![0]),
        ("the last", vec![vertices - 1]),
        ("one, often", vec![37; 100]),
        ("a range", (100..131).collect()),
        ("backwards", (0..300).rev().collect()),
        ("a mesh", grid(20, 17)),
        ("a mesh with a vertex missing", grid(20, 17).into_iter().filter(|&index| index != 161).collect()),
        ("every second", step(2)),
        ("every third, twice, backwards", step(3).into_iter().flat_map(|index| [index; 2]).rev().collect()),
        ("every 97th", step(97)),
        ("both ends", vec![vertices - 1, 0]),
        ("few far apart", vec![5, 900, 7, 4800, 6, 900, 4999, 2500]),
        ("runs of 100 between runs of 3", (0..3000).filter(|index| index % 105 != 101 && index % 105 != 0).collect()),
        (
            "runs of all lengths",
            (0..80u32).flat_map(|run| (0..run).map(move |at| run * run / 2 + 2 * run + at)).collect(),
        ),
    ]
}

/// Checks the rows of a draw against those of all vertices from `base_vertex` on.
fn check_rows(
    what: &str,
    outputs: &Outputs,
    found: &DistinctVertices,
    indices: &[u32],
    base_vertex: i32,
    plain: &Outputs,
) {
    let distinct: BTreeSet<u32> = indices.iter().copied().collect();
    assert_eq!((found.count() as usize, outputs.count()), (distinct.len(), distinct.len()), "{what}");
    assert!(found.iter().eq(distinct.iter().map(|&index| index.wrapping_add_signed(base_vertex))), "{what}");
    let stride = plain.stride();
    for (row, (&index, vertex)) in distinct.iter().zip(found.iter()).enumerate() {
        assert_eq!(found.row(index), Some(row as u32), "{what}: index {index}");
        let bytes = &plain.bytes()[vertex as usize * stride..][..stride];
        assert_eq!(&outputs.bytes()[row * stride..][..stride], bytes, "{what}: index {index}, row {row}");
        let next = index.wrapping_add(1);
        assert_eq!(found.row(next).is_some(), distinct.contains(&next), "{what}: index {next}");
    }
    assert_eq!(distinct.first().and_then(|first| found.row(first.wrapping_sub(1))), None, "{what}");
    if let Some(first) = found.contiguous_from() {
        assert!(indices.iter().all(|&index| found.row(index) == Some(index - first)), "{what}");
    }
}

/// Draws with indices of both widths, if they fit, and both ways to say where outputs go.
fn check_draw(what: &str, call: &Call<'_>, indices: &[u32], base_vertex: i32, plain: &Outputs) {
    let draw = call.run_indexed(Indices::U32(indices), base_vertex).unwrap();
    check_rows(what, &draw.outputs, &draw.vertices, indices, base_vertex, plain);
    let interpreted = call.interpret_indexed(Indices::U32(indices), base_vertex).unwrap();
    assert_eq!(interpreted.outputs.first_difference(&draw.outputs), None, "{what}");
    if let Ok(short) = indices.iter().map(|&index| u16::try_from(index)).collect::<Result<Vec<u16>, _>>() {
        let short = call.run_indexed(Indices::U16(&short), base_vertex).unwrap();
        check_rows(what, &short.outputs, &short.vertices, indices, base_vertex, plain);
    }
}

#[test]
fn indexed_rows_are_those_of_a_plain_run() {
    let draw = Draw::kernels().swap_remove(1);
    for (backend, lanes) in ENGINES {
        let code = engine().compile(&draw.shader, &draw.options(backend, lanes)).unwrap();
        let call = draw.call(&code).unwrap();
        let plain = call.run(0..VERTICES).unwrap();
        for (what, indices) in patterns(5000) {
            for base_vertex in [0, 3, 5000] {
                check_draw(what, &call, &indices, base_vertex, &plain);
            }
            let raised: Vec<u32> = indices.iter().map(|index| index + 100_000).collect();
            check_draw(what, &call, &raised, -100_000, &plain);
        }
    }
}

#[test]
fn rows_go_where_the_layout_says() {
    let draw = Draw::kernels().swap_remove(1);
    let mut found = DistinctVertices::default();
    for (backend, lanes) in ENGINES {
        let code = engine().compile(&draw.shader, &draw.options(backend, lanes)).unwrap();
        let call = draw.call(&code).unwrap();
        let plain = call.run(0..VERTICES).unwrap();
        let elements = &code.interface().outputs;
        for (what, indices) in patterns(5000) {
            let rows = indices.iter().collect::<BTreeSet<_>>().len();
            // Each element in a plane of its own, 4 bytes between its rows, the last element nowhere.
            let plane = |element: usize| 20 * rows * element;
            let layout = (0..elements.len() - 1).fold(OutputLayout::none(&code), |layout, element| {
                layout.with(element, Place { offset: plane(element), stride: 20 })
            });
            let mut bytes = vec![0xaa; plane(elements.len() - 1)];
            call.run_indexed_into(Indices::U32(&indices), 0, &mut found, &layout, &mut bytes).unwrap();
            let mut again = vec![0xaa; bytes.len()];
            call.run_distinct_into(&found, &layout, &mut again).unwrap();
            assert!(bytes == again, "{what}");
            for (row, vertex) in found.iter().enumerate() {
                for (element, components) in elements.iter().map(|element| element.components() as usize).enumerate() {
                    if element + 1 == elements.len() {
                        continue;
                    }
                    let stored = &bytes[plane(element) + 20 * row..][..20];
                    let words: Vec<u32> =
                        stored[..4 * components].as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
                    let wanted = plain.element(element).unwrap().bits(vertex as usize).unwrap();
                    assert_eq!(words, wanted[..components], "{what}: row {row}, element {element}");
                    assert!(stored[4 * components..].iter().all(|&byte| byte == 0xaa), "{what}: row {row}");
                }
            }
            // A byte less is too little, and says so before anything is written.
            if let Some(short) = bytes.len().checked_sub(4 + 1) {
                let mut bytes = vec![0xaa; short];
                let result = call.run_indexed_into(Indices::U32(&indices), 0, &mut found, &layout, &mut bytes);
                let components = elements[elements.len() - 2].components() as usize;
                if 4 * components == 16 {
                    assert!(matches!(result, Err(CallError::ShortBuffer { .. })), "{what}: {result:?}");
                    assert!(bytes.iter().all(|&byte| byte == 0xaa));
                }
                assert_eq!(found.count() as usize, rows);
            }
        }
    }
}

#[test]
fn the_shader_sees_indices_as_vertex_numbers() {
    for (backend, lanes) in ENGINES {
        let code = compile("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc", backend, lanes);
        let mut call = code.call();
        call.instance(3);
        let mut cases = patterns(5000);
        // The shader has no inputs, so any vertex there could be is one.
        cases.push(("the highest", vec![u32::MAX - 1, 0, u32::MAX - 2, 1 << 31]));
        for (what, indices) in cases {
            for first in [0, 10, u32::MAX] {
                call.first_vertex_id(first);
                let draw = call.run_indexed(Indices::U32(&indices), 0).unwrap();
                let distinct: BTreeSet<u32> = indices.iter().copied().collect();
                let wanted = distinct.iter().map(|&index| {
                    let number = index.wrapping_add(first);
                    [number, 3, number.wrapping_mul(1000).wrapping_add(3), !number]
                });
                assert!(draw.outputs.output("OUT", 0).unwrap().iter().eq(wanted), "{what} from {first}");
            }
        }
        // As in Direct3D, the base vertex is not in it.
        for base_vertex in [i32::MIN, -3, 0, 3, i32::MAX] {
            let lowest = base_vertex.min(0).unsigned_abs();
            let draw = call.first_vertex_id(0).run_indexed(Indices::U32(&[lowest + 2, lowest]), base_vertex).unwrap();
            let numbers = draw.outputs.output("OUT", 0).unwrap().iter().map(|bits| bits[0]);
            assert!(numbers.eq([lowest, lowest + 2]), "{base_vertex}");
        }
    }
}

#[test]
fn indices_of_no_vertex_are_errors() {
    let vertices = vec![0; 5 * 12];
    for (backend, lanes) in ENGINES {
        let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", backend, lanes);
        let mut call = code.call();
        call.unbound_as_zero(true).input("POSITION", 0, VertexBufferView::f32x3(&vertices, 12)).unwrap();
        let draw = |indices: &[u32], base_vertex| {
            let result = call.run_indexed(Indices::U32(indices), base_vertex).map(drop);
            assert_eq!(call.interpret_indexed(Indices::U32(indices), base_vertex).map(drop), result);
            result
        };
        for (index, base_vertex) in
            [(u32::MAX, 0), (0, -1), (5, -6), (u32::MAX - 1, 1), (i32::MAX as u32, i32::MIN), (u32::MAX, i32::MAX)]
        {
            let error = Err(CallError::NoVertex { index, base_vertex });
            assert_eq!(draw(&[index], base_vertex), error);
            assert_eq!(
                call.run_indexed_into(
                    Indices::U32(&[index]),
                    base_vertex,
                    &mut DistinctVertices::default(),
                    &OutputLayout::none(&code),
                    &mut [],
                ),
                error
            );
        }
        assert_eq!(draw(&[3, 9, 2], -3), Err(CallError::NoVertex { index: 2, base_vertex: -3 }));
        // Past the end: as a plain run says it, the highest vertex counting.
        for (indices, base_vertex, end) in [
            (&[5][..], 0, 6),
            (&[4], 1, 6),
            (&[0, 5, 3], 0, 6),
            (&[1 << 20], 0, (1 << 20) + 1),
            (&[0, u32::MAX - 1], 0, u32::MAX),
        ] {
            let plain = call.run(end - 1..end).map(drop);
            assert!(matches!(plain, Err(CallError::ShortBuffer { .. })));
            assert_eq!(draw(indices, base_vertex), plain, "{indices:?}");
        }
        assert_eq!(draw(&[4, 0, 2, 4], 0), Ok(()));
        assert_eq!(draw(&[7, 3], -3), Ok(()));
        assert_eq!(draw(&[], i32::MIN), Ok(()));
        // What is missing is missing without indices too.
        let unbound = code.call();
        let missing = unbound.run(0..0).map(drop);
        assert!(missing.is_err());
        assert_eq!(unbound.run_indexed(Indices::U16(&[]), 0).map(drop), missing);
    }
}

/// In a block of copied vertices the exact form runs where a guard fails, too.
#[test]
fn guards_fail_in_indexed_draws() {
    let count = 1003;
    let mut vertices: Vec<[f32; 4]> = (0..count).map(|i| [i as f32, 1.0, -2.5, 1.0]).collect();
    for vertex in [3, 4, 5, 96, 97, 150, 202, 500, 996] {
        vertices[vertex][1] = f32::INFINITY;
    }
    let bytes: Vec<u8> = vertices.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    let mut uniforms = PicaUniforms::default();
    uniforms.floats[..4].copy_from_slice(&[
        [2.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, -0.0, 0.0, 3.0],
        [1.0; 4],
    ]);
    for (backend, lanes) in ENGINES {
        let code = compile("pica/t01_transform.shbin", backend, lanes);
        let mut call = code.call();
        call.input_element(0, VertexBufferView::f32x4(&bytes, 16))
            .unwrap()
            .pica_uniforms(&uniforms)
            .unbound_as_zero(true);
        let plain = call.run(0..count).unwrap();
        for (what, indices) in patterns(1003) {
            if indices.iter().all(|&index| index < count) {
                check_draw(what, &call, &indices, 0, &plain);
            }
        }
        let every_second: Vec<u32> = (0..count).step_by(2).collect();
        let draw = call.run_indexed(Indices::U32(&every_second), 0).unwrap();
        assert_eq!(draw.outputs.element(0).unwrap().vec4(48).unwrap()[..3], [193.0, -2.5, 3.0]);
    }
}

/// A list of indices of some shape, and a base vertex.
fn random_draw(u: &mut Unstructured<'_>) -> Arbitrary<(Vec<u32>, i32)> {
    let lowest = match u.int_in_range(0..=2)? {
        0 => 0,
        1 => u.int_in_range(0..=70_000)?,
        _ => u.arbitrary::<u32>()? & 0x7fff_ffff,
    };
    let span = *u.choose(&[1, 10, 100, 1000, 4500, 9000])?;
    let count = u.int_in_range(0..=400)?;
    let mut indices = Vec::new();
    while indices.len() < count {
        let index = u.int_in_range(0..=span - 1)?;
        let run = *u.choose(&[1, 1, 1, 2, 30, 70])?;
        indices.extend((index..span.min(index + run)).map(|index| lowest + index));
    }
    let vertex = u.int_in_range(0..=VERTICES - span)?;
    let base_vertex = i64::from(vertex) - i64::from(lowest);
    Ok((indices, base_vertex as i32))
}

#[test]
fn any_indices_give_the_rows_of_a_plain_run() {
    let draw = Draw::kernels().swap_remove(0);
    let codes = ENGINES.map(|(backend, lanes)| engine().compile(&draw.shader, &draw.options(backend, lanes)).unwrap());
    let calls = codes.each_ref().map(|code| draw.call(code).unwrap());
    let plain = calls[0].run(0..VERTICES).unwrap();
    let mut found = DistinctVertices::default();
    arbtest::arbtest(|u| {
        let (indices, base_vertex) = random_draw(u)?;
        let call = u.choose(&calls)?;
        check_draw("random", call, &indices, base_vertex, &plain);
        // Memory that other draws have used makes no difference.
        found.set(Indices::U32(&indices), base_vertex).unwrap();
        assert!(found.iter().eq(DistinctVertices::new(Indices::U32(&indices), base_vertex).unwrap().iter()));
        assert!(indices.iter().all(|&index| found.row(index).is_some()));
        let other = u.arbitrary::<u32>()?;
        assert_eq!(found.row(other).is_some(), indices.contains(&other));
        Ok(())
    });
}

/// Positions a vertex, normals and colours an instance.
fn bind_instances<'a>(call: &mut Call<'a>, mesh: &'a [u8], instances: &'a [u8], step: u32) {
    call.unbound_as_zero(true);
    call.input("POSITION", 0, VertexBufferView::f32x3(mesh, 12)).unwrap();
    call.input("TEXCOORD", 0, VertexBufferView::snorm16x2(&mesh[2..], 12)).unwrap();
    call.input("COLOR", 0, VertexBufferView::unorm8x4(instances, 16).per_instance(step)).unwrap();
    // The last row ends with the buffer, and native code reads rows of 12 bytes as 16.
    call.input("NORMAL", 0, VertexBufferView::f32x3(&instances[4..], 16).per_instance(step)).unwrap();
}

#[test]
fn attributes_advance_with_instances() {
    let floats = |count: usize| (0..count).flat_map(|n| ((n * 37 % 101) as f32 / 16.0 - 3.0).to_le_bytes());
    let (mesh, instances): (Vec<u8>, Vec<u8>) = (floats(3 * 301).collect(), floats(4 * 5).collect());
    let constants = data("dxbc/vs_transform/in.r0.1.bin");
    for (backend, lanes) in ENGINES {
        let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", backend, lanes);
        for step in 0..4 {
            for instance in 0..12u32 {
                let row = instance.checked_div(step).unwrap_or(0) as usize;
                let mut call = code.call();
                bind_instances(&mut call, &mesh, &instances, step);
                call.constant_buffer(0, &constants).unwrap().instance(instance);
                if row >= 5 {
                    let (what, needed) = ("input NORMAL0".to_string(), 16 * row + 12);
                    let error = Err(CallError::ShortBuffer { what, needed, available: instances.len() - 4 });
                    assert_eq!(call.run(0..3).map(drop), error);
                    assert_eq!(call.interpret(0..3).map(drop), error);
                    assert_eq!(call.run_indexed(Indices::U16(&[0]), 0).map(drop), error);
                    assert!(call.run(0..0).is_ok(), "no vertices need no bytes");
                    continue;
                }
                // The same with the row written out for every vertex.
                let rows = instances[16 * row..][..16].repeat(301);
                let mut replicated = call.clone();
                replicated.input("COLOR", 0, VertexBufferView::unorm8x4(&rows, 16)).unwrap();
                replicated.input("NORMAL", 0, VertexBufferView::f32x3(&rows[4..], 16)).unwrap();
                let wanted = replicated.run(0..300).unwrap();
                let outputs = call.run(0..300).unwrap();
                assert_eq!(outputs.bytes(), wanted.bytes(), "step {step}, instance {instance}");
                assert_eq!(call.interpret(0..300).unwrap().first_difference(&wanted), None);
                let part = call.run(77..110).unwrap();
                assert_eq!(part.bytes(), &wanted.bytes()[77 * wanted.stride()..110 * wanted.stride()]);
                check_draw("a mesh", &call, &grid(15, 20), 0, &wanted);
                check_draw("every third", &call, &(0..290).step_by(3).collect::<Vec<_>>(), 7, &wanted);
            }
        }
    }
}

#[test]
fn instances_without_a_row_are_errors() {
    let bytes = [0; 40];
    let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", Backend::Jit, Lanes::Four);
    let run = |attribute: VertexBufferView<'_>, instance| {
        let mut call = code.call();
        call.unbound_as_zero(true).instance(instance).input("POSITION", 0, attribute).unwrap();
        let result = call.run(0..9).map(drop);
        assert_eq!(call.interpret(0..9).map(drop), result);
        result
    };
    let position = |stride| VertexBufferView::f32x3(&bytes, stride);
    let short = |needed| Err(CallError::ShortBuffer { what: "input POSITION0".to_string(), needed, available: 40 });
    assert_eq!(run(position(14).per_instance(1), 2), Ok(()));
    assert_eq!(run(position(14).per_instance(1), 3), short(3 * 14 + 12));
    assert_eq!(run(position(14).per_instance(3), 8), Ok(()));
    assert_eq!(run(position(14).per_instance(0), u32::MAX), Ok(()), "it never advances");
    assert_eq!(run(position(0).per_instance(1), u32::MAX), Ok(()), "it does not get anywhere");
    assert_eq!(run(position(14).per_instance(1), u32::MAX), short(u32::MAX as usize * 14 + 12));
    assert_eq!(run(position(usize::MAX).per_instance(1), 2), short(usize::MAX));
    assert_eq!(position(14).per_instance(1).vertices(), None);
    assert_eq!(VertexBufferView::f32x3(&bytes[..11], 14).per_instance(1).vertices(), Some(0));
}
