//! From allocated code to bytes: the stack frame, moves, the order of blocks, branches and constants.

use super::allocate::{FRAME, SAVED, SLOT, STACK, Saved};
use super::code::{self, Address, Code, Kind};
use super::encode::{self, Condition, Encoded, Encoder, Memory, Rm, Size};
use super::table::{Field, Op};
use crate::jit::back_end::Origins;
use regalloc2::{Allocation, Edit, Inst, InstOrEdit, Output, PReg, RegClass};
use smallvec::{SmallVec, smallvec};

/// Bytes of a page; a frame of more than one is probed.
const PAGE: u32 = 4096;

/// Bytes of most instructions, moves included: room for the code.
const INST_BYTES: usize = 8;

/// A list of what there is of each block, or of some.
type OfBlocks<T> = SmallVec<[T; 16]>;

/// What comes out.
pub struct Finished {
    pub bytes: Vec<u8>,
    /// Bytes of the stack frame.
    pub stack_bytes: u32,
    pub origins: Origins,
}

/// Code whose registers are known.
struct Finishing<'a> {
    code: &'a Code,
    output: &'a Output,
    size: Size,
    encoder: Encoder,
    /// Bytes at the bottom of the frame for what calls are passed; spills lie above.
    passed: u32,
    /// Bytes of all of it.
    frame: u32,
    saved: Saved,
    /// Where each block begins, once that is known.
    starts: OfBlocks<Option<usize>>,
    /// Distances to be filled in: where they are, and the block.
    jumps: SmallVec<[(usize, usize); 8]>,
    origins: Origins,
}

/// Makes the bytes, given where values are and which registers have to be restored. Calls are passed operands in the
/// first bytes of the frame, so many.
pub fn finish(code: &Code, (output, saved): (&Output, Saved), size: Size, passed: u32) -> Finished {
    let passed = passed.next_multiple_of(64);
    let frame = (passed + (output.num_spillslots * SLOT) as u32).next_multiple_of(64);
    let starts = smallvec![None; code.blocks.len()];
    let (mut encoder, jumps, origins) = (Encoder::default(), SmallVec::new(), Origins::new());
    encoder.bytes.reserve(INST_BYTES * code.insts.len());
    let mut this = Finishing { code, output, size, encoder, passed, frame, saved, starts, jumps, origins };
    this.prologue();
    this.blocks();
    for &(at, block) in &this.jumps {
        let target = this.starts[block].expect("every block that a branch leads to is laid out");
        let distance = target as i32 - (at as i32 + 4);
        this.encoder.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }
    let Encoder { mut bytes, references } = this.encoder;
    let places = code.constants.append(&mut bytes);
    for reference in references {
        let offset = i32::from_le_bytes(bytes[reference.at..reference.at + 4].try_into().expect("four bytes"));
        let distance = places[reference.constant as usize] as i32 - reference.end as i32 + offset;
        bytes[reference.at..reference.at + 4].copy_from_slice(&distance.to_le_bytes());
    }
    // What is pushed, and up to 63 bytes to align the frame.
    let stack_bytes = frame + 8 * (2 + SAVED.len() as u32) + 64;
    Finished { bytes, stack_bytes, origins: this.origins }
}

