//! Finds containers inside any bytes: executables, archives, memory dumps.
//!
//! A container is found by its magic and reported if the tables that say how long it is are plausible; its parts are
//! not parsed. The time is linear in the number of bytes whatever they are: what a magic leads to is either skipped
//! whole or refused after looking at a few bytes for each byte of its own index.

use crate::ShaderFormat;
use crate::container::{Dvoj, Dxbc, Shbin, Vbc, dxbc, shbin};

/// A container somewhere in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Found {
    /// Byte offset of its magic.
    pub offset: usize,
    /// Its size in bytes; `offset + length` is within the file.
    pub length: usize,
    /// What it is.
    pub format: ShaderFormat,
}

impl Found {
    /// Its bytes in the file that was scanned.
    ///
    /// # Panics
    /// If `file` is another one, and shorter.
    pub fn bytes<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        &file[self.offset..self.offset + self.length]
    }
}

/// A kind of container that is found.
struct Kind {
    magic: [u8; 4],
    format: ShaderFormat,
    /// The size of the container that begins with the first byte, `None` if there is none. What it reads must be in
    /// proportion to an index of the container's own, so that many magics in a row cannot make a scan slow.
    measure: fn(&[u8]) -> Option<usize>,
}

/// Every kind.
const KINDS: [Kind; 4] = [
    Kind {
        magic: dxbc::MAGIC,
        format: ShaderFormat::Dxbc,
        measure: |bytes| Dxbc::parse(bytes).ok().map(|dxbc| dxbc.file_size()),
    },
    Kind {
        magic: shbin::MAGIC,
        format: ShaderFormat::Shbin,
        measure: |bytes| Shbin::parse(bytes).and_then(|shbin| shbin.extent()).ok(),
    },
    Kind {
        magic: shbin::DVOJ_MAGIC,
        format: ShaderFormat::Dvoj,
        measure: |bytes| Dvoj::parse(bytes).and_then(|dvoj| dvoj.extent()).ok(),
    },
    Kind { magic: *b"VBC\x01", format: ShaderFormat::Vbc, measure: |bytes| Vbc::extent(bytes).ok() },
];

/// The containers in `bytes`, by ascending offset. One that lies in the range of another, as in a part of it, is not
/// reported.
///
/// ```
/// use shaderjit::scan::scan;
///
/// let shader = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
/// let file = [b"an archive: ".as_slice(), shader, b", and a tail"].concat();
/// let found: Vec<_> = scan(&file).collect();
/// assert_eq!((found.len(), found[0].offset, found[0].bytes(&file)), (1, 12, shader.as_slice()));
/// ```
pub fn scan(bytes: &[u8]) -> impl Iterator<Item = Found> + '_ {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let magics = bytes.get(position..)?.windows(4);
            let (skipped, kind) = magics.enumerate().find_map(|(at, magic)| {
                let kind = KINDS.iter().find(|kind| kind.magic == magic)?;
                Some((at, kind))
            })?;
            let offset = position + skipped;
            if let Some(length) = (kind.measure)(&bytes[offset..]) {
                debug_assert!(length >= 4 && length <= bytes.len() - offset, "{length} bytes at {offset:#x}");
                position = offset + length;
                return Some(Found { offset, length, format: kind.format });
            }
            position = offset + 1;
        }
    })
}

/// A container that a file has the beginning of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Truncated {
    /// Byte offset of its magic.
    pub offset: usize,
    /// Its size in bytes, as its header says: more than the file has behind the magic.
    pub length: usize,
    /// What it is.
    pub format: ShaderFormat,
}

