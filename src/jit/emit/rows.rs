//! Outputs computed row by row: a vector holds the components of one vertex, not one component of four vertices.
//!
//! Where every component of an output comes from inputs and uniforms by the same operations, as in a product with a
//! matrix, both ways take as many operations. By rows there is nothing to transpose on either side, and four uniforms
//! are one load.
//!
//! A *row form* is a list of steps. What they compute, nothing else may need.

use super::Emitter;
use super::hoist::Hoisted;
use super::plan::Stream;
use super::uses::Uses;
use super::value::vector_type;
use crate::error::JitError;
use crate::jit::{Layout, fetch};
use crate::vertex_format::VertexFormat;
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::{F32X4, I8X16};
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::{Function, Op, Type, Value};
use std::collections::BTreeSet;

/// The most operations of a form. Each is made for every vertex of a group.
const MAX_OPERATIONS: usize = 48;

/// Up to how many rows of uniforms a form loads once for all vertices of a group. More would crowd out what they meet.
const SHARED_UNIFORMS: usize = 6;

/// How one vector of a row comes about. Numbers are those of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A component of an input, in every component.
    Input { element: u32, component: u8, ty: Type },
    /// The components of an input, each in its own.
    InputRow { element: u32, ty: Type },
    /// A row of uniforms: its number in [`RowForms::uniforms`].
    Uniform(u32),
    /// Literals.
    Literal { words: [u32; 4], ty: Type },
    /// An operation, and whether its results are [guarded](Op::GuardOrdered).
    Op { op: Op, args: [u32; 3], guarded: bool, origin: Origin },
}

/// The steps of one output. The last one's result is stored.
#[derive(Clone, Debug, Default)]
struct RowForm {
    steps: Vec<Step>,
}

/// Which outputs are computed by rows, and how.
#[derive(Default)]
pub struct RowForms {
    /// For each output element of the layout.
    of_output: Vec<Option<RowForm>>,
    /// Values that only row forms compute.
    values: EntitySet<Value>,
    /// Rows of hoisted floats and literals.
    pub uniforms: Vec<[Value; 4]>,
}

/// Looks for a form of one output.
struct Finder<'a> {
    func: &'a Function,
    hoisted: &'a Hoisted,
    uniform: &'a EntitySet<Value>,
    formats: &'a [VertexFormat],
    uses: &'a SecondaryMap<Value, Uses>,
    /// How many components are stored: 3 or 4. Of three, the last one is computed twice.
    stored: usize,
    steps: Vec<Step>,
    values: Vec<Value>,
    uniforms: Vec<[Value; 4]>,
    /// Number of the first row of uniforms.
    first_uniform: usize,
}

impl RowForms {
    /// Finds the outputs of three or four components that have a form, apart from those that are `copied`. `outputs`
    /// are the values of their components.
    pub fn find(
        func: &Function,
        layout: &Layout,
        uses: &SecondaryMap<Value, Uses>,
        outputs: &[[Option<Value>; 4]],
        (hoisted, uniform): (&Hoisted, &EntitySet<Value>),
        copied: impl Fn(u32) -> bool,
    ) -> RowForms {
        let mut forms = RowForms { of_output: vec![None; outputs.len()], ..RowForms::default() };
        for ((element, &components), &stored) in (0..).zip(outputs).zip(&layout.outputs) {
            if stored < 3 || copied(element) {
                continue;
            }
            let stored = usize::from(stored);
            let literals = components.map(|component| component.map_or(Some(0), |value| func.constant(value)));
            if let [Some(x), Some(y), Some(z), Some(w)] = literals {
                let words = [x, y, z, w].map(|bits| bits as u32);
                let steps = vec![Step::Literal { words, ty: Type::I32 }];
                forms.of_output[element as usize] = Some(RowForm { steps });
                continue;
            }
            let [Some(x), Some(y), Some(z), w] = components else { continue };
            let Some(w) = (if stored == 4 { w } else { Some(z) }) else { continue };
            let (steps, values, uniforms) = Default::default();
            let (formats, first_uniform) = (&layout.inputs, forms.uniforms.len());
            let mut finder =
                Finder { func, hoisted, uniform, formats, uses, stored, steps, values, uniforms, first_uniform };
            if finder.step([x, y, z, w]).is_some() {
                finder.values.iter().for_each(|&value| _ = forms.values.insert(value));
                forms.uniforms.append(&mut finder.uniforms);
                forms.of_output[element as usize] = Some(RowForm { steps: finder.steps });
            }
        }
        forms
    }

    /// Whether an output has a form.
    pub fn has(&self, output: u32) -> bool {
        self.of_output.get(output as usize).is_some_and(Option::is_some)
    }

