//! PICA200 vertex programs, a vertex at a time: decoded once, then a match on opcodes over arrays of floats. What an emulator has
//! that does not compile its shaders.
//!
//! Everything but geometry shaders, for programs that are trusted to end.

use super::vertex::Vec4;
use crate::draw::floats;
use shaderjit::container::Shbin;
use shaderjit::container::shbin::Constant;

/// First of `r0..r15` among the rows that sources name: behind `v0..v15`.
const TEMPORARIES: usize = 0x10;
/// First of `c0..c95` among the rows that sources name.
const FLOATS: usize = 0x20;

/// A vertex program and its uniforms.
#[derive(Clone)]
pub struct Program {
    code: Vec<Word>,
    entry: usize,
    /// What sources name: `v0..v15`, `r0..r15`, `c0..c95`. Here only the uniforms are set.
    rows: [Vec4; 128],
    ints: [[u8; 4]; 4],
    bools: u32,
}

#[derive(Clone, Copy)]
struct Word {
    effect: Effect,
    /// Whether the next word is the end of some procedure, branch or loop.
    closes: bool,
}

#[derive(Clone, Copy)]
enum Effect {
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
}

#[derive(Clone, Copy)]
enum Opcode {
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
struct Source {
    row: u8,
    /// Which address register is added, if any; [`NOT_RELATIVE`] otherwise.
    relative: u8,
    swizzle: [u8; 4],
    negate: bool,
}

const NOT_RELATIVE: u8 = 3;

/// When a branch is taken.
#[derive(Clone, Copy)]
enum Test {
    Always,
    Or([bool; 2]),
    And([bool; 2]),
    X(bool),
    Y(bool),
    Bool { mask: u32, value: bool },
}

impl Program {
    /// Executable `entry` of a SHBIN with 1556 bytes of uniforms: c0..c95, i0..i3 in bytes, the bools as a mask.
    pub fn new(shbin: &Shbin<'_>, entry: usize, uniforms: &[u8]) -> Program {
        let dvlp = shbin.dvlp().expect("the corpus is well-formed");
        let dvle = shbin.dvle(entry).expect("the corpus is well-formed").expect("it has that executable");
        let (rows, rest) = uniforms.split_at(96 * 16);
        let (ints, bools) = rest.split_at(16);
        let mut program = Program {
            code: decode(&dvlp.code, &dvlp.descriptors),
            entry: dvle.main as usize,
            rows: [[0.0; 4]; 128],
            ints: std::array::from_fn(|int| ints.as_chunks().0[int]),
            bools: u32::from_le_bytes(bools.try_into().expect("uniforms are 1556 bytes")),
        };
        program.rows[FLOATS..].copy_from_slice(floats(rows).as_chunks().0);
        for constant in &dvle.constants {
            match *constant {
                Constant::Bool { register, value } => {
                    program.bools = (program.bools & !(1 << register)) | u32::from(value) << register;
                }
                Constant::Int { register, value } => program.ints[usize::from(register)] = value,
                Constant::Float { register, .. } => {
                    program.rows[FLOATS + usize::from(register)] = constant.float_value().expect("it is a float");
                }
            }
        }
        program
    }

