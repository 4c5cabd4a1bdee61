//! Accesses of images and of a texture that is made up, against values computed by hand.

mod executor;
mod lanes;
mod plain;

use super::*;
use shaderjit_ir::texture::{Access, LANES, OPERANDS, Rows, Textures};
use shaderjit_ir::{Op, Resource, Sampler};

/// A 2D image of one float a texel, row by row.
fn image(width: u32, texels: &[f32]) -> Image<'static> {
    let bytes: Vec<u8> = texels.iter().flat_map(|texel| texel.to_le_bytes()).collect();
    Image::new(ImageLayout::texture_2d(TexelFormat::R32Float, width, texels.len() as u32 / width), bytes).unwrap()
}

/// An image whose first bytes count up, of any layout.
fn counting(layout: ImageLayout) -> Image<'static> {
    let texels = layout.bytes().unwrap() / 4;
    let bytes: Vec<u8> = (0..texels).flat_map(|texel| (texel as f32).to_le_bytes()).collect();
    Image::new(layout, bytes).unwrap()
}

/// One access with offsets and component.
struct Asked {
    op: Op,
    offsets: [i8; 3],
    component: u8,
}

impl Asked {
    fn new(op: Op) -> Asked {
        Asked { op, offsets: [0; 3], component: 0 }
    }

    fn of(&self, texture: &dyn Texture, state: SamplerState, operands: [[u32; 4]; 3]) -> [u32; 4] {
        let info = texture.info();
        assert_eq!(info.check(), Ok(()));
        let mut bound = BoundTextures::new(1, 1);
        bound.bind(0, texture, info);
        bound.bind_sampler(0, state);
        let access = Access {
            op: self.op,
            texture: Resource::from_u32(0),
            sampler: Some(Sampler::from_u32(0)),
            offsets: self.offsets,
            component: self.component,
            offset: 0,
            function: None,
            words: 4,
        };
        // In a lane that is not the first; the others hold garbage.
        let mut rows = Rows([[[0xffc0_dead; LANES]; 4]; OPERANDS]);
        for (to, from) in rows.0.iter_mut().zip(operands) {
            to.iter_mut().zip(from).for_each(|(word, value)| word[5] = value);
        }
        bound.access(&access, 6, &mut rows);
        rows.get(0, 5)
    }
}

fn bits(row: [f32; 4]) -> [u32; 4] {
    row.map(f32::to_bits)
}

fn floats(row: [u32; 4]) -> [f32; 4] {
    row.map(f32::from_bits)
}

/// At a level: the first component.
fn sample(texture: &dyn Texture, state: SamplerState, at: [f32; 4], lod: f32) -> f32 {
    let operands = [bits(at), bits([lod, 0.0, 0.0, 0.0]), [0; 4]];
    floats(Asked::new(Op::SampleLevel).of(texture, state, operands))[0]
}

fn load(texture: &dyn Texture, address: [u32; 4], offsets: [i8; 3]) -> [u32; 4] {
    Asked { offsets, ..Asked::new(Op::TextureLoad) }.of(texture, SamplerState::default(), [address, [0; 4], [0; 4]])
}

const ONE: u32 = 0x3f80_0000;

// ---- loads and sizes

#[test]
fn loads_end_at_every_edge() {
    let layout = ImageLayout::texture_3d(TexelFormat::R32Float, 4, 3, 2).levels(2);
    let image = counting(layout);
    let texel = |address, offsets| floats(load(&image, address, offsets));
    assert_eq!(texel([3, 2, 1, 0], [0; 3]), [23.0, 0.0, 0.0, 1.0]);
    assert_eq!(texel([1, 0, 0, 1], [0; 3]), [25.0, 0.0, 0.0, 1.0]);
    assert_eq!(texel([1, 1, 1, 0], [2, -1, -1]), [3.0, 0.0, 0.0, 1.0]);
    let outside = [[4, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2], [2, 0, 0, 1], [u32::MAX, 0, 0, 0]];
    for address in outside {
        assert_eq!(load(&image, address, [0; 3]), [0, 0, 0, ONE], "{address:?}");
    }
    // Below zero is far above.
    assert_eq!(load(&image, [0; 4], [-1, 0, 0]), [0, 0, 0, ONE]);
    assert_eq!(load(&image, [u32::MAX, 0, 0, 0], [1, 0, 0]), [0, 0, 0, ONE]);
}

