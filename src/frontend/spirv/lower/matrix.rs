//! What opcodes compute of whole vectors and matrices, and of the bits of values.

use shaderjit_ir::{Type, Value};
use spirv::Op;

use super::Lowering;
use super::types::{Kind, Scalar, Ty};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;

/// A matrix: its scalars, rows and columns.
#[derive(Clone)]
pub(super) struct Matrix {
    pub scalars: Vec<Value>,
    pub rows: usize,
    pub columns: usize,
}

impl Matrix {
    pub fn at(&self, row: usize, column: usize) -> Value {
        self.scalars[column * self.rows + row]
    }

    fn row(&self, row: usize) -> Vec<Value> {
        (0..self.columns).map(|column| self.at(row, column)).collect()
    }

    fn column(&self, column: usize) -> Vec<Value> {
        self.scalars[column * self.rows..][..self.rows].to_vec()
    }
}

impl Lowering<'_> {
    /// Lowers an instruction on vectors or matrices.
    pub(super) fn matrix(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, ref operands @ ..] = instruction.operands() else { return Err(self.malformed(instruction)) };
        let ty = self.value_type(ty)?;
        let exact = self.declared.of(id).no_contraction;
        let scalars = match (opcode, operands) {
            (Op::Bitcast, &[operand]) => self.bitcast(ty, operand)?,
            (Op::VectorTimesScalar | Op::MatrixTimesScalar, &[vector, scalar]) => {
                let (vector, scalar) = (self.floats(vector)?, self.floats(scalar)?);
                let &[scalar] = &scalar[..] else { return Err(self.malformed(instruction)) };
                self.same_width(&vector, &[scalar])?;
                vector.iter().map(|&component| self.product(component, scalar, exact)).collect()
            }
            (Op::MatrixTimesVector, &[matrix, vector]) => {
                let (matrix, vector) = (self.matrix_of(instruction, matrix)?, self.floats(vector)?);
                if vector.len() != matrix.columns {
                    return Err(self.malformed(instruction));
                }
                self.same_width(&matrix.scalars, &vector)?;
                (0..matrix.rows).map(|row| self.dot(&matrix.row(row), &vector, exact)).collect()
            }
            (Op::VectorTimesMatrix, &[vector, matrix]) => {
                let (vector, matrix) = (self.floats(vector)?, self.matrix_of(instruction, matrix)?);
                if vector.len() != matrix.rows {
                    return Err(self.malformed(instruction));
                }
                self.same_width(&matrix.scalars, &vector)?;
                (0..matrix.columns).map(|column| self.dot(&vector, &matrix.column(column), exact)).collect()
            }
            (Op::MatrixTimesMatrix, &[left, right]) => {
                let (left, right) = (self.matrix_of(instruction, left)?, self.matrix_of(instruction, right)?);
                if left.columns != right.rows {
                    return Err(self.malformed(instruction));
                }
                self.same_width(&left.scalars, &right.scalars)?;
                let places = (0..right.columns).flat_map(|column| (0..left.rows).map(move |row| (row, column)));
                places.map(|(row, column)| self.dot(&left.row(row), &right.column(column), exact)).collect()
            }
            (Op::OuterProduct, &[column, row]) => {
                let (column, row) = (self.floats(column)?, self.floats(row)?);
                self.same_width(&column, &row)?;
                let places = row.iter().flat_map(|&y| column.iter().map(move |&x| (x, y)));
                places.map(|(x, y)| self.product(x, y, exact)).collect()
            }
            (Op::Dot, &[left, right]) => {
                let (left, right) = (self.floats(left)?, self.floats(right)?);
                self.same_types(&left, &right)?;
                vec![self.dot(&left, &right, exact)]
            }
            (Op::Any | Op::All, &[vector]) => {
                let (_, vector) = self.value(vector)?;
                let Some((&first, rest)) = vector.split_first().filter(|&(&value, _)| self.b.ty(value) == Type::I1)
                else {
                    return Err(self.malformed(instruction));
                };
                let join = |this: &mut Self, sum, value| match opcode {
                    Op::Any => this.b.or([sum, value]),
                    _ => this.b.and([sum, value]),
                };
                vec![rest.iter().fold(first, |sum, &value| join(self, sum, value))]
            }
            (Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended, &[left, right]) => {
                self.extended_integers(opcode, instruction, left, right)?
            }
            _ => return Err(self.malformed(instruction)),
        };
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// The scalars of an operand that has nothing but floats of one width.
    pub(super) fn floats(&mut self, id: u32) -> Result<Vec<Value>, LowerError> {
        let (ty, scalars) = self.value(id)?;
        match self.types.flatten(ty).iter().all(|scalar| matches!(scalar, Scalar::Float { .. }))
            && self.is_even(&scalars)
        {
            true => Ok(scalars.to_vec()),
            false => Err(self.invalid(format!("%{id} has other scalars than floats"))),
        }
    }

    /// Whether all values are of one type.
    fn is_even(&self, scalars: &[Value]) -> bool {
        scalars.iter().all(|&scalar| self.b.ty(scalar) == self.b.ty(scalars[0]))
    }

    /// As [`floats`](Self::floats), where only floats of 32 bits will do.
    pub(super) fn singles(&mut self, id: u32) -> Result<Vec<Value>, LowerError> {
        let scalars = self.floats(id)?;
        match scalars.first().map(|&scalar| self.b.ty(scalar)) {
            Some(Type::F64) => Err(self.unsupported("such an operation on floats of 64 bits")),
            _ => Ok(scalars),
        }
    }

    /// The matrix that an id is.
    pub(super) fn matrix_of(&mut self, instruction: &Instruction<'_>, id: u32) -> Result<Matrix, LowerError> {
        let (ty, _) = self.value(id)?;
        let Some((rows, columns)) = self.types.matrix(ty) else { return Err(self.malformed(instruction)) };
        Ok(Matrix { scalars: self.floats(id)?, rows: rows as usize, columns: columns as usize })
    }

    /// That floats are of the same width as others.
    fn same_width(&self, a: &[Value], b: &[Value]) -> Result<(), LowerError> {
        match (a.first(), b.first()) {
            (Some(&a), Some(&b)) if self.b.ty(a) == self.b.ty(b) => Ok(()),
            _ => Err(self.invalid("operands of different types")),
        }
    }

    fn product(&mut self, x: Value, y: Value, exact: bool) -> Value {
        if self.b.ty(x) == Type::F64 {
            return self.b.dmul([x, y]);
        }
        let product = self.b.fmul([x, y]);
        if !exact {
            self.products.insert(product, [x, y]);
        }
        product
    }

    /// The dot product, summed from the first component on.
    pub(super) fn dot(&mut self, left: &[Value], right: &[Value], exact: bool) -> Value {
        let mut sum = None;
        for (&x, &y) in left.iter().zip(right) {
            sum = Some(match sum {
                Some(sum) if self.b.ty(x) == Type::F64 => {
                    let product = self.b.dmul([x, y]);
                    self.b.dadd([sum, product])
                }
                None if self.b.ty(x) == Type::F64 => self.b.dmul([x, y]),
                None => self.b.fmul([x, y]),
                Some(sum) if exact => {
                    let product = self.b.fmul([x, y]);
                    self.b.fadd([sum, product])
                }
                Some(sum) => self.b.fmad([x, y, sum]),
            });
        }
        sum.unwrap_or_else(|| self.b.f32(0.0))
    }

    /// The same bits in another type.
    fn bitcast(&mut self, ty: Ty, operand: u32) -> Result<Vec<Value>, LowerError> {
        let (from, scalars) = self.value(operand)?;
        let ((from, _), (to, _)) = (self.vector(from)?, self.vector(ty)?);
        let words = |scalar: Scalar| match scalar {
            Scalar::Int { width: 32, .. } | Scalar::Float { width: 32 } => Some(1),
            Scalar::Float { width: 64 } | Scalar::Int { width: 64, .. } => Some(2),
            _ => None,
        };
        if from.bytes() == to.bytes() && from.bytes() < 4 {
            // Of one width: the bits that are held differ.
            let mut cast = Vec::with_capacity(scalars.len());
            for &scalar in scalars.iter() {
                let bits = self.stored(from, scalar);
                cast.push(self.held(to, bits, to.bytes() as u8 * 8));
            }
            return Ok(cast);
        }
        let (Some(_), Some(target)) = (words(from), words(to)) else {
            return Err(self.unsupported("OpBitcast between such types"));
        };
        let mut bits = Vec::with_capacity(2 * scalars.len());
        for &scalar in scalars.iter() {
            match self.b.ty(scalar) {
                Type::F64 => {
                    for half in [self.b.f64lo([scalar]), self.b.f64hi([scalar])] {
                        bits.push(if to.ir() == Type::F32 { self.b.bitcast_f32([half]) } else { half });
                    }
                }
                Type::F32 if to.ir() != Type::F32 => bits.push(self.b.bitcast_i32([scalar])),
                Type::I32 if to.ir() == Type::F32 => bits.push(self.b.bitcast_f32([scalar])),
                _ => bits.push(scalar),
            }
        }
        if target == 1 {
            return Ok(bits);
        }
        if !bits.len().is_multiple_of(2) {
            return Err(self.invalid("OpBitcast of half a number"));
        }
        let pairs = bits.chunks_exact(2).map(|pair| self.b.f64join([pair[0], pair[1]]));
        Ok(pairs.collect())
    }

    /// Sums with carries and whole products: a structure of two vectors.
    fn extended_integers(
        &mut self,
        opcode: Op,
        instruction: &Instruction<'_>,
        left: u32,
        right: u32,
    ) -> Result<Vec<Value>, LowerError> {
        let ((ty, left), (_, right)) = (self.value(left)?, self.value(right)?);
        let is_word = matches!(self.vector(ty)?.0, Scalar::Int { width: 32, .. });
        if !is_word
            || left.len() != right.len()
            || !matches!(self.types.kind(ty), Kind::Scalar(_) | Kind::Vector { .. })
        {
            return Err(self.malformed(instruction));
        }
        self.same_types(&left, &right)?;
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (&x, &y) in left.iter().zip(right.iter()) {
            let (l, h) = match opcode {
                Op::IAddCarry => {
                    let sum = self.b.iadd([x, y]);
                    let carries = self.b.ult([sum, x]);
                    (sum, self.truth(carries))
                }
                Op::ISubBorrow => {
                    let borrows = self.b.ult([x, y]);
                    (self.b.isub([x, y]), self.truth(borrows))
                }
                Op::UMulExtended => (self.b.imul([x, y]), self.b.umulhi([x, y])),
                _ => (self.b.imul([x, y]), self.b.smulhi([x, y])),
            };
            low.push(l);
            high.push(h);
        }
        low.extend(high);
        Ok(low)
    }
}
