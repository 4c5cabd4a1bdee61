//! What a shader is run on: the options that say it, and the bytes they name.

use crate::generate::Random;
use crate::layout::{LayoutElement, VertexLayout};
use crate::options::{ConstantBuffer, Source};
use crate::report::{Failure, message};
use crate::resources::{BoundResource, ShaderResource, ShaderSampler};
use shaderjit::error::CallError;
use shaderjit::{Call, CompiledShader, Descriptor, PicaUniforms, ShaderFormat, VertexBufferView};
use shaderjit::{ComponentType, Element, ResourceFile, UniformKind};

#[derive(clap::Args)]
pub struct BindArgs {
    /// Vertices, little-endian: 16 bytes for each element of the input signature, vertex and instance number left out
    /// (DXBC); v0 to v15 (PICA). Or pixels: every element, then SV_Coverage and SV_InnerCoverage if declared
    #[arg(long, alias = "in", value_name = "RAW")]
    input: Option<Source>,
    /// What --input looks like if it is an interleaved file: format and offset of each element, and bytes of a vertex,
    /// as in POSITION=f32x3@0,NORMAL=f32x3@12/40. Elements that are not named are not bound
    #[arg(long, value_name = "LAYOUT", requires = "input")]
    layout: Option<VertexLayout>,
    /// A constant buffer's bytes. Of cb3 in register space 2 (shader model 5.1), SLOT is 3:2, here as in the other
    /// options; of SPIR-V's binding 3 in descriptor set 2, too
    #[arg(long, value_name = "SLOT=RAW")]
    cb: Vec<ConstantBuffer>,
    /// A read-only buffer's or a texture's bytes. KIND is raw, struct:STRIDE, buf:FORMAT, or a texture such as
    /// tex2d:FORMAT:WxH or tex2darr:FORMAT:WxHxN, :LEVELS behind it if there are several
    #[arg(long, value_name = "SLOT=KIND,RAW")]
    srv: Vec<ShaderResource>,
    /// A sampler: point, linear, cmppoint or cmp, then :ADDRESS (wrap, mirror, clamp, border, mirroronce), then
    /// :COMPARISON
    #[arg(long, value_name = "SLOT=FILTER")]
    smp: Vec<ShaderSampler>,
    /// Push constants of SPIR-V
    #[arg(long, value_name = "RAW")]
    push: Option<Source>,
    /// PICA uniforms, 1556 bytes: c0 to c95 as floats, i0 to i3 as bytes, the bools as a 32-bit mask
    #[arg(long, value_name = "RAW")]
    uniforms: Option<Source>,
    /// Number of vertices [default: as many as the input holds]
    #[arg(long, value_name = "N")]
    count: Option<u32>,
    /// What is not bound reads 0 instead of being an error
    #[arg(long)]
    unbound_as_zero: bool,
    /// Warnings are errors: bindings that the shader does not have, buffers shorter than it reads, input that may be
    /// laid out otherwise, formats of another type than the input
    #[arg(long)]
    strict: bool,
}

/// What to do about inputs that the options do not name.
pub enum Missing {
    /// They stay unbound.
    Leave,
    /// So many vertices of made-up values, edges among them.
    Hostile(u32, u64),
    /// So many vertices of ordinary made-up values.
    Ordinary(u32, u64),
}

/// The bytes to bind.
pub struct Bindings {
    input: Option<Vec<u8>>,
    layout: Option<VertexLayout>,
    strict: bool,
    constants: Vec<(u32, u32, Vec<u8>)>,
    push: Option<Vec<u8>>,
    resources: Vec<BoundResource>,
    samplers: Vec<ShaderSampler>,
    pica: Option<PicaUniforms>,
    unbound_as_zero: bool,
    /// Number of vertices.
    pub count: u32,
}

/// Bytes of one vertex in raw files, and where an element lies in it.
pub struct Record {
    is_pica: bool,
    pub stride: usize,
}

impl Record {
    /// 16 registers in order (PICA), or so many elements in signature order.
    pub fn new(format: ShaderFormat, elements: usize) -> Record {
        let is_pica = format.is_pica();
        Record { is_pica, stride: 16 * if is_pica { 16 } else { elements } }
    }