#[test]
fn loads_do_not_touch_bits_and_know_what_formats_lack() {
    let bytes: Vec<u8> = [0x7f80_0001u32, 0x8000_0001].into_iter().flat_map(u32::to_le_bytes).collect();
    let float = Image::new(ImageLayout::texture_1d(TexelFormat::Rg32Float, 1), &bytes[..]).unwrap();
    assert_eq!(load(&float, [0; 4], [0; 3]), [0x7f80_0001, 0x8000_0001, 0, ONE]);
    let integer = Image::new(ImageLayout::texture_1d(TexelFormat::R32Sint, 2), &bytes[..]).unwrap();
    assert_eq!(load(&integer, [1, 9, 9, 0], [0, 1, 1]), [0x8000_0001, 0, 0, 1]);
    assert_eq!(load(&integer, [2, 0, 0, 0], [0; 3]), [0, 0, 0, 1]);
}

#[test]
fn slices_and_samples_are_addressed_behind_the_coordinates() {
    let rows = counting(ImageLayout::texture_1d(TexelFormat::R32Float, 4).slices(3).levels(2));
    let texel = |texture: &dyn Texture, address| floats(load(texture, address, [0; 3]))[0];
    // A slice has four texels of level 0 and two of level 1.
    assert_eq!(texel(&rows, [1, 2, 77, 1]), 17.0);
    assert_eq!(texel(&rows, [1, 3, 0, 0]), 0.0);
    let samples = counting(ImageLayout::texture_2d_ms(TexelFormat::R32Float, 2, 2, 4).slices(2));
    assert_eq!(texel(&samples, [1, 0, 1, 3]), 16.0 + 7.0);
    assert_eq!(load(&samples, [1, 0, 1, 4], [0; 3]), [0, 0, 0, ONE]);
    assert_eq!(load(&samples, [1, 0, 2, 3], [0; 3]), [0, 0, 0, ONE]);
}

#[test]
fn sizes_are_those_of_a_level_and_arrays_keep_their_length() {
    let size = |layout: ImageLayout, level| {
        Asked::new(Op::TextureSize).of(&counting(layout), SamplerState::default(), [[level, 0, 0, 0], [0; 4], [0; 4]])
    };
    let format = TexelFormat::R32Float;
    assert_eq!(size(ImageLayout::texture_1d(format, 9).levels(4), 3), [1, 0, 0, 4]);
    assert_eq!(size(ImageLayout::texture_1d(format, 9).slices(7), 0), [9, 7, 0, 1]);
    assert_eq!(size(ImageLayout::texture_2d(format, 9, 5).levels(2), 1), [4, 2, 0, 2]);
    assert_eq!(size(ImageLayout::texture_2d(format, 9, 5).levels(2).slices(3), 1), [4, 2, 3, 2]);
    assert_eq!(size(ImageLayout::texture_3d(format, 9, 5, 3).levels(3), 2), [2, 1, 1, 3]);
    assert_eq!(size(ImageLayout::cube(format, 8), 0), [8, 8, 0, 1]);
    assert_eq!(size(ImageLayout::cube(format, 8).slices(2), 0), [8, 8, 2, 1]);
    assert_eq!(size(ImageLayout::texture_2d_ms(format, 9, 5, 4), 0), [9, 5, 0, 1]);
    for level in [2, 31, 32, u32::MAX] {
        assert_eq!(size(ImageLayout::texture_2d(format, 9, 5).levels(2).slices(3), level), [0, 0, 0, 2]);
    }
    let samples = counting(ImageLayout::texture_2d_ms(format, 2, 2, 8));
    assert_eq!(Asked::new(Op::TextureSamples).of(&samples, SamplerState::default(), [[0; 4]; 3]), [8, 0, 0, 0]);
}

// ---- filters

