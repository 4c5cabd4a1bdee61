//! Loads from resources, inside of them and out.

use super::{Case, Rows, check, lockstep};
use shaderjit_ir::op::RESOURCE_BYTES;
use shaderjit_ir::{FunctionBuilder, Type};

const LENGTHS: [usize; 9] = [0, 1, 3, 4, 5, 7, 8, 12, 67];
const OFFSETS: [u32; 9] = [0, 1, 4, 60, 64, RESOURCE_BYTES - 4, RESOURCE_BYTES, u32::MAX - 1, u32::MAX];

/// Operands around every end, and where sums with the offsets wrap.
fn operands() -> Vec<u32> {
    let ends = LENGTHS.iter().flat_map(|&length| [0, 1, 2, 3, 4, 5].map(|less| (length as u32).wrapping_sub(less)));
    ends.chain([8, 63, 64, 0x7fff_ffff, 0x8000_0000, RESOURCE_BYTES]).collect()
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| at as u8 | 0x80).collect()
}

#[test]
fn loads_outside_give_zero_wherever_the_bytes_lie() {
    let rows: Rows = operands().iter().map(|&operand| [operand, operand ^ 4, 0, 0]).collect();
    for offset in OFFSETS {
        let mut b = FunctionBuilder::new(format!("at {offset}"), 1, 2);
        let (first, second) = (b.add_resource("t0"), b.add_resource("t1"));
        let operands = [0, 1].map(|component| b.input(Type::I32, 0, component));
        for (component, operand) in [operands[0], operands[1], operands[0]].into_iter().enumerate() {
            let ty = if component == 1 { Type::F32 } else { Type::I32 };
            let resource = if component == 2 { second } else { first };
            let word = b.resource_load(ty, resource, offset, operand);
            b.output(0, component as u8, word);
        }
        let fixed = b.i32(1);
        let word = b.resource_load(Type::F32, second, offset, fixed);
        b.output(1, 0, word);
        for (component, resource) in [(1, first), (2, second)] {
            let bytes = b.resource_bytes(resource);
            b.output(1, component, bytes);
        }
        b.ret();
        let func = lockstep(b);
        let case =
            |&length: &usize| Case { resources: vec![bytes(length), bytes(67 - length)], ..Case::new(rows.clone()) };
        check(&func, &LENGTHS.iter().map(case).collect::<Vec<_>>());
    }
}

/// Instructions that gather take offsets for numbers with a sign. Nearly all of the bytes are never touched.
#[test]
fn words_further_on_than_two_gibibytes_are_loaded() {
    const HALF: u32 = 1 << 31;
    let mut bytes = vec![0; HALF as usize + 64];
    let (first, last) = (0..64, HALF as usize - 64..bytes.len());
    for range in [first, last] {
        range.for_each(|at| bytes[at] = at as u8 | 0x80);
    }
    let operands = [HALF, 5, HALF - 4, HALF - 2, HALF + 60, 0, HALF + 1, HALF + 61, HALF - 60, u32::MAX];
    let mut b = FunctionBuilder::new("far", 1, 1);
    let resource = b.add_resource("t0");
    let operand = b.input(Type::I32, 0, 0);
    for (component, offset) in [(0, 0), (1, 4)] {
        let word = b.resource_load(Type::I32, resource, offset, operand);
        b.output(0, component, word);
    }
    b.ret();
    let case = Case { resources: vec![bytes], ..Case::new(operands.map(|at| [at, 0, 0, 0]).to_vec()) };
    check(&lockstep(b), &[case]);
}

#[test]
fn uniform_offsets_load_once() {
    for offset in OFFSETS {
        let mut b = FunctionBuilder::new(format!("uniform at {offset}"), 1, 1);
        let (space, resource) = (b.add_space("cb0", None), b.add_resource("t0"));
        for component in 0..4 {
            let operand = b.uniform_load(Type::I32, space, 0, component);
            let ty = if component % 2 == 0 { Type::I32 } else { Type::F32 };
            let word = b.resource_load(ty, resource, offset, operand);
            b.output(0, component, word);
        }
        b.ret();
        let func = lockstep(b);
        let mut cases = Vec::new();
        for length in LENGTHS {
            for operands in operands().as_chunks::<4>().0 {
                let (uniforms, resources) = (vec![vec![*operands]], vec![bytes(length)]);
                cases.push(Case { uniforms, resources, ..Case::new(vec![[0; 4]; 3]) });
            }
        }
        check(&func, &cases);
    }
}
