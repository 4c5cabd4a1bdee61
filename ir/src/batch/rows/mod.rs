//! Arrays of structures instead of structures of arrays: outputs, and sums of gathered rows, that are computed row by
//! row.
//!
//! Where all components of a result come about by the same operations, one vector may as well hold the components of
//! one lane as one component of four lanes. For an output that is made of inputs and uniforms, as in a product with a
//! matrix, nothing has to be transposed then. Rows that each lane finds for itself, as the bones of skinning, come as
//! rows anyway; where several of them become one, only that one is transposed.
//!
//! The finder looks for a *tree* of operations below a row of values. What a tree computes, nothing else may need.

mod write;

use super::copy::Copy;
use super::outputs::Components;
use super::{CallValues, Layout};
use crate::entity::{Block, Space, Value};
use crate::function::{Function, Imm, InstData, Origin};
use crate::op::Op;
use crate::set::EntitySet;
use crate::types::Type;
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;
use std::collections::BTreeMap;

/// The most operations of a tree for an output. Each is made for every vertex.
const OUTPUT_OPERATIONS: usize = 48;

/// The most operations of a tree over gathered rows. Each is made for every lane.
const BLEND_OPERATIONS: usize = 64;

/// The most sums of gathered rows that are made in one run: until they are transposed, each lane's vectors of all of
/// them are in registers.
const FAMILY: usize = 3;

/// The values of a row's components. Of three components, the last one stands there twice.
type Row = [Value; 4];

/// How one row of a tree comes about. Numbers are those of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// An input's row.
    Stream(u32),
    /// A component of an input, in every word.
    Splat { element: u32, component: u8 },
    /// Floats of the call and literals.
    Words(Row),
    /// The same literals for every lane.
    Literal([u32; 4]),
    /// The row of a space at `row` plus an index.
    At { space: Space, row: u32, index: Value },
    /// The lane's float, in every word.
    Each(Value),
    /// An operation, and whether its results are [guarded](Op::GuardOrdered).
    Op { op: Op, args: [u32; 3], guarded: bool, origin: Origin },
}

/// The steps of one result, the last of which is it.
type Tree = Vec<Step>;

/// Sums of gathered rows that are made together, because the others need nothing that the first does not: what a lane
/// has of it is made once.
#[derive(Debug)]
struct Family {
    /// The trees, and the values that the words of their results are.
    blends: Vec<(Tree, Row)>,
}

/// What is computed row by row.
#[derive(Debug, Default)]
pub struct Found {
    /// The block that returns, and its output elements with their trees.
    outputs: Vec<(u32, Tree)>,
    returning: Option<Block>,
    families: Vec<Family>,
    /// Values that only trees compute, columns of families included.
    values: EntitySet<Value>,
}

impl Found {
    /// Whether every output is made row by row, some of them by operations, or copied.
    pub fn makes_all(&self, layout: &Layout, copies: &[Copy]) -> bool {
        let stored = layout.outputs.iter().filter(|&&components| components > 0).count();
        !self.outputs.is_empty() && self.families.is_empty() && self.outputs.len() + copies.len() == stored
    }

    /// Takes copies over: where a loop makes rows of the other outputs, memory is gone through once.
    pub fn copy(&mut self, copies: &mut Vec<Copy>) {
        self.outputs.extend(copies.drain(..).map(|copy| (copy.output, vec![Step::Stream(copy.input)])));
    }
}

/// Steps that most trees have room in.
const STEPS: usize = 16;

/// Looks for trees.
pub struct Finder<'a> {
    func: &'a Function,
    layout: &'a Layout,
    order: &'a [Block],
    uniform: &'a EntitySet<Value>,
    uses: &'a SecondaryMap<Value, Uses>,
    call_values: &'a CallValues,
    /// Number of the block of an instruction's result, plus 1. Made for gathered rows.
    block_of: SecondaryMap<Value, u32>,
    search: Search,
    steps: Tree,
    values: Vec<Value>,
}

