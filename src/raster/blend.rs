//! Blending: a shader's output and what a target holds become what it holds afterwards (functional specification, 17.1
//! to 17.7).

use super::bytes::unorm8;
use super::state::{Blend, BlendEquation, BlendOp, LogicOp, Mix, TargetBlend};
use crate::texture::{TexelFormat, TexelKind, clamped};

/// What a shader puts out for one target, and what blending uses besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Bits of the components.
    pub color: [u32; 4],
    /// Bits of the second output's components.
    pub second: [u32; 4],
}

/// How samples of one target are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    format: TexelFormat,
    mix: Mix,
    /// Bits of an element that are written.
    bits: [u32; 4],
    writes_all: bool,
    /// The blend factor, in the target's range.
    factor: [f32; 4],
}

impl Writer {
    /// Integers are not blended (17.5): they replace.
    pub fn new(format: TexelFormat, blend: TargetBlend, factor: [f32; 4]) -> Writer {
        let mix = match blend.mix {
            Mix::Blend(..) if format.kind().is_integer() => Mix::Replace,
            mix => mix,
        };
        let bits = format.stored_bits(blend.write_mask);
        let writes_all = bits == format.stored_bits(0xf);
        Writer { format, mix, bits, writes_all, factor: factor.map(|value| in_range(format, value)) }
    }

    /// Bytes of an element.
    pub fn bytes(&self) -> usize {
        self.format.bytes()
    }

    /// Whether nothing is ever written.
    pub fn is_idle(&self) -> bool {
        self.bits == [0; 4]
    }

    /// Writes one sample.
    #[inline]
    pub fn write(&self, element: &mut [u8], source: &Source) {
        if self.writes_all && self.mix == Mix::Replace {
            return store(self.format, element, source.color);
        }
        let words = match self.mix {
            Mix::Replace => self.format.encode(source.color),
            Mix::Blend(color, alpha) => {
                let mixed = self.blend(element, source, &color, &alpha);
                if self.writes_all {
                    return store(self.format, element, mixed);
                }
                self.format.encode(mixed)
            }
            Mix::Logic(op) => {
                let (new, old) = (self.format.encode(source.color), words(element));
                std::array::from_fn(|n| logic(op, new[n], old[n]))
            }
        };
        let old = self::words(element);
        let merged: [u32; 4] = std::array::from_fn(|n| old[n] & !self.bits[n] | words[n] & self.bits[n]);
        copy(element, merged);
    }

    /// Whether bytes of all components replace what was there, as in most targets: [`Quantize`](super::bytes::Quantize)
    /// makes those of many pixels at once.
    pub fn replaces_bytes(&self) -> bool {
        self.writes_all && self.mix == Mix::Replace && self.format == TexelFormat::Rgba8Unorm
    }

    fn blend(&self, element: &[u8], source: &Source, color: &BlendEquation, alpha: &BlendEquation) -> [u32; 4] {
        let clamp = |bits: [u32; 4]| bits.map(|bits| in_range(self.format, f32::from_bits(bits)));
        let destination = self.format.decode(element).map(f32::from_bits);
        let operands =
            Operands { source: clamp(source.color), second: clamp(source.second), destination, factor: self.factor };
        std::array::from_fn(|n| operands.mixed(if n < 3 { color } else { alpha }, n).to_bits())
    }
}

struct Operands {
    source: [f32; 4],
    second: [f32; 4],
    destination: [f32; 4],
    factor: [f32; 4],
}

impl Operands {
    fn mixed(&self, equation: &BlendEquation, n: usize) -> f32 {
        let (source, destination) = (self.source[n], self.destination[n]);
        let weighted =
            || (source * self.weight(equation.source, n), destination * self.weight(equation.destination, n));
        match equation.op {
            BlendOp::Add => {
                let (source, destination) = weighted();
                source + destination
            }
            BlendOp::Subtract => {
                let (source, destination) = weighted();
                source - destination
            }
            BlendOp::ReverseSubtract => {
                let (source, destination) = weighted();
                destination - source
            }
            // As the instructions: a NaN is the other one.
            BlendOp::Min => source.min(destination),
            BlendOp::Max => source.max(destination),
        }
    }

    fn weight(&self, blend: Blend, n: usize) -> f32 {
        match blend {
            Blend::Zero => 0.0,
            Blend::One => 1.0,
            Blend::SourceColor => self.source[n],
            Blend::InverseSourceColor => 1.0 - self.source[n],
            Blend::SourceAlpha => self.source[3],
            Blend::InverseSourceAlpha => 1.0 - self.source[3],
            Blend::DestinationAlpha => self.destination[3],
            Blend::InverseDestinationAlpha => 1.0 - self.destination[3],
            Blend::DestinationColor => self.destination[n],
            Blend::InverseDestinationColor => 1.0 - self.destination[n],
            Blend::SourceAlphaSaturate if n == 3 => 1.0,
            Blend::SourceAlphaSaturate => self.source[3].min(1.0 - self.destination[3]),
            Blend::Factor => self.factor[n],
            Blend::InverseFactor => 1.0 - self.factor[n],
            Blend::Source1Color => self.second[n],
            Blend::InverseSource1Color => 1.0 - self.second[n],
            Blend::Source1Alpha => self.second[3],
            Blend::InverseSource1Alpha => 1.0 - self.second[3],
        }
    }
}

