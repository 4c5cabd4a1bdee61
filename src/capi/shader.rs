//! Files, their programs and listings.

use super::give;
use super::pointers;
use super::status::{Failure, ended, shaderjit_status};
use crate::{ListingOptions, Shader, Stage};
use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;

/// A file with shaders. Threads may share it.
pub struct shaderjit_shader(pub(super) Shader);

/// The stage of the pipeline a program is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_stage {
    Vertex = 0,
    Pixel = 1,
    Geometry = 2,
    Hull = 3,
    Domain = 4,
    Compute = 5,
}

/// Reads a file of any kind that the library knows, told apart by its first bytes. The bytes are copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_shader_parse(
    bytes: *const c_void,
    length: usize,
    shader: Option<&mut MaybeUninit<Option<Box<shaderjit_shader>>>>,
) -> shaderjit_status {
    ended(|| {
        // SAFETY: the header's rules.
        let bytes = unsafe { pointers::bytes(bytes, length) }?;
        give(shader, shaderjit_shader(Shader::parse(bytes)?))
    })
}

/// Frees a shader. What was compiled of it stays.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_shader_free(shader: Option<Box<shaderjit_shader>>) {
    drop(shader);
}

/// How many programs a file has: one, but in files of the Nintendo 3DS. 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_shader_entries(shader: Option<&shaderjit_shader>) -> usize {
    shader.map_or(0, |shader| shader.0.entry_count())
}

/// The stage that a program is for.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_shader_stage(
    shader: Option<&shaderjit_shader>,
    entry: usize,
    stage: Option<&mut MaybeUninit<shaderjit_stage>>,
) -> shaderjit_status {
    ended(|| {
        let found = match shader.ok_or(Failure::null("the shader"))?.0.entry(entry)?.stage {
            Stage::Vertex => shaderjit_stage::Vertex,
            Stage::Pixel => shaderjit_stage::Pixel,
            Stage::Geometry => shaderjit_stage::Geometry,
            Stage::Hull => shaderjit_stage::Hull,
            Stage::Domain => shaderjit_stage::Domain,
            Stage::Compute => shaderjit_stage::Compute,
        };
        stage.ok_or(Failure::null("the place of the result"))?.write(found);
        Ok(())
    })
}

/// A program as its own disassembler prints it. The text is freed by `shaderjit_text_free`.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_shader_disassemble(
    shader: Option<&shaderjit_shader>,
    entry: usize,
    text: Option<&mut MaybeUninit<*mut c_char>>,
) -> shaderjit_status {
    ended(|| {
        let listing = shader.ok_or(Failure::null("the shader"))?.0.disassemble(entry, ListingOptions::default())?;
        let listing = CString::new(listing).map_err(|_| Failure::argument("the listing has a zero byte"))?;
        text.ok_or(Failure::null("the place of the result"))?.write(listing.into_raw());
        Ok(())
    })
}

/// Frees a text. Null is none.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the header's rules: it comes from this library, and is freed once.
        drop(unsafe { CString::from_raw(text) });
    }
}
