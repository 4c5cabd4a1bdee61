//! The encoder: a line of the [table](super::table), registers and memory to bytes. One way for each kind of prefixes;
//! nothing here knows what an instruction does.

#[cfg(test)]
mod tests;

use super::table::{Encoding, Field, Op, Prefixes};

/// Bytes of a vector operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    X,
    Y,
    Z,
}

impl Size {
    pub const fn bytes(self) -> i32 {
        match self {
            Size::X => 16,
            Size::Y => 32,
            Size::Z => 64,
        }
    }
}

/// A condition, by its number in opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    Below = 2,
    AboveEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowEqual = 6,
    Above = 7,
    Sign = 8,
    NotSign = 9,
    Less = 12,
    GreaterEqual = 13,
    LessEqual = 14,
    Greater = 15,
}

impl Condition {
    /// The one that holds of two operands the other way round.
    pub fn exchanged(self) -> Condition {
        use Condition::*;
        match self {
            Below => Above,
            Above => Below,
            BelowEqual => AboveEqual,
            AboveEqual => BelowEqual,
            Less => Greater,
            Greater => Less,
            LessEqual => GreaterEqual,
            GreaterEqual => LessEqual,
            Equal | NotEqual | Sign | NotSign => self,
        }
    }

    /// The one that holds where this does not.
    pub fn inverse(self) -> Condition {
        use Condition::*;
        match self {
            Below => AboveEqual,
            AboveEqual => Below,
            Equal => NotEqual,
            NotEqual => Equal,
            BelowEqual => Above,
            Above => BelowEqual,
            Sign => NotSign,
            NotSign => Sign,
            Less => GreaterEqual,
            GreaterEqual => Less,
            LessEqual => Greater,
            Greater => LessEqual,
        }
    }
}

/// The number of `rsp`, as the base of an address.
pub const RSP: u8 = 4;

/// An address in memory, by numbers of registers.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub base: Base,
    /// A register, general or of vectors as the instruction has it, and the power of two that it is multiplied by.
    pub index: Option<(u8, u8)>,
    pub offset: i32,
    /// Whether every lane has the one word that is there.
    pub broadcast: bool,
}

/// What an address begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Register(u8),
    /// Behind the code: [`Encoder::references`] says where this is to be filled in.
    Constant(u32),
}

/// What is in place of `ModRM.rm`.
#[derive(Clone, Copy, Debug)]
pub enum Rm {
    Register(u8),
    Memory(Memory),
}

/// An instruction whose operands are known.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    pub op: Op,
    pub size: Size,
    /// Registers by field. That of `ModRM.rm` is in `rm`, what is nowhere makes no difference.
    pub fields: [u8; Field::COUNT],
    pub rm: Rm,
    /// The mask, which zeroes lanes unless the instruction blends or stores; 0 for none.
    pub mask: u8,
    pub immediate: u32,
}

impl Encoded {
    /// An instruction of two operands at most.
    pub fn new(op: Op, size: Size, reg: u8, rm: Rm) -> Encoded {
        let mut fields = [0; Field::COUNT];
        fields[Field::Reg as usize] = reg;
        Encoded { op, size, fields, rm, mask: 0, immediate: 0 }
    }

    fn reg(&self) -> u8 {
        self.fields[Field::Reg as usize]
    }

    fn vvvv(&self) -> u8 {
        self.fields[Field::Vvvv as usize]
    }
}

/// A reference from code to a constant: the four bytes at `at` are to be its distance from `end`.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub at: usize,
    pub end: usize,
    pub constant: u32,
}

/// Machine code in the making.
#[derive(Debug, Default)]
pub struct Encoder {
    pub bytes: Vec<u8>,
    pub references: Vec<Reference>,
}

