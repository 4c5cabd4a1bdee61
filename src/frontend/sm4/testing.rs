//! Help for tests: programs from text, signatures, and one invocation run.

use std::sync::LazyLock;

use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use shaderjit_ir::texture::{NoTextures, Textures};
use shaderjit_ir::verify::verify;

use super::decode::Program;
use super::lower;
use crate::container::Name;
use crate::container::dxbc::{
    FourCc, MinPrecision, Signature, SignatureElement, StoredType, SystemValue as StoredValue,
};
use crate::error::{DecodeError, LowerError};
use crate::frontend::{Lowered, sm4};

#[path = "../../../tests/support/assembler.rs"]
mod assembler;

pub use assembler::assemble;

/// The program part of a container, and its offset.
pub fn part(container: &[u8]) -> (&[u8], usize) {
    let dxbc = crate::container::Dxbc::parse(container).unwrap();
    let part = dxbc.part(FourCc::SHEX).or(dxbc.part(FourCc::SHDR)).unwrap();
    (part.data, part.data_offset())
}

/// The bytes of tokens.
pub fn bytes(tokens: &[u32]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.to_le_bytes()).collect()
}

/// A program of these tokens, `model` being the version token.
pub fn program_of(model: u32, tokens: &[u32]) -> Result<Program, DecodeError> {
    Program::decode(&bytes(&[&[model, tokens.len() as u32 + 2], tokens].concat()), 0)
}

/// A `vs_5_0` program of these tokens.
pub fn program(tokens: &[u32]) -> Result<Program, DecodeError> {
    program_of(0x0001_0050, tokens)
}

/// A signature with one element a register: semantic, register, mask, system value.
pub fn signature<'a>(elements: &[(&'a str, u32, u8, StoredValue)]) -> Signature<'a> {
    let elements = elements.iter().map(|&(semantic, register, mask, system_value)| SignatureElement {
        offset: 0,
        semantic: Name::new(semantic.as_bytes()),
        index: register,
        system_value,
        component_type: StoredType::U32,
        register: Some(register),
        mask,
        rw_mask: 0,
        stream: 0,
        min_precision: MinPrecision::DEFAULT,
    });
    Signature { part: FourCc::ISGN, elements: elements.collect() }
}

/// A signature of eight whole registers.
pub fn plain_signature() -> Signature<'static> {
    signature(&std::array::from_fn::<_, 8, _>(|register| ("E", register as u32, 0xf, StoredValue::NONE)))
}

/// Signatures of such ones, without patch constants.
pub fn plain_signatures() -> sm4::Signatures<'static> {
    static INPUTS: LazyLock<Signature<'static>> = LazyLock::new(plain_signature);
    static NONE: Signature<'static> = Signature { part: FourCc::PCSG, elements: Vec::new() };
    sm4::Signatures { inputs: &INPUTS, outputs: &INPUTS, patch_constants: &NONE }
}

/// Lowers a program with plain signatures, and verifies the function.
pub fn lower_program(program: &Program) -> Result<Lowered, LowerError> {
    let lowered = lower(program, &plain_signature(), &plain_signature())?;
    verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}\n{program}\n{}", lowered.function));
    Ok(lowered)
}

/// Assembles and lowers.
pub fn lower_text(text: &str) -> Result<Lowered, LowerError> {
    lower_program(&program(&assemble(text)).unwrap())
}

/// The error of a program, with its offset.
pub fn error(text: &str) -> LowerError {
    lower_text(text).map(|lowered| lowered.function.to_string()).unwrap_err()
}

/// Lowering says that a rule is broken.
pub fn is_invalid(text: &str, rule: &str) {
    match error(text) {
        LowerError::Invalid { what, .. } => assert!(what.contains(rule), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// Assembles and lowers a pixel shader.
pub fn lower_pixel(text: &str, inputs: &Signature<'_>, outputs: &Signature<'_>) -> Result<Lowered, LowerError> {
    let lowered = lower(&program_of(0x50, &assemble(text)).unwrap(), inputs, outputs)?;
    verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}\n{text}\n{}", lowered.function));
    Ok(lowered)
}

/// What one invocation sees.
#[derive(Default)]
pub struct Setup<'a> {
    /// Input elements.
    pub inputs: &'a [[u32; 4]],
    /// Uniform spaces.
    pub uniforms: &'a [&'a [[u32; 4]]],
    /// Resources.
    pub resources: &'a [&'a [u8]],
    /// Textures and samplers; none if nothing is bound.
    pub textures: Option<&'a dyn Textures>,
    /// Vertex and instance number.
    pub vertex: [u32; 2],
    /// Whether `fmad` rounds twice.
    pub unfused: bool,
}

/// Runs one invocation and returns the output elements.
pub fn run(lowered: &Lowered, setup: &Setup<'_>) -> Result<Vec<[u32; 4]>, InterpError> {
    let mut inputs = vec![[[0]; 4]; lowered.interface.inputs.len()];
    for (element, bound) in inputs.iter_mut().zip(setup.inputs) {
        *element = bound.map(|word| [word]);
    }
    let bindings = Bindings {
        inputs: &inputs,
        vertex_id: [setup.vertex[0]],
        instance_id: setup.vertex[1],
        uniforms: setup.uniforms,
        resources: setup.resources,
        textures: setup.textures.unwrap_or(&NoTextures),
    };
    let options = InterpOptions { fuel: 100_000.into(), fused: !setup.unfused };
    let mut interpreter = Interpreter::<1>::new(&lowered.function);
    let outputs = interpreter.run(&bindings, &options)?;
    Ok(outputs.iter().map(|element| element.map(|[word]| word)).collect())
}

/// Assembles, runs with `v0` and returns `o0`. Registers `r0` to `r7` and the constant buffer `cb0` are declared.
pub fn o0(text: &str, v0: [u32; 4]) -> [u32; 4] {
    let lowered = lower_text(&format!("dcl_temps 8\n{text}")).unwrap();
    run(&lowered, &Setup { inputs: &[v0], ..Setup::default() }).unwrap()[0]
}
