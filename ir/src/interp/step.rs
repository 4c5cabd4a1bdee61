//! Small-step semantics: what one instruction does to values and to what the interpreter keeps.

use super::{Bindings, InterpOptions, Interpreter, active};
use crate::double;
use crate::entity::{Resource, Value};
use crate::eval::{Lanes, eval};
use crate::function::{Imm, InstData, Operands};
use crate::op::{Op, RESOURCE_BYTES, SysVal};
use crate::texture::{self, Access, Rows, Textures};
use crate::types::Type;

impl<const L: usize> Interpreter<'_, L> {
    fn access(&mut self, access: &Access, args: &[Value], textures: &dyn Textures) -> [Lanes<L>; 4] {
        let mut result = [[0; L]; 4];
        for first in (0..L).step_by(texture::LANES) {
            let lanes = texture::LANES.min(L - first);
            let mut rows = Rows::ZERO;
            for (operand, &arg) in rows.0.iter_mut().zip(args) {
                for (to, from) in operand.iter_mut().zip(self.row(arg)) {
                    to[..lanes].copy_from_slice(&from[first..first + lanes]);
                }
            }
            textures.access(access, lanes, &mut rows);
            for (to, from) in result.iter_mut().zip(&rows.0[0]) {
                to[first..first + lanes].copy_from_slice(&from[..lanes]);
            }
        }
        result
    }

    pub(crate) fn step(&mut self, inst: &InstData, bindings: &Bindings<'_, L>, options: &InterpOptions<'_>) {
        let args = &inst.args;
        let first = usize::from(inst.vector) * self.lanes_of_vector;
        let turned = |mut lanes: Lanes<L>| {
            lanes.rotate_left(first);
            lanes
        };
        let turned_back = |mut lanes: Lanes<L>| {
            lanes.rotate_right(first);
            lanes
        };
        let lanes: Lanes<L> = match (inst.op, inst.imm) {
            (Op::Output, Imm::Element { element, component }) => {
                self.outputs[element as usize][usize::from(component)] = turned_back(self.lanes(args[0]));
                return;
            }
            (Op::OutputRow, Imm::Stream(element)) => {
                self.outputs[element as usize] = self.row(args[0]).map(turned_back);
                return;
            }
            (Op::GuardOrdered, _) => {
                let words = self.row(args[0]);
                self.guards_hold &= !words.iter().flatten().any(|&bits| f32::from_bits(bits).is_nan());
                return;
            }
            (Op::SlotStore, Imm::Slot(slot)) => {
                let slot = slot as usize;
                self.kept[slot] = self.lanes(args[0]);
                if inst.ty == Type::F64 {
                    self.kept[slot + 1] = self.high(args[0]);
                }
                return;
            }
            (Op::SlotLoad, Imm::Slot(slot)) if inst.ty == Type::F64 => {
                return self.set_pair(result(inst), self.kept[slot as usize], self.kept[slot as usize + 1]);
            }
            (Op::SlotLoad, Imm::Slot(slot)) => self.kept[slot as usize],
            (Op::CallStore, Imm::Slot(slot)) => {
                let row = self.row(args[0]).map(|word| word[0]);
                self.of_call[slot as usize] = if inst.ty == Type::Row { row } else { [row[0]; 4] };
                return;
            }
            (Op::CallLoad, Imm::Slot(slot)) => {
                let words = self.of_call[slot as usize].map(|word| [word; L]);
                if inst.ty == Type::Row {
                    return self.set_row(result(inst), words);
                }
                words[0]
            }
            (Op::WorklistPush, Imm::Worklist(worklist)) => {
                self.listed[worklist as usize] = self.lanes(args[0]).iter().any(|&lane| lane != 0);
                return;
            }
            (Op::WorklistAny, Imm::Worklist(worklist)) => [self.listed[worklist as usize].into(); L],
            // A wave by itself comes wherever it goes.
            (Op::WorklistEnter | Op::Barrier, _) => return,
            (Op::ArrayStore | Op::ArrayStoreMasked, imm) => {
                let mask = args.get(2).map_or([1; L], |&mask| self.lanes(mask));
                let (index, value) = (self.lanes(args[0]), self.lanes(args[1]));
                for l in (0..L).filter(|&l| mask[l] != 0) {
                    if let Some(cell) = self.array_cell(imm, index[l]) {
                        cell[(l + first) % L] = value[l];
                    }
                }
                return;
            }
            (Op::ArrayLoad, imm) => {
                let index = self.lanes(args[0]);
                std::array::from_fn(|l| self.array_cell(imm, index[l]).map_or(0, |cell| cell[(l + first) % L]))
            }
            (Op::Input | Op::InputWord, Imm::Element { element, component }) => {
                turned(bindings.inputs[element as usize][usize::from(component)])
            }
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => turned(bindings.vertex_id),
            (Op::Sysval, Imm::SysVal(SysVal::InstanceId)) => [bindings.instance_id; L],
            (Op::Sysval, Imm::SysVal(SysVal::Active)) => turned(active(&bindings.vertex_id)),
            (Op::UniformLoad | Op::UniformLoadAt, imm) => {
                let index = args.first().map_or([0; L], |&index| self.lanes(index));
                self.uniform_words(bindings, imm, index)
            }
            (Op::ResourceLoad, Imm::ResourceByte { resource, offset }) => {
                let bytes = readable(bindings, resource);
                self.lanes(args[0]).map(|at| {
                    let word =
                        (at as usize).checked_add(offset as usize).and_then(|start| bytes.get(start..)?.first_chunk());
                    word.map_or(0, |&word| u32::from_le_bytes(word))
                })
            }
            (Op::ResourceBytes, Imm::Resource(resource)) => [readable(bindings, resource).len() as u32; L],
            (Op::Const, Imm::Bits(bits)) => {
                if inst.ty == Type::F64 {
                    return self.set_pair(result(inst), [bits as u32; L], [(bits >> 32) as u32; L]);
                }
                [bits as u32; L]
            }
            (Op::Select, _) if inst.ty == Type::F64 => {
                let condition = self.lanes(args[0]);
                let [low, high] = [Self::lanes, Self::high].map(|word| {
                    eval(Op::Select, Type::I32, &[condition, word(self, args[1]), word(self, args[2])], options.fused)
                });
                return self.set_pair(result(inst), low, high);
            }
            (Op::F64join, _) => {
                return self.set_pair(result(inst), self.lanes(args[0]), self.lanes(args[1]));
            }
            (Op::RowJoin, _) => {
                return self.set_row(result(inst), std::array::from_fn(|word| self.lanes(args[word])));
            }
            (Op::InputRow, Imm::Stream(element)) => {
                return self.set_row(result(inst), bindings.inputs[element as usize].map(turned));
            }
            (Op::RowSplat, Imm::Component(component)) => {
                return self.set_row(result(inst), [self.row(args[0])[usize::from(component)]; 4]);
            }
            (Op::RowEach, _) => return self.set_row(result(inst), [self.lanes(args[0]); 4]),
            (Op::RowAt, Imm::SpaceRow { space, row }) => {
                let rows = [0, 1, 2, 3].map(|component| {
                    let index = self.lanes(args[0]);
                    self.uniform_words(bindings, Imm::Row { space, row, component }, index)
                });
                return self.set_row(result(inst), rows);
            }
            (Op::LanePick, Imm::Picks(picks)) => {
                let operands = [0, 1].map(|operand| self.lanes(args[operand]));
                let mut picked = [0; L];
                for (to, (operand, lane)) in picked.iter_mut().zip(picks.sources(L)) {
                    *to = operands[operand][lane];
                }
                picked
            }
            (Op::RowWord, Imm::Component(component)) => self.row(args[0])[usize::from(component)],
            (op, imm) if let Some(access) = Access::new(op, imm) => {
                let row = self.access(&access, args, bindings.textures);
                if inst.result.is_none() {
                    return;
                }
                if inst.ty == Type::Row {
                    return self.set_row(result(inst), row);
                }
                row[0]
            }
            (Op::F64lo, _) => self.lanes(args[0]),
            (Op::F64hi, _) => self.high(args[0]),
            (op, _) if double::is_double_op(op) => {
                let mut operands = [[0; L]; double::OPERANDS];
                for (operand, &arg) in operands.iter_mut().zip(args.iter()) {
                    *operand = self.wide_lanes(arg);
                }
                let results: [u64; L] = std::array::from_fn(|l| double::eval(op, operands.map(|operand| operand[l])));
                let low = results.map(|bits| bits as u32);
                if inst.ty == Type::F64 {
                    return self.set_pair(result(inst), low, results.map(|bits| (bits >> 32) as u32));
                }
                low
            }
            (op, _) if inst.ty == Type::Row => {
                let rows: [[Lanes<L>; 4]; 3] =
                    std::array::from_fn(|number| args.get(number).map_or([[0; L]; 4], |&arg| self.row(arg)));
                let words = |word: usize| {
                    let operands = rows.map(|row| row[word]);
                    eval(op, Type::I32, &operands[..args.len()], options.fused)
                };
                return self.set_row(result(inst), std::array::from_fn(words));
            }
            (op, _) => {
                let mut operands = [[0; L]; Operands::MAX];
                for (operand, &arg) in operands.iter_mut().zip(args.iter()) {
                    *operand = self.lanes(arg);
                }
                eval(op, inst.ty, &operands[..args.len()], options.fused)
            }
        };
        let slot = self.slot_of[result(inst)] as usize;
        self.slots[slot] = lanes;
    }

    /// One component of the row of each lane's index in a uniform space.
    fn uniform_words(&self, bindings: &Bindings<'_, L>, imm: Imm, index: Lanes<L>) -> Lanes<L> {
        let Imm::Row { space, row, component } = imm else { return [0; L] };
        let table = self.func.spaces[space].table.as_deref();
        let rows = table.unwrap_or_else(|| bindings.uniforms[space.as_u32() as usize]);
        index.map(|index| {
            let row = row.wrapping_add(index) as usize;
            rows.get(row).map_or(0, |row| row[usize::from(component)])
        })
    }

    fn array_cell(&mut self, imm: Imm, index: u32) -> Option<&mut Lanes<L>> {
        let Imm::Array { array, component } = imm else { return None };
        let components = usize::from(self.func.arrays[array].components);
        let cell = (index as usize).checked_mul(components)?.checked_add(usize::from(component))?;
        self.arrays[array.as_u32() as usize].get_mut(cell)
    }
}

/// What can be read of a resource.
fn readable<'a, const L: usize>(bindings: &Bindings<'a, L>, resource: Resource) -> &'a [u8] {
    let bytes = bindings.resources[resource.as_u32() as usize];
    &bytes[..bytes.len().min(RESOURCE_BYTES as usize)]
}

fn result(inst: &InstData) -> Value {
    inst.result.expect("the op has a result")
}
