//! Declarations: what a program says about its registers, views and stage before it runs.

use super::codes::{
    Dimension, GlobalFlags, Interpolation, Primitive, ReturnType, SamplerMode, SystemValue, TessDomain, TessOutput,
    TessPartitioning, Topology, UavFlags,
};
use super::decode::Version;
use super::opcode::Opcode;
use super::operand::{Operand, RegisterFile};
use super::token::{Field, OpcodeToken, TokenReader, return_types};
use crate::error::DecodeError;
use std::ops::RangeInclusive;

/// A constant buffer, view or sampler, and the bind slots it stands for.
///
/// Before shader model 5.1 the three numbers are one, the bind slot, and the space is 0. In 5.1 the instructions name a
/// range by its id, then the register in the range's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The number that instructions name it by.
    pub id: u32,
    /// First bind slot.
    pub lower: u32,
    /// Last bind slot. See [`slots`](Self::slots) for ranges without an end.
    pub upper: u32,
    /// Register space.
    pub space: u32,
    /// The token of the operand that names it. Compilers differ in the components they give it, which mean nothing.
    pub token: u32,
}

impl Binding {
    /// Whether the range has no end. Compilers store a last slot of `u32::MAX`, or what `lower` and a size of 0 give:
    /// one less than `lower`.
    pub fn is_unbounded(&self) -> bool {
        self.upper == u32::MAX || self.upper == self.lower.wrapping_sub(1)
    }

    /// The bind slots; empty if they are malformed.
    pub fn slots(&self) -> RangeInclusive<u32> {
        self.lower..=if self.is_unbounded() { u32::MAX } else { self.upper }
    }
}

