//! What a module says in front of its functions: entry points, names, decorations, execution modes.
//!
//! They are collected in one pass over the whole module, because types and variables are read with them at hand.

use foldhash::{HashMap, HashMapExt};

use spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op};

use super::types::{Kind, Ty, Types};
use crate::error::LowerError;
use crate::frontend::spirv::decode::{Instruction, Module};

/// Decorations of an id, or of a member of a structure. Those that say nothing to an executor are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decorations {
    pub built_in: Option<BuiltIn>,
    pub location: Option<u32>,
    pub component: Option<u32>,
    pub binding: Option<u32>,
    pub set: Option<u32>,
    pub offset: Option<u32>,
    pub array_stride: Option<u32>,
    pub matrix_stride: Option<u32>,
    pub row_major: bool,
    pub buffer_block: bool,
    pub non_writable: bool,
    pub spec_id: Option<u32>,
    pub no_contraction: bool,
    pub flat: bool,
    pub no_perspective: bool,
    pub centroid: bool,
    pub sample: bool,
    pub patch: bool,
    pub stream: Option<u32>,
    pub attachment: Option<u32>,
}

/// Most entry points of a module.
const MAX_ENTRY_POINTS: usize = 64;

/// An entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its stage.
    pub model: ExecutionModel,
    /// The id of its function.
    pub function: u32,
    /// Its name.
    pub name: String,
    /// The ids of the variables that it uses, since version 1.4 all of them, before those of inputs and outputs.
    pub variables: Vec<u32>,
    /// Absolute byte offset of its instruction.
    pub offset: usize,
}

/// An execution mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub mode: ExecutionMode,
    pub operands: Vec<u32>,
    /// Whether operands are ids of constants instead of numbers.
    pub by_id: bool,
    /// Absolute byte offset.
    pub offset: usize,
}

/// All that is declared.
pub(super) struct Declared {
    pub modes: Vec<Mode>,
    names: HashMap<u32, String>,
    member_names: HashMap<(u32, u32), String>,
    decorations: HashMap<u32, Decorations>,
    members: HashMap<(u32, u32), Decorations>,
}

impl Declared {
    /// Collects what is declared for an entry point.
    pub fn collect(module: &Module, entry: &EntryPoint) -> Result<Declared, LowerError> {
        let mut declared = Declared {
            modes: Vec::new(),
            names: HashMap::new(),
            member_names: HashMap::new(),
            decorations: HashMap::new(),
            members: HashMap::new(),
        };
        for instruction in module.instructions() {
            let operands = instruction.operands();
            let short = || invalid(&instruction, "is too short");
            match (instruction.opcode(), operands) {
                (Some(Op::Name), &[id, ..]) => {
                    let (name, _) = instruction.text(1).ok_or_else(short)?;
                    declared.names.insert(id, name);
                }
                (Some(Op::MemberName), &[id, member, ..]) => {
                    let (name, _) = instruction.text(2).ok_or_else(short)?;
                    declared.member_names.insert((id, member), name);
                }
                (Some(Op::Decorate), &[id, decoration, ref rest @ ..]) => {
                    let decorations = declared.decorations.entry(id).or_default();
                    decorations.set(decoration, rest).ok_or_else(short)?;
                }
                (Some(Op::MemberDecorate), &[id, member, decoration, ref rest @ ..]) => {
                    let decorations = declared.members.entry((id, member)).or_default();
                    decorations.set(decoration, rest).ok_or_else(short)?;
                }
                (Some(Op::GroupDecorate | Op::GroupMemberDecorate), _) => return Err(unsupported(&instruction)),
                (Some(Op::ExecutionMode | Op::ExecutionModeId), &[function, mode, ref rest @ ..])
                    if function == entry.function =>
                {
                    if let Some(mode) = ExecutionMode::from_u32(mode) {
                        let by_id = instruction.opcode() == Some(Op::ExecutionModeId);
                        let offset = instruction.offset;
                        declared.modes.push(Mode { mode, operands: rest.to_vec(), by_id, offset });
                    }
                }
                (Some(Op::Name | Op::MemberName | Op::Decorate | Op::MemberDecorate), _) => return Err(short()),
                _ => {}
            }
        }
        Ok(declared)
    }

    /// Decorations of an id.
    pub fn of(&self, id: u32) -> Decorations {
        self.decorations.get(&id).copied().unwrap_or_default()
    }

