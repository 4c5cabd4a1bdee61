//! What all calls share that shade vertices: the checks, and blocks of vertices on either engine.

use super::interpret::Interpreted;
use super::{Attribute, Call, OutputLayout, Place, SCRATCH};
use crate::compiled::CompiledShader;
use crate::error::CallError;
use crate::jit::{Batch, InputStream, Layout, OutputBuffer, OutputElement, Progress, Scratch};
use crate::options::{Backend, Lanes};
use std::cell::RefCell;
use std::mem;
use std::ops::Range;

/// How many vertices, from the first one of a group in which a guard failed, run in exact form: what makes a guard fail seldom
/// comes alone. A multiple of any number of lanes.
const EXACT_VERTICES: u32 = 64;

/// Vertices that lie one behind the other, and so do their outputs.
pub(super) struct Block<'b> {
    /// One entry an input element, the first vertex's bytes first.
    pub attributes: &'b [Attribute<'b>],
    /// Number of vertices.
    pub count: u32,
    /// The number the shader sees for the first.
    pub first_vertex: u32,
    /// Row of the outputs that the first one gets.
    pub first_row: usize,
}

/// An engine with everything bound but the inputs.
pub(super) trait Shade {
    /// Shades a block and stores the outputs where the call's layout has its rows.
    fn shade(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError>;
}

/// What a call reads and what it works with. The memory is the next call's.
#[derive(Default)]
pub(super) struct Work<'b> {
    /// One entry an input element: what the vertices of the call's range read, the first one's bytes first.
    pub attributes: Vec<Attribute<'b>>,
    /// For the attributes of a block.
    pub block: Vec<Attribute<'static>>,
    /// For rows of vertices that do not lie one behind the other.
    pub gathered: Vec<u8>,
}

/// What a thread keeps from call to call, so that none after the first allocates.
#[derive(Default)]
struct Memory {
    work: Work<'static>,
    resources: Vec<&'static [u8]>,
    streams: Vec<InputStream<'static>>,
    places: Vec<OutputElement>,
    layout: Layout,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// The memory of a vector, for items that borrow something else.
pub(super) fn recycle<A, B>(mut items: Vec<A>) -> Vec<B> {
    const { assert!(size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()) };
    items.clear();
    items.into_iter().map(|_| unreachable!("it has been cleared")).collect()
}

impl<'a> Call<'a> {
    /// Checks what a call has bound for a range of vertices and a buffer of `available` bytes for `rows` vertices' outputs, and
    /// has them shaded by `run`, which is not called if there are none.
    pub(super) fn with_engine(
        &self,
        vertices: &Range<u32>,
        rows: u32,
        layout: &OutputLayout,
        available: usize,
        backend: Backend,
        run: impl FnOnce(&mut dyn Shade, &mut Work<'a>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        if self.shader.interface().geometry.is_some() {
            return Err(CallError::Invalid("a geometry shader is run by `run_geometry`".to_string()));
        }
        layout.check(&self.shader.interface().outputs, rows as usize, available)?;
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()?;
        // Taken, not borrowed: a texture of the caller's may run a shader itself.
        let mut memory = MEMORY.take();
        let mut work: Work<'a> = mem::take(&mut memory.work);
        let mut result = self.resolve_attributes(vertices, &mut work.attributes);
        if rows > 0 && result.is_ok() {
            let mut resources: Vec<&[u8]> = mem::take(&mut memory.resources);
            resources.extend(self.resources.iter());
            result = match backend {
                Backend::Jit => self.with_native(layout, &mut work, &resources, &mut memory, run),
                Backend::Interpreter => match self.shader.lanes() {
                    Lanes::Four => run(&mut Interpreted::<4>::new(self, layout, &resources), &mut work),
                    Lanes::Eight => run(&mut Interpreted::<8>::new(self, layout, &resources), &mut work),
                },
            };
            memory.resources = recycle(resources);
        }
        let Work { attributes, block, gathered } = work;
        memory.work = Work { attributes: recycle(attributes), block, gathered };
        MEMORY.set(memory);
        result
    }

    fn with_native(
        &self,
        layout: &OutputLayout,
        work: &mut Work<'a>,
        resources: &[&[u8]],
        memory: &mut Memory,
        run: impl FnOnce(&mut dyn Shade, &mut Work<'a>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let wanted = &mut memory.layout;
        wanted.inputs.clear();
        wanted.inputs.extend(work.attributes.iter().map(|attribute| attribute.format));
        wanted.outputs.clear();
        let elements = self.shader.interface().outputs.iter().zip(layout.places());
        wanted.outputs.extend(elements.map(|(element, place)| place.map_or(0, |_| element.components() as u8)));
        let variant = self.shader.variant(wanted)?;
        let mut native = Native {
            call: self,
            shader: variant.as_deref().unwrap_or(self.shader),
            layout,
            resources,
            streams: mem::take(&mut memory.streams),
            places: mem::take(&mut memory.places),
            scratch: SCRATCH.take(),
        };
        let result = run(&mut native, work);
        let Native { streams, places, scratch, .. } = native;
        (memory.streams, memory.places) = (streams, places);
        SCRATCH.set(scratch);
        result
    }
}

/// Native code.
struct Native<'c, 'a> {
    call: &'c Call<'a>,
    /// The code for what is bound.
    shader: &'c CompiledShader,
    layout: &'c OutputLayout,
    resources: &'c [&'c [u8]],
    streams: Vec<InputStream<'static>>,
    places: Vec<OutputElement>,
    scratch: Scratch,
}

impl Shade for Native<'_, '_> {
    fn shade(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let Block { attributes, count, first_vertex, first_row } = *block;
        let mut streams: Vec<InputStream<'_>> = mem::take(&mut self.streams);
        streams.extend(attributes.iter().map(|&Attribute { bytes, stride, .. }| InputStream { bytes, stride }));
        self.places.clear();
        self.places.extend(self.layout.places().iter().map(|place| match *place {
            Some(Place { offset, stride }) => OutputElement { offset: offset + first_row * stride, stride },
            None => OutputElement { offset: 0, stride: 0 },
        }));
        let batch = Batch {
            inputs: &streams,
            uniforms: self.call.spaces.native(),
            resources: self.resources,
            textures: &self.call.textures,
            count,
            first_vertex,
            instance: self.call.instance,
            fuel: self.call.shader.prepared().fuel,
        };
        let mut output = OutputBuffer { bytes, elements: &self.places };
        let result = run_guarded(self.shader, &batch, &mut output, &mut self.scratch);
        self.streams = recycle(streams);
        result
    }
}

/// Runs native code, and its exact form from where a guard fails.
fn run_guarded(
    shader: &CompiledShader,
    batch: &Batch<'_>,
    output: &mut OutputBuffer<'_>,
    scratch: &mut Scratch,
) -> Result<(), CallError> {
    let code = shader.native_code().expect("the backend is native code");
    let mut next = 0;
    while let Progress::GuardFailed { vertex } = code.run_range(batch, next..batch.count, output, scratch)? {
        next = vertex.saturating_add(EXACT_VERTICES).min(batch.count);
        let Progress::Done = shader.exact_code()?.run_range(batch, vertex..next, output, scratch)? else {
            unreachable!("the exact form has no guards")
        };
    }
    Ok(())
}
