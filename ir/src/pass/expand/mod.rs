//! Rewrites composite ops into plain arithmetic, and thereby defines them.
//!
//! An expansion is written once, over [`Emit`]: the pass runs it to insert instructions, the interpreter to compute
//! lanes. So the interpreter and every back end give the same bits, and one test bounds an expansion's error.

mod bits;
mod float24;
mod half;
mod minmax;
mod quad;
mod transcendental;

use super::aliases::Aliases;
use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::{Attribute, Op};
use crate::types::Type;
use foldhash::HashMap;

/// Something that plain ops can be given to, one after the other: a function being written, or lanes being computed.
pub trait Emit {
    /// A value.
    type Value: Copy;
    /// Does a pure op that has no immediate; composite ops are allowed and expanded in turn.
    fn op(&mut self, op: Op, args: &[Self::Value]) -> Self::Value;
    /// A literal.
    fn constant(&mut self, ty: Type, bits: u32) -> Self::Value;
    /// Whether [`Op::Fmad`] rounds once.
    fn fused(&self) -> bool;

    /// Whether a float is NaN; `None` if it is known to be a number.
    fn is_nan(&mut self, value: Self::Value) -> Option<Self::Value> {
        Some(self.op(Op::Funo, &[value, value]))
    }

    /// An `f32` literal.
    fn f32(&mut self, value: f32) -> Self::Value {
        self.constant(Type::F32, value.to_bits())
    }

    /// An `i32` literal.
    fn i32(&mut self, bits: u32) -> Self::Value {
        self.constant(Type::I32, bits)
    }
}

/// The expansion of a composite op.
///
/// # Panics
/// If the op is not composite.
pub fn expansion<E: Emit>(e: &mut E, op: Op, args: &[E::Value]) -> E::Value {
    if let Some(op) = renamed(op, e.fused()) {
        return e.op(op, args);
    }
    match (op, args) {
        (Op::Fmad, &[a, b, c]) => minmax::fmad(e, a, b, c),
        (Op::Fmulz, &[a, b]) => minmax::fmulz(e, a, b),
        (Op::Fmin, &[a, b]) => minmax::fmin(e, a, b),
        (Op::Fmax, &[a, b]) => minmax::fmax(e, a, b),
        (Op::Fsat, &[a]) => minmax::fsat(e, a),
        (Op::Fround24, &[a]) => float24::fround24(e, a),
        (Op::Fflush24, &[a]) => float24::fflush24(e, a),
        (Op::F32tof24, &[a]) => float24::f32tof24(e, a),
        (Op::Bitrev, &[a]) => bits::bitrev(e, a),
        (Op::Fexp2, &[a]) => transcendental::exp2(e, a),
        (Op::Flog2, &[a]) => transcendental::log2(e, a),
        (Op::Fsin, &[a]) => transcendental::sin(e, a),
        (Op::Fcos, &[a]) => transcendental::cos(e, a),
        (Op::F16tof32, &[a]) => half::f16tof32(e, a),
        (Op::F32tof16, &[a]) => half::f32tof16(e, a),
        (op, &[a]) if op.is_derivative() => quad::derivative(e, op, a),
        (op, &[a, mask]) if op.is_derivative() => quad::masked_derivative(e, op, a, mask),
        _ => panic!("{op} has no expansion"),
    }
}

/// The expansion of [`Op::Fexp2`] or [`Op::Flog2`] that gives the same with [`Op::Fscale`] and [`Op::Flogcase`].
pub(crate) fn planned_expansion<E: Emit>(e: &mut E, op: Op, number: E::Value) -> E::Value {
    match op {
        Op::Fexp2 => transcendental::exp2_by_scale(e, number),
        _ => transcendental::log2_by_case(e, number),
    }
}

/// What the expansions may use of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpandOptions {
    /// Whether [`Op::Fmad`] becomes one `fma` or `fmul` and `fadd`.
    pub fused: bool,
}

/// The op that a composite one is under another name.
fn renamed(op: Op, fused: bool) -> Option<Op> {
    (op == Op::Fmad && fused).then_some(Op::Fma)
}

/// Room for the instructions of an expansion: minima and multiply-adds, of which there are most, have one or two.
const COMMON: usize = 2;

/// Replaces every composite op by its expansion.
pub fn expand(func: &mut Function, options: &ExpandOptions) {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    for &inst in insts {
        let op = &mut func.insts[inst].op;
        *op = renamed(*op, options.fused).unwrap_or(*op);
    }
    let mut replaced = Aliases::default();
    let is_composite = |inst: &&InstData| inst.op.attribute() == Attribute::Composite;
    let composite = func.layout.iter().flat_map(|&block| func.insts_in(block)).filter(is_composite).count();
    func.reserve(COMMON * composite);
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if !func.insts_in(block).any(|inst| is_composite(&inst)) {
            continue;
        }
        let insts = std::mem::take(&mut func.blocks[block].insts);
        func.blocks[block].insts.reserve(insts.len());
        let mut writer = Writer::new(func, block, options);
        for inst in insts {
            writer.rewrite(inst, &mut replaced);
        }
    }
    replaced.apply(func);
}

