//! Instructions → IR: the blocks of the control-flow graph become IR blocks, registers become SSA variables.
//!
//! The state of an invocation starts as zero: temporaries, outputs, `a0`, `aL` and the flags (hardware leaves vertex
//! shaders whatever was there before). Every product has the hardware's rule 0 · ∞ = 0, and sums run from x to w.
//! Numbers are kept as a [`FloatPrecision`] says. Only registers that reachable code names exist, so a program costs
//! what it uses.

mod arithmetic;
mod debug;
mod dispatch;
mod geometry;
mod names;
mod options;
mod plan;
mod registers;
mod slots;
mod source;

use shaderjit_ir::function::{Imm, Origin};
use shaderjit_ir::records::Record;
use shaderjit_ir::{Block, Function, FunctionBuilder, Op, Space, Type, Value};

use self::dispatch::Dispatch;
use self::geometry::Geometry;
use self::names::Names;
pub use self::options::{FloatPrecision, FlowForm, LowerOptions};
use self::registers::Registers;
use super::decode::{Effect, Program};
use super::flow::{BlockId, Choice, Exit, Flow, LOOP_RING, Step, check_entry, follow_known};
use super::operand::{Address, AddressRegister, Combine, Component, FlagTest, IntUniform, Test};
use crate::error::LowerError;
use crate::frontend::{
    ComponentType, DebugInfo, Element, Interface, Lowered, RepeatedRows, UniformDecl, UniformKind, UniformPreset,
};
use crate::stage::Stage;

/// Number of input registers and of output registers.
const REGISTERS: u32 = 16;
/// Number of float uniforms.
const FLOAT_UNIFORMS: u32 = 96;
/// Number of rows that relative addressing reaches, a power of two. Then it wraps around.
const RELATIVE_ROWS: u32 = 128;
/// Number of integer uniforms.
const INT_UNIFORMS: u32 = 4;

/// The most words that a graph may execute, counted once for each state they are executed in.
const MAX_STEPS: usize = 1 << 13;

/// The most blocks of a graph. Every register may have a value of its own in each.
const MAX_BLOCKS: usize = 1 << 9;

/// Lowers the vertex shader that begins at `entry`.
///
/// Whatever the program uses, the function has 16 input elements (`v0` to `v15`), 16 output elements (`o0` to `o15`)
/// and three uniform spaces, in this order: [`UniformKind::PicaFloat`], [`UniformKind::PicaInt`],
/// [`UniformKind::PicaBool`]; in [`FlowForm::Dispatch`] there is a table behind them. Output components that no
/// reachable instruction writes are not set. Undefined opcodes have no effect, as in emulators; what hardware does is
/// not known.
///
/// # Errors
///
/// Only reachable words count: [`LowerError::Unsupported`] for an opcode of geometry shaders, [`LowerError::Invalid`]
/// for an entry point or operand descriptor that is not there.
pub fn lower(program: &Program, entry: Address, options: &LowerOptions) -> Result<Lowered, LowerError> {
    lower_stage(program, entry, None, options)
}

/// Lowers the geometry shader that begins at `entry`; see [`GeometryInterface`](crate::frontend::GeometryInterface) for
/// its elements. `emitted` says for each output register which components EMIT copies, bit 0 = x. It is made for any
/// bool uniforms.
///
/// # Errors
///
/// As [`lower`], but the opcodes of geometry shaders are supported.
pub fn lower_geometry(
    program: &Program,
    entry: Address,
    emitted: [u8; 16],
    options: &LowerOptions,
) -> Result<Lowered, LowerError> {
    // The end of an invocation sets one of them.
    let options = LowerOptions { bools: None, ..*options };
    lower_stage(program, entry, Some(emitted), &options)
}

