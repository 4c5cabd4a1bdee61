//! Linear scan: one walk over the code gives every value a register, and takes it from the value whose next use is
//! farthest away (Belady's rule) where none is free.
//!
//! A value that is wanted again after it lost its register is loaded from its slot, or is read there, and for that it
//! is stored once, where it is defined: its slot is right wherever it is needed. So losing a register costs nothing by
//! itself. Blocks begin with what a block before them ended with; `edges` makes the others agree.

use super::super::code::{Code, Kind, class_number_of, number_of};
use super::super::table::Op;
use super::edges::Edit;
use super::live::{Live, NEVER};
use super::moves::{Move, Sequencer};
use super::places::{CLASSES, Place, REGISTERS, Registers, Set, members};
use cranelift_entity::packed_option::PackedOption;
use regalloc2::{Allocation, Operand, OperandConstraint, OperandKind};
use std::ops::Range;

/// A register that holds nothing.
pub(super) const EMPTY: u32 = u32::MAX;

/// What machine registers hold.
#[derive(Clone, Copy)]
pub(super) struct Holds {
    /// By register.
    pub by: [u32; REGISTERS],
    /// Those that hold something.
    pub held: Set,
}

/// What is known of a virtual register.
#[derive(Clone, Copy)]
pub(super) struct Value {
    /// The machine register that it is in here.
    pub at: PackedOption<Place>,
    /// That in which it is defined.
    pub home: PackedOption<Place>,
    /// Where it is used next.
    pub next: u32,
    /// Whether it is loaded from its slot somewhere.
    pub is_loaded: bool,
    /// Whether it is a parameter that is passed in its slot.
    pub is_passed: bool,
    /// The parameter that it will be passed as.
    pub becomes: u32,
}

/// The code is too hard for this: many values meet in one block, or it uses a value ahead of its definition.
#[derive(Debug)]
pub struct TooHard;

/// Working memory, which is used again for the next code.
#[derive(Default)]
pub struct Scan {
    pub(super) live: Live,
    pub(super) values: Vec<Value>,
    /// By operand.
    pub(super) allocations: Vec<Allocation>,
    /// The operands that instructions read in the slots of their values.
    pub(super) in_slots: Vec<usize>,
    pub(super) edits: Vec<Edit>,
    pub(super) sequencer: Sequencer,
    /// What registers hold where blocks begin and end.
    pub(super) entries: Vec<Holds>,
    pub(super) exits: Vec<Holds>,
    pub(super) moves: Vec<Move>,
    /// The registers that hold something anywhere.
    pub(super) used: Set,
}

/// The walk.
pub(super) struct Walk<'a> {
    pub code: &'a Code,
    pub registers: Registers,
    pub scan: &'a mut Scan,
    /// What registers hold here.
    pub holds: [u32; REGISTERS],
    pub free: Set,
    /// The first operand of the next instruction.
    place: usize,
    /// All registers that have ever held something.
    pub used: Set,
    /// For each class, whether any value may be in no register where it is still needed.
    pub is_short: [bool; 3],
    /// Positions of calls from here on, the next one last.
    calls: Vec<u32>,
}

