//! Variables, buffers, textures and samplers bound by their names, against the same bytes bound by slot.

use shaderjit::error::CallError;
use shaderjit::{
    BufferView, Call, CompileOptions, CompiledShader, Config, Engine, Image, ImageLayout, SamplerState, Shader,
    TexelFormat, Tolerance, UniformValue, VertexBufferView, VertexFormat,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn shader(path: &str) -> Shader {
    let path = format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"));
    Shader::parse(&std::fs::read(path).unwrap()).unwrap()
}

fn compile(path: &str) -> Arc<CompiledShader> {
    Engine::new(Config::default()).unwrap().compile(&shader(path), &CompileOptions::default()).unwrap()
}

/// The error of setting a variable.
fn error(call: &mut Call<'_>, name: &str, value: impl UniformValue) -> String {
    call.set(name, value).map(drop).unwrap_err().to_string()
}

/// Whether two calls give the same outputs for made-up vertices, of which there are some.
fn assert_same(code: &CompiledShader, named: &Call<'_>, by_slot: &Call<'_>, what: &str) {
    let bytes: Vec<u8> = (0..16 * 64).flat_map(|n| ((n % 37) as f32 / 8.0 - 2.0).to_le_bytes()).collect();
    let [mut named, mut by_slot] = [named.clone(), by_slot.clone()];
    for call in [&mut named, &mut by_slot] {
        call.unbound_as_zero(true).reinterpret_inputs(true);
        for element in 0..code.interface().signature_inputs().len() {
            call.input_element(element, VertexBufferView::f32x4(&bytes[16 * element..], 64)).unwrap();
        }
    }
    let (named, by_slot) = (named.run(0..8).unwrap(), by_slot.run(0..8).unwrap());
    assert_eq!(named.first_difference(&by_slot), None, "{what}");
    assert!(named.bytes().iter().any(|&byte| byte != 0), "{what}");
}

/// `world` and `viewProj` are stored by columns, `texMat` by rows; the caller gives rows.
#[test]
fn matrices_are_given_by_rows_however_they_are_stored() {
    let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let matrix =
        |start: f32| -> [[f32; 4]; 4] { std::array::from_fn(|r| std::array::from_fn(|c| start + (4 * r + c) as f32)) };
    let tex: [[f32; 3]; 4] = std::array::from_fn(|r| std::array::from_fn(|c| 0.25 * (3 * r + c) as f32));
    let mut named = code.call();
    named.set("world", matrix(1.0)).unwrap().set("viewProj", matrix(-3.0)).unwrap().set("texMat", tex).unwrap();
    named.set("sunDir", [0.5f32, -1.0, 2.0]).unwrap().set("ambient", 0.125f32).unwrap();
    named.set("Frame.tint", [1.0f32, 0.5, 0.25, 2.0]).unwrap();

    let mut floats = [0f32; 56];
    for (r, c) in (0..4).flat_map(|r| (0..4).map(move |c| (r, c))) {
        floats[4 * c + r] = matrix(1.0)[r][c];
        floats[16 + 4 * c + r] = matrix(-3.0)[r][c];
        if c < 3 {
            floats[32 + 4 * r + c] = tex[r][c];
        }
    }
    floats[48..51].copy_from_slice(&[0.5, -1.0, 2.0]);
    floats[51] = 0.125;
    floats[52..].copy_from_slice(&[1.0, 0.5, 0.25, 2.0]);
    let bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut by_slot = code.call();
    by_slot.constant_buffer(0, &bytes).unwrap();
    assert_same(&code, &named, &by_slot, "vs_transform");

    // Raw bytes of a variable, and a later value on top of the whole buffer.
    let mut mixed = code.call();
    mixed.constant_buffer(0, &vec![0x3f; 224]).unwrap();
    for (name, range) in [("world", 0..64), ("viewProj", 64..128), ("texMat", 128..188), ("sunDir", 192..204)] {
        mixed.set_bytes(name, &bytes[range]).unwrap();
    }
    mixed.set("ambient", 0.125f32).unwrap().set_bytes("tint", &bytes[208..]).unwrap();
    assert_same(&code, &mixed, &by_slot, "bytes");
}

#[test]
fn elements_and_members_have_paths() {
    let code = compile("dxbc/vs_skin/VS.vs_5_0.fxc101.dxbc");
    let bone = |n: usize| -> [[f32; 3]; 4] { std::array::from_fn(|r| std::array::from_fn(|c| (n + 3 * r + c) as f32)) };
    let bones: Vec<_> = (0..32).map(bone).collect();
    let mut bytes = vec![0; 1536];
    for (n, (r, c)) in (0..32).flat_map(|n| (0..12).map(move |i| (n, (i / 3, i % 3)))) {
        bytes[48 * n + 16 * c + 4 * r..][..4].copy_from_slice(&bone(n)[r][c].to_le_bytes());
    }
    let calls = || [code.call(), code.call(), code.call()];
    let [mut whole, mut single, mut by_slot] = calls();
    whole.set("bone", &bones[..]).unwrap();
    for (n, bone) in bones.iter().enumerate() {
        single.set(&format!("bone[{n}]"), bone).unwrap();
    }
    let slot = code.interface().uniforms.iter().find(|decl| decl.name.as_deref() == Some("Bones")).unwrap();
    let shaderjit::UniformKind::ConstantBuffer { slot, .. } = slot.kind else { panic!("it is a constant buffer") };
    by_slot.constant_buffer(slot, &bytes).unwrap();
    for call in [&mut whole, &mut single, &mut by_slot] {
        call.set("vp", [[1.0f32, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
            .unwrap();
    }
    assert_same(&code, &whole, &by_slot, "whole array");
    assert_same(&code, &single, &by_slot, "element by element");

    let options = (0..4).fold(CompileOptions::default(), |options, slot| options.class(slot, "sun", 0));
    let pixels = shader("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc");
    let code = Engine::new(Config::default()).unwrap().compile(&pixels, &options.class(4, "flatM", 0)).unwrap();
    let mut call = code.call();
    call.set("lamps[2].range", 3.0f32).unwrap().set("sun.dir", [1.0f32, 2.0, 3.0]).unwrap();
    call.set_bytes("lamps[1]", &[7; 28]).unwrap().set_bytes("lamps", &[8; 92]).unwrap();
    assert_eq!(
        error(&mut call, "lamps[3].range", 1.0f32),
        "the shader has no variable lamps[3].range; it has sun, lamps, flatM, texM"
    );
    assert!(error(&mut call, "lamps.range", 1.0f32).contains("no variable lamps.range"));
    assert!(error(&mut call, "sun.size", 1.0f32).contains("no variable sun.size"));
    assert_eq!(error(&mut call, "sun", 1.0f32), "variable sun is struct Sun, f32 is given");
    assert_eq!(
        call.set_bytes("lamps[1]", &[0; 32]).map(drop).unwrap_err().to_string(),
        "variable lamps[1] is struct Lamp of 28 bytes, 32 bytes is given"
    );
}

#[test]
fn types_and_names_are_checked() {
    let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let mut call = code.call();
    assert_eq!(
        error(&mut call, "viewProjection", 1.0f32),
        "the shader has no variable viewProjection; it has world, viewProj, texMat, sunDir, ambient, tint"
    );
    assert_eq!(error(&mut call, "ambient", 1), "variable ambient is float, i32 is given");
    assert_eq!(error(&mut call, "sunDir", [1.0f32; 4]), "variable sunDir is float3, f32[4] is given");
    assert_eq!(
        error(&mut call, "texMat", [[1.0f32; 4]; 3]),
        "variable texMat is row_major float4x3, f32[3][4] is given"
    );
    assert_eq!(error(&mut call, "tint", Vec::<f32>::new()), "variable tint is float4, f32[0] is given");
    for name in ["", ".", "[", "world[", "world[0]", "world.", "Frame", "Frame.", "Frame.fog", "world[99999999999]"] {
        let found = call.set(name, 1.0f32).map(drop);
        assert!(matches!(found, Err(CallError::UnknownBinding { .. })), "{name:?}: {found:?}");
    }
    // A shader without names has none.
    let words = Shader::from_pica_words(&[0x8800_0000], &[], 0);
    let code = Engine::new(Config::default()).unwrap().compile(&words, &CompileOptions::default()).unwrap();
    assert_eq!(error(&mut code.call(), "mvp", 1.0f32), "the shader has no variable mvp");
}

#[test]
fn registers_of_the_3ds_have_the_names_of_their_symbols() {
    let code = compile("pica/t01_transform.shbin");
    let rows = [[1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]];
    let [mut named, mut by_slot] = [code.call(), code.call()];
    named.set("mvp", rows).unwrap();
    by_slot.pica_floats(&rows).unwrap();
    assert_same(&code, &named, &by_slot, "t01");
    named.set("mvp[1]", [0.0f32; 4]).unwrap();
    by_slot.pica_floats(&[rows[0], [0.0; 4], rows[2], rows[3]]).unwrap();
    assert_same(&code, &named, &by_slot, "t01, row 1");
}

#[test]
fn integer_and_bool_registers_of_the_3ds_have_names() {
    let code = compile("pica/t17_loop_simple.shbin");
    let rows: Vec<[f32; 4]> = (0..96).map(|n| [n as f32, 1.0, 2.0, 0.5]).collect();
    let [mut named, mut by_slot] = [code.call(), code.call()];
    named.pica_floats(&rows).unwrap().set("n", [3u32, 0, 1, 0]).unwrap();
    by_slot.pica_floats(&rows).unwrap().pica_ints(&[[3, 0, 1, 0]]).unwrap();
    assert_same(&code, &named, &by_slot, "t17");
    assert_eq!(error(&mut named, "n", [3i32, 0, 1, 0]), "variable n is uint4, i32[4] is given");

    let code = compile("pica/t28_end_inside_if.shbin");
    let outputs = [false, true].map(|q| {
        let [mut named, mut by_slot] = [code.call(), code.call()];
        named.set("q", !q).unwrap().set("q", q).unwrap();
        by_slot.pica_bools(u16::from(q)).unwrap();
        assert_same(&code, &named, &by_slot, "t28");
        named.set("q", !q).unwrap().set_bytes("q", &u32::from(q).to_le_bytes()).unwrap();
        assert_same(&code, &named, &by_slot, "t28 by bytes");
        let vertex: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
        named.input("v0", 0, VertexBufferView::f32x4(&vertex, 16)).unwrap();
        named.run(0..1).unwrap().bytes().to_vec()
    });
    assert_ne!(outputs[0], outputs[1]);
}

#[test]
fn textures_samplers_and_buffers_have_names() {
    let code = compile("dxbc/vs_texfetch/VS.vs_5_0.fxc101.dxbc");
    let interface = code.interface();
    let texture = interface.resources.iter().find(|decl| matches!(decl.kind, shaderjit::ResourceKind::Texture { .. }));
    let texture = texture.unwrap();
    let name = texture.name.clone().unwrap();
    let mut call = code.call();
    let unknown = call.buffer_named("bones", BufferView::raw(&[])).map(drop).unwrap_err().to_string();
    assert!(unknown.starts_with("the shader has no resource bones; it has ") && unknown.contains(&name), "{unknown}");
    let wrong = call.buffer_named(&name, BufferView::raw(&[])).map(drop).unwrap_err();
    assert!(matches!(wrong, CallError::ResourceMismatch { .. }), "{wrong}");
    let sampler = interface.samplers.first().map(|decl| decl.name.clone().unwrap());
    if let Some(sampler) = sampler {
        call.sampler_named(&sampler, SamplerState::point()).unwrap();
    }
    let texels: Vec<u8> = (0..64).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let image = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba32Float, 2, 2), &texels[..]).unwrap();
    let [mut named, mut by_slot] = [code.call(), code.call()];
    named
        .texture_named("t0", &image)
        .unwrap()
        .buffer_named("t1", BufferView::typed(&texels, TexelFormat::Rgba32Uint))
        .unwrap();
    by_slot.texture(0, &image).unwrap().buffer(1, BufferView::typed(&texels, TexelFormat::Rgba32Uint)).unwrap();
    assert_same(&code, &named, &by_slot, "vs_texfetch");
    let unknown = call.sampler_named("nothing", SamplerState::point()).map(drop).unwrap_err().to_string();
    assert!(unknown.starts_with("the shader has no sampler nothing"), "{unknown}");
}

#[test]
fn a_constant_buffer_that_is_too_short_is_an_error_unless_asked() {
    let code = compile("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
    let index = code.interface().uniforms.iter().position(|decl| decl.name.as_deref() == Some("Frame")).unwrap();
    assert_eq!(code.reads_bytes(index), 224);
    let vertices = [0; 64];
    let mut call = code.call();
    for element in 0..4 {
        call.input_element(element, VertexBufferView::f32x4(&vertices, 0)).unwrap();
    }
    call.constant_buffer(0, &[0; 223]).unwrap();
    let short = CallError::ShortBuffer { what: "constant buffer cb0".to_string(), needed: 224, available: 223 };
    assert_eq!((call.run(0..1).map(drop), call.interpret(0..1).map(drop)), (Err(short.clone()), Err(short)));
    assert!(call.clone().unbound_as_zero(true).run(0..1).is_ok());
    assert!(call.constant_buffer(0, &[0; 224]).unwrap().run(0..1).is_ok());
    // What was set by name is all there.
    let mut call = call.clone();
    call.constant_buffer(0, &[]).unwrap().set("ambient", 1.0f32).unwrap();
    assert!(call.run(0..1).is_err(), "the rest of the buffer that was bound is still missing");
}

#[test]
fn formats_are_compiled_for_ahead() {
    let engine = Engine::new(Config::default()).unwrap();
    let code = engine.compile(&shader("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"), &CompileOptions::default()).unwrap();
    code.prepare(&[("COLOR", 0, VertexFormat::Unorm8x4), ("normal", 0, VertexFormat::F16x4)]).unwrap();
    let before = engine.cache_stats().compiles;
    let bytes = [0; 64];
    let mut call = code.call();
    call.unbound_as_zero(true).input("COLOR", 0, VertexBufferView::unorm8x4(&bytes, 4)).unwrap();
    call.input("NORMAL", 0, VertexBufferView::f16x4(&bytes, 8)).unwrap();
    call.input("POSITION", 0, VertexBufferView::f32x3(&bytes, 12)).unwrap();
    call.input("TEXCOORD", 0, VertexBufferView::f32x2(&bytes, 8)).unwrap();
    call.run(0..3).unwrap();
    assert_eq!(engine.cache_stats().compiles, before, "nothing was left to compile");
    assert!(code.prepare(&[("FOG", 7, VertexFormat::F32x1)]).is_err());
}

#[test]
fn outputs_are_compared_with_a_tolerance() {
    let code = compile("pica/t01_transform.shbin");
    let mut call = code.call();
    call.unbound_as_zero(true)
        .set("mvp", [[1.0f32, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0; 4], [0.0, 0.0, 0.0, 1.0]])
        .unwrap();
    let positions: Vec<u8> =
        [[1.0f32, 2.0, 0.0, 1.0], [3.0, 4.0, 0.0, 1.0]].iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    call.input("v0", 0, VertexBufferView::f32x4(&positions, 16)).unwrap();
    let outputs = call.run(0..2).unwrap();
    outputs.assert_close("o0", 0, &[[1.0, 2.0], [3.0, 4.0]], Tolerance::default());
    let view = outputs.output("o0", 0).unwrap();
    let expected = [[1.0, 2.0, 0.0, 1.0], [3.0, 4.0, 0.5, 1.0]];
    let far = view.first_far(&expected, Tolerance::ulp(16)).unwrap();
    assert_eq!((far.vertex, far.component, far.actual, far.expected), (1, 2, 0.0, 0.5));
    assert!(far.to_string().starts_with("vertex 1 o0.z is 0 and should be 0.5: "), "{far}");
    assert_eq!(view.first_far(&expected, Tolerance::absolute(0.5)), None);
    let message = |run: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let text = message(&|| outputs.assert_close("o0", 0, &expected, Tolerance::ulp(1)));
    assert!(text.starts_with("vertex 1 o0.z is 0 and should be 0.5"), "{text}");
    let text = message(&|| outputs.assert_close("fog", 0, &expected, Tolerance::ulp(1)));
    assert!(text.starts_with("there is no output fog[0]; there are o0"), "{text}");
}

/// Variables that a hostile container places past what a buffer can hold are not there, and cost no memory.
#[test]
fn variables_out_of_reach_are_unknown() {
    let mut bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"))
            .unwrap();
    let record: Vec<u8> = [204u32, 4].into_iter().flat_map(u32::to_le_bytes).collect();
    let at = bytes.windows(8).position(|window| window == record).expect("`ambient` lies at 204 and has 4 bytes");
    bytes[at..at + 4].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    let engine = Engine::new(Config::default()).unwrap();
    let code = engine.compile(&Shader::parse(&bytes).unwrap(), &CompileOptions::default()).unwrap();
    let mut call = code.call();
    assert_eq!(
        error(&mut call, "ambient", 1.0f32),
        "the shader has no variable ambient; it has world, viewProj, texMat, sunDir, tint"
    );
    call.set("tint", [1.0f32; 4]).unwrap();
}
