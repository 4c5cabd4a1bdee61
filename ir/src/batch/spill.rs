//! Spilling before register allocation: values that loops keep go to slots.
//!
//! What a loop carries changes in every round and belongs in registers. What is only there while it runs, for the
//! rounds or for what comes after them, does not: where there is too much of both it is stored once, and loaded at each
//! use, so that a load is part of what uses it.

use super::Machine;
use super::rewrite::rewrite;
use crate::function::{Imm, Origin};
use crate::loops::Loops;
use crate::op::Memory;
use crate::{Block, Function, Inst, Op, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// A value that is kept.
#[derive(Clone, Copy)]
struct Kept {
    slot: u32,
    /// From this block on, by reverse postorder, it is used from there.
    from: u32,
}

/// Where a value is made and used, by reverse postorder.
#[derive(Clone, Copy, Default)]
struct Span {
    made: u32,
    last_use: u32,
}

/// Spills what loops keep that have more vectors to keep and to carry than the machine has registers.
pub(super) fn spill(func: &mut Function, order: &[Block], loops: &Loops, uniform: &EntitySet<Value>, machine: Machine) {
    if loops.is_empty() {
        return;
    }
    let kept = find(func, order, loops, uniform, machine);
    if kept.iter().all(|(_, kept)| kept.is_none()) {
        return;
    }
    for (number, &block) in (0u32..).zip(order) {
        write(func, &kept, number, block);
    }
}

/// The values that are kept.
fn find(
    func: &Function,
    order: &[Block],
    loops: &Loops,
    uniform: &EntitySet<Value>,
    machine: Machine,
) -> SecondaryMap<Value, Option<Kept>> {
    let is_held = |value| {
        let is_word = matches!(func.ty(value), Type::F32 | Type::I32 | Type::I1);
        is_word && !uniform.contains(value) && func.constant(value).is_none()
    };
    let (spans, values) = spans(func, order, is_held);
    // How many values go on into each block: those made before it, without those last used before it.
    let mut changes = vec![0isize; order.len() + 1];
    for &value in &values {
        changes[spans[value].made as usize + 1] += 1;
        changes[spans[value].last_use as usize + 1] -= 1;
    }
    let (mut live, mut crowded) = (0, vec![false; order.len()]);
    for (number, &block) in order.iter().enumerate() {
        live += changes[number];
        let carried = func.blocks[block].params.iter().filter(|&&param| is_held(param)).count();
        let vectors = (live as usize + carried) * usize::from(machine.vectors);
        crowded[number] = loops.is_head(number) && vectors > usize::from(machine.registers);
    }
    // For each block the first crowded loop that begins there or later.
    let mut next = vec![u32::MAX; order.len() + 1];
    for number in (0..order.len()).rev() {
        next[number] = if crowded[number] { number as u32 } else { next[number + 1] };
    }
    let (mut kept, mut slot) = (SecondaryMap::with_capacity(func.values.len()), func.slots(Memory::Slot));
    for &value in &values {
        let Span { made, last_use } = spans[value];
        let from = next[made as usize + 1];
        if from <= last_use && slot < crate::op::SLOTS / u32::from(machine.vectors) {
            kept[value] = Some(Kept { slot, from });
            slot += 1;
        }
    }
    kept
}

/// Stores what a block makes and loads what it uses.
fn write(func: &mut Function, kept: &SecondaryMap<Value, Option<Kept>>, number: u32, block: Block) {
    let insts = std::mem::take(&mut func.blocks[block].insts);
    let mut new = Vec::with_capacity(insts.len());
    func.origin = Origin::default();
    for param in func.blocks[block].params.clone() {
        store(func, &mut new, kept[param], param);
    }
    let used = |func: &mut Function, new: &mut Vec<Inst>, value| load(func, new, kept[value], number, value);
    rewrite(func, &insts, &mut new, used, |func, new, inst| {
        if let Some(result) = func.insts[inst].result {
            store(func, new, kept[result], result);
        }
    });
    func.origin = Origin::default();
    let mut terminator = func.blocks[block].terminator.take();
    if let Some(terminator) = &mut terminator {
        terminator.for_each_use_mut(|value| *value = load(func, &mut new, kept[*value], number, *value));
    }
    let data = &mut func.blocks[block];
    (data.insts, data.terminator) = (new, terminator);
}

fn store(func: &mut Function, insts: &mut Vec<Inst>, kept: Option<Kept>, value: Value) {
    if let Some(Kept { slot, .. }) = kept {
        insts.push(func.make_inst(Op::SlotStore, func.ty(value), &[value], Imm::Slot(slot)));
    }
}

fn load(func: &mut Function, insts: &mut Vec<Inst>, kept: Option<Kept>, block: u32, value: Value) -> Value {
    let Some(Kept { slot, .. }) = kept.filter(|kept| kept.from <= block) else { return value };
    let inst = func.make_inst(Op::SlotLoad, func.ty(value), &[], Imm::Slot(slot));
    insts.push(inst);
    func.insts[inst].result.expect("a load has a result")
}

/// Where values are made and used, and those that are held and used in a later block than their own.
fn spans(func: &Function, order: &[Block], is_held: impl Fn(Value) -> bool) -> (SecondaryMap<Value, Span>, Vec<Value>) {
    let (mut spans, mut values) = (SecondaryMap::<Value, Span>::with_capacity(func.values.len()), Vec::new());
    for (number, &block) in (0u32..).zip(order) {
        let data = &func.blocks[block];
        let insts = data.insts.iter().map(|&inst| &func.insts[inst]);
        for value in insts.clone().flat_map(|inst| inst.args.iter().copied()).chain(data.terminator().uses()) {
            spans[value].last_use = spans[value].last_use.max(number);
        }
        for value in data.params.iter().copied().chain(insts.filter_map(|inst| inst.result)) {
            spans[value].made = number;
            values.push(value);
        }
    }
    values.retain(|&value| spans[value].made < spans[value].last_use && is_held(value));
    (spans, values)
}