    /// Whether what an instruction does is done by a form.
    pub fn cover(&self, inst: &InstData) -> bool {
        match (inst.op, inst.imm) {
            (Op::Output, Imm::Element { element, .. }) => self.has(element),
            (Op::GuardOrdered, _) => self.values.contains(inst.args[0]),
            _ => inst.result.is_some_and(|result| self.values.contains(result)),
        }
    }

    /// Every input element that a form reads.
    pub fn inputs(&self) -> impl Iterator<Item = u32> {
        self.of_output.iter().flatten().flat_map(RowForm::sources)
    }
}

impl Finder<'_> {
    /// Adds the steps that compute a row of values, and says which is the last; `None` if there are none.
    fn step(&mut self, row: [Value; 4]) -> Option<u32> {
        let step = self.leaf(row).or_else(|| self.operation(row))?;
        let found = self.steps.iter().position(|&other| other == step && !matches!(step, Step::Op { .. }));
        Some(found.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        }) as u32)
    }

    /// What needs no operation.
    fn leaf(&mut self, row: [Value; 4]) -> Option<Step> {
        let ty = self.func.ty(row[0]);
        let literals = row.map(|value| self.func.constant(value).map(|bits| bits as u32));
        if let [Some(x), Some(y), Some(z), Some(w)] = literals {
            return (ty != Type::I1 && ty != Type::F64).then_some(Step::Literal { words: [x, y, z, w], ty });
        }
        let is_held = |value| self.hoisted.contains(value) || self.func.constant(value).is_some();
        if row.iter().all(|&value| self.func.ty(value) == Type::F32 && is_held(value)) {
            let known = self.uniforms.iter().position(|&other| other == row);
            let number = known.unwrap_or_else(|| {
                self.uniforms.push(row);
                self.uniforms.len() - 1
            });
            return Some(Step::Uniform((self.first_uniform + number) as u32));
        }
        let mut inputs = [(0, 0); 4];
        for (input, value) in inputs.iter_mut().zip(row) {
            let data = self.func.def_inst(value)?;
            let (Op::Input, Imm::Element { element, component }) = (data.op, data.imm) else { return None };
            *input = (element, component);
        }
        let (element, component) = inputs[0];
        let packing = self.formats.get(element as usize)?.packing();
        if !packing.is_words() {
            return None;
        }
        if inputs.iter().all(|&input| input == inputs[0]) {
            let component_number = usize::from(component);
            return Some(if component_number < packing.components() {
                Step::Input { element, component, ty }
            } else {
                Step::Literal { words: [packing.default_component(component_number); 4], ty }
            });
        }
        let in_order = (0..).zip(&inputs[..self.stored]).all(|(number, &input)| input == (element, number));
        (in_order && packing.components() >= self.stored).then_some(Step::InputRow { element, ty })
    }

    /// One operation in every component, on results that nothing else needs.
    fn operation(&mut self, row: [Value; 4]) -> Option<Step> {
        let stored = &row[..self.stored];
        let uses = row.map(|value| self.uses[value]);
        let guarded = uses[0].guards > 0;
        let is_ours = |uses: &Uses| uses.others == 1 && (uses.guards > 0) == guarded;
        if !uses[..self.stored].iter().all(is_ours) || stored.iter().any(|&value| self.uniform.contains(value)) {
            return None;
        }
        let insts = same_operation(self.func, row)?;
        let op = insts[0].op;
        // Counted on the way down, so that a long chain of operations ends here and not at the end of the stack.
        self.values.extend_from_slice(stored);
        if self.values.len() > MAX_OPERATIONS * self.stored {
            return None;
        }
        let mut args = [0; 3];
        for (number, arg) in args.iter_mut().enumerate().take(op.operands().len()) {
            *arg = self.step(insts.map(|inst| inst.args[number]))?;
        }
        // Cranelift overwrites the first factor with the result: one that is loaded again for each vertex can go.
        if op == Op::Fma && matches!(self.steps[args[0] as usize], Step::Uniform(_) | Step::Literal { .. }) {
            args.swap(0, 1);
        }
        Some(Step::Op { op, args, guarded, origin: insts[0].origin })
    }
}

/// The instructions that make the components of a row, if they are one vector operation.
pub fn same_operation(func: &Function, row: [Value; 4]) -> Option<[&InstData; 4]> {
    let mut insts = [func.def_inst(row[0])?; 4];
    for (inst, value) in insts.iter_mut().zip(row) {
        *inst = func.def_inst(value)?;
    }
    let InstData { op, ty, .. } = *insts[0];
    let is_same = insts.iter().all(|inst| (inst.op, inst.ty) == (op, ty));
    (is_same && is_by_component(op)).then_some(insts)
}

/// Ops that are one vector operation with the same meaning for any four lanes.
fn is_by_component(op: Op) -> bool {
    matches!(
        op,
        Op::Fadd
            | Op::Fsub
            | Op::Fmul
            | Op::Fdiv
            | Op::Fma
            | Op::Fneg
            | Op::Fabs
            | Op::Fsqrt
            | Op::Pmin
            | Op::Pmax
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::BitcastI32
            | Op::BitcastF32
    )
}

