//! Outputs that are computed row by row, and those that are copied.

use super::{Case, Rows, check, compile, lockstep, options, textures};
use crate::jit::{Batch, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target, UniformRows};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::{FunctionBuilder, Op, Space, Type, Value};

/// Floats of every kind, denormals and NaN among them; vertices enough for whole waves and a tail.
fn float_rows(seed: u32) -> Rows {
    let special = [0.0, -0.0, 1.0, -2.5, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-40, 3e38, 0.1];
    let word = |number: u32| special[number as usize % special.len()].to_bits();
    (0..19).map(|row| [0, 3, 5, 7].map(|step| word(seed + row * 7 + row / 3 + step))).collect()
}

pub(super) fn inputs(b: &mut FunctionBuilder, element: u32) -> [Value; 4] {
    [0, 1, 2, 3].map(|component| b.input(Type::F32, element, component))
}

/// `sum of column[i] * by[i]` in each component.
pub(super) fn product(b: &mut FunctionBuilder, space: Space, by: &[Value], fused: bool) -> [Value; 4] {
    [0, 1, 2, 3].map(|component| {
        let mut sum = None;
        for (row, &factor) in (0..).zip(by) {
            let entry = b.uniform_load(Type::F32, space, row, component);
            sum = Some(match sum {
                None => b.fmul([entry, factor]),
                Some(sum) if fused => b.op(Op::Fma, &[entry, factor, sum]),
                Some(sum) => {
                    let term = b.fmul([entry, factor]);
                    b.fadd([sum, term])
                }
            });
        }
        sum.expect("there are factors")
    })
}

pub(super) fn outputs(b: &mut FunctionBuilder, element: u32, values: [Value; 4]) {
    (0..).zip(values).for_each(|(component, value)| b.output(element, component, value));
}

fn cases() -> Vec<Case> {
    let uniforms = || vec![(0..6).flat_map(|row| float_rows(row * 3).into_iter().take(1)).collect()];
    let case = |seed| Case {
        inputs: vec![float_rows(seed), float_rows(seed + 1)],
        uniforms: uniforms(),
        ..Case::new(float_rows(0))
    };
    vec![case(0), case(4), Case { uniforms: vec![some_matrix()], ..case(2) }]
}

fn some_matrix() -> Rows {
    (0..6u8).map(|row| [1u8, 2, 3, 4].map(|component| (f32::from(row * component) - 7.5).to_bits())).collect()
}

#[test]
fn products_with_a_matrix() {
    for fused in [false, true] {
        let mut b = FunctionBuilder::new("product", 2, 2);
        let space = b.add_space("c", None);
        let v = inputs(&mut b, 0);
        let position = product(&mut b, space, &v, fused);
        outputs(&mut b, 0, position);
        let tint = inputs(&mut b, 1);
        let tinted = [0, 1, 2, 3].map(|component| {
            let factor = b.uniform_load(Type::F32, space, 4, component);
            b.fmul([tint[usize::from(component)], factor])
        });
        outputs(&mut b, 1, tinted);
        b.ret();
        let func = lockstep(b);
        check(&func, &cases());
    }
}

#[test]
fn uniforms_that_are_computed_and_literals_among_them() {
    let mut b = FunctionBuilder::new("computed", 2, 2);
    let space = b.add_space("c", None);
    let [x, ..] = inputs(&mut b, 0);
    let minus = b.f32(-3.0);
    let scaled = [0, 1, 2, 3].map(|component| {
        let factor = b.uniform_load(Type::F32, space, 1, component);
        let squared = if component == 2 { minus } else { b.fmul([factor, factor]) };
        b.fsub([x, squared])
    });
    outputs(&mut b, 0, scaled);
    // Nothing but uniforms, one of them a literal.
    let constant = [0, 1, 2, 3]
        .map(|component| if component == 1 { minus } else { b.uniform_load(Type::F32, space, 2, component) });
    outputs(&mut b, 1, constant);
    b.ret();
    let func = lockstep(b);
    check(&func, &cases());
}

#[test]
fn what_something_else_needs_stays_in_lanes() {
    let mut b = FunctionBuilder::new("shared", 2, 2);
    let space = b.add_space("c", None);
    let v = inputs(&mut b, 0);
    let position = product(&mut b, space, &v, false);
    outputs(&mut b, 0, position);
    let [_, y, ..] = position;
    let tint = inputs(&mut b, 1);
    let sums = tint.map(|component| b.fadd([component, y]));
    outputs(&mut b, 1, sums);
    b.ret();
    let func = lockstep(b);
    check(&func, &cases());
}

