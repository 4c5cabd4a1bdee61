//! What the table says of one draw call: figures, some of which may be missing. They go from process to process as
//! text.

use crate::contender::{NAMES, NATIVE};
use crate::measure::median;
use std::fmt::Write;

/// Nanoseconds a vertex of everybody in the order of [`NAMES`] and of copying; then microseconds to compile and bytes
/// of code, for each way to make native code.
pub const FIGURES: usize = CODE + NATIVE;
pub const COPY: usize = NAMES.len();
pub const COMPILE: usize = COPY + 1;
pub const CODE: usize = COMPILE + NATIVE;

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub kernel: String,
    pub vertices: u32,
    pub figures: [Option<f64>; FIGURES],
}

impl Row {
    /// `K1,1000,48.2,,…`
    pub fn to_text(&self) -> String {
        let mut text = format!("{},{}", self.kernel, self.vertices);
        for figure in self.figures {
            text.push(',');
            if let Some(figure) = figure {
                write!(text, "{figure}").expect("strings take text");
            }
        }
        text
    }

    /// None for any other line.
    pub fn from_text(text: &str) -> Option<Row> {
        let fields: Vec<&str> = text.split(',').collect();
        let [kernel, vertices, figures @ ..] = &fields[..] else { return None };
        let figures: &[&str; FIGURES] = figures.try_into().ok()?;
        let figures = figures.map(|figure| figure.parse().ok());
        Some(Row { kernel: kernel.to_string(), vertices: vertices.parse().ok()?, figures })
    }

    /// The same row of several processes.
    pub fn median(rows: &[&Row]) -> Row {
        let figure = |number: usize| {
            let values: Vec<f64> = rows.iter().filter_map(|row| row.figures[number]).collect();
            (!values.is_empty()).then(|| median(values))
        };
        Row { figures: std::array::from_fn(figure), ..rows[0].clone() }
    }
}
