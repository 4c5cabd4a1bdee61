//! The Direct3D 9 programs of a level-9 profile, each behind the tables that tie its registers to resources.

use std::fmt::{self, Write};

use super::{line, malformed, raw_words};
use crate::container::dxbc::{Dxbc, FourCc, Level9Program, PartContent};
use crate::disassemble::ListingOptions;
use crate::frontend::d3d9::Program;

/// The parts in the order of the listing, and what it calls them.
const PARTS: [(FourCc, &str); 3] = [(FourCc::Aon9, "Level9"), (FourCc::XNAP, "XNA Prepass"), (FourCc::XNAS, "XNA")];

pub(super) fn programs(out: &mut String, dxbc: &Dxbc<'_>, options: ListingOptions) {
    for (name, title) in PARTS {
        let Some(part) = dxbc.part(name) else { continue };
        line!(out);
        match part.content() {
            Ok(PartContent::Level9Program(level9)) => {
                tables(out, &level9);
                line!(out, "{title} shader bytecode:");
                line!(out);
                match Program::from_container(&level9) {
                    Ok(program) => program_lines(out, &program, options).expect("a String takes any text"),
                    Err(error) => malformed(out, &error),
                }
            }
            Ok(_) => unreachable!("the names are those of Direct3D 9 programs"),
            Err(error) => malformed(out, &error),
        }
    }
}

fn tables(out: &mut String, level9: &Level9Program<'_>) {
    let Level9Program { float_constants, int_constants, bool_constants, samplers, runtime_constants, .. } = level9;
    if !float_constants.is_empty() || !int_constants.is_empty() {
        line!(out, "Constant buffer to DX9 shader constant mappings:");
        line!(out);
        if !int_constants.is_empty() {
            line!(out, "Target Reg Buffer  Source Reg Component");
            line!(out, "---------- ------- ---------- ---------");
            for it in int_constants {
                line!(out, "i{:<9} cb{:<5} {:>10} {:>9}", it.register, it.buffer, it.row, it.component);
            }
            line!(out);
        }
        if !float_constants.is_empty() {
            line!(out, "Target Reg Buffer  Start Reg # of Regs        Data Conversion");
            line!(out, "---------- ------- --------- --------- ----------------------");
            for it in float_constants {
                let [x, y, z, w] = it.conversion;
                let rows = format!("c{:<9} cb{:<5} {:>9} {:>9}", it.register, it.buffer, it.row, it.count);
                line!(out, "{rows}  ({x:>4},{y:>4},{z:>4},{w:>4})");
            }
            line!(out);
        }
        line!(out);
    }
    if bool_constants.count != 0 {
        line!(out, "Truth values: {} entries of unknown size at {:#x}", bool_constants.count, bool_constants.offset);
        line!(out);
    }
    if !samplers.is_empty() {
        line!(out, "Sampler/Resource to DX9 shader sampler mappings:");
        line!(out);
        line!(out, "Target Sampler Source Sampler  Source Resource");
        line!(out, "-------------- --------------- ----------------");
        let mut sorted = samplers.clone();
        sorted.sort_by_key(|it| it.register);
        for it in sorted {
            line!(out, "s{:<13} s{:<14} t{:<16}", it.register, it.sampler, it.texture);
        }
        line!(out);
        line!(out);
    }
    if !runtime_constants.is_empty() {
        line!(out, "Runtime generated constant mappings:");
        line!(out);
        line!(out, "Target Reg                               Constant Description");
        line!(out, "---------- --------------------------------------------------");
        for it in runtime_constants {
            line!(out, "c{:<9} {:>50}", it.register, it.constant);
        }
        line!(out);
        line!(out);
    }
}

/// Blanks in front of every line of a program.
const MARGIN: usize = 4;

