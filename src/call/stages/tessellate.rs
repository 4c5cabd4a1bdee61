//! The tessellator's points, and the domain shader on each: invocations like vertices, patch by patch.

use super::patches::Patches;
use super::table::VertexTable;
use crate::Topology;
use crate::call::bindings::Call;
use crate::call::engine::with_memory;
use crate::call::outputs::OutputLayout;
use crate::call::uniforms::BoundSpaces;
use crate::call::vertex_buffer::VertexBufferView;
use crate::call::wave::{Block, Driver, WaveRunner};
use crate::call::work::Work;
use crate::error::CallError;
use crate::frontend::{DomainInterface, Element, UniformKind, registers};
use crate::jit::Layout;
use crate::tessellator::{Output, Tessellation, Tessellator};

/// Bytes of a location.
const LOCATION: usize = 12;

/// The vertices that patches are divided into.
#[derive(Clone, Debug, PartialEq)]
pub struct Tessellated {
    /// What the primitives are: a list of points, lines or triangles.
    pub topology: Topology,
    /// The domain shader's outputs, patch by patch.
    pub vertices: VertexTable,
    /// Numbers of vertices: the primitives one behind the other.
    pub indices: Vec<u32>,
    /// The numbers of the primitives' patches, one a primitive.
    pub ids: Vec<u32>,
}

impl Default for Tessellated {
    /// No points.
    fn default() -> Tessellated {
        let (vertices, indices, ids) = (VertexTable::default(), Vec::new(), Vec::new());
        Tessellated { topology: Topology::PointList, vertices, indices, ids }
    }
}

impl<'a> Call<'a> {
    /// Divides patches and runs a domain shader on every point.
    ///
    /// # Errors
    /// As [`primitives`](Self::primitives); [`Invalid`](CallError::Invalid) also if the patches are of another domain,
    /// or have fewer control points than the shader reads.
    pub fn tessellate(&self, patches: &Patches) -> Result<Tessellated, CallError> {
        let mut made = Tessellated::default();
        self.tessellate_into(patches, &mut made)?;
        Ok(made)
    }

    /// As [`tessellate`](Self::tessellate), into a result whose memory is used again. After an error it is empty.
    ///
    /// # Errors
    /// As [`tessellate`](Self::tessellate).
    pub fn tessellate_into(&self, patches: &Patches, made: &mut Tessellated) -> Result<(), CallError> {
        let result = self.divide(patches, made);
        match result {
            Ok(()) => made.vertices.end(),
            Err(_) => *made = Tessellated::default(),
        }
        result
    }

    fn divide(&self, patches: &Patches, made: &mut Tessellated) -> Result<(), CallError> {
        let domain = self.check_runs_domain()?;
        self.check_bound()?;
        if let (Some(wanted), Some(given)) = (domain.modes.domain, patches.modes.domain)
            && wanted != given
        {
            return Err(CallError::Invalid(format!("a domain shader of {wanted:?} on patches of {given:?}")));
        }
        let Some(tessellator) = patches.modes.or(domain.modes).tessellator() else {
            return Err(CallError::Invalid("neither hull nor domain shader says how patches are divided".to_string()));
        };
        if patches.points < domain.control_points as usize && !domain.is_open {
            let (points, wanted) = (patches.points, domain.control_points);
            return Err(CallError::Invalid(format!("patches of {points} control points, where {wanted} are read")));
        }
        let interface = self.shader.interface();
        made.topology = match tessellator.output() {
            Output::Point => Topology::PointList,
            Output::Line => Topology::LineList,
            Output::TriangleCw | Output::TriangleCcw => Topology::TriangleList,
        };
        made.vertices.begin(interface.signature_outputs());
        made.indices.clear();
        made.ids.clear();
        let layout = made.vertices.layout(self.shader);
        let native = self.shader.native_for(&self.domain_layout(&layout))?;
        with_memory(|memory, work| {
            self.with_fuel(|fuel| {
                let spaces = self.spaces.clone();
                let driver = Domains { call: self, domain, patches, tessellator, layout: &layout, spaces, made };
                self.drive(native.as_deref(), fuel, driver, memory, work)
            })
        })
    }

