//! Valid functions: interpreter and native code give the same bits.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::DifferentialCase| shaderjit::fuzzing::differential(&case));
