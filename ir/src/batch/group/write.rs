//! The function that computes what is demanded of a run, in the order of the run.

use super::demand::{Demand, Form, members, sources};
use super::most_insts;
use super::trace::{Cell, End, LANES, Node, Source, Trace};
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, Imm, Origin, Picks, Terminator};
use crate::op::{Op, SysVal};
use crate::{Block, Function, Type, Value};
use cranelift_entity::PrimaryMap;

struct Writer<'a> {
    old: &'a Function,
    trace: &'a Trace,
    demand: &'a Demand,
    func: Function,
    /// The block that instructions are made in.
    block: Block,
    /// For each node, what it became.
    values: Vec<Option<Value>>,
    /// The numbers of lanes.
    numbers: Value,
}

/// Writes it, for waves that are all there is of their groups, and what its edges cost: each pays in front of a block
/// for what all waves take in it. None if it is too long.
pub fn write(old: &Function, costs: &EdgeCosts, trace: &Trace, demand: &Demand) -> Option<(Function, EdgeCosts)> {
    let mut func = Function {
        blocks: PrimaryMap::new(),
        insts: PrimaryMap::new(),
        values: PrimaryMap::new(),
        layout: Vec::new(),
        threads: Some(trace.lanes as u32),
        ..old.clone()
    };
    let entry = func.add_block();
    let blocks: Vec<Block> = trace.blocks.iter().map(|_| func.add_block()).collect();
    func.origin = Origin::default();
    let numbers = func.make_inst(Op::Sysval, Type::I32, &[], Imm::SysVal(SysVal::VertexId));
    func.blocks[entry].insts.push(numbers);
    func.blocks[entry].terminator = Some(Terminator::Jump(BlockCall { block: blocks[0], args: Vec::new() }));
    let numbers = func.insts[numbers].result?;
    let values = vec![None; trace.nodes.len()];
    let mut writer = Writer { old, trace, demand, func, block: entry, values, numbers };
    for node in 0..trace.nodes.len() {
        writer.block = blocks[trace.nodes[node].block];
        writer.node(node);
        if writer.func.insts.len() > most_insts(trace.lanes) {
            return None;
        }
    }
    let waves = old.threads? / trace.lanes as u32;
    let mut paid = EdgeCosts::none(costs.whole().saturating_mul(waves.into()));
    let mut pay = |from, to: usize| {
        paid.set(from, blocks[to], u32::try_from(trace.blocks[to].cost).ok()?);
        Some(())
    };
    pay(entry, 0)?;
    // One block of a function returns.
    let returns = trace.blocks.iter().filter(|block| matches!(block.end, Some(End::Return)));
    let exit = (returns.count() > 1).then(|| {
        let exit = writer.func.add_block();
        writer.func.blocks[exit].terminator = Some(Terminator::Return);
        exit
    });
    for (block, data) in blocks.iter().zip(&trace.blocks) {
        let terminator = match data.end.as_ref()? {
            End::Return => match exit {
                Some(exit) => Terminator::Jump(BlockCall { block: exit, args: Vec::new() }),
                None => Terminator::Return,
            },
            End::Jump(target, args) => {
                pay(*block, *target)?;
                let params = &trace.blocks[*target].params;
                let given = args.iter().zip(params).filter(|&(_, &param)| demand.forms[param as usize] != Form::Dead);
                let args = given.map(|(&arg, _)| writer.value(arg)).collect();
                Terminator::Jump(BlockCall { block: blocks[*target], args })
            }
            End::Branch(condition, targets) => {
                targets.iter().try_for_each(|&target| pay(*block, target))?;
                let [then_call, else_call] =
                    targets.map(|target| BlockCall { block: blocks[target], args: Vec::new() });
                Terminator::BrIf { condition: writer.value(*condition), then_call, else_call }
            }
        };
        writer.func.blocks[*block].terminator = Some(terminator);
    }
    Some((writer.func, paid))
}

