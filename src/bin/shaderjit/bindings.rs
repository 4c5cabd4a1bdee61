//! What a shader is run on: the options that say it, and the bytes they name.

use crate::generate::Random;
use crate::options::{ConstantBuffer, Source};
use crate::report::{Failure, message};
use crate::resources::{BoundResource, ShaderResource, ShaderSampler};
use shaderjit::error::CallError;
use shaderjit::{Call, CompiledShader, PicaUniforms, ShaderFormat, VertexBufferView};
use shaderjit::{ComponentType, UniformKind};

#[derive(clap::Args)]
pub struct BindArgs {
    /// Vertices, little-endian: 16 bytes for each element of the input signature, vertex and instance number left out
    /// (DXBC); v0 to v15 (PICA). Or pixels: every element, then SV_Coverage and SV_InnerCoverage if declared
    #[arg(long, value_name = "RAW")]
    input: Option<Source>,
    /// A constant buffer's bytes. Of cb3 in register space 2 (shader model 5.1), SLOT is 3:2, here as in the other
    /// options
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
    /// PICA uniforms, 1556 bytes: c0 to c95 as floats, i0 to i3 as bytes, the bools as a 32-bit mask
    #[arg(long, value_name = "RAW")]
    uniforms: Option<Source>,
    /// Number of vertices [default: as many as the input holds]
    #[arg(long, value_name = "N")]
    count: Option<u32>,
    /// What is not bound reads 0 instead of being an error
    #[arg(long)]
    unbound_as_zero: bool,
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
    constants: Vec<(u32, u32, Vec<u8>)>,
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
        let held = input.as_deref().map(|bytes| vertices(bytes, record.stride)).transpose()?;
        let constants = self.cb.iter().map(|cb| Ok((cb.slot, cb.space, cb.source.read()?)));
        let constants = constants.collect::<Result<Vec<_>, Failure>>()?;
        let pica = self.uniforms.as_ref().map(|source| Ok::<_, Failure>(PicaUniforms::from_bytes(&source.read()?)?));
        let resources = self.srv.iter().map(BoundResource::read).collect::<Result<_, _>>()?;
        let (pica, unbound_as_zero) = (pica.transpose()?, self.unbound_as_zero);
        let samplers = self.smp.clone();
        let mut bindings = Bindings { input, constants, resources, samplers, pica, unbound_as_zero, count: 0 };

        let made_up = match missing {
            Missing::Leave => None,
            Missing::Hostile(count, seed) => Some((count, seed, true)),
            Missing::Ordinary(count, seed) => Some((count, seed, false)),
        };
        let default = held.or(made_up.map(|(count, ..)| count));
        bindings.count = self.count.or(default).ok_or_else(|| self.no_count(code))?;
        if let Some((_, seed, hostile)) = made_up.filter(|_| !self.unbound_as_zero) {
            bindings.make_up(&mut Random::new(seed), hostile, &record, code);
        }
        Ok(bindings)
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

    /// A call with everything bound.
    pub fn call<'a>(&'a self, format: ShaderFormat, code: &'a CompiledShader) -> Result<Call<'a>, Failure> {
        let mut call = code.call();
        call.unbound_as_zero(self.unbound_as_zero);
        for (slot, space, bytes) in &self.constants {
            // One set of options may serve several compilations of a shader, of which some need less.
            if let Err(CallError::UnknownBinding { what }) = call.constant_buffer_in_space(*slot, *space, bytes) {
                message(format_args!("warning: the shader has no {what}"));
            }
        }
        for resource in &self.resources {
            match resource.bind(&mut call) {
                Err(CallError::UnknownBinding { what }) => {
                    message(format_args!("warning: the shader has no {what}"));
                }
                bound => bound?,
            }
        }
        for sampler in &self.samplers {
            match sampler.bind(&mut call) {
                Err(CallError::UnknownBinding { what }) => {
                    message(format_args!("warning: the shader has no {what}"));
                }
                bound => bound?,
            }
        }
        if let Some(uniforms) = &self.pica {
            call.pica_uniforms(uniforms);
        }
        let record = Record::new(format, code.interface().signature_inputs().len());
        for (number, element) in code.interface().signature_inputs().iter().enumerate() {
            if let Some(input) = &self.input {
                let bytes = input.get(record.offset(number, element.register)..).unwrap_or_default();
                call.input_element(number, VertexBufferView::new(code.layout().inputs[number], bytes, record.stride))?;
            }
        }
        Ok(call)
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
                UniformKind::ConstantBuffer { slot, space } if !self.has_constants(slot, space) => {
                    // Buffers that do not say their size are indexed; what lies past the end reads zero.
                    let rows = if decl.rows == 0 { 64 } else { decl.rows.min(4096) };
                    let words = (0..4 * rows).flat_map(|_| component(ComponentType::F32).to_le_bytes());
                    self.constants.push((slot, space, words.collect()));
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
        for decl in &code.interface().resources {
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
