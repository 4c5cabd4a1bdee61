//! Friendly names of ids, as `spirv-dis` makes them: what the module calls them, what builtins and types are called,
//! and constants by their value.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use rspirv::dr::{Instruction, Operand};
use spirv::{BuiltIn, Op};

use super::print::literal;

/// Types of types have names that grow; longer ones are numbers.
const LONGEST: usize = 256;

/// Names by id. Each is there once.
pub(super) struct Names {
    names: HashMap<u32, String>,
    used: HashSet<String>,
    /// The number to try next behind a name that several ids have.
    next: HashMap<String, u64>,
    /// The types of numbers, by id.
    numbers: HashMap<u32, Number>,
    /// The types of results, by id.
    results: HashMap<u32, u32>,
}

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub width: u32,
    pub is_float: bool,
    pub signed: bool,
}

impl Names {
    /// The names of all ids that a module defines, in the order of its instructions.
    pub fn new(instructions: &[Instruction]) -> Names {
        let (names, used, next) = (HashMap::new(), HashSet::new(), HashMap::new());
        let mut names = Names { names, used, next, numbers: HashMap::new(), results: HashMap::new() };
        instructions.iter().for_each(|instruction| names.add(instruction));
        names
    }

    /// The name of an id; its number, where nothing says another.
    pub fn of(&self, id: u32) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// What numbers of a type are.
    pub fn number(&self, id: u32) -> Option<Number> {
        self.numbers.get(&id).copied()
    }

    /// What the number is that an id is.
    pub fn number_of_value(&self, id: u32) -> Option<Number> {
        self.number(*self.results.get(&id)?)
    }

