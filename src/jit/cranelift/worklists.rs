//! Selection for worklists: loops over the waves of one, and the branches that fill them.

use super::Emitter;
use super::tile::Tile;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_frontend::Variable;
use shaderjit_ir::batch::TILE;
use shaderjit_ir::{Block, Value};

/// Groups of a tile, while it runs.
#[derive(Clone, Copy)]
pub(super) struct Members {
    /// Where their numbers are, 64 bits each.
    numbers: Variable,
    /// How many they are.
    count: Variable,
    /// How many waves of the phase at hand have been listed for it.
    listed: Variable,
}

/// A round of a loop over listed waves.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    index: clif::Value,
    count: clif::Value,
    /// The wave at hand.
    number: clif::Value,
}

impl Emitter<'_, '_> {
    /// Writes down the numbers of all waves of a tile, if there are worklists.
    pub(super) fn number_waves(&mut self) {
        if self.program.cut.worklists > 0 {
            let address = self.worklist_address(self.program.cut.worklists);
            for number in 0..TILE {
                let value = self.simd.ins().iconst(I64, number as i64);
                self.simd.store(value, address, 8 * number as i32);
            }
        }
    }

    /// Begins a tile: declares its worklists, and all waves behind them. What no worklist runs is for all.
    pub(super) fn declare_worklists(&mut self, first: clif::Value, end: clif::Value) -> Vec<Members> {
        let mut members = Vec::new();
        if self.program.cut.worklists > 0 {
            for _ in 0..=self.program.cut.worklists {
                let [numbers, count, listed] = [(); 3].map(|()| self.simd.builder.declare_var(I64));
                members.push(Members { numbers, count, listed });
            }
        }
        if let Some(&all) = members.last() {
            let numbers = self.worklist_address(self.program.cut.worklists);
            self.simd.builder.def_var(all.numbers, numbers);
            let count = self.waves_between(first, end);
            self.simd.builder.def_var(all.count, count);
        }
        members
    }

    /// How many waves there are from one element to another.
    fn waves_between(&mut self, first: clif::Value, end: clif::Value) -> clif::Value {
        let elements = self.simd.ins().isub(end, first);
        self.simd.ins().ushr_imm_u(elements, i64::from(self.step.ilog2()))
    }

    /// How many waves of the tile come to a block of it, as a number of 64 bits.
    pub(super) fn waves_at(&mut self, block: Block) -> clif::Value {
        match self.program.cut.comes[block] {
            Some(worklist) => {
                let count = self.tile().members[worklist as usize].count;
                self.simd.builder.use_var(count)
            }
            None => {
                let &Tile { first, end, .. } = self.tile();
                self.waves_between(first, end)
            }
        }
    }

    /// The number of the wave at hand in its tile.
    pub(super) fn wave_number(&mut self) -> clif::Value {
        match self.phase.as_ref().and_then(|phase| phase.turn) {
            Some(turn) => turn.number,
            None => self.waves_between(self.tile().first, self.wave.element),
        }
    }

    fn worklist_address(&mut self, worklist: u32) -> clif::Value {
        let memory = self.frame.expect("worklists are there");
        self.simd.ins().iadd_imm_s(memory, self.places.frame.worklist(worklist as usize) as i64)
    }

    /// Makes the waves of the worklist around it the worklist.
    pub(super) fn enter_worklist(&mut self, worklist: u32, outer: Option<u32>) {
        let outer = outer.unwrap_or(self.program.cut.worklists);
        let [worklist, outer] = [worklist, outer].map(|worklist| self.tile().members[worklist as usize]);
        for (to, from) in [(worklist.numbers, outer.numbers), (worklist.count, outer.count)] {
            let value = self.simd.builder.use_var(from);
            self.simd.builder.def_var(to, value);
        }
    }

    /// Begins a loop over the waves of a worklist.
    pub(super) fn begin_turns(&mut self, worklist: u32) -> Turn {
        let &Tile { first, records, ref members, .. } = self.tile();
        let Members { numbers, count, .. } = members[worklist as usize];
        let [numbers, count] = [numbers, count].map(|variable| self.simd.builder.use_var(variable));
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(self.wave.block, &[BlockArg::from(none)]);
        let index = self.simd.builder.append_block_param(self.wave.block, I64);
        self.simd.builder.switch_to_block(self.wave.block);
        let offset = self.simd.shl(index, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        let number = self.simd.load(I64, address, 0);
        let elements = self.simd.shl(number, self.step.ilog2());
        self.wave.element = self.simd.ins().iadd(first, elements);
        self.wave.record = records.map(|records| {
            let bytes = self.simd.ins().iconst(I64, self.places.frame.record as i64);
            let offset = self.simd.ins().imul(number, bytes);
            self.simd.ins().iadd(records, offset)
        });
        self.wave.first_rows.clear();
        self.wave.strides.clear();
        Turn { index, count, number }
    }

    /// Goes on to the next listed wave, if there is one, else to another block.
    pub(super) fn next_turn(&mut self, Turn { index, count, .. }: Turn, behind: clif::Block) {
        let next = self.simd.ins().iadd_imm_s(index, 1);
        let more = self.simd.icmp(IntCC::UnsignedLessThan, next, count);
        self.simd.ins().brif(more, self.wave.block, &[BlockArg::from(next)], behind, &[]);
    }

    /// In front of a phase that lists waves: there are none yet.
    pub(super) fn begin_listing(&mut self, worklist: u32) {
        let none = self.simd.ins().iconst(I64, 0);
        let listed = self.tile().members[worklist as usize].listed;
        self.simd.builder.def_var(listed, none);
    }

    /// Lists the wave at hand if any of its lanes goes on. Where a worklist asks its own waves, those that stay move
    /// up.
    pub(super) fn list_wave(&mut self, worklist: u32, mask: Value) {
        let any = self.any_lane(mask);
        let number = self.wave_number();
        let any = self.simd.ins().uextend(I64, any);
        let listed = self.tile().members[worklist as usize].listed;
        let before = self.simd.builder.use_var(listed);
        let numbers = self.worklist_address(worklist);
        let offset = self.simd.shl(before, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        self.simd.store(number, address, 0);
        let after = self.simd.ins().iadd(before, any);
        self.simd.builder.def_var(listed, after);
    }

    /// Makes those that were listed the worklist, and says whether there are any.
    pub(super) fn take_listed(&mut self, worklist: u32) -> clif::Value {
        let members = self.tile().members[worklist as usize];
        let numbers = self.worklist_address(worklist);
        self.simd.builder.def_var(members.numbers, numbers);
        let count = self.simd.builder.use_var(members.listed);
        self.simd.builder.def_var(members.count, count);
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.icmp(IntCC::NotEqual, count, none)
    }
}
