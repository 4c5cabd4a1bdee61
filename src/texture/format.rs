//! Texel formats: how elements of typed buffers and texels of images are stored.

use super::encode::{NumericComponent, to_srgb};
use shaderjit_ir::packing::{Field, NumericKind, Packing};
use std::sync::LazyLock;

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, what the components are, and the bits
/// each is stored in, from the lowest bit on; `srgb` if all but the fourth are of the sRGB curve.
macro_rules! for_each_texel_format {
    ($callback:ident) => {
        $callback! {
            /// One 32-bit float.
            R32Float r32f: Float[32];
            /// One unsigned 32-bit integer.
            R32Uint r32u: Uint[32];
            /// One signed 32-bit integer.
            R32Sint r32i: Sint[32];
            /// One 32-bit float, of a depth buffer.
            D32Float d32f: Float[32];
            /// Two 32-bit floats.
            Rg32Float rg32f: Float[32, 32];
            /// Two unsigned 32-bit integers.
            Rg32Uint rg32u: Uint[32, 32];
            /// Two signed 32-bit integers.
            Rg32Sint rg32i: Sint[32, 32];
            /// Three 32-bit floats.
            Rgb32Float rgb32f: Float[32, 32, 32];
            /// Three unsigned 32-bit integers.
            Rgb32Uint rgb32u: Uint[32, 32, 32];
            /// Three signed 32-bit integers.
            Rgb32Sint rgb32i: Sint[32, 32, 32];
            /// Four 32-bit floats.
            Rgba32Float rgba32f: Float[32, 32, 32, 32];
            /// Four unsigned 32-bit integers.
            Rgba32Uint rgba32u: Uint[32, 32, 32, 32];
            /// Four signed 32-bit integers.
            Rgba32Sint rgba32i: Sint[32, 32, 32, 32];
            /// One half float.
            R16Float r16f: Float[16];
            /// Two half floats.
            Rg16Float rg16f: Float[16, 16];
            /// Four half floats.
            Rgba16Float rgba16f: Float[16, 16, 16, 16];
            /// One unsigned 16-bit integer.
            R16Uint r16u: Uint[16];
            /// One signed 16-bit integer.
            R16Sint r16i: Sint[16];
            /// Two unsigned 16-bit integers.
            Rg16Uint rg16u: Uint[16, 16];
            /// Two signed 16-bit integers.
            Rg16Sint rg16i: Sint[16, 16];
            /// Four signed 16-bit integers.
            Rgba16Sint rgba16i: Sint[16, 16, 16, 16];
            /// Four unsigned 16-bit integers.
            Rgba16Uint rgba16u: Uint[16, 16, 16, 16];
            /// One unsigned 16-bit number, 0 to 65535 as 0.0 to 1.0: a texture's or a depth buffer's.
            R16Unorm r16: Unorm[16];
            /// Two unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Rg16Unorm rg16: Unorm[16, 16];
            /// Four unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Rgba16Unorm rgba16: Unorm[16, 16, 16, 16];
            /// One signed 16-bit number, -32767 to 32767 as -1.0 to 1.0.
            R16Snorm r16s: Snorm[16];
            /// Two signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Rg16Snorm rg16s: Snorm[16, 16];
            /// Four signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Rgba16Snorm rgba16s: Snorm[16, 16, 16, 16];
            /// One byte, 0 to 255 as 0.0 to 1.0.
            R8Unorm r8: Unorm[8];
            /// One byte as an unsigned integer.
            R8Uint r8u: Uint[8];
            /// One signed byte, -127 to 127 as -1.0 to 1.0.
            R8Snorm r8s: Snorm[8];
            /// One byte as a signed integer.
            R8Sint r8i: Sint[8];
            /// Two bytes as unsigned integers.
            Rg8Uint rg8u: Uint[8, 8];
            /// Two bytes as signed integers.
            Rg8Sint rg8i: Sint[8, 8];
            /// Two bytes, 0 to 255 as 0.0 to 1.0.
            Rg8Unorm rg8: Unorm[8, 8];
            /// Two signed bytes, -127 to 127 as -1.0 to 1.0.
            Rg8Snorm rg8s: Snorm[8, 8];
            /// Four bytes, 0 to 255 as 0.0 to 1.0.
            Rgba8Unorm rgba8: Unorm[8, 8, 8, 8];
            /// Four signed bytes, -127 to 127 as -1.0 to 1.0.
            Rgba8Snorm rgba8s: Snorm[8, 8, 8, 8];
            /// Four bytes as unsigned integers.
            Rgba8Uint rgba8u: Uint[8, 8, 8, 8];
            /// Four bytes as signed integers.
            Rgba8Sint rgba8i: Sint[8, 8, 8, 8];
            /// Four bytes: three of the sRGB curve, the last 0 to 255 as 0.0 to 1.0.
            Rgba8Srgb rgba8srgb: Unorm[8, 8, 8, 8] srgb;
            /// From the lowest bit on, unsigned floats of 11, 11 and 10 bits.
            Rg11b10Float rg11b10f: Float[11, 11, 10];
            /// From the lowest bit on, three numbers of 10 bits and one of 2, their range as 0.0 to 1.0.
            Rgb10a2Unorm rgb10a2: Unorm[10, 10, 10, 2];
            /// From the lowest bit on, three unsigned integers of 10 bits and one of 2.
            Rgb10a2Uint rgb10a2u: Uint[10, 10, 10, 2];
        }
    };
}

