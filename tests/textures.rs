//! Textures and samplers as a caller binds them: images, textures of the caller's own, what does not fit and what is
//! not bound, on both engines.

use shaderjit::error::{CallError, TextureError};
use shaderjit::texture::{Texel, TexelKind, TextureInfo};
use shaderjit::{
    AddressMode, Backend, BufferView, Call, CompileOptions, CompiledShader, Config, Engine, Image, ImageLayout, Lanes,
    Outputs, SamplerState, Shader, TexelFormat, Texture, TextureShape, VertexBufferView,
};
use shaderjit::{ComponentType, ResourceKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// `OUT0` is a load of `t0` at `U.xy >> 1`, level `U.z % 3`; `OUT1` a sample of it by `s0` at `X.xy`, level `U.w & 3`;
/// `OUT2` an element of the buffer `t1`; `OUT3` loads of `t2` (`texture2darray`), `t3` (`texture3d`) and `t0` beyond
/// its end; `OUT4` the size of `t2`, the levels of `t0`, the length of `t2` and that of `t1`.
const CONTAINER: &[u8] = include_bytes!("data/dxbc/vs_texfetch/VS.vs_5_0.fxc101.dxbc");

const VERTICES: u32 = 11;

fn codes() -> [Arc<CompiledShader>; 2] {
    let engine = Engine::new(Config::default()).unwrap();
    let shader = Shader::parse(CONTAINER).unwrap();
    [Lanes::Four, Lanes::Eight].map(|lanes| engine.compile(&shader, &CompileOptions::default().lanes(lanes)).unwrap())
}

/// Vertex n has `X` = n / 8, n / 16 and `U` = n, n, 0, 0.
fn vertices() -> [Vec<u8>; 2] {
    let x = (0..VERTICES).flat_map(|n| [n as f32 / 8.0, n as f32 / 16.0, 0.0, 0.0].map(f32::to_bits));
    let u = (0..VERTICES).flat_map(|n| [n, n, 0, 0]);
    [x.flat_map(u32::to_le_bytes).collect(), u.flat_map(u32::to_le_bytes).collect()]
}

fn call<'a>(code: &'a CompiledShader, vertices: &'a [Vec<u8>; 2]) -> Call<'a> {
    let mut call = code.call();
    call.input("X", 0, VertexBufferView::f32x4(&vertices[0], 16)).unwrap();
    call.input("U", 0, VertexBufferView::u32x4(&vertices[1], 16)).unwrap();
    call
}

/// Runs on both engines, which must agree.
fn run(call: &Call<'_>) -> Outputs {
    let (native, interpreted) = (call.run(0..VERTICES).unwrap(), call.interpret(0..VERTICES).unwrap());
    assert_eq!(native.first_difference(&interpreted), None);
    native
}

fn output(outputs: &Outputs, index: u32) -> Vec<[u32; 4]> {
    outputs.output("OUT", index).unwrap().iter().collect()
}

/// Every texel says where it is; the least a texture can be.
struct Places {
    info: TextureInfo,
    asked: AtomicU32,
}

impl Places {
    fn new(shape: TextureShape, [width, height, depth]: [u32; 3]) -> Places {
        let info = TextureInfo { width, height, depth, ..TextureInfo::new(shape, TexelKind::Float) };
        Places { info, asked: AtomicU32::new(0) }
    }
}

impl Texture for Places {
    fn info(&self) -> TextureInfo {
        self.info
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(
            at.x < self.info.width && at.y < self.info.height && at.z < self.info.depth && at.level < self.info.levels
        );
        [at.x, at.y, at.z + at.layer, at.level].map(|number| (number as f32).to_bits())
    }
}

#[test]
fn the_interface_lists_textures_and_samplers() {
    let [code, _] = codes();
    let interface = code.interface();
    let float = ComponentType::F32;
    let texture = |shape| ResourceKind::Texture { shape, ty: float };
    let found: Vec<_> =
        interface.resources.iter().map(|decl| (decl.slot, decl.kind, decl.name.as_deref().unwrap())).collect();
    let expected = [
        (0, texture(TextureShape::D2), "t0"),
        (1, ResourceKind::TypedBuffer { ty: ComponentType::U32, components: 4 }, "t1"),
        (2, texture(TextureShape::D2Array), "t2"),
        (3, texture(TextureShape::D3), "t3"),
    ];
    assert_eq!(found, expected);
    let found: Vec<_> =
        interface.samplers.iter().map(|decl| (decl.slot, decl.compares, decl.name.as_deref().unwrap())).collect();
    assert_eq!(found, [(0, false, "s0")]);
    assert!((0..4).all(|index| code.needs_resource(index)) && code.needs_sampler(0) && !code.needs_sampler(1));
}

#[test]
fn a_callers_own_texture_is_sampled() {
    let vertices = vertices();
    for code in codes() {
        let places = Places::new(TextureShape::D2, [8, 4, 1]);
        let mut call = call(&code, &vertices);
        call.unbound_as_zero(true).texture(0, &places).unwrap();
        call.sampler(0, SamplerState::point().address(AddressMode::Wrap)).unwrap();
        let outputs = run(&call);
        assert!(places.asked.load(Ordering::Relaxed) > 0);
        for n in 0..VERTICES {
            let float = |numbers: [u32; 4]| numbers.map(|number| (number as f32).to_bits());
            let loaded = if n / 2 < 4 { [n / 2, n / 2, 0, 0] } else { [0; 4] };
            assert_eq!(output(&outputs, 0)[n as usize], float(loaded), "vertex {n}");
            assert_eq!(output(&outputs, 1)[n as usize], float([n % 8, n / 4 % 4, 0, 0]), "vertex {n}");
            // `t0` has one level; what is not bound has no sizes.
            assert_eq!(output(&outputs, 4)[n as usize], [0, 1, 0, 0]);
        }
        call.sampler(0, SamplerState::linear()).unwrap();
        assert_eq!(output(&run(&call), 1)[3], [2.5, 0.25, 0.0, 0.0].map(f32::to_bits));
    }
}

#[test]
fn images_are_bound_by_every_thread() {
    let texels: Vec<u8> = (0..=255).cycle().take(8 * 4 * 4).collect();
    let image = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 8, 4), &texels[..]).unwrap();
    let vertices = vertices();
    let [code, _] = codes();
    let mut call = call(&code, &vertices);
    call.unbound_as_zero(true).texture(0, &image).unwrap();
    let expected = run(&call);
    std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| run(&call)));
        for thread in threads {
            assert_eq!(thread.join().unwrap().first_difference(&expected), None);
        }
    });
    assert_eq!(output(&expected, 0)[2], [36.0, 37.0, 38.0, 39.0].map(|byte: f32| (byte / 255.0).to_bits()));
}

