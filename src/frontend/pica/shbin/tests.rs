use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::container::Container;
use crate::frontend::TriangleStore;
use crate::frontend::pica::Program;
use crate::frontend::pica::opcode::Opcode;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
use shaderjit_ir::texture::NoTextures;
use shaderjit_ir::verify::verify;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pica")
}

fn lower_file(bytes: &[u8], index: usize) -> Result<Lowered, Error> {
    let Container::Shbin(shbin) = Container::parse(bytes).unwrap() else { panic!("not a SHBIN") };
    lower_shbin(&shbin, index, &LowerOptions::default())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn rows(words: &[u32]) -> Vec<[u32; 4]> {
    words.chunks_exact(4).map(|row| row.try_into().unwrap()).collect()
}

/// The three uniform spaces of a `.uni.bin` file: `c0..c95`, `i0..i3` as bytes, the bool mask, as the function reads
/// them.
fn uniforms(bytes: &[u8], lowered: &Lowered) -> [Vec<[u32; 4]>; 3] {
    assert_eq!(bytes.len(), 1556);
    let float = rows(&words(&bytes[..1536]));
    let int = bytes[1536..1552].chunks_exact(4).map(|row| std::array::from_fn(|c| u32::from(row[c]))).collect();
    let mut spaces = [float, int, vec![[words(&bytes[1552..])[0], 0, 0, 0]]];
    for (space, rows) in lowered.function.spaces.keys().zip(&mut spaces) {
        lowered.interface.complete(space, rows);
    }
    spaces
}

/// The first of every [`STRIDE`] vertices of 16 registers.
fn sample(words: &[u32]) -> Vec<u32> {
    words.chunks_exact(64).step_by(STRIDE).flatten().copied().collect()
}

/// Runs one vertex after the other.
fn run(lowered: &Lowered, uniforms: &[Vec<[u32; 4]>; 3], vertices: &[u32]) -> Vec<u32> {
    let uniforms: Vec<&[[u32; 4]]> = uniforms.iter().map(Vec::as_slice).collect();
    let mut interpreter = Interpreter::<1>::new(&lowered.function);
    let mut out = Vec::new();
    for vertex in vertices.chunks_exact(64) {
        let inputs: Vec<[[u32; 1]; 4]> = vertex.chunks_exact(4).map(|v| std::array::from_fn(|c| [v[c]])).collect();
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: [0],
            instance_id: 0,
            uniforms: &uniforms,
            resources: &[],
            textures: &NoTextures,
        };
        let outputs = interpreter.run(&bindings, &InterpOptions { fuel: 1_000_000.into(), fused: false }).unwrap();
        out.extend(outputs.iter().flatten().map(|[bits]| *bits));
    }
    out
}

/// The reference keeps denormals, which are far below what 24 bits can hold; here they are zeros.
fn flushed(bits: u32) -> u32 {
    if f32::from_bits(bits).is_subnormal() { bits & 1 << 31 } else { bits }
}

/// Distance in steps of `f32`; NaN equals NaN, and a zero only the same zero.
fn steps(a: u32, b: u32) -> u64 {
    let [x, y] = [a, b].map(f32::from_bits);
    if x.is_nan() && y.is_nan() {
        return 0;
    }
    if x.is_nan() || y.is_nan() {
        return u64::MAX;
    }
    let order = |bits: u32| if bits >> 31 == 0 { i64::from(bits) } else { -1 - i64::from(bits & 0x7fff_ffff) };
    order(a).abs_diff(order(b))
}

/// Steps of `f32` by which a component of the result may be off.
fn tolerance(program: &Program, name: &str, component: usize, reference: u32) -> u64 {
    let approximate = [Opcode::Ex2, Opcode::Lg2, Opcode::Rcp, Opcode::Rsq].map(Some);
    if !program.instructions().iter().any(|instruction| approximate.contains(&instruction.opcode)) {
        return 0;
    }
    // `o2` of this one is a power, ex2(y * lg2(x)): a step of the exponent is that many times ln 2 steps of the result.
    if name.starts_with("t07_ex2_lg2.") && (8..12).contains(&component) {
        return 4 + 4 * f32::from_bits(reference).log2().abs().min(150.0) as u64;
    }
    4
}

/// One vertex in this many is run: the tests of both engines run all of them.
const STRIDE: usize = 4;

/// Every result file of a vertex shader in the corpus: the unscheduled code on the IR interpreter gives the reference's
/// values.
#[test]
fn the_corpus_gives_its_reference_results() {
    let mut compared = 0;
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(rest) = name.strip_suffix(".ref.out") else { continue };
        let [file, dvle, input] = rest.split('.').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let index: usize = dvle[1..].parse().unwrap();
        let read = |file: String| fs::read(data().join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));

        let bytes = read(format!("{file}.shbin"));
        let lowered = lower_file(&bytes, index).unwrap();
        verify(&lowered.function).unwrap();
        let uniforms = uniforms(&read(format!("{file}.{dvle}.uni.bin")), &lowered);
        let out = run(&lowered, &uniforms, &sample(&words(&read(format!("inputs/{input}.bin")))));

        let dvlp = Shbin::parse(&bytes).unwrap().dvlp().unwrap();
        let program = decode(&dvlp.code, &dvlp.descriptors, 0).unwrap();
        let reference = sample(&words(&fs::read(&path).unwrap()));
        assert_eq!(out.len(), reference.len(), "{name}");
        for (at, (&ours, &theirs)) in out.iter().zip(&reference).enumerate() {
            assert!(
                steps(ours, flushed(theirs)) <= tolerance(&program, name, at % 64, theirs),
                "{name}: vertex {} o{}.{} is {:?}, not {:?}",
                at / 64 * STRIDE,
                at % 64 / 4,
                ["x", "y", "z", "w"][at % 4],
                f32::from_bits(ours),
                f32::from_bits(theirs),
            );
        }
        compared += 1;
    }
    assert!(compared >= 54, "only {compared} results were found");
}

