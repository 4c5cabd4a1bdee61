//! Textures and samplers as a call binds them.

use super::bindings::Call;
use super::buffer;
use crate::error::CallError;
use crate::frontend::{ResourceFile, ResourceKind, SamplerDecl};
use crate::texture::{SamplerState, Texture};

impl<'a> Call<'a> {
    /// Binds the texture `t<slot>` of register space 0. An unbound one reads 0 everywhere, and has no size, if the
    /// call [asks for zeros](Self::unbound_as_zero).
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such resource,
    /// [`ResourceMismatch`](CallError::ResourceMismatch) if it declares a buffer or a texture of another shape,
    /// [`Texture`](CallError::Texture) if the texture's sizes are none.
    ///
    /// ```no_run
    /// # use shaderjit::error::Error;
    /// use shaderjit::{AddressMode, Call, Image, ImageLayout, SamplerState, TexelFormat};
    /// # fn bind<'a>(call: &mut Call<'a>, image: &'a mut Option<Image<'a>>, texels: &'a [u8]) -> Result<(), Error> {
    /// let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 256, 256);
    /// let image = image.insert(Image::new(layout, texels)?);
    /// call.texture(0, image)?.sampler(0, SamplerState::linear().address(AddressMode::Wrap))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn texture(&mut self, slot: u32, texture: &'a dyn Texture) -> Result<&mut Call<'a>, CallError> {
        self.texture_in_space(slot, 0, texture)
    }

    /// Binds the texture `t<slot>` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`texture`](Self::texture).
    pub fn texture_in_space(
        &mut self,
        slot: u32,
        space: u32,
        texture: &'a dyn Texture,
    ) -> Result<&mut Call<'a>, CallError> {
        let file = ResourceFile::Resource;
        let (index, decl) = buffer::find(&self.shader.interface().resources, file, slot, space)?;
        let (what, info) = (buffer::name(decl), texture.info());
        if !matches!(decl.kind, ResourceKind::Texture { shape, .. } if shape == info.shape) {
            let (declared, bound) = (decl.kind.to_string(), info.shape.to_string());
            return Err(CallError::ResourceMismatch { what, declared, bound });
        }
        info.check().map_err(|error| CallError::Texture { what, error })?;
        self.textures.bind(index, texture, info);
        Ok(self)
    }

    /// Binds the sampler `s<slot>` of register space 0. An unbound one is the [default](SamplerState::default)
    /// sampler if the call [asks for zeros](Self::unbound_as_zero).
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding) if the shader declares no such sampler,
    /// [`Invalid`](CallError::Invalid) if a level of detail of its state is no number.
    pub fn sampler(&mut self, slot: u32, state: SamplerState) -> Result<&mut Call<'a>, CallError> {
        self.sampler_in_space(slot, 0, state)
    }

    /// Binds the sampler `s<slot>` of a register space of shader model 5.1.
    ///
    /// # Errors
    /// As [`sampler`](Self::sampler).
    pub fn sampler_in_space(&mut self, slot: u32, space: u32, state: SamplerState) -> Result<&mut Call<'a>, CallError> {
        let declared = &self.shader.interface().samplers;
        let is_it = |decl: &SamplerDecl| (decl.slot, decl.space, decl.index) == (slot, space, None);
        let index = declared.iter().position(is_it);
        let index =
            index.ok_or_else(|| CallError::unknown(register_name(slot, space), declared.iter().map(sampler_name)))?;
        check_state(&declared[index], &state)?;
        self.textures.bind_sampler(index, state);
        Ok(self)
    }

    pub(super) fn check_samplers(&self) -> Result<(), CallError> {
        for (index, decl) in self.shader.interface().samplers.iter().enumerate() {
            if self.shader.needs_sampler(index) && !self.textures.is_sampler_bound(index) && !self.unbound_as_zero {
                return Err(CallError::MissingBinding { what: sampler_name(decl) });
            }
        }
        Ok(())
    }
}

/// Refuses a state that is none.
pub(super) fn check_state(decl: &SamplerDecl, state: &SamplerState) -> Result<(), CallError> {
    match state.objection() {
        Some(objection) => Err(CallError::Invalid(format!("{}: {objection}", sampler_name(decl)))),
        None => Ok(()),
    }
}

/// How errors name a sampler.
pub(super) fn sampler_name(decl: &SamplerDecl) -> String {
    match decl.index {
        Some(index) => buffer::descriptor_name(decl.space, decl.slot, index),
        None => register_name(decl.slot, decl.space),
    }
}

fn register_name(slot: u32, space: u32) -> String {
    match space {
        0 => format!("sampler s{slot}"),
        space => format!("sampler s{slot} of space {space}"),
    }
}