#[test]
fn copies_and_literals() {
    let mut b = FunctionBuilder::new("copies", 2, 3);
    let [v, w] = [0, 1].map(|element| inputs(&mut b, element));
    outputs(&mut b, 0, w);
    let literals = [1.0, -0.0, f32::NAN, 1e-40].map(|literal| b.f32(literal));
    outputs(&mut b, 1, literals);
    // In another order it is no copy.
    outputs(&mut b, 2, [v[1], v[0], v[2], v[3]]);
    b.ret();
    let func = lockstep(b);
    check(&func, &cases());
}

/// Three components in and out: the missing one is 1, so what it is a factor of is computed once a call; nothing is
/// written behind the last.
#[test]
fn rows_of_three_components() {
    let mut b = FunctionBuilder::new("three", 1, 2);
    let space = b.add_space("c", None);
    let v = inputs(&mut b, 0);
    let [x, y, z, _] = product(&mut b, space, &v, false);
    [x, y, z].into_iter().zip(0..).for_each(|(value, component)| b.output(0, component, value));
    v[..3].iter().zip(0..).for_each(|(&value, component)| b.output(1, component, value));
    b.ret();
    let func = lockstep(b);
    let matrix = some_matrix();
    let vertices: Vec<f32> = (0..3 * 13u8).map(|word| f32::from(word) * 0.25 - 4.0).collect();
    let bytes: Vec<u8> = vertices.iter().flat_map(|word| word.to_le_bytes()).collect();
    let host = Target::host().unwrap();
    // As many as that of the input's row are copied.
    for (copied, options) in
        [1, 2, 3].into_iter().flat_map(|copied| options(&host).map(move |options| (copied, options)))
    {
        let layout = Layout { inputs: vec![VertexFormat::F32x3].into(), outputs: vec![3, copied].into() };
        let code = compile(&func, &layout, &host, &options).unwrap();
        let mut out = [0xcc; 13 * 28];
        let elements = [OutputElement { offset: 0, stride: 28 }, OutputElement { offset: 12, stride: 28 }];
        let batch = Batch {
            inputs: &[InputStream { bytes: &bytes, stride: 12 }],
            uniforms: &[UniformRows::from_rows(&matrix, 4)],
            resources: &[],
            textures: &textures::Mixed,
            count: 13,
            first_vertex: 0,
            instance: 0,
            fuel: 0.into(),
        };
        let mut output = OutputBuffer { bytes: &mut out, elements: &elements };
        code.run(&batch, &mut output, &mut Scratch::default()).unwrap();
        for (vertex, row) in vertices.as_chunks::<3>().0.iter().zip(out.as_chunks::<28>().0) {
            let by = [vertex[0], vertex[1], vertex[2], 1.0];
            let words: Vec<f32> = row[..24].as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect();
            for component in 0..usize::from(copied) {
                assert_eq!(words[3 + component], vertex[component]);
            }
            let behind = 12 + 4 * usize::from(copied);
            assert!(row[behind..].iter().all(|&byte| byte == 0xcc));
            for component in 0..3 {
                let entry = |row: usize| f32::from_bits(matrix[row][component]);
                let expected = (1..4).fold(entry(0) * by[0], |sum, row| sum + entry(row) * by[row]);
                assert_eq!(words[component], expected);
            }
        }
    }
}

