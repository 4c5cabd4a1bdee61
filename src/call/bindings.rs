//! What a call has bound, and the checks on it that every kind of call makes.

use super::bounds::Bounds;
use super::buffer::{self, BoundResources, BufferView};
use super::trace::tracer::{Tracer, Tracing};
use super::uniforms::{self, BoundSpaces};
use super::vertex_buffer::{Rows, VertexBufferView};
use crate::compiled::CompiledShader;
use crate::error::CallError;
use crate::frontend::pixel::HiddenInput;
use crate::frontend::{Element, ResourceFile, UniformKind};
use crate::memory::BoundMemory;
use crate::options::{default_format, unknown};
use crate::pica_uniforms::PicaUniforms;
use crate::texture::BoundTextures;
use shaderjit_ir::fuel::Fuel;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

impl CompiledShader {
    /// Begins a call. Nothing is bound yet.
    pub fn call(&self) -> Call<'_> {
        Call::new(self)
    }
}

/// The bindings of a run: attributes, uniforms, resources, samplers, instance. Borrows the attributes, textures and
/// most buffers, and copies the uniforms and typed buffers. It is `Sync`: threads may run ranges of it at the same
/// time.
///
/// A pixel shader's pixels are given in [quads](Call::pixels), or are bound and run as vertices are. Then their inputs
/// are every element of the input signature, already interpolated, system values included: `SV_Position` is the pixel's
/// centre, depth and w, `SV_IsFrontFace` 0 or all ones; and four that follow each other from the first on are a quad:
/// the upper left one, the upper right, the lower left, the lower right. Whether the shader
/// [discarded](crate::Outputs::discarded) a pixel is with the outputs.
///
/// ```
/// use shaderjit::{VertexBufferView, CompileOptions, Config, Engine, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// # let vertices = vec![0; 3 * 20];
/// # let constants = vec![0; 64];
/// let mut call = code.call();
/// call.constant_buffer(0, &constants)?;
/// call.input("POSITION", 0, VertexBufferView::f32x3(&vertices, 20))?;
/// # call.unbound_as_zero(true);
/// let outputs = call.run(0..3)?;
/// let position: [f32; 4] = outputs.output("SV_Position", 0).expect("it has one").vec4(0).expect("there are 3");
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone)]
pub struct Call<'a> {
    pub(super) shader: &'a CompiledShader,
    /// One entry an input element.
    inputs: Vec<Option<VertexBufferView<'a>>>,
    pub(super) spaces: BoundSpaces,
    pub(super) resources: BoundResources<'a>,
    pub(super) textures: BoundTextures<'a>,
    pub(super) memory: BoundMemory<'a>,
    pub(super) unbound_as_zero: bool,
    reinterpret_inputs: bool,
    pub(super) bounds: Bounds<'a>,
    pub(super) first_vertex: u32,
    pub(super) instance: u32,
    /// Who traces an invocation.
    pub(super) tracer: Option<&'a (dyn Tracing + 'a)>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interface = self.shader.interface();
        let inputs: Vec<_> = interface.signature_inputs().iter().map(Element::name).zip(&self.inputs).collect();
        let uniforms = interface.uniforms.iter().enumerate();
        let uniforms: Vec<_> = uniforms.map(|(n, decl)| (uniforms::name(decl.kind), self.spaces.is_bound(n))).collect();
        let resources = interface.resources.iter().enumerate();
        let is_bound = |n| self.is_resource_bound(n);
        let resources: Vec<_> = resources.map(|(n, decl)| (buffer::name(decl), is_bound(n))).collect();
        f.debug_struct("Call")
            .field("shader", self.shader)
            .field("inputs", &inputs)
            .field("uniforms", &uniforms)
            .field("resources", &resources)
            .field("unbound_as_zero", &self.unbound_as_zero)
            .field("reinterpret_inputs", &self.reinterpret_inputs)
            .field("first_vertex_id", &self.first_vertex)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// What an unbound input reads.
static ZEROS: [u8; 16] = [0; 16];

