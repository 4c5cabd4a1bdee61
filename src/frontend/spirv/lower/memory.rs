//! Loads, stores, copies and atomics.
//!
//! Memory is words to the IR. What is narrower is a part of one: loaded by shifts, and stored by two atomics that clear
//! and set its bits, so that neighbours may be written at the same time. What is out of a buffer's range reads zero,
//! and stores to it are dropped (Vulkan's `robustBufferAccess2`); an index out of an array that is not the last of its
//! buffer reaches what is behind the array.

use std::rc::Rc;

use shaderjit_ir::function::Imm;
use shaderjit_ir::memory::AtomicFunction;
use shaderjit_ir::{Op as IrOp, Space, Type, Value};
use spirv::{Op, Scope};

use super::image::Handle;
use super::pointer::{Base, Index, Place, Pointer};
use super::types::{Kind, Layout, Scalar, Ty};
use super::variables::MAX_ROWS;
use super::{Def, Lowering, Memory, unsupported};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;

/// Bytes of a row of a uniform space.
const ROW_BYTES: u32 = 16;

/// What loads and stores reach.
#[derive(Clone, Copy)]
enum Target {
    Memory(Memory),
    Space(Space),
}

/// A place in memory: a byte that is known, plus one that is not.
#[derive(Clone, Copy)]
struct Address {
    dynamic: Option<Value>,
    /// Whether that is a multiple of a word.
    in_words: bool,
    /// Whether that is the number of a row instead of a byte.
    in_rows: bool,
}

