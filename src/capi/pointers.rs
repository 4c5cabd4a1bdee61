//! What C points to, as slices and strings.

use super::status::Failure;
use std::ffi::{CStr, c_char, c_void};

/// So many things from a pointer on, which may be null if there are none.
///
/// # Safety
/// The header's rules: what is not null points to as many things as is said, which stay as they are while they are
/// lent.
pub unsafe fn many<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Failure> {
    check(first, count)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller vouches for the things; the rest has been checked.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// As [`many`], to be written.
///
/// # Safety
/// As of [`many`], and nobody else uses them meanwhile.
pub unsafe fn many_mut<'a, T>(first: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    check(first, count)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the caller vouches for the things; the rest has been checked.
    Ok(unsafe { std::slice::from_raw_parts_mut(first, count) })
}

/// So many bytes.
///
/// # Safety
/// As of [`many`].
pub unsafe fn bytes<'a>(first: *const c_void, count: usize) -> Result<&'a [u8], Failure> {
    // SAFETY: the caller vouches for them.
    unsafe { many(first.cast(), count) }
}

/// So many bytes, to be written.
///
/// # Safety
/// As of [`many_mut`].
pub unsafe fn bytes_mut<'a>(first: *mut c_void, count: usize) -> Result<&'a mut [u8], Failure> {
    // SAFETY: the caller vouches for them.
    unsafe { many_mut(first.cast(), count) }
}

fn check<T>(first: *const T, count: usize) -> Result<(), Failure> {
    let is_there = !first.is_null() && first.is_aligned();
    if count > 0 && !is_there {
        return Err(Failure::argument("a pointer is null or not aligned, and is said to point to something"));
    }
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(()),
        _ => Err(Failure::argument("a count is larger than memory")),
    }
}

/// A string in UTF-8.
///
/// # Safety
/// The header's rules: what is not null points to a string with a zero at its end, which stays as it is while it is
/// lent.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null("a string"));
    }
    // SAFETY: the caller vouches for the string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument("a string is not UTF-8"))
}
