//! Every way to run a section's shader: on the interpreter, and as native code of every width.

use super::sections::Section;
use shaderjit::{Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, Shader};
use std::fmt::Write;
use std::sync::OnceLock;

/// What waits without end runs out of fuel soon.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(Config::default().fuel(100_000)).expect("this machine has native code"))
}

impl Section {
    /// Checks runs, which are told by their lines, in every way.
    pub fn check_every_way<R>(
        &self,
        runs: &[R],
        line: impl Fn(&R) -> &str,
        check: impl Fn(&R, &CompiledShader) -> Result<(), String>,
    ) -> Result<(), String> {
        let shader = Shader::parse(&self.source.container()).map_err(|error| error.to_string())?;
        let mut failures = String::new();
        for lanes in Lanes::ALL {
            for backend in [Backend::Interpreter, Backend::Jit] {
                let options = CompileOptions::default().lanes(lanes).backend(backend);
                let code =
                    engine().compile(&shader, &options).map_err(|error| format!("{error}\n{:?}", self.source))?;
                for run in runs {
                    if let Err(found) = check(run, &code) {
                        let lanes = lanes.count();
                        writeln!(failures, "{}\n found {found} on {backend:?}, {lanes} lanes", line(run)).unwrap();
                    }
                }
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }
}
