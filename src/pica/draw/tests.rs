use super::*;
use crate::container::Shbin;
use crate::frontend::pica::opcode::{Field, Opcode};
use crate::frontend::pica::testing::{PLAIN, word};
use crate::native::NativeStatus;
use crate::options::{Backend, Config};
use crate::pica::{OutputMap, Topology};
use crate::pica_uniforms::PicaUniforms;

fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/pica/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn engine() -> Engine {
    Engine::new(Config::default()).unwrap()
}

/// v0 and on of the corpus's vertices.
fn attributes(vertices: &[u8], count: usize) -> Vec<VertexBufferView<'_>> {
    (0..count).map(|register| VertexBufferView::f32x4(&vertices[16 * register..], 256)).collect()
}

/// A unit with t01 and its uniforms.
fn transform() -> Unit {
    let mut unit = Unit::new();
    unit.bind(&Shbin::parse(&data("t01_transform.shbin")).unwrap(), 0, None).unwrap();
    *unit.vertex_mut().uniforms_mut() = PicaUniforms::from_bytes(&data("t01_transform.d0.uni.bin")).unwrap();
    unit
}

fn both_backends(unit: &Unit, engine: &Engine, draw: &Draw<'_>) -> Triangles {
    let mut native = unit.clone();
    let mut interpreted = unit.clone();
    interpreted.set_backend(Backend::Interpreter);
    let triangles = native.draw(engine, draw).unwrap();
    assert_eq!(interpreted.draw(engine, draw).unwrap(), triangles);
    assert_eq!(interpreted.geometry_state(), native.geometry_state());
    // The first draw runs on whichever engine is ready, the second one on native code.
    let (mut tiered, fresh) = (unit.clone(), self::engine());
    tiered.set_backend(Backend::Tiered);
    let begun = tiered.geometry_state().clone();
    for _ in 0..2 {
        *tiered.geometry_state_mut() = begun.clone();
        assert_eq!(tiered.draw(&fresh, draw).unwrap(), triangles);
        assert_eq!(tiered.geometry_state(), native.geometry_state());
        for code in [tiered.vertex.last_code(), tiered.geometry.last_code()].into_iter().flatten() {
            assert_eq!(code.wait_native(), NativeStatus::Ready);
        }
    }
    triangles
}

#[test]
fn a_draw_gives_the_reference_in_slots() {
    let (unit, engine) = (transform(), engine());
    let vertices = data("inputs/normal256.bin");
    let draw = Draw { attributes: &attributes(&vertices, 3), vertices: Vertices::Range(0..256) };
    let triangles = both_backends(&unit, &engine, &draw);
    assert_eq!((triangles.indices.len(), triangles.indices[84]), (85, [252, 253, 254]));
    let slots = unit.output_map.rasterizer_slots(unit.vertex().output_mask());
    assert!(slots.sources.iter().flatten().count() >= 8);
    let places = Places::new(&slots, &std::array::from_fn::<u8, 16, _>(|register| register as u8));
    let reference = data("t01_transform.d0.normal256.ref.out");
    for (number, vertex) in reference.as_chunks::<256>().0.iter().enumerate() {
        let rows: Vec<[u32; 4]> = vertex.as_chunks().0.iter().map(|bytes| row(bytes).map(f32::to_bits)).collect();
        let expected = OutputVertex::from_rows(&places, rows.iter().copied());
        assert_eq!(triangles.vertex(number as u32), Some(expected), "vertex {number}");
    }
}

#[test]
fn attributes_go_where_the_permutation_says() {
    let (mut unit, engine) = (transform(), engine());
    let vertices = data("inputs/normal256.bin");
    let mut given = attributes(&vertices, 3);
    let draw = |unit: &mut Unit, given: &[VertexBufferView<'_>]| {
        unit.draw(&engine, &Draw { attributes: given, vertices: Vertices::Range(0..9) }).unwrap()
    };
    let plain = draw(&mut unit, &given);
    given.swap(0, 2);
    assert_ne!(draw(&mut unit, &given), plain);
    unit.vertex_mut().set_permutation(0x012);
    assert_eq!(draw(&mut unit, &given), plain);
    // Only the first attribute counts; the others read as zero.
    unit.vertex_mut().set_attributes(1);
    unit.vertex_mut().set_permutation(0);
    let zeros = vec![0; 16];
    let zero = VertexBufferView::f32x4(&zeros, 0);
    let alone = draw(&mut unit, &attributes(&vertices, 3));
    unit.vertex_mut().set_attributes(3);
    unit.vertex_mut().set_permutation(0x210);
    assert_eq!(draw(&mut unit, &[VertexBufferView::f32x4(&vertices, 256), zero, zero]), alone);
}

