//! One of the two shaders of the unit: its program memory, uniforms and the registers that say how to run it.

use super::reach::reachable;
use super::upload::{Cursor, FloatUpload};
use crate::compiled::CompiledShader;
use crate::container::shbin::{Constant, Dvle, Dvlp};
use crate::engine::Engine;
use crate::error::Error;
use crate::options::CompileOptions;
use crate::pica_uniforms::PicaUniforms;
use crate::shader::Shader;
use std::sync::Arc;

/// Words of program memory.
pub const WORDS: usize = 4096;
/// Operand descriptors.
pub const DESCRIPTORS: usize = 128;

/// A shader as the hardware holds it: program memory, operand descriptors, uniforms, entry point, attributes in and
/// out.
///
/// Everything begins as zero, but every attribute goes to the input register of its number and there are 16 of them.
#[derive(Clone, Debug)]
pub struct ShaderSetup {
    words: Box<[u32; WORDS]>,
    descriptors: [u32; DESCRIPTORS],
    uniforms: PicaUniforms,
    entry: u16,
    attributes: u8,
    permutation: u64,
    output_mask: u16,
    pub(super) code_port: Cursor,
    pub(super) descriptor_port: Cursor,
    pub(super) float_port: FloatUpload,
    /// The part of the program that can be reached, until something that it depends on changes.
    program: Option<Program>,
}

/// The program, for one set of emitted components.
#[derive(Clone, Debug)]
struct Program {
    emitted: Option<[u8; 16]>,
    shader: Shader,
    /// The last code of it, and what it was compiled with.
    compiled: Option<(CompileOptions, Arc<CompiledShader>)>,
}

impl Default for ShaderSetup {
    fn default() -> ShaderSetup {
        ShaderSetup {
            words: Box::new([0; WORDS]),
            descriptors: [0; DESCRIPTORS],
            uniforms: PicaUniforms::default(),
            entry: 0,
            attributes: 16,
            permutation: 0xfedc_ba98_7654_3210,
            output_mask: 0,
            code_port: Cursor::default(),
            descriptor_port: Cursor::default(),
            float_port: FloatUpload::default(),
            program: None,
        }
    }
}

impl ShaderSetup {
    /// Program memory.
    pub fn words(&self) -> &[u32; WORDS] {
        &self.words
    }

    /// Writes program memory from word `first` on. What lies past its end is lost.
    pub fn set_words(&mut self, first: usize, words: &[u32]) {
        let changed = write(&mut self.words[..], first, words);
        self.changed(changed);
    }

    /// The operand descriptors.
    pub fn descriptors(&self) -> &[u32; DESCRIPTORS] {
        &self.descriptors
    }

    /// Writes operand descriptors from `first` on. What lies past their end is lost.
    pub fn set_descriptors(&mut self, first: usize, descriptors: &[u32]) {
        let changed = write(&mut self.descriptors[..], first, descriptors);
        self.changed(changed);
    }

    /// The word the program begins at.
    pub fn entry(&self) -> u16 {
        self.entry
    }

    /// Sets the word the program begins at.
    pub fn set_entry(&mut self, entry: u16) {
        self.changed(entry != self.entry);
        self.entry = entry;
    }

    /// The uniforms. Writing `b15` here does not reset what an ended invocation of the geometry shader has set; see
    /// [`GeometryState::set_ran`](super::GeometryState::set_ran).
    pub fn uniforms(&self) -> &PicaUniforms {
        &self.uniforms
    }

    /// The uniforms, to be written. Nothing is compiled for it.
    pub fn uniforms_mut(&mut self) -> &mut PicaUniforms {
        &mut self.uniforms
    }

    /// How many input attributes count, 1 to 16.
    pub fn attributes(&self) -> usize {
        self.attributes.into()
    }

    /// Sets how many input attributes count, 1 to 16. Others become the nearest of these.
    pub fn set_attributes(&mut self, count: usize) {
        self.attributes = count.clamp(1, 16) as u8;
    }

    /// Where input attributes go: attribute `n` to `v[nibble n]`, the lowest nibble first.
    pub fn permutation(&self) -> u64 {
        self.permutation
    }

