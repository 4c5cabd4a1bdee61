//! Words of program memory, taken apart once.

use super::FLOATS;

#[derive(Clone, Copy)]
pub struct Word {
    pub effect: Effect,
    /// Whether the next word is the end of some procedure, branch or loop.
    pub closes: bool,
}

#[derive(Clone, Copy)]
pub enum Effect {
    Arithmetic { opcode: Opcode, destination: u8, mask: [bool; 4], sources: [Source; 3] },
    Address { mask: [bool; 4], source: Source },
    Compare { comparisons: [u8; 2], sources: [Source; 2] },
    Nop,
    End,
    Break(Test),
    Call { test: Test, target: usize, end: usize },
    If { test: Test, otherwise: usize, end: usize },
    Loop { int: usize, end: usize },
    Jump { test: Test, target: usize },
    SetEmit { buffer: usize, ends: bool, inverted: bool },
    Emit,
}

#[derive(Clone, Copy)]
pub enum Opcode {
    Add,
    Dp3,
    Dp4,
    Dph,
    Dst,
    Ex2,
    Lg2,
    Litp,
    Mul,
    Sge,
    Slt,
    Flr,
    Max,
    Min,
    Rcp,
    Rsq,
    Mov,
    Mad,
}

#[derive(Clone, Copy)]
pub struct Source {
    pub row: u8,
    /// Which address register is added, if any; [`NOT_RELATIVE`] otherwise.
    pub relative: u8,
    pub swizzle: [u8; 4],
    pub negate: bool,
}

const NOT_RELATIVE: u8 = 3;

/// When a branch is taken.
#[derive(Clone, Copy)]
pub enum Test {
    Always,
    Or([bool; 2]),
    And([bool; 2]),
    X(bool),
    Y(bool),
    Bool { mask: u32, value: bool },
}

/// Every word of program memory.
pub fn decode(words: &[u32], descriptors: &[u32]) -> Vec<Word> {
    let effects: Vec<Effect> = words.iter().map(|&word| Fields { word, descriptors }.effect()).collect();
    let mut closes = vec![false; words.len() + 1];
    for effect in &effects {
        let (Effect::Call { end, .. } | Effect::If { otherwise: end, .. } | Effect::Loop { end, .. }) = *effect else {
            continue;
        };
        closes[end] = true;
    }
    let behind = closes.into_iter().skip(1);
    effects.into_iter().zip(behind).map(|(effect, closes)| Word { effect, closes }).collect()
}

/// A word, taken apart.
struct Fields<'a> {
    word: u32,
    descriptors: &'a [u32],
}

