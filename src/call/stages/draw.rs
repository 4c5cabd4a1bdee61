//! A draw: every stage in front of the rasteriser, one after the other.

use super::primitives::Stream;
use super::read::{PrimitiveIds, Primitives};
use super::table::VertexTable;
use super::tessellate::Tessellated;
use crate::Topology;
use crate::call::bindings::Call;
use crate::call::indexed::Indices;
use crate::error::CallError;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The vertices of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawVertices<'i> {
    /// The first so many.
    Count(u32),
    /// Those that an index buffer names; one index may restart strips.
    Indexed {
        /// The indices.
        indices: &'i [u32],
        /// The one that restarts.
        cut: Option<u32>,
    },
}

/// What stands for an index that restarts strips among numbers of rows, of which there are fewer.
const CUT: u32 = u32::MAX;

/// How long the stages of a draw have taken; nothing for those that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageTimes {
    /// Vertices, and which of them make primitives.
    pub vertex: Duration,
    /// Control points and patch constants.
    pub hull: Duration,
    /// The tessellator, and the domain shader on its points.
    pub domain: Duration,
    /// Primitives that become others.
    pub geometry: Duration,
}

/// The stages in front of the rasteriser.
///
/// ```
/// use shaderjit::{Call, Draw, DrawVertices, Topology, error::CallError};
///
/// # fn draw<'a>(vertex: &Call<'a>, hull: &Call<'a>, domain: &Call<'a>) -> Result<(), CallError> {
/// // 32 control points make two patches of 16.
/// let draw = Draw::new(vertex, Topology::PatchList(16)).tessellation(hull, domain);
/// let streams = draw.run(DrawVertices::Count(32), 0..1)?;
/// assert!(streams[0].topology == Topology::TriangleList);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Draw<'d, 'a> {
    vertex: &'d Call<'a>,
    topology: Topology,
    tessellation: Option<[&'d Call<'a>; 2]>,
    geometry: Option<&'d Call<'a>>,
}

impl<'d, 'a> Draw<'d, 'a> {
    /// A vertex shader, whose vertices make these primitives.
    pub fn new(vertex: &'d Call<'a>, topology: Topology) -> Draw<'d, 'a> {
        Draw { vertex, topology, tessellation: None, geometry: None }
    }

    /// Behind it a hull and a domain shader.
    pub fn tessellation(mut self, hull: &'d Call<'a>, domain: &'d Call<'a>) -> Draw<'d, 'a> {
        self.tessellation = Some([hull, domain]);
        self
    }

    /// Behind those a geometry shader.
    pub fn geometry(mut self, geometry: &'d Call<'a>) -> Draw<'d, 'a> {
        self.geometry = Some(geometry);
        self
    }

    /// Runs all stages for some instances, one instance after the other. Without a geometry shader there is one stream.
    ///
    /// # Errors
    /// Those of the stages' calls.
    pub fn run(&self, vertices: DrawVertices<'_>, instances: Range<u32>) -> Result<Vec<Stream>, CallError> {
        self.run_timed(vertices, instances, &mut StageTimes::default())
    }

    /// As [`run`](Self::run), and adds how long each stage takes to `times`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_timed(
        &self,
        vertices: DrawVertices<'_>,
        instances: Range<u32>,
        times: &mut StageTimes,
    ) -> Result<Vec<Stream>, CallError> {
        let mut streams: Vec<Stream> = Vec::new();
        for instance in instances {
            let mut vertex = self.vertex.clone();
            let (table, indices) = timed(&mut times.vertex, || self.assemble(vertex.instance(instance), vertices))?;
            append(&mut streams, self.after_vertices(table, &indices, times)?)?;
        }
        Ok(streams)
    }

    /// Shades the vertices, and says which of them make the primitives.
    fn assemble(&self, vertex: &Call<'_>, vertices: DrawVertices<'_>) -> Result<(VertexTable, Vec<u32>), CallError> {
        let mut primitives = Vec::new();
        let outputs = match vertices {
            DrawVertices::Count(count) => {
                self.topology.assemble(0..count, None, &mut primitives);
                vertex.run(0..count)?
            }
            DrawVertices::Indexed { indices, cut } => {
                let drawn: Vec<u32> = indices.iter().copied().filter(|&index| Some(index) != cut).collect();
                let outputs = vertex.run_indexed(Indices::U32(&drawn), 0)?;
                let row = |&index: &u32| match Some(index) == cut {
                    true => CUT,
                    false => outputs.row(index).expect("every index is drawn") as u32,
                };
                self.topology.assemble(indices.iter().map(row), cut.map(|_| CUT), &mut primitives);
                outputs.outputs
            }
        };
        Ok((VertexTable::from(outputs), primitives))
    }

    fn after_vertices(
        &self,
        vertices: VertexTable,
        indices: &[u32],
        times: &mut StageTimes,
    ) -> Result<Vec<Stream>, CallError> {
        let primitives = Primitives { vertices: &vertices, indices, ids: PrimitiveIds::From(0) };
        if let Some([hull, domain]) = self.tessellation {
            let patches = timed(&mut times.hull, || hull.patches(&primitives))?;
            let tessellated = timed(&mut times.domain, || domain.tessellate(&patches))?;
            let Tessellated { topology, vertices, indices, ids } = tessellated;
            if let Some(geometry) = self.geometry {
                let ids = PrimitiveIds::Each(&ids);
                let primitives = Primitives { vertices: &vertices, indices: &indices, ids };
                return timed(&mut times.geometry, || geometry.primitives(&primitives));
            }
            return Ok(vec![Stream { number: 0, topology, vertices, indices, ids }]);
        }
        if let Some(geometry) = self.geometry {
            return timed(&mut times.geometry, || geometry.primitives(&primitives));
        }
        // Neighbours are seen by geometry shaders alone.
        let (topology, corners) = (self.topology.list(), self.topology.corners());
        let of_one = indices.chunks_exact(self.topology.vertices());
        let ids = (0..of_one.len() as u32).collect();
        let indices = of_one.flat_map(|primitive| corners.iter().map(|&corner| primitive[corner])).collect();
        Ok(vec![Stream { number: 0, topology, vertices, indices, ids }])
    }
}

/// Adds how long something takes.
fn timed<T>(time: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    *time += begin.elapsed();
    result
}

/// Puts the streams of an instance behind those before it.
fn append(streams: &mut Vec<Stream>, more: Vec<Stream>) -> Result<(), CallError> {
    if streams.is_empty() {
        *streams = more;
        return Ok(());
    }
    for (stream, more) in streams.iter_mut().zip(more) {
        let first = stream.vertices.len() as u32;
        stream.indices.extend(more.indices.iter().map(|index| first + index));
        stream.ids.extend(more.ids);
        stream.vertices.append(&more.vertices)?;
    }
    Ok(())
}
