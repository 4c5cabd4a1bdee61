//! Geometry shaders: the streams that a module declares, and what is emitted to them.

use std::collections::BTreeSet;

use spirv::{ExecutionMode, Op};

use super::Lowering;
use super::slots::{Elements, Slot};
use super::{Def, unsupported};
use crate::Topology;
use crate::error::LowerError;
use crate::frontend::emitter::{Emitted, Emitter, MAX_INSTANCES, MAX_WORDS, STREAMS};
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::{EmitterInterface, StreamInterface};
use crate::stage::Stage;

/// What a geometry shader emits to, and where the components of a vertex are.
pub(super) struct Streams {
    emitter: Emitter,
    /// Of each stream those of a vertex.
    components: Vec<Vec<Component>>,
}

/// Element, component, and the output that it is: the variable and the number of the scalar. None is zero.
type Component = (u32, u8, Option<(usize, usize)>);

impl Lowering<'_> {
    /// Declares what a geometry shader emits to.
    pub(super) fn declare_streams(&mut self) -> Result<(), LowerError> {
        if self.stage != Stage::Geometry {
            return Ok(());
        }
        let Some(max) = self.mode_number(ExecutionMode::OutputVertices) else {
            return Err(self.invalid("the number of vertices is not declared"));
        };
        let instances = self.mode_number(ExecutionMode::Invocations).unwrap_or(1).max(1);
        self.limit("instances of a geometry shader", instances.into(), MAX_INSTANCES)?;
        self.limit("vertices that an invocation emits", max.into(), MAX_WORDS)?;
        let topologies = [
            (ExecutionMode::OutputPoints, Topology::PointList),
            (ExecutionMode::OutputLineStrip, Topology::LineStrip),
            (ExecutionMode::OutputTriangleStrip, Topology::TriangleStrip),
        ];
        let topology = topologies.into_iter().find(|&(mode, _)| self.declared.mode(mode).is_some());
        let Some((_, topology)) = topology else { return Err(self.invalid("what is emitted is not declared")) };

        let outputs = self.outputs()?;
        let (mut numbers, branches) = self.emissions()?;
        let mut of_output = Vec::with_capacity(outputs.len());
        for output in &outputs {
            let block = self.block_of(self.pointer(output.id)?.ty).map(|(_, block)| self.types.id(block));
            let of_block = block.and_then(|block| self.declared.of_member(block, 0).stream);
            let number = self.declared.of(output.id).stream.or(of_block).unwrap_or(0);
            if number >= STREAMS {
                return Err(self.invalid(format!("stream {number}")));
            }
            numbers.insert(number);
            of_output.push(number);
        }
        let (mut streams, mut components, mut words) = (Vec::new(), Vec::new(), 0);
        for &number in &numbers {
            let here: Vec<_> = outputs.iter().zip(&of_output).filter(|&(_, &of)| of == number).collect();
            let elements = Elements::new("LOCATION", here.iter().flat_map(|(output, _)| output.slots()));
            let mut of_vertex = Vec::new();
            for (number, element) in (0..).zip(elements.elements()) {
                of_vertex.extend((0..element.components() as u8).map(|component| (number, component, None)));
            }
            for (output, _) in &here {
                for (scalar, &slot) in output.slots.iter().enumerate() {
                    match (slot, elements.place(slot)) {
                        (_, Some(place)) => {
                            let mut all = of_vertex.iter_mut();
                            let component = all.find(|&&mut (element, at, _)| (element, at) == place);
                            component.expect("the element has it").2 = Some((output.local, scalar));
                        }
                        (Slot::Unused, None) => {}
                        (_, None) => return Err(self.unsupported(format!("{slot:?} as an output"))),
                    }
                }
            }
            words += of_vertex.len() as u64;
            streams.push(StreamInterface { number, topology, elements: elements.elements(), array: None });
            components.push(of_vertex);
        }
        self.limit("words that an invocation emits", u64::from(max) * words, MAX_WORDS)?;
        let inputs = self.primitive.inputs.expect("the vertices were counted");
        let emitter = EmitterInterface { inputs, instances, streams, fixed: None };
        let always = (!branches).then_some(max as usize);
        let emitter = Emitter::new(emitter, max, always, &mut self.b, &mut self.interface);
        emitter.begin(&mut self.b);
        self.streams = Some(Streams { emitter, components });
        Ok(())
    }

    /// The streams that instructions name, and whether anything in the module branches.
    fn emissions(&mut self) -> Result<(BTreeSet<u32>, bool), LowerError> {
        let (mut numbers, mut branches) = (BTreeSet::new(), false);
        for instruction in self.module.instructions() {
            self.offset = instruction.offset;
            match instruction.opcode() {
                Some(Op::EmitVertex | Op::EndPrimitive) => _ = numbers.insert(0),
                Some(Op::EmitStreamVertex | Op::EndStreamPrimitive) => {
                    _ = numbers.insert(self.stream_number(&instruction)?);
                }
                Some(Op::BranchConditional | Op::Switch) => branches = true,
                _ => {}
            }
        }
        Ok((numbers, branches))
    }

    /// The stream that an instruction names.
    fn stream_number(&self, instruction: &Instruction<'_>) -> Result<u32, LowerError> {
        let &[stream] = instruction.operands() else { return Err(self.malformed(instruction)) };
        match self.globals.get(&stream) {
            Some(Def::Constant { bits, .. }) if bits.len() == 1 && bits[0] < u64::from(STREAMS) => Ok(bits[0] as u32),
            _ => Err(self.malformed(instruction)),
        }
    }

    /// Lowers an instruction that emits a vertex or ends a primitive.
    pub(super) fn emission(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let number = match (opcode, instruction.operands()) {
            (Op::EmitVertex | Op::EndPrimitive, []) => 0,
            (Op::EmitVertex | Op::EndPrimitive, _) => return Err(self.malformed(instruction)),
            _ => self.stream_number(instruction)?,
        };
        // No other stage has any.
        let Some(streams) = &self.streams else { return Err(unsupported(instruction)) };
        let stream = streams.emitter.stream(number).expect("instructions were looked at");
        let mut vertex: Vec<Emitted> = Vec::new();
        if matches!(opcode, Op::EmitVertex | Op::EmitStreamVertex) {
            for (element, component, output) in streams.components[stream].clone() {
                let value = output.map(|(local, scalar)| self.output_scalar(local, scalar));
                vertex.push((element, component, value));
            }
        }
        let emitter = &mut self.streams.as_mut().expect("they were there").emitter;
        match opcode {
            Op::EmitVertex | Op::EmitStreamVertex => emitter.emit(stream, &vertex, &mut self.b),
            _ => emitter.cut(stream, &mut self.b),
        }
        Ok(())
    }

    /// Sets the outputs of a geometry shader.
    pub(super) fn finish_streams(&mut self) {
        let inputs = self.interface.inputs.len() as u32;
        self.b.set_elements(inputs, 1);
        let streams = self.streams.as_mut().expect("it is a geometry shader");
        streams.emitter.finish(&mut self.b, &mut self.interface);
    }
}
