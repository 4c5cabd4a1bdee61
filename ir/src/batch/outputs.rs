//! Outputs of a program: each component that is stored is set, and no other.

use super::Layout;
use crate::function::{Function, Imm, Terminator};
use crate::{Block, Inst, Op, Type, Value};
use smallvec::{SmallVec, smallvec};

/// The values that a block sets an output element's components to.
pub type Components = [Option<Value>; 4];

/// The one block that returns, if there is only one.
pub fn returning_block(func: &Function, order: &[Block]) -> Option<Block> {
    let mut returning = order.iter().copied().filter(|&block| *func.blocks[block].terminator() == Terminator::Return);
    returning.next().filter(|_| returning.next().is_none())
}

/// For each output element of the layout, the values that a block sets its components to.
pub fn of_block(func: &Function, layout: &Layout, block: Block) -> SmallVec<[Components; 8]> {
    let mut outputs: SmallVec<[Components; 8]> = smallvec![[None; 4]; layout.outputs.len()];
    for data in func.insts_in(block) {
        if let (Op::Output, Imm::Element { element, component }) = (data.op, data.imm)
            && let Some(components) = outputs.get_mut(element as usize)
        {
            components[usize::from(component)] = Some(data.args[0]);
        }
    }
    outputs
}

/// Removes the instructions that set such output elements, and says whether there are any.
pub fn remove(func: &mut Function, is_removed: impl Fn(u32) -> bool) -> bool {
    let (insts, mut any) = (&func.insts, false);
    for &block in &func.layout {
        func.blocks[block].insts.retain(|&inst| match (insts[inst].op, insts[inst].imm) {
            (Op::Output, Imm::Element { element, .. }) if is_removed(element) => {
                any = true;
                false
            }
            _ => true,
        });
    }
    any
}

/// Sets the components to zero that the function leaves out of elements which lanes are `stored` in: behind those that
/// it sets of the element, or at its end. A layout may have more elements than the function.
pub fn complete(func: &mut Function, order: &[Block], layout: &Layout, stored: &[bool]) {
    let Some(block) = returning_block(func, order) else { return };
    func.outputs = func.outputs.max(layout.outputs.len() as u32);
    let outputs = of_block(func, layout, block);
    let mut zero = None;
    for (element, components) in (0..).zip(outputs).filter(|&(element, _)| stored[element as usize]) {
        let count = usize::from(layout.outputs[element as usize]);
        let missing: Vec<u8> =
            (0..).zip(&components[..count]).filter(|(_, set)| set.is_none()).map(|(component, _)| component).collect();
        if missing.is_empty() {
            continue;
        }
        let zero = *zero.get_or_insert_with(|| {
            let inst = func.make_inst(Op::Const, Type::F32, &[], Imm::Bits(0));
            func.blocks[block].insts.insert(0, inst);
            func.insts[inst].result.expect("a literal is a value")
        });
        let set = |component| func.make_inst(Op::Output, Type::F32, &[zero], Imm::Element { element, component });
        let new: Vec<Inst> = missing.into_iter().map(set).collect();
        let is_of_it = |inst: &Inst| {
            let data = &func.insts[*inst];
            data.op == Op::Output && matches!(data.imm, Imm::Element { element: other, .. } if other == element)
        };
        let insts = &mut func.blocks[block].insts;
        let at = insts.iter().rposition(is_of_it).map_or(insts.len(), |at| at + 1);
        insts.splice(at..at, new);
    }
}
