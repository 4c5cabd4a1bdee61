//! Valid SM4 and SM5 programs, generated from the opcode table: the validator finds nothing wrong with them, they list
//! and encode to what they were, and both engines give the same bits, which are those of every invocation run alone
//! before any pass. What writes memory is compared with one reference interpreter a wave, run barrier by barrier.
//!
//! | file | what it makes |
//! |---|---|
//! | `declare`, `signature` | registers, buffers, views, interfaces; what of them a signature says |
//! | `place`, `operand` | sources and destinations of everything declared |
//! | `arithmetic` | instructions from their line in the table alone |
//! | `buffer`, `texture`, `memory` | reads of buffers, accesses of textures and of memory that is written |
//! | `flow`, `subroutine` | statements; what is called, and what an interface calls |
//! | `primitive` | geometry shaders: what they read and emit |
//! | `patch` | domain shaders, and the phases of hull shaders |
//! | `group` | thread groups: their numbers, and control flow that all of them share |
//! | `container` | the parts of the container |
//! | `data`, `image` | what the program is run on |
//! | `check` | the promises |
//! | `stages`, `alone` | what geometry, hull and domain shaders make, on every engine and each invocation alone |
//! | `compare` | what programs leave in memory, on every engine and on the oracle |

mod alone;
mod arithmetic;
mod buffer;
mod check;
mod compare;
mod container;
mod data;
mod declare;
mod flow;
mod group;
mod image;
mod memory;
mod operand;
mod patch;
mod place;
mod primitive;
mod signature;
mod stages;
mod subroutine;
mod texture;
mod traced;

pub use check::sm5;

use crate::container::Dxbc;
use crate::frontend::sm4::{
    Body, Declaration, Instruction, Opcode, OpcodeToken, Operand, Operation, Program, Stage, Version,
};
use crate::fuzzing::Way;
use crate::{CompileOptions, ListingOptions, Shader};
use arbitrary::{Arbitrary, Result, Unstructured};
use arithmetic::STAGES;
use declare::Declared;
use std::fmt;

/// Statements of a program at most; each is an instruction, and a few that prepare its operands.
const MAX_STATEMENTS: u32 = 120;

/// A program, and what it is run on.
#[derive(Clone)]
pub struct Sm5Case {
    /// The program in its container.
    pub container: Vec<u8>,
    /// The class instances of its interface slots: slot, name, number in its array.
    pub classes: Vec<(u32, String, u32)>,
    /// What inputs, buffers and all else that is bound are made of.
    pub seed: u64,
    /// Whether `mad` rounds once, if the machine can do that.
    pub fused: bool,
    /// How native code is made.
    pub way: Way,
    /// Whether no thread touches what another one does in memory, so that each does what it does alone.
    pub own: bool,
}

impl<'a> Arbitrary<'a> for Sm5Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Sm5Case> {
        let (seed, fused) = (u.arbitrary()?, u.arbitrary()?);
        let way = u.arbitrary()?;
        let stage = *u.choose(&STAGES)?;
        let versions = [(5, 0), (4, 0), (5, 0), (4, 1), (5, 1), (5, 0)];
        // Older compute shaders have little of what newer ones have, and tessellation came with shader model 5.
        let is_new = matches!(stage, Stage::Compute | Stage::Hull | Stage::Domain);
        let (major, minor) = *u.choose(if is_new { &[(5, 0), (5, 1)] } else { &versions[..] })?;
        let mut generator = Generator::new(u, Version { stage, major, minor })?;
        generator.program()?;
        let Generator { version, declared, phases, declarations, code, own, .. } = generator;
        let program = Program { offset: 0, version, instructions: [phases, declarations, code].concat() };
        let classes = declared.interface.iter().flat_map(|interface| interface.classes.clone()).collect();
        Ok(Sm5Case { container: container::container(&program, &declared), classes, seed, fused, way, own })
    }
}

impl Sm5Case {
    /// The container as a shader.
    pub fn shader(&self) -> Shader {
        Shader::parse(&self.container).expect("it was built as one")
    }

