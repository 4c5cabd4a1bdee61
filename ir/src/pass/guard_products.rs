//! Takes products that obey the rule of PICA200 for plain ones, under guard.
//!
//! `0 * inf` is 0 there, and a product that sees to it takes six instructions instead of one; but the rule makes a
//! difference only where the plain product is a NaN. So this pass makes plain products and guards what is computed from
//! them: sums, products and the like of a NaN are NaN, so a guard at the end of such a chain stands for every product
//! in it, in blocks that follow, too. A run whose guards hold has the results of the function as it was; one that has a
//! NaN anywhere in such a chain, of whatever origin, is void. So is one that runs out of fuel: it may have gone astray.

use crate::entity::{Block, Value};
use crate::function::{BlockCall, Function, Imm, Terminator};
use crate::op::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use foldhash::HashSet;

/// Replaces every `fmulz` of a function in lockstep form by a guarded `fmul`. Whether there was any.
pub fn guard_products(func: &mut Function) -> bool {
    debug_assert!(func.lockstep, "guards are about all lanes");
    let has_products = |&block: &Block| func.insts_in(block).any(|inst| inst.op == Op::Fmulz);
    let blocks: Vec<Block> = func.layout.iter().copied().filter(has_products).collect();
    if blocks.is_empty() {
        return false;
    }
    let mut chains = Chains { doubts: func.value_map(), noticed: HashSet::default() };
    blocks.iter().for_each(|&block| chains.follow(func, block));
    blocks.iter().for_each(|&block| chains.guard(func, block));
    true
}

/// What becomes of a NaN that a product makes.
struct Chains {
    /// By value that it may be.
    doubts: SecondaryMap<Value, Doubt>,
    /// Values that blocks use for others that are in doubt there: where one is NaN at the beginning of the block, a
    /// later guard sees it.
    noticed: HashSet<(Block, Value)>,
}

/// A value that may be NaN because of products in its block.
#[derive(Clone, Copy, Debug, Default)]
struct Doubt {
    /// The block.
    block: Option<Block>,
    /// Whether a later value there is NaN then.
    is_passed_on: bool,
}

impl Chains {
    /// Follows the chains of a block, and makes its products plain.
    fn follow(&mut self, func: &mut Function, block: Block) {
        for &inst in &func.blocks[block].insts {
            let data = &mut func.insts[inst];
            let Some(result) = data.result.filter(|_| propagates_nan(data.op)) else { continue };
            let mut is_doubtful = data.op == Op::Fmulz;
            for &arg in data.args.iter() {
                let doubt = &mut self.doubts[arg];
                if doubt.block == Some(block) {
                    (doubt.is_passed_on, is_doubtful) = (true, true);
                }
            }
            if is_doubtful {
                self.doubts[result].block = Some(block);
                let from_outside = data.args.iter().filter(|&&arg| self.doubts[arg].block != Some(block));
                self.noticed.extend(from_outside.map(|&arg| (block, arg)));
            }
            if data.op == Op::Fmulz {
                data.op = Op::Fmul;
            }
        }
    }

    /// Where jumps and branches lead, and what they pass to parameters that are noticed there.
    fn edges(&self, terminator: &Terminator, func: &Function) -> Vec<(Block, HashSet<Value>)> {
        if matches!(terminator, Terminator::Switch { .. }) {
            return Vec::new();
        }
        let edge = |call: &BlockCall| {
            let passed = std::iter::zip(&func.blocks[call.block].params, &call.args);
            let noticed = passed.filter(|&(&param, _)| self.noticed.contains(&(call.block, param)));
            (call.block, noticed.map(|(_, &arg)| arg).collect())
        };
        terminator.calls().map(edge).collect()
    }

    /// Guards the ends of a block's chains, but those that go on wherever the block leads. A chain that goes around a
    /// loop ends behind it.
    fn guard(&self, func: &mut Function, block: Block) {
        let edges = self.edges(func.blocks[block].terminator(), func);
        let goes_on = |value: Value| {
            // What a block makes it makes anew in the next round: that is no use of what it has made before.
            let is_noticed = |(to, passed): &(Block, HashSet<Value>)| {
                passed.contains(&value) || *to != block && self.noticed.contains(&(*to, value))
            };
            !edges.is_empty() && edges.iter().all(is_noticed)
        };
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut guarded = Vec::with_capacity(insts.len() + 4);
        for inst in insts {
            guarded.push(inst);
            let Some(value) = func.insts[inst].result else { continue };
            let doubt = self.doubts[value];
            if doubt.block == Some(block) && !doubt.is_passed_on && !goes_on(value) {
                func.origin = func.insts[inst].origin;
                guarded.push(func.make_inst(Op::GuardOrdered, Type::F32, &[value], Imm::None));
            }
        }
        func.blocks[block].insts = guarded;
    }
}

