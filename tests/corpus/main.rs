//! Real compiled shaders against what independent executors computed: every container and every run, on both engines.

mod dxbc;
mod glsl;
mod glsl_stages;
#[cfg(feature = "cli")]
mod groups;
mod listing;
#[cfg(feature = "cli")]
mod patches;
mod pica;
mod pica_geometry;
#[cfg(feature = "cli")]
mod pictures;
mod pixels;
#[cfg(feature = "cli")]
mod spirv;
#[cfg(feature = "cli")]
mod stages;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "cli")]
mod traces;

use shaderjit::{Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, Outputs, Shader};
use std::path::{Path, PathBuf};
use support::textures;

/// The folder of the test data.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the folder can be read").file_name().into_string().expect("names are UTF-8"))
        .collect();
    names.sort();
    names
}

fn engine(fused: bool) -> Engine {
    let config = Config::default();
    Engine::new(if fused { config } else { config.fused_mad(false) }).expect("this machine has native code")
}

/// What a call of one entry computes: the same on the interpreter and on native code of either width, to the bit.
fn run_everywhere<F>(engine: &Engine, bytes: &[u8], entry: usize, run: F, what: &str) -> Outputs
where
    F: Fn(&CompiledShader) -> Outputs,
{
    run_everywhere_with(engine, bytes, &CompileOptions::default().entry(entry), run, what)
}

/// The same for any options.
fn run_everywhere_with<F>(engine: &Engine, bytes: &[u8], options: &CompileOptions, run: F, what: &str) -> Outputs
where
    F: Fn(&CompiledShader) -> Outputs,
{
    let shader = Shader::parse(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let compile =
        |options: &CompileOptions| engine.compile(&shader, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let reference = run(&compile(&options.clone().backend(Backend::Interpreter)));
    for lanes in Lanes::ALL {
        let native = run(&compile(&options.clone().lanes(lanes)));
        if let Some(difference) = native.first_difference(&reference) {
            panic!("{what}: native code with {lanes:?} lanes differs from the interpreter: {difference:?}");
        }
    }
    reference
}
