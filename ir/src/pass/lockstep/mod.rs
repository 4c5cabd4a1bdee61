//! Makes L invocations run together: rewrites a function so that every branch is the same in all lanes.
//!
//! The pass walks the [region tree](crate::region) and writes a new function. Branches on uniform values stay branches.
//! Where lanes may disagree, both sides run one after the other under *exec masks*, ordinary `i1` values:
//!
//! * an arm runs under `mask and condition`, and is skipped if that holds in no lane;
//! * a value that joins is a `select` by the mask of the edge it comes over;
//! * a divergent loop runs while any lane continues; what lanes that left computed is captured under the mask of each
//!   iteration, because later iterations compute it again for the others;
//! * derivatives take the mask, unless what they are taken of is the same function of inputs in all lanes: the lanes
//!   that are left out have it, too;
//! * stores and atomics take the mask; outputs become registers, set under the mask and written once at the end.
//!
//! Code runs only while at least one lane is active, so a uniform value is always some active lane's.
//!
//! A mask of `None` means "every lane that entered the function": straight-line code and uniform branches pay nothing.
//! In a function that writes memory, those that entered are the lanes with an [invocation](SysVal::Active) of their
//! own: lanes of the tail, to which atomics give nothing, neither write nor have others wait for them in a loop. They
//! still compute what all lanes do. Other functions have no such mask, for it does not matter what their tails do.
//!
//! A function all of whose branches are uniform is in that form already, but for outputs that are not set where it
//! returns.

mod frames;
mod invariant;
mod values;

use crate::builder::FunctionBuilder;
use crate::cfg::{self, Edge};
use crate::entity::{Block, Inst, Value, Variable};
use crate::function::{BlockCall, Function, Imm, InstData, Operands, Origin, Terminator};
use crate::op::{Op, SysVal};
use crate::pass::aliases::Aliases;
use crate::pass::{
    MAX_BLOCKS, PassError, limit, make_reducible, merge_returns, remove_unreachable, simplify_params, straighten,
};
use crate::region::{Divergence, Item, RegionTree};
use crate::set::EntitySet;
use crate::types::Type;
use crate::uniform::uniform_values;
use frames::Frame;
use invariant::hoist_invariants;
use smallvec::SmallVec;
use values::ValueMap;

/// The most scopes, loops and branches that may be open at once. Each costs a mask that lives as long.
pub const MAX_DEPTH: usize = 1 << 10;

/// The most registers, values that travel on edges or out of loops, times blocks: each may become a parameter of each
/// block. Real shaders need a few thousand; a million takes about a second.
pub const MAX_WORK: usize = 1 << 20;

/// Rewrites a function into lockstep form. Does nothing if it has that form already.
///
/// Fails with [`PassError::Limit`] where control flow is larger or deeper than [`MAX_BLOCKS`], [`MAX_DEPTH`]
/// and [`MAX_WORK`], and with [`PassError::DivergentBarrier`] where lanes cannot come to a barrier together.
pub fn lockstep(func: &mut Function) -> Result<(), PassError> {
    if func.lockstep {
        return Ok(());
    }
    remove_unreachable(func);
    make_reducible(func)?;
    straighten(func);
    limit("block count", func.layout.len(), MAX_BLOCKS)?;
    forget_any(func);
    func.layout = cfg::reverse_postorder(func).into_vec();
    if let Some(block) = returns_with_outputs(func)
        && branches_agree(func)
    {
        set_outputs_last(func, block);
        mask_writes(func);
        func.lockstep = true;
        return Ok(());
    }
    // The block that returns must be empty: it is run by lanes that come from anywhere.
    merge_returns(func);
    simplify_params(func);
    let (mut tree, mut divergence) = regions(func);
    if hoist_invariants(func, &tree, &divergence) {
        (tree, divergence) = regions(func);
    }
    let mut writer = Writer::new(func, &tree, &divergence);
    limit("registers times blocks", writer.values.registers() * func.layout.len(), MAX_WORK)?;
    for index in 0..tree.items.len() {
        writer.item(index)?;
    }
    let mut result = writer.finish();
    result.layout = cfg::reverse_postorder(&result).into_vec();
    result.lockstep = true;
    result.threads = func.threads;
    *func = result;
    Ok(())
}

