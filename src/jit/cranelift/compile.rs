//! From a batch program to machine code by way of Cranelift.

use crate::error::JitError;
use crate::jit::back_end::{BackEnd, Origins, Selected, contained};
use crate::jit::{CodeInfo, Layout, Target, limits};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{CompiledCode, Context};
use cranelift_frontend::FunctionBuilderContext;
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::pressure;
use std::cell::RefCell;

/// The back end for every machine that Cranelift has: four lanes a vector.
pub struct Cranelift;

impl BackEnd for Cranelift {
    fn compile(&self, program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Selected, JitError> {
        with_contexts(|contexts| {
            let (info, compiled) = build_code(program, layout, target, false, contexts)?;
            let buffer = &compiled.buffer;
            // Code that could fault, or call out but through the one address it holds, is a defect of selection: it
            // must not run.
            if !buffer.traps().is_empty() || !buffer.relocs().is_empty() {
                return Err(JitError::Codegen("the code has traps or relocations".to_string()));
            }
            let stack_bytes = buffer.frame_layout().map_or(0, |frame| u64::from(frame.frame_to_fp_offset));
            Ok(Selected { bytes: compiled.code_buffer().to_vec(), stack_bytes, info })
        })
    }

    fn origins(&self, program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Origins, JitError> {
        with_contexts(|contexts| {
            let (_, compiled) = build_code(program, layout, target, true, contexts)?;
            let mut origins = Origins::new();
            let mut end = 0;
            for range in compiled.buffer.get_srclocs_sorted() {
                let origin = if range.loc.is_default() { None } else { Some(range.loc.bits()) };
                let gap = (end < range.start).then_some((end, None));
                for (start, origin) in gap.into_iter().chain([(range.start, origin)]) {
                    if origins.last().is_none_or(|&(_, last)| last != origin) {
                        origins.push((start, origin));
                    }
                }
                end = range.end;
            }
            let size = compiled.code_buffer().len() as u32;
            if end < size && origins.last().is_some_and(|&(_, last)| last.is_some()) {
                origins.push((end, None));
            }
            Ok(origins)
        })
    }
}

/// What Cranelift is given, as text.
pub fn text(program: &BatchProgram, layout: &Layout, target: &Target) -> Result<String, JitError> {
    with_contexts(|contexts| {
        build(program, layout, target, false, contexts)?;
        Ok(contexts.cranelift.func.display().to_string())
    })
}

/// Cranelift's working memory, which is dear to make anew for each small function.
struct Contexts {
    cranelift: Context,
    builder: FunctionBuilderContext,
}

thread_local! {
    static CONTEXTS: RefCell<Option<Box<Contexts>>> = const { RefCell::new(None) };
}

/// Lends the thread's contexts. They are dropped after a large function, and after an error or a panic: they may hold
/// half a function.
fn with_contexts<T>(f: impl FnOnce(&mut Contexts) -> Result<T, JitError>) -> Result<T, JitError> {
    let contexts = CONTEXTS.take();
    let mut contexts = contexts
        .unwrap_or_else(|| Box::new(Contexts { cranelift: Context::new(), builder: FunctionBuilderContext::new() }));
    let result = contained(|| f(&mut contexts))?;
    if contexts.cranelift.func.dfg.num_insts() <= limits::KEPT_INSTS {
        contexts.cranelift.clear();
        CONTEXTS.set(Some(contexts));
    }
    Ok(result)
}

fn build(
    program: &BatchProgram,
    layout: &Layout,
    target: &Target,
    origins: bool,
    contexts: &mut Contexts,
) -> Result<CodeInfo, JitError> {
    contexts.cranelift.func.signature = signature();
    super::emit(program, layout, target, origins, &mut contexts.cranelift.func, &mut contexts.builder)
}

fn build_code<'a>(
    program: &BatchProgram,
    layout: &Layout,
    target: &Target,
    origins: bool,
    contexts: &'a mut Contexts,
) -> Result<(CodeInfo, &'a CompiledCode), JitError> {
    let info = build(program, layout, target, origins, contexts)?;
    let is_large = contexts.cranelift.func.dfg.num_insts() > limits::THOROUGH_INSTS
        || pressure::is_over(program, limits::THOROUGH_AREA);
    let compiled = contexts
        .cranelift
        .compile(&**target.cranelift().select(is_large), &mut ControlPlane::default())
        .map_err(|error| JitError::Codegen(error.inner.to_string()))?;
    Ok((info, compiled))
}

/// `fn(*const BatchArgs, count: u32) -> u32`, by the System V convention on every x86-64 system: the caller is our
/// own assembly.
fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = [types::I64, types::I32].map(AbiParam::new).to_vec();
    signature.returns = vec![AbiParam::new(types::I32)];
    signature
}
