//! `run`: a vertex shader on raw vertices, a pixel shader on raw pixels, a geometry shader on raw primitives, or a
//! compute shader on thread groups.

use crate::bindings::{BindArgs, Missing};
use crate::format::{Format, Results};
use crate::geometry::{self, GeometryArgs};
use crate::groups::{GroupArgs, Memory};
use crate::options::{CompileArgs, OutputArgs, ProgramArgs};
use crate::pipeline::{DrawArgs, PipelineArgs};
use crate::report::{Failure, Outcome, message};
use clap::ValueEnum;
use shaderjit::{Backend, CompiledShader, NativeStatus, Tracer};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    bind: BindArgs,
    /// What runs it
    #[arg(long, value_enum, default_value = "jit")]
    engine: EngineName,
    /// Run the vertices so many times, as instances 0, 1, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    instances: u32,
    #[command(flatten)]
    geometry: GeometryArgs,
    #[command(flatten)]
    groups: GroupArgs,
    #[command(flatten)]
    pipeline: PipelineArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Form of the outputs [default: raw with -o, else table]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Print JSON: --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    /// Native code
    Jit,
    /// The IR's interpreter
    Interp,
}

pub fn run(args: &Args) -> Outcome {
    let default = if args.output.output.is_some() { Format::Raw } else { Format::Table };
    let format = if args.json { Format::Json } else { args.format.unwrap_or(default) };
    args.output.write(printed(args, &args.shader, format, None)?)
}

/// What a run of a program prints; `tracer` is told what one invocation of it does.
pub fn printed(
    args: &Args,
    shader: &ProgramArgs,
    format: Format,
    tracer: Option<&Tracer<'_>>,
) -> Result<Vec<u8>, Failure> {
    let backend = match args.engine {
        EngineName::Jit => Backend::Jit,
        EngineName::Interp => Backend::Interpreter,
    };
    if args.pipeline.is_asked() {
        shader.refuse("--vs")?;
        let (pipeline, compile, bind, groups) = (&args.pipeline, &args.compile, &args.bind, &args.groups);
        let geometry = args.geometry.file();
        let (engine, instances) = (&args.compile.engine(None)?, args.instances);
        let draw = DrawArgs { pipeline, compile, bind, groups, geometry, instances, engine, backend, tracer };
        return Ok(draw.text()?.into_bytes());
    }
    if args.geometry.is_asked() {
        let (shader, code) = args.geometry.compile(shader, &args.compile, backend)?;
        note_interpreted(&code);
        let bindings = args.bind.read(shader.format(), &code, Missing::Leave)?;
        let primitives = args.geometry.primitives(&shader, &bindings)?;
        let mut call = bindings.call(shader.format(), &code)?;
        tracer.map(|tracer| call.trace(tracer));
        return Ok(geometry::print(&primitives.run(&call)?, format));
    }
    let (shader, code) = args.compile.compile(shader, backend)?;
    note_interpreted(&code);
    let bindings = args.bind.read(shader.format(), &code, Missing::Leave)?;
    let memory = args.groups.memory()?;
    let mut call = bindings.call(shader.format(), &code)?;
    memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
    tracer.map(|tracer| call.trace(tracer));
    let contents = || memory.iter().map(Memory::text).collect::<String>().into_bytes();
    if args.groups.is_asked() {
        call.unbound_as_zero(true).dispatch(args.groups.grid())?;
        args.groups.write(&memory)?;
        return Ok(contents());
    }
    let mut instances = Vec::new();
    for instance in 0..args.instances {
        instances.push(call.instance(instance).run(0..bindings.count)?);
    }
    args.groups.write(&memory)?;
    let results = Results { format: shader.format(), code: &code, instances };
    let mut printed = results.print(format);
    if matches!(format, Format::Table) {
        printed.extend(contents());
    }
    Ok(printed)
}

/// Says so if the interpreter runs what native code was asked for.
fn note_interpreted(code: &CompiledShader) {
    if let NativeStatus::Refused(reason) = code.native_status() {
        message(format_args!("note: the interpreter runs it: {reason}"));
    }
}
