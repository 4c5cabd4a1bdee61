//! Resources and samplers to bind: the `--srv` and `--smp` options.

use crate::dxgi;
use crate::options::{Source, number, slot_and_space};
use crate::report::Failure;
use shaderjit::error::{CallError, TextureError};
use shaderjit::{
    AddressMode, BlockFormat, BufferView, Call, Comparison, Descriptor, Filter, Image, ImageLayout, SamplerState,
    TexelFormat, TextureShape,
};
use shaderjit::{ComponentType, ResourceKind};
use std::str::FromStr;

/// `SLOT=KIND,RAW`, or `SLOT:SPACE=KIND,RAW` in a register space of shader model 5.1. KIND is `raw`, `struct:STRIDE`,
/// `buf:FORMAT` or a texture: `tex1d:FORMAT:W`, `tex2d:FORMAT:WxH`, `tex3d:FORMAT:WxHxD`, `texcube:FORMAT:WxW`, all of
/// which `:LEVELS` may follow, the arrays `tex1darr:FORMAT:WxN`, `tex2darr:FORMAT:WxHxN` and `texcubearr:FORMAT:WxWxN`
/// (N is six times the cubes), and `tex2dms:FORMAT:WxH:SAMPLES` and `tex2dmsarr:FORMAT:WxHxN:SAMPLES`. FORMAT may be
/// one of compressed blocks, `bc1` to `bc7`, of all but rows and multisampled textures.
#[derive(Clone, Debug)]
pub struct ShaderResource {
    slot: u32,
    space: u32,
    kind: Kind,
    /// What the texels of a texture are compressed as.
    blocks: Option<BlockFormat>,
    source: Source,
}

/// What bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Raw,
    Structured(u32),
    Typed(TexelFormat),
    Texture(ImageLayout),
}

impl FromStr for ShaderResource {
    type Err = String;

    fn from_str(text: &str) -> Result<ShaderResource, String> {
        let (slot, rest) = text.split_once('=').ok_or("expected SLOT=KIND,RAW")?;
        let (kind, source) = rest.split_once(',').ok_or("expected KIND,RAW after the slot")?;
        let (slot, space) = slot_and_space(slot, &["t"])?;
        let (kind, blocks) = match blocks(kind).transpose()? {
            Some((format, layout)) => (Kind::Texture(layout), Some(format)),
            None => (kind.parse()?, None),
        };
        Ok(ShaderResource { slot, space, kind, blocks, source: source.parse()? })
    }
}

fn format(name: &str) -> Result<TexelFormat, String> {
    // The corpus of results names it in the order of its components.
    let name = if name == "r11g11b10f" { TexelFormat::Rg11b10Float.name() } else { name };
    TexelFormat::from_name(name).or_else(|| dxgi::format(name)).ok_or_else(|| {
        let texels = TexelFormat::ALL.iter().map(|format| format.name());
        let names: Vec<&str> = texels.chain(BlockFormat::ALL.iter().map(|format| format.name())).collect();
        format!("{name:?} is no format; there are {}, and their DXGI names", names.join(" "))
    })
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("raw", "") => Ok(Kind::Raw),
            ("struct", stride) => {
                let stride = stride.parse().map_err(|_| format!("{stride:?} is no stride in bytes"))?;
                Ok(Kind::Structured(stride))
            }
            ("buf", name) => format(name).map(Kind::Typed),
            (kind, rest) if kind.starts_with("tex") => {
                let (name, rest) = rest.split_once(':').unwrap_or((rest, ""));
                texture(kind, format(name)?, rest).map(Kind::Texture)
            }
            _ => Err(format!("{text:?} is none of raw, struct:STRIDE, buf:FORMAT and tex…:FORMAT:SIZE")),
        }
    }
}

/// A kind of texture whose format is one of compressed blocks, if it is.
fn blocks(text: &str) -> Option<Result<(BlockFormat, ImageLayout), String>> {
    let (kind, rest) = text.split_once(':')?;
    let (name, rest) = rest.split_once(':')?;
    let format = BlockFormat::from_name(name).or_else(|| dxgi::block_format(name))?;
    kind.starts_with("tex").then(|| {
        let layout = texture(kind, format.texels(), rest)?;
        format.blocks_bytes(&layout).map_err(|error| error.to_string())?;
        Ok((format, layout))
    })
}

