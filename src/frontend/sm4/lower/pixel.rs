//! What a pixel shader's declarations say of its inputs: how they vary over a primitive, and where they are evaluated;
//! and evaluation at places of the program's own choice (Direct3D 11.3 functional specification, 16.5, 22.4.22 to
//! 22.4.25).

use std::iter;

use shaderjit_ir::function::Imm;
use shaderjit_ir::{Op, Type, Value};

use super::Lowering;
use super::elements::{InputComponent, Register};
use super::operand::Place;
use super::registers::Registers;
use crate::container::dxbc::{Signature, SignatureElement, SystemValue as StoredValue};
use crate::error::LowerError;
use crate::frontend::evaluate::{hidden_element, hidden_planes, place_of_sample};
use crate::frontend::pixel::{
    DepthOutput, HiddenInput, Interpolation, Location, PixelInput, PixelInterface, PixelOutput,
};
use crate::frontend::sm4::codes::{GlobalFlags, Interpolation as Mode, Stage, SystemValue, UavFlags};
use crate::frontend::sm4::declaration::Declaration;
use crate::frontend::sm4::decode::{Body, Operation, Program};
use crate::frontend::sm4::opcode::{DataClass, Group, Opcode};
use crate::frontend::sm4::operand::{Component, Operand, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;
use crate::frontend::{ComponentType, Element, ResourceKind};

/// What the program's declarations and signatures say of its pixels. `elements` are the input elements, those of the
/// signature first; what is hidden goes behind them.
pub(super) fn interface(
    program: &Program,
    inputs: &Signature<'_>,
    outputs: &Signature<'_>,
    elements: &mut Vec<Element>,
) -> PixelInterface {
    let modes: Vec<(&Operand, Mode)> = declarations(program)
        .filter_map(|declaration| match declaration {
            Declaration::Input { operand, interpolation: Some(mode), .. } => Some((operand, *mode)),
            _ => None,
        })
        .collect();
    let mut planes = 0;
    let stored = inputs.elements.iter().map(Some).chain(iter::repeat(None));
    let entries = elements.iter().zip(stored).map(|(element, stored)| {
        let (interpolation, location) = varies(element, &modes);
        match stored.map(|stored| stored.system_value) {
            Some(StoredValue::POSITION) => PixelInput::Position(location),
            Some(StoredValue::IS_FRONT_FACE) => PixelInput::FrontFace,
            Some(StoredValue::PRIMITIVE_ID) => PixelInput::PrimitiveId,
            Some(StoredValue::SAMPLE_INDEX) => PixelInput::SampleIndex,
            Some(StoredValue::COVERAGE) => PixelInput::Coverage,
            Some(StoredValue::INNER_COVERAGE) => PixelInput::InnerCoverage,
            None if element.semantic == "SV_Coverage" => PixelInput::Coverage,
            None => PixelInput::InnerCoverage,
            Some(_) => {
                let plane = planes;
                planes += element.components();
                PixelInput::Attribute { interpolation, location, plane }
            }
        }
    });
    let entries: Vec<PixelInput> = entries.collect();
    let is_per_sample = |declaration: &Declaration| match declaration {
        Declaration::Input { interpolation: Some(mode), system_value, .. } => {
            matches!(mode, Mode::LinearSample | Mode::LinearNoPerspectiveSample)
                || *system_value == Some(SystemValue::SampleIndex)
        }
        _ => false,
    };
    let tests_early = |declaration: &Declaration| match declaration {
        Declaration::GlobalFlags(flags) => flags.contains(GlobalFlags::EARLY_DEPTH_STENCIL),
        _ => false,
    };
    let pulled = pulled(program, elements, &entries);
    let writes_memory = program.instructions.iter().any(|instruction| writes_memory(instruction.opcode()));
    let live = writes_memory.then_some(HiddenInput::Live);
    let hidden: Vec<HiddenInput> = live.into_iter().chain(hidden_planes(&pulled)).collect();
    elements.extend(hidden.iter().map(hidden_element));
    PixelInterface {
        inputs: entries,
        outputs: outputs.elements.iter().map(output).collect(),
        planes,
        per_sample: declarations(program).any(is_per_sample),
        early_depth_stencil: declarations(program).any(tests_early),
        pulls_attributes: program.instructions.iter().any(|instruction| pulls(instruction.opcode())),
        writes_memory,
        ordered: declarations(program).any(is_ordered),
        hidden,
    }
}

fn declarations(program: &Program) -> impl Iterator<Item = &Declaration> {
    program.instructions.iter().filter_map(|instruction| match &instruction.body {
        Body::Declaration(declaration) => Some(declaration),
        _ => None,
    })
}

/// Whether it is a rasteriser-ordered view.
fn is_ordered(declaration: &Declaration) -> bool {
    match declaration {
        Declaration::UavTyped { flags, .. }
        | Declaration::UavRaw { flags, .. }
        | Declaration::UavStructured { flags, .. } => flags.contains(UavFlags::RASTERIZER_ORDERED),
        _ => false,
    }
}

/// How an element varies. Of one that is not declared nobody reads anything.
fn varies(element: &Element, modes: &[(&Operand, Mode)]) -> (Interpolation, Location) {
    let is_declared = |operand: &Operand| {
        operand.file() == RegisterFile::Input
            && operand.constant_indices().is_some_and(|indices| indices.last() == Some(&element.register))
            && operand.components().written().bits() & element.mask != 0
    };
    let declared = modes.iter().find(|(operand, _)| is_declared(operand)).map(|&(_, mode)| mode);
    use Interpolation::{Constant, NoPerspective, Perspective};
    use Location::{Centre, Centroid, Sample};
    match declared {
        Some(Mode::Linear) => (Perspective, Centre),
        Some(Mode::LinearCentroid) => (Perspective, Centroid),
        Some(Mode::LinearSample) => (Perspective, Sample),
        Some(Mode::LinearNoPerspective) => (NoPerspective, Centre),
        Some(Mode::LinearNoPerspectiveCentroid) => (NoPerspective, Centroid),
        Some(Mode::LinearNoPerspectiveSample) => (NoPerspective, Sample),
        Some(Mode::Constant) => (Constant, Centre),
        Some(Mode::Undefined) | None if element.ty != ComponentType::F32 => (Constant, Centre),
        Some(Mode::Undefined) | None => (Perspective, Centre),
    }
}

fn output(stored: &SignatureElement<'_>) -> Option<PixelOutput> {
    Some(match stored.effective_system_value() {
        StoredValue::TARGET => PixelOutput::Target(stored.register.unwrap_or(stored.index)),
        StoredValue::DEPTH => PixelOutput::Depth(DepthOutput::Any),
        StoredValue::DEPTH_GREATER_EQUAL => PixelOutput::Depth(DepthOutput::GreaterEqual),
        StoredValue::DEPTH_LESS_EQUAL => PixelOutput::Depth(DepthOutput::LessEqual),
        StoredValue::STENCIL_REF => PixelOutput::StencilRef,
        StoredValue::COVERAGE => PixelOutput::Coverage,
        _ => return None,
    })
}

/// Whether an instruction evaluates an attribute at a place of its own choice.
pub(super) fn pulls(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::EvalCentroid | Opcode::EvalSampleIndex | Opcode::EvalSnapped)
}

