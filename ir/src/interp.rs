//! The reference: runs a function on L lanes at once, plainly. What an op computes is in [`crate::eval`] and, for
//! doubles, in [`crate::double`].
//!
//! Scalar code runs with `L = 1`; lockstep code with any L, and then every lane must want the same branch.

use crate::double;
use crate::entity::{Array, Block, Inst, Resource, Value};
use crate::eval::{Lanes, eval};
use crate::fuel::{EdgeCosts, Fuel, Meter, Stop};
use crate::function::{BlockCall, Function, Imm, InstData, Operands, Terminator};
use crate::op::{Memory, Op, RESOURCE_BYTES, SysVal, WORKLISTS};
use crate::texture::{self, Access, Rows, Textures};
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use thiserror::Error;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InterpError {
    /// There was no more fuel, or the call was to end.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// Lanes want different branches: the function is not in lockstep form.
    #[error("lanes disagree at the end of {block}")]
    Divergent {
        /// Where.
        block: Block,
    },
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct InterpOptions<'a> {
    /// What edges that go backwards are paid with: each run is a wave.
    pub fuel: Fuel<'a>,
    /// Whether `fmad` rounds once.
    pub fused: bool,
}

/// What L invocations see.
#[derive(Clone, Copy, Debug)]
pub struct Bindings<'a, const L: usize> {
    /// One entry an input element: four components; to a [batch program](crate::batch) the words of its row.
    pub inputs: &'a [[Lanes<L>; 4]],
    /// Vertex numbers. Lanes of the tail repeat the last.
    pub vertex_id: Lanes<L>,
    /// Instance number.
    pub instance_id: u32,
    /// One entry a uniform space: its rows. Not looked at for spaces that are tables.
    pub uniforms: &'a [&'a [[u32; 4]]],
    /// One entry a resource: its bytes; none for textures.
    pub resources: &'a [&'a [u8]],
    /// What texture accesses give.
    pub textures: &'a dyn Textures,
}

/// A run on its way.
pub struct Run<'a> {
    meter: Meter<'a>,
    block: Block,
    /// The number of the next instruction of the block.
    inst: usize,
}

impl Run<'_> {
    /// Pays for an edge.
    pub(crate) fn pay(&mut self, cost: u32) -> Result<(), Stop> {
        if cost == 0 { Ok(()) } else { self.meter.pay(cost) }
    }

    /// Ends it: the call pays for it.
    pub(crate) fn end(&mut self) -> Result<(), Stop> {
        self.meter.end()
    }
}

/// Runs one function; keeps its memory from run to run.
pub struct Interpreter<'f, const L: usize> {
    func: &'f Function,
    /// Lanes of each value; an `f64` has its high words in the slot after, a row its other words in the three after.
    slots: Vec<Lanes<L>>,
    slot_of: SecondaryMap<Value, u32>,
    costs: EdgeCosts,
    /// One entry an array: `[element][component]`.
    arrays: Vec<Vec<Lanes<L>>>,
    outputs: Vec<[Lanes<L>; 4]>,
    /// Slots of the wave.
    kept: Vec<Lanes<L>>,
    /// Slots of the call.
    of_call: Vec<[u32; 4]>,
    /// Whether the wave has been listed last, for each worklist.
    listed: Vec<bool>,
    /// Whether no guard has failed in this run.
    guards_hold: bool,
    /// Lanes of each vector of a wave. What is made for one of several has its lanes first, and the others behind them
    /// in a circle.
    lanes_of_vector: usize,
}

