//! Modules of real compilers with words changed, and modules that a grammar of ours makes: each is listed, lowered and
//! run, or is a typed error; and what runs gives the same on native code of every kind and on the interpreter.

mod generate;
mod run;

pub use generate::SpirvMadeCase;

use crate::error::{Error, LowerError};
use crate::{CompileOptions, Shader};
use arbitrary::Arbitrary;
use std::sync::OnceLock;

/// Where changes begin from, in the test data.
const MODULES: [&str; 11] = [
    "glsl/c_flow/c_flow.comp.glslang.spv",
    "glsl/c_shared/c_shared.comp.glslangOs.spv",
    "glsl/c_small/c_small.comp.glslang.spv",
    "glsl/v_attrs/v_attrs.vert.glslang.spv",
    "glsl/f_demote/f_demote.frag.glslang.spv",
    "vs_transform/VS.vs_5_0.vkd3d.spv",
    "glsl/g_fan/g_fan.geom.glslang.spv",
    "glsl/tc_lod/tc_lod.tesc.glslangOs.spv",
    "glsl/te_bez/te_bez.tese.glslang.spv",
    "tess_curve/HS.hs_5_0.vkd3d.spv",
    "tess_bezier/HS.hs_5_0.dxc.spv",
];

/// Their words, which are read once.
fn modules() -> &'static [Vec<u32>] {
    static WORDS: OnceLock<Vec<Vec<u32>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let read = |file| {
            let path = format!("{}/tests/data/spirv/{file}", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
        };
        MODULES.map(read).to_vec()
    })
}

/// A module, and what to change in it.
#[derive(Debug, Arbitrary)]
pub struct SpirvCase {
    module: u8,
    edits: Vec<Edit>,
    /// Whether words at the end are left out, and how many.
    cut: Option<u8>,
}

#[derive(Debug, Arbitrary)]
enum Edit {
    /// A word becomes another.
    Set(u16, u32),
    /// A word becomes what another is: most are ids, so this makes other programs.
    Copy(u16, u16),
    /// A word is counted up or down: another id or opcode of the neighbourhood.
    Step(u16, i8),
    /// Two words change places.
    Swap(u16, u16),
}

impl SpirvCase {
    fn bytes(&self) -> Vec<u8> {
        let mut words = modules()[usize::from(self.module) % MODULES.len()].clone();
        let count = words.len();
        let at = |place: u16| usize::from(place) % count;
        for edit in self.edits.iter().take(8) {
            match *edit {
                Edit::Set(to, word) => words[at(to)] = word,
                Edit::Copy(to, from) => words[at(to)] = words[at(from)],
                Edit::Step(to, by) => words[at(to)] = words[at(to)].wrapping_add_signed(by.into()),
                Edit::Swap(a, b) => words.swap(at(a), at(b)),
            }
        }
        words.truncate(count - self.cut.map_or(0, usize::from).min(count));
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// Any words are listed, lowered and run as on the interpreter, or are a typed error.
pub fn spirv(case: &SpirvCase) {
    let bytes = case.bytes();
    super::container(&bytes);
    if let Ok(shader) = Shader::parse(&bytes) {
        let _ = run::alike(&shader);
    }
}

/// A module of our own grammar is valid, and runs alike on every engine.
pub fn spirv_made(case: &SpirvMadeCase) {
    let bytes = case.bytes();
    super::container(&bytes);
    let shader = Shader::parse(&bytes).expect("the module is one");
    let outcome = run::alike(&shader);
    if outcome.is_err() {
        let error = shader.interface(&CompileOptions::default()).map(drop);
        // Only its size may be refused.
        assert!(matches!(error, Ok(()) | Err(Error::Lower(LowerError::Limit { .. }))), "{error:?}");
    }
}
