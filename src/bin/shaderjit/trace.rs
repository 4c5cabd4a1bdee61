//! `trace`: a run, of which one invocation is told instruction by instruction.

use crate::format::Format;
use crate::json;
use crate::options::{ProgramArgs, Source, number};
use crate::report::{Failure, Outcome, Report};
use crate::run;
use serde::Serialize;
use shaderjit::printable::Printable;
use shaderjit::{
    ComponentType, Invocation, RegisterName, Step, TracedAccess, Tracer, Write as RegisterWrite, WrittenAs,
};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::str::FromStr;

#[derive(clap::Args)]
#[group(id = "TraceArgs")]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    #[command(flatten)]
    target: Target,
    /// Stop behind the first instruction that writes a NaN (nan) or an infinity (inf), or behind the one at a byte
    /// offset (offset=0x1f4)
    #[arg(long, value_name = "WHAT")]
    until: Option<Until>,
    /// Tell only instructions that write this register, or this component of it: r3, r3.x, x0[2].y
    #[arg(long, value_name = "REGISTER")]
    watch: Vec<String>,
    /// Tell at most so many instructions
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    steps: usize,
    /// Trace this shader instead of FILE, too, on the same input, and tell the first instruction that writes other
    /// values than FILE's does
    #[arg(long, value_name = "FILE", conflicts_with_all = ["until", "watch", "vs", "raw"])]
    diff: Option<Source>,
}

/// Which invocation.
#[derive(clap::Args)]
#[group(id = "target", required = true, multiple = false)]
struct Target {
    /// The vertex with this SV_VertexID; or, of a pixel shader by itself, of that record. N:I is the one of instance I
    #[arg(long, value_name = "N[:I]")]
    vertex: Option<VertexName>,
    /// The pixel there, each time that it is shaded
    #[arg(long, value_name = "X,Y")]
    pixel: Option<Numbers<2>>,
    /// The thread with this SV_DispatchThreadID
    #[arg(long, value_name = "X,Y,Z")]
    thread: Option<Numbers<3>>,
    /// The invocation of a geometry shader, counted from 0
    #[arg(long, value_name = "N")]
    invocation: Option<u32>,
    /// The patch of a hull shader, counted from 0
    #[arg(long, value_name = "N")]
    patch: Option<u32>,
    /// The point of a domain shader, counted from 0 through all patches
    #[arg(long, value_name = "N")]
    point: Option<u32>,
}

impl Target {
    fn invocation(&self) -> Invocation {
        let numbered = [
            self.invocation.map(Invocation::Primitive),
            self.patch.map(Invocation::Patch),
            self.point.map(Invocation::Point),
            self.thread.map(|Numbers(thread)| Invocation::Thread(thread)),
            self.pixel.map(|Numbers([x, y])| Invocation::Pixel { x, y }),
            self.vertex.map(|VertexName { number, instance }| Invocation::Vertex { number, instance }),
        ];
        numbered.into_iter().flatten().next().expect("the parser wants one of them")
    }
}

/// `N` or `N:I`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VertexName {
    number: u32,
    instance: u32,
}

impl FromStr for VertexName {
    type Err = String;

    fn from_str(text: &str) -> Result<VertexName, String> {
        let (vertex, instance) = text.split_once(':').unwrap_or((text, "0"));
        Ok(VertexName { number: number(vertex)?, instance: number(instance)? })
    }
}

/// Numbers with commas between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers<const N: usize>([u32; N]);

