//! Instruction selection, register allocation and encoding for x86-64 with AVX2 or AVX-512: batch programs to machine
//! code, eight or sixteen lanes a vector.
//!
//! `table` is every machine instruction, a line each; `encode` makes bytes of one. `code` is code over virtual
//! registers, which `simd` builds idiom by idiom and everything else here selects; `allocate` gives it registers,
//! `finish` a frame, an order of blocks, and bytes.
//!
//! How a value is held depends on its type and on whether it is uniform:
//!
//! | type | uniform | divergent |
//! | --- | --- | --- |
//! | `f32` | a vector, the same in all lanes | a vector |
//! | `i32` | a general register, splat where vectors meet it | a vector |
//! | `i1` | a general register, 0 or 1 | AVX2: a vector of all ones or zero; AVX-512: a mask register |
//! | `f64` | two general registers, the low and the high word | two vectors, each with half of the lanes |
//! | `row` | four general registers | four vectors, of one word each |
//!
//! Literals and most slots of the call are not held at all, but operands in memory. What branches would have to pass on
//! and hardly any code looks at lies in the frame or among the arguments: fuel, guards, worklists.
//!
//! The native function is a loop over waves around the program's blocks: `start → wave → … → wave or done`. What the
//! call computes is in `start`, the program's entry in `wave`; the next wave begins where the program returns. A
//! function that is cut into phases is a loop over tiles of waves around the program's blocks, and each of those
//! several loops over waves.

mod allocate;
mod arithmetic;
mod bounded;
mod buffer;
mod call_out;
mod coalesce;
mod code;
mod constants;
mod control;
mod double;
mod elements;
mod encode;
mod fetch;
mod finish;
mod fuel;
mod guard;
mod lanes;
mod leaders;
mod logic;
mod memory;
mod near;
mod patterns;
mod pick;
mod pinned;
mod prefetch;
mod reciprocal;
mod runs;
mod scalar;
mod simd;
mod slots;
mod table;
mod tile;
mod truncate;
mod uniform;
mod value;
mod vector;
mod worklists;

use super::back_end::{BackEnd, Origins, Selected, contained};
use super::coalesce::{Abilities, Coalescing, Elements};
use super::offsets::{self, OffsetSlots};
use super::outputs::Outputs;
use super::places::Places;
use super::{CodeInfo, Layout, Target, limits};
use crate::error::JitError;
use allocate::Allocator;
use code::{Address, BlockId, Code};
use cranelift_entity::SecondaryMap;
use encode::Size;
use finish::Finished;
use foldhash::{HashMap, HashSet};
use regalloc2::VReg;
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::double::is_double_op;
use shaderjit_ir::function::{Imm, InstData, Origin};
use shaderjit_ir::set::EntitySet;
use shaderjit_ir::texture::Access;
use shaderjit_ir::{Block, Function, Op, Space, Value};
use simd::Simd;
use smallvec::SmallVec;
use std::cell::RefCell;
use value::{Memo, Parts};

/// What the machine must have beside x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// AVX2, FMA, BMI1, BMI2, LZCNT and POPCNT: eight lanes.
    Avx2,
    /// AVX-512 F, VL, DQ, BW and CD as well: sixteen lanes.
    Avx512 {
        /// Whether its instructions that gather and scatter words are quicker than one access after the other. On AMD's
        /// processors they are not.
        gathers: bool,
        /// Whether its units do 512 bits in halves, as Zen 4's do. There the divider, which takes six cycles, is
        /// quicker than multiplications that give a reciprocal.
        halves: bool,
    },
}

impl Level {
    /// The size of vectors.
    fn size(self) -> Size {
        match self {
            Level::Avx2 => Size::Y,
            Level::Avx512 { .. } => Size::Z,
        }
    }

    /// Lanes of a vector.
    pub fn lanes(self) -> u8 {
        self.size().bytes() as u8 / 4
    }

    /// Whether there are registers of masks.
    fn has_masks(self) -> bool {
        matches!(self, Level::Avx512 { .. })
    }

    /// Whether words at addresses of lanes' own are accessed by one instruction.
    fn gathers(self) -> bool {
        matches!(self, Level::Avx512 { gathers: true, .. })
    }

    /// Whether units do its vectors in halves.
    fn has_halves(self) -> bool {
        matches!(self, Level::Avx512 { halves: true, .. })
    }

    /// What its vectors can do about memory.
    fn abilities(self) -> Abilities {
        Abilities { lanes: self.lanes(), has_masks: self.has_masks(), gathers: self.gathers() }
    }
}

/// The back end for machines that have a level of vectors.
pub struct X64(pub Level);

