//! Shaders of our own in GLSL (`spirv/own`), for what no compiler makes of HLSL: expected is what Rust computes, or
//! what the container of the same source draws.

use crate::groups::{Rule, difference, printed};
use crate::support::program::{Element as Attribute, Source};
use crate::support::tool::{Temporary, engines};
use crate::{data, read};
use shaderjit::{
    AtomicBuffer, Backend, BufferView, CompileOptions, Config, Descriptor, Engine, Lanes, MemoryView, Shader,
};

/// `OpSMod` and `OpSRem`.
const MODULUS: u32 = 139;
const REMAINDER: u32 = 138;

/// Numbers next to where carries, signs and the precision of doubles change, each with each.
fn pairs() -> Vec<[u64; 2]> {
    let mut numbers =
        vec![1, 2, 3, 10, 0xffff, 0xffff_ffff, 1 << 32, (1 << 53) - 1, (1 << 53) + 1, 0x1234_5678_9abc_def1];
    numbers.extend([i64::MAX as u64, i64::MIN as u64, i64::MIN as u64 + 1, u64::MAX, u64::MAX - 1, u64::MAX / 3]);
    let negated: Vec<u64> = numbers.iter().map(|number: &u64| number.wrapping_neg()).collect();
    numbers.extend(negated);
    numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| [x, y])).collect()
}

/// What the shader makes of pairs on one engine.
fn divided(bytes: &[u8], pairs: &[[u64; 2]], options: &CompileOptions) -> Vec<[u64; 4]> {
    let engine = Engine::new(Config::default()).unwrap();
    let code = engine.compile(&Shader::parse(bytes).unwrap(), options).unwrap();
    let input: Vec<u8> = pairs.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
    let output = AtomicBuffer::zeroed(32 * pairs.len());
    let mut call = code.call();
    call.descriptor(0, 0, 0, Descriptor::Buffer(BufferView::raw(&input))).unwrap();
    call.descriptor(0, 1, 0, Descriptor::Memory(MemoryView::raw(&output))).unwrap();
    call.dispatch([pairs.len().div_ceil(8) as u32, 1, 1]).unwrap();
    let bytes = output.to_bytes();
    let rows = bytes.as_chunks::<32>().0.iter();
    rows.map(|row| [0, 1, 2, 3].map(|n| u64::from_le_bytes(row.as_chunks().0[n]))).collect()
}

#[test]
fn integers_of_64_bits_divide_as_those_of_rust_do() {
    let pairs = pairs();
    let module = read(&data().join("spirv/own/wide.comp.spv"));
    // GLSL has no remainder with the sign of the dividend.
    let mut other = module.clone();
    let words = other.as_chunks_mut::<4>().0;
    let place = words.iter().position(|&word| u32::from_le_bytes(word) == 5 << 16 | MODULUS).unwrap();
    words[place] = (5 << 16 | REMAINDER).to_le_bytes();
    for lanes in Lanes::ALL {
        for backend in [Backend::Interpreter, Backend::Jit] {
            let options = CompileOptions::default().lanes(lanes).backend(backend);
            let (moduli, remainders) = (divided(&module, &pairs, &options), divided(&other, &pairs, &options));
            for (&[x, y], (found, other)) in pairs.iter().zip(moduli.iter().zip(&remainders)) {
                let (sx, sy) = (x as i64, y as i64);
                let remainder = sx.wrapping_rem(sy);
                let modulus = if remainder != 0 && (remainder < 0) != (sy < 0) { remainder + sy } else { remainder };
                let wanted = [x / y, x % y, sx.wrapping_div(sy) as u64, modulus as u64];
                assert_eq!(*found, wanted, "{x:#x} and {y:#x}, {lanes:?} {backend:?}");
                assert_eq!(other[3], remainder as u64, "{x:#x} and {y:#x}, {lanes:?} {backend:?}");
            }
        }
    }
}

#[test]
fn attributes_are_interpolated_where_the_module_says() {
    let run = |vertex: &str, pixel: &str, more: &[&str]| {
        let options = ["--vs", vertex, "--ps", pixel, "--count", "3", "--rt", "8x8", "--samples", "4"];
        printed(&data(), &options, more)
    };
    let wanted = run("dxbc/ps_interp/VS.vs_5_0.fxc101.dxbc", "dxbc/ps_interp/PS.ps_5_0.fxc101.dxbc", &[]);
    assert!(wanted.lines().filter(|line| line.starts_with("rt0")).count() == 64 && !wanted.contains("-7777"));
    for engine in ["jit", "interp"] {
        let engine = ["--engine", engine];
        let found = run("spirv/ps_interp/VS.vs_5_0.dxc.spv", "spirv/own/interpolate.frag.spv", &engine);
        let differs = difference(&found, &wanted, Rule::CLOSE);
        assert!(differs.is_none(), "{}", differs.unwrap());
    }
}

