//! The command line's contract: exit codes, what goes to stdout and stderr, the forms of inputs and outputs.
#![cfg(feature = "cli")]

#[path = "support/buffers.rs"]
mod buffers;
mod support;

use std::io::Write;
use std::process::Stdio;
use support::tool::{Folder, LAYOUT, Temporary, command, data, fails, shaderjit, stderr, stdout};

const VERBS: [&str; 9] = ["parts", "dis", "ir", "batch", "clif", "asm", "run", "diff", "bench"];

#[test]
fn parts_are_extracted_by_name_and_by_number() {
    let path = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let file = std::fs::read(&path).unwrap();
    let listing: serde_json::Value = serde_json::from_str(&stdout(&["parts", &path, "--json"])).unwrap();
    for (number, part) in (1..).zip(listing["parts"].as_array().unwrap()) {
        let start = part["offset"].as_u64().unwrap() as usize + 8;
        let data = &file[start..start + part["size"].as_u64().unwrap() as usize];
        for selector in [part["name"].as_str().unwrap(), &format!("#{number}")] {
            let output = shaderjit(&["extract", &path, selector]);
            assert!(output.status.success() && output.stdout == data, "{selector}");
        }
    }
    let shbin = data("pica/t27_shared_a.shbin");
    let file = std::fs::read(&shbin).unwrap();
    let parts = ["DVLP", "DVLE 0", "DVLE 1"].map(|name| shaderjit(&["extract", &shbin, name]).stdout);
    assert!(parts.iter().all(|part| part.starts_with(b"DVL")));
    assert_eq!(parts.concat(), file[16..], "the header and two offsets are no part");

    let out = Temporary::new("part", b"");
    assert_eq!(stdout(&["extract", &shbin, "#1", "-o", out.path()]), "");
    assert_eq!(std::fs::read(out.path()).unwrap(), parts[0]);

    let message = fails(&["extract", &path, "SHDR"], 1);
    assert!(message.contains("no SHDR") && message.contains("SHEX"), "{message}");
    fails(&["extract", &path, "SHEX:1"], 1);
    fails(&["extract", &path, "#99"], 1);
    fails(&["extract", &path, "#0"], 2);
    fails(&["extract", &path], 2);
}

#[test]
fn signing_restores_the_digest() {
    for (path, class, option) in [
        ("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", "(retail)", None),
        ("dxbc/cs_abort/CS.cs_5_0.fxc101.dxbc", "(debug)", Some("--debug")),
    ] {
        let whole = std::fs::read(data(path)).unwrap();
        let mut unsigned = whole.clone();
        unsigned[4..20].fill(0);
        // Bytes behind the container stay.
        unsigned.extend_from_slice(b"tail");
        let file = Temporary::new("unsigned", &unsigned);
        assert!(stdout(&["parts", file.path()]).contains("(zero)"));
        let output = shaderjit(&[&["sign", file.path()], option.as_slice()].concat());
        assert_eq!(output.stdout, [whole.as_slice(), b"tail"].concat());
        let signed = Temporary::new("signed", b"");
        assert_eq!(stdout(&[&["sign", file.path(), "-o", signed.path()], option.as_slice()].concat()), "");
        assert!(stdout(&["parts", signed.path()]).contains(class));
    }
    let message = fails(&["sign", &data("pica/t01_transform.shbin")], 1);
    assert!(message.contains("digest"), "{message}");
}

