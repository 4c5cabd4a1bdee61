//! The types of variables: scalars, vectors, matrices, structs, and from shader model 5 on classes and interfaces.
//!
//! Records are shared by offset and refer to one another, so they are read into a table in which each stands once. A
//! record has 16 bytes up to shader model 4.1 and 36 from 5.0 on.

use std::collections::HashMap;
use std::fmt;

use super::{BaseType, Budget, TypeClass};
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;
use crate::printable::Printable;

/// Bytes of a type record of shader model 4, and of 5.
pub(super) const RECORD: [u32; 2] = [16, 36];
/// Bytes of a member record.
pub(super) const MEMBER: u32 = 12;

/// A type of one `RDEF` part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

impl TypeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A type. `Display` spells it as HLSL does, without members and array length: `row_major float4x3`, `struct Light`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type<'a> {
    /// What kind of type it is.
    pub class: TypeClass,
    /// Type of the components.
    pub base: BaseType,
    /// Rows of a matrix; 1 for a scalar or vector.
    pub rows: u16,
    /// Columns of a matrix, components of a vector; 1 for a scalar.
    pub columns: u16,
    /// Elements of an array; 0 if it is none.
    pub elements: u16,
    /// Its name. Shader model 4 stores none.
    pub name: Name<'a>,
    /// Members of a struct or class, in stored order.
    pub members: Vec<Member<'a>>,
    /// The interface class behind an interface pointer.
    pub subtype: Option<TypeId>,
    /// The class it inherits from.
    pub base_class: Option<TypeId>,
    /// The interfaces it implements.
    pub interfaces: Vec<TypeId>,
}

/// A member of a struct or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name.
    pub name: Name<'a>,
    /// Its type.
    pub ty: TypeId,
    /// First byte, counted from the start of the struct.
    pub offset: u32,
}

impl Type<'_> {
    /// The type as a declaration spells it (`row_major float4x3`, `struct Light`), with its name as it is stored.
    /// `Display` shows the same as [`Printable`] does.
    pub fn spelling(&self) -> String {
        let Self { base, rows, columns, .. } = self;
        let name = self.name.to_str();
        match self.class {
            TypeClass::SCALAR => base.to_string(),
            TypeClass::VECTOR => format!("{base}{columns}"),
            TypeClass::MATRIX_ROWS => format!("row_major {base}{rows}x{columns}"),
            TypeClass::MATRIX_COLUMNS => format!("{base}{rows}x{columns}"),
            TypeClass::STRUCT if name.is_empty() => "struct".to_string(),
            TypeClass::STRUCT => format!("struct {name}"),
            TypeClass::INTERFACE_CLASS | TypeClass::INTERFACE_POINTER => format!("interface {name}"),
            _ => base.to_string(),
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(self.spelling()).fmt(f)
    }
}

/// What is known of a type that was read: its place in the table, and how large the tree of its members is.
#[derive(Clone, Copy)]
enum Seen {
    /// It is being read; to meet it again means that it contains itself.
    Open,
    Done(Measured),
}

#[derive(Clone, Copy)]
struct Measured {
    id: TypeId,
    /// Length of the longest chain of references from it.
    height: u32,
    /// Members, members of members and so on, as a listing shows them.
    members: u64,
}

/// Reads type records, each once.
pub(super) struct TypeReader<'r, 'a> {
    part: &'r Reader<'a>,
    stride: u32,
    member_stride: u32,
    types: Vec<Type<'a>>,
    seen: HashMap<u32, Seen>,
    type_budget: Budget,
    member_budget: Budget,
    interface_budget: Budget,
    /// Members that listings of all variables show; a struct may be used by many.
    listed: Budget,
}

impl<'r, 'a> TypeReader<'r, 'a> {
    pub(super) fn new(part: &'r Reader<'a>, stride: u32, member_stride: u32) -> Self {
        let budget = |what, stride, limit| Budget::of_records(what, part, stride, limit);
        let listed = limits::LISTED_MEMBERS;
        Self {
            part,
            stride,
            member_stride,
            types: Vec::new(),
            seen: HashMap::new(),
            type_budget: budget("type count", stride, u32::MAX),
            member_budget: budget("member count", member_stride, u32::MAX),
            interface_budget: budget("interface count", 4, u32::MAX),
            listed: Budget { what: "members of all variables", left: listed, total: listed },
        }
    }

