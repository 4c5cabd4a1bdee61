//! Single shaders run, compared and timed: every form of output, on both engines.

use crate::support::tool::{LAYOUT, Temporary, data, shaderjit, stdout};

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
