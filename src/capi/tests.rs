//! What a C program sees: the same results as the Rust calls, and a status for every mistake.

use super::call::*;
use super::code::*;
use super::engine::*;
use super::pica::*;
use super::pixels::*;
use super::resource::*;
use super::run::*;
use super::shader::*;
use super::status::*;
use crate::{AtomicBuffer, BufferView, MemoryView, Plane, Primitive, Quad, TexelFormat};
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

/// The result that a function writes.
fn result<T>(run: impl FnOnce(&mut MaybeUninit<T>) -> shaderjit_status) -> Result<T, (shaderjit_status, String)> {
    let mut place = MaybeUninit::uninit();
    match run(&mut place) {
        // SAFETY: a function that succeeds has written its result.
        shaderjit_status::Ok => Ok(unsafe { place.assume_init() }),
        status => Err((status, message())),
    }
}

fn handle<T>(
    run: impl FnOnce(&mut MaybeUninit<Option<Box<T>>>) -> shaderjit_status,
) -> Result<Box<T>, (shaderjit_status, String)> {
    result(run).map(|handle| handle.expect("a result is not null"))
}

fn message() -> String {
    // SAFETY: the message is a string, until the next error.
    unsafe { CStr::from_ptr(shaderjit_error_message()) }.to_str().unwrap().to_string()
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn engine() -> Box<shaderjit_engine> {
    let config = shaderjit_config { portable: true, ..Default::default() };
    handle(|engine| shaderjit_engine_new(Some(&config), Some(engine))).unwrap()
}

fn compiled(engine: &shaderjit_engine, bytes: &[u8]) -> Box<shaderjit_code> {
    let shader = handle(|shader| shaderjit_shader_parse(bytes.as_ptr().cast(), bytes.len(), Some(shader))).unwrap();
    handle(|code| shaderjit_engine_compile(Some(engine), Some(&shader), None, Some(code))).unwrap()
}

macro_rules! data {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $path))
    };
}

const TRANSFORM: &[u8] = data!("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");

/// The transform of four vertices, with constants.
fn transform(engine: &shaderjit_engine, vertices: &'static [u8], constants: &[u8]) -> Box<shaderjit_call> {
    let mut call = shaderjit_call_new(Some(&compiled(engine, TRANSFORM))).unwrap();
    for (semantic, format, offset) in
        [("POSITION", "f32x3", 0), ("NORMAL", "f32x3", 16), ("TEXCOORD", "f32x2", 32), ("COLOR", "f32x4", 48)]
    {
        let (semantic, format, bytes) = (text(semantic), text(format), &vertices[offset..]);
        let (semantic, format) = (semantic.as_ptr(), format.as_ptr());
        let status =
            shaderjit_call_input(Some(&mut call), semantic, 0, format, bytes.as_ptr().cast(), bytes.len(), 64, 0);
        assert_eq!(status, shaderjit_status::Ok, "{}", message());
    }
    let status = shaderjit_call_constant_buffer(Some(&mut call), 0, 0, constants.as_ptr().cast(), constants.len());
    assert_eq!(status, shaderjit_status::Ok);
    call
}

