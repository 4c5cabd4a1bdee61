//! The instructions of GLSL.std.450.

use shaderjit_ir::{Type, Value};
use spirv::GlslStd450Op as Extended;

use super::Lowering;
use super::matrix::Matrix;
use super::types::{Scalar, Ty};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::spirv::opcode::EXTENDED;

impl Lowering<'_> {
    /// Lowers an instruction of an extended set.
    pub(super) fn extended(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, set, number, ref operands @ ..] = instruction.operands() else {
            return Err(self.malformed(instruction));
        };
        if !self.extended_sets.contains(&set) {
            // Sets whose name begins so say nothing to an executor, and their results are of type void.
            return match self.types.scalars(self.ty(ty)?) {
                0 => Ok(()),
                _ => Err(self.unsupported(format!("OpExtInst of an unknown set ({number})"))),
            };
        }
        let opcode = Extended::from_u32(number).filter(|opcode| EXTENDED.contains(opcode));
        let Some(opcode) = opcode else {
            let name = Extended::from_u32(number).map_or_else(|| number.to_string(), |opcode| format!("{opcode:?}"));
            return Err(self.unsupported(format!("OpExtInst {name}")));
        };
        let ty = self.value_type(ty)?;
        let scalars = match (opcode, operands) {
            (Extended::Modf | Extended::Frexp, &[x, pointer]) => {
                let (first, second) = self.split(opcode, x)?;
                let pointer = self.pointer(pointer)?;
                self.check_type(pointer.ty, &second)?;
                self.store(&pointer, &second)?;
                first
            }
            (Extended::ModfStruct | Extended::FrexpStruct, &[x]) => {
                let (mut first, second) = self.split(opcode, x)?;
                first.extend(second);
                first
            }
            (Extended::Determinant, &[matrix]) => {
                let matrix = self.square_matrix(instruction, matrix)?;
                vec![self.determinant(&matrix)]
            }
            (Extended::MatrixInverse, &[matrix]) => {
                let matrix = self.square_matrix(instruction, matrix)?;
                self.inverse(&matrix)
            }
            (Extended::PackDouble2x32, &[words]) => match self.value(words)?.1[..] {
                [low, high] if self.b.ty(low) == Type::I32 && self.b.ty(high) == Type::I32 => {
                    vec![self.b.f64join([low, high])]
                }
                _ => return Err(self.malformed(instruction)),
            },
            (Extended::UnpackDouble2x32, &[double]) => {
                let (ty, _) = self.value(double)?;
                let double = self.scalar(double)?;
                if self.vector(ty)?.0 != (Scalar::Float { width: 64 }) {
                    return Err(self.malformed(instruction));
                }
                vec![self.b.f64lo([double]), self.b.f64hi([double])]
            }
            (
                Extended::InterpolateAtCentroid | Extended::InterpolateAtSample | Extended::InterpolateAtOffset,
                operands,
            ) => self.interpolated(instruction, opcode, operands)?,
            _ => self.extended_values(instruction, opcode, ty, operands)?,
        };
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// Those that take nothing but vectors of one kind of number.
    fn extended_values(
        &mut self,
        instruction: &Instruction<'_>,
        opcode: Extended,
        ty: Ty,
        operands: &[u32],
    ) -> Result<Vec<Value>, LowerError> {
        let (result, _) = self.vector(ty)?;
        let mut sources = Vec::with_capacity(operands.len());
        let mut kinds = Vec::with_capacity(operands.len());
        for &operand in operands {
            let (ty, scalars) = self.value(operand)?;
            kinds.push(self.vector(ty)?.0);
            sources.push(scalars.to_vec());
        }
        let (Some(&kind), Some(first)) = (kinds.first(), sources.first()) else {
            return Err(self.malformed(instruction));
        };
        let count = first.len();
        let letters = signature(opcode);
        let fits = letters.len() == kinds.len()
            && letters.chars().zip(&kinds).all(|(letter, kind)| match letter {
                'i' => matches!(kind, Scalar::Int { width: 32, .. }),
                _ => matches!(kind, Scalar::Float { .. }),
            });
        let widths = || kinds.iter().filter(|kind| matches!(kind, Scalar::Float { .. }));
        if !fits || widths().any(|width| Some(width) != widths().next()) {
            return Err(self.unsupported(format!("OpExtInst {opcode:?} of such numbers")));
        }
        if let Some(packed) = self.packed(opcode, first) {
            return Ok(packed);
        }
        if kinds.contains(&Scalar::Float { width: 64 }) {
            return self.extended_doubles(opcode, &sources);
        }
        let scalars = match self.of_vectors(opcode, &sources) {
            Some(scalars) => scalars,
            None => {
                let mut scalars = Vec::with_capacity(count);
                for component in 0..count {
                    // An eta, an edge or a factor may be one for all components.
                    let args: Option<Vec<Value>> =
                        sources.iter().map(|source| source.get(component).copied()).collect();
                    let args = args.ok_or_else(|| self.malformed(instruction))?;
                    let value = self.extended_component(opcode, &args);
                    scalars.push(value.ok_or_else(|| self.malformed(instruction))?);
                }
                scalars
            }
        };
        let rounds = result == (Scalar::Float { width: 16 }) && kind == result;
        Ok(match rounds {
            true => scalars.into_iter().map(|scalar| self.nearest_half(scalar, false)).collect(),
            false => scalars,
        })
    }

    /// What an instruction computes of each component. None if it computes with whole vectors.
    fn extended_component(&mut self, opcode: Extended, args: &[Value]) -> Option<Value> {
        let (x, y, z) = (args[0], *args.get(1).unwrap_or(&args[0]), *args.get(2).unwrap_or(&args[0]));
        let b = &mut self.b;
        Some(match opcode {
            // Ties may go either way, and go to even.
            Extended::Round | Extended::RoundEven => b.fnearest([x]),
            Extended::Trunc => b.ftrunc([x]),
            Extended::Floor => b.ffloor([x]),
            Extended::Ceil => b.fceil([x]),
            Extended::FAbs => b.fabs([x]),
            Extended::SAbs => self.magnitude(x).0,
            Extended::FSign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|number| b.f32(number));
                let (above, below) = (b.flt([zero, x]), b.flt([x, zero]));
                let negative = b.select([below, minus, zero]);
                b.select([above, one, negative])
            }
            Extended::SSign => {
                let [one, minus] = [1, u32::MAX].map(|bits| b.i32(bits));
                let lower = b.smax([x, minus]);
                b.smin([lower, one])
            }
            Extended::Fract => {
                let whole = b.ffloor([x]);
                b.fsub([x, whole])
            }
            Extended::Radians => self.scaled(x, std::f32::consts::PI / 180.0),
            Extended::Degrees => self.scaled(x, 180.0 / std::f32::consts::PI),
            Extended::Sin => b.fsin([x]),
            Extended::Cos => b.fcos([x]),
            Extended::Tan => {
                let (sine, cosine) = (b.fsin([x]), b.fcos([x]));
                b.fdiv([sine, cosine])
            }
            Extended::Asin => self.arcsine(x),
            Extended::Acos => self.arccosine(x),
            Extended::Atan => self.arctangent(x),
            Extended::Atan2 => self.angle(x, y),
            Extended::Sinh => self.hyperbolic_sine(x),
            Extended::Cosh => self.hyperbolic_cosine(x),
            Extended::Tanh => self.hyperbolic_tangent(x),
            Extended::Asinh => self.inverse_hyperbolic_sine(x),
            Extended::Acosh => self.inverse_hyperbolic_cosine(x),
            Extended::Atanh => self.inverse_hyperbolic_tangent(x),
            Extended::Pow => self.power(x, y),
            Extended::Exp => self.exponential(x),
            Extended::Log => self.logarithm(x),
            Extended::Exp2 => b.fexp2([x]),
            Extended::Log2 => b.flog2([x]),
            Extended::Sqrt => b.fsqrt([x]),
            Extended::InverseSqrt => self.reciprocal_root(x),
            Extended::FMin | Extended::NMin => b.fmin([x, y]),
            Extended::FMax | Extended::NMax => b.fmax([x, y]),
            Extended::UMin => b.umin([x, y]),
            Extended::UMax => b.umax([x, y]),
            Extended::SMin => b.smin([x, y]),
            Extended::SMax => b.smax([x, y]),
            Extended::FClamp | Extended::NClamp => {
                let (low, high) = (b.literal(y), b.literal(z));
                if (low, high) == (Some(0), Some(1.0f32.to_bits().into())) {
                    return Some(b.fsat([x]));
                }
                let lower = b.fmax([x, y]);
                b.fmin([lower, z])
            }
            Extended::UClamp => {
                let lower = b.umax([x, y]);
                b.umin([lower, z])
            }
            Extended::SClamp => {
                let lower = b.smax([x, y]);
                b.smin([lower, z])
            }
            Extended::FMix => {
                // x (1 - a) + y a, as x + a (y - x) is no y where a is 1.
                let one = b.f32(1.0);
                let rest = b.fsub([one, z]);
                let first = b.fmul([x, rest]);
                b.fmad([y, z, first])
            }
            Extended::Step => {
                let [zero, one] = [0.0, 1.0].map(|number| b.f32(number));
                let below = b.flt([y, x]);
                b.select([below, zero, one])
            }
            Extended::SmoothStep => {
                let (range, above) = (b.fsub([y, x]), b.fsub([z, x]));
                let quotient = b.fdiv([above, range]);
                let t = b.fsat([quotient]);
                let [minus, three] = [-2.0, 3.0].map(|number| b.f32(number));
                let (square, line) = (b.fmul([t, t]), b.fmad([t, minus, three]));
                b.fmul([square, line])
            }
            Extended::Fma => b.fmad([x, y, z]),
            Extended::Ldexp => self.scaled_by_power(x, y),
            Extended::FindILsb => {
                let [zero, none] = [0, u32::MAX].map(|bits| b.i32(bits));
                let (place, is_zero) = (b.ctz([x]), b.ieq([x, zero]));
                b.select([is_zero, none, place])
            }
            Extended::FindUMsb => self.highest_bit(x),
            Extended::FindSMsb => {
                let shift = b.i32(31);
                let sign = b.sshr([x, shift]);
                let bits = b.xor([x, sign]);
                self.highest_bit(bits)
            }
            _ => return None,
        })
    }

    /// The place of the highest bit that is set; -1 if none is.
    fn highest_bit(&mut self, x: Value) -> Value {
        let most = self.b.i32(31);
        let zeros = self.b.clz([x]);
        self.b.isub([most, zeros])
    }

    /// `x` times two to the power of an integer, in two steps, so that neither power is out of range.
    fn scaled_by_power(&mut self, x: Value, power: Value) -> Value {
        let [least, most, one] = [-252i32 as u32, 254, 1].map(|bits| self.b.i32(bits));
        let power = self.b.smax([power, least]);
        let power = self.b.smin([power, most]);
        let half = self.b.sshr([power, one]);
        let rest = self.b.isub([power, half]);
        let mut product = x;
        for power in [half, rest] {
            let [bias, shift] = [127, 23].map(|bits| self.b.i32(bits));
            let biased = self.b.iadd([power, bias]);
            let bits = self.b.ishl([biased, shift]);
            let factor = self.b.bitcast_f32([bits]);
            product = self.b.fmul([product, factor]);
        }
        product
    }

    /// Whole part and fraction, or mantissa and exponent: what is returned, and what is stored or comes second.
    fn split(&mut self, opcode: Extended, x: u32) -> Result<(Vec<Value>, Vec<Value>), LowerError> {
        let numbers = self.singles(x)?;
        let parts = numbers.into_iter().map(|x| match opcode {
            Extended::Modf | Extended::ModfStruct => {
                let whole = self.b.ftrunc([x]);
                let fraction = self.b.fsub([x, whole]);
                // Of an infinity the fraction is zero.
                let (magnitude, infinity, zero) = (self.b.fabs([x]), self.b.f32(f32::INFINITY), self.b.f32(0.0));
                let is_infinite = self.b.feq([magnitude, infinity]);
                (self.b.select([is_infinite, zero, fraction]), whole)
            }
            _ => self.mantissa_and_exponent(x),
        });
        Ok(parts.unzip())
    }

    /// A number from 1/2 to below 1 and the power of two that it is times. Zero is itself.
    fn mantissa_and_exponent(&mut self, x: Value) -> (Value, Value) {
        let [field, kept, half, shift, bias] = [0xff, 0x807f_ffff, 126 << 23, 23, 126].map(|bits| self.b.i32(bits));
        let (bits, zero) = (self.b.bitcast_i32([x]), self.b.f32(0.0));
        let biased = self.b.ushr([bits, shift]);
        let biased = self.b.and([biased, field]);
        let exponent = self.b.isub([biased, bias]);
        let mantissa = self.b.and([bits, kept]);
        let mantissa = self.b.or([mantissa, half]);
        let mantissa = self.b.bitcast_f32([mantissa]);
        let (is_zero, none) = (self.b.feq([x, zero]), self.b.i32(0));
        (self.b.select([is_zero, x, mantissa]), self.b.select([is_zero, none, exponent]))
    }

    /// Those that look at a vector as a whole. None for the others.
    fn of_vectors(&mut self, opcode: Extended, sources: &[Vec<Value>]) -> Option<Vec<Value>> {
        let x = &sources[0];
        Some(match (opcode, &sources[1..]) {
            (Extended::Length, _) => vec![self.length(x)],
            (Extended::Distance, [y]) if x.len() == y.len() => {
                let difference: Vec<Value> = x.iter().zip(y).map(|(&x, &y)| self.b.fsub([x, y])).collect();
                vec![self.length(&difference)]
            }
            (Extended::Cross, [y]) if x.len() == 3 && y.len() == 3 => {
                let component = |(a, b): (usize, usize)| {
                    let back = self.b.fmul([y[a], x[b]]);
                    let back = self.b.fneg([back]);
                    self.b.fmad([x[a], y[b], back])
                };
                [(1, 2), (2, 0), (0, 1)].map(component).to_vec()
            }
            (Extended::Normalize, _) => {
                let square = self.dot(x, x, false);
                let factor = self.reciprocal_root(square);
                x.iter().map(|&x| self.b.fmul([x, factor])).collect()
            }
            (Extended::FaceForward, [incident, reference]) if incident.len() == x.len() => {
                let (dot, zero) = (self.dot(reference, incident, false), self.b.f32(0.0));
                let faces = self.b.flt([dot, zero]);
                let turned = x.iter().map(|&x| {
                    let back = self.b.fneg([x]);
                    self.b.select([faces, x, back])
                });
                turned.collect()
            }
            (Extended::Reflect, [normal]) if normal.len() == x.len() => {
                let dot = self.dot(normal, x, false);
                let factor = self.scaled(dot, -2.0);
                x.iter().zip(normal).map(|(&x, &n)| self.b.fmad([factor, n, x])).collect()
            }
            (Extended::Refract, [normal, eta]) if normal.len() == x.len() && eta.len() == 1 => {
                self.refracted(x, normal, eta[0])
            }
            _ => return None,
        })
    }

    fn length(&mut self, x: &[Value]) -> Value {
        if let &[x] = x {
            return self.b.fabs([x]);
        }
        let square = self.dot(x, x, false);
        self.b.fsqrt([square])
    }

    fn refracted(&mut self, x: &[Value], normal: &[Value], eta: Value) -> Vec<Value> {
        let (dot, one, zero) = (self.dot(normal, x, false), self.b.f32(1.0), self.b.f32(0.0));
        let square = self.b.fmul([dot, dot]);
        let across = self.b.fsub([one, square]);
        let eta_square = self.b.fmul([eta, eta]);
        let part = self.b.fmul([eta_square, across]);
        let k = self.b.fsub([one, part]);
        let is_total = self.b.flt([k, zero]);
        let root = self.b.fsqrt([k]);
        let factor = self.b.fmad([eta, dot, root]);
        let factor = self.b.fneg([factor]);
        let components = x.iter().zip(normal).map(|(&x, &n)| {
            let along = self.b.fmul([eta, x]);
            let refracted = self.b.fmad([factor, n, along]);
            self.b.select([is_total, zero, refracted])
        });
        components.collect()
    }

    fn extended_doubles(&mut self, opcode: Extended, sources: &[Vec<Value>]) -> Result<Vec<Value>, LowerError> {
        let count = sources[0].len();
        let mut scalars = Vec::with_capacity(count);
        for component in 0..count {
            let args: Option<Vec<Value>> = sources.iter().map(|source| source.get(component).copied()).collect();
            let value = match (opcode, args.as_deref()) {
                (Extended::Fma, Some(&[x, y, z])) => self.b.dfma([x, y, z]),
                (Extended::FMin | Extended::NMin, Some(&[x, y])) => self.b.dmin([x, y]),
                (Extended::FMax | Extended::NMax, Some(&[x, y])) => self.b.dmax([x, y]),
                (Extended::FClamp | Extended::NClamp, Some(&[x, y, z])) => {
                    let lower = self.b.dmax([x, y]);
                    self.b.dmin([lower, z])
                }
                (Extended::FAbs, Some(&[x])) => {
                    let (low, high, mask) = (self.b.f64lo([x]), self.b.f64hi([x]), self.b.i32(0x7fff_ffff));
                    let high = self.b.and([high, mask]);
                    self.b.f64join([low, high])
                }
                _ => return Err(self.unsupported(format!("OpExtInst {opcode:?} of 64 bits"))),
            };
            scalars.push(value);
        }
        Ok(scalars)
    }

    // ---- matrices, by cofactors

    fn square_matrix(&mut self, instruction: &Instruction<'_>, id: u32) -> Result<Matrix, LowerError> {
        let matrix = self.matrix_of(instruction, id)?;
        self.singles(id)?;
        if matrix.rows == matrix.columns { Ok(matrix) } else { Err(self.malformed(instruction)) }
    }

    fn determinant(&mut self, matrix: &Matrix) -> Value {
        if matrix.columns == 1 {
            return matrix.scalars[0];
        }
        if matrix.columns == 2 {
            let back = self.b.fmul([matrix.at(0, 1), matrix.at(1, 0)]);
            let back = self.b.fneg([back]);
            return self.b.fmad([matrix.at(0, 0), matrix.at(1, 1), back]);
        }
        let mut sum = None;
        for column in 0..matrix.columns {
            let (element, minor) = (matrix.at(0, column), self.cofactor(matrix, 0, column));
            sum = Some(match sum {
                None => self.b.fmul([element, minor]),
                Some(sum) => self.b.fmad([element, minor, sum]),
            });
        }
        sum.expect("a matrix has columns")
    }

    /// The determinant of what is left without a row and a column, with its sign.
    fn cofactor(&mut self, matrix: &Matrix, row: usize, column: usize) -> Value {
        let size = matrix.columns;
        let places =
            (0..size).filter(|&c| c != column).flat_map(|c| (0..size).filter(|&r| r != row).map(move |r| (r, c)));
        let scalars = places.map(|(r, c)| matrix.at(r, c)).collect();
        let minor = self.determinant(&Matrix { scalars, rows: size - 1, columns: size - 1 });
        if (row + column) % 2 == 1 { self.b.fneg([minor]) } else { minor }
    }

    fn inverse(&mut self, matrix: &Matrix) -> Vec<Value> {
        let size = matrix.columns;
        let cofactors: Vec<Value> = (0..size)
            .flat_map(|row| (0..size).map(move |column| (row, column)))
            .map(|(row, column)| self.cofactor(matrix, row, column))
            .collect();
        let first: Vec<Value> = (0..size).map(|column| matrix.at(0, column)).collect();
        let determinant = self.dot(&first, &cofactors[..size], false);
        // Column by column of the inverse are the cofactors row by row.
        cofactors.into_iter().map(|cofactor| self.b.fdiv([cofactor, determinant])).collect()
    }
}

/// The kinds of an instruction's operands: floats and integers.
fn signature(opcode: Extended) -> &'static str {
    use Extended::*;
    match opcode {
        SAbs | SSign | FindILsb | FindSMsb | FindUMsb | UnpackSnorm2x16 | UnpackUnorm2x16 | UnpackHalf2x16
        | UnpackSnorm4x8 | UnpackUnorm4x8 => "i",
        UMin | SMin | UMax | SMax => "ii",
        UClamp | SClamp => "iii",
        Ldexp => "fi",
        Atan2 | Pow | FMin | FMax | NMin | NMax | Step | Distance | Cross | Reflect => "ff",
        FClamp | NClamp | FMix | SmoothStep | Fma | FaceForward | Refract => "fff",
        _ => "f",
    }
}