/// What enters blending is clamped to the target's range (17.5); a NaN is 0, as where it is stored.
fn in_range(format: TexelFormat, value: f32) -> f32 {
    match format.kind() {
        TexelKind::Unorm { .. } => clamped(value, 0.0),
        TexelKind::Snorm { .. } => clamped(value, -1.0),
        TexelKind::Float if format.is_srgb() => clamped(value, 0.0),
        _ => value,
    }
}

fn logic(op: LogicOp, s: u32, d: u32) -> u32 {
    match op {
        LogicOp::Clear => 0,
        LogicOp::Set => u32::MAX,
        LogicOp::Copy => s,
        LogicOp::CopyInverted => !s,
        LogicOp::Noop => d,
        LogicOp::Invert => !d,
        LogicOp::And => s & d,
        LogicOp::Nand => !(s & d),
        LogicOp::Or => s | d,
        LogicOp::Nor => !(s | d),
        LogicOp::Xor => s ^ d,
        LogicOp::Equivalent => !(s ^ d),
        LogicOp::AndReverse => s & !d,
        LogicOp::AndInverted => !s & d,
        LogicOp::OrReverse => s | !d,
        LogicOp::OrInverted => !s | d,
    }
}

/// Stores components in a format; the two that most targets have, without asking what each component is.
#[inline]
fn store(format: TexelFormat, element: &mut [u8], components: [u32; 4]) {
    match (format, element.len()) {
        (TexelFormat::Rgba8Unorm, 4) => {
            element.copy_from_slice(&components.map(|bits| unorm8(f32::from_bits(bits))));
        }
        (TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba32Sint, 16) => {
            element.copy_from_slice(components.map(u32::to_le_bytes).as_flattened());
        }
        _ => copy(element, format.encode(components)),
    }
}

fn copy(element: &mut [u8], words: [u32; 4]) {
    let bytes = words.map(u32::to_le_bytes);
    element.iter_mut().zip(bytes.as_flattened()).for_each(|(to, from)| *to = *from);
}

