//! Bytes that a part may hold compressed: the sources in `SRCI` and the tables in `PDBI`.
//!
//! The part states how long they are when inflated. That is held against a limit that depends on the part's own size
//! before anything is allocated, exactly so much is allocated, and never more is written: what a few bytes can make
//! this crate do stays within bounds (see [`limits::inflated_bytes`]).

use std::borrow::Cow;
use std::iter;

use miniz_oxide::inflate::{TINFLStatus, decompress_slice_iter_to_slice};

use crate::container::limits;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;

open_code! {
    /// How bytes of a part are compressed.
    Compression(u16) {
        0 NONE "none",
        1 ZLIB "zlib",
    }
}

/// Positions of inflated bytes are given as if they lay here, where no container reaches: they have no offset in the
/// file.
const NOWHERE: usize = usize::MAX / 2;

/// Bytes of a part that it held compressed, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unpacked<'a> {
    pub(super) compression: Compression,
    pub(super) bytes: Cow<'a, [u8]>,
    /// Absolute offset of the bytes as they are stored.
    offset: usize,
}

/// What a part says of bytes it may hold compressed.
pub(super) struct Packing {
    /// How they are compressed.
    pub(super) compression: Compression,
    /// Absolute offset of that field.
    pub(super) compression_offset: usize,
    /// Bytes when inflated.
    pub(super) size: u32,
    /// Absolute offset of that field.
    pub(super) size_offset: usize,
    /// Bytes of the part's data.
    pub(super) part_bytes: usize,
}

impl<'a> Unpacked<'a> {
    /// Takes `stored` as it is, or inflates it.
    pub(super) fn new(stored: &Reader<'a>, packing: &Packing, what: &'static str) -> Result<Self, ContainerError> {
        let offset = stored.offset();
        let bytes = match packing.compression {
            Compression::NONE if stored.left() != packing.size as usize => {
                return Err(invalid("uncompressed size", packing.size.into(), packing.size_offset));
            }
            Compression::NONE => Cow::Borrowed(stored.rest()),
            Compression::ZLIB => {
                let limit = limits::inflated_bytes(packing.part_bytes);
                if packing.size as usize > limit {
                    let (value, limit) = (packing.size.into(), limit as u64);
                    return Err(over_limit("uncompressed size", value, limit, packing.size_offset));
                }
                let inflated = inflate(stored.rest(), packing.size as usize);
                Cow::Owned(inflated.map_err(|reason| ContainerError::Compressed { what, reason, offset })?)
            }
            Compression(other) => return Err(invalid("compression", other.into(), packing.compression_offset)),
        };
        Ok(Self { compression: packing.compression, bytes, offset })
    }

    /// A reader of the bytes. Its errors go through [`located`](Self::located).
    pub(super) fn reader(&self) -> Reader<'_> {
        match &self.bytes {
            Cow::Borrowed(bytes) => Reader::new(bytes, self.offset),
            Cow::Owned(bytes) => Reader::new(bytes, NOWHERE),
        }
    }

    /// An error that came from reading the bytes, with the offset of the compressed ones if they were.
    pub(super) fn located(&self, error: ContainerError) -> ContainerError {
        error.at(|offset| if offset >= NOWHERE { self.offset } else { offset })
    }
}

/// Inflates a zlib stream of exactly `size` bytes.
fn inflate(stored: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    let mut bytes = vec![0; size];
    match decompress_slice_iter_to_slice(&mut bytes, iter::once(stored), true, false) {
        Ok(written) if written == size => Ok(bytes),
        Ok(_) => Err("it is shorter than stated"),
        Err(TINFLStatus::HasMoreOutput) => Err("it is longer than stated"),
        Err(TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput) => Err("it is cut short"),
        Err(TINFLStatus::Adler32Mismatch) => Err("its checksum is wrong"),
        Err(_) => Err("it is damaged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;
    use miniz_oxide::deflate::compress_to_vec_zlib;

    const TEXT: &[u8] = b"float4 main() : SV_Target { return 0; } // 0 0 0 0 0 0 0 0 0 0 0 0 0";

    fn unpack(stored: &[u8], compression: u16, size: u32, part_bytes: usize) -> Result<Unpacked<'_>, ContainerError> {
        let packing = Packing {
            compression: Compression(compression),
            compression_offset: 0x10,
            size,
            size_offset: 0x14,
            part_bytes,
        };
        Unpacked::new(&Reader::new(stored, 0x20), &packing, "text")
    }

    #[test]
    fn stored_bytes_are_borrowed_and_compressed_ones_inflated() {
        let size = TEXT.len() as u32;
        let plain = unpack(TEXT, 0, size, 100).unwrap();
        assert!(matches!(plain.bytes, Cow::Borrowed(TEXT)));
        let stored = compress_to_vec_zlib(TEXT, 6);
        let inflated = unpack(&stored, 1, size, 100).unwrap();
        assert_eq!((inflated.compression, inflated.bytes.as_ref()), (Compression::ZLIB, TEXT));
    }

    #[test]
    fn the_stated_size_is_the_size() {
        let size = TEXT.len() as u32;
        let stored = compress_to_vec_zlib(TEXT, 6);
        let error = |reason| Err(ContainerError::Compressed { what: "text", reason, offset: 0x20 });
        assert_eq!(unpack(&stored, 1, size - 1, 100), error("it is longer than stated"));
        assert_eq!(unpack(&stored, 1, 0, 100), error("it is longer than stated"));
        assert_eq!(unpack(&stored, 1, size + 1, 100), error("it is shorter than stated"));
        assert_eq!(unpack(&stored[..stored.len() - 5], 1, size, 100), error("it is cut short"));
        assert_eq!(unpack(&[], 1, size, 100), error("it is cut short"));
        assert_eq!(unpack(TEXT, 1, size, 100), error("it is damaged"));
        let mut wrong = stored.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(unpack(&wrong, 1, size, 100), error("its checksum is wrong"));
        assert_eq!(unpack(TEXT, 0, size + 1, 100), Err(invalid("uncompressed size", u64::from(size) + 1, 0x14)));
        assert_eq!(unpack(TEXT, 2, size, 100), Err(invalid("compression", 2, 0x10)));
    }

    #[test]
    fn a_small_part_cannot_ask_for_much() {
        let limit = limits::inflated_bytes(1000);
        let size = limit as u32 + 1;
        assert_eq!(unpack(&[], 1, size, 1000), Err(over_limit("uncompressed size", size.into(), limit as u64, 0x14)));
        let zeros = vec![0; limit];
        let stored = compress_to_vec_zlib(&zeros, 9);
        assert!(stored.len() < 1000);
        assert_eq!(unpack(&stored, 1, limit as u32, 1000).unwrap().bytes.len(), limit);
        assert!(limits::inflated_bytes(usize::MAX) > limit);
    }

    #[test]
    fn errors_in_inflated_bytes_have_the_offset_of_the_compressed_ones() {
        let stored = compress_to_vec_zlib(&[1, 2, 3, 4], 6);
        for (unpacked, offset) in [(unpack(&stored, 1, 4, 100), 0x20), (unpack(&[1, 2, 3, 4], 0, 4, 100), 0x21)] {
            let unpacked = unpacked.unwrap();
            let mut reader = unpacked.reader();
            assert_eq!(reader.u8("a"), Ok(1));
            assert_eq!(unpacked.located(reader.u32("b").unwrap_err()), truncated("b", offset, 4, 3));
        }
    }
}
