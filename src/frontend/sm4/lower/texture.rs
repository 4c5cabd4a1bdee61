//! Accesses of textures through `t#` views and `s#` samplers: loads, samples, gathers, sizes. What is sampled at the
//! level that neighbouring pixels give is sampled with derivatives, those of `deriv_rtx_coarse` and `deriv_rty_coarse`.
//!
//! What an access gives is not the IR's to say but the caller's texture's and the sampler's; what is lowered here is
//! which words of which operands it takes, and where its results go (Direct3D 11.3 functional specification, 22.4).

use foldhash::HashMap;

use shaderjit_ir::function::Imm;
use shaderjit_ir::texture::TextureShape;
use shaderjit_ir::{FunctionBuilder, Op, Resource, Sampler, Type, Value};

use super::choice::{Answer, Choice};
use super::registers::{Refusal, limit};
use super::{Lowering, MAX_SAMPLERS};
use crate::error::LowerError;
use crate::frontend::sm4::codes::{Dimension, InfoReturn, SamplerMode, Stage};
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::decode::Operation;
use crate::frontend::sm4::opcode::{DataClass, Opcode};
use crate::frontend::sm4::operand::{Component, Mask, Operand, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;
use crate::frontend::{Interface, ResourceKind, SamplerDecl};

/// The shape of a texture of that dimension; none for buffers.
pub(super) fn shape(dimension: Dimension) -> Option<TextureShape> {
    Some(match dimension {
        Dimension::Texture1d => TextureShape::D1,
        Dimension::Texture1dArray => TextureShape::D1Array,
        Dimension::Texture2d => TextureShape::D2,
        Dimension::Texture2dArray => TextureShape::D2Array,
        Dimension::Texture2dMs => TextureShape::D2Ms,
        Dimension::Texture2dMsArray => TextureShape::D2MsArray,
        Dimension::Texture3d => TextureShape::D3,
        Dimension::TextureCube => TextureShape::Cube,
        Dimension::TextureCubeArray => TextureShape::CubeArray,
        Dimension::Unknown | Dimension::Buffer | Dimension::RawBuffer | Dimension::StructuredBuffer => return None,
    })
}

/// Whether views of that shape are written.
pub(super) fn can_be_written(shape: TextureShape) -> bool {
    !shape.is_multisampled() && !shape.is_cube()
}

/// The declared samplers, by the number that instructions use, and those made for them.
#[derive(Default)]
pub(super) struct Samplers {
    declared: HashMap<u32, (Binding, bool)>,
    /// By number and register.
    made: HashMap<(u32, u32), Sampler>,
}

impl Samplers {
    /// Takes note of the declaration of a `s#`.
    pub fn declare(
        &mut self,
        binding: Binding,
        mode: SamplerMode,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Result<(), Refusal> {
        if self.declared.insert(binding.id, (binding, mode == SamplerMode::Comparison)).is_some() {
            return Err(Refusal::Invalid(format!("sampler {} is declared twice", binding.id)));
        }
        // Of longer ranges, the registers that are named become samplers when they are.
        if binding.lower == binding.upper {
            self.get(b, interface, binding.id, binding.lower)?;
        }
        Ok(())
    }

    /// The sampler that `id` declares, at `register` of its range.
    fn get(
        &mut self,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
        id: u32,
        register: u32,
    ) -> Result<Sampler, Refusal> {
        if let Some(&sampler) = self.made.get(&(id, register)) {
            return Ok(sampler);
        }
        let declared = self.declared.get(&id).copied();
        let Some((Binding { space, .. }, compares)) =
            declared.filter(|(binding, _)| binding.slots().contains(&register))
        else {
            return Err(Refusal::Invalid(format!("sampler {id} with register {register} is not declared")));
        };
        limit("number of samplers", interface.samplers.len() as u64 + 1, MAX_SAMPLERS)?;
        let sampler = b.add_sampler(match space {
            0 => format!("s{register}"),
            space => format!("s{register}_space{space}"),
        });
        interface.samplers.push(SamplerDecl { sampler, slot: register, space, index: None, compares, name: None });
        self.made.insert((id, register), sampler);
        Ok(sampler)
    }
}

/// Where the operands of an access are, and what it becomes.
#[derive(Clone, Copy)]
struct Form {
    op: Op,
    /// Number of the view's operand; that of a sampler is the next.
    view: usize,
    kind: FormKind,
    detail: Detail,
}

/// Where a sample with derivatives has them from, and which of its operands change the level that they give.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Detail {
    /// The derivatives are those of the coordinates among the pixels of a quad, and no operands.
    implicit: bool,
    /// The operand behind the sampler, or behind the reference, is added.
    bias: bool,
    /// The last operand is the least level.
    least: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FormKind {
    Load,
    Sample,
    Gather,
    Size,
    Samples,
}

/// The form of an access. One that had a status has none by now, but may have an operand more than its opcode.
fn form(opcode: Opcode, operands: usize) -> Option<Form> {
    use FormKind::{Gather, Load, Sample, Samples, Size};
    let (op, view, kind) = match opcode {
        Opcode::Ld | Opcode::LdMs => (Op::TextureLoad, 2, Load),
        Opcode::SampleL => (Op::SampleLevel, 2, Sample),
        Opcode::Sample | Opcode::SampleB | Opcode::SampleD => (Op::SampleGradients, 2, Sample),
        Opcode::SampleC => (Op::SampleCompareGradients, 2, Sample),
        Opcode::SampleCLz => (Op::SampleCompare, 2, Sample),
        Opcode::Lod => (Op::TextureLod, 2, Sample),
        Opcode::Gather4 => (Op::Gather, 2, Gather),
        Opcode::Gather4C => (Op::GatherCompare, 2, Sample),
        Opcode::Gather4Po => (Op::GatherAt, 3, Gather),
        Opcode::Gather4PoC => (Op::GatherCompareAt, 3, Sample),
        Opcode::ResInfo => (Op::TextureSize, 2, Size),
        Opcode::SampleInfo => (Op::TextureSamples, 1, Samples),
        _ => return None,
    };
    let takes_derivatives = matches!(op, Op::SampleGradients | Op::SampleCompareGradients | Op::TextureLod);
    let detail = Detail {
        implicit: takes_derivatives && opcode != Opcode::SampleD,
        bias: opcode == Opcode::SampleB,
        least: takes_derivatives && operands > opcode.slots().len(),
    };
    Some(Form { op, view, kind, detail })
}

/// An operand of an access.
enum Arg {
    /// Four words.
    Row([Value; 4]),
    /// One.
    Word(Value),
}

impl Lowering {
    /// Lowers an instruction of the texture group, or of the memory group.
    pub(super) fn view_operation(&mut self, token: OpcodeToken, operation: &Operation) -> Result<(), LowerError> {
        let (opcode, operands) = (token.opcode, &operation.operands);
        let form = match form(opcode, operands.len()) {
            Some(form) => form,
            None if opcode == Opcode::SamplePos => return self.sample_position(operation),
            None if matches!(opcode, Opcode::LdRaw | Opcode::LdStructured | Opcode::BufInfo) => {
                return self.buffer_operation(opcode, operation);
            }
            None => return self.memory_operation(token, operation),
        };
        if form.detail.implicit && self.registers.stage != Stage::Pixel {
            return Err(self.unsupported(opcode));
        }
        let view = operands.get(form.view).ok_or_else(|| self.unsupported(opcode))?;
        if view.file() == RegisterFile::Rasterizer && form.kind == FormKind::Samples {
            let target = self.destination(&operands[0])?;
            let samples = self.b.i32(self.options.samples);
            let answer = self.samples(token, view, target.mask, samples);
            return self.write_answer(&target, answer);
        }
        if view.file() == RegisterFile::UnorderedAccess {
            return self.memory_operation(token, operation);
        }
        match self.resource(view)? {
            (texture, ResourceKind::Texture { shape, .. }) => {
                self.texture_operation(token, operation, form, &texture, shape)
            }
            _ if opcode == Opcode::Ld => self.buffer_operation(opcode, operation),
            _ => Err(self.unsupported(opcode)),
        }
    }

    fn texture_operation(
        &mut self,
        token: OpcodeToken,
        operation: &Operation,
        form: Form,
        texture: &Choice<Resource>,
        shape: TextureShape,
    ) -> Result<(), LowerError> {
        let (opcode, operands) = (token.opcode, &operation.operands);
        let view = &operands[form.view];
        let offsets = operation.extended.as_ref().and_then(|extended| extended.texel_offsets()).unwrap_or_default();
        if let Some(why) = shape.objection(form.op, offsets) {
            return Err(self.invalid(format!("{opcode} of a {shape}: {why}")));
        }
        if (opcode == Opcode::LdMs) != shape.is_multisampled() && form.kind == FormKind::Load {
            return Err(self.invalid(format!("{opcode} of a {shape}")));
        }
        let target = self.destination(&operands[0])?;
        let mask = target.mask;
        let args = self.args(operation, form, shape)?;
        let answer = match form.kind {
            FormKind::Load => self.access(texture, mask, |this, texture| {
                let row = this.texture_access(form, &args, Imm::Texel { texture, offsets });
                Ok(this.answer_of(view, mask, row))
            })?,
            FormKind::Size => {
                let kind = token.info_return().unwrap_or(InfoReturn::Float);
                self.access(texture, mask, |this, texture| {
                    let row = this.texture_access(form, &args, Imm::Resource(texture));
                    Ok(this.size(view, mask, row, shape, kind))
                })?
            }
            FormKind::Samples => self.access(texture, mask, |this, texture| {
                let samples = this.b.emit(form.op, Type::I32, &[], Imm::Resource(texture));
                Ok(this.samples(token, view, mask, samples.expect("the op has a result")))
            })?,
            FormKind::Sample | FormKind::Gather => {
                let (sampler, component) = self.sampler(&operands[form.view + 1])?;
                self.access(texture, mask, |this, texture| {
                    this.access(&sampler, mask, |this, sampler| {
                        let imm = match form.kind {
                            FormKind::Gather => Imm::Gather { texture, sampler, offsets, component },
                            _ => Imm::Sample { texture, sampler, offsets },
                        };
                        let result = this.texture_access(form, &args, imm);
                        Ok(this.answer_of(view, mask, result))
                    })
                })?
            }
        };
        self.write_answer(&target, answer)
    }

    // ---- operands

    /// What an access takes besides the texture and the sampler.
    fn args(&mut self, operation: &Operation, form: Form, shape: TextureShape) -> Result<Vec<Arg>, LowerError> {
        let operands = &operation.operands;
        match form.kind {
            FormKind::Load => return Ok(vec![self.load_address(operation, shape)?]),
            FormKind::Size => return Ok(vec![Arg::Word(self.read(&operands[1], Component::X, DataClass::Int)?)]),
            FormKind::Samples => return Ok(Vec::new()),
            FormKind::Sample | FormKind::Gather => {}
        }
        let coordinates = shape.coordinates() + usize::from(shape.is_array());
        let mut args = vec![self.row_of(&operands[1], coordinates, DataClass::Float)?];
        match form.op {
            Op::SampleGradients | Op::SampleCompareGradients | Op::TextureLod => {
                self.detail(form, &operands[form.view + 2..], shape.coordinates(), &mut args)?;
            }
            Op::Gather => {}
            Op::GatherAt => args.push(self.row_of(&operands[2], 2, DataClass::Int)?),
            // The level or the reference is the last operand.
            _ => args.push(Arg::Word(self.read(&operands[form.view + 2], Component::X, DataClass::Float)?)),
        }
        if form.op == Op::GatherCompareAt {
            args.push(self.row_of(&operands[2], 2, DataClass::Int)?);
        }
        Ok(args)
    }

    /// What a sample with derivatives takes behind its coordinates, from operands behind the sampler.
    fn detail(
        &mut self,
        form: Form,
        operands: &[Operand],
        coordinates: usize,
        args: &mut Vec<Arg>,
    ) -> Result<(), LowerError> {
        let mut rest = operands.iter();
        let mut next = || rest.next().expect("the opcode's table has the operand");
        let &Arg::Row(at) = &args[0] else { unreachable!("the coordinates are a row") };
        if form.op == Op::SampleCompareGradients {
            args.push(Arg::Word(self.read(next(), Component::X, DataClass::Float)?));
        }
        let bias = if form.detail.bias { Some(self.read(next(), Component::X, DataClass::Float)?) } else { None };
        let mut changes = if form.detail.implicit {
            [Op::QuadDx, Op::QuadDy].map(|op| {
                let mut row = [self.b.f32(0.0); 4];
                for (change, &coordinate) in row.iter_mut().zip(&at).take(coordinates) {
                    *change = self.b.op(op, &[coordinate]);
                }
                row
            })
        } else {
            let (dx, dy) = (next(), next());
            [self.words_of(dx, coordinates, DataClass::Float)?, self.words_of(dy, coordinates, DataClass::Float)?]
        };
        if form.detail.least {
            changes[0][3] = self.read(next(), Component::X, DataClass::Float)?;
        }
        if let Some(bias) = bias {
            changes[1][3] = bias;
        }
        args.extend(changes.map(Arg::Row));
        Ok(())
    }

    /// So many components of an operand as a row.
    fn row_of(&mut self, operand: &Operand, count: usize, class: DataClass) -> Result<Arg, LowerError> {
        Ok(Arg::Row(self.words_of(operand, count, class)?))
    }

    /// So many components of an operand, and zeros.
    fn words_of(&mut self, operand: &Operand, count: usize, class: DataClass) -> Result<[Value; 4], LowerError> {
        let ty = if class == DataClass::Float { Type::F32 } else { Type::I32 };
        let mut words = [None; 4];
        for (word, component) in words.iter_mut().zip(Component::ALL).take(count) {
            *word = Some(self.read(operand, component, class)?);
        }
        Ok(words.map(|word| word.unwrap_or_else(|| self.b.constant(ty, 0))))
    }

    /// The address of a load: coordinates, slice, and last the level, or the sample that is an operand of its own.
    fn load_address(&mut self, operation: &Operation, shape: TextureShape) -> Result<Arg, LowerError> {
        let address = &operation.operands[1];
        let mut words = [self.b.i32(0); 4];
        let coordinates = shape.coordinates() + usize::from(shape.is_array());
        for (word, component) in words.iter_mut().zip(Component::ALL).take(coordinates) {
            *word = self.read(address, component, DataClass::Int)?;
        }
        words[3] = match operation.operands.get(3) {
            Some(sample) => self.read(sample, Component::X, DataClass::Int)?,
            None => self.read(address, Component::W, DataClass::Int)?,
        };
        Ok(Arg::Row(words))
    }

    /// The sampler that an operand names, and the component it selects.
    fn sampler(&mut self, operand: &Operand) -> Result<(Choice<Sampler>, u8), LowerError> {
        if operand.file() != RegisterFile::Sampler {
            return Err(self.invalid(format!("{} is no sampler", operand.file().letters())));
        }
        let (id, register) = self.named(operand, "sampler")?;
        let binding = self.registers.samplers.declared.get(&id).map(|&(binding, _)| binding);
        let sampler = self.choice(binding, register, |this, register| {
            let registers = &mut this.registers;
            registers.samplers.get(&mut this.b, &mut registers.interface, id, register)
        })?;
        Ok((sampler, operand.components().source(Component::X).index() as u8))
    }

    /// One access. Rows are made beside it, for they stay in their block.
    fn texture_access(&mut self, form: Form, args: &[Arg], imm: Imm) -> Value {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(match *arg {
                Arg::Row(words) => self.b.row_join(words),
                Arg::Word(word) => word,
            });
        }
        self.b.texture_access(form.op, &values, imm)
    }

    // ---- results

    /// The words of a row that the view's swizzle chooses, or a single word for each component.
    fn answer_of(&mut self, view: &Operand, mask: Mask, result: Value) -> Answer {
        let is_row = self.b.ty(result) == Type::Row;
        self.answer(view, mask, |this, word| match is_row {
            true => this.b.row_word(Type::F32, result, word.index() as u8),
            false => result,
        })
    }

    pub(super) fn size(
        &mut self,
        view: &Operand,
        mask: Mask,
        row: Value,
        shape: TextureShape,
        kind: InfoReturn,
    ) -> Answer {
        // The reciprocal is that of sizes in texels, which faces have two of.
        let sizes = if shape.is_cube() { 2 } else { shape.coordinates() };
        self.answer(view, mask, |this, word| {
            let number = this.b.row_word(Type::I32, row, word.index() as u8);
            match kind {
                InfoReturn::Uint => number,
                InfoReturn::RcpFloat if word.index() < sizes => {
                    let (one, size) = (this.b.f32(1.0), this.b.utof([number]));
                    this.b.fdiv([one, size])
                }
                InfoReturn::Float | InfoReturn::RcpFloat => this.b.utof([number]),
            }
        })
    }

    /// A number of samples, which is the first component, and zeros.
    fn samples(&mut self, token: OpcodeToken, view: &Operand, mask: Mask, samples: Value) -> Answer {
        let is_float = token.info_return() != Some(InfoReturn::Uint);
        let samples = if is_float { self.b.utof([samples]) } else { samples };
        let zero = self.b.i32(0);
        self.answer(view, mask, |_, word| if word == Component::X { samples } else { zero })
    }
}

#[cfg(test)]
mod tests;
