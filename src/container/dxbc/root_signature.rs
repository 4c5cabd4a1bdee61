//! Root signature (`RTS0`), versions 1.0 to 1.2: what a pipeline binds, and to which registers (Direct3D 12,
//! `D3D12_VERSIONED_ROOT_SIGNATURE_DESC`; stored as LLVM documents under "DXContainer").
//!
//! The header gives version, count and offset of the parameters, count and offset of the static samplers, and flags.
//! All offsets are relative to the part's data.

use super::Part;
use crate::container::limits;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;

/// Bytes of a parameter record.
const PARAMETER: u32 = 12;
/// Bytes of a descriptor range, without flags and with.
const RANGE: [u32; 2] = [20, 24];
/// Bytes of a static sampler, without flags and with.
const SAMPLER: [u32; 2] = [52, 56];

open_code! {
    /// Version of a root signature.
    RootSignatureVersion(u32) {
        1 V1_0 "1.0",
        2 V1_1 "1.1",
        3 V1_2 "1.2",
    }
}

open_code! {
    /// Which stages see a parameter or a sampler.
    ShaderVisibility(u32) {
        0 ALL "all",
        1 VERTEX "vertex",
        2 HULL "hull",
        3 DOMAIN "domain",
        4 GEOMETRY "geometry",
        5 PIXEL "pixel",
        6 AMPLIFICATION "amplification",
        7 MESH "mesh",
    }
}

open_code! {
    /// What a descriptor describes.
    DescriptorType(u32) {
        0 SRV "SRV",
        1 UAV "UAV",
        2 CBV "CBV",
        3 SAMPLER "sampler",
    }
}

open_code! {
    /// What a sampler does outside of the texture.
    RootAddressMode(u32) {
        1 WRAP "wrap",
        2 MIRROR "mirror",
        3 CLAMP "clamp",
        4 BORDER "border",
        5 MIRROR_ONCE "mirror once",
    }
}

open_code! {
    /// When a comparison holds.
    RootComparison(u32) {
        1 NEVER "never",
        2 LESS "less",
        3 EQUAL "equal",
        4 LESS_EQUAL "less or equal",
        5 GREATER "greater",
        6 NOT_EQUAL "not equal",
        7 GREATER_EQUAL "greater or equal",
        8 ALWAYS "always",
    }
}

open_code! {
    /// Border colour of a static sampler.
    BorderColour(u32) {
        0 TRANSPARENT_BLACK "transparent black",
        1 OPAQUE_BLACK "opaque black",
        2 OPAQUE_WHITE "opaque white",
        3 OPAQUE_BLACK_UINT "opaque black (uint)",
        4 OPAQUE_WHITE_UINT "opaque white (uint)",
    }
}

/// A root signature.
#[derive(Clone, Debug, PartialEq)]
pub struct RootSignature {
    /// Its version.
    pub version: RootSignatureVersion,
    /// Flags: 1 allow the input layout; deny access to 2 vertex, 4 hull, 8 domain, 0x10 geometry, 0x20 pixel shaders;
    /// 0x40 allow stream output; 0x80 local; deny access to 0x100 amplification, 0x200 mesh shaders; 0x400 resources,
    /// 0x800 samplers indexed in the heap.
    pub flags: u32,
    /// Parameters; their numbers are those of `SetGraphicsRoot…`.
    pub parameters: Vec<RootParameter>,
    /// Static samplers.
    pub samplers: Vec<StaticSampler>,
}

/// A parameter of a root signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootParameter {
    /// Who sees it.
    pub visibility: ShaderVisibility,
    /// What it binds.
    pub kind: RootParameterKind,
}

/// What a parameter of a root signature binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootParameterKind {
    /// A table of descriptors, as the ranges it consists of.
    Table(Vec<DescriptorRange>),
    /// Constants in the root signature itself.
    Constants {
        /// Register of the constant buffer.
        register: u32,
        /// Its register space.
        space: u32,
        /// Number of 32-bit values.
        count: u32,
    },
    /// One descriptor in the root signature itself: never a sampler.
    Descriptor {
        /// What it describes.
        kind: DescriptorType,
        /// Register.
        register: u32,
        /// Its register space.
        space: u32,
        /// Flags as in [`DescriptorRange::flags`]; 0 in version 1.0.
        flags: u32,
    },
}

/// Consecutive descriptors of one type in a descriptor table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorRange {
    /// What they describe.
    pub kind: DescriptorType,
    /// How many; `None` if unbounded.
    pub count: Option<u32>,
    /// Register of the first.
    pub register: u32,
    /// Its register space.
    pub space: u32,
    /// Flags: 1 descriptors volatile, 2 data volatile, 4 data static while set at execute, 8 data static, 0x10000
    /// descriptors static but buffers checked. 0 in version 1.0.
    pub flags: u32,
    /// Where in the table it begins, in descriptors; `None` directly behind the range before.
    pub table_offset: Option<u32>,
}

