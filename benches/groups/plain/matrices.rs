//! A product of matrices by tiles.

use crate::aligned::Aligned;

/// Edge of a tile.
const TILE: usize = 8;

/// What is multiplied: `rows` by `inner`, and `inner` by `columns`.
pub struct Factors {
    pub sizes: [usize; 3],
    pub a: Aligned<f32>,
    pub b: Aligned<f32>,
}

impl Factors {
    /// Tile by tile of the product, each of them through tiles of the factors. Beyond the edges there is 0.
    pub fn multiply(&self, product: &mut [u32]) {
        let ([rows, inner, columns], [a, b]) = (&self.sizes, [&*self.a, &*self.b]);
        for top in (0..*rows).step_by(TILE) {
            for left in (0..*columns).step_by(TILE) {
                let mut sums = [[0.0f32; TILE]; TILE];
                for from in (0..*inner).step_by(TILE) {
                    let (of_a, of_b) =
                        (tile(a, [*rows, *inner], [top, from]), tile(b, [*inner, *columns], [from, left]));
                    for (sums, of_a) in sums.iter_mut().zip(&of_a) {
                        for (column, sum) in sums.iter_mut().enumerate() {
                            for (a, b) in of_a.iter().zip(&of_b) {
                                *sum += a * b[column];
                            }
                        }
                    }
                }
                for (row, sums) in (top..*rows).zip(&sums) {
                    for (column, sum) in (left..*columns).zip(sums) {
                        product[row * columns + column] = sum.to_bits();
                    }
                }
            }
        }
    }

    /// Row by row, each the sum of rows of the second factor: loops that compilers make vectors of.
    pub fn multiply_rows(&self, product: &mut [u32]) {
        let Factors { sizes: [_, inner, columns], a, b } = self;
        let mut sums = vec![0.0f32; *columns];
        for (a, product) in a.chunks_exact(*inner).zip(product.chunks_exact_mut(*columns)) {
            sums.fill(0.0);
            for (a, b) in a.iter().zip(b.chunks_exact(*columns)) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
            for (product, sum) in product.iter_mut().zip(&sums) {
                *product = sum.to_bits();
            }
        }
    }
}

fn tile(matrix: &[f32], [rows, columns]: [usize; 2], [top, left]: [usize; 2]) -> [[f32; TILE]; TILE] {
    let at = |row, column| if row < rows && column < columns { matrix[row * columns + column] } else { 0.0 };
    std::array::from_fn(|row| std::array::from_fn(|column| at(top + row, left + column)))
}
