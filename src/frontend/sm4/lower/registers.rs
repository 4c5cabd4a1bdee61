//! What a program's registers are in the function: variables, arrays, inputs and uniform spaces.

use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeMap;

use shaderjit_ir::{Array, FunctionBuilder, Space, SysVal, Type, Variable};

use super::elements::{Indexed, Inputs, Outputs, Register};
use super::emit::Emitter;
use super::group;
use super::hull::{Hull, Tessellated};
use super::pixel;
use super::resource::Resources;
use super::texture::Samplers;
use super::vertices::{Patch, Vertices, control_points, location, vertices_of};
use super::{MAX_CONSTANT_BUFFERS, MAX_IMMEDIATE_ROWS, MAX_REGISTERS, MAX_SIGNATURE_REGISTERS, Signatures};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Stage, SystemValue};
use crate::frontend::sm4::custom_data::CustomData;
use crate::frontend::sm4::declaration::{Binding, Declaration};
use crate::frontend::sm4::decode::{Body, Program};
use crate::frontend::sm4::opcode::Opcode;
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::{Element, Interface, PrimitiveStage, UniformDecl, UniformKind};

/// Everything declared, by the numbers that instructions use.
pub(super) struct Registers {
    /// What the caller is told.
    pub interface: Interface,
    /// `r#`: the variables of the components that some instruction writes.
    temps: Vec<[Option<Variable>; 4]>,
    /// `x#`, by the phase of a hull shader that declares it, 0 elsewhere.
    pub arrays: HashMap<(u32, u32), IndexableTemp>,
    /// `v#`.
    pub inputs: Inputs,
    /// `o#`.
    pub outputs: Outputs,
    /// 1 once the invocation has been discarded; none in programs that discard nothing.
    pub discarded: Option<Flag>,
    /// 1 once it has been aborted; none in programs that abort nowhere.
    pub aborted: Option<Flag>,
    /// Declared constant buffers by id.
    buffers: HashMap<u32, Buffer>,
    /// Uniform spaces by id and register.
    spaces: HashMap<(u32, u32), Space>,
    /// `t#`.
    pub resources: Resources,
    /// `s#`.
    pub samplers: Samplers,
    /// `icb`.
    pub immediate_constants: Option<Space>,
    /// The places of samples, once they are asked for.
    pub sample_positions: Option<Space>,
    /// The group's number, once something reads it.
    pub group: Option<Space>,
    pub stage: Stage,
    /// The vertices that a geometry or hull shader sees.
    pub vertices: Option<Vertices>,
    /// What a geometry shader emits to.
    pub emitter: Option<Box<Emitter>>,
    /// What the phases of a hull shader share.
    pub hull: Option<Box<Hull>>,
    /// What a domain shader sees.
    pub patch: Option<Patch>,
    /// The phase of a hull shader that is lowered, counted from 1 as they lie in the program; 0 elsewhere.
    pub phase: u32,
}

/// An `x#`.
#[derive(Clone, Copy)]
pub(super) struct IndexableTemp {
    pub array: Array,
    /// Components of its elements.
    pub components: u8,
}

/// What the caller is told of the invocation beside its outputs.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    /// 1 or 0.
    pub variable: Variable,
    /// The output element it is stored to.
    pub element: u32,
}

/// A constant buffer, or a range of them.
#[derive(Clone, Copy)]
struct Buffer {
    binding: Binding,
    rows: u32,
}

/// The extent of the index ranges of one file.
#[derive(Clone, Copy)]
struct Extent {
    first: u32,
    end: u32,
    mask: u8,
}

