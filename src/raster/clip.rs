//! Clipping in homogeneous space (Sutherland and Hodgman): what is left of a triangle or a line in front of planes.
//!
//! New corners are *weights* of the old ones, with which the caller mixes their data. The weights are those of
//! interpolation with perspective; [`screen_weights`] gives those of interpolation without.

/// A corner of what is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Corner {
    /// x, y, z, w in clip space.
    pub position: [f64; 4],
    /// How much each of the old corners counts; 1 together.
    pub weights: [f64; 3],
    /// Whether the edge to the next corner is part of an old one.
    pub is_old_edge: bool,
}

/// More corners than planes can make: each adds one to three.
pub(super) const MAX_CORNERS: usize = 3 + MAX_PLANES;

/// Six of the frustum, one that keeps w above 0, eight clip distances.
pub(super) const MAX_PLANES: usize = 15;

/// A polygon of at most so many corners, without memory of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polygon {
    corners: [Corner; MAX_CORNERS],
    count: usize,
}

impl Polygon {
    pub fn new(positions: &[[f32; 4]]) -> Polygon {
        let nothing = Corner { position: [0.0; 4], weights: [0.0; 3], is_old_edge: true };
        let mut polygon = Polygon { corners: [nothing; MAX_CORNERS], count: positions.len() };
        for (number, (corner, position)) in polygon.corners.iter_mut().zip(positions).enumerate() {
            corner.position = position.map(f64::from);
            corner.weights[number] = 1.0;
        }
        polygon
    }

    pub fn corners(&self) -> &[Corner] {
        &self.corners[..self.count]
    }

    /// Keeps what is in front of a plane, whose distance is a linear function of position and weights. Of two corners,
    /// which are a line, there is no edge back from the second.
    pub fn clip(&mut self, distance: impl Fn(&Corner) -> f64) {
        let old = *self;
        let is_line = old.count == 2;
        self.count = 0;
        for (number, corner) in old.corners().iter().enumerate() {
            let next = &old.corners[(number + 1) % old.count];
            let (from, to) = (distance(corner), distance(next));
            let (is_in, is_next_in) = (from >= 0.0, to >= 0.0);
            if is_in {
                self.push(*corner);
            }
            if is_in != is_next_in && !(is_line && number == 1) {
                // Always from the inside, so that neighbours with the same edge get the same corner.
                let mut between = match is_in {
                    true => mix(corner, next, from / (from - to)),
                    false => mix(next, corner, to / (to - from)),
                };
                between.is_old_edge = !is_in && corner.is_old_edge;
                self.push(between);
            }
        }
    }

    fn push(&mut self, corner: Corner) {
        // Rounding may make a polygon that is not convex, and that more corners than there should be.
        if let Some(place) = self.corners.get_mut(self.count) {
            *place = corner;
            self.count += 1;
        }
    }
}

fn mix(from: &Corner, to: &Corner, t: f64) -> Corner {
    let between = |a: f64, b: f64| a + t * (b - a);
    Corner {
        position: std::array::from_fn(|n| between(from.position[n], to.position[n])),
        weights: std::array::from_fn(|n| between(from.weights[n], to.weights[n])),
        is_old_edge: true,
    }
}

/// The weights of interpolation without perspective at a corner, given w at the old ones.
pub(super) fn screen_weights(corner: &Corner, w: [f32; 3]) -> [f64; 3] {
    std::array::from_fn(|n| corner.weights[n] * f64::from(w[n]) / corner.position[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_cuts_off_a_corner() {
        let mut polygon = Polygon::new(&[[0.0, 0.0, -1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 3.0]]);
        polygon.clip(|corner| corner.position[2]);
        let corners = polygon.corners();
        assert_eq!(corners.len(), 4);
        assert_eq!(corners[0].position, [0.5, 0.0, 0.0, 1.0]);
        assert_eq!(corners[0].weights, [0.5, 0.5, 0.0]);
        assert_eq!(corners[3].position, [0.0, 0.5, 0.0, 2.0]);
        // The new edge goes from the last corner to the first.
        assert_eq!(corners.iter().map(|corner| corner.is_old_edge).collect::<Vec<_>>(), [true, true, true, false]);
        assert_eq!(screen_weights(&corners[3], [1.0, 1.0, 3.0]), [0.25, 0.0, 0.75]);
    }

    #[test]
    fn a_line_keeps_two_ends() {
        let mut line = Polygon::new(&[[0.0, 0.0, -1.0, 1.0], [4.0, 0.0, 3.0, 1.0]]);
        line.clip(|corner| corner.position[2]);
        line.clip(|corner| 2.0 - corner.position[2]);
        let ends: Vec<f64> = line.corners().iter().map(|corner| corner.position[0]).collect();
        assert_eq!(ends, [1.0, 3.0]);
        line.clip(|corner| -corner.position[3]);
        assert!(line.corners().is_empty());
    }
}
