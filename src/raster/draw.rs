//! Draws: the states together, and the way of primitives through them.

use super::bins::{Bins, Grid};
use super::blend::Writer;
use super::depth::DepthStencil;
use super::geometry::{Geometry, Placed, Shapes, View};
use super::link::{Link, Program};
use super::state::{Blend, BlendState, DepthStencilState, MAX_VIEWPORTS, Mix, RasterizerState, Scissor, Viewport};
use super::target::{Targets, Tile};
use super::threads::each;
use super::tile::{DrawStatistics, Memory, Order, Painting, QUADS};
use super::vertices::{ShadedVertices, SystemValues};
use crate::assembly::Topology;
use crate::call::Call;
use crate::error::{CallError, RasterError};
use crate::frontend::pixel::sample_positions;
use crate::simd::Machine;
use std::cmp::Reverse;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// Primitives that become shapes in one job.
const STRETCH: usize = 2048;

/// Stretches whose shapes are kept at once, for each thread that paints: so few that most of them are still in its
/// second-level cache when they are painted, which is in the order of tiles and not in theirs.
const STRETCHES: usize = 10;

/// Those of all threads together.
const MOST_STRETCHES: usize = 256;

/// Vertices that are placed in one job.
const VERTICES: usize = 8192;

/// Assembled primitives: rows of vertices, by [`Topology::assemble`] or in any other way.
#[derive(Clone, Copy, Debug)]
pub struct Primitives<'p> {
    corners: usize,
    rows: &'p [u32],
    ids: &'p [u32],
}

