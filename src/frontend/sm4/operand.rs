//! Operands: the operand token with its modifiers, indices and immediate values.
//!
//! ```text
//! operand token    E rrr RRR RRR II FFFFFFFF SSSSSSSS MM CC   C components, M mode, S mask or swizzle or component,
//!                                                             F register file, I indices, R representation of each index
//! extended token   E ............. N PPP MMMMMMMM TTTTTT      T type (1), M modifier, P minimum precision, N non-uniform
//! ```

#[cfg(feature = "fuzzing")]
mod build;

use super::codes::MinPrecision;
use super::token::{Field, TokenReader};
use crate::error::DecodeError;

pub use super::register_file::RegisterFile;
pub use crate::frontend::component::{Component, Mask, Swizzle};

/// The components an operand has and which of them it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Components {
    /// The operand has no components (a sampler, a label, `null`).
    None,
    /// The operand is one scalar (`oDepth`, `vPrim`).
    One,
    /// A set out of four: what is written, or declared.
    Mask(Mask),
    /// Four out of four: what is read.
    Swizzle(Swizzle),
    /// One out of four.
    Select(Component),
}

impl Components {
    /// What component `component` of an instruction reads through this selection.
    pub const fn source(self, component: Component) -> Component {
        match self {
            Components::None | Components::One => Component::X,
            Components::Mask(_) => component,
            Components::Swizzle(swizzle) => swizzle.get(component),
            Components::Select(selected) => selected,
        }
    }

    /// What a destination with this selection writes.
    pub const fn written(self) -> Mask {
        match self {
            Components::None => Mask::NONE,
            Components::One => Mask::from_bits(1),
            Components::Mask(mask) => mask,
            Components::Swizzle(_) => Mask::ALL,
            Components::Select(component) => Mask::from_bits(1 << component as u32),
        }
    }
}

/// Absolute value, then negation, of what an operand reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Clear the sign first.
    pub absolute: bool,
    /// Then negate.
    pub negate: bool,
}

/// One index of an operand: `immediate + relative`, wrapping at 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index<'a> {
    /// The constant part.
    pub immediate: u32,
    /// The operand whose selected component is added, if the index is dynamic.
    pub relative: Option<&'a Operand>,
}

/// An operand of an instruction or declaration.
///
/// Its tokens are kept as they are, so that bits that mean nothing survive encoding. Two operands are equal if their
/// tokens are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The operand token. Its fields hold known values.
    token: u32,
    /// The extended token if the operand token says that there is one, else 0. Its fields hold known values.
    extended: u32,
    /// The constant parts of the indices, or the immediate value.
    words: [u32; 4],
    /// The dynamic parts of the indices. Boxed whole, since few operands have any and programs hold many operands.
    relative: Option<Box<[Option<Operand>; 3]>>,
}

/// Operands may be nested in indices this deep: `x0[x1[r0.x]]` is 2. The format's own limit is not above it.
const MAX_INDEX_NESTING: u32 = 4;

/// Fields of the operand token.
mod operand_token {
    use super::Field;

    pub const COMPONENTS: Field = Field::new(0, 2);
    pub const MODE: Field = Field::new(2, 2);
    pub const SELECTION: Field = Field::new(4, 8);
    pub const FILE: Field = Field::new(12, 8);
    pub const INDICES: Field = Field::new(20, 2);
    pub const REPRESENTATIONS: [Field; 3] = [Field::new(22, 3), Field::new(25, 3), Field::new(28, 3)];
    pub const EXTENDED: Field = Field::new(31, 1);
}

/// Fields of the extended operand token.
mod extended_token {
    use super::Field;

    pub const TYPE: Field = Field::new(0, 6);
    pub const MODIFIER: Field = Field::new(6, 8);
    pub const MIN_PRECISION: Field = Field::new(14, 3);
    pub const NON_UNIFORM: Field = Field::new(17, 1);
    pub const CONTINUED: Field = Field::new(31, 1);

    pub const EMPTY: u32 = 0;
    pub const MODIFIERS: u32 = 1;
}