    /// All types, for [`TypeId::index`].
    pub(super) fn finish(self) -> Vec<Type<'a>> {
        self.types
    }

    /// The type at `position`, which a variable has.
    pub(super) fn variable_type(&mut self, position: u32) -> Result<TypeId, ContainerError> {
        let Measured { id, members, .. } = self.measured(position, 0)?;
        self.listed.spend(members, self.part.offset_of(position))?;
        Ok(id)
    }

    /// `depth` bounds the recursion; a type that was read before counts with its height.
    fn measured(&mut self, position: u32, depth: u32) -> Result<Measured, ContainerError> {
        let offset = self.part.offset_of(position);
        let check = |height: u32| match depth + height {
            sum if sum > limits::TYPE_DEPTH => {
                Err(over_limit("nesting of types", sum.into(), limits::TYPE_DEPTH.into(), offset))
            }
            _ => Ok(()),
        };
        match self.seen.get(&position) {
            Some(Seen::Open) => return Err(invalid("type that contains itself", position.into(), offset)),
            Some(&Seen::Done(measured)) => return check(measured.height).map(|()| measured),
            None => {}
        }
        // First of all, so that whatever else is wrong is so at an offset inside the part.
        let record = self.part.range(position, self.stride.into(), "type")?;
        check(0)?;
        self.type_budget.spend(1, offset)?;
        self.seen.insert(position, Seen::Open);
        let measured = self.read(record, depth + 1)?;
        self.seen.insert(position, Seen::Done(measured));
        Ok(measured)
    }

    /// Reads a record and all that it refers to, which lies at `depth`.
    fn read(&mut self, mut record: Reader<'a>, depth: u32) -> Result<Measured, ContainerError> {
        let class = TypeClass(record.u16("type class")?);
        let base = BaseType(record.u16("base type")?);
        let rows = record.u16("type rows")?;
        let columns = record.u16("type columns")?;
        let elements = record.u16("type elements")?;
        let member_count_offset = record.offset();
        let member_count = record.u16("type member count")?;
        let members_position = record.u32("type members offset")?;
        self.member_budget.spend(member_count.into(), member_count_offset)?;

        let (mut height, mut listed) = (0, u64::from(member_count));
        let mut measure = |measured: Measured| {
            height = height.max(measured.height + 1);
            measured
        };
        let mut members = Vec::with_capacity(member_count.into());
        for mut record in self.part.records(members_position, member_count.into(), self.member_stride, "members")? {
            let name = self.part.name(record.u32("member name offset")?, "member name")?;
            let ty = measure(self.measured(record.u32("member type offset")?, depth)?);
            listed = listed.saturating_add(ty.members);
            members.push(Member { name, ty: ty.id, offset: record.u32("member offset")? });
        }

        let (mut subtype, mut base_class, mut interfaces, mut name) = (None, None, Vec::new(), Name::default());
        if record.len() >= RECORD[1] as usize {
            for reference in [&mut subtype, &mut base_class] {
                *reference = match record.u32("referenced type offset")? {
                    0 => None,
                    position => Some(measure(self.measured(position, depth)?).id),
                };
            }
            let count_offset = record.offset();
            let count = record.u32("interface count")?;
            self.interface_budget.spend(count.into(), count_offset)?;
            let list = self.part.records(record.u32("interfaces offset")?, count, 4, "interfaces")?;
            for mut entry in list {
                interfaces.push(measure(self.measured(entry.u32("interface type offset")?, depth)?).id);
            }
            name = match record.u32("type name offset")? {
                0 => name,
                position => self.part.name(position, "type name")?,
            };
        }
        let id = TypeId(self.types.len() as u32);
        self.types.push(Type { class, base, rows, columns, elements, name, members, subtype, base_class, interfaces });
        Ok(Measured { id, height, members: listed })
    }
}
