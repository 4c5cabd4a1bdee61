//! Instructions on doubles.
//!
//! A double is a pair of components, xy or zw, the low word first. Where both sides of an instruction hold doubles,
//! pairs go to pairs; one side of 32 bits has components x and y for the first and the second double, and a destination
//! of 32 bits takes the results in the first and the second component of its mask, wherever those are (Microsoft's
//! documentation of the shader-model-5 instructions).

use shaderjit_ir::{Op, Type, Value};

use super::Lowering;
use super::arithmetic::{choose, mask_if};
use super::operand::as_float;
use crate::error::LowerError;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;

/// The low and the high word of a double, both `i32`.
type Words = [Value; 2];

/// How a result comes from the sources.
#[derive(Clone, Copy)]
enum Recipe {
    /// One op of the IR.
    Op(Op),
    /// A comparison: all ones where it holds.
    Test(Op),
    /// The op or comparison with its operands exchanged.
    Exchanged(Op),
    /// One divided by the source.
    Reciprocal,
    /// The words as they are.
    Move,
    /// The words of the second source where any bit of the first is set, else of the third.
    Choose,
}

/// The recipe of an opcode that has doubles.
fn recipe(opcode: Opcode) -> Option<Recipe> {
    use Recipe::{Choose, Exchanged, Move, Reciprocal, Test};
    let op = Recipe::Op;
    Some(match opcode {
        Opcode::DAdd => op(Op::Dadd),
        Opcode::DMul => op(Op::Dmul),
        Opcode::DDiv => op(Op::Ddiv),
        Opcode::DFma => op(Op::Dfma),
        Opcode::DMin => op(Op::Dmin),
        // Of equal operands the maximum is the first and the minimum the second, so that each of two comes out once.
        Opcode::DMax => Exchanged(Op::Dmax),
        Opcode::DRcp => Reciprocal,
        Opcode::DEq => Test(Op::Deq),
        Opcode::DNe => Test(Op::Dne),
        Opcode::DLt => Test(Op::Dlt),
        Opcode::DGe => Exchanged(Op::Dle),
        Opcode::DMov => Move,
        Opcode::DMovC => Choose,
        Opcode::DtoF => op(Op::Dtof),
        Opcode::DtoI => op(Op::Dtoi),
        Opcode::DtoU => op(Op::Dtou),
        Opcode::FtoD => op(Op::Ftod),
        Opcode::ItoD => op(Op::Itod),
        Opcode::UtoD => op(Op::Utod),
        _ => return None,
    })
}

/// Whether an instruction's operands or results are doubles.
pub(super) fn has_doubles(opcode: Opcode) -> bool {
    opcode.slots().iter().any(|slot| slot.class == DataClass::Double)
}

impl Lowering {
    /// Lowers an instruction that has doubles.
    pub(super) fn double(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let opcode = token.opcode;
        let recipe = recipe(opcode).ok_or_else(|| self.unsupported(opcode))?;
        // Each has one destination.
        let (destinations, sources) = operands.split_at(1);
        let target = self.destination(&destinations[0])?;

        // All sources are read before anything is written: a destination may be a source.
        let mut writes = Vec::with_capacity(4);
        if opcode.slots()[0].class == DataClass::Double {
            for number in pairs(target.mask)
                .ok_or_else(|| self.invalid(format!("half a double is written to .{}", target.mask)))?
            {
                let [low, high] = self.double_result(token, recipe, sources, number)?;
                let pair = pair(number);
                writes.extend([(pair[0], low), (pair[1], high)]);
            }
        } else {
            for (number, component) in target.mask.components().enumerate() {
                if number == 2 {
                    return Err(self.invalid(format!("two doubles give more than two results, .{}", target.mask)));
                }
                writes.push((component, self.word_result(token, recipe, sources, number)?));
            }
        }
        writes.into_iter().try_for_each(|(component, value)| self.write(&target, component, value))
    }

