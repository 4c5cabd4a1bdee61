//! Pixels: what a rasteriser gives and takes, invocations that only help their neighbours, derivatives.
//!
//! A pixel that is discarded goes on as a helper until it ends; it and those that are helpers from the beginning write
//! no memory, and atomics give them zeros.

use foldhash::HashMap;

use shaderjit_ir::{Op as IrOp, Space, Type, Value, Variable};
use spirv::{BuiltIn, Dim, ExecutionMode, GlslStd450Op, Op};

use super::Lowering;
use super::declare::Decorations;
use super::pointer::Place;
use super::types::Kind;
use crate::error::LowerError;
use crate::frontend::evaluate::{hidden_element, hidden_planes, place_of_sample};
use crate::frontend::pixel::{
    DepthOutput, HiddenInput, Interpolation, Location, PixelInput, PixelInterface, PixelOutput,
};
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::{ComponentType, Element};
use crate::stage::Stage;

/// Builtins that the vertices have for whole primitives.
const INDICES: [(BuiltIn, &str); 2] =
    [(BuiltIn::Layer, "SV_RenderTargetArrayIndex"), (BuiltIn::ViewportIndex, "SV_ViewportArrayIndex")];

/// What lowering a pixel shader keeps.
#[derive(Default)]
pub(super) struct Pixel {
    /// Whether the pixel was discarded, 1 or 0, in modules that discard.
    discarded: Option<Variable>,
    /// Number of the input element that has the pixel's place.
    place: Option<u32>,
    /// Whether an image is counted from there.
    needs_place: bool,
    /// Whether attributes are evaluated at places of the program's choice.
    pulls: bool,
    /// Of input variables the element and component of each scalar.
    places: HashMap<usize, Vec<Option<(u32, u8)>>>,
    /// Where samples are.
    sample_positions: Option<Space>,
}

/// Whether an instruction evaluates an attribute at a place of its own choice.
fn pulls(opcode: GlslStd450Op) -> bool {
    matches!(
        opcode,
        GlslStd450Op::InterpolateAtCentroid | GlslStd450Op::InterpolateAtSample | GlslStd450Op::InterpolateAtOffset
    )
}

