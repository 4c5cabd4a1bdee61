//! What each opcode computes.

use shaderjit_ir::{FunctionBuilder, Op, Value};

use super::Lowering;
use super::operand::{Destination, as_bits, as_float};
use super::pixel;
use crate::error::LowerError;
use crate::frontend::sm4::codes::Stage;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand};
use crate::frontend::sm4::token::OpcodeToken;

/// How an opcode's results come from its sources, for one component unless it says otherwise.
#[derive(Clone, Copy)]
enum Recipe {
    /// One op of the IR.
    Op(Op),
    /// A comparison: all ones where it holds.
    Test(Op),
    /// The comparison with its operands exchanged.
    Exchanged(Op),
    /// Several ops.
    One(fn(&mut FunctionBuilder, &[Value]) -> Value),
    /// Two results.
    Two(fn(&mut FunctionBuilder, &[Value]) -> [Value; 2]),
    /// `a * b + c`, rounded once if the target does that well, unless it must be precise.
    MultiplyAdd,
    /// The dot product of this many components, for every component alike.
    Dot(usize),
}

/// The recipe of an opcode of the float, bit, int or uint group; none for what has doubles or evaluates attributes.
fn recipe(opcode: Opcode) -> Option<Recipe> {
    use Recipe::{Dot, Exchanged, MultiplyAdd, One, Test, Two};
    let op = Recipe::Op;
    Some(match opcode {
        // ---- moves
        Opcode::Mov => One(|_, a| a[0]),
        Opcode::MovC => One(|b, a| choose(b, a[0], a[1], a[2])),
        Opcode::SwapC => Two(|b, a| [choose(b, a[0], a[2], a[1]), choose(b, a[0], a[1], a[2])]),

        // ---- floats
        Opcode::Add => op(Op::Fadd),
        Opcode::Div => op(Op::Fdiv),
        Opcode::Dp2 => Dot(2),
        Opcode::Dp3 => Dot(3),
        Opcode::Dp4 => Dot(4),
        Opcode::Exp => op(Op::Fexp2),
        Opcode::Frc => One(fraction),
        Opcode::Log => op(Op::Flog2),
        Opcode::Mad => MultiplyAdd,
        // Of equal operands the maximum is the first and the minimum the second, so that each of two comes out once.
        Opcode::Max => One(|b, a| b.fmax([a[1], a[0]])),
        Opcode::Min => op(Op::Fmin),
        Opcode::Mul => op(Op::Fmul),
        Opcode::Rcp => One(|b, a| reciprocal(b, a[0])),
        Opcode::RoundNe => op(Op::Fnearest),
        Opcode::RoundNi => op(Op::Ffloor),
        Opcode::RoundPi => op(Op::Fceil),
        Opcode::RoundZ => op(Op::Ftrunc),
        Opcode::Rsq => One(|b, a| {
            let root = b.fsqrt([a[0]]);
            reciprocal(b, root)
        }),
        Opcode::SinCos => Two(|b, a| [b.fsin([a[0]]), b.fcos([a[0]])]),
        Opcode::Sqrt => op(Op::Fsqrt),
        Opcode::Eq => Test(Op::Feq),
        Opcode::Ge => Exchanged(Op::Fle),
        Opcode::Lt => Test(Op::Flt),
        Opcode::Ne => Test(Op::Fne),

        // ---- conversions
        Opcode::FtoI => op(Op::Ftoi),
        Opcode::FtoU => op(Op::Ftou),
        Opcode::ItoF => op(Op::Itof),
        Opcode::UtoF => op(Op::Utof),
        Opcode::F16toF32 => op(Op::F16tof32),
        Opcode::F32toF16 => op(Op::F32tof16),

        // ---- bits
        Opcode::And => op(Op::And),
        Opcode::Or => op(Op::Or),
        Opcode::Xor => op(Op::Xor),
        Opcode::Not => op(Op::Not),
        Opcode::IShl => op(Op::Ishl),
        Opcode::IShr => op(Op::Sshr),
        Opcode::UShr => op(Op::Ushr),
        Opcode::CountBits => op(Op::Popcnt),
        Opcode::BfRev => op(Op::Bitrev),
        Opcode::FirstBitHi => One(|b, a| first_bit(b, a[0], Op::Clz)),
        Opcode::FirstBitLo => One(|b, a| first_bit(b, a[0], Op::Ctz)),
        Opcode::FirstBitShi => One(|b, a| {
            // Bits that differ from the sign.
            let sign_bit = b.i32(31);
            let sign = b.sshr([a[0], sign_bit]);
            let differing = b.xor([a[0], sign]);
            first_bit(b, differing, Op::Clz)
        }),
        Opcode::Ubfe => One(unsigned_field),
        Opcode::Ibfe => One(signed_field),
        Opcode::Bfi => One(insert_field),

        // ---- integers
        Opcode::IAdd => op(Op::Iadd),
        Opcode::INeg => One(|b, a| {
            let zero = b.i32(0);
            b.isub([zero, a[0]])
        }),
        Opcode::IMad | Opcode::UMad => One(|b, a| {
            let product = b.imul([a[0], a[1]]);
            b.iadd([product, a[2]])
        }),
        Opcode::IMul => Two(|b, a| [b.smulhi([a[0], a[1]]), b.imul([a[0], a[1]])]),
        Opcode::UMul => Two(|b, a| [b.umulhi([a[0], a[1]]), b.imul([a[0], a[1]])]),
        Opcode::UDiv => Two(|b, a| [b.udiv([a[0], a[1]]), b.urem([a[0], a[1]])]),
        Opcode::UAddC => Two(|b, a| {
            let sum = b.iadd([a[0], a[1]]);
            let carried = b.ult([sum, a[0]]);
            [sum, one_if(b, carried)]
        }),
        Opcode::USubB => Two(|b, a| {
            let borrowed = b.ult([a[0], a[1]]);
            [b.isub([a[0], a[1]]), one_if(b, borrowed)]
        }),
        Opcode::Msad => One(masked_differences),
        Opcode::IMax => op(Op::Smax),
        Opcode::IMin => op(Op::Smin),
        Opcode::UMax => op(Op::Umax),
        Opcode::UMin => op(Op::Umin),
        Opcode::IEq => Test(Op::Ieq),
        Opcode::INe => Test(Op::Ine),
        Opcode::ILt => Test(Op::Slt),
        Opcode::IGe => Exchanged(Op::Sle),
        Opcode::ULt => Test(Op::Ult),
        Opcode::UGe => Exchanged(Op::Ule),

        // ---- derivatives. Those of shader model 4 may be either kind.
        Opcode::DerivRtxCoarse => op(Op::QuadDx),
        Opcode::DerivRtyCoarse => op(Op::QuadDy),
        Opcode::DerivRtx | Opcode::DerivRtxFine => op(Op::QuadDxFine),
        Opcode::DerivRty | Opcode::DerivRtyFine => op(Op::QuadDyFine),

        _ => return None,
    })
}