/// How the code nests, and where its lanes diverge.
fn regions(func: &Function) -> (RegionTree, Divergence) {
    let tree = RegionTree::new(func);
    let divergence = Divergence::new(func, &tree);
    (tree, divergence)
}

/// Takes `any` for what it is in one lane, which an invocation by itself is.
fn forget_any(func: &mut Function) {
    let mut aliases = Aliases::default();
    let mut any = false;
    for &block in &func.layout {
        let data = &mut func.blocks[block];
        data.insts.retain(|&inst| {
            let InstData { op, args, result, .. } = &func.insts[inst];
            let is_any = *op == Op::Any;
            if is_any {
                aliases.replace(result.expect("`any` has a result"), args[0]);
                any = true;
            }
            !is_any
        });
    }
    if any {
        aliases.apply(func);
    }
}

/// Puts all that writes memory under a mask, the lanes that enter, where every branch is uniform.
fn mask_writes(func: &mut Function) {
    if !func.writes_memory() {
        return;
    }
    func.origin = Origin::default();
    let active = func.make_inst(Op::Sysval, Type::I32, &[], Imm::SysVal(SysVal::Active));
    let zero = func.make_inst(Op::Const, Type::I32, &[], Imm::Bits(0));
    let operands = [active, zero].map(|inst| func.insts[inst].result.expect("it has a result"));
    let test = func.make_inst(Op::Ine, Type::I32, &operands, Imm::None);
    let mask = func.insts[test].result.expect("it has a result");
    for &block in &func.layout {
        for at in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[at];
            let data = &mut func.insts[inst];
            let masked = data.op.masked().filter(|_| data.op.writes_buffers());
            if let Some(op) = masked {
                let args: Vec<Value> = data.args.iter().copied().chain([mask]).collect();
                (data.op, data.args) = (op, Operands::new(&args));
            }
        }
    }
    let entry = func.entry();
    func.blocks[entry].insts.splice(0..0, [active, zero, test]);
}

/// The only block that returns, if outputs are set in no other.
fn returns_with_outputs(func: &Function) -> Option<Block> {
    let mut returning = func.layout.iter().filter(|&&block| *func.blocks[block].terminator() == Terminator::Return);
    let (Some(&block), None) = (returning.next(), returning.next()) else { return None };
    let mut others = func.layout.iter().filter(|&&other| other != block);
    let sets_output = |&other: &Block| func.insts_in(other).any(|inst| inst.op == Op::Output);
    (!others.any(sets_output)).then_some(block)
}

/// Whether every branch is uniform.
fn branches_agree(func: &Function) -> bool {
    if func.layout.len() == 1 {
        return true;
    }
    // If all branches are taken for uniform and then none depends on what differs, none does.
    let uniform = uniform_values(func);
    let mut selectors = func.layout.iter().filter_map(|&block| func.blocks[block].terminator().selector());
    selectors.all(|selector| uniform.contains(selector))
}

/// Sets every output once, at the end of the block.
fn set_outputs_last(func: &mut Function, block: Block) {
    let mut outputs: SmallVec<[((u32, u8), Inst); 16]> = SmallVec::new();
    let mut insts = std::mem::take(&mut func.blocks[block].insts);
    insts.retain(|&inst| match func.insts[inst] {
        InstData { op: Op::Output, imm: Imm::Element { element, component }, .. } => {
            outputs.push(((element, component), inst));
            false
        }
        _ => true,
    });
    // Of those that set a component the last one counts.
    outputs.reverse();
    outputs.sort_by_key(|&(component, _)| component);
    outputs.dedup_by_key(|&mut (component, _)| component);
    insts.extend(outputs.into_iter().map(|(_, inst)| inst));
    func.blocks[block].insts = insts;
}

