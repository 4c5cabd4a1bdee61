//! Reads sources and writes destinations.

use shaderjit_ir::{FunctionBuilder, Op, Space, Type, Value};

use super::Lowering;
use super::choice::Choice;
use super::elements::{Indexed, InputComponent, Register};
use crate::error::LowerError;
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::operand::{Component, Index, Mask, Operand, RegisterFile};

/// A value as an `i32` of the same bits.
pub(super) fn as_bits(b: &mut FunctionBuilder, value: Value) -> Value {
    if b.ty(value) == Type::I32 {
        return value;
    }
    if let Some(literal) = b.literal(value) {
        return b.constant(Type::I32, literal);
    }
    match b.func().def_inst(value) {
        Some(inst) if inst.op == Op::BitcastF32 => inst.args[0],
        _ => b.bitcast_i32([value]),
    }
}

/// A value as an `f32` of the same bits.
pub(super) fn as_float(b: &mut FunctionBuilder, value: Value) -> Value {
    if b.ty(value) == Type::F32 {
        return value;
    }
    if let Some(literal) = b.literal(value) {
        return b.constant(Type::F32, literal);
    }
    match b.func().def_inst(value) {
        Some(inst) if inst.op == Op::BitcastI32 => inst.args[0],
        _ => b.bitcast_f32([value]),
    }
}

/// An index: `base + dynamic`, modulo 2^32.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub base: u32,
    pub dynamic: Option<Value>,
}

/// Where a destination's components go. Its indices have been read, so that writing another destination does not change
/// it.
pub(super) struct Destination {
    target: Target,
    /// What is written.
    pub mask: Mask,
}

enum Target {
    /// Nowhere.
    Null,
    /// `r#`.
    Temp(u32),
    /// `o#`, `oDepth` and their like.
    Output(Register),
    /// `o#` of the control point that a hull shader writes.
    ControlPoint { row: Value },
    /// An array element.
    Array { array: shaderjit_ir::Array, index: Value },
}

impl Lowering {
    /// What an instruction of operand class `class` reads for one component: an `i32` for integers, else an `f32`.
    pub(super) fn read(
        &mut self,
        operand: &Operand,
        component: Component,
        class: DataClass,
    ) -> Result<Value, LowerError> {
        let ty = match class {
            DataClass::Int | DataClass::Uint => Type::I32,
            _ => Type::F32,
        };
        let value = self.load(operand, operand.components().source(component), ty)?;
        Ok(self.modified(operand, value, ty))
    }

    /// A value with the modifiers of the operand that it was read from.
    pub(super) fn modified(&mut self, operand: &Operand, mut value: Value, ty: Type) -> Value {
        let b = &mut self.b;
        if operand.modifiers().absolute {
            value = match ty {
                Type::F32 => b.fabs([value]),
                _ => {
                    let negated = negate(b, value);
                    b.smax([value, negated])
                }
            };
        }
        if operand.modifiers().negate {
            value = match ty {
                Type::F32 => b.fneg([value]),
                _ => negate(b, value),
            };
        }
        value
    }

