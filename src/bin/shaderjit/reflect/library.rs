//! What a library of DXIL functions exports.

use super::name;
use serde::Serialize;
use shaderjit::container::dxbc::{Dxbc, FourCc, Function, PartContent, Resource, RuntimeData, SubobjectContent};

#[derive(Serialize)]
pub struct Library {
    functions: Vec<FunctionInfo>,
    resources: Vec<ResourceInfo>,
    subobjects: Vec<SubobjectInfo>,
}

#[derive(Serialize)]
struct FunctionInfo {
    name: String,
    unmangled_name: String,
    stage: String,
    payload_bytes: u32,
    attribute_bytes: u32,
    features: Vec<&'static str>,
    resources: Vec<String>,
    dependencies: Vec<String>,
}

#[derive(Serialize)]
struct ResourceInfo {
    name: String,
    class: String,
    kind: String,
    space: u32,
    first: u32,
    /// Absent: unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u32>,
}

#[derive(Serialize)]
struct SubobjectInfo {
    name: String,
    kind: &'static str,
}

/// `None` if the container is no library, or the part is malformed.
pub fn reflect(container: &Dxbc<'_>) -> Option<Library> {
    let Ok(PartContent::RuntimeData(data)) = container.part(FourCc::RDAT)?.content() else { return None };
    let resource = |resource: Resource<'_>| ResourceInfo {
        name: name(resource.name),
        class: resource.class.to_string(),
        kind: resource.kind.to_string(),
        space: resource.space,
        first: resource.lower,
        last: (resource.upper != u32::MAX).then_some(resource.upper),
    };
    Some(Library {
        functions: data.functions.iter().map(|it| function(&it, &data)).collect(),
        resources: data.resources.iter().map(resource).collect(),
        subobjects: data
            .subobjects
            .iter()
            .map(|it| SubobjectInfo { name: name(it.name), kind: subobject_kind(&it.content) })
            .collect(),
    })
}

fn function(function: &Function<'_>, data: &RuntimeData<'_>) -> FunctionInfo {
    let resources = function.resources.iter().filter_map(|row| data.resources.get(row));
    FunctionInfo {
        name: name(function.name),
        unmangled_name: name(function.unmangled_name),
        stage: function.stage.to_string(),
        payload_bytes: function.payload_bytes,
        attribute_bytes: function.attribute_bytes,
        features: function.features.known().map(|(name, _)| name).collect(),
        resources: resources.map(|resource| name(resource.name)).collect(),
        dependencies: function.dependencies.iter().map(name).collect(),
    }
}

fn subobject_kind(content: &SubobjectContent<'_>) -> &'static str {
    match content {
        SubobjectContent::StateObjectConfig { .. } => "state object configuration",
        SubobjectContent::GlobalRootSignature(_) => "global root signature",
        SubobjectContent::LocalRootSignature(_) => "local root signature",
        SubobjectContent::Association { .. } => "association",
        SubobjectContent::ShaderConfig { .. } => "shader configuration",
        SubobjectContent::PipelineConfig { .. } | SubobjectContent::PipelineConfig1 { .. } => "pipeline configuration",
        SubobjectContent::HitGroup { .. } => "hit group",
        _ => "other",
    }
}
