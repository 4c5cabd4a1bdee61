//! Signatures against the program's declarations, in both directions.

use std::collections::HashMap;

use super::declared::mask_of;
use crate::container::Dxbc;
use crate::container::dxbc::{Signature, SystemValue as Stored};
use crate::error::ContainerError;
use crate::frontend::sm4::codes::{Stage, SystemValue};
use crate::frontend::sm4::operand::{Mask, RegisterFile};
use crate::frontend::sm4::{Body, Declaration, Program};
use crate::validate::Findings;

/// The system value that a signature stores for one of a declaration. The numbers agree up to the tessellation factors,
/// of which a signature knows no edges.
fn stored(value: SystemValue) -> Stored {
    use SystemValue::*;
    match value {
        FinalQuadUeq0EdgeTessFactor
        | FinalQuadVeq0EdgeTessFactor
        | FinalQuadUeq1EdgeTessFactor
        | FinalQuadVeq1EdgeTessFactor => Stored::FINAL_QUAD_EDGE_TESS_FACTOR,
        FinalQuadUInsideTessFactor | FinalQuadVInsideTessFactor => Stored::FINAL_QUAD_INSIDE_TESS_FACTOR,
        FinalTriUeq0EdgeTessFactor | FinalTriVeq0EdgeTessFactor | FinalTriWeq0EdgeTessFactor => {
            Stored::FINAL_TRI_EDGE_TESS_FACTOR
        }
        FinalTriInsideTessFactor => Stored::FINAL_TRI_INSIDE_TESS_FACTOR,
        FinalLineDetailTessFactor => Stored::FINAL_LINE_DETAIL_TESS_FACTOR,
        FinalLineDensityTessFactor => Stored::FINAL_LINE_DENSITY_TESS_FACTOR,
        plain => Stored(plain.number()),
    }
}

/// What a signature says of a register, and what is declared of it.
#[derive(Clone, Copy)]
struct Register {
    /// Components that elements have.
    elements: u8,
    /// The system value of each.
    values: [Stored; 4],
    /// Components that are declared.
    declared: u8,
}

impl Register {
    /// Nothing is said of it.
    const NEW: Self = Self { elements: 0, values: [Stored::NONE; 4], declared: 0 };
}

/// One signature, as the declarations use it up.
struct Table<'a> {
    name: &'static str,
    signature: Option<Signature<'a>>,
    /// By stream and register.
    registers: HashMap<(u32, u32), Register>,
}

impl<'a> Table<'a> {
    fn new(
        name: &'static str,
        signature: Result<Option<Signature<'a>>, ContainerError>,
        findings: &mut Findings,
    ) -> Option<Self> {
        // A malformed one was reported as such.
        let signature = signature.ok()?;
        let mut registers = HashMap::<_, Register>::new();
        for element in signature.iter().flat_map(|signature| &signature.elements) {
            let Some(number) = element.register else { continue };
            let register = registers.entry((element.stream, number)).or_insert(Register::NEW);
            if register.elements & element.mask != 0 {
                let (semantic, index) = (element.semantic, element.index);
                findings.error(
                    element.offset,
                    format_args!("{semantic}{index} of the {name} signature shares components of register {number}"),
                );
            }
            register.elements |= element.mask;
            for component in Mask::from_bits(element.mask.into()).components() {
                register.values[component.index()] = element.system_value;
            }
        }
        Some(Table { name, signature, registers })
    }

    /// A declaration of some components of a register. `value` is its system value, if declarations of its file say
    /// them.
    fn declare(
        &mut self,
        place: (u32, u32),
        mask: Mask,
        value: Option<SystemValue>,
        says_values: bool,
        offset: usize,
        findings: &mut Findings,
    ) {
        let (name, number) = (self.name, place.1);
        let register = self.registers.entry(place).or_insert(Register::NEW);
        register.declared |= mask.bits();
        let missing = mask.bits() & !register.elements;
        if missing != 0 {
            let missing = Mask::from_bits(missing.into());
            return findings.error(offset, format_args!("the {name} signature has no {missing} of register {number}"));
        }
        let expected = value.map_or(Stored::NONE, stored);
        let differs = |value: Stored| value != expected && (says_values || value == Stored::NONE);
        if let Some(component) = mask.components().find(|component| differs(register.values[component.index()])) {
            let value = register.values[component.index()];
            let message = format_args!("register {number} is {expected}, the {name} signature says {value}");
            match says_values {
                true => findings.error(offset, message),
                false => findings.warning(offset, message),
            }
        }
    }

