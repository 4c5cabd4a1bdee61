//! Stages by name: vertices through a vertex shader, and behind it a hull, a domain and a geometry shader; what comes
//! out in front of the rasteriser is printed as stream output.

use crate::groups::element_text;
use crate::options::{CompileArgs, Source};
use crate::report::{Failure, with_hint};
use shaderjit::container::Container;
use shaderjit::pica::{DepthMap, OutputMap, RasterizerSlots, vertex_table};
use shaderjit::printable::Printable;
use shaderjit::raster::{DrawStatistics, Pipeline, Primitives, ShadedVertices, Targets};
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, ComponentType, Draw, DrawVertices, Engine, Shader, ShaderFormat,
    Stage, StageTimes, Stream, TexelFormat, Topology, VertexTable,
};
use std::fmt::Write;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, clap::Args)]
pub struct StageArgs {
    /// Run this vertex shader and the stages named besides: --hs and --ds, --gs, --ps. --input, --cb, --srv, --smp and
    /// --uav are bound to all that have them, and what is not bound reads 0
    #[arg(long, value_name = "FILE")]
    vs: Option<Source>,
    /// Behind the vertex shader this hull shader
    #[arg(long, value_name = "FILE", requires_all = ["vs", "ds"])]
    hs: Option<Source>,
    /// And this domain shader on the points of the tessellator
    #[arg(long, value_name = "FILE", requires = "hs")]
    ds: Option<Source>,
    /// What the vertices are: point, line, linestrip, tri, tristrip, lineadj, linestripadj, triadj, tristripadj, patchN
    #[arg(long, default_value = "tri", requires = "vs")]
    topology: TopologyName,
    /// An index buffer; the largest index restarts strips
    #[arg(long, value_name = "RAW:u16|u32", requires = "vs")]
    ib: Option<IndexBuffer>,
}

/// `RAW:u16` or `RAW:u32`.
#[derive(Clone, Debug)]
struct IndexBuffer {
    source: Source,
    is_wide: bool,
}

impl FromStr for IndexBuffer {
    type Err = String;

