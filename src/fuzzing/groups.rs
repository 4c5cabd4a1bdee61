//! Thread groups on every engine: random functions that write memory and wait for each other. The oracle is one
//! reference interpreter a wave, run barrier by barrier; it knows nothing of cuts. Threads race as they like: effects
//! happen by phase, wave and lane on every engine, so results are the same to the bit.

use super::waves::{Halt, come_together, run_waves};
use crate::error::{CallError, JitError};
use crate::frontend::{ResourceDecl, ResourceFile, ResourceKind};
use crate::jit::{self, Batch, CodegenOptions, Layout, Loops, Scratch, Target};
use crate::memory::{AtomicBuffer, BoundMemory, GroupMemory, MemoryView};
use crate::pipeline::{self, PassOptions};
use crate::texture::{BoundTextures, TexelFormat};
use arbitrary::{Arbitrary, Result, Unstructured};
use shaderjit_ir::fuel::Meter;
use shaderjit_ir::function::{Imm, Origin};
use shaderjit_ir::interp::{Bindings, InterpOptions};
use shaderjit_ir::memory::{AtomicFunction, MemoryKind};
use shaderjit_ir::pass::PassError;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::vm::{self, Bytecode, Machine, PhaseEnd, Shared};
use shaderjit_ir::{Function, FunctionBuilder, Op, Resource, SysVal, Type, Value};

/// Fuel that no case uses up: loops are counted.
const FUEL: u32 = 1 << 30;

/// Where the number of the instance is among a function's values.
const INSTANCE: usize = 2;

/// Words of the buffer, of what is shared, and elements of the typed view.
const WORDS: [u32; 3] = [160, 100, 24];

/// A function, and how many threads a group of it has.
#[derive(Debug)]
pub struct GroupCase {
    func: Function,
    threads: u32,
}

impl<'a> Arbitrary<'a> for GroupCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<GroupCase> {
        let fills_waves: bool = u.arbitrary()?;
        let threads = if fills_waves { 16 * u.int_in_range(1..=4)? } else { u.int_in_range(1..=70)? };
        Ok(GroupCase { func: Generator::function(u, threads)?, threads })
    }
}

/// A function on the way.
struct Generator<'g, 'a> {
    u: &'g mut Unstructured<'a>,
    b: FunctionBuilder,
    /// Buffer, shared memory, texels.
    memory: [Resource; 3],
    /// What can be used here.
    values: Vec<Value>,
    /// What of that follows from the numbers of threads and rounds; it is all that ways and addresses of shared words
    /// are made of, in groups that planning may unroll. Of others nothing is noted.
    known: Option<Vec<Value>>,
    statements: u32,
    barriers: u32,
}

