//! The listing: what the reference disassembler prints for a program, its header comment apart.

use std::fmt::{self, Display, Formatter};

use super::codes::{InfoReturn, MinPrecision, ReturnType, SyncFlags};
use super::custom_data::{CustomData, ShaderMessage};
use super::declaration::Declaration;
use super::decode::{Body, Instruction, Operation, Program, Version};
use super::dialect::{Dialect, Spelling};
use super::opcode::{DataClass, Group, Opcode, Role};
use super::operand::{Components, Mask, Operand, RegisterFile};
use super::token::{Extended, OpcodeToken};

mod declaration;
mod number;

use number::{Double, Float, Integer, Untyped};

/// Prints a program, one line an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    program: &'a Program,
    dialect: Dialect,
}

impl Program {
    /// The program's listing in a dialect; `Display` of the program is that of the newest one.
    pub fn listing(&self, dialect: Dialect) -> Listing<'_> {
        Listing { program: self, dialect }
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.listing(Dialect::default()).fmt(f)
    }
}

/// Deeper nesting is not indented further, so that a hostile program cannot make the listing quadratic.
const MAX_INDENT: usize = 64;

impl<'a> Listing<'a> {
    /// The instructions that the reference shows, each with the number of constructs it stands in and its text. The
    /// text has several lines if the instruction is a table, and no line break at its end.
    pub fn lines(self) -> impl Iterator<Item = (&'a Instruction, usize, impl Display + 'a)> {
        let style = Style { version: self.program.version, dialect: self.dialect };
        let mut depth = 0usize;
        self.program.instructions.iter().filter_map(move |instruction| {
            let opcode = instruction.opcode();
            if let Opcode::EndIf | Opcode::EndLoop | Opcode::EndSwitch = opcode {
                depth = depth.saturating_sub(1);
            }
            let starts_over = opcode == Opcode::Label
                || matches!(
                    &instruction.body,
                    Body::Declaration(
                        Declaration::HsControlPointPhase | Declaration::HsForkPhase | Declaration::HsJoinPhase
                    )
                );
            if starts_over {
                depth = 0;
            }
            let level = depth.saturating_sub(usize::from(opcode == Opcode::Else)).min(MAX_INDENT);
            if let Opcode::If | Opcode::Loop | Opcode::Switch = opcode {
                depth += 1;
            }
            style.prints(instruction).then(|| (instruction, level, style.instruction(instruction)))
        })
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program.version)?;
        for (_, level, text) in self.lines() {
            writeln!(f, "{:width$}{text}", "", width = 2 * level)?;
        }
        Ok(())
    }
}

/// What the spelling of an instruction depends on besides the instruction.
#[derive(Clone, Copy)]
struct Style {
    version: Version,
    dialect: Dialect,
}

