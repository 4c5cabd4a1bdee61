//! One vertex after the other, written from the hardware's description alone: fields of words by their bits, the rings
//! as lists. What single operations on numbers give is the IR's.

use super::{PicaRunCase, Registers};
use crate::FloatPrecision;
use shaderjit_ir::eval::eval;
use shaderjit_ir::{Op, Type};

const ONE: u32 = 1f32.to_bits();

/// A shader unit with its program and uniforms.
pub struct Unit<'a> {
    case: &'a PicaRunCase,
    floats: Vec<[u32; 4]>,
    fused: bool,
}

/// How a vertex ended.
pub struct Ended {
    /// `o0` to `o15`; `None` if it took too long.
    pub outputs: Option<Registers>,
    /// Words executed.
    pub steps: u32,
}

/// The registers of one vertex.
struct State {
    v: Registers,
    r: Registers,
    o: Registers,
    /// a0.x, a0.y, aL.
    a: [u32; 3],
    cmp: [bool; 2],
}

struct Loop {
    start: usize,
    end: usize,
    count: u32,
    increment: u32,
    saved: u32,
}

/// Bits `high` to `low` of a word.
fn bits(word: u32, high: u32, low: u32) -> usize {
    (word >> low & (u32::MAX >> (31 - (high - low)))) as usize
}

fn push<T>(ring: &mut Vec<T>, places: usize, entry: T) {
    ring.push(entry);
    if ring.len() > places {
        ring.remove(0);
    }
}