/// A declaration. The opcode of the instruction it belongs to tells generated (`_sgv`) from interpreted (`_siv`)
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declaration {
    /// `dcl_resource`: a typed view that is read.
    Resource {
        /// Where it is bound.
        binding: Binding,
        /// Its shape.
        dimension: Dimension,
        /// Number of samples, 0 if the program does not say.
        samples: u8,
        /// What its components read as.
        return_types: [ReturnType; 4],
    },
    /// `dcl_constantbuffer`.
    ConstantBuffer {
        /// Where it is bound.
        binding: Binding,
        /// Its size in rows of 16 bytes, 0 if the program does not say.
        rows: u32,
        /// Whether some index into it is dynamic.
        dynamic: bool,
    },
    /// `dcl_sampler`.
    Sampler {
        /// Where it is bound.
        binding: Binding,
        /// What it is used for.
        mode: SamplerMode,
    },
    /// `dcl_indexrange`: registers that are indexed dynamically.
    IndexRange {
        /// The first register; its mask names the components.
        first: Operand,
        /// Number of registers.
        count: u32,
    },
    /// `dcl_outputtopology`.
    OutputTopology(Topology),
    /// `dcl_inputprimitive`.
    InputPrimitive(Primitive),
    /// `dcl_maxout`: most vertices that one invocation emits.
    MaxOutputVertices(u32),
    /// `dcl_input` and its `_sgv`, `_siv` and `_ps` forms.
    Input {
        /// The register, or an input with a name of its own (`vThreadID`). Before its last index it may have the number
        /// of vertices.
        operand: Operand,
        /// How it is interpolated, for pixel shaders.
        interpolation: Option<Interpolation>,
        /// The system value it is, if it is one.
        system_value: Option<SystemValue>,
    },
    /// `dcl_output` and its `_sgv` and `_siv` forms.
    Output {
        /// The register, or an output with a name of its own (`oDepth`).
        operand: Operand,
        /// The system value it is, if it is one.
        system_value: Option<SystemValue>,
    },
    /// `dcl_temps`: number of `r#` registers.
    Temps(u32),
    /// `dcl_indexableTemp`: an array of registers.
    IndexableTemp {
        /// Number of the array.
        register: u32,
        /// Number of its registers.
        size: u32,
        /// Number of components of each register that are used.
        components: u32,
    },
    /// `dcl_globalFlags`.
    GlobalFlags(GlobalFlags),
    /// `hs_decls`: the declarations of all phases follow.
    HsDecls,
    /// `hs_control_point_phase`: the control-point phase follows.
    HsControlPointPhase,
    /// `hs_fork_phase`: a fork phase follows.
    HsForkPhase,
    /// `hs_join_phase`: a join phase follows.
    HsJoinPhase,
    /// `dcl_stream`: the outputs declared next belong to this stream.
    Stream(u32),
    /// `dcl_function_body`.
    FunctionBody(u32),
    /// `dcl_function_table`.
    FunctionTable {
        /// Its number.
        id: u32,
        /// Its function bodies.
        bodies: Box<[u32]>,
    },
    /// `dcl_interface`.
    Interface(Box<Interface>),
    /// `dcl_input_control_point_count`.
    InputControlPointCount(u32),
    /// `dcl_output_control_point_count`.
    OutputControlPointCount(u32),
    /// `dcl_tessellator_domain`.
    TessDomain(TessDomain),
    /// `dcl_tessellator_partitioning`.
    TessPartitioning(TessPartitioning),
    /// `dcl_tessellator_output_primitive`.
    TessOutput(TessOutput),
    /// `dcl_hs_max_tessfactor`.
    HsMaxTessFactor {
        /// The factor's bits as a 32-bit float.
        bits: u32,
    },
    /// `dcl_hs_fork_phase_instance_count`.
    HsForkPhaseInstanceCount(u32),
    /// `dcl_hs_join_phase_instance_count`.
    HsJoinPhaseInstanceCount(u32),
    /// `dcl_thread_group`: threads in x, y and z.
    ThreadGroup([u32; 3]),
    /// `dcl_uav_typed`.
    UavTyped {
        /// Where it is bound.
        binding: Binding,
        /// Its shape.
        dimension: Dimension,
        /// How it is accessed.
        flags: UavFlags,
        /// What its components read as.
        return_types: [ReturnType; 4],
    },
    /// `dcl_uav_raw`.
    UavRaw {
        /// Where it is bound.
        binding: Binding,
        /// How it is accessed.
        flags: UavFlags,
    },
    /// `dcl_uav_structured`.
    UavStructured {
        /// Where it is bound.
        binding: Binding,
        /// How it is accessed.
        flags: UavFlags,
        /// Bytes from one structure to the next.
        stride: u32,
    },
    /// `dcl_tgsm_raw`.
    TgsmRaw {
        /// Register number.
        register: u32,
        /// Its size in bytes.
        bytes: u32,
    },
    /// `dcl_tgsm_structured`.
    TgsmStructured {
        /// Register number.
        register: u32,
        /// Bytes from one structure to the next.
        stride: u32,
        /// Number of structures.
        count: u32,
    },
    /// `dcl_resource_raw`.
    ResourceRaw {
        /// Where it is bound.
        binding: Binding,
    },
    /// `dcl_resource_structured`.
    ResourceStructured {
        /// Where it is bound.
        binding: Binding,
        /// Bytes from one structure to the next.
        stride: u32,
    },
    /// `dcl_gsinstances`.
    GsInstances(u32),
}

/// `dcl_interface`: an interface variable (or an array of them) and the classes that may be bound to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub id: u32,
    /// Whether some index into it is dynamic.
    pub dynamic: bool,
    /// Function bodies of each table, one for each place that calls it.
    pub call_sites: u32,
    /// Length of the array of interfaces, 1 if it is none.
    pub array_length: u16,
    /// Function tables, one a class.
    pub tables: Box<[u32]>,
}

/// Fields of the opcode token of a declaration.
pub(super) mod field {
    use super::Field;

