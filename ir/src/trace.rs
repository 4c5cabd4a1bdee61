//! SIMT execution with the smallest program counter first: runs a function of one invocation for several side by side,
//! each with a program counter of its own, and tells somebody what one of them does.
//!
//! The lanes whose next instruction is the first in the layout run it, so lanes that have parted meet again where their
//! ways do. What an instruction does is the [reference](crate::interp)'s to say; here is only which lanes do it, and
//! what passes between the pixels of a quad. It is slow and plain, and needs no pass: the function is as its front end
//! made it, with the [records](crate::records) that say what it is in the source program.

use crate::entity::{Array, Block, Inst, Value};
use crate::eval::eval;
use crate::fuel::{EdgeCosts, Stop};
use crate::function::{Function, InstData, Operands};
use crate::interp::{Bindings, InterpError, InterpOptions, Interpreter, Run};
use crate::op::{Effect, Memory, Op};
use crate::records::{Record, Records};
use crate::set::EntitySet;
use cranelift_entity::SecondaryMap;

/// Who is told what a lane does.
pub trait Observer {
    /// A record holds from here on. `bits` are those of the value that it names, 0 if it names none.
    fn record(&mut self, record: &Record, bits: u64);

    /// An instruction has been run. Rows have four words, doubles two, other values one.
    fn inst(&mut self, inst: &InstData, operands: &[[u32; 4]], result: [u32; 4]);

    /// An edge is taken.
    fn edge(&mut self, from: Block, to: Block, is_backwards: bool);
}

/// Where a lane is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before an instruction of a block.
    At { block: Block, inst: usize },
    /// At a barrier; behind it is the next instruction of a block.
    Barrier { barrier: Inst, block: Block, inst: usize },
    /// The invocation has ended.
    Ended,
}

/// How all lanes have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All have ended.
    Return,
    /// All are at this barrier.
    Barrier(Inst),
    /// They are not at the same one, or some have ended.
    Parted(Inst),
}

/// Several invocations of a function, which a wave runs side by side.
pub struct Invocations<'f> {
    func: &'f Function,
    records: &'f Records,
    lanes: Vec<(Interpreter<'f, 1>, Place)>,
    /// How many lanes have an invocation of their own. Those behind it only fill a quad up, and write nothing.
    own: usize,
    /// The number of each block in the layout.
    position: SecondaryMap<Block, u32>,
    costs: EdgeCosts,
    /// What each lane of a quad has, whichever of them run the code; empty in functions without derivatives.
    everywhere: EntitySet<Value>,
    /// Gives every NaN that arithmetic makes the same bits, as
    /// [`canonicalize_nans`](crate::arbitrary::canonicalize_nans) does.
    #[cfg(any(test, feature = "arbitrary"))]
    pub canonical_nans: bool,
}

/// Bytes that a lane keeps, roughly: whoever runs many of them asks.
pub fn bytes_of_lane(func: &Function) -> usize {
    // A value is words, and where they are.
    let values: usize = func.values.values().map(|value| 4 + 4 * value.ty.words() as usize).sum();
    let cells = func.arrays.values().map(|array| array.elements as usize * usize::from(array.components));
    cells.fold(values, |bytes, cells| bytes.saturating_add(cells.saturating_mul(4)))
}

