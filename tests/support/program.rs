//! Containers of shader model 4 and 5 around programs in text. What the text leaves out is added: the version
//! (`vs_5_0`, unless it is the first line), signatures, declarations of temporaries, inputs and outputs, the last
//! `ret`.

use super::assembler::assemble;
use super::interfaces::{self, Instance};
use super::sm4::codes::Stage;
use super::sm4::operand::{Mask, Operand};
use super::sm4::{Declaration, Opcode, Program, RegisterFile};
use shaderjit::container::Container;
use shaderjit::container::digest::Signing;
use shaderjit::container::dxbc::{Builder, Dxbc, FourCc, SystemValue};
use shaderjit::validate::{Severity, validate};
use std::collections::BTreeMap;

/// An element of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub semantic: &'static str,
    pub index: u32,
    pub system_value: SystemValue,
    /// None for an element with a register of its own.
    pub register: Option<u32>,
    /// Bit 0 is x.
    pub mask: u8,
    /// Of an output, the components that are never written; of an input, those that are always read.
    pub rw_mask: u8,
}

impl Element {
    /// A whole register.
    pub const fn register(semantic: &'static str, register: u32) -> Element {
        let system_value = SystemValue::NONE;
        Element { semantic, index: register, system_value, register: Some(register), mask: 0xf, rw_mask: 0 }
    }

    /// The same with other components.
    pub const fn mask(self, mask: u8) -> Element {
        Element { mask, ..self }
    }

    /// The same with a system value.
    pub const fn value(self, system_value: SystemValue) -> Element {
        Element { system_value, ..self }
    }
}

/// Outputs with a register of their own, and the semantics they have.
const NAMED_OUTPUTS: [(RegisterFile, &str); 5] = [
    (RegisterFile::OutputDepth, "SV_Depth"),
    (RegisterFile::OutputDepthGe, "SV_DepthGreaterEqual"),
    (RegisterFile::OutputDepthLe, "SV_DepthLessEqual"),
    (RegisterFile::OutputCoverage, "SV_Coverage"),
    (RegisterFile::OutputStencilRef, "SV_StencilRef"),
];

/// A program and its signatures.
#[derive(Clone, Debug)]
pub struct Source {
    /// The program without what is added.
    program: Program,
    pub inputs: Vec<Element>,
    pub outputs: Vec<Element>,
    /// What is bound to interface slots.
    pub instances: Vec<Instance>,
}

/// The little-endian bytes of dwords.
pub fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// The version token of `ps_4_1`.
fn version(line: &str) -> Option<u32> {
    let [stage, major, minor] = line.trim().split('_').collect::<Vec<_>>().try_into().ok()?;
    let stage = Stage::ALL.iter().find(|it| it.name() == stage)?;
    Some(stage.number() << 16 | major.parse::<u32>().ok()? << 4 | minor.parse::<u32>().ok()?)
}

/// The program of some tokens, which must encode to the same again.
fn decode(version: u32, tokens: &[u32]) -> Program {
    let tokens = [&[version, tokens.len() as u32 + 2], tokens].concat();
    let program = Program::decode(&bytes(&tokens), 0).unwrap_or_else(|error| panic!("{error}\n{tokens:08x?}"));
    assert_eq!(program.encode(), tokens, "{program}");
    program
}

