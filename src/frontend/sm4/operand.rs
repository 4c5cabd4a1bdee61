//! Operands: the register-file table, and the operand token with its modifiers, indices and immediate values.
//!
//! ```text
//! operand token    E rrr RRR RRR II FFFFFFFF SSSSSSSS MM CC   C components, M mode, S mask or swizzle or component,
//!                                                             F register file, I indices, R representation of each index
//! extended token   E ............. N PPP MMMMMMMM TTTTTT      T type (1), M modifier, P minimum precision, N non-uniform
//! ```

use std::fmt;

use super::codes::MinPrecision;
use super::token::TokenReader;
use crate::error::DecodeError;

macro_rules! register_files {
    ($( $number:literal $name:ident $printed:literal $doc:literal; )*) => {
        /// What an operand names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum RegisterFile { $( #[doc = concat!("`", $printed, "`: ", $doc)] $name = $number, )* }

        impl RegisterFile {
            /// Every register file, by ascending number.
            pub const ALL: &'static [RegisterFile] = &[$( RegisterFile::$name, )*];

            /// The register file with a number.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $( $number => Some(RegisterFile::$name), )* _ => None }
            }

            /// The letters the reference disassembler prints for it.
            pub const fn letters(self) -> &'static str {
                match self { $( RegisterFile::$name => $printed, )* }
            }
        }
    };
}

register_files! {
     0 Temp                 "r"                         "temporary register";
     1 Input                "v"                         "input register";
     2 Output               "o"                         "output register";
     3 IndexableTemp        "x"                         "array of temporary registers";
     4 Immediate32          "l"                         "one or four immediate dwords";
     5 Immediate64          "d"                         "one or two immediate doubles";
     6 Sampler              "s"                         "sampler";
     7 Resource             "t"                         "resource view";
     8 ConstantBuffer       "cb"                        "constant buffer";
     9 ImmediateConstants   "icb"                       "immediate constant buffer";
    10 Label                "label"                     "label of a subroutine";
    11 PrimitiveId          "vPrim"                     "number of the primitive";
    12 OutputDepth          "oDepth"                    "depth of the pixel";
    13 Null                 "null"                      "a result that is dropped";
    14 Rasterizer           "rasterizer"                "the rasterizer, for its sample count";
    15 OutputCoverage       "oMask"                     "coverage mask of the pixel";
    16 Stream               "m"                         "geometry-shader output stream";
    17 FunctionBody         "fb"                        "function body";
    18 FunctionTable        "ft"                        "function table";
    19 Interface            "fp"                        "interface";
    20 FunctionInput        "fi"                        "function input";
    21 FunctionOutput       "fo"                        "function output";
    22 OutputControlPointId "vOutputControlPointID"     "number of the control point written";
    23 ForkInstanceId       "vForkInstanceID"           "instance of a fork phase";
    24 JoinInstanceId       "vJoinInstanceID"           "instance of a join phase";
    25 InputControlPoint    "vicp"                      "control point of the input patch";
    26 OutputControlPoint   "vocp"                      "control point of the output patch";
    27 PatchConstant        "vpc"                       "patch constant";
    28 DomainPoint          "vDomain"                   "location in the tessellated domain";
    29 ThisPointer          "this"                      "data of a class instance";
    30 UnorderedAccess      "u"                         "unordered-access view";
    31 GroupShared          "g"                         "group-shared memory";
    32 ThreadId             "vThreadID"                 "number of the thread in the dispatch";
    33 ThreadGroupId        "vThreadGroupID"            "number of the group in the dispatch";
    34 ThreadIdInGroup      "vThreadIDInGroup"          "number of the thread in its group";
    35 InputCoverage        "vCoverage"                 "coverage of the pixel by the primitive";
    36 ThreadIdInGroupFlattened "vThreadIDInGroupFlattened" "number of the thread in its group, flattened";
    37 GsInstanceId         "vGSInstanceID"             "instance of a geometry shader";
    38 OutputDepthGe        "oDepthGE"                  "depth, not less than the rasterized one";
    39 OutputDepthLe        "oDepthLE"                  "depth, not greater than the rasterized one";
    40 CycleCounter         "vCycleCounter"             "a counter of time";
    41 OutputStencilRef     "oStencilRef"               "stencil reference of the pixel";
    42 InnerCoverage        "vInnerCoverage"            "whether the primitive covers the whole pixel";
}

impl RegisterFile {
    /// Its number, bits 12 to 19 of the operand token.
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// One of the four components of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Component {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
    /// The fourth.
    W,
}

impl Component {
    /// All four in order.
    pub const ALL: [Component; 4] = [Component::X, Component::Y, Component::Z, Component::W];

    /// The component in the low two bits.
    pub const fn from_bits(bits: u32) -> Self {
        Self::ALL[(bits & 3) as usize]
    }

