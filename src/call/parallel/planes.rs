//! Output layouts as planes: rows of elements that lie one vertex's behind the other's, so that the vertices of a piece
//! have a part of the buffer that is their own.

use crate::call::outputs::{OutputLayout, Place, element_bytes};
use crate::frontend::Element;
use std::ops::Range;

/// Elements of the same stride, all of which lie within one stride: rows, one vertex's behind the other's.
#[derive(Debug, PartialEq)]
pub(super) struct Plane {
    /// The row of vertex 0.
    pub row: Range<usize>,
    pub stride: usize,
    elements: Vec<PlacedElement>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PlacedElement {
    number: usize,
    /// From the row's first byte.
    offset: usize,
    bytes: usize,
}

impl Plane {
    /// The planes of a layout that was checked for `count` vertices, in ascending order. `None` if a byte may belong to
    /// two of them, or to two vertices.
    pub fn all(layout: &OutputLayout, elements: &[Element], count: usize) -> Option<Vec<Plane>> {
        let placed = elements.iter().zip(layout.places()).enumerate();
        let mut placed: Vec<(Place, usize, usize)> = placed
            .filter_map(|(number, (element, place))| Some(((*place)?, number, element_bytes(element))))
            .filter(|&(_, _, bytes)| bytes > 0)
            .collect();
        placed.sort_by_key(|&(Place { offset, stride }, number, _)| (stride, offset, number));
        let mut planes: Vec<Plane> = Vec::new();
        for (Place { offset, stride }, number, bytes) in placed {
            match planes.last_mut() {
                Some(plane) if plane.stride == stride && offset + bytes - plane.row.start <= stride => {
                    plane.row.end = plane.row.end.max(offset + bytes);
                    plane.elements.push(PlacedElement { number, offset: offset - plane.row.start, bytes });
                }
                _ => planes.push(Plane {
                    row: offset..offset + bytes,
                    stride,
                    elements: vec![PlacedElement { number, offset: 0, bytes }],
                }),
            }
        }
        planes.sort_by_key(|plane| plane.row.start);
        let apart = planes.windows(2).all(|pair| pair[0].end(count) <= pair[1].row.start);
        apart.then_some(planes)
    }

    /// The end of the last of so many vertices.
    fn end(&self, count: usize) -> usize {
        self.row.end + count.saturating_sub(1) * self.stride
    }

    /// Bytes of so many vertices.
    pub fn len(&self, count: usize) -> usize {
        self.end(count) - self.row.start
    }

    /// The layout with the rows of this plane from byte `start` on.
    pub fn place_at(&self, start: usize, layout: OutputLayout) -> OutputLayout {
        self.elements.iter().fold(layout, |layout, &PlacedElement { number, offset, .. }| {
            layout.with(number, Place { offset: start + offset, stride: self.stride })
        })
    }

    /// Copies the elements of so many vertices, and nothing between them.
    pub fn copy(&self, from: &[u8], to: &mut [u8], count: usize) {
        for &PlacedElement { offset, bytes, .. } in &self.elements {
            if bytes == self.stride {
                to[..count * bytes].copy_from_slice(&from[..count * bytes]);
                continue;
            }
            for start in (0..count).map(|vertex| vertex * self.stride + offset) {
                to[start..start + bytes].copy_from_slice(&from[start..start + bytes]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Config, Engine, Shader};

    #[test]
    fn layouts_are_cut_where_nothing_is_shared() {
        let bytes = include_bytes!("../../../tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
        let engine = Engine::new(Config::default()).unwrap();
        let code = engine.compile(&Shader::parse(bytes).unwrap(), &CompileOptions::default()).unwrap();
        let elements = &code.interface().outputs;
        let sizes: Vec<usize> = elements.iter().map(element_bytes).collect();
        assert_eq!(sizes, [16, 12, 8, 4, 16]);
        let planes = |places: &[(usize, usize, usize)]| {
            let layout = places.iter().fold(OutputLayout::none(&code), |layout, &(element, offset, stride)| {
                layout.with(element, Place { offset, stride })
            });
            let planes = Plane::all(&layout, elements, 10)?;
            Some(planes.into_iter().map(|plane| (plane.row, plane.elements.len())).collect::<Vec<_>>())
        };
        assert_eq!(planes(&[]), Some(vec![]));
        assert_eq!(planes(&[(0, 100, 28), (1, 116, 28)]), Some(vec![(100..128, 2)]));
        // The second begins in the first one's rows and would end in the next vertex's.
        assert_eq!(planes(&[(0, 100, 28), (1, 117, 28)]), None);
        assert_eq!(planes(&[(4, 160, 16), (0, 0, 16)]), Some(vec![(0..16, 1), (160..176, 1)]));
        assert_eq!(planes(&[(4, 159, 16), (0, 0, 16)]), None);
        // Two planes of rows, the first with a gap after its last row.
        assert_eq!(planes(&[(2, 0, 64), (1, 50, 64), (4, 640, 16)]), Some(vec![(0..62, 2), (640..656, 1)]));
    }
}
