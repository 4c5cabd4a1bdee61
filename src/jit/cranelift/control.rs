//! The native function's frame, the IR's blocks in it, and the edges between them.

use super::value::Parts;
use super::{Emitter, Here};
use crate::error::JitError;
use crate::jit::abi::{self, offset};
use crate::jit::places::codegen;
use crate::jit::{limit, limits};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_frontend::Switch;
use shaderjit_ir::batch::run_length;
use shaderjit_ir::function::{BlockCall, Origin, Terminator};
use shaderjit_ir::{Block, Inst, Type, Value};

/// What a wave begins with: its first element, the rows of that, and its record.
fn wave_args(element: clif::Value, rows: Vec<clif::Value>) -> Vec<BlockArg> {
    std::iter::once(element).chain(rows).map(BlockArg::from).collect()
}

impl Emitter<'_, '_> {
    /// Emits the whole native function.
    pub(super) fn run(&mut self) -> Result<(), JitError> {
        self.create_blocks();
        let start = self.simd.builder.create_block();

        // start: what no wave changes.
        self.simd.builder.append_block_params_for_function_params(start);
        self.simd.builder.switch_to_block(start);
        let &[args, count] = self.simd.builder.block_params(start) else {
            unreachable!("the signature has two parameters")
        };
        self.args = args;
        self.count = self.simd.ins().uextend(I64, count);
        self.load_pointers();
        self.load_resource_table();
        self.frame = (self.places.frame.bytes() > 0).then(|| self.simd.load(I64, self.args, offset::FRAME));
        if let Some(block) = self.program.call.block {
            // Nothing of it is a run: what it loads, the loop holds.
            self.func.blocks[block].insts.iter().try_for_each(|&inst| self.inst(&self.func.insts[inst]))?;
        }
        if self.program.is_cut() {
            self.tiles()?;
        } else {
            self.waves()?;
        }
        if self.program.facts.pays {
            self.run_out_of_fuel();
        }
        self.simd.builder.switch_to_block(self.done);
        let status = self.simd.iconst(abi::DONE);
        self.simd.ins().return_(&[status]);
        Ok(())
    }

    /// Emits the loop over waves around all blocks.
    fn waves(&mut self) -> Result<(), JitError> {
        let first = self.simd.ins().iconst(I64, 0);
        // wave: what every wave begins with, and the program's entry, which no edge goes to.
        self.begin_waves(first);
        self.begin_fuel();
        self.begin_guards();
        self.zero_arrays(self.places.zeroed_bytes);
        self.program.order.iter().try_for_each(|&block| self.block(block))
    }

    /// Begins a loop over waves, the first of which has this element.
    pub(super) fn begin_waves(&mut self, first: clif::Value) {
        let mut rows = self.begin_streams(first);
        let records = self.tile.as_ref().and_then(|tile| tile.records);
        rows.extend(records);
        self.simd.ins().jump(self.wave.block, &wave_args(first, rows));

        self.wave.element = self.simd.builder.append_block_param(self.wave.block, I64);
        self.wave.first_rows.clear();
        for _ in 0..self.carried().len() {
            let row = self.simd.builder.append_block_param(self.wave.block, I64);
            self.wave.first_rows.push(row);
        }
        self.wave.record = records.map(|_| self.simd.builder.append_block_param(self.wave.block, I64));
        self.simd.builder.switch_to_block(self.wave.block);
    }

    /// Ends what the IR does for a wave or a tile: goes on to the next one, if there is one.
    pub(super) fn end_round(&mut self) {
        if self.program.is_cut() {
            self.end_tile();
        } else {
            self.check_guards();
            self.end_fuel();
            self.next_wave(self.count, self.done);
        }
    }

    /// Goes on to the next wave, or to another block if that has the element `end`.
    pub(super) fn next_wave(&mut self, end: clif::Value, behind: clif::Block) {
        let lanes = self.simd.ins().iconst(I64, self.step as i64);
        let element = self.simd.ins().iadd(self.wave.element, lanes);
        let more = self.simd.icmp(IntCC::UnsignedLessThan, element, end);
        let mut rows = self.next_rows();
        if let Some(record) = self.wave.record {
            let bytes = self.places.frame.record as i64;
            rows.push(self.simd.ins().iadd_imm_s(record, bytes));
        }
        self.simd.ins().brif(more, self.wave.block, &wave_args(element, rows), behind, &[]);
    }

    fn create_blocks(&mut self) {
        for index in 0..self.program.order.len() {
            let block = self.program.order[index];
            if block == self.program.order[0] || self.begins_phase(block).is_some() {
                continue;
            }
            let target = self.simd.builder.create_block();
            self.blocks[block] = target;
            for &param in &self.func.blocks[block].params {
                let (ty, count) = self.parts(param);
                let mut parts = Parts::default();
                for part in &mut parts.0[..count] {
                    *part = self.simd.builder.append_block_param(target, ty);
                }
                self.values[param] = parts;
            }
        }
    }

