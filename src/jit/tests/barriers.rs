//! Functions that are cut at barriers: several waves of a group on native code and on the batch interpreter, against
//! one interpreter a wave that is run from barrier to barrier.

use super::{Case, Rows, run_native, words};
use crate::jit::{Target, compile_program};
use shaderjit_ir::batch::{BatchInterpreter, BatchProgram, Machine, PlanError};
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
use shaderjit_ir::parse::parse;
use shaderjit_ir::texture::NoTextures;
use shaderjit_ir::{Function, Op};

/// The vertices of a wave, the last one repeated.
fn wave<const L: usize>(case: &Case, first: usize) -> ([usize; L], Vec<[[u32; L]; 4]>) {
    let vertices: [usize; L] = std::array::from_fn(|lane| (first + lane).min(case.count as usize - 1));
    let element = |rows: &Rows| [0, 1, 2, 3].map(|component| vertices.map(|vertex| rows[vertex][component]));
    (vertices, case.inputs.iter().map(element).collect())
}

fn bindings<'a, const L: usize>(
    case: &Case,
    vertices: [usize; L],
    inputs: &'a [[[u32; L]; 4]],
    uniforms: &'a [&'a [[u32; 4]]],
) -> Bindings<'a, L> {
    let vertex_id = vertices.map(|vertex| vertex as u32);
    Bindings { inputs, vertex_id, instance_id: case.instance, uniforms, resources: &[], textures: &NoTextures }
}

/// Runs each wave to a barrier before any goes on. Waves that stop do so at one barrier, unless they part there.
fn run_waves<const L: usize>(func: &Function, case: &Case) -> Rows {
    let uniforms: Vec<&[[u32; 4]]> = case.uniforms.iter().map(Vec::as_slice).collect();
    let options = InterpOptions { fuel: case.fuel.into(), fused: true };
    let firsts: Vec<usize> = (0..case.count as usize).step_by(L).collect();
    let mut waves: Vec<_> = firsts
        .iter()
        .map(|&first| {
            let mut interpreter = Interpreter::<L>::new(func);
            let run = interpreter.begin(&options).unwrap();
            (interpreter, run, wave(case, first), false)
        })
        .collect();
    while waves.iter().any(|(.., has_ended)| !has_ended) {
        for (interpreter, run, (vertices, inputs), has_ended) in waves.iter_mut().filter(|(.., ended)| !ended) {
            let bindings = bindings(case, *vertices, inputs, &uniforms);
            *has_ended = interpreter.run_until_barrier(run, &bindings, &options).unwrap().is_none();
        }
    }
    let mut rows = vec![[0; 4]; func.outputs as usize * case.count as usize];
    for (interpreter, _, (vertices, _), _) in &waves {
        for (element, outputs) in interpreter.outputs().iter().enumerate() {
            for (lane, &vertex) in vertices.iter().enumerate() {
                rows[element * case.count as usize + vertex] = outputs.map(|component| component[lane]);
            }
        }
    }
    rows
}

fn run_tiles<const L: usize>(program: &BatchProgram, case: &Case) -> Rows {
    let uniforms: Vec<&[[u32; 4]]> = case.uniforms.iter().map(Vec::as_slice).collect();
    let options = InterpOptions { fuel: case.fuel.into(), fused: true };
    let waves: Vec<_> = (0..case.count as usize).step_by(L).map(|first| wave::<L>(case, first)).collect();
    let mut interpreter = BatchInterpreter::<L>::new(program);
    let mut rows = vec![[0; 4]; program.outputs as usize * case.count as usize];
    for tile in waves.chunks(program.tile()) {
        let all: Vec<Bindings<'_, L>> =
            tile.iter().map(|(vertices, inputs)| bindings(case, *vertices, inputs, &uniforms)).collect();
        interpreter.run_tile(&all, &options).unwrap();
        for (number, (vertices, _)) in tile.iter().enumerate() {
            for (element, outputs) in interpreter.outputs(number).iter().enumerate() {
                for (lane, &vertex) in vertices.iter().enumerate() {
                    rows[element * case.count as usize + vertex] = outputs.map(|component| component[lane]);
                }
            }
        }
    }
    rows
}

