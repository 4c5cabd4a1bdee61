//! Statements: instructions, and control flow around them.

use super::Generator;
use super::declare::MAX_LOOPS;
use super::place::scalar_temp;
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::operand::{Component, Components, Swizzle};
use crate::frontend::sm4::{Opcode, OpcodeToken, Operand, RegisterFile, Stage, Test};
use arbitrary::Result;
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;

/// Constructs nest this deep, all those of a function together.
const MAX_DEPTH: u32 = 5;

/// The main function calls this often at most: what is called is inlined.
const MAIN_CALLS: u32 = 6;

/// Where statements are.
#[derive(Clone, Copy, Default)]
pub struct Scope {
    depth: u32,
    /// Whether there is a loop to continue.
    in_loop: bool,
    /// Whether there is a loop or switch to leave.
    breakable: bool,
    /// Whether not all threads of the group come here together.
    pub parted: bool,
}

impl Scope {
    /// Where not all threads may come together.
    pub const PARTED: Scope = Scope { depth: 0, in_loop: false, breakable: false, parted: true };

    /// Inside a construct that all threads enter and leave together.
    pub fn together(self) -> Scope {
        Scope { depth: self.depth + 1, in_loop: false, breakable: false, parted: false }
    }
}

/// A kind of statement.
#[derive(Clone, Copy)]
enum Statement {
    Plain,
    View,
    Memory,
    Barrier,
    GroupIf,
    GroupLoop,
    If,
    Loop,
    Switch,
    Call,
    InterfaceCall,
    Discard,
    Emission,
    Jump,
    Debug,
    Nop,
}

/// How often each kind is tried.
const STATEMENTS: [(Statement, usize); 16] = [
    (Statement::Plain, 24),
    (Statement::View, 6),
    (Statement::Memory, 12),
    (Statement::Barrier, 2),
    (Statement::GroupIf, 1),
    (Statement::GroupLoop, 1),
    (Statement::If, 4),
    (Statement::Loop, 2),
    (Statement::Switch, 2),
    (Statement::Call, 2),
    (Statement::InterfaceCall, 2),
    (Statement::Discard, 1),
    (Statement::Emission, 2),
    (Statement::Jump, 3),
    (Statement::Debug, 1),
    (Statement::Nop, 1),
];

impl Generator<'_, '_> {
    /// The main function. What is in the registers at its end is what it gives, unless it returns before.
    pub fn main_function(&mut self) -> Result<()> {
        self.begin_threads();
        let callable = if self.declared.is_chain { 2 } else { self.declared.labels };
        (self.callable, self.calls) = (0..callable, MAIN_CALLS);
        self.statements()?;
        self.store_outputs()?;
        match self.version.stage {
            Stage::Compute => self.store_temps()?,
            Stage::Geometry => self.emission()?,
            _ => {}
        }
        self.emit(OpcodeToken::new(Opcode::Ret), Vec::new());
        Ok(())
    }

    /// Statements, as many as there may be.
    pub fn statements(&mut self) -> Result<()> {
        while self.budget != 0 && !self.u.is_empty() {
            if !self.block(Scope::default(), self.budget)? {
                break;
            }
        }
        Ok(())
    }

    /// Gives most outputs what is in some register.
    pub fn store_outputs(&mut self) -> Result<()> {
        for number in 0..self.declared.outputs.len() {
            let register = self.declared.outputs[number];
            let indices: Vec<_> = register.number.map(|number| (number, None)).into_iter().collect();
            let components = if register.number.is_some() { Components::Mask(register.mask) } else { Components::One };
            let temp = number as u32 % self.declared.temps;
            let swizzle = Components::Swizzle(Swizzle::IDENTITY);
            let source = Operand::new(RegisterFile::Temp, swizzle, vec![(temp, None)]);
            if !self.one_in(5)? {
                let destination = Operand::new(register.file, components, indices);
                self.emit(OpcodeToken::new(Opcode::Mov), vec![destination, source]);
            }
        }
        Ok(())
    }

