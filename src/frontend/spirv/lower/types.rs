//! The type table: what each type id is, how many scalars it has, and where they lie in memory.
//!
//! A type is declared before it is used, so types cannot contain themselves. Every value is the list of its scalars:
//! components of vectors in order, columns of matrices one behind the other, then elements and members.

use foldhash::{HashMap, HashMapExt};

use std::fmt;

use shaderjit_ir::Type;
use spirv::{Dim, ImageFormat, StorageClass};

use crate::error::LowerError;
use crate::frontend::ComponentType;

/// Most scalars of a type whose values are held.
pub(super) const MAX_SCALARS: u32 = 1 << 12;
/// Most composites in one another.
const MAX_DEPTH: u32 = 64;
/// Most bytes of a type in memory. What is larger cannot be bound.
pub(super) const MAX_BYTES: u64 = 1 << 32;

/// Number of a type in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ty(u32);

/// A number or a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Bool,
    /// Values of 8 and 16 bits are held in 32, extended by their sign or by zeros.
    Int {
        width: u8,
        signed: bool,
    },
    /// Values of 16 bits are held in 32, as the floats that they are.
    Float {
        width: u8,
    },
}

impl Scalar {
    pub const U32: Scalar = Scalar::Int { width: 32, signed: false };

    /// The type in which the IR has it.
    pub fn ir(self) -> Type {
        match self {
            Scalar::Bool => Type::I1,
            // Pairs of words: see `wide`.
            Scalar::Int { width: 64, .. } | Scalar::Float { width: 64 } => Type::F64,
            Scalar::Int { .. } => Type::I32,
            Scalar::Float { .. } => Type::F32,
        }
    }

    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Scalar::Bool => 4,
            Scalar::Int { width, .. } | Scalar::Float { width } => u32::from(width) / 8,
        }
    }

    /// What a caller takes its words for.
    pub fn component_type(self) -> ComponentType {
        match self {
            Scalar::Float { .. } => ComponentType::F32,
            Scalar::Int { signed: true, .. } => ComponentType::I32,
            Scalar::Int { .. } | Scalar::Bool => ComponentType::U32,
        }
    }
}

/// The type of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ImageType {
    /// Type of a component of what is read.
    pub scalar: Scalar,
    pub dim: Dim,
    pub arrayed: bool,
    pub multisampled: bool,
    /// Whether it is read and written instead of sampled.
    pub is_storage: bool,
    pub format: ImageFormat,
}

impl fmt::Display for ImageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = format!("{:?}", self.dim);
        write!(f, "{}image {}", if self.is_storage { "storage " } else { "" }, dim.trim_start_matches("Dim"))?;
        f.write_str(if self.arrayed { " array" } else { "" })?;
        f.write_str(if self.multisampled { ", multisampled" } else { "" })?;
        if self.format != ImageFormat::Unknown {
            write!(f, ", {:?}", self.format)?;
        }
        write!(f, ", {}", self.scalar.component_type().name())
    }
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub ty: Ty,
    /// Number of its first scalar.
    pub first: u32,
    /// Byte in memory, where it is declared.
    pub offset: Option<u32>,
    pub matrix: MatrixLayout,
}

/// How the matrices in a member lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MatrixLayout {
    pub row_major: bool,
    /// Bytes from column to column, or from row to row; none where it is not declared.
    pub stride: Option<u32>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Void,
    Scalar(Scalar),
    Vector { scalar: Ty, count: u32 },
    Matrix { column: Ty, columns: u32 },
    Array { element: Ty, length: u32, stride: Option<u32> },
    RuntimeArray { element: Ty, stride: Option<u32> },
    Struct(Vec<Member>),
    Pointer { class: StorageClass, pointee: Ty },
    Image(ImageType),
    Sampler,
    SampledImage(ImageType),
    Function,
}

/// One type.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub kind: Kind,
    /// How many scalars it has; none for what is no value, over [`MAX_SCALARS`] for what is too large for one.
    pub scalars: u32,
    /// Bytes of its values where the module does not lay memory out.
    pub natural_bytes: u64,
    /// Bytes of a structure as decorations lay it out.
    bytes: u64,
    /// How deep composites in it are.
    depth: u32,
    /// The id that it was declared by.
    id: u32,
}

/// All types.
#[derive(Default)]
pub(super) struct Types {
    infos: Vec<Info>,
    ids: HashMap<u32, Ty>,
}

impl Types {
    pub fn new() -> Types {
        Types { infos: Vec::new(), ids: HashMap::new() }
    }

