//! Statements: stores, branches, loops, what a geometry shader emits.

use super::{Generator, Kind};
use arbitrary::Result;
use rspirv::dr::Operand;
use spirv::{ExecutionModel, LoopControl, Op, SelectionControl, Word};

/// Most constructs in one another.
const DEPTH: u32 = 3;

impl Generator<'_, '_> {
    /// Some statements, one behind the other.
    pub(super) fn statements(&mut self, depth: u32) -> Result<()> {
        let known = self.values.len();
        for _ in 0..self.u.int_in_range(1..=5u32)? {
            if self.statements == 0 {
                break;
            }
            self.statements -= 1;
            self.statement(depth)?;
        }
        // What was computed here is not known behind it, unless it is all of a function.
        if depth > 0 {
            self.values.truncate(known);
        }
        Ok(())
    }

    fn statement(&mut self, depth: u32) -> Result<()> {
        match self.u.int_in_range(0..=8u8)? {
            0 if depth < DEPTH => self.branch(depth),
            1 if depth < DEPTH => self.counted_loop(depth),
            2 if depth < DEPTH => self.switch(depth),
            3 if self.stage == ExecutionModel::Geometry => {
                if self.u.arbitrary()? { self.b.emit_vertex() } else { self.b.end_primitive() }
                    .expect("a block is open");
                Ok(())
            }
            4 => {
                let kind = *self.u.choose(&[Kind::Uint, Kind::Float, Kind::Bool])?;
                let value = self.value(kind, 3)?;
                self.values.push((kind, value));
                Ok(())
            }
            5 => {
                let (value, pointer) = (self.value(Kind::Uint, 3)?, self.place()?);
                self.b.store(pointer, value, None, []).expect("a block is open");
                Ok(())
            }
            _ => {
                let (kind, variable) = *self.u.choose(&self.words)?;
                let value = self.value(kind, 3)?;
                self.b.store(variable, value, None, []).expect("a block is open");
                Ok(())
            }
        }
    }

    /// Goes on in a block.
    fn begin(&mut self, label: Word) {
        self.b.begin_block(Some(label)).expect("the block before has ended");
    }

    /// Statements in a block of their own.
    fn arm(&mut self, label: Word, after: Word, depth: u32) -> Result<()> {
        self.begin(label);
        self.statements(depth + 1)?;
        self.b.branch(after).expect("a block is open");
        Ok(())
    }

    fn branch(&mut self, depth: u32) -> Result<()> {
        let condition = self.value(Kind::Bool, 2)?;
        let [then, other, after] = [(); 3].map(|()| self.b.id());
        self.b.selection_merge(after, SelectionControl::NONE).expect("a block is open");
        self.b.branch_conditional(condition, then, other, []).expect("a block is open");
        // A value of each arm, of which one is chosen behind them.
        let mut chosen = Vec::new();
        for label in [then, other] {
            self.begin(label);
            let known = self.values.len();
            self.statements(depth + 1)?;
            let value = self.value(Kind::Uint, 1)?;
            self.values.truncate(known);
            // The last block of the arm need not be its first.
            let last = self.b.id();
            self.b.branch(last).expect("a block is open");
            self.begin(last);
            self.b.branch(after).expect("a block is open");
            chosen.push((value, last));
        }
        self.begin(after);
        let phi = self.b.phi(self.types.uint, None, chosen).expect("a block is open");
        self.values.push((Kind::Uint, phi));
        Ok(())
    }

    /// A loop of a few rounds, which a condition may leave.
    fn counted_loop(&mut self, depth: u32) -> Result<()> {
        let (uint, boolean) = (self.types.uint, self.types.boolean);
        let rounds = self.u.int_in_range(1..=4u32)?;
        let [before, head, test, body, next, after] = [(); 6].map(|()| self.b.id());
        let [zero, one, rounds] = [0, 1, rounds].map(|number| self.uint(number));
        self.b.branch(before).expect("a block is open");
        self.begin(before);
        self.b.branch(head).expect("a block is open");
        self.begin(head);
        let (number, following) = (self.b.id(), self.b.id());
        self.b.phi(uint, Some(number), [(zero, before), (following, next)]).expect("a block is open");
        self.b.loop_merge(after, next, LoopControl::NONE, []).expect("a block is open");
        self.b.branch(test).expect("a block is open");
        self.begin(test);
        let goes_on = self.op(Op::ULessThan, boolean, &[number, rounds]);
        self.b.branch_conditional(goes_on, body, after, []).expect("a block is open");
        self.begin(body);
        let known = self.values.len();
        self.values.push((Kind::Uint, number));
        self.statements(depth + 1)?;
        if self.u.arbitrary()? {
            let leaves = self.value(Kind::Bool, 2)?;
            self.b.branch_conditional(leaves, after, next, []).expect("a block is open");
        } else {
            self.b.branch(next).expect("a block is open");
        }
        self.values.truncate(known);
        self.begin(next);
        let instruction = rspirv::dr::Instruction::new(
            Op::IAdd,
            Some(uint),
            Some(following),
            vec![Operand::IdRef(number), Operand::IdRef(one)],
        );
        self.b.insert_into_block(rspirv::dr::InsertPoint::End, instruction).expect("a block is open");
        self.b.branch(head).expect("a block is open");
        self.begin(after);
        Ok(())
    }

    fn switch(&mut self, depth: u32) -> Result<()> {
        let selector = self.value(Kind::Uint, 2)?;
        let [default, first, second, after] = [(); 4].map(|()| self.b.id());
        self.b.selection_merge(after, SelectionControl::NONE).expect("a block is open");
        let cases = [(Operand::LiteralBit32(1), first), (Operand::LiteralBit32(5), second)];
        self.b.switch(selector, default, cases).expect("a block is open");
        for label in [default, first, second] {
            self.arm(label, after, depth)?;
        }
        self.begin(after);
        Ok(())
    }
}
