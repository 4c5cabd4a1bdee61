use super::*;
use crate::frontend::pica::decode::{Instruction, decode};
use crate::frontend::pica::opcode::{Field, Opcode};
use crate::frontend::pica::testing::{PLAIN, Random, word};

fn program(words: &[u32]) -> Program {
    decode(words, &[PLAIN], 0).unwrap()
}

/// An instruction that is not control flow.
const ARITHMETIC: u32 = 0;

fn nop() -> u32 {
    word(Opcode::Nop, &[])
}

fn call(target: u32, count: u32) -> u32 {
    word(Opcode::Call, &[(Field::Target, target), (Field::Count, count)])
}

fn ifu(target: u32, count: u32) -> u32 {
    word(Opcode::Ifu, &[(Field::Target, target), (Field::Count, count)])
}

fn looped(last: u32) -> u32 {
    word(Opcode::Loop, &[(Field::Target, last)])
}

fn jmpu(target: u32) -> u32 {
    word(Opcode::Jmpu, &[(Field::Target, target)])
}

fn end() -> u32 {
    word(Opcode::End, &[])
}

const TRUE: Test = Test::Bool { uniform: crate::frontend::pica::operand::BoolUniform(0), value: true };

/// The blocks as short text: executed addresses, other steps by name, exits.
fn text(words: &[u32]) -> String {
    let flow = follow(&program(words), Address(0)).unwrap();
    let step = |step: &Step| match step {
        Step::Execute(address) => format!("{:x}", address.0),
        Step::DropOldestLoop => "drop".to_owned(),
        Step::EnterLoop { depth, .. } => format!("enter{}", depth.index()),
        Step::Advance { .. } => "advance".to_owned(),
        Step::Restore { depth } => format!("restore{}", depth.index()),
    };
    let block = |(n, block): (usize, &FlowBlock)| {
        let exit = match block.exit {
            Exit::End => "end".to_owned(),
            Exit::Jump(to) => format!("-> {}", to.0),
            Exit::Branch { choice: Choice::Again(depth), yes, no } => {
                format!("again{} ? {} : {}", depth.index(), yes.0, no.0)
            }
            Exit::Branch { choice: Choice::Test(test), yes, no } => format!("{test} ? {} : {}", yes.0, no.0),
        };
        let steps: Vec<_> = block.steps.iter().map(step).collect();
        format!("{n}: {} {exit}\n", steps.join(" "))
    };
    flow.blocks.iter().enumerate().map(block).collect()
}

#[test]
fn straight_code_is_one_block() {
    assert_eq!(text(&[ARITHMETIC, nop(), ARITHMETIC, end(), ARITHMETIC]), "0: 0 2 end\n");
}

#[test]
fn running_off_the_end_ends() {
    assert_eq!(text(&[ARITHMETIC]), "0: 0 end\n");
    assert_eq!(text(&[call(1, 0)]), "0:  end\n");
}

#[test]
fn a_procedure_is_followed_from_each_call() {
    let words = [call(4, 1), ARITHMETIC, call(4, 1), end(), ARITHMETIC];
    assert_eq!(text(&words), "0: 4 1 4 end\n");
}

#[test]
fn if_with_and_without_else() {
    // 0 if { 1 } else { 2 } 3 end
    assert_eq!(text(&[ifu(2, 1), 0, 0, 0, end()]), "0:  b0 ? 1 : 2\n1: 1 -> 3\n2: 2 -> 3\n3: 3 end\n");
    assert_eq!(text(&[ifu(2, 0), 0, 0, end()]), "0:  b0 ? 1 : 2\n1: 1 -> 2\n2: 2 end\n");
}

#[test]
fn a_loop_inside_a_loop_restores_its_register() {
    let words = [looped(3), looped(2), ARITHMETIC, ARITHMETIC, end()];
    let expected = "0: enter0 -> 1\n1: enter1 -> 2\n2: 2 advance again1 ? 2 : 3\n\
                    3: restore1 3 advance again0 ? 1 : 4\n4:  end\n";
    assert_eq!(text(&words), expected);
}

