//! Lockstep IR → native code: selects instructions for Cranelift, owns the code's memory, and calls it safely.
//!
//! * `emit` turns a [`Function`] in lockstep form, composite ops expanded, into Cranelift's IR; a value that differs
//!   among lanes is one or two groups of four lanes, a uniform one a scalar (or a splat vector if it is a float).
//! * `fetch` turns rows of vertex buffers into lanes and lanes into rows of outputs.
//! * `abi` is what native code is given; `call` checks a caller's buffers, fills it in, and handles the tail of a
//!   batch.
//! * `mode` switches the floating-point mode around native code, and back around what native code calls: `double`,
//!   `texture`, and `refuel`, which says whether loops may go on.
//! * `memory` makes code executable and frees it. `limits` bounds what hostile programs can ask for, `pressure` says
//!   which functions would take too long to find registers for.
//!
//! `unsafe` is only in `call.rs`, `call/copy.rs`, `call/wave.rs`, `double.rs`, `memory.rs`, `mode.rs`, `refuel.rs` and
//! `texture.rs`. Cranelift's types stay inside.

mod abi;
mod call;
mod double;
mod emit;
mod fetch;
mod limits;
mod memory;
mod mode;
mod pressure;
mod refuel;
mod simd;
mod target;
#[cfg(test)]
mod tests;
mod texture;

pub use call::{Batch, InputStream, OutputBuffer, OutputElement, Progress, Scratch, UniformRows, WaveRunner};
pub use target::Target;

use crate::error::JitError;
use crate::vertex_format::VertexFormat;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{CompiledCode, Context};
use cranelift_frontend::FunctionBuilderContext;
use emit::ArrayPlace;
use memory::CodeMemory;
use shaderjit_ir::batch::{self, BatchProgram, Copy, InputFormat, Machine, STATIC_ROWS, Splat, Word};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Array, Function, Op, Space, Value};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most that [`Code::stack_bytes`] can be.
pub(crate) const MAX_STACK_BYTES: usize = limits::FRAME_BYTES as usize + limits::CALLEE_STACK_BYTES;

/// What the caller's buffers hold: compiled into the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Format of each input element.
    pub inputs: Vec<VertexFormat>,
    /// How many components are stored of each output element, 0 to 4; 0 leaves the element out.
    pub outputs: Vec<u8>,
}

impl Layout {
    /// What planning may know of it.
    pub(crate) fn of_batch(&self) -> batch::Layout {
        let format = |format: &VertexFormat| {
            let packing = format.packing();
            InputFormat {
                words: if packing.is_words() { packing.components() as u8 } else { 0 },
                defaults: [0, 1, 2, 3].map(|component| packing.default_component(component)),
            }
        };
        batch::Layout { inputs: self.inputs.iter().map(format).collect(), outputs: self.outputs.clone() }
    }
}

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodegenOptions {
    /// Groups of four lanes a value has, 1 or 2. Two pay where latency rules: loops that depend on data.
    pub groups: u8,
}

impl CodegenOptions {
    /// What planning may know of the machine. x86-64 has sixteen vector registers of 128 bits, AArch64 twice as many:
    /// one plan for both keeps what is measured on the one.
    fn machine(self) -> Result<Machine, JitError> {
        match self.groups {
            vectors @ (1 | 2) => Ok(Machine { vectors, registers: 16 }),
            groups => Err(JitError::Codegen(format!("{groups} groups of lanes; 1 or 2 are possible"))),
        }
    }
}

impl Default for CodegenOptions {
    fn default() -> CodegenOptions {
        CodegenOptions { groups: 1 }
    }
}

/// Native code of one function for one layout. Can run on many threads at once; each brings its own [`Scratch`].
pub struct Code {
    memory: CodeMemory,
    info: CodeInfo,
}

/// What a call must know about the code.
#[derive(Clone, Debug)]
struct CodeInfo {
    /// Vertices shaded at once.
    lanes: u32,
    /// Formats of the inputs that are read.
    inputs: Vec<Option<VertexFormat>>,
    /// Stored components of the outputs.
    outputs: Vec<u8>,
    /// Outputs that a call copies from an input.
    copies: Vec<Copy>,
    /// For each uniform space, how many rows are read without a check.
    uniform_rows: Vec<u32>,
    /// For each uniform space, its rows if it is a table of the program.
    tables: Vec<Option<UniformRows>>,
    /// Number of resources.
    resources: usize,
    /// Bytes of register arrays, a multiple of 64.
    scratch_bytes: usize,
    /// Where they lie.
    arrays: SecondaryMap<Array, ArrayPlace>,
    /// Bytes of what is computed once a call.
    hoisted_bytes: usize,
    /// How many vertices run out of fuel together, those that would not with those that would.
    vertices_of_fuel: usize,
    /// The most vertices shaded by one call of native code.
    vertices_at_once: usize,
    /// Bytes of the stack that native code takes.
    stack_bytes: usize,
    /// What a call puts there in all lanes.
    splats: Vec<Splat>,
    /// What a call puts there word by word, and where.
    rows: Vec<(u32, [Word; 4])>,
}