impl Lowering<'_> {
    /// Looks through the module for what has to be known before its instructions are lowered.
    pub(super) fn find_pixel_needs(&mut self) {
        if self.stage != Stage::Pixel {
            return;
        }
        let opcodes = || self.module.instructions().filter_map(|instruction| instruction.opcode());
        let discards =
            opcodes().any(|opcode| matches!(opcode, Op::Kill | Op::TerminateInvocation | Op::DemoteToHelperInvocation));
        self.pixel.needs_place = self.module.instructions().any(|instruction| {
            let dim = instruction.operands().get(2).copied().and_then(Dim::from_u32);
            instruction.opcode() == Some(Op::TypeImage) && dim == Some(Dim::DimSubpassData)
        });
        self.pixel.pulls = self.module.instructions().any(|instruction| {
            let number = instruction.operands().get(3).copied().and_then(GlslStd450Op::from_u32);
            instruction.opcode() == Some(Op::ExtInst) && number.is_some_and(pulls)
        });
        if discards {
            let variable = self.declare_var(Type::I32);
            let zero = self.b.i32(0);
            self.b.def_var(variable, zero);
            self.pixel.discarded = Some(variable);
        }
    }

    /// Says how the locations vary, and adds the elements of builtins behind them.
    pub(super) fn pixel_inputs(&mut self, ids: &[u32], read: &[BuiltIn]) -> Result<(), LowerError> {
        let mut pixel = PixelInterface { per_sample: read.contains(&BuiltIn::SampleId), ..PixelInterface::default() };
        let mut plane = 0;
        for number in 0..self.interface.inputs.len() {
            let element = &self.interface.inputs[number];
            let decorations = self.decorations_at(ids, element.index);
            let interpolation = match (decorations.flat || element.ty != ComponentType::F32, decorations.no_perspective)
            {
                (true, _) => Interpolation::Constant,
                (false, true) => Interpolation::NoPerspective,
                (false, false) => Interpolation::Perspective,
            };
            let location = match (decorations.sample, decorations.centroid) {
                (true, _) => Location::Sample,
                (false, true) => Location::Centroid,
                (false, false) => Location::Centre,
            };
            pixel.per_sample |= decorations.sample;
            pixel.inputs.push(PixelInput::Attribute { interpolation, location, plane });
            plane += element.components();
        }
        pixel.planes = plane;
        let per_sample = pixel.per_sample;
        let place = if per_sample { Location::Sample } else { Location::Centre };
        let known = [
            (BuiltIn::FragCoord, "SV_Position", 0xf, ComponentType::F32, PixelInput::Position(place)),
            (BuiltIn::FrontFacing, "SV_IsFrontFace", 1, ComponentType::U32, PixelInput::FrontFace),
            (BuiltIn::PrimitiveId, "SV_PrimitiveID", 1, ComponentType::U32, PixelInput::PrimitiveId),
            (BuiltIn::SampleId, "SV_SampleIndex", 1, ComponentType::U32, PixelInput::SampleIndex),
            (BuiltIn::SampleMask, "SV_Coverage", 1, ComponentType::U32, PixelInput::Coverage),
        ];
        for (built_in, semantic, mask, ty, input) in known {
            let is_needed = built_in == BuiltIn::FragCoord && self.pixel.needs_place;
            if !read.contains(&built_in) && !is_needed {
                continue;
            }
            if built_in == BuiltIn::FragCoord {
                self.pixel.place = Some(self.interface.inputs.len() as u32);
            }
            let semantic = semantic.to_string();
            self.interface.inputs.push(Element { semantic, index: 0, register: u32::MAX, mask, ty });
            pixel.inputs.push(input);
        }
        // The indices that choose slice and viewport come from the vertices.
        for (built_in, semantic) in INDICES {
            if read.contains(&built_in) {
                let (interpolation, location) = (Interpolation::Constant, Location::Centre);
                pixel.inputs.push(PixelInput::Attribute { interpolation, location, plane: pixel.planes });
                pixel.planes += 1;
                self.interface.inputs.push(Element::scalar(semantic));
            }
        }
        pixel.pulls_attributes = self.pixel.pulls;
        if pixel.pulls_attributes {
            let varies = (0..).zip(&pixel.inputs).filter_map(|(number, input)| match *input {
                PixelInput::Attribute { interpolation, .. } if interpolation != Interpolation::Constant => {
                    Some((number, interpolation))
                }
                _ => None,
            });
            pixel.hidden = hidden_planes(&varies.collect::<Vec<_>>());
            self.interface.inputs.extend(pixel.hidden.iter().map(hidden_element));
        }
        pixel.early_depth_stencil = self.declared.mode(ExecutionMode::EarlyFragmentTests).is_some();
        self.interface.pixel = Some(pixel);
        Ok(())
    }

    /// What decorates the input at a location: a variable, or a member of its block.
    fn decorations_at(&self, ids: &[u32], location: u32) -> Decorations {
        let mut nearest: Option<(u32, Decorations)> = None;
        let mut offer = |first: Option<u32>, decorations: Decorations| {
            // Of what begins before the location, the last.
            if let Some(first) = first.filter(|&first| first <= location)
                && nearest.is_none_or(|(other, _)| first >= other)
            {
                nearest = Some((first, decorations));
            }
        };
        for &id in ids {
            let whole = self.declared.of(id);
            offer(whole.location, whole);
            let Ok(pointer) = self.pointer(id) else { continue };
            if let Kind::Struct(members) = self.types.kind(pointer.ty) {
                for number in 0..members.len() as u32 {
                    let own = self.declared.of_member(self.types.id(pointer.ty), number);
                    offer(own.location, own);
                }
            }
        }
        nearest.map(|(_, decorations)| decorations).unwrap_or_default()
    }

    /// A component of a builtin.
    pub(super) fn pixel_built_in(&mut self, built_in: BuiltIn, component: u8) -> Result<Value, LowerError> {
        let input = |this: &mut Self, semantic: &str, ty, component| {
            let number = this.interface.inputs.iter().position(|element| element.semantic == semantic);
            let number = number.expect("what is read has its element");
            this.b.input(ty, number as u32, component)
        };
        Ok(match built_in {
            BuiltIn::FragCoord if component == 3 => {
                // Direct3D's is w, Vulkan's its reciprocal.
                let (w, one) = (input(self, "SV_Position", Type::F32, 3), self.b.f32(1.0));
                self.b.fdiv([one, w])
            }
            BuiltIn::FragCoord => input(self, "SV_Position", Type::F32, component),
            BuiltIn::FrontFacing => {
                let word = input(self, "SV_IsFrontFace", Type::I32, 0);
                self.is_true(word)
            }
            BuiltIn::PrimitiveId => input(self, "SV_PrimitiveID", Type::I32, 0),
            BuiltIn::Layer => input(self, INDICES[0].1, Type::I32, 0),
            BuiltIn::ViewportIndex => input(self, INDICES[1].1, Type::I32, 0),
            BuiltIn::SampleId => input(self, "SV_SampleIndex", Type::I32, 0),
            BuiltIn::SampleMask if component == 0 => input(self, "SV_Coverage", Type::I32, 0),
            BuiltIn::SampleMask => self.b.i32(0),
            BuiltIn::HelperInvocation => {
                let live = self.live();
                self.b.not([live])
            }
            _ => return Err(self.unsupported(format!("builtin {built_in:?}"))),
        })
    }

    /// The pixel's column or row.
    pub(super) fn pixel_place(&mut self, component: u8) -> Result<Value, LowerError> {
        let Some(element) = self.pixel.place else {
            return Err(self.invalid("an input attachment outside of pixel shaders"));
        };
        let place = self.b.input(Type::F32, element, component);
        Ok(self.b.ftoi([place]))
    }

    // ---- helpers

    /// Whether the pixel is shaded for itself. Asking makes it an input behind all others.
    fn live(&mut self) -> Value {
        let pixel = self.interface.pixel.as_mut().expect("it is a pixel shader");
        let number = pixel.hidden_element(HiddenInput::Live).unwrap_or_else(|| {
            pixel.hidden.push(HiddenInput::Live);
            self.interface.inputs.push(Element::scalar("live"));
            let count = self.interface.inputs.len() as u32;
            self.b.set_elements(count, 0);
            count - 1
        });
        let live = self.b.input(Type::I32, number, 0);
        self.is_true(live)
    }

    /// Whether the invocation has effects: it is no helper, and has not been discarded. None if all have.
    pub(super) fn acts(&mut self) -> Option<Value> {
        if self.stage != Stage::Pixel {
            return None;
        }
        let live = self.live();
        let Some(variable) = self.pixel.discarded else { return Some(live) };
        let (discarded, zero) = (self.b.use_var(variable), self.b.i32(0));
        let goes_on = self.b.ieq([discarded, zero]);
        Some(self.b.and([live, goes_on]))
    }

    /// What `access` gives, where it writes memory: nothing of pixels that have no effects, and zeros.
    pub(super) fn effect(
        &mut self,
        types: &[Type],
        access: impl FnOnce(&mut Self) -> Result<Vec<Value>, LowerError>,
    ) -> Result<Vec<Value>, LowerError> {
        let Some(acts) = self.acts() else { return access(self) };
        self.interface.pixel.as_mut().expect("it is a pixel shader").writes_memory = true;
        let results: Vec<Variable> = types.iter().map(|&ty| self.declare_var(ty)).collect();
        for &result in &results {
            let zero = self.b.constant(self.b.variable_type(result), 0);
            self.b.def_var(result, zero);
        }
        let (body, exit) = (self.create_block()?, self.create_block()?);
        self.b.br_if(acts, body, exit);
        self.b.seal_block(body);
        self.start(body);
        let values = access(self)?;
        self.assign(&results, &values)?;
        self.b.jump(exit);
        self.b.seal_block(exit);
        self.start(exit);
        Ok(results.into_iter().map(|result| self.b.use_var(result)).collect())
    }

    /// Notes that the pixel is discarded.
    pub(super) fn discard(&mut self) -> Result<(), LowerError> {
        let Some(variable) = self.pixel.discarded else {
            return Err(self.invalid("a discard in a stage without pixels"));
        };
        let one = self.b.i32(1);
        self.b.def_var(variable, one);
        Ok(())
    }

    // ---- evaluation

    /// Takes note of where the scalars of an input variable are.
    pub(super) fn note_places(&mut self, local: usize, places: Vec<Option<(u32, u8)>>) {
        if self.pixel.pulls {
            self.pixel.places.insert(local, places);
        }
    }

    /// What a pointer leads to, evaluated at another place in the pixel.
    pub(super) fn interpolated(
        &mut self,
        instruction: &Instruction<'_>,
        opcode: GlslStd450Op,
        operands: &[u32],
    ) -> Result<Vec<Value>, LowerError> {
        let &[pointer, ref place @ ..] = operands else { return Err(self.malformed(instruction)) };
        if self.stage != Stage::Pixel {
            return Err(self.unsupported(format!("{opcode:?} outside of pixel shaders")));
        }
        let pointer = self.pointer(pointer)?;
        let (local, first, component) = match &pointer.place {
            &Place::Local { local, first, ref steps, component } if steps.is_empty() => (local, first, component),
            Place::Local { .. } => return Err(self.unsupported(format!("{opcode:?} of an element that is chosen"))),
            _ => return Err(self.malformed(instruction)),
        };
        let at = match (opcode, place) {
            (GlslStd450Op::InterpolateAtCentroid, []) => {
                let pixel = self.interface.pixel.as_ref().expect("it is a pixel shader");
                pixel.centroid(&mut self.b)
            }
            (GlslStd450Op::InterpolateAtSample, &[sample]) => {
                let (sample, samples) = (self.integer(sample)?, self.options.samples.unwrap_or(1));
                let samples = self.b.i32(samples);
                let space = &mut self.pixel.sample_positions;
                place_of_sample(samples, sample, space, &mut self.b, &mut self.interface)
            }
            (GlslStd450Op::InterpolateAtOffset, &[offset]) => match self.value(offset)?.1[..] {
                [x, y] if [x, y].iter().all(|&value| self.b.ty(value) == Type::F32) => [x, y],
                _ => return Err(self.malformed(instruction)),
            },
            _ => return Err(self.malformed(instruction)),
        };
        let count = component.map_or(self.types.scalars(pointer.ty), |(_, count)| count);
        let range = first as usize..first.saturating_add(count) as usize;
        let places = self.pixel.places.get(&local).and_then(|places| places.get(range));
        let Some(places) = places.map(<[_]>::to_vec) else {
            return Err(self.invalid(format!("{opcode:?} of what is no input")));
        };
        let pixel = self.interface.pixel.as_ref().expect("it is a pixel shader");
        let mut values = Vec::with_capacity(places.len());
        for place in places {
            let Some((element, component)) = place else {
                return Err(LowerError::Unsupported {
                    what: format!("{opcode:?} of a builtin"),
                    offset: instruction.offset,
                });
            };
            values.push(pixel.evaluate(element, component, at, &mut self.b));
        }
        Ok(match component {
            Some((index, _)) => vec![self.chosen(index, &values)],
            None => values,
        })
    }

    // ---- derivatives

    /// Lowers a derivative.
    pub(super) fn derivative(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, operand] = instruction.operands() else { return Err(self.malformed(instruction)) };
        if self.stage != Stage::Pixel {
            return Err(self.unsupported(format!("{} outside of pixel shaders", instruction.name())));
        }
        let ty = self.value_type(ty)?;
        let operands = self.singles(operand)?;
        let (x, y) = match opcode {
            Op::DPdxFine | Op::DPdyFine | Op::FwidthFine => (IrOp::QuadDxFine, IrOp::QuadDyFine),
            _ => (IrOp::QuadDx, IrOp::QuadDy),
        };
        let mut scalars = Vec::with_capacity(operands.len());
        for value in operands {
            scalars.push(match opcode {
                Op::DPdx | Op::DPdxFine | Op::DPdxCoarse => self.b.op(x, &[value]),
                Op::DPdy | Op::DPdyFine | Op::DPdyCoarse => self.b.op(y, &[value]),
                _ => {
                    let (dx, dy) = (self.b.op(x, &[value]), self.b.op(y, &[value]));
                    let (dx, dy) = (self.b.fabs([dx]), self.b.fabs([dy]));
                    self.b.fadd([dx, dy])
                }
            });
        }
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    // ---- outputs

    /// Says what the output elements are to a rasteriser, and stores whether the pixel was discarded behind them.
    pub(super) fn finish_pixel(&mut self) {
        let depth = match () {
            () if self.declared.mode(ExecutionMode::DepthGreater).is_some() => DepthOutput::GreaterEqual,
            () if self.declared.mode(ExecutionMode::DepthLess).is_some() => DepthOutput::LessEqual,
            () => DepthOutput::Any,
        };
        let outputs = self.interface.outputs.iter().map(|element| match element.semantic.as_str() {
            "SV_Target" => Some(PixelOutput::Target(element.index)),
            "SV_Depth" => Some(PixelOutput::Depth(depth)),
            "SV_StencilRef" => Some(PixelOutput::StencilRef),
            "SV_Coverage" => Some(PixelOutput::Coverage),
            _ => None,
        });
        let outputs = outputs.collect();
        self.interface.pixel.get_or_insert_default().outputs = outputs;
        if let Some(variable) = self.pixel.discarded {
            let number = self.interface.outputs.len();
            self.interface.outputs.push(Element::scalar("discarded"));
            self.interface.discarded = Some(number);
            let value = self.b.use_var(variable);
            self.b.output(number as u32, 0, value);
        }
    }
}
