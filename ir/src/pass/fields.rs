//! Strength reduction of unpacking: bit fields become floats where they lie, and the scale takes up the shift.
//!
//! `float(x >> 8 & 255) * (1 / 255)` is how packed colours, normals and hashes are read. `float(x & 0xff00)` is the
//! same number times 256, exactly, so multiplying it by `1 / 255 / 256` gives the same product: powers of two move no
//! bit of a significand. That saves the shift.

use crate::entity::{Block, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::Op;
use crate::types::Type;
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;

/// Where the exponent of a float begins.
const EXPONENT: u32 = 23;

/// Takes the shifts out of fields that are scaled by a literal and used for nothing else.
pub fn fields(func: &mut Function) {
    let has_fields = |&block: &Block| func.insts_in(block).any(|inst| Field::converted_by(func, inst).is_some());
    if !func.layout.iter().any(has_fields) {
        return;
    }
    let uses = Uses::count(func, &func.layout);
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut written = Vec::with_capacity(insts.len());
        for inst in insts {
            let data = func.insts[inst];
            if let Some(field) = Field::scaled_by(func, &uses, &data) {
                func.origin = data.origin;
                let mut put = |op, ty, args: &[Value], imm| {
                    let inst = func.make_inst(op, ty, args, imm);
                    written.push(inst);
                    func.insts[inst].result.expect("the ops have results")
                };
                let mask = put(Op::Const, Type::I32, &[], Imm::Bits(field.mask.into()));
                let scale = put(Op::Const, Type::F32, &[], Imm::Bits(field.scale.into()));
                let bits = put(Op::And, Type::I32, &[field.word, mask], Imm::None);
                let number = put(Op::Itof, Type::I32, &[bits], Imm::None);
                func.insts[inst].args[..2].copy_from_slice(&[number, scale]);
            }
            written.push(inst);
        }
        func.blocks[block].insts = written;
    }
}

/// What a field is read as instead.
struct Field {
    /// What it is a part of.
    word: Value,
    /// Its bits, where they lie.
    mask: u32,
    /// What the number of those bits is multiplied by.
    scale: u32,
}

impl Field {
    /// The field that a product multiplies by a literal.
    fn scaled_by(func: &Function, uses: &SecondaryMap<Value, Uses>, product: &InstData) -> Option<Field> {
        if !matches!(product.op, Op::Fmul | Op::Fma | Op::Fmad) {
            return None;
        }
        let literal = |value| func.constant(value).map(|bits| bits as u32);
        let (number, scale) = match (literal(product.args[0]), literal(product.args[1])) {
            (None, Some(scale)) => (product.args[0], scale),
            (Some(scale), None) => (product.args[1], scale),
            _ => return None,
        };
        let conversion = func.def_inst(number)?;
        let (word, mask, by) = Field::converted_by(func, conversion)?;
        let is_alone = [number, conversion.args[0]].iter().all(|&value| uses[value].only().is_some());
        is_alone.then_some(Field { word, mask, scale: divide(scale, by)? })
    }

    /// What a conversion takes from a word: the word, the bits where they lie there, and how far they are shifted.
    fn converted_by(func: &Function, conversion: &InstData) -> Option<(Value, u32, u32)> {
        if !matches!(conversion.op, Op::Itof | Op::Utof) {
            return None;
        }
        let literal = |value| func.constant(value).map(|bits| bits as u32);
        let masked = func.def_inst(conversion.args[0]).filter(|def| def.op == Op::And)?;
        let shift = func.def_inst(masked.args[0]).filter(|def| matches!(def.op, Op::Ushr | Op::Sshr))?;
        let (mask, by) = (literal(masked.args[1])?, literal(shift.args[1])? & 31);
        // The top bit would be a sign.
        let is_positive = u64::from(mask) << by <= i32::MAX as u64;
        is_positive.then_some((shift.args[0], mask << by, by))
    }
}