    /// Shades one vertex, given v0 and on. Returns o0..o15.
    pub fn shade<'a>(&self, machine: &'a mut Machine, inputs: &[Vec4]) -> &'a [Vec4; 16] {
        machine.begin(inputs);
        let mut scopes = Scopes::default();
        let mut pc = self.entry;
        loop {
            let word = &self.code[pc];
            let mut next = pc + 1;
            let mut breaks = false;
            match word.effect {
                Effect::Arithmetic { opcode, destination, mask, ref sources } => {
                    let result = machine.compute(opcode, sources);
                    let row = machine.destination(destination);
                    for component in 0..4 {
                        if mask[component] {
                            row[component] = result[component];
                        }
                    }
                }
                Effect::Address { mask, ref source } => {
                    let value = machine.fetch(source);
                    for component in 0..2 {
                        if mask[component] {
                            machine.address[component] = value[component] as i32;
                        }
                    }
                }
                Effect::Compare { comparisons, ref sources } => {
                    let [left, right] = [machine.fetch(&sources[0]), machine.fetch(&sources[1])];
                    machine.flags = std::array::from_fn(|i| compare(comparisons[i], left[i], right[i]));
                }
                Effect::Nop => {}
                Effect::End => return &machine.outputs,
                Effect::Break(test) => breaks = self.holds(machine, test),
                Effect::Call { test, target, end } => {
                    if self.holds(machine, test) {
                        scopes.calls.push(CallScope { end, back: next });
                        next = target;
                    }
                }
                Effect::If { test, otherwise, end } => match self.holds(machine, test) {
                    true => scopes.ifs.push(IfScope { otherwise, end }),
                    false => next = otherwise,
                },
                Effect::Loop { int, end } => {
                    let [count, first, step, _] = self.ints[int];
                    let outer = machine.address[2];
                    scopes.loops.push(LoopScope { start: next, end, count, step: step.into(), outer });
                    machine.address[2] = first.into();
                }
                Effect::Jump { test, target } => {
                    if self.holds(machine, test) {
                        next = target;
                    }
                }
            }
            if word.closes || breaks {
                next = scopes.close(pc + 1, next, breaks, &mut machine.address[2]);
            }
            pc = next;
        }
    }

    fn holds(&self, machine: &Machine, test: Test) -> bool {
        let [x, y] = machine.flags;
        match test {
            Test::Always => true,
            Test::Or(wanted) => x == wanted[0] || y == wanted[1],
            Test::And(wanted) => [x, y] == wanted,
            Test::X(wanted) => x == wanted,
            Test::Y(wanted) => y == wanted,
            Test::Bool { mask, value } => (self.bools & mask != 0) == value,
        }
    }
}

/// The registers of a shader unit that runs one program.
pub struct Machine {
    rows: [Vec4; 128],
    outputs: [Vec4; 16],
    /// a0.x, a0.y, aL.
    address: [i32; 3],
    flags: [bool; 2],
}

impl Machine {
    /// A unit with the program's uniforms.
    pub fn new(program: &Program) -> Machine {
        Machine { rows: program.rows, outputs: [[0.0; 4]; 16], address: [0; 3], flags: [false; 2] }
    }

    /// Every register but the uniforms is as new. Inputs that are not given stay 0.
    fn begin(&mut self, inputs: &[Vec4]) {
        self.rows[..inputs.len()].copy_from_slice(inputs);
        self.rows[TEMPORARIES..FLOATS].fill([0.0; 4]);
        self.outputs = [[0.0; 4]; 16];
        self.address = [0; 3];
        self.flags = [false; 2];
    }

    fn fetch(&self, source: &Source) -> Vec4 {
        let row = match self.address.get(usize::from(source.relative)) {
            None => &self.rows[usize::from(source.row & 0x7f)],
            Some(&address) => {
                let offset = if (-128..128).contains(&address) { address } else { 0 };
                let float = (i32::from(source.row) - FLOATS as i32 + offset) as usize & 0x7f;
                self.rows.get(FLOATS + float).unwrap_or(&[1.0; 4])
            }
        };
        let value = source.swizzle.map(|component| row[usize::from(component & 3)]);
        if source.negate { value.map(|x| -x) } else { value }
    }

    fn destination(&mut self, destination: u8) -> &mut Vec4 {
        match destination {
            0..0x10 => &mut self.outputs[usize::from(destination)],
            _ => &mut self.rows[TEMPORARIES + usize::from(destination & 0xf)],
        }
    }

