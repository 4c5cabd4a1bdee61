//! Scenes: what `render SCENE.toml` draws. A target, a camera, and draws one after the other, all by name.

mod bind;
mod camera;
mod mesh;

use crate::options::{CompileArgs, Source};
use crate::picture;
use crate::pipeline::{Cull, DepthTest};
use crate::report::Failure;
use crate::stages::{Drawn, Place, StageFiles, Stages, TopologyName, VertexNumbers, compile};
use crate::values::Value;
use bind::{Bound, Picture};
use camera::{Camera, Names, Placement};
use serde::{Deserialize, Serialize};
use shaderjit::raster::{
    Blend, BlendEquation, BlendOp, BlendState, DepthFormat, DepthStencilState, DrawStatistics, FillMode, Mix, Pipeline,
    RasterizerState, TargetLayout, Targets,
};
use shaderjit::{Backend, CompiledShader, Engine, TexelFormat};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A scene.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    /// Width and height.
    size: [u32; 2],
    #[serde(default = "one")]
    samples: u32,
    /// Of the target.
    #[serde(default = "srgb")]
    format: String,
    /// What the target begins as. If that is opaque, the picture is.
    #[serde(default)]
    clear: [f32; 4],
    camera: Camera,
    #[serde(rename = "draw")]
    draws: Vec<Draw>,
}

/// A draw.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draw {
    name: String,
    vs: String,
    hs: Option<String>,
    ds: Option<String>,
    gs: Option<String>,
    ps: Option<String>,
    #[serde(default = "triangles")]
    topology: String,
    mesh: Option<String>,
    /// How often a texture lies side by side on the mesh, in both directions.
    #[serde(default = "once")]
    repeat: [f32; 2],
    /// How many vertices; if that is not said, those of the mesh or the longest input.
    count: Option<u32>,
    /// Numbers of vertices, instead of the mesh's.
    indices: Option<Vec<u32>>,
    #[serde(default = "one")]
    instances: u32,
    /// By semantic and index: an attribute of the mesh, a row for each vertex, or one for all.
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    /// Variables of constant buffers by name; numbers, and names of the camera's matrices.
    #[serde(default)]
    constants: BTreeMap<String, Value>,
    /// Constant buffers by slot, and blocks of SPIR-V: their words, one behind the other.
    #[serde(default)]
    blocks: BTreeMap<String, Value>,
    /// Push constants of SPIR-V: their words.
    push: Option<Value>,
    #[serde(default)]
    textures: BTreeMap<String, Picture>,
    #[serde(default)]
    samplers: BTreeMap<String, String>,
    #[serde(default)]
    place: Placement,
    #[serde(default)]
    cull: Cull,
    #[serde(default)]
    wireframe: bool,
    #[serde(default)]
    depth: DepthTest,
    #[serde(default = "yes")]
    depth_write: bool,
    #[serde(default)]
    blend: BlendName,
}

fn one() -> u32 {
    1
}

fn once() -> [f32; 2] {
    [1.0; 2]
}

fn yes() -> bool {
    true
}

fn srgb() -> String {
    TexelFormat::Rgba8Srgb.name().to_string()
}

fn triangles() -> String {
    "tri".to_string()
}

/// How a draw's colours and the target's become one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BlendName {
    /// They replace the target's.
    #[default]
    None,
    /// By their alpha they cover the target's.
    Alpha,
    /// They are added.
    Add,
}

impl BlendName {
    fn mix(self) -> Mix {
        let sum = BlendEquation { source: Blend::One, destination: Blend::One, op: BlendOp::Add };
        match self {
            BlendName::None => Mix::Replace,
            BlendName::Alpha => Mix::ALPHA,
            BlendName::Add => Mix::Blend(sum, sum),
        }
    }
}

/// A scene with its files read and its shaders compiled.
pub struct Scene {
    size: [u32; 2],
    layout: TargetLayout,
    clear: [f32; 4],
    camera: Camera,
    draws: Vec<LoadedDraw>,
}

