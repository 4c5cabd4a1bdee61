//! `ir --source` and `asm --source`: what instructions were made for stands above them, as the listing has it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

fn shaderjit(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
    let output = command.args(args).output().expect("the tool runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("listings are text")
}

fn offset_and_text(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ").filter(|(offset, _)| offset.starts_with("0x"))
}

/// Every instruction of the listing that computes something is named above IR and above native code, with its text.
#[test]
fn arithmetic_is_named_above_its_code() {
    let files = [
        ("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", &["mul", "mad", "dp3", "rsq", "max"][..]),
        ("dxbc/vs_switch/VS.vs_5_0.fxc101.dxbc", &["ieq", "add", "iadd", "or"]),
        ("pica/t25_skinning.shbin", &["dp4", "dp3", "mad"]),
    ];
    for (file, mnemonics) in files {
        let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
        let listing = shaderjit(&["dis", "--offsets", &path]);
        let listed: BTreeMap<&str, &str> =
            listing.lines().filter_map(offset_and_text).map(|(offset, text)| (offset, text.trim())).collect();
        let computes = |text: &str| text.split([' ', '_']).any(|word| mnemonics.contains(&word));
        let computing: BTreeSet<&str> =
            listed.iter().filter(|(_, text)| computes(text)).map(|(&offset, _)| offset).collect();
        assert!(computing.len() >= 6, "{file}: {}", computing.len());
        let mut commands = vec![vec!["ir", "--pass", "lower"], vec!["ir"]];
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            commands.push(vec!["asm"]);
        }
        for command in commands {
            let text = shaderjit(&[command.clone(), vec!["--source", &path]].concat());
            let named: BTreeMap<&str, &str> =
                text.lines().filter_map(|line| line.trim().strip_prefix("; ")).filter_map(offset_and_text).collect();
            for (offset, text) in &named {
                assert_eq!(listed.get(offset), Some(text), "{file} {command:?}");
            }
            let missing: Vec<_> = computing.iter().filter(|offset| !named.contains_key(**offset)).collect();
            assert!(missing.is_empty(), "{file} {command:?}: {missing:?} of {computing:?}");
        }
    }
}

/// Branches of native code name the labels of what they lead to.
#[test]
fn branches_name_labels() {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return;
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_switch/VS.vs_5_0.fxc101.dxbc");
    let text = shaderjit(&["asm", path]);
    let labels: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_suffix(':')).filter(|label| label.starts_with('L')).collect();
    let used: BTreeSet<&str> =
        text.lines().filter_map(|line| line.split_once("  ; ")).map(|(_, label)| label).collect();
    assert!(labels.len() > 10, "{labels:?}");
    assert_eq!(labels, used);
}
