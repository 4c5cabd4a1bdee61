//! Permutations of two vectors that are known when code is made.

use super::Selector;
use super::code::Source;
use super::constants::Constant;
use super::result;
use super::table::Op as X;
use regalloc2::VReg;
use shaderjit_ir::function::{InstData, Picks};

impl Selector<'_> {
    /// For each lane a word of some lane of either operand.
    pub(super) fn lane_pick(&mut self, inst: &InstData, picks: Picks) {
        let lanes = self.program.lanes;
        let [first, second] = [self.vector(inst.args[0]), self.vector(inst.args[1])];
        // What permutes both has the lanes of the second behind those of the first.
        let permutes_both = self.simd.has_masks() && first != second;
        let (mut index, mut from_second, mut stays) = ([0; Picks::LANES], 0, true);
        for (to, (operand, lane)) in picks.sources(lanes.into()).enumerate() {
            index[to] = if permutes_both { operand * usize::from(lanes) + lane } else { lane } as u32;
            from_second |= (operand as u32) << to;
            stays &= lane == to;
        }
        let picked = if stays {
            self.blend_lanes([first, second], from_second)
        } else {
            let index = self.simd.code.constant(Constant::Words(index, lanes));
            let index = self.simd.load(index);
            if permutes_both {
                self.simd.op(X::Permi2d, &[index, first], second)
            } else {
                let [first, second] = match first == second {
                    true => [self.simd.op(X::Permps, &[index], first); 2],
                    false => [first, second].map(|vector| self.simd.op(X::Permps, &[index], vector)),
                };
                self.blend_lanes([first, second], from_second)
            }
        };
        self.define_vector(result(inst), picked);
    }

    /// Lanes of the second vector where a bit is set, else of the first.
    fn blend_lanes(&mut self, [first, second]: [VReg; 2], from_second: u32) -> VReg {
        let all = u32::MAX >> (32 - u32::from(self.program.lanes));
        match from_second {
            _ if first == second => first,
            0 => first,
            _ if from_second == all => second,
            _ if self.simd.has_masks() => {
                let bits = self.simd.literal(from_second);
                let mask = self.simd.row_op(X::KmovIn, &[], bits, 0);
                self.simd.blend(mask, second, first)
            }
            _ => self.simd.op_imm(X::Blendps, &[first], Source::Register(second), from_second),
        }
    }
}
