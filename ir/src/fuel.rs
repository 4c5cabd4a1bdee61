//! Metering: what bounds the work of programs that loop, by one rule for every engine.
//!
//! A *wave* (the lanes that run together) pays for each edge that goes backwards in the layout, or to its own block:
//! the [weight](op_weight) of all blocks from the edge's target to its source. Between two such edges a wave runs each
//! block at most once and in the order of the layout, so what it has paid, and the weight of the whole function once,
//! bound the instructions it has run: with `before(b)` for the weight of the blocks in front of `b`, a stretch from
//! block `s` to block `e` runs at most `before(e + 1) - before(s)`, the edge back to `t` costs
//! `before(e + 1) - before(t)`, and the next stretch begins at `t`.
//!
//! The waves of a thread group pay together: a group ends early if, and only if, they take more than so many waves may.
//! So it does not matter in which order their phases run, or which of them an engine has side by side.
//!
//! Passes after [`pass::weigh`](crate::pass::weigh) change how many instructions a block has, but not what it costs; so
//! all forms of a program that are made from there on run out of fuel in the same place.

use crate::cfg;
use crate::entity::Block;
use crate::function::{BlockData, Function};
use crate::memory::is_memory_op;
use crate::op::{Attribute, Op};
use crate::pass::{Emit, expansion};
use crate::set::EntitySet;
use crate::texture;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// How much is given to a wave at once. In between, nobody asks whether the call is to end.
pub const QUANTUM: u32 = 1 << 16;

/// An access to a texture filters up to sixteen texels a lane.
const ACCESS: u32 = 64;

/// An access to memory that is written is a call, too, and one word a lane.
const MEMORY: u32 = 8;

/// Native code calls a function for an op on doubles.
const DOUBLE: u32 = 8;

/// What an op costs: 1 for one that is about an instruction, and as many for others as they take the time of.
pub fn op_weight(op: Op) -> u32 {
    match op {
        Op::Const => 0,
        op if op.attribute() == Attribute::Composite => expansion_weight(op),
        op if texture::is_texture_op(op) => ACCESS,
        op if is_memory_op(op) => MEMORY,
        op if crate::double::is_double_op(op) => DOUBLE,
        _ => 1,
    }
}

/// The plain ops of a composite op's expansion.
fn expansion_weight(op: Op) -> u32 {
    struct Count(u32);

    impl Emit for Count {
        type Value = ();

        fn op(&mut self, op: Op, _: &[()]) {
            self.0 += op_weight(op);
        }

        fn constant(&mut self, _: Type, _: u32) {}

        fn fused(&self) -> bool {
            true
        }
    }

    let mut count = Count(0);
    expansion(&mut count, op, &[(); 3][..op.operands().len()]);
    count.0
}

/// What running a block once costs: its weight if it has been weighed, else that of the instructions, the parameters
/// and the terminator it has now.
pub fn block_weight(func: &Function, block: Block) -> u32 {
    let BlockData { params, weight, .. } = &func.blocks[block];
    if *weight > 0 {
        return *weight;
    }
    let insts = func.insts_in(block).map(|inst| op_weight(inst.op));
    insts.fold((params.len() as u32).saturating_add(1), u32::saturating_add)
}

/// What the edges of a function cost.
#[derive(Clone, Debug, Default)]
pub struct EdgeCosts {
    /// For each block the targets of its edges that cost something, ascending, and what those cost.
    edges: SecondaryMap<Block, Vec<(Block, u32)>>,
    /// The weight of all blocks.
    whole: u64,
}

impl EdgeCosts {
    /// Weighs a function.
    pub fn new(func: &Function) -> EdgeCosts {
        if let [only] = func.layout[..] {
            // No edge leads to the entry.
            return EdgeCosts::none(block_weight(func, only).into());
        }
        // For each position in the layout, the weight of the blocks in front of it.
        let mut before = vec![0];
        let mut position = SecondaryMap::<Block, usize>::with_capacity(func.blocks.len());
        for &block in &func.layout {
            position[block] = before.len() - 1;
            before.push(before[before.len() - 1] + u64::from(block_weight(func, block)));
        }
        let mut costs = EdgeCosts { edges: SecondaryMap::new(), whole: before[before.len() - 1] };
        for &from in &func.layout {
            for to in cfg::successors(func, from).filter(|&to| position[to] <= position[from]) {
                let cost = before[position[from] + 1] - before[position[to]];
                costs.set(from, to, u32::try_from(cost).unwrap_or(u32::MAX));
            }
        }
        costs
    }

