//! What a program is run on: everything that its interface asks for, bound, too short, or not bound at all.

use super::image::{image, layout, sampler};
use crate::call::{BufferView, Call, VertexBufferView};
use crate::frontend::pixel::HiddenInput;
use crate::frontend::{ComponentType, Element, Interface, ResourceDecl, ResourceFile, ResourceKind, UniformKind};
use crate::fuzzing::random::random;
use crate::memory::{AtomicBuffer, BoundMemory, MemoryView};
use crate::options::default_format;
use crate::texture::{BoundTextures, Image, ImageLayout, SamplerState, TexelFormat, Texture};
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
    /// How many thread groups there are.
    pub grid: [u32; 3],
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
    /// Memory that is written.
    Memory(Written),
}

/// What a view that is written shows.
#[derive(Debug)]
pub struct Written {
    bytes: Vec<u8>,
    /// What typed views take them for.
    format: TexelFormat,
    /// What images are.
    layout: Option<ImageLayout>,
    /// Where the counter begins.
    count: u32,
    /// The resource whose bytes it shows instead of its own.
    same_as: Option<usize>,
}

/// Of each resource that is written the bytes and the counter, while programs run.
pub struct Buffers(Vec<Option<[AtomicBuffer; 2]>>);

impl Buffers {
    /// The bytes as they are now.
    pub fn to_bytes(&self) -> Vec<Vec<u8>> {
        self.0.iter().flatten().flatten().map(AtomicBuffer::to_bytes).collect()
    }
}

impl Data {
    /// Makes up what an interface asks for. Views may show the same bytes if `shares`.
    pub fn new(seed: u64, interface: &Interface, shares: bool) -> Data {
        let bytes = random(seed, 1 << 14);
        Self::generate(&mut Unstructured::new(&bytes), interface, shares).expect("choices end, but do not fail")
    }

    fn generate(u: &mut Unstructured<'_>, interface: &Interface, shares: bool) -> Result<Data> {
        let count = u.int_in_range(1..=INVOCATIONS)?;
        let skipped = if u.ratio(1, 4)? { u.int_in_range(0..=count - 1)? } else { 0 };
        // Numbers may pass 2^32.
        let first = if u.ratio(1, 8)? { edge_bits(u, Type::I32)? as u32 } else { u.int_in_range(0..=9)? };
        let instance = u.int_in_range(0..=3)?;
        let grid = [u.int_in_range(1..=2)?, u.int_in_range(1..=2)?, 1];
        let mut inputs = Vec::new();
        for element in interface.signature_inputs() {
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
            let is_bound = matches!(uniform.kind, UniformKind::ConstantBuffer { .. }) && !u.ratio(1, 10)?;
            uniforms.push(if is_bound { Some(words(u, 4 * uniform.rows as usize)?) } else { None });
        }
        let mut resources = Vec::new();
        for (number, resource) in interface.resources.iter().enumerate() {
            resources.push(match resource.kind {
                // Counters come with their views, and groups make what they share.
                _ if matches!(resource.file, ResourceFile::Counter | ResourceFile::Shared { .. }) => Bound::Nothing,
                _ if u.ratio(1, 8)? => Bound::Nothing,
                kind if resource.file == ResourceFile::UnorderedAccess => {
                    let mut written = written(u, kind)?;
                    let is_buffer = |number: &usize| {
                        matches!(&resources[*number], Bound::Memory(Written { layout: None, same_as: None, .. }))
                    };
                    if shares && written.layout.is_none() && u.ratio(1, 4)? {
                        written.same_as = (0..number).rev().find(is_buffer);
                    }
                    Bound::Memory(written)
                }
                ResourceKind::TypedBuffer { .. } => Bound::Elements(words(u, 30)?, *u.choose(TexelFormat::ALL)?),
                ResourceKind::Texture { shape, .. } => Bound::Texture(image(u, shape)?),
                _ => Bound::Bytes(words(u, 30)?),
            });
        }
        let mut samplers = Vec::new();
        for _ in &interface.samplers {
            samplers.push(if u.ratio(1, 8)? { None } else { Some(sampler(u)?) });
        }
        Ok(Data { count, skipped, first, instance, grid, inputs, uniforms, resources, samplers })
    }

    /// The invocations that run.
    pub fn range(&self) -> Range<u32> {
        self.skipped..self.count
    }

    /// What an invocation reads of every input element: those of the signature, and behind them what a pixel that is
    /// bound as a row reads.
    fn row(&self, interface: &Interface, invocation: u32) -> Vec<[u32; 4]> {
        let mut inputs: Vec<[u32; 4]> = self.inputs.iter().map(|rows| rows[invocation as usize]).collect();
        for hidden in interface.pixel.iter().flat_map(|pixel| &pixel.hidden) {
            inputs.push(match *hidden {
                HiddenInput::Live => [1, 0, 0, 0],
                HiddenInput::Value(element) => inputs[element as usize],
                HiddenInput::ReciprocalW => [1.0f32.to_bits(), 0, 0, 0],
                HiddenInput::ChangeX(_) | HiddenInput::ChangeY(_) | HiddenInput::Centroid => [0; 4],
            });
        }
        inputs
    }

    /// The inputs of a wave's lanes, by element, for the interpreter.
    pub fn lanes<const L: usize>(&self, interface: &Interface, invocations: [u32; L]) -> Vec<[[u32; L]; 4]> {
        // A program without inputs may have threads of any number.
        if interface.inputs.is_empty() {
            return Vec::new();
        }
        let rows = invocations.map(|invocation| self.row(interface, invocation));
        let of_element = |element: usize| [0, 1, 2, 3].map(|word| rows.each_ref().map(|row| row[element][word]));
        (0..interface.inputs.len()).map(of_element).collect()
    }