#[test]
fn address_modes_are_applied_after_offsets_in_each_direction() {
    let image = image(4, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let state = SamplerState {
        address_modes: [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Clamp],
        ..SamplerState::point()
    };
    let at = |u: f32, v: f32, offsets| {
        let operands = [bits([u, v, 0.0, 0.0]), [0; 4], [0; 4]];
        floats(Asked { offsets, ..Asked::new(Op::SampleLevel) }.of(&image, state, operands))[0]
    };
    assert_eq!(at(0.9, 0.1, [0; 3]), 3.0);
    assert_eq!(at(0.9, 0.1, [1, 0, 0]), 0.0);
    assert_eq!(at(0.1, 0.9, [-1, 1, 0]), 7.0);
    assert_eq!(at(1.3, -7.0, [0, 1, 0]), 1.0);
}

#[test]
fn linear_filters_weigh_four_texels() {
    let image = image(2, &[0.0, 8.0, 16.0, 32.0]);
    let state = SamplerState::linear();
    let at = |u, v| sample(&image, state, [u, v, 0.0, 0.0], 0.0);
    assert_eq!(at(0.25, 0.25), 0.0);
    assert_eq!(at(0.5, 0.25), 4.0);
    assert_eq!(at(0.5, 0.5), (4.0 + 24.0) / 2.0);
    assert_eq!(at(0.375, 0.75), 20.0);
    // Halfway beyond the edge, the other side counts half if it repeats.
    assert_eq!(sample(&image, state.address(AddressMode::Wrap), [0.0, 0.25, 0.0, 0.0], 0.0), 4.0);
    assert_eq!(sample(&image, state.address(AddressMode::Mirror), [0.0, 0.25, 0.0, 0.0], 0.0), 0.0);
    let border = SamplerState { border: [100.0, 0.0, 0.0, 0.0], ..state.address(AddressMode::Border) };
    assert_eq!(sample(&image, border, [0.0, 0.25, 0.0, 0.0], 0.0), 50.0);
    assert_eq!(sample(&image, border, [0.0, 0.0, 0.0, 0.0], 0.0), 75.0);
    assert_eq!(sample(&image, border, [-5.0, 0.5, 0.0, 0.0], 0.0), 100.0);
    // What does not count may be infinite.
    let bytes = [1.0, f32::INFINITY].map(f32::to_le_bytes).concat();
    let infinite = Image::new(ImageLayout::texture_1d(TexelFormat::R32Float, 2), bytes).unwrap();
    assert_eq!(sample(&infinite, state, [0.25, 0.0, 0.0, 0.0], 0.0), 1.0);
}

#[test]
fn blocks_are_filtered_in_three_directions() {
    let image = counting(ImageLayout::texture_3d(TexelFormat::R32Float, 2, 2, 2));
    let at = |w| sample(&image, SamplerState::linear(), [0.5, 0.5, w, 0.0], 0.0);
    assert_eq!([0.25, 0.5, 0.75].map(at), [1.5, 3.5, 5.5]);
}

#[test]
fn the_level_of_detail_is_biased_then_bounded_and_chooses_filter_and_levels() {
    // Level 0 is 0 to 15, level 1 16 to 19, level 2 20.
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 4, 4).levels(3));
    let at = |state, lod| sample(&image, state, [0.125, 0.125, 0.0, 0.0], lod);
    let point = SamplerState::point();
    assert_eq!([-3.0, 0.49, 0.5, 1.49, 1.5, 99.0].map(|lod| at(point, lod)), [0.0, 0.0, 16.0, 16.0, 20.0, 20.0]);
    let trilinear = SamplerState { mip: Filter::Linear, ..point };
    assert_eq!([-1.0, 0.25, 1.0, 1.5, 2.0, 7.0].map(|lod| at(trilinear, lod)), [0.0, 4.0, 16.0, 18.0, 20.0, 20.0]);
    let biased = SamplerState { lod_bias: 1.0, ..trilinear };
    assert_eq!([-1.0, -0.75, 0.5].map(|lod| at(biased, lod)), [0.0, 4.0, 18.0]);
    assert_eq!(at(SamplerState { lod_bias: -99.0, ..trilinear }, 17.0), 16.0);
    let bounded = SamplerState { min_lod: 0.5, max_lod: 1.0, ..trilinear };
    assert_eq!([-9.0, 0.75, 9.0].map(|lod| at(bounded, lod)), [8.0, 12.0, 16.0]);
    // The minimum wins; what is no number is the most.
    assert_eq!(at(SamplerState { min_lod: 2.0, max_lod: 1.0, ..trilinear }, 0.0), 20.0);
    assert_eq!(at(bounded, f32::NAN), 16.0);
    // At 0 and below the one filter, above it the other.
    let mixed = SamplerState { mag: Filter::Linear, ..point };
    let between = |lod| sample(&image, mixed, [0.25, 0.125, 0.0, 0.0], lod);
    assert_eq!([0.0, 0.25].map(between), [0.5, 1.0]);
}

#[test]
fn accesses_have_a_least_level_behind_the_samplers_bounds() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 16, 8).levels(4));
    // A texel is as long as four of level 0.
    let at = |state, least| {
        let operands = [[0.0; 4], [4.0 / 16.0, 0.0, 0.0, least], [0.0; 4]].map(bits);
        floats(Asked::new(Op::SampleGradients).of(&image, state, operands))[0]
    };
    let first = [0.0, 128.0, 160.0, 168.0];
    let point = SamplerState::point();
    assert_eq!(
        [-9.0, 0.0, 2.0, 3.0, f32::NAN].map(|least| at(point, least)),
        [2, 2, 2, 3, 2].map(|level| first[level])
    );
    let bounded = SamplerState { max_lod: 1.0, ..point };
    assert_eq!([0.0, 1.0].map(|least| at(bounded, least)), [first[1]; 2]);
    // Behind the sampler's last level, and behind the view's, there is none.
    assert_eq!([at(bounded, 1.5), at(point, 3.5)], [0.0; 2]);
    // A sampler whose last level is above the first takes none from an access that bounds nothing.
    let above = SamplerState { max_lod: -1.0, min_lod: -2.0, ..point };
    assert_eq!([0.0, -3.0].map(|least| at(above, least)), [first[0]; 2]);
}

