//! The table of machine instructions: one line each. Operands, what register allocation is told of them, and the
//! encoding are all derived from it.
//!
//! Opcodes are those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. Instructions that
//! VEX and EVEX encode with the same opcode are one line, whatever the names of the two.

/// Which registers an operand can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// General: `rax` to `r15`.
    G,
    /// Vectors: `xmm`, `ymm` or `zmm`.
    V,
    /// Masks: `k1` to `k7`.
    K,
}

/// Where an operand goes in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `ModRM.reg`.
    Reg,
    /// `ModRM.rm`: a register, or memory in its place.
    Rm,
    /// `VEX.vvvv`.
    Vvvv,
    /// The high half of the immediate.
    Immediate,
    /// Nowhere: it is in the register of the result.
    Nowhere,
}

impl Field {
    pub const COUNT: usize = Field::Nowhere as usize + 1;
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Use,
    Def,
    /// The result, in the register of operand 1.
    Reuse,
}

/// An operand of a form.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub role: Role,
    pub class: Class,
    pub field: Field,
}

const fn def(class: Class, field: Field) -> Slot {
    Slot { role: Role::Def, class, field }
}

const fn uses(class: Class, field: Field) -> Slot {
    Slot { role: Role::Use, class, field }
}

const fn reuse(class: Class, field: Field) -> Slot {
    Slot { role: Role::Reuse, class, field }
}

/// How an instruction is encoded.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub prefixes: Prefixes,
    /// 0 for none, 1 for 66, 2 for F3, 3 for F2.
    pub prefix: u8,
    /// 0 for one-byte opcodes, 1 for 0F, 2 for 0F 38, 3 for 0F 3A.
    pub map: u8,
    pub opcode: u8,
    /// `REX.W` or `EVEX.W`.
    pub wide: bool,
    /// `VEX.W`.
    pub vex_wide: bool,
    /// What is in `ModRM.reg` where no operand is.
    pub digit: u8,
    /// Bytes of a memory operand, in which EVEX counts small displacements; 0 for those of the vector.
    pub unit: u8,
    /// Bytes of the immediate.
    pub immediate: u8,
    /// `VEX.L` of instructions on masks.
    pub long: bool,
    /// Whether what it gives depends on how the processor treats denormals, and they are to be zero to it: it computes
    /// with floats.
    pub flushes: bool,
}

/// The kinds of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// REX.
    Legacy,
    /// VEX alone.
    Vex,
    /// EVEX alone.
    Evex,
    /// VEX where it can be, else EVEX.
    Either,
}

impl Encoding {
    const fn new(prefixes: Prefixes, prefix: u8, map: u8, opcode: u8) -> Encoding {
        let (digit, unit, immediate) = (0, 0, 0);
        let (wide, vex_wide, long, flushes) = (false, false, false, false);
        Encoding { prefixes, prefix, map, opcode, wide, vex_wide, digit, unit, immediate, long, flushes }
    }

    const fn w(self) -> Encoding {
        Encoding { wide: true, ..self }
    }

    const fn w_of_both(self) -> Encoding {
        Encoding { vex_wide: true, ..self.w() }
    }

    const fn flushes(self) -> Encoding {
        Encoding { flushes: true, ..self }
    }

    const fn long(self) -> Encoding {
        Encoding { long: true, ..self }
    }

    const fn digit(self, digit: u8) -> Encoding {
        Encoding { digit, ..self }
    }

    const fn unit(self, unit: u8) -> Encoding {
        Encoding { unit, ..self }
    }

    const fn imm8(self) -> Encoding {
        Encoding { immediate: 1, ..self }
    }

    const fn imm32(self) -> Encoding {
        Encoding { immediate: 4, ..self }
    }
}

const fn both(prefix: u8, map: u8, opcode: u8) -> Encoding {
    Encoding::new(Prefixes::Either, prefix, map, opcode)
}

const fn vex(prefix: u8, map: u8, opcode: u8) -> Encoding {
    Encoding::new(Prefixes::Vex, prefix, map, opcode)
}

const fn evex(prefix: u8, map: u8, opcode: u8) -> Encoding {
    Encoding::new(Prefixes::Evex, prefix, map, opcode)
}

const fn legacy(prefix: u8, map: u8, opcode: u8) -> Encoding {
    Encoding::new(Prefixes::Legacy, prefix, map, opcode)
}

