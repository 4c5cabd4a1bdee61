//! Input and output registers, and the signatures that say what they are.

use super::Generator;
use super::declare::{IndexRange, Register};
use crate::container::dxbc::{StoredType, SystemValue as Stored};
use crate::frontend::sm4::codes::{Interpolation, SystemValue};
use crate::frontend::sm4::operand::{Components, Mask};
use crate::frontend::sm4::{Declaration, Opcode, Operand, RegisterFile, Stage};
use arbitrary::Result;

/// An element of a signature.
#[derive(Clone, Copy)]
pub struct Element {
    pub semantic: &'static str,
    pub index: u32,
    pub system_value: Stored,
    pub ty: StoredType,
    pub register: Option<u32>,
    pub mask: Mask,
    /// The components of it that are declared.
    pub used: Mask,
    /// The stream of a geometry shader's output.
    pub stream: u32,
}

/// A system value that is an input.
struct SystemInput {
    opcode: Opcode,
    semantic: &'static str,
    /// As signatures say it, and declarations.
    values: (Stored, SystemValue),
    ty: StoredType,
    mask: u32,
    /// The shader model it came with.
    model: (u8, u8),
}

/// The system values of one stage: `opcode: semantic, value, type, mask, shader model`.
macro_rules! system_inputs {
    ($( $opcode:ident: $semantic:literal, $stored:ident $value:ident, $ty:ident, $mask:literal, $model:expr; )*) => {
        [$( SystemInput {
            opcode: Opcode::$opcode,
            semantic: $semantic,
            values: (Stored::$stored, SystemValue::$value),
            ty: StoredType::$ty,
            mask: $mask,
            model: $model,
        }, )*]
    };
}

const VERTEX_INPUTS: [SystemInput; 2] = system_inputs! {
    DclInputSgv: "SV_VertexID", VERTEX_ID VertexId, U32, 0b0001, (4, 0);
    DclInputSgv: "SV_InstanceID", INSTANCE_ID InstanceId, U32, 0b0001, (4, 0);
};

const PIXEL_INPUTS: [SystemInput; 4] = system_inputs! {
    DclInputPsSiv: "SV_Position", POSITION Position, F32, 0b1111, (4, 0);
    DclInputPsSgv: "SV_IsFrontFace", IS_FRONT_FACE IsFrontFace, U32, 0b0001, (4, 0);
    DclInputPsSgv: "SV_PrimitiveID", PRIMITIVE_ID PrimitiveId, U32, 0b0001, (4, 0);
    DclInputPsSgv: "SV_SampleIndex", SAMPLE_INDEX SampleIndex, U32, 0b0001, (4, 1);
};

/// Outputs of a pixel shader that have a register of their own; there is one depth at most.
const OUTPUTS: [(&str, RegisterFile, StoredType); 5] = [
    ("SV_Depth", RegisterFile::OutputDepth, StoredType::F32),
    ("SV_DepthGreaterEqual", RegisterFile::OutputDepthGe, StoredType::F32),
    ("SV_DepthLessEqual", RegisterFile::OutputDepthLe, StoredType::F32),
    ("SV_Coverage", RegisterFile::OutputCoverage, StoredType::U32),
    ("SV_StencilRef", RegisterFile::OutputStencilRef, StoredType::U32),
];

impl Generator<'_, '_> {
    /// Declares inputs and outputs.
    pub fn declare_signatures(&mut self) -> Result<()> {
        self.declare_inputs()?;
        self.declare_outputs(0, 0)?;
        Ok(())
    }

