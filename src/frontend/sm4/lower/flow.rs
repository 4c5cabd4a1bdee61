//! Structured control flow → blocks.
//!
//! Blocks are made when an edge to them is, and lie in the function in the order of the program, those of a subroutine
//! where it is called, so that only edges to a loop's start go backwards. Code that nothing reaches makes no blocks;
//! its structure is followed nevertheless, since the end of a dead `if` is not the end of the living one around it.

use std::collections::HashSet;

use shaderjit_ir::records::Record;
use shaderjit_ir::{Block, Function, Value};

use super::call::Activation;
use super::registers::{Flag, limit};
use super::{Lowering, MAX_NESTING, MAX_NESTING_IN_ALL};
use crate::error::LowerError;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Operand, RegisterFile};
use crate::frontend::sm4::token::{OpcodeToken, Test};

/// Where the lowering is in the program's structure.
#[derive(Default)]
pub(super) struct Flow {
    /// The program and the subroutines that have been entered and not left, the innermost last; empty at the end.
    pub activations: Vec<Activation>,
    /// Whether the current block can be reached and still has no end.
    pub live: bool,
    /// Blocks in the order of the program.
    order: Vec<Block>,
}

/// An open construct.
pub(super) struct Frame {
    kind: Kind,
    /// Byte offset of the instruction that opened it.
    pub offset: usize,
}

enum Kind {
    /// One that began in dead code; the opcode that began it, and whether its `else` or `default` has passed.
    Dead { opcode: Opcode, turned: bool },
    /// `if`: where the other arm starts, and the end once there is an `else`.
    If { other: Block, end: Option<Block> },
    /// `loop`.
    Loop { head: Block, end: Block },
    /// `switch`.
    Switch(Switch),
}

struct Switch {
    /// The block that branches; it does so once all cases are known.
    head: Block,
    value: Value,
    cases: Vec<(u32, Block)>,
    /// The values of `cases`.
    values: HashSet<u32>,
    default: Option<Block>,
    /// Where the labels just passed lead, while no instruction has followed them.
    label: Option<Block>,
    end: Block,
}

/// How many blocks an opcode makes at most.
pub(super) fn blocks_of(opcode: Opcode) -> u64 {
    match opcode {
        Opcode::If | Opcode::Loop | Opcode::Switch => 2,
        Opcode::Else | Opcode::Case | Opcode::Default | Opcode::BreakC | Opcode::ContinueC | Opcode::RetC => 1,
        Opcode::Call | Opcode::CallC | Opcode::InterfaceCall => 2,
        _ => 0,
    }
}

impl Flow {
    /// Puts the function's blocks in the order of the program.
    pub fn sort(&self, function: &mut Function) {
        let mut position = vec![u32::MAX; function.blocks.len()];
        for (n, block) in (1..).zip(&self.order) {
            position[block.as_u32() as usize] = n;
        }
        position[function.entry().as_u32() as usize] = 0;
        function.layout.sort_by_key(|block| position[block.as_u32() as usize]);
    }

    /// Notes an instruction: labels of a `switch` share a block only while nothing comes between them.
    pub fn pass(&mut self, opcode: Opcode) {
        if !matches!(opcode, Opcode::Case | Opcode::Default)
            && let Some(Frame { kind: Kind::Switch(switch), .. }) = self.frames().last_mut()
        {
            switch.label = None;
        }
    }

    /// What is being lowered: the program, or a subroutine of it.
    pub fn activation(&mut self) -> &mut Activation {
        self.activations.last_mut().expect("there are instructions only where one has not been left")
    }

    /// Its open constructs, the innermost last.
    fn frames(&mut self) -> &mut Vec<Frame> {
        &mut self.activation().frames
    }

    /// The construct that `break` leaves.
    fn break_target(&mut self) -> Option<Block> {
        self.frames().iter().rev().find_map(|frame| match &frame.kind {
            Kind::Loop { end, .. } | Kind::Switch(Switch { end, .. }) => Some(*end),
            Kind::If { .. } | Kind::Dead { .. } => None,
        })
    }

    /// The start of the innermost loop, through any `switch`.
    fn continue_target(&mut self) -> Option<Block> {
        self.frames().iter().rev().find_map(|frame| match frame.kind {
            Kind::Loop { head, .. } => Some(head),
            _ => None,
        })
    }
}

impl Lowering {
    /// Goes on in a block.
    pub(super) fn start(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.flow.order.push(block);
        self.flow.live = true;
    }

    /// Goes on in a block whose predecessors are all known; if there are none, in dead code.
    pub(super) fn start_joined(&mut self, block: Block) {
        self.b.seal_block(block);
        if self.b.has_predecessors(block) {
            self.start(block);
        }
    }

    /// Leaves the current block, if it has not been left.
    pub(super) fn jump(&mut self, target: Block) {
        if self.flow.live {
            self.b.jump(target);
            self.flow.live = false;
        }
    }

    /// Goes to the target where the test holds, else on.
    fn jump_if(&mut self, token: OpcodeToken, operands: &[Operand], target: Block) -> Result<(), LowerError> {
        self.jump_where(true, token, operands, target)
    }

