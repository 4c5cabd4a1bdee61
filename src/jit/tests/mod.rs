//! Native code against the interpreter, bit for bit but for NaN payloads; on this machine and without its optional
//! features; with one and two vectors of lanes.

mod barriers;
mod bits;
mod blend;
mod buffers;
mod control;
mod conversions;
mod memory;
mod negations;
mod ops;
mod phases;
mod powers;
#[cfg(target_arch = "x86_64")]
mod prefetch;
mod reciprocals;
mod resources;
mod rings;
mod rows;
mod schedule;
mod signs;
mod slots;
mod textures;
mod worklists;

use super::UniformRows;
use super::{Batch, Code, CodegenOptions, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target};
use crate::error::{CallError, JitError};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::fuel::Stop;
use shaderjit_ir::function::Imm;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type};

/// One row a vertex or a uniform.
pub type Rows = Vec<[u32; 4]>;

/// What a function is run on.
#[derive(Clone, Debug)]
pub struct Case {
    /// Rows of each input element.
    pub inputs: Vec<Rows>,
    /// Rows of each uniform space.
    pub uniforms: Vec<Rows>,
    /// Bytes of each resource.
    pub resources: Vec<Vec<u8>>,
    pub count: u32,
    pub first_vertex: u32,
    pub instance: u32,
    pub fuel: u32,
}

impl Case {
    /// One input element.
    pub fn new(input: Rows) -> Case {
        let count = input.len() as u32;
        let (uniforms, resources) = (Vec::new(), Vec::new());
        Case { inputs: vec![input], uniforms, resources, count, first_vertex: 0, instance: 0, fuel: 100_000 }
    }
}

/// The function as a builder leaves it, in lockstep form: for code whose branches are uniform.
pub fn lockstep(builder: FunctionBuilder) -> Function {
    let mut func = builder.finish();
    func.lockstep = true;
    func
}

/// Rows of four words in and out.
fn words(func: &Function) -> Layout {
    Layout {
        inputs: vec![VertexFormat::U32x4; func.inputs as usize].into(),
        outputs: vec![4; func.outputs as usize].into(),
    }
}

/// The function, checked.
fn verified(func: &Function) -> Verified {
    Verified::new(func.clone()).unwrap_or_else(|errors| panic!("{errors}\n{func}"))
}

/// Checks and compiles.
pub fn compile(func: &Function, layout: &Layout, target: &Target, options: &CodegenOptions) -> Result<Code, JitError> {
    super::compile(&verified(func), layout, target, options)
}

/// Checks, and says what Cranelift is given.
pub fn clif_text(func: &Function, layout: &Layout) -> String {
    super::clif_text(&verified(func), layout, &Target::host().unwrap(), &CodegenOptions::default()).unwrap()
}

pub fn bytes(rows: &[[u32; 4]]) -> Vec<u8> {
    rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

fn resources(case: &Case) -> Vec<&[u8]> {
    case.resources.iter().map(Vec::as_slice).collect()
}

/// Every kind of code of a function with rows of four words in and out.
pub fn compile_all(func: &Function) -> Vec<Code> {
    let layout = words(func);
    let fused = func.insts.values().any(|inst| inst.op == Op::Fma);
    let mut targets = vec![Target::host().unwrap(), Target::baseline().unwrap()];
    targets.retain(|target| target.has_fma() || !fused);
    let mut codes = Vec::new();
    for target in &targets {
        codes.extend(options(target).map(|options| compile(func, &layout, target, &options).unwrap()));
    }
    if let Some(other) = Target::host().unwrap().otherwise() {
        let widest = options(&other).filter(|options| options.lanes == 16);
        codes.extend(widest.map(|options| compile(func, &layout, &other, &options).unwrap()));
    }
    codes
}

/// Every width of vectors that a target has, one and two a wave.
pub fn options(target: &Target) -> impl Iterator<Item = CodegenOptions> {
    target.lanes().flat_map(|lanes| [1, 2].map(|vectors| CodegenOptions { lanes, vectors }))
}

/// Runs native code. Rows of each output element.
pub fn run_native(code: &Code, func: &Function, case: &Case) -> Result<Vec<Rows>, CallError> {
    let inputs: Vec<Vec<u8>> = case.inputs.iter().map(|rows| bytes(rows)).collect();
    let inputs: Vec<InputStream<'_>> = inputs.iter().map(|bytes| InputStream { bytes, stride: 16 }).collect();
    let uniforms: Vec<UniformRows> = func
        .spaces
        .keys()
        .map(|space| {
            let rows = case.uniforms.get(space.as_u32() as usize).map_or(&[][..], Vec::as_slice);
            UniformRows::from_rows(rows, code.uniform_rows(space))
        })
        .collect();
    let size = case.count as usize * 16;
    let elements: Vec<OutputElement> =
        (0..func.outputs as usize).map(|element| OutputElement { offset: element * size, stride: 16 }).collect();
    let mut out = vec![0xcc; size * elements.len()];
    code.run(
        &Batch {
            inputs: &inputs,
            uniforms: &uniforms,
            resources: &resources(case),
            textures: &textures::Mixed,
            count: case.count,
            first_vertex: case.first_vertex,
            instance: case.instance,
            fuel: case.fuel.into(),
        },
        &mut OutputBuffer { bytes: &mut out, elements: &elements },
        &mut Scratch::default(),
    )?;
    let words: Vec<u32> = out.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let rows = words.as_chunks::<4>().0;
    Ok((0..func.outputs as usize).map(|e| rows[e * case.count as usize..][..case.count as usize].to_vec()).collect())
}

/// Runs the interpreter on waves of L lanes, the last vertex repeated.
pub fn run_reference<const L: usize>(func: &Function, case: &Case) -> Result<Vec<Rows>, InterpError> {
    let mut outputs = vec![Rows::new(); func.outputs as usize];
    let uniforms: Vec<&[[u32; 4]]> = case.uniforms.iter().map(Vec::as_slice).collect();
    let mut interpreter = Interpreter::<L>::new(func);
    for start in (0..case.count as usize).step_by(L) {
        let vertex = |lane: usize| (start + lane).min(case.count as usize - 1);
        let inputs: Vec<[[u32; L]; 4]> = case
            .inputs
            .iter()
            .map(|rows| std::array::from_fn(|c| std::array::from_fn(|lane| rows[vertex(lane)][c])))
            .collect();
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: std::array::from_fn(|lane| case.first_vertex.wrapping_add(vertex(lane) as u32)),
            instance_id: case.instance,
            uniforms: &uniforms,
            resources: &resources(case),
            textures: &textures::Mixed,
        };
        let out = interpreter.run(&bindings, &InterpOptions { fuel: case.fuel.into(), fused: true })?;
        for lane in 0..L.min(case.count as usize - start) {
            for (rows, element) in outputs.iter_mut().zip(out) {
                rows.push(element.map(|component| component[lane]));
            }
        }
    }
    Ok(outputs)
}

