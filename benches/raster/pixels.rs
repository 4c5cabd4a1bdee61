//! The lit pixel shader by itself: the quads of a surface in perspective, on every engine and in plain Rust.

use crate::contest::{compile, ours, race as take_turns};
use crate::engines::Engines;
use crate::plain::{Bound, PLANES};
use crate::sampler::{Format, Texture};
use crate::{LEVELS, LIGHT, TEXELS, asked, bind, sampler_state, shaders};
use shaderjit::{Backend, CompiledShader, Image, Lanes, OutputLayout, Plane, Primitive, Quad, Quads, Shader};
use std::cell::RefCell;
use std::hint::black_box;

/// Edge of the square that is shaded, in pixels.
const EDGE: u32 = 256;
const PIXELS: usize = (EDGE * EDGE) as usize;
/// Edge of the tiles that it is shaded in.
const TILE: u32 = 64;

/// A plane that is tilted away from the eye: 1/w falls from the top to the bottom.
fn surface() -> (Primitive, Vec<Plane>) {
    let across = |value: f32, dx: f32, dy: f32| {
        let edge = EDGE as f32;
        Plane { value, dx: dx / edge, dy: dy / edge }
    };
    let reciprocal_w = across(0.5, 0.05, -0.2);
    let primitive = Primitive { reciprocal_w, ..Primitive::default() };
    let planes = vec![
        across(-0.5, 1.0, 0.0),
        across(0.5, 0.0, -0.7),
        across(0.2, 0.1, 0.1),
        across(0.1, 0.02, 0.0),
        across(0.1, 0.0, 0.05),
        across(-0.4, 0.0, 0.1),
        across(0.5, 0.05, -0.2),
        across(0.0, 0.01, 0.0),
        across(0.05, 0.0, 0.01),
        // Between the two largest levels on most of it.
        across(0.0, 0.3, 0.02),
        across(0.1, -0.02, 0.35),
    ];
    assert_eq!(planes.len(), PLANES);
    (primitive, planes)
}

/// Where the quads are, in the order in which a rasteriser comes by: tile by tile, and in each row by row.
fn places() -> impl Iterator<Item = [u32; 2]> {
    let rows = |edge: u32, step: u32| {
        let steps = (0..edge).step_by(step as usize);
        steps.clone().flat_map(move |y| steps.clone().map(move |x| [x, y]))
    };
    rows(EDGE, TILE).flat_map(move |[left, top]| rows(TILE, 2).map(move |[x, y]| [left + x, top + y]))
}

/// Compares what everybody makes of the pixels, and has them take turns.
pub fn race(textures: &[Vec<u8>; 2], images: &[Image<'_>; 2], light: &[u8]) {
    let (primitive, planes) = surface();
    let quads: Vec<Quad> =
        places().map(|[x, y]| Quad { x, y, coverage: [1; 4], live: 0b1111, ..Quad::default() }).collect();
    let quads = Quads { quads: &quads, primitives: &[primitive], planes: &planes, samples: 1 };
    let twin = |texels| Texture::new(Format::Rgba8, [TEXELS as usize; 2], LEVELS as usize, texels);
    let [albedo, normals] = textures.each_ref().map(|texels| twin(texels));
    let [light_from, eye] = LIGHT.map(|[x, y, z, _]| [x, y, z]);
    let bound = Bound { albedo, normals, sampler: sampler_state(), light: light_from, eye };

    let shader = Shader::parse(&shaders::lit()).expect("it parses");
    let engines = Engines::new();
    let run = |code: &CompiledShader| bind(code.call(), light, images).pixels(&quads).expect("it runs");
    // As plain Rust, into memory that is there.
    let bytes = RefCell::new(vec![0; size_of::<[u32; 4]>() * PIXELS]);
    let run_into = |code: &CompiledShader| {
        let (call, layout) = (bind(code.call(), light, images), OutputLayout::packed(code));
        call.pixels_into(&quads, &layout, &mut bytes.borrow_mut()).expect("it runs");
    };
    let mut colors = vec![[0.0; 4]; PIXELS];
    bound.shade(&quads, &mut colors);
    let code = compile(engines.narrow(), &shader, Lanes::Eight, Backend::Interpreter);
    let outputs = run(&code);
    for (pixel, color) in outputs.output("SV_Target", 0).expect("it has one").iter().enumerate() {
        let color = color.map(f32::from_bits);
        let is_near = color.iter().zip(&colors[pixel]).all(|(a, b)| (a - b).abs() < 2e-3);
        assert!(is_near, "pixel {pixel}: {color:?} is not {:?}", colors[pixel]);
    }

    let mut contenders = ours(&engines, &shader, |code| run_into(black_box(code)));
    contenders.push(("plain Rust".to_string(), Box::new(|| bound.shade(black_box(&quads), &mut colors))));
    take_turns("lit, normal-mapped, two textures", "pixel", PIXELS, &mut contenders, asked::times());
}
