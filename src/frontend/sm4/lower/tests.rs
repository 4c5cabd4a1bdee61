//! Programs lowered and interpreted, against values computed by hand: instruction by instruction in the files below,
//! real programs here.

mod arithmetic;
mod flow;
mod operands;
mod refused;

use crate::frontend::Lowered;
use crate::frontend::sm4::testing::{Setup, bytes, lower_program, part, run};
use crate::frontend::sm4::{Program, lower};

const ONES: u32 = u32::MAX;

fn floats(values: [f32; 4]) -> [u32; 4] {
    values.map(f32::to_bits)
}

fn corpus(container: &[u8]) -> Lowered {
    let dxbc = crate::container::Dxbc::parse(container).unwrap();
    let program = Program::from_container(&dxbc.program().unwrap().unwrap()).unwrap();
    let signature = |signature: Result<Option<_>, _>| signature.unwrap().unwrap();
    let (inputs, outputs) = (signature(dxbc.input_signature()), signature(dxbc.output_signature()));
    lower(&program, &inputs, &outputs).unwrap()
}

#[test]
fn a_transform_reads_and_writes_by_signature() {
    let lowered = corpus(include_bytes!("../../../../tests/data/dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc"));
    let semantics: Vec<_> = lowered.interface.inputs.iter().map(|element| element.semantic.as_str()).collect();
    assert_eq!(semantics[0], "POSITION");
    let position = lowered.interface.outputs.iter().find(|element| element.semantic == "SV_Position").unwrap();
    assert_eq!((position.register, position.mask), (0, 0xf));
}

#[test]
fn mutated_programs_lower_or_are_refused() {
    let containers: [&[u8]; 4] = [
        include_bytes!("../../../../tests/data/dxbc/vs_calls/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_switch/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_indextemp/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_bits/VS.vs_5_0.fxc101.dxbc"),
    ];
    arbtest::arbtest(|u| {
        let (tokens, offset) = part(u.choose(&containers)?);
        let mut tokens: Vec<u32> =
            tokens.chunks_exact(4).map(|token| u32::from_le_bytes(token.try_into().unwrap())).collect();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.choose_index(tokens.len())?;
            match u.int_in_range(0..=2)? {
                0 => tokens[at] ^= 1 << u.int_in_range(0..=31)?,
                1 => tokens[at] = u.int_in_range(0..=64)?,
                _ => tokens[at] = tokens[u.choose_index(tokens.len())?],
            }
        }
        let Ok(program) = Program::decode(&bytes(&tokens), offset) else { return Ok(()) };
        if let Ok(lowered) = lower_program(&program) {
            // Whatever it has become, it ends or runs out of fuel.
            let uniforms: Vec<&[[u32; 4]]> = vec![&[]; lowered.interface.uniforms.len()];
            let resources: Vec<&[u8]> = vec![&[]; lowered.interface.resources.len()];
            _ = run(&lowered, &Setup { uniforms: &uniforms, resources: &resources, ..Setup::default() });
        }
        Ok(())
    });
}
