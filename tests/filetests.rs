//! Runs `tests/filetests`: each file is a test, text in and text out. `README.md` in that folder has the forms of the
//! files. `BLESS=1 cargo test --all-features --test filetests` rewrites expected text; look at what changed.

#[path = "filetests/run_line.rs"]
mod run_line;
#[path = "filetests/sm4.rs"]
mod sm4;
mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use run_line::RunLine;
use shaderjit::VertexFormat;
use shaderjit::jit::{CodegenOptions, Layout, plan};
use shaderjit_ir::batch::{self, BatchProgram};
use shaderjit_ir::function::Function;
use shaderjit_ir::op::{Memory, Op};
use shaderjit_ir::parse::parse_module;
use shaderjit_ir::pass::{self, ExpandOptions, PassError};
use shaderjit_ir::verify::{Rule, Verified, verify};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A pass as a test names it.
type Pass = fn(&mut Function) -> Result<(), PassError>;

macro_rules! total {
    ($( $name:ident )*) => { [$( (stringify!($name), (|func| {
            pass::$name(func);
            Ok(())
        }) as Pass), )*] };
}

/// The passes a `pass` test can name that always succeed.
const TOTAL_PASSES: [(&str, Pass); 13] = total!(carry dce fields fold gvn if_convert merge_returns ranges remove_unreachable retype simplify_params straighten thread);

/// The others.
const PASSES: [(&str, Pass); 3] = [
    ("expand", |func| {
        pass::expand(func, &ExpandOptions { fused: true });
        Ok(())
    }),
    ("lockstep", pass::lockstep),
    ("make_reducible", pass::make_reducible),
];

const SEPARATOR: &str = "; ---\n";

