//! The text form. Blocks and values are numbered in the order of printing, so equal functions print equal text.

use crate::entity::{Block, Inst, Value};
use crate::function::{BlockCall, Function, Imm, InstData, Origin, Terminator};
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use std::fmt::{self, Write};

/// Dense numbers for blocks and values, in layout order.
pub(crate) struct Numbering {
    blocks: SecondaryMap<Block, u32>,
    values: SecondaryMap<Value, u32>,
}

impl Numbering {
    pub(crate) fn new(func: &Function) -> Numbering {
        let (mut blocks, mut values) = (SecondaryMap::with_default(u32::MAX), SecondaryMap::with_default(u32::MAX));
        let mut next = 0;
        for (number, &block) in func.layout.iter().enumerate() {
            blocks[block] = number as u32;
            for value in func.defs_in(block) {
                values[value] = next;
                next += 1;
            }
        }
        Numbering { blocks, values }
    }

    pub(crate) fn value(&self, value: Value) -> Named {
        Named("v", self.values[value])
    }

    pub(crate) fn block(&self, block: Block) -> Named {
        Named("block", self.blocks[block])
    }

    fn call(&self, out: &mut String, call: &BlockCall) {
        let _ = write!(out, "{}", self.block(call.block));
        for (index, &arg) in call.args.iter().enumerate() {
            let _ = write!(out, "{}{}", if index == 0 { "(" } else { ", " }, self.value(arg));
        }
        if !call.args.is_empty() {
            out.push(')');
        }
    }

    pub(crate) fn inst_text(&self, inst: &InstData) -> String {
        let mut out = String::new();
        if let Some(result) = inst.result {
            let _ = write!(out, "{} = ", self.value(result));
        }
        let _ = write!(out, "{}", inst.op);
        if inst.op.is_typed() || inst.ty == Type::Row && inst.op.is_by_row() {
            let _ = write!(out, ".{}", inst.ty);
        }
        let mut operands = Vec::new();
        match inst.imm {
            Imm::None => {}
            Imm::Bits(bits) => operands.push(literal(inst.ty, bits)),
            Imm::Element { element, component } => operands.push(format!("{element}.{component}")),
            Imm::Stream(number) | Imm::Slot(number) | Imm::Worklist(number) => operands.push(number.to_string()),
            Imm::Nested { worklist, outer } => {
                operands.push(worklist.to_string());
                operands.push(outer.map_or_else(|| "all".to_string(), |outer| outer.to_string()));
            }
            Imm::SysVal(sysval) => operands.push(sysval.name().to_string()),
            Imm::Row { space, row, component } => operands.push(format!("{space}[{row}].{component}")),
            Imm::SpaceRow { space, row } => operands.push(format!("{space}[{row}]")),
            Imm::ResourceByte { resource, offset } => operands.push(format!("{resource}[{offset}]")),
            Imm::Resource(resource) => operands.push(resource.to_string()),
            Imm::Array { array, component } => operands.push(format!("{array}.{component}")),
            Imm::Component(component) => operands.push(format!("{component}")),
            Imm::Texel { texture, offsets } => operands.push(format!("{texture}{}", Offsets(offsets))),
            Imm::Sample { texture, sampler, offsets } => {
                operands.push(format!("{texture}{}", Offsets(offsets)));
                operands.push(sampler.to_string());
            }
            Imm::Gather { texture, sampler, offsets, component } => {
                operands.push(format!("{texture}.{component}{}", Offsets(offsets)));
                operands.push(sampler.to_string());
            }
            Imm::Atomic { resource, function } => operands.push(format!("{resource} {}", function.name())),
            Imm::Picks(picks) => operands.push(format!("{:?}", picks.numbers())),
        }
        operands.extend(inst.args.iter().map(|&arg| self.value(arg).to_string()));
        for (index, operand) in operands.iter().enumerate() {
            let _ = write!(out, "{}{operand}", if index == 0 { " " } else { ", " });
        }
        if inst.vector > 0 {
            let _ = write!(out, " vector {}", inst.vector);
        }
        out
    }

    pub(crate) fn terminator_text(&self, terminator: &Terminator) -> String {
        let mut out = String::new();
        match terminator {
            Terminator::Jump(call) => {
                out.push_str("jump ");
                self.call(&mut out, call);
            }
            Terminator::BrIf { condition, then_call, else_call } => {
                let _ = write!(out, "br_if {}, ", self.value(*condition));
                self.call(&mut out, then_call);
                out.push_str(", ");
                self.call(&mut out, else_call);
            }
            Terminator::Switch { value, cases, default } => {
                let _ = write!(out, "switch {} {{", self.value(*value));
                for (case, call) in cases {
                    let _ = write!(out, " {}: ", literal(Type::I32, u64::from(*case)));
                    self.call(&mut out, call);
                    out.push(',');
                }
                out.push_str(" default: ");
                self.call(&mut out, default);
                out.push_str(" }");
            }
            Terminator::Return => out.push_str("return"),
        }
        out
    }
}

/// Texel offsets, ` + [1, 0, -2]`; nothing if all are zero.
struct Offsets([i8; 3]);

impl fmt::Display for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [0, 0, 0] => Ok(()),
            [x, y, z] => write!(f, " + [{x}, {y}, {z}]"),
        }
    }
}

