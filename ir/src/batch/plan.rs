//! Planning: a list of passes, each of which writes its decisions into the function or beside it.

use super::call::{self, CallPart, CallValues};
use super::cut::{CutError, CutLimits, Phases, cut, required};
use super::{
    BatchProgram, Facts, Layout, Machine, Parts, copy, formats, group, interleave, is_of_run, outputs, overlap, powers,
    ring, rows, schedule, spill, text, threads, verify,
};
use crate::cfg;
use crate::entity::Value;
use crate::fuel::EdgeCosts;
use crate::function::{Function, Imm, InstData};
use crate::op::{Op, SLOTS};
use crate::packing::{NumericKind, Packing};
use crate::parse::ParseError;
use crate::pass::{ExpandOptions, dce};
use crate::set::EntitySet;
use crate::uniform::uniform_values;
use crate::uses::Uses;
use crate::verify::{Verified, VerifyErrors};
use cranelift_entity::SecondaryMap;
use thiserror::Error;

/// The most bytes that a wave keeps where it is cut for speed. Where more goes on than that, memory is slower than what
/// there is to wait for.
const RECORD_BYTES: u32 = 4096;

/// A function of more blocks is not cut: what cutting takes grows faster than they do.
const CUT_BLOCKS: usize = 1024;

/// The most rows of the call's values that a loop of nothing but runs may hold in registers.
const HELD_ROWS: usize = 8;

/// A round of no more lanes takes longer to find the rows of two copies, in streams that its loop cannot carry, than a
/// loop for each copy takes: 15 % of t01's time on 128 bits.
const FEW_LANES: u8 = 4;

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The text is no program.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It breaks rules.
    #[error(transparent)]
    Verify(#[from] VerifyErrors),
    /// It has barriers, and cannot be cut there.
    #[error("the function cannot be cut at its barriers: {0}")]
    Cut(#[from] CutError),
}

/// A pass of planning.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    name: &'static str,
    run: fn(&mut Planner) -> Result<(), CutError>,
}

impl Pass {
    /// Every pass, in order.
    pub const ALL: &'static [Pass] = &[
        Pass { name: "outputs", run: Planner::leave_outputs_out },
        Pass { name: "threads", run: Planner::fold_active },
        Pass { name: "group", run: Planner::unroll },
        Pass { name: "powers", run: Planner::find_powers },
        Pass { name: "formats", run: Planner::decode_formats },
        Pass { name: "copies", run: Planner::copy },
        Pass { name: "rows", run: Planner::find_rows },
        Pass { name: "complete", run: Planner::complete },
        Pass { name: "cut", run: Planner::cut },
        Pass { name: "copied", run: Planner::copy_in_loop },
        Pass { name: "schedule", run: Planner::schedule },
        Pass { name: "spill", run: Planner::spill },
        Pass { name: "ring", run: Planner::keep_rings },
        Pass { name: "call", run: Planner::hoist },
        Pass { name: "interleave", run: Planner::interleave },
    ];

    /// The last of them.
    pub const LAST: Pass = Pass::ALL[Pass::ALL.len() - 1];

    /// The name that the command line and tests have for it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The pass of that name.
    pub fn from_name(name: &str) -> Option<Pass> {
        Pass::ALL.iter().copied().find(|pass| pass.name == name)
    }
}

/// A program on its way.
pub struct Planner {
    pub program: Parts,
    pub machine: Machine,
    layout: Layout,
    /// What can be computed once a call.
    pub call_values: CallValues,
}

impl BatchProgram {
    /// Plans a function for a layout and a machine, up to one of the passes.
    ///
    /// # Errors
    /// [`PlanError::Cut`] if the function has barriers where it cannot be cut, [`PlanError::Verify`] if planning has a
    /// defect: the program breaks a rule.
    pub fn plan(func: &Verified, layout: Layout, machine: Machine, last: Pass) -> Result<BatchProgram, PlanError> {
        // `decode_formats` says what is uniform.
        let (uniform, costs) = (EntitySet::new(), EdgeCosts::new(func));
        let end = Pass::ALL.iter().position(|pass| pass.name == last.name).map_or(0, |at| at + 1);
        Planner::new(func.clone_to_grow(), uniform, costs, layout, machine).run(&Pass::ALL[..end])
    }

