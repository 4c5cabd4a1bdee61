//! What a program is run on: everything that its interface asks for, bound, too short, or not bound at all.

use super::image::{image, sampler};
use crate::call::{BufferView, Call, VertexBufferView};
use crate::frontend::{ComponentType, Element, Interface, ResourceDecl, ResourceKind, UniformKind};
use crate::options::default_format;
use crate::texture::{BoundTextures, Image, SamplerState, TexelFormat, Texture};
use arbitrary::{Result, Unstructured};
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;
use std::fmt;
use std::ops::Range;

/// More invocations than two groups of eight lanes, so that there are whole groups and a tail.
const INVOCATIONS: u32 = 19;

/// What some invocations see.
pub struct Data {
    /// How many there are.
    pub count: u32,
    /// How many of them are left out at the start.
    pub skipped: u32,
    /// The number of the first vertex.
    pub first: u32,
    /// The number of the instance.
    pub instance: u32,
    /// For each input element four components of every invocation, of which it has the first.
    pub inputs: Vec<Vec<[u32; 4]>>,
    /// For each uniform space its bytes; none for tables, and for what is not bound.
    pub uniforms: Vec<Option<Vec<u8>>>,
    /// One entry a resource.
    pub resources: Vec<Bound>,
    /// For each sampler its state, unless it is not bound.
    pub samplers: Vec<Option<SamplerState>>,
}

/// What is bound to a resource.
#[derive(Debug)]
pub enum Bound {
    Nothing,
    /// A raw or structured buffer.
    Bytes(Vec<u8>),
    /// A typed buffer.
    Elements(Vec<u8>, TexelFormat),
    Texture(Image<'static>),
}

impl Data {
    /// Makes up what an interface asks for.
    pub fn new(seed: u64, interface: &Interface) -> Data {
        let bytes = random(seed, 1 << 14);
        Self::generate(&mut Unstructured::new(&bytes), interface).expect("choices end, but do not fail")
    }

    fn generate(u: &mut Unstructured<'_>, interface: &Interface) -> Result<Data> {
        let count = u.int_in_range(1..=INVOCATIONS)?;
        let skipped = if u.ratio(1, 4)? { u.int_in_range(0..=count - 1)? } else { 0 };
        // Numbers may pass 2^32.
        let first = if u.ratio(1, 8)? { edge_bits(u, Type::I32)? as u32 } else { u.int_in_range(0..=9)? };
        let instance = u.int_in_range(0..=3)?;
        let mut inputs = Vec::new();
        for element in &interface.inputs {
            let mut rows = Vec::new();
            let uniform = u.ratio(1, 5)?;
            for invocation in 0..count {
                let mut row = [0; 4];
                for word in &mut row {
                    *word = component(u, element.ty)?;
                }
                rows.push(if uniform && invocation != 0 { rows[0] } else { row });
            }
            inputs.push(rows);
        }
        let mut uniforms = Vec::new();
        for uniform in &interface.uniforms {
            let is_bound = uniform.kind != UniformKind::Table && !u.ratio(1, 10)?;
            uniforms.push(if is_bound { Some(words(u, 4 * uniform.rows as usize)?) } else { None });
        }
        let mut resources = Vec::new();
        for resource in &interface.resources {
            resources.push(match resource.kind {
                _ if u.ratio(1, 8)? => Bound::Nothing,
                ResourceKind::TypedBuffer { .. } => Bound::Elements(words(u, 30)?, *u.choose(TexelFormat::ALL)?),
                ResourceKind::Texture { shape, .. } => Bound::Texture(image(u, shape)?),
                _ => Bound::Bytes(words(u, 30)?),
            });
        }
        let mut samplers = Vec::new();
        for _ in &interface.samplers {
            samplers.push(if u.ratio(1, 8)? { None } else { Some(sampler(u)?) });
        }
        Ok(Data { count, skipped, first, instance, inputs, uniforms, resources, samplers })
    }

    /// The invocations that run.
    pub fn range(&self) -> Range<u32> {
        self.skipped..self.count
    }

    /// The inputs as streams of bytes, for a call to borrow.
    pub fn streams(&self, interface: &Interface) -> Vec<Vec<u8>> {
        let stream = |(element, rows): (&Element, &Vec<[u32; 4]>)| {
            let stored = rows.iter().flat_map(|row| &row[..element.components() as usize]);
            stored.flat_map(|word| word.to_le_bytes()).collect()
        };
        interface.inputs.iter().zip(&self.inputs).map(stream).collect()
    }

