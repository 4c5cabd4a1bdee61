//! Instructions → tokens: the inverse of decoding, from the same tables.
//!
//! A program that was decoded encodes to the same tokens, for every program that decodes. So that this can hold, bits
//! of opcode and operand tokens that mean nothing are kept with them; where declarations and data have such bits,
//! decoding refuses any that are set, since no compiler sets them.

use super::custom_data::{ClipPlane, CustomData, ShaderMessage, class};
use super::declaration::{Binding, Declaration, Interface, field, register_token};
use super::decode::{Body, Instruction, Operation, Program, Version};
use super::opcode::Opcode;
use super::operand::{Operand, RegisterFile};
use super::token::opcode_token;

impl Program {
    /// Its tokens, the version and the length first.
    ///
    /// What a declaration says goes over the bits of its opcode token; the other bits of that token stay as they are.
    ///
    /// ```
    /// use shaderjit::frontend::sm4::Program;
    ///
    /// // vs_4_0: mov o0.xyzw, v0.xyzw; ret
    /// let tokens = [0x0001_0040u32, 8, 0x0500_0036, 0x0010_20f2, 0, 0x0010_1e46, 0, 0x0100_003e];
    /// let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    /// assert_eq!(Program::decode(&bytes, 0)?.encode(), tokens);
    /// # Ok::<(), shaderjit::error::DecodeError>(())
    /// ```
    ///
    /// # Panics
    /// If an instruction was changed so that it is longer than 127 tokens, which its length cannot say.
    pub fn encode(&self) -> Vec<u32> {
        let mut tokens = vec![self.version.encode(), 0];
        for instruction in &self.instructions {
            instruction.encode(self.version, &mut tokens);
        }
        tokens[1] = length(tokens.len());
        tokens
    }
}

/// A number of tokens as a token.
fn length(count: usize) -> u32 {
    u32::try_from(count).expect("a program is smaller than the container it came from, which has a 32-bit size")
}

impl Version {
    fn encode(self) -> u32 {
        self.stage.number() << 16 | u32::from(self.major) << 4 | u32::from(self.minor)
    }
}

impl Instruction {
    fn encode(&self, version: Version, tokens: &mut Vec<u32>) {
        let start = tokens.len();
        tokens.push(self.token.bits);
        let mut bits = self.token.bits;
        match &self.body {
            Body::CustomData(data) => {
                tokens.push(0);
                bits = opcode_token::CUSTOM_DATA_CLASS.set(bits, data.class());
                data.encode(tokens);
                tokens[start + 1] = length(tokens.len() - start);
            }
            Body::Declaration(declaration) => {
                bits = declaration.controls(bits);
                declaration.encode(version, tokens);
            }
            Body::Operation(operation) => operation.encode(self.token.opcode, tokens),
        }
        if !matches!(self.body, Body::CustomData(_)) {
            let length = length(tokens.len() - start);
            let with_length = opcode_token::LENGTH.set(bits, length);
            assert_eq!(opcode_token::LENGTH.get(with_length), length, "{} is too long", self.token.opcode);
            let extended = matches!(&self.body, Body::Operation(operation) if operation.extended.is_some());
            bits = opcode_token::EXTENDED.set(with_length, extended.into());
        }
        tokens[start] = bits;
    }
}

impl Operation {
    fn encode(&self, opcode: Opcode, tokens: &mut Vec<u32>) {
        if let Some(extended) = &self.extended {
            tokens.extend_from_slice(extended.tokens());
        }
        match (opcode, self.operands.as_slice()) {
            // The number of the function precedes the interface, as a bare dword.
            (Opcode::InterfaceCall, [interface, function]) => {
                tokens.extend(function.immediates().into_iter().flatten());
                interface.encode(tokens);
            }
            (_, operands) => operands.iter().for_each(|operand| operand.encode(tokens)),
        }
        tokens.extend_from_slice(&self.padding);
    }
}