    /// Takes a function as it is, which may have the ops of batch programs and barriers, for rows of four words in and
    /// out.
    ///
    /// # Errors
    /// The rules of the verifier that it breaks, those of batch programs among them, or why it cannot be cut.
    pub fn of(func: Function, machine: Machine) -> Result<BatchProgram, PlanError> {
        let (func, uniform) = Verified::batch(func, machine.wave())?;
        let words = Packing::new(NumericKind::Uint, &[32, 32, 32, 32]);
        let layout =
            Layout { inputs: vec![words; func.inputs as usize], outputs: vec![4; func.outputs as usize].into() };
        let costs = EdgeCosts::new(&func);
        let mut planner = Planner::new(func, uniform, costs, layout, machine);
        planner.find_call_values();
        planner.program.uses = Uses::count(&planner.program.func, &planner.program.order);
        // Those before are about other formats and rows.
        let first = Pass::ALL.iter().position(|pass| pass.name == "complete").unwrap_or(0);
        planner.run(&Pass::ALL[first..])
    }

    /// A program as it is read from text.
    pub(super) fn read(func: Function, head: text::Head) -> Result<BatchProgram, VerifyErrors> {
        let text::Head { lanes, vectors, waves_of_group, copies, cut, costs, call } = head;
        let (func, uniform) = Verified::batch(func, usize::from(lanes) * usize::from(vectors))?;
        let outputs = vec![4; func.outputs as usize];
        let mut program =
            Parts { vectors, waves_of_group, copies, cut, call, ..Parts::begin(func, uniform, costs, &outputs, lanes) };
        program.note_stored();
        let blocks = program.func.layout.iter().copied();
        program.order = blocks.filter(|&block| program.call.block != Some(block)).collect();
        program.checked()
    }
}

impl Parts {
    /// A valid function, and what is known of it. What waves pay is what it costs in the form it came in.
    fn begin(func: Function, uniform: EntitySet<Value>, costs: EdgeCosts, outputs: &[u8], lanes: u8) -> Parts {
        let order = cfg::reverse_postorder(&func);
        Parts {
            func,
            order,
            costs,
            uniform,
            uses: SecondaryMap::new(),
            lanes,
            vectors: 1,
            waves_of_group: 1,
            stored: outputs.iter().map(|&stored| stored > 0).collect(),
            by_rows: false,
            copies: Vec::new(),
            call: CallPart::default(),
            slots: 0,
            call_slots: 0,
            facts: Facts::default(),
            cut: Phases::default(),
            phase_of: SecondaryMap::new(),
        }
    }

    /// Notes that what is copied or set by rows is not stored by lanes.
    fn note_stored(&mut self) {
        self.copies.iter().for_each(|copy| self.stored[copy.output as usize] = false);
        for inst in self.func.layout.iter().flat_map(|&block| &self.func.blocks[block].insts) {
            if let Imm::Stream(element) = self.func.insts[*inst].imm
                && self.func.insts[*inst].op == Op::OutputRow
            {
                self.stored[element as usize] = false;
            }
        }
    }

    /// The finished program, checked, with what is known of it now.
    fn checked(mut self) -> Result<BatchProgram, VerifyErrors> {
        if cfg!(debug_assertions) {
            let mut verified = EntitySet::with_capacity(self.func.blocks.len());
            verified.extend(self.func.layout.iter().copied());
            assert!(self.order.iter().all(|&block| verified.contains(block)), "back ends see what is verified alone");
        }
        for (number, phase) in (1..).zip(&self.cut.phases) {
            phase.blocks.iter().for_each(|&block| self.phase_of[block] = number);
        }
        let wave = self.wave();
        (self.func, self.uniform) = Verified::batch(self.func, wave)?;
        verify::phases(&self)?;
        Uses::recount(&mut self.uses, &self.func, &self.func.layout);
        self.by_rows = self.is_by_rows_alone();
        let filled = self.call.fills.iter().map(|fill| fill.slot + 1);
        let slots = self.func.slots();
        (self.slots, self.call_slots) = (slots.wave, filled.fold(slots.call, u32::max));
        self.facts = Facts::of(&self);
        Ok(BatchProgram(self))
    }

    /// Whether its loop does nothing but runs, the rows of which the call's block holds.
    fn is_by_rows_alone(&self) -> bool {
        let [block] = self.order[..] else { return false };
        let mut insts = self.func.blocks[block].insts.iter().map(|&inst| &self.func.insts[inst]);
        let is_of_runs = |inst: &InstData| is_of_run(inst) && inst.op != Op::CallLoad;
        !self.stored.contains(&true) && insts.all(|inst| is_of_runs(inst) || matches!(inst.op, Op::Const | Op::RowJoin))
    }
}

impl Planner {
    /// Begins with rows of four floats in and out, whatever layout the function will have.
    pub fn of_rows(func: &Verified, machine: Machine) -> Planner {
        let (uniform, costs) = (uniform_values(func), EdgeCosts::new(func));
        let floats = Packing::new(NumericKind::Float, &[32; 4]);
        let layout =
            Layout { inputs: vec![floats; func.inputs as usize], outputs: vec![4; func.outputs as usize].into() };
        let mut planner = Planner::new(Function::clone(func), uniform, costs, layout, machine);
        planner.program.uses = Uses::count(&planner.program.func, &planner.program.order);
        planner
    }

