//! Status codes, the last error of a thread, and the border that no panic crosses.

use crate::error::{CallError, ContainerError, Error, JitError, LowerError, TextureError};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a function ended. Codes keep their numbers; later versions may add some.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_status {
    /// As wanted.
    Ok = 0,
    /// An argument is null, no string, unknown by name, or out of range.
    Argument = 1,
    /// The bytes are no container, or a damaged one.
    Container = 2,
    /// A program is malformed.
    Program = 3,
    /// A legal program uses something that this library does not run.
    Unsupported = 4,
    /// A program is too large, or compiling it took too long.
    Limit = 5,
    /// No native code could be made.
    Native = 6,
    /// A texture's sizes or bytes are wrong.
    Texture = 7,
    /// The shader has no such input, output, buffer, texture, sampler or variable.
    UnknownBinding = 8,
    /// Something the shader needs is not bound, or too short, or of the wrong kind.
    Binding = 9,
    /// A loop ran too long.
    OutOfFuel = 10,
    /// Any other error of a run.
    Run = 11,
    /// A defect of this library, or a function of the caller's threw. Nothing is to be relied on but that handles can
    /// be freed.
    Panic = 12,
}

/// Why a function failed.
pub enum Failure {
    Argument(String),
    Error(Error),
}

impl Failure {
    pub fn argument(message: impl Into<String>) -> Failure {
        Failure::Argument(message.into())
    }

    pub fn null(what: &str) -> Failure {
        Failure::Argument(format!("{what} is null"))
    }

    /// A name that is none of those there are.
    pub fn no_name<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
        Failure::Argument(format!("{name:?} is no {what}; there are {}", known.collect::<Vec<_>>().join(" ")))
    }

    fn status(&self) -> shaderjit_status {
        let Failure::Error(error) = self else { return shaderjit_status::Argument };
        match error {
            Error::Container(ContainerError::Limit { .. }) => shaderjit_status::Limit,
            Error::Container(_) => shaderjit_status::Container,
            Error::Lower(LowerError::Unsupported { .. }) => shaderjit_status::Unsupported,
            Error::Lower(LowerError::Limit { .. }) | Error::Pass(_) => shaderjit_status::Limit,
            Error::Decode(_) | Error::Lower(_) => shaderjit_status::Program,
            Error::Jit(_) => shaderjit_status::Native,
            Error::Texture(_) => shaderjit_status::Texture,
            Error::UnknownEntry { .. } => shaderjit_status::Argument,
            Error::Call(error) => match error {
                CallError::UnknownBinding { .. } => shaderjit_status::UnknownBinding,
                CallError::MissingBinding { .. }
                | CallError::OtherValues { .. }
                | CallError::ResourceMismatch { .. }
                | CallError::FormatMismatch { .. }
                | CallError::TypeMismatch { .. }
                | CallError::Texture { .. }
                | CallError::ShortBuffer { .. }
                | CallError::NoVertex { .. } => shaderjit_status::Binding,
                CallError::OutOfFuel { .. } | CallError::OutOfCallFuel => shaderjit_status::OutOfFuel,
                CallError::Compile(_) => shaderjit_status::Native,
                _ => shaderjit_status::Run,
            },
            #[cfg(feature = "raster")]
            Error::Raster(_) => shaderjit_status::Run,
        }
    }
}

macro_rules! from_errors {
    ($($error:ident),*) => {
        $( impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Error(error.into())
            }
        } )*
    };
}
from_errors!(Error, ContainerError, JitError, CallError, TextureError);

/// The last error of a thread.
#[derive(Default)]
struct Last {
    message: CString,
    offset: Option<usize>,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

fn remember(message: &str, offset: Option<usize>) {
    let message = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = Last { message, offset });
}

/// Runs what a function does, and says how it ended.
pub fn ended(run: impl FnOnce() -> Result<(), Failure>) -> shaderjit_status {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => shaderjit_status::Ok,
        Ok(Err(failure)) => {
            match &failure {
                Failure::Argument(message) => remember(message, None),
                Failure::Error(error) => remember(&error.to_string(), error.offset()),
            }
            failure.status()
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            remember(text, None);
            shaderjit_status::Panic
        }
    }
}

/// What was wrong when a function of this thread last failed, in English, without a full stop. Empty if none has. Valid
/// until the next one fails.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_error_message() -> *const c_char {
    LAST.with_borrow(|last| last.message.as_ptr())
}

/// The byte of the file that caused the last error of this thread, from the first of what was parsed; -1 if no single
/// one did.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_error_offset() -> i64 {
    LAST.with_borrow(|last| last.offset.map_or(-1, |offset| offset as i64))
}

/// The version of the library, `1.2.3`. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
