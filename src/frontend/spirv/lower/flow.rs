//! Functions, each inlined where it is called, and their blocks and branches.
//!
//! Values that `OpPhi` chooses among are variables: each edge sets them where its block ends, and the block that has
//! the instruction reads them. A block is sealed when the last edge to it is there.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use shaderjit_ir::{Block, Type, Value, Variable};
use spirv::Op;

use super::cfg::Cfg;
use super::types::{Kind, Ty};
use super::{Def, Lowering};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;

/// Most functions that have been entered and not left.
const MAX_CALL_DEPTH: usize = 64;

/// A function that has been entered.
pub(super) struct Frame {
    function: u32,
    pub cfg: Rc<Cfg>,
    /// What its ids are, and the block in which each is defined.
    pub ids: HashMap<u32, (Def, usize)>,
    /// The block that is being lowered.
    pub block: usize,
    /// The blocks of the IR that its blocks begin in.
    blocks: Vec<Option<Block>>,
    /// How many edges to each are still to come.
    missing: Vec<u32>,
    /// Variables of what `OpPhi` instructions choose, by their ids.
    chosen: HashMap<u32, Rc<[Variable]>>,
    /// What it returns.
    result: Rc<[Variable]>,
    /// Where it returns to.
    exit: Block,
    /// Whether anything returns.
    returns: bool,
}

