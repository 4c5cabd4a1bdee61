//! Rows of vertex buffers to lanes, and lanes to rows of outputs.
//!
//! A row is loaded or stored whole and transposed with three others, because that is several times faster than a load
//! or a store for each component.

use super::simd::Simd;
use cranelift_codegen::ir::types::{F32, F32X4, F64X2, I8X16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, Value};

/// The address of the row of an element.
pub fn row_address(simd: &mut Simd<'_>, data: Value, stride: Value, element: Value) -> Value {
    let offset = simd.ins().imul(element, stride);
    simd.ins().iadd(data, offset)
}

/// The 32-bit words of four vertices whose rows are at `rows`, of so many bytes, each in a vector of its own, of any
/// type. Bits past the end of a row are anything.
pub fn fetch(simd: &mut Simd<'_>, bytes: usize, rows: [Value; 4]) -> Vec<Value> {
    match bytes {
        bytes @ (1 | 2 | 4) => {
            let first = simd.load_bytes(bytes, rows[0]);
            let mut word = simd.ins().scalar_to_vector(I32X4, first);
            for (lane, &row) in (0u8..).zip(&rows).skip(1) {
                let next = simd.load_bytes(bytes, row);
                word = simd.ins().insertlane(word, next, lane);
            }
            vec![word]
        }
        8 => {
            // Each word zero-extended to 64 bits: on x86 a load of eight bytes to the low half would be three
            // instructions.
            let rows = rows.map(|row| simd.load_two(row, 0));
            let rows01 = simd.shuffle(rows[0], rows[1], [0, 2, 4, 6]);
            let rows23 = simd.shuffle(rows[2], rows[3], [0, 2, 4, 6]);
            vec![simd.shuffle(rows01, rows23, [0, 2, 4, 6]), simd.shuffle(rows01, rows23, [1, 3, 5, 7])]
        }
        _ => {
            let rows = rows.map(|row| simd.load(I8X16, row, 0));
            simd.transpose(rows).to_vec()
        }
    }
}

/// A component of one vertex, 32 bits taken as they are, loaded from its row into all four lanes.
pub fn broadcast(simd: &mut Simd<'_>, row: Value, component: u8) -> Value {
    let scalar = simd.load(F32, row, i32::from(component) * 4);
    simd.ins().splat(F32X4, scalar)
}

/// Copies the components of one vertex, 1 to 4 of them.
pub fn copy_row(simd: &mut Simd<'_>, from: Value, to: Value, components: u8) {
    let words: &[_] = match components {
        1 => &[(I32, 0)],
        2 => &[(I64, 0)],
        3 => &[(I64, 0), (I32, 8)],
        _ => &[(F32X4, 0)],
    };
    for &(ty, at) in words {
        let word = simd.load(ty, from, at);
        simd.store(word, to, at);
    }
}

/// Stores the first three or all four components of one vertex.
pub fn store_row(simd: &mut Simd<'_>, vertex: Value, components: u8, row: Value) {
    if components == 4 {
        simd.store(vertex, row, 0);
        return;
    }
    store_low_half(simd, vertex, row);
    let vertex = simd.cast(I32X4, vertex);
    let third = simd.ins().extractlane(vertex, 2u8);
    simd.store(third, row, 8);
}

/// Stores the components of four vertices, 1 to 4 of them, as rows of exactly that many words.
pub fn store(simd: &mut Simd<'_>, components: &[Value], rows: [Value; 4]) {
    match *components {
        [x] => {
            let x = simd.cast(I32X4, x);
            for (lane, &row) in (0u8..).zip(&rows) {
                let word = simd.ins().extractlane(x, lane);
                simd.store(word, row, 0);
            }
        }
        [x, y] => {
            let pairs = [simd.shuffle(x, y, [0, 4, 1, 5]), simd.shuffle(x, y, [2, 6, 3, 7])];
            for (pair, rows) in pairs.into_iter().zip(rows.as_chunks::<2>().0) {
                store_low_half(simd, pair, rows[0]);
                let pair = simd.cast(I64X2, pair);
                let high = simd.ins().extractlane(pair, 1u8);
                simd.store(high, rows[1], 0);
            }
        }
        [x, y, z] => {
            let vertices = simd.transpose([x, y, z, z]);
            for (vertex, row) in vertices.into_iter().zip(rows) {
                store_row(simd, vertex, 3, row);
            }
        }
        [x, y, z, w] => {
            let vertices = simd.transpose([x, y, z, w]);
            for (vertex, row) in vertices.into_iter().zip(rows) {
                simd.store(vertex, row, 0);
            }
        }
        _ => unreachable!("an output element has 1 to 4 components"),
    }
}

/// Stores two words with one instruction.
fn store_low_half(simd: &mut Simd<'_>, value: Value, row: Value) {
    let halves = simd.cast(F64X2, value);
    let low = simd.ins().extractlane(halves, 0u8);
    simd.store(low, row, 0);
}
