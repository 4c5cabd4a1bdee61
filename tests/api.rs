//! The public face: bindings and their errors, the cache, both engines behind one call.

use shaderjit::VertexFormat;
use shaderjit::container::digest::Signing;
use shaderjit::container::dxbc::{Builder, Dxbc, FourCc};
use shaderjit::error::{CallError, LowerError};
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, ComponentType, Config, Engine, Error, Image, ImageLayout, Lanes,
    OutputLayout, PicaUniforms, Place, SamplerState, Shader, Stage, TexelFormat, VertexBufferView,
};
use std::sync::{Arc, Barrier};

fn data(path: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn shader(path: &str) -> Shader {
    Shader::parse(&data(path)).unwrap()
}

fn engine() -> Engine {
    Engine::new(Config::default()).unwrap()
}

const TRANSFORM: &str = "dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc";

fn transform() -> Arc<CompiledShader> {
    engine().compile(&shader(TRANSFORM), &CompileOptions::default()).unwrap()
}

/// 16 bytes an element, in signature order.
fn bind<'a>(call: &mut Call<'a>, code: &'a CompiledShader, vertices: &'a [u8]) {
    let count = code.interface().signature_inputs().len();
    for (element, &format) in code.layout().inputs.iter().enumerate().take(count) {
        call.input_element(element, VertexBufferView::new(format, &vertices[16 * element..], 16 * count)).unwrap();
    }
}

#[test]
fn what_is_not_bound_is_named() {
    let (code, vertices) = (transform(), data("dxbc/vs_transform/in.r0.0.bin"));
    let mut call = code.call();
    let missing = |what: &str| Err(CallError::MissingBinding { what: what.to_string() });
    assert_eq!(call.run(0..1).map(drop), missing("constant buffer cb0"));
    call.constant_buffer(0, &data("dxbc/vs_transform/in.r0.1.bin")).unwrap();
    assert_eq!(call.run(0..1).map(drop), missing("input POSITION0"));
    assert_eq!(call.interpret(0..1).map(drop), missing("input POSITION0"));
    bind(&mut call, &code, &vertices);
    assert_eq!(call.run(0..1).map(drop), Ok(()));
}

#[test]
fn what_is_not_bound_reads_zero_if_asked_to() {
    let code = transform();
    let mut call = code.call();
    let outputs = call.unbound_as_zero(true).run(0..5).unwrap();
    assert_eq!(outputs.first_difference(&call.interpret(0..5).unwrap()), None);
    // Zeros bound by hand give the same.
    let mut bound = code.call();
    let zeros = [0; 4096];
    bound.constant_buffer(0, &zeros).unwrap();
    bind(&mut bound, &code, &zeros);
    assert_eq!(bound.run(0..5).unwrap().bytes(), outputs.bytes());
}

#[test]
fn names_the_shader_does_not_have_are_errors() {
    let code = transform();
    let mut call = code.call();
    let unknown = |what: &str, known: &[&str]| {
        Err(CallError::UnknownBinding {
            what: what.to_string(),
            known: known.iter().map(|&name| name.into()).collect(),
        })
    };
    let (inputs, buffers) = (&["POSITION[0]", "NORMAL[0]", "TEXCOORD[0]", "COLOR[0]"], &["constant buffer cb0"]);
    assert_eq!(
        call.input("POSITION", 1, VertexBufferView::f32x3(&[], 12)).map(drop),
        unknown("input POSITION[1]", inputs)
    );
    assert_eq!(call.input_element(99, VertexBufferView::f32x3(&[], 12)).map(drop), unknown("input element 99", inputs));
    assert_eq!(call.constant_buffer(13, &[]).map(drop), unknown("constant buffer cb13", buffers));
    assert_eq!(call.constant_buffer_in_space(0, 2, &[]).map(drop), unknown("constant buffer cb0 of space 2", buffers));
    assert_eq!(call.pica_bools(1).map(drop), unknown("file of bool uniforms b0..b15", buffers));
    assert_eq!(call.input("position", 0, VertexBufferView::f32x3(&[], 12)).map(drop), Ok(()), "case does not matter");

    let outputs = &["SV_Position[0]", "NORMAL[0]", "TEXCOORD[0]", "FOG[0]", "COLOR[0]"];
    for element in [5, 99, usize::MAX] {
        let layout = OutputLayout::none(&code).with(element, Place { offset: 0, stride: 16 });
        assert_eq!(call.run_into(0..0, &layout, &mut []), unknown(&format!("output element {element}"), outputs));
    }
    for options in [
        CompileOptions::default().format("NOTHING", 0, VertexFormat::F32x1),
        CompileOptions::default().outputs(&[("NOTHING", 0)]),
    ] {
        let error = engine().compile(&shader(TRANSFORM), &options).err();
        assert!(matches!(error, Some(Error::Call(CallError::UnknownBinding { .. }))), "{error:?}");
    }
    let error = engine().compile(&shader(TRANSFORM), &CompileOptions::default().entry(1)).err();
    assert_eq!(error, Some(Error::UnknownEntry { entry: 1, count: 1 }));
}

