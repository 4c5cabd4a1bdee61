//! Declarations: they come before the code, once each, with numbers in range; and the ones that a stage must have are there.
//! What is declared here is what [`operands`](super::operands) looks up.

use std::collections::{HashMap, HashSet};

use crate::frontend::sm4::codes::{Stage, TessDomain, TessOutput, TessPartitioning};
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::operand::{Components, Mask, Operand, RegisterFile};
use crate::frontend::sm4::{CustomData, Declaration, Instruction, Opcode, Program, Version};
use crate::validate::Findings;

/// Limits of Direct3D 10 and 11 (`d3d11.h`, D3D11_… constants).
mod limits {
    /// `r#` and the registers of all `x#` together.
    pub const TEMPS: u64 = 4096;
    /// Rows of a constant buffer, also of the immediate one.
    pub const ROWS: u32 = 4096;
    /// Slots of constant buffers, samplers, resources, and unordered-access views (11.1).
    pub const BUFFER_SLOTS: u32 = 14;
    pub const SAMPLER_SLOTS: u32 = 16;
    pub const RESOURCE_SLOTS: u32 = 128;
    pub const UAV_SLOTS: u32 = 64;
    /// Input and output registers, and patch constants, in one index range.
    pub const REGISTERS: u32 = 32;
    pub const CONTROL_POINTS: u32 = 32;
    pub const MAX_TESS_FACTOR: f32 = 64.0;
    pub const OUTPUT_VERTICES: u32 = 1024;
    /// Components of all vertices that a geometry shader emits.
    pub const OUTPUT_COMPONENTS: u64 = 1024;
    pub const GS_INSTANCES: u32 = 32;
    pub const STREAMS: u32 = 4;
    /// Group-shared bytes and threads of a group: shader model 5, and 4.
    pub const GROUP_BYTES: [u64; 2] = [32768, 16384];
    pub const GROUP_SIZE: [[u32; 3]; 2] = [[1024, 1024, 64], [768, 768, 1]];
    pub const GROUP_THREADS: [u64; 2] = [1024, 768];
}

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
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Its registers in shader model 5.1; before, both are its number.
    pub lower: u32,
    pub upper: u32,
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
        self.bound.get(&(file, number)).copied()
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
                if u64::from(count) + self.scope.array_registers > limits::TEMPS {
                    out_of_range(
                        findings,
                        offset,
                        "the number of temporary registers",
                        u64::from(count) + self.scope.array_registers,
                    );
                }
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
                let all = self.scope.array_registers + u64::from(size);
                self.scope.array_registers = all;
                if all + u64::from(self.temps()) > limits::TEMPS {
                    out_of_range(findings, offset, "the number of temporary registers", all + u64::from(self.temps()));
                }
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
        if let Some(stages) = stages(opcode).filter(|stages| !stages.contains(&self.version.stage)) {
            debug_assert!(!stages.is_empty());
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
        let mask = mask_of(first).bits();
        for number in number..end {
            if self.register(file, number).is_none_or(|register| mask & !register.mask != 0) {
                let register = name(file, &[number]);
                let mask = Mask::from_bits(mask.into());
                findings.error(offset, format_args!("{register}.{mask} of the index range is not declared"));
                break;
            }
        }
        self.scope.indexed.insert(file);
    }

    fn bind(&mut self, file: RegisterFile, binding: Binding, rows: u32, offset: usize, findings: &mut Findings) {
        let Binding { id, lower, upper, .. } = binding;
        let letters = file.letters();
        if self.version.has_register_spaces() {
            if lower > upper {
                findings.error(offset, format_args!("the registers {lower} to {upper} are no range"));
            }
        } else {
            let slots = match file {
                RegisterFile::ConstantBuffer => limits::BUFFER_SLOTS,
                RegisterFile::Sampler => limits::SAMPLER_SLOTS,
                RegisterFile::Resource => limits::RESOURCE_SLOTS,
                _ => limits::UAV_SLOTS,
            };
            if id >= slots {
                findings.error(offset, format_args!("there is no slot {letters}{id}"));
            }
        }
        if self.bound.insert((file, id), Bound { lower, upper, rows }).is_some() {
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
        let bound = Bound { lower: register, upper: register, rows: 0 };
        if self.bound.insert((RegisterFile::GroupShared, register), bound).is_some() {
            findings.error(offset, format_args!("g{register} is declared twice"));
        }
    }
}

