//! Selection for worklists: loops over the waves of one, and the branches that fill them.

use super::Emitter;
use super::tile::Tile;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_frontend::Variable;
use shaderjit_ir::Block;
use shaderjit_ir::batch::{Split, TILE};

/// Groups of a tile, while it runs.
#[derive(Clone, Copy)]
pub(super) struct Members {
    /// Where their numbers are, 64 bits each.
    numbers: Variable,
    /// How many they are.
    count: Variable,
}

/// A round of a loop over listed waves.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    index: clif::Value,
    count: clif::Value,
    /// The wave at hand.
    number: clif::Value,
}

/// The waves that go on at a split, as they are found.
#[derive(Clone, Copy)]
pub(super) struct GoingOn {
    split: Split,
    /// How many they are by now.
    count: Variable,
}

impl Emitter<'_, '_> {
    /// Writes down the numbers of all waves of a tile, if there are worklists.
    pub(super) fn number_waves(&mut self) {
        if self.plan.worklists.places() > 0 {
            let address = self.worklist_address(self.plan.worklists.count());
            for number in 0..TILE {
                let value = self.simd.ins().iconst(I64, number as i64);
                self.simd.store(value, address, 8 * number as i32);
            }
        }
    }

    /// Begins a tile: declares its worklists, and all waves behind them. What no worklist runs is for all.
    pub(super) fn declare_worklists(&mut self, first: clif::Value, end: clif::Value) -> Vec<Members> {
        let builder = &mut self.simd.builder;
        let mut declare = |_| Members { numbers: builder.declare_var(I64), count: builder.declare_var(I64) };
        let members: Vec<Members> = (0..self.plan.worklists.places()).map(&mut declare).collect();
        if let Some(&all) = members.last() {
            let numbers = self.worklist_address(self.plan.worklists.count());
            self.simd.builder.def_var(all.numbers, numbers);
            let count = self.waves_between(first, end);
            self.simd.builder.def_var(all.count, count);
        }
        members
    }

    /// How many waves there are from one element to another.
    fn waves_between(&mut self, first: clif::Value, end: clif::Value) -> clif::Value {
        let elements = self.simd.ins().isub(end, first);
        self.simd.ins().ushr_imm_u(elements, i64::from(self.plan.step().ilog2()))
    }

    /// How many waves of the tile leave a block by the edge at hand, as a number of 64 bits: those of the block's
    /// worklist. Where its branch has asked them, they are by now those that go on, and the other edge costs nothing
    /// ([`going_on`]).
    pub(super) fn waves_at(&mut self, block: Block) -> clif::Value {
        let number = self.plan.order.iter().position(|&other| other == block).expect("the block is in the order");
        let worklist = self.plan.worklists.split(number).map(|split| split.worklist).or(self.plan.worklists.of(number));
        match worklist {
            Some(worklist) => {
                let count = self.tile().members[worklist].count;
                self.simd.builder.use_var(count)
            }
            None => {
                let &Tile { first, end, .. } = self.tile();
                self.waves_between(first, end)
            }
        }
    }

    fn worklist_address(&mut self, worklist: usize) -> clif::Value {
        let memory = self.frame.expect("worklists are there");
        self.simd.ins().iadd_imm_s(memory, self.plan.frame.worklist(worklist) as i64)
    }

    /// Enters the loops behind a block: all that come there run them.
    pub(super) fn enter_worklists(&mut self, block: usize) {
        for index in 0..self.plan.worklists.entered(block).len() {
            let worklist = self.plan.worklists.entered(block)[index];
            let outer = self.plan.worklists.outer(worklist).unwrap_or(self.plan.worklists.count());
            let [worklist, outer] = [worklist, outer].map(|worklist| self.tile().members[worklist]);
            for (to, from) in [(worklist.numbers, outer.numbers), (worklist.count, outer.count)] {
                let value = self.simd.builder.use_var(from);
                self.simd.builder.def_var(to, value);
            }
        }
    }

    /// Begins a loop over the waves of a worklist.
    pub(super) fn begin_turns(&mut self, worklist: usize) -> Turn {
        let &Tile { first, records, ref members, .. } = self.tile();
        let Members { numbers, count } = members[worklist];
        let [numbers, count] = [numbers, count].map(|variable| self.simd.builder.use_var(variable));
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(self.wave, &[BlockArg::from(none)]);
        let index = self.simd.builder.append_block_param(self.wave, I64);
        self.simd.builder.switch_to_block(self.wave);
        let offset = self.simd.shl(index, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        let number = self.simd.load(I64, address, 0);
        let elements = self.simd.shl(number, self.plan.step().ilog2());
        self.element = self.simd.ins().iadd(first, elements);
        self.record = records.map(|records| {
            let bytes = self.simd.ins().iconst(I64, self.plan.frame.record as i64);
            let offset = self.simd.ins().imul(number, bytes);
            self.simd.ins().iadd(records, offset)
        });
        self.first_rows.clear();
        self.strides.clear();
        Turn { index, count, number }
    }

    /// Goes on to the next listed wave, if there is one, else to another block.
    pub(super) fn next_turn(&mut self, Turn { index, count, .. }: Turn, behind: clif::Block) {
        let next = self.simd.ins().iadd_imm_s(index, 1);
        let more = self.simd.icmp(IntCC::UnsignedLessThan, next, count);
        self.simd.ins().brif(more, self.wave, &[BlockArg::from(next)], behind, &[]);
    }

    /// In front of a loop that asks its waves whether they go on.
    pub(super) fn begin_split(&mut self, split: Split) -> GoingOn {
        let count = self.simd.builder.declare_var(I64);
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.builder.def_var(count, none);
        GoingOn { split, count }
    }

    /// Lists the wave at hand if any of its lanes goes on. Where a worklist asks its own waves, those that stay move
    /// up.
    pub(super) fn go_on_if_any(&mut self, GoingOn { split, count }: GoingOn, turn: Option<Turn>) {
        let any = self.any_lane(split.mask);
        let number = match turn {
            Some(turn) => turn.number,
            None => self.waves_between(self.tile().first, self.element),
        };
        let any = self.simd.ins().uextend(I64, any);
        let before = self.simd.builder.use_var(count);
        let numbers = self.worklist_address(split.worklist);
        let offset = self.simd.shl(before, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        self.simd.store(number, address, 0);
        let after = self.simd.ins().iadd(before, any);
        self.simd.builder.def_var(count, after);
    }

    /// Behind that loop: those that go on are the worklist, and the tile goes on if there are any.
    pub(super) fn end_split(&mut self, GoingOn { split, count }: GoingOn) {
        let members = self.tile().members[split.worklist];
        let numbers = self.worklist_address(split.worklist);
        self.simd.builder.def_var(members.numbers, numbers);
        let count = self.simd.builder.use_var(count);
        self.simd.builder.def_var(members.count, count);
        let none = self.simd.ins().iconst(I64, 0);
        let any = self.simd.icmp(IntCC::NotEqual, count, none);
        self.define_scalar(split.any, any);
    }
}
