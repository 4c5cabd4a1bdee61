//! Enumerations that C passes as numbers, because a number that is no entry must not be undefined behaviour.

/// Gives enumerations `from_number`: the entry with a number, if there is one. An entry that is left out here is never
/// made, which the compiler warns of.
macro_rules! from_numbers {
    ($( $enumeration:ident: $($entry:ident)*; )*) => {
        $(
            impl $enumeration {
                pub(super) fn from_number(number: u32) -> Option<$enumeration> {
                    match number {
                        $( number if number == $enumeration::$entry as u32 => Some($enumeration::$entry), )*
                        _ => None,
                    }
                }
            }
        )*
    };
}
pub(super) use from_numbers;
