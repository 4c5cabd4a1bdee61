//! Formats: how the components of an element lie in its bytes, and what numbers their bits are. Vertex formats and
//! texel formats have this in common.
//!
//! What a component is of the word that holds it is written once, over [`Emit`]: [planning](crate::batch) makes
//! instructions of it, and [`Packing::decode`] computes with it.

use crate::eval::{Lanes, eval};
use crate::op::Op;
use crate::pass::{Emit, expansion};
use crate::types::Type;

/// What the bits of a component mean, and what the shader gets of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumericKind {
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

    /// The component in a field of its word. What the word's other bits are does not count.
    pub fn convert<E: Emit>(self, e: &mut E, word: E::Value, field: Field) -> E::Value {
        match self {
            NumericKind::Float if field.bits == 32 => e.op(Op::BitcastF32, &[word]),
            NumericKind::Float if field.bits == 16 => {
                // What is above the low 16 bits does not count.
                let half = lowered(e, word, field);
                expansion(e, Op::F16tof32, &[half])
            }
            NumericKind::Float => {
                let (stored, gap) = (unsigned(e, word, field), e.i32(15 - field.bits));
                let half = e.op(Op::Ishl, &[stored, gap]);
                expansion(e, Op::F16tof32, &[half])
            }
            NumericKind::Uint => unsigned(e, word, field),
            NumericKind::Sint => signed(e, word, field),
            NumericKind::Uscaled => {
                let integer = unsigned(e, word, field);
                e.op(Op::Itof, &[integer])
            }
            NumericKind::Sscaled => {
                let integer = signed(e, word, field);
                e.op(Op::Itof, &[integer])
            }
            NumericKind::Unorm => {
                let number = NumericKind::Uscaled.convert(e, word, field);
                divided(e, number, largest(field.bits))
            }
            NumericKind::Snorm => {
                let number = NumericKind::Sscaled.convert(e, word, field);
                let (quotient, least) = (divided(e, number, largest(field.bits - 1)), e.f32(-1.0));
                e.op(Op::Pmax, &[quotient, least])
            }
        }
    }
}

/// The largest unsigned integer of so many bits, at most 24.
const fn largest(bits: u32) -> f32 {
    ((1u32 << bits) - 1) as f32
}

/// An integer divided by the [largest] one of some bits. Where products and sums round once, it is the sum of its
/// products with a reciprocal in two parts, which rounds as the quotient does for all integers of up to 24 bits.
fn divided<E: Emit>(e: &mut E, number: E::Value, largest: f32) -> E::Value {
    if !e.fused() {
        let largest = e.f32(largest);
        return e.op(Op::Fdiv, &[number, largest]);
    }
    let [high, low] = reciprocal(largest).map(|part| e.f32(part));
    let rest = e.op(Op::Fmul, &[number, low]);
    e.op(Op::Fma, &[number, high, rest])
}

/// The reciprocal of a number as the sum of two.
fn reciprocal(number: f32) -> [f32; 2] {
    let high = 1.0 / number;
    [high, (1.0 / f64::from(number) - f64::from(high)) as f32]
}

/// The field's bits at the bottom, whatever is above them.
fn lowered<E: Emit>(e: &mut E, word: E::Value, field: Field) -> E::Value {
    if field.below() == 0 {
        return word;
    }
    let below = e.i32(field.below());
    e.op(Op::Ushr, &[word, below])
}

/// The field as an unsigned integer.
fn unsigned<E: Emit>(e: &mut E, word: E::Value, field: Field) -> E::Value {
    let lowered = lowered(e, word, field);
    if field.above() == 0 {
        return lowered;
    }
    let mask = e.i32((1 << field.bits) - 1);
    e.op(Op::And, &[lowered, mask])
}

/// The field as a signed integer.
fn signed<E: Emit>(e: &mut E, word: E::Value, field: Field) -> E::Value {
    let mut integer = word;
    for (op, bits) in [(Op::Ishl, field.above()), (Op::Sshr, 32 - field.bits)] {
        if bits > 0 {
            let bits = e.i32(bits);
            integer = e.op(op, &[integer, bits]);
        }
    }
    integer
}

/// The components of an element: numbers of one kind, without padding between them, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// What they are.
    pub kind: NumericKind,
    /// Bits of each stored component, 1 to 4 of them. None lies in two 32-bit words.
    pub widths: &'static [u32],
    /// Whether the third component is stored first and the first one third. Their widths are equal.
    is_bgra: bool,
    /// Bytes of an element, if there are any behind the components.
    padded: Option<usize>,
}

/// Where in an element a component is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The lowest bit.
    pub at: u32,
    /// Number of bits.
    pub bits: u32,
}

impl Field {
    /// The 32-bit word that it is in.
    pub const fn word(self) -> usize {
        (self.at / 32) as usize
    }

    /// Bits of that word below it.
    const fn below(self) -> u32 {
        self.at % 32
    }

    /// Bits of that word above it.
    const fn above(self) -> u32 {
        32 - self.bits - self.below()
    }
}

impl Packing {
    /// Components of these widths, the first one from the lowest bit on.
    pub const fn new(kind: NumericKind, widths: &'static [u32]) -> Packing {
        Packing { kind, widths, is_bgra: false, padded: None }
    }

