//! What those are called who race each other.

use crate::engines::{NATIVE_NAMES, NATIVE_WAYS};

/// How many ways there are in which shaderjit runs something: on its interpreter, and on native code.
pub const OURS: usize = 1 + NATIVE_WAYS.len();

/// What contenders are called: shaderjit's [ways](OURS), then others.
pub const fn contenders<const OTHERS: usize, const ALL: usize>(others: [&'static str; OTHERS]) -> [&'static str; ALL] {
    assert!(ALL == OURS + OTHERS);
    let (mut names, mut at) = (["interpreter"; ALL], 1);
    while at < ALL {
        names[at] = if at < OURS { NATIVE_NAMES[at - 1] } else { others[at - OURS] };
        at += 1;
    }
    names
}