impl Fields<'_> {
    fn effect(&self) -> Effect {
        let (target, end) = (self.bits(10, 12), self.bits(10, 12) + self.bits(0, 8));
        match self.word >> 26 {
            0x00 => self.arithmetic(Opcode::Add),
            0x01 => self.arithmetic(Opcode::Dp3),
            0x02 => self.arithmetic(Opcode::Dp4),
            0x03 => self.arithmetic(Opcode::Dph),
            0x04 => self.arithmetic(Opcode::Dst),
            0x05 => self.arithmetic(Opcode::Ex2),
            0x06 => self.arithmetic(Opcode::Lg2),
            0x07 => self.arithmetic(Opcode::Litp),
            0x08 => self.arithmetic(Opcode::Mul),
            0x09 => self.arithmetic(Opcode::Sge),
            0x0a => self.arithmetic(Opcode::Slt),
            0x0b => self.arithmetic(Opcode::Flr),
            0x0c => self.arithmetic(Opcode::Max),
            0x0d => self.arithmetic(Opcode::Min),
            0x0e => self.arithmetic(Opcode::Rcp),
            0x0f => self.arithmetic(Opcode::Rsq),
            0x12 => Effect::Address { mask: self.mask(), source: self.sources()[0] },
            0x13 => self.arithmetic(Opcode::Mov),
            0x18 => self.arithmetic_inverted(Opcode::Dph),
            0x19 => self.arithmetic_inverted(Opcode::Dst),
            0x1a => self.arithmetic_inverted(Opcode::Sge),
            0x1b => self.arithmetic_inverted(Opcode::Slt),
            0x20 => Effect::Break(Test::Always),
            0x21 => Effect::Nop,
            0x22 => Effect::End,
            0x23 => Effect::Break(self.flag_test()),
            0x24 => Effect::Call { test: Test::Always, target, end },
            0x25 => Effect::Call { test: self.flag_test(), target, end },
            0x26 => Effect::Call { test: self.bool_test(true), target, end },
            0x27 => Effect::If { test: self.bool_test(true), otherwise: target, end },
            0x28 => Effect::If { test: self.flag_test(), otherwise: target, end },
            0x29 => Effect::Loop { int: self.bits(22, 2), end: target + 1 },
            0x2a => Effect::Emit,
            0x2b => Effect::SetEmit { buffer: self.bits(24, 2), ends: self.flag(23), inverted: self.flag(22) },
            0x2c => Effect::Jump { test: self.flag_test(), target },
            0x2d => Effect::Jump { test: self.bool_test(!self.flag(0)), target },
            0x2e | 0x2f => {
                let [left, right, _] = self.sources();
                Effect::Compare {
                    comparisons: [self.bits(24, 3) as u8, self.bits(21, 3) as u8],
                    sources: [left, right],
                }
            }
            0x30..=0x37 => {
                let sources =
                    [self.source(0, 17, 5, None), self.source(1, 12, 5, None), self.source(2, 5, 7, Some(22))];
                self.mad(sources)
            }
            0x38..=0x3f => {
                let sources =
                    [self.source(0, 17, 5, None), self.source(1, 10, 7, Some(22)), self.source(2, 5, 5, None)];
                self.mad(sources)
            }
            opcode => panic!("no program has opcode {opcode:#x}"),
        }
    }

    fn arithmetic(&self, opcode: Opcode) -> Effect {
        let destination = self.bits(21, 5) as u8;
        Effect::Arithmetic { opcode, destination, mask: self.mask(), sources: self.sources() }
    }

    /// With the wide source second.
    fn arithmetic_inverted(&self, opcode: Opcode) -> Effect {
        let sources = [self.source(0, 14, 5, None), self.source(1, 7, 7, Some(19)), self.source(2, 0, 0, None)];
        Effect::Arithmetic { opcode, destination: self.bits(21, 5) as u8, mask: self.mask(), sources }
    }

    fn mad(&self, sources: [Source; 3]) -> Effect {
        Effect::Arithmetic { opcode: Opcode::Mad, destination: self.bits(24, 5) as u8, mask: self.mask(), sources }
    }

    /// The sources of the common format. The third stands for none.
    fn sources(&self) -> [Source; 3] {
        [self.source(0, 12, 7, Some(19)), self.source(1, 7, 5, None), self.source(2, 0, 0, None)]
    }

    /// Source `number`, whose register field has `width` bits from bit `low`, and whose address register is named from
    /// bit `index` if it may have one.
    fn source(&self, number: u32, low: u32, width: u32, index: Option<u32>) -> Source {
        let row = self.bits(low, width);
        let address = index.map_or(0, |bit| self.bits(bit, 2));
        let relative = if row >= FLOATS { address.checked_sub(1) } else { None };
        let descriptor = self.descriptor() >> (4 + 9 * number);
        let selector = descriptor >> 1;
        Source {
            row: row as u8,
            relative: relative.map_or(NOT_RELATIVE, |address| address as u8),
            swizzle: [6, 4, 2, 0].map(|bit| (selector >> bit & 3) as u8),
            negate: descriptor & 1 != 0,
        }
    }

    fn mask(&self) -> [bool; 4] {
        [3, 2, 1, 0].map(|bit| self.descriptor() >> bit & 1 != 0)
    }

    /// The operand descriptor. MAD has fewer bits for its number.
    fn descriptor(&self) -> u32 {
        let is_mad = self.word >> 30 == 3;
        self.descriptors.get(self.bits(0, if is_mad { 5 } else { 7 })).copied().unwrap_or(0)
    }

    fn flag_test(&self) -> Test {
        let wanted = [self.flag(25), self.flag(24)];
        match self.bits(22, 2) {
            0 => Test::Or(wanted),
            1 => Test::And(wanted),
            2 => Test::X(wanted[0]),
            _ => Test::Y(wanted[1]),
        }
    }

    fn bool_test(&self, value: bool) -> Test {
        Test::Bool { mask: 1 << self.bits(22, 4), value }
    }

    fn flag(&self, bit: u32) -> bool {
        self.word >> bit & 1 != 0
    }

    /// `width` bits from bit `low`.
    fn bits(&self, low: u32, width: u32) -> usize {
        (self.word >> low & ((1 << width) - 1)) as usize
    }
}