/// How an index is written: an immediate of one or two dwords, an operand, or one after the other.
#[derive(Clone, Copy)]
struct Representation {
    wide: bool,
    immediate: bool,
    relative: bool,
}

impl Representation {
    /// Representations by number.
    const TABLE: [Self; 5] = [
        Self { wide: false, immediate: true, relative: false },
        Self { wide: true, immediate: true, relative: false },
        Self { wide: false, immediate: false, relative: true },
        Self { wide: false, immediate: true, relative: true },
        Self { wide: true, immediate: true, relative: true },
    ];

    /// That of an index, as the operand token says.
    fn of(token: u32, index: usize) -> Result<Self, u32> {
        let number = operand_token::REPRESENTATIONS[index].get(token);
        Self::TABLE.get(number as usize).copied().ok_or(number)
    }
}

impl Operand {
    /// Nothing that has been read.
    const EMPTY: Self = Self::from_words(0, [0; 4]);

    /// An operand of these tokens, all of whose indices are constant, or which is an immediate.
    pub(super) const fn from_words(token: u32, words: [u32; 4]) -> Self {
        Operand { token, extended: 0, words, relative: None }
    }

    /// A one-component immediate.
    pub(super) const fn immediate(value: u32) -> Self {
        let token = operand_token::FILE.set(0, RegisterFile::Immediate32.number());
        Self::from_words(operand_token::COMPONENTS.set(token, 1), [value, 0, 0, 0])
    }

    /// Reads the operand at the reader's position.
    pub(super) fn decode(reader: &mut TokenReader) -> Result<Self, DecodeError> {
        Self::decode_nested(reader, 0)
    }

    /// The same, behind other operands: it is written where it stays.
    pub(super) fn decode_behind(operands: &mut Vec<Self>, reader: &mut TokenReader) -> Result<(), DecodeError> {
        operands.push(Self::EMPTY);
        operands.last_mut().expect("one has been appended").read(reader, 0)
    }

    fn decode_nested(reader: &mut TokenReader, depth: u32) -> Result<Self, DecodeError> {
        let mut operand = Self::EMPTY;
        operand.read(reader, depth)?;
        Ok(operand)
    }

    /// Becomes the operand at the reader's position.
    fn read(&mut self, reader: &mut TokenReader, depth: u32) -> Result<(), DecodeError> {
        let offset = reader.offset();
        let token = reader.dword("operand")?;
        let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };

        let number = operand_token::FILE.get(token);
        let file = RegisterFile::from_number(number).ok_or_else(|| invalid("register file", number))?;
        components(token).map_err(|(what, value)| invalid(what, value))?;
        self.token = token;
        if self.is_extended() {
            self.decode_extended(reader)?;
        }
        match file {
            RegisterFile::Immediate32 | RegisterFile::Immediate64 => self.decode_immediate(reader, offset),
            _ => self.decode_indices(reader, depth),
        }
    }

    fn decode_extended(&mut self, reader: &mut TokenReader) -> Result<(), DecodeError> {
        let offset = reader.offset();
        let bits = reader.dword("extended operand token")?;
        let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };
        match extended_token::TYPE.get(bits) {
            extended_token::EMPTY => {}
            extended_token::MODIFIERS => {
                let modifier = extended_token::MODIFIER.get(bits);
                if modifier > 3 {
                    return Err(invalid("operand modifier", modifier));
                }
                MinPrecision::decode(extended_token::MIN_PRECISION.get(bits), offset)?;
            }
            kind => return Err(invalid("extended operand token type", kind)),
        }
        if extended_token::CONTINUED.is_set(bits) {
            // There is one type with a meaning, so nothing needs a second token.
            return Err(DecodeError::Limit { what: "number of extended operand tokens", value: 2, limit: 1, offset });
        }
        self.extended = bits;
        Ok(())
    }

    fn decode_immediate(&mut self, reader: &mut TokenReader, offset: usize) -> Result<(), DecodeError> {
        let invalid = |what, value: u32| DecodeError::Invalid { what, value: value.into(), offset };
        let indices = operand_token::INDICES.get(self.token);
        if indices != 0 {
            return Err(invalid("number of indices of an immediate", indices));
        }
        let dwords = match (self.file(), self.components()) {
            (_, Components::None) => return Err(invalid("number of components of an immediate", 0)),
            (RegisterFile::Immediate32, Components::One) => 1,
            (_, Components::One) => 2,
            _ => 4,
        };
        for word in &mut self.words[..dwords] {
            *word = reader.dword("immediate value")?;
        }
        Ok(())
    }

    fn decode_indices(&mut self, reader: &mut TokenReader, depth: u32) -> Result<(), DecodeError> {
        for index in 0..self.index_count() {
            let offset = reader.offset();
            let representation = Representation::of(self.token, index).map_err(|number| {
                let (what, value) = ("index representation", number.into());
                DecodeError::Invalid { what, value, offset }
            })?;
            if representation.wide {
                // No register file has 2^32 registers, so the high half carries nothing.
                let high = reader.dword("index")?;
                if high != 0 {
                    let value = u64::from(high) << 32 | u64::from(reader.dword("index")?);
                    return Err(DecodeError::Limit { what: "index", value, limit: u32::MAX.into(), offset });
                }
            }
            if representation.immediate {
                self.words[index] = reader.dword("index")?;
            }
            if representation.relative {
                if depth == MAX_INDEX_NESTING {
                    let limit = u64::from(MAX_INDEX_NESTING);
                    return Err(DecodeError::Limit { what: "nesting of indices", value: limit + 1, limit, offset });
                }
                let nested = Self::decode_nested(reader, depth + 1)?;
                self.relative.get_or_insert_default()[index] = Some(nested);
            }
        }
        Ok(())
    }

    /// Appends its tokens: the inverse of [`decode`](Self::decode). Operands are nested as deep as decoding allows at
    /// most.
    pub(super) fn encode(&self, tokens: &mut Vec<u32>) {
        tokens.push(self.token);
        if self.is_extended() {
            tokens.push(self.extended);
        }
        if let Some(value) = self.immediates() {
            return tokens.extend_from_slice(value);
        }
        for (n, index) in self.indices().enumerate() {
            let representation = Representation::of(self.token, n).expect("decoding has checked it");
            if representation.wide {
                tokens.push(0);
            }
            if representation.immediate {
                tokens.push(index.immediate);
            }
            if let Some(relative) = index.relative {
                relative.encode(tokens);
            }
        }
    }

    /// The operand token as stored.
    pub const fn token(&self) -> u32 {
        self.token
    }

    /// Whether an extended token follows the operand token.
    pub const fn is_extended(&self) -> bool {
        operand_token::EXTENDED.is_set(self.token)
    }

    /// What it names.
    pub const fn file(&self) -> RegisterFile {
        RegisterFile::from_number(operand_token::FILE.get(self.token)).expect("decoding has checked it")
    }

    /// Its components.
    pub fn components(&self) -> Components {
        components(self.token).expect("decoding has checked them")
    }

    /// The extended token, or 0 if there is none that says something.
    const fn modifier_token(&self) -> u32 {
        match extended_token::TYPE.get(self.extended) {
            extended_token::MODIFIERS => self.extended,
            _ => 0,
        }
    }

    /// What is done to what it reads.
    pub const fn modifiers(&self) -> Modifiers {
        let modifier = extended_token::MODIFIER.get(self.modifier_token());
        Modifiers { negate: modifier & 1 != 0, absolute: modifier & 2 != 0 }
    }

    /// The precision it may be computed with.
    pub const fn min_precision(&self) -> MinPrecision {
        let number = extended_token::MIN_PRECISION.get(self.modifier_token());
        MinPrecision::from_number(number).expect("decoding has checked it")
    }

    /// Whether its dynamic index may differ among the invocations that run together.
    pub const fn non_uniform(&self) -> bool {
        extended_token::NON_UNIFORM.is_set(self.modifier_token())
    }

    /// Number of indices, 0 to 3.
    pub const fn index_count(&self) -> usize {
        operand_token::INDICES.get(self.token) as usize
    }

    /// Index `n`, if the operand has that many.
    pub fn index(&self, n: usize) -> Option<Index<'_>> {
        (n < self.index_count()).then(|| Index {
            immediate: self.words[n],
            relative: self.relative.as_ref().and_then(|relative| relative[n].as_ref()),
        })
    }

    /// Its indices in order.
    pub fn indices(&self) -> impl Iterator<Item = Index<'_>> {
        (0..self.index_count()).filter_map(|n| self.index(n))
    }

    /// Its indices, if all are constant.
    pub fn constant_indices(&self) -> Option<&[u32]> {
        self.relative.is_none().then_some(&self.words[..self.index_count()])
    }

    /// The dwords of an immediate value: one, two or four.
    pub fn immediates(&self) -> Option<&[u32]> {
        match (self.file(), self.components()) {
            (RegisterFile::Immediate32, Components::One) => Some(&self.words[..1]),
            (RegisterFile::Immediate64, Components::One) => Some(&self.words[..2]),
            (RegisterFile::Immediate32 | RegisterFile::Immediate64, _) => Some(&self.words),
            _ => None,
        }
    }
}

