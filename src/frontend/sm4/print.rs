//! The listing: what the reference disassembler prints for a program, its header comment apart.

use std::fmt::{self, Display, Formatter};

use super::codes::{InfoReturn, MinPrecision, ReturnType, SyncFlags, UavFlags};
use super::custom_data::{CustomData, ShaderMessage};
use super::declaration::{Binding, Declaration};
use super::decode::{Body, Instruction, Operation, Program, Version};
use super::opcode::{DataClass, Opcode};
use super::operand::{Components, Index, Mask, Operand, RegisterFile};
use super::token::{Extended, Test};

/// Whose spelling a listing follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The disassembler of `D3DCompiler_47` and its relatives (10.1).
    #[default]
    Fxc10,
    /// The disassembler of 2010 (9.29).
    Fxc9,
}

/// Prints a program, one line an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    program: &'a Program,
    dialect: Dialect,
}

impl Program {
    /// The program's listing in a dialect; `Display` of the program is that of the newer one.
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
    /// The instructions that the reference shows, each with the number of constructs it stands in and its text. The text has
    /// several lines if the instruction is a table, and no line break at its end.
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
    /// Whether the reference shows the instruction at all.
    fn prints(self, instruction: &Instruction) -> bool {
        !matches!(&instruction.body, Body::CustomData(data)
            if matches!(**data, CustomData::Opaque { .. } | CustomData::ClipPlanes(_)))
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
            // The older disassembler leaves the test out here, and here only.
            Some(Test::NonZero) if opcode == Opcode::Discard && self.dialect == Dialect::Fxc9 => {}
            Some(test) => f.write_str(test.suffix())?,
            None => {}
        }
        if let Some(flags) = token.sync() {
            let set = SyncFlags::ALL.iter().rev().filter(|(flag, _)| flags.contains(*flag));
            set.map(|(_, name)| name).try_for_each(|name| f.write_str(name))?;
        }
        if let Some(extended) = &operation.extended {
            self.extended(extended, f)?;
        }
        f.write_str(token.info_return().map_or("", InfoReturn::name))?;
        // Without operands the space stays, except after the suffixes of `sync`.
        if opcode != Opcode::Sync {
            f.write_str(" ")?;
        }
        match token.precise() {
            Mask::NONE => {}
            Mask::ALL => f.write_str("[precise] ")?,
            mask => write!(f, "[precise({mask})] ")?,
        }
        if let [interface, function] = &operation.operands[..]
            && opcode == Opcode::InterfaceCall
        {
            let function = function.immediates().map_or(0, |words| words[0]);
            return write!(f, "{}[{function}]", self.operand(interface, DataClass::Interface));
        }
        let operands = operation.operands.iter().zip(opcode.slots());
        separated(operands.map(|(operand, slot)| self.operand(operand, slot.class)), ", ", f)
    }

    fn extended(self, extended: &Extended, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some([u, v, w]) = extended.texel_offsets() {
            if self.dialect == Dialect::Fxc10 {
                f.write_str("_aoffimmi")?;
            }
            if extended.resource().is_some() {
                f.write_str("_indexable")?;
            }
            write!(f, "({u},{v},{w})")?;
        } else if extended.resource().is_some() {
            f.write_str("_indexable")?;
        }
        if let Some((dimension, stride)) = extended.resource() {
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

    fn operand(self, operand: &Operand, class: DataClass) -> impl Display + '_ {
        printed(move |f| {
            let modifiers = operand.modifiers();
            f.write_str(if modifiers.negate { "-" } else { "" })?;
            f.write_str(if modifiers.absolute { "|" } else { "" })?;
            match operand.immediates() {
                Some(words) => self.immediate(operand, words, class, f)?,
                None => self.register(operand, f)?,
            }
            f.write_str(if modifiers.absolute { "|" } else { "" })?;
            if operand.min_precision() != MinPrecision::Default {
                write!(f, " {{{}}}", operand.min_precision().name())?;
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
            match index {
                Index { immediate, relative: None } if n == 0 && !bracketed => write!(f, "{immediate}")?,
                Index { immediate, relative: None } => write!(f, "[{immediate}]")?,
                Index { immediate, relative: Some(relative) } => {
                    write!(f, "[{} + {immediate}]", self.operand(relative, DataClass::Int))?;
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

    /// A declared resource: `t3`, or `T0[0:3]` from shader model 5.1 on.
    fn binding(self, file: RegisterFile, binding: Binding) -> impl Display {
        printed(move |f| {
            self.letters(file, f)?;
            write!(f, "{}", binding.id)?;
            match (self.version.has_register_spaces(), binding.upper) {
                (false, _) => Ok(()),
                (true, u32::MAX) => write!(f, "[{}:*]", binding.lower),
                (true, upper) => write!(f, "[{}:{upper}]", binding.lower),
            }
        })
    }

    /// `, space=1` from shader model 5.1 on.
    fn space(self, binding: Binding) -> impl Display {
        printed(move |f| match self.version.has_register_spaces() {
            true => write!(f, ", space={}", binding.space),
            false => Ok(()),
        })
    }

    fn declaration(self, opcode: Opcode, declaration: &Declaration, f: &mut Formatter<'_>) -> fmt::Result {
        use RegisterFile::{ConstantBuffer, Resource, Sampler, UnorderedAccess};
        f.write_str(opcode.mnemonic())?;
        let operand = |operand| self.operand(operand, DataClass::Untyped);
        match *declaration {
            Declaration::Resource { binding, dimension, samples, return_types: ref types } => {
                write!(f, "_{}", dimension.name())?;
                if matches!(dimension.name(), "texture2dms" | "texture2dmsarray") {
                    write!(f, "({samples})")?;
                }
                let (types, view) = (return_types(types), self.binding(Resource, binding));
                write!(f, " {types} {view}{}", self.space(binding))
            }
            Declaration::ConstantBuffer { binding, rows, dynamic } => {
                let access = if dynamic { "dynamicIndexed" } else { "immediateIndexed" };
                // The newer disassembler writes a capital here for every model.
                match (self.version.has_register_spaces(), self.dialect) {
                    (true, _) => write!(f, " {}", self.binding(ConstantBuffer, binding))?,
                    (false, Dialect::Fxc10) => write!(f, " CB{}", binding.id)?,
                    (false, Dialect::Fxc9) => write!(f, " cb{}", binding.id)?,
                }
                write!(f, "[{rows}], {access}{}", self.space(binding))
            }
            Declaration::Sampler { binding, mode } => {
                write!(f, " {}, {}{}", self.binding(Sampler, binding), mode.name(), self.space(binding))
            }
            Declaration::IndexRange { ref first, count } => write!(f, " {} {count}", operand(first)),
            Declaration::OutputTopology(topology) => write!(f, " {} ", topology.name()),
            Declaration::InputPrimitive(primitive) => write!(f, " {} ", primitive.name()),
            Declaration::Input { operand: ref register, interpolation, system_value } => {
                match interpolation.map(|mode| mode.name()) {
                    None | Some("") => {}
                    // The older disassembler does not say how generated values are interpolated: they never are.
                    Some(_) if opcode == Opcode::DclInputPsSgv && self.dialect == Dialect::Fxc9 => {}
                    Some(mode) => write!(f, " {mode}")?,
                }
                write!(f, " {}", operand(register))?;
                system_value.map_or(Ok(()), |value| write!(f, ", {}", value.name()))
            }
            Declaration::Output { operand: ref register, system_value } => {
                write!(f, " {}", operand(register))?;
                system_value.map_or(Ok(()), |value| write!(f, ", {}", value.name()))
            }
            Declaration::IndexableTemp { register, size, components } => {
                write!(f, " x{register}[{size}], {components}")
            }
            Declaration::GlobalFlags(flags) => {
                f.write_str(" ")?;
                separated(flags.names(), " | ", f)
            }
            Declaration::HsDecls
            | Declaration::HsControlPointPhase
            | Declaration::HsForkPhase
            | Declaration::HsJoinPhase => f.write_str(" "),
            Declaration::Stream(register) => write!(f, " m{register}"),
            Declaration::FunctionBody(id) => write!(f, " fb{id}"),
            Declaration::FunctionTable { id, ref bodies } => {
                write!(f, " ft{id} = {{")?;
                separated(bodies.iter().map(|body| printed(move |f| write!(f, "fb{body}"))), ", ", f)?;
                f.write_str("}")
            }
            Declaration::Interface(ref interface) => {
                let dynamic = if interface.dynamic { "_dynamicindexed" } else { "" };
                let (id, length, sites) = (interface.id, interface.array_length, interface.call_sites);
                write!(f, "{dynamic} fp{id}[{length}][{sites}] = {{")?;
                separated(interface.tables.iter().map(|table| printed(move |f| write!(f, "ft{table}"))), ", ", f)?;
                f.write_str("}")
            }
            Declaration::Temps(count)
            | Declaration::MaxOutputVertices(count)
            | Declaration::InputControlPointCount(count)
            | Declaration::OutputControlPointCount(count)
            | Declaration::HsForkPhaseInstanceCount(count)
            | Declaration::HsJoinPhaseInstanceCount(count)
            | Declaration::GsInstances(count) => write!(f, " {count}"),
            Declaration::TessDomain(domain) => write!(f, " {}", domain.name()),
            Declaration::TessPartitioning(partitioning) => write!(f, " {}", partitioning.name()),
            Declaration::TessOutput(output) => write!(f, " {}", output.name()),
            Declaration::HsMaxTessFactor { bits } => write!(f, " l({})", Float(bits)),
            Declaration::ThreadGroup([x, y, z]) => write!(f, " {x}, {y}, {z}"),
            Declaration::UavTyped { binding, dimension, flags, return_types: ref types } => {
                let (types, view) = (return_types(types), self.binding(UnorderedAccess, binding));
                write!(f, "_{}{} {types} {view}{}", dimension.name(), Suffixes(flags), self.space(binding))
            }
            Declaration::UavRaw { binding, flags } => {
                write!(f, "{} {}{}", Suffixes(flags), self.binding(UnorderedAccess, binding), self.space(binding))
            }
            Declaration::UavStructured { binding, flags, stride } => {
                let view = self.binding(UnorderedAccess, binding);
                write!(f, "{} {view}, {stride}{}", Suffixes(flags), self.space(binding))
            }
            Declaration::TgsmRaw { register, bytes } => write!(f, " g{register}, {bytes}"),
            Declaration::TgsmStructured { register, stride, count } => write!(f, " g{register}, {stride}, {count}"),
            Declaration::ResourceRaw { binding } => {
                write!(f, " {}{}", self.binding(Resource, binding), self.space(binding))
            }
            Declaration::ResourceStructured { binding, stride } => {
                write!(f, " {}, {stride}{}", self.binding(Resource, binding), self.space(binding))?;
                f.write_str(if self.dialect == Dialect::Fxc9 { " " } else { "" })
            }
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

/// The suffixes of a view's flags.
struct Suffixes(UavFlags);

impl Display for Suffixes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.names().try_for_each(|name| f.write_str(name))
    }
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

/// Integers up to this magnitude print in decimal, others as their bits. The reference's own limit lies above 7919 and below
/// 0xabcd.
const MAX_DECIMAL: u32 = 9999;

fn is_small(word: u32) -> bool {
    (word as i32).unsigned_abs() <= MAX_DECIMAL
}

/// A dword that the instruction reads as an integer.
struct Integer(u32);

impl Display for Integer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match is_small(self.0) {
            true => write!(f, "{}", self.0 as i32),
            false => write!(f, "0x{:08x}", self.0),
        }
    }
}

/// A dword that the instruction reads as a float.
struct Float(u32);

impl Display for Float {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match f32::from_bits(self.0) {
            value if value.is_finite() => write!(f, "{value:.6}"),
            _ => write!(f, "0x{:08x}", self.0),
        }
    }
}

/// A dword that the instruction only moves: a small integer, a float, or bits that are neither.
struct Untyped(u32, Dialect);

impl Display for Untyped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = f32::from_bits(self.0);
        let as_bits = value.is_subnormal() || value == 0.0 && self.1 == Dialect::Fxc9;
        match is_small(self.0) || as_bits {
            true => Integer(self.0).fmt(f),
            false => Float(self.0).fmt(f),
        }
    }
}

/// Two dwords, the low half of a double first.
struct Double<'a>(&'a [u32]);

impl Display for Double<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = u64::from(self.0[1]) << 32 | u64::from(self.0[0]);
        match f64::from_bits(bits) {
            value if value.is_finite() => write!(f, "{value:.6}l"),
            _ => write!(f, "0x{bits:016x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::testing::{part, program};

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
        vertex_shader "vs_switch/VS.vs_5_0.fxc101" Fxc10;
        doubles "vs_double11/VS.vs_5_0.fxc101" Fxc10;
        geometry_shader "gs_instance/GS.gs_5_0.fxc101" Fxc10;
        hull_phases "tess_phases/HS.hs_5_0.fxc101" Fxc10;
        interfaces "ps_interface/PS.ps_5_0.fxc101" Fxc10;
        shader_messages "cs_dbg/CS.cs_5_0.fxc101" Fxc10;
        register_spaces "cs_5_1_bindless/CS.cs_5_1.fxc101" Fxc10;
        tiled_resources "ps_tiled/PS.ps_5_1.fxc101" Fxc10;
        older_immediate_constants "vs_icb/VS.vs_4_0.fxc929" Fxc9;
        older_sampling "ps_sample/PS.ps_4_0.fxc929" Fxc9;
    }

    #[test]
    fn numbers_print_by_class() {
        let untyped = |bits| Untyped(bits, Dialect::Fxc10).to_string();
        assert_eq!(
            ["0", "-1", "1.000000", "-0.000000"],
            [0, u32::MAX, 0x3f80_0000, 0x8000_0000].map(untyped).each_ref()
        );
        assert_eq!(
            ["0x00010000", "0x7f800000", "0x7fc00000"],
            [0x10000, 0x7f80_0000, 0x7fc0_0000].map(untyped).each_ref()
        );
        assert_eq!(
            ["7919", "0x0000abcd", "-9999"],
            [7919, 0xabcd, -9999i32 as u32].map(|bits| Integer(bits).to_string()).each_ref()
        );
        assert_eq!(
            ["0.000000", "0.000000", "-2.500000"],
            [0, 1, 0xc020_0000].map(|bits| Float(bits).to_string()).each_ref()
        );
        assert_eq!(Double(&[0, 0x3fe0_0000]).to_string(), "0.500000l");
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
