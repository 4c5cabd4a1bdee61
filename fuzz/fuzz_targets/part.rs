//! Any bytes: parts of a container, by name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shaderjit::fuzzing::container_part(bytes));
