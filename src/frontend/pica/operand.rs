//! Operands: registers, uniforms, swizzles, the operand descriptor, and what branches test.

use std::fmt;

/// A word address in program memory. The field of an instruction has 12 bits, an end of a block may lie a little
/// further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u16);

impl Address {
    /// The address `words` further on.
    #[must_use]
    pub fn plus(self, words: u16) -> Address {
        Address(self.0.saturating_add(words))
    }

    /// The address of the next word.
    #[must_use]
    pub fn next(self) -> Address {
        self.plus(1)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03x}", self.0)
    }
}

/// One of the four components of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// First.
    X,
    /// Second.
    Y,
    /// Third.
    Z,
    /// Fourth.
    W,
}

impl Component {
    /// All four, in order.
    pub const ALL: [Component; 4] = [Component::X, Component::Y, Component::Z, Component::W];

    /// 0 for x to 3 for w.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its letter.
    pub const fn letter(self) -> char {
        ['x', 'y', 'z', 'w'][self.index()]
    }
}

/// An address register, as named by the index field of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressRegister {
    /// `a0.x`, written by MOVA.
    X,
    /// `a0.y`, written by MOVA.
    Y,
    /// `aL`, the loop register.
    Loop,
}

impl AddressRegister {
    /// The register of a 2-bit index field; 0 is none.
    pub fn of_field(index: u32) -> Option<AddressRegister> {
        match index & 3 {
            1 => Some(AddressRegister::X),
            2 => Some(AddressRegister::Y),
            3 => Some(AddressRegister::Loop),
            _ => None,
        }
    }

    /// Its number in the index field, not 0.
    pub fn to_field(self) -> u32 {
        self as u32 + 1
    }
}

impl fmt::Display for AddressRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressRegister::X => "a0.x",
            AddressRegister::Y => "a0.y",
            AddressRegister::Loop => "aL",
        })
    }
}

/// A source register. Numbers are within their file: 0 to 15, uniforms 0 to 95.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `v0` to `v15`.
    Input(u8),
    /// `r0` to `r15`.
    Temporary(u8),
    /// `c0` to `c95`, or relative to an address register.
    Uniform {
        /// The number the instruction names.
        base: u8,
        /// What is added to it.
        relative: Option<AddressRegister>,
    },
}

impl Source {
    /// Decodes a 5- or 7-bit source field. The index field counts only if the source is a uniform.
    pub fn of_field(field: u32, index: Option<AddressRegister>) -> Source {
        let field = (field & 0x7f) as u8;
        match field {
            0x00..=0x0f => Source::Input(field),
            0x10..=0x1f => Source::Temporary(field - 0x10),
            _ => Source::Uniform { base: field - 0x20, relative: index },
        }
    }

    /// Its number in a source field, without the address register. That of a uniform needs seven bits.
    pub fn to_field(self) -> u32 {
        match self {
            Source::Input(number) => number.into(),
            Source::Temporary(number) => 0x10 + u32::from(number),
            Source::Uniform { base, .. } => 0x20 + u32::from(base),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Input(n) => write!(f, "v{n}"),
            Source::Temporary(n) => write!(f, "r{n}"),
            Source::Uniform { base, relative: None } => write!(f, "c{base}"),
            Source::Uniform { base, relative: Some(register) } => write!(f, "c{base}[{register}]"),
        }
    }
}

/// A destination register. Numbers are 0 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// `o0` to `o15`.
    Output(u8),
    /// `r0` to `r15`.
    Temporary(u8),
}

impl Destination {
    /// Decodes a 5-bit destination field.
    pub fn of_field(field: u32) -> Destination {
        let number = (field & 0xf) as u8;
        if field & 0x10 == 0 { Destination::Output(number) } else { Destination::Temporary(number) }
    }

    /// Its number in a destination field.
    pub fn to_field(self) -> u32 {
        match self {
            Destination::Output(number) => number.into(),
            Destination::Temporary(number) => 0x10 + u32::from(number),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Output(n) => write!(f, "o{n}"),
            Destination::Temporary(n) => write!(f, "r{n}"),
        }
    }
}

/// A bool uniform, `b0` to `b15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoolUniform(pub u8);

