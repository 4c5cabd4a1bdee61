//! Instruction vectors from elsewhere: tiny pixel shaders with what they must compute, in the directory that the
//! environment variable `SHADERJIT_EXTERNAL` names.
//!
//! The directory holds `NAME.dxbc` and `tests.json`, a list of cases: `shader` (NAME), `cb0` (dwords in hexadecimal),
//! `o0` (the four dwords expected) and `compare` (`bits`, or `f32 Nulp`). The shaders read nothing but `cb0`.

use serde_json::Value;
use shaderjit::{Backend, CompileOptions, Config, Engine, Lanes, Outputs, Shader};
use std::path::Path;

const VARIABLE: &str = "SHADERJIT_EXTERNAL";

/// More than two groups of either width and a tail.
const PIXELS: u32 = 21;

fn words(list: &Value) -> Vec<u32> {
    let words = list.as_array().expect("a list of dwords").iter();
    words.map(|word| u32::from_str_radix(word.as_str().expect("a string"), 16).expect("hex digits")).collect()
}

/// Floats in order: a step of one is a unit in the last place.
fn ordered(bits: u32) -> i64 {
    let magnitude = i64::from(bits & 0x7fff_ffff);
    if bits >> 31 == 0 { magnitude } else { -magnitude }
}

fn agrees(found: u32, expected: u32, compare: &str) -> bool {
    let Some(ulps) = compare.strip_prefix("f32 ").and_then(|rest| rest.strip_suffix("ulp")) else {
        assert_eq!(compare, "bits");
        return found == expected;
    };
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    if is_nan(found) || is_nan(expected) {
        return is_nan(found) && is_nan(expected);
    }
    (ordered(found) - ordered(expected)).abs() <= ulps.parse().expect("a number of units")
}

/// What is wrong with one case on one engine.
fn run(engine: &Engine, shader: &Shader, options: &CompileOptions, case: &Value) -> Result<(), String> {
    let code = engine.compile(shader, options).map_err(|error| error.to_string())?;
    let constants: Vec<u8> = words(&case["cb0"]).into_iter().flat_map(u32::to_le_bytes).collect();
    let mut call = code.call();
    // A shader may use no constants.
    let _ = call.constant_buffer(0, &constants);
    let outputs: Outputs = call.run(0..PIXELS).map_err(|error| error.to_string())?;
    let view = outputs.output("SV_Target", 0).ok_or("there is no SV_Target0")?;
    let (expected, compare) = (words(&case["o0"]), case["compare"].as_str().expect("a string"));
    for pixel in 0..PIXELS as usize {
        let found = view.bits(pixel).ok_or("a pixel is missing")?;
        let agree = found.iter().zip(&expected).all(|(&found, &expected)| agrees(found, expected, compare));
        if !agree {
            return Err(format!("pixel {pixel} has {found:08x?}, not {expected:08x?} ({compare})"));
        }
    }
    Ok(())
}

#[test]
fn external_vectors_agree() {
    let Some(folder) = std::env::var_os(VARIABLE) else {
        println!("skipped: {VARIABLE} is not set");
        return;
    };
    let read = |name: &str| {
        let path = Path::new(&folder).join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let cases: Value = serde_json::from_slice(&read("tests.json")).expect("tests.json is JSON");
    let cases = cases.as_array().expect("tests.json is a list");
    let options = CompileOptions::default();
    let ways = [
        ("the interpreter", options.clone().backend(Backend::Interpreter)),
        ("native code with four lanes", options.clone().lanes(Lanes::Four)),
        ("native code with eight lanes", options.clone().lanes(Lanes::Eight)),
        ("native code with sixteen lanes", options.lanes(Lanes::Sixteen)),
    ];
    let engine = Engine::new(Config::default()).expect("this machine has native code");
    let mut failures = Vec::new();
    for (way, options) in &ways {
        let mut agreed = 0;
        for (number, case) in cases.iter().enumerate() {
            let name = case["shader"].as_str().expect("a string");
            let shader = Shader::parse(&read(&format!("{name}.dxbc")));
            let shader = shader.unwrap_or_else(|error| panic!("{name}: {error}"));
            match run(&engine, &shader, options, case) {
                Ok(()) => agreed += 1,
                Err(what) => failures.push(format!("case {number}, {name} on {way}: {what}")),
            }
        }
        println!("{way}: {agreed} of {} cases", cases.len());
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
