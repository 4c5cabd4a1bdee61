//! Images and samplers: which ones an instruction takes, and its operands.
//!
//! What an access gives is not the IR's to say but the texture's and the sampler's; what is lowered here is which words
//! of which operands it takes, and where its results go.

use std::rc::Rc;

use shaderjit_ir::function::Imm;
use shaderjit_ir::texture::TextureShape;
use shaderjit_ir::{Op as IrOp, Resource, Sampler, Type, Value};
use spirv::{Dim, ImageOperands, Op};

use super::pointer::Index;
use super::types::{ImageType, Kind, Ty};
use super::{Def, Lowering, Memory, unsupported};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::{ResourceKind, typed_buffer};

/// One of the elements of a variable that is bound.
type Element = (usize, Index);

/// An image, a sampler, or both: an instruction takes what it needs.
#[derive(Clone, Copy)]
pub(super) struct Handle {
    image: Element,
    sampler: Element,
}

impl Handle {
    /// What is loaded from a variable.
    pub fn of(bound: usize, index: Index) -> Handle {
        Handle { image: (bound, index), sampler: (bound, index) }
    }

    /// Replaces every value that it depends on.
    pub fn map_values(&mut self, map: &mut impl FnMut(Value) -> Value) {
        self.image.1.map_values(map);
        self.sampler.1.map_values(map);
    }

    /// Whether image and sampler are one descriptor.
    fn is_combined(&self) -> bool {
        let is_same_index = match (self.image.1, self.sampler.1) {
            (Index::Known(a), Index::Known(b)) => a == b,
            (Index::Chosen(a), Index::Chosen(b)) => a == b,
            _ => false,
        };
        self.image.0 == self.sampler.0 && is_same_index
    }
}

/// The optional operands of an access, as ids.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    pub bias: Option<u32>,
    pub lod: Option<u32>,
    pub gradients: Option<[u32; 2]>,
    pub offset: Option<u32>,
    pub offsets: Option<u32>,
    pub sample: Option<u32>,
    pub least: Option<u32>,
}

