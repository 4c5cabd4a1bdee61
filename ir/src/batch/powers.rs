//! Idiom recognition: powers of two and logarithms, for machines with instructions for them.
//!
//! Such a machine needs neither the bounds that the expansion of [`Op::Fexp2`] sets its operand nor the factor that it
//! puts together of bits, nor does it tell by comparisons what has no logarithm. So what an op was expanded to is
//! expanded anew. The pattern to look for is the expansion itself.

use crate::entity::{Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::{Attribute, Op};
use crate::pass::{Aliases, Emit, ExpandOptions, Writer, dce, expansion, planned_expansion};
use crate::types::Type;
use foldhash::HashMap;
use std::sync::LazyLock;

/// What has `fma` in place of [`Op::Fmad`].
const OPTIONS: ExpandOptions = ExpandOptions { fused: true };

/// Rewrites the expansions of [`Op::Fexp2`] and [`Op::Flog2`] in which multiplication with addition rounds once.
pub(super) fn rewrite(func: &mut Function) {
    static PATTERNS: LazyLock<[Pattern; 2]> = LazyLock::new(|| [Op::Fexp2, Op::Flog2].map(Pattern::of));
    let mut found: HashMap<Inst, (Op, Value)> = HashMap::default();
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        for pattern in &*PATTERNS {
            if let Some(number) = pattern.operand_of(func, &func.insts[inst]) {
                found.insert(inst, (pattern.op, number));
            }
        }
    }
    if found.is_empty() {
        return;
    }
    let mut aliases = Aliases::default();
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut anew = Anew { writer: Writer::new(func, block, &OPTIONS), literals: HashMap::default() };
        for inst in insts {
            if let Some(&(op, number)) = found.get(&inst) {
                let data = anew.writer.func.insts[inst];
                anew.writer.func.origin = data.origin;
                let value = planned_expansion(&mut anew, op, aliases.find(number));
                aliases.replace(data.result.expect("expansions have a result"), value);
            }
            anew.writer.func.blocks[block].insts.push(inst);
        }
    }
    aliases.apply(func);
    dce(func);
}

/// Writes expansions into a block, each literal once.
struct Anew<'f> {
    writer: Writer<'f>,
    literals: HashMap<(Type, u32), Value>,
}

impl Emit for Anew<'_> {
    type Value = Value;

    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        // The writer alone would expand composite ops with literals of its own.
        if op.attribute() == Attribute::Composite { expansion(self, op, args) } else { self.writer.op(op, args) }
    }

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        *self.literals.entry((ty, bits)).or_insert_with(|| self.writer.constant(ty, bits))
    }

    fn fused(&self) -> bool {
        self.writer.fused()
    }
}

/// An op's expansion as a pattern: nodes, operands before what uses them.
struct Pattern {
    op: Op,
    nodes: Vec<Node>,
}

enum Node {
    /// The operand of the op.
    Operand,
    Literal(u32),
    /// A plain op of other nodes.
    Plain(Op, Vec<usize>),
}

impl Pattern {
    fn of(op: Op) -> Pattern {
        let mut pattern = Pattern { op, nodes: vec![Node::Operand] };
        let root = expansion(&mut pattern, op, &[0]);
        assert_eq!(root, pattern.nodes.len() - 1, "the result of an expansion comes last");
        pattern
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The operand of the op, if an instruction is the last one of its expansion.
    fn operand_of(&self, func: &Function, inst: &InstData) -> Option<Value> {
        let Some(Node::Plain(op, args)) = self.nodes.last() else { return None };
        let result = inst.result.filter(|_| inst.op == *op)?;
        // Most are told from the pattern by their last operand.
        if let Node::Plain(op, _) = &self.nodes[*args.last()?] {
            func.def_inst(*inst.args.last()?).filter(|def| def.op == *op)?;
        }
        let mut matching = Matching { func, nodes: &self.nodes, bound: vec![None; self.nodes.len()] };
        if matching.is(self.nodes.len() - 1, result) { matching.bound[0] } else { None }
    }
}

impl Emit for Pattern {
    type Value = usize;

    fn op(&mut self, op: Op, args: &[usize]) -> usize {
        if op.attribute() == Attribute::Composite {
            return expansion(self, op, args);
        }
        self.add(Node::Plain(op, args.to_vec()))
    }

    fn constant(&mut self, _: Type, bits: u32) -> usize {
        self.add(Node::Literal(bits))
    }

    fn fused(&self) -> bool {
        OPTIONS.fused
    }
}

/// A pattern that is being held against a function.
struct Matching<'a> {
    func: &'a Function,
    nodes: &'a [Node],
    /// The values of nodes.
    bound: Vec<Option<Value>>,
}

