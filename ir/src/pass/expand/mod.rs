//! Rewrites composite ops into plain arithmetic, and thereby defines them.
//!
//! An expansion is written once, over [`Emit`]: the pass runs it to insert instructions, the interpreter to compute lanes. So
//! the interpreter and every back end give the same bits, and one test bounds an expansion's error.

mod bits;
mod minmax;

use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm};
use crate::op::{Attribute, Op};
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

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
    match (op, args) {
        (Op::Fmad, &[a, b, c]) => minmax::fmad(e, a, b, c),
        (Op::Fmulz, &[a, b]) => minmax::fmulz(e, a, b),
        (Op::Fmin, &[a, b]) => minmax::fmin(e, a, b),
        (Op::Fmax, &[a, b]) => minmax::fmax(e, a, b),
        (Op::Fsat, &[a]) => minmax::fsat(e, a),
        (Op::Bitrev, &[a]) => bits::bitrev(e, a),
        _ => panic!("{op} has no expansion"),
    }
}

/// What the expansions may use of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpandOptions {
    /// Whether [`Op::Fmad`] becomes one `fma` or `fmul` and `fadd`.
    pub fused: bool,
}

/// Replaces every composite op by its expansion.
pub fn expand(func: &mut Function, options: &ExpandOptions) {
    let mut replaced: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if !func.blocks[block].insts.iter().any(|&inst| func.insts[inst].op.attribute() == Attribute::Composite) {
            continue;
        }
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut writer = Writer { func, block, options };
        for inst in insts {
            writer.rewrite(inst, &mut replaced);
        }
    }
    func.replace_uses(|value| replaced[value].expand().unwrap_or(value));
}

/// Appends instructions to a block.
struct Writer<'a> {
    func: &'a mut Function,
    block: Block,
    options: &'a ExpandOptions,
}

impl Writer<'_> {
    fn rewrite(&mut self, inst: Inst, replaced: &mut SecondaryMap<Value, PackedOption<Value>>) {
        let data = self.func.insts[inst];
        if data.op.attribute() == Attribute::Composite {
            let args: Vec<Value> = data.args.iter().map(|&arg| replaced[arg].expand().unwrap_or(arg)).collect();
            let value = expansion(self, data.op, &args);
            replaced[data.result.expect("composite ops have a result")] = value.into();
        } else {
            self.func.blocks[self.block].insts.push(inst);
        }
    }

    fn push(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
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
        let set_typed = op.operands().iter().zip(args).find(|(rule, _)| rule.is_set());
        let ty = set_typed.map_or(Type::I32, |(_, &arg)| self.func.ty(arg));
        self.push(op, ty, args, Imm::None)
    }

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        self.push(Op::Const, ty, &[], Imm::Bits(u64::from(bits)))
    }

    fn fused(&self) -> bool {
        self.options.fused
    }
}
