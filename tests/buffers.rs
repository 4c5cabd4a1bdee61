//! Buffers as a caller binds them: kinds, formats, ends, and what is not bound, on both engines.

#[path = "support/buffers.rs"]
mod support;

use shaderjit::error::CallError;
use shaderjit::{
    BufferView, Call, CompileOptions, CompiledShader, Config, Engine, Lanes, Outputs, Shader, TexelFormat,
};
use shaderjit::{ComponentType, ResourceKind};
use std::sync::Arc;
use support::{OUTPUTS, container};

const VERTICES: u32 = 11;

fn codes() -> [Arc<CompiledShader>; 3] {
    let engine = Engine::new(Config::default()).unwrap();
    let shader = Shader::parse(&container()).unwrap();
    Lanes::ALL.map(|lanes| engine.compile(&shader, &CompileOptions::default().lanes(lanes)).unwrap())
}

/// Bytes of which no four are alike.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 37 + at / 256 + 1) as u8).collect()
}

/// Four bytes, zero unless all are there.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_le_bytes(word.try_into().unwrap()))
}

/// Runs on both engines, which must agree.
fn run(call: &Call<'_>) -> Outputs {
    let (native, interpreted) = (call.run(0..VERTICES).unwrap(), call.interpret(0..VERTICES).unwrap());
    assert_eq!(native.first_difference(&interpreted), None);
    native
}

fn output(outputs: &Outputs, index: usize) -> Vec<[u32; 4]> {
    outputs.output(OUTPUTS[index], 0).unwrap().iter().collect()
}

#[test]
fn the_interface_lists_them() {
    let [code, ..] = codes();
    let found: Vec<_> = code.interface().resources.iter().map(|decl| (decl.slot, decl.space, decl.kind)).collect();
    let typed = ResourceKind::TypedBuffer { ty: ComponentType::F32, components: 4 };
    let structured = ResourceKind::StructuredBuffer { stride: 12 };
    assert_eq!(found, [(0, 0, ResourceKind::RawBuffer), (1, 0, structured), (2, 0, typed)]);
    assert!((0..3).all(|index| code.needs_resource(index)) && !code.needs_resource(3));
}

#[test]
fn loads_end_where_the_buffers_end() {
    let bytes = pattern(256);
    for code in codes() {
        for len in (0..40).chain([100, 200]) {
            // Wherever they begin.
            let bytes = &bytes[len % 5..][..len];
            let mut call = code.call();
            call.buffer(0, BufferView::raw(bytes)).unwrap();
            call.buffer(1, BufferView::structured(bytes, 12)).unwrap();
            call.buffer(2, BufferView::typed(bytes, TexelFormat::Rg32Uint)).unwrap();
            let outputs = run(&call);
            let structures = &bytes[..len / 12 * 12];
            for vertex in 0..VERTICES as usize {
                let raw = [0, 4, 8, 12].map(|at| word(bytes, 2 * vertex / 4 * 4 + at));
                assert_eq!(output(&outputs, 0)[vertex], raw, "{len} bytes, vertex {vertex}");
                // The structure ends after two more words.
                let [first, second] = [4, 8].map(|at| word(structures, 12 * vertex + at));
                assert_eq!(output(&outputs, 1)[vertex], [first, second, 0, 0], "{len} bytes, vertex {vertex}");
                let exists = (vertex + 1) * 8 <= len;
                let [first, second] = [0, 4].map(|at| if exists { word(bytes, 8 * vertex + at) } else { 0 });
                assert_eq!(output(&outputs, 2)[vertex], [first, second, 0, 1], "{len} bytes, vertex {vertex}");
                assert_eq!(output(&outputs, 3)[vertex], [len, len / 12, len / 8, 0].map(|size| size as u32));
            }
        }
    }
}

#[test]
fn every_format_reads_as_its_definition_says() {
    let bytes = pattern(16 * VERTICES as usize);
    for code in codes() {
        for &format in TexelFormat::ALL {
            let mut call = code.call();
            call.unbound_as_zero(true).buffer(2, BufferView::typed(&bytes[..5 * format.bytes()], format)).unwrap();
            let found = output(&run(&call), 2);
            for (vertex, &found) in found.iter().enumerate() {
                let stored: &[u8] = if vertex < 5 { &bytes[vertex * format.bytes()..] } else { &[] };
                assert_eq!(found, format.decode(stored), "{} {vertex}", format.name());
            }
        }
    }
}