    /// One component of a register, as `ty`.
    pub(super) fn load(&mut self, operand: &Operand, component: Component, ty: Type) -> Result<Value, LowerError> {
        match operand.file() {
            RegisterFile::Immediate32 => {
                let words = operand.immediates().unwrap_or_default();
                let word = words.get(component.index()).or(words.first()).copied().unwrap_or_default();
                Ok(self.b.constant(ty, word.into()))
            }
            RegisterFile::Immediate64 => {
                // One double stands for both.
                let words = operand.immediates().unwrap_or_default();
                let word = words.get(component.index()).or(words.get(component.index() & 1)).copied();
                Ok(self.b.constant(ty, word.unwrap_or_default().into()))
            }
            RegisterFile::Temp => {
                let register = self.constant_index(operand)?;
                match self.registers.temp(register, component).map_err(|refusal| refusal.at(self.offset))? {
                    Some(variable) => {
                        let value = self.b.use_var(variable);
                        Ok(self.typed(value, ty))
                    }
                    // Nothing ever writes it.
                    None => Ok(self.b.constant(ty, 0)),
                }
            }
            RegisterFile::Input if operand.index_count() == 2 => self.load_vertex(operand, component, ty),
            RegisterFile::InputControlPoint => self.load_vertex(operand, component, ty),
            RegisterFile::OutputControlPoint => self.load_control_point(operand, component, ty),
            RegisterFile::PatchConstant => self.load_patch_constant(operand, component, ty),
            RegisterFile::DomainPoint => self.domain_location(component, ty),
            RegisterFile::PrimitiveId => {
                let value = self.primitive_id()?;
                Ok(self.typed(value, ty))
            }
            RegisterFile::GsInstanceId => {
                let value = self.instance_id()?;
                Ok(self.typed(value, ty))
            }
            file @ (RegisterFile::OutputControlPointId
            | RegisterFile::ForkInstanceId
            | RegisterFile::JoinInstanceId) => {
                let value = self.phase_instance(file)?;
                Ok(self.typed(value, ty))
            }
            RegisterFile::Input => {
                let [place] = self.places(operand)?;
                match place.dynamic {
                    None => self.load_input(Register::Numbered(place.base), component, ty),
                    Some(_) => self.load_indexed(self.registers.inputs.indexed, place, component, ty),
                }
            }
            file @ (RegisterFile::InputCoverage | RegisterFile::InnerCoverage) => {
                self.load_input(Register::Named(file), component, ty)
            }
            RegisterFile::IndexableTemp => {
                let [number, place] = self.places(operand)?;
                let temp = self.indexable_temp(number, Mask::from_bits(1 << component.index()))?;
                let index = self.index_value(place);
                Ok(self.b.array_load(ty, temp, component.index() as u8, index))
            }
            RegisterFile::ConstantBuffer => self.load_constant(operand, component, ty),
            RegisterFile::ImmediateConstants => {
                let [place] = self.places(operand)?;
                let Some(space) = self.registers.immediate_constants else {
                    return Err(self.invalid("icb is not declared"));
                };
                Ok(self.load_row(space, place, component, ty))
            }
            RegisterFile::ThisPointer => {
                let [place] = self.places(operand)?;
                let Some(space) = self.classes.this() else {
                    return Err(self.unsupported("this without class instances"));
                };
                Ok(self.load_row(space, place, component, ty))
            }
            file @ (RegisterFile::ThreadId
            | RegisterFile::ThreadGroupId
            | RegisterFile::ThreadIdInGroup
            | RegisterFile::ThreadIdInGroupFlattened) => {
                let value = self.thread(file, component)?;
                Ok(self.typed(value, ty))
            }
            RegisterFile::Output | RegisterFile::Null => {
                Err(self.invalid(format!("{} is read", operand.file().letters())))
            }
            file => Err(self.unsupported(format!("operand {}", file.letters()))),
        }
    }

    pub(super) fn typed(&mut self, value: Value, ty: Type) -> Value {
        match ty {
            Type::I32 => as_bits(&mut self.b, value),
            _ => as_float(&mut self.b, value),
        }
    }

    fn load_constant(&mut self, operand: &Operand, component: Component, ty: Type) -> Result<Value, LowerError> {
        let (choice, place) = match operand.index_count() {
            2 => {
                let [buffer, place] = self.places(operand)?;
                (self.buffer_by_number(buffer)?, place)
            }
            // Shader model 5.1 names the range first, then the register in it.
            _ => {
                let [id, register, place] = self.places(operand)?;
                let Place { base: id, dynamic: None } = id else {
                    return Err(self.unsupported("a dynamic choice of constant buffer"));
                };
                let binding = self.registers.buffer_binding(id);
                let get = |this: &mut Lowering, register| this.registers.constant_buffer(&mut this.b, id, register);
                (self.choice(binding, register, get)?, place)
            }
        };
        self.select(&choice, ty, |this, space| this.load_row(space, place, component, ty))
    }

    /// The constant buffer of a number. Code of classes has dynamic ones: where its instance lies, among few buffers.
    fn buffer_by_number(&mut self, number: Place) -> Result<Choice<Space>, LowerError> {
        let get = |this: &mut Lowering, id| {
            let space = this.registers.constant_buffer(&mut this.b, id, id);
            space.map_err(|refusal| refusal.at(this.offset))
        };
        if number.dynamic.is_none() {
            return Ok(Choice::One(get(self, number.base)?));
        }
        let mut numbered = Vec::new();
        for id in self.registers.single_buffers() {
            numbered.push((id, get(self, id)?));
        }
        Ok(Choice::Among { chosen: self.index_value(number), numbered })
    }