impl Finishing<'_> {
    // ---- the frame

    fn prologue(&mut self) {
        self.encoder.push(FRAME);
        self.general(Op::Mov64, FRAME, Rm::Register(STACK), 0);
        // Where a call for fuel finds the arguments.
        self.encoder.push(7);
        self.saved.iter().for_each(|&number| self.encoder.push(number));
        if self.frame > PAGE {
            // Touch every page in order: the guard page lies below the last one.
            self.stack_by(Op::AddImmediate64, (self.frame % PAGE).wrapping_neg());
            self.touch();
            self.general(Op::MovImmediate, 0, Rm::Register(0), self.frame / PAGE);
            let start = self.encoder.bytes.len();
            self.stack_by(Op::AddImmediate64, PAGE.wrapping_neg());
            self.touch();
            self.general(Op::SubFrom, 0, Rm::Register(0), 1);
            let back = start as i32 - (self.encoder.bytes.len() as i32 + 6);
            self.encoder.branch(Some(Condition::NotEqual), back);
        } else if self.frame > 0 {
            self.stack_by(Op::AddImmediate64, self.frame.wrapping_neg());
        }
        if self.frame > 0 {
            self.stack_by(Op::AndImmediate64, 64u32.wrapping_neg());
        }
    }

    /// Adds an immediate to the stack pointer, or masks it.
    fn stack_by(&mut self, op: Op, immediate: u32) {
        self.general(op, 0, Rm::Register(STACK), immediate);
    }

    fn touch(&mut self) {
        self.general(Op::Test, 0, Rm::Memory(in_frame(0)), 0);
    }

    fn epilogue(&mut self) {
        self.encoder.vzeroupper();
        let below = 8 + 8 * self.saved.len() as i32;
        let memory = Memory { base: encode::Base::Register(FRAME), index: None, offset: -below, broadcast: false };
        self.general(Op::Lea, STACK, Rm::Memory(memory), 0);
        self.saved.iter().rev().for_each(|&number| self.encoder.pop(number));
        // The arguments go where nothing is wanted any more.
        self.encoder.pop(7);
        self.encoder.pop(FRAME);
        self.encoder.ret();
    }

    fn general(&mut self, op: Op, reg: u8, rm: Rm, immediate: u32) {
        self.encoder.put(&Encoded { immediate, ..Encoded::new(op, Size::X, reg, rm) });
    }

    // ---- blocks

    fn blocks(&mut self) {
        let emptied = self.emptied();
        let is_laid_out = |&block: &usize| emptied[block].is_none();
        let all = 0..self.code.blocks.len();
        let is_cold = |&block: &usize| self.code.blocks[block].is_cold;
        let mut order: OfBlocks<usize> = SmallVec::new();
        order.extend(all.clone().filter(|block| !is_cold(block)).filter(is_laid_out));
        order.extend(all.filter(is_cold).filter(is_laid_out));
        for (index, &block) in order.iter().enumerate() {
            self.starts[block] = Some(self.encoder.bytes.len());
            let next = order.get(index + 1).copied();
            let (output, code) = (self.output, self.code);
            let items = Items { code, output };
            for item in items.of(block) {
                match item {
                    InstOrEdit::Edit(Edit::Move { from, to }) => self.move_value(*from, *to),
                    InstOrEdit::Inst(inst) => self.inst(inst.index(), block, &emptied, next),
                }
            }
        }
    }

    /// For each block that nothing is left of but its jump, the block that it leads to in the end. Not for the first.
    fn emptied(&self) -> OfBlocks<Option<usize>> {
        let items = Items { code: self.code, output: self.output };
        let mut emptied: OfBlocks<Option<usize>> = smallvec![None; self.code.blocks.len()];
        for (number, block) in self.code.blocks.iter().enumerate().skip(1) {
            if block.insts.len() == 1 && block.successors.len() == 1 && items.of(number).count() == 1 {
                emptied[number] = Some(block.successors[0].index());
            }
        }
        // Chains are short, but a program may make them long: what is passed on the way learns the end.
        for number in 0..emptied.len() {
            let (mut end, mut passed) = (number, OfBlocks::<usize>::new());
            while let Some(next) = emptied[end] {
                // Jumps around in a circle that does nothing stay as they are.
                if passed.len() > self.code.blocks.len() {
                    emptied[number] = None;
                    break;
                }
                passed.push(end);
                end = next;
            }
            if emptied[end].is_none() {
                passed.into_iter().filter(|&block| block != end).for_each(|block| emptied[block] = Some(end));
            }
        }
        emptied
    }

    fn inst(&mut self, number: usize, block: usize, emptied: &[Option<usize>], next: Option<usize>) {
        let inst = &self.code.insts[number];
        self.note_origin(inst.origin);
        match inst.kind {
            Kind::Op(op) => self.op(op, number),
            kind => self.other(kind, block, emptied, next),
        }
    }

    /// What is no machine instruction alone.
    fn other(&mut self, kind: Kind, block: usize, emptied: &[Option<usize>], next: Option<usize>) {
        let target = |index: usize| {
            let successor = self.code.blocks[block].successors[index].index();
            emptied[successor].unwrap_or(successor)
        };
        match kind {
            Kind::Entry | Kind::Op(_) => {}
            Kind::Call(number) => {
                self.encoder.mov_address(0, self.code.addresses[number as usize]);
                self.encoder.vzeroupper();
                self.encoder.call(0);
            }
            Kind::Refuel(number) => {
                // All registers are in use: it goes through memory below the saved ones.
                self.encoder.push(0);
                self.encoder.mov_address(0, self.code.addresses[number as usize]);
                self.encoder.call(0);
                self.encoder.pop(0);
            }
            Kind::Jump => self.jump(None, target(0), next),
            Kind::Branch(condition) => {
                let [then, otherwise] = [target(0), target(1)];
                if next == Some(then) {
                    self.jump(Some(condition.inverse()), otherwise, next);
                } else {
                    self.jump(Some(condition), then, None);
                    self.jump(None, otherwise, next);
                }
            }
            Kind::Return => self.epilogue(),
        }
    }

    fn jump(&mut self, condition: Option<Condition>, target: usize, next: Option<usize>) {
        if next == Some(target) {
            return;
        }
        let distance = self.starts[target].map(|start| start as i32 - self.encoder.bytes.len() as i32);
        match distance {
            Some(distance) if distance - 2 >= -128 => self.encoder.short_branch(condition, distance as i8 - 2),
            _ => {
                self.encoder.branch(condition, 0);
                self.jumps.push((self.encoder.bytes.len() - 4, target));
            }
        }
    }

    fn note_origin(&mut self, origin: u32) {
        let (at, origin) = (self.encoder.bytes.len() as u32, origin.checked_sub(1));
        if self.origins.last().and_then(|last| last.1) == origin {
            return;
        }
        if self.origins.last().is_some_and(|last| last.0 == at) {
            self.origins.pop();
        }
        self.origins.push((at, origin));
    }

    // ---- instructions

    fn op(&mut self, op: Op, number: usize) {
        let inst = &self.code.insts[number];
        let mut allocations = self.output.inst_allocs(Inst::new(number)).iter().copied();
        let mut encoded = Encoded { immediate: inst.immediate, ..Encoded::new(op, inst.size, 0, Rm::Register(0)) };
        let mut slot = None;
        for operand in op.form().iter().filter(|operand| operand.field != Field::Rm || inst.memory.is_none()) {
            let allocation = allocations.next().expect("every operand is somewhere");
            match allocation.as_reg() {
                Some(register) => encoded.fields[operand.field as usize] = register.hw_enc() as u8,
                None => slot = Some(self.slot(allocation)),
            }
        }
        let mut register = || {
            let register = allocations.next().and_then(Allocation::as_reg);
            register.expect("addresses and masks are in registers").hw_enc() as u8
        };
        encoded.rm = match inst.memory {
            Some(memory) => {
                let base = matches!(memory.base, code::Base::Register(_)).then(&mut register);
                let index = memory.index().map(|_| (register(), memory.shift));
                Rm::Memory(self.memory(memory, base, index))
            }
            None => slot.unwrap_or(Rm::Register(encoded.fields[Field::Rm as usize])),
        };
        if inst.masked {
            encoded.mask = register();
        }
        self.encoder.put(&encoded);
    }

    fn memory(&self, address: Address, base: Option<u8>, index: Option<(u8, u8)>) -> Memory {
        let base = match (address.base, base) {
            (code::Base::Constant(number), _) => encode::Base::Constant(number),
            (_, Some(register)) => encode::Base::Register(register),
            _ => encode::Base::Register(STACK),
        };
        Memory { base, index, offset: address.offset, broadcast: address.broadcast }
    }

    /// A place on the stack.
    fn slot(&self, slot: Allocation) -> Rm {
        let slot = slot.as_stack().expect("it is in a register or on the stack");
        Rm::Memory(in_frame((self.passed as usize + slot.index() * SLOT) as i32))
    }

    /// Moves a value between registers and its place on the stack.
    fn move_value(&mut self, from: Allocation, to: Allocation) {
        let register = |allocation: Allocation| allocation.as_reg().map(PReg::hw_enc);
        let class = from.as_reg().or(to.as_reg()).expect("a move has a register").class();
        let (load, store, size) = match class {
            RegClass::Int => (Op::Mov64, Op::Store64, Size::X),
            RegClass::Float => (Op::Movups, Op::StoreVector, self.size),
            RegClass::Vector => (Op::Kmov, Op::KmovStore, Size::X),
        };
        let (op, reg, rm) = match (register(from), register(to)) {
            (Some(from), Some(to)) => (load, to, Rm::Register(from as u8)),
            (None, Some(to)) => (load, to, self.slot(from)),
            (Some(from), None) => (store, from, self.slot(to)),
            (None, None) => unreachable!("moves between places on the stack go through a register"),
        };
        self.encoder.put(&Encoded::new(op, size, reg as u8, rm));
    }
}

/// An address in the frame.
fn in_frame(offset: i32) -> Memory {
    Memory { base: encode::Base::Register(STACK), index: None, offset, broadcast: false }
}

/// Instructions and moves of blocks, in order.
struct Items<'a> {
    code: &'a Code,
    output: &'a Output,
}

impl<'a> Items<'a> {
    fn of(&self, block: usize) -> impl Iterator<Item = InstOrEdit<'a>> {
        let range = &self.code.blocks[block].insts;
        let (first, end) = (Inst::new(range.start as usize), Inst::new(range.end as usize));
        let from = self.output.edits.partition_point(|(point, _)| point.inst() < first);
        let mut edits = self.output.edits[from..].iter();
        let mut next = edits.next();
        let mut inst = first;
        std::iter::from_fn(move || {
            if inst == end {
                return None;
            }
            match next {
                Some((point, edit)) if *point <= regalloc2::ProgPoint::before(inst) => {
                    next = edits.next();
                    Some(InstOrEdit::Edit(edit))
                }
                _ => {
                    let this = inst;
                    inst = inst.next();
                    Some(InstOrEdit::Inst(this))
                }
            }
        })
    }
}
