//! Registers of vertices and control points, which are named by two numbers: which vertex, and which register of it.
//!
//! Where both are known, a component is an input element's; where one is not, the registers that could be meant are
//! copied to an array first. What a domain shader sees is the same for its whole patch and lies in a uniform space.

use shaderjit_ir::{Array, FunctionBuilder, Space, Type, Value};

use super::elements::{InputComponent, Inputs, Register, element};
use super::operand::Place;
use super::registers::{Refusal, limit};
use super::{Lowering, MAX_SIGNATURE_REGISTERS};
use crate::container::dxbc::Signature;
use crate::error::LowerError;
use crate::frontend::sm4::codes::Primitive;
use crate::frontend::sm4::declaration::Declaration;
use crate::frontend::sm4::decode::{Body, Instruction, Program};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::{
    DomainInterface, Element, Interface, PrimitiveInputs, PrimitiveStage, UniformDecl, UniformKind, registers,
};
use crate::tessellator::{Domain, TessellationModes};

/// Most vertices or control points (Direct3D 11: `D3D11_IA_PATCH_MAX_CONTROL_POINT_COUNT`).
pub(super) const MAX_VERTICES: u32 = 32;

/// Most input elements: a component of each register is one.
const MAX_ELEMENTS: u64 = 4 * MAX_SIGNATURE_REGISTERS * MAX_VERTICES as u64;

/// The vertices of a primitive.
#[derive(Clone, Copy)]
pub(super) struct Vertices {
    pub inputs: PrimitiveInputs,
    /// Those that some index chooses, so many rows a vertex.
    array: Option<(Array, u32)>,
}

/// The patch that a domain shader sees.
pub(super) struct Patch {
    pub interface: DomainInterface,
    space: Space,
}

/// How many vertices a primitive has.
pub(super) fn vertices_of(primitive: Primitive) -> Option<u32> {
    Some(match primitive {
        Primitive::Undefined => return None,
        Primitive::Point => 1,
        Primitive::Line => 2,
        Primitive::Triangle => 3,
        Primitive::LineAdj => 4,
        Primitive::TriangleAdj => 6,
        patch => patch.number() - Primitive::Patch1.number() + 1,
    })
}

/// Calls something with every operand of a program, those in indices among them.
fn operands<'p>(program: &'p Program, mut see: impl FnMut(&'p Operand)) {
    let mut open: Vec<&Operand> = program.instructions.iter().flat_map(|instruction| instruction.operands()).collect();
    while let Some(operand) = open.pop() {
        open.extend(operand.indices().filter_map(|index| index.relative));
        see(operand);
    }
}

/// Whether an operand of one of these files has an index that is not known.
fn is_indexed(operand: &Operand, files: &[RegisterFile]) -> bool {
    files.contains(&operand.file()) && operand.indices().any(|index| index.relative.is_some())
}

/// What names registers of the vertices: `v` and `vicp`, and in hull shaders that pass control points through `vocp`.
fn files(program: &Program) -> Vec<RegisterFile> {
    let makes_points =
        |instruction: &Instruction| matches!(instruction.body, Body::Declaration(Declaration::HsControlPointPhase));
    let mut files = vec![RegisterFile::Input, RegisterFile::InputControlPoint];
    files.extend((!program.instructions.iter().any(makes_points)).then_some(RegisterFile::OutputControlPoint));
    files
}

/// Whether some operand names the file.
pub(super) fn names(program: &Program, file: RegisterFile) -> bool {
    let mut found = false;
    operands(program, |operand| found |= operand.file() == file);
    found
}

