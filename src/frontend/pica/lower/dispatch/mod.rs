//! Control flow that is too much for a graph: one loop that goes through the program word by word.
//!
//! The function holds the program as a table, in which each lane has its own program counter; address registers and
//! flags are variables, the other registers and the rings cells of arrays. So the code is a few thousand instructions
//! for any program, and every program can be run: recursion, bodies that overlap, 4096 words of arithmetic.
//!
//! | file | what is in it |
//! |---|---|
//! | `table` | words → rows |
//! | `emit` | what only geometry shaders have |
//! | `operands` | a row's sources and destination |
//! | `rings` | the rings, and what they make of the next word |

mod emit;
mod operands;
mod rings;
mod table;

use shaderjit_ir::function::Origin;
use shaderjit_ir::records::Record;
use shaderjit_ir::{Array, Block, FunctionBuilder, Space, Type, Value, Variable};

use self::rings::Rings;
use self::table::{ADDRESS_MASK, ARITHMETIC, CELLS, Field, KIND, ORDERS, Table};
use super::Lowering;
use super::source::Operand;
use crate::error::LowerError;
use crate::frontend::pica::decode::Program;
use crate::frontend::pica::opcode::Opcode;
use crate::frontend::pica::operand::{Address, AddressRegister, Component};
use crate::frontend::{RegisterName, UniformDecl, UniformKind};

/// What the loop runs on.
pub(super) struct Dispatch {
    entry: Address,
    table: Table,
    rows: Space,
    cells: Array,
}

/// The variables of the loop.
struct Machine {
    /// The word that is executed.
    pc: Variable,
    /// The one that comes then.
    next: Variable,
    /// Whether a loop is left by BREAK.
    breaks: Variable,
    rings: Rings,
}

impl Dispatch {
    /// Makes the table.
    ///
    /// # Errors
    ///
    /// As [`lower`](super::lower), for any word that the program gets to, or might if its rings were as needed.
    pub fn new(
        b: &mut FunctionBuilder,
        program: &Program,
        entry: Address,
        is_geometry: bool,
    ) -> Result<Dispatch, LowerError> {
        let table = Table::new(program, entry, is_geometry)?;
        let rows = b.add_space("program", Some(table.rows.clone()));
        Ok(Dispatch { entry, table, rows, cells: b.add_array(CELLS, 1) })
    }

    /// The array of the registers.
    pub fn cells(&self) -> Array {
        self.cells
    }

    /// What its cells are.
    pub fn cell_names(&self) -> Vec<Option<RegisterName>> {
        let name = |file, number, component| Some(RegisterName::numbered(file, number, component));
        let files = ["v", "r", "o"].into_iter();
        files.flat_map(|file| (0..64).map(move |cell| name(file, cell / 4, (cell % 4) as u8))).collect()
    }

    /// The table's space.
    pub fn uniforms(&self) -> UniformDecl {
        UniformDecl::new(self.rows, UniformKind::Table, self.table.rows.len() as u32)
    }
}