    /// 0 to 3.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its letter.
    pub const fn letter(self) -> char {
        ['x', 'y', 'z', 'w'][self as usize]
    }
}

/// A set of components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mask(u8);

impl Mask {
    /// No component.
    pub const NONE: Mask = Mask(0);
    /// All four.
    pub const ALL: Mask = Mask(0xf);

    /// The set in the low four bits, bit 0 = x.
    pub const fn from_bits(bits: u32) -> Self {
        Mask(bits as u8 & 0xf)
    }

    /// The set as bits, bit 0 = x.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether it has no component.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has the component.
    pub const fn contains(self, component: Component) -> bool {
        self.0 >> component as u8 & 1 != 0
    }

    /// Its components, x first.
    pub fn components(self) -> impl Iterator<Item = Component> {
        Component::ALL.into_iter().filter(move |&component| self.contains(component))
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.components().try_for_each(|component| write!(f, "{}", component.letter()))
    }
}

/// Which component of a register each component of an instruction reads: two bits each, x lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle(u8);

impl Swizzle {
    /// `xyzw`.
    pub const IDENTITY: Swizzle = Swizzle(0b11_10_01_00);

    /// The swizzle in the low eight bits.
    pub const fn from_bits(bits: u32) -> Self {
        Swizzle(bits as u8)
    }

    /// What component `component` of the instruction reads.
    pub const fn get(self, component: Component) -> Component {
        Component::from_bits(self.0 as u32 >> (2 * component as u32))
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Component::ALL.into_iter().try_for_each(|component| write!(f, "{}", self.get(component).letter()))
    }
}

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
            Components::One => Mask(1),
            Components::Mask(mask) => mask,
            Components::Swizzle(_) => Mask::ALL,
            Components::Select(component) => Mask(1 << component as u8),
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it names.
    pub file: RegisterFile,
    /// Its components.
    pub components: Components,
    /// What is done to what it reads.
    pub modifiers: Modifiers,
    /// The precision it may be computed with.
    pub min_precision: MinPrecision,
    /// Whether its dynamic index may differ among the invocations that run together.
    pub non_uniform: bool,
    /// Number of indices, 0 to 3.
    index_count: u8,
    /// The constant parts of the indices, or the immediate value.
    words: [u32; 4],
    /// The dynamic parts of the indices. Boxed whole, since few operands have any and programs hold many operands.
    relative: Option<Box<[Option<Operand>; 3]>>,
}

/// Operands may be nested in indices this deep: `x0[x1[r0.x]]` is 2. The format's own limit is not above it.
const MAX_INDEX_NESTING: u32 = 4;

/// Index representations: bit 0 and 2 of these are the immediate's size, bit 1 a nested operand.
mod representation {
    pub const IMM32: u32 = 0;
    pub const IMM64: u32 = 1;
    pub const RELATIVE: u32 = 2;
    pub const IMM32_RELATIVE: u32 = 3;
    pub const IMM64_RELATIVE: u32 = 4;
}

impl Operand {
    /// A one-component immediate.
    pub(super) fn immediate(value: u32) -> Self {
        Operand {
            file: RegisterFile::Immediate32,
            components: Components::One,
            modifiers: Modifiers::default(),
            min_precision: MinPrecision::Default,
            non_uniform: false,
            index_count: 0,
            words: [value, 0, 0, 0],
            relative: None,
        }
    }

    /// Reads the operand at the reader's position.
    pub(super) fn decode(reader: &mut TokenReader) -> Result<Self, DecodeError> {
        Self::decode_nested(reader, 0)
    }

