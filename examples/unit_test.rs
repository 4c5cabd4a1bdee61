//! A unit test of a shader: constants by name, a few vertices, outputs within a tolerance.
//!
//! `cargo run --example unit_test`

use shaderjit::{CompileOptions, Config, Engine, Error, Shader, Tolerance, VertexBufferView};

type Matrix = [[f32; 4]; 4];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Rows of a vector-times-matrix program: the translation is the last row.
fn translation(x: f32, y: f32, z: f32) -> Matrix {
    [IDENTITY[0], IDENTITY[1], IDENTITY[2], [x, y, z, 1.0]]
}

pub(crate) fn main() -> Result<(), Error> {
    let bytes =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    // Two roundings in `mad`, so that the test gives the same bits on every machine.
    let engine = Engine::new(Config::default().fused_mad(false))?;
    let code = engine.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;

    let positions: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]];
    let positions: Vec<u8> = positions.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let normal: Vec<u8> = [0.0f32, 0.0, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let white: Vec<u8> = [1.0f32; 4].iter().flat_map(|value| value.to_le_bytes()).collect();

    let mut call = code.call();
    call.set("world", translation(10.0, 0.0, 0.0))?.set("viewProj", IDENTITY)?;
    call.set("texMat", [[1.0f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]])?;
    call.set("sunDir", [0.0f32, 0.0, 1.0])?.set("ambient", 0.25f32)?.set("tint", [1.0f32; 4])?;
    call.input("POSITION", 0, VertexBufferView::f32x3(&positions, 12))?;
    // A stride of 0 gives every vertex the same value.
    call.input("NORMAL", 0, VertexBufferView::f32x3(&normal, 0))?;
    call.input("TEXCOORD", 0, VertexBufferView::f32x2(&white, 0))?;
    call.input("COLOR", 0, VertexBufferView::f32x4(&white, 0))?;
    let outputs = call.run(0..3)?;

    let moved = [[10.0, 0.0, 0.0, 1.0], [11.0, 2.0, 3.0, 1.0], [9.0, 0.5, 0.25, 1.0]];
    outputs.assert_close("SV_Position", 0, &moved, Tolerance::ulp(2));
    outputs.assert_close("NORMAL", 0, &[[0.0, 0.0, 1.0]; 3], Tolerance::either(2, 1e-6));

    // Mistakes are errors that say what there is.
    let error = call.set("viewProjection", IDENTITY).map(drop).unwrap_err();
    println!("{error}");
    assert!(error.to_string().ends_with("it has world, viewProj, texMat, sunDir, ambient, tint"));
    let error = call.set("sunDir", [1.0f32; 4]).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "variable sunDir is float3, f32[4] is given");
    Ok(())
}
