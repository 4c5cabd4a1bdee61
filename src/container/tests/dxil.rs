//! Real containers of shader model 6: what is read is what the sources say.

use super::{dxbc, visit};
use crate::container::dxbc::*;

macro_rules! files {
    ($($name:ident $path:literal,)*) => {
        $(const $name: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxil/", $path)).as_slice();)*

        /// All of them, by path.
        pub(super) const FILES: [(&str, &[u8]); [$($path),*].len()] = [$(($path, $name)),*];
    };
}

files! {
    COMPUTE "cs_groups/main.cs_6_6.dxil",
    EMBEDDED "debug_information/main.ps_6_0.embedded.dxil",
    PDB "debug_information/main.ps_6_0.pdb.dxil",
    SLIM "debug_information/main.ps_6_0.slim.dxil",
    GEOMETRY "gs_streams/main.gs_6_1.dxil",
    LIBRARY_6_3 "lib_rays/lib.lib_6_3.val1.3.dxil",
    LIBRARY "lib_rays/lib.lib_6_7.dxil",
    AMPLIFICATION "mesh/amplify.as_6_5.dxil",
    MESH "mesh/mesh.ms_6_5.dxil",
    MIN_PRECISION "precision/main.vs_6_2.min.dxil",
    NATIVE_PRECISION "precision/main.vs_6_2.native.dxil",
    PIXEL_1_5 "ps_resources/main.ps_6_0.val1.5.dxil",
    PIXEL "ps_resources/main.ps_6_6.dxil",
    ROOT_ALONE "root_signature/SIGNATURE.rootsig_1_1.dxil",
    ROOT_1_0 "root_signature/main.vs_6_0.1_0.dxil",
    ROOT_1_1 "root_signature/main.vs_6_0.1_1.dxil",
    DOMAIN "tessellation/domain.ds_6_0.dxil",
    HULL "tessellation/hull.hs_6_1.dxil",
    SIMPLE_1_0 "vs_simple/main.vs_6_0.val1.0.dxil",
    SIMPLE_1_1 "vs_simple/main.vs_6_0.val1.1.dxil",
    SIMPLE_1_6 "vs_simple/main.vs_6_0.val1.6.dxil",
    SIMPLE_1_7 "vs_simple/main.vs_6_0.val1.7.dxil",
    VIEW "vs_view/main.vs_6_1.dxil",
}

/// The content of the part `$part` of a file as the type it is read as.
macro_rules! content {
    ($bytes:expr, $part:ident, $type:ident) => {
        match dxbc($bytes).part(FourCc::$part).unwrap().content().unwrap() {
            PartContent::$type(content) => content,
            other => panic!("{other:?}"),
        }
    };
}

fn pipeline(bytes: &[u8]) -> Box<PipelineState<'_>> {
    content!(bytes, PSV0, PipelineState)
}

fn components(mask: ComponentMask<'_>) -> Vec<usize> {
    mask.iter().collect()
}

#[test]
fn no_part_is_malformed() {
    for (path, bytes) in FILES {
        assert_eq!(visit(bytes), Ok(Vec::new()), "{path}");
    }
}

#[test]
fn a_part_cut_short_is_no_harm() {
    for (_, bytes) in FILES {
        for part in dxbc(bytes).parts() {
            // Of a program all but the header is bitcode.
            for length in 0..part.data.len().min(2000) {
                let _ = Part { data: &part.data[..length], ..*part }.content();
            }
        }
    }
}

#[test]
fn programs_state_their_profile() {
    let profiles = [
        (VIEW, "vs_6_1"),
        (PIXEL, "ps_6_6"),
        (GEOMETRY, "gs_6_1"),
        (HULL, "hs_6_1"),
        (DOMAIN, "ds_6_0"),
        (COMPUTE, "cs_6_6"),
        (MESH, "ms_6_5"),
        (AMPLIFICATION, "as_6_5"),
        (LIBRARY, "lib_6_7"),
    ];
    for (bytes, profile) in profiles {
        let program = content!(bytes, DXIL, DxilProgram);
        assert_eq!((program.profile().as_str(), program.part), (profile, FourCc::DXIL));
        assert_eq!(program.dxil_version, (1, program.model.1));
        assert_eq!(bytes[program.bitcode_offset..][..program.bitcode.len()], *program.bitcode);
        let stat = dxbc(bytes).statistics().unwrap().unwrap();
        assert!(matches!(stat, Statistics::Reflection(reflection) if reflection.profile() == profile));
    }
}