/// An output of fewer than three components that is never set has no form, and is zero all the same.
#[test]
fn what_is_never_set_is_zero_beside_rows() {
    let mut b = FunctionBuilder::new("unset", 1, 3);
    let space = b.add_space("c", None);
    let v = inputs(&mut b, 0);
    let position = product(&mut b, space, &v, false);
    outputs(&mut b, 0, position);
    b.ret();
    let func = lockstep(b);
    let layout = Layout { inputs: vec![VertexFormat::F32x4].into(), outputs: vec![4, 2, 1].into() };
    let vertices = vec![0; 6 * 16];
    let host = Target::host().unwrap();
    for options in options(&host) {
        let code = compile(&func, &layout, &host, &options).unwrap();
        let mut out = [0xcc; 6 * 28];
        let elements = [0, 16, 24].map(|offset| OutputElement { offset, stride: 28 });
        let batch = Batch {
            inputs: &[InputStream { bytes: &vertices, stride: 16 }],
            uniforms: &[UniformRows::from_rows(&some_matrix(), 4)],
            resources: &[],
            textures: &textures::Mixed,
            count: 6,
            first_vertex: 0,
            instance: 0,
            fuel: 0.into(),
        };
        let mut output = OutputBuffer { bytes: &mut out, elements: &elements };
        code.run(&batch, &mut output, &mut Scratch::default()).unwrap();
        for row in out.as_chunks::<28>().0 {
            assert_eq!(row[16..], [0; 12]);
        }
    }
}

/// Rounds of a loop that does all by rows are of four vertices, or two. Buffers end with the last vertex, behind which
/// rows of twelve bytes are read, and nothing is stored between the elements of the output.
#[test]
fn any_number_of_vertices() {
    let mut b = FunctionBuilder::new("transform", 2, 2);
    let space = b.add_space("c", None);
    let [x, y, z, _] = inputs(&mut b, 0);
    let transformed = product(&mut b, space, &[x, y, z], false);
    outputs(&mut b, 0, transformed);
    let copied = inputs(&mut b, 1);
    outputs(&mut b, 1, copied);
    b.ret();
    let func = lockstep(b);
    let layout =
        Layout { inputs: vec![VertexFormat::F32x3, VertexFormat::F32x2].into(), outputs: [4, 2].into_iter().collect() };
    let target = Target::host().unwrap();
    let codes: Vec<_> = options(&target).map(|options| compile(&func, &layout, &target, &options).unwrap()).collect();
    assert!(codes.iter().any(|code| code.info.vertices_of_round < code.lanes() as usize), "all rounds are waves");
    let rows = [[1.0f32, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25], [-3.0, 0.125, 1.0, 8.0]];
    let uniforms = UniformRows::from_rows(&rows.map(|row| row.map(f32::to_bits)), codes[0].uniform_rows(space));
    let (in_stride, out_stride, most) = (20, 28, 40);
    let number = |vertex: usize, component: usize| (vertex * 5 + component) as f32 - 31.0;
    // What is copied comes first, so that the position ends the buffer.
    let vertices: Vec<u8> = (0..most * 5).flat_map(|word| number(word / 5, word % 5).to_ne_bytes()).collect();
    let mut expected = vec![0xcc; most * out_stride];
    for (vertex, bytes) in expected.chunks_mut(out_stride).enumerate() {
        let [x, y, z] = [2, 3, 4].map(|component| number(vertex, component));
        let sums = [0, 1, 2, 3].map(|component| {
            let [of_x, of_y, of_z] = rows.map(|row| row[component]);
            of_x * x + of_y * y + of_z * z
        });
        let words = sums.into_iter().chain([0, 1].map(|component| number(vertex, component)));
        words.zip(bytes.as_chunks_mut::<4>().0).for_each(|(word, to)| *to = word.to_ne_bytes());
    }
    let mut scratch = Scratch::default();
    for (code, count) in codes.iter().flat_map(|code| (0..=most).map(move |count| (code, count))) {
        let bytes = &vertices[..count * in_stride];
        let batch = Batch {
            inputs: &[
                InputStream { bytes: bytes.get(8..).unwrap_or_default(), stride: in_stride },
                InputStream { bytes, stride: in_stride },
            ],
            uniforms: std::slice::from_ref(&uniforms),
            resources: &[],
            textures: &textures::Mixed,
            count: count as u32,
            first_vertex: 0,
            instance: 0,
            fuel: 0.into(),
        };
        let elements =
            [OutputElement { offset: 0, stride: out_stride }, OutputElement { offset: 16, stride: out_stride }];
        let mut out = vec![0xcc; most * out_stride];
        code.run(&batch, &mut OutputBuffer { bytes: &mut out, elements: &elements }, &mut scratch).unwrap();
        let end = count * out_stride;
        assert_eq!(out[..end], expected[..end], "{count} vertices, {} lanes", code.lanes());
        assert!(out[end..].iter().all(|&byte| byte == 0xcc), "{count} vertices, {} lanes", code.lanes());
    }
}
