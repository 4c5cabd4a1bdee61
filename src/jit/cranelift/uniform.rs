//! Loads from uniform spaces.

use super::value::Memo;
use super::{Emitter, result};
use crate::jit::abi::offset;
use crate::jit::offsets::KeptOffsets;
use crate::jit::window::Window;
use cranelift_codegen::ir::types::{F32, I8X16, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use shaderjit_ir::bounds::STATIC_ROWS;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Space, Type, Value};

impl Emitter<'_, '_> {
    pub(super) fn uniform_load(&mut self, inst: &InstData, space: Space, row: u32, component: u8) {
        let base = self.spaces[space.as_u32() as usize];
        let at = i32::from(component) * 4;
        match inst.args.first().copied() {
            Some(index) if !self.is_uniform(index) => {
                let vector = self.gather_rows(space, row, index, component);
                self.define_vector(result(inst), vector);
            }
            None if row < STATIC_ROWS => self.load_uniform(inst, base, row as i32 * 16 + at),
            index => {
                let window = Window::of(self.func, space, row, index);
                let address = self.window_address(window);
                self.load_uniform(inst, address, window.byte + at);
            }
        }
    }

    fn load_uniform(&mut self, inst: &InstData, base: clif::Value, at: i32) {
        let ty = if inst.ty == Type::F32 { F32 } else { I32 };
        let scalar = self.simd.load(ty, base, at);
        self.define_scalar(result(inst), scalar);
    }

    /// From the first readable row of a space, the number of the first that is zero like all after it.
    fn end_row(&mut self, space: Space) -> clif::Value {
        let table = self.simd.load(I64, self.args, offset::SPACES);
        self.simd.load(I32, table, offset::space(space.as_u32()).1)
    }

    /// One component of the rows at an index that differs among lanes. Whole rows are gathered, for the other
    /// components.
    fn gather_rows(&mut self, space: Space, row: u32, index: Value, component: u8) -> clif::Value {
        let columns = self.memoised_all(Memo::Rows(space, row, index), |this| {
            let window = Window::of(this.func, space, row, Some(index));
            let base = this.spaces[space.as_u32() as usize];
            let rows = [0, 1, 2, 3].map(|lane| {
                let offsets = this.window_offsets(window);
                let address = this.lane_address(base, offsets, lane);
                this.simd.load(I8X16, address, window.byte)
            });
            this.simd.transpose(rows)
        });
        columns[usize::from(component)]
    }

    /// The address of a window that is the same in all lanes.
    fn window_address(&mut self, window: Window) -> clif::Value {
        let Window { space, index, first, is_checked, .. } = window;
        self.memoised(Memo::WindowAddress(space, first, index), |this| {
            let mut number = this.simd.iconst(first);
            if let Some(index) = index {
                let index = this.scalar(index);
                number = if first == 0 { index } else { this.simd.ins().iadd(index, number) };
            }
            if is_checked {
                let end = this.end_row(space);
                number = this.simd.ins().umin(number, end);
            }
            let number = this.simd.ins().uextend(I64, number);
            let offset = this.simd.shl(number, 4);
            this.simd.ins().iadd(this.spaces[space.as_u32() as usize], offset)
        })
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
            let first = self.word(I32X4, first);
            number = self.simd.ins().iadd(number, first);
        }
        if is_checked {
            let end = self.end_row(space);
            let end = self.simd.ins().splat(I32X4, end);
            number = self.simd.ins().umin(number, end);
        }
        let offsets = self.simd.shl(number, 4);
        let kept = self.keep_offsets(offsets);
        self.here.offsets.name(kept, key);
        kept
    }
}
