//! Thread groups: random functions that write memory and wait for each other, on every engine.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::GroupCase| shaderjit::fuzzing::groups(&case));
