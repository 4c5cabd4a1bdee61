//! What the tests of passes share.

use crate::arbitrary::{Config, Data, canonicalize_nans, function};
use crate::fuel::Stop;
use crate::function::Function;
use crate::interp::{InterpError, InterpOptions, Interpreter};
use crate::parse::parse;
use crate::pass::{expand, lockstep};
use crate::verify::verify;

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

/// Asserts that `pass` keeps valid functions valid and their results the same to the bit, on random functions and data,
/// as generated and in lockstep form.
pub(super) fn assert_keeps_meaning(pass: impl Fn(&mut Function)) {
    arbtest::arbtest(|u| {
        // What derivatives are made of is for lanes in lockstep alone.
        let is_expanded = u.ratio(1, 4)?;
        let mut func = function(u, &Config { quads: !is_expanded, ..Config::default() })?;
        canonicalize_nans(&mut func);
        let fused = u.arbitrary()?;
        if is_expanded {
            expand(&mut func, &crate::pass::ExpandOptions { fused });
        }
        assert_same::<1>(u, &func, &pass, fused)?;
        if lockstep(&mut func).is_ok() {
            if u.ratio(1, 4)? {
                expand(&mut func, &crate::pass::ExpandOptions { fused });
            }
            assert_eq!(verify(&func), Ok(()), "{func}");
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
    let options = InterpOptions { fuel: 5_000.into(), fused };
    // Passes may make more instructions of one, and lanes in lockstep take their loops one after the other.
    let ample = InterpOptions { fuel: 10_000_000.into(), fused };
    let (mut old, mut new) = (Interpreter::<L>::new(before), Interpreter::<L>::new(&after));
    for _ in 0..4 {
        let data = Data::<L>::arbitrary(u, before)?;
        let rows = data.uniform_rows();
        let resources = data.resource_bytes();
        let bindings = data.bindings(&rows, &resources);
        let want = old.run(&bindings, &options).map(<[_]>::to_vec);
        let got = new.run(&bindings, &ample).map(<[_]>::to_vec);
        if want != Err(InterpError::Stopped(Stop::Wave)) {
            assert!(got == want, "{got:x?}\nnot {want:x?}\nof {data:x?}\nbefore {before}\nafter {after}");
        }
    }
    Ok(())
}
