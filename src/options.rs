//! What callers may choose: once for an engine, and for each compilation.

use crate::cache::KeyBuilder;
use crate::error::CallError;
use crate::facts::Flags;
use crate::frontend::sm4::ClassInstance;
use crate::frontend::{ComponentType, Element, Interface, find, label, pica, sm4, spirv};
use crate::jit::Layout;
use crate::pica_uniforms::PicaUniforms;
use crate::vertex_format::VertexFormat;
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// What the loops of a call may take, in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FuelLimits {
    /// Those of each wave.
    pub wave: u32,
    /// Those of all waves together.
    pub call: u64,
}

/// What an [`Engine`](crate::Engine) is made with.
///
/// ```
/// use shaderjit::{Config, Engine};
///
/// let engine = Engine::new(Config::default().cache_bytes(16 << 20).fuel(100_000))?;
/// assert_eq!(engine.cache_stats().budget, 16 << 20);
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) cache_bytes: u64,
    pub(crate) fuel: FuelLimits,
    pub(crate) compile_time: Option<Duration>,
    pub(crate) fused: Option<bool>,
    pub(crate) vectors: Option<Vectors>,
    pub(crate) perf_map: bool,
    /// Gives every NaN that arithmetic makes the same bits, so that engines also agree on programs that look at them.
    #[cfg(feature = "fuzzing")]
    pub(crate) canonical_nans: bool,
}

impl Default for Config {
    /// 64 MiB of code and IR; 2^26 instructions in loops for a wave, 2^40 for a call; `mad` as this machine likes it.
    fn default() -> Config {
        Config {
            cache_bytes: 64 << 20,
            fuel: FuelLimits { wave: 1 << 26, call: 1 << 40 },
            compile_time: None,
            fused: None,
            vectors: None,
            perf_map: false,
            #[cfg(feature = "fuzzing")]
            canonical_nans: false,
        }
    }
}

impl Config {
    /// Bytes of code and IR that the cache may hold; shaders that are in use elsewhere do not count. Default: 64 MiB.
    pub fn cache_bytes(mut self, bytes: u64) -> Config {
        self.cache_bytes = bytes;
        self
    }

    /// How many instructions each *wave*, the vertices that run together, may execute in loops before the call ends
    /// with [`OutOfFuel`](CallError::OutOfFuel). Each round of a loop counts the IR instructions of its body, on every
    /// engine alike; transcendental functions, doubles and textures count as several, up to 64. Default: 2^26, about a
    /// tenth of a second of native code or a second of the interpreter.
    ///
    /// A host that runs shaders of strangers should set both this and a [deadline](crate::Call::deadline) for its
    /// calls: fuel bounds the same program in the same way on every machine, a deadline bounds the time. Results are
    /// the same on all engines, running out of fuel included; how many vertices are in a wave decides, so with more
    /// [lanes](CompileOptions::lanes) a program whose lanes take different ways may run out of it sooner.
    ///
    /// The waves of a thread group pay together: a group runs out of fuel if they take more than this times their
    /// number, however it is divided among them.
    pub fn fuel(mut self, wave: u32) -> Config {
        self.fuel.wave = wave;
        self
    }

    /// How many such instructions all waves of a call may execute together before it ends with
    /// [`OutOfCallFuel`](CallError::OutOfCallFuel). Default: 2^40, about a quarter of an hour of native code: enough
    /// for any work, and an end for every call.
    pub fn call_fuel(mut self, call: u64) -> Config {
        self.fuel.call = call;
        self
    }

    /// How long decoding, lowering and the passes may take before a compilation ends with
    /// [`OutOfTime`](shaderjit_ir::pass::PassError::OutOfTime), which the cache does not remember. The clock is
    /// read between passes, so the end may be a little late. Making native code comes afterwards and is bounded by the
    /// size of the function. Default: none; limits on sizes bound all of it to about half a second for a file of
    /// 300 KB.
    pub fn compile_time(mut self, time: Duration) -> Config {
        self.compile_time = Some(time);
        self
    }

    /// Whether Direct3D's `mad` and `dp` round once (`true`) or twice (`false`) where the program leaves it open.
    /// `false` gives the same results on every machine. Default: once, if the machine has such an instruction.
    ///
    /// One rounding on a machine without the instruction is an error of [`Engine::new`](crate::Engine::new).
    pub fn fused_mad(mut self, fused: bool) -> Config {
        self.fused = Some(fused);
        self
    }