    /// Goes to the target where the test does not hold, else on.
    pub(super) fn jump_unless(
        &mut self,
        token: OpcodeToken,
        operands: &[Operand],
        target: Block,
    ) -> Result<(), LowerError> {
        self.jump_where(false, token, operands, target)
    }

    /// Goes to the target where the test holds, or does not, else on.
    fn jump_where(
        &mut self,
        holds: bool,
        token: OpcodeToken,
        operands: &[Operand],
        target: Block,
    ) -> Result<(), LowerError> {
        let (is_set, wanted) = self.condition(token, &operands[0])?;
        let next = self.b.create_block();
        match wanted == holds {
            true => self.b.br_if(is_set, target, next),
            false => self.b.br_if(is_set, next, target),
        }
        self.start_joined(next);
        Ok(())
    }

    /// Whether any bit of a condition is set, and whether the test asks for that.
    fn condition(&mut self, token: OpcodeToken, operand: &Operand) -> Result<(Value, bool), LowerError> {
        let value = self.read(operand, Component::X, DataClass::Uint)?;
        let zero = self.b.i32(0);
        let (is_set, wanted) = (self.b.ine([value, zero]), token.test() != Some(Test::Zero));
        self.b.record(Record::Test { value: is_set, holds: wanted });
        Ok((is_set, wanted))
    }

    fn open(&mut self, kind: Kind) -> Result<(), LowerError> {
        let own = self.flow.frames().len() + 1;
        let all = 1 + self.flow.activations.iter().map(|activation| activation.frames.len()).sum::<usize>();
        for (value, max) in [(own, MAX_NESTING), (all, MAX_NESTING_IN_ALL)] {
            let limited = limit("nesting of control flow", value as u64, max as u64);
            limited.map_err(|refusal| refusal.at(self.offset))?;
        }
        let offset = self.offset;
        self.flow.frames().push(Frame { kind, offset });
        Ok(())
    }

    fn unmatched(&self, opcode: Opcode) -> LowerError {
        self.invalid(format!("{opcode} without what it belongs to"))
    }

    /// Lowers an instruction of the flow group.
    pub(super) fn flow(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let opcode = token.opcode;
        match opcode {
            // Structure, which counts in dead code as well.
            Opcode::If | Opcode::Loop | Opcode::Switch if !self.flow.live => {
                self.open(Kind::Dead { opcode, turned: false })?;
            }
            Opcode::If => self.begin_if(token, operands)?,
            Opcode::Else => self.begin_else()?,
            Opcode::EndIf => self.end_if()?,
            Opcode::Loop => self.begin_loop()?,
            Opcode::EndLoop => self.end_loop()?,
            Opcode::Switch => self.begin_switch(operands)?,
            Opcode::Case => self.case(Some(&operands[0]))?,
            Opcode::Default => self.case(None)?,
            Opcode::EndSwitch => self.end_switch()?,

            Opcode::Label => self.label()?,
            _ if !self.flow.live => {}

            Opcode::Break | Opcode::BreakC => {
                let target = self.flow.break_target().ok_or_else(|| self.unmatched(opcode))?;
                self.leave(token, operands, target)?;
            }
            Opcode::Continue | Opcode::ContinueC => {
                let target = self.flow.continue_target().ok_or_else(|| self.unmatched(opcode))?;
                self.leave(token, operands, target)?;
            }
            Opcode::Ret | Opcode::RetC => {
                let exit = self.flow.activation().exit;
                self.leave(token, operands, exit)?;
            }
            Opcode::Call => self.call(&operands[0])?,
            Opcode::CallC => self.call_if(token, operands)?,
            Opcode::InterfaceCall => self.interface_call(&operands[0], &operands[1])?,
            Opcode::Discard => self.discard(token, &operands[0])?,
            Opcode::Nop => {}
            Opcode::Sync => self.sync(token)?,
            Opcode::Emit
            | Opcode::Cut
            | Opcode::EmitThenCut
            | Opcode::EmitStream
            | Opcode::CutStream
            | Opcode::EmitThenCutStream => self.emission(opcode, operands)?,
            _ => return Err(self.unsupported(opcode)),
        }
        Ok(())
    }

    /// Goes to the target, always or where the test holds.
    fn leave(&mut self, token: OpcodeToken, operands: &[Operand], target: Block) -> Result<(), LowerError> {
        match token.test() {
            Some(_) => self.jump_if(token, operands, target)?,
            None => self.jump(target),
        }
        Ok(())
    }

    /// Notes that the invocation is discarded where the test holds. It goes on: its neighbours may want its values, and
    /// nobody else sees them.
    fn discard(&mut self, token: OpcodeToken, operand: &Operand) -> Result<(), LowerError> {
        let Some(Flag { variable, .. }) = self.registers.discarded else {
            return Err(self.invalid("discard in a stage without pixels"));
        };
        let (is_set, wanted) = self.condition(token, operand)?;
        let before = self.b.use_var(variable);
        let one = self.b.i32(1);
        let after = match wanted {
            false => self.b.select([is_set, before, one]),
            true => self.b.select([is_set, one, before]),
        };
        self.b.def_var(variable, after);
        Ok(())
    }

