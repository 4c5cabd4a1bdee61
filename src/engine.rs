//! Where shaders are compiled: the stages in order, and the cache in front of them.

use crate::cache::{Cache, CacheStats, Key, KeyBuilder, Weight};
use crate::call::unbound_uniforms;
use crate::compiled::CompiledShader;
use crate::container::digest::Digest;
use crate::error::{Error, JitError};
use crate::facts::Facts;
use crate::frontend::pica::FlowForm;
use crate::frontend::{Interface, Lowered};
use crate::jit::{self, Layout, Target};
use crate::native::Native;
use crate::options::{Backend, CompileOptions, Config, Lanes, Vectors, default_format};
use crate::pipeline::{self, PassOptions};
use crate::prepared::{ExactForm, Prepared};
use crate::shader::Shader;
use crate::stage::Stage;
use crate::tiering::{Home, Maker, Outcome, Tier, Workers};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::pass::PassError;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, batch, bounds};
use std::fmt;
use std::sync::{Arc, Once, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Compiles shaders and keeps them: `Send` and `Sync`, one for a whole program.
///
/// ```
/// use shaderjit::{VertexBufferView, CompileOptions, Config, Engine, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
/// let shader = Shader::parse(bytes)?;
/// let engine = Engine::new(Config::default())?;
/// let code = engine.compile(&shader, &CompileOptions::default())?;
/// assert!(std::sync::Arc::ptr_eq(&code, &engine.compile(&shader, &CompileOptions::default())?));
/// # Ok::<(), shaderjit::Error>(())
/// ```
pub struct Engine {
    shop: Arc<Workshop>,
}

/// What an engine consists of. Compiled shaders keep a way back to it.
struct Workshop {
    /// That way.
    me: Weak<Workshop>,
    cache: Cache<Cached>,
    /// The machine, or why there is no native code for it.
    target: Result<Target, JitError>,
    workers: Workers,
    config: Config,
    /// Whether `mad` rounds once.
    fused: bool,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workshop { cache, target, config, fused, .. } = &*self.shop;
        f.debug_struct("Engine")
            .field("native", &target.as_ref().map(drop))
            .field("cache", &cache.stats())
            .field("fuel", &config.fuel)
            .field("compile_time", &config.compile_time)
            .field("fused_mad", fused)
            .field("perf_map", &config.perf_map)
            .finish_non_exhaustive()
    }
}

/// What the cache holds. The kind of a key says which.
#[derive(Clone)]
enum Cached {
    Prepared(Arc<Prepared>),
    Compiled(Arc<CompiledShader>),
}

impl Weight for Cached {
    fn weight(&self) -> u64 {
        match self {
            Cached::Prepared(prepared) => prepared.ir_bytes(),
            Cached::Compiled(compiled) => compiled.code_bytes() + COMPILED_BYTES,
        }
    }
}

/// What a compiled shader occupies beside its code: at least a page of its own, partly used.
const COMPILED_BYTES: u64 = 4096;

impl Engine {
    /// Looks at the machine and makes an empty cache.
    ///
    /// # Errors
    /// [`JitError::Target`] if the configuration asks for what the machine does not have. A machine without any native
    /// code is no error yet: it still has the [interpreter](Backend::Interpreter).
    pub fn new(config: Config) -> Result<Engine, Error> {
        let target = match widest(&config)? {
            Some(vectors) => Target::host().map(|target| target.up_to(vectors.lanes())),
            None => Target::host(),
        };
        let has_fma = target.as_ref().is_ok_and(|target| target.has_fma());
        if config.fused == Some(true) && !has_fma && target.is_ok() {
            return Err(JitError::Target("this machine has no fused multiply-add".to_string()).into());
        }
        if let Ok(target) = &target {
            warm_up(target);
        }
        let fused = config.fused.unwrap_or(has_fma);
        let cache = Cache::new(config.cache_bytes);
        let workers = Workers::default();
        let shop = |me: &Weak<Workshop>| Workshop { me: Weak::clone(me), cache, target, workers, config, fused };
        Ok(Engine { shop: Arc::new_cyclic(shop) })
    }

