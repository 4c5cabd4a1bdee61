//! Images between pages that nobody may read: whatever coordinates, levels and derivatives a shader makes up, only
//! bytes of the image are read.

use region::{Allocation, Protection, page};
use shaderjit::{AddressMode, Filter, Image, ImageLayout, SamplerState, TexelFormat, TextureShape};
use shaderjit_ir::texture::{Access, LANES, OPERANDS, OPS, Rows, Textures};
use shaderjit_ir::{Resource, Sampler};

/// Pages that may be read, between two that may not.
struct Fenced(Allocation);

/// How many pages may be read.
const PAGES: usize = 16;

impl Fenced {
    fn new() -> Fenced {
        let pages = region::alloc((PAGES + 2) * page::size(), Protection::READ_WRITE).unwrap();
        for number in [0, PAGES + 1] {
            // SAFETY: the page is ours, and nothing has been read of it.
            unsafe { region::protect(pages.as_ptr::<u8>().add(number * page::size()), page::size(), Protection::NONE) }
                .unwrap();
        }
        let mut fenced = Fenced(pages);
        fenced.bytes_mut().iter_mut().enumerate().for_each(|(at, byte)| *byte = ((at * 37) ^ (at >> 5)) as u8);
        fenced
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: these pages may be read and written, live as long as `self`, and are borrowed from it.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr::<u8>().add(page::size()), PAGES * page::size()) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr::<u8>().add(page::size()), PAGES * page::size()) }
    }
}

fn layout(shape: TextureShape, format: TexelFormat, size: [u32; 3]) -> ImageLayout {
    let [width, height, depth] = size;
    let layout = match shape {
        TextureShape::D1 | TextureShape::D1Array => ImageLayout::texture_1d(format, width),
        TextureShape::D2 | TextureShape::D2Array => ImageLayout::texture_2d(format, width, height),
        TextureShape::D2Ms | TextureShape::D2MsArray => ImageLayout::texture_2d_ms(format, width, height, 3),
        TextureShape::D3 => ImageLayout::texture_3d(format, width, height, depth),
        TextureShape::Cube | TextureShape::CubeArray => ImageLayout::cube(format, width),
    };
    let layout = if shape.is_array() { layout.slices(2) } else { layout };
    let levels = if shape.is_multisampled() { 1 } else { width.ilog2() + 1 };
    layout.levels(levels)
}

#[test]
fn nothing_outside_an_image_is_read() {
    let fenced = Fenced::new();
    let bytes = fenced.bytes();
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};
    const EDGES: [f32; 12] =
        [0.0, 1.0, -1.0, 0.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e9, -1e9, 0.999_999_9];
    for &format in TexelFormat::ALL {
        for &shape in TextureShape::ALL {
            for size in [[1, 1, 1], [3, 5, 2], [8, 8, 4]] {
                let layout = layout(shape, format, size);
                let needed = layout.bytes().unwrap();
                for place in [&bytes[..needed], &bytes[bytes.len() - needed..]] {
                    let image = Image::new(layout, place).unwrap();
                    for &op in &OPS {
                        let offsets = if random() % 2 == 0 { [0; 3] } else { [-8, 7, -8] };
                        if shape.objection(op, offsets).is_some() {
                            continue;
                        }
                        let filter = [Filter::Point, Filter::Linear, Filter::Anisotropic][random() as usize % 3];
                        let mode = [Wrap, Mirror, Clamp, Border, MirrorOnce][random() as usize % 5];
                        let sampler =
                            SamplerState { min: filter, mag: filter, ..SamplerState::default() }.address(mode);
                        let textures = shaderjit::texture::bound(&image, sampler);
                        let access = Access {
                            op,
                            texture: Resource::from_u32(0),
                            sampler: Some(Sampler::from_u32(0)),
                            offsets,
                            component: (random() % 4) as u8,
                            offset: 0,
                            function: None,
                            words: 4,
                        };
                        let mut rows = Rows([[[0; LANES]; 4]; OPERANDS]);
                        for word in rows.0.as_flattened_mut().as_flattened_mut() {
                            *word = match random() % 3 {
                                0 => random(),
                                1 => EDGES[random() as usize % EDGES.len()].to_bits(),
                                _ => random() % 9,
                            };
                        }
                        textures.access(&access, LANES, &mut rows);
                    }
                }
            }
        }
    }
}