    /// Gives an id a name, changed so that it is one and no other id has it. The first one stays.
    fn save(&mut self, id: u32, suggested: &str) {
        if self.names.contains_key(&id) {
            return;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut base: String = suggested.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        // Each byte of what is no plain character counts.
        if !suggested.is_ascii() {
            base = suggested.bytes().map(|byte| if is_plain(byte.into()) { byte.into() } else { '_' }).collect();
        }
        if base.is_empty() {
            base.push('_');
        }
        let mut name = base.clone();
        if !self.used.insert(name.clone()) {
            let mut number = self.next.get(&base).copied().unwrap_or(0);
            loop {
                name = format!("{base}_{number}");
                number += 1;
                if self.used.insert(name.clone()) {
                    break;
                }
            }
            self.next.insert(base, number);
        }
        self.names.insert(id, name);
    }

    fn add(&mut self, instruction: &Instruction) {
        let operands = &instruction.operands;
        if let (Some(id), Some(ty)) = (instruction.result_id, instruction.result_type) {
            self.results.insert(id, ty);
        }
        match (instruction.class.opcode, &operands[..]) {
            (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) => self.save(*id, name),
            (
                Op::Decorate,
                [Operand::IdRef(id), Operand::Decoration(spirv::Decoration::BuiltIn), Operand::BuiltIn(b)],
            ) => {
                if let Some(name) = built_in(*b) {
                    self.save(*id, &name);
                }
            }
            (opcode, operands) => {
                let Some(id) = instruction.result_id else { return };
                let suggested = self.suggested(opcode, id, instruction.result_type, operands);
                match suggested.filter(|name| name.len() <= LONGEST) {
                    Some(name) => self.save(id, &name),
                    None => self.save(id, &id.to_string()),
                }
            }
        }
    }

    fn suggested(&mut self, opcode: Op, id: u32, ty: Option<u32>, operands: &[Operand]) -> Option<String> {
        Some(match (opcode, operands) {
            (Op::TypeVoid, _) => "void".to_string(),
            (Op::TypeBool, _) => "bool".to_string(),
            (Op::TypeInt, [Operand::LiteralBit32(width), Operand::LiteralBit32(signed)]) => {
                let signed = *signed != 0;
                self.numbers.insert(id, Number { width: *width, is_float: false, signed });
                let sign = if signed { "" } else { "u" };
                match width {
                    8 => format!("{sign}char"),
                    16 => format!("{sign}short"),
                    32 => format!("{sign}int"),
                    64 => format!("{sign}long"),
                    width => format!("{}{width}", if signed { "i" } else { "u" }),
                }
            }
            (Op::TypeFloat, [Operand::LiteralBit32(width), ..]) => {
                self.numbers.insert(id, Number { width: *width, is_float: true, signed: true });
                match width {
                    16 => "half".to_string(),
                    32 => "float".to_string(),
                    64 => "double".to_string(),
                    width => format!("fp{width}"),
                }
            }
            (Op::TypeVector, [Operand::IdRef(part), Operand::LiteralBit32(count)]) => {
                format!("v{count}{}", self.of(*part))
            }
            (Op::TypeMatrix, [Operand::IdRef(part), Operand::LiteralBit32(count)]) => {
                format!("mat{count}{}", self.of(*part))
            }
            (Op::TypeArray, [Operand::IdRef(part), Operand::IdRef(length)]) => {
                format!("_arr_{}_{}", self.of(*part), self.of(*length))
            }
            (Op::TypeRuntimeArray, [Operand::IdRef(part)]) => format!("_runtimearr_{}", self.of(*part)),
            (Op::TypePointer, [Operand::StorageClass(class), Operand::IdRef(part)]) => {
                format!("_ptr_{class:?}_{}", self.of(*part))
            }
            (Op::TypeStruct, _) => format!("_struct_{id}"),
            (Op::ConstantTrue, _) => "true".to_string(),
            (Op::ConstantFalse, _) => "false".to_string(),
            (Op::Constant, [value]) => {
                let number = self.number(ty?)?;
                format!("{}_{}", self.of(ty?), literal(value, number).replace('-', "n"))
            }
            _ => return None,
        })
    }
}

/// What `spirv-dis` calls the variable of a builtin.
fn built_in(built_in: BuiltIn) -> Option<String> {
    Some(match built_in {
        BuiltIn::VertexId => "gl_VertexID".to_string(),
        BuiltIn::InstanceId => "gl_InstanceID".to_string(),
        BuiltIn::PrimitiveId => "gl_PrimitiveID".to_string(),
        BuiltIn::InvocationId => "gl_InvocationID".to_string(),
        BuiltIn::SampleId => "gl_SampleID".to_string(),
        BuiltIn::PatchVertices => "gl_PatchVerticesIn".to_string(),
        BuiltIn::TessLevelOuter => "gl_TessLevelOuter".to_string(),
        BuiltIn::NumWorkgroups => "gl_NumWorkGroups".to_string(),
        BuiltIn::WorkgroupSize => "gl_WorkGroupSize".to_string(),
        BuiltIn::WorkgroupId => "gl_WorkGroupID".to_string(),
        BuiltIn::LocalInvocationId => "gl_LocalInvocationID".to_string(),
        BuiltIn::GlobalInvocationId => "gl_GlobalInvocationID".to_string(),
        BuiltIn::SubgroupLocalInvocationId => "SubgroupLocalInvocationId".to_string(),
        BuiltIn::SubgroupId => "SubgroupId".to_string(),
        BuiltIn::SubgroupSize => "SubgroupSize".to_string(),
        BuiltIn::SubgroupMaxSize => "SubgroupMaxSize".to_string(),
        BuiltIn::NumSubgroups => "NumSubgroups".to_string(),
        BuiltIn::WorkDim => "WorkDim".to_string(),
        BuiltIn::GlobalSize => "GlobalSize".to_string(),
        BuiltIn::GlobalOffset => "GlobalOffset".to_string(),
        BuiltIn::GlobalLinearId => "GlobalLinearId".to_string(),
        BuiltIn::Position
        | BuiltIn::PointSize
        | BuiltIn::ClipDistance
        | BuiltIn::CullDistance
        | BuiltIn::Layer
        | BuiltIn::ViewportIndex
        | BuiltIn::TessLevelInner
        | BuiltIn::TessCoord
        | BuiltIn::FragCoord
        | BuiltIn::PointCoord
        | BuiltIn::FrontFacing
        | BuiltIn::SamplePosition
        | BuiltIn::SampleMask
        | BuiltIn::FragDepth
        | BuiltIn::HelperInvocation
        | BuiltIn::LocalInvocationIndex
        | BuiltIn::VertexIndex
        | BuiltIn::InstanceIndex
        | BuiltIn::BaseInstance => format!("gl_{built_in:?}"),
        _ => return None,
    })
}
