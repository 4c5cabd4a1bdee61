//! Quads of pixels.

use super::call::shaderjit_call;
use super::give;
use super::pointers;
use super::run::shaderjit_outputs;
use super::status::{Failure, ended, shaderjit_status};
use crate::{Plane, Primitive, Quad, Quads};
use std::mem::MaybeUninit;

/// Shades quads of 2×2 pixels: four rows of outputs a quad, upper left, upper right, lower left, lower right. Waves of
/// several quads run in the order of the quads.
///
/// Each primitive has `shaderjit_code_planes` planes, one a component of its attributes, in the order of the input
/// signature. `samples` is how many a pixel of the target has: 1, 2, 4, 8 or 16.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_pixels(
    call: Option<&shaderjit_call>,
    quads: *const Quad,
    quad_count: usize,
    primitives: *const Primitive,
    primitive_count: usize,
    planes: *const Plane,
    plane_count: usize,
    samples: u32,
    outputs: Option<&mut MaybeUninit<Option<Box<shaderjit_outputs>>>>,
) -> shaderjit_status {
    ended(|| {
        // SAFETY: the header's rules.
        let (quads, primitives, planes) = unsafe {
            (
                pointers::many(quads, quad_count)?,
                pointers::many(primitives, primitive_count)?,
                pointers::many(planes, plane_count)?,
            )
        };
        let call = &call.ok_or(Failure::null("the call"))?.call;
        let rows = call.pixels(&Quads { quads, primitives, planes, samples })?;
        give(outputs, shaderjit_outputs::of_rows(rows))
    })
}
