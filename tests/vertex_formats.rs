//! Vertex formats: what stored bytes read as, computed by hand, and buffers that end with their last vertex, on both
//! engines and at four and eight lanes.

use shaderjit::{
    Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, Shader, VertexBufferView, VertexFormat,
};
use std::sync::Arc;

/// `mov o0, v0; mov o1, v0.wzyx; end`, in words of a 3DS program. The first is a copy of rows where the format has
/// words, the second always goes by way of the lanes.
const WORDS: [u32; 3] = [0x4c00_0000, 0x4c20_0001, 0x8800_0000];
const DESCRIPTORS: [u32; 2] = [0xf | 0x1b << 5, 0xf | 0xe4 << 5];

/// The interpreter, and native code at each number of lanes.
fn codes(engine: &Engine, format: VertexFormat) -> [Arc<CompiledShader>; 4] {
    let shader = Shader::from_pica_words(&WORDS, &DESCRIPTORS, 0);
    let options = CompileOptions::default().format("v0", 0, format);
    let [four, eight, sixteen] = Lanes::ALL.map(|lanes| options.clone().backend(Backend::Jit).lanes(lanes));
    [options.backend(Backend::Interpreter), four, eight, sixteen]
        .map(|options| engine.compile(&shader, &options).expect("the program compiles"))
}

/// What the shader reads of some vertices.
fn read(code: &CompiledShader, view: VertexBufferView<'_>, count: u32) -> Vec<[u32; 4]> {
    let mut call = code.call();
    call.reinterpret_inputs(true).input("v0", 0, view).expect("there is an input");
    let outputs = call.run(0..count).expect("the call runs");
    let rows: Vec<[u32; 4]> = outputs.element(0).expect("o0").iter().collect();
    let reversed = outputs.element(1).expect("o1").iter().map(|[w, z, y, x]| [x, y, z, w]);
    assert!(reversed.eq(rows.iter().copied()), "{}: {rows:x?}", view.format.name());
    rows
}

/// Checks what the bytes of one vertex read as, in whole groups and in a tail.
fn check(engine: &Engine, cases: &[(VertexFormat, &[u8], [u32; 4])]) {
    for &(format, bytes, expected) in cases {
        assert_eq!(format.bytes(), bytes.len(), "{}", format.name());
        assert_eq!(format.decode(bytes), expected, "{} {bytes:x?}", format.name());
        let vertices = bytes.repeat(11);
        for (code, engine) in
            codes(engine, format).iter().zip(["interpreter", "four lanes", "eight lanes", "sixteen lanes"])
        {
            let found = read(code, VertexBufferView::new(format, &vertices, bytes.len()), 11);
            assert_eq!(found, [expected; 11], "{} {bytes:x?} on {engine}", format.name());
        }
    }
}

fn engine() -> Engine {
    Engine::new(Config::default()).expect("this machine has native code")
}

fn floats(values: [f32; 4]) -> [u32; 4] {
    values.map(f32::to_bits)
}

#[test]
fn formats_of_the_3ds() {
    use VertexFormat::*;
    let cases: &[(VertexFormat, &[u8], [f32; 4])] = &[
        (Sscaled8x1, &[0x80], [-128.0, 0.0, 0.0, 1.0]),
        (Sscaled8x1, &[0x7f], [127.0, 0.0, 0.0, 1.0]),
        (Sscaled8x2, &[0xff, 0x80], [-1.0, -128.0, 0.0, 1.0]),
        (Sscaled8x3, &[0x80, 0x7f, 0x00], [-128.0, 127.0, 0.0, 1.0]),
        (Sscaled8x3, &[0x01, 0xfe, 0x81], [1.0, -2.0, -127.0, 1.0]),
        (Sscaled8x4, &[0x80, 0x81, 0xff, 0x7f], [-128.0, -127.0, -1.0, 127.0]),
        (Uscaled8x1, &[0xff], [255.0, 0.0, 0.0, 1.0]),
        (Uscaled8x1, &[0x80], [128.0, 0.0, 0.0, 1.0]),
        (Uscaled8x2, &[0x7f, 0x80], [127.0, 128.0, 0.0, 1.0]),
        (Uscaled8x3, &[0x00, 0x01, 0xff], [0.0, 1.0, 255.0, 1.0]),
        (Uscaled8x4, &[0xff, 0x80, 0x7f, 0x00], [255.0, 128.0, 127.0, 0.0]),
        (Sscaled16x1, &[0x00, 0x80], [-32768.0, 0.0, 0.0, 1.0]),
        (Sscaled16x1, &[0xff, 0x7f], [32767.0, 0.0, 0.0, 1.0]),
        (Sscaled16x2, &[0xff, 0xff, 0x00, 0x01], [-1.0, 256.0, 0.0, 1.0]),
        (Sscaled16x3, &[0x00, 0x80, 0xff, 0x7f, 0xff, 0x00], [-32768.0, 32767.0, 255.0, 1.0]),
        (Sscaled16x3, &[0x01, 0x00, 0x80, 0xff, 0x00, 0x80], [1.0, -128.0, -32768.0, 1.0]),
        (Sscaled16x4, &[0x00, 0x80, 0x01, 0x80, 0xff, 0xff, 0xff, 0x7f], [-32768.0, -32767.0, -1.0, 32767.0]),
        (F32x1, &[0x00, 0x00, 0x80, 0x3f], [1.0, 0.0, 0.0, 1.0]),
        (F32x2, &[0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x3f], [-2.0, 0.5, 0.0, 1.0]),
        (F32x3, &[0, 0, 0, 0x80, 0, 0, 0x80, 0x7f, 0, 0, 0x80, 0xff], [-0.0, f32::INFINITY, f32::NEG_INFINITY, 1.0]),
        (
            F32x4,
            &[0xff, 0xff, 0x7f, 0x7f, 0, 0, 0x80, 0, 1, 0, 0, 0, 0, 0, 0, 0x40],
            [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 2.0],
        ),
    ];
    let cases: Vec<_> = cases.iter().map(|&(format, bytes, values)| (format, bytes, floats(values))).collect();
    check(&engine(), &cases);
}

