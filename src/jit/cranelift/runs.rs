//! Selection for runs of row instructions (see [`shaderjit_ir::batch`]): the whole run for one lane, then for the next.

use super::fetch;
use super::{Emitter, result};
use crate::error::JitError;
use crate::jit::places::codegen;
use crate::jit::window::Window;
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::{F32X4, I32X4};
use cranelift_entity::packed_option::ReservedValue;
use shaderjit_ir::batch::Stream;
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::{Inst, Op, Value};

/// Up to how many rows of uniforms a run loads once for all lanes. More would crowd out what they meet.
const SHARED_UNIFORMS: usize = 6;

/// A run, and what its lanes share.
struct Run<'a> {
    insts: Vec<&'a InstData>,
    /// The inputs whose rows are loaded whole for their components.
    whole: Vec<Value>,
    /// The addresses of all lanes' rows in the streams that it reads and writes.
    streams: Vec<(Stream, Vec<clif::Value>)>,
}

impl Run<'_> {
    fn row(&self, stream: Stream, lane: usize) -> clif::Value {
        let rows = self.streams.iter().find(|(known, _)| *known == stream);
        rows.expect("every stream of the run has addresses").1[lane]
    }
}

impl<'a> Emitter<'a, '_> {
    /// Emits a run. Rows that instructions behind it use are transposed.
    pub(super) fn run_of_rows(&mut self, insts: &[Inst]) -> Result<(), JitError> {
        let insts: Vec<&InstData> = insts.iter().map(|&inst| &self.func.insts[inst]).collect();
        self.set_origin(insts[0].origin);
        self.share_rows(&insts);
        let streams = insts.iter().filter_map(|inst| match (inst.op, inst.imm) {
            (Op::InputRow, Imm::Stream(element)) => Some(Stream::Input(element)),
            (Op::OutputRow, Imm::Stream(element)) => Some(Stream::Output(element)),
            _ => None,
        });
        let vector = insts[0].vector;
        let streams: Vec<_> = streams.map(|stream| (stream, self.rows(stream, vector))).collect();
        let is_whole = |inst: &&&InstData| self.is_loaded_whole(&insts, inst);
        let whole = insts.iter().filter(is_whole).map(|inst| result(inst)).collect();
        let run = Run { insts, whole, streams };
        let goes_on = |inst: &&InstData| {
            let last = inst.result.and_then(|result| self.program.uses[result].last);
            last.is_some_and(|last| self.func.insts[last].op == Op::RowWord)
        };
        let going_on: Vec<Value> = run.insts.iter().copied().filter(goes_on).map(result).collect();
        let mut rows = vec![Vec::new(); going_on.len()];
        for lane in 0..self.step.min(4) {
            self.lane_of_run(&run, lane)?;
            for (rows, &value) in rows.iter_mut().zip(&going_on) {
                rows.push(self.values[value].0[0]);
            }
        }
        for (value, rows) in going_on.into_iter().zip(rows) {
            let columns = self.simd.transpose(rows.try_into().expect("a vector has four lanes"));
            let columns = columns.map(|column| self.simd.cast(I32X4, column));
            self.define(value, &columns);
        }
        self.set_origin(Origin::default());
        Ok(())
    }

    /// Makes the literals of a run, and loads its rows of the call if they are few.
    fn share_rows(&mut self, insts: &[&InstData]) {
        for &arg in insts.iter().flat_map(|inst| inst.args.iter()) {
            let Some(join) = self.func.def_inst(arg).filter(|def| def.op == Op::RowJoin) else { continue };
            let literals = [0, 1, 2, 3].map(|word| self.func.constant(join.args[word]));
            if let [Some(x), Some(y), Some(z), Some(w)] = literals {
                self.values[arg].0[0] = self.simd.words(F32X4, [x, y, z, w].map(|bits| bits as u32));
            }
        }
        let loads = insts.iter().filter(|inst| inst.op == Op::CallLoad);
        if loads.clone().count() <= SHARED_UNIFORMS {
            for inst in loads {
                if let Imm::Slot(slot) = inst.imm {
                    self.values[result(inst)].0[0] = self.call_row(slot);
                }
            }
        }
    }

    /// Emits a run for one lane. What it makes takes the place of what it has made for the lane before.
    fn lane_of_run(&mut self, run: &Run<'_>, lane: usize) -> Result<(), JitError> {
        let mut addresses = Vec::new();
        for inst in &run.insts {
            self.set_origin(inst.origin);
            let vector = match (inst.op, inst.imm) {
                // Shared, or loaded at each use.
                (Op::CallLoad, _) => continue,
                (Op::InputRow, _) if self.program.is_passed_on(inst) => continue,
                (Op::InputRow, Imm::Stream(element)) => {
                    let input = result(inst);
                    let uses_it = |other: &&InstData| other.op != Op::RowSplat && other.args.contains(&input);
                    if !run.whole.contains(&input) && !run.insts.iter().any(uses_it) {
                        continue;
                    }
                    self.simd.load(F32X4, run.row(Stream::Input(element), lane), 0)
                }
                (Op::RowSplat, Imm::Component(component)) => self.splat_word(run, inst.args[0], component, lane),
                (Op::RowEach, _) if self.is_uniform(inst.args[0]) => self.vector(inst.args[0]),
                (Op::RowEach, _) => {
                    let vector = self.vector(inst.args[0]);
                    let float = self.simd.shuffle(vector, vector, [lane as u8; 4]);
                    self.simd.cast(F32X4, float)
                }
                (Op::RowAt, Imm::SpaceRow { space, row }) => {
                    let window = Window::of(self.func, space, row, Some(inst.args[0]));
                    let offsets = self.window_offsets(window);
                    let known = addresses.iter().find(|(key, _)| *key == (space, offsets));
                    let address = known.map(|&(_, address)| address).unwrap_or_else(|| {
                        let address = self.lane_address(self.spaces[space.as_u32() as usize], offsets, lane as u8);
                        addresses.push(((space, offsets), address));
                        address
                    });
                    self.simd.load(F32X4, address, window.byte)
                }
                (Op::OutputRow, Imm::Stream(element)) => {
                    let stored = self.layout.stored(element);
                    let to = run.row(Stream::Output(element), lane);
                    match self.program.passed_on(inst) {
                        _ if stored == 0 => {}
                        Some(input) => {
                            fetch::copy_row(&mut self.simd, run.row(Stream::Input(input), lane), to, stored);
                        }
                        None => {
                            let row = self.row_operand(inst.args[0]);
                            fetch::store_row(&mut self.simd, row, stored, to);
                        }
                    }
                    continue;
                }
                (Op::GuardOrdered, _) => {
                    let row = self.row_operand(inst.args[0]);
                    self.guard(row);
                    continue;
                }
                (op, _) if op.is_by_row() => {
                    let mut args = [self.args; 3];
                    for (vector, &arg) in args.iter_mut().zip(inst.args.iter()) {
                        *vector = self.row_operand(arg);
                    }
                    // Cranelift overwrites the first factor with the result: one that is made again for each lane can
                    // go, a lane's float that several operations use had better stay.
                    let is_kept = |def: &InstData| matches!(def.op, Op::RowJoin | Op::RowEach | Op::CallLoad);
                    if op == Op::Fma && self.func.def_inst(inst.args[0]).is_some_and(is_kept) {
                        args.swap(0, 1);
                    }
                    self.vector_op(op, |arg| args[arg])?
                }
                (op, _) => return Err(codegen(format!("{op} in a run of rows"))),
            };
            self.values[result(inst)].0[0] = vector;
        }
        Ok(())
    }

    /// Whether a vertex's row is loaded whole for its components. A load into every word is one instruction only as
    /// long as what is made of it has one user, and guards are users.
    fn is_loaded_whole(&self, run: &[&InstData], input: &InstData) -> bool {
        let (Op::InputRow, Imm::Stream(element)) = (input.op, input.imm) else { return false };
        let splats = run.iter().filter(|inst| inst.op == Op::RowSplat && inst.args[0] == result(input));
        run.iter().any(|inst| inst.op == Op::GuardOrdered)
            && splats.count() > 1
            && self.layout.inputs[element as usize].bytes() >= 12
    }

    /// One word of a row in all four: loaded from memory if it is there alone.
    fn splat_word(&mut self, run: &Run<'_>, row: Value, component: u8, lane: usize) -> clif::Value {
        match self.func.def_inst(row) {
            Some(&InstData { op: Op::InputRow, imm: Imm::Stream(element), .. }) if !run.whole.contains(&row) => {
                fetch::broadcast(&mut self.simd, run.row(Stream::Input(element), lane), component)
            }
            _ => {
                let vector = self.row_operand(row);
                let all = self.simd.shuffle(vector, vector, [component; 4]);
                self.simd.cast(F32X4, all)
            }
        }
    }

    /// A row that an instruction of a run uses: what the lane has made, the lanes share or the loop holds, or else a
    /// slot of the call.
    fn row_operand(&mut self, row: Value) -> clif::Value {
        let held = self.values[row].0[0];
        match self.func.def_inst(row).map(|def| def.imm) {
            Some(Imm::Slot(slot)) if held.is_reserved_value() => self.call_row(slot),
            _ => held,
        }
    }
}
