//! README's support matrix is what the tables of parts and opcodes say, and what lowering refuses.
//!
//! `BLESS=1 cargo test --test readme` rewrites it.

use shaderjit::container::dxbc::FourCc;
use shaderjit::error::LowerError;
use shaderjit::frontend::{pica, sm4};
use std::fmt::Write;

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

/// Whether a vertex or pixel shader with this opcode runs.
fn sm4_runs(opcode: sm4::Opcode) -> bool {
    [sm4::Stage::Vertex, sm4::Stage::Pixel].into_iter().any(|stage| sm4::runs(stage, opcode))
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
        let (runs, reads): (Vec<_>, Vec<_>) = opcodes.partition(|&opcode| sm4_runs(opcode));
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
        !refuses(pica::lower(&program, pica::operand::Address(0)), opcode.mnemonic())
    };
    let (runs, reads): (Vec<_>, Vec<_>) = pica::opcode::Opcode::ALL.iter().copied().partition(runs);
    let [runs, reads] = [runs, reads].map(|opcodes| opcodes.into_iter().map(|it| it.mnemonic()).collect::<Vec<_>>());
    format!("| run in vertex executables | read only |\n|---|---|\n| {} | {} |\n", list(&runs), list(&reads))
}

/// Names in one pair of backticks.
fn list(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("`{}`", names.join(" ")) }
}

#[test]
fn the_support_matrix_is_what_the_tables_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let mut expected = readme.clone();
    for (name, table) in [("parts", parts()), ("sm4 opcodes", sm4_opcodes()), ("pica opcodes", pica_opcodes())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = expected.find(&begin).unwrap_or_else(|| panic!("README has no {begin}")) + begin.len();
        let length = expected[start..].find(&end).unwrap_or_else(|| panic!("README has no {end}"));
        expected.replace_range(start..start + length, &format!("\n{table}\n"));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, expected).unwrap();
    } else {
        assert!(readme == expected, "README's support matrix is out of date: BLESS=1 cargo test --test readme");
    }
}
