//! Memory coalescing: where the words of all lanes likely lie together, so that one access of memory has them all.
//!
//! The [steps](Steps) of an address say how lanes' words lie behind each other. Where that is only likely, code sees
//! whether they do, and gathers or scatters where they do not; so it does where some of them may be outside. Of an
//! address without steps it tries whether its words are in order, as threads like to have them.

mod elements;

pub use elements::{ElementAccess, Elements, Lie, Loads, Stores};

use shaderjit_ir::batch::{Addresses, BatchProgram, LaneSteps, Steps};
use shaderjit_ir::function::InstData;
use shaderjit_ir::memory::MemoryKind;
use shaderjit_ir::{Op, Resource, Value};

/// Words side by side.
pub const IN_ORDER: [u32; 4] = [4, 8, 16, 32];

/// Two words have a distance below this.
pub const MAX_DISTANCE: u32 = 1 << 16;

/// A resource at a fixed offset.
pub type Place = (Resource, u32);

/// How lanes' words lie behind that of lane 0.
#[derive(Clone, Copy)]
pub struct Shape {
    pub steps: Steps,
    /// Bytes from the first word to the last that an access takes.
    pub reach: u32,
}

/// What vectors can do.
#[derive(Clone, Copy)]
pub struct Abilities {
    pub lanes: u8,
    /// Whether a part of a vector can be loaded and stored.
    pub has_masks: bool,
    /// Whether instructions that gather and scatter words are quicker than one access after the other.
    pub gathers: bool,
}

/// What is known of a program's accesses, for vectors of one kind.
pub struct Coalescing<'a> {
    program: &'a BatchProgram,
    addresses: Addresses,
    vectors: Abilities,
}

impl<'a> Coalescing<'a> {
    pub fn new(program: &'a BatchProgram, vectors: Abilities) -> Coalescing<'a> {
        Coalescing { program, addresses: Addresses::of(program), vectors }
    }

    /// Whether lanes have addresses of their own in resources.
    pub fn has_scattered_resources(&self) -> bool {
        self.program.facts.scattered && self.program.facts.uses_resources
    }

    /// How a value grows from lane to lane, if anything is known of that.
    pub fn steps(&self, value: Value) -> Option<LaneSteps> {
        self.addresses.steps[value]
    }

    /// The steps within a vector that are known or tried.
    pub fn steps_in_vector(&self, address: Value) -> Steps {
        let steps = self.steps(address).map_or(IN_ORDER, |known| known.steps.0);
        Steps(std::array::from_fn(|bit| if 1 << bit < self.vectors.lanes { steps[bit] } else { 0 }))
    }

    /// Whether it is certain that an address has its steps.
    pub fn is_certain(&self, address: Value) -> bool {
        self.steps(address).is_some_and(|known| known.is_certain)
    }

    /// How the words at an address likely lie, if one access can have them.
    pub fn shape(&self, address: Value) -> Option<Shape> {
        let (lanes, steps) = (self.vectors.lanes, self.steps_in_vector(address));
        let bytes = 4 * u32::from(lanes);
        let is_small = steps.0.iter().all(|&step| step < bytes && step % 4 == 0);
        let reach = steps.0.iter().copied().fold(0, u32::saturating_add);
        // Without registers of masks, part of a vector cannot be loaded.
        let takes_all = !self.vectors.has_masks && reach > 0;
        let fits = is_small && reach < bytes || self.is_two_words(steps);
        fits.then_some(Shape { steps, reach: if takes_all { bytes - 4 } else { reach } })
    }

    /// Whether the lower half of sixteen lanes has one word and the upper half another one.
    pub fn is_two_words(&self, Steps([a, b, c, distance]): Steps) -> bool {
        self.vectors.has_masks && [a, b, c] == [0; 3] && distance % 4 == 0 && (1..MAX_DISTANCE).contains(&distance)
    }

    pub fn is_in_order(&self, shape: Shape) -> bool {
        (0..self.vectors.lanes).all(|lane| shape.steps.of_lane(lane) == 4 * u32::from(lane))
    }

    /// Whether the lower and the upper half of sixteen lanes likely have their words in order, wherever the two lie, as
    /// where a group is eight threads wide.
    pub fn is_in_rows(&self, address: Value) -> bool {
        let Steps(steps) = self.steps_in_vector(address);
        self.vectors.has_masks && steps[..3] == IN_ORDER[..3]
    }

    /// Whether a load's or a store's words may lie so that one access, or one for each half of the lanes, has them.
    pub fn may_lie_together(&self, access: &InstData) -> bool {
        let (address, stores) = (access.args[0], access.op == Op::MemoryStoreMasked);
        self.shape(address).is_some_and(|shape| !stores || self.is_in_order(shape)) || self.is_in_rows(address)
    }

    /// The largest operand for which four bytes can be read of memory that a group shares, if that has any there. A
    /// call has checked that it is as long as declared.
    pub fn last_shared(&self, (resource, at): Place) -> Option<u32> {
        let Some(MemoryKind::Shared(bytes)) = self.program.func.resources[resource].memory else { return None };
        (bytes & !3).checked_sub(4)?.checked_sub(at)
    }

    /// Whether so many bytes more than a word can be read of shared memory at every address that this one ever is.
    pub fn is_inside(&self, address: Value, place: Place, more: u32) -> bool {
        let last = self.last_shared(place).and_then(|last| last.checked_sub(more));
        last.zip(self.addresses.ranges[address]).is_some_and(|(last, range)| range.most <= last)
    }

    /// Whether an address in memory is that of a word, whatever it is.
    pub fn is_aligned(&self, address: Value) -> bool {
        self.addresses.ranges[address].is_some_and(|range| range.zeros >= 2)
    }

    fn is_uniform(&self, value: Value) -> bool {
        self.program.uniform.contains(value)
    }
}