    /// Whether waves overlap by themselves: the function is cut into short loops, is the one wave of its group, or does
    /// nothing but runs of rows. What cannot be cut where it must has no code at all.
    pub fn overlaps(mut self) -> bool {
        let end = Pass::ALL.iter().position(|pass| pass.name == "spill").unwrap_or(0);
        let cut = Pass::ALL[..end].iter().try_for_each(|pass| (pass.run)(&mut self));
        cut.is_err() || self.program.is_cut() || self.program.is_one_wave() || self.program.by_rows
    }

    fn new(func: Function, uniform: EntitySet<Value>, costs: EdgeCosts, layout: Layout, machine: Machine) -> Planner {
        let program = Parts::begin(func, uniform, costs, &layout.outputs, machine.lanes);
        Planner { program, machine, layout, call_values: CallValues::default() }
    }

    /// The program behind some passes.
    fn run(mut self, passes: &[Pass]) -> Result<BatchProgram, PlanError> {
        passes.iter().try_for_each(|pass| (pass.run)(&mut self))?;
        Ok(self.program.checked()?)
    }

    /// Leaves out outputs that are not stored, and what nothing else needs.
    fn leave_outputs_out(&mut self) -> Result<(), CutError> {
        let stored = &self.layout.outputs;
        let is_left_out = |element| stored.get(element as usize).is_none_or(|&stored| stored == 0);
        if outputs::remove(&mut self.program.func, is_left_out) {
            dce(&mut self.program.func);
        }
        Ok(())
    }

    /// Folds that all lanes are active, where they are.
    fn fold_active(&mut self) -> Result<(), CutError> {
        let Parts { func, order, .. } = &mut self.program;
        if threads::fold_active(func, self.machine.wave()) {
            *order = cfg::reverse_postorder(func);
        }
        Ok(())
    }

    /// Makes one wave of a group of which that can be made.
    fn unroll(&mut self) -> Result<(), CutError> {
        let Parts { func, order, costs, waves_of_group, .. } = &mut self.program;
        // What moves among lanes does so in one vector.
        if self.machine.vectors == 1
            && let Some(unrolled) = group::unroll(func, costs, self.machine.wave())
        {
            (*func, *costs, *waves_of_group) = (unrolled.func, unrolled.costs, unrolled.waves);
            *order = cfg::reverse_postorder(func);
        }
        Ok(())
    }

    /// Takes powers of two and logarithms for what they are, where the machine has them.
    fn find_powers(&mut self) -> Result<(), CutError> {
        if self.machine.has_powers {
            powers::rewrite(&mut self.program.func);
        }
        Ok(())
    }

    /// Makes attribute formats arithmetic on words.
    fn decode_formats(&mut self) -> Result<(), CutError> {
        let options = ExpandOptions { fused: self.machine.has_fma() };
        formats::write(&mut self.program.func, &self.layout, &options);
        self.program.uniform = uniform_values(&self.program.func);
        Ok(())
    }

    /// Sets the components of outputs to zero that the function leaves out.
    fn complete(&mut self) -> Result<(), CutError> {
        self.program.note_stored();
        self.program.by_rows = self.is_only_runs();
        let Parts { func, order, stored, by_rows, .. } = &mut self.program;
        if !*by_rows {
            outputs::complete(func, order, &self.layout, stored);
        }
        Ok(())
    }

    /// Has the loop copy what outputs pass on, if the function is whole and computes others lane by lane.
    fn copy_in_loop(&mut self) -> Result<(), CutError> {
        let is_whole = !self.program.is_cut() && self.machine.lanes > FEW_LANES;
        let Parts { func, order, copies, stored, .. } = &mut self.program;
        if is_whole
            && stored.contains(&true)
            && let Some(block) = outputs::returning_block(func, order)
        {
            copy::write(func, block, copies);
            copies.clear();
        }
        Ok(())
    }

    /// Orders what long blocks of loops compute.
    fn schedule(&mut self) -> Result<(), CutError> {
        schedule::schedule(&mut self.program, self.machine.registers / self.machine.vectors);
        Ok(())
    }

    /// Spills what loops keep, if the function is whole.
    fn spill(&mut self) -> Result<(), CutError> {
        if !self.program.is_cut() {
            spill::spill(&mut self.program, self.machine);
        }
        Ok(())
    }

    /// Keeps in memory what crowded loops take in turn, if the function is whole.
    fn keep_rings(&mut self) -> Result<(), CutError> {
        if !self.program.is_cut() && self.machine.lanes > FEW_LANES {
            ring::keep(&mut self.program, self.machine.registers / self.machine.vectors);
        }
        Ok(())
    }

