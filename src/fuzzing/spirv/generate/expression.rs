//! Values.

use super::{ARRAY, BUFFER, Generator, Kind};
use arbitrary::Result;
use rspirv::dr::Operand;
use spirv::{GlslStd450Op, Op, StorageClass, Word};

impl Generator<'_, '_> {
    /// A value: one that is there, a literal, or one that is computed.
    pub(super) fn value(&mut self, kind: Kind, depth: u32) -> Result<Word> {
        let there: Vec<Word> = self.values.iter().filter(|(of, _)| *of == kind).map(|&(_, value)| value).collect();
        match self.u.int_in_range(0..=5u8)? {
            0 | 1 if !there.is_empty() => Ok(*self.u.choose(&there)?),
            0 | 1 => self.literal(kind),
            2 if kind != Kind::Bool => self.loaded(kind),
            _ if depth == 0 => self.literal(kind),
            _ => self.computed(kind, depth - 1),
        }
    }

    fn literal(&mut self, kind: Kind) -> Result<Word> {
        Ok(match kind {
            Kind::Uint => {
                let value = *self.u.choose(&[0, 1, 2, 5, 31, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX])?;
                self.uint(value)
            }
            Kind::Float => {
                let value = *self.u.choose(&[0.0f32, -0.0, 1.0, -2.5, 1e-40, 3e38, f32::INFINITY, 0.1])?;
                self.b.constant_bit32(self.types.float, value.to_bits())
            }
            Kind::Bool => {
                let boolean = self.types.boolean;
                if self.u.arbitrary()? { self.b.constant_true(boolean) } else { self.b.constant_false(boolean) }
            }
        })
    }

    /// What a variable has, or a place in an array or in memory.
    fn loaded(&mut self, kind: Kind) -> Result<Word> {
        let words: Vec<Word> = self.words.iter().filter(|(of, _)| *of == kind).map(|&(_, pointer)| pointer).collect();
        let pointer = if kind == Kind::Uint && self.u.arbitrary()? { self.place()? } else { *self.u.choose(&words)? };
        Ok(self.b.load(self.types.of(kind), None, pointer, None, []).expect("a block is open"))
    }

    /// A pointer to a word that an index chooses.
    pub(super) fn place(&mut self) -> Result<Word> {
        let index = self.value(Kind::Uint, 1)?;
        let uint = self.types.uint;
        if let Some(buffer) = self.buffer
            && self.u.arbitrary()?
        {
            let (mask, zero) = (self.uint(BUFFER - 1), self.uint(0));
            let index = self.op(Op::BitwiseAnd, uint, &[index, mask]);
            let pointer = self.b.type_pointer(None, StorageClass::StorageBuffer, uint);
            return Ok(self.b.access_chain(pointer, None, buffer, [zero, index]).expect("a block is open"));
        }
        let mask = self.uint(ARRAY - 1);
        let index = self.op(Op::BitwiseAnd, uint, &[index, mask]);
        let (array, pointer) = *self.u.choose(&self.arrays)?;
        Ok(self.b.access_chain(pointer, None, array, [index]).expect("a block is open"))
    }

    fn computed(&mut self, kind: Kind, depth: u32) -> Result<Word> {
        match kind {
            Kind::Uint => self.computed_uint(depth),
            Kind::Float => self.computed_float(depth),
            Kind::Bool => self.computed_bool(depth),
        }
    }

