//! Signatures → input and output registers.

use foldhash::{HashMap, HashMapExt};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::ops::Range;

use shaderjit_ir::{Array, FunctionBuilder, SysVal, Type, Variable};

use crate::container::dxbc::{Signature, SignatureElement, StoredType, SystemValue as StoredValue};
use crate::frontend::sm4::codes::Stage;
use crate::frontend::sm4::declaration::Declaration;
use crate::frontend::sm4::decode::{Body, Program};
use crate::frontend::sm4::operand::{Component, Mask, RegisterFile};
use crate::frontend::{ComponentType, Element};

/// An input or output register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Register {
    /// `v#` or `o#`.
    Numbered(u32),
    /// One of a file of its own: `oDepth`, `vCoverage`.
    Named(RegisterFile),
}

/// Outputs with a register of their own.
const NAMED_OUTPUTS: [(StoredValue, RegisterFile); 5] = [
    (StoredValue::DEPTH, RegisterFile::OutputDepth),
    (StoredValue::DEPTH_GREATER_EQUAL, RegisterFile::OutputDepthGe),
    (StoredValue::DEPTH_LESS_EQUAL, RegisterFile::OutputDepthLe),
    (StoredValue::COVERAGE, RegisterFile::OutputCoverage),
    (StoredValue::STENCIL_REF, RegisterFile::OutputStencilRef),
];

/// Inputs with a register of their own.
const NAMED_INPUTS: [(StoredValue, RegisterFile); 2] =
    [(StoredValue::COVERAGE, RegisterFile::InputCoverage), (StoredValue::INNER_COVERAGE, RegisterFile::InnerCoverage)];

/// Input registers.
#[derive(Default)]
pub(super) struct Inputs {
    components: HashMap<(Register, Component), InputComponent>,
    /// The registers that are indexed dynamically.
    pub indexed: Option<Indexed>,
}

/// Where an input register's component comes from.
#[derive(Clone, Copy)]
pub(super) enum InputComponent {
    /// Component `component` of input element `number`.
    Element { number: u32, component: u8 },
    /// A value the batch generates.
    System(SysVal),
}

/// Output registers.
#[derive(Default)]
pub(super) struct Outputs {
    /// Every component of every element, in signature order.
    components: Vec<OutputComponent>,
    /// Where in there a register's component is.
    places: HashMap<(Register, Component), usize>,
    /// The variables of those that some instruction writes by name.
    variables: HashMap<(Register, Component), Variable>,
    /// The registers that are indexed dynamically.
    pub indexed: Option<Indexed>,
}

/// One component of an output element, and the register component it is.
#[derive(Clone, Copy)]
pub(super) struct OutputComponent {
    pub number: u32,
    pub component: u8,
    pub register: Register,
    pub register_component: Component,
}

/// Registers in an array, so that they can be indexed: one array for all ranges of a file, with what lies between.
#[derive(Clone, Copy)]
pub(super) struct Indexed {
    pub array: Array,
    /// The register at index 0.
    pub first: u32,
    /// Number of registers.
    count: u32,
    /// The components that some range has; the others are not indexed.
    mask: Mask,
}

impl Indexed {
    /// An array of these registers.
    pub fn new(array: Array, registers: Range<u32>, mask: Mask) -> Self {
        Indexed { array, first: registers.start, count: registers.end - registers.start, mask }
    }

    /// The index of a register's component, if it is in the array.
    pub fn index(&self, register: Register, component: Component) -> Option<u32> {
        let Register::Numbered(register) = register else { return None };
        register.checked_sub(self.first).filter(|&index| index < self.count && self.mask.contains(component))
    }

    /// Whether a component is in the array at all.
    pub fn has(&self, component: Component) -> bool {
        self.mask.contains(component)
    }

    /// Every register component in the array, with its index.
    pub fn cells(&self) -> impl Iterator<Item = (u32, u32, Component)> {
        let Indexed { first, count, mask, .. } = *self;
        (0..count).flat_map(move |index| mask.components().map(move |component| (index, first + index, component)))
    }
}

