//! The variables of a shader's constant buffers or uniform registers, by name: where a value lies, and of what type.

use crate::container::Container;
use crate::container::dxbc::{BaseType, Dxbc, InputType, ResourceDefinitions, TypeClass, TypeId};
use crate::container::shbin::{RegisterFile, Uniform};
use crate::error::CallError;
use crate::frontend::{Interface, UniformKind};
use crate::shader::Shader;
use crate::uniform_value::Scalar;

/// The named variables of a program, in the order of the container; each lies within the largest buffer. Empty if the
/// container has no names.
#[derive(Debug, Default)]
pub(crate) struct Variables(Vec<Variable>);

/// A variable.
#[derive(Debug)]
struct Variable {
    name: String,
    /// Name of the constant buffer it is in; empty for uniform registers.
    buffer: String,
    /// Number of the uniform space in the interface.
    space: usize,
    /// First byte.
    offset: u32,
    ty: Type,
    default: Vec<u8>,
}

/// A type, members included.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    /// As HLSL spells it, without the number of elements.
    spelling: String,
    /// Type of the components; `None` for structs and for types that cannot be set.
    scalar: Option<Scalar>,
    class: TypeClass,
    rows: u32,
    columns: u32,
    /// Elements of the array, if it is one.
    elements: Option<u32>,
    members: Vec<(String, u32, Type)>,
}

/// What a path names: a place in a uniform space.
pub(crate) struct Place<'a> {
    /// Number of the uniform space in the interface.
    pub space: usize,
    /// First byte.
    pub offset: u32,
    pub ty: Type,
    /// Size of the constant buffer so far as variables say, and the defaults in it.
    pub buffer: &'a Variables,
}

impl Type {
    /// As HLSL declares it: `float4x4[2]`.
    pub fn name(&self) -> String {
        match self.elements {
            Some(elements) => format!("{}[{elements}]", self.spelling),
            None => self.spelling.clone(),
        }
    }

    pub fn scalar(&self) -> Option<Scalar> {
        self.scalar
    }

    /// The lengths of the Rust arrays that such a value is made of, outermost first.
    pub fn lengths(&self) -> Vec<usize> {
        let array = self.elements.map(|elements| elements as usize);
        let (rows, columns) = (self.rows as usize, self.columns as usize);
        let one = match self.class {
            TypeClass::VECTOR => vec![columns],
            TypeClass::MATRIX_ROWS | TypeClass::MATRIX_COLUMNS => vec![rows, columns],
            _ => Vec::new(),
        };
        array.into_iter().chain(one).collect()
    }

    /// Bytes of one element.
    fn element_bytes(&self) -> u32 {
        match self.class {
            TypeClass::MATRIX_ROWS => 16 * self.rows.saturating_sub(1) + 4 * self.columns,
            TypeClass::MATRIX_COLUMNS => 16 * self.columns.saturating_sub(1) + 4 * self.rows,
            TypeClass::STRUCT => {
                self.members.iter().map(|(_, offset, ty)| offset.saturating_add(ty.bytes())).max().unwrap_or(0)
            }
            _ => 4 * self.columns,
        }
    }

    /// Bytes from one element to the next: whole rows.
    fn stride(&self) -> u32 {
        self.element_bytes().checked_next_multiple_of(16).unwrap_or(u32::MAX)
    }

    /// Bytes of the value, without padding behind it.
    pub fn bytes(&self) -> u32 {
        let before = self.elements.map_or(0, |elements| elements.saturating_sub(1)).saturating_mul(self.stride());
        before.saturating_add(self.element_bytes())
    }

    /// Where each component lies, in the order of the [lengths](Self::lengths): elements, rows, columns.
    pub fn places(&self) -> impl Iterator<Item = u32> + use<'_> {
        let step = |row: u32, column: u32| match self.class {
            TypeClass::MATRIX_ROWS => 16 * row + 4 * column,
            TypeClass::MATRIX_COLUMNS => 16 * column + 4 * row,
            _ => 4 * column,
        };
        (0..self.elements.unwrap_or(1)).flat_map(move |element| {
            let start = element * self.stride();
            (0..self.rows.max(1)).flat_map(move |row| (0..self.columns).map(move |column| start + step(row, column)))
        })
    }
}

