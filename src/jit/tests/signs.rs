//! Blends by the signs of words, which wide code without registers of masks does without a comparison.

use super::{Case, EDGES, check, compile, lockstep, options, words};
use crate::jit::Target;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use shaderjit_ir::{Function, FunctionBuilder, Type};

/// Two blends by whether a word is negative, the second one's arm a literal, and what else asks for that.
fn blends(second_arm: u32, also_seen: bool) -> Function {
    let mut b = FunctionBuilder::new("signs", 1, 1);
    let [word, x, y] = [0, 1, 2].map(|component| b.input(Type::I32, 0, component));
    // Arithmetic, so that it is no component of a row that comes as it is.
    let [word, x, y] = [word, x, y].map(|value| b.imul([value, value]));
    let (zero, arm) = (b.i32(0), b.i32(second_arm));
    let is_negative = b.slt([word, zero]);
    let blended = [b.select([is_negative, x, y]), b.select([is_negative, y, arm])];
    (0..).zip(blended).for_each(|(component, value)| b.output(0, component, value));
    if also_seen {
        let (yes, no) = (b.i32(u32::MAX), zero);
        let mask = b.select([is_negative, yes, no]);
        b.output(0, 2, mask);
    }
    b.ret();
    lockstep(b)
}

#[test]
fn blends_look_at_signs_alone() {
    let rows = EDGES.into_iter().enumerate().map(|(at, edge)| [edge, EDGES[(at * 7 + 3) % EDGES.len()], edge ^ 77, 0]);
    let case = Case::new(rows.collect());
    let target = Target::host().unwrap();
    for (arm, also_seen) in [(5, false), (5, true), (0, false), (u32::MAX, false)] {
        let func = blends(arm, also_seen);
        check(&func, std::slice::from_ref(&case));
        for options in options(&target).filter(|options| options.lanes == 8) {
            let code = compile(&func, &words(&func), &target, &options).unwrap();
            let insts = Decoder::new(64, code.bytes(), DecoderOptions::NONE).into_iter();
            let compares = insts.filter(|inst| inst.mnemonic() == Mnemonic::Vpcmpgtd).count();
            let is_mask = also_seen || arm != 5;
            assert_eq!(compares > 0, is_mask, "{compares} comparisons with {arm:#x}, {also_seen}");
        }
    }
}
