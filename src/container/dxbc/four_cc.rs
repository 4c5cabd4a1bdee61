//! Part names.

use std::fmt;

/// The four-byte name of a part. Any bytes are allowed; unknown parts are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourCc(pub [u8; 4]);

/// Hands `$callback` the table of the known names, one line each: `NAME Type "what the part holds"`. `Type` is what
/// [`Part::content`](super::Part::content) reads it as; `Opaque` are bytes whose meaning is not this crate's.
macro_rules! for_each_part {
    ($callback:ident) => {
        $callback! {
            ISGN Signature "input signature",
            ISG1 Signature "input signature with streams and minimum precision",
            OSGN Signature "output signature",
            OSG5 Signature "output signature with streams",
            OSG1 Signature "output signature with streams and minimum precision",
            PCSG Signature "patch-constant signature",
            PSG1 Signature "patch-constant or per-primitive signature with minimum precision",
            SHDR Program "program, shader model 4 (some compilers: 5)",
            SHEX Program "program, shader model 5, or 4 with Direct3D 11 features",
            RDEF ResourceDefinitions "resource definitions: constant buffers and bindings",
            IFCE Interfaces "interfaces and class instances",
            STAT Statistics "statistics, or reflection of a DXIL program",
            SFI0 FeatureFlags "required feature flags",
            RTS0 RootSignature "root signature",
            PSV0 PipelineState "pipeline state validation",
            RDAT RuntimeData "runtime data of a library",
            DXIL DxilProgram "DXIL program",
            ILDB DxilProgram "DXIL program with debug information",
            ILDN DebugName "name of the file with debug information",
            HASH ShaderHash "hash of the DXIL program or its source",
            VERS CompilerVersion "compiler version",
            SRCI SourceInfo "shader sources and compiler arguments",
            PDBI PdbInfo "debug information of the compiler",
            PRIV Opaque "private data of a tool",
            Aon9 Level9Program "program of a level-9 profile, shader model 2: read and listed, not run",
            XNAS Level9Program "program for XNA, laid out as Aon9: read and listed, not run",
            XNAP Level9Program "its prepass, laid out as Aon9: read and listed, not run",
            SDBG DebugInformation "debug information, old form",
            SPDB ProgramDatabase "debug information, a program database",
            FX10 Opaque "effect",
            CTAB Opaque "Direct3D 9 constant table",
            CLI4 Opaque "immediate constants of an effect expression",
            FXLC Opaque "effect expression",
        }
    };
}
pub(super) use for_each_part;

macro_rules! names {
    ($($name:ident $content:ident $meaning:literal,)*) => {
        impl FourCc {
            $(
                #[doc = concat!("`", stringify!($name), "`: ", $meaning, ".")]
                #[allow(non_upper_case_globals, reason = "the constants are spelt as the names are in the file")]
                pub const $name: Self = Self(name_bytes(stringify!($name)));
            )*

            /// Every known name.
            pub const KNOWN: &[Self] = &[$(Self::$name),*];

            /// What a part of this name holds, in one line.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                    _ => "unknown part",
                }
            }
        }
    };
}
for_each_part!(names);

const fn name_bytes(name: &str) -> [u8; 4] {
    *name.as_bytes().first_chunk().expect("part names have four bytes")
}

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.escape_ascii().to_string())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FourCc({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::FourCc;

    #[test]
    fn names_print_as_they_are_stored() {
        assert_eq!(FourCc::SHEX.0, *b"SHEX");
        assert_eq!(FourCc::Aon9.to_string(), "Aon9");
        assert_eq!(FourCc(*b"A\0\xff1").to_string(), "A\\x00\\xff1");
        assert_eq!(FourCc(*b"FKE0").meaning(), "unknown part");
    }

    #[test]
    fn the_table_has_no_name_twice() {
        let mut names = FourCc::KNOWN.to_vec();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FourCc::KNOWN.len());
    }
}
