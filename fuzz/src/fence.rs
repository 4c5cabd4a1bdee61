//! An electric fence: an allocator that puts every buffer of a native call against a page that nobody may touch.
//!
//! Generated code that reads or writes past the end of what it was given then ends the process, where elsewhere it
//! would go unnoticed. Memory that is freed is not used again, and faults as well. Only what is allocated within
//! [`shaderjit::fuzzing::fenced`] is treated so: compilers allocate too much for it.

use shaderjit::fuzzing::is_fenced;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of addresses to give away. A fuzz run uses a part of them.
const REGION: usize = 1 << 42;

const PAGE: usize = 4096;

/// Larger requests are not fenced: they take too long to protect.
const LARGEST: usize = 1 << 26;

/// What freshly allocated memory holds: no number that would pass for a result.
const FILL: u8 = 0xa5;

/// The allocator. A fuzz target makes it its global one.
pub struct Fence;

/// Where the region begins, and how much of it is given away.
static START: OnceLock<Option<usize>> = OnceLock::new();
static USED: AtomicUsize = AtomicUsize::new(0);

/// The region, mapped but not accessible; none if the system has not so many addresses.
fn start() -> Option<usize> {
    *START.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which overlaps nothing.
        let at = unsafe { libc::mmap(ptr::null_mut(), REGION, libc::PROT_NONE, flags, -1, 0) };
        (at != libc::MAP_FAILED).then_some(at as usize)
    })
}

/// Whole pages for so many bytes and one more that stays out of reach.
fn fenced_block(layout: Layout) -> Option<*mut u8> {
    let bytes = layout.size().next_multiple_of(PAGE);
    let at = USED.fetch_add(bytes + PAGE, Ordering::Relaxed);
    if at + bytes + PAGE > REGION {
        return None;
    }
    let block = (start()? + at) as *mut u8;
    // SAFETY: the pages are in the region, and `USED` gives them to nobody else.
    let is_open = unsafe { libc::mprotect(block.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 };
    if !is_open {
        return None;
    }
    // SAFETY: they have just been made accessible. The block ends with its last page, as far as its alignment allows.
    unsafe {
        ptr::write_bytes(block, FILL, bytes);
        Some(block.add((bytes - layout.size()) & !(layout.align() - 1)))
    }
}

// SAFETY: blocks come from the system's allocator, or from pages that belong to nothing else, are large enough, and are
// aligned as asked, which is at most to a page. `dealloc` tells the two apart by address.
unsafe impl GlobalAlloc for Fence {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let is_fit = (1..=LARGEST).contains(&layout.size()) && layout.align() <= PAGE;
        match if is_fit && is_fenced() { fenced_block(layout) } else { None } {
            Some(block) => block,
            // SAFETY: the caller's promise is the same.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let is_ours =
            START.get().copied().flatten().is_some_and(|start| (start..start + REGION).contains(&(block as usize)));
        if !is_ours {
            // SAFETY: the caller's promise, and the block came from there.
            return unsafe { System.dealloc(block, layout) };
        }
        let first = (block as usize) & !(PAGE - 1);
        let bytes = layout.size().next_multiple_of(PAGE);
        // SAFETY: these are the pages of the block, which nobody uses any more.
        unsafe {
            libc::madvise(first as *mut _, bytes, libc::MADV_DONTNEED);
            libc::mprotect(first as *mut _, bytes, libc::PROT_NONE);
        }
    }
}
