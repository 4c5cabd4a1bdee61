//! Pointers: a variable, and which part of it.
//!
//! Every pointer is known where it is used, so an access chain computes nothing but the indices that are not known.

use std::rc::Rc;

use shaderjit_ir::Value;
use spirv::StorageClass;

use super::image::Handle;
use super::types::{Kind, Layout, Scalar, Ty};
use super::{Def, Lowering};
use crate::error::LowerError;

/// A pointer to a value of a type.
#[derive(Clone)]
pub(super) struct Pointer {
    pub ty: Ty,
    pub place: Place,
}

/// Where what a pointer points to is.
#[derive(Clone)]
pub(super) enum Place {
    /// In a variable of the invocation: from scalar `first` on, plus what indices add, each times so many scalars; or
    /// the component that an index chooses of the vector of so many that is there.
    Local { local: usize, first: u32, steps: Vec<(Value, u32)>, component: Option<(Value, u32)> },
    /// In memory: from a byte on, plus what indices add, each times so many bytes.
    Memory { base: Base, offset: u32, steps: Vec<(Value, u32)>, layout: Layout },
    /// An array of descriptors.
    Array { bound: usize },
    /// An image or a sampler.
    Handle { bound: usize, index: Index },
    /// A texel of an image: the words of its address.
    Texel { image: Rc<Handle>, address: [Value; 4] },
}

/// What a byte in memory is counted from.
#[derive(Clone, Copy)]
pub(super) enum Base {
    /// A variable that the group shares.
    Shared(usize),
    /// A uniform block or push constants.
    Uniform { bound: usize, index: Index },
    /// A storage buffer.
    Buffer { bound: usize, index: Index },
}

/// Which element of an array of descriptors.
#[derive(Clone, Copy)]
pub(super) enum Index {
    Known(u32),
    Chosen(Value),
}

impl Index {
    /// Replaces the value that chooses, if one does.
    pub fn map_values(&mut self, map: &mut impl FnMut(Value) -> Value) {
        if let Index::Chosen(value) = self {
            *value = map(*value);
        }
    }
}

impl Place {
    /// Replaces every value that the place depends on.
    pub fn map_values(&mut self, map: &mut impl FnMut(Value) -> Value) {
        match self {
            Place::Local { steps, component, .. } => {
                steps.iter_mut().for_each(|(value, _)| *value = map(*value));
                component.iter_mut().for_each(|(value, _)| *value = map(*value));
            }
            Place::Memory { base, steps, .. } => {
                steps.iter_mut().for_each(|(value, _)| *value = map(*value));
                match base {
                    Base::Shared(_) => {}
                    Base::Uniform { index, .. } | Base::Buffer { index, .. } => index.map_values(map),
                }
            }
            Place::Array { .. } => {}
            Place::Handle { index, .. } => index.map_values(map),
            Place::Texel { image, address } => {
                Rc::make_mut(image).map_values(map);
                address.iter_mut().for_each(|value| *value = map(*value));
            }
        }
    }

    /// The beginning of a variable that the group shares.
    pub fn shared(number: usize) -> Place {
        let layout = Layout { natural: true, ..Layout::default() };
        Place::Memory { base: Base::Shared(number), offset: 0, steps: Vec::new(), layout }
    }
}

/// An index of an access chain.
enum At {
    Known(u32),
    Chosen(Value),
}

