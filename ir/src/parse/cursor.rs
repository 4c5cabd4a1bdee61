//! Reads tokens off the text. Blanks and comments (`;` to the end of the line) may stand before each.

use super::ParseError;
use std::fmt;

/// A position in the text.
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// Byte offset of the next character.
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with(';') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Byte offset of the next token.
    pub(super) fn position(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    /// Whether only blanks and comments are left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.position() == self.text.len()
    }

    /// An error about the token at `position`.
    #[cold]
    pub(super) fn error_at(&self, position: usize, message: impl Into<String>) -> ParseError {
        let before = &self.text[..position];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    /// The error that something else than the next token is needed.
    #[cold]
    pub(super) fn expected(&mut self, what: impl fmt::Display) -> ParseError {
        /// Enough to recognize a token by.
        const SHOWN: usize = 20;
        let position = self.position();
        let found = self.rest().split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default();
        let message = match found.char_indices().nth(SHOWN) {
            _ if found.is_empty() => format!("expected {what}, found the end of the text"),
            Some((end, _)) => format!("expected {what}, found `{}…`", &found[..end]),
            None => format!("expected {what}, found `{found}`"),
        };
        self.error_at(position, message)
    }

    /// Takes `symbol` if it is next.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    /// Takes `symbol`.
    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(format_args!("`{symbol}`"))) }
    }

    /// Takes the longest run of characters that `is_part` accepts, which may be empty.
    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        self.skip_blanks();
        let rest = self.rest();
        let token = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += token.len();
        token
    }

    /// Takes letters, digits and underscores; empty if something else is next.
    pub(super) fn word(&mut self) -> &'t str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Takes the word `keyword` if it is next.
    pub(super) fn eat_word(&mut self, keyword: &str) -> bool {
        let start = self.position();
        let found = self.word() == keyword;
        if !found {
            self.at = start;
        }
        found
    }

    /// Takes the word `keyword`.
    pub(super) fn expect_word(&mut self, keyword: &str) -> Result<(), ParseError> {
        if self.eat_word(keyword) { Ok(()) } else { Err(self.expected(format_args!("`{keyword}`"))) }
    }

    /// Takes a decimal number of at most `limit`.
    pub(super) fn number(&mut self, what: &str, limit: u32) -> Result<u32, ParseError> {
        let start = self.position();
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.expected(what));
        }
        match digits.parse() {
            Ok(number) if number <= limit => Ok(number),
            _ => Err(self.error_at(start, format!("{what} is over the limit of {limit}"))),
        }
    }

    /// Takes the characters of a literal; empty if something else is next.
    pub(super) fn literal(&mut self) -> &'t str {
        self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-'))
    }

    /// Takes a string in quotes, with the escapes of Rust's `{:?}`.
    pub(super) fn string(&mut self) -> Result<String, ParseError> {
        let start = self.position();
        if !self.eat("\"") {
            return Err(self.expected("a name in quotes"));
        }
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += offset + 1;
                    return Ok(name);
                }
                '\n' => break,
                '\\' => {
                    let unescaped = match chars.next() {
                        Some((_, c @ ('"' | '\'' | '\\'))) => Some(c),
                        Some((_, 'n')) => Some('\n'),
                        Some((_, 'r')) => Some('\r'),
                        Some((_, 't')) => Some('\t'),
                        Some((_, '0')) => Some('\0'),
                        Some((_, 'u')) => unicode_escape(&mut chars),
                        _ => None,
                    };
                    match unescaped {
                        Some(c) => name.push(c),
                        None => return Err(self.error_at(self.at + offset, "not an escape of a name")),
                    }
                }
                c => name.push(c),
            }
        }
        Err(self.error_at(start, "the name has no closing quote"))
    }
}

/// The character of `{hex digits}`.
fn unicode_escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    if chars.next()?.1 != '{' {
        return None;
    }
    let mut code = 0u32;
    loop {
        match chars.next()?.1 {
            '}' => return char::from_u32(code),
            // At most six digits: a character has 21 bits.
            c => code = code.checked_mul(16).filter(|&code| code < 1 << 24)? + c.to_digit(16)?,
        }
    }
}
