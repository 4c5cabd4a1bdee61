//! Listings of SPIR-V as `spirv-dis` prints them, and that `spirv-as` makes the same words of them, where Khronos's
//! `spirv-tools` are installed.

use shaderjit::{ListingOptions, Shader};
use std::path::{Path, PathBuf};
use std::process::Command;

fn modules() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/spirv")];
    let mut modules = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "spv") {
                modules.push(path);
            }
        }
    }
    modules.sort();
    modules
}

fn listing(bytes: &[u8]) -> String {
    Shader::parse(bytes).unwrap().disassemble(0, ListingOptions::default()).unwrap()
}

/// Whether a tool is installed; a message where it is not.
fn is_there(tool: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok();
    if !is_there {
        println!("{tool} is not installed: nothing is compared with it");
    }
    is_there
}

#[test]
fn every_module_is_listed() {
    let modules = modules();
    assert!(modules.len() > 390, "{}", modules.len());
    for module in modules {
        let bytes = std::fs::read(&module).unwrap();
        let text = listing(&bytes);
        assert!(text.starts_with("; SPIR-V\n; Version: 1.") && text.contains("OpEntryPoint"), "{}", module.display());
        // The other order of bytes is the same module.
        let turned: Vec<u8> =
            bytes.chunks(4).flat_map(|word| word.iter().rev().copied().collect::<Vec<u8>>()).collect();
        assert_eq!(listing(&turned), text, "{}", module.display());
    }
}

#[test]
fn listings_are_those_of_spirv_dis() {
    if !is_there("spirv-dis") {
        return;
    }
    let mut same = 0;
    for module in modules() {
        let output = Command::new("spirv-dis").args(["--no-color", "--no-header"]).arg(&module).output().unwrap();
        let wanted = String::from_utf8(output.stdout).unwrap();
        let found = listing(&std::fs::read(&module).unwrap());
        let found: Vec<&str> = found.lines().filter(|line| !line.starts_with(';')).collect();
        for (found, wanted) in found.iter().zip(wanted.lines()) {
            assert_eq!(*found, wanted, "{}", module.display());
        }
        assert_eq!(found.len(), wanted.lines().count(), "{}", module.display());
        same += 1;
    }
    println!("{same} listings");
}

/// The words of a listing, with ids by the order in which they first stand there: assembling gives them other numbers.
fn numbered(listing: &str) -> Vec<String> {
    let mut ids = std::collections::HashMap::new();
    let words = listing.lines().filter(|line| !line.starts_with(';')).flat_map(str::split_whitespace);
    let words = words.map(|word| match word.strip_prefix('%') {
        Some(id) => {
            let next = ids.len();
            format!("%{}", ids.entry(id.to_string()).or_insert(next))
        }
        None => word.to_string(),
    });
    words.collect()
}

#[test]
fn listings_are_assembled_to_the_same_words() {
    if !is_there("spirv-as") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("shaderjit-spirv-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // A process each: some of every compiler are enough.
    for module in modules().iter().step_by(7) {
        let bytes = std::fs::read(module).unwrap();
        let (text, binary) = (folder.join("listing"), folder.join("words"));
        std::fs::write(&text, listing(&bytes)).unwrap();
        // The minor version is the second byte of the second word.
        let version = format!("spv1.{}", bytes[5]);
        let status = Command::new("spirv-as")
            .args(["--preserve-numeric-ids", "--target-env", &version, "-o"])
            .args([&binary, &text])
            .status()
            .unwrap();
        assert!(status.success(), "{}", module.display());
        let again = listing(&std::fs::read(&binary).unwrap());
        assert!(numbered(&again) == numbered(&listing(&bytes)), "{}", module.display());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What the fuzz target of the grammar makes are modules.
#[cfg(feature = "fuzzing")]
#[test]
fn spirv_val_accepts_what_the_grammar_makes() {
    use arbitrary::{Arbitrary, Unstructured};
    if !is_there("spirv-val") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("shaderjit_grammar_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for number in 0..60 {
        let bytes: Vec<u8> = (0..2000).map(|_| byte()).collect();
        let case = shaderjit::fuzzing::SpirvMadeCase::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        let path = folder.join(format!("{number}.spv"));
        std::fs::write(&path, case.bytes()).unwrap();
        let output = Command::new("spirv-val").args(["--target-env", "vulkan1.1"]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stdout));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
