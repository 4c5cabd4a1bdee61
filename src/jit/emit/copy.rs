//! Outputs that are an input passed on: their rows are copied, not taken apart and put together again.

use super::Emitter;
use super::plan::Stream;
use crate::jit::Layout;
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::types::{I32, I32X4, I64};
use shaderjit_ir::function::{Imm, Terminator};
use shaderjit_ir::{Block, Function, Op, Value};

/// What is copied.
#[derive(Default)]
pub struct Copies {
    /// For each output element of the layout, the input element that it is.
    of_output: Vec<Option<u32>>,
    /// Values that something else than a copy uses.
    used: EntitySet<Value>,
}

impl Copies {
    /// Finds the outputs of which every stored component is that component of one input, stored in words.
    pub fn find(func: &Function, layout: &Layout, order: &[Block]) -> Copies {
        let mut outputs = vec![[None; 4]; layout.outputs.len()];
        let insts = order.iter().flat_map(|&block| func.blocks[block].insts.iter().map(move |&inst| (block, inst)));
        let returns = |block: Block| *func.blocks[block].terminator() == Terminator::Return;
        for (block, inst) in insts.clone() {
            let data = &func.insts[inst];
            if let (Op::Output, Imm::Element { element, component }) = (data.op, data.imm)
                && let Some(components) = outputs.get_mut(element as usize)
                && returns(block)
            {
                components[usize::from(component)] = Some(data.args[0]);
            }
        }
        let source = |(components, &stored): (&[Option<Value>; 4], &u8)| {
            let inputs = (0..stored).map(|component| {
                let data = func.def_inst(components[usize::from(component)]?)?;
                match (data.op, data.imm) {
                    (Op::Input, Imm::Element { element, component: of }) if of == component => Some(element),
                    _ => None,
                }
            });
            let inputs = inputs.collect::<Option<Vec<u32>>>()?;
            let &first = inputs.first()?;
            let format = layout.inputs.get(first as usize)?;
            let is_whole =
                format.kind().is_word() && format.components() >= inputs.len() && inputs.iter().all(|&it| it == first);
            is_whole.then_some(first)
        };
        let mut copies =
            Copies { of_output: outputs.iter().zip(&layout.outputs).map(source).collect(), used: EntitySet::new() };
        for (_, inst) in insts {
            let data = &func.insts[inst];
            let is_copied = matches!((data.op, data.imm), (Op::Output, Imm::Element { element, .. }) if copies.source(element).is_some());
            if !is_copied {
                data.args.iter().for_each(|&arg| _ = copies.used.insert(arg));
            }
        }
        for &block in order {
            func.blocks[block].terminator().uses().for_each(|value| _ = copies.used.insert(value));
        }
        copies
    }

    /// The input element that an output element is a copy of.
    pub fn source(&self, output: u32) -> Option<u32> {
        self.of_output.get(output as usize).copied().flatten()
    }

    /// Every input element of which there is a copy.
    pub fn sources(&self) -> impl Iterator<Item = u32> {
        self.of_output.iter().copied().flatten()
    }

    /// Whether the value of an input is needed apart from copies.
    pub fn leave(&self, value: Value) -> bool {
        self.used.contains(value)
    }
}

impl Emitter<'_, '_> {
    /// Stores the first `words` words of each row of an input as an output.
    pub(super) fn copy_rows(&mut self, input: u32, output: u32, words: u8) {
        let parts: &[_] = match words {
            1 => &[(I32, 0)],
            2 => &[(I64, 0)],
            3 => &[(I64, 0), (I32, 8)],
            _ => &[(I32X4, 0)],
        };
        let (from, to) = (self.rows(Stream::Input(input)), self.rows(Stream::Output(output)));
        for (from, to) in from.into_iter().zip(to) {
            for &(ty, at) in parts {
                let word = self.simd.load(ty, from, at);
                self.simd.store(word, to, at);
            }
        }
    }
}