impl fmt::Display for BoolUniform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// An integer uniform, `i0` to `i3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IntUniform(pub u8);

impl fmt::Display for IntUniform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i{}", self.0)
    }
}

/// Number of an entry of the operand descriptor table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DescriptorIndex(pub u8);

/// An operand descriptor: write mask, and swizzle and negation of up to three sources.
///
/// `mask 3-0 | neg1 4 | sel1 12-5 | neg2 13 | sel2 21-14 | neg3 22 | sel3 30-23`, each with x at the top (3dbrew).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor(pub u32);

impl Descriptor {
    /// Bits taken by one source's negation and selector.
    const SOURCE_BITS: u32 = 9;

    /// Whether the destination's `component` is written.
    pub fn writes(self, component: Component) -> bool {
        self.0 >> (3 - component.index()) & 1 != 0
    }

    /// The written components, in order.
    pub fn written(self) -> impl Iterator<Item = Component> {
        Component::ALL.into_iter().filter(move |&component| self.writes(component))
    }

    /// Whether source `number` (0 to 2) is negated.
    pub fn negates(self, number: usize) -> bool {
        debug_assert!(number < 3);
        self.0 >> (4 + number as u32 * Self::SOURCE_BITS) & 1 != 0
    }

    /// Which component of source `number` (0 to 2) is read for `component`.
    pub fn select(self, number: usize, component: Component) -> Component {
        debug_assert!(number < 3);
        let selector = self.0 >> (5 + number as u32 * Self::SOURCE_BITS);
        Component::ALL[(selector >> (6 - 2 * component.index()) & 3) as usize]
    }
}

/// A comparison of CMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`.
    Equal,
    /// `!=`, the only one that holds for NaN.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// Encoding 6: no assembler writes it, and emulators set the flag.
    Always6,
    /// Encoding 7: as 6.
    Always7,
}

impl Comparison {
    /// All, by their encoding.
    const ALL: [Comparison; 8] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
        Comparison::Always6,
        Comparison::Always7,
    ];

    /// Decodes a 3-bit field.
    pub fn of_field(field: u32) -> Comparison {
        Comparison::ALL[(field & 7) as usize]
    }

    /// Its number in the field.
    pub fn to_field(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "eq",
            Comparison::NotEqual => "ne",
            Comparison::Less => "lt",
            Comparison::LessEqual => "le",
            Comparison::Greater => "gt",
            Comparison::GreaterEqual => "ge",
            Comparison::Always6 => "always6",
            Comparison::Always7 => "always7",
        })
    }
}

/// How a [`FlagTest`] combines its two comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Either holds.
    Or,
    /// Both hold.
    And,
    /// `cmp.x` alone counts.
    X,
    /// `cmp.y` alone counts.
    Y,
}

impl Combine {
    /// All, by their encoding.
    const ALL: [Combine; 4] = [Combine::Or, Combine::And, Combine::X, Combine::Y];

    /// Its number in the field.
    pub fn to_field(self) -> u32 {
        self as u32
    }
}

/// A test of the flags: `cmp.x == x`, `cmp.y == y`, combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlagTest {
    /// Value `cmp.x` is to have.
    pub x: bool,
    /// Value `cmp.y` is to have.
    pub y: bool,
    /// How the two are combined.
    pub combine: Combine,
}

impl FlagTest {
    /// Decodes the three fields of format 2.
    pub fn of_fields(reference_x: u32, reference_y: u32, combine: u32) -> FlagTest {
        let combine = Combine::ALL[(combine & 3) as usize];
        FlagTest { x: reference_x != 0, y: reference_y != 0, combine }
    }

    /// Whether it holds for these flags.
    pub fn holds(self, x: bool, y: bool) -> bool {
        let (x, y) = (x == self.x, y == self.y);
        match self.combine {
            Combine::Or => x || y,
            Combine::And => x && y,
            Combine::X => x,
            Combine::Y => y,
        }
    }
}

impl fmt::Display for FlagTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = if self.x { "cmp.x" } else { "!cmp.x" };
        let y = if self.y { "cmp.y" } else { "!cmp.y" };
        match self.combine {
            Combine::Or => write!(f, "{x} || {y}"),
            Combine::And => write!(f, "{x} && {y}"),
            Combine::X => f.write_str(x),
            Combine::Y => f.write_str(y),
        }
    }
}