impl Declaration {
    /// The opcode token with what the declaration has in it.
    fn controls(&self, bits: u32) -> u32 {
        match *self {
            Declaration::Resource { dimension, samples, .. } => {
                field::SAMPLES.set(field::DIMENSION.set(bits, dimension.number()), samples.into())
            }
            Declaration::ConstantBuffer { dynamic, .. } => field::DYNAMIC.set(bits, dynamic.into()),
            Declaration::Sampler { mode, .. } => field::SAMPLER_MODE.set(bits, mode.number()),
            Declaration::OutputTopology(topology) => field::TOPOLOGY.set(bits, topology.number()),
            Declaration::InputPrimitive(primitive) => field::PRIMITIVE.set(bits, primitive.number()),
            Declaration::Input { interpolation: Some(mode), .. } => field::INTERPOLATION.set(bits, mode.number()),
            Declaration::GlobalFlags(flags) => flags.set(bits),
            Declaration::Interface(ref interface) => field::DYNAMIC.set(bits, interface.dynamic.into()),
            Declaration::InputControlPointCount(count) | Declaration::OutputControlPointCount(count) => {
                field::CONTROL_POINTS.set(bits, count)
            }
            Declaration::TessDomain(domain) => field::TESS_DOMAIN.set(bits, domain.number()),
            Declaration::TessPartitioning(partitioning) => field::TESS_PARTITIONING.set(bits, partitioning.number()),
            Declaration::TessOutput(output) => field::TESS_OUTPUT.set(bits, output.number()),
            Declaration::UavTyped { dimension, flags, .. } => flags.set(field::DIMENSION.set(bits, dimension.number())),
            Declaration::UavRaw { flags, .. } | Declaration::UavStructured { flags, .. } => flags.set(bits),
            Declaration::IndexRange { .. }
            | Declaration::MaxOutputVertices(_)
            | Declaration::Input { interpolation: None, .. }
            | Declaration::Output { .. }
            | Declaration::Temps(_)
            | Declaration::IndexableTemp { .. }
            | Declaration::HsDecls
            | Declaration::HsControlPointPhase
            | Declaration::HsForkPhase
            | Declaration::HsJoinPhase
            | Declaration::Stream(_)
            | Declaration::FunctionBody(_)
            | Declaration::FunctionTable { .. }
            | Declaration::HsMaxTessFactor { .. }
            | Declaration::HsForkPhaseInstanceCount(_)
            | Declaration::HsJoinPhaseInstanceCount(_)
            | Declaration::ThreadGroup(_)
            | Declaration::TgsmRaw { .. }
            | Declaration::TgsmStructured { .. }
            | Declaration::ResourceRaw { .. }
            | Declaration::ResourceStructured { .. }
            | Declaration::GsInstances(_) => bits,
        }
    }

