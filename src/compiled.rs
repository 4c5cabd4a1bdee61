//! A compiled shader: the lockstep IR, what it exchanges with its caller, and native code for one layout.

use crate::cache::Key;
use crate::call::{Call, find};
use crate::container::digest::Digest;
use crate::engine::Home;
use crate::error::{Error, JitError};
use crate::frontend::{ComponentType, Element, Interface, UniformKind};
use crate::jit::{self, Layout, Target};
use crate::native::{Made, Native, NativeStatus};
use crate::options::{FuelLimits, Lanes, unknown};
use crate::perf_map;
use crate::pipeline::{self, PassOptions};
use crate::shader::Shader;
use crate::tiering::Tier;
use crate::variables::Variables;
use crate::vertex_format::VertexFormat;
use shaderjit_ir::Function;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::texture::Access;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Op, SysVal};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// A program that has been through every pass: what all layouts of it share.
pub(crate) struct Prepared {
    /// Identifies the program and the options of the passes.
    pub key: Key,
    /// Number of the program in its container.
    pub entry: usize,
    /// Where it came from, for the names of its variables.
    pub shader: Shader,
    /// Those, once somebody asks.
    pub variables: OnceLock<Variables>,
    pub interface: Interface,
    /// What native code runs.
    pub function: Verified,
    /// What runs where a guard of it fails, if it has any.
    pub exact: Option<ExactForm>,
    /// Which input elements the code reads; one entry an element.
    pub reads_input: Vec<bool>,
    /// Which uniform spaces the caller must bind; one entry a space.
    pub needs_uniforms: Vec<bool>,
    /// Bytes of each uniform space that the code may read; one entry a space.
    pub reads_bytes: Vec<usize>,
    /// How many rows native code reads without a check; one entry a space.
    pub static_rows: Vec<u32>,
    /// How many lanes suit it.
    pub lanes: Lanes,
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
    /// What loops may take.
    pub limits: FuelLimits,
    /// Whether `fma` is what `fmad` became; folding asks.
    pub fused: bool,
    /// Time for decoding and lowering, and for the passes.
    pub times: [Duration; 2],
}

/// A program's form without guards, made when it is first needed.
pub(crate) struct ExactForm {
    /// As the front end made it.
    source: Function,
    made: OnceLock<Verified>,
}

impl ExactForm {
    pub fn of(source: Function) -> ExactForm {
        ExactForm { source, made: OnceLock::new() }
    }
}

impl Prepared {
    /// The program without guards: what the interpreter runs.
    pub fn exact_function(&self) -> &Verified {
        let Some(ExactForm { source, made }) = &self.exact else { return &self.function };
        made.get_or_init(|| {
            pipeline::run(source.clone(), &PassOptions { fused: self.fused, guards: false }, None)
                .expect("the passes have accepted the program with guards, and refuse nothing after them")
        })
    }

    /// The variables that the container names.
    pub fn variables(&self) -> &Variables {
        self.variables.get_or_init(|| Variables::read(&self.shader, self.entry, &self.interface))
    }

    /// Bytes the IR occupies, roughly.
    pub fn ir_bytes(&self) -> u64 {
        let Function { insts, values, blocks, spaces, .. } = &*self.function;
        let forms = if self.exact.is_some() { 3 } else { 1 };
        let tables: usize =
            spaces.values().filter_map(|space| space.table.as_ref()).map(|table| size_of_val(&table[..])).sum();
        let blocks: usize = blocks.values().map(|block| 256 + 4 * block.insts.len()).sum();
        (size_of::<Prepared>() + forms * (insts.len() * size_of::<InstData>() + values.len() * 16 + blocks + tables))
            as u64
    }

    /// The format an input element has where the caller asks for no other: as many 32-bit words as it has components.
    pub fn default_format(element: &Element) -> VertexFormat {
        use VertexFormat::*;
        let formats = match element.ty {
            ComponentType::F32 => [F32x1, F32x2, F32x3, F32x4],
            ComponentType::U32 => [U32x1, U32x2, U32x3, U32x4],
            ComponentType::I32 => [I32x1, I32x2, I32x3, I32x4],
        };
        // An element without components has nothing to read; any format will do.
        formats[element.components().saturating_sub(1) as usize]
    }
}