const fn has_reg(form: &[Slot]) -> bool {
    let (mut found, mut at) = (false, 0);
    while at < form.len() {
        found |= matches!(form[at].field, Field::Reg);
        at += 1;
    }
    found
}

/// Whether all of a vector that is in `ModRM.rm` is read as well from memory of its size: instructions of two vectors
/// or more have such a form, but for those of parts of vectors.
const fn reads_slots(form: &[Slot], encoding: &Encoding) -> bool {
    let (mut has_first, mut has_last, mut at) = (false, false, 0);
    while at < form.len() {
        let Slot { role, class, field } = form[at];
        let is_vector = matches!(role, Role::Use) && matches!(class, Class::V);
        has_first |= is_vector && matches!(field, Field::Vvvv);
        has_last |= is_vector && matches!(field, Field::Rm);
        at += 1;
    }
    has_first && has_last && encoding.unit == 0
}

macro_rules! forms {
    ($($name:ident = [$($role:ident $class:ident $field:ident),*];)*) => {
        $(const $name: &[Slot] = &[$($role(Class::$class, Field::$field)),*];)*
    };
}

forms! {
    VV = [def V Reg, uses V Rm];
    VG = [def V Reg, uses G Rm];
    GV = [def G Reg, uses V Rm];
    VVV = [def V Reg, uses V Vvvv, uses V Rm];
    VVG = [def V Reg, uses V Vvvv, uses G Rm];
    VVVV = [def V Reg, uses V Vvvv, uses V Rm, uses V Immediate];
    ACCUMULATE = [reuse V Reg, uses V Nowhere, uses V Vvvv, uses V Rm];
    SHIFT = [def V Vvvv, uses V Rm];
    EXTRACT = [def V Rm, uses V Reg];
    EXTRACT_G = [def G Rm, uses V Reg];
    STORE = [uses V Reg, uses G Rm];
    GATHER = [reuse V Reg, uses V Nowhere, uses G Rm];
    KVV = [def K Reg, uses V Vvvv, uses V Rm];
    KKK = [def K Reg, uses K Vvvv, uses K Rm];
    KK = [def K Reg, uses K Rm];
    KG = [def K Reg, uses G Rm];
    GK = [def G Reg, uses K Rm];
    K_K = [uses K Reg, uses K Rm];
    K_STORE = [uses K Reg, uses G Rm];
    GG = [def G Reg, uses G Rm];
    GGG = [def G Reg, uses G Rm, uses G Vvvv];
    UPDATE = [reuse G Reg, uses G Nowhere, uses G Rm];
    UPDATE_BY = [reuse G Rm, uses G Nowhere];
    G_G = [uses G Reg, uses G Rm];
    G_ = [uses G Rm];
    SET = [def G Rm];
    ZERO = [def V Reg];
}

macro_rules! define_ops {
    ($($name:ident $text:literal $form:ident $encoding:expr;)*) => {
        /// A machine instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Op { $($name,)* }

        impl Op {
            /// Its operands, a memory operand's registers and a mask not counted.
            #[inline]
            pub fn form(self) -> &'static [Slot] {
                static FORMS: [&[Slot]; Op::COUNT] = [$($form,)*];
                FORMS[self as usize]
            }

            /// Whether its result is in the register of its first operand.
            #[inline]
            pub fn overwrites(self) -> bool {
                matches!(self.form(), [Slot { role: Role::Reuse, .. }, ..])
            }

            /// Whether an operand is in `ModRM.reg`.
            #[inline]
            pub fn has_reg(self) -> bool {
                static TABLE: [bool; Op::COUNT] = [$(has_reg($form),)*];
                TABLE[self as usize]
            }

            /// Whether the vector in `ModRM.rm` may be in its spill slot instead.
            #[inline]
            pub fn reads_slots(self) -> bool {
                static TABLE: [bool; Op::COUNT] = [$(reads_slots($form, &$encoding),)*];
                TABLE[self as usize]
            }

            /// Whether a mask leaves the other lanes of what it writes as they are, or blends, instead of zeroing them:
            /// what has no result stores.
            pub fn merges(self) -> bool {
                let stores = self.form().iter().all(|slot| matches!(slot.role, Role::Use));
                stores || matches!(self, Op::Blendmps | Op::Blendmpd | Op::Gather)
            }

            /// How it is encoded.
            #[inline]
            pub fn encoding(self) -> &'static Encoding {
                static ENCODINGS: [Encoding; Op::COUNT] = [$($encoding,)*];
                &ENCODINGS[self as usize]
            }

            const COUNT: usize = [$(Op::$name,)*].len();

            /// Every one.
            #[cfg(test)]
            pub const ALL: &[Op] = &[$(Op::$name,)*];

            /// The name of the VEX form, or of the only one.
            #[cfg(test)]
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Op::$name => $text,)* }
            }
        }
    };
}

