//! The caller's buffers: formats, strides, tails, ends; and the memory of the code itself.

use super::{Case, EDGES, bytes, clif_text, compile, lockstep, options};
use crate::error::CallError;
use crate::jit::{
    Batch, Code, CodegenOptions, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target, UniformRows,
};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::texture::NoTextures;
use shaderjit_ir::{Function, FunctionBuilder, Type, Value};

/// Puts every component of each input out, as they are, but by way of the lanes.
fn copy(inputs: u32) -> Function {
    put_out(inputs, |b, value| {
        let zero = b.i32(0);
        b.isub([value, zero])
    })
}

/// Puts every component of each input out.
fn put_out(inputs: u32, through: impl Fn(&mut FunctionBuilder, Value) -> Value) -> Function {
    let mut b = FunctionBuilder::new("copy", inputs, inputs);
    for element in 0..inputs {
        for component in 0..4 {
            let value = b.input(Type::I32, element, component);
            let value = through(&mut b, value);
            b.output(element, component, value);
        }
    }
    b.ret();
    lockstep(b)
}

fn codes(func: &Function, layout: &Layout) -> Vec<Code> {
    let targets = [Target::host().unwrap(), Target::baseline().unwrap()];
    let all = |target: &Target| {
        let codes = options(target).map(|options| compile(func, layout, target, &options).unwrap());
        codes.collect::<Vec<_>>()
    };
    targets.iter().flat_map(all).collect()
}

