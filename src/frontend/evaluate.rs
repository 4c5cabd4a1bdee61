//! Attributes of pixels at places of the program's own choice (Direct3D 11.3 functional specification, 16.5): computed
//! from their planes, which are input elements behind the signature's.

use shaderjit_ir::{FunctionBuilder, Space, Type, Value};

use super::pixel::{HiddenInput, Interpolation, PixelInput, PixelInterface, sample_positions};
use super::{ComponentType, Element, Interface, UniformDecl, UniformKind};

/// The places of samples for each number of them that has some: those of n samples begin at row n - 1.
const COUNTS: [u32; 5] = [1, 2, 4, 8, 16];

/// What there is to evaluate these attributes with.
pub(crate) fn hidden_planes(pulled: &[(u32, Interpolation)]) -> Vec<HiddenInput> {
    let mut hidden = Vec::new();
    for &(element, _) in pulled {
        hidden.extend([HiddenInput::Value(element), HiddenInput::ChangeX(element), HiddenInput::ChangeY(element)]);
    }
    if pulled.iter().any(|&(_, interpolation)| interpolation == Interpolation::Perspective) {
        hidden.push(HiddenInput::ReciprocalW);
    }
    if !pulled.is_empty() {
        hidden.push(HiddenInput::Centroid);
    }
    hidden
}

/// The element of a hidden input.
pub(crate) fn hidden_element(hidden: &HiddenInput) -> Element {
    let floats = |semantic: &str, index, mask| Element {
        semantic: semantic.to_string(),
        index,
        register: u32::MAX,
        mask,
        ty: ComponentType::F32,
    };
    match *hidden {
        HiddenInput::Live => Element::scalar("live"),
        HiddenInput::Value(element) => floats("value_of_", element, 0xf),
        HiddenInput::ChangeX(element) => floats("change_in_x_of_", element, 0xf),
        HiddenInput::ChangeY(element) => floats("change_in_y_of_", element, 0xf),
        HiddenInput::ReciprocalW => floats("reciprocal_w", 0, 0x7),
        HiddenInput::Centroid => floats("centroid", 0, 0x3),
    }
}

impl PixelInterface {
    /// The number of an input element that is not of the signature.
    pub(crate) fn hidden_element(&self, hidden: HiddenInput) -> Option<u32> {
        let number = self.hidden.iter().position(|&other| other == hidden)?;
        Some((self.inputs.len() + number) as u32)
    }

    /// Where the centroid is, from the pixel's centre.
    pub(crate) fn centroid(&self, b: &mut FunctionBuilder) -> [Value; 2] {
        match self.hidden_element(HiddenInput::Centroid) {
            Some(element) => [0, 1].map(|component| b.input(Type::F32, element, component)),
            // Nothing that varies is evaluated.
            None => [b.f32(0.0); 2],
        }
    }

    /// A component of an element at a place: x and y from the pixel's centre. One that does not vary is what it is.
    pub(crate) fn evaluate(&self, element: u32, component: u8, at: [Value; 2], b: &mut FunctionBuilder) -> Value {
        let parts = [HiddenInput::Value(element), HiddenInput::ChangeX(element), HiddenInput::ChangeY(element)]
            .map(|hidden| self.hidden_element(hidden));
        let [Some(value), Some(x), Some(y)] = parts else { return b.input(Type::F32, element, component) };
        let value = plane([(value, component), (x, component), (y, component)], at, b);
        let is_in_perspective = matches!(
            self.inputs[element as usize],
            PixelInput::Attribute { interpolation: Interpolation::Perspective, .. }
        );
        match self.hidden_element(HiddenInput::ReciprocalW).filter(|_| is_in_perspective) {
            Some(element) => {
                let reciprocal = plane([(element, 0), (element, 1), (element, 2)], at, b);
                let one = b.f32(1.0);
                let w = b.fdiv([one, reciprocal]);
                b.fmul([value, w])
            }
            None => value,
        }
    }
}

/// A plane at a place: its value at the centre and its changes are components of inputs.
fn plane(parts: [(u32, u8); 3], [x, y]: [Value; 2], b: &mut FunctionBuilder) -> Value {
    let [value, dx, dy] = parts.map(|(element, component)| b.input(Type::F32, element, component));
    let (in_x, in_y) = (b.fmul([dx, x]), b.fmul([dy, y]));
    let value = b.fadd([value, in_x]);
    b.fadd([value, in_y])
}

/// Where one of so many samples is, from the pixel's centre. One that does not exist is there. `space` is the table of
/// places, made when it is first needed.
pub(crate) fn place_of_sample(
    samples: Value,
    index: Value,
    space: &mut Option<Space>,
    b: &mut FunctionBuilder,
    interface: &mut Interface,
) -> [Value; 2] {
    let space = *space.get_or_insert_with(|| {
        let row = |place: &[i8; 2]| {
            let [x, y] = place.map(|sixteenths| (f32::from(sixteenths) / 16.0).to_bits());
            [x, y, 0, 0]
        };
        let rows: Vec<[u32; 4]> = COUNTS.iter().flat_map(|&count| sample_positions(count)).map(row).collect();
        let count = rows.len() as u32;
        let space = b.add_space("sample_positions", Some(rows));
        interface.uniforms.push(UniformDecl::new(space, UniformKind::Table, count));
        space
    });
    let (one, most) = (b.i32(1), b.i32(*COUNTS.last().expect("there are some")));
    let ones = b.popcnt([samples]);
    let tests = [b.ult([index, samples]), b.ule([samples, most]), b.ieq([ones, one])];
    let exists = b.and([tests[0], tests[1]]);
    let exists = b.and([exists, tests[2]]);
    let first = b.isub([samples, one]);
    let row = b.iadd([first, index]);
    let zero = b.f32(0.0);
    [0, 1].map(|component| {
        let place = b.uniform_load_at(Type::F32, space, 0, component, row);
        b.select([exists, place, zero])
    })
}
