//! Takes products that obey the rule of PICA200 for plain ones, under guard.
//!
//! `0 * inf` is 0 there, and a product that sees to it takes six instructions instead of one; but the rule makes a
//! difference only where the plain product is a NaN. So this pass makes plain products and guards what is computed from
//! them: sums, products and the like of a NaN are NaN, so a guard at the end of such a chain stands for every product
//! in it. A run whose guards hold has the results of the function as it was; one that has a NaN anywhere in such a
//! chain, of whatever origin, is void.

use crate::entity::{Block, Value};
use crate::function::{Function, Imm};
use crate::op::Op;
use crate::set::EntitySet;
use crate::types::Type;

/// Replaces every `fmulz` of a function in lockstep form by a guarded `fmul`. Whether there was any.
pub fn guard_products(func: &mut Function) -> bool {
    debug_assert!(func.lockstep, "guards are about all lanes");
    let mut any = false;
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if func.insts_in(block).any(|inst| inst.op == Op::Fmulz) {
            guard_block(func, block);
            any = true;
        }
    }
    any
}

fn guard_block(func: &mut Function, block: Block) {
    // Products, and what they would make NaN; and those of them that make a later value of the block NaN.
    let (mut doubtful, mut passed_on) = (EntitySet::<Value>::new(), EntitySet::new());
    let insts = std::mem::take(&mut func.blocks[block].insts);
    for &inst in &insts {
        let data = &mut func.insts[inst];
        let Some(result) = data.result else { continue };
        if !propagates_nan(data.op) {
            continue;
        }
        for &arg in data.args.iter().filter(|&&arg| doubtful.contains(arg)) {
            passed_on.insert(arg);
        }
        if data.op == Op::Fmulz || data.args.iter().any(|&arg| doubtful.contains(arg)) {
            doubtful.insert(result);
        }
        if data.op == Op::Fmulz {
            data.op = Op::Fmul;
        }
    }
    let mut guarded = Vec::with_capacity(insts.len() + 4);
    for inst in insts {
        guarded.push(inst);
        let result = func.insts[inst].result;
        if let Some(value) = result.filter(|&value| doubtful.contains(value) && !passed_on.contains(value)) {
            func.origin = func.insts[inst].origin;
            guarded.push(func.make_inst(Op::GuardOrdered, Type::F32, &[value], Imm::None));
        }
    }
    func.blocks[block].insts = guarded;
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
    use crate::interp::{InterpOptions, Interpreter};
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
                if new.guards_hold() {
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
