//! The loop over tiles: the blocks of the tile, and between them a loop over waves for each phase.

use super::Selector;
use super::code::{Address, BlockId};
use super::encode::Condition;
use super::prefetch::Prefetching;
use super::table::{Class, Op as X};
use super::worklists::Turn;
use crate::error::JitError;
use regalloc2::VReg;
use shaderjit_ir::Op;
use shaderjit_ir::batch::Phase;
use shaderjit_ir::function::{Imm, Origin};

/// The tile at hand.
pub struct Tile {
    /// Begins the next one.
    block: BlockId,
    /// Its first element.
    pub first: VReg,
    /// The element behind its last.
    pub end: VReg,
    /// Where its records begin, if there are any.
    pub records: Option<VReg>,
    /// Where the arrays of its first wave are.
    scratch: VReg,
    /// What its phases ask for ahead.
    pub prefetching: Prefetching,
}

/// The loop of the phase at hand.
pub struct PhaseLoop {
    pub number: usize,
    /// The wave at hand, if not all waves have turns.
    pub turn: Option<Turn>,
    /// What ends a round of its loop, if not the end of its one block does.
    pub latch: Option<BlockId>,
}

impl Selector<'_> {
    /// Selects for a function that is cut into phases.
    pub(super) fn tiles(&mut self) -> Result<(), JitError> {
        let program = self.program;
        self.number_waves();
        let block = self.simd.code.block();
        let first = self.simd.literal(0);
        self.simd.code.jump(block, &[first]);

        let first = self.simd.code.param(block, Class::G);
        self.simd.code.switch_to(block);
        let whole = self.simd.address(Address::at(first, (program.tile() * self.step) as i32));
        self.simd.compare(X::Cmp64, whole, self.count);
        let end = self.simd.choose64(Condition::Below, whole, self.count);
        let kept = Address::at(self.frame, self.places.frame.kept.start as i32);
        let records = (self.places.frame.record > 0).then(|| self.simd.address(kept));
        let (scratch, prefetching) = (self.scratch, Prefetching::new(program));
        self.tile = Some(Tile { block, first, end, records, scratch, prefetching });
        self.declare_worklists();
        self.begin_fuel();
        self.begin_tile();
        self.zero_arrays(self.places.scratch_bytes * program.tile() as u32);
        for &block in &program.order {
            self.block(block)?;
            let phase = self.phase.as_ref().map(|phase| &program.cut.phases[phase.number]);
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
        self.simd.compare(X::Cmp64, end, self.count);
        self.simd.code.branch(Condition::Below, (block, &[end]), (self.done, &[]));
    }

    pub(super) fn tile(&self) -> &Tile {
        self.tile.as_ref().expect("there are phases")
    }

    /// Begins the loop of a phase, in front of which is the native block at hand.
    pub(super) fn begin_phase(&mut self, number: usize) {
        let program = self.program;
        let Phase { blocks, worklist, .. } = &program.cut.phases[number];
        self.set_origin(Origin::default());
        for inst in blocks.iter().flat_map(|&block| program.func.insts_in(block)) {
            if let (Op::WorklistPush, Imm::Worklist(worklist)) = (inst.op, inst.imm) {
                self.begin_listing(worklist);
            }
        }
        let latch = (blocks.len() > 1).then(|| self.simd.code.block());
        self.wave.block = self.simd.code.block();
        self.phase = Some(PhaseLoop { number, turn: None, latch });
        self.begin_phase_fuel();
        let asked = self.asked(number);
        self.pin_phase(number);
        match *worklist {
            Some(worklist) => {
                let turn = self.begin_turns(worklist);
                self.phase = Some(PhaseLoop { number, turn: Some(turn), latch });
            }
            None => self.begin_waves(self.tile().first),
        }
        self.begin_wave_fuel();
        self.find_arrays();
        self.begin_guards();
        if let Some(asked) = asked {
            self.prefetch(asked);
        }
        self.fetched.fill(None);
    }

    /// Where the arrays of the wave at hand are.
    fn find_arrays(&mut self) {
        if self.places.scratch_bytes > 0 {
            let number = self.wave_number();
            let offset = self.simd.general_imm(X::ImulImmediate64, number, self.places.scratch_bytes);
            let first = self.tile().scratch;
            self.scratch = self.simd.general(X::Add64, &[offset], first);
        }
    }

    /// Ends the loop of a phase, and goes on behind it.
    fn end_phase(&mut self) {
        let Some(PhaseLoop { number, turn, latch }) = self.phase.take() else { return };
        self.unpin_phase();
        if let Some(latch) = latch {
            self.simd.code.switch_to(latch);
        }
        self.set_origin(Origin::default());
        self.note_wave();
        self.end_wave_fuel(number);
        let next = BlockId(self.blocks[self.program.cut.phases[number].next]);
        let behind = if self.pays(number) { self.simd.code.block() } else { next };
        match turn {
            Some(turn) => self.next_turn(turn, behind),
            None => self.next_wave(self.tile().end, behind),
        }
        if behind != next {
            self.simd.code.switch_to(behind);
            self.end_phase_fuel();
            self.simd.code.jump(next, &[]);
        }
    }
}
