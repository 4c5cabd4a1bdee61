//! Valid SM4/SM5 programs: validator, listing, encoding, both engines and the interpreter before any pass.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::Sm5Case| shaderjit::fuzzing::sm5(&case));
