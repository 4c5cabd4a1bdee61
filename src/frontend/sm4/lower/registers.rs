//! What a program's registers are in the function: variables, arrays, inputs and uniform spaces.

use std::collections::{BTreeMap, HashMap, HashSet};

use shaderjit_ir::{Array, FunctionBuilder, Space, SysVal, Type, Variable};

use super::resource::Resources;
use super::{MAX_CONSTANT_BUFFERS, MAX_IMMEDIATE_ROWS, MAX_REGISTERS, MAX_SIGNATURE_REGISTERS};
use crate::container::dxbc::{ComponentType as StoredType, Signature, SignatureElement, SystemValue as StoredValue};
use crate::error::LowerError;
use crate::frontend::sm4::codes::SystemValue;
use crate::frontend::sm4::custom_data::CustomData;
use crate::frontend::sm4::declaration::{Binding, Declaration};
use crate::frontend::sm4::decode::{Body, Program};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::{ComponentType, Element, Interface, UniformDecl, UniformKind};

/// Everything declared, by the numbers that instructions use.
pub(super) struct Registers {
    /// What the caller is told.
    pub interface: Interface,
    /// `r#`: the variables of the components that some instruction writes.
    temps: Vec<[Option<Variable>; 4]>,
    /// `x#`.
    pub arrays: HashMap<u32, IndexableTemp>,
    /// `v#`.
    pub inputs: Inputs,
    /// `o#`.
    pub outputs: Outputs,
    /// Declared constant buffers by id.
    buffers: HashMap<u32, Buffer>,
    /// Uniform spaces by id and register.
    spaces: HashMap<(u32, u32), Space>,
    /// `t#`.
    pub resources: Resources,
    /// `icb`.
    pub immediate_constants: Option<Space>,
}

/// An `x#`.
#[derive(Clone, Copy)]
pub(super) struct IndexableTemp {
    pub array: Array,
    /// Components of its elements.
    pub components: u8,
}

/// A constant buffer, or a range of them.
#[derive(Clone, Copy)]
struct Buffer {
    binding: Binding,
    rows: u32,
}

/// Input registers.
#[derive(Default)]
pub(super) struct Inputs {
    components: HashMap<(u32, Component), InputComponent>,
    /// The registers that are indexed dynamically.
    pub indexed: Option<Indexed>,
}

/// Where an input register's component comes from.
#[derive(Clone, Copy)]
pub(super) enum InputComponent {
    /// Component `component` of input element `number`.
    Element { number: u32, component: u8 },
    /// A value the batch generates.
    System(SysVal),
}

/// Output registers.
#[derive(Default)]
pub(super) struct Outputs {
    /// Every component of every element, in signature order.
    components: Vec<OutputComponent>,
    /// Their registers.
    places: HashSet<(u32, Component)>,
    /// The variables of those that some instruction writes by name.
    variables: HashMap<(u32, Component), Variable>,
    /// The registers that are indexed dynamically.
    pub indexed: Option<Indexed>,
}

/// One component of an output element, and the register component it is.
#[derive(Clone, Copy)]
pub(super) struct OutputComponent {
    pub number: u32,
    pub component: u8,
    pub register: u32,
    pub register_component: Component,
}

/// Registers in an array, so that they can be indexed: one array for all ranges of a file, with what lies between.
#[derive(Clone, Copy)]
pub(super) struct Indexed {
    pub array: Array,
    /// The register at index 0.
    pub first: u32,
    /// Number of registers.
    pub count: u32,
    /// The components that some range has; the others are not indexed.
    mask: Mask,
}

impl Indexed {
    /// Whether a register's component is in the array.
    pub fn contains(&self, register: u32, component: Component) -> bool {
        self.mask.contains(component) && register.checked_sub(self.first).is_some_and(|index| index < self.count)
    }

    /// Whether a component is in the array at all.
    pub fn has(&self, component: Component) -> bool {
        self.mask.contains(component)
    }

