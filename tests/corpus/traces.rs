//! Traces of invocations of every stage, through the command line: they end with what the run prints, to the bit, and
//! what the instructions wrote last to output registers is what the run has for the invocation.

use crate::{data, names};
use std::path::Path;
use std::process::Command;

/// The command's standard output, if it succeeds; else its message.
fn output(folder: &Path, verb: &str, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
    let output = command.arg(verb).args(options).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The invocations to trace of a run with these options.
fn targets(options: &[&str]) -> Vec<[&'static str; 2]> {
    let stages: [(&str, &[[&str; 2]]); 6] = [
        ("--vs", &[["--vertex", "0"], ["--vertex", "2"]]),
        ("--hs", &[["--patch", "0"]]),
        ("--ds", &[["--point", "0"], ["--point", "3"]]),
        ("--gs", &[["--invocation", "0"], ["--invocation", "1"]]),
        ("--ps", &[["--pixel", "3,3"], ["--pixel", "2,5"]]),
        ("--cs", &[["--thread", "0,0,0"], ["--thread", "1,0,0"]]),
    ];
    let is_there = |stage: &str| options.contains(&stage) && (stage != "--ps" || options.contains(&"--rt"));
    stages.iter().filter(|(stage, _)| is_there(stage)).flat_map(|(_, targets)| *targets).copied().collect()
}

#[test]
fn traces_end_with_what_the_run_prints() {
    let (mut traced, mut absent, root) = (std::collections::BTreeMap::new(), 0, data().join("dxbc"));
    for case in names(&root) {
        let folder = root.join(&case);
        for command in names(&folder).iter().filter(|name| name.ends_with(".cmd")) {
            let text = std::fs::read_to_string(folder.join(command)).unwrap();
            let options: Vec<&str> = text.split_whitespace().skip(1).collect();
            let Ok(wanted) = output(&folder, "run", &options) else { continue };
            for target in targets(&options) {
                match output(&folder, "trace", &[&options[..], &target].concat()) {
                    Ok(found) => {
                        let steps = found.strip_suffix(&wanted);
                        let steps = steps.unwrap_or_else(|| panic!("{case} {command} {target:?}: other outputs"));
                        assert!(
                            steps.lines().any(|line| line.starts_with("0x")),
                            "{case} {command} {target:?}: {steps}"
                        );
                        *traced.entry(target[0]).or_insert(0) += 1;
                    }
                    Err(error) if error.contains("no such invocation") => absent += 1,
                    Err(error) => panic!("{case} {command} {target:?}: {error}"),
                }
            }
        }
    }
    println!("{traced:?}, {absent} absent");
    assert!(traced.values().all(|&count| count > 5) && traced.len() == 6, "{traced:?}");
}

/// A shader with a loop, of which one vertex is traced.
fn of_branches(more: &[&str]) -> Result<String, String> {
    let folder = data().join("dxbc/vs_branches");
    let text = std::fs::read_to_string(folder.join("run.r0.cmd")).unwrap();
    let mut options: Vec<&str> = text.split_whitespace().skip(1).collect();
    if let Some(at) = options.iter().position(|option| *option == "--vs") {
        // By itself, without a pipeline around it.
        options.remove(at);
    }
    output(&folder, "trace", &[&options[..], &["--vertex", "3"], more].concat())
}

#[test]
fn traces_are_watched_and_stopped() {
    let whole = of_branches(&[]).unwrap();
    let offsets: Vec<&str> = whole.lines().filter(|line| line.starts_with("0x")).map(|line| &line[..10]).collect();
    assert!(offsets.len() > 10, "{whole}");

    let until = of_branches(&["--until", &format!("offset={}", offsets[4])]).unwrap();
    let (steps, _) = until.split_once("stopped: the offset is reached\n").expect("it stops");
    assert_eq!(steps.lines().filter(|line| line.starts_with("0x")).count(), 5, "{until}");
    assert!(whole.starts_with(steps), "{until}");

    let few = of_branches(&["--steps", "3"]).unwrap();
    assert!(few.contains("stopped: 3 instructions are told"), "{few}");

    let watched = of_branches(&["--watch", "o0.x"]).unwrap();
    let steps: Vec<&str> = watched.lines().filter(|line| line.starts_with("0x")).collect();
    assert!(!steps.is_empty() && steps.len() < offsets.len() && steps.iter().all(|line| line.contains(" o0.")));

    let json = of_branches(&["--json"]).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["steps"].as_array().unwrap().len(), offsets.len());
    assert!(json["steps"][0]["writes"][0]["register"].is_string() && json["outputs"][0].is_string(), "{json}");

    let error = of_branches(&["--until", "never"]).unwrap_err();
    assert!(error.contains("none of nan, inf and offset"), "{error}");
    let folder = data().join("dxbc/vs_branches");
    let none =
        output(&folder, "trace", &["VS.vs_5_0.fxc101.dxbc", "--count", "1", "--unbound-as-zero", "--vertex", "7"]);
    assert!(none.unwrap_err().contains("no such invocation is run"));
}

#[test]
fn two_traces_part_where_their_values_do() {
    let folder = data().join("dxbc/vs_sysvals");
    let trace = |other: &str, vertex: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
        let options = ["trace", "VS.vs_5_0.fxc101.dxbc", "--count", "3", "--vertex", vertex, "--diff", other];
        let output = command.args(options).current_dir(&folder).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = trace("VS.vs_5_0.fxc101.dxbc", "2");
    assert!(code == Some(0) && text.starts_with("equal: "), "{text}");
    // The same instructions, another literal: 1000 in `imad o1.z` becomes 1001.
    let mut changed = std::fs::read(folder.join("VS.vs_5_0.fxc101.dxbc")).unwrap();
    let literal = changed.windows(4).position(|word| word == 1000u32.to_le_bytes()).expect("it is there");
    changed[literal..literal + 4].copy_from_slice(&1001u32.to_le_bytes());
    let file = crate::support::tool::Temporary::new("trace-diff", &changed);
    let (code, text) = trace(file.path(), "2");
    assert!(code == Some(1) && text.contains("imad o1.z, v0.x, l(1001), v1.x"), "{text}");
    assert!(text.contains("o1.z = 2000") && text.contains("o1.z = 2002"), "{text}");
    // Vertex 0 does not see the difference.
    assert_eq!(trace(file.path(), "0").0, Some(0));
}
