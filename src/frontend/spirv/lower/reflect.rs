//! What an entry point declares, for people and for those who bind it by name. It is there for every stage, whether it
//! runs or not.

use spirv::{ExecutionModel, StorageClass};

use super::declare::{Declared, EntryPoint, entry_points};
use super::types::{Kind, MatrixLayout, Scalar, Ty};
use super::{LowerOptions, Lowering, stage};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Module;
use crate::stage::Stage;

/// What an entry point declares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reflection {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub model: ExecutionModel,
    /// Its execution modes, each with its operands.
    pub modes: Vec<String>,
    /// Input variables.
    pub inputs: Vec<InterfaceVariable>,
    /// Output variables.
    pub outputs: Vec<InterfaceVariable>,
    /// What is bound, and push constants.
    pub bound: Vec<BoundVariable>,
    /// Constants that may be specialised.
    pub constants: Vec<SpecializationConstant>,
}

/// An input or output variable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceVariable {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type, as the friendly names of listings spell it.
    pub ty: String,
    /// Its location, if it has one.
    pub location: Option<u32>,
    /// Its first component there.
    pub component: u32,
    /// The builtin that it is, if it is one.
    pub built_in: Option<String>,
}

/// A variable that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundVariable {
    /// Its name; that of its block if it has none.
    pub name: String,
    /// Its storage class.
    pub class: StorageClass,
    /// Descriptor set; none of push constants.
    pub set: Option<u32>,
    /// Binding in the set.
    pub binding: Option<u32>,
    /// Elements of the array of descriptors; 0 if it has no end, 1 if it is no array.
    pub count: u32,
    /// The type of one.
    pub ty: String,
    /// Whether it is decorated as only read, itself or all of its block.
    pub non_writable: bool,
    /// Its block, if it is one.
    pub block: Option<BlockLayout>,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockLayout {
    /// Bytes, without an array at its end that has no length.
    pub bytes: u64,
    /// Its members.
    pub members: Vec<BlockMember>,
}

/// A member of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockMember {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// Its byte in the block.
    pub offset: u32,
    /// Bytes from element to element, of arrays.
    pub array_stride: Option<u32>,
    /// Bytes from column to column, or from row to row, of matrices.
    pub matrix_stride: Option<u32>,
    /// Whether its matrices lie row by row.
    pub row_major: bool,
}

/// A constant that may be specialised.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecializationConstant {
    /// The number that it is specialised by.
    pub number: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// Its bits where nothing is said.
    pub bits: u64,
}

/// Reads what an entry point declares, by its number in the module.
///
/// # Errors
/// As [`lower`](super::lower), but of what stands in front of the functions alone.
pub fn reflect(module: &Module, entry: usize) -> Result<Reflection, LowerError> {
    let entries = entry_points(module)?;
    let Some(entry) = entries.get(entry) else {
        return Err(LowerError::Invalid { what: "there is no such entry point".to_string(), offset: module.offset });
    };
    let options = LowerOptions::default();
    // A stage that is not known declares as others do.
    let mut lowering = Lowering::new(module, entry, stage(entry.model).unwrap_or(Stage::Vertex), &options)?;
    lowering.globals()?;
    lowering.reflection(entry)
}

