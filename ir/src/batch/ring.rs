//! Circular buffers: what a crowded loop takes in turn from several parameters is in a register array instead, and a
//! counter goes round.
//!
//! Parameters that rotate are moved in every round, and where they have no registers each move is a load and a store.
//! In an array they stay where they are. An element is a vector whose address is the same in all lanes.
//!
//! Numbers of rows that lanes have of their own are read from memory word by word, so those are stored in every round
//! even where they have registers.

use super::Parts;
use super::live::{differs, live};
use crate::cfg::{self, Edge};
use crate::function::{ArrayData, Imm, Terminator};
use crate::loops::Loops;
use crate::pressure::intervals;
use crate::rings::{Ring, rings};
use crate::set::EntitySet;
use crate::uniform::uniform_values;
use crate::uses::Uses;
use crate::{Array, Block, Function, Inst, Op, Type, Value};

/// The fewest parameters that are worth a counter.
const LEAST: usize = 3;

/// As many components an element may have.
const COMPONENTS: usize = 4;

/// Writes rings as arrays: those of loops that have more vectors alive than so many registers, or choose rows by them.
pub(super) fn keep(program: &mut Parts, registers: u8) {
    let Parts { func, order, .. } = &*program;
    if order.iter().all(|&block| func.blocks[block].params.len() < LEAST) {
        return;
    }
    let (incoming, loops) = (cfg::predecessors(func), Loops::find(func, order));
    let heads = (0..order.len()).filter(|&number| loops.is_head(number));
    let found: Vec<(usize, Vec<Ring>)> = heads
        .map(|number| (number, rings(func, order[number], &incoming[order[number]])))
        .filter(|(_, rings)| rings.iter().any(|ring| ring.members.len() >= LEAST))
        .collect();
    if found.is_empty() {
        return;
    }
    let outermost = loops.outermost();
    let (live, uses) = (live(program, &intervals(func, order)), Uses::count(func, order));
    let length = |number: usize| func.blocks[order[number]].insts.len() + 1;
    let crowded = |number: usize| {
        let (_, last) = outermost[number].unwrap_or((number, number));
        let (start, end) = ((0..number).map(length).sum::<usize>(), (0..=last).map(length).sum());
        live[start..end].iter().any(|&vectors| vectors > i32::from(registers))
    };
    let numbers = row_numbers(program);
    let chooses_rows = |ring: &Ring| {
        ring.front(func, &uses).is_some_and(|front| {
            let params = &func.blocks[ring.head].params;
            numbers.contains(params[ring.members[front]])
        })
    };
    let mut loops: Vec<(Block, Vec<Group>)> = Vec::new();
    for (number, rings) in found {
        if !crowded(number) && !rings.iter().any(chooses_rows) {
            continue;
        }
        let (head, mut groups) = (order[number], Vec::<Group>::new());
        for ring in rings {
            let Some(front) = ring.front(func, &uses).filter(|_| is_kept(program, &ring, &incoming[head])) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.takes(&ring)) {
                Some(group) => group.rings.push((ring, front)),
                None => groups.push(Group { rings: vec![(ring, front)] }),
            }
        }
        if !groups.is_empty() {
            loops.push((head, groups));
        }
    }
    if loops.is_empty() {
        return;
    }
    for (head, groups) in loops {
        // Counters are the last parameters: until all are written, members stay where they are.
        groups.iter().for_each(|group| group.write(&mut program.func, &incoming[head]));
        let rings = groups.iter().flat_map(|group| &group.rings);
        remove(&mut program.func, head, &incoming[head], rings.flat_map(|(ring, _)| &ring.members).copied().collect());
    }
    program.uniform = uniform_values(&program.func);
}

/// What lanes choose rows of their own by, and what one instruction makes that of.
fn row_numbers(program: &Parts) -> EntitySet<Value> {
    let func = &program.func;
    let mut numbers = EntitySet::with_capacity(func.values.len());
    for inst in program.order.iter().flat_map(|&block| func.insts_in(block)) {
        if inst.op == Op::UniformLoadAt && differs(program, inst.args[0]) {
            numbers.insert(inst.args[0]);
            numbers.extend(func.def_inst(inst.args[0]).iter().flat_map(|def| def.args.iter().copied()));
        }
    }
    numbers
}

/// Removes parameters of a block by their places, and what edges give for them.
fn remove(func: &mut Function, block: Block, incoming: &[Edge], mut places: Vec<usize>) {
    places.sort_unstable();
    for &place in places.iter().rev() {
        func.blocks[block].params.remove(place);
        incoming.iter().for_each(|&edge| _ = func.edge_mut(edge).args.remove(place));
    }
}

