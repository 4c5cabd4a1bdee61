//! Rows of vertex buffers to lanes, and lanes to rows of outputs.
//!
//! A row of the caller's is loaded or stored whole. A vector joins the rows of every fourth lane, so that transposing
//! within 128 bits gives words in the order of lanes. Where nothing is transposed it joins rows that follow each other:
//! their addresses need no registers but the first one's.

use super::code::{Address, Source};
use super::encode::Size;
use super::simd::{EVEN_WORDS, ODD_WORDS};
use super::table::Op as X;
use super::value::Memo;
use super::{Level, Selector};
use crate::jit::abi::offset;
use regalloc2::VReg;
use shaderjit_ir::batch::{BatchProgram, Stream};

/// Rows that addresses reach from the first one's register and a stride: a loop that does all by rows shades as many
/// vertices a round, if it carries its streams.
pub const ROWS_AT_ONCE: usize = 4;

/// The distance between rows, in bytes, and what addresses need of it.
#[derive(Clone, Copy)]
pub struct Stride {
    pub one: VReg,
    /// The distance of the lanes whose rows a vector joins: that of every fourth one, or the same as `one`.
    pub step: VReg,
    /// Three times that.
    pub three_steps: VReg,
}

/// Where the rows of a vector's lanes are.
#[derive(Clone, Copy)]
pub enum RowAddresses {
    /// In a stream, whose stride comes with the call.
    Stream {
        /// For each vector that joins rows, its first one; or every fourth row, where those follow each other.
        bases: [VReg; 4],
        stride: Stride,
        /// Whether a vector joins the rows of every fourth lane.
        is_spread: bool,
    },
    /// So many bytes from each lane's to the next.
    Apart { first: Address, distance: i32 },
}

impl RowAddresses {
    pub fn of_lane(&self, lane: u8) -> Address {
        let (bases, stride, is_spread) = match *self {
            RowAddresses::Stream { bases, stride, is_spread } => (bases, stride, is_spread),
            RowAddresses::Apart { first, distance } => return first.plus(distance * i32::from(lane)),
        };
        let (base, steps) = if is_spread { (lane % 4, lane / 4) } else { (lane / 4, lane % 4) };
        let base = bases[usize::from(base)];
        match steps {
            0 => Address::at(base, 0),
            3 => Address::indexed(base, stride.three_steps, 0, 0),
            steps => Address::indexed(base, stride.step, steps - 1, 0),
        }
    }
}

/// Vertices that a round of the loop over all vertices shades.
pub fn step(program: &BatchProgram, level: Level) -> usize {
    match program.by_rows {
        true if program.facts.streams(0).is_empty() => usize::from(level.lanes()),
        true => ROWS_AT_ONCE,
        false => program.wave(),
    }
}

