//! Compute shaders: how many thread groups run; the memory that they and shaders of other stages write, and how that is
//! printed.

use crate::options::{Source, number, slot_and_space};
use crate::report::Failure;
use crate::resources::Kind;
use shaderjit::error::CallError;
use shaderjit::texture::TexelKind;
use shaderjit::{AtomicBuffer, Call, Descriptor, MemoryView, TexelFormat};
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(clap::Args)]
pub struct GroupArgs {
    /// Run a compute shader. What is not bound reads 0, as in Direct3D
    #[arg(long, requires = "dispatch")]
    cs: bool,
    /// How many thread groups a compute shader runs
    #[arg(long, value_name = "X,Y,Z")]
    dispatch: Option<Grid>,
    /// Memory that a shader writes. KIND is as for --srv, with one level; struct:STRIDE:counter:N and
    /// struct:STRIDE:append:N have a hidden counter that begins at N, or at 0 without :N
    #[arg(long, value_name = "SLOT=KIND,RAW")]
    uav: Vec<UnorderedAccess>,
    /// Write the bytes of such memory to a file
    #[arg(long, value_name = "SLOT=PATH")]
    uav_out: Vec<MemoryFile>,
}

/// Groups in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid(pub [u32; 3]);

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Grid, String> {
        let numbers = text.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>();
        match numbers.as_deref() {
            Ok(&[x, y, z]) => Ok(Grid([x, y, z])),
            _ => Err(format!("{text:?} are no three numbers X,Y,Z")),
        }
    }
}

/// `SLOT=KIND,RAW`, or `SLOT:SPACE=KIND,RAW` in a register space of shader model 5.1.
#[derive(Clone, Debug)]
pub struct UnorderedAccess {
    slot: u32,
    space: u32,
    kind: Kind,
    counter: Option<u32>,
    source: Source,
}

impl FromStr for UnorderedAccess {
    type Err = String;

    fn from_str(text: &str) -> Result<UnorderedAccess, String> {
        let (slot, rest) = text.split_once('=').ok_or("expected SLOT=KIND,RAW")?;
        let (kind, source) = rest.split_once(',').ok_or("expected KIND,RAW after the slot")?;
        let (slot, space) = slot_and_space(slot, &["u"])?;
        let fields: Vec<&str> = kind.split(':').collect();
        let (kind, counter) = match fields[..] {
            ["struct", stride, "counter" | "append", ref start @ ..] => {
                let start = match start {
                    [] => 0,
                    [start] => number(start)?,
                    _ => return Err(format!("{kind:?} has too many fields")),
                };
                (format!("struct:{stride}").parse()?, Some(start))
            }
            _ => (kind.parse()?, None),
        };
        Ok(UnorderedAccess { slot, space, kind, counter, source: source.parse()? })
    }
}

/// `SLOT=PATH`.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    slot: u32,
    space: u32,
    path: PathBuf,
}

impl FromStr for MemoryFile {
    type Err = String;

    fn from_str(text: &str) -> Result<MemoryFile, String> {
        let (slot, path) = text.split_once('=').ok_or("expected SLOT=PATH")?;
        let (slot, space) = slot_and_space(slot, &["u"])?;
        Ok(MemoryFile { slot, space, path: path.into() })
    }
}

/// The memory of one run.
pub struct Memory {
    slot: u32,
    space: u32,
    kind: Kind,
    buffer: AtomicBuffer,
    counter: Option<AtomicBuffer>,
}

impl GroupArgs {
    pub fn is_asked(&self) -> bool {
        self.cs
    }

    /// The groups to run: one where nothing is said, which is enough to compare and to time.
    pub fn grid(&self) -> [u32; 3] {
        self.dispatch.map_or([1; 3], |grid| grid.0)
    }

    /// Memory that holds what the options say.
    pub fn memory(&self) -> Result<Vec<Memory>, Failure> {
        self.uav.iter().map(Memory::read).collect()
    }

    /// Writes the files that are asked for.
    pub fn write(&self, memory: &[Memory]) -> Result<(), Failure> {
        for MemoryFile { slot, space, path } in &self.uav_out {
            let found = memory.iter().find(|memory| (memory.slot, memory.space) == (*slot, *space));
            let found =
                found.ok_or_else(|| Failure::usage(format_args!("--uav-out {slot}: there is no such --uav")))?;
            let written = std::fs::write(path, found.buffer.to_bytes());
            written.map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))?;
        }
        Ok(())
    }
}

impl Memory {
    /// Memory that holds what an option says.
    pub fn read(option: &UnorderedAccess) -> Result<Memory, Failure> {
        Ok(Memory {
            slot: option.slot,
            space: option.space,
            kind: option.kind,
            buffer: AtomicBuffer::from_bytes(&option.source.read()?),
            counter: option.counter.map(|start| AtomicBuffer::from_bytes(&start.to_le_bytes())),
        })
    }

