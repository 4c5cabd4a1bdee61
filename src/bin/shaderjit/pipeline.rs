//! Pipelines: vertices through the stages named, the rasteriser and a pixel shader, to targets and memory; without
//! targets, to the streams in front of the rasteriser.

use crate::bindings::{BindArgs, Bindings, Missing};
use crate::groups::{GroupArgs, Memory, element_text};
use crate::options::{CompileArgs, Source};
use crate::picture;
use crate::report::Failure;
use crate::stages::{Place, StageArgs, StageCalls, Stages, compile, stream_text};
use clap::ValueEnum;
use serde::Deserialize;
use shaderjit::raster::{
    CullMode, DepthFormat, DepthStencilState, MAX_TARGETS, Pipeline, RasterizerState, TargetLayout, Targets,
};
use shaderjit::{
    Backend, Comparison, CompiledShader, ComponentType, Engine, PixelOutput, Stage, StageTimes, TexelFormat, Tracer,
};
use std::fmt::Write;
use std::str::FromStr;

#[derive(Clone, clap::Args)]
pub struct PipelineArgs {
    #[command(flatten)]
    stages: StageArgs,
    /// Draw with this pixel shader; without one only depths are drawn
    #[arg(long, value_name = "FILE", requires_all = ["vs", "rt"])]
    ps: Option<Source>,
    /// Size of the targets, of four 32-bit components each; floats begin as -7777
    #[arg(long, value_name = "WxH", requires = "vs")]
    rt: Option<Size>,
    /// Test depths against a buffer of 32-bit floats that begin as 1, and write them
    #[arg(long, value_enum, value_name = "TEST", requires = "vs")]
    depth: Option<DepthTest>,
    /// Which triangles are dropped; those that wind clockwise on the screen show their front
    #[arg(long, value_enum, default_value = "none", requires = "vs")]
    cull: Cull,
    /// Interpolate over positions rounded to 256ths of a pixel, as Direct3D asks for, instead of those before, as
    /// llvmpipe does
    #[arg(long, requires = "vs")]
    snapped: bool,
    /// How many threads draw [default: as many as the machine runs at once]
    #[arg(long, value_name = "N", requires = "vs")]
    threads: Option<std::num::NonZero<usize>>,
}

