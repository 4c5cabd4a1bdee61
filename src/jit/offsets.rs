//! Offsets of lanes that code keeps in memory: a vector is stored once, and each lane's offset loaded where its address
//! is used.

use shaderjit_ir::{Space, Value};

/// How many vectors of offsets are kept at a time.
pub const SLOTS: usize = 16;

/// Offsets in memory: the slot they are in. They stay there until [`SLOTS`] others are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeptOffsets(usize);

impl KeptOffsets {
    /// The number of the slot, below [`SLOTS`].
    pub fn slot(self) -> usize {
        self.0
    }
}

/// Whose offsets they are: a space, what is added to the index, and the index.
type Key = (Space, u32, Value);

/// What the slots hold.
#[derive(Default)]
pub struct OffsetSlots {
    keys: [Option<Key>; SLOTS],
    next: usize,
}

impl OffsetSlots {
    /// The slot that holds these offsets.
    pub fn find(&self, key: Key) -> Option<KeptOffsets> {
        self.keys.iter().position(|&kept| kept == Some(key)).map(KeptOffsets)
    }

    /// A slot for other ones: the one whose offsets have been there longest.
    pub fn take(&mut self) -> KeptOffsets {
        let slot = self.next;
        self.next = (slot + 1) % SLOTS;
        self.keys[slot] = None;
        KeptOffsets(slot)
    }

    /// Says whose offsets those are that a slot was taken for.
    pub fn name(&mut self, kept: KeptOffsets, key: Key) {
        self.keys[kept.0] = Some(key);
    }
}
