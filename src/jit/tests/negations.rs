//! Negated operands of a multiplication with addition, for which wide code has instructions.

use super::{Case, EDGES, check, lockstep};
use shaderjit_ir::{FunctionBuilder, Type};

/// Every choice of signs, of operands that stand in registers, are literals, or are seen by others, too.
#[test]
fn products_and_sums_of_negated_operands() {
    for signs in 0..8u32 {
        for is_seen in [false, true] {
            for literal in 0..4 {
                let mut b = FunctionBuilder::new("negated", 1, 1);
                let operands = [0, 1, 2].map(|number: u32| {
                    let plain = if number == literal { b.f32(1.5) } else { b.input(Type::F32, 0, number as u8) };
                    // Arithmetic, so that it is no component of a row that comes as it is.
                    let half = b.f32(0.5);
                    let plain = b.fmul([plain, half]);
                    if signs >> number & 1 == 1 { b.fneg([plain]) } else { plain }
                });
                let sum = b.fma(operands);
                b.output(0, 0, sum);
                if is_seen {
                    b.output(0, 1, operands[0]);
                }
                b.ret();
                let edges = EDGES.into_iter().enumerate();
                let row = |(at, edge)| [edge, EDGES[(at * 7 + 3) % EDGES.len()], EDGES[(at * 5 + 1) % EDGES.len()], 0];
                let plain =
                    (0..40u32).map(|n| [n as f32, 3.25 - n as f32, 1e6 / (n + 1) as f32, 0.0].map(f32::to_bits));
                check(&lockstep(b), &[Case::new(edges.map(row).chain(plain).collect())]);
            }
        }
    }
}
