//! A compiled shader: the program, what it exchanges with its caller, and what runs it.

use crate::container::digest::Digest;
use crate::error::{Error, JitError};
use crate::frontend::{Interface, UniformKind, find};
use crate::jit::{self, Code, Layout, Target};
use crate::native::{Made, Native, NativeStatus};
use crate::options::{Lanes, unknown};
use crate::prepared::Prepared;
use crate::tiering::{Home, Outcome, Tier};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::verify::Verified;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    native: Outcome,
    target: Target,
    home: Home,
}

impl CompiledShader {
    /// Inputs, outputs, uniform spaces, resources and samplers.
    pub fn interface(&self) -> &Interface {
        &self.prepared.interface
    }

    /// Number of the input element with that semantic; upper and lower case are the same.
    pub fn input(&self, semantic: &str, index: u32) -> Option<usize> {
        find(self.interface().signature_inputs(), semantic, index)
    }

    /// Number of the output element with that semantic; upper and lower case are the same.
    pub fn output(&self, semantic: &str, index: u32) -> Option<usize> {
        find(&self.interface().outputs, semantic, index)
    }

    /// Whether the code reads input element `element`. Those it does not read need not be bound.
    pub fn reads_input(&self, element: usize) -> bool {
        self.prepared.facts.reads_input.get(element).copied().unwrap_or(false)
    }

    /// Whether a call must bind the uniform space at `index` of the interface: the code reads some of it that the
    /// container does not fix.
    pub fn needs_uniforms(&self, index: usize) -> bool {
        self.prepared.facts.needs_uniforms.get(index).copied().unwrap_or(false)
    }

    /// Bytes that the code may read of the constant buffer that is the uniform space at `index` of the interface: up to
    /// the last component that it reads, or all that it declares if an index is known at run time alone. 0 for other
    /// spaces.
    pub fn reads_bytes(&self, index: usize) -> usize {
        self.prepared.facts.reads_bytes.get(index).copied().unwrap_or(0)
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
        self.prepared.facts.needs_resource.get(index).copied().unwrap_or(false)
    }

    /// Whether a call must bind the sampler at `index` of the interface: the code uses it.
    pub fn needs_sampler(&self, index: usize) -> bool {
        self.prepared.facts.needs_sampler.get(index).copied().unwrap_or(false)
    }

    /// Whether the code sets any component of output element `element` to anything but zero.
    pub fn writes_output(&self, element: usize) -> bool {
        self.prepared.facts.writes_output.get(element).copied().unwrap_or(false)
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
        self.native().map_or(0, |native| native.stack_bytes())
    }

    /// What Cranelift was given, as text.
    ///
    /// # Errors
    /// There is no native code, Cranelift did not make it ([`Vectors`](crate::Vectors)), or it could not be made again.
    pub fn clif(&self) -> Result<String, JitError> {
        self.made_again(jit::clif_text)
    }

    /// What the back end tells when it compiles the shader once more.
    pub(crate) fn made_again<T>(
        &self,
        compile: impl FnOnce(&Verified, &Layout, &Target, &jit::CodegenOptions) -> Result<T, JitError>,
    ) -> Result<T, JitError> {
        let nothing = || self.refusal().unwrap_or_else(|| JitError::Target("the interpreter runs it".to_string()));
        self.native().ok_or_else(nothing)?.made_again(compile)
    }

    /// How long it took to make.
    pub fn times(&self) -> CompileTimes {
        let [lower, passes] = self.prepared.times;
        CompileTimes { lower, passes, native: self.native().map_or(Duration::ZERO, |native| native.time) }
    }

    /// The digest in the container's header, for those that have one.
    pub fn digest(&self) -> Option<Digest> {
        self.prepared.shader.stored_digest()
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// Native code for its own layout, if there is any now.
    pub(crate) fn native(&self) -> Option<&Arc<Native>> {
        match &self.answer {
            Answer::Interpreter => None,
            Answer::Jit(jit) => jit.native.as_ref().ok(),
            Answer::Tiered(tier) => tier.own()?.as_ref().ok(),
        }
    }

    pub(crate) fn native_code(&self) -> Option<&Code> {
        self.native().map(|native| native.code())
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

    /// Bytes of native code, those that failing guards may yet ask for included, roughly.
    pub(crate) fn code_bytes(&self) -> u64 {
        self.native().map_or(0, |native| native.bytes())
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

    /// For native code, which is made. If it is over a limit, the interpreter runs the shader.
    pub(crate) fn compile(
        prepared: Arc<Prepared>,
        layout: Layout,
        lanes: Lanes,
        target: &Target,
        perf_map: bool,
        home: Home,
    ) -> Result<CompiledShader, JitError> {
        let native = match Native::make(Arc::clone(&prepared), layout.clone(), lanes, target.clone(), perf_map) {
            Ok(native) => Ok(Arc::new(native)),
            Err(reason @ JitError::Limit { .. }) => Err(reason),
            Err(error) => return Err(error),
        };
        let jit = Jit { native, target: target.clone(), home };
        Ok(CompiledShader { prepared, layout, lanes, answer: Answer::Jit(Box::new(jit)) })
    }

    /// The native code that was asked for, or the limit that it is over.
    pub(crate) fn outcome(&self) -> Outcome {
        match &self.answer {
            Answer::Jit(jit) => jit.native.clone(),
            Answer::Interpreter | Answer::Tiered(_) => unreachable!("what is made for a layout is made at once"),
        }
    }

    /// Where native code is made, if anywhere.
    pub(crate) fn home(&self) -> Option<&Home> {
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
        if *layout == self.layout {
            return Ok(self.native().map(|native| Made::Here(native)));
        }
        let made = match jit.home.upgrade() {
            Some(home) => home.native(&self.prepared, layout, self.lanes),
            None => {
                let (prepared, target) = (Arc::clone(&self.prepared), jit.target.clone());
                Native::make(prepared, layout.clone(), self.lanes, target, false).map(Arc::new)
            }
        };
        match made {
            Ok(native) => Ok(Some(Made::Elsewhere(native))),
            Err(JitError::Limit { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for CompiledShader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("CompiledShader");
        debug.field("name", &self.prepared.function.name).field("lanes", &self.lanes);
        debug.field("code_bytes", &self.machine_code().map(<[u8]>::len)).finish_non_exhaustive()
    }
}
