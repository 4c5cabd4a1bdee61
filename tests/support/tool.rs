//! The command-line tool as tests run it, and files for it.

use shaderjit::Vectors;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub fn data(path: &str) -> String {
    format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The options for each way to run a shader that this machine has: on the interpreter, and as native code on vectors of
/// each kind.
pub fn engines() -> impl Iterator<Item = [&'static str; 2]> {
    let native = Vectors::of_this_machine().into_iter().map(|vectors| ["--vectors", vectors.name()]);
    std::iter::once(["--engine", "interp"]).chain(native)
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
    command.args(args).stdin(Stdio::null());
    command
}

pub fn shaderjit(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// What it prints, which must be all that happens.
pub fn stdout(args: &[&str]) -> String {
    let output = shaderjit(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    assert!(output.stderr.is_empty(), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// It fails with that code and prints nothing but a message.
pub fn fails(args: &[&str], code: i32) -> String {
    let output = shaderjit(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
    assert!(output.stdout.is_empty(), "{args:?} printed {} bytes", output.stdout.len());
    assert!(!output.stderr.is_empty(), "{args:?}");
    stderr(&output)
}

/// A file of its own, gone with the guard.
pub struct Temporary(PathBuf);

impl Temporary {
    pub fn new(name: &str, bytes: &[u8]) -> Temporary {
        let path = std::env::temp_dir().join(format!("shaderjit-cli-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Temporary(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A directory of its own, gone with the guard.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("shaderjit-cli-{}-{name}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Of the vertices of `vs_transform`.
pub const LAYOUT: &str = "POSITION=f32x3@0,NORMAL=f32x3@16,TEXCOORD=f32x2@32,COLOR=f32x4@48/64";
