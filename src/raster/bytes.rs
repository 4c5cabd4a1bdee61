//! Quantization: floats of a shader's output become bytes of a target, one by one or those of many pixels at once.

use crate::simd::{Array, Floats, Task, Words};

/// Makes elements of `R8G8B8A8_UNORM` of pixels' four components: the nearest of 255 steps, ties up; a NaN is 0.
pub(super) struct Quantize<'b> {
    /// Floats of each quad's pixels, one pixel behind the other.
    pub components: &'b [[[u8; 4]; 16]],
    pub elements: &'b mut [[u8; 16]],
}

impl<F: Floats> Task<F> for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (elements, components) in self.elements.iter_mut().zip(self.components) {
            for first in (0..16).step_by(F::LANES) {
                let mut words: Array = [0; _];
                for lane in 0..F::LANES {
                    words[lane] = u32::from_le_bytes(components[first + lane]);
                }
                let steps = steps(F::Words::from_array(&words).as_floats()).to_array();
                for lane in 0..F::LANES {
                    elements[first + lane] = steps[lane] as u8;
                }
            }
        }
    }
}

#[inline(always)]
fn steps<F: Floats>(values: F) -> F::Words {
    let half = F::all(0.5);
    let values = values.max(F::all(0.0)).min(F::all(1.0));
    // 255 times the value is 256 times less once the value. `lost` is what rounding took of that difference (Dekker's
    // fast two-sum): it decides where the rounded product lies half-way between two steps and the exact one does not.
    let scaled = values * F::all(256.0);
    let product = scaled - values;
    let lost = (scaled - product) - values;
    let below = product.to_integers();
    let rest = product - below.to_floats();
    let is_tie = rest.equals(half) & !lost.less(F::all(0.0));
    (below + F::Words::all(1)).or_where_not(half.less(rest) | is_tie, below)
}

/// One component, to the same bits: blending has its values one by one.
#[inline]
#[expect(clippy::manual_clamp, reason = "a NaN becomes 0")]
pub(super) fn unorm8(value: f32) -> u8 {
    // Added to 2^52, a number is rounded to a whole one, which stands in the last bits. The product is exact, in steps
    // of at least 2^-33 where it is half-way between two; what is added besides makes ties go up.
    let scaled = f64::from(value.max(0.0).min(1.0)) * 255.0 + 2f64.powi(-40);
    (scaled + 2f64.powi(52)).to_bits() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Machine;
    use crate::texture::TexelFormat;

    #[test]
    fn bytes_are_those_of_the_encoder() {
        let near_ties = (0..=255).flat_map(|step| {
            let tie = ((f64::from(step) + 0.5) / 255.0) as f32;
            [-2, -1, 0, 1, 2].map(|ulp| f32::from_bits(tie.to_bits().wrapping_add_signed(ulp)))
        });
        // 0.5 is exactly between 127 and 128.
        let others = [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, 1e-45, 1e30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let many = (0..200_004u32).map(|step| f32::from_bits(0x3f80_0000 / 200_004 * step));
        let values: Vec<f32> = near_ties.chain(others).chain(many).collect();
        let (values, []) = values.as_chunks::<16>() else { panic!("{} values are no whole quads", values.len()) };
        let components: Vec<[[u8; 4]; 16]> = values.iter().map(|quad| quad.map(f32::to_le_bytes)).collect();
        for machine in Machine::available() {
            let mut elements = vec![[0xaa; 16]; values.len()];
            machine.run(Quantize { components: &components, elements: &mut elements });
            for (&byte, value) in elements.as_flattened().iter().zip(values.as_flattened()) {
                let expected = TexelFormat::Rgba8Unorm.encode([value.to_bits(); 4])[0] as u8;
                assert_eq!([byte, unorm8(*value)], [expected; 2], "{value:e} on {machine:?}");
            }
        }
    }
}