    fn compute(&mut self, opcode: Opcode, sources: &[Source; 3]) -> Vec4 {
        let a = self.fetch(&sources[0]);
        let second = || self.fetch(&sources[1]);
        let zip = |f: fn(f32, f32) -> f32| {
            let b = second();
            std::array::from_fn(|i| f(a[i], b[i]))
        };
        match opcode {
            Opcode::Add => zip(|a, b| a + b),
            Opcode::Mul => zip(product),
            Opcode::Sge => zip(|a, b| f32::from(a >= b)),
            Opcode::Slt => zip(|a, b| f32::from(a < b)),
            Opcode::Max => zip(|a, b| if a > b { a } else { b }),
            Opcode::Min => zip(|a, b| if a < b { a } else { b }),
            Opcode::Mad => {
                let (b, c) = (second(), self.fetch(&sources[2]));
                std::array::from_fn(|i| product(a[i], b[i]) + c[i])
            }
            Opcode::Dp3 => [dot3(a, second()); 4],
            Opcode::Dp4 => {
                let b = second();
                [dot3(a, b) + product(a[3], b[3]); 4]
            }
            Opcode::Dph => {
                let b = second();
                [dot3(a, b) + b[3]; 4]
            }
            Opcode::Dst => {
                let b = second();
                [1.0, product(a[1], b[1]), a[2], b[3]]
            }
            Opcode::Ex2 => [a[0].exp2(); 4],
            Opcode::Lg2 => [a[0].log2(); 4],
            Opcode::Rcp => [1.0 / a[0]; 4],
            Opcode::Rsq => [1.0 / a[0].sqrt(); 4],
            Opcode::Flr => a.map(f32::floor),
            Opcode::Mov => a,
            Opcode::Litp => {
                self.flags = [a[0] >= 0.0, a[3] >= 0.0];
                [a[0].max(0.0), a[1].clamp(-127.996_09, 127.996_09), 0.0, a[3].max(0.0)]
            }
        }
    }
}

/// 0 times infinity is 0.
fn product(a: f32, b: f32) -> f32 {
    let product = a * b;
    if product.is_nan() && !a.is_nan() && !b.is_nan() { 0.0 } else { product }
}

fn dot3(a: Vec4, b: Vec4) -> f32 {
    product(a[0], b[0]) + product(a[1], b[1]) + product(a[2], b[2])
}

fn compare(comparison: u8, a: f32, b: f32) -> bool {
    match comparison {
        0 => a == b,
        1 => a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        _ => true,
    }
}

/// The open procedures, branches and loops.
#[derive(Default)]
struct Scopes {
    calls: Ring<CallScope, 4>,
    ifs: Ring<IfScope, 8>,
    loops: Ring<LoopScope, 4>,
}

#[derive(Clone, Copy, Default)]
struct CallScope {
    end: usize,
    back: usize,
}

#[derive(Clone, Copy, Default)]
struct IfScope {
    otherwise: usize,
    end: usize,
}

#[derive(Clone, Copy, Default)]
struct LoopScope {
    start: usize,
    end: usize,
    /// Iterations left.
    count: u8,
    step: i32,
    /// aL before the loop.
    outer: i32,
}

impl Scopes {
    /// What comes after a word: `following` is the word behind it, `next` where its instruction goes by itself. A loop that ends
    /// here decides before a branch, and a branch before a procedure.
    fn close(&mut self, following: usize, mut next: usize, breaks: bool, loop_register: &mut i32) -> usize {
        let mut behind = following;
        for pops in 0..4 {
            let Some(call) = self.calls.top().filter(|call| call.end == behind).copied() else { break };
            self.calls.pop();
            if pops < 3 {
                behind = call.back;
                next = behind;
            }
        }
        if let Some(branch) = self.ifs.top().filter(|branch| branch.otherwise == following).copied() {
            self.ifs.pop();
            next = branch.end;
        }
        let is_nested = self.loops.len > 1;
        if let Some(scope) = self.loops.top().filter(|scope| breaks || scope.end == following) {
            *loop_register += scope.step;
            if !breaks && scope.count > 0 {
                scope.count -= 1;
                next = scope.start;
            } else {
                next = scope.end;
                if is_nested {
                    *loop_register = scope.outer;
                }
                self.loops.pop();
            }
        }
        next
    }
}

/// A stack that forgets its oldest entry when it is full.
struct Ring<T, const N: usize> {
    entries: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Ring<T, N> {
        Ring { entries: [T::default(); N], len: 0 }
    }
}

impl<T, const N: usize> Ring<T, N> {
    fn push(&mut self, entry: T) {
        if self.len == N {
            self.entries.rotate_left(1);
            self.len -= 1;
        }
        self.entries[self.len] = entry;
        self.len += 1;
    }

    fn top(&mut self) -> Option<&mut T> {
        self.entries[..self.len].last_mut()
    }

    fn pop(&mut self) {
        self.len -= 1;
    }
}

fn decode(words: &[u32], descriptors: &[u32]) -> Vec<Word> {
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
            opcode => panic!("no vertex program has opcode {opcode:#x}"),
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

    /// Source `number`, whose register field has `width` bits from bit `low`, and whose address register is named from bit
    /// `index` if it may have one.
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
