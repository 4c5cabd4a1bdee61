//! Texels of all lanes: bytes → words → components. Each class of formats is one loop over the lanes; which fields of a
//! word its components are is data, and the same for all lanes.
//!
//! The results are those of [`TexelFormat::decode`], to the bit.

use super::TexelFormat;
use super::format::{Coding, SRGB};
use super::lanes::{float, word};
use super::mean::Mean;
use crate::simd::{Floats, Words};
use shaderjit_ir::packing::{Field, NumericKind};
use std::sync::LazyLock;

/// How texels of a format are read.
#[derive(Clone, Copy)]
pub struct Decoder {
    /// Bytes of a texel.
    bytes: usize,
    /// The components that are stored.
    components: usize,
    fields: [FieldCode; 4],
}

/// What is done with a field of a word.
#[derive(Clone, Copy)]
struct FieldCode {
    class: Class,
    /// The word that it is in.
    word: usize,
    /// Bits of that word below it, whole bytes of those, and bits above it.
    below: u32,
    byte: u32,
    above: u32,
    /// All ones, as many as it has bits.
    mask: u32,
    /// Bits that a float has less than a half at its end.
    gap: u32,
    /// What stands for 1.0; for short ones its [reciprocal](scale).
    scale: [f32; 2],
}

/// What a field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The bits as they are, of 32.
    Word,
    Uint,
    Sint,
    Unorm,
    /// One byte of a word.
    ByteUnorm,
    /// Of more bits than a reciprocal is exact for.
    LongUnorm,
    Snorm,
    /// A float with five bits of exponent, with a sign if it has 16 bits.
    Half,
    /// A byte of the sRGB curve.
    Srgb,
    /// Nine bits, scaled by the five at the top of the word.
    SharedExponent,
}

impl Decoder {
    pub fn new(format: TexelFormat) -> Decoder {
        let packing = format.packing();
        let fields = std::array::from_fn(|component| {
            let field = packing.field(component).unwrap_or(Field { at: 0, bits: 32 });
            let class = match (packing.kind, format.coding()) {
                (_, Coding::SharedExponent) => Class::SharedExponent,
                (NumericKind::Unorm, Coding::Srgb) if component < 3 => Class::Srgb,
                (NumericKind::Unorm, _) if field.bits > 16 => Class::LongUnorm,
                (NumericKind::Unorm, Coding::Plain) if field.bits == 8 && field.at.is_multiple_of(8) => {
                    Class::ByteUnorm
                }
                (NumericKind::Unorm, _) => Class::Unorm,
                (NumericKind::Snorm, _) => Class::Snorm,
                (NumericKind::Float, _) if field.bits < 32 => Class::Half,
                (NumericKind::Uint, _) if field.bits < 32 => Class::Uint,
                (NumericKind::Sint, _) if field.bits < 32 => Class::Sint,
                _ => Class::Word,
            };
            let below = field.at % 32;
            let scale = match class {
                Class::Unorm | Class::ByteUnorm => scale(field.bits),
                Class::Snorm => scale(field.bits - 1),
                _ => [((1u64 << field.bits) - 1) as f32, 0.0],
            };
            FieldCode {
                class,
                word: field.word(),
                below,
                byte: below / 8,
                above: 32 - field.bits - below,
                mask: u32::MAX >> (32 - field.bits),
                gap: 15u32.saturating_sub(field.bits),
                scale,
            }
        });
        Decoder { bytes: format.bytes(), components: format.components(), fields }
    }

    /// Reads the texels of these numbers, N for each of the first lanes, and gives their components one after the
    /// other: at most so many, and no more than are stored. What is not among the bytes is zero. Of every two texels
    /// the second may be known to be the one behind the first, or missing as the first is.
    #[inline(always)]
    pub fn read<F: Floats, const N: usize>(
        &self,
        bytes: &[u8],
        numbers: &[F::Words; N],
        are_pairs: bool,
        lanes: usize,
        components: usize,
        mean: &mut Mean<'_, F>,
    ) {
        let fields = &self.fields[..components.min(self.components).min(4)];
        match self.bytes {
            1 | 2 | 4 => {
                let words = match self.bytes {
                    1 => short::<F, N, 1>(bytes, numbers, lanes),
                    2 => short::<F, N, 2>(bytes, numbers, lanes),
                    _ => long::<F, N, 1>(bytes, numbers, are_pairs),
                };
                decode(fields, &words, mean);
            }
            8 => decode(fields, &long::<F, N, 2>(bytes, numbers, false), mean),
            12 => decode(fields, &long::<F, N, 3>(bytes, numbers, false), mean),
            _ => decode(fields, &long::<F, N, 4>(bytes, numbers, false), mean),
        }
    }
}

