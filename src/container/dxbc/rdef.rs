//! Resource definitions (`RDEF`): constant buffers with their variables, and resource bindings.
//!
//! The header has 28 bytes up to shader model 4.1 and 60 from 5.0 on, where it also gives the strides of the tables. All
//! offsets are relative to the part's data.

use super::program::ProgramKind;
use super::{FourCc, Part};
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;

/// Bytes of a constant-buffer record.
const CONSTANT_BUFFER: u32 = 24;
/// Bytes of a variable record of shader model 4, and of 5.
const VARIABLE: [u32; 2] = [24, 40];
/// Bytes of a binding record, and of one with register space and identifier.
const BINDING: [u32; 2] = [32, 40];

open_code! {
    /// What the variables of a constant-buffer record describe.
    ConstantBufferType(u32) {
        0 CBUFFER "cbuffer",
        1 TBUFFER "tbuffer",
        2 INTERFACE_POINTERS "interfaces",
        3 RESOURCE_BIND_INFO "resource bind info",
    }
}

open_code! {
    /// What is bound to a slot.
    InputType(u32) {
        0 CBUFFER "cbuffer",
        1 TBUFFER "tbuffer",
        2 TEXTURE "texture",
        3 SAMPLER "sampler",
        4 UAV_TYPED "UAV",
        5 STRUCTURED "structured buffer",
        6 UAV_STRUCTURED "structured UAV",
        7 BYTE_ADDRESS "byte-address buffer",
        8 UAV_BYTE_ADDRESS "byte-address UAV",
        9 UAV_APPEND "append UAV",
        10 UAV_CONSUME "consume UAV",
        11 UAV_STRUCTURED_COUNTER "structured UAV with counter",
        12 ACCELERATION_STRUCTURE "acceleration structure",
        13 FEEDBACK_TEXTURE "feedback texture",
    }
}

open_code! {
    /// What reading a resource returns.
    ReturnType(u32) {
        0 NONE "none",
        1 UNORM "unorm",
        2 SNORM "snorm",
        3 SINT "sint",
        4 UINT "uint",
        5 FLOAT "float",
        6 MIXED "mixed",
        7 DOUBLE "double",
        8 CONTINUED "continued",
    }
}

open_code! {
    /// Shape of a resource.
    Dimension(u32) {
        0 NONE "none",
        1 BUFFER "buffer",
        2 TEXTURE_1D "1d",
        3 TEXTURE_1D_ARRAY "1d array",
        4 TEXTURE_2D "2d",
        5 TEXTURE_2D_ARRAY "2d array",
        6 TEXTURE_2D_MS "2d multisampled",
        7 TEXTURE_2D_MS_ARRAY "2d multisampled array",
        8 TEXTURE_3D "3d",
        9 TEXTURE_CUBE "cube",
        10 TEXTURE_CUBE_ARRAY "cube array",
        11 BUFFER_EX "raw buffer",
    }
}

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
    /// Offset of the type record, relative to the part's data.
    pub type_offset: u32,
    /// Default value, laid out as in the constant buffer.
    pub default: Option<&'a [u8]>,
    /// Textures that belong to the variable (shader model 5).
    pub textures: Option<SlotRange>,
    /// Samplers that belong to the variable (shader model 5).
    pub samplers: Option<SlotRange>,
}

impl Variable<'_> {
    /// Whether the program uses it.
    pub fn is_used(&self) -> bool {
        self.flags & 2 != 0
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
    /// Flags: 1 packed by the user, 2 comparison sampler, bits 2 and 3 the number of components less one of typed resources.
    pub flags: u32,
    /// Register space; 0 before shader model 5.1.
    pub space: u32,
    /// The number the program's declarations use for it; `None` before shader model 5.1.
    pub id: Option<u32>,
}

/// Record sizes in bytes.
struct Strides {
    constant_buffer: u32,
    binding: u32,
    variable: u32,
    /// The part does not state them: shader model 4.
    implied: bool,
}

