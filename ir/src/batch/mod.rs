//! The batch program: what native code does for a whole batch of invocations, written down before any machine is in
//! sight.
//!
//! A planner's decisions are instructions here, and a back end only selects machine instructions for them. The program
//! is a function in lockstep form, planned for one [`Layout`] of the caller's buffers, with what else a call does
//! beside it:
//!
//! * [`copies`](BatchProgram::copies): outputs that are an input passed on; no code is made for them ([`mod@copy`]).
//! * [`call_values`](BatchProgram::call_values): what is computed once a call ([`call`]).
//! * **Rows.** A value of type `row` made by `input_row`, `row_at`, `row_splat`, `row_each` or by arithmetic on such
//!   rows is held as an *array of structures*: for each lane one vector of four words. A **run**, which is as many
//!   instructions of that kind as follow each other, up to an `output_row`, is done for one lane after the other, all
//!   of the run before the next lane. `row_word` transposes: it gives one word of each lane's row. [`rows`] finds what
//!   is cheaper that way.
//!
//! Text and parser are those of functions; [`BatchInterpreter`] runs a program.

mod call;
mod copy;
mod interp;
mod rows;
mod uses;

pub use call::{CallRow, CallValues, Splat, Word};
pub use copy::Copy;
pub use interp::BatchInterpreter;
pub use uses::Uses;

use crate::cfg;
use crate::entity::{Block, Inst, Value};
use crate::fuel::EdgeCosts;
use crate::function::{Function, Imm, InstData, Terminator};
use crate::op::Op;
use crate::print::Numbering;
use crate::uniform::uniform_values;
use crate::verify::{Verified, VerifyErrors};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::fmt;
use std::ops::Deref;

/// Rows of a uniform space that loads with a fixed row may read without a check, because a call is given at least that
/// many readable rows. Fixed rows past it are checked like computed ones.
pub const STATIC_ROWS: u32 = 4096;

/// How an input element lies in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputFormat {
    /// How many whole words it has that are taken as they are; 0 if its components are converted.
    pub words: u8,
    /// What the components behind those are.
    pub defaults: [u32; 4],
}

impl InputFormat {
    /// So many words, and the defaults of floats: 0, 0, 0, 1.
    pub const fn words(words: u8) -> InputFormat {
        InputFormat { words, defaults: [0, 0, 0, 1f32.to_bits()] }
    }
}

/// What the caller's buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Each input element.
    pub inputs: Vec<InputFormat>,
    /// How many components are stored of each output element, 0 to 4.
    pub outputs: Vec<u8>,
}

/// A planned function, and what a call does beside it. It keeps the rules of the verifier.
#[derive(Clone, Debug)]
pub struct BatchProgram {
    func: Function,
    order: Vec<Block>,
    costs: EdgeCosts,
    uniform: EntitySet<Value>,
    uses: SecondaryMap<Value, Uses>,
    copies: Vec<Copy>,
    call_values: CallValues,
}

impl BatchProgram {
    /// Plans a function for a layout.
    ///
    /// # Errors
    /// [`VerifyErrors`] if planning has a defect: the program breaks a rule.
    pub fn plan(func: &Verified, layout: &Layout) -> Result<BatchProgram, VerifyErrors> {
        let mut func = Function::clone(func);
        // What waves pay, the function as it came says.
        let (order, costs) = (cfg::reverse_postorder(&func), EdgeCosts::new(&func));
        let (mut uniform, mut uses) = (uniform_values(&func), Uses::count(&func, &order));
        let mut call_values = CallValues::find(&func, &order, &uniform);
        let outputs = returning_block(&func, &order).map(|block| (block, outputs_of(&func, layout, block)));
        let copies = outputs.as_ref().map_or_else(Vec::new, |(_, outputs)| copy::find(&func, layout, outputs));
        let is_changed = remove_outputs(&mut func, |element| {
            let is_left_out = layout.outputs.get(element as usize).is_none_or(|&stored| stored == 0);
            is_left_out || copies.iter().any(|copy| copy.output == element)
        });
        let finder = rows::Finder::new(&func, layout, &order, &uniform, &uses, &call_values);
        let found = finder.find(outputs.as_ref(), &copies);
        if !found.is_empty() {
            found.write(&mut func);
            uniform = uniform_values(&func);
        }
        if is_changed || !found.is_empty() {
            uses = Uses::count(&func, &order);
        }
        call_values.place(&func, &order);
        Ok(BatchProgram { func: Verified::batch(func)?, order, costs, uniform, uses, copies, call_values })
    }

