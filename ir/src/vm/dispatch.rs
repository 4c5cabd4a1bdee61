//! The loop that does one instruction after the other.

use super::bytecode::{Code, Instruction};
use super::memory::{self, Shared};
use super::run::{Machine, WAVES};
use super::{LANES, Register};
use crate::eval::{Lanes, compare, f, for_each_plain_op, has_edge, map1, map2, map3, quad};
use crate::float;
use crate::fuel::{Meter, Stop};
use crate::op::Op;

/// The waves that go on together.
pub(super) struct Together<'m, 'f> {
    /// Number of all waves, those that stand elsewhere included.
    pub waves: usize,
    /// All ones in their lanes. The lanes behind those of the last wave follow it.
    pub mask: Register,
    /// What each wave pays with; none for those that stand elsewhere.
    pub meters: [Option<&'m mut Meter<'f>>; WAVES],
}

/// The operands of a plain op, by their number.
macro_rules! operands {
    ($registers:ident, $inst:ident, $a:ident) => {
        let $a = $registers[$inst.a as usize].0;
    };
    ($registers:ident, $inst:ident, $a:ident, $b:ident) => {
        operands!($registers, $inst, $a);
        let $b = $registers[$inst.b as usize].0;
    };
    ($registers:ident, $inst:ident, $a:ident, $b:ident, $c:ident) => {
        operands!($registers, $inst, $a, $b);
        let $c = $registers[$inst.c as usize].0;
    };
}

