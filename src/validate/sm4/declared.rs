//! What a program has declared: declarations come before the code, once each, and are here for
//! [`operands`](super::operands) to look up.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use super::declarations::{is_single, limits, numbers, out_of_range, required, stages};
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::operand::{Components, Mask, Operand, RegisterFile};
use crate::frontend::sm4::{CustomData, Declaration, Instruction, Opcode, Program, Version};
use crate::validate::Findings;

/// An array of temporary registers.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub size: u32,
    pub components: u32,
}

/// An input or output register.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    /// Components that are declared.
    pub mask: u8,
    /// Number of vertices or control points that have it, 0 if it is of one.
    pub vertices: u32,
}

/// A constant buffer, view, sampler, or group-shared memory.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Its registers in shader model 5.1; before, its number.
    pub slots: RangeInclusive<u32>,
    /// Rows of a constant buffer, 0 if not stated.
    pub rows: u32,
}

/// What holds for a phase of a hull shader, or the whole program of any other stage.
#[derive(Default)]
struct Scope {
    temps: Option<u32>,
    arrays: HashMap<u32, Array>,
    /// Registers of all arrays.
    array_registers: u64,
    registers: HashMap<(RegisterFile, u32), Register>,
    /// Output registers that the current stream has.
    stream_registers: HashMap<u32, u8>,
    /// Files that have an index range.
    indexed: HashSet<RegisterFile>,
    /// The first instruction was there.
    code: bool,
}

/// What a program has declared so far.
pub struct Declared {
    version: Version,
    /// Absolute byte offset of the program.
    offset: usize,
    scope: Scope,
    bound: HashMap<(RegisterFile, u32), Bound>,
    group_bytes: u64,
    immediate_rows: Option<u32>,
    bodies: HashSet<u32>,
    tables: HashSet<u32>,
    interfaces: HashMap<u32, u32>,
    streams: HashSet<u32>,
    /// Declarations that there is one of at most.
    once: HashSet<Opcode>,
    /// Most vertices emitted, and where that is declared.
    emitted: Option<(u32, usize)>,
}

impl Declared {
    /// Nothing is declared.
    pub fn new(program: &Program) -> Self {
        Declared {
            version: program.version,
            offset: program.offset,
            scope: Scope::default(),
            bound: HashMap::new(),
            group_bytes: 0,
            immediate_rows: None,
            bodies: HashSet::new(),
            tables: HashSet::new(),
            interfaces: HashMap::new(),
            streams: HashSet::new(),
            once: HashSet::new(),
            emitted: None,
        }
    }

    /// The stage and shader model.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Number of `r#`.
    pub fn temps(&self) -> u32 {
        self.scope.temps.unwrap_or(0)
    }

    /// An array of temporary registers.
    pub fn array(&self, number: u32) -> Option<Array> {
        self.scope.arrays.get(&number).copied()
    }

    /// An input or output register. One that has no number is 0.
    pub fn register(&self, file: RegisterFile, number: u32) -> Option<Register> {
        self.scope.registers.get(&(file, number)).copied()
    }

    /// Whether some registers of an input or output file may be indexed dynamically.
    pub fn is_indexed(&self, file: RegisterFile) -> bool {
        self.scope.indexed.contains(&file)
    }

    /// A constant buffer, view, sampler or group-shared memory by the number that instructions name it by.
    pub fn bound(&self, file: RegisterFile, number: u32) -> Option<Bound> {
        self.bound.get(&(file, number)).cloned()
    }

    /// Rows of the immediate constant buffer.
    pub fn immediate_rows(&self) -> Option<u32> {
        self.immediate_rows
    }

    /// Length of an interface's array.
    pub fn interface(&self, number: u32) -> Option<u32> {
        self.interfaces.get(&number).copied()
    }

    /// Whether a stream is declared.
    pub fn has_stream(&self, number: u32) -> bool {
        self.streams.contains(&number)
    }

    /// Code begins, unless it has begun. Behind a label it is that of a function, which declares nothing.
    pub fn begin_code(&mut self) {
        self.scope.code = true;
    }

    /// Custom data: the immediate constant buffer is a declaration.
    pub fn data(&mut self, offset: usize, data: &CustomData, findings: &mut Findings) {
        let CustomData::ImmediateConstants(rows) = data else { return };
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        if count > limits::ROWS {
            findings.error(offset, format_args!("the immediate constant buffer has {count} rows"));
        }
        if self.immediate_rows.replace(count).is_some() {
            findings.error(offset, format_args!("there are two immediate constant buffers"));
        }
    }