impl<const N: usize> FromStr for Numbers<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers<N>, String> {
        let numbers = text.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>().ok();
        let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
        numbers.map(Numbers).ok_or_else(|| format!("{text:?} are no {N} numbers"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Nan,
    Infinity,
    Offset(u32),
}

impl FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Until, String> {
        let offset = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        match text {
            "nan" => Ok(Until::Nan),
            "inf" => Ok(Until::Infinity),
            text => text
                .strip_prefix("offset=")
                .and_then(offset)
                .map(Until::Offset)
                .ok_or_else(|| format!("{text:?} is none of nan, inf and offset=0x…")),
        }
    }
}

impl Until {
    /// Why the trace stops at a step, if it does.
    fn stops(self, step: &Step) -> Option<String> {
        let written = |is_it: fn(&RegisterWrite) -> bool, what: &str| {
            step.writes.iter().find(|write| is_it(write)).map(|write| format!("{} is {what}", write.register))
        };
        match self {
            Until::Nan => written(RegisterWrite::is_nan, "NaN"),
            Until::Infinity => written(RegisterWrite::is_infinite, "infinite"),
            Until::Offset(offset) => (step.offset == offset).then(|| "the offset is reached".to_string()),
        }
    }
}

/// What is told of an invocation.
struct Trace {
    steps: Vec<Step>,
    stopped: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    let (trace, outputs) = args.trace(&args.run.shader)?;
    if let Some(other) = &args.diff {
        let (other, _) = args.trace(&args.run.shader.with_file(other))?;
        return Ok(difference(&trace.steps, &other.steps));
    }
    let bytes = if args.run.json { as_json(&trace, &outputs) } else { text(&trace, &outputs) };
    args.run.output.write(bytes)
}

impl Args {
    /// What the invocation does, and what the run prints.
    fn trace(&self, shader: &ProgramArgs) -> Result<(Trace, Vec<u8>), Failure> {
        let mut trace = Trace { steps: Vec::new(), stopped: None };
        let tracer = Tracer::new(self.target.invocation(), |step| {
            if self.is_watched(step) {
                trace.steps.push(step.clone());
            }
            trace.stopped = self.until.and_then(|until| until.stops(step));
            if trace.stopped.is_none() && trace.steps.len() >= self.steps {
                trace.stopped = Some(format!("{} instructions are told", self.steps));
            }
            if trace.stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let printed = run::printed(&self.run, shader, self.run.format.unwrap_or(Format::Table), Some(&tracer))?;
        let runs = tracer.runs();
        drop(tracer);
        if runs == 0 {
            return Err(shader.failure("no such invocation is run"));
        }
        Ok((trace, printed))
    }

    fn is_watched(&self, step: &Step) -> bool {
        let is_it = |name: &RegisterName| {
            let watches = |watched: &String| *watched == name.register || *watched == name.to_string();
            self.watch.iter().any(watches)
        };
        self.watch.is_empty() || step.writes.iter().any(|write| is_it(&write.register))
    }
}

/// The steps, then a line why they stop, then what the run prints.
fn text(trace: &Trace, outputs: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    let mut run = 0;
    for step in &trace.steps {
        if step.run != run {
            run = step.run;
            let _ = writeln!(out, "\nagain, run {run}:");
        }
        step_text(&mut out, step);
    }
    if let Some(why) = &trace.stopped {
        let _ = writeln!(out, "stopped: {}", Printable(why));
    }
    out.push('\n');
    let mut bytes = out.into_bytes();
    bytes.extend(outputs);
    bytes
}

/// A line for the instruction, and one for everything that came of it.
fn step_text(out: &mut String, step: &Step) {
    let _ = write!(out, "{:#010x}: {}", step.offset, Printable(&*step.text));
    if step.visit > 1 {
        let _ = write!(out, "  ; time {}", step.visit);
    }
    out.push('\n');
    for access in &step.accesses {
        let _ = writeln!(out, "    {}", access_text(access));
    }
    for written in step.writes.chunk_by(|a, b| a.register.register == b.register.register) {
        let name = &written[0].register;
        let letters: String = written.iter().filter_map(|write| write.register.letter()).collect();
        let point = if letters.is_empty() { "" } else { "." };
        let values: Vec<String> = written.iter().map(value_text).collect();
        let bits: Vec<String> = written.iter().map(|write| format!("{:08x}", write.bits)).collect();
        let _ = writeln!(out, "    {}{point}{letters} = {}  [{}]", name.register, values.join(" "), bits.join(" "));
    }
    match step.test {
        Some(true) => out.push_str("    the test holds\n"),
        Some(false) => out.push_str("    the test does not hold\n"),
        None => {}
    }
    if step.goes_back {
        out.push_str("    back to the start of the loop\n");
    }
}

fn value_text(write: &RegisterWrite) -> String {
    match write.kind {
        WrittenAs::Integer => ComponentType::I32.text(write.bits),
        // A move does not say. What would be a denormal is rather an integer.
        WrittenAs::Bits if f32::from_bits(write.bits).is_subnormal() => ComponentType::I32.text(write.bits),
        WrittenAs::Float | WrittenAs::Bits => ComponentType::F32.text(write.bits),
    }
}

/// `sample_level t0 s0 (0.5 0.25) (0) = 1 0 0 1  [3f800000 …]`, and `<-` in front of what is stored.
fn access_text(access: &TracedAccess) -> String {
    let mut text = format!("{} {}", access.op, Printable(&access.resource));
    if let Some(sampler) = &access.sampler {
        let _ = write!(text, " {}", Printable(sampler));
    }
    let (arrow, value, addresses) = match (&access.result, access.operands.split_last()) {
        (Some(result), _) => ("=", result, &access.operands[..]),
        (None, Some((stored, addresses))) => ("<-", stored, addresses),
        (None, None) => return text,
    };
    let ty = if access.is_filtered { ComponentType::F32 } else { ComponentType::I32 };
    for operand in addresses {
        // What is behind the last number that is not zero says nothing.
        let last = operand.iter().rposition(|&word| word != 0).unwrap_or(0);
        let words: Vec<String> = operand[..=last].iter().map(|&word| ty.text(word)).collect();
        let _ = write!(text, " ({})", words.join(" "));
    }
    let values: Vec<String> = value.iter().map(|&word| ComponentType::F32.text(word)).collect();
    let bits: Vec<String> = value.iter().map(|word| format!("{word:08x}")).collect();
    let _ = write!(text, " {arrow} {}  [{}]", values.join(" "), bits.join(" "));
    text
}

/// The steps that write something, the values of which are compared one after the other.
fn difference(one: &[Step], other: &[Step]) -> Report {
    let writing = |steps: &'_ [Step]| steps.iter().filter(|step| !step.writes.is_empty()).cloned().collect::<Vec<_>>();
    let (one, other) = (writing(one), writing(other));
    let is_same = |a: &Step, b: &Step| {
        let same_bits = |(a, b): (&RegisterWrite, &RegisterWrite)| a.bits == b.bits || a.is_nan() && b.is_nan();
        a.writes.len() == b.writes.len() && a.writes.iter().zip(&b.writes).all(same_bits)
    };
    let parted = one.iter().zip(&other).position(|(a, b)| !is_same(a, b));
    let Some(at) = parted.or((one.len() != other.len()).then(|| one.len().min(other.len()))) else {
        return Report::text(format!("equal: {} instructions that write\n", one.len()));
    };
    let mut out = format!("the same for {at} instructions that write, then:\n");
    for (name, steps) in [("FILE", &one), ("--diff", &other)] {
        let _ = writeln!(out, "{name}:");
        match steps.get(at) {
            Some(step) => step_text(&mut out, step),
            None => out.push_str("    nothing more\n"),
        }
    }
    Report::text(out).difference()
}

/// The steps, why they stop, and the lines that the run prints.
fn as_json(trace: &Trace, outputs: &[u8]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Document<'a> {
        steps: Vec<JsonStep<'a>>,
        stopped: Option<&'a str>,
        outputs: Vec<String>,
    }
    #[derive(Serialize)]
    struct JsonStep<'a> {
        run: u32,
        offset: u32,
        text: &'a str,
        visit: u64,
        writes: Vec<JsonWrite>,
        accesses: Vec<JsonAccess<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        test: Option<bool>,
        goes_back: bool,
    }
    #[derive(Serialize)]
    struct JsonWrite {
        register: String,
        bits: u32,
        value: String,
    }
    #[derive(Serialize)]
    struct JsonAccess<'a> {
        op: &'static str,
        resource: &'a str,
        sampler: Option<&'a str>,
        operands: &'a [Vec<u32>],
        result: Option<&'a [u32]>,
    }
    let write = |write: &RegisterWrite| JsonWrite {
        register: write.register.to_string(),
        bits: write.bits,
        value: value_text(write),
    };
    let steps = trace.steps.iter().map(|step| JsonStep {
        run: step.run,
        offset: step.offset,
        text: &step.text,
        visit: step.visit,
        writes: step.writes.iter().map(write).collect(),
        accesses: step
            .accesses
            .iter()
            .map(|access| JsonAccess {
                op: access.op,
                resource: &access.resource,
                sampler: access.sampler.as_deref(),
                operands: &access.operands,
                result: access.result.as_deref(),
            })
            .collect(),
        test: step.test,
        goes_back: step.goes_back,
    });
    let outputs = String::from_utf8_lossy(outputs);
    json::pretty(&Document {
        steps: steps.collect(),
        stopped: trace.stopped.as_deref(),
        outputs: outputs.lines().map(str::to_string).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_invocations_and_ends() {
        assert_eq!("3".parse(), Ok(VertexName { number: 3, instance: 0 }));
        assert_eq!("3:2".parse(), Ok(VertexName { number: 3, instance: 2 }));
        assert_eq!("1,2,3".parse(), Ok(Numbers([1, 2, 3])));
        assert_eq!("offset=0x1f4".parse(), Ok(Until::Offset(500)));
        assert_eq!("nan".parse(), Ok(Until::Nan));
        assert!("offset=x".parse::<Until>().is_err() && "1,2".parse::<Numbers<3>>().is_err());
        assert!("3:".parse::<VertexName>().is_err());
    }
}
