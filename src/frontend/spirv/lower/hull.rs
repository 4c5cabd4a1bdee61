//! Tessellation control shaders: one invocation of the function is a whole patch, as of Direct3D's hull shaders. What
//! lies between two barriers is a *phase*, a loop over the invocations that the module has for each control point.
//!
//! Invocations may tell each other nothing but at barriers, so one after the other they compute what they would side by
//! side. Outputs are arrays of the patch, which all of them see. What an invocation itself has on both sides of a
//! barrier is kept for it in an array meanwhile. All patches go round as often, so nothing diverges. A barrier ends a
//! phase, so every invocation has to come to it once: where branches decide that, it is refused, as GLSL does.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::HashSet;

use shaderjit_ir::function::ValueDef;
use shaderjit_ir::{Array, Block, Op as IrOp, Type, Value, Variable};
use spirv::{BuiltIn, ExecutionMode, Op};

use super::pointer::Place;
use super::primitive::MAX_VERTICES;
use super::slots::{Elements, Exchanged, Slot};
use super::variables::Storage;
use super::{Def, Lowering};
use crate::error::LowerError;
use crate::frontend::{HullInterface, PrimitiveStage};
use crate::stage::Stage;

/// What lowering a tessellation control shader keeps.
pub(super) struct Hull {
    interface: HullInterface,
    /// The number of the invocation.
    instance: Variable,
    /// Input variables that have it.
    holders: Vec<usize>,
    /// Where each round of the phase begins.
    head: Option<Block>,
    /// The number of the first value that an invocation may have computed for itself.
    first: u32,
}

