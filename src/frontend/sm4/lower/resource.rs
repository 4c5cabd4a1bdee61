//! Views and shared memory (`t#`, `u#`, `g#`), and reads of those that are buffers: raw, structured and typed.
//!
//! To the function buffers are plain bytes. What a view makes of them is lowered here; the rules for what is out of
//! range are Direct3D's (Direct3D 11.3 functional specification, instructions `ld`, `ld_raw` and `ld_structured`).

use foldhash::HashMap;

use shaderjit_ir::function::Imm;
use shaderjit_ir::{FunctionBuilder, Op, Resource, Type, Value};

use super::choice::{Answer, Choice};
use super::feedback::without_status;
use super::memory;
use super::operand::Destination;
use super::registers::{Refusal, limit};
use super::texture;
use super::{Lowering, MAX_RESOURCES};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Dimension, ReturnType};
use crate::frontend::sm4::declaration::{Binding, Declaration};
use crate::frontend::sm4::decode::{Body, Operation, Program};
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::typed_buffer::{self, TypedBuffer};
use crate::frontend::{ComponentType, Interface, ResourceDecl, ResourceFile, ResourceKind};

/// The declared views, by the number that instructions use, and the resources made for them.
#[derive(Default)]
pub(super) struct Resources {
    views: HashMap<(RegisterFile, u32), View>,
    /// How many components the program reads of typed buffers, by their number.
    components: HashMap<u32, u8>,
    /// By file, number and register.
    made: HashMap<(RegisterFile, u32, u32), Resource>,
    /// Those of hidden counters.
    counters: HashMap<(u32, u32), Resource>,
    /// Bytes that a group shares so far.
    shared_bytes: u64,
}

/// A view, or a range of them.
#[derive(Clone, Copy)]
struct View {
    binding: Binding,
    kind: ResourceKind,
    file: ResourceFile,
}

impl Resources {
    /// The views of a program, none of which is declared yet.
    pub fn new(program: &Program) -> Resources {
        let mut components = HashMap::default();
        for instruction in &program.instructions {
            let Body::Operation(operation) = &instruction.body else { continue };
            let [destination, .., view] = &operation.operands[..] else { continue };
            let opcode = instruction.opcode();
            let is_load =
                without_status(opcode).unwrap_or(opcode) == Opcode::Ld && view.file() == RegisterFile::Resource;
            if let Some(id) = view.index(0).filter(|_| is_load).map(|index| index.immediate) {
                let read = destination.components().written().components().map(|to| view.components().source(to));
                let read = read.map(|component| component.index() as u8 + 1).max().unwrap_or(1);
                components.entry(id).and_modify(|most: &mut u8| *most = read.max(*most)).or_insert(read);
            }
        }
        Resources { components, ..Resources::default() }
    }

