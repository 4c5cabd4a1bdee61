//! Primitive assembly: a stream of vertices becomes points, lines, triangles, or patches (Direct3D 11.3 functional
//! specification, 8.10 to 8.15).
//!
//! Lists take so many vertices for each primitive; strips share those of neighbours. A *cut* in an index buffer ends
//! what was begun, and what is not whole is dropped. The first vertex of a primitive that is no neighbour's is its
//! *leading* one, whose data flat inputs have.

/// What the vertices of a draw are.
///
/// ```
/// use shaderjit::Topology;
///
/// let mut triangles = Vec::new();
/// Topology::TriangleStrip.assemble([0, 1, 2, 3, 0xffff, 7, 8], Some(0xffff), &mut triangles);
/// assert_eq!(triangles, [0, 1, 2, 1, 3, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topology {
    /// Every vertex by itself.
    PointList,
    /// Every two.
    LineList,
    /// Each with the one before.
    LineStrip,
    /// Every three.
    TriangleList,
    /// Each with the two before, in alternating order, so that all wind alike.
    TriangleStrip,
    /// Every four: a line between its neighbours.
    LineListAdjacency,
    /// A line strip between its neighbours.
    LineStripAdjacency,
    /// Every six: corners, each followed by the neighbour's of the edge that begins there.
    TriangleListAdjacency,
    /// A triangle strip; every other vertex is a neighbour's.
    TriangleStripAdjacency,
    /// Every so many: the control points of a patch, 1 to 32.
    PatchList(u8),
}

impl Topology {
    /// Vertices of an assembled primitive, neighbours' included; at least 1.
    pub fn vertices(self) -> usize {
        match self {
            Topology::PointList => 1,
            Topology::LineList | Topology::LineStrip => 2,
            Topology::TriangleList | Topology::TriangleStrip => 3,
            Topology::LineListAdjacency | Topology::LineStripAdjacency => 4,
            Topology::TriangleListAdjacency | Topology::TriangleStripAdjacency => 6,
            Topology::PatchList(points) => usize::from(points.clamp(1, 32)),
        }
    }

    /// The list that strips and primitives with neighbours are, once those are left out.
    pub fn list(self) -> Topology {
        match self {
            Topology::LineList | Topology::LineStrip => Topology::LineList,
            Topology::LineListAdjacency | Topology::LineStripAdjacency => Topology::LineList,
            Topology::TriangleList | Topology::TriangleStrip => Topology::TriangleList,
            Topology::TriangleListAdjacency | Topology::TriangleStripAdjacency => Topology::TriangleList,
            other => other,
        }
    }

    /// Which of a primitive's vertices are its own, the leading one first. All of a patch's are.
    pub fn corners(self) -> &'static [usize] {
        match self {
            Topology::PointList => &[0],
            Topology::LineList | Topology::LineStrip => &[0, 1],
            Topology::TriangleList | Topology::TriangleStrip => &[0, 1, 2],
            Topology::LineListAdjacency | Topology::LineStripAdjacency => &[1, 2],
            Topology::TriangleListAdjacency | Topology::TriangleStripAdjacency => &[0, 2, 4],
            Topology::PatchList(_) => &ALL[..self.vertices()],
        }
    }

    /// Appends the vertices of every whole primitive of a stream, [`vertices`](Self::vertices) each, in order: a
    /// primitive's number is its place. `cut` is the index that restarts, whatever the topology.
    pub fn assemble(self, stream: impl IntoIterator<Item = u32>, cut: Option<u32>, primitives: &mut Vec<u32>) {
        // A list is assembled as it comes; of a strip the end must be known.
        let mut strip = Vec::new();
        for vertex in stream {
            if Some(vertex) == cut {
                self.assemble_strip(&strip, primitives);
                strip.clear();
                continue;
            }
            strip.push(vertex);
            if self.is_list() && strip.len() == self.vertices() {
                primitives.append(&mut strip);
            }
        }
        self.assemble_strip(&strip, primitives);
    }

    /// Whether primitives share no vertices.
    fn is_list(self) -> bool {
        !matches!(
            self,
            Topology::LineStrip
                | Topology::TriangleStrip
                | Topology::LineStripAdjacency
                | Topology::TriangleStripAdjacency
        )
    }

    /// Of a list, nothing: what is left of it is no whole primitive.
    fn assemble_strip(self, strip: &[u32], primitives: &mut Vec<u32>) {
        match self {
            Topology::LineStrip => primitives.extend(strip.windows(2).flatten()),
            Topology::LineStripAdjacency => primitives.extend(strip.windows(4).flatten()),
            Topology::TriangleStrip => {
                for (number, &[a, b, c]) in strip.array_windows().enumerate() {
                    primitives.extend(if number % 2 == 0 { [a, b, c] } else { [a, c, b] });
                }
            }
            Topology::TriangleStripAdjacency => {
                let count = (strip.len() / 2).saturating_sub(2);
                (0..count).for_each(|number| primitives.extend(with_neighbours(strip, number, count)));
            }
            _ => {}
        }
    }
}

