//! Hull shaders: one invocation a patch, which leaves control points and patch constants.

use super::read::{Invocations, PrimitiveIds, Primitives};
use super::table::VertexTable;
use crate::call::bindings::Call;
use crate::call::engine::with_memory;
use crate::call::wave::{Driver, WaveRunner};
use crate::call::work::Work;
use crate::error::CallError;
use crate::frontend::HullInterface;
use crate::frontend::primitive::FactorPlace;
use crate::tessellator::{Factors, TessellationModes};

/// What a hull shader makes of patches.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    /// What the hull shader says of how they are divided.
    pub modes: TessellationModes,
    /// Control points of a patch.
    pub points: usize,
    /// The control points of all patches, those of one behind those of the other.
    pub control_points: VertexTable,
    /// The patch constants, an entry a patch.
    pub constants: VertexTable,
    /// The tessellation factors among them, one set a patch.
    pub factors: Vec<Factors>,
    /// The numbers that shaders see for the patches.
    pub ids: Vec<u32>,
}

impl<'a> Call<'a> {
    /// Runs a hull shader on patches.
    ///
    /// # Errors
    /// As [`primitives`](Self::primitives).
    pub fn patches(&self, patches: &Primitives<'_>) -> Result<Patches, CallError> {
        let hull = self.check_makes_patches()?;
        self.check_bound()?;
        let count = patches.count(hull.inputs.vertices)?;
        let ids = match patches.ids {
            PrimitiveIds::Each(ids) => ids.to_vec(),
            PrimitiveIds::From(_) => (0..count).map(|patch| patches.id(patch)).collect(),
        };
        let mut made = Patches {
            modes: hull.modes,
            points: hull.control_points as usize,
            control_points: VertexTable::new(hull.elements.clone()),
            constants: VertexTable::new(self.shader.interface().signature_outputs().to_vec()),
            factors: Vec::with_capacity(count),
            ids,
        };
        let invocations = Invocations { call: self, primitives: patches, inputs: hull.inputs, instances: 1, count };
        let native = self.shader.native_for(&self.layout_of_rows())?;
        with_memory(|memory, work| {
            self.with_fuel(|fuel| {
                let hulls = Hulls { hull, invocations, made: &mut made };
                self.drive(native.as_deref(), fuel, hulls, memory, work)
            })
        })?;
        Ok(made)
    }
}

struct Hulls<'d, 'c, 'a> {
    hull: &'c HullInterface,
    invocations: Invocations<'c, 'a>,
    made: &'d mut Patches,
}

impl<'a> Driver<'a> for Hulls<'_, '_, 'a> {
    fn drive(self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        let Hulls { hull, invocations, made } = self;
        let Primitives { vertices, indices, .. } = *invocations.primitives;
        let passed_through = vertices.links(&hull.elements);
        let (points, registers) = (hull.control_points, hull.registers() as usize);
        let constants = made.constants.elements().len();
        let mut rows = Vec::new();
        invocations.run(waves, |waves, lane, patch| {
            match hull.array {
                Some(array) => {
                    rows.clear();
                    waves.read_array(array, 0, points * registers as u32, lane, &mut rows);
                    for point in rows.chunks_exact(registers.max(1)) {
                        let elements = hull.elements.iter();
                        let words = elements.map(|element| match point.get(element.register as usize) {
                            Some(&row) => element.gather(row),
                            None => [0; 4],
                        });
                        made.control_points.push(words)?;
                    }
                }
                None => {
                    let read = &indices[patch * hull.inputs.vertices as usize..][..points as usize];
                    for &vertex in read {
                        let word =
                            |from: &Option<usize>| from.map_or([0; 4], |from| vertices.get(vertex as usize, from));
                        made.control_points.push(passed_through.iter().map(word))?;
                    }
                }
            }
            made.constants.push((0..constants).map(|element| waves.output(element, lane)))?;
            let factor = |place: FactorPlace| {
                let bits = place
                    .map_or(0, |(element, component)| waves.output(element as usize, lane)[usize::from(component)]);
                f32::from_bits(bits)
            };
            made.factors.push(Factors { edges: hull.edges.map(factor), inside: hull.inside.map(factor) });
            Ok(())
        })
    }
}
