//! What a sampler makes of a texture: levels, filters, comparisons, gathers.
//!
//! Filtering levels ([`AtLevels`]) is what most accesses end in, and the code of it is large: so it is a function of
//! its own, once for each kind of vectors. So is what lies beyond the edges of cubes ([`BeyondEdges`]).

use super::address::{Direction, Span, place, reduced};
use super::cube::{self, OnFaces};
use super::encode::clamped;
use super::lanes::{Texels, bounded, fixed, float, least, reduce, word};
use super::mean::{Mean, corner_of};
use super::sampler::{Precision, Reduction};
use super::view::{Plane, View};
use super::{AddressMode, Filter, SamplerState, TexelKind, TextureInfo, TextureShape};
use crate::simd::{Floats, Mask, Task, Words};
use shaderjit_ir::Op;
use shaderjit_ir::texture::Access;

/// What is asked of a texture, all but where. Code for accesses that are all [plain](is_plain) is compiled once more
/// (partial evaluation): the checks of that fold away.
pub struct Filtering<'a, F: Floats, const IS_PLAIN: bool> {
    pub view: &'a View<'a>,
    pub sampler: &'a SamplerState,
    /// How many lanes count.
    pub lanes: usize,
    /// How many components of the answer count.
    pub words: usize,
    /// Added to texels.
    pub offsets: Option<[F::Words; 3]>,
    /// For comparisons, as exact as the texels are.
    pub reference: Option<F>,
    /// The colour of the border, where coordinates may lead there.
    pub border: Option<[u32; 4]>,
}

/// Whether an access is one of those that have code of their own, because shaders have hardly any others: the mean of
/// texels of a rectangle, at places that floats say.
pub fn is_plain(access: &Access, view: &View<'_>, sampler: &SamplerState) -> bool {
    matches!(access.op, Op::SampleGradients | Op::SampleLevel)
        && access.offsets == [0; 3]
        && view.info.shape == TextureShape::D2
        && [sampler.min, sampler.mag].iter().all(|&filter| filter != Filter::Anisotropic)
        && !sampler.address_modes.contains(&AddressMode::Border)
        && sampler.reduction == Reduction::Average
        && sampler.precision == Precision::Float
}

/// Where.
#[derive(Clone, Copy)]
pub struct Position<F: Floats> {
    /// Of cubes, the place on a face.
    pub coordinates: [F; 3],
    /// Slice, or face of a cube.
    pub layer: F::Words,
}

/// How small the texels are that each lane samples.
#[derive(Clone, Copy)]
pub struct Detail<F: Floats> {
    /// The level of detail, before the sampler's bias and bounds.
    pub lod: F,
    /// The least there may be; a NaN is none.
    pub least: F,
}

/// Which filter each lane has.
#[derive(Clone, Copy)]
pub struct Kernel<F: Floats> {
    /// Half a texel for linear filters, nothing for the nearest texel.
    shift: F,
    is_linear: bool,
}

/// The texels of one level that a filter reads.
#[derive(Clone, Copy)]
struct Taps<F: Floats> {
    plane: Plane<F>,
    spans: [Span<F>; 3],
}

/// Filters N levels that there are.
struct AtLevels<'a, 'v, F: Floats, const IS_PLAIN: bool, const N: usize> {
    asked: &'a Filtering<'v, F, IS_PLAIN>,
    at: &'a Position<F>,
    levels: [F::Words; N],
    kernel: Kernel<F>,
}

impl<F: Floats, const IS_PLAIN: bool, const N: usize> Task<F> for AtLevels<'_, '_, F, IS_PLAIN, N> {
    type Output = [Texels<F>; N];

    #[inline(always)]
    fn run(self) -> [Texels<F>; N] {
        let AtLevels { asked, at, levels, kernel } = self;
        let at = &asked.reduced(at);
        // What is read of one level waits long for its addresses: those of the other are computed meanwhile.
        let mut taps = [asked.taps(at, levels[0], kernel); N];
        for level in 1..N {
            taps[level] = asked.taps(at, levels[level], kernel);
        }
        let mut filtered = [[word::<F>(0); 4]; N];
        for (filtered, taps) in filtered.iter_mut().zip(&taps) {
            *filtered = asked.filtered(taps, kernel);
        }
        filtered
    }
}

/// Reads texels of faces where some lie beyond an edge.
struct BeyondEdges<'a, 'v, F: Floats, const IS_PLAIN: bool> {
    asked: &'a Filtering<'v, F, IS_PLAIN>,
    plane: &'a Plane<F>,
    place: &'a [F::Words; 3],
}

