//! A forward dataflow analysis: which triangles an invocation has emitted wherever it is in the program, if that is the
//! same on every path that leads there.

use crate::frontend::pica::decode::{Effect, Program};
use crate::frontend::pica::flow::{Flow, Step};

/// The triangles that every invocation emits.
#[derive(Clone)]
pub(super) struct Plan {
    /// Whether each is inverted.
    pub inverted: Vec<bool>,
    /// What is known where each block of the graph begins.
    pub blocks: Vec<At>,
}

/// What is known at a place in the program.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct At {
    /// Number of triangles so far.
    triangles: usize,
    /// Whether EMIT ends a triangle, and whether that is inverted: what SETEMIT said last. Unknown is what an earlier
    /// invocation left.
    latch: Option<(bool, bool)>,
}

impl At {
    /// SETEMIT.
    pub fn set(&mut self, ends: bool, inverted: bool) {
        self.latch = Some((ends, inverted));
    }

    /// EMIT: the number of the triangle that it ends, if it does.
    pub fn emit(&mut self) -> Option<usize> {
        let (ends, _) = self.latch?;
        ends.then(|| {
            self.triangles += 1;
            self.triangles - 1
        })
    }
}

impl Plan {
    /// That of a graph without cycles, whose blocks are in reverse postorder. `None` if paths part.
    pub fn of(program: &Program, flow: &Flow) -> Option<Plan> {
        let mut inverted: Vec<bool> = Vec::new();
        let mut blocks: Vec<Option<At>> = vec![None; flow.blocks.len()];
        blocks[Flow::ENTRY.index()] = Some(At::default());
        let mut end = None;
        for (number, block) in flow.blocks.iter().enumerate() {
            let mut at = blocks[number].expect("a block is behind those that lead to it");
            for step in &block.steps {
                let Step::Execute(address) = *step else { continue };
                match program.get(address)?.effect {
                    Effect::SetEmit { primitive, inverted, .. } => at.set(primitive, inverted),
                    Effect::Emit => {
                        let (_, is_inverted) = at.latch?;
                        match at.emit() {
                            // Another path may emit it, too.
                            Some(triangle) if triangle < inverted.len() => {
                                (inverted[triangle] == is_inverted).then_some(())?;
                            }
                            Some(_) => inverted.push(is_inverted),
                            None => {}
                        }
                    }
                    _ => {}
                }
            }
            for to in block.exit.targets() {
                let known = blocks[to.index()].get_or_insert(at);
                (known.triangles == at.triangles).then_some(())?;
                if known.latch != at.latch {
                    known.latch = None;
                }
            }
            if block.exit.targets().next().is_none() {
                let known = *end.get_or_insert(at.triangles);
                (known == at.triangles).then_some(())?;
            }
        }
        Some(Plan { inverted, blocks: blocks.into_iter().collect::<Option<_>>()? })
    }
}