#[test]
fn what_is_not_bound_is_an_error_or_nothing() {
    let bytes = [0xff; 64];
    for code in codes() {
        let mut call = code.call();
        let missing = |what: &str| Err(CallError::MissingBinding { what: what.to_string() });
        assert_eq!(call.run(0..1).map(drop), missing("resource t0"));
        call.buffer(0, BufferView::raw(&bytes)).unwrap();
        assert_eq!(call.run(0..1).map(drop), missing("resource t1"));
        call.buffer(1, BufferView::structured(&bytes, 12)).unwrap();
        assert_eq!(call.run(0..1).map(drop), missing("resource t2"));
        assert_eq!(call.interpret(0..1).map(drop), missing("resource t2"));
        // Not even the components that a format lacks have a value.
        let mut call = code.call();
        let outputs = run(call.unbound_as_zero(true));
        assert!(outputs.bytes().iter().all(|&byte| byte == 0));
        // An empty buffer has.
        call.buffer(2, BufferView::typed(&[], TexelFormat::R32Float)).unwrap();
        assert_eq!(output(&run(&call), 2), [[0, 0, 0, 1.0f32.to_bits()]; VERTICES as usize]);
    }
}

#[test]
fn kinds_and_strides_must_be_the_declared_ones() {
    let [code, ..] = codes();
    let bytes = [0; 64];
    let mut call = code.call();
    let mismatch = |slot: u32, declared: &str, bound: &str| {
        let (declared, bound) = (declared.to_string(), bound.to_string());
        Err(CallError::ResourceMismatch { what: format!("resource t{slot}"), declared, bound })
    };
    let structures = "buffer of structures of 12 bytes";
    let wrong = call.buffer(1, BufferView::structured(&bytes, 16)).map(drop);
    assert_eq!(wrong, mismatch(1, structures, "buffer of structures of 16 bytes"));
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "resource t1 is a buffer of structures of 12 bytes to the shader, a buffer of structures of 16 bytes is bound"
    );
    let wrong = call.buffer(1, BufferView::structured(&bytes, 0)).map(drop);
    assert_eq!(wrong, mismatch(1, structures, "buffer of structures of 0 bytes"));
    assert_eq!(call.buffer(1, BufferView::raw(&bytes)).map(drop), mismatch(1, structures, "raw buffer"));
    let wrong = call.buffer(0, BufferView::typed(&bytes, TexelFormat::Rgba8Unorm)).map(drop);
    assert_eq!(wrong, mismatch(0, "raw buffer", "typed buffer of rgba8"));
    let wrong = call.buffer(2, BufferView::structured(&bytes, 12)).map(drop);
    assert_eq!(wrong, mismatch(2, "typed buffer", structures));

    let unknown = |what: &str, known: &[&str]| {
        Err(CallError::UnknownBinding {
            what: what.to_string(),
            known: known.iter().map(|&name| name.into()).collect(),
        })
    };
    assert_eq!(
        call.buffer(3, BufferView::raw(&bytes)).map(drop),
        unknown("resource t3", &["resource t0", "resource t1", "resource t2"])
    );
    assert_eq!(
        call.buffer_in_space(0, 1, BufferView::raw(&bytes)).map(drop),
        unknown("resource t0 of space 1", &["resource t0", "resource t1", "resource t2"])
    );
}

#[test]
fn what_is_bound_again_replaces_what_was() {
    let [code, ..] = codes();
    let (first, second) = ([1; 32], [2; 32]);
    let mut call = code.call();
    call.unbound_as_zero(true).buffer(0, BufferView::raw(&first)).unwrap();
    let copy = call.clone();
    call.buffer(0, BufferView::raw(&second)).unwrap();
    assert_eq!(output(&run(&call), 0)[0], [0x0202_0202; 4]);
    assert_eq!(output(&run(&copy), 0)[0], [0x0101_0101; 4]);
}
