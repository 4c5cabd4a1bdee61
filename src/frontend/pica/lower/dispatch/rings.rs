//! The rings as cells of an array, and the words of control flow.
//!
//! A ring is a row of cells with the newest entry first: pushing moves all of them up and loses the last, popping moves
//! them down. An entry packs its two addresses; that of an empty place matches none. Cells cost nothing where no lane
//! pushes or pops, which variables would: each would travel along every branch of the loop.

use shaderjit_ir::{Array, Block, FunctionBuilder, Type, Value};

use super::table::{Action, BOOL, BOOL_VALUE, END, INT, IS_BOOL, KIND, OTHERWISE, TARGET, TRUTH, Table};
use super::{Dispatch, Machine};
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
    calls: Option<Ring>,
    ifs: Option<Ring>,
    loops: Option<LoopRing>,
}

/// The LOOP ring: the entries, the iterations left of each, and `aL` from before it.
#[derive(Clone, Copy)]
struct LoopRing {
    scopes: Ring,
    left: Ring,
    saved: Ring,
}

/// A row of cells.
#[derive(Clone, Copy)]
struct Ring {
    cells: Array,
    places: u32,
}

impl Ring {
    fn new(b: &mut FunctionBuilder, places: usize) -> Ring {
        let places = places as u32;
        Ring { cells: b.add_array(places, 1), places }
    }

    fn get(self, b: &mut FunctionBuilder, place: u32) -> Value {
        let place = b.i32(place);
        b.array_load(Type::I32, self.cells, 0, place)
    }

    fn set(self, b: &mut FunctionBuilder, place: u32, value: Value) {
        let place = b.i32(place);
        b.array_store(self.cells, 0, place, value);
    }

    fn push(self, b: &mut FunctionBuilder, entry: Value) {
        for place in (1..self.places).rev() {
            let value = self.get(b, place - 1);
            self.set(b, place, value);
        }
        self.set(b, 0, entry);
    }

    fn pop(self, b: &mut FunctionBuilder) {
        for place in 1..self.places {
            let value = self.get(b, place);
            self.set(b, place - 1, value);
        }
        let empty = b.i32(EMPTY);
        self.set(b, self.places - 1, empty);
    }

    fn clear(self, b: &mut FunctionBuilder) {
        let empty = b.i32(EMPTY);
        (0..self.places).for_each(|place| self.set(b, place, empty));
    }
}

impl Rings {
    /// Empty ones.
    pub fn new(b: &mut FunctionBuilder, table: &Table) -> Rings {
        let rings = Rings {
            calls: table.has_call.then(|| Ring::new(b, CALL_RING)),
            ifs: table.has_if.then(|| Ring::new(b, IF_RING)),
            loops: table.has_loop.then(|| {
                let [scopes, left, saved] = [(); 3].map(|()| Ring::new(b, LOOP_RING));
                LoopRing { scopes, left, saved }
            }),
        };
        for ring in [rings.calls, rings.ifs, rings.loops.map(|ring| ring.scopes)].into_iter().flatten() {
            ring.clear(b);
        }
        rings
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
        match (action, rings.calls, rings.ifs, rings.loops) {
            (Action::Jump, ..) => self.b.def_var(machine.next, target),
            (Action::Call, Some(ring), ..) => {
                let end = self.field(row, END);
                let entry = self.entry(end, behind);
                ring.push(&mut self.b, entry);
                self.b.def_var(machine.next, target);
            }
            (Action::If, _, Some(ring), _) => {
                let end = self.field(row, END);
                let entry = self.entry(target, end);
                ring.push(&mut self.b, entry);
            }
            (Action::Loop, .., Some(ring)) => {
                let (int, shift) = (self.field(row, INT), self.b.i32(INT_SHIFT));
                let number = self.b.ishl([int, shift]);
                let start = self.b.or([behind, number]);
                let scope = self.entry(target, start);
                ring.scopes.push(&mut self.b, scope);
                let left = self.int_at(int, Component::X);
                ring.left.push(&mut self.b, left);
                let before = self.address_register(AddressRegister::Loop);
                ring.saved.push(&mut self.b, before);
                let first = self.int_at(int, Component::Y);
                self.set_address_register(AddressRegister::Loop, first);
            }
            (Action::Break, .., Some(ring)) => {
                let is_inside = self.is_entry(ring.scopes, 0);
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

    fn is_entry(&mut self, ring: Ring, place: u32) -> Value {
        let (entry, empty) = (ring.get(&mut self.b, place), self.b.i32(EMPTY));
        self.b.ine([entry, empty])
    }

    fn int_at(&mut self, int: Value, component: Component) -> Value {
        self.b.uniform_load_at(Type::I32, self.spaces.int, 0, component.index() as u8, int)
    }

    /// What the rings make of the word at `behind`, the one behind what was executed: CALL, then IF, then LOOP.
    pub(super) fn settle(&mut self, machine: &Machine, behind: Value) {
        if let Some(ring) = machine.rings.calls {
            self.settle_calls(machine, ring, behind, 1);
        }
        if let Some(ring) = machine.rings.ifs {
            let top = ring.get(&mut self.b, 0);
            let otherwise = self.end_of(top);
            let ends = self.b.ieq([otherwise, behind]);
            self.when(ends, |this| {
                let end = this.rest_of(top, END_SHIFT);
                this.b.def_var(machine.next, end);
                ring.pop(&mut this.b);
            });
        }
        if let Some(ring) = machine.rings.loops {
            let top = ring.scopes.get(&mut self.b, 0);
            let end = self.end_of(top);
            let (ends, breaks) = (self.b.ieq([end, behind]), self.b.use_var(machine.breaks));
            let closes = self.b.or([ends, breaks]);
            self.when(closes, |this| this.settle_loop(machine, ring, top, breaks));
        }
    }

    /// Up to as many returns in a row as the ring has places; the last of them is forgotten.
    fn settle_calls(&mut self, machine: &Machine, ring: Ring, behind: Value, round: u32) {
        let top = ring.get(&mut self.b, 0);
        let end = self.end_of(top);
        let ends = self.b.ieq([end, behind]);
        self.when(ends, |this| {
            ring.pop(&mut this.b);
            if round < ring.places {
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

        let (left, zero, goes_on) = (ring.left.get(&mut self.b, 0), self.b.i32(0), self.b.not([breaks]));
        let is_left = self.b.ine([left, zero]);
        let again = self.b.and([is_left, goes_on]);
        let [round, leave, behind] = [(); 3].map(|()| self.b.create_block());
        self.b.br_if(again, round, leave);
        self.b.seal_block(round);
        self.b.seal_block(leave);

        self.b.switch_to_block(round);
        let one = self.b.i32(1);
        let left = self.b.isub([left, one]);
        ring.left.set(&mut self.b, 0, left);
        let start = self.rest_of(top, INT_SHIFT);
        self.b.def_var(machine.next, start);
        self.b.jump(behind);

        self.b.switch_to_block(leave);
        let end = self.end_of(top);
        self.b.def_var(machine.next, end);
        let (saved, is_nested) = (ring.saved.get(&mut self.b, 0), self.is_entry(ring.scopes, 1));
        let index = self.b.select([is_nested, saved, index]);
        self.set_address_register(AddressRegister::Loop, index);
        for ring in [ring.scopes, ring.left, ring.saved] {
            ring.pop(&mut self.b);
        }
        self.b.jump(behind);

        self.b.seal_block(behind);
        self.b.switch_to_block(behind);
    }
}