#[test]
fn break_advances_too() {
    let words = [looped(3), ARITHMETIC, word(Opcode::Break, &[]), nop(), end()];
    assert_eq!(text(&words), "0: enter0 1 advance end\n");
    assert_eq!(text(&[word(Opcode::Break, &[]), ARITHMETIC, end()]), "0: 1 end\n", "no effect outside of a loop");
}

#[test]
fn a_jump_at_the_end_of_a_body_is_not_taken() {
    // 0 if b0 { 1; jump 4 } 3; 4 end
    assert_eq!(text(&[ifu(3, 0), 0, jmpu(4), 0, 0, end()]), "0:  b0 ? 1 : 2\n1: 1 -> 2\n2: 3 4 end\n");
}

#[test]
fn a_call_at_the_end_of_an_if_is_lost() {
    // if b0 { call 4..5 } 2 3 end; without padding the call never happens
    assert_eq!(text(&[ifu(2, 0), call(4, 1), 0, end(), 0]), "0:  b0 ? 1 : 2\n1: 2 end\n2: 2 end\n");
}

#[test]
fn tail_calls_return_at_once() {
    // main 0: call 3..5; 1; end | 3: 3, call 5..6 | 5
    assert_eq!(text(&[call(3, 2), 0, end(), 0, call(5, 1), 0]), "0: 3 5 1 end\n");
}

#[test]
fn the_fourth_return_in_a_row_is_forgotten() {
    let (a, b, c, d) = (call(3, 2), call(7, 2), call(10, 2), call(13, 1));
    let words = [a, 0, end(), 0, b, 0, end(), 0, c, end(), 0, d, end(), 0, end()];
    // The return from 13 leads to the ends of three procedures at once; word 1 is never reached.
    assert_eq!(text(&words), "0: 3 7 a d 5 end\n");
}

#[test]
fn recursion_ends_with_the_ring() {
    // 0: call itself. Four entries deep the states repeat.
    let flow = follow(&program(&[call(0, 2), ARITHMETIC, end()]), Address(0)).unwrap();
    assert_eq!(flow.blocks.len(), 2);
    assert!(flow.blocks.iter().all(|block| block.exit == Exit::Jump(BlockId(1))), "{flow:?}");
}

#[test]
fn a_fifth_loop_drops_the_first() {
    let words = [looped(9), looped(8), looped(7), looped(6), looped(5), ARITHMETIC, 0, 0, 0, 0, end()];
    let text = text(&words);
    assert!(text.contains("drop enter3"), "{text}");
    assert!(!text.contains("again4"), "{text}");
}

#[test]
fn left_behind_loops_do_not_grow_without_end() {
    // 0: loop { jump 0 if b0 }: each round leaves an entry on the ring, until it is full.
    let flow = follow(&program(&[looped(3), ARITHMETIC, jmpu(0), nop(), end()]), Address(0)).unwrap();
    assert!(flow.blocks.iter().any(|block| block.steps.contains(&Step::DropOldestLoop)));
    assert!(flow.blocks.len() < 30, "{}", flow.blocks.len());
}

#[test]
fn errors_name_the_place() {
    let words = program(&[end()]);
    let error = follow(&words, Address(1)).unwrap_err();
    assert_eq!(error.to_string(), "entry point 0x1 is past the program's 1 words (at offset 0x4)");

    // Every word calls some other one over a range that never ends: all orders of four entries are states.
    let mut random = Random(7);
    let words: Vec<u32> = (0..4096)
        .map(|_| {
            word(
                Opcode::Callu,
                &[(Field::Bool, random.below(16)), (Field::Target, random.below(4096)), (Field::Count, 255)],
            )
        })
        .collect();
    assert!(
        matches!(follow(&program(&words), Address(0)), Err(LowerError::Limit { limit, .. }) if limit == MAX_STATES as u64)
    );
}

/// The rings as the hardware has them, with everything dynamic: the reference for the graph.
struct Machine<'a> {
    program: &'a Program,
    pc: Address,
    calls: Vec<(Address, Address)>,
    ifs: Vec<(Address, Address)>,
    loops: Vec<ActiveLoop>,
    index: u32,
}