impl Encoder {
    /// Appends an instruction.
    pub fn put(&mut self, inst: &Encoded) {
        let encoding = inst.op.encoding();
        let zero;
        let inst = match inst.op {
            Op::Zero => {
                zero = Encoded { fields: [inst.reg(); Field::COUNT], rm: Rm::Register(inst.reg()), ..*inst };
                &zero
            }
            _ => inst,
        };
        // Evex has a bit more for registers.
        let needs_evex = || {
            let has_more = match inst.rm {
                Rm::Register(register) => register >= 16,
                Rm::Memory(memory) => memory.broadcast,
            };
            has_more || inst.size == Size::Z || inst.mask != 0 || inst.reg() | inst.vvvv() >= 16
        };
        // They are written where they stay, with room for the longest; what is behind them goes again.
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; Bytes::MOST]);
        let all = self.bytes[start..].first_chunk_mut().expect("there is room for them");
        let mut bytes = Bytes { all, count: 0 };
        let unit = if encoding.prefixes == Prefixes::Legacy {
            bytes.legacy(inst, encoding)
        } else if encoding.prefixes == Prefixes::Vex || encoding.prefixes == Prefixes::Either && !needs_evex() {
            bytes.vex(inst, encoding)
        } else {
            bytes.evex(inst, encoding)
        };
        let reg = if inst.op.has_reg() { inst.reg() } else { encoding.digit };
        if let Some((at, constant)) = bytes.operand(reg, inst.rm, unit) {
            let at = start + at;
            self.references.push(Reference { at, end: at + 4 + usize::from(encoding.immediate), constant });
        }
        match encoding.immediate {
            0 => {}
            1 => bytes.put([inst.immediate as u8 | inst.fields[Field::Immediate as usize] << 4]),
            _ => bytes.put(inst.immediate.to_le_bytes()),
        }
        let end = start + bytes.count;
        self.bytes.truncate(end);
    }

    // ---- what has no line in the table

    pub fn push(&mut self, register: u8) {
        self.one_byte(0x50, register);
    }

    pub fn pop(&mut self, register: u8) {
        self.one_byte(0x58, register);
    }

    /// Puts an address in a register.
    pub fn mov_address(&mut self, register: u8, address: usize) {
        self.bytes.extend([0x48 | register >> 3, 0xb8 | register & 7]);
        self.bytes.extend((address as u64).to_le_bytes());
    }

    /// Calls what one of the first eight registers points to.
    pub fn call(&mut self, register: u8) {
        self.bytes.extend([0xff, 0xd0 | register]);
    }

    pub fn ret(&mut self) {
        self.bytes.push(0xc3);
    }

    pub fn vzeroupper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    /// A jump, or a branch, whose last four bytes are the distance.
    pub fn branch(&mut self, condition: Option<Condition>, distance: i32) {
        match condition {
            Some(condition) => self.bytes.extend([0x0f, 0x80 | condition as u8]),
            None => self.bytes.push(0xe9),
        }
        self.bytes.extend(distance.to_le_bytes());
    }

    /// One of two bytes, whose second is the distance.
    pub fn short_branch(&mut self, condition: Option<Condition>, distance: i8) {
        self.bytes.extend([condition.map_or(0xeb, |condition| 0x70 | condition as u8), distance as u8]);
    }

    fn one_byte(&mut self, opcode: u8, register: u8) {
        if register >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(opcode | register & 7);
    }
}

/// The bytes of one instruction, which are no more than fifteen.
struct Bytes<'a> {
    all: &'a mut [u8; Bytes::MOST],
    count: usize,
}

