//! README's terminal sessions are what the tool prints.
//!
//! `BLESS=1 cargo test --all-features --test session` rewrites them. A line that begins with `$ ` is run by `sh` at the
//! root of the repository; what follows, up to the next such line, is what it prints.
#![cfg(unix)]

use std::env;
use std::path::Path;
use std::process::Command;

const BEGIN: &str = "```console\n";
const END: &str = "```";

/// What a command prints to both outputs, with `shaderjit` in its path.
fn output(command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_shaderjit")).parent().expect("a file is in a folder");
    let rest = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([folder.to_path_buf()].into_iter().chain(env::split_paths(&rest)));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).env("PATH", path.expect("the folder's name has no colon"));
    let output = shell.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("there is a shell");
    String::from_utf8(output.stdout).expect("the tool prints text")
}

#[test]
fn the_sessions_of_the_readme_are_what_happens() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("there is a README");
    let (mut actual, mut rest, mut count) = (String::new(), readme.as_str(), 0);
    while let Some((before, session)) = rest.split_once(BEGIN) {
        let (session, behind) = session.split_once(END).expect("the session ends");
        let commands: Vec<&str> = session.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        assert!(session.lines().count() <= 60, "a session of a few commands");
        count += commands.len();
        let printed = commands.iter().map(|command| format!("$ {command}\n{}", output(command)));
        actual += &format!("{before}{BEGIN}{}{END}", printed.collect::<String>());
        rest = behind;
    }
    actual += rest;
    assert!(count >= 6, "sessions of a few commands");
    if env::var_os("BLESS").is_some() {
        std::fs::write(path, actual).expect("it is ours");
    } else {
        assert_eq!(readme, actual, "BLESS=1 cargo test --all-features --test session rewrites README's sessions");
    }
}
