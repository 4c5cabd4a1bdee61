//! Functions that are cut into phases.

use super::{Case, Rows, check, compile_all, lockstep, run_native, run_reference};
use crate::error::CallError;
use shaderjit_ir::function::Imm;
use shaderjit_ir::pass::order;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, Value};

/// Counts around the ends of waves and of tiles.
pub const COUNTS: [u32; 10] = [1, 3, 4, 9, 63, 64, 65, 128, 129, 200];

pub fn rows(seed: u32, count: u32) -> Rows {
    let word = |row: u32, column: u32| ((row * 7 + column * 3 + seed * 5) % 41) as f32 * 0.375 - 6.0;
    (0..count).map(|row| [0, 1, 2, 3].map(|column| word(row, column).to_bits())).collect()
}

/// Numbers that look random.
pub struct Random(pub u32);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % end
    }

    /// Mostly one of the last few, sometimes one from long ago.
    pub fn pick(&mut self, values: &[Value]) -> Value {
        let back = if self.below(8) == 0 { self.below(values.len()) } else { self.below(values.len().min(3)) };
        values[values.len() - 1 - back]
    }
}

/// A long function of two inputs: floats, integers and truth values of lanes, uniforms, and rows at indices of lanes.
/// Of its four outputs one is complete early, one is an input, one lacks a component and one is never set.
pub fn long(seed: u32) -> Function {
    let mut random = Random(seed);
    let mut b = FunctionBuilder::new("long", 2, 4);
    let space = b.add_space("c", None);
    let mut floats: Vec<Value> = (0..4).map(|component| b.input(Type::F32, 0, component)).collect();
    let mut ints: Vec<Value> = (0..2).map(|component| b.input(Type::I32, 1, component)).collect();
    let (zero, seven) = (b.f32(0.0), b.i32(7));
    let mut truths = vec![b.flt([zero, floats[0]])];
    let late = b.input(Type::F32, 1, 3);
    let uniforms: Vec<Value> = (0..3).map(|row| b.uniform_load(Type::F32, space, row, 1)).collect();
    let counter = b.uniform_load(Type::I32, space, 3, 2);
    for number in 0..240 {
        let [x, y, z] = [0; 3].map(|_| random.pick(&floats));
        let [i, j] = [0; 2].map(|_| random.pick(&ints));
        let truth = random.pick(&truths);
        match random.below(14) {
            0 => floats.push(b.fdiv([x, y])),
            1 => {
                let square = b.fmul([x, x]);
                floats.push(b.fsqrt([square]));
            }
            2 => truths.push(b.flt([x, y])),
            3 => floats.push(b.op(Op::Select, &[truth, x, y])),
            4 => ints.push(b.iadd([i, j])),
            5 => ints.push(b.iadd([i, counter])),
            6 => floats.push(b.itof([i])),
            7 => {
                let row = b.op(Op::And, &[i, seven]);
                floats.push(b.uniform_load_at(Type::F32, space, 0, number % 4, row));
            }
            8 => floats.push(b.fmul([x, uniforms[random.below(3)]])),
            9 => floats.push(b.fsub([x, y])),
            _ => {
                let product = b.fmul([x, y]);
                floats.push(b.fadd([product, z]));
            }
        }
        if number == 60 {
            (0..4).for_each(|component| b.output(0, component, floats[floats.len() - 1 - usize::from(component)]));
        }
    }
    let first = [0, 1, 2, 3].map(|component| b.input(Type::F32, 0, component));
    for (component, value) in (0..).zip(first) {
        b.output(1, component, value);
    }
    let sum = b.fadd([floats[floats.len() - 1], late]);
    b.output(2, 0, sum);
    b.output(2, 2, ints[ints.len() - 1]);
    b.ret();
    let mut func = lockstep(b);
    order(&mut func);
    func
}

#[test]
fn phases_do_what_the_whole_does() {
    for seed in 0..24 {
        let func = long(seed);
        let uniforms = vec![rows(9, 8)];
        let case = |count| {
            let inputs = vec![rows(seed, count), rows(seed + 1, count)];
            Case { inputs, uniforms: uniforms.clone(), ..Case::new(rows(seed, count)) }
        };
        let cases = COUNTS.map(case);
        check(&func, &cases);
    }
}

/// A chain between two guards: the first fails where the first component is NaN, the second where the second one is.
fn guarded() -> Function {
    let mut b = FunctionBuilder::new("guarded", 1, 1);
    let [x, y] = [0, 1].map(|component| b.input(Type::F32, 0, component));
    let early = b.fadd([x, x]);
    b.emit(Op::GuardOrdered, Type::F32, &[early], Imm::None);
    let one = b.f32(1.0);
    let mut chain = early;
    for _ in 0..60 {
        let square = b.fmul([chain, chain]);
        let sum = b.fadd([square, one]);
        chain = b.fsqrt([sum]);
    }
    let late = b.fadd([chain, y]);
    b.emit(Op::GuardOrdered, Type::F32, &[late], Imm::None);
    b.output(0, 0, late);
    b.ret();
    lockstep(b)
}

#[test]
fn the_first_group_that_fails_in_any_phase_is_found() {
    let func = guarded();
    let nan = f32::NAN.to_bits();
    for code in compile_all(&func) {
        let expected = run_reference::<4>(&func, &Case::new(rows(1, 200))).unwrap();
        assert!(run_native(&code, &func, &Case::new(rows(1, 200))).unwrap() == expected);
        // In one tile, in different ones, in the tail.
        for (early, late) in [(0, 199), (199, 0), (9, 20), (20, 9), (5, 6), (70, 69), (197, 140), (63, 64), (127, 128)]
        {
            let mut vertices = rows(1, 200);
            (vertices[early][0], vertices[late][1]) = (nan, nan);
            let failed = run_native(&code, &func, &Case::new(vertices));
            let vertex = early.min(late) as u32 / code.lanes() * code.lanes();
            assert_eq!(failed, Err(CallError::GuardFailed { vertex }), "{early} {late}, {} lanes", code.lanes());
        }
    }
}