/// Something that prints by a closure, so that the printing of every item reads as one function.
fn printed(print: impl Fn(&mut Formatter<'_>) -> fmt::Result) -> impl Display {
    struct Printed<F>(F);
    impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Printed<F> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    Printed(print)
}

/// Prints items with a separator between them.
fn separated<T: Display>(items: impl Iterator<Item = T>, separator: &str, f: &mut Formatter<'_>) -> fmt::Result {
    for (i, item) in items.enumerate() {
        if i != 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

impl Style {
    fn spelling(self) -> &'static Spelling {
        self.dialect.spelling()
    }

    /// Whether the reference shows the instruction at all.
    fn prints(self, instruction: &Instruction) -> bool {
        match &instruction.body {
            Body::CustomData(data) => !matches!(**data, CustomData::Opaque { .. } | CustomData::ClipPlanes(_)),
            Body::Declaration(Declaration::GlobalFlags(flags)) => flags.names().next().is_some(),
            _ => true,
        }
    }

    fn instruction(self, instruction: &Instruction) -> impl Display + use<'_> {
        printed(move |f| match &instruction.body {
            Body::Operation(operation) => self.operation(instruction, operation, f),
            Body::Declaration(declaration) => self.declaration(instruction.opcode(), declaration, f),
            Body::CustomData(data) => self.custom_data(data, f),
        })
    }

    fn operation(self, instruction: &Instruction, operation: &Operation, f: &mut Formatter<'_>) -> fmt::Result {
        let token = instruction.token;
        let opcode = token.opcode;
        f.write_str(opcode.mnemonic())?;
        if token.saturate() {
            f.write_str("_sat")?;
        }
        match token.test() {
            Some(_) if opcode == Opcode::Discard && !self.spelling().tests_discard => {}
            Some(test) => f.write_str(test.suffix())?,
            None => {}
        }
        if let Some(flags) = token.sync() {
            let set = SyncFlags::ALL.iter().rev().filter(|(flag, _)| flags.contains(*flag));
            set.map(|(_, name)| name).try_for_each(|name| f.write_str(name))?;
        }
        let info_return = token.info_return().map_or("", InfoReturn::name);
        match &operation.extended {
            Some(extended) => {
                self.extended(extended, token, f)?;
                f.write_str(info_return)?;
            }
            None => write!(f, "{info_return}{}", precise(token))?,
        }
        // Without operands the space stays, except after the suffixes of `sync`.
        if opcode != Opcode::Sync {
            f.write_str(" ")?;
        }
        if let [interface, function] = &operation.operands[..]
            && opcode == Opcode::InterfaceCall
        {
            let function = function.immediates().map_or(0, |words| words[0]);
            return write!(f, "{}[{function}]", self.operand(interface, DataClass::Interface));
        }
        let result = operation.operands.first().map_or(MinPrecision::Default, Operand::min_precision);
        let operands = operation.operands.iter().enumerate().map(|(number, operand)| {
            let class = class(opcode, number);
            let precision = if is_converted(opcode, number) { result } else { operand.min_precision() };
            self.operand_as(operand, class, precision)
        });
        separated(operands, ", ", f)
    }

    /// The suffixes, then in parentheses what they are about; the precise components stand between them.
    fn extended(self, extended: &Extended, token: OpcodeToken, f: &mut Formatter<'_>) -> fmt::Result {
        let (offsets, resource) = (extended.texel_offsets(), extended.resource());
        f.write_str(if offsets.is_some() { self.spelling().texel_offsets } else { "" })?;
        f.write_str(if resource.is_some() { "_indexable" } else { "" })?;
        precise(token).fmt(f)?;
        if let Some([u, v, w]) = offsets {
            write!(f, "({u},{v},{w})")?;
        }
        if let Some((dimension, stride)) = resource {
            write!(f, "({}", dimension.name())?;
            if stride != 0 {
                write!(f, ", stride={stride}")?;
            }
            f.write_str(")")?;
        }
        if let Some(types) = extended.return_types() {
            return_types(&types).fmt(f)?;
        }
        Ok(())
    }

    /// An operand that is read or written with its own precision.
    fn operand(self, operand: &Operand, class: DataClass) -> impl Display + '_ {
        self.operand_as(operand, class, operand.min_precision())
    }

    /// An operand that is converted to a precision.
    fn operand_as(self, operand: &Operand, class: DataClass, precision: MinPrecision) -> impl Display + '_ {
        printed(move |f| {
            let modifiers = operand.modifiers();
            f.write_str(if modifiers.negate { "-" } else { "" })?;
            f.write_str(if modifiers.absolute { "|" } else { "" })?;
            match operand.immediates() {
                Some(words) => self.immediate(operand, words, class, f)?,
                None => self.register(operand, f)?,
            }
            f.write_str(if modifiers.absolute { "|" } else { "" })?;
            match operand.min_precision() {
                own if own != precision => write!(f, " {{{} as {}}}", precision_name(own), precision_name(precision))?,
                MinPrecision::Default => {}
                own => write!(f, " {{{}}}", precision_name(own))?,
            }
            f.write_str(if operand.non_uniform() { " { nonuniform }" } else { "" })
        })
    }

    fn immediate(self, operand: &Operand, words: &[u32], class: DataClass, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", operand.file().letters())?;
        match (operand.file(), class) {
            (RegisterFile::Immediate64, _) => separated(words.chunks_exact(2).map(Double), ", ", f)?,
            (_, DataClass::Float | DataClass::Double) => separated(words.iter().map(|&word| Float(word)), ", ", f)?,
            (_, DataClass::Untyped) => separated(words.iter().map(|&word| Untyped(word, self.dialect)), ",", f)?,
            _ => separated(words.iter().map(|&word| Integer(word)), ", ", f)?,
        }
        f.write_str(")")
    }

    /// The register file's letters, the indices and the components.
    fn register(self, operand: &Operand, f: &mut Formatter<'_>) -> fmt::Result {
        self.letters(operand.file(), f)?;
        let bracketed = match operand.file() {
            RegisterFile::ImmediateConstants
            | RegisterFile::ThisPointer
            | RegisterFile::InputControlPoint
            | RegisterFile::OutputControlPoint => true,
            // Inputs of several vertices have the vertex first.
            RegisterFile::Input => operand.index_count() > 1,
            _ => false,
        };
        for (n, index) in operand.indices().enumerate() {
            // A compiler that knows the index to be out of range may make it a negative one.
            match (index.immediate as i32, index.relative) {
                (constant, None) if n == 0 && !bracketed => write!(f, "{constant}")?,
                (constant, None) => write!(f, "[{constant}]")?,
                (constant, Some(relative)) => {
                    write!(f, "[{} + {constant}]", self.operand(relative, DataClass::Int))?;
                }
            }
        }
        match operand.components() {
            Components::None | Components::One => Ok(()),
            Components::Mask(mask) if mask.is_empty() => Ok(()),
            Components::Mask(mask) => write!(f, ".{mask}"),
            Components::Swizzle(swizzle) => write!(f, ".{swizzle}"),
            Components::Select(component) => write!(f, ".{}", component.letter()),
        }
    }

    /// Resources are capital from shader model 5.1 on.
    fn letters(self, file: RegisterFile, f: &mut Formatter<'_>) -> fmt::Result {
        use RegisterFile::{ConstantBuffer, Resource, Sampler, UnorderedAccess};
        let resource = matches!(file, ConstantBuffer | Resource | Sampler | UnorderedAccess);
        match resource && self.version.has_register_spaces() {
            true => f.write_str(&file.letters().to_ascii_uppercase()),
            false => f.write_str(file.letters()),
        }
    }

    fn custom_data(self, data: &CustomData, f: &mut Formatter<'_>) -> fmt::Result {
        match data {
            CustomData::ImmediateConstants(rows) => immediate_constants(rows, self.dialect, f),
            CustomData::ShaderMessage(message) => self.shader_message(message, f),
            CustomData::ClipPlanes(planes) => write!(f, "// {} clip planes", planes.len()),
            CustomData::Opaque { class, words } => write!(f, "// custom data {class}, {} dwords", words.len()),
        }
    }

    fn shader_message(self, message: &ShaderMessage, f: &mut Formatter<'_>) -> fmt::Result {
        match message.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "unknown({:#x})", message.id)?,
        }
        write!(f, " \"{}\"", message.text.escape_ascii())?;
        message.operands.iter().try_for_each(|operand| write!(f, ", {}", self.operand(operand, DataClass::Int)))
    }
}

