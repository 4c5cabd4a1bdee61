//! Programs in text with what they must compute, on both engines: `tests/filetests/sm4/*.op` and the tests of `tests/semantics`.
//!
//! ```text
//! ; What a float of a constant buffer and one of a raw buffer add up to.
//! dcl_constantbuffer cb0[1], immediateIndexed
//! dcl_resource_raw t0
//! cb0 = {1.0, 2.0}
//! t0 = raw 0000803f
//! within 2 ulp
//! ld_raw r0.x, v0.x, t0.xxxx
//! add o0.xyzw, r0.xxxx, cb0[0].xyzw
//!   {0} == {2.0, 3.0, 1.0, 1.0}
//!   {4} == {1.0, 2.0}
//! ```
//!
//! The lines of a program (see [`assembler`](super::assembler)), bindings and a bound (see [`components`](super::components)) come
//! in any order; runs follow, one a line. What follows the runs is the next section. A run has a row for each `v#`, `==`, and a
//! row for each `o#`, then one for `oDepth` and the like; behind them may stand `discarded` and `aborted`. `== out_of_fuel` is a
//! run that does not end. `t#` are `raw`, `struct:STRIDE`, or the name of a [`TexelFormat`], and bytes in hexadecimal. What is
//! not bound reads zero. `fp2 = ft1 cb0[5]` binds a class instance that has function table 1 and lies at row 5 of a buffer. The
//! number of a run in its section is its `SV_VertexID`.

use super::components::{Bound, Pattern, patterns, words};
use super::interfaces::Instance;
use super::program::{Element, Source};
use shaderjit::attribute::AttributeFormat;
use shaderjit::error::CallError;
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{
    Attribute, Call, CompileOptions, CompiledShader, Config, Engine, Lanes, Outputs, Resource, Shader, TexelFormat,
};
use std::fmt::Write;
use std::ops::Range;
use std::sync::OnceLock;

/// A program, what is bound to it, and what it must compute.
pub struct Section {
    pub source: Source,
    bound: Bound,
    constants: Vec<(u32, Vec<u8>)>,
    resources: Vec<(u32, View, Vec<u8>)>,
    runs: Vec<Run>,
}

/// How a buffer is bound.
#[derive(Clone, Copy)]
enum View {
    Raw,
    Structured(u32),
    Typed(TexelFormat),
}

/// One invocation.
struct Run {
    text: String,
    inputs: Vec<[u32; 4]>,
    expected: Expected,
}

enum Expected {
    Outputs { rows: Vec<[Vec<Pattern>; 4]>, discarded: bool, aborted: bool },
    OutOfFuel,
}

/// Loop iterations of a run that does not end.
const FUEL: u32 = 1000;

/// An engine of this machine's liking, and one that rounds `mad` twice.
fn engines() -> &'static [Engine; 2] {
    static ENGINES: OnceLock<[Engine; 2]> = OnceLock::new();
    let config = Config::default().fuel(FUEL);
    ENGINES.get_or_init(|| {
        [config.clone(), config.fused(false)].map(|config| Engine::new(config).expect("this machine has native code"))
    })
}

