//! Where values lie: which are computed once for many runs, and which share a register with others.

use crate::cfg::{self, Blocks};
use crate::entity::{Block, Value};
use crate::eval;
use crate::function::{Function, Imm, InstData, Terminator};
use crate::op::{Effect, Op, SysVal};
use crate::set::EntitySet;
use crate::texture;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::collections::{HashMap, HashSet};

/// The register of the literal zero.
pub(super) const ZERO: u32 = 0;

/// A use behind which nothing may share the register any more.
const AT_THE_END: u32 = u32::MAX;

/// What is known of values before any has a register.
pub(super) struct Uses<'f> {
    func: &'f Function,
    /// Blocks that run, each behind those that dominate it.
    pub order: Blocks,
    /// The block whose outputs stay in the registers of their values: the only one that returns.
    pub end: Option<Block>,
    /// What is computed before the first wave.
    pub hoisted: EntitySet<Value>,
    /// The value whose registers a value is words of; none is itself.
    root: SecondaryMap<Value, PackedOption<Value>>,
    block_of: SecondaryMap<Value, PackedOption<Block>>,
    /// Roots that are used in more blocks than their own.
    is_shared: EntitySet<Value>,
    /// The last use of other roots: a position in their block.
    last_use: SecondaryMap<Value, u32>,
    /// Output components that the last block sets.
    pub set_at_end: HashSet<(u32, u8)>,
}

impl<'f> Uses<'f> {
    pub fn new(func: &'f Function) -> Uses<'f> {
        let order = cfg::reverse_postorder(func);
        let mut ends = order.iter().copied().filter(|&block| *func.blocks[block].terminator() == Terminator::Return);
        let end = ends.next().filter(|_| ends.next().is_none());
        let mut uses = Uses {
            func,
            end,
            hoisted: EntitySet::with_capacity(func.values.len()),
            root: func.value_map(),
            block_of: func.value_map(),
            is_shared: EntitySet::with_capacity(func.values.len()),
            last_use: func.value_map(),
            set_at_end: HashSet::new(),
            order,
        };
        for at in 0..uses.order.len() {
            uses.add_block(uses.order[at]);
        }
        uses
    }

    fn add_block(&mut self, block: Block) {
        let data = &self.func.blocks[block];
        for &param in &data.params {
            self.block_of[param] = block.into();
            self.is_shared.insert(param);
        }
        for (at, &inst) in data.insts.iter().enumerate() {
            let inst = &self.func.insts[inst];
            let is_end = self.end == Some(block);
            if let (Op::Output, Imm::Element { element, component }, true) = (inst.op, inst.imm, is_end) {
                self.set_at_end.insert((element, component));
                self.add_use(inst.args[0], block, AT_THE_END);
            }
            inst.args.iter().for_each(|&arg| self.add_use(arg, block, at as u32));
            let Some(result) = inst.result else { continue };
            self.block_of[result] = block.into();
            if is_part(inst.op) {
                self.root[result] = self.root(inst.args[0]).into();
            }
            if self.can_hoist(inst) {
                self.hoisted.insert(result);
                self.is_shared.insert(result);
            }
            if matches!(inst.op, Op::Input | Op::Sysval) {
                self.is_shared.insert(result);
            }
        }
        data.terminator().uses().for_each(|value| self.add_use(value, block, data.insts.len() as u32));
    }

    fn add_use(&mut self, value: Value, block: Block, at: u32) {
        let root = self.root(value);
        if self.block_of[root] != block.into() {
            self.is_shared.insert(root);
        }
        self.last_use[root] = self.last_use[root].max(at);
    }

    /// The value whose registers hold this one.
    pub fn root(&self, value: Value) -> Value {
        self.root[value].expand().unwrap_or(value)
    }

    /// Whether nothing uses a value's registers behind a position of its block.
    fn ends_at(&self, value: Value, at: usize) -> bool {
        let root = self.root(value);
        !self.is_shared.contains(root) && self.last_use[root] as usize == at
    }

    /// Whether a value is the same for all runs of a call, and asks nobody but the machine.
    fn can_hoist(&self, inst: &InstData) -> bool {
        match inst.op {
            Op::Input => false,
            Op::Sysval => inst.imm == Imm::SysVal(SysVal::InstanceId),
            op => {
                op.effect() == Effect::Pure
                    && inst.ty != Type::Row
                    && !texture::is_access(op)
                    && inst.args.iter().all(|&arg| self.hoisted.contains(arg))
            }
        }
    }
}

/// Whether the result of an op is words of its operand.
pub(super) fn is_part(op: Op) -> bool {
    matches!(op, Op::BitcastI32 | Op::BitcastF32 | Op::RowWord | Op::F64lo | Op::F64hi)
}

/// The registers of values.
pub(super) struct Registers<'u, 'f> {
    func: &'f Function,
    pub uses: &'u Uses<'f>,
    /// The registers of a value's words.
    words: SecondaryMap<Value, [u32; 4]>,
    /// Registers that values of one block share, and are not in use now.
    free: Vec<u32>,
    /// The first of them.
    first_shared: u32,
    /// The first register that the block has not used.
    next: u32,
    /// Number of registers.
    pub count: u32,
    pub literals: Vec<u32>,
    register_of_literal: HashMap<u32, u32>,
    pub inputs: Vec<[Option<u32>; 4]>,
    /// Those of output components that are not set at the end.
    pub stored: HashMap<(u32, u8), u32>,
    pub vertex_id: Option<u32>,
    pub active: Option<u32>,
    pub instance_id: Option<u32>,
    /// One for moves in a ring.
    pub spare: u32,
}

impl<'u, 'f> Registers<'u, 'f> {
    pub fn new(func: &'f Function, uses: &'u Uses<'f>) -> Registers<'u, 'f> {
        let mut registers = Registers {
            func,
            uses,
            words: func.value_map(),
            free: Vec::new(),
            first_shared: 0,
            next: 0,
            count: 0,
            literals: Vec::new(),
            register_of_literal: HashMap::new(),
            inputs: vec![[None; 4]; func.inputs as usize],
            stored: HashMap::new(),
            vertex_id: None,
            instance_id: None,
            active: None,
            spare: 0,
        };
        // Literals are the first registers, and zero is the first of those.
        registers.literal(0);
        registers.each(|registers, inst| match (inst.op, inst.imm) {
            (Op::Const, Imm::Bits(bits)) => {
                registers.literal(bits as u32);
                registers.literal((bits >> 32) as u32);
            }
            (Op::Not, _) => drop(registers.literal(eval::complement(inst.ty))),
            _ => {}
        });
        registers.spare = registers.new_register();
        registers.each(Registers::preset);
        for &block in &uses.order {
            func.blocks[block].params.iter().for_each(|&param| registers.allocate(param));
        }
        registers.first_shared = registers.count;
        registers
    }

