//! Instruction selection: batch programs to Cranelift's IR.
//!
//! How a value is held depends on its type and on whether it is uniform:
//!
//! | type | uniform | divergent |
//! | --- | --- | --- |
//! | `f32` | a splat vector | a vector |
//! | `i32` | a scalar, splat where vectors meet it | a vector |
//! | `i1` | a scalar 0 or 1 | a vector of all ones or zero |
//! | `f64` | two scalars, the low and the high word | two vectors of such words |
//! | `row` | four scalars | four vectors, of one word each |
//!
//! Literals are not held at all, but made where they are used.
//!
//! The native function is a loop over waves around the program's blocks: `start → wave → … → wave or done`. What the
//! call computes is in `start`, the program's entry in `wave`; the next wave begins where the program returns. A
//! function that is cut into phases is a loop over tiles of waves around the program's blocks, and each of those
//! several loops over waves.

mod arithmetic;
mod buffer;
mod call_out;
mod coalesce;
mod compile;
mod control;
mod fetch;
mod fuel;
mod guard;
mod isa;
mod lanes;
mod memory;
mod runs;
mod scalar;
mod simd;
mod slots;
mod tile;
mod uniform;
mod value;
mod vector;
mod worklists;

use super::coalesce::{Abilities, Coalescing, Elements};
use super::offsets::{self, OffsetSlots};
use super::outputs::Outputs;
use super::places::Places;
use super::{CodeInfo, Layout, Target};
use crate::error::JitError;
use call_out::Callees;
pub use compile::{Cranelift, text};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::SourceLoc;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::ReservedValue;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use foldhash::HashMap;
pub use isa::Isa;
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::double::is_double_op;
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::texture::Access;
use shaderjit_ir::{Block, Function, Op, Value};
use simd::Simd;
use value::{HeldLiterals, Memo, Parts};

/// How many vertices a round of the loop shades where all is done by rows. More are more code of the same kind, fewer
/// are shaded more slowly.
const ROWS_AT_ONCE: usize = 2;

/// What its vectors can do about memory.
const ABILITIES: Abilities = Abilities { lanes: 4, has_masks: false, gathers: false };

/// Emits the function's code into `output`, which has its signature already. With `origins`, the byte offsets of source
/// instructions are Cranelift's source locations.
fn emit(
    program: &BatchProgram,
    layout: &Layout,
    target: &Target,
    origins: bool,
    output: &mut clif::Function,
    contexts: &mut FunctionBuilderContext,
) -> Result<CodeInfo, JitError> {
    let own = if program.facts.scattered { 16 * offsets::SLOTS } else { 0 };
    let places = Places::new(program, layout, own)?;
    let mut simd = Simd::new(FunctionBuilder::new(output, contexts), target.is_x86());
    // Set before anything reads them.
    let none = clif::Value::reserved_value();
    let [out_of_fuel, block, done] = [(); 3].map(|()| simd.builder.create_block());
    let mut emitter = Emitter {
        program,
        func: &program.func,
        layout,
        coalescing: Coalescing::new(program, ABILITIES),
        simd,
        target,
        values: SecondaryMap::new(),
        blocks: SecondaryMap::with_default(done),
        here: Here::default(),
        held_literals: None,
        fetched: vec![Vec::new(); program.facts.wanted.len() * usize::from(program.vectors)],
        args: none,
        count: none,
        frame: None,
        tile: None,
        phase: None,
        wave: Wave { block, element: none, record: None, strides: Vec::new(), first_rows: Vec::new() },
        spaces: vec![none; program.spaces.len()],
        resources: none,
        scratch: none,
        callees: Callees::default(),
        accesses: Vec::new(),
        guards: None,
        meter: None,
        out_of_fuel,
        done,
        origins,
        step: if program.by_rows { ROWS_AT_ONCE } else { program.wave() },
        places,
    };
    emitter.run()?;
    emitter.simd.builder.seal_all_blocks();
    let Emitter { simd, accesses, places, step, .. } = emitter;
    simd.builder.finalize(target.cranelift().select(false).frontend_config());
    Ok(places.info(program, layout, accesses, step))
}

struct Emitter<'a, 'b> {
    program: &'a BatchProgram,
    func: &'a Function,
    layout: &'a Layout,
    places: Places,
    coalescing: Coalescing<'a>,
    /// How many vertices a round of the native loop shades.
    step: usize,
    simd: Simd<'b>,
    target: &'a Target,
    values: SecondaryMap<Value, Parts>,
    blocks: SecondaryMap<Block, clif::Block>,
    here: Here,
    /// The literals that the loop of a phase holds.
    held_literals: Option<HeldLiterals>,
    /// Words of inputs fetched so far, by element and vector.
    fetched: Vec<Vec<clif::Value>>,
    /// The pointer to [`BatchArgs`](super::abi::BatchArgs).
    args: clif::Value,
    /// Number of elements, 64-bit.
    count: clif::Value,
    /// The frame, if there is any.
    frame: Option<clif::Value>,
    /// The tile, in a function that is cut.
    tile: Option<tile::Tile>,
    /// The phase.
    phase: Option<tile::PhaseLoop>,
    wave: Wave,
    /// First row of each used uniform space.
    spaces: Vec<clif::Value>,
    /// The table of resources.
    resources: clif::Value,
    scratch: clif::Value,
    callees: Callees,
    /// Texture accesses so far.
    accesses: Vec<Access>,
    /// What a wave keeps of guards, if there are any.
    guards: Option<guard::Guards>,
    /// The wave's fuel, if there are loops.
    meter: Option<fuel::Meter>,
    out_of_fuel: clif::Block,
    /// Ends the function.
    done: clif::Block,
    /// Whether code says what it is for.
    origins: bool,
}