#[test]
fn vertices_are_those_of_the_rust_call() {
    let (vertices, constants) = (data!("dxbc/vs_transform/in.r0.0.bin"), data!("dxbc/vs_transform/in.r0.1.bin"));
    let count = (vertices.len() / 64) as u32;
    let engine = engine();
    let call = transform(&engine, vertices, constants);
    // Handles are free of those they are made of.
    drop(engine);
    let expected = call.call.run(0..count).unwrap();
    let position = |outputs: &shaderjit_outputs, row: usize| -> Vec<u8> {
        let semantic = text("sv_position");
        let found = result(|output| shaderjit_outputs_find(Some(outputs), semantic.as_ptr(), 0, Some(output))).unwrap();
        assert_eq!(found.components, 4);
        // SAFETY: the outputs have the row.
        unsafe { std::slice::from_raw_parts(found.first.add(row * found.stride), 16) }.to_vec()
    };
    let bytes_of = |vertex: usize| {
        let bits = expected.output("SV_Position", 0).unwrap().bits(vertex).unwrap();
        bits.map(u32::to_le_bytes).concat()
    };
    let outputs = handle(|outputs| shaderjit_call_run(Some(&call), 0, count, Some(outputs))).unwrap();
    assert_eq!(shaderjit_outputs_count(Some(&outputs)), count as usize);
    assert!((0..count as usize).all(|vertex| position(&outputs, vertex) == bytes_of(vertex)));

    let indices = [2u16, 0, 2];
    let first = indices.as_ptr().cast();
    let drawn = handle(|outputs| shaderjit_call_run_indexed(Some(&call), first, 2, 3, 0, Some(outputs))).unwrap();
    let rows = [0, 2, 1].map(|index| shaderjit_outputs_row(Some(&drawn), index));
    assert_eq!((shaderjit_outputs_count(Some(&drawn)), rows[2]), (2, -1));
    assert_eq!(position(&drawn, rows[0] as usize), bytes_of(0));
    assert_eq!(position(&drawn, rows[1] as usize), bytes_of(2));

    let (mut memory, place) = ([0; 40], shaderjit_place { element: 0, offset: 4, stride: 20 });
    let copy = shaderjit_call_clone(Some(&call)).unwrap();
    drop(call);
    let status =
        shaderjit_call_run_into(Some(&copy), 1, 2, &raw const place, 1, memory.as_mut_ptr().cast(), memory.len());
    assert_eq!(status, shaderjit_status::Ok, "{}", message());
    assert_eq!((&memory[4..20], &memory[24..]), (&bytes_of(1)[..], &bytes_of(2)[..]));
}

