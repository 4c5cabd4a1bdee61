//! What geometry, hull and domain shaders make: the same on both engines, and what each invocation makes by itself
//! before any pass.

use super::Sm5Case;
use super::alone;
use super::check::OutOfFuel;
use super::data::Data;
use crate::call::{Call, Invocation, Patches, PrimitiveIds, Primitives, Stream, Tracer, VertexTable};
use crate::error::CallError;
use crate::frontend::{DomainInterface, Element, Lowered, PrimitiveStage};
use crate::fuzzing::fenced;
use crate::fuzzing::random::random;
use crate::tessellator::{Domain, Factors, Output, Partitioning, Tessellator};
use crate::{Backend, Engine, Topology};
use arbitrary::{Result as Made, Unstructured};
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;
use std::ops::ControlFlow;

/// What a stage makes: the streams of a geometry shader; control points and patch constants of a hull shader; the
/// vertices of a domain shader. Or that it ran out of fuel.
pub(super) type Results = Result<Vec<Stream>, OutOfFuel>;

/// What a stage runs on.
pub(super) enum Work {
    /// Primitives of these vertices.
    Primitives { vertices: VertexTable, indices: Vec<u32>, first: u32 },
    /// The points of these patches.
    Patches(Patches),
}

/// Runs both engines, and every invocation by itself. What differs is the error.
pub fn compare_stages(case: &Sm5Case, engine: &Engine, lowered: &Lowered, data: &Data) -> Result<(), String> {
    let stage = lowered.interface.primitive.as_ref().expect("the caller looked");
    let (streams, buffers) = fenced(|| (data.streams(&lowered.interface), data.buffers()));
    let work = fenced(|| Work::new(stage, lowered, &streams, data, case.seed));
    let run = |backend, tracer: Option<&Tracer<'_>>| {
        let code = match engine.compile(&case.shader(), &case.options().backend(backend)) {
            Ok(code) => code,
            Err(error) => panic!("{error}\n{case:?}\nlowered to\n{}", lowered.function),
        };
        let mut call = code.call();
        fenced(|| data.bind(&mut call, &lowered.interface, &streams, &buffers));
        tracer.map(|tracer| call.trace(tracer));
        match fenced(|| work.run(stage, &call)) {
            Ok(streams) => Ok(streams),
            Err(CallError::OutOfFuel { .. }) => Err(OutOfFuel),
            Err(error) => panic!("{error}\n{case:?}"),
        }
    };
    let (native, interpreted) = (run(Backend::Jit, None), run(Backend::Interpreter, None));
    if let Some(difference) = difference(&native, &interpreted) {
        return Err(format!("native code and interpreter, {:?}: {difference}", case.way));
    }
    let invocation = match stage {
        PrimitiveStage::Emitter(_) => Invocation::Primitive(case.seed as u32 % 4),
        PrimitiveStage::Hull(_) => Invocation::Patch(case.seed as u32 % 4),
        PrimitiveStage::Domain(_) => Invocation::Point(case.seed as u32 % 40),
    };
    let tracer = Tracer::new(invocation, |_| ControlFlow::Continue(()));
    let traced = run(Backend::Jit, Some(&tracer));
    // What no pass has shortened may take more fuel.
    if let Some(difference) = difference(&traced, &interpreted).filter(|_| traced.is_ok() && interpreted.is_ok()) {
        return Err(format!("with and without a trace of {invocation:?}: {difference}"));
    }
    let alone = alone::run(stage, lowered, &work, data, engine.is_fused());
    // Lanes in lockstep may run out of fuel where one does not.
    match difference(&alone, &interpreted).filter(|_| alone.is_ok() && interpreted.is_ok()) {
        Some(difference) => Err(format!("invocations alone and {:?} lanes: {difference}", case.way.lanes)),
        None => Ok(()),
    }
}

impl Work {
    fn new(stage: &PrimitiveStage, lowered: &Lowered, streams: &[Vec<u8>], data: &Data, seed: u64) -> Work {
        let of_one = match stage {
            PrimitiveStage::Domain(domain) => {
                let bytes = random(seed, 1 << 12);
                return Work::Patches(patches(&mut Unstructured::new(&bytes), domain).expect("choices do not fail"));
            }
            PrimitiveStage::Emitter(emitter) => emitter.inputs.vertices,
            PrimitiveStage::Hull(hull) => hull.inputs.vertices,
        };
        // In order, as long as there are vertices, or all mixed up.
        let count = data.count;
        let indices: Vec<u32> = match data.skipped {
            0 => (0..count / of_one * of_one).collect(),
            by => (0..count * of_one).map(|number| number.wrapping_mul(by) % count).collect(),
        };
        Work::Primitives { vertices: vertices(lowered, streams, count as usize), indices, first: data.first }
    }

