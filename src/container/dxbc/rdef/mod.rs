//! Resource definitions (`RDEF`): constant buffers with their variables, and resource bindings.
//!
//! The header has 28 bytes up to shader model 4.1 and 60 from 5.0 on, where it also gives the strides of the tables.
//! All offsets are relative to the part's data.

mod codes;
mod types;

pub use codes::{BaseType, ConstantBufferType, Dimension, InputType, ReturnType, TypeClass};
pub use types::{Member, Type, TypeId};

use super::program::ProgramKind;
use super::{FourCc, Part};
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;
use types::TypeReader;

/// Bytes of a constant-buffer record.
const CONSTANT_BUFFER: u32 = 24;
/// Bytes of a variable record of shader model 4, and of 5.
const VARIABLE: [u32; 2] = [24, 40];
/// Bytes of a binding record, and of one with register space and identifier.
const BINDING: [u32; 2] = [32, 40];

/// An `RDEF` part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceDefinitions<'a> {
    /// Shader model: major, minor.
    pub version: (u8, u8),
    /// Stage, if it is a known one. Effects and libraries have numbers of their own.
    pub kind: Option<ProgramKind>,
    /// Compiler flags (`D3DCOMPILE_*`).
    pub flags: u32,
    /// The compiler that wrote the part.
    pub creator: Name<'a>,
    /// Constant buffers in stored order. Two may have one name (arrays in 5.1).
    pub constant_buffers: Vec<ConstantBuffer<'a>>,
    /// Resource bindings in stored order.
    pub bindings: Vec<ResourceBinding<'a>>,
    /// Interface slots; 0 before shader model 5.
    pub interface_slots: u32,
    /// The types of the variables, each stored once; see [`type_of`](Self::type_of).
    types: Vec<Type<'a>>,
}

/// A constant buffer, or another record that describes a layout by variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantBuffer<'a> {
    /// Name.
    pub name: Name<'a>,
    /// Size in bytes; a multiple of 16 for real constant buffers.
    pub size: u32,
    /// Flags: 1 = packed by the user.
    pub flags: u32,
    /// What it describes.
    pub kind: ConstantBufferType,
    /// Its variables, in stored order.
    pub variables: Vec<Variable<'a>>,
}

/// A variable of a constant buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Name.
    pub name: Name<'a>,
    /// First byte in the constant buffer.
    pub offset: u32,
    /// Bytes, without padding behind the last array element.
    pub size: u32,
    /// Flags: 1 packed by the user, 2 used by the program, 4 interface pointer, 8 interface parameter.
    pub flags: u32,
    /// Its type, for [`ResourceDefinitions::type_of`].
    pub ty: TypeId,
    /// Default value, laid out as in the constant buffer.
    pub default: Option<&'a [u8]>,
    /// Textures that belong to the variable (shader model 5).
    pub textures: Option<SlotRange>,
    /// Samplers that belong to the variable (shader model 5).
    pub samplers: Option<SlotRange>,
}

impl<'a> Variable<'a> {
    /// Whether the program uses it.
    pub fn is_used(&self) -> bool {
        self.flags & 2 != 0
    }

    /// The default value as dwords, if there is one; zeros complete the last.
    pub fn default_dwords(&self) -> Option<impl Iterator<Item = u32> + use<'a>> {
        let dword = |bytes: &[u8]| bytes.iter().rev().fold(0, |dword, &byte| dword << 8 | u32::from(byte));
        self.default.map(|bytes| bytes.chunks(4).map(dword))
    }
}

/// A range of bind slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// First slot.
    pub first: u32,
    /// Number of slots.
    pub count: u32,
}

/// A resource and the slots it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceBinding<'a> {
    /// Name.
    pub name: Name<'a>,
    /// What is bound.
    pub input_type: InputType,
    /// What reading it returns.
    pub return_type: ReturnType,
    /// Its shape.
    pub dimension: Dimension,
    /// Sample count of multisampled textures, stride in bytes of structured buffers, otherwise `u32::MAX` or 0.
    pub samples_or_stride: u32,
    /// Slots. From shader model 5.1 on a count of 0 means unbounded.
    pub slots: SlotRange,
    /// Flags: 1 packed by the user, 2 comparison sampler, bits 2 and 3 the number of components less one of typed
    /// resources.
    pub flags: u32,
    /// Register space; 0 before shader model 5.1.
    pub space: u32,
    /// The number the program's declarations use for it; `None` before shader model 5.1.
    pub id: Option<u32>,
}

impl ResourceBinding<'_> {
    /// Whether a sampler compares.
    pub fn is_comparison(&self) -> bool {
        self.input_type == InputType::SAMPLER && self.flags & 2 != 0
    }

    /// Components of a typed resource, 1 to 4.
    pub fn components(&self) -> u32 {
        (self.flags >> 2 & 3) + 1
    }
}

