//! The containers among the test data. Included by unit tests and integration tests alike.

use std::path::{Path, PathBuf};

/// Every container file below `tests/data` with one of these extensions, by ascending path.
pub fn containers(extensions: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
                let bytes = std::fs::read(&path).expect("the file can be read");
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no {extensions:?} in the test data");
    files
}
