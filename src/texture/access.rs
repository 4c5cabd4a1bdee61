//! The ops of the IR on the textures and samplers of a call.

use super::filter::{Sampling, View, level_of_detail};
use super::{SamplerState, Texel, Texture, TextureInfo};
use shaderjit_ir::Op;
use shaderjit_ir::texture::{Access, LANES, Rows, TextureShape, Textures};
use std::fmt;

/// Textures and samplers by the numbers that the IR gives them. What is not bound reads 0 and has no size; a sampler
/// that is not bound is the default one.
#[derive(Clone)]
pub struct BoundTextures<'a> {
    views: Vec<Option<View<'a>>>,
    samplers: Vec<Option<SamplerState>>,
}

impl<'a> BoundTextures<'a> {
    /// Nothing is bound to so many resources and samplers.
    pub fn new(resources: usize, samplers: usize) -> BoundTextures<'a> {
        BoundTextures { views: vec![None; resources], samplers: vec![None; samplers] }
    }

    /// Binds a texture, of which `info` is right, to a resource.
    pub fn bind(&mut self, resource: usize, texture: &'a dyn Texture, info: TextureInfo) {
        self.views[resource] = Some(View::new(texture, info));
    }

    /// Binds a sampler.
    pub fn bind_sampler(&mut self, sampler: usize, state: SamplerState) {
        self.samplers[sampler] = Some(state);
    }

    /// Whether a texture is bound.
    pub fn is_bound(&self, resource: usize) -> bool {
        self.views[resource].is_some()
    }

    /// Whether a sampler is bound.
    pub fn is_sampler_bound(&self, sampler: usize) -> bool {
        self.samplers[sampler].is_some()
    }
}

impl fmt::Debug for BoundTextures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let infos = self.views.iter().map(|view| view.as_ref().map(|view| view.info));
        f.debug_list().entries(infos).entries(&self.samplers).finish()
    }
}

impl Textures for BoundTextures<'_> {
    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        let view = self.views.get(access.texture.as_u32() as usize).copied().flatten();
        let sampler = access.sampler.and_then(|sampler| *self.samplers.get(sampler.as_u32() as usize)?);
        let sampler = sampler.unwrap_or_default();
        for lane in 0..lanes.min(LANES) {
            let answer = match &view {
                Some(view) => answer(access, view, &sampler, |operand| rows.get(operand, lane)),
                None => [0; 4],
            };
            rows.set(lane, answer);
        }
    }
}

/// One lane's answer.
fn answer(access: &Access, view: &View<'_>, sampler: &SamplerState, operand: impl Fn(usize) -> [u32; 4]) -> [u32; 4] {
    let floats = |number| operand(number).map(f32::from_bits);
    let sampling = |offsets: [i32; 3]| Sampling::new(view, sampler, floats(0), offsets);
    let offsets = access.offsets.map(i32::from);
    // Six bits with a sign.
    let dynamic_offsets = |number| {
        let [u, v, ..] = operand(number).map(|word| (word as i32) << 26 >> 26);
        [u, v, 0]
    };
    match access.op {
        Op::TextureLoad => load(view, operand(0), access.offsets),
        Op::TextureSize => size(&view.info, operand(0)[0]),
        Op::TextureSamples => [view.info.samples, 0, 0, 0],
        Op::SampleLevel => sampling(offsets).sample(floats(1)[0]),
        Op::SampleGradients => {
            let lod = level_of_detail(&view.info, floats(0), [floats(1), floats(2)]);
            sampling(offsets).sample(lod)
        }
        Op::SampleCompare => sampling(offsets).comparing(floats(1)[0]).sample(0.0),
        Op::Gather => sampling(offsets).gather(access.component.into()),
        Op::GatherAt => sampling(dynamic_offsets(1)).gather(access.component.into()),
        Op::GatherCompare => sampling(offsets).comparing(floats(1)[0]).gather(0),
        Op::GatherCompareAt => sampling(dynamic_offsets(2)).comparing(floats(1)[0]).gather(0),
        op => {
            debug_assert!(false, "{op} accesses no texture");
            [0; 4]
        }
    }
}

/// The texel at an integer address; zero outside.
fn load(view: &View<'_>, address: [u32; 4], offsets: [i8; 3]) -> [u32; 4] {
    let info = &view.info;
    let (directions, number) = (info.shape.coordinates(), address[3]);
    let layer = if info.shape.is_array() { address[directions] } else { 0 };
    let (level, sample) = if info.shape.is_multisampled() { (0, number) } else { (number, 0) };
    let size = info.level_size(level);
    let place: [u32; 3] = std::array::from_fn(|axis| {
        if axis < directions { address[axis].wrapping_add_signed(offsets[axis].into()) } else { 0 }
    });
    let is_inside = level < info.levels
        && sample < info.samples
        && layer < info.layers()
        && place.iter().zip(size).all(|(&at, size)| at < size);
    match place {
        [x, y, z] if is_inside => view.texel(Texel { x, y, z, layer, level, sample }),
        _ => info.zero(),
    }
}

/// The sizes of a level, 0 if there is none; the length of an array behind them; the number of levels last.
fn size(info: &TextureInfo, level: u32) -> [u32; 4] {
    if level >= info.levels {
        return [0, 0, 0, info.levels];
    }
    let [width, height, depth] = info.level_size(level);
    let [y, z] = match info.shape {
        TextureShape::D1 => [0, 0],
        TextureShape::D1Array => [info.slices, 0],
        TextureShape::D3 => [height, depth],
        shape if shape.is_array() => [height, info.slices],
        _ => [height, 0],
    };
    [width, y, z, info.levels]
}
