//! Whole programs, lowered and run: what instructions compute, and where they lead.

use super::*;
use crate::frontend::pica::decode::{MAX_WORDS, decode};
use crate::frontend::pica::opcode::{Field, Opcode};
use crate::frontend::pica::testing::{PLAIN, Random, word};
use shaderjit_ir::fuel::Stop;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use shaderjit_ir::texture::NoTextures;
use shaderjit_ir::verify::verify;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;
const ZERO: [f32; 4] = [0.0; 4];

// Sources as fields: v0 is 0.
const R0: u32 = 0x10;
const R1: u32 = 0x11;
const C0: u32 = 0x20;

/// What a program is run on.
struct Run<'a> {
    descriptors: &'a [u32],
    inputs: [[f32; 4]; 16],
    float: [[f32; 4]; 96],
    int: [[u32; 4]; 4],
    bools: u32,
    options: LowerOptions,
}

impl Default for Run<'_> {
    fn default() -> Self {
        // c<n> is (n, n + 0.25, -0.5 - n, 1000 + n).
        let float = std::array::from_fn(|n| [n as f32, n as f32 + 0.25, -0.5 - n as f32, 1000.0 + n as f32]);
        let options = LowerOptions::default();
        Run { descriptors: &[PLAIN], inputs: [ZERO; 16], float, int: [[0; 4]; 4], bools: 0, options }
    }
}

impl Run<'_> {
    /// The outputs of the program: the same in every form.
    fn run(&self, words: &[u32]) -> Result<Vec<[f32; 4]>, InterpError> {
        let graph = self.run_as(words, FlowForm::Graph, 100_000);
        // Each word is a backward edge.
        let dispatch = self.run_as(words, FlowForm::Dispatch, 100_000_000);
        match (&graph, &dispatch) {
            (Ok(graph), Ok(dispatch)) => {
                graph.iter().zip(dispatch).for_each(|(&graph, &dispatch)| assert_same(dispatch, graph, "dispatch"));
            }
            _ => assert_eq!(graph, dispatch),
        }
        graph
    }

    fn run_as(&self, words: &[u32], flow: FlowForm, fuel: u32) -> Result<Vec<[f32; 4]>, InterpError> {
        let program = decode(words, self.descriptors, 0).unwrap();
        let lowered = lower(&program, Address(0), &LowerOptions { flow, ..self.options }).unwrap();
        verify(&lowered.function).unwrap();
        let inputs = self.inputs.map(|input| input.map(|x| [x.to_bits()]));
        let mut float = self.float.map(|row| row.map(f32::to_bits)).to_vec();
        lowered.interface.complete(lowered.interface.uniforms[0].space, &mut float);
        let bools = [[self.bools, 0, 0, 0]];
        let uniforms: [&[[u32; 4]]; 4] = [&float, &self.int, &bools, &[]];
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: [0],
            instance_id: 0,
            uniforms: &uniforms,
            resources: &[],
            textures: &NoTextures,
        };
        let mut interpreter = Interpreter::<1>::new(&lowered.function);
        let outputs = interpreter.run(&bindings, &InterpOptions { fuel: fuel.into(), fused: true })?;
        Ok(outputs.iter().map(|output| output.map(|[bits]| f32::from_bits(bits))).collect())
    }

    /// `o0` after the program.
    fn o0(&self, words: &[u32]) -> [f32; 4] {
        self.run(words).unwrap()[0]
    }
}

