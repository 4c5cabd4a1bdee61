//! Compiled shaders, and what there is to bind.

use super::status::{Failure, ended, shaderjit_status};
use crate::frontend::pixel::{Interpolation, PixelInput};
use crate::{CompiledShader, ComponentType, Element};
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A compiled shader. Threads may share it.
pub struct shaderjit_code {
    pub(super) code: Arc<CompiledShader>,
    /// Semantics of inputs, then of outputs, as C reads them.
    semantics: [Vec<CString>; 2],
}

/// What the components of an element are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_component {
    F32 = 0,
    U32 = 1,
    I32 = 2,
}

/// How an input of a pixel shader varies over a primitive.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_interpolation {
    /// It is no attribute: of other stages, or a system value.
    None = 0,
    /// Not at all.
    Constant = 1,
    /// Linearly in space: its planes are those of the attribute divided by w.
    Perspective = 2,
    /// Linearly over the target.
    NoPerspective = 3,
}

/// An input or output.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_element {
    /// The semantic as the container spells it, or the register (`v0`, `o3`). Valid as long as the code.
    pub semantic: *const c_char,
    /// Semantic index.
    pub index: u32,
    /// Components of the register that it occupies, bit 0 = x.
    pub mask: u8,
    pub component: shaderjit_component,
    pub interpolation: shaderjit_interpolation,
    /// Number of the plane of its first component, if it is an attribute of a pixel shader.
    pub plane: u32,
}

impl shaderjit_code {
    pub(super) fn new(code: Arc<CompiledShader>) -> shaderjit_code {
        let names = |elements: &[Element]| {
            let name = |element: &Element| CString::new(element.semantic.replace('\0', "\u{fffd}"));
            elements.iter().map(|element| name(element).unwrap_or_default()).collect()
        };
        let interface = code.interface();
        let semantics = [names(interface.signature_inputs()), names(interface.signature_outputs())];
        shaderjit_code { code, semantics }
    }

    fn element(&self, is_output: bool, number: usize) -> Option<shaderjit_element> {
        let interface = self.code.interface();
        let all = if is_output { interface.signature_outputs() } else { interface.signature_inputs() };
        let (element, semantic) = (all.get(number)?, self.semantics[usize::from(is_output)].get(number)?);
        let input = interface.pixel.as_ref().filter(|_| !is_output).and_then(|pixel| pixel.inputs.get(number));
        let (interpolation, plane) = match input {
            Some(&PixelInput::Attribute { interpolation, plane, .. }) => (
                match interpolation {
                    Interpolation::Constant => shaderjit_interpolation::Constant,
                    Interpolation::Perspective => shaderjit_interpolation::Perspective,
                    Interpolation::NoPerspective => shaderjit_interpolation::NoPerspective,
                },
                plane,
            ),
            _ => (shaderjit_interpolation::None, 0),
        };
        let component = match element.ty {
            ComponentType::F32 => shaderjit_component::F32,
            ComponentType::U32 => shaderjit_component::U32,
            ComponentType::I32 => shaderjit_component::I32,
        };
        let (index, mask) = (element.index, element.mask);
        Some(shaderjit_element { semantic: semantic.as_ptr(), index, mask, component, interpolation, plane })
    }
}

/// Another handle of the same code.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_clone(code: Option<&shaderjit_code>) -> Option<Box<shaderjit_code>> {
    code.map(|code| Box::new(shaderjit_code::new(Arc::clone(&code.code))))
}

/// Frees a handle. Calls that were made of it stay.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_free(code: Option<Box<shaderjit_code>>) {
    drop(code);
}

/// Whether there is native code now; false for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_is_native(code: Option<&shaderjit_code>) -> bool {
    code.is_some_and(|code| code.code.is_native())
}

/// How many lanes run together.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_lanes(code: Option<&shaderjit_code>) -> u32 {
    code.map_or(0, |code| code.code.lanes().count())
}

/// How many inputs the signature has.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_inputs(code: Option<&shaderjit_code>) -> usize {
    code.map_or(0, |code| code.code.interface().signature_inputs().len())
}

/// How many outputs the signature has.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_outputs(code: Option<&shaderjit_code>) -> usize {
    code.map_or(0, |code| code.code.interface().signature_outputs().len())
}

/// How many planes a primitive has, of pixel shaders.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_planes(code: Option<&shaderjit_code>) -> u32 {
    code.and_then(|code| code.code.interface().pixel.as_ref()).map_or(0, |pixel| pixel.planes)
}

/// Input `number` of the signature.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_input(
    code: Option<&shaderjit_code>,
    number: usize,
    element: Option<&mut MaybeUninit<shaderjit_element>>,
) -> shaderjit_status {
    ended(|| write_element(code, false, number, element))
}

/// Output `number` of the signature.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_code_output(
    code: Option<&shaderjit_code>,
    number: usize,
    element: Option<&mut MaybeUninit<shaderjit_element>>,
) -> shaderjit_status {
    ended(|| write_element(code, true, number, element))
}

fn write_element(
    code: Option<&shaderjit_code>,
    is_output: bool,
    number: usize,
    element: Option<&mut MaybeUninit<shaderjit_element>>,
) -> Result<(), Failure> {
    let found = code.ok_or(Failure::null("the code"))?.element(is_output, number);
    let found = found.ok_or_else(|| Failure::argument(format!("there is no element {number}")))?;
    element.ok_or(Failure::null("the place of the result"))?.write(found);
    Ok(())
}
