//! What the sources say of themselves, and the rules they keep that no tool checks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below these folders, by ascending path, with its text.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

/// Whether the code of a line, without its comment, has the word.
fn has_word(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|found| found == word)
}

/// `src/jit/mod.rs` lists the files with `unsafe` code. There is none elsewhere.
#[test]
fn unsafe_code_is_where_the_list_says() {
    let folder = root().join("src/jit");
    let text = std::fs::read_to_string(folder.join("mod.rs")).unwrap();
    let (_, list) = text.split_once("`unsafe` is only in ").expect("the list is there");
    let (list, _) = list.split_once("\n\n").expect("the comment ends");
    let listed: BTreeSet<PathBuf> =
        list.split('`').filter(|file| file.ends_with(".rs")).map(|file| folder.join(file)).collect();

    let files = sources(&["src", "ir/src"]);
    let has_unsafe = |text: &String| text.lines().any(|line| has_word(line, "unsafe"));
    let found: BTreeSet<PathBuf> =
        files.into_iter().filter(|(_, text)| has_unsafe(text)).map(|(path, _)| path).collect();
    assert_eq!(listed, found, "the list in src/jit/mod.rs, and the files with unsafe code");
}

/// The most columns of a line that is a comment. Code is rustfmt's to break; it leaves comments as they are.
const COLUMNS: usize = 120;

/// Tables and fences (code and pictures) in comments are as wide as they must be.
#[test]
fn comments_keep_to_their_columns() {
    let mut long = Vec::new();
    for (path, text) in sources(&["src", "ir", "tests", "benches", "fuzz", "examples"]) {
        let mut is_fenced = false;
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                is_fenced = false;
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            is_fenced ^= comment.starts_with("```");
            let may_be_wide = is_fenced || comment.starts_with('|');
            if line.chars().count() > COLUMNS && !may_be_wide {
                long.push(format!("{}:{number}", path.strip_prefix(root()).unwrap_or(&path).display()));
            }
        }
    }
    assert!(long.is_empty(), "comments of more than {COLUMNS} columns:\n{}", long.join("\n"));
}