impl<'f, const L: usize> Interpreter<'f, L> {
    /// Prepares to run a verified function.
    pub fn new(func: &'f Function) -> Interpreter<'f, L> {
        Interpreter::with_costs(func, EdgeCosts::new(func))
    }

    /// The same, for a function whose edges cost what another form of it says.
    pub fn with_costs(func: &'f Function, costs: EdgeCosts) -> Interpreter<'f, L> {
        let vectors = 1 + func.insts.values().map(|inst| inst.vector).max().unwrap_or(0);
        let mut slot_of = SecondaryMap::new();
        let mut slots = 0;
        for (value, data) in &func.values {
            slot_of[value] = slots;
            slots += data.ty.words();
        }
        Interpreter {
            func,
            slots: vec![[0; L]; slots as usize],
            slot_of,
            costs,
            arrays: func
                .arrays
                .values()
                .map(|a| vec![[0; L]; a.elements as usize * usize::from(a.components)])
                .collect(),
            outputs: vec![[[0; L]; 4]; func.outputs as usize],
            kept: vec![[0; L]; func.slots(Memory::Slot) as usize],
            of_call: vec![[0; 4]; func.slots(Memory::Call) as usize],
            listed: vec![false; WORKLISTS as usize],
            guards_hold: true,
            lanes_of_vector: L / usize::from(vectors),
        }
    }

    /// Whether the last run is valid: no [guard](Op::GuardOrdered) has failed in it.
    pub fn guards_hold(&self) -> bool {
        self.guards_hold
    }

    /// Runs L invocations to their end and returns the output elements.
    ///
    /// # Panics
    /// If fewer inputs, uniform spaces or resources are bound than the function declares.
    pub fn run(
        &mut self,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<&[[Lanes<L>; 4]], InterpError> {
        let mut run = self.begin(options)?;
        while self.run_until_barrier(&mut run, bindings, options)?.is_some() {}
        Ok(&self.outputs)
    }

    /// Begins a run: arrays and outputs are zero, and no guard has failed.
    ///
    /// # Errors
    /// [`InterpError::Stopped`] if the call is to end.
    pub fn begin<'a>(&mut self, options: &InterpOptions<'a>) -> Result<Run<'a>, InterpError> {
        let zeroed = self.arrays.iter_mut().zip(self.func.arrays.values()).filter(|(_, data)| !data.kept);
        zeroed.for_each(|(array, _)| array.fill([0; L]));
        self.outputs.fill([[0; L]; 4]);
        self.guards_hold = true;
        Ok(Run { meter: Meter::new(options.fuel)?, block: self.func.entry(), inst: 0 })
    }

    /// Goes on with a run to behind the next [barrier](Op::Barrier), which it gives; none if it has ended.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_until_barrier(
        &mut self,
        run: &mut Run<'_>,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<Option<Inst>, InterpError> {
        let func = self.func;
        loop {
            for (at, &inst) in func.blocks[run.block].insts.iter().enumerate().skip(run.inst) {
                if func.insts[inst].op == Op::Barrier {
                    run.inst = at + 1;
                    return Ok(Some(inst));
                }
                self.step(&func.insts[inst], bindings, options);
            }
            let Some((next, cost)) = self.leave(run.block)? else { break };
            run.pay(cost)?;
            (run.block, run.inst) = (next, 0);
        }
        run.meter.end()?;
        Ok(None)
    }

    /// Runs the instructions of a block that has no barrier.
    pub(crate) fn block(&mut self, block: Block, bindings: &Bindings<'_, L>, options: &InterpOptions<'_>) {
        let func = self.func;
        for &inst in &func.blocks[block].insts {
            self.step(&func.insts[inst], bindings, options);
        }
    }

    /// Takes the edge that all lanes want, and says where it leads and what it costs; `None` at a return.
    pub(crate) fn leave(&mut self, block: Block) -> Result<Option<(Block, u32)>, InterpError> {
        let Some(call) = self.branch(block)? else { return Ok(None) };
        self.pass_arguments(call);
        Ok(Some((call.block, self.costs.edge(block, call.block))))
    }

    /// Whether the wave was listed for a worklist in the last phase that asks for it.
    pub(crate) fn is_listed(&self, worklist: u32) -> bool {
        self.listed[worklist as usize]
    }

    /// Fills a slot of the call in, if anything loads it.
    pub(crate) fn fill(&mut self, slot: u32, words: [u32; 4]) {
        if let Some(row) = self.of_call.get_mut(slot as usize) {
            *row = words;
        }
    }

