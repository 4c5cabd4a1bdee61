//! The opcode table: one line an opcode, everything else derived from it.
//!
//! Numbers, names and versions are those of Microsoft's reference. Its disassembler does not always count as many
//! instruction slots as its manual says: of `lrp`, `texkill` and loads of textures it counts what stands here.

use std::fmt;
use std::ops::Add;

use super::codes::Stage;
use super::decode::Version;

/// One token, or one operand, of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A register that is written.
    Destination,
    /// A register that is read.
    Source,
    /// A 32-bit float.
    Float,
    /// A signed 32-bit integer.
    Int,
    /// A truth value.
    Bool,
    /// What a declared register is for.
    Declared,
}

/// The least of the versions that have an opcode; they are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// 2.0.
    M20,
    /// 2.x, also called 2.a and 2.b.
    M2x,
    /// 3.0.
    M30,
    /// None.
    Never,
}

/// What bits 16 to 23 of the instruction token hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Controls {
    /// Nothing.
    None,
    /// A [`Comparison`](super::Comparison).
    Comparison,
    /// A [`TextureLoad`](super::TextureLoad).
    TextureLoad,
}

/// How many instruction slots something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstructionSlots {
    /// Of those that count as texture loads.
    pub texture: usize,
    /// All others, flow control included.
    pub arithmetic: usize,
}

impl InstructionSlots {
    /// All of them.
    pub const fn total(self) -> usize {
        self.texture + self.arithmetic
    }
}

impl Add for InstructionSlots {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { texture: self.texture + other.texture, arithmetic: self.arithmetic + other.arithmetic }
    }
}

/// As the last line of a listing says it.
impl fmt::Display for InstructionSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.total() == 1 { "" } else { "s" };
        write!(f, "approximately {} instruction slot{plural} used", self.total())?;
        match self.texture {
            0 => Ok(()),
            texture => write!(f, " ({texture} texture, {} arithmetic)", self.arithmetic),
        }
    }
}

/// The columns of the table, by the short names its lines use.
mod column {
    pub use super::Slot::{Bool as B, Declared as U, Destination as D, Float as F, Int as I, Source as S};
}

macro_rules! opcodes {
    ($( $number:literal $name:ident $mnemonic:literal [$($slot:ident)*] $controls:ident
        $vertex:ident $pixel:ident $texture:literal $arithmetic:literal $doc:literal; )*) => {
        /// An opcode of shader models 2.0 to 3.0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $( #[doc = concat!("`", $mnemonic, "`: ", $doc)] $name = $number, )*
        }

        impl Opcode {
            /// Every opcode, by ascending number.
            pub const ALL: &'static [Opcode] = &[$( Opcode::$name, )*];

            /// The opcode with a number.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $( $number => Some(Opcode::$name), )* _ => None }
            }

            /// The name the reference disassembler prints, without suffixes.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Opcode::$name => $mnemonic, )* }
            }

            /// What follows the instruction token, in order, a destination first.
            const fn all_slots(self) -> &'static [Slot] {
                match self { $( Opcode::$name => &[$( column::$slot, )*], )* }
            }

            /// What the instruction token holds besides number and length.
            pub const fn controls(self) -> Controls {
                match self { $( Opcode::$name => Controls::$controls, )* }
            }

            /// The least version of a stage that has it.
            pub const fn introduced(self, stage: Stage) -> Model {
                let (vertex, pixel) = match self { $( Opcode::$name => (Model::$vertex, Model::$pixel), )* };
                match stage {
                    Stage::Vertex => vertex,
                    Stage::Pixel => pixel,
                }
            }

            /// The instruction slots it takes.
            pub const fn instruction_slots(self) -> InstructionSlots {
                match self { $( Opcode::$name => InstructionSlots { texture: $texture, arithmetic: $arithmetic }, )* }
            }

            /// What it does, in a line.
            pub const fn description(self) -> &'static str {
                match self { $( Opcode::$name => $doc, )* }
            }
        }
    };
}