impl Inputs {
    /// The input signature: pushes its elements, those left out that a batch of vertices generates.
    pub fn new(signature: &Signature<'_>, stage: Stage, elements: &mut Vec<Element>) -> Self {
        let mut components = HashMap::new();
        for stored in &signature.elements {
            let system = match stored.system_value {
                StoredValue::VERTEX_ID if stage == Stage::Vertex => Some(SysVal::VertexId),
                StoredValue::INSTANCE_ID if stage == Stage::Vertex => Some(SysVal::InstanceId),
                _ => None,
            };
            let number = elements.len() as u32;
            for (component, register, register_component) in register_components(stored, &NAMED_INPUTS) {
                let source = system.map_or(InputComponent::Element { number, component }, InputComponent::System);
                components.entry((register, register_component)).or_insert(source);
            }
            if system.is_none() {
                elements.push(element(stored));
            }
        }
        Inputs { components, indexed: None }
    }

    /// Inputs with a register of their own that a pixel shader declares. Signatures do not have them; they come behind.
    pub fn add_declared(&mut self, program: &Program, elements: &mut Vec<Element>) {
        for instruction in &program.instructions {
            let Body::Declaration(Declaration::Input { operand, .. }) = &instruction.body else { continue };
            let named = NAMED_INPUTS.iter().find(|&&(_, file)| file == operand.file());
            let Some(&(value, file)) = named.filter(|_| program.version.stage == Stage::Pixel) else { continue };
            if let Entry::Vacant(place) = self.components.entry((Register::Named(file), Component::X)) {
                place.insert(InputComponent::Element { number: elements.len() as u32, component: 0 });
                let name = value.name().expect("a known value has a name");
                elements.push(Element::scalar(&format!("SV_{name}")));
            }
        }
    }

    /// Makes a register's component a value that the batch generates.
    pub fn set_system(&mut self, register: u32, component: Component, value: SysVal) {
        self.components.insert((Register::Numbered(register), component), InputComponent::System(value));
    }

    /// Where a register's component comes from.
    pub fn get(&self, register: Register, component: Component) -> Option<InputComponent> {
        self.components.get(&(register, component)).copied()
    }
}

impl Outputs {
    /// The output signature: pushes its elements.
    pub fn new(signature: &Signature<'_>, elements: &mut Vec<Element>) -> Self {
        let mut components = Vec::<OutputComponent>::with_capacity(4 * signature.elements.len());
        for stored in &signature.elements {
            let number = elements.len() as u32;
            components.extend(register_components(stored, &NAMED_OUTPUTS).map(
                |(component, register, register_component)| OutputComponent {
                    number,
                    component,
                    register,
                    register_component,
                },
            ));
            elements.push(element(stored));
        }
        let place = |(place, output): (usize, &OutputComponent)| ((output.register, output.register_component), place);
        let places = components.iter().enumerate().rev().map(place).collect();
        Outputs { components, places, variables: HashMap::new(), indexed: None }
    }

    /// Makes the variable of a component of the signature.
    pub fn make_variable(&mut self, b: &mut FunctionBuilder, register: Register, component: Component) {
        let place = (register, component);
        if self.places.contains_key(&place) && !self.is_indexed(register, component) {
            self.variables.entry(place).or_insert_with(|| b.declare_var(Type::F32));
        }
    }

    /// Whether a component is in the array.
    pub fn is_indexed(&self, register: Register, component: Component) -> bool {
        self.indexed.is_some_and(|indexed| indexed.index(register, component).is_some())
    }

    /// How many variables there are.
    pub fn variables(&self) -> u64 {
        self.variables.len() as u64
    }

    /// The variable of an output component that is written by name; none if the signature does not have it.
    pub fn variable(&self, register: Register, component: Component) -> Option<Variable> {
        self.variables.get(&(register, component)).copied()
    }

    /// The registers that have variables.
    pub fn variables_of_registers(&self) -> impl Iterator<Item = (Register, Component, Variable)> {
        self.variables.iter().map(|(&(register, component), &variable)| (register, component, variable))
    }

