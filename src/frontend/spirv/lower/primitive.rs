//! What the stages between vertices and pixels read: vertices of primitives, control points and constants of patches.
//!
//! A variable that has a value of each vertex is an array of them. Vertices are input elements; what a tessellation
//! evaluation shader sees of its patch is rows of a uniform space.

use shaderjit_ir::{Space, Type, Value};
use spirv::{BuiltIn, ExecutionMode};

use super::Lowering;
use super::slots::{Elements, Exchanged, Slot};
use crate::error::LowerError;
use crate::frontend::{
    ComponentType, DomainInterface, Element, PrimitiveInputs, PrimitiveStage, UniformDecl, UniformKind,
};
use crate::stage::Stage;
use crate::tessellator::{Domain, Partitioning, TessellationModes};

/// Most vertices or control points, and what arrays of them have as their length that have none in GLSL
/// (`gl_MaxPatchVertices`).
pub(super) const MAX_VERTICES: u32 = 32;

/// What lowering keeps of primitives and patches.
#[derive(Default)]
pub(super) struct Primitive {
    /// What is read of each vertex.
    pub inputs: Option<PrimitiveInputs>,
    /// What a tessellation evaluation shader sees of its patch.
    patch: Option<(DomainInterface, Space)>,
}

impl Lowering<'_> {
    /// The number that an execution mode has, if it is declared.
    pub(super) fn mode_number(&self, mode: ExecutionMode) -> Option<u32> {
        self.declared.mode(mode).and_then(|mode| mode.operands.first().copied())
    }

    /// Vertices of a primitive that a geometry shader reads.
    fn vertices_of_primitive(&self) -> Result<u32, LowerError> {
        let modes = [
            (ExecutionMode::InputPoints, 1),
            (ExecutionMode::InputLines, 2),
            (ExecutionMode::Triangles, 3),
            (ExecutionMode::InputLinesAdjacency, 4),
            (ExecutionMode::InputTrianglesAdjacency, 6),
        ];
        let declared = modes.into_iter().find(|&(mode, _)| self.declared.mode(mode).is_some());
        declared.map(|(_, vertices)| vertices).ok_or_else(|| self.invalid("the input primitive is not declared"))
    }

    /// Control points that a patch has when a tessellation control shader reads it: as many as the caller says, else
    /// as its arrays are long. Those of GLSL have no length; then as many as it makes.
    fn vertices_of_patch(&self, inputs: &[Exchanged]) -> Result<u32, LowerError> {
        let declared = inputs.iter().filter_map(|input| input.vertices).max().filter(|&length| length < MAX_VERTICES);
        let count = self.options.patch_vertices.or(declared).or(self.mode_number(ExecutionMode::OutputVertices));
        match count {
            Some(count @ 1..=MAX_VERTICES) => Ok(count),
            Some(count) => Err(self.invalid(format!("patches of {count} control points"))),
            None => Err(self.invalid("the number of control points is not declared")),
        }
    }

    /// What execution modes say of how patches are divided.
    pub(super) fn tessellation_modes(&self) -> TessellationModes {
        let has = |mode| self.declared.mode(mode).is_some();
        let domains = [
            (ExecutionMode::Triangles, Domain::Tri),
            (ExecutionMode::Quads, Domain::Quad),
            (ExecutionMode::Isolines, Domain::Isoline),
        ];
        let partitionings = [
            (ExecutionMode::SpacingEqual, Partitioning::Integer),
            (ExecutionMode::SpacingFractionalOdd, Partitioning::FractionalOdd),
            (ExecutionMode::SpacingFractionalEven, Partitioning::FractionalEven),
        ];
        let orders = [(ExecutionMode::VertexOrderCw, true), (ExecutionMode::VertexOrderCcw, false)];
        TessellationModes {
            domain: domains.into_iter().find(|&(mode, _)| has(mode)).map(|(_, domain)| domain),
            partitioning: partitionings.into_iter().find(|&(mode, _)| has(mode)).map(|(_, partitioning)| partitioning),
            clockwise: orders.into_iter().find(|&(mode, _)| has(mode)).map(|(_, clockwise)| clockwise),
            points: has(ExecutionMode::PointMode),
        }
    }

    // ---- primitives

    /// Sets the input variables of a geometry or tessellation control shader.
    pub(super) fn load_vertices(&mut self, inputs: &[Exchanged]) -> Result<(), LowerError> {
        let vertices = match self.stage {
            Stage::Geometry => self.vertices_of_primitive()?,
            _ => self.vertices_of_patch(inputs)?,
        };
        let of_vertex = inputs.iter().filter(|input| input.vertices.is_some());
        let elements = Elements::new("LOCATION", of_vertex.flat_map(Exchanged::slots));
        let of_one = elements.elements();
        let reads = PrimitiveInputs { vertices, elements: of_one.len() as u32 };
        self.interface.inputs = (0..vertices).flat_map(|_| of_one.iter().cloned()).collect();
        self.interface.inputs.extend(["SV_PrimitiveID", "SV_GSInstanceID"].map(Element::scalar));
        self.primitive.inputs = Some(reads);
        for input in inputs {
            let mut values = Vec::new();
            for vertex in 0..input.vertices.unwrap_or(1) {
                for (slot, scalar) in input.slots() {
                    let place = elements.place(slot).filter(|_| vertex < vertices);
                    values.push(match (slot, place) {
                        (Slot::BuiltIn { built_in, number }, _) if input.vertices.is_none() => {
                            self.built_in_value(built_in, number, scalar)?
                        }
                        (Slot::Location { .. }, _) if input.vertices.is_none() => {
                            return Err(self.invalid("an input that is no array of vertices"));
                        }
                        (Slot::BuiltIn { built_in, .. }, None) if vertex < vertices => {
                            return Err(self.unsupported(format!("builtin {built_in:?} of each vertex")));
                        }
                        (_, Some((element, component))) => {
                            let value = self.b.input(scalar.ir(), reads.element(vertex, element), component);
                            self.given(scalar, value)
                        }
                        (_, None) => self.b.constant(scalar.ir(), 0),
                    });
                }
                self.check_cost()?;
            }
            self.set_local(input.local, &values)?;
            if input.slots().any(|(slot, _)| slot.built_in() == Some(BuiltIn::InvocationId)) {
                self.instance_is_in(input.local);
            }
        }
        self.b.set_elements(self.interface.inputs.len() as u32, 0);
        Ok(())
    }

    /// A builtin of a whole primitive or patch.
    pub(super) fn primitive_built_in(&mut self, built_in: BuiltIn) -> Result<Value, LowerError> {
        let inputs = self.primitive.inputs.expect("the vertices were counted");
        match (built_in, self.stage) {
            (BuiltIn::PrimitiveId, _) => Ok(self.b.input(Type::I32, inputs.primitive_id(), 0)),
            (BuiltIn::InvocationId, Stage::Geometry) => Ok(self.b.input(Type::I32, inputs.instance_id(), 0)),
            // Each phase sets it.
            (BuiltIn::InvocationId, _) => Ok(self.b.i32(0)),
            (BuiltIn::PatchVertices, Stage::Hull) => Ok(self.b.i32(inputs.vertices)),
            _ => Err(self.unsupported(format!("builtin {built_in:?}"))),
        }
    }

    // ---- patches

    /// Sets the input variables of a tessellation evaluation shader.
    pub(super) fn load_patch(&mut self, inputs: &[Exchanged]) -> Result<(), LowerError> {
        let is_constant = |&(slot, _): &(Slot, _)| {
            matches!(slot.built_in(), None | Some(BuiltIn::TessLevelOuter | BuiltIn::TessLevelInner))
        };
        let (points, whole): (Vec<&Exchanged>, Vec<&Exchanged>) =
            inputs.iter().partition(|input| input.vertices.is_some());
        let elements = Elements::new("LOCATION", points.iter().flat_map(|input| input.slots())).with_registers();
        let constants = whole.iter().flat_map(|input| input.slots()).filter(is_constant);
        let constants = Elements::new("LOCATION", constants).with_registers();
        let control_points = points.iter().filter_map(|input| input.vertices).max().unwrap_or(0);
        if control_points > MAX_VERTICES {
            return Err(self.invalid(format!("patches of {control_points} control points")));
        }
        let patch = DomainInterface {
            modes: self.tessellation_modes(),
            control_points,
            is_open: control_points == MAX_VERTICES,
            elements: elements.elements(),
            constants: constants.elements(),
        };
        let space = self.b.add_space("patch", None);
        self.interface.uniforms.push(UniformDecl::new(space, UniformKind::Patch, patch.primitive_row() + 1));
        self.interface.primitive = Some(PrimitiveStage::Domain(patch.clone()));
        let location = Element { mask: 0b0111, ty: ComponentType::F32, ..Element::scalar("SV_DomainLocation") };
        self.interface.inputs = vec![location];
        self.primitive.patch = Some((patch.clone(), space));
        for input in inputs {
            let (elements, is_point) = if input.vertices.is_some() { (&elements, true) } else { (&constants, false) };
            let mut values = Vec::new();
            for point in 0..input.vertices.unwrap_or(1) {
                for (slot, scalar) in input.slots() {
                    values.push(match (slot, elements.place(slot)) {
                        (_, Some((number, component))) => {
                            let element =
                                if is_point { &patch.elements } else { &patch.constants }[number as usize].register;
                            let row = if is_point {
                                patch.control_point_row(point, element)
                            } else {
                                patch.constant_row(element)
                            };
                            let value = self.b.uniform_load(scalar.ir(), space, row, component);
                            self.given(scalar, value)
                        }
                        (Slot::BuiltIn { built_in, number }, None) if !is_point => {
                            self.built_in_value(built_in, number, scalar)?
                        }
                        (Slot::BuiltIn { built_in, .. }, None) => {
                            return Err(self.unsupported(format!("builtin {built_in:?} of each control point")));
                        }
                        (_, None) => self.b.constant(scalar.ir(), 0),
                    });
                }
                self.check_cost()?;
            }
            self.set_local(input.local, &values)?;
        }
        self.b.set_elements(1, 0);
        Ok(())
    }

    /// A builtin of a point of a patch, or of the patch.
    pub(super) fn patch_built_in(&mut self, built_in: BuiltIn, component: u8) -> Result<Value, LowerError> {
        let (patch, space) = self.primitive.patch.as_ref().expect("the patch was declared");
        let (row, space) = (patch.primitive_row(), *space);
        match built_in {
            BuiltIn::TessCoord if component < 3 => Ok(self.b.input(Type::F32, 0, component)),
            BuiltIn::PrimitiveId => Ok(self.b.uniform_load(Type::I32, space, row, 0)),
            BuiltIn::PatchVertices => Ok(self.b.uniform_load(Type::I32, space, row, 1)),
            _ => Err(self.unsupported(format!("builtin {built_in:?}"))),
        }
    }
}