#[test]
fn short_buffers_are_errors_before_anything_runs() {
    let code = transform();
    let vertices = [0; 100];
    let mut call = code.call();
    call.unbound_as_zero(true).input("POSITION", 0, VertexBufferView::f32x3(&vertices, 20)).unwrap();
    let short =
        |what: &str, needed, available| Err(CallError::ShortBuffer { what: what.to_string(), needed, available });
    assert!(call.run(0..5).is_ok());
    assert!(call.run(4..5).is_ok());
    assert!(call.run(7..7).is_ok(), "no vertices need no bytes");
    assert_eq!(call.run(0..6).map(drop), short("input POSITION0", 112, 100));
    assert!(call.run(u32::MAX - 1..u32::MAX).is_err());

    let position = code.output("SV_Position", 0).unwrap();
    let layout = OutputLayout::none(&code).with(position, Place { offset: 8, stride: 20 });
    let mut bytes = vec![0xaa; 8 + 3 * 20 + 16];
    assert_eq!(call.run_into(0..4, &layout, &mut bytes), Ok(()));
    assert_eq!(
        call.run_into(0..5, &layout, &mut bytes),
        short("the buffer of output SV_Position0", 8 + 4 * 20 + 16, 84)
    );
    let overlapping = OutputLayout::none(&code).with(position, Place { offset: 0, stride: 12 });
    assert!(matches!(call.run_into(0..2, &overlapping, &mut bytes), Err(CallError::Invalid(_))));
    let far = OutputLayout::none(&code).with(position, Place { offset: usize::MAX, stride: usize::MAX });
    assert!(matches!(call.run_into(0..2, &far, &mut bytes), Err(CallError::ShortBuffer { .. })));
    #[expect(clippy::reversed_empty_ranges)]
    let reversed = 2..1;
    assert!(matches!(call.run(reversed), Err(CallError::Invalid(_))));
}

#[test]
fn only_the_bytes_of_placed_outputs_are_written() {
    let (code, vertices) = (transform(), data("dxbc/vs_transform/in.r0.0.bin"));
    let mut call = code.call();
    call.constant_buffer(0, &data("dxbc/vs_transform/in.r0.1.bin")).unwrap();
    bind(&mut call, &code, &vertices);
    let all = call.run(0..6).unwrap();
    let position = code.output("SV_Position", 0).unwrap();
    let layout = OutputLayout::none(&code).with(position, Place { offset: 4, stride: 24 });
    let mut bytes = [0xaa; 6 * 24];
    call.run_into(0..6, &layout, &mut bytes).unwrap();
    for (vertex, bytes) in bytes.chunks(24).enumerate() {
        let wanted = all.output("SV_Position", 0).unwrap().bits(vertex).unwrap();
        let stored: Vec<u32> = bytes[4..20].as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        assert_eq!(stored, wanted);
        assert!(bytes[..4].iter().chain(&bytes[20..]).all(|&byte| byte == 0xaa));
    }
}

