//! Sources and arguments of a compilation (`SRCI`), as DXC keeps them with debug information (DirectXShaderCompiler,
//! `DxilContainer.h`, `DxilSourceInfo`).
//!
//! Sections of three types: names of the files, their contents (compressed as one), and the compiler's arguments.

use std::ops::Range;

use super::packed::{Compression, Packing, Unpacked};
use super::{FourCc, Part};
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// Bytes of the header of the part, and of a section.
const HEADER: u32 = 8;
/// Bytes of the fixed fields of a name entry, and of a content entry.
const NAME_ENTRY: u32 = 16;
const CONTENT_ENTRY: u32 = 12;

/// Types of sections.
const CONTENTS: u16 = 0;
const NAMES: u16 = 1;
const ARGUMENTS: u16 = 2;

/// An `SRCI` part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceInfo<'a> {
    names: Vec<SourceName<'a>>,
    /// The contents, and where that of each file lies in them.
    contents: Option<(Unpacked<'a>, Vec<Range<u32>>)>,
    /// The compiler's arguments.
    pub arguments: Arguments<'a>,
    /// Sections of other types, with those types.
    pub unknown: Vec<(u16, &'a [u8])>,
}

/// A source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    /// Its name, a path.
    pub name: Name<'a>,
    /// Its text; `None` if the part has no contents.
    pub text: Option<&'a [u8]>,
}

/// What the section of names says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SourceName<'a> {
    name: Name<'a>,
    /// Bytes of its text and the terminator, as stated with the name.
    size: u32,
    /// Absolute offset of that field.
    size_offset: usize,
}

impl<'a> SourceInfo<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::SRCI);
        let mut header = part.reader();
        let size_offset = header.offset();
        let size = header.u32("source information size")?;
        let mut sections = part.reader().range(0, size.into(), "source information")?;
        if size < HEADER {
            return Err(invalid("source information size", size.into(), size_offset));
        }
        sections.bytes(4, "source information size")?; // Read above.
        sections.u16("source information flags")?;
        let count = sections.u16("source section count")?;

        let (mut names, mut contents, mut arguments) = (None, None, None);
        let mut unknown = Vec::new();
        for _ in 0..count {
            let start = sections.offset();
            let (kind, section) = section(&mut sections)?;
            let repeated = match kind {
                CONTENTS => contents.replace(read_contents(section, part.data.len())?).is_some(),
                NAMES => names.replace(read_names(section)?).is_some(),
                ARGUMENTS => arguments.replace(Arguments::read(section)?).is_some(),
                _ => {
                    unknown.push((kind, section.rest()));
                    false
                }
            };
            if repeated {
                return Err(invalid("repeated source section", kind.into(), start));
            }
        }
        let info =
            Self { names: names.unwrap_or_default(), contents, arguments: arguments.unwrap_or_default(), unknown };
        info.check_contents(size_offset)?;
        Ok(info)
    }

    /// Names and contents are in the same order, and agree about sizes.
    fn check_contents(&self, offset: usize) -> Result<(), ContainerError> {
        let Some((_, texts)) = &self.contents else { return Ok(()) };
        if texts.len() != self.names.len() {
            return Err(invalid("source content count", texts.len() as u64, offset));
        }
        for (name, text) in self.names.iter().zip(texts) {
            if name.size as usize != text.len() + 1 {
                return Err(invalid("source size", name.size.into(), name.size_offset));
            }
        }
        Ok(())
    }

    /// How the contents are compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.contents.as_ref().map(|(unpacked, _)| unpacked.compression)
    }

    /// The source files; the first is the one that was compiled, the others what it includes.
    pub fn files(&self) -> impl ExactSizeIterator<Item = SourceFile<'_>> {
        self.names.iter().enumerate().map(|(i, name)| {
            let text = self.contents.as_ref().map(|(unpacked, texts)| {
                let Range { start, end } = texts[i];
                &unpacked.bytes[start as usize..end as usize]
            });
            SourceFile { name: name.name, text }
        })
    }
}

/// Takes the next section: its type, and what is behind its header.
fn section<'a>(sections: &mut Reader<'a>) -> Result<(u16, Reader<'a>), ContainerError> {
    let size_offset = sections.offset();
    let size = sections.u32("source section size")?;
    sections.u16("source section flags")?;
    let kind = sections.u16("source section type")?;
    let Some(length) = size.checked_sub(HEADER) else {
        return Err(invalid("source section size", size.into(), size_offset));
    };
    Ok((kind, sub_reader(sections, length, "source section")?))
}

