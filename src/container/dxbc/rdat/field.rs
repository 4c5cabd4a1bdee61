//! What records consist of: numbers, and references into the three pools.

use std::fmt;
use std::marker::PhantomData;

use super::pool::{NULL, Pools};
use super::table::{Check, Field, InTable, Row};
use crate::container::dxbc::dwords::Dwords;
use crate::container::dxbc::{DxilResourceKind, FeatureFlags, Interpolation, SemanticKind, ShaderStage};
use crate::container::name::Name;
use crate::container::reader::Reader;
use crate::error::ContainerError;

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
