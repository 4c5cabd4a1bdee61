//! `test`: unit tests of shaders, a line a case.

use crate::cases::{Case, Cases};
use crate::json;
use crate::options::MadArgs;
use crate::progress::watched;
use crate::report::{Failure, Outcome, Report};
use crate::values::Value;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use shaderjit::printable::Printable;
use shaderjit::{Config, Engine};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toml_edit::{Array, DocumentMut, InlineTable, Item};

#[derive(clap::Args)]
pub struct Args {
    /// Files of cases. The paths in them begin at the file's folder
    #[arg(value_name = "CASES.toml", required = true)]
    files: Vec<PathBuf>,
    /// Run only cases with this in their names
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write what comes out into the files as what is expected
    #[arg(long)]
    bless: bool,
    /// Write the results as JUnit XML, which CI services read
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    mad: MadArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How a case ended.
struct Ended {
    file: String,
    name: String,
    /// What is not as expected, or why it did not run.
    wrong: Option<String>,
    time: Duration,
}

pub fn run(args: &Args) -> Outcome {
    watched(|progress| run_files(args, progress))
}

fn run_files(args: &Args, progress: &(dyn Fn(f32) + Sync)) -> Outcome {
    // Two roundings are the same on every machine.
    let engine = Engine::new(Config::default().fused_mad(args.mad.fused().unwrap_or(false)))?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| failure(path, &error));
    let files = args.files.iter().map(|file| absolute(file)).collect::<Result<Vec<_>, _>>()?;
    let junit = args.junit.as_deref().map(absolute).transpose()?;
    let mut ended = Vec::new();
    for (number, (file, shown)) in files.iter().zip(&args.files).enumerate() {
        let part = |done: f32| progress((number as f32 + done) / files.len() as f32);
        args.run_file(&engine, file, shown, &mut ended, &part)?;
    }
    if let Some(path) = junit {
        let report = as_junit(&ended).to_string().map_err(|error| failure(&path, &error))?;
        std::fs::write(&path, report).map_err(|error| failure(&path, &error))?;
    }
    let failed = ended.iter().filter(|ended| ended.wrong.is_some()).count();
    let report = if args.json { as_json(&ended) } else { Report::text(text(&ended, failed)) };
    Ok(if failed > 0 { report.invalid() } else { report })
}

fn failure(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format_args!("{}: {error}", path.display()))
}

impl Args {
    fn run_file(
        &self,
        engine: &Engine,
        file: &Path,
        shown: &Path,
        ended: &mut Vec<Ended>,
        progress: &dyn Fn(f32),
    ) -> Result<(), Failure> {
        let text = std::fs::read_to_string(file).map_err(|error| failure(shown, &error))?;
        let cases: Cases = toml_edit::de::from_str(&text).map_err(|error| failure(shown, &error))?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        std::env::set_current_dir(folder).map_err(|error| failure(folder, &error))?;
        let mut document: DocumentMut = text.parse().map_err(|error| failure(shown, &error))?;
        let is_asked = |case: &Case| self.filter.as_ref().is_none_or(|filter| case.name.contains(filter));
        let mut is_changed = false;
        for (number, case) in cases.cases.iter().enumerate().filter(|(_, case)| is_asked(case)) {
            progress(number as f32 / cases.cases.len() as f32);
            let begin = Instant::now();
            let wrong = match cases.run(case, engine) {
                Err(Failure::Input(what) | Failure::Usage(what)) => Some(what),
                Ok(found) => match cases.judge(case, &found) {
                    Err(_) if self.bless => {
                        bless(&mut document, number, case, found.values());
                        is_changed = true;
                        None
                    }
                    judged => judged.err(),
                },
            };
            let (file, name) = (shown.display().to_string(), case.name.clone());
            ended.push(Ended { file, name, wrong, time: begin.elapsed() });
        }
        if is_changed {
            std::fs::write(file, document.to_string()).map_err(|error| failure(shown, &error))?;
        }
        Ok(())
    }
}

/// Writes what a case gave: everything, or what it already expects something of.
fn bless(document: &mut DocumentMut, number: usize, case: &Case, values: Vec<(String, Value)>) {
    let case_table = document["case"].as_array_of_tables_mut().and_then(|cases| cases.get_mut(number));
    let table = case_table.expect("the document has been read as one with these cases");
    if !table.contains_key("expect") {
        table["expect"] = Item::Value(InlineTable::new().into());
    }
    let expect = table["expect"].as_table_like_mut().expect("it has been read as a table");
    let is_named = |name: &String, wanted: &String| {
        name.eq_ignore_ascii_case(wanted)
            || name.strip_suffix('0').is_some_and(|name| name.eq_ignore_ascii_case(wanted))
    };
    for (name, value) in values {
        let key = case.expect.keys().find(|wanted| is_named(&name, wanted));
        if key.is_some() || case.expect.is_empty() {
            expect.insert(key.unwrap_or(&name), Item::Value(as_toml(&value)));
        }
    }
}

fn as_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Name(name) => name.into(),
        Value::List(values) => Array::from_iter(values.iter().map(as_toml)).into(),
    }
}

fn text(ended: &[Ended], failed: usize) -> String {
    let mut text = String::new();
    for case in ended {
        let name = Printable(&case.name);
        let _ = match &case.wrong {
            None => writeln!(text, "ok    {name}"),
            Some(what) => writeln!(text, "FAIL  {name}: {}", Printable(what)),
        };
    }
    let _ = writeln!(text, "{} passed, {failed} failed", ended.len() - failed);
    text
}

fn as_json(ended: &[Ended]) -> Report {
    #[derive(Serialize)]
    struct JsonCase<'a> {
        file: &'a str,
        name: &'a str,
        passed: bool,
        wrong: Option<&'a str>,
    }
    let cases: Vec<JsonCase<'_>> = ended
        .iter()
        .map(|Ended { file, name, wrong, .. }| JsonCase {
            file,
            name,
            passed: wrong.is_none(),
            wrong: wrong.as_deref(),
        })
        .collect();
    Report::bytes(json::pretty(&cases))
}

/// A suite a file.
fn as_junit(ended: &[Ended]) -> Junit {
    let mut report = Junit::new("shaderjit test");
    for of_file in ended.chunk_by(|a, b| a.file == b.file) {
        let mut suite = TestSuite::new(of_file[0].file.clone());
        for ended in of_file {
            let status = match &ended.wrong {
                None => TestCaseStatus::success(),
                Some(what) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(what.clone());
                    status
                }
            };
            let mut case = TestCase::new(ended.name.clone(), status);
            case.set_time(ended.time);
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report
}
