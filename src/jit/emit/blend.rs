//! Blends: sums of rows that each vertex finds for itself, as in skinning by a weighted sum of bones.
//!
//! A row at an index that differs among lanes comes as a row, and is transposed with those of the other lanes. Where
//! several such rows become one by the same operations in every component, it is cheaper to compute that one lane by
//! lane and to transpose only it.

use super::Emitter;
use super::lanes::KeptOffsets;
use super::rows::same_operation;
use super::uniform::Window;
use super::uses::Uses;
use super::value::MAX_GROUPS;
use crate::error::JitError;
use cranelift_codegen::entity::packed_option::ReservedValue;
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::F32X4;
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::{Block, Function, Op, Space, Type, Value};
use std::collections::BTreeMap;

/// The most operations of a blend. Each is made for every lane.
const MAX_OPERATIONS: usize = 32;

/// The values of a row's components. Of three components, the last one stands there twice.
type Row = [Value; 4];

/// How one vector of a row comes about. Numbers are those of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The row of a space at `row` plus an index.
    Gathered { space: Space, row: u32, index: Value },
    /// The lane's float, in every component.
    Each(Value),
    /// An operation.
    Op { op: Op, args: [u32; 3] },
}

/// One blend.
#[derive(Clone, Debug)]
struct Blend {
    /// What the last one gives is transposed.
    steps: Vec<Step>,
    /// What the columns are.
    columns: Row,
}

/// Blends that are made together, because the others need nothing that the first does not: what a lane has of it is
/// made once.
type Family = Vec<Blend>;

/// The most blends of a family: until they are transposed, four vectors of each are in registers.
const FAMILY: usize = 3;

/// All blends of a function.
#[derive(Default)]
pub struct Blends {
    families: Vec<Family>,
    /// Number of the family of whose blends a value is a column, plus 1.
    of_column: SecondaryMap<Value, u32>,
    /// Values that only blends compute, columns included.
    values: EntitySet<Value>,
}

struct Finder<'a> {
    func: &'a Function,
    uniform: &'a EntitySet<Value>,
    uses: &'a SecondaryMap<Value, Uses>,
    /// Number of the block of an instruction's result, plus 1.
    block_of: SecondaryMap<Value, u32>,
    steps: Vec<Step>,
    values: Vec<Value>,
}

impl Blends {
    pub fn find(
        func: &Function,
        order: &[Block],
        uses: &SecondaryMap<Value, Uses>,
        uniform: &EntitySet<Value>,
    ) -> Blends {
        let mut blends = Blends::default();
        let gathered = gathered_rows(func, order, uniform);
        if gathered.len() < 2 {
            return blends;
        }
        let mut finder = Finder::new(func, order, uses, uniform);
        for row in gathered {
            if blends.values.contains(row[0]) {
                continue;
            }
            // The largest blend that the row is part of.
            let mut top = row;
            let mut found = None;
            while let Some(above) = finder.users(top)
                && let Some(steps) = finder.steps(above)
            {
                (top, found) = (above, Some(steps));
            }
            let Some((steps, values)) = found.filter(|(steps, _)| pays(steps)) else { continue };
            values.iter().for_each(|&value| _ = blends.values.insert(value));
            let blend = Blend { steps, columns: top };
            match blends.families.last_mut() {
                Some(family) if finder.is_related(family, &blend) => family.push(blend),
                _ => blends.families.push(vec![blend]),
            }
            top.iter().for_each(|&column| blends.of_column[column] = blends.families.len() as u32);
        }
        blends
    }

    /// How many families there are.
    pub fn len(&self) -> usize {
        self.families.len()
    }

    /// The number of the family that a column belongs to.
    pub fn family(&self, column: Value) -> Option<usize> {
        (self.of_column[column] as usize).checked_sub(1)
    }

    /// What the columns of a family's blends are.
    pub fn columns(&self, family: usize) -> impl Iterator<Item = Value> {
        self.families[family].iter().flat_map(|blend| blend.columns)
    }

    /// The values that a family is made of, and whether they are indices.
    pub fn leaves(&self, family: usize) -> impl Iterator<Item = (Value, bool)> {
        self.families[family][0].leaves()
    }

    /// About how many native instructions a family is, and how long it takes, in sums.
    pub fn weight(&self, family: usize) -> (usize, usize) {
        let steps = |blend: &Blend| blend.steps.len();
        let sums = self.families[family][0].steps.iter().filter(|step| matches!(step, Step::Op { .. })).count();
        (self.families[family].iter().map(|blend| steps(blend) * 4 + 8).sum(), sums + 5)
    }

    /// Whether only blends compute a value.
    pub fn cover(&self, value: Value) -> bool {
        self.values.contains(value)
    }
}

