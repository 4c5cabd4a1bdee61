//! The reference for batch programs: waves of the [interpreter](crate::interp) of functions, as many as a tile has, and
//! what a tile and a call do beside them.

use super::{BatchProgram, Copy, Word};
use crate::entity::{Block, Space};
use crate::eval::Lanes;
use crate::function::{Imm, InstData};
use crate::interp::{Bindings, InterpError, InterpOptions, Interpreter, Run};
use crate::op::Op;

/// Runs one program, a tile of waves of L lanes at a time; keeps its memory from run to run.
pub struct BatchInterpreter<'p, const L: usize> {
    program: &'p BatchProgram,
    waves: Vec<Interpreter<'p, L>>,
    outputs: Vec<Vec<[Lanes<L>; 4]>>,
}

/// The waves that come to what a tile does.
struct Members {
    all: Vec<usize>,
    worklists: Vec<Vec<usize>>,
    /// Those that have run the last phase.
    last: Vec<usize>,
}

impl Members {
    /// The waves of a worklist; all, if it is none.
    fn of(&self, worklist: Option<u32>) -> &Vec<usize> {
        worklist.map_or(&self.all, |worklist| &self.worklists[worklist as usize])
    }
}

impl BatchProgram {
    /// The word that a call fills in.
    fn filled(&self, word: Word, uniforms: &[&[[u32; 4]]]) -> u32 {
        match word {
            Word::Literal(literal) => literal,
            Word::Uniform { space, row, component } => {
                let table = self.spaces[Space::from_u32(space)].table.as_deref();
                let rows = table.unwrap_or_else(|| uniforms[space as usize]);
                rows.get(row as usize).map_or(0, |row| row[usize::from(component)])
            }
        }
    }
}

impl<'p, const L: usize> BatchInterpreter<'p, L> {
    /// Prepares to run a program.
    pub fn new(program: &'p BatchProgram) -> BatchInterpreter<'p, L> {
        BatchInterpreter { program, waves: Vec::new(), outputs: Vec::new() }
    }

    /// Runs a wave by itself, whose inputs are the words of its rows, and returns the output elements. Those that the
    /// layout leaves out are zero.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    ///
    /// # Panics
    /// As [`Interpreter::run`].
    pub fn run(
        &mut self,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<&[[Lanes<L>; 4]], InterpError> {
        self.run_tile(std::slice::from_ref(bindings), options)?;
        Ok(&self.outputs[0])
    }

    /// Runs the waves of a tile. Where the program is cut, all of them run a phase before any runs the next one.
    ///
    /// # Errors
    /// As [`Interpreter::run`]: what stops one wave stops all.
    ///
    /// # Panics
    /// As [`Interpreter::run`].
    pub fn run_tile(&mut self, tile: &[Bindings<'_, L>], options: &InterpOptions<'_>) -> Result<(), InterpError> {
        let program = self.program;
        // One wave does what all of a group would.
        let tile = &tile[..tile.len().div_ceil(program.waves_of_group as usize)];
        let missing = tile.len().saturating_sub(self.waves.len());
        self.waves.extend((0..missing).map(|_| Interpreter::with_costs(&program.func, program.costs.clone())));
        self.outputs.clear();
        for (wave, bindings) in self.waves.iter_mut().zip(tile) {
            for fill in &program.call.fills {
                wave.fill(fill.slot, fill.words.map(|word| program.filled(word, bindings.uniforms)));
            }
        }
        if !program.is_cut() {
            for (wave, bindings) in self.waves.iter_mut().zip(tile) {
                wave.run(bindings, options)?;
            }
        } else {
            self.run_phases(tile, options)?;
        }
        for (wave, bindings) in self.waves.iter().zip(tile) {
            let mut outputs = wave.outputs().to_vec();
            for &Copy { output, input } in &program.copies {
                outputs[output as usize] = bindings.inputs[input as usize];
            }
            self.outputs.push(outputs);
        }
        Ok(())
    }

    fn run_phases(&mut self, tile: &[Bindings<'_, L>], options: &InterpOptions<'_>) -> Result<(), InterpError> {
        let program = self.program;
        let waves = self.waves.iter_mut().take(tile.len());
        let mut runs = waves.map(|wave| wave.begin(options)).collect::<Result<Vec<Run<'_>>, _>>()?;
        let worklists = vec![Vec::new(); program.cut.worklists as usize];
        let mut members = Members { all: (0..tile.len()).collect(), worklists, last: Vec::new() };
        let mut next = Some(program.entry());
        while let Some(block) = next {
            let Some(number) = program.phase_of(block) else {
                for &inst in &program.blocks[block].insts {
                    self.tile_inst(&program.insts[inst], &mut members, tile, options);
                }
                next = self.tile_branch(block, &members, &mut runs)?;
                continue;
            };
            let phase = &program.cut.phases[number];
            members.last = members.of(phase.worklist).clone();
            for &wave in &members.last {
                let mut at = block;
                while program.phase_of(at) == Some(number) {
                    self.waves[wave].block(at, &tile[wave], options);
                    let (to, cost) = self.waves[wave].leave(at)?.expect("no block of a phase returns");
                    runs[wave].pay(cost)?;
                    at = to;
                }
            }
            next = Some(phase.next);
        }
        runs.iter_mut().try_for_each(|run| Ok(run.end()?))
    }

    /// What a tile does once, each of its waves does here by itself: it comes to the same.
    fn tile_inst(
        &mut self,
        inst: &InstData,
        members: &mut Members,
        tile: &[Bindings<'_, L>],
        options: &InterpOptions<'_>,
    ) {
        match (inst.op, inst.imm) {
            (Op::WorklistAny, Imm::Worklist(worklist)) => {
                let listed = members.last.iter().copied().filter(|&wave| self.waves[wave].is_listed(worklist));
                let listed: Vec<usize> = listed.collect();
                for wave in &mut self.waves[..tile.len()] {
                    wave.set(inst.result.expect("it has a result"), u32::from(!listed.is_empty()));
                }
                members.worklists[worklist as usize] = listed;
            }
            (Op::WorklistEnter, Imm::Nested { worklist, outer }) => {
                members.worklists[worklist as usize] = members.of(outer).clone();
            }
            _ => {
                for (wave, bindings) in self.waves.iter_mut().zip(tile) {
                    wave.step(inst, bindings, options);
                }
            }
        }
    }

    /// Where a tile goes on. The waves that come there pay for it.
    fn tile_branch(
        &mut self,
        block: Block,
        members: &Members,
        runs: &mut [Run<'_>],
    ) -> Result<Option<Block>, InterpError> {
        let mut targets = Vec::with_capacity(runs.len());
        for wave in &mut self.waves[..runs.len()] {
            targets.push(wave.leave(block)?);
        }
        if targets.iter().any(|target| *target != targets[0]) {
            return Err(InterpError::Divergent { block });
        }
        let Some((target, cost)) = targets[0] else { return Ok(None) };
        members.of(self.program.cut.comes[block]).iter().try_for_each(|&wave| runs[wave].pay(cost))?;
        Ok(Some(target))
    }

    /// The output elements of a wave of the last run.
    pub fn outputs(&self, wave: usize) -> &[[Lanes<L>; 4]] {
        &self.outputs[wave]
    }

    /// Whether no guard has failed in a wave of the last run.
    pub fn guards_hold(&self, wave: usize) -> bool {
        self.waves[wave].guards_hold()
    }
}
