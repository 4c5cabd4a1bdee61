//! Instructions → IR, for shaders of all stages, and for pixel shaders as far as each pixel is on its own.
//!
//! Registers become SSA variables of 32-bit patterns (typed `f32`, so that moves cost nothing); integer instructions
//! read and write them through bitcasts, which keep every bit. Every register is zero at the start. All returns lead to
//! one block, which sets the outputs.
//!
//! | file | what it does |
//! |---|---|
//! | `elements` | signatures → input and output registers |
//! | `registers` | declarations → variables, arrays, uniform spaces |
//! | `operand` | reads sources, writes destinations |
//! | `arithmetic` | what each opcode computes |
//! | `double` | the same where operands or results are doubles |
//! | `choice` | what an operand names, one thing or the one of several that an index chooses |
//! | `resource` | views, and loads from buffers |
//! | `memory` | stores, atomics and typed loads of what is written |
//! | `vertices` | vertices of primitives, control points, patches |
//! | `emit` | geometry shaders: what they emit |
//! | `hull` | hull shaders: their phases |
//! | `group` | thread groups: numbers, barriers |
//! | `pixel` | pixels: what a rasteriser gives and takes
//! | `texture` | samplers, and accesses of textures |
//! | `flow` | `if`, `loop`, `switch` and their relatives → blocks |
//! | `call` | subroutines, each inlined where it is called |
//! | `interface` | calls of the functions of class instances |
//! | `debug` | what variables are called |
//! | `support` | which opcodes run |

mod arithmetic;
mod call;
mod choice;
mod debug;
mod double;
mod elements;
mod emit;
mod feedback;
mod flow;
mod group;
mod hull;
mod interface;
mod memory;
mod operand;
mod pixel;
mod registers;
mod resource;
mod support;
mod texture;
mod vertices;

use std::collections::BTreeMap;
use std::num::NonZero;

use shaderjit_ir::FunctionBuilder;
use shaderjit_ir::function::Origin;

use self::call::Subroutines;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::feedback::without_status;
use self::flow::Flow;
pub use self::interface::ClassInstance;
use self::interface::Classes;
use self::registers::{Flag, Refusal, Registers, limit};
pub use self::support::runs;
use super::codes::Stage;
use super::decode::{Body, Instruction, Program};
use super::opcode::{Group, Opcode};
use crate::container::dxbc::{FourCc, Signature};
use crate::error::LowerError;
use crate::frontend::Lowered;

/// Most instructions of a program, those of a subroutine counted at each of its calls. Direct3D 10 promises 65 536
/// slots.
const MAX_INSTRUCTIONS: u64 = 1 << 16;
/// Most subroutines that have been called and not left (Direct3D 11.3 functional specification: a deeper call does
/// nothing).
const MAX_CALL_DEPTH: usize = 32;
/// Most open `if`s, `loop`s and `switch`es of the program or of one subroutine (Direct3D 11.3 functional specification,
/// limits on flow control).
const MAX_NESTING: usize = 64;
/// Most of them with those around the calls. Compilers inline what is called in loops; the passes take time by the
/// depth.
const MAX_NESTING_IN_ALL: usize = 512;
/// Most `r#` and `x#` registers together (Direct3D 11: 4096 temporary registers).
const MAX_REGISTERS: u64 = 4096;
/// Registers of the input and of the output file (Direct3D 11).
const MAX_SIGNATURE_REGISTERS: u64 = 32;
/// Most rows of the immediate constant buffer (Direct3D 11).
const MAX_IMMEDIATE_ROWS: u64 = 4096;
/// Most constant buffers. Direct3D 11 has 14 slots; shader model 5.1 has ranges of any length.
const MAX_CONSTANT_BUFFERS: u64 = 256;
/// Most resources. Direct3D 11 has 128 slots; shader model 5.1 has ranges of any length, of which those count that a
/// program names, or may choose.
const MAX_RESOURCES: u64 = 1 << 10;
/// Most samplers. Direct3D 11 has 16 slots; shader model 5.1 has ranges of any length.
const MAX_SAMPLERS: u64 = 256;
/// Most samples of a pixel (Direct3D 11: `D3D11_MAX_MULTISAMPLE_SAMPLE_COUNT`).
const MAX_SAMPLES: u64 = 32;
/// Most accesses that dynamic choices of a view or sampler are among, all together. 3 KB can ask for so many, each with
/// blocks of its own; they take a third of a second to compile.
const MAX_CHOSEN_ACCESSES: u64 = 1 << 12;
/// Most components that dynamic choices of a constant buffer are among, all together. They take no longer.
const MAX_CHOSEN_CONSTANTS: u64 = 1 << 14;
/// Most values of the function.
const MAX_VALUES: u64 = 1 << 20;
/// Most pairs of a written register component and a block: what building SSA form may cost, as every component can be
/// live everywhere. Real programs stay far below, since long ones have few branches and branchy ones few registers.
const MAX_LIVE_PAIRS: u64 = 1 << 20;

