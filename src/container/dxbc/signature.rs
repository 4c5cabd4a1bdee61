//! Signatures: what a stage reads and writes, by semantic and register.
//!
//! A signature part is a count, the offset of the first element (8 in practice) and the elements; semantics are
//! NUL-terminated names anywhere in the part. Elements come in three sizes: 24 bytes, 28 with the stream in front, 32
//! with the minimum precision at the end as well.

use super::{FourCc, Part};
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

open_code! {
    /// System value of an element (`D3D_NAME`, Direct3D 11 and 12 reflection).
    ///
    /// Compilers of shader model 4 and 5 store 0 for pixel-shader outputs; see
    /// [`effective_system_value`](SignatureElement::effective_system_value).
    SystemValue(u32) {
        0 NONE "none",
        1 POSITION "Position",
        2 CLIP_DISTANCE "ClipDistance",
        3 CULL_DISTANCE "CullDistance",
        4 RENDER_TARGET_ARRAY_INDEX "RenderTargetArrayIndex",
        5 VIEWPORT_ARRAY_INDEX "ViewportArrayIndex",
        6 VERTEX_ID "VertexID",
        7 PRIMITIVE_ID "PrimitiveID",
        8 INSTANCE_ID "InstanceID",
        9 IS_FRONT_FACE "IsFrontFace",
        10 SAMPLE_INDEX "SampleIndex",
        11 FINAL_QUAD_EDGE_TESS_FACTOR "FinalQuadEdgeTessFactor",
        12 FINAL_QUAD_INSIDE_TESS_FACTOR "FinalQuadInsideTessFactor",
        13 FINAL_TRI_EDGE_TESS_FACTOR "FinalTriEdgeTessFactor",
        14 FINAL_TRI_INSIDE_TESS_FACTOR "FinalTriInsideTessFactor",
        15 FINAL_LINE_DETAIL_TESS_FACTOR "FinalLineDetailTessFactor",
        16 FINAL_LINE_DENSITY_TESS_FACTOR "FinalLineDensityTessFactor",
        23 BARYCENTRICS "Barycentrics",
        24 SHADING_RATE "ShadingRate",
        25 CULL_PRIMITIVE "CullPrimitive",
        64 TARGET "Target",
        65 DEPTH "Depth",
        66 COVERAGE "Coverage",
        67 DEPTH_GREATER_EQUAL "DepthGreaterEqual",
        68 DEPTH_LESS_EQUAL "DepthLessEqual",
        69 STENCIL_REF "StencilRef",
        70 INNER_COVERAGE "InnerCoverage",
    }
}

/// The system values of pixel-shader outputs, which are stored as 0 and told by the semantic: `SV_` and their name.
const PIXEL_OUTPUTS: [SystemValue; 6] = [
    SystemValue::TARGET,
    SystemValue::DEPTH,
    SystemValue::COVERAGE,
    SystemValue::DEPTH_GREATER_EQUAL,
    SystemValue::DEPTH_LESS_EQUAL,
    SystemValue::STENCIL_REF,
];

open_code! {
    /// Type of an element's components. Shader model 4 and 5 use the first four.
    StoredType(u32) {
        0 UNKNOWN "none",
        1 U32 "uint",
        2 I32 "int",
        3 F32 "float",
        4 U16 "uint16",
        5 I16 "int16",
        6 F16 "float16",
        7 U64 "uint64",
        8 I64 "int64",
        9 F64 "double",
    }
}

open_code! {
    /// The least precision an element's components may be computed with.
    MinPrecision(u32) {
        0 DEFAULT "default",
        1 FLOAT_16 "min16float",
        2 FLOAT_2_8 "min2_8float",
        3 RESERVED "reserved",
        4 SINT_16 "min16int",
        5 UINT_16 "min16uint",
        0xf0 ANY_16 "any16",
        0xf1 ANY_10 "any10",
    }
}

/// One signature part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// The part it was read from.
    pub part: FourCc,
    /// Its elements, in stored order.
    pub elements: Vec<SignatureElement<'a>>,
}