    /// Moves what is computed once a call in front of the loop.
    fn hoist(&mut self) -> Result<(), CutError> {
        let Parts { func, order, by_rows, .. } = &mut self.program;
        self.program.call = call::hoist(func, order, &self.call_values, self.machine.vectors, *by_rows);
        Ok(())
    }

    /// Writes what lanes do for each vector of a wave.
    fn interleave(&mut self) -> Result<(), CutError> {
        let Parts { func, order, vectors, by_rows, .. } = &mut self.program;
        *vectors = self.machine.vectors;
        if *vectors > 1 && !*by_rows {
            interleave::interleave(func, order, &uniform_values(func), *vectors);
        }
        Ok(())
    }

    fn find_call_values(&mut self) {
        let Parts { func, order, uniform, .. } = &self.program;
        self.call_values = CallValues::find(func, order, uniform);
    }

    /// Outputs that are inputs passed on.
    fn copy(&mut self) -> Result<(), CutError> {
        let Parts { func, order, copies, .. } = &mut self.program;
        if let Some(block) = outputs::returning_block(func, order) {
            *copies = copy::find(func, &self.layout, &outputs::of_block(func, &self.layout, block));
            outputs::remove(func, |element| copies.iter().any(|copy| copy.output == element));
        }
        Ok(())
    }

    /// Arrays of structures where they are cheaper.
    fn find_rows(&mut self) -> Result<(), CutError> {
        self.find_call_values();
        let Parts { func, order, uniform, uses, copies, .. } = &mut self.program;
        Uses::recount(uses, func, order);
        let outputs =
            outputs::returning_block(func, order).map(|block| (block, outputs::of_block(func, &self.layout, block)));
        let finder = rows::Finder::new(func, &self.layout, order, uniform, uses, &self.call_values);
        let mut found = finder.find(outputs.as_ref().map(|(block, outputs)| (*block, &outputs[..])), copies);
        let is_cheap = copies.len() < 2 || self.machine.lanes > FEW_LANES;
        if order.len() == 1 && is_cheap && found.makes_all(&self.layout, copies) {
            found.copy(copies);
        }
        if !found.is_empty() {
            found.write(func);
            *uniform = uniform_values(func);
        }
        // Copies have left inputs that nothing else needs.
        if !found.is_empty() || !copies.is_empty() {
            dce(func);
            Uses::recount(uses, func, order);
        }
        Ok(())
    }

    /// Cuts the function where it has barriers, or else for speed, if it is worth it and possible.
    fn cut(&mut self) -> Result<(), CutError> {
        let required = required(&self.program.func);
        let is_required = !required.inside.is_empty();
        let cuts = if is_required { Some(required) } else { overlap::find(self, CUT_BLOCKS) };
        let Some(cuts) = cuts else { return Ok(()) };
        let Machine { lanes, vectors, .. } = self.machine;
        let slots = if is_required { SLOTS } else { RECORD_BYTES / (4 * u32::from(lanes)) } / u32::from(vectors);
        let Parts { func, costs, uniform, order, cut: phases, .. } = &mut self.program;
        let (mut parts, mut paid) = (func.clone_to_grow(), costs.clone());
        match cut(&mut parts, uniform, &mut paid, &cuts, CutLimits { blocks: CUT_BLOCKS, slots }) {
            Ok(made) if is_required || made.phases.len() > 1 => {
                (*func, *costs, *phases) = (parts, paid, made);
                *order = func.layout[..].into();
            }
            Err(error) if is_required => return Err(error),
            _ => {}
        }
        Ok(())
    }

    /// Whether nothing is computed lane by lane, and the rows that runs share fit registers. Outputs that the function
    /// never sets are computed: they are stored as zero.
    fn is_only_runs(&self) -> bool {
        let Parts { func, order, stored, .. } = &self.program;
        let [block] = order[..] else { return false };
        let mut insts = func.blocks[block].insts.iter().map(|&inst| &func.insts[inst]);
        !stored.contains(&true)
            && self.call_values.rows(func, order).len() <= HELD_ROWS
            && insts.all(|inst| self.is_made_elsewhere(inst) || is_of_run(inst) || inst.op == Op::RowJoin)
    }

    /// Whether no code in the loop does what an instruction does for lanes.
    pub fn is_made_elsewhere(&self, inst: &InstData) -> bool {
        match (inst.op, inst.imm) {
            (Op::Const, _) => true,
            (Op::Output, Imm::Element { element, .. }) => !self.program.is_stored(element),
            (Op::Input | Op::InputWord, _) => inst.result.is_none_or(|result| !self.program.is_used(result)),
            _ => inst.result.is_some_and(|result| self.call_values.contains(result)),
        }
    }
}