#[test]
fn mistakes_have_a_status_and_a_message() {
    use shaderjit_status as Status;
    let (engine, constants) = (engine(), data!("dxbc/vs_transform/in.r0.1.bin"));
    let parse =
        |bytes: &[u8]| handle(|shader| shaderjit_shader_parse(bytes.as_ptr().cast(), bytes.len(), Some(shader)));
    let failed = |found: Result<Box<shaderjit_shader>, (Status, String)>| found.err().unwrap();
    assert_eq!(failed(parse(b"nothing")).0, Status::Container);
    assert_eq!(shaderjit_error_offset(), 0);
    assert_eq!(failed(parse(&TRANSFORM[..100])).0, Status::Container);
    let nothing = failed(handle(|shader| shaderjit_shader_parse(null(), 5, Some(shader))));
    assert_eq!(
        nothing,
        (Status::Argument, "a pointer is null or not aligned, and is said to point to something".into())
    );
    assert_eq!(shaderjit_shader_parse(TRANSFORM.as_ptr().cast(), TRANSFORM.len(), None), Status::Argument);
    assert_eq!(message(), "the place of the result is null");

    let shader = parse(TRANSFORM).unwrap();
    let compile = |options: shaderjit_compile_options| {
        handle(|code| shaderjit_engine_compile(Some(&engine), Some(&shader), Some(&options), Some(code)))
            .map_err(|(status, _)| status)
            .err()
    };
    let default = shaderjit_compile_options::default;
    assert_eq!(compile(default()), None);
    assert_eq!(compile(shaderjit_compile_options { entry: 1, ..default() }), Some(Status::Argument));
    assert_eq!(compile(shaderjit_compile_options { backend: 3, ..default() }), Some(Status::Argument));
    assert_eq!(compile(shaderjit_compile_options { lanes: 5, ..default() }), Some(Status::Argument));
    let later = parse(data!("dxil/vs_simple/main.vs_6_0.val1.0.dxil")).unwrap();
    let status = handle(|code| shaderjit_engine_compile(Some(&engine), Some(&later), None, Some(code)));
    assert_eq!(status.err().map(|(status, _)| status), Some(Status::Unsupported));
    assert!(shaderjit_error_offset() > 0);

    let mut call = transform(&engine, data!("dxbc/vs_transform/in.r0.0.bin"), &constants[..64]);
    let run = |call: &shaderjit_call, count: u32| {
        handle(|outputs| shaderjit_call_run(Some(call), 0, count, Some(outputs))).err().map(|(status, _)| status)
    };
    assert_eq!(run(&call, 1), Some(Status::Binding));
    let (name, format) = (text("nothing"), text("f32x9"));
    let bind = |call: &mut shaderjit_call, semantic: &CString, format: &CString| {
        shaderjit_call_input(Some(call), semantic.as_ptr(), 0, format.as_ptr(), null(), 0, 0, 0)
    };
    assert_eq!(bind(&mut call, &name, &text("f32x3")), Status::UnknownBinding);
    assert!(message().contains("POSITION"), "{}", message());
    assert_eq!(bind(&mut call, &text("POSITION"), &format), Status::Argument);
    assert!(message().contains("f32x3"), "{}", message());
    assert_eq!(shaderjit_call_set(Some(&mut call), null(), null(), 0), Status::Argument);
    assert_eq!(shaderjit_call_set(Some(&mut call), text("ambient").as_ptr(), [0u8; 4].as_ptr().cast(), 4), Status::Ok);
    assert_eq!(shaderjit_call_dispatch(Some(&call), 1, 1, 1), Status::Run);
    assert_eq!(shaderjit_call_unbound_as_zero(Some(&mut call), true), Status::Ok);
    assert_eq!((run(&call, 1), run(&call, u32::MAX)), (None, Some(Status::Run)));
    assert_eq!(run(&call, 0), None);
    assert_eq!(shaderjit_call_dispatch(None, 1, 1, 1), Status::Argument);
    let sampler = shaderjit_sampler { mag: 7, ..shaderjit_sampler_default() };
    assert_eq!(shaderjit_call_sampler(Some(&mut call), 0, 0, Some(&sampler)), Status::Argument);
    assert_eq!(message(), "there is no filter 7");
    let status = ended(|| panic!("{}", "on the way"));
    assert_eq!((status, message()), (Status::Panic, "on the way".to_string()));
}

#[test]
fn elements_say_what_there_is_to_bind() {
    let engine = engine();
    let code = compiled(&engine, TRANSFORM);
    assert_eq!((shaderjit_code_inputs(Some(&code)), shaderjit_code_outputs(Some(&code))), (4, 5));
    let element = result(|element| shaderjit_code_output(Some(&code), 3, Some(element))).unwrap();
    // SAFETY: the code is alive.
    assert_eq!(unsafe { CStr::from_ptr(element.semantic) }, c"FOG");
    assert_eq!((element.mask, element.component), (0b0100, shaderjit_component::F32));
    assert_eq!(result(|element| shaderjit_code_input(Some(&code), 4, Some(element))).err().unwrap().0 as u32, 1);
    let pixel = compiled(&engine, data!("dxbc/pipe_ground/PS.ps_5_0.fxc101.dxbc"));
    assert_eq!(shaderjit_code_planes(Some(&pixel)), 2);
    let element = result(|element| shaderjit_code_input(Some(&pixel), 1, Some(element))).unwrap();
    assert_eq!((element.interpolation, element.plane), (shaderjit_interpolation::Perspective, 0));
    let stats = result(|stats| shaderjit_engine_cache_stats(Some(&engine), Some(stats))).unwrap();
    assert!(stats.entries > 0 && stats.bytes <= stats.budget);
    shaderjit_engine_clear_cache(Some(&engine));
}

