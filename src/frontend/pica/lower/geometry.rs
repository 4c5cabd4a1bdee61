//! Geometry shaders: EMIT, the two banks of outputs, and the state that outlives an invocation.
//!
//! Every word of state is a variable that begins as an input. Beside it go two more, set wherever it is set: what was
//! *stored*, which does not begin as anything, and whether it was *written*. At the end those are the outputs. So an
//! input is read where the program depends on what an earlier invocation left, and nowhere else: once dead code is
//! gone, a function that reads no state can run many invocations side by side, although each of them leaves state
//! behind.
//!
//! EMIT copies the outputs to a vertex buffer and lets the two banks change places. Both only rename variables where
//! SETEMIT's operands are literals, as they are in all tidy code. The end of a triangle appends the three buffers to an
//! array that is kept, at a count that is one more variable: triangles past the array's end are counted and dropped,
//! whatever the program loops over. Where every path emits the same triangles ([`Plan`]), they are outputs instead,
//! which a batch stores where they belong.

use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::{FunctionBuilder, Type, Value, Variable};

use super::Lowering;
use super::names::Names;
use super::plan::{At, Plan};
use super::registers::Registers;
use crate::frontend::geometry::{GeometryInterface, StateRow, TriangleStore};
use crate::frontend::pica::operand::{AddressRegister, Component, Destination};
use crate::frontend::{ComponentType, Element};

/// One register component in each bank or buffer, where it has a variable.
type Bank = [[Option<Variable>; 4]; 16];

/// The variables of a geometry shader that a vertex shader does not have.
pub(super) struct Geometry {
    interface: GeometryInterface,
    /// What goes along with each variable of the state.
    companions: HashMap<Variable, Companion>,
    /// The variables of each row of the state.
    rows: Vec<[Option<Variable>; 4]>,
    /// The output registers that EMIT reads next.
    bank: Bank,
    other_bank: Bank,
    buffers: [Bank; 3],
    /// SETEMIT's operands: buffer, whether a triangle ends, whether it is inverted.
    latch: [Variable; 3],
    /// Triangles so far, where they go to the array.
    count: Variable,
    /// Those that are outputs.
    planned: Option<Planned>,
    /// Whether EMIT was executed an odd number of times.
    parity: Variable,
}

/// Triangles of which it is known when each is emitted.
struct Planned {
    plan: Plan,
    /// Where in the program the next instruction is.
    at: At,
    /// Of each triangle the components of its rows.
    triangles: Vec<Vec<[Option<Variable>; 4]>>,
}

/// What goes along with a variable of the state.
#[derive(Clone, Copy)]
struct Companion {
    /// The same value, but nothing at the start.
    stored: Variable,
    /// Whether it was written.
    written: Variable,
}

impl Geometry {
    /// Makes the variables and lets the state begin as inputs. To be called in the function's first block.
    pub fn begin(b: &mut FunctionBuilder, registers: &mut Registers, names: Names, components: [u8; 16]) -> Geometry {
        let emitted = components.iter().filter(|&&mask| mask != 0);
        let rows = 3 * emitted.clone().count();
        let plan = names.plan.clone().filter(|plan| plan.inverted.len() * rows <= MAX_PLANNED);
        let planned = plan.map(|plan| {
            let mut row = |&mask: &u8| [0, 1, 2, 3].map(|c| (mask >> c & 1 != 0).then(|| b.declare_var(Type::F32)));
            let mut vertex = || emitted.clone().map(&mut row).collect::<Vec<_>>();
            let triangles = plan.inverted.iter().map(|_| [vertex(), vertex(), vertex()].concat()).collect();
            Planned { plan, at: At::default(), triangles }
        });
        let (triangles, capacity) = match &planned {
            Some(Planned { plan, .. }) => (TriangleStore::Outputs(plan.inverted.clone()), plan.inverted.len() as u32),
            None => {
                let array = b.add_kept_array(names.triangles * (1 + rows as u32), 4);
                (TriangleStore::Array(array), names.triangles)
            }
        };
        let mut geometry = Geometry {
            interface: GeometryInterface { triangles, capacity, components, state: Vec::new() },
            companions: HashMap::new(),
            rows: Vec::new(),
            bank: Bank::default(),
            other_bank: Bank::default(),
            buffers: [Bank::default(); 3],
            latch: [Type::I32, Type::I1, Type::I1].map(|ty| b.declare_var(ty)),
            count: b.declare_var(Type::I32),
            parity: b.declare_var(Type::I1),
            planned,
        };
        geometry.declare_rows(b, registers, &names);
        let interface = &geometry.interface;
        let outputs = interface.first_triangle_output() + planned_rows(interface);
        b.set_elements(interface.state_input(interface.state.len()) as u32, outputs as u32);
        geometry.load_state(b);
        geometry
    }

