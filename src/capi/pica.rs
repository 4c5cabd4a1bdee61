//! The shader unit of the Nintendo 3DS: register writes in, triangles out.

use super::engine::shaderjit_engine;
use super::give;
use super::pointers;
use super::status::{Failure, ended, shaderjit_status};
use crate::container::Shbin;
use crate::pica::{Triangles, Unit};
use crate::{Backend, FloatPrecision};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// A shader unit. One thread at a time may use it.
pub struct shaderjit_pica_unit(Unit);

/// What a draw gave.
pub struct shaderjit_pica_triangles(Triangles);

/// Gives so many bytes of memory from a physical address on, which stay as they are until the draw has ended, or null
/// where there is none. It must return: no exception, no `longjmp`.
pub type shaderjit_memory_function =
    Option<unsafe extern "C" fn(user: *mut c_void, address: u32, length: usize) -> *const c_void>;

/// Makes a unit, as after reset.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_new() -> Option<Box<shaderjit_pica_unit>> {
    Some(Box::new(shaderjit_pica_unit(Unit::new())))
}

/// Frees a unit.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_free(unit: Option<Box<shaderjit_pica_unit>>) {
    drop(unit);
}

fn of(unit: Option<&mut shaderjit_pica_unit>) -> Result<&mut Unit, Failure> {
    Ok(&mut unit.ok_or(Failure::null("the unit"))?.0)
}

/// Writes a register of the graphics processor. Whether it is one of the shader unit's; draws are none.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_write(unit: Option<&mut shaderjit_pica_unit>, register: u16, value: u32) -> bool {
    unit.is_some_and(|unit| unit.0.write_register(register, value))
}

/// Loads executables of a SHBIN as applications do: a vertex shader, and a geometry shader if its number is not
/// negative.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_bind(
    unit: Option<&mut shaderjit_pica_unit>,
    bytes: *const c_void,
    length: usize,
    vertex: usize,
    geometry: i64,
) -> shaderjit_status {
    ended(|| {
        // SAFETY: the header's rules.
        let shbin = Shbin::parse(unsafe { pointers::bytes(bytes, length) }?)?;
        Ok(of(unit)?.bind(&shbin, vertex, usize::try_from(geometry).ok())?)
    })
}

/// Whether numbers have 24 bits, as the hardware's, instead of 32; and whether the interpreter runs the shaders while a
/// thread of the engine makes native code.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_options(
    unit: Option<&mut shaderjit_pica_unit>,
    float24: bool,
    tiered: bool,
) -> shaderjit_status {
    ended(|| {
        let unit = of(unit)?;
        unit.set_numbers(if float24 { FloatPrecision::Float24 } else { FloatPrecision::Fast });
        unit.set_backend(if tiered { Backend::Tiered } else { Backend::Jit });
        Ok(())
    })
}

/// Draws what the registers say: with indices, as a write of 0x22f does, or without, as one of 0x22e. `memory` is asked
/// once for each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_unit_draw(
    unit: Option<&mut shaderjit_pica_unit>,
    engine: Option<&shaderjit_engine>,
    indexed: bool,
    memory: shaderjit_memory_function,
    user: *mut c_void,
    triangles: Option<&mut MaybeUninit<Option<Box<shaderjit_pica_triangles>>>>,
) -> shaderjit_status {
    ended(|| {
        let engine = &engine.ok_or(Failure::null("the engine"))?.0;
        let memory = memory.ok_or(Failure::null("the function"))?;
        let at = |address: u32, length: usize| {
            // SAFETY: the header's rules.
            let bytes = unsafe { memory(user, address, length) };
            // SAFETY: the function vouches for as many bytes.
            if bytes.is_null() { None } else { unsafe { pointers::bytes(bytes, length) }.ok() }
        };
        let unit = of(unit)?;
        let drawn = if indexed { unit.draw_elements(engine, at) } else { unit.draw_arrays(engine, at) }?;
        give(triangles, shaderjit_pica_triangles(drawn))
    })
}

/// Frees triangles.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_triangles_free(triangles: Option<Box<shaderjit_pica_triangles>>) {
    drop(triangles);
}

/// How many vertices there are; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_vertex_count(triangles: Option<&shaderjit_pica_triangles>) -> usize {
    triangles.map_or(0, |triangles| triangles.0.vertices.len() / crate::pica::OutputVertex::BYTES)
}

/// The vertices, 24 floats each: position (4), quaternion (4), colour (4), texture coordinates 0 and 1 (2 each), the
/// third component of coordinate 0, nothing, the way to the eye (3), nothing, texture coordinate 2. Valid as long as
/// the triangles.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_vertices(triangles: Option<&shaderjit_pica_triangles>) -> *const u8 {
    triangles.map_or(std::ptr::null(), |triangles| triangles.0.vertices.as_ptr())
}

/// How many triangles there are; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_triangle_count(triangles: Option<&shaderjit_pica_triangles>) -> usize {
    triangles.map_or(0, |triangles| triangles.0.indices.len())
}

/// The triangles: numbers of three vertices each. Valid as long as they are.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_pica_indices(triangles: Option<&shaderjit_pica_triangles>) -> *const u32 {
    triangles.map_or(std::ptr::null(), |triangles| triangles.0.indices.as_flattened().as_ptr())
}