define_ops! {
    // ---- moves of vectors
    Movups "vmovups" VV both(0, 1, 0x10);
    StoreVector "vmovups" STORE both(0, 1, 0x11);
    // All of whose registers are that of the result.
    Zero "vpxor" ZERO both(1, 1, 0xef);
    Movsd "vmovsd" VV both(3, 1, 0x10).w().unit(8);
    StoreLow "vmovlps" STORE both(0, 1, 0x13).unit(8);
    StoreHigh "vmovhps" STORE both(0, 1, 0x17).unit(8);
    LoadHigh "vmovhps" VVV both(0, 1, 0x16).unit(8);
    Movd "vmovd" VG both(1, 1, 0x6e).unit(4);
    MovdOut "vmovd" EXTRACT_G both(1, 1, 0x7e).unit(4);
    Broadcastss "vbroadcastss" VV both(1, 2, 0x18).unit(4);
    BroadcastRow "vbroadcastf128" VV both(1, 2, 0x1a).unit(16);
    BroadcastHalf "vbroadcastf64x4" VV evex(1, 2, 0x1b).w().unit(32);
    BroadcastWord "vpbroadcastd" VG evex(1, 2, 0x7c);
    Pinsrd "vpinsrd" VVG both(1, 3, 0x22).unit(4).imm8();
    Pextrd "vpextrd" EXTRACT_G both(1, 3, 0x16).unit(4).imm8();
    InsertRow "vinsertf128" VVV both(1, 3, 0x18).unit(16).imm8();
    ExtractRow "vextractf128" EXTRACT both(1, 3, 0x19).unit(16).imm8();
    InsertHalf "vinsertf64x4" VVV evex(1, 3, 0x1a).w().unit(32).imm8();
    ExtractHalf "vextractf64x4" EXTRACT evex(1, 3, 0x1b).w().unit(32).imm8();
    StoreRow "vextractf128" STORE both(1, 3, 0x19).unit(16).imm8();
    StoreHalf "vextractf32x8" STORE evex(1, 3, 0x1b).unit(32).imm8();
    // Of an address for each lane, the index of which is a vector of signed numbers. Both clear their mask.
    Gather "vpgatherdd" GATHER evex(1, 2, 0x90).unit(4);
    Scatter "vpscatterdd" STORE evex(1, 2, 0xa0).unit(4);

    // ---- shuffles within rows of 128 bits
    // Of floats or integers alike. Intel's processors have two units for these in vectors of 256 bits, and one for
    // `vpermilps` and `vunpcklps`, which do the same.
    Pshufd "vpshufd" VV both(1, 1, 0x70).imm8();
    Shufps "vshufps" VVV both(0, 1, 0xc6).imm8();
    Punpckldq "vpunpckldq" VVV both(1, 1, 0x62);
    Punpckhdq "vpunpckhdq" VVV both(1, 1, 0x6a);
    Pshufb "vpshufb" VVV both(1, 2, 0x00);

    // ---- shuffles among rows
    // Of all words: the first operand says which.
    Permps "vpermps" VVV both(1, 2, 0x16);
    Permpd "vpermpd" VV both(1, 3, 0x01).w_of_both().imm8();
    Permt2d "vpermt2d" ACCUMULATE evex(1, 2, 0x7e);
    // The same, which loses the lanes' numbers instead of the first vector.
    Permi2d "vpermi2d" ACCUMULATE evex(1, 2, 0x76);
    // Both operands behind each other, the second first, from a word on.
    Alignd "valignd" VVV evex(1, 3, 0x03).imm8();
    // Words one after the other, to the lanes that the mask has.
    Expandd "vpexpandd" VV evex(1, 2, 0x89).unit(4);

    // ---- floats
    Addps "vaddps" VVV both(0, 1, 0x58).flushes();
    Mulps "vmulps" VVV both(0, 1, 0x59).flushes();
    Subps "vsubps" VVV both(0, 1, 0x5c).flushes();
    Minps "vminps" VVV both(0, 1, 0x5d).flushes();
    Divps "vdivps" VVV both(0, 1, 0x5e).flushes();
    Maxps "vmaxps" VVV both(0, 1, 0x5f).flushes();
    Sqrtps "vsqrtps" VV both(0, 1, 0x51).flushes();
    Rcp14ps "vrcp14ps" VV evex(1, 2, 0x4c).flushes();
    Roundps "vroundps" VV both(1, 3, 0x08).imm8().flushes();
    Fma132 "vfmadd132ps" ACCUMULATE both(1, 2, 0x98).flushes();
    Fma213 "vfmadd213ps" ACCUMULATE both(1, 2, 0xa8).flushes();
    Fma231 "vfmadd231ps" ACCUMULATE both(1, 2, 0xb8).flushes();
    Fms132 "vfmsub132ps" ACCUMULATE both(1, 2, 0x9a).flushes();
    Fms213 "vfmsub213ps" ACCUMULATE both(1, 2, 0xaa).flushes();
    Fms231 "vfmsub231ps" ACCUMULATE both(1, 2, 0xba).flushes();
    Fnma132 "vfnmadd132ps" ACCUMULATE both(1, 2, 0x9c).flushes();
    Fnma213 "vfnmadd213ps" ACCUMULATE both(1, 2, 0xac).flushes();
    Fnma231 "vfnmadd231ps" ACCUMULATE both(1, 2, 0xbc).flushes();
    Fnms132 "vfnmsub132ps" ACCUMULATE both(1, 2, 0x9e).flushes();
    Fnms213 "vfnmsub213ps" ACCUMULATE both(1, 2, 0xae).flushes();
    Fnms231 "vfnmsub231ps" ACCUMULATE both(1, 2, 0xbe).flushes();
    Cmpps "vcmpps" VVV vex(0, 1, 0xc2).imm8().flushes();
    CmppsMask "vcmpps" KVV evex(0, 1, 0xc2).imm8().flushes();
    // By the power of two below which the second operand is the next whole number.
    Scalefps "vscalefps" VVV evex(1, 2, 0x2c).flushes();
    Fixupimmps "vfixupimmps" ACCUMULATE evex(1, 3, 0x54).imm8().flushes();
    Cvtdq2ps "vcvtdq2ps" VV both(0, 1, 0x5b);
    Cvttps2dq "vcvttps2dq" VV both(2, 1, 0x5b).flushes();
    Cvttps2udq "vcvttps2udq" VV evex(0, 1, 0x78).flushes();
    Cvtudq2ps "vcvtudq2ps" VV evex(3, 1, 0x7a);
    Movmskps "vmovmskps" GV vex(0, 1, 0x50);

    // ---- doubles
    Movupd "vmovupd" VV both(1, 1, 0x10).w();
    Broadcastsd "vbroadcastsd" VV both(1, 2, 0x19).w().unit(8);
    Addpd "vaddpd" VVV both(1, 1, 0x58).w();
    Mulpd "vmulpd" VVV both(1, 1, 0x59).w();
    Subpd "vsubpd" VVV both(1, 1, 0x5c).w();
    Minpd "vminpd" VVV both(1, 1, 0x5d).w();
    Divpd "vdivpd" VVV both(1, 1, 0x5e).w();
    Maxpd "vmaxpd" VVV both(1, 1, 0x5f).w();
    Fma132pd "vfmadd132pd" ACCUMULATE both(1, 2, 0x98).w_of_both();
    Fma213pd "vfmadd213pd" ACCUMULATE both(1, 2, 0xa8).w_of_both();
    Fma231pd "vfmadd231pd" ACCUMULATE both(1, 2, 0xb8).w_of_both();
    Roundpd "vroundpd" VV both(1, 3, 0x09).w().imm8();
    Cmppd "vcmppd" VVV vex(1, 1, 0xc2).imm8();
    CmppdMask "vcmppd" KVV evex(1, 1, 0xc2).w().imm8();
    Blendvpd "vblendvpd" VVVV vex(1, 3, 0x4b).imm8();
    Blendmpd "vblendmpd" VVV evex(1, 2, 0x65).w();
    Cvtpd2ps "vcvtpd2ps" VV both(1, 1, 0x5a).w();
    Cvtps2pd "vcvtps2pd" VV both(0, 1, 0x5a).flushes();
    Cvtdq2pd "vcvtdq2pd" VV evex(2, 1, 0xe6);
    Cvtudq2pd "vcvtudq2pd" VV evex(2, 1, 0x7a);
    // Of memory: the mode that all of these compute in.
    Ldmxcsr "vldmxcsr" G_ vex(0, 1, 0xae).digit(2);

    // ---- integers and bits
    Pand "vpand" VVV both(1, 1, 0xdb);
    Pandn "vpandn" VVV both(1, 1, 0xdf);
    Por "vpor" VVV both(1, 1, 0xeb);
    Pxor "vpxor" VVV both(1, 1, 0xef);
    // By a table of the result for each choice of three bits.
    Ternlogd "vpternlogd" ACCUMULATE evex(1, 3, 0x25).imm8();
    Paddd "vpaddd" VVV both(1, 1, 0xfe);
    Psubd "vpsubd" VVV both(1, 1, 0xfa);
    Pmulld "vpmulld" VVV both(1, 2, 0x40);
    Pmuldq "vpmuldq" VVV both(1, 2, 0x28).w();
    Pmuludq "vpmuludq" VVV both(1, 1, 0xf4).w();
    Pmaddubsw "vpmaddubsw" VVV both(1, 2, 0x04);
    Pmaddwd "vpmaddwd" VVV both(1, 1, 0xf5);
    Pminsd "vpminsd" VVV both(1, 2, 0x39);
    Pminud "vpminud" VVV both(1, 2, 0x3b);
    Pmaxsd "vpmaxsd" VVV both(1, 2, 0x3d);
    Pmaxud "vpmaxud" VVV both(1, 2, 0x3f);
    Psllvd "vpsllvd" VVV both(1, 2, 0x47);
    Psrlvd "vpsrlvd" VVV both(1, 2, 0x45);
    Psravd "vpsravd" VVV both(1, 2, 0x46);
    Pslld "vpslld" SHIFT both(1, 1, 0x72).digit(6).imm8();
    Psrld "vpsrld" SHIFT both(1, 1, 0x72).digit(2).imm8();
    Psrad "vpsrad" SHIFT both(1, 1, 0x72).digit(4).imm8();
    Prold "vprold" SHIFT evex(1, 1, 0x72).digit(1).imm8();
    Psrlq "vpsrlq" SHIFT both(1, 1, 0x73).w().digit(2).imm8();
    Plzcntd "vplzcntd" VV evex(1, 2, 0x44);
    Pcmpeqd "vpcmpeqd" VVV vex(1, 1, 0x76);
    Pcmpgtd "vpcmpgtd" VVV vex(1, 1, 0x66);
    PcmpdMask "vpcmpd" KVV evex(1, 3, 0x1f).imm8();
    PcmpudMask "vpcmpud" KVV evex(1, 3, 0x1e).imm8();
    // Whether any bit is set in both operands, and whether none is.
    PtestMask "vptestmd" KVV evex(1, 2, 0x27);
    PtestNoneMask "vptestnmd" KVV evex(2, 2, 0x27);
    Blendvps "vblendvps" VVVV vex(1, 3, 0x4a).imm8();
    Blendmps "vblendmps" VVV evex(1, 2, 0x65);
    Blendps "vblendps" VVV vex(1, 3, 0x0c).imm8();

    // ---- masks of sixteen lanes
    Kand "kandw" KKK vex(0, 1, 0x41).long();
    Kandn "kandnw" KKK vex(0, 1, 0x42).long();
    Kor "korw" KKK vex(0, 1, 0x45).long();
    Kxor "kxorw" KKK vex(0, 1, 0x47).long();
    Kunpck "kunpckbw" KKK vex(1, 1, 0x4b).long();
    Kshiftr "kshiftrw" KK vex(1, 3, 0x30).w_of_both().imm8();
    Knot "knotw" KK vex(0, 1, 0x44);
    Kmov "kmovw" KK vex(0, 1, 0x90);
    KmovStore "kmovw" K_STORE vex(0, 1, 0x91);
    KmovIn "kmovw" KG vex(0, 1, 0x92);
    KmovOut "kmovw" GK vex(0, 1, 0x93);
    Kortest "kortestw" K_K vex(0, 1, 0x98);

    // ---- general registers
    Mov "mov" GG legacy(0, 0, 0x8b);
    Mov64 "mov" GG legacy(0, 0, 0x8b).w();
    Movzx8 "movzx" GG legacy(0, 1, 0xb6);
    Movzx16 "movzx" GG legacy(0, 1, 0xb7);
    Movsxd "movsxd" GG legacy(0, 0, 0x63).w();
    Lea "lea" GG legacy(0, 0, 0x8d).w();
    MovImmediate "mov" SET legacy(0, 0, 0xc7).imm32();
    Store "mov" G_G legacy(0, 0, 0x89);
    Store64 "mov" G_G legacy(0, 0, 0x89).w();
    Add "add" UPDATE legacy(0, 0, 0x03);
    Add64 "add" UPDATE legacy(0, 0, 0x03).w();
    Sub "sub" UPDATE legacy(0, 0, 0x2b);
    Sub64 "sub" UPDATE legacy(0, 0, 0x2b).w();
    And "and" UPDATE legacy(0, 0, 0x23);
    Or "or" UPDATE legacy(0, 0, 0x0b);
    Xor "xor" UPDATE legacy(0, 0, 0x33);
    Imul "imul" UPDATE legacy(0, 1, 0xaf);
    Imul64 "imul" UPDATE legacy(0, 1, 0xaf).w();
    AddImmediate "add" UPDATE_BY legacy(0, 0, 0x81).digit(0).imm32();
    OrImmediate "or" UPDATE_BY legacy(0, 0, 0x81).digit(1).imm32();
    AndImmediate "and" UPDATE_BY legacy(0, 0, 0x81).digit(4).imm32();
    XorImmediate "xor" UPDATE_BY legacy(0, 0, 0x81).digit(6).imm32();
    SubImmediate "sub" UPDATE_BY legacy(0, 0, 0x81).digit(5).imm32();
    SubImmediate64 "sub" UPDATE_BY legacy(0, 0, 0x81).w().digit(5).imm32();
    Not "not" UPDATE_BY legacy(0, 0, 0xf7).digit(2);
    Neg "neg" UPDATE_BY legacy(0, 0, 0xf7).digit(3);
    Shl "shl" UPDATE_BY legacy(0, 0, 0xc1).digit(4).imm8();
    Shr "shr" UPDATE_BY legacy(0, 0, 0xc1).digit(5).imm8();
    Sar "sar" UPDATE_BY legacy(0, 0, 0xc1).digit(7).imm8();
    Shl64 "shl" UPDATE_BY legacy(0, 0, 0xc1).w().digit(4).imm8();
    Shr64 "shr" UPDATE_BY legacy(0, 0, 0xc1).w().digit(5).imm8();
    Sar64 "sar" UPDATE_BY legacy(0, 0, 0xc1).w().digit(7).imm8();
    Shlx "shlx" GGG vex(1, 2, 0xf7);
    Shrx "shrx" GGG vex(3, 2, 0xf7);
    Sarx "sarx" GGG vex(2, 2, 0xf7);
    ImulImmediate "imul" GG legacy(0, 0, 0x69).imm32();
    ImulImmediate64 "imul" GG legacy(0, 0, 0x69).w().imm32();
    Popcnt "popcnt" GG legacy(2, 1, 0xb8);
    Lzcnt "lzcnt" GG legacy(2, 1, 0xbd);
    Tzcnt "tzcnt" GG legacy(2, 1, 0xbc);
    Cmp "cmp" G_G legacy(0, 0, 0x3b);
    Cmp64 "cmp" G_G legacy(0, 0, 0x3b).w();
    CmpImmediate "cmp" G_ legacy(0, 0, 0x81).digit(7).imm32();
    CmpImmediate64 "cmp" G_ legacy(0, 0, 0x81).w().digit(7).imm32();
    Test "test" G_G legacy(0, 0, 0x85);
    AddImmediate64 "add" G_ legacy(0, 0, 0x81).w().digit(0).imm32();
    AndImmediate64 "and" G_ legacy(0, 0, 0x81).w().digit(4).imm32();
    // On memory.
    SubFrom "sub" G_ legacy(0, 0, 0x81).digit(5).imm32();
    Prefetch "prefetcht0" G_ legacy(0, 1, 0x18).digit(1);
    // To be written. Processors that do not know it do nothing.
    PrefetchOwned "prefetchw" G_ legacy(0, 1, 0x0d).digit(1);
    OrTo "or" G_G legacy(0, 0, 0x09);
    AddTo64 "add" G_G legacy(0, 0, 0x01).w();
    // Whose condition is part of the opcode.
    Setcc "set" SET legacy(0, 1, 0x90);
    Cmov "cmov" UPDATE legacy(0, 1, 0x40);
    Cmov64 "cmov" UPDATE legacy(0, 1, 0x40).w();
}
