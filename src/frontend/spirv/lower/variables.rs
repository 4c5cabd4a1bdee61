//! Variables: those of an invocation, those that a group shares, and those that are bound.
//!
//! A variable of an invocation is one SSA variable a scalar, unless an index that is not known chooses among its
//! elements somewhere: then it is a register array. What is bound becomes a resource, a sampler or a uniform space when
//! an instruction first needs it, so an interface has what the entry point uses and nothing else.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use shaderjit_ir::memory::MemoryKind;
use shaderjit_ir::{Array, Resource, Sampler, Space, Type, Value, Variable};
use spirv::{Op, StorageClass};

use super::declare::EntryPoint;
use super::pointer::{Index, Place, Pointer};
use super::types::{Kind, MatrixLayout, Scalar, Ty};
use super::usage::Usage;
use super::{Def, Lowering, Memory};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::{ResourceDecl, ResourceFile, ResourceKind, SamplerDecl, UniformDecl, UniformKind};

/// Most scalars of all register arrays together.
const MAX_ARRAY_SCALARS: u64 = 1 << 14;
/// Most bytes that a group shares (Direct3D 11: `D3D11_CS_TGSM_REGISTER_COUNT`; Vulkan promises half of it).
const MAX_SHARED_BYTES: u64 = 1 << 15;
/// Most rows of 16 bytes of a uniform block: 1 MiB, where Vulkan's drivers have 64 KiB. Calls make room for all of
/// them.
pub(super) const MAX_ROWS: u64 = 1 << 16;
/// Most resources, samplers and uniform spaces, each.
const MAX_BOUND: u64 = 1 << 10;
/// Most elements of an array of descriptors that an index chooses from where nothing says which of them are bound.
const MAX_CHOSEN: u32 = 64;

/// All variables of the module.
#[derive(Default)]
pub(super) struct Variables {
    /// Those that are declared outside of functions.
    globals: Vec<Global>,
    /// Ids of those among whose elements an index chooses.
    dynamic: HashSet<u32>,
    pub locals: Vec<Local>,
    /// The variables that are inputs and outputs: id and number.
    pub inputs: Vec<(u32, usize)>,
    pub outputs: Vec<(u32, usize)>,
    pub shared: Vec<Shared>,
    pub bound: Vec<Bound>,
    /// Which members of input and output blocks are named.
    pub usage: Usage,
    array_scalars: u64,
    resources: HashMap<(usize, u32), Memory>,
    samplers: HashMap<(usize, u32), Sampler>,
    spaces: HashMap<(usize, u32), Space>,
}

impl Variables {
    /// Those outside of functions: id, storage class and type.
    pub fn declared(&self) -> impl Iterator<Item = (u32, StorageClass, Ty)> {
        self.globals.iter().map(|global| (global.id, global.class, global.ty))
    }
}

struct Global {
    id: u32,
    class: StorageClass,
    ty: Ty,
    initializer: Option<u32>,
    offset: usize,
}

/// A variable of an invocation.
pub(super) struct Local {
    pub storage: Storage,
    /// Which scalars some instruction writes.
    pub written: Vec<bool>,
}

/// Where the scalars of a variable are.
#[derive(Clone)]
pub(super) enum Storage {
    Registers(Rc<[Variable]>),
    /// An element for each scalar.
    Array {
        array: Array,
        scalars: Rc<[Scalar]>,
    },
}

/// A variable that a group shares.
pub(super) struct Shared {
    id: u32,
    bytes: u32,
    resource: Option<Resource>,
}

/// A variable that is bound, or an array of such.
pub(super) struct Bound {
    pub id: u32,
    pub class: StorageClass,
    /// The type of one of them.
    pub ty: Ty,
    pub set: u32,
    pub binding: u32,
    /// How many there are: 0 where the array has no end; none if it is no array.
    pub count: Option<u32>,
}

