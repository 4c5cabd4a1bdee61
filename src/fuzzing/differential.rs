//! The fast interpreter, the batch program and native code do what the interpreter does, to the bit.

mod fast;

use super::fence::fenced;
use super::way::Way;
use crate::Lanes::{Eight, Four, Sixteen};
use crate::Vectors;
use crate::error::CallError;
use crate::jit::{
    self, Batch, Code, CodegenOptions, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target, UniformRows,
};
use crate::pipeline::{self, PassOptions};
use crate::vertex_format::VertexFormat;
use arbitrary::{Arbitrary, Unstructured};
use shaderjit_ir::arbitrary::{Config, Data, HashedTextures, canonicalize_nans, function};
use shaderjit_ir::batch::{self, BatchInterpreter, BatchProgram};
use shaderjit_ir::eval::Lanes;
use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use shaderjit_ir::pass::PassError;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Function, Op};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// More vertices than two waves of the widest lanes, so that there are whole waves and a tail.
const VERTICES: usize = 35;

/// More than a tile of waves of the widest lanes: the vertices, over and over.
const MANY_VERTICES: usize = 263;

/// Instructions that the loops of a wave may take, and those of a call.
const FUEL: u32 = 3_000;
const CALL_FUEL: u64 = 20_000;

/// This machine, and the least one there is code for.
static TARGETS: LazyLock<[Target; 2]> = LazyLock::new(|| {
    let expect = "the machine that tests this has native code";
    [Target::host().expect(expect), Target::baseline().expect(expect)]
});

/// A function and what some vertices of it see.
#[derive(Debug)]
pub struct DifferentialCase {
    /// Valid, not in lockstep form.
    pub func: Function,
    /// For each vertex; what comes after the last of them sees what the first does, and so on.
    pub data: Data<VERTICES>,
    /// What each input element is stored as: as many of the bytes of its four words as the format has.
    pub formats: Vec<VertexFormat>,
    /// How many of them are shaded, at least one.
    pub count: usize,
    /// Whether the optional instructions of this machine are used.
    pub host: bool,
    /// Whether products are guarded.
    pub guards: bool,
    /// How native code is made.
    pub way: Way,
}

impl<'a> Arbitrary<'a> for DifferentialCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<DifferentialCase> {
        let mut func = function(u, &Config::default())?;
        canonicalize_nans(&mut func);
        let data = Data::arbitrary(u, &func)?;
        let formats = (0..func.inputs).map(|_| u.choose(VertexFormat::ALL).copied()).collect::<Result<_, _>>()?;
        let many = u.ratio(1, 8)?;
        Ok(DifferentialCase {
            func,
            data,
            formats,
            count: u.int_in_range(1..=if many { MANY_VERTICES } else { VERTICES })?,
            host: u.arbitrary()?,
            guards: u.arbitrary()?,
            way: u.arbitrary()?,
        })
    }
}

impl DifferentialCase {
    /// The bytes of each input element of a vertex, and their format.
    fn stored(&self, vertex: usize) -> impl Iterator<Item = (VertexFormat, Vec<u8>)> {
        self.formats.iter().zip(&self.data.inputs).map(move |(&format, words)| {
            let bytes = words.iter().flat_map(|lanes| lanes[vertex % VERTICES].to_le_bytes());
            (format, bytes.take(format.bytes()).collect())
        })
    }

    /// What is seen of the input elements of a vertex.
    fn inputs(&self, vertex: usize, seen: Seen) -> Vec<[u32; 4]> {
        match seen {
            Seen::Components => self.stored(vertex).map(|(format, bytes)| format.decode(&bytes)).collect(),
            Seen::Words => self.data.inputs.iter().map(|words| words.map(|lanes| lanes[vertex % VERTICES])).collect(),
        }
    }
}

/// What inputs are.
#[derive(Clone, Copy)]
enum Seen {
    /// The components, to a function.
    Components,
    /// The words of the row, to a batch program. Behind the end of the row anything may stand in them.
    Words,
}

/// Rows of four components, a vertex after the other, for each output element.
type Rows = Vec<[u32; 4]>;

/// Why a run ended early.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Fuel(Stop),
    /// A guard failed in the wave that begins with this vertex.
    Guard(usize),
}

/// All engines give the same bits, or all run out of fuel, or for all a guard fails at the same vertex.
pub fn differential(case: &DifferentialCase) {
    // A function that asks for one rounding by name needs a machine that has it.
    let needs_fma = case.func.insts.values().any(|inst| inst.op == Op::Fma);
    let is_host = case.host || needs_fma || case.way.vectors != Vectors::Cranelift;
    let target = &TARGETS[usize::from(!is_host)];
    let options = PassOptions { fused: target.has_fma(), guards: case.guards };
    let func = match pipeline::run(case.func.clone(), &options, None) {
        Ok(func) => func,
        Err(PassError::Invalid(errors)) => panic!("{errors}\n{}", case.func),
        Err(_) => return,
    };
    match case.way.lanes {
        Sixteen => compare::<16>(case, &func, target),
        Eight => compare::<8>(case, &func, target),
        Four => compare::<4>(case, &func, target),
    }
}

