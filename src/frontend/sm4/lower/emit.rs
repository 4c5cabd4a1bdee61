//! Geometry shaders: the streams that they declare, and what is emitted to them. Outputs keep their values, which after
//! an emission nobody may rely on.

use shaderjit_ir::FunctionBuilder;

use super::Lowering;
use super::elements::{OutputComponent, Outputs, element};
use super::registers::{Refusal, limit};
use crate::Topology;
use crate::container::dxbc::Signature;
use crate::error::LowerError;
use crate::frontend::emitter::{self, Emitted, MAX_INSTANCES, MAX_WORDS, STREAMS};
use crate::frontend::sm4::codes::Topology as Declared;
use crate::frontend::sm4::declaration::Declaration;
use crate::frontend::sm4::decode::{Body, Program};
use crate::frontend::sm4::opcode::Opcode;
use crate::frontend::sm4::operand::Operand;
use crate::frontend::{Element, EmitterInterface, Interface, PrimitiveInputs, StreamInterface};

/// What a geometry shader emits to.
pub(super) struct Emitter {
    pub emitter: emitter::Emitter,
    /// Of each stream every component of every element, numbered within the stream.
    components: Vec<Vec<OutputComponent>>,
}

/// How many vertices every invocation emits; none if branches may decide, or if an `abort` stands anywhere: a function
/// with a flag for it has that behind the number of vertices among its outputs, even where nothing gets to it.
fn fixed_vertices(program: &Program) -> Option<usize> {
    if program.instructions.iter().any(|instruction| instruction.opcode() == Opcode::Abort) {
        return None;
    }
    let (mut depth, mut vertices, mut may_have_ended) = (0u32, 0, false);
    for instruction in &program.instructions {
        match instruction.opcode() {
            Opcode::If | Opcode::Loop | Opcode::Switch => depth += 1,
            Opcode::EndIf | Opcode::EndLoop | Opcode::EndSwitch => depth = depth.saturating_sub(1),
            Opcode::Emit
            | Opcode::EmitStream
            | Opcode::Cut
            | Opcode::CutStream
            | Opcode::EmitThenCut
            | Opcode::EmitThenCutStream
                if depth > 0 || may_have_ended =>
            {
                return None;
            }
            Opcode::Emit | Opcode::EmitStream | Opcode::EmitThenCut | Opcode::EmitThenCutStream => vertices += 1,
            Opcode::Ret if depth == 0 => break,
            Opcode::Ret | Opcode::RetC => may_have_ended = true,
            Opcode::Call | Opcode::CallC | Opcode::InterfaceCall | Opcode::Label => return None,
            _ => {}
        }
    }
    Some(vertices)
}

impl Emitter {
    /// What a program declares.
    pub fn new(
        program: &Program,
        inputs: PrimitiveInputs,
        signature: &Signature<'_>,
        outputs: &Outputs,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<Emitter, Refusal> {
        let (mut instances, mut max, mut current) = (1, None, 0);
        let mut topologies: Vec<(u32, Option<Declared>)> = Vec::new();
        let mut declare = |number: u32, topology: Option<Declared>| {
            if number >= STREAMS {
                return Err(Refusal::Invalid(format!("stream m{number}")));
            }
            match topologies.iter_mut().find(|(declared, _)| *declared == number) {
                Some((_, declared)) => *declared = topology.or(*declared),
                None => topologies.push((number, topology)),
            }
            Ok(())
        };
        for instruction in &program.instructions {
            match instruction.body {
                Body::Declaration(Declaration::GsInstances(count)) => instances = count,
                Body::Declaration(Declaration::MaxOutputVertices(count)) => max = Some(count),
                Body::Declaration(Declaration::Stream(number)) => {
                    current = number;
                    declare(number, None)?;
                }
                Body::Declaration(Declaration::OutputTopology(topology)) => declare(current, Some(topology))?,
                _ => {}
            }
        }
        limit("instances of a geometry shader", instances.into(), MAX_INSTANCES)?;
        let Some(max) = max else { return Err(Refusal::Invalid("the number of vertices is not declared".into())) };
        limit("vertices that an invocation emits", max.into(), MAX_WORDS)?;
        let words: u64 = signature.elements.iter().map(|stored| u64::from(stored.mask.count_ones())).sum();
        limit("words that an invocation emits", u64::from(max) * words, MAX_WORDS)?;
        let (mut streams, mut components) = (Vec::new(), Vec::new());
        for (number, topology) in topologies {
            let topology = match topology {
                Some(Declared::PointList) => Topology::PointList,
                Some(Declared::LineStrip) => Topology::LineStrip,
                Some(Declared::TriangleStrip) => Topology::TriangleStrip,
                Some(other) => return Err(Refusal::Invalid(format!("a geometry shader emits {}", other.name()))),
                None => return Err(Refusal::Invalid(format!("stream m{number} has no topology"))),
            };
            let of_stream = || signature.elements.iter().enumerate().filter(|(_, stored)| stored.stream == number);
            let elements: Vec<Element> = of_stream().map(|(_, stored)| element(stored)).collect();
            let mut of_vertex = Vec::new();
            for (place, (in_signature, _)) in of_stream().enumerate() {
                let all = outputs.components().iter().filter(|output| output.number == in_signature as u32);
                of_vertex.extend(all.map(|output| OutputComponent { number: place as u32, ..*output }));
            }
            streams.push(StreamInterface { number, topology, elements, array: None });
            components.push(of_vertex);
        }
        let emitter = EmitterInterface { inputs, instances: instances.max(1), streams, fixed: None };
        let emitter = emitter::Emitter::new(emitter, max, fixed_vertices(program), b, interface);
        Ok(Emitter { emitter, components })
    }
}

impl Lowering {
    /// Nothing is emitted yet.
    pub(super) fn begin_emitting(&mut self) {
        if let Some(emitter) = &self.registers.emitter {
            emitter.emitter.begin(&mut self.b);
        }
    }