    /// Every component of every element, in signature order.
    pub fn components(&self) -> &[OutputComponent] {
        &self.components
    }

    /// The component of an element that a register's component is.
    pub fn find(&self, register: Register, component: Component) -> Option<OutputComponent> {
        self.places.get(&(register, component)).map(|&place| self.components[place])
    }

    /// The components of elements that some instruction writes. The others stay what outputs start as, zero.
    pub fn written(&self) -> SmallVec<[OutputComponent; 16]> {
        let written = |output: &&OutputComponent| {
            let (register, component) = (output.register, output.register_component);
            self.variable(register, component).is_some() || self.is_indexed(register, component)
        };
        self.components.iter().filter(written).copied().collect()
    }
}

/// A signature element's components: number in the element, register, component of the register. An element without a
/// number has the register that `named` gives its system value, or none.
fn register_components(
    stored: &SignatureElement<'_>,
    named: &[(StoredValue, RegisterFile)],
) -> impl Iterator<Item = (u8, Register, Component)> {
    let value = stored.effective_system_value();
    let named = named.iter().find(|&&(named, _)| named == value);
    let register = stored.register.map(Register::Numbered).or(named.map(|&(_, file)| Register::Named(file)));
    let mask = Mask::from_bits(stored.mask.into());
    register.into_iter().flat_map(move |register| {
        (0..).zip(mask.components()).map(move |(number, component)| (number, register, component))
    })
}

