//! One stage between vertices and pixels by itself, on made-up primitives: for `diff` and `bench`.

use crate::generate::Random;
use crate::report::Failure;
use shaderjit::error::CallError;
use shaderjit::printable::Printable;
use shaderjit::tessellator::{Domain, Factors, Output, Partitioning, Tessellator};
use shaderjit::{
    Call, CompiledShader, ComponentType, Element, Patches, PrimitiveIds, PrimitiveStage, Primitives, VertexTable,
};
use std::fmt::Write;

/// What a run of rows shades: one of them, and several.
pub fn rows_of(code: &CompiledShader) -> [&'static str; 2] {
    if code.interface().pixel.is_some() { ["pixel", "pixels"] } else { ["vertex", "vertices"] }
}

/// What the stage runs on.
pub enum Work {
    /// Primitives of a geometry shader, or patches of a hull shader.
    Primitives { vertices: VertexTable, indices: Vec<u32>, of_one: usize, is_hull: bool },
    /// The patches of a domain shader.
    Domain(Patches),
}

/// Vertices of words that `word` makes up.
fn table(elements: &[Element], count: usize, word: &mut dyn FnMut(ComponentType) -> u32) -> VertexTable {
    let mut bytes = Vec::new();
    for element in (0..count).flat_map(|_| elements) {
        bytes.extend((0..element.components()).flat_map(|_| word(element.ty).to_le_bytes()));
    }
    VertexTable::from_bytes(elements, bytes).expect("they are whole vertices")
}

/// Made-up work of about so many invocations for a stage that needs some; none for the others.
pub fn made_up(code: &CompiledShader, count: usize, seed: u64, hostile: bool) -> Option<Work> {
    let mut random = Random::new(seed);
    let mut word = |ty| if hostile { random.component(ty) } else { random.ordinary_component(ty) };
    let inputs = match code.interface().primitive.as_ref()? {
        PrimitiveStage::Emitter(emitter) => emitter.inputs,
        PrimitiveStage::Hull(hull) => hull.inputs,
        PrimitiveStage::Domain(domain) => {
            let tessellator =
                Tessellator::new(domain.modes.domain.unwrap_or(Domain::Quad), Partitioning::Integer, Output::Point);
            let patches = count.div_ceil(256).max(1);
            return Some(Work::Domain(Patches {
                modes: tessellator.expect("every domain has points").into(),
                points: domain.control_points as usize,
                control_points: table(&domain.elements, patches * domain.control_points as usize, &mut word),
                constants: table(&domain.constants, patches, &mut word),
                factors: vec![Factors { edges: [16.0; 4], inside: [16.0; 2] }; patches],
                ids: (0..patches as u32).collect(),
            }));
        }
        _ => return None,
    };
    let of_one = inputs.vertices as usize;
    let vertices = table(code.interface().signature_inputs(), count * of_one, &mut word);
    let is_hull = matches!(code.interface().primitive, Some(PrimitiveStage::Hull(_)));
    Some(Work::Primitives { vertices, indices: (0..(count * of_one) as u32).collect(), of_one, is_hull })
}

impl Work {
    /// What an invocation is, and how many there are.
    pub fn invocations(&self) -> (&'static str, usize) {
        match self {
            Work::Primitives { indices, of_one, is_hull, .. } => {
                (if *is_hull { "patch" } else { "primitive" }, indices.len() / of_one)
            }
            Work::Domain(patches) => {
                let mut points = shaderjit::tessellator::Tessellation::default();
                let tessellator = patches.modes.tessellator().expect("they were made with one");
                let of_patch = |factors: &Factors| {
                    tessellator.tessellate(factors, &mut points);
                    points.points.len()
                };
                ("domain point", patches.factors.iter().map(of_patch).sum())
            }
        }
    }

    /// Runs the stage, and gives the tables of what it makes, each with a name.
    pub fn run(&self, call: &Call<'_>) -> Result<Vec<(String, VertexTable)>, CallError> {
        match self {
            Work::Domain(patches) => Ok(vec![("point".to_string(), call.tessellate(patches)?.vertices)]),
            Work::Primitives { vertices, indices, is_hull, .. } => {
                let primitives = Primitives { vertices, indices, ids: PrimitiveIds::From(0) };
                if *is_hull {
                    let made = call.patches(&primitives)?;
                    let tables = [("control point", made.control_points), ("patch", made.constants)];
                    return Ok(tables.map(|(name, table)| (name.to_string(), table)).to_vec());
                }
                let streams = call.primitives(&primitives)?.into_iter();
                Ok(streams.map(|stream| (format!("stream {} vertex", stream.number), stream.vertices)).collect())
            }
        }
    }

    /// The first difference of two runs; NaNs are alike whatever their payload.
    pub fn difference(&self, calls: [&Call<'_>; 2]) -> Result<Option<String>, Failure> {
        let (one, other) = match calls.map(|call| self.run(call)) {
            [Ok(one), Ok(other)] => (one, other),
            [Err(one), Err(other)] if one == other => return Ok(None),
            ends => {
                let [one, other] = ends.map(|end| end.err().map_or("done".to_string(), |error| error.to_string()));
                return Err(Failure::input(format_args!("the stage ends differently: jit: {one}; interp: {other}")));
            }
        };
        for ((name, one), (_, other)) in one.iter().zip(&other) {
            if one.len() != other.len() {
                let what = format!("jit has {} of {name}, interp {}", one.len(), other.len());
                return Ok(Some(what));
            }
            for (vertex, number) in
                (0..one.len()).flat_map(|vertex| (0..one.elements().len()).map(move |n| (vertex, n)))
            {
                let element = &one.elements()[number];
                let [a, b] = [one, other].map(|table| table.get(vertex, number));
                let is_nan = |bits| element.ty == ComponentType::F32 && f32::from_bits(bits).is_nan();
                let differs = |place: &usize| a[*place] != b[*place] && !(is_nan(a[*place]) && is_nan(b[*place]));
                if let Some(place) = (0..4).find(differs) {
                    let mut what = String::new();
                    let element = element.name();
                    let (element, component) = (Printable(&element), ["x", "y", "z", "w"][place]);
                    let _ = write!(
                        what,
                        "{name} {vertex} {element}.{component}: jit {:08x} interp {:08x}",
                        a[place], b[place]
                    );
                    return Ok(Some(what));
                }
            }
        }
        Ok(None)
    }
}
