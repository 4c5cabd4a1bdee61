//! Statements: straight-line ones, nested control flow, and regions of blocks that jump at random.

use super::{Exits, Generator};
use crate::entity::{Block, Value, Variable};
use crate::types::Type;
use arbitrary::Result;

impl Generator<'_, '_> {
    /// A few statements, until one of them leaves. Their values are in scope only here.
    pub(super) fn statements(&mut self, depth: u32) -> Result<()> {
        let scope = self.scope.len();
        // The function's own statements go on as long as there is data.
        let count = if depth == 0 { self.config.size } else { self.u.int_in_range(1..=6)? };
        for _ in 0..count {
            if self.budget == 0 || self.u.is_empty() || self.b.is_terminated() {
                break;
            }
            self.budget -= 1;
            self.statement(depth)?;
        }
        if depth > 0 {
            self.scope.truncate(scope);
        }
        Ok(())
    }

    fn statement(&mut self, depth: u32) -> Result<()> {
        let choices = if depth < self.config.depth { 16 } else { 10 };
        match self.u.int_in_range(0..=choices)? {
            0..=7 => self.instruction(),
            8 => self.assign(),
            9 => self.output(),
            10 => self.leave(),
            11 | 12 => self.if_else(depth),
            13 => self.loop_at_head(depth),
            14 => self.loop_at_end(depth),
            15 => self.switch(depth),
            _ if self.config.irreducible => self.region(depth),
            _ => self.if_else(depth),
        }
    }

    fn output(&mut self) -> Result<()> {
        let (element, component) = (self.element(self.b.func().outputs)?, self.u.int_in_range(0..=3)?);
        let ty = self.word()?;
        let value = self.value(ty)?;
        self.b.output(element, component, value);
        Ok(())
    }

    /// Break, continue or return; mostly under a condition.
    fn leave(&mut self) -> Result<()> {
        if self.u.ratio(1, 8)? {
            return self.go();
        }
        let condition = self.value(Type::I1)?;
        let (leave, stay) = (self.b.create_block(), self.b.create_block());
        self.b.br_if(condition, leave, stay);
        self.b.seal_block(leave);
        self.b.seal_block(stay);
        self.b.switch_to_block(leave);
        self.go()?;
        self.b.switch_to_block(stay);
        Ok(())
    }

    fn go(&mut self) -> Result<()> {
        let choice = self.u.int_in_range(0..=4u8)?;
        let exits = if self.exits.is_empty() { None } else { Some(*self.u.choose(&self.exits)?) };
        match (choice, exits) {
            (0 | 1, Some(Exits { leave, .. })) => self.b.jump(leave),
            (2 | 3, Some(Exits { next: Some(next), .. })) => self.b.jump(next),
            _ => {
                self.output()?;
                self.b.ret();
            }
        }
        Ok(())
    }

    /// Statements in `block`, and from their end to `join` unless they leave.
    fn arm(&mut self, block: Block, join: Block, depth: u32) -> Result<()> {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
        self.statements(depth + 1)?;
        if !self.b.is_terminated() {
            self.b.jump(join);
        }
        Ok(())
    }

    /// Goes on in `join`, which gets no more edges. If it has none at all, everything before has left, and so does it.
    fn join(&mut self, join: Block) {
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        if !self.b.has_predecessors(join) {
            self.b.ret();
        }
    }

    fn if_else(&mut self, depth: u32) -> Result<()> {
        let condition = self.value(Type::I1)?;
        let (then_arm, join) = (self.b.create_block(), self.b.create_block());
        if self.u.ratio(1, 2)? {
            let else_arm = self.b.create_block();
            self.b.br_if(condition, then_arm, else_arm);
            self.arm(else_arm, join, depth)?;
        } else if self.u.ratio(1, 4)? {
            self.b.br_if(condition, join, then_arm);
        } else {
            self.b.br_if(condition, then_arm, join);
        }
        self.arm(then_arm, join, depth)?;
        self.join(join);
        Ok(())
    }

    /// A loop's condition: a counter below its bound, or some `i1`, or both.
    fn goes_on(&mut self, count: Value) -> Result<Value> {
        let bound = self.index(8)?;
        let limit = self.b.i32(9);
        let bound = self.b.umin([bound, limit]);
        let is_counting = self.b.ult([count, bound]);
        if self.u.ratio(1, 2)? {
            return Ok(is_counting);
        }
        let condition = self.value(Type::I1)?;
        if self.config.unbounded && self.u.ratio(1, 16)? {
            return Ok(condition);
        }
        Ok(self.b.and([is_counting, condition]))
    }

    /// Variables that a loop takes in turn; none for most loops.
    fn ring(&mut self) -> Result<Vec<Variable>> {
        if !self.u.ratio(1, 4)? {
            return Ok(Vec::new());
        }
        let mut ring = Vec::new();
        for _ in 0..self.u.int_in_range(2..=4)? {
            let (variable, value) = (self.b.declare_var(Type::I32), self.value(Type::I32)?);
            self.b.def_var(variable, value);
            ring.push(variable);
        }
        Ok(ring)
    }

    /// Computes something of the first variable of a ring, which becomes the last one.
    fn turn(&mut self, ring: &[Variable]) -> Result<()> {
        let mut values: Vec<Value> = ring.iter().map(|&variable| self.b.use_var(variable)).collect();
        let Some(&(mut result)) = values.first() else { return Ok(()) };
        for _ in 0..self.u.int_in_range(1..=3)? {
            let number = self.u.int_in_range(0..=9)?;
            let other = if self.u.ratio(7, 8)? { self.b.i32(number) } else { self.index(16)? };
            result = match self.u.int_in_range(0..=3)? {
                0 => self.b.iadd([result, other]),
                1 => self.b.imul([result, other]),
                2 => self.b.and([result, other]),
                _ => self.b.xor([other, result]),
            };
        }
        values.rotate_left(1);
        ring.iter().zip(values).for_each(|(&variable, value)| self.b.def_var(variable, value));
        self.scope.push(result);
        Ok(())
    }

