//! Two shaders of one stage compared that is no vertex or pixel shader: thread groups on the same memory, and made-up
//! primitives.

use super::drawn::report;
use super::elements::Listings;
use super::{Args, MADE_UP_PRIMITIVES};
use crate::alone;
use crate::bindings::Bindings;
use crate::groups::{Memory, element_text};
use crate::report::{Failure, Outcome};
use crate::stages::vertex_text;
use shaderjit::{Call, CompiledShader, TexelFormat};
use std::fmt::Write;

/// Whether both are compute shaders, or both run on primitives.
pub fn is_for([first, second]: [&CompiledShader; 2]) -> Result<bool, Failure> {
    let kind = |code: &CompiledShader| {
        (code.interface().thread_group.is_some(), code.interface().primitive.as_ref().map(std::mem::discriminant))
    };
    match (kind(first), kind(second)) {
        (a, b) if a != b => Err(Failure::input("the shaders are of different stages")),
        (kind, _) => Ok(kind.0 || kind.1.is_some()),
    }
}

/// Runs both on the same, and compares what they leave.
pub fn run(args: &Args, bindings: &Bindings, codes: [&CompiledShader; 2]) -> Outcome {
    let mut calls = [bindings.call_of_stage(None, codes[0])?, bindings.call_of_stage(None, codes[1])?];
    let texts = if codes[0].interface().thread_group.is_some() {
        let [first, second] = &mut calls;
        [groups(args, first)?, groups(args, second)?]
    } else {
        let work = alone::made_up(codes[0], MADE_UP_PRIMITIVES, args.seed, false);
        let work = work.ok_or_else(|| Failure::input("no primitives can be made up for the shader"))?;
        [primitives(&work, &calls[0])?, primitives(&work, &calls[1])?]
    };
    Ok(report(&Listings::new(texts.each_ref().map(String::as_str), args.ulp), args.json))
}

/// The memory that thread groups leave.
fn groups<'a>(args: &Args, call: &mut Call<'a>) -> Result<String, Failure> {
    let memory = args.draw.groups.memory()?;
    let mut call = call.clone();
    memory.iter().try_for_each(|memory| memory.bind_if_known(&mut call))?;
    call.dispatch(args.draw.groups.grid())?;
    drop(call);
    Ok(memory.iter().map(Memory::text).collect())
}

/// The tables that the stage makes of primitives: `stream 0 vertices 12`, then a line for each element of each.
fn primitives(work: &alone::Work, call: &Call<'_>) -> Result<String, Failure> {
    let mut text = String::new();
    for (name, table) in work.run(call)? {
        let _ = writeln!(
            text,
            "number of {name} {}",
            element_text(&(table.len() as u32).to_le_bytes(), Some(TexelFormat::R32Uint))
        );
        for (row, number) in (0..table.len()).flat_map(|row| (0..table.elements().len()).map(move |n| (row, n))) {
            let _ = writeln!(text, "{name} {row} {}", vertex_text(&table, row, number));
        }
    }
    Ok(text)
}