impl Variables {
    /// The variables of program `entry` that lie in uniform spaces of `interface`.
    pub fn read(shader: &Shader, entry: usize, interface: &Interface) -> Variables {
        match shader.container() {
            Some(Container::Dxbc(dxbc)) => Variables::of_dxbc(&dxbc, interface),
            Some(Container::Shbin(shbin)) => match shbin.dvle(entry) {
                Ok(Some(dvle)) => Variables::of_registers(&dvle.uniforms, interface),
                _ => Variables::default(),
            },
            Some(Container::Dvoj(dvoj)) => match dvoj.object() {
                Ok(object) => Variables::of_registers(&object.uniforms, interface),
                Err(_) => Variables::default(),
            },
            _ => Variables::default(),
        }
    }

    fn of_dxbc(dxbc: &Dxbc<'_>, interface: &Interface) -> Variables {
        let Ok(Some(definitions)) = dxbc.resource_definitions() else { return Variables::default() };
        let mut variables = Vec::new();
        for buffer in &definitions.constant_buffers {
            let is_its = |binding: &&crate::container::dxbc::ResourceBinding<'_>| {
                binding.input_type == InputType::CBUFFER && binding.name == buffer.name
            };
            let Some(binding) = definitions.bindings.iter().find(is_its) else { continue };
            let kind = UniformKind::ConstantBuffer { slot: binding.slots.first, space: binding.space };
            let Some(space) = interface.uniforms.iter().position(|decl| decl.kind == kind) else { continue };
            for variable in &buffer.variables {
                let ty = type_of(&definitions, variable.ty);
                // A compiler places no variable past the largest buffer; what a hostile container places there is
                // nothing that a shader could read.
                if variable.offset.saturating_add(ty.bytes()) > MAX_BYTES {
                    continue;
                }
                variables.push(Variable {
                    name: variable.name.to_str().into_owned(),
                    buffer: buffer.name.to_str().into_owned(),
                    space,
                    offset: variable.offset,
                    ty,
                    default: variable.default.unwrap_or_default().to_vec(),
                });
            }
        }
        Variables(variables)
    }

    fn of_registers(uniforms: &[Uniform<'_>], interface: &Interface) -> Variables {
        let variable = |uniform: &Uniform<'_>| {
            let (kind, scalar, class, columns) = match uniform.registers.file {
                RegisterFile::Float => (UniformKind::PicaFloat, Scalar::F32, TypeClass::VECTOR, 4),
                RegisterFile::Int => (UniformKind::PicaInt, Scalar::U32, TypeClass::VECTOR, 4),
                // Bools are bits of one word; here each has a row, as other registers do.
                RegisterFile::Bool => (UniformKind::PicaBool, Scalar::Bool, TypeClass::SCALAR, 1),
                _ => return None,
            };
            let count = u32::from(uniform.registers.last - uniform.registers.first) + 1;
            Some(Variable {
                name: uniform.name.to_str().into_owned(),
                buffer: String::new(),
                space: interface.uniforms.iter().position(|decl| decl.kind == kind)?,
                offset: 16 * u32::from(uniform.registers.first),
                ty: Type {
                    spelling: match scalar {
                        Scalar::F32 => "float4",
                        Scalar::Bool => "bool",
                        _ => "uint4",
                    }
                    .to_string(),
                    scalar: Some(scalar),
                    class,
                    rows: 1,
                    columns,
                    elements: (count > 1).then_some(count),
                    members: Vec::new(),
                },
                default: Vec::new(),
            })
        };
        Variables(uniforms.iter().filter_map(variable).collect())
    }

    /// What a path names: `name`, `name[2]`, `name.member`, or any of them behind `buffer.`.
    pub fn find(&self, path: &str) -> Result<Place<'_>, CallError> {
        let unknown = || CallError::unknown(format!("variable {path}"), self.names());
        let (first, rest) = split(path);
        let named = |name: &str| self.0.iter().filter(|variable| variable.name == name).collect::<Vec<_>>();
        let (variable, mut rest) = match named(first).as_slice() {
            &[variable] => (variable, rest),
            found => {
                // Several buffers have it, or the path begins with a buffer.
                let inner = rest.strip_prefix('.').filter(|_| found.is_empty()).ok_or_else(unknown)?;
                let (name, rest) = split(inner);
                let is_it = |variable: &&Variable| variable.buffer == first && variable.name == name;
                (self.0.iter().find(is_it).ok_or_else(unknown)?, rest)
            }
        };
        let (mut offset, mut ty) = (variable.offset, variable.ty.clone());
        while !rest.is_empty() {
            if let Some((number, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                let number = number.parse::<u32>().ok().filter(|&number| number < ty.elements.unwrap_or(0));
                offset = offset.saturating_add(number.ok_or_else(unknown)?.saturating_mul(ty.stride()));
                ty.elements = None;
                rest = behind;
            } else {
                let (name, behind) = split(rest.strip_prefix('.').ok_or_else(unknown)?);
                let is_struct = ty.elements.is_none();
                let member = ty.members.iter().find(|(member, ..)| is_struct && member == name);
                let (_, at, member) = member.ok_or_else(unknown)?.clone();
                offset = offset.saturating_add(at);
                (ty, rest) = (member, behind);
            }
        }
        Ok(Place { space: variable.space, offset, ty, buffer: self })
    }

    /// The names there are; behind their buffer where several have one.
    fn names(&self) -> Vec<String> {
        let name = |variable: &Variable| {
            let twice = self.0.iter().filter(|other| other.name == variable.name).count() > 1;
            if twice { format!("{}.{}", variable.buffer, variable.name) } else { variable.name.clone() }
        };
        self.0.iter().map(name).collect()
    }

    /// The rows of a uniform space before anything is set: the variables' defaults.
    pub fn defaults(&self, space: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for variable in self.0.iter().filter(|variable| variable.space == space) {
            let end = (variable.offset + variable.ty.bytes()) as usize;
            bytes.resize(bytes.len().max(end), 0);
            let room = &mut bytes[variable.offset as usize..];
            room.iter_mut().zip(&variable.default).for_each(|(byte, &default)| *byte = default);
        }
        bytes
    }
}