impl Vertices {
    /// Primitives of so many vertices: pushes the elements of all of them, and behind them the primitive's number and
    /// the instance's.
    pub fn new(
        count: u32,
        of_one: &[Element],
        program: &Program,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<Vertices, Refusal> {
        limit_registers(of_one)?;
        limit("elements of all vertices", u64::from(count) * of_one.len() as u64, MAX_ELEMENTS)?;
        interface.inputs = (0..count).flat_map(|_| of_one).cloned().collect();
        interface.inputs.extend(["SV_PrimitiveID", "SV_GSInstanceID"].map(Element::scalar));
        let files = files(program);
        let mut indexed = false;
        operands(program, |operand| indexed |= is_indexed(operand, &files));
        let rows = registers(of_one);
        let array = (indexed && rows > 0).then(|| (b.add_array(count * rows, 4), rows));
        Ok(Vertices { inputs: PrimitiveInputs { vertices: count, elements: of_one.len() as u32 }, array })
    }

    /// Copies what may be indexed into its array.
    pub fn fill(&self, inputs: &Inputs, program: &Program, b: &mut FunctionBuilder) {
        let Some((array, rows)) = self.array else { return };
        let mut may_be_meant = vec![false; rows as usize];
        let files = files(program);
        operands(program, |operand| {
            let register = operand.index(1).filter(|_| is_indexed(operand, &files));
            match register {
                Some(register) if register.relative.is_none() => {
                    may_be_meant.iter_mut().skip(register.immediate as usize).take(1).for_each(|meant| *meant = true);
                }
                Some(_) => may_be_meant.fill(true),
                None => {}
            }
        });
        for vertex in 0..self.inputs.vertices {
            for register in (0..rows).filter(|&register| may_be_meant[register as usize]) {
                for component in Mask::ALL.components() {
                    let place = inputs.get(Register::Numbered(register), component);
                    let Some(InputComponent::Element { number, component: from }) = place else { continue };
                    let value = b.input(Type::F32, self.inputs.element(vertex, number), from);
                    let index = b.i32(vertex * rows + register);
                    b.array_store(array, component.index() as u8, index, value);
                }
            }
        }
    }
}

impl Patch {
    /// The patch of these signatures, in a space of its own. The location becomes the input element.
    pub fn new(
        domain: Domain,
        control_points: u32,
        [inputs, constants]: [&Signature<'_>; 2],
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<Patch, Refusal> {
        let elements = |signature: &Signature<'_>| signature.elements.iter().map(element).collect();
        let patch = DomainInterface {
            modes: TessellationModes { domain: Some(domain), ..TessellationModes::default() },
            control_points,
            is_open: false,
            elements: elements(inputs),
            constants: elements(constants),
        };
        limit_registers(&patch.elements)?;
        limit_registers(&patch.constants)?;
        let space = b.add_space("patch", None);
        interface.uniforms.push(UniformDecl::new(space, UniformKind::Patch, patch.primitive_row() + 1));
        interface.primitive = Some(PrimitiveStage::Domain(patch.clone()));
        Ok(Patch { interface: patch, space })
    }
}

/// The location of a domain point: u, v and, on triangles, w.
pub(super) fn location() -> Element {
    Element { mask: 0b0111, ty: crate::frontend::ComponentType::F32, ..Element::scalar("SV_DomainLocation") }
}

impl Lowering {
    /// A component of a vertex's or control point's register.
    pub(super) fn load_vertex(
        &mut self,
        operand: &Operand,
        component: Component,
        ty: Type,
    ) -> Result<Value, LowerError> {
        let [vertex, register] = self.places(operand)?;
        let letters = operand.file().letters();
        if let Some(Patch { interface, space }) = &self.registers.patch {
            let (space, rows) = (*space, registers(&interface.elements));
            self.check_vertex(letters, vertex, interface.control_points)?;
            self.check_register(letters, register, rows)?;
            let row = self.row_among(vertex, rows, register);
            return Ok(self.load_row(space, row, component, ty));
        }
        let Some(Vertices { inputs, array }) = self.registers.vertices else {
            return Err(self.unsupported(format!("operand {letters} with two indices")));
        };
        self.check_vertex(letters, vertex, inputs.vertices)?;
        if register.dynamic.is_none() {
            let place = self.registers.inputs.get(Register::Numbered(register.base), component);
            let Some(InputComponent::Element { number, component }) = place else {
                let what =
                    format!("{letters}[][{}].{} is not in the input signature", register.base, component.letter());
                return Err(self.invalid(what));
            };
            if vertex.dynamic.is_none() {
                return Ok(self.b.input(ty, inputs.element(vertex.base, number), component));
            }
        }
        let Some((array, rows)) = array else {
            return Err(self.invalid("an index into a signature without registers"));
        };
        let row = self.row_among(vertex, rows, register);
        let index = self.index_value(row);
        Ok(self.b.array_load(ty, array, component.index() as u8, index))
    }

    fn check_vertex(&self, letters: &str, vertex: Place, count: u32) -> Result<(), LowerError> {
        match vertex {
            Place { base, dynamic: None } if base >= count => {
                Err(self.invalid(format!("{letters}[{base}] of a primitive with {count} vertices")))
            }
            _ => Ok(()),
        }
    }

    fn check_register(&self, letters: &str, register: Place, count: u32) -> Result<(), LowerError> {
        match register {
            Place { base, dynamic: None } if base >= count => {
                Err(self.invalid(format!("{letters} with register {base}, which is not in the signature")))
            }
            _ => Ok(()),
        }
    }

    /// The row of a register of one of several that each have so many.
    pub(super) fn row_among(&mut self, one: Place, rows: u32, register: Place) -> Place {
        let base = one.base.wrapping_mul(rows).wrapping_add(register.base);
        let scaled = one.dynamic.map(|number| {
            let rows = self.b.i32(rows);
            self.b.imul([number, rows])
        });
        let dynamic = match (scaled, register.dynamic) {
            (Some(one), Some(register)) => Some(self.b.iadd([one, register])),
            (one, register) => one.or(register),
        };
        Place { base, dynamic }
    }

    /// A component of a patch constant.
    pub(super) fn load_patch_constant(
        &mut self,
        operand: &Operand,
        component: Component,
        ty: Type,
    ) -> Result<Value, LowerError> {
        let [place] = self.places(operand)?;
        if let Some(Patch { interface, space }) = &self.registers.patch {
            let (space, first) = (*space, interface.constant_row(0));
            self.check_register("vpc", place, registers(&interface.constants))?;
            let row = Place { base: first.wrapping_add(place.base), ..place };
            return Ok(self.load_row(space, row, component, ty));
        }
        if self.registers.hull.is_none() {
            return Err(self.unsupported("operand vpc"));
        }
        match place.dynamic {
            Some(_) => self.load_indexed(self.registers.outputs.indexed, place, component, ty),
            None => {
                let value = self.read_written(Register::Numbered(place.base), component);
                Ok(match value {
                    Some(value) => self.typed(value, ty),
                    // Nothing ever writes it.
                    None => self.b.constant(ty, 0),
                })
            }
        }
    }

    /// The number of the primitive or patch.
    pub(super) fn primitive_id(&mut self) -> Result<Value, LowerError> {
        if let Some(Patch { interface, space }) = &self.registers.patch {
            return Ok(self.b.uniform_load(Type::I32, *space, interface.primitive_row(), 0));
        }
        match self.registers.vertices {
            Some(Vertices { inputs, .. }) => Ok(self.b.input(Type::I32, inputs.primitive_id(), 0)),
            None => Err(self.unsupported("operand vPrim")),
        }
    }

    /// The number of a geometry shader's instance.
    pub(super) fn instance_id(&mut self) -> Result<Value, LowerError> {
        match self.registers.vertices {
            Some(Vertices { inputs, .. }) if self.registers.emitter.is_some() => {
                Ok(self.b.input(Type::I32, inputs.instance_id(), 0))
            }
            _ => Err(self.unsupported("operand vGSInstanceID")),
        }
    }

    /// A coordinate of the domain location; zero behind the third.
    pub(super) fn domain_location(&mut self, component: Component, ty: Type) -> Result<Value, LowerError> {
        match self.registers.patch {
            None => Err(self.unsupported("operand vDomain")),
            Some(_) if component == Component::W => Ok(self.b.constant(ty, 0)),
            Some(_) => Ok(self.b.input(ty, 0, component.index() as u8)),
        }
    }
}

/// That all registers of elements are some that there can be.
pub(super) fn limit_registers(elements: &[Element]) -> Result<(), Refusal> {
    limit("number of a signature's register", registers(elements).into(), MAX_SIGNATURE_REGISTERS)
}

/// The number of control points, which must be there.
pub(super) fn control_points(declared: Option<u32>, least: u32) -> Result<u32, Refusal> {
    match declared {
        Some(count) if (least..=MAX_VERTICES).contains(&count) => Ok(count),
        Some(count) => Err(Refusal::Invalid(format!("{count} control points"))),
        None => Err(Refusal::Invalid("the number of control points is not declared".into())),
    }
}
