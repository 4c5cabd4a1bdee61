//! Conversions to integers that count only inside of a range, and integers compared with powers of two.

use super::{Case, EDGES, Rows, check, lockstep};
use shaderjit_ir::{FunctionBuilder, Type};

/// Edges, as floats and as integers, and what lies around the ends of a range of floats.
fn rows(ends: [i64; 2]) -> Rows {
    let near = ends.into_iter().flat_map(|end| (-2..=2).map(move |step| ((end + step) as f32).to_bits()));
    EDGES.into_iter().chain(near).map(|bits| [bits, 0, 0, 0]).collect()
}

/// `n + offset < limit ? n : other`, of a truncated float. Where nobody sees what it is outside, the conversion need
/// not saturate: the others have to, for the largest or the smallest integer is inside, or 1 takes the place of them.
#[test]
fn conversions_that_count_inside_of_a_range() {
    let ranges = [
        (128, 256, 0),
        (128, 256, 1),
        (0, 96, 0),
        (0, 1 << 31, 0),
        (1, 1 << 31, 0),
        (1, 1, 0),
        (1, 0x8000_0002, 0),
        (1 << 31, 1, 0),
        (0x8000_0001, 2, 0),
        (1 << 31, u32::MAX, 0),
    ];
    for (offset, limit, other) in ranges {
        for is_seen in [false, true] {
            let mut b = FunctionBuilder::new("range", 1, 1);
            let float = b.input(Type::F32, 0, 0);
            let number = b.ftoi([float]);
            let [by, below, instead] = [offset, limit, other].map(|word| b.i32(word));
            let sum = b.iadd([number, by]);
            let is_inside = b.ult([sum, below]);
            let chosen = b.select([is_inside, number, instead]);
            b.output(0, 0, chosen);
            if is_seen {
                b.output(0, 1, number);
            }
            b.ret();
            let first = -i64::from(offset as i32);
            check(&lockstep(b), &[Case::new(rows([first, first + i64::from(limit)]))]);
        }
    }
}

#[test]
fn powers_of_two_bound_unsigned_numbers() {
    for power in 0..32 {
        let mut b = FunctionBuilder::new("bounded", 1, 1);
        let number = b.input(Type::I32, 0, 0);
        let limit = b.i32(1 << power);
        let is_below = b.ult([number, limit]);
        let (one, two) = (b.f32(1.0), b.f32(2.0));
        let chosen = b.select([is_below, one, two]);
        b.output(0, 0, chosen);
        b.ret();
        let near = (-2..3).map(|step| [(1u32 << power).wrapping_add_signed(step), 0, 0, 0]);
        check(&lockstep(b), &[Case::new(EDGES.into_iter().map(|edge| [edge, 0, 0, 0]).chain(near).collect())]);
    }
}
