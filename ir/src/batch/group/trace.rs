//! What a run of a group computes, as a list, and the blocks that it is in.

use crate::eval::Lanes;
use crate::function::{Operands, Picks};
use crate::{Inst, Type};

/// Lanes of the widest waves.
pub const LANES: usize = Picks::LANES;

/// What a wave computes at some point of the run, by its number.
pub type Node = u32;

/// One word of one lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    Known(u32),
    Lane {
        node: Node,
        lane: u8,
    },
    /// Shared memory may have anything there.
    Unknown,
}

impl Cell {
    /// What all words that are in the same value have in common.
    pub fn source(self) -> Cell {
        match self {
            Cell::Lane { node, .. } => Cell::Lane { node, lane: 0 },
            other => other,
        }
    }
}

/// How what is computed comes about.
pub enum Source {
    /// An instruction of the function, of these operands.
    Inst { inst: Inst, args: [Node; Operands::MAX] },
    /// Each lane's word is one that there is.
    Cells(Box<Cells>),
    /// Edges give it.
    Param,
}

/// Where words are, which may be where they have been copied to from elsewhere.
pub struct Cells {
    /// As they have been found.
    pub near: [Cell; LANES],
    /// As instructions made them.
    pub far: [Cell; LANES],
}

/// What is computed.
pub struct NodeData {
    pub source: Source,
    pub ty: Type,
    /// The words of all lanes, where they are known; zero behind the wave's last lane.
    pub known: Option<Lanes<LANES>>,
    /// The number of the block that it is in.
    pub block: usize,
}

/// How a block ends.
pub enum End {
    Return,
    /// Goes to another one, and gives its parameters.
    Jump(usize, Vec<Node>),
    /// Goes to the first where the condition holds, else to the second.
    Branch(Node, [usize; 2]),
}

/// A block.
pub struct BlockTrace {
    pub params: Vec<Node>,
    /// The fuel that all waves take there.
    pub cost: u64,
    /// `None` while it is being made.
    pub end: Option<End>,
}

/// The run.
pub struct Trace {
    /// Those of a block follow each other.
    pub nodes: Vec<NodeData>,
    /// The first is where it begins. Each comes behind what leads to it, but for edges back.
    pub blocks: Vec<BlockTrace>,
    pub lanes: usize,
}
