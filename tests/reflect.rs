//! `reflect --json` keeps to the schema in the repository, for every container of the test data.

#[path = "support/containers.rs"]
mod test_data;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::process::Command;
use test_data::containers;

fn reflect(args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_shaderjit")).arg("reflect").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn json(args: &[&str]) -> Value {
    serde_json::from_slice(&reflect(args)).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn schema() -> (Schemas, SchemaIndex) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("reflect.json", json(&["--schema"])).unwrap();
    let index = compiler.compile("reflect.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    (schemas, index)
}

#[test]
fn every_document_is_valid() {
    let (schemas, schema) = schema();
    let containers = containers(&["dxbc", "dxil", "shbin", "spv", "vbc"]);
    assert!(containers.len() > 780);
    for (path, _) in containers {
        let path = path.to_str().unwrap();
        let document = json(&["--json", path]);
        assert_eq!(document["malformed"], Value::Array(Vec::new()), "{path}");
        schemas.validate(&document, schema).unwrap_or_else(|error| panic!("{path}: {error:#}"));
    }
}

#[test]
fn the_schema_says_no() {
    let (schemas, schema) = schema();
    let path = format!("{}/tests/data/dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc", env!("CARGO_MANIFEST_DIR"));
    let valid = json(&["--json", &path]);
    assert!(schemas.validate(&valid, schema).is_ok());
    for (pointer, wrong) in [
        ("/version", Value::from(2)),
        ("/digest/value", Value::from("xyz")),
        ("/inputs/0/mask", Value::from("xx")),
        ("/constant_buffers/1/variables/0/offset", Value::from(-1)),
        ("/statistics/temps", Value::Null),
    ] {
        let mut document = valid.clone();
        *document.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = wrong;
        assert!(schemas.validate(&document, schema).is_err(), "{pointer}");
    }
}

/// What the source of each shader says.
#[test]
fn documents_say_what_the_sources_say() {
    let data = |path: &str| format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"));
    let document = json(&["--json", &data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc")]);
    assert_eq!((&document["profile"], &document["minimum_feature_level"]), (&"vs_5_0".into(), &"11_0".into()));
    let matrix = &document["constant_buffers"][0]["variables"][2];
    assert_eq!(matrix["type"], "row_major float4x3");
    assert_eq!((&matrix["offset"], &matrix["size"]), (&128.into(), &60.into()));
    let document = json(&["--json", &data("dxbc/cs_reduce/CS.cs_5_0.fxc101.dxbc")]);
    assert_eq!(document["thread_group"].as_array().map(Vec::len), Some(3));
    let document = json(&["--json", &data("dxbc/cs_5_1_bindless/CS.cs_5_1.fxc101.dxbc")]);
    let unbounded = document["bindings"].as_array().unwrap().iter().find(|it| it["name"] == "bufs").unwrap();
    assert_eq!((unbounded.get("count"), &unbounded["space"], &unbounded["stride"]), (None, &2.into(), &16.into()));
    let document = json(&["--json", &data("dxbc/vs_double/VS.vs_5_0.fxc101.dxbc")]);
    assert_eq!(document["features"], Value::from(vec!["doubles"]));
    let document = json(&["--json", &data("dxbc/ls_level9/VS.vs_4_0_level_9_3.fxc101.dxbc")]);
    let level9 = &document["level9"][0];
    assert_eq!((&document["minimum_feature_level"], &level9["profile"]), (&"9_3".into(), &"vs_2_x".into()));
    assert_eq!((&level9["instructions"]["slots"], &level9["float_constants"][1]["row"]), (&14.into(), &6.into()));
    assert_eq!(level9["runtime_constants"][0]["constant"], "Vertex Shader position offset");
    let document = json(&["--json", &data("pica/t31_geo_point.shbin")]);
    let stages: Vec<_> = document["executables"].as_array().unwrap().iter().map(|it| it["stage"].clone()).collect();
    assert_eq!(stages, ["vertex", "geometry"]);
}