    /// Declares what an id is. None if the id has been declared before, or composites are in one another too deep.
    pub fn declare(&mut self, id: u32, kind: Kind) -> Option<Ty> {
        let info = |ty: Ty| &self.infos[ty.0 as usize];
        let times = |part: Ty, count: u32| {
            let part = info(part);
            (part.scalars.saturating_mul(count), part.natural_bytes.saturating_mul(count.into()), 1 + part.depth)
        };
        let (scalars, natural_bytes, depth) = match &kind {
            Kind::Scalar(scalar) => (1, u64::from(scalar.bytes().max(4)), 0),
            &Kind::Vector { scalar: part, count }
            | &Kind::Matrix { column: part, columns: count }
            | &Kind::Array { element: part, length: count, .. } => times(part, count),
            &Kind::RuntimeArray { element, .. } => times(element, 0),
            Kind::Struct(members) => {
                members.iter().fold((0, 0, 1), |(scalars, bytes, depth): (u32, u64, u32), member| {
                    let (s, b, d) = times(member.ty, 1);
                    (scalars.saturating_add(s), bytes.saturating_add(b), depth.max(d))
                })
            }
            _ => (0, 0, 0),
        };
        let bytes = match &kind {
            Kind::Struct(members) => members.iter().map(|member| self.end_of(member)).max().unwrap_or(0),
            _ => 0,
        };
        let ty = Ty(self.infos.len() as u32);
        self.infos.push(Info { kind, scalars, natural_bytes, bytes, depth, id });
        let is_new = self.ids.insert(id, ty).is_none();
        (is_new && depth <= MAX_DEPTH).then_some(ty)
    }

    /// The byte behind a member.
    fn end_of(&self, member: &Member) -> u64 {
        u64::from(member.offset.unwrap_or(0)).saturating_add(self.bytes(member.ty, member.matrix))
    }

    pub fn of_id(&self, id: u32) -> Option<Ty> {
        self.ids.get(&id).copied()
    }

    /// The id that a type was declared by.
    pub fn id(&self, ty: Ty) -> u32 {
        self.info(ty).id
    }

    pub fn info(&self, ty: Ty) -> &Info {
        &self.infos[ty.0 as usize]
    }

    pub fn kind(&self, ty: Ty) -> &Kind {
        &self.info(ty).kind
    }

    /// How many scalars values of the type have.
    pub fn scalars(&self, ty: Ty) -> u32 {
        self.info(ty).scalars
    }

    /// The scalar type that a scalar, or each component of a vector, has.
    pub fn scalar(&self, ty: Ty) -> Option<Scalar> {
        match *self.kind(ty) {
            Kind::Scalar(scalar) => Some(scalar),
            Kind::Vector { scalar, .. } => self.scalar(scalar),
            _ => None,
        }
    }

    /// Rows and columns of a matrix.
    pub fn matrix(&self, ty: Ty) -> Option<(u32, u32)> {
        match *self.kind(ty) {
            Kind::Matrix { column, columns } => Some((self.scalars(column), columns)),
            _ => None,
        }
    }

    /// The type of a number of a composite's parts, and the number of its first scalar; none if there is no such one.
    pub fn part(&self, ty: Ty, index: u32) -> Option<(Ty, u32)> {
        match self.kind(ty) {
            &Kind::Vector { scalar, count } => (index < count).then_some((scalar, index)),
            &Kind::Matrix { column, columns } => (index < columns).then(|| (column, index * self.scalars(column))),
            &Kind::Array { element, length, .. } => {
                (index < length).then(|| (element, index.saturating_mul(self.scalars(element))))
            }
            Kind::Struct(members) => members.get(index as usize).map(|member| (member.ty, member.first)),
            _ => None,
        }
    }

    /// The scalar types of a value, in order. The type has at most [`MAX_SCALARS`].
    pub fn flatten(&self, ty: Ty) -> Vec<Scalar> {
        let mut flat = Vec::new();
        let mut rest = vec![ty];
        while let Some(ty) = rest.pop() {
            match self.kind(ty) {
                &Kind::Scalar(scalar) => flat.push(scalar),
                &Kind::Vector { scalar, count } => {
                    flat.extend(self.scalar(scalar).into_iter().flat_map(|scalar| (0..count).map(move |_| scalar)));
                }
                &Kind::Matrix { column: part, columns: count } | &Kind::Array { element: part, length: count, .. } => {
                    rest.extend((0..count).filter(|_| self.scalars(part) > 0).map(|_| part));
                }
                Kind::Struct(members) => {
                    rest.extend(members.iter().rev().map(|member| member.ty).filter(|&ty| self.scalars(ty) > 0));
                }
                _ => {}
            }
        }
        flat
    }

