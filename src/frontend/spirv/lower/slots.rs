//! What each scalar of an input or output variable is to those who exchange it: a component of a location or of a
//! builtin. Elements of interfaces are made of them.

use std::collections::BTreeMap;

use shaderjit_ir::Type;
use spirv::{BuiltIn, StorageClass};

use super::Lowering;
use super::declare::Decorations;
use super::types::{Kind, Scalar, Ty};
use crate::error::LowerError;
use crate::frontend::{ComponentType, Element, registers};
use crate::stage::Stage;

/// Most locations of a stage.
const MAX_LOCATION: u32 = 64;
/// Most scalars of a builtin: those that are arrays have a few.
const MAX_BUILT_IN: u32 = 64;

/// What a scalar of an input or output variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Location {
        location: u32,
        component: u8,
    },
    BuiltIn {
        built_in: BuiltIn,
        number: u32,
    },
    /// Of a member that no instruction names.
    Unused,
}

impl Slot {
    pub fn built_in(&self) -> Option<BuiltIn> {
        match *self {
            Slot::BuiltIn { built_in, .. } => Some(built_in),
            Slot::Location { .. } | Slot::Unused => None,
        }
    }
}

/// An input or output variable.
pub(super) struct Exchanged {
    pub id: u32,
    pub local: usize,
    /// How many vertices or control points it has a value of, if it has one of each.
    pub vertices: Option<u32>,
    /// Its scalars, or those of each vertex.
    pub slots: Vec<Slot>,
    pub scalars: Vec<Scalar>,
}

impl Exchanged {
    pub fn slots(&self) -> impl Iterator<Item = (Slot, Scalar)> {
        self.slots.iter().copied().zip(self.scalars.iter().copied())
    }
}

