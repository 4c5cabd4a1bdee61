//! Signatures against the program's declarations, in both directions.

use std::collections::HashMap;

use crate::container::Dxbc;
use crate::container::dxbc::{Signature, SystemValue as Stored};
use crate::error::ContainerError;
use crate::frontend::sm4::codes::{Stage, SystemValue};
use crate::frontend::sm4::operand::{Components, Mask, Operand, RegisterFile};
use crate::frontend::sm4::{Body, Declaration, Program};
use crate::validate::Findings;

/// The system value that a signature stores for one of a declaration. The numbers agree up to the tessellation factors, of
/// which a signature knows no edges.
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

    /// A declaration of some components of a register. `value` is its system value, if declarations of its file say them.
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
    inputs.finish(read, findings);
    outputs.finish(written, findings);
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

fn mask_of(operand: &Operand) -> Mask {
    match operand.components() {
        Components::Mask(mask) => mask,
        _ => Mask::ALL,
    }
}