/// How an operand prints if it is an immediate: as what it is to the instruction, but for two that the reference
/// mistakes.
fn class(opcode: Opcode, number: usize) -> DataClass {
    match (opcode, number) {
        (Opcode::StoreUavTyped, 1) => DataClass::Untyped,
        (Opcode::Gather4PoC, 5) | (Opcode::Gather4PoCS, 6) => DataClass::Int,
        _ => opcode.slots()[number].class,
    }
}

/// Whether an operand is converted to the precision of the first result: one that is computed with or moved is;
/// conditions, addresses and what is compared or converted to another type are not.
fn is_converted(opcode: Opcode, number: usize) -> bool {
    let (slots, slot) = (opcode.slots(), opcode.slots()[number]);
    let condition = matches!(opcode, Opcode::MovC | Opcode::SwapC) && number == opcode.destinations();
    slot.role == Role::Source
        && matches!(opcode.group(), Group::Float | Group::Bit | Group::Int | Group::Uint)
        && !matches!(opcode, Opcode::ULt | Opcode::UGe)
        && (slot.class == slots[0].class || slot.class == DataClass::Untyped && !condition)
}

fn precision_name(precision: MinPrecision) -> &'static str {
    match precision {
        MinPrecision::Default => "def32",
        minimum => minimum.name(),
    }
}