impl Scan {
    /// Gives every operand a register.
    pub(super) fn walk(&mut self, code: &Code, registers: Registers) -> Result<(), TooHard> {
        self.live.find(code).ok_or(TooHard)?;
        let nowhere = None.into();
        let (is_loaded, is_passed) = (false, false);
        let value = Value { at: nowhere, home: nowhere, next: NEVER, is_loaded, is_passed, becomes: EMPTY };
        self.values.clear();
        self.values.extend(self.live.intervals.iter().map(|interval| Value { next: interval.first, ..value }));
        for block in &code.blocks {
            let Some(successor) = block.successors.first() else { continue };
            for (arg, param) in code.args_of(block).iter().zip(code.params_of(&code.blocks[successor.index()])) {
                self.values[arg.vreg()].becomes = param.vreg() as u32;
            }
        }
        self.allocations.clear();
        self.allocations.resize(code.operands.len(), Allocation::none());
        self.in_slots.clear();
        self.edits.clear();
        self.sequencer.prepare(code.registers() + CLASSES.len());
        self.entries.clear();
        self.exits.clear();
        let is_call = |&position: &u32| matches!(code.insts[position as usize].kind, Kind::Call(_));
        let calls = (0..code.insts.len() as u32).rev().filter(is_call).collect();
        let free = registers.all.into_iter().fold(0, |all, set| all | set);
        let holds = [EMPTY; REGISTERS];
        let (place, used, is_short) = (0, 0, [false; 3]);
        let mut walk = Walk { code, registers, scan: self, holds, free, place, used, is_short, calls };
        for block in 0..code.blocks.len() {
            walk.enter(block)?;
            for position in code.blocks[block].insts.clone() {
                walk.inst(position)?;
            }
            walk.leave(block);
        }
        self.used = walk.used;
        Ok(())
    }
}