/// What runs a call.
type Backend = fn(&Call<'_>, Range<u32>) -> Result<Outputs, CallError>;

const BACKENDS: [(&str, Backend); 2] =
    [("the interpreter", |call, range| call.interpret(range)), ("native code", |call, range| call.run(range))];

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
        if !is_run && !next.runs.is_empty() {
            sections.push(std::mem::take(&mut next).finish());
        }
        next.line(line).map_err(|error| format!("line {}: {error}", number + 1))?;
    }
    match next.runs.is_empty() {
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
    constants: Vec<(u32, Vec<u8>)>,
    resources: Vec<(u32, View, Vec<u8>)>,
    instances: Vec<Instance>,
    runs: Vec<Run>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some((inputs, expected)) = line.split_once("==") {
            self.runs.push(Run {
                text: line.to_string(),
                inputs: words(inputs)?,
                expected: Expected::parse(expected)?,
            });
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
        let slot = |digits: &str| digits.parse::<u32>().map_err(|_| format!("`{place}` cannot be bound"));
        if let Some(digits) = place.strip_prefix("cb") {
            let rows = words(bound)?;
            self.constants
                .push((slot(digits)?, rows.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect()));
            return Ok(());
        }
        if let Some(digits) = place.strip_prefix("fp") {
            self.instances.push(instance(slot(digits)?, bound).ok_or("a class instance is `ft1 cb0[5]`")?);
            return Ok(());
        }
        let digits = place.strip_prefix('t').ok_or_else(|| format!("`{place}` cannot be bound"))?;
        let (kind, digits_of_bytes) = bound.split_once(' ').unwrap_or((bound, ""));
        let view = match kind.strip_prefix("struct:") {
            Some(stride) => View::Structured(slot(stride)?),
            None if kind == "raw" => View::Raw,
            None => View::Typed(TexelFormat::from_name(kind).ok_or_else(|| format!("there is no format {kind}"))?),
        };
        let digits_of_bytes: Vec<u8> = digits_of_bytes.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let (pairs, rest) = digits_of_bytes.as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty());
        self.resources.push((slot(digits)?, view, bytes.ok_or("bytes are pairs of hexadecimal digits")?));
        Ok(())
    }

    fn finish(self) -> Section {
        let Reader { program, bound, constants, resources, instances, runs } = self;
        let mut source = Source::new(&program);
        source.instances = instances;
        Section { source, bound: bound.unwrap_or(Bound::Exact), constants, resources, runs }
    }
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
                _ => return Err(format!("`{flag}` is not known here")),
            }
        }
        Ok(Expected::Outputs { rows: patterns(rows)?, discarded, aborted })
    }
}

