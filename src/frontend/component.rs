//! The four components of a Direct3D register, sets of them, and their rearrangement.

use std::fmt;

/// One of the four components of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
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

    /// The swizzle as bits.
    pub const fn bits(self) -> u8 {
        self.0
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