/// A pixel that is shaded for itself.
static LIVE: [u8; 16] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// 1/w of pixels whose attributes are not divided by it: 1.0, which does not change.
static ONE: [u8; 16] = [0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

impl<'a> Call<'a> {
    fn new(shader: &'a CompiledShader) -> Call<'a> {
        let interface = shader.interface();
        Call {
            shader,
            inputs: vec![None; interface.signature_inputs().len()],
            spaces: BoundSpaces::new(shader),
            resources: BoundResources::new(shader),
            textures: BoundTextures::new(interface.resources.len(), interface.samplers.len()),
            memory: BoundMemory::new(interface.resources.len()),
            unbound_as_zero: false,
            reinterpret_inputs: false,
            bounds: Bounds::default(),
            first_vertex: 0,
            instance: 0,
            tracer: None,
        }
    }

    /// Has the invocation that a tracer names traced in every run from now on. All that is not traced runs as without,
    /// and no result changes, unless invocations race for memory through both arms of a branch. But a program that
    /// needs almost all its fuel may run out of it, for the traced form has been through no pass. Runs of a SPIR-V
    /// program that is to be traced are an error.
    pub fn trace(&mut self, tracer: &'a Tracer<'_>) -> &mut Call<'a> {
        self.tracer = Some(tracer);
        self
    }

    /// The shader that is called.
    pub fn shader(&self) -> &'a CompiledShader {
        self.shader
    }

    /// Binds an input by its semantic.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader has no such input,
    /// [`FormatMismatch`](CallError::FormatMismatch) if integers are bound to floats or the other way round.
    pub fn input(
        &mut self,
        semantic: &str,
        index: u32,
        attribute: VertexBufferView<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        let element = self.shader.input(semantic, index);
        let inputs = self.shader.interface().signature_inputs();
        let element = element.ok_or_else(|| unknown("input", (semantic, index), inputs))?;
        self.input_element(element, attribute)
    }

    /// Binds the input element of that number.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn input_element(
        &mut self,
        element: usize,
        attribute: VertexBufferView<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        let inputs = self.shader.interface().signature_inputs();
        let what = || CallError::unknown(format!("input element {element}"), inputs.iter().map(Element::label));
        let declared = inputs.get(element).ok_or_else(what)?;
        if declared.ty.is_integer() != attribute.format.is_integer() && !self.reinterpret_inputs {
            return Err(CallError::FormatMismatch {
                what: format!("input {}", declared.label()),
                declared: declared.ty,
                bound: attribute.format,
            });
        }
        self.inputs[element] = Some(attribute);
        Ok(self)
    }

    /// Whether inputs that are bound from now on may have a format of integers where the shader reads floats, and the
    /// other way round: the bits are taken as they are. Default: false. Signed and unsigned integers are one and the
    /// same.
    ///
    /// ```
    /// use shaderjit::error::CallError;
    /// use shaderjit::{VertexBufferView, CompileOptions, Config, Engine, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let vertices = [0; 12];
    /// let mut call = code.call();
    /// let bound = call.input("POSITION", 0, VertexBufferView::u32x3(&vertices, 12));
    /// assert!(matches!(bound, Err(CallError::FormatMismatch { .. })));
    /// call.reinterpret_inputs(true).input("POSITION", 0, VertexBufferView::u32x3(&vertices, 12))?;
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn reinterpret_inputs(&mut self, reinterpret: bool) -> &mut Call<'a> {
        self.reinterpret_inputs = reinterpret;
        self
    }

    /// Binds constant buffer `slot` of register space 0. The bytes are copied. Fewer than the shader
    /// [reads](CompiledShader::reads_bytes) are an error of the run, unless [missing ones](Self::unbound_as_zero) read
    /// as zero.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such buffer.
    pub fn constant_buffer(&mut self, slot: u32, bytes: &[u8]) -> Result<&mut Call<'a>, CallError> {
        self.constant_buffer_in_space(slot, 0, bytes)
    }

    /// Binds constant buffer `slot` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`constant_buffer`](Self::constant_buffer).
    pub fn constant_buffer_in_space(
        &mut self,
        slot: u32,
        space: u32,
        bytes: &[u8],
    ) -> Result<&mut Call<'a>, CallError> {
        let index = self.find_space(UniformKind::ConstantBuffer { slot, space })?;
        self.bind_bytes(index, bytes);
        Ok(self)
    }

    /// Binds the bytes of a uniform space, of which what nobody reads is left out.
    pub(super) fn bind_bytes(&mut self, index: usize, bytes: &[u8]) {
        let facts = &self.shader.prepared().facts;
        let read = if facts.is_indexed[index] { bytes.len() } else { facts.reads_bytes[index].next_multiple_of(16) };
        self.spaces.bind(self.shader, index, uniforms::rows(&bytes[..read.min(bytes.len())]));
        self.spaces.set_bytes(index, bytes.len());
    }

    /// Binds PICA float uniforms, `c0` first. Rows behind the last one given are zero. The container's constants stand
    /// above them.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the program reads none.
    pub fn pica_floats(&mut self, rows: &[[f32; 4]]) -> Result<&mut Call<'a>, CallError> {
        self.bind_space(UniformKind::PicaFloat, float_rows(rows))?;
        Ok(self)
    }

    /// Binds PICA integer uniforms, `i0` first.
    ///
    /// # Errors
    /// As [`pica_floats`](Self::pica_floats).
    pub fn pica_ints(&mut self, rows: &[[u8; 4]]) -> Result<&mut Call<'a>, CallError> {
        self.bind_space(UniformKind::PicaInt, int_rows(rows))?;
        Ok(self)
    }

    /// Binds PICA bool uniforms: bit n is `bn`.
    ///
    /// # Errors
    /// As [`pica_floats`](Self::pica_floats).
    pub fn pica_bools(&mut self, mask: u16) -> Result<&mut Call<'a>, CallError> {
        self.bind_space(UniformKind::PicaBool, bool_rows(mask))?;
        Ok(self)
    }

    /// Binds those PICA uniforms that the program reads.
    pub fn pica_uniforms(&mut self, uniforms: &PicaUniforms) -> &mut Call<'a> {
        // Without errors: one says what there is instead, and takes longer to make than all there is takes to bind.
        self.bind_known(UniformKind::PicaFloat, float_rows(&uniforms.floats));
        self.bind_known(UniformKind::PicaInt, int_rows(&uniforms.ints));
        self.bind_known(UniformKind::PicaBool, bool_rows(uniforms.bools));
        self
    }

    /// Binds the uniform space of a kind.
    pub(super) fn bind_space(
        &mut self,
        kind: UniformKind,
        rows: impl Iterator<Item = [u32; 4]>,
    ) -> Result<(), CallError> {
        self.bind_known(kind, rows).ok_or_else(|| self.unknown_space(kind))
    }

    /// The same; `None` if the program has no such space.
    fn bind_known(&mut self, kind: UniformKind, rows: impl Iterator<Item = [u32; 4]>) -> Option<()> {
        let index = self.space(kind)?;
        self.spaces.bind(self.shader, index, rows);
        Some(())
    }

    /// Number of the uniform space of a kind.
    pub(super) fn find_space(&self, kind: UniformKind) -> Result<usize, CallError> {
        self.space(kind).ok_or_else(|| self.unknown_space(kind))
    }

    fn space(&self, kind: UniformKind) -> Option<usize> {
        self.shader.interface().uniforms.iter().position(|decl| decl.kind == kind)
    }

    fn unknown_space(&self, kind: UniformKind) -> CallError {
        let bindable = self.shader.interface().uniforms.iter().filter(|decl| decl.kind.is_bindable());
        CallError::unknown(uniforms::name(kind), bindable.map(|decl| uniforms::name(decl.kind)))
    }

    /// Binds the buffer `t<slot>` of register space 0. An unbound one reads 0 everywhere if the call
    /// [asks for zeros](Self::unbound_as_zero), and counts no elements.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such buffer,
    /// [`ResourceMismatch`](CallError::ResourceMismatch) if it declares one of another kind or with another stride,
    /// [`Invalid`](CallError::Invalid) if it is longer than a buffer can be: 4 GiB less 4 bytes, or 2^27 elements if it
    /// is typed.
    ///
    /// ```no_run
    /// # use shaderjit::{Call, BufferView, TexelFormat, error::CallError};
    /// # fn bind<'a>(call: &mut Call<'a>, bones: &'a [u8], colours: &'a [u8]) -> Result<(), CallError> {
    /// call.buffer(0, BufferView::structured(bones, 64))?;
    /// call.buffer(1, BufferView::typed(colours, TexelFormat::Rgba8Unorm))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn buffer(&mut self, slot: u32, buffer: BufferView<'a>) -> Result<&mut Call<'a>, CallError> {
        self.buffer_in_space(slot, 0, buffer)
    }

    /// Binds the resource `t<slot>` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer).
    pub fn buffer_in_space(
        &mut self,
        slot: u32,
        space: u32,
        buffer: BufferView<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        self.resources.bind(&self.shader.interface().resources, (slot, space), buffer)?;
        Ok(self)
    }

    /// Whether missing bindings, and the missing ends of constant buffers, read as zero. Default: `false`; they are
    /// errors of the run.
    pub fn unbound_as_zero(&mut self, zero: bool) -> &mut Call<'a> {
        self.unbound_as_zero = zero;
        self
    }

    /// The number that the shader sees for vertex 0 of the streams. Default: 0.
    pub fn first_vertex_id(&mut self, number: u32) -> &mut Call<'a> {
        self.first_vertex = number;
        self
    }

    /// The instance number that the shader sees. Default: 0.
    pub fn instance(&mut self, number: u32) -> &mut Call<'a> {
        self.instance = number;
        self
    }

    /// Ends runs with [`Cancelled`](crate::error::CallError::Cancelled) once the flag is set, by whichever thread:
    /// between waves of vertices, and in loops every 65 536 instructions, well under a millisecond. Outputs that were
    /// stored before stay.
    ///
    /// ```
    /// use shaderjit::error::CallError;
    /// use shaderjit::{CompileOptions, Config, Engine, Shader};
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let cancel = AtomicBool::new(true);
    /// let mut call = code.call();
    /// call.unbound_as_zero(true).cancel_on(&cancel);
    /// assert_eq!(call.run(0..3).unwrap_err(), CallError::Cancelled);
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn cancel_on(&mut self, flag: &'a AtomicBool) -> &mut Call<'a> {
        self.bounds.cancel = Some(flag);
        self
    }

    /// Ends runs with [`Cancelled`](crate::error::CallError::Cancelled) at that time. The clock is read as often as
    /// [a flag](Self::cancel_on). An access to the caller's own textures is not interrupted.
    pub fn deadline(&mut self, end: Instant) -> &mut Call<'a> {
        self.bounds.deadline = Some(end);
        self
    }

    /// Runs something with the fuel of one call.
    pub(super) fn with_fuel<R>(&self, run: impl FnOnce(Fuel<'_>) -> R) -> R {
        self.bounds.with_fuel(self.shader.prepared().limits, run)
    }

    /// Checks that the uniforms the shader reads are bound, and long enough.
    pub(super) fn check_uniforms(&self) -> Result<(), CallError> {
        for (index, decl) in self.shader.interface().uniforms.iter().enumerate() {
            let needed = self.shader.reads_bytes(index);
            match self.spaces.bytes(index) {
                _ if self.unbound_as_zero => {}
                None if self.shader.needs_uniforms(index) => {
                    return Err(CallError::MissingBinding { what: uniforms::name(decl.kind) });
                }
                Some(available) if available < needed => {
                    return Err(CallError::ShortBuffer { what: uniforms::name(decl.kind), needed, available });
                }
                _ => {}
            }
            if self.spaces.is_bound(index)
                && let Some(compiled_for) = &self.shader.prepared().function.spaces[decl.space].table
                && !self.spaces.holds(index, compiled_for)
            {
                return Err(CallError::OtherValues { what: uniforms::name(decl.kind) });
            }
        }
        Ok(())
    }

    /// Checks that the resources the shader reads are bound.
    pub(super) fn check_resources(&self) -> Result<(), CallError> {
        for (index, decl) in self.shader.interface().resources.iter().enumerate() {
            let is_given = matches!(decl.file, ResourceFile::Shared { .. }) || self.unbound_as_zero;
            if self.shader.needs_resource(index) && !self.is_resource_bound(index) && !is_given {
                return Err(CallError::MissingBinding { what: buffer::name(decl) });
            }
        }
        Ok(())
    }

    fn is_resource_bound(&self, index: usize) -> bool {
        self.resources.is_bound(index) || self.textures.is_bound(index) || self.memory.is_bound(index)
    }

    /// What each input element reads for these vertices, the first one's bytes first.
    pub(super) fn resolve_attributes(
        &self,
        vertices: &Range<u32>,
        attributes: &mut Vec<VertexBufferView<'a>>,
    ) -> Result<(), CallError> {
        for (number, element) in self.shader.interface().signature_inputs().iter().enumerate() {
            attributes.push(match self.stream(number, vertices)? {
                Some(stream) => stream,
                None if self.unbound_as_zero => zero(element),
                None => return Err(CallError::MissingBinding { what: format!("input {}", element.name()) }),
            });
        }
        self.resolve_hidden(attributes);
        Ok(())
    }

    /// What a pixel shader reads behind its signature where pixels are bound row by row: each is shaded for itself, and
    /// attributes are the same wherever in a pixel they are evaluated.
    fn resolve_hidden(&self, attributes: &mut Vec<VertexBufferView<'a>>) {
        let interface = self.shader.interface();
        let (hidden, first) =
            (interface.pixel.iter().flat_map(|pixel| &pixel.hidden), interface.signature_inputs().len());
        for (number, &hidden) in (first..).zip(hidden) {
            let element = &interface.inputs[number];
            attributes.push(match hidden {
                _ if !self.shader.reads_input(number) => zero(element),
                HiddenInput::Live => VertexBufferView::new(default_format(element), &LIVE, 0),
                HiddenInput::Value(element) => attributes[element as usize],
                HiddenInput::ReciprocalW => VertexBufferView::new(default_format(element), &ONE, 0),
                HiddenInput::ChangeX(_) | HiddenInput::ChangeY(_) | HiddenInput::Centroid => zero(element),
            });
        }
    }

    /// What is bound to an input element of the signature, the first of these vertices first. Zeros if nobody reads it,
    /// and none if nothing is bound.
    pub(super) fn stream(
        &self,
        element: usize,
        vertices: &Range<u32>,
    ) -> Result<Option<VertexBufferView<'a>>, CallError> {
        let declared = &self.shader.interface().inputs[element];
        if !self.shader.reads_input(element) {
            return Ok(Some(zero(declared)));
        }
        let Some(attribute) = &self.inputs[element] else { return Ok(None) };
        let Rows { start, stride } = attribute.rows(vertices, self.instance).map_err(|needed| {
            let what = format!("input {}", declared.name());
            CallError::ShortBuffer { what, needed, available: attribute.bytes.len() }
        })?;
        Ok(Some(VertexBufferView::new(attribute.format, &attribute.bytes[start..], stride)))
    }
}

