//! Subobjects: pieces of a state object's description that a library brings along.

use super::field::NameList;
use super::pool::Pools;
use super::table::{Check, Field, Record};
use crate::container::dxbc::RootSignature;
use crate::container::name::Name;
use crate::container::reader::Reader;
use crate::error::ContainerError;

open_code! {
    /// What the primitives of a hit group are.
    HitGroupKind(u32) {
        0 TRIANGLE "triangle",
        1 PROCEDURAL_PRIMITIVE "procedural primitive",
    }
}

/// A subobject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subobject<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// What it is.
    pub content: SubobjectContent<'a>,
    /// Absolute offset of a root signature's bytes.
    bytes_offset: usize,
}

/// What a subobject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubobjectContent<'a> {
    /// Flags of the state object: 1 local dependencies on external definitions, 2 external dependencies on local ones,
    /// 4 additions allowed.
    StateObjectConfig {
        /// Those flags.
        flags: u32,
    },
    /// A root signature for all functions, as an `RTS0` part.
    GlobalRootSignature(&'a [u8]),
    /// A root signature for some functions, as an `RTS0` part.
    LocalRootSignature(&'a [u8]),
    /// Which functions another subobject is for.
    Association {
        /// Name of the subobject.
        subobject: Name<'a>,
        /// Names of the functions; empty = all.
        exports: NameList<'a>,
    },
    /// Sizes of what functions hand to one another.
    ShaderConfig {
        /// Bytes of a payload at most.
        max_payload_bytes: u32,
        /// Bytes of a hit's attributes at most.
        max_attribute_bytes: u32,
    },
    /// How deep rays trace rays.
    PipelineConfig {
        /// That depth.
        max_recursion: u32,
    },
    /// The functions for a hit.
    HitGroup {
        /// What is hit.
        kind: HitGroupKind,
        /// Name of the any-hit function; empty if there is none, as for the others.
        any_hit: Name<'a>,
        /// Name of the closest-hit function.
        closest_hit: Name<'a>,
        /// Name of the intersection function.
        intersection: Name<'a>,
    },
    /// How deep rays trace rays, and what they skip.
    PipelineConfig1 {
        /// That depth.
        max_recursion: u32,
        /// Flags: 0x100 skip triangles, 0x200 skip procedural primitives.
        flags: u32,
    },
    /// Another one.
    Unknown {
        /// Kind.
        kind: u32,
        /// What it consists of.
        bytes: [u8; 16],
    },
}

impl Subobject<'_> {
    /// The root signature, if it is one.
    pub fn root_signature(&self) -> Option<RootSignature> {
        match self.content {
            SubobjectContent::GlobalRootSignature(bytes) | SubobjectContent::LocalRootSignature(bytes) => {
                let signature = RootSignature::read(Reader::new(bytes, self.bytes_offset));
                Some(signature.expect("checked when the part was parsed"))
            }
            _ => None,
        }
    }
}

impl<'a> Record<'a> for Subobject<'a> {
    const SIZE: u32 = 24;

    fn read(mut record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError> {
        let kind = record.u32("RDAT subobject kind")?;
        let name = Field::read(&mut record, pools, "RDAT subobject name")?;
        // Sixteen bytes, of which no kind but the unknown ones uses all.
        let start = record.offset();
        let record = &mut Reader::new(record.bytes(16, "RDAT subobject")?, start);
        let mut bytes_offset = 0;
        let mut root_signature = |record: &mut Reader<'a>| {
            let offset = record.u32("RDAT root signature offset")?;
            let bytes = pools.bytes(offset, record.u32("RDAT root signature size")?, "RDAT root signature")?;
            bytes_offset = bytes.offset();
            Ok(bytes.rest())
        };
        let content = match kind {
            0 => SubobjectContent::StateObjectConfig { flags: record.u32("RDAT state object flags")? },
            1 => SubobjectContent::GlobalRootSignature(root_signature(record)?),
            2 => SubobjectContent::LocalRootSignature(root_signature(record)?),
            8 => SubobjectContent::Association {
                subobject: Field::read(record, pools, "RDAT associated subobject")?,
                exports: Field::read(record, pools, "RDAT associated export")?,
            },
            9 => SubobjectContent::ShaderConfig {
                max_payload_bytes: record.u32("RDAT payload size")?,
                max_attribute_bytes: record.u32("RDAT attribute size")?,
            },
            10 => SubobjectContent::PipelineConfig { max_recursion: record.u32("RDAT recursion depth")? },
            11 => SubobjectContent::HitGroup {
                kind: HitGroupKind(record.u32("RDAT hit group kind")?),
                any_hit: Field::read(record, pools, "RDAT any-hit function")?,
                closest_hit: Field::read(record, pools, "RDAT closest-hit function")?,
                intersection: Field::read(record, pools, "RDAT intersection function")?,
            },
            12 => SubobjectContent::PipelineConfig1 {
                max_recursion: record.u32("RDAT recursion depth")?,
                flags: record.u32("RDAT pipeline flags")?,
            },
            _ => SubobjectContent::Unknown { kind, bytes: record.array("RDAT subobject")? },
        };
        Ok(Self { name, content, bytes_offset })
    }

    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        match self.content {
            SubobjectContent::GlobalRootSignature(bytes) | SubobjectContent::LocalRootSignature(bytes) => {
                check.spend(bytes.len() / 4, "RDAT root signature")?;
                RootSignature::read(Reader::new(bytes, self.bytes_offset)).map(drop)
            }
            SubobjectContent::Association { exports, .. } => exports.check(check, "RDAT associated export"),
            _ => Ok(()),
        }
    }
}