/// Equal bit for bit, NaN payload apart.
#[track_caller]
fn assert_same(ours: [f32; 4], expected: [f32; 4], what: &str) {
    let same = |(&a, &b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    assert!(ours.iter().zip(&expected).all(same), "{what}: {ours:?}, not {expected:?}");
}

/// Two-source instruction of format 1 or 1i with destination `o0` and descriptor 0.
fn op2(opcode: Opcode, s1: u32, s2: u32) -> u32 {
    word(opcode, &[(Field::Source1, s1), (Field::Source2, s2)])
}

fn op1(opcode: Opcode, s: u32) -> u32 {
    word(opcode, &[(Field::Source1, s)])
}

fn to(register: u32, instruction: u32) -> u32 {
    instruction | register << 21
}

/// `opcode o0, v0, v1`.
fn binary(opcode: Opcode, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    let mut run = Run::default();
    (run.inputs[0], run.inputs[1]) = (a, b);
    run.o0(&[op2(opcode, 0, 1)])
}

/// `opcode o0, v0`.
fn unary(opcode: Opcode, a: [f32; 4]) -> [f32; 4] {
    let mut run = Run::default();
    run.inputs[0] = a;
    run.o0(&[op1(opcode, 0)])
}

#[test]
fn products_of_zero_and_infinity_are_zero() {
    let same = |a, b, expected| assert_same(binary(Opcode::Mul, a, b), expected, "mul");
    same([INF, 0.0, -INF, 0.0], [0.0, INF, 0.0, -INF], ZERO);
    same([NAN, 0.0, NAN, INF], [0.0, NAN, INF, INF], [NAN, NAN, NAN, INF]);
    same([2.0, -0.0, 1.5, -3.0], [0.5, 4.0, -2.0, -3.0], [1.0, -0.0, -3.0, 9.0]);

    // dp4([inf, 1, 0, 1], [0, 2, inf, 1]) and the like (hardware cases 25 to 27)
    assert_same(binary(Opcode::Dp4, [INF, 1.0, 0.0, 1.0], [0.0, 2.0, INF, 1.0]), [3.0; 4], "dp4");
    assert_same(binary(Opcode::Dp3, [INF, INF, 0.0, 9.0], [0.0, 0.0, INF, 9.0]), ZERO, "dp3");
    assert_same(binary(Opcode::Dph, [INF, INF, INF, 7.0], [0.0, 0.0, 0.0, 1.0]), [1.0; 4], "dph");
}

#[test]
fn sums_run_from_x_to_w() {
    // (((2^24 + 1) + 1) + 1): every 1 is lost, which pairwise summation would show.
    let big = 16_777_216.0;
    assert_same(binary(Opcode::Dp4, [big, 1.0, 1.0, 1.0], [1.0; 4]), [big; 4], "dp4");
    assert_same(binary(Opcode::Dph, [big, 1.0, 1.0, 0.0], [1.0; 4]), [big; 4], "dph");
}

#[test]
fn mad_rounds_twice() {
    let mut run = Run::default();
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 if rounded once.
    let x = 1.0 + 2f32.powi(-12);
    run.inputs[..3].copy_from_slice(&[[x, INF, NAN, 3.0], [x, 0.0, 0.0, 4.0], [-1.0 - 2f32.powi(-11), 1.0, 1.0, 5.0]]);
    let fields = [(Field::Source1, 0), (Field::Source2, 1), (Field::Source3, 2)];
    for opcode in [Opcode::Mad, Opcode::Madi] {
        assert_same(run.o0(&[word(opcode, &fields)]), [0.0, 1.0, NAN, 17.0], opcode.mnemonic());
    }
}

/// With numbers of 24 bits, and v0 as given.
fn float24(v0: [f32; 4]) -> Run<'static> {
    let mut run =
        Run { options: LowerOptions { numbers: FloatPrecision::Float24, ..LowerOptions::default() }, ..Run::default() };
    run.inputs[0] = v0;
    run
}

#[test]
fn what_is_bound_is_converted_to_24_bits() {
    let bits = |bits: [u32; 4]| bits.map(f32::from_bits);
    let run = float24(bits([0x3f80_00c0, 0xbf80_0041, 0x5f7f_ffff, 0x8000_0000]));
    assert_same(run.o0(&[op1(Opcode::Mov, 0)]), bits([0x3f80_0100, 0xbf80_0080, 0x7f80_0000, 0]), "v0");
    let mut run = float24(ZERO);
    run.float[0] = bits([0x3f80_0040, 0x1880_0000, 0x9880_0000, 0x1800_0000]);
    // Denormals stay: multiples of 2^-78.
    assert_same(run.o0(&[op1(Opcode::Mov, C0)]), bits([0x3f80_0000, 0x1880_0000, 0x9880_0000, 0]), "c0");
}

