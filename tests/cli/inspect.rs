//! What is seen of files without running them: parts, digests, findings, containers in archives, listings of every
//! form.

use crate::VERBS;
use crate::support::tool::{Folder, Temporary, data, fails, shaderjit, stdout};

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