impl<'a> Generator<'_, 'a> {
    fn function(u: &mut Unstructured<'a>, threads: u32) -> Result<Function> {
        let mut b = FunctionBuilder::new("group", 0, 0);
        if u.ratio(3, 4)? {
            b.set_threads(threads);
        }
        let kinds = [MemoryKind::Buffer, MemoryKind::Shared(4 * WORDS[1]), MemoryKind::Texels];
        let memory = kinds.map(|kind| b.add_memory("m", kind));
        let mut values = vec![b.sysval(SysVal::VertexId), b.i32(3)];
        let known = u.arbitrary::<bool>()?.then(|| values.clone());
        // The number of an instance is 0, which nobody knows before.
        let (instance, one) = (b.sysval(SysVal::InstanceId), b.i32(1));
        values.extend([instance, b.iadd([instance, one])]);
        let mut generator = Generator { u, b, memory, values, known, statements: 24, barriers: 0 };
        generator.statements(0, true)?;
        // What is left shows in the buffer.
        let (id, last) = (generator.values[0], *generator.values.last().expect("there are some"));
        generator.store(0, id, last);
        generator.b.ret();
        Ok(generator.b.finish())
    }

    fn value(&mut self) -> Result<Value> {
        Ok(*self.u.choose(&self.values)?)
    }

    /// What a way or an address in shared memory may be made of.
    fn deciding(&mut self) -> Result<Value> {
        match &self.known {
            Some(known) => Ok(*self.u.choose(known)?),
            None => self.value(),
        }
    }

    /// A word's number, at times behind the end.
    fn index(&mut self, memory: usize) -> Result<Value> {
        let value = if memory == 1 { self.deciding()? } else { self.value()? };
        let count = self.b.i32(WORDS[memory] + 2);
        Ok(self.b.urem([value, count]))
    }

    fn byte(&mut self, index: Value) -> Value {
        let two = self.b.i32(2);
        self.b.ishl([index, two])
    }

    fn load(&mut self, memory: usize, index: Value) -> Value {
        let resource = self.memory[memory];
        if memory < 2 {
            let byte = self.byte(index);
            return self.b.memory_load(Type::I32, resource, 0, byte);
        }
        let address = self.b.row_join([index; 4]);
        let row = self.b.texture_access(Op::TexelLoad, &[address], Imm::Resource(resource));
        self.b.row_word(Type::I32, row, 0)
    }

    fn store(&mut self, memory: usize, index: Value, value: Value) {
        let resource = self.memory[memory];
        if memory < 2 {
            let byte = self.byte(index);
            return self.b.memory_store(resource, 0, byte, value);
        }
        let [address, texel] = [index, value].map(|word| self.b.row_join([word; 4]));
        self.b.emit(Op::TexelStore, Type::I32, &[address, texel], Imm::Resource(resource));
    }

    /// The byte where an element begins, as it lies in a structured buffer: numbers of elements mostly rise with those
    /// of threads, and at times have no room.
    fn element(&mut self) -> Result<Value> {
        let id = self.values[0];
        let mut literal = |b: &mut FunctionBuilder, range| Ok(b.i32(self.u.int_in_range(range)?));
        let (few, factor) = (literal(&mut self.b, 0..=40)?, self.u.int_in_range(1..=6)? * 4);
        let number = match self.u.int_in_range(0..=4)? {
            0 => id,
            1 => self.b.iadd([id, few]),
            2 => {
                let (three, seven) = (self.b.i32(3), self.b.i32(7));
                let (row, column) = (self.b.ushr([id, three]), self.b.and([id, seven]));
                let row = self.b.imul([row, few]);
                self.b.iadd([row, column])
            }
            3 => {
                let far = self.b.i32(u32::MAX / factor - 20);
                self.b.iadd([id, far])
            }
            _ => self.deciding()?,
        };
        let most = self.b.i32((u32::MAX - (factor - 1)) / factor);
        let (factor, outside) = (self.b.i32(factor), self.b.i32(u32::MAX));
        let byte = self.b.imul([number, factor]);
        if self.u.arbitrary()? {
            return Ok(byte);
        }
        let exists = self.b.ule([number, most]);
        Ok(self.b.select([exists, byte, outside]))
    }

    /// Loads some words of elements, or stores them.
    fn words(&mut self, memory: usize) -> Result<()> {
        let (resource, address, loads) = (self.memory[memory], self.element()?, self.u.arbitrary()?);
        let first = self.u.int_in_range(0..=4)?;
        for word in first..=first + self.u.int_in_range(0..=3)? {
            if loads {
                let value = self.b.memory_load(Type::I32, resource, 4 * word, address);
                self.values.push(value);
            } else {
                let value = self.value()?;
                self.b.memory_store(resource, 4 * word, address, value);
            }
        }
        Ok(())
    }

    fn atomic(&mut self, memory: usize, index: Value) -> Result<Value> {
        let (resource, function) = (self.memory[memory], *self.u.choose(AtomicFunction::ALL)?);
        let (value, compare) = (self.value()?, self.value()?);
        let values = self.b.row_join([value, compare, value, value]);
        let (op, address) = if memory < 2 {
            (Op::MemoryAtomic, self.byte(index))
        } else {
            (Op::TexelAtomic, self.b.row_join([index; 4]))
        };
        Ok(self.b.texture_access(op, &[address, values], Imm::Atomic { resource, function }))
    }

    fn barrier(&mut self) {
        self.barriers += 1;
        self.b.set_origin(Origin::at(self.barriers as usize));
        self.b.emit(Op::Barrier, Type::I32, &[], Imm::None);
        self.b.set_origin(Origin::default());
    }

    /// Some statements; `uniform` where all threads come, as far as is known before.
    fn statements(&mut self, depth: u32, uniform: bool) -> Result<()> {
        for _ in 0..self.u.int_in_range(1..=7)? {
            if self.statements == 0 {
                return Ok(());
            }
            self.statements -= 1;
            let memory = self.u.int_in_range(0..=2)?;
            match self.u.int_in_range(0..=13)? {
                0 | 1 => {
                    let is_known = self.known.is_some() && self.u.arbitrary()?;
                    let mut operand = || if is_known { self.deciding() } else { self.value() };
                    let (a, b) = (operand()?, operand()?);
                    let op = *self.u.choose(&[Op::Iadd, Op::Imul, Op::Xor, Op::Umin])?;
                    let value = self.b.emit(op, Type::I32, &[a, b], Imm::None).expect("it has a result");
                    self.values.push(value);
                    self.known.iter_mut().filter(|_| is_known).for_each(|known| known.push(value));
                }
                2 | 3 => {
                    let index = self.index(memory)?;
                    let value = self.load(memory, index);
                    self.values.push(value);
                }
                4 | 5 => {
                    let (index, value) = (self.index(memory)?, self.value()?);
                    self.store(memory, index, value);
                }
                6 => {
                    let memory = if self.known.is_some() { memory / 2 * 2 } else { memory };
                    let index = self.index(memory)?;
                    let old = self.atomic(memory, index)?;
                    self.values.push(old);
                }
                10 | 11 => self.words(memory.min(1))?,
                7 | 12 if uniform => self.barrier(),
                8 if uniform && depth < 2 => self.repeat(depth)?,
                _ if depth < 3 => self.branch(depth, uniform)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// How much can be used.
    fn scope(&self) -> [usize; 2] {
        [self.values.len(), self.known.as_ref().map_or(0, Vec::len)]
    }

    /// Forgets what has been made since.
    fn leave(&mut self, [values, known]: [usize; 2]) {
        self.values.truncate(values);
        self.known.iter_mut().for_each(|list| list.truncate(known));
    }

    /// A loop with a small number of rounds.
    fn repeat(&mut self, depth: u32) -> Result<()> {
        let rounds = self.u.int_in_range(1..=3)?;
        let is_known = self.known.is_none() || self.u.arbitrary()?;
        let counter = self.b.declare_var(Type::I32);
        let zero = self.b.i32(0);
        self.b.def_var(counter, zero);
        let (body, done) = (self.b.create_block(), self.b.create_block());
        self.b.jump(body);
        self.b.switch_to_block(body);
        let scope = self.scope();
        let round = self.b.use_var(counter);
        self.values.push(round);
        self.known.iter_mut().filter(|_| is_known).for_each(|known| known.push(round));
        self.statements(depth + 1, true)?;
        self.leave(scope);
        let (one, mut rounds) = (self.b.i32(1), self.b.i32(rounds));
        if !is_known {
            rounds = self.b.iadd([rounds, self.values[INSTANCE]]);
        }
        let next = self.b.iadd([round, one]);
        self.b.def_var(counter, next);
        let again = self.b.ult([next, rounds]);
        self.b.br_if(again, body, done);
        self.b.seal_block(body);
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// A branch on what differs, or on a word that is shared.
    fn branch(&mut self, depth: u32, uniform: bool) -> Result<()> {
        let is_shared = uniform && self.known.is_none() && self.u.ratio(1, 3)?;
        let value = if is_shared {
            let index = self.b.i32(self.u.int_in_range(0..=WORDS[1] - 1)?);
            self.load(1, index)
        } else if self.u.ratio(1, 4)? {
            self.value()?
        } else {
            self.deciding()?
        };
        let one = self.b.i32(1);
        let (bit, zero) = (self.b.emit(Op::And, Type::I32, &[value, one], Imm::None), self.b.i32(0));
        let condition = self.b.ine([bit.expect("it has a result"), zero]);
        let (then, done) = (self.b.create_block(), self.b.create_block());
        self.b.br_if(condition, then, done);
        self.b.seal_block(then);
        self.b.switch_to_block(then);
        let scope = self.scope();
        self.statements(depth + 1, is_shared)?;
        self.leave(scope);
        self.b.jump(done);
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        Ok(())
    }
}

/// What is in memory when two groups have run, or that threads parted.
type Ended = std::result::Result<[Vec<u8>; 2], ()>;

/// Groups of a case.
const GROUPS: u32 = 2;

/// Runs groups with memory of their own.
fn with_memory(run: impl FnOnce(&GroupMemory<'_, '_>) -> std::result::Result<(), ()>) -> Ended {
    let bytes: Vec<u8> = (0..4 * WORDS[0]).map(|byte| ((byte * 37) >> 2) as u8).collect();
    let buffers = [AtomicBuffer::from_bytes(&bytes), AtomicBuffer::zeroed(4 * WORDS[2] as usize)];
    let kinds = [(ResourceFile::UnorderedAccess, 0), (ResourceFile::Shared { bytes: 4 * WORDS[1] }, 1)];
    let kinds = kinds.into_iter().chain([(ResourceFile::UnorderedAccess, 2)]);
    let decl = |(file, slot)| {
        let resource = Resource::from_u32(slot);
        ResourceDecl { resource, file, slot, space: 0, index: None, kind: ResourceKind::RawBuffer, name: None }
    };
    let declared: Vec<ResourceDecl> = kinds.map(decl).collect();
    let (textures, mut views) = (BoundTextures::new(3, 0), BoundMemory::new(3));
    views.bind(0, Some(MemoryView::raw(&buffers[0])));
    views.bind(2, Some(MemoryView::typed(&buffers[1], TexelFormat::R32Uint)));
    let memory = GroupMemory::new(&textures, &views, &declared);
    run(&memory)?;
    Ok(buffers.map(|buffer| buffer.to_bytes()))
}

/// Runs groups one by one.
fn one_by_one(mut group: impl FnMut(&GroupMemory<'_, '_>) -> std::result::Result<(), ()>) -> Ended {
    with_memory(|memory| {
        (0..GROUPS).try_for_each(|_| {
            memory.clear_shared();
            group(memory)
        })
    })
}

/// Numbers of a wave's threads, the last repeated.
fn threads<const L: usize>(case: &GroupCase, first: u32) -> [u32; L] {
    std::array::from_fn(|lane| (first + lane as u32).min(case.threads - 1))
}

/// Halts but for parting are no outcome: there is fuel, and lanes agree.
fn parted(halt: Halt) {
    match halt {
        Halt::Parted => {}
        Halt::Stopped(error) => panic!("{error}"),
    }
}

/// The oracle.
fn reference<const L: usize>(func: &Function, case: &GroupCase) -> Ended {
    let options = InterpOptions { fuel: FUEL.into(), fused: true };
    one_by_one(|memory| {
        let (inputs, uniforms, resources) = (&[], &[], &[&[][..]; 3]);
        let bindings = |first| {
            let vertex_id = threads::<L>(case, first);
            Bindings { inputs, vertex_id, instance_id: 0, uniforms, resources, textures: memory }
        };
        let waves: Vec<_> = (0..case.threads).step_by(L).map(bindings).collect();
        run_waves(func, &waves, &options).map(drop).map_err(parted)
    })
}

/// The fast interpreter.
fn fast(func: &Function, case: &GroupCase, lanes: usize, loops: Loops) -> Ended {
    let code = Bytecode::new(func).expect("what the passes make can be translated");
    one_by_one(|memory| {
        let shared = Shared { uniforms: &[], resources: &[&[][..]; 3], textures: memory };
        let mut waves: Vec<_> = (0..case.threads)
            .step_by(lanes)
            .map(|first| {
                let mut machine = Machine::new(&code, lanes);
                let last = (first + lanes as u32).min(case.threads) - 1;
                machine.set_vertex_id(threads::<{ vm::LANES }>(case, first).map(|thread| thread.min(last)));
                loops.bind(&mut machine, &shared, 0);
                machine.begin_wave();
                (machine, Meter::new(FUEL.into()).expect("there is fuel"), 0)
            })
            .collect();
        loop {
            let mut ends = Vec::new();
            for (machine, meter, place) in &mut waves {
                ends.push(match loops.run_phase(machine, &shared, *place, meter).expect("there is fuel") {
                    PhaseEnd::Return => None,
                    PhaseEnd::Barrier { place: next, offset } => {
                        *place = next;
                        Some(offset)
                    }
                });
            }
            if !come_together(&ends).map_err(parted)? {
                return Ok(());
            }
        }
    })
}

/// Native code; none if it is refused.
fn native(func: &Verified, case: &GroupCase, options: &CodegenOptions, target: &Target) -> Option<Ended> {
    let layout = Layout { inputs: Vec::new().into(), outputs: Vec::new().into() };
    let code = match jit::compile(func, &layout, target, options).and_then(|code| {
        code.check_group(case.threads)?;
        Ok(code)
    }) {
        Ok(code) => code,
        Err(JitError::Limit { .. }) => return None,
        Err(error) => panic!("{error}\n{}", **func),
    };
    let mut scratch = Scratch::default();
    Some(with_memory(|memory| {
        let batch = Batch {
            inputs: &[],
            uniforms: &[],
            resources: &[&[][..]; 3],
            textures: memory,
            count: case.threads,
            first_vertex: 0,
            instance: 0,
            fuel: FUEL.into(),
        };
        let ended = jit::GroupRunner::new(&code, &mut scratch, &batch, None).and_then(|mut groups| {
            (0..GROUPS).try_for_each(|x| groups.add([x, 0, 0]))?;
            groups.run()
        });
        ended.unwrap_or_else(|error: CallError| panic!("{error}"));
        Ok(())
    }))
}

/// Every engine leaves in memory what the oracle does, and threads part on both interpreters or on none.
pub fn groups(case: &GroupCase) {
    let func = match pipeline::run(case.func.clone(), &PassOptions { fused: true, guards: false }, None) {
        Ok(func) => func,
        Err(PassError::DivergentBarrier { .. } | PassError::Limit { .. }) => return,
        Err(error) => panic!("{error}\n{}", case.func),
    };
    let target = Target::host().expect("this machine has native code");
    for lanes in [4, 8, 16u8] {
        let run = [reference::<4>, reference::<8>, reference::<16>][lanes.ilog2() as usize - 2];
        let want = run(&func, case);
        for loops in Loops::available() {
            let got = fast(&func, case, lanes.into(), loops);
            assert!(got == want, "{lanes} lanes, {loops:?}: {got:x?} is not {want:x?}\n{}", *func);
        }
        let widths = [(lanes, 1), (4, lanes / 4)].into_iter().filter(|&(_, vectors)| (1..=2).contains(&vectors));
        for (vector, vectors) in widths.filter(|&(vector, _)| target.lanes().any(|lanes| lanes == vector)) {
            if let Some(got) = native(&func, case, &CodegenOptions { lanes: vector, vectors }, &target) {
                let what = format!("{vectors} vectors of {vector} lanes, {} threads", case.threads);
                assert!(got == want, "{what}: {got:x?} is not {want:x?}\n{}", *func);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::random::random;
    use shaderjit_ir::batch::Pass;

    /// Cases that are counted.
    const CASES: u32 = 1_000;

    /// `ARBTEST_BUDGET_MS` says for how long.
    #[test]
    fn every_engine_does_what_waves_do_barrier_by_barrier() {
        let run = |u: &mut Unstructured<'_>| {
            groups(&u.arbitrary()?);
            Ok(())
        };
        let mut test = arbtest::arbtest(run).size_min(200).size_max(4_000);
        if std::env::var_os("ARBTEST_BUDGET_MS").is_none() {
            test = test.budget_ms(3_000);
        }
        test.run();
    }

    #[test]
    fn cases_have_barriers_and_many_of_them_native_code() {
        let (mut barriers, mut native_code, mut unrolled, mut parted) = (0, 0, 0, 0);
        let target = Target::host().expect("this machine has native code");
        // The same cases each time, and enough of them: waves part in one of a few hundred.
        for seed in 0..CASES {
            let case = GroupCase::arbitrary(&mut Unstructured::new(&random(seed.into(), 4_000))).unwrap();
            let options = PassOptions { fused: true, guards: false };
            let func = pipeline::run(case.func.clone(), &options, None).expect("passes take what is generated");
            parted += u32::from(reference::<4>(&func, &case).is_err());
            if case.func.insts.values().any(|inst| inst.op == Op::Barrier) {
                barriers += 1;
                native_code += u32::from(native(&func, &case, &CodegenOptions::default(), &target).is_some());
                let layout = Layout { inputs: Vec::new().into(), outputs: Vec::new().into() };
                let program = jit::plan(&func, &layout, &CodegenOptions::default(), Pass::LAST);
                unrolled += u32::from(program.is_ok_and(|program| program.is_one_wave()));
            }
        }
        println!("{barriers} of {CASES} have barriers: {native_code} native, {unrolled} unrolled; {parted} part");
        assert!(barriers > CASES / 4 && native_code > barriers / 8 && unrolled > barriers / 32 && parted > 0);
    }
}
