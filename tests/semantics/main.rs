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

/// A valid program is refused as unsupported by the name and at the offset of an opcode.
fn refused_by(opcode: Opcode, source: &Source) {
    let expected = LowerError::Unsupported { what: opcode.mnemonic().to_string(), offset: source.offset(opcode) };
    assert_eq!(lower_error(source), expected);
}

/// Every one of these is refused by its name, in a valid program of the stage that it is for.
fn all_refused(opcodes: &[Opcode]) {
    opcodes.iter().for_each(|&opcode| refused_by(opcode, &support::opcodes::program_with(opcode)));
}
