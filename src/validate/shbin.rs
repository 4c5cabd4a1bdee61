//! SHBIN containers: jumps and tables within the program, and each executable's tables against what its code does.

use std::collections::HashMap;

use super::Findings;
use crate::container::shbin::{Constant, Dvle, Dvlp, GeometryMode, OutputSemantic, RegisterRange, ShaderKind};
use crate::container::{Dvoj, Shbin};
use crate::error::LowerError;
use crate::frontend::pica::decode::Effect;
use crate::frontend::pica::flow::{Step, follow};
use crate::frontend::pica::operand::{Address, Component, Destination};
use crate::frontend::pica::{Program, decode};

/// Words of program memory that vertex shaders have.
const VERTEX_WORDS: u16 = 512;
/// Code is followed from so many entry points. Executables share the code, and hostile ones could each want another part.
const MAX_ENTRIES: usize = 16;

/// Byte offsets in a `DVLE` header.
mod header {
    pub const ENTRY: usize = 8;
    pub const END: usize = 12;
    pub const OUTPUT_MASK: usize = 18;
    pub const GEOMETRY_MODE: usize = 20;
    pub const CONSTANTS: usize = 24;
    pub const LABELS: usize = 32;
    pub const OUTPUTS: usize = 40;
    pub const UNIFORMS: usize = 48;
}

pub(super) fn check(shbin: &Shbin<'_>, findings: &mut Findings) {
    // Malformed parts were reported as such.
    let Ok(dvlp) = shbin.dvlp() else { return };
    let Ok(program) = decode(&dvlp.code, &dvlp.descriptors, dvlp.code_offset) else { return };
    targets(&program, findings);
    let dvles: Vec<Dvle<'_>> = (0..shbin.dvle_count()).filter_map(|index| shbin.dvle(index).ok().flatten()).collect();
    let feeds_geometry = dvles.iter().any(|dvle| dvle.kind == ShaderKind::Geometry);
    let mut code = Code { program: &program, dvlp: &dvlp, reached: HashMap::new() };
    for dvle in &dvles {
        tables(dvle, &program, findings);
        if let Some(reached) = code.reached(dvle, findings) {
            let is_mapped = dvle.kind == ShaderKind::Geometry || !feeds_geometry;
            outputs(dvle, &reached.written, is_mapped, findings);
        }
    }
}

/// An object is not linked yet: only its own words are there to be checked.
pub(super) fn check_object(dvoj: &Dvoj<'_>, findings: &mut Findings) {
    let Ok(object) = dvoj.object() else { return };
    if let Ok(program) = decode(&object.code, &object.descriptors, object.code_offset) {
        targets(&program, findings);
    }
}

/// Every jump, block and call of the program leads to words that are there.
fn targets(program: &Program, findings: &mut Findings) {
    let words = program.instructions().len();
    for (address, instruction) in (0..).zip(program.instructions()) {
        let (what, last) = match instruction.effect {
            // The end is the word behind the last, which need not be there.
            Effect::Call { target, end, .. } => ("a call", Address(end.0.max(target.0.saturating_add(1)) - 1)),
            Effect::If { otherwise, end, .. } => ("an if", Address(otherwise.max(end).0.max(1) - 1)),
            Effect::Loop { last, .. } => ("a loop", last),
            Effect::Jump { target, .. } => ("a jump", target),
            _ => continue,
        };
        if usize::from(last.0) >= words {
            let offset = program.byte_offset(Address(address));
            findings.error(offset, format_args!("{what} leads to word {last}, the program has {words:#x}"));
        }
    }
}

/// What an executable says of the program, and what its tables say twice.
fn tables(dvle: &Dvle<'_>, program: &Program, findings: &mut Findings) {
    let words = program.instructions().len() as u64;
    if u64::from(dvle.main) >= words {
        let main = dvle.main;
        findings.error(dvle.offset + header::ENTRY, format_args!("it begins at word {main:#x} of {words:#x}"));
    } else if u64::from(dvle.end) > words || dvle.end <= dvle.main {
        let (main, end) = (dvle.main, dvle.end);
        let message = format_args!("it begins at word {main:#x} and ends before {end:#x}, the program has {words:#x}");
        findings.warning(dvle.offset + header::END, message);
    }
    for label in &dvle.labels {
        let end = u64::from(label.position) + u64::from(label.words.unwrap_or(0));
        if u64::from(label.position) >= words || end > words {
            let message = format_args!("label {} is outside of the program", label.name);
            findings.warning(dvle.offset + header::LABELS, message);
        }
    }
    if let Some(geometry) = dvle.geometry.filter(|geometry| geometry.mode > GeometryMode::FIXED) {
        let mode = geometry.mode;
        findings.error(dvle.offset + header::GEOMETRY_MODE, format_args!("there is no geometry mode {mode}"));
    }

    let mut named = HashMap::new();
    for uniform in &dvle.uniforms {
        let RegisterRange { file, first, last } = uniform.registers;
        let other = (first..=last).filter_map(|register| named.insert((file, register), uniform.name)).last();
        if let Some(other) = other {
            let message = format_args!("{} and {other} share registers of {}", uniform.name, uniform.registers);
            findings.warning(dvle.offset + header::UNIFORMS, message);
        }
    }
    let mut values: HashMap<_, Constant> = HashMap::new();
    for constant in &dvle.constants {
        let (file, register) = constant.register();
        if values.insert((file, register), *constant).is_some_and(|other| other != *constant) {
            let message = format_args!("{}{register} has two values", file.letter());
            findings.warning(dvle.offset + header::CONSTANTS, message);
        }
    }
}

