//! Domain shaders, and the phases of hull shaders: control points, patch constants, tessellation factors.

use super::Generator;
use super::signature::Element;
use crate::container::dxbc::{StoredType, SystemValue as Stored};
use crate::frontend::sm4::codes::{SystemValue, TessDomain, TessOutput, TessPartitioning};
use crate::frontend::sm4::operand::Mask;
use crate::frontend::sm4::{Declaration, Opcode, OpcodeToken, RegisterFile};
use arbitrary::Result;

/// Control points of a patch at most.
const POINTS: u32 = 5;

/// Statements of a phase at most.
const STATEMENTS: u32 = 24;

/// What the phases of a hull shader share.
#[derive(Clone, Copy)]
pub struct Hull {
    /// Control points of a patch that comes in.
    inputs: u32,
    /// Control points of a patch that goes out.
    outputs: u32,
    /// Whether a phase makes them.
    has_control_point_phase: bool,
    /// How many of the first patch constants are tessellation factors.
    factors: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    ControlPoint,
    Fork,
    Join,
}

/// A tessellation factor: semantic, its number, the signature's value, the declaration's.
type Factor = (&'static str, u32, Stored, SystemValue);

const EDGE: &str = "SV_TessFactor";
const INSIDE: &str = "SV_InsideTessFactor";

const LINE: [Factor; 2] = [
    (EDGE, 0, Stored::FINAL_LINE_DENSITY_TESS_FACTOR, SystemValue::FinalLineDensityTessFactor),
    (EDGE, 1, Stored::FINAL_LINE_DETAIL_TESS_FACTOR, SystemValue::FinalLineDetailTessFactor),
];

const TRI: [Factor; 4] = [
    (EDGE, 0, Stored::FINAL_TRI_EDGE_TESS_FACTOR, SystemValue::FinalTriUeq0EdgeTessFactor),
    (EDGE, 1, Stored::FINAL_TRI_EDGE_TESS_FACTOR, SystemValue::FinalTriVeq0EdgeTessFactor),
    (EDGE, 2, Stored::FINAL_TRI_EDGE_TESS_FACTOR, SystemValue::FinalTriWeq0EdgeTessFactor),
    (INSIDE, 0, Stored::FINAL_TRI_INSIDE_TESS_FACTOR, SystemValue::FinalTriInsideTessFactor),
];

const QUAD: [Factor; 6] = [
    (EDGE, 0, Stored::FINAL_QUAD_EDGE_TESS_FACTOR, SystemValue::FinalQuadUeq0EdgeTessFactor),
    (EDGE, 1, Stored::FINAL_QUAD_EDGE_TESS_FACTOR, SystemValue::FinalQuadVeq0EdgeTessFactor),
    (EDGE, 2, Stored::FINAL_QUAD_EDGE_TESS_FACTOR, SystemValue::FinalQuadUeq1EdgeTessFactor),
    (EDGE, 3, Stored::FINAL_QUAD_EDGE_TESS_FACTOR, SystemValue::FinalQuadVeq1EdgeTessFactor),
    (INSIDE, 0, Stored::FINAL_QUAD_INSIDE_TESS_FACTOR, SystemValue::FinalQuadUInsideTessFactor),
    (INSIDE, 1, Stored::FINAL_QUAD_INSIDE_TESS_FACTOR, SystemValue::FinalQuadVInsideTessFactor),
];

/// The tessellation factors of a domain.
fn factors(domain: TessDomain) -> &'static [Factor] {
    match domain {
        TessDomain::Isoline => &LINE,
        TessDomain::Tri => &TRI,
        _ => &QUAD,
    }
}

impl Generator<'_, '_> {
    fn tess_domain(&mut self) -> Result<TessDomain> {
        let domain = *self.u.choose(&[TessDomain::Isoline, TessDomain::Tri, TessDomain::Quad])?;
        self.declare_as(Opcode::DclTessDomain, Declaration::TessDomain(domain));
        Ok(domain)
    }

    /// Declares what a domain shader reads and gives.
    pub fn declare_domain(&mut self) -> Result<()> {
        let points = self.u.int_in_range(1..=POINTS)?;
        self.declare_as(Opcode::DclInputControlPointCount, Declaration::InputControlPointCount(points));
        let domain = self.tess_domain()?;
        self.declared.points.push((RegisterFile::InputControlPoint, points));
        if self.one_in(3)? {
            self.declare_own_input(RegisterFile::PrimitiveId, Mask::from_bits(1));
        }
        let location = Mask::from_bits(if domain == TessDomain::Tri { 0b0111 } else { 0b0011 });
        self.declare_own_input(RegisterFile::DomainPoint, location);
        self.declared.input_elements = self.read_elements(RegisterFile::InputControlPoint, ["A", "B"])?;
        self.declared.constant_elements = self.read_elements(RegisterFile::PatchConstant, ["K", "L"])?;
        let constants = 0..self.declared.constant_elements.last().and_then(|last| last.register).map_or(0, |n| n + 1);
        self.declared.input_range = self.index_range(RegisterFile::PatchConstant, constants)?;
        self.declare_outputs(0, 0)?;
        Ok(())
    }

