//! Translation of a function into bytecode, block by block.

use super::NotPlain;
use super::bytecode::{ArrayShape, Bytecode, Code, Double, Instruction, Switch, TextureAccess, place};
use super::moves;
use super::registers::{Registers, Uses, ZERO, is_part};
use crate::double;
use crate::entity::Block;
use crate::eval;
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, Function, Imm, InstData, Terminator};
use crate::op::{Op, TypeRule};
use crate::texture::Access;
use crate::types::Type;
use cranelift_entity::SecondaryMap;

impl Bytecode {
    /// Translates a verified function in lockstep form that has been through all passes.
    ///
    /// # Errors
    /// It has an op that only batch programs have, or one that is to be expanded.
    pub fn new(func: &Function) -> Result<Bytecode, NotPlain> {
        let uses = Uses::new(func);
        let mut translator = Translator {
            func,
            registers: Registers::new(func, &uses),
            costs: EdgeCosts::new(func),
            prologue: Vec::new(),
            blocks: SecondaryMap::new(),
            doubles: Vec::new(),
            accesses: Vec::new(),
            stores: Vec::new(),
            outputs: vec![[ZERO; 4]; func.outputs as usize],
        };
        for &block in &uses.order {
            translator.block(block)?;
        }
        Ok(translator.finish())
    }
}

/// A function on the way.
struct Translator<'u, 'f> {
    func: &'f Function,
    registers: Registers<'u, 'f>,
    costs: EdgeCosts,
    prologue: Vec<Instruction>,
    /// Instructions of each block, but for its end.
    blocks: SecondaryMap<Block, Vec<Instruction>>,
    doubles: Vec<Double>,
    accesses: Vec<TextureAccess>,
    stores: Vec<(u32, u32)>,
    outputs: Vec<[u32; 4]>,
}

impl Translator<'_, '_> {
    fn block(&mut self, block: Block) -> Result<(), NotPlain> {
        self.registers.begin_block();
        let mut insts = Vec::new();
        for (at, &inst) in self.func.blocks[block].insts.iter().enumerate() {
            let inst = &self.func.insts[inst];
            let is_hoisted = inst.result.is_some_and(|result| self.registers.uses.hoisted.contains(result));
            let mut hoisted = std::mem::take(&mut self.prologue);
            let result = self.inst(inst, at, block, if is_hoisted { &mut hoisted } else { &mut insts });
            self.prologue = hoisted;
            result?;
        }
        self.blocks[block] = insts;
        Ok(())
    }

