//! Registers of random code, which regalloc2's checker looks at: loops and branches that pass on more values than there
//! are registers, and calls among them.

use super::super::code::{BlockId, Code};
use super::super::encode::{Condition, Size};
use super::super::table::{Class, Op};
use super::{Allocator, Registers};
use arbitrary::{Result, Unstructured};
use regalloc2::VReg;

/// Code in the making.
struct Generator<'a, 'u> {
    u: &'a mut Unstructured<'u>,
    code: Code,
    /// What there is, by class.
    values: [Vec<VReg>; 3],
    size: Size,
    statements: u32,
}

const CLASSES: [Class; 3] = [Class::G, Class::V, Class::K];

/// What a value of each class is made of: nothing, or two others, of which one is overwritten if it can be.
const MAKE: [Op; 2] = [Op::MovImmediate, Op::Zero];
const JOIN: [[Op; 2]; 3] = [[Op::Add64, Op::Imul64], [Op::Addps, Op::Fma213], [Op::Kand, Op::Kandn]];

impl Generator<'_, '_> {
    fn generate(mut self) -> Result<Code> {
        let block = self.code.block();
        self.code.switch_to(block);
        self.values[0].extend(self.code.entry());
        let most = [24, 44, if self.size == Size::Z { 14 } else { 0 }];
        for (class, most) in most.into_iter().enumerate() {
            for _ in 0..self.u.int_in_range(0..=most)? {
                let value = self.make(class);
                self.values[class].push(value);
            }
        }
        self.body(3)?;
        let status = self.values[0][0];
        self.code.ret(status);
        self.code.seal();
        Ok(self.code)
    }

    fn make(&mut self, class: usize) -> VReg {
        let made = match class {
            2 => {
                let general = self.values[0][0];
                self.code.inst(Op::KmovIn, Size::X, &[general], None, None, 0)
            }
            _ => self.code.inst(MAKE[class], self.size, &[], None, None, 7),
        };
        made.expect("it has a result")
    }

    /// Statements up to the end of what is around them.
    fn body(&mut self, depth: u32) -> Result<()> {
        for _ in 0..self.u.int_in_range(0..=12)? {
            if self.statements == 0 {
                break;
            }
            self.statements -= 1;
            match self.u.int_in_range(0..=15)? {
                0 | 1 if depth > 0 => self.branch(depth - 1)?,
                2 | 3 if depth > 0 => self.round(depth - 1)?,
                4 => {
                    let args: Vec<VReg> = (0..4).map(|_| self.pick(0)).collect::<Result<_>>()?;
                    self.code.call(0x1000, &args[..self.u.int_in_range(0..=4)?]);
                }
                _ => self.join()?,
            }
        }
        Ok(())
    }

    fn pick(&mut self, class: usize) -> Result<VReg> {
        self.u.choose(&self.values[class]).copied()
    }

    /// A value takes the place of another.
    fn join(&mut self) -> Result<()> {
        let class = self.u.int_in_range(0..=2)?;
        if self.values[class].is_empty() {
            return Ok(());
        }
        let op = *self.u.choose(&JOIN[class])?;
        let size = if class == 1 { self.size } else { Size::X };
        let count = if op == Op::Fma213 { 3 } else { 2 };
        let operands: Vec<VReg> = (0..count).map(|_| self.pick(class)).collect::<Result<_>>()?;
        let made = self.code.inst(op, size, &operands, None, None, 0).expect("it has a result");
        let at = self.u.choose_index(self.values[class].len())?;
        self.values[class][at] = made;
        Ok(())
    }

    /// Which values a block is passed: their places, and new registers for them.
    fn params(&mut self, block: BlockId) -> Result<Vec<(usize, usize, VReg)>> {
        let mut params = Vec::new();
        let share = self.u.int_in_range(1..=4)?;
        for (class, name) in CLASSES.into_iter().enumerate() {
            for at in 0..self.values[class].len() {
                if self.u.ratio(share, 4)? {
                    params.push((class, at, self.code.param(block, name)));
                }
            }
        }
        Ok(params)
    }

    /// What is passed for some parameters: mostly the values, sometimes others.
    fn args(&mut self, params: &[(usize, usize, VReg)]) -> Result<Vec<VReg>> {
        let arg = |&(class, at, _): &(usize, usize, VReg)| {
            if self.u.ratio(1, 4)? { self.u.choose(&self.values[class]).copied() } else { Ok(self.values[class][at]) }
        };
        params.iter().map(arg).collect()
    }

    fn set(&mut self, params: &[(usize, usize, VReg)]) {
        for &(class, at, param) in params {
            self.values[class][at] = param;
        }
    }

    fn branch(&mut self, depth: u32) -> Result<()> {
        let [then, otherwise, behind] = [(); 3].map(|()| self.code.block());
        let params = self.params(behind)?;
        self.code.branch_only(Condition::Less, then, otherwise);
        let before = self.values.clone();
        for block in [then, otherwise] {
            self.values.clone_from(&before);
            self.code.switch_to(block);
            self.body(depth)?;
            let args = self.args(&params)?;
            self.code.jump(behind, &args);
        }
        self.values = before;
        self.code.switch_to(behind);
        self.set(&params);
        Ok(())
    }

    fn round(&mut self, depth: u32) -> Result<()> {
        let [head, behind] = [(); 2].map(|()| self.code.block());
        let params = self.params(head)?;
        let args = self.args(&params)?;
        self.code.jump(head, &args);
        self.code.switch_to(head);
        self.set(&params);
        self.body(depth)?;
        let args = self.args(&params)?;
        self.code.branch(Condition::Less, (head, &args), (behind, &[]));
        self.code.switch_to(behind);
        Ok(())
    }
}

#[test]
fn registers_hold_what_instructions_ask_for() {
    let (mut allocator, mut scanned, mut all) = (Allocator::default(), 0, 0);
    arbtest::arbtest(|u| {
        let size = *u.choose(&[Size::Y, Size::Z])?;
        let generator = Generator { u, code: Code::default(), values: Default::default(), size, statements: 120 };
        let code = generator.generate()?;
        // Checked by `run`.
        allocator.run(&code, size).unwrap_or_else(|error| panic!("{error}\n{code:#?}"));
        scanned += u32::from(allocator.scan.walk(&code, Registers::new(size)).is_ok());
        all += 1;
        Ok(())
    })
    .size_max(4_000)
    .budget_ms(2_000);
    assert_eq!(scanned, all, "none of them is too hard");
}