    /// This packing in elements of so many bytes. Bytes behind the components count for nothing.
    pub const fn padded(self, bytes: usize) -> Packing {
        Packing { padded: Some(bytes), ..self }
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
        match self.padded {
            Some(bytes) => bytes,
            None => self.start(self.widths.len()) as usize / 8,
        }
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
        let chunks = element.as_chunks().0;
        let words = std::array::from_fn(|word| [u32::from_le_bytes(chunks[word])]);
        std::array::from_fn(|component| self.component(component, &words)[0])
    }

    /// The bits of a component of L elements whose words these are.
    #[inline(always)]
    pub fn component<const L: usize>(self, component: usize, words: &[Lanes<L>; 4]) -> Lanes<L> {
        match self.field(component) {
            Some(field) if field.bits == 32 => words[field.word()],
            Some(field) => self.kind.convert(&mut Computer, words[field.word()], field),
            None => [self.default_component(component); L],
        }
    }
}

/// Computes components. The interpreter fetches every vertex through it: unlike those of [`eval`], which expansions
/// may call in turn, its ops become the few instructions that each is.
struct Computer<const L: usize>;

impl<const L: usize> Emit for Computer<L> {
    type Value = Lanes<L>;

    #[inline(always)]
    fn op(&mut self, op: Op, args: &[Lanes<L>]) -> Lanes<L> {
        eval(op, Type::I32, args, self.fused())
    }

    fn constant(&mut self, _: Type, bits: u32) -> Lanes<L> {
        [bits; L]
    }

    /// Not every machine that interprets has an instruction for it.
    fn fused(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_reciprocals_round_as_quotients_do() {
        for bits in 1..=24 {
            let largest = largest(bits);
            let [high, low] = reciprocal(largest);
            let is_quotient =
                |number: f32| number.mul_add(high, number * low).to_bits() == (number / largest).to_bits();
            // With other exponents all steps are the same but for powers of two.
            let wrong = (1u32 << 23..1 << 24).map(|number| number as f32).find(|&number| !is_quotient(number));
            assert_eq!(wrong, None, "divided by {largest}");
            assert!([0.0, 1.0, -1.0, -largest].into_iter().all(is_quotient));
        }
    }

    /// A float of 5 bits of exponent and so many of mantissa, below a sign.
    fn small_float(mantissa_bits: u32, stored: u32) -> u32 {
        let sign = stored >> (mantissa_bits + 5) << 31;
        let (exponent, mantissa) = (stored >> mantissa_bits & 31, stored & ((1 << mantissa_bits) - 1));
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        sign | match exponent {
            0 => ((fraction * 2f64.powi(-14)) as f32).to_bits(),
            31 => 0x7f80_0000 | mantissa << (23 - mantissa_bits),
            _ => (((1.0 + fraction) * 2f64.powi(exponent as i32 - 15)) as f32).to_bits(),
        }
    }

    /// What the documentation of the kinds says. Quotients of so short integers are rounded as if once.
    fn meant(kind: NumericKind, bits: u32, stored: u32) -> u32 {
        let is_negative = stored >> (bits - 1) == 1;
        let signed = if is_negative { i64::from(stored) - (1 << bits) } else { i64::from(stored) };
        let float = |value: f64| (value as f32).to_bits();
        match kind {
            NumericKind::Float => small_float(if bits == 16 { 10 } else { bits - 5 }, stored),
            NumericKind::Uint => stored,
            NumericKind::Sint => signed as u32,
            NumericKind::Unorm => float(f64::from(stored) / ((1i64 << bits) - 1) as f64),
            NumericKind::Snorm => float((signed as f64 / ((1i64 << (bits - 1)) - 1) as f64).max(-1.0)),
            NumericKind::Uscaled => float(f64::from(stored)),
            NumericKind::Sscaled => float(signed as f64),
        }
    }

    #[test]
    fn components_are_what_their_kind_says_and_nothing_else_counts() {
        use NumericKind::*;
        let integers: [&[u32]; 4] = [&[8, 8, 8, 8], &[16, 16, 16, 16], &[10, 10, 10, 2], &[8, 8, 8]];
        let kinds = [Uint, Sint, Unorm, Snorm, Uscaled, Sscaled];
        let packings = kinds.into_iter().flat_map(|kind| integers.map(|widths| Packing::new(kind, widths)));
        let floats = [&[16, 16, 16, 16][..], &[11, 11, 10]].map(|widths| Packing::new(Float, widths));
        for packing in packings.chain(floats).flat_map(|packing| [packing, packing.bgra()]) {
            for component in 0..4 {
                let Some(Field { at, bits }) = packing.field(component) else {
                    let default = packing.decode(&[0xff; 16])[component];
                    assert_eq!(default, if component < 3 { 0 } else { packing.default_component(3) });
                    continue;
                };
                for stored in 0..1u32 << bits {
                    let others = if stored % 2 == 0 { u128::MAX } else { 0 };
                    let element = others & !(((1u128 << bits) - 1) << at) | u128::from(stored) << at;
                    let found = packing.decode(&element.to_le_bytes()[..packing.bytes()])[component];
                    assert_eq!(found, meant(packing.kind, bits, stored), "{packing:?}.{component} of {stored:#x}");
                }
            }
        }
    }

    #[test]
    fn words_are_taken_as_they_are_and_missing_bytes_are_zero() {
        let packing = Packing::new(NumericKind::Float, &[32, 32, 32]);
        assert!(packing.is_words());
        let bytes = [1, 0, 0, 0, 0x01, 0x00, 0x80, 0x7f, 0xff];
        assert_eq!(packing.decode(&bytes), [1, 0x7f80_0001, 0xff, 1.0f32.to_bits()]);
    }
}
