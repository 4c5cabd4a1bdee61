//! Lockstep IR → native code: has it planned and compiled, owns the code's memory, and calls it safely.
//!
//! * `back_end` is what a back end takes and gives back. `cranelift` is one: it selects Cranelift's instructions for a
//!   batch program, and has them made into machine code; `x64` is our own. `coalesce`, `places`, `offsets` and
//!   `outputs` are what both know of a program, and note of the block at hand.
//! * `abi` is what native code is given; `call` checks a caller's buffers, fills it in, and handles the tail of a
//!   batch.
//! * `series` makes calls of native code, one or many in one change of the floating-point mode; `mode` changes it back
//!   around what native code calls: `double`, `texture`, and `refuel`, which says whether loops may go on.
//! * `memory` makes code executable and frees it. `limits` bounds what hostile programs can ask for.
//! * `machine` has nothing to do with native code but that it, too, needs to know what this machine can do: it compiles
//!   the loops of the IR's fast interpreter for that.
//!
//! `unsafe` is only in `call.rs`, `call/copy.rs`, `call/group.rs`, `call/rows.rs`, `call/wave.rs`, `double.rs`,
//! `machine.rs`, `memory.rs`, `mode.rs`, `refuel.rs`, `series.rs` and `texture.rs`. Cranelift's types stay inside.

mod abi;
mod back_end;
mod call;
mod coalesce;
mod cranelift;
mod double;
mod limits;
mod machine;
mod memory;
mod mode;
mod offsets;
mod outputs;
mod places;
mod refuel;
mod series;
mod target;
#[cfg(test)]
mod tests;
mod texture;
mod window;
mod x64;

pub use call::{
    Batch, GroupRunner, InputStream, OutputBuffer, OutputElement, Progress, Scratch, UniformRows, WaveRunner,
};
pub(crate) use machine::Loops;
pub use target::Target;

use crate::error::JitError;
use crate::vertex_format::VertexFormat;
use abi::ArrayPlace;
use back_end::{BackEnd, Selected};
use call::SlotFill;
use cranelift::Cranelift;
use cranelift_entity::SecondaryMap;
use memory::CodeMemory;
use shaderjit_ir::batch::{self, BatchProgram, Copy, Machine, Pass};
use shaderjit_ir::bounds::RowCounts;
use shaderjit_ir::memory::MemoryKind;
use shaderjit_ir::texture::Access;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Array, Function, Space};
use smallvec::SmallVec;
use x64::X64;

/// The most that [`Code::stack_bytes`] can be.
pub(crate) const MAX_STACK_BYTES: usize = limits::FRAME_BYTES as usize + limits::CALLEE_STACK_BYTES;

/// What the caller's buffers hold: compiled into the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Format of each input element.
    pub inputs: SmallVec<[VertexFormat; 16]>,
    /// How many components are stored of each output element, 0 to 4; 0 leaves the element out.
    pub outputs: SmallVec<[u8; 16]>,
}

impl Layout {
    /// How many components are stored of an output element.
    fn stored(&self, element: u32) -> u8 {
        self.outputs.get(element as usize).copied().unwrap_or(0)
    }

    /// What planning may know of it.
    pub(crate) fn of_batch(&self) -> batch::Layout {
        let inputs = self.inputs.iter().map(|format| format.packing()).collect();
        batch::Layout { inputs, outputs: self.outputs.clone() }
    }
}

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodegenOptions {
    /// Lanes of a vector: 4, or 8 with AVX2, or 16 with AVX-512.
    pub lanes: u8,
    /// Vectors that a value has, 1 or 2. Two pay where latency rules: loops that depend on data.
    pub vectors: u8,
}

impl CodegenOptions {
    /// So many vectors of four lanes, which every machine has.
    pub const fn of_128_bits(vectors: u8) -> CodegenOptions {
        CodegenOptions { lanes: 4, vectors }
    }

    /// What planning may know of the machine. x86-64 has sixteen vector registers of 128 bits, AArch64 twice as many:
    /// one plan for both keeps what is measured on the one.
    fn machine(self) -> Result<Machine, JitError> {
        let CodegenOptions { lanes, vectors } = self;
        match (lanes, vectors) {
            (4, 1 | 2) => Ok(Machine::of_128_bits(vectors)),
            (8, 1 | 2) => Ok(Machine { lanes, vectors, registers: 16, has_powers: false }),
            (16, 1 | 2) => Ok(Machine { lanes, vectors, registers: 32, has_powers: true }),
            _ => {
                Err(JitError::Codegen(format!("{vectors} vectors of {lanes} lanes; 1 or 2 of 4, 8 or 16 are possible")))
            }
        }
    }
}

