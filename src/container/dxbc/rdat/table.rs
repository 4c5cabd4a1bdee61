//! Tables of records, and the check that every reference of a record leads somewhere.

use std::fmt;
use std::marker::PhantomData;

use super::RuntimeData;
use super::pool::Pools;
use crate::container::limits;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;

/// The number of a record in the table of `T`.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row<T> {
    number: u32,
    records: PhantomData<fn() -> T>,
}

// Derived implementations would require `T` to be `Copy` and `Clone` as well.
impl<T> Copy for Row<T> {}

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Row<T> {
    /// Record `number`.
    pub const fn new(number: u32) -> Self {
        Self { number, records: PhantomData }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.number
    }
}

impl<T> fmt::Debug for Row<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.number)
    }
}

/// Something a record consists of.
pub(super) trait Field<'a>: Sized {
    /// Bytes of its known part.
    const SIZE: u32;

    /// Reads it. References into the pools must lie inside them; what they lead to is left to `check`.
    fn read(record: &mut Reader<'a>, pools: &Pools<'a>, what: &'static str) -> Result<Self, ContainerError>;

    /// Follows its references.
    fn check(&self, check: &mut Check<'_, 'a>, what: &'static str) -> Result<(), ContainerError> {
        let _ = (check, what);
        Ok(())
    }
}

/// A record: what a table consists of.
pub(super) trait Record<'a>: Sized {
    /// Bytes of the shortest form of the record.
    const SIZE: u32;

    /// Reads it; the reader holds exactly one.
    fn read(record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError>;

    /// Follows its references.
    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError>;
}

/// A record that has a table, to which others refer by row.
pub(super) trait InTable<'a>: Sized {
    /// That table.
    fn table<'d>(data: &'d RuntimeData<'a>) -> &'d Table<'a, Self>;
}

/// A table of the records `T`. It borrows the part; a record is read when it is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Table<'a, T> {
    records: &'a [u8],
    /// Bytes from one record to the next; not 0.
    stride: usize,
    /// Absolute offset of `records`.
    offset: usize,
    pools: Pools<'a>,
    types: PhantomData<fn() -> T>,
}

impl<'a, T> Table<'a, T> {
    pub(super) const fn empty(pools: Pools<'a>) -> Self {
        Self { records: &[], stride: 1, offset: 0, pools, types: PhantomData }
    }

    /// How many records there are.
    pub const fn len(&self) -> usize {
        self.records.len() / self.stride
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl<'a, T> Table<'a, T> {
    /// Takes a table out of its sub-part.
    pub(super) fn new(mut data: Reader<'a>, pools: Pools<'a>) -> Result<Self, ContainerError>
    where
        T: Record<'a>,
    {
        let count = data.count("RDAT record count", limits::RDAT_RECORDS)?;
        let stride_offset = data.offset();
        let stride = data.u32("RDAT record stride")?;
        if count == 0 {
            return Ok(Self::empty(pools));
        }
        if stride < T::SIZE {
            return Err(invalid("RDAT record stride", stride.into(), stride_offset));
        }
        let table = data.range(8, u64::from(count) * u64::from(stride), "RDAT records")?;
        Ok(Self {
            offset: table.offset(),
            records: table.rest(),
            stride: stride as usize, // The records fit a slice, so one of them does.
            pools,
            types: PhantomData,
        })
    }

    /// Reads every record and follows its references.
    pub(super) fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError>
    where
        T: Record<'a>,
    {
        for i in 0..self.len() {
            check.record = self.offset + i * self.stride;
            self.read(i)?.check(check)?;
        }
        Ok(())
    }

    fn read(&self, i: usize) -> Result<T, ContainerError>
    where
        T: Record<'a>,
    {
        let start = i * self.stride;
        T::read(Reader::new(&self.records[start..][..self.stride], self.offset + start), &self.pools)
    }

    /// Record `i`, which is there.
    pub(super) fn record(&self, i: usize) -> T
    where
        T: Record<'a>,
    {
        self.read(i).expect("every record was read when the part was parsed")
    }
}

/// Follows references, and stops a file in which many records refer to one long array.
pub(super) struct Check<'d, 'a> {
    pub(super) data: &'d RuntimeData<'a>,
    /// Absolute offset of the record whose references are followed.
    pub(super) record: usize,
    /// References followed so far.
    followed: u64,
}

impl<'d, 'a> Check<'d, 'a> {
    pub(super) fn new(data: &'d RuntimeData<'a>) -> Self {
        Self { data, record: 0, followed: 0 }
    }

    /// Counts the work of following `count` references.
    pub(super) fn spend(&mut self, count: usize, what: &'static str) -> Result<(), ContainerError> {
        self.followed = self.followed.saturating_add(count as u64);
        if self.followed > limits::RDAT_REFERENCES {
            return Err(over_limit(what, self.followed, limits::RDAT_REFERENCES, self.record));
        }
        Ok(())
    }

    /// Row `number` of the table of `T`, named at absolute `offset`, must be there.
    pub(super) fn row<T: InTable<'a>>(
        &self,
        number: u32,
        what: &'static str,
        offset: usize,
    ) -> Result<(), ContainerError> {
        if number as usize >= T::table(self.data).len() {
            return Err(invalid(what, number.into(), offset));
        }
        Ok(())
    }
}