impl<'f> Invocations<'f> {
    /// Prepares to run so many lanes, of which `own` have invocations of their own.
    pub fn new(func: &'f Function, records: &'f Records, lanes: usize, own: usize) -> Invocations<'f> {
        let mut position = func.block_map();
        for (number, &block) in (0..).zip(&func.layout) {
            position[block] = number;
        }
        let lane = |_| (Interpreter::with_costs(func, EdgeCosts::default()), Place::Ended);
        let (costs, everywhere) = (EdgeCosts::new(func), seen_everywhere(func));
        Invocations {
            func,
            records,
            lanes: (0..lanes).map(lane).collect(),
            own,
            position,
            costs,
            everywhere,
            #[cfg(any(test, feature = "arbitrary"))]
            canonical_nans: false,
        }
    }

    /// Begins a run: arrays and outputs are zero.
    ///
    /// # Errors
    /// The call is to end.
    pub fn begin<'a>(&mut self, options: &InterpOptions<'a>) -> Result<Run<'a>, Stop> {
        let mut first = None;
        for (lane, place) in &mut self.lanes {
            let run = lane.begin(options).map_err(|error| match error {
                InterpError::Stopped(stop) => stop,
                other => unreachable!("nothing has run yet: {other}"),
            })?;
            first.get_or_insert(run);
            *place = Place::At { block: self.func.entry(), inst: 0 };
        }
        Ok(first.expect("there is a lane"))
    }

    /// Goes on with all lanes up to a barrier or their ends. `bindings` has an entry a lane; `watched` is a lane and
    /// who is told what it does.
    ///
    /// # Errors
    /// There was no more fuel, or the call is to end.
    ///
    /// # Panics
    /// If fewer inputs, uniform spaces or resources are bound than the function declares.
    pub fn run_until_barrier(
        &mut self,
        run: &mut Run<'_>,
        bindings: &[Bindings<'_, 1>],
        options: &InterpOptions<'_>,
        mut watched: Option<(usize, &mut dyn Observer)>,
    ) -> Result<End, Stop> {
        for (_, place) in &mut self.lanes {
            if let Place::Barrier { block, inst, .. } = *place {
                *place = Place::At { block, inst };
            }
        }
        while let Some((block, inst)) = self.first() {
            let place = Place::At { block, inst };
            let active: Vec<usize> = (0..self.lanes.len()).filter(|&lane| self.lanes[lane].1 == place).collect();
            let watched = match &mut watched {
                Some((lane, observer)) if active.contains(lane) => Some((*lane, &mut **observer as &mut dyn Observer)),
                _ => None,
            };
            self.run_block(run, (block, inst), &active, bindings, options, watched)?;
        }
        let end = self.end();
        if end == End::Return {
            run.end()?;
        }
        Ok(end)
    }

    /// The place of those lanes that run next.
    fn first(&self) -> Option<(Block, usize)> {
        let places = self.lanes.iter().filter_map(|&(_, place)| match place {
            Place::At { block, inst } => Some((block, inst)),
            _ => None,
        });
        places.min_by_key(|&(block, inst)| (self.position[block], inst))
    }

    /// How all lanes have stopped.
    fn end(&self) -> End {
        let barrier = |&(_, place): &(_, Place)| match place {
            Place::Barrier { barrier, .. } => Some(barrier),
            _ => None,
        };
        match self.lanes.iter().find_map(barrier) {
            None => End::Return,
            Some(at) if self.lanes.iter().all(|lane| barrier(lane) == Some(at)) => End::Barrier(at),
            Some(at) => End::Parted(at),
        }
    }

    /// Runs a block from an instruction on, to a barrier or to its end and over its edges.
    fn run_block(
        &mut self,
        run: &mut Run<'_>,
        (block, start): (Block, usize),
        active: &[usize],
        bindings: &[Bindings<'_, 1>],
        options: &InterpOptions<'_>,
        mut watched: Option<(usize, &mut dyn Observer)>,
    ) -> Result<(), Stop> {
        let (func, records) = (self.func, self.records.of(block));
        let mut next = records.partition_point(|&(before, _)| (before as usize) < start);
        let insts = &func.blocks[block].insts;
        for at in start..=insts.len() {
            while let Some((_, record)) = records.get(next).filter(|(before, _)| *before as usize == at) {
                if let Some((lane, observer)) = &mut watched {
                    observer.record(record, record.value().map_or(0, |value| self.lanes[*lane].0.bits(value)));
                }
                next += 1;
            }
            let Some(&inst) = insts.get(at) else { break };
            let data = &func.insts[inst];
            if data.op == Op::Barrier {
                for &lane in active {
                    self.lanes[lane].1 = Place::Barrier { barrier: inst, block, inst: at + 1 };
                }
                return Ok(());
            }
            self.step(data, active, bindings, options);
            #[cfg(any(test, feature = "arbitrary"))]
            if self.canonical_nans {
                self.canonicalize(data, active);
            }
            if let Some((lane, observer)) = &mut watched {
                let lane = &self.lanes[*lane].0;
                let mut operands = [[0; 4]; Operands::MAX];
                for (words, &arg) in operands.iter_mut().zip(data.args.iter()) {
                    *words = lane.words(arg);
                }
                let result = data.result.map_or([0; 4], |value| lane.words(value));
                observer.inst(data, &operands[..data.args.len()], result);
            }
        }
        self.leave(run, block, active, watched)
    }

    /// Takes the edges that the lanes want. The wave pays once for each.
    fn leave(
        &mut self,
        run: &mut Run<'_>,
        block: Block,
        active: &[usize],
        mut watched: Option<(usize, &mut dyn Observer)>,
    ) -> Result<(), Stop> {
        let mut paid: Vec<Block> = Vec::new();
        for &lane in active {
            let (interpreter, place) = &mut self.lanes[lane];
            let left = interpreter.leave(block).expect("one lane agrees with itself");
            let Some((next, _)) = left else {
                *place = Place::Ended;
                continue;
            };
            *place = Place::At { block: next, inst: 0 };
            if let Some((_, observer)) = watched.as_mut().filter(|(watched, _)| *watched == lane) {
                observer.edge(block, next, self.position[next] <= self.position[block]);
            }
            if !paid.contains(&next) {
                paid.push(next);
                run.pay(self.costs.edge(block, next))?;
            }
        }
        Ok(())
    }

    /// Runs an instruction in some lanes.
    fn step(&mut self, inst: &InstData, active: &[usize], bindings: &[Bindings<'_, 1>], options: &InterpOptions<'_>) {
        let is_everywhere = inst.result.is_some_and(|result| self.everywhere.contains(result));
        if inst.op.is_derivative() {
            return self.derivative(inst, active, is_everywhere, options.fused);
        }
        for (lane, bindings) in bindings.iter().enumerate() {
            let runs = active.contains(&lane) || is_everywhere && active.iter().any(|&active| active / 4 == lane / 4);
            if !runs {
                continue;
            }
            let writes = inst.op.memory() == Some(Memory::Buffer) && inst.op.effect() == Effect::Write;
            let interpreter = &mut self.lanes[lane].0;
            if writes && lane >= self.own {
                if let Some(result) = inst.result {
                    interpreter.clear(result);
                }
                continue;
            }
            interpreter.step(inst, bindings, options);
        }
    }

    /// Gives a NaN the bits that all have.
    #[cfg(any(test, feature = "arbitrary"))]
    fn canonicalize(&mut self, inst: &InstData, active: &[usize]) {
        let Some(result) = inst.result.filter(|_| crate::arbitrary::makes_nans(inst.op)) else { return };
        for &lane in active {
            let lane = &mut self.lanes[lane].0;
            if f32::from_bits(lane.bits(result) as u32).is_nan() {
                lane.set(result, crate::arbitrary::NAN);
            }
        }
    }

    /// What the operand changes by among the pixels of a quad: by those that run the code, unless all have it.
    fn derivative(&mut self, inst: &InstData, active: &[usize], is_everywhere: bool, fused: bool) {
        let result = inst.result.expect("a derivative has a result");
        for quad in (0..self.lanes.len()).step_by(4) {
            let runs: [bool; 4] = std::array::from_fn(|pixel| active.contains(&(quad + pixel)));
            if !runs.contains(&true) {
                continue;
            }
            // A quad that is not whole repeats its last pixel.
            let last = self.lanes.len() - 1;
            let operand = std::array::from_fn(|pixel| self.lanes[(quad + pixel).min(last)].0.bits(inst.args[0]) as u32);
            let changes: [u32; 4] = match inst.op.masked() {
                Some(masked) if !is_everywhere && runs.contains(&false) => {
                    eval(masked, inst.ty, &[operand, runs.map(u32::from)], fused)
                }
                _ => eval(inst.op, inst.ty, &[operand], fused),
            };
            for (pixel, change) in changes.into_iter().enumerate().filter(|&(pixel, _)| quad + pixel <= last) {
                if runs[pixel] || is_everywhere {
                    self.lanes[quad + pixel].0.set(result, change);
                }
            }
        }
    }

    /// The output elements of a lane.
    pub fn outputs(&self, lane: usize) -> &[[[u32; 1]; 4]] {
        self.lanes[lane].0.outputs()
    }

    /// A register array of a lane, `[element][component]`.
    pub fn array(&self, lane: usize, array: Array) -> &[[u32; 1]] {
        self.lanes[lane].0.array(array)
    }
}

/// The values that every pixel of a quad has, under whatever branch: what is computed of inputs, uniforms and literals
/// alone. [`lockstep`](crate::pass::lockstep) has the same rule for derivatives.
fn seen_everywhere(func: &Function) -> EntitySet<Value> {
    let mut everywhere = EntitySet::with_capacity(func.values.len());
    let insts = || func.layout.iter().flat_map(|&block| func.insts_in(block));
    if !insts().any(|inst| inst.op.is_derivative()) {
        return everywhere;
    }
    // The layout need not be in an order in which operands come first.
    loop {
        let mut grows = false;
        for inst in insts() {
            let Some(result) = inst.result else { continue };
            let is_computed = inst.op.effect() == Effect::Pure || inst.op.is_derivative();
            if is_computed && inst.args.iter().all(|&arg| everywhere.contains(arg)) {
                grows |= everywhere.insert(result);
            }
        }
        if !grows {
            return everywhere;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{Config, Data, canonicalize_nans, function};
    use crate::builder::FunctionBuilder;
    use crate::pass::lockstep;
    use crate::types::Type;

    /// Nobody listens.
    fn run(invocations: &mut Invocations<'_>, bindings: &[Bindings<'_, 1>], fuel: u32) -> Result<End, Stop> {
        let options = InterpOptions { fuel: fuel.into(), fused: true };
        let mut run = invocations.begin(&options)?;
        invocations.run_until_barrier(&mut run, bindings, &options, None)
    }

    /// What lanes see that have nothing but inputs.
    fn bindings<const N: usize>(inputs: &[Vec<[[u32; 1]; 4]>; N]) -> [Bindings<'_, 1>; N] {
        std::array::from_fn(|lane| Bindings {
            inputs: &inputs[lane],
            vertex_id: [lane as u32],
            instance_id: 0,
            uniforms: &[],
            resources: &[],
            textures: &crate::texture::NoTextures,
        })
    }

    /// What one of four lanes sees.
    fn lane<'a>(
        data: &Data<4>,
        lane: usize,
        of_lane: &'a [[[u32; 1]; 4]],
        of_all: &Bindings<'a, 4>,
    ) -> Bindings<'a, 1> {
        let &Bindings { uniforms, resources, textures, .. } = of_all;
        let (vertex_id, instance_id) = ([data.vertex_id[lane]], data.instance_id);
        Bindings { inputs: of_lane, vertex_id, instance_id, uniforms, resources, textures }
    }

    #[test]
    fn lanes_with_counters_of_their_own_do_what_they_do_in_lockstep() {
        let mut compared = 0;
        arbtest::arbtest(|u| {
            let mut func = function(u, &Config::default())?;
            // What lockstep knows of quads under branches is more than this does.
            let has_derivatives = func.insts.values().any(|inst| inst.op.is_derivative());
            canonicalize_nans(&mut func);
            let mut together = func.clone();
            if has_derivatives || func.writes_memory() || lockstep(&mut together).is_err() {
                return Ok(());
            }
            let data = Data::<4>::arbitrary(u, &func)?;
            let (uniforms, resources) = (data.uniform_rows(), data.resource_bytes());
            let of_all = data.bindings(&uniforms, &resources);
            let inputs: Vec<Vec<[[u32; 1]; 4]>> = (0..4)
                .map(|lane| data.inputs.iter().map(|element| element.map(|lanes| [lanes[lane]])).collect())
                .collect();
            let bindings: Vec<_> = (0..4).map(|number| lane(&data, number, &inputs[number], &of_all)).collect();
            let mut interpreter = Interpreter::<4>::new(&together);
            let options = InterpOptions { fuel: 100_000.into(), fused: true };
            let Ok(wanted) = interpreter.run(&of_all, &options) else { return Ok(()) };
            let records = Records::default();
            let mut invocations = Invocations::new(&func, &records, 4, 4);
            if run(&mut invocations, &bindings, 1_000_000) != Ok(End::Return) {
                return Ok(());
            }
            for (number, element) in wanted.iter().enumerate() {
                for lane in 0..4 {
                    let found = invocations.outputs(lane)[number].map(|[bits]| bits);
                    assert_eq!(found, element.map(|lanes| lanes[lane]), "output {number} of lane {lane}\nin {func}");
                }
            }
            compared += 1;
            Ok(())
        })
        .budget_ms(1000);
        assert!(compared > 10, "{compared}");
    }

    /// Lane 0 takes a derivative of an input by itself: its neighbours have it all the same. Of what memory of its own
    /// gives it, they have nothing, and nothing changes.
    #[test]
    fn derivatives_see_what_all_of_a_quad_have() {
        let mut b = FunctionBuilder::new("quads", 1, 1);
        let array = b.add_array(1, 1);
        let (x, y, zero) = (b.input(Type::F32, 0, 0), b.input(Type::F32, 0, 1), b.i32(0));
        let (inside, behind) = (b.create_block(), b.create_block());
        let none = b.f32(0.0);
        let is_first = b.feq([y, none]);
        b.br_if(is_first, inside, behind);
        b.seal_block(inside);
        b.switch_to_block(inside);
        let double = b.fadd([x, x]);
        let change = b.quad_dx([double]);
        b.output(0, 0, change);
        b.array_store(array, 0, zero, x);
        let own = b.array_load(Type::F32, array, 0, zero);
        let change = b.quad_dx([own]);
        b.output(0, 1, change);
        b.jump(behind);
        b.seal_block(behind);
        b.switch_to_block(behind);
        let change = b.quad_dy_fine([x]);
        b.output(0, 2, change);
        b.ret();
        let (func, records) = (b.finish(), Records::default());
        let inputs = [1.0f32, 4.0, 16.0, 64.0].map(|x| {
            let y = if x == 1.0 { 0.0f32 } else { 1.0 };
            vec![[[x.to_bits()], [y.to_bits()], [0], [0]]]
        });
        let bindings = bindings(&inputs);
        let mut invocations = Invocations::new(&func, &records, 4, 4);
        assert_eq!(run(&mut invocations, &bindings, 100), Ok(End::Return));
        let rows = [0, 1, 2, 3].map(|lane| invocations.outputs(lane)[0].map(|[bits]| f32::from_bits(bits)));
        assert_eq!(rows[0], [6.0, 0.0, 15.0, 0.0]);
        assert_eq!(rows[1..], [[0.0, 0.0, 60.0, 0.0], [0.0, 0.0, 15.0, 0.0], [0.0, 0.0, 60.0, 0.0]]);
    }

    #[test]
    fn lanes_wait_at_barriers_for_each_other() {
        let barrier_if = |in_branch: bool| {
            let mut b = FunctionBuilder::new("barriers", 1, 1);
            b.set_threads(2);
            let x = b.input(Type::I32, 0, 0);
            let zero = b.i32(0);
            let is_set = b.ine([x, zero]);
            let (inside, behind) = (b.create_block(), b.create_block());
            b.br_if(is_set, inside, behind);
            b.seal_block(inside);
            b.switch_to_block(inside);
            if in_branch {
                b.emit(Op::Barrier, Type::I32, &[], crate::function::Imm::None);
            }
            b.jump(behind);
            b.seal_block(behind);
            b.switch_to_block(behind);
            if !in_branch {
                b.emit(Op::Barrier, Type::I32, &[], crate::function::Imm::None);
            }
            b.output(0, 0, x);
            b.ret();
            b.finish()
        };
        let inputs = [0, 7].map(|x| vec![[[x], [0], [0], [0]]]);
        let bindings = bindings(&inputs);
        let records = Records::default();
        let options = InterpOptions { fuel: 100.into(), fused: true };
        let func = barrier_if(false);
        let mut invocations = Invocations::new(&func, &records, 2, 2);
        let mut run = invocations.begin(&options).unwrap();
        let mut goes_on = || invocations.run_until_barrier(&mut run, &bindings, &options, None);
        assert!(matches!(goes_on(), Ok(End::Barrier(_))));
        assert_eq!(goes_on(), Ok(End::Return));
        assert_eq!([0, 1].map(|lane| invocations.outputs(lane)[0][0]), [[0], [7]]);
        let func = barrier_if(true);
        let mut invocations = Invocations::new(&func, &records, 2, 2);
        let mut run = invocations.begin(&options).unwrap();
        let parted = invocations.run_until_barrier(&mut run, &bindings, &options, None);
        assert!(matches!(parted, Ok(End::Parted(_))), "{parted:?}");
    }
}
