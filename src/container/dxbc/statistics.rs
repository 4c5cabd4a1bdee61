//! Statistics (`STAT`). Beside a tokenized program they are counters the compiler kept: 28 dwords in very old files, 29
//! in shader model 4, 37 in 5, named as Direct3D's reflection names them. Beside a DXIL program the part is a second
//! one, stripped to what reflection needs.

use super::{DxilProgram, FourCc, Part};
use crate::container::limits;
use crate::container::reader::over_limit;
use crate::error::ContainerError;

/// Declares the counters from their table, one line each in stored order: `field "what it counts"`.
macro_rules! counters {
    ($($field:ident $doc:literal,)*) => {
        /// What the compiler counted. A counter that the part is too short for is 0.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $( #[doc = concat!($doc, ".")] pub $field: u32, )*
            /// Dwords behind the known ones.
            pub unknown: Vec<u32>,
        }

        impl Counters {
            /// The counters' names, in stored order.
            pub const NAMES: &[&str] = &[$(stringify!($field)),*];

            /// The counters, in stored order.
            pub fn counters(&self) -> [(&'static str, u32); Self::NAMES.len()] {
                [$((stringify!($field), self.$field)),*]
            }

            fn counters_mut(&mut self) -> [&mut u32; Self::NAMES.len()] {
                [$(&mut self.$field),*]
            }
        }
    };
}

counters! {
    instructions "Instructions",
    temps "Temporary registers",
    defs "Constants the program defines",
    declarations "Declarations of inputs and outputs",
    float_instructions "Floating-point instructions",
    int_instructions "Signed-integer instructions",
    uint_instructions "Unsigned-integer instructions",
    static_flow_control "Branches on constants",
    dynamic_flow_control "Branches on computed values",
    macro_instructions "Macro instructions",
    temp_arrays "Indexable temporary registers",
    array_instructions "Instructions on arrays",
    cut_instructions "Ends of a geometry shader's strip",
    emit_instructions "Vertices a geometry shader emits",
    texture_normal "Samples with implicit level of detail",
    texture_load "Texture loads",
    texture_comparison "Comparison samples",
    texture_bias "Samples with a bias",
    texture_gradient "Samples with gradients",
    mov_instructions "Moves",
    movc_instructions "Conditional moves",
    conversions "Type conversions",
    bitwise_instructions "Bitwise instructions",
    input_primitive "Primitive a geometry shader takes (code of the declaration)",
    output_topology "Topology a geometry shader makes (code of the declaration)",
    max_output_vertices "Vertices a geometry shader emits at most",
    gathers "Gathers",
    lod_instructions "Queries of the level of detail",
    sample_frequency "1 if a pixel shader runs once a sample",
    gs_instances "Instances of a geometry shader",
    control_points "Control points of a patch",
    hs_output_primitive "Primitive the tessellator makes (code of the declaration)",
    hs_partitioning "Partitioning of the tessellator (code of the declaration)",
    tessellator_domain "Domain of the tessellator (code of the declaration)",
    barriers "Barriers",
    interlocked_instructions "Atomic operations",
    texture_stores "Stores to textures and unordered-access views",
}

/// A `STAT` part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statistics<'a> {
    /// Of a tokenized program.
    Counters(Counters),
    /// A DXIL program that holds the reflection of the other.
    Reflection(DxilProgram<'a>),
}

impl<'a> Statistics<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::STAT);
        let is_program = DxilProgram::is_in(part);
        Ok(if is_program {
            Self::Reflection(DxilProgram::parse(part)?)
        } else {
            Self::Counters(Counters::parse(part)?)
        })
    }
}

impl Counters {
    fn parse(part: &Part<'_>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
        let mut statistics = Self::default();
        for counter in statistics.counters_mut() {
            if reader.is_at_end() {
                break;
            }
            *counter = reader.u32("statistics")?;
        }
        let rest = (reader.len() / 4).saturating_sub(Self::NAMES.len());
        if rest > limits::UNKNOWN_STATISTICS {
            return Err(over_limit("statistics", rest as u64, limits::UNKNOWN_STATISTICS as u64, part.data_offset()));
        }
        while !reader.is_at_end() {
            statistics.unknown.push(reader.u32("statistics")?);
        }
        Ok(statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    fn parse(dwords: u32, extra: &[u8]) -> Result<Counters, ContainerError> {
        let mut data: Vec<u8> = (1..=dwords).flat_map(u32::to_le_bytes).collect();
        data.extend(extra);
        match Statistics::parse(&Part { name: FourCc::STAT, offset: 0x100, data: &data })? {
            Statistics::Counters(counters) => Ok(counters),
            Statistics::Reflection(program) => panic!("{program:?}"),
        }
    }

    #[test]
    fn the_three_lengths() {
        let old = parse(28, &[]).unwrap();
        assert_eq!((old.instructions, old.lod_instructions, old.sample_frequency), (1, 28, 0));
        let model_4 = parse(29, &[]).unwrap();
        assert_eq!((model_4.sample_frequency, model_4.gs_instances), (29, 0));
        let model_5 = parse(37, &[]).unwrap();
        assert_eq!((model_5.texture_stores, model_5.unknown.len()), (37, 0));
        assert_eq!(model_5.counters()[36], ("texture_stores", 37));
    }

    #[test]
    fn what_is_behind_the_known_counters_is_kept() {
        assert_eq!(parse(39, &[]).unwrap().unknown, [38, 39]);
        assert!(matches!(parse(2000, &[]), Err(ContainerError::Limit { value: 1963, offset: 0x108, .. })));
    }

    #[test]
    fn half_a_counter_is_an_error() {
        assert_eq!(parse(3, &[1]), Err(truncated("statistics", 0x114, 4, 1)));
        assert_eq!(parse(37, &[1, 2]), Err(truncated("statistics", 0x108 + 148, 4, 2)));
    }
}