/// What has been made so far in the block at hand.
#[derive(Default)]
struct Here {
    /// Whether code is emitted that may not run: what it makes, none behind it has.
    is_aside: bool,
    elements: Elements,
    memo: HashMap<Memo, [clif::Value; 4]>,
    /// Literals that were loaded, and the number of instructions then.
    loaded: HashMap<(clif::Type, u32), (clif::Value, usize)>,
    /// Offsets that differ among lanes.
    offsets: OffsetSlots,
    /// What it sets, by element of the output and vector.
    outputs: Outputs,
}

/// The wave at hand, which begins with a native block and its parameters.
struct Wave {
    block: clif::Block,
    /// Number of the element in its first lane, 64-bit.
    element: clif::Value,
    /// Its record, in phases.
    record: Option<clif::Value>,
    /// Strides of the streams that the loop carries.
    strides: Vec<clif::Value>,
    /// Rows of its first lane in those streams.
    first_rows: Vec<clif::Value>,
}

impl Emitter<'_, '_> {
    /// Vectors that a wave has.
    fn vectors(&self) -> usize {
        usize::from(self.program.vectors)
    }

    /// Says what the next code is for, if that is to be listed.
    fn set_origin(&mut self, origin: Origin) {
        if self.origins {
            self.simd.builder.set_srcloc(origin.offset().map_or_else(SourceLoc::default, SourceLoc::new));
        }
    }

    /// Selects for an instruction that is in no run.
    fn inst(&mut self, inst: &InstData) -> Result<(), JitError> {
        self.set_origin(inst.origin);
        match (inst.op, inst.imm) {
            // Made where it is used.
            (Op::Const, _) => {}
            (Op::Select, _) => self.select(inst),
            (Op::Any, _) => {
                let any = self.any_lane(inst.args[0]);
                self.define_scalar(result(inst), any);
            }
            (Op::GuardOrdered, _) => {
                let vector = self.vector(inst.args[0]);
                self.guard(vector);
            }
            (Op::SlotLoad | Op::SlotStore, Imm::Slot(slot)) => self.slot(inst, slot),
            (Op::CallStore | Op::CallLoad, Imm::Slot(slot)) => self.call_slot(inst, slot),
            (Op::WorklistPush, Imm::Worklist(worklist)) => self.list_wave(worklist, inst.args[0]),
            (Op::WorklistAny, Imm::Worklist(worklist)) => {
                let any = self.take_listed(worklist);
                self.define_scalar(result(inst), any);
            }
            (Op::WorklistEnter, Imm::Nested { worklist, outer }) => self.enter_worklist(worklist, outer),
            (Op::F64join | Op::F64lo | Op::F64hi, _) => self.double_words(inst),
            (Op::Itod | Op::Utod, _) => self.integer_to_double(inst),
            (op, _) if is_double_op(op) => self.call_double(inst)?,
            (Op::Input | Op::InputWord, Imm::Element { element, component }) => self.input(inst, element, component),
            (Op::Sysval, Imm::SysVal(sysval)) => self.sysval(inst, sysval)?,
            (Op::Output, Imm::Element { element, component }) => self.output(inst, element, component)?,
            (Op::UniformLoad | Op::UniformLoadAt, Imm::Row { space, row, component }) => {
                self.uniform_load(inst, space, row, component);
            }
            (Op::ResourceLoad, Imm::ResourceByte { resource, offset }) => self.resource_load(inst, resource, offset),
            (Op::MemoryLoad, Imm::ResourceByte { resource, offset }) => self.resource_load(inst, resource, offset & !3),
            (Op::MemoryStoreMasked, Imm::ResourceByte { resource, offset }) => {
                self.store_words(inst, (resource, offset & !3));
            }
            (Op::ResourceBytes, Imm::Resource(resource)) => self.resource_bytes(inst, resource),
            // Its operands are what its users see of it.
            (Op::RowJoin, _) => {}
            (Op::RowWord, Imm::Component(component)) => self.row_word(inst, component),
            (Op::LanePick, Imm::Picks(picks)) => self.lane_pick(inst, picks),
            _ if let Some(access) = self.program.facts.access(inst) => self.access(inst, access),
            (Op::ArrayLoad, Imm::Array { array, component }) => self.array_load(inst, array, component),
            (Op::ArrayStore | Op::ArrayStoreMasked, Imm::Array { array, component }) => {
                self.array_store(inst, array, component);
            }
            _ => self.arithmetic(inst)?,
        }
        Ok(())
    }
}

fn result(inst: &InstData) -> Value {
    inst.result.expect("the op has a result")
}
