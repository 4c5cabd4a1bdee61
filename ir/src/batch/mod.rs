//! The batch program: what native code does for a whole batch of invocations, written down before any machine is in
//! sight.
//!
//! A planner's decisions are instructions here, and a back end only selects machine instructions for them. The program
//! is a function in lockstep form, planned for one [`Layout`] of the caller's buffers, with what else a call does
//! beside it:
//!
//! * [`copies`](BatchProgram::copies): outputs that are an input passed on; no code is made for them (`copy.rs`).
//! * [`call_values`](BatchProgram::call_values): what is computed once a call (`call.rs`).
//! * [`slots`](BatchProgram::slots): values that are kept in memory, through loops or from phase to phase (`spill.rs`).
//! * [`phases`](BatchProgram::phases): the loops over the waves of a tile that a long function is cut into
//!   (`phases.rs`), and the [worklists](BatchProgram::worklists) of the waves that run them.
//! * **Rows.** A value of type `row` made by `input_row`, `row_at`, `row_splat`, `row_each` or by arithmetic on such
//!   rows is held as an *array of structures*: for each lane one vector of four words. A **run**, which is as many
//!   instructions of that kind as follow each other, up to an `output_row`, is done for one lane after the other, all
//!   of the run before the next lane. `row_word` transposes: it gives one word of each lane's row. `rows/` finds what
//!   is cheaper that way.
//!
//! Text and parser are those of functions; [`BatchInterpreter`] runs a program.

mod call;
mod copy;
mod flow;
mod frame;
mod graph;
mod interp;
mod phases;
mod records;
mod rows;
mod spill;
mod uses;
mod width;
mod worklists;

use phases::Cut;

pub use call::{CallRow, CallValues, Splat, Word};
pub use copy::Copy;
pub use flow::passed;
pub use frame::Frame;
pub use interp::BatchInterpreter;
pub use phases::{Phase, TILE};
pub use spill::{Slot, Slots};
pub use uses::Uses;
pub use width::{size, vectors};
pub use worklists::{Split, Worklists};

use crate::cfg;
use crate::entity::{Block, Inst, Value};
use crate::fuel::EdgeCosts;
use crate::function::{Function, Imm, InstData, Terminator};
use crate::loops::Loops;
use crate::op::Op;
use crate::print::Numbering;
use crate::uniform::uniform_values;
use crate::verify::{Verified, VerifyErrors};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::fmt;
use std::ops::{Deref, Range};

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

/// What planning may know of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Vectors of four lanes that a value has, 1 or 2.
    pub vectors: u8,
    /// Vector registers.
    pub registers: u8,
}

/// The most rows of the call's values that a loop of nothing but runs may hold in registers.
const HELD_ROWS: usize = 8;

/// A planned function, and what a call does beside it. It keeps the rules of the verifier.
#[derive(Clone, Debug)]
pub struct BatchProgram {
    func: Function,
    order: Vec<Block>,
    loops: Loops,
    costs: EdgeCosts,
    uniform: EntitySet<Value>,
    uses: SecondaryMap<Value, Uses>,
    machine: Machine,
    /// For each output element of the layout, whether lanes are stored there, and not what is copied or set by rows.
    stored: Vec<bool>,
    by_rows: bool,
    copies: Vec<Copy>,
    call_values: CallValues,
    slots: Slots,
    phases: Vec<Phase>,
    worklists: Worklists,
}

impl BatchProgram {
    /// Plans a function for a layout and a machine.
    ///
    /// # Errors
    /// [`VerifyErrors`] if planning has a defect: the program breaks a rule.
    pub fn plan(func: &Verified, layout: &Layout, machine: Machine) -> Result<BatchProgram, VerifyErrors> {
        let mut program = BatchProgram::begin(Function::clone(func), &layout.outputs, machine);
        let BatchProgram { func, order, uniform, uses, copies, call_values, .. } = &mut program;
        let outputs = returning_block(func, order).map(|block| (block, outputs_of(func, layout, block)));
        *copies = outputs.as_ref().map_or_else(Vec::new, |(_, outputs)| copy::find(func, layout, outputs));
        let is_changed = remove_outputs(func, |element| {
            let is_left_out = layout.outputs.get(element as usize).is_none_or(|&stored| stored == 0);
            is_left_out || copies.iter().any(|copy| copy.output == element)
        });
        let found = rows::Finder::new(func, layout, order, uniform, uses, call_values).find(outputs.as_ref(), copies);
        if !found.is_empty() {
            found.write(func);
            *uniform = uniform_values(func);
        }
        if is_changed || !found.is_empty() {
            *uses = Uses::count(func, order);
        }
        program.finish()
    }

    /// Takes a function as it is, which may have the ops of batch programs, for rows of four words in and out.
    ///
    /// # Errors
    /// The rules of the verifier that it breaks, those of batch programs among them.
    pub fn of(func: Function, machine: Machine) -> Result<BatchProgram, VerifyErrors> {
        let func = Verified::batch(func)?;
        let outputs = vec![4; func.outputs as usize];
        BatchProgram::begin(func, &outputs, machine).finish()
    }

