use super::*;
use crate::container::dxbc::{
    FourCc, InputPrimitive, MeshTopology, PrimitiveTopology, TessellatorDomain, TessellatorOutput,
};

/// Absolute offset of the data in these tests.
const BASE: usize = 0x88;

fn parse(data: &[u8]) -> Result<PipelineState<'_>, ContainerError> {
    PipelineState::parse(&Part { name: FourCc::PSV0, offset: BASE - 8, data })
}

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// The parts of a `PSV0`, to be put together.
struct Builder {
    stage_bytes: [u32; 4],
    /// Stage, view, two bytes of the stage, three element counts, input vectors, four output vectors.
    version_1: [u8; 12],
    /// What later versions add: threads, entry, group-shared bytes.
    later: Vec<u32>,
    resources: Vec<u8>,
    strings: Vec<u8>,
    indices: Vec<u32>,
    elements: Vec<u8>,
    masks: Vec<u32>,
}

impl Builder {
    fn new(stage: ShaderStage) -> Self {
        let mut version_1 = [0; 12];
        version_1[0] = stage.0 as u8;
        Self {
            stage_bytes: [0; 4],
            version_1,
            later: Vec::new(),
            resources: bytes(&[0]),
            strings: vec![0; 4],
            indices: Vec::new(),
            elements: Vec::new(),
            masks: Vec::new(),
        }
    }

    fn build(&self) -> Vec<u8> {
        let mut data = bytes(&[36 + 4 * self.later.len() as u32]);
        data.extend(bytes(&self.stage_bytes));
        data.extend(bytes(&[16, 64]));
        data.extend(self.version_1);
        data.extend(bytes(&self.later));
        data.extend(&self.resources);
        data.extend(bytes(&[self.strings.len() as u32]));
        data.extend(&self.strings);
        data.extend(bytes(&[self.indices.len() as u32]));
        data.extend(bytes(&self.indices));
        data.extend(&self.elements);
        data.extend(bytes(&self.masks));
        data
    }
}

#[test]
fn version_0_is_sizes_and_resources() {
    let data = bytes(&[24, 1, 0, 0, 0, 4, u32::MAX, 2, 16, 2, 1, 3, 4, 1, 0, 7, u32::MAX]);
    let state = parse(&data).unwrap();
    assert_eq!((state.version, state.min_wave_lanes, state.max_wave_lanes), (0, 4, u32::MAX));
    assert_eq!((state.stage(), state.signatures, state.threads), (None, None, None));
    assert_eq!(state.stage_info(ShaderStage::VERTEX), StageInfo::Vertex { position: true });
    let resource = |resource_type, space, lower, upper| PipelineResource {
        resource_type,
        space,
        lower,
        upper,
        kind: None,
        flags: 0,
    };
    let expected =
        [resource(PipelineResourceType::CBV, 1, 3, 4), resource(PipelineResourceType::SAMPLER, 0, 7, u32::MAX)];
    assert_eq!(state.resources, expected);
    assert_eq!((state.trailing, state.missing_mask_bytes), ([].as_slice(), 0));
    let mut longer = data.clone();
    longer.push(9);
    assert_eq!(parse(&longer).unwrap().trailing, [9]);
}

#[test]
fn each_version_adds_fields() {
    let later = [8, 4, 2, 1, 512, 99];
    let mut builder = Builder::new(ShaderStage::COMPUTE);
    builder.strings = b"\0main\0\0\0".to_vec();
    for (count, version) in [(0, 1), (1, 1), (3, 2), (4, 3), (5, 4), (6, 4)] {
        builder.later = later[..count].to_vec();
        let data = builder.build();
        let state = parse(&data).unwrap();
        assert_eq!((state.version, state.stage()), (version, Some(ShaderStage::COMPUTE)));
        assert_eq!(state.threads, (version >= 2).then_some([8, 4, 2]));
        assert_eq!(state.entry, (version >= 3).then_some(Name::new(b"main")));
        assert_eq!(state.group_shared_bytes, (version >= 4).then_some(512));
        assert_eq!(state.strings, builder.strings);
        assert_eq!((state.min_wave_lanes, state.max_wave_lanes), (16, 64));
        assert_eq!((state.trailing.len(), state.missing_mask_bytes), (0, 0));
    }
}