/// Bytes of each uniform space that a function may read: up to the last component whose row is known, and all that is
/// declared where an index is not. What the container fixes is not the caller's to bind.
pub(crate) fn reads_bytes(function: &Function, interface: &Interface) -> Vec<usize> {
    let mut bytes = vec![0; interface.uniforms.len()];
    let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    for &InstData { op, imm, .. } in insts.map(|&inst| &function.insts[inst]) {
        let Imm::Row { space, row, component } = imm else { continue };
        let index = space.as_u32() as usize;
        let decl = &interface.uniforms[index];
        if !matches!(decl.kind, UniformKind::ConstantBuffer { .. }) {
            continue;
        }
        let end = match op {
            Op::UniformLoad => 16 * row as usize + 4 * usize::from(component) + 4,
            _ => 16 * decl.rows as usize,
        };
        bytes[index] = bytes[index].max(end);
    }
    bytes
}

/// Which input elements a function reads, and which uniform spaces it reads at a component that has no value of its
/// own.
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
#[non_exhaustive]
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

/// A shader ready to run: `Send` and `Sync`, shared by its users, and freed when the cache and the last of them drop
/// it.
///
/// It is compiled for one layout: a format for each input element, and the output elements to store. A call that binds
/// another layout gets the matching code through the same cache, as long as the [`Engine`](crate::Engine) lives;
/// afterwards it is compiled anew for each run, or, if it is [tiered](crate::Backend::Tiered), interpreted.
///
/// The interpreter runs it where no native code can be made for its size; [`native_status`](Self::native_status) says
/// so.
pub struct CompiledShader {
    prepared: Arc<Prepared>,
    pub(crate) layout: Layout,
    lanes: Lanes,
    answer: Answer,
}

/// What runs a shader.
enum Answer {
    /// The interpreter, as asked.
    Interpreter,
    Jit(Box<Jit>),
    Tiered(Arc<Tier>),
}

/// Native code or the limit that it is over, and what it takes to make it for another layout.
struct Jit {
    native: Result<Native, JitError>,
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

    /// Whether a call must bind the uniform space at `index` of the interface: the code reads some of it that the
    /// container does not fix.
    pub fn needs_uniforms(&self, index: usize) -> bool {
        self.prepared.needs_uniforms.get(index).copied().unwrap_or(false)
    }

    /// Bytes that the code may read of the constant buffer that is the uniform space at `index` of the interface: up to
    /// the last component that it reads, or all that it declares if an index is known at run time alone. 0 for other
    /// spaces.
    pub fn reads_bytes(&self, index: usize) -> usize {
        self.prepared.reads_bytes.get(index).copied().unwrap_or(0)
    }

