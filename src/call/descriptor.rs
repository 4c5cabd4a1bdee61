//! Binding by descriptor set, as shaders of SPIR-V name what they use.

use super::bindings::Call;
use super::buffer::{self, BufferView};
use super::{texture, uniforms};
use crate::error::CallError;
use crate::frontend::{ResourceKind, UniformKind};
use crate::memory::MemoryView;
use crate::texture::{SamplerState, Texture};
use std::fmt;

/// What a descriptor holds.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Descriptor<'a> {
    /// A uniform block: its bytes, which are copied.
    Block(&'a [u8]),
    /// A storage buffer that the shader only reads ([`BufferView::raw`]), or a uniform texel buffer
    /// ([`BufferView::typed`]).
    Buffer(BufferView<'a>),
    /// A storage buffer that it may write ([`MemoryView::raw`]), a storage texel buffer ([`MemoryView::typed`]), or a
    /// storage image ([`MemoryView::image`]).
    Memory(MemoryView<'a>),
    /// An image that is sampled.
    Image(&'a dyn Texture),
    /// A sampler.
    Sampler(SamplerState),
    /// An image with its sampler.
    Combined(&'a dyn Texture, SamplerState),
}

impl fmt::Debug for Descriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

impl Descriptor<'_> {
    fn describe(&self) -> &'static str {
        match self {
            Descriptor::Block(_) => "uniform block",
            Descriptor::Buffer(_) => "buffer that is read",
            Descriptor::Memory(_) => "memory that is written",
            Descriptor::Image(_) => "image",
            Descriptor::Sampler(_) => "sampler",
            Descriptor::Combined(..) => "image with a sampler",
        }
    }
}

impl<'a> Call<'a> {
    /// Binds element `index` of the descriptors at a binding of a set; 0 where there is no array. Where several
    /// variables of a shader have the binding, it is bound to each that can be it.
    ///
    /// A storage buffer is read only if its variable, or all of its block, is decorated `NonWritable`: the interface's
    /// [`ResourceDecl`](crate::ResourceDecl) says which it is.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader uses nothing there,
    /// [`ResourceMismatch`](CallError::ResourceMismatch) if it uses something else; otherwise as the calls for
    /// registers of Direct3D.
    ///
    /// ```no_run
    /// # use shaderjit::{AtomicBuffer, Call, Descriptor, MemoryView, error::CallError};
    /// # fn bind<'a>(call: &mut Call<'a>, frame: &'a [u8], result: &'a AtomicBuffer) -> Result<(), CallError> {
    /// call.descriptor(0, 0, 0, Descriptor::Block(frame))?;
    /// call.descriptor(0, 1, 0, Descriptor::Memory(MemoryView::raw(result)))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn descriptor(
        &mut self,
        set: u32,
        binding: u32,
        index: u32,
        descriptor: Descriptor<'a>,
    ) -> Result<&mut Call<'a>, CallError> {
        let interface = self.shader.interface();
        let is_there = |slot, space, element| (slot, space, element) == (binding, set, Some(index));
        let (mut bound, mut declared) = (false, None);
        for (number, decl) in interface.uniforms.iter().enumerate() {
            if decl.kind != (UniformKind::Block { set, binding, index }) {
                continue;
            }
            match descriptor {
                Descriptor::Block(bytes) => {
                    self.bind_bytes(number, bytes);
                    bound = true;
                }
                _ => declared = Some("uniform block".to_string()),
            }
        }
        for (number, decl) in interface.resources.iter().enumerate() {
            if !is_there(decl.slot, decl.space, decl.index) {
                continue;
            }
            let is_written = interface.is_written(number);
            let fits = match (descriptor, decl.kind) {
                (Descriptor::Buffer(buffer), kind) => !is_written && buffer.fits(kind),
                (Descriptor::Memory(view), kind) => is_written && view.fits(kind),
                (Descriptor::Image(image) | Descriptor::Combined(image, _), ResourceKind::Texture { shape, .. }) => {
                    !is_written && image.info().shape == shape
                }
                _ => false,
            };
            if !fits {
                declared = Some(match is_written {
                    true => format!("{} that is written", decl.kind),
                    false => decl.kind.to_string(),
                });
                continue;
            }
            match descriptor {
                Descriptor::Buffer(buffer) => self.resources.set(number, decl.kind, buffer)?,
                Descriptor::Memory(view) => {
                    view.check(|| buffer::name(decl))?;
                    self.memory.bind(number, Some(view));
                }
                Descriptor::Image(image) | Descriptor::Combined(image, _) => {
                    let info = image.info();
                    info.check().map_err(|error| CallError::Texture { what: buffer::name(decl), error })?;
                    self.textures.bind(number, image, info);
                }
                Descriptor::Block(_) | Descriptor::Sampler(_) => {}
            }
            bound = true;
        }
        for (number, decl) in interface.samplers.iter().enumerate() {
            if !is_there(decl.slot, decl.space, decl.index) {
                continue;
            }
            match descriptor {
                Descriptor::Sampler(state) | Descriptor::Combined(_, state) => {
                    texture::check_state(decl, &state)?;
                    self.textures.bind_sampler(number, state);
                    bound = true;
                }
                _ => declared = declared.or(Some("sampler".to_string())),
            }
        }
        match (bound, declared) {
            (true, _) => Ok(self),
            (false, Some(declared)) => Err(CallError::ResourceMismatch {
                what: buffer::descriptor_name(set, binding, index),
                declared,
                bound: descriptor.describe().to_string(),
            }),
            (false, None) => {
                let resources = interface.resources.iter().filter(|decl| decl.index.is_some()).map(buffer::name);
                let samplers = interface.samplers.iter().filter(|decl| decl.index.is_some()).map(texture::sampler_name);
                let blocks = interface.uniforms.iter().filter(|decl| matches!(decl.kind, UniformKind::Block { .. }));
                let blocks = blocks.map(|decl| uniforms::name(decl.kind));
                let known = blocks.chain(resources).chain(samplers);
                Err(CallError::unknown(buffer::descriptor_name(set, binding, index), known))
            }
        }
    }

    /// Binds push constants: all bytes of the block, from its byte 0 on. They are copied.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader uses none.
    pub fn push_constants(&mut self, bytes: &[u8]) -> Result<&mut Call<'a>, CallError> {
        let number = self.find_space(UniformKind::PushConstants)?;
        self.bind_bytes(number, bytes);
        Ok(self)
    }
}
