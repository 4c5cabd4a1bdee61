//! Texture accesses that native code calls: the caller's textures are Rust code, and so is the sampler that reads them.

use shaderjit_ir::texture::{self, Access, Rows, Textures};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The textures of a call.
pub struct TextureArgs<'a> {
    textures: &'a dyn Textures,
    /// The accesses that the code has.
    accesses: &'a [Access],
    /// What a texture panicked with. No panic may cross native code, so it waits here for the call's end.
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl<'a> TextureArgs<'a> {
    pub fn new(textures: &'a dyn Textures, accesses: &'a [Access]) -> TextureArgs<'a> {
        TextureArgs { textures, accesses, panic: Cell::new(None) }
    }

    /// What a texture panicked with during the call, if one did.
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        self.panic.into_inner()
    }

    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        let panic = self.panic.take();
        let result = match panic {
            None => catch_unwind(AssertUnwindSafe(|| self.textures.access(access, lanes, rows))),
            // The call's results do not matter any more; it only has to end.
            Some(panic) => Err(panic),
        };
        if let Err(panic) = result {
            self.panic.set(Some(panic));
            *rows = Rows::ZERO;
        }
    }
}

/// Answers one of the code's accesses for the first `lanes` lanes: the answer replaces the first operand. Total: a
/// number that is none does nothing.
///
/// # Safety
/// `args` must point to the textures of the call that is running on this thread, and `rows` to rows that nothing else
/// accesses meanwhile. Words that the op does not have need not be initialised.
pub unsafe extern "C" fn access(args: *const TextureArgs<'_>, number: u64, lanes: u64, rows: *mut Rows) {
    // SAFETY: the caller vouches for the pointers. The words come from code the compiler does not know, so they have
    // some value, and those that the op does not have are not read.
    let (args, rows) = unsafe { (&*args, &mut *rows) };
    debug_assert!((number as usize) < args.accesses.len() && lanes as usize <= texture::LANES);
    if let Some(access) = args.accesses.get(number as usize) {
        args.access(access, texture::LANES.min(lanes as usize), rows);
    }
}

/// Bytes of lane 0 of a word of an operand; the lanes follow.
pub const fn offset(operand: usize, word: usize) -> i32 {
    ((operand * 4 + word) * texture::LANES * size_of::<u32>()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::Resource;
    use shaderjit_ir::function::Imm;
    use shaderjit_ir::texture::NoTextures;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A texture that fails at its second access.
    #[derive(Debug)]
    struct Failing(AtomicU32);

    impl Textures for Failing {
        fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
            assert_eq!(self.0.fetch_add(1, Ordering::Relaxed), 0, "the texture fails");
            NoTextures.access(access, lanes, rows);
        }
    }

    #[test]
    fn a_panic_waits_for_the_end_of_the_call() {
        let failing = Failing(Default::default());
        let imm = Imm::Resource(Resource::from_u32(0));
        let accesses = [Access::new(shaderjit_ir::Op::TextureSize, imm).unwrap()];
        let args = TextureArgs::new(&failing, &accesses);
        let mut rows = Rows([[[9; texture::LANES]; 4]; texture::OPERANDS]);
        for _ in 0..3 {
            // SAFETY: both are ours.
            unsafe { access(&raw const args, 0, 4, &raw mut rows) };
            assert_eq!(rows.get(0, 0), [0; 4]);
        }
        assert_eq!(failing.0.load(Ordering::Relaxed), 2);
        let panic = args.into_panic().unwrap();
        assert!(panic.downcast_ref::<String>().is_some_and(|message| message.contains("the texture fails")));
    }
}