/// `SIZE` or `SIZE:LEVELS` of a kind of texture.
fn texture(kind: &str, format: TexelFormat, rest: &str) -> Result<ImageLayout, String> {
    let mut fields = rest.split(':');
    let size = fields.next().filter(|size| !size.is_empty()).ok_or("expected FORMAT:SIZE")?;
    let sizes = size.split('x').map(number).collect::<Result<Vec<_>, _>>()?;
    let last = fields.next().map(number).transpose()?;
    let layout = match (kind, sizes.as_slice()) {
        ("tex1d", &[w]) => ImageLayout::texture_1d(format, w),
        ("tex1darr", &[w, n]) => ImageLayout::texture_1d(format, w).slices(n),
        ("tex2d", &[w, h]) => ImageLayout::texture_2d(format, w, h),
        ("tex2darr", &[w, h, n]) => ImageLayout::texture_2d(format, w, h).slices(n),
        ("tex2dms", &[w, h]) => ImageLayout::texture_2d_ms(format, w, h, last.unwrap_or(1)),
        ("tex2dmsarr", &[w, h, n]) => ImageLayout::texture_2d_ms(format, w, h, last.unwrap_or(1)).slices(n),
        ("tex3d", &[w, h, d]) => ImageLayout::texture_3d(format, w, h, d),
        ("texcube", &[w, h]) if w == h => ImageLayout::cube(format, w),
        ("texcubearr", &[w, h, n]) if w == h && n.is_multiple_of(6) => ImageLayout::cube(format, w).slices(n / 6),
        _ => return Err(format!("{kind} of {size}: expected one of {KINDS}")),
    };
    if fields.next().is_some() {
        return Err(format!("{rest:?} has too many fields"));
    }
    let layout = if kind.contains("ms") { layout } else { layout.levels(last.unwrap_or(1)) };
    layout.bytes().map_err(|error| error.to_string())?;
    Ok(layout)
}

const KINDS: &str = "tex1d:W tex1darr:WxN tex2d:WxH tex2darr:WxHxN tex2dms:WxH tex2dmsarr:WxHxN tex3d:WxHxD texcube:WxW \
                     texcubearr:WxWxN (N six times the cubes)";

/// The slot of what is bound by name, or the slot that the name is, as options have it.
pub fn slot<'n>(name: &str, declared: impl Iterator<Item = (Option<&'n str>, u32, u32)>) -> String {
    let mut named = declared.filter(|(known, ..)| *known == Some(name));
    named.next().map_or(name.to_string(), |(_, slot, space)| format!("{slot}:{space}"))
}

/// A resource's bytes, and what they are.
pub struct BoundResource {
    pub slot: u32,
    pub space: u32,
    data: Data,
}

enum Data {
    Buffer(Kind, Vec<u8>),
    Texture(Image<'static>),
}

impl BoundResource {
    /// Reads what an option names.
    pub fn read(option: &ShaderResource) -> Result<BoundResource, Failure> {
        let &ShaderResource { slot, space, kind, blocks, ref source } = option;
        let bytes = source.read()?;
        let data = match kind {
            Kind::Texture(layout) => {
                let image = match blocks {
                    Some(format) => Image::from_blocks(format, layout, &bytes),
                    None => Image::new(layout, bytes),
                };
                Data::Texture(image.map_err(|error| Failure::input(format_args!("t{slot}: {error}")))?)
            }
            kind => Data::Buffer(kind, bytes),
        };
        Ok(BoundResource { slot, space, data })
    }

    /// A picture.
    pub fn image(slot: u32, space: u32, image: Image<'static>) -> BoundResource {
        BoundResource { slot, space, data: Data::Texture(image) }
    }

