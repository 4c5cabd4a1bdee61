//! Any words: PICA200 programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::PicaCase| shaderjit::fuzzing::pica(&case));