#[test]
fn ranges_give_what_the_whole_gives() {
    let (code, vertices) = (transform(), data("dxbc/vs_transform/in.r0.0.bin"));
    let mut call = code.call();
    call.constant_buffer(0, &data("dxbc/vs_transform/in.r0.1.bin")).unwrap();
    bind(&mut call, &code, &vertices);
    let whole = call.run(0..6).unwrap();
    let stride = whole.stride();
    let call = &call;
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..6).map(|start| scope.spawn(move || (start, call.run(start..6).unwrap()))).collect();
        for part in parts {
            let (start, outputs) = part.join().unwrap();
            assert_eq!(outputs.bytes(), &whole.bytes()[start as usize * stride..]);
            assert_eq!(outputs.count(), 6 - start as usize);
        }
    });
}

#[test]
fn integers_and_floats_are_not_bound_for_each_other() {
    // POSITION is a float, U of this one an integer.
    let bind = |code: &CompiledShader, semantic: &str, format: VertexFormat, reinterpret: bool| {
        let mut call = code.call();
        call.reinterpret_inputs(reinterpret);
        call.input(semantic, 0, VertexBufferView::new(format, &[], 0)).map(drop)
    };
    let texels =
        engine().compile(&shader("dxbc/vs_texfetch/VS.vs_5_0.fxc101.dxbc"), &CompileOptions::default()).unwrap();
    for (code, semantic, is_integer) in [(&transform(), "POSITION", false), (&texels, "X", false), (&texels, "U", true)]
    {
        let declared = code.interface().inputs[code.input(semantic, 0).unwrap()].ty;
        assert_eq!(declared != ComponentType::F32, is_integer);
        for &bound in VertexFormat::ALL {
            let name = bound.name();
            let fits = is_integer == ["u32", "i32", "uint", "sint"].iter().any(|family| name.starts_with(family));
            let what = format!("input {semantic}[0]");
            let mismatch = Err(CallError::FormatMismatch { what, declared, bound });
            assert_eq!(bind(code, semantic, bound, false), if fits { Ok(()) } else { mismatch }, "{name}");
            assert_eq!(bind(code, semantic, bound, true), Ok(()), "{name}");
        }
    }
    let error = bind(&texels, "X", VertexFormat::U32x4, false).unwrap_err();
    assert_eq!(error.to_string(), "input X[0] is float to the shader, u32x4 is bound");
}

#[test]
fn a_call_may_bind_any_format() {
    let engine = engine();
    let code = engine.compile(&shader(TRANSFORM), &CompileOptions::default()).unwrap();
    let before = engine.cache_stats().compiles;
    let bytes: Vec<u8> = (0..9 * 16u32).map(|byte| (byte * 37 % 251) as u8).collect();
    let constants = data("dxbc/vs_transform/in.r0.1.bin");
    for round in 0..2 {
        for &format in VertexFormat::ALL {
            let mut call = code.call();
            call.unbound_as_zero(true).reinterpret_inputs(true).constant_buffer(0, &constants).unwrap();
            call.input("POSITION", 0, VertexBufferView::new(format, &bytes, 16)).unwrap();
            let (jit, interpreter) = (call.run(0..9).unwrap(), call.interpret(0..9).unwrap());
            assert_eq!(jit.first_difference(&interpreter), None, "{} {round}", format.name());
        }
    }
    // Each format once, but for the one it was compiled for.
    assert_eq!(engine.cache_stats().compiles - before, VertexFormat::ALL.len() as u64 - 1);

    // Formats of inputs nobody reads do not matter; and without its engine a shader still runs.
    drop(engine);
    let mut call = code.call();
    call.unbound_as_zero(true).input("POSITION", 0, VertexBufferView::unorm8x4(&bytes, 4)).unwrap();
    assert_eq!(call.run(0..9).unwrap().first_difference(&call.interpret(0..9).unwrap()), None);
}

