//! Which stages have which kind of call. Whatever kind a caller asks for, it is refused here or not at all.

use super::bindings::Call;
use crate::error::CallError;
use crate::frontend::GeometryInterface;
use crate::stage::Stage;

impl Call<'_> {
    /// That the shader's invocations are vertices or, bound and run like vertices, pixels.
    pub(super) fn check_runs_vertices(&self) -> Result<(), CallError> {
        match self.shader.prepared().stage {
            Stage::Vertex | Stage::Pixel => Ok(()),
            stage => Err(CallError::WrongStage { kind: "vertices", stage }),
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
}