    pub const DIMENSION: Field = Field::new(11, 5);
    pub const SAMPLES: Field = Field::new(16, 7);
    pub const DYNAMIC: Field = Field::new(11, 1);
    pub const SAMPLER_MODE: Field = Field::new(11, 4);
    pub const TOPOLOGY: Field = Field::new(11, 7);
    pub const PRIMITIVE: Field = Field::new(11, 6);
    pub const INTERPOLATION: Field = Field::new(11, 4);
    pub const CONTROL_POINTS: Field = Field::new(11, 6);
    pub const TESS_DOMAIN: Field = Field::new(11, 2);
    pub const TESS_PARTITIONING: Field = Field::new(11, 3);
    pub const TESS_OUTPUT: Field = Field::new(11, 3);

    /// Of the dword behind an interface's number and call sites.
    pub const INTERFACE_TABLES: Field = Field::new(0, 16);
    pub const INTERFACE_ARRAY: Field = Field::new(16, 16);
}

/// The token of an operand that is a register by its number alone, without components.
pub(super) const fn register_token(file: RegisterFile) -> u32 {
    file.number() << 12 | 1 << 20
}

impl Declaration {
    /// Reads what follows the opcode token of a declaration.
    pub(super) fn decode(
        token: OpcodeToken,
        offset: usize,
        reader: &mut TokenReader,
        version: Version,
    ) -> Result<Self, DecodeError> {
        let bits = token.bits;
        let flags = UavFlags::from_token(bits);
        let mut fields = Fields { reader, version };
        Ok(match token.opcode {
            Opcode::DclResource => {
                let dimension = Dimension::decode(field::DIMENSION.get(bits), offset)?;
                let binding = fields.binding(RegisterFile::Resource)?;
                let return_types = fields.return_types()?;
                Declaration::Resource {
                    binding: fields.in_space(binding)?,
                    dimension,
                    samples: field::SAMPLES.get(bits) as u8,
                    return_types,
                }
            }
            Opcode::DclConstantBuffer => {
                let (binding, rows) = fields.constant_buffer()?;
                Declaration::ConstantBuffer { binding, rows, dynamic: field::DYNAMIC.is_set(bits) }
            }
            Opcode::DclSampler => {
                let mode = SamplerMode::decode(field::SAMPLER_MODE.get(bits), offset)?;
                let binding = fields.binding(RegisterFile::Sampler)?;
                Declaration::Sampler { binding: fields.in_space(binding)?, mode }
            }
            Opcode::DclIndexRange => Declaration::IndexRange { first: fields.operand()?, count: fields.number()? },
            Opcode::DclOutputTopology => {
                Declaration::OutputTopology(Topology::decode(field::TOPOLOGY.get(bits), offset)?)
            }
            Opcode::DclInputPrimitive => {
                Declaration::InputPrimitive(Primitive::decode(field::PRIMITIVE.get(bits), offset)?)
            }
            Opcode::DclMaxOut => Declaration::MaxOutputVertices(fields.number()?),
            Opcode::DclInput => {
                Declaration::Input { operand: fields.operand()?, interpolation: None, system_value: None }
            }
            Opcode::DclInputSgv | Opcode::DclInputSiv => Declaration::Input {
                operand: fields.operand()?,
                interpolation: None,
                system_value: Some(fields.system_value()?),
            },
            Opcode::DclInputPs => Declaration::Input {
                interpolation: Some(Interpolation::decode(field::INTERPOLATION.get(bits), offset)?),
                operand: fields.operand()?,
                system_value: None,
            },
            Opcode::DclInputPsSgv | Opcode::DclInputPsSiv => Declaration::Input {
                interpolation: Some(Interpolation::decode(field::INTERPOLATION.get(bits), offset)?),
                operand: fields.operand()?,
                system_value: Some(fields.system_value()?),
            },
            Opcode::DclOutput => Declaration::Output { operand: fields.operand()?, system_value: None },
            Opcode::DclOutputSgv | Opcode::DclOutputSiv => {
                Declaration::Output { operand: fields.operand()?, system_value: Some(fields.system_value()?) }
            }
            Opcode::DclTemps => Declaration::Temps(fields.number()?),
            Opcode::DclIndexableTemp => Declaration::IndexableTemp {
                register: fields.number()?,
                size: fields.number()?,
                components: fields.number()?,
            },
            Opcode::DclGlobalFlags => Declaration::GlobalFlags(GlobalFlags::from_token(bits)),
            Opcode::HsDecls => Declaration::HsDecls,
            Opcode::HsControlPointPhase => Declaration::HsControlPointPhase,
            Opcode::HsForkPhase => Declaration::HsForkPhase,
            Opcode::HsJoinPhase => Declaration::HsJoinPhase,
            Opcode::DclStream => Declaration::Stream(fields.register(RegisterFile::Stream)?),
            Opcode::DclFunctionBody => Declaration::FunctionBody(fields.number()?),
            Opcode::DclFunctionTable => {
                let id = fields.number()?;
                let count = fields.number()?;
                Declaration::FunctionTable { id, bodies: fields.numbers(count)? }
            }
            Opcode::DclInterface => {
                let id = fields.number()?;
                let call_sites = fields.number()?;
                let lengths = fields.number()?;
                Declaration::Interface(Box::new(Interface {
                    id,
                    dynamic: field::DYNAMIC.is_set(bits),
                    call_sites,
                    array_length: field::INTERFACE_ARRAY.get(lengths) as u16,
                    tables: fields.numbers(field::INTERFACE_TABLES.get(lengths))?,
                }))
            }
            Opcode::DclInputControlPointCount => Declaration::InputControlPointCount(field::CONTROL_POINTS.get(bits)),
            Opcode::DclOutputControlPointCount => Declaration::OutputControlPointCount(field::CONTROL_POINTS.get(bits)),
            Opcode::DclTessDomain => Declaration::TessDomain(TessDomain::decode(field::TESS_DOMAIN.get(bits), offset)?),
            Opcode::DclTessPartitioning => {
                Declaration::TessPartitioning(TessPartitioning::decode(field::TESS_PARTITIONING.get(bits), offset)?)
            }
            Opcode::DclTessOutputPrimitive => {
                Declaration::TessOutput(TessOutput::decode(field::TESS_OUTPUT.get(bits), offset)?)
            }
            Opcode::DclHsMaxTessFactor => Declaration::HsMaxTessFactor { bits: fields.number()? },
            Opcode::DclHsForkPhaseInstanceCount => Declaration::HsForkPhaseInstanceCount(fields.number()?),
            Opcode::DclHsJoinPhaseInstanceCount => Declaration::HsJoinPhaseInstanceCount(fields.number()?),
            Opcode::DclThreadGroup => Declaration::ThreadGroup([fields.number()?, fields.number()?, fields.number()?]),
            Opcode::DclUavTyped => {
                let dimension = Dimension::decode(field::DIMENSION.get(bits), offset)?;
                let binding = fields.binding(RegisterFile::UnorderedAccess)?;
                let return_types = fields.return_types()?;
                Declaration::UavTyped { binding: fields.in_space(binding)?, dimension, flags, return_types }
            }
            Opcode::DclUavRaw => {
                let binding = fields.binding(RegisterFile::UnorderedAccess)?;
                Declaration::UavRaw { binding: fields.in_space(binding)?, flags }
            }
            Opcode::DclUavStructured => {
                let binding = fields.binding(RegisterFile::UnorderedAccess)?;
                let stride = fields.number()?;
                Declaration::UavStructured { binding: fields.in_space(binding)?, flags, stride }
            }
            Opcode::DclTgsmRaw => {
                Declaration::TgsmRaw { register: fields.register(RegisterFile::GroupShared)?, bytes: fields.number()? }
            }
            Opcode::DclTgsmStructured => Declaration::TgsmStructured {
                register: fields.register(RegisterFile::GroupShared)?,
                stride: fields.number()?,
                count: fields.number()?,
            },
            Opcode::DclResourceRaw => {
                let binding = fields.binding(RegisterFile::Resource)?;
                Declaration::ResourceRaw { binding: fields.in_space(binding)? }
            }
            Opcode::DclResourceStructured => {
                let binding = fields.binding(RegisterFile::Resource)?;
                let stride = fields.number()?;
                Declaration::ResourceStructured { binding: fields.in_space(binding)?, stride }
            }
            Opcode::DclGsInstances => Declaration::GsInstances(fields.number()?),
            opcode => unreachable!("{opcode} is not in the declaration group"),
        })
    }
}