impl Lowering {
    /// Lowers an instruction of the float, bit, int or uint group.
    pub(super) fn arithmetic(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let opcode = token.opcode;
        if pixel::pulls(opcode) {
            return self.pull(token, operands);
        }
        let recipe = recipe(opcode).ok_or_else(|| self.unsupported(opcode))?;
        if matches!(recipe, Recipe::Op(op) if op.is_derivative()) && self.registers.stage != Stage::Pixel {
            return Err(self.unsupported(opcode));
        }
        let (destinations, sources) = operands.split_at(opcode.destinations());
        let mut targets = [None, None];
        for (target, operand) in targets.iter_mut().zip(destinations) {
            *target = Some(self.destination(operand)?);
        }

        // All sources are read before anything is written: a destination may be a source.
        let written = targets.iter().flatten().fold(0, |mask, target| mask | target.mask.bits());
        let mut results = [[None; 4]; 2];
        let mut dot = None;
        for component in Mask::from_bits(written.into()).components() {
            let values = match recipe {
                Recipe::Dot(count) => {
                    let value = match dot {
                        Some(value) => value,
                        None => *dot.insert(self.dot(token, sources, count)?),
                    };
                    [Some(value), None]
                }
                _ => {
                    let arguments = self.arguments(opcode, sources, component)?;
                    let precise = token.precise().contains(component);
                    compute(&mut self.b, recipe, &arguments[..sources.len()], precise)
                }
            };
            for (result, value) in results.iter_mut().zip(values) {
                result[component.index()] = value;
            }
        }
        for (target, result) in targets.iter().flatten().zip(results) {
            self.write_results(token, target, result)?;
        }
        Ok(())
    }