    /// Emits one block.
    pub(super) fn block(&mut self, block: Block) -> Result<(), JitError> {
        match self.begins_phase(block) {
            Some(number) => self.begin_phase(number),
            None if block == self.program.order[0] => {}
            None => self.simd.builder.switch_to_block(self.blocks[block]),
        }
        self.here = Here::default();
        self.here.elements = self.coalescing.elements(block);
        self.count_outputs(block);
        let data = &self.func.blocks[block];
        self.insts(&data.insts)?;
        if block == self.program.order[0] && !self.program.is_cut() {
            // Later blocks use only what has been fetched here.
            for element in 0..self.program.inputs {
                (0..self.vectors()).for_each(|vector| self.fetch_input(element, vector as u8));
            }
        }
        self.flush_guards();
        self.terminator(block, data.terminator())
    }

    /// The phase that begins with a block. Only the tile's block in front of it leads there, so it goes on in the
    /// native block of that.
    fn begins_phase(&self, block: Block) -> Option<usize> {
        self.program.phase_of(block).filter(|&number| self.program.cut.phases[number].blocks[0] == block)
    }

    /// The native block that an edge leads to: waves that leave a phase go to the end of its loop. None if that goes on
    /// in the native block at hand.
    fn target(&self, block: Block) -> Option<clif::Block> {
        match &self.phase {
            Some(phase) if self.program.cut.phases[phase.number].next == block => phase.latch,
            None if self.begins_phase(block).is_some() => None,
            _ => Some(self.blocks[block]),
        }
    }

    /// Emits instructions that follow each other.
    fn insts(&mut self, insts: &[Inst]) -> Result<(), JitError> {
        let mut rest = insts;
        while let Some((&inst, behind)) = rest.split_first() {
            let run = run_length(self.func, rest);
            if run > 0 {
                self.run_of_rows(&rest[..run])?;
                rest = &rest[run..];
                continue;
            }
            rest = behind;
            if !self.element_access(inst) {
                self.inst(&self.func.insts[inst])?;
            }
            let emitted = self.simd.builder.func.dfg.num_insts() as u64;
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
                let condition = self.selector(*condition)?;
                let edges = [then_call, else_call].map(|call| (call, self.edge_args(call)));
                // Edges that cost fuel need a block of their own.
                let is_dear = |this: &Self, call: &BlockCall| this.program.costs.edge(block, call.block) > 0;
                let targets = edges.each_ref().map(|(call, args)| match is_dear(self, call) {
                    true => (self.simd.builder.create_block(), [].as_slice()),
                    false => (self.target(call.block).expect("a branch has several targets"), args.as_slice()),
                });
                let [(then_block, then_args), (else_block, else_args)] = targets;
                self.simd.ins().brif(condition, then_block, then_args, else_block, else_args);
                for ((call, args), (target, _)) in edges.iter().zip(targets) {
                    if is_dear(self, call) {
                        self.simd.builder.switch_to_block(target);
                        self.edge(block, call, args);
                    }
                }
            }
            Terminator::Switch { value, cases, default } => {
                let value = self.selector(*value)?;
                let (mut switch, mut edges) = (Switch::new(), Vec::with_capacity(cases.len() + 1));
                for (case, call) in cases {
                    let target = self.simd.builder.create_block();
                    switch.set_entry(u128::from(*case), target);
                    edges.push((target, call, self.edge_args(call)));
                }
                let otherwise = self.simd.builder.create_block();
                edges.push((otherwise, default, self.edge_args(default)));
                switch.emit(&mut self.simd.builder, value, otherwise);
                for (target, call, args) in edges {
                    self.simd.builder.switch_to_block(target);
                    self.edge(block, call, &args);
                }
            }
            Terminator::Return => self.end_round(),
        }
        Ok(())
    }

    fn selector(&mut self, value: Value) -> Result<clif::Value, JitError> {
        if !self.is_uniform(value) {
            return Err(codegen(format!("a branch on {value}, which differs among lanes")));
        }
        Ok(self.scalar(value))
    }

    /// Ends the current block with an edge, which may cost fuel.
    fn edge(&mut self, from: Block, call: &BlockCall, args: &[BlockArg]) {
        let Some(target) = self.target(call.block) else { return };
        match self.program.costs.edge(from, call.block) {
            0 => _ = self.simd.ins().jump(target, args),
            cost => self.pay_and_jump(from, cost, (target, args)),
        }
    }

    /// The values an edge gives, held as the target's parameters are.
    fn edge_args(&mut self, call: &BlockCall) -> Vec<BlockArg> {
        let params = self.func.blocks[call.block].params.iter().zip(&call.args);
        let is_scalar = |param: Value| self.is_uniform(param) && self.func.ty(param) != Type::F32;
        let pairs: Vec<(bool, Value)> = params.map(|(&param, &arg)| (is_scalar(param), arg)).collect();
        let args = pairs.into_iter().flat_map(|(is_scalar, arg)| self.words(arg, is_scalar));
        args.map(BlockArg::from).collect()
    }
}
