//! Random PICA200 programs: both engines, every form of control flow, against the rings of one vertex at a time.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::PicaRunCase| shaderjit::fuzzing::pica_run(&case));
