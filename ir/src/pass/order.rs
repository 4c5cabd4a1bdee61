//! Brings inputs and outputs close to what is computed between them.
//!
//! Front ends read inputs where the program first names them and set outputs where it ends. What waits for either holds a register all
//! the way.

use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::Op;
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

/// Moves, within each block, the components of an input element to the first use of any of them, and those of an output element to
/// the last value that one of them is set to. Of instructions that set the same component only the last stays.
pub fn order(func: &mut Function) {
    let mut made = SecondaryMap::with_capacity(func.values.len());
    let mut before = 0;
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        let insts = Order::new(func, block, &mut made, before).insts();
        before += insts.len();
        func.blocks[block].insts = insts;
    }
}

/// A block on the way to its new order. A *place* is a number of instructions that stay in the order they have: those in front of it.
struct Order<'a> {
    func: &'a Function,
    /// Instructions that stay.
    others: Vec<Inst>,
    inputs: Vec<Inst>,
    outputs: Vec<Inst>,
    /// For each input element, the place of its first use, and whether that is an instruction there and not an output.
    first_use: HashMap<u32, (usize, bool)>,
    /// For each output element, the place behind all its values.
    complete: HashMap<u32, usize>,
}

impl<'a> Order<'a> {
    /// `made` has for each value of this block and those before it the place behind it, `before` the sum of their instructions.
    fn new(func: &'a Function, block: Block, made: &mut SecondaryMap<Value, usize>, before: usize) -> Order<'a> {
        let (others, inputs, outputs) = Default::default();
        let mut order = Order { func, others, inputs, outputs, first_use: HashMap::new(), complete: HashMap::new() };
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            match (data.op, data.imm) {
                (Op::Input, _) => order.inputs.push(inst),
                (Op::Output, _) => order.outputs.push(inst),
                _ => {
                    order.note_uses(data, (order.others.len(), true));
                    order.others.push(inst);
                    if let Some(result) = data.result {
                        made[result] = before + order.others.len();
                    }
                }
            }
        }
        let mut set = HashSet::new();
        order.outputs.reverse();
        order.outputs.retain(|&inst| set.insert(func.insts[inst].imm));
        order.outputs.reverse();
        for data in order.outputs.iter().map(|&inst| &func.insts[inst]) {
            let complete = order.complete.entry(element(data)).or_default();
            *complete = made[data.args[0]].saturating_sub(before).max(*complete);
        }
        let end = order.others.len();
        // What nothing here is computed for is set last, as it was.
        order.complete.values_mut().filter(|place| **place == 0).for_each(|place| *place = end);
        for index in 0..order.outputs.len() {
            let data = &func.insts[order.outputs[index]];
            order.note_uses(data, (order.complete[&element(data)], false));
        }
        order
    }

    fn note_uses(&mut self, user: &InstData, place: (usize, bool)) {
        for &arg in user.args.iter() {
            if let Some(data) = self.func.def_inst(arg)
                && data.op == Op::Input
            {
                let first = self.first_use.entry(element(data)).or_insert(place);
                *first = place.min(*first);
            }
        }
    }

    /// The instructions in their new order.
    fn insts(self) -> Vec<Inst> {
        if self.inputs.is_empty() && self.outputs.is_empty() {
            return self.others;
        }
        let end = self.others.len();
        // At each place: outputs with inputs that only they need, inputs of the next instruction, and that.
        let mut keyed: Vec<((usize, u8, u32), Inst)> = Vec::with_capacity(end + self.inputs.len() + self.outputs.len());
        keyed.extend(self.inputs.iter().map(|&inst| {
            let element = element(&self.func.insts[inst]);
            let &(place, is_for_other) = self.first_use.get(&element).unwrap_or(&(end, false));
            ((place, if is_for_other { 2 } else { 0 }, element), inst)
        }));
        keyed.extend(self.outputs.iter().map(|&inst| {
            let element = element(&self.func.insts[inst]);
            ((self.complete[&element], 1, element), inst)
        }));
        keyed.extend(self.others.iter().enumerate().map(|(place, &inst)| ((place, 3, 0), inst)));
        keyed.sort_by_key(|&(key, _)| key);
        keyed.into_iter().map(|(_, inst)| inst).collect()
    }
}

/// The element that an input or output is a component of.
fn element(data: &InstData) -> u32 {
    match data.imm {
        Imm::Element { element, .. } => element,
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