impl Code {
    /// Vertices shaded at once: 4 for each group.
    pub fn lanes(&self) -> u32 {
        self.info.lanes
    }

    /// The machine code.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Whether the code reads any component of an input element.
    pub fn reads_input(&self, element: u32) -> bool {
        self.info.inputs.get(element as usize).is_some_and(Option::is_some)
    }

    /// Bytes of the caller's stack that a call of the code takes, what it calls itself included but for the caller's
    /// own textures.
    pub fn stack_bytes(&self) -> usize {
        self.info.stack_bytes
    }

    /// How many rows of a uniform space must be readable: the second argument of [`UniformRows::from_bytes`].
    pub fn uniform_rows(&self, space: Space) -> u32 {
        self.info.uniform_rows.get(space.as_u32() as usize).copied().unwrap_or(0)
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("bytes", &self.bytes().len()).field("info", &self.info).finish()
    }
}

/// Compiles a function. Whatever the passes make goes through the verifier first: code is made only of a function whose
/// indices, types and uses have been checked, so that it touches no memory but what a call lends it.
///
/// # Errors
/// [`JitError::Limit`] if the function or its code is over a bound. [`JitError::Codegen`] if it reads an input the
/// layout does not have, or uses what this machine does not.
///
/// ```
/// use shaderjit::VertexFormat;
/// use shaderjit::jit::{self, Batch, CodegenOptions, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target};
/// use shaderjit_ir::texture::NoTextures;
/// use shaderjit_ir::verify::Verified;
/// use shaderjit_ir::{FunctionBuilder, Type};
///
/// let mut b = FunctionBuilder::new("double", 1, 1);
/// let x = b.input(Type::F32, 0, 0);
/// let doubled = b.fadd([x, x]);
/// b.output(0, 0, doubled);
/// b.ret();
/// let mut function = b.finish();
/// function.lockstep = true; // nothing diverges
///
/// let layout = Layout { inputs: vec![VertexFormat::F32x1], outputs: vec![1] };
/// let function = Verified::new(function)?;
/// let code = jit::compile(&function, &layout, &Target::host()?, &CodegenOptions::default())?;
///
/// let input: Vec<u8> = [1.0f32, 2.0, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
/// let mut output = [0; 12];
/// code.run(
///     &Batch {
///         inputs: &[InputStream { bytes: &input, stride: 4 }],
///         uniforms: &[],
///         resources: &[],
///         textures: &NoTextures,
///         count: 3,
///         first_vertex: 0,
///         instance: 0,
///         fuel: 0.into(), // there are no loops
///     },
///     &mut OutputBuffer { bytes: &mut output, elements: &[OutputElement { offset: 0, stride: 4 }] },
///     &mut Scratch::default(),
/// )?;
/// assert_eq!(output[8..], 6.0f32.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(func: &Verified, layout: &Layout, target: &Target, options: &CodegenOptions) -> Result<Code, JitError> {
    compile_program(&plan(func, layout, options)?, layout, target)
}

/// The batch program that [`compile`] makes code of.
///
/// # Errors
/// [`JitError::Codegen`] if there is no such number of groups, or planning has a defect.
pub fn plan(func: &Verified, layout: &Layout, options: &CodegenOptions) -> Result<BatchProgram, JitError> {
    let program = BatchProgram::plan(func, &layout.of_batch(), options.machine()?);
    program.map_err(|errors| JitError::Codegen(errors.to_string()))
}