/// Checks that all three engines agree on a function of two inputs and a uniform space, and that it is so many phases.
fn check(text: &str, phases: usize) {
    let func = parse(text).unwrap();
    assert!(func.insts.values().any(|inst| inst.op == Op::Barrier));
    for count in [1, 4, 7, 33, 64, 130] {
        let word = |row: u32, column: u32| (row * 7 + column * 3) % 11;
        let whole = |row: u32| [0, 1, 2, 3].map(|column| word(row, column));
        let float = |row: u32| [0, 1, 2, 3].map(|column| (word(row, column) as f32 * 0.75 - 3.0).to_bits());
        let inputs = vec![(0..count).map(whole).collect(), (0..count).map(float).collect::<Rows>()];
        let uniforms = vec![vec![[3, 5, 1, 0], [1.5f32.to_bits(), 0, 0, 0]]];
        let case = Case { inputs, uniforms, fuel: 10_000, ..Case::new((0..count).map(whole).collect()) };
        for vectors in [1, 2] {
            let program = BatchProgram::of(func.clone(), Machine::of_128_bits(vectors)).unwrap();
            assert_eq!(program.cut.phases.len(), phases, "{program}");
            let again = BatchProgram::parse(&program.to_string());
            assert_eq!(again.unwrap().to_string(), program.to_string());
            let [want, tiles] = match vectors {
                1 => [run_waves::<4>(&func, &case), run_tiles::<4>(&program, &case)],
                _ => [run_waves::<8>(&func, &case), run_tiles::<8>(&program, &case)],
            };
            assert!(tiles == want, "{count} vertices, {tiles:x?} is not {want:x?}\n{program}");
            let code = compile_program(&program, &words(&func), &Target::host().unwrap()).unwrap();
            let native = run_native(&code, &func, &case).unwrap().concat();
            assert!(native == want, "{count} vertices, {native:x?} is not {want:x?}\n{program}");
        }
    }
}

#[test]
fn values_of_every_type_go_on() {
    check(
        "function \"types\" inputs 2 outputs 2 lockstep {
            space0 \"c\"
        block0:
            v0 = input.i32 0.0  v1 = input.f32 1.0  v2 = const.f32 0.5  v3 = flt v1, v2  v4 = itod v0
            v5 = uniform_load.f32 space0[1].0  v6 = fmul v5, v2  v7 = row_join.f32 v1, v5, v1, v2
            v8 = any v3
            barrier
            v9 = select.f32 v3, v1, v6  v10 = dadd v4, v4  v11 = dtof v10  v12 = row_word.f32 1, v7
            v13 = const.i32 7  v14 = select.i32 v8, v0, v13
            output.f32 0.0, v9  output.f32 0.1, v11
            barrier
            output.f32 1.0, v12  output.i32 1.1, v14
            return
        }",
        3,
    );
}

#[test]
fn a_loop_of_all_waves_has_a_barrier_and_a_loop_of_lanes_without() {
    check(
        "function \"loops\" inputs 2 outputs 1 lockstep {
            space0 \"c\"
            array0 [8 x 1]
        block0:
            v0 = input.i32 0.0  v1 = input.f32 1.1  v2 = uniform_load.i32 space0[0].0  v3 = const.i32 0
            v4 = const.i32 1  v5 = const.i1 true
            jump block1(v3, v1, v0)
        block1(v6: i32, v7: f32, v8: i32):
            array_store.f32 array0.0, v6, v7
            jump block2(v3, v7, v5)
        block2(v9: i32, v10: f32, v11: i1):
            v12 = fadd v10, v1  v13 = select.f32 v11, v12, v10  v14 = iadd v9, v4  v15 = slt v14, v8
            v16 = and.i1 v11, v15  v17 = any v16
            br_if v17, block2(v14, v13, v16), block3
        block3:
            barrier
            v18 = iadd v6, v4  v19 = slt v18, v2  v20 = isub v8, v4
            br_if v19, block1(v18, v13, v20), block4
        block4:
            v21 = array_load.f32 array0.0, v0
            output.f32 0.0, v13  output.f32 0.1, v21  output.i32 0.2, v20
            return
        }",
        4,
    );
}