impl Blend {
    /// The values that it is made of, and whether they are indices.
    fn leaves(&self) -> impl Iterator<Item = (Value, bool)> {
        self.steps.iter().filter_map(|step| match *step {
            Step::Gathered { index, .. } => Some((index, true)),
            Step::Each(value) => Some((value, false)),
            Step::Op { .. } => None,
        })
    }
}

/// How many blends each family of a function has.
#[cfg(test)]
pub fn families(func: &Function) -> Vec<usize> {
    let (order, uniform) = (shaderjit_ir::cfg::reverse_postorder(func), shaderjit_ir::uniform::uniform_values(func));
    let blends = Blends::find(func, &order, &Uses::count(func, &order), &uniform);
    blends.families.iter().map(Vec::len).collect()
}

/// Rows of three or four components at indices that differ among lanes, in the order of their first components.
fn gathered_rows(func: &Function, order: &[Block], uniform: &EntitySet<Value>) -> Vec<Row> {
    let mut rows: BTreeMap<(u32, u32, u32), [Option<Value>; 4]> = BTreeMap::new();
    let mut keys = Vec::new();
    for &inst in order.iter().flat_map(|&block| &func.blocks[block].insts) {
        let data = &func.insts[inst];
        let (Op::UniformLoadAt, Imm::Row { space, row, component }) = (data.op, data.imm) else { continue };
        let index = data.args[0];
        if data.ty == Type::F32 && !uniform.contains(index) {
            let key = (space.as_u32(), row, index.as_u32());
            let row = rows.entry(key).or_insert_with(|| {
                keys.push(key);
                [None; 4]
            });
            row[usize::from(component)] = data.result;
        }
    }
    let whole = |[x, y, z, w]: [Option<Value>; 4]| Some([x?, y?, z?, w.or(z)?]);
    keys.iter().filter_map(|key| whole(rows[key])).collect()
}

/// Transposing each row takes eight shuffles, making a lane's float a vector takes one.
fn pays(steps: &[Step]) -> bool {
    let rows = steps.iter().filter(|step| matches!(step, Step::Gathered { .. })).count();
    let floats = steps.iter().filter(|step| matches!(step, Step::Each(_))).count();
    rows > 1 && floats <= rows
}

impl<'a> Finder<'a> {
    fn new(
        func: &'a Function,
        order: &[Block],
        uses: &'a SecondaryMap<Value, Uses>,
        uniform: &'a EntitySet<Value>,
    ) -> Finder<'a> {
        let mut block_of = SecondaryMap::with_capacity(func.values.len());
        for &block in order {
            let results = func.blocks[block].insts.iter().filter_map(|&inst| func.insts[inst].result);
            results.for_each(|result| block_of[result] = block.as_u32() + 1);
        }
        Finder { func, uniform, uses, block_of, steps: Vec::new(), values: Vec::new() }
    }

    /// Whether a blend can be made with those of a family.
    fn is_related(&self, family: &Family, blend: &Blend) -> bool {
        let block = |blend: &Blend| self.block_of[blend.columns[0]];
        let known = |leaf| family[0].leaves().any(|other| other == leaf);
        family.len() < FAMILY && block(&family[0]) == block(blend) && blend.leaves().all(known)
    }

    /// The row that is computed of this one, if nothing else is.
    fn users(&self, row: Row) -> Option<Row> {
        let mut users = row;
        for (number, user) in users.iter_mut().enumerate() {
            *user = self.func.insts[self.uses[row[number]].only()?].result?;
        }
        let is_row = users[0] != users[1] && users[1] != users[2];
        is_row.then_some(users)
    }

    /// The steps to a row of results, and all values in them that nothing else uses; `None` if there are none.
    fn steps(&mut self, top: Row) -> Option<(Vec<Step>, Vec<Value>)> {
        self.steps.clear();
        self.values.clear();
        self.operation(top)?;
        Some((self.steps.clone(), self.values.clone()))
    }

    fn step(&mut self, row: Row, block: u32) -> Option<u32> {
        if row[1..].iter().all(|&value| value == row[0]) {
            return (self.func.ty(row[0]) == Type::F32).then(|| self.push(Step::Each(row[0])));
        }
        // What stands there for the fourth of three components is the third.
        if !row.iter().all(|&value| self.uses[value].only().is_some() && self.block_of[value] == block) {
            return None;
        }
        self.gathered(row).or_else(|| self.operation(row))
    }

    fn push(&mut self, step: Step) -> u32 {
        let known = self.steps.iter().position(|&other| other == step && !matches!(step, Step::Op { .. }));
        known.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        }) as u32
    }

    fn gathered(&mut self, row: Row) -> Option<u32> {
        let mut step = None;
        for (number, value) in (0..).zip(row) {
            let InstData { op: Op::UniformLoadAt, args, imm: Imm::Row { space, row, component }, .. } =
                self.func.def_inst(value)?
            else {
                return None;
            };
            let is_doubled = number == 3 && *component == 2;
            let this = Step::Gathered { space: *space, row: *row, index: args[0] };
            if self.uniform.contains(args[0])
                || !(*component == number || is_doubled)
                || *step.get_or_insert(this) != this
            {
                return None;
            }
        }
        self.values.extend(row);
        step.map(|step| self.push(step))
    }

    /// One operation in every component.
    fn operation(&mut self, row: Row) -> Option<u32> {
        let insts = same_operation(self.func, row)?;
        let (op, block) = (insts[0].op, self.block_of[row[0]]);
        if insts[0].ty != Type::F32 || row.iter().any(|&value| self.block_of[value] != block) {
            return None;
        }
        // Counted on the way down, so that a long chain of operations ends here and not at the end of the stack.
        self.values.extend(row);
        if self.values.len() > 2 * 4 * MAX_OPERATIONS {
            return None;
        }
        let mut args = [0; 3];
        for (number, arg) in args.iter_mut().enumerate().take(op.operands().len()) {
            *arg = self.step(insts.map(|inst| inst.args[number]), block)?;
        }
        // Cranelift overwrites the first factor with the result: the row, which nothing else uses, and not the lane's
        // float.
        if op == Op::Fma && matches!(self.steps[args[0] as usize], Step::Each(_)) {
            args.swap(0, 1);
        }
        Some(self.push(Step::Op { op, args }))
    }
}