/// A sampler that is part of the root signature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticSampler {
    /// Filter (`D3D12_FILTER`): bit 0 linear between mips, 2 for magnification, 4 for minification; 0x55 anisotropic;
    /// 0x80 comparison, 0x100 minimum, 0x180 maximum.
    pub filter: u32,
    /// Addressing in u, v and w.
    pub address: [RootAddressMode; 3],
    /// Added to the level of detail.
    pub mip_bias: f32,
    /// Most anisotropic samples.
    pub max_anisotropy: u32,
    /// Comparison, of a comparison filter.
    pub comparison: RootComparison,
    /// Border colour.
    pub border: BorderColour,
    /// Least level of detail.
    pub min_lod: f32,
    /// Greatest level of detail.
    pub max_lod: f32,
    /// Register.
    pub register: u32,
    /// Its register space.
    pub space: u32,
    /// Who sees it.
    pub visibility: ShaderVisibility,
    /// Flags: 1 integer border colour, 2 coordinates not normalised. 0 before version 1.2.
    pub flags: u32,
}

impl RootSignature {
    pub(super) fn parse(part: &Part<'_>) -> Result<Self, ContainerError> {
        Self::read(part.reader())
    }

    /// Reads a root signature that fills what `header` reads, wherever that lies: libraries keep theirs in another
    /// part.
    pub(super) fn read(mut header: Reader<'_>) -> Result<Self, ContainerError> {
        let version_offset = header.offset();
        let version = RootSignatureVersion(header.u32("root signature version")?);
        if version.name().is_none() {
            return Err(invalid("root signature version", version.0.into(), version_offset));
        }
        let parameter_count = header.count("root parameter count", limits::ROOT_PARAMETERS)?;
        let parameter_offset = header.u32("root parameter offset")?;
        let sampler_count = header.count("static sampler count", limits::STATIC_SAMPLERS)?;
        let sampler_offset = header.u32("static sampler offset")?;
        let flags = header.u32("root signature flags")?;

        let mut budget = RangeBudget::new(&header, version);
        let parameters = header
            .records(parameter_offset, parameter_count, PARAMETER, "root parameters")?
            .map(|record| parameter(&header, record, version, &mut budget))
            .collect::<Result<_, _>>()?;
        let stride = SAMPLER[usize::from(version >= RootSignatureVersion::V1_2)];
        let samplers = header
            .records(sampler_offset, sampler_count, stride, "static samplers")?
            .map(|record| sampler(record, version))
            .collect::<Result<_, _>>()?;
        Ok(Self { version, flags, parameters, samplers })
    }
}

/// Bytes of a descriptor range.
fn range_stride(version: RootSignatureVersion) -> u32 {
    RANGE[usize::from(version >= RootSignatureVersion::V1_1)]
}

/// Descriptor ranges that may still be read. Tables do not overlap in what compilers write, so there are at most as
/// many as fit the part; a file whose parameters all name one long table is stopped here.
struct RangeBudget {
    left: u64,
    total: u64,
}

impl RangeBudget {
    fn new(part: &Reader<'_>, version: RootSignatureVersion) -> Self {
        let total = part.len() as u64 / u64::from(range_stride(version));
        Self { left: total, total }
    }

    fn spend(&mut self, count: u32, offset: usize) -> Result<(), ContainerError> {
        let Some(left) = self.left.checked_sub(count.into()) else {
            let needed = self.total - self.left + u64::from(count);
            return Err(over_limit("descriptor range count", needed, self.total, offset));
        };
        self.left = left;
        Ok(())
    }
}