#[test]
fn slices_round_to_even_and_stay_inside() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 1, 1).slices(4));
    let at = |slice| sample(&image, SamplerState::linear(), [0.5, 0.5, slice, 0.0], 0.0);
    let slices = [-7.0, 0.5, 0.51, 1.5, 2.5, 3.4, 99.0, f32::NAN, f32::INFINITY];
    assert_eq!(slices.map(at), [0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0, 3.0]);
}

#[test]
fn derivatives_give_the_level_at_which_texels_are_as_long() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 16, 8).levels(4));
    let state = SamplerState::point();
    let level = |dx: [f32; 2], dy: [f32; 2]| {
        let row = |[u, v]: [f32; 2]| bits([u, v, 9.0, 0.0]);
        let operands = [row([0.0, 0.0]), row(dx), row(dy)];
        floats(Asked::new(Op::SampleGradients).of(&image, state, operands))[0]
    };
    let first = [0.0, 128.0, 160.0, 168.0];
    assert_eq!(level([1.0 / 16.0, 0.0], [0.0, 1.0 / 8.0]), first[0]);
    assert_eq!(level([2.0 / 16.0, 0.0], [0.0, 0.0]), first[1]);
    assert_eq!(level([0.0, 0.0], [0.0, -4.0 / 8.0]), first[2]);
    // 3 and 4 texels are 5.
    assert_eq!(level([3.0 / 16.0, 4.0 / 8.0], [0.0, 0.0]), first[2]);
    assert_eq!(level([f32::MAX, f32::MAX], [0.0, 0.0]), first[3]);
    assert_eq!(level([0.0; 2], [0.0; 2]), first[0]);
}

#[test]
fn behind_derivatives_stand_the_least_level_and_a_bias() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 16, 8).levels(4));
    let state = SamplerState::point();
    let operands =
        |least: f32, bias: f32| [bits([0.0; 4]), bits([2.0 / 16.0, 0.0, 0.0, least]), bits([0.0, 0.0, 0.0, bias])];
    let asked = |op, state: SamplerState, least, bias| floats(Asked::new(op).of(&image, state, operands(least, bias)));
    let level = |least, bias| asked(Op::SampleGradients, state, least, bias)[0];
    let first = [0.0, 128.0, 160.0, 168.0];
    assert_eq!([level(0.0, 0.0), level(0.0, 1.0), level(0.0, -1.0)], [first[1], first[2], first[0]]);
    assert_eq!([level(2.0, 0.0), level(3.0, 0.0), level(1.0, 1.0)], [first[2], first[3], first[2]]);
    assert_eq!([level(f32::NAN, 0.0), level(0.0, f32::INFINITY), level(-9.0, -99.0)], [first[1], first[3], first[0]]);
    // The level of a sample, and what it was before bounds; the sampler's bias counts for both.
    let lod = |state, least, bias| asked(Op::TextureLod, state, least, bias);
    assert_eq!(lod(state, 0.0, 0.0), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(lod(state, 0.0, -3.0), [0.0, -2.0, 0.0, 0.0]);
    assert_eq!(lod(state, 2.5, 0.0), [2.5, 1.0, 0.0, 0.0]);
    assert_eq!(lod(SamplerState { lod_bias: 7.0, ..state }, 0.0, 0.0), [3.0, 8.0, 0.0, 0.0]);
    assert_eq!(lod(SamplerState { max_lod: 0.25, ..state }, 0.0, 0.0), [0.25, 1.0, 0.0, 0.0]);
}

#[test]
fn integers_are_not_filtered() {
    let bytes: Vec<u8> = [5u32, 70, 900, 1000].into_iter().flat_map(u32::to_le_bytes).collect();
    let image = Image::new(ImageLayout::texture_2d(TexelFormat::R32Uint, 2, 2), bytes).unwrap();
    let operands = [bits([0.6, 0.4, 0.0, 0.0]), [0; 4], [0; 4]];
    assert_eq!(Asked::new(Op::SampleLevel).of(&image, SamplerState::linear(), operands), [70, 0, 0, 1]);
    let border = SamplerState { border: [7.0, 1.0, 1.0, 1.0], ..SamplerState::point().address(AddressMode::Border) };
    let operands = [bits([-0.6, 0.4, 0.0, 0.0]), [0; 4], [0; 4]];
    assert_eq!(Asked::new(Op::SampleLevel).of(&image, border, operands), [7, 0, 0, 1]);
}