#[test]
fn records_may_be_longer_than_what_is_known_of_them() {
    let mut builder = Builder::new(ShaderStage::PIXEL);
    builder.resources = bytes(&[1, 28, 6, 0, 1, 2, 11, 1, 0xdead]);
    builder.version_1[4] = 1;
    builder.strings = b"\0UV\0".to_vec();
    builder.indices = vec![3];
    builder.elements = bytes(&[20, 1, 0, 0x0042_0001, 0x0203, 0xdead]);
    let data = builder.build();
    let state = parse(&data).unwrap();
    assert_eq!(state.resources[0].kind, Some(DxilResourceKind::RAW_BUFFER));
    assert_eq!((state.resources[0].flags, state.resources[0].resource_type), (1, PipelineResourceType::UAV_TYPED));
    assert_eq!(state.inputs[0].semantic, "UV");
    assert_eq!(state.trailing, []);
}

#[test]
fn elements_of_three_signatures() {
    let mut builder = Builder::new(ShaderStage::MESH);
    builder.version_1[4..7].copy_from_slice(&[0, 1, 2]);
    builder.strings = b"\0UV\0TINT\0\0\0\0".to_vec();
    builder.indices = vec![7, 8, 9];
    builder.elements = bytes(&[16]);
    builder.elements.extend(bytes(&[1, 1]));
    builder.elements.extend([2, 5, 0x40 | 2 << 4 | 2, 0, 6, 3, 0x10 | 0b11, 0]);
    builder.elements.extend(bytes(&[4, 0]));
    builder.elements.extend([1, 0xff, 4, 30, 1, 1, 0, 0]);
    builder.elements.extend(bytes(&[0, 0]));
    builder.elements.extend([0, 1, 0x41, 4, 1, 1, 0x30, 0]);
    let data = builder.build();
    let state = parse(&data).unwrap();
    assert_eq!(state.inputs, []);
    let element = &state.outputs[0];
    assert_eq!((element.semantic, element.columns, element.position), (Name::new(b"UV"), 2, Some((5, 2))));
    assert_eq!(element.indices.iter().collect::<Vec<_>>(), [8, 9]);
    assert_eq!((element.kind, element.component_type), (SemanticKind::ARBITRARY, StoredType::F16));
    assert_eq!((element.interpolation, element.dynamic_mask, element.stream), (Interpolation::LINEAR_CENTROID, 3, 1));
    let element = &state.patch_or_primitive[0];
    assert_eq!((element.semantic, element.columns, element.position), (Name::new(b"TINT"), 4, None));
    assert_eq!((element.kind, element.indices.len()), (SemanticKind::CULL_PRIMITIVE, 1));
    let element = &state.patch_or_primitive[1];
    assert_eq!((element.semantic.is_empty(), element.indices.is_empty(), element.stream), (true, true, 3));
    assert_eq!(state.semantic_indices.len(), 3);
}

#[test]
fn what_each_stage_says() {
    let info = |stage, stage_bytes, more: [u8; 2]| {
        let mut builder = Builder::new(stage);
        builder.stage_bytes = stage_bytes;
        builder.version_1[2..4].copy_from_slice(&more);
        parse(&builder.build()).unwrap().stage_info(stage)
    };
    assert_eq!(info(ShaderStage::VERTEX, [1, 0, 0, 0], [0; 2]), StageInfo::Vertex { position: true });
    let hull = StageInfo::Hull {
        input_control_points: 3,
        output_control_points: 4,
        domain: TessellatorDomain::QUAD,
        output: TessellatorOutput::TRIANGLE_CCW,
    };
    assert_eq!(info(ShaderStage::HULL, [3, 4, 3, 4], [0; 2]), hull);
    let domain = StageInfo::Domain { input_control_points: 3, position: true, domain: TessellatorDomain::TRIANGLE };
    assert_eq!(info(ShaderStage::DOMAIN, [3, 1, 2, 0], [0; 2]), domain);
    let geometry = StageInfo::Geometry {
        input: InputPrimitive(10),
        output: PrimitiveTopology::TRIANGLE_STRIP,
        stream_mask: 9,
        position: true,
        max_vertices: Some(0x102),
    };
    assert_eq!(info(ShaderStage::GEOMETRY, [10, 5, 9, 1], [2, 1]), geometry);
    assert_eq!(InputPrimitive(10).control_points(), Some(3));
    assert_eq!(InputPrimitive::TRIANGLE.control_points(), None);
    let pixel = StageInfo::Pixel { depth: false, sample_frequency: true };
    assert_eq!(info(ShaderStage::PIXEL, [0x100, 0, 0, 0], [0; 2]), pixel);
    let mesh = StageInfo::Mesh {
        group_shared_bytes: 144,
        view_dependent_bytes: 16,
        payload_bytes: 80,
        max_vertices: 24,
        max_primitives: 8,
        topology: Some(MeshTopology::TRIANGLE),
    };
    assert_eq!(info(ShaderStage::MESH, [144, 16, 80, 8 << 16 | 24], [0, 2]), mesh);
    let amplification = StageInfo::Amplification { payload_bytes: 80 };
    assert_eq!(info(ShaderStage::AMPLIFICATION, [80, 0, 0, 0], [0; 2]), amplification);
    assert_eq!(info(ShaderStage::COMPUTE, [80, 0, 0, 0], [0; 2]), StageInfo::Other);
}

