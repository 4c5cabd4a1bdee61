//! Changed modules: whatever their words say, they run alike on every engine or are a typed error.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::SpirvCase| shaderjit::fuzzing::spirv(&case));
