//! Trees of rows as runs of row instructions, in place of the instructions on lanes that they stand for.

use super::{Family, Found, Row, STEPS, Step};
use crate::entity::{Inst, Value};
use crate::function::{Function, Imm, InstData, Operands, Origin, ValueDef};
use crate::op::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Writes the instructions of one run.
struct Run<'a> {
    func: &'a mut Function,
    /// Rows of floats of the call and of literals, which are no part of the run.
    front: SmallVec<[Inst; 16]>,
    insts: SmallVec<[Inst; 16]>,
    /// What the run has of its leaves.
    made: SmallVec<[(Step, Value); 8]>,
}

impl<'a> Run<'a> {
    fn new(func: &'a mut Function) -> Run<'a> {
        Run { func, front: SmallVec::new(), insts: SmallVec::new(), made: SmallVec::new() }
    }

    /// Moves the instructions so far to those of the block.
    fn finish(&mut self, insts: &mut Vec<Inst>) {
        insts.extend(self.front.drain(..).chain(self.insts.drain(..)));
    }

    fn push(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Option<Value> {
        let inst = self.func.make_inst(op, ty, args, imm);
        let is_in_front = matches!(op, Op::Const | Op::RowJoin);
        if is_in_front {
            self.front.push(inst)
        } else {
            self.insts.push(inst)
        }
        self.func.insts[inst].result
    }

    fn row(&mut self, op: Op, args: &[Value], imm: Imm) -> Value {
        self.push(op, Type::Row, args, imm).expect("the op has a result")
    }

    fn leaf(&mut self, step: Step) -> Value {
        if let Some(&(_, value)) = self.made.iter().find(|(known, _)| *known == step) {
            return value;
        }
        let value = match step {
            Step::Stream(element) => self.row(Op::InputRow, &[], Imm::Stream(element)),
            Step::Splat { element, component } => {
                let row = self.leaf(Step::Stream(element));
                self.row(Op::RowSplat, &[row], Imm::Component(component))
            }
            Step::Words(words) => self.join(Type::F32, words),
            Step::Literal(words) => {
                let mut literal = |word: u32| self.push(Op::Const, Type::I32, &[], Imm::Bits(word.into()));
                let literals = if words == [words[0]; 4] { [literal(words[0]); 4] } else { words.map(literal) };
                self.join(Type::I32, literals.map(|literal| literal.expect("literals are results")))
            }
            Step::At { space, row, index } => self.row(Op::RowAt, &[index], Imm::SpaceRow { space, row }),
            Step::Each(value) => self.row(Op::RowEach, &[value], Imm::None),
            Step::Op { .. } => unreachable!("operations are no leaves"),
        };
        self.made.push((step, value));
        value
    }

    fn join(&mut self, ty: Type, words: Row) -> Value {
        self.push(Op::RowJoin, ty, &words, Imm::None).expect("rows are results")
    }

    /// Writes a tree, and returns its row.
    fn tree(&mut self, tree: &[Step]) -> Value {
        let mut results: SmallVec<[Value; STEPS]> = SmallVec::new();
        let first = tree.iter().find_map(|step| match step {
            Step::Op { origin, .. } => Some(*origin),
            _ => None,
        });
        for &step in tree {
            self.func.origin = first.unwrap_or_default();
            let Step::Op { op, args, guarded, origin } = step else {
                results.push(self.leaf(step));
                continue;
            };
            self.func.origin = origin;
            let args = args.map(|arg| results.get(arg as usize).copied().unwrap_or(results[0]));
            let args = &args[..op.operands().len()];
            // A row has no type but its own.
            let is_cast = matches!(op, Op::BitcastI32 | Op::BitcastF32);
            let row = if is_cast { args[0] } else { self.row(op, args, Imm::None) };
            if guarded {
                self.push(Op::GuardOrdered, Type::Row, &[row], Imm::None);
            }
            results.push(row);
        }
        self.func.origin = Origin::default();
        *results.last().expect("a tree has steps")
    }
}

impl Found {
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty() && self.families.is_empty()
    }

    /// Writes the trees as runs, and removes what they compute.
    pub fn write(&self, func: &mut Function) {
        let mut columns: SecondaryMap<Value, u32> = SecondaryMap::new();
        for (number, family) in (1..).zip(&self.families) {
            family.blends.iter().flat_map(|(_, row)| row).for_each(|&column| columns[column] = number);
        }
        let mut written = vec![false; self.families.len()];
        for at in 0..func.layout.len() {
            let block = func.layout[at];
            let old = std::mem::take(&mut func.blocks[block].insts);
            let mut insts = Vec::with_capacity(old.len());
            for inst in old {
                let InstData { op, imm, args, result, .. } = func.insts[inst];
                let family = result.and_then(|result| columns[result].checked_sub(1)).map(|number| number as usize);
                match (op, imm) {
                    _ if let Some(number) = family => {
                        // What the trees use, every column uses: it is there where the first of them is.
                        if !std::mem::replace(&mut written[number], true) {
                            self.families[number].write(func, &mut insts);
                        }
                    }
                    (Op::Output, Imm::Element { element, .. }) if self.has_output(element) => {}
                    (Op::GuardOrdered, _) if self.values.contains(args[0]) => {}
                    _ if result.is_some_and(|result| self.values.contains(result)) => {}
                    _ => insts.push(inst),
                }
            }
            if self.returning == Some(block) {
                let mut run = Run::new(func);
                // What is copied or the same for all goes first: stores of a round do not wait for its arithmetic.
                let of_kind = |is_leaf| self.outputs.iter().filter(move |(_, tree)| (tree.len() == 1) == is_leaf);
                for (element, tree) in of_kind(true).chain(of_kind(false)) {
                    // What is in front of one run is in front of the next.
                    run.made.retain(|(step, _)| matches!(step, Step::Literal(_)));
                    let row = run.tree(tree);
                    run.push(Op::OutputRow, Type::I32, &[row], Imm::Stream(*element));
                    run.finish(&mut insts);
                }
            }
            func.blocks[block].insts = insts;
        }
    }

    fn has_output(&self, element: u32) -> bool {
        self.outputs.iter().any(|(output, _)| *output == element)
    }
}

impl Family {
    /// Writes the family's run, and then its columns as words of the rows.
    fn write(&self, func: &mut Function, insts: &mut Vec<Inst>) {
        let mut run = Run::new(func);
        let rows: Vec<Value> = self.blends.iter().map(|(tree, _)| run.tree(tree)).collect();
        run.finish(insts);
        for ((_, columns), row) in self.blends.iter().zip(rows) {
            let count = if columns[2] == columns[3] { 3 } else { 4 };
            for component in (0..count).rev() {
                let column = columns[component];
                // The value stays, so its users do, too.
                let ValueDef::Inst(inst) = func.values[column].def else { unreachable!("operations make columns") };
                let data = &mut func.insts[inst];
                (data.op, data.args, data.imm) = (Op::RowWord, Operands::new(&[row]), Imm::Component(component as u8));
                insts.push(inst);
            }
        }
    }
}
