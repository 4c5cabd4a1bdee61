//! Programs in text with what they must compute, on both engines: `tests/filetests/sm4/*.op` and the tests of
//! `tests/semantics`.
//! `tests/filetests/README.md` has their grammar; lines of programs are those of [`assembler`](super::assembler).

use super::components::{Bound, Pattern, patterns, words};
use super::emissions::EmissionRun;
use super::groups::{GroupRun, Memory};
use super::interfaces::Instance;
use super::program::{Element, Source, bytes};
use super::textures;
use shaderjit::{Image, SamplerState, TexelFormat};
use std::fmt::Write;

/// A program, what is bound to it, and what it must compute.
#[derive(Clone)]
pub struct Section {
    pub source: Source,
    /// The lines of the program, unless it has signatures that they do not imply.
    pub text: Option<String>,
    pub bound: Bound,
    pub constants: Vec<(Slot, Vec<u8>)>,
    pub resources: Vec<(Slot, View, Vec<u8>)>,
    pub textures: Vec<(Slot, Image<'static>)>,
    pub samplers: Vec<(Slot, SamplerState)>,
    pub runs: Vec<Run>,
    /// Whether the runs are quads of pixels, four by four.
    pub quads: bool,
    pub memory: Vec<Memory>,
    pub groups: Vec<GroupRun>,
    pub emissions: Vec<EmissionRun>,
}

/// The number of a slot, and its register space.
pub type Slot = (u32, u32);

/// How a buffer is bound.
#[derive(Clone, Copy)]
pub enum View {
    Raw,
    Structured(u32),
    Typed(TexelFormat),
}

/// One invocation.
#[derive(Clone)]
pub struct Run {
    pub text: String,
    pub inputs: Vec<[u32; 4]>,
    pub expected: Expected,
}

#[derive(Clone)]
pub enum Expected {
    Outputs { rows: Vec<[Vec<Pattern>; 4]>, discarded: bool, aborted: bool },
    OutOfFuel,
}

/// Runs every section of a text; panics with what does not come out.
pub fn check(text: &str) {
    let sections = sections(text).unwrap_or_else(|error| panic!("{error}"));
    let failures: String = sections.iter().filter_map(|section| section.check().err()).collect();
    assert!(failures.is_empty(), "\n{failures}");
}

/// The same for a text of one section with other signatures.
pub fn check_with(text: &str, inputs: &[Element], outputs: &[Element]) {
    let sections = sections(text).unwrap_or_else(|error| panic!("{error}"));
    let [mut section] = <[Section; 1]>::try_from(sections).unwrap_or_else(|_| panic!("one section has signatures"));
    section.source = section.source.with(inputs, outputs);
    section.text = None;
    section.check().unwrap_or_else(|failures| panic!("\n{failures}"));
}

/// The sections of a text.
pub fn sections(text: &str) -> Result<Vec<Section>, String> {
    let mut sections = Vec::new();
    let mut next = Reader::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        let is_run = line.contains("==");
        if !is_run && next.has_runs() {
            sections.push(std::mem::take(&mut next).finish());
        }
        next.line(line).map_err(|error| format!("line {}: {error}", number + 1))?;
    }
    match !next.has_runs() {
        true => Err("the text does not end with a run".to_string()),
        false => {
            sections.push(next.finish());
            Ok(sections)
        }
    }
}

/// A section as far as it has been read.
#[derive(Default)]
struct Reader {
    program: String,
    bound: Option<Bound>,
    constants: Vec<(Slot, Vec<u8>)>,
    resources: Vec<(Slot, View, Vec<u8>)>,
    textures: Vec<(Slot, Image<'static>)>,
    samplers: Vec<(Slot, SamplerState)>,
    instances: Vec<Instance>,
    runs: Vec<Run>,
    quads: bool,
    memory: Vec<Memory>,
    groups: Vec<GroupRun>,
    emissions: Vec<EmissionRun>,
}

impl Reader {
    fn has_runs(&self) -> bool {
        !self.runs.is_empty() || !self.groups.is_empty() || !self.emissions.is_empty()
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some((grid, expected)) = line.strip_prefix("dispatch ").and_then(|run| run.split_once("==")) {
            self.groups.push(GroupRun::parse(grid, expected, line)?);
        } else if let Some((vertices, expected)) = line.strip_prefix("primitive ").and_then(|run| run.split_once("=="))
        {
            self.emissions.push(EmissionRun::parse(vertices, expected, line)?);
        } else if let Some((inputs, expected)) = line.split_once("==") {
            let is_quad = line.contains('(');
            if !self.runs.is_empty() && is_quad != self.quads {
                return Err("a section has quads, or it has none".to_string());
            }
            self.quads = is_quad;
            for pixel in 0..if is_quad { 4 } else { 1 } {
                self.runs.push(Run {
                    text: line.to_string(),
                    inputs: words(&of_pixel(inputs, pixel)?)?,
                    expected: Expected::parse(&of_pixel(expected, pixel)?)?,
                });
            }
        } else if let Some(bound) = line.strip_prefix("within ") {
            self.bound = Some(Bound::parse(bound).ok_or("a bound is a number of ulp, relative or absolute")?);
        } else if let Some((place, bound)) = line.split_once(" = ") {
            self.bind(place, bound)?;
        } else {
            writeln!(self.program, "{line}").expect("strings take text");
        }
        Ok(())
    }