#[test]
fn tessellated_patches_are_drawn_through_all_stages() {
    let normal = Attribute { index: 0, ..Attribute::register("NRM", 1) }.mask(7);
    let target = Attribute { index: 0, ..Attribute::register("SV_Target", 0) };
    let pixel = Source::new("ps_5_0\nmov o0.xyzw, l(1.0)\nmov o0.xyz, v1.xyzw").with(&[normal], &[target]);
    let pixel = Temporary::new("spirv_normal_ps.dxbc", &pixel.container());
    let own = data().join("spirv/own/normal.frag.spv");
    let folder = data().join("dxbc/tess_tri");
    let command = std::fs::read_to_string(folder.join("run.r0.cmd")).unwrap();
    let stages: Vec<String> = command.split_whitespace().skip(1).map(str::to_string).collect();
    let draw = |pixel: &str, compiler: Option<&str>, has_geometry: bool, more: &[&str]| {
        let geometry = stages.iter().position(|option| option == "--gs").unwrap();
        let is_left_out = |n: usize| !has_geometry && (geometry..geometry + 2).contains(&n);
        let kept = stages.iter().enumerate().filter(|&(n, _)| !is_left_out(n)).map(|(_, option)| option);
        let kept: Vec<String> = kept
            .map(|option| match (option.strip_suffix(".fxc101.dxbc"), compiler) {
                (Some(stem), Some(compiler)) => format!("../../spirv/tess_tri/{stem}.{compiler}.spv"),
                _ => option.clone(),
            })
            .collect();
        let options = kept.iter().map(String::as_str).chain(["--ps", pixel, "--rt", "192x192", "--depth", "less"]);
        printed(&folder, &options.collect::<Vec<_>>(), more)
    };
    let wanted = draw(pixel.path(), None, true, &[]);
    assert!(wanted.lines().filter(|line| line.starts_with("rt0") && !line.contains("-7777")).count() > 300);
    let mut first = None;
    for compiler in ["dxc", "glslang"] {
        for has_geometry in [true, false] {
            for engine in engines() {
                let found = draw(own.to_str().unwrap(), Some(compiler), has_geometry, &engine);
                let differs = difference(&found, &wanted, Rule::CLOSE);
                assert!(differs.is_none(), "{compiler} {engine:?}: {}", differs.unwrap());
                let first = first.get_or_insert_with(|| (compiler, found.clone()));
                assert!(first.0 != compiler || first.1 == found, "{engine:?} draws something else");
            }
        }
    }
}

#[test]
fn slices_and_viewports_that_no_vertex_chooses_are_the_first() {
    let options = ["--vs", "ps_interp/VS.vs_5_0.dxc.spv", "--ps", "own/layer.frag.spv", "--count", "3", "--rt", "8x8"];
    for engine in ["jit", "interp"] {
        let drawn = printed(&data().join("spirv"), &options, &["--engine", engine]);
        let words = "[3f800000 3f800000 00000000 3f800000]";
        assert_eq!(
            drawn.lines().filter(|line| line.starts_with("rt0") && line.ends_with(words)).count(),
            64,
            "{drawn}"
        );
    }
}

#[test]
fn groups_that_wait_and_write_nothing_run() {
    let shader = Shader::parse(&read(&data().join("spirv/own/idle.comp.spv"))).unwrap();
    let engine = Engine::new(Config::default()).unwrap();
    let rounds = AtomicBuffer::from_bytes(&[5u32; 16].map(u32::to_le_bytes).concat());
    for lanes in Lanes::ALL {
        for backend in [Backend::Interpreter, Backend::Jit] {
            // Where native code cannot part at a barrier, the interpreter runs it.
            let code = engine.compile(&shader, &CompileOptions::default().lanes(lanes).backend(backend)).unwrap();
            let mut call = code.call();
            call.descriptor(0, 0, 0, Descriptor::Memory(MemoryView::raw(&rounds))).unwrap();
            call.dispatch([2, 1, 1]).unwrap();
        }
    }
}
