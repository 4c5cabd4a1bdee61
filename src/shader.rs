//! A shader as it came: the bytes, what they are, and the way to the IR.

use crate::cache::{Key, KeyBuilder};
use crate::container::Container;
use crate::container::digest::{Digest, DigestClass};
use crate::container::dxbc::{self, Dxbc, FourCc, ProgramKind};
use crate::container::shbin::ShaderKind;
use crate::container::vbc::{self, Vbc};
use crate::disassemble::{self, ListingOptions};
use crate::error::{ContainerError, DecodeError, Error, LowerError};
use crate::frontend::pica::operand::Address;
use crate::frontend::{Interface, Lowered, ResourceFile, UniformKind, pica, sm4, spirv};
use crate::interfaces;
use crate::options::CompileOptions;
use crate::stage::Stage;
use std::fmt;
use std::sync::Arc;

/// A shader container, or a raw program without one. Owns its bytes and is cheap to clone; nothing is decoded before it
/// is asked for.
///
/// ```
/// use shaderjit::{CompileOptions, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
/// let shader = Shader::parse(bytes)?;
/// assert_eq!(shader.entry(0)?.name, "vs_5_0");
/// let interface = shader.interface(&CompileOptions::default())?;
/// assert_eq!(interface.inputs[0].semantic, "POSITION");
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone)]
pub struct Shader {
    source: Arc<Source>,
    format: ShaderFormat,
    /// What the container's header has.
    digest: Option<Digest>,
    /// Hash of the source.
    content: Key,
}

enum Source {
    /// Bytes whose header [`Container::parse`] has accepted.
    Container(Box<[u8]>),
    Pica(PicaProgram),
}

/// What a 3DS emulator holds: program memory, operand descriptors, the word to begin at.
struct PicaProgram {
    words: Box<[u32]>,
    descriptors: Box<[u32]>,
    entry: u32,
    /// For a geometry shader, the components of each output register that EMIT copies.
    emitted: Option<[u8; 16]>,
}

/// The format of a shader's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShaderFormat {
    /// A `DXBC` container.
    Dxbc,
    /// A Nintendo 3DS `SHBIN` container.
    Shbin,
    /// A Nintendo 3DS unlinked shader object (`DVOJ`).
    Dvoj,
    /// The Vega engine's `VBC`: SPIR-V with reflection.
    Vbc,
    /// A bare SPIR-V module.
    Spirv,
    /// PICA200 program words without a container.
    PicaWords,
}

impl ShaderFormat {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ShaderFormat::Dxbc => "DXBC",
            ShaderFormat::Shbin => "SHBIN",
            ShaderFormat::Dvoj => "DVOJ",
            ShaderFormat::Vbc => "VBC",
            ShaderFormat::Spirv => "SPIR-V",
            ShaderFormat::PicaWords => "PICA200 words",
        }
    }

    /// Whether the program is PICA200 code.
    pub fn is_pica(self) -> bool {
        matches!(self, ShaderFormat::Shbin | ShaderFormat::Dvoj | ShaderFormat::PicaWords)
    }
}

impl From<&Container<'_>> for ShaderFormat {
    fn from(container: &Container<'_>) -> ShaderFormat {
        match container {
            Container::Dxbc(_) => ShaderFormat::Dxbc,
            Container::Shbin(_) => ShaderFormat::Shbin,
            Container::Dvoj(_) => ShaderFormat::Dvoj,
            Container::Vbc(_) => ShaderFormat::Vbc,
            Container::Spirv(_) => ShaderFormat::Spirv,
        }
    }
}

impl From<vbc::VbcStage> for Stage {
    fn from(stage: vbc::VbcStage) -> Stage {
        match stage {
            vbc::VbcStage::Vertex => Stage::Vertex,
            vbc::VbcStage::TessellationControl => Stage::Hull,
            vbc::VbcStage::TessellationEvaluation => Stage::Domain,
            vbc::VbcStage::Geometry => Stage::Geometry,
            vbc::VbcStage::Fragment => Stage::Pixel,
        }
    }
}

impl From<sm4::Stage> for Stage {
    fn from(stage: sm4::Stage) -> Stage {
        match stage {
            sm4::Stage::Vertex => Stage::Vertex,
            sm4::Stage::Pixel => Stage::Pixel,
            sm4::Stage::Geometry => Stage::Geometry,
            sm4::Stage::Hull => Stage::Hull,
            sm4::Stage::Domain => Stage::Domain,
            sm4::Stage::Compute => Stage::Compute,
        }
    }
}

