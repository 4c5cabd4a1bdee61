//! Affine addresses: how a value grows from lane to lane, as memory coalescing asks.

use super::Parts;
use super::threads::fill_waves;
use crate::entity::Value;
use crate::function::{Imm, InstData};
use crate::op::{Op, SysVal};
use cranelift_entity::SecondaryMap;
use std::collections::HashMap;

/// What a lane has more than lane 0: for each bit of the lane's number that is set, one of these, the lowest first. So
/// `[4, 8, 16, 32]` are the addresses of words side by side, and `[4, 8, 0, 0]` those of four, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Steps(pub [u32; 4]);

/// A step that nothing is known of, as of a row's number times a length that comes with the call.
const UNKNOWN: u32 = u32::MAX;

impl Steps {
    /// Those of the numbers of so many lanes. Bits that no lane's number has add nothing.
    fn of_numbers(lanes: u32) -> Steps {
        Steps([1, 2, 4, 8].map(|step| if step < lanes { step } else { 0 }))
    }

    /// What a lane has more.
    pub fn of_lane(self, lane: u8) -> u32 {
        (0..4).filter(|bit| lane >> bit & 1 == 1).map(|bit: usize| self.0[bit]).fold(0, u32::wrapping_add)
    }

    /// Whether those that are known times a factor have room in 32 bits.
    pub fn allows_factor(self, factor: u32) -> bool {
        self.0.iter().all(|&step| step == UNKNOWN || step.checked_mul(factor).is_some())
    }

    fn map(self, f: impl Fn(u32) -> u32) -> Steps {
        Steps(self.0.map(|step| if step == UNKNOWN { UNKNOWN } else { f(step) }))
    }

    /// Whether adding them carries nothing from one bit to another: no two share a bit.
    fn are_disjoint(self) -> bool {
        self.0.iter().try_fold(0, |all, step| (all & step == 0).then_some(all | step)).is_some()
    }
}

/// The steps of a value.
#[derive(Clone, Copy, Debug)]
pub struct LaneSteps {
    /// What each bit of a lane's number adds.
    pub steps: Steps,
    /// Whether that is so in every wave; else it is likely.
    pub is_certain: bool,
}

/// A value that has steps, and how many of lane 0's lowest bits are zero.
#[derive(Clone, Copy)]
struct Growth {
    steps: Steps,
    zeros: u32,
    is_certain: bool,
}

/// The steps of 32-bit values, as far as the arithmetic that makes them tells. What a load from a slot gives may be
/// known to be the `same` as some value.
///
/// Most are certain: those of the numbers of threads in groups of whole waves, and what is added to those. Others are
/// likely, so whoever relies on them checks them: a bound (`select` with a literal, `umin`) is taken to hold in all
/// lanes, and a slot to have what is stored there last in the order of the program.
pub(super) fn lane_steps(
    program: &Parts,
    same: &SecondaryMap<Value, Option<Value>>,
) -> SecondaryMap<Value, Option<LaneSteps>> {
    let mut finder = Finder { program, same, growths: SecondaryMap::new(), slots: HashMap::new() };
    let mut steps = SecondaryMap::new();
    for inst in program.order.iter().flat_map(|&block| program.insts_in(block)) {
        if let (Op::SlotStore, Imm::Slot(slot)) = (inst.op, inst.imm) {
            finder.slots.insert(slot, finder.of(inst.args[0]));
        }
        let Some(result) = inst.result.filter(|&result| !program.uniform.contains(result)) else { continue };
        finder.growths[result] = finder.find(inst);
        steps[result] =
            finder.growths[result].map(|growth| LaneSteps { steps: growth.steps, is_certain: growth.is_certain });
    }
    steps
}

struct Finder<'p> {
    program: &'p Parts,
    same: &'p SecondaryMap<Value, Option<Value>>,
    growths: SecondaryMap<Value, Option<Growth>>,
    slots: HashMap<u32, Option<Growth>>,
}

impl Finder<'_> {
    fn of(&self, value: Value) -> Option<Growth> {
        if !self.program.uniform.contains(value) {
            return self.growths[value];
        }
        let zeros = match (self.constant(value), self.program.func.def_inst(value)) {
            (Some(word), _) => word.trailing_zeros(),
            (None, Some(shift)) if shift.op == Op::Ishl => self.constant(shift.args[1]).unwrap_or(0) & 31,
            _ => 0,
        };
        Some(Growth { steps: Steps([0; 4]), zeros, is_certain: true })
    }

    fn constant(&self, value: Value) -> Option<u32> {
        self.program.func.constant(value).map(|bits| bits as u32)
    }

    fn find(&self, inst: &InstData) -> Option<Growth> {
        let arg = |index: usize| self.of(inst.args[index]);
        let literal = |index: usize| self.constant(inst.args[index]);
        match (inst.op, inst.imm) {
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => {
                // Where lanes are left, they repeat the last thread.
                let is_certain = fill_waves(self.program, self.program.wave());
                let lanes = u32::from(self.program.lanes);
                Some(Growth { steps: Steps::of_numbers(lanes), zeros: lanes.trailing_zeros(), is_certain })
            }
            (Op::SlotLoad, Imm::Slot(slot)) => match inst.result.and_then(|result| self.same[result]) {
                Some(same) => self.of(same),
                None => self.slots.get(&slot).copied().flatten().map(Growth::likely),
            },
            (Op::Iadd, _) => both(arg(0)?, arg(1)?, u32::wrapping_add),
            // Where no two have the same bits.
            (Op::Or, _) => both(arg(0)?, arg(1)?, u32::wrapping_add).map(Growth::likely),
            (Op::Isub, _) => both(arg(0)?, arg(1)?, u32::wrapping_sub),
            (Op::Imul, _) => match (literal(0), literal(1)) {
                (Some(factor), _) => Some(arg(1)?.times(factor)),
                (_, Some(factor)) => Some(arg(0)?.times(factor)),
                _ if self.program.uniform.contains(inst.args[0]) => Some(arg(1)?.times_some()),
                _ if self.program.uniform.contains(inst.args[1]) => Some(arg(0)?.times_some()),
                _ => None,
            },
            (Op::Ishl, _) => Some(arg(0)?.times(1 << (literal(1)? & 31))),
            (Op::Ushr, _) => arg(0)?.shifted_right(literal(1)? & 31),
            (Op::And, _) => match (literal(0), literal(1)) {
                (Some(mask), _) => arg(1)?.masked(mask),
                (_, Some(mask)) => arg(0)?.masked(mask),
                _ => None,
            },
            (Op::Umin | Op::Umax, _) => match self.program.uniform.contains(inst.args[0]) {
                true => arg(1).map(Growth::likely),
                false => arg(0).map(Growth::likely),
            },
            (Op::Select, _) => match (literal(1), literal(2)) {
                (None, Some(_)) => arg(1).map(Growth::likely),
                (Some(_), None) => arg(2).map(Growth::likely),
                _ => None,
            },
            _ => None,
        }
    }
}