/// How many dwords of masks `stage` has, given whether the view is used and the vectors of inputs, outputs and patch
/// constants.
fn mask_dwords(stage: ShaderStage, view: bool, inputs: u8, outputs: [u8; 4], patch: u8) -> usize {
    let mut builder = Builder::new(stage);
    builder.version_1[1] = view.into();
    builder.version_1[2] = patch;
    builder.version_1[7] = inputs;
    builder.version_1[8..].copy_from_slice(&outputs);
    let missing = parse(&builder.build()).unwrap().missing_mask_bytes;
    assert_eq!(missing % 4, 0);
    builder.masks = vec![0; missing / 4];
    let data = builder.build();
    let state = parse(&data).unwrap();
    assert_eq!((state.missing_mask_bytes, state.trailing), (0, [].as_slice()));
    missing / 4
}

#[test]
fn masks_of_each_stage() {
    let vertex = |view, inputs, outputs| mask_dwords(ShaderStage::VERTEX, view, inputs, [outputs, 9, 9, 9], 3);
    assert_eq!(vertex(false, 2, 8), 8);
    assert_eq!(vertex(false, 2, 9), 16);
    assert_eq!(vertex(true, 2, 9), 18);
    assert_eq!(vertex(true, 0, 9), 2);
    assert_eq!(vertex(true, 2, 0), 0);
    assert_eq!(mask_dwords(ShaderStage::GEOMETRY, true, 1, [1, 0, 8, 9], 3), 1 + 1 + 2 + 4 * (1 + 1 + 2));
    assert_eq!(mask_dwords(ShaderStage::HULL, true, 2, [1, 0, 0, 0], 9), 1 + 2 + 8 + 16);
    assert_eq!(mask_dwords(ShaderStage::DOMAIN, true, 2, [9, 0, 0, 0], 3), 2 + 16 + 4 * 3 * 2);
    assert_eq!(mask_dwords(ShaderStage::MESH, true, 2, [9, 0, 0, 0], 3), 2 + 1);
    assert_eq!(mask_dwords(ShaderStage::PIXEL, false, 255, [255; 4], 3), 4 * 255 * 32);
}

#[test]
fn masks_name_components() {
    let mut builder = Builder::new(ShaderStage::DOMAIN);
    builder.version_1[1] = 1;
    builder.version_1[2] = 1;
    builder.version_1[7] = 1;
    builder.version_1[8] = 9;
    builder.masks = vec![0x8000_0001, 0x8, 1, 0, 2, 0, 4, 0, 0, 8, 0x10, 0, 0x20, 0, 0x40, 0, 0x80, 1];
    let data = builder.build();
    let state = parse(&data).unwrap();
    let found = state.dependencies;
    let list = |mask: ComponentMask<'_>| mask.iter().collect::<Vec<_>>();
    assert_eq!(list(found.view_to_outputs[0]), [0, 31, 35]);
    assert!(found.view_to_outputs[0].contains(35) && !found.view_to_outputs[0].contains(64));
    let outputs = found.inputs_to_outputs[0];
    assert_eq!((outputs.len(), found.inputs_to_outputs[1].is_empty()), (4, true));
    let of: Vec<_> = (0..5).map(|input| list(outputs.of(input))).collect();
    assert_eq!(of, [vec![0], vec![1], vec![2], vec![35], vec![]]);
    assert_eq!(list(found.patch_to_outputs.of(3)), [7, 32]);
    assert_eq!(list(found.patch_to_outputs.of(usize::MAX)), []);
    assert!(found.inputs_to_patch.is_empty());
}