/// Appends instructions to a block.
pub(crate) struct Writer<'a> {
    pub func: &'a mut Function,
    pub block: Block,
    options: &'a ExpandOptions,
    /// Whether values are NaN that were asked so far: minima and maxima often ask the same.
    nan_tests: HashMap<Value, Value>,
}

impl<'a> Writer<'a> {
    pub fn new(func: &'a mut Function, block: Block, options: &'a ExpandOptions) -> Writer<'a> {
        Writer { func, block, options, nan_tests: HashMap::default() }
    }

    fn rewrite(&mut self, inst: Inst, replaced: &mut Aliases) {
        let data = self.func.insts[inst];
        if data.op.attribute() == Attribute::Composite {
            self.func.origin = data.origin;
            let mut args = data.args;
            args.iter_mut().for_each(|arg| *arg = replaced.find(*arg));
            let value = expansion(self, data.op, &args);
            replaced.replace(data.result.expect("composite ops have a result"), value);
        } else {
            self.func.blocks[self.block].insts.push(inst);
        }
    }

    pub fn push(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
        let inst = self.func.make_inst(op, ty, args, imm);
        self.func.blocks[self.block].insts.push(inst);
        self.func.insts[inst].result.expect("expansions use only ops with a result")
    }
}

impl Emit for Writer<'_> {
    type Value = Value;

    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        if op.attribute() == Attribute::Composite {
            return expansion(self, op, args);
        }
        self.push(op, self.func.operand_type(op, args), args, Imm::None)
    }

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        self.push(Op::Const, ty, &[], Imm::Bits(u64::from(bits)))
    }

    fn fused(&self) -> bool {
        self.options.fused
    }

    fn is_nan(&mut self, value: Value) -> Option<Value> {
        if self.func.constant(value).is_some_and(|bits| !f32::from_bits(bits as u32).is_nan()) {
            return None;
        }
        let known = self.nan_tests.get(&value).copied();
        Some(known.unwrap_or_else(|| {
            let test = self.op(Op::Funo, &[value, value]);
            self.nan_tests.insert(value, test);
            test
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::eval::eval;
    use crate::interp::{Bindings, InterpOptions, Interpreter};
    use crate::op::TypeRule;
    use crate::texture::NoTextures;

    /// Every composite op has an expansion, and code expanded by the pass computes what `eval` does.
    #[test]
    fn every_composite_op_is_expanded_into_plain_ops_that_compute_the_same() {
        let words =
            [0x3f80_0000, 0xc2f6_e979, 0x8000_0000, 0x0000_0001, 0x7f80_0000, 0x4479_f3c0, 0x0000_3c01, 0xff80_0000];
        for &op in Op::ALL.iter().filter(|op| op.attribute() == Attribute::Composite) {
            for fused in [false, true] {
                let mut b = FunctionBuilder::new(op.mnemonic(), 1, 1);
                let types: Vec<Type> = op.operands().iter().filter_map(|rule| rule.fixed()).collect();
                let args: Vec<Value> = (0u8..).zip(&types).map(|(component, &ty)| b.input(ty, 0, component)).collect();
                let value = b.op(op, &args);
                b.output(0, 0, value);
                b.ret();
                let mut func = b.finish();
                assert!(matches!(op.result(), TypeRule::F32 | TypeRule::I32), "{op}");
                expand(&mut func, &ExpandOptions { fused });
                for &inst in &func.blocks[func.entry()].insts {
                    assert_ne!(func.insts[inst].op.attribute(), Attribute::Composite, "{func}");
                }
                for start in 0..words.len() {
                    let operands: [[u32; 1]; 4] =
                        std::array::from_fn(|index| [words[(start + 3 * index) % words.len()]]);
                    let bindings = Bindings {
                        inputs: &[operands],
                        vertex_id: [0],
                        instance_id: 0,
                        uniforms: &[],
                        resources: &[],
                        textures: &NoTextures,
                    };
                    let mut interpreter = Interpreter::<1>::new(&func);
                    let got = interpreter.run(&bindings, &InterpOptions { fuel: 0.into(), fused }).unwrap()[0][0][0];
                    let [want] = eval(op, Type::F32, &operands[..types.len()], fused);
                    let is_nan = |bits: u32| func.ty(value) == Type::F32 && f32::from_bits(bits).is_nan();
                    assert!(
                        got == want || is_nan(got) && is_nan(want),
                        "{op} of {operands:x?}: {got:#x} for {want:#x}"
                    );
                }
            }
        }
    }
}