/// Whether each component of each output is a float, whose NaN may differ.
fn float_outputs(func: &Function) -> Vec<[bool; 4]> {
    let mut floats = vec![[false; 4]; func.outputs as usize];
    for inst in func.insts.values() {
        if let (Op::Output, Type::F32, Imm::Element { element, component }) = (inst.op, inst.ty, inst.imm) {
            floats[element as usize][usize::from(component)] = true;
        }
    }
    floats
}

fn same(is_float: bool, a: u32, b: u32) -> bool {
    a == b || is_float && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

/// Checks that all native code does on a case what the interpreter does.
pub fn check_case(func: &Function, codes: &[Code], case: &Case) {
    let floats = float_outputs(func);
    let references = [
        run_reference::<4>(func, case),
        run_reference::<8>(func, case),
        run_reference::<16>(func, case),
        run_reference::<32>(func, case),
    ];
    for code in codes {
        let expected = references[code.lanes().ilog2() as usize - 2].clone();
        let found = run_native(code, func, case);
        let (expected, found) = match (expected, found) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(InterpError::Stopped(Stop::Wave)), Err(CallError::OutOfFuel { .. })) => continue,
            (expected, found) => panic!("{func}\nexpected {expected:?}\nfound {found:?}"),
        };
        for element in 0..expected.len() {
            for vertex in 0..expected[element].len() {
                for component in 0..4 {
                    let [a, b] = [&expected, &found].map(|rows| rows[element][vertex][component]);
                    assert!(
                        same(floats[element][component], a, b),
                        "{func}\n{} lanes, vertex {vertex}, output {element}.{component}: expected {a:#x}, found {b:#x}\n\
                         inputs {:x?} uniforms {:x?}",
                        code.lanes(),
                        case.inputs.iter().map(|rows| rows[vertex]).collect::<Vec<_>>(),
                        case.uniforms
                    );
                }
            }
        }
    }
}

/// Compiles and checks.
pub fn check(func: &Function, cases: &[Case]) {
    let codes = compile_all(func);
    for case in cases {
        check_case(func, &codes, case);
    }
}

/// Bit patterns on which arithmetic tends to go wrong, as floats and as integers.
pub const EDGES: [u32; 44] = [
    0x0000_0000, // 0
    0x8000_0000, // -0, INT_MIN
    0x0000_0001, // least denormal, 1
    0x8000_0001,
    0x007f_ffff, // largest denormal
    0x807f_ffff,
    0x0080_0000, // least normal
    0x8080_0000,
    0x0080_0001,
    0x0100_0000, // twice the least normal
    0x3400_0000, // 2^-23
    0x3380_0000, // 2^-24
    0x3f00_0000, // 0.5, a tie
    0xbf00_0000,
    0x3eff_ffff, // just below 0.5
    0x3f80_0000, // 1
    0xbf80_0000, // -1
    0x3f7f_ffff, // just below 1
    0x3f80_0001, // just above 1
    0x3fc0_0000, // 1.5, a tie
    0x4020_0000, // 2.5, a tie
    0xc060_0000, // -3.5, a tie
    0x4049_0fdb, // pi
    0x4b00_0001, // 2^23 + 1
    0x4b7f_ffff, // 2^24 - 1
    0x4eff_ffff, // just below 2^31
    0x4f00_0000, // 2^31
    0xcf00_0000, // -2^31
    0xcf00_0001, // just below -2^31
    0x4f7f_ffff, // just below 2^32
    0x4f80_0000, // 2^32
    0x7f7f_ffff, // largest finite
    0xff7f_ffff,
    0x7f80_0000, // inf
    0xff80_0000,
    0x7fc0_0000, // NaN
    0xffc0_0001,
    0x7f80_0001, // signalling NaN
    0x0000_001f, // 31
    0x0000_0020, // 32
    0x0000_0007,
    0x7fff_ffff, // INT_MAX
    0xffff_ffff, // -1
    0xffff_fff9, // -7
];
