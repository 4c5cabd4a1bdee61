//! Register pressure, by live intervals: how many values are alive at a time, and for which functions a thorough
//! register allocator would take too long.
//!
//! Such an allocator splits intervals and tries again until all of them fit, so its time grows with how many values are
//! live at how many instructions. Programs can be written that keep thousands of values alive for no other reason.

use crate::loops::Loops;
use crate::{Block, Function, Value, cfg};
use cranelift_entity::SecondaryMap;

/// Whether the area is over a limit, in values times instructions.
pub fn is_over(func: &Function, limit: u64) -> bool {
    // No value is live longer than the function is long.
    let most = (func.values.len() * (func.insts.len() + func.layout.len())) as u64;
    most > limit && area(func) > limit
}

/// How many values are alive on average, of those that `is_held` says are in registers.
pub fn average(func: &Function, order: &[Block], is_held: impl Fn(Value) -> bool) -> usize {
    let intervals = intervals(func, order);
    let area: u64 = func.values.keys().filter(|&value| is_held(value)).map(|value| intervals[value].length()).sum();
    let insts: usize = order.iter().map(|&block| func.blocks[block].insts.len() + 1).sum();
    (area / insts.max(1) as u64) as usize
}

/// The sum over all values of the instructions from definition to last use. Literals are made where they are used.
fn area(func: &Function) -> u64 {
    let is_held = |value: &Value| func.constant(*value).is_none();
    let intervals = intervals(func, &cfg::reverse_postorder(func));
    func.values.keys().filter(is_held).map(|value| intervals[value].length()).sum()
}

/// Where each value is live, in instructions and ends of blocks in the order of the blocks, which is a reverse
/// postorder. What is used in a loop that it was not made in is live to the loop's end.
pub(crate) fn intervals(func: &Function, order: &[Block]) -> SecondaryMap<Value, Interval> {
    let mut starts = vec![0];
    for &block in order {
        starts.push(starts[starts.len() - 1] + func.blocks[block].insts.len() as u64 + 1);
    }
    let loops = Loops::find(func, order).outermost();
    let mut intervals = SecondaryMap::<Value, Interval>::with_capacity(func.values.len());
    for (number, &block) in order.iter().enumerate() {
        let data = &func.blocks[block];
        let mut at = starts[number];
        data.params.iter().for_each(|&param| intervals[param] = Interval { block: number, start: at, end: at });
        let used = |intervals: &mut SecondaryMap<Value, Interval>, value: Value, at: u64| {
            let interval = &mut intervals[value];
            let end = match loops[number] {
                Some((head, end)) if interval.block < head => starts[end + 1],
                _ => at,
            };
            interval.end = interval.end.max(end);
        };
        for inst in data.insts.iter().map(|&inst| &func.insts[inst]) {
            inst.args.iter().for_each(|&arg| used(&mut intervals, arg, at));
            at += 1;
            if let Some(result) = inst.result {
                intervals[result] = Interval { block: number, start: at, end: at };
            }
        }
        data.terminator().uses().for_each(|value| used(&mut intervals, value, at));
    }
    intervals
}

/// Where a value is live.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interval {
    /// The block that defines it, by reverse postorder.
    block: usize,
    /// Instructions in front of its definition, and of the end of its last use.
    pub start: u64,
    pub end: u64,
}

impl Interval {
    fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn values_are_live_from_definition_to_last_use() {
        // v0 over two instructions, v1 over one, v2 over the one that sets the output.
        let func = parse(
            "function \"f\" inputs 1 outputs 1 { block0:
                v0 = input.f32 0.0 v1 = input.f32 0.1 v2 = fadd v1, v0 output.f32 0.0, v2 return }",
        );
        let func = func.unwrap();
        assert_eq!(area(&func), 1);
        let order = cfg::reverse_postorder(&func);
        assert_eq!(average(&func, &order, |_| false), 0);
    }

    #[test]
    fn what_a_loop_uses_is_live_to_its_end() {
        let text = |used: &str| {
            format!(
                "function \"f\" inputs 1 outputs 1 {{ block0:
                    v0 = input.i32 0.0 v1 = input.i32 0.1 jump block1(v0)
                block1(v2: i32): v3 = iadd v2, {used} v4 = ult v3, v0 br_if v4, block1(v3), block2
                block2: output.i32 0.0, v3 return }}"
            )
        };
        let [alone, kept] = ["v2", "v1"].map(|used| area(&parse(&text(used)).unwrap()));
        // From its definition to the end of the loop, and no longer for the loop's own parameter.
        assert_eq!(kept - alone, 5 - 1);
    }
}
