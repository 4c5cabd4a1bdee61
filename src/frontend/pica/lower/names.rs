//! What a geometry shader names: only that has variables, and is state.

use super::plan::Plan;
use crate::frontend::geometry::MAX_TRIANGLES;
use crate::frontend::pica::decode::{Effect, Instruction, Program, Sources};
use crate::frontend::pica::flow::{Choice, Exit, Flow, Step};
use crate::frontend::pica::opcode::Opcode;
use crate::frontend::pica::operand::{AddressRegister, Destination, Source, Test};

/// What reachable code names.
#[derive(Default)]
pub(super) struct Names {
    pub temporaries: [bool; 16],
    pub outputs: [bool; 16],
    pub address: [bool; 3],
    pub flags: bool,
    pub latch: bool,
    /// Number of EMITs.
    pub emits: u32,
    /// The most triangles that an invocation may emit, as far as is known.
    pub triangles: u32,
    /// Those that every invocation emits.
    pub plan: Option<Plan>,
}

impl Names {
    /// What the words of the graph name; without one, what any word of the program does.
    pub fn of(program: &Program, flow: Option<&Flow>) -> Names {
        let mut names = Names { triangles: MAX_TRIANGLES, ..Names::default() };
        let Some(flow) = flow else {
            program.instructions().iter().for_each(|instruction| names.add(instruction));
            names.address = [true; 3];
            names.flags = true;
            return names;
        };
        for block in &flow.blocks {
            for step in &block.steps {
                match *step {
                    Step::Execute(address) => {
                        names.add(program.get(address).expect("the graph names words of the program"));
                    }
                    _ => names.address[AddressRegister::Loop as usize] = true,
                }
            }
            names.flags |= matches!(block.exit, Exit::Branch { choice: Choice::Test(Test::Flags(_)), .. });
        }
        if !has_cycle(flow) {
            // No EMIT is executed twice.
            names.triangles = names.emits.clamp(1, MAX_TRIANGLES);
            names.plan = Plan::of(program, flow);
        }
        names
    }

    fn add(&mut self, instruction: &Instruction) {
        match instruction.effect {
            Effect::Arithmetic { destination, ref sources, .. } => {
                match destination {
                    Some(Destination::Output(number)) => self.outputs[usize::from(number)] = true,
                    Some(Destination::Temporary(number)) => self.temporaries[usize::from(number)] = true,
                    None => self.address[..2].fill(true),
                }
                self.flags |= instruction.opcode == Some(Opcode::Litp);
                self.add_sources(sources);
            }
            Effect::Compare { ref sources, .. } => {
                self.flags = true;
                self.add_sources(sources);
            }
            Effect::Emit => {
                self.emits += 1;
                self.latch = true;
            }
            Effect::SetEmit { .. } => self.latch = true,
            _ => {}
        }
    }

    fn add_sources(&mut self, sources: &Sources) {
        for source in sources.iter() {
            match source {
                Source::Temporary(number) => self.temporaries[usize::from(number)] = true,
                Source::Uniform { relative: Some(register), .. } => self.address[register as usize] = true,
                _ => {}
            }
        }
    }
}

/// Whether the graph has a cycle. Its blocks are in reverse postorder, so an edge that closes one leads to the same
/// block or an earlier one.
fn has_cycle(flow: &Flow) -> bool {
    let blocks = flow.blocks.iter().enumerate();
    let mut edges = blocks.flat_map(|(from, block)| block.exit.targets().map(move |to| (from, to.index())));
    edges.any(|(from, to)| to <= from)
}
