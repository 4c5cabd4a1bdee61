//! Valid functions: interpreter and native code give the same bits.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::DifferentialCase| shaderjit::fuzzing::differential(&case));
