//! The rules of Direct3D 11 that programs on a CPU easily break, one test a rule. The doc comment of each says where
//! the rule is from; what each opcode computes, edge values first, is in `tests/filetests/sm4`.

mod control_flow;
mod conversion;
mod float;
mod integer;
mod notation;
mod parse;
mod register_files;
mod resources;
mod stages;
#[path = "../support/mod.rs"]
mod support;

use shaderjit::error::LowerError;
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{Backend, CompileOptions, Config, Engine, Error, Shader};
use support::program::Source;

/// Why a program is not lowered, for whichever engine.
fn lower_error(source: &Source) -> LowerError {
    let engine = Engine::new(Config::default()).unwrap();
    let shader = Shader::parse(&source.container()).unwrap();
    let [native, interpreted] = [Backend::Jit, Backend::Interpreter].map(|backend| {
        match engine.compile(&shader, &CompileOptions::default().backend(backend)).map(drop) {
            Err(Error::Lower(error)) => error,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(native, interpreted);
    native
}

/// The program of some lines is refused as unsupported by the name and at the offset of an opcode.
fn refused_by(opcode: Opcode, text: &str) {
    let program = parse::program(text).unwrap();
    let offset = program.instructions.iter().find(|it| it.opcode() == opcode).unwrap().offset;
    assert_eq!(parse::error(text), LowerError::Unsupported { what: opcode.mnemonic().to_string(), offset });
}
