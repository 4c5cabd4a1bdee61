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