    /// Every register component in the array, with its index.
    pub fn cells(&self) -> impl Iterator<Item = (u32, u32, Component)> {
        let Indexed { first, count, mask, .. } = *self;
        (0..count).flat_map(move |index| mask.components().map(move |component| (index, first + index, component)))
    }
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
    pub fn new(
        program: &Program,
        inputs: &Signature<'_>,
        outputs: &Signature<'_>,
    ) -> Result<(Self, FunctionBuilder), LowerError> {
        let mut interface = Interface::default();
        let inputs = Inputs::new(inputs, &mut interface.inputs);
        let outputs = Outputs::new(outputs, &mut interface.outputs);
        let (input_count, output_count) = (interface.inputs.len() as u32, interface.outputs.len() as u32);
        let mut b = FunctionBuilder::new(program.version.to_string(), input_count, output_count);
        let mut registers = Registers {
            interface,
            temps: Vec::new(),
            arrays: HashMap::new(),
            inputs,
            outputs,
            buffers: HashMap::new(),
            spaces: HashMap::new(),
            resources: Resources::default(),
            immediate_constants: None,
        };
        let mut declaring =
            Declaring { registers: &mut registers, b: &mut b, array_registers: 0, ranges: BTreeMap::new() };
        for instruction in &program.instructions {
            let declared = match &instruction.body {
                Body::Declaration(declaration) => declaring.declare(declaration),
                Body::CustomData(data) => declaring.custom_data(data),
                Body::Operation(_) => Ok(()),
            };
            declared.map_err(|refusal| refusal.at(instruction.offset))?;
        }
        declaring.index_ranges();
        registers.make_variables(program, &mut b);
        Ok((registers, b))
    }

    /// Makes the variables of all registers that some instruction writes.
    fn make_variables(&mut self, program: &Program, b: &mut FunctionBuilder) {
        for instruction in &program.instructions {
            for destination in instruction.operands().iter().take(instruction.opcode().destinations()) {
                // What else it may be is an error, or no variable; both show when the instruction is lowered.
                let Some(&[register]) = destination.constant_indices() else { continue };
                for component in destination.components().written().components() {
                    match destination.file() {
                        RegisterFile::Temp => {
                            if let Some(variables) = self.temps.get_mut(register as usize) {
                                variables[component.index()].get_or_insert_with(|| b.declare_var(Type::F32));
                            }
                        }
                        RegisterFile::Output => self.outputs.make_variable(b, register, component),
                        _ => {}
                    }
                }
            }
        }
    }

    /// How many variables there are.
    pub fn variables(&self) -> u64 {
        self.temps.iter().flatten().flatten().count() as u64 + self.outputs.variables.len() as u64
    }

    /// The variable of an `r#` component, if it is written anywhere; an error if the register is not declared.
    pub fn temp(&self, register: u32, component: Component) -> Result<Option<Variable>, Refusal> {
        match self.temps.get(register as usize) {
            Some(variables) => Ok(variables[component.index()]),
            None => Err(Refusal::Invalid(format!("r{register} is not declared"))),
        }
    }

    /// The space of a constant buffer: the one that `id` declares, at `register` of its range.
    pub fn constant_buffer(&mut self, b: &mut FunctionBuilder, id: u32, register: u32) -> Result<Space, Refusal> {
        if let Some(&space) = self.spaces.get(&(id, register)) {
            return Ok(space);
        }
        let buffer = self.buffers.get(&id).copied();
        let Some(buffer) = buffer.filter(|buffer| (buffer.binding.lower..=buffer.binding.upper).contains(&register))
        else {
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
        self.interface.uniforms.push(UniformDecl { space, kind, rows: buffer.rows });
        self.spaces.insert((id, register), space);
        Ok(space)
    }
}

/// Why something is refused; the place is added by who knows it.
pub(super) enum Refusal {
    Unsupported(String),
    Invalid(String),
    Limit { what: &'static str, value: u64, limit: u64 },
}

impl Refusal {
    /// The error at a byte offset.
    pub fn at(self, offset: usize) -> LowerError {
        match self {
            Refusal::Unsupported(what) => LowerError::Unsupported { what, offset },
            Refusal::Invalid(what) => LowerError::Invalid { what, offset },
            Refusal::Limit { what, value, limit } => LowerError::Limit { what, value, limit, offset },
        }
    }
}

pub(super) fn limit(what: &'static str, value: u64, limit: u64) -> Result<(), Refusal> {
    if value > limit { Err(Refusal::Limit { what, value, limit }) } else { Ok(()) }
}

/// The walk over the declarations.
struct Declaring<'a> {
    registers: &'a mut Registers,
    b: &'a mut FunctionBuilder,
    /// Registers of all `x#` so far.
    array_registers: u64,
    ranges: BTreeMap<RegisterFile, Extent>,
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
            Declaration::Input { ref operand, system_value: Some(value), .. } => self.system_input(operand, value)?,
            Declaration::IndexRange { ref first, count } => self.index_range(first, count)?,
            // Registers come with the signatures, and other views and samplers only matter to instructions that use them.
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
        uniforms.push(UniformDecl { space, kind: UniformKind::Table, rows: rows.len() as u32 });
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
        match self.registers.arrays.insert(register, IndexableTemp { array, components: components as u8 }) {
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
                self.registers.inputs.components.insert((register, component), InputComponent::System(sysval));
            }
        }
        Ok(())
    }

    fn index_range(&mut self, first: &Operand, count: u32) -> Result<(), Refusal> {
        let (RegisterFile::Input | RegisterFile::Output, Some(&[register])) = (first.file(), first.constant_indices())
        else {
            return Err(Refusal::Invalid("an index range of something else than inputs or outputs".into()));
        };
        let end = u64::from(register) + u64::from(count);
        limit("number of a register in an index range", end, MAX_SIGNATURE_REGISTERS)?;
        let (end, mask) = (end as u32, first.components().written().bits());
        if count == 0 || mask == 0 {
            return Err(Refusal::Invalid("an empty index range".into()));
        }
        let extent = self.ranges.entry(first.file()).or_insert(Extent { first: register, end, mask });
        let Extent { first, end: last, mask: components } = *extent;
        *extent = Extent { first: first.min(register), end: last.max(end), mask: components | mask };
        Ok(())
    }

    /// Makes the arrays of the index ranges.
    fn index_ranges(self) {
        for (file, Extent { first, end, mask }) in self.ranges {
            let count = end - first;
            let array = self.b.add_array(count, 4);
            let indexed = Some(Indexed { array, first, count, mask: Mask::from_bits(mask.into()) });
            match file {
                RegisterFile::Input => self.registers.inputs.indexed = indexed,
                _ => self.registers.outputs.indexed = indexed,
            }
        }
    }
}

