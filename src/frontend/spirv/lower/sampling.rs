//! Samples, gathers, and the level of detail that a sample would take.

use shaderjit_ir::function::Imm;
use shaderjit_ir::texture::TextureShape;
use shaderjit_ir::{Op as IrOp, Type, Value};

use super::Lowering;
use super::image::{Handle, Options};
use super::types::Ty;
use crate::error::LowerError;
use crate::stage::Stage;

impl Lowering<'_> {
    /// Coordinates for filtering: of a shape, and divided by the one behind them if they are projected. How many they
    /// are without the slice.
    fn coordinates(&mut self, shape: TextureShape, id: u32, projects: bool) -> Result<([Value; 4], usize), LowerError> {
        let count = shape.coordinates() + usize::from(shape.is_array());
        if !projects {
            return Ok((self.row(id, count, Type::F32)?, shape.coordinates()));
        }
        let (_, scalars) = self.value(id)?;
        let row = self.row(id, count + 1, Type::F32)?;
        // GLSL has vectors of four components for all of them, and the divisor last.
        let (divisor, zero) = (*scalars.last().expect("it has components"), self.b.f32(0.0));
        let mut divided = [zero; 4];
        for (to, from) in divided.iter_mut().zip(row).take(count) {
            *to = self.b.fdiv([from, divisor]);
        }
        Ok((divided, shape.coordinates()))
    }

    pub(super) fn sample(
        &mut self,
        ty: Ty,
        handle: &Handle,
        coordinates: u32,
        projects: bool,
        reference: Option<u32>,
        options: Options,
    ) -> Result<Vec<Value>, LowerError> {
        let image = self.image_of(handle)?;
        let Some(shape) = self.shape(image)? else { return Err(self.invalid("buffers are not sampled")) };
        let divisor = if projects { Some(coordinates) } else { None };
        let (at, count) = self.coordinates(shape, coordinates, projects)?;
        let reference = match (reference, divisor) {
            (Some(reference), Some(divisor)) => {
                let (reference, scalars) = (self.float(reference)?, self.value(divisor)?.1);
                Some(self.b.fdiv([reference, *scalars.last().expect("it has components")]))
            }
            (Some(reference), None) => Some(self.float(reference)?),
            (None, _) => None,
        };
        let offsets = self.offsets(options.offset)?;
        let bias = options.bias.map(|id| self.float(id)).transpose()?;
        let least = options.least.map(|id| self.float(id)).transpose()?;
        let zero = self.b.f32(0.0);
        // Derivatives, or the level itself.
        let mut changes = None;
        let mut level = zero;
        if let Some([dx, dy]) = options.gradients {
            changes = Some([self.row(dx, count, Type::F32)?, self.row(dy, count, Type::F32)?]);
        } else if let Some(lod) = options.lod {
            level = self.float(lod)?;
        } else if self.stage == Stage::Pixel {
            changes = Some(self.changes(at, count));
        } else if let Some(bias) = bias {
            // Outside of pixel shaders what is added to is the base level.
            level = bias;
        }
        if let Some([dx, dy]) = &mut changes {
            dx[3] = least.unwrap_or(zero);
            dy[3] = bias.unwrap_or(zero);
        }
        let op = match (reference, changes) {
            (None, None) => IrOp::SampleLevel,
            (None, Some(_)) => IrOp::SampleGradients,
            (Some(_), None) if self.b.literal(level) == Some(0) => IrOp::SampleCompare,
            (Some(_), None) => return Err(self.unsupported("a comparison at a level that is not 0")),
            (Some(_), Some(_)) => IrOp::SampleCompareGradients,
        };
        self.check_access(shape, op, offsets)?;
        let component = if image.scalar.ir() == Type::F32 { Type::F32 } else { Type::I32 };
        let count = if reference.is_some() { 1 } else { self.types.scalars(ty).min(4) as usize };
        let types = vec![if reference.is_some() { Type::F32 } else { component }; count];
        self.with_both(handle, reference.is_some(), &types, |this, texture, sampler| {
            let imm = Imm::Sample { texture, sampler, offsets };
            let mut args = vec![this.b.row_join(at)];
            args.extend(reference);
            match changes {
                Some(rows) => args.extend(rows.map(|row| this.b.row_join(row))),
                None if reference.is_none() => args.push(level),
                None => {}
            }
            let result = this.b.texture_access(op, &args, imm);
            Ok(this.words(result, component, count))
        })
    }

    /// How much coordinates change from pixel to pixel.
    fn changes(&mut self, at: [Value; 4], count: usize) -> [[Value; 4]; 2] {
        [IrOp::QuadDx, IrOp::QuadDy].map(|op| {
            let mut row = [self.b.f32(0.0); 4];
            for (change, &coordinate) in row.iter_mut().zip(&at).take(count) {
                *change = self.b.op(op, &[coordinate]);
            }
            row
        })
    }

    /// So many words of a row; or the float that an access gives instead.
    pub(super) fn words(&mut self, result: Value, ty: Type, count: usize) -> Vec<Value> {
        match self.b.ty(result) {
            Type::Row => (0..count as u8).map(|component| self.b.row_word(ty, result, component)).collect(),
            _ => vec![result],
        }
    }

    pub(super) fn check_access(&self, shape: TextureShape, op: IrOp, offsets: [i8; 3]) -> Result<(), LowerError> {
        match shape.objection(op, offsets) {
            Some(why) => Err(self.invalid(format!("an access of a {shape}: {why}"))),
            None => Ok(()),
        }
    }

    /// The level of detail that a sample would take, and what it is before anything bounds it.
    pub(super) fn query_lod(&mut self, handle: &Handle, coordinates: u32) -> Result<Vec<Value>, LowerError> {
        if self.stage != Stage::Pixel {
            return Err(self.unsupported("OpImageQueryLod outside of pixel shaders"));
        }
        let image = self.image_of(handle)?;
        let Some(shape) = self.shape(image)? else { return Err(self.invalid("buffers have no levels")) };
        let at = self.row(coordinates, shape.coordinates(), Type::F32)?;
        let changes = self.changes(at, shape.coordinates());
        self.check_access(shape, IrOp::TextureLod, [0; 3])?;
        self.with_both(handle, false, &[Type::F32; 2], |this, texture, sampler| {
            let imm = Imm::Sample { texture, sampler, offsets: [0; 3] };
            let [at, dx, dy] = [at, changes[0], changes[1]].map(|row| this.b.row_join(row));
            let row = this.b.texture_access(IrOp::TextureLod, &[at, dx, dy], imm);
            Ok(this.words(row, Type::F32, 2))
        })
    }

    pub(super) fn gather(
        &mut self,
        ty: Ty,
        handle: &Handle,
        coordinates: u32,
        component: Result<u8, u32>,
        options: Options,
    ) -> Result<Vec<Value>, LowerError> {
        let image = self.image_of(handle)?;
        let Some(shape) = self.shape(image)? else { return Err(self.invalid("buffers are not gathered")) };
        let (at, _) = self.coordinates(shape, coordinates, false)?;
        let reference = component.err().map(|id| self.float(id)).transpose()?;
        let word = if reference.is_some() { Type::F32 } else { image.scalar.ir() };
        if self.types.scalars(ty) != 4 {
            return Err(self.invalid("a gather of other than four components"));
        }
        // One gather for each component, of which only the texel at the offset itself counts: the last.
        if let Some(offsets) = options.offsets {
            let (_, scalars) = self.value(offsets)?;
            let Ok(places) = <[Value; 8]>::try_from(&scalars[..]) else {
                return Err(self.invalid("ConstOffsets are no four pairs"));
            };
            let mut gathered = Vec::with_capacity(4);
            for pair in places.chunks_exact(2) {
                let pair = [pair[0], pair[1]];
                let four = self.gather_at(handle, shape, at, component.ok(), reference, Some(pair), word)?;
                gathered.push(four[3]);
            }
            return Ok(gathered);
        }
        let pair = match options.offset {
            Some(id) => match self.value(id)?.1[..] {
                [x, y] => Some([x, y]),
                _ => return Err(self.invalid("an offset of other than two components")),
            },
            None => None,
        };
        self.gather_at(handle, shape, at, component.ok(), reference, pair, word)
    }

    #[expect(clippy::too_many_arguments, reason = "they are what the access is")]
    fn gather_at(
        &mut self,
        handle: &Handle,
        shape: TextureShape,
        at: [Value; 4],
        component: Option<u8>,
        reference: Option<Value>,
        pair: Option<[Value; 2]>,
        word: Type,
    ) -> Result<Vec<Value>, LowerError> {
        let op = match (reference, pair) {
            (None, None) => IrOp::Gather,
            (None, Some(_)) => IrOp::GatherAt,
            (Some(_), None) => IrOp::GatherCompare,
            (Some(_), Some(_)) => IrOp::GatherCompareAt,
        };
        self.check_access(shape, op, [0; 3])?;
        if pair.is_some_and(|pair| pair.iter().any(|&value| self.b.ty(value) != Type::I32)) {
            return Err(self.invalid("an offset that is no integer"));
        }
        self.with_both(handle, reference.is_some(), &[word; 4], |this, texture, sampler| {
            let imm = match component {
                Some(component) => Imm::Gather { texture, sampler, offsets: [0; 3], component },
                None => Imm::Sample { texture, sampler, offsets: [0; 3] },
            };
            let mut args = vec![this.b.row_join(at)];
            args.extend(reference);
            if let Some([x, y]) = pair {
                let zero = this.b.i32(0);
                args.push(this.b.row_join([x, y, zero, zero]));
            }
            let row = this.b.texture_access(op, &args, imm);
            Ok(this.words(row, word, 4))
        })
    }
}
