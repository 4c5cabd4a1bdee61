//! Spilling before register allocation: values that loops keep go to slots.
//!
//! What a loop carries changes in every round and belongs in registers. What is only there while it runs, for the
//! rounds or for what comes after them, does not: where there is too much of both it is stored once, and loaded at each
//! use, so that a load is part of what uses it.

use super::rewrite::{load, rewrite, store};
use super::{Machine, Parts};
use crate::function::Origin;
use crate::loops::Loops;
use crate::{Block, Function, Inst, Type, Value};
use cranelift_entity::SecondaryMap;

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

/// Spills what loops keep that have more vectors to keep and to carry than the machine has registers. Where one wave
/// does what its group would, integers are in slots in any case: back ends compute the addresses of whole vectors from
/// single words there.
pub(super) fn spill(program: &mut Parts, machine: Machine) {
    let loops = Loops::find(&program.func, &program.order);
    if loops.is_empty() {
        return;
    }
    let kept = find(program, &loops, machine);
    if kept.iter().all(|(_, kept)| kept.is_none()) {
        return;
    }
    for (number, &block) in (0u32..).zip(&program.order) {
        write(&mut program.func, &kept, number, block);
    }
}

/// The values that are kept.
fn find(program: &Parts, loops: &Loops, machine: Machine) -> SecondaryMap<Value, Option<Kept>> {
    let (in_slots, Parts { func, order, uniform, .. }) = (program.is_one_wave(), program);
    let is_held = |value| {
        let is_word = match func.ty(value) {
            Type::F32 | Type::I32 => true,
            // Sixteen lanes of them have registers of their own.
            Type::I1 => !in_slots || machine.lanes < 16,
            _ => false,
        };
        is_word && !uniform.contains(value) && func.constant(value).is_none()
    };
    let is_integer = |value| in_slots && func.ty(value) == Type::I32;
    let (spans, values) = spans(func, order, is_held);
    // How many values go on into each block: those made before it, without those last used before it.
    let mut changes = vec![0isize; order.len() + 1];
    for &value in values.iter().filter(|&&value| !is_integer(value)) {
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
    // For each block the first loop that begins there or later, and the first crowded one.
    let mut next = vec![[u32::MAX; 2]; order.len() + 1];
    for number in (0..order.len()).rev() {
        let begins = [loops.is_head(number), crowded[number]];
        next[number] = [0, 1].map(|which| if begins[which] { number as u32 } else { next[number + 1][which] });
    }
    let (mut kept, mut slot) = (func.value_map(), func.slots().wave);
    for &value in &values {
        let Span { made, last_use } = spans[value];
        let from = next[made as usize + 1][usize::from(!is_integer(value))];
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
    let made = |func: &mut Function, new: &mut Vec<Inst>, value: Value| {
        if let Some(Kept { slot, .. }) = kept[value] {
            store(func, new, slot, value);
        }
    };
    let used = |func: &mut Function, new: &mut Vec<Inst>, value: Value| match kept[value] {
        Some(Kept { slot, from }) if from <= number => load(func, new, slot, value),
        _ => value,
    };
    func.origin = Origin::default();
    func.blocks[block].params.clone().into_iter().for_each(|param| made(func, &mut new, param));
    rewrite(func, &insts, &mut new, used, |func, new, inst| {
        func.insts[inst].result.into_iter().for_each(|result| made(func, new, result));
    });
    func.origin = Origin::default();
    let mut terminator = func.blocks[block].terminator.take();
    if let Some(terminator) = &mut terminator {
        terminator.for_each_use_mut(|value| *value = used(func, &mut new, *value));
    }
    let data = &mut func.blocks[block];
    (data.insts, data.terminator) = (new, terminator);
}

/// Where values are made and used, and those that are held and used in a later block than their own.
fn spans(func: &Function, order: &[Block], is_held: impl Fn(Value) -> bool) -> (SecondaryMap<Value, Span>, Vec<Value>) {
    let (mut spans, mut values) = (func.value_map::<Span>(), Vec::new());
    for (number, &block) in (0u32..).zip(order) {
        for value in func.uses_in(block) {
            spans[value].last_use = spans[value].last_use.max(number);
        }
        for value in func.defs_in(block) {
            spans[value].made = number;
            values.push(value);
        }
    }
    values.retain(|&value| spans[value].made < spans[value].last_use && is_held(value));
    (spans, values)
}
