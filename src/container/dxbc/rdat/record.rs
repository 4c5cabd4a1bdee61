//! Records of the tables: resources and functions of a library, and what a debug file says of a compilation.

use super::field::{NameList, Rows, Text};
use super::pool::Pools;
use super::stage::StageRow;
use super::table::{Check, Field, Record};
use crate::container::dxbc::{DxilResourceKind, FeatureFlags, ShaderStage};
use crate::container::name::Name;
use crate::container::reader::Reader;
use crate::error::ContainerError;

/// Declares a record from its fields in stored order. `label` begins the name of each field in errors.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident $label:literal { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl<'a> $crate::container::dxbc::rdat::table::Record<'a> for $name<'a> {
            const SIZE: u32 = 0 $(+ <$type as $crate::container::dxbc::rdat::table::Field<'a>>::SIZE)*;

            fn read(
                mut record: $crate::container::reader::Reader<'a>,
                pools: &$crate::container::dxbc::rdat::pool::Pools<'a>,
            ) -> Result<Self, $crate::error::ContainerError> {
                use $crate::container::dxbc::rdat::table::Field as _;
                Ok(Self { $($field: <$type>::read(&mut record, pools, concat!($label, " ", stringify!($field)))?,)* })
            }

            fn check(
                &self,
                check: &mut $crate::container::dxbc::rdat::table::Check<'_, 'a>,
            ) -> Result<(), $crate::error::ContainerError> {
                use $crate::container::dxbc::rdat::table::Field as _;
                $(self.$field.check(check, concat!($label, " ", stringify!($field)))?;)*
                Ok(())
            }
        }
    };
}
pub(super) use record;

open_code! {
    /// What a resource is bound as.
    ResourceClass(u32) {
        0 SRV "SRV",
        1 UAV "UAV",
        2 CBV "CBV",
        3 SAMPLER "sampler",
    }
}

record! {
    /// A resource of a library.
    Resource "RDAT resource" {
        /// What it is bound as.
        class: ResourceClass,
        /// Its shape.
        kind: DxilResourceKind,
        /// Its number among those of its class.
        id: u32,
        /// Register space.
        space: u32,
        /// First register.
        lower: u32,
        /// Last register; `u32::MAX` if unbounded.
        upper: u32,
        /// Name.
        name: Name<'a>,
        /// Flags: 1 coherent on the whole device, 2 with counter, 4 ordered by the rasterizer, 8 indexed dynamically,
        /// 0x10 used by 64-bit atomics, 0x20 coherent after reordering.
        flags: u32,
    }
}

/// A function of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name, with a byte 0x01 in front if it is mangled.
    pub name: Name<'a>,
    /// Its name in the source.
    pub unmangled_name: Name<'a>,
    /// Resources it uses.
    pub resources: Rows<'a, Resource<'a>>,
    /// Functions it calls that are not in the library.
    pub dependencies: NameList<'a>,
    /// What kind of function it is.
    pub stage: ShaderStage,
    /// Bytes of the payload, or of a callable's parameter.
    pub payload_bytes: u32,
    /// Bytes of the attributes of a hit.
    pub attribute_bytes: u32,
    /// Features a device must have.
    pub features: FeatureFlags,
    /// Stages it may be used in: 1 shifted left by the stage's number.
    pub stage_mask: u32,
    /// Least shader model: minor in bits 0 to 3, major in 4 to 15, stage from 16 on.
    pub min_target: u32,
    /// What compilers add for validators from 1.8 on.
    pub extension: Option<FunctionExtension<'a>>,
}

/// What the record of a function has from validator 1.8 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionExtension<'a> {
    /// Least number of lanes of a wave; 0 = any.
    pub min_wave_lanes: u8,
    /// Greatest number of lanes of a wave; 0 = any.
    pub max_wave_lanes: u8,
    /// Flags: 1 entry of a node program, 2 writes a position, 4 writes the depth, 8 runs once a sample, 0x10 uses the
    /// view.
    pub flags: u16,
    /// The record with what only functions of its stage have.
    pub info: StageRow<'a>,
}

/// Bytes of what validator 1.8 added.
const EXTENSION: usize = 8;

impl<'a> Record<'a> for Function<'a> {
    const SIZE: u32 = 44;

    fn read(mut record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError> {
        let record = &mut record;
        let mut function = Self {
            name: Field::read(record, pools, "RDAT function name")?,
            unmangled_name: Field::read(record, pools, "RDAT unmangled name")?,
            resources: Field::read(record, pools, "RDAT function resources")?,
            dependencies: Field::read(record, pools, "RDAT function dependencies")?,
            stage: Field::read(record, pools, "RDAT function stage")?,
            payload_bytes: Field::read(record, pools, "RDAT function payload size")?,
            attribute_bytes: Field::read(record, pools, "RDAT function attribute size")?,
            features: Field::read(record, pools, "RDAT function features")?,
            stage_mask: Field::read(record, pools, "RDAT function stages")?,
            min_target: Field::read(record, pools, "RDAT function target")?,
            extension: None,
        };
        if record.left() >= EXTENSION {
            function.extension = Some(FunctionExtension {
                min_wave_lanes: Field::read(record, pools, "RDAT function wave size")?,
                max_wave_lanes: Field::read(record, pools, "RDAT function wave size")?,
                flags: Field::read(record, pools, "RDAT function flags")?,
                info: StageRow::new(function.stage, record.u32("RDAT function stage information")?),
            });
        }
        Ok(function)
    }

    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        self.resources.check(check, "RDAT function resources")?;
        self.dependencies.check(check, "RDAT function dependencies")?;
        match &self.extension {
            Some(extension) => extension.info.check(check),
            None => Ok(()),
        }
    }
}

record! {
    /// What a debug file says of a compilation.
    PdbRecord "RDAT debug file" {
        /// Source files.
        sources: Rows<'a, PdbSource<'a>>,
        /// Libraries that were linked.
        libraries: Rows<'a, PdbLibrary<'a>>,
        /// Arguments of the compiler: names and values in turn.
        arguments: NameList<'a>,
        /// Hash of the program, as a `HASH` part.
        hash: &'a [u8],
        /// Name of the debug file.
        name: Name<'a>,
        /// The compiler, if it was another one; 0 for DXC.
        toolchain: u32,
        /// What that compiler keeps.
        toolchain_data: &'a [u8],
        /// The container as it was before debug information was taken out of it.
        container: &'a [u8],
    }
}

/// A source file of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdbSource<'a> {
    /// Its name, a path.
    pub name: Name<'a>,
    /// Its text.
    pub text: &'a [u8],
}

impl<'a> Record<'a> for PdbSource<'a> {
    const SIZE: u32 = 8;

    fn read(mut record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError> {
        let name = Field::read(&mut record, pools, "RDAT source name")?;
        let Text(text) = Field::read(&mut record, pools, "RDAT source text")?;
        Ok(Self { name, text })
    }

    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        Text(self.text).check(check, "RDAT source text")
    }
}

record! {
    /// A library that was linked.
    PdbLibrary "RDAT library" {
        /// Its name.
        name: Name<'a>,
        /// Its container.
        data: &'a [u8],
    }
}
