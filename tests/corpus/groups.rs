//! Compute shaders through the command line, with the options of the runs that executors made: what is printed are
//! their results, and the same on every engine of one width.
//!
//! Integers and moved bits must be equal, floats close, for executors fuse a multiplication and an addition or do not.
//! What of a case is compared otherwise is in [`rule`].

use crate::{data, names};
use std::path::Path;
use std::process::Command;

/// How a case's lines are compared.
#[derive(Clone, Copy)]
pub struct Rule {
    /// How far floats may be apart beside 1e-4 of their size.
    absolute: f64,
    /// Words in pairs are doubles.
    doubles: bool,
    /// In which order elements are written is open.
    any_order: bool,
    /// Stored halves and bytes may be one step apart: a tie may go either way.
    steps: bool,
    /// Lines that are not compared.
    left_out: &'static [&'static str],
}

impl Rule {
    /// What is forgiven everywhere.
    pub const CLOSE: Rule = Rule { absolute: 1e-5, doubles: false, any_order: false, steps: false, left_out: &[] };
}

pub fn rule(case: &str) -> Rule {
    let rule = Rule::CLOSE;
    match case {
        // The driver filters with weights of few bits.
        "cs_blur" | "cs_reads" => Rule { absolute: 1.0 / 128.0, ..rule },
        // What one rounding changes grows with each of the iterations.
        "cs_mandel" => Rule { absolute: 1e-2, ..rule },
        // It flushes denormal doubles, which Direct3D keeps.
        "cs_double" | "vs_double" => Rule { doubles: true, ..rule },
        "cs_append" | "cs_counters" => Rule { any_order: true, ..rule },
        "cs_fmt_float" => Rule { steps: true, ..rule },
        // Minima and maxima go to one word, and which are first is open.
        "cs_atomics" => Rule { left_out: &["u2["], ..rule },
        _ => rule,
    }
}

/// The words behind a line's name, in hexadecimal, or all of it if it has none.
fn words(line: &str) -> Vec<&str> {
    match line.split_once("  [") {
        Some((_, words)) => words.trim_end_matches(']').split(' ').collect(),
        None => vec![line],
    }
}

fn are_close(a: f64, b: f64, absolute: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + absolute
}

fn is_same(found: &str, wanted: &str, rule: Rule) -> bool {
    if found == wanted || rule.left_out.iter().any(|name| wanted.starts_with(name)) {
        return true;
    }
    let (found, wanted) = (words(found), words(wanted));
    let bits =
        |words: &[&str]| -> Option<Vec<u64>> { words.iter().map(|word| u64::from_str_radix(word, 16).ok()).collect() };
    let (Some(found_bits), Some(wanted_bits)) = (bits(&found), bits(&wanted)) else { return false };
    let have_width = found.iter().zip(&wanted).all(|(a, b)| a.len() == b.len());
    if found.len() != wanted.len() || !have_width {
        return false;
    }
    if rule.doubles {
        let double = |pair: &[u64]| f64::from_bits(pair[1] << 32 | pair[0]);
        let pairs = found_bits.chunks(2).zip(wanted_bits.chunks(2));
        return pairs.into_iter().all(|(a, b)| a == b || are_close(double(a), double(b), rule.absolute));
    }
    found_bits.iter().zip(&wanted_bits).all(|(&a, &b)| {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        // Small integers are denormal floats, which are not close to anything.
        let is_float = x.abs().max(y.abs()) > 1e-30 || x.is_nan();
        let steps = (0..4).all(|byte| (a >> (8 * byte) & 0xff).abs_diff(b >> (8 * byte) & 0xff) <= 1);
        a == b || is_float && are_close(x.into(), y.into(), rule.absolute) || rule.steps && steps
    })
}

/// The first line that is not as recorded.
pub fn difference(found: &str, wanted: &str, rule: Rule) -> Option<String> {
    let (mut found, mut wanted): (Vec<&str>, Vec<&str>) = (found.lines().collect(), wanted.lines().collect());
    if found.len() != wanted.len() {
        return Some(format!("{} lines, not {}", found.len(), wanted.len()));
    }
    if rule.any_order {
        let without_index = |line: &&str| match line.split_once(['[', ']']) {
            Some((name, rest)) => format!("{name}{}", rest.split_once(']').map_or(rest, |(_, rest)| rest)),
            None => line.to_string(),
        };
        found.sort_by_key(without_index);
        wanted.sort_by_key(without_index);
        let differs = found.iter().zip(&wanted).find(|(a, b)| without_index(a) != without_index(b));
        return differs.map(|(found, wanted)| format!("{found}\n not {wanted}"));
    }
    let differs = found.iter().zip(&wanted).find(|(found, wanted)| !is_same(found, wanted, rule));
    differs.map(|(found, wanted)| format!("{found}\n not {wanted}"))
}

/// What a run prints.
pub fn printed(folder: &Path, options: &[&str], more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
    let output = command.arg("run").args(more).args(options).current_dir(folder).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn command_lines_of_runs_print_what_executors_recorded() {
    let (mut results, root) = (0, data().join("dxbc"));
    for case in names(&root).into_iter().filter(|case| case.starts_with("cs_")) {
        let folder = root.join(&case);
        let files = names(&folder);
        for command in files.iter().filter(|name| name.ends_with(".cmd")) {
            let run = command.trim_end_matches("cmd");
            let text = std::fs::read_to_string(folder.join(command)).unwrap();
            let all: Vec<&str> = text.split_whitespace().skip(1).collect();
            let at = all.iter().position(|option| *option == "--cs").expect("it runs a compute shader") + 1;
            let entry = all[at].split('.').next().unwrap();
            for result in files.iter().filter(|name| name.starts_with(run) && name.ends_with(".dxvk.txt")) {
                let container = format!("{entry}.{}.dxbc", &result[run.len()..result.len() - ".dxvk.txt".len()]);
                let mut options = all.clone();
                options[at] = &container;
                let wanted = std::fs::read_to_string(folder.join(result)).unwrap();
                for lanes in ["4", "8", "16"] {
                    let [native, interpreted] = ["jit", "interp"]
                        .map(|engine| printed(&folder, &options, &["--lanes", lanes, "--engine", engine]));
                    // Two vectors of 128 bits for each value.
                    let pairs = printed(&folder, &options, &["--lanes", lanes, "--vectors", "cranelift"]);
                    assert!(lanes == "16" || pairs == interpreted, "{case} {result}: pairs with {lanes} lanes");
                    assert!(native == interpreted, "{case} {result}: engines differ with {lanes} lanes");
                    if let Some(differs) = difference(&native, &wanted, rule(&case)) {
                        // Some executors round a product and a sum twice.
                        let twice = printed(&folder, &options, &["--lanes", lanes, "--mad", "separate"]);
                        let differs_twice = difference(&twice, &wanted, rule(&case));
                        assert!(differs_twice.is_none(), "{case} {result} with {lanes} lanes: {differs}");
                    }
                }
                results += 1;
            }
        }
    }
    assert_eq!(results, 89);
}
