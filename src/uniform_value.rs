//! Values of uniforms as Rust has them: scalars, and arrays of arrays for vectors, matrices and arrays of those.

use std::fmt::Write;

/// The type of a value's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scalar {
    /// `f32`, HLSL's `float`.
    F32,
    /// `i32`, HLSL's `int`.
    I32,
    /// `u32`, HLSL's `uint`.
    U32,
    /// `bool`, HLSL's `bool`: 1 or 0.
    Bool,
}

impl Scalar {
    /// Its name in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::F32 => "f32",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::Bool => "bool",
        }
    }
}

/// A value that [`Call::set`](crate::Call::set) takes: `f32`, `i32`, `u32` or `bool`; `[T; N]` for a vector, `[[T; C];
/// R]` for a matrix of R rows and C columns, and arrays, slices or `Vec`s of them for arrays. A matrix is given by its
/// rows, however the shader stores it.
pub trait UniformValue {
    /// Type of the components.
    const SCALAR: Scalar;

    /// Appends the lengths of the arrays that it consists of, outermost first: none for a scalar.
    fn lengths(&self, lengths: &mut Vec<usize>);

    /// Appends the components' bits, in order.
    fn words(&self, words: &mut Vec<u32>);
}

macro_rules! scalars {
    ($( $ty:ty, $scalar:ident, $value:ident => $bits:expr; )*) => {
        $(
            impl UniformValue for $ty {
                const SCALAR: Scalar = Scalar::$scalar;
                fn lengths(&self, _: &mut Vec<usize>) {}
                fn words(&self, words: &mut Vec<u32>) {
                    let $value = *self;
                    words.push($bits);
                }
            }
        )*
    };
}
scalars! {
    f32, F32, value => value.to_bits();
    i32, I32, value => value as u32;
    u32, U32, value => value;
    bool, Bool, value => value.into();
}

impl<T: UniformValue> UniformValue for [T] {
    const SCALAR: Scalar = T::SCALAR;

    fn lengths(&self, lengths: &mut Vec<usize>) {
        lengths.push(self.len());
        if let Some(first) = self.first() {
            first.lengths(lengths);
        }
    }

    fn words(&self, words: &mut Vec<u32>) {
        self.iter().for_each(|value| value.words(words));
    }
}

macro_rules! as_slices {
    ($( [$($parameters:tt)*] $ty:ty; )*) => {
        $(
            impl<$($parameters)*> UniformValue for $ty {
                const SCALAR: Scalar = T::SCALAR;
                fn lengths(&self, lengths: &mut Vec<usize>) {
                    self.as_slice().lengths(lengths);
                }
                fn words(&self, words: &mut Vec<u32>) {
                    self.as_slice().words(words);
                }
            }
        )*
    };
}
as_slices! {
    [T: UniformValue, const N: usize] [T; N];
    [T: UniformValue] Vec<T>;
}

impl<T: UniformValue + ?Sized> UniformValue for &T {
    const SCALAR: Scalar = T::SCALAR;

    fn lengths(&self, lengths: &mut Vec<usize>) {
        (**self).lengths(lengths);
    }

    fn words(&self, words: &mut Vec<u32>) {
        (**self).words(words);
    }
}

/// How messages name the type of a value: `f32[8][3]` for eight vectors of three components.
pub(crate) fn spelling(scalar: Scalar, lengths: &[usize]) -> String {
    let mut name = scalar.name().to_string();
    lengths.iter().for_each(|length| _ = write!(name, "[{length}]"));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape<T: UniformValue>(value: T) -> (String, Vec<u32>) {
        let (mut lengths, mut words) = (Vec::new(), Vec::new());
        value.lengths(&mut lengths);
        value.words(&mut words);
        (spelling(T::SCALAR, &lengths), words)
    }

    #[test]
    fn arrays_nest() {
        assert_eq!(shape(1.0f32), ("f32".to_string(), vec![0x3f80_0000]));
        assert_eq!(shape([[1, -2], [3, 4], [5, 6]]), ("i32[3][2]".to_string(), vec![1, 0xffff_fffe, 3, 4, 5, 6]));
        assert_eq!(shape(&[true, false][..]), ("bool[2]".to_string(), vec![1, 0]));
        assert_eq!(shape(vec![[7u32; 2]; 2]), ("u32[2][2]".to_string(), vec![7; 4]));
        assert_eq!(shape(Vec::<f32>::new()), ("f32[0]".to_string(), vec![]));
    }
}