/// Zeros for every vertex. The default format has every component, so that all of them are zero. It is also what inputs
/// nobody reads get, so that their formats make no difference to the code.
pub(super) fn zero(element: &Element) -> VertexBufferView<'static> {
    VertexBufferView::new(default_format(element), &ZEROS, 0)
}

/// PICA float uniforms as rows of a space.
fn float_rows(rows: &[[f32; 4]]) -> impl Iterator<Item = [u32; 4]> {
    rows.iter().map(|&[x, y, z, w]| [x.to_bits(), y.to_bits(), z.to_bits(), w.to_bits()])
}

/// PICA integer uniforms as rows of a space.
fn int_rows(rows: &[[u8; 4]]) -> impl Iterator<Item = [u32; 4]> {
    rows.iter().map(|row| row.map(u32::from))
}

/// PICA bool uniforms as the row of a space.
fn bool_rows(mask: u16) -> impl Iterator<Item = [u32; 4]> {
    std::iter::once([mask.into(), 0, 0, 0])
}

/// Number of vertices in a range.
pub(super) fn count(vertices: &Range<u32>) -> Result<u32, CallError> {
    let Range { start, end } = vertices;
    end.checked_sub(*start).ok_or_else(|| CallError::Invalid(format!("the range {start}..{end} ends before it begins")))
}
