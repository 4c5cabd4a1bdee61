//! Textures and samplers in text.
//!
//! `tex2d:r32f:4x4:3` is a texture of 4 by 4 texels and three levels, `tex2darray:rgba8:8x8x5` five slices, `tex2dms:r32f:2x1:4` four
//! samples; there are `tex1d`, `tex2d`, `tex3d`, `texcube`, with `array` behind all but blocks. Its texels follow layer by layer,
//! level by level.
//!
//! A sampler is words: a filter (`point`, `linear`, also for one of them: `min_point`, `mag_linear`, `mip_point`), an address mode
//! (`wrap`, `mirror`, `clamp`, `border`, `mirror_once`), a comparison (`less_equal`), levels (`min_lod=1.0`, `max_lod=2.0`) and the
//! colour of a border (`{1.0, 2.0, 3.0, 4.0}`).

use super::components::words;
use shaderjit::{AddressMode, Comparison, Filter, ImageLayout, SamplerState, TexelFormat};

/// The layout of a texture of that shape, from its format, its sizes, and its levels or samples.
pub fn layout(shape: &str, rest: &str) -> Option<ImageLayout> {
    let mut parts = rest.split(':');
    let format = TexelFormat::from_name(parts.next()?)?;
    let sizes = parts.next()?.split('x').map(|size| size.parse().ok()).collect::<Option<Vec<u32>>>()?;
    let count = parts.next().map_or(Some(1), |count| count.parse().ok())?;
    let (shape, is_array) = shape.strip_suffix("array").map_or((shape, false), |shape| (shape, true));
    let (sizes, slices) = match sizes.split_last() {
        Some((&last, sizes)) if is_array => (sizes, Some(last)),
        _ => (&sizes[..], None),
    };
    let layout = match (shape, sizes) {
        ("tex1d", &[width]) => ImageLayout::texture_1d(format, width).levels(count),
        ("tex2d", &[width, height]) => ImageLayout::texture_2d(format, width, height).levels(count),
        ("tex2dms", &[width, height]) => ImageLayout::texture_2d_ms(format, width, height, count),
        ("tex3d", &[width, height, depth]) => ImageLayout::texture_3d(format, width, height, depth).levels(count),
        ("texcube", &[edge]) => ImageLayout::cube(format, edge).levels(count),
        _ => return None,
    };
    Some(slices.map_or(layout, |slices| layout.slices(slices)))
}

/// The state of a sampler.
pub fn sampler(text: &str) -> Result<SamplerState, String> {
    let (words_of, border) = text.split_at(text.find('{').unwrap_or(text.len()));
    let mut state = SamplerState::default();
    if let Some(colour) = words(border)?.first() {
        state.border = colour.map(f32::from_bits);
    }
    for word in words_of.split_whitespace() {
        apply(&mut state, word).ok_or_else(|| format!("`{word}` says nothing of a sampler"))?;
    }
    Ok(state)
}

fn apply(state: &mut SamplerState, word: &str) -> Option<()> {
    match word {
        "point" => (state.min, state.mag, state.mip) = (Filter::Point, Filter::Point, Filter::Point),
        "linear" => (state.min, state.mag, state.mip) = (Filter::Linear, Filter::Linear, Filter::Linear),
        "min_point" => state.min = Filter::Point,
        "mag_point" => state.mag = Filter::Point,
        "mip_point" => state.mip = Filter::Point,
        "min_linear" => state.min = Filter::Linear,
        "mag_linear" => state.mag = Filter::Linear,
        "mip_linear" => state.mip = Filter::Linear,
        "wrap" => state.address_modes = [AddressMode::Wrap; 3],
        "mirror" => state.address_modes = [AddressMode::Mirror; 3],
        "clamp" => state.address_modes = [AddressMode::Clamp; 3],
        "border" => state.address_modes = [AddressMode::Border; 3],
        "mirror_once" => state.address_modes = [AddressMode::MirrorOnce; 3],
        "never" => state.comparison = Comparison::Never,
        "less" => state.comparison = Comparison::Less,
        "equal" => state.comparison = Comparison::Equal,
        "less_equal" => state.comparison = Comparison::LessEqual,
        "greater" => state.comparison = Comparison::Greater,
        "not_equal" => state.comparison = Comparison::NotEqual,
        "greater_equal" => state.comparison = Comparison::GreaterEqual,
        "always" => state.comparison = Comparison::Always,
        _ => match word.split_once('=')? {
            ("min_lod", lod) => state.min_lod = lod.parse().ok()?,
            ("max_lod", lod) => state.max_lod = lod.parse().ok()?,
            _ => return None,
        },
    }
    Some(())
}
