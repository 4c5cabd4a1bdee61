//! Thread groups on native code: all waves of a group in one call, which nothing runs again. It has neither inputs nor
//! outputs; lanes behind the last thread repeat it and write nothing.

use super::{Batch, Progress, Scratch, Span, UniformRows};
use crate::error::CallError;
use crate::jit::Code;
use shaderjit_ir::fuel::Stop;
use std::sync::atomic::AtomicU64;

/// Runs groups of one and the same number of threads in memory of its own. What they all share is checked and bound
/// once: most groups are short.
pub struct GroupRunner<'a> {
    code: &'a Code,
    scratch: &'a mut Scratch,
    /// The threads of a group, with no uniforms, and all the fuel that there is.
    batch: Batch<'a>,
    waves: usize,
    /// Waves of a native call.
    at_once: usize,
    /// Whether the slots that hold uniforms are those of a group before.
    is_filled: bool,
}

impl<'a> GroupRunner<'a> {
    /// Binds groups of `batch.count` threads, in memory of any size. Neither streams nor uniforms of the batch are
    /// looked at.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if resources are missing or too short, or the code is not
    /// for groups of so many threads.
    pub fn new(code: &'a Code, scratch: &'a mut Scratch, batch: &Batch<'a>) -> Result<GroupRunner<'a>, CallError> {
        let (batch, lanes) = (Batch { inputs: &[], uniforms: &[], ..*batch }, code.lanes() as usize);
        code.check_memory(&batch)?;
        if batch.count == 0 || code.info.has_streams() {
            return Err(CallError::Invalid(format!("a group of {} threads, or code with streams", batch.count)));
        }
        code.reserve(scratch);
        code.bind_memory(&batch, &mut scratch.tables);
        let waves = (batch.count as usize).div_ceil(lanes);
        let at_once = if code.info.is_cut { waves } else { code.info.vertices_at_once / lanes };
        Ok(GroupRunner { code, scratch, batch, waves, at_once, is_filled: false })
    }

    /// Runs a group. Of all uniforms but those of the space `changed`, some may be those of the group before.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms are missing or too short;
    /// [`CallError::OutOfFuel`] if loops run too long: code that is cut may stop no sooner than at the group's end, for
    /// only a wave of its own that takes all the group has ends it before.
    pub fn run(&mut self, uniforms: &[UniformRows], changed: Option<usize>) -> Result<(), CallError> {
        let (code, lanes) = (self.code, self.code.lanes() as usize);
        code.check_uniforms(uniforms)?;
        match changed {
            _ if !self.is_filled => code.fill_slots(uniforms, self.scratch),
            Some(space) => code.refill_slots(space, uniforms, self.scratch),
            None => {}
        }
        self.is_filled = true;
        code.bind_uniforms(uniforms, &mut self.scratch.tables);
        let (left, mut next) = (AtomicU64::new(0), 0);
        let fuel = &self.batch.fuel.of_group(self.waves as u32, &left);
        while next < self.waves {
            let first = next;
            next = self.waves.min(first + self.at_once);
            let vertices = first * lanes..next * lanes;
            let last = self.batch.count as usize - 1 - vertices.start;
            // SAFETY: the code reads no stream and stores to none, which has been looked at. The tables of memory are
            // of what the batch lends for as long as this is here, and nobody else has the scratch memory meanwhile.
            match unsafe { code.call(&self.batch, fuel, self.scratch, &Span { vertices, alone: true }, last)? } {
                super::Ended::Done => {}
                ended => {
                    let (Progress::Done | Progress::GuardFailed { .. }) = ended.progress(fuel)?;
                    return Err(CallError::stopped(Stop::Wave, fuel));
                }
            }
        }
        Ok(())
    }
}
