//! Strings that come from files, shown so that they cannot do anything.
//!
//! A name in a container may hold terminal escapes, line breaks, marks that turn the direction of the text around, or
//! characters nobody sees. Every listing, message and error that has such a string in it shows it through
//! [`Printable`]; data for programs (JSON, the library's own structs) has the string itself.

use std::fmt::{self, Write as _};

/// Whether a character is shown as it is: letters, digits, signs and the blank are.
///
/// Control and format characters, separators of lines and paragraphs, other blanks, combining marks (they would join
/// what stands in front of the string) and code points without a character are not.
///
/// ```
/// use shaderjit::printable::is_printable;
///
/// assert!("Ordinary \"näme\" \\ 名".chars().all(is_printable));
/// assert!(!"\x1b\n\u{9b}\u{202e}\u{2028}\u{200b}".chars().any(is_printable));
/// ```
pub fn is_printable(c: char) -> bool {
    // What `{:?}` writes as an escape, but for the quotes and the backslash, which it only escapes because it quotes.
    matches!(c, ' '..='~') || c.escape_debug().len() == 1
}

/// Shows a string with what is not [printable](is_printable) as Rust's escapes: `\n`, `\u{1b}`.
///
/// A backslash stays one, so that paths are readable and that what was shown once can go through here again.
///
/// ```
/// use shaderjit::printable::Printable;
///
/// assert_eq!(Printable("\x1b[2Jnot\ncleared").to_string(), "\\u{1b}[2Jnot\\ncleared");
/// assert_eq!(format!("[{:<6}]", Printable("a\tb")), "[a\\tb  ]");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<S>(pub S);

impl<S: AsRef<str>> fmt::Display for Printable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_ref();
        if text.chars().all(is_printable) {
            return f.pad(text);
        }
        let mut shown = String::with_capacity(2 * text.len());
        for c in text.chars() {
            if is_printable(c) { shown.push(c) } else { write!(shown, "{}", c.escape_debug())? }
        }
        f.pad(&shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters of Unicode's bidirectional algorithm and of its security report that change how other text is
    /// shown.
    #[test]
    fn nothing_gets_through_that_acts() {
        let c0_and_c1 = ('\0'..' ').chain('\u{7f}'..='\u{9f}');
        let bidi = ['\u{61c}', '\u{200e}', '\u{200f}']
            .into_iter()
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}');
        let invisible =
            ['\u{ad}', '\u{34f}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{fe0f}', '\u{e0041}'];
        let separators = ['\u{2028}', '\u{2029}', '\u{a0}', '\u{3000}'];
        for c in c0_and_c1.chain(bidi).chain(invisible).chain(separators) {
            let shown = Printable(c.to_string()).to_string();
            assert!(
                shown.starts_with('\\') && shown.bytes().all(|byte| byte.is_ascii_graphic()),
                "{c:?} shows as {shown}"
            );
        }
    }

    #[test]
    fn showing_twice_is_showing_once() {
        let every: String = ('\0'..='\u{3000}').collect();
        let once = Printable(every).to_string();
        assert_eq!(Printable(&once).to_string(), once);
    }
}
