//! Values that are kept in memory: through loops, and from stage to stage.
//!
//! What a loop carries changes in every round and belongs in registers. What is only there while it runs, for the
//! rounds or for what comes after them, does not: where there is too much of both it is stored once, and loaded where
//! it is used. What one [stage](super::stages) makes for others is in no register when they run.

use super::Emitter;
use super::value::{Memo, vector_type};
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::ir as clif;
use shaderjit_ir::function::Function;
use shaderjit_ir::{Block, Type, Value, cfg};

/// How many vectors a loop may carry and keep before those it keeps go to memory: x86-64 has no more registers for
/// them.
const CROWDED: usize = 16;

/// Where a value is kept.
#[derive(Clone, Copy)]
struct Home {
    /// Its place, in vectors.
    place: u32,
    /// From this block on, by reverse postorder, or from this stage on it is used from there.
    from: u32,
}

/// The values that are kept in memory.
#[derive(Default)]
pub struct Homes {
    homes: SecondaryMap<Value, Option<Home>>,
    /// How many vectors they are.
    vectors: u32,
}

/// Where a value is made and used, by reverse postorder.
#[derive(Clone, Copy, Default)]
struct Span {
    made: u32,
    last_use: u32,
}

impl Homes {
    pub fn find(func: &Function, order: &[Block], groups: usize, uniform: &EntitySet<Value>) -> Homes {
        let mut homes = Homes::default();
        let is_head = loop_heads(func, order);
        if !is_head.contains(&true) {
            return homes;
        }
        // One vector a group.
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
            crowded[number] = is_head[number] && (kept as usize + carried) * groups > CROWDED;
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
                let place = homes.new_place(groups);
                homes.add(value, from, place);
            }
        }
        homes
    }

    /// A place for one value.
    pub fn new_place(&mut self, groups: usize) -> u32 {
        self.vectors += groups as u32;
        self.vectors - groups as u32
    }

    /// Gives a value a home. From the block or stage of that number on it is used from there.
    pub fn add(&mut self, value: Value, from: u32, place: u32) {
        self.homes[value] = Some(Home { place, from });
    }

    /// Whether a value has a home.
    pub fn has(&self, value: Value) -> bool {
        self.homes[value].is_some()
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        16 * self.vectors as usize
    }
}

/// For each block whether an edge goes back to it.
fn loop_heads(func: &Function, order: &[Block]) -> Vec<bool> {
    let mut position: SecondaryMap<Block, usize> = SecondaryMap::new();
    order.iter().enumerate().for_each(|(number, &block)| position[block] = number);
    let mut is_head = vec![false; order.len()];
    for (number, &block) in order.iter().enumerate() {
        cfg::successors(func, block)
            .filter(|&target| position[target] <= number)
            .for_each(|target| is_head[position[target]] = true);
    }
    is_head
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

/// How many values of a function have homes.
#[cfg(test)]
pub fn count(func: &Function, groups: usize) -> usize {
    let uniform = shaderjit_ir::uniform::uniform_values(func);
    Homes::find(func, &cfg::reverse_postorder(func), groups, &uniform).vectors as usize / groups
}

impl Emitter<'_, '_> {
    /// Stores a group of a value, if that has a home.
    pub(super) fn store_home(&mut self, value: Value, group: usize, vector: clif::Value) {
        if let Some(home) = self.plan.homes.homes[value] {
            let (memory, at) = self.home_address(home, group);
            self.simd.store(vector, memory, at);
        }
    }

    /// What is in a value's home, if it is used from there by now.
    pub(super) fn load_home(&mut self, value: Value, group: usize) -> Option<clif::Value> {
        let home = self.plan.homes.homes[value].filter(|home| home.from <= self.region)?;
        if self.record.is_none() {
            return Some(self.load_from_home(value, home, group));
        }
        let key = Memo::Home(value, group);
        Some(self.memoised(key, |this| this.load_from_home(value, home, group)))
    }

    fn load_from_home(&mut self, value: Value, home: Home, group: usize) -> clif::Value {
        let (memory, at) = self.home_address(home, group);
        self.simd.load(vector_type(self.func.ty(value)), memory, at)
    }

    fn home_address(&self, home: Home, group: usize) -> (clif::Value, i32) {
        let vector = home.place as usize + group;
        match self.record {
            Some(record) => (record, 16 * vector as i32),
            None => (self.hoisted.expect("homes are there"), self.plan.home_place(vector)),
        }
    }
}
