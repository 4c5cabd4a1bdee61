//! Calls that run thread groups: a grid of them, each on its own.

use super::bindings::Call;
use super::buffer;
use super::engine::{Memory, with_memory};
use super::uniforms::BoundSpaces;
use super::wave::{Driver, Groups, WaveRunner};
use super::work::Work;
use crate::error::CallError;
use crate::frontend::{Interface, ResourceFile, UniformKind};
use crate::jit::Layout;
use crate::memory::{AtomicBuffer, GroupMemory, MemoryView};
use crate::native::Native;
use shaderjit_ir::fuel::Fuel;
use smallvec::{SmallVec, smallvec};
use std::sync::atomic::AtomicU64;

/// Most groups in a direction (Direct3D 11: `D3D11_CS_DISPATCH_MAX_THREAD_GROUPS_PER_DIMENSION`).
const MAX_GROUPS: u32 = 65535;

impl<'a> Call<'a> {
    /// Binds the unordered-access view `u<slot>` of register space 0. Of an unbound one loads give 0 and stores are
    /// dropped if the call [asks for zeros](Self::unbound_as_zero).
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such view,
    /// [`ResourceMismatch`](CallError::ResourceMismatch) if it declares one of another kind or with another stride,
    /// [`MissingBinding`](CallError::MissingBinding) if it counts and the view has no counter,
    /// [`ShortBuffer`](CallError::ShortBuffer), [`Texture`](CallError::Texture) and [`Invalid`](CallError::Invalid) if
    /// sizes and formats make no view.
    pub fn unordered_access(&mut self, slot: u32, view: MemoryView<'a>) -> Result<&mut Call<'a>, CallError> {
        self.unordered_access_in_space(slot, 0, view)
    }

    /// Binds the view `u<slot>` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`unordered_access`](Self::unordered_access).
    pub fn unordered_access_in_space(
        &mut self,
        slot: u32,
        space: u32,
        view: MemoryView<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        let declared = &self.shader.interface().resources;
        let file = ResourceFile::UnorderedAccess;
        let (index, decl) = buffer::find(declared, file, slot, space)?;
        let name = || buffer::name(decl);
        if !view.fits(decl.kind) {
            let (what, declared) = (name(), decl.kind.to_string());
            return Err(CallError::ResourceMismatch { what, declared, bound: view.describe() });
        }
        view.check(name)?;
        let counter = buffer::find(declared, ResourceFile::Counter, slot, space).map(|(index, _)| index).ok();
        if let Some(counter) = counter {
            if view.counter_view().is_none() && self.shader.needs_resource(counter) {
                return Err(CallError::MissingBinding { what: format!("counter of {}", name()) });
            }
            self.memory.bind(counter, view.counter_view());
        }
        self.memory.bind(index, Some(view));
        Ok(self)
    }

    /// Runs so many thread groups in x, y and z, one after the other, x first. What they write is in the views bound,
    /// after an error what was written before.
    ///
    /// ```
    /// use shaderjit::{AtomicBuffer, CompileOptions, Config, Engine, MemoryView, Shader};
    ///
    /// // Group g of 4 threads adds up 16 floats into the g-th structure.
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/cs_sizes/C1.cs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let ids = AtomicBuffer::zeroed(12 * 16);
    /// let mut call = code.call();
    /// call.unordered_access(0, MemoryView::structured(&ids, 16))?.dispatch([3, 2, 2])?;
    /// assert_ne!(ids.to_bytes(), [0; 12 * 16]);
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongStage`](CallError::WrongStage), [`MissingBinding`](CallError::MissingBinding) and
    /// [`Invalid`](CallError::Invalid) before anything runs, the last for more than 65535 groups in a direction;
    /// [`OutOfFuel`](CallError::OutOfFuel) and [`OutOfCallFuel`](CallError::OutOfCallFuel) if loops run too long,
    /// [`Cancelled`](CallError::Cancelled) if that is asked for, [`PartedAtBarrier`](CallError::PartedAtBarrier) if
    /// threads of a group do not come to a barrier together.
    pub fn dispatch(&self, groups: [u32; 3]) -> Result<(), CallError> {
        self.check_groups(groups)?;
        let made = self.native_groups()?;
        self.with_fuel(|fuel| self.run_groups(made.as_deref(), fuel, groups, 0..count(groups)))
    }

    /// Runs as many thread groups as three 32-bit numbers say, which lie at a byte of a buffer.
    ///
    /// # Errors
    /// As [`dispatch`](Self::dispatch); [`ShortBuffer`](CallError::ShortBuffer) if the numbers are not inside,
    /// [`Invalid`](CallError::Invalid) if the byte is no multiple of 4.
    pub fn dispatch_indirect(&self, arguments: &AtomicBuffer, byte: usize) -> Result<(), CallError> {
        if !byte.is_multiple_of(4) {
            return Err(CallError::Invalid(format!("arguments at byte {byte}, which is no multiple of 4")));
        }
        let words: Option<Vec<u32>> = (0..3).map(|word| arguments.word(byte / 4 + word)).collect();
        let Some(&[x, y, z]) = words.as_deref() else {
            let what = "buffer of arguments".to_string();
            return Err(CallError::ShortBuffer { what, needed: byte.saturating_add(12), available: arguments.len() });
        };
        self.dispatch([x, y, z])
    }

    /// Runs thread groups on this thread and those of the current [rayon] pool. In which order the groups run is open
    /// then, and nothing else. Needs the feature `rayon`.
    ///
    /// # Errors
    /// As [`dispatch`](Self::dispatch); if several groups end with one, that of the first of them.
    #[cfg(feature = "rayon")]
    pub fn dispatch_parallel(&self, groups: [u32; 3]) -> Result<(), CallError> {
        self.check_groups(groups)?;
        let made = self.native_groups()?;
        // Nobody is woken for whom there is no group.
        let count = count(groups);
        let threads = rayon::current_num_threads().min(usize::try_from(count).unwrap_or(usize::MAX));
        self.with_fuel(|fuel| {
            super::parallel::on_threads(threads, guided(count, threads as u64), |numbers, _| {
                self.run_groups(made.as_deref(), fuel, groups, numbers)
            })
        })
    }

    fn check_groups(&self, groups: [u32; 3]) -> Result<(), CallError> {
        self.check_runs_groups()?;
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()?;
        match groups.into_iter().find(|&count| count > MAX_GROUPS) {
            Some(count) => {
                Err(CallError::Invalid(format!("{count} thread groups in a direction; {MAX_GROUPS} can be")))
            }
            None => Ok(()),
        }
    }

    /// The native code, if there is some.
    fn native_groups(&self) -> Result<Option<crate::native::Made<'_>>, CallError> {
        let outputs = smallvec![0; self.shader.interface().outputs.len()];
        Ok(self.shader.native_for(&Layout { inputs: SmallVec::new(), outputs })?)
    }

    /// Runs some of the groups, by their number in the grid.
    fn run_groups(
        &self,
        native: Option<&Native>,
        fuel: Fuel<'_>,
        grid: [u32; 3],
        numbers: std::ops::Range<u64>,
    ) -> Result<(), CallError> {
        let interface = self.shader.interface();
        let memory = GroupMemory::new(&self.textures, &self.memory, &interface.resources);
        let space = interface.uniforms.iter().position(|decl| decl.kind == UniformKind::Group);
        let driver = Grid {
            grid,
            next: place(numbers.start, grid),
            left: numbers.end - numbers.start,
            memory: &memory,
            spaces: self.spaces.clone(),
            space,
            interface,
        };
        let owed = AtomicU64::new(0);
        let fuel = fuel.of_thread(&owed);
        with_memory(|thread: &mut Memory, work: &mut Work<'a>| {
            self.drive_asking(native, fuel, &memory, driver, thread, work)
        })?;
        fuel.settle().map_err(|stop| CallError::stopped(stop, &fuel))
    }
}

fn count([x, y, z]: [u32; 3]) -> u64 {
    u64::from(x) * u64::from(y) * u64::from(z)
}

/// The place of a group in a grid, by its number; some place if there are no groups.
fn place(number: u64, grid: [u32; 3]) -> [u32; 3] {
    let [width, height, _] = grid.map(|groups| u64::from(groups.max(1)));
    [number % width, number / width % height, number / width / height].map(|place| place as u32)
}

/// The place of the next group: x first.
fn behind([x, y, z]: [u32; 3], [width, height, _]: [u32; 3]) -> [u32; 3] {
    match [x + 1 < width, y + 1 < height] {
        [true, _] => [x + 1, y, z],
        [false, true] => [0, y + 1, z],
        [false, false] => [0, 0, z + 1],
    }
}

/// Guided self-scheduling: whoever is free takes the same part of what is left, so that no thread has much left when
/// the others are done, and few pieces are small.
#[cfg(feature = "rayon")]
fn guided(count: u64, threads: u64) -> impl Iterator<Item = std::ops::Range<u64>> + Send {
    let mut next = 0;
    std::iter::from_fn(move || {
        let piece = next..next + (count - next).div_ceil((threads * 4).max(1));
        next = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Groups of a grid.
struct Grid<'g, 'c, 'a> {
    grid: [u32; 3],
    /// The place of the next one.
    next: [u32; 3],
    /// How many are left.
    left: u64,
    memory: &'g GroupMemory<'c, 'a>,
    spaces: BoundSpaces,
    /// The space that holds the number of the group, if somebody asks for it.
    space: Option<usize>,
    interface: &'c Interface,
}

impl<'a> Driver<'a> for Grid<'_, '_, 'a> {
    fn drive(mut self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        if let Some(space) = self.space.filter(|&space| self.interface.uniforms[space].rows > 1) {
            let [x, y, z] = self.grid;
            self.spaces.set_rows(self.interface, space, 1, &[[x, y, z, 0]]);
        }
        let threads = self.interface.thread_group.map_or(1, |threads| threads.iter().product());
        waves.run_groups(threads, &mut self)
    }
}

impl Groups for Grid<'_, '_, '_> {
    fn next(&mut self) -> Option<[u32; 3]> {
        self.left = self.left.checked_sub(1)?;
        let next = behind(self.next, self.grid);
        Some(std::mem::replace(&mut self.next, next))
    }

    fn clear(&self) {
        self.memory.clear_shared();
    }

    fn number_space(&self) -> Option<usize> {
        self.space
    }

    fn spaces(&mut self, [x, y, z]: [u32; 3]) -> &BoundSpaces {
        if let Some(space) = self.space {
            self.spaces.set_rows(self.interface, space, 0, &[[x, y, z, 0]]);
        }
        &self.spaces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_each_other_wherever_a_piece_begins() {
        for grid in [[1, 1, 1], [3, 1, 1], [1, 4, 2], [3, 2, 5], [MAX_GROUPS, MAX_GROUPS, 2]] {
            let last = count(grid) - 1;
            assert_eq!((place(0, grid), place(last, grid)), ([0; 3], grid.map(|groups| groups - 1)));
            let numbers = (0..last.min(100)).chain(last.saturating_sub(100)..last);
            for number in numbers {
                assert_eq!(behind(place(number, grid), grid), place(number + 1, grid), "{number} of {grid:?}");
            }
        }
        assert_eq!([place(0, [0, 5, 5]), place(0, [0; 3])], [[0; 3]; 2], "there are none");
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn pieces_are_all_groups_once_and_become_smaller() {
        for (count, threads) in [(0, 2), (1, 2), (7, 3), (16384, 2), (1 << 40, 64)] {
            let pieces: Vec<_> = guided(count, threads).collect();
            assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((pieces.first().map_or(0, |first| first.start), pieces.last().map_or(0, |l| l.end)), (0, count));
            let mut sizes = pieces.iter().map(|piece| piece.end - piece.start);
            assert!(sizes.clone().is_sorted_by(|one, next| one >= next));
            assert!(sizes.next_back().is_none_or(|last| last == 1) && pieces.len() < 10_000);
        }
    }
}