/// Record sizes in bytes.
struct Strides {
    constant_buffer: u32,
    binding: u32,
    variable: u32,
    types: u32,
    member: u32,
    /// The part does not state them: shader model 4.
    implied: bool,
}

impl<'a> ResourceDefinitions<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let Head { mut definitions, reader, constant_buffers: (count, offset), strides } = Head::read(part)?;
        let mut variables = VariableReader {
            part: &reader,
            strides: &strides,
            budget: Budget::of_records("variable count", &reader, strides.variable, limits::VARIABLES),
            types: TypeReader::new(&reader, strides.types, strides.member),
        };
        definitions.constant_buffers = reader
            .records(offset, count, strides.constant_buffer, "constant buffers")?
            .filter_map(|record| variables.constant_buffer(record).transpose())
            .collect::<Result<_, _>>()?;
        definitions.types = variables.types.finish();
        Ok(definitions)
    }

    /// The bindings alone: most of a part is about the variables of constant buffers.
    pub(super) fn parse_bindings(part: &Part<'a>) -> Result<Vec<ResourceBinding<'a>>, ContainerError> {
        Ok(Head::read(part)?.definitions.bindings)
    }

    /// The type of a variable or member of this part.
    ///
    /// # Panics
    /// `id` is of another part.
    pub fn type_of(&self, id: TypeId) -> &Type<'a> {
        &self.types[id.index()]
    }
}

/// A part but for its constant buffers.
struct Head<'a> {
    definitions: ResourceDefinitions<'a>,
    reader: Reader<'a>,
    /// How many there are, and where.
    constant_buffers: (u32, u32),
    strides: Strides,
}

impl<'a> Head<'a> {
    fn read(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::RDEF);
        let mut reader = part.reader();
        let constant_buffer_count = reader.count("constant buffer count", limits::CONSTANT_BUFFERS)?;
        let constant_buffer_offset = reader.u32("constant buffer offset")?;
        let binding_count = reader.count("resource binding count", limits::RESOURCE_BINDINGS)?;
        let binding_offset = reader.u32("resource binding offset")?;
        let minor = reader.u8("RDEF version")?;
        let major = reader.u8("RDEF version")?;
        let kind = ProgramKind::from_rdef(reader.u16("RDEF program type")?);
        let flags = reader.u32("RDEF flags")?;
        let creator_offset = reader.u32("RDEF creator offset")?;
        let creator = match creator_offset {
            0 => Name::default(),
            offset => reader.name(offset, "RDEF creator")?,
        };
        let (strides, interface_slots) = match (major, minor) {
            (0..=4, _) => (Strides::SHADER_MODEL_4, 0),
            version => (Strides::read(&mut reader, version)?, reader.u32("RDEF interface slot count")?),
        };
        let bindings = reader
            .records(binding_offset, binding_count, strides.binding, "resource bindings")?
            .map(|record| binding(&reader, record))
            .collect::<Result<_, _>>()?;
        let (version, constant_buffers, types) = ((major, minor), Vec::new(), Vec::new());
        let definitions =
            ResourceDefinitions { version, kind, flags, creator, constant_buffers, bindings, interface_slots, types };
        Ok(Self { definitions, reader, constant_buffers: (constant_buffer_count, constant_buffer_offset), strides })
    }
}

impl Strides {
    const SHADER_MODEL_4: Self = Self {
        constant_buffer: CONSTANT_BUFFER,
        binding: BINDING[0],
        variable: VARIABLE[0],
        types: types::RECORD[0],
        member: types::MEMBER,
        implied: true,
    };

    /// Reads the second part of the header, bytes 28 to 56.
    fn read(header: &mut Reader<'_>, version: (u8, u8)) -> Result<Self, ContainerError> {
        header.u32("RDEF tag")?; // `RD11`, or four other bytes from shader model 5.1 on.
        stride(header, "RDEF header size", 60)?;
        let constant_buffer = stride(header, "RDEF constant buffer stride", CONSTANT_BUFFER)?;
        let binding = stride(header, "RDEF binding stride", if version >= (5, 1) { BINDING[1] } else { BINDING[0] })?;
        let variable = stride(header, "RDEF variable stride", VARIABLE[1])?;
        let types = stride(header, "RDEF type stride", types::RECORD[1])?;
        let member = stride(header, "RDEF member stride", types::MEMBER)?;
        Ok(Self { constant_buffer, binding, variable, types, member, implied: false })
    }
}

/// A stride that is at least the size of the known fields and at most that of any sensible record.
fn stride(header: &mut Reader<'_>, what: &'static str, known: u32) -> Result<u32, ContainerError> {
    let offset = header.offset();
    let stride = header.u32(what)?;
    if stride < known || stride > limits::RDEF_STRIDE {
        return Err(invalid(what, stride.into(), offset));
    }
    Ok(stride)
}