    /// Writes the components that there are, saturated if the instruction says so.
    pub(super) fn write_results(
        &mut self,
        token: OpcodeToken,
        target: &Destination,
        results: [Option<Value>; 4],
    ) -> Result<(), LowerError> {
        for component in target.mask.components() {
            let Some(mut value) = results[component.index()] else { continue };
            if token.saturate() {
                value = as_float(&mut self.b, value);
                value = self.b.fsat([value]);
            }
            self.write(target, component, value)?;
        }
        Ok(())
    }

    /// What an instruction reads for one component.
    fn arguments(
        &mut self,
        opcode: Opcode,
        sources: &[Operand],
        component: Component,
    ) -> Result<[Value; MAX_SOURCES], LowerError> {
        let mut arguments = [Value::from_u32(0); MAX_SOURCES];
        let slots = &opcode.slots()[opcode.destinations()..];
        for ((argument, operand), slot) in arguments.iter_mut().zip(sources).zip(slots) {
            *argument = self.read(operand, component, slot.class)?;
        }
        Ok(arguments)
    }

    /// The dot product of the first `count` components, summed from x on.
    fn dot(&mut self, token: OpcodeToken, sources: &[Operand], count: usize) -> Result<Value, LowerError> {
        let precise = token.precise() != Mask::NONE;
        let mut sum = None;
        for &component in &Component::ALL[..count] {
            let x = self.read(&sources[0], component, DataClass::Float)?;
            let y = self.read(&sources[1], component, DataClass::Float)?;
            sum = Some(match sum {
                None => self.b.fmul([x, y]),
                Some(sum) => multiply_add(&mut self.b, [x, y, sum], precise),
            });
        }
        Ok(sum.expect("a dot product has components"))
    }
}

/// No opcode of these groups reads more.
const MAX_SOURCES: usize = 4;

/// The results for one component.
fn compute(b: &mut FunctionBuilder, recipe: Recipe, a: &[Value], precise: bool) -> [Option<Value>; 2] {
    match recipe {
        Recipe::Op(op) => [Some(b.op(op, a)), None],
        Recipe::Test(op) => {
            let holds = b.op(op, a);
            [Some(mask_if(b, holds)), None]
        }
        Recipe::Exchanged(op) => {
            let holds = b.op(op, &[a[1], a[0]]);
            [Some(mask_if(b, holds)), None]
        }
        Recipe::One(ops) => [Some(ops(b, a)), None],
        Recipe::Two(ops) => ops(b, a).map(Some),
        Recipe::MultiplyAdd => [Some(multiply_add(b, [a[0], a[1], a[2]], precise)), None],
        Recipe::Dot(_) => unreachable!("not computed by component"),
    }
}

/// `a * b + c`. What is precise must not depend on whether the target can fuse.
fn multiply_add(b: &mut FunctionBuilder, [x, y, sum]: [Value; 3], precise: bool) -> Value {
    if precise {
        let product = b.fmul([x, y]);
        b.fadd([product, sum])
    } else {
        b.fmad([x, y, sum])
    }
}

fn reciprocal(b: &mut FunctionBuilder, value: Value) -> Value {
    let one = b.f32(1.0);
    b.fdiv([one, value])
}

/// `x - floor(x)`, which rounds to 1 for small negative x but must stay below it.
fn fraction(b: &mut FunctionBuilder, a: &[Value]) -> Value {
    let floor = b.ffloor([a[0]]);
    let fraction = b.fsub([a[0], floor]);
    let below_one = b.f32(1.0f32.next_down());
    // In this order NaN stays NaN.
    b.pmin([below_one, fraction])
}

/// `yes` where any bit of `condition` is set, else `no`.
pub(super) fn choose(b: &mut FunctionBuilder, condition: Value, yes: Value, no: Value) -> Value {
    let (bits, zero) = (as_bits(b, condition), b.i32(0));
    let holds = b.ine([bits, zero]);
    b.select([holds, yes, no])
}

/// All ones where `holds`.
pub(super) fn mask_if(b: &mut FunctionBuilder, holds: Value) -> Value {
    let (ones, zero) = (b.i32(u32::MAX), b.i32(0));
    b.select([holds, ones, zero])
}

/// 1 where `holds`.
fn one_if(b: &mut FunctionBuilder, holds: Value) -> Value {
    let (one, zero) = (b.i32(1), b.i32(0));
    b.select([holds, one, zero])
}

/// What `count` gives, or all ones if no bit is set.
fn first_bit(b: &mut FunctionBuilder, value: Value, count: Op) -> Value {
    let (zero, ones) = (b.i32(0), b.i32(u32::MAX));
    let none = b.ieq([value, zero]);
    let position = b.op(count, &[value]);
    b.select([none, ones, position])
}

