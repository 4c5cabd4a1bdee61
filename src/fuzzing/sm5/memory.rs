//! Memory that programs write: its declarations, and accesses of it.

use super::Generator;
use super::declare::{Memory, View};
use super::operand::Shape;
use super::place::scalar_temp;
use crate::frontend::sm4::codes::{Dimension, InfoReturn, ReturnType, Stage, UavFlags};
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::opcode::{DataClass, Role};
use crate::frontend::sm4::operand::{Component, Components, Mask, Swizzle};
use crate::frontend::sm4::{Declaration, Group, Opcode, OpcodeToken, Operand, Operation, RegisterFile, without_status};
use arbitrary::Result;

/// What is written, raw and structured buffers most often.
const DIMENSIONS: [Dimension; 10] = [
    Dimension::RawBuffer,
    Dimension::StructuredBuffer,
    Dimension::RawBuffer,
    Dimension::StructuredBuffer,
    Dimension::Buffer,
    Dimension::Texture1d,
    Dimension::Texture2d,
    Dimension::Texture3d,
    Dimension::Texture1dArray,
    Dimension::Texture2dArray,
];

/// Bytes that a `g#` has, about.
const SHARED_BYTES: u32 = 96;

/// The same access that tells a status besides.
fn with_status(opcode: Opcode) -> Option<Opcode> {
    Opcode::ALL.iter().copied().find(|&other| without_status(other) == Some(opcode))
}

/// Whether an opcode accesses such memory.
fn fits(opcode: Opcode, &Memory { view, is_shared, counts }: &Memory) -> bool {
    let dimension = view.dimension;
    let (is_raw, is_structured) = (dimension == Dimension::RawBuffer, dimension == Dimension::StructuredBuffer);
    match opcode {
        Opcode::LdRaw | Opcode::StoreRaw => is_raw,
        Opcode::LdStructured | Opcode::StoreStructured => is_structured,
        Opcode::LdUavTyped | Opcode::StoreUavTyped => !is_raw && !is_structured,
        Opcode::ImmAtomicAlloc | Opcode::ImmAtomicConsume => counts,
        Opcode::BufInfo => !is_shared && (is_raw || is_structured || dimension == Dimension::Buffer),
        Opcode::ResInfo => !is_raw && !is_structured && dimension != Dimension::Buffer,
        _ => opcode.group() == Group::Atomic,
    }
}

impl Generator<'_, '_> {
    /// Declares `u#` and `g#`.
    pub fn declare_memory(&mut self) -> Result<()> {
        let is_compute = self.version.stage == Stage::Compute;
        if !self.has_model(5, 0) || !is_compute && !self.one_in(3)? {
            return Ok(());
        }
        for id in 0..self.u.int_in_range(1..=3)? {
            let binding = self.bind(RegisterFile::UnorderedAccess, id)?;
            let (dimension, stride) = (*self.u.choose(&DIMENSIONS)?, 4 * self.u.int_in_range(1..=5)?);
            // Threads that keep to themselves share no counter.
            let counts = dimension == Dimension::StructuredBuffer && !self.own && self.u.arbitrary()?;
            let counter = if counts { UavFlags::ORDER_PRESERVING_COUNTER.bits() } else { 0 };
            let coherent = if self.one_in(3)? { UavFlags::GLOBALLY_COHERENT.bits() } else { 0 };
            let flags = UavFlags::from_token(counter | coherent);
            let types = [ReturnType::Uint, ReturnType::Sint, ReturnType::Float, ReturnType::Unorm, ReturnType::Snorm];
            let return_types = [*self.u.choose(&types)?; 4];
            let (opcode, declaration) = match dimension {
                Dimension::RawBuffer => (Opcode::DclUavRaw, Declaration::UavRaw { binding, flags }),
                Dimension::StructuredBuffer => {
                    (Opcode::DclUavStructured, Declaration::UavStructured { binding, flags, stride: stride.into() })
                }
                _ => (Opcode::DclUavTyped, Declaration::UavTyped { binding, dimension, flags, return_types }),
            };
            self.declare_as(opcode, declaration);
            let view = View { binding, dimension, stride, return_types };
            self.declared.memory.push(Memory { view, is_shared: false, counts });
        }
        if is_compute {
            for register in 0..self.u.int_in_range(0..=2)? {
                self.declare_shared(register)?;
            }
        }
        Ok(())
    }

