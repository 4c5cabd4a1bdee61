//! Names stored in a container.

use crate::printable::Printable;
use std::borrow::Cow;
use std::fmt;

/// A name as the container stores it: bytes without the terminating NUL, usually but not necessarily ASCII.
///
/// It borrows from the container, so that a hostile file in which a thousand records share one long name costs nothing.
/// `Display` is safe to print: bytes that are not UTF-8 show as U+FFFD, and the rest as [`Printable`] shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// A name of these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The stored bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// As a string, with U+FFFD for what is not UTF-8.
    pub fn to_str(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// Whether it is `other`, with ASCII letters of either case: how Direct3D compares semantics.
    pub fn eq_ignore_ascii_case(self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other.as_bytes())
    }
}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Name<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(self.to_str()).fmt(f)
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn printing_is_readable_whatever_the_bytes() {
        assert_eq!(Name::new(b"TEXCOORD").to_string(), "TEXCOORD");
        assert_eq!(Name::new(b"a\xffb").to_string(), "a\u{fffd}b");
        assert_eq!(Name::new(b"\x1b[2Jx").to_string(), "\\u{1b}[2Jx");
        assert_eq!(format!("[{:<4}]", Name::new(b"mv")), "[mv  ]");
        assert_eq!(format!("[{:<4}]", Name::new(b"m\n")), "[m\\n ]");
    }

    #[test]
    fn comparison_follows_the_stored_bytes() {
        let name = Name::new(b"SV_Position");
        assert_eq!(name, "SV_Position");
        assert_ne!(name, "sv_position");
        assert!(name.eq_ignore_ascii_case("sv_POSITION"));
    }
}
