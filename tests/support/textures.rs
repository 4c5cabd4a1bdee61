//! Textures and samplers in text: `tex2d:rgba8:4x4:2`, `linear:wrap`, as the command line spells them.

use shaderjit::{AddressMode, Comparison, ImageLayout, SamplerState, TexelFormat};

/// `KIND:FORMAT:SIZE` and, behind it, how many levels or samples there are if there are several.
pub fn layout(text: &str) -> Option<ImageLayout> {
    let mut fields = text.split(':');
    let (kind, format) = (fields.next()?, TexelFormat::from_name(fields.next()?)?);
    let sizes = fields.next()?.split('x').map(|size| size.parse().ok()).collect::<Option<Vec<u32>>>()?;
    let last = fields.next().map_or(Some(1), |count| count.parse().ok())?;
    let layout = match (kind, sizes.as_slice()) {
        ("tex1d", &[w]) => ImageLayout::texture_1d(format, w),
        ("tex1darr", &[w, n]) => ImageLayout::texture_1d(format, w).slices(n),
        ("tex2d", &[w, h]) => ImageLayout::texture_2d(format, w, h),
        ("tex2darr", &[w, h, n]) => ImageLayout::texture_2d(format, w, h).slices(n),
        ("tex2dms", &[w, h]) => ImageLayout::texture_2d_ms(format, w, h, last),
        ("tex2dmsarr", &[w, h, n]) => ImageLayout::texture_2d_ms(format, w, h, last).slices(n),
        ("tex3d", &[w, h, d]) => ImageLayout::texture_3d(format, w, h, d),
        ("texcube", &[w, _]) => ImageLayout::cube(format, w),
        ("texcubearr", &[w, _, n]) => ImageLayout::cube(format, w).slices(n / 6),
        _ => return None,
    };
    Some(if kind.contains("ms") { layout } else { layout.levels(last) })
}

/// `FILTER:ADDRESS:COMPARISON`, of which the last may be left out.
pub fn sampler(text: &str) -> Option<SamplerState> {
    let mut fields = text.split(':');
    let state = match fields.next()? {
        "point" => SamplerState::point(),
        "linear" => SamplerState::linear(),
        _ => return None,
    };
    let state = state.address(match fields.next()? {
        "wrap" => AddressMode::Wrap,
        "mirror" => AddressMode::Mirror,
        "clamp" => AddressMode::Clamp,
        "border" => AddressMode::Border,
        "mirroronce" => AddressMode::MirrorOnce,
        _ => return None,
    });
    Some(state.compare(match fields.next() {
        None => Comparison::Never,
        Some("less") => Comparison::Less,
        Some("lequal") => Comparison::LessEqual,
        Some("greater") => Comparison::Greater,
        Some("gequal") => Comparison::GreaterEqual,
        Some(_) => return None,
    }))
}
