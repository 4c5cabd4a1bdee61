//! Copy propagation from buffer to buffer: outputs that are an input passed on are copied by the call, or by the loop
//! that computes the others.

use super::Layout;
use super::outputs::Components;
use crate::entity::Block;
use crate::function::{Function, Imm};
use crate::op::Op;
use crate::types::Type;

/// An output element that is an input element passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The output element.
    pub output: u32,
    /// The input element.
    pub input: u32,
}

/// Finds the outputs of which every stored component is that component of one input: inputs are words by now.
pub(super) fn find(func: &Function, layout: &Layout, outputs: &[Components]) -> Vec<Copy> {
    let source = |(components, &stored): (&Components, &u8)| {
        let input = |component: u8| {
            let data = func.def_inst(components[usize::from(component)]?)?;
            match (data.op, data.imm) {
                (Op::Input, Imm::Element { element, component: of }) if of == component => Some(element),
                _ => None,
            }
        };
        let first = (stored > 0).then(|| input(0))??;
        (1..stored).all(|component| input(component) == Some(first)).then_some(first)
    };
    let elements = (0..).zip(outputs.iter().zip(&layout.outputs));
    elements.filter_map(|(output, element)| Some(Copy { output, input: source(element)? })).collect()
}

/// Has a block, the one that returns, copy rows: memory is gone through once.
pub(super) fn write(func: &mut Function, block: Block, copies: &[Copy]) {
    func.origin = Default::default();
    for copy in copies {
        let load = func.make_inst(Op::InputRow, Type::I32, &[], Imm::Stream(copy.input));
        let row = func.insts[load].result.expect("a row is a value");
        let store = func.make_inst(Op::OutputRow, Type::I32, &[row], Imm::Stream(copy.output));
        func.blocks[block].insts.extend([load, store]);
    }
}
