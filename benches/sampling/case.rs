//! What is sampled: textures of 512 by 512 texels with all levels, at places a screen's pixels would ask for.

use super::plain;
use shaderjit::texture::{Texel, TextureInfo};
use shaderjit::{AddressMode, BlockFormat, Filter, Image, ImageLayout, SamplerState, TexelFormat, Texture};
use shaderjit_ir::texture::{Access, LANES, Rows, Textures};
use shaderjit_ir::{Op, Resource, Sampler};
use std::hint::black_box;

const SIZE: u32 = 512;
const LEVELS: u32 = 10;

/// Samples of a case: squares of 4 by 4 pixels, as many as the widest vector has lanes.
pub const SAMPLES: usize = 1024 * LANES;

/// One way to sample one texture.
pub struct Case {
    pub name: &'static str,
    image: Image<'static>,
    /// What the twin reads, if there is one.
    plain: Option<(plain::Format, Vec<u8>)>,
    /// Whether the texture is bound as a caller's own.
    is_own: bool,
    state: SamplerState,
    op: Op,
    lod: f32,
    places: Vec<[f32; 2]>,
    rows: Vec<Rows>,
}

/// A texture that asks an image for every texel.
struct Own<'a>(&'a Image<'a>);

impl Texture for Own<'_> {
    fn info(&self) -> TextureInfo {
        self.0.info()
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        self.0.texel(at)
    }
}

impl Case {
    /// Every case.
    pub fn all() -> Vec<Case> {
        use plain::Format::{Bc1, Rgba8};
        let one_level = SamplerState { mip: Filter::Point, ..SamplerState::linear() }.address(AddressMode::Wrap);
        let clamped = one_level.address(AddressMode::Clamp);
        let trilinear = SamplerState::linear().address(AddressMode::Wrap);
        let point = SamplerState::point().address(AddressMode::Wrap);
        let bordered = one_level.address(AddressMode::Border);
        let level = Op::SampleLevel;
        let texels = |name, format, state, op| Case::texels(name, format, state, op, 1.4);
        vec![
            Case::texels("rgba8 point", TexelFormat::Rgba8Unorm, point, level, 0.0).with_twin(Rgba8),
            Case::texels("rgba8 bilinear wrap", TexelFormat::Rgba8Unorm, one_level, level, 0.0).with_twin(Rgba8),
            Case::texels("rgba8 bilinear clamp", TexelFormat::Rgba8Unorm, clamped, level, 0.0).with_twin(Rgba8),
            Case::texels("rgba8 bilinear border", TexelFormat::Rgba8Unorm, bordered, level, 0.0).with_twin(Rgba8),
            texels("rgba8 trilinear wrap", TexelFormat::Rgba8Unorm, trilinear, level).with_twin(Rgba8),
            Case::blocks("bc1 bilinear wrap", one_level, 0.0).with_twin(Bc1),
            Case::blocks("bc1 trilinear wrap", trilinear, 1.4).with_twin(Bc1),
            texels("rgba8srgb trilinear wrap", TexelFormat::Rgba8Srgb, trilinear, level),
            texels("rgba16f trilinear wrap", TexelFormat::Rgba16Float, trilinear, level),
            texels("rgba32f trilinear wrap", TexelFormat::Rgba32Float, trilinear, level),
            texels("r8 trilinear wrap", TexelFormat::R8Unorm, trilinear, level),
            texels("rgba8 trilinear, derivatives", TexelFormat::Rgba8Unorm, trilinear, Op::SampleGradients),
            texels(
                "rgba8 anisotropic, 4 to 1",
                TexelFormat::Rgba8Unorm,
                SamplerState::anisotropic(16),
                Op::SampleGradients,
            ),
            texels("d32f comparison", TexelFormat::D32Float, one_level, Op::SampleCompare),
            texels("r32f gather", TexelFormat::R32Float, one_level, Op::Gather),
            texels("rgba8 load", TexelFormat::Rgba8Unorm, one_level, Op::TextureLoad),
            Case { is_own: true, ..texels("rgba8 trilinear, caller's own", TexelFormat::Rgba8Unorm, trilinear, level) },
        ]
    }

    fn texels(name: &'static str, format: TexelFormat, state: SamplerState, op: Op, lod: f32) -> Case {
        let layout = ImageLayout::texture_2d(format, SIZE, SIZE).levels(LEVELS);
        let image =
            Image::new(layout, noise(layout.bytes().expect("the sizes are small"))).expect("all bytes are there");
        Case::new(name, image, state, op, lod)
    }