/// Whether a ring is of words that differ among lanes, and stores have a place on the ways into the loop.
fn is_kept(program: &Parts, ring: &Ring, incoming: &[Edge]) -> bool {
    let params = ring.members.iter().map(|&member| program.blocks[ring.head].params[member]);
    let is_word = |value| matches!(program.ty(value), Type::F32 | Type::I32) && differs(program, value);
    let mut ways = incoming.iter().filter(|&&edge| !goes_around(program, ring, edge));
    ring.members.len() >= LEAST
        && params.into_iter().all(is_word)
        && ways.all(|edge| matches!(program.blocks[edge.from].terminator(), Terminator::Jump(_)))
}

/// Whether an edge to the head of a ring hands its values on.
fn goes_around(func: &Function, ring: &Ring, edge: Edge) -> bool {
    func.blocks[ring.head].params.contains(&func.edge(edge).args[ring.members[0]])
}

/// Rings of one loop and one length: they have a counter together, and a component each. With each stands which member
/// comes first.
struct Group {
    rings: Vec<(Ring, usize)>,
}

impl Group {
    /// Whether a ring of the same loop may be one of them.
    fn takes(&self, ring: &Ring) -> bool {
        self.rings.len() < COMPONENTS && self.rings[0].0.members.len() == ring.members.len()
    }

    /// Writes them; their parameters are there yet, and nothing uses them but edges back.
    fn write(&self, func: &mut Function, incoming: &[Edge]) {
        let (head, length) = (self.rings[0].0.head, self.rings[0].0.members.len() as u32);
        let components = self.rings.len() as u8;
        let array = func.arrays.push(ArrayData { elements: length, components, kept: false });
        let counter = func.add_param(head, Type::I32);
        let mut new = Vec::new();
        func.origin = Default::default();
        let (index, next) = count(func, &mut new, counter, length);
        let mut loads: Vec<(Value, Value)> = Vec::new();
        for (component, (ring, front)) in (0..).zip(&self.rings) {
            let front = func.blocks[head].params[ring.members[*front]];
            let load = push(func, &mut new, Op::ArrayLoad, func.ty(front), &[index], Imm::Array { array, component });
            loads.push((front, load));
        }
        func.blocks[head].insts.splice(0..0, new);
        for &edge in incoming {
            let count = if goes_around(func, &self.rings[0].0, edge) { next } else { self.begin(func, array, edge) };
            func.edge_mut(edge).args.push(count);
        }
        func.replace_uses(|value| loads.iter().find(|&&(front, _)| front == value).map_or(value, |&(_, load)| load));
    }

    /// Stores what an edge into the loop gives, and makes the counter's first value.
    fn begin(&self, func: &mut Function, array: Array, edge: Edge) -> Value {
        let mut new = Vec::new();
        let length = self.rings[0].0.members.len();
        let numbers: Vec<Value> = (0..length as u64).map(|number| literal(func, &mut new, number)).collect();
        for (component, (ring, front)) in (0..).zip(&self.rings) {
            for (number, &member) in numbers.iter().zip(ring.members.iter().cycle().skip(*front)) {
                let value = func.edge(edge).args[member];
                let imm = Imm::Array { array, component };
                new.push(func.make_inst(Op::ArrayStore, func.ty(value), &[*number, value], imm));
            }
        }
        func.blocks[edge.from].insts.extend(new);
        numbers[0]
    }
}

/// The element of a round by its counter, and the counter of the next round.
fn count(func: &mut Function, new: &mut Vec<Inst>, counter: Value, length: u32) -> (Value, Value) {
    let one = literal(func, new, 1);
    let next = push(func, new, Op::Iadd, Type::I32, &[counter, one], Imm::None);
    if length.is_power_of_two() {
        // Who reads by the index sees its bounds.
        let mask = literal(func, new, u64::from(length) - 1);
        return (push(func, new, Op::And, Type::I32, &[counter, mask], Imm::None), next);
    }
    let (end, zero) = (literal(func, new, u64::from(length)), literal(func, new, 0));
    let is_end = push(func, new, Op::Ieq, Type::I32, &[next, end], Imm::None);
    (counter, push(func, new, Op::Select, Type::I32, &[is_end, zero, next], Imm::None))
}

fn literal(func: &mut Function, new: &mut Vec<Inst>, bits: u64) -> Value {
    push(func, new, Op::Const, Type::I32, &[], Imm::Bits(bits))
}

