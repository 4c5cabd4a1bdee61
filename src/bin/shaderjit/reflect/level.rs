//! The least feature level of Direct3D 11 that runs a shader.

use shaderjit::container::dxbc::{Dxbc, FeatureFlags, FourCc, PartContent, Program};
use shaderjit::frontend::d3d9::Version;

/// Features that no level below 11.1 has. All others are options of the levels.
const LEVEL_11_1: [FeatureFlags; 2] = [FeatureFlags::UAVS_AT_EVERY_STAGE, FeatureFlags::UAVS_64];

/// The level that the shader model asks for, or a higher one for the features. A container with a Direct3D 9 program
/// beside the other runs on the level of that one.
pub fn minimum(container: &Dxbc<'_>, program: &Program<'_>, features: FeatureFlags) -> &'static str {
    if let Some(part) = container.part(FourCc::Aon9) {
        return match part.content() {
            // Level 9.3 is `vs_2_x` and `ps_2_x`.
            Ok(PartContent::Level9Program(level9))
                if Version::from_container(&level9).is_ok_and(|it| it.minor != 0) =>
            {
                "9_3"
            }
            _ => "9_1",
        };
    }
    if LEVEL_11_1.iter().any(|&feature| features.contains(feature)) {
        return "11_1";
    }
    match (program.major, program.minor) {
        (4, 0) => "10_0",
        (4, _) => "10_1",
        (5, _) => "11_0",
        _ => "12_0",
    }
}
