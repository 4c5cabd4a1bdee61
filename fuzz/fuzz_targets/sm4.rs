//! Any tokens: SM4/SM5 programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|tokens: &[u8]| shaderjit::fuzzing::sm4(tokens));