impl Emitter<'_, '_> {
    /// Computes and stores an output by its form.
    pub(super) fn store_form(&mut self, output: u32, stored: u8) -> Result<(), JitError> {
        let form = self.plan.rows.of_output[output as usize].clone().expect("the plan has a form of it");
        let uniforms = form.steps.iter().filter(|step| matches!(step, Step::Uniform(_))).count();
        self.set_origin(form.origin());
        let shared: Vec<Option<clif::Value>> = form
            .steps
            .iter()
            .map(|step| match *step {
                Step::Uniform(number) if uniforms <= SHARED_UNIFORMS => Some(self.uniform_row(number)),
                Step::Literal { words, ty } => Some(self.simd.words(vector_type(ty), words)),
                _ => None,
            })
            .collect();
        let sources: Vec<Source> = form.sources().map(|element| self.source(element, &form)).collect();
        let to = self.rows(Stream::Output(output));
        for (vertex, to) in to.into_iter().enumerate() {
            let whole: Vec<Option<clif::Value>> = sources
                .iter()
                .map(|source| source.is_whole.then(|| self.simd.load(I8X16, source.rows[vertex], 0)))
                .collect();
            let source = |element| {
                let at = sources.iter().position(|source| source.element == element).expect("every input has one");
                (sources[at].rows[vertex], whole[at])
            };
            self.set_origin(form.origin());
            let mut results: Vec<clif::Value> = Vec::with_capacity(form.steps.len());
            for (step, shared) in form.steps.iter().zip(&shared) {
                let result = match (*step, *shared) {
                    (_, Some(shared)) => shared,
                    (Step::Input { element, component, ty }, _) => {
                        let (row, whole) = source(element);
                        fetch::broadcast(&mut self.simd, vector_type(ty), row, whole, component)
                    }
                    (Step::InputRow { element, ty }, _) => self.simd.load(vector_type(ty), source(element).0, 0),
                    (Step::Uniform(number), _) => self.uniform_row(number),
                    (Step::Literal { .. }, _) => unreachable!("literals are shared"),
                    (Step::Op { op, args, guarded, origin }, _) => {
                        self.set_origin(origin);
                        let result = self.vector_op(op, |arg| results[args[arg] as usize])?;
                        if guarded {
                            self.note(result);
                        }
                        result
                    }
                };
                results.push(result);
            }
            let row = *results.last().expect("a form has steps");
            fetch::store_row(&mut self.simd, row, stored, to);
        }
        self.set_origin(Origin::default());
        Ok(())
    }

    fn source(&mut self, element: u32, form: &RowForm) -> Source {
        let components =
            form.steps.iter().filter(|step| matches!(step, Step::Input { element: of, .. } if *of == element));
        let is_whole =
            form.is_guarded() && components.count() > 1 && self.layout.inputs[element as usize].bytes() >= 12;
        Source { element, rows: self.rows(Stream::Input(element)), is_whole }
    }

    /// In front of the loop: loads the rows of uniforms that it holds.
    pub(super) fn hold_uniforms(&mut self) {
        if self.plan.by_rows {
            self.held_rows = (0..self.plan.rows.uniforms.len() as u32).map(|number| self.uniform_row(number)).collect();
        }
    }

    fn uniform_row(&mut self, number: u32) -> clif::Value {
        if let Some(&row) = self.held_rows.get(number as usize) {
            return row;
        }
        let memory = self.hoisted.expect("rows of uniforms are hoisted");
        let place = self.plan.hoisted.row_place(number) as i32;
        self.simd.load(F32X4, memory, place * 16)
    }
}

/// An input that a form reads.
struct Source {
    element: u32,
    /// The rows of the group's vertices.
    rows: Vec<clif::Value>,
    /// Whether a vertex's row is loaded whole for its components. A load into every component is one instruction only
    /// as long as what is made of it has one user, and guards are users.
    is_whole: bool,
}

impl RowForm {
    fn is_guarded(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Op { guarded: true, .. }))
    }

    /// What its first operation was made for.
    fn origin(&self) -> Origin {
        let mut origins = self.steps.iter().filter_map(|step| match step {
            Step::Op { origin, .. } => Some(*origin),
            _ => None,
        });
        origins.next().unwrap_or_default()
    }

    /// The inputs it reads, each once.
    fn sources(&self) -> impl Iterator<Item = u32> {
        let inputs: BTreeSet<u32> = self.steps.iter().filter_map(Step::input).collect();
        inputs.into_iter()
    }
}

impl Step {
    /// The input it reads.
    fn input(&self) -> Option<u32> {
        match *self {
            Step::Input { element, .. } | Step::InputRow { element, .. } => Some(element),
            _ => None,
        }
    }
}