#[test]
fn every_mask_is_where_it_should_be() {
    for (path, bytes) in FILES {
        let Some(part) = dxbc(bytes).part(FourCc::PSV0).copied() else { continue };
        let PartContent::PipelineState(state) = part.content().unwrap() else { panic!("{path}") };
        assert_eq!((state.missing_mask_bytes, state.trailing), (0, [].as_slice()), "{path}");
    }
}

#[test]
fn validators_choose_the_version() {
    for (bytes, version) in [(SIMPLE_1_0, 0), (SIMPLE_1_1, 1), (SIMPLE_1_6, 2), (SIMPLE_1_7, 2)] {
        let state = pipeline(bytes);
        assert_eq!((state.version, state.resources.len()), (version, 1));
        let resource = state.resources[0];
        assert_eq!((resource.resource_type, resource.lower, resource.upper), (PipelineResourceType::CBV, 0, 0));
        assert_eq!(resource.kind, (version >= 2).then_some(DxilResourceKind::CBUFFER));
        assert_eq!(state.stage_info(ShaderStage::VERTEX), StageInfo::Vertex { position: true });
        let output = dxbc(bytes).output_signature().unwrap().unwrap().elements[0];
        assert_eq!((output.mask, output.rw_mask), (0xf, 0), "all components are written");
    }
}

#[test]
fn a_vertex_shader_with_dependencies() {
    let state = pipeline(VIEW);
    assert_eq!((state.stage(), state.threads), (Some(ShaderStage::VERTEX), Some([0; 3])));
    let signatures = state.signatures.unwrap();
    assert!(signatures.uses_view_id);
    assert_eq!((signatures.input_vectors, signatures.output_vectors), (5, [6, 0, 0, 0]));
    let resource = state.resources[0];
    assert_eq!((resource.space, resource.lower, resource.upper), (1, 2, 2));

    let inputs: Vec<_> =
        state.inputs.iter().map(|input| (input.semantic.to_string(), input.kind, input.columns)).collect();
    let expected = [
        ("POSITION", SemanticKind::ARBITRARY, 3),
        ("NORMAL", SemanticKind::ARBITRARY, 3),
        ("TEXCOORD", SemanticKind::ARBITRARY, 2),
        ("", SemanticKind::VERTEX_ID, 1),
        ("", SemanticKind::INSTANCE_ID, 1),
    ];
    assert!(inputs.iter().map(|(name, kind, columns)| (name.as_str(), *kind, *columns)).eq(expected));
    let [position, normal, uv, identity, clip] = state.outputs.as_slice() else { panic!("{:?}", state.outputs) };
    assert_eq!((position.kind, position.position, position.columns), (SemanticKind::POSITION, Some((0, 0)), 4));
    assert_eq!((normal.position, normal.interpolation), (Some((1, 0)), Interpolation::LINEAR));
    assert_eq!((uv.indices.iter().collect::<Vec<_>>(), uv.position), (vec![3, 4], Some((2, 0))));
    let identity = (identity.component_type, identity.interpolation, identity.position);
    assert_eq!(identity, (StoredType::U32, Interpolation::CONSTANT, Some((4, 0))));
    assert_eq!((clip.kind, clip.position), (SemanticKind::CLIP_DISTANCE, Some((5, 0))));

    let found = state.dependencies;
    assert_eq!(components(found.view_to_outputs[0]), [0], "of the view depends position.x");
    let of = |input| components(found.inputs_to_outputs[0].of(input));
    assert_eq!(of(0), [0, 1, 2, 3], "of position.x depends the position");
    assert_eq!(of(2), [0, 1, 2, 3, 20], "of position.z the clip distance too");
    assert_eq!(of(5), [5], "of normal.y depends the normal's");
    assert_eq!(of(8), [8, 13], "the coordinates are written as they are and swapped");
    assert_eq!((of(12), of(16)), (vec![16], vec![4, 5, 6]));
}