/// The `DXBC` containers that reach past the end of `bytes`, by ascending offset: those whose header and index of parts
/// are there, with names of parts that are known. What [`scan`] finds is not among them. Takes linear time, as `scan`.
///
/// ```
/// use shaderjit::scan::truncated;
///
/// let shader = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc"));
/// let found: Vec<_> = truncated(&shader[..shader.len() - 1]).collect();
/// assert_eq!((found[0].offset, found[0].length), (0, shader.len()));
/// ```
pub fn truncated(bytes: &[u8]) -> impl Iterator<Item = Truncated> + '_ {
    let magics = bytes.windows(4).enumerate().filter(|(_, magic)| *magic == dxbc::MAGIC);
    magics.filter_map(|(offset, _)| {
        let length = Dxbc::size_if_truncated(&bytes[offset..])?;
        Some(Truncated { offset, length, format: ShaderFormat::Dxbc })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::digest::Signing;
    use crate::container::dxbc::{Builder, FourCc};
    use crate::test_data::containers;

    fn file(path: &str) -> Vec<u8> {
        std::fs::read(format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// Random bytes without the letter that begins every magic (xorshift).
    fn filler(state: &mut u64) -> Vec<u8> {
        let mut next = || {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            *state
        };
        let length = next() % 300;
        (0..length).map(|_| next() as u8).filter(|&byte| KINDS.iter().all(|kind| kind.magic[0] != byte)).collect()
    }

    #[test]
    fn every_container_of_a_large_file_is_found() {
        let (mut bytes, mut expected, mut state) = (Vec::new(), Vec::new(), 0x9e37_79b9_7f4a_7c15);
        for (path, container) in containers(&["dxbc", "dxil", "shbin"]) {
            let is_shbin = path.extension().is_some_and(|extension| extension == "shbin");
            let format = if is_shbin { ShaderFormat::Shbin } else { ShaderFormat::Dxbc };
            bytes.extend(filler(&mut state));
            expected.push(Found { offset: bytes.len(), length: container.len(), format });
            bytes.extend(container);
        }
        bytes.extend(filler(&mut state));
        assert!(expected.len() >= 389, "{} containers", expected.len());
        assert!(expected.iter().any(|found| found.offset % 4 != 0));
        assert_eq!(scan(&bytes).collect::<Vec<_>>(), expected);
    }

    /// A VBC does not say where it ends; its reflection and SPIR-V do.
    #[test]
    fn every_vbc_is_found() {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for container in crate::container::vbc::tests::samples() {
            bytes.extend_from_slice(b"VBC between");
            expected.push(Found { offset: bytes.len(), length: container.len(), format: ShaderFormat::Vbc });
            bytes.extend(container);
        }
        assert_eq!(scan(&bytes).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_container_in_a_container_is_part_of_it() {
        let inner = file("dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc");
        let outer = Builder::new().part(FourCc::PRIV, &inner).build(Signing::Retail).unwrap();
        let found: Vec<_> = scan(&outer).collect();
        assert_eq!(found, [Found { offset: 0, length: outer.len(), format: ShaderFormat::Dxbc }]);
        // If the outer one is broken, the inner one is found.
        let cut = &outer[..outer.len() - 1];
        assert_eq!(scan(cut).count(), 0);
        let broken = [&outer[..20], &[9, 9], &outer[22..]].concat();
        let found: Vec<_> = scan(&broken).collect();
        assert_eq!(found, [Found { offset: 44, length: inner.len(), format: ShaderFormat::Dxbc }]);
    }

    #[test]
    fn a_container_without_its_end_is_said_to_have_one() {
        let whole = file("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
        for kept in [whole.len() - 1, whole.len() / 2, 200] {
            let bytes = [b"before", &whole[..kept]].concat();
            let expected = Truncated { offset: 6, length: whole.len(), format: ShaderFormat::Dxbc };
            assert_eq!((scan(&bytes).count(), truncated(&bytes).collect::<Vec<_>>()), (0, vec![expected]), "{kept}");
        }
        // Whole ones are not, nor are magics without an index of parts.
        assert_eq!(truncated(&whole).count(), 0);
        assert_eq!(truncated(&whole[..40]).count(), 0);
        assert_eq!(truncated(&[&b"DXBC"[..], &[0xff; 4000]].concat()).count(), 0);
    }

    #[test]
    fn magics_alone_are_not_containers() {
        for bytes in [b"".as_slice(), b"DXB", b"DXBC", b"DVLB", b"DXBCDXBCDVLBDVLB DXBC", b"VBC\x01\x01VBC\x01\x01"] {
            assert_eq!(scan(bytes).count(), 0);
        }
    }

    /// Nothing that looks like many containers takes more than linear time.
    #[test]
    fn hostile_files_are_scanned_to_their_end() {
        let dvlb: Vec<u8> = [u32::from_le_bytes(*b"DVLB"), 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        let dxbc = |count: u32| {
            let dwords = [u32::from_le_bytes(*b"DXBC"), 0, 0, 0, 0, 1, 1 << 20, count];
            dwords.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
        };
        let index: Vec<u8> = (0..1023u32).flat_map(|_| 8192u32.to_le_bytes()).collect();
        // SHBINs that share one long executable at the end.
        let mut shared = Vec::new();
        for at in (0..1 << 21).step_by(64) {
            let dwords = [u32::from_le_bytes(*b"DVLB"), 1, (1 << 21) - at, u32::from_le_bytes(*b"DVLP")];
            shared.extend(dwords.iter().flat_map(|word| word.to_le_bytes()));
            shared.extend([0; 48]);
        }
        shared.extend_from_slice(b"DVLE");
        shared.extend([0; 0x14]);
        for (offset, count) in [(0x40, 0), (0x40, 4096u32), (0x40, 256), (0x40, 0), (u32::MAX, 9)] {
            shared.extend(offset.to_le_bytes());
            shared.extend(count.to_le_bytes());
        }
        shared.extend(vec![b'x'; 1 << 17]);
        // A VBC of the longest lists, over and over: the header and the counts of one are records of another.
        let mut vbc = b"VBC\x01\x01\x01".to_vec();
        vbc.resize(25, 0);
        vbc.extend([0, 1, 0, 0]);
        vbc.resize(32, 0);
        let patterns =
            [b"DXBC".to_vec(), b"DVLB".to_vec(), dvlb, dxbc(1024), [dxbc(1024), index].concat(), shared, vbc];
        for pattern in patterns {
            let bytes: Vec<u8> = pattern.into_iter().cycle().take(4 << 20).collect();
            assert!(truncated(&bytes).count() <= bytes.len() / 32);
            // A scan that took more than linear time would not end; one that went back would find some twice.
            let mut end = 0;
            for found in scan(&bytes) {
                assert!(found.offset >= end, "{found:?} behind {end:#x}");
                end = found.offset + found.length;
            }
        }
    }

    #[test]
    fn what_is_found_lies_in_the_file_whatever_the_bytes() {
        let files = [file("dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc"), file("pica/t27_shared_a.shbin")];
        arbtest::arbtest(|u| {
            let mut bytes: Vec<u8> = Vec::new();
            for _ in 0..u.int_in_range(1..=4)? {
                bytes.extend(u.choose(&files)?);
                bytes.truncate(bytes.len() - u.int_in_range(0..=4)?);
                bytes.extend_from_slice(u.bytes(3)?);
            }
            for _ in 0..u.int_in_range(0..=4)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            let mut end = 0;
            for found in scan(&bytes) {
                assert!(found.offset >= end && !found.bytes(&bytes).is_empty());
                end = found.offset + found.length;
            }
            Ok(())
        })
        .budget_ms(500);
    }
}