/// Texels of W words. There are fewer than 2^31 of those, so the products of numbers of no texel are none either.
#[inline(always)]
fn long<F: Floats, const N: usize, const W: usize>(
    bytes: &[u8],
    numbers: &[F::Words; N],
    are_pairs: bool,
) -> [[F::Words; W]; N] {
    let all = bytes.as_chunks().0;
    let mut words = [[word::<F>(0); W]; N];
    if are_pairs {
        for (words, numbers) in words.as_chunks_mut::<2>().0.iter_mut().zip(numbers.as_chunks::<2>().0) {
            let [left, right] = numbers[0].look_up_pairs(all);
            [words[0][0], words[1][0]] = [left, right];
        }
        return words;
    }
    for (words, &number) in words.iter_mut().zip(numbers) {
        let first = if W == 1 { number } else { number * word::<F>(W as u32) };
        for (pair, words) in words.chunks_mut(2).enumerate() {
            let number = if pair == 0 { first } else { first + word::<F>(2 * pair as u32) };
            match words {
                [first, second] => [*first, *second] = number.look_up_pairs(all),
                _ => words[0] = number.look_up(all),
            }
        }
    }
    words
}

/// Texels of B bytes, less than a word.
#[inline(always)]
fn short<F: Floats, const N: usize, const B: usize>(
    bytes: &[u8],
    numbers: &[F::Words; N],
    lanes: usize,
) -> [[F::Words; 1]; N] {
    let all = bytes.as_chunks::<B>().0;
    let mut words = [[word::<F>(0)]; N];
    for ([words], numbers) in words.iter_mut().zip(numbers) {
        let (numbers, mut found) = (numbers.to_array(), [0; _]);
        for lane in 0..lanes.min(F::LANES) {
            if let Some(texel) = all.get(numbers[lane] as usize) {
                found[lane] =
                    if B == 1 { texel[0].into() } else { u16::from_le_bytes([texel[0], texel[B - 1]]).into() };
            }
        }
        *words = F::Words::from_array(&found);
    }
    words
}

/// Gives the components that these fields of the words are. All fields of a format are of one class, but for the alpha
/// of the sRGB curve.
#[inline(always)]
fn decode<F: Floats, const N: usize, const W: usize>(
    fields: &[FieldCode],
    words: &[[F::Words; W]; N],
    mean: &mut Mean<'_, F>,
) {
    /// One class: whether all its texels are finite, and a loop over the components.
    macro_rules! of_class {
        ($are_finite:literal, |$field:ident, $word:ident| $result:expr) => {
            for (component, $field) in fields.iter().enumerate() {
                let mut texels = [word::<F>(0); N];
                for (texel, words) in texels.iter_mut().zip(words) {
                    let $word = words[$field.word % W];
                    *texel = $result;
                }
                mean.take(component, &texels, $are_finite);
            }
        };
    }
    let Some(first) = fields.first() else { return };
    // Long texels are of whole words, all of them.
    if W > 2 || first.class == Class::Word {
        return of_class!(false, |field, word| word);
    }
    match first.class {
        Class::Uint => of_class!(false, |field, word| field.unsigned::<F>(word)),
        Class::Sint => of_class!(false, |field, word| field.signed::<F>(word)),
        Class::Unorm => of_class!(true, |field, word| field.unorm::<F>(word)),
        Class::ByteUnorm if W == 1 => of_class!(true, |field, word| field.scaled::<F>(word.byte(field.byte)).bits()),
        Class::Snorm => {
            of_class!(true, |field, word| field.scaled::<F>(field.signed::<F>(word)).max(float(-1.0)).bits())
        }
        Class::Half => of_class!(false, |field, word| half::<F>(field.unsigned::<F>(word).shl(field.gap))),
        Class::LongUnorm if W == 1 => {
            of_class!(true, |field, word| field.quotient::<F>(word))
        }
        Class::SharedExponent if W == 1 => of_class!(true, |field, shared| {
            // 2^(exponent - 15 - 9)
            let scale = (shared.shr(27) + word::<F>(127 - 24)).shl(23).as_floats();
            (field.unsigned::<F>(shared).to_floats() * scale).bits()
        }),
        Class::Srgb if W == 1 => {
            let curve: &[[u8; 4]; 256] = &SRGB_BYTES;
            of_class!(true, |field, word| match field.class {
                Class::Srgb => field.unsigned::<F>(word).look_up(curve),
                _ => field.unorm::<F>(word),
            })
        }
        // The others are of single words.
        _ => debug_assert!(false, "no format of {W} words has these fields"),
    }
}

