//! Valid functions: every pass keeps what they compute.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::FunctionCase| shaderjit::fuzzing::passes(&case));
