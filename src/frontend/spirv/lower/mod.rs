//! Instructions of one entry point → IR.
//!
//! A value is the list of its scalars, so composites, matrices and shuffles cost nothing. Functions are inlined, so
//! that every pointer is known where it is used: variables of an invocation are SSA variables, or register arrays where
//! an index chooses among their elements, and memory is addressed by a variable and a byte. Blocks and branches become
//! those of the IR as they are; merge instructions are not needed, for the IR structures its graphs itself.
//!
//! | file | what it does |
//! |---|---|
//! | `declare` | entry points, names, decorations, execution modes |
//! | `types` | the type table, and how values lie in memory |
//! | `constants` | constants, specialised ones included, as bits |
//! | `cfg` | blocks of functions, dominators |
//! | `flow` | calls, blocks, branches |
//! | `variables` | variables of an invocation, of a group, and those that are bound |
//! | `pointer` | access chains → variable and place |
//! | `memory` | loads and stores of whatever a pointer reaches, atomics |
//! | `locals` | loads and stores of variables of an invocation: registers, or arrays |
//! | `composite` | vectors, structures, arrays |
//! | `arithmetic` | what opcodes compute of each component |
//! | `wide`, `division` | integers of 64 bits: what opcodes compute of two words each |
//! | `matrix` | what they compute of whole vectors and matrices |
//! | `extended`, `transcendental`, `packing` | GLSL.std.450 |
//! | `interface` | inputs and outputs, builtins |
//! | `slots`, `usage` | which elements they are, and what of their blocks is used |
//! | `primitive` | inputs of the stages between vertices and pixels |
//! | `emit` | vertices that geometry shaders emit |
//! | `hull` | tessellation control shaders: phases between barriers |
//! | `pixel` | what a rasteriser gives and takes, helper invocations, derivatives |
//! | `subgroup` | subgroups, of one invocation each |
//! | `image`, `sampling`, `texels` | images and samplers: which, what is filtered of them, what is read and written |
//! | `reflect` | the same declarations for people, of all stages |

mod arithmetic;
mod cfg;
mod composite;
mod constants;
mod declare;
mod division;
mod emit;
mod extended;
mod flow;
mod hull;
mod image;
mod interface;
mod locals;
mod matrix;
mod memory;
mod packing;
mod pixel;
mod pointer;
mod primitive;
mod reflect;
mod sampling;
mod slots;
mod subgroup;
mod texels;
mod transcendental;
mod types;
mod usage;
mod variables;
mod wide;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use shaderjit_ir::function::Origin;
use shaderjit_ir::{Block, FunctionBuilder, Resource, Space, Value, Variable};
use spirv::{ExecutionModel, Op};

use self::cfg::{Cfg, Head};
use self::declare::{Declared, unsupported};
pub use self::declare::{EntryPoint, entry_points};
use self::emit::Streams;
use self::flow::Frame;
use self::hull::Hull;
use self::image::Handle;
use self::pixel::Pixel;
use self::pointer::Pointer;
use self::primitive::Primitive;
pub use self::reflect::{
    BlockLayout, BlockMember, BoundVariable, InterfaceVariable, Reflection, SpecializationConstant, reflect,
};
use self::types::{Ty, Types};
use self::variables::Variables;
use super::decode::{Instruction, Module};
use super::opcode::{Class, class};
use crate::error::LowerError;
use crate::frontend::{Interface, Lowered};
use crate::stage::Stage;

/// Most instructions of a program, those of a function counted at each of its calls.
const MAX_INSTRUCTIONS: u64 = 1 << 17;
/// Most values of the function.
const MAX_VALUES: u64 = 1 << 20;
/// Most scalars that instructions have put into composites.
const MAX_MOVED: u64 = 1 << 22;
/// Most pairs of a variable and a block: what building SSA form may cost, as every variable can be live everywhere.
const MAX_LIVE_PAIRS: u64 = 1 << 21;

/// What an entry point is lowered for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// Bits of specialisation constants by their number; the others have the values that the module gives them.
    pub constants: BTreeMap<u32, u64>,
    /// By set and binding, the elements of arrays of descriptors that are ever bound. An array that an index chooses
    /// from at run time is reduced to those; of short ones all are, where nothing is said.
    pub descriptors: BTreeMap<(u32, u32), BTreeSet<u32>>,
    /// Control points of the patches that a tessellation control shader reads, if that was said.
    pub patch_vertices: Option<u32>,
    /// Samples of a pixel of the target, if that was said; else there is one.
    pub samples: Option<u32>,
}