    fn computed_uint(&mut self, depth: u32) -> Result<Word> {
        let uint = self.types.uint;
        let both = [
            Op::IAdd,
            Op::ISub,
            Op::IMul,
            Op::BitwiseAnd,
            Op::BitwiseOr,
            Op::BitwiseXor,
            Op::ShiftLeftLogical,
            Op::ShiftRightLogical,
            Op::ShiftRightArithmetic,
            Op::UDiv,
            Op::UMod,
        ];
        Ok(match self.u.int_in_range(0..=7u8)? {
            0 => {
                let op = *self.u.choose(&[Op::Not, Op::BitReverse, Op::BitCount, Op::SNegate])?;
                let x = self.value(Kind::Uint, depth)?;
                self.op(op, uint, &[x])
            }
            1 => {
                let x = self.value(Kind::Float, depth)?;
                self.op(Op::Bitcast, uint, &[x])
            }
            2 => self.selected(Kind::Uint, depth)?,
            3 => self.wide(depth)?,
            4 if self.function.is_some() => {
                let (function, x) = (self.function.expect("there is one"), self.value(Kind::Uint, depth)?);
                self.b.function_call(uint, None, function, [x]).expect("a block is open")
            }
            _ => {
                let op = *self.u.choose(&both)?;
                let (x, mut y) = (self.value(Kind::Uint, depth)?, self.value(Kind::Uint, depth)?);
                // What the specification leaves open is left out.
                let (most, one) = (self.uint(31), self.uint(1));
                match op {
                    Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                        y = self.op(Op::BitwiseAnd, uint, &[y, most]);
                    }
                    Op::UDiv | Op::UMod => y = self.op(Op::BitwiseOr, uint, &[y, one]),
                    _ => {}
                }
                self.op(op, uint, &[x, y])
            }
        })
    }

    /// A word of what is computed of integers of 64 bits.
    fn wide(&mut self, depth: u32) -> Result<Word> {
        let (long, uint) = (self.types.long, self.types.uint);
        let one = self.uint(1);
        let mut sides = [one; 2];
        for side in &mut sides {
            let (x, y) = (self.value(Kind::Uint, depth)?, self.value(Kind::Uint, depth)?);
            let y = self.op(Op::BitwiseOr, uint, &[y, one]);
            let (x, y) = (self.op(Op::UConvert, long, &[x]), self.op(Op::UConvert, long, &[y]));
            *side = self.op(Op::IMul, long, &[x, y]);
        }
        let ops = [Op::IAdd, Op::ISub, Op::IMul, Op::UDiv, Op::UMod, Op::SDiv, Op::SRem, Op::SMod];
        let op = *self.u.choose(&ops)?;
        if !matches!(op, Op::IAdd | Op::ISub | Op::IMul) {
            let one = self.op(Op::UConvert, long, &[one]);
            sides[1] = self.op(Op::BitwiseOr, long, &[sides[1], one]);
        }
        let result = self.op(op, long, &sides);
        let shifts = self.u.arbitrary()?;
        let by = self.uint(if shifts { 32 } else { 0 });
        let result = self.op(Op::ShiftRightLogical, long, &[result, by]);
        Ok(self.op(Op::UConvert, uint, &[result]))
    }

    fn computed_float(&mut self, depth: u32) -> Result<Word> {
        let float = self.types.float;
        Ok(match self.u.int_in_range(0..=6u8)? {
            0 => {
                let x = self.value(Kind::Uint, depth)?;
                let op = *self.u.choose(&[Op::ConvertUToF, Op::ConvertSToF, Op::Bitcast])?;
                self.op(op, float, &[x])
            }
            1 => self.selected(Kind::Float, depth)?,
            2 | 3 => {
                use GlslStd450Op::*;
                let known = [
                    (Sqrt, 1),
                    (Floor, 1),
                    (FAbs, 1),
                    (Fract, 1),
                    (Exp2, 1),
                    (FMin, 2),
                    (NMax, 2),
                    (Fma, 3),
                    (FMix, 3),
                ];
                let (op, count) = *self.u.choose(&known)?;
                let mut operands = Vec::new();
                for _ in 0..count {
                    operands.push(Operand::IdRef(self.value(Kind::Float, depth)?));
                }
                let set = self.extended;
                self.b.ext_inst(float, None, set, op as u32, operands).expect("a block is open")
            }
            _ => {
                let op = *self.u.choose(&[Op::FAdd, Op::FSub, Op::FMul, Op::FDiv])?;
                let (x, y) = (self.value(Kind::Float, depth)?, self.value(Kind::Float, depth)?);
                self.op(op, float, &[x, y])
            }
        })
    }

    fn computed_bool(&mut self, depth: u32) -> Result<Word> {
        let boolean = self.types.boolean;
        let ops = [
            (Op::IEqual, Kind::Uint),
            (Op::ULessThan, Kind::Uint),
            (Op::SGreaterThanEqual, Kind::Uint),
            (Op::FOrdLessThan, Kind::Float),
            (Op::FUnordGreaterThanEqual, Kind::Float),
            (Op::LogicalAnd, Kind::Bool),
            (Op::LogicalNotEqual, Kind::Bool),
        ];
        let (op, kind) = *self.u.choose(&ops)?;
        let (x, y) = (self.value(kind, depth)?, self.value(kind, depth)?);
        Ok(self.op(op, boolean, &[x, y]))
    }

    fn selected(&mut self, kind: Kind, depth: u32) -> Result<Word> {
        let condition = self.value(Kind::Bool, depth)?;
        let (x, y) = (self.value(kind, depth)?, self.value(kind, depth)?);
        Ok(self.op(Op::Select, self.types.of(kind), &[condition, x, y]))
    }
}
