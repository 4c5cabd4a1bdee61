//! The tables of `docs/support.md` are what the tables of parts and opcodes say, and what lowering refuses; and that is
//! all there is: an opcode runs and has a file that says what it computes, or is refused by name.
//!
//! `BLESS=1 cargo test --all-features --test support_matrix` rewrites them.

mod support;

use shaderjit::container::dxbc::FourCc;
use shaderjit::error::{Error, LowerError};
use shaderjit::frontend::{pica, sm4, spirv};
use shaderjit::{CompileOptions, Config, Engine, Shader};
use std::fmt::Write;
use support::opcodes;

/// What a part is read as, by the name of the type that holds it.
fn parts() -> String {
    let mut table = "| part | holds | read as |\n|---|---|---|\n".to_string();
    for name in FourCc::KNOWN {
        let content = match name.content_type() {
            "Opaque" => "bytes".to_string(),
            content => format!("`{content}`"),
        };
        writeln!(table, "| `{name}` | {} | {content} |", name.meaning()).unwrap();
    }
    table
}

/// Whether lowering refuses an opcode as unsupported.
fn refuses<T>(lowered: Result<T, LowerError>, mnemonic: &str) -> bool {
    matches!(lowered, Err(LowerError::Unsupported { what, .. }) if what == mnemonic)
}

fn sm4_opcodes() -> String {
    use sm4::Group;
    let mut table = "| group | run | read only |\n|---|---|---|\n".to_string();
    let (mut run, mut read) = (0, 0);
    let groups = [
        (Group::Float, "float"),
        (Group::Bit, "bit"),
        (Group::Int, "int"),
        (Group::Uint, "uint"),
        (Group::Double, "double"),
        (Group::Flow, "flow"),
        (Group::Texture, "texture"),
        (Group::Memory, "memory"),
        (Group::Atomic, "atomic"),
        (Group::TiledFeedback, "tiled feedback"),
        (Group::Debug, "debug"),
    ];
    for (group, name) in groups {
        let opcodes = sm4::Opcode::ALL.iter().copied().filter(|opcode| opcode.group() == group);
        let (runs, reads): (Vec<_>, Vec<_>) = opcodes.partition(|&opcode| opcodes::runs(opcode));
        let [runs, reads] =
            [runs, reads].map(|opcodes| opcodes.into_iter().map(sm4::Opcode::mnemonic).collect::<Vec<_>>());
        run += runs.len();
        read += reads.len();
        writeln!(table, "| {name} | {} | {} |", list(&runs), list(&reads)).unwrap();
    }
    let data = sm4::Opcode::ALL.len() - run - read;
    writeln!(table, "\n{run} opcodes run, {read} are read only, {data} are declarations and custom data.").unwrap();
    table
}

fn pica_opcodes() -> String {
    let runs = |opcode: &pica::opcode::Opcode| {
        let end = pica::opcode::Opcode::End.picture().fixed();
        let program = pica::decode(&[opcode.picture().fixed(), end], &[0xf], 0).unwrap();
        let (entry, options) = (pica::operand::Address(0), pica::LowerOptions::default());
        // A geometry shader has every opcode.
        assert!(!refuses(pica::lower_geometry(&program, entry, [0xf; 16], &options), opcode.mnemonic()), "{opcode:?}");
        !refuses(pica::lower(&program, entry, &options), opcode.mnemonic())
    };
    let (runs, reads): (Vec<_>, Vec<_>) = pica::opcode::Opcode::ALL.iter().copied().partition(runs);
    let [runs, reads] = [runs, reads].map(|opcodes| opcodes.into_iter().map(|it| it.mnemonic()).collect::<Vec<_>>());
    let head = "| run in vertex and geometry executables | in geometry executables alone |\n|---|---|";
    format!("{head}\n| {} | {} |\n", list(&runs), list(&reads))
}

/// The opcodes of SPIR-V that run, by class, and the instructions of GLSL.std.450 that do not.
fn spirv_opcodes() -> String {
    use spirv::opcode::{Class, EXTENDED, RUNS, class};
    let mut table = "| class | run |\n|---|---|\n".to_string();
    for wanted in Class::ALL {
        let opcodes = RUNS.iter().filter(|&&opcode| class(opcode) == Some(wanted));
        let names: Vec<String> = opcodes.map(|opcode| format!("{opcode:?}")).collect();
        writeln!(table, "| {} | `{}` |", wanted.name(), names.join(" ")).unwrap();
    }
    let names: Vec<String> = EXTENDED.iter().map(|opcode| format!("{opcode:?}")).collect();
    writeln!(table, "| GLSL.std.450 | `{}` |", names.join(" ")).unwrap();
    writeln!(
        table,
        "\n{} opcodes and {} instructions of GLSL.std.450 run. All others that SPIR-V 1.6 and its extensions have are read \
         and printed, and refused by name where they would run.",
        RUNS.len(),
        EXTENDED.len()
    )
    .unwrap();
    table
}

/// Names in one pair of backticks.
fn list(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("`{}`", names.join(" ")) }
}

#[test]
fn the_support_matrix_is_what_the_tables_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/support.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut expected = text.clone();
    let tables = [
        ("parts", parts()),
        ("sm4 opcodes", sm4_opcodes()),
        ("pica opcodes", pica_opcodes()),
        ("spirv opcodes", spirv_opcodes()),
    ];
    for (name, table) in tables {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = expected.find(&begin).unwrap_or_else(|| panic!("docs/support.md has no {begin}")) + begin.len();
        let length = expected[start..].find(&end).unwrap_or_else(|| panic!("docs/support.md has no {end}"));
        expected.replace_range(start..start + length, &format!("\n{table}\n"));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, expected).unwrap();
    } else {
        assert!(text == expected, "docs/support.md is out of date: BLESS=1 cargo test --test support_matrix");
    }
}

#[test]
fn every_sm4_opcode_is_executed_or_refused_by_name() {
    let engine = Engine::new(Config::default()).unwrap();
    let (mut executed, mut refused, mut declarations) = (0, 0, 0);
    for &opcode in sm4::Opcode::ALL {
        if !opcodes::is_instruction(&opcode) {
            declarations += 1;
            continue;
        }
        // The file is run by the tests of files.
        if opcodes::file(opcode).exists() {
            assert!(opcodes::runs(opcode), "{opcode} has a file and is refused");
            executed += 1;
            continue;
        }
        assert!(!opcodes::runs(opcode), "{opcode} runs and has no file");
        let source = opcodes::program_with(opcode);
        let shader = Shader::parse(&source.container()).unwrap();
        let Err(Error::Lower(LowerError::Unsupported { what, offset })) =
            engine.compile(&shader, &CompileOptions::default())
        else {
            panic!("{opcode} is not refused as unsupported");
        };
        assert_eq!((what.as_str(), offset), (opcode.mnemonic(), source.offset(opcode)));
        refused += 1;
    }
    let all = sm4::Opcode::ALL.len();
    println!(
        "{executed} of {all} opcodes executed, {refused} refused by a typed error, {declarations} declarations and data"
    );
    assert_eq!(executed + refused + declarations, all);
}