/// The fields of a declaration in the order of its tokens.
struct Fields<'r, 'a> {
    reader: &'r mut TokenReader<'a>,
    version: Version,
}

impl Fields<'_, '_> {
    fn number(&mut self) -> Result<u32, DecodeError> {
        self.reader.dword("declaration")
    }

    /// `count` dwords; the reader holds the instruction alone, so the count cannot ask for more memory than its bytes.
    fn numbers(&mut self, count: u32) -> Result<Box<[u32]>, DecodeError> {
        if u64::from(count) > self.reader.remaining() as u64 {
            return Err(DecodeError::Truncated { what: "list of a declaration", offset: self.reader.offset() });
        }
        (0..count).map(|_| self.number()).collect()
    }

    fn system_value(&mut self) -> Result<SystemValue, DecodeError> {
        let offset = self.reader.offset();
        SystemValue::decode(self.number()?, offset)
    }

    fn return_types(&mut self) -> Result<[ReturnType; 4], DecodeError> {
        let offset = self.reader.offset();
        let types = self.number()?;
        if types >> 16 != 0 {
            return Err(DecodeError::Invalid { what: "resource return types", value: types.into(), offset });
        }
        return_types(types, offset)
    }

    /// An operand without dynamic indices.
    fn operand(&mut self) -> Result<Operand, DecodeError> {
        let offset = self.reader.offset();
        let operand = Operand::decode(self.reader)?;
        match operand.constant_indices() {
            Some(_) => Ok(operand),
            None => {
                let value = u64::from(operand.file().number());
                Err(DecodeError::Invalid { what: "dynamic index in a declaration of register file", value, offset })
            }
        }
    }

