//! Declarations: the spaces, resources, samplers and arrays of a function.

use super::{ParseError, Parser, check_limit, limits};
use crate::function::{ArrayData, ResourceData, SamplerData, SpaceData};
use crate::memory::MemoryKind;
use crate::texture::TextureShape;
use crate::types::Type;

impl Parser<'_, '_> {
    /// ` "cb0"` or ` "icb" = [{0x1, 0x2, 0x3, 0x4}]`.
    pub(super) fn space(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
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
    pub(super) fn resource(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
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
    pub(super) fn sampler(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
        self.check_next(start, "sampler", number, self.func.samplers.len(), limits::SAMPLERS)?;
        let name = self.cursor.string()?;
        self.func.samplers.push(SamplerData { name });
        Ok(())
    }

    /// ` [16 x 4]`, ` [16 x 4] kept`.
    pub(super) fn array(&mut self, start: usize, number: u32) -> Result<(), ParseError> {
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
}