/// The sRGB curve, to look up.
static SRGB_BYTES: LazyLock<[[u8; 4]; 256]> = LazyLock::new(|| SRGB.map(f32::to_le_bytes));

impl FieldCode {
    /// The field as an unsigned number. A shift by a vector is one operation, by a number that is no constant two.
    #[inline(always)]
    fn unsigned<F: Floats>(&self, bits: F::Words) -> F::Words {
        bits.shifted_by(word::<F>(self.below)) & word::<F>(self.mask)
    }

    #[inline(always)]
    fn signed<F: Floats>(&self, word: F::Words) -> F::Words {
        word.shl(self.above).sar(self.above + self.below)
    }

    #[inline(always)]
    fn scaled<F: Floats>(&self, value: F::Words) -> F {
        let (value, [high, low]) = (value.to_floats(), self.scale);
        value.exact_product_plus(float(high), value * float(low))
    }

    #[inline(always)]
    fn quotient<F: Floats>(&self, word: F::Words) -> F::Words {
        (self.unsigned::<F>(word).to_floats() / float(self.scale[0])).bits()
    }

    #[inline(always)]
    fn unorm<F: Floats>(&self, word: F::Words) -> F::Words {
        self.scaled::<F>(self.unsigned::<F>(word)).bits()
    }
}

/// The bits of half floats as floats, denormals and the payloads of NaNs included. No operand is a denormal float: with
/// one, processors take a hundred times as long.
#[inline(always)]
fn half<F: Floats>(bits: F::Words) -> F::Words {
    const LEAST: u32 = 113 << 23;
    let magnitude = (bits & word::<F>(0x7fff)).shl(13);
    let normal = magnitude + word::<F>(112 << 23);
    // The fraction of a denormal stands behind the leading 1 of the least normal number, which is taken away again.
    let denormal = (magnitude + word::<F>(LEAST)).as_floats() - float(f32::from_bits(LEAST));
    let is_denormal = magnitude.less(word::<F>(1 << 23));
    let is_finite = magnitude.less(word::<F>(0x0f80_0000));
    let finite = denormal.bits().or_where_not(is_denormal, normal);
    finite.or_where_not(is_finite, magnitude | word::<F>(0x7f80_0000)) | (bits & word::<F>(0x8000)).shl(16)
}

/// The reciprocal of the largest number of so many bits in two parts, so that `n * high + n * low` is the quotient,
/// rounded once: the first product is exact.
fn scale(bits: u32) -> [f32; 2] {
    let exact = 1.0 / ((1u64 << bits) - 1) as f64;
    let high = f32::from_bits((exact as f32).to_bits() & u32::MAX << bits.min(23));
    [high, (exact - f64::from(high)) as f32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::array::{Floats8, Words8};
    use crate::texture::address::Span;

    /// Components of the texel in front of another one, through the lanes.
    fn read(format: TexelFormat, bytes: &[u8]) -> Vec<u32> {
        let spans = [Span::one(Words8::all(0)); 3];
        let mut mean = Mean::<Floats8>::new(&spans, None);
        let mut numbers = [u32::MAX; 16];
        numbers[..3].copy_from_slice(&[9, 1, 0]);
        Decoder::new(format).read::<Floats8, 1>(bytes, &[Words8::from_array(&numbers)], false, 8, 4, &mut mean);
        let texels = mean.texels.map(|texels| texels.to_array());
        for outside in [0, 3] {
            let zero = format.decode(&[]);
            assert!((0..format.components()).all(|component| texels[component][outside] == zero[component]));
        }
        texels[..format.components()].iter().map(|word| word[1]).collect()
    }

    #[test]
    fn lanes_decode_as_one_texel_does() {
        for &format in TexelFormat::ALL {
            let texel = format.bytes();
            for seed in 0..70_000u32 {
                let mut bytes = vec![0xa5; 2 * texel];
                // Every value of the first 16 bits; the others are mixed.
                let word =
                    |number: u32| (seed ^ seed.rotate_left(7 * number)).wrapping_mul(0x9e37_79b9).rotate_left(number);
                let mixed = [seed | word(1) << 16, word(2), word(3), word(4)].map(u32::to_le_bytes).concat();
                bytes[texel..].copy_from_slice(&mixed[..texel]);
                let expected = format.decode(&bytes[texel..]);
                assert_eq!(read(format, &bytes), expected[..format.components()], "{} {mixed:x?}", format.name());
                if seed > 2000 && texel > 4 || seed > 256 && texel == 1 {
                    break;
                }
            }
        }
    }
}
