//! Messages of the command line that once misled: each says what the input is and what to do about it.

mod support;

use support::program::Source;
use support::tool::{data, stdout as prints};

/// The message of a run that fails on its input.
fn fails(args: &[&str]) -> String {
    support::tool::fails(args, 1)
}

fn hex(bytes: &[u8]) -> String {
    format!("hex:{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[test]
fn dxil_is_named_and_so_are_the_verbs_that_work_on_it() {
    let folder = data("dxil");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("there are some").map(|it| it.unwrap().path()).collect();
    files.sort();
    let find = |folder: &std::path::PathBuf| {
        let entries = std::fs::read_dir(folder).ok()?;
        let mut found = entries.map(|entry| entry.unwrap().path());
        found.find(|path| path.extension().is_some_and(|extension| extension == "dxil" || extension == "dxbc"))
    };
    let file = files
        .iter()
        .filter(|path| path.ends_with("cs_groups"))
        .find_map(find)
        .expect("a folder holds a container")
        .display()
        .to_string();
    for verb in ["dis", "ir", "run", "diff", "bench", "asm", "clif"] {
        let message = fails(&[verb, &file]);
        assert!(message.contains("unsupported: DXIL programs of shader model 6."), "{verb}: {message}");
        assert!(message.contains("parts, extract, reflect, val, sign and scan work on it"), "{verb}: {message}");
    }
    assert!(prints(&["parts", &file]).contains("DXIL"));
}

#[test]
fn stripped_containers_are_reflected_from_their_declarations() {
    // Without resource definitions.
    let source =
        Source::new("dcl_constantbuffer cb0[217], immediateIndexed\ndcl_resource_raw t3\nmov o0.xyzw, cb0[216].xyzw");
    let file = hex(&source.container());
    let text = prints(&["reflect", &file]);
    assert!(text.contains("declarations") && text.contains("cb0") && text.contains("t3"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&prints(&["reflect", &file, "--json"])).unwrap();
    assert_eq!(json["reflected_from"], "declarations");
    assert_eq!(
        (&json["constant_buffers"][0]["name"], &json["constant_buffers"][0]["size"]),
        (&"cb0".into(), &3472.into())
    );
    let kinds: Vec<&str> =
        json["bindings"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["cbuffer", "byte-address buffer"]);
    // With them, nothing changes.
    let whole: serde_json::Value =
        serde_json::from_str(&prints(&["reflect", &data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"), "--json"]))
            .unwrap();
    assert!(whole.get("reflected_from").is_none());
}

#[test]
fn other_files_are_named_and_sent_to_scan() {
    let files: [(&[u8], &str); 3] = [
        (b"\x7fELF\x02\x01\x01\0", "an ELF executable"),
        (b"MZ\x90\0", "a Windows executable"),
        (b"PK\x03\x04", "a ZIP archive"),
    ];
    for (bytes, kind) in files {
        for verb in ["dis", "parts", "reflect", "run", "val"] {
            let message = fails(&[verb, &hex(bytes)]);
            assert!(message.contains(kind) && message.contains("shaderjit scan"), "{verb}: {message}");
        }
    }
    let message = fails(&["dis", &hex(b"what?")]);
    assert!(message.contains("not a shader container") && message.contains("shaderjit scan"), "{message}");
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    for verb in ["dis", "parts", "reflect", "run", "val"] {
        let message = fails(&[verb, "hex:"]);
        assert!(message.contains("the file is empty"), "{verb}: {message}");
    }
}

#[test]
fn unknown_names_come_with_those_there_are() {
    let shbin = data("pica/t01_transform.shbin");
    let shader = data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let strict = |file: &str, layout: &str| fails(&["run", file, "--strict", "--input", "zero:64", "--layout", layout]);
    let message = strict(&shbin, "v99=f32x4@0");
    assert!(message.contains("the shader has no input v99; it has v0, v1, v2"), "{message}");
    let message = strict(&shader, "TEXCOORD3=f32x2@0");
    let names = "POSITION[0], NORMAL[0], TEXCOORD[0], COLOR[0]";
    assert!(message.contains(&format!("the shader has no input TEXCOORD[3]; it has {names}")), "{message}");
    let message = fails(&["run", &shader, "--strict", "--count", "1", "--unbound-as-zero", "--cb", "b7=zero:16"]);
    assert!(message.contains("the shader has no constant buffer cb7; it has constant buffer cb0"), "{message}");
}

#[test]
fn interface_slots_name_the_option_and_what_fits() {
    let shader = data("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc");
    for verb in ["run", "ir", "asm", "diff"] {
        let message = fails(&[verb, &shader]);
        assert!(message.contains("interface slot 0 is called and has no class instance; it takes "), "{message}");
        assert!(message.contains("sun") && message.contains("lamps[0.."), "{message}");
        assert!(message.contains("bind one with --class 0="), "{message}");
    }
}