    /// Edges that cost nothing, in a function of such weight.
    pub(crate) fn none(whole: u64) -> EdgeCosts {
        EdgeCosts { edges: SecondaryMap::new(), whole }
    }

    /// Says what an edge costs.
    pub(crate) fn set(&mut self, from: Block, to: Block, cost: u32) {
        if cost > 0 {
            let edges = &mut self.edges[from];
            match edges.binary_search_by_key(&to, |&(to, _)| to) {
                Ok(at) => edges[at].1 = cost,
                Err(at) => edges.insert(at, (to, cost)),
            }
        }
    }

    /// Says that the edges of a block are those of another one now.
    pub(crate) fn move_edges(&mut self, from: Block, to: Block) {
        self.edges[to] = std::mem::take(&mut self.edges[from]);
    }

    /// The blocks that edges which cost something lead to.
    pub(crate) fn paid_targets(&self) -> EntitySet<Block> {
        let mut targets = EntitySet::new();
        targets.extend(self.edges.values().flatten().map(|&(to, _)| to));
        targets
    }

    /// What an edge costs: at least 1 if it goes backwards or to its own block, else nothing.
    pub fn edge(&self, from: Block, to: Block) -> u32 {
        let edges = &self.edges[from];
        edges.binary_search_by_key(&to, |&(to, _)| to).map_or(0, |at| edges[at].1)
    }

    /// The weight of all blocks.
    pub fn whole(&self) -> u64 {
        self.whole
    }
}

/// Why a wave ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Stop {
    /// It would take more than a wave may, or its group more than its waves.
    #[error("a wave ran out of fuel")]
    Wave,
    /// All waves together would take more than the call may.
    #[error("the call ran out of fuel")]
    Call,
    /// The call is to end.
    #[error("cancelled")]
    Cancelled,
}

/// What the waves of a call may take.
#[derive(Clone, Copy)]
pub struct Fuel<'a> {
    /// What each wave may take.
    pub wave: u32,
    /// The thread group that the waves are of.
    pub group: Option<GroupFuel<'a>>,
    /// What is left for all waves together; nothing if they are not bounded. Threads that run parts of a call share it.
    pub call: Option<&'a AtomicU64>,
    /// What the waves of [one thread](Fuel::of_thread) have taken that `call` has not been charged with.
    pub owed: Option<&'a AtomicU64>,
    /// Says whether the call is to end. Asked between waves, and within one about every [`QUANTUM`]. Native code asks
    /// it, too, which no panic can cross: one ends the process.
    pub is_cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
}

/// What the waves of a thread group may take together.
#[derive(Clone, Copy, Debug)]
pub struct GroupFuel<'a> {
    /// How many waves it has. One of them may take what the others leave.
    pub waves: u32,
    /// What is left for those that have not been [charged](Fuel::charge).
    pub left: &'a AtomicU64,
}

impl From<u32> for Fuel<'_> {
    /// So much for each wave, and no other bound.
    fn from(wave: u32) -> Self {
        Fuel { wave, group: None, call: None, owed: None, is_cancelled: None }
    }
}

impl fmt::Debug for Fuel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fuel").field("wave", &self.wave).field("call", &self.call).finish_non_exhaustive()
    }
}

