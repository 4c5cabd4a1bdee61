//! `diff` of whole draws, of thread groups and of stages between vertices and pixels: both engines on the same, and two
//! shaders.

mod support;

use support::tool::{data, fails, shaderjit, stdout};

/// What the tool prints of shaders that differ.
fn differs(args: &[&str]) -> String {
    let output = shaderjit(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", support::tool::stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn dxbc(file: &str) -> String {
    data(&format!("dxbc/{file}"))
}

#[test]
fn draws_are_compared_pixel_by_pixel() {
    let file = |name: &str| dxbc(&format!("pipe_two/{name}"));
    let (vs, ps) = (file("VS.vs_5_0.fxc101.dxbc"), file("PS.ps_5_0.fxc101.dxbc"));
    let (vertices, ib, cb) =
        (file("in.r0.0.bin"), file("in.r0.1.bin") + ":u32", "0=".to_string() + &file("in.r0.2.bin"));
    let draw = ["--vs", &vs, "--in", &vertices, "--ib", &ib, "--cb", &cb, "--rt", "32x32", "--depth", "less"];
    let text = stdout(&[&["diff", "--ps", &ps], &draw[..]].concat());
    // A target and depths.
    assert_eq!(text, "no difference in 2048 elements that the draw leaves\n");

    // What a compiler makes without optimizing rounds otherwise, but not by much.
    let other = file("PS.ps_5_0.fxc101Od.dxbc");
    let text = stdout(&[&["diff", &other, "--ps", &ps, "--ulp", "400000"], &draw[..]].concat());
    assert!(text.starts_with("close: within ") || text == "equal: 2048 elements\n", "{text}");
    // The same shader in place of the vertex shader is the same draw.
    assert_eq!(stdout(&[&["diff", &vs, "--ps", &ps], &draw[..]].concat()), "equal: 2048 elements\n");

    let clip = dxbc("pipe_fill/VS.vs_5_0.fxc101.dxbc");
    assert!(fails(&[&["diff", &clip, "--ps", &ps], &draw[..]].concat(), 1).contains("WORLD"));
    let hull = dxbc("tess_tri/HS.hs_5_0.fxc101.dxbc");
    assert!(fails(&[&["diff", &hull, "--ps", &ps], &draw[..]].concat(), 2).contains("no shader of its stage"));
    assert!(fails(&[&["diff", &vs, &vs, "--ps", &ps], &draw[..]].concat(), 2).contains("one other shader"));
}

#[test]
fn streams_are_compared() {
    let [vs, gs] = ["VS.vs_5_0", "GS.gs_5_0"].map(|name| dxbc(&format!("gs_quads/{name}.fxc101.dxbc")));
    let draw = ["--vs", &vs, "--gs", &gs, "--topology", "point", "--in", "zero:160"];
    let text = stdout(&[&["diff"], &draw[..]].concat());
    assert!(text.starts_with("no difference in ") && text.ends_with(" elements that the draw leaves\n"), "{text}");
    let unoptimized = dxbc("gs_quads/GS.gs_5_0.fxc101Od.dxbc");
    let text = stdout(&[&["diff", &unoptimized, "--ulp", "4"], &draw[..]].concat());
    assert!(text.starts_with("equal: ") || text.starts_with("close: "), "{text}");
}

#[test]
fn thread_groups_of_two_shaders_are_compared() {
    let of = |compiler: &str| dxbc(&format!("cs_queens/CS.cs_5_0.{compiler}.dxbc"));
    let memory = ["--dispatch", "1,1,1", "--uav", "0=buf:r32u,zero:512", "--uav", "1=struct:4,zero:4"];
    let text = stdout(&[&["diff", &of("fxc101"), &of("fxc101Od")], &memory[..]].concat());
    assert_eq!(text, "equal: 129 elements\n");
    let [nested, prefix] = ["cs_nested_sync", "cs_prefix"].map(|name| dxbc(&format!("{name}/CS.cs_5_0.fxc101.dxbc")));
    let words = ["--dispatch", "3,1,1", "--uav", "0=struct:4,zero:384", "--json"];
    let text = differs(&[&["diff", &nested, &prefix], &words[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["result"], json["difference"].as_array().map(Vec::len)), (&"different".into(), Some(2)));
    let vertex = dxbc("gs_quads/VS.vs_5_0.fxc101.dxbc");
    assert!(fails(&[&["diff", &of("fxc101"), &vertex], &memory[..]].concat(), 1).contains("different stages"));
}

#[test]
fn stages_of_primitives_are_compared() {
    let of = |name: &str, compiler: &str| dxbc(&format!("tess_bezier/{name}.{compiler}.dxbc"));
    for (name, ulp) in [("HS.hs_5_0", "100000"), ("DS.ds_5_0", "100000")] {
        let (first, second) = (of(name, "fxc101"), of(name, "fxc101Od"));
        let text = stdout(&["diff", &first, &first]);
        assert!(text.starts_with("equal: "), "{name}: {text}");
        let text = stdout(&["diff", &first, &second, "--ulp", ulp]);
        assert!(text.starts_with("equal: ") || text.starts_with("close: "), "{name}: {text}");
    }
    let [strips, quads] = ["gs_strips/GT", "gs_quads/GS"].map(|name| dxbc(&format!("{name}.gs_5_0.fxc101.dxbc")));
    assert!(differs(&["diff", &strips, &quads]).starts_with("different"));
}
