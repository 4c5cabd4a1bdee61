//! Modules of a grammar of ours, of every stage: they are valid, and run alike on every engine.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::SpirvMadeCase| shaderjit::fuzzing::spirv_made(&case));