impl Matching<'_> {
    /// Whether a node is a value. The last operands, which tell most, come first.
    fn is(&mut self, node: usize, value: Value) -> bool {
        if let Some(bound) = self.bound[node] {
            return bound == value;
        }
        let nodes = self.nodes;
        let is = match &nodes[node] {
            Node::Operand => true,
            Node::Literal(bits) => return self.func.constant(value) == Some(u64::from(*bits)),
            Node::Plain(op, args) => self.is_made_by(*op, args, value),
        };
        if is {
            self.bound[node] = Some(value);
        }
        is
    }

    /// Whether an op makes a value of nodes, in the form that folding has for it.
    fn is_made_by(&mut self, op: Op, args: &[usize], value: Value) -> bool {
        let Some(def) = self.func.def_inst(value) else { return false };
        match (op, args) {
            (Op::BitcastI32, &[number]) if def.op != Op::BitcastI32 => {
                self.bound[number].is_some_and(|number| self.are_bits_of(number, value, def))
            }
            // What is subtracted is added.
            (Op::Isub, &[a, b]) if def.op == Op::Iadd => {
                let Node::Literal(bits) = self.nodes[b] else { return false };
                self.func.constant(def.args[1]) == Some(u64::from(bits.wrapping_neg())) && self.is(a, def.args[0])
            }
            _ => def.op == op && std::iter::zip(args, def.args.iter()).rev().all(|(&arg, &value)| self.is(arg, value)),
        }
    }

    /// Whether a value, or what loads it, has the bits of a float: the float was cast from it, or is loaded alike.
    fn are_bits_of(&self, float: Value, value: Value, load: &InstData) -> bool {
        self.func.def_inst(float).is_some_and(|def| {
            let is_cast = def.op == Op::BitcastF32 && def.args[0] == value;
            is_cast || def.imm != Imm::None && (def.op, def.args, def.imm) == (load.op, load.args, load.imm)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::pass::{ExpandOptions, expand, fold, gvn};

    /// Powers and logarithms of sums, of each other, of an input, and of what comes in as bits.
    fn powers(fused: bool) -> Function {
        let mut b = FunctionBuilder::new("powers", 1, 2);
        let [x, y] = [0, 1].map(|component| b.input(Type::F32, 0, component));
        let bits = b.input(Type::I32, 0, 2);
        let one = b.i32(1);
        let odd = b.or([bits, one]);
        let (sum, cast) = (b.fadd([x, y]), b.bitcast_f32([odd]));
        let mut values = Vec::new();
        for number in [sum, y, cast] {
            values.extend([b.fexp2([number]), b.flog2([number])]);
        }
        values.push(b.fexp2([values[1]]));
        for (at, value) in (0..).zip(values) {
            b.output(at / 4, (at % 4) as u8, value);
        }
        b.ret();
        let mut func = b.finish();
        expand(&mut func, &ExpandOptions { fused });
        fold(&mut func);
        gvn(&mut func);
        dce(&mut func);
        func
    }

    fn count(func: &Function, op: Op) -> usize {
        func.insts_in(func.entry()).filter(|inst| inst.op == op).count()
    }

    #[test]
    fn expansions_are_found() {
        let mut func = powers(true);
        assert!(func.size() > 100, "{func}");
        rewrite(&mut func);
        crate::verify::verify(&func).unwrap();
        assert_eq!([Op::Fscale, Op::Flogcase].map(|op| count(&func, op)), [4, 3], "{func}");
        // Nothing is left of bounds, factors and comparisons.
        assert_eq!([Op::Pmax, Op::Ishl, Op::Flt, Op::Feq, Op::Select].map(|op| count(&func, op)), [0; 5], "{func}");
    }

    #[test]
    fn what_rounds_twice_is_left() {
        let func = powers(false);
        let mut same = func.clone();
        rewrite(&mut same);
        assert_eq!(same, func);
    }

    /// With any literal of them changed, what has it is no expansion.
    #[test]
    fn what_is_almost_an_expansion_is_left() {
        let func = powers(true);
        for &inst in &func.blocks[func.entry()].insts {
            let mut other = func.clone();
            if let (Op::Const, Imm::Bits(bits @ 2..)) = (func.insts[inst].op, &mut other.insts[inst].imm) {
                *bits ^= 1;
                rewrite(&mut other);
                crate::verify::verify(&other).unwrap();
                let left = [Op::Fscale, Op::Flogcase].map(|op| count(&other, op));
                assert!(left[0] == 0 || left[1] == 0, "{left:?} in {other}");
            }
        }
    }
}
