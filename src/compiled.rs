//! A compiled shader: the lockstep IR, what it exchanges with its caller, and native code for one layout.

use crate::attribute::AttributeFormat;
use crate::cache::Key;
use crate::call::{Call, find};
use crate::container::digest::Digest;
use crate::engine::Home;
use crate::error::{CallError, Error, JitError};
use crate::frontend::{ComponentType, Element, Interface, UniformKind};
use crate::jit::{self, Layout, Target};
use crate::options::Lanes;
use crate::pipeline::{self, PassOptions};
use shaderjit_ir::Function;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::texture::Access;
use shaderjit_ir::{Op, SysVal};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// A program that has been through every pass: what all layouts of it share.
pub(crate) struct Prepared {
    /// Identifies the program and the options of the passes.
    pub key: Key,
    pub interface: Interface,
    /// In lockstep form, of plain ops only: what native code runs.
    pub function: Function,
    /// What runs where a guard of it fails, if it has any.
    pub exact: Option<ExactForm>,
    /// Which input elements the code reads; one entry an element.
    pub reads_input: Vec<bool>,
    /// Which uniform spaces the caller must bind; one entry a space.
    pub needs_uniforms: Vec<bool>,
    /// Which resources the code reads or asks the size of; one entry a resource.
    pub needs_resource: Vec<bool>,
    /// Whether the code reads the vertices' numbers.
    pub reads_vertex_id: bool,
    /// For geometry shaders that read no state: whether of many invocations only the last one's counts.
    pub last_state_counts: bool,
    /// Which samplers the code uses; one entry a sampler.
    pub needs_sampler: Vec<bool>,
    /// The container's digest.
    pub digest: Option<Digest>,
    /// Backward edges each group of lanes may take.
    pub fuel: u32,
    /// Whether `fma` is what `fmad` became; folding asks.
    pub fused: bool,
    /// Time for decoding and lowering, and for the passes.
    pub times: [Duration; 2],
}

/// A program's form without guards, made when it is first needed.
pub(crate) struct ExactForm {
    /// As the front end made it.
    source: Function,
    made: OnceLock<Function>,
}

impl ExactForm {
    pub fn of(source: Function) -> ExactForm {
        ExactForm { source, made: OnceLock::new() }
    }
}

impl Prepared {
    /// The program without guards: what the interpreter runs.
    pub fn exact_function(&self) -> &Function {
        let Some(ExactForm { source, made }) = &self.exact else { return &self.function };
        made.get_or_init(|| {
            let mut function = source.clone();
            pipeline::run(&mut function, &PassOptions { fused: self.fused, guards: false })
                .expect("the passes have accepted the program with guards, and refuse nothing after them");
            function
        })
    }

    /// Bytes the IR occupies, roughly.
    pub fn ir_bytes(&self) -> u64 {
        let Function { insts, values, blocks, spaces, .. } = &self.function;
        let forms = if self.exact.is_some() { 3 } else { 1 };
        let tables: usize =
            spaces.values().filter_map(|space| space.table.as_ref()).map(|table| size_of_val(&table[..])).sum();
        let blocks: usize = blocks.values().map(|block| 256 + 4 * block.insts.len()).sum();
        (size_of::<Prepared>() + forms * (insts.len() * size_of::<InstData>() + values.len() * 16 + blocks + tables))
            as u64
    }

    /// The format an input element has where the caller asks for no other: as many 32-bit words as it has components.
    pub fn default_format(element: &Element) -> AttributeFormat {
        use AttributeFormat::*;
        let formats = match element.ty {
            ComponentType::F32 => [F32x1, F32x2, F32x3, F32x4],
            ComponentType::U32 => [U32x1, U32x2, U32x3, U32x4],
            ComponentType::I32 => [I32x1, I32x2, I32x3, I32x4],
        };
        // An element without components has nothing to read; any format will do.
        formats[element.components().saturating_sub(1) as usize]
    }
}

/// Which input elements a function reads, and which uniform spaces it reads at a component that has no value of its own.
pub(crate) fn reads(function: &Function, interface: &Interface) -> (Vec<bool>, Vec<bool>) {
    let mut inputs = vec![false; interface.inputs.len()];
    let mut spaces = vec![false; interface.uniforms.len()];
    let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    for &InstData { op, imm, .. } in insts.map(|&inst| &function.insts[inst]) {
        match imm {
            Imm::Element { element, .. } if op == Op::Input => inputs[element as usize] = true,
            Imm::Row { space, row, component } => {
                let index = space.as_u32() as usize;
                let is_preset = op == Op::UniformLoad
                    && interface.presets.iter().any(|preset| {
                        (preset.space, preset.row) == (space, row) && preset.mask[usize::from(component)] == u32::MAX
                    });
                spaces[index] |= function.spaces[space].table.is_none() && !is_preset;
            }
            _ => {}
        }
    }
    (inputs, spaces)
}

