//! Checks that a function keeps the rules of the IR. [`Rule`] is the list of all that is checked.
//!
//! The checks run in four stages, each relying on those before it: indices, structure, types and definitions, lockstep
//! form. A stage with an error is the last one. For what a back end is given, [`Verified`], there is a fifth: the back
//! end's form.

use crate::dom::DominatorTree;
use crate::entity::{Array, Block, Inst, Resource, Value};
use crate::function::{BlockCall, Function, Imm, InstData, Terminator, ValueDef};
use crate::memory::{active_values, is_memory_op};
use crate::op::{Attribute, ImmKind, Op, SLOTS, WORKLISTS};
use crate::print::Numbering;
use crate::set::EntitySet;
use crate::signature::Signature;
use crate::texture::Access;
use crate::types::Type;
use crate::uniform::uniform_values;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use std::collections::HashSet;
use std::fmt;
use thiserror::Error;

macro_rules! define_rules {
    ($( $(#[$doc:meta])* $name:ident $text:literal; )*) => {
        /// One property of a valid function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $( $(#[$doc])* $name, )* }

        impl Rule {
            /// Every rule, in the order of the list.
            pub const ALL: &'static [Rule] = &[$( Rule::$name, )*];
            /// The name that ends an error message.
            pub const fn name(self) -> &'static str { match self { $( Rule::$name => $text, )* } }
        }
    };
}

define_rules! {
    // ---- indices
    /// Every block, instruction and value that the layout, a block, an instruction or an edge names exists.
    Index "index";

    // ---- structure
    /// A block is in the layout once, and an instruction in one place of one block.
    Once "once";
    /// There is an entry block; it has no parameters and no predecessors.
    Entry "entry";
    /// Every block has a terminator.
    Terminator "terminator";
    /// Every edge leads to a block of the layout.
    Target "target";
    /// A register array has at least one element, of 1 to 4 components. Nothing is loaded from one that is kept.
    Array "array";

    // ---- types and definitions
    /// An edge gives as many values as its target has parameters, each of the parameter's type.
    EdgeArguments "edge-arguments";
    /// A `br_if` is on an `i1`, a `switch` on an `i32`.
    Selector "selector";
    /// The cases of a `switch` differ.
    Cases "cases";
    /// The type of an instruction is one that its op's table line allows.
    InstType "inst-type";
    /// An instruction has as many operands as its op's table line.
    OperandCount "operand-count";
    /// Each operand has the type of the table line: the instruction's, where the line names a set of types.
    OperandType "operand-type";
    /// An instruction has the immediate its op's table line names.
    ImmediateKind "immediate-kind";
    /// Immediates are in range: a literal fits its type, an input or output element is below the function's count, a
    /// space, resource, sampler or array exists, a component is below 4 or the array's count. A resource is bytes to
    /// ops on bytes, and to ops on textures a texture of a shape that they can access.
    Immediate "immediate";
    /// An instruction has a result exactly if its op has one, and of that type.
    Result "result";
    /// A value is defined once, by what its data says defines it.
    Definition "definition";
    /// A row is used only in the block that makes it, if it does not come from a slot of the call, and is no block's
    /// parameter.
    RowInBlock "row-in-block";
    /// The definition of a value comes before each use: earlier in the block, or in a block that dominates it. In a
    /// block that the entry does not reach, only the order within the block counts.
    Dominance "dominance";

    // ---- lockstep form
    /// Every branch of a function in lockstep form is on a [uniform](crate::uniform) value.
    UniformBranch "uniform-branch";
    /// `any` and `guard_ordered`, which are about all lanes, are only in functions in lockstep form.
    OpOfLockstep "op-of-lockstep";
    /// At most one block of a function in lockstep form returns: lanes end together.
    OneReturn "one-return";
    /// What a function in lockstep form writes to [memory](crate::memory) it writes under a mask that holds in active
    /// lanes alone, and it has no guards then: nothing that writes is run again.
    ActiveWrites "active-writes";
    /// A function in lockstep form sets outputs only in the block that returns, if it is no batch program.
    OutputAtReturn "output-at-return";

    // ---- the form that back ends take
    /// Instructions of a batch program are for vectors that its waves have. A phase is entered by its first block,
    /// which has no parameters, and left for one block; what it makes, no other uses. It is in one piece, behind the
    /// one block that leads there. What differs among lanes is made in phases. The call's block alone stores to slots
    /// of the call, and no other uses what it makes but for rows.
    Phase "phase";
    /// A function for a back end is in lockstep form, and its composite ops are expanded.
    BackEndForm "back-end-form";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {message} ({rule})")]
pub struct VerifyError {
    /// The rule.
    pub rule: Rule,
    /// Where: the block and the instruction or terminator, as printed.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// The rules a function breaks: at least one, at most [`VerifyErrors::MAX`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct VerifyErrors(pub Vec<VerifyError>);

impl VerifyErrors {
    /// No more errors than this are collected.
    pub const MAX: usize = 64;
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// Checks every [`Rule`]. Takes any data at all: never panics, never recurses.
///
/// ```
/// let mut b = shaderjit_ir::FunctionBuilder::new("f", 0, 1);
/// let zero = b.f32(0.0);
/// b.output(1, 0, zero);
/// b.ret();
/// let errors = shaderjit_ir::verify::verify(&b.finish()).unwrap_err();
/// assert_eq!(errors.to_string(), "block0: output.f32 1.0, v0: element 1 of 1 (immediate)");
/// ```
pub fn verify(func: &Function) -> Result<(), VerifyErrors> {
    Verifier::new(func).run()
}

/// What an error is about.
#[derive(Clone, Copy)]
enum Place {
    Function,
    Array(Array),
    Block(Block),
    Inst(Block, Inst),
    Terminator(Block),
}

struct Verifier<'f> {
    func: &'f Function,
    errors: Vec<VerifyError>,
    /// Made for the first error.
    numbering: Option<Numbering>,
    /// Whether the function is a [batch program](crate::batch).
    is_batch: bool,
    /// Whether each of its lanes is a thread of a group.
    fills_waves: bool,
    /// The uniform values, once a rule has asked for them.
    uniform: Option<EntitySet<Value>>,
    /// Whether it has instructions that the form of the function may forbid.
    has_ops_to_look_at: bool,
}

impl<'f> Verifier<'f> {
    fn new(func: &'f Function) -> Verifier<'f> {
        Verifier {
            func,
            errors: Vec::new(),
            numbering: None,
            is_batch: false,
            fills_waves: false,
            uniform: None,
            has_ops_to_look_at: false,
        }
    }

    fn run(&mut self) -> Result<(), VerifyErrors> {
        let stages = [Verifier::indices, Verifier::structure, Verifier::types_and_definitions, Verifier::lockstep];
        stages.into_iter().try_for_each(|stage| self.stage(stage))
    }

    fn stage(&mut self, stage: fn(&mut Self)) -> Result<(), VerifyErrors> {
        stage(self);
        if self.errors.is_empty() { Ok(()) } else { Err(VerifyErrors(std::mem::take(&mut self.errors))) }
    }

    #[cold]
    fn report(&mut self, rule: Rule, place: Place, message: String) {
        if self.errors.len() == VerifyErrors::MAX {
            return;
        }
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        let at = match place {
            Place::Function => "function".to_string(),
            Place::Array(array) => array.to_string(),
            Place::Block(block) => numbering.block(block).to_string(),
            Place::Inst(block, inst) => {
                format!("{}: {}", numbering.block(block), numbering.inst_text(&func.insts[inst]))
            }
            Place::Terminator(block) => match &func.blocks[block].terminator {
                Some(terminator) => {
                    format!("{}: {}", numbering.block(block), numbering.terminator_text(terminator))
                }
                None => numbering.block(block).to_string(),
            },
        };
        self.errors.push(VerifyError { rule, at, message });
    }

    /// What `value` is called and what type it has.
    fn typed(&mut self, value: Value) -> String {
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        format!("{} is {}", numbering.value(value), func.ty(value))
    }

    // ---- indices

    fn indices(&mut self) {
        let func = self.func;
        for &block in &func.layout {
            if !exists(&func.blocks, block) {
                self.missing(&"the layout", &block);
                continue;
            }
            let data = &func.blocks[block];
            self.values_exist(&block, data.params.iter().copied());
            for &inst in &data.insts {
                if exists(&func.insts, inst) {
                    let data = &func.insts[inst];
                    let is_missing = |value: &Value| !exists(&func.values, *value);
                    if data.args.iter().any(is_missing) || data.result.as_ref().is_some_and(is_missing) {
                        self.values_exist(&inst, data.args.iter().copied().chain(data.result));
                    }
                } else {
                    self.missing(&block, &inst);
                }
            }
            if let Some(terminator) = &data.terminator {
                self.values_exist(&block, terminator.uses());
                for call in terminator.calls().filter(|call| !exists(&func.blocks, call.block)) {
                    self.missing(&block, &call.block);
                }
            }
        }
    }

    fn values_exist(&mut self, by: &dyn fmt::Display, values: impl Iterator<Item = Value>) {
        for value in values.filter(|&value| !exists(&self.func.values, value)) {
            self.missing(by, &value);
        }
    }

    /// Unlike [`report`](Self::report), shows bare indices: printing would follow them.
    #[cold]
    fn missing(&mut self, by: &dyn fmt::Display, what: &dyn fmt::Display) {
        if self.errors.len() < VerifyErrors::MAX {
            let message = format!("{what} does not exist");
            self.errors.push(VerifyError { rule: Rule::Index, at: by.to_string(), message });
        }
    }

    // ---- structure

    fn structure(&mut self) {
        let func = self.func;
        for (array, data) in &func.arrays {
            if data.elements == 0 || !(1..=4).contains(&data.components) {
                let message = format!("{} elements of {} components", data.elements, data.components);
                self.report(Rule::Array, Place::Array(array), message);
            }
        }
        let Some(&entry) = func.layout.first() else {
            return self.report(Rule::Entry, Place::Function, "there is no entry block".to_string());
        };
        if !func.blocks[entry].params.is_empty() {
            self.report(Rule::Entry, Place::Block(entry), "the entry block has parameters".to_string());
        }
        let mut laid_out = EntitySet::with_capacity(func.blocks.len());
        for &block in &func.layout {
            if !laid_out.insert(block) {
                self.report(Rule::Once, Place::Block(block), "the block is in the layout twice".to_string());
            }
        }
        let mut placed = SecondaryMap::<Inst, bool>::new();
        placed.resize(func.insts.len());
        for &block in &func.layout {
            let data = &func.blocks[block];
            for &inst in &data.insts {
                if std::mem::replace(&mut placed[inst], true) {
                    self.report(Rule::Once, Place::Inst(block, inst), "the instruction is placed twice".to_string());
                }
            }
            let Some(terminator) = &data.terminator else {
                self.report(Rule::Terminator, Place::Block(block), "the block has no terminator".to_string());
                continue;
            };
            for call in terminator.calls() {
                if call.block == entry {
                    self.report(Rule::Entry, Place::Terminator(block), "an edge leads to the entry block".to_string());
                }
                if !laid_out.contains(call.block) {
                    let message = "an edge leads to a block that is not in the layout".to_string();
                    self.report(Rule::Target, Place::Terminator(block), message);
                }
            }
        }
    }

    // ---- types and definitions

    fn types_and_definitions(&mut self) {
        let func = self.func;
        for &block in &func.layout {
            let is_return = *func.blocks[block].terminator() == Terminator::Return;
            for &inst in &func.blocks[block].insts {
                let (place, data) = (Place::Inst(block, inst), &func.insts[inst]);
                let signature = Signature::of(data.op, data.ty);
                self.inst_types(place, data, signature);
                self.immediate(place, data);
                let is_output = data.op == Op::Output && !is_return;
                self.has_ops_to_look_at |= signature.is_composite
                    || data.op.writes_buffers()
                    || signature.is_of_lockstep && !func.lockstep
                    || !self.is_batch && (signature.is_of_batch || is_output || data.vector > 0);
            }
            self.terminator_types(block);
        }
        let definitions = self.definitions();
        self.dominance(&definitions);
    }

    #[inline]
    fn inst_types(&mut self, place: Place, inst: &InstData, signature: &Signature) {
        let func = self.func;
        let Signature { is_allowed, operands, types, result, .. } = signature;
        let has_type = |(&arg, &ty): (&Value, &Type)| func.ty(arg) == ty;
        if !(*is_allowed
            && inst.args.len() == usize::from(*operands)
            && inst.args.iter().zip(types).all(has_type)
            && inst.result.map(|result| func.ty(result)) == *result)
        {
            self.wrong_types(place, inst, signature);
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
    fn immediate(&mut self, place: Place, inst: &InstData) {
        // Most have none.
        if inst.op.imm() != ImmKind::None || inst.imm != Imm::None {
            self.some_immediate(place, inst);
        }
    }

    fn some_immediate(&mut self, place: Place, inst: &InstData) {
        let func = self.func;
        let below = |what: &str, number: u32, count: usize| {
            (number as usize >= count).then(|| format!("{what} {number} of {count}"))
        };
        let wrong = match (inst.op.imm(), inst.imm) {
            (ImmKind::None, Imm::None) | (ImmKind::SysVal, Imm::SysVal(_)) => None,
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
                    return self.report(Rule::Array, place, format!("{array} is kept: nothing may be loaded from it"));
                }
                Some(data) => below("component", component.into(), data.components.into()),
                None => below("array", array.as_u32(), func.arrays.len()),
            },
            (kind, imm) => {
                let message = format!("the immediate is {imm:?}, {} takes {kind:?}", inst.op);
                return self.report(Rule::ImmediateKind, place, message);
            }
        };
        if let Some(message) = wrong {
            self.report(Rule::Immediate, place, message);
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

    /// Where each value is defined.
    fn definitions(&mut self) -> SecondaryMap<Value, Definition> {
        let func = self.func;
        let mut definitions: SecondaryMap<Value, Definition> = func.value_map();
        for &block in &func.layout {
            let data = &func.blocks[block];
            let mut define = |value: Value, def, place, position| {
                let definition = &mut definitions[value];
                if func.values[value].def != def || definition.block.is_some() {
                    let message = "the value is defined twice, or elsewhere by its own data".to_string();
                    self.report(Rule::Definition, place, message);
                }
                *definition = Definition { block: block.into(), position };
                if position == 0 && func.ty(value) == Type::Row {
                    self.report(Rule::RowInBlock, place, "a parameter is a row".to_string());
                }
            };
            data.params.iter().for_each(|&param| define(param, ValueDef::Param(block), Place::Block(block), 0));
            for (position, &inst) in (1..).zip(&data.insts) {
                if let Some(result) = func.insts[inst].result {
                    define(result, ValueDef::Inst(inst), Place::Inst(block, inst), position);
                }
            }
        }
        definitions
    }

    fn dominance(&mut self, definitions: &SecondaryMap<Value, Definition>) {
        let func = self.func;
        // In the entry block alone, the order of definitions says all.
        let tree = (func.layout.len() > 1).then(|| DominatorTree::new(func));
        let is_reachable = |block| tree.as_ref().is_some_and(|tree| tree.position(block).is_some());
        let is_defined = |value, block, position| {
            let definition = definitions[value];
            match definition.block.expand() {
                None => false,
                Some(from) if from == block => definition.position < position,
                Some(_) if !is_reachable(block) => true,
                Some(from) => is_reachable(from) && tree.as_ref().is_some_and(|tree| tree.dominates(from, block)),
            }
        };
        for &block in &func.layout {
            let data = &func.blocks[block];
            for (position, &inst) in (1..).zip(&data.insts) {
                // Most operands are made just before.
                let is_in_front = |arg: Value| {
                    let definition = definitions[arg];
                    definition.block == block.into() && definition.position < position
                };
                for &arg in func.insts[inst].args.iter().filter(|&&arg| !is_in_front(arg)) {
                    if !is_defined(arg, block, position) {
                        self.undominated(arg, Place::Inst(block, inst));
                    }
                    let is_of_call = |arg: Value| func.def_inst(arg).is_some_and(|def| def.op == Op::CallLoad);
                    let is_elsewhere = definitions[arg].block.expand().is_some_and(|from| from != block);
                    if func.ty(arg) == Type::Row && is_elsewhere && !is_of_call(arg) {
                        let message = format!("{} from another block", self.typed(arg));
                        self.report(Rule::RowInBlock, Place::Inst(block, inst), message);
                    }
                }
            }
            for arg in data.terminator().uses().filter(|&arg| !is_defined(arg, block, u32::MAX)) {
                self.undominated(arg, Place::Terminator(block));
            }
        }
    }

    #[cold]
    fn undominated(&mut self, value: Value, place: Place) {
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        let message = format!("{} is used where its definition does not reach", numbering.value(value));
        self.report(Rule::Dominance, place, message);
    }

    // ---- lockstep form

    fn lockstep(&mut self) {
        let func = self.func;
        let has_branches = || func.layout.iter().any(|&block| func.blocks[block].terminator().selector().is_some());
        self.uniform = (func.lockstep && has_branches()).then(|| uniform_values(func));
        if func.lockstep && self.has_ops_to_look_at {
            self.active_writes();
        }
        let is_return = |block: Block| matches!(func.blocks[block].terminator(), Terminator::Return);
        let mut returns = 0;
        for &block in &func.layout {
            let data = &func.blocks[block];
            let insts = if self.has_ops_to_look_at { data.insts.as_slice() } else { &[] };
            for &inst in insts {
                match func.insts[inst].op {
                    op if op.is_of_lockstep() && !func.lockstep => {
                        let message = "the function is not in lockstep form".to_string();
                        self.report(Rule::OpOfLockstep, Place::Inst(block, inst), message);
                    }
                    Op::Output if func.lockstep && !self.is_batch && !is_return(block) => {
                        let message = "the block does not return".to_string();
                        self.report(Rule::OutputAtReturn, Place::Inst(block, inst), message);
                    }
                    _ => {}
                }
            }
            if !func.lockstep {
                continue;
            }
            let is_divergent =
                |&selector: &Value| self.uniform.as_ref().is_none_or(|uniform| !uniform.contains(selector));
            if let Some(selector) = data.terminator().selector().filter(is_divergent) {
                let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
                let message = format!("{} may differ between lanes", numbering.value(selector));
                self.report(Rule::UniformBranch, Place::Terminator(block), message);
            }
            returns += u32::from(is_return(block));
            if is_return(block) && returns > 1 {
                self.report(Rule::OneReturn, Place::Terminator(block), "another block returns too".to_string());
            }
        }
    }

    fn active_writes(&mut self) {
        let func = self.func;
        if !func.writes_memory() {
            return;
        }
        let active = if self.fills_waves { None } else { Some(active_values(func)) };
        let is_active = |mask: &Value| active.as_ref().is_none_or(|active| active.contains(*mask));
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let InstData { op, args, .. } = &func.insts[inst];
                let message = match op {
                    Op::GuardOrdered => "what writes memory cannot run again",
                    op if !op.writes_buffers() => continue,
                    op if !op.is_masked() => "the lanes that write are not said",
                    _ if !args.last().is_some_and(is_active) => "lanes of the tail may write",
                    _ => continue,
                };
                self.report(Rule::ActiveWrites, Place::Inst(block, inst), message.to_string());
            }
        }
    }

    // ---- the form that back ends take

    fn back_end_form(&mut self) {
        let func = self.func;
        if !func.lockstep {
            self.report(Rule::BackEndForm, Place::Function, "it is not in lockstep form".to_string());
        }
        let blocks = if self.has_ops_to_look_at { func.layout.as_slice() } else { &[] };
        for &block in blocks {
            for &inst in &func.blocks[block].insts {
                let InstData { op, ty, vector, .. } = func.insts[inst];
                if op.attribute() == Attribute::Composite {
                    self.report(Rule::BackEndForm, Place::Inst(block, inst), format!("{op} is not expanded"));
                }
                if !self.is_batch && (op.is_of_batch(ty) || vector > 0) {
                    let message = "only batch programs have words and rows of streams, slots, worklists and vectors";
                    let message = message.to_string();
                    self.report(Rule::BackEndForm, Place::Inst(block, inst), message);
                }
            }
        }
    }
}

/// Where a value is defined: parameters at position 0, instructions from 1.
#[derive(Clone, Copy, Default)]
struct Definition {
    block: PackedOption<Block>,
    position: u32,
}

fn exists<K: EntityRef, V>(map: &PrimaryMap<K, V>, key: K) -> bool {
    key.index() < map.len()
}

mod verified;

pub use verified::Verified;

#[cfg(test)]
mod tests;
