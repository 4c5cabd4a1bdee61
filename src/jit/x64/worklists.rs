//! Selection for worklists: loops over the waves of one, and the branches that fill them. What a tile knows of a
//! worklist lies in the frame, so that no branch has to pass it on.

use super::Selector;
use super::code::Address;
use super::encode::Condition;
use super::table::{Class, Op as X};
use regalloc2::VReg;
use shaderjit_ir::batch::TILE;
use shaderjit_ir::{Block, Value};

/// What the frame has of each worklist: where the numbers of its waves are, 64 bits each, how many they are, and how
/// many waves of the phase at hand have been listed for it.
const NUMBERS: i32 = 0;
const COUNT: i32 = 8;
const LISTED: i32 = 16;
/// Bytes of these.
pub const MEMBERS: usize = 24;

/// A round of a loop over listed waves.
#[derive(Clone, Copy)]
pub struct Turn {
    index: VReg,
    count: VReg,
    /// The wave at hand.
    number: VReg,
}

impl Selector<'_> {
    /// A field of what is known of a worklist.
    fn members(&self, worklist: u32, field: i32) -> Address {
        self.own(self.own.members + MEMBERS as i32 * worklist as i32 + field)
    }

    /// Writes down the numbers of all waves of a tile, if there are worklists.
    pub(super) fn number_waves(&mut self) {
        let all = self.program.cut.worklists;
        if all > 0 {
            let address = self.worklist_address(all);
            for number in 0..TILE {
                let value = self.simd.literal(number as u32);
                self.simd.store_pointer(value, Address::at(address, 8 * number as i32));
            }
        }
    }

    /// Begins a tile: behind its worklists come all waves. What no worklist runs is for all.
    pub(super) fn declare_worklists(&mut self) {
        let all = self.program.cut.worklists;
        if all > 0 {
            let numbers = self.worklist_address(all);
            self.simd.store_pointer(numbers, self.members(all, NUMBERS));
            let (first, end) = (self.tile().first, self.tile().end);
            let count = self.waves_between(first, end);
            self.simd.store_pointer(count, self.members(all, COUNT));
        }
    }

    /// How many waves there are from one element to another.
    fn waves_between(&mut self, first: VReg, end: VReg) -> VReg {
        let elements = self.simd.general(X::Sub64, &[end], first);
        self.simd.general_imm(X::Shr64, elements, self.step.ilog2())
    }

    /// How many waves of the tile come to a block of it, as a number of 64 bits.
    pub(super) fn waves_at(&mut self, block: Block) -> VReg {
        match self.program.cut.comes[block] {
            Some(worklist) => self.simd.load_pointer(self.members(worklist, COUNT)),
            None => {
                let (first, end) = (self.tile().first, self.tile().end);
                self.waves_between(first, end)
            }
        }
    }

    /// The number of the wave at hand in its tile.
    pub(super) fn wave_number(&mut self) -> VReg {
        match self.phase.as_ref().and_then(|phase| phase.turn) {
            Some(turn) => turn.number,
            None => self.waves_between(self.tile().first, self.wave.element),
        }
    }

    fn worklist_address(&mut self, worklist: u32) -> VReg {
        self.simd.address(Address::at(self.frame, self.places.frame.worklist(worklist as usize) as i32))
    }

    /// Makes the waves of the worklist around it the worklist.
    pub(super) fn enter_worklist(&mut self, worklist: u32, outer: Option<u32>) {
        let outer = outer.unwrap_or(self.program.cut.worklists);
        for field in [NUMBERS, COUNT] {
            let value = self.simd.load_pointer(self.members(outer, field));
            self.simd.store_pointer(value, self.members(worklist, field));
        }
    }

    /// Begins a loop over the waves of a worklist.
    pub(super) fn begin_turns(&mut self, worklist: u32) -> Turn {
        let (first, records) = (self.tile().first, self.tile().records);
        let [numbers, count] = [NUMBERS, COUNT].map(|field| self.simd.load_pointer(self.members(worklist, field)));
        let none = self.simd.literal(0);
        self.simd.code.jump(self.wave.block, &[none]);
        let index = self.simd.code.param(self.wave.block, Class::G);
        self.simd.code.switch_to(self.wave.block);
        let number = self.simd.load_pointer(Address::indexed(numbers, index, 3, 0));
        let elements = self.simd.general_imm(X::Shl64, number, self.step.ilog2());
        self.wave.element = self.simd.general(X::Add64, &[elements], first);
        self.wave.record = records.map(|records| {
            let offset = self.simd.general_imm(X::ImulImmediate64, number, self.places.frame.record as u32);
            self.simd.general(X::Add64, &[offset], records)
        });
        self.wave.first_rows.clear();
        self.wave.strides.clear();
        Turn { index, count, number }
    }

    /// Goes on to the next listed wave, if there is one, else to another block.
    pub(super) fn next_turn(&mut self, Turn { index, count, .. }: Turn, behind: super::code::BlockId) {
        let next = self.simd.address(Address::at(index, 1));
        self.simd.compare(X::Cmp64, next, count);
        self.simd.code.branch(Condition::Below, (self.wave.block, &[next]), (behind, &[]));
    }

    /// In front of a phase that lists waves: there are none yet.
    pub(super) fn begin_listing(&mut self, worklist: u32) {
        let none = self.simd.literal(0);
        self.simd.store_pointer(none, self.members(worklist, LISTED));
    }

    /// Lists the wave at hand if any of its lanes goes on. Where a worklist asks its own waves, those that stay move
    /// up.
    pub(super) fn list_wave(&mut self, worklist: u32, mask: Value) {
        let any = self.any_lane(mask);
        let number = self.wave_number();
        let listed = self.simd.load_pointer(self.members(worklist, LISTED));
        let at = self.places.frame.worklist(worklist as usize) as i32;
        self.simd.store_pointer(number, Address::indexed(self.frame, listed, 3, at));
        self.simd.add_to(self.members(worklist, LISTED), any);
    }

    /// Makes those that were listed the worklist, and says whether there are any.
    pub(super) fn take_listed(&mut self, worklist: u32) -> VReg {
        let numbers = self.worklist_address(worklist);
        self.simd.store_pointer(numbers, self.members(worklist, NUMBERS));
        let count = self.simd.load_pointer(self.members(worklist, LISTED));
        self.simd.store_pointer(count, self.members(worklist, COUNT));
        self.simd.compare_imm(X::CmpImmediate64, count, 0);
        self.simd.set(Condition::NotEqual)
    }
}
