//! PICA200 vertex programs, a vertex at a time: decoded once, then a match on opcodes over arrays of floats. What an
//! emulator has that does not compile its shaders.
//!
//! Every opcode, for programs that are trusted to end.

mod decode;
mod geometry;
mod scopes;

use super::vertex::Vec4;
use crate::draw::floats;
use decode::{Effect, Opcode, Source, Test, Word};
pub use geometry::Stage;
use scopes::{CallScope, IfScope, LoopScope, Scopes};
use shaderjit::container::Shbin;
use shaderjit::container::shbin::Constant;

/// First of `r0..r15` among the rows that sources name: behind `v0..v15`.
const TEMPORARIES: usize = 0x10;
/// First of `c0..c95` among the rows that sources name.
const FLOATS: usize = 0x20;

/// A vertex program and its uniforms.
pub struct Program {
    code: Vec<Word>,
    entry: usize,
    /// What sources name: `v0..v15`, `r0..r15`, `c0..c95`. Here only the uniforms are set.
    rows: [Vec4; 128],
    ints: [[u8; 4]; 4],
    bools: u32,
}

impl Program {
    /// Executable `entry` of a SHBIN with 1556 bytes of uniforms: c0..c95, i0..i3 in bytes, the bools as a mask.
    pub fn new(shbin: &Shbin<'_>, entry: usize, uniforms: &[u8]) -> Program {
        let dvlp = shbin.dvlp().expect("the corpus is well-formed");
        let dvle = shbin.dvle(entry).expect("the corpus is well-formed").expect("it has that executable");
        let (rows, rest) = uniforms.split_at(96 * 16);
        let (ints, bools) = rest.split_at(16);
        let mut program = Program {
            code: decode::decode(&dvlp.code, &dvlp.descriptors),
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
        self.run(machine, None);
        &machine.outputs
    }

    /// Runs to the end, from whatever the registers are.
    fn run(&self, machine: &mut Machine, mut stage: Option<&mut Stage>) {
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
                Effect::End => return,
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
                Effect::SetEmit { buffer, ends, inverted } => {
                    if let Some(stage) = &mut stage {
                        stage.latch = (buffer, ends, inverted);
                    }
                }
                Effect::Emit => {
                    if let Some(stage) = &mut stage {
                        stage.emit(&mut machine.outputs);
                    }
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