    fn inst(&mut self, inst: &InstData, at: usize, block: Block, insts: &mut Vec<Instruction>) -> Result<(), NotPlain> {
        let words = |registers: &Registers<'_, '_>, number: usize| {
            inst.args.get(number).map_or([ZERO; 4], |&arg| registers.of(arg))
        };
        let operands: [[u32; 4]; 4] = std::array::from_fn(|number| words(&self.registers, number));
        let [a, b, c, _] = operands.map(|operand| operand[0]);
        let mut push = |code, d, a, b, c| insts.push(Instruction { code, d, a, b, c });
        match (inst.op, inst.imm) {
            // They are there when a run begins.
            (Op::Const | Op::Input | Op::Sysval, _) => {}
            (Op::Barrier, _) => push(Code::Barrier, 0, inst.origin.offset().map_or(0, |offset| offset + 1), 0, 0),
            (op, _) if is_part(op) => {
                if let Some(result) = inst.result {
                    self.registers.alias(inst, result);
                }
                self.registers.release(inst, at);
            }
            (Op::Output, Imm::Element { element, component }) => {
                if self.registers.uses.end == Some(block) {
                    self.outputs[element as usize][usize::from(component)] = a;
                } else if let Some(&register) = self.registers.stored.get(&(element, component)) {
                    push(Code::Move, register, a, 0, 0);
                }
                self.registers.release(inst, at);
            }
            (Op::RowJoin | Op::F64join, _) => {
                let result = self.registers.define(inst, at);
                for (operand, to) in operands.iter().zip(result).take(inst.args.len()) {
                    push(Code::Move, to, operand[0], 0, 0);
                }
            }
            (Op::Select, _) if inst.ty == Type::F64 => {
                let result = self.registers.define(inst, at);
                for word in 0..2 {
                    push(Code::Plain(Op::Select), result[word], a, operands[1][word], operands[2][word]);
                }
            }
            (Op::Not, _) => {
                let ones = self.registers.literal(eval::complement(inst.ty));
                push(Code::Plain(Op::Xor), self.registers.define(inst, at)[0], a, ones, 0);
            }
            (Op::Any, _) => push(Code::Any, self.registers.define(inst, at)[0], a, 0, 0),
            (Op::GuardOrdered, _) => {
                push(Code::Guard, 0, a, 0, 0);
                self.registers.release(inst, at);
            }
            (Op::UniformLoad | Op::UniformLoadAt, Imm::Row { space, row, component }) => {
                let result = self.registers.define(inst, at)[0];
                push(Code::UniformLoad, result, a, place(space.as_u32(), component), row);
            }
            (Op::ResourceLoad, Imm::ResourceByte { resource, offset }) => {
                push(Code::ResourceLoad, self.registers.define(inst, at)[0], a, resource.as_u32(), offset);
            }
            (Op::MemoryLoad, Imm::ResourceByte { resource, offset }) => {
                push(Code::MemoryLoad, self.registers.define(inst, at)[0], a, resource.as_u32(), offset);
            }
            (Op::MemoryStoreMasked, Imm::ResourceByte { resource, offset }) => {
                push(Code::MemoryStore, c, a, self.stores.len() as u32, b);
                self.stores.push((resource.as_u32(), offset));
                self.registers.release(inst, at);
            }
            (Op::ResourceBytes, Imm::Resource(resource)) => {
                push(Code::ResourceBytes, self.registers.define(inst, at)[0], 0, resource.as_u32(), 0);
            }
            (Op::ArrayLoad, Imm::Array { array, component }) => {
                push(Code::ArrayLoad, self.registers.define(inst, at)[0], a, place(array.as_u32(), component), 0);
            }
            (Op::ArrayStore, Imm::Array { array, component }) => {
                push(Code::ArrayStore, 0, a, place(array.as_u32(), component), b);
                self.registers.release(inst, at);
            }
            (Op::ArrayStoreMasked, Imm::Array { array, component }) => {
                push(Code::ArrayStoreMasked, c, a, place(array.as_u32(), component), b);
                self.registers.release(inst, at);
            }
            (op, imm) if let Some(access) = Access::new(op, imm) => {
                let has_result = inst.result.is_some();
                let result = if has_result { self.registers.define(inst, at) } else { [ZERO; 4] };
                if !has_result {
                    self.registers.release(inst, at);
                }
                push(Code::Access, 0, self.accesses.len() as u32, 0, 0);
                let words = inst.result.map_or(0, |result| self.func.ty(result).words() as usize);
                self.accesses.push(TextureAccess { access, operands, count: inst.args.len(), result, words });
            }
            (op, _) if double::is_double_op(op) => {
                let result = self.registers.define(inst, at);
                push(Code::Double, 0, self.doubles.len() as u32, 0, 0);
                let [x, y, z, _] = operands.map(|[low, high, ..]| [low, high]);
                let words = if op.result() == TypeRule::F64 { 2 } else { 1 };
                self.doubles.push(Double { op, operands: [x, y, z], result: [result[0], result[1]], words });
            }
            (op, _) if eval::is_plain(op) && inst.ty != Type::Row => {
                push(Code::Plain(op), self.registers.define(inst, at)[0], a, b, c);
            }
            (op, _) => return Err(NotPlain { op }),
        }
        Ok(())
    }