/// Whether a function reads the vertices' numbers.
pub(crate) fn reads_vertex_id(function: &Function) -> bool {
    let mut insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    insts.any(|&inst| function.insts[inst].imm == Imm::SysVal(SysVal::VertexId))
}

/// Which resources a function reads or asks the size of, and which samplers it uses.
pub(crate) fn reads_resources(function: &Function) -> (Vec<bool>, Vec<bool>) {
    let mut resources = vec![false; function.resources.len()];
    let mut samplers = vec![false; function.samplers.len()];
    let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    for &InstData { op, imm, .. } in insts.map(|&inst| &function.insts[inst]) {
        if let Some(access) = Access::new(op, imm) {
            resources[access.texture.as_u32() as usize] = true;
            access.sampler.iter().for_each(|sampler| samplers[sampler.as_u32() as usize] = true);
        } else if let Imm::ResourceByte { resource, .. } | Imm::Resource(resource) = imm {
            resources[resource.as_u32() as usize] = true;
        }
    }
    (resources, samplers)
}

/// Time spent on making a shader runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileTimes {
    /// From bytes to IR.
    pub lower: Duration,
    /// Every pass on the IR.
    pub passes: Duration,
    /// From IR to native code; zero for the interpreter.
    pub native: Duration,
}

impl CompileTimes {
    /// The sum.
    pub fn total(&self) -> Duration {
        self.lower + self.passes + self.native
    }
}

/// A shader ready to run, shared by all who asked for it: `Send` and `Sync`, freed when the cache and the last user let go.
///
/// It is compiled for one layout: a format for each input element, and the output elements to store. A call that binds another
/// layout gets the matching code through the same cache, as long as the [`Engine`](crate::Engine) lives; afterwards it is
/// compiled anew for each run.
pub struct CompiledShader {
    prepared: Arc<Prepared>,
    layout: Layout,
    lanes: Lanes,
    /// `None` for the interpreter.
    native: Option<Native>,
}

/// Native code, and what it takes to make it for another layout.
struct Native {
    code: jit::Code,
    /// The code for vertices for which a guard failed, made when one first does.
    exact: OnceLock<Result<jit::Code, JitError>>,
    time: Duration,
    target: Target,
    home: Weak<Home>,
}

