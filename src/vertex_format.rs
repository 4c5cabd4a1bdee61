//! Vertex attribute formats: how the bytes of one vertex become the four components of an input element.
//!
//! A line of the table says how they lie and what numbers they are; [`packing`](shaderjit_ir::packing) says what that
//! means, to the interpreter and to native code.

use shaderjit_ir::packing::{NumericKind, Packing};

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, what the components are, and the bits
/// each is stored in, from the lowest bit on; `bgra` if the third component is stored first and the first one third.
macro_rules! for_each_format {
    ($callback:ident) => {
        $callback! {
            /// One 32-bit float.
            F32x1 f32x1: Float[32];
            /// Two 32-bit floats.
            F32x2 f32x2: Float[32, 32];
            /// Three 32-bit floats.
            F32x3 f32x3: Float[32, 32, 32];
            /// Four 32-bit floats.
            F32x4 f32x4: Float[32, 32, 32, 32];
            /// One half float.
            F16x1 f16x1: Float[16];
            /// Two half floats.
            F16x2 f16x2: Float[16, 16];
            /// Four half floats.
            F16x4 f16x4: Float[16, 16, 16, 16];
            /// One unsigned 32-bit integer.
            U32x1 u32x1: Uint[32];
            /// Two unsigned 32-bit integers.
            U32x2 u32x2: Uint[32, 32];
            /// Three unsigned 32-bit integers.
            U32x3 u32x3: Uint[32, 32, 32];
            /// Four unsigned 32-bit integers.
            U32x4 u32x4: Uint[32, 32, 32, 32];
            /// One signed 32-bit integer.
            I32x1 i32x1: Sint[32];
            /// Two signed 32-bit integers.
            I32x2 i32x2: Sint[32, 32];
            /// Three signed 32-bit integers.
            I32x3 i32x3: Sint[32, 32, 32];
            /// Four signed 32-bit integers.
            I32x4 i32x4: Sint[32, 32, 32, 32];
            /// One byte as an unsigned integer.
            Uint8x1 uint8x1: Uint[8];
            /// Two bytes as unsigned integers.
            Uint8x2 uint8x2: Uint[8, 8];
            /// Four bytes as unsigned integers.
            Uint8x4 uint8x4: Uint[8, 8, 8, 8];
            /// One signed byte as an integer.
            Sint8x1 sint8x1: Sint[8];
            /// Two signed bytes as integers.
            Sint8x2 sint8x2: Sint[8, 8];
            /// Four signed bytes as integers.
            Sint8x4 sint8x4: Sint[8, 8, 8, 8];
            /// One unsigned 16-bit integer.
            Uint16x1 uint16x1: Uint[16];
            /// Two unsigned 16-bit integers.
            Uint16x2 uint16x2: Uint[16, 16];
            /// Four unsigned 16-bit integers.
            Uint16x4 uint16x4: Uint[16, 16, 16, 16];
            /// One signed 16-bit integer.
            Sint16x1 sint16x1: Sint[16];
            /// Two signed 16-bit integers.
            Sint16x2 sint16x2: Sint[16, 16];
            /// Four signed 16-bit integers.
            Sint16x4 sint16x4: Sint[16, 16, 16, 16];
            /// One byte, 0 to 255 as 0.0 to 1.0.
            Unorm8x1 unorm8x1: Unorm[8];
            /// Two bytes, 0 to 255 as 0.0 to 1.0.
            Unorm8x2 unorm8x2: Unorm[8, 8];
            /// Four bytes, 0 to 255 as 0.0 to 1.0.
            Unorm8x4 unorm8x4: Unorm[8, 8, 8, 8];
            /// One signed byte, -127 to 127 as -1.0 to 1.0.
            Snorm8x1 snorm8x1: Snorm[8];
            /// Two signed bytes, -127 to 127 as -1.0 to 1.0.
            Snorm8x2 snorm8x2: Snorm[8, 8];
            /// Four signed bytes, -127 to 127 as -1.0 to 1.0.
            Snorm8x4 snorm8x4: Snorm[8, 8, 8, 8];
            /// One unsigned 16-bit number, 0 to 65535 as 0.0 to 1.0.
            Unorm16x1 unorm16x1: Unorm[16];
            /// Two unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Unorm16x2 unorm16x2: Unorm[16, 16];
            /// Four unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Unorm16x4 unorm16x4: Unorm[16, 16, 16, 16];
            /// One signed 16-bit number, -32767 to 32767 as -1.0 to 1.0.
            Snorm16x1 snorm16x1: Snorm[16];
            /// Two signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Snorm16x2 snorm16x2: Snorm[16, 16];
            /// Four signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Snorm16x4 snorm16x4: Snorm[16, 16, 16, 16];
            /// One byte, 0 to 255 as 0.0 to 255.0.
            Uscaled8x1 uscaled8x1: Uscaled[8];
            /// Two bytes, 0 to 255 as 0.0 to 255.0.
            Uscaled8x2 uscaled8x2: Uscaled[8, 8];
            /// Three bytes, 0 to 255 as 0.0 to 255.0.
            Uscaled8x3 uscaled8x3: Uscaled[8, 8, 8];
            /// Four bytes, 0 to 255 as 0.0 to 255.0.
            Uscaled8x4 uscaled8x4: Uscaled[8, 8, 8, 8];
            /// One signed byte, -128 to 127 as -128.0 to 127.0.
            Sscaled8x1 sscaled8x1: Sscaled[8];
            /// Two signed bytes, -128 to 127 as -128.0 to 127.0.
            Sscaled8x2 sscaled8x2: Sscaled[8, 8];
            /// Three signed bytes, -128 to 127 as -128.0 to 127.0.
            Sscaled8x3 sscaled8x3: Sscaled[8, 8, 8];
            /// Four signed bytes, -128 to 127 as -128.0 to 127.0.
            Sscaled8x4 sscaled8x4: Sscaled[8, 8, 8, 8];
            /// One signed 16-bit number, -32768 to 32767 as -32768.0 to 32767.0.
            Sscaled16x1 sscaled16x1: Sscaled[16];
            /// Two signed 16-bit numbers, -32768 to 32767 as -32768.0 to 32767.0.
            Sscaled16x2 sscaled16x2: Sscaled[16, 16];
            /// Three signed 16-bit numbers, -32768 to 32767 as -32768.0 to 32767.0.
            Sscaled16x3 sscaled16x3: Sscaled[16, 16, 16];
            /// Four signed 16-bit numbers, -32768 to 32767 as -32768.0 to 32767.0.
            Sscaled16x4 sscaled16x4: Sscaled[16, 16, 16, 16];
            /// Four bytes, 0 to 255 as 0.0 to 1.0: the third component, the second, the first, the fourth.
            Unorm8x4Bgra unorm8x4_bgra: Unorm[8, 8, 8, 8] bgra;
            /// From the lowest bit on, three numbers of 10 bits and one of 2, their range as 0.0 to 1.0.
            Unorm10_10_10_2 unorm10_10_10_2: Unorm[10, 10, 10, 2];
            /// From the lowest bit on, three unsigned integers of 10 bits and one of 2.
            Uint10_10_10_2 uint10_10_10_2: Uint[10, 10, 10, 2];
            /// From the lowest bit on, unsigned floats of 11, 11 and 10 bits.
            F11_11_10 f11_11_10: Float[11, 11, 10];
        }
    };
}
pub(crate) use for_each_format;

