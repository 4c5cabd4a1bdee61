//! What geometry shaders emit.

use crate::call::outputs::same_bits;
use crate::call::wave::WaveRunner;
use crate::error::CallError;
use crate::frontend::GeometryInterface;

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
    /// For each triangle three vertices of as many rows as there are registers.
    rows: Vec<[u32; 4]>,
}

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
            return Err(CallError::TooManyTriangles { limit: CALL_TRIANGLES, invocation });
        }
        let record = geometry.record_elements();
        let start = self.rows.len();
        for triangle in 0..count {
            waves.read_array(geometry.triangles, triangle * record, record, lane, &mut self.rows);
            let [inverted, ..] = self.rows.pop().expect("a record has an element behind its vertices");
            self.heads.push((invocation, inverted != 0));
        }
        if self.is_partial {
            let registers = self.registers.iter().cycle();
            for (row, &register) in self.rows[start..].iter_mut().zip(registers) {
                let emitted = geometry.components[usize::from(register)];
                (0..4).filter(|component| emitted >> component & 1 == 0).for_each(|component| row[component] = 0);
            }
        }
        Ok(())
    }

    /// The first triangle in which two runs differ, if any. NaNs count as equal whatever their payload.
    pub fn first_difference(&self, other: &EmittedTriangles) -> Option<usize> {
        let same_row = |(a, b): (&[u32; 4], &[u32; 4])| a.iter().zip(b).all(|(&a, &b)| same_bits(a, b));
        let same = |(a, b): (EmittedTriangle<'_>, EmittedTriangle<'_>)| {
            (a.invocation, a.inverted) == (b.invocation, b.inverted) && a.rows.iter().zip(b.rows).all(same_row)
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
    rows: &'a [[u32; 4]],
}

impl<'a> EmittedTriangle<'a> {
    /// The bits of a vertex, 0 to 2: a row for each register that is emitted, ascending. Components that are not
    /// emitted are 0.
    ///
    /// # Panics
    /// If `vertex` is more than 2.
    pub fn vertex(&self, vertex: usize) -> &'a [[u32; 4]] {
        let rows = self.registers.len();
        assert!(vertex < 3, "a triangle has three vertices");
        &self.rows[vertex * rows..][..rows]
    }

    /// Output register `o<register>` of a vertex; `None` if it is not emitted or there is no such vertex.
    pub fn register(&self, vertex: usize, register: u8) -> Option<[f32; 4]> {
        let place = self.registers.iter().position(|&emitted| emitted == register)?;
        let row = self.rows.chunks_exact(self.registers.len()).nth(vertex)?[place];
        Some(row.map(f32::from_bits))
    }
}
