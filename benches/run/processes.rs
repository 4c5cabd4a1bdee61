//! The table of several processes, one after the other: where code and data happen to lie differs between them, and so
//! do times. Each of them measures everybody, interleaved as ever, and gives its rows as text.

use crate::row::Row;
use std::process::{Command, Stdio};

/// How many processes to ask.
const PROCESSES: &str = "--processes";
/// Print rows as text, and nothing else.
const ROWS: &str = "--rows";

/// How many processes the command line asks for.
///
/// # Panics
/// It asks for no number.
pub fn asked() -> Option<usize> {
    let mut arguments = std::env::args().skip_while(|argument| argument != PROCESSES);
    arguments.next()?;
    let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
    Some(number.unwrap_or_else(|| panic!("{PROCESSES} N, at least 1")))
}

/// Whether another process asked this one.
pub fn is_asked() -> bool {
    std::env::args().any(|argument| argument == ROWS)
}

/// Each row's median.
///
/// # Panics
/// One of the processes fails.
pub fn medians(count: usize) -> Vec<Row> {
    let own = std::env::current_exe().expect("this program has a path");
    let mut processes: Vec<Vec<Row>> = Vec::new();
    for number in 1..=count {
        eprintln!("process {number} of {count}");
        let output = Command::new(&own).arg(ROWS).stderr(Stdio::inherit()).output().expect("this program can be run");
        assert!(output.status.success(), "process {number}: {}", output.status);
        let text = String::from_utf8(output.stdout).expect("rows are ASCII");
        let rows = text.lines().map(|line| Row::from_text(line).unwrap_or_else(|| panic!("no row: {line}")));
        processes.push(rows.collect());
    }
    let row = |number| Row::median(&processes.iter().map(|rows: &Vec<Row>| &rows[number]).collect::<Vec<_>>());
    (0..processes[0].len()).map(row).collect()
}