/// A prefix and a number; a value that no block of the layout defines prints as `v?`, a block outside the layout as
/// `block?`.
pub(crate) struct Named(&'static str, u32);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            u32::MAX => write!(f, "{}?", self.0),
            number => write!(f, "{}{number}", self.0),
        }
    }
}

/// A literal as text: `true`, `-5`, `1.5`; decimal where it reads back to the same bits, else the bits in hexadecimal.
fn literal(ty: Type, bits: u64) -> String {
    match ty {
        Type::I1 => (bits != 0).to_string(),
        Type::I32 => {
            let value = bits as u32 as i32;
            if (-0xffff..=0xffff).contains(&value) { value.to_string() } else { format!("{:#010x}", bits as u32) }
        }
        Type::F32 => {
            let value = f32::from_bits(bits as u32);
            if value.is_finite() && !value.is_subnormal() {
                format!("{value:?}")
            } else {
                format!("{:#010x}", bits as u32)
            }
        }
        Type::F64 => {
            let value = f64::from_bits(bits);
            if value.is_finite() && !value.is_subnormal() { format!("{value:?}") } else { format!("{bits:#018x}") }
        }
        // There are none; the verifier says so.
        Type::Row => format!("{bits:#x}"),
    }
}

/// One instruction as it stands in the function's text. Costs a walk over the function: for error messages.
pub fn inst_to_string(func: &Function, inst: Inst) -> String {
    Numbering::new(func).inst_text(&func.insts[inst])
}

/// A block's terminator as it stands in the function's text. Costs a walk over the function: for error messages.
pub fn terminator_to_string(func: &Function, block: Block) -> String {
    let numbering = Numbering::new(func);
    func.blocks[block].terminator.as_ref().map_or_else(|| "nothing".to_string(), |t| numbering.terminator_text(t))
}

/// The name a block has in the function's text. Costs a walk over the function: for error messages.
pub fn block_name(func: &Function, block: Block) -> String {
    Numbering::new(func).block(block).to_string()
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, f, |_, _| Ok(()))
    }
}

/// A function's text with comments that say what instructions were made for.
pub struct WithOrigins<'a, F> {
    /// The function.
    pub function: &'a Function,
    /// The comment above instructions that were made for the source instruction at a byte offset, or for none; no text
    /// is no comment. It has no line breaks.
    pub text: F,
}

impl<F: Fn(Option<u32>) -> Option<String>> fmt::Display for WithOrigins<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.function, f, |f, offset| match (self.text)(offset) {
            Some(text) => writeln!(f, "    ; {text}"),
            None => Ok(()),
        })
    }
}

/// Prints a function. `above` prints what goes above the instructions that were made for the source instruction at a
/// byte offset, or for none, as a block begins.
fn print(
    func: &Function,
    f: &mut fmt::Formatter<'_>,
    above: impl Fn(&mut fmt::Formatter<'_>, Option<u32>) -> fmt::Result,
) -> fmt::Result {
    let numbering = Numbering::new(func);
    write!(f, "function {:?} inputs {} outputs {}", func.name, func.inputs, func.outputs)?;
    if let Some(threads) = func.threads {
        write!(f, " threads {threads}")?;
    }
    writeln!(f, "{} {{", if func.lockstep { " lockstep" } else { "" })?;
    for (space, data) in &func.spaces {
        write!(f, "    {space} {:?}", data.name)?;
        if let Some(rows) = &data.table {
            f.write_str(" = [")?;
            for (index, row) in rows.iter().enumerate() {
                let [x, y, z, w] = row;
                write!(f, "{}{{{x:#x}, {y:#x}, {z:#x}, {w:#x}}}", if index == 0 { "" } else { ", " })?;
            }
            f.write_str("]")?;
        }
        writeln!(f)?;
    }
    for (resource, data) in &func.resources {
        write!(f, "    {resource} {:?}", data.name)?;
        match (data.texture, data.memory) {
            (Some(shape), _) => writeln!(f, " {shape}")?,
            (None, Some(kind)) => writeln!(f, " {kind}")?,
            (None, None) => writeln!(f)?,
        }
    }
    for (sampler, data) in &func.samplers {
        writeln!(f, "    {sampler} {:?}", data.name)?;
    }
    for (array, data) in &func.arrays {
        let kept = if data.kept { " kept" } else { "" };
        writeln!(f, "    {array} [{} x {}]{kept}", data.elements, data.components)?;
    }
    for &block in &func.layout {
        let data = &func.blocks[block];
        write!(f, "{}", numbering.block(block))?;
        for (index, &param) in data.params.iter().enumerate() {
            write!(f, "{}{}: {}", if index == 0 { "(" } else { ", " }, numbering.value(param), func.ty(param))?;
        }
        f.write_str(if data.params.is_empty() { "" } else { ")" })?;
        match data.weight {
            0 => writeln!(f, ":")?,
            weight => writeln!(f, " weight {weight}:")?,
        }
        let mut origin = Origin::default();
        for inst in func.insts_in(block) {
            if inst.origin != origin {
                origin = inst.origin;
                above(f, origin.offset())?;
            }
            writeln!(f, "    {}", numbering.inst_text(inst))?;
        }
        if let Some(terminator) = &data.terminator {
            writeln!(f, "    {}", numbering.terminator_text(terminator))?;
        }
    }
    writeln!(f, "}}")
}

impl PartialEq for Function {
    /// Equal up to the numbers of blocks, instructions and values: their texts are equal.
    fn eq(&self, other: &Function) -> bool {
        self.to_string() == other.to_string()
    }
}