/// One element: up to four components of a register under a semantic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureElement<'a> {
    /// Absolute byte offset of the element's record.
    pub offset: usize,
    /// Semantic name, without its index. Compared without regard to case.
    pub semantic: Name<'a>,
    /// Semantic index.
    pub index: u32,
    /// System value as stored.
    pub system_value: SystemValue,
    /// Type of the components.
    pub component_type: StoredType,
    /// Register, or `None` where the element has none (depth, coverage and the like).
    pub register: Option<u32>,
    /// Components of the register it occupies: bit 0 = x to bit 3 = w.
    pub mask: u8,
    /// Inputs: the components that are always read. Outputs: those that are **never written**. Bits as in `mask`.
    pub rw_mask: u8,
    /// Geometry-shader output stream; 0 where the part stores none.
    pub stream: u32,
    /// Minimum precision; the default where the part stores none.
    pub min_precision: MinPrecision,
}

impl SignatureElement<'_> {
    /// Of an output: the components that may be written.
    pub fn written(&self) -> u8 {
        self.mask & !self.rw_mask
    }

    /// The stored system value, or for a pixel-shader output stored as 0 the one its semantic names.
    pub fn effective_system_value(&self) -> SystemValue {
        if self.system_value != SystemValue::NONE {
            return self.system_value;
        }
        let named = |value: &SystemValue| {
            let prefix = self.semantic.as_bytes().get(..3);
            let rest = self.semantic.as_bytes().get(3..);
            prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"SV_"))
                && rest.zip(value.name()).is_some_and(|(rest, name)| rest.eq_ignore_ascii_case(name.as_bytes()))
        };
        PIXEL_OUTPUTS.into_iter().find(named).unwrap_or(SystemValue::NONE)
    }
}

/// What an element of a part consists of beside the fields that all have.
struct Layout {
    stream: bool,
    min_precision: bool,
}

impl Layout {
    fn of(part: FourCc) -> Self {
        match part {
            FourCc::ISG1 | FourCc::OSG1 | FourCc::PSG1 => Self { stream: true, min_precision: true },
            FourCc::OSG5 => Self { stream: true, min_precision: false },
            _ => Self { stream: false, min_precision: false },
        }
    }

    fn stride(&self) -> u32 {
        24 + 4 * u32::from(self.stream) + 4 * u32::from(self.min_precision)
    }
}

impl<'a> Signature<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let layout = Layout::of(part.name);
        let mut header = part.reader();
        let count = header.count("signature element count", limits::SIGNATURE_ELEMENTS)?;
        let first_offset = header.offset();
        let first = header.u32("signature element offset")?;
        if first < 8 {
            return Err(invalid("signature element offset", first.into(), first_offset));
        }
        let records = header.records(first, count, layout.stride(), "signature elements")?;
        let elements = records.map(|record| element(&header, record, &layout)).collect::<Result<_, _>>()?;
        Ok(Self { part: part.name, elements })
    }
}

/// Reads one element record; names lie in `part`.
fn element<'a>(
    part: &Reader<'a>,
    mut record: Reader<'a>,
    layout: &Layout,
) -> Result<SignatureElement<'a>, ContainerError> {
    let offset = record.offset();
    let stream = if layout.stream { record.u32("stream")? } else { 0 };
    let semantic = part.name(record.u32("semantic name offset")?, "semantic name")?;
    let index = record.u32("semantic index")?;
    let system_value = SystemValue(record.u32("system value")?);
    let component_type = StoredType(record.u32("component type")?);
    let register = record.u32("register")?;
    let mask = component_mask(&mut record, "component mask")?;
    // DXC for validators up to 1.1 stores the complement of what is written in all eight bits.
    let rw_mask = record.u8("read/write mask")? & 0xf;
    record.u16("padding")?; // Compilers leave garbage here.
    let min_precision =
        if layout.min_precision { MinPrecision(record.u32("minimum precision")?) } else { MinPrecision::DEFAULT };
    Ok(SignatureElement {
        offset,
        semantic,
        index,
        system_value,
        component_type,
        register: (register != u32::MAX).then_some(register),
        mask,
        rw_mask,
        stream,
        min_precision,
    })
}