    /// The program as it is in the container.
    pub fn program(&self) -> Program {
        let dxbc = Dxbc::parse(&self.container).expect("it was built as one");
        let part = dxbc.program().expect("it was built well").expect("it has a program");
        Program::from_container(&part).expect("it was encoded")
    }

    fn options(&self) -> CompileOptions {
        let bind =
            |options: CompileOptions, (slot, name, number): &(u32, String, u32)| options.class(*slot, name, *number);
        self.classes.iter().fold(CompileOptions::default().lanes(self.way.lanes), bind)
    }
}

impl fmt::Debug for Sm5Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm5Case { classes, seed, fused, way, .. } = self;
        let listing = self.shader().disassemble(0, ListingOptions { offsets: false, raw: false });
        writeln!(f, "seed {seed:#x}, fused {fused}, {way:?}, classes {classes:?}")?;
        f.write_str(&listing.unwrap_or_else(|error| error.to_string()))
    }
}

/// The state of generating one program.
struct Generator<'a, 'u> {
    u: &'a mut Unstructured<'u>,
    version: Version,
    /// What instructions can name.
    declared: Declared,
    /// The phases of a hull shader that are done, and what lies in front of them.
    phases: Vec<Instruction>,
    /// What is declared, as instructions.
    declarations: Vec<Instruction>,
    /// The code so far.
    code: Vec<Instruction>,
    /// Opcodes of which [`plain`](Self::plain) makes instructions.
    plain: Vec<Opcode>,
    /// Statements that may still come.
    budget: u32,
    /// Loops so far.
    loops: u32,
    /// Whether threads of a group wait for each other, so that all have to come to the main function's end.
    has_barriers: bool,
    /// Whether threads keep to memory of their own.
    own: bool,
    /// Whether what is chosen prepares an index, and so has none that is dynamic.
    preparing: bool,
    /// Subroutines that may be called where the code is: those behind the one it is in, so that none calls itself.
    callable: std::ops::Range<u32>,
    /// How many calls the function may still have.
    calls: u32,
}

impl<'a, 'u> Generator<'a, 'u> {
    fn new(u: &'a mut Unstructured<'u>, version: Version) -> Result<Self> {
        let budget = u.int_in_range(1..=MAX_STATEMENTS)?;
        let (phases, declarations, code, plain) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let declared = Declared::default();
        Ok(Generator {
            u,
            version,
            declared,
            phases,
            declarations,
            code,
            plain,
            budget,
            loops: 0,
            has_barriers: false,
            own: false,
            preparing: false,
            callable: 0..0,
            calls: 0,
        })
    }

    /// Declarations, the main function, the subroutines.
    fn program(&mut self) -> Result<()> {
        self.plain = self.arithmetic();
        let is_compute = self.version.stage == Stage::Compute;
        (self.has_barriers, self.own) = (is_compute && !self.one_in(4)?, is_compute && self.one_in(4)?);
        self.declare()?;
        if self.version.stage == Stage::Hull {
            return self.hull_phases();
        }
        self.main_function()?;
        self.subroutines()
    }

    /// True once in `n` times; false when there is nothing left to make choices from.
    fn one_in(&mut self, n: u8) -> Result<bool> {
        Ok(self.u.int_in_range(1..=n)? == n && n > 1)
    }

    /// Whether the version is at least this shader model.
    fn has_model(&self, major: u8, minor: u8) -> bool {
        (self.version.major, self.version.minor) >= (major, minor)
    }

    fn declare_as(&mut self, opcode: Opcode, declaration: Declaration) {
        let (token, body) = (OpcodeToken::new(opcode), Body::Declaration(declaration));
        self.declarations.push(Instruction { offset: 0, token, body });
    }

    /// Appends an instruction to the code.
    fn emit(&mut self, token: OpcodeToken, operands: Vec<Operand>) {
        self.emit_operation(token, Operation { extended: None, operands, padding: Box::default() });
    }

    fn emit_operation(&mut self, token: OpcodeToken, operation: Operation) {
        self.code.push(Instruction { offset: 0, token, body: Body::Operation(operation) });
    }
}

#[cfg(test)]
mod tests;