fn words(element: &[u8]) -> [u32; 4] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(element).for_each(|(to, from)| *to = *from);
    let words = bytes.as_chunks().0;
    std::array::from_fn(|n| u32::from_le_bytes(words[n]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(format: TexelFormat, blend: TargetBlend, old: [u32; 4], new: [u32; 4], second: [u32; 4]) -> [u32; 4] {
        let writer = Writer::new(format, blend, [0.25, 0.5, 0.75, 1.0]);
        let mut element = vec![0; format.bytes()];
        copy(&mut element, format.encode(old));
        writer.write(&mut element, &Source { color: new, second });
        format.decode(&element)
    }

    /// Of a target of floats.
    fn blended(color: BlendEquation, alpha: BlendEquation) -> [f32; 4] {
        let [old, new, second] = [[0.5, 1.0, 2.0, 0.25], [4.0, 3.0, -2.0, 0.5], [2.0, 8.0, 16.0, 0.125]]
            .map(|it: [f32; 4]| it.map(f32::to_bits));
        let blend = TargetBlend { mix: Mix::Blend(color, alpha), write_mask: 0xf };
        write(TexelFormat::Rgba32Float, blend, old, new, second).map(f32::from_bits)
    }

    #[test]
    fn every_factor_is_what_it_says() {
        use Blend::*;
        let only = |source| BlendEquation { source, destination: Zero, op: BlendOp::Add };
        for (blend, color, alpha) in [
            (Zero, [0.0; 3], 0.0),
            (One, [1.0; 3], 1.0),
            (SourceColor, [4.0, 3.0, -2.0], 0.5),
            (InverseSourceColor, [-3.0, -2.0, 3.0], 0.5),
            (SourceAlpha, [0.5; 3], 0.5),
            (InverseSourceAlpha, [0.5; 3], 0.5),
            (DestinationAlpha, [0.25; 3], 0.25),
            (InverseDestinationAlpha, [0.75; 3], 0.75),
            (DestinationColor, [0.5, 1.0, 2.0], 0.25),
            (InverseDestinationColor, [0.5, 0.0, -1.0], 0.75),
            (SourceAlphaSaturate, [0.5; 3], 1.0),
            (Factor, [0.25, 0.5, 0.75], 1.0),
            (InverseFactor, [0.75, 0.5, 0.25], 0.0),
            (Source1Color, [2.0, 8.0, 16.0], 0.125),
            (InverseSource1Color, [-1.0, -7.0, -15.0], 0.875),
            (Source1Alpha, [0.125; 3], 0.125),
            (InverseSource1Alpha, [0.875; 3], 0.875),
        ] {
            let expected = [4.0 * color[0], 3.0 * color[1], -2.0 * color[2], 0.5 * alpha];
            assert_eq!(blended(only(blend), only(blend)), expected, "{blend:?}");
        }
    }

    #[test]
    fn every_operation_is_what_it_says() {
        let by = |op| BlendEquation { source: Blend::One, destination: Blend::Factor, op };
        for (op, expected) in [
            (BlendOp::Add, [4.125, 3.5, -0.5, 0.75]),
            (BlendOp::Subtract, [3.875, 2.5, -3.5, 0.25]),
            (BlendOp::ReverseSubtract, [-3.875, -2.5, 3.5, -0.25]),
            (BlendOp::Min, [0.5, 1.0, -2.0, 0.25]),
            (BlendOp::Max, [4.0, 3.0, 2.0, 0.5]),
        ] {
            assert_eq!(blended(by(op), by(op)), expected, "{op:?}");
        }
        let [color, alpha] = [BlendOp::Min, BlendOp::Add].map(by);
        assert_eq!(blended(color, alpha), [0.5, 1.0, -2.0, 0.75], "alpha has an equation of its own");
    }

    #[test]
    fn masks_leave_the_bits_of_other_components() {
        let blend = TargetBlend { mix: Mix::Replace, write_mask: 0b0110 };
        let floats = |values: [f32; 4]| values.map(f32::to_bits);
        let (old, new) = (floats([0.0, 0.0, 1.0, 1.0]), floats([1.0, 1.0, 0.0, 0.0]));
        for &format in TexelFormat::ALL.iter().filter(|it| it.can_be_rendered() && !it.kind().is_integer()) {
            let (before, found) = (format.decode(&bytes(format, old)), write(format, blend, old, new, [0; 4]));
            for component in 0..format.components() {
                let expected = if component == 1 || component == 2 { new[component] } else { before[component] };
                assert_eq!(found[component], expected, "{}.{component}", format.name());
            }
        }
    }

    fn bytes(format: TexelFormat, components: [u32; 4]) -> Vec<u8> {
        let mut element = vec![0; format.bytes()];
        copy(&mut element, format.encode(components));
        element
    }

    #[test]
    fn ranges_are_kept_and_integers_are_not_blended() {
        let add = BlendEquation { source: Blend::One, destination: Blend::One, op: BlendOp::Add };
        let blend = TargetBlend { mix: Mix::Blend(add, add), write_mask: 0xf };
        let floats = |values: [f32; 4]| values.map(f32::to_bits);
        let found = write(
            TexelFormat::Rgba8Unorm,
            blend,
            floats([0.2, 1.0, 0.0, 0.0]),
            floats([-5.0, 0.4, f32::NAN, 9.0]),
            [0; 4],
        );
        assert_eq!(found.map(f32::from_bits), [0.2, 1.0, 0.0, 1.0]);
        assert_eq!(write(TexelFormat::Rgba8Uint, blend, [1; 4], [2, 300, 0, 7], [0; 4]), [2, 255, 0, 7]);
    }

    #[test]
    fn the_fast_way_stores_what_the_slow_one_does() {
        for step in 0..4096 {
            let value = step as f32 / 4000.0 - 0.01;
            let mut element = [0; 4];
            store(TexelFormat::Rgba8Unorm, &mut element, [value.to_bits(); 4]);
            assert_eq!(u32::from_le_bytes(element), TexelFormat::Rgba8Unorm.encode([value.to_bits(); 4])[0]);
        }
    }

    #[test]
    fn logic_joins_bits() {
        use LogicOp::*;
        let ops = [
            Clear,
            Nor,
            AndInverted,
            CopyInverted,
            AndReverse,
            Invert,
            Xor,
            Nand,
            And,
            Equivalent,
            Noop,
            OrInverted,
            Copy,
            OrReverse,
            Or,
            Set,
        ];
        // The truth table of operation n is n, with the source's bit above the destination's.
        for (table, op) in ops.into_iter().enumerate() {
            let blend = TargetBlend { mix: Mix::Logic(op), write_mask: 0xf };
            let [found, ..] = write(TexelFormat::R8Uint, blend, [0b1010, 0, 0, 0], [0b1100, 0, 0, 0], [0; 4]);
            assert_eq!(found as usize & 0xf, table, "{op:?}");
        }
    }
}