    /// Notes that the invocation is aborted, and ends it, from however many subroutines.
    pub(super) fn abort(&mut self) -> Result<(), LowerError> {
        if !self.flow.live {
            return Ok(());
        }
        let Flag { variable, .. } = self.registers.aborted.expect("a program with an abort has the flag");
        let one = self.b.i32(1);
        self.b.def_var(variable, one);
        let exit = self.flow.activations[0].exit;
        self.jump(exit);
        Ok(())
    }

    fn begin_if(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let other = self.b.create_block();
        self.jump_unless(token, operands, other)?;
        self.open(Kind::If { other, end: None })
    }

    fn begin_else(&mut self) -> Result<(), LowerError> {
        let live = self.flow.live;
        match self.flow.frames().last_mut().map(|frame| &mut frame.kind) {
            Some(Kind::Dead { opcode: Opcode::If, turned: turned @ false }) => *turned = true,
            Some(Kind::If { other, end: end @ None }) => {
                let joined = self.b.create_block();
                *end = Some(joined);
                let other = *other;
                if live {
                    self.jump(joined);
                }
                self.start_joined(other);
            }
            _ => return Err(self.unmatched(Opcode::Else)),
        }
        Ok(())
    }

    fn end_if(&mut self) -> Result<(), LowerError> {
        match self.flow.frames().pop().map(|frame| frame.kind) {
            Some(Kind::Dead { opcode: Opcode::If, .. }) => {}
            Some(Kind::If { other, end }) => {
                // Without an `else`, the other arm starts at the end.
                let end = end.unwrap_or(other);
                self.jump(end);
                self.start_joined(end);
            }
            _ => return Err(self.unmatched(Opcode::EndIf)),
        }
        Ok(())
    }

    fn begin_loop(&mut self) -> Result<(), LowerError> {
        let (head, end) = (self.b.create_block(), self.b.create_block());
        self.jump(head);
        self.start(head);
        self.open(Kind::Loop { head, end })
    }

    fn end_loop(&mut self) -> Result<(), LowerError> {
        match self.flow.frames().pop().map(|frame| frame.kind) {
            Some(Kind::Dead { opcode: Opcode::Loop, .. }) => {}
            Some(Kind::Loop { head, end }) => {
                self.jump(head);
                self.b.seal_block(head);
                self.start_joined(end);
            }
            _ => return Err(self.unmatched(Opcode::EndLoop)),
        }
        Ok(())
    }

    fn begin_switch(&mut self, operands: &[Operand]) -> Result<(), LowerError> {
        let value = self.read(&operands[0], Component::X, DataClass::Int)?;
        let (head, end) = (self.b.current_block(), self.b.create_block());
        self.flow.live = false;
        let (cases, values) = (Vec::new(), HashSet::new());
        self.open(Kind::Switch(Switch { head, value, cases, values, default: None, label: None, end }))
    }

    /// `case` with its value, or `default`. What comes before it falls through.
    fn case(&mut self, value: Option<&Operand>) -> Result<(), LowerError> {
        let value = match value {
            Some(operand) if operand.file() != RegisterFile::Immediate32 => {
                return Err(self.invalid("the value of a case is not an immediate"));
            }
            value => value.and_then(Operand::immediates).map(|words| words[0]),
        };
        let opcode = if value.is_some() { Opcode::Case } else { Opcode::Default };
        let switch = match self.flow.frames().last_mut().map(|frame| &mut frame.kind) {
            Some(Kind::Switch(switch)) => switch,
            Some(Kind::Dead { opcode: Opcode::Switch, turned }) if value.is_some() || !*turned => {
                *turned |= value.is_none();
                return Ok(());
            }
            _ => return Err(self.unmatched(opcode)),
        };
        let repeated = match value {
            Some(value) => !switch.values.insert(value),
            None => switch.default.is_some(),
        };
        if repeated {
            return Err(self.invalid(format!("{opcode} is repeated in its switch")));
        }
        let passed = switch.label;
        let label = passed.unwrap_or_else(|| self.b.create_block());
        switch.label = Some(label);
        match value {
            Some(value) => switch.cases.push((value, label)),
            None => switch.default = Some(label),
        }
        if passed.is_none() {
            self.jump(label);
            self.start(label);
        }
        Ok(())
    }

    fn end_switch(&mut self) -> Result<(), LowerError> {
        match self.flow.frames().pop().map(|frame| frame.kind) {
            Some(Kind::Dead { opcode: Opcode::Switch, .. }) => {}
            Some(Kind::Switch(Switch { head, value, cases, default, end, .. })) => {
                self.jump(end);
                self.b.switch_to_block(head);
                self.b.switch(value, &cases, default.unwrap_or(end));
                let mut labels: Vec<Block> = cases.into_iter().map(|(_, block)| block).chain(default).collect();
                labels.sort_unstable();
                labels.dedup();
                for label in labels {
                    self.b.seal_block(label);
                }
                self.start_joined(end);
            }
            _ => return Err(self.unmatched(Opcode::EndSwitch)),
        }
        Ok(())
    }
}
