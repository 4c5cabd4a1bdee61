//! Modules of a grammar: structured control flow, arithmetic, variables of every storage class, a function; and of each
//! stage what it reads, emits and waits for.

mod expression;
mod statement;

use arbitrary::{Arbitrary, Result, Unstructured};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel, Op,
    StorageClass, Word,
};

/// Words of arrays that an index chooses from, a power of two.
const ARRAY: u32 = 8;
/// Words of the storage buffer that are reached, a power of two.
const BUFFER: u32 = 64;
/// Most statements of a module.
const STATEMENTS: u32 = 24;

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Uint,
    Float,
    Bool,
}

/// A module that is valid.
#[derive(Debug)]
pub struct SpirvMadeCase(Vec<u32>);

impl SpirvMadeCase {
    /// Its bytes, little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl<'a> Arbitrary<'a> for SpirvMadeCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<SpirvMadeCase> {
        let stages = [
            ExecutionModel::Vertex,
            ExecutionModel::TessellationControl,
            ExecutionModel::TessellationEvaluation,
            ExecutionModel::Geometry,
            ExecutionModel::Fragment,
            ExecutionModel::GLCompute,
        ];
        let stage = *u.choose(&stages)?;
        Generator::new(u, stage).module().map(SpirvMadeCase)
    }
}

/// A module on the way.
struct Generator<'g, 'a> {
    u: &'g mut Unstructured<'a>,
    b: Builder,
    stage: ExecutionModel,
    types: Types,
    /// What can be used here.
    values: Vec<(Kind, Word)>,
    /// Variables of one word, and arrays of [`ARRAY`] uints, each with the type of pointers to a word of it.
    words: Vec<(Kind, Word)>,
    arrays: Vec<(Word, Word)>,
    /// The buffer, and the function, if there is one here.
    buffer: Option<Word>,
    function: Option<Word>,
    extended: Word,
    interface: Vec<Word>,
    /// Inputs that have a value of each vertex.
    of_vertices: Vec<(Kind, Word)>,
    statements: u32,
}

struct Types {
    void: Word,
    uint: Word,
    long: Word,
    float: Word,
    boolean: Word,
}

impl Types {
    fn of(&self, kind: Kind) -> Word {
        match kind {
            Kind::Uint => self.uint,
            Kind::Float => self.float,
            Kind::Bool => self.boolean,
        }
    }
}

impl<'g, 'a> Generator<'g, 'a> {
    fn new(u: &'g mut Unstructured<'a>, stage: ExecutionModel) -> Generator<'g, 'a> {
        let mut b = Builder::new();
        b.set_version(1, 3);
        b.capability(Capability::Shader);
        b.capability(Capability::Int64);
        match stage {
            ExecutionModel::Geometry => b.capability(Capability::Geometry),
            ExecutionModel::TessellationControl | ExecutionModel::TessellationEvaluation => {
                b.capability(Capability::Tessellation);
            }
            _ => {}
        }
        let extended = b.ext_inst_import("GLSL.std.450");
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let types = Types {
            void: b.type_void(),
            uint: b.type_int(32, 0),
            long: b.type_int(64, 0),
            float: b.type_float(32, None),
            boolean: b.type_bool(),
        };
        Generator {
            u,
            b,
            stage,
            types,
            values: Vec::new(),
            words: Vec::new(),
            arrays: Vec::new(),
            buffer: None,
            function: None,
            extended,
            interface: Vec::new(),
            of_vertices: Vec::new(),
            statements: STATEMENTS,
        }
    }

    fn module(mut self) -> Result<Vec<u32>> {
        if self.stage == ExecutionModel::GLCompute {
            self.declare_buffer();
        }
        let uint = self.types.uint;
        let kinds = [(Kind::Uint, StorageClass::Private), (Kind::Float, StorageClass::Private)];
        for (kind, class) in kinds {
            let variable = self.variable(self.types.of(kind), class);
            self.words.push((kind, variable));
        }
        let array = self.array_of(uint, ARRAY);
        let private = self.variable(array, StorageClass::Private);
        let pointer = self.b.type_pointer(None, StorageClass::Private, uint);
        self.arrays.push((private, pointer));
        self.declare_function()?;

        let inputs = self.inputs();
        let outputs = self.outputs();
        let function_type = self.b.type_function(self.types.void, []);
        let main =
            self.b.begin_function(self.types.void, None, FunctionControl::NONE, function_type).expect("no other");
        self.b.begin_block(None).expect("the function has begun");
        let pointer = self.b.type_pointer(None, StorageClass::Function, uint);
        let local = self.b.variable(pointer, None, StorageClass::Function, None);
        let array_pointer = self.b.type_pointer(None, StorageClass::Function, array);
        let many = self.b.variable(array_pointer, None, StorageClass::Function, None);
        let zero = self.uint(0);
        self.b.store(local, zero, None, []).expect("a block is open");
        let zeros = self.b.constant_composite(array, vec![zero; ARRAY as usize]);
        for (variable, value) in [(many, zeros), (private, zeros)] {
            self.b.store(variable, value, None, []).expect("a block is open");
        }
        self.zero_words();
        self.words.push((Kind::Uint, local));
        self.arrays.push((many, pointer));
        for (kind, pointer) in inputs {
            let value = self.b.load(self.types.of(kind), None, pointer, None, []).expect("a block is open");
            self.values.push((kind, value));
        }
        self.read_arrays_of_inputs()?;
        self.body(&outputs)?;
        self.b.ret().expect("a block is open");
        self.b.end_function().expect("the block has ended");
        let interface = self.interface.clone();
        self.b.entry_point(self.stage, main, "main", interface);
        self.modes(main);
        Ok(self.b.module().assemble())
    }