#[test]
fn a_pixel_shader_with_every_resource() {
    let state = pipeline(PIXEL);
    let pixel = StageInfo::Pixel { depth: true, sample_frequency: true };
    assert_eq!(state.stage_info(ShaderStage::PIXEL), pixel);
    use {DxilResourceKind as Kind, PipelineResourceType as Type};
    let mut expected = vec![
        (Type::SAMPLER, 0, 0, 0, Kind::SAMPLER),
        (Type::SAMPLER, 0, 1, 1, Kind::SAMPLER),
        (Type::SRV_TYPED, 0, 0, 0, Kind::TEXTURE_1D),
        (Type::SRV_TYPED, 0, 1, 1, Kind::TEXTURE_2D),
        (Type::SRV_TYPED, 0, 2, 2, Kind::TEXTURE_2D_MS),
        (Type::SRV_TYPED, 0, 3, 3, Kind::TEXTURE_3D),
        (Type::SRV_TYPED, 0, 4, 4, Kind::TEXTURE_CUBE),
        (Type::SRV_TYPED, 2, 5, 5, Kind::TEXTURE_2D_ARRAY),
        (Type::SRV_TYPED, 0, 6, 6, Kind::TEXTURE_CUBE_ARRAY),
        (Type::SRV_TYPED, 0, 7, 7, Kind::TYPED_BUFFER),
        (Type::SRV_RAW, 0, 8, 8, Kind::RAW_BUFFER),
        (Type::SRV_STRUCTURED, 0, 9, 9, Kind::STRUCTURED_BUFFER),
        (Type::SRV_TYPED, 3, 16, 31, Kind::TEXTURE_2D),
        (Type::SRV_TYPED, 4, 0, u32::MAX, Kind::TEXTURE_2D),
        (Type::UAV_TYPED, 0, 4, 4, Kind::TEXTURE_2D),
        (Type::UAV_RAW, 0, 5, 5, Kind::RAW_BUFFER),
        (Type::UAV_STRUCTURED_COUNTER, 0, 6, 6, Kind::STRUCTURED_BUFFER),
        (Type::UAV_STRUCTURED, 0, 7, 7, Kind::STRUCTURED_BUFFER),
    ];
    let mut found: Vec<_> =
        state.resources.iter().map(|r| (r.resource_type, r.space, r.lower, r.upper, r.kind.unwrap())).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);

    let old = pipeline(PIXEL_1_5);
    assert_eq!((old.version, old.resources.len()), (1, expected.len()));
    assert!(old.resources.iter().all(|resource| resource.kind.is_none()));

    let interpolation = |name, index| {
        let input = |element: &&PipelineElement<'_>| element.semantic == name && element.indices.get(0) == Some(index);
        state.inputs.iter().find(input).unwrap().interpolation
    };
    assert_eq!(interpolation("NORMAL", 0), Interpolation::LINEAR_SAMPLE);
    assert_eq!(interpolation("TEXCOORD", 0), Interpolation::LINEAR_CENTROID);
    assert_eq!(interpolation("TEXCOORD", 1), Interpolation::LINEAR_NOPERSPECTIVE);
    assert_eq!(interpolation("SELECT", 0), Interpolation::CONSTANT);
    let outputs: Vec<_> = state.outputs.iter().map(|output| (output.kind, output.position)).collect();
    let target = |row| (SemanticKind::TARGET, Some((row, 0)));
    assert_eq!(outputs, [target(0), target(2), (SemanticKind::DEPTH_GREATER_EQUAL, None)]);
}

#[test]
fn a_geometry_shader_with_two_streams() {
    let state = pipeline(GEOMETRY);
    let info = StageInfo::Geometry {
        input: InputPrimitive::LINE,
        output: PrimitiveTopology::POINT_LIST,
        stream_mask: 0b11,
        position: true,
        max_vertices: Some(6),
    };
    assert_eq!(state.stage_info(ShaderStage::GEOMETRY), info);
    let outputs: Vec<_> = state.outputs.iter().map(|output| (output.stream, output.semantic.to_string())).collect();
    let expected = [(0, ""), (0, "TEXCOORD"), (1, "NORMAL"), (1, "LAYER")].map(|(i, name)| (i, name.to_string()));
    assert_eq!(outputs, expected);
    assert_eq!(state.signatures.unwrap().output_vectors, [2, 2, 0, 0]);
    let found = state.dependencies;
    assert_eq!(components(found.view_to_outputs[1]), [4], "the layer");
    assert_eq!(components(found.inputs_to_outputs[1].of(1)), [1], "normal.y is position.y");
}