impl Registers {
    /// Reads the signatures and declarations and starts the function.
    pub fn new(program: &Program, signatures: &Signatures<'_>) -> Result<(Self, FunctionBuilder), LowerError> {
        let mut interface = Interface::default();
        let stage = program.version.stage;
        let mut b = FunctionBuilder::new(program.version.to_string(), 0, 0);
        // Most have an op for each of four components, and some load operands.
        b.reserve(6 * program.instructions.len());
        let inputs = match stage {
            Stage::Domain => Inputs::default(),
            _ => Inputs::new(signatures.inputs, stage, &mut interface.inputs),
        };
        let outputs = match stage {
            Stage::Hull => Outputs::new(signatures.patch_constants, &mut interface.outputs),
            _ => Outputs::new(signatures.outputs, &mut interface.outputs),
        };
        let mut registers = Registers {
            interface,
            temps: Vec::new(),
            arrays: HashMap::new(),
            inputs,
            outputs,
            discarded: None,
            aborted: None,
            buffers: HashMap::new(),
            spaces: HashMap::new(),
            resources: Resources::new(program),
            samplers: Samplers::default(),
            immediate_constants: None,
            sample_positions: None,
            group: None,
            stage,
            vertices: None,
            emitter: None,
            hull: None,
            patch: None,
            phase: 0,
        };
        registers.add_stage(program, signatures, &mut b).map_err(|refusal| refusal.at(program.offset))?;
        let Registers { inputs, interface, .. } = &mut registers;
        inputs.add_declared(program, &mut interface.inputs);
        if stage == Stage::Pixel {
            interface.pixel =
                Some(pixel::interface(program, signatures.inputs, signatures.outputs, &mut interface.inputs));
        }
        let mut flag = |semantic: &str, opcode: Opcode| {
            let occurs = program.instructions.iter().any(|instruction| instruction.opcode() == opcode);
            occurs.then(|| {
                interface.outputs.push(Element::scalar(semantic));
                interface.outputs.len() - 1
            })
        };
        let discarded = if stage == Stage::Pixel { flag("discarded", Opcode::Discard) } else { None };
        let aborted = flag("aborted", Opcode::Abort);
        (interface.discarded, interface.aborted) = (discarded, aborted);
        b.set_elements(interface.inputs.len() as u32, interface.outputs.len() as u32);
        [registers.discarded, registers.aborted] = [discarded, aborted]
            .map(|element| Some(Flag { element: element? as u32, variable: b.declare_var(Type::I32) }));
        let mut declaring = Declaring {
            registers: &mut registers,
            b: &mut b,
            stage,
            array_registers: 0,
            ranges: BTreeMap::new(),
            in_control_points: false,
        };
        for instruction in &program.instructions {
            let declared = match &instruction.body {
                Body::Declaration(declaration) => declaring.declare(declaration),
                Body::CustomData(data) => declaring.custom_data(data),
                Body::Operation(_) => Ok(()),
            };
            declared.map_err(|refusal| refusal.at(instruction.offset))?;
        }
        declaring.index_ranges();
        registers.phase = 0;
        registers.make_variables(program, &mut b);
        Ok((registers, b))
    }

    /// What only a stage between vertices and pixels has.
    fn add_stage(
        &mut self,
        program: &Program,
        signatures: &Signatures<'_>,
        b: &mut FunctionBuilder,
    ) -> Result<(), Refusal> {
        let interface = &mut self.interface;
        match self.stage {
            Stage::Geometry => {
                let declared = program.instructions.iter().find_map(|instruction| match instruction.body {
                    Body::Declaration(Declaration::InputPrimitive(primitive)) => vertices_of(primitive),
                    _ => None,
                });
                let count = declared.ok_or_else(|| Refusal::Invalid("the input primitive is not declared".into()))?;
                let of_one = std::mem::take(&mut interface.inputs);
                let vertices = Vertices::new(count, &of_one, program, b, interface)?;
                let emitter = Emitter::new(program, vertices.inputs, signatures.outputs, &self.outputs, b, interface)?;
                (self.vertices, self.emitter) = (Some(vertices), Some(Box::new(emitter)));
            }
            Stage::Hull => {
                let declared = Tessellated::of(program);
                let count = control_points(declared.input_points, 1)?;
                let of_one = std::mem::take(&mut interface.inputs);
                let vertices = Vertices::new(count, &of_one, program, b, interface)?;
                let hull = Hull::new(program, vertices.inputs, &declared, signatures.outputs, &self.outputs, b)?;
                interface.primitive = Some(PrimitiveStage::Hull(hull.interface.clone()));
                (self.vertices, self.hull) = (Some(vertices), Some(Box::new(hull)));
            }
            Stage::Domain => {
                let declared = Tessellated::of(program);
                // What reads no control points may leave out how many there are.
                let count = declared.input_points.map_or(Ok(0), |count| control_points(Some(count), 0))?;
                let patch = [signatures.inputs, signatures.patch_constants];
                self.patch = Some(Patch::new(declared.domain()?, count, patch, b, interface)?);
                interface.inputs = vec![location()];
            }
            _ => {}
        }
        Ok(())
    }

