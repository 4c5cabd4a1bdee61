//! What is known of a function before any code is made: whether it can be compiled, what it reads, where its arrays
//! lie.

use super::lanes;
use crate::error::JitError;
use crate::jit::abi::ArrayPlace;
use crate::jit::{Layout, UniformRows, limit, limits, static_rows};
use cranelift_entity::{EntitySet, SecondaryMap};
use shaderjit_ir::batch::{BatchProgram, Copy, Frame, TILE, Uses, Word, size};
use shaderjit_ir::fuel::EdgeCosts;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::Memory;
use shaderjit_ir::{Array, Block, Function, Op, Value, cfg};

/// An input or output element's place in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// That of an input element.
    Input(u32),
    /// That of an output element.
    Output(u32),
}

/// As many streams as a loop can have a pointer and a stride of in registers. If there are more, it loads both for
/// each.
const CARRIED_STREAMS: usize = 4;

/// How many vertices a round of the loop shades where all is done by rows. More are more code of the same kind, fewer
/// are shaded more slowly.
const ROWS_AT_ONCE: usize = 2;

/// Waves that one call of native code shades at most: beginning again costs little against so many.
const WAVES_AT_ONCE: usize = 1024;

/// Vertices that it shades at most if some of their outputs are copied afterwards.
const COPIED_AT_ONCE: usize = 192;

/// What the waves of one call weigh without what their loops take: a millisecond's work or so.
const WEIGHT_AT_ONCE: u64 = 1 << 20;

/// The facts.
pub struct Plan<'a> {
    program: &'a BatchProgram,
    /// Groups of four lanes.
    pub vectors: usize,
    /// Reachable blocks, each after its dominators.
    pub order: &'a [Block],
    /// What edges cost in fuel.
    pub costs: &'a EdgeCosts,
    /// Values that are the same in all lanes.
    pub uniform: &'a EntitySet<Value>,
    /// For each input element of the layout, whether words of its rows are read.
    pub wanted: Vec<bool>,
    /// Outputs that are copies of inputs.
    pub copies: &'a [Copy],
    /// How often values are used.
    pub uses: &'a SecondaryMap<Value, Uses>,
    /// The streams whose rows each loop steps along, if they are few: for each phase, or for the one loop.
    carried: Vec<Vec<Stream>>,
    /// For each input element of the layout, whether its rows are read.
    pub reads: Vec<bool>,
    /// What lies where beside the caller's buffers.
    pub frame: Frame,
    /// Whether lanes have addresses of their own.
    scattered: bool,
    /// Whether any value is guarded.
    pub guards: bool,
    /// Whether any edge goes backwards.
    pub loops: bool,
    /// For each uniform space, whether anything is loaded from it.
    pub used_spaces: Vec<bool>,
    /// For each uniform space, how many rows are read without a check.
    pub uniform_rows: Vec<u32>,
    /// Whether anything is asked of a resource.
    pub uses_resources: bool,
    /// Where the arrays lie.
    pub arrays: SecondaryMap<Array, ArrayPlace>,
    /// Their size, a multiple of 64.
    pub scratch_bytes: u32,
    /// How much of it, from the start, begins as zero: all but the arrays that are kept. A multiple of 64.
    pub zeroed_bytes: u32,
}