/// The lanes that run the code being written: `None` for all of them.
type Mask = Option<Value>;

struct Writer<'a> {
    func: &'a Function,
    tree: &'a RegionTree,
    divergence: &'a Divergence,
    b: FunctionBuilder,
    values: ValueMap,
    /// Scopes, loops and branches around the code being written.
    frames: Vec<Frame>,
    /// The mask of the code being written.
    mask: Mask,
    /// What a mask of `None` stands for.
    entered: Mask,
    /// One register a component of each output element that is written at all.
    outputs: Vec<[Option<(Variable, Type)>; 4]>,
    /// The derivatives whose operands all lanes of a quad have, whichever of them run the code.
    everywhere: EntitySet<Value>,
    /// The first barrier to which lanes come by themselves.
    parted: Option<Origin>,
}

impl<'a> Writer<'a> {
    fn new(func: &'a Function, tree: &'a RegionTree, divergence: &'a Divergence) -> Writer<'a> {
        let mut b = FunctionBuilder::new(func.name.clone(), func.inputs, func.outputs);
        b.declare_as(func);
        // Masks and selects come on top.
        b.reserve(func.size() + func.size() / 2);
        let entered = func.writes_memory().then(|| {
            let (active, zero) = (b.sysval(SysVal::Active), b.i32(0));
            b.ine([active, zero])
        });
        let values = ValueMap::new(func, tree, divergence, &mut b);
        let outputs = vec![[None; 4]; func.outputs as usize];
        let everywhere = values::seen_everywhere(func, tree, divergence);
        let (frames, mask, parted) = (Vec::new(), None, None);
        Writer { func, tree, divergence, b, values, frames, mask, entered, outputs, everywhere, parted }
    }

    fn finish(mut self) -> Function {
        self.end_guards();
        // Control gets here only out of a loop that no lane leaves by returning: never, but the block needs an end.
        if !self.b.is_terminated() {
            self.write_outputs();
        }
        self.b.finish()
    }

    fn item(&mut self, index: usize) -> Result<(), PassError> {
        match self.tree.items[index] {
            Item::Code(block) => self.code(block),
            Item::Scope(block) => self.open_scope(block),
            Item::EndScope(_) => self.close_scope(),
            Item::Loop(block) => self.open_loop(block),
            Item::EndLoop(_) => self.close_loop(),
            Item::Branch(block) => self.open_branch(block),
            Item::Arm(_, call) => {
                let is_direct = matches!(self.tree.items[index + 1], Item::Break(..) | Item::Continue(..));
                self.open_arm(call, is_direct);
            }
            Item::EndBranch(_) => self.close_branch(),
            Item::Inline(edge, target) => self.inline(edge, target),
            Item::Break(edge, target) => self.break_to(edge, target),
            Item::Continue(edge, target) => self.continue_to(edge, target),
            // All lanes are here: every way out of the function leads to this one block.
            Item::Return(_) => self.write_outputs(),
        }
        if let Some(origin) = self.parted {
            return Err(PassError::DivergentBarrier { offset: origin.offset() });
        }
        limit("control-flow nesting", self.frames.len(), MAX_DEPTH)
    }

    /// A value of the old function as it is at a point of the new one that stands for `block`.
    fn value(&mut self, value: Value, block: Block) -> Value {
        self.values.get(&mut self.b, (self.func, self.tree, self.divergence), value, block)
    }

    fn edge_call(&self, edge: Edge) -> &'a BlockCall {
        self.func.edge(edge)
    }

    /// The values an edge gives, all read before any is written.
    fn edge_args(&mut self, edge: Edge) -> Vec<Value> {
        let args = &self.edge_call(edge).args;
        args.iter().map(|&arg| self.value(arg, edge.from)).collect()
    }

