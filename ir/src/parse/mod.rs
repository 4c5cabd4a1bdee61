//! Reads the text form that [`crate::print`] writes: `parse(&func.to_string())` is a function equal to `func`.
//!
//! The text may come from anywhere. What the parser gives has every index in range and everything named defined, so
//! that it can be printed and [verified](crate::verify); whether it obeys the rules of the IR is the verifier's to say.

mod cursor;
pub mod limits;

use crate::entity::{Array, Block, Inst, Resource, Sampler, Space, Value};
use crate::function::{
    ArrayData, BlockCall, BlockData, Function, Imm, InstData, Operands, Origin, ResourceData, SamplerData, SpaceData,
    Terminator, ValueData, ValueDef,
};
use crate::memory::{AtomicFunction, MemoryKind};
use crate::op::{ImmKind, Op, SysVal};
use crate::texture::TextureShape;
use crate::types::Type;
use cranelift_entity::EntityRef;
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

    // ---- declarations

    /// ` "cb0"` or ` "icb" = [{0x1, 0x2, 0x3, 0x4}]`.
    fn space(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
        self.check_next(start, "space", number, self.func.spaces.len(), limits::SPACES)?;
        let name = self.cursor.string()?;
        let table = if self.cursor.eat("=") { Some(self.table()?) } else { None };
        self.func.spaces.push(SpaceData { name, table });
        Ok(())
    }

    fn table(&mut self) -> Result<Vec<[u32; 4]>, ParseError> {
        let mut rows = Vec::new();
        self.cursor.expect("[")?;
        while !self.cursor.eat("]") {
            let start = self.cursor.position();
            if !rows.is_empty() {
                self.cursor.expect(",")?;
            }
            check_limit(self.cursor, start, "the number of rows", rows.len(), limits::TABLE_ROWS)?;
            let mut row = [0; 4];
            for (index, word) in row.iter_mut().enumerate() {
                self.cursor.expect(if index == 0 { "{" } else { "," })?;
                *word = self.literal(Type::I32)? as u32;
            }
            self.cursor.expect("}")?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// ` "t0"`.
    fn resource(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
        self.check_next(start, "resource", number, self.func.resources.len(), limits::RESOURCES)?;
        let name = self.cursor.string()?;
        let texture = TextureShape::ALL.iter().copied().find(|shape| self.cursor.eat_word(shape.name()));
        let memory = match texture {
            None => self.memory_kind()?,
            Some(_) => None,
        };
        self.func.resources.push(ResourceData { name, texture, memory });
        Ok(())
    }

    /// ` shared 256`, or nothing.
    fn memory_kind(&mut self) -> Result<Option<MemoryKind>, ParseError> {
        Ok(if self.cursor.eat_word("buffer") {
            Some(MemoryKind::Buffer)
        } else if self.cursor.eat_word("texels") {
            Some(MemoryKind::Texels)
        } else if self.cursor.eat_word("shared") {
            Some(MemoryKind::Shared(self.cursor.number("a number of bytes", u32::MAX)?))
        } else {
            None
        })
    }

    /// ` "s0"`.
    fn sampler(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
        self.check_next(start, "sampler", number, self.func.samplers.len(), limits::SAMPLERS)?;
        let name = self.cursor.string()?;
        self.func.samplers.push(SamplerData { name });
        Ok(())
    }

    /// ` [16 x 4]`, ` [16 x 4] kept`.
    fn array(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
        self.check_next(start, "array", number, self.func.arrays.len(), limits::ARRAYS)?;
        self.cursor.expect("[")?;
        let elements = self.cursor.number("the number of elements", limits::ARRAY_ELEMENTS)?;
        self.cursor.expect_word("x")?;
        let components = self.cursor.number("the number of components", u8::MAX.into())? as u8;
        self.cursor.expect("]")?;
        // Cannot overflow: 2^16 elements of 2^8 components at a time, and the sum stays under its limit.
        self.array_cells += elements * u32::from(components);
        if self.array_cells > limits::ARRAY_CELLS {
            let message = format!("the arrays are over the limit of {} components", limits::ARRAY_CELLS);
            return Err(self.cursor.error_at(start, message));
        }
        let kept = self.cursor.eat_word("kept");
        self.func.arrays.push(ArrayData { elements, components, kept });
        Ok(())
    }

    /// Spaces, resources, samplers and arrays are each declared in the order of their numbers.
    fn check_next(&self, start: usize, what: &str, number: u32, declared: usize, limit: u32) -> Result<(), ParseError> {
        check_limit(self.cursor, start, what, declared, limit)?;
        if number as usize != declared {
            return Err(self.cursor.error_at(start, format!("expected `{what}{declared}`, found `{what}{number}`")));
        }
        Ok(())
    }

    /// `(v1: f32, v2: i32) weight 7:`, the parameters and the weight being optional.
    fn block_head(&mut self, start: usize, number: u32) -> Result<Block, ParseError> {
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

    // ---- instructions

    /// An instruction whose first word, its result or its mnemonic, is `word`.
    fn inst(&mut self, block: Block, start: usize, word: &str) -> Result<(), ParseError> {
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

    fn entity_number(&mut self, prefix: &str) -> Result<u32, ParseError> {
        let start = self.cursor.position();
        // The largest number of all is not an index.
        match numbered(self.cursor.word(), prefix).filter(|&number| number != u32::MAX) {
            Some(number) => Ok(number),
            None => Err(self.cursor.error_at(start, format!("expected a name like `{prefix}0`"))),
        }
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

    // ---- terminators

    /// The terminator that begins with `word`, unless that is no terminator's name.
    fn terminator(&mut self, word: &str) -> Result<Option<Terminator>, ParseError> {
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

    // ---- names

    fn block_named(&mut self, start: usize, number: u32) -> Result<Block, ParseError> {
        if let Some(name) = self.blocks.get(&number) {
            return Ok(name.entity);
        }
        check_limit(self.cursor, start, "the number of blocks", self.func.blocks.len(), limits::BLOCKS)?;
        let block = self.func.blocks.push(BlockData::default());
        self.blocks.insert(number, Name { entity: block, first_mention: start, is_defined: false });
        Ok(block)
    }

    fn value_number(&mut self) -> Result<u32, ParseError> {
        let start = self.cursor.position();
        match numbered(self.cursor.word(), "v") {
            Some(number) => Ok(number),
            None => Err(self.cursor.error_at(start, "expected a value like `v0`")),
        }
    }

    /// The use of a value.
    fn value(&mut self) -> Result<Value, ParseError> {
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

    fn define_value(&mut self, start: usize, number: u32, data: ValueData) -> Result<Value, ParseError> {
        let value = self.value_named(start, number)?;
        let name = self.values.get_mut(&number).expect("the lookup has just made it");
        if std::mem::replace(&mut name.is_defined, true) {
            return Err(self.cursor.error_at(start, format!("v{number} is defined twice")));
        }
        self.func.values[value] = data;
        Ok(value)
    }

    /// The first mention of something without a definition is an error.
    fn check_defined(&self) -> Result<(), ParseError> {
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
