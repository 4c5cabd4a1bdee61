//! From vertices in order to triangles.

/// How vertices make triangles: bits 9..8 of `GPUREG_PRIMITIVE_CONFIG`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topology {
    /// Three vertices each.
    #[default]
    List,
    /// Each vertex with the two before it.
    Strip,
    /// Each vertex with the one before it and the first.
    Fan,
    /// As a list; a geometry shader may invert triangles.
    Geometry,
}

impl Topology {
    /// By the low two bits.
    pub fn from_bits(bits: u32) -> Topology {
        [Topology::List, Topology::Strip, Topology::Fan, Topology::Geometry][(bits & 3) as usize]
    }

    /// Its two bits.
    pub fn to_bits(self) -> u32 {
        self as u32
    }
}

/// Takes vertices by their numbers and gives triangles.
///
/// ```
/// use shaderjit::pica::{Assembler, Topology};
///
/// let mut assembler = Assembler::new(Topology::Strip);
/// let triangles: Vec<_> = (0..5).filter_map(|vertex| assembler.submit(vertex, false)).collect();
/// assert_eq!(triangles, [[0, 1, 2], [2, 1, 3], [2, 3, 4]]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Assembler {
    topology: Topology,
    /// The two vertices that the next triangle begins with.
    buffer: [u32; 2],
    /// Which of them is written next; in a list 2 means that both are there.
    next: usize,
    /// Whether both are there.
    is_full: bool,
}

impl Assembler {
    /// With no vertex yet.
    pub fn new(topology: Topology) -> Assembler {
        Assembler { topology, buffer: [0; 2], next: 0, is_full: false }
    }

    /// Takes a vertex; gives the triangle it completes. `inverted` changes the first two vertices of a triangle for
    /// [`Topology::Geometry`], and nothing for others (as recorded by Citra's authors, pull request 2865).
    pub fn submit(&mut self, vertex: u32, inverted: bool) -> Option<[u32; 3]> {
        let [first, second] = self.buffer;
        let triangle = self.is_full.then_some([first, second, vertex]);
        match (self.topology, triangle) {
            (Topology::List | Topology::Geometry, Some(_)) => {
                self.is_full = false;
                let swaps = inverted && self.topology == Topology::Geometry;
                return if swaps { Some([second, first, vertex]) } else { triangle };
            }
            _ => self.buffer[self.next] = vertex,
        }
        self.is_full |= self.next == 1;
        self.next = match self.topology {
            Topology::Fan => 1,
            _ => 1 - self.next,
        };
        triangle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(topology: Topology, count: u32, inverted: bool) -> Vec<[u32; 3]> {
        let mut assembler = Assembler::new(topology);
        (0..count).filter_map(|vertex| assembler.submit(vertex, inverted)).collect()
    }

    #[test]
    fn every_topology() {
        assert_eq!(assemble(Topology::List, 8, false), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(assemble(Topology::Strip, 6, false), [[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5]]);
        assert_eq!(assemble(Topology::Fan, 5, false), [[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
        assert_eq!(assemble(Topology::Geometry, 6, false), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(assemble(Topology::List, 2, false), [[0; 3]; 0]);
    }

    #[test]
    fn only_geometry_triangles_are_inverted() {
        assert_eq!(assemble(Topology::Geometry, 6, true), [[1, 0, 2], [4, 3, 5]]);
        assert_eq!(assemble(Topology::List, 3, true), [[0, 1, 2]]);
        assert_eq!(assemble(Topology::Strip, 3, true), [[0, 1, 2]]);
    }

    #[test]
    fn topologies_have_two_bits() {
        assert!((0..4).all(|bits| Topology::from_bits(bits | 0xf0).to_bits() == bits));
    }
}