fn both(a: Growth, b: Growth, f: impl Fn(u32, u32) -> u32) -> Option<Growth> {
    let steps = Steps(std::array::from_fn(|bit| match [a.steps.0[bit], b.steps.0[bit]] {
        [UNKNOWN, _] | [_, UNKNOWN] => UNKNOWN,
        [a, b] => f(a, b),
    }));
    Some(Growth { steps, zeros: a.zeros.min(b.zeros), is_certain: a.is_certain && b.is_certain })
}

impl Growth {
    fn likely(self) -> Growth {
        Growth { is_certain: false, ..self }
    }

    fn times(self, factor: u32) -> Growth {
        let zeros = self.zeros.saturating_add(factor.trailing_zeros()).min(32);
        Growth { steps: self.steps.map(|step| step.wrapping_mul(factor)), zeros, ..self }
    }

    /// Times a number that is the same in all lanes.
    fn times_some(self) -> Growth {
        let steps = Steps(self.steps.0.map(|step| if step == 0 { 0 } else { UNKNOWN }));
        Growth { steps, ..self }
    }

    /// Whether every lane's bits are those of lane 0 and those of its steps, side by side.
    fn is_disjoint(self) -> bool {
        let all = self.steps.0.iter().fold(0, |all, step| all | step);
        self.steps.are_disjoint() && u64::from(all) < 1 << self.zeros
    }

    fn shifted_right(self, by: u32) -> Option<Growth> {
        let is_whole = self.steps.0.iter().all(|step| step.trailing_zeros() >= by);
        let steps = self.steps.map(|step| step >> by);
        // What is whole but not disjoint may have wrapped around.
        let (is_disjoint, zeros) = (self.is_disjoint(), self.zeros.saturating_sub(by));
        let is_certain = self.is_certain && is_disjoint;
        (is_whole || is_disjoint).then_some(Growth { steps, zeros, is_certain })
    }

    fn masked(self, mask: u32) -> Option<Growth> {
        if self.is_disjoint() {
            return Some(Growth { steps: self.steps.map(|step| step & mask), ..self });
        }
        // A mask that rounds down to a power of two of which all steps are multiples.
        let low = mask.trailing_zeros();
        let rounds = mask.leading_ones() + low == 32;
        let is_multiple = self.steps.0.iter().all(|step| step.trailing_zeros() >= low);
        (rounds && is_multiple).then_some(Growth { zeros: self.zeros.max(low), ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> Growth {
        Growth { steps: Steps::of_numbers(16), zeros: 4, is_certain: true }
    }

    #[test]
    fn eight_lanes_are_a_row_of_eight_threads() {
        let thread = Growth { steps: Steps::of_numbers(8), zeros: 3, is_certain: true };
        let (row, column) = (thread.shifted_right(3).unwrap(), thread.masked(7).unwrap());
        assert_eq!((row.steps, column.steps), (Steps([0; 4]), Steps([1, 2, 4, 0])));
        assert!(row.is_certain && column.is_certain);
    }

    #[test]
    fn rows_and_columns_of_threads_have_steps() {
        let row = thread().shifted_right(3).unwrap();
        let column = both(thread(), row.times(8), u32::wrapping_sub).unwrap();
        assert_eq!((row.steps, column.steps), (Steps([0, 0, 0, 1]), Steps([1, 2, 4, 0])));
        assert_eq!(thread().masked(7).unwrap().steps, column.steps);
        let words = both(row.times(36), column.times(4), u32::wrapping_add).unwrap();
        assert_eq!([0, 3, 7, 8, 15].map(|lane| words.steps.of_lane(lane)), [0, 12, 28, 36, 64]);
    }

    #[test]
    fn rows_of_any_length_keep_their_columns() {
        let row = thread().shifted_right(3).unwrap();
        let address = both(row.times_some(), thread().masked(7).unwrap(), u32::wrapping_add).unwrap().times(4);
        assert_eq!(address.steps, Steps([4, 8, 16, UNKNOWN]));
        assert!(address.shifted_right(2).is_none());
    }

    #[test]
    fn what_carries_among_bits_has_none() {
        let odd = both(thread().times(3), thread(), u32::wrapping_add).unwrap();
        assert_eq!(odd.steps, Steps([4, 8, 16, 32]));
        assert!(Growth { zeros: 0, ..thread() }.shifted_right(1).is_none());
        assert!(thread().times(3).masked(6).is_none());
        assert_eq!(thread().times(12).masked(!3).unwrap().steps, Steps([12, 24, 48, 96]));
    }
}