    /// Makes the code that runs with these vertex formats need, by semantic and index; inputs that are not named have
    /// the formats that the shader was compiled for. A first run compiles the same, which takes about a millisecond:
    /// call this where a delay does not matter. A [tiered](crate::Backend::Tiered) shader is told, and does not wait.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, Shader, VertexFormat};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let engine = Engine::new(Config::default())?;
    /// let code = engine.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// code.prepare(&[("COLOR", 0, VertexFormat::Unorm8x4), ("NORMAL", 0, VertexFormat::F16x4)])?;
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shader has no such input, or the code cannot be made.
    pub fn prepare(&self, formats: &[(&str, u32, VertexFormat)]) -> Result<(), Error> {
        let mut layout = self.layout.clone();
        for &(semantic, index, format) in formats {
            let inputs = self.interface().signature_inputs();
            let element = self.input(semantic, index).ok_or_else(|| unknown("input", (semantic, index), inputs))?;
            if self.reads_input(element) {
                layout.inputs[element] = format;
            }
        }
        self.native_for(&layout)?;
        Ok(())
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

    /// Whether it is a PICA200 program that goes through its words one by one, because it was asked for or because its
    /// graph would have been too large: see [`FlowForm`](crate::FlowForm).
    pub fn is_dispatched(&self) -> bool {
        let has = |kind| self.interface().uniforms.iter().any(|decl| decl.kind == kind);
        has(UniformKind::PicaFloat) && has(UniformKind::Table)
    }

    /// How many vertices run in lockstep.
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// What runs it now. That of a tiered shader may change between any two calls of this, once.
    pub fn native_status(&self) -> NativeStatus {
        match &self.answer {
            Answer::Interpreter => NativeStatus::NotRequested,
            Answer::Jit(jit) => match &jit.native {
                Ok(_) => NativeStatus::Ready,
                Err(reason) => NativeStatus::Refused(reason.clone()),
            },
            Answer::Tiered(tier) => match tier.own() {
                None => NativeStatus::Pending,
                Some(Ok(_)) => NativeStatus::Ready,
                Some(Err(reason)) => NativeStatus::Refused(reason.clone()),
            },
        }
    }

    /// Whether native code would run it now.
    pub fn is_native(&self) -> bool {
        self.native().is_some()
    }

    /// Waits until its status is no longer [`Pending`](NativeStatus::Pending), and gives it. For tests and tools: the
    /// point of [tiering](crate::Backend::Tiered) is not to wait.
    pub fn wait_native(&self) -> NativeStatus {
        if let Answer::Tiered(tier) = &self.answer {
            tier.wait();
        }
        self.native_status()
    }

    /// The native code, if there is any now.
    pub fn machine_code(&self) -> Option<&[u8]> {
        Some(self.native_code()?.bytes())
    }

    /// Bytes of the caller's stack that a run of native code takes at most, what it calls included but for the caller's
    /// own textures; 0 if there is no native code. Little for most shaders, up to half a MiB for the largest: whoever
    /// runs shaders on threads with small stacks asks. The interpreter takes some KiB, whatever the program.
    pub fn stack_bytes(&self) -> usize {
        let Some(native) = self.native() else { return 0 };
        // Until the exact form is there, nobody knows what it takes.
        let exact = match native.exact.get() {
            Some(exact) => exact.as_ref().map_or(0, jit::Code::stack_bytes),
            None if self.prepared.exact.is_some() => jit::MAX_STACK_BYTES,
            None => 0,
        };
        native.code.stack_bytes().max(exact)
    }

    /// What Cranelift was given, as text.
    ///
    /// # Errors
    /// There is no native code, or it could not be made again.
    pub fn clif(&self) -> Result<String, JitError> {
        self.made_again(jit::clif_text)
    }

    /// What the back end tells when it compiles the shader once more.
    pub(crate) fn made_again<T>(
        &self,
        compile: impl FnOnce(&Verified, &Layout, &Target, &jit::CodegenOptions) -> Result<T, JitError>,
    ) -> Result<T, JitError> {
        let jit = match self.native_status() {
            NativeStatus::Refused(reason) => return Err(reason),
            _ => self.jit().ok_or_else(|| JitError::Target("the interpreter runs it".to_string()))?,
        };
        compile(&self.prepared.function, &self.layout, &jit.target, &options(self.lanes))
    }

    /// How long it took to make.
    pub fn times(&self) -> CompileTimes {
        let [lower, passes] = self.prepared.times;
        CompileTimes { lower, passes, native: self.native().map_or(Duration::ZERO, |native| native.time) }
    }

    /// The digest in the container's header, for those that have one.
    pub fn digest(&self) -> Option<Digest> {
        self.prepared.digest
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// Native code and what belongs to it, its own or what a worker has made for it.
    fn jit(&self) -> Option<&Jit> {
        match &self.answer {
            Answer::Interpreter => None,
            Answer::Jit(jit) => Some(jit),
            Answer::Tiered(tier) => tier.own()?.as_ref().ok()?.jit(),
        }
    }

    fn native(&self) -> Option<&Native> {
        self.jit()?.native.as_ref().ok()
    }

    pub(crate) fn native_code(&self) -> Option<&jit::Code> {
        self.native().map(|native| &native.code)
    }

    /// Why there will be no native code, if so.
    pub(crate) fn refusal(&self) -> Option<JitError> {
        match self.native_status() {
            NativeStatus::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether native code would be over a limit.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self.refusal(), Some(JitError::Limit { .. }))
    }

    /// The native code without guards.
    pub(crate) fn exact_code(&self) -> Result<&jit::Code, JitError> {
        let Some(Jit { native: Ok(native), target, home }) = self.jit() else {
            unreachable!("a guard failed in native code")
        };
        let make = || {
            let code = jit::compile(self.prepared.exact_function(), &self.layout, target, &options(self.lanes))?;
            if let Some(home) = home.upgrade() {
                self.tell(&home, &code, ":exact");
            }
            Ok(code)
        };
        native.exact.get_or_init(make).as_ref().map_err(JitError::clone)
    }

    /// Whether no run will have to wait for code: there is native code, and an exact form of it if one can be needed.
    pub(crate) fn is_complete(&self) -> bool {
        self.native().is_some_and(|native| self.prepared.exact.is_none() || native.exact.get().is_some())
    }

    /// The same, made so.
    pub(crate) fn complete(&self) {
        if !self.is_complete()
            && let Err(error) = self.exact_code()
        {
            // The interpreter does what it would be needed for.
            log::debug!("no exact form of {self:?}: {error}");
        }
    }

    /// Bytes of native code, those that failing guards may yet ask for included, roughly.
    pub(crate) fn code_bytes(&self) -> u64 {
        let forms = if self.prepared.exact.is_some() { 3 } else { 1 };
        self.machine_code().map_or(0, |code| code.len() as u64 * forms)
    }

    /// For the interpreter.
    pub(crate) fn interpreted(prepared: Arc<Prepared>, layout: Layout, lanes: Lanes) -> CompiledShader {
        CompiledShader { prepared, layout, lanes, answer: Answer::Interpreter }
    }

    /// For the interpreter until native code is there.
    pub(crate) fn tiered(tier: Arc<Tier>) -> CompiledShader {
        let Tier { prepared, layout, lanes, .. } = &*tier;
        let (prepared, layout, lanes) = (Arc::clone(prepared), layout.clone(), *lanes);
        CompiledShader { prepared, layout, lanes, answer: Answer::Tiered(tier) }
    }

    /// Makes native code. If it is over a limit, the interpreter runs the shader.
    pub(crate) fn compile(
        prepared: Arc<Prepared>,
        layout: Layout,
        lanes: Lanes,
        target: &Target,
        home: Weak<Home>,
    ) -> Result<CompiledShader, JitError> {
        log::debug!("making native code of {}", prepared.function.name);
        let start = Instant::now();
        let native = match jit::compile(&prepared.function, &layout, target, &options(lanes)) {
            Ok(code) => Ok(Native { code, exact: OnceLock::new(), time: start.elapsed() }),
            Err(reason @ JitError::Limit { .. }) => {
                log::warn!("{} is interpreted: {reason}", prepared.function.name);
                Err(reason)
            }
            Err(error) => return Err(error),
        };
        let jit = Jit { native, target: target.clone(), home };
        Ok(CompiledShader { prepared, layout, lanes, answer: Answer::Jit(Box::new(jit)) })
    }

    /// Where native code is made, if anywhere.
    pub(crate) fn home(&self) -> Option<&Weak<Home>> {
        match &self.answer {
            Answer::Interpreter => None,
            Answer::Jit(jit) => Some(&jit.home),
            Answer::Tiered(tier) => Some(&tier.home),
        }
    }

    /// The native code for a layout, which is made if it is not there, but not for a tiered shader. `None` if the
    /// interpreter is to run it, which takes any layout.
    pub(crate) fn native_for(&self, layout: &Layout) -> Result<Option<Made<'_>>, JitError> {
        let jit = match &self.answer {
            Answer::Interpreter => return Ok(None),
            Answer::Tiered(tier) => return Ok(tier.native_for(layout).map(Made::Elsewhere)),
            Answer::Jit(jit) => jit,
        };
        let made = if *layout == self.layout {
            Made::Here(self)
        } else {
            let prepared = Arc::clone(&self.prepared);
            Made::Elsewhere(match jit.home.upgrade() {
                Some(home) => Home::native(&home, &prepared, layout, self.lanes)?,
                None => {
                    let variant =
                        CompiledShader::compile(prepared, layout.clone(), self.lanes, &jit.target, Weak::new());
                    Arc::new(variant?)
                }
            })
        };
        Ok(Some(made).filter(|made| made.is_native()))
    }

    /// Makes native code known to profilers, if the engine is asked to.
    pub(crate) fn tell(&self, home: &Home, code: &jit::Code, form: &str) {
        if home.writes_perf_map() {
            let Prepared { function, entry, key, digest, .. } = &*self.prepared;
            let id = digest.map_or(*key.0.first_chunk().expect("it has 32 bytes"), |digest| digest.0);
            let lanes = self.lanes.count();
            perf_map::append(code.bytes(), &format!("{}-{}:{entry}:{lanes}{form}", function.name, Digest(id)));
        }
    }
}

fn options(lanes: Lanes) -> jit::CodegenOptions {
    jit::CodegenOptions { groups: lanes.groups() }
}

impl fmt::Debug for CompiledShader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("CompiledShader");
        debug.field("name", &self.prepared.function.name).field("lanes", &self.lanes);
        debug.field("code_bytes", &self.machine_code().map(<[u8]>::len)).finish_non_exhaustive()
    }
}