/// The command line, if it was built.
const COMMAND: Option<&str> = if cfg!(feature = "cli") { option_env!("CARGO_BIN_EXE_shaderjit") } else { None };

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let mut trials = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(&root).expect("the files were found below it").display().to_string();
        let path = path.clone();
        if extension(&path) == Some("op") {
            trials.push(Trial::test(name, move || sm4::check(&path)));
            continue;
        }
        let cannot_run = COMMAND.is_none() && extension(&path) == Some("txt");
        trials.push(Trial::test(name, move || TestFile::read(&path)?.check()).with_ignored_flag(cannot_run));
    }
    trials.push(Trial::test("every opcode that runs has a file", sm4::every_opcode_has_a_file));
    paths.retain(|path| extension(path) == Some("ir"));
    let files = paths.clone();
    trials.push(Trial::test("every op has a run test", move || every_op_runs(&files)));
    trials.push(Trial::test("every rule has a verify test", move || every_rule_breaks(&paths)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder of the tests can be read");
    for entry in entries {
        let path = entry.expect("the folder of the tests can be read").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if matches!(extension(&path), Some("ir" | "op" | "txt")) {
            paths.push(path);
        }
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// What `shaderjit` prints when it is run with these arguments.
fn run_command(arguments: &str) -> Result<String, Failed> {
    let command = COMMAND.ok_or("the command line was not built")?;
    let arguments = arguments.split_whitespace();
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(command).args(arguments).current_dir(root).stdin(Stdio::null()).output()?;
    match output.status.code() {
        Some(0) => Ok(String::from_utf8(output.stdout)?),
        Some(code) => Ok(format!("exit code {code}\n{}", String::from_utf8(output.stderr)?)),
        None => Err("it was killed".into()),
    }
}

/// One file in its parts.
struct TestFile {
    path: PathBuf,
    mode: String,
    input: String,
    expected: Option<String>,
}

impl TestFile {
    fn read(path: &Path) -> Result<TestFile, Failed> {
        let text = std::fs::read_to_string(path)?;
        let first = text.lines().next().unwrap_or_default();
        let (prefix, missing) = match extension(path) {
            Some("txt") => ("; ", "the first line is not `; run: ARGUMENTS`"),
            _ => ("; test: ", "the first line is not `; test: MODE`"),
        };
        let mode = first.strip_prefix(prefix).ok_or(missing)?.trim().to_string();
        let (input, expected) = match text.split_once(SEPARATOR) {
            Some((input, expected)) => (input.to_string(), Some(expected.to_string())),
            None => (text.clone(), None),
        };
        Ok(TestFile { path: path.to_path_buf(), mode, input, expected })
    }

    /// The functions; whatever the mode, their text must read back.
    fn functions(&self) -> Result<Vec<Function>, Failed> {
        let functions = parse_module(&self.input)?;
        let text = text_of(&functions);
        if parse_module(&text).is_ok_and(|again| again == functions) {
            Ok(functions)
        } else {
            Err(format!("the text does not read back:\n{text}").into())
        }
    }

    fn check(&self) -> Result<(), Failed> {
        match self.mode.split_once(' ').unwrap_or((&self.mode, "")) {
            ("print", "") => self.check_print(),
            ("verify", "") => self.check_text(&self.functions()?.iter().map(verdict).collect::<String>()),
            ("run", "") => self.check_runs(),
            ("run:", arguments) => self.check_text(&run_command(arguments)?),
            ("program", "") => self.check_text(&self.read_programs()?),
            ("batch", layout) => self.check_text(&self.programs(layout)?),
            ("pass", names) => self.check_text(&self.after_passes(names)?),
            _ => Err(format!("mode `{}`: expected run, pass, batch, program, verify or print", self.mode).into()),
        }
    }

    /// Compares with the expected part, or writes it.
    fn check_text(&self, actual: &str) -> Result<(), Failed> {
        if self.expected.as_deref() == Some(actual) {
            return Ok(());
        }
        if std::env::var_os("BLESS").is_some_and(|bless| bless == "1") {
            let input = self.input.trim_end();
            return Ok(std::fs::write(&self.path, format!("{input}\n\n{SEPARATOR}{actual}"))?);
        }
        Err(difference(self.expected.as_deref().unwrap_or_default(), actual).into())
    }

    fn check_print(&self) -> Result<(), Failed> {
        let actual = text_of(&self.functions()?);
        if self.expected.is_some() {
            return self.check_text(&actual);
        }
        let is_code = |line: &&str| !line.starts_with(';') && !line.is_empty();
        let expected: String = self.input.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect();
        let actual: String = actual.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect();
        if actual == expected { Ok(()) } else { Err(difference(&expected, &actual).into()) }
    }

    fn after_passes(&self, names: &str) -> Result<String, Failed> {
        let mut functions = self.functions()?;
        for func in &mut functions {
            verify(func)?;
            for name in names.split(',').map(str::trim) {
                let pass = PASSES.iter().chain(&TOTAL_PASSES).find(|(pass, _)| *pass == name);
                let (_, pass) = pass.ok_or_else(|| format!("there is no pass `{name}`"))?;
                pass(func)?;
                verify(func).map_err(|errors| format!("after {name}:\n{errors}\n{func}"))?;
            }
        }
        Ok(text_of(&functions))
    }

    /// The functions, which are in lockstep form, as batch programs for a layout: `inputs` and the format of each
    /// element, `outputs` and how many components of each are stored. A number is a format of so many floats. In front
    /// of them, a pass, and `lanes` and how many a wave has.
    fn programs(&self, layout: &str) -> Result<String, Failed> {
        let (inputs, outputs) = layout.split_once("outputs").ok_or("`inputs FORMAT… outputs N…` is missing")?;
        let (pass, inputs) = inputs.split_once("inputs").ok_or("`inputs` is missing")?;
        let (pass, lanes) = pass.split_once("lanes").unwrap_or((pass, "4"));
        let options = match lanes.trim().parse::<u8>()? {
            16 => CodegenOptions { lanes: 16, vectors: 1 },
            lanes => CodegenOptions::of_128_bits(lanes / 4),
        };
        let pass = match pass.trim() {
            "" => batch::Pass::LAST,
            name => batch::Pass::from_name(name).ok_or_else(|| format!("there is no pass `{name}`"))?,
        };
        let format = |name: &str| {
            let format = VertexFormat::from_name(name).or_else(|| VertexFormat::from_name(&format!("f32x{name}")));
            format.ok_or_else(|| format!("there is no format `{name}`"))
        };
        let layout = Layout {
            inputs: inputs.split_whitespace().map(format).collect::<Result<_, _>>()?,
            outputs: outputs.split_whitespace().map(str::parse).collect::<Result<_, _>>()?,
        };
        let mut programs = Vec::new();
        for func in self.functions()? {
            let text = plan(&Verified::new(func)?, &layout, &options, pass)?.to_string();
            let again = BatchProgram::parse(&text)?.to_string();
            if without_comments(&again) != without_comments(&text) {
                return Err(format!("the program does not read back:\n{}", difference(&text, &again)).into());
            }
            programs.push(text);
        }
        Ok(programs.join("\n"))
    }

    /// What there is to be said of programs as they stand: their text, or the rules they break.
    fn read_programs(&self) -> Result<String, Failed> {
        let mut verdicts = String::new();
        for text in self.input.split_inclusive("\n}\n").filter(|text| text.contains("function")) {
            match BatchProgram::parse(text) {
                Ok(program) => verdicts += &program.to_string(),
                Err(error) => verdicts += &format!("{error}\n"),
            }
        }
        Ok(verdicts)
    }

    /// Each function and its run lines. A line belongs to the function before it.
    fn check_runs(&self) -> Result<(), Failed> {
        let mut functions = self.functions()?.into_iter();
        let mut current = None;
        let (mut runs, mut failures) = (0, String::new());
        for (number, line) in self.input.lines().enumerate() {
            if line.starts_with("function ") {
                let func = functions.next().ok_or("a line begins with `function` but no function does")?;
                verify(&func)?;
                current = Some(func);
            }
            let Some(text) = line.strip_prefix("; run:") else { continue };
            let func = current.as_ref().ok_or("a run line before the first function")?;
            let run = RunLine::parse(text, func).map_err(|error| format!("line {}: {error}", number + 1))?;
            for (engine, run_engine) in run_line::ENGINES {
                if let Err(found) = run.compare(&run_engine(func, &run)) {
                    failures += &format!("line {} on the {engine}:\n {text}\n found {found}\n", number + 1);
                }
            }
            runs += 1;
        }
        match (runs, failures.is_empty()) {
            (0, _) => Err("there are no run lines".into()),
            (_, false) => Err(failures.into()),
            (_, true) => Ok(()),
        }
    }
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with(';')).flat_map(|line| [line, "\n"]).collect()
}

fn text_of(functions: &[Function]) -> String {
    functions.iter().map(Function::to_string).collect::<Vec<_>>().join("\n")
}

/// What the verifier says of a function, under its name.
fn verdict(func: &Function) -> String {
    match verify(func) {
        Ok(()) => format!("{:?} is valid\n", func.name),
        Err(errors) => {
            let errors: String = errors.0.iter().map(|error| format!("    {error}\n")).collect();
            format!("{:?} is not:\n{errors}", func.name)
        }
    }
}

/// Both texts from their first different line on.
fn difference(expected: &str, actual: &str) -> String {
    let same = expected.lines().zip(actual.lines()).take_while(|(expected, actual)| expected == actual).count();
    let rest = |text: &str| text.lines().skip(same).flat_map(|line| ["  ", line, "\n"]).collect::<String>();
    format!(
        "line {} of the output differs (BLESS=1 accepts it)\nexpected\n{}found\n{}",
        same + 1,
        rest(expected),
        rest(actual)
    )
}

/// The files of one mode.
fn files_of(paths: &[PathBuf], mode: &str) -> Result<Vec<TestFile>, Failed> {
    let files = paths.iter().map(|path| TestFile::read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(files.into_iter().filter(|file| file.mode == mode).collect())
}

fn every_op_runs(paths: &[PathBuf]) -> Result<(), Failed> {
    // Planning makes those of calls, of tiles and for some machines; no function has them by itself.
    let is_planned = |op: &Op| matches!(op.memory(), Some(Memory::Call | Memory::Worklist)) || op.is_of_machines();
    let mut missing: Vec<Op> = Op::ALL.iter().copied().filter(|op| !is_planned(op)).collect();
    for file in files_of(paths, "run")? {
        for func in file.functions()? {
            missing.retain(|op| !func.insts.values().any(|inst| inst.op == *op));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(format!("no run test has {missing:?}").into()) }
}

/// No text breaks these: the parser makes the index, the definition or the immediate that the rule asks for, or
/// refuses. The verifier's unit tests break them.
const NOT_IN_TEXT: &[Rule] =
    &[Rule::Index, Rule::Once, Rule::Target, Rule::ImmediateKind, Rule::Result, Rule::Definition, Rule::BackEndForm];

fn every_rule_breaks(paths: &[PathBuf]) -> Result<(), Failed> {
    let files = files_of(paths, "verify")?.into_iter().chain(files_of(paths, "program")?);
    let expected: String = files.filter_map(|file| file.expected).collect();
    let missing: Vec<&Rule> = Rule::ALL
        .iter()
        .filter(|rule| !NOT_IN_TEXT.contains(rule) && !expected.contains(&format!("({rule})\n")))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no verify test breaks {missing:?}").into()) }
}
