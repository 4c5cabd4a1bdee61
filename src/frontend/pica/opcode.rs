//! The instruction set: one line an opcode, drawn as a picture of its 32-bit word. Recognising a word, finding its
//! fields, which operands it has and how it is printed all follow from the pictures.
//!
//! In a picture `0` and `1` are fixed bits, `-` is ignored by the hardware, and a letter is a bit of a [`Field`];
//! the most significant bit comes first. The shapes are the formats of 3dbrew's "Shader Instruction Set": 1, 1i and 1u
//! (`d x a b s`), 1c (`l m`), 2 (`p q k t n`), 3 (`u` or `i`), 4 (`e f g`), 5 and 5i (`c`).

/// What a run of equal letters in a picture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Field {
    /// `d`: destination register.
    Destination,
    /// `x`: address register added to the index of the wide (7-bit) source.
    Index,
    /// `a`: first source register. The 7-bit one of an instruction reaches the float uniforms, a 5-bit one does not.
    Source1,
    /// `b`: second source register.
    Source2,
    /// `c`: third source register.
    Source3,
    /// `s`: number of the operand descriptor.
    Descriptor,
    /// `l`: comparison that sets `cmp.x`.
    CompareX,
    /// `m`: comparison that sets `cmp.y`.
    CompareY,
    /// `p`: value `cmp.x` is compared with.
    ReferenceX,
    /// `q`: value `cmp.y` is compared with.
    ReferenceY,
    /// `k`: how the two flag tests are combined.
    Combine,
    /// `u`: bool uniform.
    Bool,
    /// `i`: integer uniform.
    Int,
    /// `t`: target, a word address.
    Target,
    /// `n`: number of words from the target on.
    Count,
    /// `v`: the test of the bool uniform is inverted.
    Invert,
    /// `e`: vertex slot of the primitive being built.
    Vertex,
    /// `f`: this vertex completes a primitive.
    Primitive,
    /// `g`: the primitive's winding is inverted.
    Winding,
}

impl Field {
    const COUNT: usize = Field::Winding as usize + 1;

    /// Every field.
    pub const ALL: [Field; Field::COUNT] = [
        Field::Destination,
        Field::Index,
        Field::Source1,
        Field::Source2,
        Field::Source3,
        Field::Descriptor,
        Field::CompareX,
        Field::CompareY,
        Field::ReferenceX,
        Field::ReferenceY,
        Field::Combine,
        Field::Bool,
        Field::Int,
        Field::Target,
        Field::Count,
        Field::Invert,
        Field::Vertex,
        Field::Primitive,
        Field::Winding,
    ];

    /// The field a picture's letter stands for.
    const fn of_letter(letter: u8) -> Option<Field> {
        Some(match letter {
            b'd' => Field::Destination,
            b'x' => Field::Index,
            b'a' => Field::Source1,
            b'b' => Field::Source2,
            b'c' => Field::Source3,
            b's' => Field::Descriptor,
            b'l' => Field::CompareX,
            b'm' => Field::CompareY,
            b'p' => Field::ReferenceX,
            b'q' => Field::ReferenceY,
            b'k' => Field::Combine,
            b'u' => Field::Bool,
            b'i' => Field::Int,
            b't' => Field::Target,
            b'n' => Field::Count,
            b'v' => Field::Invert,
            b'e' => Field::Vertex,
            b'f' => Field::Primitive,
            b'g' => Field::Winding,
            _ => return None,
        })
    }
}

/// Where a field lies in the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Bits {
    /// Lowest bit.
    shift: u8,
    /// Number of bits; 0 means the instruction has no such field.
    width: u8,
}

/// A parsed picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    mask: u32,
    value: u32,
    fields: [Bits; Field::COUNT],
}

impl Picture {
    /// Parses a picture at compile time; a malformed one does not compile.
    const fn parse(text: &str) -> Picture {
        let text = text.as_bytes();
        let mut picture = Picture { mask: 0, value: 0, fields: [Bits { shift: 0, width: 0 }; Field::COUNT] };
        let mut bit = 32u8;
        let mut i = 0;
        while i < text.len() {
            let letter = text[i];
            i += 1;
            if letter == b' ' {
                continue;
            }
            assert!(bit > 0, "a picture has 32 bits");
            bit -= 1;
            match letter {
                b'-' => {}
                b'0' => picture.mask |= 1 << bit,
                b'1' => {
                    picture.mask |= 1 << bit;
                    picture.value |= 1 << bit;
                }
                _ => {
                    let Some(field) = Field::of_letter(letter) else { panic!("a letter without a field") };
                    let bits = &mut picture.fields[field as usize];
                    assert!(bits.width == 0 || bits.shift == bit + 1, "a field is one run of bits");
                    *bits = Bits { shift: bit, width: bits.width + 1 };
                }
            }
        }
        assert!(bit == 0, "a picture has 32 bits");
        picture
    }