/// Holds the numbers of a declaration, which no instruction looks up, against their limits.
fn numbers(version: Version, instruction: &Instruction, declaration: &Declaration, findings: &mut Findings) {
    let (opcode, offset) = (instruction.opcode(), instruction.offset);
    match *declaration {
        Declaration::MaxOutputVertices(count) if !(1..=limits::OUTPUT_VERTICES).contains(&count) => {
            out_of_range(findings, offset, "the most vertices emitted", count.into());
        }
        Declaration::GsInstances(count) if !(1..=limits::GS_INSTANCES).contains(&count) => {
            out_of_range(findings, offset, "the number of instances", count.into());
        }
        Declaration::HsForkPhaseInstanceCount(0) | Declaration::HsJoinPhaseInstanceCount(0) => {
            out_of_range(findings, offset, "the number of instances", 0);
        }
        Declaration::InputControlPointCount(count) if !(1..=limits::CONTROL_POINTS).contains(&count) => {
            out_of_range(findings, offset, "the number of control points", count.into());
        }
        Declaration::OutputControlPointCount(count) if count > limits::CONTROL_POINTS => {
            out_of_range(findings, offset, "the number of control points", count.into());
        }
        Declaration::HsMaxTessFactor { bits } => {
            let factor = f32::from_bits(bits);
            if !(1.0..=limits::MAX_TESS_FACTOR).contains(&factor) {
                findings.error(offset, format_args!("the largest tessellation factor is {factor}"));
            }
        }
        Declaration::TessDomain(TessDomain::Undefined)
        | Declaration::TessPartitioning(TessPartitioning::Undefined)
        | Declaration::TessOutput(TessOutput::Undefined) => {
            findings.error(offset, format_args!("{opcode} says nothing"));
        }
        Declaration::ThreadGroup(size) => {
            let threads = size.iter().map(|&size| u64::from(size)).try_fold(1, u64::checked_mul);
            let fits = |(&size, limit): (&u32, u32)| (1..=limit).contains(&size);
            if !size.iter().zip(limits::GROUP_SIZE[usize::from(version.major < 5)]).all(fits)
                || threads.is_none_or(|threads| threads > limits::GROUP_THREADS[usize::from(version.major < 5)])
            {
                let [x, y, z] = size;
                findings.error(offset, format_args!("a thread group has no size of {x}, {y}, {z}"));
            }
        }
        _ => {}
    }
}

/// The components that a declaration of a register means: all of one that has no mask.
fn mask_of(operand: &Operand) -> Mask {
    match operand.components() {
        Components::Mask(mask) => mask,
        _ => Mask::ALL,
    }
}

fn out_of_range(findings: &mut Findings, offset: usize, what: &str, value: u64) {
    findings.error(offset, format_args!("{what} is {value}"));
}

/// A register for a message.
fn name(file: RegisterFile, indices: &[u32]) -> String {
    match *indices {
        [] => file.letters().to_string(),
        [number] => format!("{}{number}", file.letters()),
        [.., number] => format!("{}[][{number}]", file.letters()),
    }
}

/// Declarations of which a program has one at most.
fn is_single(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        DclGlobalFlags
            | DclInputPrimitive
            | DclMaxOut
            | DclGsInstances
            | HsDecls
            | HsControlPointPhase
            | DclInputControlPointCount
            | DclOutputControlPointCount
            | DclTessDomain
            | DclTessPartitioning
            | DclTessOutputPrimitive
            | DclHsMaxTessFactor
            | DclThreadGroup
    )
}

/// The stages that a declaration is for; `None` for all.
fn stages(opcode: Opcode) -> Option<&'static [Stage]> {
    use Opcode::*;
    use Stage::{Compute, Domain, Geometry, Hull, Pixel};
    Some(match opcode {
        DclOutputTopology | DclInputPrimitive | DclMaxOut | DclStream | DclGsInstances => &[Geometry],
        DclInputPs | DclInputPsSgv | DclInputPsSiv => &[Pixel],
        HsDecls | HsControlPointPhase | HsForkPhase | HsJoinPhase => &[Hull],
        DclOutputControlPointCount | DclTessPartitioning | DclTessOutputPrimitive => &[Hull],
        DclHsMaxTessFactor | DclHsForkPhaseInstanceCount | DclHsJoinPhaseInstanceCount => &[Hull],
        DclInputControlPointCount | DclTessDomain => &[Hull, Domain],
        DclThreadGroup | DclTgsmRaw | DclTgsmStructured => &[Compute],
        _ => return None,
    })
}