/// Records of one kind that may still be read. Tables do not overlap in what compilers write, so there are at most as
/// many records as fit the part; a file whose owners all name one long table is stopped here.
struct Budget {
    what: &'static str,
    left: u64,
    total: u64,
}

impl Budget {
    /// As many as records of `stride` bytes fit `part`, and not over `limit`.
    fn of_records(what: &'static str, part: &Reader<'_>, stride: u32, limit: u32) -> Self {
        let total = (part.len() as u64 / u64::from(stride)).min(limit.into());
        Self { what, left: total, total }
    }

    fn spend(&mut self, count: u64, offset: usize) -> Result<(), ContainerError> {
        let Some(left) = self.left.checked_sub(count) else {
            let needed = (self.total - self.left).saturating_add(count);
            return Err(over_limit(self.what, needed, self.total, offset));
        };
        self.left = left;
        Ok(())
    }
}

/// Reads constant buffers with their variables and types.
struct VariableReader<'r, 'a> {
    part: &'r Reader<'a>,
    strides: &'r Strides,
    budget: Budget,
    types: TypeReader<'r, 'a>,
}

impl<'a> VariableReader<'_, 'a> {
    /// Reads one constant-buffer record; `None` if it is an unused one, which has no name.
    fn constant_buffer(&mut self, mut record: Reader<'a>) -> Result<Option<ConstantBuffer<'a>>, ContainerError> {
        let name_offset = record.u32("constant buffer name offset")?;
        if name_offset == 0 {
            return Ok(None);
        }
        let name = self.part.name(name_offset, "constant buffer name")?;
        let count_offset = record.offset();
        let count = record.u32("variable count")?;
        self.budget.spend(count.into(), count_offset)?;
        let table_offset = record.u32("variable offset")?;
        let size = record.u32("constant buffer size")?;
        let flags = record.u32("constant buffer flags")?;
        let kind = ConstantBufferType(record.u32("constant buffer type")?);

        let stride = variable_stride(self.part, table_offset, count, self.strides);
        let records = self.part.records(table_offset, count, stride, "variables")?;
        let variables = records.map(|record| self.variable(record)).collect::<Result<_, _>>()?;
        Ok(Some(ConstantBuffer { name, size, flags, kind, variables }))
    }

    /// Reads one variable record; it is as long as its stride.
    fn variable(&mut self, mut record: Reader<'a>) -> Result<Variable<'a>, ContainerError> {
        let name = self.part.name(record.u32("variable name offset")?, "variable name")?;
        let offset = record.u32("variable start")?;
        let size = record.u32("variable size")?;
        let flags = record.u32("variable flags")?;
        let ty = self.types.variable_type(record.u32("variable type offset")?)?;
        let default = match record.u32("variable default offset")? {
            0 => None,
            default => Some(self.part.range(default, size.into(), "variable default")?.rest()),
        };
        let (mut textures, mut samplers) = (None, None);
        if record.len() >= VARIABLE[1] as usize {
            textures = variable_slots(&mut record)?;
            samplers = variable_slots(&mut record)?;
        }
        Ok(Variable { name, offset, size, flags, ty, default, textures, samplers })
    }
}

/// The stride of a constant buffer's variable records. A few shader model 4 files carry the records of model 5; there
/// the second record, read with the small stride, has a name outside the part.
fn variable_stride(part: &Reader<'_>, table_offset: u32, count: u32, strides: &Strides) -> u32 {
    let [small, large] = VARIABLE;
    if strides.implied && count >= 2 && part.records(table_offset, count, large, "variables").is_ok() {
        let second = part.range(table_offset.saturating_add(small), small.into(), "variable");
        let name = second.and_then(|mut record| record.u32("variable name offset"));
        if name.is_ok_and(|name| name as usize >= part.len()) {
            return large;
        }
    }
    strides.variable
}

fn variable_slots(record: &mut Reader<'_>) -> Result<Option<SlotRange>, ContainerError> {
    let slots = SlotRange { first: record.u32("variable slot")?, count: record.u32("variable slot count")? };
    Ok((slots.first != u32::MAX).then_some(slots))
}

/// Reads one binding record; it is as long as its stride.
fn binding<'a>(part: &Reader<'a>, mut record: Reader<'a>) -> Result<ResourceBinding<'a>, ContainerError> {
    let has_space = record.len() >= BINDING[1] as usize;
    Ok(ResourceBinding {
        name: part.name(record.u32("binding name offset")?, "binding name")?,
        input_type: InputType(record.u32("binding type")?),
        return_type: ReturnType(record.u32("binding return type")?),
        dimension: Dimension(record.u32("binding dimension")?),
        samples_or_stride: record.u32("binding sample count")?,
        slots: SlotRange { first: record.u32("bind point")?, count: record.u32("bind count")? },
        flags: record.u32("binding flags")?,
        space: if has_space { record.u32("binding space")? } else { 0 },
        id: if has_space { Some(record.u32("binding identifier")?) } else { None },
    })
}

#[cfg(test)]
mod tests;
