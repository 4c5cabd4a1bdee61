//! How to compile a shader: lanes, vectors, rounding and fuel, beside how to lower it.

use super::{LowerArgs, ProgramArgs};
use crate::report::{Failure, with_hint};
use clap::ValueEnum;
use shaderjit::{Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, Shader, Vectors};
use std::sync::Arc;

/// How to compile.
#[derive(clap::Args)]
pub struct CompileArgs {
    /// Vertices that run in lockstep [default: as suits the program]
    #[arg(long, value_name = "4|8|16", value_parser = ["4", "8", "16"])]
    lanes: Option<String>,
    /// The widest vectors of native code [default: those of this machine]
    #[arg(long, value_name = "cranelift|avx2|avx512", value_parser = ["cranelift", "avx2", "avx512"])]
    vectors: Option<String>,
    #[command(flatten)]
    mad: MadArgs,
    /// Instructions that the loops of each wave, the vertices that run together, may take [default: 67108864]
    #[arg(long, value_name = "N")]
    fuel: Option<u32>,
    /// Instructions that the loops of all waves of a call may take together [default: 1099511627776]
    #[arg(long, value_name = "N")]
    call_fuel: Option<u64>,
    #[command(flatten)]
    lower: LowerArgs,
}

/// How sums of products round.
#[derive(clap::Args)]
pub struct MadArgs {
    /// Whether `mad` and `dp` round once where the program leaves it open [default: as this machine can]
    #[arg(long, value_enum, value_name = "HOW")]
    mad: Option<Mad>,
}

impl MadArgs {
    /// Whether they round once, if that was said.
    pub fn fused(&self) -> Option<bool> {
        self.mad.map(|mad| matches!(mad, Mad::Fused))
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Mad {
    /// One rounding
    Fused,
    /// Two roundings
    Separate,
}

impl CompileArgs {
    /// An engine with these options.
    pub fn engine(&self, default_fuel: Option<u32>) -> Result<Engine, Failure> {
        Ok(Engine::new(self.config(default_fuel))?)
    }

    /// These options, as far as they are an engine's.
    pub fn config(&self, default_fuel: Option<u32>) -> Config {
        let mut config = Config::default();
        if let Some(fuel) = self.fuel.or(default_fuel) {
            config = config.fuel(fuel);
        }
        if let Some(fuel) = self.call_fuel {
            config = config.call_fuel(fuel);
        }
        if let Some(fused) = self.mad.fused() {
            config = config.fused_mad(fused);
        }
        if let Some(vectors) = self.vectors.as_deref().and_then(Vectors::from_name) {
            config = config.vectors(vectors);
        }
        config
    }

    /// The ways to make native code that are asked for: every kind of vectors that this machine has, one vector a value
    /// and two, as far as programs may have so many lanes, unless this says otherwise.
    pub fn ways(&self) -> Vec<(Vectors, Lanes)> {
        let pinned = self.vectors.clone().or_else(|| std::env::var("SHADERJIT_BACKEND").ok());
        let asked = (pinned.as_deref().and_then(Vectors::from_name), self.lanes());
        let mut ways = Vec::new();
        for vectors in Vectors::of_this_machine() {
            let one = u32::from(vectors.lanes());
            let of_one_or_two = |lanes: &Lanes| [one, 2 * one].contains(&lanes.count());
            ways.extend(Lanes::ALL.into_iter().filter(of_one_or_two).map(|lanes| (vectors, lanes)));
        }
        ways.retain(|&(vectors, lanes)| asked.0.unwrap_or(vectors) == vectors && asked.1.unwrap_or(lanes) == lanes);
        ways
    }

    /// How many lanes, if that was said.
    pub fn lanes(&self) -> Option<Lanes> {
        let count = self.lanes.as_ref().and_then(|lanes| lanes.parse().ok());
        Lanes::ALL.into_iter().find(|lanes| Some(lanes.count()) == count)
    }

    /// What to compile of the shader.
    pub fn options(&self, shader: &ProgramArgs) -> Result<CompileOptions, Failure> {
        self.options_of(shader.entry())
    }

    /// Samples of a target's pixels.
    pub fn samples(&self) -> u32 {
        self.lower.samples.unwrap_or(1)
    }

    /// What to compile of a shader whose program has that number.
    pub fn options_of(&self, entry: usize) -> Result<CompileOptions, Failure> {
        let options = self.lower.options_of(entry)?;
        Ok(match self.lanes() {
            Some(lanes) => options.lanes(lanes),
            None => options,
        })
    }

    /// Loads and compiles the shader.
    pub fn compile(&self, shader: &ProgramArgs, backend: Backend) -> Result<(Shader, Arc<CompiledShader>), Failure> {
        self.compile_on(&self.engine(None)?, shader, backend)
    }

    /// The same on an engine that is there.
    pub fn compile_on(
        &self,
        engine: &Engine,
        shader: &ProgramArgs,
        backend: Backend,
    ) -> Result<(Shader, Arc<CompiledShader>), Failure> {
        let loaded = shader.load()?;
        let options = self.options(shader)?.backend(backend);
        let code = engine.compile(&loaded, &options).map_err(|error| shader.failure(with_hint(&error)))?;
        Ok((loaded, code))
    }
}