    // ---- code

    fn code(&mut self, block: Block) {
        if self.tree.scope(block).is_some() || self.tree.loop_of(block).is_some() {
            for &param in &self.func.blocks[block].params {
                let value = self.values.read_param(&mut self.b, param);
                self.values.define(&mut self.b, param, value, self.mask);
            }
        }
        for &inst in &self.func.blocks[block].insts {
            let inst = self.func.insts[inst];
            self.inst(&inst, block);
        }
    }

    fn inst(&mut self, inst: &InstData, block: Block) {
        self.b.set_origin(inst.origin);
        if inst.op == Op::Barrier && self.mask.is_some() {
            self.parted.get_or_insert(inst.origin);
        }
        let mut args = inst.args;
        args.iter_mut().for_each(|arg| *arg = self.value(*arg, block));
        match (inst.op, inst.imm, &*args) {
            (Op::Output, Imm::Element { element, component }, &[value]) => self.set_output(element, component, value),
            (op, imm, _) => {
                let is_whole = op.is_derivative() && inst.result.is_some_and(|result| self.everywhere.contains(result));
                let (op, args) = if is_whole { (op, args) } else { self.under_mask(op, args) };
                if let Some(value) = self.b.emit(op, inst.ty, &args, imm) {
                    self.values.define(&mut self.b, inst.result.expect("the same op has a result"), value, self.mask);
                }
            }
        }
    }

    /// An op and its operands, under the current mask if it writes.
    fn under_mask(&mut self, op: Op, mut args: Operands) -> (Op, Operands) {
        // What is the function's own may be written by all lanes.
        let mask = if op.writes_buffers() { self.lanes() } else { self.mask };
        match (op.masked(), mask, args.last_mut()) {
            (_, _, Some(mask)) if op.is_masked() => {
                *mask = self.and_mask(*mask);
                (op, args)
            }
            (Some(masked), Some(mask), _) => (masked, Operands::new(&[&*args, &[mask]].concat())),
            _ => (op, args),
        }
    }

    /// The current mask, `None` only if it is all lanes there are.
    fn lanes(&self) -> Mask {
        self.mask.or(self.entered)
    }

    /// The current mask as a value.
    fn lanes_or_all(&mut self) -> Value {
        self.lanes().unwrap_or_else(|| self.b.i1(true))
    }

    /// The current mask narrowed by a condition.
    fn and_mask(&mut self, condition: Value) -> Value {
        match self.lanes() {
            None => condition,
            Some(mask) => self.b.and([mask, condition]),
        }
    }

    fn set_output(&mut self, element: u32, component: u8, value: Value) {
        let slot = &mut self.outputs[element as usize][usize::from(component)];
        let given = self.b.ty(value);
        let (variable, ty) = *slot.get_or_insert_with(|| (self.b.declare_var(given), given));
        // An output written both as i32 and as f32 keeps the first type; the bits are what counts.
        let value = match (given, ty) {
            (Type::F32, Type::I32) => self.b.bitcast_i32([value]),
            (Type::I32, Type::F32) => self.b.bitcast_f32([value]),
            _ => value,
        };
        let value = self.merge(variable, value);
        self.b.def_var(variable, value);
    }

    /// What a register holds after the active lanes write `value` to it.
    fn merge(&mut self, variable: Variable, value: Value) -> Value {
        match self.mask {
            None => value,
            Some(mask) => {
                let old = self.b.use_var(variable);
                self.b.select([mask, value, old])
            }
        }
    }

    // ---- edges

    fn inline(&mut self, edge: Edge, target: Block) {
        // A header that is reached inline reads its parameters from registers, as its loop's next rounds do.
        if self.tree.loop_of(target).is_some() {
            self.enter_registers(edge, target);
            return;
        }
        let args = self.edge_args(edge);
        for (&param, value) in self.func.blocks[target].params.iter().zip(args) {
            self.values.define(&mut self.b, param, value, self.mask);
        }
    }

