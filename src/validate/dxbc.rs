//! The layout of a DXBC container.

use super::{Findings, sm4};
use crate::container::Dxbc;
use crate::container::digest::DigestClass;
use crate::container::dxbc::{FourCc, Part};

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
    sm4::check(dxbc, findings);
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