    /// Checks and adds a declaration.
    pub fn declare(&mut self, instruction: &Instruction, declaration: &Declaration, findings: &mut Findings) {
        let (opcode, offset) = (instruction.opcode(), instruction.offset);
        match *declaration {
            Declaration::HsControlPointPhase | Declaration::HsForkPhase | Declaration::HsJoinPhase => {
                self.scope = Scope::default();
            }
            _ if self.scope.code => {
                findings.error(offset, format_args!("{opcode} follows instructions"));
            }
            _ => {}
        }
        numbers(self.version, instruction, declaration, findings);
        if let Declaration::MaxOutputVertices(count @ ..=limits::OUTPUT_VERTICES) = *declaration {
            self.emitted = Some((count, offset));
        }
        match *declaration {
            Declaration::Temps(count) => {
                self.count_temps(u64::from(count) + self.scope.array_registers, offset, findings);
                if self.scope.temps.replace(count).is_some() {
                    findings.error(offset, format_args!("{opcode} is there twice"));
                }
            }
            Declaration::IndexableTemp { register, size, components } => {
                if size == 0 {
                    out_of_range(findings, offset, "the number of registers of the array", 0);
                }
                if !(1..=4).contains(&components) {
                    out_of_range(findings, offset, "the number of components", components.into());
                }
                self.scope.array_registers += u64::from(size);
                self.count_temps(self.scope.array_registers + u64::from(self.temps()), offset, findings);
                if self.scope.arrays.insert(register, Array { size, components }).is_some() {
                    findings.error(offset, format_args!("x{register} is declared twice"));
                }
            }
            Declaration::Input { ref operand, .. } | Declaration::Output { ref operand, .. } => {
                self.declare_register(operand, offset, findings);
            }
            Declaration::IndexRange { ref first, count } => self.index_range(first, count, offset, findings),
            Declaration::ConstantBuffer { binding, rows, .. } => {
                if rows > limits::ROWS {
                    out_of_range(findings, offset, "the number of rows", rows.into());
                }
                self.bind(RegisterFile::ConstantBuffer, binding, rows, offset, findings);
            }
            Declaration::Sampler { binding, .. } => self.bind(RegisterFile::Sampler, binding, 0, offset, findings),
            Declaration::Resource { binding, .. }
            | Declaration::ResourceRaw { binding }
            | Declaration::ResourceStructured { binding, .. } => {
                self.bind(RegisterFile::Resource, binding, 0, offset, findings);
            }
            Declaration::UavTyped { binding, .. }
            | Declaration::UavRaw { binding, .. }
            | Declaration::UavStructured { binding, .. } => {
                self.bind(RegisterFile::UnorderedAccess, binding, 0, offset, findings);
            }
            Declaration::TgsmRaw { register, bytes } => self.share(register, bytes.into(), offset, findings),
            Declaration::TgsmStructured { register, stride, count } => {
                self.share(register, u64::from(stride) * u64::from(count), offset, findings);
            }
            Declaration::Stream(stream) => {
                if stream >= limits::STREAMS {
                    out_of_range(findings, offset, "the number of the stream", stream.into());
                }
                self.scope.stream_registers.clear();
                if !self.streams.insert(stream) {
                    findings.error(offset, format_args!("m{stream} is declared twice"));
                }
            }
            Declaration::FunctionBody(body) if !self.bodies.insert(body) => {
                findings.error(offset, format_args!("fb{body} is declared twice"));
            }
            Declaration::FunctionTable { id, ref bodies } => {
                for body in bodies.iter().filter(|body| !self.bodies.contains(body)) {
                    findings.error(offset, format_args!("fb{body} is not declared"));
                }
                if !self.tables.insert(id) {
                    findings.error(offset, format_args!("ft{id} is declared twice"));
                }
            }
            Declaration::Interface(ref interface) => {
                for table in interface.tables.iter().filter(|table| !self.tables.contains(table)) {
                    findings.error(offset, format_args!("ft{table} is not declared"));
                }
                if self.interfaces.insert(interface.id, interface.array_length.into()).is_some() {
                    findings.error(offset, format_args!("fp{} is declared twice", interface.id));
                }
            }
            _ => {}
        }
        if is_single(opcode) && !self.once.insert(opcode) {
            findings.error(offset, format_args!("{opcode} is there twice"));
        }
        if stages(opcode).is_some_and(|stages| !stages.contains(&self.version.stage)) {
            findings.error(offset, format_args!("{opcode} in {} code", self.version.stage.name()));
        }
    }

    /// What a program of its stage must have declared.
    pub fn finish(&self, findings: &mut Findings) {
        for &opcode in required(self.version.stage) {
            if !self.once.contains(&opcode) {
                findings.error(self.offset, format_args!("{opcode} is missing"));
            }
        }
        // Streams have vertices of their own, of which each has its components.
        if let Some((vertices, offset)) = self.emitted.filter(|_| self.streams.len() < 2) {
            let registers = self.scope.registers.iter().filter(|((file, _), _)| *file == RegisterFile::Output);
            let components: u64 = registers.map(|(_, register)| u64::from(register.mask.count_ones())).sum();
            if components * u64::from(vertices) > limits::OUTPUT_COMPONENTS {
                let limit = limits::OUTPUT_COMPONENTS;
                let message = format_args!("{vertices} vertices of {components} components are more than {limit}");
                findings.error(offset, message);
            }
        }
    }