    /// The widest vectors of native code. Default: what the environment variable `SHADERJIT_BACKEND` names
    /// ([`Vectors::name`]), else the widest of this machine.
    ///
    /// Vectors that this machine does not have are an error of [`Engine::new`](crate::Engine::new), and so is a
    /// variable that names none.
    pub fn vectors(mut self, widest: Vectors) -> Config {
        self.vectors = Some(widest);
        self
    }

    /// Whether native code is named to Linux's `perf`: a line in `/tmp/perf-<process>.map` for every piece of code,
    /// `shaderjit:<program>-<digest>:<entry>:<lanes>`. An existing file of that name stays, and then there is no map.
    /// Freed code keeps its line; where a later piece lies at the same place, the later line counts. Default: `false`.
    /// Other systems ignore it.
    pub fn perf_map(mut self, write: bool) -> Config {
        self.perf_map = write;
        self
    }
}

/// What runs a shader. All give the same bits, NaN payloads apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Native code, which [`Engine::compile`](crate::Engine::compile) makes. The interpreter if the program is too
    /// large for that: see [`CompiledShader::native_status`](crate::CompiledShader::native_status).
    #[default]
    Jit,
    /// The interpreter: runs on every machine, compiles nothing, about a hundred times as slow as native code.
    Interpreter,
    /// The interpreter first, then native code: a thread of the engine compiles in the order of requests, and the same
    /// [`CompiledShader`](crate::CompiledShader) uses the code from the next call on. [`Engine::compile`] takes as long
    /// as decoding and the passes do. No run waits for code: a run with another layout is interpreted until the thread
    /// has made the code for it. Meant for programs that must not stutter when a new shader comes.
    ///
    /// The thread drops requests whose shader nobody holds any more. Where no code can be made, the interpreter stays.
    ///
    /// [`Engine::compile`]: crate::Engine::compile
    ///
    /// ```
    /// use shaderjit::{Backend, CompileOptions, Config, Engine, NativeStatus, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let engine = Engine::new(Config::default())?;
    /// let code = engine.compile(&Shader::parse(bytes)?, &CompileOptions::default().backend(Backend::Tiered))?;
    /// let early = code.call().unbound_as_zero(true).run(0..3)?; // on whichever is ready
    /// # #[cfg(target_arch = "x86_64")]
    /// assert_eq!(code.wait_native(), NativeStatus::Ready);
    /// assert!(code.call().unbound_as_zero(true).run(0..3)?.first_difference(&early).is_none());
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    Tiered,
}

/// How many vertices run in lockstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lanes {
    /// Four: one register of 128 bits a value.
    Four,
    /// Eight: one register of 256 bits a value, or two of 128.
    Eight,
    /// Sixteen: one register of 512 bits a value, or two of 256.
    Sixteen,
}

impl Lanes {
    /// The number.
    pub fn count(self) -> u32 {
        match self {
            Lanes::Four => 4,
            Lanes::Eight => 8,
            Lanes::Sixteen => 16,
        }
    }

    /// All of them, ascending.
    pub const ALL: [Lanes; 3] = [Lanes::Four, Lanes::Eight, Lanes::Sixteen];
}

/// What makes native code: a compiler and the widest vectors it may use. All give the same bits, NaN payloads apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Vectors {
    /// Cranelift's code on vectors of 128 bits: every machine that there is native code for.
    Cranelift,
    /// Our own on vectors of 256 bits: x86-64 with AVX2, FMA, BMI1, BMI2, LZCNT and POPCNT.
    Avx2,
    /// Our own on vectors of 512 bits: x86-64 with AVX-512 F, VL, DQ, BW and CD as well.
    Avx512,
}

impl Vectors {
    /// All of them, ascending.
    pub const ALL: [Vectors; 3] = [Vectors::Cranelift, Vectors::Avx2, Vectors::Avx512];

    /// The name: `cranelift`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Vectors::Cranelift => "cranelift",
            Vectors::Avx2 => "avx2",
            Vectors::Avx512 => "avx512",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Vectors> {
        Vectors::ALL.into_iter().find(|vectors| vectors.name() == name)
    }

    /// Those that this machine has, ascending; none if there is no native code for it.
    pub fn of_this_machine() -> Vec<Vectors> {
        let Ok(target) = crate::jit::Target::host() else { return Vec::new() };
        Vectors::ALL.into_iter().filter(|vectors| target.lanes().any(|lanes| lanes == vectors.lanes())).collect()
    }

