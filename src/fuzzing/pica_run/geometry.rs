//! The same words as a geometry shader: the engines emit the same triangles and leave the same state, whatever becomes
//! of control flow.

use super::PicaRunCase;
use crate::error::{CallError, Error, LowerError};
use crate::frontend::StateRow;
use crate::fuzzing::fenced;
use crate::pica::{EmittedTriangles, GeometryState};
use crate::{Backend, CompileOptions, CompiledShader, FlowForm, Shader, VertexBufferView};

/// What EMIT copies: some registers whole, one in part.
const EMITTED: [u8; 16] = [0xf, 0xf, 0b0110, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0b1001];

/// What the invocations came to: triangles, or why there are none; and what they left.
type Ended = Vec<(Result<EmittedTriangles, CallError>, GeometryState)>;

/// Compares both engines and both forms of control flow.
pub fn check(case: &PicaRunCase) {
    let shader = Shader::from_pica_geometry(&case.words, &case.descriptors, case.entry.into(), EMITTED);
    let options = CompileOptions::default().float_precision(case.numbers);
    let options = if case.specialize { options.specialize(&case.uniforms) } else { options };
    let mut other_form: Option<Ended> = None;
    for flow in [FlowForm::Graph, FlowForm::Dispatch] {
        let mut reference: Option<Ended> = None;
        for backend in [Backend::Interpreter, Backend::Jit] {
            let options = options.clone().flow(flow).backend(backend).lanes(case.way.lanes);
            let code = match case.engine().compile(&shader, &options) {
                Ok(code) => code,
                // A descriptor or an entry point that is not there.
                Err(Error::Lower(LowerError::Invalid { .. }) | Error::Decode(_)) => return,
                Err(error) => panic!("{error}\n{case:?}"),
            };
            let ended = fenced(|| run(case, &code));
            match &reference {
                None => reference = Some(ended),
                Some(reference) => assert_same(&ended, reference, true, &format!("{options:?}\n{case:?}")),
            }
        }
        match (&other_form, &reference) {
            (Some(other), Some(reference)) => assert_same(reference, other, false, &format!("the forms\n{case:?}")),
            _ => other_form = reference,
        }
    }
}

/// One invocation after the other, so that each can end in an error by itself, then all at once.
fn run(case: &PicaRunCase, code: &CompiledShader) -> Ended {
    let bytes: Vec<u8> = case.vertices.iter().flatten().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let mut call = code.call();
    for register in 0..16 {
        call.input_element(register, VertexBufferView::f32x4(&bytes[16 * register..], 256)).expect("v0 to v15");
    }
    call.pica_uniforms(&case.uniforms);
    let count = case.vertices.len() as u32;
    let mut state = GeometryState::default();
    let mut ended: Ended = (0..count)
        .map(|invocation| (call.run_geometry(invocation..invocation + 1, &mut state), state.clone()))
        .collect();
    let mut state = GeometryState::default();
    ended.push((call.run_geometry(0..count, &mut state), state));
    ended
}

/// Forms burn fuel at their own pace: only engines agree on where it ends, and nothing behind it can be compared.
fn assert_same(ours: &Ended, theirs: &Ended, same_fuel: bool, what: &str) {
    for (number, ((ours, left), (theirs, left_theirs))) in ours.iter().zip(theirs).enumerate() {
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let difference = ours.first_difference(theirs);
                assert!(difference.is_none(), "run {number}: triangle {difference:?} differs\n{what}");
            }
            (Err(CallError::OutOfFuel { .. }), _) | (_, Err(CallError::OutOfFuel { .. })) if !same_fuel => return,
            (ours, theirs) => assert!(ours == theirs, "run {number}: {ours:?} is not {theirs:?}\n{what}"),
        }
        for row in rows() {
            let [a, b] = [left, left_theirs].map(|state| state.row(row).expect("every row is one of the state"));
            let same = |(&a, &b): (&u32, &u32)| a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
            assert!(a.iter().zip(&b).all(same), "run {number}: {row:?} is {a:x?}, not {b:x?}\n{what}");
        }
    }
}

fn rows() -> impl Iterator<Item = StateRow> {
    let registers = (0..16).flat_map(|register| {
        let vertices = (0..3).map(move |buffer| StateRow::Vertex { buffer, register });
        [StateRow::Temporary(register), StateRow::Output(register), StateRow::OtherOutput(register)]
            .into_iter()
            .chain(vertices)
    });
    registers.chain([StateRow::Address, StateRow::Flags, StateRow::Latch])
}