macro_rules! texel_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $kind:ident[$($bits:literal),*] $($srgb:ident)?; )*) => {
        /// The format of the elements of a typed buffer (`Buffer<float4>`) or of the texels of an
        /// [`Image`](crate::Image). All are little-endian, without padding between elements. Components that are not
        /// stored read 0, 0, 0 and 1.
        ///
        /// ```
        /// use shaderjit::TexelFormat;
        ///
        /// let bits = TexelFormat::Rgba8Unorm.decode(&[0, 255, 51, 0]);
        /// assert_eq!(bits.map(f32::from_bits), [0.0, 1.0, 0.2, 0.0]);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum TexelFormat { $( $(#[$doc])* $name, )* }

        impl TexelFormat {
            /// Every format.
            pub const ALL: &'static [TexelFormat] = &[$( TexelFormat::$name, )*];

            /// The name users write: `rgba32f`.
            pub const fn name(self) -> &'static str { match self { $( TexelFormat::$name => stringify!($text), )* } }

            /// How the components are stored.
            const fn packing(self) -> Packing {
                match self { $( TexelFormat::$name => Packing::new(NumericKind::$kind, &[$($bits),*]), )* }
            }

            const fn is_srgb(self) -> bool { match self { $( TexelFormat::$name => texel_formats!(@$($srgb)?), )* } }
        }
    };
    (@) => { false };
    (@srgb) => { true };
}
for_each_texel_format!(texel_formats);

/// What a component is, and how exactly it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TexelKind {
    /// Floats.
    Float,
    /// Floats from 0.0 to 1.0, in `2^bits - 1` steps.
    Unorm {
        /// Bits a component is stored in.
        bits: u8,
    },
    /// Floats from -1.0 to 1.0, in `2^bits - 2` steps.
    Snorm {
        /// Bits a component is stored in.
        bits: u8,
    },
    /// Unsigned integers, which are not filtered.
    Uint,
    /// Signed integers, which are not filtered.
    Sint,
}

impl TexelKind {
    /// Whether components are integers to the shader.
    pub const fn is_integer(self) -> bool {
        matches!(self, TexelKind::Uint | TexelKind::Sint)
    }

    /// What a component that a format lacks reads as: 0, 0, 0 and 1.
    pub const fn default_component(self, component: usize) -> u32 {
        match (component, self.is_integer()) {
            (3, true) => 1,
            (3, false) => 1.0f32.to_bits(),
            _ => 0,
        }
    }
}

impl TexelFormat {
    /// Bytes an element occupies, 1 to 16.
    pub const fn bytes(self) -> usize {
        self.packing().bytes()
    }

    /// How many components are stored, 1 to 4.
    pub const fn components(self) -> usize {
        self.packing().components()
    }

