//! What the command line does with several files and forms of files: layouts of input, two shaders, directories, JSON.

#[path = "support/buffers.rs"]
mod buffers;
mod support;

use support::tool::{Folder, LAYOUT, Temporary, data, fails, shaderjit, stderr, stdout};

#[test]
fn interleaved_files_are_read_as_their_layout_says() {
    let shader = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let (input, cb) = (data("dxbc/vs_transform/in.r0.0.bin"), data("dxbc/vs_transform/in.r0.1.bin"));
    let constants = format!("b0={cb}");
    let run = |args: &[&str]| shaderjit(&[&["run", &shader, "--cb", &constants][..], args].concat());
    let records = run(&["--input", &input]);
    assert!(
        records.status.success() && stderr(&records).contains("warning: --input is read as 6 vertices of 64 bytes")
    );
    assert!(stderr(&records).contains("if it holds 8 of 48 bytes, describe them with --layout"));
    assert_eq!(run(&["--input", &input, "--strict"]).status.code(), Some(1));
    let described = run(&["--input", &input, "--layout", LAYOUT, "--strict"]);
    assert!(described.status.success(), "{}", stderr(&described));
    assert_eq!(described.stdout, records.stdout);

    // The same vertices, packed: 12 + 12 + 8 + 16 bytes.
    let packed: Vec<u8> = std::fs::read(&input)
        .unwrap()
        .as_chunks::<64>()
        .0
        .iter()
        .flat_map(|record| [&record[..12], &record[16..28], &record[32..40], &record[48..]].concat())
        .collect();
    let packed = Temporary::new("packed", &packed);
    let layout = "POSITION=f32x3@0,NORMAL=f32x3@12,TEXCOORD=f32x2@24,COLOR=f32x4@32";
    let output = run(&["--input", packed.path(), "--layout", layout]);
    assert_eq!((stderr(&output), output.stdout), (String::new(), records.stdout));
    assert_eq!(run(&["--input", packed.path(), "--layout", "POSITION=f32x9@0"]).status.code(), Some(2));

    // Integers where the shader reads floats are said, and with --strict an error.
    let integers = layout.replace("f32x4", "uint8x4");
    let output = run(&["--input", packed.path(), "--layout", &integers]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: input COLOR[0] is float to the shader, uint8x4 is bound"));
    assert_eq!(run(&["--input", packed.path(), "--layout", &integers, "--strict"]).status.code(), Some(1));
}

#[test]
fn two_shaders_are_compared_on_the_same_inputs() {
    let file = |name: &str| data(&format!("dxbc/vs_transform/{name}"));
    let (new, old) = (file("VS.vs_5_0.fxc101.dxbc"), file("VS.vs_4_0.fxc101.dxbc"));
    assert_eq!(stdout(&["diff", &new, &new]), "equal: 4096 vertices of 5 output elements\n");
    // Two compilers' code differs by roundings.
    let other = file("VS.vs_5_0.vkd3d21.dxbc");
    let output = shaderjit(&["diff", &new, &other, "--mad", "separate"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    assert!(["equal: ", "close: ", "different: "].iter().any(|word| text.starts_with(word)), "{text}");
    assert!(stdout(&["diff", &new, &old, "--mad", "separate"]).starts_with("equal: 4096 vertices"));

    // A shader that computes something else: the first difference, with its inputs.
    let sysvals = data("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc");
    let output = shaderjit(&["diff", &new, &sysvals, "--unbound-as-zero", "--count", "4"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("different: instance 0 vertex 0 SV_") && text.contains("only the first shader has"),
        "{text}"
    );

    let json = shaderjit(&["diff", &new, &new, "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json["result"], &json["vertices"], &json["max_ulp"]), (&"equal".into(), &4096.into(), &0.into()));
    let json = shaderjit(&["diff", &new, "--json", "--count", "8"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json["result"], &json["vertices"]), (&"equal".into(), &8.into()));
    fails(&["diff", &new, "/nonexistent/file"], 1);
}

#[test]
fn every_verb_that_prints_data_prints_json() {
    let file = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let runs: [&[&str]; 12] = [
        &["parts"],
        &["reflect"],
        &["val"],
        &["scan"],
        &["dis"],
        &["ir", "--source"],
        &["batch"],
        &["clif"],
        &["asm", "--bytes"],
        &["run", "--count", "1", "--unbound-as-zero"],
        &["diff", "--count", "4"],
        &["bench", "--millis", "1"],
    ];
    for run in runs {
        let text = stdout(&[&run[..1], &[&file, "--json"], &run[1..]].concat());
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{run:?}: {error}"));
        assert!(json.is_object(), "{run:?}");
    }
    let digits = |json: &serde_json::Value| json["data"].as_str().map(str::len);
    let part: serde_json::Value = serde_json::from_str(&stdout(&["extract", &file, "ISGN", "--json"])).unwrap();
    assert_eq!(digits(&part).map(|digits| digits / 2), part["size"].as_u64().map(|size| size as usize));
    let signed = Temporary::new("signed-json", b"");
    let json = stdout(&["sign", &file, "--json", "-o", signed.path()]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let size = std::fs::metadata(&file).unwrap().len();
    assert_eq!((json["size"].as_u64(), digits(&json)), (Some(size), None));
    assert_eq!(std::fs::metadata(signed.path()).unwrap().len(), size);
    // Also of what does not parse.
    let garbage = shaderjit(&["val", "--json", "hex:00112233"]);
    let json: serde_json::Value = serde_json::from_slice(&garbage.stdout).unwrap();
    assert_eq!(
        (garbage.status.code(), &json["valid"], &json["findings"][0]["offset"]),
        (Some(1), &false.into(), &0.into())
    );
}

#[test]
fn formats_and_slots_have_the_names_that_direct3d_gives_them() {
    let file = Temporary::new("buffers.dxbc", &buffers::container());
    let run = |srv: &[&str]| stdout(&[&["run", file.path(), "--count", "2", "--unbound-as-zero"][..], srv].concat());
    let short = run(&["--srv", "2=buf:rgba8,hex:00ff00ff"]);
    assert_eq!(short, run(&["--srv", "t2=buf:R8G8B8A8_UNORM,hex:00ff00ff"]));
    assert_eq!(short, run(&["--srv", "2=buf:dxgi_format_r8g8b8a8_unorm,hex:00ff00ff"]));
}

#[test]
fn directories_are_searched_and_truncated_containers_are_said() {
    let folder = Folder::new("searched");
    std::fs::create_dir_all(folder.0.join("b/c")).unwrap();
    let [whole, shbin] = ["dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", "pica/t27_shared_a.shbin"]
        .map(|path| std::fs::read(data(path)).unwrap());
    std::fs::write(folder.0.join("a.bin"), [b"..", &whole[..]].concat()).unwrap();
    std::fs::write(folder.0.join("b/cut.bin"), &whole[..whole.len() - 5]).unwrap();
    std::fs::write(folder.0.join("b/c/shader.bin"), &shbin).unwrap();
    std::fs::write(folder.0.join("b/none.txt"), b"nothing").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&folder.0, folder.0.join("b/loop")).unwrap();
    let root = folder.0.to_str().unwrap();
    let json: serde_json::Value = serde_json::from_str(&stdout(&["scan", root, "--json"])).unwrap();
    assert_eq!(json["files"], 4);
    let rows = json["containers"].as_array().unwrap();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["program"].as_str().unwrap(), &row["missing"]))
        .collect();
    let path = |name: &str| format!("{root}/{name}");
    let (a, cut, shader) = (path("a.bin"), path("b/cut.bin"), path("b/c/shader.bin"));
    let missing = serde_json::Value::from(5);
    let null = serde_json::Value::Null;
    let expected = [
        (a.as_str(), "vs_5_0", &null),
        (cut.as_str(), "truncated", &missing),
        (shader.as_str(), "vertex+vertex", &null),
    ];
    assert_eq!(found, expected);
    let text = stdout(&["scan", root]);
    assert!(text.contains("5 bytes are missing") && text.contains(&format!("{a}\n")), "{text}");
}

#[test]
fn malformed_parts_have_exit_code_1_and_the_rest_is_printed() {
    let mut bytes = std::fs::read(data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc")).unwrap();
    let signature = bytes.windows(4).position(|name| name == b"ISGN").unwrap();
    bytes[signature + 8] = 0xff;
    let file = Temporary::new("malformed", &bytes);
    let output = shaderjit(&["parts", file.path()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("malformed: ") && text.contains("SHEX") && text.contains("OSGN"), "{text}");
}

#[test]
fn explore_links_every_instruction_from_bytes_to_native_code() {
    for file in ["dxbc/vs_switch/VS.vs_5_0.fxc101.dxbc", "pica/t01_transform.shbin"] {
        let (file, html) = (data(file), Temporary::new("explore", b""));
        assert_eq!(stdout(&["explore", &file, "-o", html.path()]), "");
        let page = std::fs::read_to_string(html.path()).unwrap();
        assert!(!page.contains("http:") && !page.contains("https:"), "it asks nothing of a network");
        let (_, data) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
        let page: serde_json::Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(page["bytes"].as_str().unwrap().len(), 2 * bytes.len());

        let instructions = page["instructions"].as_array().unwrap();
        let mut end = 0;
        for instruction in instructions {
            let [offset, size] = ["offset", "size"].map(|field| instruction[field].as_u64().unwrap());
            assert!(size >= 4 && offset >= end && offset + size <= bytes.len() as u64);
            end = offset + size;
        }
        let named = |lines: &serde_json::Value| -> std::collections::BTreeSet<u64> {
            lines.as_array().unwrap().iter().filter_map(|line| line[0].as_u64()).collect()
        };
        let offsets = named(&page["listing"]);
        assert_eq!(offsets.len(), instructions.len());
        let stages = page["stages"].as_array().unwrap();
        let names: Vec<&str> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        assert_eq!((names[0], names[names.len() - 2], names[names.len() - 1]), ("IR", "batch", "asm"));
        assert!(names.len() > 4, "{names:?}");
        for stage in stages {
            let found = named(&stage["lines"]);
            assert!(!found.is_empty() && found.is_subset(&offsets), "{}", stage["name"]);
        }
    }
}