    /// Elements that the signature says are used, and that nothing declares.
    fn finish(&self, used: impl Fn(u8, u8) -> u8, findings: &mut Findings) {
        for element in self.signature.iter().flat_map(|signature| &signature.elements) {
            let Some(number) = element.register else { continue };
            let declared = self.registers.get(&(element.stream, number)).map_or(0, |register| register.declared);
            let missing = used(element.mask, element.rw_mask) & !declared;
            if missing != 0 {
                let (name, semantic, index) = (self.name, element.semantic, element.index);
                let missing = Mask::from_bits(missing.into());
                findings.warning(
                    element.offset,
                    format_args!("{semantic}{index} of the {name} signature is used, {missing} of it is not declared"),
                );
            }
        }
    }

    /// Whether an element without a register has the system value.
    fn has_unregistered(&self, value: Stored) -> bool {
        let mut elements = self.signature.iter().flat_map(|signature| &signature.elements);
        elements.any(|element| element.register.is_none() && element.effective_system_value() == value)
    }
}

/// Which part of a program declares.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// The main function, or the control-point phase of a hull shader.
    Main,
    /// A fork or join phase: outputs are patch constants.
    Patch,
}

pub(super) fn check(program: &Program, dxbc: &Dxbc<'_>, findings: &mut Findings) {
    let tables = (
        Table::new("input", dxbc.input_signature(), findings),
        Table::new("output", dxbc.output_signature(), findings),
        Table::new("patch-constant", dxbc.patch_constant_signature(), findings),
    );
    let (Some(mut inputs), Some(mut outputs), Some(mut patch)) = tables else { return };
    let stage = program.version.stage;
    let (mut phase, mut stream) = (Phase::Main, 0);
    for instruction in &program.instructions {
        let Body::Declaration(declaration) = &instruction.body else { continue };
        let offset = instruction.offset;
        let (operand, value) = match declaration {
            Declaration::HsForkPhase | Declaration::HsJoinPhase => {
                phase = Phase::Patch;
                continue;
            }
            Declaration::Stream(number) => {
                stream = *number;
                continue;
            }
            Declaration::Input { operand, system_value, .. } | Declaration::Output { operand, system_value } => {
                (operand, *system_value)
            }
            _ => continue,
        };
        use RegisterFile::{Input, InputControlPoint, Output, OutputControlPoint, PatchConstant};
        // Control points are declared without their system values, and so are the outputs of hull and pixel shaders.
        let (table, says_values) = match (operand.file(), phase) {
            (Input, _) => (&mut inputs, matches!(stage, Stage::Vertex | Stage::Pixel)),
            (InputControlPoint, _) => (&mut inputs, false),
            (OutputControlPoint, _) => (&mut outputs, false),
            (PatchConstant, _) => (&mut patch, false),
            (Output, Phase::Patch) => (&mut patch, true),
            (Output, Phase::Main) => (&mut outputs, matches!(stage, Stage::Vertex | Stage::Geometry | Stage::Domain)),
            (file, _) => {
                if let Some(value) = unregistered(file).filter(|&value| !outputs.has_unregistered(value)) {
                    let letters = file.letters();
                    findings.error(offset, format_args!("{letters} is declared, the output signature has no {value}"));
                }
                continue;
            }
        };
        let stream = if operand.file() == Output { stream } else { 0 };
        let Some(&[.., number]) = operand.constant_indices() else { continue };
        table.declare((stream, number), mask_of(operand), value, says_values, offset, findings);
    }
    // Inputs say which components are always read, outputs which are never written.
    let (read, written) = (|_: u8, rw: u8| rw, |mask: u8, rw: u8| mask & !rw);
    // Without a control-point phase the control points go through a hull shader as they are, and nothing declares them.
    let passes_through = stage == Stage::Hull
        && !program.instructions.iter().any(|it| it.declaration() == Some(&Declaration::HsControlPointPhase));
    if !passes_through {
        inputs.finish(read, findings);
        outputs.finish(written, findings);
    }
    match stage {
        Stage::Hull => patch.finish(written, findings),
        _ => patch.finish(read, findings),
    }
}

