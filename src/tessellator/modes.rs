//! What shaders say of how patches are divided.

use super::{Domain, Output, Partitioning, Tessellator};

/// How patches are divided, as far as one shader says it. In Direct3D a hull shader says all of it; in Vulkan it is all
/// the same which of the two tessellation shaders says what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TessellationModes {
    /// What is divided.
    pub domain: Option<Domain>,
    /// How edges are.
    pub partitioning: Option<Partitioning>,
    /// Whether triangles run from u to v.
    pub clockwise: Option<bool>,
    /// Whether each point is made once, and nothing connects them.
    pub points: bool,
}

impl TessellationModes {
    /// These, and where they say nothing those of another shader.
    pub fn or(self, other: TessellationModes) -> TessellationModes {
        TessellationModes {
            domain: self.domain.or(other.domain),
            partitioning: self.partitioning.or(other.partitioning),
            clockwise: self.clockwise.or(other.clockwise),
            points: self.points || other.points,
        }
    }

    /// What divides so; none where something is not said.
    pub fn tessellator(self) -> Option<Tessellator> {
        let domain = self.domain?;
        let output = match (domain, self.clockwise) {
            _ if self.points => Output::Point,
            (Domain::Isoline, _) => Output::Line,
            (_, Some(true)) => Output::TriangleCw,
            (_, Some(false)) => Output::TriangleCcw,
            (_, None) => return None,
        };
        Tessellator::new(domain, self.partitioning?, output)
    }
}

impl From<Tessellator> for TessellationModes {
    fn from(tessellator: Tessellator) -> TessellationModes {
        TessellationModes {
            domain: Some(tessellator.domain),
            partitioning: Some(tessellator.partitioning),
            clockwise: match tessellator.output {
                Output::TriangleCw => Some(true),
                Output::TriangleCcw => Some(false),
                Output::Point | Output::Line => None,
            },
            points: tessellator.output == Output::Point,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_shader_leaves_out_the_other_says() {
        let tessellator = Tessellator::new(Domain::Quad, Partitioning::FractionalOdd, Output::TriangleCcw).unwrap();
        let modes = TessellationModes::from(tessellator);
        assert_eq!(modes.tessellator(), Some(tessellator));
        let silent = TessellationModes::default();
        assert_eq!((silent.or(modes).tessellator(), silent.tessellator()), (Some(tessellator), None));
        let points = TessellationModes { points: true, ..silent }.or(modes);
        assert_eq!(points.tessellator().map(|tessellator| tessellator.output()), Some(Output::Point));
        // Lines and points run in no direction.
        let lines = TessellationModes { domain: Some(Domain::Isoline), clockwise: None, ..modes };
        assert_eq!(lines.tessellator().map(|tessellator| tessellator.output()), Some(Output::Line));
        assert_eq!(TessellationModes { clockwise: None, ..modes }.tessellator(), None);
    }
}
