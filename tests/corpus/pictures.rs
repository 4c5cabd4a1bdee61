//! Draws through the command line, with the options of the runs that an executor made, on every engine: what is printed
//! are its results. `ps_*` has them as lines, `pipe_*` as pictures, which are stored compressed.
//!
//! In pictures every pixel must be covered that is covered there, and no other. Colours may be 1e-4 of their size
//! apart; `pipe_ground` samples a texture, and says why that is more. Depths may be 2^-20.5 apart: [`Rule::depth`] says
//! why.

use crate::pixels::{is_close, is_left_out, tolerance, with_fine_derivatives, with_results};
use crate::support::tool::engines;
use crate::{data, names, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The words of each line, by its name.
type Lines = BTreeMap<String, Vec<u32>>;

fn lines(text: &str) -> Lines {
    let line = |line: &str| {
        let (front, words) = line.rsplit_once("  [").unwrap_or_else(|| panic!("{line} has no words"));
        let words = words.trim_end_matches(']').split(' ');
        let words = words.map(|word| u32::from_str_radix(word, 16).expect("words in hexadecimal")).collect();
        (front.split(' ').next().expect("a name").to_string(), words)
    };
    text.lines().map(line).collect()
}

/// What a command of the corpus prints, the same on all engines.
fn run(folder: &Path, command: &str, pixel: &Path) -> Lines {
    let options: Vec<&str> = command.split_whitespace().skip(1).collect();
    let place = options.iter().position(|&option| option == "--ps").expect("there is a pixel shader") + 1;
    let mut printed = None;
    for engine in engines() {
        let mut call = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
        call.current_dir(folder).arg("run");
        for (number, option) in options.iter().enumerate() {
            if number == place {
                call.arg(pixel)
            } else {
                call.arg(option)
            };
        }
        let output = call.args(engine).output().expect("the tool runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command} {engine:?}: {errors}");
        let text = String::from_utf8(output.stdout).expect("lines are text");
        let first = printed.get_or_insert_with(|| text.clone());
        assert!(*first == text, "{command}: {engine:?} prints something else");
    }
    lines(&printed.expect("there are engines"))
}

/// Whether a word is no integer that a shader here has put out: those are small or negative.
fn looks_like_float(word: u32) -> bool {
    matches!(word & 0x7fff_ffff, 0 | 0x0080_0000..=0x7fc0_0000)
}

/// Every run of a case, with each container that has a result.
fn check_lines(case: &str) {
    let folder = data().join("dxbc").join(case);
    let names = names(&folder);
    let (mut checked, mut failures) = (0, Vec::new());
    for command_file in names.iter().filter(|name| name.ends_with(".cmd")) {
        let command = String::from_utf8(read(&folder.join(command_file))).expect("commands are text");
        let entry = command.split("--ps ").nth(1).and_then(|rest| rest.split('.').next()).expect("a pixel shader");
        for (container, result) in with_results(&folder, &names, command_file, entry) {
            // The executor takes coarse derivatives for fine ones.
            let pixel = std::env::temp_dir().join(format!("shaderjit-{}-{case}-{container}", std::process::id()));
            std::fs::write(&pixel, with_fine_derivatives(read(&folder.join(container)))).expect("it can be written");
            let found = run(&folder, &command, &pixel);
            std::fs::remove_file(&pixel).expect("it can be removed");
            let wanted = lines(&String::from_utf8(read(&result)).expect("results are text"));
            assert!(found.keys().eq(wanted.keys()), "{case}/{container}: lines are missing, or too many");
            for (name, words) in &wanted {
                let is_float = words.iter().all(|&word| looks_like_float(word));
                for (component, (&ours, &theirs)) in found[name].iter().zip(words).enumerate() {
                    let is_same = ours == theirs
                        || is_left_out(case, container, name, component, theirs)
                        || is_float && is_close(ours, theirs, tolerance(case));
                    if !is_same {
                        let floats = [ours, theirs].map(f32::from_bits);
                        failures
                            .push(format!("{container}: {name}.{component} {ours:x} is not {theirs:x}, {floats:?}"));
                    }
                }
            }
            checked += 1;
        }
    }
    let some = failures[..failures.len().min(12)].join("\n");
    assert!(failures.is_empty(), "{} values differ\n{some}", failures.len());
    assert!(checked > 0, "{case}: nothing to compare");
}

/// How far the values of a picture may be apart.
struct Rule {
    /// Colours: relative, or absolute below 1.
    color: f32,
    /// Depths. The executor's planes begin at the target's corner, so its depths are off by up to 2^-20.9 where a
    /// triangle is far from there; computed in doubles, they are 2 to 3 times as far from what is meant as these are.
    depth: f32,
    /// Components that are not compared with the colours' rule, and theirs.
    other: Option<(usize, f32)>,
}

fn compressed(folder: &Path, name: &str) -> Option<Vec<u32>> {
    let path = folder.join(name);
    let bytes = path.exists().then(|| read(&path))?;
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).expect("it was compressed");
    Some(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn check_picture(case: &str, rule: &Rule) {
    const SIZE: usize = 128;
    let folder = data().join("dxbc").join(case);
    let command = String::from_utf8(read(&folder.join("run.r0.cmd"))).expect("commands are text");
    let found = run(&folder, &command, Path::new("PS.ps_5_0.fxc101.dxbc"));
    let untouched = (-7777.0f32).to_bits();
    let mut failures = Vec::new();
    let mut fail = |what: String| failures.push(what);
    let colors = compressed(&folder, "ref.r0.rt0.bin.z").expect("there is a picture");
    let depths = compressed(&folder, "ref.r0.depth.bin.z");
    let counts = compressed(&folder, "ref.r0.uav1.bin.z");
    for place in 0..SIZE * SIZE {
        let (x, y) = (place % SIZE, place / SIZE);
        let (ours, theirs) = (&found[&format!("rt0({x},{y})")], &colors[4 * place..][..4]);
        if (ours[0] == untouched) != (theirs[0] == untouched) {
            fail(format!("coverage of ({x}, {y})"));
            continue;
        }
        for component in 0..4 {
            let [a, b] = [ours[component], theirs[component]].map(f32::from_bits);
            let limit = match rule.other {
                Some((other, limit)) if other == component => limit,
                _ => rule.color,
            };
            if (a - b).abs() > limit * b.abs().max(1.0) {
                fail(format!("colour {component} of ({x}, {y}): {a} is not {b}"));
            }
        }
        if let Some(depths) = &depths {
            let [a, b] = [found[&format!("depth({x},{y})")][0], depths[place]].map(f32::from_bits);
            if (a - b).abs() > rule.depth {
                fail(format!("depth of ({x}, {y}): {a} is not {b}"));
            }
        }
        if let Some(counts) = &counts
            && found[&format!("u1[{place}]")] != [counts[place]]
        {
            fail(format!("how often ({x}, {y}) is shaded"));
        }
    }
    let some = failures[..failures.len().min(12)].join("\n");
    assert!(failures.is_empty(), "{case}: {} values differ\n{some}", failures.len());
}

/// 2^-20.5: the executor's own error at most, beside ours.
const DEPTH: f32 = 6.8e-7;

#[test]
fn pipe_clip() {
    check_picture("pipe_clip", &Rule { color: 1e-4, depth: DEPTH, other: None });
}

#[test]
fn pipe_fill() {
    check_picture("pipe_fill", &Rule { color: 0.0, depth: 0.0, other: None });
}

#[test]
fn pipe_ground() {
    // Between two levels the executor is quicker than linear: its colours are ours where the fraction of the level is 0
    // or a half, and farthest in the middle between (llvmpipe's "brilinear" filter); and it rounds each step to 8 bits.
    // Alpha is the level itself.
    check_picture("pipe_ground", &Rule { color: 8.0 / 255.0, depth: DEPTH, other: Some((3, 1e-4)) });
}

#[test]
fn pipe_two() {
    check_picture("pipe_two", &Rule { color: 1e-4, depth: DEPTH, other: None });
}

macro_rules! cases {
    ($( $name:ident )*) => { $( #[test] fn $name() { check_lines(stringify!($name)); } )* };
}

cases! {
    ps_deriv ps_discard ps_early ps_interp ps_mrt ps_raymarch ps_sample ps_uav
    ps_cmp ps_cube3d ps_derivs2 ps_divloop ps_foliage ps_helper ps_mips ps_msaa ps_sysin ps_tbn
}
