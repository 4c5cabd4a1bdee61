//! Thread groups: which thread an invocation is, and where a group waits for all of its own.
//!
//! A thread's number is the invocation's; the group's is a row of a uniform space that the call sets for each group.

use shaderjit_ir::function::Imm;
use shaderjit_ir::{FunctionBuilder, Op, Space, SysVal, Type, Value};

use super::Lowering;
use super::registers::{Refusal, limit};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Stage, SyncFlags};
use crate::frontend::sm4::operand::{Component, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;
use crate::frontend::{Interface, UniformDecl, UniformKind, threads};

/// Threads of a group in x, y and z.
pub(super) fn declare(threads: [u32; 3], interface: &mut Interface) -> Result<(), Refusal> {
    let count = threads.iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
    if count == 0 {
        return Err(Refusal::Invalid("a group without threads".into()));
    }
    limit("number of threads of a group", count, threads::MAX_THREADS)?;
    match interface.thread_group.replace(threads) {
        Some(_) => Err(Refusal::Invalid("the thread group is declared twice".into())),
        None => Ok(()),
    }
}

/// The uniform space with the group's number.
pub(super) fn space(space: &mut Option<Space>, b: &mut FunctionBuilder, interface: &mut Interface) -> Space {
    *space.get_or_insert_with(|| {
        let space = b.add_space("group", None);
        interface.uniforms.push(UniformDecl::new(space, UniformKind::Group, 1));
        space
    })
}

impl Lowering {
    /// A component of `vThreadID` and its like; zero for those that it does not have.
    pub(super) fn thread(&mut self, file: RegisterFile, component: Component) -> Result<Value, LowerError> {
        let Some(threads) = self.registers.interface.thread_group.filter(|_| self.registers.stage == Stage::Compute)
        else {
            return Err(self.invalid(format!("{} without a thread group", file.letters())));
        };
        if component == Component::W {
            return Ok(self.b.i32(0));
        }
        Ok(match file {
            RegisterFile::ThreadIdInGroupFlattened => self.b.sysval(SysVal::VertexId),
            RegisterFile::ThreadIdInGroup => threads::in_group(&mut self.b, threads, component.index() as u8),
            RegisterFile::ThreadGroupId => self.group_number(component),
            _ => {
                let (in_group, group) =
                    (threads::in_group(&mut self.b, threads, component.index() as u8), self.group_number(component));
                let size = self.b.i32(threads[component.index()]);
                let first = self.b.imul([group, size]);
                self.b.iadd([first, in_group])
            }
        })
    }

    fn group_number(&mut self, component: Component) -> Value {
        let registers = &mut self.registers;
        let space = space(&mut registers.group, &mut self.b, &mut registers.interface);
        self.b.uniform_load(Type::I32, space, 0, component.index() as u8)
    }

    /// Waits for the threads of the group, if that is asked for. Memory is in order as it is: what one thread writes
    /// others see at once.
    pub(super) fn sync(&mut self, token: OpcodeToken) -> Result<(), LowerError> {
        if token.sync().is_some_and(|flags| flags.contains(SyncFlags::THREADS)) {
            if self.registers.stage != Stage::Compute {
                return Err(self.invalid("a barrier of threads in a stage without thread groups"));
            }
            self.b.emit(Op::Barrier, Type::I32, &[], Imm::None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::sm4::testing::{is_invalid, lower_text};

    #[test]
    fn other_stages_have_no_groups() {
        is_invalid("dcl_tgsm_raw g0, 16", "without thread groups");
        is_invalid("dcl_tgsm_structured g1, 4, 4", "g1 is declared in a stage without thread groups");
        is_invalid("sync_g_t", "without thread groups");
        assert!(lower_text("sync_uglobal").is_ok());
    }
}