impl Lowering<'_> {
    /// Lowers an instruction on variables and pointers.
    pub(super) fn memory(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        match (opcode, instruction.operands()) {
            (Op::Variable, &[pointer, id, _, ref rest @ ..]) => {
                let ty = self.pointee(pointer)?;
                let local = self.local(id, ty, rest.first().copied())?;
                self.define_local(id, ty, local)
            }
            (Op::Load, &[ty, id, pointer, ..]) => {
                let (ty, pointer) = (self.ty(ty)?, self.pointer(pointer)?);
                if ty != pointer.ty {
                    return Err(self.malformed(instruction));
                }
                if let Place::Handle { bound, index } = pointer.place {
                    return self.define(id, Def::Handle(Rc::new(Handle::of(bound, index))));
                }
                let scalars = self.load(&pointer)?;
                self.define_value(id, ty, scalars)
            }
            (Op::Store, &[pointer, value, ..]) => {
                let pointer = self.pointer(pointer)?;
                let (ty, scalars) = self.value(value)?;
                if ty != pointer.ty {
                    return Err(self.malformed(instruction));
                }
                self.store(&pointer, &scalars)
            }
            (Op::CopyMemory, &[to, from, ..]) => {
                let (to, from) = (self.pointer(to)?, self.pointer(from)?);
                if to.ty != from.ty {
                    return Err(self.unsupported("OpCopyMemory between types"));
                }
                let scalars = self.load(&from)?;
                self.store(&to, &scalars)
            }
            (Op::AccessChain | Op::InBoundsAccessChain, &[pointer, id, base, ref indices @ ..]) => {
                let (ty, base) = (self.pointee(pointer)?, self.pointer(base)?);
                let pointer = self.access(&base, indices)?;
                if pointer.ty != ty {
                    return Err(self.malformed(instruction));
                }
                self.define(id, Def::Pointer(Rc::new(pointer)))
            }
            (Op::ArrayLength, &[ty, id, pointer, member]) => {
                let ty = self.value_type(ty)?;
                let pointer = self.pointer(pointer)?;
                let length = self.array_length(instruction, &pointer, member)?;
                self.define_value(id, ty, [length])
            }
            (Op::ImageTexelPointer, &[pointer, id, image, coordinates, _sample]) => {
                let (ty, image) = (self.pointee(pointer)?, self.pointer(image)?);
                let Place::Handle { bound, index } = image.place else { return Err(self.malformed(instruction)) };
                let image = Rc::new(Handle::of(bound, index));
                let address = self.texel_address(&image, coordinates)?;
                self.define(id, Def::Pointer(Rc::new(Pointer { ty, place: Place::Texel { image, address } })))
            }
            _ => Err(self.malformed(instruction)),
        }
    }

    // ---- whole values

    /// The scalars of what a pointer points to.
    pub(super) fn load(&mut self, pointer: &Pointer) -> Result<Vec<Value>, LowerError> {
        let count = self.types.scalars(pointer.ty);
        super::types::check_scalars(count, self.offset)?;
        if count == 0 {
            return Err(self.unsupported("a load of what has no value"));
        }
        match &pointer.place {
            Place::Local { local, first, steps, component } => {
                self.load_local(*local, *first, count, steps, *component)
            }
            &Place::Memory { base, offset, ref steps, layout } => {
                let places = self.places(pointer.ty, layout, offset);
                if let Base::Uniform { .. } = base {
                    let last = places.iter().map(|&(byte, _)| byte / ROW_BYTES).max().unwrap_or(0);
                    self.limit("row of a uniform block", last.into(), MAX_ROWS)?;
                }
                let types: Vec<Type> = places.iter().map(|(_, scalar)| scalar.ir()).collect();
                self.reach(base, steps, &types, |this, target, address| {
                    Ok(places.iter().map(|&(byte, scalar)| this.load_scalar(target, address, byte, scalar)).collect())
                })
            }
            _ => Err(self.unsupported("a load of what has no value")),
        }
    }

    /// Stores a value where a pointer points to.
    pub(super) fn store(&mut self, pointer: &Pointer, scalars: &[Value]) -> Result<(), LowerError> {
        match &pointer.place {
            Place::Local { local, first, steps, component } => {
                self.store_local(*local, *first, steps, *component, scalars)
            }
            &Place::Memory { base, offset, ref steps, layout } => {
                if let Base::Uniform { .. } = base {
                    return Err(self.invalid("a store to a uniform block"));
                }
                let places = self.places(pointer.ty, layout, offset);
                let stored = self.effect(&[], |this| {
                    this.reach(base, steps, &[], |this, target, address| {
                        for (&(byte, scalar), &value) in places.iter().zip(scalars) {
                            this.store_scalar(target, address, byte, scalar, value)?;
                        }
                        Ok(Vec::new())
                    })
                });
                stored.map(drop)
            }
            _ => Err(self.unsupported("a store to what has no value")),
        }
    }

    fn places(&self, ty: Ty, layout: Layout, offset: u32) -> Vec<(u32, Scalar)> {
        let mut places = Vec::new();
        self.types.places(ty, layout, offset, &mut places);
        places
    }

    // ---- memory

    /// What `access` gives with the memory that a base is, each of those that an index may choose in a block of its
    /// own.
    fn reach(
        &mut self,
        base: Base,
        steps: &[(Value, u32)],
        types: &[Type],
        mut access: impl FnMut(&mut Self, Target, Address) -> Result<Vec<Value>, LowerError>,
    ) -> Result<Vec<Value>, LowerError> {
        let in_rows = matches!(base, Base::Uniform { .. }) && steps.iter().all(|(_, step)| step % ROW_BYTES == 0);
        let in_words = steps.iter().all(|(_, step)| step % 4 == 0);
        let is_buffer = matches!(base, Base::Buffer { .. });
        let dynamic = self.sum(steps, if in_rows { ROW_BYTES } else { 1 }, is_buffer);
        let address = Address { dynamic, in_words, in_rows };
        match base {
            Base::Shared(number) => {
                let memory = Memory { resource: self.shared(number), is_written: true };
                access(self, Target::Memory(memory), address)
            }
            Base::Buffer { bound, index } => self.among(bound, index, types, |this, element| {
                let memory = this.resource(bound, element)?;
                access(this, Target::Memory(memory), address)
            }),
            Base::Uniform { bound, index } => self.among(bound, index, types, |this, element| {
                let space = this.space(bound, element)?;
                access(this, Target::Space(space), address)
            }),
        }
    }

    /// What `access` gives with the element of an array of descriptors, each of those that an index may choose in a
    /// block of its own; zeros for those that are not there.
    pub(super) fn among(
        &mut self,
        bound: usize,
        index: Index,
        types: &[Type],
        mut access: impl FnMut(&mut Self, u32) -> Result<Vec<Value>, LowerError>,
    ) -> Result<Vec<Value>, LowerError> {
        let chosen = match index {
            Index::Known(index) => return access(self, index),
            Index::Chosen(chosen) => chosen,
        };
        let elements = self.elements(bound)?;
        let results: Vec<_> = types.iter().map(|&ty| self.declare_var(ty)).collect();
        for &result in &results {
            let zero = self.b.constant(self.b.variable_type(result), 0);
            self.b.def_var(result, zero);
        }
        let mut arms = Vec::with_capacity(elements.len());
        for element in elements {
            arms.push((element, self.create_block()?));
        }
        let exit = self.create_block()?;
        self.b.switch(chosen, &arms, exit);
        for &(element, block) in &arms {
            self.b.seal_block(block);
            self.start(block);
            let values = access(self, element)?;
            self.assign(&results, &values)?;
            self.b.jump(exit);
        }
        self.b.seal_block(exit);
        self.start(exit);
        Ok(results.into_iter().map(|result| self.b.use_var(result)).collect())
    }

    /// The word at a byte.
    fn load_word(&mut self, target: Target, address: Address, byte: u32, ty: Type) -> Value {
        match (target, address.dynamic) {
            (Target::Memory(Memory { resource, is_written }), dynamic) => {
                let dynamic = dynamic.unwrap_or_else(|| self.b.i32(0));
                match is_written {
                    true => self.b.memory_load(ty, resource, byte, dynamic),
                    false => self.b.resource_load(ty, resource, byte, dynamic),
                }
            }
            (Target::Space(space), dynamic) => {
                let (row, component) = (byte / ROW_BYTES, (byte / 4 % 4) as u8);
                match dynamic {
                    None => self.b.uniform_load(ty, space, row, component),
                    Some(index) if address.in_rows => self.b.uniform_load_at(ty, space, row, component, index),
                    Some(dynamic) => {
                        let [byte, four] = [byte, 4].map(|bits| self.b.i32(bits));
                        let byte = self.b.iadd([dynamic, byte]);
                        let index = self.b.ushr([byte, four]);
                        let [two, three] = [2, 3].map(|bits| self.b.i32(bits));
                        let word = self.b.ushr([byte, two]);
                        let word = self.b.and([word, three]);
                        let words = [0, 1, 2, 3].map(|n| self.b.uniform_load_at(ty, space, 0, n, index));
                        self.chosen(word, &words)
                    }
                }
            }
        }
    }

    fn load_scalar(&mut self, target: Target, address: Address, byte: u32, scalar: Scalar) -> Value {
        match scalar {
            Scalar::Bool => {
                let word = self.load_word(target, address, byte, Type::I32);
                self.is_true(word)
            }
            Scalar::Float { width: 64 } | Scalar::Int { width: 64, .. } => {
                let words = [byte, byte.wrapping_add(4)].map(|byte| self.load_word(target, address, byte, Type::I32));
                self.b.f64join(words)
            }
            Scalar::Int { width: width @ (8 | 16), .. } | Scalar::Float { width: width @ 16 }
                if !self.is_shared(target) =>
            {
                let (word, shift) = self.word_around(target, address, byte);
                let bits = self.b.ushr([word, shift]);
                self.held(scalar, bits, width)
            }
            scalar => self.load_word(target, address, byte, scalar.ir()),
        }
    }

    /// Whether every scalar has a word of its own.
    fn is_shared(&self, target: Target) -> bool {
        matches!(target, Target::Memory(Memory { resource, .. })
            if self.b.func().resources[resource].is_shared())
    }

    /// The word that has a byte, and how many bits are below it.
    fn word_around(&mut self, target: Target, address: Address, byte: u32) -> (Value, Value) {
        let (address, byte, shift) = self.aligned(address, byte);
        (self.load_word(target, address, byte, Type::I32), shift)
    }

    /// The place of the word that has a byte, and how many bits are below that.
    fn aligned(&mut self, address: Address, byte: u32) -> (Address, u32, Value) {
        match address.dynamic {
            Some(dynamic) if !address.in_words && !address.in_rows => {
                let known = self.b.i32(byte);
                let at = self.b.iadd([dynamic, known]);
                let [mask, three] = [!3, 3].map(|bits| self.b.i32(bits));
                let (word, low) = (self.b.and([at, mask]), self.b.and([at, three]));
                let shift = self.b.ishl([low, three]);
                (Address { dynamic: Some(word), in_words: true, in_rows: false }, 0, shift)
            }
            _ => (address, byte & !3, self.b.i32(byte % 4 * 8)),
        }
    }

    fn store_scalar(
        &mut self,
        target: Target,
        address: Address,
        byte: u32,
        scalar: Scalar,
        value: Value,
    ) -> Result<(), LowerError> {
        let Target::Memory(Memory { resource, is_written: true }) = target else {
            return Err(self.invalid("a store to memory that is only read"));
        };
        match scalar {
            Scalar::Bool => {
                let word = self.truth(value);
                self.store_word(target, address, byte, word);
            }
            Scalar::Float { width: 64 } | Scalar::Int { width: 64, .. } => {
                let (low, high) = (self.b.f64lo([value]), self.b.f64hi([value]));
                self.store_word(target, address, byte, low);
                self.store_word(target, address, byte.wrapping_add(4), high);
            }
            Scalar::Int { width: width @ (8 | 16), .. } | Scalar::Float { width: width @ 16 }
                if !self.is_shared(target) =>
            {
                let bits = self.stored(scalar, value);
                let (address, byte, shift) = self.aligned(address, byte);
                let at = self.byte_of(address, byte);
                let [mask, ones] = [(1u32 << width) - 1, u32::MAX].map(|bits| self.b.i32(bits));
                let (bits, mask) = (self.b.ishl([bits, shift]), self.b.ishl([mask, shift]));
                let kept = self.b.xor([mask, ones]);
                self.change(resource, AtomicFunction::And, at, kept);
                self.change(resource, AtomicFunction::Or, at, bits);
            }
            _ => self.store_word(target, address, byte, value),
        }
        Ok(())
    }

    fn store_word(&mut self, target: Target, address: Address, byte: u32, value: Value) {
        let Target::Memory(Memory { resource, .. }) = target else { return };
        let dynamic = address.dynamic.unwrap_or_else(|| self.b.i32(0));
        self.b.memory_store(resource, byte, dynamic, value);
    }

    /// All of an address as one value.
    fn byte_of(&mut self, address: Address, byte: u32) -> Value {
        self.array_index(byte, address.dynamic)
    }

    fn change(&mut self, resource: shaderjit_ir::Resource, function: AtomicFunction, at: Value, value: Value) -> Value {
        let zero = self.b.i32(0);
        let values = self.b.row_join([value, zero, zero, zero]);
        self.b.texture_access(IrOp::MemoryAtomic, &[at, values], Imm::Atomic { resource, function })
    }

    /// Number of elements of the array at the end of a block.
    fn array_length(
        &mut self,
        instruction: &Instruction<'_>,
        pointer: &Pointer,
        member: u32,
    ) -> Result<Value, LowerError> {
        let &Place::Memory { base: base @ Base::Buffer { .. }, offset, .. } = &pointer.place else {
            return Err(self.malformed(instruction));
        };
        let Kind::Struct(members) = self.types.kind(pointer.ty) else { return Err(self.malformed(instruction)) };
        let Some(member) = members.get(member as usize) else { return Err(self.malformed(instruction)) };
        let first = offset.saturating_add(member.offset.unwrap_or(0));
        let &Kind::RuntimeArray { element, stride } = self.types.kind(member.ty) else {
            return Err(self.malformed(instruction));
        };
        let stride = Layout::default().element_stride(&self.types, element, stride).max(1);
        let length = self.reach(base, &[], &[Type::I32], |this, target, _| {
            let Target::Memory(Memory { resource, is_written }) = target else {
                return Err(this.invalid("the length of a uniform block"));
            };
            let bytes = if is_written {
                let size = this.b.texture_access(IrOp::MemorySize, &[], Imm::Resource(resource));
                this.b.row_word(Type::I32, size, 0)
            } else {
                this.b.resource_bytes(resource)
            };
            let [first, stride] = [first, stride].map(|bits| this.b.i32(bits));
            // Nothing is behind the array's beginning in a buffer that ends before it.
            let end = this.b.umax([bytes, first]);
            let rest = this.b.isub([end, first]);
            Ok(vec![this.b.udiv([rest, stride])])
        })?;
        Ok(length[0])
    }

    // ---- atomics

    /// Lowers an atomic instruction.
    pub(super) fn atomic(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        use AtomicFunction::{Add, And, CompareExchange, Exchange, Or, Smax, Smin, Umax, Umin, Xor};
        let operands = instruction.operands();
        match (opcode, operands) {
            (Op::AtomicStore, &[pointer, _, _, value]) => {
                let pointer = self.pointer(pointer)?;
                let value = self.integer(value)?;
                if let Place::Texel { .. } = pointer.place {
                    return self.change_at(&pointer, Exchange, [Some(value), None]).map(drop);
                }
                return self.store(&pointer, &[value]);
            }
            (Op::AtomicLoad, &[ty, id, pointer, _, _]) => {
                let (ty, pointer) = (self.value_type(ty)?, self.pointer(pointer)?);
                if let Place::Texel { .. } = pointer.place {
                    let zero = self.b.i32(0);
                    let old = self.change_at(&pointer, Or, [Some(zero), None])?;
                    return self.define_value(id, ty, [old]);
                }
                let loaded = self.load(&pointer)?;
                return self.define_value(id, ty, loaded);
            }
            _ => {}
        }
        let &[ty, id, pointer, _, _, ref rest @ ..] = operands else { return Err(self.malformed(instruction)) };
        let (ty, pointer) = (self.value_type(ty)?, self.pointer(pointer)?);
        if !matches!(self.types.scalar(ty), Some(Scalar::Int { width: 32, .. })) || self.types.scalars(ty) != 1 {
            return Err(self.unsupported(format!("{} of what is no integer of 32 bits", instruction.name())));
        }
        let one = |this: &mut Self, rest: &[u32]| match rest {
            &[value] => this.integer(value),
            _ => Err(this.malformed(instruction)),
        };
        let (function, values) = match opcode {
            Op::AtomicIIncrement => (Add, [Some(self.b.i32(1)), None]),
            Op::AtomicIDecrement => (Add, [Some(self.b.i32(u32::MAX)), None]),
            Op::AtomicISub => {
                let (value, zero) = (one(self, rest)?, self.b.i32(0));
                (Add, [Some(self.b.isub([zero, value])), None])
            }
            Op::AtomicCompareExchange => {
                let &[_, value, comparator] = rest else { return Err(self.malformed(instruction)) };
                (CompareExchange, [Some(self.integer(value)?), Some(self.integer(comparator)?)])
            }
            _ => {
                let function = match opcode {
                    Op::AtomicExchange => Exchange,
                    Op::AtomicIAdd => Add,
                    Op::AtomicSMin => Smin,
                    Op::AtomicUMin => Umin,
                    Op::AtomicSMax => Smax,
                    Op::AtomicUMax => Umax,
                    Op::AtomicAnd => And,
                    Op::AtomicOr => Or,
                    Op::AtomicXor => Xor,
                    _ => return Err(unsupported(instruction)),
                };
                (function, [Some(one(self, rest)?), None])
            }
        };
        let old = self.change_at(&pointer, function, values)?;
        self.define_value(id, ty, [old])
    }

    /// Changes a word of memory or a texel, and gives what was there.
    fn change_at(
        &mut self,
        pointer: &Pointer,
        function: AtomicFunction,
        values: [Option<Value>; 2],
    ) -> Result<Value, LowerError> {
        let zero = self.b.i32(0);
        let [value, compared] = values.map(|value| value.unwrap_or(zero));
        match &pointer.place {
            &Place::Memory { base, offset, ref steps, .. } if !matches!(base, Base::Uniform { .. }) => {
                let old = self.effect(&[Type::I32], |this| {
                    this.reach(base, steps, &[Type::I32], |this, target, address| {
                        let Target::Memory(Memory { resource, is_written: true }) = target else {
                            return Err(this.invalid("an atomic on memory that is only read"));
                        };
                        let at = this.byte_of(address, offset);
                        let values = this.b.row_join([value, compared, zero, zero]);
                        let imm = Imm::Atomic { resource, function };
                        Ok(vec![this.b.texture_access(IrOp::MemoryAtomic, &[at, values], imm)])
                    })
                })?;
                Ok(old[0])
            }
            Place::Texel { image, address } => {
                let (image, address) = (Rc::clone(image), *address);
                let old = self.effect(&[Type::I32], |this| {
                    this.with_image(&image, &[Type::I32], |this, memory| {
                        if !memory.is_written {
                            return Err(this.invalid("an atomic on an image that is only read"));
                        }
                        let rows = [address, [value, compared, zero, zero]];
                        let [address, values] = rows.map(|row| this.b.row_join(row));
                        let imm = Imm::Atomic { resource: memory.resource, function };
                        Ok(vec![this.b.texture_access(IrOp::TexelAtomic, &[address, values], imm)])
                    })
                })?;
                Ok(old[0])
            }
            _ => Err(self.unsupported("an atomic on a variable of the invocation")),
        }
    }

    /// Lowers a barrier. Memory is in order as it is: what one invocation writes others see at once.
    pub(super) fn barrier(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        match (opcode, instruction.operands()) {
            (Op::MemoryBarrier, [_, _]) => Ok(()),
            (Op::ControlBarrier, &[execution, _, _]) => {
                let scope = self.literal(execution)?.and_then(Scope::from_u32);
                match (scope, self.stage) {
                    (Some(Scope::Workgroup), crate::stage::Stage::Compute) => {
                        self.b.emit(IrOp::Barrier, Type::I32, &[], Imm::None);
                        Ok(())
                    }
                    // The invocations of a wave are in step.
                    (Some(Scope::Subgroup | Scope::Invocation), _) => Ok(()),
                    (Some(Scope::Workgroup), crate::stage::Stage::Hull) => self.split_phase(),
                    _ => Err(self.unsupported("OpControlBarrier of such a scope")),
                }
            }
            _ => Err(self.malformed(instruction)),
        }
    }
}
