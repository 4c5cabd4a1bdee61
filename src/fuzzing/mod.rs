//! The promises of this crate as checks, each shared by a fuzz target and by `cargo test`.
//!
//! A check panics where a promise is broken and returns otherwise. Feature `fuzzing`.

mod differential;
mod fence;
mod groups;
mod part;
mod passes;
mod pica_run;
mod random;
mod raster;
mod sm5;
mod spirv;
mod waves;
mod way;

pub use differential::{DifferentialCase, differential};
pub use fence::{fenced, is_fenced};
pub use groups::{GroupCase, groups};
pub use part::container_part;
pub use passes::{FunctionCase, passes};
pub use pica_run::{PicaRunCase, pica_run};
pub use raster::{RasterCase, raster};
pub use sm5::{Sm5Case, sm5};
pub use spirv::{SpirvCase, SpirvMadeCase, spirv, spirv_made};
pub use way::Way;

use crate::Shader;
use crate::container::Container;
use crate::frontend::{Lowered, pica, sm4};
use crate::pipeline::{self, PassOptions};
use crate::scan::scan;
use crate::validate::validate;
use arbitrary::Arbitrary;
use passes::assert_valid;
use shaderjit_ir::parse::parse;
use shaderjit_ir::pass::PassError;
use shaderjit_ir::verify::verify;

/// Any bytes are a shader or a typed error; every part of a container parses or is an error of its own, and every
/// program of it lists and lowers to a valid function, or is a typed error. What is wrong with it can be said, and
/// containers in it are found.
pub fn container(bytes: &[u8]) {
    if let Ok(container) = Container::parse(bytes) {
        container.errors();
        container.listing();
        validate(&container);
    }
    let mut end = 0;
    for found in scan(bytes) {
        assert!(found.offset >= end && Container::parse(found.bytes(bytes)).is_ok(), "{found:?} overlaps or is none");
        end = found.offset + found.length;
    }
    let Ok(shader) = Shader::parse(bytes) else { return };
    for entry in 0..shader.entry_count().min(4) {
        let _ = shader.disassemble(entry, crate::ListingOptions { offsets: true, raw: true });
        if let Ok(lowered) = shader.lower_for(&crate::CompileOptions::default().entry(entry)) {
            all_passes(lowered);
        }
    }
}

/// What a front end makes is valid and stays so through all passes, or a pass refuses it.
fn all_passes(lowered: Lowered) {
    assert_valid(&lowered.function);
    let outcome = pipeline::run(lowered.function, &PassOptions { fused: true, guards: true }, None);
    assert!(!matches!(outcome, Err(PassError::Invalid(_))), "{outcome:?}");
}

/// Any tokens decode or are a typed error; what decodes is listed, and encodes to the same tokens.
pub fn sm4(tokens: &[u8]) {
    if let Ok(program) = sm4::Program::decode(tokens, 0) {
        let _ = program.to_string();
        let encoded: Vec<u8> = program.encode().into_iter().flat_map(u32::to_le_bytes).collect();
        assert!(tokens.starts_with(&encoded), "decoding and encoding changed\n{program}");
    }
}

/// Any words decode and are encoded again; what is reachable lowers to a valid function or is a typed error.
pub fn pica(input: &PicaCase) {
    let Ok(program) = pica::decode(&input.words, &input.descriptors, 0) else { return };
    assert!(program.words().eq(input.words.iter().copied()), "encoding changed the words");
    let _ = program.to_string();
    if let Ok(lowered) = pica::lower(&program, pica::operand::Address(input.entry), &pica::LowerOptions::default()) {
        all_passes(lowered);
    }
}

/// A PICA200 program of any words.
#[derive(Debug, Arbitrary)]
pub struct PicaCase {
    /// Instruction words.
    pub words: Vec<u32>,
    /// Operand descriptors.
    pub descriptors: Vec<u32>,
    /// Where it starts.
    pub entry: u16,
}