#[test]
fn masks_that_are_cut_are_no_error() {
    let mut builder = Builder::new(ShaderStage::DOMAIN);
    builder.version_1[1] = 1;
    builder.version_1[2] = 1;
    builder.version_1[7] = 1;
    builder.version_1[8] = 1;
    builder.masks = vec![5, 1, 2, 3];
    let data = builder.build();
    let state = parse(&data).unwrap();
    // 1 of the view, 4 of the inputs, 4 of the patch constants.
    assert_eq!(state.missing_mask_bytes, 4 * (9 - 4));
    assert_eq!(state.trailing, bytes(&[1, 2, 3]));
    assert_eq!(state.dependencies.view_to_outputs[0].iter().collect::<Vec<_>>(), [0, 2]);
    assert!(state.dependencies.inputs_to_outputs[0].is_empty() && state.dependencies.patch_to_outputs.is_empty());
    builder.masks = vec![0; 10];
    assert_eq!(parse(&builder.build()).unwrap().trailing, [0; 4]);
}

#[test]
fn each_bad_field_is_an_error_with_its_offset() {
    let mut builder = Builder::new(ShaderStage::PIXEL);
    builder.resources = bytes(&[1, 16, 6, 0, 1, 2]);
    builder.version_1[4] = 1;
    builder.strings = b"\0UV\0".to_vec();
    builder.indices = vec![3];
    builder.elements = bytes(&[16, 1, 0, 0x0042_0001, 0x0203]);
    let good = builder.build();
    assert!(parse(&good).is_ok());
    let error = |at: usize, value: u32| {
        let mut data = good.clone();
        data[at..at + 4].copy_from_slice(&value.to_le_bytes());
        parse(&data).unwrap_err()
    };
    let size = good.len();
    let max = usize::try_from(u32::MAX).unwrap();
    assert_eq!(error(0, 23), invalid("PSV0 runtime information size", 23, BASE));
    assert_eq!(error(0, u32::MAX), truncated("PSV0 runtime information", BASE + 4, max, size - 4));
    // The runtime information ends at 40, the resources at 64, the strings at 72, the indices at 80.
    assert_eq!(error(40, 6), truncated("PSV0 resources", BASE + 48, 96, size - 48));
    assert_eq!(error(44, 15), invalid("PSV0 resource stride", 15, BASE + 44));
    assert_eq!(error(44, u32::MAX), truncated("PSV0 resources", BASE + 48, max, size - 48));
    assert_eq!(error(64, u32::MAX), truncated("PSV0 string table", BASE + 68, max, size - 68));
    assert_eq!(error(72, u32::MAX), truncated("PSV0 semantic indices", BASE + 76, 4 * max, size - 76));
    assert_eq!(error(80, 15), invalid("PSV0 element stride", 15, BASE + 80));
    assert_eq!(error(80, 17), truncated("PSV0 elements", BASE + 84, 17, 16));
    assert_eq!(error(84, 4), truncated("PSV0 semantic name", BASE + 72, 1, 0));
    assert_eq!(error(68, 0x4242_4200), truncated("PSV0 semantic name", BASE + 69, 4, 3));
    assert_eq!(error(88, 1), truncated("PSV0 semantic indices", BASE + 80, 4, 0));
    assert_eq!(error(88, u32::MAX), truncated("PSV0 semantic indices", BASE + 76 + 4 * max, 4, 0));
    assert_eq!(error(92, 2), truncated("PSV0 semantic indices", BASE + 76, 8, 4));
    for end in 0..size {
        assert!(parse(&good[..end]).is_err(), "{end}");
    }
}

#[test]
fn a_table_size_cannot_overflow() {
    let data = bytes(&[24, 0, 0, 0, 0, 0, 0, u32::MAX, u32::MAX]);
    assert!(matches!(parse(&data), Err(ContainerError::Truncated { what: "PSV0 resources", offset: 0xac, .. })));
}
