//! What each arithmetic opcode computes.

use shaderjit_ir::Value;

use super::Lowering;
use super::source::Operand;
use crate::frontend::pica::decode::Sources;
use crate::frontend::pica::opcode::Opcode;
use crate::frontend::pica::operand::{AddressRegister, Comparison, Component, Descriptor, Destination};

/// Bound of the magnitude of LITP's second component, as recorded on hardware (to four places).
const LITP_BOUND: f32 = 127.9961;

impl Lowering<'_> {
    /// Lowers any [`Effect::Arithmetic`](crate::frontend::pica::decode::Effect::Arithmetic).
    pub(super) fn arithmetic(
        &mut self,
        opcode: Opcode,
        destination: Option<Destination>,
        sources: &Sources,
        descriptor: Descriptor,
    ) {
        let operands: Vec<Operand> =
            (0..sources.iter().count()).map(|n| self.operand(sources, n, descriptor)).collect();
        if let (Opcode::Mova, &[s]) = (opcode, operands.as_slice()) {
            return self.mova(s, descriptor);
        }
        // All components are computed before one is written: the destination may be a source too.
        let values = self.values(opcode, &operands, descriptor.written());
        let Some(destination) = destination else { return };
        for (component, value) in values {
            let variable = self.registers.destination(&mut self.b, destination, component);
            self.define(variable, value);
        }
    }

    /// What any opcode but MOVA gives for these components. LITP sets the flags, too.
    pub(super) fn values(
        &mut self,
        opcode: Opcode,
        operands: &[Operand],
        components: impl IntoIterator<Item = Component>,
    ) -> Vec<(Component, Value)> {
        if let (Opcode::Litp, &[s]) = (opcode, operands) {
            self.litp_flags(s);
        }
        let mut scalar = None;
        let components = components.into_iter().map(|c| {
            // One result for all components is computed once, if at all.
            scalar = scalar.or_else(|| self.scalar(opcode, operands));
            (c, scalar.unwrap_or_else(|| self.component(opcode, operands, c)))
        });
        components.collect()
    }

    /// The opcodes with one result for all components; `None` for the others.
    fn scalar(&mut self, opcode: Opcode, operands: &[Operand]) -> Option<Value> {
        Some(match (opcode, operands) {
            (Opcode::Dp3, &[s1, s2]) => self.dot(s1, s2, &Component::ALL[..3]),
            (Opcode::Dp4, &[s1, s2]) => self.dot(s1, s2, &Component::ALL),
            (Opcode::Dph | Opcode::Dphi, &[s1, s2]) => {
                let xyz = self.dot(s1, s2, &Component::ALL[..3]);
                let w = self.number(s2, Component::W);
                self.sum(xyz, w)
            }
            (Opcode::Ex2, &[s]) => {
                let x = self.number(s, Component::X);
                let power = self.b.fexp2([x]);
                self.rounded(power)
            }
            (Opcode::Lg2, &[s]) => {
                let x = self.number(s, Component::X);
                let logarithm = self.b.flog2([x]);
                self.rounded(logarithm)
            }
            (Opcode::Rcp, &[s]) => {
                let (one, x) = (self.b.f32(1.0), self.number(s, Component::X));
                let reciprocal = self.b.fdiv([one, x]);
                self.rounded(reciprocal)
            }
            (Opcode::Rsq, &[s]) => {
                let (one, x) = (self.b.f32(1.0), self.number(s, Component::X));
                let root = self.b.fsqrt([x]);
                let reciprocal = self.b.fdiv([one, root]);
                self.rounded(reciprocal)
            }
            _ => return None,
        })
    }

    /// The opcodes that work component by component.
    fn component(&mut self, opcode: Opcode, operands: &[Operand], c: Component) -> Value {
        match (opcode, operands) {
            (Opcode::Mov, &[s]) => self.read(s, c),
            (Opcode::Litp, &[s]) => self.litp(s, c),
            (Opcode::Flr, &[s]) => {
                // What has 16 bits of mantissa has no more of them without its fraction.
                let s = self.number(s, c);
                self.b.ffloor([s])
            }
            (Opcode::Dst | Opcode::Dsti, &[s1, s2]) => match c {
                Component::X => self.b.f32(1.0),
                Component::Y => self.product(s1, s2, c),
                Component::Z => self.read(s1, c),
                Component::W => self.read(s2, c),
            },
            (Opcode::Mul, &[s1, s2]) => self.product(s1, s2, c),
            (Opcode::Mad | Opcode::Madi, &[s1, s2, s3]) => {
                let (product, s3) = (self.product(s1, s2, c), self.number(s3, c));
                self.sum(product, s3)
            }
            (Opcode::Add, &[s1, s2]) => {
                let (s1, s2) = (self.number(s1, c), self.number(s2, c));
                self.sum(s1, s2)
            }
            (_, &[s1, s2]) => {
                let (s1, s2) = (self.read(s1, c), self.read(s2, c));
                match opcode {
                    Opcode::Max => self.b.pmax([s1, s2]),
                    Opcode::Min => self.b.pmin([s1, s2]),
                    Opcode::Sge | Opcode::Sgei => {
                        let holds = self.b.fle([s2, s1]);
                        self.one_if(holds)
                    }
                    Opcode::Slt | Opcode::Slti => {
                        let holds = self.b.flt([s1, s2]);
                        self.one_if(holds)
                    }
                    _ => unreachable!("{opcode:?} is not an opcode of two sources"),
                }
            }
            _ => unreachable!("{opcode:?} has other sources in its picture"),
        }
    }

    fn product(&mut self, s1: Operand, s2: Operand, c: Component) -> Value {
        let (s1, s2) = (self.number(s1, c), self.number(s2, c));
        let product = self.b.fmulz([s1, s2]);
        self.rounded(product)
    }

    fn sum(&mut self, a: Value, b: Value) -> Value {
        let sum = self.b.fadd([a, b]);
        self.rounded(sum)
    }

    /// The sum of products, from the first component on.
    fn dot(&mut self, s1: Operand, s2: Operand, components: &[Component]) -> Value {
        let products: Vec<Value> = components.iter().map(|&c| self.product(s1, s2, c)).collect();
        products.into_iter().reduce(|sum, product| self.sum(sum, product)).expect("a dot product has components")
    }

    fn one_if(&mut self, condition: Value) -> Value {
        let (one, zero) = (self.b.f32(1.0), self.b.f32(0.0));
        self.b.select([condition, one, zero])
    }

    /// `a0.x` and `a0.y`, each if its component is in the mask.
    fn mova(&mut self, s: Operand, descriptor: Descriptor) {
        let targets = [(Component::X, AddressRegister::X), (Component::Y, AddressRegister::Y)];
        for (component, register) in targets {
            if descriptor.writes(component) {
                let value = self.truncated(s, component);
                self.set_address_register(register, value);
            }
        }
    }

    /// What MOVA writes. Clamping at the ends of `i32` and 0 for NaN do not show: offsets outside of a signed byte
    /// count as 0.
    pub(super) fn truncated(&mut self, s: Operand, c: Component) -> Value {
        let value = self.read(s, c);
        self.b.ftoi([value])
    }

    /// LITP: `(max(x, 0), clamp(y), 0, max(w, 0))`. What NaN gives on hardware is not known; here it loses.
    fn litp(&mut self, s: Operand, c: Component) -> Value {
        match c {
            Component::X | Component::W => {
                let (s, zero) = (self.read(s, c), self.b.f32(0.0));
                self.b.pmax([s, zero])
            }
            Component::Y => {
                let (s, low, high) = (self.read(s, c), self.b.f32(-LITP_BOUND), self.b.f32(LITP_BOUND));
                let (low, high) = (self.rounded(low), self.rounded(high));
                let s = self.b.pmax([s, low]);
                self.b.pmin([s, high])
            }
            Component::Z => self.b.f32(0.0),
        }
    }

    /// LITP's second effect: `cmp.x = s.x >= 0`, `cmp.y = s.w >= 0`, whatever the mask.
    fn litp_flags(&mut self, s: Operand) {
        for (number, component) in [Component::X, Component::W].into_iter().enumerate() {
            let (zero, s) = (self.b.f32(0.0), self.read(s, component));
            let holds = self.b.fle([zero, s]);
            let flag = self.registers.flag(&mut self.b, number);
            self.define(flag, holds);
        }
    }

    /// CMP. The descriptor's mask has no effect.
    pub(super) fn compare(&mut self, comparisons: [Comparison; 2], sources: &Sources, descriptor: Descriptor) {
        let (s1, s2) = (self.operand(sources, 0, descriptor), self.operand(sources, 1, descriptor));
        for (number, (comparison, c)) in comparisons.into_iter().zip([Component::X, Component::Y]).enumerate() {
            let (s1, s2) = (self.read(s1, c), self.read(s2, c));
            let holds = match comparison {
                Comparison::Equal => self.b.feq([s1, s2]),
                Comparison::NotEqual => self.b.fne([s1, s2]),
                Comparison::Less => self.b.flt([s1, s2]),
                Comparison::LessEqual => self.b.fle([s1, s2]),
                Comparison::Greater => self.b.flt([s2, s1]),
                Comparison::GreaterEqual => self.b.fle([s2, s1]),
                Comparison::Always6 | Comparison::Always7 => self.b.i1(true),
            };
            let flag = self.registers.flag(&mut self.b, number);
            self.define(flag, holds);
        }
    }
}