/// Compares all engines on waves of L lanes.
fn compare<const L: usize>(case: &DifferentialCase, func: &Verified, target: &Target) {
    let left = [(); 3].map(|()| AtomicU64::new(CALL_FUEL));
    let fuel = left.each_ref().map(|left| Fuel { call: Some(left), ..Fuel::from(FUEL) });
    let want = interpret::<L>(func, case, fuel[0]);
    let layout = Layout { inputs: case.formats.clone().into(), outputs: vec![4; func.outputs as usize].into() };
    let lanes = case.way.vectors.lanes();
    let options = CodegenOptions { lanes, vectors: L as u8 / lanes };
    let program = jit::plan(func, &layout, &options, batch::Pass::LAST).expect("what the passes make can be planned");
    assert!(program.cycles().is_finite(), "no estimate of\n{program}");
    let planned = interpret_program::<L>(&program, case, fuel[2]);
    let is_planned = match (&planned, &want) {
        (Ok(planned), Ok(want)) => is_same(planned, want),
        (planned, want) => planned == want,
    };
    assert!(is_planned, "{planned:x?} is not {want:x?}\n{}\nbecame\n{program}\n{:x?}", **func, case.data);
    fast::check(func, case, L, &want, || CALL_FUEL - left[0].load(Ordering::Relaxed));
    if let Ok(want) = &want
        && program.is_cut()
    {
        let tiles = interpret_tiles::<L>(&program, case);
        let is_same = tiles.as_ref().is_ok_and(|tiles| is_same(tiles, want));
        assert!(is_same, "{tiles:x?} is not {want:x?}\n{}\nbecame\n{program}\n{:x?}", **func, case.data);
    }
    let code = jit::compile_program(&program, &layout, target);
    let code = code.expect("what the passes make compiles");
    let got = fenced(|| run(&code, func, case, fuel[1]));
    let same = match (&got, &want) {
        (Ok(got), Ok(want)) => is_same(got, want),
        (Err(CallError::OutOfFuel { .. }), Err(ended)) => *ended == Ended::Fuel(Stop::Wave),
        // Waves that run beside one whose guard fails may have taken what the call has left.
        (Err(CallError::OutOfCallFuel), Err(Ended::Guard(_))) => true,
        (Err(CallError::OutOfCallFuel), Err(ended)) => *ended == Ended::Fuel(Stop::Call),
        (&Err(CallError::GuardFailed { vertex }), Err(ended)) => *ended == Ended::Guard(vertex as usize),
        _ => false,
    };
    // Where a call ends early, it may have paid for more waves or fewer by then.
    let left = left.map(AtomicU64::into_inner);
    let same = same && (got.is_err() || left[0] == left[1] && left[0] == left[2]);
    assert!(
        same,
        "{:?}: {got:x?} is not {want:x?}, fuel left {left:?}\n{}\nbecame\n{}\n{:x?}",
        case.way, case.func, **func, case.data
    );
}

/// Runs a function.
fn interpret<const L: usize>(func: &Function, case: &DifferentialCase, fuel: Fuel<'_>) -> Result<Rows, Ended> {
    let mut interpreter = Interpreter::<L>::new(func);
    interpret_waves(func, case, fuel, Seen::Components, |bindings, options| {
        let outputs = interpreter.run(bindings, options)?.to_vec();
        Ok((outputs, interpreter.guards_hold()))
    })
}

/// Runs what planning makes of it.
fn interpret_program<const L: usize>(
    program: &BatchProgram,
    case: &DifferentialCase,
    fuel: Fuel<'_>,
) -> Result<Rows, Ended> {
    let mut interpreter = BatchInterpreter::<L>::new(program);
    interpret_waves(program, case, fuel, Seen::Words, |bindings, options| {
        let outputs = interpreter.run(bindings, options)?.to_vec();
        Ok((outputs, interpreter.guards_hold(0)))
    })
}

/// Runs all waves of a program that is cut, tile by tile.
fn interpret_tiles<const L: usize>(program: &BatchProgram, case: &DifferentialCase) -> Result<Rows, Ended> {
    let (uniforms, resources) = (case.data.uniform_rows(), case.data.resource_bytes());
    let firsts: Vec<usize> = (0..case.count).step_by(L).collect();
    let waves: Vec<Data<L>> = firsts.iter().map(|&first| wave(case, first, Seen::Words)).collect();
    let bindings: Vec<Bindings<'_, L>> = waves.iter().map(|data| data.bindings(&uniforms, &resources)).collect();
    let options = InterpOptions { fuel: FUEL.into(), fused: true };
    let mut interpreter = BatchInterpreter::<L>::new(program);
    let mut outputs = Vec::new();
    for tile in bindings.chunks(program.tile()) {
        match interpreter.run_tile(tile, &options) {
            Ok(()) => {}
            Err(InterpError::Stopped(stop)) => return Err(Ended::Fuel(stop)),
            Err(error) => panic!("{error}\n{program}"),
        }
        outputs.extend((0..tile.len()).map(|wave| interpreter.outputs(wave).to_vec()));
    }
    let mut outputs = outputs.into_iter();
    interpret_waves(program, case, FUEL.into(), Seen::Words, |_, _| Ok((outputs.next().expect("as many waves"), true)))
}

