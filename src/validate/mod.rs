//! What is wrong with a container, as findings: more than the parsers check, and all of it rather than the first.
//!
//! | file | what it holds against what |
//! |---|---|
//! | `dxbc.rs` | the layout of a DXBC container, its digest, each part on its own, the tokens of Direct3D 9 programs |
//! | `sm4/declarations.rs` | declarations: numbers, and what a stage must have |
//! | `sm4/declared.rs` | declarations: before the code, once each |
//! | `sm4/operands.rs` | each operand: its register is declared, its index in range, its components there, its file writable |
//! | `sm4/flow.rs` | control flow: what is opened is closed, jumps have a target, everything ends with `ret` |
//! | `sm4/signatures.rs` | signatures against declarations, in both directions |
//! | `sm4/bindings.rs` | resource definitions against declarations, in both directions |
//! | `sm4/statistics.rs` | statistics against declarations and instructions |
//! | `shbin.rs` | a SHBIN: each part, jumps and tables within the program, outputs against the output map; a DVOJ's jumps |
//! | `spirv.rs` | a SPIR-V module: whether it is whole and lowers; what else is valid, `spirv-val` says |
//! | `vbc.rs` | a VBC: slots, locations and members, each in range and there once |
//!
//! An error is something that the rules of the format forbid: Direct3D's own checks refuse such a container, or a 3DS
//! runs what nobody wrote. A warning is legal and suspicious, a note is worth knowing. The time is linear in the size
//! of the container, nothing recurses on its nesting, and there are at most [`MAX_FINDINGS`] findings.
//!
//! ```
//! use shaderjit::container::Container;
//! use shaderjit::validate::{Severity, validate};
//!
//! let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
//! assert_eq!(validate(&Container::parse(file)?), []);
//!
//! let mut unsigned = file.to_vec();
//! unsigned[4..20].fill(0);
//! let findings = validate(&Container::parse(&unsigned)?);
//! assert_eq!(findings[0].to_string(), "note: the container is unsigned (at offset 0x4)");
//! assert_eq!(findings[0].severity, Severity::Note);
//! # Ok::<(), shaderjit::error::ContainerError>(())
//! ```

mod dxbc;
mod shbin;
mod sm4;
mod spirv;
mod vbc;

use crate::container::Container;
use std::fmt;

/// How bad a finding is. The worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Legal but suspicious.
    Warning,
    /// Against the rules of the format.
    Error,
}

impl Severity {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Something that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Absolute byte offset of its cause.
    pub offset: usize,
    /// What it is.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (at offset {:#x})", self.severity, self.message, self.offset)
    }
}

/// No more findings than this are made, so that a hostile container cannot fill the memory with them. One more says so.
pub const MAX_FINDINGS: usize = 1000;

/// Bytes of a message at most: the names in it come from the container and may be thousands of bytes long.
const MAX_MESSAGE: usize = 400;

/// What was found so far.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    /// The worst of those that there was no room for, and where the first of them was.
    dropped: Option<(Severity, usize)>,
}

impl Findings {
    fn add(&mut self, severity: Severity, offset: usize, message: fmt::Arguments<'_>) {
        if self.list.len() < MAX_FINDINGS {
            let mut message = message.to_string();
            if message.len() > MAX_MESSAGE {
                message.truncate(message.floor_char_boundary(MAX_MESSAGE));
                message.push('…');
                message.shrink_to_fit();
            }
            self.list.push(Finding { severity, offset, message });
        } else {
            let (worst, first) = self.dropped.unwrap_or((severity, offset));
            self.dropped = Some((worst.max(severity), first));
        }
    }

    fn error(&mut self, offset: usize, message: fmt::Arguments<'_>) {
        self.add(Severity::Error, offset, message);
    }

    fn warning(&mut self, offset: usize, message: fmt::Arguments<'_>) {
        self.add(Severity::Warning, offset, message);
    }

    fn note(&mut self, offset: usize, message: fmt::Arguments<'_>) {
        self.add(Severity::Note, offset, message);
    }

