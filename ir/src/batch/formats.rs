//! Formats as arithmetic: inputs that are no words of the caller's rows become instructions on such words.
//!
//! What the instructions are is the format's own [definition](crate::packing). They stand in the entry block, where
//! rows are fetched: in place of the input, or at the end for one that another block has, which may run many times.

use super::Layout;
use crate::entity::Value;
use crate::function::{Function, Imm, InstData};
use crate::op::Op;
use crate::packing::Packing;
use crate::pass::{Aliases, Emit, ExpandOptions, Writer};
use crate::types::Type;
use crate::uses::Uses;

/// What is made of an input element.
#[derive(Clone, Copy, Default)]
struct Element {
    /// Which of its words are needed, bit 0 = the first.
    needed: u8,
    /// Those words. They are loaded together.
    words: Option<[Option<Value>; 4]>,
    /// Components that have been made of them.
    components: [Option<Value>; 4],
}

/// Writes each input that is no word of its row as arithmetic on words, or as a literal where the row does not have it.
pub(super) fn write(func: &mut Function, layout: &Layout, options: &ExpandOptions) {
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !insts.any(|&inst| converted(layout, &func.insts[inst]).is_some()) {
        return;
    }
    let mut elements = vec![Element::default(); layout.inputs.len()];
    let uses = Uses::count(func, &func.layout);
    let (entry, mut inputs) = (func.entry(), Vec::new());
    for &block in &func.layout {
        let insts = &func.insts;
        func.blocks[block].insts.retain(|&inst| {
            let data = &insts[inst];
            let Some((element, component, packing)) = converted(layout, data) else { return true };
            let is_used = data.result.is_some_and(|result| uses[result].guards + uses[result].others > 0);
            if let Some(field) = packing.field(component).filter(|_| is_used) {
                elements[element].needed |= 1 << field.word();
            }
            if is_used && block != entry {
                inputs.push(inst);
            }
            is_used && block == entry
        });
    }
    let mut aliases = Aliases::default();
    let insts = std::mem::take(&mut func.blocks[entry].insts);
    let mut writer = Writer::new(func, entry, options);
    for inst in insts.into_iter().chain(inputs) {
        let data = writer.func.insts[inst];
        let Some((element, component, packing)) = converted(layout, &data) else {
            writer.func.blocks[entry].insts.push(inst);
            continue;
        };
        writer.func.origin = data.origin;
        let value = match packing.field(component) {
            None => writer.constant(data.ty, packing.default_component(component)),
            Some(field) => {
                let words = elements[element].words(&mut writer, element);
                let word = words[field.word()].expect("what holds a component is needed");
                let converted = &mut elements[element].components[component];
                let value = *converted.get_or_insert_with(|| packing.kind.convert(&mut writer, word, field));
                match (writer.func.ty(value), data.ty) {
                    (Type::F32, Type::I32) => writer.op(Op::BitcastI32, &[value]),
                    (Type::I32, Type::F32) => writer.op(Op::BitcastF32, &[value]),
                    _ => value,
                }
            }
        };
        aliases.replace(data.result.expect("inputs have a result"), value);
    }
    aliases.apply(func);
}

/// The element and the component of an input that is no word of its row, and how that is packed.
fn converted(layout: &Layout, inst: &InstData) -> Option<(usize, usize, Packing)> {
    let (Op::Input, Imm::Element { element, component }) = (inst.op, inst.imm) else { return None };
    let (element, component) = (element as usize, usize::from(component));
    let packing = *layout.inputs.get(element)?;
    let is_word = packing.is_words() && component < packing.components();
    (!is_word).then_some((element, component, packing))
}

impl Element {
    /// The words that are needed.
    fn words(&mut self, writer: &mut Writer<'_>, number: usize) -> [Option<Value>; 4] {
        *self.words.get_or_insert_with(|| {
            [0, 1, 2, 3].map(|word| {
                let imm = Imm::Element { element: number as u32, component: word };
                (self.needed & (1 << word) != 0).then(|| writer.push(Op::InputWord, Type::I32, &[], imm))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::FunctionBuilder;
    use crate::batch::{BatchInterpreter, BatchProgram, Layout, Machine};
    use crate::eval::Lanes;
    use crate::interp::{Bindings, InterpOptions};
    use crate::packing::{NumericKind, Packing};
    use crate::texture::NoTextures;
    use crate::types::Type;
    use crate::verify::Verified;

    /// Outputs of both types: the components in order and in reverse.
    fn program(packing: Packing) -> BatchProgram {
        let mut b = FunctionBuilder::new("f", 1, 2);
        for component in 0..4 {
            let (float, integer) = (b.input(Type::F32, 0, component), b.input(Type::I32, 0, 3 - component));
            b.output(0, component, float);
            b.output(1, component, integer);
        }
        b.ret();
        let mut func = b.finish();
        func.lockstep = true;
        let layout = Layout { inputs: vec![packing], outputs: vec![4, 4].into() };
        let machine = Machine::of_128_bits(1);
        BatchProgram::plan(&Verified::new(func).unwrap(), layout, machine, crate::batch::Pass::LAST).unwrap()
    }

    #[test]
    fn instructions_compute_what_decode_does() {
        use NumericKind::*;
        let widths: [&[u32]; 7] =
            [&[32, 32, 32], &[8, 8, 8, 8], &[8], &[16, 16], &[16, 16, 16], &[10, 10, 10, 2], &[11, 11, 10]];
        let is_float = |widths: &[u32]| matches!(widths[0], 11 | 16 | 32);
        let mut state = 1u32;
        for kind in [Float, Uint, Sint, Unorm, Snorm, Uscaled, Sscaled] {
            let is_known = |widths: &&[u32]| if kind == Float { is_float(widths) } else { widths[0] < 32 };
            for packing in widths.into_iter().filter(is_known).map(|widths| Packing::new(kind, widths)) {
                let program = program(packing);
                let mut interpreter = BatchInterpreter::<8>::new(&program);
                for _ in 0..200 {
                    let row: [Lanes<8>; 4] = [(); 4].map(|()| {
                        [(); 8].map(|()| {
                            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            state.rotate_left(16)
                        })
                    });
                    let bindings = Bindings {
                        inputs: &[row],
                        vertex_id: [0; 8],
                        instance_id: 0,
                        uniforms: &[],
                        resources: &[],
                        textures: &NoTextures,
                    };
                    let options = InterpOptions { fuel: 0.into(), fused: true };
                    let outputs = interpreter.run(&bindings, &options).unwrap();
                    for lane in 0..8 {
                        let bytes: Vec<u8> = row.iter().flat_map(|word| word[lane].to_le_bytes()).collect();
                        let mut expected = packing.decode(&bytes[..packing.bytes()]);
                        for output in outputs {
                            assert_eq!(output.map(|lanes| lanes[lane]), expected, "{packing:?} of {bytes:x?}");
                            expected.reverse();
                        }
                    }
                }
            }
        }
    }
}