impl<F: Floats, const IS_PLAIN: bool> Task<F> for BeyondEdges<'_, '_, F, IS_PLAIN> {
    type Output = Texels<F>;

    #[inline(always)]
    fn run(self) -> Texels<F> {
        self.asked.beyond_edges(self.plane, self.place)
    }
}

impl<F: Floats, const IS_PLAIN: bool> Filtering<'_, F, IS_PLAIN> {
    #[inline(always)]
    pub fn shape(&self) -> TextureShape {
        if IS_PLAIN { TextureShape::D2 } else { self.view.info.shape }
    }

    #[inline(always)]
    pub fn offsets(&self) -> Option<&[F::Words; 3]> {
        if IS_PLAIN { None } else { self.offsets.as_ref() }
    }

    #[inline(always)]
    fn reference(&self) -> Option<F> {
        if IS_PLAIN { None } else { self.reference }
    }

    #[inline(always)]
    fn border(&self) -> Option<[u32; 4]> {
        if IS_PLAIN { None } else { self.border }
    }

    #[inline(always)]
    fn reduction(&self) -> Reduction {
        // Comparisons are weighed, whatever a sampler says.
        if IS_PLAIN || self.reference.is_some() { Reduction::Average } else { self.sampler.reduction }
    }

    #[inline(always)]
    fn is_fixed(&self) -> bool {
        !IS_PLAIN && self.sampler.precision == Precision::Fixed8
    }

    /// Where coordinates and, behind them for arrays, slices lead.
    #[inline(always)]
    pub fn position(&self, at: &[F; 4]) -> Position<F> {
        let shape = self.shape();
        let [x, y, z, w] = *at;
        let slice = if shape.is_array() { self.view.slices(at[shape.coordinates() % 4]) } else { word::<F>(0) };
        if shape.is_cube() {
            let OnFaces { face, position: [u, v] } = cube::project([x, y, z]);
            Position { coordinates: [u, v, w], layer: slice * word::<F>(6) + face }
        } else {
            Position { coordinates: [x, y, z], layer: slice }
        }
    }

    /// Filtered at levels of detail; zeros where there is none that may be.
    #[inline(always)]
    pub fn sample(&self, at: &Position<F>, detail: Detail<F>) -> Texels<F> {
        let mut texels = self.at_lod(at, self.bounded_lod(detail));
        let has_no_level = self.has_no_level(detail.least);
        if has_no_level.any() {
            for texel in &mut texels {
                *texel = word::<F>(0).or_where_not(has_no_level, *texel);
            }
        }
        texels
    }

    /// The lanes whose access allows none of the levels that the view and the sampler have: "the result is the same out
    /// of bounds access result as the per-resource minLOD clamp" (Direct3D 11.3 functional specification, 5.9.4.5.4).
    /// Levels begin at 0, so what is not above that leaves them all.
    #[inline(always)]
    fn has_no_level(&self, least: F) -> F::Mask {
        let last = float::<F>((self.view.info.levels - 1) as f32);
        float::<F>(0.0).less(least) & (last.less(least) | float::<F>(self.sampler.max_lod).less(least))
    }

    /// Filtered at bounded levels of detail.
    #[inline(always)]
    fn at_lod(&self, at: &Position<F>, lod: F) -> Texels<F> {
        let SamplerState { min, mag, mip, .. } = *self.sampler;
        // Integers have no weights.
        let is_linear = |filter| filter != Filter::Point && !self.view.info.kind.is_integer();
        let shift = |filter| float::<F>(if is_linear(filter) { 0.5 } else { 0.0 });
        let shift = shift(min).or_where_not(float::<F>(0.0).less(lod), shift(mag));
        let kernel = Kernel { is_linear: float::<F>(0.0).less(shift).any(), shift };
        let last = (self.view.info.levels - 1) as f32;
        let level = if is_linear(mip) {
            let lod = bounded(lod, 0.0, last);
            let (weight, level) = (lod - lod.floor(), lod.to_integers());
            if float::<F>(0.0).less(weight).any() {
                let next = (level + word::<F>(1)).min(word::<F>(self.view.info.levels - 1));
                let [mut texels, others] = self.at_levels(at, [level, next], kernel);
                self.reduce(&mut texels, &others, weight);
                return texels;
            }
            level
        } else {
            bounded((lod + float(0.5)).floor(), 0.0, last).to_integers()
        };
        let [texels] = self.at_levels(at, [level], kernel);
        texels
    }

    /// Levels of detail with the sampler's bias.
    #[inline(always)]
    fn biased_lod(&self, detail: Detail<F>) -> F {
        detail.lod + float(self.sampler.lod_bias.clamp(-16.0, 15.99))
    }

    /// Biased levels between the sampler's bounds, and no less than there may be. A NaN is the upper bound.
    #[inline(always)]
    fn bounded_lod(&self, detail: Detail<F>) -> F {
        let SamplerState { min_lod, max_lod, .. } = *self.sampler;
        let lod = detail.least.max(bounded(self.biased_lod(detail), min_lod, max_lod));
        // Where it matters; what is farther out stays what it is.
        if self.is_fixed() { fixed(lod).or_where_not(lod.abs().less(float(32.0)), lod) } else { lod }
    }

    /// The level that samples are taken at, and what it is before anything bounds it (Direct3D 11.3 functional
    /// specification, 22.5.6).
    #[inline(always)]
    pub fn levels(&self, detail: Detail<F>) -> Texels<F> {
        let level = bounded(self.bounded_lod(detail), 0.0, (self.view.info.levels - 1) as f32);
        [level.bits(), self.biased_lod(detail).bits(), word::<F>(0), word::<F>(0)]
    }

    /// One component of the four texels that a linear filter reads at level 0: at the lower left, and on
    /// counterclockwise.
    #[inline(always)]
    pub fn gather(&self, at: &Position<F>, component: usize) -> Texels<F> {
        const ORDER: [usize; 4] = [2, 3, 1, 0];
        let plane = self.view.plane(self.shape(), word::<F>(0), at.layer);
        let spans = self.spans(&self.reduced(at), &plane, Kernel { shift: float(0.5), is_linear: true });
        let mut gathered = [word::<F>(0); 4];
        for (word, corner) in gathered.iter_mut().zip(ORDER) {
            let mut texels = self.tap(&plane, &spans, corner);
            self.complete(&mut texels);
            *word = texels[component % 4];
        }
        gathered
    }

    /// Those of plain accesses together, others one by one: their code is larger, and seldom runs.
    #[inline(always)]
    fn at_levels<const N: usize>(&self, at: &Position<F>, levels: [F::Words; N], kernel: Kernel<F>) -> [Texels<F>; N] {
        if IS_PLAIN {
            return F::apart(AtLevels { asked: self, at, levels, kernel });
        }
        let mut filtered = [[word::<F>(0); 4]; N];
        for (filtered, &level) in filtered.iter_mut().zip(&levels) {
            [*filtered] = F::apart(AtLevels { asked: self, at, levels: [level], kernel });
        }
        filtered
    }

    #[inline(always)]
    fn taps(&self, at: &Position<F>, level: F::Words, kernel: Kernel<F>) -> Taps<F> {
        let plane = self.view.plane(self.shape(), level, at.layer);
        Taps { plane, spans: self.spans(at, &plane, kernel) }
    }

    /// The mean of taps, or what else the sampler makes of them.
    #[inline(always)]
    fn filtered(&self, Taps { plane, spans }: &Taps<F>, kernel: Kernel<F>) -> Texels<F> {
        let directions = if kernel.is_linear { self.directions() } else { 0 };
        let is_mean = self.reference().is_none() && self.reduction() == Reduction::Average;
        if is_mean && !self.crosses_edges(plane, spans, directions) {
            return match directions {
                0 => self.mean::<1>(plane, spans, self.border()),
                1 => self.mean::<2>(plane, spans, self.border()),
                2 => self.mean::<4>(plane, spans, self.border()),
                _ => self.mean::<8>(plane, spans, self.border()),
            };
        }
        let mut texels = [word::<F>(0); 4];
        let mut sums = [texels; 3];
        for corner in 0..1 << directions {
            texels = self.tap(plane, spans, corner);
            // Corners of the box between texels, pair by pair: x, then y, then z.
            for (axis, sum) in sums.iter_mut().enumerate().take(directions) {
                if corner >> axis & 1 == 0 {
                    *sum = texels;
                    break;
                }
                self.reduce(sum, &texels, spans[axis].weight);
                texels = *sum;
            }
        }
        texels
    }

    /// The weighted mean of N corners of the box between texels.
    #[inline(always)]
    fn mean<const N: usize>(&self, plane: &Plane<F>, spans: &[Span<F>; 3], border: Option<[u32; 4]>) -> Texels<F> {
        let mut mean = Mean::new(spans, border);
        self.view.read::<F, N>(self.shape(), plane, spans, self.lanes, self.components(), &mut mean);
        mean.texels
    }

    /// How many directions have two texels.
    #[inline(always)]
    fn directions(&self) -> usize {
        let shape = self.shape();
        if shape.is_cube() { 2 } else { shape.coordinates() }
    }

    /// A place near the texture with the same texels. Places on the faces of cubes are.
    #[inline(always)]
    fn reduced(&self, at: &Position<F>) -> Position<F> {
        let mut at = *at;
        if !self.shape().is_cube() {
            let modes = self.sampler.address_modes;
            for (coordinate, mode) in at.coordinates.iter_mut().zip(modes).take(self.directions()) {
                *coordinate = reduced(*coordinate, mode);
            }
        }
        at
    }

    /// The texels of each direction at a reduced place; for cubes perhaps one beyond an edge.
    #[inline(always)]
    fn spans(&self, at: &Position<F>, plane: &Plane<F>, kernel: Kernel<F>) -> [Span<F>; 3] {
        let is_fixed = self.is_fixed();
        let is_cube = self.shape().is_cube();
        let mut spans = [Span::one(word::<F>(0)); 3];
        for (axis, span) in spans.iter_mut().enumerate().take(self.directions()) {
            let (size, coordinate) = (plane.size[axis], at.coordinates[axis]);
            *span = if is_cube {
                let (first, weight) = place(coordinate, size, kernel.shift, is_fixed);
                // The nearest texel is on the face.
                let nearest = first.max(word::<F>(0)).min(size - word::<F>(1));
                let first = nearest.or_where_not(kernel.shift.equals(float(0.0)), first);
                Span { texels: [first, first + word::<F>(1)], weight }
            } else {
                let offset = self.offsets().map(|offsets| offsets[axis]);
                let mode = self.sampler.address_modes[axis];
                let is_power_of_two = self.view.info.level_size(0)[axis].is_power_of_two();
                Direction { size, is_power_of_two, mode, offset, is_fixed }.span(coordinate, kernel.shift)
            };
        }
        spans
    }

    /// Whether texels of a cube lie beyond the edges of a face.
    #[inline(always)]
    fn crosses_edges(&self, plane: &Plane<F>, spans: &[Span<F>; 3], directions: usize) -> bool {
        let last = (1 << directions) - 1;
        self.shape().is_cube()
            && (is_beyond(plane, &corner_of(spans, 0)) | is_beyond(plane, &corner_of(spans, last))).any()
    }

    /// The texels at one corner of the spans, as what the filter takes: borders and comparisons done.
    #[inline(always)]
    fn tap(&self, plane: &Plane<F>, spans: &[Span<F>; 3], corner: usize) -> Texels<F> {
        let place = corner_of(spans, corner);
        // Plain accesses have no cubes, and nothing is compiled for them here.
        if !IS_PLAIN && self.shape().is_cube() && is_beyond(plane, &place).any() {
            return F::apart(BeyondEdges { asked: self, plane, place: &place });
        }
        self.texel(plane, place)
    }

    /// The texels of places, as what the filter takes.
    #[inline(always)]
    pub fn texel(&self, plane: &Plane<F>, place: [F::Words; 3]) -> Texels<F> {
        let [x, y, z] = place;
        let texels = self.mean::<1>(plane, &[Span::one(x), Span::one(y), Span::one(z)], self.border());
        match self.reference() {
            None => texels,
            Some(reference) => {
                let passes = self.sampler.comparison.passing(reference, texels[0].as_floats());
                [float::<F>(1.0).or_where_not(passes, float(0.0)).bits(); 4]
            }
        }
    }

    /// Texels of faces where some lie beyond an edge: on another face, or at a corner, where there is none and the mean
    /// of the three around it takes its place.
    #[inline(always)]
    fn beyond_edges(&self, plane: &Plane<F>, &[x, y, _]: &[F::Words; 3]) -> Texels<F> {
        let (last, zero) = (plane.size[0] - word::<F>(1), word::<F>(0));
        let (inside_x, inside_y) = (x.max(zero).min(last), y.max(zero).min(last));
        let is_corner = !x.equals(inside_x) & !y.equals(inside_y);
        let mut around = [[zero; 4]; 4];
        let places = [(x, y), (inside_x, inside_y), (x, inside_y), (inside_x, y)];
        let needed = if is_corner.any() { 4 } else { 1 };
        for (texels, (x, y)) in around.iter_mut().zip(places).take(needed) {
            *texels = self.on_faces(plane, x, y);
        }
        let [mut texels, first, second, third] = around;
        for (component, texel) in texels.iter_mut().enumerate() {
            let (a, b, c) = (first[component].as_floats(), second[component].as_floats(), third[component].as_floats());
            let corner = match self.sampler.reduction {
                _ if self.view.info.kind.is_integer() => a,
                Reduction::Average => (a + b + c) / float(3.0),
                Reduction::Minimum => least(least(a, b), c),
                Reduction::Maximum => least(least(a.negated(), b.negated()), c.negated()).negated(),
            };
            *texel = corner.bits().or_where_not(is_corner, *texel);
        }
        texels
    }

    /// Texels of faces or of those beyond one of their edges, lane by lane; beyond two, any.
    #[inline(always)]
    fn on_faces(&self, plane: &Plane<F>, x: F::Words, y: F::Words) -> Texels<F> {
        let (mut x, mut y) = (x.to_array(), y.to_array());
        let (mut layer, size) = (plane.layer.to_array(), plane.size[0].to_array());
        for lane in 0..F::LANES {
            let face = layer[lane] % 6;
            let found = cube::texel(face, size[lane], [x[lane] as i32, y[lane] as i32]);
            let (other, [column, row]) = found.unwrap_or((face, [0; 2]));
            (layer[lane], x[lane], y[lane]) = (layer[lane] - face + other, column, row);
        }
        let mut plane = *plane;
        plane.layer = F::Words::from_array(&layer);
        self.view.place(&mut plane);
        self.texel(&plane, [F::Words::from_array(&x), F::Words::from_array(&y), word::<F>(0)])
    }

    /// How many components a filter has to do with.
    #[inline(always)]
    pub fn components(&self) -> usize {
        if self.reference().is_some() { 1 } else { self.words.min(self.view.info.components.into()) }
    }

    /// Sets the components that are not stored, of those that count.
    #[inline(always)]
    pub fn complete(&self, texels: &mut Texels<F>) {
        let (first, components) = (texels[0], self.components());
        for (number, component) in texels.iter_mut().enumerate().skip(components) {
            let default = word::<F>(self.view.info.kind.default_component(number));
            *component = if self.reference().is_some() { first } else { default };
        }
    }

    /// Takes second texels into the first ones.
    #[inline(always)]
    pub fn reduce(&self, first: &mut Texels<F>, second: &Texels<F>, weight: F) {
        let reduction = self.reduction();
        for (first, second) in first.iter_mut().zip(second).take(self.components()) {
            *first = reduce(*first, *second, weight, reduction);
        }
    }
}

