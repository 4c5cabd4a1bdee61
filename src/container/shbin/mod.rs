//! SHBIN, the container of Nintendo 3DS shaders (documented by 3dbrew; written by the assemblers picasso and nihstro).
//!
//! A `DVLB` header lists the executables; a `DVLP` with the program memory they share follows it at once; each `DVLE`
//! is one executable: entry point, constants, names. No sizes are stored, and offsets inside a `DVLP` or `DVLE` count
//! from its start.
//!
//! A [`Dvoj`] is a container of its own: the same data for one program, before linking.

mod dvle;
mod dvlp;
mod dvoj;
mod float24;
mod tables;
mod write;

pub use dvle::{Dvle, Geometry, GeometryMode, ShaderKind};
pub use dvlp::Dvlp;
pub use dvoj::{Dvoj, MAGIC as DVOJ_MAGIC, Object, SourceLine};
pub use float24::float24_to_f32;
pub use tables::{Constant, Label, OutputMapping, OutputSemantic, RegisterFile, RegisterRange, Uniform};
pub use write::write;

use super::limits;
use super::listing::PartInfo;
use super::reader::{Reader, invalid, over_limit, unknown_magic};
use crate::error::ContainerError;

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"DVLB";

/// Bytes of the `DVLB` header in front of the offsets.
const HEADER: u32 = 8;

/// A reader of the part at `offset`, which has no end of its own, once its magic is checked.
fn part<'a>(file: &'a [u8], offset: u32, magic: [u8; 4], what: &'static str) -> Result<Reader<'a>, ContainerError> {
    let file = Reader::new(file, 0);
    let length = file.len() as u64;
    let part = file.range(offset, length.saturating_sub(offset.into()), what)?;
    let found = part.clone().array(what)?;
    if found != magic {
        return Err(invalid(what, u32::from_le_bytes(found).into(), part.offset()));
    }
    Ok(part)
}

/// A SHBIN: the offsets of its parts, which are unread.
#[derive(Clone, Debug)]
pub struct Shbin<'a> {
    bytes: &'a [u8],
    dvlp: u32,
    dvles: Vec<u32>,
}

impl<'a> Shbin<'a> {
    /// Reads the `DVLB` header.
    ///
    /// # Errors
    /// The magic is not `DVLB`, or the table of offsets does not fit `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(unknown_magic(bytes));
        }
        let mut file = Reader::new(bytes, 0);
        file.array::<4>("DVLB magic")?;
        let count = file.count("DVLE count", limits::DVLES)?;
        let dvles = file
            .records(HEADER, count, 4, "DVLE offsets")?
            .map(|mut entry| entry.u32("DVLE offset"))
            .collect::<Result<_, _>>()?;
        Ok(Self { bytes, dvlp: HEADER + 4 * count, dvles })
    }

    /// The container's bytes. The format does not say where it ends, so these are all that were given.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of executables.
    pub fn dvle_count(&self) -> usize {
        self.dvles.len()
    }

    /// The program memory and operand descriptors that all executables share.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn dvlp(&self) -> Result<Dvlp<'a>, ContainerError> {
        Dvlp::parse(self.bytes, self.dvlp)
    }

    /// Executable `index`; `None` if there is no such one.
    ///
    /// # Errors
    /// The part is malformed, or it and those before it share so many tables that reading them all would cost more than
    /// a file of this size should.
    pub fn dvle(&self, index: usize) -> Result<Option<Dvle<'a>>, ContainerError> {
        let Some(&offset) = self.dvles.get(index) else { return Ok(None) };
        let bytes: u64 = self.dvles[..=index].iter().map(|&offset| Dvle::table_bytes(self.bytes, offset)).sum();
        let limit = self.bytes.len() as u64 + u64::from(limits::DVLE_SHARED_BYTES);
        if bytes > limit {
            return Err(over_limit("size of the tables of the DVLEs so far", bytes, limit, offset as usize));
        }
        Dvle::parse(self.bytes, offset).map(Some)
    }

    /// Bytes from the first to the last that belongs to the container: the format states no size, so it is where the
    /// last table ends, and up to three zeros behind it that make the size a multiple of four, as assemblers write
    /// them.
    ///
    /// Tables are located and not read, so this takes the same time for small and large ones.
    ///
    /// # Errors
    /// A part's header is malformed, or a table does not fit.
    pub fn extent(&self) -> Result<usize, ContainerError> {
        let mut end = Dvlp::end_of(self.bytes, self.dvlp)?;
        for &dvle in &self.dvles {
            end = end.max(Dvle::end_of(self.bytes, dvle)?);
        }
        let padding = self.bytes[end..].iter().take(end.next_multiple_of(4) - end);
        Ok(end + padding.take_while(|&&byte| byte == 0).count())
    }

    pub(super) fn listing(&self) -> Vec<PartInfo> {
        let dvlp = ("DVLP".to_string(), self.dvlp, "program memory and operand descriptors");
        let dvles = self.dvles.iter().enumerate();
        let dvles =
            dvles.map(|(i, &offset)| (format!("DVLE {i}"), offset, "executable: entry point, constants, names"));

        let mut starts: Vec<u32> = self.dvles.iter().copied().chain([self.dvlp]).collect();
        starts.sort_unstable();
        let rows = [dvlp].into_iter().chain(dvles);
        rows.map(|(name, start, meaning)| {
            let next = starts.get(starts.partition_point(|&other| other <= start));
            let end = next.map_or(self.bytes.len(), |&next| (next as usize).min(self.bytes.len()));
            let offset = start as usize;
            PartInfo { name, offset, size: end.saturating_sub(offset), meaning }
        })
        .collect()
    }

    pub(super) fn errors(&self) -> Vec<ContainerError> {
        let dvles = (0..self.dvle_count()).filter_map(|index| self.dvle(index).err());
        self.dvlp().err().into_iter().chain(dvles).collect()
    }
}

