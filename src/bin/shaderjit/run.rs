//! `run`: a vertex shader on raw vertices, a pixel shader on raw pixels, a geometry shader on raw primitives, or a
//! compute shader on thread groups.

use crate::bindings::{BindArgs, Missing};
use crate::format::{Format, Results};
use crate::geometry::{self, GeometryArgs};
use crate::groups::{GroupArgs, Memory};
use crate::options::{CompileArgs, OutputArgs, ProgramArgs};
use crate::report::{Outcome, message};
use clap::ValueEnum;
use shaderjit::{Backend, CompiledShader, NativeStatus};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
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
    output: OutputArgs,
    /// Form of the outputs [default: raw with -o, else table]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print JSON: --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    /// Native code
    Jit,
    /// The IR's interpreter
    Interp,
}

pub fn run(args: &Args) -> Outcome {
    let backend = match args.engine {
        EngineName::Jit => Backend::Jit,
        EngineName::Interp => Backend::Interpreter,
    };
    let default = if args.output.output.is_some() { Format::Raw } else { Format::Table };
    let format = if args.json { Format::Json } else { args.format.unwrap_or(default) };
    if args.geometry.is_asked() {
        let (shader, code) = args.geometry.compile(&args.shader, &args.compile, backend)?;
        note_interpreted(&code);
        let bindings = args.bind.read(shader.format(), &code, Missing::Leave)?;
        let primitives = args.geometry.primitives(&shader, &bindings)?;
        let call = bindings.call(shader.format(), &code)?;
        return args.output.write(geometry::print(&primitives.run(&call)?, format));
    }
    let (shader, code) = args.compile.compile(&args.shader, backend)?;
    note_interpreted(&code);
    let bindings = args.bind.read(shader.format(), &code, Missing::Leave)?;
    let memory = args.groups.memory()?;
    let mut call = bindings.call(shader.format(), &code)?;
    memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
    let contents = || memory.iter().map(Memory::text).collect::<String>().into_bytes();
    if args.groups.is_asked() {
        call.unbound_as_zero(true).dispatch(args.groups.grid())?;
        args.groups.write(&memory)?;
        return args.output.write(contents());
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
    args.output.write(printed)
}

/// Says so if the interpreter runs what native code was asked for.
fn note_interpreted(code: &CompiledShader) {
    if let NativeStatus::Refused(reason) = code.native_status() {
        message(format_args!("note: the interpreter runs it: {reason}"));
    }
}
