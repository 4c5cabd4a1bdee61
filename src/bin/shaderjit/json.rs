//! JSON, in ASCII wherever a character could act on a terminal: the strings are the file's own, spelt with JSON's
//! escapes.

use serde::Serialize;
use shaderjit::printable::is_printable;
use std::fmt::Write;

/// One line.
pub fn compact(value: &impl Serialize) -> Vec<u8> {
    document(serde_json::to_string(value))
}

/// For people: a line a field.
pub fn pretty(value: &impl Serialize) -> Vec<u8> {
    document(serde_json::to_string_pretty(value))
}

/// The document and a newline. serde_json escapes what JSON wants escaped, which is little: everything else that must
/// not be printed stands in a string, for the document's own characters are ASCII.
fn document(json: serde_json::Result<String>) -> Vec<u8> {
    let json = json.expect("plain data has a JSON form");
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\n' || is_printable(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out.push('\n');
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_were_and_nothing_acts() {
        let every: Vec<String> =
            ('\0'..='\u{fff}').chain('\u{2000}'..='\u{20ff}').chain(['\u{e0041}']).map(String::from).collect();
        for json in [compact(&every), pretty(&every)] {
            assert_eq!(serde_json::from_slice::<Vec<String>>(&json).unwrap(), every);
            assert!(String::from_utf8(json).unwrap().chars().all(|c| c == '\n' || is_printable(c)));
        }
    }
}
