//! One call: bindings, the checks on them, and both engines.

mod attribute;
mod geometry;
mod interpret;
mod outputs;
#[cfg(feature = "rayon")]
mod parallel;
mod resource;
mod texture;
mod uniforms;

pub use attribute::Attribute;
pub(crate) use geometry::last_counts;
pub use geometry::{EmittedTriangle, EmittedTriangles, GeometryInput, GeometryState};
pub(crate) use outputs::find;
pub use outputs::{Difference, OutputLayout, OutputView, Outputs, Place};
pub use resource::Resource;
pub use uniforms::PicaUniforms;

use crate::compiled::{CompiledShader, Prepared};
use crate::error::{CallError, JitError};
use crate::frontend::UniformKind;
use crate::jit::{Batch, InputStream, Layout, OutputBuffer, OutputElement, Progress, Scratch};
use crate::native::Made;
use crate::options::{Backend, Lanes};
use crate::texture::BoundTextures;
use resource::BoundResources;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use uniforms::BoundSpaces;

/// What a shader is run on: attributes, uniforms, resources, samplers, instance. Borrows the attributes, textures and most
/// buffers, and copies the uniforms and typed buffers. It is `Sync`: threads may run ranges of it at the same time.
///
/// What is said of vertices here is also true of a pixel shader's pixels. Their inputs are every element of the input signature,
/// already interpolated, system values included: `SV_Position` is the pixel's centre, depth and w, `SV_IsFrontFace` 0 or all
/// ones. Whether the shader [discarded](Outputs::discarded) a pixel is with the outputs.
///
/// ```
/// use shaderjit::{Attribute, CompileOptions, Config, Engine, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// # let vertices = vec![0; 3 * 20];
/// # let constants = vec![0; 64];
/// let mut call = code.call();
/// call.constants(0, &constants)?;
/// call.input("POSITION", 0, Attribute::f32x3(&vertices, 20))?;
/// # call.zero_unbound(true);
/// let outputs = call.run(0..3)?;
/// let position: [f32; 4] = outputs.get("SV_Position", 0).expect("it has one").f32(0).expect("there are 3");
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone)]
pub struct Call<'a> {
    shader: &'a CompiledShader,
    /// One entry an input element.
    inputs: Vec<Option<Attribute<'a>>>,
    spaces: BoundSpaces,
    resources: BoundResources<'a>,
    textures: BoundTextures<'a>,
    zero_unbound: bool,
    first_vertex: u32,
    instance: u32,
}

/// How many vertices, from the first one of a group in which a guard failed, run in exact form: what makes a guard fail seldom
/// comes alone. A multiple of any number of lanes.
const EXACT_VERTICES: u32 = 64;

/// What an unbound input reads.
static ZEROS: [u8; 16] = [0; 16];