/// What callers are told of a signature's element.
pub(super) fn element(stored: &SignatureElement<'_>) -> Element {
    Element {
        semantic: stored.semantic.to_str().into_owned(),
        index: stored.index,
        register: stored.register.unwrap_or(u32::MAX),
        mask: stored.mask & 0xf,
        ty: match stored.component_type {
            StoredType::U32 | StoredType::U16 => ComponentType::U32,
            StoredType::I32 | StoredType::I16 => ComponentType::I32,
            _ => ComponentType::F32,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::LowerError;
    use crate::frontend::Lowered;
    use crate::frontend::sm4::testing::{Setup, lower_pixel, lower_text, run, signature};

    fn names(elements: &[Element]) -> Vec<&str> {
        elements.iter().map(|element| element.semantic.as_str()).collect()
    }

    /// A pixel shader with every kind of register-less output.
    fn pixel(text: &str) -> Result<Lowered, LowerError> {
        let inputs = signature(&[
            ("SV_Position", 0, 0xf, StoredValue::POSITION),
            ("A", 1, 0b0011, StoredValue::NONE),
            ("SV_IsFrontFace", 1, 0b0100, StoredValue::IS_FRONT_FACE),
            ("SV_VertexID", 2, 0b0001, StoredValue::VERTEX_ID),
        ]);
        // Compilers store no system value for outputs.
        let mut outputs = signature(&[
            ("SV_Target", 0, 0xf, StoredValue::NONE),
            ("SV_Target", 2, 0b0011, StoredValue::NONE),
            ("SV_DEPTH", 0, 1, StoredValue::NONE),
            ("SV_DepthGreaterEqual", 0, 1, StoredValue::NONE),
            ("SV_DepthLessEqual", 0, 1, StoredValue::NONE),
            ("SV_Coverage", 0, 1, StoredValue::NONE),
            ("SV_StencilRef", 0, 1, StoredValue::NONE),
        ]);
        outputs.elements[2..].iter_mut().for_each(|element| element.register = None);
        lower_pixel(text, &inputs, &outputs)
    }

    const V0: [[u32; 4]; 4] = [[10, 11, 12, 13], [20, 21, 0, 0], [30, 0, 0, 0], [40, 0, 0, 0]];

    #[test]
    fn a_pixel_shaders_signature_is_bound_as_it_is() {
        let text = "dcl_input_ps_siv v0.xyzw, 1
            dcl_input_ps v1.xy
            dcl_input_ps_sgv v1.z, 9
            dcl_input_ps_sgv v2.x, 6
            mov o0.xyzw, v0.xyzw
            mov o2.x, v1.y
            iadd o2.y, v1.z, v2.x";
        let lowered = pixel(text).unwrap();
        assert_eq!(names(&lowered.interface.inputs), ["SV_Position", "A", "SV_IsFrontFace", "SV_VertexID"]);
        assert_eq!(lowered.interface.discarded, None);
        let outputs = run(&lowered, &Setup { inputs: &V0, ..Setup::default() }).unwrap();
        assert_eq!(outputs[..2], [[10, 11, 12, 13], [21, 70, 0, 0]]);
        assert_eq!(outputs[2..], [[0; 4]; 5]);
    }

    #[test]
    fn outputs_with_registers_of_their_own() {
        let text = "mov oDepth.x, v0.x
            iadd oDepthGE.x, v0.y, l(1)
            mov oDepthLE.x, v0.z
            ishl oMask.x, v0.w, l(1)
            udiv null, oStencilRef.x, v0.w, l(4)";
        let lowered = pixel(text).unwrap();
        let outputs = run(&lowered, &Setup { inputs: &V0, ..Setup::default() }).unwrap();
        assert_eq!(outputs.iter().map(|element| element[0]).collect::<Vec<_>>(), [0, 0, 10, 12, 12, 26, 1]);
        // They must be in the signature.
        let refused = lower_text("mov oDepth.x, v0.x").map(|lowered| lowered.function.to_string());
        assert!(
            matches!(refused, Err(LowerError::Invalid { what, .. }) if what == "oDepth is not in the output signature")
        );
    }

    #[test]
    fn coverage_is_an_input_behind_the_signature() {
        let text = "dcl_input vInnerCoverage
            dcl_input vCoverage
            dcl_input vCoverage
            countbits o0.x, vCoverage.x
            mov o0.y, vInnerCoverage.x";
        let lowered = pixel(text).unwrap();
        assert_eq!(names(&lowered.interface.inputs)[4..], ["SV_InnerCoverage", "SV_Coverage"]);
        let inputs = [V0.as_slice(), &[[1, 9, 9, 9], [7, 9, 9, 9]]].concat();
        let outputs = run(&lowered, &Setup { inputs: &inputs, ..Setup::default() }).unwrap();
        assert_eq!(outputs[0], [3, 1, 0, 0]);
        let refused = pixel("mov o0.x, vCoverage.x").map(|lowered| lowered.function.to_string());
        assert!(
            matches!(refused, Err(LowerError::Invalid { what, .. }) if what == "vCoverage is not in the input signature")
        );
    }

    #[test]
    fn discard_is_an_output_and_stops_nothing() {
        let text = "dcl_temps 1
            mov o0.x, l(1)
            discard_nz v0.x
            if_nz v0.y
              discard_z v0.z
            endif
            retc_nz v0.w
            mov o0.x, l(2)
            discard_nz l(0)";
        let lowered = pixel(text).unwrap();
        assert_eq!(lowered.interface.discarded, Some(7));
        assert_eq!(lowered.interface.outputs[7].name(), "discarded0");
        for (v0, discarded) in [
            ([0, 0, 0, 0], 0),
            ([1 << 31, 0, 0, 0], 1),
            ([0, 1, 0, 0], 1),
            ([0, 1, 1 << 31, 0], 0),
            ([7, 1, 1, 0], 1),
            ([7, 0, 0, 1], 1),
        ] {
            let outputs = run(&lowered, &Setup { inputs: &[v0], ..Setup::default() }).unwrap();
            assert_eq!((outputs[7][0], outputs[0][0]), (discarded, if v0[3] == 0 { 2 } else { 1 }), "{v0:?}");
        }
        let refused = lower_text("discard_nz v0.x").map(|lowered| lowered.function.to_string());
        assert!(matches!(refused, Err(LowerError::Invalid { what, offset: 8 }) if what.contains("discard")));
    }
}
