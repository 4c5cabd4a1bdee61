//! The command line's contract: exit codes, what goes to stdout and stderr, the forms of inputs and outputs.
#![cfg(feature = "cli")]

mod bindings;
#[path = "../support/buffers.rs"]
mod buffers;
mod inspect;
mod run;
mod stages;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write;
use std::process::Stdio;
use support::tool::{Temporary, command, data, fails, shaderjit, stderr, stdout};

const VERBS: [&str; 9] = ["parts", "dis", "ir", "batch", "clif", "asm", "run", "diff", "bench"];

#[test]
fn bad_files_are_errors_with_an_offset_and_print_nothing() {
    let whole = std::fs::read(data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc")).unwrap();
    let files = [
        Temporary::new("empty", b""),
        Temporary::new("garbage", b"this is not a shader"),
        Temporary::new("magic", b"DXBC"),
        Temporary::new("shbin", b"DVLB\x01\0\0\0\xff\xff\xff\xff"),
        Temporary::new("truncated", &whole[..whole.len() - 1]),
        Temporary::new("header", &whole[..33]),
    ];
    for verb in VERBS {
        for file in &files {
            // A SHBIN's header is fine until its parts are looked at.
            if verb != "parts" || !file.path().ends_with("shbin") {
                let message = fails(&[verb, file.path()], 1);
                assert!(message.contains("at offset 0x"), "{verb} {message}");
            }
        }
    }
    for verb in VERBS {
        let message = fails(&[verb, "/nonexistent/file"], 1);
        assert!(message.contains("/nonexistent/file"), "{message}");
    }
}

#[test]
fn truncations_end_in_a_result_or_an_error() {
    for file in ["dxbc/vs_branches/VS.vs_4_0.fxc101.dxbc", "pica/t01_transform.shbin"] {
        let whole = std::fs::read(data(file)).unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 40) {
            let truncated = Temporary::new("cut", &whole[..length]);
            let output = shaderjit(&["run", truncated.path(), "--count", "1", "--unbound-as-zero"]);
            match output.status.code() {
                Some(0) => {}
                Some(1) => assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{file} {length}"),
                code => panic!("{file} {length}: {code:?} {}", stderr(&output)),
            }
        }
    }
}

#[test]
fn usage_errors_have_a_code_of_their_own() {
    let file = data("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc");
    fails(&[], 2);
    fails(&["no-such-verb"], 2);
    fails(&["run"], 2);
    fails(&["run", &file, "--lanes", "3"], 2);
    fails(&["run", &file, "--engine", "gpu"], 2);
    fails(&["run", &file, "--cb", "0"], 2);
    fails(&["run", &file, "--cb", "0=hex:xyz"], 2);
    fails(&["ir", &file, "--pass", "no-such-pass"], 2);
    let message = fails(&["run", &file], 2);
    assert!(message.contains("--count"), "{message}");
    assert!(stdout(&["--help"]).contains("Exit codes"));
}

#[test]
fn unsupported_and_missing_things_are_named() {
    let message = fails(&["run", &data("dxil/tessellation/hull.hs_6_1.dxil")], 1);
    assert!(message.contains("unsupported: ") && message.contains("at offset 0x"), "{message}");
    let file = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let input = data("dxbc/vs_transform/in.r0.0.bin");
    assert!(fails(&["run", &file], 1).contains("POSITION0 is not bound"));
    assert!(fails(&["run", &file, "--input", &input], 1).contains("cb0 is not bound"));
    assert!(fails(&["run", &file, "--input", "hex:00112233"], 1).contains("no whole number of vertices"));
    assert!(
        fails(&["run", &file, "--input", &input, "--count", "1000", "--unbound-as-zero"], 1).contains("are needed")
    );
    assert!(fails(&["run", &file, "--entry", "1"], 1).contains("no entry 1"));
    assert!(fails(&["run", &data("pica/t01_transform.shbin"), "--uniforms", "hex:00"], 1).contains("1556"));
}

#[test]
fn files_come_from_standard_input_too() {
    let bytes = std::fs::read(data("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc")).unwrap();
    let mut child =
        command(&["run", "-", "--count", "1"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("0     SV_Position0"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    // More than a pipe holds, so that the write meets the closed end.
    let args = ["run", &data("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc"), "--count", "20000"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}