    /// Compiles a program of a shader, or finds it compiled. Threads that ask for the same at the same time share the
    /// work.
    ///
    /// The code is made for the vertex formats that [`CompileOptions::format`] names, or else for 32-bit words. Binding
    /// others compiles within the first run; [`CompiledShader::prepare`] does that ahead.
    ///
    /// A program that is too large for native code alone is no error: the interpreter runs it, and
    /// [`native_status`](CompiledShader::native_status) says why.
    ///
    /// # Errors
    /// The container or the program is malformed, uses something that is not supported, or is too large for the IR; the
    /// options name inputs or outputs the program does not have.
    pub fn compile(&self, shader: &Shader, options: &CompileOptions) -> Result<Arc<CompiledShader>, Error> {
        let code = self.compile_as(shader, options)?;
        match is_graph(shader, options) && code.is_too_large() {
            true => self.compile_as(shader, &options.clone().flow(FlowForm::Dispatch)),
            false => Ok(code),
        }
    }

    fn compile_as(&self, shader: &Shader, options: &CompileOptions) -> Result<Arc<CompiledShader>, Error> {
        let prepared = self.shop.prepare(shader, options)?;
        let mut layout = options.layout(&prepared.interface)?;
        // Formats of inputs that nobody reads make no difference: calls say the same.
        for (number, element) in prepared.interface.inputs.iter().enumerate() {
            if !prepared.facts.reads_input[number] {
                layout.inputs[number] = default_format(element);
            }
        }
        let lanes = self.shop.lanes(&prepared, options.lanes);
        match options.backend {
            Backend::Jit => Ok(self.shop.compiled(&prepared, &layout, lanes)?),
            Backend::Tiered => {
                let tier = Tier::new(prepared, layout, lanes, self.shop.home());
                self.shop.ask(&tier, &tier.layout);
                Ok(Arc::new(CompiledShader::tiered(tier)))
            }
            Backend::Interpreter => Ok(Arc::new(CompiledShader::interpreted(prepared, layout, lanes))),
        }
    }

    /// Whether native code was made here. What only the interpreter runs belongs to nobody.
    pub(crate) fn has_made(&self, code: &CompiledShader) -> bool {
        code.home().is_some_and(|home| std::ptr::addr_eq(home.as_ptr(), Arc::as_ptr(&self.shop)))
    }

    /// The compiled shaders in the cache whose container carries this digest. People know shaders by it; containers may
    /// carry any digest, and several the same one.
    pub fn find_by_digest(&self, digest: Digest) -> Vec<Arc<CompiledShader>> {
        let compiled = self.shop.cache.values().into_iter().filter_map(|cached| match cached {
            Cached::Compiled(compiled) => Some(compiled),
            Cached::Prepared(_) => None,
        });
        compiled.filter(|compiled| compiled.digest() == Some(digest)).collect()
    }

    /// Counters of the cache.
    pub fn cache_stats(&self) -> CacheStats {
        self.shop.cache.stats()
    }

    /// Empties the cache. Shaders in use stay until their last user drops them.
    pub fn clear_cache(&self) {
        self.shop.cache.clear();
    }

    /// Whether `mad` rounds once; see [`Config::fused_mad`](crate::Config::fused_mad).
    pub fn is_fused(&self) -> bool {
        self.shop.fused
    }
}

impl Drop for Engine {
    /// What was to be compiled on the threads of [tiered](Backend::Tiered) shaders is not, except for what is in hand,
    /// which is waited for: no thread of an engine outlives it.
    fn drop(&mut self) {
        self.shop.workers.close();
    }
}

/// A program that has been through every pass.
struct Passed {
    stage: Stage,
    function: Verified,
    interface: Interface,
    exact: Option<ExactForm>,
    /// For decoding and lowering, and for the passes.
    times: [Duration; 2],
}

