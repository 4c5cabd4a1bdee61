//! Memory for code, from an arena: the one place that makes bytes executable, and frees them.
//!
//! The code of a shader takes a page or two. To map those alone takes as long as the whole back end does for a short
//! program; so pages are mapped a *chunk* at a time, and handed out in order. A page is written before it is executable
//! and never afterwards: who is handed one has it alone, until the chunk is freed with the last code in it.

use crate::error::JitError;
use region::{Allocation, Protection, page};
use std::fmt::Display;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime_internal_jit_icache_coherence as coherence;

/// Pages of a chunk.
const CHUNK: usize = 16;

/// Code of more pages has a chunk of its own.
const LARGE: usize = CHUNK / 2;

/// Mapped pages.
struct Chunk {
    pages: Allocation,
}

// SAFETY: an allocation is an address and a length; pages are mapped for the whole process, and may be unmapped by any
// thread of it.
unsafe impl Send for Chunk {}
// SAFETY: as above; what is in the pages is nobody's through a shared reference but the owner's of each `CodeMemory`.
unsafe impl Sync for Chunk {}

/// The chunk that pages are handed out from, and how many of its bytes have been.
struct Arena {
    chunk: Arc<Chunk>,
    used: usize,
}

static ARENA: Mutex<Option<Arena>> = Mutex::new(None);

/// The native code of one function, executable and not writable, freed on drop with the chunk that it is in.
pub struct CodeMemory {
    chunk: Arc<Chunk>,
    /// Where it begins in the chunk, and how long it is.
    start: usize,
    len: usize,
}

impl Chunk {
    /// Pages that may be written, for so many bytes.
    fn map(len: usize) -> Result<Arc<Chunk>, JitError> {
        let pages = region::alloc(len, Protection::READ_WRITE).map_err(failed("no memory for code"))?;
        Ok(Arc::new(Chunk { pages }))
    }
}

impl CodeMemory {
    /// Copies position-independent code without relocations, aligned to no more than a page, into executable memory.
    ///
    /// # Errors
    /// [`JitError::Codegen`] if the system gives no such memory, or does not tell all processors of the new code:
    /// filters of system calls, as containers and Android have them, may refuse `membarrier`.
    pub fn new(code: &[u8]) -> Result<CodeMemory, JitError> {
        let memory = CodeMemory::pages(code.len())?;
        let pages = memory.entry().as_ptr();
        // SAFETY: the pages have been handed out to this call alone, are as long as the code, and may still be written.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), pages, code.len()) };
        // SAFETY: the range is these pages. Nobody runs what is there before they are executable.
        unsafe { coherence::clear_cache(pages.cast(), code.len()) }.map_err(failed("old code is cached"))?;
        // SAFETY: nobody else uses these pages, and from here on nothing writes to them.
        let protected = unsafe { region::protect(pages, memory.len, Protection::READ_EXECUTE) };
        protected.map_err(failed("memory does not become executable"))?;
        coherence::pipeline_flush_mt().map_err(failed("processors may run old code"))?;
        Ok(memory)
    }

    /// Pages for so many bytes, at least one, that nobody else has been given.
    fn pages(len: usize) -> Result<CodeMemory, JitError> {
        let (len, size) = (len.max(1), page::ceil(len.max(1) as *const u8) as usize);
        if size > LARGE * page::size() {
            return Ok(CodeMemory { chunk: Chunk::map(size)?, start: 0, len });
        }
        // It is whole however far a thread came that panicked.
        let mut arena = ARENA.lock().unwrap_or_else(PoisonError::into_inner);
        let Arena { chunk, used } = match &mut *arena {
            Some(arena) if arena.chunk.pages.len() - arena.used >= size => arena,
            arena => arena.insert(Arena { chunk: Chunk::map(CHUNK * page::size())?, used: 0 }),
        };
        let start = std::mem::replace(used, *used + size);
        Ok(CodeMemory { chunk: Arc::clone(chunk), start, len })
    }

    /// The first instruction. Good while `self` lives.
    pub fn entry(&self) -> NonNull<u8> {
        let chunk = NonNull::new(self.chunk.pages.as_ptr::<u8>().cast_mut()).expect("mapped memory is not at zero");
        // SAFETY: the chunk goes on behind where this code begins.
        unsafe { chunk.add(self.start) }
    }

    /// The code's bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are there while `self` lives, and nothing writes to them after `new`.
        unsafe { std::slice::from_raw_parts(self.entry().as_ptr(), self.len) }
    }
}

/// The error of a step that the system refused.
fn failed<E: Display>(what: &'static str) -> impl Fn(E) -> JitError {
    move |error| JitError::Codegen(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_share_chunks_and_no_pages_and_outlive_each_other() {
        let page = page::size();
        let codes: Vec<Vec<u8>> = (0..3 * CHUNK).map(|number| vec![number as u8; 1 + number * page / 4]).collect();
        let mut memories: Vec<Option<CodeMemory>> =
            codes.iter().map(|code| Some(CodeMemory::new(code).expect("there is memory"))).collect();
        let mut ranges: Vec<(usize, usize)> = memories
            .iter()
            .flatten()
            .map(|memory| (memory.entry().as_ptr() as usize, memory.bytes().len().next_multiple_of(page)))
            .collect();
        ranges.sort_unstable();
        assert!(ranges.iter().all(|&(start, _)| start % page == 0));
        assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        memories.iter_mut().step_by(2).for_each(|memory| *memory = None);
        for (memory, code) in memories.iter().zip(&codes) {
            assert!(memory.as_ref().is_none_or(|memory| memory.bytes() == code));
        }
    }
}