    fn decode_nested(reader: &mut TokenReader, depth: u32) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let token = reader.dword("operand")?;
        let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };

        let number = token >> 12 & 0xff;
        let file = RegisterFile::from_number(number).ok_or_else(|| invalid("register file", number))?;
        let components = match (token & 3, token >> 2 & 3) {
            (0, _) => Components::None,
            (1, _) => Components::One,
            (2, 0) => Components::Mask(Mask::from_bits(token >> 4)),
            (2, 1) => Components::Swizzle(Swizzle::from_bits(token >> 4)),
            (2, 2) => Components::Select(Component::from_bits(token >> 4)),
            (2, mode) => return Err(invalid("component selection mode", mode)),
            (count, _) => return Err(invalid("number of components", count)),
        };
        let mut operand = Operand {
            file,
            components,
            modifiers: Modifiers::default(),
            min_precision: MinPrecision::Default,
            non_uniform: false,
            index_count: (token >> 20 & 3) as u8,
            words: [0; 4],
            relative: None,
        };
        if token >> 31 != 0 {
            operand.decode_extended(reader)?;
        }
        match file {
            RegisterFile::Immediate32 | RegisterFile::Immediate64 => operand.decode_immediate(reader, offset)?,
            _ => operand.decode_indices(token, reader, depth)?,
        }
        Ok(operand)
    }

    /// Reads the chain of extended tokens; it is as long as the instruction at most.
    fn decode_extended(&mut self, reader: &mut TokenReader) -> Result<(), DecodeError> {
        loop {
            let offset = reader.offset();
            let bits = reader.dword("extended operand token")?;
            let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };
            match bits & 0x3f {
                0 => {}
                1 => {
                    let modifier = bits >> 6 & 0xff;
                    if modifier > 3 {
                        return Err(invalid("operand modifier", modifier));
                    }
                    self.modifiers = Modifiers { negate: modifier & 1 != 0, absolute: modifier & 2 != 0 };
                    self.min_precision = MinPrecision::decode(bits >> 14 & 7, offset)?;
                    self.non_uniform = bits & 1 << 17 != 0;
                }
                kind => return Err(invalid("extended operand token type", kind)),
            }
            if bits >> 31 == 0 {
                return Ok(());
            }
        }
    }

    fn decode_immediate(&mut self, reader: &mut TokenReader, offset: usize) -> Result<(), DecodeError> {
        let invalid = |what, value: u32| DecodeError::Invalid { what, value: value.into(), offset };
        if self.index_count != 0 {
            return Err(invalid("number of indices of an immediate", self.index_count.into()));
        }
        let dwords = match (self.file, self.components) {
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

    fn decode_indices(&mut self, token: u32, reader: &mut TokenReader, depth: u32) -> Result<(), DecodeError> {
        use representation::*;

        for index in 0..usize::from(self.index_count) {
            let offset = reader.offset();
            let representation = token >> (22 + 3 * index) & 7;
            if representation > IMM64_RELATIVE {
                let value = u64::from(representation);
                return Err(DecodeError::Invalid { what: "index representation", value, offset });
            }
            if matches!(representation, IMM64 | IMM64_RELATIVE) {
                // No register file has 2^32 registers, so the high half carries nothing.
                let high = reader.dword("index")?;
                if high != 0 {
                    let value = u64::from(high) << 32 | u64::from(reader.dword("index")?);
                    return Err(DecodeError::Limit { what: "index", value, limit: u32::MAX.into(), offset });
                }
            }
            if matches!(representation, IMM32 | IMM64 | IMM32_RELATIVE | IMM64_RELATIVE) {
                self.words[index] = reader.dword("index")?;
            }
            if matches!(representation, RELATIVE | IMM32_RELATIVE | IMM64_RELATIVE) {
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

    /// Number of indices, 0 to 3.
    pub fn index_count(&self) -> usize {
        usize::from(self.index_count)
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
        match (self.file, self.components) {
            (RegisterFile::Immediate32, Components::One) => Some(&self.words[..1]),
            (RegisterFile::Immediate64, Components::One) => Some(&self.words[..2]),
            (RegisterFile::Immediate32 | RegisterFile::Immediate64, _) => Some(&self.words),
            _ => None,
        }
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
        assert_eq!(mask.components, Components::Mask(Mask::from_bits(0b1010)));
        assert_eq!(mask.components.written().to_string(), "yw");
        let (swizzle, _) = decode(&[0x0010_01b6, 3]).unwrap();
        assert_eq!(swizzle.constant_indices(), Some(&[3][..]));
        let Components::Swizzle(letters) = swizzle.components else { panic!("{swizzle:?}") };
        assert_eq!(letters.to_string(), "wzyx");
        assert_eq!(swizzle.components.source(Component::Y), Component::Z);
        let (select, _) = decode(&[R_SELECT_Y, 3]).unwrap();
        assert_eq!(select.components, Components::Select(Component::Y));
        assert_eq!(select.components.source(Component::W), Component::Y);
    }

    #[test]
    fn modifiers_precision_and_non_uniform() {
        let (operand, rest) = decode(&[0x8010_001a, 1 << 17 | 5 << 14 | 3 << 6 | 1, 3]).unwrap();
        assert_eq!(operand.modifiers, Modifiers { absolute: true, negate: true });
        assert_eq!(operand.min_precision, MinPrecision::Uint16);
        assert!(operand.non_uniform);
        assert_eq!(rest, 0);
    }

    #[test]
    fn indices_of_every_representation() {
        let cb = |representations: u32| 0x0020_8e46 | representations << 22;
        let (plain, _) = decode(&[cb(0), 1, 2]).unwrap();
        assert_eq!(plain.constant_indices(), Some(&[1, 2][..]));

        let (relative, _) = decode(&[cb(2 << 3), 1, R_SELECT_Y, 7]).unwrap();
        let index = relative.index(1).unwrap();
        assert_eq!((index.immediate, index.relative.unwrap().file), (0, RegisterFile::Temp));
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
        assert_eq!(operand.file, RegisterFile::IndexableTemp);
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