struct ActiveLoop {
    start: Address,
    end: Address,
    left: u32,
    increment: u32,
    saved: u32,
}

/// `x y z` of the integer uniforms.
type IntUniforms = [[u32; 3]; 4];

/// Each executed word with `aL` at that time.
type Trace = Vec<(Address, u32)>;

/// A made-up but repeatable value for a condition: it changes as words are executed.
fn holds(test: Test, trace: &Trace) -> bool {
    let salt = match test {
        Test::Flags(test) => u32::from(test.x) + 2 * u32::from(test.y) + 4 * test.combine as u32,
        Test::Bool { uniform, value } => 16 + 2 * u32::from(uniform.0) + u32::from(value),
    };
    let mixed = (salt + 64 * trace.len() as u32 + 1).wrapping_mul(0x9e37_79b9);
    mixed >> 17 & 1 != 0
}

fn push<T>(ring: &mut Vec<T>, capacity: usize, entry: T) {
    if ring.len() == capacity {
        ring.remove(0);
    }
    ring.push(entry);
}

impl Machine<'_> {
    /// Runs to the end (true) or until `steps` words have been executed.
    fn run(&mut self, ints: &IntUniforms, trace: &mut Trace, steps: usize) -> bool {
        (0..steps).any(|_| self.step(ints, trace))
    }

    fn step(&mut self, ints: &IntUniforms, trace: &mut Trace) -> bool {
        let Some(&Instruction { effect, .. }) = self.program.get(self.pc) else { return true };
        let executed = self.pc;
        let next = executed.next();
        let mut broke = false;
        self.pc = next;
        match effect {
            Effect::End => return true,
            Effect::Nop => {}
            Effect::Jump { test, target } if holds(test, trace) => self.pc = target,
            Effect::Jump { .. } => {}
            Effect::Call { test, target, end } if test.is_none_or(|test| holds(test, trace)) => {
                push(&mut self.calls, 4, (end, next));
                self.pc = target;
            }
            Effect::Call { .. } => {}
            Effect::If { test, otherwise, end } if holds(test, trace) => push(&mut self.ifs, 8, (otherwise, end)),
            Effect::If { otherwise, .. } => self.pc = otherwise,
            Effect::Loop { uniform, last } => {
                let [left, first, increment] = ints[usize::from(uniform.0)];
                let saved = std::mem::replace(&mut self.index, first);
                push(&mut self.loops, 4, ActiveLoop { start: next, end: last.next(), left, increment, saved });
            }
            Effect::Break { test } => broke = test.is_none_or(|test| holds(test, trace)),
            _ => trace.push((executed, self.index)),
        }
        let mut end = next;
        for popped in 1..=4 {
            let Some(&(top, back)) = self.calls.last().filter(|(top, _)| *top == end) else { break };
            debug_assert_eq!(top, end);
            self.calls.pop();
            if popped < 4 {
                (end, self.pc) = (back, back);
            }
        }
        if let Some(&(_, end)) = self.ifs.last().filter(|(otherwise, _)| *otherwise == next) {
            self.ifs.pop();
            self.pc = end;
        }
        if let Some(top) = self.loops.last_mut().filter(|top| broke || top.end == next) {
            self.index += top.increment;
            if !broke && top.left > 0 {
                top.left -= 1;
                self.pc = top.start;
            } else {
                self.pc = top.end;
                let top = self.loops.pop().unwrap();
                if !self.loops.is_empty() {
                    self.index = top.saved;
                }
            }
        }
        false
    }
}

