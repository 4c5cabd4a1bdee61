//! Damaged containers: cut short at every length, or with any byte changed. Each ends in a result or in a typed error,
//! in memory proportional to the file.
//!
//! One test, since the allocator counts for the whole process.

#[path = "support/containers.rs"]
mod test_data;

use peak_alloc::PeakAlloc;
use shaderjit::container::Container;
use shaderjit::container::digest::Signing;
use shaderjit::container::dxbc::{self, Builder, FourCc};
use shaderjit::{ListingOptions, Shader};
use test_data::containers;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// What reading a container may allocate, for a file of `length` bytes.
fn allowance(length: usize) -> usize {
    16 * length + (1 << 20)
}

/// Reads all there is of a container: header, every part, every program's listing.
fn read(bytes: &[u8]) {
    let Ok(container) = Container::parse(bytes) else { return };
    container.listing();
    container.errors();
    let shader = Shader::parse(bytes).expect("the container parses");
    let _ = shader.digest();
    for entry in 0..shader.entry_count().min(4) {
        let _ = shader.disassemble(entry, ListingOptions::default().offsets(true).raw(true));
    }
}

/// Reads a container and holds it to its allowance.
fn check(bytes: &[u8], what: impl Fn() -> String) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    read(bytes);
    let used = HEAP.peak_usage() - before;
    assert!(used <= allowance(bytes.len()), "{}: {used} bytes for a file of {}", what(), bytes.len());
}

/// Where a `DXBC` container states its size.
const SIZE: std::ops::Range<usize> = 24..28;

#[test]
fn damaged_containers_end_in_a_result_or_an_error() {
    let files = containers(&["dxbc", "dxil", "shbin"]);
    for (path, bytes) in &files {
        for length in 0..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            check(&cut, || format!("{} cut to {length}", path.display()));
            // With the size set right, what is cut off is missed further in.
            if cut.starts_with(&dxbc::MAGIC) && length >= SIZE.end {
                cut[SIZE].copy_from_slice(&(length as u32).to_le_bytes());
                check(&cut, || format!("{} cut to {length}, size corrected", path.display()));
            }
        }
    }

    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        let (path, original) = &files[random.below(files.len())];
        bytes.clone_from(original);
        let (at, value) = (random.below(bytes.len()), random.below(256) as u8);
        bytes[at] = value;
        check(&bytes, || format!("{} with {value:#04x} at {at:#x}", path.display()));
    }

    check(&shared_tables(), || "executables with shared tables".to_owned());

    // Parts of nothing but counts and offsets that fit, so that tables overlap and share what they point to.
    let mut dwords = vec![0; 1 << 16];
    for &name in FourCc::KNOWN {
        for below in [2, 3, 16, 64, 256, 1024, 1 << 14, 1 << 18] {
            dwords.fill_with(|| random.below(below) as u32);
            // What readers look at first, so that some get further: sizes of the whole, first offsets, versions.
            let size = 4 * dwords.len() as u32;
            let headers = [[size, 8, size, 8], [24, 0, 4, 4], [16, 2, 16, 1024], [0; 4]];
            dwords[..4].copy_from_slice(&headers[random.below(headers.len())]);
            let data: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
            let container = Builder::new().part(name, &data).build(Signing::Retail).unwrap();
            check(&container, || format!("{name} of random numbers below {below}"));
        }
    }
}

/// A SHBIN of as many executables as there may be, which share the longest table of labels there may be, each with a
/// name.
fn shared_tables() -> Vec<u8> {
    const EXECUTABLES: u32 = 256;
    const LABELS: u32 = 4096;
    let start = 8 + 4 * EXECUTABLES;
    let mut dwords = vec![u32::from_le_bytes(*b"DVLB"), EXECUTABLES];
    dwords.extend((0..EXECUTABLES).map(|_| start + 40));
    dwords.extend([u32::from_le_bytes(*b"DVLP"), 0, 0x28, 0, 0x28, 0, 0, 0, 0, 0]);
    let symbols = 0x40 + 16 * LABELS;
    dwords.extend([u32::from_le_bytes(*b"DVLE"), 0, 0, 0, 0, 0, 0, 0, 0x40, LABELS, 0, 0, 0, 0, symbols, 8 * LABELS]);
    dwords.extend((0..LABELS).flat_map(|label| [1 << 16, label, u32::MAX, 8 * label]));
    let mut bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
    (0..LABELS).for_each(|label| bytes.extend(format!("name{label:03x}\0").bytes()));
    bytes
}

/// A sequence of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