impl CompiledShader {
    /// Begins a call. Nothing is bound yet.
    pub fn call(&self) -> Call<'_> {
        Call::new(self)
    }

    /// Inputs, outputs, uniform spaces, resources and samplers.
    pub fn interface(&self) -> &Interface {
        &self.prepared.interface
    }

    /// Number of the input element with that semantic; upper and lower case are the same.
    pub fn input(&self, semantic: &str, index: u32) -> Option<usize> {
        find(&self.interface().inputs, semantic, index)
    }

    /// Number of the output element with that semantic; upper and lower case are the same.
    pub fn output(&self, semantic: &str, index: u32) -> Option<usize> {
        find(&self.interface().outputs, semantic, index)
    }

    /// Whether the code reads input element `element`. Those it does not read need not be bound.
    pub fn reads_input(&self, element: usize) -> bool {
        self.prepared.reads_input.get(element).copied().unwrap_or(false)
    }

    /// Whether a call must bind the uniform space at `index` of the interface: the code reads some of it that the container
    /// does not fix.
    pub fn needs_uniforms(&self, index: usize) -> bool {
        self.prepared.needs_uniforms.get(index).copied().unwrap_or(false)
    }

    /// Whether a call must bind the resource at `index` of the interface: the code reads it or asks its size.
    pub fn needs_resource(&self, index: usize) -> bool {
        self.prepared.needs_resource.get(index).copied().unwrap_or(false)
    }

    /// Whether a call must bind the sampler at `index` of the interface: the code uses it.
    pub fn needs_sampler(&self, index: usize) -> bool {
        self.prepared.needs_sampler.get(index).copied().unwrap_or(false)
    }

    /// Whether the code sets any component of output element `element` to anything but zero.
    pub fn writes_output(&self, element: usize) -> bool {
        let function = &self.prepared.function;
        let mut insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
        insts.any(|&inst| {
            let InstData { op, args, imm, .. } = &function.insts[inst];
            let sets =
                matches!(imm, Imm::Element { element: set, .. } if *op == Op::Output && *set as usize == element);
            sets && function.constant(args[0]) != Some(0)
        })
    }

    /// The IR after every pass: what native code runs. Where a [guard](Op::GuardOrdered) of it fails, native code of
    /// the program without guards runs instead, as the interpreter always does.
    pub fn function(&self) -> &Function {
        &self.prepared.function
    }

    /// Whether it is a PICA200 program that goes through its words one by one, because it was asked for or because its graph
    /// would have been too large: see [`FlowForm`](crate::FlowForm).
    pub fn is_dispatched(&self) -> bool {
        let has = |kind| self.interface().uniforms.iter().any(|decl| decl.kind == kind);
        has(UniformKind::PicaFloat) && has(UniformKind::Table)
    }

    /// The layout it was compiled for: a format for each input element, the components stored of each output element.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many vertices run in lockstep.
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The native code, unless it was compiled for the interpreter.
    pub fn code(&self) -> Option<&[u8]> {
        Some(self.native.as_ref()?.code.bytes())
    }

    /// What Cranelift was given, as text.
    ///
    /// # Errors
    /// There is no native code, or it could not be made again.
    pub fn clif(&self) -> Result<String, JitError> {
        let native =
            self.native.as_ref().ok_or_else(|| JitError::Target("compiled for the interpreter".to_string()))?;
        jit::clif_text(&self.prepared.function, &self.layout, &native.target, &options(self.lanes))
    }

    /// How long it took to make.
    pub fn times(&self) -> CompileTimes {
        let [lower, passes] = self.prepared.times;
        CompileTimes { lower, passes, native: self.native.as_ref().map_or(Duration::ZERO, |native| native.time) }
    }

    /// The digest in the container's header, for those that have one.
    pub fn digest(&self) -> Option<Digest> {
        self.prepared.digest
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    pub(crate) fn native_code(&self) -> Option<&jit::Code> {
        self.native.as_ref().map(|native| &native.code)
    }

    /// The native code without guards.
    pub(crate) fn exact_code(&self) -> Result<&jit::Code, JitError> {
        let native = self.native.as_ref().expect("a guard failed in native code");
        let make = || jit::compile(self.prepared.exact_function(), &self.layout, &native.target, &options(self.lanes));
        native.exact.get_or_init(make).as_ref().map_err(JitError::clone)
    }

    /// Bytes of native code, those that failing guards may yet ask for included, roughly.
    pub(crate) fn code_bytes(&self) -> u64 {
        let forms = if self.prepared.exact.is_some() { 3 } else { 1 };
        self.code().map_or(0, |code| code.len() as u64 * forms)
    }

    /// For the interpreter.
    pub(crate) fn interpreted(prepared: Arc<Prepared>, layout: Layout, lanes: Lanes) -> CompiledShader {
        CompiledShader { prepared, layout, lanes, native: None }
    }

    /// Makes native code.
    pub(crate) fn compile(
        prepared: Arc<Prepared>,
        layout: Layout,
        lanes: Lanes,
        target: &Target,
        home: Weak<Home>,
    ) -> Result<CompiledShader, JitError> {
        let start = Instant::now();
        let code = jit::compile(&prepared.function, &layout, target, &options(lanes))?;
        let native = Native { code, exact: OnceLock::new(), time: start.elapsed(), target: target.clone(), home };
        Ok(CompiledShader { prepared, layout, lanes, native: Some(native) })
    }

    /// Where native code was made.
    pub(crate) fn home(&self) -> Option<&Weak<Home>> {
        self.native.as_ref().map(|native| &native.home)
    }

    /// The native code for another layout. `None` if this is it, or if there is no native code, for the interpreter takes any.
    pub(crate) fn variant(&self, layout: &Layout) -> Result<Option<Arc<CompiledShader>>, CallError> {
        let Some(native) = self.native.as_ref().filter(|_| *layout != self.layout) else { return Ok(None) };
        let Some(home) = native.home.upgrade() else {
            let prepared = Arc::clone(&self.prepared);
            let variant = CompiledShader::compile(prepared, layout.clone(), self.lanes, &native.target, Weak::new())?;
            return Ok(Some(Arc::new(variant)));
        };
        match Home::native(&home, &self.prepared, layout.clone(), self.lanes) {
            Ok(variant) => Ok(Some(variant)),
            Err(Error::Jit(error)) => Err(error.into()),
            Err(error) => Err(CallError::Invalid(error.to_string())),
        }
    }
}

fn options(lanes: Lanes) -> jit::CompileOptions {
    jit::CompileOptions { groups: lanes.groups() }
}

impl fmt::Debug for CompiledShader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("CompiledShader");
        debug.field("name", &self.prepared.function.name).field("lanes", &self.lanes);
        debug.field("code_bytes", &self.code().map(<[u8]>::len)).finish_non_exhaustive()
    }
}