    /// A valid function, and what is known of it as it came: what waves pay is what that says.
    fn begin(func: Function, outputs: &[u8], machine: Machine) -> BatchProgram {
        let (order, costs) = (cfg::reverse_postorder(&func), EdgeCosts::new(&func));
        let (uniform, uses) = (uniform_values(&func), Uses::count(&func, &order));
        let call_values = CallValues::find(&func, &order, &uniform);
        let loops = Loops::find(&func, &order);
        BatchProgram {
            func,
            order,
            loops,
            costs,
            uniform,
            uses,
            machine,
            stored: outputs.iter().map(|&stored| stored > 0).collect(),
            by_rows: false,
            copies: Vec::new(),
            call_values,
            slots: Slots::default(),
            phases: Vec::new(),
            worklists: Worklists::default(),
        }
    }

    /// Decides, of the function as it is now, what lies in memory, and where it is cut.
    fn finish(mut self) -> Result<BatchProgram, VerifyErrors> {
        self.func = Verified::batch(self.func)?;
        self.call_values.place(&self.func, &self.order);
        self.copies.iter().for_each(|copy| self.stored[copy.output as usize] = false);
        for inst in self.func.layout.iter().flat_map(|&block| &self.func.blocks[block].insts) {
            if let Imm::Stream(element) = self.func.insts[*inst].imm
                && self.func.insts[*inst].op == Op::OutputRow
            {
                self.stored[element as usize] = false;
            }
        }
        self.by_rows = self.is_only_runs();
        self.slots = Slots::find(&self);
        if let Some(Cut { phases, worklists, slots }) = phases::find(&self) {
            (self.phases, self.worklists, self.slots) = (phases, worklists, slots);
        }
        Ok(self)
    }

    /// Whether nothing is computed lane by lane, and the rows that runs share fit registers. Outputs that the function
    /// never sets are computed: they are stored as zero.
    fn is_only_runs(&self) -> bool {
        let [block] = self.order[..] else { return false };
        let mut insts = self.func.blocks[block].insts.iter().map(|&inst| &self.func.insts[inst]);
        !self.stored.contains(&true)
            && self.call_values.rows().count() <= HELD_ROWS
            && insts.all(|inst| self.is_made_elsewhere(inst) || is_of_run(inst) || inst.op == Op::RowJoin)
    }

    /// Whether no code in the loop does what an instruction does for lanes.
    pub fn is_made_elsewhere(&self, inst: &InstData) -> bool {
        match (inst.op, inst.imm) {
            (Op::Const, _) => true,
            (Op::Output, Imm::Element { element, .. }) => !self.is_stored(element),
            (Op::Input, _) => inst.result.is_none_or(|result| !self.is_used(result)),
            _ => inst.result.is_some_and(|result| self.call_values.contains(result)),
        }
    }

    /// Whether anything uses a value.
    pub fn is_used(&self, value: Value) -> bool {
        self.uses[value].guards + self.uses[value].others > 0
    }

    /// Whether lanes are stored in an output element.
    pub fn is_stored(&self, output: u32) -> bool {
        self.stored.get(output as usize) == Some(&true)
    }

    /// Whether its loop does nothing but runs: a round is then a few vertices of no wave, and holds the call's rows in
    /// registers.
    pub fn is_by_rows(&self) -> bool {
        self.by_rows
    }

    /// Vectors that a value has.
    pub fn vectors(&self) -> usize {
        usize::from(self.machine.vectors)
    }

    /// Values that are kept in memory: through loops, or from phase to phase if the function is cut.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The loops over the waves of a tile, those of a block after those of the blocks before it. None if the function
    /// stays whole.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The phases of a block, by its number in reverse postorder.
    pub fn phases_of(&self, block: usize) -> Range<usize> {
        let [first, end] = [block, block + 1].map(|end| self.phases.partition_point(|phase| phase.block < end));
        first..end
    }

    /// Which waves of a tile run which blocks.
    pub fn worklists(&self) -> &Worklists {
        &self.worklists
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Reachable blocks in reverse postorder: each after its dominators.
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// Its loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
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
        for (number, Phase { block, insts }) in self.phases.iter().enumerate() {
            let name = numbering.block(self.order[*block]);
            write!(f, "; phase {number}: instructions {} to {} of {name}", insts.start, insts.end)?;
            match self.worklists.of(*block) {
                Some(worklist) => writeln!(f, ", waves of worklist {worklist}")?,
                None => writeln!(f, ", all waves")?,
            }
        }
        for (number, &block) in self.order.iter().enumerate() {
            if let Some(Split { mask, worklist, .. }) = self.worklists.split(number) {
                let (name, mask) = (numbering.block(block), numbering.value(mask));
                writeln!(f, "; {name}: waves with any lane of {mask} go on in worklist {worklist}")?;
            }
        }
        let (from, record) = if self.phases.is_empty() { ("block", "frame") } else { ("phase", "record") };
        for value in self.func.values.keys() {
            if let Some(Slot { place, from: number }) = self.slots.of(value) {
                let name = numbering.value(value);
                writeln!(
                    f,
                    "; {name} is kept at vector {place} of the {record}, and used from there from {from} {number} on"
                )?;
            }
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
