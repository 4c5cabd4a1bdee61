//! The layout of a DXBC container.

use super::{Findings, sm4};
use crate::container::Dxbc;
use crate::container::digest::DigestClass;
use crate::container::dxbc::{FourCc, Part, PartContent};
use crate::frontend::d3d9;

/// Absolute offset of the digest.
const DIGEST: usize = 4;
/// Absolute offset of the file size.
const FILE_SIZE: usize = 24;
/// Absolute offset of the part index.
const INDEX: usize = 32;

pub(super) fn check(dxbc: &Dxbc<'_>, findings: &mut Findings) {
    digest(dxbc.digest_class(), findings);
    if dxbc.trailing() != 0 {
        findings.warning(FILE_SIZE, format_args!("{} bytes follow the container", dxbc.trailing()));
    }
    layout(dxbc, findings);
    names(dxbc.parts(), findings);
    level9(dxbc.parts(), findings);
    sm4::check(dxbc, findings);
}

/// The tokens of Direct3D 9 programs are such.
fn level9(parts: &[Part<'_>], findings: &mut Findings) {
    for part in parts {
        if let Ok(PartContent::Level9Program(program)) = part.content()
            && let Err(error) = d3d9::Program::from_container(&program)
        {
            findings.parse_error(error.offset(), &error);
        }
    }
}

fn digest(class: DigestClass, findings: &mut Findings) {
    match class {
        DigestClass::Retail => {}
        DigestClass::Mismatch => {
            findings.warning(DIGEST, format_args!("the digest is not that of the container's bytes"));
        }
        DigestClass::Zero => findings.note(DIGEST, format_args!("the container is unsigned")),
        DigestClass::Debug => findings.note(DIGEST, format_args!("the digest is one of a compiler's debug build")),
        DigestClass::Bypass | DigestClass::Preview => {
            findings.note(DIGEST, format_args!("the digest is the marker `{class}` and checks nothing"));
        }
    }
}

/// Parts follow each other without gaps, at multiples of four bytes, up to the end.
fn layout(dxbc: &Dxbc<'_>, findings: &mut Findings) {
    for part in dxbc.parts() {
        if !part.offset.is_multiple_of(4) {
            let offset = part.offset;
            findings.warning(offset, format_args!("part {} is not at a multiple of four bytes", part.name));
        }
        if !part.data.len().is_multiple_of(4) {
            let (offset, size) = (part.offset + 4, part.data.len());
            let name = part.name;
            findings.warning(offset, format_args!("the size of part {name}, {size}, is no multiple of four bytes"));
        }
    }
    if !dxbc.parts().is_sorted_by_key(|part| part.offset) {
        findings.warning(INDEX, format_args!("the index of parts is not in the order of the parts"));
    }
    let mut parts: Vec<&Part<'_>> = dxbc.parts().iter().collect();
    parts.sort_by_key(|part| part.offset);
    let mut end = INDEX + 4 * parts.len();
    for part in parts {
        if part.offset < end {
            findings.error(part.offset, format_args!("part {} begins inside of the one before it", part.name));
        }
        gap(dxbc.bytes(), end, part.offset, findings);
        end = end.max(part.data_offset() + part.data.len());
    }
    gap(dxbc.bytes(), end, dxbc.file_size(), findings);
}

/// What lies between `start` and `end`. Up to three zeros align a part.
fn gap(bytes: &[u8], start: usize, end: usize, findings: &mut Findings) {
    let Some(gap) = bytes.get(start..end) else { return };
    if gap.len() > 3 || gap.iter().any(|&byte| byte != 0) {
        findings.warning(start, format_args!("{} bytes belong to no part", gap.len()));
    }
}

fn names(parts: &[Part<'_>], findings: &mut Findings) {
    let mut seen = std::collections::HashSet::new();
    for (n, part) in parts.iter().enumerate() {
        if !seen.insert(part.name) {
            findings.warning(part.offset, format_args!("there is a part {} already, which counts", part.name));
        }
        if part.name == FourCc::PRIV && n + 1 != parts.len() {
            findings.warning(part.offset, format_args!("part PRIV is not the last"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Container;
    use crate::container::digest::{Digest, Signing};
    use crate::container::dxbc::Builder;
    use crate::validate::validate;

    /// Digest and padding are left out of what is tested elsewhere.
    fn found(file: &[u8]) -> Vec<String> {
        validate(&Container::parse(file).unwrap()).iter().map(ToString::to_string).collect()
    }

    fn two_parts() -> Vec<u8> {
        Builder::new().part(FourCc(*b"ABCD"), b"12345678").part(FourCc::PRIV, b"data").build(Signing::Retail).unwrap()
    }

    /// The file with some bytes replaced, signed anew.
    fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut file = two_parts();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Signing::Retail.sign(&mut file);
        file
    }

    #[test]
    fn digests_are_told() {
        let of = |signing: Signing| {
            let mut file = two_parts();
            signing.sign(&mut file);
            found(&file)
        };
        assert_eq!(of(Signing::Retail), [""; 0]);
        assert_eq!(of(Signing::Debug), ["note: the digest is one of a compiler's debug build (at offset 0x4)"]);
        let stored = |digest| of(Signing::Stored(digest));
        assert_eq!(stored(Digest::ZERO), ["note: the container is unsigned (at offset 0x4)"]);
        let bypass = "note: the digest is the marker `bypass` and checks nothing (at offset 0x4)";
        assert_eq!(stored(Digest::BYPASS), [bypass]);
        let wrong = "warning: the digest is not that of the container's bytes (at offset 0x4)";
        assert_eq!(stored(Digest([9; 16])), [wrong]);
    }

    #[test]
    fn parts_follow_each_other() {
        // The header and two offsets, then a part at 40 with 8 bytes and one at 56 with 4.
        assert_eq!(two_parts().len(), 68);
        let tail = [two_parts(), b"xyz".to_vec()].concat();
        assert_eq!(found(&tail), ["warning: 3 bytes follow the container (at offset 0x18)"]);
        let gap = patched(44, &[4, 0, 0, 0]);
        assert_eq!(found(&gap), ["warning: 4 bytes belong to no part (at offset 0x34)"]);
        let end = patched(60, &[0, 0, 0, 0]);
        assert_eq!(found(&end), ["warning: 4 bytes belong to no part (at offset 0x40)"]);
        let overlap = patched(44, &[12, 0, 0, 0]);
        assert_eq!(found(&overlap), ["error: part PRIV begins inside of the one before it (at offset 0x38)"]);
        let odd = patched(60, &[3, 0, 0, 0]);
        let size = "warning: the size of part PRIV, 3, is no multiple of four bytes (at offset 0x3c)";
        assert_eq!(found(&odd), [size, "warning: 1 bytes belong to no part (at offset 0x43)"]);
    }

    #[test]
    fn parts_are_aligned_and_in_order() {
        let order = patched(32, &[56, 0, 0, 0, 40, 0, 0, 0]);
        let index = "warning: the index of parts is not in the order of the parts (at offset 0x20)";
        assert_eq!(found(&order), [index, "warning: part PRIV is not the last (at offset 0x38)"]);
        // Shifted by one byte, with the size of the first part one less.
        let mut file = two_parts();
        file.remove(55);
        file.push(0);
        file[44] = 7;
        file[36] = 55;
        Signing::Retail.sign(&mut file);
        let expected = [
            "warning: the size of part ABCD, 7, is no multiple of four bytes (at offset 0x2c)",
            "warning: part PRIV is not at a multiple of four bytes (at offset 0x37)",
        ];
        assert_eq!(found(&file), expected);
    }

    #[test]
    fn names_are_not_repeated_and_private_data_is_last() {
        let file = Builder::new().part(FourCc::PRIV, b"").part(FourCc::PRIV, b"").build(Signing::Retail).unwrap();
        let expected = [
            "warning: part PRIV is not the last (at offset 0x28)",
            "warning: there is a part PRIV already, which counts (at offset 0x30)",
        ];
        assert_eq!(found(&file), expected);
    }

    #[test]
    fn malformed_parts_and_programs_are_errors() {
        let file = Builder::new().part(FourCc::ISGN, &[1, 0, 0, 0]).build(Signing::Retail).unwrap();
        assert_eq!(found(&file), ["error: signature element offset needs 4 bytes, 0 are left (at offset 0x30)"]);
        let program = [0x0001_0050u32, 3, 107 | 1 << 24].map(u32::to_le_bytes).concat();
        let file = Builder::new().part(FourCc::SHEX, &program).build(Signing::Retail).unwrap();
        assert_eq!(found(&file), ["error: opcode is invalid: 0x6b (at offset 0x34)"]);
    }
}