#[test]
fn integers_of_direct3d() {
    use VertexFormat::*;
    // -1, -128, -32768.
    const M1: u32 = 0xffff_ffff;
    const M128: u32 = 0xffff_ff80;
    const M32768: u32 = 0xffff_8000;
    check(
        &engine(),
        &[
            (Sint8x1, &[0x80], [M128, 0, 0, 1]),
            (Sint8x1, &[0x7f], [127, 0, 0, 1]),
            (Sint8x2, &[0xff, 0x01], [M1, 1, 0, 1]),
            (Sint8x4, &[0x80, 0x7f, 0xff, 0x00], [M128, 127, M1, 0]),
            (Uint8x1, &[0xff], [255, 0, 0, 1]),
            (Uint8x2, &[0x80, 0xff], [128, 255, 0, 1]),
            (Uint8x4, &[0x01, 0x80, 0x7f, 0xff], [1, 128, 127, 255]),
            (Sint16x1, &[0x00, 0x80], [M32768, 0, 0, 1]),
            (Sint16x2, &[0xff, 0x7f, 0xff, 0xff], [32767, M1, 0, 1]),
            (Sint16x4, &[0x00, 0x80, 0x80, 0xff, 0x01, 0x00, 0xff, 0x7f], [M32768, M128, 1, 32767]),
            (Uint16x1, &[0xff, 0xff], [65535, 0, 0, 1]),
            (Uint16x2, &[0x00, 0x80, 0x01, 0x02], [32768, 513, 0, 1]),
            (Uint16x4, &[1, 0, 0, 1, 0xff, 0x7f, 0xff, 0xff], [1, 256, 32767, 65535]),
            (U32x1, &[0xff, 0xff, 0xff, 0xff], [M1, 0, 0, 1]),
            (I32x3, &[0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0], [0x8000_0000, 0x7fff_ffff, 1, 1]),
            (Uint10_10_10_2, &[0xff, 0xff, 0xff, 0xff], [1023, 1023, 1023, 3]),
            (Uint10_10_10_2, &[0x55, 0xfd, 0x0f, 0x80], [341, 1023, 0, 2]),
        ],
    );
}