    /// Made-up words for what a shader declares.
    pub fn made_up(slot: u32, space: u32, kind: ResourceKind, mut word: impl FnMut(ComponentType) -> u32) -> Self {
        /// Size of a made-up buffer in words; indices past its end are as good as those inside.
        const WORDS: usize = 1024;
        let mut bytes = |count: usize, ty| (0..count).flat_map(|_| word(ty).to_le_bytes()).collect::<Vec<u8>>();
        let data = match kind {
            ResourceKind::StructuredBuffer { stride } => {
                Data::Buffer(Kind::Structured(stride), bytes(WORDS, ComponentType::F32))
            }
            ResourceKind::TypedBuffer { ty, .. } => Data::Buffer(Kind::Typed(made_up_format(ty)), bytes(WORDS, ty)),
            ResourceKind::Texture { shape, ty } => {
                let layout = made_up_layout(shape, made_up_format(ty));
                let size = layout.bytes().expect("made-up sizes are small and fit the shape");
                let image: Result<_, TextureError> = Image::new(layout, bytes(size.div_ceil(4), ty));
                Data::Texture(image.expect("there are as many bytes as the layout says"))
            }
            _ => Data::Buffer(Kind::Raw, bytes(WORDS, ComponentType::F32)),
        };
        BoundResource { slot, space, data }
    }

    pub fn bind<'a>(&'a self, call: &mut Call<'a>) -> Result<(), CallError> {
        self.bind_at(self.slot, self.space, call)
    }

    /// Binds it to another slot.
    pub fn bind_at<'a>(&'a self, slot: u32, space: u32, call: &mut Call<'a>) -> Result<(), CallError> {
        let is_spirv = call.shader().interface().has_descriptors();
        let resource = match &self.data {
            Data::Texture(image) if is_spirv => {
                return call.descriptor(space, slot, 0, Descriptor::Image(image)).map(drop);
            }
            Data::Texture(image) => return call.texture_in_space(slot, space, image).map(drop),
            Data::Buffer(Kind::Structured(stride), bytes) => BufferView::structured(bytes, *stride),
            Data::Buffer(Kind::Typed(format), bytes) => BufferView::typed(bytes, *format),
            Data::Buffer(_, bytes) => BufferView::raw(bytes),
        };
        match is_spirv {
            true => call.descriptor(space, slot, 0, Descriptor::Buffer(resource)).map(drop),
            false => call.buffer_in_space(slot, space, resource).map(drop),
        }
    }
}

fn made_up_format(ty: ComponentType) -> TexelFormat {
    match ty {
        ComponentType::F32 => TexelFormat::Rgba32Float,
        ComponentType::I32 => TexelFormat::Rgba32Sint,
        _ => TexelFormat::Rgba32Uint,
    }
}

/// A small texture of uneven sizes, with levels where there can be some.
fn made_up_layout(shape: TextureShape, format: TexelFormat) -> ImageLayout {
    let layout = match shape {
        TextureShape::D1 | TextureShape::D1Array => ImageLayout::texture_1d(format, 13).levels(4),
        TextureShape::D2 | TextureShape::D2Array => ImageLayout::texture_2d(format, 13, 6).levels(4),
        TextureShape::D2Ms | TextureShape::D2MsArray => ImageLayout::texture_2d_ms(format, 13, 6, 4),
        TextureShape::D3 => ImageLayout::texture_3d(format, 13, 6, 3).levels(4),
        TextureShape::Cube | TextureShape::CubeArray => ImageLayout::cube(format, 5).levels(3),
    };
    if shape.is_array() { layout.slices(3) } else { layout }
}

/// A sampler: `SLOT=FILTER[:ADDRESS[:COMPARISON]]`, or `SLOT:SPACE=…` in a register space of shader model 5.1. FILTER
/// is `point`, `linear` or `aniso` (up to 16 places), or for comparisons `cmppoint` or `cmp`; ADDRESS `wrap`, `mirror`,
/// `clamp`, `border` or `mirroronce`; COMPARISON `never`, `less`, `equal`, `lequal`, `greater`, `notequal`, `gequal` or
/// `always`, or Direct3D's number of it, 1 to 8.
#[derive(Clone, Debug)]
pub struct ShaderSampler {
    slot: u32,
    space: u32,
    state: SamplerState,
}

impl FromStr for ShaderSampler {
    type Err = String;