    /// Takes note of a declaration, if it is one of a view or of shared memory.
    pub fn declare(
        &mut self,
        declaration: &Declaration,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<(), Refusal> {
        let (unordered, resource) = (ResourceFile::UnorderedAccess, ResourceFile::Resource);
        let (binding, kind, file) = match *declaration {
            Declaration::Resource { binding, dimension, return_types, .. }
            | Declaration::UavTyped { binding, dimension, return_types, .. } => {
                let is_written = matches!(declaration, Declaration::UavTyped { .. });
                let ty = component_type(return_types[0]);
                let kind = match (dimension, texture::shape(dimension)) {
                    (Dimension::Buffer, _) if is_written => {
                        ResourceKind::TypedBuffer { ty, components: typed_buffer::ALL }
                    }
                    (Dimension::Buffer, _) => {
                        let components = self.components.get(&binding.id).copied().unwrap_or(1);
                        ResourceKind::TypedBuffer { ty, components }
                    }
                    (_, Some(shape)) => ResourceKind::Texture { shape, ty },
                    (_, None) => return Err(Refusal::Invalid(format!("a resource of dimension {}", dimension.name()))),
                };
                (binding, kind, if is_written { unordered } else { resource })
            }
            Declaration::ResourceRaw { binding } => (binding, ResourceKind::RawBuffer, resource),
            Declaration::UavRaw { binding, .. } => (binding, ResourceKind::RawBuffer, unordered),
            Declaration::ResourceStructured { binding, stride } => (binding, structures(stride)?, resource),
            Declaration::UavStructured { binding, stride, .. } => (binding, structures(stride)?, unordered),
            Declaration::TgsmRaw { register, bytes } => {
                (shared_binding(register), ResourceKind::RawBuffer, ResourceFile::Shared { bytes })
            }
            Declaration::TgsmStructured { register, stride, count } => {
                let bytes = u32::try_from(u64::from(stride) * u64::from(count)).unwrap_or(u32::MAX);
                (shared_binding(register), structures(stride)?, ResourceFile::Shared { bytes })
            }
            _ => return Ok(()),
        };
        if let ResourceFile::Shared { bytes } = file {
            self.shared_bytes += u64::from(bytes);
            memory::limit_shared(self.shared_bytes)?;
        }
        let letters = register_file(file);
        if self.views.insert((letters, binding.id), View { binding, kind, file }).is_some() {
            return Err(Refusal::Invalid(format!("{}{} is declared twice", letters.letters(), binding.id)));
        }
        // Of longer ranges, the registers that are named become resources when they are.
        if binding.lower == binding.upper {
            self.get(b, interface, (letters, binding.id), binding.lower)?;
        }
        Ok(())
    }

    /// The resource that view `id` has at `register` of its range.
    fn get(
        &mut self,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
        (letters, id): (RegisterFile, u32),
        register: u32,
    ) -> Result<Resource, Refusal> {
        let view = self.views.get(&(letters, id)).copied();
        let Some(View { binding, kind, file }) = view.filter(|view| view.binding.slots().contains(&register)) else {
            let what = format!("{}{id} with register {register} is not declared", letters.letters());
            return Err(Refusal::Invalid(what));
        };
        if let Some(&resource) = self.made.get(&(letters, id, register)) {
            return Ok(resource);
        }
        limit("number of resources", interface.resources.len() as u64 + 1, MAX_RESOURCES)?;
        let name = match binding.space {
            0 => format!("{}{register}", letters.letters()),
            space => format!("{}{register}_space{space}", letters.letters()),
        };
        let resource = match (file, kind) {
            (ResourceFile::Resource, ResourceKind::Texture { shape, .. }) => b.add_texture(name, shape),
            (ResourceFile::Resource, _) => b.add_resource(name),
            _ => memory::add(b, name, file, kind),
        };
        let decl = ResourceDecl { resource, file, slot: register, space: binding.space, index: None, kind, name: None };
        interface.resources.push(decl);
        self.made.insert((letters, id, register), resource);
        Ok(resource)
    }

    /// The hidden counter of the view that `id` declares at `register` of its range.
    fn counter(
        &mut self,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
        id: u32,
        register: u32,
    ) -> Result<Resource, Refusal> {
        self.get(b, interface, (RegisterFile::UnorderedAccess, id), register)?;
        if let Some(&resource) = self.counters.get(&(id, register)) {
            return Ok(resource);
        }
        limit("number of resources", interface.resources.len() as u64 + 1, MAX_RESOURCES)?;
        let space = self.views[&(RegisterFile::UnorderedAccess, id)].binding.space;
        let (file, kind) = (ResourceFile::Counter, ResourceKind::RawBuffer);
        let resource = memory::add(b, format!("counter of u{register}"), file, kind);
        interface.resources.push(ResourceDecl { resource, file, slot: register, space, index: None, kind, name: None });
        self.counters.insert((id, register), resource);
        Ok(resource)
    }
}

/// Structures of so many bytes.
fn structures(stride: u32) -> Result<ResourceKind, Refusal> {
    if stride == 0 || !stride.is_multiple_of(4) {
        return Err(Refusal::Invalid(format!("structures of {stride} bytes")));
    }
    Ok(ResourceKind::StructuredBuffer { stride })
}

/// What names a `g#`: it is one register and bound nowhere.
fn shared_binding(register: u32) -> Binding {
    Binding { id: register, lower: register, upper: register, space: 0, token: 0 }
}

/// How instructions name what is bound there.
fn register_file(file: ResourceFile) -> RegisterFile {
    match file {
        ResourceFile::Resource => RegisterFile::Resource,
        ResourceFile::UnorderedAccess | ResourceFile::Counter => RegisterFile::UnorderedAccess,
        ResourceFile::Shared { .. } => RegisterFile::GroupShared,
    }
}

fn component_type(ty: ReturnType) -> ComponentType {
    match ty {
        ReturnType::Sint => ComponentType::I32,
        ReturnType::Uint => ComponentType::U32,
        _ => ComponentType::F32,
    }
}

impl Lowering {
    /// Lowers an instruction that reads a buffer.
    pub(super) fn buffer_operation(&mut self, opcode: Opcode, operation: &Operation) -> Result<(), LowerError> {
        let [destination, sources @ .., view] = &operation.operands[..] else {
            return Err(self.unsupported(opcode));
        };
        let reads_buffers = matches!(opcode, Opcode::Ld | Opcode::LdRaw | Opcode::LdStructured | Opcode::BufInfo);
        let is_written = matches!(view.file(), RegisterFile::UnorderedAccess | RegisterFile::GroupShared);
        if !reads_buffers {
            return Err(self.unsupported(opcode));
        }
        let (resource, kind) = self.resource(view)?;
        if matches!(kind, ResourceKind::Texture { .. }) {
            return Err(self.unsupported(opcode));
        }
        let target = self.destination(destination)?;
        let mask = target.mask;
        let answer = match (opcode, kind) {
            (Opcode::BufInfo, _) => self.access(&resource, mask, |this, resource| {
                let count = this.element_count(resource, kind);
                Ok(this.answer(view, mask, |_, _| count))
            })?,
            (Opcode::LdRaw, ResourceKind::RawBuffer) => {
                let byte = self.read(&sources[0], Component::X, DataClass::Int)?;
                let byte = self.word_aligned(byte);
                self.access(&resource, mask, |this, resource| Ok(this.load_answer(view, mask, resource, byte)))?
            }
            (Opcode::LdStructured, ResourceKind::StructuredBuffer { stride }) => {
                let index = self.read(&sources[0], Component::X, DataClass::Int)?;
                let byte = self.read(&sources[1], Component::X, DataClass::Int)?;
                let place = self.place_in_structure(stride, index, byte);
                self.access(&resource, mask, |this, resource| {
                    Ok(this.answer(view, mask, |this, word| this.load_from_structure(resource, stride, place, word)))
                })?
            }
            (Opcode::Ld, ResourceKind::TypedBuffer { components, .. }) if !is_written => {
                let mut index = self.read(&sources[0], Component::X, DataClass::Int)?;
                if let Some([offset, ..]) = operation.extended.as_ref().and_then(|extended| extended.texel_offsets()) {
                    let offset = self.b.i32(i32::from(offset) as u32);
                    index = self.b.iadd([index, offset]);
                }
                self.access(&resource, mask, |this, resource| {
                    let byte = TypedBuffer { resource, components }.row_of_element(&mut this.b, index);
                    Ok(this.load_answer(view, mask, resource, byte))
                })?
            }
            _ => return Err(self.invalid(format!("{opcode} of a {kind}"))),
        };
        self.write_answer(&target, answer)
    }