    /// Whether the fixed bits of `word` are this picture's.
    pub const fn matches(&self, word: u32) -> bool {
        word & self.mask == self.value
    }

    /// The field's value in `word`, if the instruction has it.
    pub const fn get(&self, field: Field, word: u32) -> Option<u32> {
        let bits = self.fields[field as usize];
        if bits.width == 0 { None } else { Some(word >> bits.shift & ((1 << bits.width) - 1)) }
    }

    /// The fixed bits, all others 0.
    pub const fn fixed(&self) -> u32 {
        self.value
    }

    /// The bits of a word that hold `value` in the field; `None` if the instruction lacks it or the value is too wide.
    pub const fn place(&self, field: Field, value: u32) -> Option<u32> {
        let bits = self.fields[field as usize];
        if bits.width == 0 || value >> bits.width != 0 { None } else { Some(value << bits.shift) }
    }

    /// The bits of a word that the field takes, none if the instruction lacks it.
    pub const fn bits(&self, field: Field) -> u32 {
        let Bits { shift, width } = self.fields[field as usize];
        ((1 << width) - 1) << shift
    }

    /// The bits of a word that are fixed or belong to a field. The hardware ignores the others.
    pub const fn used(&self) -> u32 {
        let mut used = self.mask;
        let mut i = 0;
        while i < Field::COUNT {
            let Bits { shift, width } = self.fields[i];
            used |= ((1 << width) - 1) << shift;
            i += 1;
        }
        used
    }

    /// The field's width in bits, 0 if the instruction lacks it.
    pub const fn width(&self, field: Field) -> u32 {
        self.fields[field as usize].width as u32
    }
}