/// Whether the result is NaN if any operand is.
fn propagates_nan(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Fadd | Fsub
            | Fmul
            | Fmulz
            | Fdiv
            | Fsqrt
            | Fma
            | Fmad
            | Fround24
            | Fflush24
            | F32tof24
            | Fneg
            | Fabs
            | Ffloor
            | Fceil
            | Ftrunc
            | Fnearest
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{Config, Data, canonicalize_nans, function};
    use crate::interp::{InterpError, InterpOptions, Interpreter};
    use crate::pass::testing::assert_makes;
    use crate::pass::{lockstep, weigh};
    use crate::verify::verify;

    #[test]
    fn the_end_of_a_chain_is_guarded() {
        assert_makes(
            |func| assert!(guard_products(func)),
            r#"function "f" inputs 2 outputs 1 lockstep {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = fmulz v0, v1
    v3 = fmulz v1, v1
    v4 = fadd v2, v3
    v5 = fsub v4, v2
    v6 = pmax v5, v0
    v7 = fmulz v6, v0
    output.f32 0.0, v7
    return
}
"#,
            r#"function "f" inputs 2 outputs 1 lockstep {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = fmul v0, v1
    v3 = fmul v1, v1
    v4 = fadd v2, v3
    v5 = fsub v4, v2
    guard_ordered v5
    v6 = pmax v5, v0
    v7 = fmul v6, v0
    guard_ordered v7
    output.f32 0.0, v7
    return
}
"#,
        );
    }

    /// Sums of products are guarded behind the loop, but for one that is not needed there: the others are NaN for good.
    #[test]
    fn what_goes_around_a_loop_is_guarded_behind_it() {
        assert_makes(
            |func| assert!(guard_products(func)),
            r#"function "f" inputs 2 outputs 1 lockstep {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = const.f32 0x00000000
    v3 = const.i32 1
    v4 = const.i32 4
    jump block1(v2, v2, v4)
block1(v5: f32, v6: f32, v7: i32):
    v8 = fmulz v0, v1
    v9 = fadd v5, v8
    v10 = fmulz v0, v6
    v11 = isub v7, v3
    v12 = ine v11, v3
    br_if v12, block1(v9, v10, v11), block2
block2:
    v13 = fmulz v9, v1
    output.f32 0.0, v13
    return
}
"#,
            r#"function "f" inputs 2 outputs 1 lockstep {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = const.f32 0x00000000
    v3 = const.i32 1
    v4 = const.i32 4
    jump block1(v2, v2, v4)
block1(v5: f32, v6: f32, v7: i32):
    v8 = fmul v0, v1
    v9 = fadd v5, v8
    v10 = fmul v0, v6
    guard_ordered v10
    v11 = isub v7, v3
    v12 = ine v11, v3
    br_if v12, block1(v9, v10, v11), block2
block2:
    v13 = fmul v9, v1
    guard_ordered v13
    output.f32 0.0, v13
    return
}
"#,
        );
    }

    /// A run whose guards hold gives what the function gave before.
    #[test]
    fn a_run_whose_guards_hold_is_right() {
        let (mut held, mut failed) = (0, 0);
        arbtest::arbtest(|u| {
            let mut func = function(u, &Config::default())?;
            canonicalize_nans(&mut func);
            if lockstep(&mut func).is_err() {
                return Ok(());
            }
            // Both forms run out of fuel in the same place.
            weigh(&mut func);
            let mut guarded = func.clone();
            if !guard_products(&mut guarded) {
                return Ok(());
            }
            assert_eq!(verify(&guarded), Ok(()), "{guarded}");
            let options = InterpOptions { fuel: 5_000.into(), fused: true };
            let (mut old, mut new) = (Interpreter::<4>::new(&func), Interpreter::<4>::new(&guarded));
            for _ in 0..4 {
                let data = Data::<4>::arbitrary(u, &func)?;
                let (rows, resources) = (data.uniform_rows(), data.resource_bytes());
                let bindings = data.bindings(&rows, &resources);
                let want = old.run(&bindings, &options).map(<[_]>::to_vec);
                let got = new.run(&bindings, &options).map(<[_]>::to_vec);
                if new.guards_hold() && !matches!(got, Err(InterpError::Stopped(_))) {
                    held += 1;
                    assert!(got == want, "{got:x?}\nnot {want:x?}\nof {data:x?}\nbefore {func}\nafter {guarded}");
                } else {
                    failed += 1;
                }
            }
            Ok(())
        })
        .budget_ms(1000);
        // A slow machine has no time for both.
        assert!(held + failed < 1000 || held > 0 && failed > 0, "{held} runs were valid, {failed} were not");
    }
}