#[test]
fn what_is_not_bound_is_an_error_or_nothing() {
    let vertices = vertices();
    for code in codes() {
        let missing = |call: &Call<'_>| match call.run(0..1) {
            Err(CallError::MissingBinding { what }) => what,
            other => panic!("{:?}", other.map(drop)),
        };
        let mut call = call(&code, &vertices);
        let (flat, slices) = (Places::new(TextureShape::D2, [4, 4, 1]), Places::new(TextureShape::D2Array, [4, 4, 1]));
        let block = Places::new(TextureShape::D3, [4, 4, 4]);
        assert_eq!(missing(&call), "resource t0");
        call.texture(0, &flat).unwrap().texture(2, &slices).unwrap().texture(3, &block).unwrap();
        assert_eq!(missing(&call), "resource t1");
        call.buffer(1, BufferView::typed(&[0; 16], TexelFormat::Rgba32Uint)).unwrap();
        assert_eq!(missing(&call), "sampler s0");
        assert!(matches!(call.interpret(0..1), Err(CallError::MissingBinding { .. })));
        // The default sampler clamps and is linear.
        let outputs = run(call.unbound_as_zero(true));
        assert_eq!(output(&outputs, 1)[10], [3.0, 2.0, 0.0, 0.0].map(f32::to_bits));

        let mut call = self::call(&code, &vertices);
        let outputs = run(call.unbound_as_zero(true));
        assert!(outputs.bytes().iter().all(|&byte| byte == 0));
    }
}