/// The lanes whose place is beyond an edge of a face.
#[inline(always)]
fn is_beyond<F: Floats>(plane: &Plane<F>, [x, y, _]: &[F::Words; 3]) -> F::Mask {
    let edge = plane.size[0];
    !x.is_below(edge) | !y.is_below(edge)
}

/// The colour of the border in the range of a format; none if a sampler never gets there.
pub fn border(sampler: &SamplerState, info: &TextureInfo) -> Option<[u32; 4]> {
    if !sampler.address_modes.contains(&AddressMode::Border) || info.shape.is_cube() {
        return None;
    }
    Some(sampler.border.map(|value| match info.kind {
        TexelKind::Float => value.to_bits(),
        TexelKind::Unorm { .. } => clamped(value, 0.0).to_bits(),
        TexelKind::Snorm { .. } => clamped(value, -1.0).to_bits(),
        TexelKind::Uint => value as u32,
        TexelKind::Sint => value as i32 as u32,
    }))
}

/// A reference as exact as texels of a kind are (Direct3D 11.3 functional specification, 22.4.19 and 3.2.3).
pub fn quantize(kind: TexelKind, reference: f32) -> f32 {
    let (least, bits) = match kind {
        TexelKind::Unorm { bits } => (0.0, bits),
        TexelKind::Snorm { bits } => (-1.0, bits - 1),
        _ => return reference,
    };
    let steps = ((1u64 << bits) - 1) as f64;
    let scaled = f64::from(clamped(reference, least)) * steps;
    (scaled + 0.5f64.copysign(scaled)).trunc() as f32 / steps as f32
}
