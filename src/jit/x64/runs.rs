//! Selection for runs of row instructions (see [`shaderjit_ir::batch`]): the whole run for every fourth lane, from the
//! first one on, then from the second one on, and so on. A vector holds a row for each of them. Where there is nothing
//! but rows, a vector holds those of lanes that follow each other.

use super::code::{Address, Source};
use super::fetch::RowAddresses;
use super::simd::FLOATS;
use super::{Selector, result};
use crate::error::JitError;
use crate::jit::abi;
use crate::jit::places::codegen;
use crate::jit::window::Window;
use foldhash::{HashMap, HashMapExt};
use regalloc2::VReg;
use shaderjit_ir::batch::Stream;
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::{Inst, Op, Space, Value};
use smallvec::SmallVec;

/// A run, and what its lanes share.
struct Run<'a> {
    insts: SmallVec<[&'a InstData; 16]>,
    /// The streams that it reads and writes, with the addresses of all lanes' rows.
    streams: SmallVec<[(Stream, RowAddresses); 4]>,
}

impl Run<'_> {
    fn rows(&self, stream: Stream) -> &RowAddresses {
        let found = self.streams.iter().find(|(of, _)| *of == stream);
        &found.expect("the run reads or writes it").1
    }
}

/// Offsets of lanes that are in registers: those of which index of which space.
type Offsets = HashMap<(Space, u32, Value, u8), VReg>;

impl Selector<'_> {
    /// Selects for a run. Rows that instructions behind it use are transposed.
    pub(super) fn run_of_rows(&mut self, insts: &[Inst]) -> Result<(), JitError> {
        let func = self.func;
        let insts: SmallVec<[&InstData; 16]> = insts.iter().map(|&inst| &func.insts[inst]).collect();
        self.set_origin(insts[0].origin);
        self.share_rows(&insts);
        let vector = insts[0].vector;
        let mut streams: SmallVec<[(Stream, RowAddresses); 4]> = SmallVec::new();
        for inst in &insts {
            let stream = match (inst.op, inst.imm) {
                (Op::InputRow, Imm::Stream(element)) => Stream::Input(element),
                (Op::OutputRow, Imm::Stream(element)) => Stream::Output(element),
                _ => continue,
            };
            if !streams.iter().any(|(of, _)| *of == stream) {
                streams.push((stream, self.rows(stream, vector)));
            }
        }
        let run = Run { insts, streams };
        let going_on: Vec<(Value, u8)> = run
            .insts
            .iter()
            .filter_map(|inst| inst.result.map(|result| (result, self.program.facts.row_words[result])))
            .filter(|&(_, words)| words > 0)
            .collect();
        let mut rows = vec![[VReg::invalid(); 4]; going_on.len()];
        for joining in 0..self.joining() {
            self.lanes_of_run(&run, joining)?;
            for (rows, &(value, _)) in rows.iter_mut().zip(&going_on) {
                rows[usize::from(joining)] = self.values[value].0[0];
            }
        }
        for ((value, words), rows) in going_on.into_iter().zip(rows) {
            let columns = self.simd.transpose(rows, words);
            self.values[value].0 = columns;
        }
        self.set_origin(Origin::default());
        Ok(())
    }

    /// Makes the rows that all lanes share: literals, and those of the call.
    fn share_rows(&mut self, insts: &[&InstData]) {
        for &arg in insts.iter().flat_map(|inst| inst.args.iter()) {
            let Some(join) = self.func.def_inst(arg).filter(|def| def.op == Op::RowJoin) else { continue };
            let literals = [0, 1, 2, 3].map(|word| self.func.constant(join.args[word]));
            if let [Some(x), Some(y), Some(z), Some(w)] = literals {
                self.values[arg].0[0] = self.simd.row_constant([x, y, z, w].map(|bits| bits as u32));
            }
        }
        for inst in insts.iter().filter(|inst| inst.op == Op::CallLoad) {
            if let Imm::Slot(slot) = inst.imm {
                self.values[result(inst)].0[0] = self.simd.load_row(self.call_row(slot));
            }
        }
    }

    /// Selects a run for the lanes that a vector joins. What it makes takes the place of what it has made for those
    /// before.
    fn lanes_of_run(&mut self, run: &Run<'_>, joining: u8) -> Result<(), JitError> {
        let mut offsets = Offsets::new();
        for inst in &run.insts {
            self.set_origin(inst.origin);
            let vector = match (inst.op, inst.imm) {
                // Shared.
                (Op::CallLoad, _) => continue,
                (Op::InputRow, _) if self.program.is_passed_on(inst) => continue,
                (Op::InputRow, Imm::Stream(element)) => {
                    let bytes = abi::read_bytes(self.layout.inputs[element as usize]);
                    self.load_rows(bytes, run.rows(Stream::Input(element)), joining)
                }
                (Op::RowSplat, Imm::Component(component)) => {
                    let row = self.values[inst.args[0]].0[0];
                    self.simd.permute(row, [component; 4])
                }
                (Op::RowEach, _) if self.is_uniform(inst.args[0]) => self.vector(inst.args[0]),
                (Op::RowEach, _) => {
                    let words = self.source(inst.args[0]);
                    self.simd.permute(words, [joining; 4])
                }
                (Op::RowAt, Imm::SpaceRow { space, row }) => {
                    let window = Window::of(self.func, space, row, Some(inst.args[0]));
                    self.rows_of_window(window, joining, &mut offsets)
                }
                (Op::OutputRow, Imm::Stream(element)) => {
                    let stored = self.layout.stored(element);
                    let rows = run.rows(Stream::Output(element));
                    match self.program.passed_on(inst) {
                        _ if stored == 0 => {}
                        Some(input) => self.copy_rows(run.rows(Stream::Input(input)), rows, stored, joining),
                        None => self.store_rows(self.values[inst.args[0]].0[0], stored, rows, joining),
                    }
                    continue;
                }
                (Op::GuardOrdered, _) => {
                    let row = self.values[inst.args[0]].0[0];
                    self.guard(row);
                    continue;
                }
                (Op::Fma, _) => {
                    let args = [inst.args[0], inst.args[1], inst.args[2]];
                    let sources = args.map(|arg| self.values[arg].0[0].into());
                    self.simd.fused(&FLOATS, sources, args.map(|arg| self.dies_in_run(arg)))
                }
                (op, _) if op.is_by_row() => {
                    let args = inst.args;
                    self.vector_op(op, &mut |this, arg| Source::Register(this.values[args[arg]].0[0]))?
                }
                (op, _) => return Err(codegen(format!("{op} in a run of rows"))),
            };
            self.values[result(inst)].0[0] = vector;
        }
        Ok(())
    }

    /// Whether nothing uses a row but one instruction, for these lanes.
    fn dies_in_run(&self, row: Value) -> bool {
        let is_kept = |def: &InstData| matches!(def.op, Op::RowJoin | Op::RowEach | Op::CallLoad);
        self.dies(row) && !self.func.def_inst(row).is_some_and(is_kept)
    }

    /// Rows of a space, one for each of these lanes.
    fn rows_of_window(&mut self, window: Window, lane: u8, known: &mut Offsets) -> VReg {
        let base = self.spaces[window.space.as_u32() as usize];
        let index = window.index.expect("it differs among lanes");
        self.rows_at(lane, |this, lane| {
            let key = (window.space, window.first, index, lane);
            let offset = *known.entry(key).or_insert_with(|| {
                let offsets = this.window_offsets(window);
                this.lane_offset(offsets, lane)
            });
            Address::indexed(base, offset, 0, window.byte)
        })
    }
}