impl From<ShaderKind> for Stage {
    fn from(kind: ShaderKind) -> Stage {
        match kind {
            ShaderKind::Vertex => Stage::Vertex,
            ShaderKind::Geometry => Stage::Geometry,
        }
    }
}

/// One program of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPoint {
    /// Its profile (`vs_5_0`), or its place in the container (`DVLE 0`).
    pub name: String,
    /// Its stage.
    pub stage: Stage,
}

impl Shader {
    /// Takes a container of any kind, told apart by its first bytes. Reads its header and index of parts, no more.
    ///
    /// # Errors
    /// It is no container this crate knows, or its header or index is malformed.
    pub fn parse(bytes: &[u8]) -> Result<Shader, Error> {
        let container = Container::parse(bytes)?;
        let digest = match &container {
            Container::Dxbc(dxbc) => Some(dxbc.digest()),
            _ => None,
        };
        let content = KeyBuilder::new("container").bytes(bytes).finish();
        let source = Arc::new(Source::Container(bytes.into()));
        Ok(Shader { source, format: ShaderFormat::from(&container), digest, content })
    }

    /// Takes a PICA200 program without a container: program memory from word 0, operand descriptors, and the word at
    /// which the program begins. Nothing is checked before the program is lowered.
    pub fn from_pica_words(words: &[u32], descriptors: &[u32], entry: u32) -> Shader {
        Shader::from_pica_program(words, descriptors, entry, None)
    }

    /// Takes a PICA200 geometry shader without a container. `emitted` says for each output register which components
    /// EMIT copies, bit 0 = x: all of those in the output mask, or only those that somebody looks at.
    pub fn from_pica_geometry(words: &[u32], descriptors: &[u32], entry: u32, emitted: [u8; 16]) -> Shader {
        Shader::from_pica_program(words, descriptors, entry, Some(emitted.map(|components| components & 0xf)))
    }

    fn from_pica_program(words: &[u32], descriptors: &[u32], entry: u32, emitted: Option<[u8; 16]>) -> Shader {
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut content = KeyBuilder::new("pica words");
        content.bytes(&bytes(words)).bytes(&bytes(descriptors)).number(entry.into());
        if let Some(components) = &emitted {
            content.bytes(components);
        }
        let program = PicaProgram { words: words.into(), descriptors: descriptors.into(), entry, emitted };
        let (source, format) = (Arc::new(Source::Pica(program)), ShaderFormat::PicaWords);
        Shader { source, format, digest: None, content: content.finish() }
    }

    /// The format.
    pub fn format(&self) -> ShaderFormat {
        self.format
    }

