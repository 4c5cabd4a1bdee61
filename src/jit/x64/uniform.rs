//! Loads from uniform spaces.

use super::code::Address;
use super::table::Op as X;
use super::value::Memo;
use super::{Selector, result};
use crate::jit::abi::offset;
use crate::jit::offsets::KeptOffsets;
use crate::jit::window::Window;
use regalloc2::VReg;
use shaderjit_ir::bounds::STATIC_ROWS;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Space, Value};

/// How many lanes' offsets are kept in general registers, of which code seldom needs more than six for itself.
const KEPT: u8 = 8;

impl Selector<'_> {
    pub(super) fn uniform_load(&mut self, inst: &InstData, space: Space, row: u32, component: u8) {
        let base = self.spaces[space.as_u32() as usize];
        let at = i32::from(component) * 4;
        match inst.args.first().copied() {
            Some(index) if !self.is_uniform(index) => {
                let vector = self.gather_rows(space, row, index, component);
                self.define_vector(result(inst), vector);
            }
            None if row < STATIC_ROWS => self.define_loaded(result(inst), Address::at(base, row as i32 * 16 + at)),
            index => {
                let window = Window::of(self.func, space, row, index);
                let address = self.window_address(window);
                self.define_loaded(result(inst), Address::at(address, window.byte + at));
            }
        }
    }

    /// Where the first row of a space is that is zero like all after it, counted from its first readable one.
    fn end_row(&mut self, space: Space) -> Address {
        let table = self.simd.load_pointer(Address::at(self.args, offset::SPACES));
        Address::at(table, offset::space(space.as_u32()).1)
    }

    /// One component of the rows at an index that differs among lanes. Whole rows are gathered, for the other
    /// components that the block loads.
    fn gather_rows(&mut self, space: Space, row: u32, index: Value, component: u8) -> VReg {
        let columns = self.memoised_all(Memo::Rows(space, row, index), |this| {
            let window = Window::of(this.func, space, row, Some(index));
            let base = this.spaces[space.as_u32() as usize];
            let rows = [0, 1, 2, 3].map(|lane| {
                this.rows_at(lane, |this, lane| {
                    let offset = this.window_offset(window, lane);
                    Address::indexed(base, offset, 0, window.byte)
                })
            });
            let wanted = this.here.components.get(&(space, row, index)).copied().unwrap_or(15);
            this.simd.transpose(rows, wanted)
        });
        columns[usize::from(component)]
    }

    /// The address of a window that is the same in all lanes.
    fn window_address(&mut self, window: Window) -> VReg {
        let Window { space, index, first, is_checked, .. } = window;
        self.memoised(Memo::WindowAddress(space, first, index), |this| {
            let mut number = this.simd.literal(first);
            if let Some(index) = index {
                let index = this.scalar(index);
                number = if first == 0 { index } else { this.simd.general(X::Add, &[number], index) };
            }
            if is_checked {
                let end = this.end_row(space);
                let end = this.simd.load_word(end);
                number = this.simd.umin(number, end);
            }
            let offset = this.simd.general_imm(X::Shl64, number, 4);
            this.simd.general(X::Add64, &[offset], this.spaces[space.as_u32() as usize])
        })
    }

    /// Whether general registers have where the rows of all lanes lie.
    pub(super) fn keeps_rows(&self) -> bool {
        self.simd.lanes() <= KEPT
    }

    /// Where the window of a lane begins. Other rows at the index take it from its register if there are enough for all
    /// lanes, else from memory.
    fn window_offset(&mut self, window: Window, lane: u8) -> VReg {
        let index = window.index.expect("it differs among lanes");
        let load = |this: &mut Self| {
            if this.here.leaders.has(index) && !window.is_checked {
                let row = this.lane_word(index, lane);
                return this.simd.general_imm(X::Shl64, row, 4);
            }
            let offsets = this.window_offsets(window);
            this.lane_offset(offsets, lane)
        };
        if !self.keeps_rows() {
            return load(self);
        }
        self.memoised(Memo::LaneOffset(window.space, window.first, index, lane), load)
    }

    /// Where the windows of lanes begin.
    pub(super) fn window_offsets(&mut self, window: Window) -> KeptOffsets {
        let Window { space, index, first, is_checked, .. } = window;
        let index = index.expect("it differs among lanes");
        let key = (space, first, index);
        if let Some(kept) = self.here.offsets.find(key) {
            return kept;
        }
        let mut number = self.vector(index);
        if first != 0 {
            let first = self.simd.word_source(first);
            number = self.simd.op(X::Paddd, &[number], first);
        }
        if is_checked {
            let end = self.end_row(space);
            let end = self.simd.load(end.in_all_lanes());
            number = self.simd.op(X::Pminud, &[number], end);
        }
        let offsets = self.simd.op_imm(X::Pslld, &[], number, 4);
        let kept = self.keep_offsets(offsets);
        self.here.offsets.name(kept, key);
        kept
    }
}