    pub(super) fn load_row(&mut self, space: Space, place: Place, component: Component, ty: Type) -> Value {
        let component = component.index() as u8;
        match place.dynamic {
            Some(index) => self.b.uniform_load_at(ty, space, place.base, component, index),
            None => self.b.uniform_load(ty, space, place.base, component),
        }
    }

    pub(super) fn load_input(
        &mut self,
        register: Register,
        component: Component,
        ty: Type,
    ) -> Result<Value, LowerError> {
        match self.registers.inputs.get(register, component) {
            Some(InputComponent::Element { number, component }) => Ok(self.b.input(ty, number, component)),
            Some(InputComponent::System(value)) => {
                let value = self.b.sysval(value);
                Ok(self.typed(value, ty))
            }
            None => {
                let name = register_name("v", register, component);
                Err(self.invalid(format!("{name} is not in the input signature")))
            }
        }
    }

    pub(super) fn load_indexed(
        &mut self,
        indexed: Option<Indexed>,
        place: Place,
        component: Component,
        ty: Type,
    ) -> Result<Value, LowerError> {
        let Some(indexed) = indexed.filter(|indexed| indexed.has(component)) else {
            return Err(self.invalid("a dynamic index outside the declared index ranges"));
        };
        let index = self.index_value(Place { base: place.base.wrapping_sub(indexed.first), ..place });
        Ok(self.b.array_load(ty, indexed.array, component.index() as u8, index))
    }

    /// Copies the inputs that are indexed into their array.
    pub(super) fn fill_indexed_inputs(&mut self) -> Result<(), LowerError> {
        let Some(indexed) = self.registers.inputs.indexed else { return Ok(()) };
        for (index, register, component) in indexed.cells() {
            // The array has registers between the ranges as well, which need not exist.
            let register = Register::Numbered(register);
            if self.registers.inputs.get(register, component).is_some() {
                let value = self.load_input(register, component, Type::F32)?;
                let index = self.b.i32(index);
                self.b.array_store(indexed.array, component.index() as u8, index, value);
            }
        }
        Ok(())
    }

    /// The present value of an output register's component; none if nothing writes it.
    pub(super) fn read_written(&mut self, register: Register, component: Component) -> Option<Value> {
        if let Some(indexed) = self.registers.outputs.indexed
            && let Some(index) = indexed.index(register, component)
        {
            let index = self.b.i32(index);
            return Some(self.b.array_load(Type::F32, indexed.array, component.index() as u8, index));
        }
        let variable = self.registers.outputs.variable(register, component)?;
        Some(self.b.use_var(variable))
    }

    /// Reads a destination's indices.
    pub(super) fn destination(&mut self, operand: &Operand) -> Result<Destination, LowerError> {
        let mask = operand.components().written();
        let target = match operand.file() {
            RegisterFile::Null => return Ok(Destination { target: Target::Null, mask: Mask::NONE }),
            RegisterFile::Temp => Target::Temp(self.constant_index(operand)?),
            RegisterFile::Output if self.writes_control_points() => {
                let [place] = self.places(operand)?;
                Target::ControlPoint { row: self.control_point_row(place)? }
            }
            RegisterFile::Output => {
                let [place] = self.places(operand)?;
                match (place.dynamic, self.registers.outputs.indexed) {
                    (None, _) => Target::Output(Register::Numbered(place.base)),
                    (Some(_), Some(indexed)) if mask.components().all(|component| indexed.has(component)) => {
                        let index = self.index_value(Place { base: place.base.wrapping_sub(indexed.first), ..place });
                        Target::Array { array: indexed.array, index }
                    }
                    _ => return Err(self.invalid("a dynamic index outside the declared index ranges")),
                }
            }
            RegisterFile::IndexableTemp => {
                let [number, place] = self.places(operand)?;
                let array = self.indexable_temp(number, mask)?;
                Target::Array { array, index: self.index_value(place) }
            }
            file @ (RegisterFile::OutputDepth
            | RegisterFile::OutputDepthGe
            | RegisterFile::OutputDepthLe
            | RegisterFile::OutputCoverage
            | RegisterFile::OutputStencilRef) => Target::Output(Register::Named(file)),
            file => return Err(self.unsupported(format!("destination {}", file.letters()))),
        };
        Ok(Destination { target, mask })
    }

