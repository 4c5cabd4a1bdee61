//! The processor's floating-point mode. Native code runs with denormals flushed, Rust code in the mode it expects; the
//! switches between the two are assembly, because the compiler may not see any Rust code run in another mode.

use super::abi::BatchArgs;
use super::{double, refuel, texture};
use shaderjit_ir::texture::Rows;
use std::arch::{asm, naked_asm};
use std::ptr;

/// MXCSR as Rust expects it: all exceptions masked, to nearest even.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1f80;

/// FPCR as Rust expects it.
#[cfg(target_arch = "aarch64")]
const DEFAULT: u64 = 0;

/// Calls native code with denormals flushed: MXCSR with DAZ and FTZ set.
///
/// # Safety
/// `entry` must be the entry of live code of the system's ABI, and `args` what it expects.
#[cfg(target_arch = "x86_64")]
pub unsafe fn call_flushing(entry: *const u8, args: &mut BatchArgs, count: u32) -> u32 {
    const DENORMALS_ARE_ZERO: u32 = 1 << 6;
    const FLUSH_TO_ZERO: u32 = 1 << 15;
    let flushing = DEFAULT | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO;
    let mut saved = 0u32;
    let status: u32;
    // SAFETY: the caller vouches for the call itself. The mode is restored before the block ends; the registers that
    // hold across the call are preserved by the System V ABI, which the code follows on every system
    // ([`super::signature`]).
    unsafe {
        asm!(
            "stmxcsr dword ptr [r12]",
            "ldmxcsr dword ptr [r13]",
            "call r14",
            "ldmxcsr dword ptr [r12]",
            in("r12") &raw mut saved,
            in("r13") &raw const flushing,
            in("r14") entry,
            in("rdi") ptr::from_mut(args),
            in("esi") count,
            lateout("eax") status,
            clobber_abi("sysv64"),
        );
    }
    status
}

/// Calls native code with denormals flushed: FPCR with FZ set.
///
/// # Safety
/// `entry` must be the entry of live code of the system's ABI, and `args` what it expects.
#[cfg(target_arch = "aarch64")]
pub unsafe fn call_flushing(entry: *const u8, args: &mut BatchArgs, count: u32) -> u32 {
    const FLUSH_TO_ZERO: u64 = 1 << 24;
    let status: u32;
    // SAFETY: as on x86-64; x20 to x22 are preserved by the ABI.
    unsafe {
        asm!(
            "mrs x20, fpcr",
            "msr fpcr, x21",
            "blr x22",
            "msr fpcr, x20",
            out("x20") _,
            in("x21") DEFAULT | FLUSH_TO_ZERO,
            in("x22") entry,
            in("x0") ptr::from_mut(args),
            in("w1") count,
            lateout("w0") status,
            clobber_abi("C"),
        );
    }
    status
}

/// Never called: [`Target`](super::Target) refuses other machines, so there is no code.
///
/// # Safety
/// None needed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub unsafe fn call_flushing(_entry: *const u8, _args: &mut BatchArgs, _count: u32) -> u32 {
    unreachable!("no code is made for this machine")
}

/// Defines a function that calls another one, of up to four arguments in registers, in the mode Rust expects, and
/// restores the caller's mode afterwards.
macro_rules! in_rust_mode {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $ty:ty),*) calls $callee:path) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) {
            // The arguments stay in their registers. The frame aligns the stack to 16 bytes and begins with the 32
            // bytes that Windows' convention gives a callee; the caller's mode and ours lie above them.
            naked_asm!(
                "sub rsp, 40",
                "stmxcsr dword ptr [rsp + 32]",
                "mov dword ptr [rsp + 36], {default}",
                "ldmxcsr dword ptr [rsp + 36]",
                "call {callee}",
                "ldmxcsr dword ptr [rsp + 32]",
                "add rsp, 40",
                "ret",
                default = const DEFAULT,
                callee = sym $callee,
            );
        }

        $(#[$doc])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) {
            // The arguments stay in their registers.
            naked_asm!(
                "stp x29, x30, [sp, #-32]!",
                "mov x29, sp",
                "mrs x9, fpcr",
                "str x9, [sp, #16]",
                "mov x9, #{default}",
                "msr fpcr, x9",
                "bl {callee}",
                "ldr x9, [sp, #16]",
                "msr fpcr, x9",
                "ldp x29, x30, [sp], #32",
                "ret",
                default = const DEFAULT,
                callee = sym $callee,
            );
        }

        $(#[$doc])*
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) {
            // Never called, as `call_flushing`. SAFETY: the caller's promise is the same.
            unsafe { $callee($($argument),*) }
        }
    };
}

in_rust_mode! {
    /// [`double::compute`] for native code.
    ///
    /// # Safety
    /// As for [`double::compute`].
    compute_doubles(op: u32, lanes: u32, words: *mut double::Words) calls double::compute
}

