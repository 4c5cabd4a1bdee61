//! The notation that the other tests are written in.

use crate::support::components::{Bound, patterns, words};
use crate::support::sections::{check, sections};

#[test]
fn components_read_as_they_are_documented() {
    let inf = f32::INFINITY.to_bits();
    assert_eq!(words("{1, -1, 1.5, 0x80000000} {inf}").unwrap(), [[1, u32::MAX, 0x3fc0_0000, 1 << 31], [inf, 0, 0, 0]]);
    assert_eq!(words("{0.5l, -infl}").unwrap(), [[0, 0x3fe0_0000, 0, 0xfff0_0000]]);
    assert_eq!(words("{1, 2l}").map(|rows| rows[0]), Ok([1, 0, 0x4000_0000, 0]));
    for wrong in ["{1, 2, 3, 4l}", "{a}", "1", "{0.0|-0.0}"] {
        assert!(words(wrong).is_err(), "{wrong}");
    }
    let row = &patterns("{nan, nanl, 0.0|-0.0}").unwrap()[0];
    let is = |at: usize, bound, word: [u32; 4]| row[at].iter().any(|pattern| pattern.matches(bound, &word, at));
    assert!(is(0, Bound::Exact, [0x7f80_0001, 0, 0, 0]) && !is(0, Bound::Exact, [0x7f80_0000, 0, 0, 0]));
    assert!(is(1, Bound::Exact, [0, 1, 0x7ff0_0000, 0]) && !is(2, Bound::Exact, [0, 0, 0x7ff0_0000, 0]));
    assert!(is(3, Bound::Exact, [0, 0, 0, 1 << 31]) && !is(3, Bound::Relative(1.0), [0, 0, 0, 1]));
}

#[test]
fn bounds_are_what_they_say() {
    let near = |bound: &str, ulps: u32| {
        let row = &patterns("{1.5}").unwrap()[0];
        row[0][0].matches(Bound::parse(bound).unwrap(), &[1.5f32.to_bits() + ulps, 0, 0, 0], 0)
    };
    assert!(near("2 ulp", 2) && !near("2 ulp", 3));
    assert!(near("2^-21 relative", 6) && !near("2^-21 relative", 7));
    assert!(near("2^-20 absolute", 8) && !near("2^-20 absolute", 9));
    assert_eq!(Bound::parse("2 yards"), None);
}

/// A test of the tests: what is wrong is found, in every way that a program is run.
#[test]
fn what_does_not_come_out_is_found() {
    let wrong = |text: &str| sections(text).unwrap()[0].check().unwrap_err();
    let failures = wrong("iadd o0.x, v0.x, l(1)\n{1} == {2}\n{2} == {4}\n{3} == {4}");
    // On two engines, together and alone; with each number of lanes inputs that differ and that come from a constant
    // buffer, with four those that the compiler knows.
    assert_eq!(failures.matches("{2} == {4}\n found {0x00000003,").count(), 2 * 2 * (3 + 3 + 1), "{failures}");
    assert!(!failures.contains("{1} == {2}"));
    assert!(wrong("ps_5_0\ndiscard_nz v0.x\nmov o0.x, l(1)\n{1} == {1}").contains("discarded"));
    assert!(wrong("mov o0.x, v0.x\n{1} == out_of_fuel").contains("found {0x00000001,"));
    assert!(wrong("mov o0.x, v1.x\n{1} == {1}").contains("2 inputs"));
    assert!(sections("mov o0.x, v0.x").is_err() && sections("mov o0.x, v0.x\n{1} == {1} lost").is_err());
    check("mov o0.x, v0.x\n{7} == {7}");
}
