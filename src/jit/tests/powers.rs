//! Powers of two and logarithms, for which AVX-512 has instructions: as the expansions give them.

use super::{Case, CodegenOptions, EDGES, Rows, Target, check, run_native, words};
use crate::jit::compile_program;
use crate::pipeline::{self, PassOptions};
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::eval::eval;
use shaderjit_ir::parse::parse;
use shaderjit_ir::{Function, FunctionBuilder, Op, SysVal, Type};

/// Of four words, which come as floats and as bits, and of a sum that does not differ among lanes.
fn powers(op: Op, fused: bool) -> Function {
    let mut b = FunctionBuilder::new("powers", 1, 2);
    for component in 0..4 {
        let number = if component == 3 {
            let bits = b.input(Type::I32, 0, component);
            b.bitcast_f32([bits])
        } else {
            b.input(Type::F32, 0, component)
        };
        let power = b.op(op, &[number]);
        b.output(0, component, power);
    }
    let (id, x) = (b.sysval(SysVal::InstanceId), b.f32(0.3));
    let instance = b.itof([id]);
    let sum = b.fmul([instance, x]);
    let uniform = b.op(op, &[sum]);
    b.output(1, 0, uniform);
    b.ret();
    pipeline::run(b.finish(), &PassOptions { fused, guards: false }, None).unwrap().into_inner()
}

#[test]
fn edges_and_every_exponent() {
    let mut rows: Vec<[u32; 4]> =
        EDGES.iter().map(|&edge| [edge, 0x42fe_ffff, edge, 0xc2fc_0001].map(|bits| bits ^ edge & 1)).collect();
    // Around whole numbers from where results are zero to where they are infinite, and spread over all floats.
    for whole in -152..=130 {
        let bits = (whole as f32).to_bits();
        rows.push([bits, bits.wrapping_add(1), bits.wrapping_sub(1), (whole as f32 + 0.37).to_bits()]);
    }
    rows.extend(
        (0..1 << 14).map(|n: u32| [n << 18, n << 18 | 0x2_1357, (n << 18) ^ 0x1_ffff, n.wrapping_mul(0x9e37_79b9)]),
    );
    for op in [Op::Fexp2, Op::Flog2] {
        for fused in [true, false] {
            for instance in [0, 7, 5000] {
                check(&powers(op, fused), &[Case { instance, ..Case::new(rows.clone()) }]);
            }
        }
    }
}

/// What planning makes of them alone, on all pairs of edges.
#[test]
fn scaling_and_cases_of_logarithms() {
    let target = Target::host().unwrap();
    if target.lanes().max() != Some(16) {
        return;
    }
    let text = "function \"f\" inputs 1 outputs 1 lockstep {
block0:
    v0 = input.f32 0.0
    v1 = input.f32 0.1
    v2 = fscale v0, v1
    output.f32 0.0, v2
    v3 = flogcase v0, v1
    output.f32 0.1, v3
    return
}";
    let machine = CodegenOptions { lanes: 16, vectors: 1 }.machine().unwrap();
    let program = BatchProgram::of(parse(text).unwrap(), machine).unwrap();
    let code = compile_program(&program, &words(&program.func), &target).unwrap();
    let whole = [-127.0, -126.0, -1.0, 1.0, 24.0, 127.0, 128.0, 255.0, -151.0f32].map(f32::to_bits);
    let numbers = || EDGES.into_iter().chain(whole);
    let pairs: Rows = numbers().flat_map(|a| numbers().map(move |b| [a, b, 0, 0])).collect();
    let found = run_native(&code, &program.func, &Case::new(pairs.clone())).unwrap();
    for (number, [a, b, ..]) in pairs.into_iter().enumerate() {
        for (component, op) in [Op::Fscale, Op::Flogcase].into_iter().enumerate() {
            let [want] = eval(op, Type::F32, &[[a], [b]], true);
            let got = found[0][number][component];
            let are_nan = [got, want].iter().all(|&bits| f32::from_bits(bits).is_nan());
            assert!(got == want || are_nan, "{op} {a:#x} {b:#x}: {got:#x}, not {want:#x}");
        }
    }
}
