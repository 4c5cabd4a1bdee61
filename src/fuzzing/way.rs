//! Every way in which native code is made.

use crate::{Lanes, Vectors};
use arbitrary::{Arbitrary, Unstructured};
use std::sync::LazyLock;

/// A back end with vectors of its width, and how many lanes run in lockstep: one vector a value, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The widest vectors.
    pub vectors: Vectors,
    /// The lanes of a wave.
    pub lanes: Lanes,
}

/// All that this machine has.
static WAYS: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let ways_of = |vectors: Vectors| {
        let of_one = u32::from(vectors.lanes());
        let lanes = Lanes::ALL.into_iter().filter(move |lanes| [of_one, 2 * of_one].contains(&lanes.count()));
        lanes.map(move |lanes| Way { vectors, lanes })
    };
    Vectors::of_this_machine().into_iter().flat_map(ways_of).collect()
});

impl Way {
    /// What belongs to the vectors, of one entry for [each that this machine has](Vectors::of_this_machine).
    pub fn of<T>(self, each: &[T]) -> &T {
        &each[self.vectors as usize]
    }
}

impl<'a> Arbitrary<'a> for Way {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Way> {
        u.choose(&WAYS).copied()
    }
}
