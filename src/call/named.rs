//! Binding by the names that the shader's source gave: variables of constant buffers, buffers, textures, samplers.

use super::bindings::Call;
use super::buffer::BufferView;
use crate::error::CallError;
use crate::frontend::{ResourceFile, UniformKind};
use crate::texture::{SamplerState, Texture};
use crate::uniform_value::{Scalar, UniformValue, spelling};
use crate::variables::Place;

impl<'a> Call<'a> {
    /// Sets a variable of a constant buffer, or a uniform register of a 3DS program, by its name. Elements and members
    /// are named as in the source: `lights[2].colour`. Where several buffers have a variable of that name, the
    /// buffer's stands in front: `frame.viewProj`.
    ///
    /// What is never set keeps its default value, or zero. Binding the whole buffer by its
    /// [slot](Self::constant_buffer) replaces what was set before.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let mut call = code.call();
    /// call.set("mvp", [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])?;
    /// call.set("mvp[3]", [0.5f32, 0.0, 0.0, 1.0])?;
    /// assert!(call.set("mvp[3]", 1.0f32).is_err());
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding), which lists the variables there are, and
    /// [`TypeMismatch`](CallError::TypeMismatch) if the value has other components, or another number of them.
    pub fn set(&mut self, name: &str, value: impl UniformValue) -> Result<&mut Call<'a>, CallError> {
        fn scalar_of<T: UniformValue>(_: &T) -> Scalar {
            T::SCALAR
        }
        let place = self.shader.prepared().variables().find(name)?;
        let scalar = scalar_of(&value);
        let (mut lengths, mut words) = (Vec::new(), Vec::new());
        value.lengths(&mut lengths);
        value.words(&mut words);
        if place.ty.scalar() != Some(scalar) || place.ty.lengths() != lengths {
            return Err(CallError::TypeMismatch {
                what: format!("variable {name}"),
                declared: place.ty.name(),
                given: spelling(scalar, &lengths),
            });
        }
        let mut bytes = vec![None; place.ty.bytes() as usize];
        for (at, word) in place.ty.places().zip(words) {
            let word: [u8; 4] = word.to_le_bytes();
            bytes[at as usize..][..4].iter_mut().zip(word).for_each(|(byte, value)| *byte = Some(value));
        }
        self.write(place, &bytes);
        Ok(self)
    }

    /// Sets a variable of any type, structs among them, to the bytes that it has in its constant buffer.
    ///
    /// # Errors
    /// [`UnknownBinding`](CallError::UnknownBinding), which lists the variables there are, and
    /// [`TypeMismatch`](CallError::TypeMismatch) if there are more or fewer bytes than it has, padding behind it left
    /// out.
    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<&mut Call<'a>, CallError> {
        let place = self.shader.prepared().variables().find(name)?;
        let size = place.ty.bytes() as usize;
        if bytes.len() != size {
            return Err(CallError::TypeMismatch {
                what: format!("variable {name}"),
                declared: format!("{} of {size} bytes", place.ty.name()),
                given: format!("{} bytes", bytes.len()),
            });
        }
        let bytes: Vec<Option<u8>> = bytes.iter().copied().map(Some).collect();
        self.write(place, &bytes);
        Ok(self)
    }

    /// Binds a buffer by its name in the source. `name[2]` is the third of an array of buffers.
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer).
    pub fn buffer_named(&mut self, name: &str, buffer: BufferView<'a>) -> Result<&mut Call<'a>, CallError> {
        let (slot, space) = self.resource_named(name)?;
        self.buffer_in_space(slot, space, buffer)
    }

    /// Binds a texture by its name in the source. `name[2]` is the third of an array of textures.
    ///
    /// # Errors
    /// As [`texture`](Self::texture).
    pub fn texture_named(&mut self, name: &str, texture: &'a dyn Texture) -> Result<&mut Call<'a>, CallError> {
        let (slot, space) = self.resource_named(name)?;
        self.texture_in_space(slot, space, texture)
    }

    /// Binds a sampler by its name in the source. `name[2]` is the third of an array of samplers.
    ///
    /// # Errors
    /// As [`sampler`](Self::sampler).
    pub fn sampler_named(&mut self, name: &str, state: SamplerState) -> Result<&mut Call<'a>, CallError> {
        let declared = &self.shader.interface().samplers;
        let places = declared.iter().map(|decl| (decl.name.as_deref(), (decl.slot, decl.space)));
        let (slot, space) = find("sampler", name, places)?;
        self.sampler_in_space(slot, space, state)
    }

    fn resource_named(&self, name: &str) -> Result<(u32, u32), CallError> {
        let declared = &self.shader.interface().resources;
        let declared = declared.iter().filter(|decl| decl.file == ResourceFile::Resource);
        find("resource", name, declared.map(|decl| (decl.name.as_deref(), (decl.slot, decl.space))))
    }

    /// Writes those bytes of a variable that are given.
    fn write(&mut self, place: Place<'_>, bytes: &[Option<u8>]) {
        let Place { space, offset, buffer, .. } = place;
        let kind = self.shader.interface().uniforms[space].kind;
        if !self.spaces.is_bound(space) {
            let defaults = buffer.defaults(space);
            self.bind_space(kind, super::uniforms::rows(&defaults)).expect("the interface has the space");
        }
        if kind == UniformKind::PicaBool {
            return self.write_bools(space, offset / 16, bytes);
        }
        let (first, last) = (offset as usize / 16, (offset as usize + bytes.len()).div_ceil(16));
        let mut rows: Vec<[u32; 4]> = (first..last).map(|row| self.spaces.row(space, row)).collect();
        for (at, byte) in (offset as usize..).zip(bytes) {
            if let Some(byte) = byte {
                let word = &mut rows[at / 16 - first][at / 4 % 4];
                let shift = at % 4 * 8;
                *word = *word & !(0xff << shift) | u32::from(*byte) << shift;
            }
        }
        self.spaces.set_rows(self.shader.interface(), space, first, &rows);
    }

    /// Sets bool registers from `first` on, of which `bytes` has a row each, in the word whose bits they are.
    fn write_bools(&mut self, space: usize, first: u32, bytes: &[Option<u8>]) {
        let mut row = self.spaces.row(space, 0);
        for (register, bytes) in (first..16).zip(bytes.chunks(16)) {
            let is_set = bytes.iter().flatten().any(|&byte| byte != 0);
            row[0] = row[0] & !(1 << register) | u32::from(is_set) << register;
        }
        self.spaces.set_rows(self.shader.interface(), space, 0, &[row]);
    }
}

/// The slot and space of what has a name. Of an array, each slot has the name.
fn find<'n>(
    what: &str,
    name: &str,
    places: impl Iterator<Item = (Option<&'n str>, (u32, u32))> + Clone,
) -> Result<(u32, u32), CallError> {
    let (base, number) = match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        Some((base, number)) => (base, number.parse::<usize>().ok()),
        None => (name, Some(0)),
    };
    let named = places.clone().filter(|(known, _)| *known == Some(base)).map(|(_, place)| place);
    let mut named: Vec<_> = named.collect();
    named.sort_unstable();
    number.and_then(|number| named.get(number).copied()).ok_or_else(|| {
        let mut known: Vec<String> = places.filter_map(|(name, _)| name.map(str::to_string)).collect();
        known.dedup();
        CallError::unknown(format!("{what} {name}"), known)
    })
}
