//! Images and samplers to bind.

use crate::fuzzing::random::random;
use crate::texture::{
    AddressMode, Comparison, Filter, Image, ImageLayout, Precision, Reduction, SamplerState, TexelFormat, TextureShape,
};
use arbitrary::{Result, Unstructured};
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;

/// The layout of a small image with one level.
pub fn layout(u: &mut Unstructured<'_>, shape: TextureShape, format: TexelFormat) -> Result<ImageLayout> {
    let [width, height, depth] = [u.int_in_range(1..=7)?, u.int_in_range(1..=7)?, u.int_in_range(1..=4)?];
    let layout = match shape {
        TextureShape::D1 | TextureShape::D1Array => ImageLayout::texture_1d(format, width),
        TextureShape::D2 | TextureShape::D2Array => ImageLayout::texture_2d(format, width, height),
        TextureShape::D2Ms | TextureShape::D2MsArray => {
            ImageLayout::texture_2d_ms(format, width, height, u.int_in_range(1..=4)?)
        }
        TextureShape::D3 => ImageLayout::texture_3d(format, width, height, depth),
        TextureShape::Cube | TextureShape::CubeArray => ImageLayout::cube(format, width.min(5)),
    };
    Ok(if shape.is_array() { layout.slices(u.int_in_range(1..=3)?) } else { layout })
}

/// A small image in any format, with any number of levels.
pub fn image(u: &mut Unstructured<'_>, shape: TextureShape) -> Result<Image<'static>> {
    let format = *u.choose(TexelFormat::ALL)?;
    let layout = layout(u, shape, format)?;
    let info = layout.info();
    let largest = info.width.max(info.height).max(info.depth);
    let levels = if shape.is_multisampled() { 1 } else { u.int_in_range(1..=largest.ilog2() + 1)? };
    let layout = layout.levels(levels);
    let count = layout.bytes().expect("the sizes are within the limits");
    // Any bits, or floats that are worth something.
    let bytes = if u.arbitrary()? {
        random(u.arbitrary()?, count)
    } else {
        let mut words = [0; 29];
        for word in &mut words {
            *word = edge_bits(u, Type::F32)? as u32;
        }
        words.iter().cycle().flat_map(|word| word.to_le_bytes()).take(count).collect()
    };
    Ok(Image::new(layout, bytes).expect("there are as many bytes"))
}

/// A sampler of any state.
pub fn sampler(u: &mut Unstructured<'_>) -> Result<SamplerState> {
    use AddressMode::{Border, Clamp, Mirror, MirrorOnce, Wrap};
    use Comparison::{Always, Equal, Greater, GreaterEqual, Less, LessEqual, Never, NotEqual};
    let filter = |u: &mut Unstructured<'_>| Ok(*u.choose(&[Filter::Point, Filter::Linear, Filter::Anisotropic])?);
    let address = |u: &mut Unstructured<'_>| Ok(*u.choose(&[Wrap, Mirror, Clamp, Border, MirrorOnce])?);
    let number = |u: &mut Unstructured<'_>| {
        let number = f32::from_bits(edge_bits(u, Type::F32)? as u32);
        Ok(if number.is_nan() { 0.5 } else { number })
    };
    let default = SamplerState::default();
    let limits = if u.arbitrary()? { [default.min_lod, default.max_lod] } else { [number(u)?, number(u)?] };
    Ok(SamplerState {
        min: filter(u)?,
        mag: filter(u)?,
        mip: filter(u)?,
        address_modes: [address(u)?, address(u)?, address(u)?],
        border: [number(u)?, number(u)?, number(u)?, number(u)?],
        comparison: *u.choose(&[Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always])?,
        lod_bias: if u.arbitrary()? { 0.0 } else { number(u)? },
        min_lod: limits[0],
        max_lod: limits[1],
        max_anisotropy: u.int_in_range(1..=16)?,
        reduction: *u.choose(&[Reduction::Average, Reduction::Minimum, Reduction::Maximum])?,
        precision: *u.choose(&[Precision::Float, Precision::Fixed8])?,
    })
}
