//! Types and constants: what a module declares in front of its functions, and what can be known before it runs.
//!
//! Constants are kept as bits. An operation on constants (`OpSpecConstantOp`) is lowered as it would be in a function,
//! into a function of its own, which the reference interpreter runs; so there is one definition of what it computes.

use std::rc::Rc;

use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
use shaderjit_ir::texture::NoTextures;
use shaderjit_ir::{FunctionBuilder, Type};
use spirv::{Dim, ImageFormat, Op, StorageClass};

use super::declare::unsupported;
use super::types::{ImageType, Kind, MAX_BYTES, MatrixLayout, Member, Scalar, Ty};
use super::{Def, Lowering};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::spirv::opcode::{Class, class};

/// Most elements of an array.
const MAX_LENGTH: u32 = 1 << 28;

impl Lowering<'_> {
    /// Takes note of an extended instruction set.
    pub(super) fn import(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let (&[id, ..], Some((name, _))) = (instruction.operands(), instruction.text(1)) else {
            return Err(self.malformed(instruction));
        };
        if name == "GLSL.std.450" {
            self.extended_sets.insert(id);
        }
        Ok(())
    }

    /// Declares a type.
    pub(super) fn declare_type(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let Some((&id, operands)) = instruction.operands().split_first() else {
            return Err(self.malformed(instruction));
        };
        let kind = match (instruction.opcode(), operands) {
            (Some(Op::TypeVoid), []) => Kind::Void,
            (Some(Op::TypeBool), []) => Kind::Scalar(Scalar::Bool),
            (Some(Op::TypeInt), &[width, signed]) => match width {
                8 | 16 | 32 | 64 => Kind::Scalar(Scalar::Int { width: width as u8, signed: signed != 0 }),
                _ => return Err(self.unsupported(format!("OpTypeInt of {width} bits"))),
            },
            (Some(Op::TypeFloat), &[width, ..]) => match width {
                16 | 32 | 64 if operands.len() == 1 => Kind::Scalar(Scalar::Float { width: width as u8 }),
                _ => return Err(self.unsupported(format!("OpTypeFloat of {width} bits"))),
            },
            (Some(Op::TypeVector), &[scalar, count @ 2..=4]) => {
                let scalar = self.ty(scalar)?;
                let Kind::Scalar(_) = self.types.kind(scalar) else { return Err(self.malformed(instruction)) };
                Kind::Vector { scalar, count }
            }
            (Some(Op::TypeMatrix), &[column, columns @ 2..=4]) => {
                let column = self.ty(column)?;
                let is_float = matches!(self.types.scalar(column), Some(Scalar::Float { .. }));
                if !is_float || !matches!(self.types.kind(column), Kind::Vector { .. }) {
                    return Err(self.malformed(instruction));
                }
                Kind::Matrix { column, columns }
            }
            (Some(Op::TypeImage), operands) => Kind::Image(self.image_type(instruction, operands)?),
            (Some(Op::TypeSampler), []) => Kind::Sampler,
            (Some(Op::TypeSampledImage), &[image]) => match *self.types.kind(self.ty(image)?) {
                Kind::Image(image) => Kind::SampledImage(image),
                _ => return Err(self.malformed(instruction)),
            },
            (Some(Op::TypeArray), &[element, length]) => {
                let element = self.ty(element)?;
                let Some(length) = self.literal(length)? else { return Err(self.malformed(instruction)) };
                self.limit("length of an array", length.into(), MAX_LENGTH.into())?;
                Kind::Array { element, length, stride: self.declared.of(id).array_stride }
            }
            (Some(Op::TypeRuntimeArray), &[element]) => {
                Kind::RuntimeArray { element: self.ty(element)?, stride: self.declared.of(id).array_stride }
            }
            (Some(Op::TypeStruct), members) => self.structure(id, members)?,
            (Some(Op::TypePointer), &[class, pointee]) => {
                let Some(class) = StorageClass::from_u32(class) else { return Err(self.malformed(instruction)) };
                Kind::Pointer { class, pointee: self.ty(pointee)? }
            }
            (Some(Op::TypeFunction), _) => Kind::Function,
            _ => return Err(self.malformed(instruction)),
        };
        match self.types.declare(id, kind) {
            Some(ty) if self.types.bytes(ty, MatrixLayout::default()) <= MAX_BYTES => Ok(()),
            _ => Err(self.invalid(format!("type %{id} is there twice, is too large or nested too deep"))),
        }
    }

    fn structure(&self, id: u32, members: &[u32]) -> Result<Kind, LowerError> {
        let (mut list, mut first) = (Vec::with_capacity(members.len()), 0u32);
        for (number, &member) in (0..).zip(members) {
            let ty = self.ty(member)?;
            let decorations = self.declared.of_member(id, number);
            let matrix = MatrixLayout { row_major: decorations.row_major, stride: decorations.matrix_stride };
            list.push(Member { ty, first, offset: decorations.offset, matrix });
            first = first.saturating_add(self.types.scalars(ty));
        }
        Ok(Kind::Struct(list))
    }

    fn image_type(&self, instruction: &Instruction<'_>, operands: &[u32]) -> Result<ImageType, LowerError> {
        let &[scalar, dim, _depth, arrayed, multisampled, sampled, format, ..] = operands else {
            return Err(self.malformed(instruction));
        };
        let (Some(dim), Some(format)) = (Dim::from_u32(dim), ImageFormat::from_u32(format)) else {
            return Err(self.malformed(instruction));
        };
        let scalar = match self.types.kind(self.ty(scalar)?) {
            &Kind::Scalar(scalar @ (Scalar::Int { width: 32, .. } | Scalar::Float { width: 32 })) => scalar,
            _ => return Err(self.unsupported("an image whose components have no 32 bits")),
        };
        if matches!(dim, Dim::DimRect | Dim::DimTileImageDataEXT) {
            return Err(self.unsupported(format!("an image of {dim:?}")));
        }
        Ok(ImageType {
            scalar,
            dim,
            arrayed: arrayed != 0,
            multisampled: multisampled != 0,
            is_storage: sampled == 2 && dim != Dim::DimSubpassData,
            format,
        })
    }

    /// Defines a constant.
    pub(super) fn constant(&mut self, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, ref operands @ ..] = instruction.operands() else { return Err(self.malformed(instruction)) };
        let ty = self.value_type(ty)?;
        let given = self.declared.of(id).spec_id.and_then(|number| self.options.constants.get(&number).copied());
        let bits: Rc<[u64]> = match (instruction.opcode(), operands) {
            (Some(Op::ConstantTrue), []) => Rc::new([1]),
            (Some(Op::ConstantFalse), []) => Rc::new([0]),
            (Some(Op::SpecConstantTrue), []) => Rc::new([u64::from(given.is_none_or(|bits| bits != 0))]),
            (Some(Op::SpecConstantFalse), []) => Rc::new([u64::from(given.is_some_and(|bits| bits != 0))]),
            (Some(Op::Constant | Op::SpecConstant), &[low, ref rest @ ..]) => {
                let high = rest.first().copied().unwrap_or(0);
                let literal = u64::from(high) << 32 | u64::from(low);
                let Kind::Scalar(scalar) = *self.types.kind(ty) else { return Err(self.malformed(instruction)) };
                let is_special = instruction.opcode() == Some(Op::SpecConstant);
                Rc::new([held(scalar, given.filter(|_| is_special).unwrap_or(literal))])
            }
            (Some(Op::ConstantComposite | Op::SpecConstantComposite), parts) => {
                let mut bits = Vec::new();
                for &part in parts {
                    match self.def(part)? {
                        Def::Constant { bits: part, .. } => bits.extend_from_slice(&part),
                        _ => return Err(self.malformed(instruction)),
                    }
                    self.limit(
                        "number of scalars of a value",
                        bits.len() as u64,
                        u64::from(super::types::MAX_SCALARS),
                    )?;
                }
                bits.into()
            }
            (Some(Op::ConstantNull | Op::Undef), []) => {
                if self.types.scalars(ty) == 0 {
                    return Err(unsupported(instruction));
                }
                vec![0; self.types.scalars(ty) as usize].into()
            }
            (Some(Op::SpecConstantOp), &[opcode, ref operands @ ..]) => {
                let bits = self.folded(instruction, opcode, ty, operands)?;
                return self.define(id, Def::Constant { ty, bits });
            }
            _ => return Err(self.malformed(instruction)),
        };
        if bits.len() as u32 != self.types.scalars(ty) {
            return Err(self.malformed(instruction));
        }
        self.cost.moved += bits.len() as u64;
        self.define(id, Def::Constant { ty, bits })
    }

    /// The bits of what an operation computes of constants.
    fn folded(
        &mut self,
        instruction: &Instruction<'_>,
        opcode: u32,
        ty: Ty,
        operands: &[u32],
    ) -> Result<Rc<[u64]>, LowerError> {
        let opcode = Op::from_u32(opcode).ok_or_else(|| self.malformed(instruction))?;
        let class = class(opcode).filter(|class| matches!(class, Class::Each | Class::Composite));
        let class = class.ok_or_else(|| self.unsupported(format!("OpSpecConstantOp {opcode:?}")))?;
        // No id is zero, so that of the result is free.
        let &[type_id, ..] = instruction.operands() else { return Err(self.malformed(instruction)) };
        let mut words = vec![(3 + operands.len() as u32) << 16 | opcode as u32, type_id, 0];
        words.extend_from_slice(operands);
        let inner = Instruction::new(&words, instruction.offset);
        let scratch = FunctionBuilder::new("constant", 0, self.types.scalars(ty));
        let outer = std::mem::replace(&mut self.b, scratch);
        self.products.clear();
        let lowered = match class {
            Class::Each => self.each(opcode, &inner),
            _ => self.composite(opcode, &inner),
        };
        self.products.clear();
        let mut b = std::mem::replace(&mut self.b, outer);
        lowered?;
        let scalars = match self.globals.remove(&0) {
            Some(Def::Value { ty: found, scalars }) if found == ty => scalars,
            Some(Def::Constant { ty: found, bits }) if found == ty => return Ok(bits),
            _ => return Err(self.malformed(instruction)),
        };
        let kinds: Vec<Type> = scalars.iter().map(|&scalar| b.ty(scalar)).collect();
        for (element, &scalar) in (0..).zip(scalars.iter()) {
            match b.ty(scalar) {
                Type::I1 => {
                    let [one, zero] = [1, 0].map(|bits| b.i32(bits));
                    let word = b.select([scalar, one, zero]);
                    b.output(element, 0, word);
                }
                Type::F64 => {
                    let [low, high] = [b.f64lo([scalar]), b.f64hi([scalar])];
                    b.output(element, 0, low);
                    b.output(element, 1, high);
                }
                _ => b.output(element, 0, scalar),
            }
        }
        b.ret();
        let function = b.finish();
        let bindings = Bindings::<1> {
            inputs: &[],
            vertex_id: [0],
            instance_id: 0,
            uniforms: &[],
            resources: &[],
            textures: &NoTextures,
        };
        let options = InterpOptions { fuel: Fuel::from(1), fused: false };
        let mut interpreter = Interpreter::new(&function);
        let outputs = interpreter.run(&bindings, &options).expect("it has one block");
        let words = outputs.iter().zip(kinds).map(|(output, ty)| match ty {
            Type::F64 => u64::from(output[1][0]) << 32 | u64::from(output[0][0]),
            _ => u64::from(output[0][0]),
        });
        Ok(words.collect())
    }
}

