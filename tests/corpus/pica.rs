//! PICA200 vertex shaders.
//!
//! Arithmetic must be equal to the bit; EX2, LG2, RCP and RSQ may be off by four units of the last place. A power is
//! EX2 of a multiple of LG2: an error of one unit in an exponent of size n is one of n units in the result. The
//! references keep denormals, which PICA200's 24-bit floats are far from having; ours are flushed, so theirs are too
//! before comparing.

use crate::{data, engine, names, read, run_everywhere, run_everywhere_with};
use shaderjit::{
    CompileOptions, CompiledShader, FloatPrecision, FlowForm, ListingOptions, PicaUniforms, Shader, VertexBufferView,
};

/// Bytes of one vertex: sixteen registers of four floats.
const VERTEX: usize = 256;

/// What a program approximates, by its disassembly.
struct Approximation {
    any: bool,
    powers: bool,
}

impl Approximation {
    fn of(bytes: &[u8], entry: usize) -> Approximation {
        let text = Shader::parse(bytes)
            .and_then(|shader| shader.disassemble(entry, ListingOptions::default()))
            .expect("it disassembles");
        let has = |mnemonic: &&str| text.contains(*mnemonic);
        Approximation { any: ["ex2", "lg2", "rcp", "rsq"].iter().any(has), powers: ["ex2", "lg2"].iter().all(has) }
    }

    /// Units of the last place by which a value may be off.
    fn allowed(&self, reference: u32) -> u32 {
        let exponent = f32::from_bits(reference).abs().log2().abs();
        match self {
            Approximation { any: false, .. } => 0,
            Approximation { powers: true, .. } if exponent.is_finite() => 4 + 4 * exponent as u32,
            Approximation { .. } => 4,
        }
    }
}

/// A denormal's bits become those of zero.
fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Distance in units of the last place, or 0 for two NaNs.
fn ulps(a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if x.is_nan() && y.is_nan() {
        return 0;
    }
    let order = |bits: u32| if bits >> 31 == 0 { i64::from(bits) } else { -i64::from(bits & 0x7fff_ffff) };
    u32::try_from((order(a) - order(b)).unsigned_abs()).unwrap_or(u32::MAX)
}

/// What is in a name: tNN_title.dK.INPUT.ref.out.
fn parts(name: &str) -> [&str; 3] {
    let parts: Vec<&str> = name.split('.').collect();
    let [title, dvle, input, "ref", "out"] = parts[..] else { panic!("{name} is no reference") };
    [title, dvle, input]
}

/// The container of a reference's program, and which of its executables that is.
fn program(name: &str) -> (Vec<u8>, usize) {
    let [title, dvle, _] = parts(name);
    let bytes = read(&data().join("pica").join(format!("{title}.shbin")));
    (bytes, dvle[1..].parse().expect("the number of a DVLE"))
}

/// One program's results on one file of vertices, as (ours, the reference's) words.
fn results(name: &str, options: CompileOptions) -> Vec<(u32, u32)> {
    let [title, dvle, input] = parts(name);
    let folder = data().join("pica");
    let (bytes, entry) = program(name);
    let uniforms =
        PicaUniforms::from_bytes(&read(&folder.join(format!("{title}.{dvle}.uni.bin")))).expect("1556 bytes");
    let vertices = read(&folder.join("inputs").join(format!("{input}.bin")));
    let reference = read(&folder.join(name));
    let run = |code: &CompiledShader| {
        let mut call = code.call();
        for register in 0..16 {
            call.input_element(register, VertexBufferView::f32x4(&vertices[16 * register..], VERTEX))
                .expect("v0 to v15");
        }
        call.pica_uniforms(&uniforms).run(0..(vertices.len() / VERTEX) as u32).expect("the call runs")
    };
    let outputs = run_everywhere_with(&engine(true), &bytes, &options.entry(entry), run, name);
    assert_eq!(outputs.bytes().len(), reference.len(), "{name}");
    let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<_>>();
    words(outputs.bytes()).into_iter().zip(words(&reference)).collect()
}

/// Checks one program against one reference; the number of values compared.
fn check(name: &str, options: CompileOptions) -> usize {
    let (bytes, entry) = program(name);
    let approximation = Approximation::of(&bytes, entry);
    let results = results(name, options);
    for (at, &(a, b)) in results.iter().enumerate() {
        let (vertex, register, component) = (at / 64, at / 4 % 16, at % 4);
        assert!(
            ulps(a, flush(b)) <= approximation.allowed(b),
            "{name}: vertex {vertex} o{register}.{component}: {a:08x} is not {b:08x}"
        );
    }
    results.len()
}

#[test]
fn every_reference_is_reproduced() {
    let references: Vec<String> =
        names(&data().join("pica")).into_iter().filter(|name| name.ends_with(".ref.out")).collect();
    assert!(references.len() >= 54, "only {} references", references.len());
    let values: usize = references.iter().map(|name| check(name, CompileOptions::default())).sum();
    println!("{} references, {values} values", references.len());
    for name in references.iter().filter(|name| parts(name)[2] == "normal256") {
        check(name, CompileOptions::default().flow(FlowForm::Dispatch));
    }
}

/// Programs that crash or hang recompilers in use today.
#[test]
fn hostile_control_flow_ends() {
    let folder = data().join("pica/crash");
    let inputs = vec![0; 20 * VERTEX];
    for name in names(&folder).iter().filter(|name| name.ends_with(".shbin")) {
        let bytes = read(&folder.join(name));
        let run = |code: &CompiledShader| {
            let mut call = code.call();
            for register in 0..16 {
                call.input_element(register, VertexBufferView::f32x4(&inputs, VERTEX)).expect("v0 to v15");
            }
            call.unbound_as_zero(true).run(0..20).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        run_everywhere(&engine(true), &bytes, 0, run, name);
        let dispatch = CompileOptions::default().flow(FlowForm::Dispatch);
        run_everywhere_with(&engine(true), &bytes, &dispatch, run, name);
    }
}

/// Both engines agree on numbers of 24 bits, and those are what they are named after. On ordinary vertices, where
/// nothing cancels, they are near those of 32 bits.
#[test]
fn numbers_of_24_bits_are_near_those_of_32() {
    for name in names(&data().join("pica")).into_iter().filter(|name| name.ends_with(".ref.out")) {
        // Four hundred steps, each on what the one before gives, some of them chaotic.
        let is_ordinary = parts(&name)[2] == "normal256" && parts(&name)[0] != "t40_long";
        for (at, (a, b)) in
            results(&name, CompileOptions::default().float_precision(FloatPrecision::Float24)).into_iter().enumerate()
        {
            assert_eq!(a & 0x7f, 0, "{name}: {a:08x} has more than 16 bits of mantissa");
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            let is_near = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-4 + 1e-3 * y.abs();
            assert!(is_near || !is_ordinary, "{name}: vertex {} register {}: {x:e} is not {y:e}", at / 64, at / 4 % 16);
        }
    }
}
