//! Geometry shaders: what they read and emit.

use super::Generator;
use crate::frontend::sm4::codes::{Primitive as Input, Topology};
use crate::frontend::sm4::operand::{Components, Mask};
use crate::frontend::sm4::{Declaration, Opcode, OpcodeToken, Operand, RegisterFile};
use arbitrary::Result;

/// The streams of a geometry shader.
#[derive(Clone, Copy)]
pub struct Streams {
    /// How many there are.
    count: u32,
    /// Whether what is emitted names one.
    are_named: bool,
}

/// Primitives, and how many vertices they have.
const INPUTS: [(Input, u32); 6] = [
    (Input::Point, 1),
    (Input::Line, 2),
    (Input::Triangle, 3),
    (Input::LineAdj, 4),
    (Input::TriangleAdj, 6),
    (Input::Patch5, 5),
];

impl Generator<'_, '_> {
    /// Declares inputs, outputs and what is emitted.
    pub fn declare_primitive(&mut self) -> Result<()> {
        let has_patches = self.has_model(5, 0);
        let inputs = &INPUTS[..if has_patches { 6 } else { 5 }];
        let (input, vertices) = *self.u.choose(inputs)?;
        let are_named = self.has_model(5, 0) && self.one_in(2)?;
        let count = if are_named && self.one_in(2)? { self.u.int_in_range(2..=4)? } else { 1 };
        self.declared.streams = Some(Streams { count, are_named });
        self.declared.points.push((RegisterFile::Input, vertices));
        let number = Mask::from_bits(1);
        if self.one_in(3)? {
            self.declare_own_input(RegisterFile::PrimitiveId, number);
        }
        if self.has_model(5, 0) && self.one_in(3)? {
            let instances = self.u.int_in_range(1..=3)?;
            self.declare_as(Opcode::DclGsInstances, Declaration::GsInstances(instances));
            self.declare_own_input(RegisterFile::GsInstanceId, number);
        }
        self.declare_as(Opcode::DclInputPrimitive, Declaration::InputPrimitive(input));
        self.declare_inputs()?;
        let mut register = 0;
        for stream in 0..count {
            if are_named {
                self.declare_as(Opcode::DclStream, Declaration::Stream(stream));
            }
            // Several streams have points alone.
            let topologies = [Topology::PointList, Topology::LineStrip, Topology::TriangleStrip];
            let topology = *self.u.choose(&topologies[..if count > 1 { 1 } else { 3 }])?;
            self.declare_as(Opcode::DclOutputTopology, Declaration::OutputTopology(topology));
            register = self.declare_outputs(register, stream)?;
        }
        let most = self.u.int_in_range(1..=8)?;
        self.declare_as(Opcode::DclMaxOut, Declaration::MaxOutputVertices(most));
        Ok(())
    }

    /// Emits a vertex, ends a strip, or both.
    pub fn emission(&mut self) -> Result<()> {
        let Some(Streams { count, are_named }) = self.declared.streams else { return Ok(()) };
        if are_named {
            let opcode = *self.u.choose(&[
                Opcode::EmitStream,
                Opcode::CutStream,
                Opcode::EmitThenCutStream,
                Opcode::EmitStream,
            ])?;
            let number = self.u.int_in_range(0..=count - 1)?;
            let stream = Operand::new(RegisterFile::Stream, Components::None, vec![(number, None)]);
            self.emit(OpcodeToken::new(opcode), vec![stream]);
        } else {
            let opcode = *self.u.choose(&[Opcode::Emit, Opcode::Cut, Opcode::EmitThenCut, Opcode::Emit])?;
            self.emit(OpcodeToken::new(opcode), Vec::new());
        }
        Ok(())
    }
}