fn program_lines(out: &mut String, program: &Program, options: ListingOptions) -> fmt::Result {
    let offsets = if options.offsets { "            " } else { "" };
    writeln!(out, "{offsets}{:MARGIN$}{}", "", program.version)?;
    for (instruction, level, text) in program.lines() {
        if options.offsets {
            write!(out, "{:#010x}: ", instruction.offset)?;
        }
        writeln!(out, "{:width$}{text}", "", width = MARGIN + 2 * level)?;
        if options.raw {
            raw_words(out, offsets, &instruction.encode())?;
        }
    }
    writeln!(out)?;
    line!(out, "{}", program.instruction_slots());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::digest::Signing;
    use crate::container::dxbc::Builder;
    use std::path::Path;

    fn listing(dxbc: &Dxbc<'_>) -> String {
        let mut out = String::new();
        programs(&mut out, dxbc, ListingOptions::default());
        out
    }

    /// The block is the same for both compilers of the test data, and stands in the reference.
    #[test]
    fn blocks_equal_the_reference() {
        let mut count = 0;
        for (path, bytes) in crate::test_data::containers(&["dxbc"]) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some((shader, _)) = name.split_once(".fxc").filter(|_| path.to_str().unwrap().contains("ls_level9"))
            else {
                continue;
            };
            let reference = std::fs::read_to_string(path.with_file_name(format!("{shader}.fxc101.asm"))).unwrap();
            let block = listing(&Dxbc::parse(&bytes).unwrap());
            let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            assert!(trimmed(&reference).contains(&trimmed(&block)), "{}:\n{block}", path.display());
            assert!(block.contains("shader bytecode:") && block.contains("instruction slots used"), "{block}");
            count += 1;
        }
        assert_eq!(count, 12);
    }

    /// A part of `ps_2_0` without instructions, and the tables that begin behind the header.
    fn part(tables: &[(u16, &[u16])]) -> Vec<u8> {
        let mut header = Vec::new();
        let mut data = Vec::new();
        for &(count, words) in tables {
            header.extend([count, 36 + data.len() as u16].map(u16::to_le_bytes));
            data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        let tokens = 36 + data.len() as u32;
        let start = [tokens + 8, 0xffff_0200, 8, tokens].map(u32::to_le_bytes);
        let program = [0xffff_0200u32, 0xffff].map(u32::to_le_bytes);
        [start.as_flattened(), header.as_flattened(), &data, program.as_flattened()].concat()
    }

    /// The rows are those that the reference prints for other shaders.
    #[test]
    fn tables_show_conversions_and_are_sorted() {
        let floats = [13, 0, 7, 1, 0, 0, 1, 3, 1, 2, 0x202, 0x002, 1, 6, 1, 4, 0x303, 0x303];
        let ints = [2, 12, 3, 1];
        let samplers = [0x0001, 0x0001, 0x0000, 0x0000];
        let tables = [(3, &floats[..]), (1, &ints), (0, &[]), (2, &samplers), (0, &[])];
        let part = part(&tables);
        let container = Builder::new().part(FourCc::Aon9, &part).build(Signing::Retail).unwrap();
        let expected = "\
//
// Constant buffer to DX9 shader constant mappings:
//
// Target Reg Buffer  Source Reg Component
// ---------- ------- ---------- ---------
// i1         cb2             12         3
//
// Target Reg Buffer  Start Reg # of Regs        Data Conversion
// ---------- ------- --------- --------- ----------------------
// c1         cb13            0         7  ( FLT, FLT, FLT, FLT)
// c2         cb1             3         1  ( INT, INT, INT, FLT)
// c4         cb1             6         1  (UINT,UINT,UINT,UINT)
//
//
// Sampler/Resource to DX9 shader sampler mappings:
//
// Target Sampler Source Sampler  Source Resource
// -------------- --------------- ----------------
// s0             s0              t0               
// s1             s0              t1               
//
//
// Level9 shader bytecode:
//
    ps_2_0

// approximately 0 instruction slots used
";
        assert_eq!(listing(&Dxbc::parse(&container).unwrap()), expected);
    }

    #[test]
    fn programs_for_xna_follow_and_what_is_malformed_says_so() {
        let part = part(&[(0, &[][..]); 5]);
        let mut bad = part.clone();
        let last = bad.len() - 4;
        bad[last] = 0xfd;
        let builder = Builder::new().part(FourCc::XNAS, &part).part(FourCc::XNAP, &bad).part(FourCc::Aon9, &[]);
        let container = builder.build(Signing::Retail).unwrap();
        let text = listing(&Dxbc::parse(&container).unwrap());
        let comments: Vec<_> = text.lines().filter(|line| line.starts_with("// ")).collect();
        assert_eq!(
            comments,
            [
                "// Malformed part: level-9 size needs 4 bytes, 0 are left (at offset 0x9c)",
                "// XNA Prepass shader bytecode:",
                "// Malformed part: opcode is invalid: 0xfffd (at offset 0x90)",
                "// XNA shader bytecode:",
                "// approximately 0 instruction slots used",
            ]
        );
    }

    /// No part of the test data is named as those of XNA; the reference's order is by hand.
    #[test]
    fn only_level_9_has_such_programs() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
        assert_eq!(listing(&Dxbc::parse(&std::fs::read(path).unwrap()).unwrap()), "");
    }
}
