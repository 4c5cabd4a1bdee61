//! Transformations: one pass, one file, one public function.

mod expand;
mod params;
mod unreachable;

pub use expand::{Emit, ExpandOptions, expand, expansion};
pub use params::simplify_params;
pub use unreachable::remove_unreachable;

use thiserror::Error;

/// Why a pass refused a function. A defect of the pass is a panic in the verifier instead.
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
}