    /// The container, unless it is a raw program.
    pub fn container(&self) -> Option<Container<'_>> {
        match &*self.source {
            Source::Container(bytes) => Some(Container::parse(bytes).expect("`parse` accepted the same bytes")),
            Source::Pica(_) => None,
        }
    }

    /// The container's bytes, unless it is a raw program.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &*self.source {
            Source::Container(bytes) => Some(bytes),
            Source::Pica(_) => None,
        }
    }

    /// The digest in the container's header and what it is, for those that have one. It names a shader to people; it
    /// does not identify one.
    pub fn digest(&self) -> Option<(Digest, DigestClass)> {
        match self.container()? {
            Container::Dxbc(dxbc) => Some((dxbc.digest(), dxbc.digest_class())),
            _ => None,
        }
    }

    /// The digest alone: what it is takes a look at all bytes.
    pub(crate) fn stored_digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Number of programs: one, but in a `SHBIN` the number of its executables, in a `VBC` that of its stages, and in
    /// a SPIR-V module that of its entry points.
    pub fn entry_count(&self) -> usize {
        // Nothing has to be read for that.
        if matches!(self.format, ShaderFormat::Dxbc | ShaderFormat::Dvoj | ShaderFormat::PicaWords) {
            return 1;
        }
        match self.container() {
            Some(Container::Shbin(shbin)) => shbin.dvle_count(),
            Some(Container::Vbc(vbc)) => vbc.stage_list().count(),
            Some(Container::Spirv(file)) => match spirv_entries(file.bytes()) {
                Ok((_, entries)) => entries.len(),
                // What is wrong with it, whoever asks for the first will know.
                Err(_) => 1,
            },
            _ => 1,
        }
    }

    /// Program `index`.
    ///
    /// # Errors
    /// There is no such one, or its header is malformed.
    pub fn entry(&self, index: usize) -> Result<EntryPoint, Error> {
        self.check_entry(index)?;
        match self.container() {
            Some(Container::Dxbc(dxbc)) => {
                let program = program(&dxbc)?;
                let stage = match program.kind {
                    ProgramKind::Vertex => Stage::Vertex,
                    ProgramKind::Pixel => Stage::Pixel,
                    ProgramKind::Geometry => Stage::Geometry,
                    ProgramKind::Hull => Stage::Hull,
                    ProgramKind::Domain => Stage::Domain,
                    ProgramKind::Compute => Stage::Compute,
                };
                Ok(EntryPoint { name: program.profile(), stage })
            }
            Some(Container::Shbin(shbin)) => {
                let kind = shbin.dvle(index)?.expect("the index was checked").kind;
                Ok(EntryPoint { name: format!("DVLE {index}"), stage: kind.into() })
            }
            Some(Container::Dvoj(dvoj)) => Ok(EntryPoint { name: "DVOJ".to_string(), stage: dvoj.kind().into() }),
            Some(Container::Vbc(vbc)) => {
                let stage = vbc.stage_list().nth(index).expect("the index was checked");
                Ok(EntryPoint { name: stage.name().to_string(), stage: stage.into() })
            }
            Some(Container::Spirv(file)) => {
                let (_, entries) = spirv_entries(file.bytes())?;
                let entry = &entries[index];
                let what =
                    || LowerError::Unsupported { what: format!("{:?} shaders", entry.model), offset: entry.offset };
                Ok(EntryPoint { name: entry.name.clone(), stage: spirv::stage(entry.model).ok_or_else(what)? })
            }
            None => {
                let is_geometry = matches!(&*self.source, Source::Pica(PicaProgram { emitted: Some(_), .. }));
                let stage = if is_geometry { Stage::Geometry } else { Stage::Vertex };
                Ok(EntryPoint { name: "program".to_string(), stage })
            }
        }
    }

    /// The inputs, outputs, uniform spaces, resources and samplers of a program, without compiling it.
    /// [`CompileOptions::entry`] says which program.
    ///
    /// # Errors
    /// Something in the container or the program is malformed or not supported; the options name class instances or
    /// interface slots that the shader does not have.
    pub fn interface(&self, options: &CompileOptions) -> Result<Interface, Error> {
        Ok(self.lower_for(options)?.interface)
    }

    /// Decodes and lowers a program to the IR of one invocation. No pass has run on it yet.
    pub(crate) fn lower_for(&self, options: &CompileOptions) -> Result<Lowered, Error> {
        self.lower_with(options, false)
    }

    /// As [`lower_for`](Self::lower_for), and says what the function's values are in the program.
    pub(crate) fn lower_to_trace(&self, options: &CompileOptions) -> Result<Lowered, Error> {
        self.lower_with(options, true)
    }

    fn lower_with(&self, options: &CompileOptions, debug: bool) -> Result<Lowered, Error> {
        let pica_options = &pica::LowerOptions { debug, ..options.pica };
        let index = options.entry;
        self.check_entry(index)?;
        let container = self.container();
        let dxbc = match &container {
            Some(Container::Dxbc(dxbc)) => Some(dxbc),
            _ => None,
        };
        let classes = interfaces::resolve(dxbc, &options.classes)?;
        match (container, &*self.source) {
            (Some(Container::Dxbc(dxbc)), _) => {
                let program = sm4_program(&dxbc)?;
                let inputs = dxbc.input_signature()?.ok_or(ContainerError::MissingPart { what: "ISGN" })?;
                let outputs = dxbc.output_signature()?.ok_or(ContainerError::MissingPart { what: "OSGN" })?;
                let patch_constants = dxbc.patch_constant_signature()?;
                let patch_constants =
                    &patch_constants.unwrap_or(dxbc::Signature { part: FourCc::PCSG, elements: Vec::new() });
                let signatures = sm4::Signatures { inputs: &inputs, outputs: &outputs, patch_constants };
                let lower_options = sm4::LowerOptions { debug, ..options.sm4(classes) };
                let lowered = sm4::lower_with(&program, &signatures, &lower_options);
                let mut lowered = lowered.map_err(|error| match error {
                    LowerError::Unbound { slot, offset, .. } => {
                        LowerError::Unbound { slot, candidates: interfaces::candidates(&dxbc, slot), offset }
                    }
                    error => error,
                })?;
                name_bindings(&dxbc, &mut lowered.interface);
                Ok(lowered)
            }
            (Some(Container::Shbin(shbin)), _) => pica::lower_shbin(&shbin, index, pica_options),
            (Some(Container::Dvoj(dvoj)), _) => pica::lower_dvoj(&dvoj, pica_options),
            (Some(Container::Vbc(vbc)), _) => {
                let (module, entry) = vbc_module(&vbc, index)?;
                Ok(spirv::lower(&module, entry, &options.spirv())?)
            }
            (Some(Container::Spirv(file)), _) => {
                Ok(spirv::lower(&spirv::Module::decode(file.bytes(), 0)?, index, &options.spirv())?)
            }
            (None, Source::Pica(raw)) => {
                let program = pica::decode(&raw.words, &raw.descriptors, 0)?;
                let entry = u16::try_from(raw.entry).ok().filter(|&entry| usize::from(entry) < raw.words.len());
                let entry =
                    entry.ok_or(DecodeError::Invalid { what: "entry point", value: raw.entry.into(), offset: 0 })?;
                let entry = Address(entry);
                Ok(match raw.emitted {
                    Some(emitted) => pica::lower_geometry(&program, entry, emitted, pica_options)?,
                    None => pica::lower(&program, entry, pica_options)?,
                })
            }
            (None, Source::Container(_)) => unreachable!("`container` gives every container"),
        }
    }

    /// The instructions of program `index` as text, one a line.
    ///
    /// # Errors
    /// There is no such program, or it does not decode.
    pub fn disassemble(&self, index: usize, options: ListingOptions) -> Result<String, Error> {
        self.check_entry(index)?;
        match (self.container(), &*self.source) {
            (Some(Container::Dxbc(dxbc)), _) => disassemble::dxbc::dxbc(&dxbc, &sm4_program(&dxbc)?, options),
            (Some(Container::Shbin(shbin)), _) => disassemble::pica::shbin(&shbin, index, options),
            (Some(Container::Dvoj(dvoj)), _) => disassemble::pica::dvoj(&dvoj, options),
            (Some(Container::Vbc(vbc)), _) => {
                let vbc::SpirV { offset, bytes, .. } = vbc.stages().nth(index).expect("the index was checked")?;
                disassemble::spirv(&spirv::Module::decode(bytes, offset)?, options)
            }
            (Some(Container::Spirv(file)), _) => disassemble::spirv(&spirv::Module::decode(file.bytes(), 0)?, options),
            (None, Source::Pica(raw)) => disassemble::pica::words(&raw.words, &raw.descriptors, raw.entry, options),
            (None, Source::Container(_)) => unreachable!("`container` gives every container"),
        }
    }

    /// The hash of the bytes or words: what the cache knows the shader by.
    pub(crate) fn content(&self) -> &Key {
        &self.content
    }

    fn check_entry(&self, entry: usize) -> Result<(), Error> {
        let count = self.entry_count();
        if entry < count { Ok(()) } else { Err(Error::UnknownEntry { entry, count }) }
    }
}

