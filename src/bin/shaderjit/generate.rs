//! Made-up inputs: values at the edges of each type among ordinary and random ones, the same for the same seed.

use shaderjit::ComponentType;

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick(&mut self, values: &[u32]) -> u32 {
        values[(self.next() % values.len() as u64) as usize]
    }

    /// Uniform in -4..4.
    fn ordinary_float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 21) as f32 - 4.0
    }

    /// A component's bits: half of them ordinary, a quarter edges, a quarter anything.
    pub fn component(&mut self, ty: ComponentType) -> u32 {
        match (self.next() % 4, ty) {
            (0, ComponentType::F32) => self.pick(&EDGE_FLOATS),
            (0, _) => self.pick(&EDGE_INTEGERS),
            (1, _) => self.next() as u32,
            (_, ComponentType::F32) => self.ordinary_float().to_bits(),
            _ => self.next() as u32 % 16,
        }
    }

    /// A component's bits, nothing but ordinary values.
    pub fn ordinary_component(&mut self, ty: ComponentType) -> u32 {
        match ty {
            ComponentType::F32 => self.ordinary_float().to_bits(),
            _ => self.next() as u32 % 16,
        }
    }
}

/// Zeros, ones, infinities, NaNs, denormals, the ends of ranges, values where conversions to integers overflow, ties.
const EDGE_FLOATS: [u32; 24] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x4b00_0001,
    0x3f00_0000,
    0x4020_0000,
    0x3f7f_ffff,
    0x4049_0fdb,
];

const EDGE_INTEGERS: [u32; 12] =
    [0, 1, 2, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0xffff_fffe, 0x00ff_ffff];