fn push(func: &mut Function, new: &mut Vec<Inst>, op: Op, ty: Type, args: &[Value], imm: Imm) -> Value {
    let inst = func.make_inst(op, ty, args, imm);
    new.push(inst);
    func.insts[inst].result.expect("the op has a result")
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchProgram, Machine};
    use crate::parse::parse;
    use std::fmt::Write;

    /// A loop in which so many inputs take turns, and so many sums of the one whose turn it is go on; `USED` is done
    /// once a round.
    fn in_turn(period: usize, sums: usize, used: &str) -> String {
        let list = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(", ");
        let mut text = "function \"f\" inputs 2 outputs 4 lockstep { space0 \"cb0\" block0:\n".to_string();
        for number in 0..period {
            writeln!(text, "v{number} = input.f32 {}.{}", number / 4, number % 4).unwrap();
        }
        let (first, zero) = (period, period + 1);
        writeln!(text, "v{first} = const.f32 0.0  v{zero} = const.i32 0  v{} = uniform_load.i32 space0[0].0", zero + 1)
            .unwrap();
        let (params, begin) = (zero + 2, (0..period).chain(std::iter::repeat_n(first, sums)).chain([zero]));
        writeln!(text, "jump block1({})", list(&mut begin.map(|value| format!("v{value}")))).unwrap();
        let types = (0..period + sums).map(|_| "f32").chain(["i32"]).enumerate();
        let types = types.map(|(at, ty)| format!("v{}: {ty}", params + at));
        writeln!(text, "block1({}):", list(&mut types.into_iter())).unwrap();
        let mut next = params + period + sums + 1;
        let (round, added) = (next - 1, next);
        for sum in 0..sums {
            writeln!(text, "v{next} = fadd v{}, v{params}", params + period + sum).unwrap();
            next += 1;
        }
        let used = used.replace("SECOND", &format!("v{}", params + 1)).replace("NEXT", &format!("v{}", next + 3));
        writeln!(text, "v{next} = const.i32 1  v{} = iadd v{round}, v{next}", next + 1).unwrap();
        writeln!(text, "v{} = slt v{}, v{}  {used}", next + 2, next + 1, zero + 1).unwrap();
        let turned = (1..=period).map(|at| params + at % period);
        let after = turned.chain(added..added + sums).chain([next + 1]);
        let after = list(&mut after.map(|value| format!("v{value}")));
        writeln!(text, "br_if v{}, block1({after}), block2\nblock2:", next + 2).unwrap();
        for sum in 0..sums {
            writeln!(text, "output.f32 {}.{}, v{}", sum / 4, sum % 4, added + sum).unwrap();
        }
        text + "return }"
    }

    fn planned(text: &str) -> String {
        let machine = Machine { lanes: 8, vectors: 1, registers: 16, has_powers: false };
        BatchProgram::of(parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")), machine).unwrap().to_string()
    }

    #[test]
    fn a_crowded_loop_keeps_in_memory_what_takes_turns() {
        for period in [3, 4, 8] {
            let text = planned(&in_turn(period, 14, ""));
            assert!(text.contains(&format!("array0 [{period} x 1]")), "{text}");
            assert_eq!(text.matches("array_store").count(), period, "{text}");
            assert_eq!(text.matches("array_load").count(), 1, "{text}");
            // The sums and two counters are carried on.
            let head = text.lines().find(|line| line.starts_with("block1(")).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(head.matches(": ").count(), 14 + 2, "{text}");
        }
    }

    #[test]
    fn values_stay_where_they_have_registers_or_more_than_the_first_is_used() {
        for text in [in_turn(3, 4, ""), in_turn(2, 14, ""), in_turn(4, 14, "NEXT = fmul SECOND, SECOND")] {
            let text = planned(&text);
            assert!(!text.contains("array"), "{text}");
        }
    }

    /// A loop with registers for all that it has, in which three numbers take turns; ROW is made of the first.
    fn numbered(row: &str) -> String {
        let text = "function \"f\" inputs 1 outputs 1 lockstep { space0 \"cb0\" block0:
            v0 = input.i32 0.0  v1 = input.i32 0.1  v2 = input.i32 0.2
            v3 = const.f32 0.0  v4 = const.i32 0  v5 = uniform_load.i32 space0[0].0
            jump block1(v0, v1, v2, v3, v4)
            block1(v6: i32, v7: i32, v8: i32, v9: f32, v10: i32):
            v11 = const.i32 3  v12 = and.i32 v6, v11  v13 = ROW
            v14 = fadd v9, v13  v15 = const.i32 1  v16 = iadd v10, v15  v17 = slt v16, v5
            br_if v17, block1(v7, v8, v6, v14, v16), block2
            block2: output.f32 0.0, v14 return }";
        text.replace("ROW", row)
    }

    #[test]
    fn what_lanes_choose_rows_by_is_in_memory_anyway() {
        let machine = Machine { lanes: 16, vectors: 1, registers: 32, has_powers: true };
        for (row, is_kept) in [
            ("uniform_load_at.f32 space0[1].0, v12", true),
            ("uniform_load_at.f32 space0[1].0, v6", true),
            ("itof v12", false),
            ("uniform_load_at.f32 space0[1].0, v10", false),
        ] {
            let text = BatchProgram::of(parse(&numbered(row)).unwrap(), machine).unwrap().to_string();
            assert_eq!(text.contains("array0 [3 x 1]"), is_kept, "{text}");
        }
    }
}
