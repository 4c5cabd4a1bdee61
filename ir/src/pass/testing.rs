//! What the tests of passes share.

use crate::arbitrary::{Config, Data, function};
use crate::cfg;
use crate::entity::Value;
use crate::function::{Function, Imm};
use crate::interp::{InterpError, InterpOptions, Interpreter};
use crate::op::{Op, TypeRule};
use crate::parse::parse;
use crate::pass::{expand, lockstep};
use crate::types::Type;
use crate::verify::verify;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Asserts that `pass` makes the one text of the other, and a valid function.
#[track_caller]
pub(super) fn assert_makes(pass: impl Fn(&mut Function), before: &str, after: &str) {
    let mut func = parse(before).unwrap_or_else(|error| panic!("{error}"));
    verify(&func).unwrap_or_else(|errors| panic!("{errors}"));
    pass(&mut func);
    verify(&func).unwrap_or_else(|errors| panic!("{errors}\n{func}"));
    let after = parse(after).unwrap_or_else(|error| panic!("{error}"));
    assert!(func == after, "got {func}\nnot {after}");
}

/// Asserts that `pass` keeps valid functions valid and their results the same to the bit, on random functions and data, as
/// generated and in lockstep form.
pub(super) fn assert_keeps_meaning(pass: impl Fn(&mut Function)) {
    arbtest::arbtest(|u| {
        let mut func = function(u, &Config::default())?;
        canonicalize_nans(&mut func);
        let fused = u.arbitrary()?;
        if u.ratio(1, 4)? {
            expand(&mut func, &crate::pass::ExpandOptions { fused });
        }
        assert_same::<1>(u, &func, &pass, fused)?;
        // Whether that pass makes valid functions is for its own tests to say.
        if lockstep(&mut func).is_ok() && verify(&func).is_ok() {
            assert_same::<4>(u, &func, &pass, fused)?;
        }
        Ok(())
    })
    .budget_ms(1000);
}

fn assert_same<const L: usize>(
    u: &mut arbitrary::Unstructured<'_>,
    before: &Function,
    pass: &impl Fn(&mut Function),
    fused: bool,
) -> arbitrary::Result<()> {
    let mut after = before.clone();
    pass(&mut after);
    verify(&after).unwrap_or_else(|errors| panic!("{errors}\nbefore {before}\nafter {after}"));
    let options = InterpOptions { fuel: 200, fused };
    let (mut old, mut new) = (Interpreter::<L>::new(before), Interpreter::<L>::new(&after));
    for _ in 0..4 {
        let data = Data::<L>::arbitrary(u, before)?;
        let rows = data.uniform_rows();
        let bindings = data.bindings(&rows);
        let want = old.run(&bindings, &options).map(<[_]>::to_vec);
        let got = new.run(&bindings, &options).map(<[_]>::to_vec);
        if want != Err(InterpError::OutOfFuel) {
            assert!(got == want, "{got:x?}\nnot {want:x?}\nof {data:x?}\nbefore {before}\nafter {after}");
        }
    }
    Ok(())
}

/// Gives every NaN that arithmetic makes the same bits, which the IR leaves open and programs can look at.
fn canonicalize_nans(func: &mut Function) {
    let mut replaced: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    for block in cfg::reverse_postorder(func) {
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let mut data = func.insts[inst];
            data.args.iter_mut().for_each(|arg| *arg = replaced[*arg].expand().unwrap_or(*arg));
            func.insts[inst] = data;
            func.blocks[block].insts.push(inst);
            let moves_bits = matches!(data.op, Op::Fneg | Op::Fabs | Op::BitcastF32);
            if let (TypeRule::F32, Some(result), false) = (data.op.result(), data.result, moves_bits) {
                let mut append = |op, ty, args: &[Value], imm| {
                    let inst = func.make_inst(op, ty, args, imm);
                    func.blocks[block].insts.push(inst);
                    func.insts[inst].result.expect("the op has a result")
                };
                let nan = append(Op::Const, Type::F32, &[], Imm::Bits(0x7fc0_0000));
                let is_nan = append(Op::Funo, Type::I1, &[result, result], Imm::None);
                replaced[result] = append(Op::Select, Type::F32, &[is_nan, nan, result], Imm::None).into();
            }
        }
    }
    // What comes over back edges was not replaced yet; the canonicalizing code itself must not be.
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if let Some(terminator) = &mut func.blocks[block].terminator {
            terminator.for_each_use_mut(|value| *value = replaced[*value].expand().unwrap_or(*value));
        }
    }
}
