//! Two listings of elements compared: lines as `run` prints them, a label, numbers, and the numbers' bits in brackets.

use crate::compare::distance;
use crate::groups::element_text;
use serde::Serialize;
use shaderjit::ComponentType;
use std::collections::HashMap;

/// What two runs were found to leave.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listings {
    /// `equal`, `close` or `different`.
    pub result: &'static str,
    /// Elements that both have.
    pub elements: usize,
    /// Elements of one alone.
    pub only_first: usize,
    pub only_second: usize,
    /// The largest distance that was let pass, in units of the last place.
    pub max_ulp: u64,
    /// The first element that differs, as each has it.
    pub difference: Option<[String; 2]>,
}

/// A line's label and the words in its brackets.
fn parts(line: &str) -> (&str, Vec<u32>) {
    let Some((before, digits)) = line.strip_suffix(']').and_then(|line| line.rsplit_once("  [")) else {
        return (line, Vec::new());
    };
    let words: Vec<u32> = digits.split(' ').filter_map(|word| u32::from_str_radix(word, 16).ok()).collect();
    let label = words.iter().try_fold(before, |rest, _| Some(rest.rsplit_once(' ')?.0));
    (label.unwrap_or(before), words)
}

/// Whether the numbers of a line are floats: only then do they print so.
fn are_floats(line: &str, words: &[u32]) -> bool {
    if words.is_empty() {
        return false;
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    line.ends_with(&element_text(&bytes, None))
}

impl Listings {
    /// Compares the elements that both have, floats up to a tolerance.
    pub fn new([first, second]: [&str; 2], tolerance: u64) -> Listings {
        let others: HashMap<&str, (&str, Vec<u32>)> = second
            .lines()
            .map(|line| (line, parts(line)))
            .map(|(line, (label, words))| (label, (line, words)))
            .collect();
        let mut found = Listings { result: "equal", ..Listings::default() };
        for line in first.lines() {
            let (label, words) = parts(line);
            let Some((other, other_words)) = others.get(label) else {
                found.only_first += 1;
                continue;
            };
            found.elements += 1;
            let is_float = are_floats(line, &words) && are_floats(other, other_words);
            let ty = if is_float { ComponentType::F32 } else { ComponentType::U32 };
            let distances = words.iter().zip(other_words).map(|(&a, &b)| distance(ty, [a, b]));
            let farthest = distances.collect::<Option<Vec<u64>>>().map(|each| each.into_iter().max().unwrap_or(0));
            match farthest.filter(|_| words.len() == other_words.len()) {
                Some(0) => {}
                Some(ulp) if ulp <= tolerance => {
                    found.max_ulp = found.max_ulp.max(ulp);
                    if found.difference.is_none() {
                        found.result = "close";
                    }
                }
                _ => {
                    found.result = "different";
                    found.difference.get_or_insert_with(|| [line.to_string(), other.to_string()]);
                }
            }
        }
        found.only_second = others.len().saturating_sub(found.elements);
        if found.elements == 0 && found.only_first + found.only_second > 0 {
            found.result = "different";
        }
        found
    }

    /// `equal: 12 elements`, or the difference, and how many elements only one has.
    pub fn text(&self) -> String {
        let mut out = match (&self.difference, self.result) {
            (Some([first, second]), _) => format!("different:\n  {first}\n  {second}\n"),
            (None, "close") => format!("close: within {} ulp in {} elements\n", self.max_ulp, self.elements),
            (None, result) => format!("{result}: {} elements\n", self.elements),
        };
        for (which, count) in [("first", self.only_first), ("second", self.only_second)] {
            if count > 0 {
                out += &format!("only the {which} has {count} elements more\n");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_may_be_close_and_integers_may_not() {
        let line = |bits: u32| format!("u0[1] {}\n", element_text(&bits.to_le_bytes(), None));
        let one = 1.0f32.to_bits();
        let compared = |a: u32, b: u32, ulp| Listings::new([&line(a), &line(b)], ulp);
        assert_eq!(compared(one, one, 0).text(), "equal: 1 elements\n");
        assert_eq!(compared(one, one + 2, 2).text(), "close: within 2 ulp in 1 elements\n");
        assert!(compared(one, one + 2, 1).text().starts_with("different:\n  u0[1] 1  [3f800000]\n"));
        let integers = ["u0[0] 5  [00000005]\n", "u0[0] 6  [00000006]\n"];
        assert_eq!(Listings::new(integers, 9).result, "different");
    }

    #[test]
    fn elements_are_found_by_their_labels() {
        let first = "s0 0 POS0 1 2  [3f800000 40000000]\ns0 0 COLOR0 1  [3f800000]\n";
        let second = "s0 0 COLOR0 1  [3f800000]\n";
        let found = Listings::new([first, second], 0);
        assert_eq!((found.result, found.elements, found.only_first, found.only_second), ("equal", 1, 1, 0));
        assert_eq!(Listings::new(["a 1  [00000001]", "b 1  [00000001]"], 0).result, "different");
        assert_eq!(parts("stream 0 vertices 3"), ("stream 0 vertices 3", vec![]));
    }
}
