//! Geometry shaders of Direct3D: one invocation for each primitive and instance, and the vertices that they emit.

use super::read::{Invocations, Primitives};
use super::table::VertexTable;
use crate::Topology;
use crate::call::bindings::Call;
use crate::call::engine::with_memory;
use crate::call::wave::{Driver, WaveRunner};
use crate::call::work::Work;
use crate::error::CallError;
use crate::frontend::{Element, EmitterInterface};

/// Vertices, and the primitives they make.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its number, 0 where there is but one.
    pub number: u32,
    /// What the primitives are: a list.
    pub topology: Topology,
    /// The vertices.
    pub vertices: VertexTable,
    /// Numbers of vertices: the primitives in order, one behind the other.
    pub indices: Vec<u32>,
    /// The numbers that shaders saw for the primitives they come from, one a primitive.
    pub ids: Vec<u32>,
}

impl Stream {
    /// Begins again, in the memory that is here.
    pub(super) fn begin(&mut self, number: u32, topology: Topology, elements: &[Element]) {
        (self.number, self.topology) = (number, topology);
        self.vertices.begin(elements);
        self.indices.clear();
        self.ids.clear();
    }
}

impl Default for Stream {
    /// No points.
    fn default() -> Stream {
        let (vertices, indices, ids) = (VertexTable::default(), Vec::new(), Vec::new());
        Stream { number: 0, topology: Topology::PointList, vertices, indices, ids }
    }
}

impl<'a> Call<'a> {
    /// Runs a geometry shader on primitives. What it emits is in the order of the primitives, each stream by itself,
    /// its strips as lists of whole primitives.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, PrimitiveIds, Primitives, Shader, VertexTable};
    ///
    /// # use shaderjit::{CompiledShader, error::CallError};
    /// # fn expand(code: &CompiledShader, vertices: &VertexTable) -> Result<(), CallError> {
    /// // Three points, each a primitive.
    /// let points = Primitives { vertices, indices: &[0, 1, 2], ids: PrimitiveIds::From(0) };
    /// for stream in code.call().primitives(&points)? {
    ///     println!("stream {}: {} vertices", stream.number, stream.vertices.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WrongStage`](CallError::WrongStage), [`MissingBinding`](CallError::MissingBinding) and
    /// [`Invalid`](CallError::Invalid) before anything runs; [`OutOfFuel`](CallError::OutOfFuel),
    /// [`OutOfCallFuel`](CallError::OutOfCallFuel) and [`Cancelled`](CallError::Cancelled) as for vertices.
    pub fn primitives(&self, primitives: &Primitives<'_>) -> Result<Vec<Stream>, CallError> {
        let mut streams = Vec::new();
        self.primitives_into(primitives, &mut streams)?;
        Ok(streams)
    }

    /// As [`primitives`](Self::primitives), into streams whose memory is used again. After an error there are none.
    ///
    /// # Errors
    /// As [`primitives`](Self::primitives).
    pub fn primitives_into(&self, primitives: &Primitives<'_>, streams: &mut Vec<Stream>) -> Result<(), CallError> {
        let result = self.emit(primitives, streams);
        match result {
            Ok(()) => streams.iter_mut().for_each(|stream| stream.vertices.end()),
            Err(_) => streams.clear(),
        }
        result
    }

    fn emit(&self, primitives: &Primitives<'_>, streams: &mut Vec<Stream>) -> Result<(), CallError> {
        let emitter = self.check_emits()?;
        self.check_bound()?;
        let count = primitives.count(emitter.inputs.vertices)?;
        streams.resize_with(emitter.streams.len(), Stream::default);
        for (declared, stream) in emitter.streams.iter().zip(&mut *streams) {
            stream.begin(declared.number, declared.topology.list(), &declared.elements);
        }
        let instances = emitter.instances as usize;
        if let Some(begins) = &emitter.fixed {
            return self.fixed_primitives(emitter, begins, primitives, count, &mut streams[0]);
        }
        let invocations = Invocations { call: self, primitives, inputs: emitter.inputs, instances, count };
        let made = self.shader.native_for(&self.layout_of_rows())?;
        with_memory(|memory, work| {
            self.with_fuel(|fuel| {
                let emission = Emission { emitter, invocations, streams };
                self.drive(made.as_deref(), fuel, emission, memory, work)
            })
        })
    }
}

struct Emission<'d, 'c, 'a> {
    emitter: &'c EmitterInterface,
    invocations: Invocations<'c, 'a>,
    streams: &'d mut [Stream],
}

impl<'a> Driver<'a> for Emission<'_, '_, 'a> {
    fn drive(self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        let Emission { emitter, invocations, streams } = self;
        let mut rows = Vec::new();
        let mut strip = Vec::new();
        invocations.run(waves, |waves, lane, primitive| {
            let counts = waves.output(0, lane);
            let id = invocations.primitives.id(primitive);
            for (declared, stream) in emitter.streams.iter().zip(&mut *streams) {
                let vertices = counts[declared.number as usize];
                rows.clear();
                if let Some(array) = declared.array {
                    waves.read_array(array, 0, vertices * declared.rows(), lane, &mut rows);
                }
                let before = stream.vertices.len() as u32;
                let flush = |strip: &mut Vec<u32>, stream: &mut Stream| {
                    declared.topology.assemble(strip.drain(..), None, &mut stream.indices);
                };
                for (number, vertex) in (before..).zip(rows.chunks_exact(declared.rows().max(1) as usize)) {
                    let words = if declared.has_strips() {
                        if vertex[0][0] != 0 {
                            flush(&mut strip, stream);
                        }
                        strip.push(number);
                        &vertex[1..]
                    } else {
                        stream.indices.push(number);
                        vertex
                    };
                    stream.vertices.push(words.iter().copied())?;
                }
                flush(&mut strip, stream);
                stream.ids.resize(stream.indices.len() / stream.topology.vertices(), id);
            }
            Ok(())
        })
    }
}