    fn declare_rows(&mut self, b: &mut FunctionBuilder, registers: &mut Registers, names: &Names) {
        let emits = names.emits > 0;
        for number in (0..16).filter(|&number| names.temporaries[usize::from(number)]) {
            let row = Component::ALL.map(|c| Some(registers.temporary(b, number, c)));
            self.add_row(StateRow::Temporary(number), row);
        }
        for number in 0..16u8 {
            let register = usize::from(number);
            let emitted = self.interface.components[register];
            if !(names.outputs[register] || emits && emitted != 0) {
                continue;
            }
            self.bank[register] =
                Component::ALL.map(|c| Some(registers.destination(b, Destination::Output(number), c)));
            self.add_row(StateRow::Output(number), self.bank[register]);
            if emits {
                self.other_bank[register] = [0; 4].map(|_| Some(b.declare_var(Type::F32)));
                self.add_row(StateRow::OtherOutput(number), self.other_bank[register]);
                for buffer in 0..3 {
                    let row = [0, 1, 2, 3].map(|c| (emitted >> c & 1 != 0).then(|| b.declare_var(Type::F32)));
                    self.buffers[buffer][register] = row;
                    if emitted != 0 {
                        self.add_row(StateRow::Vertex { buffer: buffer as u8, register: number }, row);
                    }
                }
            }
        }
        if names.address.contains(&true) {
            let row = [AddressRegister::X, AddressRegister::Y, AddressRegister::Loop]
                .map(|register| names.address[register as usize].then(|| registers.address(b, register)));
            self.add_row(StateRow::Address, [row[0], row[1], row[2], None]);
        }
        if names.flags {
            let row = [0, 1].map(|number| Some(registers.flag(b, number)));
            self.add_row(StateRow::Flags, [row[0], row[1], None, None]);
        }
        if names.latch {
            let [id, ends, inverted] = self.latch.map(Some);
            self.add_row(StateRow::Latch, [id, ends, inverted, None]);
        }
    }

    fn add_row(&mut self, row: StateRow, variables: [Option<Variable>; 4]) {
        self.interface.state.push(row);
        self.rows.push(variables);
    }

    fn load_state(&mut self, b: &mut FunctionBuilder) {
        for (index, row) in self.rows.iter().enumerate() {
            let element = self.interface.state_input(index) as u32;
            for (component, variable) in (0..).zip(row) {
                let Some(variable) = *variable else { continue };
                let ty = b.variable_type(variable);
                let value = match ty {
                    Type::I1 => {
                        let (word, zero) = (b.input(Type::I32, element, component), b.i32(0));
                        b.ine([word, zero])
                    }
                    ty => b.input(ty, element, component),
                };
                b.def_var(variable, value);
                let companion = Companion { stored: b.declare_var(ty), written: b.declare_var(Type::I1) };
                self.companions.insert(variable, companion);
            }
        }
    }

