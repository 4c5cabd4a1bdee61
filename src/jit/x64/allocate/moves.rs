//! Parallel moves: values that change places at once, in an order in which they may do so one after the other.

use super::places::{Place, REGISTERS};

/// A value's new place, and its place so far.
#[derive(Clone, Copy)]
pub struct Move {
    pub to: Place,
    pub from: Place,
}

/// Puts moves in order. Its memory is used again.
#[derive(Default)]
pub struct Sequencer {
    /// By place: how many moves read it that are still to come.
    readers: Vec<u32>,
    /// By place: one more than the number of the move that writes it, or 0.
    writer: Vec<u32>,
    ready: Vec<u32>,
    is_done: Vec<bool>,
}

impl Sequencer {
    /// Prepares for places up to those of so many virtual registers.
    pub fn prepare(&mut self, registers: usize) {
        let places = REGISTERS + registers;
        for list in [&mut self.readers, &mut self.writer] {
            list.clear();
            list.resize(places, 0);
        }
    }

    /// Gives `emit` moves, (to, from), that together do what `moves` do at once. Each place is written once there.
    /// `spare` is a place in memory for the class of a register or slot, which none of them names.
    pub fn run(&mut self, moves: &[Move], spare: impl Fn(Place) -> Place, mut emit: impl FnMut(Place, Place)) {
        self.is_done.clear();
        self.is_done.resize(moves.len(), false);
        for (number, &Move { to, from }) in (1..).zip(moves) {
            self.readers[from.index()] += 1;
            self.writer[to.index()] = number;
        }
        let is_free = |&number: &u32| self.readers[moves[number as usize].to.index()] == 0;
        self.ready.extend((0..moves.len() as u32).filter(is_free));
        while let Some(number) = self.ready.pop() {
            let Move { to, from } = moves[number as usize];
            emit(to, from);
            self.is_done[number as usize] = true;
            self.readers[from.index()] -= 1;
            let writer = self.writer[from.index()];
            if self.readers[from.index()] == 0 && writer > 0 {
                self.ready.push(writer - 1);
            }
        }
        // What is left are rings, in which each place is read once.
        for (number, &first) in moves.iter().enumerate() {
            if self.is_done[number] {
                continue;
            }
            let spare = spare(first.to);
            emit(spare, first.to);
            let mut at = number;
            while moves[at].from != first.to {
                let Move { to, from } = moves[at];
                emit(to, from);
                self.is_done[at] = true;
                at = self.writer[from.index()] as usize - 1;
            }
            emit(moves[at].to, spare);
            self.is_done[at] = true;
        }
        for &Move { to, from } in moves {
            (self.readers[from.index()], self.writer[to.index()]) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_hold_afterwards_what_the_others_held_before() {
        const SPARE: u32 = 5;
        let mut sequencer = Sequencer::default();
        sequencer.prepare(0);
        // Every way in which five places may be written from five.
        for code in 0..6u32.pow(5) {
            let source = |to: u32| code / 6u32.pow(to) % 6;
            let moves: Vec<Move> = (0..5)
                .filter(|&to| source(to) < 5 && source(to) != to)
                .map(|to| Move { to: Place(to), from: Place(source(to)) })
                .collect();
            let mut places = [10, 11, 12, 13, 14, 0];
            let spare = |_| Place(SPARE);
            sequencer.run(&moves, spare, |to, from| places[to.index()] = places[from.index()]);
            for to in 0..5 {
                let from = if source(to) < 5 { source(to) } else { to };
                assert_eq!(places[to as usize], 10 + from);
            }
        }
    }
}
