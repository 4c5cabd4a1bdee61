//! Views that pixel and vertex shaders write: every invocation writes once, in the order of the waves, whatever runs
//! it; lanes of the tail and discarded pixels do not.

mod support;

use shaderjit::error::CallError;
use shaderjit::{
    AtomicBuffer, Backend, Call, CompileOptions, CompiledShader, Config, Engine, ImageLayout, Indices, Lanes,
    MemoryView, Outputs, Shader, TexelFormat, VertexBufferView, VertexFormat,
};
use std::sync::Arc;
use support::program::Source;

/// Invocation `v0.x` appends its number to `u1`, stores it in its own texel of `u2`, and counts itself in `u0`.
const APPENDING: &str = "dcl_uav_raw u0
    dcl_uav_structured!0x800000 u1, 8
    dcl_uav_typed_texture2d (uint,uint,uint,uint) u2
    imm_atomic_alloc r0.x, u1
    iadd r0.y, v0.x, l(100)
    store_structured u1.xy, r0.x, l(0), r0.yxyy
    atomic_iadd u0, l(0), l(1)
    atomic_umax u0, l(4), v0.x
    and r1.x, v0.x, l(7)
    ushr r1.y, v0.x, l(3)
    ld_uav_typed r2.x, r1.xyyy, u2.xyzw
    iadd r2.x, r2.x, v0.x
    iadd r2.x, r2.x, l(1)
    store_uav_typed u2.xyzw, r1.xyyy, r2.xxxx
    ld_raw r3.x, l(8), u0.xxxx
    iadd o0.x, r3.x, v0.x";

const STAGES: [&str; 2] = ["ps_5_0", "vs_5_0"];

fn compile(text: &str, lanes: Lanes, backend: Backend) -> Arc<CompiledShader> {
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    let engine = Engine::new(Config::default().fuel(10_000)).unwrap();
    engine.compile(&shader, &CompileOptions::default().lanes(lanes).backend(backend)).unwrap()
}

/// Numbers from 0 on, a row each.
fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| [number, 0, 0, 0]).flat_map(u32::to_le_bytes).collect()
}

fn words(buffer: &AtomicBuffer) -> Vec<u32> {
    buffer.to_bytes().as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// The views of [`APPENDING`] for so many invocations.
struct Views {
    counts: AtomicBuffer,
    appended: AtomicBuffer,
    appends: AtomicBuffer,
    texels: AtomicBuffer,
    layout: ImageLayout,
}

impl Views {
    fn new(count: u32) -> Views {
        let rows = count.div_ceil(8).max(1);
        Views {
            counts: AtomicBuffer::from_bytes(&[0u32, 0, 50].map(u32::to_le_bytes).concat()),
            appended: AtomicBuffer::zeroed(8 * count as usize + 64),
            appends: AtomicBuffer::zeroed(4),
            texels: AtomicBuffer::zeroed(32 * rows as usize),
            layout: ImageLayout::texture_2d(TexelFormat::R32Uint, 8, rows),
        }
    }

    /// A call with them and with the numbers of the invocations.
    fn bind<'a>(&'a self, code: &'a CompiledShader, numbers: &'a [u8]) -> Call<'a> {
        let mut call = code.call();
        call.reinterpret_inputs(true);
        call.input_element(0, VertexBufferView::new(VertexFormat::U32x4, numbers, 16)).unwrap();
        let appended = MemoryView::structured(&self.appended, 8).counter(&self.appends);
        call.unordered_access(0, MemoryView::raw(&self.counts)).unwrap();
        call.unordered_access(1, appended).unwrap();
        call.unordered_access(2, MemoryView::image(&self.texels, self.layout)).unwrap();
        call
    }

    /// That these invocations have written, each once, and in this order if it is not open.
    fn check(&self, order: &[u32], is_ordered: bool, way: &str) {
        let count = order.len() as u32;
        let most = order.iter().copied().max().unwrap_or(0);
        assert_eq!(words(&self.counts), [count, most, 50], "{way}");
        assert_eq!(words(&self.appends), [count], "{way}");
        let places = words(&self.appended);
        let places = places.as_chunks::<2>().0;
        let mut found: Vec<u32> = places[..order.len()].iter().map(|place| place[0].wrapping_sub(100)).collect();
        assert!(places[..order.len()].iter().zip(0..).all(|(place, number)| place[1] == number), "{way}");
        assert!(places[order.len()..].iter().all(|place| *place == [0; 2]), "{way}");
        let mut wanted = order.to_vec();
        if !is_ordered {
            found.sort_unstable();
            wanted.sort_unstable();
        }
        assert_eq!(found, wanted, "{way}");
        let texels = words(&self.texels);
        let texel = |number: u32| if order.contains(&number) { number + 1 } else { 0 };
        assert!(texels.iter().zip(0..).all(|(&found, number)| found == texel(number)), "{way}: {texels:?}");
    }
}

