//! Instructions → IR, for vertex shaders.
//!
//! Registers become SSA variables of 32-bit patterns (typed `f32`, so that moves cost nothing); integer instructions read and
//! write them through bitcasts, which keep every bit. Every register is zero at the start. All returns lead to one block, which
//! sets the outputs.
//!
//! | file | what it does |
//! |---|---|
//! | `registers` | declarations and signatures → variables, arrays, uniform spaces |
//! | `operand` | reads sources, writes destinations |
//! | `arithmetic` | what each opcode computes |
//! | `double` | the same where operands or results are doubles |
//! | `resource` | views of buffers and the loads from them |
//! | `flow` | `if`, `loop`, `switch` and their relatives → blocks |

mod arithmetic;
mod double;
mod flow;
mod operand;
mod registers;
mod resource;

use shaderjit_ir::FunctionBuilder;

use self::flow::Flow;
use self::registers::Registers;
use super::codes::Stage;
use super::decode::{Body, Instruction, Program};
use super::opcode::Group;
use crate::container::dxbc::Signature;
use crate::error::LowerError;
use crate::frontend::Lowered;

/// Most instructions of a program. Direct3D 10 promises 65 536 slots.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// Most open `if`s, `loop`s and `switch`es (Direct3D 11.3 functional specification, limits on flow control).
const MAX_NESTING: usize = 64;
/// Most `r#` and `x#` registers together (Direct3D 11: 4096 temporary registers).
const MAX_REGISTERS: u64 = 4096;
/// Registers of the input and of the output file (Direct3D 11).
const MAX_SIGNATURE_REGISTERS: u64 = 32;
/// Most rows of the immediate constant buffer (Direct3D 11).
const MAX_IMMEDIATE_ROWS: u64 = 4096;
/// Most constant buffers. Direct3D 11 has 14 slots; shader model 5.1 has ranges of any length.
const MAX_CONSTANT_BUFFERS: u64 = 256;
/// Most resources. Direct3D 11 has 128 slots; shader model 5.1 has ranges of any length.
const MAX_RESOURCES: u64 = 256;
/// Most values of the function.
const MAX_VALUES: u64 = 1 << 20;
/// Most pairs of a written register component and a block: what building SSA form may cost, as every component can be live
/// everywhere. Real programs stay far below, since long ones have few branches and branchy ones few registers.
const MAX_LIVE_PAIRS: u64 = 1 << 20;

/// Lowers a vertex shader of shader model 4.0 to 5.1.
///
/// Input elements are those of the input signature, `SV_VertexID` and `SV_InstanceID` left out; output elements those of the
/// output signature; both in its order. Uniform spaces are the constant buffers and the immediate constant buffer in the order
/// of their declarations; of a declared range of several registers, those that the program names, at the end. Resources are the
/// buffers among the `t#`, in the same order.
///
/// # Errors
/// [`LowerError::Unsupported`] for what vertex shaders may do and this crate cannot run yet, [`LowerError::Invalid`] for a
/// program that breaks the rules of its format, [`LowerError::Limit`] for one that is too large; each with the byte offset of
/// the instruction.
pub fn lower(
    program: &Program,
    input_signature: &Signature<'_>,
    output_signature: &Signature<'_>,
) -> Result<Lowered, LowerError> {
    if program.version.stage != Stage::Vertex {
        return Err(LowerError::Unsupported { what: format!("{} programs", program.version), offset: program.offset });
    }
    let (registers, b) = Registers::new(program, input_signature, output_signature)?;
    check_size(program, &registers)?;
    let mut lowering = Lowering { b, registers, flow: Flow::default(), offset: program.offset };
    lowering.begin();
    lowering.fill_indexed_inputs()?;
    for instruction in &program.instructions {
        lowering.offset = instruction.offset;
        if lowering.instruction(instruction)?.is_end() {
            break;
        }
        lowering.check_values()?;
    }
    lowering.finish()
}

/// Refuses programs that are too long, and those whose SSA form could be out of proportion to their size.
fn check_size(program: &Program, registers: &Registers) -> Result<(), LowerError> {
    let variables = registers.variables();
    let (mut count, mut blocks) = (0, 1);
    for instruction in &program.instructions {
        if let Body::Operation(_) = instruction.body {
            count += 1;
            blocks += flow::blocks_of(instruction.opcode());
        }
        let limits = [
            ("number of instructions", count, MAX_INSTRUCTIONS as u64),
            ("registers times blocks", blocks * variables, MAX_LIVE_PAIRS),
        ];
        if let Some((what, value, limit)) = limits.into_iter().find(|&(_, value, limit)| value > limit) {
            return Err(LowerError::Limit { what, value, limit, offset: instruction.offset });
        }
    }
    Ok(())
}

/// The state of lowering one program.
struct Lowering {
    b: FunctionBuilder,
    registers: Registers,
    flow: Flow,
    /// Byte offset of the instruction being lowered.
    offset: usize,
}

/// Whether the program goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// With the next instruction.
    Instruction,
    /// Not at all: what follows is subroutines that nothing calls.
    End,
}

impl Next {
    fn is_end(self) -> bool {
        self == Next::End
    }
}

impl Lowering {
    fn instruction(&mut self, instruction: &Instruction) -> Result<Next, LowerError> {
        // Declarations and the immediate constant buffer are dealt with; shader messages are for debug layers alone.
        let Body::Operation(operation) = &instruction.body else { return Ok(Next::Instruction) };
        let opcode = instruction.opcode();
        self.flow.pass(opcode);
        match opcode.group() {
            Group::Flow => return self.flow(instruction.token, &operation.operands),
            // Nothing gets here: the code behind a jump, or between `switch` and its first `case`.
            _ if !self.flow.live => {}
            _ if double::has_doubles(opcode) => self.double(instruction.token, &operation.operands)?,
            Group::Float | Group::Bit | Group::Int | Group::Uint => {
                self.arithmetic(instruction.token, &operation.operands)?;
            }
            Group::Texture | Group::Memory => self.view_operation(opcode, operation)?,
            _ => return Err(self.unsupported(opcode)),
        }
        Ok(Next::Instruction)
    }

    fn check_values(&self) -> Result<(), LowerError> {
        match self.b.func().values.len() as u64 {
            value if value > MAX_VALUES => {
                Err(LowerError::Limit { what: "size of the function", value, limit: MAX_VALUES, offset: self.offset })
            }
            _ => Ok(()),
        }
    }

    /// Ends the program: sets the outputs and makes the function.
    fn finish(mut self) -> Result<Lowered, LowerError> {
        self.end()?;
        for output in self.registers.outputs.written() {
            let value = self.read_output(output);
            self.b.output(output.number, output.component, value);
        }
        self.b.ret();
        self.check_values()?;
        let mut function = self.b.finish();
        self.flow.sort(&mut function);
        Ok(Lowered { function, interface: self.registers.interface })
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