impl<'a> ResourceDefinitions<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::RDEF);
        let mut header = part.reader();
        let constant_buffer_count = header.count("constant buffer count", limits::CONSTANT_BUFFERS)?;
        let constant_buffer_offset = header.u32("constant buffer offset")?;
        let binding_count = header.count("resource binding count", limits::RESOURCE_BINDINGS)?;
        let binding_offset = header.u32("resource binding offset")?;
        let minor = header.u8("RDEF version")?;
        let major = header.u8("RDEF version")?;
        let kind = ProgramKind::from_rdef(header.u16("RDEF program type")?);
        let flags = header.u32("RDEF flags")?;
        let creator_offset = header.u32("RDEF creator offset")?;
        let creator = match creator_offset {
            0 => Name::default(),
            offset => header.name(offset, "RDEF creator")?,
        };
        let (strides, interface_slots) = match (major, minor) {
            (0..=4, _) => (Strides::SHADER_MODEL_4, 0),
            version => (Strides::read(&mut header, version)?, header.u32("RDEF interface slot count")?),
        };

        let bindings = header
            .records(binding_offset, binding_count, strides.binding, "resource bindings")?
            .map(|record| binding(&header, record))
            .collect::<Result<_, _>>()?;

        let mut budget = VariableBudget::new(&header, &strides);
        let constant_buffers = header
            .records(constant_buffer_offset, constant_buffer_count, strides.constant_buffer, "constant buffers")?
            .filter_map(|record| constant_buffer(&header, record, &strides, &mut budget).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Self { version: (major, minor), kind, flags, creator, constant_buffers, bindings, interface_slots })
    }
}

impl Strides {
    const SHADER_MODEL_4: Self =
        Self { constant_buffer: CONSTANT_BUFFER, binding: BINDING[0], variable: VARIABLE[0], implied: true };

    /// Reads the second part of the header, bytes 28 to 56.
    fn read(header: &mut Reader<'_>, version: (u8, u8)) -> Result<Self, ContainerError> {
        header.u32("RDEF tag")?; // `RD11`, or four other bytes from shader model 5.1 on.
        stride(header, "RDEF header size", 60)?;
        let constant_buffer = stride(header, "RDEF constant buffer stride", CONSTANT_BUFFER)?;
        let binding = stride(header, "RDEF binding stride", if version >= (5, 1) { BINDING[1] } else { BINDING[0] })?;
        let variable = stride(header, "RDEF variable stride", VARIABLE[1])?;
        stride(header, "RDEF type stride", 36)?;
        stride(header, "RDEF member stride", 12)?;
        Ok(Self { constant_buffer, binding, variable, implied: false })
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

/// Variable records that may still be read. Records of different constant buffers do not overlap in what compilers write, so
/// there are at most as many as fit the part; a file whose constant buffers all name one long table is stopped here.
struct VariableBudget {
    left: u64,
    total: u64,
}

impl VariableBudget {
    fn new(part: &Reader<'_>, strides: &Strides) -> Self {
        let total = (part.len() as u64 / u64::from(strides.variable)).min(limits::VARIABLES.into());
        Self { left: total, total }
    }

    fn spend(&mut self, count: u32, offset: usize) -> Result<(), ContainerError> {
        let Some(left) = self.left.checked_sub(count.into()) else {
            let needed = self.total - self.left + u64::from(count);
            return Err(over_limit("variable count", needed, self.total, offset));
        };
        self.left = left;
        Ok(())
    }
}

/// Reads one constant-buffer record; `None` if it is an unused one, which has no name.
fn constant_buffer<'a>(
    part: &Reader<'a>,
    mut record: Reader<'a>,
    strides: &Strides,
    budget: &mut VariableBudget,
) -> Result<Option<ConstantBuffer<'a>>, ContainerError> {
    let name_offset = record.u32("constant buffer name offset")?;
    if name_offset == 0 {
        return Ok(None);
    }
    let name = part.name(name_offset, "constant buffer name")?;
    let count_offset = record.offset();
    let count = record.u32("variable count")?;
    budget.spend(count, count_offset)?;
    let table_offset = record.u32("variable offset")?;
    let size = record.u32("constant buffer size")?;
    let flags = record.u32("constant buffer flags")?;
    let kind = ConstantBufferType(record.u32("constant buffer type")?);

    let stride = variable_stride(part, table_offset, count, strides);
    let variables = part
        .records(table_offset, count, stride, "variables")?
        .map(|record| variable(part, record))
        .collect::<Result<_, _>>()?;
    Ok(Some(ConstantBuffer { name, size, flags, kind, variables }))
}

/// The stride of a constant buffer's variable records. A few shader model 4 files carry the records of model 5; there the
/// second record, read with the small stride, has a name outside the part.
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