#[test]
fn results_are_rounded_to_24_bits() {
    let step = 2f32.powi(-16);
    let mut run = float24([1.0, 1.0, 3.0, 1.0 + step]);
    run.inputs[1] = [step / 2.0, step * 0.75, 1.0, 1.0 + step];
    assert_same(run.o0(&[op2(Opcode::Add, 0, 1)]), [1.0, 1.0 + step, 4.0, 2.0 + 2.0 * step], "add");
    assert_same(run.o0(&[op2(Opcode::Mul, 0, 1)]), [step / 2.0, step * 0.75, 3.0, 1.0 + 2.0 * step], "mul");
    // A third to 17 bits.
    run.inputs[0] = [3.0; 4];
    assert_same(run.o0(&[op1(Opcode::Rcp, 0)]), [f32::from_bits(0x3eaa_aa80); 4], "rcp");
    // The product is rounded, then the sum: 1 + 2^-15 is left of (1 + 2^-16)^2.
    run.inputs[0] = [1.0 + step; 4];
    run.inputs[1] = [-1.0; 4];
    let fields = [(Field::Source1, 0), (Field::Source2, 0), (Field::Source3, 1)];
    assert_same(run.o0(&[word(Opcode::Mad, &fields)]), [2.0 * step; 4], "mad");
    // The largest number is 2^64 - 2^47.
    let large = 2f32.powi(63);
    run.inputs[0] = [large, -large, large * 1.5, 1.0];
    assert_same(run.o0(&[op2(Opcode::Add, 0, 0)]), [INF, -INF, INF, 2.0], "add");
}

#[test]
fn halving_1_63_times_gives_0_with_24_bits() {
    let mut words = vec![to(R0, op1(Opcode::Mov, 0))];
    for halvings in 1..=63 {
        // r0 *= v1
        words.push(to(R0, op2(Opcode::Mul, R0, 1)));
        let mut run = float24([1.0; 4]);
        run.inputs[1] = [0.5; 4];
        let program = [words.as_slice(), &[op1(Opcode::Mov, R0)]].concat();
        let expected = if halvings == 63 { 0.0 } else { 2f32.powi(-halvings) };
        assert_same(run.o0(&program), [expected; 4], "after halving");
    }
}

#[test]
fn denormals_of_24_bits_are_zero_to_arithmetic_alone() {
    let denormal = 2f32.powi(-70);
    let one = |opcode: Opcode, expected: f32| {
        let mut run = float24([denormal; 4]);
        run.inputs[1] = [2f32.powi(-62); 4];
        let two = opcode.picture().width(Field::Source2) > 0;
        let word = if two { op2(opcode, 0, 1) } else { op1(opcode, 0) };
        assert_same(run.o0(&[word]), [expected; 4], opcode.mnemonic());
    };
    one(Opcode::Mov, denormal);
    one(Opcode::Min, denormal);
    one(Opcode::Slt, 1.0);
    one(Opcode::Add, 2f32.powi(-62));
    one(Opcode::Rcp, INF);
    one(Opcode::Lg2, -INF);
    one(Opcode::Dp4, 0.0);
    let mut run = float24([denormal; 4]);
    run.inputs[1] = [-1.0; 4];
    assert_same(run.o0(&[op2(Opcode::Max, 0, 1)]), [denormal; 4], "max");
    // 2^64 is infinity, and 0 times that is 0.
    run.inputs[1] = [2f32.powi(64); 4];
    assert_same(run.o0(&[op2(Opcode::Mul, 0, 1)]), ZERO, "mul");
}