/// The bits with which a literal is held: of narrow integers extended to 32 bits, of halves the float's.
fn held(scalar: Scalar, literal: u64) -> u64 {
    match scalar {
        Scalar::Int { width: 8, signed: true } => u64::from(literal as u8 as i8 as u32),
        Scalar::Int { width: 8, signed: false } => u64::from(literal as u8),
        Scalar::Int { width: 16, signed: true } => u64::from(literal as u16 as i16 as u32),
        Scalar::Int { width: 16, signed: false } => u64::from(literal as u16),
        Scalar::Float { width: 16 } => u64::from(half(literal as u16).to_bits()),
        Scalar::Float { width: 64 } | Scalar::Int { width: 64, .. } => literal,
        Scalar::Bool => u64::from(literal != 0),
        _ => u64::from(literal as u32),
    }
}

/// The float that a half is.
fn half(bits: u16) -> f32 {
    let (sign, exponent, mantissa) = (bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(mantissa) * 2.0f32.powi(-24),
        0x1f if mantissa == 0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + f32::from(mantissa) / 1024.0) * 2.0f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_held_extended() {
        let int = |width, signed| Scalar::Int { width, signed };
        assert_eq!(held(int(8, true), 0x80), 0xffff_ff80);
        assert_eq!(held(int(8, false), 0xffff_ff80), 0x80);
        assert_eq!(held(int(16, true), 0x8000), 0xffff_8000);
        assert_eq!(held(int(32, true), 0xffff_ffff_8000_0000), 0x8000_0000);
        let halves = [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (1, 5.960_464_5e-8), (0x7c00, f32::INFINITY)];
        for (bits, float) in halves {
            assert_eq!(half(bits), float);
        }
    }
}
