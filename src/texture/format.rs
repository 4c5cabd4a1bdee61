//! Texel formats: how elements of typed buffers and texels of images are stored.

use crate::vertex_format::{NumericKind, decode, half_to_float};
use std::sync::LazyLock;

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, number of components, what they are,
/// and whether they are signed integers.
macro_rules! for_each_texel_format {
    ($callback:ident) => {
        $callback! {
            /// One 32-bit float.
            R32Float r32f: 1 x Each(NumericKind::Float);
            /// One unsigned 32-bit integer.
            R32Uint r32u: 1 x Each(NumericKind::Word);
            /// One signed 32-bit integer.
            R32Sint r32i: 1 x Each(NumericKind::Word) signed;
            /// One 32-bit float, of a depth buffer.
            D32Float d32f: 1 x Each(NumericKind::Float);
            /// Two 32-bit floats.
            Rg32Float rg32f: 2 x Each(NumericKind::Float);
            /// Two unsigned 32-bit integers.
            Rg32Uint rg32u: 2 x Each(NumericKind::Word);
            /// Two signed 32-bit integers.
            Rg32Sint rg32i: 2 x Each(NumericKind::Word) signed;
            /// Three 32-bit floats.
            Rgb32Float rgb32f: 3 x Each(NumericKind::Float);
            /// Three unsigned 32-bit integers.
            Rgb32Uint rgb32u: 3 x Each(NumericKind::Word);
            /// Three signed 32-bit integers.
            Rgb32Sint rgb32i: 3 x Each(NumericKind::Word) signed;
            /// Four 32-bit floats.
            Rgba32Float rgba32f: 4 x Each(NumericKind::Float);
            /// Four unsigned 32-bit integers.
            Rgba32Uint rgba32u: 4 x Each(NumericKind::Word);
            /// Four signed 32-bit integers.
            Rgba32Sint rgba32i: 4 x Each(NumericKind::Word) signed;
            /// One half float.
            R16Float r16f: 1 x Each(NumericKind::Half);
            /// Two half floats.
            Rg16Float rg16f: 2 x Each(NumericKind::Half);
            /// Four half floats.
            Rgba16Float rgba16f: 4 x Each(NumericKind::Half);
            /// One unsigned 16-bit integer.
            R16Uint r16u: 1 x Each(NumericKind::Uint16);
            /// Four unsigned 16-bit integers.
            Rgba16Uint rgba16u: 4 x Each(NumericKind::Uint16);
            /// One unsigned 16-bit number, 0 to 65535 as 0.0 to 1.0: a texture's or a depth buffer's.
            R16Unorm r16: 1 x Each(NumericKind::Unorm16);
            /// Two unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Rg16Unorm rg16: 2 x Each(NumericKind::Unorm16);
            /// Four unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Rgba16Unorm rgba16: 4 x Each(NumericKind::Unorm16);
            /// Four signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Rgba16Snorm rgba16s: 4 x Each(NumericKind::Snorm16);
            /// One byte, 0 to 255 as 0.0 to 1.0.
            R8Unorm r8: 1 x Each(NumericKind::Unorm8);
            /// One byte as an unsigned integer.
            R8Uint r8u: 1 x Each(NumericKind::Uint8);
            /// Two bytes, 0 to 255 as 0.0 to 1.0.
            Rg8Unorm rg8: 2 x Each(NumericKind::Unorm8);
            /// Two signed bytes, -127 to 127 as -1.0 to 1.0.
            Rg8Snorm rg8s: 2 x Each(NumericKind::Snorm8);
            /// Four bytes, 0 to 255 as 0.0 to 1.0.
            Rgba8Unorm rgba8: 4 x Each(NumericKind::Unorm8);
            /// Four signed bytes, -127 to 127 as -1.0 to 1.0.
            Rgba8Snorm rgba8s: 4 x Each(NumericKind::Snorm8);
            /// Four bytes as unsigned integers.
            Rgba8Uint rgba8u: 4 x Each(NumericKind::Uint8);
            /// Four bytes: three of the sRGB curve, the last 0 to 255 as 0.0 to 1.0.
            Rgba8Srgb rgba8srgb: 4 x Srgb;
            /// From the lowest bit on, unsigned floats of 11, 11 and 10 bits.
            Rg11b10Float rg11b10f: 3 x Floats11;
            /// From the lowest bit on, three numbers of 10 bits and one of 2, their range as 0.0 to 1.0.
            Rgb10a2Unorm rgb10a2: 4 x Unorm10;
            /// From the lowest bit on, three unsigned integers of 10 bits and one of 2.
            Rgb10a2Uint rgb10a2u: 4 x Uint10;
        }
    };
}