impl Default for CodegenOptions {
    fn default() -> CodegenOptions {
        CodegenOptions::of_128_bits(1)
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
    /// Vertices shaded at once: lanes of a wave.
    lanes: u32,
    /// Vertices that a round of its loop shades: a wave, or fewer where all is done by rows.
    vertices_of_round: usize,
    /// Formats of the inputs that are read.
    inputs: SmallVec<[Option<VertexFormat>; 16]>,
    /// Stored components of the outputs.
    outputs: SmallVec<[u8; 16]>,
    /// Outputs that a call copies from an input.
    copies: Vec<Copy>,
    /// For each uniform space, how many rows are read without a check.
    uniform_rows: RowCounts,
    /// For each uniform space, its rows if it is a table of the program.
    tables: Vec<Option<UniformRows>>,
    /// Number of resources.
    resources: usize,
    /// Threads of a group, where it runs those.
    threads: Option<u32>,
    /// How many waves of it one wave does the work of.
    waves_of_group: usize,
    /// For each of them, what kind of memory it is if it is written.
    memory: Vec<Option<MemoryKind>>,
    /// Its accesses to textures.
    accesses: Vec<Access>,
    /// Bytes of register arrays, a multiple of 64.
    scratch_bytes: usize,
    /// Where they lie.
    arrays: SecondaryMap<Array, ArrayPlace>,
    /// Bytes of what is computed once a call.
    frame_bytes: usize,
    /// How many vertices run out of fuel together, those that would not with those that would.
    vertices_of_fuel: usize,
    /// The vertices of a tile.
    vertices_of_tile: usize,
    /// The most vertices shaded by one call of native code.
    vertices_at_once: usize,
    /// Whether it is cut into phases, and then how many worklists there are.
    is_cut: bool,
    worklists: u32,
    /// Bytes of the stack that native code takes.
    stack_bytes: usize,
    /// What a call puts there before.
    fills: Vec<SlotFill>,
}

impl CodeInfo {
    /// Whether lanes that repeat an invocation may store something else than it: what they do to memory does not
    /// happen, and gives them zeros.
    fn repeats_differ(&self) -> bool {
        self.memory.iter().any(Option::is_some)
    }

    /// Whether it reads inputs or stores outputs.
    fn has_streams(&self) -> bool {
        self.inputs.iter().any(Option::is_some) || self.outputs.iter().any(|&components| components > 0)
    }
}

impl Code {
    /// That it can run groups of so many threads: where they wait for each other, all in one tile, and all of them.
    ///
    /// # Errors
    /// [`JitError::Limit`].
    pub fn check_group(&self, threads: u32) -> Result<(), JitError> {
        let info = &self.info;
        if !info.is_cut {
            return Ok(());
        }
        limit("the number of threads that wait for each other", threads.into(), info.vertices_of_tile as u64)?;
        limit("the number of branches where waves may part before a barrier", info.worklists.into(), 0)
    }

    /// Vertices shaded at once: 4 for each vector of a value.
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
/// let layout = Layout { inputs: vec![VertexFormat::F32x1].into(), outputs: vec![1].into() };
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
    compile_program(&plan(func, layout, options, Pass::LAST)?, layout, target)
}

/// The batch program of a function, up to one of planning's passes. [`compile`] makes code of what the last one gives.
///
/// # Errors
/// [`JitError::Limit`] if the function is over a bound. [`JitError::Codegen`] if there is no such number of vectors,
/// the function cannot be cut at its barriers, or planning has a defect.
pub fn plan(func: &Verified, layout: &Layout, options: &CodegenOptions, last: Pass) -> Result<BatchProgram, JitError> {
    limit("the function's size", batch::size(func), limits::FUNCTION_SIZE)?;
    let program = BatchProgram::plan(func, layout.of_batch(), options.machine()?, last);
    program.map_err(|error| match error {
        // Barriers that cannot be cut at, whatever the machine.
        batch::PlanError::Cut(_) if func.writes_memory() || func.threads.is_some() => {
            JitError::Limit { what: "the number of barriers in control flow that cannot be cut", value: 1, limit: 0 }
        }
        error => JitError::Codegen(error.to_string()),
    })
}

/// Compiles a batch program that was planned for a layout.
///
/// # Errors
/// As [`compile`].
pub fn compile_program(program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Code, JitError> {
    check_bindings(program, layout)?;
    let Selected { bytes, stack_bytes, mut info } = back_end(program, target)?.compile(program, layout, target)?;
    limit("the size of native code", bytes.len() as u64, limits::CODE_BYTES)?;
    limit("the native stack frame", stack_bytes, limits::FRAME_BYTES)?;
    info.stack_bytes = stack_bytes as usize + limits::CALLEE_STACK_BYTES;
    Ok(Code { memory: CodeMemory::new(&bytes)?, info })
}

/// The Cranelift IR that [`compile`] makes of the function, as text.
///
/// # Errors
/// As [`compile`], and [`JitError::Codegen`] if Cranelift does not make it.
pub fn clif_text(
    func: &Verified,
    layout: &Layout,
    target: &Target,
    options: &CodegenOptions,
) -> Result<String, JitError> {
    if options.lanes != 4 {
        return Err(JitError::Codegen(format!("Cranelift makes no code for vectors of {} lanes", options.lanes)));
    }
    cranelift::text(&plan(func, layout, options, Pass::LAST)?, layout, target)
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
    let program = plan(func, layout, options, Pass::LAST)?;
    back_end(&program, target)?.origins(&program, layout, target)
}

/// What makes code of a program: Cranelift for four lanes, our own for more.
fn back_end(program: &BatchProgram, target: &Target) -> Result<Box<dyn BackEnd>, JitError> {
    if program.lanes == 4 {
        return Ok(Box::new(Cranelift));
    }
    match target.level(program.lanes) {
        Some(level) => Ok(Box::new(X64(level))),
        None => Err(JitError::Target(format!("no vectors of {} lanes", program.lanes))),
    }
}

/// Checks what every back end relies on: offsets into the tables of a call fit its instructions.
fn check_bindings(func: &Function, layout: &Layout) -> Result<(), JitError> {
    if let Some(components) = layout.outputs.iter().find(|&&components| components > 4) {
        return Err(JitError::Codegen(format!("an output element of {components} components")));
    }
    let bindings = layout.inputs.len().max(layout.outputs.len()).max(func.spaces.len()).max(func.resources.len());
    let bindings = bindings.max(func.samplers.len());
    limit(
        "the number of input elements, output elements, uniform spaces, resources or samplers",
        bindings as u64,
        limits::BINDINGS,
    )
}

fn limit(what: &'static str, value: u64, limit: u64) -> Result<(), JitError> {
    if value > limit { Err(JitError::Limit { what, value, limit }) } else { Ok(()) }
}
