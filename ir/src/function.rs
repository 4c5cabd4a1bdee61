//! The data: a function is a control-flow graph of blocks with parameters, over scalar values.

use crate::cfg::Edge;
use crate::entity::{Array, Block, Inst, Resource, Sampler, Space, Value};
use crate::memory::MemoryKind;
use crate::op::{Memory, Op};
use crate::signature::Signature;
use crate::texture::TextureShape;
use crate::types::Type;
use cranelift_entity::{PrimaryMap, SecondaryMap};

pub use crate::instruction::{Imm, InstData, Operands, Origin, Picks};

/// A branch target with the values of its block parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCall {
    /// Target.
    pub block: Block,
    /// One value a parameter.
    pub args: Vec<Value>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// Goes on at the target.
    Jump(BlockCall),
    /// Goes to `then_call` where the condition holds, else to `else_call`.
    BrIf {
        /// An `i1`.
        condition: Value,
        /// Target where it holds.
        then_call: BlockCall,
        /// Target where it does not.
        else_call: BlockCall,
    },
    /// Goes to the target of the first equal case, else to the default.
    Switch {
        /// An `i32`.
        value: Value,
        /// Case values, all different, and their targets.
        cases: Vec<(u32, BlockCall)>,
        /// Target of every other value.
        default: BlockCall,
    },
    /// The invocation ends.
    Return,
}

impl Terminator {
    /// The outgoing edges: then before else, cases before default.
    #[inline]
    pub fn calls(&self) -> impl Iterator<Item = &BlockCall> + Clone {
        let (cases, calls): (&[(u32, BlockCall)], [Option<&BlockCall>; 2]) = match self {
            Terminator::Jump(call) => (&[], [Some(call), None]),
            Terminator::BrIf { then_call, else_call, .. } => (&[], [Some(then_call), Some(else_call)]),
            Terminator::Switch { cases, default, .. } => (cases, [Some(default), None]),
            Terminator::Return => (&[], [None, None]),
        };
        cases.iter().map(|(_, call)| call).chain(calls.into_iter().flatten())
    }

    /// The outgoing edges, to be changed; the order is that of [`calls`](Self::calls).
    #[inline]
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut BlockCall> {
        let (cases, calls): (&mut [(u32, BlockCall)], [Option<&mut BlockCall>; 2]) = match self {
            Terminator::Jump(call) => (&mut [], [Some(call), None]),
            Terminator::BrIf { then_call, else_call, .. } => (&mut [], [Some(then_call), Some(else_call)]),
            Terminator::Switch { cases, default, .. } => (cases, [Some(default), None]),
            Terminator::Return => (&mut [], [None, None]),
        };
        cases.iter_mut().map(|(_, call)| call).chain(calls.into_iter().flatten())
    }

    /// The value that chooses the edge.
    pub fn selector(&self) -> Option<Value> {
        match self {
            Terminator::BrIf { condition, .. } => Some(*condition),
            Terminator::Switch { value, .. } => Some(*value),
            Terminator::Jump(_) | Terminator::Return => None,
        }
    }

    /// Calls `f` on every value it uses, to be replaced.
    pub fn for_each_use_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Terminator::BrIf { condition, .. } => f(condition),
            Terminator::Switch { value, .. } => f(value),
            Terminator::Jump(_) | Terminator::Return => {}
        }
        self.calls_mut().flat_map(|call| call.args.iter_mut()).for_each(f);
    }

    /// Every value it uses.
    pub fn uses(&self) -> impl Iterator<Item = Value> {
        self.selector().into_iter().chain(self.calls().flat_map(|call| call.args.iter().copied()))
    }
}

/// One basic block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockData {
    /// Values each incoming edge gives.
    pub params: Vec<Value>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// How it ends; `None` only while it is being built.
    pub terminator: Option<Terminator>,
    /// What running it once costs in [fuel](crate::fuel); 0 if it has not been [weighed](crate::pass::weigh).
    pub weight: u32,
}

impl BlockData {
    /// The terminator of a finished block.
    pub fn terminator(&self) -> &Terminator {
        self.terminator.as_ref().expect("a finished function has a terminator in every block")
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The result of an instruction.
    Inst(Inst),
    /// A parameter of a block.
    Param(Block),
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Type.
    pub ty: Type,
    /// Definition.
    pub def: ValueDef,
}

/// A uniform space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceData {
    /// Its name in the source program (`cb0`, `icb`, `c`).
    pub name: String,
    /// The rows themselves, for a table that is part of the program; `None` if the caller binds it.
    pub table: Option<Vec<[u32; 4]>>,
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceData {
    /// Its name in the source program (`t0`).
    pub name: String,
    /// Its shape if it is a texture; `None` for bytes.
    pub texture: Option<TextureShape>,
    /// What it is if functions write it; `None` if they only read it.
    pub memory: Option<MemoryKind>,
}

impl ResourceData {
    /// Whether it is memory that the invocations of a group share.
    pub fn is_shared(&self) -> bool {
        matches!(self.memory, Some(MemoryKind::Shared(_)))
    }
}

/// A sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerData {
    /// Its name in the source program (`s0`).
    pub name: String,
}

