//! Accesses to [elements](crate::jit::coalesce::Elements) side by side in memory: rows are loaded and transposed, or
//! transposed and stored.
//!
//! Where half of the lanes have one element and the others another one, as the rows of a tile, both rows are loaded
//! instead of each word of both.

use super::Selector;
use super::coalesce::{Certainty, Together, UPPER_HALF};
use super::code::Address;
use super::encode::Condition;
use super::fetch::RowAddresses;
use super::simd::wanted_words;
use super::value::Memo;
use crate::jit::coalesce::{ElementAccess, Lie, Loads, Place, Stores};
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Inst, Value};

impl Selector<'_> {
    /// Selects for an access to elements; false if it is none.
    pub(super) fn element_access(&mut self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let Some(access) = self.here.elements.access(inst, data.imm) else { return false };
        self.set_origin(data.origin);
        match access {
            ElementAccess::Load { number, loads, word } => {
                let words = self.memoised_all(Memo::Elements(number), |this| this.load_elements(&loads));
                self.define_vector(super::result(data), words[word]);
            }
            ElementAccess::Store(stores) => self.store_elements(&stores),
            ElementAccess::Put => {}
        }
        true
    }

    /// The words of all lanes, in order of a row, those that are wanted.
    fn load_elements(&mut self, loads: &Loads) -> [VReg; 4] {
        let &Loads { address, lie, is_memory, resource, at, wanted } = loads;
        let (skipped, bytes) = loads.part();
        let (place, wanted) = ((resource, at + 4 * skipped), wanted >> skipped);
        let apart = |this: &mut Self, is_kept: bool| {
            wanted_words(wanted, |word| {
                let place = (resource, place.1 + 4 * u32::from(word));
                this.load_apart((address, is_memory), place, is_kept)
            })
        };
        if let Lie::InHalves(_) = lie {
            // What loads of a block share is made in front of branches.
            self.some_lanes(UPPER_HALF);
        }
        let together = |this: &mut Self, first: Address| match lie {
            Lie::InHalves(distance) => this.two_rows([first, first.plus(distance as i32)], wanted),
            Lie::Apart(distance) => {
                this.fetch(bytes as usize, &RowAddresses::Apart { first, distance: distance as i32 }, wanted)
            }
        };
        let found = match self.elements_at((address, is_memory), place, lie, bytes) {
            None => apart(self, true),
            Some((first, Certainty::Certain)) => together(self, first),
            Some((first, Certainty::Compared)) => {
                let together = |this: &mut Self| together(this, first);
                self.likely_words(Condition::LessEqual, wanted, together, |this| apart(this, false))
            }
        };
        let mut words = [VReg::invalid(); 4];
        words[skipped as usize..].copy_from_slice(&found[..4 - skipped as usize]);
        words
    }

    /// Words of two rows: of the first in the lower lanes, of the second in the upper ones.
    fn two_rows(&mut self, rows: [Address; 2], wanted: u8) -> [VReg; 4] {
        let upper = self.some_lanes(UPPER_HALF);
        let [low, high] = rows.map(|row| self.simd.load_row(row));
        let both = self.simd.blend(upper, high, low);
        wanted_words(wanted, |word| self.simd.permute(both, [word; 4]))
    }

    /// Where so many bytes of the first lane's element lie, and all others like that: `LessEqual` holds if they do,
    /// unless that is certain.
    fn elements_at(
        &mut self,
        address: (Value, bool),
        place: Place,
        lie: Lie,
        bytes: u32,
    ) -> Option<(Address, Certainty)> {
        let shape = self.coalescing.shape_of_elements(address.0, lie, bytes);
        let (together, certainty) = self.compare_addresses(address, place, Some(shape))?;
        let Together::Shape(first) = together else { unreachable!("a shape has been asked for") };
        Some((first, certainty))
    }

    /// Stores words side by side.
    fn store_elements(&mut self, stores: &Stores) {
        let (func, &Stores { distance, resource, at, .. }) = (self.func, stores);
        let insts: Vec<&InstData> = stores.insts.iter().map(|&inst| &func.insts[inst]).collect();
        let address = insts[0].args[0];
        let words: Vec<VReg> = insts.iter().map(|inst| self.vector(inst.args[1])).collect();
        let mask = self.stores_where(insts[0].args[2]);
        let apart = |this: &mut Self| {
            for (at, &word) in (at..).step_by(4).zip(&words) {
                this.store_apart(address, (resource, at), word, mask);
            }
        };
        let bytes = 4 * words.len() as u32;
        match self.elements_at((address, true), (resource, at), stores.lie(), bytes) {
            None => apart(self),
            Some((first, certainty)) => {
                let rows = RowAddresses::Apart { first, distance: distance as i32 };
                let together = |this: &mut Self| this.store_components(&words, &rows);
                self.store_if_together(certainty, mask, together, apart);
            }
        }
    }
}