impl<'a> Plan<'a> {
    pub fn new(program: &'a BatchProgram, layout: &Layout) -> Result<Plan<'a>, JitError> {
        let func = program.func();
        check(func, layout)?;
        let vectors = program.vectors();
        let (arrays, zeroed_bytes, scratch_bytes) = place_arrays(func, vectors)?;
        let waves = if program.phases().is_empty() { 1 } else { TILE as u64 };
        limit("the size of register arrays", u64::from(scratch_bytes) * waves, limits::SCRATCH_BYTES)?;
        let mut plan = Plan {
            program,
            vectors,
            order: program.order(),
            costs: program.costs(),
            uniform: program.uniform(),
            wanted: vec![false; layout.inputs.len()],
            copies: program.copies(),
            uses: program.uses(),
            carried: Vec::new(),
            reads: vec![false; layout.inputs.len()],
            frame: Frame::new(program, 0),
            scattered: false,
            guards: false,
            loops: false,
            used_spaces: vec![false; func.spaces.len()],
            uniform_rows: readable_rows(program),
            uses_resources: false,
            arrays,
            scratch_bytes,
            zeroed_bytes,
        };
        for &block in program.call_block().iter().chain(plan.order) {
            let data = &func.blocks[block];
            plan.loops |= cfg::successors(func, block).any(|target| plan.costs.edge(block, target) > 0);
            for &inst in &data.insts {
                plan.note(&func.insts[inst], layout)?;
            }
        }
        plan.frame = Frame::new(program, if plan.scattered { 16 * lanes::SLOTS } else { 0 });
        plan.place_streams(func, layout.outputs.len());
        plan.copies.iter().for_each(|copy| plan.reads[copy.input as usize] = true);
        Ok(plan)
    }

    /// Whether the function is cut into phases.
    pub fn is_cut(&self) -> bool {
        !self.program.phases().is_empty()
    }

    /// How many vertices a round of the native loop shades.
    pub fn step(&self) -> usize {
        if self.program.is_by_rows() { ROWS_AT_ONCE } else { 4 * self.vectors }
    }

    /// How many waves one call of native code shades: whole tiles, few enough that whoever wants to end the batch is
    /// heard soon, and that its output bytes are still in the first-level cache where they are copied.
    pub fn waves_at_once(&self) -> usize {
        let most = if self.copies.is_empty() { WAVES_AT_ONCE } else { COPIED_AT_ONCE / (4 * self.vectors) };
        let waves = (WEIGHT_AT_ONCE / self.costs.whole().max(1)).min(most as u64) as usize;
        (waves / TILE).max(1) * TILE
    }

    /// Says which streams each loop steps along.
    fn place_streams(&mut self, func: &Function, outputs: usize) {
        let phases = self.program.phases();
        let mut streams: Vec<Vec<Stream>> = vec![Vec::new(); phases.len().max(1)];
        // For each input the last phase that has it, plus 1.
        let mut fetched_by = vec![0; self.wanted.len()];
        let mut stored_by = vec![None; outputs];
        for &block in self.order {
            let phase = self.program.phase_of(block).unwrap_or(0);
            for data in func.blocks[block].insts.iter().map(|&inst| &func.insts[inst]) {
                match (data.op, data.imm) {
                    (Op::Input | Op::InputWord, Imm::Element { element, .. })
                    | (Op::InputRow, Imm::Stream(element))
                        if data.result.is_some_and(|result| self.program.is_used(result))
                            && std::mem::replace(&mut fetched_by[element as usize], phase + 1) != phase + 1 =>
                    {
                        streams[phase].push(Stream::Input(element));
                    }
                    (Op::Output, Imm::Element { element, .. }) if self.program.is_stored(element) => {
                        stored_by[element as usize] = Some(phase);
                    }
                    (Op::OutputRow, Imm::Stream(element)) => stored_by[element as usize] = Some(phase),
                    _ => {}
                }
            }
        }
        for (output, phase) in (0u32..).zip(stored_by) {
            streams[phase.unwrap_or(0)].extend(phase.map(|_| Stream::Output(output)));
        }
        // Waves of a worklist do not follow each other.
        let is_listed = |phase: usize| phases.get(phase).is_some_and(|phase| phase.worklist.is_some());
        let is_carried =
            |(phase, streams): &(usize, Vec<Stream>)| streams.len() <= CARRIED_STREAMS && !is_listed(*phase);
        let streams = streams.into_iter().enumerate();
        self.carried = streams.map(|it| if is_carried(&it) { it.1 } else { Vec::new() }).collect();
    }

    /// The streams whose rows a loop steps along: that of a phase, or the one loop, which is number 0.
    pub fn carried(&self, phase: usize) -> &[Stream] {
        &self.carried[phase]
    }

    /// Notes what an instruction reads and sets.
    fn note(&mut self, inst: &InstData, layout: &Layout) -> Result<(), JitError> {
        match (inst.op, inst.imm) {
            (Op::Input | Op::InputWord, Imm::Element { element, component }) => {
                let format = layout.inputs.get(element as usize).ok_or_else(|| no_input(element))?;
                if usize::from(component) >= format.bytes().div_ceil(4) {
                    return Err(codegen(format!("input {element} has no word {component} in the layout")));
                }
                if inst.result.is_some_and(|result| self.program.is_used(result)) {
                    self.wanted[element as usize] = true;
                    self.reads[element as usize] = true;
                }
            }
            (Op::InputRow, Imm::Stream(element)) => {
                *self.reads.get_mut(element as usize).ok_or_else(|| no_input(element))? = true;
            }
            (Op::UniformLoad | Op::UniformLoadAt, Imm::Row { space, .. })
            | (Op::RowAt, Imm::SpaceRow { space, .. }) => {
                self.used_spaces[space.as_u32() as usize] = true;
            }
            (Op::ResourceLoad | Op::ResourceBytes, _) => self.uses_resources = true,
            (Op::GuardOrdered, _) => self.guards = true,
            _ => {}
        }
        let is_address = matches!(inst.op, Op::UniformLoadAt | Op::RowAt | Op::ResourceLoad)
            || inst.op.memory() == Some(Memory::Array);
        self.scattered |= is_address && !self.uniform.contains(inst.args[0]);
        Ok(())
    }

    /// The tables of the program, ready for calls.
    pub fn tables(&self, func: &Function) -> Vec<Option<UniformRows>> {
        let tables = func.spaces.values().zip(&self.uniform_rows);
        tables.map(|(space, &rows)| space.table.as_ref().map(|table| UniformRows::from_rows(table, rows))).collect()
    }
}

/// For each uniform space, how many rows the code and what the call fills in read without a check.
fn readable_rows(program: &BatchProgram) -> Vec<u32> {
    let mut rows = static_rows(program.func());
    for word in program.fills().iter().flat_map(|fill| fill.words) {
        if let Word::Uniform { space, row, .. } = word {
            rows[space as usize] = rows[space as usize].max(row + 1);
        }
    }
    rows
}

fn no_input(element: u32) -> JitError {
    codegen(format!("the layout has no input {element}"))
}

fn check(func: &Function, layout: &Layout) -> Result<(), JitError> {
    if let Some(components) = layout.outputs.iter().find(|&&components| components > 4) {
        return Err(codegen(format!("an output element of {components} components")));
    }
    let bindings = layout.inputs.len().max(layout.outputs.len()).max(func.spaces.len()).max(func.resources.len());
    let bindings = bindings.max(func.samplers.len());
    limit(
        "the number of input elements, output elements, uniform spaces, resources or samplers",
        bindings as u64,
        limits::BINDINGS,
    )?;
    limit("the function's size", size(func), limits::FUNCTION_SIZE)
}

/// The arrays' places, the end of those that are not kept, and the end.
fn place_arrays(func: &Function, vectors: usize) -> Result<(SecondaryMap<Array, ArrayPlace>, u32, u32), JitError> {
    let (mut arrays, mut zeroed, mut end) = (SecondaryMap::new(), 0, 0u64);
    for kept in [false, true] {
        zeroed = if kept { end as u32 } else { 0 };
        for (array, data) in func.arrays.iter().filter(|(_, data)| data.kept == kept) {
            let (offset, element_bytes) = (end, u64::from(data.components) * vectors as u64 * 16);
            end += ((u64::from(data.elements) + 2) * element_bytes).next_multiple_of(64);
            limit("the size of register arrays", end, limits::SCRATCH_BYTES)?;
            arrays[array] =
                ArrayPlace { offset: offset as u32, element_bytes: element_bytes as u32, elements: data.elements };
        }
    }
    Ok((arrays, zeroed, end as u32))
}

/// What the function may not have here: a defect of the passes before.
pub fn codegen(what: String) -> JitError {
    JitError::Codegen(what)
}