/// What a conditional instruction tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// The flags.
    Flags(FlagTest),
    /// A bool uniform.
    Bool {
        /// Which.
        uniform: BoolUniform,
        /// The value it is to have.
        value: bool,
    },
}

impl Test {
    /// Whether it holds, where the bool uniforms tell (bit n is `bn`).
    pub fn known(self, bools: Option<u16>) -> Option<bool> {
        match self {
            Test::Flags(_) => None,
            Test::Bool { uniform, value } => Some((bools? >> (uniform.0 & 0xf) & 1 != 0) == value),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Flags(test) => test.fmt(f),
            Test::Bool { uniform, value: true } => uniform.fmt(f),
            Test::Bool { uniform, value: false } => write!(f, "!{uniform}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_descriptor() {
        // xyzw of all three sources, all components written: the entry every assembler emits first.
        let descriptor = Descriptor(0xf | 0x1b << 5 | 0x1b << 14 | 0x1b << 23);
        for number in 0..3 {
            assert!(!descriptor.negates(number));
            for component in Component::ALL {
                assert!(descriptor.writes(component));
                assert_eq!(descriptor.select(number, component), component);
            }
        }
    }

    #[test]
    fn descriptor_fields_do_not_overlap() {
        assert_eq!(Descriptor(1 << 3).written().collect::<Vec<_>>(), [Component::X]);
        assert_eq!(Descriptor(1 << 0).written().collect::<Vec<_>>(), [Component::W]);
        for (number, bit) in [(0, 4), (1, 13), (2, 22)] {
            let descriptor = Descriptor(1 << bit);
            assert_eq!([0, 1, 2].map(|n| descriptor.negates(n)), [0, 1, 2].map(|n| n == number));
            assert_eq!(descriptor.written().count(), 0);
        }
        // x reads w through the top two bits, w reads y through the lowest two.
        let descriptor = Descriptor(0b11_00_00_01 << 14);
        assert_eq!(descriptor.select(1, Component::X), Component::W);
        assert_eq!(descriptor.select(1, Component::Y), Component::X);
        assert_eq!(descriptor.select(1, Component::W), Component::Y);
        assert_eq!(descriptor.select(0, Component::X), Component::X);
        assert_eq!(descriptor.select(2, Component::W), Component::X);
    }

    #[test]
    fn register_fields() {
        assert_eq!(Source::of_field(0x0f, Some(AddressRegister::X)), Source::Input(15));
        assert_eq!(Source::of_field(0x10, None), Source::Temporary(0));
        assert_eq!(Source::of_field(0x7f, None), Source::Uniform { base: 95, relative: None });
        assert_eq!(Source::of_field(0x24, AddressRegister::of_field(3)).to_string(), "c4[aL]");
        assert_eq!(Destination::of_field(0x05), Destination::Output(5));
        assert_eq!(Destination::of_field(0x15), Destination::Temporary(5));
    }

    #[test]
    fn fields_are_encoded_as_they_are_decoded() {
        for field in 0..8 {
            assert_eq!(Comparison::of_field(field).to_field(), field);
            assert_eq!(FlagTest::of_fields(0, 0, field % 4).combine.to_field(), field % 4);
        }
        for field in 0..128 {
            assert_eq!(Source::of_field(field, None).to_field(), field);
            assert_eq!(Destination::of_field(field % 32).to_field(), field % 32);
        }
        assert_eq!([1, 2, 3].map(|field| AddressRegister::of_field(field).unwrap().to_field()), [1, 2, 3]);
    }

    #[test]
    fn tests_print_as_written() {
        // callc !cmp.x && cmp.y
        assert_eq!(FlagTest::of_fields(0, 1, 1).to_string(), "!cmp.x && cmp.y");
        assert_eq!(FlagTest::of_fields(1, 0, 0).to_string(), "cmp.x || !cmp.y");
        assert_eq!(FlagTest::of_fields(0, 0, 3).to_string(), "!cmp.y");
    }
}
