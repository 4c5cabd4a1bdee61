//! What the sources say of themselves, and the rules they keep that no tool checks.

use std::collections::{BTreeMap, BTreeSet};
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

/// `src/jit/mod.rs`, `src/simd/mod.rs` and `src/capi/mod.rs` list the files with `unsafe` code. There is none
/// elsewhere.
#[test]
fn unsafe_code_is_where_the_lists_say() {
    let listed = |folder: &str| -> BTreeSet<PathBuf> {
        let folder = root().join(folder);
        let text = std::fs::read_to_string(folder.join("mod.rs")).unwrap();
        let (_, list) = text.split_once("`unsafe` is only in ").expect("the list is there");
        let (list, _) = list.split_once("\n\n").expect("the comment ends");
        list.split('`').filter(|file| file.ends_with(".rs")).map(|file| folder.join(file)).collect()
    };
    let listed: BTreeSet<PathBuf> = ["src/jit", "src/simd", "src/capi"].into_iter().flat_map(listed).collect();

    let files = sources(&["src", "ir/src"]);
    let has_unsafe = |text: &String| text.lines().any(|line| has_word(line, "unsafe"));
    let found: BTreeSet<PathBuf> =
        files.into_iter().filter(|(_, text)| has_unsafe(text)).map(|(path, _)| path).collect();
    assert_eq!(listed, found, "the lists in `mod.rs` of these folders, and the files with unsafe code");
}

/// Front ends, passes, planning and calls know no code generator.
#[test]
fn cranelift_is_named_by_its_back_end_alone() {
    let back_end = root().join("src/jit/cranelift");
    let names = ["cranelift_codegen", "cranelift_frontend", "cranelift_native"];
    let names_it = |text: &str| text.lines().any(|line| names.iter().any(|name| has_word(line, name)));
    let files = sources(&["src", "ir/src"]).into_iter().filter(|(path, _)| !path.starts_with(&back_end));
    let found: Vec<PathBuf> = files.filter(|(_, text)| names_it(text)).map(|(path, _)| path).collect();
    assert_eq!(found, Vec::<PathBuf>::new());
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

/// Files and folders below `src` that import each other in one direction only. A folder that ends in a slash is all of
/// its files, each by itself; any other is one thing.
const IN_LINE: &str = "cache.rs call/ compiled.rs container/dxbc/rdat/field.rs container/dxbc/rdat/pool.rs \
    container/dxbc/rdat/table.rs engine.rs error.rs facts.rs frontend/pica/decode.rs frontend/pica/encode.rs native.rs \
    options.rs pica_uniforms.rs prepared.rs shader.rs stage.rs texture tiering.rs uniform_value.rs variables.rs";

/// The paths of a `use` declaration, without the braces.
fn paths(declaration: &str) -> Vec<String> {
    let Some((front, rest)) = declaration.split_once('{') else { return vec![declaration.trim().to_string()] };
    let (mut depth, mut items) = (0, vec![String::new()]);
    for c in rest.rsplit_once('}').expect("braces are closed").0.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => items.push(String::new()),
            c => items.last_mut().unwrap().push(c),
        }
    }
    items.iter().flat_map(|item| paths(item)).map(|path| format!("{}{path}", front.trim())).collect()
}

/// What is in line, imported by a file of that module path.
fn imports(module: &str, text: &str, nodes: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let declarations = code.split(';').filter_map(|item| {
        let (before, declaration) = item.rsplit_once("use ")?;
        before.trim_end_matches("pub ").trim_end_matches("pub(crate) ").ends_with('\n').then_some(declaration)
    });
    let found = declarations.flat_map(paths).filter_map(|path| {
        let mut base = module;
        let mut path = path.as_str();
        while let Some(rest) = path.strip_prefix("super::") {
            (base, path) = (base.rsplit_once("::")?.0, rest);
        }
        let whole = if path.starts_with("crate::") { path.to_string() } else { format!("{base}::{path}") };
        // The longest part of it that is a file.
        let ends = whole.match_indices("::").map(|(at, _)| at).chain([whole.len()]);
        ends.filter_map(|end| nodes.get(&whole[..end])).last().cloned()
    });
    found.collect()
}

#[test]
fn files_that_were_untangled_stay_in_line() {
    let mut nodes = BTreeMap::new();
    let mut files = Vec::new();
    for (path, text) in sources(&["src"]) {
        let path = path.strip_prefix(root().join("src")).unwrap().to_str().unwrap().replace('\\', "/");
        let Some(entry) = IN_LINE.split(' ').find(|entry| path.starts_with(entry)) else { continue };
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        let module = format!("crate::{module}");
        let node = if entry.ends_with('/') { path } else { entry.to_string() };
        nodes.insert(module.clone(), node);
        files.push((module, text));
    }
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, text) in &files {
        edges.entry(nodes[module].clone()).or_default().extend(imports(module, text, &nodes));
    }
    assert!(edges["call/vertices.rs"].contains("call/engine.rs"), "imports are found");
    while let Some(last) = edges.iter().find(|(node, to)| to.iter().all(|to| to == *node || !edges.contains_key(to))) {
        let last = last.0.clone();
        edges.remove(&last);
    }
    assert!(edges.is_empty(), "these files import each other in a circle, or such files: {:#?}", edges);
}
