//! What the command line asks of a bench.

/// Whether an option is given.
pub fn said(option: &str) -> bool {
    std::env::args().any(|argument| argument == option)
}

/// Whether somebody wants to know times: `cargo bench` says `--bench`, `cargo test` does not.
pub fn times() -> bool {
    said("--bench") && !["--test", "--list", "--profile-time"].into_iter().any(said)
}
