//! Records and instructions of the IR → steps of the program.

use super::step::{Step, TracedAccess, Write, WrittenAs};
use crate::frontend::RegisterName;
use crate::traced::TracedProgram;
use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::TypeRule;
use shaderjit_ir::records::Record;
use shaderjit_ir::texture::{Access, is_texture_op};
use shaderjit_ir::trace::Observer;
use shaderjit_ir::{Block, Op, Type, Value};

/// Puts together what belongs to one instruction, and tells it when the next one begins.
pub(super) struct Watch<'w> {
    program: &'w TracedProgram,
    tell: &'w mut dyn FnMut(Step),
    step: Option<Step>,
    /// How often each instruction has been run, by its byte offset.
    visits: HashMap<u32, u64>,
}

impl<'w> Watch<'w> {
    pub fn new(program: &'w TracedProgram, tell: &'w mut dyn FnMut(Step)) -> Watch<'w> {
        Watch { program, tell, step: None, visits: HashMap::new() }
    }

    /// Tells the last step.
    pub fn end(&mut self) {
        if let Some(step) = self.step.take() {
            (self.tell)(step);
        }
    }

    fn begin(&mut self, offset: Option<u32>) {
        self.end();
        self.step = offset.map(|offset| {
            let visit = self.visits.entry(offset).or_default();
            *visit += 1;
            Step {
                run: 0,
                offset,
                text: self.program.text(offset),
                visit: *visit,
                writes: Vec::new(),
                accesses: Vec::new(),
                test: None,
                goes_back: false,
            }
        });
    }

    fn write(&mut self, register: Option<RegisterName>, bits: u32, kind: WrittenAs) {
        let (Some(step), Some(register)) = (&mut self.step, register) else { return };
        match step.writes.iter_mut().find(|write| write.register == register) {
            Some(write) => (write.bits, write.kind) = (bits, kind),
            None => step.writes.push(Write { register, bits, kind }),
        }
    }

    /// What a value was computed as.
    fn kind(&self, value: Value) -> WrittenAs {
        let function = &self.program.function;
        let Some(inst) = function.def_inst(value) else { return WrittenAs::Bits };
        match (inst.op, inst.op.result()) {
            (Op::BitcastF32, _) | (_, TypeRule::I1 | TypeRule::I32) => WrittenAs::Integer,
            (_, TypeRule::F32 | TypeRule::Float) => WrittenAs::Float,
            (_, TypeRule::Bits) if function.ty(value) != Type::F32 => WrittenAs::Integer,
            _ => WrittenAs::Bits,
        }
    }

    /// What an instruction asks of textures and memory.
    fn access(&mut self, inst: &InstData, operands: &[[u32; 4]], result: [u32; 4]) {
        let function = &self.program.function;
        let (resource, sampler) = match (Access::new(inst.op, inst.imm), inst.imm) {
            (Some(access), _) => (access.texture, access.sampler),
            (None, Imm::ResourceByte { resource, .. }) => (resource, None),
            _ => return,
        };
        let Some(step) = &mut self.step else { return };
        let words = |value: Value, words: &[u32; 4]| words[..function.ty(value).words() as usize].to_vec();
        let mut operands: Vec<Vec<u32>> = inst.args.iter().zip(operands).map(|(&arg, row)| words(arg, row)).collect();
        if let (Imm::ResourceByte { offset, .. }, Some([byte])) =
            (inst.imm, operands.first_mut().map(Vec::as_mut_slice))
        {
            *byte = byte.wrapping_add(offset);
        }
        step.accesses.push(TracedAccess {
            op: inst.op.mnemonic(),
            resource: function.resources[resource].name.clone(),
            sampler: sampler.map(|sampler| function.samplers[sampler].name.clone()),
            operands,
            is_filtered: is_texture_op(inst.op) && sampler.is_some(),
            result: inst.result.map(|value| words(value, &result)),
        });
    }
}

impl Observer for Watch<'_> {
    fn record(&mut self, record: &Record, bits: u64) {
        match *record {
            Record::Begin(origin) => self.begin(origin.offset()),
            Record::BeginWord { first, .. } => self.begin(Some((bits as u32).wrapping_mul(4).wrapping_add(first))),
            Record::Write { variable, value } => {
                let name = self.program.debug.registers.get(&variable).cloned();
                self.write(name, bits as u32, self.kind(value));
            }
            Record::Test { holds, .. } => {
                if let Some(step) = &mut self.step {
                    step.test = Some((bits != 0) == holds);
                }
            }
        }
    }

    fn inst(&mut self, inst: &InstData, operands: &[[u32; 4]], result: [u32; 4]) {
        match (inst.op, inst.imm, operands) {
            (Op::ArrayStoreMasked, _, [_, _, [0, ..]]) => {}
            (
                Op::ArrayStore | Op::ArrayStoreMasked,
                Imm::Array { array, component },
                [[element, ..], [bits, ..], ..],
            ) if *element < self.program.function.arrays[array].elements => {
                let name = self.program.debug.arrays.get(&array);
                let name = name.and_then(|name| name.cell(*element, component));
                self.write(name, *bits, self.kind(inst.args[1]));
            }
            _ => self.access(inst, operands, result),
        }
    }

    fn edge(&mut self, _from: Block, _to: Block, is_backwards: bool) {
        if let Some(step) = &mut self.step {
            step.goes_back |= is_backwards;
        }
    }
}
