//! Spill slots: places in the frame for values that are loaded again, shared by those that are not needed at once; and
//! the edits, in order.

use super::super::code::{Code, number_of};
use super::SLOT;
use super::edges::Edit;
use super::places::{CLASSES, Place};
use super::scan::Scan;
use regalloc2::{Allocation, Inst, Output, ProgPoint, RegClass, SpillSlot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of the class of vectors.
const VECTORS: u8 = RegClass::Float as u8;

/// A value that has a slot, and from where to where, in half positions.
struct Kept {
    start: u32,
    end: u32,
    /// The number of its class.
    class: u8,
    value: usize,
}

impl Scan {
    /// Gives values slots and puts the edits in order. A vector takes so many bytes.
    pub(super) fn output(&mut self, code: &Code, vector_bytes: usize, output: &mut Output) {
        self.store_what_is_loaded(code);
        let mut kept = self.kept(code);
        kept.sort_unstable_by_key(|kept| kept.start);
        let slots = assign(&kept, vector_bytes / SLOT, code.registers() + CLASSES.len(), output);
        self.edits.sort_by_key(|edit| (edit.half, !edit.is_store));
        let allocation = |place: Place| match place.slot_of() {
            Some(value) => Allocation::stack(SpillSlot::new(slots[value] as usize)),
            None => Allocation::reg(place.preg()),
        };
        for edit in &self.edits {
            self.used |= if edit.to.slot_of().is_none() { 1 << edit.to.0 } else { 0 };
        }
        output.edits.clear();
        output.edits.extend(self.edits.iter().map(|edit| {
            let inst = Inst::new(edit.half as usize / 2);
            let point = if edit.half % 2 == 0 { ProgPoint::before(inst) } else { ProgPoint::after(inst) };
            (point, regalloc2::Edit::Move { from: allocation(edit.from), to: allocation(edit.to) })
        }));
        for &place in &self.in_slots {
            let slot = Place::slot(number_of(code.operands[place]));
            self.allocations[place] = allocation(slot);
        }
        std::mem::swap(&mut output.allocs, &mut self.allocations);
        output.inst_alloc_offsets.clear();
        // Each begins where the one before ends.
        let ends = code.insts.iter().map(|inst| inst.end);
        output.inst_alloc_offsets.extend(std::iter::once(0).chain(ends).take(code.insts.len()));
    }

    /// Stores each value that is loaded somewhere, where it is defined.
    fn store_what_is_loaded(&mut self, code: &Code) {
        for (number, (value, definition)) in self.values.iter().zip(&code.definitions).enumerate() {
            if let Some(home) = value.home.expand().filter(|_| value.is_loaded && !value.is_passed) {
                // Behind the instruction that defines it; a parameter, where its block begins.
                let half = 2 * definition.inst + u32::from(!definition.is_param);
                self.edits.push(Edit { half, is_store: true, to: Place::slot(number), from: home });
            }
        }
    }

    /// What has a slot.
    fn kept(&self, code: &Code) -> Vec<Kept> {
        let mut kept = Vec::new();
        for (number, value) in self.values.iter().enumerate() {
            if !value.is_loaded && !value.is_passed {
                continue;
            }
            let (interval, definition) = (&self.live.intervals[number], &code.definitions[number]);
            let (mut start, mut end) = (interval.start, interval.end);
            if value.is_passed {
                // Blocks that lead to its own set it.
                for from in code.predecessors_of(&code.blocks[definition.block as usize]) {
                    let jump = 2 * (code.blocks[from.index()].insts.end - 1);
                    (start, end) = (start.min(jump), end.max(jump + 1));
                }
            }
            kept.push(Kept { start, end, class: definition.class, value: number });
        }
        for class in CLASSES {
            let spare = code.registers() + class;
            if self.edits.iter().any(|edit| edit.to.slot_of() == Some(spare)) {
                kept.push(Kept { start: 0, end: u32::MAX, class: class as u8, value: spare });
            }
        }
        kept
    }
}

/// Gives each value that is kept a slot, by linear scan: those of vectors, which take so many units each, lie in front.
fn assign(kept: &[Kept], unit: usize, values: usize, output: &mut Output) -> Vec<u32> {
    if kept.is_empty() {
        output.num_spillslots = 0;
        return Vec::new();
    }
    let mut slots = vec![0; values];
    let mut used = [0u32; 2];
    let mut free: [Vec<u32>; 2] = Default::default();
    let mut active: BinaryHeap<Reverse<(u32, usize, u32)>> = BinaryHeap::new();
    for &Kept { start, end, class, value } in kept {
        while let Some(&Reverse((end, kind, slot))) = active.peek()
            && end < start
        {
            active.pop();
            free[kind].push(slot);
        }
        let kind = usize::from(class != VECTORS);
        let slot = free[kind].pop().unwrap_or_else(|| {
            used[kind] += 1;
            used[kind] - 1
        });
        active.push(Reverse((end, kind, slot)));
        slots[value] = slot;
    }
    let [vectors, words] = used.map(|used| used as usize);
    for kept in kept {
        let slot = slots[kept.value] as usize;
        slots[kept.value] = if kept.class == VECTORS { unit * slot } else { unit * vectors + slot } as u32;
    }
    output.num_spillslots = unit * vectors + words;
    slots
}
