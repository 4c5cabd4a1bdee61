//! Memory for code: the one place that makes bytes executable, and frees them.

use crate::error::JitError;
use memmap2::{Mmap, MmapOptions};
use std::fmt::Display;
use std::ptr::NonNull;
use wasmtime_internal_jit_icache_coherence as coherence;

/// The native code of one function, executable and not writable, freed on drop.
pub struct CodeMemory {
    /// Pages of its own, as long as the code.
    pages: Mmap,
}

impl CodeMemory {
    /// Copies position-independent code without relocations, aligned to no more than a page, into executable memory.
    ///
    /// # Errors
    /// [`JitError::Codegen`] if the system gives no such memory, or does not tell all processors of the new code:
    /// filters of system calls, as containers and Android have them, may refuse `membarrier`.
    pub fn new(code: &[u8]) -> Result<CodeMemory, JitError> {
        // All of it is written at once: to have the pages from the start saves a fault for each.
        let pages = MmapOptions::new().len(code.len()).populate().map_anon();
        let mut pages = pages.map_err(failed("no memory for code"))?;
        pages.copy_from_slice(code);
        // SAFETY: the range is the pages. Nobody runs what is there before they are executable.
        unsafe { coherence::clear_cache(pages.as_ptr().cast(), pages.len()) }.map_err(failed("old code is cached"))?;
        let pages = pages.make_exec().map_err(failed("memory does not become executable"))?;
        coherence::pipeline_flush_mt().map_err(failed("processors may run old code"))?;
        Ok(CodeMemory { pages })
    }

    /// The first instruction. Good while `self` lives.
    pub fn entry(&self) -> NonNull<u8> {
        NonNull::from(self.bytes()).cast()
    }

    /// The code's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }
}

/// The error of a step that the system refused.
fn failed<E: Display>(what: &'static str) -> impl Fn(E) -> JitError {
    move |error| JitError::Codegen(format!("{what}: {error}"))
}
