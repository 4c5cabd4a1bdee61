//! The `shaderjit` command-line tool.
fn main() {}