macro_rules! attribute_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $kind:ident[$($bits:literal),*] $($order:ident)?; )*) => {
        /// The format of one input element in a vertex buffer. All are little-endian.
        ///
        /// A format of integers (`U32`, `I32`, `Uint`, `Sint`) is for inputs that are integers to the shader, every
        /// other one for inputs that are floats. The formats of a 3DS are `F32`, `Sscaled8`, `Uscaled8` and
        /// `Sscaled16`; all but the `Uscaled` and `Sscaled` ones are of Direct3D's input assembler.
        ///
        /// ```
        /// use shaderjit::VertexFormat;
        ///
        /// // Components that are not stored read 0, 0, 0, 1.
        /// let bits = VertexFormat::Unorm16x2.decode(&[0xff, 0xff, 0, 0]);
        /// assert_eq!(bits.map(f32::from_bits), [1.0, 0.0, 0.0, 1.0]);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum VertexFormat { $( $(#[$doc])* $name, )* }

        impl VertexFormat {
            /// Every format.
            pub const ALL: &'static [VertexFormat] = &[$( VertexFormat::$name, )*];

            /// The name users write: `f32x3`.
            pub const fn name(self) -> &'static str { match self { $( VertexFormat::$name => stringify!($text), )* } }

            /// How the components are stored.
            pub(crate) const fn packing(self) -> Packing {
                match self {
                    $( VertexFormat::$name => Packing::new(NumericKind::$kind, &[$($bits),*])$(.$order())?, )*
                }
            }
        }
    };
}
for_each_format!(attribute_formats);