/// `WxH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size([u32; 2]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let numbers = text.split('x').map(str::parse).collect::<Result<Vec<u32>, _>>();
        match numbers.as_deref() {
            Ok(&[width, height]) => Ok(Size([width, height])),
            _ => Err(format!("{text:?} is no size WxH")),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum DepthTest {
    Never,
    #[default]
    Less,
    Equal,
    Lequal,
    Greater,
    Notequal,
    Gequal,
    Always,
}

impl DepthTest {
    pub fn comparison(self) -> Comparison {
        match self {
            DepthTest::Never => Comparison::Never,
            DepthTest::Less => Comparison::Less,
            DepthTest::Equal => Comparison::Equal,
            DepthTest::Lequal => Comparison::LessEqual,
            DepthTest::Greater => Comparison::Greater,
            DepthTest::Notequal => Comparison::NotEqual,
            DepthTest::Gequal => Comparison::GreaterEqual,
            DepthTest::Always => Comparison::Always,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Cull {
    #[default]
    None,
    Front,
    Back,
}

impl Cull {
    pub fn mode(self) -> CullMode {
        match self {
            Cull::None => CullMode::None,
            Cull::Front => CullMode::Front,
            Cull::Back => CullMode::Back,
        }
    }
}

/// What a draw leaves.
pub struct Frame {
    pub targets: Targets,
    memory: Vec<Memory>,
    has_depth: bool,
}

/// The options of a draw that other verbs than `run` have.
#[derive(clap::Args)]
pub struct DrawOptions {
    #[command(flatten)]
    pub pipeline: PipelineArgs,
    /// Behind the vertex shader, or the domain shader, this geometry shader
    #[arg(long, value_name = "FILE", requires = "vs")]
    pub gs: Option<Source>,
    #[command(flatten)]
    pub compile: CompileArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub groups: GroupArgs,
    /// Run the vertices so many times, as instances 0, 1, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub instances: u32,
}

/// What the options of a draw are in.
pub struct DrawArgs<'o, 't> {
    pub pipeline: &'o PipelineArgs,
    pub compile: &'o CompileArgs,
    pub bind: &'o BindArgs,
    pub groups: &'o GroupArgs,
    /// The geometry shader.
    pub geometry: Option<&'o Source>,
    pub instances: u32,
    pub engine: &'o Engine,
    pub backend: Backend,
    /// Who is told what an invocation does.
    pub tracer: Option<&'o Tracer<'t>>,
}

impl PipelineArgs {
    pub fn is_asked(&self) -> bool {
        self.stages.is_asked()
    }

    /// The option that names the shader of that stage; the geometry shader's is not among them.
    pub fn place_mut(&mut self, stage: Stage) -> Option<&mut Option<Source>> {
        if stage == Stage::Pixel { Some(&mut self.ps) } else { self.stages.place_mut(stage) }
    }

    /// Whether anything is drawn.
    fn draws(&self) -> bool {
        self.rt.is_some()
    }

    fn targets(&self, pixel: Option<&CompiledShader>, samples: u32) -> Result<Targets, Failure> {
        let Size([width, height]) = self.rt.ok_or_else(|| Failure::usage("--rt is needed"))?;
        let mut layout = TargetLayout::new(width, height).samples(samples);
        let mut writes_depth = false;
        if let Some((code, pixel)) = pixel.and_then(|code| Some((code, code.interface().pixel.as_ref()?))) {
            for (element, output) in code.interface().signature_outputs().iter().zip(&pixel.outputs) {
                match output {
                    Some(PixelOutput::Target(slot)) => {
                        layout = layout.color_at(*slot as usize, target_format(element.ty));
                    }
                    Some(PixelOutput::Depth(_)) => writes_depth = true,
                    _ => {}
                }
            }
        }
        if self.depth.is_some() || writes_depth {
            layout = layout.depth(DepthFormat::D32Float);
        }
        let mut targets = Targets::new(&layout).map_err(Failure::input)?;
        for slot in 0..MAX_TARGETS {
            match layout.format(slot) {
                Some(TexelFormat::Rgba32Float) => targets.clear_color(slot, [UNTOUCHED; 4]),
                Some(TexelFormat::Rgba32Sint) => targets.clear_color(slot, [UNTOUCHED; 4]),
                _ => targets.clear_color(slot, [-UNTOUCHED; 4]),
            }
        }
        Ok(targets)
    }

    fn states(&self, has_depth: bool) -> Pipeline {
        let comparison = self.depth.map_or(Comparison::Always, DepthTest::comparison);
        let mut pipeline = Pipeline {
            rasterizer: RasterizerState { cull: self.cull.mode(), ..RasterizerState::default() },
            depth_stencil: DepthStencilState { depth: has_depth, ..DepthStencilState::depth(comparison) },
            exact_planes: !self.snapped,
            ..Pipeline::default()
        };
        if let Some(threads) = self.threads {
            pipeline.threads = threads;
        }
        pipeline
    }
}

/// What targets of floats and signed integers begin as.
const UNTOUCHED: f32 = -7777.0;

fn target_format(ty: ComponentType) -> TexelFormat {
    match ty {
        ComponentType::U32 => TexelFormat::Rgba32Uint,
        ComponentType::I32 => TexelFormat::Rgba32Sint,
        _ => TexelFormat::Rgba32Float,
    }
}

impl DrawArgs<'_, '_> {
    /// What is drawn or, without targets, the streams in front of the rasteriser.
    pub fn text(&self) -> Result<String, Failure> {
        if self.pipeline.draws() {
            return Ok(self.draw(&|_| {})?.text());
        }
        let files = self.pipeline.stages.files(self.geometry, false)?;
        let stages = Stages::new(files, self.engine, self.compile, self.backend)?;
        let bindings = self.bind.read(stages.format, &stages.vertex, Missing::Leave)?;
        bindings.check_known(&stages.codes().map(Some).collect::<Vec<_>>())?;
        let memory = self.groups.memory()?;
        let calls = self.calls(&stages, &bindings, &memory)?;
        let streams = calls.run(0..self.instances, &mut StageTimes::default())?;
        self.groups.write(&memory)?;
        let mut text: String = streams.iter().map(stream_text).collect();
        text.extend(memory.iter().map(Memory::text));
        Ok(text)
    }

    fn calls<'a>(
        &'a self,
        stages: &'a Stages,
        bindings: &'a Bindings,
        memory: &'a [Memory],
    ) -> Result<StageCalls<'a>, Failure> {
        stages.calls(bindings.count, &|input, code| {
            let mut call = bindings.call_of_stage(input, code)?;
            memory.iter().try_for_each(|memory| memory.bind_if_known(&mut call))?;
            self.tracer.map(|tracer| call.trace(tracer));
            Ok(call)
        })
    }

    /// Draws, and tells how much is done.
    pub fn draw(&self, progress: &(dyn Fn(f32) + Sync)) -> Result<Frame, Failure> {
        let args = self.pipeline;
        let files = args.stages.files(self.geometry, true)?;
        let stages = Stages::new(files, self.engine, self.compile, self.backend)?;
        let compiled = |source| compile(self.engine, source, Place::Pixel, self.compile, self.backend);
        let pixel = args.ps.as_ref().map(compiled).transpose()?;
        let pixel_code = pixel.as_ref().map(|pixel| &*pixel.code);
        let bindings = self.bind.read(stages.format, &stages.vertex, Missing::Leave)?;
        bindings.check_known(&stages.codes().map(Some).chain([pixel_code]).collect::<Vec<_>>())?;
        let memory = self.groups.memory()?;
        let calls = self.calls(&stages, &bindings, &memory)?;
        let mut pixel_call = pixel_code.map(|code| bindings.call_of_stage(None, code)).transpose()?;
        if let Some(call) = &mut pixel_call {
            memory.iter().try_for_each(|memory| memory.bind_if_known(call))?;
            self.tracer.map(|tracer| call.trace(tracer));
        }
        let mut targets = args.targets(pixel_code, self.compile.samples())?;
        let has_depth = !targets.depths().is_empty();
        let pipeline = args.states(has_depth);
        calls.draw(self.instances, &pipeline, pixel_call.as_ref(), &mut targets, progress)?;
        self.groups.write(&memory)?;
        Ok(Frame { targets, memory, has_depth })
    }
}

impl Frame {
    /// `rt0(3,1) 0.5 0.25 0 1  [3f000000 …]` for each pixel of each target, then depths, then memory. Of several
    /// samples it is their mean.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let layout = self.targets.layout();
        let [width, height] = layout.size();
        let pixels = || (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        for slot in 0..MAX_TARGETS {
            for ([x, y], color) in pixels().zip(self.targets.resolved(slot, 0)) {
                let element = color.map(u32::to_le_bytes);
                let _ =
                    writeln!(text, "rt{slot}({x},{y}) {}", element_text(element.as_flattened(), layout.format(slot)));
            }
        }
        if self.has_depth {
            for [x, y] in pixels() {
                let depth = self.targets.depth(0, [x, y], 0).unwrap_or_default();
                let _ = writeln!(text, "depth({x},{y}) {}", element_text(&depth.to_le_bytes(), None));
            }
        }
        text.extend(self.memory.iter().map(Memory::text));
        text
    }

    /// The bytes of a picture of a target: red, green, blue and alpha of each pixel, zeros where nothing was drawn.
    pub fn picture(&self, slot: usize) -> Vec<u8> {
        picture::of_target(&self.targets, slot, |values| values.iter().all(|value| value.abs() == -UNTOUCHED))
    }
}
