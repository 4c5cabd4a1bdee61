//! Depth and stencil tests (functional specification, 17.8 to 17.12).

use super::shape::Shape;
use super::state::{DepthStencilState, StencilOp};
use super::target::{DepthFormat, TILE, Tile};
use crate::simd::{Array, Floats, Words};
use crate::texture::Comparison;

/// The tests of a draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct DepthStencil {
    format: DepthFormat,
    state: DepthStencilState,
}

impl DepthStencil {
    /// `None` where every sample passes and nothing is written. Without a depth buffer, both tests pass.
    pub fn new(format: Option<DepthFormat>, state: &DepthStencilState) -> Option<DepthStencil> {
        let (format, mut state) = (format?, *state);
        state.stencil &= format.has_stencil();
        (state.depth || state.stencil).then_some(DepthStencil { format, state })
    }

    /// Tests a sample, and writes its depth and stencil. The depth is clamped to the viewport's.
    #[inline]
    pub fn test(&self, tile: &mut Tile, sample: usize, depth: f32, is_front: bool, reference: u8) -> bool {
        let state = &self.state;
        let depth = self.format.store(depth);
        if !state.stencil {
            return self.test_depth(tile, sample, depth);
        }
        let face = if is_front { &state.front } else { &state.back };
        let stored = tile.stencils[sample];
        let [left, right] = [reference, stored].map(|value| f32::from(value & state.stencil_read_mask));
        let (op, passes) = match face.comparison.holds(left, right) {
            false => (face.fail, false),
            true if self.test_depth(tile, sample, depth) => (face.pass, true),
            true => (face.depth_fail, false),
        };
        let mask = state.stencil_write_mask;
        tile.stencils[sample] = stored & !mask | apply(op, stored, reference) & mask;
        passes
    }

    #[inline]
    fn test_depth(&self, tile: &mut Tile, sample: usize, depth: f32) -> bool {
        let state = &self.state;
        if !state.depth {
            return true;
        }
        let stored = &mut tile.depths[sample];
        let passes = state.depth_comparison.holds(depth, *stored);
        if passes && state.depth_write {
            *stored = depth;
        }
        passes
    }

    /// The test of many pixels at once, if it is of depths alone, and these are stored as they are.
    pub fn plain(&self) -> Option<DepthTest> {
        let is_plain = self.state.depth && !self.state.stencil && self.format.codes().is_none();
        is_plain.then_some(DepthTest { comparison: self.state.depth_comparison, writes: self.state.depth_write })
    }

    /// Whether a sample that fails now fails for good: nothing else is written if it fails, and depths that are written
    /// only make it harder.
    pub fn fails_for_good(&self) -> bool {
        let harder = matches!(
            self.state.depth_comparison,
            Comparison::Less | Comparison::LessEqual | Comparison::Greater | Comparison::GreaterEqual
        );
        self.state.depth && !self.state.stencil && (harder || !self.state.depth_write)
    }

    /// Whether a sample would pass the depth test.
    #[inline]
    pub fn would_pass(&self, tile: &Tile, sample: usize, depth: f32) -> bool {
        self.state.depth_comparison.holds(self.format.store(depth), tile.depths[sample])
    }
}

/// A test of depths alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct DepthTest {
    pub comparison: Comparison,
    pub writes: bool,
}

/// Such a test of the pixels of a shape, which have one sample each.
pub(super) struct PlainDepth<'t> {
    pub test: DepthTest,
    pub shape: &'t Shape,
    /// Depths are [clamped] to these.
    pub range: [f32; 2],
    /// Those of the tile.
    pub depths: &'t mut [f32],
}

impl PlainDepth<'_> {
    /// Tests pixels of quads in two rows, which are covered: those that pass, whose depths are written. Columns and
    /// rows are those of the first pixel, and of each lane's.
    #[inline(always)]
    pub fn passing<F: Floats>(&mut self, [column, row]: [i32; 2], [x, y]: [F::Words; 2], covered: F::Mask) -> F::Mask {
        let &Shape { origin, depth: value, slope: [dx, dy], .. } = self.shape;
        // In the order of `depth_at`, to the bit.
        let x = x.to_floats() + F::all(0.5) - F::all(origin[0]);
        let y = y.to_floats() + F::all(0.5) - F::all(origin[1]);
        let depth = F::all(value) + F::all(dx) * x + F::all(dy) * y;
        let depth = depth.max(F::all(self.range[0])).min(F::all(self.range[1]));
        let (place, half) = (row as usize % TILE * TILE + column as usize % TILE, F::LANES / 2);
        let (upper, lower) = self.depths[place..place + TILE + half].split_at_mut(TILE);
        let mut stored: Array = [0; _];
        for lane in 0..half {
            stored[lane] = upper[lane].to_bits();
            stored[half + lane] = lower[lane].to_bits();
        }
        let stored = F::Words::from_array(&stored).in_quads();
        let passing = covered & self.test.comparison.holding(depth, stored.as_floats());
        if self.test.writes {
            let left = depth.bits().or_where_not(passing, stored).in_rows().to_array();
            for lane in 0..half {
                upper[lane] = f32::from_bits(left[lane]);
                lower[lane] = f32::from_bits(left[half + lane]);
            }
        }
        passing
    }
}

