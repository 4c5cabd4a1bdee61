//! Part names.

use std::fmt;

/// The four-byte name of a part. Any bytes are allowed; unknown parts are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourCc(pub [u8; 4]);

/// Declares the known names from their table, one line each: `NAME "what the part holds"`.
macro_rules! four_ccs {
    ($($name:ident $meaning:literal,)*) => {
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

const fn name_bytes(name: &str) -> [u8; 4] {
    *name.as_bytes().first_chunk().expect("part names have four bytes")
}

four_ccs! {
    ISGN "input signature",
    ISG1 "input signature with streams and minimum precision",
    OSGN "output signature",
    OSG5 "output signature with streams",
    OSG1 "output signature with streams and minimum precision",
    PCSG "patch-constant signature",
    PSG1 "patch-constant or per-primitive signature with minimum precision",
    SHDR "program, shader model 4 (some compilers: 5)",
    SHEX "program, shader model 5, or 4 with Direct3D 11 features",
    RDEF "resource definitions: constant buffers and bindings",
    IFCE "interfaces and class instances",
    STAT "statistics, or reflection of a DXIL program",
    SFI0 "required feature flags",
    RTS0 "root signature",
    PSV0 "pipeline state validation",
    RDAT "runtime data of a library",
    DXIL "DXIL program",
    ILDB "DXIL program with debug information",
    ILDN "name of the file with debug information",
    HASH "hash of the DXIL program or its source",
    VERS "compiler version",
    SRCI "shader sources and compiler arguments",
    PDBI "debug information of the compiler",
    PRIV "private data of a tool",
    Aon9 "Direct3D 9 program of a level-9 profile",
    XNAS "Direct3D 9 program, laid out as Aon9",
    XNAP "Direct3D 9 program, laid out as Aon9",
    SDBG "debug information, old form",
    SPDB "debug information, a program database",
    FX10 "effect",
    CTAB "Direct3D 9 constant table",
    CLI4 "immediate constants of an effect expression",
    FXLC "effect expression",
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