#[test]
fn shapes_sizes_and_states_must_fit() {
    let [code, _] = codes();
    let hostile = [[0, 4, 1], [4, u32::MAX, 1], [1 << 31, 1 << 31, 1]].map(|size| Places::new(TextureShape::D2, size));
    let slices = Places::new(TextureShape::D2Array, [4, 4, 1]);
    let mut call = code.call();
    let mismatch = |slot: u32, declared: &str, bound: &str| {
        let (declared, bound) = (declared.to_string(), bound.to_string());
        Err(CallError::ResourceMismatch { what: format!("resource t{slot}"), declared, bound })
    };
    let wrong = call.texture(0, &slices).map(drop);
    assert_eq!(wrong, mismatch(0, "texture2d", "texture2darray"));
    assert_eq!(wrong.unwrap_err().to_string(), "resource t0 is a texture2d to the shader, a texture2darray is bound");
    assert_eq!(call.texture(1, &slices).map(drop), mismatch(1, "typed buffer", "texture2darray"));
    assert_eq!(call.buffer(0, BufferView::raw(&[])).map(drop), mismatch(0, "texture2d", "raw buffer"));

    let unknown = |what: &str, known: &[&str]| {
        Err(CallError::UnknownBinding {
            what: what.to_string(),
            known: known.iter().map(|&name| name.into()).collect(),
        })
    };
    let resources = &["resource t0", "resource t1", "resource t2", "resource t3"];
    assert_eq!(call.texture(9, &slices).map(drop), unknown("resource t9", resources));
    assert_eq!(call.texture_in_space(0, 1, &slices).map(drop), unknown("resource t0 of space 1", resources));
    assert_eq!(call.sampler(1, SamplerState::point()).map(drop), unknown("sampler s1", &["sampler s0"]));
    assert_eq!(
        call.sampler_in_space(0, 2, SamplerState::point()).map(drop),
        unknown("sampler s0 of space 2", &["sampler s0"])
    );

    // A texture of the caller's that says of itself what cannot be.
    for hostile in &hostile {
        match call.texture(0, hostile) {
            Err(CallError::Texture { what, error: TextureError::Size { limit: 16384, .. } }) => {
                assert_eq!(what, "resource t0");
            }
            other => panic!("{:?}", other.map(drop)),
        }
    }
    let nan = SamplerState { min_lod: f32::NAN, ..SamplerState::point() };
    assert!(matches!(call.sampler(0, nan), Err(CallError::Invalid(_))));
}

/// A texture that panics at some texel.
struct Failing(TextureInfo);

impl Texture for Failing {
    fn info(&self) -> TextureInfo {
        self.0
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        assert!(at.x != 2, "texel 2 is not there");
        [0; 4]
    }
}

#[test]
fn a_panic_of_a_texture_reaches_the_caller() {
    let vertices = vertices();
    for code in codes() {
        let failing = Failing(Places::new(TextureShape::D2, [8, 8, 1]).info);
        let mut call = call(&code, &vertices);
        call.unbound_as_zero(true).texture(0, &failing).unwrap();
        for _ in 0..2 {
            let native = catch_unwind(AssertUnwindSafe(|| call.run(0..VERTICES).map(drop))).unwrap_err();
            let interpreted = catch_unwind(AssertUnwindSafe(|| call.interpret(0..VERTICES).map(drop))).unwrap_err();
            for panic in [native, interpreted] {
                assert_eq!(panic.downcast_ref::<&str>(), Some(&"texel 2 is not there"));
            }
        }
        // The thread can go on.
        let good = Places::new(TextureShape::D2, [8, 8, 1]);
        let mut call = self::call(&code, &vertices);
        run(call.unbound_as_zero(true).texture(0, &good).unwrap());
    }
}

/// A texture whose texels a shader computes.
struct Computed<'a> {
    code: &'a CompiledShader,
    vertices: &'a [Vec<u8>; 2],
    inner: Places,
}

impl Texture for Computed<'_> {
    fn info(&self) -> TextureInfo {
        self.inner.info
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        let mut call = call(self.code, self.vertices);
        call.unbound_as_zero(true).texture(0, &self.inner).unwrap();
        call.run(at.x..at.x + 1).unwrap().output("OUT", 0).unwrap().bits(0).unwrap()
    }
}

#[test]
fn a_texture_may_run_a_shader_itself() {
    let vertices = vertices();
    for code in codes() {
        let computed = Computed { code: &code, vertices: &vertices, inner: Places::new(TextureShape::D2, [8, 8, 1]) };
        let mut call = call(&code, &vertices);
        call.unbound_as_zero(true).texture(0, &computed).unwrap();
        assert_eq!(output(&run(&call), 0)[9], [2.0, 2.0, 0.0, 0.0].map(f32::to_bits));
    }
}

#[test]
fn the_interpreter_alone_reads_textures() {
    let engine = Engine::new(Config::default()).unwrap();
    let options = CompileOptions::default().backend(Backend::Interpreter);
    let code = engine.compile(&Shader::parse(CONTAINER).unwrap(), &options).unwrap();
    let (vertices, places) = (vertices(), Places::new(TextureShape::D2, [8, 8, 1]));
    let mut call = call(&code, &vertices);
    call.unbound_as_zero(true).texture(0, &places).unwrap();
    assert_eq!(output(&run(&call), 0)[6], [3.0, 3.0, 0.0, 0.0].map(f32::to_bits));
}