    /// The inputs as streams of bytes, for a call to borrow.
    pub fn streams(&self, interface: &Interface) -> Vec<Vec<u8>> {
        let stream = |(element, rows): (&Element, &Vec<[u32; 4]>)| {
            let stored = rows.iter().flat_map(|row| &row[..element.components() as usize]);
            stored.flat_map(|word| word.to_le_bytes()).collect()
        };
        interface.signature_inputs().iter().zip(&self.inputs).map(stream).collect()
    }

    /// Memory for one run.
    pub fn buffers(&self) -> Buffers {
        let buffers = |bound: &Bound| match bound {
            Bound::Memory(written) => {
                let counter = written.count.to_le_bytes();
                Some([AtomicBuffer::from_bytes(&written.bytes), AtomicBuffer::from_bytes(&counter)])
            }
            _ => None,
        };
        Buffers(self.resources.iter().map(buffers).collect())
    }

    /// The view of a resource that is written, if one is bound.
    fn view<'b>(&self, number: usize, decl: &ResourceDecl, buffers: &'b Buffers) -> Option<MemoryView<'b>> {
        let (Bound::Memory(written), Some([_, counter])) = (&self.resources[number], &buffers.0[number]) else {
            return None;
        };
        let [bytes, _] = buffers.0[written.same_as.unwrap_or(number)].as_ref()?;
        let view = match (decl.kind, written.layout) {
            (ResourceKind::RawBuffer, _) => MemoryView::raw(bytes),
            (ResourceKind::StructuredBuffer { stride }, _) => MemoryView::structured(bytes, stride),
            (_, Some(layout)) => MemoryView::image(bytes, layout),
            (_, None) => MemoryView::typed(bytes, written.format),
        };
        Some(view.counter(counter))
    }

    /// The same for the interpreter.
    pub fn views<'b>(&self, interface: &Interface, buffers: &'b Buffers) -> BoundMemory<'b> {
        let mut views = BoundMemory::new(interface.resources.len());
        for (number, decl) in interface.resources.iter().enumerate() {
            let Some(view) = self.view(number, decl, buffers) else { continue };
            let is_counter = |other: &ResourceDecl| {
                other.file == ResourceFile::Counter && (other.slot, other.space) == (decl.slot, decl.space)
            };
            if let Some(counter) = interface.resources.iter().position(is_counter) {
                views.bind(counter, view.counter_view());
            }
            views.bind(number, Some(view));
        }
        views
    }

    /// Binds all of it.
    pub fn bind<'a>(
        &'a self,
        call: &mut Call<'a>,
        interface: &Interface,
        streams: &'a [Vec<u8>],
        buffers: &'a Buffers,
    ) {
        let fits = "the data were made for the interface";
        call.unbound_as_zero(true).first_vertex_id(self.first).instance(self.instance);
        for (number, (element, bytes)) in interface.signature_inputs().iter().zip(streams).enumerate() {
            let format = default_format(element);
            call.input_element(number, VertexBufferView::new(format, bytes, 4 * element.components() as usize))
                .expect(fits);
        }
        for (decl, bytes) in interface.uniforms.iter().zip(&self.uniforms) {
            if let (UniformKind::ConstantBuffer { slot, space }, Some(bytes)) = (decl.kind, bytes) {
                call.constant_buffer_in_space(slot, space, bytes).expect(fits);
            }
        }
        for (number, (decl, bound)) in interface.resources.iter().zip(&self.resources).enumerate() {
            let (slot, space) = (decl.slot, decl.space);
            if let Some(view) = self.view(number, decl, buffers) {
                call.unordered_access_in_space(slot, space, view).expect(fits);
                continue;
            }
            let resource = match (bound, decl.kind) {
                (Bound::Nothing | Bound::Memory(_), _) => continue,
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
            (Bound::Nothing | Bound::Texture(_) | Bound::Memory(_), _) => Vec::new(),
            (Bound::Bytes(bytes), ResourceKind::StructuredBuffer { stride }) => {
                bytes[..bytes.len() / stride as usize * stride as usize].to_vec()
            }
            (Bound::Bytes(bytes), _) => bytes.clone(),
            (Bound::Elements(bytes, format), kind) => {
                let components = if let ResourceKind::TypedBuffer { components, .. } = kind { components } else { 4 };
                let out_of_range = (components == 4).then_some(&[][..]);
                let elements = bytes.chunks_exact(format.bytes()).chain(out_of_range);
                let words = usize::from(components).next_power_of_two();
                let rows = elements.flat_map(|element| format.decode(element).into_iter().take(words));
                rows.flat_map(u32::to_le_bytes).collect()
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
        let Data { count, skipped, first, instance, grid, inputs, uniforms, resources, samplers } = self;
        writeln!(f, "invocations {skipped} to {count}, numbered from {first} on, instance {instance}, grid {grid:?}")?;
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

/// Memory that a view of a kind shows.
fn written(u: &mut Unstructured<'_>, kind: ResourceKind) -> Result<Written> {
    let formats: Vec<TexelFormat> = TexelFormat::ALL.iter().copied().filter(|format| format.can_be_written()).collect();
    // Atomics are for words.
    let words_alone = [TexelFormat::R32Uint, TexelFormat::R32Sint];
    let formats = if u.arbitrary()? { &words_alone[..] } else { &formats };
    let format = *u.choose(formats)?;
    let layout = match kind {
        ResourceKind::Texture { shape, .. } => Some(layout(u, shape, format)?),
        _ => None,
    };
    let bytes = match layout {
        Some(layout) => random(u.arbitrary()?, layout.bytes().expect("the sizes are within the limits")),
        None => words(u, 30)?,
    };
    Ok(Written { bytes, format, layout, count: u.int_in_range(0..=4)?, same_as: None })
}