#[test]
fn threads_that_compile_the_same_share_the_work() {
    let (engine, shader, barrier) = (engine(), shader("dxbc/vs_skin/VS.vs_5_0.fxc101.dxbc"), Barrier::new(8));
    let codes: Vec<Arc<CompiledShader>> = std::thread::scope(|scope| {
        let compile = || {
            barrier.wait();
            engine.compile(&shader, &CompileOptions::default()).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(compile)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(codes.iter().all(|code| Arc::ptr_eq(code, &codes[0])));
    // IR and native code.
    assert_eq!(engine.cache_stats().compiles, 2);
}

#[test]
fn options_make_different_code_of_one_ir() {
    let (engine, shader) = (engine(), shader(TRANSFORM));
    let four = CompileOptions::default().lanes(Lanes::Four);
    let one = engine.compile(&shader, &four).unwrap();
    let other = engine.compile(&shader, &CompileOptions::default().lanes(Lanes::Eight)).unwrap();
    let positions = engine.compile(&shader, &four.outputs(&[("SV_Position", 0)])).unwrap();
    assert_eq!([one.lanes().count(), other.lanes().count()], [4, 8]);
    assert!(
        positions.machine_code().unwrap().len() < one.machine_code().unwrap().len(),
        "unstored outputs cost nothing"
    );
    assert_eq!(engine.cache_stats().compiles, 4);
    let interpreted = engine.compile(&shader, &CompileOptions::default().backend(Backend::Interpreter)).unwrap();
    assert_eq!((interpreted.machine_code(), engine.cache_stats().compiles), (None, 4));
}

#[test]
fn the_budget_holds_and_what_it_evicts_is_freed() {
    let files = ["vs_bits", "vs_intops", "vs_ret", "vs_skin", "vs_switch", "vs_transform"];
    let shaders = files.map(|name| shader(&format!("dxbc/{name}/VS.vs_5_0.fxc101.dxbc")));
    let engine = Engine::new(Config::default().cache_bytes(64 << 10)).unwrap();
    let mut made = Vec::new();
    for _ in 0..3 {
        for shader in &shaders {
            made.push(Arc::downgrade(&engine.compile(shader, &CompileOptions::default()).unwrap()));
            let stats = engine.cache_stats();
            assert!(stats.bytes <= stats.budget, "{stats:?}");
        }
    }
    assert!(made.iter().any(|code| code.upgrade().is_none()), "{:?}", engine.cache_stats());
    let held = engine.compile(&shaders[0], &CompileOptions::default()).unwrap();
    engine.clear_cache();
    assert_eq!(engine.cache_stats().entries, 0);
    drop(engine);
    assert!(held.call().unbound_as_zero(true).run(0..3).is_ok(), "what is held runs on");
    drop(held);
    assert!(made.iter().all(|code| code.upgrade().is_none()));
}

#[test]
fn digests_find_shaders_but_do_not_identify_them() {
    let engine = engine();
    let bytes = data(TRANSFORM);
    let mut unsigned = bytes.clone();
    unsigned[4..20].fill(0);
    let signed = Shader::parse(&bytes).unwrap();
    let unsigned = Shader::parse(&unsigned).unwrap();
    let codes = [&signed, &unsigned].map(|shader| engine.compile(shader, &CompileOptions::default()).unwrap());
    assert!(!Arc::ptr_eq(&codes[0], &codes[1]));
    let found = engine.find_by_digest(signed.digest().unwrap().0);
    assert!(found.len() == 1 && Arc::ptr_eq(&found[0], &codes[0]));
}

#[test]
fn endless_loops_run_out_of_fuel_on_both_engines() {
    // while (1): loop 0..255 times for each of 4 nested levels would end; a jump backwards does not.
    let shader = Shader::from_pica_words(&JUMP_TO_ITSELF, &[], 0);
    let engine = Engine::new(Config::default().fuel(1000)).unwrap();
    for lanes in [Lanes::Four, Lanes::Eight] {
        let code = engine.compile(&shader, &CompileOptions::default().lanes(lanes)).unwrap();
        let mut call = code.call();
        call.unbound_as_zero(true);
        let out_of_fuel = Err(CallError::OutOfFuel { fuel: 1000 });
        assert_eq!(call.run(0..3).map(drop), out_of_fuel);
        assert_eq!(call.interpret(0..3).map(drop), out_of_fuel);
        assert_eq!(call.run(0..0).map(drop), Ok(()));
    }
}

/// `jmpu !b0, 0; end`: with b0 unset it jumps to itself (opcode 0x2d; num bit 0 inverts).
const JUMP_TO_ITSELF: [u32; 2] = [0x2d << 26 | 1, 0x22 << 26];

#[test]
fn raw_pica_words_run_as_their_container_does() {
    let file = shader("pica/t01_transform.shbin");
    let Some(shaderjit::container::Container::Shbin(shbin)) = file.container() else { panic!("it is a SHBIN") };
    let (dvlp, dvle) = (shbin.dvlp().unwrap(), shbin.dvle(0).unwrap().unwrap());
    let raw = Shader::from_pica_words(&dvlp.code, &dvlp.descriptors, dvle.main);

    let vertices = data("pica/inputs/normal256.bin");
    let uniforms = PicaUniforms::from_bytes(&data("pica/t01_transform.d0.uni.bin")).unwrap();
    let wanted = data("pica/t01_transform.d0.normal256.ref.out");
    for shader in [file, raw] {
        let code = engine().compile(&shader, &CompileOptions::default()).unwrap();
        let mut call = code.call();
        call.pica_uniforms(&uniforms);
        for register in 0..16 {
            call.input(&format!("v{register}"), 0, VertexBufferView::f32x4(&vertices[16 * register..], 256)).unwrap();
        }
        let count = (vertices.len() / 256) as u32;
        for outputs in [call.run(0..count).unwrap(), call.interpret(0..count).unwrap()] {
            assert_eq!((outputs.stride(), outputs.bytes() == wanted), (256, true));
        }
    }
}

#[test]
fn instances_and_vertex_numbers_reach_the_shader() {
    let code = engine().compile(&shader("dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc"), &CompileOptions::default()).unwrap();
    let mut call = code.call();
    call.instance(3).first_vertex_id(10);
    // OUT is (vertex, instance, 1000 * vertex + instance, !vertex).
    for outputs in [call.run(2..7).unwrap(), call.interpret(2..7).unwrap()] {
        let out = outputs.output("OUT", 0).unwrap();
        let wanted = |vertex: u32| [vertex, 3, 1000 * vertex + 3, !vertex];
        assert_eq!(out.iter().collect::<Vec<_>>(), (12..17).map(wanted).collect::<Vec<_>>());
    }
}

#[test]
fn compiled_shaders_and_calls_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Engine>();
    is_send_and_sync::<CompiledShader>();
    is_send_and_sync::<Call<'_>>();
    is_send_and_sync::<Shader>();
}

/// Each stage of a `VBC` is a program, which must have an entry point to run.
#[test]
fn stages_without_entry_points_are_a_typed_error() {
    let mut bytes = b"VBC\x01\x01\x05\0\0\0\0\0\0\0\x05\0".to_vec();
    bytes.extend([0; 10 + 18]);
    (0..2)
        .for_each(|_| bytes.extend([0x0723_0203u32, 0x0001_0500, 0, 1, 0].iter().flat_map(|word| word.to_le_bytes())));
    let shader = Shader::parse(&bytes).unwrap();
    assert_eq!((shader.format().name(), shader.format().is_pica(), shader.entry_count()), ("VBC", false, 2));
    assert_eq!((shader.entry(1).unwrap().name.as_str(), shader.entry(1).unwrap().stage), ("frag", Stage::Pixel));
    let what = "no entry point is one of stage vert".to_string();
    let invalid = Err(LowerError::Invalid { what, offset: 43 }.into());
    assert_eq!(shader.interface(&CompileOptions::default().entry(0)).map(drop), invalid);
    assert!(shader.disassemble(1, Default::default()).unwrap().contains("; Version: 1.5"));
    assert_eq!(
        shader.interface(&CompileOptions::default().entry(2)).map(drop),
        Err(Error::UnknownEntry { entry: 2, count: 2 })
    );
}

#[test]
fn pixels_are_shaded_and_discarded() {
    let shader = shader("dxbc/ps_discard/PS.ps_5_0.fxc101.dxbc");
    assert_eq!(shader.entry(0).unwrap().stage, Stage::Pixel);
    // SV_Position and TEXCOORD of a row of pixels; those whose x is 3 modulo 4 are discarded, for y is 0.
    let rows = (0..11u16).map(f32::from).flat_map(|x| [x + 0.5, 0.5, 0.0, 1.0, 0.5, x / 16.0, 0.0, 0.0]);
    let pixels: Vec<u8> = rows.flat_map(f32::to_le_bytes).collect();
    let discards = |x: usize| x % 4 == 3 || (x as f32 / 16.0 - 0.5).abs() > 0.6;
    for lanes in [Lanes::Four, Lanes::Eight] {
        for backend in [Backend::Jit, Backend::Interpreter] {
            let options = CompileOptions::default().lanes(lanes).backend(backend);
            let code = engine().compile(&shader, &options).unwrap();
            let mut call = code.call();
            call.input("SV_Position", 0, VertexBufferView::f32x4(&pixels, 32)).unwrap();
            call.input("TEXCOORD", 0, VertexBufferView::f32x2(&pixels[16..], 32)).unwrap();
            let outputs = call.run(0..11).unwrap();
            assert!(outputs.discarded().eq((0..11).map(discards)));
            let target = outputs.output("SV_Target", 0).unwrap();
            assert_eq!(target.vec4(9), Some([0.0, 0.25, 9.0, 1.0]));
            assert_eq!(outputs.stride(), 20, "a target and whether the pixel is discarded");
            let later = call.run(6..9).unwrap();
            assert!(later.discarded().eq((6..9).map(discards)));

            // Into the caller's buffer: the flag alone, then the target alone.
            let discarded = code.interface().discarded.unwrap();
            let mut flags = vec![0xaa; 4 * 11];
            let layout = OutputLayout::none(&code).with(discarded, Place { offset: 0, stride: 4 });
            call.run_into(0..11, &layout, &mut flags).unwrap();
            assert!(flags.chunks(4).map(|word| word == [1, 0, 0, 0]).eq((0..11).map(discards)));
            let mut targets = vec![0; 16 * 11];
            let layout = OutputLayout::none(&code).with(0, Place { offset: 0, stride: 16 });
            call.run_into(0..11, &layout, &mut targets).unwrap();
            assert_eq!(targets[16 * 9 + 8..][..4], 9f32.to_le_bytes());
        }
    }
    // Vertices are not discarded.
    let code = transform();
    assert!(code.call().unbound_as_zero(true).run(0..3).unwrap().discarded().eq([false; 3]));
}

/// A container's program replaced by a `vs_5_0` program of these tokens.
fn with_tokens(container: &[u8], tokens: &[u32]) -> Shader {
    let dxbc = Dxbc::parse(container).unwrap();
    let length = tokens.len() as u32 + 2;
    let program: Vec<u8> = [&[0x0001_0050, length], tokens].concat().into_iter().flat_map(u32::to_le_bytes).collect();
    let parts = dxbc.parts().iter().filter(|part| part.name != FourCc::SHEX).map(|part| (part.name, part.data));
    let parts = parts.chain([(FourCc::SHEX, program.as_slice())]);
    let builder = parts.fold(Builder::new(), |builder, (name, data)| builder.part(name, data));
    Shader::parse(&builder.build(Signing::Retail).unwrap()).unwrap()
}

#[test]
fn aborted_vertices_are_told_from_others() {
    // if_nz v0.x; abort; endif; mov o0.x, l(7); ret
    let condition = [Opcode::If.number() | 3 << 24 | 1 << 18, 0x0010_100a, 0];
    let store = [Opcode::Mov.number() | 5 << 24, 0x0010_2012, 0, 0x0000_4001, 7];
    let [abort, end_if, ret] = [Opcode::Abort, Opcode::EndIf, Opcode::Ret].map(|opcode| [opcode.number() | 1 << 24]);
    let tokens = [&condition[..], &abort, &end_if, &store, &ret].concat();
    let shader = with_tokens(&data(TRANSFORM), &tokens);
    let vertices: Vec<u8> = (0..13u32).flat_map(|vertex| u32::from(vertex % 5 == 2).to_le_bytes()).collect();
    for lanes in [Lanes::Four, Lanes::Eight] {
        let code = engine().compile(&shader, &CompileOptions::default().lanes(lanes)).unwrap();
        let mut call = code.call();
        call.reinterpret_inputs(true);
        call.input_element(0, VertexBufferView::new(VertexFormat::U32x1, &vertices, 4)).unwrap();
        for outputs in [call.run(0..13).unwrap(), call.interpret(0..13).unwrap()] {
            assert!(outputs.aborted().eq((0..13).map(|vertex| vertex % 5 == 2)));
            assert!(outputs.discarded().eq([false; 13]));
            let stored = outputs.register(0).unwrap().iter().map(|bits| bits[0]);
            assert!(stored.eq((0..13).map(|vertex| if vertex % 5 == 2 { 0 } else { 7 })));
        }
    }
}

/// What `ps_interface.hlsl` computes of its lights for a normal and a position, with rows of its constant buffer.
fn lit(rows: &[[f32; 4]], lights: [usize; 4], normal: [f32; 3], position: [f32; 3]) -> [f32; 3] {
    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let xyz = |row: [f32; 4]| [row[0], row[1], row[2]];
    let mut sum = [0.0; 3];
    for light in lights {
        let (first, colour) = (rows[light], xyz(rows[light + 1]));
        let strength = if light == 0 {
            dot(normal, xyz(first)).clamp(0.0, 1.0)
        } else {
            let way: [f32; 3] = std::array::from_fn(|axis| first[axis] - position[axis]);
            let fade = (1.0 - dot(way, way) / (first[3] * first[3])).clamp(0.0, 1.0);
            dot(normal, way.map(|axis| axis / dot(way, way).sqrt())).clamp(0.0, 1.0) * fade
        };
        sum = std::array::from_fn(|channel| sum[channel] + strength * colour[channel]);
    }
    sum
}

#[test]
fn interfaces_call_the_instances_bound() {
    // sun: 0 and 1; lamps: 2 to 7; flatM: 8; texM: 9.
    let rows: Vec<[f32; 4]> =
        (0..10).map(|row| std::array::from_fn(|column| 0.25 + ((row * 7 + column * 3) % 5) as f32 * 0.5)).collect();
    let constants: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    // SV_Position, NORMAL and TEXCOORD of eleven pixels.
    let pixel = |n: usize| (0..12).map(move |at| ((n * 5 + at * 3) % 7) as f32 * 0.3 - 0.4);
    let pixels: Vec<f32> = (0..11).flat_map(pixel).collect();
    let bytes: Vec<u8> = pixels.iter().flat_map(|value| value.to_le_bytes()).collect();
    fn bind<'a>(code: &'a CompiledShader, constants: &[u8], bytes: &'a [u8]) -> Call<'a> {
        let mut call = code.call();
        call.constant_buffer(0, constants).unwrap();
        for (semantic, at) in [("SV_Position", 0), ("NORMAL", 4), ("TEXCOORD", 8)] {
            call.input(semantic, 0, VertexBufferView::f32x4(&bytes[4 * at..], 48)).unwrap();
        }
        call
    }
    let colour: Vec<u8> = rows[8].iter().flat_map(|channel| channel.to_le_bytes()).collect();
    let colour = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba32Float, 1, 1), colour).unwrap();
    for build in ["fxc101", "fxc101Od"] {
        let shader = shader(&format!("dxbc/ps_interface/PS.ps_5_0.{build}.dxbc"));
        let engine = engine();
        for lamps in [[0, 2, 1], [1, 1, 0]] {
            let lights = [2 + 2 * lamps[0], 0, 2 + 2 * lamps[1], 2 + 2 * lamps[2]];
            let options = |lanes| {
                let [a, b, c] = lamps.map(|lamp| lamp as u32);
                let options = CompileOptions::default().lanes(lanes).class(4, "flatM", 0).class(1, "sun", 0);
                options.class(0, "lamps", a).class(2, "lamps", b).class(3, "lamps", c)
            };
            for lanes in [Lanes::Four, Lanes::Eight] {
                let code = engine.compile(&shader, &options(lanes)).unwrap();
                let call = bind(&code, &constants, &bytes);
                let outputs = call.run(0..11).unwrap();
                assert_eq!(outputs.first_difference(&call.interpret(0..11).unwrap()), None);
                // A class that samples a texture of one colour.
                let code = engine.compile(&shader, &options(lanes).class(4, "texM", 0)).unwrap();
                let mut call = bind(&code, &constants, &bytes);
                call.texture(0, &colour).unwrap().sampler(0, SamplerState::linear()).unwrap();
                let textured = call.run(0..11).unwrap();
                assert_eq!(textured.first_difference(&call.interpret(0..11).unwrap()), None);
                assert_eq!(textured.bytes(), outputs.bytes());
                for (n, pixel) in pixels.chunks(12).enumerate() {
                    let light = lit(&rows, lights, [pixel[4], pixel[5], pixel[6]], [pixel[0], pixel[1], pixel[2]]);
                    let target = outputs.output("SV_Target", 0).unwrap().vec4(n).unwrap();
                    for channel in 0..4 {
                        let expected = light.get(channel).unwrap_or(&1.0) * rows[8][channel];
                        assert!((target[channel] - expected).abs() <= 1e-4, "{build} {n}: {target:?} {light:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn instances_must_exist_and_fit() {
    let shader = shader("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc");
    let bound = |lights: &str| (0..4).fold(CompileOptions::default(), |options, slot| options.class(slot, lights, 0));
    let compile = |options: &CompileOptions| engine().compile(&shader, options).map(drop);
    let unbound =
        |slot| move |error: &Error| matches!(error, Error::Lower(LowerError::Unbound { slot: s, .. }) if *s == slot);
    assert!(compile(&CompileOptions::default()).is_err_and(|error| unbound(0)(&error)));
    assert!(compile(&bound("sun")).is_err_and(|error| unbound(4)(&error)));
    assert_eq!(compile(&bound("sun").class(4, "flatM", 0)), Ok(()));
    assert_eq!(compile(&bound("sun").class(4, "texM", 0)), Ok(()));
    let unknown = |what: &str, known: &[&str]| {
        let known = known.iter().map(|&name| name.into()).collect();
        Err(Error::Call(CallError::UnknownBinding { what: what.to_string(), known }))
    };
    let instances = &["sun", "lamps[0..3]", "flatM", "texM"];
    assert_eq!(compile(&bound("moon")), unknown("class instance moon[0]", instances));
    assert_eq!(compile(&bound("sun").class(3, "lamps", 3)), unknown("class instance lamps[3]", instances));
    assert_eq!(compile(&bound("sun").class(5, "flatM", 0)), unknown("interface slot 5", &[]));
    let misfit = compile(&bound("sun").class(4, "sun", 0));
    assert!(matches!(misfit, Err(Error::Call(CallError::Invalid(what))) if what.contains("slot 4")));
    let none = engine().compile(&self::shader(TRANSFORM), &bound("sun")).map(drop);
    assert_eq!(none, unknown("interfaces", &[]));
}
