//! The reference: runs a function on L lanes at once, plainly. What an op computes is in [`crate::eval`] and, for
//! doubles, in [`crate::double`].
//!
//! Scalar code runs with `L = 1`; lockstep code with any L, and then every lane must want the same branch.

mod step;
mod values;

use crate::entity::{Array, Block, Inst, Value};
use crate::eval::Lanes;
use crate::fuel::{EdgeCosts, Fuel, Meter, Stop};
use crate::function::{BlockCall, Function, Terminator};
use crate::op::{Op, WORKLISTS};
use crate::texture::Textures;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use thiserror::Error;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InterpError {
    /// There was no more fuel, or the call was to end.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// Lanes want different branches: the function is not in lockstep form.
    #[error("lanes disagree at the end of {block}")]
    Divergent {
        /// Where.
        block: Block,
    },
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct InterpOptions<'a> {
    /// What edges that go backwards are paid with: each run is a wave.
    pub fuel: Fuel<'a>,
    /// Whether `fmad` rounds once.
    pub fused: bool,
}

/// What L invocations see.
#[derive(Clone, Copy, Debug)]
pub struct Bindings<'a, const L: usize> {
    /// One entry an input element: four components; to a [batch program](crate::batch) the words of its row.
    pub inputs: &'a [[Lanes<L>; 4]],
    /// Vertex numbers. Lanes of the tail repeat the last.
    pub vertex_id: Lanes<L>,
    /// Instance number.
    pub instance_id: u32,
    /// One entry a uniform space: its rows. Not looked at for spaces that are tables.
    pub uniforms: &'a [&'a [[u32; 4]]],
    /// One entry a resource: its bytes; none for textures.
    pub resources: &'a [&'a [u8]],
    /// What texture accesses give.
    pub textures: &'a dyn Textures,
}

/// A run on its way.
pub struct Run<'a> {
    meter: Meter<'a>,
    block: Block,
    /// The number of the next instruction of the block.
    inst: usize,
}

impl Run<'_> {
    /// Pays for an edge.
    pub(crate) fn pay(&mut self, cost: u32) -> Result<(), Stop> {
        if cost == 0 { Ok(()) } else { self.meter.pay(cost) }
    }

    /// Ends it: the call pays for it.
    pub(crate) fn end(&mut self) -> Result<(), Stop> {
        self.meter.end()
    }
}

/// Runs one function; keeps its memory from run to run.
pub struct Interpreter<'f, const L: usize> {
    func: &'f Function,
    /// Lanes of each value; an `f64` has its high words in the slot after, a row its other words in the three after.
    slots: Vec<Lanes<L>>,
    slot_of: SecondaryMap<Value, u32>,
    costs: EdgeCosts,
    /// One entry an array: `[element][component]`.
    arrays: Vec<Vec<Lanes<L>>>,
    outputs: Vec<[Lanes<L>; 4]>,
    /// Slots of the wave.
    kept: Vec<Lanes<L>>,
    /// Slots of the call.
    of_call: Vec<[u32; 4]>,
    /// Whether the wave has been listed last, for each worklist.
    listed: Vec<bool>,
    /// Whether no guard has failed in this run.
    guards_hold: bool,
    /// Lanes of each vector of a wave. What is made for one of several has its lanes first, and the others behind them
    /// in a circle.
    lanes_of_vector: usize,
}

impl<'f, const L: usize> Interpreter<'f, L> {
    /// Prepares to run a verified function.
    pub fn new(func: &'f Function) -> Interpreter<'f, L> {
        Interpreter::with_costs(func, EdgeCosts::new(func))
    }

    /// The same, for a function whose edges cost what another form of it says.
    pub fn with_costs(func: &'f Function, costs: EdgeCosts) -> Interpreter<'f, L> {
        let vectors = 1 + func.insts.values().map(|inst| inst.vector).max().unwrap_or(0);
        let mut slot_of = SecondaryMap::new();
        let mut slots = 0;
        for (value, data) in &func.values {
            slot_of[value] = slots;
            slots += data.ty.words();
        }
        let kept = func.slots();
        Interpreter {
            func,
            slots: vec![[0; L]; slots as usize],
            slot_of,
            costs,
            arrays: func
                .arrays
                .values()
                .map(|a| vec![[0; L]; a.elements as usize * usize::from(a.components)])
                .collect(),
            outputs: vec![[[0; L]; 4]; func.outputs as usize],
            kept: vec![[0; L]; kept.wave as usize],
            of_call: vec![[0; 4]; kept.call as usize],
            listed: vec![false; WORKLISTS as usize],
            guards_hold: true,
            lanes_of_vector: L / usize::from(vectors),
        }
    }

    /// Whether the last run is valid: no [guard](Op::GuardOrdered) has failed in it.
    pub fn guards_hold(&self) -> bool {
        self.guards_hold
    }

    /// Runs L invocations to their end and returns the output elements.
    ///
    /// # Panics
    /// If fewer inputs, uniform spaces or resources are bound than the function declares.
    pub fn run(
        &mut self,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<&[[Lanes<L>; 4]], InterpError> {
        let mut run = self.begin(options)?;
        while self.run_until_barrier(&mut run, bindings, options)?.is_some() {}
        Ok(&self.outputs)
    }

    /// Begins a run: arrays and outputs are zero, and no guard has failed.
    ///
    /// # Errors
    /// [`InterpError::Stopped`] if the call is to end.
    pub fn begin<'a>(&mut self, options: &InterpOptions<'a>) -> Result<Run<'a>, InterpError> {
        let zeroed = self.arrays.iter_mut().zip(self.func.arrays.values()).filter(|(_, data)| !data.kept);
        zeroed.for_each(|(array, _)| array.fill([0; L]));
        self.outputs.fill([[0; L]; 4]);
        self.guards_hold = true;
        Ok(Run { meter: Meter::new(options.fuel)?, block: self.func.entry(), inst: 0 })
    }

    /// Goes on with a run to behind the next [barrier](Op::Barrier), which it gives; none if it has ended.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_until_barrier(
        &mut self,
        run: &mut Run<'_>,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<Option<Inst>, InterpError> {
        let func = self.func;
        loop {
            for (at, &inst) in func.blocks[run.block].insts.iter().enumerate().skip(run.inst) {
                if func.insts[inst].op == Op::Barrier {
                    run.inst = at + 1;
                    return Ok(Some(inst));
                }
                self.step(&func.insts[inst], bindings, options);
            }
            let Some((next, cost)) = self.leave(run.block)? else { break };
            run.pay(cost)?;
            (run.block, run.inst) = (next, 0);
        }
        run.meter.end()?;
        Ok(None)
    }

