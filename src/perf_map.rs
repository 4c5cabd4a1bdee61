//! Native code by name, for Linux's `perf`: `/tmp/perf-<process>.map`, a line `START SIZE name` a piece, the numbers in
//! hexadecimal (`tools/perf/Documentation/jit-interface.txt` of Linux).
//!
//! Everybody can write to that folder and foresee the name. So the file must be a new one: if anything has the name
//! already, be it a link to somewhere else or what a process of the same number left behind, nothing is written and the
//! log says so.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The most characters of a name.
const NAME: usize = 200;

/// The file of the process with this number. One that was forked off has another number, and so a file of its own.
static FILE: Mutex<Option<(u32, File)>> = Mutex::new(None);

/// Adds a line for this code. If it cannot be written, the log says so.
pub(crate) fn append(code: &[u8], name: &str) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let process = std::process::id();
    let path = format!("/tmp/perf-{process}.map");
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match &mut *file {
        Some((owner, file)) if *owner == process => Ok(file),
        other => create(path.as_ref()).map(|file| &mut other.insert((process, file)).1),
    };
    if let Err(error) = file.and_then(|file| write(file, code, name)) {
        log::warn!("{path}: {error}");
    }
}

/// A new file, to be written at its end: what else the process writes to it stays.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(path)
}

fn write(to: &mut impl Write, code: &[u8], name: &str) -> io::Result<()> {
    let clean = |c: char| if c.is_control() || c.is_whitespace() { '_' } else { c };
    let name: String = name.chars().take(NAME).map(clean).collect();
    to.write_all(format!("{:x} {:x} shaderjit:{name}\n", code.as_ptr().addr(), code.len()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn nothing_that_is_there_is_written_to() {
        let folder = std::env::temp_dir().join(format!("shaderjit-perf-map-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let [victim, link, dangling] = ["victim", "link", "dangling"].map(|name| folder.join(name));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        std::os::unix::fs::symlink(folder.join("nothing"), &dangling).unwrap();
        for path in [&victim, &link, &dangling] {
            assert_eq!(create(path).map(drop).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{}", path.display());
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!folder.join("nothing").exists() && create(&folder.join("new")).is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_stay_on_their_line() {
        let code = [0; 0x123];
        let mut lines = Vec::new();
        write(&mut lines, &code, "a b\n0 1 c\u{85}\u{2028}é").unwrap();
        write(&mut lines, &code, &"ü".repeat(10_000)).unwrap();
        let start = code.as_ptr().addr();
        let long = "ü".repeat(NAME);
        let expected = format!("{start:x} 123 shaderjit:a_b_0_1_c__é\n{start:x} 123 shaderjit:{long}\n");
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_piece_of_code_has_a_line() {
        use crate::{CompileOptions, Config, Engine, Shader};
        let bytes = include_bytes!("../tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
        let shader = Shader::parse(bytes).unwrap();
        let compile =
            |config: Config| Engine::new(config).unwrap().compile(&shader, &CompileOptions::default()).unwrap();
        let (named, unnamed) = (compile(Config::default().perf_map(true)), compile(Config::default()));
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let map = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let line = |code: &[u8]| format!("{:x} {:x} ", code.as_ptr().addr(), code.len());
        let digest = shader.digest().unwrap().0;
        let (line_of_code, lanes) = (line(named.machine_code().unwrap()), named.lanes().count());
        let expected = format!("{line_of_code}shaderjit:vs_5_0-{digest}:0:{lanes}\n");
        assert!(map.lines().any(|found| found == expected.trim_end()), "{expected}{map}");
        assert!(!map.contains(&line(unnamed.machine_code().unwrap())), "{map}");
    }
}