struct LoadedDraw {
    draw: Draw,
    stages: Stages,
    pixel: Option<Arc<CompiledShader>>,
    bound: Bound,
    count: u32,
}

/// What a draw of a frame has done, and how long it took, in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DrawReport {
    name: String,
    primitives: u64,
    /// Pixels that were shaded.
    pixels: u64,
    /// Samples that passed all tests.
    samples: u64,
    vertex: f64,
    hull: f64,
    /// The tessellator and the domain shader.
    domain: f64,
    geometry: f64,
    /// The rasteriser, and in it the pixel shader.
    raster: f64,
    /// The pixel shader, of all threads together.
    pixel: f64,
}

impl Scene {
    /// Reads a scene and what it names; its paths begin at the file's folder.
    pub fn read(path: &Path, args: &CompileArgs) -> Result<Scene, Failure> {
        let failure = |error: &dyn std::fmt::Display| Failure::input(format_args!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failure(&error))?;
        let scene: Description = toml_edit::de::from_str(&text).map_err(|error| failure(&error))?;
        let path = std::path::absolute(path).map_err(|error| failure(&error))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::env::set_current_dir(folder).map_err(|error| failure(&error))?;
        let format = TexelFormat::from_name(&scene.format);
        let format = format.ok_or_else(|| failure(&format_args!("{:?} is no format", scene.format)))?;
        let layout = TargetLayout::new(scene.size[0], scene.size[1]).samples(scene.samples).color(format);
        let layout = layout.depth(DepthFormat::D32Float);
        // A target that cannot be is told before anything is compiled.
        Targets::new(&layout).map_err(|error| failure(&error))?;
        let engine = args.engine(None)?;
        let draws = scene.draws.into_iter().map(|draw| {
            let name = draw.name.clone();
            LoadedDraw::new(draw, &engine, args).map_err(|error| error.of(&format!("draw {name:?}")))
        });
        let draws = draws.collect::<Result<_, _>>()?;
        Ok(Scene { size: scene.size, layout, clear: scene.clear, camera: scene.camera, draws })
    }

    /// Width and height.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// The picture when the camera has made a part of its turn, 0 to 1, and what each draw has done; tells how much of
    /// it is done.
    pub fn frame(&self, turned: f32, progress: &(dyn Fn(f32) + Sync)) -> Result<(Vec<u8>, Vec<DrawReport>), Failure> {
        let mut targets = Targets::new(&self.layout).map_err(Failure::input)?;
        targets.clear_color(0, self.clear);
        targets.clear_depth(1.0);
        let mut reports = Vec::new();
        for (number, draw) in self.draws.iter().enumerate() {
            let names = Names {
                camera: &self.camera,
                placement: &draw.draw.place,
                aspect: self.size[0] as f32 / self.size[1] as f32,
                turned,
                is_pica: draw.stages.format.is_pica(),
            };
            let part = |done: f32| progress((number as f32 + done) / self.draws.len() as f32);
            let report = draw.run(&names, &mut targets, &part);
            reports.push(report.map_err(|error| error.of(&format!("draw {:?}", draw.draw.name)))?);
        }
        let mut picture = picture::of_target(&targets, 0, |_| false);
        // On an opaque ground the alpha of what is drawn makes no hole in the picture.
        if self.clear[3] >= 1.0 {
            picture.as_chunks_mut().0.iter_mut().for_each(|[_, _, _, alpha]| *alpha = 255);
        }
        Ok((picture, reports))
    }
}

