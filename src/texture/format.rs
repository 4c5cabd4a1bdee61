//! Texel formats: how elements of typed buffers and texels of images are stored.

use super::encode::{NumericComponent, to_srgb};
use shaderjit_ir::packing::{Field, NumericKind, Packing};
use std::sync::LazyLock;

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, what the components are, and the bits
/// each is stored in, from the lowest bit on; behind a semicolon, how many bytes there are if there is anything behind
/// the components. `srgb` if all but the fourth are of the sRGB curve, `bgra` if the first and the third change places,
/// `shared_exponent` if they are fractions.
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
            /// Four bytes, blue, green, red and alpha, 0 to 255 as 0.0 to 1.0.
            Bgra8Unorm bgra8: Unorm[8, 8, 8, 8] bgra;
            /// Four bytes: blue, green and red of the sRGB curve, alpha 0 to 255 as 0.0 to 1.0.
            Bgra8Srgb bgra8srgb: Unorm[8, 8, 8, 8] bgra srgb;
            /// From the lowest bit on, blue of 5 bits, green of 6 and red of 5, their range as 0.0 to 1.0.
            B5g6r5Unorm b5g6r5: Unorm[5, 6, 5] bgra;
            /// From the lowest bit on, blue, green and red of 5 bits and alpha of 1, their range as 0.0 to 1.0.
            Bgr5a1Unorm bgr5a1: Unorm[5, 5, 5, 1] bgra;
            /// From the lowest bit on, blue, green, red and alpha of 4 bits, their range as 0.0 to 1.0.
            Bgra4Unorm bgra4: Unorm[4, 4, 4, 4] bgra;
            /// From the lowest bit on, unsigned floats of 11, 11 and 10 bits.
            Rg11b10Float rg11b10f: Float[11, 11, 10];
            /// From the lowest bit on, three numbers of 10 bits and one of 2, their range as 0.0 to 1.0.
            Rgb10a2Unorm rgb10a2: Unorm[10, 10, 10, 2];
            /// From the lowest bit on, three unsigned integers of 10 bits and one of 2.
            Rgb10a2Uint rgb10a2u: Uint[10, 10, 10, 2];
            /// From the lowest bit on, three fractions of 9 bits and the 5 bits of the exponent they share.
            Rgb9e5Float rgb9e5: Uint[9, 9, 9; 4] shared_exponent;
            /// One unsigned 24-bit number of a depth buffer, 0 to 16777215 as 0.0 to 1.0, below a byte that is not
            /// read.
            D24Unorm d24: Unorm[24; 4];
            /// One 32-bit float of a depth buffer in front of four bytes that are not read.
            D32FloatS8 d32fs8: Float[32; 8];
        }
    };
}

macro_rules! texel_formats {
    ($(
        $(#[$doc:meta])*
        $name:ident $text:ident: $kind:ident[$($bits:literal),* $(; $bytes:literal)?] $($mark:ident)*;
    )*) => {
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
            pub(super) const fn packing(self) -> Packing {
                match self {
                    $( TexelFormat::$name => {
                        let packing = Packing::new(NumericKind::$kind, &[$($bits),*]);
                        $( let packing = packing.padded($bytes); )?
                        texel_formats!(@packing packing $($mark)*)
                    } )*
                }
            }

            /// What the numbers are taken for.
            pub(super) const fn coding(self) -> Coding {
                match self { $( TexelFormat::$name => texel_formats!(@coding $($mark)*), )* }
            }
        }
    };
    (@packing $packing:ident bgra $($mark:ident)?) => { $packing.bgra() };
    (@packing $packing:ident $($mark:ident)?) => { $packing };
    (@coding bgra $($mark:ident)?) => { texel_formats!(@coding $($mark)?) };
    (@coding srgb) => { Coding::Srgb };
    (@coding shared_exponent) => { Coding::SharedExponent };
    (@coding) => { Coding::Plain };
}
for_each_texel_format!(texel_formats);

