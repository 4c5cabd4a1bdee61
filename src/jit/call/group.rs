//! Thread groups on native code: all waves of a group in one call, which nothing runs again, and many groups in a row.
//! It has neither inputs nor outputs; lanes behind the last thread repeat it and write nothing.

use super::bind::space_args;
use super::fills::SlotFill;
use super::{Batch, Ended, Progress, Row, Scratch, Span, UniformRows};
use crate::error::CallError;
use crate::jit::Code;
use crate::jit::abi::SpaceArgs;
use crate::jit::series::{Cleared, Fresh};
use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::memory::MemoryKind;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// Groups that run in a row, at most.
const IN_A_ROW: usize = 32;

/// Runs groups of one and the same number of threads in memory of its own. What they all share is checked and bound
/// once: most groups are short.
pub struct GroupRunner<'a> {
    code: &'a Code,
    scratch: &'a mut Scratch,
    /// The threads of a group, and all the fuel that there is.
    batch: Batch<'a>,
    waves: usize,
    /// How many of them native code runs as such: a wave may do what all of them would.
    run: usize,
    /// Waves of a native call.
    at_once: usize,
    /// Groups that run in a row.
    in_a_row: usize,
    number: Option<Number>,
    /// The memory that a group shares.
    cleared: Vec<Cleared>,
    /// How many groups are to run next, and what they find: for each the rows that its number makes.
    groups: usize,
    rows: Vec<Row>,
}

/// A uniform space of which the first row is the number of the group, and the slots of the call that hold some of it.
struct Number {
    space: usize,
    rows: UniformRows,
    fills: Vec<SlotFill>,
    slots: Vec<u32>,
}