#[test]
fn there_is_no_negative_zero_with_24_bits() {
    let mut run = float24([0.0, -0.0, -INF, 1.0]);
    run.descriptors = const { &[PLAIN | 1 << 4] };
    // Negated: 0, 0, inf, -1.
    assert_same(run.o0(&[op1(Opcode::Mov, 0)]), [0.0, 0.0, INF, -1.0], "mov");
    assert_same(run.o0(&[op1(Opcode::Rcp, 0)]), [INF; 4], "rcp");
    assert_same(run.o0(&[op1(Opcode::Flr, 0)]), [0.0, 0.0, INF, -1.0], "flr");
    let mut run = float24([-1.0, -INF, 2f32.powi(-40), -0.0]);
    run.inputs[1] = [0.0, 0.0, -2f32.powi(-40), 5.0];
    assert_same(run.o0(&[op2(Opcode::Mul, 0, 1)]), ZERO, "mul");
}

#[test]
fn comparisons_are_false_for_nan() {
    let (a, b) = ([1.0, 2.0, NAN, 0.0], [2.0, 2.0, 0.0, NAN]);
    assert_same(binary(Opcode::Slt, a, b), [1.0, 0.0, 0.0, 0.0], "slt");
    assert_same(binary(Opcode::Sge, a, b), [0.0, 1.0, 0.0, 0.0], "sge");
    assert_same(binary(Opcode::Slti, a, b), [1.0, 0.0, 0.0, 0.0], "slti");
    assert_same(binary(Opcode::Sgei, a, b), [0.0, 1.0, 0.0, 0.0], "sgei");
    assert_same(binary(Opcode::Sge, [-0.0, INF, -INF, 1.0], [0.0, INF, INF, 1.5]), [1.0, 1.0, 0.0, 0.0], "sge");
}

#[test]
fn the_second_operand_of_max_and_min_wins_against_nan() {
    let (a, b) = ([0.0, NAN, -INF, 1.0], [NAN, 0.0, INF, -1.0]);
    assert_same(binary(Opcode::Max, a, b), [NAN, 0.0, INF, 1.0], "max");
    assert_same(binary(Opcode::Min, a, b), [NAN, 0.0, -INF, -1.0], "min");
    assert_same(binary(Opcode::Add, [INF, 1.0, NAN, -0.0], [-INF, 2.0, 1.0, -0.0]), [NAN, 3.0, NAN, -0.0], "add");
}

#[test]
fn scalar_opcodes_read_x_alone() {
    let same = |opcode: Opcode, x: f32, expected: f32| {
        assert_same(unary(opcode, [x, 5.0, 6.0, 7.0]), [expected; 4], &format!("{} {x:?}", opcode.mnemonic()));
    };
    for (x, expected) in [(4.0, 0.25), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN)] {
        same(Opcode::Rcp, x, expected);
    }
    for (x, expected) in [(4.0, 0.5), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (-INF, NAN), (NAN, NAN)] {
        same(Opcode::Rsq, x, expected);
    }
}

#[test]
fn floor_goes_down() {
    assert_same(unary(Opcode::Flr, [-0.1, 1.9, -0.0, INF]), [-1.0, 1.0, -0.0, INF], "flr");
    assert_same(unary(Opcode::Flr, [NAN, -2.0, 0.5, 8388609.0]), [NAN, -2.0, 0.0, 8388609.0], "flr");
}

#[test]
fn dst_is_the_distance_vector() {
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    assert_same(binary(Opcode::Dst, a, b), [1.0, 12.0, 3.0, 8.0], "dst");
    assert_same(binary(Opcode::Dsti, a, b), [1.0, 12.0, 3.0, 8.0], "dsti");
    assert_same(binary(Opcode::Dphi, a, b), [46.0; 4], "dphi");
}