impl Lowering<'_> {
    /// Runs the program, and goes on in `exit` with its outputs in their variables.
    pub(super) fn dispatch(&mut self, dispatch: &Dispatch, exit: Block) {
        let machine = Machine {
            pc: self.b.declare_var(Type::I32),
            next: self.b.declare_var(Type::I32),
            breaks: self.b.declare_var(Type::I1),
            rings: Rings::new(&mut self.b, &dispatch.table),
        };
        self.store_inputs(dispatch);
        self.store_state(dispatch);
        let entry = self.b.i32(dispatch.entry.0.into());
        self.b.def_var(machine.pc, entry);

        let [header, arithmetic, control, settle, done] = [(); 5].map(|()| self.b.create_block());
        self.b.jump(header);
        self.b.switch_to_block(header);
        let pc = self.b.use_var(machine.pc);
        self.b.record(Record::BeginWord { word: pc, first: self.program.byte_offset(Address(0)) as u32 });
        let row = [0, 1, 2, 3].map(|c| self.b.uniform_load_at(Type::I32, dispatch.rows, 0, c, pc));
        let (one, no) = (self.b.i32(1), self.b.i1(false));
        let behind = self.b.iadd([pc, one]);
        self.b.def_var(machine.next, behind);
        self.b.def_var(machine.breaks, no);
        let kind = self.field(&row, KIND);
        let first = self.b.i32(ARITHMETIC);
        let is_control = self.b.ult([kind, first]);
        self.b.br_if(is_control, control, arithmetic);
        self.b.seal_block(control);
        self.b.seal_block(arithmetic);

        self.b.switch_to_block(arithmetic);
        self.arithmetic_word(dispatch, &row, kind);
        self.b.jump(settle);

        self.b.switch_to_block(control);
        self.control_word(dispatch, &machine, &row, kind, done);
        self.b.jump(settle);

        self.b.seal_block(settle);
        self.b.switch_to_block(settle);
        self.settle(&machine, behind);
        let next = self.b.use_var(machine.next);
        self.b.def_var(machine.pc, next);
        self.b.jump(header);
        self.b.seal_block(header);

        self.b.seal_block(done);
        self.b.switch_to_block(done);
        self.b.record(Record::Begin(Origin::default()));
        match self.geometry {
            Some(_) => self.load_state(dispatch),
            None => self.load_outputs(dispatch),
        }
        self.b.jump(exit);
    }

    /// A field of a row.
    fn field(&mut self, row: &[Value; 4], field: Field) -> Value {
        let Field { component, shift, bits } = field;
        let mut value = row[usize::from(component)];
        if shift > 0 {
            let shift = self.b.i32(shift);
            value = self.b.ushr([value, shift]);
        }
        if shift + bits < 32 {
            let mask = self.b.i32((1 << bits) - 1);
            value = self.b.and([value, mask]);
        }
        value
    }

    /// Whether a field of one bit is set.
    fn is_set(&mut self, row: &[Value; 4], field: Field) -> Value {
        debug_assert_eq!(field.bits, 1);
        let (mask, zero) = (self.b.i32(1 << field.shift), self.b.i32(0));
        let bit = self.b.and([row[usize::from(field.component)], mask]);
        self.b.ine([bit, zero])
    }

    /// Runs `body` if the condition holds; what it sets are variables.
    fn when(&mut self, condition: Value, body: impl FnOnce(&mut Self)) {
        let [inside, behind] = [(); 2].map(|()| self.b.create_block());
        self.b.br_if(condition, inside, behind);
        self.b.seal_block(inside);
        self.b.switch_to_block(inside);
        body(self);
        self.b.jump(behind);
        self.b.seal_block(behind);
        self.b.switch_to_block(behind);
    }

    /// Runs the arm of the case that `value` is, or none.
    fn choose<T: Copy>(
        &mut self,
        value: Value,
        cases: impl IntoIterator<Item = (u32, T)>,
        mut arm: impl FnMut(&mut Self, T),
    ) {
        let cases: Vec<(u32, T)> = cases.into_iter().collect();
        if cases.is_empty() {
            return;
        }
        let behind = self.b.create_block();
        let blocks: Vec<(u32, Block)> = cases.iter().map(|&(case, _)| (case, self.b.create_block())).collect();
        self.b.switch(value, &blocks, behind);
        for ((_, case), (_, block)) in cases.into_iter().zip(blocks) {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            arm(self, case);
            self.b.jump(behind);
        }
        self.b.seal_block(behind);
        self.b.switch_to_block(behind);
    }

    /// Executes a word of arithmetic.
    fn arithmetic_word(&mut self, dispatch: &Dispatch, row: &[Value; 4], kind: Value) {
        let operands = self.operands(dispatch, row);
        let result = self.zeros();
        let opcodes = (ARITHMETIC..).zip(dispatch.table.opcodes.iter().copied());
        self.choose(kind, opcodes, |this, opcode| match opcode {
            Opcode::Mova => this.mova_word(row, operands[0]),
            Opcode::Cmp => this.compare_word(row, operands[0], operands[1]),
            opcode => {
                let values = this.values(opcode, &operands[..opcode.sources()], Component::ALL);
                for (component, value) in values {
                    this.b.def_var(result[component.index()], value);
                }
            }
        });
        let result = result.map(|variable| self.b.use_var(variable));
        self.store_result(dispatch, row, result);
    }

    /// MOVA: the components of `a0` that the row's mask has.
    fn mova_word(&mut self, row: &[Value; 4], source: Operand) {
        let mask = self.field(row, ADDRESS_MASK);
        let targets = [(Component::X, AddressRegister::X), (Component::Y, AddressRegister::Y)];
        for (component, register) in targets {
            let (bit, zero) = (self.b.i32(1 << component.index()), self.b.i32(0));
            let bit = self.b.and([mask, bit]);
            let is_written = self.b.ine([bit, zero]);
            let (value, old) = (self.truncated(source, component), self.address_register(register));
            let value = self.b.select([is_written, value, old]);
            self.set_address_register(register, value);
        }
    }

    /// CMP: finds the order of the operands, and whether the row's comparison holds for it.
    fn compare_word(&mut self, row: &[Value; 4], s1: Operand, s2: Operand) {
        for (number, component) in [Component::X, Component::Y].into_iter().enumerate() {
            let (a, b) = (self.read(s1, component), self.read(s2, component));
            let orders = [self.b.flt([a, b]), self.b.feq([a, b]), self.b.flt([b, a])];
            let mut order = self.b.i32(1 << orders.len());
            for (bit, holds) in (0..).zip(orders) {
                let bit = self.b.i32(1 << bit);
                order = self.b.select([holds, bit, order]);
            }
            let (wanted, zero) = (self.field(row, ORDERS[number]), self.b.i32(0));
            let found = self.b.and([order, wanted]);
            let holds = self.b.ine([found, zero]);
            let flag = self.registers.flag(&mut self.b, number);
            self.b.def_var(flag, holds);
        }
    }

    /// Four variables that are zero.
    fn zeros(&mut self) -> [Variable; 4] {
        let zero = self.b.f32(0.0);
        std::array::from_fn(|_| {
            let variable = self.b.declare_var(Type::F32);
            self.b.def_var(variable, zero);
            variable
        })
    }
}
