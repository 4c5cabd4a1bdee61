//! Inputs and outputs: locations are elements, builtins what Direct3D calls system values.
//!
//! An input variable is a variable of the invocation that is set at its beginning, an output variable one that is
//! stored at its end; what nobody reads is dropped as any dead code is.

use shaderjit_ir::{SysVal, Type, Value};
use spirv::{BuiltIn, ExecutionMode, StorageClass};

use super::slots::{Elements, Exchanged, Slot};
use super::types::Scalar;
use super::variables::Storage;
use super::{Def, Lowering};
use crate::error::LowerError;
use crate::frontend::threads;
use crate::frontend::{UniformDecl, UniformKind};
use crate::stage::Stage;

impl Lowering<'_> {
    /// Takes what an entry point's execution modes say.
    pub(super) fn execution_modes(&mut self) -> Result<(), LowerError> {
        self.check_float_controls()?;
        if self.stage != Stage::Compute {
            return Ok(());
        }
        let size = self.group_size()?;
        let Some([x, y, z]) = size else { return Err(self.invalid("a compute shader without a group's size")) };
        let count = [x, y, z].iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
        if count == 0 {
            return Err(self.invalid("a group without invocations"));
        }
        self.limit("number of invocations of a group", count, threads::MAX_THREADS)?;
        self.b.set_threads(count as u32);
        self.interface.thread_group = Some([x, y, z]);
        Ok(())
    }

    /// Refuses modes that ask for other floats than there are: those of 32 bits flush denormals, those of 16 and 64
    /// keep them; all round to nearest even, and keep the signs of zeros, infinities and NaNs.
    fn check_float_controls(&mut self) -> Result<(), LowerError> {
        for mode in &self.declared.modes {
            let width = mode.operands.first().copied().unwrap_or(0);
            let is_kept = match mode.mode {
                ExecutionMode::DenormPreserve => width != 32,
                ExecutionMode::DenormFlushToZero => width == 32,
                ExecutionMode::RoundingModeRTZ => false,
                _ => true,
            };
            if !is_kept {
                let what = format!("{:?} of {width} bits", mode.mode);
                return Err(LowerError::Unsupported { what, offset: mode.offset });
            }
        }
        Ok(())
    }

    /// The invocations of a group in x, y and z: those of the constant that is decorated so, else of the mode.
    fn group_size(&self) -> Result<Option<[u32; 3]>, LowerError> {
        let sizes = self.globals.iter().filter_map(|(&id, def)| match (self.declared.of(id).built_in, def) {
            (Some(BuiltIn::WorkgroupSize), Def::Constant { bits, .. }) => {
                <[u64; 3]>::try_from(&bits[..]).ok().map(|size| (id, size))
            }
            _ => None,
        });
        if let Some((_, size)) = sizes.min() {
            return Ok(Some(size.map(|bits| bits as u32)));
        }
        if let Some(mode) = self.declared.mode(ExecutionMode::LocalSizeId)
            && let [x, y, z] = mode.operands[..]
        {
            let mut size = [0; 3];
            for (size, id) in size.iter_mut().zip([x, y, z]) {
                let literal = self.literal(id)?;
                *size = literal.ok_or_else(|| self.invalid("the size of a group is no constant"))?;
            }
            return Ok(Some(size));
        }
        Ok(match self.declared.mode(ExecutionMode::LocalSize).map(|mode| &mode.operands[..]) {
            Some(&[x, y, z]) => Some([x, y, z]),
            _ => None,
        })
    }

    // ---- inputs

    /// Sets the input variables.
    pub(super) fn load_inputs(&mut self) -> Result<(), LowerError> {
        let mut inputs = Vec::with_capacity(self.variables.inputs.len());
        for (id, local) in self.variables.inputs.clone() {
            inputs.push(self.exchanged(id, StorageClass::Input, local)?);
        }
        match self.stage {
            Stage::Geometry | Stage::Hull => return self.load_vertices(&inputs),
            Stage::Domain => return self.load_patch(&inputs),
            _ => {}
        }
        let located = |&(slot, _): &(Slot, Scalar)| slot.built_in().is_none();
        let elements = Elements::new("LOCATION", inputs.iter().flat_map(Exchanged::slots).filter(located));
        self.interface.inputs = elements.elements();
        if self.stage == Stage::Pixel {
            let read: Vec<BuiltIn> = inputs.iter().flat_map(|input| &input.slots).filter_map(Slot::built_in).collect();
            let ids: Vec<u32> = inputs.iter().map(|input| input.id).collect();
            self.pixel_inputs(&ids, &read)?;
        }
        for input in &inputs {
            let mut values = Vec::with_capacity(input.slots.len());
            for (slot, scalar) in input.slots() {
                values.push(match (slot, elements.place(slot)) {
                    (Slot::BuiltIn { built_in, number }, _) => self.built_in_value(built_in, number, scalar)?,
                    (_, Some((number, component))) => {
                        let value = self.b.input(scalar.ir(), number, component);
                        self.given(scalar, value)
                    }
                    (_, None) => self.b.constant(scalar.ir(), 0),
                });
            }
            let places = input.slots.iter().map(|&slot| elements.place(slot)).collect();
            self.note_places(input.local, places);
            self.set_local(input.local, &values)?;
        }
        self.b.set_elements(self.interface.inputs.len() as u32, 0);
        Ok(())
    }

    /// What a stage before has given, as a scalar is held.
    pub(super) fn given(&mut self, scalar: Scalar, value: Value) -> Value {
        match scalar {
            Scalar::Int { width: width @ (8 | 16), .. } => self.held(scalar, value, width),
            _ => value,
        }
    }

    /// A scalar of a builtin, which must be of its type.
    pub(super) fn built_in_value(
        &mut self,
        built_in: BuiltIn,
        number: u32,
        scalar: Scalar,
    ) -> Result<Value, LowerError> {
        let value = self.built_in_input(built_in, number)?;
        if self.b.ty(value) != scalar.ir() {
            return Err(self.invalid(format!("builtin {built_in:?} of another type")));
        }
        Ok(value)
    }

    fn built_in_input(&mut self, built_in: BuiltIn, number: u32) -> Result<Value, LowerError> {
        let component = (number as u8).min(3);
        if let Some(value) = self.subgroup_built_in(built_in, number) {
            return Ok(value);
        }
        match (built_in, self.stage) {
            (BuiltIn::VertexIndex, Stage::Vertex) => Ok(self.b.sysval(SysVal::VertexId)),
            (BuiltIn::InstanceIndex, Stage::Vertex) => Ok(self.b.sysval(SysVal::InstanceId)),
            // A call is a draw of its own, whose vertices and instances have the numbers that the call gives them.
            (BuiltIn::BaseVertex | BuiltIn::BaseInstance | BuiltIn::DrawIndex, _) | (BuiltIn::ViewIndex, _) => {
                Ok(self.b.i32(0))
            }
            (BuiltIn::LocalInvocationIndex, Stage::Compute) => Ok(self.b.sysval(SysVal::VertexId)),
            (BuiltIn::LocalInvocationId, Stage::Compute) => {
                let threads = self.threads();
                Ok(threads::in_group(&mut self.b, threads, component))
            }
            (BuiltIn::WorkgroupId, Stage::Compute) => Ok(self.group_row(0, component)),
            (BuiltIn::NumWorkgroups, Stage::Compute) => Ok(self.group_row(1, component)),
            (BuiltIn::GlobalInvocationId, Stage::Compute) => {
                let threads = self.threads();
                let (inside, group) =
                    (threads::in_group(&mut self.b, threads, component), self.group_row(0, component));
                let size = self.b.i32(threads[usize::from(component).min(2)]);
                let first = self.b.imul([group, size]);
                Ok(self.b.iadd([first, inside]))
            }
            (BuiltIn::WorkgroupSize, Stage::Compute) => Ok(self.b.i32(self.threads()[usize::from(component).min(2)])),
            (_, Stage::Pixel) => self.pixel_built_in(built_in, component),
            (_, Stage::Geometry | Stage::Hull) => self.primitive_built_in(built_in),
            (_, Stage::Domain) => self.patch_built_in(built_in, component),
            _ => Err(self.unsupported(format!("builtin {built_in:?}"))),
        }
    }

    fn threads(&self) -> [u32; 3] {
        self.interface.thread_group.expect("a compute shader has it")
    }

    /// A component of the group's number, or of the number of groups.
    fn group_row(&mut self, row: u32, component: u8) -> Value {
        let space = match self.group {
            Some(space) => space,
            None => {
                let space = self.b.add_space("group", None);
                self.interface.uniforms.push(UniformDecl::new(space, UniformKind::Group, 2));
                *self.group.insert(space)
            }
        };
        self.b.uniform_load(Type::I32, space, row, component)
    }

    // ---- outputs

    /// Stores the output variables: builtins that anything writes, and all locations. Of a hull shader those are the
    /// patch constants.
    pub(super) fn store_outputs(&mut self) -> Result<(), LowerError> {
        let mut outputs = Vec::with_capacity(self.variables.outputs.len());
        for output in self.outputs()?.into_iter().filter(|output| output.vertices.is_none()) {
            let written = self.variables.locals[output.local].written.clone();
            outputs.push((output, written));
        }
        let of_one = |(output, written): &(Exchanged, Vec<bool>)| {
            let is_there = |(slot, written): &((Slot, Scalar), &bool)| **written || slot.0.built_in().is_none();
            let slots: Vec<_> = output.slots().zip(written).filter(is_there).map(|(slot, _)| slot).collect();
            slots
        };
        // A pixel's are the render targets.
        let semantic = if self.stage == Stage::Pixel { "SV_Target" } else { "LOCATION" };
        let elements = Elements::new(semantic, outputs.iter().flat_map(of_one));
        for (output, written) in &outputs {
            for (number, &slot) in output.slots.iter().enumerate().filter(|&(number, _)| written[number]) {
                match (slot, elements.place(slot)) {
                    (Slot::Unused, _) => {}
                    (_, Some((element, component))) => {
                        let value = self.output_scalar(output.local, number);
                        self.b.output(element, component, value);
                    }
                    (_, None) => return Err(self.unsupported(format!("{slot:?} as an output"))),
                }
            }
        }
        self.interface.outputs = elements.elements();
        match self.stage {
            Stage::Pixel => self.finish_pixel(),
            Stage::Hull => self.finish_hull(&elements),
            _ => {}
        }
        let (inputs, outputs) = (self.interface.inputs.len(), self.interface.outputs.len());
        self.b.set_elements(inputs as u32, outputs as u32);
        Ok(())
    }

    /// The output variables.
    pub(super) fn outputs(&self) -> Result<Vec<Exchanged>, LowerError> {
        let outputs = self.variables.outputs.iter();
        outputs.map(|&(id, local)| self.exchanged(id, StorageClass::Output, local)).collect()
    }

    /// A scalar of an output variable as a word.
    pub(super) fn output_scalar(&mut self, local: usize, number: usize) -> Value {
        let value = match self.variables.locals[local].storage.clone() {
            Storage::Registers(variables) => self.b.use_var(variables[number]),
            Storage::Array { array, scalars } => {
                let index = self.b.i32(number as u32);
                self.array_load(array, scalars[number], index)
            }
        };
        match self.b.ty(value) {
            Type::I1 => self.truth(value),
            _ => value,
        }
    }
}
