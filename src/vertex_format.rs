//! Vertex attribute formats: how the bytes of one vertex become the four components of an input element.
//!
//! [`VertexFormat::decode`] is the definition; native code computes the same bits.

/// How the stored numbers become component bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum NumericKind {
    /// 32 bits, a float; taken as they are.
    Float,
    /// 32 bits, an integer; taken as they are.
    Word,
    /// 8 bits, an unsigned integer.
    Uint8,
    /// 16 bits, an unsigned integer.
    Uint16,
    /// 8 bits: `v / 255` as a float.
    Unorm8,
    /// 16 bits: `v / 65535` as a float.
    Unorm16,
    /// 8 bits, signed: `max(v / 127, -1)` as a float.
    Snorm8,
    /// 16 bits, signed: `max(v / 32767, -1)` as a float.
    Snorm16,
    /// 16 bits, a half float; exact, denormals included. The payload of a NaN keeps its place at the top.
    Half,
}

impl NumericKind {
    /// Whether components are 32 bits taken as they are.
    pub const fn is_word(self) -> bool {
        matches!(self, NumericKind::Float | NumericKind::Word)
    }

    /// Bytes of one stored component.
    pub const fn component_bytes(self) -> usize {
        match self {
            NumericKind::Float | NumericKind::Word => 4,
            NumericKind::Uint16 | NumericKind::Unorm16 | NumericKind::Snorm16 | NumericKind::Half => 2,
            NumericKind::Uint8 | NumericKind::Unorm8 | NumericKind::Snorm8 => 1,
        }
    }

    /// Whether components are integers to the shader.
    pub const fn is_integer(self) -> bool {
        matches!(self, NumericKind::Word | NumericKind::Uint8 | NumericKind::Uint16)
    }

    /// What a component that is not stored reads as: 0, 0, 0 and 1.
    pub const fn default_component(self, component: usize) -> u32 {
        match (component, self.is_integer()) {
            (3, true) => 1,
            (3, false) => 1.0f32.to_bits(),
            _ => 0,
        }
    }

    /// The component's bits from its stored bits, zero-extended.
    fn convert(self, stored: u32) -> u32 {
        match self {
            NumericKind::Float | NumericKind::Word | NumericKind::Uint8 | NumericKind::Uint16 => stored,
            NumericKind::Unorm8 => (stored as f32 / 255.0).to_bits(),
            NumericKind::Unorm16 => (stored as f32 / 65535.0).to_bits(),
            NumericKind::Snorm8 => (f32::from(stored as u8 as i8) / 127.0).max(-1.0).to_bits(),
            NumericKind::Snorm16 => (f32::from(stored as u16 as i16) / 32767.0).max(-1.0).to_bits(),
            NumericKind::Half => half_to_float(stored),
        }
    }
}

/// The bits of the float that a half's low 16 bits mean.
pub(crate) fn half_to_float(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = half & 0x7fff;
    let value = match magnitude {
        // Denormal halves count units of 2^-24, and are normal as floats.
        0..0x400 => (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits(),
        0x400..0x7c00 => (magnitude << 13) + (112 << 23),
        _ => (magnitude << 13) | 0x7f80_0000,
    };
    sign | value
}

/// Calls `$callback!` with the table of formats. Each line: doc, variant, name, number of components, what they are.
macro_rules! for_each_format {
    ($callback:ident) => {
        $callback! {
            /// One 32-bit float.
            F32x1 f32x1: 1 x Float;
            /// Two 32-bit floats.
            F32x2 f32x2: 2 x Float;
            /// Three 32-bit floats.
            F32x3 f32x3: 3 x Float;
            /// Four 32-bit floats.
            F32x4 f32x4: 4 x Float;
            /// One unsigned 32-bit integer.
            U32x1 u32x1: 1 x Word;
            /// Two unsigned 32-bit integers.
            U32x2 u32x2: 2 x Word;
            /// Three unsigned 32-bit integers.
            U32x3 u32x3: 3 x Word;
            /// Four unsigned 32-bit integers.
            U32x4 u32x4: 4 x Word;
            /// One signed 32-bit integer.
            I32x1 i32x1: 1 x Word;
            /// Two signed 32-bit integers.
            I32x2 i32x2: 2 x Word;
            /// Three signed 32-bit integers.
            I32x3 i32x3: 3 x Word;
            /// Four signed 32-bit integers.
            I32x4 i32x4: 4 x Word;
            /// Four bytes, 0 to 255 as 0.0 to 1.0.
            Unorm8x4 unorm8x4: 4 x Unorm8;
            /// Four signed bytes, -127 to 127 as -1.0 to 1.0.
            Snorm8x4 snorm8x4: 4 x Snorm8;
            /// Four bytes as unsigned integers.
            Uint8x4 uint8x4: 4 x Uint8;
            /// Two signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Snorm16x2 snorm16x2: 2 x Snorm16;
            /// Four signed 16-bit numbers, -32767 to 32767 as -1.0 to 1.0.
            Snorm16x4 snorm16x4: 4 x Snorm16;
            /// Two unsigned 16-bit integers.
            Uint16x2 uint16x2: 2 x Uint16;
            /// Four unsigned 16-bit integers.
            Uint16x4 uint16x4: 4 x Uint16;
            /// Two unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Unorm16x2 unorm16x2: 2 x Unorm16;
            /// Four unsigned 16-bit numbers, 0 to 65535 as 0.0 to 1.0.
            Unorm16x4 unorm16x4: 4 x Unorm16;
            /// Two half floats.
            F16x2 f16x2: 2 x Half;
            /// Four half floats.
            F16x4 f16x4: 4 x Half;
        }
    };
}
pub(crate) use for_each_format;

macro_rules! attribute_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $components:literal x $kind:ident; )*) => {
        /// The format of one input element in a vertex buffer. All are little-endian.
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

            /// How many components are stored, 1 to 4.
            pub const fn components(self) -> usize { match self { $( VertexFormat::$name => $components, )* } }

            /// What they are.
            pub(crate) const fn kind(self) -> NumericKind { match self { $( VertexFormat::$name => NumericKind::$kind, )* } }
        }
    };
}
for_each_format!(attribute_formats);

impl VertexFormat {
    /// Bytes a vertex occupies: a multiple of 4, at most 16.
    pub const fn bytes(self) -> usize {
        self.components() * self.kind().component_bytes()
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<VertexFormat> {
        VertexFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The bits of the four components that `bytes` hold. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        decode(self.kind(), self.components(), bytes)
    }
}

/// The bits of four components of which `components` are stored. Bytes that are missing count as zero.
pub(crate) fn decode(kind: NumericKind, components: usize, bytes: &[u8]) -> [u32; 4] {
    let size = kind.component_bytes();
    // Whole rows of words, which most are, are taken as they are.
    if (size, components) == (4, 4)
        && let Some(row) = bytes.first_chunk::<16>()
    {
        let words = row.as_chunks().0;
        return std::array::from_fn(|component| u32::from_le_bytes(words[component]));
    }
    std::array::from_fn(|component| {
        if component >= components {
            return kind.default_component(component);
        }
        let stored = (0..size).fold(0, |stored, byte| {
            let value = bytes.get(component * size + byte).copied().unwrap_or(0);
            stored | u32::from(value) << (8 * byte)
        });
        kind.convert(stored)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for &format in VertexFormat::ALL {
            assert_eq!(VertexFormat::from_name(format.name()), Some(format));
            assert!(matches!(format.bytes(), 4 | 8 | 12 | 16), "{}", format.name());
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