#[test]
fn thread_groups_write_memory_of_every_kind() {
    const ATOMICS: &[u8] = data!("dxbc/cs_atomics/CS.cs_5_0.fxc101.dxbc");
    static SOURCE: &[u8] = data!("dxbc/cs_atomics/in.r0.0.bin");
    let engine = engine();
    let code = compiled(&engine, ATOMICS);
    let mut call = shaderjit_call_new(Some(&code)).unwrap();
    let (r32i, r32u) = (text("r32i"), text("r32u"));
    let (bytes, length) = (SOURCE.as_ptr().cast(), SOURCE.len());
    let view = shaderjit_buffer_view { bytes, length, kind: 0, stride: 0, format: null() };
    assert_eq!(shaderjit_call_buffer(Some(&mut call), 0, 0, Some(&view)), shaderjit_status::Ok);
    let image = shaderjit_texture_layout {
        format: r32u.as_ptr(),
        shape: 1,
        width: 8,
        height: 2,
        depth: 0,
        slices: 0,
        levels: 0,
        samples: 0,
    };
    let sizes = [64, 64, 64, 64, 512];
    let memories = sizes.map(|size| handle(|memory| shaderjit_memory_new(null(), size, Some(memory))).unwrap());
    for (slot, memory) in memories.iter().enumerate() {
        let kind = [0, 1, 2, 3, 0][slot];
        let (memory, counter) = (&raw const **memory, null());
        let layout = if kind == 3 { &raw const image } else { null() };
        let view = shaderjit_memory_view { memory, counter, kind, stride: 8, format: r32i.as_ptr(), layout };
        let status = shaderjit_call_unordered_access(Some(&mut call), slot as u32, 0, Some(&view));
        assert_eq!(status, shaderjit_status::Ok, "{}", message());
    }
    assert_eq!(shaderjit_call_dispatch(Some(&call), 2, 1, 1), shaderjit_status::Ok, "{}", message());

    let buffers = sizes.map(AtomicBuffer::zeroed);
    let layout = crate::ImageLayout::texture_2d(TexelFormat::R32Uint, 8, 2);
    let views = [
        MemoryView::raw(&buffers[0]),
        MemoryView::structured(&buffers[1], 8),
        MemoryView::typed(&buffers[2], TexelFormat::R32Sint),
        MemoryView::image(&buffers[3], layout),
        MemoryView::raw(&buffers[4]),
    ];
    let mut other = code.code.call();
    other.buffer(0, BufferView::raw(SOURCE)).unwrap();
    for (slot, view) in views.into_iter().enumerate() {
        other.unordered_access(slot as u32, view).unwrap();
    }
    other.dispatch([2, 1, 1]).unwrap();
    for (memory, buffer) in memories.iter().zip(&buffers) {
        let mut bytes = vec![0; buffer.len() + 3];
        let status = shaderjit_memory_read(Some(memory), bytes.as_mut_ptr().cast(), bytes.len());
        assert_eq!((status, &bytes[..buffer.len()]), (shaderjit_status::Ok, &buffer.to_bytes()[..]));
    }
    assert!(buffers[4].to_bytes().iter().any(|&byte| byte != 0));
}

/// Texels of a chequered texture, from the image's bytes.
unsafe extern "C" fn chequered(user: *mut c_void, at: *const shaderjit_texel, bits: *mut u32) {
    // SAFETY: `user` is the image, of 8 by 8 texels; the place and the bits are the library's.
    unsafe {
        let image = &*user.cast::<[u8; 256]>();
        let texel = 4 * ((*at).y * 8 + (*at).x) as usize;
        for (component, &byte) in image[texel..texel + 4].iter().enumerate() {
            *bits.add(component) = (f32::from(byte) / 255.0).to_bits();
        }
    }
}