    /// Lanes of one vector, of 32 bits each.
    pub fn lanes(self) -> u8 {
        match self {
            Vectors::Cranelift => 4,
            Vectors::Avx2 => 8,
            Vectors::Avx512 => 16,
        }
    }
}

/// What to compile, and for which layout.
///
/// ```
/// use shaderjit::VertexFormat;
/// use shaderjit::{CompileOptions, Lanes};
///
/// let options = CompileOptions::default().lanes(Lanes::Eight).format("COLOR", 0, VertexFormat::Unorm8x4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    pub(crate) entry: usize,
    pub(crate) backend: Backend,
    pub(crate) lanes: Option<Lanes>,
    /// By interface slot, the name of a class instance and the number in its array.
    pub(crate) classes: BTreeMap<u32, (String, u32)>,
    /// Samples of a pixel, if that was said.
    pub(crate) samples: Option<u32>,
    /// Registers of ranges without an end, if that was said.
    pub(crate) unbounded: Option<NonZero<u32>>,
    /// For PICA200 programs.
    pub(crate) pica: pica::LowerOptions,
    /// For SPIR-V modules.
    pub(crate) spirv: spirv::LowerOptions,
    /// Shared: options are cloned with each compilation.
    formats: Arc<Vec<(String, u32, VertexFormat)>>,
    outputs: Option<Arc<[(String, u32)]>>,
}

impl CompileOptions {
    /// Which program of the shader, see [`Shader::entry`](crate::Shader::entry). Default: 0, the first.
    pub fn entry(mut self, entry: usize) -> CompileOptions {
        self.entry = entry;
        self
    }

    /// What runs it. Default: [`Backend::Jit`].
    pub fn backend(mut self, backend: Backend) -> CompileOptions {
        self.backend = backend;
        self
    }

    /// How many vertices run in lockstep. Default: eight for programs that gain by it, which are rather long ones and
    /// those with a short loop that depends on data; four for the others and for all of a PICA200. Four compile two to
    /// three times as fast. [`CompiledShader::lanes`](crate::CompiledShader::lanes) tells the choice.
    pub fn lanes(mut self, lanes: Lanes) -> CompileOptions {
        self.lanes = Some(lanes);
        self
    }

    /// Binds a class instance to an interface slot, for programs with interfaces. `number` chooses among an array of
    /// instances; of a single one it is 0. Every slot that the program calls needs an instance, because its functions
    /// are compiled in.
    pub fn class(mut self, slot: u32, instance: &str, number: u32) -> CompileOptions {
        self.classes.insert(slot, (instance.to_string(), number));
        self
    }

    /// How many samples a pixel of the target has, 0 (no target) to 32: the answer to a shader that asks the
    /// rasteriser, and where it evaluates attributes at a sample. Default: 1.
    pub fn samples(mut self, samples: u32) -> CompileOptions {
        self.samples = Some(samples);
        self
    }

    /// How many registers a range without an end has (`Texture2D t[]` of shader model 5.1), for programs that choose
    /// one of them at run time: each is a binding of its own, and a larger index reads zero. Default: such programs are
    /// refused.
    pub fn unbounded(mut self, registers: NonZero<u32>) -> CompileOptions {
        self.unbounded = Some(registers);
        self
    }

    /// Gives a specialisation constant of a SPIR-V module a value, by the number that its `SpecId` is: an integer or a
    /// float by its bits, a truth value by 0 or something else. The others have the values that the module gives them.
    pub fn specialization(mut self, number: u32, bits: u64) -> CompileOptions {
        self.spirv.constants.insert(number, bits);
        self
    }

    /// Says which elements of an array of descriptors are ever bound, for SPIR-V modules that choose one of them at run
    /// time: code is made for each, and the others read zero. Default: all of arrays of up to 64; larger ones, and
    /// those without an end, are refused.
    pub fn descriptors(mut self, set: u32, binding: u32, elements: impl IntoIterator<Item = u32>) -> CompileOptions {
        self.spirv.descriptors.entry((set, binding)).or_default().extend(elements);
        self
    }