    /// The resource that a view operand names, and what it is.
    pub(super) fn resource(&mut self, view: &Operand) -> Result<(Choice<Resource>, ResourceKind), LowerError> {
        let file = view.file();
        if !matches!(file, RegisterFile::Resource | RegisterFile::UnorderedAccess | RegisterFile::GroupShared) {
            return Err(self.invalid(format!("{} is no resource", file.letters())));
        }
        let (id, register) = self.named(view, "resource")?;
        let Some(&View { binding, kind, .. }) = self.registers.resources.views.get(&(file, id)) else {
            return Err(self.invalid(format!("{}{id} is not declared", file.letters())));
        };
        let resource = self.choice(Some(binding), register, |this, register| {
            let registers = &mut this.registers;
            registers.resources.get(&mut this.b, &mut registers.interface, (file, id), register)
        })?;
        Ok((resource, kind))
    }

    /// The hidden counter of the view that an operand names.
    pub(super) fn counter(&mut self, view: &Operand) -> Result<Choice<Resource>, LowerError> {
        let (id, register) = self.named(view, "resource")?;
        let declared = self.registers.resources.views.get(&(RegisterFile::UnorderedAccess, id));
        let binding = declared.map(|view| view.binding);
        self.choice(binding, register, |this, register| {
            let registers = &mut this.registers;
            registers.resources.counter(&mut this.b, &mut registers.interface, id, register)
        })
    }

