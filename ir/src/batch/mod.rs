//! The batch program: what native code does for a whole batch of invocations, written down before any machine is in
//! sight.
//!
//! A planner's decisions are instructions here, and a back end only selects machine instructions for them. The program
//! is a function in lockstep form, planned for one [`Layout`] of the caller's buffers, with what else a call does
//! beside it:
//!
//! * **Words.** `input` is a word of the caller's row as it is. Components that the row has in another form are
//!   arithmetic on `input_word`, those that it does not have are literals (`formats.rs`).
//! * [`copies`](BatchProgram::copies): outputs that are an input passed on; no code is made for them (`copy.rs`).
//! * [`call_block`](BatchProgram::call_block): what is computed once a call, in front of all else, and kept by
//!   `call_store` for `call_load`; and the [`fills`](BatchProgram::fills), which are there before (`call.rs`).
//! * **Slots.** `slot_store` keeps a value in memory of its wave, through loops (`spill.rs`) or from phase to phase, and
//!   `slot_load` has it again.
//! * [`phases`](BatchProgram::phases): the loops over the waves of a tile that a function is [cut](cut()) into, for speed
//!   (`overlap.rs`) or at barriers. Blocks of no phase are the tile's: they run once for all its waves.
//!   `worklist_push`, `worklist_any` and `worklist_enter` say which waves run what follows (`worklists.rs`).
//! * **Rows.** A value of type `row` made by `input_row`, `row_at`, `row_splat`, `row_each` or by arithmetic on such
//!   rows is held as an *array of structures*: for each lane one vector of four words. A **run**, which is as many
//!   instructions of that kind as follow each other, up to an `output_row`, is done for one lane after the other, all
//!   of the run before the next lane. `row_word` transposes: it gives one word of each lane's row. `rows/` finds what
//!   is cheaper that way.
//!
//! Text and parser are those of functions; [`BatchInterpreter`] runs a program.

mod call;
mod copy;
mod cut;
mod facts;
mod flow;
mod formats;
mod frame;
mod graph;
mod interp;
mod outputs;
mod overlap;
mod phases;
mod records;
mod regions;
mod rewrite;
mod rows;
mod spill;
mod split;
mod text;
mod uses;
mod verify;
mod width;
mod worklists;

pub use call::{Fill, Word};
pub use copy::Copy;
pub use cut::{CutError, CutLimits, Cuts, Phase, Phases, cut, required};
pub use facts::{Facts, STATIC_ROWS, Stream, last_row, static_rows};
pub use frame::Frame;
pub use interp::BatchInterpreter;
pub use uses::Uses;
pub use width::{size, vectors};

use call::{CallPart, CallValues};

use crate::cfg;
use crate::entity::{Block, Inst, Value};
use crate::fuel::EdgeCosts;
use crate::function::{Function, Imm, InstData};
use crate::loops::Loops;
use crate::op::{Memory, Op, SLOTS};
use crate::packing::{NumericKind, Packing};
use crate::parse::ParseError;
use crate::uniform::uniform_values;
use crate::verify::{Verified, VerifyErrors};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::ops::Deref;
use thiserror::Error;

/// What the caller's buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How each input element is packed.
    pub inputs: Vec<Packing>,
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

/// Waves of a tile: enough that beginning a loop costs little, few enough that what they keep stays close.
pub const TILE: usize = 16;

/// The most bytes that a wave keeps where it is cut for speed. Where more goes on than that, memory is slower than what
/// there is to wait for.
const RECORD_BYTES: u32 = 4096;

/// A function of more blocks is not cut: what cutting takes grows faster than they do.
const CUT_BLOCKS: usize = 1024;

/// The most rows of the call's values that a loop of nothing but runs may hold in registers.
const HELD_ROWS: usize = 8;

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The text is no program.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It breaks rules.
    #[error(transparent)]
    Verify(#[from] VerifyErrors),
    /// It has barriers, and cannot be cut there.
    #[error("the function cannot be cut at its barriers: {0}")]
    Cut(#[from] CutError),
}

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
    call: CallPart,
    /// How many slots the call has, and a wave.
    slots: [u32; 2],
    facts: Facts,
    phases: Phases,
    /// For each block, one more than the number of the phase that it is of; 0 for those of the tile.
    phase_of: SecondaryMap<Block, u32>,
}

