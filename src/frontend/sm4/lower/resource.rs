//! `t#` views, and reads of those that are buffers: raw, structured and typed.
//!
//! To the function buffers are plain bytes. What a view makes of them is lowered here; the rules for what is out of
//! range are Direct3D's (Direct3D 11.3 functional specification, instructions `ld`, `ld_raw` and `ld_structured`).

use foldhash::HashMap;

use shaderjit_ir::{FunctionBuilder, Resource, Type, Value};

use super::choice::{Answer, Choice};
use super::operand::Destination;
use super::registers::{Refusal, limit};
use super::texture;
use super::{Lowering, MAX_RESOURCES};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Dimension, ReturnType};
use crate::frontend::sm4::declaration::{Binding, Declaration};
use crate::frontend::sm4::decode::Operation;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::{ComponentType, Interface, ResourceDecl, ResourceKind};

/// Bytes of an element of a typed buffer: it is bound as rows of four words.
const ROW_BYTES_LOG2: u32 = 4;

/// The declared views, by the number that instructions use, and the resources made for them.
#[derive(Default)]
pub(super) struct Resources {
    views: HashMap<u32, View>,
    /// By number and register.
    made: HashMap<(u32, u32), Resource>,
}

/// A view, or a range of them.
#[derive(Clone, Copy)]
struct View {
    binding: Binding,
    kind: ResourceKind,
}