/// The most that a constant buffer holds, 4096 rows.
const MAX_BYTES: u32 = 4096 * 16;

/// A name, and what follows it.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}

/// The recursion is as deep as types nest, which parsing the part has bounded, as it has the number of members.
fn type_of(definitions: &ResourceDefinitions<'_>, id: TypeId) -> Type {
    let ty = definitions.type_of(id);
    let is_plain =
        [TypeClass::SCALAR, TypeClass::VECTOR, TypeClass::MATRIX_ROWS, TypeClass::MATRIX_COLUMNS].contains(&ty.class);
    let scalar = match ty.base {
        _ if !is_plain => None,
        // Types of minimum precision have 32 bits in constant buffers.
        BaseType::FLOAT | BaseType::MIN_16_FLOAT | BaseType::MIN_10_FLOAT => Some(Scalar::F32),
        BaseType::INT | BaseType::MIN_16_INT | BaseType::MIN_12_INT => Some(Scalar::I32),
        BaseType::UINT | BaseType::MIN_16_UINT => Some(Scalar::U32),
        BaseType::BOOL => Some(Scalar::Bool),
        _ => None,
    };
    let members = ty
        .members
        .iter()
        .map(|member| (member.name.to_str().into_owned(), member.offset, type_of(definitions, member.ty)));
    Type {
        spelling: ty.spelling(),
        scalar,
        class: ty.class,
        rows: ty.rows.into(),
        columns: ty.columns.into(),
        elements: (ty.elements > 0).then_some(ty.elements.into()),
        members: members.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Config, Engine};

    /// The bytes of a shader whose buffer has a `float4x4` with 1 to 16 as its default.
    const DEFAULTS: &[u8] = include_bytes!("../tests/data/dxbc/listing_mstable/main.ps_5_0.fxc101.dxbc");

    #[test]
    fn defaults_are_those_of_the_container() {
        let shader = Shader::parse(DEFAULTS).unwrap();
        let compiled = Engine::new(Config::default()).unwrap().compile(&shader, &CompileOptions::default()).unwrap();
        let variables = Variables::read(&shader, 0, compiled.interface());
        let place = variables.find("m").unwrap();
        let expected: Vec<u8> = (1..=16).flat_map(|number| (number as f32).to_le_bytes()).collect();
        assert_eq!((place.offset, place.ty.name()), (0, "float4x4".to_string()));
        assert_eq!(variables.defaults(place.space), expected);
    }
}