impl BackEnd for X64 {
    fn compile(&self, program: &BatchProgram, layout: &Layout, _target: &Target) -> Result<Selected, JitError> {
        let (info, finished) = contained(|| self.build(program, layout, false))?;
        Ok(Selected { bytes: finished.bytes, stack_bytes: u64::from(finished.stack_bytes), info })
    }

    fn origins(&self, program: &BatchProgram, layout: &Layout, _target: &Target) -> Result<Origins, JitError> {
        Ok(contained(|| self.build(program, layout, true))?.1.origins)
    }
}

/// Working memory, which is dear to make anew for each small function.
#[derive(Default)]
struct Workspace {
    code: Code,
    values: SecondaryMap<Value, Parts>,
    slots: SecondaryMap<Value, Option<Address>>,
    allocator: Allocator,
}

impl Workspace {
    /// Is ready for a function.
    fn prepare(&mut self, func: &Function) {
        self.code.clear();
        self.values.clear();
        self.values.resize(func.values.len());
        self.slots.clear();
        self.slots.resize(func.values.len());
    }
}

thread_local! {
    static WORKSPACE: RefCell<Option<Box<Workspace>>> = const { RefCell::new(None) };
}

impl X64 {
    fn build(&self, program: &BatchProgram, layout: &Layout, origins: bool) -> Result<(CodeInfo, Finished), JitError> {
        let mut workspace = WORKSPACE.take().unwrap_or_default();
        workspace.prepare(program);
        let mut selector = Selector::new(program, layout, self.0, origins, &mut workspace)?;
        selector.run()?;
        let Selector { simd, values, slots, accesses, places, passed, step, .. } = selector;
        (workspace.code, workspace.values, workspace.slots) = (simd.code, values, slots);
        let output = workspace.allocator.run(&workspace.code, self.0.size())?;
        let finished = finish::finish(&workspace.code, output, self.0.size(), passed);
        if workspace.code.insts.len() <= limits::KEPT_MACHINE_INSTS {
            WORKSPACE.set(Some(workspace));
        }
        Ok((places.info(program, layout, accesses, step), finished))
    }
}

/// Where things are in what the back end has for itself of the frame.
#[derive(Clone, Copy, Default)]
struct Own {
    offsets: i32,
    failed: i32,
    left: i32,
    least: i32,
    spent: i32,
    stopped: i32,
    members: i32,
    /// All of it, a multiple of 16.
    bytes: usize,
}

impl Own {
    fn new(program: &BatchProgram, level: Level) -> Own {
        let mut own = Own::default();
        let mut place = |bytes: usize| {
            let at = own.bytes;
            own.bytes += bytes;
            at as i32
        };
        let offsets = place(if program.facts.scattered { offsets::SLOTS * level.size().bytes() as usize } else { 0 });
        let is_needed = program.facts.guards || program.facts.pays || program.is_cut();
        let word = if is_needed { 4 } else { 0 };
        let [failed, left, least] = [(); 3].map(|()| place(word));
        // To a multiple of 8.
        place(word);
        let [spent, stopped] = [(); 2].map(|()| place(2 * word));
        let lists = program.cut.worklists as usize;
        let members = place(if lists > 0 { worklists::MEMBERS * (lists + 1) } else { 0 });
        let bytes = own.bytes.next_multiple_of(16);
        Own { offsets, failed, left, least, spent, stopped, members, bytes }
    }
}

struct Selector<'a> {
    program: &'a BatchProgram,
    func: &'a Function,
    layout: &'a Layout,
    places: Places,
    own: Own,
    /// How many vertices a round of the native loop shades.
    step: usize,
    simd: Simd,
    values: SecondaryMap<Value, Parts>,
    /// Values that are read where they are used.
    slots: SecondaryMap<Value, Option<Address>>,
    coalescing: Coalescing<'a>,
    /// The doubles whose bits code may see.
    seen_doubles: EntitySet<Value>,
    blocks: SecondaryMap<Block, u32>,
    here: Here,
    /// Words of inputs fetched so far, by element and vector.
    fetched: Vec<Option<[VReg; 4]>>,
    /// The pointer to [`BatchArgs`](super::abi::BatchArgs).
    args: VReg,
    /// Number of elements, 64-bit.
    count: VReg,
    frame: VReg,
    /// The tile, in a function that is cut.
    tile: Option<tile::Tile>,
    /// The phase.
    phase: Option<tile::PhaseLoop>,
    wave: Wave,
    /// First row of each used uniform space.
    spaces: Vec<VReg>,
    /// The table of resources.
    resources: VReg,
    scratch: VReg,
    /// Texture accesses so far.
    accesses: Vec<Access>,
    /// Bytes of the stack that calls pass operands in.
    passed: u32,
    guards: guard::Guards,
    pins: pinned::Pins,
    out_of_fuel: BlockId,
    /// Ends the function.
    done: BlockId,
    /// Whether code says what it is for.
    origins: bool,
}