/// What a tree is looked for below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// An output, so many components of which are stored: its leaves are inputs and what the call computes.
    Output { stored: usize },
    /// A sum of gathered rows in one block: its leaves are those rows and each lane's floats.
    Blend { block: u32 },
}

impl<'a> Finder<'a> {
    pub fn new(
        func: &'a Function,
        layout: &'a Layout,
        order: &'a [Block],
        uniform: &'a EntitySet<Value>,
        uses: &'a SecondaryMap<Value, Uses>,
        call_values: &'a CallValues,
    ) -> Finder<'a> {
        let (block_of, search) = (SecondaryMap::new(), Search::Output { stored: 4 });
        let (steps, values) = (Vec::with_capacity(STEPS), Vec::with_capacity(4 * STEPS));
        Finder { func, layout, order, uniform, uses, call_values, block_of, search, steps, values }
    }

    /// Finds the outputs of three or four components, apart from copies, and the sums of gathered rows that are
    /// cheaper by rows. `outputs` are the block that returns and the values that it sets.
    pub fn find(mut self, outputs: Option<(Block, &[Components])>, copies: &[Copy]) -> Found {
        let mut found = Found::default();
        if let Some((block, outputs)) = outputs {
            found.returning = Some(block);
            for ((element, &components), &stored) in (0..).zip(outputs).zip(&self.layout.outputs) {
                if stored >= 3
                    && !copies.iter().any(|copy| copy.output == element)
                    && let Some(tree) = self.output(components, usize::from(stored))
                {
                    self.values.drain(..).for_each(|value| _ = found.values.insert(value));
                    found.outputs.push((element, tree));
                }
            }
        }
        self.families(&mut found);
        found
    }

    /// The tree of an output.
    fn output(&mut self, components: Components, stored: usize) -> Option<Tree> {
        self.begin(Search::Output { stored });
        let literals = components.map(|component| component.map_or(Some(0), |value| self.func.constant(value)));
        if let [Some(x), Some(y), Some(z), Some(w)] = literals {
            return Some(vec![Step::Literal([x, y, z, w].map(|bits| bits as u32))]);
        }
        let [Some(x), Some(y), Some(z), w] = components else { return None };
        self.row([x, y, z, if stored == 4 { w? } else { z }])?;
        Some(std::mem::take(&mut self.steps))
    }

    /// Finds the families.
    fn families(&mut self, found: &mut Found) {
        let gathered = self.gathered_rows();
        if gathered.len() < 2 {
            return;
        }
        for &block in self.order {
            let results = self.func.insts_in(block).filter_map(|inst| inst.result);
            results.for_each(|result| self.block_of[result] = block.as_u32() + 1);
        }
        for row in gathered {
            if found.values.contains(row[0]) {
                continue;
            }
            // The largest sum that the row is part of.
            let (mut top, mut best) = (row, None);
            while let Some(above) = self.users(top)
                && let Some(tree) = self.blend(above)
                && !tree.1.iter().any(|&value| found.values.contains(value))
            {
                (top, best) = (above, Some(tree));
            }
            let Some((tree, values)) = best.filter(|(tree, _)| pays(tree)) else { continue };
            values.iter().for_each(|&value| _ = found.values.insert(value));
            match found.families.last_mut() {
                Some(family) if self.is_related(family, &tree, top) => family.blends.push((tree, top)),
                _ => found.families.push(Family { blends: vec![(tree, top)] }),
            }
        }
    }

    /// Rows of three or four components at indices that differ among lanes, in the order of their first components.
    fn gathered_rows(&self) -> Vec<Row> {
        let mut rows: BTreeMap<(u32, u32, u32), Components> = BTreeMap::new();
        let mut keys = Vec::new();
        for &inst in self.order.iter().flat_map(|&block| &self.func.blocks[block].insts) {
            let data = &self.func.insts[inst];
            let (Op::UniformLoadAt, Imm::Row { space, row, component }) = (data.op, data.imm) else { continue };
            let index = data.args[0];
            if data.ty == Type::F32 && !self.uniform.contains(index) {
                let key = (space.as_u32(), row, index.as_u32());
                let row = rows.entry(key).or_insert_with(|| {
                    keys.push(key);
                    [None; 4]
                });
                row[usize::from(component)] = data.result;
            }
        }
        let whole = |[x, y, z, w]: Components| Some([x?, y?, z?, w.or(z)?]);
        keys.iter().filter_map(|key| whole(rows[key])).collect()
    }

    /// The row that is computed of this one, if nothing else is.
    fn users(&self, row: Row) -> Option<Row> {
        let mut users = row;
        for (user, value) in users.iter_mut().zip(row) {
            *user = self.func.insts[self.uses[value].only()?].result?;
        }
        (users[0] != users[1] && users[1] != users[2]).then_some(users)
    }

    /// The tree of a sum of gathered rows, and the values in it that nothing else uses.
    fn blend(&mut self, top: Row) -> Option<(Tree, Vec<Value>)> {
        self.begin(Search::Blend { block: self.block_of[top[0]] });
        let step = self.operation(top)?;
        self.steps.push(step);
        Some((self.steps.clone(), self.values.clone()))
    }

    /// Whether a sum can be made with those of a family.
    fn is_related(&self, family: &Family, tree: &[Step], row: Row) -> bool {
        let (first, columns) = &family.blends[0];
        let known = |leaf| leaves(first).any(|other| other == leaf);
        family.blends.len() < FAMILY && self.block_of[columns[0]] == self.block_of[row[0]] && leaves(tree).all(known)
    }

    // ---- trees

    fn begin(&mut self, search: Search) {
        self.search = search;
        self.steps.clear();
        self.values.clear();
    }

    /// Adds the steps that compute a row of values, and says which is the last; `None` if there are none.
    fn row(&mut self, row: Row) -> Option<u32> {
        let step = match self.search {
            Search::Output { stored } => self.output_leaf(row, stored),
            Search::Blend { block } => self.blend_leaf(row, block)?,
        };
        let step = match step {
            Some(step) => step,
            None => self.operation(row)?,
        };
        let known = self.steps.iter().position(|&other| other == step && !matches!(step, Step::Op { .. }));
        Some(known.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        }) as u32)
    }

    /// What needs no operation below an output.
    fn output_leaf(&self, row: Row, stored: usize) -> Option<Step> {
        let ty = self.func.ty(row[0]);
        let literals = row.map(|value| self.func.constant(value).map(|bits| bits as u32));
        if let [Some(x), Some(y), Some(z), Some(w)] = literals {
            return (ty != Type::I1 && ty != Type::F64).then_some(Step::Literal([x, y, z, w]));
        }
        let is_held = |value| self.call_values.contains(value) || self.func.constant(value).is_some();
        if row.iter().all(|&value| self.func.ty(value) == Type::F32 && is_held(value)) {
            return Some(Step::Words(row));
        }
        let mut inputs = [(0, 0); 4];
        for (input, value) in inputs.iter_mut().zip(row) {
            let data = self.func.def_inst(value)?;
            let (Op::Input, Imm::Element { element, component }) = (data.op, data.imm) else { return None };
            *input = (element, component);
        }
        let (element, component) = inputs[0];
        if inputs.iter().all(|&input| input == inputs[0]) {
            return Some(Step::Splat { element, component });
        }
        let in_order = (0..).zip(&inputs[..stored]).all(|(number, &input)| input == (element, number));
        in_order.then_some(Step::Stream(element))
    }

    /// What needs no operation below a sum of gathered rows; the outer `None` if the row cannot be part of it.
    #[expect(clippy::option_option, reason = "no leaf is no end of the search")]
    fn blend_leaf(&mut self, row: Row, block: u32) -> Option<Option<Step>> {
        if row[1..].iter().all(|&value| value == row[0]) {
            return (self.func.ty(row[0]) == Type::F32).then_some(Some(Step::Each(row[0])));
        }
        // What stands there for the fourth of three components is the third.
        if !row.iter().all(|&value| self.uses[value].only().is_some() && self.block_of[value] == block) {
            return None;
        }
        let gathered = self.gathered(row);
        if gathered.is_some() {
            self.values.extend(row);
        }
        Some(gathered)
    }

    fn gathered(&self, row: Row) -> Option<Step> {
        let mut step = None;
        for (number, value) in (0..).zip(row) {
            let &InstData { op: Op::UniformLoadAt, args, imm: Imm::Row { space, row, component }, .. } =
                self.func.def_inst(value)?
            else {
                return None;
            };
            let is_doubled = number == 3 && component == 2;
            let this = Step::At { space, row, index: args[0] };
            if self.uniform.contains(args[0])
                || !(component == number || is_doubled)
                || *step.get_or_insert(this) != this
            {
                return None;
            }
        }
        step
    }

    /// One operation in every component, on results that nothing else needs.
    fn operation(&mut self, row: Row) -> Option<Step> {
        let insts = same_operation(self.func, row)?;
        let InstData { op, ty, origin, .. } = *insts[0];
        let guarded = self.uses[row[0]].guards > 0;
        let most = match self.search {
            Search::Output { stored } => {
                let stored = &row[..stored];
                let is_ours = |&value: &Value| {
                    let uses = self.uses[value];
                    uses.others == 1 && (uses.guards > 0) == guarded && !self.uniform.contains(value)
                };
                if !stored.iter().all(is_ours) {
                    return None;
                }
                self.values.extend_from_slice(stored);
                OUTPUT_OPERATIONS * stored.len()
            }
            Search::Blend { block } => {
                if ty != Type::F32 || row.iter().any(|&value| self.block_of[value] != block) {
                    return None;
                }
                self.values.extend(row);
                BLEND_OPERATIONS * row.len()
            }
        };
        // Counted on the way down, so that a long chain of operations ends here and not at the end of the stack.
        if self.values.len() > most {
            return None;
        }
        let mut args = [0; 3];
        for (number, arg) in args.iter_mut().enumerate().take(op.operands().len()) {
            *arg = self.row(insts.map(|inst| inst.args[number]))?;
        }
        Some(Step::Op { op, args, guarded, origin })
    }
}