#[test]
fn litp_clamps_and_sets_flags() {
    assert_same(unary(Opcode::Litp, [2.0, 300.0, 9.0, -1.0]), [2.0, 127.9961, 0.0, 0.0], "litp");
    assert_same(unary(Opcode::Litp, [-2.0, -300.0, 9.0, 3.0]), [0.0, -127.9961, 0.0, 3.0], "litp");

    // litp writes nothing (mask 0), but its flags choose what o0 is.
    let flags = |x: f32, w: f32| {
        let ifc =
            |combine| word(Opcode::Ifc, &[(Field::ReferenceX, 1), (Field::ReferenceY, 1), (Field::Combine, combine)]);
        let over = |target: u32| target << 10;
        let words = [
            op1(Opcode::Litp, 0) | 1,
            ifc(2) | over(3),
            op1(Opcode::Mov, C0 + 1) | 2,
            ifc(3) | over(5),
            op1(Opcode::Mov, C0 + 1) | 3,
        ];
        let mut run = Run { descriptors: &[PLAIN, PLAIN & !0xf, PLAIN & !0x7, PLAIN & !0xb], ..Run::default() };
        run.inputs[0] = [x, 0.0, 0.0, w];
        let [x, y, ..] = run.o0(&words);
        (x != 0.0, y != 0.0)
    };
    assert_eq!(flags(1.0, -1.0), (true, false));
    assert_eq!(flags(-1.0, 1.0), (false, true));
    assert_eq!(flags(0.0, NAN), (true, false));
}

#[test]
fn swizzle_negation_and_mask() {
    // Source 1 .wzyx negated, source 2 .yyyy, written .xz.
    let descriptor = 0b1010 | 1 << 4 | 0b11_10_01_00 << 5 | 0b01_01_01_01 << 14;
    let mut run = Run { descriptors: &[descriptor], ..Run::default() };
    run.inputs[0] = [1.0, 2.0, 3.0, 4.0];
    run.inputs[1] = [10.0, 20.0, 30.0, 40.0];
    assert_same(run.o0(&[op2(Opcode::Add, 0, 1)]), [16.0, 0.0, 18.0, 0.0], "add");
}

#[test]
fn sources_are_read_before_the_destination_is_written() {
    // mov r0, v0 · mov r0, r0.yzwx · mov o0, r0
    let mut run = Run { descriptors: &[PLAIN, 0xf | 0b01_10_11_00 << 5], ..Run::default() };
    run.inputs[0] = [1.0, 2.0, 3.0, 4.0];
    let words = [to(R0, op1(Opcode::Mov, 0)), to(R0, op1(Opcode::Mov, R0)) | 1, op1(Opcode::Mov, R0)];
    assert_same(run.o0(&words), [2.0, 3.0, 4.0, 1.0], "mov");
}

#[test]
fn registers_start_as_zero_and_outputs_keep_their_last_value() {
    let run = Run::default();
    assert_same(run.o0(&[op1(Opcode::Mov, R1)]), ZERO, "mov");
    let words = [op1(Opcode::Mov, C0 + 1), op1(Opcode::Mov, C0 + 2)];
    let out = run.run(&words).unwrap();
    assert_same(out[0], [2.0, 2.25, -2.5, 1002.0], "o0");
    assert_same(out[1], ZERO, "o1");
}

/// What hardware was seen to read for `c40` with these values in `a0.x`.
#[test]
fn relative_addressing() {
    const ONES: Option<u32> = None;
    let cases = [
        (0.0, Some(40)),
        (55.9, Some(95)),
        (60.0, ONES),
        (87.0, ONES),
        (88.0, Some(0)),
        (127.0, Some(39)),
        (128.0, Some(40)),
        (-40.0, Some(0)),
        (-42.0, ONES),
        (-73.0, Some(95)),
        (-127.0, Some(41)),
        (-128.0, Some(40)),
        (-129.0, Some(40)),
        (-1.9, Some(39)),
        (1e30, Some(40)),
        (-INF, Some(40)),
        (NAN, Some(40)),
    ];
    for (index, expected) in cases {
        let mut run = Run::default();
        run.inputs[0] = [index; 4];
        let expected = expected.map_or([1.0; 4], |row| run.float[row as usize]);
        for (number, field) in [(1, "a0.x"), (2, "a0.y")] {
            let mova = op1(Opcode::Mova, 0);
            let mov = op1(Opcode::Mov, C0 + 40) | number << 19;
            assert_same(run.o0(&[mova, mov]), expected, &format!("{field} = {index}"));
        }
        // The wide source of the other formats: sgei compares with itself, madi adds.
        let mova = op1(Opcode::Mova, 0);
        let madi = word(
            Opcode::Madi,
            &[(Field::Source1, R0), (Field::Source2, R0), (Field::Source3, C0 + 40), (Field::Index, 1)],
        );
        assert_same(run.o0(&[mova, madi]), expected, &format!("madi, a0.x = {index}"));
    }
}