/// What has been made so far in the block at hand.
#[derive(Default)]
struct Here {
    memo: HashMap<Memo, [VReg; 4]>,
    patterns: patterns::Patterns,
    bounded: bounded::Bounded,
    leaders: leaders::Leaders,
    elements: Elements,
    /// Loads of slots that are operands in memory.
    near_loads: HashSet<Value>,
    /// Slots of the call that it has just loaded.
    call_slots: SmallVec<[slots::LoadedSlot; 4]>,
    /// Offsets that differ among lanes.
    offsets: OffsetSlots,
    /// What it sets, by element of the output and vector.
    outputs: Outputs,
    /// The components that it loads of a space's rows, by row and index.
    components: HashMap<(Space, u32, Value), u8>,
}

/// The wave at hand, which begins with a native block and its parameters.
struct Wave {
    block: BlockId,
    /// Number of the element in its first lane, 64-bit; how many elements are left, if the loop
    /// [counts down](Selector::counts_down).
    element: VReg,
    /// Its record, in phases.
    record: Option<VReg>,
    /// Strides of the streams that the loop carries.
    strides: SmallVec<[fetch::Stride; 4]>,
    /// Rows of its first lane in those streams.
    first_rows: SmallVec<[VReg; 4]>,
}

/// What the loop over waves begins a round with: the element, the record, and rows of the streams.
type WaveArgs = SmallVec<[VReg; 8]>;

impl<'a> Selector<'a> {
    fn new(
        program: &'a BatchProgram,
        layout: &'a Layout,
        level: Level,
        origins: bool,
        workspace: &mut Workspace,
    ) -> Result<Selector<'a>, JitError> {
        let own = Own::new(program, level);
        let places = Places::new(program, layout, own.bytes)?;
        let mut simd = Simd { code: std::mem::take(&mut workspace.code), level, pinned: Vec::new() };
        // Set before anything reads them.
        let none = VReg::invalid();
        let (block, done, out_of_fuel) = (simd.code.block(), simd.code.block(), simd.code.cold_block());
        Ok(Selector {
            program,
            func: &program.func,
            layout,
            own,
            step: fetch::step(program, level),
            simd,
            values: std::mem::take(&mut workspace.values),
            slots: std::mem::take(&mut workspace.slots),
            coalescing: Coalescing::new(program, level.abilities()),
            seen_doubles: double::seen_doubles(program),
            blocks: SecondaryMap::with_default(done.0),
            here: Here::default(),
            fetched: vec![None; program.facts.wanted.len() * usize::from(program.vectors)],
            args: none,
            count: none,
            frame: none,
            tile: None,
            phase: None,
            wave: Wave { block, element: none, record: None, strides: SmallVec::new(), first_rows: SmallVec::new() },
            spaces: vec![none; program.spaces.len()],
            resources: none,
            scratch: none,
            accesses: Vec::new(),
            passed: 0,
            guards: guard::Guards::default(),
            pins: pinned::Pins::new(program, level),
            out_of_fuel,
            done,
            origins,
            places,
        })
    }

    /// Vectors that a wave has.
    fn vectors(&self) -> usize {
        usize::from(self.program.vectors)
    }

    /// Says what the next code is for, if that is to be listed.
    fn set_origin(&mut self, origin: Origin) {
        if self.origins {
            self.simd.code.origin = origin.offset().map_or(0, |offset| offset.saturating_add(1));
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
            (op, _) if is_double_op(op) => self.double(inst)?,
            (Op::Input | Op::InputWord, Imm::Element { element, component }) => self.input(inst, element, component),
            (Op::Sysval, Imm::SysVal(sysval)) => self.sysval(inst, sysval)?,
            (Op::Output, Imm::Element { element, component }) => self.output(inst, element, component)?,
            (Op::UniformLoad | Op::UniformLoadAt, Imm::Row { space, row, component }) => {
                self.uniform_load(inst, space, row, component);
            }
            (Op::ResourceLoad, Imm::ResourceByte { resource, offset }) => self.resource_load(inst, resource, offset),
            (Op::MemoryLoad, Imm::ResourceByte { resource, offset }) => self.resource_load(inst, resource, offset & !3),
            (Op::MemoryStoreMasked, Imm::ResourceByte { resource, offset }) => {
                self.memory_store(inst, resource, offset & !3);
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
