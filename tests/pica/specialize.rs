//! Programs compiled for the uniforms of the moment.

use crate::assembler::{Destination, Program, Source};
use crate::{VERTEX, engine};
use shaderjit::error::CallError;
use shaderjit::frontend::pica::opcode::{Field, Opcode};
use shaderjit::{CompileOptions, FloatPrecision, FlowForm, Lanes, PicaUniforms, Shader, VertexBufferView};
use std::sync::Arc;

const R0: u32 = 0x10;

/// r0 is the sum of c[aL] over loop i0, doubled if b3 is set; b7 asks for a logarithm.
fn program() -> Shader {
    let mut program = Program::default();
    // 0: loop i0 { 1 } · 2: ifu b3 { 3 } · 4: ifu b7 { 5 } · 6: mov o0, r0
    program.word(Opcode::Loop, &[(Field::Int, 0), (Field::Target, 1)]);
    program.op(Opcode::Add, Destination::new(R0), &[Source::new(0x20), Source::new(R0)]);
    program.words[1] |= Opcode::Add.picture().place(Field::Index, 3).expect("it has an index");
    program.word(Opcode::Ifu, &[(Field::Bool, 3), (Field::Target, 4), (Field::Count, 0)]);
    program.op(Opcode::Add, Destination::new(R0), &[Source::new(R0), Source::new(R0)]);
    program.word(Opcode::Ifu, &[(Field::Bool, 7), (Field::Target, 6), (Field::Count, 0)]);
    program.op(Opcode::Lg2, Destination::new(R0), &[Source::new(R0)]);
    program.op(Opcode::Mov, Destination::new(0), &[Source::new(R0)]);
    program.op(Opcode::Mov, Destination::new(1), &[Source::new(0)]);
    program.finish()
}

fn uniforms(bools: u16, int: [u8; 4]) -> PicaUniforms {
    let mut uniforms = PicaUniforms { bools, ..PicaUniforms::default() };
    uniforms.ints[0] = int;
    uniforms.floats.iter_mut().zip(1u8..).for_each(|(row, n)| *row = [f32::from(n); 4]);
    uniforms
}

#[test]
fn results_are_those_of_the_program_for_any_uniforms() {
    let (engine, shader, vertex) = (engine(), program(), [0; VERTEX]);
    for bools in [0, 1 << 3, 1 << 7, 1 << 3 | 1 << 7] {
        for int in [[0, 0, 0, 0], [3, 2, 1, 0], [2, 90, 5, 0]] {
            let uniforms = uniforms(bools, int);
            for flow in [FlowForm::Graph, FlowForm::Dispatch] {
                for lanes in [Lanes::Four, Lanes::Eight] {
                    let general =
                        CompileOptions::default().flow(flow).lanes(lanes).float_precision(FloatPrecision::Float24);
                    let special = general.clone().specialize(&uniforms);
                    let [general, special] = [general, special].map(|options| {
                        let code = engine.compile(&shader, &options).expect("it compiles");
                        let mut call = code.call();
                        for register in 0..16 {
                            call.input_element(register, VertexBufferView::f32x4(&vertex, VERTEX)).expect("v0 to v15");
                        }
                        let native = call.pica_uniforms(&uniforms).run(0..1).expect("it runs");
                        assert_eq!(native.first_difference(&call.interpret(0..1).expect("it runs")), None);
                        native
                    });
                    assert_eq!(special.first_difference(&general), None, "{bools:#x} {int:?} {flow:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_decided_is_gone() {
    let (engine, shader) = (engine(), program());
    let compile = |options: CompileOptions| engine.compile(&shader, &options).expect("it compiles");
    let general = compile(CompileOptions::default());
    let bools = compile(CompileOptions::default().specialize_bools(0));
    let both = compile(CompileOptions::default().specialize(&uniforms(0, [3, 2, 1, 0])));
    assert!(!general.is_dispatched());
    let size = |code: &Arc<shaderjit::CompiledShader>| (code.function().layout.len(), code.function().size());
    assert!(size(&bools) < size(&general) && size(&both) <= size(&bools));
    // Spaces are in the order c, i, b.
    assert_eq!([0, 1, 2].map(|space| general.needs_uniforms(space)), [true, true, true]);
    assert_eq!([0, 1, 2].map(|space| bools.needs_uniforms(space)), [true, true, false]);
    assert_eq!([0, 1, 2].map(|space| both.needs_uniforms(space)), [true, false, false]);
}

#[test]
fn each_set_of_values_is_compiled_once() {
    let (engine, shader) = (engine(), program());
    let compile = |bools| {
        let options = CompileOptions::default().specialize(&uniforms(bools, [1, 0, 1, 0]));
        engine.compile(&shader, &options).expect("it compiles")
    };
    let [first, other, again] = [0, 1 << 3, 0].map(compile);
    assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
    assert_eq!(engine.cache_stats().compiles, 4, "IR and native code of each");
}

#[test]
fn other_values_are_refused() {
    let (engine, shader, vertex) = (engine(), program(), [0; VERTEX]);
    let code = engine.compile(&shader, &CompileOptions::default().specialize_bools(1 << 3)).expect("it compiles");
    let mut call = code.call();
    for register in 0..16 {
        call.input_element(register, VertexBufferView::f32x4(&vertex, VERTEX)).expect("v0 to v15");
    }
    let refused = call.pica_uniforms(&uniforms(1 << 7, [0; 4])).run(0..1);
    let what = "file of bool uniforms b0..b15".to_string();
    assert_eq!(refused.map(drop), Err(CallError::OtherValues { what }));
    assert!(call.pica_bools(1 << 3).expect("it has bools").run(0..1).is_ok());
}