impl Bytes<'_> {
    const MOST: usize = 16;

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.all[self.count..self.count + N].copy_from_slice(&bytes);
        self.count += N;
    }

    /// REX and an opcode; gives the unit of small displacements.
    fn legacy(&mut self, inst: &Encoded, encoding: &Encoding) -> i32 {
        match encoding.prefix {
            0 => {}
            prefix => self.put([[0x66, 0xf3, 0xf2][usize::from(prefix) - 1]]),
        }
        let (base, index) = extensions(inst.rm);
        let rex = u8::from(encoding.wide) << 3 | (inst.reg() >> 3 & 1) << 2 | index << 1 | base;
        // Without it the low bytes of rsi and rdi would be those of others.
        let is_byte = matches!(inst.op, Op::Setcc | Op::Movzx8);
        if rex != 0 || is_byte {
            self.put([0x40 | rex]);
        }
        if encoding.map == 1 {
            self.put([0x0f]);
        }
        // A condition is part of the opcode.
        let condition = if matches!(inst.op, Op::Setcc | Op::Cmov | Op::Cmov64) { inst.immediate as u8 } else { 0 };
        self.put([encoding.opcode | condition]);
        1
    }

    fn vex(&mut self, inst: &Encoded, encoding: &Encoding) -> i32 {
        let (base, index) = extensions(inst.rm);
        let long = u8::from(encoding.long || inst.size == Size::Y);
        let wide = u8::from(encoding.vex_wide);
        let low = wide << 7 | (!inst.vvvv() & 15) << 3 | long << 2 | encoding.prefix;
        let reg = !inst.reg() >> 3 & 1;
        if base == 0 && index == 0 && encoding.map == 1 {
            self.put([0xc5, reg << 7 | low]);
        } else {
            self.put([0xc4, reg << 7 | (index ^ 1) << 6 | (base ^ 1) << 5 | encoding.map, low]);
        }
        self.put([encoding.opcode]);
        1
    }

    fn evex(&mut self, inst: &Encoded, encoding: &Encoding) -> i32 {
        let (base, index) = match inst.rm {
            Rm::Register(register) => (register >> 3 & 1, register >> 4 & 1),
            memory => extensions(memory),
        };
        let (mut unit, mut broadcast) = (i32::from(encoding.unit), 0);
        if unit == 0 {
            unit = inst.size.bytes();
        }
        if let Rm::Memory(Memory { broadcast: true, .. }) = inst.rm {
            (unit, broadcast) = (if encoding.wide { 8 } else { 4 }, 1);
        }
        let length = inst.size as u8;
        let zeroes = u8::from(inst.mask != 0 && !inst.op.merges());
        // The fifth bit of an index that is a vector takes the place of that of `vvvv`, which is no operand then.
        let fifth = match inst.rm {
            Rm::Memory(Memory { index: Some((index, _)), .. }) => inst.vvvv() | index,
            _ => inst.vvvv(),
        };
        self.put([
            0x62,
            (!inst.reg() >> 3 & 1) << 7
                | (index ^ 1) << 6
                | (base ^ 1) << 5
                | (!inst.reg() >> 4 & 1) << 4
                | encoding.map,
            u8::from(encoding.wide) << 7 | (!inst.vvvv() & 15) << 3 | 1 << 2 | encoding.prefix,
            zeroes << 7 | length << 5 | broadcast << 4 | (!fifth >> 4 & 1) << 3 | inst.mask,
        ]);
        self.put([encoding.opcode]);
        unit
    }

    /// `ModRM`, `SIB` and displacement; gives where the distance to a constant is to be filled in, if it is one.
    fn operand(&mut self, reg: u8, rm: Rm, unit: i32) -> Option<(usize, u32)> {
        let reg = (reg & 7) << 3;
        let memory = match rm {
            Rm::Register(register) => {
                self.put([0xc0 | reg | register & 7]);
                return None;
            }
            Rm::Memory(memory) => memory,
        };
        let base = match memory.base {
            Base::Register(base) => base & 7,
            Base::Constant(constant) => {
                self.put([reg | 5]);
                let at = self.count;
                self.put(memory.offset.to_le_bytes());
                return Some((at, constant));
            }
        };
        // In units, which are powers of two.
        let small = memory.offset >> unit.trailing_zeros();
        let is_small = memory.offset & (unit - 1) == 0 && i8::try_from(small).is_ok();
        // Without a displacement, rbp and r13 would mean something else.
        let mode = match memory.offset {
            0 if base != 5 => 0,
            _ if is_small => 1,
            _ => 2,
        };
        match memory.index {
            Some((index, scale)) => self.put([mode << 6 | reg | 4, scale << 6 | (index & 7) << 3 | base]),
            // So would rsp and r12 without an index.
            None if base == RSP => self.put([mode << 6 | reg | 4, 0x24]),
            None => self.put([mode << 6 | reg | base]),
        }
        match mode {
            0 => {}
            1 => self.put([small as u8]),
            _ => self.put(memory.offset.to_le_bytes()),
        }
        None
    }
}

/// The fourth bits of the base, or of the register, and of the index.
fn extensions(rm: Rm) -> (u8, u8) {
    match rm {
        Rm::Register(register) => (register >> 3 & 1, 0),
        Rm::Memory(Memory { base, index, .. }) => {
            let base = if let Base::Register(base) = base { base >> 3 & 1 } else { 0 };
            (base, index.map_or(0, |(index, _)| index >> 3 & 1))
        }
    }
}
