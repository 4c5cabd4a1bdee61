//! Checks that a function keeps the rules of the IR. [`Rule`] is the list of all that is checked.
//!
//! The checks run in four stages, each relying on those before it: indices, structure, types and definitions, lockstep
//! form. A stage with an error is the last one. For what a back end is given, [`Verified`], there is a fifth: the back
//! end's form.

mod dominance;
mod lockstep;
mod structure;
mod types;
mod verified;

pub use verified::Verified;

use crate::entity::{Array, Block, Inst, Value};
use crate::function::Function;
use crate::print::Numbering;
use crate::set::EntitySet;
use std::fmt;
use thiserror::Error;

macro_rules! define_rules {
    ($( $(#[$doc:meta])* $name:ident $text:literal; )*) => {
        /// One property of a valid function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $( $(#[$doc])* $name, )* }

        impl Rule {
            /// Every rule, in the order of the list.
            pub const ALL: &'static [Rule] = &[$( Rule::$name, )*];
            /// The name that ends an error message.
            pub const fn name(self) -> &'static str { match self { $( Rule::$name => $text, )* } }
        }
    };
}

define_rules! {
    // ---- indices
    /// Every block, instruction and value that the layout, a block, an instruction or an edge names exists.
    Index "index";

    // ---- structure
    /// A block is in the layout once, and an instruction in one place of one block.
    Once "once";
    /// There is an entry block; it has no parameters and no predecessors.
    Entry "entry";
    /// Every block has a terminator.
    Terminator "terminator";
    /// Every edge leads to a block of the layout.
    Target "target";
    /// A register array has at least one element, of 1 to 4 components. Nothing is loaded from one that is kept.
    Array "array";

    // ---- types and definitions
    /// An edge gives as many values as its target has parameters, each of the parameter's type.
    EdgeArguments "edge-arguments";
    /// A `br_if` is on an `i1`, a `switch` on an `i32`.
    Selector "selector";
    /// The cases of a `switch` differ.
    Cases "cases";
    /// The type of an instruction is one that its op's table line allows.
    InstType "inst-type";
    /// An instruction has as many operands as its op's table line.
    OperandCount "operand-count";
    /// Each operand has the type of the table line: the instruction's, where the line names a set of types.
    OperandType "operand-type";
    /// An instruction has the immediate its op's table line names.
    ImmediateKind "immediate-kind";
    /// Immediates are in range: a literal fits its type, an input or output element is below the function's count, a
    /// space, resource, sampler or array exists, a component is below 4 or the array's count. A resource is bytes to
    /// ops on bytes, and to ops on textures a texture of a shape that they can access.
    Immediate "immediate";
    /// An instruction has a result exactly if its op has one, and of that type.
    Result "result";
    /// A value is defined once, by what its data says defines it.
    Definition "definition";
    /// A row is used only in the block that makes it, if it does not come from a slot of the call, and is no block's
    /// parameter.
    RowInBlock "row-in-block";
    /// The definition of a value comes before each use: earlier in the block, or in a block that dominates it. In a
    /// block that the entry does not reach, only the order within the block counts.
    Dominance "dominance";

    // ---- lockstep form
    /// Every branch of a function in lockstep form is on a [uniform](crate::uniform) value.
    UniformBranch "uniform-branch";
    /// `any` and `guard_ordered`, which are about all lanes, are only in functions in lockstep form.
    OpOfLockstep "op-of-lockstep";
    /// At most one block of a function in lockstep form returns: lanes end together.
    OneReturn "one-return";
    /// What a function in lockstep form writes to [memory](crate::memory) it writes under a mask that holds in active
    /// lanes alone, and it has no guards then: nothing that writes is run again.
    ActiveWrites "active-writes";
    /// A function in lockstep form sets outputs only in the block that returns, if it is no batch program.
    OutputAtReturn "output-at-return";

    // ---- the form that back ends take
    /// Instructions of a batch program are for vectors that its waves have. A phase is entered by its first block,
    /// which has no parameters, and left for one block; what it makes, no other uses. It is in one piece, behind the
    /// one block that leads there. What differs among lanes is made in phases. The call's block alone stores to slots
    /// of the call, and no other uses what it makes but for rows.
    Phase "phase";
    /// A function for a back end is in lockstep form, and its composite ops are expanded.
    BackEndForm "back-end-form";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {message} ({rule})")]
pub struct VerifyError {
    /// The rule.
    pub rule: Rule,
    /// Where: the block and the instruction or terminator, as printed.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// The rules a function breaks: at least one, at most [`VerifyErrors::MAX`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct VerifyErrors(pub Vec<VerifyError>);

impl VerifyErrors {
    /// No more errors than this are collected.
    pub const MAX: usize = 64;
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// Checks every [`Rule`]. Takes any data at all: never panics, never recurses.
///
/// ```
/// let mut b = shaderjit_ir::FunctionBuilder::new("f", 0, 1);
/// let zero = b.f32(0.0);
/// b.output(1, 0, zero);
/// b.ret();
/// let errors = shaderjit_ir::verify::verify(&b.finish()).unwrap_err();
/// assert_eq!(errors.to_string(), "block0: output.f32 1.0, v0: element 1 of 1 (immediate)");
/// ```
pub fn verify(func: &Function) -> Result<(), VerifyErrors> {
    Verifier::new(func).run()
}

/// What an error is about.
#[derive(Clone, Copy)]
enum Place {
    Function,
    Array(Array),
    Block(Block),
    Inst(Block, Inst),
    Terminator(Block),
}

struct Verifier<'f> {
    func: &'f Function,
    errors: Vec<VerifyError>,
    /// Made for the first error.
    numbering: Option<Numbering>,
    /// Whether the function is a [batch program](crate::batch).
    is_batch: bool,
    /// Whether each of its lanes is a thread of a group.
    fills_waves: bool,
    /// The uniform values, once a rule has asked for them.
    uniform: Option<EntitySet<Value>>,
    /// Whether it has instructions that the form of the function may forbid.
    has_ops_to_look_at: bool,
}

impl<'f> Verifier<'f> {
    fn new(func: &'f Function) -> Verifier<'f> {
        Verifier {
            func,
            errors: Vec::new(),
            numbering: None,
            is_batch: false,
            fills_waves: false,
            uniform: None,
            has_ops_to_look_at: false,
        }
    }

    fn run(&mut self) -> Result<(), VerifyErrors> {
        let stages = [Verifier::indices, Verifier::structure, Verifier::types_and_definitions, Verifier::lockstep];
        stages.into_iter().try_for_each(|stage| self.stage(stage))
    }

    fn stage(&mut self, stage: fn(&mut Self)) -> Result<(), VerifyErrors> {
        stage(self);
        if self.errors.is_empty() { Ok(()) } else { Err(VerifyErrors(std::mem::take(&mut self.errors))) }
    }

    #[cold]
    fn report(&mut self, rule: Rule, place: Place, message: String) {
        if self.errors.len() == VerifyErrors::MAX {
            return;
        }
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        let at = match place {
            Place::Function => "function".to_string(),
            Place::Array(array) => array.to_string(),
            Place::Block(block) => numbering.block(block).to_string(),
            Place::Inst(block, inst) => {
                format!("{}: {}", numbering.block(block), numbering.inst_text(&func.insts[inst]))
            }
            Place::Terminator(block) => match &func.blocks[block].terminator {
                Some(terminator) => {
                    format!("{}: {}", numbering.block(block), numbering.terminator_text(terminator))
                }
                None => numbering.block(block).to_string(),
            },
        };
        self.errors.push(VerifyError { rule, at, message });
    }

    /// What `value` is called and what type it has.
    fn typed(&mut self, value: Value) -> String {
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        format!("{} is {}", numbering.value(value), func.ty(value))
    }
}

#[cfg(test)]
mod tests;
