//! The batch program: what native code does for a whole batch of invocations, written down before any machine is in
//! sight.
//!
//! A planner's decisions are instructions here, and a back end only selects machine instructions for them. The program
//! is a function in lockstep form, planned for one [`Layout`] of the caller's buffers, with what else a call does
//! beside it:
//!
//! * **Words.** `input` is a word of the caller's row as it is. Components that the row has in another form are
//!   arithmetic on `input_word`, those that it does not have are literals (`formats.rs`).
//! * [`copies`](Parts::copies): outputs that are an input passed on; no code is made for them (`copy.rs`), unless all
//!   else is made row by row.
//! * [`call`](Parts::call): the block of what is computed once a call, in front of all else, and kept by `call_store`
//!   for `call_load`; and the fills, which are there before (`call.rs`).
//! * **Slots.** `slot_store` keeps a value in memory of its wave, through loops (`spill.rs`) or from phase to phase,
//!   and `slot_load` has it again.
//! * [Phases](Parts::cut): the loops over the waves of a tile that a function is [cut](cut()) into, for
//!   speed (`overlap.rs`) or at barriers. Blocks of no phase are the tile's: they run once for all its waves.
//!   `worklist_push`, `worklist_any` and `worklist_enter` say which waves run what follows (`worklists.rs`).
//! * [**Groups**](Parts::waves_of_group): one wave may do what all waves of a thread group would, and take words of
//!   other lanes by `lane_pick` (`group/`).
//! * [**Vectors**](Parts::vectors): where a wave has several, what its lanes do is there once for each
//!   (`interleave.rs`).
//! * **Rows.** A value of type `row` made by `input_row`, `row_at`, `row_splat`, `row_each` or by arithmetic on such
//!   rows is held as an *array of structures*: for each lane one vector of four words. A **run**, which is as many
//!   instructions of that kind as follow each other, up to an `output_row`, is done for one lane after the other, all
//!   of the run before the next lane. `row_word` transposes: it gives one word of each lane's row. `rows/` finds what
//!   is cheaper that way.
//!
//! Text and parser are those of functions; [`BatchInterpreter`] runs a program.

mod addresses;
mod assigned;
mod call;
mod coalesce;
mod copy;
mod cost;
mod cut;
mod effects;
mod facts;
mod flow;
mod formats;
mod forward;
mod frame;
mod group;
mod interleave;
mod interp;
mod live;
mod outputs;
mod overlap;
mod phases;
mod plan;
mod powers;
mod records;
mod regions;
mod rewrite;
mod ring;
mod rows;
mod schedule;
mod spill;
mod split;
mod steps;
mod text;
mod threads;
mod verify;
mod weights;
mod width;
mod worklists;

pub use addresses::Addresses;
pub use call::{CallPart, Fill, Word};
pub use copy::Copy;
pub use cut::{CutError, CutLimits, Cuts, Phase, Phases, cut, required};
pub use facts::{Facts, Stream};
pub use frame::Frame;
pub use interp::BatchInterpreter;
pub use plan::{Pass, PlanError};
pub use steps::{LaneSteps, Steps};
pub(crate) use threads::fill_waves;
pub use width::{size, vectors};

use call::CallValues;

use crate::cfg::Blocks;
use crate::entity::{Block, Inst, Value};
use crate::fuel::EdgeCosts;
use crate::function::{Function, Imm, InstData};
use crate::op::Op;
use crate::packing::Packing;
use crate::set::EntitySet;
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::ops::Deref;

/// What the caller's buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How each input element is packed.
    pub inputs: Vec<Packing>,
    /// How many components are stored of each output element, 0 to 4.
    pub outputs: SmallVec<[u8; 16]>,
}

/// What planning may know of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Lanes of a vector register: 4, 8 or 16.
    pub lanes: u8,
    /// Vectors that a wave is to have, 1 or 2.
    pub vectors: u8,
    /// Vector registers.
    pub registers: u8,
    /// Whether it has [`Op::Fscale`] and [`Op::Flogcase`].
    pub has_powers: bool,
}

impl Machine {
    /// What every machine that code is made for has: 128 bits, and on x86-64 sixteen registers of them.
    pub const fn of_128_bits(vectors: u8) -> Machine {
        Machine { lanes: 4, vectors, registers: 16, has_powers: false }
    }

    /// Whether it certainly has [`Op::Fma`]: wide vectors come with it.
    const fn has_fma(self) -> bool {
        self.lanes > 4
    }

    /// Lanes of a wave.
    const fn wave(self) -> usize {
        self.lanes as usize * self.vectors as usize
    }
}

/// The most vectors of a wave.
const MAX_VECTORS: u8 = 2;

/// The most waves of a [tile](Parts::tile) in which some may go their own ways.
pub const TILE: usize = 16;

/// Invocations of a tile, where that is no more than [`TILE`] waves.
const TILE_INVOCATIONS: usize = 128;