/// `width` ones from bit 0; shift counts and so widths are modulo 32.
fn ones(b: &mut FunctionBuilder, width: Value) -> Value {
    let one = b.i32(1);
    let power = b.ishl([one, width]);
    b.isub([power, one])
}

/// Width, offset, value. A field that reaches past bit 31 ends there, which shifting alone gives.
fn unsigned_field(b: &mut FunctionBuilder, a: &[Value]) -> Value {
    let mask = ones(b, a[0]);
    let shifted = b.ushr([a[2], a[1]]);
    b.and([shifted, mask])
}

/// Width, offset, value, the field's top bit being its sign.
fn signed_field(b: &mut FunctionBuilder, a: &[Value]) -> Value {
    let shifted = b.sshr([a[2], a[1]]);
    // -width is 32 - width modulo 32.
    let zero = b.i32(0);
    let spare = b.isub([zero, a[0]]);
    let raised = b.ishl([shifted, spare]);
    let extended = b.sshr([raised, spare]);
    // A width of 0 would leave everything.
    let five_bits = b.i32(31);
    let width = b.and([a[0], five_bits]);
    let empty = b.ieq([width, zero]);
    b.select([empty, zero, extended])
}

/// Width, offset, field, what it is inserted into.
fn insert_field(b: &mut FunctionBuilder, a: &[Value]) -> Value {
    let ones = ones(b, a[0]);
    let mask = b.ishl([ones, a[1]]);
    let raised = b.ishl([a[2], a[1]]);
    let field = b.and([raised, mask]);
    let outside = b.not([mask]);
    let kept = b.and([a[3], outside]);
    b.or([field, kept])
}

/// Reference, source, accumulator: adds the differences of the four bytes, those with a zero reference left out; stays
/// at the largest number on overflow.
fn masked_differences(b: &mut FunctionBuilder, a: &[Value]) -> Value {
    let (zero, low_byte) = (b.i32(0), b.i32(0xff));
    let mut sum = zero;
    for shift in [0, 8, 16, 24] {
        let shift = b.i32(shift);
        let mut byte = |value| {
            let shifted = b.ushr([value, shift]);
            b.and([shifted, low_byte])
        };
        let (reference, source) = (byte(a[0]), byte(a[1]));
        let (above, below) = (b.isub([reference, source]), b.isub([source, reference]));
        let difference = b.smax([above, below]);
        let skipped = b.ieq([reference, zero]);
        let counted = b.select([skipped, zero, difference]);
        sum = b.iadd([sum, counted]);
    }
    let total = b.iadd([a[2], sum]);
    let overflowed = b.ult([total, a[2]]);
    let largest = b.i32(u32::MAX);
    b.select([overflowed, largest, total])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::lower::double::has_doubles;
    use crate::frontend::sm4::opcode::Group;
    use shaderjit_ir::Type;

    #[test]
    fn every_opcode_of_the_groups_has_a_recipe_but_evaluations() {
        let missing: Vec<&str> = Opcode::ALL
            .iter()
            .filter(|opcode| matches!(opcode.group(), Group::Float | Group::Bit | Group::Int | Group::Uint))
            .filter(|opcode| recipe(**opcode).is_none() && !has_doubles(**opcode))
            .map(|opcode| opcode.mnemonic())
            .collect();
        assert_eq!(missing, ["eval_snapped", "eval_sample_index", "eval_centroid"]);
    }

    #[test]
    fn recipes_fit_the_operands() {
        for &opcode in Opcode::ALL {
            let Some(recipe) = recipe(opcode) else { continue };
            assert!(opcode.sources() <= MAX_SOURCES, "{opcode}");
            let two = matches!(recipe, Recipe::Two(_));
            assert_eq!(opcode.destinations(), if two { 2 } else { 1 }, "{opcode}");
            if let Recipe::Op(op) | Recipe::Test(op) | Recipe::Exchanged(op) = recipe {
                let slots = &opcode.slots()[opcode.destinations()..];
                assert_eq!(op.operands().len(), slots.len(), "{opcode}");
                for (rule, slot) in op.operands().iter().zip(slots) {
                    let ty = if slot.class == DataClass::Float { Type::F32 } else { Type::I32 };
                    assert!(rule.allows(ty), "{opcode}");
                }
            }
        }
    }
}
