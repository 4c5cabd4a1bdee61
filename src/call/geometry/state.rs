//! What outlives an invocation of a geometry shader.

use crate::call::wave::WaveRunner;
use crate::frontend::{GeometryInterface, StateRow};

/// The state that one invocation of a geometry shader leaves to the next: `r0` to `r15`, both banks of outputs, the
/// three vertex buffers, `a0`, `aL`, `cmp`, the operands of the last SETEMIT, and whether `b15` is set because an
/// invocation ended. It starts as zero. As on hardware it outlives draws and changes of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometryState {
    /// By [`GeometryState::index`].
    rows: [[u32; 4]; GeometryState::ROWS],
    /// Which of the two banks EMIT reads next.
    bank: usize,
    ran: bool,
}

impl Default for GeometryState {
    fn default() -> GeometryState {
        GeometryState { rows: [[0; 4]; GeometryState::ROWS], bank: 0, ran: false }
    }
}

/// Why a row of a program's interface is one of the state.
pub(super) const NAMED: &str = "a program names registers that exist";

impl GeometryState {
    const ROWS: usize = 16 + 2 * 16 + 3 * 16 + 3;

    /// Where the row is; `None` if there is no such register or buffer.
    fn index(&self, row: StateRow) -> Option<usize> {
        let register = |first: usize, number: u8| (number < 16).then_some(first + usize::from(number));
        match row {
            StateRow::Temporary(n) => register(0, n),
            StateRow::Output(n) => register(16 + 16 * self.bank, n),
            StateRow::OtherOutput(n) => register(16 + 16 * (1 - self.bank), n),
            StateRow::Vertex { buffer: 3.., .. } => None,
            StateRow::Vertex { buffer, register: n } => register(48 + 16 * usize::from(buffer), n),
            StateRow::Address => Some(96),
            StateRow::Flags => Some(97),
            StateRow::Latch => Some(98),
        }
    }

    /// Four words of it; `None` if there is no such register or buffer.
    ///
    /// ```
    /// use shaderjit::pica::{GeometryState, StateRow};
    ///
    /// let mut state = GeometryState::default();
    /// *state.row_mut(StateRow::Temporary(15)).expect("there are 16") = [1.0f32.to_bits(); 4];
    /// assert_eq!(state.row(StateRow::Output(0)), Some([0; 4]));
    /// assert_eq!(state.row(StateRow::Temporary(16)), None);
    /// ```
    pub fn row(&self, row: StateRow) -> Option<[u32; 4]> {
        self.index(row).map(|index| self.rows[index])
    }

    /// Four words of it, to change; `None` if there is no such register or buffer.
    pub fn row_mut(&mut self, row: StateRow) -> Option<&mut [u32; 4]> {
        self.index(row).map(|index| &mut self.rows[index])
    }

    /// Whether `b15` counts as set, whatever is bound: an invocation has ended since [`set_ran`](Self::set_ran) said
    /// otherwise.
    pub fn ran(&self) -> bool {
        self.ran
    }

    /// Says whether an invocation counts as ended. Writing the register of bool uniforms resets it.
    pub fn set_ran(&mut self, ran: bool) {
        self.ran = ran;
    }

    /// An invocation has ended: `b15` is set, and the banks have changed places if it executed EMIT so.
    pub(super) fn end_invocation(&mut self, waves: &impl WaveRunner, lane: usize) {
        let [_, parity, ..] = waves.output(0, lane);
        self.bank ^= (parity & 1) as usize;
        self.ran = true;
    }

    /// The words that the invocation in `lane` wrote, where they are now that it has ended.
    pub(super) fn update(&mut self, geometry: &GeometryInterface, waves: &impl WaveRunner, lane: usize) {
        for (index, &row) in geometry.state.iter().enumerate() {
            let (element, component, first_bit) = GeometryInterface::written_bits(index);
            let written = waves.output(element, lane)[component] >> first_bit & 0xf;
            if written == 0 {
                continue;
            }
            let new = waves.output(geometry.state_output(index), lane);
            let old = self.row_mut(row).expect(NAMED);
            if written == 0xf {
                *old = new;
                continue;
            }
            for component in (0..4).filter(|component| written >> component & 1 != 0) {
                old[component] = new[component];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row there is has words of its own, and nothing else has any.
    #[test]
    fn rows_that_are_not_there_are_none() {
        let registers = (0..=u8::MAX).flat_map(|n| {
            let vertices = (0..=u8::MAX).map(move |buffer| StateRow::Vertex { buffer, register: n });
            [StateRow::Temporary(n), StateRow::Output(n), StateRow::OtherOutput(n)].into_iter().chain(vertices)
        });
        let rows = registers.chain([StateRow::Address, StateRow::Flags, StateRow::Latch]);
        let mut state = GeometryState::default();
        let mut there = Vec::new();
        for row in rows {
            if let Some(words) = state.row_mut(row) {
                *words = [there.len() as u32; 4];
                there.push(row);
            }
        }
        assert_eq!(there.len(), GeometryState::ROWS);
        for (number, &row) in there.iter().enumerate() {
            assert_eq!(state.row(row), Some([number as u32; 4]), "{row:?}");
        }
    }
}
