//! Generated functions of any control flow: lockstep form, expanded, native against interpreted.

use super::{Case, check_case};
use crate::attribute::AttributeFormat;
use crate::jit::{Code, CompileOptions, Layout, Target, compile};
use arbitrary::Unstructured;
use shaderjit_ir::arbitrary::{Config, edge_bits, function};
use shaderjit_ir::pass::{ExpandOptions, expand, lockstep};
use shaderjit_ir::verify::verify;
use shaderjit_ir::{Function, Type};

fn rows(u: &mut Unstructured<'_>, count: u32) -> arbitrary::Result<super::Rows> {
    let mut word = || {
        let ty = if u.ratio(2, 3)? { Type::F32 } else { Type::I32 };
        Ok(edge_bits(u, ty)? as u32)
    };
    (0..count).map(|_| Ok([word()?, word()?, word()?, word()?])).collect()
}

fn case(u: &mut Unstructured<'_>, func: &Function) -> arbitrary::Result<Case> {
    let count = u.int_in_range(1..=19)?;
    let inputs = (0..func.inputs).map(|_| rows(u, count)).collect::<arbitrary::Result<_>>()?;
    let mut uniforms = Vec::new();
    for space in func.spaces.values() {
        let bound = if space.table.is_some() { 0 } else { u.int_in_range(0..=6)? };
        uniforms.push(rows(u, bound)?);
    }
    Ok(Case {
        inputs,
        uniforms,
        count,
        first_vertex: u.int_in_range(0..=8)?,
        instance: u.int_in_range(0..=3)?,
        fuel: 300,
    })
}

#[test]
fn generated_functions_do_what_the_interpreter_does() {
    let targets = [Target::host().unwrap(), Target::baseline().unwrap()];
    arbtest::arbtest(|u| {
        let source = function(u, &Config::default())?;
        for target in &targets {
            let mut func = source.clone();
            if lockstep(&mut func).is_err() {
                return Ok(());
            }
            expand(&mut func, &ExpandOptions { fused: target.has_fma() });
            verify(&func).unwrap();
            let layout = Layout {
                inputs: vec![AttributeFormat::U32x4; func.inputs as usize],
                outputs: vec![4; func.outputs as usize],
            };
            let codes: Vec<Code> = [1, 2]
                .map(|groups| compile(&func, &layout, target, &CompileOptions { groups }).unwrap())
                .into_iter()
                .collect();
            check_case(&func, &codes, &case(u, &func)?);
        }
        Ok(())
    })
    .size_max(20_000)
    .budget_ms(10_000);
}