/// What the numbers of a format are taken for, besides what their packing says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Nothing.
    Plain,
    /// Values of the sRGB curve, but for the fourth.
    Srgb,
    /// Fractions in front of an exponent of five bits, at the top of the word.
    SharedExponent,
}

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
            _ if !matches!(self.coding(), Coding::Plain) => TexelKind::Float,
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
        let packing = self.packing();
        let mut components = packing.decode(bytes);
        match self.coding() {
            Coding::Plain => {}
            Coding::Srgb => {
                for (number, component) in components[..3].iter_mut().enumerate() {
                    let byte = packing.field(number).and_then(|field| bytes.get(field.at as usize / 8));
                    *component = SRGB[usize::from(byte.copied().unwrap_or(0))].to_bits();
                }
            }
            // Direct3D 11.3 functional specification, 19.3.2.1.
            Coding::SharedExponent => {
                let exponent = bytes.get(3).map_or(0, |byte| byte >> 3);
                let scale = f32::from_bits((u32::from(exponent) + 127 - 24) << 23);
                components = components.map(|fraction| (fraction as f32 * scale).to_bits());
                components[3] = 1.0f32.to_bits();
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

    /// Whether each component is a 32-bit word as shaders have it, and nothing is behind them.
    pub(crate) fn is_words(self) -> bool {
        let packing = self.packing();
        let is_as_stored = matches!(packing.kind, NumericKind::Float | NumericKind::Uint | NumericKind::Sint);
        is_as_stored && packing.widths.iter().all(|&width| width == 32) && self.bytes() == 4 * self.components()
    }

    /// Whether shaders store in it. Depths and the sRGB curve are written otherwise, shared exponents never.
    pub(crate) const fn can_be_written(self) -> bool {
        use TexelFormat::{D24Unorm, D32Float, D32FloatS8};
        matches!(self.coding(), Coding::Plain) && !matches!(self, D32Float | D24Unorm | D32FloatS8)
    }

    /// Whether it is the format of a render target. Depths have buffers of their own; shared exponents are not written.
    #[cfg(feature = "raster")]
    pub(crate) const fn can_be_rendered(self) -> bool {
        self.can_be_written() || self.is_srgb()
    }

    /// Whether all components but the fourth are of the sRGB curve.
    #[cfg(feature = "raster")]
    pub(crate) const fn is_srgb(self) -> bool {
        matches!(self.coding(), Coding::Srgb)
    }

    /// The bits of an element that hold the components of a mask, red in bit 0.
    #[cfg(feature = "raster")]
    pub(crate) fn stored_bits(self, mask: u8) -> [u32; 4] {
        let mut words = [0; 4];
        for number in (0..self.components()).filter(|number| mask >> number & 1 != 0) {
            let Some(Field { at, bits }) = self.packing().field(number) else { continue };
            words[at as usize / 32] |= (u32::MAX >> (32 - bits)) << (at % 32);
        }
        words
    }

    /// The bytes of an element, as words from the lowest on. Components that are not stored do not count. Not for
    /// shared exponents.
    pub(crate) fn encode(self, components: [u32; 4]) -> [u32; 4] {
        let packing = self.packing();
        let mut words = [0; 4];
        for (number, bits) in components.into_iter().enumerate() {
            let Some(Field { at, bits: width }) = packing.field(number) else { break };
            let is_curved = self.coding() == Coding::Srgb && number < 3;
            let bits = if is_curved { to_srgb(f32::from_bits(bits)).to_bits() } else { bits };
            let stored = NumericComponent { kind: packing.kind, width }.encode(bits);
            words[at as usize / 32] |= stored << (at % 32);
        }
        words
    }
}

/// What a byte of the sRGB curve means (IEC 61966-2-1), rounded once.
pub(super) static SRGB: LazyLock<[f32; 256]> = LazyLock::new(|| {
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
        assert_eq!(float(TexelFormat::Bgra8Unorm, 0x00ff_0033), [1.0, 0.0, 0.2, 0.0]);
        assert_eq!(float(TexelFormat::Bgra8Srgb, 0xffff_0000), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(float(TexelFormat::B5g6r5Unorm, 31 | 21 << 5), [0.0, 1.0 / 3.0, 1.0, 1.0]);
        assert_eq!(float(TexelFormat::Bgr5a1Unorm, 31 << 10 | 1 << 15), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(float(TexelFormat::Bgra4Unorm, 0x8f00), [1.0, 0.0, 0.0, 8.0 / 15.0]);
        assert_eq!(float(TexelFormat::D24Unorm, 0x55ff_ffff), [1.0, 0.0, 0.0, 1.0]);
        // The specification's example (19.3.2.1).
        assert_eq!(float(TexelFormat::Rgb9e5Float, 0x9993_20c8), [6.25, 12.5, 3.125, 1.0]);
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