    /// For each component of the destination what `word` gives for the one that the view's swizzle takes.
    pub(super) fn answer(
        &mut self,
        view: &Operand,
        mask: Mask,
        mut word: impl FnMut(&mut Self, Component) -> Value,
    ) -> Answer {
        let mut words = [None; 4];
        for component in mask.components() {
            words[component.index()] = Some(word(self, view.components().source(component)));
        }
        words
    }

    fn load_answer(&mut self, view: &Operand, mask: Mask, resource: Resource, byte: Value) -> Answer {
        self.answer(view, mask, |this, word| this.load_word(resource, 4 * word.index() as u32, byte))
    }

    /// The word at a byte of a resource, or of memory.
    fn load_word(&mut self, resource: Resource, offset: u32, byte: Value) -> Value {
        if self.b.func().resources[resource].memory.is_none() {
            return self.b.resource_load(Type::F32, resource, offset, byte);
        }
        self.b.memory_load(Type::F32, resource, offset, byte)
    }

    /// Writes a whole result.
    pub(super) fn write_answer(&mut self, target: &Destination, answer: Answer) -> Result<(), LowerError> {
        for component in target.mask.components() {
            let word = answer[component.index()].expect("an access gives every component of the mask");
            self.write(target, component, word)?;
        }
        Ok(())
    }

    /// What `bufinfo` says: bytes, structures or elements.
    fn element_count(&mut self, resource: Resource, kind: ResourceKind) -> Value {
        let is_written = self.b.func().resources[resource].memory.is_some();
        let bytes = if is_written {
            let size = self.b.texture_access(Op::MemorySize, &[], Imm::Resource(resource));
            self.b.row_word(Type::I32, size, 0)
        } else {
            self.b.resource_bytes(resource)
        };
        match kind {
            // Of memory it is the number of elements.
            ResourceKind::TypedBuffer { .. } if is_written => bytes,
            ResourceKind::RawBuffer => bytes,
            ResourceKind::StructuredBuffer { stride } => {
                let stride = self.b.i32(stride);
                self.b.udiv([bytes, stride])
            }
            ResourceKind::TypedBuffer { components, .. } => {
                TypedBuffer { resource, components }.element_count(&mut self.b)
            }
            // It is no element count; see `buffer_operation`.
            ResourceKind::Texture { .. } => bytes,
        }
    }

    /// Addresses whose low bits are set are undefined; they are taken as those of the word they are in.
    pub(super) fn word_aligned(&mut self, byte: Value) -> Value {
        let mask = self.b.i32(!3);
        self.b.and([byte, mask])
    }

    /// Where a structure's member lies.
    pub(super) fn place_in_structure(&mut self, stride: u32, index: Value, member: Value) -> InStructure {
        let member = self.word_aligned(member);
        // Structures that end past 32 bits are past any resource's end, and the product must not bring them back.
        let most = self.b.i32((u32::MAX - (stride - 1)) / stride);
        let exists = self.b.ule([index, most]);
        let stride = self.b.i32(stride);
        let start = self.b.imul([index, stride]);
        InStructure { member, exists, byte: self.b.iadd([start, member]) }
    }

    /// One word behind a structure's member; zero past the end of the structure as past that of the resource. A
    /// resource has only whole structures.
    fn load_from_structure(
        &mut self,
        resource: Resource,
        stride: u32,
        place: InStructure,
        component: Component,
    ) -> Value {
        match self.byte_in_structure(stride, place, component) {
            Some(byte) => self.load_word(resource, 4 * component.index() as u32, byte),
            None => self.b.f32(0.0),
        }
    }

    /// Where a structure's member lies, or a place past any resource's end if the component behind it is past that of
    /// the structure; none if it always is.
    pub(super) fn byte_in_structure(&mut self, stride: u32, place: InStructure, component: Component) -> Option<Value> {
        let last = stride.checked_sub(4 * component.index() as u32 + 4)?;
        let last = self.b.i32(last);
        let inside = self.b.ule([place.member, last]);
        let inside = self.b.and([place.exists, inside]);
        let outside = self.b.i32(u32::MAX);
        Some(self.b.select([inside, place.byte, outside]))
    }
}

/// A member of a structure in a buffer.
#[derive(Clone, Copy)]
pub(super) struct InStructure {
    /// Byte in the structure, a multiple of 4.
    member: Value,
    /// Whether the structure ends within 32 bits.
    exists: Value,
    /// Byte in the resource.
    byte: Value,
}

#[cfg(test)]
mod tests;