/// Triangle `number` of `count` of a strip whose every other vertex is a neighbour's: its corners are 0, 2 and 4
/// vertices from its leading one. The neighbour of the edge towards the strip's last corner lies behind that corner's
/// own neighbour, unless the strip ends.
fn with_neighbours(strip: &[u32], number: usize, count: usize) -> [u32; 6] {
    let first = 2 * number;
    let before = if number == 0 { 1 } else { first - 2 };
    let after = if number + 1 == count { first + 5 } else { first + 6 };
    let places = match number % 2 {
        0 => [first, before, first + 2, after, first + 4, first + 3],
        _ => [first, first + 3, first + 4, after, first + 2, before],
    };
    places.map(|place| strip[place])
}

const ALL: [usize; 32] = {
    let mut all = [0; 32];
    let mut place = 0;
    while place < 32 {
        all[place] = place;
        place += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(topology: Topology, stream: &[u32], cut: Option<u32>) -> Vec<Vec<u32>> {
        let mut primitives = Vec::new();
        topology.assemble(stream.iter().copied(), cut, &mut primitives);
        primitives.chunks(topology.vertices()).map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn lists_drop_what_is_not_whole() {
        let stream = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(assemble(Topology::PointList, &stream[..2], None), [[0], [1]]);
        assert_eq!(assemble(Topology::LineList, &stream, None), [[0, 1], [2, 3], [4, 5]]);
        assert_eq!(assemble(Topology::TriangleList, &stream, None), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(assemble(Topology::TriangleList, &stream, Some(4)), [[0, 1, 2]]);
        assert_eq!(assemble(Topology::TriangleList, &stream, Some(1)), [[2, 3, 4]]);
        assert_eq!(assemble(Topology::PatchList(5), &stream, None), [[0, 1, 2, 3, 4]]);
    }

    #[test]
    fn strips_wind_alike_and_begin_again_at_a_cut() {
        assert_eq!(assemble(Topology::TriangleStrip, &[0, 1, 2, 3, 4], None), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        assert_eq!(assemble(Topology::TriangleStrip, &[0, 1, 2, 9, 3, 4, 5, 9, 6, 7], Some(9)), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(assemble(Topology::LineStrip, &[0, 1, 2, 9, 3, 9, 4, 5], Some(9)), [[0, 1], [1, 2], [4, 5]]);
    }

    #[test]
    fn neighbours_lie_beside_their_edges() {
        assert_eq!(assemble(Topology::LineStripAdjacency, &[0, 1, 2, 3, 4], None), [[0, 1, 2, 3], [1, 2, 3, 4]]);
        let strip = Topology::TriangleStripAdjacency;
        assert_eq!(assemble(strip, &[0, 1, 2, 3, 4], None), Vec::<Vec<u32>>::new());
        assert_eq!(assemble(strip, &[0, 1, 2, 3, 4, 5, 6], None), [[0, 1, 2, 5, 4, 3]]);
        let three = [[0, 1, 2, 6, 4, 3], [2, 5, 6, 8, 4, 0], [4, 2, 6, 9, 8, 7]];
        assert_eq!(assemble(strip, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], None), three);
        assert_eq!(strip.corners(), [0, 2, 4]);
    }
}