    pub fn bind<'a>(&'a self, call: &mut Call<'a>) -> Result<(), CallError> {
        let view = match self.kind {
            Kind::Raw => MemoryView::raw(&self.buffer),
            Kind::Structured(stride) => MemoryView::structured(&self.buffer, stride),
            Kind::Typed(format) => MemoryView::typed(&self.buffer, format),
            Kind::Texture(layout) => MemoryView::image(&self.buffer, layout),
        };
        let view = match &self.counter {
            Some(counter) => view.counter(counter),
            None => view,
        };
        match call.shader().interface().has_descriptors() {
            true => call.descriptor(self.space, self.slot, 0, Descriptor::Memory(view)).map(drop),
            false => call.unordered_access_in_space(self.slot, self.space, view).map(drop),
        }
    }

    /// Binds it, if the shader has such a view. In a pipeline, each stage has some.
    pub fn bind_if_known<'a>(&'a self, call: &mut Call<'a>) -> Result<(), CallError> {
        match self.bind(call) {
            Err(CallError::UnknownBinding { .. }) => Ok(()),
            bound => bound,
        }
    }

    /// Bytes and counter.
    pub fn contents(&self) -> (Vec<u8>, Option<u32>) {
        (self.buffer.to_bytes(), self.counter.as_ref().and_then(|counter| counter.word(0)))
    }

    /// `u0 counter 5`, then a line an element: `u0[7] 1 2.5  [3f800000 40200000]`.
    pub fn text(&self) -> String {
        let (bytes, counter) = self.contents();
        let mut text = String::new();
        let name = match self.space {
            0 => format!("u{}", self.slot),
            space => format!("u{}:{space}", self.slot),
        };
        if let Some(counter) = counter {
            let _ = writeln!(text, "{name} counter {counter}");
        }
        let (size, format) = match self.kind {
            Kind::Raw => (16, None),
            Kind::Structured(stride) => (stride.max(1) as usize, None),
            Kind::Typed(format) => (format.bytes(), Some(format)),
            Kind::Texture(layout) => (layout.format().bytes(), Some(layout.format())),
        };
        for (index, element) in bytes.chunks_exact(size).enumerate() {
            let _ = writeln!(text, "{name}[{index}] {}", element_text(element, format));
        }
        text
    }
}

/// The numbers of an element, then their hexadecimal digits.
pub fn element_text(element: &[u8], format: Option<TexelFormat>) -> String {
    let is_float = |format: TexelFormat| format.kind() == TexelKind::Float && format.bytes() == 4 * format.components();
    let is_float = format.is_none_or(is_float);
    let word_bytes = element.len().min(4);
    let words =
        element.chunks(word_bytes).map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
    let is_signed = format.is_some_and(|format| format.kind() == TexelKind::Sint);
    let number = |word: u32| match word {
        word if is_float => float_text(f32::from_bits(word)),
        word if is_signed && word_bytes == 4 => (word as i32).to_string(),
        word => word.to_string(),
    };
    let numbers: Vec<String> = words.clone().map(number).collect();
    let digits: Vec<String> = words.map(|word| format!("{word:0width$x}", width = 2 * word_bytes)).collect();
    format!("{}  [{}]", numbers.join(" "), digits.join(" "))
}

/// A float with nine significant digits, as C's `%.9g` has it.
fn float_text(value: f32) -> String {
    const DIGITS: i32 = 9;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return format!("{sign}nan");
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let scientific = format!("{:.*e}", DIGITS as usize - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("exponents are numbers");
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if !(-4..DIGITS).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    trimmed(&format!("{:.*}", (DIGITS - 1 - exponent) as usize, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_nine_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1_451.334_1, "-1451.33411"),
            (3.403_996_4e-21, "3.40399645e-21"),
            (-3.871_518e37, "-3.87151801e+37"),
            (1e9, "1e+09"),
            (123_456_792.0, "123456792"),
            (0.000_1, "9.99999975e-05"),
            (f32::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_text(value), text);
        }
        assert_eq!(float_text(f32::from_bits(u32::MAX)), "-nan");
    }

    #[test]
    fn elements_are_words_or_less() {
        assert_eq!(element_text(&[0, 0, 0x80, 0x3f, 1, 0, 0, 0], None), "1 1.40129846e-45  [3f800000 00000001]");
        assert_eq!(element_text(&[255, 1, 0, 2], Some(TexelFormat::Rgba8Unorm)), "33554943  [020001ff]");
        assert_eq!(element_text(&[0x80], Some(TexelFormat::R8Unorm)), "128  [80]");
        assert_eq!(element_text(&[0, 0, 0, 0xc0], Some(TexelFormat::R32Sint)), "-1073741824  [c0000000]");
    }

    #[test]
    fn options_name_groups_and_memory() {
        assert_eq!("2,1,3".parse(), Ok(Grid([2, 1, 3])));
        assert!("2,1".parse::<Grid>().is_err());
        let memory: UnorderedAccess = "1=struct:8:counter:5,zero:16".parse().unwrap();
        assert_eq!((memory.slot, memory.kind, memory.counter), (1, Kind::Structured(8), Some(5)));
        let memory: UnorderedAccess = "u0:2=struct:8:append,zero:16".parse().unwrap();
        assert_eq!((memory.space, memory.counter), (2, Some(0)));
        let memory: UnorderedAccess = "3=buf:rgba8,zero:16".parse().unwrap();
        assert_eq!((memory.kind, memory.counter), (Kind::Typed(TexelFormat::Rgba8Unorm), None));
        for bad in ["0=struct:8:many,zero:4", "0=struct:8:counter:x,zero:4", "t0=raw,zero:4", "0=raw"] {
            assert!(bad.parse::<UnorderedAccess>().is_err(), "{bad}");
        }
    }
}
