//! The names that Direct3D has for formats.

use shaderjit::{BlockFormat, TexelFormat};

/// Names without `DXGI_FORMAT_`.
const NAMES: &[(&str, TexelFormat)] = &[
    ("R32_FLOAT", TexelFormat::R32Float),
    ("R32_UINT", TexelFormat::R32Uint),
    ("R32_SINT", TexelFormat::R32Sint),
    ("D32_FLOAT", TexelFormat::D32Float),
    ("R32G32_FLOAT", TexelFormat::Rg32Float),
    ("R32G32_UINT", TexelFormat::Rg32Uint),
    ("R32G32_SINT", TexelFormat::Rg32Sint),
    ("R32G32B32_FLOAT", TexelFormat::Rgb32Float),
    ("R32G32B32_UINT", TexelFormat::Rgb32Uint),
    ("R32G32B32_SINT", TexelFormat::Rgb32Sint),
    ("R32G32B32A32_FLOAT", TexelFormat::Rgba32Float),
    ("R32G32B32A32_UINT", TexelFormat::Rgba32Uint),
    ("R32G32B32A32_SINT", TexelFormat::Rgba32Sint),
    ("R16_FLOAT", TexelFormat::R16Float),
    ("R16G16_FLOAT", TexelFormat::Rg16Float),
    ("R16G16B16A16_FLOAT", TexelFormat::Rgba16Float),
    ("R16_UINT", TexelFormat::R16Uint),
    ("R16G16B16A16_UINT", TexelFormat::Rgba16Uint),
    ("R16_SINT", TexelFormat::R16Sint),
    ("R16_SNORM", TexelFormat::R16Snorm),
    ("R16G16_UINT", TexelFormat::Rg16Uint),
    ("R16G16_SINT", TexelFormat::Rg16Sint),
    ("R16G16_SNORM", TexelFormat::Rg16Snorm),
    ("R16G16B16A16_SINT", TexelFormat::Rgba16Sint),
    ("R8_SINT", TexelFormat::R8Sint),
    ("R8_SNORM", TexelFormat::R8Snorm),
    ("R8G8_UINT", TexelFormat::Rg8Uint),
    ("R8G8_SINT", TexelFormat::Rg8Sint),
    ("R8G8B8A8_SINT", TexelFormat::Rgba8Sint),
    ("R16_UNORM", TexelFormat::R16Unorm),
    ("D16_UNORM", TexelFormat::R16Unorm),
    ("R16G16_UNORM", TexelFormat::Rg16Unorm),
    ("R16G16B16A16_UNORM", TexelFormat::Rgba16Unorm),
    ("R16G16B16A16_SNORM", TexelFormat::Rgba16Snorm),
    ("R8_UNORM", TexelFormat::R8Unorm),
    ("R8_UINT", TexelFormat::R8Uint),
    ("R8G8_UNORM", TexelFormat::Rg8Unorm),
    ("R8G8_SNORM", TexelFormat::Rg8Snorm),
    ("R8G8B8A8_UNORM", TexelFormat::Rgba8Unorm),
    ("R8G8B8A8_SNORM", TexelFormat::Rgba8Snorm),
    ("R8G8B8A8_UINT", TexelFormat::Rgba8Uint),
    ("R8G8B8A8_UNORM_SRGB", TexelFormat::Rgba8Srgb),
    ("R11G11B10_FLOAT", TexelFormat::Rg11b10Float),
    ("R10G10B10A2_UNORM", TexelFormat::Rgb10a2Unorm),
    ("R10G10B10A2_UINT", TexelFormat::Rgb10a2Uint),
    ("B8G8R8A8_UNORM", TexelFormat::Bgra8Unorm),
    ("B8G8R8A8_UNORM_SRGB", TexelFormat::Bgra8Srgb),
    ("B5G6R5_UNORM", TexelFormat::B5g6r5Unorm),
    ("B5G5R5A1_UNORM", TexelFormat::Bgr5a1Unorm),
    ("B4G4R4A4_UNORM", TexelFormat::Bgra4Unorm),
    ("R9G9B9E5_SHAREDEXP", TexelFormat::Rgb9e5Float),
    ("D24_UNORM_S8_UINT", TexelFormat::D24Unorm),
    ("R24_UNORM_X8_TYPELESS", TexelFormat::D24Unorm),
    ("D32_FLOAT_S8X24_UINT", TexelFormat::D32FloatS8),
    ("R32_FLOAT_X8X24_TYPELESS", TexelFormat::D32FloatS8),
];

/// Names of compressed blocks.
const BLOCKS: &[(&str, BlockFormat)] = &[
    ("BC1_UNORM", BlockFormat::Bc1Unorm),
    ("BC1_UNORM_SRGB", BlockFormat::Bc1Srgb),
    ("BC2_UNORM", BlockFormat::Bc2Unorm),
    ("BC2_UNORM_SRGB", BlockFormat::Bc2Srgb),
    ("BC3_UNORM", BlockFormat::Bc3Unorm),
    ("BC3_UNORM_SRGB", BlockFormat::Bc3Srgb),
    ("BC4_UNORM", BlockFormat::Bc4Unorm),
    ("BC4_SNORM", BlockFormat::Bc4Snorm),
    ("BC5_UNORM", BlockFormat::Bc5Unorm),
    ("BC5_SNORM", BlockFormat::Bc5Snorm),
    ("BC6H_UF16", BlockFormat::Bc6hUfloat),
    ("BC6H_SF16", BlockFormat::Bc6hFloat),
    ("BC7_UNORM", BlockFormat::Bc7Unorm),
    ("BC7_UNORM_SRGB", BlockFormat::Bc7Srgb),
];

/// The format of a DXGI name, in either case, with or without `DXGI_FORMAT_` in front.
pub fn format(name: &str) -> Option<TexelFormat> {
    find(NAMES, name)
}

/// As [`format`], for compressed blocks.
pub fn block_format(name: &str) -> Option<BlockFormat> {
    find(BLOCKS, name)
}

fn find<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("DXGI_FORMAT_").unwrap_or(&name);
    names.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name() {
        for &texel in TexelFormat::ALL {
            assert!(
                NAMES.iter().any(|&(name, format)| format == texel && self::format(name) == Some(texel)),
                "{texel:?}"
            );
        }
        for &block in BlockFormat::ALL {
            assert!(
                BLOCKS.iter().any(|&(name, format)| format == block && block_format(name) == Some(block)),
                "{block:?}"
            );
        }
        assert_eq!(format("dxgi_format_r8g8b8a8_unorm"), Some(TexelFormat::Rgba8Unorm));
        assert_eq!(format("R8G8B8A8"), None);
    }
}
