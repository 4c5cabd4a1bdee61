//! The weighted mean of the texels around a point: linear interpolation in one, two or three directions.

use super::address::{BORDER, Span};
use super::lanes::{Texels, lerp, lerp_finite, word};
use crate::simd::{Floats, Words};

/// Takes components of texels, N for each lane, and weighs them: the corners of the box between the texels of spans.
pub struct Mean<'s, F: Floats> {
    spans: &'s [Span<F>; 3],
    /// The colour that stands for what lies beyond the edge, where anything can.
    border: Option<[u32; 4]>,
    pub texels: Texels<F>,
}

impl<F: Floats> Mean<'_, F> {
    #[inline(always)]
    pub fn new(spans: &[Span<F>; 3], border: Option<[u32; 4]>) -> Mean<'_, F> {
        Mean { spans, border, texels: [word::<F>(0); 4] }
    }

    /// Whether some of the corners may be the border.
    #[inline(always)]
    pub fn has_border(&self) -> bool {
        self.border.is_some()
    }

    /// Takes one component, of texels that are all finite and not -0, or may be any floats.
    #[inline(always)]
    pub fn take<const N: usize>(&mut self, component: usize, texels: &[F::Words; N], mut are_finite: bool) {
        let mut corners = *texels;
        if let Some(border) = &self.border {
            for (corner, texel) in corners.iter_mut().enumerate() {
                let is_border = is_border::<F>(&corner_of(self.spans, corner));
                *texel = word::<F>(border[component % 4]).or_where_not(is_border, *texel);
            }
            // A border's colour is any.
            are_finite = false;
        }
        self.texels[component % 4] =
            if are_finite { self.weighed(corners, lerp_finite) } else { self.weighed(corners, lerp) };
    }

    /// The corners of the box pair by pair: x, then y, then z.
    #[inline(always)]
    fn weighed<const N: usize>(
        &self,
        mut corners: [F::Words; N],
        lerp: impl Fn(F::Words, F::Words, F) -> F::Words,
    ) -> F::Words {
        let (mut left, mut axis) = (N, 0);
        while left > 1 {
            left /= 2;
            for pair in 0..left {
                corners[pair] = lerp(corners[2 * pair], corners[2 * pair + 1], self.spans[axis].weight);
            }
            axis += 1;
        }
        corners[0]
    }
}

/// The texels at one corner of the box: its bits say which of each direction's.
#[inline(always)]
pub fn corner_of<F: Floats>(spans: &[Span<F>; 3], corner: usize) -> [F::Words; 3] {
    let [x, y, z] = spans;
    [x.texels[corner & 1], y.texels[corner >> 1 & 1], z.texels[corner >> 2 & 1]]
}

/// The lanes whose place is beyond the edge.
#[inline(always)]
pub fn is_border<F: Floats>([x, y, z]: &[F::Words; 3]) -> F::Mask {
    let border = word::<F>(BORDER);
    x.equals(border) | y.equals(border) | z.equals(border)
}