/// A normal float divided by a power of two, if that is normal, too: denormals would count as zero.
fn divide(bits: u32, power: u32) -> Option<u32> {
    let divided = bits.checked_sub(power << EXPONENT)?;
    let are_normal = [bits, divided].iter().all(|&bits| f32::from_bits(bits).is_normal());
    let is_same_sign = (bits ^ divided) >> 31 == 0;
    (are_normal && is_same_sign).then_some(divided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::{Bindings, InterpOptions, Interpreter};
    use crate::pass::dce;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};
    use crate::texture::NoTextures;
    use crate::{FunctionBuilder, parse::parse};

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(fields);
    }

    #[test]
    fn literals_are_divided_by_powers_of_two_while_they_stay_normal() {
        for (scale, by, divided) in [
            (1.0, 8, Some(1.0 / 256.0)),
            (-1.0 / 255.0, 16, Some(-1.0 / 255.0 / 65536.0)),
            (f32::MIN_POSITIVE * 4.0, 2, Some(f32::MIN_POSITIVE)),
            (f32::MIN_POSITIVE * 4.0, 3, None),
            (-f32::MIN_POSITIVE, 1, None),
            (0.0, 1, None),
            (-0.0, 1, None),
            (f32::INFINITY, 1, None),
            (f32::NAN, 4, None),
        ] {
            assert_eq!(divide(scale.to_bits(), by), divided.map(f32::to_bits), "{scale:e} / 2^{by}");
        }
    }

    /// Shifts and widths of fields, with products that are rounded, flushed and infinite.
    #[test]
    fn fields_give_the_same_products_where_they_lie() {
        let words = [0, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x1234_5678, 0xdead_beef, 0x00ff_ff00, 1 << 20];
        for by in [0, 1, 8, 10, 16, 23, 24, 31] {
            for width in [1, 5, 8, 10, 24, 27, 31] {
                for scale in [1.0 / 255.0, -3.0e38, 1.5e-38, 1.0e-30] {
                    for (shift, convert) in [(Op::Ushr, Op::Itof), (Op::Sshr, Op::Utof)] {
                        let mut b = FunctionBuilder::new("f", 1, 1);
                        let (word, by, mask) = (b.input(Type::I32, 0, 0), b.i32(by), b.i32((1 << width) - 1));
                        let (scale, bias) = (b.f32(scale), b.f32(-1.0));
                        let shifted = b.op(shift, &[word, by]);
                        for (component, op) in [(0, Op::Fmul), (1, Op::Fma)] {
                            let field = b.and([shifted, mask]);
                            let number = b.op(convert, &[field]);
                            let args = [scale, number, bias];
                            let product = b.op(op, if op == Op::Fmul { &args[..2] } else { &args });
                            b.output(0, component, product);
                        }
                        b.ret();
                        let func = b.finish();
                        let mut reduced = func.clone();
                        fields(&mut reduced);
                        dce(&mut reduced);
                        let run = |func: &Function, word: u32| {
                            let bindings = Bindings {
                                inputs: &[[[word], [0], [0], [0]]],
                                vertex_id: [0],
                                instance_id: 0,
                                uniforms: &[],
                                resources: &[],
                                textures: &NoTextures,
                            };
                            let options = InterpOptions { fuel: 0.into(), fused: true };
                            Interpreter::<1>::new(func).run(&bindings, &options).unwrap()[0]
                        };
                        words.iter().for_each(|&word| assert_eq!(run(&reduced, word), run(&func, word), "{func}"));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_used_elsewhere_keeps_its_shift() {
        let text = |other: &str| {
            format!(
                "function \"f\" inputs 1 outputs 1 {{
block0:
    v0 = input.i32 0.0
    v1 = const.i32 8
    v2 = const.i32 255
    v3 = const.f32 0.5
    v4 = ushr v0, v1
    v5 = and.i32 v4, v2
    v6 = itof v5
    v7 = fmul v6, v3
    output.f32 0.0, v7
    {other}
    return
}}"
            )
        };
        for other in ["output.i32 0.1, v5", "output.f32 0.1, v6"] {
            let text = text(other);
            assert_makes(fields, &text, &text);
        }
        let mut func = parse(&text("output.i32 0.1, v4")).unwrap();
        fields(&mut func);
        assert!(func.to_string().contains("const.i32 65280"), "{func}");
    }
}