#[test]
fn mova_heeds_its_mask() {
    let mut run = Run { descriptors: &[PLAIN, PLAIN & !0xf | 0b0100, 0xf], ..Run::default() };
    run.inputs[0] = [3.0, 5.0, 7.0, 9.0];
    let sum = |index: u32| op1(Opcode::Mov, C0) | index << 19 | 2;
    assert_same(run.o0(&[op1(Opcode::Mova, 0) | 1, sum(1)]), ZERO, "a0.x is untouched");
    assert_same(run.o0(&[op1(Opcode::Mova, 0) | 1, sum(2)]), [5.0; 4], "a0.y");
}

#[test]
fn loops_count_and_index() {
    // loop i1 { add r0, c[aL], r0 } · mov o0, r0 · add o1, c[aL], r1
    let add = |index: u32| op2(Opcode::Add, C0, R0) | index << 19;
    let words = [
        word(Opcode::Loop, &[(Field::Int, 1), (Field::Target, 1)]),
        to(R0, add(3)),
        op1(Opcode::Mov, R0),
        to(1, op2(Opcode::Add, C0, R1)) | 3 << 19,
        word(Opcode::End, &[]),
    ];
    let mut run = Run::default();
    for (int, passes) in [([2, 5, 3, 0], [5, 8, 11].as_slice()), ([0, 9, 1, 0], &[9])] {
        run.int[1] = int;
        let out = run.run(&words).unwrap();
        let sum: u32 = passes.iter().sum();
        assert_eq!(out[0][0], sum as f32, "{int:?}");
        assert_eq!(out[1][0], (passes.last().unwrap() + int[2]) as f32, "aL after {int:?}");
    }
}

#[test]
fn every_condition() {
    // cmp v0, v1 with each comparison in x and its neighbour in y, then ifc on each test
    let holds = |op: u32, a: f32, b: f32| match op {
        0 => a == b,
        1 => a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        _ => true,
    };
    let values = [0.0, -0.0, 1.0, -INF, INF, NAN];
    let mut random = Random(99);
    for _ in 0..400 {
        let [op_x, op_y] = [random.below(8), random.below(8)];
        let [reference_x, reference_y, combine] = [random.below(2), random.below(2), random.below(4)];
        let [a, b, c, d] = std::array::from_fn(|_| values[random.below(values.len() as u32) as usize]);
        let words = [
            op2(Opcode::Cmp, 0, 1) | op_x << 24 | op_y << 21,
            word(
                Opcode::Ifc,
                &[
                    (Field::ReferenceX, reference_x),
                    (Field::ReferenceY, reference_y),
                    (Field::Combine, combine),
                    (Field::Target, 3),
                ],
            ),
            op1(Opcode::Mov, C0 + 1),
        ];
        let mut run = Run::default();
        (run.inputs[0], run.inputs[1]) = ([a, b, 0.0, 0.0], [c, d, 0.0, 0.0]);
        let x = holds(op_x, a, c) == (reference_x != 0);
        let y = holds(op_y, b, d) == (reference_y != 0);
        let expected = [x || y, x && y, x, y][combine as usize];
        let what = format!("{op_x} {op_y} on {a} {b}, {c} {d}; {reference_x} {reference_y} {combine}");
        assert_eq!(run.o0(&words)[0] == 1.0, expected, "{what}");
    }
}