#[cfg(test)]
pub(super) use dvoj::tests::sample as dvoj_sample;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::{over_limit, truncated};

    #[test]
    fn sizes_in_the_listing_reach_to_the_next_part() {
        let mut file = b"DVLB\x03\0\0\0".to_vec();
        for offset in [40u32, 30, 40] {
            file.extend_from_slice(&offset.to_le_bytes());
        }
        file.resize(50, 0);
        let shbin = Shbin::parse(&file).unwrap();
        let rows: Vec<_> = shbin.listing().into_iter().map(|row| (row.name, row.offset, row.size)).collect();
        let expected = [("DVLP", 20, 10), ("DVLE 0", 40, 10), ("DVLE 1", 30, 10), ("DVLE 2", 40, 10)];
        assert_eq!(rows, expected.map(|(name, offset, size)| (name.to_string(), offset, size)));
    }

    #[test]
    fn a_malformed_part_is_an_error_of_that_part() {
        let mut file = b"DVLB\x02\0\0\0".to_vec();
        file.extend_from_slice(&100u32.to_le_bytes());
        file.extend_from_slice(&16u32.to_le_bytes());
        file.extend_from_slice(b"DVLX");
        let shbin = Shbin::parse(&file).unwrap();
        let magic = u32::from_le_bytes(*b"DVLX").into();
        assert_eq!(shbin.dvlp().unwrap_err(), invalid("DVLP magic", magic, 16));
        assert_eq!(shbin.dvle(0).unwrap_err(), truncated("DVLE magic", 100, 4, 0));
        assert_eq!(shbin.dvle(1).unwrap_err(), invalid("DVLE magic", magic, 16));
        assert_eq!(shbin.dvle(2), Ok(None));
        assert_eq!(shbin.errors().len(), 3);
    }

    /// As many executables as there may be, all at the same 0x40 bytes, which declare the largest tables there may be.
    #[test]
    fn shared_tables_cost_no_more_than_a_larger_file() {
        let header = 8 + 4 * limits::DVLES;
        let mut file = [MAGIC, limits::DVLES.to_le_bytes()].concat();
        (0..limits::DVLES).for_each(|_| file.extend(header.to_le_bytes()));
        let labels = limits::DVLE_LABELS;
        let words = [u32::from_le_bytes(*b"DVLE"), 0, 0, 0, 0, 0, 0, 0, 0x40, labels, 0, 0, 0, 0, 0x40, 1];
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.resize(file.len() + labels as usize * 16, 0);

        let shbin = Shbin::parse(&file).unwrap();
        let size = u64::from(labels) * 16 + 1;
        let limit = file.len() as u64 + u64::from(limits::DVLE_SHARED_BYTES);
        let affordable = (limit / size) as usize;
        assert!(affordable >= 4);
        let read: Vec<_> = (0..shbin.dvle_count()).map(|index| shbin.dvle(index)).collect();
        assert!(read[..affordable].iter().all(|dvle| dvle.as_ref().unwrap().as_ref().unwrap().labels.len() == 4096));
        let bytes = (affordable as u64 + 1) * size;
        let what = "size of the tables of the DVLEs so far";
        assert_eq!(read[affordable], Err(over_limit(what, bytes, limit, header as usize)));
        assert!(read[affordable..].iter().all(Result::is_err));
    }

    #[test]
    fn the_extent_is_that_of_the_tables() {
        let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
        let extent = |bytes: &[u8]| Shbin::parse(bytes).unwrap().extent();
        assert_eq!(extent(file), Ok(file.len()));
        assert_eq!(extent(&[file.as_slice(), &[0; 9]].concat()), Ok(file.len()));
        assert!(extent(&file[..file.len() - 4]).is_err());
        // Padding that is not there or not zero is not counted.
        let padding = file.iter().rev().take_while(|&&byte| byte == 0).count() - 1;
        assert!((1..4).contains(&padding), "{padding}");
        let bare = &file[..file.len() - padding];
        assert_eq!(extent(bare), Ok(bare.len()));
        assert_eq!(extent(&[bare, b"x"].concat()), Ok(bare.len()));
    }

    #[test]
    fn the_offset_table_must_fit() {
        assert_eq!(Shbin::parse(b"DVLB\x02\0\0\0abcd").unwrap_err(), truncated("DVLE offsets", 8, 8, 4));
        assert_eq!(Shbin::parse(b"DVLB\0\0\x01\0").unwrap_err(), over_limit("DVLE count", 65536, 256, 4));
        assert_eq!(Shbin::parse(b"DVLB").unwrap_err(), truncated("DVLE count", 4, 4, 0));
    }
}