/// What has been made of a lane for a family.
#[derive(Default)]
struct Lane {
    floats: Vec<(Value, clif::Value)>,
    addresses: Vec<((Space, KeptOffsets), clif::Value)>,
}

impl Emitter<'_, '_> {
    /// Defines the columns of the family that a value is one of, if they are not yet.
    pub(super) fn blend_columns(&mut self, value: Value) -> Result<(), JitError> {
        let Some(number) = self.plan.blends.family(value) else { return Ok(()) };
        if !self.values[value].0[0].is_reserved_value() {
            return Ok(());
        }
        self.set_origin(self.func.def_inst(value).map_or_else(Origin::default, |inst| inst.origin));
        // What the steps use, every component uses: it is there where the first of them is.
        let family = self.plan.blends.families[number].clone();
        let mut sums = vec![[[self.args; 4]; MAX_GROUPS]; family.len()];
        for group in 0..self.plan.groups {
            for lane in 0..4 {
                let mut made = Lane::default();
                for (blend, rows) in family.iter().zip(&mut sums) {
                    rows[group][usize::from(lane)] = self.blend_lane(&blend.steps, group, lane, &mut made)?;
                }
            }
        }
        for (blend, sums) in family.iter().zip(sums) {
            let mut groups = [[self.args; MAX_GROUPS]; 4];
            for (group, rows) in sums.into_iter().enumerate().take(self.plan.groups) {
                for (column, vector) in groups.iter_mut().zip(self.simd.transpose(rows)) {
                    column[group] = vector;
                }
            }
            for (column, groups) in blend.columns.into_iter().zip(groups).rev() {
                self.define_groups(column, groups);
            }
        }
        Ok(())
    }

    /// A blend in one lane.
    fn blend_lane(&mut self, steps: &[Step], group: usize, lane: u8, made: &mut Lane) -> Result<clif::Value, JitError> {
        let mut results: Vec<clif::Value> = Vec::with_capacity(steps.len());
        for step in steps {
            let result = match *step {
                Step::Gathered { space, row, index } => {
                    let window = Window::of(self.func, space, row, Some(index));
                    let offsets = self.window_offsets(window, group);
                    let known = made.addresses.iter().find(|(key, _)| *key == (space, offsets));
                    let address = known.map(|&(_, address)| address).unwrap_or_else(|| {
                        let address = self.lane_address(self.spaces[space.as_u32() as usize], offsets, lane);
                        made.addresses.push(((space, offsets), address));
                        address
                    });
                    self.simd.load(F32X4, address, window.byte)
                }
                Step::Each(value) if self.is_uniform(value) => self.groups(value)[group],
                Step::Each(value) => {
                    let known = made.floats.iter().find(|(key, _)| *key == value);
                    known.map(|&(_, float)| float).unwrap_or_else(|| {
                        let vector = self.groups(value)[group];
                        let float = self.simd.shuffle(vector, vector, [lane; 4]);
                        let float = self.simd.cast(F32X4, float);
                        made.floats.push((value, float));
                        float
                    })
                }
                Step::Op { op, args } => self.vector_op(op, |arg| results[args[arg] as usize])?,
            };
            results.push(result);
        }
        Ok(*results.last().expect("a blend has steps"))
    }
}