/// What the rings of the hardware make of these is known: an invocation that ends in time, with these values in `o0`.
#[test]
fn programs_that_crash_other_compilers() {
    let constants = [1.0, 2.0, 3.0, 4.0];
    let position = [0.5, 2.0, -7.0, 1.0];
    let cases = [
        // END inside of the procedure: `mov o, p` is not reached.
        ("c1_end_in_call", constants),
        // One pass of the inner loop's body, then out of both loops.
        ("c2_jmp_out_of_nested_loop", [1.0, 1.0, 0.0, 0.0]),
        ("c3_no_end", constants),
        // The END inside of the loops is reached unless both compared components are equal.
        ("c4_end_in_nested_loop", constants),
        // Three calls of itself and the first one fill the ring; a fifth would make it forget the way back.
        ("c5_call_recursion", [4.0; 4]),
    ];
    for (name, expected) in cases {
        let lowered = lower_file(&fs::read(data().join(format!("crash/{name}.shbin"))).unwrap(), 0).unwrap();
        let uniforms = uniforms(&[0; 1556], &lowered);
        let mut vertex = [0u32; 64];
        vertex[..4].copy_from_slice(&position.map(f32::to_bits));
        let out = run(&lowered, &uniforms, &vertex);
        assert_eq!(out[..4].iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn constants_become_presets() {
    let lowered = lower_file(&fs::read(data().join("t30_constants.shbin")).unwrap(), 0).unwrap();
    let interface = &lowered.interface;
    let of = |kind| interface.presets.iter().filter(move |preset| preset.space == space_of(interface, kind));
    let ints: Vec<_> = of(UniformKind::PicaInt).map(|preset| (preset.bits, preset.mask)).collect();
    assert_eq!(ints, [([3, 2, 1, 0], [u32::MAX; 4])]);
    let mut bools: Vec<_> =
        of(UniformKind::PicaBool).map(|preset| (preset.row, preset.bits[0], preset.mask[0])).collect();
    bools.sort_unstable();
    assert_eq!(bools.len(), 2, "{bools:?}");
    assert_eq!(bools.iter().map(|&(row, bits, mask)| (row, bits == mask)).collect::<Vec<_>>(), [(0, false), (0, true)]);
    let c40 = of(UniformKind::PicaFloat).find(|preset| preset.row == 40).unwrap();
    assert_eq!(c40.bits.map(f32::from_bits), [5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn what_cannot_run_says_why() {
    let bytes = fs::read(data().join("t31_geo_point.shbin")).unwrap();
    let error = lower_file(&bytes, 7).unwrap_err().to_string();
    assert_eq!(error, "executable 7 does not exist, the file has 2 (at offset 0x4)");
}

#[test]
fn a_geometry_shader_emits_what_its_mask_says() {
    let bytes = fs::read(data().join("t31_geo_point.shbin")).unwrap();
    let lowered = lower_file(&bytes, 1).unwrap();
    verify(&lowered.function).unwrap();
    let geometry = lowered.interface.geometry.unwrap();
    assert_eq!(geometry.registers().collect::<Vec<_>>(), [0, 1]);
    // Six EMITs, of which the third and the last end a triangle.
    assert_eq!((geometry.capacity, geometry.rows()), (2, 6));
    assert_eq!(geometry.triangles, TriangleStore::Outputs(vec![true, false]));
    assert_eq!(lowered.interface.outputs.len(), geometry.first_triangle_output() + 12);
    assert_eq!(lowered.interface.inputs.len(), 16 + geometry.state.len());
}

/// The object is the executable's program and tables in the other container, so the same function comes out.
#[test]
fn an_object_lowers_as_the_executable_it_would_become() {
    let bytes = fs::read(data().join("t18_loop_nested.shbin")).unwrap();
    let Container::Shbin(shbin) = Container::parse(&bytes).unwrap() else { panic!("not a SHBIN") };
    let (dvlp, dvle) = (shbin.dvlp().unwrap(), shbin.dvle(0).unwrap().unwrap());
    assert_eq!(dvle.main, 0);
    let mut object = crate::container::shbin::Object {
        version: 0,
        kind: dvle.kind,
        flags: 0,
        input_mask: dvle.input_mask,
        output_mask: dvle.output_mask,
        unknown: u32::MAX,
        constants: dvle.constants,
        labels: dvle.labels,
        code: dvlp.code,
        code_offset: 0,
        descriptors: dvlp.descriptors,
        descriptor_tails: Vec::new(),
        lines: Vec::new(),
        operands: Vec::new(),
        outputs: dvle.outputs,
        uniforms: dvle.uniforms,
        symbols: dvle.symbols,
    };
    let lower = |bytes: &[u8]| lower_dvoj(&Dvoj::parse(bytes).unwrap(), &LowerOptions::default());
    let written = object.write().unwrap();
    let (lowered, linked) = (lower(&written).unwrap(), lower_shbin(&shbin, 0, &LowerOptions::default()).unwrap());
    assert_eq!(lowered.function, linked.function);
    assert_eq!(lowered.interface, linked.interface);
    assert!(!lowered.interface.presets.is_empty());

    object.kind = ShaderKind::Geometry;
    let lowered = lower(&object.write().unwrap()).unwrap();
    assert!(lowered.interface.geometry.is_some());
}