impl Resources {
    /// Takes note of a declaration, if it is one of a `t#`.
    pub fn declare(
        &mut self,
        declaration: &Declaration,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<(), Refusal> {
        let (binding, kind) = match *declaration {
            Declaration::Resource { binding, dimension, return_types, .. } => {
                let ty = component_type(return_types[0]);
                let kind = match (dimension, texture::shape(dimension)) {
                    (Dimension::Buffer, _) => ResourceKind::TypedBuffer { ty },
                    (_, Some(shape)) => ResourceKind::Texture { shape, ty },
                    (_, None) => return Err(Refusal::Invalid(format!("a resource of dimension {}", dimension.name()))),
                };
                (binding, kind)
            }
            Declaration::ResourceRaw { binding } => (binding, ResourceKind::RawBuffer),
            Declaration::ResourceStructured { binding, stride } => {
                if stride == 0 || stride % 4 != 0 {
                    return Err(Refusal::Invalid(format!("structures of {stride} bytes")));
                }
                (binding, ResourceKind::StructuredBuffer { stride })
            }
            _ => return Ok(()),
        };
        if self.views.insert(binding.id, View { binding, kind }).is_some() {
            return Err(Refusal::Invalid(format!("resource {} is declared twice", binding.id)));
        }
        // Of longer ranges, the registers that are named become resources when they are.
        if binding.lower == binding.upper {
            self.get(b, interface, binding.id, binding.lower)?;
        }
        Ok(())
    }

    /// The resource that view `id` has at `register` of its range.
    fn get(
        &mut self,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
        id: u32,
        register: u32,
    ) -> Result<Resource, Refusal> {
        let view = self.views.get(&id).copied();
        let Some(View { binding, kind }) = view.filter(|view| view.binding.slots().contains(&register)) else {
            return Err(Refusal::Invalid(format!("resource {id} with register {register} is not declared")));
        };
        if let Some(&resource) = self.made.get(&(id, register)) {
            return Ok(resource);
        }
        limit("number of resources", interface.resources.len() as u64 + 1, MAX_RESOURCES)?;
        let name = match binding.space {
            0 => format!("t{register}"),
            space => format!("t{register}_space{space}"),
        };
        let resource = match kind {
            ResourceKind::Texture { shape, .. } => b.add_texture(name, shape),
            _ => b.add_resource(name),
        };
        let decl = ResourceDecl { resource, slot: register, space: binding.space, kind, name: None };
        interface.resources.push(decl);
        self.made.insert((id, register), resource);
        Ok(resource)
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
        if !reads_buffers || matches!(view.file(), RegisterFile::UnorderedAccess | RegisterFile::GroupShared) {
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
            (Opcode::Ld, ResourceKind::TypedBuffer { .. }) => {
                let mut index = self.read(&sources[0], Component::X, DataClass::Int)?;
                if let Some([offset, ..]) = operation.extended.as_ref().and_then(|extended| extended.texel_offsets()) {
                    let offset = self.b.i32(i32::from(offset) as u32);
                    index = self.b.iadd([index, offset]);
                }
                self.access(&resource, mask, |this, resource| {
                    let byte = this.row_of_element(resource, index);
                    Ok(this.load_answer(view, mask, resource, byte))
                })?
            }
            _ => return Err(self.invalid(format!("{opcode} of a {kind}"))),
        };
        self.write_answer(&target, answer)
    }

    /// The resource that a view operand names, and what it is.
    pub(super) fn resource(&mut self, view: &Operand) -> Result<(Choice<Resource>, ResourceKind), LowerError> {
        if view.file() != RegisterFile::Resource {
            return Err(self.invalid(format!("{} is no resource", view.file().letters())));
        }
        let (id, register) = self.named(view, "resource")?;
        let Some(&View { binding, kind }) = self.registers.resources.views.get(&id) else {
            return Err(self.invalid(format!("resource {id} is not declared")));
        };
        let resource = self.choice(Some(binding), register, |this, register| {
            let registers = &mut this.registers;
            registers.resources.get(&mut this.b, &mut registers.interface, id, register)
        })?;
        Ok((resource, kind))
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
        self.answer(view, mask, |this, word| this.b.resource_load(Type::F32, resource, 4 * word.index() as u32, byte))
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
        let bytes = self.b.resource_bytes(resource);
        match kind {
            ResourceKind::RawBuffer => bytes,
            ResourceKind::StructuredBuffer { stride } => {
                let stride = self.b.i32(stride);
                self.b.udiv([bytes, stride])
            }
            // Of a texture it is no element count; see `buffer_operation`.
            ResourceKind::TypedBuffer { .. } | ResourceKind::Texture { .. } => {
                // Unbound it does not even have the row for what is out of range.
                let rows = self.rows(bytes);
                let one = self.b.i32(1);
                let rows = self.b.umax([rows, one]);
                self.b.isub([rows, one])
            }
        }
    }

    /// Addresses whose low bits are set are undefined; they are taken as those of the word they are in.
    fn word_aligned(&mut self, byte: Value) -> Value {
        let mask = self.b.i32(!3);
        self.b.and([byte, mask])
    }

    /// Where a structure's member lies.
    fn place_in_structure(&mut self, stride: u32, index: Value, member: Value) -> InStructure {
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
        let word = 4 * component.index() as u32;
        let Some(last) = stride.checked_sub(word + 4) else { return self.b.f32(0.0) };
        let last = self.b.i32(last);
        let inside = self.b.ule([place.member, last]);
        let inside = self.b.and([place.exists, inside]);
        let outside = self.b.i32(u32::MAX);
        let byte = self.b.select([inside, place.byte, outside]);
        self.b.resource_load(Type::F32, resource, word, byte)
    }

    /// Rows of a typed buffer of so many bytes.
    fn rows(&mut self, bytes: Value) -> Value {
        let shift = self.b.i32(ROW_BYTES_LOG2);
        self.b.ushr([bytes, shift])
    }

    /// Where an element's row begins. Elements out of range have the last row, which the binding adds; where nothing is
    /// bound, nothing is in range.
    fn row_of_element(&mut self, resource: Resource, index: Value) -> Value {
        let bytes = self.b.resource_bytes(resource);
        let rows = self.rows(bytes);
        let one = self.b.i32(1);
        let last = self.b.isub([rows, one]);
        let row = self.b.umin([index, last]);
        let shift = self.b.i32(ROW_BYTES_LOG2);
        self.b.ishl([row, shift])
    }
}

/// A member of a structure in a buffer.
#[derive(Clone, Copy)]
struct InStructure {
    /// Byte in the structure, a multiple of 4.
    member: Value,
    /// Whether the structure ends within 32 bits.
    exists: Value,
    /// Byte in the resource.
    byte: Value,
}

#[cfg(test)]
mod tests;