    /// Appends what follows the opcode token.
    fn encode(&self, version: Version, tokens: &mut Vec<u32>) {
        let mut fields = Fields { version, tokens };
        match *self {
            Declaration::Resource { binding, return_types, .. }
            | Declaration::UavTyped { binding, return_types, .. } => {
                fields.binding(binding);
                let types = return_types.iter().rev().fold(0, |types, ty| types << 4 | ty.number());
                fields.number(types);
                fields.space(binding);
            }
            Declaration::ConstantBuffer { binding, rows, .. } => fields.constant_buffer(binding, rows),
            Declaration::Sampler { binding, .. }
            | Declaration::UavRaw { binding, .. }
            | Declaration::ResourceRaw { binding } => {
                fields.binding(binding);
                fields.space(binding);
            }
            Declaration::UavStructured { binding, stride, .. }
            | Declaration::ResourceStructured { binding, stride } => {
                fields.binding(binding);
                fields.number(stride);
                fields.space(binding);
            }
            Declaration::IndexRange { ref first, count } => {
                fields.operand(first);
                fields.number(count);
            }
            Declaration::Input { ref operand, system_value, .. }
            | Declaration::Output { ref operand, system_value } => {
                fields.operand(operand);
                fields.tokens.extend(system_value.map(|value| value.number()));
            }
            Declaration::MaxOutputVertices(number)
            | Declaration::Temps(number)
            | Declaration::FunctionBody(number)
            | Declaration::HsMaxTessFactor { bits: number }
            | Declaration::HsForkPhaseInstanceCount(number)
            | Declaration::HsJoinPhaseInstanceCount(number)
            | Declaration::GsInstances(number) => fields.number(number),
            Declaration::IndexableTemp { register, size, components } => {
                fields.tokens.extend([register, size, components]);
            }
            Declaration::ThreadGroup(size) => fields.tokens.extend(size),
            Declaration::Stream(register) => fields.register(RegisterFile::Stream, register),
            Declaration::FunctionTable { id, ref bodies } => {
                fields.tokens.extend([id, length(bodies.len())]);
                fields.tokens.extend_from_slice(bodies);
            }
            Declaration::Interface(ref interface) => fields.interface(interface),
            Declaration::TgsmRaw { register, bytes } => {
                fields.register(RegisterFile::GroupShared, register);
                fields.number(bytes);
            }
            Declaration::TgsmStructured { register, stride, count } => {
                fields.register(RegisterFile::GroupShared, register);
                fields.tokens.extend([stride, count]);
            }
            Declaration::OutputTopology(_)
            | Declaration::InputPrimitive(_)
            | Declaration::GlobalFlags(_)
            | Declaration::HsDecls
            | Declaration::HsControlPointPhase
            | Declaration::HsForkPhase
            | Declaration::HsJoinPhase
            | Declaration::InputControlPointCount(_)
            | Declaration::OutputControlPointCount(_)
            | Declaration::TessDomain(_)
            | Declaration::TessPartitioning(_)
            | Declaration::TessOutput(_) => {}
        }
    }
}

/// The fields of a declaration in the order of its tokens.
struct Fields<'t> {
    version: Version,
    tokens: &'t mut Vec<u32>,
}

impl Fields<'_> {
    fn number(&mut self, number: u32) {
        self.tokens.push(number);
    }

    fn operand(&mut self, operand: &Operand) {
        operand.encode(self.tokens);
    }

    fn register(&mut self, file: RegisterFile, register: u32) {
        self.operand(&Operand::from_words(register_token(file), [register, 0, 0, 0]));
    }

    /// The operand of a binding. The space comes last: see [`space`](Self::space).
    fn binding(&mut self, binding: Binding) {
        let Binding { id, lower, upper, token, .. } = binding;
        self.operand(&Operand::from_words(token, [id, lower, upper, 0]));
    }

    fn space(&mut self, binding: Binding) {
        if self.version.has_register_spaces() {
            self.number(binding.space);
        }
    }

    fn constant_buffer(&mut self, binding: Binding, rows: u32) {
        if self.version.has_register_spaces() {
            self.binding(binding);
            self.number(rows);
            self.space(binding);
        } else {
            self.operand(&Operand::from_words(binding.token, [binding.id, rows, 0, 0]));
        }
    }

    fn interface(&mut self, interface: &Interface) {
        let lengths = field::INTERFACE_TABLES.set(0, length(interface.tables.len()));
        let lengths = field::INTERFACE_ARRAY.set(lengths, interface.array_length.into());
        self.tokens.extend([interface.id, interface.call_sites, lengths]);
        self.tokens.extend_from_slice(&interface.tables);
    }
}

impl CustomData {
    fn class(&self) -> u32 {
        match *self {
            CustomData::ImmediateConstants(_) => class::IMMEDIATE_CONSTANTS,
            CustomData::ShaderMessage(_) => class::SHADER_MESSAGE,
            CustomData::ClipPlanes(_) => class::CLIP_PLANES,
            CustomData::Opaque { class, .. } => class,
        }
    }