    /// Binds all of it.
    pub fn bind<'a>(&'a self, call: &mut Call<'a>, interface: &Interface, streams: &'a [Vec<u8>]) {
        let fits = "the data were made for the interface";
        call.unbound_as_zero(true).first_vertex_id(self.first).instance(self.instance);
        for (number, (element, bytes)) in interface.inputs.iter().zip(streams).enumerate() {
            let format = default_format(element);
            call.input_element(number, VertexBufferView::new(format, bytes, 4 * element.components() as usize))
                .expect(fits);
        }
        for (decl, bytes) in interface.uniforms.iter().zip(&self.uniforms) {
            if let (UniformKind::ConstantBuffer { slot, space }, Some(bytes)) = (decl.kind, bytes) {
                call.constant_buffer_in_space(slot, space, bytes).expect(fits);
            }
        }
        for (decl, bound) in interface.resources.iter().zip(&self.resources) {
            let (slot, space) = (decl.slot, decl.space);
            let resource = match (bound, decl.kind) {
                (Bound::Nothing, _) => continue,
                (Bound::Texture(image), _) => {
                    call.texture_in_space(slot, space, image).expect(fits);
                    continue;
                }
                (Bound::Elements(bytes, format), _) => BufferView::typed(bytes, *format),
                (Bound::Bytes(bytes), ResourceKind::StructuredBuffer { stride }) => {
                    BufferView::structured(bytes, stride)
                }
                (Bound::Bytes(bytes), _) => BufferView::raw(bytes),
            };
            call.buffer_in_space(slot, space, resource).expect(fits);
        }
        for (decl, state) in interface.samplers.iter().zip(&self.samplers) {
            if let Some(state) = state {
                call.sampler_in_space(decl.slot, decl.space, *state).expect(fits);
            }
        }
    }

    /// The rows of each uniform space, for the interpreter. Incomplete rows end in zeros.
    pub fn rows(&self) -> Vec<Vec<[u32; 4]>> {
        let row = |bytes: &[u8]| {
            let mut row = [0; 16];
            row[..bytes.len()].copy_from_slice(bytes);
            let word = |n: usize| u32::from_le_bytes([row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]]);
            [word(0), word(1), word(2), word(3)]
        };
        self.uniforms.iter().map(|bytes| bytes.iter().flat_map(|bytes| bytes.chunks(16)).map(row).collect()).collect()
    }

    /// What the interpreter reads of each resource: see [`ResourceKind`].
    pub fn resource_bytes(&self, interface: &Interface) -> Vec<Vec<u8>> {
        let bytes = |(bound, decl): (&Bound, &ResourceDecl)| match (bound, decl.kind) {
            (Bound::Nothing | Bound::Texture(_), _) => Vec::new(),
            (Bound::Bytes(bytes), ResourceKind::StructuredBuffer { stride }) => {
                bytes[..bytes.len() / stride as usize * stride as usize].to_vec()
            }
            (Bound::Bytes(bytes), _) => bytes.clone(),
            (Bound::Elements(bytes, format), _) => {
                let elements = bytes.chunks_exact(format.bytes()).chain([&[][..]]);
                elements.flat_map(|element| format.decode(element)).flat_map(u32::to_le_bytes).collect()
            }
        };
        self.resources.iter().zip(&interface.resources).map(bytes).collect()
    }

    /// The textures and samplers, for the interpreter.
    pub fn textures(&self) -> BoundTextures<'_> {
        let mut textures = BoundTextures::new(self.resources.len(), self.samplers.len());
        for (number, bound) in self.resources.iter().enumerate() {
            if let Bound::Texture(image) = bound {
                textures.bind(number, image, image.info());
            }
        }
        for (number, state) in self.samplers.iter().enumerate() {
            if let Some(state) = state {
                textures.bind_sampler(number, *state);
            }
        }
        textures
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Data { count, skipped, first, instance, inputs, uniforms, resources, samplers } = self;
        writeln!(f, "invocations {skipped} to {count}, numbered from {first} on, instance {instance}")?;
        for (number, rows) in inputs.iter().enumerate() {
            writeln!(f, "input {number}: {rows:08x?}")?;
        }
        for (number, bytes) in uniforms.iter().enumerate() {
            writeln!(f, "uniforms {number}: {:08x?}", bytes.as_deref().map(dwords))?;
        }
        for (number, bound) in resources.iter().enumerate() {
            match bound {
                Bound::Bytes(bytes) => writeln!(f, "resource {number}: {:08x?}", dwords(bytes))?,
                bound => writeln!(f, "resource {number}: {bound:?}")?,
            }
        }
        for (number, state) in samplers.iter().enumerate() {
            writeln!(f, "sampler {number}: {state:?}")?;
        }
        Ok(())
    }
}

/// The whole dwords of some bytes.
fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// A component of an input. Programs need not take it for what the signature says.
fn component(u: &mut Unstructured<'_>, ty: ComponentType) -> Result<u32> {
    let is_float = (ty == ComponentType::F32) != u.ratio(1, 5)?;
    Ok(edge_bits(u, if is_float { Type::F32 } else { Type::I32 })? as u32)
}

/// About so many words, or fewer, some of them not whole.
fn words(u: &mut Unstructured<'_>, most: usize) -> Result<Vec<u8>> {
    let count = if u.ratio(1, 3)? { u.int_in_range(0..=most)? } else { most + u.int_in_range(0..=4)? };
    let mut bytes = Vec::new();
    for _ in 0..count {
        let ty = *u.choose(&[Type::F32, Type::F32, Type::I32])?;
        bytes.extend((edge_bits(u, ty)? as u32).to_le_bytes());
    }
    bytes.truncate(bytes.len().saturating_sub(u.int_in_range(0..=3)?));
    Ok(bytes)
}

/// So many random bytes, or a few more (SplitMix64).
pub fn random(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    std::iter::repeat_with(next).take(count.div_ceil(8)).flat_map(u64::to_le_bytes).collect()
}