impl VertexFormat {
    /// Bytes a vertex occupies: 1, 2, 3, 4, 6, 8, 12 or 16.
    pub const fn bytes(self) -> usize {
        // Every call asks, and adding up the components would take longer than all else it does for an attribute.
        const BYTES: [u8; VertexFormat::ALL.len()] = {
            let (mut bytes, mut format) = ([0; VertexFormat::ALL.len()], 0);
            while format < bytes.len() {
                bytes[VertexFormat::ALL[format] as usize] = VertexFormat::ALL[format].packing().bytes() as u8;
                format += 1;
            }
            bytes
        };
        BYTES[self as usize] as usize
    }

    /// How many components are stored, 1 to 4.
    pub const fn components(self) -> usize {
        self.packing().components()
    }

    /// Whether components are integers to the shader, and not floats.
    pub const fn is_integer(self) -> bool {
        self.packing().kind.is_integer()
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<VertexFormat> {
        VertexFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The bits of the four components that `bytes` hold. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        self.packing().decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::packing::Field;

    #[test]
    fn names_are_unique_and_found() {
        for &format in VertexFormat::ALL {
            assert_eq!(VertexFormat::from_name(format.name()), Some(format));
            for component in 0..format.components() {
                let Field { at, bits } = format.packing().field(component).expect("it is stored");
                assert_eq!(at / 32, (at + bits - 1) / 32, "{} is in one word", format.name());
            }
            assert!(matches!(format.bytes(), 1..=4 | 6 | 8 | 12 | 16), "{}", format.name());
        }
    }

    #[test]
    fn normalised_numbers_reach_their_ends_exactly() {
        let float = |format: VertexFormat, bytes: &[u8]| format.decode(bytes).map(f32::from_bits);
        assert_eq!(float(VertexFormat::Unorm8x4, &[0, 255, 51, 1]), [0.0, 1.0, 0.2, 1.0 / 255.0]);
        assert_eq!(float(VertexFormat::Snorm16x2, &[0x00, 0x80, 0x01, 0x80]), [-1.0, -1.0, 0.0, 1.0]);
        assert_eq!(float(VertexFormat::Snorm8x4, &[0x80, 0x81, 0x7f, 0xff]), [-1.0, -1.0, 1.0, -1.0 / 127.0]);
        assert_eq!(float(VertexFormat::Snorm16x2, &[0xff, 0x7f, 0xff, 0xff]), [1.0, -1.0 / 32767.0, 0.0, 1.0]);
        assert_eq!(VertexFormat::Uint16x2.decode(&[1, 2, 3, 4]), [0x201, 0x403, 0, 1]);
        assert_eq!(VertexFormat::U32x1.decode(&[0xff; 4]), [u32::MAX, 0, 0, 1]);
    }

    #[test]
    fn halves_are_exact() {
        let half = |bits: u16| VertexFormat::F16x2.decode(&bits.to_le_bytes())[0];
        assert_eq!(half(0x3c00), 1.0f32.to_bits());
        assert_eq!(half(0xc000), (-2.0f32).to_bits());
        assert_eq!(half(0x7bff), 65504.0f32.to_bits());
        assert_eq!(half(0x0001), 2f32.powi(-24).to_bits());
        assert_eq!(half(0x83ff), (-1023.0 * 2f32.powi(-24)).to_bits());
        assert_eq!(half(0x8000), 0x8000_0000);
        assert_eq!(half(0xfc00), 0xff80_0000);
        assert_eq!(half(0x7e01), 0x7fc0_2000);
    }
}