fn lower_stage(
    program: &Program,
    entry: Address,
    emitted: Option<[u8; 16]>,
    options: &LowerOptions,
) -> Result<Lowered, LowerError> {
    check_entry(program, entry)?;
    let flow = match options.flow {
        // It is refused for nothing but its size.
        FlowForm::Graph => follow_known(program, entry, options.bools)
            .ok()
            .filter(|flow| flow.blocks.len() <= MAX_BLOCKS && flow.steps() <= MAX_STEPS),
        FlowForm::Dispatch => None,
    };
    let name = if emitted.is_some() { "geometry" } else { "vertex" };
    let mut builder = FunctionBuilder::new(name, REGISTERS, REGISTERS);
    let spaces = Spaces {
        float: builder.add_space("c", None),
        int: builder.add_space("i", options.ints.map(|ints| ints.map(|int| int.map(u32::from)).to_vec())),
        bool: builder.add_space("b", options.bools.map(|bools| vec![[bools.into(), 0, 0, 0]])),
    };
    let mut interface = interface(&spaces);
    let dispatch = match &flow {
        Some(_) => None,
        None => {
            let dispatch = Dispatch::new(&mut builder, program, entry, emitted.is_some())?;
            interface.uniforms.push(dispatch.uniforms());
            Some(dispatch)
        }
    };
    let mut registers = Registers::default();
    let geometry = emitted
        .map(|emitted| Geometry::begin(&mut builder, &mut registers, Names::of(program, flow.as_ref()), emitted));
    if let Some(geometry) = &geometry {
        let (state, outputs) = geometry::elements(geometry.interface());
        interface.inputs.extend(state);
        interface.outputs = outputs;
        interface.geometry = Some(geometry.interface().clone());
    } else if options.slots.is_some() {
        interface.outputs = slots::elements();
        builder.set_elements(REGISTERS, interface.outputs.len() as u32);
    }
    let float = spaces.float;
    if options.debug {
        builder.keep_records();
    }
    let lowering = Lowering { program, options, b: builder, spaces, registers, geometry };
    let (function, debug) = lowering.run(flow.as_ref(), dispatch)?;
    let relative = function.insts.values().filter_map(|inst| match (inst.op, inst.imm) {
        (Op::UniformLoadAt, Imm::Row { space, row, .. }) if space == float => Some(row),
        _ => None,
    });
    if let Some(rows) = relative.max() {
        interface.presets = past_uniforms(float).collect();
        interface.repeated = Some(RepeatedRows { space: float, at: RELATIVE_ROWS, rows });
    }
    let stage = if interface.geometry.is_some() { Stage::Geometry } else { Stage::Vertex };
    Ok(Lowered { stage, function, interface, debug })
}

/// `c96` to `c127`, which relative addressing reaches, read as ones: recorded on hardware (citra pull requests 6910,
/// 6920, 6942).
fn past_uniforms(space: Space) -> impl Iterator<Item = UniformPreset> {
    let ones = [1.0f32.to_bits(); 4];
    (FLOAT_UNIFORMS..RELATIVE_ROWS).map(move |row| UniformPreset { space, row, bits: ones, mask: [u32::MAX; 4] })
}

/// The uniform spaces of the function.
struct Spaces {
    float: Space,
    int: Space,
    bool: Space,
}

fn interface(spaces: &Spaces) -> Interface {
    let elements = |file: char| {
        let element = |register| Element {
            semantic: format!("{file}{register}"),
            index: 0,
            register,
            mask: 0xf,
            ty: ComponentType::F32,
        };
        (0..REGISTERS).map(element).collect()
    };
    let uniforms = vec![
        UniformDecl::new(spaces.float, UniformKind::PicaFloat, FLOAT_UNIFORMS),
        UniformDecl::new(spaces.int, UniformKind::PicaInt, INT_UNIFORMS),
        UniformDecl::new(spaces.bool, UniformKind::PicaBool, 1),
    ];
    Interface { inputs: elements('v'), outputs: elements('o'), uniforms, ..Interface::default() }
}

/// The state of lowering one program.
struct Lowering<'a> {
    program: &'a Program,
    options: &'a LowerOptions,
    b: FunctionBuilder,
    spaces: Spaces,
    registers: Registers,
    /// What only geometry shaders have.
    geometry: Option<Geometry>,
}

