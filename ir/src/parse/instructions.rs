//! Instructions: result, mnemonic, immediate, operands.

use super::{ParseError, Parser, check_limit, limits, literal_bits, numbered};
use crate::entity::{Array, Block, Inst, Resource, Sampler, Space};
use crate::function::{Imm, InstData, Operands, Origin, Picks, ValueData, ValueDef};
use crate::memory::AtomicFunction;
use crate::op::{ImmKind, Op, SysVal};
use crate::types::Type;
use cranelift_entity::EntityRef;

impl Parser<'_, '_> {
    /// An instruction whose first word, its result or its mnemonic, is `word`.
    pub(super) fn inst(&mut self, block: Block, start: usize, word: &str) -> Result<(), ParseError> {
        let result = match numbered(word, "v") {
            Some(number) => {
                self.cursor.expect("=")?;
                Some(number)
            }
            None => None,
        };
        let mnemonic_at = if result.is_some() { self.cursor.position() } else { start };
        let mnemonic = if result.is_some() { self.cursor.word() } else { word };
        let Some(op) = Op::from_mnemonic(mnemonic) else {
            return Err(self.cursor.error_at(mnemonic_at, format!("there is no op `{mnemonic}`")));
        };
        let ty = if op.is_typed() {
            self.cursor.expect(".")?;
            self.ty()?
        } else if op.is_by_row() && self.cursor.eat(".") {
            self.cursor.expect_word(Type::Row.name())?;
            Type::Row
        } else {
            op.untyped()
        };
        let imm = self.imm(op, ty)?;
        let args = self.operands(op)?;
        let inst = Inst::new(self.func.insts.len());
        check_limit(self.cursor, start, "the number of instructions", inst.index(), limits::INSTS)?;
        let result_ty = op.result().of_inst(ty);
        let result = match (result, result_ty) {
            (Some(number), Some(ty)) => {
                Some(self.define_value(start, number, ValueData { ty, def: ValueDef::Inst(inst) })?)
            }
            (None, None) => None,
            (Some(_), None) => return Err(self.cursor.error_at(start, format!("{op} has no result"))),
            (None, Some(_)) => return Err(self.cursor.error_at(start, format!("the result of {op} has no name"))),
        };
        let vector = match self.cursor.eat_word("vector") {
            true => self.cursor.number("a vector", u8::MAX.into())? as u8,
            false => 0,
        };
        self.func.insts.push(InstData { op, ty, args, imm, result, origin: Origin::default(), vector });
        self.func.blocks[block].insts.push(inst);
        Ok(())
    }

