//! Basic blocks: how each begins, with its parameters, and how it ends, with what it gives to those of others.

use super::{ParseError, Parser, check_limit, limits};
use crate::entity::Block;
use crate::function::{BlockCall, Terminator, ValueData, ValueDef};
use crate::types::Type;

impl Parser<'_, '_> {
    /// `(v1: f32, v2: i32) weight 7:`, the parameters and the weight being optional.
    pub(super) fn block_head(&mut self, start: usize, number: u32) -> Result<Block, ParseError> {
        let block = self.block_named(start, number)?;
        let name = self.blocks.get_mut(&number).expect("the lookup has just made it");
        if std::mem::replace(&mut name.is_defined, true) {
            return Err(self.cursor.error_at(start, format!("block{number} is defined twice")));
        }
        self.func.layout.push(block);
        if self.cursor.eat("(") {
            loop {
                let start = self.cursor.position();
                check_limit(
                    self.cursor,
                    start,
                    "the number of parameters",
                    self.func.blocks[block].params.len(),
                    limits::PARAMS,
                )?;
                let number = self.value_number()?;
                self.cursor.expect(":")?;
                let ty = self.ty()?;
                let param = self.define_value(start, number, ValueData { ty, def: ValueDef::Param(block) })?;
                self.func.blocks[block].params.push(param);
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect(")")?;
        }
        if self.cursor.eat_word("weight") {
            self.func.blocks[block].weight = self.cursor.number("the weight", u32::MAX)?;
        }
        self.cursor.expect(":")?;
        Ok(block)
    }

    /// The terminator that begins with `word`, unless that is no terminator's name.
    pub(super) fn terminator(&mut self, word: &str) -> Result<Option<Terminator>, ParseError> {
        Ok(Some(match word {
            "jump" => Terminator::Jump(self.call()?),
            "br_if" => {
                let condition = self.value()?;
                self.cursor.expect(",")?;
                let then_call = self.call()?;
                self.cursor.expect(",")?;
                Terminator::BrIf { condition, then_call, else_call: self.call()? }
            }
            "switch" => {
                let value = self.value()?;
                self.cursor.expect("{")?;
                let mut cases = Vec::new();
                while !self.cursor.eat_word("default") {
                    let start = self.cursor.position();
                    check_limit(self.cursor, start, "the number of cases", cases.len(), limits::CASES)?;
                    let case = self.literal(Type::I32)? as u32;
                    self.cursor.expect(":")?;
                    cases.push((case, self.call()?));
                    self.cursor.expect(",")?;
                }
                self.cursor.expect(":")?;
                let default = self.call()?;
                self.cursor.expect("}")?;
                Terminator::Switch { value, cases, default }
            }
            "return" => Terminator::Return,
            _ => return Ok(None),
        }))
    }

    /// `block1` or `block1(v0, v1)`.
    fn call(&mut self) -> Result<BlockCall, ParseError> {
        let start = self.cursor.position();
        let number = self.entity_number("block")?;
        let block = self.block_named(start, number)?;
        let mut args = Vec::new();
        if self.cursor.eat("(") {
            loop {
                let start = self.cursor.position();
                check_limit(self.cursor, start, "the number of values", args.len(), limits::PARAMS)?;
                args.push(self.value()?);
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect(")")?;
        }
        Ok(BlockCall { block, args })
    }
}
