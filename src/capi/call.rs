//! Bindings of a run.

use super::code::shaderjit_code;
use super::pointers;
use super::resource::{shaderjit_buffer_view, shaderjit_memory_view, shaderjit_sampler, shaderjit_texture};
use super::status::{Failure, ended, shaderjit_status};
use crate::{Call, CompiledShader, VertexBufferView, VertexFormat};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// What is bound for runs of a shader. One thread at a time may bind; several may run it while none binds.
pub struct shaderjit_call {
    /// Borrows the code, and what the caller lends. Dropped before the code is.
    pub(super) call: Call<'static>,
    code: Arc<CompiledShader>,
}

/// Begins a call of a shader, with nothing bound. Null for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_new(code: Option<&shaderjit_code>) -> Option<Box<shaderjit_call>> {
    let code = Arc::clone(&code?.code);
    // SAFETY: the code is where the `Arc` points to as long as the `Arc` is there, which lies beside the call.
    let lent: &'static CompiledShader = unsafe { &*Arc::as_ptr(&code) };
    Some(Box::new(shaderjit_call { call: lent.call(), code }))
}

/// A call with the same bindings, for another thread to change. Null for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_clone(call: Option<&shaderjit_call>) -> Option<Box<shaderjit_call>> {
    call.map(|call| Box::new(shaderjit_call { call: call.call.clone(), code: Arc::clone(&call.code) }))
}

/// Frees a call. What was lent to it is the caller's again.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_free(call: Option<Box<shaderjit_call>>) {
    drop(call);
}

/// Runs what binds something to a call.
pub(super) fn bind(
    call: Option<&mut shaderjit_call>,
    run: impl FnOnce(&mut Call<'static>) -> Result<(), Failure>,
) -> shaderjit_status {
    ended(|| run(&mut call.ok_or(Failure::null("the call"))?.call))
}

/// Binds an input by its semantic: of vertex `i`, `stride * i` bytes from the first. Bytes are lent until the call is
/// freed or the input bound anew. The formats are those of `README.md`: `f32x3`, `unorm8x4`, `i16x2` and so on.
///
/// If `instances` is not 0, every so many instances share a row, and all vertices of an instance do.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_input(
    call: Option<&mut shaderjit_call>,
    semantic: *const c_char,
    index: u32,
    format: *const c_char,
    bytes: *const c_void,
    length: usize,
    stride: usize,
    instances: u32,
) -> shaderjit_status {
    bind(call, |call| {
        // SAFETY: the header's rules.
        let (semantic, format, bytes) =
            unsafe { (pointers::text(semantic)?, pointers::text(format)?, pointers::bytes(bytes, length)?) };
        let names = || VertexFormat::ALL.iter().map(|format| format.name());
        let format =
            VertexFormat::from_name(format).ok_or_else(|| Failure::no_name("vertex format", format, names()))?;
        let mut view = VertexBufferView::new(format, bytes, stride);
        if instances != 0 {
            view = view.per_instance(instances);
        }
        call.input(semantic, index, view)?;
        Ok(())
    })
}

/// Binds constant buffer `slot` of a register space (0 but in shader model 5.1). The bytes are copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_constant_buffer(
    call: Option<&mut shaderjit_call>,
    slot: u32,
    space: u32,
    bytes: *const c_void,
    length: usize,
) -> shaderjit_status {
    bind(call, |call| {
        // SAFETY: the header's rules.
        let bytes = unsafe { pointers::bytes(bytes, length) }?;
        call.constant_buffer_in_space(slot, space, bytes)?;
        Ok(())
    })
}

/// Sets a variable of a constant buffer, or a uniform of the Nintendo 3DS, by its name: all of its bytes as they lie in
/// the buffer. The bytes are copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_set(
    call: Option<&mut shaderjit_call>,
    name: *const c_char,
    bytes: *const c_void,
    length: usize,
) -> shaderjit_status {
    bind(call, |call| {
        // SAFETY: the header's rules.
        let (name, bytes) = unsafe { (pointers::text(name)?, pointers::bytes(bytes, length)?) };
        call.set_bytes(name, bytes)?;
        Ok(())
    })
}

/// Binds the float uniforms of a Nintendo 3DS program, from c0 on: four floats each, copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_pica_floats(
    call: Option<&mut shaderjit_call>,
    rows: *const [f32; 4],
    count: usize,
) -> shaderjit_status {
    bind(call, |call| {
        // SAFETY: the header's rules.
        call.pica_floats(unsafe { pointers::many(rows, count) }?)?;
        Ok(())
    })
}

/// Binds the integer uniforms of a Nintendo 3DS program, from i0 on: four bytes each, copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_pica_ints(
    call: Option<&mut shaderjit_call>,
    rows: *const [u8; 4],
    count: usize,
) -> shaderjit_status {
    bind(call, |call| {
        // SAFETY: the header's rules.
        call.pica_ints(unsafe { pointers::many(rows, count) }?)?;
        Ok(())
    })
}

/// Binds the bool uniforms of a Nintendo 3DS program, bit 0 = b0.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_pica_bools(call: Option<&mut shaderjit_call>, mask: u16) -> shaderjit_status {
    bind(call, |call| {
        call.pica_bools(mask)?;
        Ok(())
    })
}

/// Binds a buffer that is read (`t` registers). Its bytes are lent until the call is freed or the slot bound anew.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_buffer(
    call: Option<&mut shaderjit_call>,
    slot: u32,
    space: u32,
    view: Option<&shaderjit_buffer_view>,
) -> shaderjit_status {
    bind(call, |call| {
        call.buffer_in_space(slot, space, view.ok_or(Failure::null("the view"))?.view()?)?;
        Ok(())
    })
}

/// Binds a texture (`t` registers), lent until the call is freed or the slot bound anew.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_texture(
    call: Option<&mut shaderjit_call>,
    slot: u32,
    space: u32,
    texture: Option<&'static shaderjit_texture>,
) -> shaderjit_status {
    bind(call, |call| {
        call.texture_in_space(slot, space, &*texture.ok_or(Failure::null("the texture"))?.0)?;
        Ok(())
    })
}

/// Binds a sampler (`s` registers); its state is copied.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_sampler(
    call: Option<&mut shaderjit_call>,
    slot: u32,
    space: u32,
    sampler: Option<&shaderjit_sampler>,
) -> shaderjit_status {
    bind(call, |call| {
        call.sampler_in_space(slot, space, sampler.ok_or(Failure::null("the sampler"))?.state()?)?;
        Ok(())
    })
}

/// Binds memory that is written (`u` registers). Its buffers are lent until the call is freed or the slot bound anew.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_unordered_access(
    call: Option<&mut shaderjit_call>,
    slot: u32,
    space: u32,
    view: Option<&shaderjit_memory_view>,
) -> shaderjit_status {
    bind(call, |call| {
        call.unordered_access_in_space(slot, space, view.ok_or(Failure::null("the view"))?.view()?)?;
        Ok(())
    })
}

/// Whether what is not bound reads 0, instead of being an error of the run. Default: false.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_unbound_as_zero(call: Option<&mut shaderjit_call>, zero: bool) -> shaderjit_status {
    bind(call, |call| {
        call.unbound_as_zero(zero);
        Ok(())
    })
}

/// Sets what is added to the number of a vertex that the shader sees, and the number of the instance.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_numbers(
    call: Option<&mut shaderjit_call>,
    first_vertex: u32,
    instance: u32,
) -> shaderjit_status {
    bind(call, |call| {
        call.first_vertex_id(first_vertex).instance(instance);
        Ok(())
    })
}