/// A builtin that is an element: semantic, type, and whether each scalar is one by itself.
struct BuiltInElement(BuiltIn, &'static str, ComponentType, bool);

const BUILT_IN_ELEMENTS: [BuiltInElement; 12] = [
    BuiltInElement(BuiltIn::Position, "SV_Position", ComponentType::F32, false),
    BuiltInElement(BuiltIn::PointSize, "PSIZE", ComponentType::F32, false),
    BuiltInElement(BuiltIn::ClipDistance, "SV_ClipDistance", ComponentType::F32, false),
    BuiltInElement(BuiltIn::CullDistance, "SV_CullDistance", ComponentType::F32, false),
    BuiltInElement(BuiltIn::PrimitiveId, "SV_PrimitiveID", ComponentType::U32, false),
    BuiltInElement(BuiltIn::Layer, "SV_RenderTargetArrayIndex", ComponentType::U32, false),
    BuiltInElement(BuiltIn::ViewportIndex, "SV_ViewportArrayIndex", ComponentType::U32, false),
    BuiltInElement(BuiltIn::TessLevelOuter, "SV_TessFactor", ComponentType::F32, true),
    BuiltInElement(BuiltIn::TessLevelInner, "SV_InsideTessFactor", ComponentType::F32, true),
    BuiltInElement(BuiltIn::FragDepth, "SV_Depth", ComponentType::F32, false),
    BuiltInElement(BuiltIn::FragStencilRefEXT, "SV_StencilRef", ComponentType::U32, false),
    BuiltInElement(BuiltIn::SampleMask, "SV_Coverage", ComponentType::U32, false),
];

/// Elements, and the builtins among them.
#[derive(Default)]
pub(super) struct Elements {
    list: Vec<(Element, Option<&'static BuiltInElement>)>,
}

impl Elements {
    /// The elements of builtins, in the order of the table, and behind them those of locations, ascending.
    pub fn new(semantic: &str, slots: impl Iterator<Item = (Slot, Scalar)>) -> Elements {
        let mut locations = BTreeMap::new();
        let mut built_ins: Vec<BTreeMap<u32, u8>> = vec![BTreeMap::new(); BUILT_IN_ELEMENTS.len()];
        for (slot, scalar) in slots {
            match slot {
                Slot::Location { location, component } => {
                    let (mask, _) = locations.entry(location).or_insert((0, scalar.component_type()));
                    *mask |= up_to(component);
                }
                Slot::BuiltIn { built_in, number } => {
                    let place = BUILT_IN_ELEMENTS.iter().position(|element| element.0 == built_in);
                    let Some(place) = place else { continue };
                    let (index, component) = BUILT_IN_ELEMENTS[place].place(number);
                    *built_ins[place].entry(index).or_default() |= up_to(component);
                }
                Slot::Unused => {}
            }
        }
        let mut list = Vec::new();
        for (built_in, masks) in BUILT_IN_ELEMENTS.iter().zip(built_ins) {
            for (index, mask) in masks {
                // A position has all of its components.
                let mask = if built_in.0 == BuiltIn::Position { 0xf } else { mask };
                let (semantic, ty) = (built_in.1.to_string(), built_in.2);
                list.push((Element { semantic, index, register: u32::MAX, mask, ty }, Some(built_in)));
            }
        }
        for (location, (mask, ty)) in locations {
            let semantic = semantic.to_string();
            list.push((Element { semantic, index: location, register: location, mask, ty }, None));
        }
        Elements { list }
    }

    /// Gives builtins rows of their own behind the locations'.
    pub fn with_registers(mut self) -> Elements {
        let taken = registers(&self.elements());
        let without = self.list.iter_mut().filter(|(element, _)| element.register == u32::MAX);
        without.zip(taken..).for_each(|((element, _), register)| element.register = register);
        self
    }

    pub fn elements(&self) -> Vec<Element> {
        self.list.iter().map(|(element, _)| element.clone()).collect()
    }

    /// The element that a slot is in, by its number, and its component there.
    pub fn place(&self, slot: Slot) -> Option<(u32, u8)> {
        (0..).zip(&self.list).find_map(|(number, (element, found))| match (slot, found) {
            (Slot::Location { location, component }, None) if element.index == location => {
                Some((number, element.component_of(component)?))
            }
            (Slot::BuiltIn { built_in, number: scalar }, Some(found)) if found.0 == built_in => {
                let (index, component) = found.place(scalar);
                (index == element.index).then(|| Some((number, element.component_of(component)?))).flatten()
            }
            _ => None,
        })
    }
}

impl BuiltInElement {
    /// The semantic index and the component that a scalar has.
    fn place(&self, number: u32) -> (u32, u8) {
        if self.3 { (number, 0) } else { (number / 4, (number % 4) as u8) }
    }
}

/// The components up to one. Stages are linked by the order of components, so that none may be left out between.
fn up_to(component: u8) -> u8 {
    (2 << component) - 1
}

impl Lowering<'_> {
    /// An input or output variable and its slots.
    pub(super) fn exchanged(&self, id: u32, class: StorageClass, local: usize) -> Result<Exchanged, LowerError> {
        let ty = self.pointer(id)?.ty;
        let vertices = self.vertices_of(id, class, ty);
        let ty = match *self.types.kind(ty) {
            Kind::Array { element, .. } if vertices.is_some() => element,
            _ => ty,
        };
        Ok(Exchanged { id, local, vertices, slots: self.slots(id, ty)?, scalars: self.types.flatten(ty) })
    }

    /// How many vertices or control points an input or output variable has a value of, if it has one of each.
    pub(super) fn vertices_of(&self, id: u32, class: StorageClass, ty: Ty) -> Option<u32> {
        match (self.stage, class) {
            (Stage::Geometry | Stage::Hull | Stage::Domain, StorageClass::Input)
            | (Stage::Hull, StorageClass::Output) => {}
            _ => return None,
        }
        let decorations = self.declared.of(id);
        let is_level = matches!(decorations.built_in, Some(BuiltIn::TessLevelOuter | BuiltIn::TessLevelInner));
        let block = self.block_of(ty).map(|(_, block)| self.declared.of_member(self.types.id(block), 0));
        match *self.types.kind(ty) {
            Kind::Array { length, .. }
                if !is_level && !decorations.patch && !block.is_some_and(|member| member.patch) =>
            {
                Some(length)
            }
            _ => None,
        }
    }

    fn slots(&self, id: u32, ty: Ty) -> Result<Vec<Slot>, LowerError> {
        let mut slots = Vec::new();
        let decorations = self.declared.of(id);
        match self.types.kind(ty) {
            Kind::Struct(members) if decorations.built_in.is_none() => {
                let used = self.variables.usage.get(&id).and_then(Option::as_ref);
                let mut location = decorations.location;
                for (number, member) in (0..).zip(members) {
                    let own = self.declared.of_member(self.types.id(ty), number);
                    if own.built_in.is_some() && used.is_some_and(|used| !used.contains(&number)) {
                        slots.extend((0..self.types.scalars(member.ty)).map(|_| Slot::Unused));
                        continue;
                    }
                    location = own.location.or(location);
                    self.slots_of(own, member.ty, &mut location, &mut slots)?;
                }
            }
            _ => {
                let mut location = decorations.location;
                self.slots_of(decorations, ty, &mut location, &mut slots)?;
            }
        }
        Ok(slots)
    }

    fn slots_of(
        &self,
        decorations: Decorations,
        ty: Ty,
        location: &mut Option<u32>,
        slots: &mut Vec<Slot>,
    ) -> Result<(), LowerError> {
        if let Some(built_in) = decorations.built_in {
            if self.types.scalars(ty) > MAX_BUILT_IN {
                return Err(self.invalid(format!("builtin {built_in:?} of {} scalars", self.types.scalars(ty))));
            }
            slots.extend((0..self.types.scalars(ty)).map(|number| Slot::BuiltIn { built_in, number }));
            return Ok(());
        }
        let Some(first) = location else { return Err(self.invalid("an input or output without a location")) };
        let component = decorations.component.unwrap_or(0);
        self.locations(ty, component, first, slots)
    }

    /// Locations one behind the other for a type that has no builtins.
    fn locations(&self, ty: Ty, component: u32, next: &mut u32, slots: &mut Vec<Slot>) -> Result<(), LowerError> {
        match self.types.kind(ty) {
            Kind::Scalar(_) | Kind::Vector { .. } => {
                let (scalar, count) = self.vector(ty)?;
                if scalar.ir() == Type::F64 {
                    return Err(self.unsupported("inputs and outputs of 64 bits"));
                }
                if component as usize + count > 4 || *next >= MAX_LOCATION {
                    return Err(self.invalid(format!("component {component} of location {next}")));
                }
                let location = *next;
                slots.extend((0..count).map(|n| Slot::Location { location, component: component as u8 + n as u8 }));
                *next += 1;
            }
            &Kind::Matrix { column: part, columns: count } | &Kind::Array { element: part, length: count, .. } => {
                for _ in 0..count {
                    self.locations(part, component, next, slots)?;
                }
            }
            Kind::Struct(members) => {
                for member in members {
                    self.locations(member.ty, component, next, slots)?;
                }
            }
            _ => return Err(self.unsupported("an input or output of such a type")),
        }
        Ok(())
    }
}
