//! What all calls share that shade vertices: the checks, and blocks of vertices on either engine.

use super::interpret::Interpreted;
use super::{Call, OutputLayout, Place, SCRATCH, VertexBufferView};
use crate::compiled::CompiledShader;
use crate::error::{CallError, JitError};
use crate::jit::{Batch, InputStream, Layout, OutputBuffer, OutputElement, Progress, Scratch};
use crate::native::Made;
use crate::options::Lanes;
use shaderjit_ir::fuel::Fuel;
use std::cell::RefCell;
use std::mem;
use std::ops::Range;

/// How many vertices, from the first one of a group in which a guard failed, run in exact form: what makes a guard fail
/// seldom comes alone. A multiple of any number of lanes.
const EXACT_VERTICES: u32 = 64;

/// Vertices that lie one behind the other, and so do their outputs.
pub(super) struct Block<'b> {
    /// One entry an input element, the first vertex's bytes first.
    pub attributes: &'b [VertexBufferView<'b>],
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
    pub attributes: Vec<VertexBufferView<'b>>,
    /// For the attributes of a block.
    pub block: Vec<VertexBufferView<'static>>,
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

/// What runs a call.
#[derive(Clone, Copy)]
pub(super) enum Choice<'c> {
    /// Native code for what is bound, the interpreter where there is none.
    Jit,
    Interpreter,
    /// What has been found by [`Call::native`] for a call that is checked: native code, or the interpreter. With the
    /// fuel of the whole call.
    #[cfg_attr(
        not(feature = "rayon"),
        expect(dead_code, reason = "only a call on many threads looks once for many runs")
    )]
    Found(Option<&'c CompiledShader>, Fuel<'c>),
}

impl<'a> Call<'a> {
    /// Checks everything that is bound, and a buffer of `available` bytes for the outputs of `rows` vertices. What each
    /// input element reads for a range of vertices goes to `attributes`.
    pub(super) fn check(
        &self,
        vertices: &Range<u32>,
        rows: u32,
        layout: &OutputLayout,
        available: usize,
        attributes: &mut Vec<VertexBufferView<'a>>,
    ) -> Result<(), CallError> {
        if self.shader.interface().geometry.is_some() {
            return Err(CallError::Invalid("a geometry shader is run by `run_geometry`".to_string()));
        }
        layout.check(&self.shader.interface().outputs, rows as usize, available)?;
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()?;
        self.resolve_attributes(vertices, attributes)
    }

    /// Who has native code for a call, whose layout goes to `wanted`. `None` if the interpreter is to run it.
    pub(super) fn native(
        &self,
        attributes: &[VertexBufferView<'a>],
        layout: &OutputLayout,
        wanted: &mut Layout,
    ) -> Result<Option<Made<'a>>, CallError> {
        wanted.inputs.clear();
        wanted.inputs.extend(attributes.iter().map(|attribute| attribute.format));
        wanted.outputs.clear();
        let elements = self.shader.interface().outputs.iter().zip(layout.places());
        wanted.outputs.extend(elements.map(|(element, place)| place.map_or(0, |_| element.components() as u8)));
        Ok(self.shader.native_for(wanted)?)
    }

    /// Checks what a call has bound for a range of vertices, and has those of `rows` rows shaded by `run`, which is not
    /// called if there are none.
    pub(super) fn with_engine(
        &self,
        vertices: &Range<u32>,
        rows: u32,
        layout: &OutputLayout,
        available: usize,
        choice: Choice<'_>,
        run: impl FnOnce(&mut dyn Shade, &mut Work<'a>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        // Taken, not borrowed: a texture of the caller's may run a shader itself.
        let mut memory = MEMORY.take();
        let mut work: Work<'a> = mem::take(&mut memory.work);
        let mut result = match choice {
            Choice::Found(..) => self.resolve_attributes(vertices, &mut work.attributes),
            _ => self.check(vertices, rows, layout, available, &mut work.attributes),
        };
        if rows > 0 && result.is_ok() {
            result = match choice {
                Choice::Found(native, fuel) => self.run_on(native, fuel, layout, &mut work, &mut memory, run),
                Choice::Jit => self.native(&work.attributes, layout, &mut memory.layout).and_then(|made| {
                    self.with_fuel(|fuel| self.run_on(made.as_deref(), fuel, layout, &mut work, &mut memory, run))
                }),
                Choice::Interpreter => {
                    self.with_fuel(|fuel| self.run_on(None, fuel, layout, &mut work, &mut memory, run))
                }
            };
        }
        let Work { attributes, block, gathered } = work;
        memory.work = Work { attributes: recycle(attributes), block, gathered };
        MEMORY.set(memory);
        result
    }

    /// Runs on native code, or on the interpreter.
    fn run_on(
        &self,
        native: Option<&CompiledShader>,
        fuel: Fuel<'_>,
        layout: &OutputLayout,
        work: &mut Work<'a>,
        memory: &mut Memory,
        run: impl FnOnce(&mut dyn Shade, &mut Work<'a>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let mut resources: Vec<&[u8]> = mem::take(&mut memory.resources);
        resources.extend(self.resources.iter());
        let result = match native {
            None => self.with_interpreter(fuel, layout, &resources, |engine| run(engine, work)),
            Some(shader) => {
                let mut native = Native {
                    call: self,
                    shader,
                    fuel,
                    layout,
                    resources: &resources,
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
        };
        memory.resources = recycle(resources);
        result
    }

    fn with_interpreter(
        &self,
        fuel: Fuel<'_>,
        layout: &OutputLayout,
        resources: &[&[u8]],
        run: impl FnOnce(&mut dyn Shade) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        match self.shader.lanes() {
            Lanes::Four => run(&mut Interpreted::<4>::new(self, layout, resources, fuel)),
            Lanes::Eight => run(&mut Interpreted::<8>::new(self, layout, resources, fuel)),
        }
    }
}

/// Native code.
struct Native<'c, 'a> {
    call: &'c Call<'a>,
    /// The code for what is bound.
    shader: &'c CompiledShader,
    fuel: Fuel<'c>,
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
        streams.extend(attributes.iter().map(|&VertexBufferView { bytes, stride, .. }| InputStream { bytes, stride }));
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
            fuel: self.fuel,
        };
        let mut output = OutputBuffer { bytes, elements: &self.places };
        let result = run_guarded(self.shader, &batch, &mut output, &mut self.scratch);
        self.streams = recycle(streams);
        match result {
            // A guard failed, and the form without guards is too large.
            Err(CallError::Compile(JitError::Limit { .. })) => {
                self.call.with_interpreter(self.fuel, self.layout, self.resources, |engine| engine.shade(block, bytes))
            }
            result => result,
        }
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
