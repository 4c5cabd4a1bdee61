//! Memory that programs write: stores, typed loads and atomics on `u#` views, in every stage, and on the `g#` that a
//! group shares.
//!
//! Out of range loads give zero and stores are dropped, component by component (Direct3D 11.3 functional specification,
//! instructions `ld_raw`, `store_raw`, `store_structured`, `store_uav_typed`); an atomic does nothing and gives zero,
//! where the specification leaves the result open. What a number in memory is compared as is the instruction's to say,
//! whatever the view's format: of `atomic_umax` the specification says that it is a "single component 32-bit unsigned
//! max" (22.17.15), and asks for a view of unsigned integers, which not all compilers do.

use shaderjit_ir::function::Imm;
use shaderjit_ir::memory::{AtomicFunction, MemoryKind};
use shaderjit_ir::{FunctionBuilder, Op, Resource, Type, Value};

use super::Lowering;
use super::choice::{Answer, Choice};
use super::registers::{Flag, Refusal, limit};
use super::resource::InStructure;
use super::texture;
use crate::error::LowerError;
use crate::frontend::pixel::HiddenInput;
use crate::frontend::sm4::codes::InfoReturn;
use crate::frontend::sm4::decode::{Operation, Program};
use crate::frontend::sm4::opcode::{DataClass, Group, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;
use crate::frontend::{ResourceFile, ResourceKind};

/// Most bytes that a group shares (Direct3D 11: `D3D11_CS_TGSM_REGISTER_COUNT`, 8192 words).
const MAX_SHARED_BYTES: u64 = 8192 * 4;

/// Where an access of memory goes.
#[derive(Clone, Copy)]
enum Address {
    /// A byte of a raw buffer, a multiple of 4.
    Byte(Value),
    /// A member of a structure.
    Member(InStructure, u32),
    /// An element or texel.
    Texel([Value; 4]),
}

/// What an atomic instruction does, and whether it gives what was there.
fn function(opcode: Opcode) -> Option<(AtomicFunction, bool)> {
    use AtomicFunction::{Add, And, CompareExchange, Exchange, Or, Smax, Smin, Umax, Umin, Xor};
    Some(match opcode {
        Opcode::AtomicAnd => (And, false),
        Opcode::AtomicOr => (Or, false),
        Opcode::AtomicXor => (Xor, false),
        Opcode::AtomicCmpStore => (CompareExchange, false),
        Opcode::AtomicIAdd => (Add, false),
        Opcode::AtomicIMax => (Smax, false),
        Opcode::AtomicIMin => (Smin, false),
        Opcode::AtomicUMax => (Umax, false),
        Opcode::AtomicUMin => (Umin, false),
        Opcode::ImmAtomicIAdd => (Add, true),
        Opcode::ImmAtomicAnd => (And, true),
        Opcode::ImmAtomicOr => (Or, true),
        Opcode::ImmAtomicXor => (Xor, true),
        Opcode::ImmAtomicExch => (Exchange, true),
        Opcode::ImmAtomicCmpExch => (CompareExchange, true),
        Opcode::ImmAtomicIMax => (Smax, true),
        Opcode::ImmAtomicIMin => (Smin, true),
        Opcode::ImmAtomicUMax => (Umax, true),
        Opcode::ImmAtomicUMin => (Umin, true),
        _ => return None,
    })
}

/// One value in all components of a mask.
fn in_all(mask: Mask, value: Value) -> Answer {
    let mut answer = [None; 4];
    mask.components().for_each(|component| answer[component.index()] = Some(value));
    answer
}

/// Makes the resource of a view that is written, or of what a group shares.
pub(super) fn add(b: &mut FunctionBuilder, name: String, file: ResourceFile, kind: ResourceKind) -> Resource {
    let memory = match (file, kind) {
        (ResourceFile::Shared { bytes }, _) => MemoryKind::Shared(bytes),
        (_, ResourceKind::RawBuffer | ResourceKind::StructuredBuffer { .. }) => MemoryKind::Buffer,
        (_, ResourceKind::TypedBuffer { .. } | ResourceKind::Texture { .. }) => MemoryKind::Texels,
    };
    b.add_memory(name, memory)
}

/// Refuses more shared memory than a group has.
pub(super) fn limit_shared(bytes: u64) -> Result<(), Refusal> {
    limit("number of bytes that a group shares", bytes, MAX_SHARED_BYTES)
}

/// Whether a loop may go on until an atomic gives something.
pub(super) fn may_wait(program: &Program) -> bool {
    let has = |is: fn(Opcode) -> bool| program.instructions.iter().any(|instruction| is(instruction.opcode()));
    has(|opcode| opcode == Opcode::Loop) && has(|opcode| opcode.group() == Group::Atomic && opcode.destinations() > 0)
}

impl Lowering {
    /// Ends pixels that only help their neighbours: atomics give them zeros, for which they could wait without end.
    pub(super) fn leave_helpers(&mut self) {
        let Some(live) = self.live() else { return };
        let zero = self.b.i32(0);
        let is_live = self.b.ine([live, zero]);
        let (body, exit) = (self.b.create_block(), self.flow.activations[0].exit);
        self.b.br_if(is_live, body, exit);
        self.start_joined(body);
    }

    /// Lowers an instruction on memory that is written.
    pub(super) fn memory_operation(&mut self, token: OpcodeToken, operation: &Operation) -> Result<(), LowerError> {
        let (opcode, operands) = (token.opcode, &operation.operands[..]);
        match (opcode, operands) {
            (Opcode::LdUavTyped, [destination, address, view]) => self.load_typed(destination, address, view),
            (Opcode::StoreUavTyped, [view, address, value]) => self.store_typed(view, address, value),
            (Opcode::StoreRaw | Opcode::StoreStructured, [view, address @ .., value]) => {
                self.store_words(opcode, view, address, value)
            }
            (Opcode::ImmAtomicAlloc, [destination, view]) => self.count(destination, view, true),
            (Opcode::ImmAtomicConsume, [destination, view]) => self.count(destination, view, false),
            (Opcode::ResInfo, [destination, level, view]) => {
                let kind = token.info_return().unwrap_or(InfoReturn::Float);
                self.memory_size(destination, level, view, kind)
            }
            _ => match function(opcode) {
                Some(function) => self.atomic(opcode, function, operands),
                None => Err(self.unsupported(opcode)),
            },
        }
    }

    /// Whether the pixel is shaded for itself, 1 or 0, in programs that have to ask.
    fn live(&mut self) -> Option<Value> {
        let element = self.hidden(HiddenInput::Live)?;
        Some(self.b.input(Type::I32, element, 0))
    }

    /// What [`access`](Self::access) gives, where the access writes: discarded pixels, and those that only help their
    /// neighbours, change nothing and read zeros.
    ///
    /// "After the discard is issued, further operations on UAVs do not change the UAV memory, and if they return a
    /// value to the shader, the value returned is undefined" (Direct3D 11.3 functional specification, 16.13).
    fn effect<T: Copy>(
        &mut self,
        choice: &Choice<T>,
        mask: Mask,
        mut access: impl FnMut(&mut Lowering, T) -> Result<Answer, LowerError>,
    ) -> Result<Answer, LowerError> {
        let Some(live) = self.live() else {
            return self.access(choice, mask, access);
        };
        self.cost.add_blocks(2).map_err(|refusal| refusal.at(self.offset))?;
        let one = self.b.i32(1);
        let acts = match self.registers.discarded {
            Some(Flag { variable, .. }) => {
                let discarded = self.b.use_var(variable);
                let goes_on = self.b.xor([discarded, one]);
                self.b.and([live, goes_on])
            }
            None => live,
        };
        self.among(acts, &[(1, ())], mask, |this, ()| this.access(choice, mask, &mut access))
    }

    /// The memory that an operand names, and what it is.
    fn memory(&mut self, opcode: Opcode, view: &Operand) -> Result<(Choice<Resource>, ResourceKind), LowerError> {
        if !matches!(view.file(), RegisterFile::UnorderedAccess | RegisterFile::GroupShared) {
            return Err(self.invalid(format!("{opcode} of {}", view.file().letters())));
        }
        self.resource(view)
    }

    fn load_typed(&mut self, destination: &Operand, address: &Operand, view: &Operand) -> Result<(), LowerError> {
        let (resource, kind) = self.memory(Opcode::LdUavTyped, view)?;
        let target = self.destination(destination)?;
        let address = self.texel_address(Opcode::LdUavTyped, kind, address)?;
        let mask = target.mask;
        let answer = self.access(&resource, mask, |this, resource| {
            let address = this.b.row_join(address);
            let row = this.b.texture_access(Op::TexelLoad, &[address], Imm::Resource(resource));
            Ok(this.answer(view, mask, |this, word| this.b.row_word(Type::F32, row, word.index() as u8)))
        })?;
        self.write_answer(&target, answer)
    }

    fn store_typed(&mut self, view: &Operand, address: &Operand, value: &Operand) -> Result<(), LowerError> {
        let (resource, kind) = self.memory(Opcode::StoreUavTyped, view)?;
        let address = self.texel_address(Opcode::StoreUavTyped, kind, address)?;
        let mut words = [self.b.f32(0.0); 4];
        for (word, component) in words.iter_mut().zip(Component::ALL) {
            *word = self.read(value, component, DataClass::Untyped)?;
        }
        self.effect(&resource, Mask::NONE, |this, resource| {
            let [address, texel] = [address, words].map(|words| this.b.row_join(words));
            this.b.emit(Op::TexelStore, Type::I32, &[address, texel], Imm::Resource(resource));
            Ok([None; 4])
        })?;
        Ok(())
    }

    fn store_words(
        &mut self,
        opcode: Opcode,
        view: &Operand,
        address: &[Operand],
        value: &Operand,
    ) -> Result<(), LowerError> {
        let (resource, kind) = self.memory(opcode, view)?;
        let address = match (opcode, kind, address) {
            (Opcode::StoreRaw, ResourceKind::RawBuffer, [byte]) => {
                let byte = self.read(byte, Component::X, DataClass::Int)?;
                Address::Byte(self.word_aligned(byte))
            }
            (Opcode::StoreStructured, ResourceKind::StructuredBuffer { stride }, [index, member]) => {
                let index = self.read(index, Component::X, DataClass::Int)?;
                let member = self.read(member, Component::X, DataClass::Int)?;
                Address::Member(self.place_in_structure(stride, index, member), stride)
            }
            _ => return Err(self.invalid(format!("{opcode} of a {kind}"))),
        };
        let mut words = Vec::with_capacity(4);
        for component in view.components().written().components() {
            words.push((component, self.read(value, component, DataClass::Untyped)?));
        }
        self.effect(&resource, Mask::NONE, |this, resource| {
            for &(component, word) in &words {
                let offset = 4 * component.index() as u32;
                let byte = match address {
                    Address::Byte(byte) => Some(byte),
                    Address::Member(place, stride) => this.byte_in_structure(stride, place, component),
                    Address::Texel(_) => None,
                };
                if let Some(byte) = byte {
                    this.b.memory_store(resource, offset, byte, word);
                }
            }
            Ok([None; 4])
        })?;
        Ok(())
    }

    fn atomic(
        &mut self,
        opcode: Opcode,
        (function, gives_old): (AtomicFunction, bool),
        operands: &[Operand],
    ) -> Result<(), LowerError> {
        let (destination, operands) = if gives_old { operands.split_at(1) } else { operands.split_at(0) };
        let [view, address, values @ ..] = operands else { return Err(self.unsupported(opcode)) };
        let (resource, kind) = self.memory(opcode, view)?;
        let address = match kind {
            ResourceKind::RawBuffer => {
                let byte = self.read(address, Component::X, DataClass::Int)?;
                Address::Byte(self.word_aligned(byte))
            }
            ResourceKind::StructuredBuffer { stride } => {
                let index = self.read(address, Component::X, DataClass::Int)?;
                let member = self.read(address, Component::Y, DataClass::Int)?;
                Address::Member(self.place_in_structure(stride, index, member), stride)
            }
            _ => Address::Texel(self.texel_address(opcode, kind, address)?),
        };
        // Of two values the first is what is compared.
        let mut words = [self.b.i32(0); 4];
        for (word, value) in words.iter_mut().zip(values.iter().rev()) {
            *word = self.read(value, Component::X, DataClass::Int)?;
        }
        let target = destination.first().map(|destination| self.destination(destination)).transpose()?;
        let mask = target.as_ref().map_or(Mask::NONE, |target| target.mask);
        let answer = self.effect(&resource, mask, |this, resource| {
            let (op, address) = match address {
                Address::Byte(byte) => (Op::MemoryAtomic, byte),
                Address::Member(place, stride) => match this.byte_in_structure(stride, place, Component::X) {
                    Some(byte) => (Op::MemoryAtomic, byte),
                    None => return Err(this.invalid(format!("structures of {stride} bytes"))),
                },
                Address::Texel(words) => (Op::TexelAtomic, this.b.row_join(words)),
            };
            let values = this.b.row_join(words);
            let old = this.b.texture_access(op, &[address, values], Imm::Atomic { resource, function });
            Ok(in_all(mask, old))
        })?;
        match target {
            Some(target) => self.write_answer(&target, answer),
            None => Ok(()),
        }
    }

    /// Counts a view's hidden counter up, and gives its old value; or down, and gives the new one.
    fn count(&mut self, destination: &Operand, view: &Operand, up: bool) -> Result<(), LowerError> {
        let opcode = if up { Opcode::ImmAtomicAlloc } else { Opcode::ImmAtomicConsume };
        let (_, kind) = self.memory(opcode, view)?;
        if !matches!(kind, ResourceKind::StructuredBuffer { .. }) || view.file() != RegisterFile::UnorderedAccess {
            return Err(self.invalid(format!("{opcode} of a {kind}")));
        }
        let counter = self.counter(view)?;
        let target = self.destination(destination)?;
        let (mask, step) = (target.mask, if up { 1 } else { u32::MAX });
        let answer = self.effect(&counter, mask, |this, resource| {
            let [zero, step] = [0, step].map(|word| this.b.i32(word));
            let values = this.b.row_join([step, zero, zero, zero]);
            let imm = Imm::Atomic { resource, function: AtomicFunction::Add };
            let mut count = this.b.texture_access(Op::MemoryAtomic, &[zero, values], imm);
            if !up {
                count = this.b.iadd([count, step]);
            }
            Ok(in_all(mask, count))
        })?;
        self.write_answer(&target, answer)
    }

    /// What `resinfo` says of a view: it has one level, and no other has a size.
    fn memory_size(
        &mut self,
        destination: &Operand,
        level: &Operand,
        view: &Operand,
        info: InfoReturn,
    ) -> Result<(), LowerError> {
        let (resource, kind) = self.memory(Opcode::ResInfo, view)?;
        let ResourceKind::Texture { shape, .. } = kind else {
            return Err(self.invalid(format!("{} of a {kind}", Opcode::ResInfo)));
        };
        let level = self.read(level, Component::X, DataClass::Int)?;
        let target = self.destination(destination)?;
        let mask = target.mask;
        let answer = self.access(&resource, mask, |this, resource| {
            let row = this.b.texture_access(Op::MemorySize, &[], Imm::Resource(resource));
            let [zero, one] = [0, 1].map(|word| this.b.i32(word));
            let is_there = this.b.ieq([level, zero]);
            let mut words = [one; 4];
            for (number, word) in words.iter_mut().enumerate().take(3) {
                let size = this.b.row_word(Type::I32, row, number as u8);
                *word = this.b.select([is_there, size, zero]);
            }
            let row = this.b.row_join(words);
            Ok(this.size(view, mask, row, shape, info))
        })?;
        self.write_answer(&target, answer)
    }

    /// The words of an integer address: coordinates, and the slice of an array behind them.
    fn texel_address(
        &mut self,
        opcode: Opcode,
        kind: ResourceKind,
        address: &Operand,
    ) -> Result<[Value; 4], LowerError> {
        let count = match kind {
            ResourceKind::TypedBuffer { .. } => 1,
            ResourceKind::Texture { shape, .. } if texture::can_be_written(shape) => {
                shape.coordinates() + usize::from(shape.is_array())
            }
            kind => return Err(self.invalid(format!("{opcode} of a {kind}"))),
        };
        let mut words = [self.b.i32(0); 4];
        for (word, component) in words.iter_mut().zip(Component::ALL).take(count) {
            *word = self.read(address, component, DataClass::Int)?;
        }
        Ok(words)
    }
}
