//! Comma-separated values, safe to open in a spreadsheet.

use csv::Writer;
use shaderjit::printable::Printable;

/// A table that grows by rows.
pub struct Sheet(Writer<Vec<u8>>);

impl Sheet {
    /// A table with these columns.
    pub fn new(columns: impl IntoIterator<Item = String>) -> Sheet {
        let mut sheet = Sheet(Writer::from_writer(Vec::new()));
        sheet.row(columns);
        sheet
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.write_record(cells).expect("memory takes every row, and each has a cell a column");
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_inner().expect("memory takes every row")
    }
}

/// A name as a cell. What a spreadsheet would take for a formula gets an apostrophe in front, which makes it text
/// (OWASP, "CSV injection"; the wide signs are in that list too). Tabs and line breaks, with which a formula may begin
/// as well, are escaped. Numbers need none of this, so a minus stays at their front.
pub fn name(text: &str) -> String {
    let shown = Printable(text).to_string();
    if shown.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) { format!("'{shown}") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas() {
        for formula in ["=1+1", "+1", "-1", "@SUM(1)", "＝1", "\t=1", "\r=1", "\n=1"] {
            assert!(name(formula).starts_with(['\'', '\\']), "{formula:?}");
        }
        assert_eq!(name("TEXCOORD0"), "TEXCOORD0");
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut sheet = Sheet::new(["vertex".to_string(), name("=HYPERLINK(\"x\"),\"\nA,B")]);
        sheet.row(["0".to_string(), "-1.5".to_string()]);
        assert_eq!(sheet.into_bytes(), b"vertex,\"'=HYPERLINK(\"\"x\"\"),\"\"\\nA,B\"\n0,-1.5\n");
    }
}
