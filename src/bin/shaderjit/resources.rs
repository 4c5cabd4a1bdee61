//! Resources to bind: the `--srv` option.

use crate::options::{Source, slot_and_space};
use crate::report::Failure;
use shaderjit::frontend::ResourceKind;
use shaderjit::{BufferFormat, Call, Resource, error::CallError};
use std::str::FromStr;

/// `SLOT=KIND,RAW`, or `SLOT:SPACE=KIND,RAW` in a register space of shader model 5.1. KIND is `raw`, `struct:STRIDE` or
/// `buf:FORMAT`.
#[derive(Clone, Debug)]
pub struct ShaderResource {
    slot: u32,
    space: u32,
    kind: Kind,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Raw,
    Structured(u32),
    Typed(BufferFormat),
}

impl FromStr for ShaderResource {
    type Err = String;

    fn from_str(text: &str) -> Result<ShaderResource, String> {
        let (slot, rest) = text.split_once('=').ok_or("expected SLOT=KIND,RAW")?;
        let (kind, source) = rest.split_once(',').ok_or("expected KIND,RAW after the slot")?;
        let (slot, space) = slot_and_space(slot)?;
        Ok(ShaderResource { slot, space, kind: kind.parse()?, source: source.parse()? })
    }
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
            ("buf", format) => BufferFormat::from_name(format).map(Kind::Typed).ok_or_else(|| {
                let names: Vec<&str> = BufferFormat::ALL.iter().map(|format| format.name()).collect();
                format!("{format:?} is no buffer format; there are {}", names.join(" "))
            }),
            (kind, _) if kind.starts_with("tex") => Err(format!("{kind}: textures are not supported yet")),
            _ => Err(format!("{text:?} is none of raw, struct:STRIDE and buf:FORMAT")),
        }
    }
}

/// A resource's bytes, and what they are.
pub struct BoundResource {
    pub slot: u32,
    pub space: u32,
    kind: Kind,
    bytes: Vec<u8>,
}

impl BoundResource {
    /// Reads what an option names.
    pub fn read(option: &ShaderResource) -> Result<BoundResource, Failure> {
        let &ShaderResource { slot, space, kind, ref source } = option;
        Ok(BoundResource { slot, space, kind, bytes: source.read()? })
    }

    /// Made-up bytes for what a shader declares.
    pub fn made_up(slot: u32, space: u32, kind: ResourceKind, bytes: Vec<u8>) -> BoundResource {
        let kind = match kind {
            ResourceKind::RawBuffer => Kind::Raw,
            ResourceKind::StructuredBuffer { stride } => Kind::Structured(stride),
            ResourceKind::TypedBuffer { .. } => Kind::Typed(BufferFormat::Rgba32Float),
        };
        BoundResource { slot, space, kind, bytes }
    }

    pub fn bind<'a>(&'a self, call: &mut Call<'a>) -> Result<(), CallError> {
        let resource = match self.kind {
            Kind::Raw => Resource::raw(&self.bytes),
            Kind::Structured(stride) => Resource::structured(&self.bytes, stride),
            Kind::Typed(format) => Resource::typed(&self.bytes, format),
        };
        call.resource_in_space(self.slot, self.space, resource).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_name_a_slot_a_kind_and_a_source() {
        let resource: ShaderResource = "3=struct:16,hex:00ff".parse().unwrap();
        assert_eq!((resource.slot, resource.space, resource.kind), (3, 0, Kind::Structured(16)));
        assert!(resource.source.read().is_ok_and(|bytes| bytes == [0, 0xff]));
        let resource: ShaderResource = "0:2=buf:rgba8,zero:5".parse().unwrap();
        assert_eq!((resource.space, resource.kind), (2, Kind::Typed(BufferFormat::Rgba8Unorm)));
        assert!(resource.source.read().is_ok_and(|bytes| bytes == [0; 5]));
        for (bad, why) in [
            ("0", "SLOT=KIND,RAW"),
            ("0=raw", "KIND,RAW"),
            ("x=raw,a", "slot number"),
            ("0=raw:4,a", "none of raw"),
            ("0=struct,a", "stride"),
            ("0=struct:-1,a", "stride"),
            ("0=buf:float4,a", "rgba32f"),
            ("0=tex2d:rgba8:4x4,a", "textures are not supported yet"),
            ("0=raw,hex:0", "odd number"),
            ("0=raw,zero:many", "number of bytes"),
        ] {
            let error = bad.parse::<ShaderResource>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