/// What a program is lowered for.
///
/// ```
/// use shaderjit::frontend::sm4::LowerOptions;
///
/// let options = LowerOptions { samples: 4, ..LowerOptions::default() };
/// assert!(options.classes.is_empty() && options.unbounded.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// The class instances of the interface slots that the program calls.
    pub classes: BTreeMap<u32, ClassInstance>,
    /// Samples that a pixel of the target has, which is what `sampleinfo` says of the rasterizer; 0 if there is no
    /// target.
    pub samples: u32,
    /// How many registers a range without an end has where an index chooses one of them at run time. Programs that do
    /// so cannot be lowered without.
    pub unbounded: Option<NonZero<u32>>,
    /// Whether to say what the function's values are in the program: [`Lowered::debug`].
    pub debug: bool,
}

impl Default for LowerOptions {
    /// No class instances, one sample, no ranges without an end.
    fn default() -> LowerOptions {
        LowerOptions { classes: BTreeMap::new(), samples: 1, unbounded: None, debug: false }
    }
}

/// The signatures of a program.
#[derive(Clone, Copy, Debug)]
pub struct Signatures<'s> {
    /// Of its inputs; a domain shader's are control points.
    pub inputs: &'s Signature<'s>,
    /// Of its outputs; a hull shader's are control points.
    pub outputs: &'s Signature<'s>,
    /// Of the patch constants that a hull shader writes or a domain shader reads; other stages have none.
    pub patch_constants: &'s Signature<'s>,
}

/// Lowers a shader of shader model 4.0 to 5.1.
///
/// Input and output elements are those of the signatures, in their order. A vertex shader's `SV_VertexID` and
/// `SV_InstanceID` are left out: the batch generates them. A pixel shader's are all there, interpolated values and
/// system values alike, and behind them `SV_Coverage` and `SV_InnerCoverage` if the program declares them, for which
/// signatures have no element. Behind the outputs are [`Interface::discarded`](crate::frontend::Interface::discarded)
/// and [`Interface::aborted`](crate::frontend::Interface::aborted) of programs that discard or abort. Uniform spaces
/// are the constant buffers and the immediate constant buffer in the order of their declarations; of a declared range
/// of several registers, those that the program names, at the end: all of them where it chooses one at run time.
/// Resources are the `t#` and samplers the `s#`, in the same order.
///
/// A geometry or hull shader sees a whole primitive, a domain shader a location of a patch:
/// [`PrimitiveStage`](crate::frontend::PrimitiveStage) says what their elements are.
///
/// Programs with interfaces or patch constants need [`lower_with`].
///
/// # Errors
/// [`LowerError::Unsupported`] for what such shaders may do and this crate cannot run yet, [`LowerError::Invalid`] for
/// a program that breaks the rules of its format, [`LowerError::Limit`] for one that is too large; each with the byte
/// offset of the instruction.
pub fn lower(
    program: &Program,
    input_signature: &Signature<'_>,
    output_signature: &Signature<'_>,
) -> Result<Lowered, LowerError> {
    let patch_constants = &Signature { part: FourCc::PCSG, elements: Vec::new() };
    let signatures = Signatures { inputs: input_signature, outputs: output_signature, patch_constants };
    lower_with(program, &signatures, &LowerOptions::default())
}