/// Walks the graph; true if it ends within so many blocks.
fn walk(flow: &Flow, ints: &IntUniforms, trace: &mut Trace, blocks: usize) -> bool {
    let (mut counters, mut saved, mut index) = ([0u32; LOOP_RING], [0u32; LOOP_RING], 0u32);
    let mut at = Flow::ENTRY;
    for _ in 0..blocks {
        let block = &flow.blocks[at.index()];
        for &step in &block.steps {
            match step {
                Step::Execute(address) => trace.push((address, index)),
                Step::DropOldestLoop => {
                    counters.rotate_left(1);
                    saved.rotate_left(1);
                }
                Step::EnterLoop { depth, uniform } => {
                    let [left, first, _] = ints[usize::from(uniform.0)];
                    counters[depth.index()] = left;
                    saved[depth.index()] = std::mem::replace(&mut index, first);
                }
                Step::Advance { uniform } => index += ints[usize::from(uniform.0)][2],
                Step::Restore { depth } => index = saved[depth.index()],
            }
        }
        at = match block.exit {
            Exit::End => return true,
            Exit::Jump(to) => to,
            Exit::Branch { choice: Choice::Test(test), yes, no } => {
                if holds(test, trace) {
                    yes
                } else {
                    no
                }
            }
            Exit::Branch { choice: Choice::Again(depth), yes, no } => {
                let counter = &mut counters[depth.index()];
                let again = *counter != 0;
                *counter = counter.wrapping_sub(1);
                if again { yes } else { no }
            }
        };
    }
    false
}

/// A word of any kind whose addresses lie in or just behind a program of `len` words.
fn random_word(random: &mut Random, len: u32) -> u32 {
    const FLOW: [Opcode; 12] = [
        Opcode::Break,
        Opcode::Nop,
        Opcode::End,
        Opcode::Breakc,
        Opcode::Call,
        Opcode::Callc,
        Opcode::Callu,
        Opcode::Ifu,
        Opcode::Ifc,
        Opcode::Loop,
        Opcode::Jmpc,
        Opcode::Jmpu,
    ];
    if random.below(5) < 2 {
        return ARITHMETIC;
    }
    let mut opcode = FLOW[random.below(12) as usize];
    if opcode == Opcode::End && random.below(3) != 0 {
        opcode = Opcode::Nop;
    }
    let picture = opcode.picture();
    [Field::ReferenceX, Field::ReferenceY, Field::Combine, Field::Bool, Field::Int, Field::Invert]
        .map(|field| (field, random.below(16) & ((1 << picture.width(field)) - 1)))
        .into_iter()
        .chain([(Field::Target, random.below(len + 2)), (Field::Count, random.below(6))])
        .filter_map(|(field, value)| picture.place(field, value))
        .fold(picture.fixed(), |word, bits| word | bits)
}

#[test]
fn the_graph_does_what_the_rings_do() {
    let mut random = Random(0x5eed);
    let (mut followed, mut ended, mut executed) = (0, 0, 0);
    for _ in 0..1200 {
        let len = 3 + random.below(18);
        let words: Vec<u32> = (0..len).map(|_| random_word(&mut random, len)).collect();
        let program = program(&words);
        let entry = Address(random.below(len) as u16);
        let ints: IntUniforms = std::array::from_fn(|_| std::array::from_fn(|_| random.below(4)));
        // Some of these programs are too wild for a graph, which is an error of its own.
        let Ok(flow) = follow_within(&program, entry, None, 1000) else { continue };
        followed += 1;

        let (mut rings, mut graph) = (Trace::new(), Trace::new());
        let mut machine = Machine { program: &program, pc: entry, calls: vec![], ifs: vec![], loops: vec![], index: 0 };
        let rings_end = machine.run(&ints, &mut rings, 1500);
        // A block stands for at most one word more than it has steps.
        let graph_end = walk(&flow, &ints, &mut graph, 1500);
        let common = rings.len().min(graph.len());
        assert_eq!(rings[..common], graph[..common], "\n{program}entry {entry}\n{flow:?}");
        if rings_end {
            assert!(graph_end && rings.len() == graph.len(), "\n{program}entry {entry}\n{flow:?}");
            ended += 1;
        }
        executed += common;
    }
    assert!(followed > 600 && ended > 300 && executed > 5_000, "{followed} {ended} {executed}");
}

#[test]
fn branches_on_one_condition_name_it() {
    let flow = follow(&program(&[jmpu(2), ARITHMETIC, end()]), Address(0)).unwrap();
    assert!(matches!(flow.blocks[0].exit, Exit::Branch { choice: Choice::Test(TRUE), .. }));
}