fn component_mask(record: &mut Reader<'_>, what: &'static str) -> Result<u8, ContainerError> {
    let offset = record.offset();
    let mask = record.u8(what)?;
    if mask > 0xf {
        return Err(invalid(what, mask.into(), offset));
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::{over_limit, truncated};

    /// Data of a signature part: header, `records`, then the names `TEXCOORD` and `sv_target`.
    fn data(count: u32, records: &[u32]) -> Vec<u8> {
        let dwords = [count, 8].into_iter().chain(records.iter().copied());
        let mut data: Vec<u8> = dwords.flat_map(u32::to_le_bytes).collect();
        data.extend_from_slice(b"TEXCOORD\0sv_target\0");
        data
    }

    fn parse(name: FourCc, data: &[u8]) -> Result<Signature<'_>, ContainerError> {
        Signature::parse(&Part { name, offset: 0x38, data })
    }

    #[test]
    fn the_three_record_sizes() {
        let plain = data(1, &[32, 5, 2, 3, 7, 0xabab_030f]);
        let element = parse(FourCc::ISGN, &plain).unwrap().elements[0];
        assert_eq!((element.semantic, element.index, element.offset), (Name::new(b"TEXCOORD"), 5, 0x48));
        assert_eq!((element.system_value, element.component_type), (SystemValue::CLIP_DISTANCE, StoredType::F32));
        assert_eq!((element.register, element.mask, element.rw_mask), (Some(7), 0xf, 3));
        assert_eq!((element.stream, element.min_precision), (0, MinPrecision::DEFAULT));

        let streamed = data(1, &[3, 36, 5, 2, 3, 7, 0x0c03]);
        let element = parse(FourCc::OSG5, &streamed).unwrap().elements[0];
        assert_eq!((element.stream, element.index, element.mask, element.rw_mask), (3, 5, 3, 12));

        let newest = data(1, &[1, 40, 5, 2, 1, u32::MAX, 1, 4]);
        for name in [FourCc::ISG1, FourCc::OSG1, FourCc::PSG1] {
            let element = parse(name, &newest).unwrap().elements[0];
            assert_eq!((element.stream, element.register, element.semantic), (1, None, Name::new(b"TEXCOORD")));
            assert_eq!((element.min_precision, element.component_type), (MinPrecision::SINT_16, StoredType::U32));
        }
    }

    #[test]
    fn a_pixel_output_gets_its_system_value_from_its_name() {
        let element = |system_value, name| {
            let data = data(1, &[name, 0, system_value, 3, 0, 0xf]);
            parse(FourCc::OSGN, &data).unwrap().elements[0].effective_system_value()
        };
        assert_eq!(element(0, 32), SystemValue::NONE, "TEXCOORD");
        assert_eq!(element(0, 41), SystemValue::TARGET, "sv_target");
        assert_eq!(element(1, 41), SystemValue::POSITION, "what is stored counts");
    }

    #[test]
    fn elements_may_begin_behind_a_longer_header() {
        let dwords = [1u32, 12, 0xdead_beef, 36, 0, 0, 3, 2, 0x0101];
        let mut data: Vec<u8> = dwords.into_iter().flat_map(u32::to_le_bytes).collect();
        data.extend_from_slice(b"P\0");
        assert_eq!(parse(FourCc::ISGN, &data).unwrap().elements[0].register, Some(2));
    }

    #[test]
    fn each_malformed_field_is_an_error_with_its_offset() {
        let good = [32, 0, 0, 3, 0, 0xf];
        assert_eq!(parse(FourCc::ISGN, &[1, 0, 0]), Err(truncated("signature element count", 0x40, 4, 3)));
        let count = u32::MAX;
        let limit = limits::SIGNATURE_ELEMENTS.into();
        let error = over_limit("signature element count", count.into(), limit, 0x40);
        assert_eq!(parse(FourCc::ISGN, &data(count, &good)), Err(error));
        assert_eq!(parse(FourCc::ISGN, &data(9, &good)), Err(truncated("signature elements", 0x48, 216, 43)));
        let far_name = data(1, &[1000, 0, 0, 3, 0, 0xf]);
        assert_eq!(parse(FourCc::ISGN, &far_name), Err(truncated("semantic name", 0x40 + 1000, 1, 0)));
        let wide_mask = data(1, &[32, 0, 0, 3, 0, 0x1f]);
        assert_eq!(parse(FourCc::ISGN, &wide_mask), Err(invalid("component mask", 0x1f, 0x5c)));
        let mut overlapping = data(1, &good);
        overlapping[4] = 4;
        assert_eq!(parse(FourCc::ISGN, &overlapping), Err(invalid("signature element offset", 4, 0x44)));
    }
}