#[test]
fn findings_are_printed_and_errors_have_exit_code_1() {
    let path = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    assert_eq!(stdout(&["val", &path]), "ok\n");
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[4..20].fill(0);
    let unsigned = Temporary::new("val-unsigned", &changed);
    assert_eq!(stdout(&["val", unsigned.path()]), "note: the container is unsigned (at offset 0x4)\n");

    // The program's last token is `ret`; a `nop` does not end it.
    let ret = whole.windows(4).rposition(|token| token == [0x3e, 0, 0, 1]).unwrap();
    changed[ret] = 58;
    let broken = Temporary::new("val-broken", &changed);
    let output = shaderjit(&["val", broken.path()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(&format!("error: the last instruction of a function is not ret (at offset {ret:#x})")),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_slice(&shaderjit(&["val", broken.path(), "--json"]).stdout).unwrap();
    assert_eq!(json["valid"], false);
    let severities: Vec<_> = json["findings"].as_array().unwrap().iter().map(|row| row["severity"].as_str()).collect();
    assert_eq!(severities, [Some("note"), Some("error")]);
    assert_eq!(json["findings"][1]["offset"], ret);
    fails(&["val", "/nonexistent/file"], 1);
}

#[test]
fn containers_are_found_in_any_file() {
    let parts =
        ["dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", "pica/t01_transform.shbin", "dxbc/cs_dbg/CS.cs_5_0.fxc101.dxbc"]
            .map(|path| std::fs::read(data(path)).unwrap());
    let gap = b"an archive".as_slice();
    let file = [gap, &parts[0], gap, &parts[1], &parts[2], gap].concat();
    let file = Temporary::new("archive", &file);
    let offsets = [10, 20 + parts[0].len(), 20 + parts[0].len() + parts[1].len()];

    let text = stdout(&["scan", file.path()]);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let digests = [("DXBC", "vs_5_0", "retail"), ("SHBIN", "vertex", "-"), ("DXBC", "cs_5_0", "debug")];
    assert_eq!(rows.len(), 3, "{text}");
    for (row, ((offset, part), (format, program, digest))) in rows.iter().zip(offsets.iter().zip(&parts).zip(digests)) {
        let strings = [format, program, digest].map(String::from);
        let expected = [&[format!("{offset:#x}"), part.len().to_string()], strings.as_slice()].concat();
        assert_eq!(*row, expected);
    }

    let folder = Folder::new("carved");
    let json = stdout(&["scan", file.path(), "--carve", folder.0.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (container, part) in json["containers"].as_array().unwrap().iter().zip(&parts) {
        assert_eq!(std::fs::read(container["carved"].as_str().unwrap()).unwrap(), *part);
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);

    // Nothing is overwritten, and no link is followed.
    let carve = ["scan", file.path(), "--carve", folder.0.to_str().unwrap()];
    let first = folder.0.join("0000000a.dxbc");
    std::fs::write(&first, b"precious").unwrap();
    assert!(fails(&carve, 1).contains("0000000a.dxbc: "));
    assert_eq!(std::fs::read(&first).unwrap(), b"precious");
    #[cfg(unix)]
    {
        let elsewhere = Folder::new("elsewhere");
        std::fs::remove_file(&first).unwrap();
        std::os::unix::fs::symlink(&elsewhere.0, &first).unwrap();
        fails(&carve, 1);
        assert!(!elsewhere.0.exists());
    }

    let nothing = Temporary::new("nothing", b"DXBC, but not really");
    assert_eq!(stdout(&["scan", nothing.path()]).lines().count(), 1);
    fails(&["scan", "/nonexistent/file"], 1);
}

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
fn a_run_prints_what_the_reference_computed() {
    let file = data("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc");
    for engine in ["jit", "interp"] {
        let args = ["run", &file, "--engine", engine, "--count", "5", "--instances", "3"];
        let table = stdout(&args);
        assert_eq!(table.lines().count(), 3 * 5 * 4);
        let line: Vec<&str> =
            table.lines().find(|line| line.starts_with("2    3     OUT0")).unwrap().split_whitespace().collect();
        assert_eq!(line[3..7], ["3", "2", "3002", "4294967292"]);

        let csv = stdout(&[&args[..], &["--format", "csv"]].concat());
        assert!(csv.starts_with("instance,vertex,SV_Position0.x,SV_Position0.y,"), "{csv}");
        assert_eq!(csv.lines().count(), 1 + 15);

        let json = stdout(&[&args[..], &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((json["vertices"].as_u64(), json["instances"].as_u64()), (Some(5), Some(3)));
        assert_eq!(json["outputs"][1]["semantic"], "OUT");
        assert_eq!(json["outputs"][1]["values"][13], serde_json::json!([3, 2, 3002, 4294967292u32]));
    }
}

#[test]
fn a_run_of_pixels_says_which_are_discarded() {
    let file = data("dxbc/ps_discard/PS.ps_5_0.fxc101.dxbc");
    // SV_Position and TEXCOORD of pixels (0, 0) and (3, 0).
    let (half, one, zero) = ("0000003f", "0000803f", "00000000");
    let pixel = |x: &str| [x, half, zero, one, half, half, zero, zero].concat();
    let input = format!("hex:{}{}", pixel(half), pixel("00006040"));
    for engine in ["jit", "interp"] {
        let args = ["run", &file, "--engine", engine, "--input", &input];
        let rows = stdout(&[&args[..], &["--format", "csv"]].concat());
        assert!(
            rows.starts_with("vertex,SV_Target0.x,SV_Target0.y,SV_Target0.z,SV_Target0.w,discarded.x\n0,0,0,0,1,0\n")
        );
        assert!(rows.lines().nth(2).is_some_and(|row| row.ends_with(",1")), "{rows}");
        let table = stdout(&args);
        assert_eq!(table.lines().filter(|line| line.contains("discarded")).count(), 2, "{table}");
        // Raw output has the signature's elements alone.
        assert_eq!(shaderjit(&[&args[..], &["--format", "raw"]].concat()).stdout.len(), 2 * 16);
    }
    assert!(stdout(&["diff", &file]).starts_with("no difference in 4096 pixels of 2 output elements"));
}

#[test]
fn class_instances_are_bound_by_name() {
    let file = data("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc");
    let sun = ["--class", "0=sun", "--class", "1=sun", "--class", "2=lamps[2]"];
    let args = [&["run", &file, "--count", "3", "--unbound-as-zero"], &sun[..]].concat();
    assert!(fails(&args, 1).contains("interface slot 3 is called and has no class instance"));
    let all = [&args[..], &["--class", "3=sun", "--class", "4=flatM"]].concat();
    assert_eq!(stdout(&all).lines().count(), 3);
    let diff = [&["diff", &file], &sun[..], &["--class", "3=lamps", "--class", "4=flatM"]].concat();
    assert!(stdout(&diff).starts_with("no difference in 4096 pixels"));
    fails(&[&args[..], &["--class", "sun"]].concat(), 2);
}

#[test]
fn raw_files_go_in_and_out() {
    let reference = std::fs::read(data("pica/t01_transform.d0.normal256.ref.out")).unwrap();
    let (file, input) = (data("pica/t01_transform.shbin"), data("pica/inputs/normal256.bin"));
    let uniforms = data("pica/t01_transform.d0.uni.bin");
    let output = Temporary::new("raw", b"");
    for (engine, lanes) in [("jit", "4"), ("jit", "8"), ("interp", "4"), ("interp", "8")] {
        let args = ["run", &file, "--engine", engine, "--lanes", lanes, "--input", &input, "--uniforms", &uniforms];
        assert_eq!(stdout(&[&args[..], &["-o", output.path()]].concat()), "");
        assert!(std::fs::read(output.path()).unwrap() == reference, "{engine} {lanes}");
        let piped = shaderjit(&[&args[..], &["--format", "raw"]].concat());
        assert!(piped.stdout == reference, "{engine} {lanes}");
    }
    // Fewer vertices than the file holds.
    let args = ["run", &file, "--input", &input, "--uniforms", &uniforms, "--count", "3", "--format", "raw"];
    assert!(shaderjit(&args).stdout == reference[..3 * 256]);
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

#[test]
fn listings_show_what_they_are_asked_for() {
    let file = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let parts = stdout(&["parts", &file]);
    assert!(parts.starts_with("DXBC 4de9017fb057e7ac14e17438691b03f0 (retail)\n"), "{parts}");
    let json: serde_json::Value = serde_json::from_str(&stdout(&["parts", &file, "--json"])).unwrap();
    assert_eq!((&json["digest"]["class"], &json["parts"][3]["name"]), (&"retail".into(), &"SHEX".into()));
    assert!(stdout(&["dis", &file]).contains("\nvs_5_0\n"));
    let raw = stdout(&["dis", "--offsets", "--raw", &file]);
    assert!(
        raw.lines().rev().any(|line| line.ends_with(": ret ")) && raw.contains("\n            // 0100003e\n"),
        "{raw}"
    );
    assert!(stdout(&["dis", &data("pica/t01_transform.shbin")]).contains("dp4 position.x, mvp[0], a\n"));

    let lowered = stdout(&["ir", &file, "--pass", "lower"]);
    let last = stdout(&["ir", &file]);
    assert!(lowered.contains("fmad") && !lowered.contains(" lockstep {"), "{lowered}");
    assert!(!last.contains("fmad") && last.contains(" lockstep {"), "{last}");
    assert_eq!(stdout(&["ir", &file, "--pass", "order"]), last);
    assert!(stdout(&["ir", &file, "--mad", "separate"]).contains("fadd"));

    let batch = stdout(&["batch", &file]);
    assert!(batch.contains("call block0\nfill 0 space0[3].0\n") && batch.contains("\nfunction "), "{batch}");
    let whole = stdout(&["batch", "--pass", "cut", &file]);
    assert!(whole.contains("uniform_load.f32 space0[3].0") && !whole.contains("call_load"), "{whole}");
    assert!(stdout(&["clif", &file]).starts_with("function "));
    let assembly = stdout(&["asm", &file, "--bytes"]);
    let prologue = if cfg!(target_arch = "aarch64") { "     0  fd7bbfa9 " } else { "     0  55 " };
    assert!(assembly.starts_with(prologue), "{assembly}");
    assert!(assembly.contains("ret"), "{assembly}");
    assert!(stdout(&["completions", "bash"]).contains("shaderjit"));
    let folder = Folder::new("man");
    assert_eq!(stdout(&["man", folder.0.to_str().unwrap()]), "");
    let page = |verb: &str| std::fs::read_to_string(folder.0.join(format!("shaderjit-{verb}.1"))).unwrap();
    assert!(VERBS.into_iter().all(|verb| page(verb).contains(verb)) && page("trace").contains("until"));
}

#[test]
fn the_engines_agree_on_made_up_values() {
    for file in ["dxbc/vs_branches/VS.vs_5_0.fxc101.dxbc", "pica/t01_transform.shbin"] {
        for seed in ["0", "1"] {
            let text = stdout(&["diff", &data(file), "--seed", seed, "--count", "50"]);
            assert!(text.starts_with("no difference in 50 vertices"), "{text}");
        }
    }
    let file = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let (input, constants) = (data("dxbc/vs_transform/in.r0.0.bin"), data("dxbc/vs_transform/in.r0.1.bin"));
    let text = stdout(&[
        "diff",
        &file,
        "--input",
        &input,
        "--cb",
        &format!("0={constants}"),
        "--layout",
        LAYOUT,
        "--lanes",
        "8",
    ]);
    assert!(text.starts_with("no difference in 6 vertices"), "{text}");
}

#[test]
fn benchmarks_give_every_figure() {
    let file = data("perf/k1.dxbc");
    let json = stdout(&["bench", &file, "--millis", "1", "--count", "100", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for figure in ["jit_ns_per_vertex", "jit_mverts_per_s", "interp_ns_per_vertex", "compile_us", "code_bytes", "lanes"]
    {
        assert!(json[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {json}");
    }
    assert_eq!((&json["native"], json.get("refused")), (&serde_json::Value::Bool(true), None));
    assert!(stdout(&["bench", &file, "--millis", "1", "--count", "100"]).contains("ns/vertex"));
    let json = stdout(&["bench", &file, "--millis", "1", "--count", "100", "--all-lanes", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ways = json["ways"].as_array().unwrap();
    // Two vectors of 128 bits at least, and one of the ways is what is taken.
    assert!(ways.len() >= 2 && ways.iter().filter(|way| way["chosen"] == true).count() == 1, "{json}");
    assert!(ways.iter().all(|way| way["jit_ns_per_vertex"].as_f64().is_some_and(|value| value > 0.0)), "{json}");
    let text = stdout(&["bench", &file, "--millis", "1", "--count", "100", "--all-lanes"]);
    assert_eq!((text.lines().count(), text.matches('*').count()), (ways.len() + 1, 1), "{text}");
}

#[test]
fn textures_and_samplers_are_bound_by_slot_and_kind() {
    let folder = data("dxbc/vs_texfetch");
    let [file, input, t0, t1, t2, t3] = [
        "VS.vs_5_0.fxc101.dxbc".to_string(),
        "in.r0.0.bin".to_string(),
        format!("0=tex2d:rgba32f:8x8:4,{folder}/in.r0.1.bin"),
        format!("1=buf:rgba32u,{folder}/in.r0.2.bin"),
        format!("2=tex2darr:rg32f:4x4x3,{folder}/in.r0.3.bin"),
        format!("3=tex3d:r32f:4x4x4,{folder}/in.r0.4.bin"),
    ];
    let (file, input) = (format!("{folder}/{file}"), format!("{folder}/{input}"));
    let bound = ["--input", &input, "--srv", &t0, "--srv", &t1, "--srv", &t2, "--srv", &t3];
    let run = |more: &[&'static str]| [&["run", &*file], &bound[..], more].concat();
    let expected = include_str!("data/dxbc/vs_texfetch/run.r0.vs_5_0.fxc101.dxvk.txt");
    let words = |line: &str| {
        let words = line.split_once('[')?.1.trim_end_matches(']').split_whitespace();
        Some(words.map(|word| u32::from_str_radix(word, 16).unwrap()).collect::<Vec<u32>>())
    };
    let expected: Vec<u32> = expected.lines().filter_map(words).flatten().collect();
    for engine in ["jit", "interp"] {
        let output = shaderjit(&run(&["--smp", "0=point:wrap", "--format", "raw", "--engine", engine]));
        let words: Vec<u32> = output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        assert!(words == expected, "{engine}: {}", stderr(&output));
    }
    let message = fails(&run(&[]), 1);
    assert!(message.contains("sampler s0 is not bound"), "{message}");
    let message = fails(&run(&["--smp", "0=bilinear"]), 2);
    assert!(message.contains("none of point, linear, aniso, cmppoint and cmp"), "{message}");
    let message = fails(&["run", &file, "--srv", "0=tex2d:rgba8:4x4,zero:63"], 1);
    assert!(message.contains("t0: there are 63 bytes, the texels have 64"), "{message}");
    let output = shaderjit(&run(&["--smp", "0=point", "--smp", "5=linear:border"]));
    assert!(output.status.success() && stderr(&output).contains("warning: the shader has no sampler s5"));

    // What is not bound is made up.
    let text = stdout(&["diff", &file, "--count", "50"]);
    assert!(text.starts_with("no difference in 50 vertices"), "{text}");
}

#[test]
fn buffers_are_bound_by_slot_and_kind() {
    let file = Temporary::new("buffers.dxbc", &buffers::container());
    let file = file.path();
    let bound = ["--srv", "0=raw,hex:0100000002000000", "--srv", "1=struct:12,hex:000000000700000008000000"];
    let run = |more: &[&'static str]| [&["run", file, "--count", "2"], &bound[..], more].concat();
    for engine in ["jit", "interp"] {
        let output = shaderjit(&run(&["--srv", "2=buf:rgba8u,hex:01020304", "--format", "raw", "--engine", engine]));
        let words: Vec<u32> = output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let first = [[1, 2, 0, 0], [7, 8, 0, 0], [1, 2, 3, 4], [8, 1, 1, 0]];
        let second = [[1, 2, 0, 0], [0; 4], [0; 4], [8, 1, 1, 0]];
        assert_eq!(words, [first, second].as_flattened().as_flattened(), "{engine}: {}", stderr(&output));
    }

    let message = fails(&run(&[]), 1);
    assert!(message.contains("resource t2 is not bound"), "{message}");
    assert!(stdout(&run(&["--unbound-as-zero"])).lines().count() > 2);
    let message = fails(&run(&["--srv", "2=raw,zero:4"]), 1);
    assert!(message.contains("a raw buffer is bound"), "{message}");
    let message = fails(&run(&["--srv", "2=tex2d:rgba8:4x4,zero:64"]), 1);
    assert!(message.contains("a texture2d is bound"), "{message}");
    let output = shaderjit(&run(&["--srv", "2=buf:r8,zero:4", "--srv", "9=raw,zero:4"]));
    assert!(output.status.success() && stderr(&output).contains("warning: the shader has no resource t9"));

    // What is not bound is made up.
    let text = stdout(&["diff", file, "--count", "50"]);
    assert!(text.starts_with("no difference in 50 vertices"), "{text}");
}

/// Shader model 5.1: each option takes a slot of a register space, and the range of `t0` has no end.
#[test]
fn slots_are_of_register_spaces() {
    let program = "vs_5_1
        dcl_constantbuffer cb0[3][3], immediateIndexed, 1, 2
        dcl_resource_raw t0[6][0xffffffff], 1
        dcl_resource_texture2d (float,float,float,float) t1[4][4], 7
        dcl_sampler s0[5][5], mode_default, 9
        dcl_input_sgv v0.x, vertex_id
        mov o0.x, cb0[3][0].x
        ld_raw o0.y, l(0), t0[v0.x + 6].xxxx
        sample_l o0.z, l(0.5, 0.5, 0.0, 0.0), t1[4].xxxx, s0[5], l(0.0)
        sampleinfo_uint o0.w, rasterizer.xxxx";
    let file = Temporary::new("spaces.dxbc", &support::program::Source::new(program).container());
    let run = |more: &[&'static str]| [&["run", file.path(), "--count", "3", "--format", "raw"], more].concat();
    let bound = [
        ["--unbounded", "2"],
        ["--cb", "3:2=hex:01000000"],
        ["--srv", "6:1=raw,hex:02000000"],
        ["--srv", "7:1=raw,hex:03000000"],
        ["--srv", "4:7=tex2d:r32f:1x1,hex:00000040"],
        ["--smp", "5:9=point"],
    ];
    let words = |more: &[&'static str]| {
        let output = shaderjit(&run(&[bound.as_flattened(), more].concat()));
        assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
        output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<u32>>()
    };
    let float = 2.0f32.to_bits();
    assert_eq!(words(&[]), [1, 2, float, 1, 1, 3, float, 1, 1, 0, float, 1]);
    assert_eq!(words(&["--samples", "4"]), [1, 2, float, 4, 1, 3, float, 4, 1, 0, float, 4]);

    let message = fails(&run(&[]), 1);
    assert!(message.contains("a range without an end"), "{message}");
    let elsewhere = [&["--cb", "3=hex:01000000"], &bound[0], &bound[2], &bound[3], &bound[4], &bound[5]];
    let elsewhere: Vec<&str> = elsewhere.into_iter().flatten().copied().collect();
    let message = fails(&[&["run", file.path(), "--count", "3"], &elsewhere[..]].concat(), 1);
    assert!(message.contains("the shader has no constant buffer cb3; it has "), "{message}");
    assert!(message.contains("constant buffer cb3 of space 2 is not bound"), "{message}");
    fails(&run(&["--unbounded", "0"]), 2);
    fails(&run(&["--cb", "3:x=hex:00"]), 2);
}

/// Every reference of geometry shaders, on both engines.
#[test]
fn geometry_shaders_write_records_of_triangles() {
    let uniforms = |name: &str| data(&format!("pica/{name}.d1.uni.bin"));
    for name in ["t31_geo_point", "t33_geo_fixed", "t34_geo_output_banks", "t35_geo_b15_state"] {
        let (file, uniforms) = (data(&format!("pica/{name}.shbin")), uniforms(name));
        let input = data("pica/inputs/normal256.bin");
        let reference = std::fs::read(data(&format!("pica/{name}.d1.normal256.ref.gsout"))).unwrap();
        for engine in ["jit", "interp"] {
            let args = ["run", "--gs", &file, "--engine", engine, "--input", &input, "--uniforms", &uniforms];
            let output = shaderjit(&[&args[..], &["--format", "raw"]].concat());
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stdout == reference, "{name} on {engine}");
        }
    }
    let (file, input, uniforms) =
        (data("pica/t31_geo_point.shbin"), data("pica/inputs/normal256.bin"), uniforms("t31_geo_point"));
    let args = ["run", "--gs", &file, "--input", &input, "--uniforms", &uniforms, "--count", "2"];
    let table = stdout(&args);
    assert_eq!(table.lines().count(), 4 * 3 * 2);
    assert!(table.lines().next().is_some_and(|line| line.contains("inverted")));
    let csv = stdout(&[&args[..], &["--format", "csv"]].concat());
    assert!(csv.starts_with("triangle,invocation,inverted,vertex,o0.x,o0.y,o0.z,o0.w,o1.x,"));
    assert_eq!(csv.lines().count(), 1 + 4 * 3);
    let json: serde_json::Value = serde_json::from_str(&stdout(&[&args[..], &["--format", "json"]].concat())).unwrap();
    assert_eq!((json["registers"][1].as_u64(), json["triangles"].as_array().map(Vec::len)), (Some(1), Some(4)));

    assert!(stdout(&["diff", &file, "--entry", "1", "--count", "50"]).contains("no difference in 100 triangles"));
    assert!(
        fails(&["run", "--gs", &data("pica/t01_transform.shbin"), "--count", "1"], 1).contains("no geometry shader")
    );
    fails(&["run", &file, "--attributes", "3"], 2);
}

/// Thread groups: memory is printed and written, both engines are compared and timed.
#[test]
fn compute_shaders_run_are_compared_and_timed() {
    let container = data("dxbc/cs_nested_sync/CS.cs_5_0.fxc101.dxbc");
    let folder = Folder::new("groups");
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("u0.bin").display().to_string();
    let options = [container.as_str(), "--dispatch", "3,1,1", "--uav", "0=struct:4,zero:384"];
    let out = format!("0={path}");
    let text = stdout(&[&["run", "--cs", "--uav-out", &out], &options[..]].concat());
    assert_eq!(text.lines().count(), 96);
    assert!(text.lines().all(|line| line.starts_with("u0[") && line.ends_with(']')), "{text}");
    let bytes = std::fs::read(&path).unwrap();
    let words: Vec<String> =
        bytes.as_chunks().0.iter().map(|&word| format!("[{:08x}]", u32::from_le_bytes(word))).collect();
    assert!(text.lines().zip(&words).all(|(line, word)| line.ends_with(word.as_str())));

    let text = stdout(&[&["diff"], &options[..]].concat());
    assert_eq!(text, "no difference in memory behind 96 threads, which end: done\n");
    let text = stdout(&[&["bench", "--millis", "1"], &options[..]].concat());
    assert!(text.starts_with("threads    96") && text.contains(" ns/thread, "), "{text}");

    let message = fails(&["run", "--cs", &container], 2);
    assert!(message.contains("--dispatch"), "{message}");
    let message = fails(&["run", "--cs", "--dispatch", "1,1", &container], 2);
    assert!(message.contains("X,Y,Z"), "{message}");
    let bad = ["run", "--cs", "--dispatch", "1,1,1", "--uav", "0=struct:8,zero:8", &container];
    assert!(fails(&bad, 1).contains("view u0 is a buffer of structures of 4 bytes to the shader"));
}

/// Pixels that write: their memory is printed behind their outputs, compared and written to files.
#[test]
fn memory_that_pixels_write_is_printed_and_compared() {
    let container = data("dxbc/ps_uav/PS.ps_5_0.fxc101.dxbc");
    let folder = Folder::new("pixels_that_write");
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("u1.bin").display().to_string();
    let (input, out) = (format!("zero:{}", 21 * 32), format!("1={path}"));
    let uavs = ["--uav", "1=buf:r32u,zero:64", "--uav", "2=raw,zero:256", "--uav", "3=tex2d:r32u:8x8,zero:256"];
    let options = [&[container.as_str(), "--input", &input][..], &uavs].concat();
    for engine in ["jit", "interp"] {
        let text = stdout(&[&["run", "--engine", engine, "--uav-out", &out], &options[..]].concat());
        let counts = text.lines().find(|line| line.starts_with("u1[0]"));
        assert!(counts.is_some_and(|line| line.ends_with("[00000015]")), "{text}");
        assert_eq!(std::fs::read(&path).unwrap()[..4], [21, 0, 0, 0]);
    }
    let text = stdout(&[&["diff"], &options[..]].concat());
    assert_eq!(text, "no difference in 21 pixels and the memory that they write\n");
    assert!(stdout(&[&["bench", "--millis", "1"], &options[..]].concat()).contains(" ns/pixel"));
    let message = fails(&["run", &container, "--input", &input], 1);
    assert!(message.contains("u1"), "{message}");
}

#[test]
fn draws_are_pictures_or_lines() {
    let file = |name: &str| data(&format!("dxbc/pipe_two/{name}"));
    let (vertex, pixel) = (file("VS.vs_5_0.fxc101.dxbc"), file("PS.ps_5_0.fxc101.dxbc"));
    let (input, indices, constants) =
        (file("in.r0.0.bin"), format!("{}:u32", file("in.r0.1.bin")), format!("0={}", file("in.r0.2.bin")));
    let scene = ["--vs", &vertex, "--ps", &pixel, "--in", &input, "--ib", &indices, "--cb", &constants];
    let options = [&scene[..], &["--rt", "40x30", "--depth", "less", "--cull", "back", "--samples", "4"]].concat();

    let picture = Temporary::new("picture", b"");
    assert_eq!(stdout(&[&["render"], &options[..], &["-o", picture.path()]].concat()), "");
    let file = std::io::BufReader::new(std::fs::File::open(picture.path()).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!((reader.info().width, reader.info().height, pixels.len()), (40, 30, 40 * 30 * 4));
    // Something is drawn in the middle, and nothing in the corner.
    let alpha = |x: usize, y: usize| pixels[4 * (40 * y + x) + 3];
    assert_eq!((alpha(20, 15), alpha(0, 0)), (255, 0));

    let lines = stdout(&[&["run"], &options[..]].concat());
    assert_eq!(lines.lines().filter(|line| line.starts_with("rt0(")).count(), 40 * 30);
    assert_eq!(lines.lines().filter(|line| line.starts_with("depth(")).count(), 40 * 30);
    for threads in ["1", "3"] {
        assert_eq!(stdout(&[&["run", "--threads", threads], &options[..]].concat()), lines);
    }
    fails(&[&["run", &vertex], &options[..]].concat(), 2);
    fails(&[&["run"], &scene[..]].concat(), 2);
    fails(&["run"], 2);
    fails(&["render", "--rt", "4x4"], 2);
    let message = fails(&["run", "--vs", &vertex, "--ps", &vertex, "--count", "3", "--rt", "4x4"], 1);
    assert!(message.contains("no pixel shader"), "{message}");
}