#[test]
fn both_stages_of_a_tessellation() {
    let state = pipeline(HULL);
    let info = StageInfo::Hull {
        input_control_points: 3,
        output_control_points: 3,
        domain: TessellatorDomain::TRIANGLE,
        output: TessellatorOutput::TRIANGLE_CW,
    };
    assert_eq!(state.stage_info(ShaderStage::HULL), info);
    let patch: Vec<_> = state.patch_or_primitive.iter().map(|e| (e.kind, e.indices.len(), e.position)).collect();
    let expected = [
        (SemanticKind::TESS_FACTOR, 3, Some((0, 3))),
        (SemanticKind::INSIDE_TESS_FACTOR, 1, Some((3, 0))),
        (SemanticKind::ARBITRARY, 2, Some((4, 0))),
    ];
    assert_eq!(patch, expected);
    let found = state.dependencies;
    assert_eq!(components(found.view_to_patch_or_primitive), [4 * 2 + 3], "edges[2]");
    assert_eq!(components(found.inputs_to_patch.of(0)), [3], "edges[0] is position.x");
    assert_eq!(components(found.inputs_to_outputs[0].of(5)), [5], "control points are handed on");

    let state = pipeline(DOMAIN);
    let info = StageInfo::Domain { input_control_points: 3, position: true, domain: TessellatorDomain::TRIANGLE };
    assert_eq!(state.stage_info(ShaderStage::DOMAIN), info);
    let found = state.dependencies;
    assert_eq!(components(found.patch_to_outputs.of(4 * 4)), [4], "tint[0].x goes to tint.x");
    assert_eq!(found.patch_to_outputs.len(), 4 * 6);
}

#[test]
fn groups_of_threads() {
    let state = pipeline(COMPUTE);
    assert_eq!((state.threads, state.min_wave_lanes, state.max_wave_lanes), (Some([8, 4, 2]), 32, 32));
    assert_eq!(state.stage_info(ShaderStage::COMPUTE), StageInfo::Other);
    let resources: Vec<_> = state.resources.iter().map(|r| (r.resource_type, r.lower, r.flags)).collect();
    let expected = [(PipelineResourceType::SRV_RAW, 1, 0), (PipelineResourceType::UAV_STRUCTURED, 3, 1)];
    assert_eq!(resources, expected);
    let features = content!(COMPUTE, SFI0, FeatureFlags);
    assert!(
        features.contains(FeatureFlags::ATOMIC_INT_64_GROUP_SHARED) && features.contains(FeatureFlags::RESOURCE_HEAP)
    );

    let state = pipeline(AMPLIFICATION);
    assert_eq!(state.threads, Some([16, 1, 1]));
    assert_eq!(state.stage_info(ShaderStage::AMPLIFICATION), StageInfo::Amplification { payload_bytes: 80 });

    let state = pipeline(MESH);
    assert_eq!(state.threads, Some([12, 2, 1]));
    let info = StageInfo::Mesh {
        group_shared_bytes: 12 * 12,
        view_dependent_bytes: 0,
        payload_bytes: 80,
        max_vertices: 24,
        max_primitives: 8,
        topology: Some(MeshTopology::TRIANGLE),
    };
    assert_eq!(state.stage_info(ShaderStage::MESH), info);
    let primitive: Vec<_> = state.patch_or_primitive.iter().map(|element| element.kind).collect();
    let layer = SemanticKind::RENDER_TARGET_ARRAY_INDEX;
    assert_eq!(primitive, [layer, SemanticKind::ARBITRARY, SemanticKind::CULL_PRIMITIVE]);
}

#[test]
fn two_kinds_of_16_bit_types() {
    let colour = |bytes| {
        let inputs = dxbc(bytes).input_signature().unwrap().unwrap();
        let element = inputs.elements.into_iter().find(|element| element.semantic == "COLOR").unwrap();
        (element.component_type, element.min_precision)
    };
    assert_eq!(colour(MIN_PRECISION), (StoredType::F16, MinPrecision::FLOAT_16));
    assert_eq!(colour(NATIVE_PRECISION), (StoredType::F16, MinPrecision::DEFAULT));
    let count = |bytes| pipeline(bytes).outputs[2].component_type;
    assert_eq!((count(MIN_PRECISION), count(NATIVE_PRECISION)), (StoredType::U16, StoredType::U16));
}