    pub fn declare_inputs(&mut self) -> Result<()> {
        let mut register = 0;
        let system: &[SystemInput] = match self.version.stage {
            Stage::Vertex => &VERTEX_INPUTS,
            Stage::Pixel => &PIXEL_INPUTS,
            _ => &[],
        };
        for &SystemInput { opcode, semantic, values: (stored, value), ty, mask, model: (major, minor) } in system {
            if self.has_model(major, minor) && self.one_in(3)? {
                let mask = Mask::from_bits(mask);
                self.input_element(semantic, 0, stored, ty, register, mask);
                self.input(opcode, register, mask, Some(value))?;
                register += 1;
            }
        }
        let plain = if self.is_pixel() { Opcode::DclInputPs } else { Opcode::DclInput };
        let elements = self.elements(["A", "B"], register)?;
        let first = register;
        for &Element { register: number, used, .. } in &elements {
            let number = number.expect("these have registers");
            self.input(plain, number, used, None)?;
            register = number + 1;
        }
        self.declared.input_elements.extend(elements);
        // Vertices are indexed wherever they are named.
        if self.declared.points.is_empty() {
            self.declared.input_range = self.index_range(RegisterFile::Input, first..register)?;
        }
        if self.is_pixel() && self.has_model(5, 0) {
            for file in [RegisterFile::InputCoverage, RegisterFile::InnerCoverage] {
                if self.one_in(4)? {
                    self.declare_own_input(file, Mask::from_bits(1));
                }
            }
        }
        Ok(())
    }