#[test]
fn floats_of_direct3d() {
    use VertexFormat::*;
    const ONE: u32 = 0x3f80_0000;
    const MINUS_ONE: u32 = 0xbf80_0000;
    const INFINITY: u32 = 0x7f80_0000;
    const NAN: u32 = 0x7fc0_0000;
    // 51 / 255, and 13107 / 65535.
    const FIFTH: u32 = 0x3e4c_cccd;
    check(
        &engine(),
        &[
            (Unorm8x1, &[0xff], [ONE, 0, 0, ONE]),
            (Unorm8x1, &[0x33], [FIFTH, 0, 0, ONE]),
            (Unorm8x2, &[0x00, 0xff], [0, ONE, 0, ONE]),
            (Unorm8x4, &[0xff, 0x33, 0x00, 0x80], [ONE, FIFTH, 0, 0x3f00_8081]),
            (Unorm8x4Bgra, &[0xff, 0x33, 0x00, 0x80], [0, FIFTH, ONE, 0x3f00_8081]),
            (Snorm8x1, &[0x80], [MINUS_ONE, 0, 0, ONE]),
            (Snorm8x1, &[0x7f], [ONE, 0, 0, ONE]),
            (Snorm8x2, &[0x00, 0x81], [0, MINUS_ONE, 0, ONE]),
            (Snorm8x4, &[0x7f, 0x80, 0x81, 0x00], [ONE, MINUS_ONE, MINUS_ONE, 0]),
            (Unorm16x1, &[0xff, 0xff], [ONE, 0, 0, ONE]),
            (Unorm16x2, &[0x33, 0x33, 0x00, 0x00], [FIFTH, 0, 0, ONE]),
            (Unorm16x4, &[0, 0, 0xff, 0xff, 0x33, 0x33, 0, 0], [0, ONE, FIFTH, 0]),
            (Snorm16x1, &[0x00, 0x80], [MINUS_ONE, 0, 0, ONE]),
            (Snorm16x1, &[0x01, 0x80], [MINUS_ONE, 0, 0, ONE]),
            (Snorm16x2, &[0xff, 0x7f, 0x00, 0x80], [ONE, MINUS_ONE, 0, ONE]),
            (Snorm16x4, &[0, 0, 0x01, 0x80, 0xff, 0x7f, 0, 0], [0, MINUS_ONE, ONE, 0]),
            // The least half, the greatest, infinity, a NaN.
            (F16x1, &[0x01, 0x00], [0x3380_0000, 0, 0, ONE]),
            (F16x2, &[0xff, 0x7b, 0x00, 0xfc], [0x477f_e000, 0xff80_0000, 0, ONE]),
            (F16x4, &[0x01, 0x7e, 0x00, 0x3c, 0x00, 0x80, 0x00, 0xbc], [0x7fc0_2000, ONE, 0x8000_0000, MINUS_ONE]),
            (Unorm10_10_10_2, &[0x00, 0x00, 0x00, 0x00], [0; 4]),
            (Unorm10_10_10_2, &[0xff, 0xff, 0xff, 0xff], [ONE; 4]),
            // 341 / 1023, 1023 / 1023, 0, 2 / 3.
            (Unorm10_10_10_2, &[0x55, 0xfd, 0x0f, 0x80], [0x3eaa_aaab, ONE, 0, 0x3f2a_aaab]),
            // 1.0, 0.5, and the greatest of ten bits, 64512.0.
            (F11_11_10, &[0xc0, 0x03, 0xdc, 0xf7], [ONE, 0x3f00_0000, 0x477c_0000, ONE]),
            // Denormals: 2^-20, 63 * 2^-20, 2^-19.
            (F11_11_10, &[0x01, 0xf8, 0x41, 0x00], [0x3580_0000, 0x387c_0000, 0x3600_0000, ONE]),
            // Infinity, a NaN, infinity.
            (F11_11_10, &[0xc0, 0x07, 0x3f, 0xf8], [INFINITY, NAN, INFINITY, ONE]),
            // The greatest of eleven bits, 65024.0, twice; a NaN.
            (F11_11_10, &[0xbf, 0xff, 0x3d, 0xfc], [0x477e_0000, 0x477e_0000, NAN, ONE]),
        ],
    );
}

#[test]
fn rows_lie_anywhere_and_end_with_the_buffer() {
    let engine = engine();
    for &format in VertexFormat::ALL {
        let codes = codes(&engine, format);
        let size = format.bytes();
        for (stride, offset) in [(size, 0), (size, 3), (size + 1, 1), (size + 3, 2), (1, 1), (37, 5)] {
            for count in 1..=9 {
                // No byte behind the last vertex.
                let length = offset + stride * (count - 1) + size;
                let bytes: Box<[u8]> = (0..length).map(|at| (at * 89 + stride) as u8).collect();
                let view = VertexBufferView::new(format, &bytes[offset..], stride);
                assert_eq!(view.vertices(), Some(count));
                let vertex = |number: usize| format.decode(&bytes[offset + number * stride..][..size]);
                let expected: Vec<[u32; 4]> = (0..count).map(vertex).collect();
                for code in &codes {
                    let found = read(code, view, count as u32);
                    assert_eq!(found, expected, "{} at {offset}, stride {stride}", format.name());
                }
                let mut call = codes[1].call();
                call.reinterpret_inputs(true).input("v0", 0, view).expect("there is an input");
                assert!(call.run(0..count as u32 + 1).is_err(), "{} past the end", format.name());
            }
        }
    }
}

#[test]
fn indices_reach_rows_of_every_size() {
    let engine = engine();
    // No two vertices in a row, so that rows are copied.
    let indices: Vec<u16> = (0..150).map(|n| n * 7 % 151 * 3).collect();
    for &format in VertexFormat::ALL {
        let size = format.bytes();
        let bytes: Vec<u8> = (0..size * 451).map(|at| (at * 89 + at / 251) as u8).collect();
        for code in &codes(&engine, format) {
            let mut call = code.call();
            let view = VertexBufferView::new(format, &bytes, size);
            call.reinterpret_inputs(true).input("v0", 0, view).expect("there is an input");
            let drawn = call.run_indexed(shaderjit::Indices::U16(&indices), 0).expect("the call runs");
            for &index in &indices {
                let row = drawn.row(index.into()).expect("it is drawn");
                let found = drawn.outputs.element(0).expect("o0").bits(row);
                let expected = format.decode(&bytes[usize::from(index) * size..][..size]);
                assert_eq!(found, Some(expected), "{} {index}", format.name());
            }
        }
    }
}