impl Source {
    /// A program of these lines. Its inputs and outputs are whole registers, as many as it names; what it declares to
    /// be a system value is one.
    pub fn new(text: &str) -> Source {
        let text = text.trim_start();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (version, text) = version(first).map_or((0x0001_0050, text), |version| (version, rest));
        let program = decode(version, &assemble(text));
        let mut source = Source { program, inputs: Vec::new(), outputs: Vec::new(), instances: Vec::new() };
        let is_pixel = source.program.version.stage == Stage::Pixel;
        let whole = |count: u32, semantic| (0..count).map(|register| Element::register(semantic, register)).collect();
        source.inputs = whole(source.registers(RegisterFile::Input), "V");
        source.outputs = whole(source.registers(RegisterFile::Output), if is_pixel { "SV_Target" } else { "O" });
        for declaration in source.program.instructions.iter().filter_map(|it| it.declaration()) {
            let (elements, operand, value) = match declaration {
                Declaration::Input { operand, system_value: Some(value), .. } => (&mut source.inputs, operand, value),
                Declaration::Output { operand, system_value: Some(value) } => (&mut source.outputs, operand, value),
                _ => continue,
            };
            if let Some(&[.., register]) = operand.constant_indices() {
                let mask = operand.components().written().bits();
                let element = elements[register as usize];
                elements[register as usize] = element.value(SystemValue(value.number())).mask(mask);
            }
        }
        let written = source.files();
        for (_, semantic) in NAMED_OUTPUTS.into_iter().filter(|(file, _)| written.contains_key(file)) {
            source.outputs.push(Element { index: 0, register: None, ..Element::register(semantic, 0).mask(1) });
        }
        source
    }

    /// Whether its operands name a range of registers, and a register in it.
    pub fn has_register_spaces(&self) -> bool {
        self.program.version.has_register_spaces()
    }

    /// The same with other signatures.
    pub fn with(self, inputs: &[Element], outputs: &[Element]) -> Source {
        Source { inputs: inputs.to_vec(), outputs: outputs.to_vec(), ..self }
    }