    /// What a parser has refused at this offset.
    fn parse_error(&mut self, offset: usize, error: &dyn std::error::Error) {
        let text = error.to_string();
        // The finding says the offset itself.
        let message = text.strip_suffix(&format!(" (at offset {offset:#x})")).unwrap_or(&text);
        self.error(offset, format_args!("{message}"));
    }

    /// By ascending offset.
    fn finish(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| finding.offset);
        if let Some((severity, offset)) = self.dropped {
            let message = format!("there are more than {MAX_FINDINGS} findings, the rest is left out");
            self.list.push(Finding { severity, offset, message });
        }
        self.list
    }
}

/// Everything that is wrong with a container or worth knowing, by ascending offset. Empty for what the released
/// compilers write.
pub fn validate(container: &Container<'_>) -> Vec<Finding> {
    let mut findings = Findings::default();
    for error in container.errors() {
        findings.parse_error(error.offset().unwrap_or(0), &error);
    }
    match container {
        Container::Dxbc(dxbc) => dxbc::check(dxbc, &mut findings),
        Container::Shbin(shbin) => shbin::check(shbin, &mut findings),
        Container::Dvoj(dvoj) => shbin::check_object(dvoj, &mut findings),
        Container::Vbc(vbc) => vbc::check(vbc, &mut findings),
        Container::Spirv(module) => spirv::check(module, &mut findings),
    }
    findings.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::containers;

    #[test]
    fn there_is_an_end_to_findings() {
        let mut findings = Findings::default();
        for offset in 0..MAX_FINDINGS + 10 {
            match offset {
                1005 => findings.error(offset, format_args!("bad")),
                _ => findings.note(offset, format_args!("so so")),
            }
        }
        let list = findings.finish();
        assert_eq!(list.len(), MAX_FINDINGS + 1);
        let last = list.last().unwrap();
        assert_eq!((last.severity, last.offset), (Severity::Error, MAX_FINDINGS));
    }

    #[test]
    fn messages_are_no_longer_than_readable() {
        let mut findings = Findings::default();
        findings.error(0, format_args!("{}", "é".repeat(3000)));
        let message = &findings.finish()[0].message;
        assert!(message.len() <= MAX_MESSAGE + 3 && message.ends_with("é…"), "{message}");
    }

    /// Every container of the test data, by its path. DXC leaves parts unaligned, which is worth a warning each.
    fn corpus() -> Vec<(String, Vec<u8>)> {
        let files = containers(&["dxbc", "shbin"]).into_iter();
        files.map(|(path, bytes)| (path.display().to_string(), bytes)).collect()
    }

    /// What compilers write breaks no rule, and what Microsoft's and the 3DS assemblers write is not even suspicious.
    #[test]
    fn real_files_break_no_rule() {
        for (path, bytes) in corpus() {
            for finding in validate(&Container::parse(&bytes).unwrap()) {
                let text = finding.to_string();
                if path.contains("cs_abort") || path.contains("cs_dbg") {
                    // These need a debug layer, and their compiler signs them as if it were a debug build.
                    assert_eq!(text, "note: the digest is one of a compiler's debug build (at offset 0x4)", "{path}");
                } else {
                    // vkd3d marks elements as used that its program does not read.
                    assert!(path.contains(".vkd3d") && finding.severity == Severity::Warning, "{path}: {text}");
                    assert!(finding.message.ends_with("of it is not declared"), "{path}: {text}");
                }
            }
        }
    }

    /// No bytes of a container can make a rule panic.
    #[test]
    fn changed_files_have_findings_and_nothing_worse() {
        let files: Vec<Vec<u8>> = corpus().into_iter().step_by(7).map(|(_, bytes)| bytes).collect();
        arbtest::arbtest(|u| {
            let mut bytes = u.choose(&files)?.clone();
            for _ in 0..u.int_in_range(1..=8)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            if let Ok(container) = Container::parse(&bytes) {
                let findings = validate(&container);
                assert!(findings.len() <= MAX_FINDINGS + 1);
                let listed = &findings[..findings.len().min(MAX_FINDINGS)];
                assert!(listed.is_sorted_by_key(|finding| finding.offset));
            }
            Ok(())
        })
        .budget_ms(2000);
    }
}