fn batch<'a>(inputs: &'a [InputStream<'a>], count: usize) -> Batch<'a> {
    Batch {
        inputs,
        uniforms: &[],
        resources: &[],
        textures: &NoTextures,
        count: count as u32,
        first_vertex: 0,
        instance: 0,
        fuel: 0.into(),
    }
}

/// Bytes that hold every 16-bit pattern and the edges, among others.
fn pattern(len: usize) -> Vec<u8> {
    let halves = (0..=u16::MAX).flat_map(u16::to_le_bytes);
    let words = EDGES.iter().flat_map(|word| word.to_le_bytes());
    words.chain(halves).cycle().take(len).collect()
}

#[test]
fn every_format_decodes_as_its_definition_does() {
    let func = copy(1);
    let mut scratch = Scratch::default();
    for &format in VertexFormat::ALL {
        let layout = Layout { inputs: vec![format].into(), outputs: vec![4].into() };
        // All 16-bit patterns for formats that are more than words.
        let bytes_in = if format.packing().is_words() { 4_000 } else { 132_000 };
        let count = bytes_in / format.bytes() + 3;
        let input = pattern(count * format.bytes());
        let expected: Vec<[u32; 4]> = input.chunks(format.bytes()).map(|vertex| format.decode(vertex)).collect();
        let expected = bytes(&expected);
        for code in codes(&func, &layout) {
            let mut out = vec![0; count * 16];
            let stream = [InputStream { bytes: &input, stride: format.bytes() }];
            let elements = [OutputElement { offset: 0, stride: 16 }];
            let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
            code.run(&batch(&stream, count), &mut buffer, &mut scratch).unwrap();
            let wrong = out.chunks(16).zip(expected.chunks(16)).position(|(found, expected)| found != expected);
            if let Some(vertex) = wrong {
                let stored = &input[vertex * format.bytes()..][..format.bytes()];
                let [found, expected] = [&out, &expected].map(|rows| &rows[vertex * 16..][..16]);
                panic!("{} {stored:x?}: expected {expected:x?}, found {found:x?}", format.name());
            }
        }
    }
}

#[test]
fn an_input_that_is_passed_on_is_copied_by_rows() {
    use VertexFormat::*;
    let func = put_out(1, |_, value| value);
    for (words, format) in [(1usize, F32x1), (2, U32x2), (3, F32x3), (4, I32x4)] {
        for stored in 1..=words {
            let layout = Layout { inputs: vec![format].into(), outputs: vec![stored as u8].into() };
            let text = clif_text(&func, &layout);
            assert!(!text.contains("shuffle") && !text.contains("lane"), "{text}");
            let (count, stride) = (13, 4 * words + 8);
            let input = pattern((count - 1) * stride + 4 * words);
            for code in codes(&func, &layout) {
                let mut out = vec![0xee; count * 20 + 3];
                let elements = [OutputElement { offset: 3, stride: 20 }];
                let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
                let stream = [InputStream { bytes: &input, stride }];
                code.run(&batch(&stream, count), &mut buffer, &mut Scratch::default()).unwrap();
                assert_eq!(out[..3], [0xee; 3]);
                for (from, to) in input.chunks(stride).zip(out[3..].chunks(20)) {
                    assert_eq!(to[..4 * stored], from[..4 * stored], "{stored} of {words} words");
                    assert_eq!(to[4 * stored..], [0xee; 20][4 * stored..], "{stored} of {words} words");
                }
            }
        }
    }
}

#[test]
fn only_some_components_may_be_read() {
    for &format in VertexFormat::ALL {
        for component in 0..4u8 {
            let mut b = FunctionBuilder::new("one", 1, 1);
            let value = b.input(Type::F32, 0, component);
            b.output(0, 0, value);
            b.ret();
            let func = lockstep(b);
            let input = pattern(9 * format.bytes());
            for code in codes(&func, &Layout { inputs: vec![format].into(), outputs: vec![1].into() }) {
                let mut out = vec![0; 36];
                let stream = [InputStream { bytes: &input, stride: format.bytes() }];
                let elements = [OutputElement { offset: 0, stride: 4 }];
                let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
                code.run(&batch(&stream, 9), &mut buffer, &mut Scratch::default()).unwrap();
                for (word, vertex) in out.chunks(4).zip(input.chunks(format.bytes())) {
                    let expected = format.decode(vertex)[usize::from(component)];
                    assert_eq!(word, expected.to_le_bytes(), "{} {component}", format.name());
                }
            }
        }
    }
}

/// Interleaved input and output, every count, buffers that end with the last vertex, strides that are no multiple of
/// anything. What lies between the elements of the output stays.
#[test]
fn every_count_and_width_leaves_the_rest_alone() {
    let func = copy(2);
    let mut scratch = Scratch::default();
    for widths in [[1, 4], [2, 3], [3, 0], [4, 2], [0, 1]] {
        let layout = Layout {
            inputs: vec![VertexFormat::F32x3, VertexFormat::Unorm8x4].into(),
            outputs: widths.into_iter().collect(),
        };
        let codes = codes(&func, &layout);
        for count in 0..=20 {
            for (stride, out_stride) in [(16, 37), (17, 41)] {
                let len = if count == 0 { 0 } else { (count - 1) * stride + 16 };
                let input = pattern(len);
                let streams = [
                    InputStream { bytes: input.get(4..).unwrap_or(&[]), stride },
                    InputStream { bytes: &input, stride },
                ];
                let elements =
                    [OutputElement { offset: 3, stride: out_stride }, OutputElement { offset: 21, stride: out_stride }];
                let mut expected = vec![0xcc; count * out_stride + 64];
                for vertex in 0..count {
                    for (element, stream) in streams.iter().enumerate() {
                        let row = bytes(&[layout.inputs[element].decode(&stream.bytes[vertex * stride..])]);
                        let width = usize::from(widths[element]) * 4;
                        let at = elements[element].offset + vertex * out_stride;
                        expected[at..at + width].copy_from_slice(&row[..width]);
                    }
                }
                for code in &codes {
                    let mut out = vec![0xcc; expected.len()];
                    let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
                    code.run(&batch(&streams, count), &mut buffer, &mut scratch).unwrap();
                    assert_eq!(out, expected, "{count} vertices of stride {stride}, widths {widths:?}");
                }
            }
        }
    }
}

#[test]
fn a_stride_of_zero_gives_all_vertices_the_same() {
    let func = copy(2);
    let layout = Layout { inputs: vec![VertexFormat::F32x3, VertexFormat::F16x4].into(), outputs: vec![4, 4].into() };
    // The first row is too short to be read as 16 bytes.
    let input = pattern(12);
    let streams = [InputStream { bytes: &input, stride: 0 }, InputStream { bytes: &input[..8], stride: 0 }];
    let expected = bytes(&[layout.inputs[0].decode(&input), layout.inputs[1].decode(&input)]);
    for code in codes(&func, &layout) {
        for count in [1, 4, 13] {
            let mut out = vec![0; count * 32];
            let elements = [OutputElement { offset: 0, stride: 32 }, OutputElement { offset: 16, stride: 32 }];
            let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
            code.run(&batch(&streams, count), &mut buffer, &mut Scratch::default()).unwrap();
            assert!(out.chunks(32).all(|row| row == expected));
        }
    }
}

#[test]
fn strides_smaller_than_a_row_overlap() {
    let func = copy(1);
    let layout = Layout { inputs: vec![VertexFormat::F32x3].into(), outputs: vec![3].into() };
    for (stride, count) in [(1, 40), (3, 17), (4, 9)] {
        let input = pattern((count - 1) * stride + 12);
        for code in codes(&func, &layout) {
            let mut out = vec![0; count * 12];
            let stream = [InputStream { bytes: &input, stride }];
            let elements = [OutputElement { offset: 0, stride: 12 }];
            let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
            code.run(&batch(&stream, count), &mut buffer, &mut Scratch::default()).unwrap();
            for (vertex, row) in out.chunks(12).enumerate() {
                assert_eq!(row, &input[vertex * stride..][..12]);
            }
        }
    }
}

#[test]
fn short_buffers_and_missing_bindings_are_errors() {
    let mut b = FunctionBuilder::new("bindings", 2, 1);
    let space = b.add_space("c", None);
    let (x, y) = (b.input(Type::F32, 0, 0), b.uniform_load(Type::F32, space, 20, 0));
    let sum = b.fadd([x, y]);
    b.output(0, 0, sum);
    b.ret();
    let func = lockstep(b);
    let layout = Layout { inputs: vec![VertexFormat::F32x3, VertexFormat::F32x4].into(), outputs: vec![2].into() };
    let code = compile(&func, &layout, &Target::host().unwrap(), &CodegenOptions::default()).unwrap();
    assert!(code.reads_input(0) && !code.reads_input(1) && !code.reads_input(2));
    assert_eq!(code.uniform_rows(space), 21);

    let input = [0; 52];
    let run = |input: &[u8], stride, rows: &[UniformRows], out: &mut [u8], elements: &[OutputElement], count| {
        // The second input is not read, so nothing is asked of it.
        let inputs = [InputStream { bytes: input, stride }, InputStream { bytes: &[], stride: usize::MAX }];
        let batch = Batch { uniforms: rows, ..batch(&inputs, count) };
        code.run(&batch, &mut OutputBuffer { bytes: out, elements }, &mut Scratch::default())
    };
    let (rows, elements) = ([UniformRows::from_bytes(&[1; 20], 21)], [OutputElement { offset: 4, stride: 8 }]);
    let mut out = [0; 36];
    assert_eq!(run(&input, 13, &rows, &mut out, &elements, 4), Ok(()));
    assert!(matches!(run(&input[..50], 13, &rows, &mut out, &elements, 4), Err(CallError::ShortBuffer { .. })));
    assert!(matches!(run(&input, 14, &rows, &mut out, &elements, 4), Err(CallError::ShortBuffer { .. })));
    assert!(matches!(run(&input, usize::MAX, &rows, &mut out, &elements, 4), Err(CallError::ShortBuffer { .. })));
    assert!(matches!(run(&input, 13, &rows, &mut out[..35], &elements, 4), Err(CallError::ShortBuffer { .. })));
    let far = [OutputElement { offset: usize::MAX, stride: 8 }];
    assert!(matches!(run(&input, 13, &rows, &mut out, &far, 4), Err(CallError::ShortBuffer { .. })));
    assert!(matches!(run(&input, 13, &[], &mut out, &elements, 4), Err(CallError::Invalid(_))));
    assert!(matches!(run(&input, 13, &rows, &mut out, &[], 4), Err(CallError::Invalid(_))));
    let few = [UniformRows::from_bytes(&[1; 16 * 13], 13)];
    assert!(matches!(run(&input, 13, &few, &mut out, &elements, 4), Ok(())), "zero rows always follow");
    assert!(matches!(
        run(&input, 13, &[UniformRows::default()], &mut out, &elements, 4),
        Err(CallError::ShortBuffer { .. })
    ));
    // Nothing to do needs nothing.
    assert_eq!(run(&[], 13, &rows, &mut [], &elements, 0), Ok(()));
}

#[test]
fn the_caller_keeps_its_float_mode() {
    let func = copy(1);
    let layout = Layout { inputs: vec![VertexFormat::F32x1].into(), outputs: vec![1].into() };
    let denormal = std::hint::black_box(f32::from_bits(0x0040_0000));
    for code in codes(&func, &layout) {
        let (stream, mut out) = ([InputStream { bytes: &[0; 4], stride: 4 }], [0; 4]);
        let elements = [OutputElement { offset: 0, stride: 4 }];
        let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
        code.run(&batch(&stream, 1), &mut buffer, &mut Scratch::default()).unwrap();
        assert_eq!((std::hint::black_box(denormal) / 2.0).to_bits(), 0x0020_0000);
    }
}

#[test]
fn dropped_code_frees_its_memory() {
    let func = copy(4);
    let layout = Layout { inputs: vec![VertexFormat::F32x4; 4].into(), outputs: vec![4; 4].into() };
    let target = Target::host().unwrap();
    let make = || compile(&func, &layout, &target, &CodegenOptions::default()).unwrap();
    let mappings = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.matches(" r-xp ").count());
    let few = mappings();
    let kept: Vec<Code> = (0..300).map(|_| make()).collect();
    let many = mappings();
    drop(kept);
    if many > 0 {
        assert!(
            mappings() < few + 150,
            "{few} executable mappings before, {many} with 300 codes, {} after",
            mappings()
        );
    }
}