    fn enter_registers(&mut self, edge: Edge, target: Block) {
        let args = self.edge_args(edge);
        for (&param, value) in self.func.blocks[target].params.iter().zip(args) {
            self.values.write_param(&mut self.b, param, value);
        }
    }

    fn break_to(&mut self, edge: Edge, target: Block) {
        let frame = self.tree.scope(target).expect("a break goes to a scope");
        let position = self.frames.iter().rposition(|open| open.is_scope(frame)).expect("the scope is open");
        self.arrive(edge, target, position);
    }

    fn continue_to(&mut self, edge: Edge, target: Block) {
        let frame = self.tree.loop_of(target).expect("a continue goes to a loop");
        let position = self.frames.iter().rposition(|open| open.is_loop(frame)).expect("the loop is open");
        self.arrive(edge, target, position);
    }

    /// The active lanes arrive at the end of a scope, or at the end of an iteration. Ends the list of steps.
    fn arrive(&mut self, edge: Edge, target: Block, position: usize) {
        let args = self.edge_args(edge);
        let params = &self.func.blocks[target].params;
        if let Some(block) = self.frames[position].direct_target() {
            for (&param, value) in params.iter().zip(args) {
                self.values.write_param(&mut self.b, param, value);
            }
            self.b.jump(block);
            return;
        }
        // Lanes may have arrived before: on another edge, or over this one in an earlier round of a loop inside.
        let in_loop = self.frames[position + 1..].iter().any(Frame::is_divergent_loop);
        let is_first = self.frames[position].take_first_arrival() && !in_loop;
        for (&param, value) in params.iter().zip(args) {
            let keeps_old = !is_first || self.values.is_frozen(param);
            let value = match self.mask {
                Some(mask) if keeps_old => {
                    let old = self.values.read_param(&mut self.b, param);
                    self.b.select([mask, value, old])
                }
                _ => value,
            };
            self.values.write_param(&mut self.b, param, value);
        }
        if let Some(arrived) = self.frames[position].arrived() {
            let mask = self.lanes_or_all();
            let mask = if is_first {
                mask
            } else {
                let before = self.b.use_var(arrived);
                self.b.or([before, mask])
            };
            self.b.def_var(arrived, mask);
        }
    }

    /// Sets the output elements from their registers and returns.
    fn write_outputs(&mut self) {
        for (element, components) in self.outputs.iter().enumerate() {
            for (component, register) in components.iter().enumerate() {
                if let &Some((variable, _)) = register {
                    let value = self.b.use_var(variable);
                    self.b.output(element as u32, component as u8, value);
                }
            }
        }
        self.b.ret();
    }

    /// Skips what follows, up to the end of the list of steps, if `mask` holds in no lane.
    fn guard(&mut self, mask: Value) {
        let (body, skip) = (self.b.create_block(), self.b.create_block());
        let any = self.b.any([mask]);
        self.b.br_if(any, body, skip);
        self.b.seal_block(body);
        self.b.switch_to_block(body);
        self.frames.push(Frame::Guard(skip));
    }

    /// Ends the guards that were opened inside the frame now ending. Afterwards the current block is where they skip
    /// to.
    fn end_guards(&mut self) {
        while let Some(Frame::Guard(skip)) = self.frames.pop_if(|frame| matches!(frame, Frame::Guard(_))) {
            self.join(skip);
        }
    }

    /// Goes on in `block`, where the current block, unless it has ended, goes too.
    fn join(&mut self, block: Block) {
        if !self.b.is_terminated() {
            self.b.jump(block);
        }
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    fn terminator(&self, block: Block) -> &'a Terminator {
        self.func.blocks[block].terminator()
    }
}

#[cfg(test)]
mod tests;
