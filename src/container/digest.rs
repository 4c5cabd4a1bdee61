//! The digest in a `DXBC` header: MD5's compression function with a tail of its own.
//!
//! It covers the bytes from 20 (behind the digest itself) to the header's file size, gaps between parts included, and
//! not what lies behind the file size. Whole 64-byte blocks are hashed as in RFC 1321; the last ones differ from MD5 in
//! that a word computed from the length stands *before* the remaining bytes. Two constants make two variants: the
//! retail one of released compilers and the debug one of their internal builds. The openly licensed source of both is
//! `DxilHash.cpp` of the DirectXShaderCompiler.
//!
//! A digest is no identity: nobody checks it when a shader is loaded, all unsigned containers share one, and MD5
//! collisions are cheap. It is shown and looked up by, never trusted.

use std::fmt;
use std::ops::Range;

use md5::block_api::compress;

/// The bytes of a container that hold its digest.
const STORED: Range<usize> = 4..20;

/// First byte the digest covers.
const COVERED_FROM: usize = STORED.end;

/// MD5's initial state (RFC 1321, section 3.3).
const INITIAL_STATE: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Bytes of an MD5 block.
const BLOCK: usize = 64;

/// A 128-bit digest. Prints as 32 hexadecimal digits in byte order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// Unsigned: nobody computed a digest.
    pub const ZERO: Self = Self([0; 16]);
    /// The marker that asks a runtime to skip validation.
    pub const BYPASS: Self = Self([1; 16]);
    /// The marker of experimental shader models.
    pub const PREVIEW: Self = Self([2; 16]);

    /// The digest that released compilers and signing tools store for `covered`, the bytes from 20 to the file size.
    pub fn retail(covered: &[u8]) -> Self {
        let n = covered.len() as u32; // Lengths count modulo 2^32 by definition.
        Self::compute(covered, n.wrapping_mul(8), n.wrapping_mul(2) | 1)
    }

    /// The digest that internal builds of the compilers store for `covered`.
    pub fn debug(covered: &[u8]) -> Self {
        let n = covered.len() as u32;
        Self::compute(covered, n.wrapping_mul(16) | 0xf, n.wrapping_mul(4) | 0x1000_0000)
    }

    /// Hashes `covered` with the tail words `first`, which goes before the remaining bytes, and `last`, which ends the
    /// hash.
    fn compute(covered: &[u8], first: u32, last: u32) -> Self {
        let mut state = INITIAL_STATE;
        let (blocks, rest) = covered.as_chunks::<BLOCK>();
        compress(&mut state, blocks);

        // Without both words a block has room for 56 bytes, one of which is the 0x80 mark.
        let mut tail = [[0; BLOCK]; 2];
        if rest.len() < BLOCK - 8 {
            tail[0][..4].copy_from_slice(&first.to_le_bytes());
            tail[0][4..4 + rest.len()].copy_from_slice(rest);
            tail[0][4 + rest.len()] = 0x80;
            tail[0][BLOCK - 4..].copy_from_slice(&last.to_le_bytes());
            compress(&mut state, &tail[..1]);
        } else {
            tail[0][..rest.len()].copy_from_slice(rest);
            tail[0][rest.len()] = 0x80;
            tail[1][..4].copy_from_slice(&first.to_le_bytes());
            tail[1][BLOCK - 4..].copy_from_slice(&last.to_le_bytes());
            compress(&mut state, &tail);
        }

        let mut digest = [0; 16];
        for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
            *bytes = word.to_le_bytes();
        }
        Self(digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The digest to store in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signing {
    /// The retail hash: what a runtime expects.
    #[default]
    Retail,
    /// The debug hash.
    Debug,
    /// This digest, whatever the container holds: a marker such as [`Digest::ZERO`], or the one that was there.
    Stored(Digest),
}

impl Signing {
    /// The way to reproduce a container's digest when it is built anew from the same parts. A digest that is neither
    /// hash, but a marker or wrong, is stored again.
    pub fn of(stored: Digest, class: DigestClass) -> Self {
        match class {
            DigestClass::Retail => Self::Retail,
            DigestClass::Debug => Self::Debug,
            DigestClass::Zero | DigestClass::Bypass | DigestClass::Preview | DigestClass::Mismatch => {
                Self::Stored(stored)
            }
        }
    }

    /// Stores the digest in `container`, which must end at the header's file size; one without room for a digest is
    /// left as it is.
    pub fn sign(self, container: &mut [u8]) {
        let Some((head, covered)) = container.split_at_mut_checked(COVERED_FROM) else { return };
        let digest = match self {
            Self::Retail => Digest::retail(covered),
            Self::Debug => Digest::debug(covered),
            Self::Stored(digest) => digest,
        };
        head[STORED].copy_from_slice(&digest.0);
    }
}

/// What a stored digest turns out to be. Reported, never a reason to refuse a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DigestClass {
    /// It is the retail hash of the bytes.
    Retail,
    /// It is the debug hash of the bytes.
    Debug,
    /// All zero: unsigned.
    Zero,
    /// The marker that asks to skip validation.
    Bypass,
    /// The marker of experimental shader models.
    Preview,
    /// None of these: the container was changed after it was signed, or never properly signed.
    Mismatch,
}