thread_local! {
    /// Native code's working memory, kept from call to call.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl<'a> Call<'a> {
    pub(crate) fn new(shader: &'a CompiledShader) -> Call<'a> {
        let interface = shader.interface();
        Call {
            shader,
            inputs: vec![None; interface.signature_inputs().len()],
            spaces: BoundSpaces::new(shader),
            resources: BoundResources::new(shader),
            textures: BoundTextures::new(interface.resources.len(), interface.samplers.len()),
            zero_unbound: false,
            first_vertex: 0,
            instance: 0,
        }
    }

    /// Binds an input by its semantic.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader has no such input.
    pub fn input(&mut self, semantic: &str, index: u32, attribute: Attribute<'a>) -> Result<&mut Call<'a>, CallError> {
        let element = self.shader.input(semantic, index);
        let what = || CallError::UnknownBinding { what: format!("input {semantic}{index}") };
        self.input_element(element.ok_or_else(what)?, attribute)
    }

    /// Binds the input element of that number.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader has no such input.
    pub fn input_element(&mut self, element: usize, attribute: Attribute<'a>) -> Result<&mut Call<'a>, CallError> {
        let what = || CallError::UnknownBinding { what: format!("input element {element}") };
        *self.inputs.get_mut(element).ok_or_else(what)? = Some(attribute);
        Ok(self)
    }

    /// Binds constant buffer `slot` of register space 0. The bytes are copied; what the shader reads behind them is zero.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such buffer.
    pub fn constants(&mut self, slot: u32, bytes: &[u8]) -> Result<&mut Call<'a>, CallError> {
        self.constants_in_space(slot, 0, bytes)
    }

    /// Binds constant buffer `slot` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`constants`](Self::constants).
    pub fn constants_in_space(&mut self, slot: u32, space: u32, bytes: &[u8]) -> Result<&mut Call<'a>, CallError> {
        self.bind_space(UniformKind::ConstantBuffer { slot, space }, &uniforms::rows(bytes))
    }

    /// Binds PICA float uniforms, `c0` first. Those not given are zero. The container's constants stand above what is bound.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the program reads none.
    pub fn pica_floats(&mut self, rows: &[[f32; 4]]) -> Result<&mut Call<'a>, CallError> {
        let rows: Vec<[u32; 4]> = rows.iter().map(|row| row.map(f32::to_bits)).collect();
        self.bind_space(UniformKind::PicaFloat, &rows)
    }

    /// Binds PICA integer uniforms, `i0` first.
    ///
    /// # Errors
    /// As [`pica_floats`](Self::pica_floats).
    pub fn pica_ints(&mut self, rows: &[[u8; 4]]) -> Result<&mut Call<'a>, CallError> {
        let rows: Vec<[u32; 4]> = rows.iter().map(|row| row.map(u32::from)).collect();
        self.bind_space(UniformKind::PicaInt, &rows)
    }

    /// Binds PICA bool uniforms: bit n is `bn`.
    ///
    /// # Errors
    /// As [`pica_floats`](Self::pica_floats).
    pub fn pica_bools(&mut self, mask: u16) -> Result<&mut Call<'a>, CallError> {
        self.bind_space(UniformKind::PicaBool, &[[mask.into(), 0, 0, 0]])
    }

    /// Binds those PICA uniforms that the program reads.
    pub fn pica_uniforms(&mut self, uniforms: &PicaUniforms) -> &mut Call<'a> {
        // Each fails only where the program has no such space, and then there is nothing to bind.
        let _ = self.pica_floats(&uniforms.floats);
        let _ = self.pica_ints(&uniforms.ints);
        let _ = self.pica_bools(uniforms.bools);
        self
    }

    fn bind_space(&mut self, kind: UniformKind, rows: &[[u32; 4]]) -> Result<&mut Call<'a>, CallError> {
        let index = self.shader.interface().uniforms.iter().position(|decl| decl.kind == kind);
        let index = index.ok_or_else(|| CallError::UnknownBinding { what: uniforms::name(kind) })?;
        self.spaces.bind(self.shader, index, rows);
        Ok(self)
    }

    /// Binds the buffer `t<slot>` of register space 0. What is not bound reads 0 everywhere if the call
    /// [asks for zeros](Self::zero_unbound), and counts no elements.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such buffer,
    /// [`ResourceMismatch`](CallError::ResourceMismatch) if it declares one of another kind or with another stride,
    /// [`Invalid`](CallError::Invalid) if it is longer than a buffer can be: 4 GiB less 4 bytes, or 2^27 elements if it is typed.
    ///
    /// ```no_run
    /// # use shaderjit::{Call, Resource, TexelFormat, error::CallError};
    /// # fn bind<'a>(call: &mut Call<'a>, bones: &'a [u8], colours: &'a [u8]) -> Result<(), CallError> {
    /// call.resource(0, Resource::structured(bones, 64))?;
    /// call.resource(1, Resource::typed(colours, TexelFormat::Rgba8Unorm))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resource(&mut self, slot: u32, resource: Resource<'a>) -> Result<&mut Call<'a>, CallError> {
        self.resource_in_space(slot, 0, resource)
    }

    /// Binds the resource `t<slot>` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`resource`](Self::resource).
    pub fn resource_in_space(
        &mut self,
        slot: u32,
        space: u32,
        resource: Resource<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        self.resources.bind(&self.shader.interface().resources, (slot, space), resource)?;
        Ok(self)
    }

    /// Whether what is not bound reads as zero. Unless said, it is an error of the run.
    pub fn zero_unbound(&mut self, zero: bool) -> &mut Call<'a> {
        self.zero_unbound = zero;
        self
    }

    /// The number the shader sees for vertex 0 of the streams. Unless said, 0.
    pub fn first_vertex(&mut self, number: u32) -> &mut Call<'a> {
        self.first_vertex = number;
        self
    }

    /// The instance number the shader sees. Unless said, 0.
    pub fn instance(&mut self, number: u32) -> &mut Call<'a> {
        self.instance = number;
        self
    }

    /// Shades a range of the vertices in the streams.
    ///
    /// # Errors
    /// [`MissingBinding`](CallError::MissingBinding), [`OtherValues`](CallError::OtherValues) and
    /// [`ShortBuffer`](CallError::ShortBuffer) before anything runs;
    /// [`OutOfFuel`](CallError::OutOfFuel) if a loop runs too long; [`Compile`](CallError::Compile) if the attributes bound
    /// need code of their own and that cannot be made.
    pub fn run(&self, vertices: Range<u32>) -> Result<Outputs, CallError> {
        self.outputs(vertices, Backend::Jit)
    }

    /// The same on the IR's interpreter, in the same groups of vertices: the same bits and the same errors.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn interpret(&self, vertices: Range<u32>) -> Result<Outputs, CallError> {
        self.outputs(vertices, Backend::Interpreter)
    }

    /// Shades a range of the vertices in the streams and stores the outputs where `layout` says, the first vertex of the range
    /// at its offsets. Other bytes of the buffer are not touched. After an error the outputs are unspecified.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if the buffer is too short for the layout.
    pub fn run_into(&self, vertices: Range<u32>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.execute(vertices, layout, bytes, Backend::Jit)
    }

    fn outputs(&self, vertices: Range<u32>, backend: Backend) -> Result<Outputs, CallError> {
        self.outputs_of(&vertices, |layout, bytes| self.execute(vertices.clone(), layout, bytes, backend))
    }

    /// Packed outputs for a range of vertices, with what `fill` stores.
    fn outputs_of(
        &self,
        vertices: &Range<u32>,
        fill: impl FnOnce(&OutputLayout, &mut [u8]) -> Result<(), CallError>,
    ) -> Result<Outputs, CallError> {
        let layout = OutputLayout::packed(self.shader);
        let stride = outputs::packed_stride(&self.shader.interface().outputs);
        let count = count(vertices)? as usize;
        let size = count.saturating_mul(stride);
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            return Err(CallError::Invalid(format!("no memory for {size} bytes of outputs")));
        }
        bytes.resize(size, 0);
        fill(&layout, &mut bytes)?;
        Ok(Outputs { prepared: Arc::clone(self.shader.prepared()), layout, stride, count, bytes })
    }

    /// Runs on native code, where the shader has some, unless the interpreter is asked for.
    fn execute(
        &self,
        vertices: Range<u32>,
        layout: &OutputLayout,
        bytes: &mut [u8],
        backend: Backend,
    ) -> Result<(), CallError> {
        let attributes = self.check(&vertices, layout, bytes.len())?;
        let native = match backend {
            Backend::Interpreter => None,
            _ => self.native(&vertices, &attributes, layout)?,
        };
        self.shade(native.as_deref(), &vertices, &attributes, layout, bytes)
    }

    /// Checks everything that is bound, and the buffer for the outputs. The inputs for these vertices.
    fn check(
        &self,
        vertices: &Range<u32>,
        layout: &OutputLayout,
        available: usize,
    ) -> Result<Vec<Attribute<'a>>, CallError> {
        if self.shader.interface().geometry.is_some() {
            return Err(CallError::Invalid("a geometry shader is run by `run_geometry`".to_string()));
        }
        let count = count(vertices)?;
        layout.check(&self.shader.interface().outputs, count as usize, available)?;
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()?;
        self.attributes(vertices)
    }

    /// Who has native code for a call. `None` if the interpreter is to run it.
    fn native(
        &self,
        vertices: &Range<u32>,
        attributes: &[Attribute<'a>],
        layout: &OutputLayout,
    ) -> Result<Option<Made<'a>>, CallError> {
        if vertices.is_empty() {
            return Ok(None);
        }
        let elements = self.shader.interface().outputs.iter().zip(layout.places());
        let wanted = Layout {
            inputs: attributes.iter().map(|attribute| attribute.format).collect(),
            outputs: elements.map(|(element, place)| place.map_or(0, |_| element.components() as u8)).collect(),
        };
        Ok(self.shader.native_for(&wanted)?)
    }

    /// Shades vertices for which everything is checked.
    fn shade(
        &self,
        native: Option<&CompiledShader>,
        vertices: &Range<u32>,
        attributes: &[Attribute<'a>],
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        let count = vertices.len() as u32;
        if count == 0 {
            return Ok(());
        }
        let first_vertex = self.first_vertex.wrapping_add(vertices.start);
        if let Some(native) = native {
            match self.run_native(native, count, first_vertex, attributes, layout, bytes) {
                // A guard failed, and the form without guards is too large.
                Err(CallError::Compile(JitError::Limit { .. })) => {}
                result => return result,
            }
        }
        let job = interpret::Job {
            prepared: self.shader.prepared(),
            attributes,
            spaces: &self.spaces,
            resources: &self.resources.bytes(),
            textures: &self.textures,
            count,
            first_vertex,
            instance: self.instance,
        };
        match self.shader.lanes() {
            Lanes::Four => job.run::<4>(layout, bytes),
            Lanes::Eight => job.run::<8>(layout, bytes),
        }
    }

    fn run_native(
        &self,
        native: &CompiledShader,
        count: u32,
        first_vertex: u32,
        attributes: &[Attribute<'a>],
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        let inputs: Vec<InputStream<'_>> =
            attributes.iter().map(|&Attribute { bytes, stride, .. }| InputStream { bytes, stride }).collect();
        let place = |place: &Option<Place>| {
            let Place { offset, stride } = place.unwrap_or(Place { offset: 0, stride: 0 });
            OutputElement { offset, stride }
        };
        let places: Vec<OutputElement> = layout.places().iter().map(place).collect();
        let batch = Batch {
            inputs: &inputs,
            uniforms: self.spaces.native(),
            resources: &self.resources.bytes(),
            textures: &self.textures,
            count,
            first_vertex,
            instance: self.instance,
            fuel: self.shader.prepared().fuel,
        };
        let mut output = OutputBuffer { bytes, elements: &places };
        // Taken, not borrowed: a texture of the caller's may run a shader itself.
        let mut scratch = SCRATCH.take();
        let result = run_guarded(native, &batch, &mut output, &mut scratch);
        SCRATCH.set(scratch);
        result
    }

    fn check_uniforms(&self) -> Result<(), CallError> {
        for (index, decl) in self.shader.interface().uniforms.iter().enumerate() {
            if self.shader.needs_uniforms(index) && !self.spaces.is_bound(index) && !self.zero_unbound {
                return Err(CallError::MissingBinding { what: uniforms::name(decl.kind) });
            }
            if self.spaces.is_bound(index)
                && let Some(compiled_for) = &self.shader.function().spaces[decl.space].table
                && !self.spaces.holds(index, compiled_for)
            {
                return Err(CallError::OtherValues { what: uniforms::name(decl.kind) });
            }
        }
        Ok(())
    }

    fn check_resources(&self) -> Result<(), CallError> {
        for (index, decl) in self.shader.interface().resources.iter().enumerate() {
            let is_bound = self.resources.is_bound(index) || self.textures.is_bound(index);
            if self.shader.needs_resource(index) && !is_bound && !self.zero_unbound {
                return Err(CallError::MissingBinding { what: resource::name(decl.slot, decl.space) });
            }
        }
        Ok(())
    }

    /// What each input element reads for these vertices, the first one's bytes first.
    fn attributes(&self, vertices: &Range<u32>) -> Result<Vec<Attribute<'a>>, CallError> {
        let elements = &self.shader.interface().inputs;
        let resolve = |(number, bound): (usize, &Option<Attribute<'a>>)| {
            let element = &elements[number];
            // The default format has every component, so that all of them are zero. It is also what inputs nobody reads get,
            // so that their formats make no difference to the code.
            let zero = Attribute::new(Prepared::default_format(element), &ZEROS, 0);
            match bound {
                _ if !self.shader.reads_input(number) => Ok(zero),
                Some(attribute) => attribute.slice(vertices).map_err(|needed| {
                    let what = format!("input {}", element.name());
                    CallError::ShortBuffer { what, needed, available: attribute.bytes.len() }
                }),
                None if self.zero_unbound => Ok(zero),
                None => Err(CallError::MissingBinding { what: format!("input {}", element.name()) }),
            }
        };
        self.inputs.iter().enumerate().map(resolve).collect()
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

/// Number of vertices in a range.
fn count(vertices: &Range<u32>) -> Result<u32, CallError> {
    let Range { start, end } = vertices;
    end.checked_sub(*start).ok_or_else(|| CallError::Invalid(format!("the range {start}..{end} ends before it begins")))
}
