//! Which stages have which kind of call. Whatever kind a caller asks for, it is refused here or not at all.

use super::bindings::Call;
use crate::error::CallError;
use crate::frontend::pixel::PixelInterface;
use crate::frontend::{DomainInterface, EmitterInterface, GeometryInterface, HullInterface, PrimitiveStage};
use crate::stage::Stage;

impl Call<'_> {
    /// That the shader's invocations are vertices or, bound and run like vertices, pixels.
    pub(super) fn check_runs_vertices(&self) -> Result<(), CallError> {
        match self.shader.prepared().stage {
            Stage::Vertex | Stage::Pixel => Ok(()),
            stage => Err(CallError::WrongStage { kind: "vertices", stage }),
        }
    }

    /// That they are pixels; what there is to say of them.
    pub(super) fn check_runs_pixels(&self) -> Result<&PixelInterface, CallError> {
        let prepared = self.shader.prepared();
        match (prepared.stage, &prepared.interface.pixel) {
            (Stage::Pixel, Some(pixel)) => Ok(pixel),
            (stage, _) => Err(CallError::WrongStage { kind: "pixels", stage }),
        }
    }

    /// That they are threads of groups.
    pub(super) fn check_runs_groups(&self) -> Result<(), CallError> {
        match self.shader.prepared().stage {
            Stage::Compute => Ok(()),
            stage => Err(CallError::WrongStage { kind: "thread groups", stage }),
        }
    }

    /// That they are those of a PICA200 geometry shader; what there is to say of it.
    pub(super) fn check_runs_geometry(&self) -> Result<&GeometryInterface, CallError> {
        let prepared = self.shader.prepared();
        match (prepared.stage, &prepared.interface.geometry) {
            (Stage::Geometry, Some(geometry)) => Ok(geometry),
            (stage, _) => Err(CallError::WrongStage { kind: "primitives", stage }),
        }
    }

    /// That they are those of a geometry shader of Direct3D; what there is to say of it.
    pub(super) fn check_emits(&self) -> Result<&EmitterInterface, CallError> {
        match &self.shader.interface().primitive {
            Some(PrimitiveStage::Emitter(emitter)) => Ok(emitter),
            _ => Err(CallError::WrongStage { kind: "primitives", stage: self.shader.prepared().stage }),
        }
    }

    /// That they are those of a hull shader.
    pub(super) fn check_makes_patches(&self) -> Result<&HullInterface, CallError> {
        match &self.shader.interface().primitive {
            Some(PrimitiveStage::Hull(hull)) => Ok(hull),
            _ => Err(CallError::WrongStage { kind: "patches", stage: self.shader.prepared().stage }),
        }
    }

    /// That they are those of a domain shader.
    pub(super) fn check_runs_domain(&self) -> Result<&DomainInterface, CallError> {
        match &self.shader.interface().primitive {
            Some(PrimitiveStage::Domain(domain)) => Ok(domain),
            _ => Err(CallError::WrongStage { kind: "domain points", stage: self.shader.prepared().stage }),
        }
    }
}