/// Has the shader run in every way by every engine.
fn in_every_way(stage: &str, text: &str, mut run: impl FnMut(&CompiledShader, &str)) {
    for lanes in Lanes::ALL {
        for backend in [Backend::Interpreter, Backend::Jit] {
            let code = compile(&format!("{stage}\n{text}"), lanes, backend);
            run(&code, &format!("{stage}, {} lanes, {backend:?}", lanes.count()));
        }
    }
}

#[test]
fn every_invocation_writes_once_and_in_order() {
    for stage in STAGES {
        in_every_way(stage, APPENDING, |code, way| {
            for count in [1, 2, 3, 5, 16, 17, 31, 64, 100] {
                let (numbers, views) = (numbers(count), Views::new(count));
                let outputs: Outputs = views.bind(code, &numbers).run(0..count).unwrap();
                let order: Vec<u32> = (0..count).collect();
                views.check(&order, true, &format!("{way}, {count} invocations"));
                let output = outputs.element(0).unwrap();
                assert!((0..count).all(|n| output.bits(n as usize).unwrap()[0] == 50 + n), "{way}");
            }
        });
    }
}

#[test]
fn a_vertex_of_an_indexed_draw_writes_once() {
    in_every_way("vs_5_0", APPENDING, |code, way| {
        let (numbers, views) = (numbers(300), Views::new(300));
        let run = (100..200).map(|n| n as u16);
        let indices: Vec<u16> = [3, 7, 3, 250, 9, 7].into_iter().chain(run).chain([9, 150]).collect();
        views.bind(code, &numbers).run_indexed(Indices::U16(&indices), 0).unwrap();
        let mut distinct: Vec<u32> = indices.iter().map(|&index| index.into()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        views.check(&distinct, true, way);
    });
}

#[cfg(feature = "rayon")]
#[test]
fn threads_write_in_any_order() {
    for backend in [Backend::Interpreter, Backend::Jit] {
        let code = compile(&format!("vs_5_0\n{APPENDING}"), Lanes::Eight, backend);
        let count = 10_001;
        let (numbers, views) = (numbers(count), Views::new(count));
        views.bind(&code, &numbers).run_parallel(0..count).unwrap();
        // Every place has another number, and every texel was written once.
        let mut found: Vec<u32> = words(&views.appended).chunks(2).map(|place| place[0]).collect();
        found.truncate(count as usize);
        found.sort_unstable();
        assert!(found.iter().zip(100..).all(|(&found, wanted)| found == wanted), "{backend:?}");
        assert_eq!(words(&views.counts), [count, count - 1, 50]);
        let texels = words(&views.texels);
        assert!(texels[..count as usize].iter().zip(1..).all(|(&found, wanted)| found == wanted), "{backend:?}");
    }
}

#[test]
fn what_has_written_never_runs_again() {
    // Invocation 20 does not end. The waves before it and its own have counted, each once.
    let text = "dcl_uav_raw u0
        atomic_iadd u0, l(0), l(1)
        ieq r0.x, v0.x, l(20)
        loop
          breakc_z r0.x
        endloop
        atomic_iadd u0, l(4), l(1)
        mov o0.x, v0.x";
    for stage in STAGES {
        in_every_way(stage, text, |code, way| {
            let (numbers, counts) = (numbers(64), AtomicBuffer::zeroed(8));
            let mut call = code.call();
            call.reinterpret_inputs(true).unordered_access(0, MemoryView::raw(&counts)).unwrap();
            call.input_element(0, VertexBufferView::new(VertexFormat::U32x4, &numbers, 16)).unwrap();
            assert!(matches!(call.run(0..64), Err(CallError::OutOfFuel { .. })), "{way}");
            let lanes = code.lanes().count();
            let before = 20 / lanes * lanes;
            assert_eq!(words(&counts), [before + lanes, before], "{way}");
        });
    }
}

#[test]
fn lanes_of_the_tail_wait_for_nothing() {
    // Each invocation counts up to ten and beyond, and what it reads last is its own.
    let text = "dcl_uav_raw u0
        ishl r0.x, v0.x, l(2)
        loop
          imm_atomic_iadd r0.y, u0, r0.x, l(1)
          uge r0.z, r0.y, l(10)
          breakc_nz r0.z
        endloop
        mov o0.xy, r0.yxyy";
    for stage in STAGES {
        in_every_way(stage, text, |code, way| {
            for count in [1, 3, 9, 16, 18] {
                let (numbers, counts) = (numbers(count), AtomicBuffer::zeroed(4 * count as usize));
                let mut call = code.call();
                call.reinterpret_inputs(true).unordered_access(0, MemoryView::raw(&counts)).unwrap();
                call.input_element(0, VertexBufferView::new(VertexFormat::U32x4, &numbers, 16)).unwrap();
                let outputs = call.run(0..count).unwrap_or_else(|error| panic!("{way}, {count}: {error}"));
                assert_eq!(words(&counts), vec![11; count as usize], "{way}, {count}");
                let output = outputs.element(0).unwrap();
                assert!((0..count).all(|n| output.bits(n as usize).unwrap()[..2] == [10, 4 * n]), "{way}, {count}");
            }
        });
    }
}

#[test]
fn discarded_pixels_write_nothing_any_more() {
    // Odd pixels are discarded; what they have written before stands.
    let text = "dcl_uav_raw u0
        dcl_uav_structured!0x800000 u1, 4
        dcl_uav_typed_buffer (uint,uint,uint,uint) u2
        ishl r0.x, v0.x, l(2)
        and r0.y, v0.x, l(1)
        store_raw u0.x, r0.x, l(7)
        discard_nz r0.y
        imm_atomic_iadd r1.x, u0, r0.x, l(1)
        imm_atomic_alloc r1.y, u1
        store_structured u1.x, r1.y, l(0), v0.x
        store_uav_typed u2.xyzw, v0.xxxx, l(9)
        ld_raw r1.z, r0.x, u0.xxxx
        mov o0.xyz, r1.xyzx";
    in_every_way("ps_5_0", text, |code, way| {
        let count = 21;
        let (numbers, memory) = (numbers(count), AtomicBuffer::zeroed(4 * count as usize));
        let (appended, appends) = (AtomicBuffer::zeroed(4 * count as usize), AtomicBuffer::zeroed(4));
        let typed = AtomicBuffer::zeroed(4 * count as usize);
        let mut call = code.call();
        call.reinterpret_inputs(true).unordered_access(0, MemoryView::raw(&memory)).unwrap();
        call.unordered_access(1, MemoryView::structured(&appended, 4).counter(&appends)).unwrap();
        call.unordered_access(2, MemoryView::typed(&typed, TexelFormat::R32Uint)).unwrap();
        call.input_element(0, VertexBufferView::new(VertexFormat::U32x4, &numbers, 16)).unwrap();
        let outputs = call.run(0..count).unwrap();
        let of_each = |f: fn(u32) -> u32| (0..count).map(f).collect::<Vec<u32>>();
        assert_eq!(words(&memory), of_each(|n| 8 - n % 2), "{way}");
        assert_eq!(words(&typed), of_each(|n| 9 * (1 - n % 2)), "{way}");
        assert_eq!(words(&appends), [11], "{way}");
        assert_eq!(words(&appended), of_each(|n| if n < 11 { 2 * n } else { 0 }), "{way}");
        let output = outputs.element(0).unwrap();
        for n in 0..count {
            let wanted = if n % 2 == 0 { [7, n / 2, 8] } else { [0, 0, 7] };
            assert_eq!(output.bits(n as usize).unwrap()[..3], wanted, "{way}, {n}");
        }
    });
}

#[test]
fn what_is_unbound_is_missing_or_takes_nothing() {
    let code = compile(&format!("ps_5_0\n{APPENDING}"), Lanes::Four, Backend::Jit);
    let numbers = numbers(3);
    let mut call = code.call();
    call.reinterpret_inputs(true).input_element(0, VertexBufferView::new(VertexFormat::U32x4, &numbers, 16)).unwrap();
    assert!(matches!(call.run(0..3), Err(CallError::MissingBinding { .. })));
    call.unbound_as_zero(true);
    let outputs = call.run(0..3).unwrap();
    assert_eq!(outputs.element(0).unwrap().bits(2).unwrap()[0], 2);
}

#[test]
fn a_fence_waits_for_nobody() {
    // Memory is in order as it is.
    let code = compile("ps_5_0\nsync_uglobal\nmov o0.x, l(5)", Lanes::Four, Backend::Jit);
    assert_eq!(code.call().run(0..1).unwrap().element(0).unwrap().bits(0).unwrap()[0], 5);
}

/// The program counts, marks and stores what it says in its source, `ps_uav.hlsl`.
#[test]
fn a_compiled_pixel_shader_writes_what_its_source_says() {
    let pixels: Vec<[u32; 2]> = (0..8).flat_map(|y| (0..8).map(move |x| [x, y])).collect();
    let position = |[x, y]: [u32; 2]| [x as f32 + 0.5, y as f32 + 0.5, 0.0, 1.0];
    let positions: Vec<u8> =
        pixels.iter().flat_map(|&pixel| position(pixel)).flat_map(|word| word.to_le_bytes()).collect();
    let (mut counts, mut marks, mut image) = ([0; 16], [0; 64], [0; 64]);
    for &[x, y] in &pixels {
        counts[((x * y) & 15) as usize] += 1;
        marks[x as usize] = marks[x as usize].max(y * 10 + 1);
        marks[8 + y as usize] |= 1 << x;
        image[(8 * y + x) as usize] = x * 100 + y;
    }
    for container in [
        include_bytes!("data/dxbc/ps_uav/PS.ps_5_0.fxc101.dxbc").as_slice(),
        include_bytes!("data/dxbc/ps_uav/PS.ps_5_0.fxc101Od.dxbc"),
    ] {
        let (shader, engine) = (Shader::parse(container).unwrap(), Engine::new(Config::default()).unwrap());
        for (lanes, backend) in Lanes::ALL.into_iter().flat_map(|it| [(it, Backend::Interpreter), (it, Backend::Jit)]) {
            let code = engine.compile(&shader, &CompileOptions::default().lanes(lanes).backend(backend)).unwrap();
            let memory = [64, 256, 256].map(AtomicBuffer::zeroed);
            let mut call = code.call();
            call.unbound_as_zero(true);
            call.input("SV_Position", 0, VertexBufferView::new(VertexFormat::F32x4, &positions, 16)).unwrap();
            call.unordered_access(1, MemoryView::typed(&memory[0], TexelFormat::R32Uint)).unwrap();
            call.unordered_access(2, MemoryView::raw(&memory[1])).unwrap();
            let layout = ImageLayout::texture_2d(TexelFormat::R32Uint, 8, 8);
            call.unordered_access(3, MemoryView::image(&memory[2], layout)).unwrap();
            call.run(0..64).unwrap();
            assert_eq!(words(&memory[0]), counts, "{backend:?}");
            assert_eq!(words(&memory[1]), marks, "{backend:?}");
            assert_eq!(words(&memory[2]), image, "{backend:?}");
        }
    }
}