impl Inputs {
    /// The input signature: pushes its elements, system values left out.
    fn new(signature: &Signature<'_>, elements: &mut Vec<Element>) -> Self {
        let mut components = HashMap::new();
        for stored in &signature.elements {
            let system = match stored.system_value {
                StoredValue::VERTEX_ID => Some(SysVal::VertexId),
                StoredValue::INSTANCE_ID => Some(SysVal::InstanceId),
                _ => None,
            };
            let number = elements.len() as u32;
            for (component, register, register_component) in register_components(stored) {
                let source = system.map_or(InputComponent::Element { number, component }, InputComponent::System);
                components.entry((register, register_component)).or_insert(source);
            }
            if system.is_none() {
                elements.push(element(stored));
            }
        }
        Inputs { components, indexed: None }
    }

    /// Where a register's component comes from.
    pub fn get(&self, register: u32, component: Component) -> Option<InputComponent> {
        self.components.get(&(register, component)).copied()
    }
}

impl Outputs {
    /// The output signature: pushes its elements.
    fn new(signature: &Signature<'_>, elements: &mut Vec<Element>) -> Self {
        let mut components = Vec::<OutputComponent>::new();
        for stored in &signature.elements {
            let number = elements.len() as u32;
            components.extend(register_components(stored).map(|(component, register, register_component)| {
                OutputComponent { number, component, register, register_component }
            }));
            elements.push(element(stored));
        }
        let places = components.iter().map(|output| (output.register, output.register_component)).collect();
        Outputs { components, places, variables: HashMap::new(), indexed: None }
    }

    /// Makes the variable of a component of the signature.
    fn make_variable(&mut self, b: &mut FunctionBuilder, register: u32, component: Component) {
        let place = (register, component);
        if self.places.contains(&place) && !self.is_indexed(register, component) {
            self.variables.entry(place).or_insert_with(|| b.declare_var(Type::F32));
        }
    }

    /// Whether a component is in the array.
    fn is_indexed(&self, register: u32, component: Component) -> bool {
        self.indexed.is_some_and(|indexed| indexed.contains(register, component))
    }

    /// The variable of an `o#` component that is written by name; none if the signature does not have it.
    pub fn variable(&self, register: u32, component: Component) -> Option<Variable> {
        self.variables.get(&(register, component)).copied()
    }

    /// The components of elements that some instruction writes. The others stay what outputs start as, zero.
    pub fn written(&self) -> Vec<OutputComponent> {
        let written = |output: &&OutputComponent| {
            let (register, component) = (output.register, output.register_component);
            self.variable(register, component).is_some() || self.is_indexed(register, component)
        };
        self.components.iter().filter(written).copied().collect()
    }
}

/// A signature element's components: number in the element, register, component of the register. None if it has no register.
fn register_components(stored: &SignatureElement<'_>) -> impl Iterator<Item = (u8, u32, Component)> {
    let mask = Mask::from_bits(stored.mask.into());
    stored.register.into_iter().flat_map(move |register| {
        (0..).zip(mask.components()).map(move |(number, component)| (number, register, component))
    })
}

fn element(stored: &SignatureElement<'_>) -> Element {
    Element {
        semantic: stored.semantic.to_str().into_owned(),
        index: stored.index,
        register: stored.register.unwrap_or(u32::MAX),
        mask: stored.mask & 0xf,
        ty: match stored.component_type {
            StoredType::U32 | StoredType::U16 => ComponentType::U32,
            StoredType::I32 | StoredType::I16 => ComponentType::I32,
            _ => ComponentType::F32,
        },
    }
}
