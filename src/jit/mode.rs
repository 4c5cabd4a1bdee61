//! The processor's floating-point mode. Native code runs with denormals flushed, Rust code in the mode it expects; the
//! switches between the two are assembly, because the compiler may not see any Rust code run in another mode.

use super::abi::BatchArgs;
use super::{double, refuel, texture};
use shaderjit_ir::texture::Rows;
use std::arch::naked_asm;

/// MXCSR as Rust expects it: all exceptions masked, to nearest even. The flags that say which exceptions there were,
/// which Rust leaves open, are all set: to raise one that is not costs a processor some thirty nanoseconds.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u32 = 0x1f80 | 0x3f;

/// FPCR as Rust expects it.
#[cfg(target_arch = "aarch64")]
const DEFAULT: u64 = 0;

/// MXCSR as native code has it, with DAZ and FTZ set, or as it is for doubles, whose denormals are kept.
#[cfg(target_arch = "x86_64")]
pub const fn mxcsr(flushes: bool) -> u32 {
    const DENORMALS_ARE_ZERO: u32 = 1 << 6;
    const FLUSH_TO_ZERO: u32 = 1 << 15;
    if flushes { DEFAULT | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO } else { DEFAULT }
}

/// Other machines have no such register.
#[cfg(not(target_arch = "x86_64"))]
pub const fn mxcsr(_flushes: bool) -> u32 {
    0
}

/// Calls native code with denormals flushed: FPCR with FZ set.
///
/// # Safety
/// `entry` must be the entry of live code of the system's ABI, and `args` what it expects.
#[cfg(target_arch = "aarch64")]
pub unsafe fn call_flushing(entry: *const u8, args: &mut BatchArgs, count: u32) -> u32 {
    const FLUSH_TO_ZERO: u64 = 1 << 24;
    let status: u32;
    // SAFETY: the caller vouches for the call itself. The mode is restored before the block ends; x20 to x22 are
    // preserved by the ABI.
    unsafe {
        std::arch::asm!(
            "mrs x20, fpcr",
            "msr fpcr, x21",
            "blr x22",
            "msr fpcr, x20",
            out("x20") _,
            in("x21") DEFAULT | FLUSH_TO_ZERO,
            in("x22") entry,
            in("x0") std::ptr::from_mut(args),
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
    access_textures(args: *const texture::TextureArgs<'_>, number: u64, lanes: u64, rows: *mut Rows) calls texture::access
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
        ".irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11",
        r"push \register",
        ".endr",
        "sub rsp, 304",
        "stmxcsr dword ptr [rsp + 32]",
        "mov dword ptr [rsp + 36], {default}",
        "ldmxcsr dword ptr [rsp + 36]",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
        r"movaps xmmword ptr [rsp + 48 + 16 * \number], xmm\number",
        ".endr",
        // The first argument by Windows' convention; no argument by System V's.
        "mov rcx, rdi",
        "call {callee}",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
        r"movaps xmm\number, xmmword ptr [rsp + 48 + 16 * \number]",
        ".endr",
        "ldmxcsr dword ptr [rsp + 32]",
        "add rsp, 304",
        ".irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax",
        r"pop \register",
        ".endr",
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
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18",
        r"str x\number, [sp, 16 + 8 * \number]",
        ".endr",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        r"str q\number, [sp, 176 + 16 * \number]",
        ".endr",
        "mrs x9, fpcr",
        "str x9, [sp]",
        "mov x9, #{default}",
        "msr fpcr, x9",
        "bl {callee}",
        "ldr x9, [sp]",
        "msr fpcr, x9",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        r"ldr q\number, [sp, 176 + 16 * \number]",
        ".endr",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18",
        r"ldr x\number, [sp, 16 + 8 * \number]",
        ".endr",
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

/// Defines [`refuel_wave`] for code with wider vectors: it finds the arguments eight bytes below where `rbp` points,
/// and the caller has saved `rax`.
#[cfg(target_arch = "x86_64")]
macro_rules! refuel_wide {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $vector:literal, $numbers:literal $(, $masks:literal)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`refuel::refuel`]; never called but by native code.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            // The memory begins with the 32 bytes that Windows' convention gives a callee; the caller's mode and ours
            // lie above them, above those the masks and then the vectors.
            naked_asm!(
                ".irp register, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rbx",
                r"push \register",
                ".endr",
                // The first argument by System V's convention, and by Windows'.
                "mov rdi, qword ptr [rbp - 8]",
                "mov rcx, rdi",
                "mov rbx, rsp",
                "sub rsp, 128 + {bytes}",
                "and rsp, -64",
                "stmxcsr dword ptr [rsp + 32]",
                "mov dword ptr [rsp + 36], {default}",
                "ldmxcsr dword ptr [rsp + 36]",
                $(
                    concat!(".irp number, ", $masks),
                    r"kmovw word ptr [rsp + 64 + 8 * \number], k\number",
                    ".endr",
                )?
                concat!(".irp number, ", $numbers),
                concat!(r"vmovups [rsp + 128 + {width} * \number], ", $vector, r"\number"),
                ".endr",
                "vzeroupper",
                "call {callee}",
                concat!(".irp number, ", $numbers),
                concat!("vmovups ", $vector, r"\number, [rsp + 128 + {width} * \number]"),
                ".endr",
                $(
                    concat!(".irp number, ", $masks),
                    r"kmovw k\number, word ptr [rsp + 64 + 8 * \number]",
                    ".endr",
                )?
                "ldmxcsr dword ptr [rsp + 32]",
                "mov rsp, rbx",
                ".irp register, rbx, r11, r10, r9, r8, rdi, rsi, rdx, rcx",
                r"pop \register",
                ".endr",
                "ret",
                bytes = const $bytes,
                width = const if $bytes == 512 { 32 } else { 64 },
                default = const DEFAULT,
                callee = sym refuel::refuel,
            );
        }
    };
}

#[cfg(target_arch = "x86_64")]
refuel_wide! {
    /// [`refuel_wave`] for code with AVX2.
    refuel_avx2, 512, "ymm", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15"
}

#[cfg(target_arch = "x86_64")]
refuel_wide! {
    /// [`refuel_wave`] for code with AVX-512.
    refuel_avx512, 2048, "zmm", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, \
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31", "0, 1, 2, 3, 4, 5, 6, 7"
}

/// The address of what code with AVX2, or with AVX-512, calls for fuel.
#[cfg(target_arch = "x86_64")]
pub fn refuel_wide(is_avx512: bool) -> usize {
    if is_avx512 { refuel_avx512 as *const () as usize } else { refuel_avx2 as *const () as usize }
}

/// No such code is made for other machines.
#[cfg(not(target_arch = "x86_64"))]
pub fn refuel_wide(_is_avx512: bool) -> usize {
    0
}
