//! Type checking: an instruction has the operands, result and immediate of its op's table line, an edge the arguments
//! that the parameters of its target ask for.

use super::dominance::{Definition, User, Users};
use super::{Place, Rule, Verifier};
use crate::entity::{Block, Inst, Resource, Value};
use crate::function::{BlockCall, Imm, InstData, Terminator, ValueDef};
use crate::memory::is_memory_op;
use crate::op::{ImmKind, Op, SLOTS, WORKLISTS};
use crate::signature::Signature;
use crate::texture::Access;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use std::collections::HashSet;

impl Verifier<'_> {
    pub(super) fn types_and_definitions(&mut self) {
        let func = self.func;
        let mut definitions: SecondaryMap<Value, Definition> = func.value_map();
        let mut elsewhere = Users::new();
        for &block in &func.layout {
            let is_return = *func.blocks[block].terminator() == Terminator::Return;
            for &param in &func.blocks[block].params {
                let (known, definition) = (&mut definitions[param], Definition::new(block, 0));
                self.define((param, known), ValueDef::Param(block), || Place::Block(block), definition);
            }
            for (position, &inst) in (1..).zip(&func.blocks[block].insts) {
                let data = &func.insts[inst];
                let signature = Signature::of(data.op, data.ty);
                self.inst_types(block, inst, signature);
                self.immediate(block, inst);
                let is_output = data.op == Op::Output && !is_return;
                self.has_ops_to_look_at |= signature.is_composite
                    || data.op.writes_buffers()
                    || signature.is_of_lockstep && !func.lockstep
                    || !self.is_batch && (signature.is_of_batch || is_output || data.vector > 0);
                // Most operands are made just before.
                let is_elsewhere = |&arg: &Value| !definitions[arg].is_in(block);
                if data.args.iter().any(is_elsewhere) {
                    elsewhere.push(User { block, position, inst });
                }
                if let Some(result) = data.result {
                    let (known, definition) = (&mut definitions[result], Definition::new(block, position));
                    self.define((result, known), ValueDef::Inst(inst), || Place::Inst(block, inst), definition);
                }
            }
            self.terminator_types(block);
        }
        self.dominance(&definitions, &elsewhere);
    }

    #[inline]
    fn inst_types(&mut self, block: Block, number: Inst, signature: &Signature) {
        let func = self.func;
        let inst = &func.insts[number];
        let Signature { is_allowed, operands, types, result, .. } = signature;
        let has_type = |(&arg, &ty): (&Value, &Type)| func.ty(arg) == ty;
        if !(*is_allowed
            && inst.args.len() == usize::from(*operands)
            && inst.args.iter().zip(types).all(has_type)
            && inst.result.map(|result| func.ty(result)) == *result)
        {
            self.wrong_types(Place::Inst(block, number), inst, signature);
        }
    }

    #[cold]
    fn wrong_types(&mut self, place: Place, inst: &InstData, signature: &Signature) {
        let (func, op) = (self.func, inst.op);
        if !signature.is_allowed {
            self.report(Rule::InstType, place, format!("{op} cannot be of type {}", inst.ty));
        }
        let count = usize::from(signature.operands);
        if inst.args.len() == count {
            for (index, (&arg, &expected)) in inst.args.iter().zip(&signature.types).enumerate() {
                if func.ty(arg) != expected {
                    let message = format!("operand {index}, {}, must be {expected}", self.typed(arg));
                    self.report(Rule::OperandType, place, message);
                }
            }
        } else {
            let message = format!("{} operands where {op} takes {count}", inst.args.len());
            self.report(Rule::OperandCount, place, message);
        }
        let expected = signature.result;
        if inst.result.map(|result| func.ty(result)) != expected {
            let message = match (inst.result, expected) {
                (Some(result), Some(ty)) => format!("the result, {}, must be {ty}", self.typed(result)),
                (None, _) => "the result is missing".to_string(),
                (Some(_), None) => format!("{op} has no result"),
            };
            self.report(Rule::Result, place, message);
        }
    }

    #[inline]
    fn immediate(&mut self, block: Block, number: Inst) {
        let inst = &self.func.insts[number];
        // Most have none.
        if inst.op.imm() != ImmKind::None || inst.imm != Imm::None {
            self.some_immediate(block, number);
        }
    }

    fn some_immediate(&mut self, block: Block, number: Inst) {
        let func = self.func;
        let (inst, place) = (&func.insts[number], || Place::Inst(block, number));
        let below = |what: &str, number: u32, count: usize| {
            (number as usize >= count).then(|| format!("{what} {number} of {count}"))
        };
        let wrong = match (inst.op.imm(), inst.imm) {
            (ImmKind::None, Imm::None) | (ImmKind::SysVal, Imm::SysVal(_)) | (ImmKind::Picks, Imm::Picks(_)) => None,
            (ImmKind::Bits, Imm::Bits(bits)) => {
                let limit = match inst.ty {
                    Type::I1 => 1,
                    Type::I32 | Type::F32 => u64::from(u32::MAX),
                    Type::F64 => u64::MAX,
                    // The table allows no such literal.
                    Type::Row => 0,
                };
                (bits > limit).then(|| format!("the bits {bits:#x} do not fit {}", inst.ty))
            }
            (ImmKind::Element, Imm::Element { element, component }) => {
                let count = if inst.op == Op::Output { func.outputs } else { func.inputs };
                below("element", element, count as usize).or_else(|| below("component", component.into(), 4))
            }
            (ImmKind::Stream, Imm::Stream(element)) => {
                let count = if inst.op == Op::OutputRow { func.outputs } else { func.inputs };
                below("element", element, count as usize)
            }
            (ImmKind::Slot, Imm::Slot(slot)) => below("slot", slot.saturating_add(inst.ty.words() - 1), SLOTS as usize),
            (ImmKind::Worklist, Imm::Worklist(worklist)) => below("worklist", worklist, WORKLISTS as usize),
            (ImmKind::Nested, Imm::Nested { worklist, outer }) => {
                below("worklist", worklist.max(outer.unwrap_or(0)), WORKLISTS as usize)
            }
            (ImmKind::SpaceRow, Imm::SpaceRow { space, .. }) => below("space", space.as_u32(), func.spaces.len()),
            (ImmKind::Row, Imm::Row { space, component, .. }) => {
                below("space", space.as_u32(), func.spaces.len()).or_else(|| below("component", component.into(), 4))
            }
            (ImmKind::ResourceByte, Imm::ResourceByte { resource, .. })
            | (ImmKind::Atomic, Imm::Atomic { resource, .. })
            | (ImmKind::Resource, Imm::Resource(resource)) => {
                below("resource", resource.as_u32(), func.resources.len()).or_else(|| self.shape(inst, resource))
            }
            (ImmKind::Texel, Imm::Texel { texture, .. }) => {
                below("resource", texture.as_u32(), func.resources.len()).or_else(|| self.shape(inst, texture))
            }
            (ImmKind::Sample, Imm::Sample { texture, sampler, .. })
            | (ImmKind::Gather, Imm::Gather { texture, sampler, .. }) => {
                let component = if let Imm::Gather { component, .. } = inst.imm { component } else { 0 };
                below("resource", texture.as_u32(), func.resources.len())
                    .or_else(|| below("sampler", sampler.as_u32(), func.samplers.len()))
                    .or_else(|| below("component", component.into(), 4))
                    .or_else(|| self.shape(inst, texture))
            }
            (ImmKind::Component, Imm::Component(component)) => below("component", component.into(), 4),
            (ImmKind::Array, Imm::Array { array, component }) => match func.arrays.get(array) {
                Some(data) if data.kept && inst.op == Op::ArrayLoad => {
                    return self.report(
                        Rule::Array,
                        place(),
                        format!("{array} is kept: nothing may be loaded from it"),
                    );
                }
                Some(data) => below("component", component.into(), data.components.into()),
                None => below("array", array.as_u32(), func.arrays.len()),
            },
            (kind, imm) => {
                let message = format!("the immediate is {imm:?}, {} takes {kind:?}", inst.op);
                return self.report(Rule::ImmediateKind, place(), message);
            }
        };
        if let Some(message) = wrong {
            self.report(Rule::Immediate, place(), message);
        }
    }

    /// What is wrong with accessing a resource, which exists, by this instruction.
    fn shape(&self, inst: &InstData, resource: Resource) -> Option<String> {
        let data = &self.func.resources[resource];
        match (data.memory, is_memory_op(inst.op)) {
            (Some(kind), _) => {
                return kind.objection(inst.op).map(|why| format!("{resource} is memory ({kind}): {why}"));
            }
            (None, true) => return Some(format!("{resource} is only read")),
            (None, false) => {}
        }
        match (Access::new(inst.op, inst.imm), data.texture) {
            (None, None) => None,
            (None, Some(shape)) => Some(format!("{resource} is a {shape}")),
            (Some(_), None) => Some(format!("{resource} is no texture")),
            (Some(access), Some(shape)) => {
                shape.objection(access.op, access.offsets).map(|why| format!("{resource} is a {shape}: {why}"))
            }
        }
    }

    fn terminator_types(&mut self, block: Block) {
        let func = self.func;
        let (place, terminator) = (Place::Terminator(block), func.blocks[block].terminator());
        let expected = if matches!(terminator, Terminator::Switch { .. }) { Type::I32 } else { Type::I1 };
        if let Some(selector) = terminator.selector().filter(|&selector| func.ty(selector) != expected) {
            let message = format!("{}, must be {expected}", self.typed(selector));
            self.report(Rule::Selector, place, message);
        }
        if let Terminator::Switch { cases, .. } = terminator {
            let mut seen = HashSet::new();
            for (case, _) in cases.iter().filter(|(case, _)| !seen.insert(*case)) {
                self.report(Rule::Cases, place, format!("case {} is there twice", *case as i32));
            }
        }
        for call in terminator.calls() {
            self.edge_arguments(place, call);
        }
    }

    fn edge_arguments(&mut self, place: Place, call: &BlockCall) {
        let func = self.func;
        let params = &func.blocks[call.block].params;
        if call.args.len() != params.len() {
            let message = format!("{} values for {} parameters", call.args.len(), params.len());
            return self.report(Rule::EdgeArguments, place, message);
        }
        for (&arg, &param) in call.args.iter().zip(params) {
            if func.ty(arg) != func.ty(param) {
                let message = format!("{}, but the parameter {}", self.typed(arg), self.typed(param));
                self.report(Rule::EdgeArguments, place, message);
            }
        }
    }
}