impl Writer<'_> {
    fn node(&mut self, node: usize) {
        let data = &self.trace.nodes[node];
        self.func.origin = match &data.source {
            Source::Inst { inst, .. } => self.old.insts[*inst].origin,
            Source::Cells(_) | Source::Param => Origin::default(),
        };
        self.values[node] = match (self.demand.forms[node], &data.source) {
            (Form::Dead, _) => return,
            (Form::Same(bits), _) => Some(self.literal(data.ty, bits)),
            (Form::Steps { first, step }, _) => Some(self.steps(first, step)),
            (Form::Between(begin, end), _) => Some(self.between(begin, end)),
            (_, Source::Inst { inst, args }) => {
                let inst = &self.old.insts[*inst];
                let args: Vec<Value> = args[..inst.args.len()].iter().map(|&arg| self.value(arg)).collect();
                self.inst(inst.op, inst.ty, &args, inst.imm)
            }
            (_, Source::Param) => Some(self.func.add_param(self.block, data.ty)),
            (form, Source::Cells(cells)) => Some(self.cells(node, form.cells(cells), data.ty)),
        };
    }

    fn value(&self, node: Node) -> Value {
        self.values[node as usize].expect("what is demanded is written before")
    }

    fn inst(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Option<Value> {
        let inst = self.func.make_inst(op, ty, args, imm);
        self.func.blocks[self.block].insts.push(inst);
        self.func.insts[inst].result
    }

    fn make(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
        self.inst(op, ty, args, imm).expect("it has a result")
    }

    fn literal(&mut self, ty: Type, bits: u32) -> Value {
        self.make(Op::Const, ty, &[], Imm::Bits(bits.into()))
    }

    fn steps(&mut self, first: u32, step: u32) -> Value {
        let mut words = self.numbers;
        if step != 1 {
            let (op, by) = if step.is_power_of_two() { (Op::Ishl, step.trailing_zeros()) } else { (Op::Imul, step) };
            let by = self.literal(Type::I32, by);
            words = self.make(op, Type::I32, &[words, by], Imm::None);
        }
        if first == 0 {
            return words;
        }
        let first = self.literal(Type::I32, first);
        self.make(Op::Iadd, Type::I32, &[words, first], Imm::None)
    }

    fn between(&mut self, begin: u32, end: u32) -> Value {
        let (number, count) = (self.numbers, end - begin);
        if count == 1 {
            let lane = self.literal(Type::I32, begin);
            return self.make(Op::Ieq, Type::I32, &[number, lane], Imm::None);
        }
        let first = self.literal(Type::I32, begin);
        let number = match begin {
            0 => number,
            _ => self.make(Op::Isub, Type::I32, &[number, first], Imm::None),
        };
        let count = self.literal(Type::I32, count);
        self.make(Op::Ult, Type::I32, &[number, count], Imm::None)
    }

    /// The demanded words, from the first two of the values that have some, and then from one more after the other.
    fn cells(&mut self, node: usize, cells: &[Cell; LANES], ty: Type) -> Value {
        let lanes = self.demand.lanes[node];
        let picks: Vec<(usize, Cell, u8)> = members(lanes)
            .map(|lane| match cells[lane] {
                Cell::Lane { lane: from, .. } => (lane, cells[lane].source(), from),
                same => (lane, same, lane as u8),
            })
            .collect();
        let own: [u8; LANES] = std::array::from_fn(|lane| lane as u8);
        let mut sources = sources(cells, lanes).into_iter();
        let mut numbers = own;
        let mut picked = match sources.next() {
            Some(of) => {
                picks.iter().filter(|pick| pick.1 == of).for_each(|&(lane, _, from)| numbers[lane] = from);
                self.word(of, ty)
            }
            None => self.literal(ty, 0),
        };
        for of in sources {
            let next = self.word(of, ty);
            picks.iter().filter(|pick| pick.1 == of).for_each(|&(lane, _, from)| numbers[lane] = LANES as u8 + from);
            picked = self.make(Op::LanePick, ty, &[picked, next], Imm::Picks(Picks::new(numbers)));
            numbers = own;
        }
        if numbers == own {
            return picked;
        }
        self.make(Op::LanePick, ty, &[picked, picked], Imm::Picks(Picks::new(numbers)))
    }

    /// A value that words are taken of, as one of their type.
    fn word(&mut self, of: Cell, ty: Type) -> Value {
        match of {
            Cell::Known(word) => self.literal(ty, word),
            // Nothing is demanded of it.
            Cell::Unknown => self.literal(ty, 0),
            Cell::Lane { node, .. } => {
                let value = self.value(node);
                match (self.func.ty(value), ty) {
                    (Type::F32, Type::I32) => self.make(Op::BitcastI32, Type::I32, &[value], Imm::None),
                    (Type::I32, Type::F32) => self.make(Op::BitcastF32, Type::F32, &[value], Imm::None),
                    _ => value,
                }
            }
        }
    }
}
