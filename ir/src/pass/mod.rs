//! Transformations: one pass, one file, one public function.

mod aliases;
mod carry;
mod compact;
mod dce;
mod expand;
mod fields;
mod fold;
mod guard_products;
mod gvn;
mod hoist;
mod if_convert;
mod lockstep;
mod order;
mod params;
mod ranges;
mod reduce;
mod returns;
mod retype;
mod straighten;
#[cfg(test)]
mod testing;
mod thread;
mod unreachable;
mod weigh;

pub(crate) use aliases::Aliases;
pub use carry::carry;
pub use compact::compact;
pub use dce::dce;
pub use expand::{Emit, ExpandOptions, expand, expansion};
pub(crate) use expand::{Writer, planned_expansion};
pub use fields::fields;
pub use fold::fold;
pub use guard_products::guard_products;
pub use gvn::gvn;
pub use hoist::hoist;
pub use if_convert::if_convert;
pub use lockstep::{MAX_DEPTH, MAX_WORK, lockstep};
pub use order::order;
pub(crate) use params::replace_params;
pub use params::simplify_params;
pub use ranges::ranges;
pub use reduce::make_reducible;
pub use returns::merge_returns;
pub use retype::retype;
pub(crate) use straighten::join_blocks;
pub use straighten::straighten;
pub use thread::thread;
pub use unreachable::remove_unreachable;
pub use weigh::weigh;

use crate::verify::VerifyErrors;
use thiserror::Error;

/// Why the passes refused a function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PassError {
    /// The function, or what the pass would make of it, is over a limit.
    #[error("{what} is {value}, over the limit of {limit}")]
    Limit {
        /// Which count.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value accepted.
        limit: u64,
    },
    /// Lanes cannot come to a barrier together: it is under a branch on which they may disagree.
    #[error("threads part before a barrier{}", .offset.map_or_else(String::new, |offset| format!(" (at offset {offset:#x})")))]
    DivergentBarrier {
        /// Byte offset of the source instruction, if it has one.
        offset: Option<u32>,
    },
    /// The time for the compilation is over.
    #[error("the compilation takes longer than it may")]
    OutOfTime,
    /// What the passes made breaks rules of the IR: a defect of one of them.
    #[error("the passes made an invalid function: {0}")]
    Invalid(#[from] VerifyErrors),
}

/// The most blocks the passes on control flow accept, what they add included: they take time in blocks times loops.
pub const MAX_BLOCKS: usize = 1 << 13;

/// An error if a count is over its limit.
fn limit(what: &'static str, value: usize, limit: usize) -> Result<(), PassError> {
    if value > limit { Err(PassError::Limit { what, value: value as u64, limit: limit as u64 }) } else { Ok(()) }
}