    /// The variables of all `r#`.
    pub fn temp_variables(&self) -> Vec<Variable> {
        self.temps().map(|(_, _, variable)| variable).collect()
    }

    /// The number, component and variable of all `r#` components that have one.
    pub fn temps(&self) -> impl Iterator<Item = (u32, u8, Variable)> {
        let rows = (0..).zip(&self.temps);
        let components =
            rows.flat_map(|(number, row)| (0..).zip(row).map(move |(component, it)| (number, component, it)));
        components.filter_map(|(number, component, variable)| Some((number, component, (*variable)?)))
    }

    /// Makes the variables of all registers that some instruction writes.
    fn make_variables(&mut self, program: &Program, b: &mut FunctionBuilder) {
        for instruction in &program.instructions {
            for destination in instruction.operands().iter().take(instruction.opcode().destinations()) {
                // What else it may be is an error, or no variable; both show when the instruction is lowered.
                let Some(indices) = destination.constant_indices() else { continue };
                for component in destination.components().written().components() {
                    match (destination.file(), indices) {
                        (RegisterFile::Temp, &[register]) => {
                            if let Some(variables) = self.temps.get_mut(register as usize) {
                                variables[component.index()].get_or_insert_with(|| b.declare_var(Type::F32));
                            }
                        }
                        (RegisterFile::Output, &[register]) => {
                            self.outputs.make_variable(b, Register::Numbered(register), component);
                        }
                        (file, []) => self.outputs.make_variable(b, Register::Named(file), component),
                        _ => {}
                    }
                }
            }
        }
    }

    /// How many variables there are.
    pub fn variables(&self) -> u64 {
        let flags = [self.discarded, self.aborted].iter().flatten().count() as u64;
        self.temps.iter().flatten().flatten().count() as u64 + self.outputs.variables() + flags
    }

    /// The variable of an `r#` component, if it is written anywhere; an error if the register is not declared.
    pub fn temp(&self, register: u32, component: Component) -> Result<Option<Variable>, Refusal> {
        match self.temps.get(register as usize) {
            Some(variables) => Ok(variables[component.index()]),
            None => Err(Refusal::Invalid(format!("r{register} is not declared"))),
        }
    }

    /// The ids of the constant buffers that are one register each, in order: what a dynamic choice is among.
    pub fn single_buffers(&self) -> Vec<u32> {
        let single = self.buffers.values().filter(|Buffer { binding, .. }| binding.lower == binding.upper);
        let mut ids: Vec<u32> = single.map(|buffer| buffer.binding.id).collect();
        ids.sort_unstable();
        ids
    }

    /// The registers of a declared range of constant buffers.
    pub fn buffer_binding(&self, id: u32) -> Option<Binding> {
        self.buffers.get(&id).map(|buffer| buffer.binding)
    }

    /// The space of a constant buffer: the one that `id` declares, at `register` of its range.
    pub fn constant_buffer(&mut self, b: &mut FunctionBuilder, id: u32, register: u32) -> Result<Space, Refusal> {
        if let Some(&space) = self.spaces.get(&(id, register)) {
            return Ok(space);
        }
        let buffer = self.buffers.get(&id).copied();
        let Some(buffer) = buffer.filter(|buffer| buffer.binding.slots().contains(&register)) else {
            return Err(Refusal::Invalid(format!("constant buffer {id} with register {register} is not declared")));
        };
        let count = self.interface.uniforms.len() as u64 + 1;
        limit("number of constant buffers", count, MAX_CONSTANT_BUFFERS)?;
        let name = match buffer.binding.space {
            0 => format!("cb{register}"),
            space => format!("cb{register}_space{space}"),
        };
        let space = b.add_space(name, None);
        let kind = UniformKind::ConstantBuffer { slot: register, space: buffer.binding.space };
        self.interface.uniforms.push(UniformDecl::new(space, kind, buffer.rows));
        self.spaces.insert((id, register), space);
        Ok(space)
    }
}