/// Compiles a batch program that was planned for a layout.
///
/// # Errors
/// As [`compile`].
pub fn compile_program(program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Code, JitError> {
    with_contexts(|contexts| {
        let (mut info, compiled) = build_code(program, layout, target, false, contexts)?;
        let buffer = &compiled.buffer;
        // Code that could fault, or call out but through the one address it holds, is a defect of `emit`: it must not
        // run.
        if !buffer.traps().is_empty() || !buffer.relocs().is_empty() {
            return Err(JitError::Codegen("the code has traps or relocations".to_string()));
        }
        let frame = buffer.frame_layout().map_or(0, |frame| u64::from(frame.frame_to_fp_offset));
        limit("the size of native code", compiled.code_buffer().len() as u64, limits::CODE_BYTES)?;
        limit("the native stack frame", frame, limits::FRAME_BYTES)?;
        info.stack_bytes = frame as usize + limits::CALLEE_STACK_BYTES;
        Ok(Code { memory: CodeMemory::new(compiled.code_buffer())?, info })
    })
}

/// The Cranelift IR that [`compile`] makes of the function, as text.
///
/// # Errors
/// As [`compile`].
pub fn clif_text(
    func: &Verified,
    layout: &Layout,
    target: &Target,
    options: &CodegenOptions,
) -> Result<String, JitError> {
    with_contexts(|contexts| {
        build(&plan(func, layout, options)?, layout, target, false, contexts)?;
        Ok(contexts.cranelift.func.display().to_string())
    })
}

/// The source instructions that the code of [`compile`] was made for: by ascending offset in the code, the byte offset
/// of an instruction, or `None` where the code is for none: it fetches inputs, stores outputs and goes from wave to
/// wave. The code is made again.
///
/// # Errors
/// As [`compile`].
pub fn origins(
    func: &Verified,
    layout: &Layout,
    target: &Target,
    options: &CodegenOptions,
) -> Result<Vec<(u32, Option<u32>)>, JitError> {
    with_contexts(|contexts| {
        let (_, compiled) = build_code(&plan(func, layout, options)?, layout, target, true, contexts)?;
        let mut origins: Vec<(u32, Option<u32>)> = Vec::new();
        let mut end = 0;
        for range in compiled.buffer.get_srclocs_sorted() {
            let origin = if range.loc.is_default() { None } else { Some(range.loc.bits()) };
            let gap = (end < range.start).then_some((end, None));
            for (start, origin) in gap.into_iter().chain([(range.start, origin)]) {
                if origins.last().is_none_or(|&(_, last)| last != origin) {
                    origins.push((start, origin));
                }
            }
            end = range.end;
        }
        let size = compiled.code_buffer().len() as u32;
        if end < size && origins.last().is_some_and(|&(_, last)| last.is_some()) {
            origins.push((end, None));
        }
        Ok(origins)
    })
}

/// Cranelift's working memory, which is dear to make anew for each small function.
struct Contexts {
    cranelift: Context,
    builder: FunctionBuilderContext,
}

impl Contexts {
    fn new() -> Contexts {
        Contexts { cranelift: Context::new(), builder: FunctionBuilderContext::new() }
    }
}

thread_local! {
    static CONTEXTS: RefCell<Option<Contexts>> = const { RefCell::new(None) };
}

/// Lends the thread's contexts. They are dropped after a large function, and after an error or a panic: they may hold
/// half a function. A panic, which is a defect of Cranelift or of `emit`, is an error.
fn with_contexts<T>(f: impl FnOnce(&mut Contexts) -> Result<T, JitError>) -> Result<T, JitError> {
    let mut contexts = CONTEXTS.take().unwrap_or_else(Contexts::new);
    let result = catch_unwind(AssertUnwindSafe(|| f(&mut contexts)))
        .unwrap_or_else(|_| Err(JitError::Codegen("a panic while making code".to_string())))?;
    if contexts.cranelift.func.dfg.num_insts() <= limits::KEPT_INSTS {
        contexts.cranelift.clear();
        CONTEXTS.set(Some(contexts));
    }
    Ok(result)
}

fn build(
    program: &BatchProgram,
    layout: &Layout,
    target: &Target,
    origins: bool,
    contexts: &mut Contexts,
) -> Result<CodeInfo, JitError> {
    contexts.cranelift.func.signature = signature();
    emit::emit(program, layout, target, origins, &mut contexts.cranelift.func, &mut contexts.builder)
}

fn build_code<'a>(
    program: &BatchProgram,
    layout: &Layout,
    target: &Target,
    origins: bool,
    contexts: &'a mut Contexts,
) -> Result<(CodeInfo, &'a CompiledCode), JitError> {
    let info = build(program, layout, target, origins, contexts)?;
    let is_large = contexts.cranelift.func.dfg.num_insts() > limits::THOROUGH_INSTS
        || pressure::is_high(program, program.vectors() as u64);
    let compiled = contexts
        .cranelift
        .compile(&**target.isa(is_large), &mut ControlPlane::default())
        .map_err(|error| JitError::Codegen(error.inner.to_string()))?;
    Ok((info, compiled))
}

/// For each uniform space, how many rows code of the function may read without a check.
pub(crate) fn static_rows(func: &Function) -> Vec<u32> {
    let mut rows = vec![0; func.spaces.len()];
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        let InstData { op, imm, args, .. } = &func.insts[inst];
        let last = match *imm {
            Imm::Row { space, row, .. } if *op == Op::UniformLoad => Some((space, row)),
            Imm::Row { space, row, .. } | Imm::SpaceRow { space, row } => {
                last_row(func, row, args[0]).map(|last| (space, last))
            }
            _ => None,
        };
        if let Some((space, last)) = last
            && last < STATIC_ROWS
        {
            let rows = &mut rows[space.as_u32() as usize];
            *rows = (last + 1).max(*rows);
        }
    }
    rows
}

/// The last row that `row` plus an index can be, if all of them may be read without a check.
fn last_row(func: &Function, row: u32, index: Value) -> Option<u32> {
    let inst = func.def_inst(index).filter(|inst| inst.op == Op::And)?;
    let most = inst.args.iter().filter_map(|&arg| func.constant(arg)).min()?;
    let last = u64::from(row) + most;
    (last < u64::from(STATIC_ROWS)).then_some(last as u32)
}

/// `fn(*const BatchArgs, count: u32) -> u32`, by the System V convention on every x86-64 system: the caller is our
/// own assembly.
fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = [types::I64, types::I32].map(AbiParam::new).to_vec();
    signature.returns = vec![AbiParam::new(types::I32)];
    signature
}

fn limit(what: &'static str, value: u64, limit: u64) -> Result<(), JitError> {
    if value > limit { Err(JitError::Limit { what, value, limit }) } else { Ok(()) }
}