    fn blocks(name: &'static str, state: SamplerState, lod: f32) -> Case {
        let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, SIZE, SIZE).levels(LEVELS);
        let bytes = noise(BlockFormat::Bc1Unorm.blocks_bytes(&layout).expect("the sizes are small"));
        let image = Image::from_blocks(BlockFormat::Bc1Unorm, layout, &bytes).expect("all bytes are there");
        Case::new(name, image, state, Op::SampleLevel, lod)
    }

    fn new(name: &'static str, image: Image<'static>, state: SamplerState, op: Op, lod: f32) -> Case {
        // Pixels of a surface that is turned a little: from one to the next, 0.9 texels to the right and 0.2 down.
        let places: Vec<[f32; 2]> = (0..SAMPLES)
            .map(|sample| {
                let (square, pixel) = (sample / LANES, sample % LANES);
                let (x, y) = ((square % 64 * 4 + pixel % 4) as f32, (square / 64 * 4 + pixel / 4) as f32);
                [(0.9 * x - 0.2 * y + 3.3) / SIZE as f32, (0.2 * x + 0.9 * y + 7.1) / SIZE as f32]
            })
            .collect();
        let rows = places.chunks(LANES).map(|places| {
            let mut rows = Rows::ZERO;
            for (lane, &[u, v]) in places.iter().enumerate() {
                let is_load = op == Op::TextureLoad;
                let texel = |place: f32| if is_load { (place * SIZE as f32) as u32 } else { place.to_bits() };
                (rows.0[0][0][lane], rows.0[0][1][lane]) = (texel(u), texel(v));
                let second = if op == Op::SampleLevel { lod } else { 0.5 };
                rows.0[1][0][lane] = second.to_bits();
            }
            if op == Op::SampleGradients {
                // Eight texels by two: level 1, read at four places if it is anisotropic.
                rows.0[1][0] = [(8.0 / SIZE as f32).to_bits(); LANES];
                rows.0[2][1] = [(2.0 / SIZE as f32).to_bits(); LANES];
            }
            rows
        });
        Case { name, image, plain: None, is_own: false, state, op, lod, rows: rows.collect(), places }
    }

    fn with_twin(mut self, format: plain::Format) -> Case {
        let layout = self.image.layout();
        let bytes = match format {
            plain::Format::Rgba8 => layout.bytes(),
            plain::Format::Bc1 => BlockFormat::Bc1Unorm.blocks_bytes(layout),
        };
        self.plain = Some((format, noise(bytes.expect("the sizes are small"))));
        self
    }

    /// The texture as the twin has it.
    pub fn twin(&self) -> Option<plain::Texture<'_>> {
        let (format, bytes) = self.plain.as_ref()?;
        Some(plain::Texture::new(*format, [SIZE as usize; 2], LEVELS as usize, bytes))
    }

    /// Takes all samples, as many at once as there are lanes, and hands each answer over.
    fn run(&self, mut answer: impl FnMut(&Rows)) {
        let own = Own(&self.image);
        let texture: &dyn Texture = if self.is_own { &own } else { &self.image };
        let textures = shaderjit::texture::bound(texture, self.state);
        let access = Access {
            op: self.op,
            texture: Resource::from_u32(0),
            sampler: Some(Sampler::from_u32(0)),
            offsets: [0; 3],
            component: 0,
            offset: 0,
            function: None,
            words: 4,
        };
        // What native code stores. It stores whole vectors, which loads behind them take from the store buffer; copies
        // of parts would have to reach the cache first, so they are made an access ahead.
        let stored = |rows: &mut Rows, operands: &Rows| {
            for (to, from) in rows.0.iter_mut().zip(&operands.0).take(self.op.operands().len()) {
                to[..2].copy_from_slice(&from[..2]);
            }
        };
        let mut rows = [Rows::ZERO, Rows::ZERO];
        stored(&mut rows[0], &self.rows[0]);
        for number in 0..self.rows.len() {
            if let Some(ahead) = self.rows.get(number + 1) {
                stored(&mut rows[(number + 1) % 2], ahead);
            }
            let rows = &mut rows[number % 2];
            textures.access(black_box(&access), LANES, rows);
            answer(rows);
        }
    }

    /// Takes all samples on all lanes at once.
    pub fn lanes(&self) {
        self.run(|rows| {
            black_box(rows);
        });
    }

    /// Takes all samples one after the other.
    pub fn plain(&self, twin: &plain::Texture<'_>) {
        for &[u, v] in &self.places {
            black_box(twin.sample(black_box(&self.state), u, v, self.lod));
        }
    }

    /// That both give the same.
    pub fn check(&self) {
        let Some(twin) = self.twin() else { return };
        let mut places = self.places.iter();
        self.run(|rows| {
            for lane in 0..LANES {
                let &[u, v] = places.next().expect("one a sample");
                let (expected, found) =
                    (twin.sample(&self.state, u, v, self.lod), rows.get(0, lane).map(f32::from_bits));
                // A byte between two colours of a block may be rounded the other way.
                let tolerance = if self.name.starts_with("bc1") { 1.01 / 255.0 } else { 0.0 };
                let is_near = |(a, b): (&f32, f32)| (a - b).abs() <= tolerance;
                assert!(expected.iter().zip(found).all(is_near), "{} at {u} {v}: {expected:?} {found:?}", self.name);
            }
        });
    }
}

/// Bytes without a pattern.
fn noise(count: usize) -> Vec<u8> {
    (0..count as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) ^ at.wrapping_mul(0x85eb_ca6b) >> 9) as u8).collect()
}
