//! Texels by their numbers: fetched, read and written; sizes of images.

use shaderjit_ir::function::Imm;
use shaderjit_ir::{Op as IrOp, Type, Value};
use spirv::Dim;

use super::image::{Handle, Options};
use super::types::Ty;
use super::{Lowering, Memory};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::frontend::typed_buffer::{self, TypedBuffer};

impl Lowering<'_> {
    /// The words of an integer address in an image, the slice of an array behind the coordinates.
    pub(super) fn texel_address(&mut self, handle: &Handle, coordinates: u32) -> Result<[Value; 4], LowerError> {
        let image = self.image_of(handle)?;
        let count = self.shape(image)?.map_or(1, |shape| shape.coordinates() + usize::from(shape.is_array()));
        let mut address = self.row(coordinates, count, Type::I32)?;
        if image.dim == Dim::DimSubpassData {
            // Counted from the pixel that is shaded.
            for (component, word) in (0..2).zip(&mut address) {
                let place = self.pixel_place(component)?;
                *word = self.b.iadd([*word, place]);
            }
        }
        Ok(address)
    }

    pub(super) fn fetch(
        &mut self,
        ty: Ty,
        handle: &Handle,
        coordinates: u32,
        options: Options,
    ) -> Result<Vec<Value>, LowerError> {
        let image = self.image_of(handle)?;
        let word = image.scalar.ir();
        let count = self.types.scalars(ty).min(4) as usize;
        let types = vec![word; count];
        let mut address = self.texel_address(handle, coordinates)?;
        if image.is_storage {
            return self.with_image(handle, &types, |this, memory| {
                let address = this.b.row_join(address);
                let row = this.b.texture_access(IrOp::TexelLoad, &[address], Imm::Resource(memory.resource));
                Ok(this.words(row, word, count))
            });
        }
        let Some(shape) = self.shape(image)? else {
            return self.with_image(handle, &types, |this, Memory { resource, .. }| {
                let buffer = TypedBuffer { resource, components: typed_buffer::ALL };
                let byte = buffer.row_of_element(&mut this.b, address[0]);
                Ok((0..count as u32).map(|n| this.b.resource_load(word, resource, 4 * n, byte)).collect())
            });
        };
        if let Some(last) = options.sample.or(options.lod) {
            address[3] = self.integer(last)?;
        }
        let offsets = self.offsets(options.offset)?;
        self.check_access(shape, IrOp::TextureLoad, offsets)?;
        self.with_image(handle, &types, |this, Memory { resource: texture, .. }| {
            let address = this.b.row_join(address);
            let row = this.b.texture_access(IrOp::TextureLoad, &[address], Imm::Texel { texture, offsets });
            Ok(this.words(row, word, count))
        })
    }

    pub(super) fn write_image(&mut self, image: u32, coordinates: u32, texel: u32) -> Result<(), LowerError> {
        let handle = self.handle(image)?;
        let image = self.image_of(&handle)?;
        if !image.is_storage {
            return Err(self.invalid("a write to an image that is sampled"));
        }
        let address = self.texel_address(&handle, coordinates)?;
        let (_, scalars) = self.value(texel)?;
        let word = image.scalar.ir();
        if scalars.is_empty() || scalars.len() > 4 || scalars.iter().any(|&scalar| self.b.ty(scalar) != word) {
            return Err(self.invalid("a texel of another type"));
        }
        let mut row = [self.b.constant(word, 0); 4];
        row[..scalars.len()].copy_from_slice(&scalars);
        let written = self.effect(&[], |this| {
            this.with_image(&handle, &[], |this, memory| {
                let [address, texel] = [address, row].map(|row| this.b.row_join(row));
                this.b.emit(IrOp::TexelStore, Type::I32, &[address, texel], Imm::Resource(memory.resource));
                Ok(Vec::new())
            })
        });
        written.map(drop)
    }

    // ---- sizes

    pub(super) fn size(
        &mut self,
        instruction: &Instruction<'_>,
        ty: Ty,
        handle: &Handle,
        level: &[u32],
    ) -> Result<Vec<Value>, LowerError> {
        let image = self.image_of(handle)?;
        let count = self.types.scalars(ty).min(4) as usize;
        let level = match level {
            [] => self.b.i32(0),
            &[level] => self.integer(level)?,
            _ => return Err(self.malformed(instruction)),
        };
        let shape = self.shape(image)?;
        let sizes = shape.map_or(1, |shape| {
            let sizes = if shape.is_cube() { 2 } else { shape.coordinates() };
            sizes + usize::from(shape.is_array())
        });
        if sizes != count {
            return Err(self.malformed(instruction));
        }
        self.with_image(handle, &vec![Type::I32; count], |this, Memory { resource, is_written }| {
            let imm = Imm::Resource(resource);
            match (is_written, shape) {
                (true, _) => {
                    let row = this.b.texture_access(IrOp::MemorySize, &[], imm);
                    Ok(this.words(row, Type::I32, count))
                }
                (false, Some(_)) => {
                    let row = this.b.texture_access(IrOp::TextureSize, &[level], imm);
                    Ok(this.words(row, Type::I32, count))
                }
                (false, None) => {
                    let buffer = TypedBuffer { resource, components: typed_buffer::ALL };
                    Ok(vec![buffer.element_count(&mut this.b)])
                }
            }
        })
    }

    pub(super) fn levels(&mut self, handle: &Handle) -> Result<Vec<Value>, LowerError> {
        let image = self.image_of(handle)?;
        if image.is_storage || self.shape(image)?.is_none() {
            return Err(self.invalid("an image without levels"));
        }
        let zero = self.b.i32(0);
        self.with_image(handle, &[Type::I32], |this, memory| {
            let row = this.b.texture_access(IrOp::TextureSize, &[zero], Imm::Resource(memory.resource));
            Ok(vec![this.b.row_word(Type::I32, row, 3)])
        })
    }
}