impl<'a> Unit<'a> {
    pub fn new(case: &'a PicaRunCase, fused: bool) -> Unit<'a> {
        let mut unit = Unit { case, floats: Vec::new(), fused };
        unit.floats = case.uniforms.floats.iter().map(|row| row.map(|x| unit.bound(x.to_bits()))).collect();
        unit
    }

    /// Runs one vertex to its end, or for so many words.
    pub fn run(&self, inputs: &Registers, most: u32) -> Ended {
        let zero = [[0; 4]; 16];
        let v = inputs.map(|register| register.map(|word| self.bound(word)));
        let mut state = State { v, r: zero, o: zero, a: [0; 3], cmp: [false; 2] };
        let mut calls: Vec<(usize, usize)> = Vec::new();
        let mut ifs: Vec<(usize, usize)> = Vec::new();
        let mut loops: Vec<Loop> = Vec::new();
        let mut pc = usize::from(self.case.entry);
        for steps in 0..most {
            // Off the end of the program, or END.
            let word = self.case.words.get(pc).copied().filter(|word| word >> 26 != 0x22);
            let Some(word) = word else { return Ended { outputs: Some(state.o), steps } };
            let (target, number) = (bits(word, 21, 10), bits(word, 7, 0));
            let behind = pc + 1;
            let mut next = behind;
            let mut breaks = false;
            match word >> 26 {
                0x20 => breaks = true,
                0x23 => breaks = self.flags(&state, word),
                opcode @ 0x24..=0x26 => {
                    let holds = match opcode {
                        0x24 => true,
                        0x25 => self.flags(&state, word),
                        _ => self.bool(word),
                    };
                    if holds {
                        push(&mut calls, 4, (target + number, behind));
                        next = target;
                    }
                }
                opcode @ (0x27 | 0x28) => {
                    if if opcode == 0x27 { self.bool(word) } else { self.flags(&state, word) } {
                        push(&mut ifs, 8, (target, target + number));
                    } else {
                        next = target;
                    }
                }
                0x29 => {
                    let [count, first, increment, _] = self.case.uniforms.ints[bits(word, 23, 22)].map(u32::from);
                    let saved = std::mem::replace(&mut state.a[2], first);
                    push(&mut loops, 4, Loop { start: behind, end: target + 1, count, increment, saved });
                }
                0x2c if self.flags(&state, word) => next = target,
                0x2d if self.bool(word) != (number & 1 == 1) => next = target,
                0x2c | 0x2d => {}
                _ => self.compute(&mut state, word),
            }

            let mut at = behind;
            for returns in 1..=4 {
                if calls.last().is_none_or(|&(end, _)| end != at) {
                    break;
                }
                let (_, back) = calls.pop().expect("there is a last one");
                if returns < 4 {
                    (at, next) = (back, back);
                }
            }
            if ifs.last().is_some_and(|&(otherwise, _)| otherwise == behind) {
                next = ifs.pop().expect("there is a last one").1;
            }
            let is_nested = loops.len() > 1;
            if let Some(top) = loops.last_mut().filter(|top| breaks || top.end == behind) {
                state.a[2] = state.a[2].wrapping_add(top.increment);
                if !breaks && top.count > 0 {
                    top.count -= 1;
                    next = top.start;
                } else {
                    next = top.end;
                    if is_nested {
                        state.a[2] = top.saved;
                    }
                    loops.pop();
                }
            }
            pc = next;
        }
        Ended { outputs: None, steps: most }
    }

    fn bool(&self, word: u32) -> bool {
        self.case.uniforms.bools >> bits(word, 25, 22) & 1 == 1
    }

    fn flags(&self, state: &State, word: u32) -> bool {
        let x = state.cmp[0] == (bits(word, 25, 25) == 1);
        let y = state.cmp[1] == (bits(word, 24, 24) == 1);
        match bits(word, 23, 22) {
            0 => x || y,
            1 => x && y,
            2 => x,
            _ => y,
        }
    }

    // ---- numbers

    fn op(&self, op: Op, args: &[u32]) -> u32 {
        let mut operands = [[0]; 3];
        operands.iter_mut().zip(args).for_each(|(operand, &arg)| *operand = [arg]);
        eval(op, Type::F32, &operands[..args.len()], self.fused)[0]
    }

    fn is_float24(&self) -> bool {
        self.case.numbers == FloatPrecision::Float24
    }

    fn bound(&self, word: u32) -> u32 {
        if self.is_float24() { self.op(Op::F32tof24, &[word]) } else { word }
    }

    fn negated(&self, word: u32) -> u32 {
        // In 24 bits no zero has a sign.
        if self.is_float24() { self.op(Op::Fsub, &[0, word]) } else { word ^ 1 << 31 }
    }

    /// An operation of arithmetic: operands without denormals, a rounded result.
    fn arithmetic(&self, op: Op, args: &[u32]) -> u32 {
        if !self.is_float24() {
            return self.op(op, args);
        }
        let args: Vec<u32> = args.iter().map(|&arg| self.op(Op::Fflush24, &[arg])).collect();
        let result = self.op(op, &args);
        self.op(Op::Fround24, &[result])
    }

    fn mul(&self, a: u32, b: u32) -> u32 {
        self.arithmetic(Op::Fmulz, &[a, b])
    }

    fn add(&self, a: u32, b: u32) -> u32 {
        self.arithmetic(Op::Fadd, &[a, b])
    }

    fn dot(&self, a: [u32; 4], b: [u32; 4], components: usize) -> u32 {
        (1..components).fold(self.mul(a[0], b[0]), |sum, c| self.add(sum, self.mul(a[c], b[c])))
    }

    fn holds(&self, op: Op, a: u32, b: u32) -> bool {
        self.op(op, &[a, b]) != 0
    }

    // ---- arithmetic words

    /// Source `number` in these bits of the word, with what the index field adds.
    fn source(&self, state: &State, register: usize, index: usize, descriptor: u32, number: u32) -> [u32; 4] {
        let value = match register {
            0x00..0x10 => state.v[register],
            0x10..0x20 => state.r[register - 0x10],
            _ => {
                let address = if index == 0 { 0 } else { state.a[index - 1] as i32 };
                let offset = if (-128..=127).contains(&address) { address } else { 0 };
                let row = (register as i32 - 0x20 + offset) & 0x7f;
                self.floats.get(row as usize).copied().unwrap_or([ONE; 4])
            }
        };
        let selector = descriptor >> (5 + 9 * number);
        let value = [6, 4, 2, 0].map(|shift| value[(selector >> shift & 3) as usize]);
        if descriptor >> (4 + 9 * number) & 1 == 1 { value.map(|word| self.negated(word)) } else { value }
    }

    fn compute(&self, state: &mut State, word: u32) {
        let opcode = word >> 26;
        let is_mad = opcode >= 0x30;
        let descriptor = if is_mad { bits(word, 4, 0) } else { bits(word, 6, 0) };
        if !matches!(opcode, 0x00..=0x0f | 0x12 | 0x13 | 0x18..=0x1b | 0x2e..) {
            return;
        }
        let descriptor = self.case.descriptors[descriptor];
        let registers = match opcode {
            0x18..=0x1b => [bits(word, 18, 14), bits(word, 13, 7), 0],
            0x30..=0x37 => [bits(word, 21, 17), bits(word, 16, 12), bits(word, 11, 5)],
            0x38..=0x3f => [bits(word, 21, 17), bits(word, 16, 10), bits(word, 9, 5)],
            _ => [bits(word, 18, 12), bits(word, 11, 7), 0],
        };
        let index = if is_mad { bits(word, 23, 22) } else { bits(word, 20, 19) };
        let [a, b, c] = [0, 1, 2].map(|n| self.source(state, registers[n as usize], index, descriptor, n));
        let each = |f: &dyn Fn(usize) -> u32| [0, 1, 2, 3].map(f);
        let max = |a, b| self.op(Op::Pmax, &[a, b]);
        let one = |holds: bool| if holds { ONE } else { 0 };
        let destination = if is_mad { bits(word, 28, 24) } else { bits(word, 25, 21) };
        let result = match opcode {
            0x00 => each(&|i| self.add(a[i], b[i])),
            0x01 => [self.dot(a, b, 3); 4],
            0x02 => [self.dot(a, b, 4); 4],
            0x03 | 0x18 => [self.add(self.dot(a, b, 3), b[3]); 4],
            0x04 | 0x19 => [ONE, self.mul(a[1], b[1]), a[2], b[3]],
            0x05 => [self.arithmetic(Op::Fexp2, &a[..1]); 4],
            0x06 => [self.arithmetic(Op::Flog2, &a[..1]); 4],
            0x07 => {
                state.cmp = [0, 3].map(|i| self.holds(Op::Fle, 0, a[i]));
                let bound = if self.is_float24() { 127.996_09f32 } else { 127.9961 };
                let y = self.op(Op::Pmin, &[max(a[1], (-bound).to_bits()), bound.to_bits()]);
                [max(a[0], 0), y, 0, max(a[3], 0)]
            }
            0x08 => each(&|i| self.mul(a[i], b[i])),
            0x09 | 0x1a => each(&|i| one(self.holds(Op::Fle, b[i], a[i]))),
            0x0a | 0x1b => each(&|i| one(self.holds(Op::Flt, a[i], b[i]))),
            0x0b => each(&|i| self.arithmetic(Op::Ffloor, &[a[i]])),
            0x0c => each(&|i| max(a[i], b[i])),
            0x0d => each(&|i| self.op(Op::Pmin, &[a[i], b[i]])),
            0x0e => [self.arithmetic(Op::Fdiv, &[ONE, a[0]]); 4],
            0x0f => {
                let x = if self.is_float24() { self.op(Op::Fflush24, &[a[0]]) } else { a[0] };
                let root = self.op(Op::Fsqrt, &[x]);
                let result = self.op(Op::Fdiv, &[ONE, root]);
                [if self.is_float24() { self.op(Op::Fround24, &[result]) } else { result }; 4]
            }
            0x12 => {
                for (i, mask) in [8, 4].into_iter().enumerate() {
                    if descriptor & mask != 0 {
                        state.a[i] = self.op(Op::Ftoi, &[a[i]]);
                    }
                }
                return;
            }
            0x13 => a,
            0x2e | 0x2f => {
                for (i, comparison) in [bits(word, 26, 24), bits(word, 23, 21)].into_iter().enumerate() {
                    state.cmp[i] = match comparison {
                        0 => self.holds(Op::Feq, a[i], b[i]),
                        1 => !self.holds(Op::Feq, a[i], b[i]),
                        2 => self.holds(Op::Flt, a[i], b[i]),
                        3 => self.holds(Op::Fle, a[i], b[i]),
                        4 => self.holds(Op::Flt, b[i], a[i]),
                        5 => self.holds(Op::Fle, b[i], a[i]),
                        _ => true,
                    };
                }
                return;
            }
            _ => each(&|i| self.add(self.mul(a[i], b[i]), c[i])),
        };
        let file = if destination < 0x10 { &mut state.o } else { &mut state.r };
        let register = &mut file[destination & 0xf];
        for (i, (component, result)) in register.iter_mut().zip(result).enumerate() {
            if descriptor >> (3 - i) & 1 == 1 {
                *component = result;
            }
        }
    }
}
