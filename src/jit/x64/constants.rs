//! The constant pool: what instructions read from behind the code, each constant once.

use foldhash::HashMap;
use shaderjit_ir::batch::Steps;
use shaderjit_ir::function::Picks;

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// A word, in so many lanes.
    Word(u32, u8),
    /// Two words, in so many pairs of lanes.
    Pair([u32; 2], u8),
    /// Four words, in so many rows.
    Row([u32; 4], u8),
    /// As many words as there are lanes, from the first on, each so many more than that before.
    Count(u32, u32, u8),
    /// As many words as there are lanes: what a lane has more than the first by its steps, shifted right.
    Steps(Steps, u8, u8),
    /// As many words as there are lanes: the numbers from the first on, each followed by what is as many more.
    Interleaved(u32, u8),
    /// Words, as many of them as there are lanes.
    Words([u32; Picks::LANES], u8),
}

impl Constant {
    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        let words: Vec<u32> = match self {
            Constant::Word(word, lanes) => vec![word; usize::from(lanes)],
            Constant::Pair(words, pairs) => words.repeat(usize::from(pairs)),
            Constant::Row(words, rows) => words.repeat(usize::from(rows)),
            Constant::Count(first, step, lanes) => (0..u32::from(lanes)).map(|lane| first + step * lane).collect(),
            Constant::Steps(steps, shift, lanes) => (0..lanes).map(|lane| steps.of_lane(lane) >> shift).collect(),
            Constant::Interleaved(first, lanes) => {
                let lanes = u32::from(lanes);
                (first..first + lanes / 2).flat_map(|number| [number, number + lanes]).collect()
            }
            Constant::Words(words, lanes) => words[..usize::from(lanes)].to_vec(),
        };
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// A power of two that it is to be aligned to.
    pub fn align(self) -> usize {
        match self {
            Constant::Word(_, lanes)
            | Constant::Count(_, _, lanes)
            | Constant::Steps(_, _, lanes)
            | Constant::Interleaved(_, lanes)
            | Constant::Words(_, lanes) => 4 * usize::from(lanes),
            Constant::Pair(_, pairs) => 8 * usize::from(pairs),
            Constant::Row(_, rows) => 16 * usize::from(rows),
        }
    }
}

/// The constants of a function.
#[derive(Debug, Default)]
pub struct Constants {
    numbers: HashMap<Constant, u32>,
    all: Vec<Constant>,
}

impl Constants {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.all.clear();
    }

    /// The number of a constant.
    pub fn number(&mut self, constant: Constant) -> u32 {
        *self.numbers.entry(constant).or_insert_with(|| {
            self.all.push(constant);
            self.all.len() as u32 - 1
        })
    }

    /// Appends them behind code, those of the largest alignment first; gives where each is.
    pub fn append(&self, code: &mut Vec<u8>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_key(|&number| std::cmp::Reverse(self.all[number].align()));
        let mut places = vec![0; self.all.len()];
        for number in order {
            let constant = self.all[number];
            // int3, where no instruction is.
            code.resize(code.len().next_multiple_of(constant.align()), 0xcc);
            places[number] = code.len();
            code.extend(constant.bytes());
        }
        places
    }
}