    /// `while (condition) { … }` with a counter.
    fn loop_at_head(&mut self, depth: u32) -> Result<()> {
        let counter = self.b.declare_var(Type::I32);
        let zero = self.b.i32(0);
        self.b.def_var(counter, zero);
        let ring = self.ring()?;
        let [head, body, next, exit] = [(); 4].map(|()| self.b.create_block());
        self.b.jump(head);
        self.b.switch_to_block(head);
        self.turn(&ring)?;
        let count = self.b.use_var(counter);
        let condition = self.goes_on(count)?;
        self.b.br_if(condition, body, exit);
        self.exits.push(Exits { next: Some(next), leave: exit });
        self.arm(body, next, depth)?;
        self.exits.pop();
        self.b.seal_block(next);
        if self.b.has_predecessors(next) {
            self.b.switch_to_block(next);
            let (count, one) = (self.b.use_var(counter), self.b.i32(1));
            let count = self.b.iadd([count, one]);
            self.b.def_var(counter, count);
            self.b.jump(head);
        }
        self.b.seal_block(head);
        self.join(exit);
        Ok(())
    }

    /// `do { … } while (condition)` with a counter.
    fn loop_at_end(&mut self, depth: u32) -> Result<()> {
        let counter = self.b.declare_var(Type::I32);
        let zero = self.b.i32(0);
        self.b.def_var(counter, zero);
        let ring = self.ring()?;
        let [head, body, next, exit] = [(); 4].map(|()| self.b.create_block());
        self.b.jump(head);
        self.b.switch_to_block(head);
        self.turn(&ring)?;
        self.b.jump(body);
        self.exits.push(Exits { next: Some(next), leave: exit });
        self.arm(body, next, depth)?;
        self.exits.pop();
        self.b.seal_block(next);
        if self.b.has_predecessors(next) {
            self.b.switch_to_block(next);
            let (count, one) = (self.b.use_var(counter), self.b.i32(1));
            let count = self.b.iadd([count, one]);
            self.b.def_var(counter, count);
            let condition = self.goes_on(count)?;
            self.b.br_if(condition, head, exit);
        }
        self.b.seal_block(head);
        self.join(exit);
        Ok(())
    }

    /// Up to four cases, which may share blocks and fall through; the default anywhere.
    fn switch(&mut self, depth: u32) -> Result<()> {
        let value = self.index(4)?;
        let arms: Vec<Block> = (0..self.u.int_in_range(1..=3)?).map(|_| self.b.create_block()).collect();
        let join = self.b.create_block();
        let mut targets = arms.clone();
        targets.push(join);
        let mut cases = Vec::new();
        for case in [0, 1, 3, u32::MAX] {
            if self.u.ratio(3, 4)? {
                cases.push((case, *self.u.choose(&targets)?));
            }
        }
        let default = *self.u.choose(&targets)?;
        self.b.switch(value, &cases, default);
        let next = self.exits.last().and_then(|exits| exits.next);
        self.exits.push(Exits { next, leave: join });
        for (index, &arm) in arms.iter().enumerate() {
            let falls_through = self.u.ratio(1, 3)?;
            let end = arms.get(index + 1).copied().filter(|_| falls_through).unwrap_or(join);
            self.arm(arm, end, depth)?;
        }
        self.exits.pop();
        self.join(join);
        Ok(())
    }

    /// Blocks that are entered at one or two places and jump to each other at random. A counter ends the wandering,
    /// unless it is allowed to go on for ever.
    fn region(&mut self, depth: u32) -> Result<()> {
        let is_bounded = !(self.config.unbounded && self.u.ratio(1, 16)?);
        let counter = self.b.declare_var(Type::I32);
        let zero = self.b.i32(0);
        self.b.def_var(counter, zero);
        let blocks: Vec<Block> = (0..self.u.int_in_range(2..=5)?).map(|_| self.b.create_block()).collect();
        let exit = self.b.create_block();
        let mut targets = blocks.clone();
        targets.push(exit);
        self.jump_at_random(&targets)?;
        for &block in &blocks {
            self.b.switch_to_block(block);
            self.statements(depth + 1)?;
            if self.b.is_terminated() {
                continue;
            }
            if is_bounded {
                let (count, one, limit) = (self.b.use_var(counter), self.b.i32(1), self.b.i32(12));
                let count = self.b.iadd([count, one]);
                self.b.def_var(counter, count);
                let goes_on = self.b.ult([count, limit]);
                let next = self.b.create_block();
                self.b.br_if(goes_on, next, exit);
                self.b.seal_block(next);
                self.b.switch_to_block(next);
            }
            self.jump_at_random(&targets)?;
        }
        blocks.iter().for_each(|&block| self.b.seal_block(block));
        self.join(exit);
        Ok(())
    }

    fn jump_at_random(&mut self, targets: &[Block]) -> Result<()> {
        let (first, second) = (*self.u.choose(targets)?, *self.u.choose(targets)?);
        match self.u.int_in_range(0..=5u8)? {
            0..=2 => {
                let condition = self.value(Type::I1)?;
                self.b.br_if(condition, first, second);
            }
            3 | 4 => self.b.jump(first),
            _ => {
                let value = self.index(4)?;
                let third = *self.u.choose(targets)?;
                self.b.switch(value, &[(0, first), (2, second)], third);
            }
        }
        Ok(())
    }
}
