//! The loop over tiles: the IR's blocks around a whole tile, and in each one a loop over waves for each of its
//! [phases](super::phases).

use super::Emitter;
use super::value::HeldLiterals;
use super::worklists::Members;
use crate::error::JitError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::batch::{Phase, TILE, is_of_run, passed};
use shaderjit_ir::function::{InstData, Origin, Terminator};
use shaderjit_ir::{Op, Value};

/// The tile at hand.
pub(super) struct Tile {
    /// Begins the next one.
    block: clif::Block,
    /// Its first element.
    pub first: clif::Value,
    /// The element behind its last.
    pub end: clif::Value,
    /// Where its records begin, if there are any.
    pub records: Option<clif::Value>,
    /// The waves of each worklist, and all of them.
    pub members: Vec<Members>,
}

impl Emitter<'_, '_> {
    /// Emits a function that is cut into phases.
    pub(super) fn tiles(&mut self) -> Result<(), JitError> {
        self.number_waves();
        let tile = self.simd.builder.create_block();
        let first = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(tile, &[BlockArg::from(first)]);

        let first = self.simd.builder.append_block_param(tile, I64);
        self.simd.builder.switch_to_block(tile);
        let elements = self.simd.ins().iconst(I64, (TILE * self.plan.step()) as i64);
        let whole = self.simd.ins().iadd(first, elements);
        let is_whole = self.simd.icmp(IntCC::UnsignedLessThan, whole, self.count);
        let end = self.simd.ins().select(is_whole, whole, self.count);
        let records = (self.plan.frame.record > 0).then(|| {
            let memory = self.frame.expect("records are there");
            self.simd.ins().iadd_imm_s(memory, self.plan.frame.kept.start as i64)
        });
        let members = self.declare_worklists(first, end);
        self.tile = Some(Tile { block: tile, first, end, records, members });
        self.begin_fuel();
        self.begin_tile();
        for number in 0..self.plan.order.len() {
            self.tile_block(number)?;
        }
        if self.plan.returns > 1 {
            self.simd.builder.switch_to_block(self.next);
            self.end_round();
        }
        Ok(())
    }

    /// Goes on to the next tile, if there is one.
    pub(super) fn end_tile(&mut self) {
        self.check_tile();
        self.end_fuel();
        let &Tile { block, end, .. } = self.tile();
        let more = self.simd.icmp(IntCC::UnsignedLessThan, end, self.count);
        self.simd.ins().brif(more, block, &[BlockArg::from(end)], self.done, &[]);
    }

    pub(super) fn tile(&self) -> &Tile {
        self.tile.as_ref().expect("there are phases")
    }

    /// Whether a tile has the value once, rather than each of its waves.
    pub(super) fn is_of_tile(&self, value: Value) -> bool {
        self.plan.is_cut() && self.is_uniform(value)
    }

    /// Whether edges between native blocks give a parameter its value. In phases the records do, where lanes differ.
    pub(super) fn is_on_edges(&self, param: Value) -> bool {
        !self.plan.is_cut() || self.is_uniform(param)
    }

    fn tile_block(&mut self, number: usize) -> Result<(), JitError> {
        let block = self.plan.order[number];
        if block != self.func.entry() {
            self.simd.builder.switch_to_block(self.blocks[block]);
        }
        self.forget();
        self.count_outputs(block);
        let data = &self.func.blocks[block];
        for inst in data.insts.iter().map(|&inst| &self.func.insts[inst]) {
            if self.is_of_whole_tile(inst) {
                self.inst(inst)?;
            }
        }
        let terminator = data.terminator();
        for phase in self.program.phases_of(number) {
            self.phase(phase, terminator)?;
        }
        self.enter_worklists(number);
        self.terminator(block, terminator)
    }

    /// Whether an instruction is for the tile as a whole, and does not ask its waves.
    fn is_of_whole_tile(&self, inst: &InstData) -> bool {
        let is_question = inst.op == Op::Any && !self.is_uniform(inst.args[0]);
        let is_made = |result| self.plan.call_values.contains(result) || !self.is_uniform(result);
        !is_question && inst.result.is_some_and(|result| !is_made(result)) && !is_of_run(inst)
    }

    /// Emits the loop of a phase, and goes on behind it.
    fn phase(&mut self, phase: usize, terminator: &Terminator) -> Result<(), JitError> {
        self.region = phase as u32;
        self.set_origin(Origin::default());
        let Phase { block, ref insts, .. } = self.plan.phases[phase];
        let insts = insts.clone();
        let is_last = self.plan.phases.get(phase + 1).is_none_or(|next| next.block != block);
        let split = self.plan.worklists.split(block).filter(|_| is_last);
        let going_on = split.map(|split| self.begin_split(split));
        self.wave = self.simd.builder.create_block();
        let before = self.simd.builder.current_block().expect("code goes on behind what was emitted");
        let turn = self.plan.worklists.of(block).map(|worklist| self.begin_turns(worklist));
        if turn.is_none() {
            self.begin_waves(self.tile().first);
        }
        self.held_literals = Some(HeldLiterals { block: before, vectors: HashMap::new() });
        self.begin_guards();
        self.forget();
        self.fetched.fill(None);
        self.insts(&self.func.blocks[self.plan.order[block]].insts[insts])?;
        if is_last {
            if *terminator == Terminator::Return {
                self.store_other_outputs()?;
            }
            self.pass_on(terminator);
        }
        self.flush_guards();
        self.note_wave();
        if let Some(going_on) = going_on {
            self.go_on_if_any(going_on, turn);
        }
        self.held_literals = None;
        let behind = self.simd.builder.create_block();
        match turn {
            Some(turn) => self.next_turn(turn, behind),
            None => self.next_wave(self.tile().end, behind),
        }
        self.simd.builder.switch_to_block(behind);
        if let Some(going_on) = going_on {
            self.end_split(going_on);
        }
        Ok(())
    }

    /// Sets the parameters that differ among lanes of all blocks that an edge goes to, whichever is taken.
    fn pass_on(&mut self, terminator: &Terminator) {
        let mut vectors = Vec::new();
        for (param, arg) in passed(self.func, terminator) {
            if !self.is_on_edges(param) && param != arg {
                for which in 0..self.plan.vectors {
                    vectors.push((param, which, self.vector(arg, which)));
                }
            }
        }
        for (param, which, vector) in vectors {
            self.store_slot(param, which, vector);
        }
    }
}
