//! Thread groups: which thread an invocation is, and where a group waits for all of its own.
//!
//! Threads of a group are numbered x first, then y, then z (Direct3D 11.3 functional specification, 7.6). The number is
//! the invocation's; the group's is a row of a uniform space that the call sets for each group.

use shaderjit_ir::function::Imm;
use shaderjit_ir::{FunctionBuilder, Op, Space, SysVal, Type, Value};

use super::Lowering;
use super::registers::{Refusal, limit};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Stage, SyncFlags};
use crate::frontend::sm4::operand::{Component, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;
use crate::frontend::{Interface, UniformDecl, UniformKind};

/// Most threads of a group (Direct3D 11: `D3D11_CS_THREAD_GROUP_MAX_THREADS_PER_GROUP`).
const MAX_THREADS: u64 = 1024;

/// A quotient of two numbers up to [`MAX_THREADS`] is exact if the reciprocal has so many bits behind the point: the
/// error, less than one unit times the dividend, stays below the quotient's distance from the next integer.
const RECIPROCAL_BITS: u32 = 22;

/// The reciprocal of a divisor, rounded up.
fn reciprocal(divisor: u32) -> u32 {
    (1 << RECIPROCAL_BITS) / divisor + u32::from(!divisor.is_power_of_two())
}

/// Threads of a group in x, y and z.
pub(super) fn declare(threads: [u32; 3], interface: &mut Interface) -> Result<(), Refusal> {
    let count = threads.iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
    if count == 0 {
        return Err(Refusal::Invalid("a group without threads".into()));
    }
    limit("number of threads of a group", count, MAX_THREADS)?;
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
            RegisterFile::ThreadIdInGroup => self.thread_in_group(threads, component),
            RegisterFile::ThreadGroupId => self.group_number(component),
            _ => {
                let (in_group, group) = (self.thread_in_group(threads, component), self.group_number(component));
                let size = self.b.i32(threads[component.index()]);
                let first = self.b.imul([group, size]);
                self.b.iadd([first, in_group])
            }
        })
    }

    fn thread_in_group(&mut self, [x, y, z]: [u32; 3], component: Component) -> Value {
        // How many numbers share one of the component, and how many it has.
        let (divisor, count) = match component {
            Component::X => (1, x),
            Component::Y => (x, y),
            _ => (x * y, z),
        };
        if count == 1 {
            return self.b.i32(0);
        }
        let number = self.b.sysval(SysVal::VertexId);
        let quotient = self.quotient(number, divisor);
        if divisor * count == x * y * z {
            return quotient;
        }
        let rest = self.quotient(quotient, count);
        let count = self.b.i32(count);
        let whole = self.b.imul([rest, count]);
        self.b.isub([quotient, whole])
    }

    /// The quotient of a thread's number.
    fn quotient(&mut self, number: Value, divisor: u32) -> Value {
        if divisor == 1 {
            return number;
        }
        let [reciprocal, shift] = [reciprocal(divisor), RECIPROCAL_BITS].map(|word| self.b.i32(word));
        let product = self.b.imul([number, reciprocal]);
        self.b.ushr([product, shift])
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
    use super::*;
    use crate::frontend::sm4::testing::{is_invalid, lower_text};

    #[test]
    fn quotients_of_threads_are_exact() {
        for divisor in 1..=MAX_THREADS as u32 {
            for number in 0..MAX_THREADS as u32 {
                let quotient = number.wrapping_mul(reciprocal(divisor)) >> RECIPROCAL_BITS;
                assert_eq!(quotient, number / divisor, "{number} / {divisor}");
            }
        }
    }

    #[test]
    fn other_stages_have_no_groups() {
        is_invalid("dcl_tgsm_raw g0, 16", "without thread groups");
        is_invalid("dcl_tgsm_structured g1, 4, 4", "g1 is declared in a stage without thread groups");
        is_invalid("sync_g_t", "without thread groups");
        assert!(lower_text("sync_uglobal").is_ok());
    }
}