#[test]
fn borders_have_the_range_and_the_components_of_the_format() {
    let border = SamplerState { border: [-3.0, 0.5, 7.0, 0.25], ..SamplerState::point().address(AddressMode::Border) };
    let outside = |format| {
        let image = Image::new(ImageLayout::texture_1d(format, 1), vec![0; format.bytes()]).unwrap();
        floats(Asked::new(Op::SampleLevel).of(&image, border, [bits([2.0, 0.0, 0.0, 0.0]), [0; 4], [0; 4]]))
    };
    assert_eq!(outside(TexelFormat::Rgba32Float), [-3.0, 0.5, 7.0, 0.25]);
    assert_eq!(outside(TexelFormat::Rgba8Unorm), [0.0, 0.5, 1.0, 0.25]);
    assert_eq!(outside(TexelFormat::Rgba8Snorm), [-1.0, 0.5, 1.0, 0.25]);
    assert_eq!(outside(TexelFormat::Rg32Float), [-3.0, 0.5, 0.0, 1.0]);
}

// ---- gathers and comparisons

fn gather(texture: &dyn Texture, state: SamplerState, asked: &Asked, at: [f32; 4]) -> [f32; 4] {
    floats(asked.of(texture, state, [bits(at), [0; 4], [0; 4]]))
}

#[test]
fn gathers_go_counterclockwise_from_the_lower_left() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 4, 4).levels(3));
    // Whatever the sampler says but for addresses.
    let state = SamplerState { min_lod: 2.0, ..SamplerState::point().address(AddressMode::Wrap) };
    let at = |asked: &Asked, u, v| gather(&image, state, asked, [u, v, 0.0, 0.0]);
    let plain = Asked::new(Op::Gather);
    // Texels 5 and 6, and below them 9 and 10.
    assert_eq!(at(&plain, 0.5, 0.5), [9.0, 10.0, 6.0, 5.0]);
    assert_eq!(at(&plain, 0.0, 0.0), [3.0, 0.0, 12.0, 15.0]);
    assert_eq!(at(&Asked { offsets: [1, -1, 0], ..Asked::new(Op::Gather) }, 0.5, 0.5), [6.0, 7.0, 3.0, 2.0]);
    assert_eq!(at(&Asked { component: 3, ..Asked::new(Op::Gather) }, 0.5, 0.5), [1.0; 4]);
    assert_eq!(at(&Asked { component: 2, ..Asked::new(Op::Gather) }, 0.5, 0.5), [0.0; 4]);
}

#[test]
fn offsets_of_gathers_are_six_bits_with_a_sign() {
    let image = counting(ImageLayout::texture_2d(TexelFormat::R32Float, 64, 64));
    let at = |u: u32, v: u32| {
        let operands = [bits([32.0 / 64.0, 32.0 / 64.0, 0.0, 0.0]), [u, v, 99, 99], [0; 4]];
        let row = floats(Asked { offsets: [3, 3, 3], ..Asked::new(Op::GatherAt) }.of(
            &image,
            SamplerState::point(),
            operands,
        ));
        let lower_left = row[0] as i32;
        [lower_left % 64 - 31, lower_left / 64 - 32]
    };
    assert_eq!(at(0, 0), [0, 0]);
    assert_eq!(at(5, -3i32 as u32), [5, -3]);
    assert_eq!(at(31, -31i32 as u32), [31, -31]);
    assert_eq!(at(0x20 | 0x40, 1 << 30), [-31, 0], "clamped by one");
    assert_eq!(at(0xffff_ffc0 | 7, 64 + 2), [7, 2]);
}

