//! What geometry shaders emit.

use crate::call::outputs::same_bits;
use crate::call::wave::WaveRunner;
use crate::error::CallError;
use crate::frontend::{GeometryInterface, TriangleStore};
use std::ops::Range;

/// The most triangles of one call. More take several calls.
const CALL_TRIANGLES: u32 = 1 << 18;

/// The triangles that a geometry shader's invocations emitted, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmittedTriangles {
    registers: Vec<u8>,
    /// Whether some register is emitted in part.
    is_partial: bool,
    /// Invocation, and whether inverted.
    heads: Vec<(u32, bool)>,
    /// For each triangle three vertices of as many rows as there are registers, little-endian.
    rows: Vec<Row>,
}

/// Four words.
type Row = [[u8; 4]; 4];

impl EmittedTriangles {
    /// None yet, of this shader.
    pub(super) fn clear(&mut self, geometry: &GeometryInterface) {
        self.registers.clear();
        self.registers.extend(geometry.registers().map(|register| register as u8));
        self.is_partial = geometry.components.iter().any(|components| !matches!(components, 0 | 0xf));
        self.heads.clear();
        self.rows.clear();
    }

    /// Number of triangles.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether nothing was emitted.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The output registers that a vertex consists of, ascending.
    pub fn registers(&self) -> &[u8] {
        &self.registers
    }

    /// The triangles in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EmittedTriangle<'_>> {
        let rows = 3 * self.registers.len();
        self.heads.iter().enumerate().map(move |(index, &(invocation, inverted))| EmittedTriangle {
            invocation,
            inverted,
            registers: &self.registers,
            rows: &self.rows[index * rows..][..rows],
        })
    }

    /// Appends the triangles that a lane emitted.
    pub(super) fn collect(
        &mut self,
        geometry: &GeometryInterface,
        waves: &impl WaveRunner,
        lane: usize,
        invocation: u32,
    ) -> Result<(), CallError> {
        let [count, ..] = waves.output(0, lane);
        if count > geometry.capacity {
            return Err(CallError::TooManyTriangles { limit: geometry.capacity, invocation });
        }
        if count as usize + self.len() > CALL_TRIANGLES as usize {
            return Err(EmittedTriangles::full(invocation));
        }
        let rows = geometry.rows();
        let start = self.rows.len();
        match &geometry.triangles {
            TriangleStore::Array(array) => {
                let mut record = Vec::with_capacity(rows + 1);
                for triangle in 0..count {
                    record.clear();
                    waves.read_array(*array, triangle * (rows as u32 + 1), rows as u32 + 1, lane, &mut record);
                    let [inverted, ..] = record.pop().expect("a record has an element behind its vertices");
                    self.rows.extend(record.iter().map(|row| row.map(u32::to_le_bytes)));
                    self.heads.push((invocation, inverted != 0));
                }
            }
            TriangleStore::Outputs(inverted) => {
                let elements = geometry.first_triangle_output()..;
                let words = elements.take(inverted.len() * rows).map(|element| waves.output(element, lane));
                self.rows.extend(words.map(|row| row.map(u32::to_le_bytes)));
                self.heads.extend(inverted.iter().map(|&inverted| (invocation, inverted)));
            }
        }
        if self.is_partial {
            let registers = self.registers.iter().cycle();
            for (row, &register) in self.rows[start..].iter_mut().zip(registers) {
                let emitted = geometry.components[usize::from(register)];
                (0..4).filter(|component| emitted >> component & 1 == 0).for_each(|component| row[component] = [0; 4]);
            }
        }
        Ok(())
    }

    /// How many invocations that emit so many triangles there is room for.
    pub(super) fn room(&self, triangles: usize) -> usize {
        (CALL_TRIANGLES as usize - self.len()).checked_div(triangles).unwrap_or(usize::MAX)
    }

    /// That there is none for those of this invocation.
    pub(super) fn full(invocation: u32) -> CallError {
        CallError::TooManyTriangles { limit: CALL_TRIANGLES, invocation }
    }

    /// Appends triangles that are still zero, those of each invocation alike, and gives the bytes of their rows.
    pub(super) fn append(&mut self, invocations: Range<u32>, inverted: &[bool]) -> &mut [u8] {
        let (start, count) = (self.rows.len(), invocations.len() * inverted.len());
        self.rows.resize(start + 3 * self.registers.len() * count, Row::default());
        self.heads.extend(invocations.flat_map(|number| inverted.iter().map(move |&inverted| (number, inverted))));
        self.rows[start..].as_flattened_mut().as_flattened_mut()
    }

    /// Drops all but the first so many.
    pub(super) fn truncate(&mut self, count: usize) {
        self.heads.truncate(count);
        self.rows.truncate(3 * self.registers.len() * count);
    }

    /// The first triangle in which two runs differ, if any. NaNs count as equal whatever their payload.
    pub fn first_difference(&self, other: &EmittedTriangles) -> Option<usize> {
        let same_word = |(a, b): (&[u8; 4], &[u8; 4])| same_bits(u32::from_le_bytes(*a), u32::from_le_bytes(*b));
        let same = |(a, b): (EmittedTriangle<'_>, EmittedTriangle<'_>)| {
            let words = a.rows.as_flattened().iter().zip(b.rows.as_flattened());
            (a.invocation, a.inverted) == (b.invocation, b.inverted) && words.into_iter().all(same_word)
        };
        let first = self.iter().zip(other.iter()).position(|pair| !same(pair));
        let shorter = self.len().min(other.len());
        first.or_else(|| (self.len() != other.len() || self.registers != other.registers).then_some(shorter))
    }
}

/// One triangle that a geometry shader emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmittedTriangle<'a> {
    /// Number of the invocation, counted from the first of the call.
    pub invocation: u32,
    /// Whether SETEMIT inverted its winding.
    pub inverted: bool,
    registers: &'a [u8],
    rows: &'a [Row],
}

impl<'a> EmittedTriangle<'a> {
    /// The bits of a vertex, 0 to 2: a row for each register that is emitted, ascending. Components that are not
    /// emitted are 0.
    ///
    /// # Panics
    /// If `vertex` is more than 2.
    pub fn vertex(&self, vertex: usize) -> impl ExactSizeIterator<Item = [u32; 4]> + Clone + use<'a> {
        let rows = self.registers.len();
        assert!(vertex < 3, "a triangle has three vertices");
        self.rows[vertex * rows..][..rows].iter().map(words)
    }

    /// Output register `o<register>` of a vertex; `None` if it is not emitted or there is no such vertex.
    pub fn register(&self, vertex: usize, register: u8) -> Option<[f32; 4]> {
        let place = self.registers.iter().position(|&emitted| emitted == register)?;
        let row = &self.rows.chunks_exact(self.registers.len()).nth(vertex)?[place];
        Some(words(row).map(f32::from_bits))
    }
}

fn words(row: &Row) -> [u32; 4] {
    row.map(u32::from_le_bytes)
}