#[test]
fn code_is_shared_among_threads_and_the_same_each_time() {
    let func = copy(2);
    let layout = Layout { inputs: vec![VertexFormat::F32x4; 2].into(), outputs: vec![4; 2].into() };
    let target = Target::host().unwrap();
    let code = compile(&func, &layout, &target, &CodegenOptions::default()).unwrap();
    let again = compile(&func, &layout, &target, &CodegenOptions::default()).unwrap();
    assert_eq!(code.bytes(), again.bytes());
    let input = pattern(16 * 100);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let streams = [InputStream { bytes: &input, stride: 16 }; 2];
                let elements = [0, 1600].map(|offset| OutputElement { offset, stride: 16 });
                let mut out = vec![0; 3200];
                let mut buffer = OutputBuffer { bytes: &mut out, elements: &elements };
                code.run(&batch(&streams, 100), &mut buffer, &mut Scratch::default()).unwrap();
                assert!(out[..1600] == input && out[1600..] == input);
            });
        }
    });
}

#[test]
fn the_text_shows_the_code() {
    let layout = Layout { inputs: vec![VertexFormat::F32x4].into(), outputs: vec![4].into() };
    let text = clif_text(&copy(1), &layout);
    assert!(text.starts_with("function"), "{text}");
    assert!(text.contains("load.i8x16") && text.contains("shuffle"), "{text}");
}

#[test]
fn vertices_are_numbered_in_the_tail_too() {
    let mut b = FunctionBuilder::new("ids", 0, 1);
    let id = b.sysval(shaderjit_ir::SysVal::VertexId);
    b.output(0, 0, id);
    b.ret();
    let func = lockstep(b);
    let case = Case { first_vertex: 5, inputs: Vec::new(), ..Case::new(vec![[0; 4]; 11]) };
    super::check(&func, &[case]);
}
