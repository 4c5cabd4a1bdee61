//! Declarations as the reference disassembler prints them.

use std::fmt::{self, Display, Formatter};

use super::number::Float;
use super::{Style, printed, return_types, separated};
use crate::frontend::sm4::codes::UavFlags;
use crate::frontend::sm4::declaration::{Binding, Declaration};
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::RegisterFile;

impl Style {
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

    pub(super) fn declaration(self, opcode: Opcode, declaration: &Declaration, f: &mut Formatter<'_>) -> fmt::Result {
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
                match self.version.has_register_spaces() {
                    true => write!(f, " {}", self.binding(ConstantBuffer, binding))?,
                    false => write!(f, " {}{}", self.spelling().constant_buffer, binding.id)?,
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
                let says_mode = opcode != Opcode::DclInputPsSgv || self.spelling().interpolates_generated;
                if let Some(mode) = interpolation.filter(|_| says_mode) {
                    write!(f, " {}", mode.name())?;
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
                f.write_str(self.spelling().structured_end)
            }
        }
    }
}

/// The suffixes of a view's flags.
struct Suffixes(UavFlags);

impl Display for Suffixes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.names().try_for_each(|name| f.write_str(name))
    }
}