    /// Elements of registers from `first` on: one or two in each, of which some components are declared.
    pub fn elements(&mut self, [one, other]: [&'static str; 2], first: u32) -> Result<Vec<Element>> {
        let mut elements = Vec::new();
        for index in 0..self.u.int_in_range(1..=4)? {
            let register = Some(first + index);
            let (mask, system_value, stream) = (self.mask(Mask::ALL)?, Stored::NONE, 0);
            let (used, ty) = (self.mask(mask)?, self.component_type()?);
            elements.push(Element { semantic: one, index, system_value, ty, register, mask, used, stream });
            // Another element in the components that are left.
            let rest = Mask::from_bits(u32::from(!mask.bits()));
            if !rest.is_empty() && self.one_in(3)? {
                let (mask, ty) = (self.mask(rest)?, self.component_type()?);
                elements.push(Element { semantic: other, index, system_value, ty, register, mask, used: mask, stream });
            }
        }
        Ok(elements)
    }

    fn input_element(
        &mut self,
        semantic: &'static str,
        index: u32,
        system_value: Stored,
        ty: StoredType,
        register: u32,
        mask: Mask,
    ) {
        let register = Some(register);
        let (used, stream) = (mask, 0);
        self.declared.input_elements.push(Element { semantic, index, system_value, ty, register, mask, used, stream });
    }

    /// Declares components of an input register.
    fn input(&mut self, opcode: Opcode, number: u32, mask: Mask, system_value: Option<SystemValue>) -> Result<()> {
        let interpolation = match opcode {
            Opcode::DclInputPs | Opcode::DclInputPsSiv => Some(*self.u.choose(&Interpolation::ALL[1..])?),
            Opcode::DclInputPsSgv => Some(Interpolation::Constant),
            _ => None,
        };
        let operand = self.input_operand(RegisterFile::Input, number, mask);
        self.declare_as(opcode, Declaration::Input { operand, interpolation, system_value });
        Ok(())
    }

    /// Makes components of an input register known, and gives the operand that declares them.
    pub fn input_operand(&mut self, file: RegisterFile, number: u32, mask: Mask) -> Operand {
        self.declared.inputs.push(Register { file, number: Some(number), mask });
        let points = self.declared.points_of(file).map(|points| (points, None));
        Operand::new(file, Components::Mask(mask), points.into_iter().chain([(number, None)]).collect())
    }

    /// Declares the outputs of a stream from a register on, and gives the one behind them.
    pub fn declare_outputs(&mut self, mut register: u32, stream: u32) -> Result<u32> {
        let elements = self.declared.output_elements.len();
        if !self.is_pixel() && !self.one_in(4)? {
            self.output_element("SV_Position", 0, Stored::POSITION, StoredType::F32, Some(register), Mask::ALL);
            self.output(Opcode::DclOutputSiv, Some(register), Mask::ALL, Some(SystemValue::Position));
            register += 1;
        }
        let (first, semantic) = (register, if self.is_pixel() { "SV_Target" } else { "E" });
        // Compilers store no system value for the outputs of pixel shaders.
        for index in 0..self.u.int_in_range(1..=5)? {
            let mask = if self.one_in(3)? { self.mask(Mask::ALL)? } else { Mask::ALL };
            let ty = self.component_type()?;
            // What a pixel shader writes to is the target of the register's number.
            self.output_element(semantic, index, Stored::NONE, ty, Some(register), mask);
            self.output(Opcode::DclOutput, Some(register), mask, None);
            register += 1;
        }
        self.declared.output_elements[elements..].iter_mut().for_each(|element| element.stream = stream);
        if !self.is_pixel() {
            let range = self.index_range(RegisterFile::Output, first..register)?;
            self.declared.output_range = self.declared.output_range.or(range);
            return Ok(register);
        }
        let depth = self.u.int_in_range(0..=5)?;
        for (number, &(semantic, file, ty)) in OUTPUTS.iter().enumerate() {
            let wanted = if number < 3 { number == depth } else { self.one_in(3)? };
            if wanted && (number == 0 || self.has_model(5, 0)) {
                self.output_element(semantic, 0, Stored::NONE, ty, None, Mask::from_bits(1));
                let operand = Operand::new(file, Components::One, Vec::new());
                self.declare_as(Opcode::DclOutput, Declaration::Output { operand, system_value: None });
                self.declared.outputs.push(Register { file, number: None, mask: Mask::from_bits(1) });
            }
        }
        Ok(register)
    }

    fn output_element(
        &mut self,
        semantic: &'static str,
        index: u32,
        system_value: Stored,
        ty: StoredType,
        register: Option<u32>,
        mask: Mask,
    ) {
        let (used, stream) = (mask, 0);
        self.declared.output_elements.push(Element { semantic, index, system_value, ty, register, mask, used, stream });
    }

    /// Declares components of an output register.
    pub fn output(&mut self, opcode: Opcode, number: Option<u32>, mask: Mask, system_value: Option<SystemValue>) {
        let indices = number.map(|number| (number, None)).into_iter().collect();
        let operand = Operand::new(RegisterFile::Output, Components::Mask(mask), indices);
        self.declare_as(opcode, Declaration::Output { operand, system_value });
        self.declared.outputs.push(Register { file: RegisterFile::Output, number, mask });
    }

    /// Declares that some of these registers are indexed, in the components that all of them have.
    pub fn index_range(&mut self, file: RegisterFile, registers: std::ops::Range<u32>) -> Result<Option<IndexRange>> {
        if registers.len() < 2 || !self.one_in(2)? {
            return Ok(None);
        }
        let first = self.u.int_in_range(registers.start..=registers.end - 2)?;
        let count = self.u.int_in_range(2..=registers.end - first)?;
        let all = if file == RegisterFile::Output { &self.declared.outputs } else { &self.declared.inputs };
        let has = |number: u32| {
            let parts = all.iter().filter(|register| register.file == file && register.number == Some(number));
            parts.fold(0, |mask, part| mask | part.mask.bits())
        };
        let mask = (first..first + count).map(has).fold(0xf, |mask, has| mask & has);
        if mask == 0 {
            return Ok(None);
        }
        let mask = Mask::from_bits(mask.into());
        let operand = Operand::new(file, Components::Mask(mask), vec![(first, None)]);
        self.declare_as(Opcode::DclIndexRange, Declaration::IndexRange { first: operand, count });
        Ok(Some(IndexRange { file, first, count, mask }))
    }

    fn component_type(&mut self) -> Result<StoredType> {
        Ok(*self.u.choose(&[StoredType::F32, StoredType::U32, StoredType::I32])?)
    }

    /// Some components of `of`, which has any.
    pub fn mask(&mut self, of: Mask) -> Result<Mask> {
        let bits = of.bits() & self.u.int_in_range(1..=15)?;
        let lowest = of.bits() & of.bits().wrapping_neg();
        Ok(Mask::from_bits(if bits == 0 { lowest } else { bits }.into()))
    }
}
