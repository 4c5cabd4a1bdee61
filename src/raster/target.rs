//! Render targets and depth buffers, in tiles: each tile's pixels lie together, so that a thread has all it writes to
//! itself.

use super::state::MAX_TARGETS;
use crate::error::RasterError;
use crate::texture::{Image, ImageLayout, TexelFormat, TexelKind};

/// Pixels of a tile's edge.
pub(super) const TILE: usize = 64;

/// 16ths of a pixel from its centre, to the right and downwards.
pub(super) type SamplePosition = [i8; 2];

/// Most pixels of an edge (`D3D11_REQ_TEXTURE2D_U_OR_V_DIMENSION`).
const MAX_SIZE: u32 = 16384;

/// Most slices (`D3D11_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION`).
const MAX_LAYERS: u32 = 2048;

/// How depths and stencils are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepthFormat {
    /// 16 bits, 0 to 65535 as 0.0 to 1.0.
    D16Unorm,
    /// 24 bits, and 8 of stencil.
    D24UnormS8Uint,
    /// 32-bit floats.
    D32Float,
    /// 32-bit floats, and 8 bits of stencil.
    D32FloatS8Uint,
}

impl DepthFormat {
    /// Whether there are stencils.
    pub fn has_stencil(self) -> bool {
        matches!(self, DepthFormat::D24UnormS8Uint | DepthFormat::D32FloatS8Uint)
    }

    /// The largest code, of formats that have codes.
    pub(super) fn codes(self) -> Option<f32> {
        match self {
            DepthFormat::D16Unorm => Some(65_535.0),
            DepthFormat::D24UnormS8Uint => Some(16_777_215.0),
            DepthFormat::D32Float | DepthFormat::D32FloatS8Uint => None,
        }
    }

    /// What is stored of a depth: a code, which a float holds exactly, or the depth.
    pub(super) fn store(self, depth: f32) -> f32 {
        match self.codes() {
            Some(codes) => (f64::from(depth.clamp(0.0, 1.0)) * f64::from(codes) + 0.5) as u32 as f32,
            None => depth,
        }
    }

    fn load(self, stored: f32) -> f32 {
        self.codes().map_or(stored, |codes| (f64::from(stored) / f64::from(codes)) as f32)
    }
}

/// What the targets of a draw are. All have one size.
///
/// ```
/// use shaderjit::TexelFormat;
/// use shaderjit::raster::{DepthFormat, TargetLayout, Targets};
///
/// let layout = TargetLayout::new(640, 480).samples(4).color(TexelFormat::Rgba8Unorm).depth(DepthFormat::D32Float);
/// let mut targets = Targets::new(&layout)?;
/// targets.clear_color(0, [0.2, 0.2, 0.3, 1.0]);
/// # Ok::<(), shaderjit::error::RasterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLayout {
    width: u32,
    height: u32,
    layers: u32,
    samples: u32,
    colors: [Option<TexelFormat>; MAX_TARGETS],
    depth: Option<DepthFormat>,
}

impl TargetLayout {
    /// So many pixels, and no target yet: a shader that writes memory needs none.
    pub fn new(width: u32, height: u32) -> TargetLayout {
        TargetLayout { width, height, layers: 1, samples: 1, colors: [None; MAX_TARGETS], depth: None }
    }

    /// So many samples in a pixel: 1, 2, 4, 8 or 16, at Direct3D's standard positions.
    pub fn samples(mut self, samples: u32) -> TargetLayout {
        self.samples = samples;
        self
    }

    /// So many slices, of which `SV_RenderTargetArrayIndex` chooses: an array's, or the six of a cube.
    pub fn layers(mut self, layers: u32) -> TargetLayout {
        self.layers = layers;
        self
    }

    /// One more target, in the first slot that has none. Behind the eighth they are left out.
    pub fn color(self, format: TexelFormat) -> TargetLayout {
        match self.colors.iter().position(Option::is_none) {
            Some(slot) => self.color_at(slot, format),
            None => self,
        }
    }

    /// A target in that slot, 0 to 7.
    pub fn color_at(mut self, slot: usize, format: TexelFormat) -> TargetLayout {
        if let Some(place) = self.colors.get_mut(slot) {
            *place = Some(format);
        }
        self
    }

    /// With a depth buffer.
    pub fn depth(mut self, format: DepthFormat) -> TargetLayout {
        self.depth = Some(format);
        self
    }

    /// The format of a target.
    pub fn format(&self, slot: usize) -> Option<TexelFormat> {
        self.colors.get(slot).copied().flatten()
    }

    pub(super) fn depth_format(&self) -> Option<DepthFormat> {
        self.depth
    }

    pub(super) fn sample_count(&self) -> u32 {
        self.samples
    }

    /// Pixels in x and y.
    pub fn size(&self) -> [u32; 2] {
        [self.width, self.height]
    }

    pub(super) fn layer_count(&self) -> u32 {
        self.layers
    }

