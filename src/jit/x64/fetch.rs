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

/// The distance between rows, in bytes, and what addresses need of it.
#[derive(Clone, Copy)]
pub struct Stride {
    pub one: VReg,
    /// Four and twelve times as much.
    pub four: VReg,
    pub twelve: VReg,
}

/// Where the rows of a vector's lanes are in a stream.
#[derive(Clone, Copy)]
pub struct RowAddresses {
    /// Those of the first four lanes.
    bases: [VReg; 4],
    stride: Stride,
}

impl RowAddresses {
    pub fn of_lane(&self, lane: u8) -> Address {
        let base = self.bases[usize::from(lane % 4)];
        match lane / 4 {
            0 => Address::at(base, 0),
            3 => Address::indexed(base, self.stride.twelve, 0, 0),
            quarter => Address::indexed(base, self.stride.four, quarter - 1, 0),
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
        let carried = self.carried().iter().position(|&carried| carried == stream);
        let (mut first, stride) = match (carried, self.here.memo.get(&Memo::Stream(stream))) {
            (Some(index), _) => (self.wave.first_rows[index], self.wave.strides[index]),
            (None, Some(&[first, one, four, twelve])) => (first, Stride { one, four, twelve }),
            (None, None) => {
                let [data, one] = self.load_stream(stream);
                let (first, stride) = (self.row_address(data, one, self.wave.element), self.stride(one));
                self.here.memo.insert(Memo::Stream(stream), [first, stride.one, stride.four, stride.twelve]);
                (first, stride)
            }
        };
        for _ in 0..vector {
            first = self.simd.address(self.rows_behind(first, stride, usize::from(self.simd.lanes())));
        }
        let second = self.simd.address(Address::indexed(first, stride.one, 0, 0));
        let third = self.simd.address(Address::indexed(first, stride.one, 1, 0));
        let fourth = self.simd.address(Address::indexed(second, stride.one, 1, 0));
        RowAddresses { bases: [first, second, third, fourth], stride }
    }

    /// What addresses need of a stride.
    pub(super) fn stride(&mut self, one: VReg) -> Stride {
        let four = self.simd.general_imm(X::Shl64, one, 2);
        let twelve = match self.simd.lanes() {
            16 => self.simd.address(Address::indexed(four, four, 1, 0)),
            _ => four,
        };
        Stride { one, four, twelve }
    }

    /// The address so many rows behind another one: a power of two, from 4 to 32.
    pub(super) fn rows_behind(&self, row: VReg, stride: Stride, rows: usize) -> Address {
        Address::indexed(row, stride.four, rows.ilog2() as u8 - 2, 0)
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

    /// Copies the first words, 1 to 4 of them, of the rows of lanes `lane`, `lane + 4` and so on.
    pub(super) fn copy_rows(&mut self, from: &RowAddresses, to: &RowAddresses, components: u8, lane: u8) {
        let simd = &mut self.simd;
        for lane in (lane..simd.lanes()).step_by(4) {
            let (from, to) = (from.of_lane(lane), to.of_lane(lane));
            if components == 4 {
                let row = simd.row_op(X::Movups, &[], from, 0);
                simd.effect(X::StoreVector, Size::X, &[row], Some(to), 0);
                continue;
            }
            if components > 1 {
                let pair = simd.load_pointer(from);
                simd.store_pointer(pair, to);
            }
            if components != 2 {
                let last = i32::from(components - 1) * 4;
                let word = simd.load_word(from.plus(last));
                simd.store_word(word, to.plus(last));
            }
        }
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