/// The stage of an execution model; none of those that this crate does not know.
pub fn stage(model: ExecutionModel) -> Option<Stage> {
    Some(match model {
        ExecutionModel::Vertex => Stage::Vertex,
        ExecutionModel::TessellationControl => Stage::Hull,
        ExecutionModel::TessellationEvaluation => Stage::Domain,
        ExecutionModel::Geometry => Stage::Geometry,
        ExecutionModel::Fragment => Stage::Pixel,
        ExecutionModel::GLCompute => Stage::Compute,
        _ => return None,
    })
}

/// Lowers an entry point, by its number in the module.
///
/// Inputs and outputs are elements of the semantic `LOCATION` with their location as index, builtins those that
/// Direct3D calls by another name (`SV_Position`). Bindings are resources, samplers and uniform blocks with set,
/// binding and, of an array, index.
///
/// # Errors
/// [`LowerError::Unsupported`] for what this crate cannot run yet, [`LowerError::Invalid`] for a module that breaks the
/// rules of the format, [`LowerError::Limit`] for one that is too large; each with the byte offset of the instruction.
pub fn lower(module: &Module, entry: usize, options: &LowerOptions) -> Result<Lowered, LowerError> {
    let entries = entry_points(module)?;
    let Some(entry) = entries.get(entry) else {
        return Err(LowerError::Invalid { what: "there is no such entry point".to_string(), offset: module.offset });
    };
    let Some(stage) = stage(entry.model) else {
        return Err(LowerError::Unsupported { what: format!("{:?} shaders", entry.model), offset: entry.offset });
    };
    Lowering::new(module, entry, stage, options)?.run(entry)
}

impl<'m> Lowering<'m> {
    /// Nothing but the module's declarations is read.
    fn new(
        module: &'m Module,
        entry: &EntryPoint,
        stage: Stage,
        options: &'m LowerOptions,
    ) -> Result<Lowering<'m>, LowerError> {
        Ok(Lowering {
            module,
            options,
            stage,
            declared: Declared::collect(module, entry)?,
            heads: cfg::functions(module)?,
            graphs: HashMap::new(),
            types: Types::new(),
            extended_sets: HashSet::new(),
            globals: HashMap::new(),
            variables: Variables::default(),
            interface: Interface::default(),
            products: HashMap::new(),
            group: None,
            pixel: Pixel::default(),
            primitive: Primitive::default(),
            hull: None,
            streams: None,
            b: FunctionBuilder::new(entry.name.clone(), 0, 0),
            frames: Vec::new(),
            exit: Block::from_u32(0),
            order: Vec::new(),
            cost: Cost::default(),
            offset: entry.offset,
        })
    }
}

/// What lowering has met so far, which bounds what it makes.
#[derive(Default)]
struct Cost {
    instructions: u64,
    moved: u64,
    blocks: u64,
    variables: u64,
}

/// What an id is.
#[derive(Clone)]
enum Def {
    /// A value that instructions compute.
    Value { ty: Ty, scalars: Rc<[Value]> },
    /// A value that is known: its scalars' bits.
    Constant { ty: Ty, bits: Rc<[u64]> },
    /// A pointer to what has a value.
    Pointer(Rc<Pointer>),
    /// An image or a sampler.
    Handle(Rc<Handle>),
}

/// The state of lowering one entry point.
struct Lowering<'m> {
    module: &'m Module,
    options: &'m LowerOptions,
    stage: Stage,
    declared: Declared,
    /// Functions, by id.
    heads: HashMap<u32, Head>,
    /// Their graphs, of those that have been called.
    graphs: HashMap<u32, Rc<Cfg>>,
    types: Types,
    /// Ids of sets that are GLSL.std.450.
    extended_sets: HashSet<u32>,
    globals: HashMap<u32, Def>,
    variables: Variables,
    interface: Interface,
    /// Products that a sum may take in before they are rounded: their factors.
    products: HashMap<Value, [Value; 2]>,
    /// The space that has the number of the thread group.
    group: Option<Space>,
    pixel: Pixel,
    primitive: Primitive,
    hull: Option<Hull>,
    streams: Option<Streams>,
    b: FunctionBuilder,
    /// The functions that have been entered and not left, the innermost last.
    frames: Vec<Frame>,
    /// Where the invocation ends.
    exit: Block,
    /// Blocks in the order of the program.
    order: Vec<Block>,
    cost: Cost,
    /// Byte offset of the instruction being lowered.
    offset: usize,
}

