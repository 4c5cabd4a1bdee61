//! Values that stand for others while a pass runs.

use crate::entity::Value;
use crate::function::Function;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};

/// As many values as a map has places for at least, if it has any.
const FEWEST: usize = 64;

/// Which value each replaced value stands for. Passes replace values by ones defined before them, so there are no
/// cycles.
#[derive(Default)]
pub(crate) struct Aliases(SecondaryMap<Value, PackedOption<Value>>);

impl Aliases {
    /// Whether a value is replaced.
    pub(crate) fn is_replaced(&self, value: Value) -> bool {
        self.0[value].is_some()
    }

    /// Says that `by` stands for `value`.
    pub(crate) fn replace(&mut self, value: Value, by: Value) {
        // Values are replaced in the order of their numbers. One by one the map would grow for each of them.
        if self.0.get(value).is_none() {
            self.0.resize((value.index() + 1).next_power_of_two().max(FEWEST));
        }
        self.0[value] = by.into();
    }

    /// What a value stands for in the end; itself if it is not replaced.
    pub(crate) fn find(&self, mut value: Value) -> Value {
        while let Some(next) = self.0[value].expand() {
            value = next;
        }
        value
    }

    /// The same, and makes the way there one step for the next time.
    pub(crate) fn find_and_shorten(&mut self, value: Value) -> Value {
        let end = self.find(value);
        let mut at = value;
        while let Some(next) = self.0[at].expand() {
            self.replace(at, end);
            at = next;
        }
        end
    }

    /// Replaces every use at the end of a block.
    pub(crate) fn apply_to_ends(&self, func: &mut Function) {
        if !self.0.is_empty() {
            for &block in &func.layout {
                if let Some(terminator) = &mut func.blocks[block].terminator {
                    terminator.for_each_use_mut(|value| *value = self.find(*value));
                }
            }
        }
    }

    /// Replaces every use in the function.
    pub(crate) fn apply(&self, func: &mut Function) {
        if !self.0.is_empty() {
            func.replace_uses(|value| self.find(value));
        }
    }
}
