//! Binning: which shapes of a stretch of primitives each tile has.

use super::geometry::Shapes;
use super::shape::{Bounds, STEPS, Shape};
use super::target::TILE;

/// Shapes of more tiles are kept in a list that every tile goes through, so that memory is bounded by their number.
const MANY_TILES: usize = 64;

/// A stretch of primitives, and the shapes of each tile, in order.
#[derive(Debug, Default)]
pub(super) struct Bins {
    pub shapes: Shapes,
    /// The first tile that has shapes of its own.
    first: usize,
    /// Where the shapes of each tile from the first on begin; at last, where they end.
    starts: Vec<u32>,
    numbers: Vec<u32>,
    /// Shapes of many tiles.
    large: Vec<u32>,
}

/// The tiles of targets: so many across, and so many a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub across: usize,
    pub down: usize,
}

impl Grid {
    /// Layer, and the first pixel's position.
    pub fn place(&self, tile: usize) -> (usize, [i32; 2]) {
        let (layer, place) = (tile / (self.across * self.down), tile % (self.across * self.down));
        (layer, [place % self.across, place / self.across].map(|at| (at * TILE) as i32))
    }
}

impl Bins {
    pub fn new(shapes: Shapes, grid: Grid) -> Bins {
        let mut bins = Bins { shapes, ..Bins::default() };
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(bins.shapes.shapes.len() * 5 / 4);
        for (number, shape) in bins.shapes.shapes.iter().enumerate() {
            let tile = TILE as i32;
            let Bounds { left, top, right, bottom } = shape.bounds;
            let [left, top] = [left, top].map(|edge| edge / tile);
            let [right, bottom] = [right, bottom].map(|edge| (edge - 1) / tile);
            let count = (right - left + 1) as usize * (bottom - top + 1) as usize;
            if count > MANY_TILES {
                bins.large.push(number as u32);
                continue;
            }
            let first = usize::from(shape.layer) * grid.down * grid.across;
            for (y, x) in (top..=bottom).flat_map(|y| (left..=right).map(move |x| (y, x))) {
                if count == 1 || may_touch(shape, x * tile, y * tile) {
                    pairs.push(((first + y as usize * grid.across + x as usize) as u32, number as u32));
                }
            }
        }
        let least = pairs.iter().map(|&(tile, _)| tile).min().unwrap_or(0);
        let most = pairs.iter().map(|&(tile, _)| tile).max().unwrap_or(0);
        // Counting sort, which keeps the order of shapes.
        bins.first = least as usize;
        bins.starts = vec![0; (most - least) as usize + 2];
        pairs.iter().for_each(|&(tile, _)| bins.starts[(tile - least) as usize + 1] += 1);
        for tile in 1..bins.starts.len() {
            bins.starts[tile] += bins.starts[tile - 1];
        }
        let mut next = bins.starts.clone();
        bins.numbers = vec![0; pairs.len()];
        for (tile, number) in pairs {
            let place = &mut next[(tile - least) as usize];
            bins.numbers[*place as usize] = number;
            *place += 1;
        }
        bins
    }

    /// Shapes that only some tiles have: those of this one.
    pub fn own(&self, tile: usize) -> &[u32] {
        let Some(number) = tile.checked_sub(self.first) else { return &[] };
        match self.starts.get(number..number + 2) {
            Some(&[start, end]) => &self.numbers[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Whether a tile has none.
    pub fn is_empty(&self, tile: usize) -> bool {
        self.large.is_empty() && self.own(tile).is_empty()
    }

    /// The numbers of a tile's shapes, in order.
    pub fn of(&self, tile: usize, grid: &Grid) -> impl Iterator<Item = u32> {
        let (layer, [x, y]) = grid.place(tile);
        let is_here = move |&&number: &&u32| {
            let shape = &self.shapes.shapes[number as usize];
            usize::from(shape.layer) == layer && may_touch(shape, x, y)
        };
        let mut large = self.large.iter().filter(is_here).copied().peekable();
        let mut own = self.own(tile).iter().copied().peekable();
        std::iter::from_fn(move || match (large.peek(), own.peek()) {
            (Some(a), Some(b)) if a < b => large.next(),
            (Some(_), None) => large.next(),
            _ => own.next(),
        })
    }
}

/// Whether a shape may cover samples of the tile whose first pixel this is: no edge has all of it outside.
fn may_touch(shape: &Shape, x: i32, y: i32) -> bool {
    let size = TILE as i32 * STEPS;
    shape.edges().iter().all(|edge| edge.range(edge.at(x * STEPS, y * STEPS), [size; 2])[1] >= 0)
}