    /// Appends what follows the two header dwords.
    fn encode(&self, tokens: &mut Vec<u32>) {
        match self {
            CustomData::ImmediateConstants(rows) => tokens.extend_from_slice(rows.as_flattened()),
            CustomData::ShaderMessage(message) => message.encode(tokens),
            CustomData::ClipPlanes(planes) => {
                tokens.push(length(planes.len()));
                let dwords = |plane: &ClipPlane| {
                    [u32::from(plane.buffer) | u32::from(plane.first) << 16, u32::from(plane.count)]
                };
                tokens.extend(planes.iter().flat_map(dwords));
            }
            CustomData::Opaque { words, .. } => tokens.extend_from_slice(words),
        }
    }
}

impl ShaderMessage {
    fn encode(&self, tokens: &mut Vec<u32>) {
        let header = [self.id, self.format, length(self.text.len()), length(self.operands.len()), 0];
        tokens.extend(header);
        let start = tokens.len();
        self.operands.iter().for_each(|operand| operand.encode(tokens));
        tokens[start - 1] = length(tokens.len() - start);

        let padding = &self.padding[..4 - self.text.len() % 4];
        let bytes = [self.text.as_slice(), padding].concat();
        tokens.extend(bytes.as_chunks().0.iter().map(|&dword| u32::from_le_bytes(dword)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::codes::{Dimension, SamplerMode};
    use crate::frontend::sm4::testing::{bytes, program, program_of};

    /// Decoding and encoding gives the same tokens.
    fn survives(model: u32, tokens: &[u32]) {
        let program = program_of(model, tokens).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.encode()[2..], *tokens, "{program}");
    }

    #[test]
    fn bits_that_mean_nothing_are_kept() {
        let mov = |bits, source: &[u32]| {
            let head = [Opcode::Mov.number() | bits | (source.len() as u32 + 3) << 24, 0x0010_00f2, 0];
            survives(0x0001_0050, &[&head, source].concat());
        };
        mov(0x00ff_f800, &[0x0010_0e46, 1]);
        // A mask, a selection and a scalar with bits beside them; representations of indices that are not there.
        mov(0, &[0x0010_0f42, 1]);
        mov(0, &[0x0010_0ffa, 1]);
        mov(0, &[0x7e10_0ffd, 1]);
        // Indices: wide, relative without an immediate, and with one that is 0.
        mov(0, &[0x0060_8e46, 0, 1, 2]);
        mov(0, &[0x0420_8e46, 1, 0x0010_000a, 7]);
        mov(0, &[0x0620_8e46, 1, 0, 0x0010_000a, 7]);
        mov(0, &[0x0820_8e46, 1, 0, 5, 0x0010_000a, 7]);
        // Extended tokens: empty, and modifiers with every other bit.
        mov(0, &[0x8010_0e46, 0x7fff_ffc0, 1]);
        mov(0, &[0x8010_0e46, 0x7ffe_80c1, 1]);
        mov(0, &[0x8000_4001, 0x41, 9]);
    }

    #[test]
    fn extended_opcode_tokens_keep_their_order() {
        let operands = [0x0010_00f2, 0, 0x0010_0046, 1, 0x0010_7e46, 0];
        let head = Opcode::Ld.number() | 1 << 31 | 10 << 24;
        survives(0x0000_0050, &[&[head, 0x8000_0003 | 0x5555 << 6, 0x8000_00c2, 0x7fff_ffc0], &operands[..]].concat());
    }

    #[test]
    fn what_says_more_than_the_format_is_refused() {
        use crate::error::DecodeError::{Invalid, Limit};
        let sampler = Opcode::DclSampler.number();
        assert!(matches!(program(&[sampler | 1 << 31 | 4 << 24, 0, 0x0010_6000, 0]), Err(Invalid { .. })));
        assert!(matches!(program(&[sampler | 4 << 24, 0x8010_6000, 0, 0]), Err(Invalid { .. })));
        let resource = Opcode::DclResource.number() | 3 << 11 | 4 << 24;
        assert!(matches!(program(&[resource, 0x0010_7000, 0, 0x0001_5555]), Err(Invalid { .. })));
        let stream = Opcode::DclStream.number() | 3 << 24;
        assert!(matches!(program(&[stream, 0x0011_0001, 0]), Err(Invalid { .. })));
        let mov = Opcode::Mov.number() | 7 << 24;
        let chain = [mov, 0x0010_00f2, 0, 0x8010_0e46, 0x8000_0041, 0x41, 0];
        assert!(matches!(program(&chain), Err(Limit { limit: 1, offset: 0x18, .. })));
    }

    #[test]
    fn a_changed_declaration_encodes_as_what_it_says() {
        let tokens = [Opcode::DclSampler.number() | 3 << 24, 0x0010_6000, 0];
        let mut program = program(&tokens).unwrap();
        let Body::Declaration(Declaration::Sampler { mode, binding }) = &mut program.instructions[0].body else {
            panic!("{program}")
        };
        *mode = SamplerMode::Comparison;
        (binding.id, binding.lower, binding.upper) = (4, 4, 4);
        let encoded = program.encode();
        assert_eq!(encoded[2..], [tokens[0] | 1 << 11, tokens[1], 4]);
        assert_eq!(encoded[..2], [0x0001_0050, 5]);
    }

    #[test]
    fn every_dimension_and_flag_of_a_declaration_survives() {
        for &dimension in Dimension::ALL {
            let uav = Opcode::DclUavTyped.number() | dimension.number() << 11 | 0x0083_0000;
            survives(0x0005_0050, &[uav | 4 << 24, 0x0011_e001, 3, 0x4321]);
            survives(0x0005_0051, &[uav | 7 << 24, 0x0031_ee46, 3, 4, u32::MAX, 0x9876, 2]);
        }
        survives(0x0001_0050, &[Opcode::DclGlobalFlags.number() | 0x00ff_f800 | 1 << 24]);
    }

    #[test]
    fn a_message_keeps_what_pads_it() {
        let text = [u32::from_le_bytes(*b"lane"), u32::from_le_bytes(*b"!\0\xab\xcd")];
        survives(0x0001_0050, &[&[53 | 4 << 11, 10, 0x0020_0102, 1, 5, 1, 1, 0x0000_b001], &text[..]].concat());
    }

    /// Programs of many forms with some of their bits changed: what is still accepted gives the same tokens.
    #[test]
    fn mutated_programs_survive_or_are_refused() {
        macro_rules! container {
            ($path:literal) => {
                include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/", $path)).as_slice()
            };
        }
        let programs = [
            container!("vs_switch/VS.vs_5_0.fxc101Od.dxbc"),
            container!("ps_interface/PS.ps_5_0.fxc101.dxbc"),
            container!("tess_tri/HS.hs_5_0.fxc101.dxbc"),
            container!("ps_sample/PS.ps_5_1.fxc101.dxbc"),
            container!("cs_abort/CS.cs_5_0.fxc101.dxbc"),
        ]
        .map(|container| crate::frontend::sm4::testing::part(container).0);
        let (mut accepted, mut cases) = (0, 0);
        arbtest::arbtest(|u| {
            let mut tokens = u.choose(&programs)?.to_vec();
            for _ in 0..u.int_in_range(1..=3)? {
                // The length of the program stays, so that what is behind it stays out.
                let at = u.int_in_range(2..=tokens.len() / 4 - 1)? * 4 + u.int_in_range(0..=3)?;
                tokens[at] ^= 1 << u.int_in_range(0..=7)?;
            }
            cases += 1;
            if let Ok(program) = Program::decode(&tokens, 0) {
                assert_eq!(bytes(&program.encode()), tokens, "{program}");
                accepted += 1;
            }
            Ok(())
        })
        .budget_ms(1000);
        assert!(accepted * 10 > cases, "{accepted} of {cases}");
    }

    /// Every file of the test data.
    #[test]
    fn real_programs_survive() {
        let files = crate::test_data::containers(&["dxbc"]);
        for (path, file) in &files {
            let (part, offset) = crate::frontend::sm4::testing::part(file);
            let program = Program::decode(part, offset).unwrap();
            assert_eq!(bytes(&program.encode()), part, "{}", path.display());
        }
        assert!(files.len() >= 350, "{} programs", files.len());
    }
}