#[test]
fn root_signatures_of_two_versions() {
    let range = |kind, count, register, space, flags, table_offset| DescriptorRange {
        kind,
        count,
        register,
        space,
        flags,
        table_offset,
    };
    for (bytes, version) in [
        (ROOT_1_0, RootSignatureVersion::V1_0),
        (ROOT_1_1, RootSignatureVersion::V1_1),
        (ROOT_ALONE, RootSignatureVersion::V1_1),
    ] {
        let signature = content!(bytes, RTS0, RootSignature);
        assert_eq!((signature.version, signature.flags), (version, 0x1 | 0x4 | 0x40));
        let of = |flags| if version == RootSignatureVersion::V1_0 { 0 } else { flags };
        let mut parameters = signature.parameters.iter();
        let mut next = || parameters.next().map(|parameter| (parameter.visibility, parameter.kind.clone())).unwrap();
        let constants = RootParameterKind::Constants { register: 3, space: 2, count: 5 };
        assert_eq!(next(), (ShaderVisibility::VERTEX, constants));
        let descriptor = |kind, register, space, flags| RootParameterKind::Descriptor { kind, register, space, flags };
        let (all, pixel) = (ShaderVisibility::ALL, ShaderVisibility::PIXEL);
        assert_eq!(next(), (all, descriptor(DescriptorType::CBV, 1, 0, 0)));
        assert_eq!(next(), (pixel, descriptor(DescriptorType::SRV, 2, 1, 0)));
        assert_eq!(next(), (all, descriptor(DescriptorType::UAV, 0, 0, of(2))));
        if version == RootSignatureVersion::V1_1 {
            let first = range(DescriptorType::SRV, Some(1), 20, 0, 1 | 4, None);
            let second = range(DescriptorType::SRV, Some(1), 30, 0, 8, None);
            assert_eq!(next(), (all, RootParameterKind::Table(vec![first])));
            assert_eq!(next(), (all, RootParameterKind::Table(vec![second])));
        }
        let ranges = vec![
            range(DescriptorType::SRV, Some(7), 3, 0, 0, None),
            range(DescriptorType::CBV, Some(1), 4, 3, 0, None),
            range(DescriptorType::UAV, None, 1, 0, 0, Some(12)),
        ];
        assert_eq!(next(), (all, RootParameterKind::Table(ranges)));
        let samplers = range(DescriptorType::SAMPLER, Some(4), 2, 0, 0, None);
        assert_eq!(next(), (pixel, RootParameterKind::Table(vec![samplers])));

        let first = StaticSampler {
            filter: 0x80 | 4 | 0x10,
            address: [RootAddressMode::CLAMP, RootAddressMode::MIRROR, RootAddressMode::BORDER],
            mip_bias: 1.5,
            max_anisotropy: 8,
            comparison: RootComparison::GREATER,
            border: BorderColour::OPAQUE_WHITE,
            min_lod: 0.25,
            max_lod: 9.5,
            register: 0,
            space: 4,
            visibility: pixel,
            flags: 0,
        };
        assert_eq!(signature.samplers[0], first);
        assert_eq!((signature.samplers[1].filter, signature.samplers[1].register), (0x55, 1));
        assert_eq!((signature.parameters.len(), signature.samplers.len()), (6 + of(2) as usize, 2));
    }
}