    /// `emit`, `cut`, both, and the same for a stream.
    pub(super) fn emission(&mut self, opcode: Opcode, operands: &[Operand]) -> Result<(), LowerError> {
        let Some(emitter) = &self.registers.emitter else { return Err(self.unsupported(opcode)) };
        let number = match operands.first() {
            None => 0,
            Some(operand) => match operand.constant_indices() {
                Some(&[number]) => number,
                _ => return Err(self.invalid(format!("{opcode} takes a stream"))),
            },
        };
        let Some(stream) = emitter.emitter.stream(number) else {
            return Err(self.invalid(format!("stream m{number} is not declared")));
        };
        let (emits, cuts) =
            (!matches!(opcode, Opcode::Cut | Opcode::CutStream), !matches!(opcode, Opcode::Emit | Opcode::EmitStream));
        let mut vertex: Vec<Emitted> = Vec::new();
        if emits {
            for output in emitter.components[stream].clone() {
                let value = self.read_written(output.register, output.register_component);
                vertex.push((output.number, output.component, value));
            }
        }
        let emitter = &mut self.registers.emitter.as_mut().expect("it was there").emitter;
        if emits {
            emitter.emit(stream, &vertex, &mut self.b);
        }
        if cuts {
            emitter.cut(stream, &mut self.b);
        }
        Ok(())
    }

    /// Sets the outputs of a geometry shader's function.
    pub(super) fn store_emitted(&mut self) {
        let Some(emitter) = &mut self.registers.emitter else { return };
        emitter.emitter.finish(&mut self.b, &mut self.registers.interface);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::SystemValue as StoredValue;
    use crate::frontend::sm4::lower;
    use crate::frontend::sm4::testing::{assemble, program_of, signature};
    use crate::frontend::{Lowered, PrimitiveStage};

    /// A geometry shader that copies points of one register.
    fn geometry(declarations: &str, code: &str) -> Result<Lowered, LowerError> {
        let text = format!("dcl_inputprimitive!0x800\n{declarations}\ndcl_temps 1\nmov o0.xyzw, v[0][0].xyzw\n{code}");
        let program = program_of(0x0002_0050, &assemble(&text)).unwrap();
        let of_points = signature(&[("P", 0, 0xf, StoredValue::NONE)]);
        let lowered = lower(&program, &of_points, &of_points)?;
        shaderjit_ir::verify::verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        Ok(lowered)
    }

    fn refusal(declarations: &str, code: &str) -> String {
        geometry(declarations, code).map(|lowered| lowered.function.to_string()).unwrap_err().to_string()
    }

    const STRIPS: &str = "dcl_outputtopology!0x1800\ndcl_maxout 3";

    fn fixed(code: &str) -> Option<Vec<bool>> {
        match geometry(STRIPS, code).unwrap().interface.primitive {
            Some(PrimitiveStage::Emitter(emitter)) => emitter.fixed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_no_branch_decides_is_fixed() {
        assert_eq!(fixed("emit\nemit"), Some(vec![true, false]));
        assert_eq!(fixed("cut\nemit_then_cut\nif_nz r0.x\nmov r0.x, l(1)\nendif\nemit"), Some(vec![true, true]));
        assert_eq!(fixed("emit\nemit\nemit\nemit"), Some(vec![true, false, false]));
        assert_eq!(fixed("emit\nret\nif_nz r0.x\nemit\nendif"), Some(vec![true]));
        assert_eq!(fixed("mov r0.x, l(1)"), Some(vec![]));
        for code in [
            "if_nz r0.x\nemit\nendif",
            "retc_nz r0.x\nemit",
            "if_nz r0.x\nret\nendif\nemit",
            "emit\nif_nz r0.x\ncut\nendif",
            // The flag of what nothing gets to is an output, too.
            "emit\nret\nlabel label0\nabort\nret",
        ] {
            assert_eq!(fixed(code), None, "{code}");
        }
    }

    #[test]
    fn what_geometry_shaders_must_declare() {
        assert!(refusal("dcl_maxout 3", "cut").contains("stream m0 is not declared"));
        assert!(refusal("dcl_outputtopology!0x800", "emit").contains("number of vertices"));
        assert!(refusal("dcl_outputtopology!0x2000\ndcl_maxout 1", "emit").contains("emits trianglelist"));
        assert!(refusal("dcl_outputtopology!0x800\ndcl_maxout 257", "emit").contains("words that an invocation emits"));
        assert!(refusal(STRIPS, "emit_stream m1").contains("stream m1 is not declared"));
        assert!(refusal("dcl_stream m4\ndcl_outputtopology!0x800\ndcl_maxout 1", "emit").contains("stream m4"));
        assert!(refusal(&format!("{STRIPS}\ndcl_gsinstances 33"), "emit").contains("instances"));
    }
}