/// A SPIR-V module and its entry points, of which there is at least one.
fn spirv_entries(bytes: &[u8]) -> Result<(spirv::Module, Vec<spirv::EntryPoint>), Error> {
    let module = spirv::Module::decode(bytes, 0)?;
    let entries = spirv::entry_points(&module)?;
    if entries.is_empty() {
        return Err(LowerError::Invalid { what: "the module has no entry point".to_string(), offset: 0 }.into());
    }
    Ok((module, entries))
}

/// The module of stage `index` of a `VBC`, and the number of its entry point: the first that is one of the stage.
fn vbc_module(vbc: &Vbc<'_>, index: usize) -> Result<(spirv::Module, usize), Error> {
    let vbc::SpirV { stage, offset, bytes } = vbc.stages().nth(index).expect("the index was checked")?;
    let module = spirv::Module::decode(bytes, offset)?;
    let entries = spirv::entry_points(&module)?;
    let entry = entries.iter().position(|entry| spirv::stage(entry.model) == Some(stage.into()));
    let what = || LowerError::Invalid { what: format!("no entry point is one of stage {stage}"), offset };
    Ok((module, entry.ok_or_else(what)?))
}

/// The header of the tokenized program of a `DXBC`.
fn program<'a>(dxbc: &Dxbc<'a>) -> Result<dxbc::Program<'a>, Error> {
    match (dxbc.program()?, dxbc.parts().iter().find(|part| DXIL_PARTS.contains(&part.name))) {
        (Some(program), _) => Ok(program),
        (None, Some(part)) => {
            let model = match part.data {
                [model, ..] => format!(" of shader model {}.{}", model >> 4, model & 0xf),
                [] => String::new(),
            };
            let what = format!("DXIL programs{model}, whose bitcode is not decoded");
            Err(LowerError::Unsupported { what, offset: part.offset }.into())
        }
        (None, None) => Err(ContainerError::MissingPart { what: "SHEX or SHDR" }.into()),
    }
}