    /// Its opcodes, declarations not among them.
    pub fn opcodes(&self) -> impl Iterator<Item = Opcode> + use<'_> {
        let code = self.program.instructions.iter().filter(|it| it.declaration().is_none());
        code.map(|instruction| instruction.opcode())
    }

    /// The register files it uses, each with one more than its largest register number.
    fn files(&self) -> BTreeMap<RegisterFile, u32> {
        let mut files = BTreeMap::new();
        for instruction in &self.program.instructions {
            instruction.operands().iter().for_each(|operand| see(&mut files, operand, 1));
            match instruction.declaration() {
                Some(Declaration::Input { operand, .. } | Declaration::Output { operand, .. }) => {
                    see(&mut files, operand, 1);
                }
                Some(Declaration::IndexRange { first, count }) => see(&mut files, first, *count),
                _ => {}
            }
        }
        files
    }

    fn registers(&self, file: RegisterFile) -> u32 {
        self.files().get(&file).copied().unwrap_or(0)
    }

    /// The tokens with what the text has left out.
    fn tokens(&self) -> Vec<u32> {
        let mut added = String::new();
        let stage = self.program.version.stage;
        if matches!(stage, Stage::Vertex | Stage::Pixel) {
            let input = if stage == Stage::Pixel { "dcl_input_ps linear" } else { "dcl_input" };
            added += &self.undeclared(RegisterFile::Input, &self.inputs, input);
            added += &self.undeclared(RegisterFile::Output, &self.outputs, "dcl_output");
            let used = self.files();
            for (file, _) in NAMED_OUTPUTS.into_iter().filter(|(file, _)| used.contains_key(file)) {
                added += &format!("dcl_output {}\n", file.letters());
            }
        }
        if matches!(stage, Stage::Vertex | Stage::Pixel | Stage::Compute) {
            let temps = self.registers(RegisterFile::Temp);
            if temps > 0 && self.opcodes_declared().all(|opcode| opcode != Opcode::DclTemps) {
                added += &format!("dcl_temps {temps}\n");
            }
        }
        let mut tokens = [assemble(&added), self.program.encode()[2..].to_vec()].concat();
        if self.program.instructions.last().is_none_or(|last| last.opcode() != Opcode::Ret) {
            tokens.extend(assemble("ret"));
        }
        tokens
    }

    fn opcodes_declared(&self) -> impl Iterator<Item = Opcode> {
        self.program.instructions.iter().filter(|it| it.declaration().is_some()).map(|it| it.opcode())
    }

    /// Declarations of the components that elements have and the text does not declare.
    fn undeclared(&self, file: RegisterFile, elements: &[Element], keyword: &str) -> String {
        let mut missing = BTreeMap::<u32, u8>::new();
        for element in elements {
            *missing.entry(element.register.unwrap_or(u32::MAX)).or_default() |= element.mask;
        }
        for declaration in self.program.instructions.iter().filter_map(|it| it.declaration()) {
            let (Declaration::Input { operand, .. } | Declaration::Output { operand, .. }) = declaration else {
                continue;
            };
            if let (true, Some(&[register])) = (operand.file() == file, operand.constant_indices()) {
                *missing.entry(register).or_default() &= !operand.components().written().bits();
            }
        }
        let of_numbers = missing.into_iter().filter(|&(register, mask)| register != u32::MAX && mask != 0);
        let line = |(register, mask): (u32, u8)| {
            format!("{keyword} {}{register}.{}\n", file.letters(), Mask::from_bits(mask.into()))
        };
        of_numbers.map(line).collect()
    }

    /// The container. It breaks no rule of its format.
    pub fn container(&self) -> Vec<u8> {
        let version = self.program.encode()[0];
        let program = bytes(&decode(version, &self.tokens()).encode());
        let name = if self.program.version.major == 5 { FourCc::SHEX } else { FourCc::SHDR };
        let (inputs, outputs) = (signature(&self.inputs), signature(&self.outputs));
        let interfaces = interfaces::part(&self.instances);
        let mut builder = Builder::new().part(FourCc::ISGN, &inputs).part(FourCc::OSGN, &outputs).part(name, &program);
        if !self.instances.is_empty() {
            builder = builder.part(FourCc::IFCE, &interfaces);
        }
        let container = builder.build(Signing::Retail).expect("it is small");
        let findings = validate(&Container::parse(&container).expect("it was just made"));
        let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{}", self.program);
        container
    }

    /// The byte offset in the container of the first instruction with an opcode.
    pub fn offset(&self, opcode: Opcode) -> usize {
        let instructions = self.decoded().instructions;
        instructions.iter().find(|it| it.opcode() == opcode).expect("the program has the opcode").offset
    }

    /// The byte offset in the container of the program.
    pub fn program_offset(&self) -> usize {
        self.decoded().offset
    }

    /// The program as it is in the container.
    fn decoded(&self) -> Program {
        let container = self.container();
        let dxbc = Dxbc::parse(&container).expect("it was just made");
        let program = Program::from_container(&dxbc.program().expect("it is whole").expect("it has a program"));
        program.expect("it was decoded before")
    }
}

/// Notes an operand and those in its indices, `count` registers from its own on.
fn see(files: &mut BTreeMap<RegisterFile, u32>, operand: &Operand, count: u32) {
    let end = operand.indices().last().map_or(0, |index| index.immediate.saturating_add(count));
    let known = files.entry(operand.file()).or_insert(0);
    *known = end.max(*known);
    operand.indices().filter_map(|index| index.relative).for_each(|relative| see(files, relative, 1));
}

/// A signature part.
fn signature(elements: &[Element]) -> Vec<u8> {
    const UINT: u32 = 1;
    const FLOAT: u32 = 3;
    let mut part = bytes(&[elements.len() as u32, 8]);
    let mut names = Vec::new();
    for element in elements {
        let name = (8 + 24 * elements.len() + names.len()) as u32;
        let ty = match element.system_value {
            SystemValue::NONE | SystemValue::POSITION => FLOAT,
            _ => UINT,
        };
        let masks = u32::from(element.mask) | u32::from(element.rw_mask) << 8;
        let register = element.register.unwrap_or(u32::MAX);
        part.extend(bytes(&[name, element.index, element.system_value.0, ty, register, masks]));
        names.extend(element.semantic.bytes().chain([0]));
    }
    part.extend(names);
    part.resize(part.len().next_multiple_of(4), 0);
    part
}