#[test]
fn indices_name_vertices() {
    let (mut unit, engine) = (transform(), engine());
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 3);
    let all = unit.draw(&engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..256) }).unwrap();
    for topology in [Topology::List, Topology::Strip, Topology::Fan] {
        unit.set_topology(topology);
        // Near each other, and far apart.
        for indices in [vec![12, 10, 11, 11, 13, 12], vec![255, 3, 128, 3, 0, 255]] {
            let draw = Draw { attributes: &attributes, vertices: Vertices::Indices(&indices) };
            let triangles = unit.draw(&engine, &draw).unwrap();
            assert!(triangles.vertices.len() <= 4 * OutputVertex::BYTES);
            let mut assembler = Assembler::new(topology);
            let expected = indices.iter().filter_map(|&index| assembler.submit(index.into(), false));
            let corners = |indices: [u32; 3], of: &Triangles| indices.map(|index| of.vertex(index).unwrap());
            let expected: Vec<_> = expected.map(|triangle| corners(triangle, &all)).collect();
            let found: Vec<_> = triangles.indices.iter().map(|&triangle| corners(triangle, &triangles)).collect();
            assert_eq!(found, expected, "{topology:?} {indices:?}");
        }
    }
    let draw = |indices: &[u16]| {
        transform().draw(&engine, &Draw { attributes: &attributes, vertices: Vertices::Indices(indices) })
    };
    assert_eq!(draw(&[]), Ok(Triangles::default()));
    for indices in [vec![256], vec![0, 9000]] {
        assert!(matches!(draw(&indices), Err(Error::Call(CallError::ShortBuffer { .. }))), "{indices:?}");
    }
}

#[test]
fn only_code_that_can_be_reached_is_compiled_again() {
    let (mut unit, engine) = (transform(), engine());
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 3);
    let mut compiles = |change: &dyn Fn(&mut Unit)| {
        let before = engine.cache_stats().compiles;
        change(&mut unit);
        unit.draw(&engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..4) }).unwrap();
        engine.cache_stats().compiles - before
    };
    assert_eq!(compiles(&|_| ()), 2, "IR and native code");
    assert_eq!(compiles(&|_| ()), 0);
    assert_eq!(compiles(&|unit| unit.vertex_mut().uniforms_mut().floats[0][0] += 1.0), 0);
    assert_eq!(compiles(&|unit| assert!(unit.write_register(0x2b0, 0xffff))), 0);
    assert_eq!(compiles(&|unit| unit.vertex_mut().set_words(300, &[0x1234_5678; 9])), 0);
    assert_eq!(compiles(&|unit| unit.vertex_mut().set_descriptors(100, &[1; 9])), 0);
    let first = unit_word(&transform(), 0);
    assert_eq!(compiles(&|unit| unit.vertex_mut().set_words(0, &[first])), 0, "the same word again");
    // Another program, and back.
    let end = word(Opcode::End, &[]);
    assert_eq!(compiles(&|unit| unit.vertex_mut().set_words(0, &[end])), 2);
    assert_eq!(compiles(&|unit| unit.vertex_mut().set_words(0, &[first])), 0);
}

fn unit_word(unit: &Unit, at: usize) -> u32 {
    unit.vertex().words()[at]
}

#[test]
fn programs_are_compiled_for_the_uniforms_of_the_moment_if_asked_to() {
    let engine = engine();
    let bytes = data("t13_ifu.shbin");
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 3);
    let draw = Draw { attributes: &attributes, vertices: Vertices::Range(0..30) };
    let mut unit = Unit::new();
    unit.bind(&Shbin::parse(&bytes).unwrap(), 0, None).unwrap();
    let mut specialized = unit.clone();
    specialized.set_specialized(true);
    for bools in [0, 0xffff, 1, 2, 0] {
        unit.vertex_mut().uniforms_mut().bools = bools;
        specialized.vertex_mut().uniforms_mut().bools = bools;
        let before = engine.cache_stats().compiles;
        let expected = unit.draw(&engine, &draw).unwrap();
        assert!(bools == 0 || engine.cache_stats().compiles == before);
        assert_eq!(specialized.draw(&engine, &draw).unwrap(), expected, "{bools:#x}");
    }
    // One for any bools, and one for each of four values.
    assert_eq!(engine.cache_stats().compiles, 2 * 5);
}