opcodes! {
    // number, name, mnemonic, what follows, controls, first version for vertices and for pixels, slots (texture,
    // arithmetic), meaning
     0 Nop     "nop"     []            None        M20   M20   0 1 "nothing";
     1 Mov     "mov"     [D S]         None        M20   M20   0 1 "copy";
     2 Add     "add"     [D S S]       None        M20   M20   0 1 "a + b";
     3 Sub     "sub"     [D S S]       None        M20   M20   0 1 "a - b";
     4 Mad     "mad"     [D S S S]     None        M20   M20   0 1 "a * b + c";
     5 Mul     "mul"     [D S S]       None        M20   M20   0 1 "a * b";
     6 Rcp     "rcp"     [D S]         None        M20   M20   0 1 "1 / a";
     7 Rsq     "rsq"     [D S]         None        M20   M20   0 1 "1 / sqrt(|a|)";
     8 Dp3     "dp3"     [D S S]       None        M20   M20   0 1 "dot product of xyz";
     9 Dp4     "dp4"     [D S S]       None        M20   M20   0 1 "dot product of xyzw";
    10 Min     "min"     [D S S]       None        M20   M20   0 1 "smaller of two";
    11 Max     "max"     [D S S]       None        M20   M20   0 1 "larger of two";
    12 Slt     "slt"     [D S S]       None        M20   Never 0 1 "1 where a < b, else 0";
    13 Sge     "sge"     [D S S]       None        M20   Never 0 1 "1 where a >= b, else 0";
    14 Exp     "exp"     [D S]         None        M20   M20   0 1 "2 to the power a";
    15 Log     "log"     [D S]         None        M20   M20   0 1 "logarithm of |a| to base 2";
    16 Lit     "lit"     [D S]         None        M20   Never 0 3 "diffuse and specular factors of a light";
    17 Dst     "dst"     [D S S]       None        M20   Never 0 1 "distance vector";
    18 Lrp     "lrp"     [D S S S]     None        M20   M20   0 1 "a * b + (1 - a) * c";
    19 Frc     "frc"     [D S]         None        M20   M20   0 1 "a - floor(a)";
    20 M4x4    "m4x4"    [D S S]       None        M20   M20   0 4 "product with a 4 by 4 matrix, whose rows are b and those that follow";
    21 M4x3    "m4x3"    [D S S]       None        M20   M20   0 3 "product with a 4 by 3 matrix";
    22 M3x4    "m3x4"    [D S S]       None        M20   M20   0 4 "product with a 3 by 4 matrix";
    23 M3x3    "m3x3"    [D S S]       None        M20   M20   0 3 "product with a 3 by 3 matrix";
    24 M3x2    "m3x2"    [D S S]       None        M20   M20   0 2 "product with a 3 by 2 matrix";
    25 Call    "call"    [S]           None        M20   M2x   0 2 "run the subroutine at the label";
    26 CallNz  "callnz"  [S S]         None        M20   M2x   0 3 "run the subroutine at the label if b holds";
    27 Loop    "loop"    [S S]         None        M20   M30   0 3 "start of a loop of b.x rounds in which a counts from b.y by b.z";
    28 Ret     "ret"     []            None        M20   M2x   0 1 "end of the program or subroutine";
    29 EndLoop "endloop" []            None        M20   M30   0 2 "end of a loop";
    30 Label   "label"   [S]           None        M20   M2x   0 0 "start of a subroutine";
    31 Dcl     "dcl"     [U D]         None        M20   M20   0 0 "what a register is for";
    32 Pow     "pow"     [D S S]       None        M20   M20   0 3 "|a| to the power b";
    33 Crs     "crs"     [D S S]       None        M20   M20   0 2 "cross product";
    34 Sgn     "sgn"     [D S S S]     None        M20   Never 0 3 "sign; b and c are for the hardware's use";
    35 Abs     "abs"     [D S]         None        M20   M20   0 1 "absolute value";
    36 Nrm     "nrm"     [D S]         None        M20   M20   0 3 "a / length of a.xyz";
    37 SinCos  "sincos"  [D S S S]     None        M20   M20   0 8 "cosine to x, sine to y; b and c are coefficients, up to shader model 2 only";
    38 Rep     "rep"     [S]           None        M20   M2x   0 3 "start of a loop of a.x rounds";
    39 EndRep  "endrep"  []            None        M20   M2x   0 2 "end of such a loop";
    40 If      "if"      [S]           None        M20   M2x   0 3 "run what follows if a holds";
    41 IfC     "if"      [S S]         Comparison  M2x   M2x   0 3 "run what follows if the comparison of a and b holds";
    42 Else    "else"    []            None        M20   M2x   0 1 "other arm of an if";
    43 EndIf   "endif"   []            None        M20   M2x   0 1 "end of an if";
    44 Break   "break"   []            None        M2x   M2x   0 1 "leave the innermost loop";
    45 BreakC  "break"   [S S]         Comparison  M2x   M2x   0 3 "leave the innermost loop if the comparison of a and b holds";
    46 MovA    "mova"    [D S]         None        M20   Never 0 1 "round to an integer, into the address register";
    47 DefB    "defb"    [D B]         None        M20   M20   0 0 "value of a boolean constant";
    48 DefI    "defi"    [D I I I I]   None        M20   M20   0 0 "value of an integer constant";
    65 TexKill "texkill" [D]           None        Never M20   0 1 "drop the pixel where a component of what is read here is negative";
    66 TexLd   "texld"   [D S S]       TextureLoad Never M20   1 0 "sample b at a";
    78 ExpP    "expp"    [D S]         None        M20   Never 0 1 "2 to the power a, at partial precision";
    79 LogP    "logp"    [D S]         None        M20   Never 0 1 "logarithm of |a| to base 2, at partial precision";
    81 Def     "def"     [D F F F F]   None        M20   M20   0 0 "value of a float constant";
    88 Cmp     "cmp"     [D S S S]     None        Never M20   0 1 "b where a >= 0, else c";
    90 Dp2Add  "dp2add"  [D S S S]     None        Never M20   0 2 "dot product of xy, + c";
    91 Dsx     "dsx"     [D S]         None        Never M2x   0 2 "rate of change in x across the pixel quad";
    92 Dsy     "dsy"     [D S]         None        Never M2x   0 2 "rate of change in y across the pixel quad";
    93 TexLdd  "texldd"  [D S S S S]   None        Never M2x   1 2 "sample b at a, with rates of change c and d";
    94 SetP    "setp"    [D S S]       Comparison  M2x   M2x   0 1 "comparison of a and b, into the predicate register";
    95 TexLdl  "texldl"  [D S S]       None        M30   M30   2 0 "sample b at a, at the level a.w";
    96 BreakP  "breakp"  [S]           None        M2x   M2x   0 3 "leave the innermost loop if a component of the predicate register holds";
}