#[test]
fn a_texture_of_a_function_is_the_image_it_gives() {
    static IMAGE: [u8; 256] = {
        let mut bytes = [255; 256];
        let mut byte = 0;
        while byte < 256 {
            bytes[byte] = (byte * 37 % 256) as u8;
            byte += 1;
        }
        bytes
    };
    let engine = engine();
    let code = compiled(&engine, data!("dxbc/pipe_ground/PS.ps_5_0.fxc101.dxbc"));
    let format = text("rgba8");
    let (depth, slices, levels, samples) = (0, 0, 0, 0);
    let format = format.as_ptr();
    let layout = shaderjit_texture_layout { format, shape: 1, width: 8, height: 8, depth, slices, levels, samples };
    let image =
        handle(|texture| shaderjit_texture_image(Some(&layout), IMAGE.as_ptr().cast(), 256, Some(texture))).unwrap();
    let user = (&raw const IMAGE).cast_mut().cast();
    let asked =
        handle(|texture| shaderjit_texture_function(Some(&layout), Some(chequered), user, Some(texture))).unwrap();
    let short = handle(|texture| shaderjit_texture_image(Some(&layout), IMAGE.as_ptr().cast(), 255, Some(texture)));
    assert_eq!(short.err().unwrap().0, shaderjit_status::Texture);

    let quads = [0, 2].map(|x| Quad { x, coverage: [1; 4], live: 0b1111, ..Quad::default() });
    let planes = [Plane { value: 0.1, dx: 0.2, dy: 0.01 }, Plane { value: 0.3, dx: 0.0, dy: 0.15 }];
    let primitive = Primitive::default();
    let mut all = Vec::new();
    for texture in [Box::leak(image), Box::leak(asked)] {
        let mut call = shaderjit_call_new(Some(&code)).unwrap();
        let texture = &*texture;
        assert_eq!(shaderjit_call_texture(Some(&mut call), 0, 0, Some(texture)), shaderjit_status::Ok);
        let sampler = shaderjit_sampler { address: [1; 3], ..shaderjit_sampler_default() };
        assert_eq!(shaderjit_call_sampler(Some(&mut call), 0, 0, Some(&sampler)), shaderjit_status::Ok);
        let outputs = handle(|outputs| {
            let (quads, planes) = (quads.as_ptr(), planes.as_ptr());
            shaderjit_call_pixels(Some(&call), quads, 2, &raw const primitive, 1, planes, 2, 1, Some(outputs))
        });
        let outputs = outputs.unwrap();
        let mut discarded = [9; 9];
        assert_eq!(shaderjit_outputs_discarded(Some(&outputs), discarded.as_mut_ptr(), 9), shaderjit_status::Ok);
        assert_eq!((shaderjit_outputs_count(Some(&outputs)), discarded), (8, [0, 0, 0, 0, 0, 0, 0, 0, 9]));
        let semantic = text("SV_Target");
        let target =
            result(|output| shaderjit_outputs_find(Some(&outputs), semantic.as_ptr(), 0, Some(output))).unwrap();
        // SAFETY: the outputs have eight rows.
        all.push(unsafe { std::slice::from_raw_parts(target.first, 8 * target.stride) }.to_vec());
    }
    assert_eq!(all[0], all[1]);
    assert!(all[0].iter().any(|&byte| byte != 0));
}

/// The game's memory at this address.
const ADDRESS: u32 = 0x1800_0000;

unsafe extern "C" fn memory(user: *mut c_void, address: u32, length: usize) -> *const c_void {
    // SAFETY: `user` is the memory.
    let memory = unsafe { &*user.cast::<Vec<u8>>() };
    let offset = address.wrapping_sub(ADDRESS) as usize;
    memory.get(offset..).and_then(|rest| rest.get(..length)).map_or(null(), |bytes| bytes.as_ptr().cast())
}