    fn bind(&mut self, place: &str, bound: &str) -> Result<(), String> {
        let number = |digits: &str| {
            digits.parse::<u32>().map_err(|_| format!("`{place}` cannot be bound: expected cb#, t#, s# or fp#"))
        };
        let slot = |digits: &str| {
            let (slot, space) = digits.split_once(':').unwrap_or((digits, "0"));
            Ok::<Slot, String>((number(slot)?, number(space)?))
        };
        if let Some(digits) = place.strip_prefix("cb") {
            let rows = words(bound)?;
            self.constants.push((slot(digits)?, bytes(rows.as_flattened())));
            return Ok(());
        }
        if let Some(digits) = place.strip_prefix("fp") {
            self.instances.push(instance(number(digits)?, bound).ok_or("a class instance is `ft1 cb0[5]`")?);
            return Ok(());
        }
        if let Some(digits) = place.strip_prefix('s') {
            let state = textures::sampler(bound).ok_or("a sampler is `FILTER:ADDRESS[:COMPARISON]`")?;
            self.samplers.push((slot(digits)?, state));
            return Ok(());
        }
        let (kind, stored) = bound.split_once(' ').unwrap_or((bound, ""));
        let stored = if stored.starts_with('{') { bytes(words(stored)?.as_flattened()) } else { from_hex(stored)? };
        if let Some(digits) = place.strip_prefix('u') {
            self.memory.push(Memory::parse(slot(digits)?, kind, stored)?);
            return Ok(());
        }
        let digits = place
            .strip_prefix('t')
            .ok_or_else(|| format!("`{place}` cannot be bound: expected cb#, t#, u#, s# or fp#"))?;
        if kind.starts_with("tex") {
            let layout = textures::layout(kind).ok_or_else(|| format!("{kind} is no texture"))?;
            let image = Image::new(layout, stored).map_err(|error| error.to_string())?;
            self.textures.push((slot(digits)?, image));
            return Ok(());
        }
        let view = match kind.strip_prefix("struct:") {
            Some(stride) => View::Structured(number(stride)?),
            None if kind == "raw" => View::Raw,
            None => View::Typed(TexelFormat::from_name(kind).ok_or_else(|| format!("there is no format {kind}"))?),
        };
        self.resources.push((slot(digits)?, view, stored));
        Ok(())
    }

    fn finish(self) -> Section {
        let Reader {
            program,
            bound,
            constants,
            resources,
            textures,
            samplers,
            instances,
            runs,
            quads,
            memory,
            groups,
            emissions,
        } = self;
        let mut source = Source::new(&program);
        source.instances = instances;
        let bound = bound.unwrap_or(Bound::Exact);
        Section {
            source,
            text: Some(program),
            bound,
            constants,
            resources,
            textures,
            samplers,
            runs,
            quads,
            memory,
            groups,
            emissions,
        }
    }
}

/// A text in which each `(a b c d)` is what it is for one of four pixels.
fn of_pixel(text: &str, pixel: usize) -> Result<String, String> {
    let mut parts = text.split('(');
    let mut found = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (values, rest) = part.split_once(')').ok_or("a list does not end")?;
        let values: Vec<&str> = values.split_whitespace().collect();
        let [_, _, _, _] = values[..] else { return Err(format!("{values:?} are not those of four pixels")) };
        found += values[pixel];
        found += rest;
    }
    Ok(found)
}

/// The bytes of hexadecimal digits.
fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty());
    bytes.ok_or_else(|| "bytes are pairs of hexadecimal digits".to_string())
}

/// `ft1 cb0[5]`.
fn instance(slot: u32, text: &str) -> Option<Instance> {
    let (table, place) = text.split_once(' ')?;
    let (buffer, row) = place.strip_prefix("cb")?.strip_suffix(']')?.split_once('[')?;
    let place = [buffer.parse().ok()?, row.parse().ok()?];
    Some(Instance { slot, table: table.strip_prefix("ft")?.parse().ok()?, place })
}

impl Expected {
    fn parse(text: &str) -> Result<Expected, String> {
        let (rows, flags) = text.split_at(text.rfind('}').map_or(0, |at| at + 1));
        let (mut discarded, mut aborted) = (false, false);
        for flag in flags.split_whitespace() {
            match flag {
                "discarded" => discarded = true,
                "aborted" => aborted = true,
                "out_of_fuel" if rows.is_empty() => return Ok(Expected::OutOfFuel),
                _ => return Err(format!("`{flag}` where discarded, aborted or out_of_fuel is expected")),
            }
        }
        Ok(Expected::Outputs { rows: patterns(rows)?, discarded, aborted })
    }
}