impl<'a> GroupRunner<'a> {
    /// Binds groups of `batch.count` threads, in memory of any size. One of the uniform spaces may have the group's
    /// number in its first row; it has these rows instead of those of the batch. Streams are not looked at.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms or resources are missing or too short, or the
    /// code is not for groups of so many threads.
    pub fn new(
        code: &'a Code,
        scratch: &'a mut Scratch,
        batch: &Batch<'a>,
        number: Option<(usize, UniformRows)>,
    ) -> Result<GroupRunner<'a>, CallError> {
        let (batch, lanes) = (Batch { inputs: &[], ..*batch }, code.lanes() as usize);
        code.check_uniforms(batch.uniforms)?;
        code.check_memory(&batch)?;
        if batch.count == 0 || code.info.has_streams() {
            return Err(CallError::Invalid(format!("a group of {} threads, or code with streams", batch.count)));
        }
        code.reserve(scratch);
        code.fill_slots(batch.uniforms, scratch);
        code.bind_uniforms(batch.uniforms, &mut scratch.tables);
        code.bind_memory(&batch, &mut scratch.tables);
        let kinds = code.info.memory.iter().zip(&scratch.tables.resources);
        // What is straight-line code has values instead of shared words.
        let has_shared = code.info.waves_of_group == 1;
        let shared = kinds.filter(|(kind, _)| has_shared && matches!(kind, Some(MemoryKind::Shared(_))));
        let cleared =
            shared.map(|(_, bound)| Cleared { words: bound.data.cast_mut().cast(), count: u64::from(bound.bytes / 4) });
        let waves = (batch.count as usize).div_ceil(lanes);
        let run = waves.div_ceil(code.info.waves_of_group);
        let all = code.info.vertices_at_once / lanes;
        let at_once = if code.info.is_cut { run } else { all };
        let mut runner = GroupRunner {
            waves,
            run,
            at_once,
            in_a_row: if run <= at_once { (all / run).clamp(1, IN_A_ROW) } else { 1 },
            cleared: cleared.collect(),
            number: None,
            groups: 0,
            rows: Vec::new(),
            code,
            scratch,
            batch,
        };
        if let Some((space, rows)) = number {
            runner.bind_number(space, rows)?;
        }
        Ok(runner)
    }

    /// Binds the rows of the space that has the number.
    fn bind_number(&mut self, space: usize, mut rows: UniformRows) -> Result<(), CallError> {
        rows.set_rows(0, &[[0; 4]]);
        self.code.check_rows(space, &rows)?;
        let data = rows.as_mut_ptr().cast_const().cast();
        self.scratch.tables.spaces[space] = SpaceArgs { data, ..space_args(&rows) };
        let fills: Vec<SlotFill> = self.code.info.fills.iter().filter(|fill| fill.reads(space)).copied().collect();
        let slots = fills.iter().map(SlotFill::slot).collect();
        self.number = Some(Number { space, rows, fills, slots });
        Ok(())
    }

    /// Adds a group, by its number, to those that run next. Most of the time that is all; if enough have come together,
    /// they run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn add(&mut self, [x, y, z]: [u32; 3]) -> Result<(), CallError> {
        if let Some(Number { space, rows, fills, .. }) = &mut self.number {
            let row = [x, y, z, 0];
            // Otherwise the row itself is all that has it.
            if !fills.is_empty() {
                rows.set_rows(0, &[row]);
            }
            let rows_of = |of| if of == *space { &*rows } else { self.code.rows_of(of, self.batch.uniforms) };
            self.rows.push(Row(row));
            self.rows.extend(fills.iter().map(|fill| fill.row(rows_of)));
        }
        self.groups += 1;
        if self.groups == self.in_a_row { self.run() } else { Ok(()) }
    }

    /// Runs the groups that have been added and have not run yet, in that order.
    ///
    /// # Errors
    /// [`CallError::OutOfFuel`] if loops of one run too long: code that is cut may stop no sooner than at the group's
    /// end, for only a wave of its own that takes all the group has ends it before. Groups behind it have not run.
    pub fn run(&mut self) -> Result<(), CallError> {
        let groups = std::mem::take(&mut self.groups);
        let mut rows = std::mem::take(&mut self.rows);
        let (batch, waves, left) = (self.batch, self.waves as u32, AtomicU64::new(0));
        let fuel = || batch.fuel.of_group(waves, &left);
        // Where the call may run out of fuel, each group is charged before the next one runs.
        let in_a_row = if fuel().suffices(groups as u64) { self.in_a_row } else { 1 };
        let rows_of_one = rows.len() / groups.max(1);
        for first in (0..groups).step_by(in_a_row) {
            let calls = in_a_row.min(groups - first);
            let (fuel, rows) = (fuel(), &rows[first * rows_of_one..][..calls * rows_of_one]);
            self.run_in_a_row(calls, rows, &fuel)?;
        }
        rows.clear();
        self.rows = rows;
        Ok(())
    }

    /// Runs so many groups, which find these rows. Several are a native call each, one may be several.
    fn run_in_a_row(&mut self, calls: usize, rows: &[Row], fuel: &Fuel<'_>) -> Result<(), CallError> {
        let lanes = self.code.lanes() as usize;
        let (number, slots) = match &mut self.number {
            Some(number) => (number.rows.as_mut_ptr(), &number.slots[..]),
            None => (ptr::null_mut(), &[][..]),
        };
        let mut fresh = Fresh { calls, rows, number, slots, cleared: &self.cleared };
        for first in (0..self.run).step_by(self.at_once) {
            let vertices = first * lanes..self.run.min(first + self.at_once) * lanes;
            let last = self.batch.count as usize - 1 - vertices.start;
            let span = Span { vertices, alone: true };
            // SAFETY: the code reads no stream and stores to none, which has been looked at. The tables of memory are
            // of what the batch lends for as long as this is here, and nobody else has the scratch memory or the rows
            // of the number meanwhile. There are rows for all calls: `add`. What is cleared is words that are accessed
            // atomically, as many as there are.
            match unsafe { self.code.call(&self.batch, fuel, self.scratch, &span, last, &fresh)? } {
                Ended::Done => fresh = Fresh::ONE,
                ended => {
                    let (Progress::Done | Progress::GuardFailed { .. }) = ended.progress(fuel)?;
                    return Err(CallError::stopped(Stop::Wave, fuel));
                }
            }
        }
        Ok(())
    }
}
