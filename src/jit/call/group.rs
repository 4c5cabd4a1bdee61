//! Thread groups on native code: all waves of a group in one call, which nothing runs again. It has neither inputs nor
//! outputs; lanes behind the last thread repeat it and write nothing.

use super::{Batch, Progress, Span};
use crate::error::CallError;
use shaderjit_ir::fuel::Stop;
use std::sync::atomic::AtomicU64;

impl super::WaveRunner<'_> {
    /// Runs a group of `batch.count` threads. If `uniforms_changed` is false, the uniforms are those of the group
    /// before.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms or resources are missing or too short;
    /// [`CallError::OutOfFuel`] if loops run too long: code that is cut may stop no sooner than at the group's end, for
    /// only a wave of its own that takes all the group has ends it before.
    pub fn run_group(&mut self, batch: &Batch<'_>, uniforms_changed: bool) -> Result<(), CallError> {
        let (code, lanes, threads) = (self.code, self.lanes(), batch.count as usize);
        code.check_memory(batch)?;
        if threads == 0 || code.info.has_streams() {
            return Err(CallError::Invalid(format!("a group of {threads} threads, or code with inputs or outputs")));
        }
        if !self.is_bound {
            code.reserve(self.scratch);
        }
        if uniforms_changed || !self.is_bound {
            code.fill_slots(batch, self.scratch);
        }
        code.bind_memory(batch, &mut self.scratch.tables);
        if !self.is_bound {
            code.bind_scratch(self.scratch);
            self.is_bound = true;
        }
        let waves = threads.div_ceil(lanes);
        let left = AtomicU64::new(0);
        let batch = &Batch { fuel: batch.fuel.of_group(waves as u32, &left), ..*batch };
        let at_once = if code.info.is_cut { waves } else { code.info.vertices_at_once / lanes };
        for first in (0..waves).step_by(at_once) {
            let vertices = first * lanes..(first + at_once).min(waves) * lanes;
            let span = Span { vertices: vertices.clone(), alone: true };
            let last = threads - 1 - vertices.start;
            // SAFETY: the code reads no stream and stores to none, which has been looked at.
            match unsafe { code.call(batch, self.scratch, &span, last)? } {
                super::Ended::Done => {}
                ended => {
                    let (Progress::Done | Progress::GuardFailed { .. }) = ended.progress(&batch.fuel)?;
                    return Err(CallError::stopped(Stop::Wave, &batch.fuel));
                }
            }
        }
        Ok(())
    }
}