    /// How many control points the patches have that a tessellation control shader of SPIR-V reads, 1 to 32: what
    /// `gl_PatchVerticesIn` is. Default: as many as the module's input arrays are long; those of GLSL have no length,
    /// and then as many as it makes.
    pub fn patch_vertices(mut self, count: u32) -> CompileOptions {
        self.spirv.patch_vertices = Some(count);
        self
    }

    /// PICA200 vertex shaders: the outputs are the rasteriser's 24 slots, in six elements of the semantic `slots`,
    /// instead of `o0` to `o15`. Other programs are not affected.
    pub fn rasterizer_slots(mut self, slots: pica::RasterizerSlots) -> CompileOptions {
        self.pica.slots = Some(slots);
        self
    }

    /// How a PICA200 program keeps its numbers. Other programs have no choice. Default:
    /// [`Fast`](pica::FloatPrecision::Fast).
    pub fn float_precision(mut self, mode: pica::FloatPrecision) -> CompileOptions {
        self.pica.numbers = mode;
        self
    }

    /// Compiles a PICA200 program for these bool and integer uniforms alone: branches that they decide are gone, and
    /// loops know their counts. A call that binds others is refused. Each set of values is compiled by itself, once as
    /// long as it is in the cache.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, PicaUniforms, Shader};
    ///
    /// // ifu b0 { mov o0, v0 } · end
    /// let words = [0x9c00_0800, 0x4c00_0000, 0x8800_0000];
    /// let shader = Shader::from_pica_words(&words, &[0x0d86_c36f], 0);
    /// let engine = Engine::new(Config::default())?;
    /// let uniforms = PicaUniforms { bools: 0, ..PicaUniforms::default() };
    /// let code = engine.compile(&shader, &CompileOptions::default().specialize(&uniforms))?;
    /// assert!(!code.writes_output(0), "b0 is not set");
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn specialize(self, uniforms: &PicaUniforms) -> CompileOptions {
        self.specialize_bools(uniforms.bools).specialize_ints(uniforms.ints)
    }

    /// As [`specialize`](Self::specialize), for bool uniforms only: bit n is `bn`.
    pub fn specialize_bools(mut self, bools: u16) -> CompileOptions {
        self.pica.bools = Some(bools);
        self
    }

    /// As [`specialize`](Self::specialize), for integer uniforms only: `i0` to `i3`.
    pub fn specialize_ints(mut self, ints: [[u8; 4]; 4]) -> CompileOptions {
        self.pica.ints = Some(ints);
        self
    }

    /// The form that a PICA200 program's control flow takes. Default: [`FlowForm::Graph`](pica::FlowForm::Graph).
    pub fn flow(mut self, form: pica::FlowForm) -> CompileOptions {
        self.pica.flow = form;
        self
    }

    /// The format that calls will bind for an input. A call that binds another compiles again, within its first run or
    /// ahead by [`CompiledShader::prepare`](crate::CompiledShader::prepare). Default: 32-bit words of the element's
    /// type, as many as it has components.
    pub fn format(mut self, semantic: &str, index: u32, format: VertexFormat) -> CompileOptions {
        Arc::make_mut(&mut self.formats).push((semantic.to_string(), index, format));
        self
    }

    /// The outputs that calls will store, by semantic and index. A call that stores others compiles again. Default:
    /// all.
    pub fn outputs(mut self, outputs: &[(&str, u32)]) -> CompileOptions {
        self.outputs = Some(outputs.iter().map(|&(semantic, index)| (semantic.to_string(), index)).collect());
        self
    }
}

impl Config {
    /// Adds what decides how a program is prepared to its key. `fused` is what was chosen.
    pub(crate) fn add_to_key(&self, fused: bool, key: &mut KeyBuilder) {
        // Every field by name: a new one does not compile before it is decided whether it belongs here.
        let Config {
            cache_bytes: _,
            vectors: _,
            fuel: FuelLimits { wave, call },
            // Running out of it is not remembered.
            compile_time: _,
            fused: _,
            perf_map: _,
            #[cfg(feature = "fuzzing")]
            canonical_nans,
        } = *self;
        key.number(fused.into()).number(wave.into()).number(call);
        #[cfg(feature = "fuzzing")]
        key.number(canonical_nans.into());
    }
}