    fn from_str(text: &str) -> Result<IndexBuffer, String> {
        match text.rsplit_once(':') {
            Some((source, format @ ("u16" | "u32"))) => {
                Ok(IndexBuffer { source: source.parse()?, is_wide: format == "u32" })
            }
            _ => Err(format!("{text:?} ends neither in :u16 nor in :u32")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyName(pub Topology);

impl FromStr for TopologyName {
    type Err = String;

    fn from_str(text: &str) -> Result<TopologyName, String> {
        Ok(TopologyName(match text {
            "point" => Topology::PointList,
            "line" => Topology::LineList,
            "linestrip" => Topology::LineStrip,
            "tri" => Topology::TriangleList,
            "tristrip" => Topology::TriangleStrip,
            "lineadj" => Topology::LineListAdjacency,
            "linestripadj" => Topology::LineStripAdjacency,
            "triadj" => Topology::TriangleListAdjacency,
            "tristripadj" => Topology::TriangleStripAdjacency,
            patch => {
                let points = patch.strip_prefix("patch").and_then(|points| points.parse().ok());
                let points = points.filter(|points| (1..=32).contains(points));
                Topology::PatchList(points.ok_or_else(|| format!("{text:?} is no topology"))?)
            }
        }))
    }
}

impl StageArgs {
    pub fn is_asked(&self) -> bool {
        self.vs.is_some()
    }

    /// The option that names the shader of that stage.
    pub fn place_mut(&mut self, stage: Stage) -> Option<&mut Option<Source>> {
        match stage {
            Stage::Vertex => Some(&mut self.vs),
            Stage::Hull => Some(&mut self.hs),
            Stage::Domain => Some(&mut self.ds),
            _ => None,
        }
    }

    /// What the options name, with a geometry shader behind it.
    pub fn files<'f>(&'f self, gs: Option<&'f Source>, are_drawn: bool) -> Result<StageFiles<'f>, Failure> {
        let vs = self.vs.as_ref().ok_or_else(|| Failure::usage("--vs is needed"))?;
        let (hs, ds, topology) = (self.hs.as_ref(), self.ds.as_ref(), self.topology.0);
        Ok(StageFiles { vs, hs, ds, gs, topology, indices: self.indices()?, are_drawn })
    }

    /// The indices of a buffer, and the one that restarts strips.
    fn indices(&self) -> Result<Option<VertexNumbers>, Failure> {
        let Some(IndexBuffer { source, is_wide }) = &self.ib else { return Ok(None) };
        let bytes = source.read()?;
        let (numbers, cut) = match *is_wide {
            true => (bytes.as_chunks().0.iter().map(|&index| u32::from_le_bytes(index)).collect(), u32::MAX),
            false => (bytes.as_chunks().0.iter().map(|&index| u16::from_le_bytes(index).into()).collect(), 0xffff),
        };
        Ok(Some(VertexNumbers { numbers, cut: Some(cut) }))
    }
}

/// The vertices of a draw, by their numbers.
pub struct VertexNumbers {
    pub numbers: Vec<u32>,
    /// The one that restarts strips.
    pub cut: Option<u32>,
}

/// The files of the stages in front of the rasteriser, and what primitives they are fed.
pub struct StageFiles<'f> {
    pub vs: &'f Source,
    pub hs: Option<&'f Source>,
    pub ds: Option<&'f Source>,
    pub gs: Option<&'f Source>,
    pub topology: Topology,
    pub indices: Option<VertexNumbers>,
    /// Whether triangles are drawn: those of a 3DS program then become vertices of Direct3D's clip space.
    pub are_drawn: bool,
}

/// The stages in front of the rasteriser.
pub struct Stages {
    /// Of the vertex shader.
    pub format: ShaderFormat,
    pub vertex: Arc<CompiledShader>,
    /// Hull, domain and geometry shader.
    behind: [Option<Arc<CompiledShader>>; 3],
    topology: Topology,
    indices: Option<VertexNumbers>,
    /// Whether the vertices are the 3DS's slots.
    has_slots: bool,
}

/// What a shader of a pipeline is to it.
#[derive(Clone, Copy)]
pub enum Place {
    /// The vertex shader; whether triangles are drawn.
    Vertex(bool),
    /// The hull shader; how many control points patches have, if the topology says it.
    Hull(Option<u32>),
    Domain,
    Geometry,
    Pixel,
}

impl Place {
    fn stage(self) -> Stage {
        match self {
            Place::Vertex(_) => Stage::Vertex,
            Place::Hull(_) => Stage::Hull,
            Place::Domain => Stage::Domain,
            Place::Geometry => Stage::Geometry,
            Place::Pixel => Stage::Pixel,
        }
    }
}

/// A shader of a pipeline.
pub struct Compiled {
    format: ShaderFormat,
    pub code: Arc<CompiledShader>,
    /// Whether its outputs are the 3DS's slots.
    has_slots: bool,
}

/// Compiles a shader of a pipeline: the first of the file that is one of the stage.
pub fn compile(
    engine: &Engine,
    source: &Source,
    place: Place,
    compile: &CompileArgs,
    backend: Backend,
) -> Result<Compiled, Failure> {
    let failure = |error| Failure::input(format_args!("{}: {}", source.name(), with_hint(&error)));
    let shader = Shader::parse(&source.read()?).map_err(failure)?;
    let is_it = |&entry: &usize| shader.entry(entry).is_ok_and(|entry| entry.stage == place.stage());
    let entry = (0..shader.entry_count()).find(is_it).unwrap_or(0);
    let mut options = compile.options_of(entry)?.backend(backend);
    if let Place::Hull(Some(points)) = place {
        options = options.patch_vertices(points);
    }
    let slots = if let Place::Vertex(true) = place { slots(&shader, entry)? } else { None };
    let options = slots.into_iter().fold(options, CompileOptions::rasterizer_slots);
    let code = engine.compile(&shader, &options).map_err(failure)?;
    Ok(Compiled { format: shader.format(), code, has_slots: slots.is_some() })
}

/// The rasteriser's slots by the output table of a 3DS container's executable.
fn slots(shader: &Shader, entry: usize) -> Result<Option<RasterizerSlots>, Failure> {
    let Some(Container::Shbin(shbin)) = shader.container() else { return Ok(None) };
    let Some(executable) = shbin.dvle(entry)? else { return Ok(None) };
    let (map, mask) = OutputMap::of_table(&executable.outputs);
    Ok(Some(map.rasterizer_slots(mask)))
}

impl Stages {
    /// Compiles those that are named.
    pub fn new(
        files: StageFiles<'_>,
        engine: &Engine,
        options: &CompileArgs,
        backend: Backend,
    ) -> Result<Stages, Failure> {
        let StageFiles { vs, hs, ds, gs, topology, indices, are_drawn } = files;
        let compile = |source, place| compile(engine, source, place, options, backend);
        let Compiled { format, code: vertex, has_slots } = compile(vs, Place::Vertex(are_drawn))?;
        let points = match topology {
            Topology::PatchList(points) => Some(points.into()),
            _ => None,
        };
        let mut behind = [None, None, None];
        for (code, (source, place)) in
            behind.iter_mut().zip([(hs, Place::Hull(points)), (ds, Place::Domain), (gs, Place::Geometry)])
        {
            let compiled = source.map(|source| compile(source, place)).transpose()?;
            *code = compiled.map(|compiled| compiled.code);
        }
        Ok(Stages { format, vertex, behind, topology, indices, has_slots })
    }

    /// All that there are.
    pub fn codes(&self) -> impl Iterator<Item = &CompiledShader> {
        [&self.vertex].into_iter().chain(self.behind.iter().flatten()).map(|code| &**code)
    }

    /// Calls of all of them for so many vertices, as `bind` makes them; the vertex shader's comes with its format.
    pub fn calls<'a>(
        &'a self,
        count: u32,
        bind: &dyn Fn(Option<ShaderFormat>, &'a CompiledShader) -> Result<Call<'a>, Failure>,
    ) -> Result<StageCalls<'a>, Failure> {
        let mut behind = [None, None, None];
        for (call, code) in behind.iter_mut().zip(&self.behind) {
            *call = code.as_ref().map(|code| bind(None, code)).transpose()?;
        }
        Ok(StageCalls { stages: self, vertex: bind(Some(self.format), &self.vertex)?, behind, count })
    }
}

/// The calls of a draw.
pub struct StageCalls<'a> {
    stages: &'a Stages,
    vertex: Call<'a>,
    behind: [Option<Call<'a>>; 3],
    count: u32,
}

/// What a draw has done.
#[derive(Default)]
pub struct Drawn {
    pub times: StageTimes,
    /// In the rasteriser and the pixel shader.
    pub raster: Duration,
    pub statistics: DrawStatistics,
}

impl StageCalls<'_> {
    /// Runs all stages for one instance after the other, and draws what comes out; tells how much is done.
    pub fn draw(
        &self,
        instances: u32,
        states: &Pipeline,
        pixel: Option<&Call<'_>>,
        targets: &mut Targets,
        progress: &(dyn Fn(f32) + Sync),
    ) -> Result<Drawn, Failure> {
        let mut drawn = Drawn::default();
        for instance in 0..instances {
            let streams = self.run(instance..instance + 1, &mut drawn.times)?;
            // Stream 0 is the rasteriser's.
            let Some(stream) = streams.iter().find(|stream| stream.number == 0) else { continue };
            let primitives = Primitives::of(stream.topology, &stream.indices);
            let primitives = primitives
                .ok_or_else(|| Failure::input("patches are not drawn; a hull and a domain shader divide them"))?;
            let (vertices, primitives) = (ShadedVertices::from(&stream.vertices), primitives.ids(&stream.ids));
            let part = |done: f32| progress((instance as f32 + done) / instances as f32);
            let begin = Instant::now();
            let done = states.draw_watched(vertices, primitives, pixel, targets, &part).map_err(Failure::input)?;
            drawn.raster += begin.elapsed();
            drawn.statistics = drawn.statistics.and(done);
        }
        Ok(drawn)
    }

    /// Runs all stages for some instances, and adds how long each takes.
    pub fn run(&self, instances: Range<u32>, times: &mut StageTimes) -> Result<Vec<Stream>, Failure> {
        let mut draw = Draw::new(&self.vertex, self.stages.topology);
        let [hull, domain, geometry] = &self.behind;
        if let (Some(hull), Some(domain)) = (hull, domain) {
            draw = draw.tessellation(hull, domain);
        }
        if let Some(geometry) = geometry {
            draw = draw.geometry(geometry);
        }
        let vertices = match &self.stages.indices {
            None => DrawVertices::Count(self.count),
            Some(VertexNumbers { numbers, cut }) => DrawVertices::Indexed { indices: numbers, cut: *cut },
        };
        let mut streams = draw.run_timed(vertices, instances, times)?;
        if self.stages.has_slots {
            for stream in &mut streams {
                stream.vertices = vertex_table(stream.vertices.bytes(), DepthMap::DIRECT3D)?;
            }
        }
        Ok(streams)
    }
}

/// `stream 0 vertices 3 stride 16`, then a line for each element of each vertex of each primitive.
pub fn stream_text(stream: &Stream) -> String {
    let Stream { number, vertices, indices, .. } = stream;
    let mut text = String::new();
    let _ = writeln!(text, "stream {number} vertices {} stride {}", indices.len(), vertices.stride());
    for (place, &vertex) in indices.iter().enumerate() {
        for number in 0..vertices.elements().len() {
            let _ = writeln!(text, "{place} {}", vertex_text(vertices, vertex as usize, number));
        }
    }
    text
}

/// An element of a vertex: `POSITION0 1 2.5  [3f800000 40200000]`.
pub fn vertex_text(vertices: &VertexTable, vertex: usize, number: usize) -> String {
    let element = &vertices.elements()[number];
    let words = vertices.get(vertex, number).map(u32::to_le_bytes);
    let words = &words.as_flattened()[..4 * element.components() as usize];
    let format = match element.ty {
        ComponentType::U32 => Some(TexelFormat::R32Uint),
        ComponentType::I32 => Some(TexelFormat::R32Sint),
        _ => None,
    };
    format!("{}{} {}", Printable(&element.semantic), element.index, element_text(words, format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topologies_have_names() {
        assert_eq!("patch32".parse(), Ok(TopologyName(Topology::PatchList(32))));
        assert_eq!("lineadj".parse(), Ok(TopologyName(Topology::LineListAdjacency)));
        for bad in ["patch", "patch0", "patch33", "triangle"] {
            assert!(bad.parse::<TopologyName>().is_err(), "{bad}");
        }
        assert!("a:u16".parse::<IndexBuffer>().is_ok_and(|buffer| !buffer.is_wide));
        assert!("a:u8".parse::<IndexBuffer>().is_err());
    }
}