    /// The words of a result that is a double; `number` says which, 0 or 1.
    fn double_result(
        &mut self,
        token: OpcodeToken,
        recipe: Recipe,
        sources: &[Operand],
        number: usize,
    ) -> Result<Words, LowerError> {
        let words = match recipe {
            Recipe::Move => self.words(&sources[0], number)?,
            Recipe::Choose => {
                let condition = self.read(&sources[0], Component::ALL[number], DataClass::Untyped)?;
                let [yes, no] = [self.words(&sources[1], number)?, self.words(&sources[2], number)?];
                [0, 1].map(|word| choose(&mut self.b, condition, yes[word], no[word]))
            }
            _ => {
                let value = self.computed(token.opcode, recipe, sources, number)?;
                self.split(value)
            }
        };
        if !token.saturate() {
            return Ok(words);
        }
        // NaN loses against zero.
        let (zero, one) = (self.b.constant(Type::F64, 0), self.b.constant(Type::F64, 1.0f64.to_bits()));
        let value = self.b.f64join(words);
        let value = self.b.dmax([value, zero]);
        let value = self.b.dmin([value, one]);
        Ok(self.split(value))
    }

    /// A result of 32 bits, from the first or the second double.
    fn word_result(
        &mut self,
        token: OpcodeToken,
        recipe: Recipe,
        sources: &[Operand],
        number: usize,
    ) -> Result<Value, LowerError> {
        let value = self.computed(token.opcode, recipe, sources, number)?;
        let value = match recipe {
            Recipe::Test(_) | Recipe::Exchanged(_) => mask_if(&mut self.b, value),
            _ => value,
        };
        if !token.saturate() {
            return Ok(value);
        }
        let value = as_float(&mut self.b, value);
        Ok(self.b.fsat([value]))
    }

    /// What arithmetic gives, of whatever type.
    fn computed(
        &mut self,
        opcode: Opcode,
        recipe: Recipe,
        sources: &[Operand],
        number: usize,
    ) -> Result<Value, LowerError> {
        let mut args = Vec::with_capacity(3);
        for (operand, slot) in sources.iter().zip(&opcode.slots()[1..]) {
            args.push(match slot.class {
                DataClass::Double => {
                    let words = self.words(operand, number)?;
                    self.b.f64join(words)
                }
                class => self.read(operand, Component::ALL[number], class)?,
            });
        }
        Ok(match recipe {
            Recipe::Op(op) | Recipe::Test(op) => self.b.op(op, &args),
            Recipe::Exchanged(op) => self.b.op(op, &[args[1], args[0]]),
            Recipe::Reciprocal => {
                let one = self.b.constant(Type::F64, 1.0f64.to_bits());
                self.b.ddiv([one, args[0]])
            }
            Recipe::Move | Recipe::Choose => unreachable!("moves compute nothing"),
        })
    }

    /// A double of a source, its sign edited as the modifiers say.
    fn words(&mut self, operand: &Operand, number: usize) -> Result<Words, LowerError> {
        let [low, high] = pair(number).map(|component| match operand.file() {
            // One double has no selection.
            RegisterFile::Immediate64 => component,
            _ => operand.components().source(component),
        });
        let (low, modifiers) = (self.load(operand, low, Type::I32)?, operand.modifiers());
        let mut high = self.load(operand, high, Type::I32)?;
        if modifiers.absolute {
            let magnitude = self.b.i32(0x7fff_ffff);
            high = self.b.and([high, magnitude]);
        }
        if modifiers.negate {
            let sign = self.b.i32(0x8000_0000);
            high = self.b.xor([high, sign]);
        }
        Ok([low, high])
    }

    fn split(&mut self, double: Value) -> Words {
        [self.b.f64lo([double]), self.b.f64hi([double])]
    }
}

/// The components of double 0 or 1.
fn pair(number: usize) -> [Component; 2] {
    if number == 0 { [Component::X, Component::Y] } else { [Component::Z, Component::W] }
}