impl<'p> Primitives<'p> {
    /// A point for each row.
    pub fn points(rows: &'p [u32]) -> Primitives<'p> {
        Primitives { corners: 1, rows, ids: &[] }
    }

    /// A line for every two rows.
    pub fn lines(rows: &'p [u32]) -> Primitives<'p> {
        Primitives { corners: 2, rows, ids: &[] }
    }

    /// A triangle for every three rows.
    pub fn triangles(rows: &'p [u32]) -> Primitives<'p> {
        Primitives { corners: 3, rows, ids: &[] }
    }

    /// Points, lines or triangles of an assembled topology without neighbours; `None` for others.
    pub fn of(topology: Topology, rows: &'p [u32]) -> Option<Primitives<'p>> {
        match topology {
            Topology::PointList => Some(Primitives::points(rows)),
            Topology::LineList | Topology::LineStrip => Some(Primitives::lines(rows)),
            Topology::TriangleList | Topology::TriangleStrip => Some(Primitives::triangles(rows)),
            _ => None,
        }
    }

    /// With what `SV_PrimitiveID` says of each; those without an entry have their place.
    pub fn ids(self, ids: &'p [u32]) -> Primitives<'p> {
        Primitives { ids, ..self }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows.len() / self.corners
    }
}

/// The states of a draw. Its [`Default`] is Direct3D's, with a viewport that is the whole target.
///
/// ```
/// use shaderjit::raster::{DepthFormat, DepthStencilState, Pipeline, Primitives};
/// use shaderjit::raster::{ShadedVertices, TargetLayout, Targets};
/// use shaderjit::{Comparison, CompileOptions, Config, Engine, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/pipe_two/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// let mut call = code.call();
/// let outputs = call.unbound_as_zero(true).run(0..3)?;
///
/// let mut targets = Targets::new(&TargetLayout::new(64, 64).depth(DepthFormat::D32Float))?;
/// let pipeline =
///     Pipeline { depth_stencil: DepthStencilState::depth(Comparison::LessEqual), ..Pipeline::default() };
/// // Depths alone, without a pixel shader.
/// pipeline.draw(ShadedVertices::from(&outputs), Primitives::triangles(&[0, 1, 2]), None, &mut targets)?;
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// How primitives become pixels.
    pub rasterizer: RasterizerState,
    /// What is tested and written of depth and stencil.
    pub depth_stencil: DepthStencilState,
    /// What the stencil test compares with.
    pub stencil_reference: u8,
    /// What becomes of colours.
    pub blend: BlendState,
    /// Samples that are drawn, sample 0 in bit 0.
    pub sample_mask: u32,
    /// At most 16, of which `SV_ViewportArrayIndex` chooses. None is one over the whole target.
    pub viewports: Vec<Viewport>,
    /// One entry a viewport; where there is none, nothing is drawn if the rasteriser cuts with scissors.
    pub scissors: Vec<Scissor>,
    /// Whether attributes and depths are interpolated over positions as they are before they are rounded to 256ths of a
    /// pixel. Direct3D asks for the others (3.4.1); some executors do this, and it shows on small targets.
    pub exact_planes: bool,
    /// How many threads draw. Results do not depend on it.
    pub threads: NonZero<usize>,
}

impl Default for Pipeline {
    /// On as many threads as the machine runs at once.
    fn default() -> Pipeline {
        Pipeline {
            rasterizer: RasterizerState::default(),
            depth_stencil: DepthStencilState::default(),
            stencil_reference: 0,
            blend: BlendState::default(),
            sample_mask: u32::MAX,
            viewports: Vec::new(),
            scissors: Vec::new(),
            exact_planes: false,
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        }
    }
}

impl Pipeline {
    /// Draws primitives of shaded vertices. Their colours are the pixel shader's; without one only depth and stencil
    /// are written. Attributes are found among the vertices' elements by semantic.
    ///
    /// Rows that there are not make no primitive. Where a depth or a colour has no place in the targets, it is dropped.
    ///
    /// # Errors
    /// [`State`](RasterError::State) for viewports and states that Direct3D does not accept,
    /// [`Vertices`](RasterError::Vertices) if they have no position, [`Link`](RasterError::Link) if an attribute is not
    /// among their elements, [`NoPixelShader`](RasterError::NoPixelShader), and [`Call`](RasterError::Call) with what
    /// the shader's runs end with; what was drawn before stays then.
    pub fn draw(
        &self,
        vertices: ShadedVertices<'_>,
        primitives: Primitives<'_>,
        pixels: Option<&Call<'_>>,
        targets: &mut Targets,
    ) -> Result<DrawStatistics, RasterError> {
        self.draw_watched(vertices, primitives, pixels, targets, &|_| {})
    }

    /// As [`draw`](Self::draw), and tells from whichever thread how much of it is done, 0 to 1.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn draw_watched(
        &self,
        vertices: ShadedVertices<'_>,
        primitives: Primitives<'_>,
        pixels: Option<&Call<'_>>,
        targets: &mut Targets,
        progress: &(dyn Fn(f32) + Sync),
    ) -> Result<DrawStatistics, RasterError> {
        let layout = targets.layout().clone();
        let views = self.views(layout.size())?;
        let program =
            pixels.map(|call| Program::new(call, 4 * (QUADS + layout.sample_count() as usize))).transpose()?;
        let link = match &pixels {
            Some(call) => Link::new(call.shader(), &vertices)?,
            None => Link::default(),
        };
        let depth = DepthStencil::new(layout.depth_format(), &self.depth_stencil);
        self.check(&layout)?;
        let is_early = program.as_ref().is_none_or(|program| {
            let is_forced = program.interface.early_depth_stencil;
            program.lets_test_early() && (is_forced || !self.blend.alpha_to_coverage)
        });
        let moves_depth = |program: &Program<'_, '_>| program.depth.is_some() || program.interface.writes_memory;
        let order = match (&program, &depth) {
            _ if is_early => Order::Early,
            (Some(program), Some(depth)) if depth.fails_for_good() && !moves_depth(program) => Order::Pruned,
            _ => Order::Late,
        };
        let writers = std::array::from_fn(|slot| {
            let writer = Writer::new(layout.format(slot)?, self.blend.targets[slot], self.blend.factor);
            (!writer.is_idle()).then_some(writer)
        });
        let samples = sample_positions(layout.sample_count());
        let painting = Painting {
            vertices,
            link: &link,
            program: program.as_ref(),
            views: &views,
            samples,
            sample_mask: self.sample_mask as u16,
            depth,
            order,
            stencil_reference: self.stencil_reference,
            writers,
            is_dual: self.is_dual(),
            alpha_to_coverage: self.blend.alpha_to_coverage,
            machine: Machine::detect(),
        };
        let values = SystemValues::of(&vertices)?;
        let geometry =
            Geometry { vertices, values, state: &self.rasterizer, views: views.clone(), layout: &layout, link: &link };
        let draw = Draw { geometry, painting, primitives, threads: self.threads.get(), progress };
        let mut statistics = draw.run(targets.tiles_mut())?;
        statistics.primitives = primitives.count() as u64;
        Ok(statistics)
    }

    fn views(&self, size: [u32; 2]) -> Result<Vec<View>, RasterError> {
        let state = |what: String| RasterError::State { what };
        let whole = [Viewport::new(size[0], size[1])];
        let viewports = if self.viewports.is_empty() { &whole[..] } else { &self.viewports[..] };
        if viewports.len() > MAX_VIEWPORTS {
            return Err(state(format!("{} viewports; {MAX_VIEWPORTS} can be", viewports.len())));
        }
        if let Some(number) = viewports.iter().position(|viewport| !viewport.is_valid()) {
            return Err(state(format!("viewport {number} is out of range: {:?}", viewports[number])));
        }
        let nothing = Scissor::default();
        let view = |(number, viewport): (usize, &Viewport)| {
            let scissor = self.rasterizer.scissor.then(|| self.scissors.get(number).unwrap_or(&nothing));
            View::new(*viewport, scissor, size, self.exact_planes)
        };
        Ok(viewports.iter().enumerate().map(view).collect())
    }

    /// Whether the shader's second output is a source of blending.
    fn is_dual(&self) -> bool {
        let is_second = |blend: Blend| {
            use Blend::{InverseSource1Alpha, InverseSource1Color, Source1Alpha, Source1Color};
            matches!(blend, Source1Color | InverseSource1Color | Source1Alpha | InverseSource1Alpha)
        };
        matches!(self.blend.targets[0].mix, Mix::Blend(color, alpha)
            if [color, alpha].iter().any(|equation| is_second(equation.source) || is_second(equation.destination)))
    }

    /// What states and targets must agree on.
    fn check(&self, layout: &super::TargetLayout) -> Result<(), RasterError> {
        let state = |what: &str| Err(RasterError::State { what: what.to_string() });
        if self.is_dual() && (1..super::MAX_TARGETS).any(|slot| layout.format(slot).is_some()) {
            return state("blending with the second output is for one target, in slot 0");
        }
        let is_logic = |slot: usize| matches!(self.blend.targets[slot].mix, Mix::Logic(_));
        let is_uint =
            |slot: usize| layout.format(slot).is_none_or(|format| format.kind() == crate::texture::TexelKind::Uint);
        if (0..super::MAX_TARGETS).any(|slot| is_logic(slot) && !is_uint(slot)) {
            return state("logic operations are for targets of unsigned integers");
        }
        Ok(())
    }
}

/// A draw whose states are checked.
struct Draw<'d, 'c, 'a> {
    geometry: Geometry<'d>,
    painting: Painting<'d, 'c, 'a>,
    primitives: Primitives<'d>,
    threads: usize,
    progress: &'d (dyn Fn(f32) + Sync),
}

impl Draw<'_, '_, '_> {
    fn run(&self, tiles: &mut [Tile]) -> Result<DrawStatistics, CallError> {
        let count = self.primitives.count();
        let [across, down] = self.geometry.layout.tiles();
        let grid = Grid { across, down };
        let placed = self.place_vertices(count);
        let tiles: Vec<Mutex<&mut Tile>> = tiles.iter_mut().map(Mutex::new).collect();
        let mut statistics = DrawStatistics::default();
        let stretches = count.div_ceil(STRETCH);
        // Writes to memory happen in one order, whatever the threads.
        let writes = self.painting.program.is_some_and(|program| program.interface.writes_memory);
        let painters = if writes { 1 } else { self.threads };
        let parts = stretches.div_ceil(STRETCHES.saturating_mul(painters).min(MOST_STRETCHES)).max(1);
        let at_once = stretches.div_ceil(parts).max(1);
        for first in (0..stretches).step_by(at_once) {
            let stretches = first..stretches.min(first + at_once);
            let done = [stretches.start, stretches.end].map(|at| at as f32 / (count.div_ceil(STRETCH)) as f32);
            let bins: Vec<RwLock<Bins>> = stretches.clone().map(|_| RwLock::default()).collect();
            each(
                self.threads,
                bins.len(),
                || (),
                |(), number| {
                    let made = Bins::new(self.shapes(stretches.start + number, &placed), grid);
                    *bins[number].write().expect("no thread panics here") = made;
                },
            );
            let bins: Vec<Bins> = bins.into_iter().map(|bins| bins.into_inner().expect("no thread panicked")).collect();
            statistics = statistics.and(self.paint(&bins, &tiles, grid, painters, done)?);
        }
        Ok(statistics)
    }

    /// Places every vertex, if each has one place and most are used.
    fn place_vertices(&self, primitives: usize) -> Vec<Placed> {
        let count = self.geometry.vertices.count();
        if !self.geometry.has_one_view() || count > 4 * primitives {
            return Vec::new();
        }
        let mut placed = vec![Placed::default(); count];
        let view = &self.geometry.views[0];
        let parts: Vec<Mutex<&mut [Placed]>> = placed.chunks_mut(VERTICES).map(Mutex::new).collect();
        each(
            self.threads,
            parts.len(),
            || (),
            |(), number| {
                let mut part = parts[number].lock().expect("no thread panics here");
                for (row, place) in (number * VERTICES..).zip(part.iter_mut()) {
                    *place = self.geometry.place(row as u32, view);
                }
            },
        );
        drop(parts);
        placed
    }

    fn shapes(&self, stretch: usize, placed: &[Placed]) -> Shapes {
        let Primitives { corners, rows, ids } = self.primitives;
        let (start, end) = (stretch * STRETCH, self.primitives.count().min((stretch + 1) * STRETCH));
        let mut shapes = Shapes { shapes: Vec::with_capacity(end - start), ..Shapes::default() };
        for number in start..end {
            let rows = &rows[number * corners..(number + 1) * corners];
            let id = ids.get(number).copied().unwrap_or(number as u32);
            self.geometry.add(rows, id, placed, &mut shapes);
        }
        shapes
    }

    fn paint(
        &self,
        bins: &[Bins],
        tiles: &[Mutex<&mut Tile>],
        grid: Grid,
        painters: usize,
        [before, after]: [f32; 2],
    ) -> Result<DrawStatistics, CallError> {
        let mut busy: Vec<usize> =
            (0..tiles.len()).filter(|&tile| bins.iter().any(|bins| !bins.is_empty(tile))).collect();
        if painters > 1 {
            // Longest processing time first: nobody waits long for who has the last tile.
            busy.sort_by_cached_key(|&tile| Reverse(bins.iter().map(|bins| bins.own(tile).len()).sum::<usize>()));
        }
        let failed = Mutex::new(None::<CallError>);
        let done = AtomicUsize::new(0);
        let memories = each(painters, busy.len(), Memory::default, |memory, number| {
            if failed.lock().expect("no thread panics here").is_some() {
                return;
            }
            let (_, place) = grid.place(busy[number]);
            // A shader's panic goes on in the caller, which has the only other use of the tile.
            let mut tile = tiles[busy[number]].lock().unwrap_or_else(PoisonError::into_inner);
            for bins in bins {
                let shapes = bins.of(busy[number], &grid);
                if let Err(error) = self.painting.shapes(&bins.shapes, shapes, place, &mut tile, memory) {
                    memory.1.clear();
                    failed.lock().expect("no thread panics here").get_or_insert(error);
                    return;
                }
            }
            let part = (done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / busy.len() as f32;
            (self.progress)(before + (after - before) * part);
        });
        match failed.into_inner().expect("no thread panicked") {
            Some(error) => Err(error),
            None => Ok(memories.iter().fold(DrawStatistics::default(), |sum, (_, batch)| sum.and(batch.statistics))),
        }
    }
}