fn writes_memory(opcode: Opcode) -> bool {
    opcode.group() == Group::Atomic
        || matches!(opcode, Opcode::StoreRaw | Opcode::StoreStructured | Opcode::StoreUavTyped)
}

/// The attributes that vary and are evaluated at places of the program's own choice.
fn pulled(program: &Program, elements: &[Element], inputs: &[PixelInput]) -> Vec<(u32, Interpolation)> {
    let pulling = program.instructions.iter().filter(|instruction| pulls(instruction.opcode()));
    let sources: Vec<&Operand> = pulling.filter_map(|instruction| instruction.operands().get(1)).collect();
    let is_pulled = |element: &Element| {
        sources.iter().any(|operand| match operand.constant_indices() {
            Some(&[register]) => {
                let mut read = Component::ALL.into_iter().map(|component| operand.components().source(component));
                register == element.register && read.any(|component| element.mask & 1 << component.index() != 0)
            }
            // It may be any.
            _ => true,
        })
    };
    let mut pulled = Vec::new();
    for (number, (element, input)) in elements.iter().zip(inputs).enumerate() {
        match *input {
            PixelInput::Attribute { interpolation, .. }
                if interpolation != Interpolation::Constant && is_pulled(element) =>
            {
                pulled.push((number as u32, interpolation));
            }
            _ => {}
        }
    }
    pulled
}

impl Lowering {
    /// Lowers an evaluation of an attribute.
    pub(super) fn pull(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let opcode = token.opcode;
        if self.registers.stage != Stage::Pixel {
            return Err(self.unsupported(opcode));
        }
        let [destination, source, place @ ..] = operands else { return Err(self.unsupported(opcode)) };
        if source.file() != RegisterFile::Input {
            return Err(self.invalid(format!("{opcode} of {}", source.file().letters())));
        }
        let target = self.destination(destination)?;
        let at = self.place(opcode, place)?;
        let [place] = self.places(source)?;
        let mut results = [None; 4];
        for component in target.mask.components() {
            let read = source.components().source(component);
            let value = match place.dynamic {
                None => self.evaluate(place.base, read, at)?,
                Some(_) => self.evaluate_one_of(place, read, at)?,
            };
            results[component.index()] = Some(self.modified(source, value, Type::F32));
        }
        self.write_results(token, &target, results)
    }

