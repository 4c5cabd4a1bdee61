//! Texture accesses: what native code passes on, and what it makes of the answers.

use super::{Case, EDGES, check, lockstep};
use shaderjit_ir::function::Imm;
use shaderjit_ir::texture::{Access, OPS, Rows, TextureShape, Textures};
use shaderjit_ir::{FunctionBuilder, Op, Resource, Sampler, Type, Value};

/// Answers that mix all that is asked, each word in its own way.
#[derive(Debug)]
pub struct Mixed;

impl Textures for Mixed {
    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        let mix = |sum: u32, word: u32| sum.wrapping_mul(0x9e37_79b1).wrapping_add(word);
        let sampler = access.sampler.map_or(99, |sampler| sampler.as_u32());
        let [u, v, w] = access.offsets.map(|offset| offset as u32);
        let asked = [access.op as u32, access.texture.as_u32(), sampler, u, v, w, access.component.into()];
        let asked = asked.into_iter().fold(0, mix);
        for lane in 0..lanes {
            let operands = (0..access.op.operands().len()).flat_map(|operand| {
                let is_row = access.op.operands()[operand].fixed() == Some(Type::Row);
                rows.get(operand, lane).into_iter().take(if is_row { 4 } else { 1 })
            });
            let sum = operands.fold(asked, mix);
            // No NaN, whose payload would count.
            let word = |factor: u32| sum.wrapping_mul(factor) & 0xbfff_ffff;
            rows.set(lane, [1, 3, 5, 7].map(word));
        }
    }
}

/// Every access, on operands that `word` makes: of the input, or of a uniform space.
fn accesses(word: impl Fn(&mut FunctionBuilder, u8, Type) -> Value) -> shaderjit_ir::Function {
    let mut b = FunctionBuilder::new("accesses", 1, OPS.len() as u32 + 1);
    b.add_space("cb0", None);
    let textures = [TextureShape::D2, TextureShape::D2Ms].map(|shape| b.add_texture("t", shape));
    for name in ["s0", "s1"] {
        b.add_sampler(name);
    }
    let (mut floats, mut integers) = (Vec::new(), Vec::new());
    for component in 0..4 {
        floats.push(word(&mut b, component, Type::F32));
        integers.push(word(&mut b, component, Type::I32));
    }
    let mut last = None;
    for (output, &op) in (0..).zip(&OPS) {
        let is_multisampled = op == Op::TextureSamples;
        let (texture, sampler) = (textures[usize::from(is_multisampled)], Sampler::from_u32(output % 2));
        let offsets = [-1, 2, 0];
        let imm = match op {
            Op::TextureLoad => Imm::Texel { texture, offsets },
            Op::TextureSize | Op::TextureSamples => Imm::Resource(texture),
            Op::Gather | Op::GatherAt => Imm::Gather { texture, sampler, offsets, component: 2 },
            _ => Imm::Sample { texture, sampler, offsets },
        };
        let args: Vec<Value> = (op.operands().iter().enumerate())
            .map(|(number, rule)| match rule.fixed() {
                Some(Type::Row) => {
                    let words = if op == Op::TextureLoad { &integers } else { &floats };
                    b.row_join(std::array::from_fn(|word| words[(word + number) % 4]))
                }
                Some(Type::I32) => integers[1],
                _ => floats[number],
            })
            .collect();
        let result = b.emit(op, Type::I32, &args, imm).unwrap();
        if b.ty(result) != Type::Row {
            b.output(output, 0, result);
            continue;
        }
        for component in 0..4 {
            let ty = if component % 2 == 0 { Type::I32 } else { Type::F32 };
            let word = b.row_word(ty, result, component);
            b.output(output, component, word);
        }
        last = Some(result);
    }
    // What an access gives may be where another one looks; and a row need not have been to a texture.
    let imm = Imm::Texel { texture: Resource::from_u32(0), offsets: [0; 3] };
    let again = b.texture_access(Op::TextureLoad, &[last.unwrap()], imm);
    let joined = b.row_join([floats[0], floats[1], floats[2], floats[3]]);
    for (component, row) in [again, joined, again, joined].into_iter().enumerate() {
        let word = b.row_word(Type::I32, row, component as u8);
        b.output(OPS.len() as u32, component as u8, word);
    }
    b.ret();
    lockstep(b)
}

/// The textures have no bytes of their own.
fn case(input: super::Rows) -> Case {
    Case { resources: vec![Vec::new(); 2], ..Case::new(input) }
}

#[test]
fn every_access_gets_its_operands_and_gives_its_answer() {
    let func = accesses(|b, component, ty| b.input(ty, 0, component));
    check(&func, &[case(EDGES.windows(4).map(|words| words.try_into().unwrap()).collect())]);
}

#[test]
fn what_is_uniform_is_asked_once() {
    let func = accesses(|b, component, ty| b.uniform_load(ty, shaderjit_ir::Space::from_u32(0), 0, component));
    let case = Case { uniforms: vec![vec![[1.0f32.to_bits(), 2, 3, 0x8000_0000]]], ..case(vec![[0; 4]; 9]) };
    check(&func, &[case]);
}

#[test]
fn uniform_and_divergent_words_meet_in_a_row() {
    let func = accesses(|b, component, ty| match component {
        0 => b.uniform_load(ty, shaderjit_ir::Space::from_u32(0), 0, 1),
        1 => b.constant(ty, 0x40a0_0000),
        _ => b.input(ty, 0, component),
    });
    let input = EDGES.windows(4).map(|words| words.try_into().unwrap()).collect();
    check(&func, &[Case { uniforms: vec![vec![[1, 2, 3, 4]]], ..case(input) }]);
}