    /// Sets a variable, and what goes along with it if it is one of the state.
    pub fn define(&self, b: &mut FunctionBuilder, variable: Variable, value: Value) {
        b.def_var(variable, value);
        if let Some(companion) = self.companions.get(&variable) {
            b.def_var(companion.stored, value);
            let written = b.i1(true);
            b.def_var(companion.written, written);
        }
    }

    /// What follows are the instructions of a block of the graph.
    pub fn begin_block(&mut self, block: usize) {
        if let Some(planned) = &mut self.planned {
            planned.at = planned.plan.blocks[block];
        }
    }

    /// SETEMIT.
    pub fn set_emit(&mut self, b: &mut FunctionBuilder, vertex: u8, ends: bool, inverted: bool) {
        if let Some(planned) = &mut self.planned {
            planned.at.set(ends, inverted);
        }
        let values = [b.i32(vertex.into()), b.i1(ends), b.i1(inverted)];
        self.set_latch(b, values);
    }

    /// SETEMIT with these operands: the buffer, whether a triangle ends, whether it is inverted.
    pub fn set_latch(&self, b: &mut FunctionBuilder, values: [Value; 3]) {
        for (variable, value) in self.latch.into_iter().zip(values) {
            self.define(b, variable, value);
        }
    }

    /// EMIT.
    pub fn emit(&mut self, b: &mut FunctionBuilder) {
        let id = b.use_var(self.latch[0]);
        for (number, buffer) in (0..).zip(&self.buffers) {
            // There is no buffer 3: what goes there is lost.
            match b.literal(id) {
                Some(literal) if literal != number => continue,
                Some(_) => self.copy(b, None, buffer),
                None => {
                    let literal = b.i32(number as u32);
                    let chosen = b.ieq([id, literal]);
                    self.copy(b, Some(chosen), buffer);
                }
            }
        }
        self.swap_banks(b);
        let parity = b.use_var(self.parity);
        let parity = b.not([parity]);
        b.def_var(self.parity, parity);

        if let Some(Planned { at, triangles, .. }) = &mut self.planned {
            if let Some(number) = at.emit() {
                let rows = self.buffers.iter().flat_map(|buffer| self.interface.registers().map(|n| buffer[n]));
                for (from, to) in rows.zip(&triangles[number]).flat_map(|(from, to)| from.into_iter().zip(*to)) {
                    let (Some(from), Some(to)) = (from, to) else { continue };
                    let value = b.use_var(from);
                    b.def_var(to, value);
                }
            }
            return;
        }
        let ends = b.use_var(self.latch[1]);
        match b.literal(ends) {
            Some(0) => {}
            Some(_) => self.append(b),
            None => {
                let (append, done) = (b.create_block(), b.create_block());
                b.br_if(ends, append, done);
                b.seal_block(append);
                b.switch_to_block(append);
                self.append(b);
                b.jump(done);
                b.seal_block(done);
                b.switch_to_block(done);
            }
        }
    }

    /// Copies the bank to a vertex buffer, if `chosen` holds.
    fn copy(&self, b: &mut FunctionBuilder, chosen: Option<Value>, buffer: &Bank) {
        for (&from, &to) in self.bank.iter().flatten().zip(buffer.iter().flatten()) {
            let (Some(from), Some(to)) = (from, to) else { continue };
            let value = b.use_var(from);
            let Some(chosen) = chosen else {
                self.define(b, to, value);
                continue;
            };
            let old = b.use_var(to);
            let current = b.select([chosen, value, old]);
            b.def_var(to, current);
            let Companion { stored, written } = self.companions[&to];
            let old = b.use_var(stored);
            let copied = b.select([chosen, value, old]);
            b.def_var(stored, copied);
            let before = b.use_var(written);
            let after = b.or([before, chosen]);
            b.def_var(written, after);
        }
    }

