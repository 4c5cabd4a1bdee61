//! The rings as variables, and the words of control flow.
//!
//! A ring is a row of registers with the newest entry first: pushing moves all of them up and loses the last, popping moves them
//! down. An entry packs its two addresses; that of an empty place matches none.

use shaderjit_ir::{Block, FunctionBuilder, Type, Value, Variable};

use super::Dispatch;
use super::Machine;
use super::table::{Action, BOOL, BOOL_VALUE, END, INT, IS_BOOL, KIND, OTHERWISE, TARGET, TRUTH, Table};
use crate::frontend::pica::flow::{CALL_RING, IF_RING, LOOP_RING};
use crate::frontend::pica::lower::Lowering;
use crate::frontend::pica::operand::{AddressRegister, Component};

/// An entry that is not there. No word has such an address.
const EMPTY: u32 = u32::MAX;

/// The first bit of the address that is compared with the next word; below it lies where that leads.
const END_SHIFT: u32 = 16;

/// The first bit of a LOOP entry's integer uniform, between the start of its body and its end.
const INT_SHIFT: u32 = 13;

/// The rings that the program uses.
pub(super) struct Rings {
    calls: Option<[Variable; CALL_RING]>,
    ifs: Option<[Variable; IF_RING]>,
    loops: Option<LoopRing>,
}

/// The LOOP ring: the entries, the iterations left of each, and `aL` from before it.
#[derive(Clone, Copy)]
struct LoopRing {
    scopes: [Variable; LOOP_RING],
    left: [Variable; LOOP_RING],
    saved: [Variable; LOOP_RING],
}

fn ring<const N: usize>(b: &mut FunctionBuilder) -> [Variable; N] {
    std::array::from_fn(|_| b.declare_var(Type::I32))
}

fn push<const N: usize>(b: &mut FunctionBuilder, ring: &[Variable; N], entry: Value) {
    for place in (1..N).rev() {
        let value = b.use_var(ring[place - 1]);
        b.def_var(ring[place], value);
    }
    b.def_var(ring[0], entry);
}

fn pop<const N: usize>(b: &mut FunctionBuilder, ring: &[Variable; N]) {
    for place in 1..N {
        let value = b.use_var(ring[place]);
        b.def_var(ring[place - 1], value);
    }
    let empty = b.i32(EMPTY);
    b.def_var(ring[N - 1], empty);
}

impl Rings {
    pub fn new(b: &mut FunctionBuilder, table: &Table) -> Rings {
        Rings {
            calls: table.has_call.then(|| ring(b)),
            ifs: table.has_if.then(|| ring(b)),
            loops: table.has_loop.then(|| LoopRing { scopes: ring(b), left: ring(b), saved: ring(b) }),
        }
    }

    /// Empties them.
    pub fn clear(&self, b: &mut FunctionBuilder) {
        let empty = b.i32(EMPTY);
        let entries = self.calls.iter().flatten().chain(self.ifs.iter().flatten());
        for &entry in entries.chain(self.loops.iter().flat_map(|loops| &loops.scopes)) {
            b.def_var(entry, empty);
        }
    }
}

