//! Depth and stencil tests (functional specification, 17.8 to 17.12).

use super::coverage::QuadMask;
use super::state::{DepthStencilState, StencilOp};
use super::target::{DepthFormat, TILE, Tile};
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
        let (op, passes) = match passes(face.comparison, left, right) {
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
        let passes = passes(state.depth_comparison, depth, *stored);
        if passes && state.depth_write {
            *stored = depth;
        }
        passes
    }

    /// Whether the tests are of depths alone.
    pub fn is_plain(&self) -> bool {
        self.state.depth && !self.state.stencil
    }

    /// [Tests](Self::test) the pixels of a quad that are alive, of one sample each, if the tests are
    /// [plain](Self::is_plain). `first` is the number of the first one's sample in the tile. Those that fail are not
    /// alive. Depths are written if `writes`.
    #[inline]
    pub fn test_pixels(&self, tile: &mut Tile, first: usize, depths: [f32; 4], alive: &mut QuadMask, writes: bool) {
        let (upper, lower) = tile.depths[first..first + TILE + 2].split_at_mut(TILE);
        let stored = [upper[0], upper[1], lower[0], lower[1]];
        let depths = depths.map(|depth| self.format.store(depth));
        let passing = passing(self.state.depth_comparison, depths, stored);
        alive.iter_mut().zip(passing).for_each(|(alive, passes)| *alive &= passes);
        if writes && self.state.depth_write {
            let left: [f32; 4] = std::array::from_fn(|n| if alive[n] == 0 { stored[n] } else { depths[n] });
            [upper[0], upper[1], lower[0], lower[1]] = left;
        }
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
        passes(self.state.depth_comparison, self.format.store(depth), tile.depths[sample])
    }
}

/// Whether a value passes against a stored one. Small depths are depths: unlike a sampler's comparison this one does
/// not take denormals for zero.
#[inline]
fn passes(comparison: Comparison, value: f32, stored: f32) -> bool {
    match comparison {
        Comparison::Never => false,
        Comparison::Less => value < stored,
        Comparison::Equal => value == stored,
        Comparison::LessEqual => value <= stored,
        Comparison::Greater => value > stored,
        Comparison::NotEqual => value != stored,
        Comparison::GreaterEqual => value >= stored,
        Comparison::Always => true,
    }
}

/// All ones for those of four values that [pass](passes), zeros for the others.
#[inline]
fn passing(comparison: Comparison, values: [f32; 4], stored: [f32; 4]) -> QuadMask {
    let all = |passes: fn(&f32, &f32) -> bool| std::array::from_fn(|n| ones(passes(&values[n], &stored[n])));
    // Asked once, the comparison is one of vectors.
    match comparison {
        Comparison::Less => all(f32::lt),
        Comparison::LessEqual => all(f32::le),
        Comparison::Greater => all(f32::gt),
        Comparison::GreaterEqual => all(f32::ge),
        comparison => std::array::from_fn(|n| ones(passes(comparison, values[n], stored[n]))),
    }
}

#[inline]
fn ones(passes: bool) -> u16 {
    if passes { u16::MAX } else { 0 }
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