/// A reader of the next `length` bytes, which `reader` passes over.
fn sub_reader<'a>(reader: &mut Reader<'a>, length: u32, what: &'static str) -> Result<Reader<'a>, ContainerError> {
    let start = reader.offset();
    // A length that does not fit is longer than any slice.
    let bytes = reader.bytes(usize::try_from(length).unwrap_or(usize::MAX), what)?;
    Ok(Reader::new(bytes, start))
}

/// Takes the next entry, which begins with its own size: a reader of what is behind that field.
fn entry<'a>(entries: &mut Reader<'a>, known: u32, what: &'static str) -> Result<Reader<'a>, ContainerError> {
    let size_offset = entries.offset();
    let size = entries.u32(what)?;
    if size < known {
        return Err(invalid(what, size.into(), size_offset));
    }
    sub_reader(entries, size - 4, what)
}

/// The next `size` bytes without the NUL they end with.
fn terminated<'a>(reader: &mut Reader<'a>, size: u32, what: &'static str) -> Result<&'a [u8], ContainerError> {
    let start = reader.offset();
    let bytes = reader.bytes(usize::try_from(size).unwrap_or(usize::MAX), what)?;
    match bytes.split_last() {
        Some((0, text)) => Ok(text),
        Some((&last, text)) => Err(invalid("source terminator", last.into(), start + text.len())),
        None => Err(invalid(what, 0, start)),
    }
}

/// Reads the names of the files.
fn read_names(mut section: Reader<'_>) -> Result<Vec<SourceName<'_>>, ContainerError> {
    section.u32("source name flags")?;
    let count_offset = section.offset();
    let count = section.u32("source count")?;
    // The size of the entries has only 16 bits, so that of many long names is wrong: the section says where they end.
    section.u16("source name size")?;
    if u64::from(count) * u64::from(NAME_ENTRY) > section.left() as u64 {
        return Err(invalid("source count", count.into(), count_offset));
    }
    let mut names = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut entry = entry(&mut section, NAME_ENTRY, "source name entry")?;
        entry.u32("source name flags")?;
        let name_size = entry.u32("source name size")?;
        let size_offset = entry.offset();
        let size = entry.u32("source size")?;
        let name = Name::new(terminated(&mut entry, name_size, "source name")?);
        entry.rest(); // Padding.
        names.push(SourceName { name, size, size_offset });
    }
    section.rest(); // Padding.
    Ok(names)
}

/// Reads the contents of the files.
fn read_contents(
    mut section: Reader<'_>,
    part_bytes: usize,
) -> Result<(Unpacked<'_>, Vec<Range<u32>>), ContainerError> {
    section.u32("source contents size")?; // 0 in what DXC writes.
    section.u16("source contents flags")?;
    let compression_offset = section.offset();
    let compression = Compression(section.u16("source compression")?);
    let stored = section.u32("source contents size")?;
    let size_offset = section.offset();
    let size = section.u32("source contents size")?;
    let count_offset = section.offset();
    let count = section.u32("source count")?;
    let stored = sub_reader(&mut section, stored, "source contents")?;
    section.rest(); // Padding.
    let packing = Packing { compression, compression_offset, size, size_offset, part_bytes };
    let unpacked = Unpacked::new(&stored, &packing, "source contents")?;
    if u64::from(count) * u64::from(CONTENT_ENTRY) > unpacked.bytes.len() as u64 {
        return Err(invalid("source count", count.into(), count_offset));
    }
    let texts = texts(unpacked.reader(), count).map_err(|error| unpacked.located(error))?;
    Ok((unpacked, texts))
}

/// Where the texts lie in the contents.
fn texts(mut entries: Reader<'_>, count: u32) -> Result<Vec<Range<u32>>, ContainerError> {
    let start = entries.offset();
    let mut texts = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut entry = entry(&mut entries, CONTENT_ENTRY, "source content entry")?;
        entry.u32("source content flags")?;
        let size = entry.u32("source content size")?;
        let at = (entry.offset() - start) as u32; // The contents' size has 32 bits.
        let text = terminated(&mut entry, size, "source content")?;
        texts.push(at..at + text.len() as u32);
    }
    Ok(texts)
}

/// Arguments of a compiler: names, and what they are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arguments<'a> {
    /// For each argument a name and a value, each with a terminator.
    bytes: &'a [u8],
    count: u32,
}

