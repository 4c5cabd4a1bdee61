//! Reads the text form that [`crate::print`] writes: `parse(&func.to_string())` is a function equal to `func`.
//!
//! The text may come from anywhere. What the parser gives has every index in range and everything named defined, so
//! that it can be printed and [verified](crate::verify); whether it obeys the rules of the IR is the verifier's to say.

mod blocks;
mod cursor;
mod declarations;
mod instructions;
pub mod limits;
mod names;

use crate::entity::{Block, Value};
use crate::function::Function;
use crate::types::Type;
use cursor::Cursor;
use std::collections::HashMap;
use thiserror::Error;

/// Why a text is not a function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} (at line {line}, column {column})")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// Reads one function.
///
/// ```
/// let text = r#"function "double" inputs 1 outputs 1 {
/// block0:
///     v0 = input.f32 0.0
///     v1 = fadd v0, v0
///     output.f32 0.0, v1
///     return
/// }
/// "#;
/// let func = shaderjit_ir::parse::parse(text)?;
/// assert_eq!(func.to_string(), text);
/// # Ok::<(), shaderjit_ir::parse::ParseError>(())
/// ```
pub fn parse(text: &str) -> Result<Function, ParseError> {
    let mut cursor = Cursor::new(text);
    let func = Parser::function(&mut cursor)?;
    if cursor.is_at_end() { Ok(func) } else { Err(cursor.expected("the end of the text")) }
}

/// Reads any number of functions, one after the other.
pub fn parse_module(text: &str) -> Result<Vec<Function>, ParseError> {
    let mut cursor = Cursor::new(text);
    let mut functions = Vec::new();
    while !cursor.is_at_end() {
        functions.push(Parser::function(&mut cursor)?);
    }
    Ok(functions)
}

/// The bits of a literal of type `ty` as the text form writes it: `true`, decimal, or the bits in hexadecimal. `None`
/// if it is not one, or out of range.
pub fn literal_bits(ty: Type, text: &str) -> Option<u64> {
    let bits = match text.strip_prefix("0x") {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok()?,
        Some(_) => return None,
        None if ty == Type::I1 => match text {
            "false" => 0,
            "true" => 1,
            _ => return None,
        },
        // Rust's own parsers know more forms than the text has: `+1`, `inf`, `nan`.
        None if !text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => return None,
        None => match ty {
            Type::I32 => match text.parse::<i64>().ok()? {
                value if value < i64::from(i32::MIN) || value > i64::from(u32::MAX) => return None,
                value => u64::from(value as u32),
            },
            Type::F32 => u64::from(text.parse::<f32>().ok().filter(|value| value.is_finite())?.to_bits()),
            _ => text.parse::<f64>().ok().filter(|value| value.is_finite())?.to_bits(),
        },
    };
    let width = match ty {
        Type::I1 => 1,
        Type::I32 | Type::F32 => 32,
        Type::F64 => 64,
        Type::Row => return None,
    };
    (width == 64 || bits >> width == 0).then_some(bits)
}

/// What a number after `block` or `v` means. It may be used before its definition, but must have one.
struct Name<K> {
    entity: K,
    first_mention: usize,
    is_defined: bool,
}

/// One function being read.
struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    func: Function,
    blocks: HashMap<u32, Name<Block>>,
    values: HashMap<u32, Name<Value>>,
    array_cells: u32,
}

impl<'t> Parser<'_, 't> {
    fn function(cursor: &mut Cursor<'t>) -> Result<Function, ParseError> {
        cursor.expect_word("function")?;
        let mut func = Function::new(cursor.string()?);
        cursor.expect_word("inputs")?;
        func.inputs = cursor.number("the number of inputs", limits::ELEMENTS)?;
        cursor.expect_word("outputs")?;
        func.outputs = cursor.number("the number of outputs", limits::ELEMENTS)?;
        if cursor.eat_word("threads") {
            func.threads = Some(cursor.number("the number of threads", limits::THREADS)?);
        }
        func.lockstep = cursor.eat_word("lockstep");
        cursor.expect("{")?;
        let mut parser = Parser { cursor, func, blocks: HashMap::new(), values: HashMap::new(), array_cells: 0 };
        let mut block = None;
        while !parser.cursor.eat("}") {
            parser.item(&mut block)?;
        }
        parser.check_defined()?;
        Ok(parser.func)
    }

    /// A declaration, the head of a block, an instruction or a terminator.
    fn item(&mut self, block: &mut Option<Block>) -> Result<(), ParseError> {
        let start = self.cursor.position();
        let word = self.cursor.word();
        if let Some(number) = numbered(word, "space") {
            self.space(start, number)
        } else if let Some(number) = numbered(word, "resource") {
            self.resource(start, number)
        } else if let Some(number) = numbered(word, "sampler") {
            self.sampler(start, number)
        } else if let Some(number) = numbered(word, "array") {
            self.array(start, number)
        } else if let Some(number) = numbered(word, "block") {
            *block = Some(self.block_head(start, number)?);
            Ok(())
        } else if word.is_empty() {
            Err(self.cursor.expected("an instruction, a block or `}`"))
        } else if let Some(block) = *block {
            if self.func.blocks[block].terminator.is_some() {
                return Err(self.cursor.error_at(start, "the block has its terminator already"));
            }
            match self.terminator(word)? {
                Some(terminator) => self.func.blocks[block].terminator = Some(terminator),
                None => self.inst(block, start, word)?,
            }
            Ok(())
        } else {
            Err(self.cursor.error_at(start, "an instruction before the first block"))
        }
    }

    fn literal(&mut self, ty: Type) -> Result<u64, ParseError> {
        let start = self.cursor.position();
        let text = self.cursor.literal();
        literal_bits(ty, text).ok_or_else(|| self.cursor.error_at(start, format!("`{text}` is not a literal of {ty}")))
    }

    fn ty(&mut self) -> Result<Type, ParseError> {
        let start = self.cursor.position();
        let name = self.cursor.word();
        Type::from_name(name).ok_or_else(|| self.cursor.error_at(start, format!("there is no type `{name}`")))
    }
}

/// The number of a name that is `prefix` and digits.
fn numbered(word: &str, prefix: &str) -> Option<u32> {
    let digits = word.strip_prefix(prefix)?;
    if digits.starts_with(|c: char| c.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Fails if there are `count` things already and `limit` allows no more.
fn check_limit(cursor: &Cursor<'_>, position: usize, what: &str, count: usize, limit: u32) -> Result<(), ParseError> {
    if count < limit as usize {
        return Ok(());
    }
    Err(cursor.error_at(position, format!("{what} is over the limit of {limit}")))
}

#[cfg(test)]
mod tests;
