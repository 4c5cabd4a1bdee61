//! Texture accesses that native code calls: the caller's textures are Rust code, and so is the sampler that reads them.

use shaderjit_ir::texture::{self, Access, Rows, Textures};
use shaderjit_ir::{Resource, Sampler};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The textures of a call.
pub struct TextureArgs<'a> {
    textures: &'a dyn Textures,
    /// What a texture panicked with. No panic may cross native code, so it waits here for the call's end.
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl<'a> TextureArgs<'a> {
    pub fn new(textures: &'a dyn Textures) -> TextureArgs<'a> {
        TextureArgs { textures, panic: Cell::new(None) }
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

/// Bytes of [`encode`]'s first number.
const OP: u32 = 0;
const LANES: u32 = 1;
const COMPONENT: u32 = 2;
const OFFSETS: u32 = 3;

/// An access and a number of lanes as two numbers that native code passes on.
pub fn encode(access: &Access, lanes: usize) -> [u64; 2] {
    let op = texture::OPS.iter().position(|&op| op == access.op).expect("an access is of one of the ops");
    let at = |byte: u32, value: u8| u64::from(value) << (8 * byte);
    let offsets = (OFFSETS..).zip(access.offsets).fold(0, |bits, (byte, offset)| bits | at(byte, offset as u8));
    let what = at(OP, op as u8) | at(LANES, lanes as u8) | at(COMPONENT, access.component) | offsets;
    let sampler = access.sampler.map_or(u32::MAX, |sampler| sampler.as_u32());
    [what, u64::from(access.texture.as_u32()) | u64::from(sampler) << 32]
}

/// The reverse of [`encode`]; none if the numbers are no access.
fn decode([what, names]: [u64; 2]) -> Option<(Access, usize)> {
    let byte = |number: u32| (what >> (8 * number)) as u8;
    let (texture, sampler) = (names as u32, (names >> 32) as u32);
    let access = Access {
        op: *texture::OPS.get(usize::from(byte(OP)))?,
        texture: Resource::from_u32(texture),
        sampler: (sampler != u32::MAX).then(|| Sampler::from_u32(sampler)),
        offsets: std::array::from_fn(|axis| byte(OFFSETS + axis as u32) as i8),
        component: byte(COMPONENT),
    };
    let lanes = usize::from(byte(LANES));
    (lanes <= texture::LANES).then_some((access, lanes))
}

/// Answers an access, [encoded](encode): the answer replaces the first operand. Total: numbers that are no access do
/// nothing.
///
/// # Safety
/// `args` must point to the textures of the call that is running on this thread, and `rows` to rows that nothing else
/// accesses meanwhile. Words that the op does not have need not be initialised.
pub unsafe extern "C" fn access(args: *const TextureArgs<'_>, what: u64, names: u64, rows: *mut Rows) {
    let decoded = decode([what, names]);
    debug_assert!(decoded.is_some(), "{what:#x} {names:#x}");
    let Some((access, lanes)) = decoded else { return };
    // SAFETY: the caller vouches for the pointers. The words come from code the compiler does not know, so they have
    // some value, and those that the op does not have are not read.
    unsafe { (*args).access(&access, lanes, &mut *rows) }
}

/// Bytes of lane 0 of a word of an operand; the lanes follow.
pub const fn offset(operand: usize, word: usize) -> i32 {
    ((operand * 4 + word) * texture::LANES * size_of::<u32>()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::function::Imm;
    use shaderjit_ir::texture::NoTextures;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn accesses_survive_their_way_through_native_code() {
        for &op in &texture::OPS {
            for (sampler, offsets) in [(None, [0; 3]), (Some(Sampler::from_u32(7)), [-8, 7, -1])] {
                let access = Access { op, texture: Resource::from_u32(300), sampler, offsets, component: 3 };
                assert_eq!(decode(encode(&access, 8)), Some((access, 8)));
            }
        }
        assert_eq!(decode([0xff, 0]), None);
        assert_eq!(decode([9 << 8, 0]), None);
    }

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
        let args = TextureArgs::new(&failing);
        let imm = Imm::Resource(Resource::from_u32(0));
        let [what, names] = encode(&Access::new(shaderjit_ir::Op::TextureSize, imm).unwrap(), 4);
        let mut rows = Rows([[[9; 8]; 4]; 3]);
        for _ in 0..3 {
            // SAFETY: both are ours.
            unsafe { access(&raw const args, what, names, &raw mut rows) };
            assert_eq!(rows.get(0, 0), [0; 4]);
        }
        assert_eq!(failing.0.load(Ordering::Relaxed), 2);
        let panic = args.into_panic().unwrap();
        assert!(panic.downcast_ref::<String>().is_some_and(|message| message.contains("the texture fails")));
    }
}
