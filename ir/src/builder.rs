//! Builds a function block by block, and promotes the source program's registers to SSA on the way.
//!
//! Registers are [`Variable`]s: `def_var` and `use_var` say what is written and read in program order, and block
//! parameters appear where control flow joins (the construction of Braun et al., *Simple and Efficient Construction of
//! Static Single Assignment Form*, 2013). A block is *sealed* once all its predecessors are known; a variable read
//! before any write is zero.

use crate::cfg::Edge;
use crate::entity::{Array, Block, Resource, Sampler, Space, Value, Variable};
use crate::function::{ArrayData, BlockCall, Function, Imm, Origin, ResourceData, SamplerData, SpaceData, Terminator};
use crate::memory::MemoryKind;
use crate::op::{Op, SysVal, for_each_op};
use crate::pass;
use crate::records::{Record, Records};
use crate::texture::TextureShape;
use crate::types::Type;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use foldhash::{HashMap, HashMapExt};
use smallvec::SmallVec;

/// So many rows of a uniform space are known to be loaded; words of others are loaded each time. That takes three
/// kilobytes for a space, of which hostile programs have many.
const REMEMBERED_ROWS: u32 = 64;

/// There is room for so many words of a space, if there is any.
const FEWEST_WORDS: usize = 64;

/// Builds one [`Function`]. Instructions go to the end of the current block.
///
/// ```
/// use shaderjit_ir::{FunctionBuilder, Type};
///
/// // output 0.x = |input 0.x|, through a register and a branch
/// let mut b = FunctionBuilder::new("abs", 1, 1);
/// let register = b.declare_var(Type::F32);
/// let x = b.input(Type::F32, 0, 0);
/// b.def_var(register, x);
/// let (negative, done) = (b.create_block(), b.create_block());
/// let zero = b.f32(0.0);
/// let below = b.flt([x, zero]);
/// b.br_if(below, negative, done);
/// b.seal_block(negative);
/// b.switch_to_block(negative);
/// let flipped = b.fneg([x]);
/// b.def_var(register, flipped);
/// b.jump(done);
/// b.seal_block(done);
/// b.switch_to_block(done);
/// let result = b.use_var(register);
/// b.output(0, 0, result);
/// b.ret();
/// let function = b.finish();
/// assert_eq!(function.layout.len(), 3);
/// ```
pub struct FunctionBuilder {
    func: Function,
    current: Block,
    variables: PrimaryMap<Variable, Type>,
    /// What variables are where blocks end, but for those in `latest`.
    definitions: HashMap<(Block, Variable), Value>,
    /// For each variable the block that it was last asked for or written in, and what it is there.
    latest: SecondaryMap<Variable, Option<(Block, Value)>>,
    /// Working memory.
    passed: Vec<Block>,
    predecessors: SecondaryMap<Block, SmallVec<[Edge; 2]>>,
    sealed: SecondaryMap<Block, bool>,
    /// Parameters of unsealed blocks whose values the edges do not give yet.
    incomplete: SecondaryMap<Block, Vec<(Variable, Value)>>,
    zeros: HashMap<Type, Value>,
    /// For each word of the first rows of uniform spaces, the block that has loaded it last, and what that has of it.
    loaded: SecondaryMap<Space, Vec<Option<(Block, Value)>>>,
    /// Where records are kept.
    records: Option<Box<Records>>,
}