    /// Takes a function as it is, which may have the ops of batch programs.
    ///
    /// # Errors
    /// The rules of the verifier that it breaks, those of batch programs among them.
    pub fn of(func: Function) -> Result<BatchProgram, VerifyErrors> {
        let func = Verified::batch(func)?;
        let (order, costs) = (cfg::reverse_postorder(&func), EdgeCosts::new(&func));
        let (uniform, uses) = (uniform_values(&func), Uses::count(&func, &order));
        let mut call_values = CallValues::find(&func, &order, &uniform);
        call_values.place(&func, &order);
        Ok(BatchProgram { func, order, costs, uniform, uses, copies: Vec::new(), call_values })
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Reachable blocks in reverse postorder: each after its dominators.
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// What edges cost in fuel.
    pub fn costs(&self) -> &EdgeCosts {
        &self.costs
    }

    /// Values that are the same in all lanes.
    pub fn uniform(&self) -> &EntitySet<Value> {
        &self.uniform
    }

    /// How often values are used.
    pub fn uses(&self) -> &SecondaryMap<Value, Uses> {
        &self.uses
    }

    /// Outputs that a call copies from an input.
    pub fn copies(&self) -> &[Copy] {
        &self.copies
    }

    /// What is computed once a call.
    pub fn call_values(&self) -> &CallValues {
        &self.call_values
    }
}

/// The function's text, which reads back; above it, as comments, what a call does beside it.
impl fmt::Display for BatchProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Copy { output, input } in &self.copies {
            writeln!(f, "; the call copies input {input} to output {output}")?;
        }
        let numbering = Numbering::new(&self.func);
        for &Splat { place, space, row, component } in self.call_values.splats() {
            writeln!(f, "; slot {place}: the call puts space{space}[{row}].{component} into all lanes")?;
        }
        for (place, value) in self.call_values.stored() {
            writeln!(f, "; slot {place}: {}, computed once a call", numbering.value(value))?;
        }
        for (place, value, row) in self.call_values.rows() {
            let by = if let CallRow::Call(_) = row { "filled in by the call" } else { "computed once a call" };
            writeln!(f, "; slot {place}: {}, {by}", numbering.value(value))?;
        }
        self.func.fmt(f)
    }
}

impl Deref for BatchProgram {
    type Target = Function;

    fn deref(&self) -> &Function {
        &self.func
    }
}

/// Whether an instruction is one of those of which [runs](self) are made.
pub fn is_of_run(inst: &InstData) -> bool {
    inst.op.is_of_batch(inst.ty)
}

/// How many of these instructions, from the first one on, are one [run](self).
pub fn run_length(func: &Function, insts: &[Inst]) -> usize {
    let insts = insts.iter().map(|&inst| &func.insts[inst]);
    let length = insts.clone().take_while(|inst| is_of_run(inst)).count();
    // An output ends a run.
    insts.take(length).position(|inst| inst.op == Op::OutputRow).map_or(length, |at| at + 1)
}

/// How many instructions behind a run take words of its rows.
pub fn words_behind(func: &Function, insts: &[Inst]) -> usize {
    insts.iter().take_while(|&&inst| func.insts[inst].op == Op::RowWord).count()
}

/// The values that a block sets an output element's components to.
type Components = [Option<Value>; 4];

/// Removes the instructions that set such output elements, and says whether there are any.
fn remove_outputs(func: &mut Function, is_removed: impl Fn(u32) -> bool) -> bool {
    let (insts, mut any) = (&func.insts, false);
    for &block in &func.layout {
        func.blocks[block].insts.retain(|&inst| match (insts[inst].op, insts[inst].imm) {
            (Op::Output, Imm::Element { element, .. }) if is_removed(element) => {
                any = true;
                false
            }
            _ => true,
        });
    }
    any
}

/// The one block that returns, if there is only one.
fn returning_block(func: &Function, order: &[Block]) -> Option<Block> {
    let mut returning = order.iter().copied().filter(|&block| *func.blocks[block].terminator() == Terminator::Return);
    returning.next().filter(|_| returning.next().is_none())
}

/// For each output element of the layout, the values that a block sets its components to.
fn outputs_of(func: &Function, layout: &Layout, block: Block) -> Vec<Components> {
    let mut outputs = vec![[None; 4]; layout.outputs.len()];
    for data in func.blocks[block].insts.iter().map(|&inst| &func.insts[inst]) {
        if let (Op::Output, Imm::Element { element, component }) = (data.op, data.imm)
            && let Some(components) = outputs.get_mut(element as usize)
        {
            components[usize::from(component)] = Some(data.args[0]);
        }
    }
    outputs
}