impl Lowering<'_> {
    /// The image or sampler that an id is.
    pub(super) fn handle(&self, id: u32) -> Result<Rc<Handle>, LowerError> {
        match self.def(id)? {
            Def::Handle(handle) => Ok(handle),
            _ => Err(self.invalid(format!("%{id} is no image"))),
        }
    }

    /// The type of the image of a handle.
    pub(super) fn image_of(&self, handle: &Handle) -> Result<ImageType, LowerError> {
        match *self.types.kind(self.variables.bound[handle.image.0].ty) {
            Kind::Image(image) | Kind::SampledImage(image) => Ok(image),
            _ => Err(self.invalid("a sampler where an image is needed")),
        }
    }

    /// The shape of a texture; none for buffers.
    pub(super) fn shape(&self, image: ImageType) -> Result<Option<TextureShape>, LowerError> {
        Ok(Some(match (image.dim, image.arrayed, image.multisampled) {
            (Dim::DimBuffer, false, false) => return Ok(None),
            (Dim::Dim1D, false, false) => TextureShape::D1,
            (Dim::Dim1D, true, false) => TextureShape::D1Array,
            (Dim::Dim2D | Dim::DimSubpassData, false, false) => TextureShape::D2,
            (Dim::Dim2D, true, false) => TextureShape::D2Array,
            (Dim::Dim2D | Dim::DimSubpassData, false, true) => TextureShape::D2Ms,
            (Dim::Dim2D, true, true) => TextureShape::D2MsArray,
            (Dim::Dim3D, false, false) => TextureShape::D3,
            (Dim::DimCube, false, false) => TextureShape::Cube,
            (Dim::DimCube, true, false) => TextureShape::CubeArray,
            _ => return Err(self.unsupported(format!("images of {:?}", image.dim))),
        }))
    }

    /// What is bound for an image.
    pub(super) fn image_kind(&self, image: ImageType) -> Result<ResourceKind, LowerError> {
        let ty = image.scalar.component_type();
        Ok(match self.shape(image)? {
            None => ResourceKind::TypedBuffer { ty, components: typed_buffer::ALL },
            Some(shape) if image.is_storage && (shape.is_cube() || shape.is_multisampled()) => {
                return Err(self.unsupported(format!("a {shape} that is written")));
            }
            Some(shape) => ResourceKind::Texture { shape, ty },
        })
    }

    /// What `access` gives with the image of a handle.
    pub(super) fn with_image(
        &mut self,
        handle: &Handle,
        types: &[Type],
        mut access: impl FnMut(&mut Self, Memory) -> Result<Vec<Value>, LowerError>,
    ) -> Result<Vec<Value>, LowerError> {
        self.image_of(handle)?;
        let (bound, index) = handle.image;
        self.among(bound, index, types, |this, element| {
            let memory = this.resource(bound, element)?;
            access(this, memory)
        })
    }

    /// What `access` gives with image and sampler of a handle.
    pub(super) fn with_both(
        &mut self,
        handle: &Handle,
        compares: bool,
        types: &[Type],
        mut access: impl FnMut(&mut Self, Resource, Sampler) -> Result<Vec<Value>, LowerError>,
    ) -> Result<Vec<Value>, LowerError> {
        let (bound, index) = handle.sampler;
        if !matches!(self.types.kind(self.variables.bound[bound].ty), Kind::Sampler | Kind::SampledImage(_)) {
            return Err(self.invalid("an image where a sampler is needed"));
        }
        if self.image_of(handle)?.is_storage {
            return Err(self.invalid("an image that is written is not sampled"));
        }
        if handle.is_combined() {
            return self.among(bound, index, types, |this, element| {
                let memory = this.resource(bound, element)?;
                let sampler = this.sampler(bound, element, compares)?;
                access(this, memory.resource, sampler)
            });
        }
        self.with_image(handle, types, |this, memory| {
            this.among(bound, index, types, |this, element| {
                let sampler = this.sampler(bound, element, compares)?;
                access(this, memory.resource, sampler)
            })
        })
    }

    // ---- operands

    /// The optional operands of an access.
    fn options(&self, instruction: &Instruction<'_>, operands: &[u32]) -> Result<Options, LowerError> {
        let Some((&mask, mut rest)) = operands.split_first() else { return Ok(Options::default()) };
        let mask = ImageOperands::from_bits_retain(mask);
        let mut next = |bit: ImageOperands| -> Result<Option<u32>, LowerError> {
            if !mask.contains(bit) {
                return Ok(None);
            }
            let (&id, others) = rest.split_first().ok_or_else(|| self.malformed(instruction))?;
            rest = others;
            Ok(Some(id))
        };
        // In the order of the bits.
        let mut options = Options { bias: next(ImageOperands::BIAS)?, ..Options::default() };
        options.lod = next(ImageOperands::LOD)?;
        if let Some(dx) = next(ImageOperands::GRAD)? {
            let dy = next(ImageOperands::GRAD)?.expect("the bit is set");
            options.gradients = Some([dx, dy]);
        }
        let (constant, offset) = (next(ImageOperands::CONST_OFFSET)?, next(ImageOperands::OFFSET)?);
        options.offset = constant.or(offset);
        options.offsets = next(ImageOperands::CONST_OFFSETS)?;
        options.sample = next(ImageOperands::SAMPLE)?;
        options.least = next(ImageOperands::MIN_LOD)?;
        if mask.contains(ImageOperands::OFFSETS) {
            return Err(self.unsupported("image operand Offsets"));
        }
        Ok(options)
    }

    /// The components of an operand, at least so many, and zeros behind those; all of one type.
    pub(super) fn row(&mut self, id: u32, count: usize, ty: Type) -> Result<[Value; 4], LowerError> {
        let (_, scalars) = self.value(id)?;
        if scalars.len() < count || scalars.len() > 4 || scalars.iter().any(|&scalar| self.b.ty(scalar) != ty) {
            return Err(self.invalid(format!("%{id} is no address of this image")));
        }
        let mut row = [self.b.constant(ty, 0); 4];
        row[..count].copy_from_slice(&scalars[..count]);
        Ok(row)
    }

    /// Texel offsets that are known.
    pub(super) fn offsets(&mut self, id: Option<u32>) -> Result<[i8; 3], LowerError> {
        let Some(id) = id else { return Ok([0; 3]) };
        let Def::Constant { bits, .. } = self.def(id)? else {
            return Err(self.unsupported("texel offsets that are not constant"));
        };
        let mut offsets = [0; 3];
        for (offset, &bits) in offsets.iter_mut().zip(bits.iter()) {
            *offset =
                i8::try_from(bits as u32 as i32).map_err(|_| self.unsupported("texel offsets of more than 8 bits"))?;
        }
        Ok(offsets)
    }

    pub(super) fn float(&mut self, id: u32) -> Result<Value, LowerError> {
        let value = self.scalar(id)?;
        match self.b.ty(value) {
            Type::F32 => Ok(value),
            _ => Err(self.invalid(format!("%{id} is no float"))),
        }
    }

    // ---- instructions

    /// Lowers an instruction on an image.
    pub(super) fn image(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        match (opcode, instruction.operands()) {
            (Op::SampledImage, &[_, id, image, sampler]) => {
                let (image, sampler) = (self.handle(image)?, self.handle(sampler)?);
                let both = Handle { image: image.image, sampler: sampler.sampler };
                self.define(id, Def::Handle(Rc::new(both)))
            }
            (Op::Image, &[_, id, both]) => {
                let handle = self.handle(both)?;
                self.define(id, Def::Handle(handle))
            }
            (Op::ImageWrite, &[image, coordinates, texel, ..]) => self.write_image(image, coordinates, texel),
            (_, &[ty, id, image, ref operands @ ..]) => {
                let ty = self.value_type(ty)?;
                let handle = self.handle(image)?;
                let scalars = self.image_value(opcode, instruction, ty, &handle, operands)?;
                self.check_type(ty, &scalars)?;
                self.define_value(id, ty, scalars)
            }
            _ => Err(self.malformed(instruction)),
        }
    }

    fn image_value(
        &mut self,
        opcode: Op,
        instruction: &Instruction<'_>,
        ty: Ty,
        handle: &Handle,
        operands: &[u32],
    ) -> Result<Vec<Value>, LowerError> {
        match (opcode, operands) {
            (Op::ImageFetch | Op::ImageRead, &[coordinates, ref rest @ ..]) => {
                let options = self.options(instruction, rest)?;
                self.fetch(ty, handle, coordinates, options)
            }
            (Op::ImageGather, &[coordinates, component, ref rest @ ..]) => {
                let options = self.options(instruction, rest)?;
                let component = self.literal(component)?.filter(|&component| component < 4);
                let component = component.ok_or_else(|| self.malformed(instruction))?;
                self.gather(ty, handle, coordinates, Ok(component as u8), options)
            }
            (Op::ImageDrefGather, &[coordinates, reference, ref rest @ ..]) => {
                let options = self.options(instruction, rest)?;
                self.gather(ty, handle, coordinates, Err(reference), options)
            }
            (Op::ImageQuerySizeLod | Op::ImageQuerySize, rest) => self.size(instruction, ty, handle, rest),
            (Op::ImageQueryLevels, []) => self.levels(handle),
            (Op::ImageQuerySamples, []) => self.with_image(handle, &[Type::I32], |this, memory| {
                let imm = Imm::Resource(memory.resource);
                let is_there =
                    matches!(this.b.func().resources[memory.resource].texture, Some(shape) if shape.is_multisampled());
                if !is_there {
                    return Err(this.invalid("an image whose texels have one sample"));
                }
                Ok(vec![this.b.emit(IrOp::TextureSamples, Type::I32, &[], imm).expect("the op has a result")])
            }),
            (Op::ImageQueryLod, &[coordinates]) => self.query_lod(handle, coordinates),
            (
                Op::ImageSampleImplicitLod
                | Op::ImageSampleExplicitLod
                | Op::ImageSampleProjImplicitLod
                | Op::ImageSampleProjExplicitLod,
                &[coordinates, ref rest @ ..],
            ) => {
                let options = self.options(instruction, rest)?;
                let projects = matches!(opcode, Op::ImageSampleProjImplicitLod | Op::ImageSampleProjExplicitLod);
                self.sample(ty, handle, coordinates, projects, None, options)
            }
            (
                Op::ImageSampleDrefImplicitLod
                | Op::ImageSampleDrefExplicitLod
                | Op::ImageSampleProjDrefImplicitLod
                | Op::ImageSampleProjDrefExplicitLod,
                &[coordinates, reference, ref rest @ ..],
            ) => {
                let options = self.options(instruction, rest)?;
                let projects =
                    matches!(opcode, Op::ImageSampleProjDrefImplicitLod | Op::ImageSampleProjDrefExplicitLod);
                self.sample(ty, handle, coordinates, projects, Some(reference), options)
            }
            _ => Err(unsupported(instruction)),
        }
    }
}