macro_rules! opcodes {
    ($( $(#[$doc:meta])* $name:ident $mnemonic:literal $picture:literal; )*) => {
        /// An opcode. In the descriptions `s1 s2 s3` are the sources after swizzle and negation, and what is not said
        /// to be scalar happens to each enabled component.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Opcode {
            $( $(#[$doc])* $name, )*
        }

        impl Opcode {
            /// Every opcode, in the order of the encoding.
            pub const ALL: &'static [Opcode] = &[$( Opcode::$name, )*];

            /// The name in assembly.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Opcode::$name => $mnemonic, )* }
            }

            /// The picture of its word.
            pub const fn picture(self) -> &'static Picture {
                match self { $( Opcode::$name => const { &Picture::parse($picture) }, )* }
            }
        }
    };
}

opcodes! {
    /// `s1 + s2`.
    Add     "add"     "000000 ddddd xx aaaaaaa bbbbb sssssss";
    /// `s1.xyz · s2.xyz`, to all components.
    Dp3     "dp3"     "000001 ddddd xx aaaaaaa bbbbb sssssss";
    /// `s1 · s2`, to all components.
    Dp4     "dp4"     "000010 ddddd xx aaaaaaa bbbbb sssssss";
    /// `(s1.xyz, 1) · s2`, to all components.
    Dph     "dph"     "000011 ddddd xx aaaaaaa bbbbb sssssss";
    /// `(1, s1.y·s2.y, s1.z, s2.w)`: Direct3D's distance vector.
    Dst     "dst"     "000100 ddddd xx aaaaaaa bbbbb sssssss";
    /// `2^s1.x`, to all components.
    Ex2     "ex2"     "000101 ddddd xx aaaaaaa ----- sssssss";
    /// `log2(s1.x)`, to all components.
    Lg2     "lg2"     "000110 ddddd xx aaaaaaa ----- sssssss";
    /// Lighting helper: clamps `s1` and sets both flags from the signs of `s1.x` and `s1.w`.
    Litp    "litp"    "000111 ddddd xx aaaaaaa ----- sssssss";
    /// `s1 · s2`, where 0 · ∞ = 0.
    Mul     "mul"     "001000 ddddd xx aaaaaaa bbbbb sssssss";
    /// `s1 >= s2 ? 1 : 0`.
    Sge     "sge"     "001001 ddddd xx aaaaaaa bbbbb sssssss";
    /// `s1 < s2 ? 1 : 0`.
    Slt     "slt"     "001010 ddddd xx aaaaaaa bbbbb sssssss";
    /// Largest integer not above `s1`.
    Flr     "flr"     "001011 ddddd xx aaaaaaa ----- sssssss";
    /// `s1 > s2 ? s1 : s2`.
    Max     "max"     "001100 ddddd xx aaaaaaa bbbbb sssssss";
    /// `s1 < s2 ? s1 : s2`.
    Min     "min"     "001101 ddddd xx aaaaaaa bbbbb sssssss";
    /// `1 / s1.x`, to all components.
    Rcp     "rcp"     "001110 ddddd xx aaaaaaa ----- sssssss";
    /// `1 / sqrt(s1.x)`, to all components.
    Rsq     "rsq"     "001111 ddddd xx aaaaaaa ----- sssssss";
    /// `a0.xy = s1.xy`, toward zero; the descriptor's mask says which.
    Mova    "mova"    "010010 ----- xx aaaaaaa ----- sssssss";
    /// `s1`.
    Mov     "mov"     "010011 ddddd xx aaaaaaa ----- sssssss";
    /// [`Dph`](Opcode::Dph) with the wide source second.
    Dphi    "dphi"    "011000 ddddd xx aaaaa bbbbbbb sssssss";
    /// [`Dst`](Opcode::Dst) with the wide source second.
    Dsti    "dsti"    "011001 ddddd xx aaaaa bbbbbbb sssssss";
    /// [`Sge`](Opcode::Sge) with the wide source second.
    Sgei    "sgei"    "011010 ddddd xx aaaaa bbbbbbb sssssss";
    /// [`Slt`](Opcode::Slt) with the wide source second.
    Slti    "slti"    "011011 ddddd xx aaaaa bbbbbbb sssssss";
    /// Leave the innermost LOOP.
    Break   "break"   "100000 --------------------------";
    /// Nothing.
    Nop     "nop"     "100001 --------------------------";
    /// The invocation ends, wherever this stands.
    End     "end"     "100010 --------------------------";
    /// [`Break`](Opcode::Break) if the flags say so.
    Breakc  "breakc"  "100011 pqkk ----------------------";
    /// Run the words from the target on, as many as the count says, then go on behind this word.
    Call    "call"    "100100 ---- tttttttttttt -- nnnnnnnn";
    /// [`Call`](Opcode::Call) if the flags say so.
    Callc   "callc"   "100101 pqkk tttttttttttt -- nnnnnnnn";
    /// [`Call`](Opcode::Call) if the bool uniform is set.
    Callu   "callu"   "100110 uuuu tttttttttttt -- nnnnnnnn";
    /// If the bool uniform is set, run up to the target and skip the count of words from there; else go to the target.
    Ifu     "ifu"     "100111 uuuu tttttttttttt -- nnnnnnnn";
    /// [`Ifu`](Opcode::Ifu) on the flags.
    Ifc     "ifc"     "101000 pqkk tttttttttttt -- nnnnnnnn";
    /// Run up to and including the target `i.x + 1` times; `aL` starts at `i.y` and grows by `i.z`.
    Loop    "loop"    "101001 --ii tttttttttttt -- --------";
    /// Geometry shaders: hand the output registers over as a vertex.
    Emit    "emit"    "101010 --------------------------";
    /// Geometry shaders: what the next [`Emit`](Opcode::Emit) does.
    Setemit "setemit" "101011 eefg ----------------------";
    /// Go to the target if the flags say so.
    Jmpc    "jmpc"    "101100 pqkk tttttttttttt -- --------";
    /// Go to the target if the bool uniform is set (clear, if inverted).
    Jmpu    "jmpu"    "101101 uuuu tttttttttttt -- -------v";
    /// `cmp.x = s1.x ? s2.x`, `cmp.y = s1.y ? s2.y`, each with its own comparison.
    Cmp     "cmp"     "10111 lllmmm xx aaaaaaa bbbbb sssssss";
    /// `s1 · s2 + s3` with the wide source third; two roundings.
    Madi    "madi"    "110 ddddd xx aaaaa bbbbb ccccccc sssss";
    /// `s1 · s2 + s3` with the wide source second; two roundings.
    Mad     "mad"     "111 ddddd xx aaaaa bbbbbbb ccccc sssss";
}

/// Number of bits at the top of a word that tell the opcode. CMP, MAD and MADI use fewer and fill several entries.
const OPCODE_BITS: u32 = 6;

/// Opcode by the top bits of the word.
static BY_TOP_BITS: [Option<Opcode>; 1 << OPCODE_BITS] = {
    let mut table = [None; 1 << OPCODE_BITS];
    let mut top = 0;
    while top < table.len() {
        let word = (top as u32) << (32 - OPCODE_BITS);
        let mut i = 0;
        while i < Opcode::ALL.len() {
            if Opcode::ALL[i].picture().matches(word) {
                assert!(table[top].is_none(), "two pictures match one word");
                table[top] = Some(Opcode::ALL[i]);
            }
            i += 1;
        }
        top += 1;
    }
    table
};

impl Opcode {
    /// The opcode of a word, `None` where the encoding is undefined.
    pub fn of(word: u32) -> Option<Opcode> {
        BY_TOP_BITS[(word >> (32 - OPCODE_BITS)) as usize]
    }

    /// Number of sources.
    pub fn sources(self) -> usize {
        let has = |field: &Field| self.picture().width(*field) > 0;
        [Field::Source1, Field::Source2, Field::Source3].iter().filter(|field| has(field)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_is_recognised() {
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::of(opcode.picture().value), Some(opcode));
            let ignored_set = opcode.picture().value | !opcode.picture().mask;
            assert_eq!(Opcode::of(ignored_set), Some(opcode));
        }
    }

    #[test]
    fn fixed_bits_lie_within_the_table_index() {
        for &opcode in Opcode::ALL {
            assert_eq!(opcode.picture().mask << OPCODE_BITS, 0, "{opcode:?}");
        }
    }

    #[test]
    fn the_undefined_encodings_are_the_known_ones() {
        let undefined: Vec<u32> = (0..64).filter(|top| Opcode::of(top << 26).is_none()).collect();
        assert_eq!(undefined, [0x10, 0x11, 0x14, 0x15, 0x16, 0x17, 0x1c, 0x1d, 0x1e, 0x1f]);
    }

    #[test]
    fn one_source_is_wide_and_the_index_goes_with_it() {
        for &opcode in Opcode::ALL {
            let picture = opcode.picture();
            let widths = [Field::Source1, Field::Source2, Field::Source3].map(|source| picture.width(source));
            let wide = widths.iter().filter(|&&width| width == 7).count();
            assert!(widths.iter().all(|width| [0, 5, 7].contains(width)), "{opcode:?}");
            assert_eq!(wide, usize::from(widths[0] != 0), "{opcode:?}");
            assert_eq!(picture.width(Field::Index), if wide == 1 { 2 } else { 0 }, "{opcode:?}");
            assert_eq!(picture.width(Field::Descriptor) != 0, wide == 1, "{opcode:?}");
        }
    }

    #[test]
    #[expect(clippy::unusual_byte_groupings, reason = "grouped by field")]
    fn fields_come_from_where_the_picture_says() {
        let mad = Opcode::Mad.picture();
        let word = 0b111_10001_10_00011_0100101_01110_11001;
        assert_eq!(Opcode::of(word), Some(Opcode::Mad));
        assert_eq!(mad.get(Field::Destination, word), Some(0b10001));
        assert_eq!(mad.get(Field::Index, word), Some(0b10));
        assert_eq!(mad.get(Field::Source1, word), Some(0b00011));
        assert_eq!(mad.get(Field::Source2, word), Some(0b0100101));
        assert_eq!(mad.get(Field::Source3, word), Some(0b01110));
        assert_eq!(mad.get(Field::Descriptor, word), Some(0b11001));
        assert_eq!(mad.get(Field::Target, word), None);
        assert_eq!(mad.place(Field::Source2, 0b0100101), Some(0b0100101 << 10));
        assert_eq!((mad.place(Field::Source2, 0x80), mad.place(Field::Target, 0)), (None, None));
        assert_eq!((mad.bits(Field::Source2), mad.bits(Field::Target)), (0x7f << 10, 0));
        assert_eq!((mad.used(), Opcode::Mov.picture().used()), (u32::MAX, !(0x1f << 7)));
    }
}
