//! Runs sections in every way there is: on both engines, with four and eight lanes, all runs together and each alone;
//! with `mad` rounding once and twice; with inputs that differ from lane to lane, that come from a constant buffer, and
//! that the compiler knows.

use super::components::Pattern;
use super::program::{Source, bytes};
use super::sections::{Expected, Run, Section, View};
use shaderjit::VertexFormat;
use shaderjit::error::CallError;
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{
    BufferView, Call, CompileOptions, CompiledShader, Config, Engine, Lanes, Outputs, Shader, VertexBufferView,
};
use std::fmt::Write;
use std::ops::Range;
use std::sync::OnceLock;

/// Instructions of a run that does not end.
const FUEL: u32 = 100_000;

/// An engine of this machine's liking, and one that rounds `mad` twice.
fn engines() -> &'static [Engine; 2] {
    static ENGINES: OnceLock<[Engine; 2]> = OnceLock::new();
    let config = Config::default().fuel(FUEL);
    ENGINES.get_or_init(|| {
        [config.clone(), config.fused_mad(false)]
            .map(|config| Engine::new(config).expect("this machine has native code"))
    })
}

/// What runs a call.
type Backend = fn(&Call<'_>, Range<u32>) -> Result<Outputs, CallError>;

const BACKENDS: [(&str, Backend); 2] =
    [("the interpreter", |call, range| call.interpret(range)), ("native code", |call, range| call.run(range))];

/// Invocations of a run whose inputs are the same for all: a group and a tail.
const ALIKE: usize = 5;

/// Sections with more runs are not compiled anew for each.
const MAX_COMPILED_ALONE: usize = 48;

/// The constant buffer that stands for inputs, which no section uses.
const STAND_IN: u32 = 9;

impl Section {
    /// Runs it in every way. What does not come out is an error.
    pub fn check(&self) -> Result<(), String> {
        if !self.groups.is_empty() {
            return self.check_groups();
        }
        if !self.emissions.is_empty() {
            return self.check_emissions();
        }
        let mut failures = String::new();
        self.check_lanes(&Lanes::ALL, "", &mut failures)?;
        for run in &self.runs {
            if let Some(section) = self.with_constants(run) {
                section.check_lanes(&Lanes::ALL, ", inputs from constants", &mut failures)?;
            }
            if let Some(section) = self.with_literals(run) {
                section.check_lanes(&[Lanes::Four], ", inputs known", &mut failures)?;
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    fn check_lanes(&self, lanes: &[Lanes], form: &str, failures: &mut String) -> Result<(), String> {
        let may_fuse = |opcode| matches!(opcode, Opcode::Mad | Opcode::Dp2 | Opcode::Dp3 | Opcode::Dp4);
        let engines = if self.source.opcodes().any(may_fuse) { &engines()[..] } else { &engines()[..1] };
        let shader = Shader::parse(&self.source.container()).map_err(|error| error.to_string())?;
        for engine in engines {
            for &lanes in lanes {
                let options = CompileOptions::default().lanes(lanes);
                let instances = self.source.instances.iter();
                let options = instances.fold(options, |options, it| options.class(it.slot, &it.name(), 0));
                let code = engine.compile(&shader, &options).map_err(|error| format!("{error}\n{:?}", self.source))?;
                let fused = if engine.is_fused() { "" } else { ", mad rounding twice" };
                self.check_code(&code, &format!("{} lanes{fused}{form}", lanes.count()), failures)?;
            }
        }
        Ok(())
    }

    /// The section of one run, made several times, whose inputs are rows of a constant buffer: what all invocations
    /// share takes ways of its own through the compiler.
    fn with_constants(&self, run: &Run) -> Option<Section> {
        let (rows, n) = (run.inputs.len(), STAND_IN);
        let (register, declaration) = match self.source.has_register_spaces() {
            true => (format!("cb{n}[{n}]"), format!("dcl_constantbuffer cb{n}[{n}][{n}], immediateIndexed, {rows}, 0")),
            false => (format!("cb{n}"), format!("dcl_constantbuffer cb{n}[{rows}], immediateIndexed")),
        };
        let mut section = self.with_stand_in(run, &register, &declaration)?;
        section.constants.push(((STAND_IN, 0), bytes(run.inputs.as_flattened())));
        Some(section)
    }

    /// The same with inputs that are rows of the immediate constant buffer, so that the compiler computes what it can.
    fn with_literals(&self, run: &Run) -> Option<Section> {
        let row = |row: &[u32; 4]| format!("{{{}}}", row.map(|word| format!("{word:#x}")).join(", "));
        let rows: Vec<String> = run.inputs.iter().map(row).collect();
        let declaration = format!("dcl_immediateConstantBuffer {}", rows.join(", "));
        self.with_stand_in(run, "icb", &declaration).filter(|_| self.runs.len() <= MAX_COMPILED_ALONE)
    }

    /// The section of one run with other registers for the inputs, unless it has none or says what they are.
    fn with_stand_in(&self, run: &Run, register: &str, declaration: &str) -> Option<Section> {
        let text = self.text.as_ref().filter(|_| !run.inputs.is_empty() && !self.quads)?;
        if ["dcl_input", "eval_", "dcl_indexrange v", " v[", &format!("{register}[")]
            .iter()
            .any(|word| text.contains(word))
        {
            return None;
        }
        let mut replaced = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('v') {
            let (before, from) = rest.split_at(at);
            let digits = from[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len() - 1);
            replaced += before;
            if digits == 0 || before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
                replaced += "v";
                rest = &from[1..];
            } else {
                write!(replaced, "{register}[{}]", &from[1..=digits]).expect("strings take text");
                rest = &from[1 + digits..];
            }
        }
        replaced += rest;
        // A version stays in front.
        let has_version = ["ps_", "vs_"].iter().any(|stage| replaced.starts_with(stage));
        let at = replaced.find('\n').filter(|_| has_version).map_or(0, |at| at + 1);
        replaced.insert_str(at, &format!("{declaration}\n"));
        let mut source = Source::new(&replaced);
        source.instances = self.source.instances.clone();
        let run = Run { inputs: Vec::new(), ..run.clone() };
        Some(Section { source, text: None, runs: vec![run; ALIKE], ..self.clone() })
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
            let alone = if self.quads { 4 } else { 1 };
            for (at, expected) in self.runs.iter().enumerate() {
                let first = at / alone * alone;
                let outputs = run(&call, first as u32..(first + alone) as u32);
                self.compare(expected, outputs.as_ref(), at - first, &format!("alone {way}"), failures);
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
        let count = code.interface().signature_inputs().len();
        if let Some(run) = self.runs.iter().find(|run| run.inputs.len() != count) {
            return Err(format!("{}\n the program has {count} inputs\n", run.text));
        }
        let row = |run: &Run, element: usize| run.inputs[element].map(u32::to_le_bytes).as_flattened().to_vec();
        Ok((0..count).map(|element| self.runs.iter().flat_map(|run| row(run, element)).collect()).collect())
    }

    pub fn bind<'a>(&'a self, code: &'a CompiledShader, streams: &'a [Vec<u8>]) -> Result<Call<'a>, CallError> {
        let mut call = code.call();
        call.unbound_as_zero(true).reinterpret_inputs(true);
        for (element, stream) in streams.iter().enumerate() {
            call.input_element(element, VertexBufferView::new(VertexFormat::U32x4, stream, 16))?;
        }
        for ((slot, space), bytes) in &self.constants {
            call.constant_buffer_in_space(*slot, *space, bytes)?;
        }
        for ((slot, space), view, bytes) in &self.resources {
            let resource = match *view {
                View::Raw => BufferView::raw(bytes),
                View::Structured(stride) => BufferView::structured(bytes, stride),
                View::Typed(format) => BufferView::typed(bytes, format),
            };
            call.buffer_in_space(*slot, *space, resource)?;
        }
        for ((slot, space), image) in &self.textures {
            call.texture_in_space(*slot, *space, image)?;
        }
        for ((slot, space), state) in &self.samplers {
            call.sampler_in_space(*slot, *space, *state)?;
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
        let failure = format!("{}\n found {what} {way}\n", run.text);
        // Invocations that are alike fail alike.
        if !failures.contains(&failure) {
            *failures += &failure;
        }
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
