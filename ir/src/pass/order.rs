//! Brings inputs and outputs close to what is computed between them.
//!
//! Front ends read inputs where the program first names them and set outputs where it ends. What waits for either holds
//! a register all the way.

use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::Op;
use cranelift_entity::SecondaryMap;
use smallvec::{SmallVec, smallvec};

/// Moves, within each block, the components of an input element to the first use of any of them, and those of an output
/// element to the last value that one of them is set to. Of instructions that set the same component only the last
/// stays.
pub fn order(func: &mut Function) {
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if func.insts_in(block).any(|inst| matches!(inst.op, Op::Input | Op::Output)) {
            func.blocks[block].insts = Order::new(func, block).insts();
        }
    }
}

/// A block on the way to its new order. A *place* is a number of instructions that stay in the order they have: those
/// in front of it.
struct Order<'a> {
    func: &'a Function,
    /// Instructions that stay.
    others: Vec<Inst>,
    inputs: SmallVec<[Inst; 16]>,
    outputs: SmallVec<[Inst; 16]>,
    /// For each input element, the place of its first use, and whether that is an instruction there and not an output.
    first_use: SmallVec<[(usize, bool); 8]>,
    /// For each output element, the place behind all its values.
    complete: SmallVec<[usize; 8]>,
}

/// Where an instruction goes: a place, what comes before what there, and the element.
type Key = (usize, u8, usize);

impl<'a> Order<'a> {
    fn new(func: &'a Function, block: Block) -> Order<'a> {
        let insts = &func.blocks[block].insts;
        let mut order = Order {
            func,
            others: Vec::with_capacity(insts.len()),
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            first_use: smallvec![(insts.len(), false); func.inputs as usize],
            complete: smallvec![0; func.outputs as usize],
        };
        // Of each value that is made here the place behind it.
        let mut made: SecondaryMap<Value, u32> = func.value_map();
        for &inst in insts {
            let data = &func.insts[inst];
            match data.op {
                Op::Input => order.inputs.push(inst),
                Op::Output => order.outputs.push(inst),
                _ => {
                    order.note_uses(data, (order.others.len(), true));
                    order.others.push(inst);
                    if let Some(result) = data.result {
                        made[result] = order.others.len() as u32;
                    }
                }
            }
        }
        order.keep_last_outputs();
        for (element, data) in order.outputs.iter().map(|&inst| element(func, inst)) {
            order.complete[element] = order.complete[element].max(made[data.args[0]] as usize);
        }
        // What nothing here is computed for is set last, as it was.
        let end = order.others.len();
        order.complete.iter_mut().filter(|place| **place == 0).for_each(|place| *place = end);
        for index in 0..order.outputs.len() {
            let (element, data) = element(func, order.outputs[index]);
            order.note_uses(data, (order.complete[element], false));
        }
        order
    }

    fn note_uses(&mut self, user: &InstData, place: (usize, bool)) {
        for &arg in user.args.iter() {
            if let Some(InstData { op: Op::Input, imm: Imm::Element { element, .. }, .. }) = self.func.def_inst(arg) {
                let first = &mut self.first_use[*element as usize];
                *first = place.min(*first);
            }
        }
    }

    /// Drops outputs that others after them set again.
    fn keep_last_outputs(&mut self) {
        let mut set: SmallVec<[u8; 16]> = smallvec![0; self.complete.len()];
        self.outputs.reverse();
        self.outputs.retain(|&mut inst| {
            let Imm::Element { element, component } = self.func.insts[inst].imm else { return true };
            let (components, this) = (&mut set[element as usize], 1 << component);
            let is_last = *components & this == 0;
            *components |= this;
            is_last
        });
        self.outputs.reverse();
    }

    /// The instructions in their new order.
    fn insts(self) -> Vec<Inst> {
        // At each place: inputs that only outputs need, those, inputs of the next instruction, and that.
        let mut moved: SmallVec<[(Key, Inst); 16]> = SmallVec::new();
        moved.extend(self.inputs.iter().map(|&inst| {
            let (element, _) = element(self.func, inst);
            let (place, is_for_other) = self.first_use[element];
            ((place, if is_for_other { 2 } else { 0 }, element), inst)
        }));
        moved.extend(self.outputs.iter().map(|&inst| {
            let (element, _) = element(self.func, inst);
            ((self.complete[element], 1, element), inst)
        }));
        moved.sort_by_key(|&(key, _)| key);
        let mut insts = Vec::with_capacity(self.others.len() + moved.len());
        let mut moved = moved.into_iter().peekable();
        for (place, &inst) in self.others.iter().enumerate() {
            while let Some((_, moved)) = moved.next_if(|&((at, ..), _)| at <= place) {
                insts.push(moved);
            }
            insts.push(inst);
        }
        insts.extend(moved.map(|(_, inst)| inst));
        insts
    }
}

/// An input or output, and its element.
fn element(func: &Function, inst: Inst) -> (usize, &InstData) {
    let data = &func.insts[inst];
    match data.imm {
        Imm::Element { element, .. } => (element as usize, data),
        _ => unreachable!("{:?} has an element", data.op),
    }
}

#[cfg(test)]
mod tests {
    use super::order;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};

    #[test]
    fn inputs_and_outputs_go_to_what_is_between_them() {
        assert_makes(
            order,
            r#"function "f" inputs 2 outputs 3 {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 1.0
    v2 = fadd v0, v0
    v3 = fmul v2, v2
    v4 = fsub v1, v3
    v5 = fadd v4, v1
    v6 = input.f32 0.1
    output.f32 0.0, v3
    output.f32 1.0, v3
    output.f32 1.1, v1
    output.f32 2.0, v5
    output.f32 0.1, v6
    return
}
"#,
            r#"function "f" inputs 2 outputs 3 {
block0:
    v0 = input.f32 0.0
    v6 = input.f32 0.1
    v2 = fadd v0, v0
    v3 = fmul v2, v2
    v1 = input.f32 1.0
    output.f32 0.0, v3
    output.f32 0.1, v6
    output.f32 1.0, v3
    output.f32 1.1, v1
    v4 = fsub v1, v3
    v5 = fadd v4, v1
    output.f32 2.0, v5
    return
}
"#,
        );
    }

    #[test]
    fn of_two_settings_the_last_stays() {
        assert_makes(
            order,
            r#"function "f" inputs 2 outputs 1 {
block0:
    v0 = input.f32 0.0
    v1 = fadd v0, v0
    output.f32 0.0, v1
    v2 = fmul v1, v1
    v3 = fadd v2, v1
    output.f32 0.1, v2
    output.f32 0.0, v0
    return
}
"#,
            r#"function "f" inputs 2 outputs 1 {
block0:
    v0 = input.f32 0.0
    v1 = fadd v0, v0
    v2 = fmul v1, v1
    output.f32 0.1, v2
    output.f32 0.0, v0
    v3 = fadd v2, v1
    return
}
"#,
        );
    }

    #[test]
    fn results_stay_the_same() {
        assert_keeps_meaning(order);
    }
}
