//! How the components of an element lie in its bytes, and what numbers their bits are: what vertex and texel formats
//! have in common.

/// What the bits of a component mean, and what the shader gets of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumericKind {
    /// A float; exact, denormals included. Of 32 bits: taken as they are. Of 16: the payload of a NaN keeps its place
    /// at the top. Of 11 and 10: a half without its sign and without the last bits of its mantissa.
    Float,
    /// An unsigned integer.
    Uint,
    /// A signed integer.
    Sint,
    /// An unsigned integer divided by the largest, as a float.
    Unorm,
    /// A signed integer divided by the largest, but no less than -1, as a float.
    Snorm,
    /// The value of an unsigned integer as a float.
    Uscaled,
    /// The value of a signed integer as a float.
    Sscaled,
}

impl NumericKind {
    /// Whether components are integers to the shader.
    pub const fn is_integer(self) -> bool {
        matches!(self, NumericKind::Uint | NumericKind::Sint)
    }

    /// The component's bits from its `bits` stored bits, zero-extended.
    fn convert(self, bits: u32, stored: u32) -> u32 {
        let unused = 32 - bits;
        let signed = (stored << unused) as i32 >> unused;
        match self {
            NumericKind::Float => match bits {
                32 => stored,
                16 => half_to_float(stored),
                _ => half_to_float(stored << (15 - bits)),
            },
            NumericKind::Uint => stored,
            NumericKind::Sint => signed as u32,
            NumericKind::Unorm => (stored as f32 / largest(bits)).to_bits(),
            NumericKind::Snorm => (signed as f32 / largest(bits - 1)).max(-1.0).to_bits(),
            NumericKind::Uscaled => (stored as f32).to_bits(),
            NumericKind::Sscaled => (signed as f32).to_bits(),
        }
    }
}

/// The largest unsigned integer of so many bits, at most 24.
pub(crate) const fn largest(bits: u32) -> f32 {
    ((1u32 << bits) - 1) as f32
}

/// The components of an element: numbers of one kind, without padding, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub kind: NumericKind,
    /// Bits of each stored component, 1 to 4 of them. None lies in two 32-bit words.
    pub widths: &'static [u32],
    /// Whether the third component is stored first and the first one third. Their widths are equal.
    is_bgra: bool,
}

/// Where in an element a component is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The lowest bit.
    pub at: u32,
    /// Number of bits.
    pub bits: u32,
}

impl Packing {
    /// Components of these widths, the first one from the lowest bit on.
    pub const fn new(kind: NumericKind, widths: &'static [u32]) -> Packing {
        Packing { kind, widths, is_bgra: false }
    }

    /// The same with the third component in the first one's place and the other way round.
    pub const fn bgra(self) -> Packing {
        Packing { is_bgra: true, ..self }
    }

    /// How many components are stored, 1 to 4.
    pub const fn components(self) -> usize {
        self.widths.len()
    }

    /// Bytes of an element, 1 to 16.
    pub const fn bytes(self) -> usize {
        self.start(self.widths.len()) as usize / 8
    }

    /// Bits in front of the component that is stored in that place.
    const fn start(self, place: usize) -> u32 {
        let (mut bits, mut before) = (0, 0);
        while before < place {
            bits += self.widths[before];
            before += 1;
        }
        bits
    }

    /// Where a component is stored, if it is.
    pub const fn field(self, component: usize) -> Option<Field> {
        if component >= self.widths.len() {
            return None;
        }
        let place = if self.is_bgra && component < 3 { 2 - component } else { component };
        Some(Field { at: self.start(place), bits: self.widths[place] })
    }

    /// Whether components are 32 bits taken as they are.
    pub const fn is_words(self) -> bool {
        self.widths[0] == 32
    }

    /// What a component that is not stored reads as: 0, 0, 0 and 1.
    pub const fn default_component(self, component: usize) -> u32 {
        match (component, self.kind.is_integer()) {
            (3, true) => 1,
            (3, false) => 1.0f32.to_bits(),
            _ => 0,
        }
    }

    /// The bits of the four components that `bytes` hold. Bytes that are missing count as zero.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        // Whole rows of words, which most are, are taken as they are.
        if self.is_words()
            && self.components() == 4
            && let Some(row) = bytes.first_chunk::<16>()
        {
            let words = row.as_chunks().0;
            return std::array::from_fn(|component| u32::from_le_bytes(words[component]));
        }
        let mut element = [0; 16];
        element.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        let element = u128::from_le_bytes(element);
        std::array::from_fn(|component| match self.field(component) {
            Some(Field { at, bits }) => self.kind.convert(bits, (element >> at) as u32 & u32::MAX >> (32 - bits)),
            None => self.default_component(component),
        })
    }
}

/// The bits of the float that a half's low 16 bits mean.
fn half_to_float(half: u32) -> u32 {
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
