//! What a call puts into its slots before any code runs. Most slots are rows as they are bound, which is found out when
//! the code is made, and not word by word in each call.

use super::{Row, Scratch, UniformRows};
use crate::jit::Code;
use shaderjit_ir::batch::{Fill, Word};

/// One slot, and where its words come from.
#[derive(Clone, Copy, Debug)]
pub struct SlotFill {
    slot: u32,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// A row of a uniform space.
    Row {
        space: u32,
        row: u32,
    },
    /// One word in all lanes.
    Splat(Word),
    /// Words of one space, by their numbers from its first on.
    Uniforms {
        space: u32,
        words: [u32; 4],
    },
    Words([Word; 4]),
}

impl From<Fill> for SlotFill {
    fn from(Fill { slot, words }: Fill) -> SlotFill {
        let source = match words[0] {
            first if words == [first; 4] => Source::Splat(first),
            Word::Uniform { space, row, component: 0 }
                if words == [0, 1, 2, 3].map(|component| Word::Uniform { space, row, component }) =>
            {
                Source::Row { space, row }
            }
            Word::Uniform { space, .. } if let Some(words) = words_of(space, words) => {
                Source::Uniforms { space, words }
            }
            _ => Source::Words(words),
        };
        SlotFill { slot, source }
    }
}

/// The numbers of words that are all of one space.
fn words_of(space: u32, words: [Word; 4]) -> Option<[u32; 4]> {
    let mut numbers = [0; 4];
    for (number, word) in numbers.iter_mut().zip(words) {
        match word {
            Word::Uniform { space: of, row, component } if of == space => *number = row * 4 + u32::from(component),
            _ => return None,
        }
    }
    Some(numbers)
}

impl SlotFill {
    /// The slot.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether it reads a space.
    pub fn reads(&self, space: usize) -> bool {
        let is_of = |word: &Word| matches!(word, Word::Uniform { space: of, .. } if *of as usize == space);
        match &self.source {
            Source::Row { space: of, .. } | Source::Uniforms { space: of, .. } => *of as usize == space,
            Source::Splat(word) => is_of(word),
            Source::Words(words) => words.iter().any(is_of),
        }
    }

    /// What the slot holds, of uniform spaces by number.
    pub fn row<'u>(&self, space: impl Fn(usize) -> &'u UniformRows) -> Row {
        let word = |word: Word| match word {
            Word::Literal(literal) => literal,
            Word::Uniform { space: of, row, component } => space(of as usize).word(row, component),
        };
        match self.source {
            Source::Row { space: of, row } => space(of as usize).row(row),
            Source::Splat(same) => Row([word(same); 4]),
            Source::Uniforms { space: of, words } => space(of as usize).words(words),
            Source::Words(words) => Row(words.map(word)),
        }
    }
}

impl Code {
    /// Fills the slots of the call in that are there before it runs.
    pub(super) fn fill_slots(&self, uniforms: &[UniformRows], scratch: &mut Scratch) {
        let frame = &mut *scratch.frame;
        for fill in &self.info.fills {
            frame[fill.slot as usize] = fill.row(|space| self.rows_of(space, uniforms));
        }
    }

    /// The rows of a space: those that are bound, if it is no table of the program.
    pub(super) fn rows_of<'u>(&'u self, space: usize, uniforms: &'u [UniformRows]) -> &'u UniformRows {
        self.info.tables[space].as_ref().unwrap_or(&uniforms[space])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_one_space_is_known_before_the_call() {
        let uniform = |row, component| Word::Uniform { space: 3, row, component };
        let fill = |words| SlotFill::from(Fill { slot: 1, words });
        let source = |words| fill(words).source;
        assert!(matches!(
            source([0, 1, 2, 3].map(|component| uniform(7, component))),
            Source::Row { space: 3, row: 7 }
        ));
        assert!(matches!(source([uniform(7, 0); 4]), Source::Splat(word) if word == uniform(7, 0)));
        let words = |words: [Word; 4]| match source(words) {
            Source::Uniforms { space: 3, words } => Some(words),
            _ => None,
        };
        assert_eq!(words([0, 1, 2, 3].map(|row| uniform(row, 2))), Some([2, 6, 10, 14]));
        assert_eq!(words([1, 2, 3, 0].map(|component| uniform(7, component))), Some([29, 30, 31, 28]));
        let other = [Word::Literal(7), Word::Uniform { space: 4, row: 0, component: 0 }, uniform(0, 0), uniform(0, 1)];
        assert!(matches!(source(other), Source::Words(_)));
        let column = [0, 1, 2, 3].map(|row| uniform(row, 2));
        for words in [[0, 1, 2, 3].map(|component| uniform(7, component)), [uniform(7, 0); 4], column, other] {
            assert!(fill(words).reads(3) && !fill(words).reads(2));
        }
        assert!(fill(other).reads(4) && !fill([Word::Literal(3); 4]).reads(3));
    }
}
