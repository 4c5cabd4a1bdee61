//! Debug records: where in a function the instructions of its source program begin, and which values the registers of
//! that program have from there on.
//!
//! They lie beside the function and not in it, so that passes need not know them, and are kept only where a front end
//! [asks for them](crate::FunctionBuilder::keep_records): nothing else pays. They are true of the function as it was
//! built, before any pass.

use crate::entity::{Block, Value, Variable};
use crate::function::Origin;
use cranelift_entity::SecondaryMap;

/// Something that is true from one place of a function on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A source instruction begins.
    Begin(Origin),
    /// A word of the source program begins, in code that goes through its words one by one: the one at the byte offset
    /// `first + 4 * word`.
    BeginWord {
        /// Its number.
        word: Value,
        /// The offset of word 0.
        first: u32,
    },
    /// A register of the source program has been written.
    Write {
        /// Which.
        variable: Variable,
        /// What it is now.
        value: Value,
    },
    /// A test of the source program has been made.
    Test {
        /// An `i1`.
        value: Value,
        /// What it is where the test holds.
        holds: bool,
    },
}

impl Record {
    /// The value that it names, to be replaced.
    fn value_mut(&mut self) -> Option<&mut Value> {
        match self {
            Record::Begin(_) => None,
            Record::BeginWord { word: value, .. } | Record::Write { value, .. } | Record::Test { value, .. } => {
                Some(value)
            }
        }
    }

    /// The value that it names, if it names one.
    pub fn value(mut self) -> Option<Value> {
        self.value_mut().copied()
    }
}

/// The records of a function.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// For each block, in order: how many of its instructions come before, and the record.
    blocks: SecondaryMap<Block, Vec<(u32, Record)>>,
}

impl Records {
    /// Those of a block, in order, each with the number of the block's instructions that come before it.
    pub fn of(&self, block: Block) -> &[(u32, Record)] {
        &self.blocks[block]
    }

    /// Appends a record behind the instructions that a block has.
    pub(crate) fn push(&mut self, block: Block, insts: usize, record: Record) {
        self.blocks[block].push((insts as u32, record));
    }

    /// An instruction has come in front of all others of a block.
    pub(crate) fn shift(&mut self, block: Block) {
        self.blocks[block].iter_mut().for_each(|(insts, _)| *insts += 1);
    }

    /// Replaces every value by what `f` says.
    pub(crate) fn replace_values(&mut self, f: impl Fn(Value) -> Value) {
        for (_, record) in self.blocks.values_mut().flatten() {
            if let Some(value) = record.value_mut() {
                *value = f(*value);
            }
        }
    }
}
