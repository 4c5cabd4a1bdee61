//! What the parts beside a DXIL program say: nothing of the bitcode itself.

use super::name;
use serde::Serialize;
use shaderjit::container::Name;
use shaderjit::container::dxbc::{
    DescriptorRange, Dxbc, FourCc, PartContent, PipelineResource, PipelineState, RootParameter, RootParameterKind,
    RootSignature, StaticSampler,
};

#[derive(Serialize)]
pub struct Dxil {
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiler: Option<Compiler>,
    #[serde(skip_serializing_if = "Option::is_none")]
    debug_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Argument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_state: Option<Pipeline>,
}

#[derive(Serialize)]
struct ProgramInfo {
    profile: String,
    dxil_version: String,
    bitcode_bytes: usize,
    debug_information: bool,
}

#[derive(Serialize)]
struct Hash {
    value: String,
    includes_source: bool,
}

#[derive(Serialize)]
struct Compiler {
    version: String,
    commits: u32,
    commit: String,
    custom: String,
}

#[derive(Serialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct Pipeline {
    version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uses_view_id: Option<bool>,
    min_wave_lanes: u32,
    /// Absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_wave_lanes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_shared_bytes: Option<u32>,
    resources: Vec<Resource>,
}

#[derive(Serialize)]
struct Resource {
    #[serde(rename = "type")]
    ty: String,
    space: u32,
    first: u32,
    /// Absent: unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
}

#[derive(Serialize)]
pub struct Root {
    version: String,
    flags: u32,
    parameters: Vec<Parameter>,
    samplers: Vec<Sampler>,
}

#[derive(Serialize)]
struct Parameter {
    visibility: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<u32>,
    /// 32-bit constants.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<Range>>,
}

#[derive(Serialize)]
struct Range {
    kind: String,
    /// Absent: unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    register: u32,
    space: u32,
    flags: u32,
}

#[derive(Serialize)]
struct Sampler {
    register: u32,
    space: u32,
    visibility: String,
    filter: u32,
    address: [String; 3],
    comparison: String,
    border: String,
    max_anisotropy: u32,
}

impl Dxil {
    /// The profile, such as `vs_6_0`.
    pub fn profile(&self) -> Option<String> {
        self.program.as_ref().map(|program| program.profile.clone())
    }

    /// The size of a thread group; `None` where there are none.
    pub fn thread_group(&self) -> Option<[u32; 3]> {
        self.pipeline_state.as_ref()?.threads.filter(|&threads| threads != [0; 3])
    }
}

/// `None` if the container has no part of the kind.
pub fn reflect(container: &Dxbc<'_>) -> Option<Dxil> {
    let mut dxil = Dxil {
        program: None,
        hash: None,
        compiler: None,
        debug_name: None,
        sources: Vec::new(),
        arguments: Vec::new(),
        pipeline_state: None,
    };
    let mut found = false;
    for part in container.parts() {
        let Ok(content) = part.content() else { continue };
        match content {
            PartContent::DxilProgram(program) => {
                let debug_information = part.name == FourCc::ILDB;
                // Of two programs the one with debug information is the same once more.
                let known = dxil.program.as_ref().is_some_and(|_| debug_information);
                dxil.program = Some(ProgramInfo {
                    profile: program.profile(),
                    dxil_version: format!("{}.{}", program.dxil_version.0, program.dxil_version.1),
                    bitcode_bytes: program.bitcode.len(),
                    debug_information: debug_information || known,
                });
            }
            PartContent::ShaderHash(hash) => {
                let includes_source = hash.includes_source();
                dxil.hash = Some(Hash { value: hash.digest.to_string(), includes_source });
            }
            PartContent::CompilerVersion(compiler) => {
                dxil.compiler = Some(Compiler {
                    version: format!("{}.{}", compiler.version.0, compiler.version.1),
                    commits: compiler.commits,
                    commit: name(compiler.commit),
                    custom: name(compiler.custom),
                });
            }
            PartContent::DebugName(debug) => dxil.debug_name = Some(name(debug.name)),
            PartContent::SourceInfo(info) => {
                dxil.sources = info.files().map(|file| name(file.name)).collect();
                let argument = |(key, value): (Name<'_>, Name<'_>)| Argument { name: name(key), value: name(value) };
                dxil.arguments = info.arguments.iter().map(argument).collect();
            }
            PartContent::PipelineState(state) => dxil.pipeline_state = Some(pipeline(&state)),
            _ => continue,
        }
        found = true;
    }
    found.then_some(dxil)
}

fn pipeline(state: &PipelineState<'_>) -> Pipeline {
    let resource = |resource: &PipelineResource| Resource {
        ty: resource.resource_type.to_string(),
        space: resource.space,
        first: resource.lower,
        last: (resource.upper != u32::MAX).then_some(resource.upper),
        shape: resource.kind.map(|kind| kind.to_string()),
    };
    Pipeline {
        version: state.version,
        stage: state.stage().map(|stage| stage.to_string()),
        entry: state.entry.map(name),
        uses_view_id: state.signatures.map(|signatures| signatures.uses_view_id),
        min_wave_lanes: state.min_wave_lanes,
        max_wave_lanes: (state.max_wave_lanes != u32::MAX).then_some(state.max_wave_lanes),
        threads: state.threads,
        group_shared_bytes: state.group_shared_bytes,
        resources: state.resources.iter().map(resource).collect(),
    }
}

/// The root signature, if the container has one.
pub fn root_signature(container: &Dxbc<'_>) -> Option<Root> {
    match container.part(FourCc::RTS0)?.content() {
        Ok(PartContent::RootSignature(signature)) => Some(root(&signature)),
        _ => None,
    }
}

fn root(signature: &RootSignature) -> Root {
    let sampler = |sampler: &StaticSampler| Sampler {
        register: sampler.register,
        space: sampler.space,
        visibility: sampler.visibility.to_string(),
        filter: sampler.filter,
        address: sampler.address.map(|mode| mode.to_string()),
        comparison: sampler.comparison.to_string(),
        border: sampler.border.to_string(),
        max_anisotropy: sampler.max_anisotropy,
    };
    Root {
        version: signature.version.to_string(),
        flags: signature.flags,
        parameters: signature.parameters.iter().map(parameter).collect(),
        samplers: signature.samplers.iter().map(sampler).collect(),
    }
}

fn parameter(parameter: &RootParameter) -> Parameter {
    let visibility = parameter.visibility.to_string();
    let single = |kind: String, register, space, count| Parameter {
        visibility: visibility.clone(),
        kind,
        register: Some(register),
        space: Some(space),
        count,
        ranges: None,
    };
    match &parameter.kind {
        RootParameterKind::Table(ranges) => {
            let range = |range: &DescriptorRange| Range {
                kind: range.kind.to_string(),
                count: range.count,
                register: range.register,
                space: range.space,
                flags: range.flags,
            };
            let ranges = Some(ranges.iter().map(range).collect());
            Parameter { visibility, kind: "table".to_string(), register: None, space: None, count: None, ranges }
        }
        &RootParameterKind::Constants { register, space, count } => {
            single("constants".to_string(), register, space, Some(count))
        }
        &RootParameterKind::Descriptor { kind, register, space, .. } => single(kind.to_string(), register, space, None),
    }
}
