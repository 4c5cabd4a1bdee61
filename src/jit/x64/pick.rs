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
        let lanes = usize::from(self.program.lanes);
        // Lanes of the second operand follow those of the first.
        let mut numbers = [0; Picks::LANES];
        for (to, number) in numbers.iter_mut().zip(picks.numbers()).take(lanes) {
            let (operand, lane) = (usize::from(number) / Picks::LANES, usize::from(number) % lanes);
            *to = (operand * lanes + lane) as u32;
        }
        let operands = [self.vector(inst.args[0]), self.vector(inst.args[1])];
        let picked = self.pick(operands, numbers);
        self.define_vector(result(inst), picked);
    }

    fn pick(&mut self, [first, second]: [VReg; 2], numbers: [u32; Picks::LANES]) -> VReg {
        let lanes = u32::from(self.program.lanes);
        let numbers_of = &numbers[..lanes as usize];
        let from_second = (0u32..).zip(numbers_of).fold(0, |bits, (lane, &number)| bits | (number / lanes) << lane);
        let stays = (0..).zip(numbers_of).all(|(lane, &number)| number % lanes == lane);
        if stays {
            return self.blend_lanes([first, second], from_second);
        }
        let index = self.simd.code.constant(Constant::Words(numbers.map(|number| number % lanes), lanes as u8));
        if self.simd.has_masks() && first != second {
            let index = self.simd.code.constant(Constant::Words(numbers, lanes as u8));
            let index = self.simd.load(index);
            return self.simd.op(X::Permi2d, &[index, first], second);
        }
        let index = self.simd.load(index);
        let [first, second] = match first == second {
            true => [self.simd.op(X::Permps, &[index], first); 2],
            false => [first, second].map(|vector| self.simd.op(X::Permps, &[index], vector)),
        };
        self.blend_lanes([first, second], from_second)
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