    fn check(&self) -> Result<(), RasterError> {
        let number = |what: &'static str, value: u32, most: u32| match value {
            0 => Err(RasterError::Target { what: format!("the {what} of the targets is 0") }),
            value if value > most => Err(RasterError::Target { what: format!("{what} is {value}; {most} can be") }),
            _ => Ok(()),
        };
        number("width", self.width, MAX_SIZE)?;
        number("height", self.height, MAX_SIZE)?;
        number("number of layers", self.layers, MAX_LAYERS)?;
        if !matches!(self.samples, 1 | 2 | 4 | 8 | 16) {
            let what = format!("{} samples in a pixel; there can be 1, 2, 4, 8 or 16", self.samples);
            return Err(RasterError::Target { what });
        }
        match self.colors.iter().flatten().find(|format| !format.can_be_rendered()) {
            Some(format) => Err(RasterError::Target { what: format!("nothing is rendered as {}", format.name()) }),
            None => Ok(()),
        }
    }

    /// Tiles in x and y.
    pub(super) fn tiles(&self) -> [usize; 2] {
        [self.width, self.height].map(|size| (size as usize).div_ceil(TILE))
    }
}

/// The pixels of a tile: row by row, the samples of a pixel one after the other. Tiles at the edge are whole, too.
pub(super) struct Tile {
    /// In their formats; empty where there is no target.
    pub colors: [Vec<u8>; MAX_TARGETS],
    /// As [`DepthFormat::store`] makes them; empty if there is no depth buffer.
    pub depths: Vec<f32>,
    /// Empty if there are none.
    pub stencils: Vec<u8>,
}