    /// What the components are to the shader.
    pub const fn kind(self) -> TexelKind {
        let packing = self.packing();
        let bits = packing.widths[0] as u8;
        match packing.kind {
            NumericKind::Unorm if self.is_srgb() => TexelKind::Float,
            NumericKind::Unorm => TexelKind::Unorm { bits },
            NumericKind::Snorm => TexelKind::Snorm { bits },
            NumericKind::Float | NumericKind::Uscaled | NumericKind::Sscaled => TexelKind::Float,
            NumericKind::Uint => TexelKind::Uint,
            NumericKind::Sint => TexelKind::Sint,
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<TexelFormat> {
        TexelFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The bits of an element's four components. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        let mut components = self.packing().decode(bytes);
        if self.is_srgb() {
            let stored = bytes.iter().copied().chain(std::iter::repeat(0));
            for (component, byte) in components[..3].iter_mut().zip(stored) {
                *component = SRGB[usize::from(byte)].to_bits();
            }
        }
        components
    }
}

impl TexelFormat {
    /// Whether it is one word, which atomic operations take.
    pub(crate) const fn is_word(self) -> bool {
        matches!(self, TexelFormat::R32Uint | TexelFormat::R32Sint | TexelFormat::R32Float)
    }

    /// Whether each component is a 32-bit word as shaders have it.
    pub(crate) fn is_words(self) -> bool {
        let packing = self.packing();
        let is_as_stored = matches!(packing.kind, NumericKind::Float | NumericKind::Uint | NumericKind::Sint);
        is_as_stored && packing.widths.iter().all(|&width| width == 32)
    }

    /// Whether shaders store in it. Depths and the sRGB curve are written otherwise.
    pub(crate) const fn can_be_written(self) -> bool {
        !self.is_srgb() && !matches!(self, TexelFormat::D32Float)
    }

    /// The bytes of an element, as words from the lowest on. Components that are not stored do not count.
    pub(crate) fn encode(self, components: [u32; 4]) -> [u32; 4] {
        let packing = self.packing();
        let mut words = [0; 4];
        for (number, bits) in components.into_iter().enumerate() {
            let Some(Field { at, bits: width }) = packing.field(number) else { break };
            let is_curved = self.is_srgb() && number < 3;
            let bits = if is_curved { to_srgb(f32::from_bits(bits)).to_bits() } else { bits };
            let stored = NumericComponent { kind: packing.kind, width }.encode(bits);
            words[at as usize / 32] |= stored << (at % 32);
        }
        words
    }
}

/// What a byte of the sRGB curve means (IEC 61966-2-1), rounded once.
static SRGB: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let value = byte as f64 / 255.0;
        (if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }) as f32
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for &format in TexelFormat::ALL {
            assert_eq!(TexelFormat::from_name(format.name()), Some(format));
            assert!((1..=16).contains(&format.bytes()), "{}", format.name());
        }
    }

    #[test]
    fn absent_components_have_defaults_of_their_kind() {
        let one = 1.0f32.to_bits();
        assert_eq!(TexelFormat::R32Float.decode(&[1, 2, 3, 4]), [0x0403_0201, 0, 0, one]);
        assert_eq!(TexelFormat::R32Sint.decode(&[0xff; 4]), [u32::MAX, 0, 0, 1]);
        assert_eq!(TexelFormat::Rg16Float.decode(&[0, 0x3c, 0, 0xbc]), [one, one | 1 << 31, 0, one]);
        assert_eq!(TexelFormat::R8Uint.decode(&[200]), [200, 0, 0, 1]);
        let snorm = TexelFormat::Rgba8Snorm.decode(&[0x80, 0x81, 0x7f, 0]).map(f32::from_bits);
        assert_eq!(snorm, [-1.0, -1.0, 1.0, 0.0]);
        for &format in TexelFormat::ALL {
            let absent = format.decode(&[]);
            for (component, bits) in absent.into_iter().enumerate().skip(format.components()) {
                assert_eq!(bits, format.kind().default_component(component), "{}", format.name());
            }
        }
    }

    #[test]
    fn packed_components_lie_from_the_lowest_bit_on() {
        let float = |format: TexelFormat, word: u32| format.decode(&word.to_le_bytes()).map(f32::from_bits);
        // 1.0, 0.5 and 65024.0, the largest of 10 bits but for infinity.
        let word = 0x3c0 | 0x380 << 11 | 0x3df << 22;
        assert_eq!(float(TexelFormat::Rg11b10Float, word), [1.0, 0.5, 64512.0, 1.0]);
        let word = 1023 | 341 << 10 | 2 << 30;
        assert_eq!(float(TexelFormat::Rgb10a2Unorm, word), [1.0, 1.0 / 3.0, 0.0, 2.0 / 3.0]);
        assert_eq!(TexelFormat::Rgb10a2Uint.decode(&word.to_le_bytes()), [1023, 341, 0, 2]);
    }

    #[test]
    fn srgb_reaches_its_ends_and_is_linear_near_black() {
        let float = |bytes: [u8; 4]| TexelFormat::Rgba8Srgb.decode(&bytes).map(f32::from_bits);
        assert_eq!(float([0, 255, 0, 255]), [0.0, 1.0, 0.0, 1.0]);
        let [dark, middle, ..] = float([10, 128, 0, 0]);
        assert_eq!(dark, (10.0 / 255.0 / 12.92) as f32);
        assert!((middle - 0.215_860_5).abs() < 1e-7, "{middle}");
    }
    #[test]
    fn formats_of_words_decode_to_the_words() {
        let words = [0x8000_0001, 0x7f80_0001, 0xdead_beef, 3].map(u32::to_le_bytes);
        let formats = TexelFormat::ALL.iter().filter(|format| format.is_words());
        assert!(formats.clone().count() >= 12);
        for format in formats {
            let bytes = &words.as_flattened()[..format.bytes()];
            let decoded = format.decode(bytes).map(u32::to_le_bytes);
            assert_eq!(&decoded.as_flattened()[..bytes.len()], bytes, "{}", format.name());
        }
    }
}
