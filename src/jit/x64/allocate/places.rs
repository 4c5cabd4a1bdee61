//! Where values can be: the registers that can be allocated, and a slot of the frame for each virtual register.

use super::super::encode::Size;
use super::{FRAME, SAVED, STACK};
use cranelift_entity::packed_option::ReservedValue;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

/// Machine registers of all classes, one after the other: 16 general ones, 32 of vectors, 8 of masks.
pub const REGISTERS: usize = 56;

/// A machine register, or the slot of a virtual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u32);

impl Place {
    /// The slot of a virtual register.
    pub fn slot(register: usize) -> Place {
        Place((REGISTERS + register) as u32)
    }

    /// The virtual register that it is the slot of; none for a machine register.
    pub fn slot_of(self) -> Option<usize> {
        self.index().checked_sub(REGISTERS)
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The register of this number.
    pub fn preg(self) -> PReg {
        const PREGS: [PReg; REGISTERS] = {
            let mut pregs = [PReg::new(0, RegClass::Int); REGISTERS];
            let mut number = 0;
            while number < REGISTERS {
                pregs[number] = match number {
                    0..16 => PReg::new(number, RegClass::Int),
                    16..48 => PReg::new(number - 16, RegClass::Float),
                    _ => PReg::new(number - 48, RegClass::Vector),
                };
                number += 1;
            }
            pregs
        };
        PREGS[self.index()]
    }
}

impl ReservedValue for Place {
    fn reserved_value() -> Place {
        Place(u32::MAX)
    }

    fn is_reserved_value(&self) -> bool {
        *self == Place::reserved_value()
    }
}

impl From<PReg> for Place {
    fn from(register: PReg) -> Place {
        let first = match register.class() {
            RegClass::Int => 0,
            RegClass::Float => 16,
            RegClass::Vector => 48,
        };
        Place((first + register.hw_enc()) as u32)
    }
}

/// Sets of registers, a bit for each [`Place`] that is one.
pub type Set = u64;

/// The numbers of all classes, as regalloc2 has them: of general registers, vectors and masks.
pub const CLASSES: std::ops::Range<usize> = RegClass::Int as usize..RegClass::Vector as usize + 1;

/// The registers that can hold values.
#[derive(Clone, Copy)]
pub struct Registers {
    /// By class.
    pub all: [Set; 3],
    /// General ones that have to be restored.
    pub saved: Set,
}

impl Registers {
    /// Those of a machine whose vectors have this size.
    pub fn new(size: Size) -> Registers {
        let set = |numbers: std::ops::Range<u32>| numbers.fold(0, |set, number| set | 1 << number);
        let general = set(0..16) & !(1 << STACK) & !(1 << FRAME);
        let saved = SAVED.iter().fold(0, |set, &number| set | 1 << number);
        let all = match size {
            Size::Z => [general, set(16..48), set(49..56)],
            _ => [general, set(16..32), 0],
        };
        Registers { all, saved }
    }

    /// What a call may change.
    pub fn clobbered(&self) -> Set {
        self.all.into_iter().fold(0, |all, set| all | set) & !self.saved
    }

    /// For regalloc2.
    pub fn environment(&self) -> MachineEnv {
        let [general, vectors, masks] = self.all;
        let none = PRegSet::empty();
        MachineEnv {
            preferred_regs_by_class: [general & !self.saved, vectors, masks].map(pregs),
            non_preferred_regs_by_class: [pregs(self.saved), none, none],
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        }
    }
}

/// The registers of a set, ascending.
pub fn members(mut set: Set) -> impl Iterator<Item = Place> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(Place(lowest))
    })
}

/// A set as regalloc2 has it.
pub fn pregs(set: Set) -> PRegSet {
    members(set).fold(PRegSet::empty(), |set, place| set.with(place.preg()))
}