    fn swap_banks(&self, b: &mut FunctionBuilder) {
        let mut swap = |one: Variable, other: Variable| {
            let values = (b.use_var(one), b.use_var(other));
            b.def_var(one, values.1);
            b.def_var(other, values.0);
        };
        for (&one, &other) in self.bank.iter().flatten().zip(self.other_bank.iter().flatten()) {
            let (Some(one), Some(other)) = (one, other) else { continue };
            let companions = [one, other].map(|variable| self.companions[&variable]);
            swap(one, other);
            swap(companions[0].stored, companions[1].stored);
            swap(companions[0].written, companions[1].written);
        }
    }

    /// Appends the triangle in the vertex buffers to the array.
    fn append(&self, b: &mut FunctionBuilder) {
        let (TriangleStore::Array(triangles), capacity) = (&self.interface.triangles, self.interface.capacity) else {
            unreachable!("what is planned is not appended")
        };
        let triangles = *triangles;
        let (count, record) = (b.use_var(self.count), b.i32(1 + self.interface.rows() as u32));
        let first = b.imul([count, record]);
        let mut place = 0;
        let mut next = |b: &mut FunctionBuilder| {
            let offset = b.i32(place);
            place += 1;
            b.iadd([first, offset])
        };
        for buffer in &self.buffers {
            for register in self.interface.registers() {
                let element = next(b);
                for (component, variable) in (0..).zip(buffer[register]) {
                    if let Some(variable) = variable {
                        let value = b.use_var(variable);
                        b.array_store(triangles, component, element, value);
                    }
                }
            }
        }
        let (one, zero) = (b.i32(1), b.i32(0));
        let inverted = b.use_var(self.latch[2]);
        let inverted = b.select([inverted, one, zero]);
        let element = next(b);
        b.array_store(triangles, 0, element, inverted);
        // It stays where the first one too many puts it, so that no loop makes it wrap.
        let (count, full) = (b.iadd([count, one]), b.i32(capacity + 1));
        let count = b.umin([count, full]);
        b.def_var(self.count, count);
    }

    /// Sets the output elements.
    pub fn store(&self, b: &mut FunctionBuilder) {
        let count = match &self.planned {
            Some(Planned { triangles, .. }) => b.i32(triangles.len() as u32),
            None => b.use_var(self.count),
        };
        b.output(0, 0, count);
        let parity = b.use_var(self.parity);
        let parity = word_of(b, parity);
        b.output(0, 1, parity);
        let words = self.rows.len().div_ceil(8).next_multiple_of(4);
        let mut written = vec![b.i32(0); words];
        for (index, row) in self.rows.iter().enumerate() {
            let (element, component, first_bit) = GeometryInterface::written_bits(index);
            let word = &mut written[4 * (element - 1) + component];
            for (component, variable) in (0..).zip(row) {
                let Some(variable) = variable else { continue };
                let Companion { stored, written } = self.companions[variable];
                let stored = b.use_var(stored);
                let stored = word_of(b, stored);
                b.output(self.interface.state_output(index) as u32, component, stored);
                let (written, bit, zero) =
                    (b.use_var(written), b.i32(1 << (first_bit + u32::from(component))), b.i32(0));
                let bit = b.select([written, bit, zero]);
                *word = b.or([*word, bit]);
            }
        }
        for (index, word) in (0..).zip(written) {
            b.output(1 + index / 4, (index % 4) as u8, word);
        }
        let rows = self.planned.iter().flat_map(|planned| planned.triangles.iter().flatten());
        for (element, row) in (self.interface.first_triangle_output() as u32..).zip(rows) {
            for (component, variable) in (0..).zip(row) {
                if let Some(variable) = *variable {
                    let value = b.use_var(variable);
                    b.output(element, component, value);
                }
            }
        }
    }