impl<'a> Arguments<'a> {
    fn read(mut section: Reader<'a>) -> Result<Self, ContainerError> {
        section.u32("argument flags")?;
        let size = section.u32("argument size")?;
        let count_offset = section.offset();
        let count = section.u32("argument count")?;
        let bytes = sub_reader(&mut section, size, "arguments")?.rest();
        section.rest(); // Padding.
        let strings = bytes.iter().filter(|&&byte| byte == 0).count();
        if strings as u64 != 2 * u64::from(count) || bytes.last().is_some_and(|&last| last != 0) {
            return Err(invalid("argument count", count.into(), count_offset));
        }
        Ok(Self { bytes, count })
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Names without a dash, such as `T`, and values, such as `vs_6_0`; empty if the argument takes none.
    pub fn iter(self) -> impl Iterator<Item = (Name<'a>, Name<'a>)> + use<'a> {
        let mut strings = self.bytes.split(|&byte| byte == 0).map(Name::new);
        (0..self.count).map_while(move |_| Some((strings.next()?, strings.next()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::limits;
    use crate::container::reader::{over_limit, truncated};
    use miniz_oxide::deflate::compress_to_vec_zlib;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x48;

    fn parse(data: &[u8]) -> Result<SourceInfo<'_>, ContainerError> {
        SourceInfo::parse(&Part { name: FourCc::SRCI, offset: BASE - 8, data })
    }

    fn bytes(dwords: &[u32]) -> Vec<u8> {
        dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
    }

    fn section_of(kind: u16, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let mut data = bytes(&[8 + padded as u32, u32::from(kind) << 16]);
        data.extend_from_slice(body);
        data.resize(8 + padded, 0);
        data
    }

    fn part_of(sections: &[Vec<u8>]) -> Vec<u8> {
        let size = 8 + sections.iter().map(Vec::len).sum::<usize>();
        let mut data = bytes(&[size as u32, (sections.len() as u32) << 16]);
        data.extend(sections.concat());
        data
    }

    /// Two names, of texts of 3 and 0 bytes.
    fn names() -> Vec<u8> {
        let mut body = bytes(&[0, 2]);
        body.extend(40u16.to_le_bytes());
        body.extend(bytes(&[20, 0, 3, 4]));
        body.extend_from_slice(b"ab\0\0");
        body.extend(bytes(&[20, 0, 2, 1]));
        body.extend_from_slice(b"c\0\0\0");
        section_of(NAMES, &body)
    }

    const ENTRIES: &[u8] = b"\x10\0\0\0\0\0\0\0\x04\0\0\0xyz\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";

    fn contents(compression: u16, entries: &[u8], size: u32, count: u32) -> Vec<u8> {
        let mut body = bytes(&[0, u32::from(compression) << 16, entries.len() as u32, size, count]);
        body.extend_from_slice(entries);
        section_of(CONTENTS, &body)
    }

    fn arguments(count: u32, text: &[u8]) -> Vec<u8> {
        let mut body = bytes(&[0, text.len() as u32, count]);
        body.extend_from_slice(text);
        section_of(ARGUMENTS, &body)
    }

    #[test]
    fn files_and_arguments() {
        let zlib = compress_to_vec_zlib(ENTRIES, 6);
        for (contents, compression) in
            [(contents(1, &zlib, 32, 2), Compression::ZLIB), (contents(0, ENTRIES, 32, 2), Compression::NONE)]
        {
            let data = part_of(&[names(), contents, arguments(2, b"T\0vs_6_0\0Zi\0\0"), section_of(9, b"new!")]);
            let info = parse(&data).unwrap();
            let files: Vec<_> = info.files().map(|file| (file.name.to_string(), file.text.unwrap())).collect();
            assert_eq!(files, [("ab".to_string(), b"xyz".as_slice()), ("c".to_string(), b"")]);
            let arguments: Vec<_> = info.arguments.iter().map(|(a, b)| format!("{a}={b}")).collect();
            assert_eq!((arguments, info.arguments.len()), (vec!["T=vs_6_0".to_string(), "Zi=".to_string()], 2));
            assert_eq!(info.unknown, [(9, b"new!".as_slice())]);
            assert_eq!(info.compression(), Some(compression));
        }
        let data = part_of(&[names()]);
        let info = parse(&data).unwrap();
        assert!(info.files().all(|file| file.text.is_none()));
        assert_eq!((info.compression(), info.arguments.is_empty()), (None, true));
    }

    #[test]
    fn sections_are_counted_and_sized() {
        let good = part_of(&[names(), arguments(0, b"")]);
        let error = |at: usize, value: u32| {
            let mut data = good.clone();
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&data).unwrap_err()
        };
        let size = good.len();
        assert_eq!(error(0, 7), invalid("source information size", 7, BASE));
        assert_eq!(error(0, size as u32 + 1), truncated("source information", BASE, size + 1, size));
        assert_eq!(error(4, 3 << 16), truncated("source section size", BASE + size, 4, 0));
        assert_eq!(error(8, 7), invalid("source section size", 7, BASE + 8));
        assert_eq!(error(8, u32::MAX), truncated("source section", BASE + 16, u32::MAX as usize - 8, size - 16));
        let data = part_of(&[names(), names()]);
        assert_eq!(parse(&data), Err(invalid("repeated source section", 1, BASE + 8 + names().len())));
    }

    #[test]
    fn each_bad_field_of_the_names_is_an_error_with_its_offset() {
        // The part's header, the section's, and ten bytes.
        let first = 8 + 8 + 10;
        let error = |at: usize, value: u32| {
            let mut data = part_of(&[names()]);
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&data).unwrap_err()
        };
        assert_eq!(error(20, 3), invalid("source count", 3, BASE + 20));
        assert_eq!(error(20, u32::MAX), invalid("source count", u32::MAX.into(), BASE + 20));
        assert_eq!(error(first, 15), invalid("source name entry", 15, BASE + first));
        assert_eq!(error(first, 60), truncated("source name entry", BASE + first + 4, 56, 38));
        assert_eq!(error(first + 8, 0), invalid("source name", 0, BASE + first + 16));
        assert_eq!(error(first + 8, 2), invalid("source terminator", u64::from(b'b'), BASE + first + 17));
        assert_eq!(error(first + 8, 5), truncated("source name", BASE + first + 16, 5, 4));
    }

    #[test]
    fn contents_agree_with_the_names() {
        let data = part_of(&[names(), contents(0, &ENTRIES[..16], 16, 1)]);
        assert_eq!(parse(&data), Err(invalid("source content count", 1, BASE)));
        let mut other = names();
        other[18 + 12] = 5;
        let data = part_of(&[other, contents(0, ENTRIES, 32, 2)]);
        assert_eq!(parse(&data), Err(invalid("source size", 5, BASE + 8 + 18 + 12)));
    }

    #[test]
    fn each_bad_field_of_the_contents_is_an_error_with_its_offset() {
        let parse_contents = |section: Vec<u8>| parse(&part_of(&[names(), section])).unwrap_err();
        let start = BASE + 8 + names().len() + 8;
        let max = u64::from(u32::MAX);
        assert_eq!(parse_contents(contents(0, ENTRIES, 33, 2)), invalid("uncompressed size", 33, start + 12));
        assert_eq!(parse_contents(contents(7, ENTRIES, 32, 2)), invalid("compression", 7, start + 6));
        assert_eq!(parse_contents(contents(0, ENTRIES, 32, u32::MAX)), invalid("source count", max, start + 16));
        let mut long = contents(0, ENTRIES, 32, 2);
        long[8 + 8] = 33;
        assert_eq!(parse_contents(long), truncated("source contents", start + 20, 33, 32));

        let entries = start + 20;
        let mut bad = ENTRIES.to_vec();
        bad[0] = 11;
        assert_eq!(parse_contents(contents(0, &bad, 32, 2)), invalid("source content entry", 11, entries));
        bad[0] = 16;
        bad[8] = 3;
        let error = invalid("source terminator", u64::from(b'z'), entries + 14);
        assert_eq!(parse_contents(contents(0, &bad, 32, 2)), error);
        // Inflated, the entries lie nowhere in the file.
        let zlib = compress_to_vec_zlib(&bad, 6);
        let error = invalid("source terminator", u64::from(b'z'), entries);
        assert_eq!(parse_contents(contents(1, &zlib, 32, 2)), error);

        let section = contents(1, &zlib, u32::MAX, 2);
        let limit = limits::inflated_bytes(8 + names().len() + section.len()) as u64;
        assert_eq!(parse_contents(section), over_limit("uncompressed size", max, limit, start + 12));
    }

    #[test]
    fn arguments_are_pairs() {
        let error = |count, text: &[u8]| parse(&part_of(&[arguments(count, text)])).unwrap_err();
        let start = BASE + 16;
        assert_eq!(error(2, b"a\0b\0"), invalid("argument count", 2, start + 8));
        assert_eq!(error(u32::MAX, b"a\0b\0"), invalid("argument count", u32::MAX.into(), start + 8));
        assert_eq!(error(1, b"a\0b\0c"), invalid("argument count", 1, start + 8));
        let mut data = part_of(&[arguments(0, b"")]);
        data[20] = 1;
        assert_eq!(parse(&data), Err(truncated("arguments", start + 12, 1, 0)));
    }
}
