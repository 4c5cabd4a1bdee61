//! The library as C sees it: opaque handles, status codes, no panic across the border. `include/shaderjit.h` is made
//! of these files by cbindgen, comments included, and its introduction (`cbindgen.toml`) has the rules that a caller
//! keeps: they are what every `SAFETY` comment here refers to as the header's rules.
//!
//! | file | what it does |
//! |---|---|
//! | `status` | status codes, the last error of a thread, and the border that no panic crosses |
//! | `number` | enumerations that C passes as numbers |
//! | `pointers` | what C points to, as slices and strings |
//! | `shader` | files, their programs and listings |
//! | `engine` | engines, compilation, the cache |
//! | `code` | compiled shaders, and what there is to bind |
//! | `call` | bindings |
//! | `resource` | textures, samplers, buffers |
//! | `run` | vertices, indexed vertices, thread groups, and what they give |
//! | `pixels` | quads of pixels |
//! | `pica` | the shader unit of the Nintendo 3DS |
//!
//! A handle that C lends is an `Option<&T>` or `Option<&mut T>`, and one that it gives away an `Option<Box<T>>`: these
//! are pointers that may be null. So most functions are safe code. `unsafe` is only in `pointers.rs`, `call.rs`,
//! `code.rs`, `engine.rs`, `pica.rs`, `pixels.rs`, `resource.rs`, `run.rs`, `shader.rs`, `status.rs` and `tests.rs`,
//! most of which have nothing of it but names that the linker sees and calls of `pointers`.

#![allow(non_camel_case_types, reason = "the names are C's")]

mod call;
mod code;
mod engine;
mod number;
mod pica;
mod pixels;
mod pointers;
mod resource;
mod run;
mod shader;
mod status;
#[cfg(test)]
mod tests;

use status::Failure;
use std::mem::MaybeUninit;

/// Puts a new handle where C wants it.
fn give<T>(place: Option<&mut MaybeUninit<Option<Box<T>>>>, handle: T) -> Result<(), Failure> {
    place.ok_or(Failure::null("the place of the result"))?.write(Some(Box::new(handle)));
    Ok(())
}
