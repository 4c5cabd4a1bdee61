//! A module run on every engine: whatever it is, the results are the same.

use crate::call::{Call, Patches};
use crate::call::{PrimitiveIds, Primitives, VertexTable};
use crate::compiled::CompiledShader;
use crate::frontend::{ComponentType, Element, PrimitiveStage, ResourceFile, ResourceKind};
use crate::stage::Stage;
use crate::tessellator::{Domain, Factors, Partitioning, TessellationModes};
use crate::{AtomicBuffer, Backend, CompileOptions, Config, Descriptor, Engine, Lanes, MemoryView, Shader, Vectors};
use std::sync::LazyLock;

/// Instructions of a run that does not end.
const FUEL: u32 = 20_000;
/// Primitives and patches: more than a wave of them.
const PRIMITIVES: usize = 19;

/// The engines: one for each kind of vectors.
static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
    let engine = |vectors| {
        let config = Config::default().fuel(FUEL).cache_bytes(0).vectors(vectors);
        Engine::new(Config { canonical_nans: true, ..config }).expect("the machine has these vectors")
    };
    Vectors::of_this_machine().into_iter().map(engine).collect()
});

/// What a run gives: words of all that it makes, and of the memory that it writes; or why it ended.
type Outcome = Result<(Vec<u32>, Vec<Vec<u8>>), String>;

/// Runs the first program of a shader on the interpreter and as native code of every kind, and compares. What it gives,
/// or why it does not compile.
pub(super) fn alike(shader: &Shader) -> Result<Outcome, String> {
    let options = CompileOptions::default().lanes(Lanes::Eight);
    let run = |engine: &Engine, backend| {
        let code = engine.compile(shader, &options.clone().backend(backend)).map_err(|error| error.to_string())?;
        Ok(outcome(&code, shader.entry(0).expect("it was compiled").stage))
    };
    let wanted = run(&ENGINES[0], Backend::Interpreter);
    for engine in ENGINES.iter() {
        assert_eq!(run(engine, Backend::Jit), wanted, "the interpreter and native code differ");
    }
    wanted
}

fn outcome(code: &CompiledShader, stage: Stage) -> Outcome {
    let resources = &code.interface().resources;
    let memory: Vec<AtomicBuffer> = resources.iter().map(|_| AtomicBuffer::zeroed(512)).collect();
    let mut call = code.call();
    call.unbound_as_zero(true);
    for (decl, buffer) in resources.iter().zip(&memory) {
        if let (ResourceFile::UnorderedAccess, ResourceKind::RawBuffer, Some(index)) =
            (decl.file, decl.kind, decl.index)
        {
            let view = Descriptor::Memory(MemoryView::raw(buffer));
            call.descriptor(decl.space, decl.slot, index, view).expect("it is declared so");
        }
    }
    let made = match (&code.interface().primitive, stage) {
        (Some(PrimitiveStage::Emitter(emitter)), _) => with_primitives(code, emitter.inputs.vertices, |primitives| {
            let streams = call.primitives(primitives)?;
            Ok(streams.iter().flat_map(|stream| [words(&stream.vertices), stream.indices.clone()].concat()).collect())
        }),
        (Some(PrimitiveStage::Hull(hull)), _) => with_primitives(code, hull.inputs.vertices, |primitives| {
            let Patches { control_points, constants, .. } = call.patches(primitives)?;
            Ok([words(&control_points), words(&constants)].concat())
        }),
        (Some(PrimitiveStage::Domain(_)), _) => points(&call, code),
        (_, Stage::Compute) => call.dispatch([2, 1, 1]).map(|()| Vec::new()),
        _ => call.run(0..13).map(|outputs| {
            let elements = code.interface().outputs.iter();
            let outputs = elements.filter_map(|element| outputs.output(&element.semantic, element.index));
            outputs.flat_map(|output| output.iter().flatten().collect::<Vec<u32>>()).collect::<Vec<u32>>()
        }),
    };
    drop(call);
    // What was written before an error is no promise.
    made.map(|words| (words, memory.iter().map(AtomicBuffer::to_bytes).collect())).map_err(|error| error.to_string())
}

/// Runs something on made-up primitives of so many vertices.
fn with_primitives<T>(code: &CompiledShader, vertices: u32, run: impl FnOnce(&Primitives<'_>) -> T) -> T {
    let count = PRIMITIVES * vertices as usize;
    let table = table(code.interface().signature_inputs(), count);
    let indices: Vec<u32> = (0..count as u32).collect();
    run(&Primitives { vertices: &table, indices: &indices, ids: PrimitiveIds::From(3) })
}

/// The domain points of made-up patches.
fn points(call: &Call<'_>, code: &CompiledShader) -> Result<Vec<u32>, crate::error::CallError> {
    let Some(PrimitiveStage::Domain(domain)) = &code.interface().primitive else { unreachable!("it was one") };
    let given = TessellationModes {
        domain: Some(domain.modes.domain.unwrap_or(Domain::Quad)),
        partitioning: Some(Partitioning::FractionalEven),
        clockwise: Some(true),
        points: false,
    };
    let made = call.tessellate(&Patches {
        modes: domain.modes.or(given),
        points: domain.control_points as usize,
        control_points: table(&domain.elements, PRIMITIVES * domain.control_points as usize),
        constants: table(&domain.constants, PRIMITIVES),
        factors: (0..PRIMITIVES)
            .map(|n| Factors { edges: [n as f32 / 4.0, 2.0, 3.5, 1.0], inside: [2.5, n as f32 / 8.0] })
            .collect(),
        ids: (3..3 + PRIMITIVES as u32).collect(),
    })?;
    Ok([words(&made.vertices), made.indices].concat())
}

/// Vertices of words that differ, small integers and ordinary floats among them.
fn table(elements: &[Element], count: usize) -> VertexTable {
    let mut state = 1u32;
    let mut next = |ty: ComponentType| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if ty.is_integer() { state >> 24 } else { ((state >> 8) as f32 / 65536.0 - 128.0).to_bits() }
    };
    let all = (0..count).flat_map(|_| elements);
    let words: Vec<u32> =
        all.flat_map(|element| vec![element.ty; element.components() as usize]).map(&mut next).collect();
    let bytes = words.into_iter().flat_map(u32::to_le_bytes).collect();
    VertexTable::from_bytes(elements, bytes).expect("they are whole vertices")
}

fn words(table: &VertexTable) -> Vec<u32> {
    table.bytes().as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}