#[test]
fn waves_leave_a_loop_with_a_barrier_one_by_one() {
    check(
        "function \"leaving\" inputs 2 outputs 1 lockstep {
        block0:
            v0 = input.i32 0.0  v1 = input.f32 1.1  v2 = const.i32 0  v3 = const.i32 1  v4 = const.i1 true
            jump block1(v2, v1, v0, v4)
        block1(v5: i32, v6: f32, v7: i32, v8: i1):
            v9 = fadd v6, v1
            barrier
            v10 = select.f32 v8, v9, v6  v11 = iadd v5, v3  v12 = slt v11, v0  v13 = and.i1 v8, v12  v14 = any v13
            br_if v14, block1(v11, v10, v5, v13), block2
        block2:
            v15 = itof v7
            output.f32 0.0, v10  output.f32 0.1, v15  output.i32 0.2, v11
            return
        }",
        4,
    );
}

#[test]
fn only_some_waves_come_to_a_barrier() {
    check(
        "function \"branch\" inputs 2 outputs 1 lockstep {
            space0 \"c\"
        block0:
            v0 = input.i32 0.0  v1 = input.f32 1.1  v2 = const.i32 8  v3 = slt v2, v0  v4 = any v3
            v5 = uniform_load.i32 space0[0].1
            br_if v4, block1, block2(v1, v5)
        block1:
            v6 = fadd v1, v1
            barrier
            v7 = select.f32 v3, v6, v1  v8 = const.i32 11
            jump block2(v7, v8)
        block2(v9: f32, v10: i32):
            output.f32 0.0, v9  output.i32 0.1, v10
            return
        }",
        4,
    );
}

/// The values of a loop change places, and those from before are used behind it.
#[test]
fn parameters_change_places() {
    check(
        "function \"places\" inputs 2 outputs 1 lockstep {
            space0 \"c\"
        block0:
            v0 = input.f32 1.0  v1 = input.f32 1.1  v2 = uniform_load.i32 space0[0].1  v3 = const.i32 0
            v4 = const.i32 1
            jump block1(v3, v0, v1)
        block1(v5: i32, v6: f32, v7: f32):
            v8 = iadd v5, v4
            barrier
            v9 = slt v8, v2
            br_if v9, block1(v8, v7, v6), block2
        block2:
            v10 = fsub v6, v7
            output.f32 0.0, v6  output.f32 0.1, v7  output.f32 0.2, v10  output.i32 0.3, v5
            return
        }",
        4,
    );
}

/// A loop that is left in two ways, of which one passes a barrier. What comes behind that has nothing to do.
#[test]
fn a_loop_has_two_ends() {
    check(
        "function \"ends\" inputs 2 outputs 1 lockstep {
            space0 \"c\"
        block0:
            v0 = input.f32 1.0  v1 = uniform_load.i32 space0[0].0  v2 = uniform_load.i32 space0[0].1  v3 = const.i32 0
            v4 = const.i32 1
            jump block1(v3, v0)
        block1(v5: i32, v6: f32):
            v7 = fadd v6, v0  v8 = ieq v5, v1
            br_if v8, block4(v7), block2
        block2:
            v9 = iadd v5, v4  v10 = slt v9, v2
            br_if v10, block1(v9, v7), block3
        block3:
            v11 = fmul v7, v7
            barrier
            jump block4(v11)
        block4(v12: f32):
            output.f32 0.0, v12
            return
        }",
        4,
    );
}

#[test]
fn what_no_worklist_describes_is_refused() {
    let text = "function \"f\" inputs 2 outputs 1 lockstep {
        block0:
            v0 = input.i32 0.0  v1 = const.i32 4  v2 = slt v0, v1  v3 = any v2  v4 = not.i1 v3
            br_if v4, block1, block2
        block1:
            barrier
            jump block2
        block2:
            return
        }";
    let error = BatchProgram::of(parse(text).unwrap(), Machine::of_128_bits(1)).unwrap_err();
    assert!(matches!(error, PlanError::Cut(_)), "{error}");
}