impl Lowering<'_> {
    /// Executes a word of control flow: sets what comes next and pushes what it opens. Goes to `done` if it is END.
    pub(super) fn control_word(
        &mut self,
        dispatch: &Dispatch,
        machine: &Machine,
        row: &[Value; 4],
        kind: Value,
        done: Block,
    ) {
        let (end, go_on) = (self.b.i32(Action::End as u32), self.b.create_block());
        let is_end = self.b.ieq([kind, end]);
        self.b.br_if(is_end, done, go_on);
        self.b.seal_block(go_on);
        self.b.switch_to_block(go_on);

        let holds = self.test_word(dispatch, row);
        let (kind, otherwise) = (self.field(row, KIND), self.field(row, OTHERWISE));
        let action = self.b.select([holds, kind, otherwise]);
        let actions =
            [Action::Jump, Action::Call, Action::If, Action::Loop, Action::Break, Action::SetEmit, Action::Emit];
        let is_used = |action: &Action| match action {
            Action::Call => dispatch.table.has_call,
            Action::If => dispatch.table.has_if,
            Action::Loop | Action::Break => dispatch.table.has_loop,
            Action::SetEmit | Action::Emit => dispatch.table.has_emit,
            _ => true,
        };
        let actions = actions.into_iter().filter(is_used).map(|action| (action as u32, action));
        self.choose(action, actions, |this, action| match action {
            Action::SetEmit => this.set_emit_word(row),
            Action::Emit => this.emit_word(dispatch),
            action => this.act(machine, action, row),
        });
    }

    /// Whether the row's test holds.
    fn test_word(&mut self, dispatch: &Dispatch, row: &[Value; 4]) -> Value {
        let (zero, one, two) = (self.b.i32(0), self.b.i32(1), self.b.i32(2));
        let [x, y] = [0, 1].map(|number| {
            let flag = self.registers.flag(&mut self.b, number);
            self.b.use_var(flag)
        });
        let (x, y) = (self.b.select([x, one, zero]), self.b.select([y, two, zero]));
        let state = self.b.or([x, y]);
        let truth = self.field(row, TRUTH);
        let truth = self.b.ushr([truth, state]);
        let truth = self.b.and([truth, one]);
        let holds = self.b.ine([truth, zero]);
        if !dispatch.table.has_bool {
            return holds;
        }
        let mask = self.b.uniform_load(Type::I32, self.spaces.bool, 0, 0);
        let (number, wanted) = (self.field(row, BOOL), self.field(row, BOOL_VALUE));
        let bit = self.b.ushr([mask, number]);
        let bit = self.b.and([bit, one]);
        let (is_wanted, is_bool) = (self.b.ieq([bit, wanted]), self.is_set(row, IS_BOOL));
        self.b.select([is_bool, is_wanted, holds])
    }

    fn act(&mut self, machine: &Machine, action: Action, row: &[Value; 4]) {
        let target = self.field(row, TARGET);
        let behind = self.b.use_var(machine.next);
        let rings = &machine.rings;
        match (action, &rings.calls, &rings.ifs, &rings.loops) {
            (Action::Jump, ..) => self.b.def_var(machine.next, target),
            (Action::Call, Some(ring), ..) => {
                let end = self.field(row, END);
                let entry = self.entry(end, behind);
                push(&mut self.b, ring, entry);
                self.b.def_var(machine.next, target);
            }
            (Action::If, _, Some(ring), _) => {
                let end = self.field(row, END);
                let entry = self.entry(target, end);
                push(&mut self.b, ring, entry);
            }
            (Action::Loop, .., Some(ring)) => {
                let (int, shift) = (self.field(row, INT), self.b.i32(INT_SHIFT));
                let number = self.b.ishl([int, shift]);
                let start = self.b.or([behind, number]);
                let scope = self.entry(target, start);
                push(&mut self.b, &ring.scopes, scope);
                let left = self.int_at(int, Component::X);
                push(&mut self.b, &ring.left, left);
                let before = self.address_register(AddressRegister::Loop);
                push(&mut self.b, &ring.saved, before);
                let first = self.int_at(int, Component::Y);
                self.set_address_register(AddressRegister::Loop, first);
            }
            (Action::Break, .., Some(ring)) => {
                let is_inside = self.is_entry(ring.scopes[0]);
                self.b.def_var(machine.breaks, is_inside);
            }
            _ => {}
        }
    }

    /// An entry from the address that is compared with the next word, and the rest.
    fn entry(&mut self, end: Value, rest: Value) -> Value {
        let shift = self.b.i32(END_SHIFT);
        let end = self.b.ishl([end, shift]);
        self.b.or([end, rest])
    }

    /// The address of an entry that is compared with the next word.
    fn end_of(&mut self, entry: Value) -> Value {
        let shift = self.b.i32(END_SHIFT);
        self.b.ushr([entry, shift])
    }

    /// The low bits of an entry.
    fn rest_of(&mut self, entry: Value, bits: u32) -> Value {
        let mask = self.b.i32((1 << bits) - 1);
        self.b.and([entry, mask])
    }

    fn is_entry(&mut self, place: Variable) -> Value {
        let (entry, empty) = (self.b.use_var(place), self.b.i32(EMPTY));
        self.b.ine([entry, empty])
    }

    fn int_at(&mut self, int: Value, component: Component) -> Value {
        self.b.uniform_load_at(Type::I32, self.spaces.int, 0, component.index() as u8, int)
    }

    /// What the rings make of the word at `behind`, the one behind what was executed: CALL, then IF, then LOOP.
    pub(super) fn settle(&mut self, machine: &Machine, behind: Value) {
        if let Some(ring) = &machine.rings.calls {
            self.settle_calls(machine, ring, behind, 1);
        }
        if let Some(ring) = &machine.rings.ifs {
            let top = self.b.use_var(ring[0]);
            let otherwise = self.end_of(top);
            let ends = self.b.ieq([otherwise, behind]);
            self.when(ends, |this| {
                let end = this.rest_of(top, END_SHIFT);
                this.b.def_var(machine.next, end);
                pop(&mut this.b, ring);
            });
        }
        if let Some(ring) = machine.rings.loops {
            let top = self.b.use_var(ring.scopes[0]);
            let end = self.end_of(top);
            let (ends, breaks) = (self.b.ieq([end, behind]), self.b.use_var(machine.breaks));
            let closes = self.b.or([ends, breaks]);
            self.when(closes, |this| this.settle_loop(machine, ring, top, breaks));
        }
    }

    /// Up to as many returns in a row as the ring has places; the last of them is forgotten.
    fn settle_calls(&mut self, machine: &Machine, ring: &[Variable; CALL_RING], behind: Value, round: usize) {
        let top = self.b.use_var(ring[0]);
        let end = self.end_of(top);
        let ends = self.b.ieq([end, behind]);
        self.when(ends, |this| {
            pop(&mut this.b, ring);
            if round < CALL_RING {
                let back = this.rest_of(top, END_SHIFT);
                this.b.def_var(machine.next, back);
                this.settle_calls(machine, ring, back, round + 1);
            }
        });
    }

    /// The end of the innermost loop's body, or a BREAK out of it.
    fn settle_loop(&mut self, machine: &Machine, ring: LoopRing, top: Value, breaks: Value) {
        let (shift, bits) = (self.b.i32(INT_SHIFT), self.b.i32(3));
        let int = self.b.ushr([top, shift]);
        let int = self.b.and([int, bits]);
        let (before, increment) = (self.address_register(AddressRegister::Loop), self.int_at(int, Component::Z));
        let index = self.b.iadd([before, increment]);
        self.set_address_register(AddressRegister::Loop, index);

        let (left, zero, goes_on) = (self.b.use_var(ring.left[0]), self.b.i32(0), self.b.not([breaks]));
        let is_left = self.b.ine([left, zero]);
        let again = self.b.and([is_left, goes_on]);
        let [round, leave, behind] = [(); 3].map(|()| self.b.create_block());
        self.b.br_if(again, round, leave);
        self.b.seal_block(round);
        self.b.seal_block(leave);

        self.b.switch_to_block(round);
        let one = self.b.i32(1);
        let left = self.b.isub([left, one]);
        self.b.def_var(ring.left[0], left);
        let start = self.rest_of(top, INT_SHIFT);
        self.b.def_var(machine.next, start);
        self.b.jump(behind);

        self.b.switch_to_block(leave);
        let end = self.end_of(top);
        self.b.def_var(machine.next, end);
        let (saved, is_nested) = (self.b.use_var(ring.saved[0]), self.is_entry(ring.scopes[1]));
        let index = self.b.select([is_nested, saved, index]);
        self.set_address_register(AddressRegister::Loop, index);
        for ring in [&ring.scopes, &ring.left, &ring.saved] {
            pop(&mut self.b, ring);
        }
        self.b.jump(behind);

        self.b.seal_block(behind);
        self.b.switch_to_block(behind);
    }
}