    /// The token and the indices, as many as `N`, of an operand of the register file.
    fn indices<const N: usize>(&mut self, file: RegisterFile) -> Result<(u32, [u32; N]), DecodeError> {
        let offset = self.reader.offset();
        let operand = self.operand()?;
        let invalid = |what, value: u32| DecodeError::Invalid { what, value: value.into(), offset };
        if operand.file() != file {
            return Err(invalid("register file of a declaration", operand.file().number()));
        }
        if operand.is_extended() {
            return Err(invalid("extended operand token in a declaration", operand.token()));
        }
        match operand.constant_indices().and_then(|indices| <[u32; N]>::try_from(indices).ok()) {
            Some(indices) => Ok((operand.token(), indices)),
            None => Err(invalid("number of indices in a declaration", operand.index_count() as u32)),
        }
    }

    /// The number of a register that has nothing else.
    fn register(&mut self, file: RegisterFile) -> Result<u32, DecodeError> {
        let offset = self.reader.offset();
        let (token, [register]) = self.indices(file)?;
        match token == register_token(file) {
            true => Ok(register),
            false => Err(DecodeError::Invalid { what: "operand of a declaration", value: token.into(), offset }),
        }
    }

    /// A binding, of whose tokens the space may still follow: see [`in_space`](Self::in_space).
    fn binding(&mut self, file: RegisterFile) -> Result<Binding, DecodeError> {
        if self.version.has_register_spaces() {
            let (token, [id, lower, upper]) = self.indices(file)?;
            Ok(Binding { id, lower, upper, space: 0, token })
        } else {
            let (token, [slot]) = self.indices(file)?;
            Ok(Binding { id: slot, lower: slot, upper: slot, space: 0, token })
        }
    }