impl Lowering<'_> {
    /// Lowers a function where it is called. What it returns, if it returns anything.
    pub(super) fn enter(&mut self, function: u32, arguments: &[Def]) -> Result<Rc<[Value]>, LowerError> {
        if self.frames.iter().any(|frame| frame.function == function) {
            return Err(self.invalid(format!("function %{function} calls itself")));
        }
        self.limit("depth of calls", self.frames.len() as u64 + 1, MAX_CALL_DEPTH as u64)?;
        let cfg = self.graph(function)?;
        let head = &self.heads[&function];
        let (parameters, result, offset) = (head.parameters.clone(), head.result, head.offset);
        if parameters.len() != arguments.len() {
            return Err(self.invalid(format!("function %{function} has another number of parameters")));
        }
        if cfg.blocks.is_empty() {
            return Err(LowerError::Unsupported { what: "a function without a body".to_string(), offset });
        }
        let result = self.value_type(result)?;
        let result = self.variables_of(result);
        let exit = self.create_block()?;
        let mut blocks = Vec::with_capacity(cfg.blocks.len());
        for block in &cfg.blocks {
            blocks.push(if block.entering > 0 { Some(self.create_block()?) } else { None });
        }
        let missing = cfg.blocks.iter().map(|block| block.entering).collect();
        let ids = parameters.iter().zip(arguments).map(|(&(id, _), def)| (id, (def.clone(), 0))).collect();
        let first = blocks[0].expect("the first block is entered");
        self.frames.push(Frame {
            function,
            cfg: Rc::clone(&cfg),
            ids,
            block: 0,
            blocks,
            missing,
            chosen: HashMap::new(),
            result: Rc::clone(&result),
            exit,
            returns: false,
        });
        self.b.jump(first);
        self.arrive(0);
        self.declare_chosen()?;
        for block in 0..cfg.blocks.len() {
            if cfg.blocks[block].entering > 0 {
                self.block(block)?;
            }
        }
        let frame = self.frames.pop().expect("it was pushed");
        self.b.seal_block(exit);
        self.start(exit);
        let zero_if_endless = |this: &mut Self, &variable: &Variable| match frame.returns {
            true => this.b.use_var(variable),
            // Nothing gets here.
            false => this.b.constant(this.b.variable_type(variable), 0),
        };
        Ok(result.iter().map(|variable| zero_if_endless(self, variable)).collect())
    }

    fn graph(&mut self, function: u32) -> Result<Rc<Cfg>, LowerError> {
        if let Some(graph) = self.graphs.get(&function) {
            return Ok(Rc::clone(graph));
        }
        let Some(head) = self.heads.get(&function) else {
            return Err(self.invalid(format!("%{function} is no function")));
        };
        let graph = Rc::new(Cfg::new(self.module, head.first)?);
        self.graphs.insert(function, Rc::clone(&graph));
        Ok(graph)
    }

    /// Variables for a value of a type.
    pub(super) fn variables_of(&mut self, ty: Ty) -> Rc<[Variable]> {
        self.types.flatten(ty).into_iter().map(|scalar| self.declare_var(scalar.ir())).collect()
    }

    /// Makes the variables of all `OpPhi` instructions: edges that go backwards set them before they are read.
    fn declare_chosen(&mut self) -> Result<(), LowerError> {
        let cfg = Rc::clone(&self.frame().cfg);
        for block in cfg.blocks.iter().filter(|block| block.entering > 0) {
            for number in block.first..block.last {
                let instruction = self.module.get(number).expect("it was read");
                match (instruction.opcode(), instruction.operands()) {
                    (Some(Op::Phi), &[ty, id, ..]) => {
                        self.offset = instruction.offset;
                        let ty = self.value_type(ty)?;
                        if self.types.scalars(ty) == 0 {
                            return Err(self.unsupported("OpPhi of pointers"));
                        }
                        let variables = self.variables_of(ty);
                        self.frame().chosen.insert(id, variables);
                    }
                    (Some(Op::Phi), _) => return Err(self.malformed(&instruction)),
                    (Some(Op::Line | Op::NoLine), _) => {}
                    _ => break,
                }
            }
        }
        Ok(())
    }

    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("there are instructions only where a function has been entered")
    }

    fn block(&mut self, number: usize) -> Result<(), LowerError> {
        let frame = self.frame();
        frame.block = number;
        let (cfg, block) = (Rc::clone(&frame.cfg), frame.blocks[number].expect("the block can be reached"));
        self.start(block);
        let (first, last) = (cfg.blocks[number].first, cfg.blocks[number].last);
        for at in first..last {
            let instruction = self.module.get(at).expect("it was read");
            self.cost.instructions += 1;
            self.instruction(&instruction)?;
        }
        let terminator = self.module.get(last).expect("it was read");
        self.offset = terminator.offset;
        self.b.set_origin(shaderjit_ir::function::Origin::at(terminator.offset));
        self.terminator(&terminator, &cfg, number)
    }

    /// Lowers an instruction of the class of control flow, or a call.
    pub(super) fn flow(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        match (opcode, instruction.operands()) {
            (Op::LoopMerge | Op::SelectionMerge, _) => Ok(()),
            (Op::DemoteToHelperInvocation, []) => self.discard(),
            (Op::IsHelperInvocationEXT, &[ty, id]) => {
                let ty = self.value_type(ty)?;
                let acts = self.acts();
                let helps = match acts {
                    Some(acts) => self.b.not([acts]),
                    None => self.b.i1(false),
                };
                self.check_type(ty, &[helps])?;
                self.define_value(id, ty, [helps])
            }
            (Op::Phi, &[ty, id, ..]) => {
                let ty = self.value_type(ty)?;
                let Some(variables) = self.frame().chosen.get(&id).map(Rc::clone) else {
                    return Err(self.invalid("OpPhi behind other instructions"));
                };
                let scalars: Vec<Value> = variables.iter().map(|&variable| self.b.use_var(variable)).collect();
                self.define_value(id, ty, scalars)
            }
            (Op::FunctionCall, &[ty, id, function, ref arguments @ ..]) => {
                let ty = self.value_type(ty)?;
                let mut defs = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    defs.push(self.def(argument)?);
                }
                let result = self.enter(function, &defs)?;
                if result.len() as u32 != self.types.scalars(ty) {
                    return Err(self.malformed(instruction));
                }
                self.offset = instruction.offset;
                match self.types.kind(ty) {
                    Kind::Void => Ok(()),
                    _ => self.define_value(id, ty, result),
                }
            }
            _ => Err(super::unsupported(instruction)),
        }
    }

    /// Counts an edge to a block of the innermost function. The last one seals it.
    fn arrive(&mut self, target: usize) {
        let frame = self.frame();
        frame.missing[target] -= 1;
        if frame.missing[target] == 0 {
            let block = frame.blocks[target].expect("an edge leads to it");
            self.b.seal_block(block);
        }
    }

    /// The block of the IR that an edge leads to.
    fn target(&mut self, block: usize) -> Block {
        self.frame().blocks[block].expect("an edge leads to it")
    }

    fn terminator(&mut self, instruction: &Instruction<'_>, cfg: &Cfg, number: usize) -> Result<(), LowerError> {
        let successors = &cfg.blocks[number].successors;
        let mut targets = successors.clone();
        targets.sort_unstable();
        targets.dedup();
        for &target in &targets {
            self.pass_values(cfg, number, target)?;
        }
        match (instruction.opcode(), instruction.operands()) {
            (Some(Op::Branch), _) => {
                let target = self.target(successors[0]);
                self.b.jump(target);
            }
            (Some(Op::BranchConditional), &[condition, ..]) => {
                let condition = self.scalar(condition)?;
                if self.b.ty(condition) != Type::I1 {
                    return Err(self.malformed(instruction));
                }
                let (then, other) = (self.target(successors[0]), self.target(successors[1]));
                self.b.br_if(condition, then, other);
            }
            (Some(Op::Switch), &[selector, _, ref cases @ ..]) => {
                let selector = self.integer(selector)?;
                let values = cases.iter().step_by(2).copied();
                let mut seen = HashSet::new();
                let mut arms = Vec::with_capacity(cases.len() / 2);
                for (value, &target) in values.zip(&successors[1..]) {
                    if !seen.insert(value) {
                        return Err(self.invalid(format!("OpSwitch has {value} twice")));
                    }
                    arms.push((value, self.target(target)));
                }
                let default = self.target(successors[0]);
                self.b.switch(selector, &arms, default);
            }
            (Some(Op::Return), []) => self.leave(&[])?,
            (Some(Op::ReturnValue), &[value]) => {
                let (_, scalars) = self.value(value)?;
                self.leave(&scalars)?;
            }
            (Some(Op::Kill | Op::TerminateInvocation), []) => {
                self.discard()?;
                let exit = self.exit;
                self.b.jump(exit);
            }
            // Nothing gets here: whatever follows is right.
            (Some(Op::Unreachable), []) => {
                let exit = self.exit;
                self.b.jump(exit);
            }
            _ => return Err(super::unsupported(instruction)),
        }
        for &target in successors {
            self.arrive(target);
        }
        Ok(())
    }

    fn leave(&mut self, scalars: &[Value]) -> Result<(), LowerError> {
        let frame = self.frame();
        frame.returns = true;
        let (exit, result) = (frame.exit, Rc::clone(&frame.result));
        self.assign(&result, scalars)?;
        self.b.jump(exit);
        Ok(())
    }

    /// Sets variables to the scalars of a value, which must be as many and of the same types.
    pub(super) fn assign(&mut self, variables: &[Variable], scalars: &[Value]) -> Result<(), LowerError> {
        let fits = |(&variable, &scalar): (&Variable, &Value)| self.b.variable_type(variable) == self.b.ty(scalar);
        if variables.len() != scalars.len() || !variables.iter().zip(scalars).all(fits) {
            return Err(self.invalid("a value of another type"));
        }
        variables.iter().zip(scalars).for_each(|(&variable, &scalar)| self.b.def_var(variable, scalar));
        Ok(())
    }

    /// Sets what `OpPhi` instructions of a block choose where it is entered from another.
    fn pass_values(&mut self, cfg: &Cfg, from: usize, to: usize) -> Result<(), LowerError> {
        let label = cfg.blocks[from].label;
        let mut passed = Vec::new();
        for number in cfg.blocks[to].first..cfg.blocks[to].last {
            let instruction = self.module.get(number).expect("it was read");
            match (instruction.opcode(), instruction.operands()) {
                (Some(Op::Phi), &[_, id, ref pairs @ ..]) => {
                    self.cost.instructions += 1;
                    self.cost.moved += pairs.len() as u64 / 2;
                    self.check_cost()?;
                    let value = pairs.chunks_exact(2).find(|pair| pair[1] == label).map(|pair| pair[0]);
                    let Some(value) = value else {
                        return Err(self.invalid(format!("OpPhi %{id} has no value for %{label}")));
                    };
                    let def = self.def_at(value, from)?;
                    let (_, scalars) = self.value_of(def, value)?;
                    let variables = self.frame().chosen.get(&id).map(Rc::clone);
                    passed.push((variables.expect("all have been declared"), scalars));
                }
                (Some(Op::Line | Op::NoLine), _) => {}
                _ => break,
            }
        }
        for (variables, scalars) in passed {
            self.assign(&variables, &scalars)?;
        }
        Ok(())
    }
}