    fn imm(&mut self, op: Op, ty: Type) -> Result<Imm, ParseError> {
        Ok(match op.imm() {
            ImmKind::None => Imm::None,
            ImmKind::Bits => Imm::Bits(self.literal(ty)?),
            ImmKind::Element => {
                let element = self.cursor.number("an element", u32::MAX)?;
                Imm::Element { element, component: self.component()? }
            }
            ImmKind::Stream => Imm::Stream(self.cursor.number("an element", u32::MAX)?),
            ImmKind::Slot => Imm::Slot(self.cursor.number("a slot", u32::MAX)?),
            ImmKind::Worklist => Imm::Worklist(self.cursor.number("a worklist", u32::MAX)?),
            ImmKind::Nested => {
                let worklist = self.cursor.number("a worklist", u32::MAX)?;
                self.cursor.expect(",")?;
                let is_all = self.cursor.eat_word("all");
                let outer = if is_all { None } else { Some(self.cursor.number("a worklist or `all`", u32::MAX)?) };
                Imm::Nested { worklist, outer }
            }
            ImmKind::SysVal => {
                let start = self.cursor.position();
                let name = self.cursor.word();
                let Some(sysval) = SysVal::ALL.into_iter().find(|sysval| sysval.name() == name) else {
                    return Err(self.cursor.error_at(start, format!("there is no system value `{name}`")));
                };
                Imm::SysVal(sysval)
            }
            ImmKind::Row => {
                let (space, row) = self.space_row()?;
                Imm::Row { space, row, component: self.component()? }
            }
            ImmKind::SpaceRow => {
                let (space, row) = self.space_row()?;
                Imm::SpaceRow { space, row }
            }
            ImmKind::ResourceByte => {
                let resource = Resource::from_u32(self.entity_number("resource")?);
                self.cursor.expect("[")?;
                let offset = self.cursor.number("a byte offset", u32::MAX)?;
                self.cursor.expect("]")?;
                Imm::ResourceByte { resource, offset }
            }
            ImmKind::Resource => Imm::Resource(Resource::from_u32(self.entity_number("resource")?)),
            ImmKind::Array => {
                let array = Array::from_u32(self.entity_number("array")?);
                Imm::Array { array, component: self.component()? }
            }
            ImmKind::Component => Imm::Component(self.cursor.number("a component", u8::MAX.into())? as u8),
            ImmKind::Texel => {
                let texture = Resource::from_u32(self.entity_number("resource")?);
                Imm::Texel { texture, offsets: self.offsets()? }
            }
            ImmKind::Sample => {
                let texture = Resource::from_u32(self.entity_number("resource")?);
                let offsets = self.offsets()?;
                Imm::Sample { texture, sampler: self.used_sampler()?, offsets }
            }
            ImmKind::Gather => {
                let texture = Resource::from_u32(self.entity_number("resource")?);
                let (component, offsets) = (self.component()?, self.offsets()?);
                Imm::Gather { texture, sampler: self.used_sampler()?, offsets, component }
            }
            ImmKind::Atomic => {
                let resource = Resource::from_u32(self.entity_number("resource")?);
                let start = self.cursor.position();
                let name = self.cursor.word();
                let Some(&function) = AtomicFunction::ALL.iter().find(|function| function.name() == name) else {
                    return Err(self.cursor.error_at(start, format!("there is no atomic function `{name}`")));
                };
                Imm::Atomic { resource, function }
            }
            ImmKind::Picks => {
                let mut numbers = [0; Picks::LANES];
                for (lane, number) in numbers.iter_mut().enumerate() {
                    self.cursor.expect(if lane == 0 { "[" } else { "," })?;
                    *number = self.cursor.number("a lane of two operands", 2 * Picks::LANES as u32 - 1)? as u8;
                }
                self.cursor.expect("]")?;
                Imm::Picks(Picks::new(numbers))
            }
        })
    }

    /// `space0[3]`.
    fn space_row(&mut self) -> Result<(Space, u32), ParseError> {
        let space = Space::from_u32(self.entity_number("space")?);
        self.cursor.expect("[")?;
        let row = self.cursor.number("a row", u32::MAX)?;
        self.cursor.expect("]")?;
        Ok((space, row))
    }

    /// ` + [1, 0, -2]`, or nothing.
    fn offsets(&mut self) -> Result<[i8; 3], ParseError> {
        let mut offsets = [0; 3];
        if !self.cursor.eat("+") {
            return Ok(offsets);
        }
        self.cursor.expect("[")?;
        for (index, offset) in offsets.iter_mut().enumerate() {
            if index > 0 {
                self.cursor.expect(",")?;
            }
            let start = self.cursor.position();
            let text = self.cursor.literal();
            let value = literal_bits(Type::I32, text).and_then(|bits| i8::try_from(bits as u32 as i32).ok());
            *offset = value.ok_or_else(|| self.cursor.error_at(start, format!("`{text}` is no texel offset")))?;
        }
        self.cursor.expect("]")?;
        Ok(offsets)
    }

    /// `, sampler0`.
    fn used_sampler(&mut self) -> Result<Sampler, ParseError> {
        self.cursor.expect(",")?;
        Ok(Sampler::from_u32(self.entity_number("sampler")?))
    }

    /// `.3`.
    fn component(&mut self) -> Result<u8, ParseError> {
        self.cursor.expect(".")?;
        Ok(self.cursor.number("a component", u8::MAX.into())? as u8)
    }

    /// All operands, separated from each other and from the immediate by commas.
    fn operands(&mut self, op: Op) -> Result<Operands, ParseError> {
        let mut args = Vec::new();
        let mut more = op.imm() == ImmKind::None && !op.operands().is_empty() || self.cursor.eat(",");
        while more {
            if args.len() == Operands::MAX {
                return Err(self.cursor.expected("the end of the instruction"));
            }
            args.push(self.value()?);
            more = self.cursor.eat(",");
        }
        Ok(Operands::new(&args))
    }
}
