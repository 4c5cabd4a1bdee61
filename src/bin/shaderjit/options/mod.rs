//! Options that several subcommands have, and the sources of bytes that they name.
//!
//! | file | what it has |
//! |---|---|
//! | `shader` | which shader: a container, or words without one |
//! | `files` | files that are no shaders, and where results go |
//! | `lower` | how to lower: what a shader leaves open |
//! | `compile` | how to compile: lanes, vectors, fuel |

mod compile;
mod files;
mod lower;
mod shader;

pub use compile::{CompileArgs, MadArgs};
pub use files::{BytesArgs, FileArgs, OutputArgs, PathArgs};
pub use lower::LowerArgs;
pub use shader::{ProgramArgs, ShaderArgs};

use crate::report::Failure;
use std::io::Read;
use std::str::FromStr;

/// Where bytes come from: a path, `-` for standard input, `hex:AABB` for bytes in place, or `zero:N` for so many zeros.
#[derive(Clone, Debug)]
pub struct Source(String);

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        if let Some(digits) = text.strip_prefix("hex:") {
            hex(digits)?;
        }
        if let Some(count) = text.strip_prefix("zero:") {
            zeros(count)?;
        }
        Ok(Source(text.to_string()))
    }
}

impl Source {
    pub fn read(&self) -> Result<Vec<u8>, Failure> {
        let bytes = match self.0.as_str() {
            "-" => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            name => match (name.strip_prefix("hex:"), name.strip_prefix("zero:")) {
                (Some(digits), _) => return hex(digits).map_err(Failure::usage),
                (_, Some(count)) => return zeros(count).map(|count| vec![0; count as usize]).map_err(Failure::usage),
                (None, None) => std::fs::read(name),
            },
        };
        bytes.map_err(|error| Failure::input(format_args!("{}: {error}", self.0)))
    }

    /// The file of that path, whatever its name looks like.
    pub fn of_path(path: &std::path::Path) -> Source {
        Source(path.display().to_string())
    }

    /// The path, or the text that stands for the bytes.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Words, little-endian.
    fn words(&self) -> Result<Vec<u32>, Failure> {
        let bytes = self.read()?;
        match bytes.as_chunks::<4>() {
            (words, []) => Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect()),
            _ => Err(Failure::input(format_args!("{}: {} bytes are no words", self.0, bytes.len()))),
        }
    }
}

/// How many zeros; more than 1 GiB is a slip.
fn zeros(count: &str) -> Result<u32, String> {
    let small = |&count: &u32| count <= 1 << 30;
    count.parse().ok().filter(small).ok_or_else(|| format!("{count:?} is no number of bytes up to 2^30"))
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digit = |c: char| c.to_digit(16).ok_or_else(|| format!("{c:?} is no hexadecimal digit"));
    let nibbles = digits.chars().map(digit).collect::<Result<Vec<u32>, _>>()?;
    match nibbles.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect()),
        _ => Err("an odd number of hexadecimal digits".to_string()),
    }
}

/// A constant buffer: `SLOT=SOURCE`, or `SLOT:SPACE=SOURCE` in a register space of shader model 5.1.
#[derive(Clone, Debug)]
pub struct ConstantBuffer {
    pub slot: u32,
    pub space: u32,
    pub source: Source,
}

impl FromStr for ConstantBuffer {
    type Err = String;

    fn from_str(text: &str) -> Result<ConstantBuffer, String> {
        let (slot, source) = text.split_once('=').ok_or("expected SLOT=PATH")?;
        let (slot, space) = slot_and_space(slot, &["cb", "b"])?;
        Ok(ConstantBuffer { slot, space, source: source.parse()? })
    }
}

/// `SLOT` or `SLOT:SPACE`. One of these register names may stand in front: `3`, `b3` and `cb3` are one slot.
pub fn slot_and_space(text: &str, names: &[&str]) -> Result<(u32, u32), String> {
    let (slot, space) = text.split_once(':').unwrap_or((text, "0"));
    let digits = names.iter().find_map(|name| slot.strip_prefix(name)).unwrap_or(slot);
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no slot number"));
    Ok((number(digits)?, number(space)?))
}

/// A number within an option.
pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_buffers_name_a_slot_and_a_source() {
        let buffer: ConstantBuffer = "3=hex:00ff7F".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 0));
        assert!(buffer.source.read().is_ok_and(|bytes| bytes == [0, 0xff, 0x7f]));
        let buffer: ConstantBuffer = "cb3=zero:4".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 0));
        let buffer: ConstantBuffer = "b3:1=zero:4".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 1));
        let buffer: ConstantBuffer = "3:2=a=b".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space, buffer.source.0.as_str()), (3, 2, "a=b"));
        for bad in ["3", "x=a", "t3=a", "-1=a", "0=hex:abc", "0=hex:zz", ""] {
            assert!(bad.parse::<ConstantBuffer>().is_err(), "{bad}");
        }
    }
}