    /// Everything that the stage does.
    fn body(&mut self, outputs: &[(Kind, Word)]) -> Result<()> {
        self.statements(0)?;
        let waits = matches!(self.stage, ExecutionModel::TessellationControl | ExecutionModel::GLCompute);
        if waits && self.u.arbitrary()? {
            let [scope, memory, semantics] =
                [2, if self.stage == ExecutionModel::GLCompute { 2 } else { 4 }, 0].map(|number| self.uint(number));
            self.b.control_barrier(scope, memory, semantics).expect("a block is open");
            self.statements = self.statements.max(4);
            self.statements(0)?;
        }
        for &(kind, pointer) in outputs {
            let value = self.value(kind, 2)?;
            let pointer = self.output_pointer(pointer, kind)?;
            self.b.store(pointer, value, None, []).expect("a block is open");
        }
        if self.stage == ExecutionModel::Geometry {
            self.b.emit_vertex().expect("a block is open");
        }
        Ok(())
    }

    // ---- declarations

    fn uint(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.types.uint, value)
    }

    fn array_of(&mut self, ty: Word, length: u32) -> Word {
        let length = self.uint(length);
        self.b.type_array(ty, length)
    }

    fn variable(&mut self, ty: Word, class: StorageClass) -> Word {
        let pointer = self.b.type_pointer(None, class, ty);
        self.b.variable(pointer, None, class, None)
    }

    /// A variable of the interface, at a location or as a builtin.
    fn exchanged(&mut self, ty: Word, class: StorageClass, decoration: Decoration, what: Operand) -> Word {
        let variable = self.variable(ty, class);
        self.b.decorate(variable, decoration, [what]);
        self.interface.push(variable);
        variable
    }

    fn declare_buffer(&mut self) {
        let array = self.b.type_runtime_array(self.types.uint);
        self.b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = self.b.type_struct([array]);
        self.b.decorate(block, Decoration::Block, []);
        self.b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let buffer = self.variable(block, StorageClass::StorageBuffer);
        self.b.decorate(buffer, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        self.b.decorate(buffer, Decoration::Binding, [Operand::LiteralBit32(0)]);
        self.buffer = Some(buffer);
    }

    /// A function of a uint, which the others may call.
    fn declare_function(&mut self) -> Result<()> {
        let (uint, function_type) = (self.types.uint, self.b.type_function(self.types.uint, [self.types.uint]));
        let function = self.b.begin_function(uint, None, FunctionControl::NONE, function_type).expect("no other");
        let parameter = self.b.function_parameter(uint).expect("it has one");
        self.b.begin_block(None).expect("the function has begun");
        self.values.push((Kind::Uint, parameter));
        let kept = std::mem::replace(&mut self.statements, 3);
        self.statements(1)?;
        self.statements = kept;
        let value = self.value(Kind::Uint, 2)?;
        self.b.ret_value(value).expect("a block is open");
        self.b.end_function().expect("the block has ended");
        self.values.clear();
        self.function = Some(function);
        Ok(())
    }

    fn zero_words(&mut self) {
        for (kind, variable) in self.words.clone() {
            let zero = self.b.constant_bit32(self.types.of(kind), 0);
            self.b.store(variable, zero, None, []).expect("a block is open");
        }
    }

    /// What an invocation reads that is no array: kind and pointer.
    fn inputs(&mut self) -> Vec<(Kind, Word)> {
        use ExecutionModel::{Fragment, GLCompute, Geometry, TessellationControl, TessellationEvaluation, Vertex};
        let built_ins: &[BuiltIn] = match self.stage {
            Vertex => &[BuiltIn::VertexIndex],
            TessellationControl => &[BuiltIn::InvocationId, BuiltIn::PrimitiveId, BuiltIn::PatchVertices],
            TessellationEvaluation => &[BuiltIn::PrimitiveId],
            Geometry => &[BuiltIn::InvocationId, BuiltIn::PrimitiveId],
            GLCompute => &[BuiltIn::LocalInvocationIndex],
            _ => &[],
        };
        let uint = self.types.uint;
        let mut inputs = Vec::new();
        for &built_in in built_ins {
            let what = Operand::BuiltIn(built_in);
            let variable = self.exchanged(uint, StorageClass::Input, Decoration::BuiltIn, what);
            if built_in == BuiltIn::PrimitiveId && self.stage == Fragment {
                self.b.decorate(variable, Decoration::Flat, []);
            }
            inputs.push((Kind::Uint, variable));
        }
        if matches!(self.stage, Vertex | Fragment) {
            let float = self.types.float;
            let what = Operand::LiteralBit32(0);
            inputs.push((Kind::Float, self.exchanged(float, StorageClass::Input, Decoration::Location, what)));
        }
        if let Some(count) = self.vertices() {
            for (location, kind) in [(0, Kind::Uint), (1, Kind::Float)] {
                let array = self.array_of(self.types.of(kind), count);
                let what = Operand::LiteralBit32(location);
                let variable = self.exchanged(array, StorageClass::Input, Decoration::Location, what);
                self.of_vertices.push((kind, variable));
            }
        }
        inputs
    }

    /// Vertices of a primitive or control points: how many there are.
    fn vertices(&self) -> Option<u32> {
        match self.stage {
            ExecutionModel::TessellationControl => Some(4),
            ExecutionModel::TessellationEvaluation => Some(3),
            ExecutionModel::Geometry => Some(3),
            _ => None,
        }
    }

    /// Reads what there is of each vertex: of one that is known, and of one that is chosen.
    fn read_arrays_of_inputs(&mut self) -> Result<()> {
        let Some(count) = self.vertices() else { return Ok(()) };
        let uint = self.types.uint;
        for (kind, variable) in self.of_vertices.clone() {
            let ty = self.types.of(kind);
            let pointer = self.b.type_pointer(None, StorageClass::Input, ty);
            let chosen = self.value(Kind::Uint, 1)?;
            let length = self.uint(count);
            let chosen = self.op(Op::UMod, uint, &[chosen, length]);
            for index in [self.uint(count - 1), chosen] {
                let place = self.b.access_chain(pointer, None, variable, [index]).expect("a block is open");
                let value = self.b.load(ty, None, place, None, []).expect("a block is open");
                self.values.push((kind, value));
            }
        }
        Ok(())
    }

    /// What it puts out: a uint and a float.
    fn outputs(&mut self) -> Vec<(Kind, Word)> {
        if self.stage == ExecutionModel::GLCompute {
            return Vec::new();
        }
        let is_control = self.stage == ExecutionModel::TessellationControl;
        let mut outputs = Vec::new();
        for (location, kind) in [(0, Kind::Uint), (1, Kind::Float)] {
            let ty = self.types.of(kind);
            let ty = if is_control { self.array_of(ty, 3) } else { ty };
            let what = Operand::LiteralBit32(location);
            outputs.push((kind, self.exchanged(ty, StorageClass::Output, Decoration::Location, what)));
        }
        if is_control {
            let (uint, what) = (self.types.uint, Operand::LiteralBit32(2));
            let patch = self.exchanged(uint, StorageClass::Output, Decoration::Location, what);
            self.b.decorate(patch, Decoration::Patch, []);
            self.words.push((Kind::Uint, patch));
        }
        outputs
    }

    /// Where an output goes: of a control point, to that of the invocation.
    fn output_pointer(&mut self, variable: Word, kind: Kind) -> Result<Word> {
        if self.stage != ExecutionModel::TessellationControl {
            return Ok(variable);
        }
        let pointer = self.b.type_pointer(None, StorageClass::Output, self.types.of(kind));
        // The number of the invocation was read first.
        let (_, invocation) = self.values[0];
        Ok(self.b.access_chain(pointer, None, variable, [invocation]).expect("a block is open"))
    }

    fn modes(&mut self, main: Word) {
        use ExecutionMode::*;
        let modes: &[(ExecutionMode, &[u32])] = match self.stage {
            ExecutionModel::TessellationControl => &[(OutputVertices, &[3])],
            ExecutionModel::TessellationEvaluation => {
                &[(Quads, &[]), (SpacingFractionalEven, &[]), (VertexOrderCw, &[])]
            }
            ExecutionModel::Geometry => {
                &[(Triangles, &[]), (OutputTriangleStrip, &[]), (OutputVertices, &[6]), (Invocations, &[2])]
            }
            ExecutionModel::Fragment => &[(OriginUpperLeft, &[])],
            ExecutionModel::GLCompute => &[(LocalSize, &[11, 1, 1])],
            _ => &[],
        };
        for &(mode, operands) in modes {
            self.b.execution_mode(main, mode, operands);
        }
    }

    /// An instruction with a result.
    fn op(&mut self, op: Op, ty: Word, operands: &[Word]) -> Word {
        let id = self.b.id();
        let operands = operands.iter().map(|&id| Operand::IdRef(id)).collect();
        let instruction = Instruction::new(op, Some(ty), Some(id), operands);
        self.b.insert_into_block(InsertPoint::End, instruction).expect("a block is open");
        id
    }
}