    pub fn offset(&self, element: usize, register: u32) -> usize {
        16 * if self.is_pica { register as usize % 16 } else { element }
    }
}

impl BindArgs {
    /// Reads what the options name.
    pub fn read(&self, format: ShaderFormat, code: &CompiledShader, missing: Missing) -> Result<Bindings, Failure> {
        let record = Record::new(format, code.interface().signature_inputs().len());
        let input = self.input.as_ref().map(Source::read).transpose()?;
        let stride = self.layout.as_ref().map_or(record.stride, |layout| layout.stride);
        let held = input.as_deref().map(|bytes| vertices(bytes, stride)).transpose()?;
        if let (Some(bytes), None) = (&input, &self.layout) {
            self.check_guess(bytes, format, code)?;
        }
        let constants = self.cb.iter().map(|cb| Ok((cb.slot, cb.space, cb.source.read()?)));
        let constants = constants.collect::<Result<Vec<_>, Failure>>()?;
        let pica = self.uniforms.as_ref().map(|source| Ok::<_, Failure>(PicaUniforms::from_bytes(&source.read()?)?));
        let resources = self.srv.iter().map(BoundResource::read).collect::<Result<_, _>>()?;
        let (pica, unbound_as_zero) = (pica.transpose()?, self.unbound_as_zero);
        let samplers = self.smp.clone();
        let (layout, strict) = (self.layout.clone(), self.strict);
        let push = self.push.as_ref().map(Source::read).transpose()?;
        let mut bindings =
            Bindings { input, layout, strict, constants, push, resources, samplers, pica, unbound_as_zero, count: 0 };

        let made_up = match missing {
            Missing::Leave => None,
            Missing::Hostile(count, seed) => Some((count, seed, true)),
            Missing::Ordinary(count, seed) => Some((count, seed, false)),
        };
        let groups = code.interface().thread_group.map(|_| 0);
        let default = held.or(made_up.map(|(count, ..)| count)).or(groups);
        bindings.count = self.count.or(default).ok_or_else(|| self.no_count(code))?;
        if let Some((_, seed, hostile)) = made_up.filter(|_| !self.unbound_as_zero) {
            bindings.make_up(&mut Random::new(seed), hostile, &record, code);
        }
        bindings.lengthen(code)?;
        Ok(bindings)
    }

    /// A file of packed vertices may have the size of records of 16 bytes an element, too. Records have nothing in
    /// the words that an element lacks; packed vertices have other data there.
    fn check_guess(&self, bytes: &[u8], format: ShaderFormat, code: &CompiledShader) -> Result<(), Failure> {
        let elements = code.interface().signature_inputs();
        let packed: usize = elements.iter().map(|element| 4 * element.components() as usize).sum();
        let record = Record::new(format, elements.len()).stride;
        if format.is_pica() || packed == record || packed == 0 || !bytes.len().is_multiple_of(packed) {
            return Ok(());
        }
        let is_filler = |word: &[u8; 4]| matches!(u32::from_le_bytes(*word), 0 | 1 | 0x3f80_0000);
        let fills = |(row, element): (&[u8; 16], &Element)| {
            row.as_chunks().0.iter().skip(element.components() as usize).all(is_filler)
        };
        if bytes.as_chunks().0.iter().zip(elements.iter().cycle()).all(fills) {
            return Ok(());
        }
        let what = format!(
            "--input is read as {} vertices of {record} bytes, 16 for each element; if it holds {} of {packed} bytes, \
             describe them with --layout",
            bytes.len() / record,
            bytes.len() / packed
        );
        warn(self.strict, what)
    }

    fn no_count(&self, code: &CompiledShader) -> Failure {
        let inputs = code.interface().signature_inputs();
        match (0..inputs.len()).find(|&element| code.reads_input(element)) {
            Some(element) if !self.unbound_as_zero => {
                CallError::MissingBinding { what: format!("input {}", inputs[element].name()) }.into()
            }
            _ => Failure::usage("--count is needed: no input says how many vertices there are"),
        }
    }
}