impl Lowering<'_> {
    /// Says that an input variable is the number of the invocation.
    pub(super) fn instance_is_in(&mut self, local: usize) {
        if let Some(hull) = &mut self.hull {
            hull.holders.push(local);
        }
    }

    /// Declares the patch that a tessellation control shader makes.
    pub(super) fn declare_hull(&mut self) -> Result<(), LowerError> {
        if self.stage != Stage::Hull {
            return Ok(());
        }
        let control_points = match self.mode_number(ExecutionMode::OutputVertices) {
            Some(count @ 1..=MAX_VERTICES) => count,
            Some(count) => return Err(self.invalid(format!("patches of {count} control points"))),
            None => return Err(self.invalid("the number of control points is not declared")),
        };
        let interface = HullInterface {
            inputs: crate::frontend::PrimitiveInputs { vertices: 0, elements: 0 },
            control_points,
            elements: Vec::new(),
            array: None,
            modes: self.tessellation_modes(),
            edges: [None; 4],
            inside: [None; 2],
        };
        let instance = self.declare_var(Type::I32);
        self.hull = Some(Hull { interface, instance, holders: Vec::new(), head: None, first: 0 });
        Ok(())
    }

    /// Begins a phase, if there are any: what follows is done for each invocation.
    pub(super) fn begin_phase(&mut self) -> Result<(), LowerError> {
        let Some(hull) = &self.hull else { return Ok(()) };
        let (instance, holders) = (hull.instance, hull.holders.clone());
        let zero = self.b.i32(0);
        self.b.def_var(instance, zero);
        let first = self.b.func().values.len() as u32;
        let head = self.create_block()?;
        self.b.jump(head);
        self.start(head);
        let number = self.b.use_var(instance);
        for holder in holders {
            self.set_local(holder, &[number])?;
        }
        let hull = self.hull.as_mut().expect("it was there");
        (hull.head, hull.first) = (Some(head), first);
        Ok(())
    }

    /// Ends it: the next invocation's turn.
    fn end_phase(&mut self) -> Result<(), LowerError> {
        let after = self.create_block()?;
        let hull = self.hull.as_mut().expect("its phase ends");
        let (instance, count) = (hull.instance, hull.interface.control_points);
        let head = hull.head.take().expect("a phase has begun");
        let (number, one, count) = (self.b.use_var(instance), self.b.i32(1), self.b.i32(count));
        let next = self.b.iadd([number, one]);
        self.b.def_var(instance, next);
        let goes_on = self.b.ult([next, count]);
        self.b.br_if(goes_on, head, after);
        self.b.seal_block(head);
        self.b.seal_block(after);
        self.start(after);
        Ok(())
    }

    // ---- barriers

    /// Lowers a barrier: all invocations come here before any goes on.
    pub(super) fn split_phase(&mut self) -> Result<(), LowerError> {
        let is_outermost = self.frames.len() == 1;
        let (cfg, block) = (Rc::clone(&self.frame().cfg), self.frame().block);
        self.cost.moved += cfg.blocks.len() as u64;
        self.check_cost()?;
        if !is_outermost || !cfg.is_passed_once(block) {
            let what = "OpControlBarrier of a tessellation control shader that branches may leave out or repeat";
            return Err(self.unsupported(what));
        }
        let ids = self.named_behind()?;
        let mut defs: BTreeMap<u32, (Def, usize)> = BTreeMap::new();
        let mut locals = BTreeSet::new();
        for id in &ids {
            if let Some((def, at)) = self.frame().ids.get(id).cloned() {
                locals.extend(local_of(&def));
                defs.insert(*id, (def, at));
            }
        }
        // Functions that are called behind the barrier may name any variable outside of functions.
        let globals: Vec<usize> = self.globals.values().filter_map(local_of).collect();
        let exchanged = self.variables.inputs.iter().chain(&self.variables.outputs).map(|&(_, local)| local);
        let exchanged: HashSet<usize> = exchanged.collect();
        locals.extend(globals);
        locals.retain(|local| !exchanged.contains(local));

        let mut kept = BTreeSet::new();
        for (def, _) in defs.values_mut() {
            map_values(def, &mut |value| {
                kept.insert(value);
                value
            });
        }
        let kept: Vec<Value> = kept.into_iter().filter(|&value| self.is_of_invocation(value)).collect();
        let mut of_locals = Vec::new();
        for &local in &locals {
            let count = self.variables.locals[local].written.len() as u32;
            of_locals.push((local, self.load_local(local, 0, count, &[], None)?));
        }
        let values: Vec<Value> = kept.iter().chain(of_locals.iter().flat_map(|(_, values)| values)).copied().collect();
        let records = self.keep(&values)?;
        self.end_phase()?;
        self.begin_phase()?;
        let mut loaded = self.take_back(&values, records)?.into_iter();
        let now: BTreeMap<Value, Value> = kept.into_iter().zip(&mut loaded).collect();
        for (local, values) in of_locals {
            let values: Vec<Value> = loaded.by_ref().take(values.len()).collect();
            let written = self.variables.locals[local].written.clone();
            self.set_local(local, &values)?;
            self.variables.locals[local].written = written;
        }
        for (id, (mut def, at)) in defs {
            map_values(&mut def, &mut |value| now.get(&value).copied().unwrap_or(value));
            self.frame().ids.insert(id, (def, at));
        }
        Ok(())
    }

    /// The ids that the entry point's function names behind the instruction that is being lowered.
    fn named_behind(&mut self) -> Result<HashSet<u32>, LowerError> {
        let mut ids = HashSet::default();
        let offset = self.offset;
        let behind = self.module.instructions().skip_while(|instruction| instruction.offset <= offset);
        for instruction in behind.take_while(|instruction| instruction.opcode() != Some(Op::FunctionEnd)) {
            self.cost.moved += instruction.operands().len() as u64;
            ids.extend(instruction.operands());
        }
        self.check_cost()?;
        Ok(ids)
    }

    /// Whether a value may be another for each invocation.
    fn is_of_invocation(&self, value: Value) -> bool {
        let func = self.b.func();
        let is_literal = match func.values[value].def {
            ValueDef::Inst(inst) => func.insts[inst].op == IrOp::Const,
            ValueDef::Param(_) => false,
        };
        let first = self.hull.as_ref().map_or(0, |hull| hull.first);
        value.as_u32() >= first && !is_literal
    }

    /// Keeps values of the invocation: an array, and the rows of each one's record.
    fn keep(&mut self, values: &[Value]) -> Result<Option<(Array, u32)>, LowerError> {
        let words: u32 = values.iter().map(|&value| words(self.b.ty(value))).sum();
        if words == 0 {
            return Ok(None);
        }
        let (hull, rows) = (self.hull.as_ref().expect("its values are kept"), words.div_ceil(4));
        let (instance, points) = (hull.instance, hull.interface.control_points);
        self.count_array(points.saturating_mul(4 * rows))?;
        let array = self.b.add_array(points * rows, 4);
        let first = self.first_row(instance, rows);
        let mut place = 0;
        for &value in values {
            let all = match self.b.ty(value) {
                Type::I1 => vec![self.truth(value)],
                Type::F64 => vec![self.b.f64lo([value]), self.b.f64hi([value])],
                _ => vec![value],
            };
            for word in all {
                let index = self.array_index(place / 4, Some(first));
                self.b.array_store(array, (place % 4) as u8, index, word);
                place += 1;
            }
        }
        self.check_cost()?;
        Ok(Some((array, rows)))
    }

    /// The values that were kept.
    fn take_back(&mut self, values: &[Value], kept: Option<(Array, u32)>) -> Result<Vec<Value>, LowerError> {
        let Some((array, rows)) = kept else { return Ok(Vec::new()) };
        let instance = self.hull.as_ref().expect("its values were kept").instance;
        let first = self.first_row(instance, rows);
        let (mut place, mut loaded) = (0, Vec::with_capacity(values.len()));
        for &value in values {
            let mut word = |this: &mut Self, ty| {
                let index = this.array_index(place / 4, Some(first));
                let word = this.b.array_load(ty, array, (place % 4) as u8, index);
                place += 1;
                word
            };
            loaded.push(match self.b.ty(value) {
                Type::I1 => {
                    let word = word(self, Type::I32);
                    self.is_true(word)
                }
                Type::F64 => {
                    let words = [word(self, Type::I32), word(self, Type::I32)];
                    self.b.f64join(words)
                }
                ty => word(self, ty),
            });
        }
        self.check_cost()?;
        Ok(loaded)
    }

    /// The first row of the invocation that runs, of so many each.
    fn first_row(&mut self, instance: Variable, rows: u32) -> Value {
        let (number, rows) = (self.b.use_var(instance), self.b.i32(rows));
        self.b.imul([number, rows])
    }

    // ---- the patch

    /// Ends the last phase, and stores the control points for the caller.
    pub(super) fn end_phases(&mut self) -> Result<(), LowerError> {
        if self.hull.is_none() {
            return Ok(());
        }
        self.end_phase()?;
        let points: Vec<Exchanged> = self.outputs()?.into_iter().filter(|output| output.vertices.is_some()).collect();
        let elements = Elements::new("LOCATION", points.iter().flat_map(Exchanged::slots)).with_registers();
        let inputs = self.primitive.inputs.expect("the vertices were counted");
        let hull = self.hull.as_mut().expect("it was there");
        hull.interface.inputs = inputs;
        hull.interface.elements = elements.elements();
        let (count, rows) = (hull.interface.control_points, hull.interface.registers());
        if rows == 0 {
            return Ok(());
        }
        self.count_array(count.saturating_mul(4 * rows))?;
        let kept = self.b.add_kept_array(count * rows, 4);
        let hull = self.hull.as_mut().expect("it was there");
        hull.interface.array = Some(kept);
        let (instance, registers) = (hull.instance, elements.elements());
        self.begin_phase()?;
        let first = self.first_row(instance, rows);
        for output in points {
            let Storage::Array { array, .. } = self.variables.locals[output.local].storage.clone() else {
                return Err(self.invalid("control points that are no array"));
            };
            if output.vertices.is_none_or(|vertices| vertices < count) {
                return Err(self.invalid("fewer control points than are declared"));
            }
            let of_point = self.first_row(instance, output.slots.len() as u32);
            for (number, (slot, scalar)) in (0..).zip(output.slots()) {
                let Some((element, component)) = elements.place(slot) else {
                    match slot {
                        Slot::Unused => continue,
                        _ => return Err(self.unsupported(format!("{slot:?} of each control point"))),
                    }
                };
                let from = self.array_index(number, Some(of_point));
                let value = self.array_load(array, scalar, from);
                let to = self.array_index(registers[element as usize].register, Some(first));
                self.b.array_store(kept, component, to, value);
            }
        }
        self.end_phase()
    }

    /// Says which of the patch constants are tessellation factors.
    pub(super) fn finish_hull(&mut self, constants: &Elements) {
        let hull = self.hull.as_mut().expect("it is a tessellation control shader");
        let place = |built_in, number| constants.place(Slot::BuiltIn { built_in, number });
        let interface = &mut hull.interface;
        interface.edges = [0, 1, 2, 3].map(|number| place(BuiltIn::TessLevelOuter, number));
        interface.inside = [0, 1].map(|number| place(BuiltIn::TessLevelInner, number));
        self.interface.primitive = Some(PrimitiveStage::Hull(interface.clone()));
    }
}

/// Words that a value is kept in.
fn words(ty: Type) -> u32 {
    if ty == Type::F64 { 2 } else { 1 }
}

/// The variable of an invocation that a pointer points to.
fn local_of(def: &Def) -> Option<usize> {
    match def {
        Def::Pointer(pointer) => match pointer.place {
            Place::Local { local, .. } => Some(local),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces every value that an id stands for.
fn map_values(def: &mut Def, map: &mut impl FnMut(Value) -> Value) {
    match def {
        Def::Value { scalars, .. } => *scalars = scalars.iter().map(|&value| map(value)).collect(),
        Def::Constant { .. } => {}
        Def::Pointer(pointer) => Rc::make_mut(pointer).place.map_values(map),
        Def::Handle(handle) => Rc::make_mut(handle).map_values(map),
    }
}