impl LoadedDraw {
    fn new(draw: Draw, engine: &Engine, args: &CompileArgs) -> Result<LoadedDraw, Failure> {
        let source = |path: &String| path.parse::<Source>().map_err(Failure::input);
        let optional = |path: &Option<String>| path.as_ref().map(source).transpose();
        let (vs, ps) = (source(&draw.vs)?, optional(&draw.ps)?);
        let [hs, ds, gs] = [optional(&draw.hs)?, optional(&draw.ds)?, optional(&draw.gs)?];
        if hs.is_some() != ds.is_some() {
            return Err(Failure::input("hs and ds go together"));
        }
        let topology: TopologyName = draw.topology.parse().map_err(Failure::input)?;
        let mesh = draw.mesh.as_ref().map(|name| mesh::Mesh::named(name, topology.0)).transpose()?;
        let mut mesh = mesh.unwrap_or_default();
        mesh.coordinates.iter_mut().for_each(|[u, v, ..]| {
            *u *= draw.repeat[0];
            *v *= draw.repeat[1];
        });
        let indices = draw.indices.clone().or((!mesh.indices.is_empty()).then(|| mesh.indices.clone()));
        let indices = indices.map(|numbers| VertexNumbers { numbers, cut: None });
        let (hs, ds, gs) = (hs.as_ref(), ds.as_ref(), gs.as_ref());
        let files = StageFiles { vs: &vs, hs, ds, gs, topology: topology.0, indices, are_drawn: true };
        let stages = Stages::new(files, engine, args, Backend::Jit)?;
        let pixel = ps.map(|ps| compile(engine, &ps, Place::Pixel, args, Backend::Jit)).transpose()?;
        let pixel = pixel.map(|pixel| pixel.code);
        let bound = Bound::new(&draw, &mesh, &stages.vertex)?;
        let count = draw.count.unwrap_or(bound.vertices());
        Ok(LoadedDraw { draw, stages, pixel, bound, count })
    }

    fn states(&self) -> Pipeline {
        let fill = if self.draw.wireframe { FillMode::Wireframe } else { FillMode::Solid };
        let depth_stencil = DepthStencilState::depth(self.draw.depth.comparison());
        Pipeline {
            rasterizer: RasterizerState { cull: self.draw.cull.mode(), fill, ..RasterizerState::default() },
            depth_stencil: DepthStencilState { depth_write: self.draw.depth_write, ..depth_stencil },
            blend: BlendState::all(self.draw.blend.mix()),
            ..Pipeline::default()
        }
    }

    fn run(
        &self,
        names: &Names<'_>,
        targets: &mut Targets,
        progress: &(dyn Fn(f32) + Sync),
    ) -> Result<DrawReport, Failure> {
        let values = self.bound.values(&self.draw, names)?;
        let calls = self.stages.calls(self.count, &|input, code| {
            let mut call = values.call(code)?;
            if input.is_some() {
                self.bound.inputs(&mut call)?;
            }
            Ok(call)
        })?;
        let pixel = self.pixel.as_deref().map(|code| values.call(code)).transpose()?;
        values.check_known()?;
        let drawn = calls.draw(self.draw.instances, &self.states(), pixel.as_ref(), targets, progress)?;
        let Drawn { times, raster, statistics: DrawStatistics { primitives, pixels, samples, shading, .. } } = drawn;
        let [vertex, hull, domain, geometry, raster, pixel] =
            [times.vertex, times.hull, times.domain, times.geometry, raster, shading]
                .map(|time| 1e3 * time.as_secs_f64());
        let name = self.draw.name.clone();
        Ok(DrawReport { name, primitives, pixels, samples, vertex, hull, domain, geometry, raster, pixel })
    }
}

/// A table of what draws have done, milliseconds of each stage.
pub fn table(reports: &[DrawReport]) -> String {
    let mut text = format!(
        "{:<12} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
        "draw", "primitives", "pixels", "samples", "vertex", "hull", "domain", "geometry", "raster", "pixel"
    );
    for report in reports {
        let DrawReport { name, primitives, pixels, samples, vertex, hull, domain, geometry, raster, pixel } = report;
        let times = [vertex, hull, domain, geometry, raster, pixel].map(|time| format!(" {time:>8.3}")).concat();
        text += &format!("{name:<12} {primitives:>10} {pixels:>10} {samples:>10}{times}\n");
    }
    text
}

/// What the columns of a [`table`] mean.
pub const LEGEND: &str =
    "Times are milliseconds. raster is the whole draw, of all threads at once; pixel is in it, summed over threads.\n";
