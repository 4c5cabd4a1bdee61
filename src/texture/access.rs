//! The ops of the IR on the textures and samplers of a call, all lanes at once.

use super::address::BORDER;
use super::filter::{Detail, Filtering, border, is_plain, quantize};
use super::lanes::{Texels, float, word};
use super::view::View;
use super::{SamplerState, TexelKind, Texture, TextureInfo};
use crate::simd::{Floats, Machine, Task, Words};
use shaderjit_ir::Op;
use shaderjit_ir::texture::{Access, LANES, Rows, TextureShape, Textures};
use std::fmt;

/// Textures and samplers by the numbers that the IR gives them. What is not bound reads 0 and has no size; a sampler
/// that is not bound is the default one.
#[derive(Clone)]
pub struct BoundTextures<'a> {
    views: Vec<Option<View<'a>>>,
    samplers: Vec<Option<SamplerState>>,
    machine: Machine,
}

impl<'a> BoundTextures<'a> {
    /// Nothing is bound to so many resources and samplers.
    pub fn new(resources: usize, samplers: usize) -> BoundTextures<'a> {
        BoundTextures { views: vec![None; resources], samplers: vec![None; samplers], machine: Machine::detect() }
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
        let lanes = lanes.min(LANES);
        let Some(Some(view)) = self.views.get(access.texture.as_u32() as usize) else {
            return (0..lanes).for_each(|lane| rows.set(lane, [0; 4]));
        };
        let sampler = access.sampler.and_then(|sampler| self.samplers.get(sampler.as_u32() as usize)?.as_ref());
        const DEFAULT: SamplerState = SamplerState::DEFAULT;
        Asked { access, view, sampler: sampler.unwrap_or(&DEFAULT), lanes, rows }.answer(self.machine);
    }
}

/// One access, which replaces the first operand by its answer: as many lanes at a time as a vector has.
pub struct Asked<'a> {
    pub access: &'a Access,
    pub view: &'a View<'a>,
    pub sampler: &'a SamplerState,
    /// How many count, at most [`LANES`].
    pub lanes: usize,
    pub rows: &'a mut Rows,
}

impl Asked<'_> {
    /// Replaces the first operand.
    pub fn answer(self, machine: Machine) {
        if is_plain(self.access, self.view, self.sampler) {
            machine.run(Answer::<true>(self));
        } else {
            machine.run(Answer::<false>(self));
        }
    }
}

/// Answers as many lanes at a time as a vector has.
struct Answer<'a, const IS_PLAIN: bool>(Asked<'a>);

impl<F: Floats, const IS_PLAIN: bool> Task<F> for Answer<'_, IS_PLAIN> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let asked = self.0;
        for first in (0..asked.lanes).step_by(F::LANES) {
            let operands = Operands { rows: asked.rows, first };
            let texels = asked.answers::<F, IS_PLAIN>(asked.lanes - first, &operands);
            for (word, texels) in asked.rows.0[0].iter_mut().zip(texels).take(asked.access.words.into()) {
                word[first..first + F::LANES].copy_from_slice(&texels.to_array()[..F::LANES]);
            }
        }
    }
}

/// The operands of as many lanes as a vector has.
struct Operands<'r> {
    rows: &'r Rows,
    first: usize,
}

impl Operands<'_> {
    /// One word of an operand.
    #[inline(always)]
    fn word<F: Floats>(&self, operand: usize, word: usize) -> F::Words {
        let all = &self.rows.0[operand][word];
        if F::LANES == LANES {
            return F::Words::from_array(all);
        }
        let mut array = [0; _];
        array[..F::LANES].copy_from_slice(&all[self.first..self.first + F::LANES]);
        F::Words::from_array(&array)
    }

    #[inline(always)]
    fn words<F: Floats>(&self, operand: usize) -> Texels<F> {
        let mut words = [word::<F>(0); 4];
        for (number, word) in words.iter_mut().enumerate() {
            *word = self.word::<F>(operand, number);
        }
        words
    }

    #[inline(always)]
    fn floats<F: Floats>(&self, operand: usize) -> [F; 4] {
        let [x, y, z, w] = self.words::<F>(operand);
        [x.as_floats(), y.as_floats(), z.as_floats(), w.as_floats()]
    }
}