/// What a wave sets, and whether its guards hold.
type Wave<const L: usize> = (Vec<[Lanes<L>; 4]>, bool);

/// Waves of L vertices, the last one repeated.
fn interpret_waves<const L: usize>(
    func: &Function,
    case: &DifferentialCase,
    fuel: Fuel<'_>,
    seen: Seen,
    mut run: impl FnMut(&Bindings<'_, L>, &InterpOptions<'_>) -> Result<Wave<L>, InterpError>,
) -> Result<Rows, Ended> {
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    let has_guards = insts.any(|&inst| func.insts[inst].op == Op::GuardOrdered);
    let (uniforms, resources) = (case.data.uniform_rows(), case.data.resource_bytes());
    let mut rows = vec![[0; 4]; func.outputs as usize * case.count];
    for first in (0..case.count).step_by(L) {
        let data = wave(case, first, seen);
        let options = InterpOptions { fuel, fused: true };
        let (outputs, guards_hold) = match run(&data.bindings(&uniforms, &resources), &options) {
            Ok(wave) => wave,
            // A wave may run out of fuel because it went astray, so native code calls that a failed guard, too.
            Err(InterpError::Stopped(_)) if has_guards => return Err(Ended::Guard(first)),
            Err(InterpError::Stopped(stop)) => return Err(Ended::Fuel(stop)),
            Err(error) => panic!("{error}\n{func}"),
        };
        if !guards_hold {
            return Err(Ended::Guard(first));
        }
        for (element, lanes) in outputs.iter().enumerate() {
            // A lane that repeats the last vertex has other neighbours in its quad.
            for lane in 0..L.min(case.count - first) {
                rows[element * case.count + first + lane] = lanes.map(|component| component[lane]);
            }
        }
    }
    Ok(rows)
}

/// The vertices of the wave that begins with one. What comes after the last of them is that again.
fn vertices<const L: usize>(case: &DifferentialCase, first: usize) -> [usize; L] {
    std::array::from_fn(|lane| (first + lane).min(case.count - 1))
}

/// What the wave sees that begins with a vertex.
fn wave<const L: usize>(case: &DifferentialCase, first: usize, seen: Seen) -> Data<L> {
    let vertices = vertices::<L>(case, first);
    let mut inputs = vec![[[0; L]; 4]; case.formats.len()];
    for (lane, &vertex) in vertices.iter().enumerate() {
        for (element, words) in inputs.iter_mut().zip(case.inputs(vertex, seen)) {
            element.iter_mut().zip(words).for_each(|(component, bits)| component[lane] = bits);
        }
    }
    Data {
        inputs,
        vertex_id: vertices.map(|vertex| case.data.vertex_id[0].wrapping_add(vertex as u32)),
        instance_id: case.data.instance_id,
        uniforms: Vec::new(),
        resources: Vec::new(),
    }
}

fn run(code: &Code, func: &Function, case: &DifferentialCase, fuel: Fuel<'_>) -> Result<Rows, CallError> {
    // Without anything behind the last vertex.
    let mut inputs = vec![Vec::new(); case.formats.len()];
    for vertex in 0..case.count {
        inputs.iter_mut().zip(case.stored(vertex)).for_each(|(stream, (_, bytes))| stream.extend(bytes));
    }
    let streams: Vec<InputStream<'_>> =
        inputs.iter().zip(&case.formats).map(|(bytes, format)| InputStream { bytes, stride: format.bytes() }).collect();
    let spaces = func.spaces.keys().zip(&case.data.uniforms);
    let uniforms: Vec<UniformRows> =
        spaces.map(|(space, rows)| UniformRows::from_rows(rows, code.uniform_rows(space))).collect();
    // Copies, which lie behind the fence.
    let resources: Vec<Vec<u8>> = case.data.resource_bytes().iter().map(|bytes| bytes.to_vec()).collect();
    let size = 16 * case.count;
    let elements: Vec<OutputElement> =
        (0..func.outputs as usize).map(|element| OutputElement { offset: element * size, stride: 16 }).collect();
    let mut out = vec![0; size * elements.len()];
    code.run(
        &Batch {
            inputs: &streams,
            uniforms: &uniforms,
            resources: &resources.iter().map(Vec::as_slice).collect::<Vec<_>>(),
            textures: &HashedTextures,
            count: case.count as u32,
            first_vertex: case.data.vertex_id[0],
            instance: case.data.instance_id,
            fuel,
        },
        &mut OutputBuffer { bytes: &mut out, elements: &elements },
        &mut Scratch::default(),
    )?;
    let words: Vec<u32> = out.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    Ok(words.as_chunks().0.to_vec())
}

/// Equal bits, or both a NaN: outputs do not say which of them are floats.
fn is_same(a: &[[u32; 4]], b: &[[u32; 4]]) -> bool {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    a.len() == b.len() && a.iter().flatten().zip(b.iter().flatten()).all(|(&a, &b)| a == b || (is_nan(a) && is_nan(b)))
}
