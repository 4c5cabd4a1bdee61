//! Parts → container.

use super::{FourCc, HEADER, MAGIC, PART_HEADER, Part};
use crate::container::digest::Signing;
use crate::container::limits;
use crate::container::reader::over_limit;
use crate::error::ContainerError;

/// Parts begin at multiples of this.
const ALIGNMENT: usize = 4;

/// Puts a `DXBC` container together: header, part index, and the parts in the order given, each at a multiple of four
/// bytes.
///
/// ```
/// use shaderjit::container::Dxbc;
/// use shaderjit::container::digest::{DigestClass, Signing};
/// use shaderjit::container::dxbc::{Builder, FourCc};
///
/// let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc"));
/// let parts = Dxbc::parse(file)?;
/// // The same container without its statistics.
/// let kept = parts.parts().iter().filter(|part| part.name != FourCc::STAT);
/// let smaller = kept.fold(Builder::new(), |builder, part| builder.part(part.name, part.data)).build(Signing::Retail)?;
/// assert_eq!(Dxbc::parse(&smaller)?.digest_class(), DigestClass::Retail);
/// # Ok::<(), shaderjit::error::ContainerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder<'a> {
    parts: Vec<(FourCc, &'a [u8])>,
}

impl<'a> Builder<'a> {
    /// A container without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part behind the others. A size that is no multiple of four is stored as it is, and zeros follow the data.
    #[must_use]
    pub fn part(mut self, name: FourCc, data: &'a [u8]) -> Self {
        self.parts.push((name, data));
        self
    }

    /// The bytes of the container, with its digest.
    ///
    /// # Errors
    /// [`Limit`](ContainerError::Limit) if there are more parts than a container may have, or it would be larger than
    /// one may be; the offset is that of the header's field.
    pub fn build(&self, signing: Signing) -> Result<Vec<u8>, ContainerError> {
        let limit = u64::from(limits::DXBC_PARTS);
        let count = u32::try_from(self.parts.len()).ok().filter(|&count| count <= limits::DXBC_PARTS);
        let count = count.ok_or_else(|| over_limit("DXBC part count", self.parts.len() as u64, limit, 28))?;

        let mut offsets = Vec::with_capacity(self.parts.len());
        let mut size = (HEADER + 4 * self.parts.len()) as u64;
        for (_, data) in &self.parts {
            offsets.push(size);
            size += (PART_HEADER as u64 + data.len() as u64).next_multiple_of(ALIGNMENT as u64);
        }
        if size > u64::from(limits::DXBC_BYTES) {
            return Err(over_limit("DXBC file size", size, limits::DXBC_BYTES.into(), 24));
        }

        let mut bytes = Vec::with_capacity(size as usize);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[0; 16]);
        let header = [1, size as u32, count];
        let dwords = header.into_iter().chain(offsets.iter().map(|&offset| offset as u32));
        bytes.extend(dwords.flat_map(u32::to_le_bytes));
        for &(FourCc(name), data) in &self.parts {
            bytes.extend_from_slice(&name);
            bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        }
        signing.sign(&mut bytes);
        Ok(bytes)
    }
}

impl<'a> Extend<Part<'a>> for Builder<'a> {
    fn extend<I: IntoIterator<Item = Part<'a>>>(&mut self, parts: I) {
        self.parts.extend(parts.into_iter().map(|part| (part.name, part.data)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::digest::{Digest, DigestClass};
    use crate::container::dxbc::Dxbc;

    #[test]
    fn parts_begin_at_multiples_of_four() {
        let file = Builder::new()
            .part(FourCc(*b"ODD1"), b"abcde")
            .part(FourCc::PRIV, b"")
            .part(FourCc(*b"ODD2"), b"x")
            .build(Signing::Retail)
            .unwrap();
        let dxbc = Dxbc::parse(&file).unwrap();
        let parts: Vec<_> = dxbc.parts().iter().map(|part| (part.name.0, part.offset, part.data)).collect();
        let expected =
            [(*b"ODD1", 44, b"abcde".as_slice()), (*b"PRIV", 60, b"".as_slice()), (*b"ODD2", 68, b"x".as_slice())];
        assert_eq!(parts, expected);
        assert_eq!((dxbc.file_size(), file.len()), (80, 80));
        assert_eq!(file[57..60], [0; 3]);
    }

    #[test]
    fn digests_of_every_class() {
        let build = |signing| {
            let file = Builder::new().part(FourCc::PRIV, b"data").build(signing).unwrap();
            Dxbc::parse(&file).unwrap().digest_class()
        };
        assert_eq!(build(Signing::Retail), DigestClass::Retail);
        assert_eq!(build(Signing::Debug), DigestClass::Debug);
        assert_eq!(build(Signing::Stored(Digest::ZERO)), DigestClass::Zero);
        assert_eq!(build(Signing::Stored(Digest::BYPASS)), DigestClass::Bypass);
        assert_eq!(build(Signing::Stored(Digest([7; 16]))), DigestClass::Mismatch);
    }

    #[test]
    fn a_container_has_so_many_parts() {
        let of = |count: u32| {
            (0..count).fold(Builder::new(), |builder, _| builder.part(FourCc::PRIV, b"")).build(Signing::Retail)
        };
        assert_eq!(Dxbc::parse(&of(limits::DXBC_PARTS).unwrap()).unwrap().parts().len(), 1024);
        assert_eq!(of(limits::DXBC_PARTS + 1), Err(over_limit("DXBC part count", 1025, 1024, 28)));
    }
}
