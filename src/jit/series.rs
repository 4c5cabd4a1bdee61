//! Native calls one after the other in one change of the floating-point mode.
//!
//! To change the mode takes a processor as long as short code does, and it waits for what came before. So many short
//! calls in a row, as thread groups are, share a change, and what one of them needs in front of it is done by assembly,
//! too: the compiler may not see any Rust code run in another mode.

use super::abi::{self, BatchArgs};
use super::call::Row;
use super::mode;
use std::ffi::c_void;
use std::ptr;

/// Words that are zero where a call begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cleared {
    pub words: *mut u32,
    /// How many.
    pub count: u64,
}

/// What each call finds when it begins.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<'a> {
    /// How many calls there are: one at least.
    pub calls: usize,
    /// For each call, one behind the other, the row at `number` and then those of some slots of the frame.
    pub rows: &'a [Row],
    /// Not looked at if there are no rows.
    pub number: *mut Row,
    /// Numbers of slots.
    pub slots: &'a [u32],
    pub cleared: &'a [Cleared],
}

impl Fresh<'_> {
    /// One call, which finds what is there.
    pub const ONE: Fresh<'static> = Fresh { calls: 1, rows: &[], number: ptr::null_mut(), slots: &[], cleared: &[] };
}

/// How calls ended.
pub struct Outcome {
    /// The status of the last one.
    pub status: u32,
    /// The fuel that all took.
    pub spent: u64,
    /// Whether the last one took more than it may.
    pub is_over: bool,
}

/// Calls on the way, as assembly sees them.
#[repr(C)]
struct Series {
    entry: *const u8,
    args: *mut BatchArgs,
    count: u64,
    left: u64,
    most: u64,
    spent: u64,
    rows: *const Row,
    number: *mut Row,
    slots: *const u32,
    slot_count: u64,
    cleared: *const Cleared,
    cleared_end: *const Cleared,
    /// The mode that was before, and that of native code.
    saved: u32,
    flushing: u32,
}

/// Calls native code for `count` elements, with denormals flushed, as often as `fresh` says: up to one that ends in
/// another way than [`abi::DONE`] or takes more fuel than `most`.
///
/// # Safety
/// `entry` must be the entry of live code of the system's ABI, and `args` what it expects. If there are rows, each call
/// has one for the number and one a slot, the slots are in the frame, and nobody else has the memory of either. What is
/// cleared may be written, and others access it atomically if at all.
pub unsafe fn call(entry: *const u8, args: &mut BatchArgs, count: u32, most: u64, fresh: &Fresh<'_>) -> Outcome {
    debug_assert!(fresh.rows.is_empty() || fresh.rows.len() == fresh.calls * (1 + fresh.slots.len()));
    let mut series = Series {
        entry,
        args,
        count: count.into(),
        left: fresh.calls as u64,
        most,
        spent: 0,
        rows: fresh.rows.as_ptr(),
        number: if fresh.rows.is_empty() { ptr::null_mut() } else { fresh.number },
        slots: fresh.slots.as_ptr(),
        slot_count: fresh.slots.len() as u64,
        cleared: fresh.cleared.as_ptr(),
        cleared_end: fresh.cleared.as_ptr_range().end,
        saved: 0,
        flushing: mode::mxcsr(true),
    };
    // SAFETY: the caller's promise is the same.
    let status = unsafe { series.run() };
    Outcome { status, spent: series.spent + args.spent, is_over: args.spent > most }
}

