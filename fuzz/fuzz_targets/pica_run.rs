//! Random PICA200 programs: both engines, every form of control flow, against the rings of one vertex at a time.
#![no_main]

/// Native code runs under guard pages.
#[global_allocator]
static FENCE: shaderjit_fuzz::fence::Fence = shaderjit_fuzz::fence::Fence;

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::PicaRunCase| shaderjit::fuzzing::pica_run(&case));
