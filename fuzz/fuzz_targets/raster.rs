//! Draws: any vertices, any states.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: shaderjit::fuzzing::RasterCase| shaderjit::fuzzing::raster(&case));
