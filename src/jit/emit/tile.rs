//! The loop over tiles, and in it one loop over groups for each [stage](super::stages).

use super::Emitter;
use super::stages::TILE;
use crate::error::JitError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};

impl Emitter<'_, '_> {
    /// Emits a function that is cut into stages.
    pub(super) fn tiles(&mut self) -> Result<(), JitError> {
        let tile = self.simd.builder.create_block();
        let first = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(tile, &[BlockArg::from(first)]);

        let first = self.simd.builder.append_block_param(tile, I64);
        self.simd.builder.switch_to_block(tile);
        let elements = self.simd.ins().iconst(I64, (TILE * self.plan.step()) as i64);
        let whole = self.simd.ins().iadd(first, elements);
        let is_whole = self.simd.icmp(IntCC::UnsignedLessThan, whole, self.count);
        let end = self.simd.ins().select(is_whole, whole, self.count);
        self.begin_tile();
        let block = self.func.entry();
        self.count_outputs(block);
        for stage in 0..self.plan.stages.len() {
            self.stage(stage, first, end)?;
        }
        self.check_tile();
        let more = self.simd.icmp(IntCC::UnsignedLessThan, end, self.count);
        self.simd.ins().brif(more, tile, &[BlockArg::from(end)], self.done, &[]);
        Ok(())
    }

    /// Emits the loop of a stage over the groups from `first` to `end`, and goes on behind it.
    fn stage(&mut self, stage: usize, first: clif::Value, end: clif::Value) -> Result<(), JitError> {
        (self.stage, self.region) = (stage, stage as u32);
        self.group = self.simd.builder.create_block();
        self.begin_groups(first);
        self.begin_guards();
        self.forget();
        self.fetched.fill(None);
        let insts = &self.func.blocks[self.func.entry()].insts;
        let begin = stage.checked_sub(1).map_or(0, |before| self.plan.stages[before].end);
        self.insts(&insts[begin..self.plan.stages[stage].end])?;
        if stage + 1 == self.plan.stages.len() {
            self.store_other_outputs()?;
        }
        self.flush_guards();
        self.note_group();
        let behind = self.simd.builder.create_block();
        self.next_group(end, behind);
        self.simd.builder.switch_to_block(behind);
        Ok(())
    }
}