/// Reads one parameter record; what it binds lies in `part`.
fn parameter(
    part: &Reader<'_>,
    mut record: Reader<'_>,
    version: RootSignatureVersion,
    budget: &mut RangeBudget,
) -> Result<RootParameter, ContainerError> {
    let kind_offset = record.offset();
    let kind = record.u32("root parameter type")?;
    let visibility = ShaderVisibility(record.u32("root parameter visibility")?);
    let offset = record.u32("root parameter offset")?;
    let kind = match kind {
        0 => {
            let mut table = part.range(offset, 8, "descriptor table")?;
            let count_offset = table.offset();
            let count = table.u32("descriptor range count")?;
            budget.spend(count, count_offset)?;
            let ranges_offset = table.u32("descriptor range offset")?;
            let ranges = part.records(ranges_offset, count, range_stride(version), "descriptor ranges")?;
            RootParameterKind::Table(ranges.map(|record| range(record, version)).collect::<Result<_, _>>()?)
        }
        1 => {
            let mut constants = part.range(offset, 12, "root constants")?;
            RootParameterKind::Constants {
                register: constants.u32("root constant register")?,
                space: constants.u32("root constant space")?,
                count: constants.u32("root constant count")?,
            }
        }
        2..=4 => {
            let flagged = version >= RootSignatureVersion::V1_1;
            let mut descriptor = part.range(offset, if flagged { 12 } else { 8 }, "root descriptor")?;
            RootParameterKind::Descriptor {
                kind: [DescriptorType::CBV, DescriptorType::SRV, DescriptorType::UAV][kind as usize - 2],
                register: descriptor.u32("root descriptor register")?,
                space: descriptor.u32("root descriptor space")?,
                flags: if flagged { descriptor.u32("root descriptor flags")? } else { 0 },
            }
        }
        // Unknown ones cannot be skipped: nothing says how long they are.
        _ => return Err(invalid("root parameter type", kind.into(), kind_offset)),
    };
    Ok(RootParameter { visibility, kind })
}

fn range(mut record: Reader<'_>, version: RootSignatureVersion) -> Result<DescriptorRange, ContainerError> {
    Ok(DescriptorRange {
        kind: DescriptorType(record.u32("descriptor range type")?),
        count: Some(record.u32("descriptor count")?).filter(|&count| count != u32::MAX),
        register: record.u32("descriptor range register")?,
        space: record.u32("descriptor range space")?,
        flags: if version >= RootSignatureVersion::V1_1 { record.u32("descriptor range flags")? } else { 0 },
        table_offset: Some(record.u32("descriptor table offset")?).filter(|&offset| offset != u32::MAX),
    })
}

