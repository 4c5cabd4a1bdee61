//! A SPIR-V module as text.

use super::ListingOptions;
use crate::error::Error;
use crate::frontend::spirv::{Listing, Module};

/// The module as `spirv-dis` prints it.
pub(crate) fn spirv(module: &Module, options: ListingOptions) -> Result<String, Error> {
    Ok(Listing::new(module)?.text(options.offsets, options.raw))
}