    /// Bytes of a type in memory as decorations lay it out. A runtime array has none.
    pub fn bytes(&self, ty: Ty, matrix: MatrixLayout) -> u64 {
        match self.kind(ty) {
            Kind::Scalar(scalar) => u64::from(scalar.bytes()),
            &Kind::Vector { scalar, count } => self.bytes(scalar, matrix).saturating_mul(count.into()),
            &Kind::Matrix { column, columns } => {
                let (rows, scalar) = (self.scalars(column), self.scalar(column).map_or(4, Scalar::bytes));
                let stride = matrix.stride.unwrap_or(rows * scalar);
                let (last, length) = if matrix.row_major { (rows - 1, columns) } else { (columns - 1, rows) };
                u64::from(stride) * u64::from(last) + u64::from(length * scalar)
            }
            &Kind::Array { element, length, stride } => {
                let element = self.bytes(element, matrix);
                let stride = stride.map_or(element, u64::from);
                stride.saturating_mul(u64::from(length.saturating_sub(1))).saturating_add(element)
            }
            Kind::Struct(_) => self.info(ty).bytes,
            _ => 0,
        }
    }

    /// Where the scalars of a value lie in memory, from a byte on. `component_stride` is that of a vector which is a
    /// column of a row-major matrix.
    pub fn places(&self, ty: Ty, layout: Layout, at: u32, places: &mut Vec<(u32, Scalar)>) {
        match self.kind(ty) {
            _ if self.scalars(ty) == 0 => {}
            &Kind::Scalar(scalar) => places.push((at, scalar)),
            &Kind::Vector { scalar, count } => {
                let Some(scalar) = self.scalar(scalar) else { return };
                let stride = layout.component_stride.unwrap_or_else(|| layout.scalar_bytes(scalar));
                places.extend((0..count).map(|n| (at.wrapping_add(n.wrapping_mul(stride)), scalar)));
            }
            &Kind::Matrix { column, columns } => {
                let (step, inner) = layout.column(self, column);
                (0..columns).for_each(|n| self.places(column, inner, at.wrapping_add(n.wrapping_mul(step)), places));
            }
            &Kind::Array { element, length, stride } => {
                let step = layout.element_stride(self, element, stride);
                (0..length).for_each(|n| self.places(element, layout, at.wrapping_add(n.wrapping_mul(step)), places));
            }
            Kind::Struct(members) => {
                let mut natural = 0;
                for member in members {
                    let (offset, inner) = layout.member(member, natural);
                    natural += self.info(member.ty).natural_bytes as u32;
                    self.places(member.ty, inner, at.wrapping_add(offset), places);
                }
            }
            _ => {}
        }
    }
}

/// How what a pointer points to lies in memory, as far as its type does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether decorations do not count, because nobody outside sees the memory.
    pub natural: bool,
    pub matrix: MatrixLayout,
    /// Bytes from component to component, if it is not the component's size.
    pub component_stride: Option<u32>,
}

impl Layout {
    /// Bytes of a scalar.
    pub fn scalar_bytes(self, scalar: Scalar) -> u32 {
        if self.natural { scalar.bytes().max(4) } else { scalar.bytes() }
    }

    /// Bytes from element to element.
    pub fn element_stride(self, types: &Types, element: Ty, stride: Option<u32>) -> u32 {
        match stride {
            Some(stride) if !self.natural => stride,
            _ => types.info(element).natural_bytes as u32,
        }
    }

    /// Bytes from column to column, and how a column lies.
    pub fn column(self, types: &Types, column: Ty) -> (u32, Layout) {
        let scalar = types.scalar(column).unwrap_or(Scalar::U32);
        let packed = types.scalars(column) * self.scalar_bytes(scalar);
        let stride = self.matrix.stride.filter(|_| !self.natural);
        match (self.matrix.row_major && !self.natural, stride) {
            (true, Some(stride)) => (self.scalar_bytes(scalar), Layout { component_stride: Some(stride), ..self }),
            (_, stride) => (stride.unwrap_or(packed), self),
        }
    }

    /// Where a member is, and how it lies. `natural` is where it would be without decorations.
    pub fn member(self, member: &Member, natural: u32) -> (u32, Layout) {
        if self.natural {
            return (natural, self);
        }
        (member.offset.unwrap_or(natural), Layout { matrix: member.matrix, component_stride: None, ..self })
    }
}

/// Refuses a type that has more scalars than values may have.
pub(super) fn check_scalars(scalars: u32, offset: usize) -> Result<(), LowerError> {
    match scalars {
        value if value > MAX_SCALARS => Err(LowerError::Limit {
            what: "number of scalars of a value",
            value: value.into(),
            limit: MAX_SCALARS.into(),
            offset,
        }),
        _ => Ok(()),
    }
}