    fn from_str(text: &str) -> Result<ShaderSampler, String> {
        let (slot, rest) = text.split_once('=').ok_or("expected SLOT=FILTER")?;
        let (slot, space) = slot_and_space(slot, &["s"])?;
        let mut fields = rest.split(':');
        let filter = fields.next().unwrap_or_default();
        let (filter, comparison) = match filter {
            "point" => (Filter::Point, Comparison::Never),
            "linear" => (Filter::Linear, Comparison::Never),
            "aniso" => (Filter::Anisotropic, Comparison::Never),
            "cmppoint" => (Filter::Point, Comparison::LessEqual),
            "cmp" => (Filter::Linear, Comparison::LessEqual),
            _ => return Err(format!("{filter:?} is none of point, linear, aniso, cmppoint and cmp")),
        };
        let state = SamplerState { min: filter, mag: filter, mip: filter, comparison, ..SamplerState::default() };
        let state = match fields.next() {
            None => state,
            Some(mode) => state.address(address_mode(mode)?),
        };
        let state = match fields.next() {
            None => state,
            Some(comparison) => state.compare(comparison_of(comparison)?),
        };
        match fields.next() {
            None => Ok(ShaderSampler { slot, space, state }),
            Some(_) => Err(format!("{rest:?} has too many fields")),
        }
    }
}

impl ShaderSampler {
    /// The default sampler, where the options name none.
    pub fn made_up(slot: u32, space: u32) -> ShaderSampler {
        let state = SamplerState::linear().address(AddressMode::Wrap).compare(Comparison::LessEqual);
        ShaderSampler { slot, space, state }
    }

    /// Whether it is the one of that slot and space.
    pub fn is_at(&self, slot: u32, space: u32) -> bool {
        (self.slot, self.space) == (slot, space)
    }

    pub fn bind(&self, call: &mut Call<'_>) -> Result<(), CallError> {
        self.bind_at(self.slot, self.space, call)
    }

    /// Binds it to another slot.
    pub fn bind_at(&self, slot: u32, space: u32, call: &mut Call<'_>) -> Result<(), CallError> {
        match call.shader().interface().has_descriptors() {
            true => call.descriptor(space, slot, 0, Descriptor::Sampler(self.state)).map(drop),
            false => call.sampler_in_space(slot, space, self.state).map(drop),
        }
    }
}

fn address_mode(name: &str) -> Result<AddressMode, String> {
    Ok(match name {
        "wrap" => AddressMode::Wrap,
        "mirror" => AddressMode::Mirror,
        "clamp" => AddressMode::Clamp,
        "border" => AddressMode::Border,
        "mirroronce" => AddressMode::MirrorOnce,
        _ => return Err(format!("{name:?} is none of wrap, mirror, clamp, border and mirroronce")),
    })
}