/// Lowers as [`lower`] for these options.
///
/// # Errors
/// As [`lower`], and [`LowerError::Unbound`] if the program calls a slot that has no class instance.
pub fn lower_with(
    program: &Program,
    signatures: &Signatures<'_>,
    options: &LowerOptions,
) -> Result<Lowered, LowerError> {
    let subroutines = Subroutines::new(program)?;
    let (mut registers, mut b) = Registers::new(program, signatures)?;
    if options.debug {
        b.keep_records();
    }
    let classes = Classes::new(program, &options.classes, &mut registers.interface.uniforms, &mut b)?;
    let cost =
        Cost { variables: registers.variables(), instructions: 0, blocks: 1, chosen_accesses: 0, chosen_constants: 0 };
    let (offset, flow, options) = (program.offset, Flow::default(), options.clone());
    limit("number of samples", options.samples.into(), MAX_SAMPLES).map_err(|refusal| refusal.at(offset))?;
    let mut lowering = Lowering { b, registers, subroutines, classes, options, flow, cost, next: 0, offset };
    if program.version.stage == Stage::Compute {
        let Some(threads) = lowering.registers.interface.thread_group else {
            return Err(lowering.invalid("the thread group is not declared"));
        };
        lowering.b.set_threads(threads.iter().product());
    }
    if let Some(vertices) = lowering.registers.vertices {
        vertices.fill(&lowering.registers.inputs, program, &mut lowering.b);
    }
    if lowering.registers.hull.is_some() {
        if memory::may_wait(program) {
            return Err(lowering.unsupported("a hull shader that may wait for memory"));
        }
        lowering.hull_phases(program)?;
        return lowering.finish();
    }
    lowering.begin();
    if program.version.stage == Stage::Pixel && memory::may_wait(program) {
        lowering.leave_helpers();
    }
    lowering.begin_emitting();
    lowering.fill_indexed_inputs()?;
    lowering.body(program, program.instructions.len())?;
    lowering.finish()
}

/// What lowering has met so far, which bounds what it makes.
struct Cost {
    /// Registers as components that some instruction writes: how many values can be live at once.
    variables: u64,
    /// Instructions.
    instructions: u64,
    /// Blocks, at most.
    blocks: u64,
    /// Accesses through views and samplers of which an index chooses one.
    chosen_accesses: u64,
    /// Components of constant buffers of which an index chooses one.
    chosen_constants: u64,
}

impl Cost {
    /// Counts an instruction. Refuses programs that are too long, and those whose SSA form could be out of proportion
    /// to their size.
    fn add(&mut self, opcode: Opcode) -> Result<(), Refusal> {
        self.instructions += 1;
        limit("number of instructions", self.instructions, MAX_INSTRUCTIONS)?;
        self.add_blocks(flow::blocks_of(opcode))
    }

    /// Counts blocks.
    fn add_blocks(&mut self, blocks: u64) -> Result<(), Refusal> {
        self.blocks += blocks;
        limit("registers times blocks", self.blocks * self.variables, MAX_LIVE_PAIRS)
    }

    /// Counts accesses of which an index chooses one, and their blocks.
    fn add_chosen_accesses(&mut self, accesses: u64) -> Result<(), Refusal> {
        self.chosen_accesses += accesses;
        limit("number of accesses to choose from", self.chosen_accesses, MAX_CHOSEN_ACCESSES)?;
        self.add_blocks(accesses + 1)
    }

