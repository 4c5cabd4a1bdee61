//! Hull shaders: one invocation is a whole patch, in which every phase is a loop over its instances.
//!
//! No instance sees what another of its phase writes, so one after the other they compute what they would side by side,
//! and what the phases of a patch leave to those after them stays in registers and arrays of one lane. Patches run side
//! by side, and the loops have the same number of rounds in all of them: nothing diverges, and nothing has to be cut.

use shaderjit_ir::function::Origin;
use shaderjit_ir::records::Record;
use shaderjit_ir::{Array, FunctionBuilder, Type, Value, Variable};

use super::Lowering;
use super::call::Activation;
use super::elements::{Outputs, Register, element};
use super::operand::Place;
use super::registers::Refusal;
use super::vertices::{control_points, limit_registers, names};
use crate::container::dxbc::Signature;
use crate::error::LowerError;
use crate::frontend::sm4::codes::{SystemValue, TessDomain, TessOutput, TessPartitioning};
use crate::frontend::sm4::declaration::Declaration;
use crate::frontend::sm4::decode::{Body, Instruction, Program};
use crate::frontend::sm4::opcode::{Group, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::{Element, HullInterface, PrimitiveInputs};
use crate::tessellator::{Domain, Output, Partitioning, Tessellator};

/// What a hull shader's phases share.
pub(super) struct Hull {
    pub interface: HullInterface,
    phases: Vec<Phase>,
    /// The control points once more, if a phase reads them: what callers read nothing may be loaded from.
    readable: Option<Array>,
    /// The number of the instance that runs.
    pub instance: Variable,
    /// The phase that runs.
    current: PhaseKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PhaseKind {
    ControlPoint,
    Fork,
    Join,
}

/// A phase, and the numbers of its instructions.
#[derive(Clone, Copy)]
struct Phase {
    kind: PhaseKind,
    /// Counted from 1 as they lie in the program.
    number: u32,
    start: usize,
    end: usize,
    instances: u32,
}

/// What the declarations of a hull or domain shader say.
#[derive(Default)]
pub(super) struct Tessellated {
    pub input_points: Option<u32>,
    pub output_points: Option<u32>,
    domain: Option<TessDomain>,
    partitioning: Option<TessPartitioning>,
    output: Option<TessOutput>,
}

impl Tessellated {
    pub fn of(program: &Program) -> Tessellated {
        let mut declared = Tessellated::default();
        for instruction in &program.instructions {
            match instruction.body {
                Body::Declaration(Declaration::InputControlPointCount(count)) => declared.input_points = Some(count),
                Body::Declaration(Declaration::OutputControlPointCount(count)) => declared.output_points = Some(count),
                Body::Declaration(Declaration::TessDomain(domain)) => declared.domain = Some(domain),
                Body::Declaration(Declaration::TessPartitioning(kind)) => declared.partitioning = Some(kind),
                Body::Declaration(Declaration::TessOutput(output)) => declared.output = Some(output),
                _ => {}
            }
        }
        declared
    }

    pub fn domain(&self) -> Result<Domain, Refusal> {
        match self.domain {
            Some(TessDomain::Isoline) => Ok(Domain::Isoline),
            Some(TessDomain::Tri) => Ok(Domain::Tri),
            Some(TessDomain::Quad) => Ok(Domain::Quad),
            _ => Err(Refusal::Invalid("the domain is not declared".into())),
        }
    }

    fn tessellator(&self) -> Result<Tessellator, Refusal> {
        let partitioning = match self.partitioning {
            Some(TessPartitioning::Integer) => Partitioning::Integer,
            Some(TessPartitioning::Pow2) => Partitioning::Pow2,
            Some(TessPartitioning::FractionalOdd) => Partitioning::FractionalOdd,
            Some(TessPartitioning::FractionalEven) => Partitioning::FractionalEven,
            _ => return Err(Refusal::Invalid("the partitioning is not declared".into())),
        };
        let output = match self.output {
            Some(TessOutput::Point) => Output::Point,
            Some(TessOutput::Line) => Output::Line,
            Some(TessOutput::TriangleCw) => Output::TriangleCw,
            Some(TessOutput::TriangleCcw) => Output::TriangleCcw,
            _ => return Err(Refusal::Invalid("what the tessellator makes is not declared".into())),
        };
        let tessellator = Tessellator::new(self.domain()?, partitioning, output);
        tessellator.ok_or_else(|| Refusal::Invalid("the tessellator's domain has no such output".into()))
    }
}

/// The phases of a program.
fn phases(program: &Program) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for (number, instruction) in program.instructions.iter().enumerate() {
        let kind = match instruction.body {
            Body::Declaration(Declaration::HsControlPointPhase) => PhaseKind::ControlPoint,
            Body::Declaration(Declaration::HsForkPhase) => PhaseKind::Fork,
            Body::Declaration(Declaration::HsJoinPhase) => PhaseKind::Join,
            Body::Declaration(
                Declaration::HsForkPhaseInstanceCount(count) | Declaration::HsJoinPhaseInstanceCount(count),
            ) => {
                if let Some(phase) = phases.last_mut().filter(|phase| phase.kind != PhaseKind::ControlPoint) {
                    phase.instances = count;
                }
                continue;
            }
            _ => continue,
        };
        if let Some(last) = phases.last_mut() {
            last.end = number;
        }
        let place = phases.len() as u32 + 1;
        phases.push(Phase { kind, number: place, start: number + 1, end: program.instructions.len(), instances: 1 });
    }
    phases
}

/// Which factor a system value is: whether of an edge, and its number.
fn factor(value: SystemValue) -> Option<(bool, usize)> {
    use SystemValue::*;
    Some(match value {
        FinalQuadUeq0EdgeTessFactor | FinalTriUeq0EdgeTessFactor | FinalLineDensityTessFactor => (true, 0),
        FinalQuadVeq0EdgeTessFactor | FinalTriVeq0EdgeTessFactor | FinalLineDetailTessFactor => (true, 1),
        FinalQuadUeq1EdgeTessFactor | FinalTriWeq0EdgeTessFactor => (true, 2),
        FinalQuadVeq1EdgeTessFactor => (true, 3),
        FinalQuadUInsideTessFactor | FinalTriInsideTessFactor => (false, 0),
        FinalQuadVInsideTessFactor => (false, 1),
        _ => return None,
    })
}

impl Hull {
    /// What a program declares. `outputs` are its patch constants.
    pub fn new(
        program: &Program,
        inputs: PrimitiveInputs,
        declared: &Tessellated,
        signature: &Signature<'_>,
        outputs: &Outputs,
        b: &mut FunctionBuilder,
    ) -> Result<Hull, Refusal> {
        if program.instructions.iter().any(|instruction| instruction.opcode() == Opcode::Label) {
            return Err(Refusal::Unsupported("subroutines of hull shaders".into()));
        }
        let mut phases = phases(program);
        let elements: Vec<Element> = signature.elements.iter().map(element).collect();
        let control_points = control_points(declared.output_points, 0)?;
        let has_phase = phases.iter().any(|phase| phase.kind == PhaseKind::ControlPoint);
        for phase in phases.iter_mut().filter(|phase| phase.kind == PhaseKind::ControlPoint) {
            phase.instances = control_points;
        }
        // All that forks is through before anything joins.
        phases.sort_by_key(|phase| match phase.kind {
            PhaseKind::ControlPoint => 0,
            PhaseKind::Fork => 1,
            PhaseKind::Join => 2,
        });
        if !has_phase && control_points > inputs.vertices {
            return Err(Refusal::Invalid("more control points are passed through than there are".into()));
        }
        let mut interface = HullInterface {
            inputs,
            control_points,
            elements,
            array: None,
            modes: declared.tessellator()?.into(),
            edges: [None; 4],
            inside: [None; 2],
        };
        limit_registers(&interface.elements)?;
        let rows = control_points * interface.registers();
        let has_rows = has_phase && rows > 0;
        interface.array = has_rows.then(|| b.add_kept_array(rows, 4));
        let readable = (has_rows && names(program, RegisterFile::OutputControlPoint)).then(|| b.add_array(rows, 4));
        for instruction in &program.instructions {
            let Body::Declaration(Declaration::Output { operand, system_value: Some(value) }) = &instruction.body
            else {
                continue;
            };
            let (Some((is_edge, number)), Some(&[register])) = (factor(*value), operand.constant_indices()) else {
                continue;
            };
            let component = operand.components().written().components().next();
            let place = component.and_then(|component| outputs.find(Register::Numbered(register), component));
            let factors = if is_edge { &mut interface.edges[..] } else { &mut interface.inside[..] };
            factors[number] = factors[number].or(place.map(|place| (place.number, place.component)));
        }
        Ok(Hull { interface, phases, readable, instance: b.declare_var(Type::I32), current: PhaseKind::Fork })
    }
}

impl Lowering {
    /// Lowers all phases, one after the other.
    pub(super) fn hull_phases(&mut self, program: &Program) -> Result<(), LowerError> {
        let phases = self.registers.hull.as_ref().map(|hull| hull.phases.clone()).unwrap_or_default();
        self.flow.live = true;
        for phase in phases.into_iter().filter(|phase| phase.instances > 0) {
            self.hull_phase(program, phase)?;
        }
        Ok(())
    }

    fn hull_phase(&mut self, program: &Program, phase: Phase) -> Result<(), LowerError> {
        let Phase { kind, number, start, end, instances } = phase;
        self.offset = program.instructions[start - 1].offset;
        self.registers.phase = number;
        let hull = self.registers.hull.as_mut().expect("its phases are lowered");
        hull.current = kind;
        let instance = hull.instance;
        let zero = self.b.i32(0);
        self.b.def_var(instance, zero);
        let head = self.b.create_block();
        let exit = self.b.create_block();
        self.cost.add_blocks(3).map_err(|refusal| refusal.at(self.offset))?;
        self.jump(head);
        self.start(head);
        // What comes in front of an instance's code is no part of what ran before.
        self.b.record(Record::Begin(Origin::default()));
        // An instance finds its registers as the program does.
        let zero = self.b.f32(0.0);
        for variable in self.registers.temp_variables() {
            self.b.def_var(variable, zero);
        }
        if kind == PhaseKind::ControlPoint {
            self.clear_control_point(&program.instructions[start..end])?;
        }
        self.flow.activations.push(Activation::of_body(end, exit));
        self.next = start;
        self.body(program, end)?;
        // The end of the body has led to the exit.
        let (number, one, count) = (self.b.use_var(instance), self.b.i32(1), self.b.i32(instances));
        let next = self.b.iadd([number, one]);
        self.b.def_var(instance, next);
        let after = self.b.create_block();
        let goes_on = self.b.ult([next, count]);
        self.b.br_if(goes_on, head, after);
        self.b.seal_block(head);
        self.b.seal_block(after);
        self.start(after);
        Ok(())
    }

    /// Zeroes the components of the control point that the phase may leave alone: those that it does not write before
    /// anything branches. The array holds what was written before.
    fn clear_control_point(&mut self, phase: &[Instruction]) -> Result<(), LowerError> {
        let hull = self.registers.hull.as_ref().expect("its phases are lowered");
        let mut left: Vec<(u32, u8)> =
            hull.interface.elements.iter().map(|element| (element.register, element.mask)).collect();
        for instruction in phase.iter().take_while(|one| !matches!(one.opcode().group(), Group::Flow | Group::Debug)) {
            for operand in instruction.operands().iter().take(instruction.opcode().destinations()) {
                if let (RegisterFile::Output, Some(&[register])) = (operand.file(), operand.constant_indices()) {
                    let written = operand.components().written().bits();
                    let same = left.iter_mut().filter(|(left, _)| *left == register);
                    same.for_each(|(_, mask)| *mask &= !written);
                }
            }
        }
        left.retain(|&(register, mask)| mask != 0 && register != u32::MAX);
        for (register, mask) in left {
            let row = self.control_point_row(Place { base: register, dynamic: None })?;
            let zero = self.b.f32(0.0);
            for component in Mask::from_bits(mask.into()).components() {
                self.write_control_point(row, component.index() as u8, zero);
            }
        }
        Ok(())
    }

    /// Whether what is written is a control point.
    pub(super) fn writes_control_points(&self) -> bool {
        self.registers.hull.as_ref().is_some_and(|hull| hull.current == PhaseKind::ControlPoint)
    }

    /// The row of a register of the control point that is being written.
    pub(super) fn control_point_row(&mut self, register: Place) -> Result<Value, LowerError> {
        let hull = self.registers.hull.as_ref().expect("control points are written");
        let (rows, instance) = (hull.interface.registers(), hull.instance);
        if register.dynamic.is_none() && register.base >= rows {
            return Err(self.invalid(format!("o{} is not in the output signature", register.base)));
        }
        let number = self.b.use_var(instance);
        let row = self.row_among(Place { base: 0, dynamic: Some(number) }, rows, register);
        Ok(self.index_value(row))
    }

    /// Writes a component of the control point.
    pub(super) fn write_control_point(&mut self, row: Value, component: u8, value: Value) {
        let hull = self.registers.hull.as_ref().expect("control points are written");
        for array in [hull.interface.array, hull.readable].into_iter().flatten() {
            self.b.array_store(array, component, row, value);
        }
    }

    /// A component of a control point that the control-point phase wrote; of one that is passed through, what was read.
    pub(super) fn load_control_point(
        &mut self,
        operand: &Operand,
        component: Component,
        ty: Type,
    ) -> Result<Value, LowerError> {
        let Some(hull) = &self.registers.hull else { return Err(self.unsupported("operand vocp")) };
        let Some(array) = hull.readable else { return self.load_vertex(operand, component, ty) };
        let rows = hull.interface.registers();
        let [point, register] = self.places(operand)?;
        let row = self.row_among(point, rows, register);
        let index = self.index_value(row);
        Ok(self.b.array_load(ty, array, component.index() as u8, index))
    }

    /// The number of the instance: of the control point, or of a fork or join phase.
    pub(super) fn phase_instance(&mut self, file: RegisterFile) -> Result<Value, LowerError> {
        let kind = match file {
            RegisterFile::OutputControlPointId => PhaseKind::ControlPoint,
            RegisterFile::ForkInstanceId => PhaseKind::Fork,
            _ => PhaseKind::Join,
        };
        match &self.registers.hull {
            Some(hull) if hull.current == kind => Ok(self.b.use_var(hull.instance)),
            Some(_) => Err(self.invalid(format!("{} in another phase", file.letters()))),
            None => Err(self.unsupported(format!("operand {}", file.letters()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::SystemValue as StoredValue;
    use crate::frontend::sm4::lower::{LowerOptions, Signatures, lower_with};
    use crate::frontend::sm4::testing::{Setup, assemble, program_of, run, signature};
    use crate::frontend::{Lowered, PrimitiveStage};

    /// A hull shader that reads 2 control points of one register and makes patch constants `o0` to `o3`.
    fn hull(points: u32, phases: &str) -> Result<Lowered, LowerError> {
        let text = format!(
            "hs_decls
             dcl_input_control_point_count!0x1000
             dcl_output_control_point_count!{:#x}
             dcl_tessellator_domain!0x800
             dcl_tessellator_partitioning!0x800
             dcl_tessellator_output_primitive!0x1000
             {phases}",
            points << 11
        );
        let program = program_of(0x0003_0050, &assemble(&text)).unwrap();
        let of_points = signature(&[("P", 0, 0xf, StoredValue::NONE)]);
        let constants: [_; 4] = std::array::from_fn(|register| ("K", register as u32, 0xf, StoredValue::NONE));
        let signatures =
            Signatures { inputs: &of_points, outputs: &of_points, patch_constants: &signature(&constants) };
        let lowered = lower_with(&program, &signatures, &LowerOptions::default())?;
        shaderjit_ir::verify::verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}"));
        Ok(lowered)
    }

    fn refusal(points: u32, phases: &str) -> String {
        hull(points, phases).map(|lowered| lowered.function.to_string()).unwrap_err().to_string()
    }

    const POINTS: [[u32; 4]; 3] = [[10, 11, 12, 13], [20, 21, 22, 23], [7, 0, 0, 0]];

    #[test]
    fn join_phases_read_what_all_instances_of_fork_phases_wrote() {
        // The join phase stands in front, and runs behind.
        let phases = "hs_join_phase
            dcl_hs_join_phase_instance_count 2
            dcl_input vJoinInstanceID
            dcl_input vpc0.xy
            dcl_output o1.x
            dcl_output o2.x
            dcl_temps 1
            dcl_indexrange o1.x 2
            iadd r0.x, vpc0.x, vpc0.y
            iadd r0.x, r0.x, vJoinInstanceID.x
            mov r0.y, vJoinInstanceID.x
            mov o[r0.y + 1].x, r0.x
            ret
            hs_fork_phase
            dcl_hs_fork_phase_instance_count 3
            dcl_input vForkInstanceID
            dcl_input vPrim
            dcl_input vicp[2][0].xyzw
            dcl_output o0.xy
            dcl_temps 2
            iadd r1.x, r1.x, l(1)
            mov o0.x, vicp[1][0].y
            iadd r0.x, vForkInstanceID.x, vPrim
            iadd o0.y, r0.x, r1.x
            ret";
        let lowered = hull(2, phases).unwrap();
        let outputs = run(&lowered, &Setup { inputs: &POINTS[..], ..Setup::default() });
        // The primitive's number is the element behind both control points. Registers begin as zero in each instance.
        let last = 2 + 7 + 1;
        assert_eq!(outputs.unwrap()[..3], [[21, last, 0, 0], [21 + last, 0, 0, 0], [22 + last, 0, 0, 0]]);
    }

    #[test]
    fn control_points_are_read_by_the_phases_behind() {
        let phases = "hs_control_point_phase
            dcl_input vOutputControlPointID
            dcl_input v[2][0].xyzw
            dcl_output o0.xyzw
            dcl_temps 1
            xor r0.x, vOutputControlPointID, l(1)
            iadd o0.xyzw, v[r0.x + 0][0].xyzw, vOutputControlPointID
            ret
            hs_fork_phase
            dcl_input vocp[2][0].xyzw
            dcl_output o0.xy
            mov o0.x, vocp[0][0].x
            mov o0.y, vocp[1][0].w
            ret";
        let lowered = hull(2, phases).unwrap();
        let outputs = run(&lowered, &Setup { inputs: &POINTS[..], ..Setup::default() }).unwrap();
        assert_eq!(outputs[0], [20, 14, 0, 0]);
        let Some(PrimitiveStage::Hull(hull)) = &lowered.interface.primitive else { panic!("it is a hull shader") };
        assert!(hull.array.is_some() && hull.control_points == 2 && hull.registers() == 1);
    }

    #[test]
    fn control_points_that_are_passed_through_are_indexed() {
        let phases = "hs_fork_phase
            dcl_hs_fork_phase_instance_count 2
            dcl_input vForkInstanceID
            dcl_input vocp[2][0].xyzw
            dcl_output o0.x
            dcl_output o1.x
            dcl_temps 1
            dcl_indexrange o0.x 2
            mov r0.x, vForkInstanceID.x
            xor r0.y, r0.x, l(1)
            mov o[r0.x + 0].x, vocp[r0.y + 0][0].z
            ret";
        let lowered = hull(2, phases).unwrap();
        let outputs = run(&lowered, &Setup { inputs: &POINTS[..], ..Setup::default() }).unwrap();
        assert_eq!(outputs[..2], [[22, 0, 0, 0], [12, 0, 0, 0]]);
    }

    #[test]
    fn phases_have_arrays_of_their_own() {
        let phase = |size: u32| {
            format!(
                "hs_fork_phase
                 dcl_output o0.x
                 dcl_temps 1
                 dcl_indexableTemp x0[{size}], 4
                 mov x0[0].x, l({size})
                 mov o0.x, x0[0].x
                 ret\n"
            )
        };
        let lowered = hull(2, &(phase(2) + &phase(5))).unwrap();
        let outputs = run(&lowered, &Setup { inputs: &POINTS[..], ..Setup::default() }).unwrap();
        assert_eq!(outputs[0][0], 5);
        assert_eq!(lowered.function.arrays.len(), 2);
    }

    #[test]
    fn what_a_hull_shader_must_not_do() {
        let fork = |code: &str| format!("hs_fork_phase\ndcl_temps 1\n{code}\nret");
        assert!(refusal(33, &fork("mov o0.x, l(0)")).contains("33 control points"));
        assert!(refusal(3, &fork("mov o0.x, l(0)")).contains("passed through"));
        assert!(refusal(2, &fork("mov o0.x, vJoinInstanceID.x")).contains("another phase"));
        assert!(refusal(2, &fork("mov o0.x, vicp[2][0].x")).contains("vicp[2]"));
        assert!(refusal(2, &fork("mov o9.x, l(0)")).contains("o9.x is not in the output signature"));
        let points = "hs_control_point_phase\nmov o1.x, l(0)\nret";
        assert!(refusal(2, points).contains("o1 is not in the output signature"));
        assert!(refusal(2, &fork("ret\nlabel label0")).contains("subroutines"));
    }
}