/// The components that an operand token names, or what is wrong with them.
fn components(token: u32) -> Result<Components, (&'static str, u32)> {
    let selection = operand_token::SELECTION.get(token);
    match (operand_token::COMPONENTS.get(token), operand_token::MODE.get(token)) {
        (0, _) => Ok(Components::None),
        (1, _) => Ok(Components::One),
        (2, 0) => Ok(Components::Mask(Mask::from_bits(selection))),
        (2, 1) => Ok(Components::Swizzle(Swizzle::from_bits(selection))),
        (2, 2) => Ok(Components::Select(Component::from_bits(selection))),
        (2, mode) => Err(("component selection mode", mode)),
        (count, _) => Err(("number of components", count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(dwords: &[u32]) -> Result<(Operand, usize), DecodeError> {
        let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let mut reader = TokenReader::new(&bytes, 0x1000);
        Operand::decode(&mut reader).map(|operand| (operand, reader.remaining()))
    }

    /// `r#` with one component selected, one index.
    const R_SELECT_Y: u32 = 0x0010_001a;

    #[test]
    fn register_files_are_numbered_without_gaps() {
        for (number, &file) in (0..).zip(RegisterFile::ALL) {
            assert_eq!(file.number(), number);
            assert_eq!(RegisterFile::from_number(number), Some(file));
        }
        assert_eq!(RegisterFile::from_number(43), None);
    }

    #[test]
    fn masks_swizzles_and_selections() {
        let (mask, _) = decode(&[0x0010_00a2, 3]).unwrap();
        assert_eq!(mask.components(), Components::Mask(Mask::from_bits(0b1010)));
        assert_eq!(mask.components().written().to_string(), "yw");
        let (swizzle, _) = decode(&[0x0010_01b6, 3]).unwrap();
        assert_eq!(swizzle.constant_indices(), Some(&[3][..]));
        let Components::Swizzle(letters) = swizzle.components() else { panic!("{swizzle:?}") };
        assert_eq!(letters.to_string(), "wzyx");
        assert_eq!(swizzle.components().source(Component::Y), Component::Z);
        let (select, _) = decode(&[R_SELECT_Y, 3]).unwrap();
        assert_eq!(select.components(), Components::Select(Component::Y));
        assert_eq!(select.components().source(Component::W), Component::Y);
    }

    #[test]
    fn modifiers_precision_and_non_uniform() {
        let (operand, rest) = decode(&[0x8010_001a, 1 << 17 | 5 << 14 | 3 << 6 | 1, 3]).unwrap();
        assert_eq!(operand.modifiers(), Modifiers { absolute: true, negate: true });
        assert_eq!(operand.min_precision(), MinPrecision::Uint16);
        assert!(operand.non_uniform());
        assert_eq!(rest, 0);
    }

    #[test]
    fn indices_of_every_representation() {
        let cb = |representations: u32| 0x0020_8e46 | representations << 22;
        let (plain, _) = decode(&[cb(0), 1, 2]).unwrap();
        assert_eq!(plain.constant_indices(), Some(&[1, 2][..]));

        let (relative, _) = decode(&[cb(2 << 3), 1, R_SELECT_Y, 7]).unwrap();
        let index = relative.index(1).unwrap();
        assert_eq!((index.immediate, index.relative.unwrap().file()), (0, RegisterFile::Temp));
        assert_eq!(relative.constant_indices(), None);

        let (both, _) = decode(&[cb(3 << 3), 1, 5, R_SELECT_Y, 7]).unwrap();
        let index = both.index(1).unwrap();
        assert_eq!((index.immediate, index.relative.unwrap().constant_indices()), (5, Some(&[7][..])));

        let (wide, rest) = decode(&[cb(1 | 4 << 3), 0, 1, 0, 5, R_SELECT_Y, 7]).unwrap();
        assert_eq!((wide.index(0).unwrap().immediate, wide.index(1).unwrap().immediate, rest), (1, 5, 0));
        assert!(matches!(decode(&[cb(1), 1, 0, 0]), Err(DecodeError::Limit { value: 0x1_0000_0000, .. })));
        assert!(matches!(decode(&[cb(5), 1, 0]), Err(DecodeError::Invalid { value: 5, offset: 0x1004, .. })));
    }

    #[test]
    fn immediates_of_every_size() {
        assert_eq!(decode(&[0x4001, 9]).unwrap().0.immediates(), Some(&[9][..]));
        assert_eq!(decode(&[0x4002, 1, 2, 3, 4]).unwrap().0.immediates(), Some(&[1, 2, 3, 4][..]));
        assert_eq!(decode(&[0x5001, 1, 2]).unwrap().0.immediates(), Some(&[1, 2][..]));
        assert_eq!(decode(&[0x5002, 1, 2, 3, 4]).unwrap().0.immediates(), Some(&[1, 2, 3, 4][..]));
        assert!(matches!(decode(&[0x4002, 1, 2]), Err(DecodeError::Truncated { offset: 0x100c, .. })));
        assert!(matches!(decode(&[0x4000]), Err(DecodeError::Invalid { .. })));
        assert!(matches!(decode(&[0x0010_4001, 0, 0]), Err(DecodeError::Invalid { .. })));
    }

    #[test]
    fn nesting_ends() {
        // `x[x[x[…]]]`: every operand has one purely relative index.
        let nested = 0x0010_3001 | 2 << 22;
        assert!(matches!(decode(&[nested; 64]), Err(DecodeError::Limit { what: "nesting of indices", .. })));
        let (operand, _) = decode(&[nested, nested, nested, nested, R_SELECT_Y, 0]).unwrap();
        assert_eq!(operand.file(), RegisterFile::IndexableTemp);
    }

    #[test]
    fn bad_fields_are_errors_at_their_token() {
        assert!(matches!(decode(&[43 << 12]), Err(DecodeError::Invalid { what: "register file", offset: 0x1000, .. })));
        assert!(matches!(decode(&[3]), Err(DecodeError::Invalid { what: "number of components", .. })));
        assert!(matches!(decode(&[0xe]), Err(DecodeError::Invalid { what: "component selection mode", .. })));
        assert!(matches!(decode(&[1 << 31, 2]), Err(DecodeError::Invalid { value: 2, offset: 0x1004, .. })));
        assert!(matches!(decode(&[1 << 31, 4 << 6 | 1]), Err(DecodeError::Invalid { what: "operand modifier", .. })));
        assert_eq!(decode(&[]), Err(DecodeError::Truncated { what: "operand", offset: 0x1000 }));
    }

    #[test]
    fn operands_stay_small() {
        assert!(size_of::<Operand>() <= 32, "{}", size_of::<Operand>());
    }
}