/// Reads one variable record; it is as long as its stride.
fn variable<'a>(part: &Reader<'a>, mut record: Reader<'a>) -> Result<Variable<'a>, ContainerError> {
    let name = part.name(record.u32("variable name offset")?, "variable name")?;
    let offset = record.u32("variable start")?;
    let size = record.u32("variable size")?;
    let flags = record.u32("variable flags")?;
    let type_offset = record.u32("variable type offset")?;
    let default = match record.u32("variable default offset")? {
        0 => None,
        default => Some(part.range(default, size.into(), "variable default")?.rest()),
    };
    let (mut textures, mut samplers) = (None, None);
    if record.len() >= VARIABLE[1] as usize {
        textures = variable_slots(&mut record)?;
        samplers = variable_slots(&mut record)?;
    }
    Ok(Variable { name, offset, size, flags, type_offset, default, textures, samplers })
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
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x108;

    fn bytes(dwords: &[u32]) -> Vec<u8> {
        dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
    }

    fn parse(data: &[u8]) -> Result<ResourceDefinitions<'_>, ContainerError> {
        ResourceDefinitions::parse(&Part { name: FourCc::RDEF, offset: BASE - 8, data })
    }

    /// A shader model 4 part with one constant buffer `cb` of `variable_records` and one binding for it.
    fn model_4(variable_count: u32, variable_records: &[u32]) -> Vec<u8> {
        let binding = 28;
        let buffer = binding + 32;
        let variables = buffer + 24;
        let names = variables + 4 * variable_records.len() as u32;
        let mut dwords = vec![1, buffer, 1, binding, 0xfffe_0400, 0x100, names + 5];
        dwords.extend([names, 0, 0, 0, 0, 3, 1, 0]);
        dwords.extend([names, variable_count, variables, 64, 0, 0]);
        dwords.extend(variable_records);
        let mut data = bytes(&dwords);
        data.extend_from_slice(b"cb\0m\0me\0");
        data
    }

    #[test]
    fn shader_model_4_has_no_second_header() {
        let names = 28 + 32 + 24 + 24;
        let data = model_4(1, &[names + 3, 16, 4, 2, 0x5678, names]);
        let rdef = parse(&data).unwrap();
        assert_eq!((rdef.version, rdef.kind, rdef.flags), ((4, 0), Some(ProgramKind::Vertex), 0x100));
        assert_eq!((rdef.creator, rdef.interface_slots), (Name::new(b"me"), 0));
        let [buffer] = rdef.constant_buffers.as_slice() else { panic!("one buffer") };
        assert_eq!((buffer.name, buffer.size, buffer.kind), (Name::new(b"cb"), 64, ConstantBufferType::CBUFFER));
        let variable = Variable {
            name: Name::new(b"m"),
            offset: 16,
            size: 4,
            flags: 2,
            type_offset: 0x5678,
            default: Some(b"cb\0m"),
            textures: None,
            samplers: None,
        };
        assert_eq!(buffer.variables, [variable]);
        assert!(variable.is_used());
        let [binding] = rdef.bindings.as_slice() else { panic!("one binding") };
        assert_eq!((binding.name, binding.input_type), (Name::new(b"cb"), InputType::CBUFFER));
        assert_eq!((binding.slots, binding.space, binding.id), (SlotRange { first: 3, count: 1 }, 0, None));
    }

    #[test]
    fn a_shader_model_4_part_may_carry_the_records_of_model_5() {
        let names = 28 + 32 + 24 + 2 * 40;
        let none = u32::MAX;
        let first = [names + 3, 0, 16, 2, 0, 0, none, 0, none, 0];
        let second = [names + 5, 16, 16, 0, 0, 0, 7, 1, none, 0];
        let data = model_4(2, &[first, second].concat());
        let rdef = parse(&data).unwrap();
        let variables = &rdef.constant_buffers[0].variables;
        assert_eq!(variables.iter().map(|v| v.name.to_string()).collect::<Vec<_>>(), ["m", "me"]);
        assert_eq!(variables[1].textures, Some(SlotRange { first: 7, count: 1 }));
        assert_eq!(variables[1].samplers, None);
    }

    /// A shader model 5 part with one binding record and the strides (header, buffer, binding, variable, type, member).
    fn model_5(minor: u32, strides: [u32; 6], binding: &[u32]) -> Vec<u8> {
        let names = 60 + 4 * binding.len() as u32;
        let mut dwords = vec![0, 0, 1, 60, 0x4353_0500 | minor, 0, names, 0x3131_4452];
        dwords.extend(strides);
        dwords.push(3);
        dwords.extend(binding);
        let mut data = bytes(&dwords);
        data.extend_from_slice(b"tex\0");
        data
    }

    #[test]
    fn shader_model_5_states_its_strides() {
        let record = [92, 2, 5, 4, u32::MAX, 1, 2, 0xc];
        let data = model_5(0, [60, 24, 32, 40, 36, 12], &record);
        let rdef = parse(&data).unwrap();
        assert_eq!((rdef.version, rdef.kind, rdef.interface_slots), ((5, 0), Some(ProgramKind::Compute), 3));
        let binding = rdef.bindings[0];
        assert_eq!((binding.name, binding.input_type, binding.flags), (Name::new(b"tex"), InputType::TEXTURE, 0xc));
        assert_eq!((binding.return_type, binding.dimension), (ReturnType::FLOAT, Dimension::TEXTURE_2D));
        assert_eq!((binding.slots, binding.id), (SlotRange { first: 1, count: 2 }, None));

        let longer = [108, 2, 5, 4, u32::MAX, 1, 0, 0, 9, 5, 0xdead, 0xbeef];
        let data = model_5(1, [60, 24, 48, 40, 36, 12], &longer);
        let binding = parse(&data).unwrap().bindings[0];
        assert_eq!((binding.name, binding.space, binding.id), (Name::new(b"tex"), 9, Some(5)));
    }

    #[test]
    fn a_stride_below_the_known_record_is_refused() {
        let record = [92, 2, 5, 4, u32::MAX, 1, 2, 0];
        let error = |minor, strides| parse(&model_5(minor, strides, &record)).unwrap_err();
        assert_eq!(error(1, [60, 24, 32, 40, 36, 12]), invalid("RDEF binding stride", 32, BASE + 40));
        assert_eq!(error(0, [60, 0, 32, 40, 36, 12]), invalid("RDEF constant buffer stride", 0, BASE + 36));
        assert_eq!(error(0, [60, 24, 32, 40, 36, u32::MAX]), invalid("RDEF member stride", u32::MAX.into(), BASE + 52));
    }

    #[test]
    fn constant_buffers_cannot_multiply_one_table() {
        let count = 200;
        let (buffers, variables) = (28, 28 + 24 * count);
        let names = variables + 24 * count;
        let mut dwords = vec![count, buffers, 0, 0, 0xfffe_0400, 0, 0];
        for _ in 0..count {
            dwords.extend([names, count, variables, 16, 0, 0]);
        }
        for _ in 0..count {
            dwords.extend([names, 0, 16, 0, 0, 0]);
        }
        let mut data = bytes(&dwords);
        data.extend_from_slice(b"x\0");
        let room = data.len() as u64 / 24;
        // The second buffer's 200 still fit the part, the third's do not.
        let third = BASE + buffers as usize + 2 * 24 + 4;
        assert_eq!(parse(&data), Err(over_limit("variable count", 3 * u64::from(count), room, third)));
    }

    #[test]
    fn a_record_without_a_name_is_left_out() {
        let data = bytes(&[1, 28, 0, 0, 0xffff_0400, 0, 0, 0, 99, 99, 99, 99, 99]);
        assert_eq!(parse(&data).unwrap().constant_buffers, []);
    }

    #[test]
    fn tables_and_names_outside_the_part_are_errors() {
        let names = 28 + 32 + 24 + 24;
        let mut data = model_4(1, &[names + 3, 16, 4, 2, 0, 0]);
        data[28..32].copy_from_slice(&5000u32.to_le_bytes());
        assert_eq!(parse(&data), Err(truncated("binding name", BASE + 5000, 1, 0)));
        let data = model_4(1, &[names + 3, 16, 4, 2, 0, 5000]);
        assert_eq!(parse(&data), Err(truncated("variable default", BASE + 5000, 4, 0)));
        assert_eq!(parse(&data[..20]), Err(truncated("RDEF flags", BASE + 20, 4, 0)));
        assert_eq!(parse(&data[..40]), Err(truncated("RDEF creator", BASE + names as usize + 5, 1, 0)));
    }
}