    /// Sets where input attributes go.
    pub fn set_permutation(&mut self, permutation: u64) {
        self.permutation = permutation;
    }

    /// The input register of each attribute that counts. Where two go to one register, the later one does.
    pub(super) fn input_registers(&self) -> impl Iterator<Item = usize> {
        let permutation = self.permutation;
        (0..self.attributes()).map(move |attribute| (permutation >> (4 * attribute) & 0xf) as usize)
    }

    /// The output registers that are attributes of the next stage, bit n = `on`.
    pub fn output_mask(&self) -> u16 {
        self.output_mask
    }

    /// Sets the output registers that are attributes of the next stage.
    pub fn set_output_mask(&mut self, mask: u16) {
        self.output_mask = mask;
    }

    /// The output registers of the mask, ascending.
    pub(super) fn output_registers(&self) -> impl Iterator<Item = u8> + Clone + use<> {
        let mask = self.output_mask;
        (0..16).filter(move |register| mask >> register & 1 != 0)
    }

    /// Loads an executable of a SHBIN as applications do: the whole program, the entry point, the constants and the
    /// mask of its output table, or of its header if it has none.
    pub(super) fn bind(&mut self, dvlp: &Dvlp<'_>, dvle: &Dvle<'_>) {
        self.set_words(0, &dvlp.code);
        self.set_descriptors(0, &dvlp.descriptors);
        // An entry point lies in program memory.
        self.set_entry(dvle.main as u16);
        let (_, mask) = super::OutputMap::of_table(&dvle.outputs);
        self.set_output_mask(if mask == 0 { dvle.output_mask } else { mask });
        for constant in &dvle.constants {
            match *constant {
                Constant::Bool { register, value } => {
                    let bit = 1u16.checked_shl(register.into()).unwrap_or(0);
                    self.uniforms.bools = self.uniforms.bools & !bit | if value { bit } else { 0 };
                }
                Constant::Int { register, value } => self.uniforms.ints[usize::from(register & 3)] = value,
                Constant::Float { register, .. } => {
                    let value = constant.float_value().expect("it is a float constant");
                    if let Some(row) = self.uniforms.floats.get_mut(usize::from(register)) {
                        *row = value;
                    }
                }
            }
        }
    }

    /// The program compiled. Nothing but a comparison if nothing has changed since the last time; if code has, what can
    /// be reached of it is hashed, and the engine's cache asked. `emitted`: for a geometry shader, what EMIT copies.
    pub(super) fn compiled(
        &mut self,
        engine: &Engine,
        emitted: Option<[u8; 16]>,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledShader>, Error> {
        if self.program.as_ref().is_some_and(|program| program.emitted != emitted) {
            self.program = None;
        }
        let ShaderSetup { words, descriptors, entry, program, .. } = self;
        let program = program.get_or_insert_with(|| {
            let reached = reachable(words, descriptors, *entry);
            let entry = u32::from(*entry);
            let shader = match emitted {
                Some(emitted) => Shader::from_pica_geometry(&reached.words, &reached.descriptors, entry, emitted),
                None => Shader::from_pica_words(&reached.words, &reached.descriptors, entry),
            };
            Program { emitted, shader, compiled: None }
        });
        if let Some((last, code)) = &program.compiled
            && last == options
            && engine.has_made(code)
            // Too large as a graph on the engine's thread: it is found in another form.
            && !code.is_too_large()
        {
            return Ok(Arc::clone(code));
        }
        let code = engine.compile(&program.shader, options)?;
        program.compiled = Some((options.clone(), Arc::clone(&code)));
        Ok(code)
    }

    /// The code that ran last.
    #[cfg(test)]
    pub(super) fn last_code(&self) -> Option<&CompiledShader> {
        Some(&self.program.as_ref()?.compiled.as_ref()?.1)
    }

    fn changed(&mut self, changed: bool) {
        if changed {
            self.program = None;
        }
    }
}

/// Writes some words; whether any of them was another before.
fn write(to: &mut [u32], first: usize, from: &[u32]) -> bool {
    let mut changed = false;
    for (to, &from) in to.iter_mut().skip(first).zip(from) {
        changed |= *to != from;
        *to = from;
    }
    changed
}
