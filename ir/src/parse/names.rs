//! The symbol table: which block or value a number of the text means.

use super::{Name, ParseError, Parser, check_limit, limits, numbered};
use crate::entity::{Block, Value};
use crate::function::{BlockData, ValueData, ValueDef};
use crate::types::Type;

impl Parser<'_, '_> {
    pub(super) fn block_named(&mut self, start: usize, number: u32) -> Result<Block, ParseError> {
        if let Some(name) = self.blocks.get(&number) {
            return Ok(name.entity);
        }
        check_limit(self.cursor, start, "the number of blocks", self.func.blocks.len(), limits::BLOCKS)?;
        let block = self.func.blocks.push(BlockData::default());
        self.blocks.insert(number, Name { entity: block, first_mention: start, is_defined: false });
        Ok(block)
    }

    pub(super) fn value_number(&mut self) -> Result<u32, ParseError> {
        let start = self.cursor.position();
        match numbered(self.cursor.word(), "v") {
            Some(number) => Ok(number),
            None => Err(self.cursor.error_at(start, "expected a value like `v0`")),
        }
    }

    /// The use of a value.
    pub(super) fn value(&mut self) -> Result<Value, ParseError> {
        let start = self.cursor.position();
        let number = self.value_number()?;
        self.value_named(start, number)
    }

    fn value_named(&mut self, start: usize, number: u32) -> Result<Value, ParseError> {
        if let Some(name) = self.values.get(&number) {
            return Ok(name.entity);
        }
        check_limit(self.cursor, start, "the number of values", self.func.values.len(), limits::VALUES)?;
        // What it is comes with its definition, which `check_defined` demands.
        let unknown = ValueData { ty: Type::I32, def: ValueDef::Param(Block::from_u32(0)) };
        let value = self.func.values.push(unknown);
        self.values.insert(number, Name { entity: value, first_mention: start, is_defined: false });
        Ok(value)
    }

    pub(super) fn define_value(&mut self, start: usize, number: u32, data: ValueData) -> Result<Value, ParseError> {
        let value = self.value_named(start, number)?;
        let name = self.values.get_mut(&number).expect("the lookup has just made it");
        if std::mem::replace(&mut name.is_defined, true) {
            return Err(self.cursor.error_at(start, format!("v{number} is defined twice")));
        }
        self.func.values[value] = data;
        Ok(value)
    }

    /// The first mention of something without a definition is an error.
    pub(super) fn check_defined(&self) -> Result<(), ParseError> {
        let blocks = self.blocks.iter().filter(|(_, name)| !name.is_defined);
        let blocks = blocks.map(|(number, name)| (name.first_mention, "block", *number));
        let values = self.values.iter().filter(|(_, name)| !name.is_defined);
        let values = values.map(|(number, name)| (name.first_mention, "v", *number));
        match blocks.chain(values).min() {
            Some((position, prefix, number)) => {
                Err(self.cursor.error_at(position, format!("{prefix}{number} is not defined")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn entity_number(&mut self, prefix: &str) -> Result<u32, ParseError> {
        let start = self.cursor.position();
        // The largest number of all is not an index.
        match numbered(self.cursor.word(), prefix).filter(|&number| number != u32::MAX) {
            Some(number) => Ok(number),
            None => Err(self.cursor.error_at(start, format!("expected a name like `{prefix}0`"))),
        }
    }
}