/// Any text parses or is an error with a position; what parses and is valid prints and reads back as itself.
pub fn ir_text(text: &str) {
    let Ok(func) = parse(text) else { return };
    if verify(&func).is_ok() {
        assert_eq!(parse(&func.to_string()).as_ref(), Ok(&func), "printing and parsing changed\n{func}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::FourCc;

    /// Runs a check on generated cases for a second or two.
    fn smoke<T: for<'a> Arbitrary<'a>>(check: fn(&T)) {
        let run = |u: &mut arbitrary::Unstructured<'_>| {
            check(&u.arbitrary()?);
            Ok(())
        };
        arbtest::arbtest(run).size_max(20_000).budget_ms(2_000);
    }

    #[test]
    fn words_decode_and_lower() {
        smoke(pica);
    }

    #[test]
    fn programs_run_as_the_rings_say() {
        smoke(pica_run);
    }

    #[test]
    fn passes_keep_what_functions_compute() {
        smoke(passes);
    }

    #[test]
    fn native_code_does_what_the_interpreter_does() {
        smoke(differential);
    }

    #[test]
    fn changed_modules_run_alike_or_are_errors() {
        smoke(spirv);
    }

    #[test]
    fn modules_of_a_grammar_run_alike() {
        smoke(spirv_made);
    }

    #[test]
    fn draws_end_whatever_is_drawn() {
        smoke(raster);
    }

    #[test]
    fn mutated_containers_end_in_a_result_or_an_error() {
        let files = ["dxbc/vs_switch/VS.vs_5_0.fxc101Od.dxbc", "pica/t18_loop_nested.shbin"];
        let files =
            files.map(|file| std::fs::read(format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap());
        let run = |u: &mut arbitrary::Unstructured<'_>| {
            let mut bytes = u.choose(&files)?.clone();
            for _ in 0..u.int_in_range(1..=8)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            bytes.truncate(u.int_in_range(0..=bytes.len() * 4)?);
            container(&bytes);
            // The digest keeps no one from the tokens.
            sm4(&bytes[bytes.len().min(32) / 4 * 4..]);
            Ok(())
        };
        arbtest::arbtest(run).budget_ms(2_000);
    }

    #[test]
    fn mutated_parts_are_read_or_an_error_inside_them() {
        let files = [
            "dxil/lib_rays/lib.lib_6_7.dxil",
            "dxil/tessellation/hull.hs_6_1.dxil",
            "dxil/root_signature/main.vs_6_0.1_1.dxil",
            "dxil/debug_information/main.ps_6_0.pdb.dxil",
            "dxil/debug_information/main.ps_6_0.embedded.dxil",
            "dxbc/ls_level9/VS.vs_4_0_level_9_1.fxc101.dxbc",
            "dxbc/ls_level9/PT.ps_4_0_level_9_3.fxc101.dxbc",
        ];
        let mut parts = Vec::new();
        for file in files {
            let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::read(path).unwrap();
            let dxbc = crate::container::Dxbc::parse(&bytes).unwrap();
            for part in dxbc.parts() {
                let name = FourCc::KNOWN.iter().position(|&known| known == part.name).unwrap();
                parts.push([&[name as u8], part.data].concat());
            }
        }
        for part in &parts {
            container_part(part);
        }
        let run = |u: &mut arbitrary::Unstructured<'_>| {
            let mut bytes = u.choose(&parts)?.clone();
            for _ in 0..u.int_in_range(1..=8)? {
                let at = u.choose_index(bytes.len())?;
                if u.ratio(1, 4)? && at + 4 <= bytes.len() {
                    let value = *u.choose(&[0, 1, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX - 7, u32::MAX])?;
                    bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
                } else {
                    bytes[at] = u.arbitrary()?;
                }
            }
            bytes.truncate(u.int_in_range(0..=bytes.len() * 4)?);
            container_part(&bytes);
            Ok(())
        };
        arbtest::arbtest(run).budget_ms(2_000);
    }
}
