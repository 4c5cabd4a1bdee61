//! Rows of vertex buffers to lanes, and lanes to rows of outputs.
//!
//! A row of the caller's is loaded or stored whole. A vector joins the rows of every fourth lane, so that transposing
//! within 128 bits gives words in the order of lanes.

use super::Selector;
use super::code::{Address, Source};
use super::encode::Size;
use super::table::Op as X;
use super::value::Memo;
use crate::jit::abi::{self, offset};
use crate::vertex_format::VertexFormat;
use regalloc2::VReg;
use shaderjit_ir::batch::Stream;

/// Where the rows of a vector's lanes are in a stream.
#[derive(Clone, Copy)]
pub struct RowAddresses {
    /// Those of the first four lanes.
    bases: [VReg; 4],
    /// Four and twelve times the stride.
    four: VReg,
    twelve: VReg,
}

impl RowAddresses {
    pub fn of_lane(&self, lane: u8) -> Address {
        let base = self.bases[usize::from(lane % 4)];
        match lane / 4 {
            0 => Address::at(base, 0),
            3 => Address::indexed(base, self.twelve, 0, 0),
            quarter => Address::indexed(base, self.four, quarter - 1, 0),
        }
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
        let table = self.simd.load_pointer(Address::at(self.args, table));
        [data, stride].map(|field| self.simd.load_pointer(Address::at(table, field)))
    }

    /// The addresses of the rows of a vector's lanes.
    pub(super) fn rows(&mut self, stream: Stream, vector: u8) -> RowAddresses {
        let [mut first, stride, four, twelve] = match self.here.memo.get(&Memo::Stream(stream)) {
            Some(&known) => known,
            None => {
                let (first, stride) = match self.carried().iter().position(|&carried| carried == stream) {
                    Some(index) => (self.wave.first_rows[index], self.wave.strides[index]),
                    None => {
                        let [data, stride] = self.load_stream(stream);
                        (self.row_address(data, stride, self.wave.element), stride)
                    }
                };
                let four = self.simd.general_imm(X::Shl64, stride, 2);
                let twelve = match self.simd.lanes() {
                    16 => self.simd.address(Address::indexed(four, four, 1, 0)),
                    _ => four,
                };
                let known = [first, stride, four, twelve];
                self.here.memo.insert(Memo::Stream(stream), known);
                known
            }
        };
        for _ in 0..vector {
            let shift = self.simd.lanes().trailing_zeros() as u8 - 2;
            first = self.simd.address(Address::indexed(first, four, shift, 0));
        }
        let second = self.simd.address(Address::indexed(first, stride, 0, 0));
        let third = self.simd.address(Address::indexed(first, stride, 1, 0));
        let fourth = self.simd.address(Address::indexed(second, stride, 1, 0));
        RowAddresses { bases: [first, second, third, fourth], four, twelve }
    }

    /// The rows of lanes `lane`, `lane + 4` and so on, of 4 to 16 bytes; what is behind them is anything.
    pub(super) fn load_rows(&mut self, format: VertexFormat, rows: &RowAddresses, lane: u8) -> VReg {
        let load = match abi::read_bytes(format) {
            16 => None,
            8 => Some(X::Movsd),
            _ => Some(X::Broadcastss),
        };
        self.rows_of_lanes(|this, first| {
            let address = rows.of_lane(first + lane);
            match load {
                None => address.into(),
                Some(load) => this.simd.row_op(load, &[], address, 0).into(),
            }
        })
    }

    /// The 32-bit words that are wanted of the rows of a vector, bit 0 for the first. Bits past the end of a row are
    /// anything.
    pub(super) fn fetch(&mut self, format: VertexFormat, rows: &RowAddresses, wanted: u8) -> [VReg; 4] {
        let mut words = [VReg::invalid(); 4];
        match abi::read_bytes(format) {
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
                for (word, lanes) in [[0, 2, 0, 2], [1, 3, 1, 3]].into_iter().enumerate() {
                    if wanted >> word & 1 == 1 {
                        words[word] = self.simd.shuffle(pairs[0], pairs[1], lanes);
                    }
                }
            }
            _ => {
                let rows = [0, 1, 2, 3].map(|lane| self.load_rows(format, rows, lane));
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
                for (unpack, lane) in [(X::Unpcklps, 0), (X::Unpckhps, 2)] {
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
                for (lane, vertex) in (0u8..).zip(vertices) {
                    self.store_rows(vertex, components.len() as u8, rows, lane);
                }
            }
        }
    }

    /// Stores the first words, 1 to 4 of them, of the rows of lanes `lane`, `lane + 4` and so on.
    pub(super) fn store_rows(&mut self, vertices: VReg, components: u8, rows: &RowAddresses, lane: u8) {
        for number in 0..self.simd.lanes() / 4 {
            let address = rows.of_lane(4 * number + lane);
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