    /// Runs the stage.
    fn run(&self, stage: &PrimitiveStage, call: &Call<'_>) -> Result<Vec<Stream>, CallError> {
        match self {
            Work::Patches(patches) => {
                let made = call.tessellate(patches)?;
                let (topology, vertices, indices, ids) = (made.topology, made.vertices, made.indices, made.ids);
                Ok(vec![Stream { number: 0, topology, vertices, indices, ids }])
            }
            Work::Primitives { vertices, indices, first } => {
                let primitives = Primitives { vertices, indices, ids: PrimitiveIds::From(*first) };
                match stage {
                    PrimitiveStage::Hull(_) => {
                        let made = call.patches(&primitives)?;
                        Ok(of_patches(made.control_points, made.constants, &made.factors))
                    }
                    _ => call.primitives(&primitives),
                }
            }
        }
    }
}

/// What a hull shader leaves, as streams. Factors are numbers of their primitives; a NaN is one whatever its bits.
pub(super) fn of_patches(control_points: VertexTable, constants: VertexTable, factors: &[Factors]) -> Vec<Stream> {
    let bits = |factor: f32| if factor.is_nan() { f32::NAN.to_bits() } else { factor.to_bits() };
    let ids = factors.iter().flat_map(|factors| factors.edges.into_iter().chain(factors.inside)).map(bits).collect();
    let stream =
        |number, vertices, ids| Stream { number, topology: Topology::PointList, vertices, indices: vec![], ids };
    vec![stream(0, control_points, vec![]), stream(1, constants, ids)]
}

/// The vertices of the data: their elements lie in streams.
fn vertices(lowered: &Lowered, streams: &[Vec<u8>], count: usize) -> VertexTable {
    let elements = lowered.interface.signature_inputs();
    let mut bytes = Vec::new();
    for vertex in 0..count {
        for (element, stream) in elements.iter().zip(streams) {
            let size = 4 * element.components() as usize;
            bytes.extend_from_slice(&stream[vertex * size..][..size]);
        }
    }
    VertexTable::from_bytes(elements, bytes).expect("they are whole vertices")
}

/// Patches for a domain shader, some of them culled.
fn patches(u: &mut Unstructured<'_>, domain: &DomainInterface) -> Made<Patches> {
    let partitionings =
        [Partitioning::Integer, Partitioning::Pow2, Partitioning::FractionalOdd, Partitioning::FractionalEven];
    let of = domain.modes.domain.expect("Direct3D's say it");
    let outputs = match of {
        Domain::Isoline => [Output::Point, Output::Line],
        _ => [Output::TriangleCw, Output::TriangleCcw],
    };
    let tessellator = Tessellator::new(of, *u.choose(&partitionings)?, *u.choose(&outputs)?);
    let count = u.int_in_range(0..=3usize)?;
    // There may be more control points than are read.
    let points = domain.control_points as usize + u.int_in_range(0..=1usize)?;
    let mut table = |elements: &[Element], rows: usize| {
        let mut bytes = Vec::new();
        for _ in 0..rows * elements.iter().map(|element| element.components() as usize).sum::<usize>() {
            let ty = *u.choose(&[Type::F32, Type::I32])?;
            bytes.extend((edge_bits(u, ty)? as u32).to_le_bytes());
        }
        Ok(VertexTable::from_bytes(elements, bytes).expect("they are whole rows"))
    };
    let (control_points, constants) = (table(&domain.elements, count * points)?, table(&domain.constants, count)?);
    let mut factor = || Ok(f32::from(u.int_in_range(0..=80u8)?) / 16.0);
    let mut factors = Vec::new();
    for _ in 0..count {
        let edges = [factor()?, factor()?, factor()?, factor()?];
        factors.push(Factors { edges, inside: [factor()?, factor()?] });
    }
    let tessellator = tessellator.expect("the domain has these outputs");
    let (modes, ids) = (tessellator.into(), (7..7 + count as u32).collect());
    Ok(Patches { modes, points, control_points, constants, factors, ids })
}

/// Where two results differ first. Bits are equal if both are a NaN.
fn difference(a: &Results, b: &Results) -> Option<String> {
    let (Ok(a), Ok(b)) = (a, b) else {
        return (a.is_err() != b.is_err()).then(|| format!("fuel: {} and {}", a.is_ok(), b.is_ok()));
    };
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).find_map(|(a, b)| Some(format!("stream {}: {}", a.number, stream_difference(a, b)?)))
}

fn stream_difference(a: &Stream, b: &Stream) -> Option<String> {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    if (a.vertices.len(), &a.indices, &a.ids) != (b.vertices.len(), &b.indices, &b.ids) {
        let shape = |stream: &Stream| format!("{:?}", (stream.vertices.len(), &stream.indices, &stream.ids));
        return Some(format!("{} and {}", shape(a), shape(b)));
    }
    for vertex in 0..a.vertices.len() {
        for element in 0..a.vertices.elements().len() {
            let (a, b) = (a.vertices.get(vertex, element), b.vertices.get(vertex, element));
            if a.iter().zip(b).any(|(&a, b)| a != b && !(is_nan(a) && is_nan(b))) {
                return Some(format!("element {element} of vertex {vertex}: {a:08x?} and {b:08x?}"));
            }
        }
    }
    None
}