in_rust_mode! {
    /// [`texture::access`] for native code.
    ///
    /// # Safety
    /// As for [`texture::access`].
    access_textures(args: *const texture::TextureArgs<'_>, what: u64, names: u64, rows: *mut Rows) calls texture::access
}

/// Calls [`refuel::refuel`] in the mode Rust expects and preserves every register, so that native code which has fuel
/// left keeps its values where they are: Cranelift's convention `preserve_all`, on x86-64 with the argument in `rdi` on
/// every system.
///
/// # Safety
/// As for [`refuel::refuel`]. No register wider than 128 bits may hold anything.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn refuel_wave(args: *mut BatchArgs) {
    // Nine registers and the return address make the stack a multiple of 16 again. The frame begins with the 32 bytes
    // that Windows' convention gives a callee; the caller's mode and ours lie above them, and above those the vectors.
    naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "sub rsp, 304",
        "stmxcsr dword ptr [rsp + 32]",
        "mov dword ptr [rsp + 36], {default}",
        "ldmxcsr dword ptr [rsp + 36]",
        "movaps xmmword ptr [rsp + 48], xmm0",
        "movaps xmmword ptr [rsp + 64], xmm1",
        "movaps xmmword ptr [rsp + 80], xmm2",
        "movaps xmmword ptr [rsp + 96], xmm3",
        "movaps xmmword ptr [rsp + 112], xmm4",
        "movaps xmmword ptr [rsp + 128], xmm5",
        "movaps xmmword ptr [rsp + 144], xmm6",
        "movaps xmmword ptr [rsp + 160], xmm7",
        "movaps xmmword ptr [rsp + 176], xmm8",
        "movaps xmmword ptr [rsp + 192], xmm9",
        "movaps xmmword ptr [rsp + 208], xmm10",
        "movaps xmmword ptr [rsp + 224], xmm11",
        "movaps xmmword ptr [rsp + 240], xmm12",
        "movaps xmmword ptr [rsp + 256], xmm13",
        "movaps xmmword ptr [rsp + 272], xmm14",
        "movaps xmmword ptr [rsp + 288], xmm15",
        // The first argument by Windows' convention; no argument by System V's.
        "mov rcx, rdi",
        "call {callee}",
        "movaps xmm0, xmmword ptr [rsp + 48]",
        "movaps xmm1, xmmword ptr [rsp + 64]",
        "movaps xmm2, xmmword ptr [rsp + 80]",
        "movaps xmm3, xmmword ptr [rsp + 96]",
        "movaps xmm4, xmmword ptr [rsp + 112]",
        "movaps xmm5, xmmword ptr [rsp + 128]",
        "movaps xmm6, xmmword ptr [rsp + 144]",
        "movaps xmm7, xmmword ptr [rsp + 160]",
        "movaps xmm8, xmmword ptr [rsp + 176]",
        "movaps xmm9, xmmword ptr [rsp + 192]",
        "movaps xmm10, xmmword ptr [rsp + 208]",
        "movaps xmm11, xmmword ptr [rsp + 224]",
        "movaps xmm12, xmmword ptr [rsp + 240]",
        "movaps xmm13, xmmword ptr [rsp + 256]",
        "movaps xmm14, xmmword ptr [rsp + 272]",
        "movaps xmm15, xmmword ptr [rsp + 288]",
        "ldmxcsr dword ptr [rsp + 32]",
        "add rsp, 304",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "ret",
        default = const DEFAULT,
        callee = sym refuel::refuel,
    );
}

/// Calls [`refuel::refuel`] in the mode Rust expects and preserves every register: Cranelift's convention
/// `preserve_all`.
///
/// # Safety
/// As for [`refuel::refuel`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn refuel_wave(args: *mut BatchArgs) {
    // The caller's mode, the registers that a callee may change, and the vectors.
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "sub sp, sp, #688",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "stp x8, x9, [sp, #80]",
        "stp x10, x11, [sp, #96]",
        "stp x12, x13, [sp, #112]",
        "stp x14, x15, [sp, #128]",
        "stp x16, x17, [sp, #144]",
        "str x18, [sp, #160]",
        "stp q0, q1, [sp, #176]",
        "stp q2, q3, [sp, #208]",
        "stp q4, q5, [sp, #240]",
        "stp q6, q7, [sp, #272]",
        "stp q8, q9, [sp, #304]",
        "stp q10, q11, [sp, #336]",
        "stp q12, q13, [sp, #368]",
        "stp q14, q15, [sp, #400]",
        "stp q16, q17, [sp, #432]",
        "stp q18, q19, [sp, #464]",
        "stp q20, q21, [sp, #496]",
        "stp q22, q23, [sp, #528]",
        "stp q24, q25, [sp, #560]",
        "stp q26, q27, [sp, #592]",
        "stp q28, q29, [sp, #624]",
        "stp q30, q31, [sp, #656]",
        "mrs x9, fpcr",
        "str x9, [sp]",
        "mov x9, #{default}",
        "msr fpcr, x9",
        "bl {callee}",
        "ldr x9, [sp]",
        "msr fpcr, x9",
        "ldp q0, q1, [sp, #176]",
        "ldp q2, q3, [sp, #208]",
        "ldp q4, q5, [sp, #240]",
        "ldp q6, q7, [sp, #272]",
        "ldp q8, q9, [sp, #304]",
        "ldp q10, q11, [sp, #336]",
        "ldp q12, q13, [sp, #368]",
        "ldp q14, q15, [sp, #400]",
        "ldp q16, q17, [sp, #432]",
        "ldp q18, q19, [sp, #464]",
        "ldp q20, q21, [sp, #496]",
        "ldp q22, q23, [sp, #528]",
        "ldp q24, q25, [sp, #560]",
        "ldp q26, q27, [sp, #592]",
        "ldp q28, q29, [sp, #624]",
        "ldp q30, q31, [sp, #656]",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x8, x9, [sp, #80]",
        "ldp x10, x11, [sp, #96]",
        "ldp x12, x13, [sp, #112]",
        "ldp x14, x15, [sp, #128]",
        "ldp x16, x17, [sp, #144]",
        "ldr x18, [sp, #160]",
        "add sp, sp, #688",
        "ldp x29, x30, [sp], #16",
        "ret",
        default = const DEFAULT,
        callee = sym refuel::refuel,
    );
}

/// Never called, as [`call_flushing`].
///
/// # Safety
/// None needed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub unsafe extern "C" fn refuel_wave(_args: *mut BatchArgs) {
    unreachable!("no code is made for this machine")
}
