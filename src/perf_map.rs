//! Native code by name, for Linux's `perf`: `/tmp/perf-<process>.map`, a line `START SIZE name` a piece, the numbers in
//! hexadecimal (`tools/perf/Documentation/jit-interface.txt` of Linux).

use std::fs::OpenOptions;
use std::io::{self, Write};

/// The most characters of a name.
const NAME: usize = 200;

/// Adds a line for this code. If it cannot be written, the log says so.
pub(crate) fn append(code: &[u8], name: &str) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    // One write at the end of the file: lines of several threads and engines do not mix.
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| write(&mut file, code, name)) {
        log::warn!("{path}: {error}");
    }
}

fn write(to: &mut impl Write, code: &[u8], name: &str) -> io::Result<()> {
    let clean = |c: char| if c.is_control() || c.is_whitespace() { '_' } else { c };
    let name: String = name.chars().take(NAME).map(clean).collect();
    to.write_all(format!("{:x} {:x} shaderjit:{name}\n", code.as_ptr().addr(), code.len()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Config, Engine, Shader};

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
        let expected = format!("{}shaderjit:vs_5_0-{digest}:0:4\n", line(named.code().unwrap()));
        assert!(map.lines().any(|found| found == expected.trim_end()), "{expected}{map}");
        assert!(!map.contains(&line(unnamed.code().unwrap())), "{map}");
    }
}
