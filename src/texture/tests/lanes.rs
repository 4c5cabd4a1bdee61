//! All lanes at once give what [one after the other](super::plain) gives, to the bit, whatever the format, the shape,
//! the sampler and the coordinates, on every kind of machine that this one can be.

use super::plain;
use super::*;
use crate::simd::Machine;
use crate::texture::access::Asked;
use crate::texture::view::View;
use shaderjit_ir::op::TypeRule;
use shaderjit_ir::texture::OPS;

/// Small random numbers (Vigna's splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32 ^ mixed as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    /// From -2 to 2 mostly, in all sorts of steps; now and then anything.
    fn float(&mut self) -> f32 {
        const EDGES: [f32; 15] = [
            0.0,
            -0.0,
            0.5,
            1.0,
            -1.0,
            0.25,
            1e-45,
            -1e-30,
            1e10,
            -1e20,
            f32::MAX,
            9.999,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        match self.below(8) {
            0 => f32::from_bits(self.next()),
            1 => self.of(&EDGES),
            2 => self.below(33) as f32 / 8.0 - 2.0,
            _ => self.next() as f32 / u32::MAX as f32 * 4.0 - 2.0,
        }
    }

    fn layout(&mut self, format: TexelFormat, shape: TextureShape) -> ImageLayout {
        const SIZES: [u32; 9] = [1, 1, 2, 3, 4, 5, 7, 8, 16];
        let [width, height, depth] = [(); 3].map(|()| self.of(&SIZES));
        let (layout, largest) = match shape {
            TextureShape::D1 | TextureShape::D1Array => (ImageLayout::texture_1d(format, width), width),
            TextureShape::D2 | TextureShape::D2Array => {
                (ImageLayout::texture_2d(format, width, height), width.max(height))
            }
            TextureShape::D2Ms | TextureShape::D2MsArray => {
                (ImageLayout::texture_2d_ms(format, width, height, 1 + self.below(4)), 1)
            }
            TextureShape::D3 => {
                let depth = depth.min(4);
                (ImageLayout::texture_3d(format, width, height, depth), width.max(height).max(depth))
            }
            TextureShape::Cube | TextureShape::CubeArray => (ImageLayout::cube(format, width), width),
        };
        let layout = layout.levels(1 + self.below(largest.ilog2() + 1));
        if shape.is_array() { layout.slices(1 + self.below(3)) } else { layout }
    }

    fn sampler(&mut self) -> SamplerState {
        use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};
        use Comparison::{Always, Equal, Greater, GreaterEqual, Less, LessEqual, Never, NotEqual};
        let filters = [Filter::Point, Filter::Linear, Filter::Linear, Filter::Anisotropic];
        let limits = if self.below(3) > 0 { [f32::MIN, f32::MAX] } else { [self.below(5) as f32 / 2.0 - 1.0, 1.5] };
        SamplerState {
            min: self.of(&filters),
            mag: self.of(&filters),
            mip: self.of(&filters),
            address_modes: [(); 3].map(|()| self.of(&[Wrap, Mirror, Clamp, Border, MirrorOnce])),
            border: [(); 4].map(|()| self.below(9) as f32 / 4.0 - 1.0),
            comparison: self.of(&[Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always]),
            lod_bias: if self.below(2) == 0 { 0.0 } else { self.below(9) as f32 / 4.0 - 1.0 },
            min_lod: limits[0],
            max_lod: limits[1],
            max_anisotropy: 1 + self.below(16) as u8,
            reduction: self.of(&[Reduction::Average, Reduction::Average, Reduction::Minimum, Reduction::Maximum]),
            precision: self.of(&[Precision::Float, Precision::Float, Precision::Fixed8]),
        }
    }

    /// Operands of an op on a shape.
    fn rows(&mut self, op: Op, shape: TextureShape) -> Rows {
        let mut rows = Rows::ZERO;
        let scale = 2f32.powi(self.below(12) as i32 - 9);
        let address = |random: &mut Random| if random.below(9) == 0 { random.next() } else { random.below(9) };
        for (number, operand) in rows.0.iter_mut().enumerate() {
            for (component, word) in operand.iter_mut().enumerate() {
                for lane in word {
                    *lane = match (op, number) {
                        (Op::TextureLoad | Op::TextureSize, _) => address(self),
                        (Op::SampleGradients | Op::TextureLod, 1 | 2) | (Op::SampleCompareGradients, 2 | 3) => {
                            let change =
                                if component == 3 { self.below(9) as f32 / 2.0 - 2.0 } else { self.float() * scale };
                            change.to_bits()
                        }
                        (Op::SampleLevel, 1) => (self.float() * 3.0).to_bits(),
                        (Op::GatherAt, 1) | (Op::GatherCompareAt, 2) => self.next(),
                        _ if component == shape.coordinates() => (self.float() * 2.0).to_bits(),
                        _ => self.float().to_bits(),
                    };
                }
            }
        }
        rows
    }
}

