//! Outputs that are an input passed on: the call copies their rows, and no code is made for them.

use crate::jit::Layout;
use shaderjit_ir::function::Imm;
use shaderjit_ir::{Function, Op, Value};

/// What is copied.
#[derive(Default)]
pub struct Copies {
    /// For each output element of the layout, the input element that it is.
    of_output: Vec<Option<u32>>,
}

impl Copies {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

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
            let packing = layout.inputs.get(first as usize)?.packing();
            let is_whole =
                packing.is_words() && packing.components() >= inputs.len() && inputs.iter().all(|&it| it == first);
            is_whole.then_some(first)
        };
        Copies { of_output: outputs.iter().zip(&layout.outputs).map(source).collect() }
    }

    /// The input element that an output element is a copy of.
    pub fn source(&self, output: u32) -> Option<u32> {
        self.of_output.get(output as usize).copied().flatten()
    }

    /// Every copy: output element, input element.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.of_output).filter_map(|(output, input)| Some((output, (*input)?)))
    }
}
