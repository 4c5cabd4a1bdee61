//! The versions of Microsoft's disassembler: what they spell differently.

/// What a version of the disassembler prints where versions differ.
#[derive(Debug)]
pub(crate) struct Spelling {
    /// What stands between the compiler's name and the tables, the first of which goes on in the same line.
    pub header_end: &'static str,
    /// Width of the column `Format` of the signatures.
    pub format_width: usize,
    /// Bindings have the number of their slot, not the register they are in the source.
    pub numbers_slots: bool,
    /// A declared constant buffer before shader model 5.1.
    pub constant_buffer: &'static str,
    /// `discard` says what it tests, as all other conditional instructions do.
    pub tests_discard: bool,
    /// What texel offsets add to the mnemonic.
    pub texel_offsets: &'static str,
    /// Declarations of generated values (`dcl_input_ps_sgv`) say how they are interpolated.
    pub interpolates_generated: bool,
    /// What a `dcl_resource_structured` ends in.
    pub structured_end: &'static str,
    /// Bits that are moved print as a float if they are -0.0.
    pub negative_zero_is_float: bool,
}

macro_rules! dialects {
    ($( $(#[$attribute:meta])* $name:ident $versions:literal $header_end:literal $format_width:literal $numbers_slots:literal
        $constant_buffer:literal $tests_discard:literal $texel_offsets:literal $interpolates_generated:literal
        $structured_end:literal $negative_zero_is_float:literal $doc:literal; )*) => {
        /// Whose spelling a listing follows: a version of Microsoft's compiler, which prints what it made.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Dialect { $( $(#[$attribute])* #[doc = $doc] $name, )* }

        impl Dialect {
            /// What the versions of each begin with; of several that fit, the first counts.
            const VERSIONS: &'static [(&'static str, Dialect)] = &[$( ($versions, Dialect::$name), )*];

            /// How it spells what others spell differently.
            pub(crate) const fn spelling(self) -> &'static Spelling {
                match self {
                    $( Dialect::$name => &Spelling {
                        header_end: $header_end,
                        format_width: $format_width,
                        numbers_slots: $numbers_slots,
                        constant_buffer: $constant_buffer,
                        tests_discard: $tests_discard,
                        texel_offsets: $texel_offsets,
                        interpolates_generated: $interpolates_generated,
                        structured_end: $structured_end,
                        negative_zero_is_float: $negative_zero_is_float,
                    }, )*
                }
            }
        }
    };
}

dialects! {
    // name  versions  header_end  format  slots  buffer  discard  offsets      generated  structured  -0.0   whose
    Fxc9_30  "9.30."   "//\n/"    7       true   "cb"    true     "_aoffimmi"  false      " "         true   "9.30, of Windows 8.";
    Fxc9_29  "9."      ""          6       true   "cb"    false    ""           false      " "         false  "9.29 and before, of the DirectX SDK (2010).";
    Fxc6_3   "6."      ""          7       true   "cb"    true     "_aoffimmi"  false      " "         true   "6.3, of Windows 8.1, which came after 9.30.";
    #[default]
    Fxc10_1  ""        ""          7       false  "CB"    true     "_aoffimmi"  true       ""          true   "10.1, of Windows 10: `D3DCompiler_47`.";
}

impl Dialect {
    /// The dialect of what a compiler made that calls itself this; the newest for compilers of others, which have none.
    pub fn of_creator(creator: &[u8]) -> Self {
        let version = creator.strip_prefix(b"Microsoft (R) HLSL Shader Compiler ".as_slice()).unwrap_or_default();
        let of_version = Self::VERSIONS.iter().find(|(prefix, _)| version.starts_with(prefix.as_bytes()));
        of_version.map_or_else(Self::default, |&(_, dialect)| dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_versions() {
        let of =
            |version: &str| Dialect::of_creator(format!("Microsoft (R) HLSL Shader Compiler {version}").as_bytes());
        assert_eq!(of("9.29.952.3111"), Dialect::Fxc9_29);
        assert_eq!(of("9.26.952.2844"), Dialect::Fxc9_29);
        assert_eq!(of("9.30.9200.16384"), Dialect::Fxc9_30);
        assert_eq!(of("6.3.9600.16384"), Dialect::Fxc6_3);
        assert_eq!(of("10.1"), Dialect::Fxc10_1);
        assert_eq!(Dialect::of_creator(b"vkd3d-shader 1.9"), Dialect::Fxc10_1);
    }
}