impl Workshop {
    /// The stages in front of a back end: decode and lower, then every pass.
    fn prepare(&self, shader: &Shader, options: &CompileOptions) -> Result<Arc<Prepared>, Error> {
        let mut key = KeyBuilder::new("prepared");
        key.bytes(&shader.content().0);
        options.add_to_key(&mut key);
        self.config.add_to_key(self.fused, &mut key);
        let key = key.finish();
        let make = || {
            let mut options = options.clone();
            let passed = match self.run_passes(shader, &options) {
                Err(Error::Pass(PassError::Limit { .. })) if is_graph(shader, &options) => {
                    options = options.flow(FlowForm::Dispatch);
                    self.run_passes(shader, &options)?
                }
                outcome => outcome?,
            };
            let Passed { stage, function, interface, exact, times } = passed;
            debug_assert!(shader.entry(options.entry).is_ok_and(|entry| entry.stage == stage), "{stage}");
            let facts = Facts::of(&function, &interface);
            let static_rows = bounds::static_rows(&function);
            let unbound = unbound_uniforms(&interface, &static_rows);
            Ok(Cached::Prepared(Arc::new(Prepared {
                key,
                stage,
                options,
                shader: shader.clone(),
                variables: OnceLock::new(),
                facts,
                static_rows,
                unbound,
                lanes: OnceLock::new(),
                interface,
                function,
                exact,
                bytecode: OnceLock::new(),
                traced: OnceLock::new(),
                limits: self.config.fuel,
                fused: self.fused,
                #[cfg(feature = "fuzzing")]
                canonical_nans: self.config.canonical_nans,
                times,
            })))
        };
        match self.cache.get_or_compile(key, make)? {
            Cached::Prepared(prepared) => Ok(prepared),
            Cached::Compiled(_) => unreachable!("the key is one of a prepared program"),
        }
    }

    /// Decodes, lowers, and runs every pass.
    fn run_passes(&self, shader: &Shader, options: &CompileOptions) -> Result<Passed, Error> {
        let start = Instant::now();
        #[cfg_attr(not(feature = "fuzzing"), expect(unused_mut, reason = "only fuzzing changes it"))]
        let Lowered { stage, mut function, interface, .. } = shader.lower_for(options)?;
        let lower_time = start.elapsed();
        #[cfg(feature = "fuzzing")]
        if self.config.canonical_nans {
            shaderjit_ir::arbitrary::canonicalize_nans(&mut function);
        }
        let products = products(&function);
        let exact = (products > 0).then(|| ExactForm::of(function.clone()));
        // A time that no clock reaches is none.
        let end = self.config.compile_time.and_then(|time| start.checked_add(time));
        let function = pipeline::run(function, &PassOptions { fused: self.fused, guards: true }, end)?;
        let value = batch::size(&function) + EXACT_PRODUCT * products;
        if is_graph(shader, options) && value > GRAPH_SIZE {
            return Err(PassError::Limit { what: "size of the control-flow graph", value, limit: GRAPH_SIZE }.into());
        }
        Ok(Passed { stage, function, interface, exact, times: [lower_time, start.elapsed() - lower_time] })
    }

    /// The last stage: a shader with native code for one layout, or, if that is over a limit, with what says so.
    fn compiled(
        &self,
        prepared: &Arc<Prepared>,
        layout: &Layout,
        lanes: Lanes,
    ) -> Result<Arc<CompiledShader>, JitError> {
        let target = self.target.as_ref().map_err(JitError::clone)?;
        let make = || {
            let (prepared, layout) = (Arc::clone(prepared), layout.clone());
            let compiled = CompiledShader::compile(prepared, layout, lanes, target, self.config.perf_map, self.home())?;
            Ok(Cached::Compiled(Arc::new(compiled)))
        };
        match self.cache.get_or_compile(native_key(prepared, layout, lanes, target), make) {
            Ok(Cached::Compiled(compiled)) => Ok(compiled),
            Err(Error::Jit(error)) => Err(error),
            Ok(Cached::Prepared(_)) | Err(_) => unreachable!("the key is one of native code"),
        }
    }

    /// As many lanes as were asked for or suit the program, if this machine has so many: two vectors a value at most.
    fn lanes(&self, prepared: &Prepared, asked: Option<Lanes>) -> Lanes {
        let of_vectors = self.target.as_ref().ok().and_then(|target| target.lanes().max()).unwrap_or(4);
        let wanted = asked.unwrap_or_else(|| prepared.lanes(of_vectors));
        let most = 2 * u32::from(of_vectors);
        Lanes::ALL.into_iter().rfind(|&lanes| lanes <= wanted && lanes.count() <= most).unwrap_or(Lanes::Four)
    }