    /// Elements whose registers are those of a file, declared.
    fn read_elements(&mut self, file: RegisterFile, semantics: [&'static str; 2]) -> Result<Vec<Element>> {
        let elements = self.elements(semantics, 0)?;
        for element in &elements {
            self.read(file, element, element.used);
        }
        Ok(elements)
    }

    /// Declares that components of an element are read.
    fn read(&mut self, file: RegisterFile, element: &Element, mask: Mask) {
        let operand = self.input_operand(file, element.register.expect("these have registers"), mask);
        self.declare_as(Opcode::DclInput, Declaration::Input { operand, interpolation: None, system_value: None });
    }

    /// Declares what the phases of a hull shader share.
    pub fn declare_hull(&mut self) -> Result<()> {
        let inputs = self.u.int_in_range(1..=POINTS)?;
        let has_control_point_phase = !self.one_in(3)?;
        let outputs = self.u.int_in_range(1..=if has_control_point_phase { POINTS } else { inputs })?;
        self.declare_as(Opcode::DclInputControlPointCount, Declaration::InputControlPointCount(inputs));
        self.declare_as(Opcode::DclOutputControlPointCount, Declaration::OutputControlPointCount(outputs));
        let domain = self.tess_domain()?;
        let partitioning = *self.u.choose(&[
            TessPartitioning::Integer,
            TessPartitioning::Pow2,
            TessPartitioning::FractionalOdd,
            TessPartitioning::FractionalEven,
        ])?;
        self.declare_as(Opcode::DclTessPartitioning, Declaration::TessPartitioning(partitioning));
        let made = match domain {
            TessDomain::Isoline => [TessOutput::Point, TessOutput::Line],
            _ => [TessOutput::TriangleCw, TessOutput::TriangleCcw],
        };
        let made = *self.u.choose(&made)?;
        self.declare_as(Opcode::DclTessOutputPrimitive, Declaration::TessOutput(made));
        if self.one_in(3)? {
            let bits = (self.u.int_in_range(1..=64u8)? as f32).to_bits();
            self.declare_as(Opcode::DclHsMaxTessFactor, Declaration::HsMaxTessFactor { bits });
        }
        let unused = |elements: Vec<Element>| elements.into_iter().map(|e| Element { used: Mask::NONE, ..e });
        self.declared.input_elements = unused(self.elements(["A", "B"], 0)?).collect();
        self.declared.output_elements = match has_control_point_phase {
            true => unused(self.elements(["A", "C"], 0)?).collect(),
            false => self.declared.input_elements.iter().map(|e| Element { used: e.mask, ..*e }).collect(),
        };
        let factors = factors(domain);
        let numbered = (0..).zip(factors).map(|(register, &(semantic, index, system_value, _))| Element {
            semantic,
            index,
            system_value,
            ty: StoredType::F32,
            register: Some(register),
            mask: Mask::from_bits(1),
            used: Mask::NONE,
            stream: 0,
        });
        self.declared.constant_elements = numbered.collect();
        let others = self.elements(["K", "L"], factors.len() as u32)?;
        self.declared.constant_elements.extend(unused(others));
        self.declared.hull = Some(Hull { inputs, outputs, has_control_point_phase, factors: factors.len() });
        Ok(())
    }

    /// The phases of a hull shader. Each patch constant is one phase's.
    pub fn hull_phases(&mut self) -> Result<()> {
        self.phases.append(&mut self.declarations);
        let hull = self.declared.hull.expect("it is declared");
        if hull.has_control_point_phase {
            self.phase(Phase::ControlPoint, &[])?;
        }
        let forks = self.u.int_in_range(1..=3usize)?;
        let phases = forks + self.u.int_in_range(0..=2usize)?;
        let mut constants = vec![Vec::new(); phases];
        for number in 0..self.declared.constant_elements.len() {
            // Some are nobody's.
            if number < hull.factors || !self.one_in(8)? {
                constants[self.u.int_in_range(0..=phases - 1)?].push(number);
            }
        }
        for (number, constants) in constants.iter().enumerate() {
            self.phase(if number < forks { Phase::Fork } else { Phase::Join }, constants)?;
        }
        Ok(())
    }

    /// A phase, which writes these patch constants, or a control point.
    fn phase(&mut self, phase: Phase, constants: &[usize]) -> Result<()> {
        let hull = self.declared.hull.expect("it is declared");
        let declared = &mut self.declared;
        (declared.inputs, declared.outputs, declared.arrays) = Default::default();
        (declared.input_range, declared.output_range, self.loops) = (None, None, 0);
        declared.points = match phase {
            Phase::ControlPoint => vec![(RegisterFile::Input, hull.inputs)],
            _ => vec![(RegisterFile::InputControlPoint, hull.inputs), (RegisterFile::OutputControlPoint, hull.outputs)],
        };
        let instances = self.u.int_in_range(1..=3)?;
        let (opcode, begin, instance) = match phase {
            Phase::ControlPoint => {
                (Opcode::HsControlPointPhase, Declaration::HsControlPointPhase, RegisterFile::OutputControlPointId)
            }
            Phase::Fork => (Opcode::HsForkPhase, Declaration::HsForkPhase, RegisterFile::ForkInstanceId),
            Phase::Join => (Opcode::HsJoinPhase, Declaration::HsJoinPhase, RegisterFile::JoinInstanceId),
        };
        self.declare_as(opcode, begin);
        match phase {
            _ if instances == 1 => {}
            Phase::ControlPoint => {}
            Phase::Fork => {
                self.declare_as(Opcode::DclHsForkPhaseInstanceCount, Declaration::HsForkPhaseInstanceCount(instances))
            }
            Phase::Join => {
                self.declare_as(Opcode::DclHsJoinPhaseInstanceCount, Declaration::HsJoinPhaseInstanceCount(instances))
            }
        }
        if phase == Phase::ControlPoint || instances > 1 {
            self.declare_own_input(instance, Mask::from_bits(1));
        }
        if self.one_in(3)? {
            self.declare_own_input(RegisterFile::PrimitiveId, Mask::from_bits(1));
        }
        let file = if phase == Phase::ControlPoint { RegisterFile::Input } else { RegisterFile::InputControlPoint };
        let mut elements = std::mem::take(&mut self.declared.input_elements);
        self.read_some(file, &mut elements)?;
        self.declared.input_elements = elements;
        // Control points that are passed through are read as they come in.
        if phase != Phase::ControlPoint && hull.has_control_point_phase {
            let mut elements = self.declared.output_elements.clone();
            self.read_some(RegisterFile::OutputControlPoint, &mut elements)?;
        }
        if phase == Phase::Join {
            let mut elements = self.declared.constant_elements.clone();
            self.read_some(RegisterFile::PatchConstant, &mut elements)?;
        }
        self.declare_phase_outputs(phase, constants)?;
        self.declare_temps()?;
        self.budget = self.u.int_in_range(0..=STATEMENTS)?;
        self.statements()?;
        self.store_outputs()?;
        self.emit(OpcodeToken::new(Opcode::Ret), Vec::new());
        self.phases.append(&mut self.declarations);
        self.phases.append(&mut self.code);
        Ok(())
    }

    /// Declares that some of these elements are read.
    fn read_some(&mut self, file: RegisterFile, elements: &mut [Element]) -> Result<()> {
        for element in elements {
            if self.one_in(3)? {
                continue;
            }
            let mask = self.mask(element.mask)?;
            self.read(file, element, mask);
            element.used = Mask::from_bits((element.used.bits() | mask.bits()).into());
        }
        Ok(())
    }

    /// Declares what a phase writes: whole elements.
    fn declare_phase_outputs(&mut self, phase: Phase, constants: &[usize]) -> Result<()> {
        let is_patch = phase != Phase::ControlPoint;
        let written = if is_patch { constants.to_vec() } else { (0..self.declared.output_elements.len()).collect() };
        let mut end = 0;
        for number in written {
            let elements =
                if is_patch { &mut self.declared.constant_elements } else { &mut self.declared.output_elements };
            let element = &mut elements[number];
            element.used = element.mask;
            let Element { register, mask, system_value, index, .. } = *element;
            let all = LINE.iter().chain(&TRI).chain(&QUAD);
            let value = all.filter(|(_, number, stored, _)| (*number, *stored) == (index, system_value));
            let value = value.map(|(.., value)| *value).next();
            let opcode = if value.is_some() { Opcode::DclOutputSiv } else { Opcode::DclOutput };
            self.output(opcode, register, mask, value);
            end = register.map_or(end, |register| register + 1);
        }
        self.declared.output_range = self.index_range(RegisterFile::Output, 0..end)?;
        Ok(())
    }
}