/// Why something is refused; the place is added by who knows it.
pub(super) enum Refusal {
    Unsupported(String),
    Invalid(String),
    Limit { what: &'static str, value: u64, limit: u64 },
    Unbound { slot: u32 },
}

impl Refusal {
    /// The error at a byte offset.
    pub fn at(self, offset: usize) -> LowerError {
        match self {
            Refusal::Unsupported(what) => LowerError::Unsupported { what, offset },
            Refusal::Invalid(what) => LowerError::Invalid { what, offset },
            Refusal::Limit { what, value, limit } => LowerError::Limit { what, value, limit, offset },
            Refusal::Unbound { slot } => LowerError::Unbound { slot, candidates: Vec::new(), offset },
        }
    }
}

/// Refuses a count over its limit.
pub(super) fn limit(what: &'static str, value: u64, limit: u64) -> Result<(), Refusal> {
    if value > limit { Err(Refusal::Limit { what, value, limit }) } else { Ok(()) }
}

/// The walk over the declarations.
struct Declaring<'a> {
    registers: &'a mut Registers,
    b: &'a mut FunctionBuilder,
    stage: Stage,
    /// Registers of all `x#` so far.
    array_registers: u64,
    ranges: BTreeMap<RegisterFile, Extent>,
    /// Whether the declarations are those of a control-point phase.
    in_control_points: bool,
}