/// Targets that a pipeline draws to. Colours are undefined to begin with: 0; depths are 1, stencils 0.
pub struct Targets {
    layout: TargetLayout,
    /// Layer by layer, row by row.
    tiles: Vec<Tile>,
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Targets").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl Targets {
    /// Memory for targets.
    ///
    /// # Errors
    /// Sizes or formats that no target has, or more memory than there is.
    pub fn new(layout: &TargetLayout) -> Result<Targets, RasterError> {
        layout.check()?;
        let [across, down] = layout.tiles();
        let count = across * down * layout.layers as usize;
        let samples = TILE * TILE * layout.samples as usize;
        let sample_bytes = layout.colors.iter().flatten().map(|format| format.bytes()).sum::<usize>()
            + layout.depth.map_or(0, |depth| 4 + usize::from(depth.has_stencil()));
        let huge = || RasterError::Target { what: "the targets are larger than memory".to_string() };
        let bytes =
            count.checked_mul(samples).and_then(|samples| samples.checked_mul(sample_bytes)).ok_or_else(huge)?;
        // Asked for once as a whole, so that what cannot be had is an error and no abort.
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| huge())?;
        let tile = || Tile {
            colors: layout.colors.map(|format| vec![0; samples * format.map_or(0, TexelFormat::bytes)]),
            depths: layout.depth.map_or(Vec::new(), |format| vec![format.store(1.0); samples]),
            stencils: vec![0; if layout.depth.is_some_and(DepthFormat::has_stencil) { samples } else { 0 }],
        };
        Ok(Targets { layout: layout.clone(), tiles: (0..count).map(|_| tile()).collect() })
    }

    /// Sizes and formats.
    pub fn layout(&self) -> &TargetLayout {
        &self.layout
    }

    pub(super) fn tiles_mut(&mut self) -> &mut [Tile] {
        &mut self.tiles
    }

    /// Sets every sample of a target. Of integers, the values are converted to them.
    pub fn clear_color(&mut self, slot: usize, color: [f32; 4]) {
        let Some(format) = self.layout.format(slot) else { return };
        self.clear_color_bits(
            slot,
            match format.kind() {
                TexelKind::Uint => color.map(|value| value as u32),
                TexelKind::Sint => color.map(|value| value as i32 as u32),
                _ => color.map(f32::to_bits),
            },
        );
    }

    /// As [`clear_color`](Self::clear_color), with the components' bits.
    pub fn clear_color_bits(&mut self, slot: usize, bits: [u32; 4]) {
        let Some(format) = self.layout.format(slot) else { return };
        let element = format.encode(bits).map(u32::to_le_bytes);
        let Some(Tile { colors, .. }) = self.tiles.first() else { return };
        let tile = element.as_flattened()[..format.bytes()].repeat(colors[slot].len() / format.bytes());
        self.tiles.iter_mut().for_each(|it| it.colors[slot].copy_from_slice(&tile));
    }

    /// Sets every depth, 0 to 1.
    pub fn clear_depth(&mut self, depth: f32) {
        let Some(format) = self.layout.depth else { return };
        self.tiles.iter_mut().for_each(|tile| tile.depths.fill(format.store(depth)));
    }

    /// Sets every stencil.
    pub fn clear_stencil(&mut self, stencil: u8) {
        self.tiles.iter_mut().for_each(|tile| tile.stencils.fill(stencil));
    }

    /// The tile of a pixel, and the number of one of its samples there.
    fn place(&self, layer: u32, [x, y]: [u32; 2], sample: u32) -> Option<(&Tile, usize)> {
        let TargetLayout { width, height, layers, samples, .. } = self.layout;
        if x >= width || y >= height || layer >= layers || sample >= samples {
            return None;
        }
        let [across, down] = self.layout.tiles();
        let [x, y] = [x as usize, y as usize];
        let tile = (layer as usize * down + y / TILE) * across + x / TILE;
        Some((&self.tiles[tile], ((y % TILE) * TILE + x % TILE) * samples as usize + sample as usize))
    }

    /// The bits of a sample's components, as a shader would load them; `None` outside of the target.
    pub fn color(&self, slot: usize, layer: u32, pixel: [u32; 2], sample: u32) -> Option<[u32; 4]> {
        let format = self.layout.format(slot)?;
        let (tile, place) = self.place(layer, pixel, sample)?;
        Some(format.decode(&tile.colors[slot][place * format.bytes()..]))
    }

    /// A sample's depth.
    pub fn depth(&self, layer: u32, pixel: [u32; 2], sample: u32) -> Option<f32> {
        let format = self.layout.depth?;
        let (tile, place) = self.place(layer, pixel, sample)?;
        Some(format.load(tile.depths[place]))
    }

    /// A sample's stencil.
    pub fn stencil(&self, layer: u32, pixel: [u32; 2], sample: u32) -> Option<u8> {
        let (tile, place) = self.place(layer, pixel, sample)?;
        tile.stencils.get(place).copied()
    }

    /// The pixels of a slice of a target, row by row: the bits of the components' means over the samples (a resolve by
    /// the standard's box filter); of integers, those of the first sample.
    pub fn resolved(&self, slot: usize, layer: u32) -> Vec<[u32; 4]> {
        let TargetLayout { width, height, samples, .. } = self.layout;
        let Some(format) = self.layout.format(slot).filter(|_| layer < self.layout.layers) else { return Vec::new() };
        let mean = |pixel: [u32; 2]| {
            let colors = (0..samples).filter_map(|sample| self.color(slot, layer, pixel, sample));
            if samples == 1 || format.kind().is_integer() {
                return colors.take(1).next().unwrap_or_default();
            }
            let sum = colors.fold([0.0f32; 4], |sum, color| {
                std::array::from_fn(|component| sum[component] + f32::from_bits(color[component]))
            });
            sum.map(|sum| (sum / samples as f32).to_bits())
        };
        (0..height).flat_map(|y| (0..width).map(move |x| [x, y])).map(mean).collect()
    }

    /// A copy of a target that shaders can read; `None` if there is no target in that slot.
    pub fn image(&self, slot: usize) -> Option<Image<'static>> {
        let format = self.layout.format(slot)?;
        let TargetLayout { width, height, layers, samples, .. } = self.layout;
        let layout = match samples {
            1 => ImageLayout::texture_2d(format, width, height),
            samples => ImageLayout::texture_2d_ms(format, width, height, samples),
        };
        let layout = if layers == 1 { layout } else { layout.slices(layers) };
        Some(Image::new(layout, self.color_bytes(slot)).expect("targets have the sizes of textures"))
    }

    /// The bytes of a target in its format: layer by layer, row by row, the samples of a pixel one after the other.
    pub fn color_bytes(&self, slot: usize) -> Vec<u8> {
        let Some(format) = self.layout.format(slot) else { return Vec::new() };
        self.in_rows(|tile| &tile.colors[slot], format.bytes())
    }

    /// Depths in the order of [`color_bytes`](Self::color_bytes).
    pub fn depths(&self) -> Vec<f32> {
        let Some(format) = self.layout.depth else { return Vec::new() };
        self.in_rows(|tile| &tile.depths, 1).into_iter().map(|stored| format.load(stored)).collect()
    }

    /// Stencils in the order of [`color_bytes`](Self::color_bytes).
    pub fn stencils(&self) -> Vec<u8> {
        if self.layout.depth.is_some_and(DepthFormat::has_stencil) {
            self.in_rows(|tile| &tile.stencils, 1)
        } else {
            Vec::new()
        }
    }

    /// What tiles have of each sample, so many items, in the order of the target's rows.
    fn in_rows<T: Copy>(&self, of: impl Fn(&Tile) -> &Vec<T>, items: usize) -> Vec<T> {
        let TargetLayout { width, height, layers, samples, .. } = self.layout;
        let ([across, down], pixel) = (self.layout.tiles(), items * samples as usize);
        let mut rows = Vec::with_capacity(width as usize * height as usize * layers as usize * pixel);
        for layer in 0..layers as usize {
            for y in 0..height as usize {
                for column in 0..across {
                    let tile = of(&self.tiles[(layer * down + y / TILE) * across + column]);
                    let start = y % TILE * TILE * pixel;
                    let columns = (width as usize - column * TILE).min(TILE);
                    rows.extend_from_slice(&tile[start..start + columns * pixel]);
                }
            }
        }
        rows
    }
}
