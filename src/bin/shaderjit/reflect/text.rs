//! A JSON document as text for people: nested objects are indented, lists of flat objects are tables.

use serde::Serialize;
use serde_json::{Map, Value};
use shaderjit::printable::Printable;
use std::fmt::Write;

/// The document as text.
pub fn render(document: &impl Serialize) -> String {
    let mut out = String::new();
    match serde_json::to_value(document).expect("plain data has a JSON form") {
        Value::Object(object) => fields(&mut out, &object, 0),
        other => inline(&mut out, &other),
    }
    out
}

/// Whether a value stays on one line.
fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().all(|item| !item.is_object() && !item.is_array()),
        _ => true,
    }
}

fn fields(out: &mut String, object: &Map<String, Value>, depth: usize) {
    for (name, value) in object {
        let name = name.replace('_', " ");
        let indent = 2 * depth;
        let _ = write!(out, "{:indent$}{name}:", "");
        match value {
            Value::Array(items) if items.is_empty() => out.push_str(" none\n"),
            value if is_flat(value) => {
                out.push(' ');
                inline(out, value);
                out.push('\n');
            }
            Value::Object(object) => {
                out.push('\n');
                fields(out, object, depth + 1);
            }
            Value::Array(items) => {
                out.push('\n');
                list(out, items, depth + 1);
            }
            _ => unreachable!("the rest is flat"),
        }
    }
}

fn list(out: &mut String, items: &[Value], depth: usize) {
    let objects: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
    let Some(objects) = objects else {
        return items.iter().for_each(|item| {
            let _ = write!(out, "{:1$}", "", 2 * depth);
            inline(out, item);
            out.push('\n');
        });
    };
    if objects.iter().all(|object| object.values().all(is_flat)) {
        return table(out, &objects, depth);
    }
    for object in objects {
        let start = out.len();
        fields(out, object, depth + 1);
        // The first line of an item begins with a dash.
        out.replace_range(start + 2 * depth..start + 2 * depth + 1, "-");
    }
}

/// One row an object, one column a field that any of them has.
fn table(out: &mut String, rows: &[&Map<String, Value>], depth: usize) {
    let mut columns: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let cell = |row: &Map<String, Value>, column: &String| {
        let mut text = String::new();
        if let Some(value) = row.get(column) {
            inline(&mut text, value);
        }
        if text.is_empty() { "-".to_string() } else { text }
    };
    let header = columns.iter().map(|column| column.replace('_', " ")).collect();
    let body = rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect());
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for line in &lines {
        let mut text = " ".repeat(2 * depth);
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}

fn inline(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => {
            let _ = write!(out, "{}", Printable(text));
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number == 0 { "" } else { ", " });
                inline(out, item);
            }
        }
        Value::Bool(value) => out.push_str(if *value { "yes" } else { "no" }),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use serde_json::json;

    #[test]
    fn objects_indent_and_lists_become_tables() {
        let document = json!({
            "version": 1,
            "empty": [],
            "group": [8, 4, 1],
            "inner": {"a_b": true},
            "rows": [{"name": "x", "slot": 1}, {"name": "long", "size": 16}],
            "deep": [{"name": "s", "members": [{"m": 1}]}, {"name": "t", "members": []}],
        });
        let text = "\
version: 1
empty: none
group: 8, 4, 1
inner:
  a b: yes
rows:
  name  slot  size
  x     1     -
  long  -     16
deep:
  - name: s
    members:
      m
      1
  - name: t
    members: none
";
        assert_eq!(render(&document), text);
    }
}
