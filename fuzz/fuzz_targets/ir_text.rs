//! Any text: the IR's text form.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| shaderjit::fuzzing::ir_text(text));