    fn home(&self) -> Home {
        self.me.clone()
    }
}

impl Maker for Workshop {
    fn native(&self, prepared: &Arc<Prepared>, layout: &Layout, lanes: Lanes) -> Outcome {
        self.compiled(prepared, layout, lanes)?.outcome()
    }

    fn ask(&self, tier: &Arc<Tier>, layout: &Layout) -> Option<Arc<Native>> {
        let target = match &self.target {
            Ok(target) => target,
            Err(error) => {
                tier.receive(layout, Err(error.clone()));
                return None;
            }
        };
        let key = native_key(&tier.prepared, layout, tier.lanes, target);
        if let Some(Ok(Cached::Compiled(code))) = self.cache.get(&key) {
            let outcome = code.outcome();
            if outcome.as_ref().map_or(true, |native| native.is_complete()) {
                tier.receive(layout, outcome.clone());
                return outcome.ok();
            }
        }
        self.workers.ask(&self.home(), key, tier, layout);
        None
    }
}

/// The widest vectors that were asked for, if any were.
fn widest(config: &Config) -> Result<Option<Vectors>, JitError> {
    let named = match std::env::var(BACKEND) {
        Ok(name) => Some(
            Vectors::from_name(&name)
                .ok_or_else(|| JitError::Target(format!("{BACKEND}={name} is not cranelift, avx2 or avx512")))?,
        ),
        Err(_) => None,
    };
    let Some(widest) = config.vectors.or(named) else { return Ok(None) };
    let of_this_machine = Vectors::of_this_machine();
    if !of_this_machine.is_empty() && !of_this_machine.contains(&widest) {
        return Err(JitError::Target(format!("this machine has no {}", widest.name())));
    }
    Ok(Some(widest))
}

/// The environment variable that names the widest vectors.
const BACKEND: &str = "SHADERJIT_BACKEND";

/// What identifies native code of a program.
fn native_key(prepared: &Prepared, layout: &Layout, lanes: Lanes, target: &Target) -> Key {
    let Layout { inputs, outputs } = layout;
    let mut key = KeyBuilder::new("native");
    key.bytes(&prepared.key.0).bytes(target.name().as_bytes()).number(lanes.count().into());
    inputs.iter().for_each(|format| _ = key.bytes(format.name().as_bytes()));
    key.bytes(outputs).finish()
}

/// Number of products that obey the rule of PICA200.
fn products(function: &Function) -> u64 {
    function.insts.values().filter(|inst| inst.op == Op::Fmulz).count() as u64
}

/// The most instructions, edges, block parameters and edge arguments of a PICA200 program as a graph, without guards.
/// What is larger would take native code tenths of a second to make, and gives way to the form that is of one size for
/// every program.
const GRAPH_SIZE: u64 = 1 << 14;

/// Instructions that a product takes more without guards.
const EXACT_PRODUCT: u64 = 6;

/// Whether a program is lowered to a form that another can stand in for.
fn is_graph(shader: &Shader, options: &CompileOptions) -> bool {
    shader.format().is_pica() && options.pica.flow == FlowForm::Graph
}

/// The first compilation in a process takes several times as long as the next ones; better here than at the first
/// shader.
fn warm_up(target: &Target) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut builder = FunctionBuilder::new("warm up", 1, 1);
        let x = builder.input(Type::F32, 0, 0);
        let sum = builder.fadd([x, x]);
        builder.output(0, 0, sum);
        builder.ret();
        let options = PassOptions { fused: target.has_fma(), guards: true };
        let layout = Layout { inputs: vec![VertexFormat::F32x1].into(), outputs: vec![1].into() };
        if let Err(error) = pipeline::run(builder.finish(), &options, None)
            .map_err(JitError::from)
            .and_then(|function| jit::compile(&function, &layout, target, &jit::CodegenOptions::of_128_bits(1)))
        {
            log::warn!("no native code: {error}");
        }
    });
}