    /// Writes one component of a destination.
    pub(super) fn write(
        &mut self,
        destination: &Destination,
        component: Component,
        value: Value,
    ) -> Result<(), LowerError> {
        let number = component.index() as u8;
        match destination.target {
            Target::Null => {}
            Target::ControlPoint { row } => self.write_control_point(row, number, value),
            Target::Array { array, index } => self.b.array_store(array, number, index, value),
            Target::Temp(register) => {
                let variable = self.registers.temp(register, component).map_err(|refusal| refusal.at(self.offset))?;
                let variable = variable.expect("every component that is written has a variable");
                let value = as_float(&mut self.b, value);
                self.b.def_var(variable, value);
            }
            Target::Output(register) => {
                if let Some(indexed) = self.registers.outputs.indexed
                    && let Some(index) = indexed.index(register, component)
                {
                    let index = self.b.i32(index);
                    self.b.array_store(indexed.array, number, index, value);
                    return Ok(());
                }
                let Some(variable) = self.registers.outputs.variable(register, component) else {
                    let name = register_name("o", register, component);
                    return Err(self.invalid(format!("{name} is not in the output signature")));
                };
                let value = as_float(&mut self.b, value);
                self.b.def_var(variable, value);
            }
        }
        Ok(())
    }

    /// The array of an `x#` that has the components of `mask`.
    fn indexable_temp(&mut self, number: Place, mask: Mask) -> Result<shaderjit_ir::Array, LowerError> {
        let Place { base: register, dynamic: None } = number else {
            return Err(self.invalid("a dynamic choice of x#"));
        };
        match self.registers.arrays.get(&(self.registers.phase, register)) {
            Some(temp) if mask.bits() >> temp.components == 0 => Ok(temp.array),
            Some(_) => Err(self.invalid(format!("x{register} has no component {mask}"))),
            None => Err(self.invalid(format!("x{register} is not declared"))),
        }
    }

    /// The one constant index of an operand.
    fn constant_index(&self, operand: &Operand) -> Result<u32, LowerError> {
        match operand.constant_indices() {
            Some(&[register]) => Ok(register),
            _ => Err(self.invalid(format!("{} takes one constant index", operand.file().letters()))),
        }
    }

    /// The operand's indices, which must be `N`.
    pub(super) fn places<const N: usize>(&mut self, operand: &Operand) -> Result<[Place; N], LowerError> {
        if operand.index_count() != N {
            let (count, letters) = (operand.index_count(), operand.file().letters());
            return Err(self.invalid(format!("{letters} with {count} indices")));
        }
        let mut places = [Place { base: 0, dynamic: None }; N];
        for (place, Index { immediate, relative }) in places.iter_mut().zip(operand.indices()) {
            // Operands in indices are nested no deeper than the decoder allows.
            let dynamic = relative.map(|relative| self.read(relative, Component::X, DataClass::Int)).transpose()?;
            *place = Place { base: immediate, dynamic };
        }
        Ok(places)
    }

    /// An index as one `i32`.
    pub(super) fn index_value(&mut self, place: Place) -> Value {
        match place {
            Place { base, dynamic: None } => self.b.i32(base),
            Place { base: 0, dynamic: Some(index) } => index,
            Place { base, dynamic: Some(index) } => {
                let base = self.b.i32(base);
                self.b.iadd([index, base])
            }
        }
    }
}

/// How errors name a component of a register: `v3.x`, `oDepth`.
fn register_name(letters: &str, register: Register, component: Component) -> String {
    match register {
        Register::Numbered(number) => format!("{letters}{number}.{}", component.letter()),
        Register::Named(file) => file.letters().to_string(),
    }
}

/// Two's complement negation.
fn negate(b: &mut FunctionBuilder, value: Value) -> Value {
    let zero = b.i32(0);
    b.isub([zero, value])
}