impl Lowering<'_> {
    fn run(
        mut self,
        flow: Option<&Flow>,
        dispatch: Option<Dispatch>,
    ) -> Result<(Function, Option<Box<DebugInfo>>), LowerError> {
        let exit = self.b.create_block();
        if let Some(flow) = flow {
            self.graph(flow, exit)?;
        }
        if let Some(dispatch) = &dispatch {
            self.dispatch(dispatch, exit);
        }
        self.b.seal_block(exit);
        self.b.switch_to_block(exit);
        self.b.set_origin(Origin::default());
        match (&self.geometry, self.options.slots) {
            (Some(geometry), _) => geometry.store(&mut self.b),
            (None, Some(slots)) => self.store_slots(&slots),
            (None, None) => self.registers.store_outputs(&mut self.b),
        }
        self.b.ret();
        let (function, records) = self.b.finish_with_records();
        let debug = records.map(|records| Box::new(self.registers.debug_info(dispatch.as_ref(), records)));
        Ok((function, debug))
    }

    /// The blocks of a graph, which end in `exit`.
    fn graph(&mut self, flow: &Flow, exit: Block) -> Result<(), LowerError> {
        let blocks: Vec<Block> = flow.blocks.iter().map(|_| self.b.create_block()).collect();

        // Edges that are still to come, so that each block is sealed as soon as its last predecessor ends.
        let mut edges = Edges { blocks: &blocks, exit, open: vec![0; blocks.len()] };
        edges.open[Flow::ENTRY.index()] = 1;
        for to in flow.blocks.iter().flat_map(|block| block.exit.targets()) {
            edges.open[to.index()] += 1;
        }

        let entry = edges.blocks[Flow::ENTRY.index()];
        self.b.jump(entry);
        edges.taken(&mut self.b, Flow::ENTRY);
        for (number, (block, &ir_block)) in flow.blocks.iter().zip(&blocks).enumerate() {
            self.b.switch_to_block(ir_block);
            if let Some(geometry) = &mut self.geometry {
                geometry.begin_block(number);
            }
            let mut words = block.words.iter().peekable();
            for number in 0..=block.steps.len() {
                while let Some(&(_, word)) = words.next_if(|(steps, _)| *steps == number) {
                    self.b.record(Record::Begin(Origin::at(self.program.byte_offset(word))));
                }
                if let Some(step) = block.steps.get(number) {
                    self.step(*step)?;
                }
            }
            self.exit(block.exit, &mut edges);
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), LowerError> {
        match step {
            Step::Execute(address) => self.execute(address)?,
            Step::DropOldestLoop => {
                for depth in 1..LOOP_RING {
                    for variables in [Registers::counter, Registers::saved] {
                        let from = variables(&mut self.registers, &mut self.b, depth);
                        let to = variables(&mut self.registers, &mut self.b, depth - 1);
                        let value = self.b.use_var(from);
                        self.b.def_var(to, value);
                    }
                }
            }
            Step::EnterLoop { depth, uniform } => {
                let (counter, saved) = (
                    self.registers.counter(&mut self.b, depth.index()),
                    self.registers.saved(&mut self.b, depth.index()),
                );
                let count = self.int_uniform(uniform, Component::X);
                self.b.def_var(counter, count);
                let before = self.address_register(AddressRegister::Loop);
                self.b.def_var(saved, before);
                let first = self.int_uniform(uniform, Component::Y);
                self.set_address_register(AddressRegister::Loop, first);
            }
            Step::Advance { uniform } => {
                let (index, increment) =
                    (self.address_register(AddressRegister::Loop), self.int_uniform(uniform, Component::Z));
                let index = self.b.iadd([index, increment]);
                self.set_address_register(AddressRegister::Loop, index);
            }
            Step::Restore { depth } => {
                let saved = self.registers.saved(&mut self.b, depth.index());
                let before = self.b.use_var(saved);
                self.set_address_register(AddressRegister::Loop, before);
            }
        }
        Ok(())
    }

    /// Executes the word at `address`, which is not control flow.
    fn execute(&mut self, address: Address) -> Result<(), LowerError> {
        let instruction = self.program.get(address).expect("the graph names words of the program");
        let offset = self.program.byte_offset(address);
        self.b.set_origin(Origin::at(offset));
        match instruction.effect {
            Effect::Arithmetic { destination, sources, descriptor } => {
                let descriptor = source::descriptor(self.program, descriptor, offset)?;
                let opcode = instruction.opcode.expect("only undefined words have none");
                self.arithmetic(opcode, destination, &sources, descriptor);
                Ok(())
            }
            Effect::Compare { comparisons, sources, descriptor } => {
                let descriptor = source::descriptor(self.program, descriptor, offset)?;
                self.compare(comparisons, &sources, descriptor);
                Ok(())
            }
            Effect::SetEmit { vertex, primitive, inverted } if let Some(geometry) = &mut self.geometry => {
                geometry.set_emit(&mut self.b, vertex, primitive, inverted);
                Ok(())
            }
            Effect::Emit if let Some(geometry) = &mut self.geometry => {
                geometry.emit(&mut self.b);
                Ok(())
            }
            Effect::Undefined => Ok(()),
            _ => Err(LowerError::Unsupported { what: instruction.mnemonic(), offset }),
        }
    }

    fn exit(&mut self, exit: Exit, edges: &mut Edges<'_>) {
        match exit {
            Exit::End => self.b.jump(edges.exit),
            Exit::Jump(to) => self.b.jump(edges.blocks[to.index()]),
            Exit::Branch { choice, yes, no } => {
                let condition = match choice {
                    Choice::Test(test) => {
                        let value = self.test(test);
                        self.b.record(Record::Test { value, holds: true });
                        value
                    }
                    Choice::Again(depth) => {
                        let counter = self.registers.counter(&mut self.b, depth.index());
                        let (left, zero, one) = (self.b.use_var(counter), self.b.i32(0), self.b.i32(1));
                        let fewer = self.b.isub([left, one]);
                        self.b.def_var(counter, fewer);
                        self.b.ine([left, zero])
                    }
                };
                self.b.br_if(condition, edges.blocks[yes.index()], edges.blocks[no.index()]);
            }
        }
        for to in exit.targets() {
            edges.taken(&mut self.b, to);
        }
    }

    /// Whether a condition holds, an `i1`.
    fn test(&mut self, test: Test) -> Value {
        match test {
            Test::Flags(test) => self.flag_test(test),
            Test::Bool { uniform, value } => {
                let mask = self.b.uniform_load(Type::I32, self.spaces.bool, 0, 0);
                let (bit, zero) = (self.b.i32(1 << (uniform.0 & 0xf)), self.b.i32(0));
                let bit = self.b.and([mask, bit]);
                if value { self.b.ine([bit, zero]) } else { self.b.ieq([bit, zero]) }
            }
        }
    }

    fn flag_test(&mut self, test: FlagTest) -> Value {
        let mut equals = |number: usize, reference: bool| {
            let flag = self.registers.flag(&mut self.b, number);
            let flag = self.b.use_var(flag);
            if reference { flag } else { self.b.not([flag]) }
        };
        match test.combine {
            Combine::X => equals(0, test.x),
            Combine::Y => equals(1, test.y),
            Combine::Or => {
                let flags = [equals(0, test.x), equals(1, test.y)];
                self.b.or(flags)
            }
            Combine::And => {
                let flags = [equals(0, test.x), equals(1, test.y)];
                self.b.and(flags)
            }
        }
    }

    fn int_uniform(&mut self, uniform: IntUniform, component: Component) -> Value {
        self.b.uniform_load(Type::I32, self.spaces.int, u32::from(uniform.0), component.index() as u8)
    }
}

/// The edges to each block that have not been made yet.
struct Edges<'a> {
    blocks: &'a [Block],
    exit: Block,
    open: Vec<u32>,
}

impl Edges<'_> {
    /// One edge to `to` has been made.
    fn taken(&mut self, b: &mut FunctionBuilder, to: BlockId) {
        let open = &mut self.open[to.index()];
        *open -= 1;
        if *open == 0 {
            b.seal_block(self.blocks[to.index()]);
        }
    }
}

#[cfg(test)]
mod tests;