/// The parts that hold a program of shader model 6.
const DXIL_PARTS: [FourCc; 2] = [FourCc::DXIL, FourCc::ILDB];

/// Adds the names that resource definitions have, if there are any; the program runs without.
fn name_bindings(dxbc: &Dxbc<'_>, interface: &mut Interface) {
    let has_buffers = interface.uniforms.iter().any(|decl| matches!(decl.kind, UniformKind::ConstantBuffer { .. }));
    if interface.resources.is_empty() && interface.samplers.is_empty() && !has_buffers {
        return;
    }
    let Ok(Some(bindings)) = dxbc.resource_bindings() else { return };
    let name = |file, slot: u32, space| {
        let binding = bindings.iter().find(|binding| {
            let place = slot.checked_sub(binding.slots.first);
            // In shader model 5.1 a range without a count has no end.
            let endless = binding.id.is_some() && binding.slots.count == 0;
            let is_inside = place.is_some_and(|place| endless || place < binding.slots.count);
            sm4::RegisterFile::of_binding(binding.input_type) == Some(file) && binding.space == space && is_inside
        });
        binding.map(|binding| binding.name.to_str().into_owned())
    };
    for resource in &mut interface.resources {
        let file = match resource.file {
            ResourceFile::Resource => sm4::RegisterFile::Resource,
            ResourceFile::UnorderedAccess | ResourceFile::Counter => sm4::RegisterFile::UnorderedAccess,
            // No container names it.
            ResourceFile::Shared { .. } => continue,
        };
        resource.name = name(file, resource.slot, resource.space);
    }
    for decl in &mut interface.uniforms {
        if let UniformKind::ConstantBuffer { slot, space } = decl.kind {
            decl.name = name(sm4::RegisterFile::ConstantBuffer, slot, space);
        }
    }
    for sampler in &mut interface.samplers {
        sampler.name = name(sm4::RegisterFile::Sampler, sampler.slot, sampler.space);
    }
}

fn sm4_program(dxbc: &Dxbc<'_>) -> Result<sm4::Program, Error> {
    let program = program(dxbc)?;
    let end = program.tokens_offset() + program.tokens.len();
    Ok(sm4::Program::decode(&dxbc.bytes()[program.offset..end], program.offset)?)
}

impl fmt::Debug for Shader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shader").field("format", &self.format()).field("entries", &self.entry_count()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{ResourceDecl, ResourceFile, ResourceKind};
    use shaderjit_ir::Resource;

    #[test]
    fn resources_have_the_names_of_their_definitions() {
        // `tex` is t0 to t3 of space 1, `bufs` t0 and all behind it of space 2; `o` is u0 and u1 of space 4.
        let bytes = include_bytes!("../tests/data/dxbc/cs_5_1_bindless/CS.cs_5_1.fxc101.dxbc");
        let dxbc = Dxbc::parse(bytes).unwrap();
        let places = [(0, 1), (3, 1), (4, 1), (0, 2), (700, 2), (0, 0), (0, 4)];
        let resources = places.map(|(slot, space)| ResourceDecl {
            resource: Resource::from_u32(0),
            file: ResourceFile::Resource,
            slot,
            space,
            index: None,
            kind: ResourceKind::RawBuffer,
            name: None,
        });
        let mut interface = Interface { resources: resources.to_vec(), ..Interface::default() };
        name_bindings(&dxbc, &mut interface);
        let names: Vec<_> = interface.resources.iter().map(|resource| resource.name.as_deref()).collect();
        assert_eq!(names, [Some("tex"), Some("tex"), None, Some("bufs"), Some("bufs"), None, None]);
    }
}