impl CompileOptions {
    /// Adds what decides how a program is prepared to its key.
    pub(crate) fn add_to_key(&self, key: &mut KeyBuilder) {
        // Every field by name, as above.
        let CompileOptions {
            entry,
            // The key of native code has the lanes, and the layout that formats and outputs make. The interpreter needs
            // none: what it runs is not in the cache.
            backend: _,
            lanes: _,
            formats: _,
            outputs: _,
            classes,
            samples,
            unbounded,
            // What is lowered with names is for traces alone, and never in the cache.
            pica: pica::LowerOptions { numbers, flow, bools, ints, slots, debug: _ },
            // Its number of samples is the one above.
            spirv: spirv::LowerOptions { constants, descriptors, patch_vertices, samples: _ },
        } = self;
        key.number(*entry as u64);
        key.number(classes.len() as u64);
        for (&slot, (instance, number)) in classes {
            key.number(slot.into()).bytes(instance.as_bytes()).number((*number).into());
        }
        key.number(samples.map_or(u64::MAX, u64::from));
        key.number(constants.len() as u64);
        for (&number, &bits) in constants {
            key.number(number.into()).number(bits);
        }
        key.number(descriptors.len() as u64);
        for (&(set, binding), elements) in descriptors {
            key.number(set.into()).number(binding.into()).number(elements.len() as u64);
            elements.iter().for_each(|&element| _ = key.number(element.into()));
        }
        key.number(patch_vertices.map_or(0, u64::from));
        key.number(unbounded.map_or(0, |registers| registers.get().into()));
        key.number(*numbers as u64).number(*flow as u64);
        key.bytes(&bools.map_or(Vec::new(), |bools| bools.to_le_bytes().to_vec()));
        key.bytes(ints.as_ref().map_or(&[], |ints| ints.as_flattened()));
        let bytes = |source: Option<(u8, u8)>| source.map_or([0xff; 2], |(register, component)| [register, component]);
        key.bytes(slots.map(|slots| slots.sources.map(bytes)).as_ref().map_or(&[], |slots| slots.as_flattened()));
    }

    /// What a program of shader model 4 or 5 is lowered for, with the class instances that the names mean.
    pub(crate) fn sm4(&self, classes: BTreeMap<u32, ClassInstance>) -> sm4::LowerOptions {
        let default = sm4::LowerOptions::default();
        let (samples, unbounded) = (self.samples.unwrap_or(default.samples), self.unbounded);
        sm4::LowerOptions { classes, samples, unbounded, debug: false }
    }

    /// What a SPIR-V module is lowered for.
    pub(crate) fn spirv(&self) -> spirv::LowerOptions {
        spirv::LowerOptions { samples: self.samples, ..self.spirv.clone() }
    }

    /// The layout these options ask for.
    pub(crate) fn layout(&self, interface: &Interface) -> Result<Layout, CallError> {
        let mut layout = Layout {
            inputs: interface.inputs.iter().map(default_format).collect(),
            outputs: interface.outputs.iter().map(|element| element.components() as u8).collect(),
        };
        for (semantic, index, format) in &*self.formats {
            let elements = interface.signature_inputs();
            let element = find(elements, semantic, *index);
            let element = element.ok_or_else(|| unknown("input", (semantic, *index), elements))?;
            layout.inputs[element] = *format;
        }
        if let Some(stored) = &self.outputs {
            let mut keep: Flags = smallvec![false; layout.outputs.len()];
            for (semantic, index) in &**stored {
                let element = find(&interface.outputs, semantic, *index);
                keep[element.ok_or_else(|| unknown("output", (semantic, *index), &interface.outputs))?] = true;
            }
            for (components, keep) in layout.outputs.iter_mut().zip(keep) {
                *components *= u8::from(keep);
            }
        }
        Ok(layout)
    }
}

/// There is no input or output of that semantic and index.
pub(crate) fn unknown(what: &str, (semantic, index): (&str, u32), elements: &[Element]) -> CallError {
    CallError::unknown(format!("{what} {}", label(semantic, index)), elements.iter().map(Element::label))
}

/// The format an input element has where the caller asks for no other: as many 32-bit words as it has components.
pub(crate) fn default_format(element: &Element) -> VertexFormat {
    use VertexFormat::*;
    let formats = match element.ty {
        ComponentType::F32 => [F32x1, F32x2, F32x3, F32x4],
        ComponentType::U32 => [U32x1, U32x2, U32x3, U32x4],
        ComponentType::I32 => [I32x1, I32x2, I32x3, I32x4],
    };
    // An element without components has nothing to read; any format will do.
    formats[element.components().saturating_sub(1) as usize]
}