impl Lowering<'_> {
    fn run(mut self, entry: &EntryPoint) -> Result<Lowered, LowerError> {
        self.globals()?;
        self.execution_modes()?;
        self.find_dynamic()?;
        self.find_usage()?;
        self.find_pixel_needs();
        self.declare_hull()?;
        self.declare_variables(entry)?;
        self.declare_streams()?;
        self.exit = self.create_block()?;
        self.offset = entry.offset;
        self.enter(entry.function, &[])?;
        if !self.b.is_terminated() {
            self.b.jump(self.exit);
        }
        self.b.set_origin(Origin::default());
        self.start(self.exit);
        self.b.seal_block(self.exit);
        self.end_phases()?;
        match self.stage {
            Stage::Geometry => self.finish_streams(),
            _ => self.store_outputs()?,
        }
        self.b.ret();
        self.check_cost()?;
        let mut function = self.b.finish();
        let mut position = vec![u32::MAX; function.blocks.len()];
        for (n, block) in (1..).zip(&self.order) {
            position[block.as_u32() as usize] = n;
        }
        position[function.entry().as_u32() as usize] = 0;
        function.layout.sort_by_key(|block| position[block.as_u32() as usize]);
        Ok(Lowered { stage: self.stage, function, interface: self.interface, debug: None })
    }

    /// Reads types, constants and the variables outside of functions.
    fn globals(&mut self) -> Result<(), LowerError> {
        for instruction in self.module.instructions() {
            self.offset = instruction.offset;
            let Some(opcode) = instruction.opcode() else { return Err(unsupported(&instruction)) };
            match (opcode, class(opcode)) {
                (Op::Function, _) => break,
                (Op::ExtInstImport, _) => self.import(&instruction)?,
                (_, Some(Class::Type)) => self.declare_type(&instruction)?,
                (_, Some(Class::Constant)) => self.constant(&instruction)?,
                (Op::Variable, _) => self.global_variable(&instruction)?,
                (_, Some(Class::Debug | Class::Declaration)) => {}
                _ => return Err(unsupported(&instruction)),
            }
        }
        Ok(())
    }

    /// Lowers an instruction that is no terminator.
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        self.offset = instruction.offset;
        self.b.set_origin(Origin::at(instruction.offset));
        let Some(opcode) = instruction.opcode() else { return Err(unsupported(instruction)) };
        match class(opcode) {
            Some(Class::Debug | Class::Declaration) => Ok(()),
            Some(Class::Constant) if opcode == Op::Undef => self.constant(instruction),
            Some(Class::Memory) => self.memory(opcode, instruction),
            Some(Class::Composite) => self.composite(opcode, instruction),
            Some(Class::Each) => self.each(opcode, instruction),
            Some(Class::Matrix) => self.matrix(opcode, instruction),
            Some(Class::Extended) => self.extended(instruction),
            Some(Class::Flow | Class::Function) => self.flow(opcode, instruction),
            Some(Class::Image) => self.image(opcode, instruction),
            Some(Class::Atomic) => self.atomic(opcode, instruction),
            Some(Class::Barrier) => self.barrier(opcode, instruction),
            Some(Class::Derivative) => self.derivative(opcode, instruction),
            Some(Class::Subgroup) => self.subgroup(opcode, instruction),
            Some(Class::Emission) => self.emission(opcode, instruction),
            Some(Class::Constant | Class::Type) | None => Err(unsupported(instruction)),
        }?;
        self.check_cost()
    }

    // ---- ids

    /// What an id is, where the current block sees it.
    fn def(&self, id: u32) -> Result<Def, LowerError> {
        let block = self.frames.last().map_or(0, |frame| frame.block);
        self.def_at(id, block)
    }

    /// What an id is at the end of a block of the innermost function.
    fn def_at(&self, id: u32, block: usize) -> Result<Def, LowerError> {
        if let Some(frame) = self.frames.last()
            && let Some((def, at)) = frame.ids.get(&id)
        {
            if !frame.cfg.dominates(*at, block) {
                return Err(self.invalid(format!("%{id} is used where it may not have been computed")));
            }
            return Ok(def.clone());
        }
        self.globals.get(&id).cloned().ok_or_else(|| self.invalid(format!("%{id} is not defined")))
    }

    /// Says what an id is: in the function that is being lowered, or outside of them.
    fn define(&mut self, id: u32, def: Def) -> Result<(), LowerError> {
        let is_twice = match self.frames.last_mut() {
            Some(frame) => frame.ids.insert(id, (def, frame.block)).is_some(),
            None => self.globals.insert(id, def).is_some(),
        };
        if is_twice { Err(self.invalid(format!("%{id} is defined twice"))) } else { Ok(()) }
    }

    /// Says what value an id is.
    fn define_value(&mut self, id: u32, ty: Ty, scalars: impl Into<Rc<[Value]>>) -> Result<(), LowerError> {
        let scalars = scalars.into();
        debug_assert_eq!(scalars.len() as u32, self.types.scalars(ty), "scalars of %{id}");
        self.cost.moved += scalars.len() as u64;
        self.define(id, Def::Value { ty, scalars })
    }

    /// The type that an id is.
    fn ty(&self, id: u32) -> Result<Ty, LowerError> {
        self.types.of_id(id).ok_or_else(|| self.invalid(format!("%{id} is no type")))
    }

    /// The type that an id is, of values that can be held.
    fn value_type(&self, id: u32) -> Result<Ty, LowerError> {
        let ty = self.ty(id)?;
        types::check_scalars(self.types.scalars(ty), self.offset)?;
        Ok(ty)
    }

    /// The value that an id is, and its type.
    fn value(&mut self, id: u32) -> Result<(Ty, Rc<[Value]>), LowerError> {
        let def = self.def(id)?;
        self.value_of(def, id)
    }

    fn value_of(&mut self, def: Def, id: u32) -> Result<(Ty, Rc<[Value]>), LowerError> {
        match def {
            Def::Value { ty, scalars } => Ok((ty, scalars)),
            Def::Constant { ty, bits } => {
                self.cost.moved += bits.len() as u64;
                let scalars = self.types.flatten(ty);
                let values = scalars.iter().zip(bits.iter()).map(|(scalar, &bits)| self.b.constant(scalar.ir(), bits));
                Ok((ty, values.collect()))
            }
            Def::Pointer(_) | Def::Handle(_) => Err(self.invalid(format!("%{id} is no value"))),
        }
    }

    /// The value that an id is, of one scalar.
    fn scalar(&mut self, id: u32) -> Result<Value, LowerError> {
        let (_, scalars) = self.value(id)?;
        match scalars[..] {
            [scalar] => Ok(scalar),
            _ => Err(self.invalid(format!("%{id} is no scalar"))),
        }
    }

    /// The number that an id is, of 32 bits.
    fn integer(&mut self, id: u32) -> Result<Value, LowerError> {
        let value = self.scalar(id)?;
        match self.b.ty(value) {
            shaderjit_ir::Type::I32 => Ok(value),
            _ => Err(self.invalid(format!("%{id} is no integer"))),
        }
    }

    /// The number that an id is, if it is a constant integer.
    fn literal(&self, id: u32) -> Result<Option<u32>, LowerError> {
        Ok(match self.def(id)? {
            Def::Constant { ty, bits } if matches!(self.types.scalar(ty), Some(types::Scalar::Int { .. })) => {
                bits.first().filter(|_| bits.len() == 1).map(|&bits| bits as u32)
            }
            _ => None,
        })
    }

    // ---- costs and errors

    fn create_block(&mut self) -> Result<Block, LowerError> {
        self.cost.blocks += 1;
        self.check_cost()?;
        Ok(self.b.create_block())
    }

    fn declare_var(&mut self, ty: shaderjit_ir::Type) -> Variable {
        self.cost.variables += 1;
        self.b.declare_var(ty)
    }

    /// Goes on in a block.
    fn start(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.order.push(block);
        // What is known of values that another block has made need not hold here.
        self.products.clear();
    }

    fn check_cost(&self) -> Result<(), LowerError> {
        let Cost { instructions, moved, blocks, variables } = self.cost;
        let values = self.b.func().values.len() as u64;
        self.limit("number of instructions", instructions, MAX_INSTRUCTIONS)?;
        self.limit("number of scalars of composites", moved, MAX_MOVED)?;
        self.limit("variables times blocks", variables * blocks, MAX_LIVE_PAIRS)?;
        self.limit("size of the function", values, MAX_VALUES)
    }

    fn limit(&self, what: &'static str, value: u64, limit: u64) -> Result<(), LowerError> {
        if value > limit { Err(LowerError::Limit { what, value, limit, offset: self.offset }) } else { Ok(()) }
    }

    fn unsupported(&self, what: impl Into<String>) -> LowerError {
        LowerError::Unsupported { what: what.into(), offset: self.offset }
    }

    fn invalid(&self, what: impl Into<String>) -> LowerError {
        LowerError::Invalid { what: what.into(), offset: self.offset }
    }

    /// That an instruction has other operands than its opcode.
    fn malformed(&self, instruction: &Instruction<'_>) -> LowerError {
        self.invalid(format!("{} has operands that it cannot have", instruction.name()))
    }
}

/// A resource that memory instructions name: its number, and whether it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    resource: Resource,
    is_written: bool,
}

#[cfg(test)]
mod tests;