impl<'a> Fuel<'a> {
    /// The same for one thread group of so many waves, which `left` counts for.
    pub fn of_group<'g>(self, waves: u32, left: &'g AtomicU64) -> Fuel<'g>
    where
        'a: 'g,
    {
        let fuel = Fuel { group: Some(GroupFuel { waves, left }), ..self };
        left.store(fuel.most().into(), Ordering::Relaxed);
        fuel
    }

    /// The same for one of the threads that share a call's fuel. What its waves take is counted in `owed` first, and
    /// in the shared number once a [`QUANTUM`], so that short waves do not keep a cache line going from thread to
    /// thread. Whoever runs them [settles](Self::settle) in the end.
    pub fn of_thread<'t>(self, owed: &'t AtomicU64) -> Fuel<'t>
    where
        'a: 't,
    {
        Fuel { owed: Some(owed), ..self }
    }

    /// Charges the call with all that this thread owes.
    ///
    /// # Errors
    /// The call has less.
    pub fn settle(&self) -> Result<(), Stop> {
        take(self.call, self.owed.map_or(0, |owed| owed.swap(0, Ordering::Relaxed)), Stop::Call)
    }

    /// What this thread owes.
    fn debt(&self) -> u64 {
        self.owed.map_or(0, |owed| owed.load(Ordering::Relaxed))
    }

    /// The most that one wave may take.
    fn most(&self) -> u32 {
        self.wave.saturating_mul(self.group.map_or(1, |group| group.waves))
    }

    /// What the waves of the group have left together; waves that are of none are not bounded together.
    pub fn of_all_waves(&self) -> u64 {
        self.group.map_or(u64::MAX, |group| group.left.load(Ordering::Relaxed))
    }

    /// Whether the call has enough left for so many groups like this one, if each takes all that it may.
    pub fn suffices(&self, groups: u64) -> bool {
        let needed = u64::from(self.most()).saturating_mul(groups).saturating_add(self.debt());
        self.call.is_none_or(|left| left.load(Ordering::Relaxed) >= needed)
    }

    /// What a wave is given when it begins.
    pub fn first(&self) -> u32 {
        self.most().min(QUANTUM)
    }

    /// What a wave is given that has used up `granted` and has to pay `lacking` more. `pending` is what earlier waves
    /// have taken that has not been [charged](Self::charge).
    ///
    /// # Errors
    /// There is no more, or the call is to end.
    pub fn more(&self, granted: u32, lacking: u32, pending: u64) -> Result<u32, Stop> {
        self.check()?;
        let rest = self.most() - granted;
        let needed = pending.saturating_add(u64::from(granted) + u64::from(lacking));
        if lacking > rest || self.group.is_some_and(|group| group.left.load(Ordering::Relaxed) < needed) {
            return Err(Stop::Wave);
        }
        let needed = needed.saturating_add(self.debt());
        if self.call.is_some_and(|left| left.load(Ordering::Relaxed) < needed) {
            return Err(Stop::Call);
        }
        Ok(lacking.max(rest.min(QUANTUM)))
    }

    /// Takes what waves have taken from what their group and the call have left.
    ///
    /// # Errors
    /// There is less.
    pub fn charge(&self, taken: u64) -> Result<(), Stop> {
        take(self.group.map(|group| group.left), taken, Stop::Wave)?;
        let (Some(owed), Some(left)) = (self.owed, self.call) else { return take(self.call, taken, Stop::Call) };
        // No other thread writes what this one owes.
        let debt = self.debt().saturating_add(taken);
        owed.store(debt, Ordering::Relaxed);
        match debt {
            _ if debt >= u64::from(QUANTUM) => self.settle(),
            _ if debt > left.load(Ordering::Relaxed) => Err(Stop::Call),
            _ => Ok(()),
        }
    }

    /// Asks whether the call is to end.
    ///
    /// # Errors
    /// It is.
    pub fn check(&self) -> Result<(), Stop> {
        if self.is_cancelled.is_some_and(|is_cancelled| is_cancelled()) { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

/// Takes so much from what is left, if that is bounded.
fn take(left: Option<&AtomicU64>, taken: u64, stop: Stop) -> Result<(), Stop> {
    let Some(left) = left.filter(|_| taken > 0) else { return Ok(()) };
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(taken));
    taken.map(drop).map_err(|_| stop)
}

/// What one wave has been given, and has left of it.
pub struct Meter<'a> {
    fuel: Fuel<'a>,
    granted: u32,
    left: u32,
}