impl Bound {
    /// Whether it is a uniform block.
    pub fn is_uniform(&self, lowering: &Lowering<'_>) -> bool {
        match self.class {
            StorageClass::PushConstant => true,
            StorageClass::Uniform => !lowering.is_buffer_block(self.ty),
            _ => false,
        }
    }
}

impl Lowering<'_> {
    /// Takes note of a variable outside of functions.
    pub(super) fn global_variable(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[pointer, id, class, ref rest @ ..] = instruction.operands() else {
            return Err(self.malformed(instruction));
        };
        let ty = self.pointee(pointer)?;
        let Some(class) = StorageClass::from_u32(class) else { return Err(self.malformed(instruction)) };
        let (initializer, offset) = (rest.first().copied(), instruction.offset);
        self.variables.globals.push(Global { id, class, ty, initializer, offset });
        Ok(())
    }

    /// What pointers of a type point to.
    pub(super) fn pointee(&self, id: u32) -> Result<Ty, LowerError> {
        match *self.types.kind(self.ty(id)?) {
            Kind::Pointer { pointee, .. } => Ok(pointee),
            _ => Err(self.invalid(format!("%{id} is no type of pointers"))),
        }
    }

    /// Finds the variables among whose elements an index chooses that is not known. A pointer that is passed to a
    /// function counts as one if any function does that with a parameter.
    pub(super) fn find_dynamic(&mut self) -> Result<(), LowerError> {
        // Of each pointer the variable or parameter that it leads to, and its type.
        let mut roots: HashMap<u32, (Option<u32>, Ty)> = HashMap::default();
        for global in &self.variables.globals {
            roots.insert(global.id, (Some(global.id), global.ty));
        }
        let (mut passed, mut in_parameters) = (HashSet::default(), false);
        for instruction in self.module.instructions() {
            self.offset = instruction.offset;
            match (instruction.opcode(), instruction.operands()) {
                (Some(Op::Variable), &[pointer, id, class, ..]) if class == StorageClass::Function as u32 => {
                    let ty = self.pointee(pointer)?;
                    roots.insert(id, (Some(id), ty));
                }
                (Some(Op::FunctionParameter), &[ty, id]) => {
                    if let Kind::Pointer { pointee, .. } = *self.types.kind(self.ty(ty)?) {
                        roots.insert(id, (None, pointee));
                    }
                }
                (Some(Op::AccessChain | Op::InBoundsAccessChain), &[pointer, id, base, ref indices @ ..]) => {
                    let Some(&(root, mut ty)) = roots.get(&base) else { continue };
                    let mut is_dynamic = false;
                    for &index in indices {
                        let known = match self.globals.get(&index) {
                            Some(Def::Constant { bits, .. }) => bits.first().map(|&bits| bits as u32),
                            _ => None,
                        };
                        let part = match *self.types.kind(ty) {
                            Kind::Array { element, .. } | Kind::RuntimeArray { element, .. } => Some(element),
                            Kind::Matrix { column, .. } => Some(column),
                            Kind::Struct(_) => known.and_then(|index| self.types.part(ty, index)).map(|(part, _)| part),
                            _ => None,
                        };
                        let Some(part) = part else { break };
                        is_dynamic |= known.is_none();
                        ty = part;
                    }
                    if is_dynamic {
                        in_parameters |= root.is_none();
                        self.variables.dynamic.extend(root);
                    }
                    let ty = self.pointee(pointer)?;
                    roots.insert(id, (root, ty));
                }
                (Some(Op::CopyObject), &[_, id, base]) => {
                    if let Some(&root) = roots.get(&base) {
                        roots.insert(id, root);
                    }
                }
                (Some(Op::FunctionCall), &[_, _, _, ref arguments @ ..]) => {
                    passed.extend(arguments.iter().filter_map(|argument| roots.get(argument)?.0));
                }
                _ => {}
            }
        }
        if in_parameters {
            self.variables.dynamic.extend(passed);
        }
        // All invocations of a patch see its control points.
        for Global { id, class, ty, .. } in &self.variables.globals {
            if *class == StorageClass::Output && self.vertices_of(*id, *class, *ty).is_some() {
                self.variables.dynamic.insert(*id);
            }
        }
        Ok(())
    }

    /// Makes the variables outside of functions, of inputs and outputs those of the entry point.
    pub(super) fn declare_variables(&mut self, entry: &EntryPoint) -> Result<(), LowerError> {
        let globals = std::mem::take(&mut self.variables.globals);
        for &Global { id, class, ty, initializer, offset } in &globals {
            self.offset = offset;
            match class {
                StorageClass::Input | StorageClass::Output => {
                    if !entry.variables.contains(&id) {
                        continue;
                    }
                    let local = self.local(id, ty, initializer)?;
                    self.define_local(id, ty, local)?;
                    match class {
                        StorageClass::Input => self.variables.inputs.push((id, local)),
                        _ => self.variables.outputs.push((id, local)),
                    }
                }
                StorageClass::Workgroup => {
                    let bytes = self.types.info(ty).natural_bytes;
                    let total =
                        self.variables.shared.iter().fold(bytes, |sum, shared| sum.saturating_add(shared.bytes.into()));
                    self.limit("number of bytes that a group shares", total, MAX_SHARED_BYTES)?;
                    let number = self.variables.shared.len();
                    self.variables.shared.push(Shared { id, bytes: bytes as u32, resource: None });
                    let pointer = Pointer { ty, place: Place::shared(number) };
                    self.define(id, Def::Pointer(Rc::new(pointer)))?;
                }
                StorageClass::Uniform
                | StorageClass::StorageBuffer
                | StorageClass::PushConstant
                | StorageClass::UniformConstant => self.bound_variable(id, class, ty)?,
                // What uses it refuses it.
                _ => {}
            }
        }
        self.load_inputs()?;
        self.begin_phase()?;
        for &Global { id, class, ty, initializer, offset } in &globals {
            self.offset = offset;
            if class == StorageClass::Private {
                let local = self.local(id, ty, initializer)?;
                self.define_local(id, ty, local)?;
            }
        }
        Ok(())
    }

    fn bound_variable(&mut self, id: u32, class: StorageClass, ty: Ty) -> Result<(), LowerError> {
        let decorations = self.declared.of(id);
        let (element, count) = match *self.types.kind(ty) {
            Kind::Array { element, length, .. } => (element, Some(length)),
            Kind::RuntimeArray { element, .. } => (element, Some(0)),
            _ => (ty, None),
        };
        let number = self.variables.bound.len();
        let (set, binding) = (decorations.set.unwrap_or(0), decorations.binding.unwrap_or(0));
        self.variables.bound.push(Bound { id, class, ty: element, set, binding, count });
        let place = Place::Array { bound: number };
        let pointer = Pointer { ty, place };
        let pointer = if count.is_none() { self.bound_element(number, Index::Known(0))? } else { pointer };
        self.define(id, Def::Pointer(Rc::new(pointer)))
    }

    /// Makes a variable of an invocation.
    pub(super) fn local(&mut self, id: u32, ty: Ty, initializer: Option<u32>) -> Result<usize, LowerError> {
        let scalars = self.types.scalars(ty);
        super::types::check_scalars(scalars, self.offset)?;
        if scalars == 0 {
            return Err(self.unsupported("a variable that holds no value"));
        }
        let storage = if self.variables.dynamic.contains(&id) {
            self.count_array(scalars)?;
            let kinds: Rc<[Scalar]> = self.types.flatten(ty).into();
            let components = if kinds.iter().any(|scalar| scalar.ir() == Type::F64) { 2 } else { 1 };
            Storage::Array { array: self.b.add_array(scalars, components), scalars: kinds }
        } else {
            Storage::Registers(self.variables_of(ty))
        };
        let number = self.variables.locals.len();
        let written = vec![false; scalars as usize];
        self.variables.locals.push(Local { storage, written });
        if let Some(initializer) = initializer {
            let (given, values) = self.value(initializer)?;
            if given != ty {
                return Err(self.invalid(format!("%{id} begins with a value of another type")));
            }
            self.set_local(number, &values)?;
        }
        Ok(number)
    }

    /// Counts the scalars of a register array.
    pub(super) fn count_array(&mut self, scalars: u32) -> Result<(), LowerError> {
        self.variables.array_scalars += u64::from(scalars);
        self.limit("number of scalars of arrays", self.variables.array_scalars, MAX_ARRAY_SCALARS)
    }

    /// Sets all of a variable.
    pub(super) fn set_local(&mut self, local: usize, values: &[Value]) -> Result<(), LowerError> {
        self.variables.locals[local].written.fill(true);
        match self.variables.locals[local].storage.clone() {
            Storage::Registers(variables) => self.assign(&variables, values),
            Storage::Array { array, scalars } => {
                for (number, (&value, &scalar)) in (0..).zip(values.iter().zip(scalars.iter())) {
                    let index = self.b.i32(number);
                    self.array_store(array, scalar, index, value);
                }
                Ok(())
            }
        }
    }

    pub(super) fn define_local(&mut self, id: u32, ty: Ty, local: usize) -> Result<(), LowerError> {
        let place = Place::Local { local, first: 0, steps: Vec::new(), component: None };
        self.define(id, Def::Pointer(Rc::new(Pointer { ty, place })))
    }

    // ---- what is bound

    /// Whether a block is a buffer by its decoration, as modules before version 1.3 say.
    fn is_buffer_block(&self, ty: Ty) -> bool {
        self.declared.of(self.types.id(ty)).buffer_block
    }

    /// Whether nothing may write through a bound variable.
    fn is_read_only(&self, number: usize) -> bool {
        let bound = &self.variables.bound[number];
        self.declared.is_read_only(&self.types, bound.id, bound.ty)
    }

    /// The elements that an index may choose.
    pub(super) fn elements(&self, number: usize) -> Result<Vec<u32>, LowerError> {
        let bound = &self.variables.bound[number];
        if let Some(elements) = self.options.descriptors.get(&(bound.set, bound.binding)) {
            let count = bound.count.filter(|&count| count > 0).unwrap_or(u32::MAX);
            return Ok(elements.iter().copied().filter(|&element| element < count).collect());
        }
        match bound.count {
            Some(count @ 1..=MAX_CHOSEN) => Ok((0..count).collect()),
            _ => Err(self.unsupported(format!(
                "a dynamic choice from an array of descriptors of which nothing says which are bound (set {}, binding {})",
                bound.set, bound.binding
            ))),
        }
    }

    /// The name of what is bound, if it has one.
    fn bound_name(&self, number: usize) -> Option<String> {
        let bound = &self.variables.bound[number];
        let block = self.declared.name(self.types.id(bound.ty));
        self.declared.name(bound.id).or(block).map(str::to_string)
    }

    /// The resource that is one of the elements of a bound variable: a buffer or an image.
    pub(super) fn resource(&mut self, number: usize, index: u32) -> Result<Memory, LowerError> {
        if let Some(&memory) = self.variables.resources.get(&(number, index)) {
            return Ok(memory);
        }
        self.limit("number of resources", self.interface.resources.len() as u64 + 1, MAX_BOUND)?;
        self.check_element(number, index)?;
        let &Bound { ty, set, binding, .. } = &self.variables.bound[number];
        let (kind, is_written) = match self.types.kind(ty) {
            Kind::Image(image) | Kind::SampledImage(image) => {
                let kind = self.image_kind(*image)?;
                (kind, image.is_storage)
            }
            _ => (ResourceKind::RawBuffer, !self.is_read_only(number)),
        };
        let name = format!("set{set}_binding{binding}_{index}");
        let resource = match (is_written, kind) {
            (true, ResourceKind::RawBuffer) => self.b.add_memory(name, MemoryKind::Buffer),
            (true, _) => self.b.add_memory(name, MemoryKind::Texels),
            (false, ResourceKind::Texture { shape, .. }) => self.b.add_texture(name, shape),
            (false, _) => self.b.add_resource(name),
        };
        let file = if is_written { ResourceFile::UnorderedAccess } else { ResourceFile::Resource };
        let name = self.bound_name(number);
        let decl = ResourceDecl { resource, file, slot: binding, space: set, index: Some(index), kind, name };
        self.interface.resources.push(decl);
        let memory = Memory { resource, is_written };
        self.variables.resources.insert((number, index), memory);
        Ok(memory)
    }

    /// The sampler that is one of the elements of a bound variable.
    pub(super) fn sampler(&mut self, number: usize, index: u32, compares: bool) -> Result<Sampler, LowerError> {
        if let Some(&sampler) = self.variables.samplers.get(&(number, index)) {
            let place = self.interface.samplers.iter_mut().find(|decl| decl.sampler == sampler);
            place.expect("it was declared").compares |= compares;
            return Ok(sampler);
        }
        self.limit("number of samplers", self.interface.samplers.len() as u64 + 1, MAX_BOUND)?;
        self.check_element(number, index)?;
        let &Bound { set, binding, .. } = &self.variables.bound[number];
        let sampler = self.b.add_sampler(format!("set{set}_binding{binding}_{index}"));
        let name = self.bound_name(number);
        let decl = SamplerDecl { sampler, slot: binding, space: set, index: Some(index), compares, name };
        self.interface.samplers.push(decl);
        self.variables.samplers.insert((number, index), sampler);
        Ok(sampler)
    }

    /// The uniform space that is one of the elements of a bound variable.
    pub(super) fn space(&mut self, number: usize, index: u32) -> Result<Space, LowerError> {
        if let Some(&space) = self.variables.spaces.get(&(number, index)) {
            return Ok(space);
        }
        self.limit("number of uniform blocks", self.interface.uniforms.len() as u64 + 1, MAX_BOUND)?;
        self.check_element(number, index)?;
        let &Bound { ty, set, binding, class, .. } = &self.variables.bound[number];
        let kind = match class {
            StorageClass::PushConstant => UniformKind::PushConstants,
            _ => UniformKind::Block { set, binding, index },
        };
        let space = self.b.add_space(format!("set{set}_binding{binding}_{index}"), None);
        let rows = self.types.bytes(ty, MatrixLayout::default()).div_ceil(16);
        self.limit("number of rows of a uniform block", rows, MAX_ROWS)?;
        let mut decl = UniformDecl::new(space, kind, rows as u32);
        decl.name = self.bound_name(number);
        self.interface.uniforms.push(decl);
        self.variables.spaces.insert((number, index), space);
        Ok(space)
    }

    fn check_element(&self, number: usize, index: u32) -> Result<(), LowerError> {
        match self.variables.bound[number].count {
            None if index != 0 => Err(self.invalid("an element of what is no array")),
            Some(count @ 1..) if index >= count => Err(self.invalid(format!("element {index} of {count} descriptors"))),
            _ => Ok(()),
        }
    }

    /// The memory that a group shares for a variable.
    pub(super) fn shared(&mut self, number: usize) -> Resource {
        let Shared { id, bytes, resource } = self.variables.shared[number];
        if let Some(resource) = resource {
            return resource;
        }
        let resource = self.b.add_memory(format!("shared_{id}"), MemoryKind::Shared(bytes));
        let (file, kind) = (ResourceFile::Shared { bytes }, ResourceKind::RawBuffer);
        let name = self.declared.name(id).map(str::to_string);
        let decl = ResourceDecl { resource, file, slot: number as u32, space: 0, index: None, kind, name };
        self.interface.resources.push(decl);
        self.variables.shared[number].resource = Some(resource);
        resource
    }
}
