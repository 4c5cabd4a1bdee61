//! The native function's frame, the IR's blocks in it, and the edges between them.

use super::code::{Address, BlockId};
use super::encode::Condition;
use super::patterns::Patterns;
use super::table::{Class, Op as X};
use super::value::Parts;
use super::{Here, Selector, WaveArgs};
use crate::error::JitError;
use crate::jit::places::codegen;
use crate::jit::{abi, limit, limits};
use regalloc2::VReg;
use shaderjit_ir::batch::run_length;
use shaderjit_ir::function::{BlockCall, Imm, Origin, Terminator};
use shaderjit_ir::{Block, Inst, Op, Type, Value};

impl Selector<'_> {
    /// Selects for the whole native function.
    pub(super) fn run(&mut self) -> Result<(), JitError> {
        self.create_blocks();
        // start: what no wave changes.
        let start = self.simd.code.block();
        self.simd.code.switch_to(start);
        let [args, count] = self.simd.code.entry();
        self.args = args;
        // Zero-extended.
        self.count = self.simd.general(X::Mov, &[], count);
        self.load_pointers();
        if let Some(block) = self.program.call.block {
            let func = self.func;
            // Nothing of it is a run: what it loads, the loop holds.
            func.blocks[block].insts.iter().try_for_each(|&inst| self.inst(&func.insts[inst]))?;
        }
        self.pin_literals();
        if self.program.is_cut() {
            self.tiles()?;
        } else {
            self.waves()?;
        }
        if self.program.facts.pays {
            self.run_out_of_fuel();
        }
        // Loops without end do not get there.
        if self.simd.code.is_entered(self.done) {
            self.simd.code.switch_to(self.done);
            let status = self.simd.literal(abi::DONE);
            self.simd.code.ret(status);
        }
        self.simd.code.seal();
        Ok(())
    }

    /// Selects for the loop over waves around all blocks.
    fn waves(&mut self) -> Result<(), JitError> {
        let first = if self.counts_down() { self.count } else { self.simd.literal(0) };
        // wave: what every wave begins with, and the program's entry, which no edge goes to.
        self.begin_waves(first);
        self.begin_fuel();
        self.begin_guards();
        self.zero_arrays(self.places.zeroed_bytes);
        let program = self.program;
        program.order.iter().try_for_each(|&block| self.block(block))
    }

    /// Whether the loop over waves counts how many elements are left: nothing in it asks for the number of one. That
    /// leaves a general register free.
    pub(super) fn counts_down(&self) -> bool {
        let facts = &self.program.facts;
        let asks = self.program.is_cut() || facts.guards || facts.pays;
        self.program.by_rows && !facts.streams(0).is_empty() && !asks
    }

    /// Begins a loop over waves, the first of which has this element.
    pub(super) fn begin_waves(&mut self, first: VReg) {
        let streams = self.carried().len();
        let mut args = WaveArgs::new();
        args.push(first);
        self.begin_streams(first, &mut args);
        let records = self.tile.as_ref().and_then(|tile| tile.records);
        args.extend(records);
        let (block, wave, code) = (self.wave.block, &mut self.wave, &mut self.simd.code);
        code.jump(block, &args);
        wave.element = code.param(block, Class::G);
        wave.first_rows.clear();
        wave.first_rows.extend((0..streams).map(|_| code.param(block, Class::G)));
        wave.record = records.map(|_| code.param(block, Class::G));
        code.switch_to(block);
    }

    /// Ends what the IR does for a wave or a tile: goes on to the next one, if there is one.
    fn end_round(&mut self) {
        if self.program.is_cut() {
            self.end_tile();
        } else {
            self.check_guards();
            self.end_fuel();
            self.ask_ahead();
            self.next_wave(self.count, self.done);
        }
    }

    /// Goes on to the next wave, or to another block if that has the element `end`.
    pub(super) fn next_wave(&mut self, end: VReg, behind: BlockId) {
        let mut args = WaveArgs::new();
        if self.counts_down() {
            self.next_rows(&mut args);
            // Computed last: the branch looks at its flags.
            let left = self.simd.general_imm(X::SubImmediate64, self.wave.element, self.step as u32);
            args.insert(0, left);
            self.simd.code.branch(Condition::Above, (self.wave.block, &args), (behind, &[]));
            return;
        }
        args.push(self.simd.address(Address::at(self.wave.element, self.step as i32)));
        self.next_rows(&mut args);
        if let Some(record) = self.wave.record {
            args.push(self.simd.address(Address::at(record, self.places.frame.record as i32)));
        }
        self.simd.compare(X::Cmp64, args[0], end);
        self.simd.code.branch(Condition::Below, (self.wave.block, &args), (behind, &[]));
    }

    fn create_blocks(&mut self) {
        let program = self.program;
        for &block in &program.order {
            if block == program.order[0] || self.begins_phase(block).is_some() {
                continue;
            }
            let target = self.simd.code.block();
            self.blocks[block] = target.0;
            for &param in &self.func.blocks[block].params {
                let (class, count) = self.parts(param);
                let mut parts = Parts::default();
                for part in &mut parts.0[..count] {
                    *part = self.simd.code.param(target, class);
                }
                self.values[param] = parts;
            }
        }
    }

    /// Selects for one block.
    pub(super) fn block(&mut self, block: Block) -> Result<(), JitError> {
        let func = self.func;
        match self.begins_phase(block) {
            Some(number) => self.begin_phase(number),
            None if block == self.program.order[0] => {}
            None => self.simd.code.switch_to(BlockId(self.blocks[block])),
        }
        self.here = Here::default();
        self.here.patterns = Patterns::of(self.program, block, self.simd.has_masks());
        self.here.elements = self.coalescing.elements(block);
        self.here.bounded = self.bounded(block);
        self.here.leaders = self.leaders(block);
        self.here.near_loads = self.near_loads(block);
        self.look_ahead(block);
        let data = &func.blocks[block];
        self.insts(block, &data.insts)?;
        if block == self.program.order[0] && !self.program.is_cut() {
            // Later blocks use only what has been fetched here.
            for element in 0..self.program.inputs {
                (0..self.vectors()).for_each(|vector| self.fetch_input(element, vector as u8));
            }
        }
        self.flush_guards();
        self.terminator(block, data.terminator())
    }

    /// Begins a block: counts what it sets of each output, and notes which components it loads of rows.
    fn look_ahead(&mut self, block: Block) {
        for inst in self.func.insts_in(block) {
            match (inst.op, inst.imm) {
                (Op::Output, Imm::Element { element, .. }) => {
                    self.here.outputs.count(element, inst.vector);
                }
                (Op::UniformLoadAt, Imm::Row { space, row, component }) => {
                    *self.here.components.entry((space, row, inst.args[0])).or_default() |= 1 << component;
                }
                _ => {}
            }
        }
    }

    /// The phase that begins with a block. Only the tile's block in front of it leads there, so it goes on in the
    /// native block of that.
    fn begins_phase(&self, block: Block) -> Option<usize> {
        self.program.phase_of(block).filter(|&number| self.program.cut.phases[number].blocks[0] == block)
    }

    /// The native block that an edge leads to: waves that leave a phase go to the end of its loop. None if that goes on
    /// in the native block at hand.
    fn target(&self, block: Block) -> Option<BlockId> {
        match &self.phase {
            Some(phase) if self.program.cut.phases[phase.number].next == block => phase.latch,
            None if self.begins_phase(block).is_some() => None,
            _ => Some(BlockId(self.blocks[block])),
        }
    }

    /// Selects for instructions that follow each other.
    fn insts(&mut self, block: Block, insts: &[Inst]) -> Result<(), JitError> {
        let func = self.func;
        let mut rest = insts;
        while let Some((&inst, behind)) = rest.split_first() {
            let run = run_length(func, rest);
            if run > 0 {
                self.run_of_rows(&rest[..run])?;
                rest = &rest[run..];
                continue;
            }
            rest = behind;
            let is_selected = self.is_asked_by_branch(block, &func.insts[inst])
                || self.pattern(&func.insts[inst])
                || self.element_access(inst);
            if !is_selected {
                self.inst(&func.insts[inst])?;
            }
            let emitted = self.simd.code.insts.len() as u64;
            limit("the number of native instructions", emitted, limits::EMITTED_INSTS)?;
        }
        Ok(())
    }

    fn terminator(&mut self, block: Block, terminator: &Terminator) -> Result<(), JitError> {
        self.set_origin(Origin::default());
        match terminator {
            Terminator::Jump(call) => {
                let args = self.edge_args(call);
                self.edge(block, call, &args);
            }
            Terminator::BrIf { condition, then_call, else_call } => {
                self.check_selector(*condition)?;
                // Before anything is compared: making them may change flags.
                let edges = [then_call, else_call].map(|call| (call, self.edge_args(call)));
                let condition = self.branch_condition(*condition);
                // Edges that cost fuel need a block of their own.
                let is_dear = |this: &Self, call: &BlockCall| this.program.costs.edge(block, call.block) > 0;
                let targets = edges.each_ref().map(|(call, args)| match is_dear(self, call) {
                    true => (self.simd.code.block(), [].as_slice()),
                    false => (self.target(call.block).expect("a branch has several targets"), args.as_slice()),
                });
                self.simd.code.branch(condition, targets[0], targets[1]);
                for ((call, args), (target, _)) in edges.iter().zip(targets) {
                    if is_dear(self, call) {
                        self.simd.code.switch_to(target);
                        self.edge(block, call, args);
                    }
                }
            }
            Terminator::Switch { value, cases, default } => {
                self.check_selector(*value)?;
                let selector = self.scalar(*value);
                let mut edges = Vec::with_capacity(cases.len() + 1);
                let mut targets = Vec::with_capacity(cases.len());
                for (case, call) in cases {
                    let target = self.simd.code.block();
                    targets.push((*case, target));
                    edges.push((target, call, self.edge_args(call)));
                }
                targets.sort_by_key(|&(case, _)| case);
                let otherwise = self.simd.code.block();
                edges.push((otherwise, default, self.edge_args(default)));
                self.search(selector, &targets, otherwise);
                for (target, call, args) in edges {
                    self.simd.code.switch_to(target);
                    self.edge(block, call, &args);
                }
            }
            Terminator::Return => self.end_round(),
        }
        Ok(())
    }

    /// Ends the current block with a binary search for a case.
    fn search(&mut self, selector: VReg, cases: &[(u32, BlockId)], otherwise: BlockId) {
        let Some(&(case, target)) = cases.get(cases.len() / 2) else {
            return self.simd.code.jump(otherwise, &[]);
        };
        let (below, above) = (&cases[..cases.len() / 2], &cases[cases.len() / 2 + 1..]);
        let differs = self.simd.code.block();
        self.simd.compare_imm(X::CmpImmediate, selector, case);
        self.simd.code.branch(Condition::Equal, (target, &[]), (differs, &[]));
        self.simd.code.switch_to(differs);
        if below.is_empty() || above.is_empty() {
            let rest = if below.is_empty() { above } else { below };
            return self.search(selector, rest, otherwise);
        }
        let [lower, higher] = [(); 2].map(|()| self.simd.code.block());
        self.simd.compare_imm(X::CmpImmediate, selector, case);
        self.simd.code.branch(Condition::Below, (lower, &[]), (higher, &[]));
        for (side, rest) in [(lower, below), (higher, above)] {
            self.simd.code.switch_to(side);
            self.search(selector, rest, otherwise);
        }
    }

    fn check_selector(&self, value: Value) -> Result<(), JitError> {
        if !self.is_uniform(value) {
            return Err(codegen(format!("a branch on {value}, which differs among lanes")));
        }
        Ok(())
    }

    /// Ends the current block with an edge, which may cost fuel.
    fn edge(&mut self, from: Block, call: &BlockCall, args: &[VReg]) {
        let Some(target) = self.target(call.block) else { return };
        match self.program.costs.edge(from, call.block) {
            0 => self.simd.code.jump(target, args),
            cost => self.pay_and_jump(from, cost, (target, args)),
        }
    }

    /// The values an edge gives, held as the target's parameters are.
    fn edge_args(&mut self, call: &BlockCall) -> Vec<VReg> {
        let func = self.func;
        let params = func.blocks[call.block].params.iter().zip(&call.args);
        let is_scalar = |param: Value| self.is_uniform(param) && func.ty(param) != Type::F32;
        let pairs: Vec<(bool, Value)> = params.map(|(&param, &arg)| (is_scalar(param), arg)).collect();
        pairs.into_iter().flat_map(|(is_scalar, arg)| self.words(arg, is_scalar)).collect()
    }
}