/// How a texel's bits become components.
#[derive(Clone, Copy)]
enum Stored {
    /// Each component by itself.
    Each(NumericKind),
    Srgb,
    Floats11,
    Unorm10,
    Uint10,
}

use Stored::{Each, Floats11, Srgb, Uint10, Unorm10};

macro_rules! texel_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $components:literal x $stored:ident $(($kind:path))? $($signed:ident)?; )*) => {
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

            /// How many components are stored, 1 to 4.
            pub const fn components(self) -> usize { match self { $( TexelFormat::$name => $components, )* } }

            const fn stored(self) -> Stored { match self { $( TexelFormat::$name => $stored $(($kind))?, )* } }

            const fn is_signed(self) -> bool { match self { $( TexelFormat::$name => texel_formats!(@signed $($signed)?), )* } }
        }
    };
    (@signed) => { false };
    (@signed signed) => { true };
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
        match self.stored() {
            Each(kind) => self.components() * kind.component_bytes(),
            Srgb | Floats11 | Unorm10 | Uint10 => 4,
        }
    }

    /// What the components are to the shader.
    pub const fn kind(self) -> TexelKind {
        match self.stored() {
            Each(NumericKind::Float | NumericKind::Half) | Floats11 | Srgb => TexelKind::Float,
            Each(NumericKind::Unorm8) => TexelKind::Unorm { bits: 8 },
            Each(NumericKind::Unorm16) => TexelKind::Unorm { bits: 16 },
            Unorm10 => TexelKind::Unorm { bits: 10 },
            Each(NumericKind::Snorm8) => TexelKind::Snorm { bits: 8 },
            Each(NumericKind::Snorm16) => TexelKind::Snorm { bits: 16 },
            Each(NumericKind::Word | NumericKind::Uint8 | NumericKind::Uint16) if self.is_signed() => TexelKind::Sint,
            Each(NumericKind::Word | NumericKind::Uint8 | NumericKind::Uint16) | Uint10 => TexelKind::Uint,
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<TexelFormat> {
        TexelFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The bits of an element's four components. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        let one = 1.0f32.to_bits();
        match self.stored() {
            Each(kind) => decode(kind, self.components(), bytes),
            Srgb => {
                let [r, g, b, a] = word(bytes).to_le_bytes();
                let [r, g, b] = [r, g, b].map(|byte| SRGB[usize::from(byte)].to_bits());
                [r, g, b, (f32::from(a) / 255.0).to_bits()]
            }
            // They are halves without sign and without the last bits of the mantissa.
            Floats11 => {
                let [r, g, b] = fields(word(bytes), [11, 11, 10]);
                [half_to_float(r << 4), half_to_float(g << 4), half_to_float(b << 5), one]
            }
            Unorm10 => {
                let [r, g, b, a] = fields(word(bytes), [10, 10, 10, 2]);
                let [r, g, b] = [r, g, b].map(|field| (field as f32 / 1023.0).to_bits());
                [r, g, b, (a as f32 / 3.0).to_bits()]
            }
            Uint10 => fields(word(bytes), [10, 10, 10, 2]),
        }
    }
}

/// Four bytes; those that are missing are zero.
fn word(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
    u32::from_le_bytes(word)
}

/// Bit fields of these widths, the lowest first.
fn fields<const N: usize>(word: u32, widths: [u32; N]) -> [u32; N] {
    let mut rest = u64::from(word);
    widths.map(|width| {
        let field = rest & ((1 << width) - 1);
        rest >>= width;
        field as u32
    })
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
}
