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

/// Conversions one behind the other, of which native code takes several as the machine gives them. In each wave of
/// sixteen one lane of one number does not fit, or all lanes do, or none. Of one of the conversions, where there is one
/// that counts inside of a range only, nobody sees whether it saturates.
#[test]
fn conversions_side_by_side() {
    let special =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2147483648.0, -2147483648.0, 3e9, -3e9].map(f32::to_bits);
    for count in 1..=6usize {
        for ranged in [None, Some(count / 2)] {
            let mut b = FunctionBuilder::new("side by side", 2, 2);
            let floats: Vec<_> = (0..count).map(|n| b.input(Type::F32, n as u32 / 4, n as u8 % 4)).collect();
            let numbers: Vec<_> = floats.iter().map(|&float| b.ftoi([float])).collect();
            for (n, mut number) in numbers.into_iter().enumerate() {
                if ranged == Some(n) {
                    let [limit, zero] = [1 << 31, 0].map(|word| b.i32(word));
                    let sum = b.iadd([number, zero]);
                    let is_inside = b.ult([sum, limit]);
                    number = b.select([is_inside, number, zero]);
                }
                b.output(n as u32 / 4, n as u8 % 4, number);
            }
            b.ret();
            let mut inputs = [Rows::new(), Rows::new()];
            for wave in 0..16 * count + 2 {
                for lane in 0..16 {
                    let words: [u32; 8] = std::array::from_fn(|n| {
                        let fits = (10 * n + lane) as f32 - 20.5;
                        let is_special = wave == 16 * count || wave == 16 * n + lane;
                        if is_special { special[(wave + lane) % special.len()] } else { fits.to_bits() }
                    });
                    for (rows, words) in inputs.iter_mut().zip(words.as_chunks().0) {
                        rows.push(*words);
                    }
                }
            }
            let [first, second] = inputs;
            let mut case = Case::new(first);
            case.inputs.push(second);
            check(&lockstep(b), &[case]);
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
