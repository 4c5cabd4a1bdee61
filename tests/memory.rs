//! Code that nobody holds any more is freed: compiling many shaders leaves the process as small as it was.
#![cfg(target_os = "linux")]

use shaderjit::{CompileOptions, Config, Engine, Shader};

/// After so many every pool and cache has reached its size.
const WARM: u32 = 100;
const SHADERS: u32 = 10_000;

/// Pages of this process that are in memory.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// `mov o0, c<n>` and so on: a PICA program for each number.
fn shader(number: u32) -> Shader {
    let mov = |destination: u32, uniform: u32| 0x13 << 26 | destination << 21 | (0x20 + uniform) << 12;
    let digits = [number % 96, number / 96 % 96, number / 96 / 96 % 96];
    let words = [mov(0, digits[0]), mov(1, digits[1]), mov(2, digits[2]), 0x22 << 26];
    // Every component, unswizzled.
    Shader::from_pica_words(&words, &[0x36f], 0)
}

#[test]
fn many_shaders_leave_no_memory_behind() {
    let engine = Engine::new(Config::default().cache_bytes(1 << 20)).unwrap();
    let compile = |number| {
        let code = engine.compile(&shader(number), &CompileOptions::default()).unwrap();
        let outputs = code.call().unbound_as_zero(true).run(0..5).unwrap();
        assert_eq!(outputs.bytes().len(), 5 * 256);
    };
    (0..WARM).for_each(compile);
    let before = resident();
    (WARM..WARM + SHADERS).for_each(compile);
    let after = resident();
    assert_eq!(engine.cache_stats().compiles, 2 * u64::from(WARM + SHADERS));
    assert!(after * 10 <= before * 11, "{before} pages before, {after} after");
}
