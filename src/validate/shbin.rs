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
/// Code is followed from so many entry points. Executables share the code, and hostile ones could each want another
/// part.
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

/// The version of executables whose assemblers left fields of the header zero that say nothing new: the mask of
/// outputs.
const PLAIN_VERSION: u16 = 0;

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
    } else if dvle.end != 0 && (u64::from(dvle.end) > words || dvle.end <= dvle.main) {
        // Some assemblers do not say where it ends.
        let (main, end) = (dvle.main, dvle.end);
        let message = format_args!("it begins at word {main:#x} and ends before {end:#x}, the program has {words:#x}");
        findings.warning(dvle.offset + header::END, message);
    }
    for label in &dvle.labels {
        // A label may stand behind the last word: it is the end of what is in front of it.
        if u64::from(label.position) + u64::from(label.words.unwrap_or(0)) > words {
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
                let beyond = addresses.iter().find(|address| address.0 >= VERTEX_WORDS);
                if let Some(&beyond) = beyond.filter(|_| dvle.kind == ShaderKind::Vertex) {
                    let message = format_args!("a vertex shader has {VERTEX_WORDS} words of program memory");
                    findings.warning(self.program.byte_offset(beyond), message);
                }
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
        let has_mask = dvle.version != PLAIN_VERSION || dvle.output_mask != 0;
        if has_mask && dvle.output_mask >> register & 1 == 0 {
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

#[cfg(test)]
mod tests {
    use crate::frontend::pica::opcode::{Field, Opcode};
    use crate::frontend::pica::testing::{PLAIN, word};
    use crate::validate::validate;

    /// Absolute offset of the first code word when there is one executable.
    const CODE: usize = 12 + 0x28;

    /// An executable: what its header says, and its records.
    struct Executable {
        version: u16,
        kind: u8,
        main: u32,
        end: u32,
        output_mask: u16,
        mode: u8,
        constants: Vec<[u32; 5]>,
        labels: Vec<[u32; 4]>,
        outputs: Vec<[u16; 4]>,
        uniforms: Vec<[u16; 2]>,
    }

    impl Executable {
        /// A vertex shader that begins at word 0, ends behind `end`, and maps nothing.
        fn new(end: u32) -> Self {
            let (constants, labels, outputs, uniforms) = (vec![], vec![], vec![], vec![]);
            let version = 0x1002;
            Self { version, kind: 0, main: 0, end, output_mask: 0xffff, mode: 0, constants, labels, outputs, uniforms }
        }

        /// It maps components of output registers: semantic, register, mask.
        fn maps(mut self, outputs: &[[u16; 3]]) -> Self {
            self.outputs = outputs.iter().map(|&[semantic, register, mask]| [semantic, register, mask, 0]).collect();
            self
        }

        fn bytes(&self) -> Vec<u8> {
            let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
            let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
            let uniforms =
                self.uniforms.iter().flat_map(|&[first, last]| [0, u32::from(first) | u32::from(last) << 16]);
            let tables = [
                (words(self.constants.as_flattened()), 20),
                (words(self.labels.as_flattened()), 16),
                (halves(self.outputs.as_flattened()), 8),
                (words(&uniforms.collect::<Vec<u32>>()), 8),
                (b"name\0\0\0\0".to_vec(), 1),
            ];
            let version = self.version.to_le_bytes();
            let mut bytes = [b"DVLE".as_slice(), &version, &[self.kind, 0], &words(&[self.main, self.end])].concat();
            bytes.extend(halves(&[0, self.output_mask]));
            bytes.extend([self.mode, 0, 0, 0]);
            let mut position = 0x40;
            for (table, stride) in &tables {
                bytes.extend(words(&[position, (table.len() / stride) as u32]));
                position += table.len() as u32;
            }
            bytes.extend(tables.into_iter().flat_map(|(table, _)| table));
            bytes
        }
    }

    /// What is found in a SHBIN of these words, two descriptors and these executables; offsets left out.
    fn found(code: &[u32], executables: &[Executable]) -> Vec<String> {
        let file = file(code, executables);
        let container = crate::container::Container::parse(&file).unwrap();
        assert_eq!(container.errors(), []);
        validate(&container).iter().map(|finding| format!("{}: {}", finding.severity, finding.message)).collect()
    }

    fn file(code: &[u32], executables: &[Executable]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let descriptors = 0x28 + 4 * code.len() as u32;
        let header = [0, 0x28, code.len() as u32, descriptors, 2, 0, 0, 0, 0];
        let program = [b"DVLP".as_slice(), &words(&header), &words(code), &words(&[PLAIN, 0, PLAIN & !1, 0])].concat();
        let parts: Vec<Vec<u8>> = executables.iter().map(Executable::bytes).collect();
        let mut start = (8 + 4 * parts.len() + program.len()) as u32;
        let mut file = [b"DVLB".as_slice(), &words(&[parts.len() as u32])].concat();
        for part in &parts {
            file.extend(words(&[start]));
            start += part.len() as u32;
        }
        [file, program, parts.concat()].concat()
    }

    fn mov(destination: u32, descriptor: u32) -> u32 {
        word(Opcode::Mov, &[(Field::Destination, destination), (Field::Descriptor, descriptor)])
    }

    fn end() -> u32 {
        word(Opcode::End, &[])
    }

    #[test]
    fn a_plain_program_is_fine() {
        let executable = Executable::new(2).maps(&[[0, 0, 0xf]]);
        assert_eq!(found(&[mov(0, 0), end()], &[executable]), [""; 0]);
    }

    #[test]
    fn jumps_stay_inside_of_the_program() {
        let at = |word: u32| found(&[word, end()], &[Executable::new(2)]);
        for (opcode, name) in
            [(Opcode::Jmpc, "a jump"), (Opcode::Loop, "a loop"), (Opcode::Ifc, "an if"), (Opcode::Call, "a call")]
        {
            let fields = [(Field::Target, 9)];
            let last = if opcode == Opcode::Ifc { 8 } else { 9 };
            let expected = format!("error: {name} leads to word {last:03x}, the program has 0x2");
            assert_eq!(at(word(opcode, &fields)), [expected], "{opcode:?}");
        }
        // The word behind a procedure need not be there.
        assert_eq!(at(word(Opcode::Call, &[(Field::Target, 1), (Field::Count, 1)])), [""; 0]);
        let long = at(word(Opcode::Call, &[(Field::Target, 1), (Field::Count, 2)]));
        assert_eq!(long, ["error: a call leads to word 002, the program has 0x2"]);
    }

    #[test]
    fn executables_lie_inside_of_the_program() {
        let of = |main, end_of_main| found(&[end(), end()], &[Executable { main, ..Executable::new(end_of_main) }]);
        assert_eq!(of(1, 2), [""; 0]);
        assert_eq!(of(2, 3), ["error: it begins at word 0x2 of 0x2"]);
        let outside = "warning: it begins at word 0x0 and ends before 0x3, the program has 0x2";
        assert_eq!(of(0, 3), [outside]);
        assert_eq!(of(1, 1), ["warning: it begins at word 0x1 and ends before 0x1, the program has 0x2"]);
        assert_eq!(of(1, 0), [""; 0], "it does not say where it ends");
        let label = |position, words| {
            let labels = vec![[0, position, words, 0]];
            found(&[end(), end()], &[Executable { labels, ..Executable::new(2) }])
        };
        let outside = ["warning: label name is outside of the program"];
        assert_eq!(
            (label(1, 2), label(3, 0)),
            (outside.map(String::from).to_vec(), outside.map(String::from).to_vec())
        );
        assert_eq!((label(1, 1), label(2, 0)), (vec![], vec![]), "one may stand at the end");
    }

    #[test]
    fn only_what_is_reached_must_be_valid() {
        let undefined = 0x10 << 26;
        assert_eq!(found(&[end(), undefined], &[Executable::new(1)]), [""; 0]);
        let reached = found(&[undefined, end()], &[Executable::new(2)]);
        assert_eq!(reached, ["error: undefined opcode 0x10 is reached"]);
        let descriptor = found(&[mov(16, 2), end()], &[Executable::new(2)]);
        assert_eq!(descriptor, ["error: mov uses operand descriptor 2, there are 2"]);
        // Two executables that share code share its findings.
        let shared = found(&[mov(16, 2), end()], &[Executable::new(2), Executable::new(2)]);
        assert_eq!(shared.len(), 1);
    }

    #[test]
    fn geometry_shaders_emit() {
        let emit = [word(Opcode::Setemit, &[(Field::Vertex, 3)]), word(Opcode::Emit, &[]), end()];
        let vertex = ["error: setemit in a vertex shader", "error: emit in a vertex shader"];
        assert_eq!(found(&emit, &[Executable::new(3)]), vertex);
        let geometry = |mode| found(&emit, &[Executable { kind: 1, mode, ..Executable::new(3) }]);
        assert_eq!(geometry(2), ["error: setemit 3: a primitive has three vertices"]);
        assert_eq!(geometry(3).len(), 2);
        assert_eq!(geometry(3)[1], "error: there is no geometry mode unknown(0x3)");
    }

    #[test]
    fn the_output_map_is_of_what_is_written() {
        let of = |maps: &[[u16; 3]]| found(&[mov(0, 1), end()], &[Executable::new(2).maps(maps)]);
        // The second descriptor writes xyz.
        assert_eq!(of(&[[0, 0, 7]]), [""; 0]);
        assert_eq!(of(&[[0, 0, 0xf]]), ["warning: o0.w is mapped to position and never written"]);
        assert_eq!(of(&[[0, 0, 7], [2, 0, 1]]), ["warning: o0.x is mapped twice"]);
        assert_eq!(of(&[[7, 0, 7]]), ["warning: o0 is mapped to unknown(0x7)"]);
        assert_eq!(of(&[]), ["note: o0 is written and mapped to nothing"]);
        let executable = Executable { output_mask: 2, ..Executable::new(2) };
        let unlisted = found(&[mov(0, 1), end()], &[executable.maps(&[[0, 0, 7]])]);
        assert_eq!(unlisted, ["warning: o0 is mapped and not in the mask of outputs"]);
        let masked = |version, output_mask| {
            let executable = Executable { version, output_mask, ..Executable::new(2) };
            found(&[mov(0, 1), end()], &[executable.maps(&[[0, 0, 7]])])
        };
        assert_eq!(masked(0x1002, 0), unlisted);
        assert_eq!(masked(0, 2), unlisted);
        assert_eq!(masked(0, 0), [""; 0], "assemblers of that version have no mask");
        // A geometry shader takes what the vertex shader does not map.
        let pair = [Executable::new(2), Executable { kind: 1, main: 1, ..Executable::new(2) }];
        assert_eq!(found(&[mov(0, 1), end()], &pair), [""; 0]);
    }

    #[test]
    fn registers_have_one_name_and_one_value() {
        let uniforms = vec![[0x10, 0x12], [0x12, 0x13]];
        let shared = found(&[end()], &[Executable { uniforms, ..Executable::new(1) }]);
        assert_eq!(shared, ["warning: name and name share registers of c2-c3"]);
        let constants = vec![[1, 5, 0, 0, 0], [1, 6, 0, 0, 0], [1, 6, 0, 0, 0]];
        let values = found(&[end()], &[Executable { constants, ..Executable::new(1) }]);
        assert_eq!(values, ["warning: i0 has two values"]);
    }

    #[test]
    fn vertex_shaders_have_fewer_words() {
        let mut code = vec![word(Opcode::Nop, &[]); 511];
        code.extend([mov(16, 0), end()]);
        assert_eq!(found(&code, &[Executable::new(513)]), [""; 0], "the last of 512");
        code.splice(0..0, [word(Opcode::Nop, &[])]);
        let long = found(&code, &[Executable::new(514)]);
        assert_eq!(long, ["warning: a vertex shader has 512 words of program memory"]);
    }

    #[test]
    fn entry_points_are_followed_up_to_a_number() {
        let code = vec![end(); 40];
        let executables: Vec<Executable> =
            (0..20).map(|main| Executable { main, ..Executable::new(main + 1) }).collect();
        let notes = found(&code, &executables);
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(notes.iter().all(|note| note.starts_with("note: there are more than 16 entry points")));
    }

    #[test]
    fn findings_lie_where_their_cause_is() {
        let file = file(&[end(), word(Opcode::Jmpc, &[(Field::Target, 9)])], &[Executable::new(2)]);
        let findings = validate(&crate::container::Container::parse(&file).unwrap());
        assert_eq!(findings[0].offset, CODE + 4);
    }
}
