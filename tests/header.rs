//! `include/shaderjit.h` is what cbindgen makes of the sources. `BLESS=1` writes it.

use std::path::Path;

/// In the order in which a reader meets what they have.
const SOURCES: [&str; 10] = [
    "capi/status.rs",
    "capi/shader.rs",
    "capi/engine.rs",
    "capi/code.rs",
    "capi/call.rs",
    "capi/resource.rs",
    "capi/run.rs",
    "call/pixels/quad.rs",
    "capi/pixels.rs",
    "capi/pica.rs",
];

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let sources = SOURCES.iter().map(|source| root.join("src").join(source));
    let bindings = sources.fold(builder, |builder, source| builder.with_src(source)).generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let header = root.join("include/shaderjit.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    assert!(std::fs::read_to_string(&header).unwrap_or_default() == made, "run BLESS=1 cargo test --test header");
}