/// The code, and what was found out about it.
struct Code<'a> {
    program: &'a Program,
    dvlp: &'a Dvlp<'a>,
    reached: HashMap<(u32, ShaderKind), Option<Reached>>,
}

/// What an executable does.
#[derive(Clone)]
struct Reached {
    /// Components of `o0` to `o15` that it may write, bit 0 = x.
    written: [u8; 16],
}

impl Code<'_> {
    /// Follows the code from an executable's entry point and checks each instruction that it reaches, once.
    fn reached(&mut self, dvle: &Dvle<'_>, findings: &mut Findings) -> Option<Reached> {
        let key = (dvle.main, dvle.kind);
        if let Some(reached) = self.reached.get(&key) {
            return reached.clone();
        }
        let entry = Address(u16::try_from(dvle.main).ok()?);
        // An entry point outside of the program was reported.
        self.program.get(entry)?;
        if self.reached.len() == MAX_ENTRIES {
            let message =
                format_args!("there are more than {MAX_ENTRIES} entry points, code of this one is not checked");
            findings.note(dvle.offset + header::ENTRY, message);
            return None;
        }
        let reached = match follow(self.program, entry) {
            Ok(flow) => {
                let steps = flow.blocks.iter().flat_map(|block| &block.steps);
                let mut addresses: Vec<Address> = steps
                    .filter_map(|step| match step {
                        Step::Execute(address) => Some(*address),
                        _ => None,
                    })
                    .collect();
                addresses.sort_unstable();
                addresses.dedup();
                let mut reached = Reached { written: [0; 16] };
                for address in addresses {
                    self.execute(address, dvle.kind, &mut reached, findings);
                }
                Some(reached)
            }
            Err(error) => {
                let offset = match error {
                    LowerError::Limit { offset, .. } => offset,
                    _ => dvle.offset + header::ENTRY,
                };
                findings.warning(offset, format_args!("the control flow is too tangled to be followed"));
                None
            }
        };
        self.reached.insert(key, reached.clone());
        reached
    }

    /// One instruction that is reached.
    fn execute(&self, address: Address, kind: ShaderKind, reached: &mut Reached, findings: &mut Findings) {
        let offset = self.program.byte_offset(address);
        let instruction = self.program.get(address).expect("control flow was followed through the program");
        if kind == ShaderKind::Vertex && address.0 == VERTEX_WORDS {
            let message = format_args!("a vertex shader has {VERTEX_WORDS} words of program memory");
            findings.warning(offset, message);
        }
        let descriptor = match instruction.effect {
            Effect::Undefined => {
                return findings.error(offset, format_args!("{} is reached", instruction.mnemonic()));
            }
            Effect::Emit | Effect::SetEmit { .. } if kind == ShaderKind::Vertex => {
                return findings.error(offset, format_args!("{} in a vertex shader", instruction.mnemonic()));
            }
            Effect::SetEmit { vertex: vertex @ 3.., .. } => {
                return findings.error(offset, format_args!("setemit {vertex}: a primitive has three vertices"));
            }
            Effect::Arithmetic { descriptor, .. } | Effect::Compare { descriptor, .. } => descriptor,
            _ => return,
        };
        let Some(bits) = self.program.descriptor(descriptor) else {
            let (number, count) = (descriptor.0, self.dvlp.descriptors.len());
            let mnemonic = instruction.mnemonic();
            let message = format_args!("{mnemonic} uses operand descriptor {number}, there are {count}");
            return findings.error(offset, message);
        };
        if let Effect::Arithmetic { destination: Some(Destination::Output(register)), .. } = instruction.effect {
            let mask = bits.written().fold(0, |mask, component| mask | 1 << component.index());
            reached.written[usize::from(register)] |= mask;
        }
    }
}

/// The output map against what the code writes.
fn outputs(dvle: &Dvle<'_>, written: &[u8; 16], is_mapped: bool, findings: &mut Findings) {
    let offset = dvle.offset + header::OUTPUTS;
    let mut mapped = [0u8; 16];
    for output in &dvle.outputs {
        let (semantic, register, mask) = (output.semantic, output.register, output.mask);
        if semantic.name().is_none() {
            findings.warning(offset, format_args!("o{register} is mapped to {semantic}"));
        }
        let mapped = &mut mapped[usize::from(register)];
        if *mapped & mask != 0 {
            findings.warning(offset, format_args!("o{register}.{} is mapped twice", letters(*mapped & mask)));
        }
        *mapped |= mask;
        let missing = mask & !written[usize::from(register)];
        if missing != 0 && semantic != OutputSemantic::DUMMY {
            let missing = letters(missing);
            findings.warning(offset, format_args!("o{register}.{missing} is mapped to {semantic} and never written"));
        }
        if dvle.output_mask >> register & 1 == 0 {
            let message = format_args!("o{register} is mapped and not in the mask of outputs");
            findings.warning(dvle.offset + header::OUTPUT_MASK, message);
        }
    }
    if is_mapped {
        for (register, _) in
            written.iter().zip(mapped).enumerate().filter(|(_, (written, mapped))| *written & !mapped != 0)
        {
            findings.note(offset, format_args!("o{register} is written and mapped to nothing"));
        }
    }
}

/// The letters of a set of components, bit 0 = x.
fn letters(mask: u8) -> String {
    Component::ALL
        .iter()
        .filter(|component| mask >> component.index() & 1 != 0)
        .map(|component| component.letter())
        .collect()
}