    /// The output registers of the bank that EMIT reads next: number, component.
    pub fn bank(&self) -> impl Iterator<Item = (u8, usize, Variable)> + use<'_> {
        let registers = self.bank.iter().enumerate().flat_map(|(register, row)| {
            row.iter().enumerate().map(move |(component, variable)| (register as u8, component, *variable))
        });
        registers.filter_map(|(register, component, variable)| Some((register, component, variable?)))
    }

    /// The temporaries: number, component.
    pub fn temporaries(&self) -> impl Iterator<Item = (u8, usize, Variable)> + use<'_> {
        let rows = self.interface.state.iter().zip(&self.rows);
        let temporaries = rows.filter_map(|(row, variables)| match *row {
            StateRow::Temporary(number) => Some((number, variables)),
            _ => None,
        });
        let components = temporaries.flat_map(|(number, row)| {
            row.iter().enumerate().map(move |(component, variable)| (number, component, *variable))
        });
        components.filter_map(|(number, component, variable)| Some((number, component, variable?)))
    }

    /// Takes the whole state for written: where it is kept elsewhere meanwhile.
    pub fn write_all(&self, b: &mut FunctionBuilder) {
        for variable in self.rows.iter().flatten().filter_map(|variable| *variable) {
            let value = b.use_var(variable);
            self.define(b, variable, value);
        }
    }

    /// What the caller must know.
    pub fn interface(&self) -> &GeometryInterface {
        &self.interface
    }
}

/// Most output elements that are rows of triangles: values that live until the function's end.
const MAX_PLANNED: usize = 64;

/// Rows of triangles that are outputs.
fn planned_rows(interface: &GeometryInterface) -> usize {
    match &interface.triangles {
        TriangleStore::Outputs(inverted) => inverted.len() * interface.rows(),
        TriangleStore::Array(_) => 0,
    }
}

/// A value as 32 bits.
fn word_of(b: &mut FunctionBuilder, value: Value) -> Value {
    match b.ty(value) {
        Type::I1 => {
            let (one, zero) = (b.i32(1), b.i32(0));
            b.select([value, one, zero])
        }
        _ => value,
    }
}

/// What a function's elements behind `v0` to `v15`, and its outputs, are called.
pub(super) fn elements(interface: &GeometryInterface) -> (Vec<Element>, Vec<Element>) {
    let element = |semantic: String, mask, ty| Element { semantic, index: 0, register: u32::MAX, mask, ty };
    let state = || {
        interface.state.iter().map(|row| match row {
            StateRow::Temporary(n) => element(format!("state r{n}"), 0xf, ComponentType::F32),
            StateRow::Output(n) => element(format!("state o{n}"), 0xf, ComponentType::F32),
            StateRow::OtherOutput(n) => element(format!("state other o{n}"), 0xf, ComponentType::F32),
            StateRow::Vertex { buffer, register } => {
                element(format!("state vertex{buffer} o{register}"), 0xf, ComponentType::F32)
            }
            StateRow::Address => element("state a0 aL".to_string(), 0xf, ComponentType::I32),
            StateRow::Flags => element("state cmp".to_string(), 0xf, ComponentType::U32),
            StateRow::Latch => element("state setemit".to_string(), 0xf, ComponentType::U32),
        })
    };
    let mut outputs = vec![element("triangles".to_string(), 0x3, ComponentType::U32)];
    let written = (0..interface.written_outputs())
        .map(|number| Element { index: number as u32, ..element("written".to_string(), 0xf, ComponentType::U32) });
    outputs.extend(written);
    outputs.extend(state());
    let row = |number| Element { index: number, ..element("triangle row".to_string(), 0xf, ComponentType::F32) };
    outputs.extend((0..planned_rows(interface) as u32).map(row));
    (state().collect(), outputs)
}

impl Lowering<'_> {
    /// Sets a register's variable.
    pub(super) fn define(&mut self, variable: Variable, value: Value) {
        match &self.geometry {
            Some(geometry) => geometry.define(&mut self.b, variable, value),
            None => self.b.def_var(variable, value),
        }
    }
}