#[test]
fn bool_uniforms_choose() {
    // jmpu b9 over the first mov; inverted with bit 0 of the count.
    for (bools, invert) in [(0, 0), (0, 1), (1 << 9, 0), (1 << 9, 1), (!(1u32 << 9), 0)] {
        let jump = word(Opcode::Jmpu, &[(Field::Bool, 9), (Field::Target, 3), (Field::Invert, invert)]);
        let words = [op1(Opcode::Mov, C0 + 7), jump, op1(Opcode::Mov, C0 + 1)];
        let jumps = (bools >> 9 & 1 != 0) == (invert == 0);
        let o0 = Run { bools, ..Run::default() }.o0(&words);
        assert_eq!(o0[0], if jumps { 7.0 } else { 1.0 }, "{bools:#x} {invert}");
    }
}

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let jump = word(Opcode::Jmpu, &[(Field::Target, 0), (Field::Invert, 1)]);
    assert_eq!(Run::default().run(&[op1(Opcode::Mov, C0), jump]), Err(InterpError::Stopped(Stop::Wave)));
    // Endless without any way out.
    let call = word(Opcode::Call, &[(Field::Count, 2)]);
    assert_eq!(Run::default().run(&[call, 0]), Err(InterpError::Stopped(Stop::Wave)));
}

#[test]
fn only_reachable_words_matter() {
    let lowered = |words: &[u32]| {
        let program = decode(words, &[PLAIN], 0x100).unwrap();
        let [graph, dispatch] = [FlowForm::Graph, FlowForm::Dispatch]
            .map(|flow| lower(&program, Address(0), &LowerOptions { flow, ..LowerOptions::default() }).map(|_| ()));
        assert_eq!(graph, dispatch);
        graph
    };
    let end = word(Opcode::End, &[]);
    let emit = word(Opcode::Emit, &[]);
    assert_eq!(lowered(&[end, emit]), Ok(()));
    let unsupported = |what: &str| Err(LowerError::Unsupported { what: what.to_owned(), offset: 0x104 });
    assert_eq!(lowered(&[0, word(Opcode::Emit, &[]), end]), unsupported("emit"));
    assert_eq!(lowered(&[0, word(Opcode::Setemit, &[]), end]), unsupported("setemit"));
    let what = "operand descriptor 1 is past the end of the table".to_owned();
    assert_eq!(lowered(&[0, 1, end]), Err(LowerError::Invalid { what, offset: 0x104 }));
}

#[test]
fn undefined_opcodes_have_no_effect() {
    let undefined = [0x10, 0x11, 0x14, 0x15, 0x16, 0x17, 0x1c, 0x1d, 0x1e, 0x1f].map(|top: u32| top << 26 | 0x3ff_ffff);
    let words = [undefined.as_slice(), &[op1(Opcode::Mov, C0)]].concat();
    assert_same(Run::default().o0(&words), [0.0, 0.25, -0.5, 1000.0], "mov");
}

/// Every opcode either lowers or is one of geometry shaders.
#[test]
fn every_opcode_is_lowered() {
    for &opcode in Opcode::ALL {
        let geometry = matches!(opcode, Opcode::Emit | Opcode::Setemit);
        let program = decode(&[opcode.picture().fixed(), word(Opcode::End, &[])], &[PLAIN], 0).unwrap();
        assert_eq!(lower(&program, Address(0), &LowerOptions::default()).is_err(), geometry, "{opcode:?}");
    }
}

#[test]
fn random_words_never_panic() {
    let mut random = Random(0xf00d);
    let (mut lowered, mut refused) = (0, 0);
    for round in 0..300 {
        // From short programs that mostly lower to all of program memory.
        let len = if round % 50 == 49 { MAX_WORDS as u32 } else { 1 + random.below(12) };
        let words: Vec<u32> = (0..len).map(|_| random.word()).collect();
        let descriptors: Vec<u32> = (0..random.below(129)).map(|_| random.word()).collect();
        let program = decode(&words, &descriptors, usize::MAX - 8).unwrap();
        assert!(program.to_string().lines().count() >= words.len());
        match lower(&program, Address(random.below(len) as u16), &LowerOptions::default()) {
            Ok(program) => {
                verify(&program.function).unwrap();
                lowered += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(lowered > 10 && refused > 10, "{lowered} {refused}");
}