#[test]
fn comparisons_come_before_filters() {
    let image = image(2, &[0.0, 0.4, 0.6, 1.0]);
    let state = SamplerState::linear().compare(Comparison::Less);
    let compare = |op: Op, state: SamplerState, reference: f32, at: [f32; 4]| {
        floats(Asked::new(op).of(&image, state, [bits(at), bits([reference, 0.0, 0.0, 0.0]), [0; 4]]))
    };
    let middle = [0.5, 0.5, 0.0, 0.0];
    assert_eq!(compare(Op::SampleCompare, state, 0.5, middle)[0], 0.5);
    assert_eq!(compare(Op::SampleCompare, state, 0.2, middle)[0], 0.75);
    assert_eq!(compare(Op::SampleCompare, state, 0.2, [0.375, 0.25, 0.0, 0.0])[0], 0.25);
    assert_eq!(compare(Op::GatherCompare, state, 0.5, middle), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(compare(Op::GatherCompare, state.compare(Comparison::GreaterEqual), 0.4, middle), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(compare(Op::GatherCompare, state.compare(Comparison::NotEqual), f32::NAN, middle), [1.0; 4]);
    let operands = [bits(middle), bits([0.5; 4]), [-1i32 as u32, 0, 0, 0]];
    let row = Asked::new(Op::GatherCompareAt).of(&image, state, operands);
    assert_eq!(floats(row), [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn references_are_as_exact_as_texels() {
    let compare = |format: TexelFormat, bytes: &[u8], reference: f32| {
        let image = Image::new(ImageLayout::texture_1d(format, 1), bytes.to_vec()).unwrap();
        let state = SamplerState::point().compare(Comparison::Equal);
        let operands = [[0; 4], bits([reference, 0.0, 0.0, 0.0]), [0; 4]];
        floats(Asked::new(Op::SampleCompare).of(&image, state, operands))[0] == 1.0
    };
    let sixth = 0x2aabu16.to_le_bytes();
    assert!(compare(TexelFormat::R16Unorm, &sixth, 1.0 / 6.0));
    assert!(!compare(TexelFormat::R16Unorm, &sixth, 1.0 / 6.0 + 2.0 / 65535.0));
    assert!(compare(TexelFormat::R16Unorm, &[0xff; 2], 1.5));
    assert!(compare(TexelFormat::R16Unorm, &[0; 2], -1.0));
    assert!(compare(TexelFormat::R16Unorm, &[0; 2], f32::NAN));
    assert!(compare(TexelFormat::Rg8Snorm, &[0x81, 0], -5.0));
    for byte in 0..=255u8 {
        let exact = if byte == 0x80 { -1.0 } else { f32::from(byte as i8) / 127.0 };
        assert!(compare(TexelFormat::Rg8Snorm, &[byte, 0], exact + 0.003), "{byte}");
        assert!(compare(TexelFormat::R8Unorm, &[byte], f32::from(byte) / 255.0 - 0.0019), "{byte}");
    }
    assert!(!compare(TexelFormat::D32Float, &1.0f32.to_le_bytes(), 1.5));
}

// ---- cubes

/// Faces of 2 by 2 texels: 10 times the face, plus 0 to 3.
fn cube() -> Image<'static> {
    let texels = (0..24).map(|texel| (10 * (texel / 4) + texel % 4) as f32);
    let bytes: Vec<u8> = texels.flat_map(f32::to_le_bytes).collect();
    Image::new(ImageLayout::cube(TexelFormat::R32Float, 2), bytes).unwrap()
}

#[test]
fn cubes_are_looked_up_by_direction_and_filtered_across_edges() {
    let cube = cube();
    let at = |state, [x, y, z]: [f32; 3]| sample(&cube, state, [x, y, z, 0.0], 0.0);
    let point = SamplerState::point();
    assert_eq!(at(point, [0.5, 0.5, 1.0]), 41.0);
    assert_eq!(at(point, [-0.5, -0.5, 1.0]), 42.0);
    assert_eq!(at(point, [1.0, 0.5, 0.5]), 0.0);
    assert_eq!(at(point, [9.0, 9.0, -9.0]), 50.0);
    let linear = SamplerState::linear();
    assert_eq!(at(linear, [0.0, 0.0, 1.0]), 41.5);
    // In the middle of the edge between +z and +x: texels 41 and 43 there, 0 and 2 here.
    assert_eq!(at(linear, [1.0, 0.0, 1.0]), (41.0 + 43.0 + 0.0 + 2.0) / 4.0);
    // In the corner of +x, +y and +z: a fourth of each of the three, and the mean of them.
    let corner: f32 = at(linear, [1.0, 1.0, 1.0]);
    assert!((corner - (41.0 + 0.0 + 23.0) / 3.0).abs() < 1e-4, "{corner}");
}

#[test]
fn cubes_are_gathered_and_stacked() {
    let cube = cube();
    let gathered = |direction: [f32; 3]| {
        let [x, y, z] = direction;
        gather(&cube, SamplerState::point(), &Asked::new(Op::Gather), [x, y, z, 0.0])
    };
    assert_eq!(gathered([0.0, 0.0, 1.0]), [42.0, 43.0, 41.0, 40.0]);
    // From +z over its right edge to +x.
    assert_eq!(gathered([0.9, 0.0, 1.0]), [43.0, 2.0, 0.0, 41.0]);
    let corner = gathered([0.9, 0.9, 1.0]);
    assert_eq!([corner[0], corner[1], corner[3]], [41.0, 0.0, 23.0]);
    assert!((corner[2] - 64.0 / 3.0).abs() < 1e-4);

    let stack = counting(ImageLayout::cube(TexelFormat::R32Float, 1).slices(3));
    let at = |slice| sample(&stack, SamplerState::point(), [0.0, -1.0, 0.0, slice], 0.0);
    assert_eq!([0.0, 1.0, 2.5, 9.0].map(at), [3.0, 9.0, 15.0, 15.0]);
}

#[test]
fn derivatives_of_directions_are_those_on_the_face() {
    let image = counting(ImageLayout::cube(TexelFormat::R32Float, 8).levels(4));
    let state = SamplerState::point();
    let level = |direction: [f32; 3], change: [f32; 3]| {
        let row = |[x, y, z]: [f32; 3]| bits([x, y, z, 0.0]);
        let value = floats(Asked::new(Op::SampleGradients).of(&image, state, [row(direction), row(change), [0; 4]]))[0];
        let within = value as u32 % 85;
        [64, 80, 84].iter().filter(|&&start| within >= start).count()
    };
    // Across a face of 8 texels is 2.
    assert_eq!(level([0.0, 0.0, 1.0], [0.25, 0.0, 0.0]), 0);
    assert_eq!(level([0.0, 0.0, 1.0], [0.5, 0.0, 0.0]), 1);
    assert_eq!(level([0.0, 0.0, 4.0], [0.5, 0.0, 0.0]), 0);
    assert_eq!(level([0.0, -1.0, 0.0], [0.0, 0.0, 1.0]), 2);
    // Towards the middle nothing moves, elsewhere it does.
    assert_eq!(level([0.0, 0.0, -1.0], [0.0, 0.0, 1.0]), 0);
    assert_eq!(level([0.9, 0.0, -1.0], [0.0, 0.0, 1.0]), 2);
}

// ---- what is bound

#[test]
fn what_is_not_bound_reads_zero_and_has_no_size() {
    let bound = BoundTextures::new(2, 1);
    for &op in &shaderjit_ir::texture::OPS {
        // One that is not bound, one that there is not.
        for texture in [1, 9] {
            let texture = Resource::from_u32(texture);
            let access = Access {
                op,
                texture,
                sampler: Some(Sampler::from_u32(7)),
                offsets: [0; 3],
                component: 3,
                offset: 0,
                function: None,
                words: 4,
            };
            let mut rows = Rows([[[7; LANES]; 4]; OPERANDS]);
            bound.access(&access, LANES, &mut rows);
            assert_eq!(rows.0[0], [[0; LANES]; 4], "{op}");
        }
    }
}

#[test]
fn any_operands_have_an_answer() {
    let images = [
        ImageLayout::texture_1d(TexelFormat::R8Unorm, 5).levels(3),
        ImageLayout::texture_1d(TexelFormat::Rgba16Float, 5).slices(2),
        ImageLayout::texture_2d(TexelFormat::Rgba8Srgb, 5, 3).levels(2),
        ImageLayout::texture_2d(TexelFormat::Rg11b10Float, 5, 3).slices(3),
        ImageLayout::texture_2d_ms(TexelFormat::D32Float, 5, 3, 2),
        ImageLayout::texture_2d_ms(TexelFormat::Rgb10a2Unorm, 5, 3, 2).slices(2),
        ImageLayout::texture_3d(TexelFormat::Rgba8Snorm, 5, 3, 2).levels(3),
        ImageLayout::cube(TexelFormat::R16Unorm, 3).levels(2),
        ImageLayout::cube(TexelFormat::Rgba32Sint, 3).slices(2),
    ]
    .map(|layout| {
        let bytes: Vec<u8> = (0..layout.bytes().unwrap()).map(|at| (at * 37) as u8).collect();
        Image::new(layout, bytes).unwrap()
    });
    arbtest::arbtest(|u| {
        let image = u.choose(&images)?;
        let op = *u.choose(&shaderjit_ir::texture::OPS)?;
        let offsets = if u.arbitrary()? { [-8, 7, 1] } else { [0; 3] };
        if image.info().shape.objection(op, offsets).is_some() {
            return Ok(());
        }
        let filters = [Filter::Point, Filter::Linear, Filter::Anisotropic];
        let modes =
            [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp, AddressMode::Border, AddressMode::MirrorOnce];
        let state = SamplerState {
            min: *u.choose(&filters)?,
            mag: *u.choose(&filters)?,
            mip: *u.choose(&filters)?,
            address_modes: [*u.choose(&modes)?, *u.choose(&modes)?, *u.choose(&modes)?],
            border: u.arbitrary()?,
            comparison: *u.choose(&[Comparison::Less, Comparison::Always])?,
            lod_bias: f32::from(u.arbitrary::<i8>()?),
            min_lod: f32::from(u.arbitrary::<i8>()?),
            max_lod: f32::from(u.arbitrary::<i8>()?),
            max_anisotropy: u.int_in_range(1..=16)?,
            reduction: *u.choose(&[Reduction::Average, Reduction::Minimum, Reduction::Maximum])?,
            precision: *u.choose(&[Precision::Float, Precision::Fixed8])?,
        };
        let mut word = || {
            let edges = [0, ONE, 0x3f00_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f7f_ffff, 1, u32::MAX];
            if u.arbitrary()? { Ok::<_, arbitrary::Error>(*u.choose(&edges)?) } else { u.arbitrary() }
        };
        let mut row = || Ok::<_, arbitrary::Error>([word()?, word()?, word()?, word()?]);
        let operands = [row()?, row()?, row()?];
        let asked = Asked { op, offsets, component: 1 };
        let answer = asked.of(image, state, operands);
        // Payloads of NaNs make no difference.
        let canonical =
            operands.map(|row| row.map(|bits| if f32::from_bits(bits).is_nan() { 0x7fc0_0000 } else { bits }));
        if op != Op::TextureLoad && op != Op::GatherAt && op != Op::GatherCompareAt && op != Op::TextureSize {
            let same = |(a, b): (u32, u32)| a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
            assert!(
                asked.of(image, state, canonical).into_iter().zip(answer).all(same),
                "{op} {state:?} {operands:x?}"
            );
        }
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn hostile_sizes_are_errors() {
    let format = TexelFormat::Rgba32Float;
    let size = |layout: ImageLayout| layout.bytes().unwrap_err().to_string();
    assert_eq!(size(ImageLayout::texture_2d(format, 0, 4)), "the width of a texture2d is 0; 1 to 16384 are possible");
    assert_eq!(
        size(ImageLayout::texture_2d(format, 4, 1 << 31)),
        "the height of a texture2d is 2147483648; 1 to 16384 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_3d(format, 4, 4, 4096)),
        "the depth of a texture3d is 4096; 1 to 2048 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_3d(format, 4, 4, 4).slices(2)),
        "the number of slices of a texture3d is 2; 1 to 1 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_2d(format, 4, 4).slices(0)),
        "the number of slices of a texture2darray is 0; 1 to 2048 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_2d(format, 9, 4).levels(5)),
        "the number of levels of a texture2d is 5; 1 to 4 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_2d_ms(format, 9, 4, 33)),
        "the number of samples of a texture2dms is 33; 1 to 32 are possible"
    );
    assert_eq!(
        size(ImageLayout::texture_2d_ms(format, 9, 4, 2).levels(2)),
        "the number of levels of a texture2dms is 2; 1 to 1 are possible"
    );
    assert_eq!(
        size(ImageLayout::cube(format, 4).slices(342)),
        "the number of slices of a texturecubearray is 342; 1 to 341 are possible"
    );

    // 2^39 bytes are a size, and too many for what is given.
    let large = ImageLayout::texture_2d(format, 16384, 16384).slices(128);
    if cfg!(target_pointer_width = "64") {
        assert_eq!(large.bytes(), Ok(1 << 39));
    }
    assert!(matches!(Image::new(large, &[0; 64][..]), Err(TextureError::Short { available: 64, .. })));
    let short = Image::new(ImageLayout::texture_2d(format, 2, 2), &[0; 63][..]).map(drop);
    assert_eq!(short, Err(TextureError::Short { needed: 64, available: 63 }));
    assert_eq!(short.unwrap_err().to_string(), "there are 63 bytes, the texels have 64");

    let info = TextureInfo::new(TextureShape::Cube, TexelKind::Float);
    assert_eq!(TextureInfo { width: 2, ..info }.check(), Err(TextureError::NotSquare { width: 2, height: 1 }));
    for (bits, kind) in
        [(0, TexelKind::Unorm { bits: 0 }), (33, TexelKind::Unorm { bits: 33 }), (1, TexelKind::Snorm { bits: 1 })]
    {
        assert_eq!(TextureInfo { kind, ..info }.check(), Err(TextureError::Bits { bits }));
    }
    for components in [0, 5] {
        assert!(matches!(TextureInfo { components, ..info }.check(), Err(TextureError::Size { limit: 4, .. })));
    }
}

#[test]
fn images_lie_layer_by_layer_level_by_level() {
    let layout = ImageLayout::texture_2d(TexelFormat::R32Float, 4, 2).levels(3).slices(2);
    let image = counting(layout);
    let texel = |x, y, layer, level| floats(image.texel(Texel { x, y, layer, level, ..Texel::default() }))[0];
    // A layer has 8, 2 and 1 texels.
    assert_eq!(texel(3, 1, 0, 0), 7.0);
    assert_eq!(texel(1, 0, 0, 1), 9.0);
    assert_eq!(texel(0, 0, 0, 2), 10.0);
    assert_eq!(texel(1, 1, 1, 0), 11.0 + 5.0);
    assert_eq!(texel(0, 0, 1, 2), 21.0);
}