    /// Where an attribute is evaluated: x and y from the pixel's centre.
    fn place(&mut self, opcode: Opcode, operands: &[Operand]) -> Result<[Value; 2], LowerError> {
        Ok(match (opcode, operands) {
            (Opcode::EvalCentroid, _) => {
                let pixel = self.registers.interface.pixel.as_ref().expect("it is a pixel shader");
                pixel.centroid(&mut self.b)
            }
            (Opcode::EvalSampleIndex, [index]) => {
                let index = self.read(index, Component::X, DataClass::Int)?;
                let samples = self.b.i32(self.options.samples);
                self.place_of_sample(samples, index)
            }
            (_, [offsets]) => {
                let mut place = [self.b.f32(0.0); 2];
                for (at, component) in place.iter_mut().zip(Component::ALL) {
                    // Four bits with a sign, sixteenths of a pixel.
                    let offset = self.read(offsets, component, DataClass::Int)?;
                    let (bits, sixteenth) = (self.b.i32(28), self.b.f32(1.0 / 16.0));
                    let offset = self.b.ishl([offset, bits]);
                    let offset = self.b.sshr([offset, bits]);
                    let offset = self.b.itof([offset]);
                    *at = self.b.fmul([offset, sixteenth]);
                }
                place
            }
            _ => return Err(self.unsupported(opcode)),
        })
    }

    /// A component of an input register, evaluated at a place if it is an attribute that varies.
    fn evaluate(&mut self, register: u32, component: Component, at: [Value; 2]) -> Result<Value, LowerError> {
        let register = Register::Numbered(register);
        let Some(InputComponent::Element { number, component: of_element }) =
            self.registers.inputs.get(register, component)
        else {
            return self.load_input(register, component, Type::F32);
        };
        let pixel = self.registers.interface.pixel.as_ref().expect("it is a pixel shader");
        Ok(pixel.evaluate(number, of_element, at, &mut self.b))
    }

    /// Evaluates one of the registers that are indexed; any other register is zero.
    fn evaluate_one_of(&mut self, place: Place, component: Component, at: [Value; 2]) -> Result<Value, LowerError> {
        let Some(indexed) = self.registers.inputs.indexed.filter(|indexed| indexed.has(component)) else {
            return Err(self.invalid("a dynamic index outside the declared index ranges"));
        };
        let chosen = self.index_value(place);
        let mut value = self.b.f32(0.0);
        for (_, register, of_register) in indexed.cells() {
            if of_register == component && self.registers.inputs.get(Register::Numbered(register), component).is_some()
            {
                let this = self.evaluate(register, component, at)?;
                let number = self.b.i32(register);
                let is_chosen = self.b.ieq([chosen, number]);
                value = self.b.select([is_chosen, this, value]);
            }
        }
        Ok(value)
    }

    /// The number of an input element that is not of the signature.
    pub(super) fn hidden(&self, hidden: HiddenInput) -> Option<u32> {
        self.registers.interface.pixel.as_ref()?.hidden_element(hidden)
    }

    /// Lowers `samplepos`: of a texture, or of the target.
    pub(super) fn sample_position(&mut self, operation: &Operation) -> Result<(), LowerError> {
        let [destination, view, index] = &operation.operands[..] else {
            return Err(self.unsupported(Opcode::SamplePos));
        };
        let target = self.destination(destination)?;
        let mask = target.mask;
        let index = self.read(index, Component::X, DataClass::Int)?;
        let answer = if view.file() == RegisterFile::Rasterizer {
            let samples = self.b.i32(self.options.samples);
            let place = self.place_of_sample(samples, index);
            let zero = self.b.f32(0.0);
            self.answer(view, mask, |_, word| place.get(word.index()).copied().unwrap_or(zero))
        } else {
            let (texture, kind) = self.resource(view)?;
            if !matches!(kind, ResourceKind::Texture { shape, .. } if shape.is_multisampled()) {
                return Err(self.invalid(format!("samplepos of a {kind}")));
            }
            self.access(&texture, mask, |this, texture| {
                let samples = this.b.emit(Op::TextureSamples, Type::I32, &[], Imm::Resource(texture));
                let place = this.place_of_sample(samples.expect("the op has a result"), index);
                let zero = this.b.f32(0.0);
                Ok(this.answer(view, mask, |_, word| place.get(word.index()).copied().unwrap_or(zero)))
            })?
        };
        self.write_answer(&target, answer)
    }

    /// Where one of so many samples is, from the pixel's centre.
    fn place_of_sample(&mut self, samples: Value, index: Value) -> [Value; 2] {
        let Registers { sample_positions, interface, .. } = &mut self.registers;
        place_of_sample(samples, index, sample_positions, &mut self.b, interface)
    }
}