    /// Adds the space, the last dword of a declaration from shader model 5.1 on.
    fn in_space(&mut self, binding: Binding) -> Result<Binding, DecodeError> {
        let space = if self.version.has_register_spaces() { self.number()? } else { 0 };
        Ok(Binding { space, ..binding })
    }

    /// A constant buffer's binding and rows. Before shader model 5.1 the operand's second index holds the rows.
    fn constant_buffer(&mut self) -> Result<(Binding, u32), DecodeError> {
        let file = RegisterFile::ConstantBuffer;
        if self.version.has_register_spaces() {
            let binding = self.binding(file)?;
            let rows = self.number()?;
            Ok((self.in_space(binding)?, rows))
        } else {
            let (token, [slot, rows]) = self.indices(file)?;
            Ok((Binding { id: slot, lower: slot, upper: slot, space: 0, token }, rows))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::opcode::Group;
    use crate::frontend::sm4::{Body, Program};

    /// Decodes one declaration: its opcode token without the length, and the dwords that follow.
    fn decode(model: u32, bits: u32, rest: &[u32]) -> Result<Declaration, DecodeError> {
        let length = rest.len() as u32 + 1;
        let dwords = [&[0x0001_0000 | model, length + 2, bits | length << 24], rest].concat();
        let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let program = Program::decode(&bytes, 0)?;
        match program.instructions.into_iter().next().map(|instruction| instruction.body) {
            Some(Body::Declaration(declaration)) => Ok(declaration),
            other => panic!("{other:?}"),
        }
    }

    const T1: [u32; 2] = [0x0010_7000, 1];
    const T_RANGE: [u32; 4] = [0x0030_7000, 1, 4, u32::MAX];

    #[test]
    fn a_resource_has_slot_or_range() {
        let bits = Opcode::DclResource.number() | 4 << 11 | 8 << 16;
        let declared = |binding| Declaration::Resource {
            binding,
            dimension: Dimension::Texture2dMs,
            samples: 8,
            return_types: [ReturnType::Float, ReturnType::Uint, ReturnType::Sint, ReturnType::Unorm],
        };
        let slot = Binding { id: 1, lower: 1, upper: 1, space: 0, token: T1[0] };
        assert_eq!(decode(0x50, bits, &[&T1[..], &[0x1345]].concat()), Ok(declared(slot)));
        let range = Binding { id: 1, lower: 4, upper: u32::MAX, space: 7, token: T_RANGE[0] };
        assert_eq!(decode(0x51, bits, &[&T_RANGE[..], &[0x1345, 7]].concat()), Ok(declared(range)));
        // The number of indices goes with the model.
        assert!(matches!(
            decode(0x50, bits, &[&T_RANGE[..], &[0x1345]].concat()),
            Err(DecodeError::Invalid { value: 3, .. })
        ));
        assert!(matches!(
            decode(0x51, bits, &[&T1[..], &[0x1345, 7]].concat()),
            Err(DecodeError::Invalid { value: 1, .. })
        ));
        assert!(matches!(decode(0x50, bits, &T1), Err(DecodeError::Truncated { .. })));
        assert!(matches!(
            decode(0x50, bits, &[&T1[..], &[0x1300]].concat()),
            Err(DecodeError::Invalid { what: "resource return type", .. })
        ));
    }

    #[test]
    fn a_constant_buffer_has_rows() {
        let bits = Opcode::DclConstantBuffer.number() | 1 << 11;
        let binding = Binding { id: 2, lower: 2, upper: 2, space: 0, token: 0x0020_8e46 };
        assert_eq!(
            decode(0x40, bits, &[0x0020_8e46, 2, 14]),
            Ok(Declaration::ConstantBuffer { binding, rows: 14, dynamic: true })
        );
        let binding = Binding { id: 0, lower: 1, upper: 3, space: 9, token: 0x0030_8e46 };
        assert_eq!(
            decode(0x51, bits & !(1 << 11), &[0x0030_8e46, 0, 1, 3, 5, 9]),
            Ok(Declaration::ConstantBuffer { binding, rows: 5, dynamic: false })
        );
    }

    #[test]
    fn registers_are_of_the_declared_file() {
        let bits = Opcode::DclSampler.number();
        assert!(matches!(
            decode(0x50, bits, &T1),
            Err(DecodeError::Invalid { what: "register file of a declaration", value: 7, .. })
        ));
        // `dcl_input v[r0.x]`
        let dynamic = [0x0010_1000 | 2 << 22, 0x0010_000a, 0];
        assert!(matches!(
            decode(0x50, Opcode::DclInput.number(), &dynamic),
            Err(DecodeError::Invalid { value: 1, .. })
        ));
    }

    #[test]
    fn system_values_and_modes_are_known_ones() {
        let input = [0x0010_1012, 0];
        let siv = |value| decode(0x50, Opcode::DclInputSgv.number(), &[&input[..], &[value]].concat());
        assert!(matches!(siv(6), Ok(Declaration::Input { system_value: Some(SystemValue::VertexId), .. })));
        assert!(matches!(siv(99), Err(DecodeError::Invalid { what: "system value", value: 99, offset: 0x14 })));
        let mode = |mode: u32| decode(0x50, Opcode::DclInputPs.number() | mode << 11, &input);
        assert!(matches!(mode(2), Ok(Declaration::Input { interpolation: Some(Interpolation::Linear), .. })));
        assert!(matches!(mode(8), Err(DecodeError::Invalid { what: "interpolation mode", value: 8, offset: 8 })));
    }

    #[test]
    fn lists_are_as_long_as_they_say() {
        let table = |rest: &[u32]| decode(0x50, Opcode::DclFunctionTable.number(), rest);
        assert_eq!(table(&[3, 2, 7, 8]), Ok(Declaration::FunctionTable { id: 3, bodies: Box::new([7, 8]) }));
        assert!(matches!(table(&[3, 3, 7, 8]), Err(DecodeError::Truncated { .. })));
        assert!(matches!(table(&[3, u32::MAX]), Err(DecodeError::Truncated { .. })));
        assert!(matches!(table(&[3, 1, 7, 8]), Err(DecodeError::TrailingTokens { count: 1, .. })));
        let interface = decode(0x50, Opcode::DclInterface.number() | 1 << 11, &[4, 1, 0x0004_0002, 2, 3]);
        let Ok(Declaration::Interface(interface)) = interface else { panic!("{interface:?}") };
        assert_eq!((interface.id, interface.dynamic, interface.array_length), (4, true, 4));
        assert_eq!(interface.tables, Box::from([2, 3]));
    }

    #[test]
    fn every_declaration_is_decoded() {
        let declarations = Opcode::ALL.iter().copied().filter(|opcode| opcode.group() == Group::Declaration);
        for opcode in declarations {
            let (file, indices) = match opcode {
                Opcode::DclConstantBuffer => (RegisterFile::ConstantBuffer, 2),
                Opcode::DclSampler => (RegisterFile::Sampler, 1),
                Opcode::DclStream => (RegisterFile::Stream, 1),
                Opcode::DclUavTyped | Opcode::DclUavRaw | Opcode::DclUavStructured => {
                    (RegisterFile::UnorderedAccess, 1)
                }
                Opcode::DclTgsmRaw | Opcode::DclTgsmStructured => (RegisterFile::GroupShared, 1),
                _ => (RegisterFile::Resource, 1),
            };
            // What may follow the opcode token: an operand and a number, an operand and return types, or numbers. One
            // of them must do, at one length.
            let operand = indices << 20 | file.number() << 12;
            let follows = [[operand, 1, 1, 1, 1], [operand, 1, 0x5555, 1, 1], [0, 1, 1, 1, 1]];
            let decodes = follows.iter().any(|words| {
                (0..=words.len()).any(|length| decode(0x50, opcode.number() | 1 << 11, &words[..length]).is_ok())
            });
            assert!(decodes, "{opcode}");
        }
    }
}