/// The doubles of a mask; none if it cuts one in half.
fn pairs(mask: Mask) -> Option<std::ops::Range<usize>> {
    match mask.bits() {
        0b0000 => Some(0..0),
        0b0011 => Some(0..1),
        0b1100 => Some(1..2),
        0b1111 => Some(0..2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::testing::{lower_text, o0};

    const ONES: u32 = u32::MAX;

    /// The words of two doubles.
    fn words(doubles: [f64; 2]) -> [u32; 4] {
        let [a, b] = doubles.map(f64::to_bits);
        [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
    }

    fn is_invalid(text: &str, rule: &str) {
        match lower_text(text).map(|lowered| lowered.function.to_string()).unwrap_err() {
            LowerError::Invalid { what, .. } => assert!(what.contains(rule), "{what}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pairs_go_to_pairs_through_swizzles_and_masks() {
        let v0 = words([1.5, 4.0]);
        assert_eq!(o0("dadd o0.xyzw, v0.xyzw, v0.zwzw", v0), words([5.5, 8.0]));
        assert_eq!(o0("dmul o0.zw, v0.zwxy, v0.zwzw", v0), words([0.0, 6.0]));
        assert_eq!(o0("dmov o0.xyzw, v0.zwxy", v0), words([4.0, 1.5]));
        // A destination may be a source.
        assert_eq!(
            o0("mov r0.xyzw, v0.xyzw\nddiv r0.xyzw, r0.zwxy, r0.xyzw\nmov o0.xyzw, r0.xyzw", v0),
            words([4.0 / 1.5, 1.5 / 4.0])
        );
        is_invalid("dadd o0.x, v0.xyzw, v0.xyzw", "half a double");
        is_invalid("dmov o0.yz, v0.xyzw", "half a double");
        is_invalid("itod o0.xz, v0.x", "half a double");
    }

    #[test]
    fn arithmetic_is_exact_and_keeps_denormals() {
        let tiny = f64::from_bits(3);
        assert_eq!(o0("dadd o0.xyzw, v0.xyzw, v0.zwxy", words([tiny, -tiny])), words([0.0, 0.0]));
        assert_eq!(o0("dmul o0.xyzw, v0.xyzw, d(0.5, 2.0)", words([tiny, tiny])), [2, 0, 6, 0]);
        let x = 1.0 + f64::EPSILON;
        let fused = x.mul_add(x, -(x * x));
        let text = "dmul r0.xy, v0.xyxy, v0.xyxy\ndfma o0.xy, v0.xyxy, v0.xyxy, -r0.xyxy";
        assert_eq!(o0(text, words([x, 0.0])), words([fused, 0.0]));
        assert_eq!(o0("drcp o0.xyzw, v0.xyzw", words([3.0, -0.0])), words([1.0 / 3.0, f64::NEG_INFINITY]));
        let inf = f64::INFINITY;
        assert_eq!(o0("dmin o0.xyzw, v0.xyzw, d(1.0)", words([f64::NAN, -inf])), words([1.0, -inf]));
        assert_eq!(o0("dmax o0.xyzw, d(nan, -1.0), v0.xyzw", words([-2.0, inf])), words([-2.0, inf]));
    }

    #[test]
    fn modifiers_edit_the_sign_and_moves_keep_every_other_bit() {
        let v0 = [1, 0x7ff0_0000, 5, 0x8000_0000];
        assert_eq!(o0("dmov o0.xyzw, -v0.xyzw", v0), [1, 0xfff0_0000, 5, 0]);
        assert_eq!(o0("dmov o0.xyzw, |v0.xyzw|", v0), [1, 0x7ff0_0000, 5, 0]);
        assert_eq!(o0("dmovc o0.xyzw, v0.xyzw, -|v0.xyzw|, v0.xyzw", v0), [1, 0xfff0_0000, 5, 0x8000_0000]);
        assert_eq!(o0("dadd o0.xy, -|v0.xyxy|, d(1.0, 2.0)", words([-3.0, 0.0])), words([-2.0, 0.0]));
    }

    #[test]
    fn saturation_clamps_and_kills_nan() {
        assert_eq!(o0("dmov_sat o0.xyzw, v0.xyzw", words([f64::NAN, 0.25])), words([0.0, 0.25]));
        assert_eq!(o0("dadd_sat o0.xyzw, v0.xyzw, v0.xyzw", words([-1.0, 7.0])), words([0.0, 1.0]));
        assert_eq!(o0("dmovc_sat o0.xy, l(1), v0.xyzw, v0.zwzw", words([2.0, 0.5])), words([1.0, 0.0]));
        assert_eq!(o0("dtof_sat o0.xw, v0.xyzw", words([3.0, f64::NAN])), [1.0f32.to_bits(), 0, 0, 0]);
        assert_eq!(o0("itod_sat o0.xyzw, v0.xyzw", [-7i32 as u32, 4, 0, 0]), words([0.0, 1.0]));
        assert_eq!(o0("utod_sat o0.xyzw, v0.xyzw", [ONES, 0, 0, 0]), words([1.0, 0.0]));
    }

    #[test]
    fn results_of_32_bits_go_to_the_first_and_second_component_of_the_mask() {
        let v0 = words([1.0, f64::NAN]);
        let compare = |text: &str| o0(&format!("{text}, v0.xyzw, d(1.0, 2.0)"), v0);
        assert_eq!(compare("deq o0.yw"), [0, ONES, 0, 0]);
        assert_eq!(compare("dne o0.yw"), [0, 0, 0, ONES]);
        assert_eq!(compare("dge o0.zw"), [0, 0, ONES, 0]);
        assert_eq!(compare("dlt o0.w"), [0; 4]);
        assert_eq!(o0("dlt o0.w, d(1.0, 2.0), v0.xyzw", words([1.5, 0.0])), [0, 0, 0, ONES]);
        assert_eq!(o0("dtof o0.zw, v0.zwxy", words([0.5, -1e40]))[2..], [0xff80_0000, 0.5f32.to_bits()]);
        assert_eq!(o0("dtoi o0.xz, v0.xyzw", words([-1.75, 1e10])), [-1i32 as u32, 0, i32::MAX as u32, 0]);
        assert_eq!(o0("dtou o0.xz, -v0.xyzw", words([-3e9, f64::NAN])), [3_000_000_000, 0, 0, 0]);
        is_invalid("dtof o0.xyz, v0.xyzw", "more than two results");
    }

    #[test]
    fn sources_of_32_bits_are_x_and_y() {
        assert_eq!(o0("itod o0.xyzw, v0.xyzw", [-7i32 as u32, 4, 0, 0]), words([-7.0, 4.0]));
        assert_eq!(o0("utod o0.zw, v0.yyyy", [0, ONES, 0, 0]), words([0.0, 4_294_967_295.0]));
        let floats = [1.5f32.to_bits(), (-2.0f32).to_bits(), 0x0000_0001, 0];
        assert_eq!(o0("ftod o0.xyzw, -v0.xyzw", floats), words([-1.5, 2.0]));
        assert_eq!(o0("ftod o0.zw, v0.xyzw", floats), words([0.0, -2.0]));
        // A denormal float is flushed.
        assert_eq!(o0("ftod o0.xy, v0.z", floats), [0; 4]);
        assert_eq!(o0("dmovc o0.xyzw, v0.zwzw, d(1.0, 2.0), d(3.0, 4.0)", [1, 1, 1 << 31, 0]), words([1.0, 4.0]));
        assert_eq!(o0("dmovc o0.zw, v0.wzxy, d(1.0, 2.0), d(3.0, 4.0)", [0, 0, 1, 0]), words([0.0, 2.0]));
    }

    #[test]
    fn opcodes_with_doubles_and_no_others_have_a_recipe_that_fits_their_operands() {
        for &opcode in Opcode::ALL {
            let Some(recipe) = recipe(opcode) else {
                assert!(!has_doubles(opcode), "{opcode}");
                continue;
            };
            assert!(has_doubles(opcode), "{opcode}");
            assert_eq!(opcode.destinations(), 1, "{opcode}");
            let (Recipe::Op(op) | Recipe::Test(op) | Recipe::Exchanged(op)) = recipe else { continue };
            let slots = &opcode.slots()[1..];
            assert_eq!(op.operands().len(), slots.len(), "{opcode}");
            for (rule, slot) in op.operands().iter().zip(slots) {
                let ty = match slot.class {
                    DataClass::Double => Type::F64,
                    DataClass::Float => Type::F32,
                    _ => Type::I32,
                };
                assert!(rule.allows(ty), "{opcode}");
            }
            assert_eq!(op.result().allows(Type::F64), opcode.slots()[0].class == DataClass::Double, "{opcode}");
        }
    }
}