/// A register array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayData {
    /// Number of elements, at least 1.
    pub elements: u32,
    /// Components an element, 1 to 4.
    pub components: u8,
    /// Whether the caller reads it when the invocation has ended. The function only stores to such an array, and it
    /// does not begin as zero: what is not stored is not defined.
    pub kept: bool,
}

/// How many slots a function uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Of the call.
    pub call: u32,
    /// Of a wave.
    pub wave: u32,
}

/// What one invocation of a shader does.
#[derive(Clone, Debug)]
pub struct Function {
    /// A name for people.
    pub name: String,
    /// Whether it is in lockstep form (see the crate's documentation): then every branch is the same in all lanes.
    pub lockstep: bool,
    /// Threads of a group, in code for groups: what [`VertexId`](crate::SysVal::VertexId) is below.
    pub threads: Option<u32>,
    /// Number of input elements.
    pub inputs: u32,
    /// Number of output elements.
    pub outputs: u32,
    /// Uniform spaces.
    pub spaces: PrimaryMap<Space, SpaceData>,
    /// Resources.
    pub resources: PrimaryMap<Resource, ResourceData>,
    /// Samplers.
    pub samplers: PrimaryMap<Sampler, SamplerData>,
    /// Register arrays.
    pub arrays: PrimaryMap<Array, ArrayData>,
    /// Blocks. Those that are not in `layout` are not part of the function.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Instructions.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Values.
    pub values: PrimaryMap<Value, ValueData>,
    /// The blocks in order. The first is the entry and has no parameters and no predecessors.
    pub layout: Vec<Block>,
    /// What the instructions are made for that are made next. Whoever makes some sets it before.
    pub origin: Origin,
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>) -> Function {
        Function {
            name: name.into(),
            lockstep: false,
            threads: None,
            inputs: 0,
            outputs: 0,
            spaces: PrimaryMap::new(),
            resources: PrimaryMap::new(),
            samplers: PrimaryMap::new(),
            arrays: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            values: PrimaryMap::new(),
            layout: Vec::new(),
            origin: Origin::default(),
        }
    }

    /// Makes room for so many more instructions, each with a value.
    pub(crate) fn reserve(&mut self, insts: usize) {
        self.insts.reserve(insts);
        self.values.reserve(insts);
    }

    /// A copy with room for as many instructions again, and for another block.
    pub(crate) fn clone_to_grow(&self) -> Function {
        let mut insts = PrimaryMap::with_capacity(2 * self.insts.len());
        let mut values = PrimaryMap::with_capacity(2 * self.values.len());
        let mut blocks = PrimaryMap::with_capacity(self.blocks.len() + 1);
        let mut layout = Vec::with_capacity(self.layout.len() + 1);
        insts.extend(self.insts.values().copied());
        values.extend(self.values.values().copied());
        blocks.extend(self.blocks.values().cloned());
        layout.extend(&self.layout);
        let Function { name, spaces, resources, samplers, .. } = self;
        Function {
            name: name.clone(),
            lockstep: self.lockstep,
            threads: self.threads,
            inputs: self.inputs,
            outputs: self.outputs,
            spaces: spaces.clone(),
            resources: resources.clone(),
            samplers: samplers.clone(),
            arrays: self.arrays.clone(),
            blocks,
            insts,
            values,
            layout,
            origin: self.origin,
        }
    }

    /// The entry block.
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// The type of a value.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// Appends an empty block to the layout.
    pub fn add_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }

    /// Appends a parameter to a block; its predecessors must give a value for it.
    pub fn add_param(&mut self, block: Block, ty: Type) -> Value {
        let value = self.values.push(ValueData { ty, def: ValueDef::Param(block) });
        self.blocks[block].params.push(value);
        value
    }

    /// The type that an op's set-typed operands have, given operands; any type where it has none.
    pub(crate) fn operand_type(&self, op: Op, args: &[Value]) -> Type {
        let chosen = Signature::of(op, Type::I32).chooser.and_then(|at| args.get(usize::from(at)));
        chosen.map_or(Type::I32, |&arg| self.ty(arg))
    }

    /// Makes an instruction that is not in any block yet, and the value it defines. `ty` is the type of the op's
    /// set-typed operands and result, and ignored where the op has none.
    pub fn make_inst(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Inst {
        let &Signature { ty, result, .. } = Signature::of(op, ty);
        let def = ValueDef::Inst(self.insts.next_key());
        let result = result.map(|ty| self.values.push(ValueData { ty, def }));
        self.insts.push(InstData { op, ty, args: Operands::new(args), imm, result, origin: self.origin, vector: 0 })
    }

    /// The bits of a value that is a literal.
    #[inline]
    pub fn constant(&self, value: Value) -> Option<u64> {
        let ValueDef::Inst(inst) = self.values[value].def else { return None };
        match self.insts[inst] {
            InstData { op: Op::Const, imm: Imm::Bits(bits), .. } => Some(bits),
            _ => None,
        }
    }

    /// The instruction that defines a value, unless it is a block parameter.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<&InstData> {
        match self.values[value].def {
            ValueDef::Inst(inst) => Some(&self.insts[inst]),
            ValueDef::Param(_) => None,
        }
    }

    /// A map with a place for each value that there is now.
    pub fn value_map<T: Clone + Default>(&self) -> SecondaryMap<Value, T> {
        let mut map = SecondaryMap::new();
        map.resize(self.values.len());
        map
    }

    /// A map with a place for each block that there is now.
    pub fn block_map<T: Clone + Default>(&self) -> SecondaryMap<Block, T> {
        let mut map = SecondaryMap::new();
        map.resize(self.blocks.len());
        map
    }

    /// The instructions of a block.
    #[inline]
    pub fn insts_in(&self, block: Block) -> impl DoubleEndedIterator<Item = &InstData> + Clone {
        self.blocks[block].insts.iter().map(|&inst| &self.insts[inst])
    }

    /// The values that a block makes: its parameters, and the results of its instructions.
    #[inline]
    pub fn defs_in(&self, block: Block) -> impl Iterator<Item = Value> {
        let results = self.insts_in(block).filter_map(|inst| inst.result);
        self.blocks[block].params.iter().copied().chain(results)
    }

    /// The values that the instructions of a block and its end use, each as often as they do.
    pub fn uses_in(&self, block: Block) -> impl Iterator<Item = Value> {
        let args = self.insts_in(block).flat_map(|inst| inst.args.iter().copied());
        args.chain(self.blocks[block].terminator().uses())
    }

    /// The parameters that a block's edges set, and what each is set to.
    pub fn passed(&self, block: Block) -> impl Iterator<Item = (Value, Value)> {
        let calls = self.blocks[block].terminator().calls();
        let pairs = calls.flat_map(|call| std::iter::zip(&self.blocks[call.block].params, &call.args));
        pairs.map(|(&param, &arg)| (param, arg))
    }

    /// What an edge leads to and gives.
    pub fn edge(&self, edge: Edge) -> &BlockCall {
        let call = match (self.blocks[edge.from].terminator(), edge.call) {
            (Terminator::Jump(call) | Terminator::BrIf { then_call: call, .. }, 0) => Some(call),
            (Terminator::BrIf { else_call: call, .. }, 1) => Some(call),
            (Terminator::Switch { cases, default, .. }, at) => {
                cases.get(at).map(|(_, call)| call).or((at == cases.len()).then_some(default))
            }
            _ => None,
        };
        call.expect("an edge names one of its terminator's calls")
    }

    /// What an edge leads to and gives, to be changed.
    pub fn edge_mut(&mut self, edge: Edge) -> &mut BlockCall {
        let terminator = self.blocks[edge.from].terminator.as_mut().expect("an edge comes from a terminator");
        let call = match (terminator, edge.call) {
            (Terminator::Jump(call) | Terminator::BrIf { then_call: call, .. }, 0) => Some(call),
            (Terminator::BrIf { else_call: call, .. }, 1) => Some(call),
            (Terminator::Switch { cases, default, .. }, at) => {
                let count = cases.len();
                cases.get_mut(at).map(|(_, call)| call).or((at == count).then_some(default))
            }
            _ => None,
        };
        call.expect("an edge names one of its terminator's calls")
    }

    /// Replaces every use of a value by what `f` says.
    pub fn replace_uses(&mut self, f: impl Fn(Value) -> Value) {
        for &block in &self.layout {
            let data = &mut self.blocks[block];
            for &inst in &data.insts {
                self.insts[inst].args.iter_mut().for_each(|arg| *arg = f(*arg));
            }
            if let Some(terminator) = &mut data.terminator {
                terminator.for_each_use_mut(|value| *value = f(*value));
            }
        }
    }

    /// How many slots it uses.
    pub fn slots(&self) -> Slots {
        let mut slots = Slots::default();
        for inst in self.layout.iter().flat_map(|&block| self.insts_in(block)) {
            let Imm::Slot(slot) = inst.imm else { continue };
            match inst.op.memory() {
                Some(Memory::Call) => slots.call = slots.call.max(slot + 1),
                Some(Memory::Slot) => slots.wave = slots.wave.max(slot + inst.ty.words()),
                _ => {}
            }
        }
        slots
    }

    /// Number of instructions in the layout, terminators included.
    pub fn size(&self) -> usize {
        self.layout.iter().map(|&block| self.blocks[block].insts.len() + 1).sum()
    }
}