    fn each(&mut self, mut f: impl FnMut(&mut Self, &InstData)) {
        for &block in &self.uses.order {
            self.func.blocks[block].insts.iter().for_each(|&inst| f(self, &self.func.insts[inst]));
        }
    }

    /// Gives what a block cannot share its registers.
    fn preset(&mut self, inst: &InstData) {
        match (inst.op, inst.imm, inst.result) {
            (Op::Const, Imm::Bits(bits), Some(result)) => {
                let [low, high] = [bits as u32, (bits >> 32) as u32].map(|word| self.literal(word));
                self.words[result] = [low, high, ZERO, ZERO];
            }
            (Op::Input, Imm::Element { element, component }, Some(result)) => {
                let known = self.inputs[element as usize][usize::from(component)];
                let register = known.unwrap_or_else(|| self.new_register());
                self.inputs[element as usize][usize::from(component)] = Some(register);
                self.words[result][0] = register;
            }
            (Op::Sysval, Imm::SysVal(sysval), Some(result)) => {
                let known = match sysval {
                    SysVal::VertexId => self.vertex_id,
                    SysVal::InstanceId => self.instance_id,
                    SysVal::Active => self.active,
                };
                let register = known.unwrap_or_else(|| self.new_register());
                match sysval {
                    SysVal::VertexId => self.vertex_id = Some(register),
                    SysVal::InstanceId => self.instance_id = Some(register),
                    SysVal::Active => self.active = Some(register),
                }
                self.words[result][0] = register;
            }
            (Op::Output, Imm::Element { element, component }, _)
                if !self.uses.set_at_end.contains(&(element, component)) =>
            {
                let known = self.stored.get(&(element, component)).copied();
                let register = known.unwrap_or_else(|| self.new_register());
                self.stored.insert((element, component), register);
            }
            // It gets words of its operand when that has some.
            (op, _, Some(_)) if is_part(op) => {}
            (_, _, Some(result)) if self.uses.is_shared.contains(result) => self.allocate(result),
            _ => {}
        }
    }

    /// Has a value be words of the operand that it is a part of.
    pub fn alias(&mut self, inst: &InstData, result: Value) {
        let words = self.words[inst.args[0]];
        self.words[result] = match (inst.op, inst.imm) {
            (Op::RowWord, Imm::Component(component)) => [words[usize::from(component)], ZERO, ZERO, ZERO],
            (Op::F64hi, _) => [words[1], ZERO, ZERO, ZERO],
            _ => [words[0], ZERO, ZERO, ZERO],
        };
    }

    fn allocate(&mut self, value: Value) {
        for word in 0..self.func.ty(value).words() as usize {
            self.words[value][word] = self.new_register();
        }
    }

    fn new_register(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// The register of a literal that is there.
    pub fn literal(&mut self, bits: u32) -> u32 {
        if let Some(&register) = self.register_of_literal.get(&bits) {
            return register;
        }
        let register = self.new_register();
        self.literals.push(bits);
        self.register_of_literal.insert(bits, register);
        register
    }

    /// The registers of a value's words; [`ZERO`] for those that it does not have.
    pub fn of(&self, value: Value) -> [u32; 4] {
        self.words[value]
    }

    /// Begins a block: no value of another one is in the registers that blocks share.
    pub fn begin_block(&mut self) {
        self.free.clear();
        self.next = self.first_shared;
    }

    /// The registers of the result of an instruction at a position of its block. Those of operands that nothing else
    /// uses are free from there on; a result of one word may have one of them, because an instruction reads first.
    pub fn define(&mut self, inst: &InstData, at: usize) -> [u32; 4] {
        let Some(result) = inst.result else {
            self.release(inst, at);
            return [ZERO; 4];
        };
        let words = self.func.ty(result).words() as usize;
        if words == 1 {
            self.release(inst, at);
        }
        if !self.uses.is_shared.contains(result) {
            for word in 0..words {
                self.words[result][word] = self.free.pop().unwrap_or_else(|| {
                    self.next += 1;
                    self.count = self.count.max(self.next);
                    self.next - 1
                });
            }
        }
        if words > 1 {
            self.release(inst, at);
        }
        self.words[result]
    }

    /// Frees the registers of operands that nothing uses after an instruction.
    pub fn release(&mut self, inst: &InstData, at: usize) {
        for (number, &arg) in inst.args.iter().enumerate() {
            let root = self.uses.root(arg);
            let is_first = inst.args[..number].iter().all(|&other| self.uses.root(other) != root);
            if is_first && self.uses.ends_at(root, at) {
                let words = self.func.ty(root).words() as usize;
                self.free.extend_from_slice(&self.words[root][..words]);
            }
        }
    }
}
