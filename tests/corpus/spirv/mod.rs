//! SPIR-V modules that compilers made of the sources of `dxbc`, against what an executor recorded for the containers,
//! or what our own run of the containers gives: every module and every run, on every engine.
//!
//! `map.tsv` says which descriptor is which register and which location which semantic. `checked.tsv` says what another
//! executor gave: where a module is known to differ (`DIFF`), only that our engines agree is looked at.
//!
//! | file | what it does |
//! |---|---|
//! | `bound` | what a run binds, to registers and to descriptors |
//! | `words` | vertices and thread groups, against recorded words |
//! | `pixels` | made-up pixels, against the container's |
//! | `own` | shaders of our own in GLSL |
//! | `stages` | whole pipelines of geometry and tessellation, against the containers' |

mod bound;
mod own;
mod pixels;
mod stages;
mod words;

use crate::{data, read};
use std::collections::{BTreeMap, BTreeSet};

/// A row of `map.tsv`: kind and fields.
type Row = Vec<String>;

/// The rows of each module, by case and file.
fn map() -> BTreeMap<(String, String), Vec<Row>> {
    let text = String::from_utf8(read(&data().join("spirv/map.tsv"))).unwrap();
    let mut map = BTreeMap::<_, Vec<Row>>::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split('\t').map(str::to_string);
        let key = (fields.next().unwrap(), fields.next().unwrap());
        map.entry(key).or_default().push(fields.collect());
    }
    map
}

/// The modules and runs that are known to differ.
fn known_to_differ() -> BTreeSet<(String, String, String)> {
    let text = String::from_utf8(read(&data().join("spirv/checked.tsv"))).unwrap();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_string).collect::<Vec<_>>());
    rows.filter(|row| row[0] == "DIFF").map(|row| (row[1].clone(), row[2].clone(), row[3].clone())).collect()
}

/// The semantics at the locations that a row of the map covers: location, semantic with index, components of the
/// location.
fn places(row: &Row) -> Vec<(u32, String, u8)> {
    let Some(location) = row[1].strip_prefix("location ") else { return Vec::new() };
    let (location, first) = location.split_once('.').unwrap_or((location, "0"));
    let (location, first): (u32, u8) = (location.parse().unwrap(), first.parse().unwrap());
    if row[2].contains('.') {
        // A register, and what is packed into it.
        let letters =
            |letters: &str| letters.bytes().map(|c| 1u8 << b"xyzw".iter().position(|&l| l == c).unwrap()).sum();
        let packed = row[2].split(' ').map(|part| part.split_once('.').unwrap());
        return packed.map(|(semantic, mask)| (location, semantic.to_string(), letters(mask))).collect();
    }
    let name = row[2].trim_end_matches(|c: char| c.is_ascii_digit());
    let index: u32 = row[2][name.len()..].parse().unwrap();
    let types = row.last().unwrap().split(' ');
    let covered = (0..).zip(types).map(|(n, ty)| {
        let count: u8 = ty.split_once('x').map_or(1, |(_, count)| count.parse().unwrap());
        (location + n, format!("{name}{}", index + n), ((1 << count) - 1) << first)
    });
    covered.collect()
}