impl Lowering<'_> {
    fn reflection(&self, entry: &EntryPoint) -> Result<Reflection, LowerError> {
        let modes = self.declared.modes.iter().map(|mode| {
            let id = if mode.by_id { "%" } else { "" };
            let operands = mode.operands.iter().map(|operand| format!(" {id}{operand}"));
            format!("{:?}{}", mode.mode, operands.collect::<String>())
        });
        let mut reflection = Reflection {
            name: entry.name.clone(),
            model: entry.model,
            modes: modes.collect(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            bound: Vec::new(),
            constants: self.specializable(),
        };
        for (id, class, ty) in self.variables.declared() {
            match class {
                StorageClass::Input | StorageClass::Output if entry.variables.contains(&id) => {
                    let list = match class {
                        StorageClass::Input => &mut reflection.inputs,
                        _ => &mut reflection.outputs,
                    };
                    self.interface_variables(id, ty, list);
                }
                StorageClass::Uniform
                | StorageClass::StorageBuffer
                | StorageClass::UniformConstant
                | StorageClass::PushConstant => reflection.bound.push(self.bound_reflection(id, class, ty)),
                _ => {}
            }
        }
        Ok(reflection)
    }

    fn specializable(&self) -> Vec<SpecializationConstant> {
        let mut constants: Vec<SpecializationConstant> = self
            .globals
            .iter()
            .filter_map(|(&id, def)| {
                let number = self.declared.of(id).spec_id?;
                let super::Def::Constant { ty, bits } = def else { return None };
                let name = name_of(&self.declared, id);
                Some(SpecializationConstant { number, name, ty: self.type_name(*ty), bits: *bits.first()? })
            })
            .collect();
        constants.sort_by_key(|constant| constant.number);
        constants
    }

    /// A variable, or the members of a block of them.
    fn interface_variables(&self, id: u32, ty: Ty, list: &mut Vec<InterfaceVariable>) {
        let whole = self.declared.of(id);
        let variable = |name: String, ty: Ty, decorations: super::declare::Decorations, location| InterfaceVariable {
            name,
            ty: self.type_name(ty),
            location,
            component: decorations.component.unwrap_or(0),
            built_in: decorations.built_in.map(|built_in| format!("{built_in:?}")),
        };
        let block = self.block_of(ty).filter(|_| whole.built_in.is_none() && whole.location.is_none());
        let Some((_, block)) = block else {
            return list.push(variable(name_of(&self.declared, id), ty, whole, whole.location));
        };
        let Kind::Struct(members) = self.types.kind(block) else { unreachable!("a block is a structure") };
        // Of each vertex there is one.
        let length = match *self.types.kind(ty) {
            Kind::Array { length, .. } => format!("[{length}]"),
            _ => String::new(),
        };
        for (number, member) in (0..).zip(members) {
            let own = self.declared.of_member(self.types.id(block), number);
            let name = self.declared.member_name(self.types.id(block), number).unwrap_or_default().to_string();
            let member = variable(name, member.ty, own, own.location);
            list.push(InterfaceVariable { ty: member.ty.clone() + &length, ..member });
        }
    }

    fn bound_reflection(&self, id: u32, class: StorageClass, ty: Ty) -> BoundVariable {
        let (element, count) = match *self.types.kind(ty) {
            Kind::Array { element, length, .. } => (element, length),
            Kind::RuntimeArray { element, .. } => (element, 0),
            _ => (ty, 1),
        };
        let decorations = self.declared.of(id);
        let block = match self.types.kind(element) {
            Kind::Struct(members) => {
                let id = self.types.id(element);
                let list = (0..).zip(members).map(|(number, member)| BlockMember {
                    name: self.declared.member_name(id, number).unwrap_or_default().to_string(),
                    ty: self.type_name(member.ty),
                    offset: member.offset.unwrap_or(0),
                    array_stride: match *self.types.kind(member.ty) {
                        Kind::Array { stride, .. } | Kind::RuntimeArray { stride, .. } => stride,
                        _ => None,
                    },
                    matrix_stride: member.matrix.stride,
                    row_major: member.matrix.row_major,
                });
                Some(BlockLayout { bytes: self.types.bytes(element, MatrixLayout::default()), members: list.collect() })
            }
            _ => None,
        };
        let has_set = class != StorageClass::PushConstant;
        let name = name_of(&self.declared, id);
        BoundVariable {
            name: if name.is_empty() { name_of(&self.declared, self.types.id(element)) } else { name },
            class,
            set: has_set.then(|| decorations.set.unwrap_or(0)),
            binding: has_set.then(|| decorations.binding.unwrap_or(0)),
            count,
            ty: self.type_name(element),
            non_writable: self.declared.is_read_only(&self.types, id, element),
            block,
        }
    }

    /// The name of a type: that of a structure, else what it is.
    fn type_name(&self, ty: Ty) -> String {
        match self.types.kind(ty) {
            Kind::Void => "void".to_string(),
            Kind::Scalar(Scalar::Bool) => "bool".to_string(),
            Kind::Scalar(Scalar::Float { width }) => ["half", "float", "double"][(width / 32) as usize].to_string(),
            Kind::Scalar(Scalar::Int { width, signed }) => {
                let name = ["char", "short", "int", "long"][width.ilog2() as usize - 3];
                format!("{}{name}", if *signed { "" } else { "u" })
            }
            Kind::Vector { scalar, count } => format!("v{count}{}", self.type_name(*scalar)),
            Kind::Matrix { column, columns } => format!("mat{columns}{}", self.type_name(*column)),
            Kind::Array { element, length, .. } => format!("{}[{length}]", self.type_name(*element)),
            Kind::RuntimeArray { element, .. } => format!("{}[]", self.type_name(*element)),
            Kind::Struct(_) => {
                let id = self.types.id(ty);
                self.declared.name(id).map_or_else(|| format!("_struct_{id}"), str::to_string)
            }
            Kind::Pointer { .. } => "pointer".to_string(),
            Kind::Image(image) => image.to_string(),
            Kind::Sampler => "sampler".to_string(),
            Kind::SampledImage(image) => format!("{image} with sampler"),
            Kind::Function => "function".to_string(),
        }
    }
}

/// The name of an id; empty if it has none.
fn name_of(declared: &Declared, id: u32) -> String {
    declared.name(id).unwrap_or_default().to_string()
}