    fn count_temps(&self, count: u64, offset: usize, findings: &mut Findings) {
        if count > limits::TEMPS {
            out_of_range(findings, offset, "the number of temporary registers", count);
        }
    }

    fn declare_register(&mut self, operand: &Operand, offset: usize, findings: &mut Findings) {
        let file = operand.file();
        let indices = operand.constant_indices().expect("decoding allows no dynamic index in a declaration");
        let (vertices, number) = match *indices {
            [] => (0, 0),
            [number] => (0, number),
            [vertices, number] => (vertices, number),
            _ => return findings.error(offset, format_args!("a register has no three indices")),
        };
        let mask = mask_of(operand).bits();
        let register = self.scope.registers.entry((file, number)).or_default();
        // Each stream of a geometry shader has its own use for an output register.
        let known = match file {
            RegisterFile::Output => self.scope.stream_registers.entry(number).or_default(),
            _ => &mut register.mask,
        };
        if *known & mask != 0 {
            let register = name(file, indices);
            findings.error(
                offset,
                format_args!("{register}.{} is declared twice", Mask::from_bits((*known & mask).into())),
            );
        }
        *known |= mask;
        register.mask |= mask;
        register.vertices = vertices;
    }

    fn index_range(&mut self, first: &Operand, count: u32, offset: usize, findings: &mut Findings) {
        let file = first.file();
        let Some(&[.., number]) = first.constant_indices() else {
            return findings.error(offset, format_args!("an index range begins with a register"));
        };
        let end = number.checked_add(count).filter(|&end| count != 0 && end <= limits::REGISTERS);
        let Some(end) = end else {
            return findings.error(offset, format_args!("an index range has {count} registers from {number} on"));
        };
        // Registers of a range need not have the same components. Between its ends a phase of a hull shader leaves out
        // what other phases write; inputs are all there in what compilers make.
        let has = |number| self.register(file, number).map_or(0, |register| register.mask);
        let wanted = mask_of(first).bits();
        let missing = [number, end - 1].into_iter().find(|&number| has(number) == 0);
        if let Some(missing) = missing {
            let register = name(file, &[missing]);
            findings.error(offset, format_args!("{register}, an end of the index range, is not declared"));
        } else if file != RegisterFile::Output
            && let Some(partial) = (number..end).find(|&number| wanted & !has(number) != 0)
        {
            let (register, mask) = (name(file, &[partial]), Mask::from_bits(wanted.into()));
            findings.warning(offset, format_args!("{register}.{mask} of the index range is not declared"));
        }
        self.scope.indexed.insert(file);
    }

    fn bind(&mut self, file: RegisterFile, binding: Binding, rows: u32, offset: usize, findings: &mut Findings) {
        let (id, slots) = (binding.id, binding.slots());
        let letters = file.letters();
        if self.version.has_register_spaces() {
            if slots.is_empty() {
                let (lower, upper) = slots.clone().into_inner();
                findings.error(offset, format_args!("the registers {lower} to {upper} are no range"));
            }
        } else {
            let most = match file {
                RegisterFile::ConstantBuffer => limits::BUFFER_SLOTS,
                RegisterFile::Sampler => limits::SAMPLER_SLOTS,
                RegisterFile::Resource => limits::RESOURCE_SLOTS,
                _ => limits::UAV_SLOTS,
            };
            if id >= most {
                findings.error(offset, format_args!("there is no slot {letters}{id}"));
            }
        }
        if self.bound.insert((file, id), Bound { slots, rows }).is_some() {
            findings.error(offset, format_args!("{letters}{id} is declared twice"));
        }
    }

    fn share(&mut self, register: u32, bytes: u64, offset: usize, findings: &mut Findings) {
        let limit = limits::GROUP_BYTES[usize::from(self.version.major < 5)];
        self.group_bytes = self.group_bytes.saturating_add(bytes);
        if self.group_bytes > limit {
            let bytes = self.group_bytes;
            findings
                .error(offset, format_args!("there are {bytes} bytes of group-shared memory, the limit is {limit}"));
        }
        let bound = Bound { slots: register..=register, rows: 0 };
        if self.bound.insert((RegisterFile::GroupShared, register), bound).is_some() {
            findings.error(offset, format_args!("g{register} is declared twice"));
        }
    }
}

/// A register for a message.
fn name(file: RegisterFile, indices: &[u32]) -> String {
    match *indices {
        [] => file.letters().to_string(),
        [number] => format!("{}{number}", file.letters()),
        [.., number] => format!("{}[][{number}]", file.letters()),
    }
}

/// The components that a declaration of a register means: all of one that has no mask.
pub(super) fn mask_of(operand: &Operand) -> Mask {
    match operand.components() {
        Components::Mask(mask) => mask,
        _ => Mask::ALL,
    }
}