impl<'a> Meter<'a> {
    /// A meter for a wave that begins.
    ///
    /// # Errors
    /// The call is to end.
    pub fn new(fuel: Fuel<'a>) -> Result<Meter<'a>, Stop> {
        fuel.check()?;
        Ok(Meter { fuel, granted: fuel.first(), left: fuel.first() })
    }

    /// Pays for an edge.
    ///
    /// # Errors
    /// The wave or the call cannot, or the call is to end.
    pub fn pay(&mut self, cost: u32) -> Result<(), Stop> {
        if let Some(lacking) = cost.checked_sub(self.left).filter(|&lacking| lacking > 0) {
            let more = self.fuel.more(self.granted, lacking, 0)?;
            self.granted += more;
            self.left += more;
        }
        self.left -= cost;
        Ok(())
    }

    /// Ends the wave: the call pays for it.
    ///
    /// # Errors
    /// It cannot.
    pub fn end(&mut self) -> Result<(), Stop> {
        self.fuel.charge(u64::from(self.granted - self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;

    #[test]
    fn a_wave_pays_for_what_lies_between_the_ends_of_an_edge() {
        let mut b = FunctionBuilder::new("loops", 1, 0);
        let [head, tail, end] = [(); 3].map(|()| b.create_block());
        let entry = b.current_block();
        let x = b.input(Type::F32, 0, 0);
        b.jump(head);
        b.switch_to_block(head);
        let y = b.fadd([x, x]);
        b.jump(tail);
        b.seal_block(tail);
        b.switch_to_block(tail);
        let again = b.flt([y, x]);
        b.br_if(again, head, end);
        b.seal_block(head);
        b.seal_block(end);
        b.switch_to_block(end);
        b.ret();
        let mut func = b.finish();
        let costs = EdgeCosts::new(&func);
        // Two instructions and two terminators.
        assert_eq!(costs.edge(tail, head), 4);
        assert_eq!([costs.edge(entry, head), costs.edge(head, tail), costs.edge(tail, end)], [0; 3]);
        assert_eq!(costs.whole(), 7);
        func.blocks[tail].weight = 100;
        assert_eq!(EdgeCosts::new(&func).edge(tail, head), 102);
    }

    #[test]
    fn composite_ops_weigh_what_they_are_made_of() {
        assert_eq!([op_weight(Op::Const), op_weight(Op::Fadd), op_weight(Op::Fmad)], [0, 1, 1]);
        assert!(op_weight(Op::Fsin) > 10 && op_weight(Op::SampleLevel) > op_weight(Op::Fsin));
    }

    #[test]
    fn a_wave_gets_all_that_it_may_take_and_no_more() {
        for wave in [0, 1, 5, QUANTUM - 1, QUANTUM, QUANTUM + 1, 3 * QUANTUM + 7] {
            for cost in [1, 3, QUANTUM / 2 + 1, 2 * QUANTUM] {
                let mut meter = Meter::new(wave.into()).unwrap();
                let paid = (0..).take_while(|_| meter.pay(cost).is_ok()).count() as u32;
                assert_eq!(paid, wave / cost, "{wave} {cost}");
            }
        }
    }

    #[test]
    fn all_waves_together_take_what_the_call_has() {
        let call = AtomicU64::new(10);
        let fuel = Fuel { call: Some(&call), ..Fuel::from(8) };
        let run = |cost| {
            let mut meter = Meter::new(fuel)?;
            meter.pay(cost)?;
            meter.end()
        };
        assert_eq!(
            [run(9), run(6), run(5), run(4), run(1)],
            [Err(Stop::Wave), Ok(()), Err(Stop::Call), Ok(()), Err(Stop::Call)]
        );
    }

    #[test]
    fn a_thread_that_owes_takes_no_more_than_the_call_has() {
        let run = |fuel: Fuel<'_>, cost| {
            let mut meter = Meter::new(fuel)?;
            meter.pay(cost)?;
            meter.end()
        };
        let quantum = u64::from(QUANTUM);
        let (call, owed) = (AtomicU64::new(quantum + 20), [(); 2].map(|()| AtomicU64::new(0)));
        let fuel = Fuel { call: Some(&call), ..Fuel::from(u32::MAX) };
        let [one, other] = owed.each_ref().map(|owed| fuel.of_thread(owed));
        let left = || call.load(Ordering::Relaxed);
        assert_eq!(run(one, 15), Ok(()));
        assert_eq!(left(), quantum + 20, "little is owed");
        assert_eq!(run(one, QUANTUM), Ok(()));
        assert_eq!(left(), 5, "much is charged");
        assert_eq!([run(one, 3), run(one, 3)], [Ok(()), Err(Stop::Call)], "what is owed counts");
        let (call, owed) = (AtomicU64::new(10), AtomicU64::new(0));
        let fuel = Fuel { call: Some(&call), ..fuel }.of_thread(&owed);
        assert_eq!([run(fuel, 6), run(fuel, QUANTUM + 1)], [Ok(()), Err(Stop::Call)], "for what a wave wants, too");
        assert_eq!((run(other, 4), left()), (Ok(()), 5));
        assert_eq!(other.settle(), Ok(()));
        assert_eq!((other.settle(), left()), (Ok(()), 1), "and nothing twice");
        assert_eq!(one.settle(), Err(Stop::Call));
    }

    #[test]
    fn whoever_cancels_is_heard_when_a_wave_begins_and_when_it_wants_more() {
        let asked = AtomicU64::new(0);
        let is_cancelled = || asked.fetch_add(1, Ordering::Relaxed) == 1;
        let fuel = Fuel { is_cancelled: Some(&is_cancelled), ..Fuel::from(u32::MAX) };
        let mut meter = Meter::new(fuel).unwrap();
        assert_eq!(meter.pay(QUANTUM), Ok(()));
        assert_eq!(meter.pay(1), Err(Stop::Cancelled));
    }
}