/// Clamped to a viewport's depths; what is no number is the least (17.10).
pub(super) fn clamped(depth: f32, [least, most]: [f32; 2]) -> f32 {
    let depth = if depth > least { depth } else { least };
    if depth < most { depth } else { most }
}

fn apply(op: StencilOp, stored: u8, reference: u8) -> u8 {
    match op {
        StencilOp::Keep => stored,
        StencilOp::Zero => 0,
        StencilOp::Replace => reference,
        StencilOp::IncrementSaturate => stored.saturating_add(1),
        StencilOp::DecrementSaturate => stored.saturating_sub(1),
        StencilOp::Invert => !stored,
        StencilOp::Increment => stored.wrapping_add(1),
        StencilOp::Decrement => stored.wrapping_sub(1),
    }
}

/// The smallest step of a depth buffer, for the bias of a primitive whose depths are at most `most` (15.10). Without a
/// depth buffer there is none to have steps: a bias counts as with 24 bits.
pub(super) fn bias_step(format: Option<DepthFormat>, most: f32) -> f32 {
    match format {
        None => 1.0 / 16_777_215.0,
        Some(format) => match format.codes() {
            Some(codes) => 1.0 / codes,
            // 2 to the power of the exponent less 23.
            None => {
                let exponent = (most.abs().to_bits() >> 23) as i32 - 127;
                2f64.powi((exponent - 23).max(-149)) as f32
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::state::StencilFace;
    use crate::raster::{TargetLayout, Targets};

    #[test]
    fn every_stencil_operation_is_what_it_says() {
        for (op, of_0, of_200, of_255) in [
            (StencilOp::Keep, 0, 200, 255),
            (StencilOp::Zero, 0, 0, 0),
            (StencilOp::Replace, 7, 7, 7),
            (StencilOp::IncrementSaturate, 1, 201, 255),
            (StencilOp::DecrementSaturate, 0, 199, 254),
            (StencilOp::Invert, 255, 55, 0),
            (StencilOp::Increment, 1, 201, 0),
            (StencilOp::Decrement, 255, 199, 254),
        ] {
            assert_eq!([0, 200, 255].map(|stored| apply(op, stored, 7)), [of_0, of_200, of_255], "{op:?}");
        }
    }

    #[test]
    fn each_outcome_has_its_operation_on_each_side() {
        let layout = TargetLayout::new(1, 1).depth(DepthFormat::D24UnormS8Uint);
        let mut targets = Targets::new(&layout).unwrap();
        let face = |fail, depth_fail, pass| StencilFace { fail, depth_fail, pass, comparison: Comparison::LessEqual };
        let state = DepthStencilState {
            stencil: true,
            stencil_read_mask: 0x0f,
            stencil_write_mask: 0x7f,
            front: face(StencilOp::Zero, StencilOp::Increment, StencilOp::Replace),
            back: face(StencilOp::Invert, StencilOp::Keep, StencilOp::Decrement),
            ..DepthStencilState::depth(Comparison::Less)
        };
        let test = DepthStencil::new(layout.depth_format(), &state).unwrap();
        assert!(!test.fails_for_good());
        let tile = &mut targets.tiles_mut()[0];
        // Stored stencil, depth, front, reference; outcome.
        for (stored, depth, is_front, reference, passes, left) in [
            (0xf3, 0.5, true, 0x24, false, 0x80),
            (0xf3, 2.0, true, 0x23, false, 0xf4),
            (0xf3, 0.5, true, 0x23, true, 0xa3),
            (0xf3, 0.25, false, 0x04, false, 0x8c),
            (0xf3, 0.25, false, 0x03, true, 0xf2),
            (0xf3, 0.25, false, 0x03, false, 0xf3),
        ] {
            tile.stencils[0] = stored;
            assert_eq!(test.test(tile, 0, depth, is_front, reference), passes);
            assert_eq!(tile.stencils[0], left, "{stored:x} {depth} {is_front} {reference:x}");
        }
        assert_eq!(tile.depths[0], DepthFormat::D24UnormS8Uint.store(0.25));
    }

    #[test]
    fn depths_are_rounded_to_the_nearest_code() {
        assert_eq!(DepthFormat::D16Unorm.store(0.5), 32768.0);
        assert_eq!(DepthFormat::D16Unorm.store(7.0), 65535.0);
        assert_eq!(DepthFormat::D24UnormS8Uint.store(1.0), 16_777_215.0);
        assert_eq!(DepthFormat::D32Float.store(0.3), 0.3);
    }

    #[test]
    fn a_step_of_floats_depends_on_the_depth() {
        assert_eq!(bias_step(Some(DepthFormat::D16Unorm), 0.1), 1.0 / 65535.0);
        assert_eq!(bias_step(Some(DepthFormat::D32Float), 0.5), 2f32.powi(-24));
        assert_eq!(bias_step(Some(DepthFormat::D32Float), 0.999), 2f32.powi(-24));
        assert_eq!(bias_step(Some(DepthFormat::D32Float), 1.0), 2f32.powi(-23));
        assert_eq!(bias_step(Some(DepthFormat::D32Float), 0.0), f32::from_bits(1));
    }
}
