//! Subroutines behind labels, and the functions of classes behind an interface.

use super::Generator;
use super::flow::Scope;
use crate::frontend::sm4::declaration::Interface as InterfaceDeclaration;
use crate::frontend::sm4::operand::Components;
use crate::frontend::sm4::{Declaration, Opcode, OpcodeToken, Operand, RegisterFile};
use arbitrary::Result;

/// An array of interface slots, from slot 0 on.
pub struct Interface {
    /// Length of the array.
    pub slots: u32,
    /// Places that call it: the length of each function table.
    pub sites: u32,
    /// Classes; each has the table of its number.
    pub classes_count: u32,
    /// Function bodies.
    pub bodies: u32,
    /// The instances bound: slot, name, number.
    pub classes: Vec<(u32, String, u32)>,
}

/// Instances of each class, in an array.
pub const INSTANCES: u16 = 2;

/// The name of a class's instances.
pub fn instance_name(class: u32) -> String {
    format!("c{class}")
}

/// Statements of a subroutine at most, and calls among them: all of them are inlined.
const STATEMENTS: u32 = 6;
const CALLS: u32 = 2;

impl Generator<'_, '_> {
    /// Says how many subroutines there are, and declares an interface.
    pub fn declare_subroutines(&mut self) -> Result<()> {
        self.declared.labels = self.u.int_in_range(0..=3)?;
        // Calls deeper than 32 do nothing.
        self.declared.is_chain = self.one_in(30)?;
        if self.declared.is_chain {
            self.declared.labels = 35;
        }
        if !self.has_model(5, 0) || !self.one_in(4)? {
            return Ok(());
        }
        // Something calls it.
        self.declared.labels = self.declared.labels.max(1);
        let bodies = self.u.int_in_range(1..=3)?;
        for body in 0..bodies {
            self.declare_as(Opcode::DclFunctionBody, Declaration::FunctionBody(body));
        }
        let (sites, classes_count) = (self.u.int_in_range(1..=2)?, self.u.int_in_range(1..=2)?);
        for id in 0..classes_count {
            let bodies = (0..sites).map(|_| self.u.int_in_range(0..=bodies - 1)).collect::<Result<_>>()?;
            self.declare_as(Opcode::DclFunctionTable, Declaration::FunctionTable { id, bodies });
        }
        let slots = self.u.int_in_range(1..=3u16)?;
        let declaration = InterfaceDeclaration {
            id: 0,
            dynamic: true,
            call_sites: sites,
            array_length: slots,
            tables: (0..classes_count).collect(),
        };
        self.declare_as(Opcode::DclInterface, Declaration::Interface(Box::new(declaration)));
        let mut classes = Vec::new();
        for slot in 0..u32::from(slots) {
            let class = self.u.int_in_range(0..=classes_count - 1)?;
            classes.push((slot, instance_name(class), self.u.int_in_range(0..=u32::from(INSTANCES) - 1)?));
        }
        self.declared.interface = Some(Interface { slots: slots.into(), sites, classes_count, bodies, classes });
        Ok(())
    }

    /// Everything behind the main function. Labels call those of higher numbers, functions of classes call nothing.
    pub fn subroutines(&mut self) -> Result<()> {
        for label in 0..self.declared.labels {
            self.callable = label + 1..self.declared.labels;
            self.subroutine(RegisterFile::Label, label)?;
        }
        self.callable = 0..0;
        for body in 0..self.declared.interface.as_ref().map_or(0, |interface| interface.bodies) {
            self.subroutine(RegisterFile::FunctionBody, body)?;
        }
        Ok(())
    }

    fn subroutine(&mut self, file: RegisterFile, number: u32) -> Result<()> {
        let label = Operand::new(file, Components::None, vec![(number, None)]);
        self.emit(OpcodeToken::new(Opcode::Label), vec![label]);
        if self.declared.is_chain && file == RegisterFile::Label {
            self.instruction(Opcode::IAdd)?;
            if !self.callable.is_empty() {
                self.callable = number + 1..number + 2;
                self.call()?;
            }
        } else {
            (self.budget, self.calls) = (STATEMENTS, CALLS);
            // Calls may be where not all threads come.
            self.block(Scope::PARTED, STATEMENTS)?;
        }
        self.emit(OpcodeToken::new(Opcode::Ret), Vec::new());
        Ok(())
    }

    /// Whether there is something to call, and the function has not called too much.
    pub fn may_call(&self) -> bool {
        self.calls != 0 && !self.callable.is_empty()
    }

    /// A call of a subroutine, always or where a test holds.
    pub fn call(&mut self) -> Result<()> {
        self.calls = self.calls.saturating_sub(1);
        let number = self.u.int_in_range(self.callable.start..=self.callable.end - 1)?;
        let label = Operand::new(RegisterFile::Label, Components::None, vec![(number, None)]);
        if self.u.arbitrary()? {
            self.emit(OpcodeToken::new(Opcode::Call), vec![label]);
        } else {
            let (token, condition) = self.test(Opcode::CallC)?;
            self.emit(token, vec![condition, label]);
        }
        Ok(())
    }

    /// A call of what is bound to an interface slot, which may be chosen dynamically.
    pub fn interface_call(&mut self) -> Result<()> {
        let Some(&Interface { slots, sites, .. }) = self.declared.interface.as_ref() else { return Ok(()) };
        self.calls -= 1;
        let site = self.u.int_in_range(0..=sites - 1)?;
        let dynamic = self.u.arbitrary()?;
        let slot = self.index(slots, dynamic)?;
        let interface = Operand::new(RegisterFile::Interface, Components::None, vec![(0, None), slot]);
        let site = Operand::immediate_words(RegisterFile::Immediate32, &[site]);
        self.emit(OpcodeToken::new(Opcode::InterfaceCall), vec![interface, site]);
        Ok(())
    }
}