fn comparison_of(name: &str) -> Result<Comparison, String> {
    Ok(match name {
        "never" | "1" => Comparison::Never,
        "less" | "2" => Comparison::Less,
        "equal" | "3" => Comparison::Equal,
        "lequal" | "4" => Comparison::LessEqual,
        "greater" | "5" => Comparison::Greater,
        "notequal" | "6" => Comparison::NotEqual,
        "gequal" | "7" => Comparison::GreaterEqual,
        "always" | "8" => Comparison::Always,
        _ => {
            return Err(format!(
                "{name:?} is none of never, less, equal, lequal, greater, notequal, gequal and always"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit::Texture;

    #[test]
    fn resources_name_a_slot_a_kind_and_a_source() {
        let resource: ShaderResource = "3=struct:16,hex:00ff".parse().unwrap();
        assert_eq!((resource.slot, resource.space, resource.kind), (3, 0, Kind::Structured(16)));
        assert!(resource.source.read().is_ok_and(|bytes| bytes == [0, 0xff]));
        let resource: ShaderResource = "0:2=buf:rgba8,zero:5".parse().unwrap();
        assert_eq!((resource.space, resource.kind), (2, Kind::Typed(TexelFormat::Rgba8Unorm)));
        assert!(resource.source.read().is_ok_and(|bytes| bytes == [0; 5]));
        for (bad, why) in [
            ("0", "SLOT=KIND,RAW"),
            ("0=raw", "KIND,RAW"),
            ("x=raw,a", "slot number"),
            ("0=raw:4,a", "none of raw"),
            ("0=struct,a", "stride"),
            ("0=struct:-1,a", "stride"),
            ("0=buf:float4,a", "rgba32f"),
            ("0=tex2d:float4:4x4,a", "rgba32f"),
            ("0=tex2d:rgba8,a", "FORMAT:SIZE"),
            ("0=tex2d:rgba8:4,a", "tex2d:WxH"),
            ("0=tex2d:rgba8:4xy,a", "no number"),
            ("0=tex2d:rgba8:4x4:3:1,a", "too many"),
            ("0=tex2d:rgba8:0x4,a", "width of a texture2d is 0"),
            ("0=tex2d:rgba8:65536x65536,a", "1 to 16384"),
            ("0=tex2d:rgba8:4x4:4,a", "number of levels"),
            ("0=texcube:rgba8:4x5,a", "texcube:WxW"),
            ("0=tex1d:bc1:4,a", "no compressed blocks"),
            ("0=buf:bc1,a", "no format"),
            ("0=texcubearr:rgba8:4x4x7,a", "six times"),
            ("0=tex9d:rgba8:4,a", "tex1d:W"),
            ("0=raw,hex:0", "odd number"),
            ("0=raw,zero:many", "number of bytes"),
        ] {
            let error = bad.parse::<ShaderResource>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn textures_name_their_sizes() {
        let info = |kind: &str| match kind.parse() {
            Ok(Kind::Texture(layout)) => {
                let info = layout.info();
                let sizes = [info.width, info.height, info.depth, info.slices, info.levels, info.samples];
                (info.shape, sizes)
            }
            other => panic!("{kind}: {other:?}"),
        };
        assert_eq!(info("tex1d:r8:5"), (TextureShape::D1, [5, 1, 1, 1, 1, 1]));
        assert_eq!(info("tex1darr:r8:5x3:2"), (TextureShape::D1Array, [5, 1, 1, 3, 2, 1]));
        assert_eq!(info("tex2d:r8:5x4:3"), (TextureShape::D2, [5, 4, 1, 1, 3, 1]));
        assert_eq!(info("tex2darr:r8:5x4x2"), (TextureShape::D2Array, [5, 4, 1, 2, 1, 1]));
        assert_eq!(info("tex2dms:r8:5x4:8"), (TextureShape::D2Ms, [5, 4, 1, 1, 1, 8]));
        assert_eq!(info("tex2dmsarr:r8:5x4x2:8"), (TextureShape::D2MsArray, [5, 4, 1, 2, 1, 8]));
        assert_eq!(info("tex3d:r8:5x4x3:2"), (TextureShape::D3, [5, 4, 3, 1, 2, 1]));
        assert_eq!(info("texcube:r8:4x4:3"), (TextureShape::Cube, [4, 4, 1, 1, 3, 1]));
        let blocks = "0=tex2d:bc7srgb:5x4:3,a".parse::<ShaderResource>().unwrap();
        assert_eq!(blocks.blocks, Some(BlockFormat::Bc7Srgb));
        assert!(matches!(blocks.kind, Kind::Texture(layout) if layout.info().levels == 3));
        assert_eq!(info("texcubearr:r8:4x4x12"), (TextureShape::CubeArray, [4, 4, 1, 2, 1, 1]));
    }

    #[test]
    fn made_up_textures_fit_every_shape() {
        for &shape in TextureShape::ALL {
            let kind = ResourceKind::Texture { shape, ty: ComponentType::F32 };
            match BoundResource::made_up(0, 0, kind, |_| 7).data {
                Data::Texture(image) => assert_eq!((image.info().shape, image.info().check()), (shape, Ok(()))),
                Data::Buffer(..) => panic!("{shape}"),
            }
        }
    }

    #[test]
    fn samplers_name_filter_address_and_comparison() {
        let state = |text: &str| text.parse::<ShaderSampler>().map(|sampler| sampler.state);
        let point = SamplerState::point();
        assert_eq!(state("0=point"), Ok(point));
        assert_eq!(state("0=aniso"), Ok(SamplerState { mip: Filter::Anisotropic, ..SamplerState::anisotropic(16) }));
        assert_eq!(state("0:3=linear:wrap"), Ok(SamplerState::linear().address(AddressMode::Wrap)));
        assert_eq!(state("1=cmppoint"), Ok(point.compare(Comparison::LessEqual)));
        let greater = SamplerState::linear().address(AddressMode::Border).compare(Comparison::Greater);
        assert_eq!(state("1=cmp:border:greater"), Ok(greater));
        for (bad, why) in [
            ("0", "SLOT=FILTER"),
            ("0=bilinear", "none of point"),
            ("0=point:edge", "none of wrap"),
            ("0=cmp:wrap:le", "none of never"),
            ("0=cmp:wrap:less:1", "too many"),
        ] {
            let error = state(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