impl BatchProgram {
    /// Plans a function for a layout and a machine.
    ///
    /// # Errors
    /// [`VerifyErrors`] if planning has a defect: the program breaks a rule.
    pub fn plan(func: &Verified, layout: &Layout, machine: Machine) -> Result<BatchProgram, VerifyErrors> {
        let (costs, mut func) = (EdgeCosts::new(func), Function::clone(func));
        outputs::remove(&mut func, |element| layout.outputs.get(element as usize).is_none_or(|&stored| stored == 0));
        formats::write(&mut func, layout);
        let mut program = BatchProgram::begin(func, costs, &layout.outputs, machine);
        let BatchProgram { func, order, uniform, uses, copies, call_values, .. } = &mut program;
        let outputs =
            outputs::returning_block(func, order).map(|block| (block, outputs::of_block(func, layout, block)));
        *copies = outputs.as_ref().map_or_else(Vec::new, |(_, outputs)| copy::find(func, layout, outputs));
        let is_changed = outputs::remove(func, |element| copies.iter().any(|copy| copy.output == element));
        let found = rows::Finder::new(func, layout, order, uniform, uses, call_values).find(outputs.as_ref(), copies);
        if !found.is_empty() {
            found.write(func);
            *uniform = uniform_values(func);
        }
        if is_changed || !found.is_empty() {
            *uses = Uses::count(func, order);
            remove_unused_inputs(func, uses);
        }
        program.finish(layout)
    }

    /// Takes a function as it is, which may have the ops of batch programs, for rows of four words in and out, and cuts
    /// it where it has barriers.
    ///
    /// # Errors
    /// The rules of the verifier that it breaks, those of batch programs among them, or why it cannot be cut.
    pub fn of(func: Function, machine: Machine) -> Result<BatchProgram, PlanError> {
        let func = Verified::batch(func)?;
        let words = Packing::new(NumericKind::Uint, &[32, 32, 32, 32]);
        let layout = Layout { inputs: vec![words; func.inputs as usize], outputs: vec![4; func.outputs as usize] };
        let costs = EdgeCosts::new(&func);
        let mut program = BatchProgram::begin(func, costs, &layout.outputs, machine);
        if required(&program.func).inside.is_empty() {
            return Ok(program.finish(&layout)?);
        }
        program.note_stored();
        outputs::complete(&mut program.func, &program.order, &layout, &program.stored);
        let cuts = required(&program.func);
        program.phases =
            cut(&mut program.func, &mut program.costs, &cuts, CutLimits { blocks: CUT_BLOCKS, slots: SLOTS })?;
        program.order.clone_from(&program.func.layout);
        program.hoist();
        Ok(program.checked()?)
    }

    /// A program in its parts, as they are read from text.
    fn of_parts(func: Function, machine: Machine, parts: text::Parts) -> Result<BatchProgram, VerifyErrors> {
        let func = Verified::batch(func)?;
        let outputs = vec![4; func.outputs as usize];
        let text::Parts { copies, phases, costs, call } = parts;
        let program = BatchProgram::begin(func, costs, &outputs, machine);
        let mut program = BatchProgram { copies, phases, call, ..program };
        program.note_stored();
        program.order.clone_from(&program.func.layout);
        program.order.retain(|&block| program.call.block != Some(block));
        program.checked()
    }

