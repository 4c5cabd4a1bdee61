//! Any bytes: containers and all their parts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shaderjit::fuzzing::container(bytes));
