//! Required features (`SFI0`): what a device must offer to run the program.

use super::{FourCc, Part};
use crate::error::ContainerError;

/// Declares the features from their table, one line each: `bit CONSTANT "name" "what the reference listing calls it"`.
macro_rules! features {
    ($($bit:literal $constant:ident $name:literal $note:literal,)*) => {
        impl FeatureFlags {
            $(
                #[doc = concat!($note, " (bit ", $bit, ").")]
                pub const $constant: Self = Self(1 << $bit);
            )*

            /// The known features: flag, name, and what a listing's header calls it.
            pub const KNOWN: &[(Self, &'static str, &'static str)] = &[$((Self::$constant, $name, $note)),*];
        }
    };
}

/// A set of features, a bit each. The numbers are DirectX's (`D3D_SHADER_REQUIRES_*`, DXIL's feature info).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureFlags(pub u64);

features! {
    0 DOUBLES "doubles" "Double-precision floating point",
    1 RAW_AND_STRUCTURED_BUFFERS "raw_and_structured_buffers" "Raw and Structured buffers",
    2 UAVS_AT_EVERY_STAGE "uavs_at_every_stage" "UAVs at every shader stage",
    3 UAVS_64 "64_uavs" "64 UAV slots",
    4 MIN_PRECISION "min_precision" "Minimum-precision data types",
    5 DOUBLES_11_1 "doubles_11_1" "Double-precision extensions for 11.1",
    6 SHADER_EXTENSIONS_11_1 "shader_extensions_11_1" "Shader extensions for 11.1",
    7 LEVEL_9_COMPARISON "level_9_comparison" "Comparison filtering for feature level 9",
    8 TILED_RESOURCES "tiled_resources" "Tiled resources",
    9 STENCIL_REF "stencil_ref" "PS Output Stencil Ref",
    10 INNER_COVERAGE "inner_coverage" "PS Inner Coverage",
    11 TYPED_UAV_LOADS "typed_uav_loads" "Typed UAV Load Additional Formats",
    12 ROVS "rasterizer_ordered_views" "Raster Ordered UAVs",
    13 LAYER_WITHOUT_GS "layer_without_gs" "SV_RenderTargetArrayIndex or SV_ViewportArrayIndex from any shader feeding rasterizer",
    14 WAVE_OPS "wave_ops" "Wave level operations",
    15 INT_64 "int64" "64-Bit integer",
    16 VIEW_ID "view_id" "View Instancing",
    17 BARYCENTRICS "barycentrics" "Barycentrics",
    18 NATIVE_LOW_PRECISION "native_low_precision" "Use native low precision",
    19 SHADING_RATE "shading_rate" "Shading Rate",
    20 RAYTRACING_1_1 "raytracing_1_1" "Raytracing tier 1.1 features",
    21 SAMPLER_FEEDBACK "sampler_feedback" "Sampler feedback",
    22 ATOMIC_INT_64_TYPED "atomic_int64_typed" "64-bit Atomics on Typed Resources",
    23 ATOMIC_INT_64_GROUP_SHARED "atomic_int64_group_shared" "64-bit Atomics on Group Shared",
    24 MESH_DERIVATIVES "mesh_derivatives" "Derivatives in mesh and amplification shaders",
    25 RESOURCE_HEAP "resource_heap" "Resource descriptor heap indexing",
    26 SAMPLER_HEAP "sampler_heap" "Sampler descriptor heap indexing",
    28 ATOMIC_INT_64_HEAP "atomic_int64_heap" "64-bit Atomics on Heap Resources",
    29 ADVANCED_TEXTURE_OPS "advanced_texture_ops" "Advanced Texture Ops",
    30 WRITEABLE_MSAA "writeable_msaa" "Writeable MSAA Textures",
    31 SAMPLE_COMPARE_GRADIENT "sample_compare_gradient" "SampleCmp with gradient or bias",
    32 EXTENDED_COMMAND_INFO "extended_command_info" "Extended command info",
    40 USES_DERIVATIVES "uses_derivatives" "Uses derivatives",
    41 REQUIRES_GROUP "requires_group" "Requires a thread group",
}

impl FeatureFlags {
    /// Whether all of `features` are in the set.
    pub const fn contains(self, features: Self) -> bool {
        self.0 & features.0 == features.0
    }

    /// The features of the set that are known, by ascending bit.
    pub fn known(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        Self::KNOWN.iter().filter(move |&&(flag, ..)| self.contains(flag)).map(|&(_, name, note)| (name, note))
    }

    /// The bits that stand for no known feature.
    pub fn unknown(self) -> u64 {
        Self::KNOWN.iter().fold(self.0, |bits, (flag, ..)| bits & !flag.0)
    }

    pub(super) fn parse(part: &Part<'_>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::SFI0);
        part.reader().array("feature flags").map(|bytes| Self(u64::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    #[test]
    fn bits_have_names_and_unknown_ones_stay() {
        let data = (1u64 | 1 << 13 | 1 << 27 | 1 << 63).to_le_bytes();
        let part = Part { name: FourCc::SFI0, offset: 0, data: &data };
        let flags = FeatureFlags::parse(&part).unwrap();
        assert_eq!(flags.known().map(|(name, _)| name).collect::<Vec<_>>(), ["doubles", "layer_without_gs"]);
        assert!(flags.contains(FeatureFlags::DOUBLES) && !flags.contains(FeatureFlags::ROVS));
        assert_eq!(flags.unknown(), 1 << 27 | 1 << 63);
        let short = Part { data: &data[..5], ..part };
        assert_eq!(FeatureFlags::parse(&short), Err(truncated("feature flags", 8, 8, 5)));
    }
}
