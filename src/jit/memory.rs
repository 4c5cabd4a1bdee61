//! Memory for code: the one place that makes bytes executable, and frees them.

use crate::error::JitError;
use cranelift_codegen::ir::Signature;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, ModuleError, default_libcall_names};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::slice;

/// The native code of one function, executable and not writable, freed on drop.
pub struct CodeMemory {
    /// Owns the pages. One module a function, because a module frees all of its code or none.
    module: ManuallyDrop<JITModule>,
    entry: NonNull<u8>,
    len: usize,
}

impl CodeMemory {
    /// Copies position-independent code without relocations into pages of its own.
    pub fn new(isa: &OwnedTargetIsa, signature: &Signature, code: &[u8], align: u64) -> Result<CodeMemory, JitError> {
        let module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
        // From here on the pages are freed however this function ends.
        let mut memory = CodeMemory { module: ManuallyDrop::new(module), entry: NonNull::dangling(), len: 0 };
        memory.entry = memory.load(signature, code, align).map_err(|error| JitError::Codegen(error.to_string()))?;
        memory.len = code.len();
        Ok(memory)
    }

    fn load(&mut self, signature: &Signature, code: &[u8], align: u64) -> Result<NonNull<u8>, Box<ModuleError>> {
        let id = self.module.declare_anonymous_function(signature)?;
        self.module.define_function_bytes(id, align, code, &[])?;
        self.module.finalize_definitions()?;
        let entry = self.module.get_finalized_function(id).cast_mut();
        Ok(NonNull::new(entry).expect("defined functions lie in mapped memory"))
    }

    /// The first instruction. Good while `self` lives.
    pub fn entry(&self) -> NonNull<u8> {
        self.entry
    }

    /// The code's bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `entry` is dangling with `len` 0, or the start of the `len` bytes that `load` put there. Their pages stay
        // mapped and readable until `drop`, and nothing writes them after `finalize_definitions`.
        unsafe { slice::from_raw_parts(self.entry.as_ptr(), self.len) }
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here. `entry` and `bytes` are only handed out for as long as `self` is borrowed,
        // so nobody can be running or reading the code now.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() }
    }
}

// SAFETY: after `new` the module is not touched before `drop`, which has it alone. What is shared is the code, which is
// immutable.
unsafe impl Sync for CodeMemory {}
// SAFETY: `JITModule` is `Send`; `entry` points into its pages, which belong to no thread.
unsafe impl Send for CodeMemory {}
