//! Engines, compilation, the cache.

use super::code::shaderjit_code;
use super::give;
use super::number::from_numbers;
use super::shader::shaderjit_shader;
use super::status::{Failure, ended, shaderjit_status};
use crate::{Backend, CompileOptions, Config, Engine, FloatPrecision, Lanes};
use std::mem::MaybeUninit;

/// Compiles shaders and keeps what it has compiled, by content. One for a program; threads may share it.
pub struct shaderjit_engine(pub(super) Engine);

/// What an engine is made of. Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct shaderjit_config {
    /// Bytes of code and IR that the cache may hold: 64 MiB.
    pub cache_bytes: u64,
    /// How many instructions a wave, the lanes that run together, may execute in loops before a run ends with
    /// `SHADERJIT_STATUS_OUT_OF_FUEL`: 2^26.
    pub wave_fuel: u32,
    /// How many all waves of a run may execute together: 2^40.
    pub call_fuel: u64,
    /// Whether `mad` rounds twice on every machine, so that results do not depend on it.
    pub portable: bool,
}

/// What runs a shader; all give the same bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_backend {
    /// Native code, made when the shader is compiled.
    Jit = 0,
    /// The interpreter, until a thread of the engine has made native code.
    Tiered = 1,
    /// The interpreter.
    Interpreter = 2,
}

from_numbers! { shaderjit_backend: Jit Tiered Interpreter; }

impl From<shaderjit_backend> for Backend {
    fn from(backend: shaderjit_backend) -> Backend {
        match backend {
            shaderjit_backend::Jit => Backend::Jit,
            shaderjit_backend::Tiered => Backend::Tiered,
            shaderjit_backend::Interpreter => Backend::Interpreter,
        }
    }
}

/// How a shader is compiled. Fields that are 0 mean the default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct shaderjit_compile_options {
    /// Which program of the file.
    pub entry: usize,
    /// A `shaderjit_backend`.
    pub backend: u32,
    /// How many lanes run together: 4, 8 or 16; 0 chooses.
    pub lanes: u32,
    /// Samples that a pixel of the target has: 1.
    pub samples: u32,
    /// Whether programs of the Nintendo 3DS keep numbers of 24 bits, as the hardware does, instead of 32.
    pub pica_float24: bool,
}

/// Counters of an engine's cache.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct shaderjit_cache_stats {
    /// Programs, pieces of native code, and refusals held.
    pub entries: u64,
    /// Bytes they occupy.
    pub bytes: u64,
    /// Bytes they may occupy.
    pub budget: u64,
    /// How often one of them was made.
    pub compiles: u64,
    /// How often one of them was there.
    pub hits: u64,
}

/// Makes an engine. A null configuration is the default one.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_engine_new(
    config: Option<&shaderjit_config>,
    engine: Option<&mut MaybeUninit<Option<Box<shaderjit_engine>>>>,
) -> shaderjit_status {
    ended(|| {
        let mut made = Config::default();
        if let Some(config) = config {
            if config.cache_bytes != 0 {
                made = made.cache_bytes(config.cache_bytes);
            }
            if config.wave_fuel != 0 {
                made = made.fuel(config.wave_fuel);
            }
            if config.call_fuel != 0 {
                made = made.call_fuel(config.call_fuel);
            }
            if config.portable {
                made = made.fused_mad(false);
            }
        }
        give(engine, shaderjit_engine(Engine::new(made)?))
    })
}

/// Frees an engine. What it has compiled stays as long as its handles.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_engine_free(engine: Option<Box<shaderjit_engine>>) {
    drop(engine);
}

/// Compiles a program, or finds it compiled. Null options are the default ones.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_engine_compile(
    engine: Option<&shaderjit_engine>,
    shader: Option<&shaderjit_shader>,
    options: Option<&shaderjit_compile_options>,
    code: Option<&mut MaybeUninit<Option<Box<shaderjit_code>>>>,
) -> shaderjit_status {
    ended(|| {
        let engine = engine.ok_or(Failure::null("the engine"))?;
        let shader = shader.ok_or(Failure::null("the shader"))?;
        let given = options.copied().unwrap_or_default();
        let backend = shaderjit_backend::from_number(given.backend);
        let backend = backend.ok_or_else(|| Failure::argument(format!("there is no backend {}", given.backend)))?;
        let mut options = CompileOptions::default().entry(given.entry).backend(backend.into());
        options = match given.lanes {
            0 => options,
            4 => options.lanes(Lanes::Four),
            8 => options.lanes(Lanes::Eight),
            16 => options.lanes(Lanes::Sixteen),
            other => return Err(Failure::argument(format!("{other} lanes; 4, 8 and 16 are possible"))),
        };
        if given.samples != 0 {
            options = options.samples(given.samples);
        }
        if given.pica_float24 {
            options = options.float_precision(FloatPrecision::Float24);
        }
        give(code, shaderjit_code::new(engine.0.compile(&shader.0, &options)?))
    })
}

/// Counters of the cache.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_engine_cache_stats(
    engine: Option<&shaderjit_engine>,
    stats: Option<&mut MaybeUninit<shaderjit_cache_stats>>,
) -> shaderjit_status {
    ended(|| {
        let stats_of = engine.ok_or(Failure::null("the engine"))?.0.cache_stats();
        stats.ok_or(Failure::null("the place of the result"))?.write(shaderjit_cache_stats {
            entries: stats_of.entries as u64,
            bytes: stats_of.bytes,
            budget: stats_of.budget,
            compiles: stats_of.compiles,
            hits: stats_of.hits,
        });
        Ok(())
    })
}

/// Empties the cache. Shaders in use stay until their last handle is freed.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_engine_clear_cache(engine: Option<&shaderjit_engine>) {
    if let Some(engine) = engine {
        engine.0.clear_cache();
    }
}