#[test]
fn points_take_the_vertex_shaders_outputs_as_a_stream() {
    let (mut unit, engine) = (Unit::new(), engine());
    unit.bind(&Shbin::parse(&data("t31_geo_point.shbin")).unwrap(), 0, Some(1)).unwrap();
    // Three vertices of two attributes.
    unit.geometry_mut().set_attributes(6);
    let uniforms = PicaUniforms::from_bytes(&data("t31_geo_point.d1.uni.bin")).unwrap();
    *unit.geometry_mut().uniforms_mut() = uniforms.clone();
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 2);
    let triangles = both_backends(&unit, &engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..31) });
    assert_eq!(triangles.indices.len(), 20);
    // The first triangle of each invocation is inverted.
    assert_eq!(triangles.indices[..2], [[1, 0, 2], [3, 4, 5]]);
    let position = |vertex: usize| row(vertices[256 * vertex..][..16].first_chunk().unwrap());
    for (vertex, number) in [(0, 0), (1, 1), (2, 2), (3, 6)] {
        let [x, y, z, w] = position(vertex);
        let [mvp_x, mvp_y, mvp_z, mvp_w] = std::array::from_fn(|n| uniforms.floats[n]);
        let dot = |m: [f32; 4]| m[0] * x + m[1] * y + m[2] * z + m[3] * w;
        assert_eq!(triangles.vertex(number).unwrap().position(), [mvp_x, mvp_y, mvp_z, mvp_w].map(dot));
    }
    // The same by indices.
    let indices: Vec<u16> = (0..30).collect();
    let indexed =
        both_backends(&unit, &engine, &Draw { attributes: &attributes, vertices: Vertices::Indices(&indices) });
    assert_eq!(indexed, triangles);
    unit.set_topology(Topology::List);
    let plain = unit.draw(&engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..3) }).unwrap();
    assert_eq!(plain.indices, [[0, 1, 2], [3, 4, 5]]);
}

#[test]
fn fixed_vertices_arrive_in_uniforms_and_stay() {
    let (mut unit, engine) = (Unit::new(), engine());
    unit.bind(&Shbin::parse(&data("t33_geo_fixed.shbin")).unwrap(), 0, Some(1)).unwrap();
    assert_eq!(unit.input_mode(), Some(InputMode::Fixed { first: 0, vertices: 4, attributes: 2 }));
    unit.geometry_mut().uniforms_mut().ints[0] = [3, 0, 2, 0];
    let vertices = data("inputs/normal256.bin");
    let draw = Draw { attributes: &attributes(&vertices, 2), vertices: Vertices::Range(0..256) };
    let triangles = both_backends(&unit, &engine, &draw);
    assert_eq!(triangles.indices.len(), 64);
    let reference = data("t33_geo_fixed.d1.normal256.ref.gsout");
    for (number, record) in reference.chunks_exact(776).enumerate() {
        let position = triangles.vertex(3 * number as u32 + 2).unwrap().position();
        assert_eq!(position, row(record[8 + 512..][..16].first_chunk().unwrap()), "triangle {number}");
    }
    unit.draw(&engine, &draw).unwrap();
    let last = row(vertices[255 * 256 + 16..][..16].first_chunk().unwrap());
    assert_eq!(unit.geometry().uniforms().floats[7], last);
}

/// A geometry shader of one triangle: o0 is c0 (the number of vertices), c1 and the row behind the second vertex.
fn variable_unit() -> Unit {
    let mut unit = Unit::new();
    // Both attributes are passed on.
    let mov = |output: u32, source: u32| {
        word(Opcode::Mov, &[(Field::Destination, output), (Field::Source1, source), (Field::Descriptor, 0)])
    };
    let end = word(Opcode::End, &[]);
    unit.vertex_mut().set_words(0, &[mov(0, 0), mov(1, 1), end]);
    unit.vertex_mut().set_descriptors(0, &[PLAIN]);
    unit.vertex_mut().set_output_mask(0b11);
    let set_emit = |vertex: u32, ends: u32| word(Opcode::Setemit, &[(Field::Vertex, vertex), (Field::Primitive, ends)]);
    let emit = word(Opcode::Emit, &[]);
    let words = [
        set_emit(0, 0),
        mov(0, 0x20),
        emit,
        set_emit(1, 0),
        mov(0, 0x21),
        emit,
        set_emit(2, 1),
        mov(0, 0x24),
        emit,
        end,
    ];
    unit.geometry_mut().set_words(0, &words);
    unit.geometry_mut().set_descriptors(0, &[PLAIN]);
    unit.geometry_mut().set_output_mask(1);
    unit.set_output_map(OutputMap::from_registers(1, &[0x0302_0100]));
    unit.set_geometry(Some(InputMode::Variable { full_vertices: 1 }));
    unit
}

