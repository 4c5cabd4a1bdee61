//! What loops prefetch. The addresses that phases ask for are found by running what is in front of them on unknown
//! values.

use super::phases::long;
use super::rows::{inputs, outputs, product};
use super::{Case, Rows, compile, lockstep, options, run_native, verified, words};
use crate::jit::limits::CACHED_BYTES;
use crate::jit::{Layout, Target, compile_program, plan};
use crate::vertex_format::VertexFormat;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use shaderjit_ir::batch::{BatchProgram, Pass, Phase};
use shaderjit_ir::function::InstData;
use shaderjit_ir::{FunctionBuilder, Op};
use std::collections::HashMap;

/// Registers and memory that hold distinct values as long as nothing is known of them.
#[derive(Default)]
struct Unknowns {
    registers: HashMap<Register, u64>,
    memory: HashMap<u64, u64>,
    /// Everything that was not known.
    met: Vec<u64>,
}

impl Unknowns {
    fn another(met: &mut Vec<u64>) -> u64 {
        // Numbers that have nothing to do with each other (a step of SplitMix64), each that of a wave's first element.
        let z = (met.len() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        met.push((z ^ z >> 27) & !31);
        met[met.len() - 1]
    }

    fn register(&mut self, register: Register) -> u64 {
        let Unknowns { registers, met, .. } = self;
        match register {
            Register::None => 0,
            _ => *registers.entry(register.full_register()).or_insert_with(|| Unknowns::another(met)),
        }
    }

    fn address(&mut self, inst: &Instruction) -> u64 {
        let scaled = self.register(inst.memory_index()).wrapping_mul(inst.memory_index_scale().into());
        self.register(inst.memory_base()).wrapping_add(scaled).wrapping_add(inst.memory_displacement64())
    }

    fn operand(&mut self, inst: &Instruction, number: u32) -> u64 {
        match inst.op_kind(number) {
            OpKind::Register => self.register(inst.op_register(number)),
            OpKind::Memory => {
                let address = self.address(inst);
                let Unknowns { memory, met, .. } = self;
                *memory.entry(address).or_insert_with(|| Unknowns::another(met))
            }
            _ => inst.immediate(number),
        }
    }

    /// Runs an instruction on general registers; of others nothing is known behind them.
    fn run(&mut self, inst: &Instruction) {
        let last = inst.op_count().saturating_sub(1);
        let value = match inst.mnemonic() {
            Mnemonic::Mov => self.operand(inst, 1),
            Mnemonic::Lea => self.address(inst),
            Mnemonic::Add => self.operand(inst, 0).wrapping_add(self.operand(inst, 1)),
            Mnemonic::Sub => self.operand(inst, 0).wrapping_sub(self.operand(inst, 1)),
            Mnemonic::And => self.operand(inst, 0) & self.operand(inst, 1),
            Mnemonic::Shl => self.operand(inst, 0) << self.operand(inst, 1),
            Mnemonic::Shr => self.operand(inst, 0) >> self.operand(inst, 1),
            Mnemonic::Imul => self.operand(inst, last - 1).wrapping_mul(self.operand(inst, last)),
            _ => Unknowns::another(&mut self.met),
        };
        match (inst.op_count(), inst.op_kind(0)) {
            (1.., OpKind::Register) if inst.op0_register().is_gpr64() => {
                self.registers.insert(inst.op0_register(), value);
            }
            (1.., OpKind::Register) if inst.op0_register().is_gpr32() => {
                self.registers.insert(inst.op0_register().full_register(), value & u64::from(u32::MAX));
            }
            (1.., OpKind::Memory) if inst.mnemonic() == Mnemonic::Mov => {
                let address = self.address(inst);
                self.memory.insert(address, value);
            }
            _ => {}
        }
    }
}

/// Checks what a program's code prefetches by one kind of instruction: phase after phase, all rows of a tile so many
/// vertices on from the one at hand. Says whether it prefetches by it.
fn check(program: &BatchProgram, code: &[u8], kind: Code, ahead: usize) -> bool {
    let is_prefetch = |inst: &Instruction| inst.code() == kind;
    let insts: Vec<Instruction> = Decoder::new(64, code, DecoderOptions::NONE).into_iter().collect();
    let places: Vec<usize> = (0..insts.len()).filter(|&at| is_prefetch(&insts[at])).collect();
    // Those of a phase stand in one loop, which begins with the wave.
    let begin_of = |at: usize| {
        let ip = insts[at].ip();
        let goes_back = |inst: &Instruction| {
            let target = inst.near_branch_target();
            (matches!(inst.op0_kind(), OpKind::NearBranch64) && target <= ip && target > 0).then_some(target)
        };
        let begin = insts[at..].iter().filter_map(goes_back).max().expect("phases are loops");
        insts.iter().position(|inst| inst.ip() == begin).expect("jumps lead to instructions")
    };
    let mut asked = 0;
    for places in places.chunk_by(|&one, &other| begin_of(one) == begin_of(other)) {
        let (begin, first, last) = (begin_of(places[0]), places[0], places[places.len() - 1]);
        let is_around =
            |inst: &Instruction| inst.is_jcc_short_or_near() && inst.near_branch_target() > insts[last].ip();
        assert!(insts[begin..first].iter().any(is_around), "nothing leads around what is prefetched");
        let mut state = Unknowns::default();
        let mut addresses = Vec::new();
        for inst in &insts[begin..=last] {
            match is_prefetch(inst) {
                true => addresses.push(state.address(inst)),
                false => state.run(inst),
            }
        }
        // A row behind the other.
        let stride = addresses[1].wrapping_sub(addresses[0]);
        let rows = (0..).map(|row: u64| addresses[0].wrapping_add(row.wrapping_mul(stride)));
        assert!(rows.zip(&addresses).all(|(row, &address)| row == address), "{addresses:x?}");
        // The first wave's first is as far from where the tile begins as all that phases in front of this one ask for
        // reaches; that of another wave stands behind those of the waves in front of it.
        let known = &state.met;
        assert!(known.contains(&stride), "{stride:x} is none of {known:x?}");
        let (wave, tile) = (program.wave() as u64, (program.tile() * program.wave()) as u64);
        let is_there = |data: u64, element: u64| {
            let in_tile = element % tile;
            let of_waves = in_tile / wave * places.len() as u64;
            let row = element - in_tile + of_waves + (ahead + asked * program.tile()) as u64;
            data.wrapping_add(row.wrapping_mul(stride)) == addresses[0]
        };
        let found = known.iter().any(|&data| known.iter().any(|&element| is_there(data, element)));
        assert!(found, "the first row is not {ahead} vertices ahead: {addresses:x?} of {known:x?}");
        asked += places.len();
    }
    assert!(asked == 0 || program.is_cut() && asked == program.wave(), "{asked} of {} rows a wave", program.wave());
    asked > 0
}

#[test]
fn vertices_of_a_buffer_that_no_cache_holds_are_shaded_alike() {
    let target = Target::host().unwrap();
    let func = long(0);
    let word = |row: usize, component: usize| ((4 * row + component) as u32).wrapping_mul(0x9e37_79b9);
    let row = |number| std::array::from_fn(|component| word(number, component));
    let rows = |count: usize| -> Rows { (0..count).map(row).collect() };
    let inputs = vec![rows(CACHED_BYTES / 16 + 1); 2];
    let large = Case { inputs, uniforms: vec![rows(12)], count: 300, ..Case::new(Vec::new()) };
    let mut small = large.clone();
    small.inputs.iter_mut().for_each(|rows| rows.truncate(300));
    for options in options(&target) {
        let code = compile(&func, &words(&func), &target, &options).unwrap();
        assert_eq!(run_native(&code, &func, &large), run_native(&code, &func, &small));
    }
}

fn is_store(inst: &InstData) -> bool {
    matches!(inst.op, Op::Output | Op::OutputRow)
}

#[test]
fn phases_ask_for_the_rows_of_the_next_tile_and_for_what_this_one_stores() {
    let target = Target::host().unwrap();
    for options in options(&target).filter(|options| options.lanes > 4) {
        let mut cut = 0;
        for seed in 0..24 {
            let func = long(seed);
            let layout = words(&func);
            let program = plan(&verified(&func), &layout, &options, Pass::LAST).unwrap();
            let code = compile_program(&program, &layout, &target).unwrap();
            let tile = program.tile() * program.wave();
            let fetches = check(&program, code.bytes(), Code::Prefetcht0_m8, tile);
            let owns = check(&program, code.bytes(), Code::Prefetchw_m8, 0);
            // Between the first phase and one that stores there may be none that has all waves.
            let stores = |phase: &Phase| phase.blocks.iter().flat_map(|&block| program.insts_in(block)).any(is_store);
            let between = |phases: &[Phase]| phases.iter().skip(1).any(|phase| phase.worklist.is_none());
            let phases = &program.cut.phases;
            let storing = phases.iter().position(stores).unwrap_or(0);
            assert_eq!([fetches, owns], [between(phases), between(&phases[..storing])], "{program}");
            cut += usize::from(fetches && owns);
        }
        assert!(cut > 0, "nothing is prefetched with {} lanes", options.lanes);
    }
}

#[test]
fn loops_that_do_all_by_rows_ask_for_lines_of_later_rounds() {
    let target = Target::host().unwrap();
    // Two streams in and two out are carried in registers, four rows a round; three are looked up, a row for each lane.
    for elements in [2, 3] {
        let mut b = FunctionBuilder::new("transform", elements, elements);
        let space = b.add_space("c", None);
        let position = inputs(&mut b, 0);
        let transformed = product(&mut b, space, &position, false);
        outputs(&mut b, 0, transformed);
        for element in 1..elements {
            let copied = inputs(&mut b, element);
            outputs(&mut b, element, copied);
        }
        b.ret();
        let func = lockstep(b);
        let layout = Layout {
            inputs: vec![VertexFormat::F32x4; elements as usize].into(),
            outputs: [4, 2, 3].into_iter().take(elements as usize).collect(),
        };
        for options in options(&target).filter(|options| options.lanes > 4) {
            let program = plan(&verified(&func), &layout, &options, Pass::LAST).unwrap();
            assert!(program.by_rows, "{program}");
            let code = compile_program(&program, &layout, &target).unwrap();
            let rows = if elements == 2 { 4 } else { u64::from(options.lanes) };
            // Where the elements of rows end that have them side by side.
            for (kind, ends) in [(Code::Prefetcht0_m8, [16, 32, 48]), (Code::Prefetchw_m8, [16, 24, 36])] {
                let insts = Decoder::new(64, code.bytes(), DecoderOptions::NONE).into_iter();
                let asked = insts.filter(|inst| inst.code() == kind).map(|inst| inst.memory_displacement64());
                let begins = [0, ends[0], ends[1]];
                let begin_of = |line: u64| begins[ends.iter().position(|end| rows * end > 64 * line).unwrap()];
                let lines = (rows * ends[elements as usize - 1]).div_ceil(64);
                let expected = (0..lines).map(|line| 512 + 64 * line - begin_of(line));
                assert_eq!(asked.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{kind:?}");
            }
        }
    }
}
