//! Codes whose set may grow: a newtype over the stored number, with a table of the known ones.

/// Declares an open code from its table, one line a known value: `number CONSTANT "name"`. The constants, `name()` and
/// `Display` come from that table; an unknown number is kept and prints as `unknown(0x..)`.
macro_rules! open_code {
    ($(#[$meta:meta])* $name:ident($repr:ty) { $($value:literal $constant:ident $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            $(
                #[doc = concat!("`", $text, "` (", $value, ").")]
                pub const $constant: Self = Self($value);
            )*

            /// The name of a known code.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => f.pad(&format!("unknown({:#x})", self.0)),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    open_code! {
        /// A code.
        Fruit(u16) {
            1 APPLE "apple",
            7 PEAR "pear",
        }
    }

    #[test]
    fn known_codes_print_their_name_and_unknown_ones_their_number() {
        assert_eq!(Fruit::PEAR.to_string(), "pear");
        assert_eq!(Fruit(1), Fruit::APPLE);
        assert_eq!(Fruit(0x21).to_string(), "unknown(0x21)");
        assert_eq!(Fruit(0x21).name(), None);
        assert_eq!(format!("{:>6}|{:?}", Fruit::PEAR, Fruit::APPLE), "  pear|Fruit(apple)");
    }
}
