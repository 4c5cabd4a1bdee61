//! Thread groups: what threads are told of themselves, and control flow that all of a group share, with barriers in it.

use super::Generator;
use super::declare::Register;
use super::flow::Scope;
use super::place::scalar_temp;
use crate::frontend::sm4::codes::{Dimension, SyncFlags};
use crate::frontend::sm4::operand::{Component, Components, Mask, Swizzle};
use crate::frontend::sm4::{Declaration, Opcode, OpcodeToken, Operand, RegisterFile, Stage, Test};
use arbitrary::Result;

/// Sizes of groups: less than a wave, whole waves, and what is no multiple of any.
const GROUPS: [[u32; 3]; 10] =
    [[1, 1, 1], [4, 1, 1], [5, 3, 2], [8, 2, 1], [3, 1, 1], [4, 4, 4], [1, 1, 7], [33, 1, 1], [2, 9, 1], [1, 47, 1]];

impl Generator<'_, '_> {
    /// Declares the group and what its threads are told.
    pub fn declare_group(&mut self) -> Result<()> {
        let threads = *self.u.choose(&GROUPS)?;
        self.declare_as(Opcode::DclThreadGroup, Declaration::ThreadGroup(threads));
        for file in [RegisterFile::ThreadId, RegisterFile::ThreadGroupId, RegisterFile::ThreadIdInGroup] {
            if self.u.arbitrary()? {
                self.thread_input(file, Components::Mask(Mask::from_bits(0b111)), Mask::from_bits(0b111));
            }
        }
        self.thread_input(RegisterFile::ThreadIdInGroupFlattened, Components::None, Mask::from_bits(1));
        Ok(())
    }

    fn thread_input(&mut self, file: RegisterFile, components: Components, mask: Mask) {
        let operand = Operand::new(file, components, Vec::new());
        let input = Declaration::Input { operand, interpolation: None, system_value: None };
        self.declare_as(Opcode::DclInput, input);
        self.declared.inputs.push(Register { file, number: None, mask });
    }

    /// Tells threads where memory of their own is: `(number, 16 * number, 0, 0)`.
    pub fn begin_threads(&mut self) {
        if !self.own {
            return;
        }
        let number = RegisterFile::ThreadIdInGroupFlattened;
        let number = Operand::new(number, Components::Select(Component::X), Vec::new());
        let place = Operand::new(RegisterFile::Temp, Components::Mask(Mask::ALL), vec![(self.own_register(), None)]);
        let scale = Operand::immediate_words(RegisterFile::Immediate32, &[1, 16, 0, 0]);
        let null = Operand::new(RegisterFile::Null, Components::None, Vec::new());
        self.emit(OpcodeToken::new(Opcode::IMul), vec![null, place, number, scale]);
    }

    /// A `sync`, which waits for threads only where all come.
    pub fn sync(&mut self, parted: bool) -> Result<()> {
        let flags = [SyncFlags::GROUP_SHARED, SyncFlags::UAV_GROUP, SyncFlags::UAV_GLOBAL, SyncFlags::THREADS];
        let mut token = 0;
        for flag in flags {
            let may = match flag {
                SyncFlags::THREADS => self.has_barriers && !parted,
                SyncFlags::GROUP_SHARED => self.version.stage == Stage::Compute,
                _ => true,
            };
            if may && (flag == SyncFlags::THREADS || self.u.arbitrary()?) {
                token |= flag.bits();
            }
        }
        if token == 0 {
            token = SyncFlags::UAV_GLOBAL.bits();
        }
        self.emit(OpcodeToken::new(Opcode::Sync).waiting(SyncFlags::from_token(token)), Vec::new());
        Ok(())
    }

    /// A branch that all threads of a wave take alike: on a constant, on the group, or on a word that is shared, which
    /// may part the waves of a group.
    pub fn group_branch(&mut self, scope: Scope) -> Result<()> {
        let condition = self.group_value()?;
        let test = if self.u.arbitrary()? { Test::NonZero } else { Test::Zero };
        self.emit(OpcodeToken::new(Opcode::If).tested(test), vec![condition]);
        self.block(scope.together(), 6)?;
        if self.u.arbitrary()? {
            self.emit(OpcodeToken::new(Opcode::Else), Vec::new());
            self.block(scope.together(), 6)?;
        }
        self.emit(OpcodeToken::new(Opcode::EndIf), Vec::new());
        Ok(())
    }

    /// A loop of which all threads of a wave go the same number of rounds.
    pub fn group_loop(&mut self, scope: Scope) -> Result<()> {
        let (register, component) = (self.declared.temps + self.loops / 4, Component::from_bits(self.loops));
        self.loops += 1;
        let (counter, count) = scalar_temp(register, component);
        let words = |word| Operand::immediate_words(RegisterFile::Immediate32, &[word]);
        let rounds = if self.one_in(3)? { self.group_value()? } else { words(self.u.int_in_range(1..=3)?) };
        self.emit(OpcodeToken::new(Opcode::And), vec![counter.clone(), rounds, words(3)]);
        self.emit(OpcodeToken::new(Opcode::Loop), Vec::new());
        self.emit(OpcodeToken::new(Opcode::BreakC).tested(Test::Zero), vec![count.clone()]);
        self.emit(OpcodeToken::new(Opcode::IAdd), vec![counter, count, words(u32::MAX)]);
        self.block(scope.together(), 6)?;
        self.emit(OpcodeToken::new(Opcode::EndLoop), Vec::new());
        Ok(())
    }

    /// One component that is the same in all threads of a wave.
    fn group_value(&mut self) -> Result<Operand> {
        let component = *self.u.choose(&[Component::X, Component::Y, Component::Z])?;
        let shared =
            |memory: &&super::declare::Memory| memory.is_shared && memory.view.dimension == Dimension::RawBuffer;
        let shared = self.declared.memory.iter().find(shared).filter(|_| !self.own).copied();
        let told = self.declared.inputs.iter().any(|input| input.file == RegisterFile::ThreadGroupId);
        match self.u.int_in_range(0..=2)? {
            0 if shared.is_some() => {
                let id = shared.map_or(0, |memory| memory.view.binding.id);
                let byte = Operand::immediate_words(RegisterFile::Immediate32, &[4 * self.u.int_in_range(0..=25)?]);
                let view = Components::Swizzle(Swizzle::IDENTITY);
                let view = Operand::new(RegisterFile::GroupShared, view, vec![(id, None)]);
                let register = self.u.int_in_range(0..=self.declared.temps - 1)?;
                let (destination, value) = scalar_temp(register, Component::X);
                self.emit(OpcodeToken::new(Opcode::LdRaw), vec![destination, byte, view]);
                Ok(value)
            }
            1 if told => Ok(Operand::new(RegisterFile::ThreadGroupId, Components::Select(component), Vec::new())),
            _ if !self.declared.buffers.is_empty() => {
                let number = self.u.choose_index(self.declared.buffers.len())?;
                let buffer = self.declared.buffers[number];
                let mut indices = self.register_of(buffer.binding, false)?;
                indices.push((self.u.int_in_range(0..=buffer.rows - 1)?, None));
                Ok(Operand::new(RegisterFile::ConstantBuffer, Components::Select(component), indices))
            }
            _ => Ok(Operand::immediate_words(RegisterFile::Immediate32, &[self.u.int_in_range(0..=1)?])),
        }
    }
}