/// The instructions that make the components of a row, if they are one vector operation.
fn same_operation(func: &Function, row: Row) -> Option<[&InstData; 4]> {
    let mut insts = [func.def_inst(row[0])?; 4];
    for (inst, value) in insts.iter_mut().zip(row) {
        *inst = func.def_inst(value)?;
    }
    let InstData { op, ty, .. } = *insts[0];
    let is_same = insts.iter().all(|inst| (inst.op, inst.ty) == (op, ty));
    let is_cast = matches!(op, Op::BitcastI32 | Op::BitcastF32);
    (is_same && ty != Type::I1 && (op.is_by_row() || is_cast)).then_some(insts)
}

/// The values that a tree is made of, and whether they are indices.
fn leaves(tree: &[Step]) -> impl Iterator<Item = (Value, bool)> {
    tree.iter().filter_map(|step| match *step {
        Step::At { index, .. } => Some((index, true)),
        Step::Each(value) => Some((value, false)),
        _ => None,
    })
}

/// Transposing each row takes eight shuffles, making a lane's float a vector takes one.
fn pays(tree: &[Step]) -> bool {
    let rows = tree.iter().filter(|step| matches!(step, Step::At { .. })).count();
    let floats = tree.iter().filter(|step| matches!(step, Step::Each(_))).count();
    rows > 1 && floats <= rows
}
