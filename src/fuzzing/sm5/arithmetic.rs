//! Instructions of which the table says everything: classes of operands, and so what they read.

use super::Generator;
use super::declare::Register;
use super::operand::Shape;
use crate::frontend::sm4::opcode::{Controls, DataClass, Model};
use crate::frontend::sm4::operand::{Components, Mask, Swizzle};
use crate::frontend::sm4::{Group, Opcode, OpcodeToken, Operand, RegisterFile, Stage, runs};
use arbitrary::Result;
use std::sync::LazyLock;

/// The stages of programs.
pub const STAGES: [Stage; 6] =
    [Stage::Vertex, Stage::Pixel, Stage::Compute, Stage::Geometry, Stage::Hull, Stage::Domain];

/// The opcodes that run in each of them.
static RUN: LazyLock<[Vec<Opcode>; STAGES.len()]> = LazyLock::new(|| {
    let of = |stage| Opcode::ALL.iter().copied().filter(|&opcode| runs(stage, opcode)).collect();
    STAGES.map(of)
});

/// The components that an instruction reads, whatever it writes.
fn fixed_reads(opcode: Opcode) -> Option<Mask> {
    match opcode {
        Opcode::Dp2 => Some(Mask::from_bits(0b0011)),
        Opcode::Dp3 => Some(Mask::from_bits(0b0111)),
        Opcode::Dp4 => Some(Mask::ALL),
        _ => None,
    }
}

impl Generator<'_, '_> {
    /// Whether the version has an opcode.
    pub fn has_opcode(&self, opcode: Opcode) -> bool {
        let newest = match (self.version.major, self.version.minor) {
            (4, 0) => Model::Sm40,
            (4, _) => Model::Sm41,
            _ => Model::Sm50Ext11_1,
        };
        opcode.introduced() <= newest
    }

    /// The opcodes that run in the program's stage.
    pub fn running(&self) -> impl Iterator<Item = Opcode> + use<> {
        let stage = STAGES.iter().position(|&stage| stage == self.version.stage);
        RUN[stage.expect("programs are of these stages")].iter().copied()
    }

    /// The opcodes of the arithmetic groups that the program can have.
    pub fn arithmetic(&self) -> Vec<Opcode> {
        let is_plain = |opcode: &Opcode| {
            matches!(opcode.group(), Group::Float | Group::Bit | Group::Int | Group::Uint | Group::Double)
        };
        self.running().filter(is_plain).filter(|&opcode| self.has_opcode(opcode)).collect()
    }

    /// An instruction of any arithmetic opcode.
    pub fn plain(&mut self) -> Result<()> {
        let opcode = *self.u.choose(&self.plain)?;
        let pulls = matches!(opcode, Opcode::EvalCentroid | Opcode::EvalSampleIndex | Opcode::EvalSnapped);
        if pulls { self.evaluation(opcode) } else { self.instruction(opcode) }
    }

    /// An evaluation of an attribute, if there is any.
    fn evaluation(&mut self, opcode: Opcode) -> Result<()> {
        let is_attribute = |register: &&Register| register.file == RegisterFile::Input && register.number.is_some();
        let attributes: Vec<Register> = self.declared.inputs.iter().filter(is_attribute).copied().collect();
        if attributes.is_empty() {
            return self.instruction(Opcode::Mov);
        }
        let Register { number, mask, .. } = *self.u.choose(&attributes)?;
        let mut operands = vec![self.destination(Shape::Any)?];
        let mut swizzle = 0;
        for place in 0..4 {
            swizzle |= (self.component(mask)?.index() as u32) << (2 * place);
        }
        let components = Components::Swizzle(Swizzle::from_bits(swizzle));
        operands.push(Operand::new(RegisterFile::Input, components, vec![(number.unwrap_or_default(), None)]));
        match opcode {
            Opcode::EvalSampleIndex => operands.push(self.small(20)?),
            Opcode::EvalSnapped => operands.push(self.source(DataClass::Int, Mask::ALL, false)?),
            _ => {}
        }
        self.emit(OpcodeToken::new(opcode), operands);
        Ok(())
    }

    /// An instruction of an opcode of the arithmetic groups.
    pub fn instruction(&mut self, opcode: Opcode) -> Result<()> {
        let (destinations, sources) = opcode.slots().split_at(opcode.destinations());
        let has_doubles = opcode.slots().iter().any(|slot| slot.class == DataClass::Double);
        let mut operands = Vec::with_capacity(opcode.slots().len());
        for slot in destinations {
            let shape = match slot.class {
                DataClass::Double => Shape::Doubles,
                _ if has_doubles => Shape::OfDoubles,
                _ => Shape::Any,
            };
            operands.push(self.destination(shape)?);
        }
        // Of two results one may be dropped, and they do not go to the same place.
        if let [first, second] = &mut operands[..]
            && (overlap(first, second) || self.one_in(4)?)
        {
            let dropped = if self.u.arbitrary()? { first } else { second };
            *dropped = Operand::new(RegisterFile::Null, Components::None, Vec::new());
        }
        let written = operands.iter().fold(0, |mask, operand| mask | operand.components().written().bits());
        let reads = match fixed_reads(opcode) {
            Some(reads) => reads,
            // Results of 32 bits are those of the first and of the second double, wherever they go.
            None if has_doubles => match destinations[0].class {
                DataClass::Double => Mask::from_bits(u32::from(written & 1 | written >> 1 & 2)),
                _ => Mask::from_bits((1 << written.count_ones()) - 1),
            },
            None => Mask::from_bits(written.into()),
        };
        for (number, slot) in sources.iter().enumerate() {
            // The first of several sources without a type is a condition, which has no sign.
            let is_condition = slot.class == DataClass::Untyped && number == 0 && sources.len() > 1;
            operands.push(match slot.class {
                DataClass::Double => self.doubles(reads)?,
                class => self.source(class, reads, !is_condition)?,
            });
        }
        let mut token = OpcodeToken::new(opcode);
        if opcode.controls() == Controls::Saturate && self.one_in(6)? {
            token = token.saturated();
        }
        if self.has_model(5, 0) && self.one_in(6)? {
            token = token.exact(self.mask(Mask::ALL)?);
        }
        self.emit(token, operands);
        Ok(())
    }
}

/// Whether two destinations name a component in common, as far as can be told.
fn overlap(a: &Operand, b: &Operand) -> bool {
    let same = a.file() == b.file()
        && a.indices()
            .zip(b.indices())
            .all(|(a, b)| a.relative.is_some() || b.relative.is_some() || a.immediate == b.immediate);
    same && a.components().written().bits() & b.components().written().bits() != 0
}