#[test]
fn a_variable_number_of_vertices_comes_with_the_indices() {
    let (mut unit, engine) = (variable_unit(), engine());
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 2);
    // Four vertices, three, none, and one of two.
    let indices = [4, 9, 8, 7, 6, 3, 1, 2, 3, 0, 2, 5];
    let draw = Draw { attributes: &attributes, vertices: Vertices::Indices(&indices) };
    let triangles = both_backends(&unit, &engine, &draw);
    let positions: Vec<[f32; 4]> = (0..9).map(|number| triangles.vertex(number).unwrap().position()).collect();
    let input =
        |vertex: usize, register: usize| row(vertices[256 * vertex + 16 * register..][..16].first_chunk().unwrap());
    // c1, c2: the first vertex; c3 and on: the others' first attributes.
    assert_eq!(positions[..3], [[4.0; 4], input(9, 0), input(7, 0)]);
    assert_eq!(positions[3..6], [[3.0; 4], input(1, 0), input(3, 0)]);
    // What an earlier primitive left.
    assert_eq!(positions[6..], [[0.0; 4], input(1, 0), input(3, 0)]);
    let range = Draw { attributes: &attributes, vertices: Vertices::Range(0..4) };
    assert!(matches!(unit.draw(&engine, &range), Err(Error::Call(CallError::Invalid(_)))));
}

#[test]
fn counts_in_an_index_buffer_are_no_vertices() {
    let (mut unit, engine) = (variable_unit(), engine());
    let mut memory: Vec<u8> =
        data("inputs/normal256.bin").chunks(256).take(10).flat_map(|row| &row[..32]).copied().collect();
    let indices = [4, 9, 8, 7, 6, 3, 1, 2, 3, 0, 2, 5];
    let attributes = [0, 16].map(|offset| VertexBufferView::f32x4(&memory[offset..], 32));
    let draw = Draw { attributes: &attributes, vertices: Vertices::Indices(&indices) };
    let expected = unit.clone().draw(&engine, &draw).unwrap();
    assert_eq!(expected.indices.len(), 3);

    // Two attributes of four floats, rows of 32 bytes, indices of 16 bits behind them.
    let index_buffer = 1 << 31 | memory.len() as u32;
    for (register, value) in [(0x201, 0xff), (0x202, 1 << 28), (0x204, 0x10), (0x205, 2 << 28 | 32 << 16)] {
        assert!(unit.write_register(register, value));
    }
    assert!(unit.write_register(0x227, index_buffer) && unit.write_register(0x228, indices.len() as u32));
    memory.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
    // The least vertex is 1: nothing of vertex 0 is asked for.
    let at = |address: u32, length: usize| {
        assert!(address >= 32, "{address:#x}");
        memory.get(address as usize..)?.get(..length)
    };
    assert_eq!(unit.draw_elements(&engine, at), Ok(expected));
}

#[test]
fn counts_that_a_game_makes_up_are_errors() {
    let (mut unit, engine) = (transform(), engine());
    let zeros = [0; 16];
    for range in [0..u32::MAX, 5..u32::MAX, 0..(1 << 20) + 1] {
        let attributes = [VertexBufferView::f32x4(&zeros, 0)];
        let draw = Draw { attributes: &attributes, vertices: Vertices::Range(range) };
        assert!(matches!(unit.draw(&engine, &draw), Err(Error::Call(CallError::Invalid(_)))));
    }
    #[expect(clippy::reversed_empty_ranges, reason = "that is the point")]
    let draw = Draw { attributes: &[], vertices: Vertices::Range(5..3) };
    assert!(matches!(unit.draw(&engine, &draw), Err(Error::Call(CallError::Invalid(_)))));
}

#[test]
fn state_outlives_draws() {
    let (mut unit, engine) = (Unit::new(), engine());
    unit.bind(&Shbin::parse(&data("t35_geo_b15_state.shbin")).unwrap(), 0, Some(1)).unwrap();
    unit.geometry_mut().set_attributes(2);
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 2);
    let r15 = |unit: &mut Unit, count: u32| {
        let triangles =
            unit.draw(&engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..count) }).unwrap();
        (0..count).map(|triangle| triangles.vertex(3 * triangle).unwrap().position()[0]).collect::<Vec<_>>()
    };
    assert_eq!(r15(&mut unit, 3), [0.0, 1.0, 2.0]);
    assert_eq!(r15(&mut unit, 2), [3.0, 4.0]);
    unit.write_register(0x280, 0);
    assert_eq!(r15(&mut unit, 2), [0.0, 1.0]);
}

#[test]
fn wild_registers_are_errors_at_most() {
    let engine = engine();
    let vertices = data("inputs/normal256.bin");
    let attributes = attributes(&vertices, 2);
    for (register, value) in [
        (0x252, 0xff),
        (0x252, 0xffff_ff02),
        (0x252, 1),
        (0x28a, 0xffff),
        (0x289, 0xf),
        (0x28d, 0),
        (0x2bd, 0),
        (0x2ba, 0xffff),
    ] {
        let mut unit = variable_unit();
        unit.write_register(register, value);
        for vertices in [Vertices::Range(0..40), Vertices::Indices(&[3, 1, 2, 3]), Vertices::Indices(&[0xffff])] {
            // Whatever comes of it, it ends.
            let _ = unit.draw(&engine, &Draw { attributes: &attributes, vertices });
        }
    }
}
