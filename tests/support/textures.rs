//! Textures and samplers in text: `tex2d:rgba8:4x4:2`, `linear:wrap`, as the command line spells them.

use shaderjit::{AddressMode, Comparison, Filter, ImageLayout, SamplerState, TexelFormat};

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

/// `FILTER:ADDRESS` and, behind them, a comparison, one of the filters (`mag=point`), bounds of the level
/// (`min_lod=1.0`) and the colour of the border (` {1.0, 2.0, 3.0, 4.0}`).
pub fn sampler(text: &str) -> Option<SamplerState> {
    let (text, colour) = text.split_once(" {").map_or((text, None), |(text, colour)| (text, Some(colour)));
    let mut fields = text.split(':');
    let state = match filter(fields.next()?)? {
        Filter::Point => SamplerState::point(),
        _ => SamplerState::linear(),
    };
    let mut state = state.address(match fields.next()? {
        "wrap" => AddressMode::Wrap,
        "mirror" => AddressMode::Mirror,
        "clamp" => AddressMode::Clamp,
        "border" => AddressMode::Border,
        "mirroronce" => AddressMode::MirrorOnce,
        _ => return None,
    });
    for field in fields {
        match field.split_once('=') {
            Some(("min", value)) => state.min = filter(value)?,
            Some(("mag", value)) => state.mag = filter(value)?,
            Some(("mip", value)) => state.mip = filter(value)?,
            Some(("min_lod", value)) => state.min_lod = value.parse().ok()?,
            Some(("max_lod", value)) => state.max_lod = value.parse().ok()?,
            Some(_) => return None,
            None => state.comparison = comparison(field)?,
        }
    }
    if let Some(colour) = colour {
        let values = colour.strip_suffix('}')?.split(',').map(|value| value.trim().parse().ok());
        state.border = values.collect::<Option<Vec<f32>>>()?.try_into().ok()?;
    }
    Some(state)
}

fn filter(name: &str) -> Option<Filter> {
    match name {
        "point" => Some(Filter::Point),
        "linear" => Some(Filter::Linear),
        _ => None,
    }
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "never" => Comparison::Never,
        "less" => Comparison::Less,
        "equal" => Comparison::Equal,
        "lequal" => Comparison::LessEqual,
        "greater" => Comparison::Greater,
        "notequal" => Comparison::NotEqual,
        "gequal" => Comparison::GreaterEqual,
        "always" => Comparison::Always,
        _ => return None,
    })
}
