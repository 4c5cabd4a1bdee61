//! A displaced patch from vertices to pixels: the picture of a draw with a hull and a domain shader, with and without a
//! geometry shader behind them, is that of the triangles that an executor made of the same patches.

use crate::groups::printed;
use crate::support::program::{Element, Source};
use crate::support::tool::{Temporary, engines};
use crate::{data, read};
use shaderjit::container::dxbc::SystemValue;

/// The recorded vertices, three elements of 16 bytes each.
fn recorded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines().skip(1) {
        let (_, words) = line.split_once("  [").expect("a line has words");
        let words = words.trim_end_matches(']').split(' ').map(|word| u32::from_str_radix(word, 16).expect("a word"));
        bytes.extend(words.chain([0; 4]).take(4).flat_map(u32::to_le_bytes));
    }
    bytes
}

/// A line's name and its floats.
fn floats(line: &str) -> (&str, Vec<f32>) {
    let (front, words) = line.split_once("  [").expect("a line has words");
    let word = |word| f32::from_bits(u32::from_str_radix(word, 16).expect("a word"));
    (front.split(' ').next().expect("a name"), words.trim_end_matches(']').split(' ').map(word).collect())
}

/// A case is drawn with the attribute behind the position as colour.
fn check(case: &str, attribute: &'static str, components: &str, size: &str, least: usize) {
    let folder = data().join("dxbc").join(case);
    let command = String::from_utf8(read(&folder.join("run.r0.cmd"))).expect("commands are text");
    let stages: Vec<&str> = command.split_whitespace().skip(1).collect();
    let mask = (1 << components.len()) - 1;
    let colour = Element { index: 0, ..Element::register(attribute, 1) }.mask(mask);
    let target = Element { index: 0, ..Element::register("SV_Target", 0) };
    let pixel = format!("ps_5_0\nmov o0.xyzw, l(1.0)\nmov o0.{components}, v1.xyzw");
    let pixel = Source::new(&pixel).with(&[colour], &[target]);
    let pixel = Temporary::new(&format!("{case}_ps.dxbc"), &pixel.container());
    let position = Element { index: 0, ..Element::register("SV_Position", 0) }.value(SystemValue::POSITION);
    let through =
        format!("vs_5_0\ndcl_output_siv o0.xyzw, position\nmov o0.xyzw, v0.xyzw\nmov o1.{components}, v1.xyzw");
    let inputs = [0, 1, 2].map(|register| Element::register("V", register));
    let through = Source::new(&through).with(&inputs, &[position, colour]);
    let through = Temporary::new(&format!("{case}_vs.dxbc"), &through.container());
    let stream = String::from_utf8(read(&folder.join("run.r0.gs_5_0.fxc101.dxvk.txt"))).expect("results are text");
    let vertices = Temporary::new(&format!("{case}.bin"), &recorded(&stream));

    let drawn = ["--ps", pixel.path(), "--rt", size, "--depth", "less"];
    let wanted = printed(&folder, &[&["--vs", through.path(), "--input", vertices.path()], &drawn[..]].concat(), &[]);
    let covered = wanted.lines().filter(|line| line.starts_with("rt0") && !line.contains("-7777")).count();
    assert!(covered > least, "{case}: {covered} pixels");

    // Whole triangles pass through the geometry shader.
    let geometry = stages.iter().position(|option| *option == "--gs").expect("its streams were recorded");
    let without = [&stages[..geometry], &stages[geometry + 2..]].concat();
    let mut first = None;
    for stages in [&stages, &without] {
        for engine in engines() {
            let found = printed(&folder, &[&stages[..], &drawn[..]].concat(), &engine);
            let first = first.get_or_insert_with(|| found.clone());
            assert!(*first == found, "{case}: {engine:?} draws something else");
        }
    }
    let found = first.expect("there are engines");
    assert_eq!(found.lines().count(), wanted.lines().count());
    for (found, wanted) in found.lines().zip(wanted.lines()) {
        let ((name, ours), (other, theirs)) = (floats(found), floats(wanted));
        let is_close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * b.abs().max(1.0);
        assert!(name == other && ours.iter().zip(&theirs).all(is_close), "{case}: {found}\n not {wanted}");
    }
}

#[test]
fn a_displaced_patch_is_drawn_as_the_triangles_that_were_recorded_of_it() {
    check("tess_tri", "NRM", "xyz", "192x192", 300);
}

#[test]
fn patches_with_constants_are_drawn_as_the_triangles_that_were_recorded_of_them() {
    check("tess_pass", "Q", "xyzw", "96x96", 5000);
}