#[test]
fn functions_of_a_library() {
    for bytes in [LIBRARY, LIBRARY_6_3] {
        let data = content!(bytes, RDAT, RuntimeData);
        let functions: Vec<_> = data
            .functions
            .iter()
            .map(|f| (f.unmangled_name.to_string(), f.stage, f.payload_bytes, f.attribute_bytes))
            .collect();
        let function = |name: &str, stage, payload, attributes| (name.to_string(), stage, payload, attributes);
        let expected = [
            function("generate", ShaderStage::RAY_GENERATION, 0, 0),
            function("closest", ShaderStage::CLOSEST_HIT, 20, 8),
            function("any", ShaderStage::ANY_HIT, 20, 8),
            function("intersect", ShaderStage::INTERSECTION, 0, 0),
            function("missed", ShaderStage::MISS, 20, 0),
            function("call", ShaderStage::CALLABLE, 20, 0),
            function("helper", ShaderStage::LIBRARY, 0, 0),
        ];
        assert_eq!(functions, expected);
        let uses = |name: &str| {
            let function = data.functions.iter().find(|function| function.unmangled_name == name).unwrap();
            let names = function.resources.iter().map(|row| data.resources.get(row).unwrap().name.to_string());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names.join(" ")
        };
        let used = ["generate", "closest", "any", "missed"].map(uses);
        assert_eq!(used, ["View image scene", "Local", "", "View"]);
        let local = data.resources.iter().find(|resource| resource.name == "Local").unwrap();
        let local = (local.class, local.kind, local.space, local.lower, local.upper);
        assert_eq!(local, (ResourceClass::CBV, DxilResourceKind::CBUFFER, 1, 0, 0));

        let subobject = |name: &str| data.subobjects.iter().find(|subobject| subobject.name == name).unwrap();
        assert_eq!(data.subobjects.len(), 9);
        assert_eq!(subobject("config").content, SubobjectContent::StateObjectConfig { flags: 1 });
        let config = SubobjectContent::ShaderConfig { max_payload_bytes: 32, max_attribute_bytes: 8 };
        assert_eq!(subobject("shader_config").content, config);
        assert_eq!(subobject("pipeline").content, SubobjectContent::PipelineConfig { max_recursion: 2 });
        let pipeline_1 = SubobjectContent::PipelineConfig1 { max_recursion: 4, flags: 0x100 };
        assert_eq!(subobject("pipeline_1").content, pipeline_1);
        let SubobjectContent::HitGroup { kind, any_hit, closest_hit, intersection } = subobject("boxes").content else {
            panic!()
        };
        assert_eq!(kind, HitGroupKind::PROCEDURAL_PRIMITIVE);
        assert_eq!([any_hit, closest_hit, intersection].map(|name| name.to_string()), ["any", "closest", "intersect"]);
        let SubobjectContent::Association { subobject: name, exports } = subobject("association").content else {
            panic!()
        };
        assert_eq!(name, "local_signature");
        assert!(exports.iter().map(|name| name.to_string()).eq(["closest", "missed"]));
        let signature = subobject("local_signature").root_signature().unwrap();
        let constants = RootParameterKind::Constants { register: 0, space: 1, count: 4 };
        assert_eq!((signature.flags & 0x80, &signature.parameters[0].kind), (0x80, &constants));
        assert_eq!(subobject("global_signature").root_signature().unwrap().parameters.len(), 3);
    }
}

#[test]
fn debug_information_inside_and_apart() {
    let source = data!("dxil/debug_information/debug_information.hlsl");
    for (bytes, whole) in [(PDB, true), (SLIM, false)] {
        let sources = content!(bytes, SRCI, SourceInfo);
        let files: Vec<_> = sources.files().collect();
        assert_eq!((files.len(), files[0].name.to_string().as_str()), (1, "debug_information.hlsl"));
        assert_eq!((files[0].text, sources.compression()), (Some(source), Some(Compression::ZLIB)));
        let arguments: Vec<_> = sources.arguments.iter().map(|(a, b)| format!("{a} {b}")).collect();
        for argument in ["T ps_6_0", "E main", "D LEVEL=2", if whole { "Zi " } else { "Zs " }] {
            assert!(arguments.iter().any(|found| found == argument), "{arguments:?}");
        }
        let version = content!(bytes, VERS, CompilerVersion);
        assert_eq!((version.version, version.commit.to_string().as_str()), ((1, 7), "d66bdf94"));
        assert!(!version.custom.is_empty() && version.commits > 0);
        assert_eq!(dxbc(bytes).part(FourCc::ILDB).is_some(), whole);
        assert_eq!(content!(bytes, HASH, ShaderHash).includes_source(), !whole, "-Zss");
    }
    for bytes in [EMBEDDED, PDB, SLIM] {
        let name = content!(bytes, ILDN, DebugName);
        let hash = content!(bytes, HASH, ShaderHash);
        assert_eq!(name.name.to_string(), format!("{}.pdb", hash.digest));
    }
    let (with, without) = (content!(EMBEDDED, ILDB, DxilProgram), content!(EMBEDDED, DXIL, DxilProgram));
    assert_eq!((with.profile(), with.part), (without.profile(), FourCc::ILDB));
    assert!(with.bitcode.len() > without.bitcode.len());
}
