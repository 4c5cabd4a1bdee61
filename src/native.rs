//! Native code of a program for one layout, and what can be said of it before it is there or when it cannot be.

use crate::container::digest::Digest;
use crate::error::JitError;
use crate::jit::{self, Code, CodegenOptions, Layout, Target};
use crate::options::Lanes;
use crate::perf_map;
use crate::prepared::Prepared;
use shaderjit_ir::verify::Verified;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Whether native code runs a shader, and the reason if it does not. Results are the same either way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeStatus {
    /// Native code runs it.
    Ready,
    /// Native code is being made, see [`Backend::Tiered`](crate::Backend::Tiered). The interpreter runs it until then.
    Pending,
    /// It was compiled for the [interpreter](crate::Backend::Interpreter).
    NotRequested,
    /// The interpreter runs it for good: the program is [too large](JitError::Limit) for native code. For a tiered
    /// shader the reason may also be an error that `compile` would have returned, or that its engine is
    /// [gone](JitError::Abandoned).
    Refused(JitError),
}

/// Native code for one layout.
pub(crate) struct Native {
    prepared: Arc<Prepared>,
    layout: Layout,
    lanes: Lanes,
    target: Target,
    /// Whether profilers are told of it.
    perf_map: bool,
    code: Code,
    /// The code for vertices for which a guard failed, made when one first does.
    exact: OnceLock<Result<Code, JitError>>,
    /// How long the code took to make.
    pub time: Duration,
}

impl Native {
    /// Makes it.
    pub fn make(
        prepared: Arc<Prepared>,
        layout: Layout,
        lanes: Lanes,
        target: Target,
        perf_map: bool,
    ) -> Result<Native, JitError> {
        let name = &prepared.function.name;
        log::debug!("making native code of {name}");
        let start = Instant::now();
        let code = compile(&prepared.function, &layout, lanes, &target);
        if let Err(reason @ JitError::Limit { .. }) = &code {
            log::warn!("{name} is interpreted: {reason}");
        }
        let (code, time) = (code?, start.elapsed());
        if let Some(threads) = prepared.interface.thread_group {
            code.check_group(threads.iter().product())?;
        }
        let native = Native { prepared, layout, lanes, target, perf_map, code, exact: OnceLock::new(), time };
        native.tell(&native.code, "");
        Ok(native)
    }

    /// The code that runs unless a guard of it fails.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The code without guards.
    pub fn exact_code(&self) -> Result<&Code, JitError> {
        let make = || {
            let code = compile(self.prepared.exact_function(), &self.layout, self.lanes, &self.target)?;
            self.tell(&code, ":exact");
            Ok(code)
        };
        self.exact.get_or_init(make).as_ref().map_err(JitError::clone)
    }

    /// Whether no run will have to wait for code: there is an exact form of it if one can be needed.
    pub fn is_complete(&self) -> bool {
        self.prepared.exact.is_none() || self.exact.get().is_some()
    }

    /// The same, made so.
    pub fn complete(&self) {
        if !self.is_complete()
            && let Err(error) = self.exact_code()
        {
            // The interpreter does what it would be needed for.
            log::debug!("no exact form of {}: {error}", self.prepared.function.name);
        }
    }

    /// Bytes of the code, those that failing guards may yet ask for included, roughly.
    pub fn bytes(&self) -> u64 {
        let forms = if self.prepared.exact.is_some() { 3 } else { 1 };
        self.code.bytes().len() as u64 * forms
    }

    /// Bytes of the caller's stack that a run takes at most.
    pub fn stack_bytes(&self) -> usize {
        // Until the exact form is there, nobody knows what it takes.
        let exact = match self.exact.get() {
            Some(exact) => exact.as_ref().map_or(0, Code::stack_bytes),
            None if self.prepared.exact.is_some() => jit::MAX_STACK_BYTES,
            None => 0,
        };
        self.code.stack_bytes().max(exact)
    }

    /// What the back end tells when it compiles the program once more.
    pub fn made_again<T>(
        &self,
        compile: impl FnOnce(&Verified, &Layout, &Target, &CodegenOptions) -> Result<T, JitError>,
    ) -> Result<T, JitError> {
        compile(&self.prepared.function, &self.layout, &self.target, &options(self.lanes, &self.target))
    }

    /// Makes code known to profilers, if the engine is asked to.
    fn tell(&self, code: &Code, form: &str) {
        if self.perf_map {
            let Prepared { function, options, key, shader, .. } = &*self.prepared;
            let id = shader.stored_digest().map_or(*key.0.first_chunk().expect("it has 32 bytes"), |digest| digest.0);
            let lanes = self.lanes.count();
            perf_map::append(
                code.bytes(),
                &format!("{}-{}:{}:{lanes}{form}", function.name, Digest(id), options.entry),
            );
        }
    }
}

/// The widest vectors that so many lanes fill.
fn options(lanes: Lanes, target: &Target) -> CodegenOptions {
    let count = lanes.count() as u8;
    let lanes = target.lanes().filter(|&lanes| lanes <= count).max().unwrap_or(4);
    CodegenOptions { lanes, vectors: count / lanes }
}

fn compile(function: &Verified, layout: &Layout, lanes: Lanes, target: &Target) -> Result<Code, JitError> {
    jit::compile(function, layout, target, &options(lanes, target))
}

/// Native code for what a call has bound: that of the shader that was asked, or other code of the same program.
pub(crate) enum Made<'a> {
    Here(&'a Native),
    Elsewhere(Arc<Native>),
}

impl Deref for Made<'_> {
    type Target = Native;

    fn deref(&self) -> &Native {
        match self {
            Made::Here(native) => native,
            Made::Elsewhere(native) => native,
        }
    }
}
