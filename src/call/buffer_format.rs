//! What the elements of a typed buffer are stored as.

use crate::attribute::{NumericKind, decode};

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, number of components, what they are.
macro_rules! for_each_buffer_format {
    ($callback:ident) => {
        $callback! {
            /// One 32-bit float.
            R32Float r32f: 1 x Float;
            /// One unsigned 32-bit integer.
            R32Uint r32u: 1 x Word;
            /// One signed 32-bit integer.
            R32Sint r32i: 1 x Word;
            /// Two 32-bit floats.
            Rg32Float rg32f: 2 x Float;
            /// Two unsigned 32-bit integers.
            Rg32Uint rg32u: 2 x Word;
            /// Two signed 32-bit integers.
            Rg32Sint rg32i: 2 x Word;
            /// Three 32-bit floats.
            Rgb32Float rgb32f: 3 x Float;
            /// Three unsigned 32-bit integers.
            Rgb32Uint rgb32u: 3 x Word;
            /// Three signed 32-bit integers.
            Rgb32Sint rgb32i: 3 x Word;
            /// Four 32-bit floats.
            Rgba32Float rgba32f: 4 x Float;
            /// Four unsigned 32-bit integers.
            Rgba32Uint rgba32u: 4 x Word;
            /// Four signed 32-bit integers.
            Rgba32Sint rgba32i: 4 x Word;
            /// One half float.
            R16Float r16f: 1 x Half;
            /// Two half floats.
            Rg16Float rg16f: 2 x Half;
            /// Four half floats.
            Rgba16Float rgba16f: 4 x Half;
            /// One unsigned 16-bit integer.
            R16Uint r16u: 1 x Uint16;
            /// Four unsigned 16-bit integers.
            Rgba16Uint rgba16u: 4 x Uint16;
            /// Four unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Rgba16Unorm rgba16: 4 x Unorm16;
            /// Four signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Rgba16Snorm rgba16s: 4 x Snorm16;
            /// One byte, 0 to 255 as 0.0 to 1.0.
            R8Unorm r8: 1 x Unorm8;
            /// One byte as an unsigned integer.
            R8Uint r8u: 1 x Uint8;
            /// Four bytes, 0 to 255 as 0.0 to 1.0.
            Rgba8Unorm rgba8: 4 x Unorm8;
            /// Four signed bytes, -127 to 127 as -1.0 to 1.0.
            Rgba8Snorm rgba8s: 4 x Snorm8;
            /// Four bytes as unsigned integers.
            Rgba8Uint rgba8u: 4 x Uint8;
        }
    };
}

macro_rules! buffer_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $components:literal x $kind:ident; )*) => {
        /// The format of the elements of a typed buffer (`Buffer<float4>`). All are little-endian, without padding between
        /// elements. Components that are not stored read 0, 0, 0 and 1.
        ///
        /// ```
        /// use shaderjit::BufferFormat;
        ///
        /// let bits = BufferFormat::Rgba8Unorm.decode(&[0, 255, 51, 0]);
        /// assert_eq!(bits.map(f32::from_bits), [0.0, 1.0, 0.2, 0.0]);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum BufferFormat { $( $(#[$doc])* $name, )* }

        impl BufferFormat {
            /// Every format.
            pub const ALL: &'static [BufferFormat] = &[$( BufferFormat::$name, )*];

            /// The name users write: `rgba32f`.
            pub const fn name(self) -> &'static str { match self { $( BufferFormat::$name => stringify!($text), )* } }

            /// How many components are stored, 1 to 4.
            pub const fn components(self) -> usize { match self { $( BufferFormat::$name => $components, )* } }

            /// What they are.
            pub const fn kind(self) -> NumericKind { match self { $( BufferFormat::$name => NumericKind::$kind, )* } }
        }
    };
}
for_each_buffer_format!(buffer_formats);

impl BufferFormat {
    /// Bytes an element occupies, 1 to 16.
    pub const fn bytes(self) -> usize {
        self.components() * self.kind().component_bytes()
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<BufferFormat> {
        BufferFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The bits of an element's four components. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        decode(self.kind(), self.components(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for &format in BufferFormat::ALL {
            assert_eq!(BufferFormat::from_name(format.name()), Some(format));
            assert!((1..=16).contains(&format.bytes()), "{}", format.name());
        }
    }

    #[test]
    fn absent_components_have_defaults_of_their_kind() {
        let one = 1.0f32.to_bits();
        assert_eq!(BufferFormat::R32Float.decode(&[1, 2, 3, 4]), [0x0403_0201, 0, 0, one]);
        assert_eq!(BufferFormat::R32Sint.decode(&[0xff; 4]), [u32::MAX, 0, 0, 1]);
        assert_eq!(BufferFormat::Rg16Float.decode(&[0, 0x3c, 0, 0xbc]), [one, one | 1 << 31, 0, one]);
        assert_eq!(BufferFormat::R8Uint.decode(&[200]), [200, 0, 0, 1]);
        let snorm = BufferFormat::Rgba8Snorm.decode(&[0x80, 0x81, 0x7f, 0]).map(f32::from_bits);
        assert_eq!(snorm, [-1.0, -1.0, 1.0, 0.0]);
    }
}
