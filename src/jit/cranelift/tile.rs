//! The loop over tiles: the blocks of the tile, and between them a loop over waves for each phase.

use super::Emitter;
use super::value::{HELD_LITERALS, HeldLiterals};
use super::worklists::{Members, Turn};
use crate::error::JitError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use shaderjit_ir::Op;
use shaderjit_ir::batch::Phase;
use shaderjit_ir::function::{Imm, Origin};

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
    /// Where the arrays of its first wave are.
    scratch: clif::Value,
    /// The waves of each worklist, and all of them.
    pub members: Vec<Members>,
}

/// The loop of the phase at hand.
pub(super) struct PhaseLoop {
    pub number: usize,
    /// The wave at hand, if not all waves have turns.
    pub turn: Option<Turn>,
    /// What ends a round of its loop, if not the end of its one block does.
    pub latch: Option<clif::Block>,
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
        let elements = self.simd.ins().iconst(I64, (self.program.tile() * self.step) as i64);
        let whole = self.simd.ins().iadd(first, elements);
        let is_whole = self.simd.icmp(IntCC::UnsignedLessThan, whole, self.count);
        let end = self.simd.ins().select(is_whole, whole, self.count);
        let records = (self.places.frame.record > 0).then(|| {
            let memory = self.frame.expect("records are there");
            self.simd.ins().iadd_imm_s(memory, self.places.frame.kept.start as i64)
        });
        let members = self.declare_worklists(first, end);
        self.tile = Some(Tile { block: tile, first, end, records, scratch: self.scratch, members });
        self.begin_fuel();
        self.begin_tile();
        self.zero_arrays(self.places.scratch_bytes * self.program.tile() as u32);
        for number in 0..self.program.order.len() {
            let block = self.program.order[number];
            self.block(block)?;
            let phase = self.phase.as_ref().map(|phase| &self.program.cut.phases[phase.number]);
            if phase.is_some_and(|phase| phase.blocks.last() == Some(&block)) {
                self.end_phase();
            }
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

    /// Begins the loop of a phase, in front of which is the native block at hand.
    pub(super) fn begin_phase(&mut self, number: usize) {
        let Phase { blocks, worklist, .. } = &self.program.cut.phases[number];
        self.set_origin(Origin::default());
        let before = self.simd.builder.current_block().expect("the tile's block leads there");
        let insts = blocks.iter().flat_map(|&block| &self.func.blocks[block].insts);
        for inst in insts.map(|&inst| &self.func.insts[inst]) {
            if let (Op::WorklistPush, Imm::Worklist(worklist)) = (inst.op, inst.imm) {
                self.begin_listing(worklist);
            }
        }
        let latch = (blocks.len() > 1).then(|| self.simd.builder.create_block());
        self.wave.block = self.simd.builder.create_block();
        self.phase = Some(PhaseLoop { number, turn: None, latch });
        self.begin_phase_fuel();
        match *worklist {
            Some(worklist) => {
                let turn = self.begin_turns(worklist);
                self.phase = Some(PhaseLoop { number, turn: Some(turn), latch });
            }
            None => self.begin_waves(self.tile().first),
        }
        self.begin_wave_fuel();
        self.find_arrays();
        self.held_literals = Some(HeldLiterals { block: before, vectors: Vec::with_capacity(HELD_LITERALS) });
        self.begin_guards();
        self.fetched.fill(Vec::new());
    }

    /// Where the arrays of the wave at hand are.
    fn find_arrays(&mut self) {
        if self.places.scratch_bytes > 0 {
            let number = self.wave_number();
            let bytes = self.simd.ins().iconst(I64, i64::from(self.places.scratch_bytes));
            let offset = self.simd.ins().imul(number, bytes);
            let first = self.tile().scratch;
            self.scratch = self.simd.ins().iadd(first, offset);
        }
    }

    /// Ends the loop of a phase, and goes on behind it.
    pub(super) fn end_phase(&mut self) {
        let Some(PhaseLoop { number, turn, latch }) = self.phase.take() else { return };
        if let Some(latch) = latch {
            self.simd.builder.switch_to_block(latch);
        }
        self.set_origin(Origin::default());
        self.note_wave();
        self.end_wave_fuel();
        self.held_literals = None;
        let next = self.blocks[self.program.cut.phases[number].next];
        let behind = if self.pays(number) { self.simd.builder.create_block() } else { next };
        match turn {
            Some(turn) => self.next_turn(turn, behind),
            None => self.next_wave(self.tile().end, behind),
        }
        if behind != next {
            self.simd.builder.switch_to_block(behind);
            self.end_phase_fuel();
            self.simd.ins().jump(next, &[]);
        }
    }
}