    /// Lays the blocks out, each with its end behind it.
    fn finish(mut self) -> Bytecode {
        let mut linker = Linker::default();
        for &block in &self.func.layout {
            // Of a block that is never run there is nothing but its place.
            linker.starts[block] = linker.code.len() as u32;
            linker.code.append(&mut self.blocks[block]);
            self.end(&mut linker, block);
        }
        linker.resolve();
        let Linker { code, switches, .. } = linker;
        for (&(element, component), &register) in &self.registers.stored {
            self.outputs[element as usize][usize::from(component)] = register;
        }
        let Registers { literals, count, inputs, stored, vertex_id, instance_id, active, .. } = self.registers;
        let shape = |array: &crate::function::ArrayData| ArrayShape {
            elements: array.elements,
            components: array.components,
            kept: array.kept,
        };
        Bytecode {
            prologue: self.prologue,
            code,
            doubles: self.doubles,
            accesses: self.accesses,
            stores: self.stores,
            switches,
            arrays: self.func.arrays.values().map(shape).collect(),
            literals,
            registers: count,
            inputs,
            outputs: self.outputs,
            zeroed: stored.into_values().collect(),
            vertex_id,
            active,
            instance_id,
        }
    }

    /// What a block does at its end.
    fn end(&self, linker: &mut Linker, block: Block) {
        match self.func.blocks[block].terminator() {
            Terminator::Jump(call) => self.edge(linker, block, call),
            Terminator::BrIf { condition, then_call, else_call } => {
                let at = linker.code.len();
                linker.push(Code::Branch, self.registers.of(*condition)[0]);
                let targets = [then_call, else_call].map(|call| self.target(linker, block, call));
                [linker.code[at].b, linker.code[at].c] = targets;
            }
            Terminator::Switch { value, cases, default } => {
                linker.push(Code::Switch, self.registers.of(*value)[0]);
                let last = linker.code.len() - 1;
                linker.code[last].b = linker.switches.len() as u32;
                let mut cases: Vec<(u32, u32)> =
                    cases.iter().map(|(case, call)| (*case, self.target(linker, block, call))).collect();
                cases.sort_unstable();
                let default = self.target(linker, block, default);
                linker.switches.push(Switch { cases, default });
            }
            Terminator::Return => linker.push(Code::Return, 0),
        }
    }

    /// Where a branch goes on for an edge: the block itself, or, if there is something to be done on the way, code for
    /// that.
    fn target(&self, linker: &mut Linker, from: Block, call: &BlockCall) -> u32 {
        if call.args.is_empty() && self.costs.edge(from, call.block) == 0 {
            return BLOCK | call.block.as_u32();
        }
        let start = linker.code.len() as u32;
        self.edge(linker, from, call);
        start
    }

    /// Gives the parameters of an edge's target their values, pays, and goes there.
    fn edge(&self, linker: &mut Linker, from: Block, call: &BlockCall) {
        let params = &self.func.blocks[call.block].params;
        let mut pairs = Vec::new();
        for (&param, &arg) in params.iter().zip(&call.args) {
            let words = self.func.ty(param).words() as usize;
            pairs.extend(self.registers.of(param).into_iter().zip(self.registers.of(arg)).take(words));
        }
        moves::in_order(&pairs, self.registers.spare, |d, a| {
            linker.code.push(Instruction { code: Code::Move, d, a, b: 0, c: 0 });
        });
        linker.push(Code::Jump, BLOCK | call.block.as_u32());
        let last = linker.code.len() - 1;
        linker.code[last].c = self.costs.edge(from, call.block);
    }
}

/// Marks a target that is a block and not yet an instruction.
const BLOCK: u32 = 1 << 31;

/// Code whose targets are not known yet.
#[derive(Default)]
struct Linker {
    code: Vec<Instruction>,
    switches: Vec<Switch>,
    starts: SecondaryMap<Block, u32>,
}

impl Linker {
    fn push(&mut self, code: Code, a: u32) {
        self.code.push(Instruction { code, d: 0, a, b: 0, c: 0 });
    }

    /// Replaces blocks by their first instructions.
    fn resolve(&mut self) {
        let starts = &self.starts;
        let resolve = |target: &mut u32| {
            if *target & BLOCK != 0 {
                *target = starts[Block::from_u32(*target & !BLOCK)];
            }
        };
        for inst in &mut self.code {
            match inst.code {
                Code::Jump => resolve(&mut inst.a),
                Code::Branch => [&mut inst.b, &mut inst.c].into_iter().for_each(resolve),
                _ => {}
            }
        }
        for switch in &mut self.switches {
            switch.cases.iter_mut().for_each(|(_, target)| resolve(target));
            resolve(&mut switch.default);
        }
    }
}