fn sampler(mut record: Reader<'_>, version: RootSignatureVersion) -> Result<StaticSampler, ContainerError> {
    let mut dword = || record.u32("static sampler");
    Ok(StaticSampler {
        filter: dword()?,
        address: [RootAddressMode(dword()?), RootAddressMode(dword()?), RootAddressMode(dword()?)],
        mip_bias: f32::from_bits(dword()?),
        max_anisotropy: dword()?,
        comparison: RootComparison(dword()?),
        border: BorderColour(dword()?),
        min_lod: f32::from_bits(dword()?),
        max_lod: f32::from_bits(dword()?),
        register: dword()?,
        space: dword()?,
        visibility: ShaderVisibility(dword()?),
        flags: if version >= RootSignatureVersion::V1_2 { dword()? } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::FourCc;
    use crate::container::reader::truncated;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x88;

    fn bytes(dwords: &[u32]) -> Vec<u8> {
        dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
    }

    fn parse(dwords: &[u32]) -> Result<RootSignature, ContainerError> {
        RootSignature::parse(&Part { name: FourCc::RTS0, offset: BASE - 8, data: &bytes(dwords) })
    }

    /// One parameter of `kind` with these dwords, in a signature of `version`.
    fn one(version: u32, kind: u32, body: &[u32]) -> Vec<u32> {
        let mut dwords = vec![version, 1, 24, 0, 0, 0x45, kind, 5, 36];
        dwords.extend(body);
        dwords
    }

    const SAMPLER_FIELDS: [u32; 13] =
        [0x95, 1, 4, 5, 0x3fc0_0000, 8, 5, 2, 0xbe80_0000, 0x7f7f_ffff, 6, 7, 3 /* domain */];

    #[test]
    fn descriptor_tables_of_each_version() {
        let v1_0 = parse(&one(1, 0, &[1, 44, 3, 4, 5, 6, 7])).unwrap();
        assert_eq!((v1_0.version, v1_0.flags, v1_0.samplers.len()), (RootSignatureVersion::V1_0, 0x45, 0));
        let [RootParameter { visibility: ShaderVisibility::PIXEL, kind: RootParameterKind::Table(ranges) }] =
            v1_0.parameters.as_slice()
        else {
            panic!("{v1_0:?}")
        };
        let range = DescriptorRange {
            kind: DescriptorType::SAMPLER,
            count: Some(4),
            register: 5,
            space: 6,
            flags: 0,
            table_offset: Some(7),
        };
        assert_eq!(ranges, &[range]);

        for version in [2, 3] {
            let body = [2, 44, 0, u32::MAX, 5, 6, 0x1_0000, u32::MAX, 1, 1, 2, 3, 4, 0];
            let signature = parse(&one(version, 0, &body)).unwrap();
            let RootParameterKind::Table(ranges) = &signature.parameters[0].kind else { panic!("{signature:?}") };
            assert_eq!((ranges[0].kind, ranges[0].count, ranges[0].table_offset), (DescriptorType::SRV, None, None));
            assert_eq!((ranges[0].flags, ranges[1].flags), (0x1_0000, 4));
            assert_eq!((ranges[1].kind, ranges[1].table_offset), (DescriptorType::UAV, Some(0)));
        }
    }

    #[test]
    fn constants_and_descriptors() {
        let kind = |version, kind, body: &[u32]| parse(&one(version, kind, body)).unwrap().parameters.remove(0).kind;
        assert_eq!(kind(2, 1, &[3, 2, 5]), RootParameterKind::Constants { register: 3, space: 2, count: 5 });
        let types = [(2, DescriptorType::CBV), (3, DescriptorType::SRV), (4, DescriptorType::UAV)];
        for (code, expected) in types {
            let descriptor = |flags| RootParameterKind::Descriptor { kind: expected, register: 8, space: 9, flags };
            assert_eq!(kind(1, code, &[8, 9]), descriptor(0));
            assert_eq!(kind(2, code, &[8, 9, 4]), descriptor(4));
        }
    }

    #[test]
    fn samplers_have_flags_from_1_2_on() {
        for (version, flags) in [(1, 0), (2, 0), (3, 2)] {
            let mut dwords = vec![version, 0, 24, 1, 24, 0];
            dwords.extend(SAMPLER_FIELDS);
            dwords.extend((version == 3).then_some(2));
            let sampler = StaticSampler {
                filter: 0x95,
                address: [RootAddressMode::WRAP, RootAddressMode::BORDER, RootAddressMode::MIRROR_ONCE],
                mip_bias: 1.5,
                max_anisotropy: 8,
                comparison: RootComparison::GREATER,
                border: BorderColour::OPAQUE_WHITE,
                min_lod: -0.25,
                max_lod: f32::MAX,
                register: 6,
                space: 7,
                visibility: ShaderVisibility::DOMAIN,
                flags,
            };
            assert_eq!(parse(&dwords).unwrap().samplers, [sampler]);
        }
        let mut dwords = vec![3, 0, 24, 1, 24, 0];
        dwords.extend(SAMPLER_FIELDS);
        assert_eq!(parse(&dwords), Err(truncated("static samplers", BASE + 24, 56, 52)));
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let good = one(2, 0, &[1, 44, 3, 4, 5, 6, 7, 8]);
        assert!(parse(&good).is_ok());
        let error = |at: usize, value| {
            let mut dwords = good.clone();
            dwords[at] = value;
            parse(&dwords).unwrap_err()
        };
        assert_eq!(error(0, 0), invalid("root signature version", 0, BASE));
        assert_eq!(error(0, 4), invalid("root signature version", 4, BASE));
        let limit = u64::from(limits::ROOT_PARAMETERS);
        assert_eq!(error(1, u32::MAX), over_limit("root parameter count", u32::MAX.into(), limit, BASE + 4));
        assert_eq!(error(2, u32::MAX), truncated("root parameters", BASE + u32::MAX as usize, 12, 0));
        let limit = u64::from(limits::STATIC_SAMPLERS);
        assert_eq!(error(3, u32::MAX), over_limit("static sampler count", u32::MAX.into(), limit, BASE + 12));
        assert_eq!(error(6, 5), invalid("root parameter type", 5, BASE + 24));
        assert_eq!(error(8, 62), truncated("descriptor table", BASE + 62, 8, 6));
        assert_eq!(error(10, 45), truncated("descriptor ranges", BASE + 45, 24, 23));
        assert_eq!(parse(&good[..5]), Err(truncated("root signature flags", BASE + 20, 4, 0)));
        let constants = parse(&one(2, 1, &[1, 2])).unwrap_err();
        assert_eq!(constants, truncated("root constants", BASE + 36, 12, 8));
        let descriptor = parse(&one(2, 2, &[1, 2])).unwrap_err();
        assert_eq!(descriptor, truncated("root descriptor", BASE + 36, 12, 8));
    }

    #[test]
    fn parameters_cannot_multiply_one_table() {
        // 80 bytes hold three ranges at most, however many parameters name them.
        let mut dwords = vec![2, 2, 24, 0, 0, 0, 0, 0, 48, 0, 0, 48, 2, 20];
        dwords.extend([0; 6]);
        assert_eq!(parse(&dwords), Err(over_limit("descriptor range count", 4, 3, BASE + 48)));
        dwords[12] = u32::MAX;
        assert_eq!(parse(&dwords), Err(over_limit("descriptor range count", u32::MAX.into(), 3, BASE + 48)));
    }
}
