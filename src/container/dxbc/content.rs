//! What a part holds, as the type its name stands for.

use super::four_cc::for_each_part;
use super::{CompilerVersion, DebugInformation, DebugName, DxilProgram, Level9Program, ProgramDatabase, ShaderHash};
use super::{FeatureFlags, FourCc, Interfaces, Part, Program, ResourceDefinitions, Signature, Statistics};
use super::{PdbInfo, PipelineState, RootSignature, RuntimeData, SourceInfo};
use crate::error::ContainerError;

/// Bytes whose meaning is not this crate's: private data of tools, other formats, parts of unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque<'a>(pub &'a [u8]);

impl<'a> Opaque<'a> {
    fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        Ok(Self(part.reader().rest()))
    }
}

/// A parsed part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PartContent<'a> {
    /// A signature of either direction.
    Signature(Signature<'a>),
    /// A tokenized program: its header, and its tokens unread.
    Program(Program<'a>),
    /// Constant buffers and bindings.
    ResourceDefinitions(ResourceDefinitions<'a>),
    /// Classes, their instances, interface slots.
    Interfaces(Interfaces<'a>),
    /// The compiler's counters, or reflection.
    Statistics(Statistics<'a>),
    /// Features a device must have.
    FeatureFlags(FeatureFlags),
    /// A DXIL program: its headers, and its bitcode unread.
    DxilProgram(DxilProgram<'a>),
    /// A root signature.
    RootSignature(RootSignature),
    /// What is checked when shaders are put together to a pipeline.
    PipelineState(Box<PipelineState<'a>>),
    /// Hash of a DXIL program or its source.
    ShaderHash(ShaderHash),
    /// What a runtime must know of a library.
    RuntimeData(Box<RuntimeData<'a>>),
    /// Sources and arguments of a compilation.
    SourceInfo(SourceInfo<'a>),
    /// Sources and arguments of a compilation, as runtime data.
    PdbInfo(PdbInfo<'a>),
    /// The compiler that wrote the container.
    CompilerVersion(CompilerVersion<'a>),
    /// Name of the file with debug information.
    DebugName(DebugName<'a>),
    /// A Direct3D 9 program.
    Level9Program(Level9Program<'a>),
    /// FXC's own debug information.
    DebugInformation(DebugInformation<'a>),
    /// FXC's debug information as a program database.
    ProgramDatabase(ProgramDatabase<'a>),
    /// Anything else.
    Opaque(Opaque<'a>),
}

macro_rules! parsers {
    ($($name:ident $content:ident $meaning:literal,)*) => {
        impl<'a> Part<'a> {
            /// Parses the part as what its name stands for; one of unknown name is [`Opaque`].
            ///
            /// # Errors
            /// The part is malformed. The rest of the container stays readable.
            pub fn content(&self) -> Result<PartContent<'a>, ContainerError> {
                Ok(match self.name {
                    // Large ones are boxed.
                    $(FourCc::$name => PartContent::$content($content::parse(self)?.into()),)*
                    _ => PartContent::Opaque(Opaque::parse(self)?),
                })
            }
        }

        impl FourCc {
            /// The name of the type that a part of this name is read as.
            pub const fn content_type(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($content),)*
                    _ => "Opaque",
                }
            }
        }
    };
}
for_each_part!(parsers);