macro_rules! define_methods {
    ($( $(#[$doc:meta])* $name:ident $mnemonic:ident ($($operand:ident)*) -> $result:ident, $imm:ident, $effect:ident,
        $attribute:ident, $varies:ident $(, $memory:ident)? $(=> $masked:ident)?; )*) => {
        impl FunctionBuilder { $( define_methods!(@method $imm $(#[$doc])* $name $mnemonic ($($operand)*)); )* }
    };
    (@method None $(#[$doc:meta])* $name:ident $mnemonic:ident ($($operand:ident)*)) => {
        $(#[$doc])*
        pub fn $mnemonic(&mut self, args: [Value; { const OPERANDS: &[&str] = &[$( stringify!($operand) ),*]; OPERANDS.len() }]) -> Value {
            self.op(Op::$name, &args)
        }
    };
    (@method $imm:ident $(#[$doc:meta])* $name:ident $mnemonic:ident ($($operand:ident)*)) => {};
}
for_each_op!(define_methods);

impl FunctionBuilder {
    /// Starts a function with its entry block, which is sealed and current.
    pub fn new(name: impl Into<String>, inputs: u32, outputs: u32) -> FunctionBuilder {
        let mut func = Function::new(name);
        func.inputs = inputs;
        func.outputs = outputs;
        let entry = func.add_block();
        let mut sealed = SecondaryMap::new();
        sealed[entry] = true;
        FunctionBuilder {
            func,
            current: entry,
            variables: PrimaryMap::new(),
            definitions: HashMap::new(),
            latest: SecondaryMap::new(),
            passed: Vec::new(),
            predecessors: SecondaryMap::new(),
            sealed,
            incomplete: SecondaryMap::new(),
            zeros: HashMap::new(),
            loaded: SecondaryMap::new(),
            records: None,
        }
    }

    /// Sets the numbers of input and output elements, for those who know them later.
    pub fn set_elements(&mut self, inputs: u32, outputs: u32) {
        (self.func.inputs, self.func.outputs) = (inputs, outputs);
    }

    /// Says that this is code for thread groups of so many threads.
    pub fn set_threads(&mut self, threads: u32) {
        self.func.threads = Some(threads);
    }

    /// Makes room for so many instructions: in the function, and in the current block, which may have all of them.
    pub fn reserve(&mut self, insts: usize) {
        self.func.reserve(insts);
        self.func.blocks[self.current].insts.reserve(insts);
    }

    /// Says what the instructions are made for that are made from now on.
    pub fn set_origin(&mut self, origin: Origin) {
        self.func.origin = origin;
        self.record(Record::Begin(origin));
    }

    /// Keeps [records](crate::records) from now on: of origins and variables by itself, of what else there is if it
    /// is [told](Self::record). [`finish_with_records`](Self::finish_with_records) gives them.
    pub fn keep_records(&mut self) {
        self.records = Some(Box::default());
    }

    /// Notes what is true behind the last instruction, if records are kept. Where nothing gets to, there is nothing to
    /// note.
    pub fn record(&mut self, record: Record) {
        if let Some(records) = &mut self.records
            && self.func.blocks[self.current].terminator.is_none()
        {
            records.push(self.current, self.func.blocks[self.current].insts.len(), record);
        }
    }

    /// The function so far.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Declares a uniform space; `table` holds its rows if they are part of the program.
    pub fn add_space(&mut self, name: impl Into<String>, table: Option<Vec<[u32; 4]>>) -> Space {
        self.func.spaces.push(SpaceData { name: name.into(), table })
    }

    /// Declares a resource that is bytes.
    pub fn add_resource(&mut self, name: impl Into<String>) -> Resource {
        self.func.resources.push(ResourceData { name: name.into(), texture: None, memory: None })
    }

    /// Declares a resource that is a texture.
    pub fn add_texture(&mut self, name: impl Into<String>, shape: TextureShape) -> Resource {
        self.func.resources.push(ResourceData { name: name.into(), texture: Some(shape), memory: None })
    }

    /// Declares a resource that the function writes.
    pub fn add_memory(&mut self, name: impl Into<String>, kind: MemoryKind) -> Resource {
        self.func.resources.push(ResourceData { name: name.into(), texture: None, memory: Some(kind) })
    }

    /// Declares a sampler.
    pub fn add_sampler(&mut self, name: impl Into<String>) -> Sampler {
        self.func.samplers.push(SamplerData { name: name.into() })
    }

    /// Declares the spaces, resources, samplers and arrays of another function, of which this one has none yet, under
    /// the same numbers.
    pub(crate) fn declare_as(&mut self, other: &Function) {
        self.func.spaces = other.spaces.clone();
        self.func.resources = other.resources.clone();
        self.func.samplers = other.samplers.clone();
        self.func.arrays = other.arrays.clone();
    }

    /// Declares a register array of at least one element of 1 to 4 components.
    pub fn add_array(&mut self, elements: u32, components: u8) -> Array {
        self.func.arrays.push(ArrayData { elements, components, kept: false })
    }

    /// Declares a register array that the caller reads after the call: records of what the invocation emits. Nothing
    /// may be loaded from it.
    pub fn add_kept_array(&mut self, elements: u32, components: u8) -> Array {
        self.func.arrays.push(ArrayData { elements, components, kept: true })
    }

    // ---- blocks

    /// Makes a block. Its place in the layout is the order of creation.
    pub fn create_block(&mut self) -> Block {
        self.func.add_block()
    }

    /// The block that instructions go to.
    pub fn current_block(&self) -> Block {
        self.current
    }

    /// Makes `block` current.
    pub fn switch_to_block(&mut self, block: Block) {
        self.current = block;
    }

    /// Whether the current block has its terminator already.
    pub fn is_terminated(&self) -> bool {
        self.func.blocks[self.current].terminator.is_some()
    }

    /// Whether any edge to `block` exists yet.
    pub fn has_predecessors(&self, block: Block) -> bool {
        !self.predecessors[block].is_empty()
    }

    /// Says that no more edges to `block` will come.
    pub fn seal_block(&mut self, block: Block) {
        debug_assert!(!self.sealed[block], "{block} is sealed twice");
        self.sealed[block] = true;
        for (variable, param) in std::mem::take(&mut self.incomplete[block]) {
            self.fill_param(block, variable, param);
        }
    }

    // ---- variables

    /// Makes a register.
    pub fn declare_var(&mut self, ty: Type) -> Variable {
        self.variables.push(ty)
    }

    /// The type of a register.
    pub fn variable_type(&self, variable: Variable) -> Type {
        self.variables[variable]
    }

    /// Writes a register.
    pub fn def_var(&mut self, variable: Variable, value: Value) {
        debug_assert_eq!(self.variables[variable], self.func.ty(value), "type of {variable}");
        self.set(self.current, variable, value);
        self.record(Record::Write { variable, value });
    }

    /// Reads a register; zero (false) if nothing was written on the way here.
    pub fn use_var(&mut self, variable: Variable) -> Value {
        if let Some(value) = self.get(self.current, variable) {
            return value;
        }
        let mut fills = Vec::new();
        let value = self.find(self.current, variable, &mut fills);
        self.fill(variable, fills);
        value
    }

    /// What a variable is at the end of a block, if that is known.
    fn get(&self, block: Block, variable: Variable) -> Option<Value> {
        match self.latest[variable] {
            Some((latest, value)) if latest == block => Some(value),
            _ => self.definitions.get(&(block, variable)).copied(),
        }
    }

    /// Says what it is.
    fn set(&mut self, block: Block, variable: Variable, value: Value) {
        if self.latest.get(variable).is_none() {
            self.latest.resize(self.variables.len());
        }
        if let Some((latest, before)) = self.latest[variable].replace((block, value))
            && latest != block
        {
            self.definitions.insert((latest, variable), before);
        }
    }

    /// The variable's value at the end of `block`. New parameters whose edges still need values are pushed to `fills`;
    /// walking instead of recursing keeps long programs from overflowing the stack.
    fn find(&mut self, block: Block, variable: Variable, fills: &mut Vec<(Block, Value)>) -> Value {
        self.passed.clear();
        let mut at = block;
        let value = loop {
            if let Some(value) = self.get(at, variable) {
                break value;
            }
            self.passed.push(at);
            match (self.sealed[at], self.predecessors[at].as_slice()) {
                (true, []) => break self.zero(self.variables[variable]),
                (true, [edge]) => at = edge.from,
                (sealed, _) => {
                    let param = self.func.add_param(at, self.variables[variable]);
                    if sealed {
                        fills.push((at, param));
                    } else {
                        self.incomplete[at].push((variable, param));
                    }
                    break param;
                }
            }
            if self.passed.len() > self.func.layout.len() {
                // A cycle of blocks that the entry does not reach.
                break self.zero(self.variables[variable]);
            }
        };
        // The nearest block is the one that is asked for next.
        for at in (0..self.passed.len()).rev() {
            self.set(self.passed[at], variable, value);
        }
        value
    }

    fn fill(&mut self, variable: Variable, mut fills: Vec<(Block, Value)>) {
        while let Some((block, _)) = fills.pop() {
            for index in 0..self.predecessors[block].len() {
                let edge = self.predecessors[block][index];
                let value = self.find(edge.from, variable, &mut fills);
                self.func.edge_mut(edge).args.push(value);
            }
        }
    }

    fn fill_param(&mut self, block: Block, variable: Variable, param: Value) {
        self.fill(variable, vec![(block, param)]);
    }

    fn zero(&mut self, ty: Type) -> Value {
        if let Some(&value) = self.zeros.get(&ty) {
            return value;
        }
        let origin = std::mem::take(&mut self.func.origin);
        let inst = self.func.make_inst(Op::Const, ty, &[], Imm::Bits(0));
        self.func.origin = origin;
        let entry = self.func.entry();
        self.func.blocks[entry].insts.insert(0, inst);
        if let Some(records) = &mut self.records {
            records.shift(entry);
        }
        let value = self.func.insts[inst].result.expect("a constant has a result");
        self.zeros.insert(ty, value);
        value
    }

    // ---- instructions

    /// Appends an instruction without immediate and returns its result. The type is that of the first set-typed
    /// operand.
    ///
    /// # Panics
    /// If the op has no result or needs an immediate.
    pub fn op(&mut self, op: Op, args: &[Value]) -> Value {
        let ty = self.func.operand_type(op, args);
        self.emit(op, ty, args, Imm::None).expect("ops without an immediate have a result")
    }

    /// Appends any instruction; `ty` is the type of the op's set-typed operands and result.
    pub fn emit(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Option<Value> {
        debug_assert!(!self.is_terminated(), "{} has its terminator already", self.current);
        let inst = self.func.make_inst(op, ty, args, imm);
        self.func.blocks[self.current].insts.push(inst);
        self.func.insts[inst].result
    }

    fn emit_value(&mut self, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
        self.emit(op, ty, args, imm).expect("the op has a result")
    }

    /// A literal of any type by its bits.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.emit_value(Op::Const, ty, &[], Imm::Bits(bits))
    }

    /// An `f32` literal.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Type::F32, u64::from(value.to_bits()))
    }

    /// An `i32` literal.
    pub fn i32(&mut self, value: u32) -> Value {
        self.constant(Type::I32, u64::from(value))
    }

    /// An `i1` literal.
    pub fn i1(&mut self, value: bool) -> Value {
        self.constant(Type::I1, u64::from(value))
    }

    /// One component of an input element, as `i32` or `f32`.
    pub fn input(&mut self, ty: Type, element: u32, component: u8) -> Value {
        self.emit_value(Op::Input, ty, &[], Imm::Element { element, component })
    }

    /// A system value.
    pub fn sysval(&mut self, sysval: SysVal) -> Value {
        self.emit_value(Op::Sysval, Type::I32, &[], Imm::SysVal(sysval))
    }

    /// Sets one component of an output element.
    pub fn output(&mut self, element: u32, component: u8, value: Value) {
        let ty = self.func.ty(value);
        self.emit(Op::Output, ty, &[value], Imm::Element { element, component });
    }

    /// One component of a row of a uniform space, as `i32` or `f32`: that which the current block has loaded, if it
    /// has. Programs name the same rows over and over.
    pub fn uniform_load(&mut self, ty: Type, space: Space, row: u32, component: u8) -> Value {
        let imm = Imm::Row { space, row, component };
        if row >= REMEMBERED_ROWS || component >= 4 {
            return self.emit_value(Op::UniformLoad, ty, &[], imm);
        }
        let (words, at) = (&mut self.loaded[space], (4 * row + u32::from(component)) as usize);
        if words.len() <= at {
            words.resize((at + 1).next_power_of_two().max(FEWEST_WORDS), None);
        }
        match words[at] {
            Some((block, value)) if block == self.current && self.func.ty(value) == ty => value,
            _ => {
                let value = self.emit_value(Op::UniformLoad, ty, &[], imm);
                self.loaded[space][at] = Some((self.current, value));
                value
            }
        }
    }

    /// The same at `row + index`.
    pub fn uniform_load_at(&mut self, ty: Type, space: Space, row: u32, component: u8, index: Value) -> Value {
        self.emit_value(Op::UniformLoadAt, ty, &[index], Imm::Row { space, row, component })
    }

    /// Four bytes of a resource at `byte + offset`, as `i32` or `f32`.
    pub fn resource_load(&mut self, ty: Type, resource: Resource, offset: u32, byte: Value) -> Value {
        self.emit_value(Op::ResourceLoad, ty, &[byte], Imm::ResourceByte { resource, offset })
    }

    /// How many bytes a resource has.
    pub fn resource_bytes(&mut self, resource: Resource) -> Value {
        self.emit_value(Op::ResourceBytes, Type::I32, &[], Imm::Resource(resource))
    }

    /// One word of a row, as `i32` or `f32`.
    pub fn row_word(&mut self, ty: Type, row: Value, component: u8) -> Value {
        self.emit_value(Op::RowWord, ty, &[row], Imm::Component(component))
    }

    /// The word at an unsigned byte offset of memory, plus `offset`; zero unless all of it is inside.
    pub fn memory_load(&mut self, ty: Type, resource: Resource, offset: u32, byte: Value) -> Value {
        self.emit_value(Op::MemoryLoad, ty, &[byte], Imm::ResourceByte { resource, offset })
    }

    /// Stores a word at a byte offset of memory, plus `offset`; nothing happens unless all of it is inside.
    pub fn memory_store(&mut self, resource: Resource, offset: u32, byte: Value, value: Value) {
        let ty = self.ty(value);
        self.emit(Op::MemoryStore, ty, &[byte, value], Imm::ResourceByte { resource, offset });
    }

    /// An op with a result on a texture or on memory; `imm` is of the kind that it takes.
    pub fn texture_access(&mut self, op: Op, args: &[Value], imm: Imm) -> Value {
        self.emit_value(op, Type::Row, args, imm)
    }

    /// One component of an array element, as `i32` or `f32`.
    pub fn array_load(&mut self, ty: Type, array: Array, component: u8, index: Value) -> Value {
        self.emit_value(Op::ArrayLoad, ty, &[index], Imm::Array { array, component })
    }

    /// Stores one component of an array element.
    pub fn array_store(&mut self, array: Array, component: u8, index: Value, value: Value) {
        let ty = self.func.ty(value);
        self.emit(Op::ArrayStore, ty, &[index, value], Imm::Array { array, component });
    }

    /// Stores one component of an array element where `mask` holds.
    pub fn array_store_masked(&mut self, array: Array, component: u8, index: Value, value: Value, mask: Value) {
        let ty = self.func.ty(value);
        self.emit(Op::ArrayStoreMasked, ty, &[index, value, mask], Imm::Array { array, component });
    }

    // ---- terminators. Edges give no explicit arguments: what crosses them are variables.

    /// Ends the block with a jump.
    pub fn jump(&mut self, target: Block) {
        self.terminate(Terminator::Jump(call(target)));
    }

    /// Ends the block with a two-way branch on an `i1`.
    pub fn br_if(&mut self, condition: Value, then_block: Block, else_block: Block) {
        self.terminate(Terminator::BrIf { condition, then_call: call(then_block), else_call: call(else_block) });
    }

    /// Ends the block with a many-way branch on an `i32`; case values must differ.
    pub fn switch(&mut self, value: Value, cases: &[(u32, Block)], default: Block) {
        let cases = cases.iter().map(|&(case, block)| (case, call(block))).collect();
        self.terminate(Terminator::Switch { value, cases, default: call(default) });
    }

    /// Ends the invocation.
    pub fn ret(&mut self) {
        self.terminate(Terminator::Return);
    }

    /// Takes back the jump that ends the current block, if it is the only edge to a block that has nothing yet: what
    /// was to come there may come here. Whether it was.
    pub fn take_back_jump(&mut self, target: Block) -> bool {
        let end = &mut self.func.blocks[self.current].terminator;
        let leads_there = matches!(end, Some(Terminator::Jump(call)) if call.block == target);
        let is_only = leads_there && self.predecessors[target].len() == 1;
        if is_only {
            *end = None;
            self.predecessors[target].clear();
        }
        is_only
    }

    fn terminate(&mut self, terminator: Terminator) {
        debug_assert!(!self.is_terminated(), "{} has its terminator already", self.current);
        for (index, call) in terminator.calls().enumerate() {
            debug_assert!(!self.sealed[call.block], "edge to {}, which is sealed", call.block);
            self.predecessors[call.block].push(Edge { from: self.current, call: index });
        }
        self.func.blocks[self.current].terminator = Some(terminator);
    }

    /// The finished function: blocks the entry does not reach are gone, and so are parameters that are always the same
    /// value.
    ///
    /// # Panics
    /// If a block that the entry reaches has no terminator or is not sealed: a defect of the caller.
    pub fn finish(self) -> Function {
        self.finish_with_records().0
    }

    /// The finished function with its records, if they were [kept](Self::keep_records).
    ///
    /// # Panics
    /// As [`finish`](Self::finish).
    pub fn finish_with_records(mut self) -> (Function, Option<Box<Records>>) {
        self.func.origin = Origin::default();
        pass::remove_unreachable(&mut self.func);
        for &block in &self.func.layout {
            assert!(self.sealed[block], "{block} is not sealed");
            assert!(self.func.blocks[block].terminator.is_some(), "{block} has no terminator");
        }
        let replaced = pass::replace_params(&mut self.func);
        if let Some(records) = &mut self.records {
            records.replace_values(|value| replaced.find(value));
        }
        (self.func, self.records)
    }

    /// The bits of a value that is a literal, for front ends that treat literal indices apart.
    pub fn literal(&self, value: Value) -> Option<u64> {
        self.func.constant(value)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.func.ty(value)
    }
}

fn call(block: Block) -> BlockCall {
    BlockCall { block, args: Vec::new() }
}
