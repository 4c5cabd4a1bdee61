//! Outputs that are an input passed on: their rows are copied, not taken apart and put together again.

use super::Emitter;
use super::plan::Stream;
use crate::jit::Layout;
use cranelift_codegen::ir::types::{I32, I32X4, I64};
use shaderjit_ir::function::Imm;
use shaderjit_ir::{Function, Op, Value};

/// What is copied.
#[derive(Default)]
pub struct Copies {
    /// For each output element of the layout, the input element that it is.
    of_output: Vec<Option<u32>>,
}

impl Copies {
    /// Finds the outputs of which every stored component is that component of one input, stored in words.
    pub fn find(func: &Function, layout: &Layout, outputs: &[[Option<Value>; 4]]) -> Copies {
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
        Copies { of_output: outputs.iter().zip(&layout.outputs).map(source).collect() }
    }

    /// The input element that an output element is a copy of.
    pub fn source(&self, output: u32) -> Option<u32> {
        self.of_output.get(output as usize).copied().flatten()
    }

    /// Every input element of which there is a copy.
    pub fn sources(&self) -> impl Iterator<Item = u32> {
        self.of_output.iter().copied().flatten()
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