impl Declaring<'_> {
    fn declare(&mut self, declaration: &Declaration) -> Result<(), Refusal> {
        match *declaration {
            Declaration::Temps(count) => {
                let count = self.registers.temps.len().max(count as usize);
                limit("number of temporary registers", count as u64, MAX_REGISTERS)?;
                self.registers.temps.resize(count, [None; 4]);
            }
            Declaration::IndexableTemp { register, size, components } => {
                self.indexable_temp(register, size, components)?;
            }
            Declaration::ConstantBuffer { binding, rows, .. } => {
                if self.registers.buffers.insert(binding.id, Buffer { binding, rows }).is_some() {
                    return Err(Refusal::Invalid(format!("constant buffer {} is declared twice", binding.id)));
                }
                // Of longer ranges, the registers that are named become spaces when they are.
                if binding.lower == binding.upper {
                    self.registers.constant_buffer(self.b, binding.id, binding.lower)?;
                }
            }
            Declaration::Input { ref operand, system_value: Some(value), .. } if self.stage == Stage::Vertex => {
                self.system_input(operand, value)?;
            }
            Declaration::ThreadGroup(threads) if self.stage == Stage::Compute => {
                group::declare(threads, &mut self.registers.interface)?;
            }
            Declaration::HsControlPointPhase | Declaration::HsForkPhase | Declaration::HsJoinPhase => {
                self.registers.phase += 1;
                self.in_control_points = matches!(declaration, Declaration::HsControlPointPhase);
            }
            // Vertices and control points are rows of memory wherever they are indexed, and so is a domain's patch.
            Declaration::IndexRange { ref first, .. }
                if first.index_count() == 2
                    || self.stage == Stage::Domain && first.file() == RegisterFile::PatchConstant
                    || self.in_control_points => {}
            Declaration::IndexRange { ref first, count } => self.index_range(first, count)?,
            Declaration::Sampler { binding, mode } => {
                let registers = &mut *self.registers;
                registers.samplers.declare(binding, mode, self.b, &mut registers.interface)?;
            }
            Declaration::TgsmRaw { register, .. } | Declaration::TgsmStructured { register, .. }
                if self.stage != Stage::Compute =>
            {
                return Err(Refusal::Invalid(format!("g{register} is declared in a stage without thread groups")));
            }
            // Registers come with the signatures, and other views only matter to instructions that use them.
            _ => {
                let registers = &mut *self.registers;
                registers.resources.declare(declaration, self.b, &mut registers.interface)?;
            }
        }
        Ok(())
    }

    fn custom_data(&mut self, data: &CustomData) -> Result<(), Refusal> {
        let CustomData::ImmediateConstants(rows) = data else { return Ok(()) };
        limit("rows of the immediate constant buffer", rows.len() as u64, MAX_IMMEDIATE_ROWS)?;
        if self.registers.immediate_constants.is_some() {
            return Err(Refusal::Invalid("a second immediate constant buffer".into()));
        }
        let space = self.b.add_space("icb", Some(rows.clone()));
        let uniforms = &mut self.registers.interface.uniforms;
        uniforms.push(UniformDecl::new(space, UniformKind::Table, rows.len() as u32));
        self.registers.immediate_constants = Some(space);
        Ok(())
    }

    fn indexable_temp(&mut self, register: u32, size: u32, components: u32) -> Result<(), Refusal> {
        if size == 0 || !(1..=4).contains(&components) {
            return Err(Refusal::Invalid(format!("x{register} has {size} registers of {components} components")));
        }
        self.array_registers += u64::from(size);
        limit("number of temporary registers", self.array_registers, MAX_REGISTERS)?;
        let array = self.b.add_array(size, components as u8);
        match self
            .registers
            .arrays
            .insert((self.registers.phase, register), IndexableTemp { array, components: components as u8 })
        {
            Some(_) => Err(Refusal::Invalid(format!("x{register} is declared twice"))),
            None => Ok(()),
        }
    }

    /// An input that is declared to be a system value is that value, whatever the signature says.
    fn system_input(&mut self, operand: &Operand, value: SystemValue) -> Result<(), Refusal> {
        let sysval = match value {
            SystemValue::VertexId => SysVal::VertexId,
            SystemValue::InstanceId => SysVal::InstanceId,
            _ => return Err(Refusal::Unsupported(format!("input {}", value.name()))),
        };
        if let (RegisterFile::Input, Some(&[register])) = (operand.file(), operand.constant_indices()) {
            for component in operand.components().written().components() {
                self.registers.inputs.set_system(register, component, sysval);
            }
        }
        Ok(())
    }

    fn index_range(&mut self, first: &Operand, count: u32) -> Result<(), Refusal> {
        let file = match first.file() {
            // A hull shader reads the patch constants that it has written.
            RegisterFile::PatchConstant if self.stage == Stage::Hull => RegisterFile::Output,
            file => file,
        };
        let (RegisterFile::Input | RegisterFile::Output, Some(&[register])) = (file, first.constant_indices()) else {
            return Err(Refusal::Invalid("an index range of something else than inputs or outputs".into()));
        };
        let end = u64::from(register) + u64::from(count);
        limit("number of a register in an index range", end, MAX_SIGNATURE_REGISTERS)?;
        let (end, mask) = (end as u32, first.components().written().bits());
        if count == 0 || mask == 0 {
            return Err(Refusal::Invalid("an empty index range".into()));
        }
        let extent = self.ranges.entry(file).or_insert(Extent { first: register, end, mask });
        let Extent { first, end: last, mask: components } = *extent;
        *extent = Extent { first: first.min(register), end: last.max(end), mask: components | mask };
        Ok(())
    }

    /// Makes the arrays of the index ranges.
    fn index_ranges(self) {
        for (file, Extent { first, end, mask }) in self.ranges {
            let count = end - first;
            let array = self.b.add_array(count, 4);
            let indexed = Some(Indexed::new(array, first..end, Mask::from_bits(mask.into())));
            match file {
                RegisterFile::Input => self.registers.inputs.indexed = indexed,
                _ => self.registers.outputs.indexed = indexed,
            }
        }
    }
}
