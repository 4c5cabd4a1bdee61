//! The end of `PSV0`: bit masks that say which components of the outputs depend on the view, and which on which
//! components of the inputs. A mask of `n` vectors has four bits a vector, component by component from the lowest bit
//! on, in whole dwords.
//!
//! Which masks there are follows from the stage and the sizes of its signatures; LLVM's writer differs from DXC where
//! no compiled shader does, and DXC is followed here:
//!
//! 1. if the view is used: a mask for the outputs of each stream, and one for the patch constants a hull shader writes
//!    or the primitive outputs of a mesh shader;
//! 2. for each stream, except of mesh shaders: for each input component a mask of the outputs;
//! 3. of hull shaders: for each input component a mask of the patch constants;
//! 4. of domain shaders: for each component of the patch constants a mask of the outputs.

use super::Signatures;
use crate::container::dxbc::ShaderStage;
use crate::container::dxbc::dwords::Dwords;
use crate::container::reader::Reader;
use crate::error::ContainerError;

/// Components of a signature, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ComponentMask<'a> {
    bits: Dwords<'a>,
}

impl<'a> ComponentMask<'a> {
    /// Whether component `index`, four times its vector and its place in it, is one of them.
    pub fn contains(self, index: usize) -> bool {
        self.bits.get(index / 32).is_some_and(|dword| dword >> (index % 32) & 1 != 0)
    }

    /// The components, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> + use<'a> {
        (0..self.bits.len() * 32).filter(move |&index| self.contains(index))
    }
}

/// For each component of one signature the components of another that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DependencyTable<'a> {
    /// Dwords of one mask.
    width: usize,
    masks: Dwords<'a>,
}

impl<'a> DependencyTable<'a> {
    /// Number of components that something may depend on: four a vector.
    pub fn len(self) -> usize {
        self.masks.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// What depends on component `index`; nothing if there is no such component.
    pub fn of(self, index: usize) -> ComponentMask<'a> {
        let start = index.saturating_mul(self.width);
        ComponentMask { bits: self.masks.range(start, self.width).unwrap_or_default() }
    }
}

/// Which outputs of a shader depend on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dependencies<'a> {
    /// For each stream the outputs that depend on the view. Stages other than geometry have one stream.
    pub view_to_outputs: [ComponentMask<'a>; 4],
    /// Patch constants or primitive outputs that depend on the view.
    pub view_to_patch_or_primitive: ComponentMask<'a>,
    /// For each stream the outputs that depend on each input.
    pub inputs_to_outputs: [DependencyTable<'a>; 4],
    /// Patch constants a hull shader writes that depend on each input.
    pub inputs_to_patch: DependencyTable<'a>,
    /// Outputs of a domain shader that depend on each patch constant.
    pub patch_to_outputs: DependencyTable<'a>,
}

impl<'a> Dependencies<'a> {
    /// Reads the masks, and counts the bytes that are missing: masks that are not there whole stay empty.
    pub(super) fn read(reader: &mut Reader<'a>, shape: &Signatures) -> Result<(Self, usize), ContainerError> {
        let mut masks = Masks { reader, missing: 0 };
        let mut found = Self::default();
        let inputs = shape.input_vectors;
        let patch = shape.patch_or_primitive_vectors();
        let outputs = match (shape.stage, shape.output_vectors) {
            (ShaderStage::GEOMETRY, streams) => streams,
            (_, [first, ..]) => [first, 0, 0, 0],
        };

        if shape.uses_view_id {
            for (mask, &vectors) in found.view_to_outputs.iter_mut().zip(&outputs) {
                *mask = masks.mask(vectors)?;
            }
            if matches!(shape.stage, ShaderStage::HULL | ShaderStage::MESH) {
                found.view_to_patch_or_primitive = masks.mask(patch)?;
            }
        }
        if shape.stage != ShaderStage::MESH {
            for (table, &vectors) in found.inputs_to_outputs.iter_mut().zip(&outputs) {
                *table = masks.table(inputs, vectors)?;
            }
        }
        match shape.stage {
            ShaderStage::HULL => found.inputs_to_patch = masks.table(inputs, patch)?,
            ShaderStage::DOMAIN => found.patch_to_outputs = masks.table(patch, outputs[0])?,
            _ => {}
        }
        Ok((found, masks.missing))
    }
}

/// Takes masks from the stream as long as there are any.
struct Masks<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// Bytes that were needed and not there.
    missing: usize,
}

impl<'a> Masks<'_, 'a> {
    fn mask(&mut self, vectors: u8) -> Result<ComponentMask<'a>, ContainerError> {
        Ok(ComponentMask { bits: self.dwords(width(vectors))? })
    }

    fn table(&mut self, from: u8, to: u8) -> Result<DependencyTable<'a>, ContainerError> {
        let width = width(to);
        Ok(DependencyTable { width, masks: self.dwords(4 * usize::from(from) * width)? })
    }

    fn dwords(&mut self, count: usize) -> Result<Dwords<'a>, ContainerError> {
        let size = 4 * count; // At most 4 * 255 masks of 32 dwords.
        let left = self.reader.left();
        if self.missing > 0 || left < size {
            // What is left of this one is of no use to those behind it.
            self.missing += if self.missing == 0 { size - left } else { size };
            return Ok(Dwords::default());
        }
        Ok(Dwords::new(self.reader.bytes(size, "PSV0 masks")?))
    }
}

/// Dwords of a mask of `vectors` vectors.
fn width(vectors: u8) -> usize {
    usize::from(vectors).div_ceil(8)
}