macro_rules! define {
    ($( $op:ident($($operand:ident),*) => $result:expr; )*) => {
        impl Machine<'_> {
            /// Does instructions up to the end of a block behind which waves may part, and gives its place. If it is
            /// `MASKED`, only the lanes of the mask get results, and it looks that way at every end of a block, because
            /// other waves may wait behind it.
            #[inline(always)]
            pub(super) fn go<const FMA: bool, const MASKED: bool>(
                &mut self,
                code: &[Instruction],
                from: u32,
                shared: &Shared<'_>,
                together: &mut Together<'_, '_>,
            ) -> Result<usize, Stop> {
                let registers = &mut self.registers[..];
                let mask = together.mask.0;
                let mut at = from as usize;
                while let Some(inst) = code.get(at) {
                    let result: Lanes<LANES> = match inst.code {
                        // Each stores its result itself: so it never leaves the machine's registers.
                        $( Code::Plain(Op::$op) => {
                            operands!(registers, inst, $($operand),*);
                            store::<MASKED>(&mut registers[inst.d as usize].0, $result, mask);
                            at += 1;
                            continue;
                        } )*
                        // Bytecode has no others.
                        Code::Plain(_) => [0; LANES],
                        Code::Move => registers[inst.a as usize].0,
                        Code::Any if self.lanes == 4 => any::<4>(&registers[inst.a as usize].0),
                        Code::Any if self.lanes == 8 => any::<8>(&registers[inst.a as usize].0),
                        Code::Any => any::<LANES>(&registers[inst.a as usize].0),
                        Code::UniformLoad => shared.uniform_words(inst, &registers[inst.a as usize].0),
                        Code::ResourceLoad => shared.resource_words(inst, &registers[inst.a as usize].0),
                        Code::MemoryLoad => shared.memory_words(inst, &registers[inst.a as usize].0),
                        Code::MemoryStore => {
                            let [address, values, stored] =
                                [inst.a, inst.c, inst.d].map(|register| &registers[register as usize].0);
                            // Lanes behind the last wave's repeat that.
                            let (place, used) = (self.code.stores[inst.b as usize], together.waves * self.lanes);
                            let stored = map2(*stored, mask, select);
                            shared.store_words(place, address, values, &stored[..used]);
                            at += 1;
                            continue;
                        }
                        Code::ResourceBytes => [shared.readable(inst.b).len() as u32; LANES],
                        Code::ArrayLoad => self.arrays.load(inst.b, &registers[inst.a as usize].0),
                        Code::ArrayStore => {
                            let [index, values] = [inst.a, inst.c].map(|register| &registers[register as usize].0);
                            self.arrays.store(inst.b, index, values, &mask);
                            at += 1;
                            continue;
                        }
                        Code::ArrayStoreMasked => {
                            let [index, values, stored] =
                                [inst.a, inst.c, inst.d].map(|register| &registers[register as usize].0);
                            self.arrays.store(inst.b, index, values, &map2(*stored, mask, select));
                            at += 1;
                            continue;
                        }
                        Code::Double => {
                            let op = &self.code.doubles[inst.a as usize];
                            let words = memory::compute(op, registers);
                            for (&register, word) in op.result.iter().zip(words).take(op.words) {
                                store::<MASKED>(&mut registers[register as usize].0, word, mask);
                            }
                            at += 1;
                            continue;
                        }
                        Code::Access => {
                            let access = &self.code.accesses[inst.a as usize];
                            let words = memory::access_all(access, registers, self.lanes, together, shared.textures);
                            for (&register, word) in access.result.iter().zip(words).take(access.words) {
                                store::<MASKED>(&mut registers[register as usize].0, word, mask);
                            }
                            at += 1;
                            continue;
                        }
                        Code::Guard => {
                            let operand = registers[inst.a as usize].0;
                            let unordered = map2(operand, mask, |bits, mask| u32::from(f(bits).is_nan()) & mask);
                            self.unordered.0 = map2(self.unordered.0, unordered, |all, new| all | new);
                            at += 1;
                            continue;
                        }
                        _ if MASKED => return Ok(at),
                        Code::Jump => {
                            if inst.c > 0 {
                                for meter in together.meters.iter_mut().flatten() {
                                    meter.pay(inst.c)?;
                                }
                            }
                            at = inst.a as usize;
                            continue;
                        }
                        Code::Branch => {
                            let condition = &registers[inst.a as usize].0;
                            let first = condition[0] != 0;
                            if wave_firsts(condition).any(|lane| (lane != 0) != first) {
                                return Ok(at);
                            }
                            at = if first { inst.b } else { inst.c } as usize;
                            continue;
                        }
                        Code::Switch => {
                            let value = &registers[inst.a as usize].0;
                            if wave_firsts(value).any(|lane| lane != value[0]) {
                                return Ok(at);
                            }
                            at = self.code.switches[inst.b as usize].target(value[0]) as usize;
                            continue;
                        }
                        Code::Barrier | Code::Return => return Ok(at),
                    };
                    store::<MASKED>(&mut registers[inst.d as usize].0, result, mask);
                    at += 1;
                }
                Ok(at)
            }
        }
    };
}
for_each_plain_op!(define);

/// A value where the mask is not zero, else zero.
#[inline(always)]
fn select(mask: u32, value: u32) -> u32 {
    if mask != 0 { value } else { 0 }
}

/// Stores in a register, if it is `MASKED` in the lanes of the mask.
#[inline(always)]
fn store<const MASKED: bool>(register: &mut Lanes<LANES>, value: Lanes<LANES>, mask: Lanes<LANES>) {
    *register = if MASKED { map3(value, *register, mask, |new, old, mask| new & mask | old & !mask) } else { value };
}

/// The first lanes of all waves but the first, and of the waves that there would be if they had four lanes.
#[inline(always)]
fn wave_firsts(lanes: &Lanes<LANES>) -> impl Iterator<Item = u32> {
    (1..WAVES).map(|wave| lanes[wave * (LANES / WAVES)])
}

/// Whether the operand holds in any lane of each wave, in all its lanes.
#[inline(always)]
fn any<const L: usize>(operand: &Lanes<LANES>) -> Lanes<LANES> {
    let mut result = [0; LANES];
    for (to, from) in result.as_chunks_mut::<L>().0.iter_mut().zip(operand.as_chunks::<L>().0) {
        *to = [u32::from(from.iter().fold(0, |any, lane| any | lane) != 0); L];
    }
    result
}
