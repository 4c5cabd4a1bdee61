//! Unroll factor: how many vectors of 128 bits a value of a function should have.
//!
//! Two vectors hide the latency of one behind the other, for twice the code and registers for half as many values. The
//! processor overlaps waves by itself as far as its window reaches, so two seldom gain much, and lose where values
//! find no registers: the [cost model](super::cost) tells what a function takes with one and with two, before it is
//! planned. Where two look better it is planned as far as to know whether it is [cut](super::overlap): loops that are
//! short overlap by themselves. Wider vectors are one a value, because so few programs gain by a second one.

use super::Machine;
use super::cost::Costs;
use super::plan::Planner;
use crate::Function;
use crate::verify::Verified;

/// Two vectors take almost twice as long to compile: they have to gain as much as this.
const WORTH: f64 = 1.05;

/// Larger functions have one: compiling them takes long enough.
const LARGE: u64 = 2048;

/// How many vectors of four lanes suit a function, 1 or 2, whatever layout it will be compiled for.
pub fn vectors(func: &Verified) -> u8 {
    if size(func) > LARGE {
        return 1;
    }
    let planner = Planner::of_rows(func, Machine::of_128_bits(1));
    let costs = Costs::find(&planner.program);
    let [one, two] = [1, 2].map(|times| costs.cycles(&planner.program, times));
    if two * WORTH <= one && !planner.overlaps() { 2 } else { 1 }
}

/// Instructions, edges, block parameters and edge arguments: what compiling takes time in.
pub fn size(func: &Function) -> u64 {
    let blocks = func.layout.iter().map(|&block| &func.blocks[block]);
    let edges = blocks.clone().flat_map(|block| block.terminator().calls()).map(|call| 1 + call.args.len());
    (blocks.map(|block| block.insts.len() + block.params.len()).sum::<usize>() + edges.sum::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchProgram, Layout, Pass};
    use crate::packing::{NumericKind, Packing};
    use crate::parse::parse;

    /// A function of so many instructions `v2 = {next} v1` in a row.
    fn chain(steps: u32, next: &str) -> Verified {
        let mut body = String::from("v1 = input.f32 0.0\n");
        (1..=steps).for_each(|step| body += &format!("v{} = {next} v{step}, v{step}\n", step + 1));
        verified(&format!("block0: {body} output.f32 0.0, v{} return", steps + 1))
    }

    /// A function of so many sums of one input, all of which are there before they are added up.
    fn crowd(values: u32) -> String {
        let mut body = String::new();
        (2..values + 2).for_each(|value| body += &format!("v{value} = fadd v{}, v1\n", value - 1));
        let mut last = 2;
        for value in 3..values + 2 {
            body += &format!("v{} = fmul v{last}, v{value}\n", value + values);
            last = value + values;
        }
        format!("block0: v1 = input.f32 0.0\n{body} output.f32 0.0, v{last} return")
    }

    /// A loop that lanes leave one by one, with `body` from `v2` to `v3`.
    fn lanes_leave(body: &str) -> Verified {
        verified(&format!(
            "block0: v0 = input.f32 0.0 v1 = const.f32 1.0 jump block1(v0)
            block1(v2: f32): {body} v8 = flt v3, v1 v9 = any v8 br_if v9, block1(v3), block2
            block2: output.f32 0.0, v3 return"
        ))
    }

    fn verified(blocks: &str) -> Verified {
        let mut func = parse(&format!("function \"f\" inputs 1 outputs 1 lockstep {{ {blocks} }}")).unwrap();
        func.lockstep = true;
        Verified::new(func).unwrap()
    }

    fn planned(func: &Verified, machine: Machine) -> f64 {
        let floats = Packing::new(NumericKind::Float, &[32; 4]);
        let layout = Layout { inputs: vec![floats], outputs: vec![4].into() };
        BatchProgram::plan(func, layout, machine, Pass::LAST).unwrap().cycles()
    }

    const NARROW: Machine = Machine::of_128_bits(1);
    const WIDE: Machine = Machine { lanes: 8, ..Machine::of_128_bits(1) };

    #[test]
    fn rounds_that_wait_for_each_other_take_two_vectors() {
        let waits = lanes_leave("v4 = fdiv v2, v1 v5 = fsqrt v4 v6 = fdiv v5, v1 v3 = fadd v6, v1");
        assert_eq!(vectors(&waits), 2);
        // Which is what its plan with two says.
        assert!(planned(&waits, Machine::of_128_bits(2)) * WORTH < planned(&waits, NARROW));
    }

    #[test]
    fn waves_that_overlap_take_one_vector() {
        assert_eq!(vectors(&chain(20, "fadd")), 1);
    }

    #[test]
    fn what_is_cut_takes_one_vector() {
        // Before it is cut, it waits.
        let long = chain(600, "fdiv");
        let planner = Planner::of_rows(&long, NARROW);
        let costs = Costs::find(&planner.program);
        assert!(costs.cycles(&planner.program, 2) * WORTH < costs.cycles(&planner.program, 1));
        assert!(planner.overlaps());
        assert_eq!(vectors(&long), 1);
    }

    #[test]
    fn values_without_registers_weigh_more() {
        let per_value = |values| planned(&verified(&crowd(values)), NARROW) / f64::from(values);
        assert!(per_value(60) > 1.2 * per_value(12), "{} {}", per_value(60), per_value(12));
    }

    #[test]
    fn more_lanes_share_the_work() {
        let few = chain(100, "fmul");
        let (narrow, wide) = (planned(&few, NARROW), planned(&few, WIDE));
        assert!((1.5..2.1).contains(&(narrow / wide)), "{narrow} {wide}");
    }
}
