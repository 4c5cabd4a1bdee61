//! What another executor's sampler gives: the pixel shader `ps_sample` on 8 by 8 pixels, run here by hand, since its
//! derivatives are the same everywhere.
//!
//! That executor takes logarithms to be straight between powers of two, so samples of several levels are compared at
//! the level that it computes, not by their derivatives.

use super::{Asked, bits, floats};
use crate::texture::{AddressMode, Image, ImageLayout, SamplerState, TexelFormat};
use shaderjit_ir::Op;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/data/dxbc/ps_sample/", $name))
    };
}

/// The rows of one render target.
fn expected(target: &str) -> Vec<[f32; 4]> {
    let text = str::from_utf8(file!("run.r0.ps_5_0.fxc101.dxvk.txt")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(target));
    lines
        .map(|line| {
            let words = line.split_once('[').unwrap().1.trim_end_matches(']').split_whitespace();
            let words: Vec<f32> = words.map(|word| f32::from_bits(u32::from_str_radix(word, 16).unwrap())).collect();
            words.try_into().unwrap()
        })
        .collect()
}

/// What the executor takes for the logarithm of a length in texels: half that of its square.
fn logarithm(texels: f32) -> f32 {
    let square = texels * texels;
    let power = square.log2().floor();
    (power + square / power.exp2() - 1.0) / 2.0
}

fn add<const N: usize>(rows: [[f32; 4]; N]) -> [f32; 4] {
    std::array::from_fn(|component| rows.iter().map(|row| row[component]).sum())
}

#[test]
fn another_executor_gives_nearly_the_same() {
    let t0 = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba32Float, 16, 16).levels(5), &file!("in.r0.0.bin")[..])
        .unwrap();
    let t1 = Image::new(ImageLayout::cube(TexelFormat::Rgba8Unorm, 4), &file!("in.r0.1.bin")[..]).unwrap();
    let t2 = Image::new(ImageLayout::texture_3d(TexelFormat::Rgba8Unorm, 4, 4, 4), &file!("in.r0.2.bin")[..]).unwrap();
    let t3 = Image::new(ImageLayout::texture_1d(TexelFormat::R32Float, 8), &file!("in.r0.3.bin")[..]).unwrap();
    let t4 = ImageLayout::texture_2d(TexelFormat::Rgba8Snorm, 4, 4).slices(3);
    let t4 = Image::new(t4, &file!("in.r0.4.bin")[..]).unwrap();
    let s0 = SamplerState::linear().address(AddressMode::Wrap);
    let s1 = SamplerState::point();
    let s2 = SamplerState::linear().address(AddressMode::Mirror);

    let level = |image: &Image<'_>, state, at: [f32; 4], lod: f32, offsets| {
        let operands = [bits(at), bits([lod, 0.0, 0.0, 0.0]), [0; 4]];
        floats(Asked { offsets, ..Asked::new(Op::SampleLevel) }.of(image, state, operands))
    };
    let gradients = |image: &Image<'_>, state, at: [f32; 4], dx: [f32; 4], dy: [f32; 4], offsets| {
        let operands = [bits(at), bits(dx), bits(dy)];
        floats(Asked { offsets, ..Asked::new(Op::SampleGradients) }.of(image, state, operands))
    };
    let targets = ["rt0", "rt1", "rt2"].map(expected);
    let mut worst = [0.0f32; 3];
    for (pixel, expected) in (0..64).map(|pixel| (pixel, targets.each_ref().map(|rows| rows[pixel]))) {
        let (u, v) = ((pixel % 8) as f32 / 8.0 + 0.0625, (pixel / 8) as f32 / 8.0 + 0.0625);
        const STEP: f32 = 1.0 / 8.0;
        let row = |x: f32, y: f32, z: f32| [x, y, z, 0.0];
        let d = [u - 0.6, v - 0.6, 0.35];
        let [dx, dy] = [row(STEP, 0.0, 0.0), row(0.0, STEP, 0.0)];
        // A pixel is 1.7 times 2 texels wide; 2 texels, which is level 1, to which 1.5 is added; 3.2 texels.
        let a = add([
            level(&t0, s0, row(1.7 * u, 1.7 * v, 0.0), logarithm(3.4), [0; 3]),
            level(&t0, s0, row(u, v, 0.0), logarithm(2.0) + 1.5, [0; 3]),
            level(&t0, s0, row(u, v, 0.0), 2.25, [1, -2, 0]),
        ]);
        let b = add([
            level(&t0, s2, row(u * 3.0 - 1.0, v * 3.0 - 1.0, 0.0), logarithm(3.2), [-3, 4, 0]),
            gradients(&t1, s0, row(d[0], d[1], d[2]), dx, dy, [0; 3]),
            gradients(&t2, s0, row(d[2], d[0], d[1]), row(0.0, STEP, 0.0), row(0.0, 0.0, STEP), [0; 3]),
        ]);
        let [t4x, t4y, ..] = gradients(&t4, s1, row(u, v, 1.6), dx, dy, [0; 3]);
        let [x, y, z, w] = level(&t1, s1, row(-d[1], -d[2], -d[0]), 0.0, [0; 3]);
        let first = gradients(&t3, s0, row(u, 0.0, 0.0), dx, row(0.0, 0.0, 0.0), [0; 3])[0];
        let second = level(&t3, s1, row(v * 2.0, 0.0, 0.0), 0.0, [0; 3])[0];
        let c = add([[first, second, t4x, t4y], [w, z, y, x]]);
        for (number, found) in [a, b, c].into_iter().enumerate() {
            for component in 0..4 {
                let difference = (found[component] - expected[number][component]).abs();
                worst[number] = worst[number].max(difference);
            }
        }
    }
    // Bytes it filters by weights of eight bits, and here are two textures of them.
    let bounds = [1e-6, 2.0 / 255.0, 1e-6];
    assert!(worst.iter().zip(bounds).all(|(&worst, bound)| worst < bound), "{worst:?}");
}