/// A message, or with `--strict` an error.
fn warn(strict: bool, what: impl std::fmt::Display) -> Result<(), Failure> {
    if strict {
        return Err(Failure::input(what));
    }
    message(format_args!("warning: {what}"));
    Ok(())
}

/// How many vertices a raw file holds.
fn vertices(bytes: &[u8], stride: usize) -> Result<u32, Failure> {
    let len = bytes.len();
    if stride == 0 {
        return Err(Failure::input("the shader has no inputs to read from --input"));
    }
    if !len.is_multiple_of(stride) {
        return Err(Failure::input(format_args!(
            "{len} bytes of input are no whole number of vertices of {stride} bytes"
        )));
    }
    u32::try_from(len / stride).map_err(Failure::input)
}

/// The code may be for some bool or integer uniforms alone.
fn compiled_for(uniforms: &mut PicaUniforms, code: &CompiledShader) {
    for (decl, space) in code.interface().uniforms.iter().zip(code.function().spaces.values()) {
        match (decl.kind, &space.table) {
            (UniformKind::PicaBool, Some(rows)) => uniforms.bools = rows[0][0] as u16,
            (UniformKind::PicaInt, Some(rows)) => {
                uniforms.ints.iter_mut().zip(rows).for_each(|(int, row)| *int = row.map(|word| word as u8));
            }
            _ => {}
        }
    }
}

impl Bindings {
    /// The raw vertices, if any were given or made up.
    pub fn vertices(&self) -> &[u8] {
        self.input.as_deref().unwrap_or_default()
    }

    /// Makes up what another shader needs besides.
    pub fn complete(&mut self, seed: u64, format: ShaderFormat, code: &CompiledShader) -> Result<(), Failure> {
        if !self.unbound_as_zero {
            let record = Record::new(format, code.interface().signature_inputs().len());
            self.make_up(&mut Random::new(seed), false, &record, code);
        }
        self.lengthen(code)
    }

    /// Zeros behind constant buffers that are shorter than the shader reads.
    fn lengthen(&mut self, code: &CompiledShader) -> Result<(), Failure> {
        for (index, decl) in code.interface().uniforms.iter().enumerate() {
            let needed = code.reads_bytes(index);
            for (slot, space, bytes) in &mut self.constants {
                let is_it = [
                    UniformKind::ConstantBuffer { slot: *slot, space: *space },
                    UniformKind::Block { set: *space, binding: *slot, index: 0 },
                ];
                let is_it = is_it.contains(&decl.kind);
                if is_it && bytes.len() < needed && !self.unbound_as_zero {
                    let what = format!("constant buffer cb{slot} holds {} bytes, {needed} are read", bytes.len());
                    warn(self.strict, format_args!("{what}; the rest is zero"))?;
                    bytes.resize(needed, 0);
                }
            }
        }
        Ok(())
    }

    /// A call with everything bound.
    pub fn call<'a>(&'a self, format: ShaderFormat, code: &'a CompiledShader) -> Result<Call<'a>, Failure> {
        self.call_as((format, code), code)
    }