    /// Decorations of a member of a structure type.
    pub fn of_member(&self, id: u32, member: u32) -> Decorations {
        self.members.get(&(id, member)).copied().unwrap_or_default()
    }

    /// The name of an id, if it has one.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The name of a member of a structure type, if it has one.
    pub fn member_name(&self, id: u32, member: u32) -> Option<&str> {
        self.member_names.get(&(id, member)).map(String::as_str)
    }

    /// Whether nothing may write through a variable whose elements are of a type: it is decorated so, or every member
    /// of its block is.
    pub fn is_read_only(&self, types: &Types, id: u32, ty: Ty) -> bool {
        let Kind::Struct(members) = types.kind(ty) else { return self.of(id).non_writable };
        let (block, count) = (types.id(ty), members.len() as u32);
        let all = || (0..count).all(|member| self.of_member(block, member).non_writable);
        self.of(id).non_writable || count > 0 && all()
    }

    /// The operands of an execution mode, if it is declared, and whether they are ids.
    pub fn mode(&self, mode: ExecutionMode) -> Option<&Mode> {
        self.modes.iter().find(|declared| declared.mode == mode)
    }
}

impl Decorations {
    /// Takes note of a decoration. None if it has too few operands.
    fn set(&mut self, decoration: u32, operands: &[u32]) -> Option<()> {
        let number = || operands.first().copied();
        match Decoration::from_u32(decoration) {
            Some(Decoration::BuiltIn) => self.built_in = BuiltIn::from_u32(number()?),
            Some(Decoration::Location) => self.location = Some(number()?),
            Some(Decoration::Component) => self.component = Some(number()?),
            Some(Decoration::Binding) => self.binding = Some(number()?),
            Some(Decoration::DescriptorSet) => self.set = Some(number()?),
            Some(Decoration::Offset) => self.offset = Some(number()?),
            Some(Decoration::ArrayStride) => self.array_stride = Some(number()?),
            Some(Decoration::MatrixStride) => self.matrix_stride = Some(number()?),
            Some(Decoration::RowMajor) => self.row_major = true,
            Some(Decoration::BufferBlock) => self.buffer_block = true,
            Some(Decoration::NonWritable) => self.non_writable = true,
            Some(Decoration::SpecId) => self.spec_id = Some(number()?),
            Some(Decoration::NoContraction) => self.no_contraction = true,
            Some(Decoration::Flat) => self.flat = true,
            Some(Decoration::NoPerspective) => self.no_perspective = true,
            Some(Decoration::Centroid) => self.centroid = true,
            Some(Decoration::Sample) => self.sample = true,
            Some(Decoration::Patch) => self.patch = true,
            Some(Decoration::Stream) => self.stream = Some(number()?),
            Some(Decoration::InputAttachmentIndex) => self.attachment = Some(number()?),
            _ => {}
        }
        Some(())
    }
}

/// The entry points of a module, in its order.
///
/// # Errors
/// An entry point is malformed, or its stage is one that nobody knows.
pub fn entry_points(module: &Module) -> Result<Vec<EntryPoint>, LowerError> {
    let is_one = |instruction: &Instruction<'_>| instruction.opcode() == Some(Op::EntryPoint);
    if let Some(instruction) = module.instructions().filter(is_one).nth(MAX_ENTRY_POINTS) {
        let (what, limit) = ("number of entry points", MAX_ENTRY_POINTS as u64);
        return Err(LowerError::Limit { what, value: limit + 1, limit, offset: instruction.offset });
    }
    let declared = module.instructions().filter(|instruction| instruction.opcode() == Some(Op::EntryPoint));
    let entries = declared.map(|instruction| {
        let short = || invalid(&instruction, "is too short");
        let &[model, function, ..] = instruction.operands() else { return Err(short()) };
        let model = ExecutionModel::from_u32(model).ok_or_else(|| invalid(&instruction, "has an unknown stage"))?;
        let (name, end) = instruction.text(2).ok_or_else(short)?;
        let variables = instruction.operands()[end..].to_vec();
        Ok(EntryPoint { model, function, name, variables, offset: instruction.offset })
    });
    entries.collect()
}

/// That an instruction breaks a rule.
pub(super) fn invalid(instruction: &Instruction<'_>, what: &str) -> LowerError {
    LowerError::Invalid { what: format!("{} {what}", instruction.name()), offset: instruction.offset }
}

/// That an instruction does not run.
pub(super) fn unsupported(instruction: &Instruction<'_>) -> LowerError {
    LowerError::Unsupported { what: instruction.name(), offset: instruction.offset }
}