    /// Counts components of which an index chooses one.
    fn add_chosen_constants(&mut self, constants: u64) -> Result<(), Refusal> {
        self.chosen_constants += constants;
        limit("number of constants to choose from", self.chosen_constants, MAX_CHOSEN_CONSTANTS)
    }
}

/// The state of lowering one program.
struct Lowering {
    b: FunctionBuilder,
    registers: Registers,
    subroutines: Subroutines,
    classes: Classes,
    options: LowerOptions,
    flow: Flow,
    cost: Cost,
    /// Number of the instruction behind the one being lowered.
    next: usize,
    /// Byte offset of the instruction being lowered.
    offset: usize,
}

impl Lowering {
    /// Lowers instructions from the next one on, up to `end` or the end of what has been entered.
    fn body(&mut self, program: &Program, end: usize) -> Result<(), LowerError> {
        while self.flow.is_running() {
            match program.instructions[..end].get(self.next) {
                Some(instruction) => {
                    self.offset = instruction.offset;
                    self.next += 1;
                    self.instruction(instruction)?;
                    self.check_values()?;
                }
                None => self.end_of_body()?,
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), LowerError> {
        // Declarations and the immediate constant buffer are dealt with; shader messages are for debug layers alone.
        let Body::Operation(operation) = &instruction.body else { return Ok(()) };
        self.b.set_origin(Origin::at(instruction.offset));
        let opcode = instruction.opcode();
        self.cost.add(opcode).map_err(|refusal| refusal.at(self.offset))?;
        self.flow.pass(opcode);
        match opcode.group() {
            Group::Debug if opcode == Opcode::Abort => self.abort(),
            // There is no debugger.
            Group::Debug if opcode == Opcode::DebugBreak => Ok(()),
            Group::Flow => self.flow(instruction.token, &operation.operands),
            // Nothing gets here: the code behind a jump, or between `switch` and its first `case`.
            _ if !self.flow.live => Ok(()),
            _ if double::has_doubles(opcode) => self.double(instruction.token, &operation.operands),
            Group::Float | Group::Bit | Group::Int | Group::Uint => {
                self.arithmetic(instruction.token, &operation.operands)
            }
            Group::Texture | Group::Memory | Group::Atomic => self.view_operation(instruction.token, operation),
            Group::TiledFeedback => self.feedback_operation(instruction.token, operation),
            _ => Err(self.unsupported(opcode)),
        }
    }

    fn check_values(&self) -> Result<(), LowerError> {
        match self.b.func().values.len() as u64 {
            value if value > MAX_VALUES => {
                Err(LowerError::Limit { what: "size of the function", value, limit: MAX_VALUES, offset: self.offset })
            }
            _ => Ok(()),
        }
    }

    /// Sets the outputs and makes the function.
    fn finish(mut self) -> Result<Lowered, LowerError> {
        self.b.set_origin(Origin::default());
        if self.registers.emitter.is_some() {
            self.store_emitted();
        } else {
            for output in self.registers.outputs.written() {
                let value = self.read_written(output.register, output.register_component);
                self.b.output(output.number, output.component, value.expect("it is written"));
            }
        }
        for Flag { variable, element } in [self.registers.discarded, self.registers.aborted].into_iter().flatten() {
            let value = self.b.use_var(variable);
            self.b.output(element, 0, value);
        }
        self.b.ret();
        self.check_values()?;
        let (mut function, records) = self.b.finish_with_records();
        self.flow.sort(&mut function);
        let debug = records.map(|records| Box::new(self.registers.debug_info(records)));
        Ok(Lowered { stage: self.registers.stage.into(), function, interface: self.registers.interface, debug })
    }

    fn unsupported(&self, what: impl ToString) -> LowerError {
        LowerError::Unsupported { what: what.to_string(), offset: self.offset }
    }

    fn invalid(&self, what: impl Into<String>) -> LowerError {
        LowerError::Invalid { what: what.into(), offset: self.offset }
    }
}

#[cfg(test)]
mod tests;