    /// Sets a value of one word, the same in all lanes.
    pub(crate) fn set(&mut self, value: Value, word: u32) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot] = [word; L];
    }

    /// Makes a value zero.
    pub(crate) fn clear(&mut self, value: Value) {
        let (slot, words) = (self.slot_of[value] as usize, self.func.ty(value).words() as usize);
        self.slots[slot..slot + words].fill([0; L]);
    }

    /// The output elements as the last run left them.
    pub fn outputs(&self) -> &[[Lanes<L>; 4]] {
        &self.outputs
    }

    /// A register array as the last run left it, `[element][component]`. Made for those that are kept.
    pub fn array(&self, array: Array) -> &[Lanes<L>] {
        &self.arrays[array.as_u32() as usize]
    }

    fn lanes(&self, value: Value) -> Lanes<L> {
        self.slots[self.slot_of[value] as usize]
    }

    fn high(&self, value: Value) -> Lanes<L> {
        self.slots[self.slot_of[value] as usize + 1]
    }

    /// The bits of a value of any type, zeros above those of 32.
    fn wide_lanes(&self, value: Value) -> [u64; L] {
        let low = self.lanes(value).map(u64::from);
        if self.func.ty(value) != Type::F64 {
            return low;
        }
        let high = self.high(value);
        std::array::from_fn(|l| u64::from(high[l]) << 32 | low[l])
    }

    /// The words of a value in the first lane, zeros behind them.
    pub(crate) fn words(&self, value: Value) -> [u32; 4] {
        let (slot, words) = (self.slot_of[value] as usize, self.func.ty(value).words() as usize);
        std::array::from_fn(|word| if word < words { self.slots[slot + word][0] } else { 0 })
    }

    /// The bits of a value of at most 64 in the first lane.
    pub(crate) fn bits(&self, value: Value) -> u64 {
        self.wide_lanes(value)[0]
    }

    fn set_pair(&mut self, value: Value, low: Lanes<L>, high: Lanes<L>) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot] = low;
        self.slots[slot + 1] = high;
    }

    /// The words of a row; the first of a value that is one word, and zeros.
    fn row(&self, value: Value) -> [Lanes<L>; 4] {
        let slot = self.slot_of[value] as usize;
        let words = if self.func.ty(value) == Type::Row { 4 } else { 1 };
        std::array::from_fn(|word| if word < words { self.slots[slot + word] } else { [0; L] })
    }

    fn set_row(&mut self, value: Value, row: [Lanes<L>; 4]) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot..slot + 4].copy_from_slice(&row);
    }

    fn access(&mut self, access: &Access, args: &[Value], textures: &dyn Textures) -> [Lanes<L>; 4] {
        let mut result = [[0; L]; 4];
        for first in (0..L).step_by(texture::LANES) {
            let lanes = texture::LANES.min(L - first);
            let mut rows = Rows::ZERO;
            for (operand, &arg) in rows.0.iter_mut().zip(args) {
                for (to, from) in operand.iter_mut().zip(self.row(arg)) {
                    to[..lanes].copy_from_slice(&from[first..first + lanes]);
                }
            }
            textures.access(access, lanes, &mut rows);
            for (to, from) in result.iter_mut().zip(&rows.0[0]) {
                to[first..first + lanes].copy_from_slice(&from[..lanes]);
            }
        }
        result
    }

    pub(crate) fn step(&mut self, inst: &InstData, bindings: &Bindings<'_, L>, options: &InterpOptions<'_>) {
        let args = &inst.args;
        let first = usize::from(inst.vector) * self.lanes_of_vector;
        let turned = |mut lanes: Lanes<L>| {
            lanes.rotate_left(first);
            lanes
        };
        let turned_back = |mut lanes: Lanes<L>| {
            lanes.rotate_right(first);
            lanes
        };
        let lanes: Lanes<L> = match (inst.op, inst.imm) {
            (Op::Output, Imm::Element { element, component }) => {
                self.outputs[element as usize][usize::from(component)] = turned_back(self.lanes(args[0]));
                return;
            }
            (Op::OutputRow, Imm::Stream(element)) => {
                self.outputs[element as usize] = self.row(args[0]).map(turned_back);
                return;
            }
            (Op::GuardOrdered, _) => {
                let words = self.row(args[0]);
                self.guards_hold &= !words.iter().flatten().any(|&bits| f32::from_bits(bits).is_nan());
                return;
            }
            (Op::SlotStore, Imm::Slot(slot)) => {
                let slot = slot as usize;
                self.kept[slot] = self.lanes(args[0]);
                if inst.ty == Type::F64 {
                    self.kept[slot + 1] = self.high(args[0]);
                }
                return;
            }
            (Op::SlotLoad, Imm::Slot(slot)) if inst.ty == Type::F64 => {
                return self.set_pair(result(inst), self.kept[slot as usize], self.kept[slot as usize + 1]);
            }
            (Op::SlotLoad, Imm::Slot(slot)) => self.kept[slot as usize],
            (Op::CallStore, Imm::Slot(slot)) => {
                let row = self.row(args[0]).map(|word| word[0]);
                self.of_call[slot as usize] = if inst.ty == Type::Row { row } else { [row[0]; 4] };
                return;
            }
            (Op::CallLoad, Imm::Slot(slot)) => {
                let words = self.of_call[slot as usize].map(|word| [word; L]);
                if inst.ty == Type::Row {
                    return self.set_row(result(inst), words);
                }
                words[0]
            }
            (Op::WorklistPush, Imm::Worklist(worklist)) => {
                self.listed[worklist as usize] = self.lanes(args[0]).iter().any(|&lane| lane != 0);
                return;
            }
            (Op::WorklistAny, Imm::Worklist(worklist)) => [self.listed[worklist as usize].into(); L],
            // A wave by itself comes wherever it goes.
            (Op::WorklistEnter | Op::Barrier, _) => return,
            (Op::ArrayStore | Op::ArrayStoreMasked, imm) => {
                let mask = args.get(2).map_or([1; L], |&mask| self.lanes(mask));
                let (index, value) = (self.lanes(args[0]), self.lanes(args[1]));
                for l in (0..L).filter(|&l| mask[l] != 0) {
                    if let Some(cell) = self.array_cell(imm, index[l]) {
                        cell[(l + first) % L] = value[l];
                    }
                }
                return;
            }
            (Op::ArrayLoad, imm) => {
                let index = self.lanes(args[0]);
                std::array::from_fn(|l| self.array_cell(imm, index[l]).map_or(0, |cell| cell[(l + first) % L]))
            }
            (Op::Input | Op::InputWord, Imm::Element { element, component }) => {
                turned(bindings.inputs[element as usize][usize::from(component)])
            }
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => turned(bindings.vertex_id),
            (Op::Sysval, Imm::SysVal(SysVal::InstanceId)) => [bindings.instance_id; L],
            (Op::Sysval, Imm::SysVal(SysVal::Active)) => turned(active(&bindings.vertex_id)),
            (Op::UniformLoad | Op::UniformLoadAt, imm) => {
                let index = args.first().map_or([0; L], |&index| self.lanes(index));
                self.uniform_words(bindings, imm, index)
            }
            (Op::ResourceLoad, Imm::ResourceByte { resource, offset }) => {
                let bytes = readable(bindings, resource);
                self.lanes(args[0]).map(|at| {
                    let word =
                        (at as usize).checked_add(offset as usize).and_then(|start| bytes.get(start..)?.first_chunk());
                    word.map_or(0, |&word| u32::from_le_bytes(word))
                })
            }
            (Op::ResourceBytes, Imm::Resource(resource)) => [readable(bindings, resource).len() as u32; L],
            (Op::Const, Imm::Bits(bits)) => {
                if inst.ty == Type::F64 {
                    return self.set_pair(result(inst), [bits as u32; L], [(bits >> 32) as u32; L]);
                }
                [bits as u32; L]
            }
            (Op::Select, _) if inst.ty == Type::F64 => {
                let condition = self.lanes(args[0]);
                let [low, high] = [Self::lanes, Self::high].map(|word| {
                    eval(Op::Select, Type::I32, &[condition, word(self, args[1]), word(self, args[2])], options.fused)
                });
                return self.set_pair(result(inst), low, high);
            }
            (Op::F64join, _) => {
                return self.set_pair(result(inst), self.lanes(args[0]), self.lanes(args[1]));
            }
            (Op::RowJoin, _) => {
                return self.set_row(result(inst), std::array::from_fn(|word| self.lanes(args[word])));
            }
            (Op::InputRow, Imm::Stream(element)) => {
                return self.set_row(result(inst), bindings.inputs[element as usize].map(turned));
            }
            (Op::RowSplat, Imm::Component(component)) => {
                return self.set_row(result(inst), [self.row(args[0])[usize::from(component)]; 4]);
            }
            (Op::RowEach, _) => return self.set_row(result(inst), [self.lanes(args[0]); 4]),
            (Op::RowAt, Imm::SpaceRow { space, row }) => {
                let rows = [0, 1, 2, 3].map(|component| {
                    let index = self.lanes(args[0]);
                    self.uniform_words(bindings, Imm::Row { space, row, component }, index)
                });
                return self.set_row(result(inst), rows);
            }
            (Op::RowWord, Imm::Component(component)) => self.row(args[0])[usize::from(component)],
            (op, imm) if let Some(access) = Access::new(op, imm) => {
                let row = self.access(&access, args, bindings.textures);
                if inst.result.is_none() {
                    return;
                }
                if inst.ty == Type::Row {
                    return self.set_row(result(inst), row);
                }
                row[0]
            }
            (Op::F64lo, _) => self.lanes(args[0]),
            (Op::F64hi, _) => self.high(args[0]),
            (op, _) if double::is_double_op(op) => {
                let mut operands = [[0; L]; double::OPERANDS];
                for (operand, &arg) in operands.iter_mut().zip(args.iter()) {
                    *operand = self.wide_lanes(arg);
                }
                let results: [u64; L] = std::array::from_fn(|l| double::eval(op, operands.map(|operand| operand[l])));
                let low = results.map(|bits| bits as u32);
                if inst.ty == Type::F64 {
                    return self.set_pair(result(inst), low, results.map(|bits| (bits >> 32) as u32));
                }
                low
            }
            (op, _) if inst.ty == Type::Row => {
                let rows: [[Lanes<L>; 4]; 3] =
                    std::array::from_fn(|number| args.get(number).map_or([[0; L]; 4], |&arg| self.row(arg)));
                let words = |word: usize| {
                    let operands = rows.map(|row| row[word]);
                    eval(op, Type::I32, &operands[..args.len()], options.fused)
                };
                return self.set_row(result(inst), std::array::from_fn(words));
            }
            (op, _) => {
                let mut operands = [[0; L]; Operands::MAX];
                for (operand, &arg) in operands.iter_mut().zip(args.iter()) {
                    *operand = self.lanes(arg);
                }
                eval(op, inst.ty, &operands[..args.len()], options.fused)
            }
        };
        let slot = self.slot_of[result(inst)] as usize;
        self.slots[slot] = lanes;
    }

    /// One component of the row of each lane's index in a uniform space.
    fn uniform_words(&self, bindings: &Bindings<'_, L>, imm: Imm, index: Lanes<L>) -> Lanes<L> {
        let Imm::Row { space, row, component } = imm else { return [0; L] };
        let table = self.func.spaces[space].table.as_deref();
        let rows = table.unwrap_or_else(|| bindings.uniforms[space.as_u32() as usize]);
        index.map(|index| {
            let row = row.wrapping_add(index) as usize;
            rows.get(row).map_or(0, |row| row[usize::from(component)])
        })
    }

    fn array_cell(&mut self, imm: Imm, index: u32) -> Option<&mut Lanes<L>> {
        let Imm::Array { array, component } = imm else { return None };
        let components = usize::from(self.func.arrays[array].components);
        let cell = (index as usize).checked_mul(components)?.checked_add(usize::from(component))?;
        self.arrays[array.as_u32() as usize].get_mut(cell)
    }

    /// The edge all lanes take; `None` at a return.
    fn branch(&self, block: Block) -> Result<Option<&'f BlockCall>, InterpError> {
        let terminator = self.func.blocks[block].terminator();
        let same = |value: Value| {
            let lanes = self.lanes(value);
            if lanes.iter().all(|&lane| lane == lanes[0]) {
                Ok(lanes[0])
            } else {
                Err(InterpError::Divergent { block })
            }
        };
        Ok(match terminator {
            Terminator::Jump(call) => Some(call),
            Terminator::BrIf { condition, then_call, else_call } => {
                Some(if same(*condition)? != 0 { then_call } else { else_call })
            }
            Terminator::Switch { value, cases, default } => {
                let value = same(*value)?;
                Some(cases.iter().find(|(case, _)| *case == value).map_or(default, |(_, call)| call))
            }
            Terminator::Return => None,
        })
    }

    /// All arguments are read before any parameter is written: a loop may swap two of them.
    fn pass_arguments(&mut self, call: &BlockCall) {
        let values: Vec<(Lanes<L>, Option<Lanes<L>>)> = call
            .args
            .iter()
            .map(|&arg| (self.lanes(arg), (self.func.ty(arg) == Type::F64).then(|| self.high(arg))))
            .collect();
        for (&param, (low, high)) in self.func.blocks[call.block].params.iter().zip(values) {
            let slot = self.slot_of[param] as usize;
            self.slots[slot] = low;
            if let Some(high) = high {
                self.slots[slot + 1] = high;
            }
        }
    }
}