#[test]
fn a_unit_draws_triangles() {
    let engine = engine();
    let mut unit = shaderjit_pica_unit_new().unwrap();
    let file = data!("pica/t01_transform.shbin");
    let status = shaderjit_pica_unit_bind(Some(&mut unit), file.as_ptr().cast(), file.len(), 0, -1);
    assert_eq!(status, shaderjit_status::Ok, "{}", message());
    let rest = [255, 128, 0, 255, 7, 0, 0xff, 0xff];
    let vertex = |position: [i16; 3]| [&position.map(i16::to_le_bytes).concat(), &rest[..]].concat();
    let mut bytes = [[0, 32, 0], [-32, -32, 0], [32, -32, 0]].map(vertex).concat();
    bytes.extend([2, 0, 1]);
    let mut commands = vec![(0x2b9, 2), (0x2bb, 0x210), (0x2c0, 1 << 31)];
    const S: f32 = 1.0 / 64.0;
    let matrix = [[0.0, 0.0, 0.0, S], [0.0, 0.0, S, 0.0], [0.0, S, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]];
    commands.extend(matrix.as_flattened().iter().map(|element: &f32| (0x2c1, element.to_bits())));
    commands.extend([(0x200, ADDRESS >> 3), (0x201, 0x6da), (0x202, 0x2000_0000), (0x203, 0)]);
    commands.extend([(0x204, 0x210), (0x205, 0x300e_0000), (0x227, 42), (0x228, 3)]);
    for (register, value) in commands {
        assert!(shaderjit_pica_unit_write(Some(&mut unit), register, value), "{register:#x}");
    }
    assert!(!shaderjit_pica_unit_write(Some(&mut unit), 0x22f, 1));
    let user = (&raw mut bytes).cast();
    let mut draw = |indexed| {
        handle(|triangles| {
            shaderjit_pica_unit_draw(Some(&mut unit), Some(&engine), indexed, Some(memory), user, Some(triangles))
        })
    };
    let drawn = draw(true).unwrap();
    assert_eq!((shaderjit_pica_vertex_count(Some(&drawn)), shaderjit_pica_triangle_count(Some(&drawn))), (3, 1));
    // SAFETY: there are three vertices, and a triangle.
    let (vertices, indices) = unsafe {
        let vertices = std::slice::from_raw_parts(shaderjit_pica_vertices(Some(&drawn)), 3 * 96).as_chunks().0;
        (vertices, std::slice::from_raw_parts(shaderjit_pica_indices(Some(&drawn)), 3))
    };
    let corners: Vec<[f32; 4]> = indices
        .iter()
        .map(|&index| crate::pica::OutputVertex::from_bytes(&vertices[index as usize]).position())
        .collect();
    assert_eq!(corners, [[0.5, -0.5, 0.0, 1.0], [0.0, 0.5, 0.0, 1.0], [-0.5, -0.5, 0.0, 1.0]]);
    assert_eq!(draw(false).map(|drawn| shaderjit_pica_triangle_count(Some(&drawn))), Ok(1));
    bytes.truncate(20);
    let user = (&raw mut bytes).cast();
    let short = handle(|triangles| {
        shaderjit_pica_unit_draw(Some(&mut unit), Some(&engine), true, Some(memory), user, Some(triangles))
    });
    assert_eq!(short.err().map(|(status, _)| status), Some(shaderjit_status::Binding));
    assert_eq!(shaderjit_pica_unit_options(Some(&mut unit), true, true), shaderjit_status::Ok);
}

#[test]
fn a_shader_names_its_programs() {
    let file = data!("pica/t01_transform.shbin");
    let shader = handle(|shader| shaderjit_shader_parse(file.as_ptr().cast(), file.len(), Some(shader))).unwrap();
    assert_eq!(shaderjit_shader_entries(Some(&shader)), 1);
    let stage = result(|stage| shaderjit_shader_stage(Some(&shader), 0, Some(stage)));
    assert_eq!(stage, Ok(shaderjit_stage::Vertex));
    let listing: *mut c_char = result(|listing| shaderjit_shader_disassemble(Some(&shader), 0, Some(listing))).unwrap();
    // SAFETY: the listing is a string until it is freed.
    assert!(unsafe { CStr::from_ptr(listing) }.to_str().unwrap().contains("dp4"));
    shaderjit_text_free(listing);
    shaderjit_text_free(std::ptr::null_mut());
    // SAFETY: the version is a string.
    assert_eq!(unsafe { CStr::from_ptr(shaderjit_version()) }.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