    fn declare_shared(&mut self, register: u32) -> Result<()> {
        let is_raw = self.u.arbitrary()?;
        let stride = if is_raw { 0 } else { 4 * self.u.int_in_range(1..=5u16)? };
        let (opcode, declaration) = if is_raw {
            (Opcode::DclTgsmRaw, Declaration::TgsmRaw { register, bytes: SHARED_BYTES })
        } else {
            let count = SHARED_BYTES / u32::from(stride);
            (Opcode::DclTgsmStructured, Declaration::TgsmStructured { register, stride: stride.into(), count })
        };
        self.declare_as(opcode, declaration);
        let token = Operand::new(RegisterFile::GroupShared, Components::None, vec![(register, None)]).token();
        let binding = Binding { id: register, lower: register, upper: register, space: 0, token };
        let dimension = if is_raw { Dimension::RawBuffer } else { Dimension::StructuredBuffer };
        let view = View { binding, dimension, stride, return_types: [ReturnType::Mixed; 4] };
        self.declared.memory.push(Memory { view, is_shared: true, counts: false });
        Ok(())
    }

    /// An access of declared memory, or a question about it.
    pub fn memory_access(&mut self) -> Result<()> {
        let index = self.u.choose_index(self.declared.memory.len())?;
        let memory = self.declared.memory[index];
        let opcodes: Vec<Opcode> = self.running().filter(|&opcode| fits(opcode, &memory)).collect();
        // Half of all accesses are no atomics, of which there are most.
        let plain: Vec<Opcode> = opcodes.iter().copied().filter(|opcode| opcode.group() == Group::Memory).collect();
        let opcodes = if self.u.arbitrary()? { &plain } else { &opcodes };
        let opcode = *self.u.choose(opcodes)?;
        let mut operands = Vec::new();
        for (number, slot) in opcode.slots().iter().enumerate() {
            operands.push(match (slot.role, slot.class) {
                (Role::Destination, DataClass::View) => self.written_view(opcode, &memory)?,
                (Role::Destination, _) => self.destination(Shape::Any)?,
                (_, DataClass::View) => self.named_view(opcode, &memory)?,
                (_, DataClass::Int) if opcode == Opcode::ResInfo => self.small(2)?,
                // Behind the view, or in loads in front of it, is where in it; then come values.
                (_, DataClass::Int) if self.is_address(opcode, number) => self.place_in(opcode, number, &memory)?,
                (_, class) if opcode.group() == Group::Atomic => self.scalar(class)?,
                (_, class) => self.source(class, Mask::ALL, false)?,
            });
        }
        let mut token = OpcodeToken::new(opcode);
        if opcode == Opcode::ResInfo {
            token = token.returning(*self.u.choose(InfoReturn::ALL)?);
        }
        self.access(token, Operation { extended: None, operands, padding: Box::default() })
    }

    /// Emits an access, or the one that tells a status besides, which is looked at or not.
    pub fn access(&mut self, token: OpcodeToken, operation: Operation) -> Result<()> {
        let other = with_status(token.opcode).filter(|_| self.has_model(5, 0));
        let Some(opcode) = other.filter(|&other| self.running().any(|opcode| opcode == other)) else {
            self.emit_operation(token, operation);
            return Ok(());
        };
        if !self.one_in(4)? {
            self.emit_operation(token, operation);
            return Ok(());
        }
        let Operation { extended, mut operands, padding } = operation;
        let (status, told) = self.scratch()?;
        operands.insert(1, status);
        // Some bound the level besides.
        if opcode.slots().len() > operands.len() {
            operands.push(self.scalar(DataClass::Float)?);
        }
        self.emit_operation(OpcodeToken::new(opcode), Operation { extended, operands, padding });
        if self.u.arbitrary()? {
            let destination = self.destination(Shape::Any)?;
            self.emit(OpcodeToken::new(Opcode::CheckAccessFullyMapped), vec![destination, told]);
        }
        Ok(())
    }