impl DigestClass {
    /// Classes `stored`, the digest in the header of `container`, which ends at the header's file size.
    pub fn of(stored: Digest, container: &[u8]) -> Self {
        let covered = container.get(COVERED_FROM..).unwrap_or_default();
        match stored {
            Digest::ZERO => Self::Zero,
            Digest::BYPASS => Self::Bypass,
            Digest::PREVIEW => Self::Preview,
            _ if stored == Digest::retail(covered) => Self::Retail,
            _ if stored == Digest::debug(covered) => Self::Debug,
            _ => Self::Mismatch,
        }
    }

    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retail => "retail",
            Self::Debug => "debug",
            Self::Zero => "zero",
            Self::Bypass => "bypass",
            Self::Preview => "preview",
            Self::Mismatch => "mismatch",
        }
    }
}

impl fmt::Display for DigestClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (n, retail, debug) for the n bytes `7 * i + 3`; around every boundary of the tail.
    const VECTORS: [(usize, &str, &str); 9] = [
        (0, "140d60f6b775e2ba4e4abed401b2e9a1", "16804fd43fc91f11f6f788e4b776160e"),
        (12, "7d277edf78ef467bfd76fee624b2e254", "028b745618000e9eae89fc3afd368021"),
        (52, "6545b58bc2c3e510eed8f4229c833ec6", "5b9b107f995a55c84fcaa7882faf44cb"),
        (55, "9ab63592763f16cbf9faadc10871b3dc", "98b110def2a8578b1f7630d650439f54"),
        (56, "9631e575809c7fec27e1a79c6dbf0704", "7b89a8feebe3ebdd3da374007b560b5b"),
        (60, "a8a3346df1f739eb88368be821773c4d", "24f19b253f31c3a534c6a33cf0f3bbc8"),
        (63, "69c87038086b06ae036a445580d52800", "28e41be0792fa4d0a191752a7028c65f"),
        (64, "702b2563302d9691eda44cda5fef4b68", "c6c87c9f30eda9fdba3672436c884205"),
        (120, "71f04dacbba086d5aef734027044308c", "f710c6660889ad6268d737a9dc543d9f"),
    ];

    #[test]
    fn both_hashes_match_the_vectors() {
        for (n, retail, debug) in VECTORS {
            let data: Vec<u8> = (0..n).map(|i| (7 * i + 3) as u8).collect();
            assert_eq!(Digest::retail(&data).to_string(), retail, "retail of {n} bytes");
            assert_eq!(Digest::debug(&data).to_string(), debug, "debug of {n} bytes");
        }
    }

    #[test]
    fn what_is_signed_is_of_the_class_asked_for() {
        let mut container: Vec<u8> = (0..100).collect();
        for signing in [Signing::Retail, Signing::Debug, Signing::Stored(Digest::PREVIEW)] {
            signing.sign(&mut container);
            let stored = Digest(*container[4..].first_chunk().unwrap());
            let class = DigestClass::of(stored, &container);
            assert_eq!(Signing::of(stored, class), signing);
            assert_eq!((container[..4].to_vec(), container[20]), (vec![0, 1, 2, 3], 20));
        }
        let mut short = [9; 19];
        Signing::Retail.sign(&mut short);
        assert_eq!(short, [9; 19]);
    }

    #[test]
    fn each_class_is_told_from_the_others() {
        let container: Vec<u8> = (0..100).collect();
        let covered = &container[20..];
        let class = |stored| DigestClass::of(stored, &container).to_string();
        assert_eq!(class(Digest::retail(covered)), "retail");
        assert_eq!(class(Digest::debug(covered)), "debug");
        assert_eq!(class(Digest::ZERO), "zero");
        assert_eq!(class(Digest::BYPASS), "bypass");
        assert_eq!(class(Digest::PREVIEW), "preview");
        assert_eq!(class(Digest([3; 16])), "mismatch");
        assert_eq!(class(Digest::retail(&covered[1..])), "mismatch");
    }
}