    /// A valid function, and what is known of it. What waves pay is what it costs in the form it came in.
    fn begin(func: Function, costs: EdgeCosts, outputs: &[u8], machine: Machine) -> BatchProgram {
        let order = cfg::reverse_postorder(&func);
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
            call: CallPart::default(),
            slots: [0; 2],
            facts: Facts::default(),
            phases: Phases::default(),
            phase_of: SecondaryMap::new(),
        }
    }

    /// Notes that what is copied or set by rows is not stored by lanes.
    fn note_stored(&mut self) {
        self.copies.iter().for_each(|copy| self.stored[copy.output as usize] = false);
        for inst in self.func.layout.iter().flat_map(|&block| &self.func.blocks[block].insts) {
            if let Imm::Stream(element) = self.func.insts[*inst].imm
                && self.func.insts[*inst].op == Op::OutputRow
            {
                self.stored[element as usize] = false;
            }
        }
    }

    /// Decides, of the function as it is now, what lies in memory, and where it is cut.
    fn finish(mut self, layout: &Layout) -> Result<BatchProgram, VerifyErrors> {
        self.note_stored();
        self.by_rows = self.is_only_runs();
        if !self.by_rows {
            outputs::complete(&mut self.func, &self.order, layout, &self.stored);
        }
        if !self.overlap() {
            let BatchProgram { func, order, loops, uniform, machine, .. } = &mut self;
            spill::spill(func, order, loops, uniform, *machine);
        }
        self.hoist();
        self.checked()
    }

    /// Moves what is computed once a call in front of the loop.
    fn hoist(&mut self) {
        let BatchProgram { func, order, call_values, machine, by_rows, .. } = self;
        self.call = call::hoist(func, order, call_values, machine.vectors, *by_rows);
    }

    /// Cuts the function for speed, if it is worth it and possible.
    fn overlap(&mut self) -> bool {
        let Some(cuts) = overlap::find(self) else { return false };
        let (mut func, mut costs) = (self.func.clone(), self.costs.clone());
        let slots = RECORD_BYTES / 16 / u32::from(self.machine.vectors);
        let phases = cut(&mut func, &mut costs, &cuts, CutLimits { blocks: CUT_BLOCKS, slots });
        let Some(phases) = phases.ok().filter(|phases| phases.phases.len() > 1) else { return false };
        (self.func, self.costs, self.phases) = (func, costs, phases);
        self.order.clone_from(&self.func.layout);
        true
    }

    /// The finished program, checked, with what is known of it now.
    fn checked(mut self) -> Result<BatchProgram, VerifyErrors> {
        for (number, phase) in (1..).zip(&self.phases.phases) {
            phase.blocks.iter().for_each(|&block| self.phase_of[block] = number);
        }
        self.func = Verified::batch(self.func)?;
        self.uniform = uniform_values(&self.func);
        verify::phases(&self)?;
        self.uses = Uses::count(&self.func, &self.func.layout);
        self.by_rows = self.is_by_rows_alone();
        self.slots = [Memory::Call, Memory::Slot].map(|memory| self.func.slots(memory));
        self.facts = Facts::of(&self);
        Ok(self)
    }

    /// Whether nothing is computed lane by lane, and the rows that runs share fit registers. Outputs that the function
    /// never sets are computed: they are stored as zero.
    fn is_only_runs(&self) -> bool {
        let [block] = self.order[..] else { return false };
        let mut insts = self.func.blocks[block].insts.iter().map(|&inst| &self.func.insts[inst]);
        !self.stored.contains(&true)
            && self.call_values.rows(&self.func, &self.order).len() <= HELD_ROWS
            && insts.all(|inst| self.is_made_elsewhere(inst) || is_of_run(inst) || inst.op == Op::RowJoin)
    }

    /// The same of the finished program: the call's block holds the rows then.
    fn is_by_rows_alone(&self) -> bool {
        let [block] = self.order[..] else { return false };
        let mut insts = self.func.blocks[block].insts.iter().map(|&inst| &self.func.insts[inst]);
        !self.stored.contains(&true)
            && insts
                .all(|inst| inst.op != Op::CallLoad && is_of_run(inst) || matches!(inst.op, Op::Const | Op::RowJoin))
    }

    /// Whether no code in the loop does what an instruction does for lanes.
    fn is_made_elsewhere(&self, inst: &InstData) -> bool {
        match (inst.op, inst.imm) {
            (Op::Const, _) => true,
            (Op::Output, Imm::Element { element, .. }) => !self.is_stored(element),
            (Op::Input | Op::InputWord, _) => inst.result.is_none_or(|result| !self.is_used(result)),
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

    /// How many slots a wave has, each of one vector of lanes for each that a value has.
    pub fn slots(&self) -> u32 {
        self.slots[1]
    }

    /// How many slots the call has, each of 16 bytes.
    pub fn call_slots(&self) -> u32 {
        let filled = self.fills().iter().map(|fill| fill.slot + 1);
        filled.fold(self.slots[0], u32::max)
    }

    /// What a call puts into its slots before any code runs.
    pub fn fills(&self) -> &[Fill] {
        &self.call.fills
    }

    /// The block that runs once a call, in front of all else. What it makes, no other block uses, but for the rows that
    /// a loop holds.
    pub fn call_block(&self) -> Option<Block> {
        self.call.block
    }

    /// Where a wave begins, or a tile.
    pub fn start(&self) -> Block {
        self.order[0]
    }

    /// The loops over the waves of a tile, in order. None if the function stays whole.
    pub fn phases(&self) -> &[Phase] {
        &self.phases.phases
    }

    /// Whether the function is cut into phases.
    pub fn is_cut(&self) -> bool {
        !self.phases.phases.is_empty()
    }

    /// The number of the phase that a block is of; none for blocks of the tile, and if the function stays whole.
    pub fn phase_of(&self, block: Block) -> Option<usize> {
        (self.phase_of[block] as usize).checked_sub(1)
    }

    /// How many worklists a tile has.
    pub fn worklists(&self) -> u32 {
        self.phases.worklists
    }

    /// The worklist of the waves that come to a block of the tile; none if that is all.
    pub fn comes(&self, block: Block) -> Option<u32> {
        self.phases.comes[block]
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Reachable blocks but for the call's, each after its dominators, those of a phase in one piece.
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

    /// What a back end has to know of it as a whole.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Outputs that a call copies from an input.
    pub fn copies(&self) -> &[Copy] {
        &self.copies
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
    inst.op.is_of_run(inst.ty)
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

/// Removes the inputs that nothing uses: those of outputs that are copied.
fn remove_unused_inputs(func: &mut Function, uses: &SecondaryMap<Value, Uses>) {
    let insts = &func.insts;
    let is_used = |value: Value| uses[value].guards + uses[value].others > 0;
    for &block in &func.layout {
        let data = &mut func.blocks[block];
        data.insts.retain(|&inst| {
            let InstData { op, result, .. } = insts[inst];
            !matches!(op, Op::Input | Op::InputWord) || result.is_none_or(is_used)
        });
    }
}