    /// Locations are three floats each.
    fn domain_layout(&self, layout: &OutputLayout) -> Layout {
        let outputs = self.shader.interface().outputs.iter().zip(layout.places());
        Layout {
            inputs: vec![VertexBufferView::f32x3(&[], LOCATION).format].into(),
            outputs: outputs.map(|(element, place)| place.map_or(0, |_| element.components() as u8)).collect(),
        }
    }
}

struct Domains<'d, 'c, 'a> {
    call: &'c Call<'a>,
    domain: &'c DomainInterface,
    patches: &'c Patches,
    tessellator: Tessellator,
    layout: &'c OutputLayout,
    spaces: BoundSpaces,
    made: &'d mut Tessellated,
}

impl<'a> Driver<'a> for Domains<'_, '_, 'a> {
    fn drive(mut self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        let interface = self.call.shader.interface();
        let space = interface.uniforms.iter().position(|decl| decl.kind == UniformKind::Patch);
        let space = space.expect("every domain shader has the space of its patch");
        let control_points = self.patches.control_points.links(&self.domain.elements);
        let constants = self.patches.constants.links(&self.domain.constants);
        let mut rows = vec![[0; 4]; self.domain.primitive_row() as usize + 1];
        let mut tessellation = Tessellation::default();
        let mut locations: Vec<[[u8; 4]; 3]> = Vec::new();
        let mut divided = None;
        for (patch, factors) in self.patches.factors.iter().enumerate() {
            // Patch after patch is often divided alike.
            if divided.replace(factors) != Some(factors) {
                self.tessellator.tessellate(factors, &mut tessellation);
                locations.clear();
                locations.extend(tessellation.points.iter().map(|point| point.map(f32::to_le_bytes)));
            }
            let Tessellation { points, indices } = &tessellation;
            if points.is_empty() {
                continue;
            }
            self.fill_rows(patch, &control_points, &constants, &mut rows);
            self.spaces.set_rows(interface, space, 0, &rows);
            let bytes = locations.as_flattened().as_flattened();
            let first = self.made.vertices.len();
            self.made.vertices.grow(points.len())?;
            let block = Block {
                attributes: &[VertexBufferView::f32x3(bytes, LOCATION)],
                count: points.len() as u32,
                first_vertex: 0,
                layout: self.layout,
                first_row: first,
                spaces: &self.spaces,
                quads: None,
            };
            waves.run_block(&block, self.made.vertices.bytes_mut())?;
            self.made.indices.extend(indices.iter().map(|&point| first as u32 + u32::from(point)));
            let primitives = self.made.indices.len() / self.tessellator.output().vertices();
            self.made.ids.resize(primitives, self.patches.ids[patch]);
        }
        Ok(())
    }
}

impl Domains<'_, '_, '_> {
    /// What the shader sees of a patch, in rows of registers.
    fn fill_rows(
        &self,
        patch: usize,
        control_points: &[Option<usize>],
        constants: &[Option<usize>],
        rows: &mut [[u32; 4]],
    ) {
        let Domains { domain, patches, .. } = self;
        let mut put = |elements: &[Element], links: &[Option<usize>], table: &VertexTable, entry: usize, first: u32| {
            for (element, link) in elements.iter().zip(links) {
                let row = first.saturating_add(element.register) as usize;
                if let (Some(link), true) = (link, element.register < registers(elements)) {
                    element.scatter(table.get(entry, *link), &mut rows[row]);
                }
            }
        };
        for point in 0..domain.control_points.min(patches.points as u32) {
            let entry = patch * patches.points + point as usize;
            let first = domain.control_point_row(point, 0);
            put(&domain.elements, control_points, &patches.control_points, entry, first);
        }
        put(&domain.constants, constants, &patches.constants, patch, domain.constant_row(0));
        rows[domain.primitive_row() as usize] = [patches.ids[patch], patches.points as u32, 0, 0];
    }
}
