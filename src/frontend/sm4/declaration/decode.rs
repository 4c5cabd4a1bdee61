//! Decoding: the tokens of a declaration → what it says, field by field.

use super::{Binding, Declaration, Interface, field, register_token};
use crate::error::DecodeError;
use crate::frontend::sm4::codes::{
    Dimension, GlobalFlags, Interpolation, Primitive, ReturnType, SamplerMode, SystemValue, TessDomain, TessOutput,
    TessPartitioning, Topology, UavFlags,
};
use crate::frontend::sm4::decode::Version;
use crate::frontend::sm4::opcode::Opcode;
use crate::frontend::sm4::operand::{Operand, RegisterFile};
use crate::frontend::sm4::token::{OpcodeToken, TokenReader, return_types};

impl Declaration {
    /// Reads what follows the opcode token of a declaration.
    pub(in crate::frontend::sm4) fn decode(
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
