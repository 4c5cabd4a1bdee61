use super::super::{LowerOptions, MAX_CHOSEN_ACCESSES, MAX_CHOSEN_CONSTANTS, MAX_RESOURCES, lower_with};
use crate::error::LowerError;
use crate::frontend::Lowered;
use crate::frontend::sm4::testing::{Setup, assemble, plain_signatures, program_of, run};
use std::num::NonZero;

/// A `vs_5_1` of these lines.
fn lower(text: &str, unbounded: Option<u32>) -> Result<Lowered, LowerError> {
    let program = program_of(0x0001_0051, &assemble(text)).unwrap();
    let options = LowerOptions { unbounded: unbounded.and_then(NonZero::new), ..LowerOptions::default() };
    let lowered = lower_with(&program, &plain_signatures(), &options)?;
    shaderjit_ir::verify::verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}"));
    Ok(lowered)
}

fn slots(lowered: &Lowered) -> Vec<(u32, u32)> {
    lowered.interface.resources.iter().map(|decl| (decl.slot, decl.space)).collect()
}

#[test]
fn a_dynamic_choice_makes_a_binding_of_each_register() {
    let range = "dcl_resource_raw t[2][4][6], 1";
    assert_eq!(slots(&lower(&format!("{range}\nld_raw o0.x, l(0), t[2][5].x"), None).unwrap()), [(5, 1)]);
    let lowered = lower(&format!("{range}\nld_raw o0.x, l(0), t[2][5].x\nld_raw o0.y, l(0), t[2][v0.x + 4].x"), None);
    assert_eq!(slots(&lowered.unwrap()), [(5, 1), (4, 1), (6, 1)]);
}

#[test]
fn a_range_without_an_end_is_as_long_as_the_options_say() {
    for (range, first) in [("t[0][0][0xffffffff], 0", 0), ("t[0][3][2], 0", 3), ("t[0][3][0xffffffff], 0", 3)] {
        let text = format!("dcl_resource_raw {range}\nld_raw o0.x, l(0), t[0][v0.x + {first}].x");
        match lower(&text, None).map(|lowered| lowered.function.to_string()) {
            Err(LowerError::Unsupported { what, .. }) => assert!(what.contains("without an end"), "{what}"),
            other => panic!("{other:?}"),
        }
        let lowered = lower(&text, Some(2)).unwrap();
        assert_eq!(slots(&lowered), [(first, 0), (first + 1, 0)]);
        let o0 = |index| {
            let resources: [&[u8]; 2] = [&[7, 0, 0, 0], &[8, 0, 0, 0]];
            let setup = Setup { inputs: &[[index, 0, 0, 0]], resources: &resources, ..Setup::default() };
            run(&lowered, &setup).unwrap()[0][0]
        };
        assert_eq!([o0(0), o0(1), o0(2), o0(u32::MAX)], [7, 8, 0, 0]);
    }
    // Registers that are named need no length, nor has the end of the numbers any behind it.
    let named = lower("dcl_resource_raw t[0][3][2], 0\nld_raw o0.x, l(0), t[0][4000].x", None).unwrap();
    assert_eq!(slots(&named), [(4000, 0)]);
    let last = "dcl_resource_raw t[0][0xfffffffe][0xffffffff], 0\nld_raw o0.x, l(0), t[0][v0.x + 0].x";
    assert_eq!(slots(&lower(last, Some(9)).unwrap()), [(0xffff_fffe, 0), (0xffff_ffff, 0)]);
}

#[test]
fn choices_are_bounded() {
    let limit = |text: &str| match lower(text, Some(1 << 20)).map(|lowered| lowered.function.to_string()) {
        Err(LowerError::Limit { what, limit, .. }) => (what, limit),
        other => panic!("{other:?}"),
    };
    let read = "ld_raw o0.x, l(0), t[0][v0.x + 0].x";
    assert_eq!(limit(&format!("dcl_resource_raw t[0][0][1024], 0\n{read}")), ("number of resources", MAX_RESOURCES));
    assert_eq!(
        limit(&format!("dcl_resource_raw t[0][0][0xffffffff], 0\n{read}")),
        ("number of resources", MAX_RESOURCES)
    );
    let constants = "dcl_constantbuffer cb0[0][0xffffffff], dynamicIndexed, 1, 0\nmov o0.x, cb0[v0.x + 0][0].x";
    assert_eq!(limit(constants), ("number of constant buffers", 256));
    let textures = "dcl_resource_texture2d (float,float,float,float) t0[0][255], 0\ndcl_sampler s0[0][255], mode_default, 0\n\
                    sample_l o0.x, v0.xyxx, t0[v1.x + 0].xxxx, s0[v1.y + 0], l(0.0)";
    assert_eq!(limit(textures), ("number of accesses to choose from", MAX_CHOSEN_ACCESSES));
    let often = format!("dcl_resource_raw t[0][0][255], 0\n{}", format!("{read}\n").repeat(17));
    assert_eq!(limit(&often), ("number of accesses to choose from", MAX_CHOSEN_ACCESSES));
    let often = format!(
        "dcl_constantbuffer cb0[0][255], dynamicIndexed, 1, 0\n{}",
        "mov o0.xyzw, cb0[v0.x + 0][0].xyzw\n".repeat(17)
    );
    assert_eq!(limit(&often), ("number of constants to choose from", MAX_CHOSEN_CONSTANTS));
}

#[test]
fn the_declaration_itself_is_not_chosen_at_run_time() {
    let declared = "dcl_resource_raw t[0][0][1], 0\ndcl_constantbuffer cb0[0][1], dynamicIndexed, 1, 0";
    for (line, what) in [
        ("ld_raw o0.x, l(0), t[v0.x + 0][1].x", "a dynamic choice of resource"),
        ("mov o0.x, cb[v0.x + 0][1][0].x", "a dynamic choice of constant buffer"),
    ] {
        match lower(&format!("{declared}\n{line}"), None).map(|lowered| lowered.function.to_string()) {
            Err(LowerError::Unsupported { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_rasterizer_has_as_many_samples_as_the_options_say() {
    let program = program_of(0x0001_0050, &assemble("sampleinfo_uint o0.xy, rasterizer.xyzw")).unwrap();
    let lower = |samples| {
        let options = LowerOptions { samples, ..LowerOptions::default() };
        lower_with(&program, &plain_signatures(), &options)
    };
    for samples in [0, 1, 4, 32] {
        assert_eq!(run(&lower(samples).unwrap(), &Setup::default()).unwrap()[0][..2], [samples, 0]);
    }
    assert!(matches!(lower(33).map(drop), Err(LowerError::Limit { what: "number of samples", .. })));
}