/// The system value of an output that has no register.
fn unregistered(file: RegisterFile) -> Option<Stored> {
    match file {
        RegisterFile::OutputDepth => Some(Stored::DEPTH),
        RegisterFile::OutputDepthGe => Some(Stored::DEPTH_GREATER_EQUAL),
        RegisterFile::OutputDepthLe => Some(Stored::DEPTH_LESS_EQUAL),
        RegisterFile::OutputCoverage => Some(Stored::COVERAGE),
        RegisterFile::OutputStencilRef => Some(Stored::STENCIL_REF),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::FourCc;
    use crate::validate::sm4::testing::*;

    const NONE: Stored = Stored::NONE;
    const NO_REGISTER: u32 = u32::MAX;

    fn found(model: u32, inputs: &[Element], outputs: &[Element], text: &str) -> Vec<String> {
        let parts = [(FourCc::ISGN, signature(inputs)), (FourCc::OSGN, signature(outputs))];
        findings_of(&parts, model, text)
    }

    #[test]
    fn what_is_declared_is_in_the_signature() {
        let inputs = [("A", 0, NONE, 0b0011, 0b0011), ("B", 0, NONE, 0b0100, 0)];
        let outputs = [("SV_Position", 0, Stored::POSITION, 0b1111, 0)];
        let vs = |text: &str| found(VS_5_0, &inputs, &outputs, text);
        let output = "dcl_output_siv o0.xyzw, 1\n ret";
        assert_eq!(vs(&format!("dcl_input v0.xyz\n {output}")), [""; 0]);
        let missing = ["error: the input signature has no w of register 0"];
        assert_eq!(vs(&format!("dcl_input v0.xyzw\n {output}")), missing);
        let missing = ["error: the output signature has no xy of register 1"];
        assert_eq!(vs(&format!("dcl_input v0.xy\n dcl_output o1.xy\n {output}")), missing);
    }

    #[test]
    fn what_the_signature_uses_is_declared() {
        let inputs = [("A", 1, NONE, 0b0011, 0b0011)];
        let outputs = [("B", 0, NONE, 0b1111, 0b1100)];
        let vs = |text: &str| found(VS_5_0, &inputs, &outputs, text);
        assert_eq!(vs("dcl_input v1.xy\n dcl_output o0.xy\n ret"), [""; 0]);
        let unread = ["warning: A0 of the input signature is used, y of it is not declared"];
        assert_eq!(vs("dcl_input v1.x\n dcl_output o0.xy\n ret"), unread);
        let unwritten = ["warning: B0 of the output signature is used, xy of it is not declared"];
        assert_eq!(vs("dcl_input v1.xy\n ret"), unwritten);
    }

    #[test]
    fn system_values_agree() {
        let inputs = [("SV_VertexID", 0, Stored::VERTEX_ID, 1, 1)];
        let vs = |text: &str| found(VS_5_0, &inputs, &[], text);
        assert_eq!(vs("dcl_input_sgv v0.x, vertex_id\n ret"), [""; 0]);
        let differs = ["error: register 0 is InstanceID, the input signature says VertexID"];
        assert_eq!(vs("dcl_input_sgv v0.x, instance_id\n ret"), differs);
        let differs = ["error: register 0 is none, the input signature says VertexID"];
        assert_eq!(vs("dcl_input v0.x\n ret"), differs);
        // Declarations of control points do not say them, but may not say others.
        let ds = |text: &str| {
            let inputs = [("SV_Position", 0, Stored::POSITION, 1, 1), ("A", 1, NONE, 1, 1)];
            found(DS_5_0, &inputs, &[], &format!("dcl_tessellator_domain!0x1000\n {text}\n ret"))
        };
        assert_eq!(ds("dcl_input vicp[3][0].x\n dcl_input vicp[3][1].x"), [""; 0]);
        let differs = ["warning: register 1 is Position, the input signature says none"];
        assert_eq!(ds("dcl_input vicp[3][0].x\n dcl_input_siv vicp[3][1].x, 1"), differs);
    }

    #[test]
    fn outputs_without_a_register_are_told_by_their_system_value() {
        let ps = |outputs: &[Element], text: &str| found(PS_5_0, &[], outputs, text);
        let depth = [("SV_Depth", NO_REGISTER, NONE, 1, 0)];
        assert_eq!(ps(&depth, "dcl_output oDepth\n ret"), [""; 0]);
        let missing = ["error: oMask is declared, the output signature has no Coverage"];
        assert_eq!(ps(&depth, "dcl_output oMask\n ret"), missing);
    }

    #[test]
    fn elements_do_not_share_components() {
        let inputs = [("A", 0, NONE, 0b0011, 0), ("B", 0, NONE, 0b0110, 0)];
        let shared = ["error: B0 of the input signature shares components of register 0"];
        assert_eq!(found(VS_5_0, &inputs, &[], "ret"), shared);
    }

    #[test]
    fn patch_constants_have_a_signature_of_their_own() {
        let edges = ["SV_TessFactor"; 2].map(|name| (name, Stored::FINAL_TRI_EDGE_TESS_FACTOR));
        let elements: Vec<Element> = (0..).zip(edges).map(|(n, (name, value))| (name, n, value, 1, 0)).collect();
        let parts =
            [(FourCc::ISGN, signature(&[])), (FourCc::OSGN, signature(&[])), (FourCc::PCSG, signature(&elements))];
        let head = "hs_decls\ndcl_tessellator_domain!0x1000\ndcl_tessellator_partitioning!0x800\n\
                    dcl_tessellator_output_primitive!0x1000\nhs_fork_phase\n";
        let hs = |text: &str| findings_of(&parts, HS_5_0, &format!("{head}{text}\nret"));
        assert_eq!(hs("dcl_output_siv o0.x, 17\n dcl_output_siv o1.x, 18"), [""; 0]);
        let unwritten = ["warning: SV_TessFactor0 of the patch-constant signature is used, x of it is not declared"];
        assert_eq!(hs("dcl_output_siv o0.x, 17"), unwritten);
        let differs =
            ["error: register 1 is FinalTriInsideTessFactor, the patch-constant signature says FinalTriEdgeTessFactor"];
        assert_eq!(hs("dcl_output_siv o0.x, 17\n dcl_output_siv o1.x, 20"), differs);
    }

    #[test]
    fn a_hull_shader_without_a_control_point_phase_passes_its_control_points_on() {
        let points = [("SV_Position", 0, Stored::POSITION, 0b1111, 0b1111), ("A", 1, NONE, 0b0011, 0b0011)];
        let outputs = points.map(|(name, register, value, mask, _)| (name, register, value, mask, 0));
        let parts =
            [(FourCc::ISGN, signature(&points)), (FourCc::OSGN, signature(&outputs)), (FourCc::PCSG, signature(&[]))];
        let head = "hs_decls\ndcl_tessellator_domain!0x1000\ndcl_tessellator_partitioning!0x800\n\
                    dcl_tessellator_output_primitive!0x1000";
        let hs = |text: &str| findings_of(&parts, HS_5_0, &format!("{head}\n{text}\nret"));
        assert_eq!(hs("hs_fork_phase\n dcl_input vicp[3][1].x"), [""; 0]);
        let undeclared = hs("hs_control_point_phase\n dcl_input v[3][0].xyzw\n dcl_input v[3][1].xy");
        assert_eq!(
            undeclared,
            [
                "warning: SV_Position0 of the output signature is used, xyzw of it is not declared",
                "warning: A0 of the output signature is used, xy of it is not declared"
            ]
        );
    }
}
