use super::*;
use crate::parse::parse;
use crate::pass::dce;
use crate::pass::testing::{assert_keeps_meaning, assert_makes};

/// A function of one block around some instructions; the value outputs have the names they are given.
fn function(body: &str) -> String {
    format!(
        r#"function "f" inputs 2 outputs 1 {{
    space0 "cb0"
    space1 "table" = [{{0x1, 0x2, 0x3, 0x4}}]
    array0 [4 x 1]
block0:
    i = input.i32 0.0
    j = input.i32 0.1
    x = input.f32 0.2
    y = input.f32 0.3
    p = slt i, j
    q = flt x, y
    zero = const.i32 0
    one = const.i32 1
    ones = const.i32 -1
    eight = const.i32 8
{body}
    return
}}
"#
    )
}

/// The text form names values by number; tests read better with names.
fn numbered(text: &str) -> String {
    let mut out = String::new();
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut word = String::new();
        let is_inst = line.starts_with("    ") && !line.contains('"');
        let mut line = line.to_string();
        if is_inst {
            if let Some((name, _)) = line.trim().split_once(" = ")
                && !name.starts_with("array")
            {
                names.push(name.to_string());
            }
            let mut renamed = String::new();
            let flush = |word: &mut String, renamed: &mut String| {
                match names.iter().rposition(|name| name == word) {
                    Some(number) => renamed.push_str(&format!("v{number}")),
                    None => renamed.push_str(word),
                }
                word.clear();
            };
            for c in line.chars() {
                if c.is_ascii_alphanumeric() || "_.-[]".contains(c) {
                    word.push(c);
                } else {
                    flush(&mut word, &mut renamed);
                    renamed.push(c);
                }
            }
            flush(&mut word, &mut renamed);
            line = renamed;
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Asserts what becomes of instructions once what is unused is gone. Lines are separated by semicolons.
#[track_caller]
fn check(before: &str, after: &str) {
    let [before, after] = [before, after].map(|body| {
        let body: Vec<String> = body.split(';').map(|line| format!("    {}", line.trim())).collect();
        numbered(&function(&body.join("\n")))
    });
    let mut expected = parse(&after).unwrap_or_else(|error| panic!("{error}\n{after}"));
    dce(&mut expected);
    let pass = |func: &mut Function| {
        fold(func);
        dce(func);
    };
    assert_makes(pass, &before, &expected.to_string());
}

/// Asserts that the `i32` value of an expression is that of another.
#[track_caller]
fn word(before: &str, after: &str) {
    let text = |expression: &str| match expression.rsplit_once(';') {
        Some((lines, last)) => format!("{lines}; r = {last}; output.i32 0.0, r"),
        None if expression.contains(' ') => format!("r = {expression}; output.i32 0.0, r"),
        None => format!("output.i32 0.0, {expression}"),
    };
    check(&text(before), &text(after));
}

/// The same for truth values, observed through a selection.
#[track_caller]
fn truth(before: &str, after: &str) {
    let text = |expression: &str| {
        let observed = "s = select.f32 r, x, y; output.f32 0.0, s";
        match expression.rsplit_once(';') {
            Some((lines, last)) => format!("{lines}; r = {last}; {observed}"),
            None if expression.contains(' ') => format!("r = {expression}; {observed}"),
            None => observed.replace(" r,", &format!(" {expression},")) + "; output.f32 0.1, s",
        }
    };
    let before = if after.contains(' ') { text(before) } else { text(before) + "; output.f32 0.1, s" };
    check(&before, &text(after));
}

#[test]
fn literals_are_computed() {
    word("c = const.i32 5; iadd c, eight", "const.i32 13");
    word("c = const.i32 5; imul c, eight", "const.i32 40");
    word("udiv one, zero", "const.i32 -1");
    word("c = const.f32 2.5; ftoi c", "const.i32 2");
    word("c = const.f32 2.0; d = fexp2 c; bitcast_i32 d", "const.i32 0x40800000");
    // The product is denormal.
    word("c = const.f32 1e-30; d = fmul c, c; bitcast_i32 d", "const.i32 0");
}

#[test]
fn doubles_are_computed_and_their_words_move_freely() {
    word("c = const.f64 1.5; d = dadd c, c; f64hi d", "const.i32 0x40080000");
    word("d = f64join eight, one; f64lo d", "eight");
    word("d = f64join i, one; f64hi d", "one");
    word("c = const.f64 2.5; dtoi c", "const.i32 2");
    word("z = const.f64 0.0; d = itod i; e = f64lo d; f = f64hi d; g = f64join e, f; h = dmin g, z; f64hi h", {
        "z = const.f64 0.0; d = itod i; h = dmin d, z; f64hi h"
    });
    // A denormal stays, and is not zero.
    word("c = const.f64 0x0000000000000002; d = const.f64 0.5; e = dmul c, d; f64lo e", "const.i32 1");
}

#[test]
fn fused_and_separate_results_that_differ_are_left() {
    let differs = "a = const.f32 1.0000001; b = const.f32 -1.0000002; d = fmad a, a, b; output.f32 0.0, d";
    check(differs, differs);
    check(
        "a = const.f32 3.0; b = const.f32 -1.0; d = fmad a, a, b; output.f32 0.0, d",
        "d = const.f32 8.0; output.f32 0.0, d",
    );
}

#[test]
fn integer_identities() {
    for (before, after) in [
        ("iadd i, zero", "i"),
        ("iadd zero, i", "i"),
        ("isub i, zero", "i"),
        ("isub i, i", "const.i32 0"),
        ("isub i, eight", "c = const.i32 -8; iadd i, c"),
        ("n = isub zero, j; iadd i, n", "isub i, j"),
        ("n = isub zero, j; iadd n, i", "isub i, j"),
        ("n = isub zero, j; isub i, n", "iadd i, j"),
        ("n = isub zero, i; m = isub zero, j; iadd n, m", "n = isub zero, i; isub n, j"),
        ("n = isub zero, j; iadd n, one", "isub one, j"),
        ("n = isub zero, j; isub zero, n", "j"),
        ("a = iadd i, eight; iadd a, one", "c = const.i32 9; iadd i, c"),
        ("imul i, one", "i"),
        ("imul zero, i", "const.i32 0"),
        ("imul i, eight", "c = const.i32 3; ishl i, c"),
        ("udiv i, one", "i"),
        ("udiv i, eight", "c = const.i32 3; ushr i, c"),
        ("urem i, eight", "c = const.i32 7; and.i32 i, c"),
        ("urem i, one", "const.i32 0"),
        ("urem i, zero", "const.i32 -1"),
        ("and.i32 i, i", "i"),
        ("and.i32 i, zero", "const.i32 0"),
        ("and.i32 ones, i", "i"),
        ("a = and.i32 i, eight; and.i32 a, one", "const.i32 0"),
        ("or.i32 i, zero", "i"),
        ("or.i32 i, ones", "const.i32 -1"),
        ("xor.i32 i, i", "const.i32 0"),
        ("xor.i32 i, ones", "not.i32 i"),
        ("a = not.i32 i; not.i32 a", "i"),
        ("a = not.i32 i; or.i32 a, i", "const.i32 -1"),
        ("c = const.i32 32; ishl i, c", "i"),
        ("ushr zero, i", "const.i32 0"),
        ("c = const.i32 31; a = and.i32 j, c; sshr i, a", "sshr i, j"),
        ("umin i, i", "i"),
        ("umax zero, i", "i"),
        ("umin i, zero", "const.i32 0"),
        ("select.i32 p, i, i", "i"),
        ("c = const.i1 false; select.i32 c, i, j", "j"),
        ("n = flt y, x; m = not.i1 n; select.i32 m, i, j", "n = flt y, x; select.i32 n, j, i"),
        ("a = select.i32 p, i, eight; select.i32 p, a, j", "select.i32 p, i, j"),
    ] {
        word(before, after);
    }
}

#[test]
fn numbers_without_a_top_bit_convert_as_signed_ones() {
    let converted = |made: &str, op: &str| format!("a = {made}; f = {op} a; output.f32 0.0, f");
    for made in ["and.i32 i, eight", "ushr i, one"] {
        check(&converted(made, "utof"), &converted(made, "itof"));
    }
    for made in ["ushr i, j", "sshr i, one", "iadd i, one", "and.i32 i, j"] {
        check(&converted(made, "utof"), &converted(made, "utof"));
    }
}

#[test]
fn truth_identities() {
    for (before, after) in [
        ("and.i1 p, p", "p"),
        ("t = const.i1 true; and.i1 p, t", "p"),
        ("t = const.i1 false; or.i1 p, t", "p"),
        ("t = const.i1 true; xor.i1 p, t", "sle j, i"),
        ("a = not.i1 q; not.i1 a", "q"),
        ("a = feq x, y; not.i1 a", "fne x, y"),
        ("a = ult i, j; not.i1 a", "ule j, i"),
        ("t = const.i1 true; s = const.i1 false; select.i1 p, t, s", "p"),
        ("t = const.i1 true; select.i1 p, t, q", "or.i1 p, q"),
        ("t = const.i1 false; select.i1 p, q, t", "and.i1 p, q"),
    ] {
        truth(before, after);
    }
}

#[test]
fn masks_of_comparisons_collapse() {
    truth("m = select.i32 p, ones, zero; ine m, zero", "p");
    truth("m = select.i32 p, ones, zero; ieq m, zero", "sle j, i");
    truth("m = select.i32 q, ones, zero; f = bitcast_f32 m; n = bitcast_i32 f; ine n, zero", "q");
    truth("m = select.i32 p, ones, zero; n = select.i32 q, ones, zero; a = and.i32 m, n; ine zero, a", "and.i1 p, q");
    truth("m = select.i32 p, ones, zero; n = select.i32 q, ones, zero; a = or.i32 m, n; ine a, zero", "or.i1 p, q");
    truth("m = select.i32 q, ones, zero; n = not.i32 m; ieq n, zero", "q");
    // As a float, a mask of all ones is NaN.
    truth("m = select.i32 q, ones, zero; f = bitcast_f32 m; z = const.f32 0.0; fne f, z", "q");
    // Bits of 1.0 under a mask.
    word(
        "o = const.i32 0x3f800000; m = select.i32 p, ones, zero; and.i32 m, o",
        "o = const.i32 0x3f800000; z = const.i32 0; select.i32 p, o, z",
    );
    word("m = select.i32 p, ones, zero; and.i32 i, m", "select.i32 p, i, zero");
    word("m = select.i32 p, zero, ones; or.i32 m, i", "select.i32 p, i, ones");
}

#[test]
fn bits_move_freely() {
    word("f = bitcast_f32 i; bitcast_i32 f", "i");
    check(
        "a = uniform_load.i32 space0[2].1; f = bitcast_f32 a; r = fadd f, x; output.f32 0.0, r",
        "f = uniform_load.f32 space0[2].1; r = fadd f, x; output.f32 0.0, r",
    );
    check("f = bitcast_f32 i; r = fadd f, y; output.f32 0.0, r", "f = input.f32 0.0; r = fadd f, y; output.f32 0.0, r");
    check("s = fsqrt x; a = bitcast_i32 s; output.i32 0.0, a", "s = fsqrt x; output.f32 0.0, s");
    check(
        "s = fsqrt x; a = bitcast_i32 s; b = select.i32 p, a, one; c = bitcast_f32 b; r = fadd c, c; output.f32 0.0, r",
        "s = fsqrt x; b = const.f32 0x00000001; c = select.f32 p, s, b; r = fadd c, c; output.f32 0.0, r",
    );
    check(
        "s = fsqrt x; a = bitcast_i32 s; array_store.i32 array0.0, i, a; r = array_load.i32 array0.0, j; output.i32 0.0, r",
        "s = fsqrt x; array_store.f32 array0.0, i, s; r = array_load.i32 array0.0, j; output.i32 0.0, r",
    );
}

#[test]
fn signs() {
    for (before, after) in [
        ("a = fneg x; b = fneg a; r = fadd b, y", "r = fadd x, y"),
        ("a = fneg x; b = fabs a; r = fadd b, y", "b = fabs x; r = fadd b, y"),
        ("a = fabs x; b = fabs a; r = fadd b, y", "b = fabs x; r = fadd b, y"),
        ("a = const.f32 2.0; b = fneg a; r = fadd x, b", "b = const.f32 -2.0; r = fadd x, b"),
        ("a = fneg x; r = fadd y, a", "r = fsub y, x"),
        ("a = fneg x; r = fsub y, a", "r = fadd y, x"),
        ("a = fneg x; b = fneg y; r = fmul a, b", "r = fmul x, y"),
        ("a = fneg x; b = fneg y; r = fmad a, b, y", "r = fmad x, y, y"),
    ] {
        let observed = |lines: &str| format!("{lines}; output.f32 0.0, r");
        check(&observed(before), &observed(after));
    }
}

#[test]
fn sums_of_a_product_with_one() {
    for op in ["fma", "fmad"] {
        for factors in ["x, c", "c, x"] {
            let before = format!("c = const.f32 1.0; r = {op} {factors}, y; output.f32 0.0, r");
            check(&before, "r = fadd x, y; output.f32 0.0, r");
        }
    }
}

/// What an input gives may be a denormal; what arithmetic gives is none.
#[test]
fn neutral_operands_of_what_is_flushed_go() {
    let neutral = [
        ("-0.0", "fadd s, c"),
        ("-0.0", "fadd c, s"),
        ("0.0", "fsub s, c"),
        ("1.0", "fmul s, c"),
        ("1.0", "fmul c, s"),
        ("1.0", "fdiv s, c"),
        ("1.0", "fmulz s, c"),
    ];
    for (literal, op) in neutral {
        for made_by in ["fadd x, y", "fmul x, y", "fsqrt x", "itof i"] {
            let before = format!("s = {made_by}; c = const.f32 {literal}; r = {op}; output.f32 0.0, r");
            check(&before, &format!("s = {made_by}; output.f32 0.0, s"));
        }
    }
    for stays in
        ["c = const.f32 0.0; r = fadd s, c", "c = const.f32 -0.0; r = fsub s, c", "c = const.f32 1.0; r = fdiv c, s"]
    {
        let body = format!("s = fadd x, y; {stays}; output.f32 0.0, r");
        check(&body, &body);
    }
}

#[test]
fn float_arithmetic_with_neutral_operands_stays() {
    for lines in [
        "c = const.f32 1.0; r = fmul x, c",
        "c = const.f32 0.0; r = fadd x, c",
        "r = pmax x, x",
        "r = fsub x, x",
        "c = const.f32 0.0; r = fmul x, c",
    ] {
        let text = format!("{lines}; output.f32 0.0, r");
        check(&text, &text);
    }
}

#[test]
fn uniform_loads_take_what_is_known() {
    word("uniform_load.i32 space1[0].2", "const.i32 3");
    word("uniform_load.i32 space1[1].2", "const.i32 0");
    word("uniform_load_at.i32 space0[4].2, eight", "uniform_load.i32 space0[12].2");
    word("uniform_load_at.i32 space1[4294967295].3, one", "const.i32 4");
    word("a = iadd i, eight; uniform_load_at.i32 space0[4].2, a", "uniform_load_at.i32 space0[12].2, i");
}

#[test]
fn decided_branches_are_jumps_and_what_they_leave_goes() {
    assert_makes(
        |func| {
            fold(func);
            dce(func);
        },
        r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 1
    v2 = const.i32 2
    v3 = ult v1, v2
    br_if v3, block1, block2
block1:
    jump block3(v1)
block2:
    jump block3(v0)
block3(v4: i32):
    v5 = iadd v4, v2
    switch v5 { 2: block4, 3: block5(v0), default: block4 }
block4:
    jump block5(v4)
block5(v6: i32):
    output.i32 0.0, v6
    return
}
"#,
        r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    jump block1
block1:
    jump block2
block2:
    jump block3
block3:
    output.i32 0.0, v0
    return
}
"#,
    );
}

#[test]
fn a_branch_on_a_complement_swaps_its_targets() {
    assert_makes(
        |func| {
            fold(func);
            dce(func);
        },
        r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.f32 0.0
    v1 = flt v0, v0
    v2 = input.f32 0.1
    v3 = flt v0, v2
    v4 = not.i1 v3
    br_if v4, block1, block2
block1:
    output.f32 0.0, v0
    return
block2:
    return
}
"#,
        r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = flt v0, v1
    br_if v2, block2, block1
block1:
    output.f32 0.0, v0
    return
block2:
    return
}
"#,
    );
}

#[test]
fn random_functions_keep_their_meaning() {
    assert_keeps_meaning(fold);
}

#[test]
fn random_functions_keep_their_meaning_in_a_row_of_passes() {
    assert_keeps_meaning(|func| {
        fold(func);
        crate::pass::gvn(func);
        fold(func);
        dce(func);
    });
}
