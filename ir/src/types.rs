//! Value types.

use std::fmt;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Type {
    /// A truth value: a comparison's result, an exec mask.
    I1,
    /// 32 bits; signedness is the operation's.
    I32,
    /// IEEE 754 binary32. Loads, stores, `select` and block parameters keep every bit pattern.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Four words of 32 bits: a texel, or the address of one. Only ops that make and take rows apart use it, and only
    /// in the block that makes it.
    Row,
}

impl Type {
    /// Every type.
    pub const ALL: [Type; 5] = [Type::I1, Type::I32, Type::F32, Type::F64, Type::Row];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Type::I1 => "i1",
            Type::I32 => "i32",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Row => "row",
        }
    }

    /// How many words of 32 bits a lane's value is held in.
    pub const fn words(self) -> u32 {
        match self {
            Type::I1 | Type::I32 | Type::F32 => 1,
            Type::F64 => 2,
            Type::Row => 4,
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