impl Selector<'_> {
    /// The address of the row of an element.
    pub(super) fn row_address(&mut self, data: VReg, stride: VReg, element: VReg) -> VReg {
        let offset = self.simd.general(X::Imul64, &[element], stride);
        self.simd.general(X::Add64, &[offset], data)
    }

    /// Loads where a stream begins and its stride.
    pub(super) fn load_stream(&mut self, stream: Stream) -> [VReg; 2] {
        let (table, (data, stride)) = match stream {
            Stream::Input(element) => (offset::INPUTS, offset::input(element)),
            Stream::Output(element) => (offset::OUTPUTS, offset::output(element)),
        };
        let address = Address::at(self.args, table);
        let table = self.memoised(Memo::Streams(table), |this| this.simd.load_pointer(address));
        [data, stride].map(|field| self.simd.load_pointer(Address::at(table, field)))
    }

    /// The row of a wave's first lane, and the stride.
    pub(super) fn first_row(&mut self, stream: Stream) -> (VReg, Stride) {
        let carried = self.carried().iter().position(|&carried| carried == stream);
        if let Some(index) = carried {
            return (self.wave.first_rows[index], self.wave.strides[index]);
        }
        let [first, one, step, three_steps] = self.memoised_all(Memo::Stream(stream), |this| {
            let [data, one] = this.load_stream(stream);
            let (first, stride) = (this.row_address(data, one, this.wave.element), this.stride(one));
            [first, stride.one, stride.step, stride.three_steps]
        });
        (first, Stride { one, step, three_steps })
    }

    /// The addresses of the rows of a vector's lanes.
    pub(super) fn rows(&mut self, stream: Stream, vector: u8) -> RowAddresses {
        let (mut first, stride) = self.first_row(stream);
        if self.program.by_rows {
            let mut bases = [first; 4];
            for base in 1..self.step / ROWS_AT_ONCE {
                bases[base] = self.simd.address(self.rows_behind(bases[base - 1], stride, ROWS_AT_ONCE));
            }
            return RowAddresses::Stream { bases, stride, is_spread: false };
        }
        for _ in 0..vector {
            first = self.simd.address(self.rows_behind(first, stride, usize::from(self.simd.lanes())));
        }
        self.spread_rows(first, stride)
    }

    /// The addresses of the rows of a vector's lanes from the first one's on.
    fn spread_rows(&mut self, first: VReg, stride: Stride) -> RowAddresses {
        let second = self.simd.address(Address::indexed(first, stride.one, 0, 0));
        let third = self.simd.address(Address::indexed(first, stride.one, 1, 0));
        let fourth = self.simd.address(Address::indexed(second, stride.one, 1, 0));
        RowAddresses::Stream { bases: [first, second, third, fourth], stride, is_spread: true }
    }

    /// What addresses need of a stride.
    pub(super) fn stride(&mut self, one: VReg) -> Stride {
        let step = if self.program.by_rows { one } else { self.simd.general_imm(X::Shl64, one, 2) };
        let three_steps = match self.program.by_rows || self.simd.lanes() == 16 {
            true => self.simd.address(Address::indexed(step, step, 1, 0)),
            false => step,
        };
        Stride { one, step, three_steps }
    }

    /// The address so many rows behind another one: a power of two, from 4 to 32.
    pub(super) fn rows_behind(&self, row: VReg, stride: Stride, rows: usize) -> Address {
        let steps = if self.program.by_rows { rows } else { rows / 4 };
        Address::indexed(row, stride.step, steps.ilog2() as u8, 0)
    }

    /// The vectors that join the rows of all lanes of a round.
    pub(super) fn joining(&self) -> u8 {
        if self.program.by_rows { self.step as u8 / (self.simd.lanes() / 4) } else { 4 }
    }

    /// The lane whose row stands at a place of one of them.
    fn joined(&self, vector: u8, place: u8) -> u8 {
        if self.program.by_rows { self.simd.lanes() / 4 * vector + place } else { 4 * place + vector }
    }

    /// The rows that a vector joins, of 4 to 16 bytes; what is behind them is anything.
    pub(super) fn load_rows(&mut self, bytes: usize, rows: &RowAddresses, vector: u8) -> VReg {
        let load = match bytes {
            16 => None,
            8 => Some(X::Movsd),
            _ => Some(X::Broadcastss),
        };
        self.rows_of_lanes(|this, first| {
            let address = rows.of_lane(this.joined(vector, first / 4));
            match load {
                None => address.into(),
                Some(load) => this.simd.row_op(load, &[], address, 0).into(),
            }
        })
    }

    /// Copies the first words, 1 to 4 of them, of the rows that a vector joins.
    pub(super) fn copy_rows(&mut self, from: &RowAddresses, to: &RowAddresses, components: u8, vector: u8) {
        for place in 0..self.simd.lanes() / 4 {
            let lane = self.joined(vector, place);
            let counts_down = self.counts_down();
            let (simd, from, to) = (&mut self.simd, from.of_lane(lane), to.of_lane(lane));
            let mut copy = |load, store, at| {
                let part = simd.row_op(load, &[], from.plus(at), 0);
                simd.effect(store, Size::X, &[part], Some(to.plus(at)), 0);
            };
            // Through a general register, if one is free (those hold addresses): a cycle has room for fewer stores of
            // vectors.
            let (word, two_words) = match counts_down {
                true => ((X::Mov, X::Store), (X::Mov64, X::Store64)),
                false => ((X::Movd, X::MovdOut), (X::Movsd, X::StoreLow)),
            };
            match components {
                4 => copy(X::Movups, X::StoreVector, 0),
                1 => copy(word.0, word.1, 0),
                _ => copy(two_words.0, two_words.1, 0),
            }
            if components == 3 {
                copy(word.0, word.1, 8);
            }
        }
    }

    /// The 32-bit words that are wanted of the rows of a vector, 1, 2, 4, 8 or 16 bytes, bit 0 for the first. Bits past
    /// the end of a row are anything.
    pub(super) fn fetch(&mut self, bytes: usize, rows: &RowAddresses, wanted: u8) -> [VReg; 4] {
        let mut words = [VReg::invalid(); 4];
        match bytes {
            bytes @ (1 | 2) => {
                let load = if bytes == 1 { X::Movzx8 } else { X::Movzx16 };
                words[0] = self.rows_of_lanes(|this, first| {
                    let mut row = None;
                    for lane in 0..4 {
                        let word = this.simd.general(load, &[], rows.of_lane(first + lane));
                        row = Some(match row {
                            None => this.simd.row_op(X::Movd, &[], word, 0),
                            Some(row) => this.simd.row_op(X::Pinsrd, &[row], word, u32::from(lane)),
                        });
                    }
                    row.expect("a row has lanes").into()
                });
            }
            4 => words[0] = self.words_of_lanes(|_, lane| rows.of_lane(lane)),
            8 => {
                let pairs = [0, 2].map(|lane| {
                    self.rows_of_lanes(|this, first| {
                        let low = this.simd.row_op(X::Movsd, &[], rows.of_lane(first + lane), 0);
                        this.simd.row_op(X::LoadHigh, &[low], rows.of_lane(first + lane + 1), 0).into()
                    })
                });
                for (word, lanes) in [EVEN_WORDS, ODD_WORDS].into_iter().enumerate() {
                    if wanted >> word & 1 == 1 {
                        words[word] = self.simd.shuffle(pairs[0], pairs[1], lanes);
                    }
                }
            }
            _ => {
                let rows = [0, 1, 2, 3].map(|lane| self.load_rows(bytes, rows, lane));
                words = self.simd.transpose(rows, wanted);
            }
        }
        words
    }

    /// Stores the components of a vector's lanes, 1 to 4 of them, as rows of exactly that many words.
    pub(super) fn store_components(&mut self, components: &[VReg], rows: &RowAddresses) {
        match *components {
            [x] => self.scatter_lanes(x, |_, lane| rows.of_lane(lane)),
            [x, y] => {
                for (unpack, lane) in [(X::Punpckldq, 0), (X::Punpckhdq, 2)] {
                    let pairs = self.simd.op(unpack, &[x], y);
                    for number in 0..self.simd.lanes() / 4 {
                        let row = self.simd.row(pairs, u32::from(number));
                        let [low, high] = [0, 1].map(|next| Some(rows.of_lane(4 * number + lane + next)));
                        self.simd.effect(X::StoreLow, Size::X, &[row], low, 0);
                        self.simd.effect(X::StoreHigh, Size::X, &[row], high, 0);
                    }
                }
            }
            _ => {
                let last = components[components.len() - 1];
                let vertices = self.simd.transpose([components[0], components[1], components[2], last], 15);
                for (vector, vertices) in (0u8..).zip(vertices) {
                    self.store_rows(vertices, components.len() as u8, rows, vector);
                }
            }
        }
    }

    /// Stores the first words, 1 to 4 of them, of the rows that a vector joins.
    pub(super) fn store_rows(&mut self, vertices: VReg, components: u8, rows: &RowAddresses, vector: u8) {
        for number in 0..self.simd.lanes() / 4 {
            let address = rows.of_lane(self.joined(vector, number));
            if components == 4 && number > 0 {
                self.simd.effect(X::StoreRow, self.simd.size(), &[vertices], Some(address), u32::from(number));
                continue;
            }
            let row = self.simd.row(vertices, u32::from(number));
            self.store_row(row, components, address);
        }
    }

    /// Stores the first words of a row, 1 to 4 of them.
    fn store_row(&mut self, row: VReg, components: u8, address: Address) {
        let simd = &mut self.simd;
        match components {
            1 => return simd.effect(X::MovdOut, Size::X, &[row], Some(address), 0),
            4 => return simd.effect(X::StoreVector, Size::X, &[row], Some(address), 0),
            _ => simd.effect(X::StoreLow, Size::X, &[row], Some(address), 0),
        }
        if components == 3 {
            simd.effect(X::Pextrd, Size::X, &[row], Some(address.plus(8)), 2);
        }
    }

    /// A row of 128 bits for each lane `lane`, `lane + 4` and so on, at an address of its own.
    pub(super) fn rows_at(&mut self, lane: u8, mut at: impl FnMut(&mut Self, u8) -> Address) -> VReg {
        self.rows_of_lanes(|this, first| Source::Memory(at(this, first + lane)))
    }
}
