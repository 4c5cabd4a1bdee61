//! What records consist of: numbers, and references into the three pools.

use std::fmt;
use std::marker::PhantomData;

use super::table::{Check, Field, InTable, Row};
use crate::container::dxbc::dwords::Dwords;
use crate::container::dxbc::{DxilResourceKind, FeatureFlags, Interpolation, SemanticKind, ShaderStage};
use crate::container::name::Name;
use crate::container::reader::{Reader, truncated};
use crate::error::ContainerError;

/// The reference to nothing.
const NULL: u32 = u32::MAX;

/// Strings, arrays of numbers and raw bytes that records refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pools<'a> {
    pub(super) strings: &'a [u8],
    pub(super) indices: Dwords<'a>,
    pub(super) raw: &'a [u8],
    /// Absolute offsets of the three.
    offsets: [usize; 3],
}

impl<'a> Pools<'a> {
    /// Pools of these sub-parts; what is not there is empty and lies at absolute offset `start`, where the part begins.
    pub(super) fn new(sub_parts: [Option<Reader<'a>>; 3], start: usize) -> Self {
        let sub_parts = sub_parts.map(|sub_part| sub_part.unwrap_or_else(|| Reader::new(&[], start)));
        let offsets = [sub_parts[0].offset(), sub_parts[1].offset(), sub_parts[2].offset()];
        let [strings, indices, raw] = sub_parts.map(|sub_part| sub_part.rest());
        Self { strings, indices: Dwords::new(indices), raw, offsets }
    }

    fn name(&self, offset: u32, what: &'static str) -> Result<Name<'a>, ContainerError> {
        Reader::new(self.strings, self.offsets[0]).name(offset, what)
    }

    /// A string of any length.
    fn text(&self, offset: u32, what: &'static str) -> Result<&'a [u8], ContainerError> {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        match rest.iter().position(|&byte| byte == 0) {
            Some(end) => Ok(&rest[..end]),
            None => {
                let at = self.offsets[0].saturating_add(offset as usize);
                Err(truncated(what, at, rest.len() + 1, rest.len()))
            }
        }
    }

    /// The array that begins at `start`, and its absolute offset.
    fn array(&self, start: u32, what: &'static str) -> Result<(Dwords<'a>, usize), ContainerError> {
        if start == NULL {
            return Ok((Dwords::default(), 0));
        }
        let start = start as usize;
        let offset = self.offsets[1].saturating_add(start.saturating_mul(4));
        let Some(count) = self.indices.get(start) else { return Err(truncated(what, offset, 4, 0)) };
        let (first, values_offset) = (start + 1, offset + 4);
        let count = count as usize;
        let values = self.indices.range(first, count);
        let left = 4 * (self.indices.len() - first);
        Ok((values.ok_or_else(|| truncated(what, values_offset, count.saturating_mul(4), left))?, values_offset))
    }

    /// Raw bytes.
    pub(super) fn bytes(&self, offset: u32, size: u32, what: &'static str) -> Result<Reader<'a>, ContainerError> {
        Reader::new(self.raw, self.offsets[2]).range(offset, size.into(), what)
    }
}

/// Fields that are one number: `type size method`, and how it becomes the type.
macro_rules! numbers {
    ($($type:ty, $size:literal, $method:ident, $from:expr;)*) => {
        $(
            impl<'a> Field<'a> for $type {
                const SIZE: u32 = $size;

                fn read(record: &mut Reader<'a>, _: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
                    record.$method(what).map($from)
                }
            }
        )*
    };
}

numbers! {
    u8, 1, u8, |value| value;
    u16, 2, u16, |value| value;
    u32, 4, u32, |value| value;
    ShaderStage, 4, u32, ShaderStage;
    DxilResourceKind, 4, u32, DxilResourceKind;
    super::ResourceClass, 4, u32, super::ResourceClass;
    super::LaunchType, 4, u32, super::LaunchType;
    SemanticKind, 1, u8, SemanticKind;
    Interpolation, 1, u8, Interpolation;
    super::DxilComponentType, 1, u8, super::DxilComponentType;
    FeatureFlags, 8, array, |bytes| FeatureFlags(u64::from_le_bytes(bytes));
}

impl<'a> Field<'a> for Name<'a> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        pools.name(record.u32(what)?, what)
    }
}

/// A string that may be longer than a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Field<'a> for Text<'a> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        pools.text(record.u32(what)?, what).map(Self)
    }

    fn check(&self, check: &mut Check<'_, 'a>, what: &'static str) -> Result<(), ContainerError> {
        // A byte that was passed over is less work than a reference.
        check.spend(self.0.len() / 16, what)
    }
}

/// Raw bytes.
impl<'a> Field<'a> for &'a [u8] {
    const SIZE: u32 = 8;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        let offset = record.u32(what)?;
        Ok(pools.bytes(offset, record.u32(what)?, what)?.rest())
    }
}

/// An array of numbers.
impl<'a> Field<'a> for Dwords<'a> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        pools.array(record.u32(what)?, what).map(|(values, _)| values)
    }
}

/// An array of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NameList<'a> {
    /// Offsets of the names in the pool of strings.
    offsets: Dwords<'a>,
    /// Absolute offset of those offsets.
    at: usize,
    pools: Pools<'a>,
}

impl<'a> NameList<'a> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Name<'a>> + use<'a> {
        let pools = self.pools;
        self.offsets.iter().map(move |offset| pools.name(offset, "name").expect("checked when the part was parsed"))
    }
}

impl fmt::Debug for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Field<'a> for NameList<'a> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        let (offsets, at) = pools.array(record.u32(what)?, what)?;
        Ok(Self { offsets, at, pools: *pools })
    }

    fn check(&self, check: &mut Check<'_, 'a>, what: &'static str) -> Result<(), ContainerError> {
        check.spend(self.len(), what)?;
        self.offsets.iter().try_for_each(|offset| self.pools.name(offset, what).map(drop))
    }
}

/// An array of rows of the table of `T`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rows<'a, T> {
    numbers: Dwords<'a>,
    /// Absolute offset of those numbers.
    at: usize,
    records: PhantomData<fn() -> T>,
}

impl<'a, T> Rows<'a, T> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The rows; the table has each.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<T>> + use<'a, T> {
        self.numbers.iter().map(Row::new)
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: InTable<'a>> Field<'a> for Rows<'a, T> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        let (numbers, at) = pools.array(record.u32(what)?, what)?;
        Ok(Self { numbers, at, records: PhantomData })
    }

    fn check(&self, check: &mut Check<'_, 'a>, what: &'static str) -> Result<(), ContainerError> {
        check.spend(self.len(), what)?;
        let mut numbers = self.numbers.iter().enumerate();
        numbers.try_for_each(|(i, number)| check.row::<T>(number, what, self.at + 4 * i))
    }
}

/// A row, or nothing.
impl<'a, T: InTable<'a>> Field<'a> for Option<Row<T>> {
    const SIZE: u32 = 4;

    fn read(record: &mut Reader<'a>, _: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError> {
        Ok(Some(record.u32(what)?).filter(|&number| number != NULL).map(Row::new))
    }

    fn check(&self, check: &mut Check<'_, 'a>, what: &'static str) -> Result<(), ContainerError> {
        match self {
            Some(row) => check.row::<T>(row.number(), what, check.record),
            None => Ok(()),
        }
    }
}