    /// Runs the instructions of a block that has no barrier.
    pub(crate) fn block(&mut self, block: Block, bindings: &Bindings<'_, L>, options: &InterpOptions<'_>) {
        let func = self.func;
        for &inst in &func.blocks[block].insts {
            self.step(&func.insts[inst], bindings, options);
        }
    }

    /// Takes the edge that all lanes want, and says where it leads and what it costs; `None` at a return.
    pub(crate) fn leave(&mut self, block: Block) -> Result<Option<(Block, u32)>, InterpError> {
        let Some(call) = self.branch(block)? else { return Ok(None) };
        self.pass_arguments(call);
        Ok(Some((call.block, self.costs.edge(block, call.block))))
    }

    /// Whether the wave was listed for a worklist in the last phase that asks for it.
    pub(crate) fn is_listed(&self, worklist: u32) -> bool {
        self.listed[worklist as usize]
    }

    /// Fills a slot of the call in, if anything loads it.
    pub(crate) fn fill(&mut self, slot: u32, words: [u32; 4]) {
        if let Some(row) = self.of_call.get_mut(slot as usize) {
            *row = words;
        }
    }

    /// The output elements as the last run left them.
    pub fn outputs(&self) -> &[[Lanes<L>; 4]] {
        &self.outputs
    }

    /// A register array as the last run left it, `[element][component]`. Made for those that are kept.
    pub fn array(&self, array: Array) -> &[Lanes<L>] {
        &self.arrays[array.as_u32() as usize]
    }

    /// The edge all lanes take; `None` at a return.
    fn branch(&self, block: Block) -> Result<Option<&'f BlockCall>, InterpError> {
        let terminator = self.func.blocks[block].terminator();
        let same = |value: Value| {
            let lanes = self.lanes(value);
            if lanes.iter().all(|&lane| lane == lanes[0]) {
                Ok(lanes[0])
            } else {
                Err(InterpError::Divergent { block })
            }
        };
        Ok(match terminator {
            Terminator::Jump(call) => Some(call),
            Terminator::BrIf { condition, then_call, else_call } => {
                Some(if same(*condition)? != 0 { then_call } else { else_call })
            }
            Terminator::Switch { value, cases, default } => {
                let value = same(*value)?;
                Some(cases.iter().find(|(case, _)| *case == value).map_or(default, |(_, call)| call))
            }
            Terminator::Return => None,
        })
    }

    /// All arguments are read before any parameter is written: a loop may swap two of them.
    fn pass_arguments(&mut self, call: &BlockCall) {
        let values: Vec<(Lanes<L>, Option<Lanes<L>>)> = call
            .args
            .iter()
            .map(|&arg| (self.lanes(arg), (self.func.ty(arg) == Type::F64).then(|| self.high(arg))))
            .collect();
        for (&param, (low, high)) in self.func.blocks[call.block].params.iter().zip(values) {
            let slot = self.slot_of[param] as usize;
            self.slots[slot] = low;
            if let Some(high) = high {
                self.slots[slot + 1] = high;
            }
        }
    }
}

/// 1 in the lanes that have invocations of their own. Lanes of the tail repeat the last one, its number as well.
pub(crate) fn active<const L: usize>(vertex_id: &Lanes<L>) -> Lanes<L> {
    std::array::from_fn(|lane| u32::from(lane == 0 || vertex_id[lane] != vertex_id[lane - 1]))
}

#[cfg(test)]
mod tests;
