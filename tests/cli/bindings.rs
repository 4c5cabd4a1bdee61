//! What options bind to a shader's slots: class instances, textures, samplers, buffers, in register spaces too.

use crate::buffers;
use crate::support::program::Source;
use crate::support::tool::{Temporary, data, fails, shaderjit, stderr, stdout};

#[test]
fn class_instances_are_bound_by_name() {
    let file = data("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc");
    let sun = ["--class", "0=sun", "--class", "1=sun", "--class", "2=lamps[2]"];
    let args = [&["run", &file, "--count", "3", "--unbound-as-zero"], &sun[..]].concat();
    assert!(fails(&args, 1).contains("interface slot 3 is called and has no class instance"));
    let all = [&args[..], &["--class", "3=sun", "--class", "4=flatM"]].concat();
    assert_eq!(stdout(&all).lines().count(), 3);
    let diff = [&["diff", &file], &sun[..], &["--class", "3=lamps", "--class", "4=flatM"]].concat();
    assert!(stdout(&diff).starts_with("no difference in 4096 pixels"));
    fails(&[&args[..], &["--class", "sun"]].concat(), 2);
}

#[test]
fn textures_and_samplers_are_bound_by_slot_and_kind() {
    let folder = data("dxbc/vs_texfetch");
    let [file, input, t0, t1, t2, t3] = [
        "VS.vs_5_0.fxc101.dxbc".to_string(),
        "in.r0.0.bin".to_string(),
        format!("0=tex2d:rgba32f:8x8:4,{folder}/in.r0.1.bin"),
        format!("1=buf:rgba32u,{folder}/in.r0.2.bin"),
        format!("2=tex2darr:rg32f:4x4x3,{folder}/in.r0.3.bin"),
        format!("3=tex3d:r32f:4x4x4,{folder}/in.r0.4.bin"),
    ];
    let (file, input) = (format!("{folder}/{file}"), format!("{folder}/{input}"));
    let bound = ["--input", &input, "--srv", &t0, "--srv", &t1, "--srv", &t2, "--srv", &t3];
    let run = |more: &[&'static str]| [&["run", &*file], &bound[..], more].concat();
    let expected = include_str!("../data/dxbc/vs_texfetch/run.r0.vs_5_0.fxc101.dxvk.txt");
    let words = |line: &str| {
        let words = line.split_once('[')?.1.trim_end_matches(']').split_whitespace();
        Some(words.map(|word| u32::from_str_radix(word, 16).unwrap()).collect::<Vec<u32>>())
    };
    let expected: Vec<u32> = expected.lines().filter_map(words).flatten().collect();
    for engine in ["jit", "interp"] {
        let output = shaderjit(&run(&["--smp", "0=point:wrap", "--format", "raw", "--engine", engine]));
        let words: Vec<u32> = output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        assert!(words == expected, "{engine}: {}", stderr(&output));
    }
    let message = fails(&run(&[]), 1);
    assert!(message.contains("sampler s0 is not bound"), "{message}");
    let message = fails(&run(&["--smp", "0=bilinear"]), 2);
    assert!(message.contains("none of point, linear, aniso, cmppoint and cmp"), "{message}");
    let message = fails(&["run", &file, "--srv", "0=tex2d:rgba8:4x4,zero:63"], 1);
    assert!(message.contains("t0: there are 63 bytes, the texels have 64"), "{message}");
    let output = shaderjit(&run(&["--smp", "0=point", "--smp", "5=linear:border"]));
    assert!(output.status.success() && stderr(&output).contains("warning: the shader has no sampler s5"));

    // What is not bound is made up.
    let text = stdout(&["diff", &file, "--count", "50"]);
    assert!(text.starts_with("no difference in 50 vertices"), "{text}");
}

#[test]
fn buffers_are_bound_by_slot_and_kind() {
    let file = Temporary::new("buffers.dxbc", &buffers::container());
    let file = file.path();
    let bound = ["--srv", "0=raw,hex:0100000002000000", "--srv", "1=struct:12,hex:000000000700000008000000"];
    let run = |more: &[&'static str]| [&["run", file, "--count", "2"], &bound[..], more].concat();
    for engine in ["jit", "interp"] {
        let output = shaderjit(&run(&["--srv", "2=buf:rgba8u,hex:01020304", "--format", "raw", "--engine", engine]));
        let words: Vec<u32> = output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let first = [[1, 2, 0, 0], [7, 8, 0, 0], [1, 2, 3, 4], [8, 1, 1, 0]];
        let second = [[1, 2, 0, 0], [0; 4], [0; 4], [8, 1, 1, 0]];
        assert_eq!(words, [first, second].as_flattened().as_flattened(), "{engine}: {}", stderr(&output));
    }

    let message = fails(&run(&[]), 1);
    assert!(message.contains("resource t2 is not bound"), "{message}");
    assert!(stdout(&run(&["--unbound-as-zero"])).lines().count() > 2);
    let message = fails(&run(&["--srv", "2=raw,zero:4"]), 1);
    assert!(message.contains("a raw buffer is bound"), "{message}");
    let message = fails(&run(&["--srv", "2=tex2d:rgba8:4x4,zero:64"]), 1);
    assert!(message.contains("a texture2d is bound"), "{message}");
    let output = shaderjit(&run(&["--srv", "2=buf:r8,zero:4", "--srv", "9=raw,zero:4"]));
    assert!(output.status.success() && stderr(&output).contains("warning: the shader has no resource t9"));

    // What is not bound is made up.
    let text = stdout(&["diff", file, "--count", "50"]);
    assert!(text.starts_with("no difference in 50 vertices"), "{text}");
}

/// Shader model 5.1: each option takes a slot of a register space, and the range of `t0` has no end.
#[test]
fn slots_are_of_register_spaces() {
    let program = "vs_5_1
        dcl_constantbuffer cb0[3][3], immediateIndexed, 1, 2
        dcl_resource_raw t0[6][0xffffffff], 1
        dcl_resource_texture2d (float,float,float,float) t1[4][4], 7
        dcl_sampler s0[5][5], mode_default, 9
        dcl_input_sgv v0.x, vertex_id
        mov o0.x, cb0[3][0].x
        ld_raw o0.y, l(0), t0[v0.x + 6].xxxx
        sample_l o0.z, l(0.5, 0.5, 0.0, 0.0), t1[4].xxxx, s0[5], l(0.0)
        sampleinfo_uint o0.w, rasterizer.xxxx";
    let file = Temporary::new("spaces.dxbc", &Source::new(program).container());
    let run = |more: &[&'static str]| [&["run", file.path(), "--count", "3", "--format", "raw"], more].concat();
    let bound = [
        ["--unbounded", "2"],
        ["--cb", "3:2=hex:01000000"],
        ["--srv", "6:1=raw,hex:02000000"],
        ["--srv", "7:1=raw,hex:03000000"],
        ["--srv", "4:7=tex2d:r32f:1x1,hex:00000040"],
        ["--smp", "5:9=point"],
    ];
    let words = |more: &[&'static str]| {
        let output = shaderjit(&run(&[bound.as_flattened(), more].concat()));
        assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
        output.stdout.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<u32>>()
    };
    let float = 2.0f32.to_bits();
    assert_eq!(words(&[]), [1, 2, float, 1, 1, 3, float, 1, 1, 0, float, 1]);
    assert_eq!(words(&["--samples", "4"]), [1, 2, float, 4, 1, 3, float, 4, 1, 0, float, 4]);

    let message = fails(&run(&[]), 1);
    assert!(message.contains("a range without an end"), "{message}");
    let elsewhere = [&["--cb", "3=hex:01000000"], &bound[0], &bound[2], &bound[3], &bound[4], &bound[5]];
    let elsewhere: Vec<&str> = elsewhere.into_iter().flatten().copied().collect();
    let message = fails(&[&["run", file.path(), "--count", "3"], &elsewhere[..]].concat(), 1);
    assert!(message.contains("the shader has no constant buffer cb3; it has "), "{message}");
    assert!(message.contains("constant buffer cb3 of space 2 is not bound"), "{message}");
    fails(&run(&["--unbounded", "0"]), 2);
    fails(&run(&["--cb", "3:x=hex:00"]), 2);
}