/// The same texture as a caller's own.
struct Own<'a>(&'a Image<'a>);

impl Texture for Own<'_> {
    fn info(&self) -> TextureInfo {
        self.0.info()
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        let info = self.0.info();
        let [width, height, depth] = info.level_size(at.level);
        assert!(at.level < info.levels && at.layer < info.layers() && at.sample < info.samples);
        assert!(at.x < width && at.y < height && at.z < depth);
        self.0.texel(at)
    }
}

/// Compares the accesses of one image.
fn check(random: &mut Random, image: &Image<'_>, sampler: &SamplerState, op: Op) {
    let info = image.info();
    let offsets = [0; 3].map(|_: i8| random.below(16) as i8 - 8);
    let offsets = if random.below(2) == 0 || info.shape.is_cube() { [0; 3] } else { offsets };
    if info.shape.objection(op, offsets).is_some() {
        return;
    }
    let access = Access {
        op,
        texture: Resource::from_u32(0),
        sampler: Some(Sampler::from_u32(0)),
        offsets,
        component: random.below(4) as u8,
        offset: 0,
        function: None,
        words: 1 + random.below(4) as u8,
    };
    let rows = random.rows(op, info.shape);
    let lanes = random.of(&[1, 4, 8, 16, 16]);
    let own = Own(image);
    let plain_view = plain::View { texture: image, info };
    for (texture, machine) in
        Machine::available().flat_map(|machine| [(image as &dyn Texture, machine), (&own, machine)])
    {
        let view = View::new(texture, info);
        let mut answers = rows;
        Asked { access: &access, view: &view, sampler, lanes, rows: &mut answers }.answer(machine);
        for lane in 0..lanes {
            let expected = plain::answer(&access, &plain_view, sampler, |operand| rows.get(operand, lane));
            let found = answers.get(0, lane);
            let is_nan = |bits| f32::from_bits(bits).is_nan();
            let words = if op.result() == TypeRule::Row { access.words.into() } else { 1 };
            for (&expected, found) in expected.iter().zip(found).take(words) {
                assert!(
                    expected == found || is_nan(expected) && is_nan(found),
                    "{machine:?} {access:?} {sampler:?} {:?}, lane {lane} of {lanes}: {:?} gives {found:#x}, not {expected:#x}",
                    image.layout(),
                    [0, 1, 2].map(|operand| floats(rows.get(operand, lane)))
                );
            }
        }
    }
}

/// Any format, any shape, any sampler.
#[test]
fn lanes_give_what_one_texel_after_the_other_gives() {
    let mut random = Random(1);
    for &format in TexelFormat::ALL {
        for &shape in TextureShape::ALL {
            for _ in 0..6 {
                let layout = random.layout(format, shape);
                let bytes = layout.bytes().unwrap();
                let bytes: Vec<u8> =
                    (0..bytes.div_ceil(4)).flat_map(|_| random.next().to_le_bytes()).take(bytes).collect();
                let image = Image::new(layout, bytes).unwrap();
                for &op in &OPS {
                    let sampler = random.sampler();
                    check(&mut random, &image, &sampler, op);
                }
            }
        }
    }
}

/// The combinations that are most used, each of them: filters, address modes and sizes.
#[test]
fn every_filter_agrees_with_every_address_mode_at_every_size() {
    use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};
    let mut random = Random(2);
    for format in [TexelFormat::Rgba8Unorm, TexelFormat::R32Float, TexelFormat::Rgba16Float, TexelFormat::Rgba8Srgb] {
        for shape in [TextureShape::D1, TextureShape::D2, TextureShape::D2Array, TextureShape::D3, TextureShape::Cube] {
            for mode in [Wrap, Mirror, Clamp, Border, MirrorOnce] {
                for filter in [Filter::Point, Filter::Linear, Filter::Anisotropic] {
                    for mip in [Filter::Point, Filter::Linear] {
                        let layout = random.layout(format, shape);
                        let bytes = layout.bytes().unwrap();
                        let bytes = (0..bytes).map(|_| random.next() as u8).collect::<Vec<u8>>();
                        let image = Image::new(layout, bytes).unwrap();
                        let state = SamplerState { min: filter, mag: filter, mip, ..SamplerState::default() };
                        let state = state.address(mode);
                        for op in [Op::SampleLevel, Op::SampleGradients, Op::Gather, Op::SampleCompareGradients] {
                            check(&mut random, &image, &state.compare(Comparison::LessEqual), op);
                        }
                    }
                }
            }
        }
    }
}