#[cfg(target_arch = "x86_64")]
impl Series {
    /// Runs the calls; the status of the last one. Its fuel is not added up.
    ///
    /// # Safety
    /// As for [`call`].
    unsafe fn run(&mut self) -> u32 {
        use std::arch::asm;
        use std::mem::offset_of;
        let status: u32;
        // SAFETY: the caller vouches for the calls and all pointers. The mode is restored before the block ends; r12
        // and r13 hold across a call by the System V ABI, which the code follows on every system.
        unsafe {
            asm!(
                "stmxcsr dword ptr [r12 + {saved}]",
                "call 40f",
                "ldmxcsr dword ptr [r12 + {flushing}]",
                "2:",
                "mov rdi, qword ptr [r12 + {args}]",
                "mov esi, dword ptr [r12 + {count}]",
                "call qword ptr [r12 + {entry}]",
                "test eax, eax",
                "jnz 60f",
                "sub qword ptr [r12 + {left}], 1",
                "jz 60f",
                "mov rdi, qword ptr [r12 + {args}]",
                "mov rcx, qword ptr [rdi + {spent_by_one}]",
                "cmp rcx, qword ptr [r12 + {most}]",
                "ja 60f",
                "add qword ptr [r12 + {spent}], rcx",
                "mov qword ptr [rdi + {spent_by_one}], 0",
                "call 40f",
                "jmp 2b",
                // What is fresh: rows.
                "40:",
                "mov rax, qword ptr [r12 + {number}]",
                "test rax, rax",
                "jz 43f",
                "mov r13, qword ptr [r12 + {rows}]",
                "movups xmm0, xmmword ptr [r13]",
                "movups xmmword ptr [rax], xmm0",
                "mov rdi, qword ptr [r12 + {args}]",
                "mov rdx, qword ptr [rdi + {frame}]",
                "mov rsi, qword ptr [r12 + {slots}]",
                "mov rcx, qword ptr [r12 + {slot_count}]",
                "41:",
                "add r13, 16",
                "sub rcx, 1",
                "jb 42f",
                "mov eax, dword ptr [rsi]",
                "add rsi, 4",
                "shl rax, 4",
                "movups xmm0, xmmword ptr [r13]",
                "movups xmmword ptr [rdx + rax], xmm0",
                "jmp 41b",
                "42:",
                "mov qword ptr [r12 + {rows}], r13",
                // Zeros.
                "43:",
                "xorps xmm0, xmm0",
                "mov rsi, qword ptr [r12 + {cleared}]",
                "44:",
                "cmp rsi, qword ptr [r12 + {cleared_end}]",
                "je 48f",
                "mov rax, qword ptr [rsi]",
                "mov rcx, qword ptr [rsi + 8]",
                "add rsi, 16",
                "45:",
                "sub rcx, 4",
                "jb 46f",
                "movups xmmword ptr [rax], xmm0",
                "add rax, 16",
                "jmp 45b",
                "46:",
                "add rcx, 4",
                "47:",
                "sub rcx, 1",
                "jb 44b",
                "mov dword ptr [rax], 0",
                "add rax, 4",
                "jmp 47b",
                "48:",
                "ret",
                "60:",
                "ldmxcsr dword ptr [r12 + {saved}]",
                in("r12") ptr::from_mut(self).cast::<c_void>(),
                out("r13") _,
                lateout("eax") status,
                entry = const offset_of!(Series, entry),
                args = const offset_of!(Series, args),
                count = const offset_of!(Series, count),
                left = const offset_of!(Series, left),
                most = const offset_of!(Series, most),
                spent = const offset_of!(Series, spent),
                rows = const offset_of!(Series, rows),
                number = const offset_of!(Series, number),
                slots = const offset_of!(Series, slots),
                slot_count = const offset_of!(Series, slot_count),
                cleared = const offset_of!(Series, cleared),
                cleared_end = const offset_of!(Series, cleared_end),
                saved = const offset_of!(Series, saved),
                flushing = const offset_of!(Series, flushing),
                frame = const abi::offset::FRAME,
                spent_by_one = const abi::offset::SPENT,
                clobber_abi("sysv64"),
            );
        }
        status
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Series {
    /// Runs the calls, each in a change of the mode of its own; the status of the last one. Its fuel is not added up.
    ///
    /// # Safety
    /// As for [`call`].
    unsafe fn run(&mut self) -> u32 {
        // SAFETY: the caller vouches for the calls and for all pointers.
        unsafe {
            loop {
                if !self.number.is_null() {
                    self.number.write(self.rows.read());
                    for slot in 0..self.slot_count as usize {
                        let row = self.rows.add(1 + slot).read();
                        (*self.args).frame.cast::<Row>().add(*self.slots.add(slot) as usize).write(row);
                    }
                    self.rows = self.rows.add(1 + self.slot_count as usize);
                }
                let mut cleared = self.cleared;
                while cleared != self.cleared_end {
                    ptr::write_bytes((*cleared).words, 0, (*cleared).count as usize);
                    cleared = cleared.add(1);
                }
                let status = mode::call_flushing(self.entry, &mut *self.args, self.count as u32);
                self.left -= 1;
                if status != abi::DONE || self.left == 0 || (*self.args).spent > self.most {
                    return status;
                }
                self.spent += std::mem::take(&mut (*self.args).spent);
            }
        }
    }
}