/// 1 in the lanes that have invocations of their own. Lanes of the tail repeat the last one, its number as well.
pub(crate) fn active<const L: usize>(vertex_id: &Lanes<L>) -> Lanes<L> {
    std::array::from_fn(|lane| u32::from(lane == 0 || vertex_id[lane] != vertex_id[lane - 1]))
}

/// What can be read of a resource.
fn readable<'a, const L: usize>(bindings: &Bindings<'a, L>, resource: Resource) -> &'a [u8] {
    let bytes = bindings.resources[resource.as_u32() as usize];
    &bytes[..bytes.len().min(RESOURCE_BYTES as usize)]
}

fn result(inst: &InstData) -> Value {
    inst.result.expect("the op has a result")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::texture::NoTextures;

    fn run<const L: usize>(
        func: &Function,
        inputs: &[[Lanes<L>; 4]],
        fuel: u32,
    ) -> Result<Vec<[Lanes<L>; 4]>, InterpError> {
        let vertex_id = std::array::from_fn(|l| l as u32);
        let bindings =
            Bindings { inputs, vertex_id, instance_id: 7, uniforms: &[], resources: &[], textures: &NoTextures };
        let mut interpreter = Interpreter::new(func);
        interpreter.run(&bindings, &InterpOptions { fuel: fuel.into(), fused: true }).map(<[_]>::to_vec)
    }

    /// i = 0; do { i += 1 } while (i < input 0.x); output 0.x = i
    fn counting_loop() -> Function {
        let mut b = FunctionBuilder::new("count", 1, 1);
        let i = b.declare_var(Type::I32);
        let bound = b.input(Type::I32, 0, 0);
        let (head, done) = (b.create_block(), b.create_block());
        b.jump(head);
        b.switch_to_block(head);
        let (before, one) = (b.use_var(i), b.i32(1));
        let after = b.iadd([before, one]);
        b.def_var(i, after);
        let again = b.ult([after, bound]);
        b.br_if(again, head, done);
        b.seal_block(head);
        b.seal_block(done);
        b.switch_to_block(done);
        b.output(0, 0, after);
        b.ret();
        b.finish()
    }

    #[test]
    fn a_loop_pays_for_its_body_with_each_edge_backwards() {
        let func = counting_loop();
        let input = [[[5], [0], [0], [0]]];
        // Four times a parameter, two instructions and the branch.
        assert_eq!(run::<1>(&func, &input, 16).map(|out| out[0][0]), Ok([5]));
        assert_eq!(run::<1>(&func, &input, 15), Err(InterpError::Stopped(Stop::Wave)));
    }

    #[test]
    fn lanes_that_disagree_are_reported() {
        let func = counting_loop();
        let input = [[[5, 6], [0; 2], [0; 2], [0; 2]]];
        assert!(matches!(run::<2>(&func, &input, 100), Err(InterpError::Divergent { .. })));
    }

    #[test]
    fn arrays_read_zero_and_drop_writes_past_their_end() {
        let mut b = FunctionBuilder::new("array", 1, 1);
        let array = b.add_array(4, 2);
        let (index, value) = (b.input(Type::I32, 0, 0), b.i32(9));
        b.array_store(array, 1, index, value);
        for component in 0..2 {
            let loaded = b.array_load(Type::I32, array, component, index);
            b.output(0, component, loaded);
        }
        b.ret();
        let func = b.finish();
        let out = run::<3>(&func, &[[[3, 4, u32::MAX], [0; 3], [0; 3], [0; 3]]], 0).unwrap();
        assert_eq!(out[0][0], [0, 0, 0]);
        assert_eq!(out[0][1], [9, 0, 0]);
    }

    #[test]
    fn doubles_are_pairs_of_words() {
        let mut b = FunctionBuilder::new("double", 1, 1);
        let x = b.input(Type::I32, 0, 0);
        let double = b.itod([x]);
        let (low, high) = (b.f64lo([double]), b.f64hi([double]));
        b.output(0, 0, low);
        b.output(0, 1, high);
        b.ret();
        let out = run::<1>(&b.finish(), &[[[-3i32 as u32], [0], [0], [0]]], 0).unwrap();
        let bits = (-3.0f64).to_bits();
        assert_eq!([out[0][0][0], out[0][1][0]], [bits as u32, (bits >> 32) as u32]);
    }
}