impl Section {
    /// Runs it in every way, all runs together and each alone. What does not come out is an error.
    pub fn check(&self) -> Result<(), String> {
        let may_fuse = |opcode| matches!(opcode, Opcode::Mad | Opcode::Dp2 | Opcode::Dp3 | Opcode::Dp4);
        let engines = if self.source.opcodes().any(may_fuse) { &engines()[..] } else { &engines()[..1] };
        let shader = Shader::parse(&self.source.container()).map_err(|error| error.to_string())?;
        let mut failures = String::new();
        for engine in engines {
            for lanes in [Lanes::Four, Lanes::Eight] {
                let options = CompileOptions::default().lanes(lanes);
                let instances = self.source.instances.iter();
                let options = instances.fold(options, |options, it| options.class(it.slot, &it.name(), 0));
                let code = engine.compile(&shader, &options).map_err(|error| format!("{error}\n{:?}", self.source))?;
                let lanes = lanes.count();
                let fused = if engine.is_fused() { "" } else { ", mad rounding twice" };
                self.check_code(&code, &format!("{lanes} lanes{fused}"), &mut failures)?;
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    fn check_code(&self, code: &CompiledShader, lanes: &str, failures: &mut String) -> Result<(), String> {
        let streams = self.streams(code)?;
        let call = self.bind(code, &streams).map_err(|error| error.to_string())?;
        let all = 0..self.runs.len() as u32;
        let endless = self.runs.iter().any(|run| matches!(run.expected, Expected::OutOfFuel));
        let mut batches = Vec::new();
        for (name, run) in BACKENDS {
            let way = format!("on {name}, {lanes}");
            match run(&call, all.clone()) {
                Ok(outputs) => {
                    for (at, expected) in self.runs.iter().enumerate() {
                        self.compare(expected, Ok(&outputs), at, &way, failures);
                    }
                    batches.push(outputs);
                }
                Err(CallError::OutOfFuel { .. }) if endless => {}
                Err(error) => return Err(error.to_string()),
            }
            for (at, expected) in self.runs.iter().enumerate() {
                let outputs = run(&call, at as u32..at as u32 + 1);
                self.compare(expected, outputs.as_ref(), 0, &format!("alone {way}"), failures);
            }
        }
        if let [interpreted, native] = &batches[..]
            && let Some(difference) = native.first_difference(interpreted)
        {
            writeln!(failures, "the engines differ with {lanes}: {difference:x?}").expect("strings take text");
        }
        Ok(())
    }

    /// The bytes of each input element, one row a run.
    fn streams(&self, code: &CompiledShader) -> Result<Vec<Vec<u8>>, String> {
        let count = code.interface().inputs.len();
        if let Some(run) = self.runs.iter().find(|run| run.inputs.len() != count) {
            return Err(format!("{}\n the program has {count} inputs\n", run.text));
        }
        let row = |run: &Run, element: usize| run.inputs[element].map(u32::to_le_bytes).as_flattened().to_vec();
        Ok((0..count).map(|element| self.runs.iter().flat_map(|run| row(run, element)).collect()).collect())
    }

    fn bind<'a>(&'a self, code: &'a CompiledShader, streams: &'a [Vec<u8>]) -> Result<Call<'a>, CallError> {
        let mut call = code.call();
        call.zero_unbound(true);
        for (element, stream) in streams.iter().enumerate() {
            call.input_element(element, Attribute::new(AttributeFormat::U32x4, stream, 16))?;
        }
        for (slot, bytes) in &self.constants {
            call.constants(*slot, bytes)?;
        }
        for (slot, view, bytes) in &self.resources {
            let resource = match *view {
                View::Raw => Resource::raw(bytes),
                View::Structured(stride) => Resource::structured(bytes, stride),
                View::Typed(format) => Resource::typed(bytes, format),
            };
            call.resource(*slot, resource)?;
        }
        Ok(call)
    }

    /// Notes a run whose outputs, those of invocation `at`, are not what they must be.
    fn compare(&self, run: &Run, found: Result<&Outputs, &CallError>, at: usize, way: &str, failures: &mut String) {
        let what = match (&run.expected, found) {
            (Expected::OutOfFuel, Err(CallError::OutOfFuel { .. })) => return,
            (Expected::Outputs { rows, discarded, aborted }, Ok(outputs)) => {
                let found_rows: Vec<[u32; 4]> = outputs_of(outputs, at);
                let flags = [outputs.discarded().nth(at), outputs.aborted().nth(at)];
                let same_rows = rows.len() == found_rows.len()
                    && rows.iter().zip(&found_rows).all(|(expected, found)| self.is_same(expected, found));
                if same_rows && flags == [Some(*discarded), Some(*aborted)] {
                    return;
                }
                show(&found_rows, flags)
            }
            (_, Ok(outputs)) => show(&outputs_of(outputs, at), [None; 2]),
            (_, Err(error)) => error.to_string(),
        };
        writeln!(failures, "{}\n found {what} {way}", run.text).expect("strings take text");
    }

    fn is_same(&self, expected: &[Vec<Pattern>; 4], found: &[u32; 4]) -> bool {
        let matches =
            |(at, allowed): (usize, &Vec<Pattern>)| allowed.iter().any(|it| it.matches(self.bound, found, at));
        expected.iter().enumerate().all(matches)
    }
}

/// The outputs of an invocation, flags apart.
fn outputs_of(outputs: &Outputs, at: usize) -> Vec<[u32; 4]> {
    let is_flag = |name: &str| matches!(name, "discarded" | "aborted");
    let rows = outputs.elements().iter().enumerate().filter(|(_, element)| !is_flag(&element.semantic));
    rows.map(|(number, _)| outputs.element(number).and_then(|view| view.bits(at)).expect("it is one of them")).collect()
}

fn show(rows: &[[u32; 4]], flags: [Option<bool>; 2]) -> String {
    let row = |row: &[u32; 4]| format!("{{{}}}", row.map(|word| format!("{word:#010x}")).join(", "));
    let flags = flags.into_iter().zip([" discarded", " aborted"]).filter(|(set, _)| *set == Some(true));
    rows.iter().map(row).collect::<Vec<_>>().join(" ") + &flags.map(|(_, name)| name).collect::<String>()
}