/// The declarations that a stage must have.
fn required(stage: Stage) -> &'static [Opcode] {
    use Opcode::*;
    match stage {
        Stage::Geometry => &[DclInputPrimitive, DclMaxOut],
        Stage::Hull => &[HsDecls, DclTessDomain, DclTessPartitioning, DclTessOutputPrimitive],
        Stage::Domain => &[DclTessDomain],
        Stage::Compute => &[DclThreadGroup],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::validate::sm4::testing::*;

    /// A compute shader of these declarations.
    fn cs(declarations: &str) -> String {
        format!("dcl_thread_group 1, 1, 1\n{declarations}\nret")
    }

    /// A geometry shader of these declarations.
    fn gs(declarations: &str) -> String {
        format!("dcl_inputprimitive!0x1800\n{declarations}\nret")
    }

    /// A hull shader with these declarations behind the four that it needs, and a phase unless they begin one.
    fn hs(declarations: &str) -> String {
        let needed = "hs_decls\ndcl_tessellator_domain!0x1000\ndcl_tessellator_partitioning!0x800\n\
                      dcl_tessellator_output_primitive!0x1000";
        let phase = if declarations.contains("_phase\n") { "" } else { "hs_fork_phase\n" };
        format!("{needed}\n{declarations}\n{phase}ret")
    }

    #[test]
    fn declarations_come_before_the_code_once_each() {
        breaks(VS_5_0, "nop\n dcl_temps 1\n ret", 1, "error: dcl_temps follows instructions");
        breaks(VS_5_0, "dcl_temps 1\n dcl_temps 1\n ret", 1, "error: dcl_temps is there twice");
        breaks(CS_5_0, &cs("dcl_thread_group 1, 1, 1"), 1, "error: dcl_thread_group is there twice");
        breaks(
            VS_5_0,
            "dcl_indexableTemp x0[4], 4\n dcl_indexableTemp x0[4], 4\n ret",
            1,
            "error: x0 is declared twice",
        );
        breaks(VS_5_0, "dcl_input v0.xy\n dcl_input v0.yz\n ret", 1, "error: v0.y is declared twice");
        breaks(VS_5_0, "dcl_output o0.x\n dcl_output o0.x\n ret", 1, "error: o0.x is declared twice");
        breaks(VS_5_0, "dcl_sampler s0\n dcl_sampler s0\n ret", 1, "error: s0 is declared twice");
        breaks(CS_5_0, &cs("dcl_tgsm_raw g0, 4\n dcl_tgsm_raw g0, 4"), 2, "error: g0 is declared twice");
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m0\n dcl_stream m0"), 3, "error: m0 is declared twice");
        let body = "dcl_function_body 0\n dcl_function_body 0\n ret\n label fb0\n ret";
        breaks(PS_5_0, body, 1, "error: fb0 is declared twice");
        let table =
            "dcl_function_body 0\n dcl_function_table 0, 1, 0\n dcl_function_table 0, 1, 0\n ret\n label fb0\n ret";
        breaks(PS_5_0, table, 2, "error: ft0 is declared twice");
    }

    #[test]
    fn phases_and_streams_declare_their_own() {
        let phases = "hs_fork_phase\n dcl_output o0.x\n dcl_temps 1\n ret\n\
                      hs_join_phase\n dcl_output o0.x\n dcl_temps 1";
        is_fine(HS_5_0, &hs(phases));
        is_fine(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m0\n dcl_output o0.x\n dcl_stream m1\n dcl_output o0.x"));
        is_fine(VS_5_0, "dcl_input v0.xy\n dcl_input v0.zw\n ret");
    }

    #[test]
    fn a_stage_has_what_it_needs_and_nothing_else() {
        assert_eq!(findings(CS_5_0, "ret"), ["error: dcl_thread_group is missing (at offset 0x0)"]);
        assert_eq!(findings(DS_5_0, "ret"), ["error: dcl_tessellator_domain is missing (at offset 0x0)"]);
        let missing = findings(GS_5_0, "ret");
        assert_eq!(missing[0], "error: dcl_inputprimitive is missing (at offset 0x0)");
        assert_eq!(missing[1], "error: dcl_maxout is missing (at offset 0x0)");
        assert_eq!(findings(HS_5_0, "hs_fork_phase\n ret").len(), 4);
        breaks(VS_5_0, "dcl_maxout 3\n ret", 0, "error: dcl_maxout in vs code");
        breaks(VS_5_0, "dcl_input_ps!0x1000 v0.x\n ret", 0, "error: dcl_input_ps in vs code");
    }

    #[test]
    fn numbers_have_limits() {
        breaks(VS_5_0, "dcl_temps 4097\n ret", 0, "error: the number of temporary registers is 4097");
        let together = "dcl_temps 1\n dcl_indexableTemp x0[4096], 4\n ret";
        breaks(VS_5_0, together, 1, "error: the number of temporary registers is 4097");
        breaks(VS_5_0, "dcl_indexableTemp x0[0], 4\n ret", 0, "error: the number of registers of the array is 0");
        breaks(VS_5_0, "dcl_indexableTemp x0[1], 5\n ret", 0, "error: the number of components is 5");
        breaks(VS_5_0, "dcl_constantbuffer cb0[4097].xyzw\n ret", 0, "error: the number of rows is 4097");
        breaks(VS_5_0, "dcl_constantbuffer cb14[1].xyzw\n ret", 0, "error: there is no slot cb14");
        breaks(VS_5_0, "dcl_sampler s16\n ret", 0, "error: there is no slot s16");
        breaks(VS_5_0, "dcl_resource_raw t128\n ret", 0, "error: there is no slot t128");
        breaks(PS_5_0, "dcl_uav_raw u64\n ret", 0, "error: there is no slot u64");
        breaks(VS_5_1, "dcl_sampler s0[5][4], 0\n ret", 0, "error: the registers 5 to 4 are no range");
        breaks(GS_5_0, &gs("dcl_maxout 1025"), 1, "error: the most vertices emitted is 1025");
        let full = (0..31).map(|register| format!("dcl_output o{register}.xyzw\n")).collect::<String>();
        is_fine(GS_5_0, &gs(&format!("dcl_maxout 8\n {full}")));
        let message = "error: 9 vertices of 124 components are more than 1024";
        breaks(GS_5_0, &gs(&format!("dcl_maxout 9\n {full}")), 1, message);
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_gsinstances 33"), 2, "error: the number of instances is 33");
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m4"), 2, "error: the number of the stream is 4");
        breaks(HS_5_0, &hs("dcl_hs_max_tessfactor 65.0"), 4, "error: the largest tessellation factor is 65");
        breaks(HS_5_0, &hs("dcl_input_control_point_count!0x10800"), 4, "error: the number of control points is 33");
        breaks(HS_5_0, &hs("dcl_output_control_point_count!0x10800"), 4, "error: the number of control points is 33");
        let fork = "hs_fork_phase\n dcl_hs_fork_phase_instance_count 0";
        breaks(HS_5_0, &hs(fork), 5, "error: the number of instances is 0");
        breaks(DS_5_0, "dcl_tessellator_domain\n ret", 0, "error: dcl_tessellator_domain says nothing");
    }

    #[test]
    fn thread_groups_and_their_memory_have_limits() {
        is_fine(CS_5_0, "dcl_thread_group 32, 32, 1\n ret");
        for (model, size) in [(CS_5_0, "32, 33, 1"), (CS_5_0, "1, 1, 65"), (CS_5_0, "0, 1, 1"), (CS_4_0, "1, 1, 2")] {
            breaks(
                model,
                &format!("dcl_thread_group {size}\n ret"),
                0,
                &format!("error: a thread group has no size of {size}"),
            );
        }
        let size = "4294967295, 4294967295, 4294967295";
        let message = format!("error: a thread group has no size of {size}");
        breaks(CS_5_0, &format!("dcl_thread_group {size}\n ret"), 0, &message);
        let message = "error: there are 32772 bytes of group-shared memory, the limit is 32768";
        breaks(CS_5_0, &cs("dcl_tgsm_raw g0, 32768\n dcl_tgsm_structured g1, 4, 1"), 2, message);
        breaks(
            CS_4_0,
            &cs("dcl_tgsm_raw g0, 16388"),
            1,
            "error: there are 16388 bytes of group-shared memory, the limit is 16384",
        );
    }

    #[test]
    fn index_ranges_are_of_registers_that_are_declared() {
        is_fine(VS_5_0, "dcl_input v1.xy\n dcl_input v2.xy\n dcl_indexrange v1.x 2\n ret");
        let range = |range: &str| format!("dcl_input v1.x\n dcl_input v2.y\n dcl_indexrange {range}\n ret");
        breaks(VS_5_0, &range("v1.x 2"), 2, "error: v2.x of the index range is not declared");
        breaks(VS_5_0, &range("v1.x 32"), 2, "error: an index range has 32 registers from 1 on");
        breaks(VS_5_0, &range("v1.x 0"), 2, "error: an index range has 0 registers from 1 on");
    }

    #[test]
    fn interfaces_use_what_is_declared() {
        let end = "ret\n label fb0\n ret";
        is_fine(
            PS_5_0,
            &format!("dcl_function_body 0\n dcl_function_table 0, 1, 0\n dcl_interface 0, 1, 0x10001, 0\n {end}"),
        );
        breaks(PS_5_0, &format!("dcl_function_table 0, 1, 0\n {end}"), 0, "error: fb0 is not declared");
        breaks(PS_5_0, "dcl_interface 0, 1, 0x10001, 7\n ret", 0, "error: ft7 is not declared");
        let body = "dcl_function_body 0\n dcl_function_table 0, 1, 0\n ret";
        breaks(PS_5_0, body, 1, "error: there is no fb0");
        let twice = "dcl_interface 0, 1, 0x10000\n dcl_interface 0, 1, 0x10000\n ret";
        breaks(PS_5_0, twice, 1, "error: fp0 is declared twice");
    }
}