impl Asked<'_> {
    /// The answer for as many lanes as a vector has, of which the first ones count.
    #[inline(always)]
    fn answers<F: Floats, const IS_PLAIN: bool>(&self, lanes: usize, operands: &Operands<'_>) -> Texels<F> {
        let Asked { access, view, sampler, .. } = self;
        let compares = !IS_PLAIN
            && matches!(
                access.op,
                Op::SampleCompare | Op::SampleCompareGradients | Op::GatherCompare | Op::GatherCompareAt
            );
        let offsets = match access.op {
            _ if IS_PLAIN => None,
            Op::GatherAt | Op::GatherCompareAt => {
                let [u, v, ..] = operands.words::<F>(if compares { 2 } else { 1 });
                // Six bits with a sign.
                Some([u.shl(26).sar(26), v.shl(26).sar(26), word::<F>(0)])
            }
            _ if access.offsets == [0; 3] => None,
            _ => {
                let [x, y, z] = access.offsets.map(|offset| i32::from(offset) as u32);
                Some([word::<F>(x), word::<F>(y), word::<F>(z)])
            }
        };
        let reference = compares.then(|| quantized(view.info.kind, operands.word::<F>(1, 0)));
        let border = if IS_PLAIN || access.op == Op::TextureLoad { None } else { border(sampler, &view.info) };
        // What is gathered may be any component.
        let words = if is_gather(access.op) { 4 } else { access.words.into() };
        let filtering = Filtering::<F, IS_PLAIN> { view, sampler, lanes, words, offsets, reference, border };
        let mut texels = match access.op {
            Op::SampleGradients => {
                let changes = [&operands.floats(1), &operands.floats(2)];
                filtering.sample_gradients(&operands.floats(0), changes)
            }
            Op::SampleLevel | Op::SampleCompare => {
                let lod = if compares { float(0.0) } else { operands.word::<F>(1, 0).as_floats() };
                let detail = Detail { lod, least: float(0.0) };
                filtering.sample(&filtering.position(&operands.floats(0)), detail)
            }
            op if IS_PLAIN => {
                debug_assert!(false, "{op} is not plain");
                return [word::<F>(0); 4];
            }
            Op::TextureLoad => load(&filtering, &operands.words::<F>(0)),
            Op::TextureSize => return sizes::<F>(&view.info, operands.word::<F>(0, 0)),
            Op::TextureSamples => return [word::<F>(view.info.samples), word::<F>(0), word::<F>(0), word::<F>(0)],
            Op::SampleCompareGradients => {
                let changes = [&operands.floats(2), &operands.floats(3)];
                filtering.sample_gradients(&operands.floats(0), changes)
            }
            Op::TextureLod => {
                let changes = [&operands.floats(1), &operands.floats(2)];
                return filtering.levels(filtering.detail(&operands.floats(0), changes));
            }
            op if is_gather(op) => {
                let component = if compares { 0 } else { access.component.into() };
                return filtering.gather(&filtering.position(&operands.floats(0)), component);
            }
            op => {
                debug_assert!(false, "{op} accesses no texture");
                return [word::<F>(0); 4];
            }
        };
        filtering.complete(&mut texels);
        texels
    }
}

fn is_gather(op: Op) -> bool {
    matches!(op, Op::Gather | Op::GatherAt | Op::GatherCompare | Op::GatherCompareAt)
}

/// References as exact as texels of a kind are.
#[inline(always)]
fn quantized<F: Floats>(kind: TexelKind, references: F::Words) -> F {
    if !matches!(kind, TexelKind::Unorm { .. } | TexelKind::Snorm { .. }) {
        return references.as_floats();
    }
    let exact = references.to_array().map(|reference| quantize(kind, f32::from_bits(reference)).to_bits());
    F::Words::from_array(&exact).as_floats()
}

/// The texels at integer addresses; zeros outside.
#[inline(always)]
fn load<F: Floats, const IS_PLAIN: bool>(asked: &Filtering<'_, F, IS_PLAIN>, address: &Texels<F>) -> Texels<F> {
    let info = &asked.view.info;
    let (directions, number, zero) = (info.shape.coordinates(), address[3], word::<F>(0));
    let (level, sample) = if info.shape.is_multisampled() { (zero, number) } else { (number, zero) };
    let layer = if info.shape.is_array() { address[directions % 4] } else { zero };
    let is_there = level.is_below(word::<F>(info.levels)) & layer.is_below(word::<F>(info.layers()));
    let mut is_inside = is_there & sample.is_below(word::<F>(info.samples));
    let [level, layer] = [level, layer].map(|number| number.or_where_not(is_inside, zero));
    let plane = asked.view.plane::<F>(info.shape, level, layer);
    let mut place = [zero; 3];
    for (axis, place) in place.iter_mut().enumerate().take(directions) {
        *place = match asked.offsets() {
            None => address[axis],
            Some(offsets) => address[axis] + offsets[axis],
        };
        is_inside = is_inside & place.is_below(plane.size[axis]);
    }
    let x = place[0] * word::<F>(info.samples) + sample;
    asked.texel(&plane, [x.or_where_not(is_inside, word::<F>(BORDER)), place[1], place[2]])
}

/// The sizes of levels, 0 if there is none; the length of an array behind them; the number of levels last.
fn sizes<F: Floats>(info: &TextureInfo, levels: F::Words) -> Texels<F> {
    let mut sizes = [[0; LANES]; 3];
    for (lane, &level) in levels.to_array().iter().enumerate().filter(|&(_, &level)| level < info.levels) {
        let [width, height, depth] = info.level_size(level);
        let [y, z] = match info.shape {
            TextureShape::D1 => [0, 0],
            TextureShape::D1Array => [info.slices, 0],
            TextureShape::D3 => [height, depth],
            shape if shape.is_array() => [height, info.slices],
            _ => [height, 0],
        };
        [sizes[0][lane], sizes[1][lane], sizes[2][lane]] = [width, y, z];
    }
    let [width, y, z] = sizes.map(|sizes| F::Words::from_array(&sizes));
    [width, y, z, word::<F>(info.levels)]
}