impl Opcode {
    /// Its number, the lower half of the instruction token.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Whether its first operand is laid out as one that is written.
    pub const fn has_destination(self) -> bool {
        matches!(self.all_slots(), [Slot::Destination, ..])
    }

    /// What follows the instruction token in programs of a version: one operand or one token each, a destination first.
    pub fn slots(self, version: Version) -> &'static [Slot] {
        match (self, version.major) {
            (Opcode::SinCos, 3) => &self.all_slots()[..2],
            _ => self.all_slots(),
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_are_found_again() {
        assert!(Opcode::ALL.is_sorted_by_key(|opcode| opcode.number()));
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_number(opcode.number()), Some(opcode));
        }
        // `tex` and `phase` of shader model 1, the numbers beside the last one, comment and end.
        for other in [49, 64, 67, 80, 89, 97, 0xfffd, 0xfffe, 0xffff, u32::MAX] {
            assert_eq!(Opcode::from_number(other), None, "{other}");
        }
    }

    #[test]
    fn each_opcode_belongs_to_some_version() {
        for &opcode in Opcode::ALL {
            let stages = [Stage::Vertex, Stage::Pixel];
            assert!(stages.iter().any(|&stage| opcode.introduced(stage) != Model::Never), "{opcode}");
        }
    }

    #[test]
    fn totals_read_as_the_reference_writes_them() {
        let text = |texture, arithmetic| InstructionSlots { texture, arithmetic }.to_string();
        assert_eq!(text(0, 14), "approximately 14 instruction slots used");
        assert_eq!(text(0, 1), "approximately 1 instruction slot used");
        assert_eq!(text(1, 0), "approximately 1 instruction slot used (1 texture, 0 arithmetic)");
        assert_eq!(text(3, 22), "approximately 25 instruction slots used (3 texture, 22 arithmetic)");
    }
}
