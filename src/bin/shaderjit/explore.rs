//! `explore`: a page of what becomes of each instruction, from the file's bytes to native code.
//!
//! The page is one file, and asks nothing of a network. What is in it is data (`Page`, as JSON) behind a template,
//! which has all of the style and behaviour: lines and bytes of the same source instruction light up together.

use crate::asm;
use crate::json;
use crate::options::{BytesArgs, CompileArgs, ProgramArgs};
use crate::parts::Part;
use crate::report::{Failure, Outcome, with_hint};
use crate::source::Source;
use serde::Serialize;
use shaderjit::container::{Container, PartInfo};
use shaderjit::pipeline::{self, PASSES, PassOptions};
use shaderjit::{Backend, CompiledShader, ListingOptions, NativeStatus, Shader};
use shaderjit_ir::Function;
use shaderjit_ir::batch::Pass;
use shaderjit_ir::print::WithOrigins;
use std::collections::BTreeSet;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    output: BytesArgs,
}

/// The template, and where its data goes.
const TEMPLATE: &str = include_str!("explore.html");
const PLACE: &str = "/* data */";

/// What the template shows.
#[derive(Serialize)]
struct Page {
    title: String,
    /// The file, in hexadecimal.
    bytes: String,
    parts: Vec<Part>,
    /// Bytes of each instruction, in order.
    instructions: Vec<Instruction>,
    listing: Vec<Line>,
    stages: Vec<Stage>,
}

/// Where an instruction lies in the file.
#[derive(Serialize)]
struct Instruction {
    offset: u32,
    size: u32,
}

/// What the program is at a point of its way.
#[derive(Serialize)]
struct Stage {
    name: String,
    summary: String,
    lines: Vec<Line>,
}

/// A line, and the offset of the source instruction that it was made for, if there is one.
#[derive(Serialize)]
struct Line(Option<u32>, String);

pub fn run(args: &Args) -> Outcome {
    let engine = args.compile.engine(None)?;
    let (shader, code) = args.compile.compile_on(&engine, &args.shader, Backend::Jit)?;
    let failure = |error: shaderjit::Error| args.shader.failure(with_hint(&error));
    let container = shader.container().ok_or_else(|| Failure::usage("--raw has no file to show"))?;
    let listing = shader.disassemble(args.shader.entry(), ListingOptions::default().offsets(true)).map_err(failure)?;
    let listing: Vec<Line> = listing.lines().map(listed).collect();
    // The size of a part of a DXBC is that of what stands behind its header.
    let header = if matches!(container, Container::Dxbc(_)) { 8 } else { 0 };
    let part = |info: PartInfo| {
        let mut part = Part::from(info);
        part.size += header;
        part
    };
    let parts: Vec<Part> = container.listing().into_iter().map(part).collect();
    let bytes = shader.bytes().unwrap_or_default();
    let page = Page {
        title: format!("{} {}", shader.entry(args.shader.entry()).map_err(failure)?.name, args.shader.name()),
        bytes: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        instructions: instructions(&listing, &parts, bytes.len()),
        parts,
        listing,
        stages: stages(args, &shader, &code, engine.is_fused())?,
    };
    let data = String::from_utf8(json::compact(&page)).expect("JSON is text");
    // A file's names could otherwise end the script.
    let data = data.replace('<', "\\u003c");
    args.output.write(TEMPLATE.replacen(PLACE, data.trim_end(), 1).into_bytes())
}

/// A line of the listing, which begins with the instruction's offset if it shows one.
fn listed(line: &str) -> Line {
    match ListingOptions::instruction(line) {
        Some((offset, text)) => Line(Some(offset), text.to_string()),
        None => Line(None, line.to_string()),
    }
}

/// Each instruction reaches to the next one, the last to the end of its part.
fn instructions(listing: &[Line], parts: &[Part], bytes: usize) -> Vec<Instruction> {
    let offsets: BTreeSet<u32> = listing.iter().filter_map(|line| line.0).collect();
    let end_of_part = |offset: usize| {
        let part = parts.iter().find(|part| (part.offset..part.offset + part.size).contains(&offset));
        part.map_or(bytes, |part| part.offset + part.size) as u32
    };
    let ends = offsets.iter().skip(1).copied().map(Some).chain([None]);
    let size = |(&offset, next): (&u32, Option<u32>)| {
        let end = end_of_part(offset as usize);
        Instruction { offset, size: next.map_or(end, |next| next.min(end)).saturating_sub(offset) }
    };
    offsets.iter().zip(ends).map(size).collect()
}

/// The IR as the front end makes it and after each pass that changes it, the batch program, native code.
fn stages(args: &Args, shader: &Shader, code: &CompiledShader, fused: bool) -> Result<Vec<Stage>, Failure> {
    let lowered = shader.lower(&args.compile.options(&args.shader)?);
    let mut function = lowered.map_err(|error| args.shader.failure(with_hint(&error)))?.function;
    let mut before = function.to_string();
    let stage =
        |name: &str, summary: &str, lines| Stage { name: name.to_string(), summary: summary.to_string(), lines };
    let mut stages = vec![stage("IR", "what the front end makes", ir(&function))];
    let options = PassOptions { fused, guards: true };
    for pass in PASSES {
        pipeline::run_passes(&mut function, std::slice::from_ref(pass), &options)
            .map_err(|error| args.shader.failure(error))?;
        let after = function.to_string();
        if after != before {
            before = after;
            stages.push(stage(pass.name, pass.summary, ir(&function)));
        }
    }
    if let NativeStatus::Refused(reason) = code.native_status() {
        stages.push(stage("native code", &format!("there is none: {reason}"), Vec::new()));
        return Ok(stages);
    }
    let program = code.batch_program(Pass::LAST).map_err(|error| args.shader.failure(error))?;
    let text = program.to_string();
    let plan = text.lines().take_while(|line| !line.starts_with("function ")).map(|line| Line(None, line.to_string()));
    stages.push(stage("batch", "what is planned for a whole batch", plan.chain(ir(&program)).collect()));
    let source = Source::read(shader, &args.shader)?;
    let native = native(&asm::text(code, Some(&source), false)?);
    stages.push(stage("asm", &format!("native code, {} lanes", code.lanes().count()), native));
    Ok(stages)
}

/// The lines of a function. What a block ends with belongs to no instruction.
fn ir(function: &Function) -> Vec<Line> {
    const COMMENT: &str = "    ; ";
    let text = |offset: Option<u32>| Some(offset.map_or("none".to_string(), |offset| format!("{offset:#010x}: ")));
    let text = WithOrigins { function, text }.to_string();
    let mut origin = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix(COMMENT) {
            origin = listed(comment).0;
            continue;
        }
        let ends_block = ["jump ", "br_if ", "switch ", "return"].iter().any(|end| line.trim_start().starts_with(end));
        if !line.starts_with(' ') {
            origin = None;
        }
        lines.push(Line(origin.filter(|_| !ends_block), line.to_string()));
    }
    lines
}

/// The lines of native code.
fn native(text: &str) -> Vec<Line> {
    let mut origin = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("        ; ") {
            Some(comment) => origin = listed(comment).0,
            None => lines.push(Line(origin, line.to_string())),
        }
    }
    lines
}
