//! Closed enumerations of a token format.

/// Declares enumerations from their tables, one line a value: `number Variant "printed"`. A number that is none of them
/// is an error.
macro_rules! codes {
    ($( $(#[$doc:meta])* $name:ident $what:literal { $( $number:literal $variant:ident $printed:literal; )* } )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum $name { $( #[doc = concat!("Value ", $number, ", printed `", $printed, "`.")] $variant = $number, )* }

        impl $name {
            /// Every value, by ascending number.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];

            /// The value with a number.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $( $number => Some($name::$variant), )* _ => None }
            }

            /// Its number.
            pub const fn number(self) -> u32 {
                self as u32
            }

            /// What the reference disassembler prints for it.
            pub const fn name(self) -> &'static str {
                match self { $( $name::$variant => $printed, )* }
            }

            /// The value with a number read from the token at `offset`.
            pub(super) fn decode(number: u32, offset: usize) -> Result<Self, DecodeError> {
                Self::from_number(number).ok_or(DecodeError::Invalid { what: $what, value: u64::from(number), offset })
            }
        }
    )* };
}