impl Lowering<'_> {
    /// The pointer that an id is.
    pub(super) fn pointer(&self, id: u32) -> Result<Rc<Pointer>, LowerError> {
        match self.def(id)? {
            Def::Pointer(pointer) => Ok(pointer),
            _ => Err(self.invalid(format!("%{id} is no pointer"))),
        }
    }

    /// A pointer to one of the elements of a bound variable.
    pub(super) fn bound_element(&self, bound: usize, index: Index) -> Result<Pointer, LowerError> {
        let variable = &self.variables.bound[bound];
        let ty = variable.ty;
        let memory = |base| Place::Memory { base, offset: 0, steps: Vec::new(), layout: Layout::default() };
        let place = match (self.types.kind(ty), variable.class) {
            (Kind::Struct(_), StorageClass::UniformConstant) => {
                return Err(self.unsupported("a structure of descriptors"));
            }
            (Kind::Struct(_), _) if variable.is_uniform(self) => memory(Base::Uniform { bound, index }),
            (Kind::Struct(_), _) => memory(Base::Buffer { bound, index }),
            (Kind::Image(_) | Kind::Sampler | Kind::SampledImage(_), StorageClass::UniformConstant) => {
                Place::Handle { bound, index }
            }
            (Kind::Array { .. } | Kind::RuntimeArray { .. }, _) => {
                return Err(self.unsupported("an array of arrays of descriptors"));
            }
            _ => return Err(self.unsupported("a variable that is bound and is neither a block nor an image")),
        };
        Ok(Pointer { ty, place })
    }

    /// The pointer to a part of what another points to.
    pub(super) fn access(&mut self, base: &Pointer, indices: &[u32]) -> Result<Pointer, LowerError> {
        let mut pointer = base.clone();
        for &index in indices {
            let at = match self.literal(index)? {
                Some(index) => At::Known(index),
                None => At::Chosen(self.integer(index)?),
            };
            pointer = self.step(pointer, at)?;
        }
        Ok(pointer)
    }

    fn step(&mut self, pointer: Pointer, at: At) -> Result<Pointer, LowerError> {
        let Pointer { ty, place } = pointer;
        match place {
            Place::Array { bound } => {
                let index = match at {
                    At::Known(index) => Index::Known(index),
                    At::Chosen(index) => Index::Chosen(index),
                };
                self.bound_element(bound, index)
            }
            Place::Local { local, mut first, mut steps, component: None } => {
                let (part, component) = match at {
                    At::Known(index) => {
                        let Some((part, offset)) = self.types.part(ty, index) else {
                            return Err(self.invalid(format!("part {index} of what has fewer")));
                        };
                        first = first.saturating_add(offset);
                        (part, None)
                    }
                    At::Chosen(index) => match *self.types.kind(ty) {
                        Kind::Vector { scalar, count } => (scalar, Some((index, count))),
                        Kind::Array { element: part, .. } | Kind::Matrix { column: part, .. } => {
                            steps.push((index, self.types.scalars(part)));
                            (part, None)
                        }
                        _ => return Err(self.invalid("an index that is not known of what has no elements")),
                    },
                };
                Ok(Pointer { ty: part, place: Place::Local { local, first, steps, component } })
            }
            Place::Memory { base, mut offset, mut steps, layout } => {
                let (part, stride, inner) = match (self.types.kind(ty), &at) {
                    (Kind::Struct(members), &At::Known(number)) => {
                        let Some(member) = members.get(number as usize) else {
                            return Err(self.invalid(format!("member {number} of a structure that has fewer")));
                        };
                        let before = members[..number as usize].iter();
                        let natural: u64 = before.map(|member| self.types.info(member.ty).natural_bytes).sum();
                        let (bytes, inner) = layout.member(member, natural as u32);
                        let ty = member.ty;
                        offset = self.add(offset, bytes.into())?;
                        return Ok(Pointer { ty, place: Place::Memory { base, offset, steps, layout: inner } });
                    }
                    (&Kind::Vector { scalar, .. }, _) => {
                        let bytes = layout.scalar_bytes(self.types.scalar(scalar).unwrap_or(Scalar::U32));
                        let stride = layout.component_stride.unwrap_or(bytes);
                        (scalar, stride, Layout { component_stride: None, ..layout })
                    }
                    (&Kind::Matrix { column, .. }, _) => {
                        let (stride, inner) = layout.column(&self.types, column);
                        (column, stride, inner)
                    }
                    (&Kind::Array { element, stride, .. } | &Kind::RuntimeArray { element, stride }, _) => {
                        (element, layout.element_stride(&self.types, element, stride), layout)
                    }
                    _ => return Err(self.invalid("an index of what has no elements")),
                };
                match at {
                    At::Known(index) => offset = self.add(offset, u64::from(index) * u64::from(stride))?,
                    At::Chosen(index) => steps.push((index, stride)),
                }
                Ok(Pointer { ty: part, place: Place::Memory { base, offset, steps, layout: inner } })
            }
            Place::Local { .. } | Place::Handle { .. } | Place::Texel { .. } => {
                Err(self.invalid("an index of what has no elements"))
            }
        }
    }

    /// A byte so many behind another.
    fn add(&self, offset: u32, bytes: u64) -> Result<u32, LowerError> {
        u32::try_from(u64::from(offset) + bytes).map_err(|_| self.invalid("a byte that no buffer has"))
    }

    /// What indices add: each times its step. `saturates` keeps a sum from coming back behind 2^32: an index that is
    /// too large leads behind every buffer.
    pub(super) fn sum(&mut self, steps: &[(Value, u32)], unit: u32, saturates: bool) -> Option<Value> {
        let mut sum = None;
        for &(mut index, step) in steps {
            if saturates && step > 1 {
                let most = self.b.i32(u32::MAX / step / steps.len() as u32);
                index = self.b.umin([index, most]);
            }
            let term = match step / unit {
                1 => index,
                step if step.is_power_of_two() => {
                    let shift = self.b.i32(step.ilog2());
                    self.b.ishl([index, shift])
                }
                step => {
                    let step = self.b.i32(step);
                    self.b.imul([index, step])
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.b.iadd([sum, term]),
            });
        }
        sum
    }
}