    /// Up to `most` statements. Whether what follows can be reached.
    pub fn block(&mut self, scope: Scope, most: u32) -> Result<bool> {
        for _ in 0..self.u.int_in_range(0..=most)? {
            if self.budget == 0 || self.u.is_empty() {
                break;
            }
            self.budget -= 1;
            // What cannot be reached is sometimes there all the same.
            if !self.statement(scope)? && !self.one_in(8)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether what follows can be reached.
    fn statement(&mut self, scope: Scope) -> Result<bool> {
        let is_open = scope.depth < MAX_DEPTH;
        let mut kind = self.u.choose_index(STATEMENTS.iter().map(|(_, weight)| weight).sum())?;
        let weighted = STATEMENTS.iter().find(|(_, weight)| {
            let found = kind < *weight;
            kind = kind.wrapping_sub(*weight);
            found
        });
        match weighted.expect("the number is below the sum").0 {
            Statement::View if !self.declared.views.is_empty() => self.view_access()?,
            Statement::Memory if !self.declared.memory.is_empty() => self.memory_access()?,
            Statement::Barrier if self.has_model(5, 0) => self.sync(scope.parted)?,
            Statement::GroupIf if is_open && self.has_barriers && !scope.parted => self.group_branch(scope)?,
            Statement::GroupLoop if is_open && self.has_barriers && !scope.parted && self.loops < MAX_LOOPS => {
                self.group_loop(scope)?;
            }
            Statement::If if is_open => self.branch(scope)?,
            Statement::Loop if is_open && self.loops < MAX_LOOPS => self.repeat(scope)?,
            Statement::Switch if is_open => self.switch(scope)?,
            Statement::Call if self.may_call() => self.call()?,
            Statement::InterfaceCall if self.may_call() && self.declared.interface.is_some() => {
                self.interface_call()?
            }
            Statement::Discard if self.version.stage == Stage::Pixel => {
                let (token, condition) = self.test(Opcode::Discard)?;
                self.emit(token, vec![condition]);
            }
            Statement::Emission if self.declared.streams.is_some() => self.emission()?,
            // Little happens after the main function returns.
            Statement::Jump if self.has_barriers && !scope.breakable => self.plain()?,
            Statement::Jump if scope.depth != 0 || self.one_in(3)? => return self.jump(scope),
            // Who ends early comes to no barrier.
            Statement::Debug if self.has_model(5, 0) && !self.has_barriers => return self.debug(),
            Statement::Nop => self.emit(OpcodeToken::new(Opcode::Nop), Vec::new()),
            _ => self.plain()?,
        }
        Ok(true)
    }

    /// An opcode with a test, and what it tests: mostly something that differs among invocations.
    pub fn test(&mut self, opcode: Opcode) -> Result<(OpcodeToken, Operand)> {
        let test = if self.u.arbitrary()? { Test::NonZero } else { Test::Zero };
        let token = OpcodeToken::new(opcode).tested(test);
        if self.one_in(4)? {
            return Ok((token, self.scalar(DataClass::Uint)?));
        }
        if self.one_in(3)? {
            return Ok((token, self.small(2)?));
        }
        let comparisons = [Opcode::Lt, Opcode::Ge, Opcode::Eq, Opcode::ILt, Opcode::ULt, Opcode::INe];
        let comparison = *self.u.choose(&comparisons)?;
        let class = comparison.slots()[1].class;
        let (destination, result) = self.scratch()?;
        let operands = vec![destination, self.scalar(class)?, self.scalar(class)?];
        self.emit(OpcodeToken::new(comparison), operands);
        Ok((token, result))
    }

    fn branch(&mut self, scope: Scope) -> Result<()> {
        let (token, condition) = self.test(Opcode::If)?;
        self.emit(token, vec![condition]);
        let scope = Scope { depth: scope.depth + 1, parted: true, ..scope };
        self.block(scope, 6)?;
        if self.u.arbitrary()? {
            self.emit(OpcodeToken::new(Opcode::Else), Vec::new());
            self.block(scope, 6)?;
        }
        self.emit(OpcodeToken::new(Opcode::EndIf), Vec::new());
        Ok(())
    }

    /// A loop, most of them with a counter of their own that nothing else writes.
    fn repeat(&mut self, scope: Scope) -> Result<()> {
        let (register, component) = (self.declared.temps + self.loops / 4, Component::from_bits(self.loops));
        self.loops += 1;
        let (counter, count) = scalar_temp(register, component);
        let is_bounded = !self.one_in(12)?;
        if is_bounded {
            let times = match self.one_in(3)? {
                true => Operand::immediate_words(RegisterFile::Immediate32, &[self.u.int_in_range(0..=4)?]),
                false => self.scalar(DataClass::Uint)?,
            };
            let most = Operand::immediate_words(RegisterFile::Immediate32, &[3]);
            self.emit(OpcodeToken::new(Opcode::And), vec![counter.clone(), times, most]);
        }
        self.emit(OpcodeToken::new(Opcode::Loop), Vec::new());
        if is_bounded {
            self.emit(OpcodeToken::new(Opcode::BreakC).tested(Test::Zero), vec![count.clone()]);
            let minus_one = Operand::immediate_words(RegisterFile::Immediate32, &[u32::MAX]);
            self.emit(OpcodeToken::new(Opcode::IAdd), vec![counter, count, minus_one]);
        }
        self.block(Scope { depth: scope.depth + 1, in_loop: true, breakable: true, parted: true }, 6)?;
        if !is_bounded && !self.one_in(4)? {
            let (token, condition) = self.test(Opcode::BreakC)?;
            self.emit(token, vec![condition]);
        }
        self.emit(OpcodeToken::new(Opcode::EndLoop), Vec::new());
        Ok(())
    }

    fn switch(&mut self, scope: Scope) -> Result<()> {
        let value = self.small(5)?;
        self.emit(OpcodeToken::new(Opcode::Switch), vec![value]);
        let groups = self.u.int_in_range(1..=4)?;
        // The default is at any place, or there is none.
        let default = self.u.int_in_range(0..=groups)?;
        let mut values = Vec::new();
        for group in 0..groups {
            let is_default = group == default;
            for label in 0..self.u.int_in_range(1..=2)? {
                if is_default && label == 0 {
                    self.emit(OpcodeToken::new(Opcode::Default), Vec::new());
                    continue;
                }
                let value = match self.one_in(6)? {
                    true => edge_bits(self.u, Type::I32)? as u32,
                    false => self.u.int_in_range(0..=5)?,
                };
                if !values.contains(&value) {
                    values.push(value);
                    let value = Operand::immediate_words(RegisterFile::Immediate32, &[value]);
                    self.emit(OpcodeToken::new(Opcode::Case), vec![value]);
                }
            }
            self.block(Scope { depth: scope.depth + 1, breakable: true, parted: true, ..scope }, 4)?;
            if group + 1 == groups || !self.one_in(3)? {
                self.emit(OpcodeToken::new(Opcode::Break), Vec::new());
            }
        }
        self.emit(OpcodeToken::new(Opcode::EndSwitch), Vec::new());
        Ok(())
    }

    /// Leaves something, always or where a test holds. Whether what follows can be reached.
    fn jump(&mut self, scope: Scope) -> Result<bool> {
        let mut kinds = Vec::from_iter((!self.has_barriers).then_some((Opcode::Ret, Opcode::RetC)));
        kinds.extend(scope.in_loop.then_some((Opcode::Continue, Opcode::ContinueC)));
        kinds.extend(scope.breakable.then_some((Opcode::Break, Opcode::BreakC)));
        // Returns are the rarer, for little happens after them.
        let kind = self.u.int_in_range(0..=kinds.len() + 1)?.min(kinds.len() - 1);
        let (always, tested) = kinds[kind];
        if scope.depth != 0 && self.one_in(3)? {
            self.emit(OpcodeToken::new(always), Vec::new());
            return Ok(false);
        }
        let (token, condition) = self.test(tested)?;
        self.emit(token, vec![condition]);
        Ok(true)
    }

    /// Help for debuggers, the kind that ends an invocation behind a test.
    fn debug(&mut self) -> Result<bool> {
        if self.u.arbitrary()? {
            self.emit(OpcodeToken::new(Opcode::DebugBreak), Vec::new());
            return Ok(true);
        }
        let (token, condition) = self.test(Opcode::If)?;
        self.emit(token, vec![condition]);
        self.emit(OpcodeToken::new(Opcode::Abort), Vec::new());
        self.emit(OpcodeToken::new(Opcode::EndIf), Vec::new());
        Ok(true)
    }
}
