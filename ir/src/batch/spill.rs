//! Spilling before register allocation: values that are kept in slots, through loops and from phase to phase.
//!
//! What a loop carries changes in every round and belongs in registers. What is only there while it runs, for the
//! rounds or for what comes after them, does not: where there is too much of both it is stored once, and loaded where
//! it is used. What one [phase](super::phases) makes for others is in no register when they run.

use super::BatchProgram;
use crate::{Block, Function, Type, Value};
use cranelift_entity::SecondaryMap;

/// Where a value is kept.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its place, in vectors.
    pub place: u32,
    /// From this block on, by reverse postorder, or from this phase on it is used from there.
    pub from: u32,
}

/// The values that are kept in memory.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    slots: SecondaryMap<Value, Option<Slot>>,
    /// How many vectors they are.
    vectors: u32,
}

/// Where a value is made and used, by reverse postorder.
#[derive(Clone, Copy, Default)]
struct Span {
    made: u32,
    last_use: u32,
}

impl Slots {
    /// Spills what loops keep that have more vectors to keep and to carry than the machine has registers.
    pub(super) fn find(program: &BatchProgram) -> Slots {
        let BatchProgram { func, order, loops, machine, uniform, .. } = program;
        let (mut slots, vectors) = (Slots::default(), usize::from(machine.vectors));
        if loops.is_empty() {
            return slots;
        }
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
        let (mut kept, mut crowded) = (0, vec![false; order.len()]);
        for (number, &block) in order.iter().enumerate() {
            kept += changes[number];
            let carried = func.blocks[block].params.iter().filter(|&&param| is_held(param)).count();
            crowded[number] =
                loops.is_head(number) && (kept as usize + carried) * vectors > usize::from(machine.registers);
        }
        // For each block the first crowded loop that begins there or later.
        let mut next = vec![u32::MAX; order.len() + 1];
        for number in (0..order.len()).rev() {
            next[number] = if crowded[number] { number as u32 } else { next[number + 1] };
        }
        for &value in &values {
            let Span { made, last_use } = spans[value];
            let from = next[made as usize + 1];
            if from <= last_use {
                let place = slots.new_place(vectors);
                slots.add(value, from, place);
            }
        }
        slots
    }

    /// A place for one value.
    pub(super) fn new_place(&mut self, vectors: usize) -> u32 {
        self.vectors += vectors as u32;
        self.vectors - vectors as u32
    }

    /// Gives a value a slot. From the block or phase of that number on it is used from there.
    pub(super) fn add(&mut self, value: Value, from: u32, place: u32) {
        self.slots[value] = Some(Slot { place, from });
    }

    /// The slot of a value.
    pub fn of(&self, value: Value) -> Option<Slot> {
        self.slots[value]
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        16 * self.vectors as usize
    }
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