impl Walk<'_> {
    fn inst(&mut self, position: u32) -> Result<(), TooHard> {
        let inst = &self.code.insts[position as usize];
        let places = self.place..inst.end as usize;
        self.place = places.end;
        match inst.kind {
            Kind::Op(op) => self.op(op, position, places),
            kind => {
                self.other(kind, position, places);
                Ok(())
            }
        }
    }

    /// What is no machine instruction alone.
    fn other(&mut self, kind: Kind, position: u32, places: Range<usize>) {
        match kind {
            Kind::Entry => {
                for place in places {
                    let operand = self.code.operands[place];
                    self.scan.allocations[place] = Allocation::reg(fixed(operand).preg());
                    self.define(operand.vreg().vreg(), fixed(operand));
                }
            }
            Kind::Call(_) => {
                self.calls.pop();
                self.pass(position, places);
                self.is_short = [true; 3];
                for register in members(self.registers.clobbered() & !self.free) {
                    self.empty(register);
                }
            }
            Kind::Return => self.pass(position, places),
            Kind::Op(_) | Kind::Refuel(_) | Kind::Jump | Kind::Branch(_) => {}
        }
    }

    /// One machine instruction.
    fn op(&mut self, op: Op, position: u32, places: Range<usize>) -> Result<(), TooHard> {
        let code = self.code;
        let operands = &code.operands[places.clone()];
        let (defs, uses) = operands.split_at(operands.iter().take_while(|def| def.kind() == OperandKind::Def).count());
        let first_use = places.start + defs.len();

        let mut pinned: Set = 0;
        let mut is_loaded = false;
        for (allocation, operand) in self.scan.allocations[first_use..places.end].iter_mut().zip(uses) {
            match self.scan.values[number_of(*operand)].at.expand() {
                Some(register) => {
                    pinned |= 1 << register.0;
                    *allocation = Allocation::reg(register.preg());
                }
                None => is_loaded = true,
            }
        }
        if is_loaded {
            for (place, operand) in (first_use..).zip(uses) {
                let value = number_of(*operand);
                if let Some(register) = self.scan.values[value].at.expand() {
                    self.scan.allocations[place] = Allocation::reg(register.preg());
                    continue;
                }
                let (slot, class) = (self.loaded(value), class_number_of(*operand));
                if operand.constraint() == OperandConstraint::Any && self.stays_in_slot(place, class, pinned) {
                    self.scan.in_slots.push(place);
                    continue;
                }
                let register = self.take(class, value, pinned)?;
                self.edit(2 * position, register, slot);
                self.hold(value, register);
                self.scan.allocations[place] = Allocation::reg(register.preg());
                pinned |= 1 << register.0;
            }
        }
        self.used(first_use, uses, position);

        for (place, operand) in (places.start..).zip(defs) {
            let value = number_of(*operand);
            let register = match op.overwrites() {
                true => self.overwritten(position, value, first_use, pinned)?,
                false => self.take(class_number_of(*operand), value, 0)?,
            };
            self.scan.allocations[place] = Allocation::reg(register.preg());
            self.define(value, register);
        }
        Ok(())
    }

    /// Whether an operand that is in no register had best be read in its slot: where its value is not wanted again, or
    /// only after that which would lose its register.
    fn stays_in_slot(&self, place: usize, class: usize, pinned: Set) -> bool {
        let next = self.scan.live.next[place];
        let has_free = self.free & self.registers.all[class] & !pinned != 0;
        next == NEVER
            || !has_free && self.farthest(class, pinned).is_none_or(|farthest| self.distance(farthest) <= next)
    }

    /// The register of a result that overwrites an operand: that of the operand if nothing wants that any more, else
    /// one with a copy of it.
    fn overwritten(&mut self, position: u32, value: usize, source: usize, pinned: Set) -> Result<Place, TooHard> {
        let register = Place::from(self.scan.allocations[source].as_reg().ok_or(TooHard)?);
        if self.free & (1 << register.0) != 0 {
            return Ok(register);
        }
        let class = class_number_of(self.code.operands[source]);
        let all = self.registers.all[class];
        if self.free & all & !pinned == 0 {
            // Either another value loses its register, and the operand is copied there; or the operand loses its own.
            let farthest = self.farthest(class, pinned);
            let is_farther = |other: Place| self.distance(other) > self.distance(register);
            if !farthest.is_some_and(is_farther) {
                self.is_short[class] = true;
                self.empty(register);
                return Ok(register);
            }
        }
        let copy = self.take(class, value, pinned)?;
        self.edit(2 * position, copy, register);
        self.scan.allocations[source] = Allocation::reg(copy.preg());
        Ok(copy)
    }

    /// Puts operands in the registers where they are to be.
    fn pass(&mut self, position: u32, places: Range<usize>) {
        let code = self.code;
        self.scan.moves.clear();
        for place in places.clone() {
            let operand = code.operands[place];
            let value = operand.vreg().vreg();
            let to = fixed(operand);
            let from = self.scan.values[value].at.expand().unwrap_or_else(|| self.loaded(value));
            self.scan.allocations[place] = Allocation::reg(to.preg());
            if from != to {
                self.scan.moves.push(Move { to, from });
            }
        }
        self.sequence(2 * position, [None; 3]);
        self.used(places.start, &code.operands[places], position);
    }

    /// Notes that operands have been used.
    fn used(&mut self, first: usize, uses: &[Operand], position: u32) {
        for (place, operand) in (first..).zip(uses) {
            let value = number_of(*operand);
            let Value { next, at, .. } = &mut self.scan.values[value];
            *next = self.scan.live.next[place];
            if self.scan.live.intervals[value].end <= 2 * position
                && let Some(register) = at.expand()
            {
                self.empty(register);
            }
        }
    }

    fn define(&mut self, value: usize, register: Place) {
        self.hold(value, register);
        self.scan.values[value].home = register.into();
        // What it becomes had best be there, too.
        let becomes = self.scan.values[value].becomes;
        if becomes != EMPTY {
            let home = &mut self.scan.values[becomes as usize].home;
            *home = home.expand().or(Some(register)).into();
        }
        if self.scan.live.intervals[value].first == NEVER {
            self.empty(register);
        }
    }

    // ---- registers

    /// The registers that hold something.
    pub(super) fn held(&self) -> Set {
        self.registers.all.into_iter().fold(0, |all, set| all | set) & !self.free
    }

    /// What they hold.
    pub(super) fn holds(&self) -> Holds {
        Holds { by: self.holds, held: self.held() }
    }

    /// Where a value lies that is in no register: in its slot.
    pub(super) fn loaded(&mut self, value: usize) -> Place {
        self.scan.values[value].is_loaded = true;
        Place::slot(value)
    }

    pub(super) fn hold(&mut self, value: usize, register: Place) {
        self.holds[register.index()] = value as u32;
        self.free &= !(1 << register.0);
        self.used |= 1 << register.0;
        self.scan.values[value].at = register.into();
    }

    /// What the register holds loses it.
    pub(super) fn empty(&mut self, register: Place) {
        let value = std::mem::replace(&mut self.holds[register.index()], EMPTY);
        self.free |= 1 << register.0;
        if value != EMPTY {
            self.scan.values[value as usize].at = None.into();
        }
    }

    /// A register for a value, which is free from now on.
    pub(super) fn take(&mut self, class: usize, value: usize, pinned: Set) -> Result<Place, TooHard> {
        if let Some(register) = self.suitable(class, value, pinned) {
            return Ok(register);
        }
        let farthest = self.farthest(class, pinned).ok_or(TooHard)?;
        self.is_short[class] = true;
        self.empty(farthest);
        Ok(farthest)
    }

    /// A free register for a value: that of the parameter that it becomes, if possible.
    pub(super) fn suitable(&self, class: usize, value: usize, pinned: Set) -> Option<Place> {
        let free = self.free & self.registers.all[class] & !pinned;
        let Value { home, becomes, .. } = self.scan.values[value];
        let wish = if becomes == EMPTY { None } else { self.scan.values[becomes as usize].home.expand() };
        if let Some(wish) = wish.or(home.expand()).filter(|wish| free & (1 << wish.0) != 0) {
            return Some(wish);
        }
        // A call keeps what is in those registers, but they have to be restored.
        let is_called = self.calls.last().is_some_and(|&call| self.scan.live.intervals[value].end > 2 * call);
        let saved = free & self.registers.saved;
        let first = if is_called { saved } else { free & !saved };
        members(first).chain(members(free)).next()
    }

    /// The register of a class whose value is not wanted for the longest time.
    pub(super) fn farthest(&self, class: usize, pinned: Set) -> Option<Place> {
        let held = self.registers.all[class] & !self.free & !pinned;
        members(held).max_by_key(|&register| self.distance(register))
    }

    /// Where the value in a register is wanted next. What the next round of a loop wants is wanted behind its end.
    pub(super) fn distance(&self, register: Place) -> u32 {
        let value = self.holds[register.index()] as usize;
        let Value { next, .. } = self.scan.values[value];
        if next == NEVER { self.scan.live.intervals[value].end / 2 } else { next }
    }

    // ---- edits

    /// Notes a move, in front of the instruction at half a position or behind it.
    pub(super) fn edit(&mut self, half: u32, to: Place, from: Place) {
        self.scan.edits.push(Edit { half, is_store: false, to, from });
    }

    /// Does the moves that have been collected, in front of an instruction.
    pub(super) fn sequence(&mut self, half: u32, scratch: [Option<Place>; 3]) {
        let Scan { sequencer, moves, edits, .. } = &mut *self.scan;
        if moves.is_empty() {
            return;
        }
        let class = |place: Place| match place.slot_of() {
            Some(value) if value >= self.code.registers() => value - self.code.registers(),
            Some(value) => usize::from(self.code.definitions[value].class),
            None => place.preg().class() as usize,
        };
        let spare = |place: Place| Place::slot(self.code.registers() + class(place));
        sequencer.run(moves, spare, |to, from| {
            let mut edit = |to, from| edits.push(Edit { half, is_store: false, to, from });
            match scratch[class(to)] {
                Some(scratch) if to.slot_of().is_some() && from.slot_of().is_some() => {
                    edit(scratch, from);
                    edit(to, scratch);
                }
                _ => edit(to, from),
            }
        });
    }
}

/// The register that an operand must be in.
fn fixed(operand: Operand) -> Place {
    match operand.constraint() {
        OperandConstraint::FixedReg(register) => register.into(),
        constraint => unreachable!("{constraint:?} where registers are given"),
    }
}
