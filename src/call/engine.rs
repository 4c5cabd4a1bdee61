//! The one place that makes a runner: native code or the interpreter, in memory that a thread keeps from call to call.

use super::bindings::Call;
use super::interpret::{Interpreted, interpret};
use super::native::{NativeMemory, NativeRunner};
use super::trace::runner::Traced;
use super::wave::{Bound, Driver};
use super::work::{Work, recycle};
use crate::error::CallError;
use crate::frontend::ResourceFile;
use crate::jit::Layout;
use crate::memory::GroupMemory;
use crate::native::Native;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::texture::Textures;
use std::cell::Cell;
use std::mem;

/// What a thread keeps, so that no call after the first allocates.
#[derive(Default)]
pub(super) struct Memory {
    work: Work<'static>,
    resources: Vec<&'static [u8]>,
    native: NativeMemory,
    /// For the layout of a call.
    pub layout: Layout,
}

thread_local! {
    /// In a box, so that a call takes a pointer and not all that it points to.
    static MEMORY: Cell<Option<Box<Memory>>> = const { Cell::new(None) };
}

/// Gives this thread's memory back, so that the next call has memory of its own size.
#[cfg(feature = "fuzzing")]
pub(crate) fn forget_memory() {
    drop(MEMORY.take());
}

/// Lends a call the thread's memory.
pub(super) fn with_memory<'a, R>(run: impl FnOnce(&mut Memory, &mut Work<'a>) -> R) -> R {
    // Taken, not borrowed: a texture of the caller's may run a shader itself.
    let mut memory = MEMORY.take().unwrap_or_default();
    let mut work: Work<'a> = mem::take(&mut memory.work);
    let result = run(&mut memory, &mut work);
    memory.work = work.recycle();
    MEMORY.set(Some(memory));
    result
}

impl<'a> Call<'a> {
    /// Has an engine driven with what is bound, which is checked: native code if there is some, else the interpreter.
    pub(super) fn drive(
        &self,
        native: Option<&Native>,
        fuel: Fuel<'_>,
        driver: impl Driver<'a>,
        memory: &mut Memory,
        work: &mut Work<'a>,
    ) -> Result<(), CallError> {
        let declared = &self.shader.interface().resources;
        if declared.iter().all(|decl| decl.file == ResourceFile::Resource) {
            return self.drive_asking(native, fuel, &self.textures, driver, memory, work);
        }
        let views = GroupMemory::new(&self.textures, &self.memory, declared);
        self.drive_asking(native, fuel, &views, driver, memory, work)
    }

    /// The same with something else to be asked for textures and memory.
    pub(super) fn drive_asking(
        &self,
        native: Option<&Native>,
        fuel: Fuel<'_>,
        textures: &dyn Textures,
        driver: impl Driver<'a>,
        memory: &mut Memory,
        work: &mut Work<'a>,
    ) -> Result<(), CallError> {
        if self.tracer.is_some() && !self.shader.prepared().can_be_traced() {
            return Err(CallError::Invalid("programs of SPIR-V are not traced".to_string()));
        }
        let mut resources: Vec<&[u8]> = mem::take(&mut memory.resources);
        resources.extend(self.resources.iter());
        let bound = Bound { call: self, resources: &resources, textures, fuel };
        let result = match (native, self.tracer) {
            (None, None) => interpret(bound, driver, work),
            (Some(native), None) => driver.drive(&mut NativeRunner::new(bound, native, &mut memory.native), work),
            (None, Some(tracer)) => driver.drive(&mut Traced::new(&mut Interpreted::new(bound), bound, tracer), work),
            (Some(native), Some(tracer)) => {
                let inner = &mut NativeRunner::new(bound, native, &mut memory.native);
                driver.drive(&mut Traced::new(inner, bound, tracer), work)
            }
        };
        memory.resources = recycle(resources);
        result
    }
}
