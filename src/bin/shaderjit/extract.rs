//! `extract`: the data of one part.

use crate::options::{BytesArgs, FileArgs};
use crate::report::Outcome;
use shaderjit::container::Container;
use std::str::FromStr;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: FileArgs,
    /// The part, as `parts` names it (`SHEX`, `DVLE 0`); `NAME:N` for one of several with that name, counted from 0, or
    /// `#N` for the Nth part of the listing, counted from 1
    #[arg(value_name = "PART")]
    part: Selector,
    #[command(flatten)]
    output: BytesArgs,
}

/// Which part.
#[derive(Clone, Debug, PartialEq)]
enum Selector {
    /// A row of the listing, the first being 0.
    Row(usize),
    /// The nth of a name.
    Name(String, usize),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Selector, String> {
        if let Some(number) = text.strip_prefix('#') {
            let row = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            return row.map(Selector::Row).ok_or_else(|| format!("{number:?} is no number of a part, from 1 on"));
        }
        match text.rsplit_once(':') {
            Some((name, number)) => {
                let nth = number.parse().map_err(|_| format!("{number:?} is no number of a part"))?;
                Ok(Selector::Name(name.to_string(), nth))
            }
            None => Ok(Selector::Name(text.to_string(), 0)),
        }
    }
}

impl Selector {
    /// The row of the listing.
    fn find(&self, names: &[&str]) -> Option<usize> {
        match self {
            Selector::Row(row) => Some(*row).filter(|&row| row < names.len()),
            Selector::Name(name, nth) => {
                let rows = names.iter().enumerate().filter(|(_, part)| *part == name);
                rows.map(|(row, _)| row).nth(*nth)
            }
        }
    }
}

pub fn run(args: &Args) -> Outcome {
    let bytes = args.file.read()?;
    let container = Container::parse(&bytes).map_err(|error| args.file.failure(error))?;
    let listing = container.listing();
    let names: Vec<_> = listing.iter().map(|part| part.name.as_str()).collect();
    let data = args.part.find(&names).and_then(|row| container.part_data(row));
    let data = data.ok_or_else(|| {
        let wanted = match &args.part {
            Selector::Row(row) => format!("part {}", row + 1),
            Selector::Name(name, 0) => name.clone(),
            Selector::Name(name, nth) => format!("{name}:{nth}"),
        };
        args.file.failure(format_args!("there is no {wanted}: the parts are {}", names.join(", ")))
    })?;
    args.output.write(data.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_or_numbered() {
        let parse = |text: &str| text.parse::<Selector>();
        assert_eq!(parse("SHEX"), Ok(Selector::Name("SHEX".to_string(), 0)));
        assert_eq!(parse("DVLE 1"), Ok(Selector::Name("DVLE 1".to_string(), 0)));
        assert_eq!(parse("PRIV:2"), Ok(Selector::Name("PRIV".to_string(), 2)));
        assert_eq!(parse("#3"), Ok(Selector::Row(2)));
        for bad in ["#0", "#", "#x", "PRIV:", "PRIV:x"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn of_several_with_one_name_each_is_found() {
        let find = |text: &str| text.parse::<Selector>().unwrap().find(&["A", "B", "A"]);
        assert_eq!(
            [find("A"), find("A:1"), find("A:2"), find("B"), find("C")],
            [Some(0), Some(2), None, Some(1), None]
        );
        assert_eq!([find("#1"), find("#3"), find("#4")], [Some(0), Some(2), None]);
    }
}