    /// Stores of what a thread has in its registers, which is all that a compute shader gives.
    pub fn store_temps(&mut self) -> Result<()> {
        for register in 0..self.declared.temps.min(4) {
            let index = self.u.choose_index(self.declared.memory.len())?;
            let memory = self.declared.memory[index];
            let opcode = match memory.view.dimension {
                Dimension::RawBuffer => Opcode::StoreRaw,
                Dimension::StructuredBuffer => Opcode::StoreStructured,
                _ => Opcode::StoreUavTyped,
            };
            let mut operands = vec![self.written_view(opcode, &memory)?];
            for number in 1..opcode.slots().len() - 1 {
                operands.push(self.place_in(opcode, number, &memory)?);
            }
            let value = Components::Swizzle(Swizzle::IDENTITY);
            operands.push(Operand::new(RegisterFile::Temp, value, vec![(register, None)]));
            self.emit(OpcodeToken::new(opcode), operands);
        }
        Ok(())
    }

    /// Whether an operand says where in memory.
    fn is_address(&self, opcode: Opcode, number: usize) -> bool {
        let view = opcode.slots().iter().position(|slot| slot.class == DataClass::View);
        match opcode.group() {
            Group::Atomic => view.is_some_and(|view| number == view + 1),
            _ => true,
        }
    }

    fn memory_operand(&mut self, memory: &Memory, components: Components) -> Result<Operand> {
        let binding = memory.view.binding;
        if memory.is_shared {
            return Ok(Operand::new(RegisterFile::GroupShared, components, vec![(binding.id, None)]));
        }
        let dynamic = self.one_in(3)?;
        Ok(Operand::new(RegisterFile::UnorderedAccess, components, self.register_of(binding, dynamic)?))
    }

    /// The operand that names what is written.
    fn written_view(&mut self, opcode: Opcode, memory: &Memory) -> Result<Operand> {
        let components = match opcode {
            Opcode::StoreUavTyped => Components::Mask(Mask::ALL),
            Opcode::StoreRaw | Opcode::StoreStructured => {
                Components::Mask(Mask::from_bits((2 << self.u.int_in_range(0..=3)?) - 1))
            }
            _ => Components::None,
        };
        self.memory_operand(memory, components)
    }

    /// The operand that names what is read, or what an atomic is about that gives something.
    fn named_view(&mut self, opcode: Opcode, memory: &Memory) -> Result<Operand> {
        let components = if opcode.group() == Group::Atomic { Components::None } else { self.view_swizzle()? };
        self.memory_operand(memory, components)
    }

    /// Where in memory: a byte; a structure and a byte of it, as two operands or as one; an element or texel.
    fn place_in(&mut self, opcode: Opcode, number: usize, memory: &Memory) -> Result<Operand> {
        let (stride, is_atomic) = (u32::from(memory.view.stride), opcode.group() == Group::Atomic);
        let is_first = number < 2 && opcode.group() != Group::Atomic;
        match memory.view.dimension {
            Dimension::RawBuffer if self.own => Ok(self.own_place(Component::Y)),
            Dimension::RawBuffer => self.address(SHARED_BYTES + 8),
            Dimension::StructuredBuffer if is_atomic => self.member(),
            Dimension::StructuredBuffer if is_first && self.own => Ok(self.own_place(Component::X)),
            Dimension::StructuredBuffer if is_first => self.address(6),
            Dimension::StructuredBuffer => self.address(stride),
            _ if self.own => Ok(self.own_places()),
            Dimension::Buffer => self.address(30),
            _ => self.texel_address(),
        }
    }

    /// A structure and a byte of it.
    fn member(&mut self) -> Result<Operand> {
        if self.own {
            return Ok(self.own_places());
        }
        let register = self.u.int_in_range(0..=self.declared.temps - 1)?;
        let temp = |components| Operand::new(RegisterFile::Temp, components, vec![(register, None)]);
        let source = self.source(DataClass::Int, Mask::from_bits(0b11), false)?;
        let most = Operand::immediate_words(RegisterFile::Immediate32, &[7, 12, 0, 0]);
        self.emit(OpcodeToken::new(Opcode::And), vec![temp(Components::Mask(Mask::from_bits(0b11))), source, most]);
        Ok(temp(Components::Swizzle(Swizzle::IDENTITY)))
    }

    /// A component of what tells a thread its own place: its number, or that times 16.
    fn own_place(&self, component: Component) -> Operand {
        scalar_temp(self.own_register(), component).1
    }

    /// A thread's number, then zeros.
    fn own_places(&self) -> Operand {
        let swizzle = Components::Swizzle(Swizzle::from_bits(0b11_11_11_00));
        Operand::new(RegisterFile::Temp, swizzle, vec![(self.own_register(), None)])
    }
}