/// Most invocations of a thread group, all of which are one tile where they wait for each other (Direct3D 11:
/// `D3D11_CS_THREAD_GROUP_MAX_THREADS_PER_GROUP`).
const GROUP_INVOCATIONS: usize = 1024;

/// What a program consists of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The function.
    pub func: Function,
    /// Reachable blocks but for the call's, each after its dominators, those of a phase in one piece. A wave begins
    /// with the first, or a tile.
    pub order: Blocks,
    /// What edges cost in fuel.
    pub costs: EdgeCosts,
    /// Values that are the same in all lanes.
    pub uniform: EntitySet<Value>,
    /// How often values are used.
    pub uses: SecondaryMap<Value, Uses>,
    /// Lanes of a vector.
    pub lanes: u8,
    /// Vectors of lanes that a wave has. Each instruction that makes or takes what differs among lanes is for
    /// [one](InstData::vector) of them.
    pub vectors: u8,
    /// How many waves of a thread group one wave does the work of: all that there are, or 1.
    pub waves_of_group: u32,
    /// For each output element of the layout, whether lanes are stored there, and not what is copied or set by rows.
    pub stored: Vec<bool>,
    /// Whether its loop does nothing but runs: a round is then a few vertices of no wave, and holds the call's rows in
    /// registers.
    pub by_rows: bool,
    /// Outputs that a call copies from an input.
    pub copies: Vec<Copy>,
    /// What a call does in front of the loop.
    pub call: CallPart,
    /// How many slots a wave has, each of one vector of lanes.
    pub slots: u32,
    /// How many slots the call has, each of 16 bytes.
    pub call_slots: u32,
    /// What a back end has to know of it as a whole.
    pub facts: Facts,
    /// What it is cut into: nothing, if it stays whole.
    pub cut: Phases,
    /// For each block, one more than the number of the phase that it is of; 0 for those of the tile.
    phase_of: SecondaryMap<Block, u32>,
}

/// A planned function, and what a call does beside it. It keeps the rules of the verifier, and cannot be changed.
#[derive(Clone, Debug)]
pub struct BatchProgram(Parts);

impl Parts {
    /// Whether anything uses a value.
    pub fn is_used(&self, value: Value) -> bool {
        self.uses[value].guards + self.uses[value].others > 0
    }

    /// Whether lanes are stored in an output element.
    pub fn is_stored(&self, output: u32) -> bool {
        self.stored.get(output as usize) == Some(&true)
    }

    /// Whether a row of an input is [passed on](Parts::passed_on) and nothing else: no register has to hold it.
    pub fn is_passed_on(&self, row: &InstData) -> bool {
        let user = row.result.and_then(|row| self.uses[row].only());
        user.is_some_and(|user| self.func.insts[user].op == Op::OutputRow)
    }

    /// The input whose row an instruction stores as it is.
    pub fn passed_on(&self, output: &InstData) -> Option<u32> {
        match *self.func.def_inst(output.args[0])? {
            InstData { op: Op::InputRow, imm: Imm::Stream(element), .. } => Some(element),
            _ => None,
        }
    }

    /// Lanes of a wave.
    pub fn wave(&self) -> usize {
        usize::from(self.lanes) * usize::from(self.vectors)
    }

    /// Waves of a tile: enough that beginning a loop costs little, few enough that what they keep stays close, and that
    /// phases do not read and write too much of the caller's at once: memory waits meanwhile for the phases between.
    pub fn tile(&self) -> usize {
        if self.is_group() {
            return GROUP_INVOCATIONS / self.wave();
        }
        (TILE_INVOCATIONS / self.wave()).min(TILE)
    }

    /// Whether a tile is a thread group, whose waves see what each other write, and go the same way.
    fn is_group(&self) -> bool {
        self.is_cut() && self.cut.worklists == 0 && self.func.writes_memory()
    }

    /// Whether a wave does what all waves of its group would.
    pub fn is_one_wave(&self) -> bool {
        self.waves_of_group > 1
    }

    /// Whether the function is cut into phases.
    pub fn is_cut(&self) -> bool {
        !self.cut.phases.is_empty()
    }

    /// The number of the phase that a block is of; none for blocks of the tile, and if the function stays whole.
    pub fn phase_of(&self, block: Block) -> Option<usize> {
        (self.phase_of[block] as usize).checked_sub(1)
    }
}

impl Deref for BatchProgram {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Deref for Parts {
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
    let (vector, mut is_over) = (insts.clone().next().map_or(0, |inst| inst.vector), false);
    // An output ends a run.
    let mut ends = |inst: &InstData| std::mem::replace(&mut is_over, inst.op == Op::OutputRow);
    insts.take_while(|inst| is_of_run(inst) && inst.vector == vector && !ends(inst)).count()
}

/// How many instructions behind a run take words of its rows.
pub fn words_behind(func: &Function, insts: &[Inst]) -> usize {
    insts.iter().take_while(|&&inst| func.insts[inst].op == Op::RowWord).count()
}