    /// A call of one stage of a pipeline, with what of the bindings it has, and the input if its format is given. What
    /// is not bound reads 0.
    pub fn call_of_stage<'a>(
        &'a self,
        input: Option<ShaderFormat>,
        code: &'a CompiledShader,
    ) -> Result<Call<'a>, Failure> {
        let mut call = code.call();
        call.unbound_as_zero(true);
        self.bind_uniforms(&mut call, &|bound| match bound {
            Err(CallError::UnknownBinding { .. }) => Ok(()),
            bound => Ok(bound?),
        })?;
        if let Some(format) = input {
            self.bind_input((format, code), code, &mut call)?;
        }
        Ok(call)
    }

    /// Warns of bindings that none of a pipeline's stages has.
    pub fn check_known(&self, stages: &[Option<&CompiledShader>]) -> Result<(), Failure> {
        let mut known: Option<Vec<bool>> = None;
        for code in stages.iter().flatten() {
            let mut call = code.call();
            let has = std::cell::RefCell::new(Vec::new());
            self.bind_uniforms(&mut call, &|bound| {
                has.borrow_mut().push(!matches!(bound, Err(CallError::UnknownBinding { .. })));
                Ok(())
            })?;
            let has = has.into_inner();
            known = Some(known.map_or(has.clone(), |known| known.iter().zip(&has).map(|(a, b)| a | b).collect()));
        }
        match known.unwrap_or_default().iter().filter(|&&known| !known).count() {
            0 => Ok(()),
            count => warn(self.strict, format_args!("no stage has {count} of --cb, --srv and --smp")),
        }
    }

    /// The values of a vertex's inputs, one text an element.
    pub fn inputs(&self, format: ShaderFormat, code: &CompiledShader, vertex: usize) -> Vec<String> {
        let elements = code.interface().signature_inputs();
        let record = Record::new(format, elements.len());
        let views = elements.iter().enumerate().filter(|&(number, _)| code.reads_input(number));
        let text = |(number, element): (usize, &Element)| {
            let (name, place, vertex_format) = match &self.layout {
                None => (element.name(), record.offset(number, element.register) + vertex * record.stride, None),
                Some(layout) => {
                    let of = |of: &&LayoutElement| {
                        of.semantic.eq_ignore_ascii_case(&element.semantic) && of.index == element.index
                    };
                    let of = layout.elements.iter().find(of)?;
                    (element.name(), of.offset + vertex * layout.stride, Some(of.format))
                }
            };
            let vertex_format = vertex_format.unwrap_or(code.layout().inputs[number]);
            let bits = vertex_format.decode(self.vertices().get(place..)?);
            let components = &bits[..element.components() as usize];
            let values: Vec<String> = components.iter().map(|&bits| element.ty.text(bits)).collect();
            Some(format!("{name} = {}", values.join(" ")))
        };
        views.filter_map(text).collect()
    }

    /// A call of `code` with everything bound, where the input is laid out as another shader's records are: elements
    /// are found there by their semantics.
    pub fn call_as<'a>(
        &'a self,
        (format, like): (ShaderFormat, &CompiledShader),
        code: &'a CompiledShader,
    ) -> Result<Call<'a>, Failure> {
        let mut call = code.call();
        call.unbound_as_zero(self.unbound_as_zero);
        // One set of options may serve several compilations of a shader, of which some need less.
        let known = |bound: Result<(), CallError>| match bound {
            Err(error @ CallError::UnknownBinding { .. }) => warn(self.strict, error),
            bound => Ok(bound?),
        };
        self.bind_uniforms(&mut call, &known)?;
        if let Some(uniforms) = &self.pica {
            call.pica_uniforms(uniforms);
        }
        self.bind_input((format, like), code, &mut call)?;
        Ok(call)
    }

    /// Binds constant buffers, resources and samplers; `known` says what becomes of each outcome.
    fn bind_uniforms<'a>(
        &'a self,
        call: &mut Call<'a>,
        known: &dyn Fn(Result<(), CallError>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_spirv = call.shader().interface().has_descriptors();
        for (slot, space, bytes) in &self.constants {
            known(match is_spirv {
                true => call.descriptor(*space, *slot, 0, Descriptor::Block(bytes)).map(drop),
                false => call.constant_buffer_in_space(*slot, *space, bytes).map(drop),
            })?;
        }
        if let Some(bytes) = &self.push {
            known(call.push_constants(bytes).map(drop))?;
        }
        for resource in &self.resources {
            known(resource.bind(call))?;
        }
        self.samplers.iter().try_for_each(|sampler| known(sampler.bind(call)))
    }

    fn bind_input<'a>(
        &'a self,
        (format, like): (ShaderFormat, &CompiledShader),
        code: &CompiledShader,
        call: &mut Call<'a>,
    ) -> Result<(), Failure> {
        let Some(input) = &self.input else { return Ok(()) };
        if let Some(layout) = &self.layout {
            for element in &layout.elements {
                let bytes = input.get(element.offset..).unwrap_or_default();
                let view = VertexBufferView::new(element.format, bytes, layout.stride);
                match call.reinterpret_inputs(false).input(&element.semantic, element.index, view) {
                    Err(error @ CallError::UnknownBinding { .. }) => warn(self.strict, error)?,
                    Err(error @ CallError::FormatMismatch { .. }) => {
                        warn(self.strict, format_args!("{error}; its bits are taken as they are"))?;
                        call.reinterpret_inputs(true).input(&element.semantic, element.index, view)?;
                    }
                    bound => drop(bound?),
                }
            }
            return Ok(());
        }
        let record = Record::new(format, like.interface().signature_inputs().len());
        for (number, element) in code.interface().signature_inputs().iter().enumerate() {
            let Some(place) = like.input(&element.semantic, element.index) else { continue };
            let register = like.interface().inputs[place].register;
            let bytes = input.get(record.offset(place, register)..).unwrap_or_default();
            call.input_element(number, VertexBufferView::new(code.layout().inputs[number], bytes, record.stride))?;
        }
        Ok(())
    }

    fn has_constants(&self, slot: u32, space: u32) -> bool {
        self.constants.iter().any(|&(bound_slot, bound_space, _)| (bound_slot, bound_space) == (slot, space))
    }

    /// Makes up what is not bound.
    fn make_up(&mut self, random: &mut Random, hostile: bool, record: &Record, code: &CompiledShader) {
        let mut component = |ty| if hostile { random.component(ty) } else { random.ordinary_component(ty) };
        if self.input.is_none() {
            let mut bytes = vec![0; self.count as usize * record.stride];
            for (number, element) in code.interface().signature_inputs().iter().enumerate() {
                let offset = record.offset(number, element.register);
                for vertex in bytes.chunks_mut(record.stride.max(1)) {
                    for word in vertex[offset..offset + 16].as_chunks_mut().0 {
                        *word = component(element.ty).to_le_bytes();
                    }
                }
            }
            self.input = Some(bytes);
        }
        for decl in &code.interface().uniforms {
            match decl.kind {
                UniformKind::ConstantBuffer { slot, space }
                | UniformKind::Block { set: space, binding: slot, index: 0 }
                    if !self.has_constants(slot, space) =>
                {
                    // Buffers that do not say their size are indexed; what lies past the end reads zero.
                    let rows = if decl.rows == 0 { 64 } else { decl.rows.min(4096) };
                    let words = (0..4 * rows).flat_map(|_| component(ComponentType::F32).to_le_bytes());
                    self.constants.push((slot, space, words.collect()));
                }
                UniformKind::PushConstants if self.push.is_none() => {
                    let words = (0..4 * decl.rows.min(4096)).flat_map(|_| component(ComponentType::F32).to_le_bytes());
                    self.push = Some(words.collect());
                }
                UniformKind::PicaFloat if self.pica.is_none() => {
                    let mut uniforms = PicaUniforms::default();
                    let floats = uniforms.floats.iter_mut().flatten();
                    floats.for_each(|value| *value = f32::from_bits(component(ComponentType::F32)));
                    uniforms.ints.iter_mut().flatten().for_each(|value| *value = component(ComponentType::U32) as u8);
                    uniforms.bools = component(ComponentType::U32) as u16;
                    compiled_for(&mut uniforms, code);
                    self.pica = Some(uniforms);
                }
                _ => {}
            }
        }
        let read = code.interface().resources.iter().filter(|decl| decl.file == ResourceFile::Resource);
        for decl in read {
            let is_bound = |bound: &BoundResource| (bound.slot, bound.space) == (decl.slot, decl.space);
            if !self.resources.iter().any(is_bound) {
                self.resources.push(BoundResource::made_up(decl.slot, decl.space, decl.kind, &mut component));
            }
        }
        for decl in &code.interface().samplers {
            if !self.samplers.iter().any(|sampler| sampler.is_at(decl.slot, decl.space)) {
                self.samplers.push(ShaderSampler::made_up(decl.slot, decl.space));
            }
        }
    }
}