/// The components that are computed exactly as written.
fn precise(token: OpcodeToken) -> impl Display {
    printed(move |f| match token.precise() {
        Mask::NONE => Ok(()),
        Mask::ALL => f.write_str(" [precise]"),
        mask => write!(f, " [precise({mask})]"),
    })
}

/// `(float,float,float,float)`.
fn return_types(types: &[ReturnType; 4]) -> impl Display {
    printed(move |f| {
        f.write_str("(")?;
        separated(types.iter().map(|ty| ty.name()), ",", f)?;
        f.write_str(")")
    })
}

fn immediate_constants(rows: &[[u32; 4]], dialect: Dialect, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("dcl_immediateConstantBuffer { ")?;
    let rows = rows.iter().map(|row| {
        printed(move |f| {
            f.write_str("{ ")?;
            separated(row.iter().map(|&word| Untyped(word, dialect)), ", ", f)?;
            f.write_str("}")
        })
    });
    separated(rows, ",\n                              ", f)?;
    f.write_str(" }")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::testing::{part, program, program_of};

    /// The reference listing without its comment.
    fn code(listing: &str) -> Vec<&str> {
        listing.lines().filter(|line| !line.starts_with("//")).collect()
    }

    macro_rules! listings_equal_the_reference {
        ($( $name:ident $file:literal $dialect:ident; )*) => { $(
            #[test]
            fn $name() {
                let container = include_bytes!(concat!("../../../tests/data/dxbc/", $file, ".dxbc"));
                let reference = include_str!(concat!("../../../tests/data/dxbc/", $file, ".asm"));
                let (bytes, offset) = part(container);
                let program = Program::decode(bytes, offset).unwrap();
                assert_eq!(code(&program.listing(Dialect::$dialect).to_string()), code(reference));
            }
        )* };
    }

    listings_equal_the_reference! {
        vertex_shader "vs_switch/VS.vs_5_0.fxc101" Fxc10_1;
        doubles "vs_double11/VS.vs_5_0.fxc101" Fxc10_1;
        geometry_shader "gs_instance/GS.gs_5_0.fxc101" Fxc10_1;
        hull_phases "tess_phases/HS.hs_5_0.fxc101" Fxc10_1;
        interfaces "ps_interface/PS.ps_5_0.fxc101" Fxc10_1;
        shader_messages "cs_dbg/CS.cs_5_0.fxc101" Fxc10_1;
        register_spaces "cs_5_1_bindless/CS.cs_5_1.fxc101" Fxc10_1;
        tiled_resources "ps_tiled/PS.ps_5_1.fxc101" Fxc10_1;
        older_immediate_constants "vs_icb/VS.vs_4_0.fxc929" Fxc9_29;
        older_sampling "ps_sample/PS.ps_4_0.fxc929" Fxc9_29;
    }

    #[test]
    fn precise_and_saturate_print_around_the_space() {
        let bits = Opcode::Mad.number() | 9 << 24 | 1 << 13 | 0b0101 << 19;
        let r0 = [0x0010_0e46, 0];
        let tokens = [&[bits, 0x0010_0052, 1][..], &r0, &r0, &r0].concat();
        assert_eq!(
            program(&tokens).unwrap().to_string(),
            "vs_5_0\nmad_sat [precise(xz)] r1.xz, r0.xyzw, r0.xyzw, r0.xyzw\n"
        );
    }

    #[test]
    fn precise_stands_before_what_is_read() {
        let [offsets, resource, types] = [1 << 31 | 1 << 9 | 1, 1 << 31 | 3 << 6 | 2, 0x5555 << 6 | 3];
        let operands = [0x0010_00f2, 0, 0x0010_1046, 0, 0x0010_7e46, 0, 0x0010_6000, 0];
        let sample = |extended: &[u32]| {
            let length = 1 + extended.len() + operands.len();
            let token = Opcode::Sample.number() | 0xf << 19 | (length as u32) << 24 | 1 << 31;
            program(&[&[token], extended, &operands].concat()).unwrap().to_string()
        };
        assert_eq!(
            sample(&[offsets, resource, types]),
            "vs_5_0\nsample_aoffimmi_indexable [precise](1,0,0)(texture2d)(float,float,float,float) r0.xyzw, v0.xyxx, \
             t0.xyzw, s0\n"
        );
        assert_eq!(
            sample(&[offsets & !(1 << 31)]),
            "vs_5_0\nsample_aoffimmi [precise](1,0,0) r0.xyzw, v0.xyxx, t0.xyzw, s0\n"
        );
    }

    #[test]
    fn what_compilers_seldom_write_prints_too() {
        // `dcl_globalFlags` without any.
        assert_eq!(program(&[Opcode::DclGlobalFlags.number() | 1 << 24]).unwrap().to_string(), "vs_5_0\n");
        let undefined = [Opcode::DclInputPsSgv.number() | 4 << 24, 0x0010_1012, 1, 9];
        let pixel_shader = program_of(0x0000_0050, &undefined).unwrap();
        assert_eq!(pixel_shader.to_string(), "ps_5_0\ndcl_input_ps_sgv undefined v1.x, is_front_face\n");
        let load = [Opcode::Ld.number() | 8 << 24, 0x0010_00f2, 0, 0x0010_0e46, 0, 0x0020_7e46, 0, -2i32 as u32];
        assert_eq!(program_of(0x0000_0051, &load).unwrap().to_string(), "ps_5_1\nld r0.xyzw, r0.xyzw, T0[-2].xyzw\n");
    }

    #[test]
    fn older_disassemblers_spell_some_things_their_way() {
        let tokens = [
            &[Opcode::DclConstantBuffer.number() | 4 << 24, 0x0020_8e46, 0, 1][..],
            &[Opcode::DclResourceStructured.number() | 4 << 24, 0x0010_7000, 0, 16],
            &[Opcode::DclInputPsSgv.number() | 1 << 11 | 4 << 24, 0x0010_1012, 1, 9],
            &[Opcode::Discard.number() | 1 << 18 | 3 << 24, 0x0010_000a, 0],
            &[Opcode::Mov.number() | 5 << 24, 0x0010_0012, 0, 0x4001, 0x8000_0000],
        ];
        let program = program_of(0x0000_0050, &tokens.concat()).unwrap();
        let listing = |dialect| program.listing(dialect).to_string().lines().skip(1).collect::<Vec<_>>().join("|");
        let old = "dcl_constantbuffer cb0[1], immediateIndexed|dcl_resource_structured t0, 16 |\
                   dcl_input_ps_sgv v1.x, is_front_face|";
        assert_eq!(listing(Dialect::Fxc9_29), format!("{old}discard r0.x|mov r0.x, l(0x80000000)"));
        assert_eq!(listing(Dialect::Fxc9_30), format!("{old}discard_nz r0.x|mov r0.x, l(-0.000000)"));
        assert_eq!(listing(Dialect::Fxc6_3), listing(Dialect::Fxc9_30));
        assert_eq!(
            listing(Dialect::Fxc10_1),
            "dcl_constantbuffer CB0[1], immediateIndexed|dcl_resource_structured t0, 16|\
             dcl_input_ps_sgv constant v1.x, is_front_face|discard_nz r0.x|mov r0.x, l(-0.000000)"
        );
    }

    #[test]
    fn nesting_indents_and_never_without_bound() {
        let [if_nz, r0x] = [Opcode::If.number() | 3 << 24 | 1 << 18, 0x0010_000a];
        let tokens: Vec<u32> = (0..1000).flat_map(|_| [if_nz, r0x, 0]).collect();
        let listing = program(&tokens).unwrap().to_string();
        assert_eq!(listing.lines().nth(2), Some("  if_nz r0.x"));
        assert!(listing.lines().all(|line| line.len() <= 2 * MAX_INDENT + 10));
        // More ends than beginnings.
        let tokens = [Opcode::EndIf.number() | 1 << 24; 3];
        assert_eq!(program(&tokens).unwrap().to_string(), "vs_5_0\nendif \nendif \nendif \n");
    }
}
