use super::*;
use crate::container::dxbc::{
    DxilResourceKind, FeatureFlags, Interpolation, RootParameterKind, SemanticKind, ShaderStage,
};
use crate::container::name::Name;
use crate::container::reader::truncated;

/// Absolute offset of the data in these tests.
const BASE: usize = 0x88;
const NULL: u32 = u32::MAX;

fn parse(data: &[u8]) -> Result<RuntimeData<'_>, ContainerError> {
    RuntimeData::parse(&Part { name: FourCc::RDAT, offset: BASE - 8, data })
}

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// Sub-parts, one behind the other, and the absolute offset of the data of each.
fn part(sub_parts: &[(u32, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let mut data = bytes(&[0x10, sub_parts.len() as u32]);
    let mut offset = 8 + 4 * sub_parts.len();
    for (_, body) in sub_parts {
        data.extend((offset as u32).to_le_bytes());
        offset += 8 + body.len();
    }
    let mut offsets = Vec::new();
    for (kind, body) in sub_parts {
        data.extend(bytes(&[*kind, body.len() as u32]));
        offsets.push(BASE + data.len());
        data.extend(body);
    }
    (data, offsets)
}

fn table(kind: u32, stride: u32, records: &[u8]) -> (u32, Vec<u8>) {
    assert_eq!(records.len() % stride as usize, 0);
    (kind, [bytes(&[records.len() as u32 / stride, stride]), records.to_vec()].concat())
}

/// "": 0, "f": 1, "g": 3, "buffer": 5.
fn strings() -> (u32, Vec<u8>) {
    (STRINGS, b"\0f\0g\0buffer\0".to_vec())
}

const RESOURCE: [u32; 8] = [1, 12, 2, 3, 4, 5, 5, 0x12];

/// A function "f", "g" with resources from `resources` and dependencies from `dependencies`.
fn function(resources: u32, dependencies: u32) -> Vec<u32> {
    vec![1, 3, resources, dependencies, 10, 20, 8, 0x11, 1, 1 << 10, 0x000a_0063]
}

fn names(list: NameList<'_>) -> Vec<String> {
    list.iter().map(|name| name.to_string()).collect()
}

#[test]
fn functions_and_their_resources() {
    let indices = (INDICES, bytes(&[2, 1, 0, 1, 3]));
    let resources = table(3, 32, &bytes(&[RESOURCE, [2, 13, 0, 0, 0, 0, 1, 0]].concat()));
    let functions = table(4, 44, &bytes(&[function(0, 3), function(NULL, NULL)].concat()));
    let (data, _) = part(&[strings(), indices, resources, functions]);
    let data = parse(&data).unwrap();

    let function = data.functions.get(Row::new(0)).unwrap();
    assert_eq!((function.name, function.unmangled_name), (Name::new(b"f"), Name::new(b"g")));
    assert_eq!((function.stage, function.min_target), (ShaderStage::CLOSEST_HIT, 0x000a_0063));
    assert_eq!((function.payload_bytes, function.attribute_bytes, function.stage_mask), (20, 8, 1 << 10));
    assert_eq!((function.features, function.extension), (FeatureFlags(0x1_0000_0011), None));
    assert_eq!(names(function.dependencies), ["g"]);
    let used: Vec<_> = function.resources.iter().map(|row| data.resources.get(row).unwrap()).collect();
    let resource = Resource {
        class: ResourceClass::UAV,
        kind: DxilResourceKind::STRUCTURED_BUFFER,
        id: 2,
        space: 3,
        lower: 4,
        upper: 5,
        name: Name::new(b"buffer"),
        flags: 0x12,
    };
    assert_eq!((used[0].class, used[1]), (ResourceClass::CBV, resource));

    let other = data.functions.iter().nth(1).unwrap();
    assert!(other.resources.is_empty() && other.dependencies.is_empty());
    assert_eq!((data.functions.len(), data.functions.get(Row::new(2))), (2, None));
    assert_eq!((data.strings().len(), data.indices().len(), data.raw().len()), (12, 5, 0));
    assert!(data.pdbs.is_empty() && data.unknown.is_empty());
    assert!(format!("{data:?}").contains("buffer"));
}

#[test]
fn functions_of_validator_1_8_are_longer() {
    let extended = |stage: u32, row: u32| {
        let mut fields = function(NULL, NULL);
        fields[4] = stage;
        fields.extend([0x0011_2004, row]);
        fields
    };
    let stages = [
        (15, StageRow::Node(Row::new(0))),
        (1, StageRow::Vertex(Row::new(0))),
        (0, StageRow::Pixel(Row::new(0))),
        (3, StageRow::Hull(Row::new(0))),
        (4, StageRow::Domain(Row::new(0))),
        (2, StageRow::Geometry(Row::new(0))),
        (5, StageRow::Compute(Row::new(0))),
        (13, StageRow::Mesh(Row::new(0))),
        (14, StageRow::Amplification(Row::new(0))),
        (6, StageRow::Unknown(0)),
    ];
    let sizes = [(11, 20), (14, 16), (15, 8), (16, 48), (17, 40), (18, 28), (19, 8), (20, 48), (21, 12)];
    for (stage, row) in stages {
        let functions = table(4, 52, &bytes(&[extended(stage, 0), extended(stage, NULL)].concat()));
        let (data, offsets) = part(&[functions.clone(), (STRINGS, strings().1)]);
        if !matches!(row, StageRow::Unknown(_)) {
            let error = invalid("RDAT function stage information", 0, offsets[0] + 8);
            assert_eq!(parse(&data), Err(error), "{stage}: there is no such table");
        }
        let mut sub_parts = vec![strings(), functions, (INDICES, bytes(&[0]))];
        sub_parts.extend(sizes.map(|(kind, size)| table(kind, size, &vec![0; size as usize])));
        let (data, _) = part(&sub_parts);
        let data = parse(&data).unwrap();
        let [first, second] = [0, 1].map(|i| data.functions.get(Row::new(i)).unwrap().extension.unwrap());
        assert_eq!((first.min_wave_lanes, first.max_wave_lanes, first.flags), (4, 32, 0x11));
        assert_eq!((first.info, second.info), (row, StageRow::None));
    }
}

#[test]
fn subobjects_of_every_kind() {
    // A root signature of version 1.1 with two root constants.
    let signature = bytes(&[2, 1, 24, 0, 0, 0x80, 1, 0, 36, 3, 2, 5]);
    let kinds: [[u32; 6]; 9] = [
        [0, 1, 4, 0, 0, 0],
        [1, 1, 4, 48, 0, 0],
        [2, 1, 4, 48, 0, 0],
        [8, 1, 3, 0, 0, 0],
        [9, 1, 32, 8, 0, 0],
        [10, 1, 2, 0, 0, 0],
        [11, 1, 1, 1, 3, 0],
        [12, 1, 4, 0x100, 0, 0],
        [99, 1, 1, 2, 3, 4],
    ];
    let raw = (RAW, [vec![9; 4], signature].concat());
    let indices = (INDICES, bytes(&[2, 1, 3]));
    let (data, _) = part(&[strings(), indices, raw, table(6, 24, &bytes(&kinds.concat()))]);
    let data = parse(&data).unwrap();
    let found: Vec<_> = data.subobjects.iter().collect();
    assert!(found.iter().all(|subobject| subobject.name == "f"));
    assert_eq!(found[0].content, SubobjectContent::StateObjectConfig { flags: 4 });
    for (subobject, global) in [(found[1], true), (found[2], false)] {
        assert_eq!(matches!(subobject.content, SubobjectContent::GlobalRootSignature(_)), global);
        let signature = subobject.root_signature().unwrap();
        let constants = RootParameterKind::Constants { register: 3, space: 2, count: 5 };
        assert_eq!((signature.flags, &signature.parameters[0].kind), (0x80, &constants));
    }
    let SubobjectContent::Association { subobject, exports } = found[3].content else { panic!("{:?}", found[3]) };
    assert_eq!((subobject, names(exports)), (Name::new(b"g"), vec!["f".to_string(), "g".to_string()]));
    let config = SubobjectContent::ShaderConfig { max_payload_bytes: 32, max_attribute_bytes: 8 };
    assert_eq!(found[4].content, config);
    assert_eq!(found[5].content, SubobjectContent::PipelineConfig { max_recursion: 2 });
    let hit_group = SubobjectContent::HitGroup {
        kind: HitGroupKind::PROCEDURAL_PRIMITIVE,
        any_hit: Name::new(b"f"),
        closest_hit: Name::new(b"g"),
        intersection: Name::default(),
    };
    assert_eq!(found[6].content, hit_group);
    assert_eq!(found[7].content, SubobjectContent::PipelineConfig1 { max_recursion: 4, flags: 0x100 });
    let unknown = SubobjectContent::Unknown { kind: 99, bytes: *bytes(&[1, 2, 3, 4]).as_array().unwrap() };
    assert_eq!((found[8].content, found[8].root_signature()), (unknown, None));
}

#[test]
fn work_graphs() {
    let indices = (INDICES, bytes(&[1, 0, 2, 0, 1, 3, 8, 4, 2, 0]));
    let ids = table(7, 8, &bytes(&[1, 5, 3, 6]));
    let io: [[u32; 2]; 10] =
        [[1, 1], [2, 10], [3, 11], [4, 12], [5, 0x0016_0004], [6, 13], [7, 1], [8, 4], [9, 14], [77, 15]];
    let function: [[u32; 2]; 9] = [[1, 0], [2, 5], [3, 1], [4, 5], [5, 3], [6, 9], [7, 5], [78, 16], [1, NULL]];
    let ios = table(10, 8, &bytes(&[0x146, 2, 0x61, NULL]));
    let nodes = table(11, 20, &bytes(&[2, 128, 0, 2, NULL]));
    let (data, _) = part(&[
        strings(),
        indices,
        ids,
        table(8, 8, &bytes(&io.concat())),
        table(9, 8, &bytes(&function.concat())),
        ios,
        nodes,
    ]);
    let data = parse(&data).unwrap();
    assert_eq!(data.node_ids.get(Row::new(1)), Some(NodeId { name: Name::new(b"g"), index: 6 }));
    let grid = RecordDispatchGrid { offset: 4, components: 2, component_type: 5 };
    let expected = [
        NodeIoAttribute::Output(Some(Row::new(1))),
        NodeIoAttribute::MaxRecords(10),
        NodeIoAttribute::MaxRecordsSharedWith(11),
        NodeIoAttribute::RecordBytes(12),
        NodeIoAttribute::RecordDispatchGrid(grid),
        NodeIoAttribute::OutputArraySize(13),
        NodeIoAttribute::AllowSparseNodes(1),
        NodeIoAttribute::RecordAlignment(4),
        NodeIoAttribute::MaxRecordsPerNode(14),
        NodeIoAttribute::Unknown { kind: 77, value: 15 },
    ];
    assert!(data.node_io_attributes.iter().eq(expected));
    let grid = data.indices().range(6, 3).unwrap();
    let expected = [
        NodeFunctionAttribute::Id(Some(Row::new(0))),
        NodeFunctionAttribute::Threads(grid),
        NodeFunctionAttribute::SharesInputOf(Some(Row::new(1))),
        NodeFunctionAttribute::DispatchGrid(grid),
        NodeFunctionAttribute::MaxRecursion(3),
        NodeFunctionAttribute::LocalRootArguments(9),
        NodeFunctionAttribute::MaxDispatchGrid(grid),
        NodeFunctionAttribute::Unknown { kind: 78, value: 16 },
        NodeFunctionAttribute::Id(None),
    ];
    assert!(data.node_function_attributes.iter().eq(expected));
    let io = data.node_ios.get(Row::new(0)).unwrap();
    assert_eq!((io.kind(), io.flags & 0x100, io.attributes.len()), (NodeIoKind::GROUP_OUTPUT, 0x100, 2));
    let node = data.node_shaders.get(Row::new(0)).unwrap();
    assert_eq!((node.launch, node.group_shared_bytes), (LaunchType::COALESCING, 128));
    assert_eq!((node.attributes.len(), node.outputs.len(), node.inputs.len()), (1, 2, 0));
}

#[test]
fn stages_and_their_signatures() {
    let element = [bytes(&[5, 0]), vec![16, 9, 2, 3, 0b10_01_10, 0x53, 0, 0]].concat();
    let indices = (INDICES, bytes(&[2, 7, 8, 1, 0, 3, 8, 4, 2]));
    let raw = (RAW, vec![1, 2, 3, 4, 5, 6, 7, 8]);
    let vertex = bytes(&[3, NULL, 0, 4]);
    let pixel = bytes(&[3, NULL]);
    let hull = bytes(&[3, NULL, 3, 0, 4, 4, 4, 0, 8, 8, 0, 0x0403_0201]);
    let domain = bytes(&[3, 3, 3, 0, 4, 4, 4, 0, 8, 0x0203]);
    let geometry = bytes(&[3, 3, 0, 4, 4, 4, 0x0f06_0503]);
    let compute = bytes(&[5, 512]);
    let mesh = bytes(&[3, NULL, 0, 4, 4, 4, 5, 512, 16, 80, 0x0008_0018, 2]);
    let amplification = bytes(&[NULL, 64, 80]);
    let tables = [
        (13, element),
        (14, vertex),
        (15, pixel),
        (16, hull),
        (17, domain),
        (18, geometry),
        (19, compute),
        (20, mesh),
        (21, amplification),
    ];
    let mut sub_parts = vec![strings(), indices, raw];
    sub_parts.extend(tables.map(|(kind, record)| table(kind, record.len() as u32, &record)));
    let (data, _) = part(&sub_parts);
    let data = parse(&data).unwrap();

    let element = data.elements.get(Row::new(0)).unwrap();
    assert_eq!((element.semantic, element.indices.iter().collect::<Vec<_>>()), (Name::new(b"buffer"), vec![7, 8]));
    assert_eq!((element.kind, element.component_type), (SemanticKind::TARGET, DxilComponentType::F32));
    assert_eq!((element.interpolation, element.start_row, element.masks), (Interpolation::LINEAR, 3, 0x53));
    assert_eq!((element.columns(), element.start_column(), element.stream()), (3, 1, 2));

    let (low, high) = ([1, 2, 3, 4].as_slice(), [5, 6, 7, 8].as_slice());
    let vertex = data.vertex_shaders.get(Row::new(0)).unwrap();
    assert_eq!((vertex.inputs.len(), vertex.outputs.len(), vertex.view_to_outputs), (1, 0, low));
    let pixel = data.pixel_shaders.get(Row::new(0)).unwrap();
    assert_eq!((pixel.inputs.len(), pixel.outputs.len()), (1, 0));
    let hull = data.hull_shaders.get(Row::new(0)).unwrap();
    assert_eq!((hull.inputs.len(), hull.outputs.len(), hull.patch_constants.len()), (1, 0, 1));
    assert_eq!((hull.view_to_outputs, hull.view_to_patch), (low, high));
    assert_eq!((hull.inputs_to_outputs.len(), hull.inputs_to_patch.len()), (8, 0));
    assert_eq!((hull.input_control_points, hull.output_control_points, hull.domain, hull.output), (1, 2, 3, 4));
    let domain = data.domain_shaders.get(Row::new(0)).unwrap();
    assert_eq!((domain.inputs.len(), domain.outputs.len(), domain.patch_constants.len()), (1, 1, 1));
    assert_eq!((domain.view_to_outputs, domain.inputs_to_outputs, domain.patch_to_outputs.len()), (low, high, 8));
    assert_eq!((domain.input_control_points, domain.domain), (3, 2));
    let geometry = data.geometry_shaders.get(Row::new(0)).unwrap();
    assert_eq!((geometry.inputs.len(), geometry.outputs.len()), (1, 1));
    assert_eq!((geometry.view_to_outputs, geometry.inputs_to_outputs), (low, high));
    assert_eq!((geometry.input, geometry.output, geometry.max_vertices, geometry.stream_mask), (3, 5, 6, 15));
    let compute = data.compute_shaders.get(Row::new(0)).unwrap();
    assert_eq!(compute.group_shared_bytes, 512);
    let mesh = data.mesh_shaders.get(Row::new(0)).unwrap();
    assert_eq!((mesh.outputs.len(), mesh.primitive_outputs.len()), (1, 0));
    assert_eq!((mesh.view_to_outputs, mesh.view_to_primitives), (low, high));
    assert_eq!((mesh.group_shared_bytes, mesh.view_dependent_bytes, mesh.payload_bytes), (512, 16, 80));
    assert_eq!((mesh.max_vertices, mesh.max_primitives, mesh.topology), (24, 8, 2));
    let amplification = data.amplification_shaders.get(Row::new(0)).unwrap();
    assert_eq!((amplification.group_shared_bytes, amplification.payload_bytes), (64, 80));

    assert_eq!(data.threads(StageRow::Compute(Row::new(0))), Some([8, 4, 2]));
    assert_eq!(data.threads(StageRow::Mesh(Row::new(0))), Some([8, 4, 2]));
    assert_eq!(data.threads(StageRow::Amplification(Row::new(0))), Some([1, 1, 1]));
    assert_eq!(data.threads(StageRow::Compute(Row::new(1))), None);
    assert_eq!(data.threads(StageRow::None), None);
}

#[test]
fn what_a_debug_file_says() {
    let text = vec![b'x'; 10_000];
    let strings = (STRINGS, [b"\0f\0g\0buffer\0".to_vec(), text.clone(), vec![0]].concat());
    let indices = (INDICES, bytes(&[1, 0, 2, 1, 5]));
    let raw = (RAW, vec![1, 2, 3, 4]);
    let sources = table(0x10002, 8, &bytes(&[1, 12]));
    let libraries = table(0x10003, 12, &bytes(&[3, 2, 2]));
    let pdb = table(0x10001, 44, &bytes(&[0, 0, 2, 0, 4, 5, 7, 1, 2, 4, 0]));
    let (data, _) = part(&[strings, indices, raw, sources, libraries, pdb]);
    let data = parse(&data).unwrap();
    let pdb = data.pdbs.get(Row::new(0)).unwrap();
    let source = data.pdb_sources.get(pdb.sources.iter().next().unwrap()).unwrap();
    assert_eq!((source.name, source.text), (Name::new(b"f"), text.as_slice()), "longer than any name");
    let library = data.pdb_libraries.get(pdb.libraries.iter().next().unwrap()).unwrap();
    assert_eq!((library.name, library.data), (Name::new(b"g"), [3, 4].as_slice()));
    assert_eq!(names(pdb.arguments), ["f", "buffer"]);
    assert_eq!((pdb.hash, pdb.name, pdb.toolchain), ([1, 2, 3, 4].as_slice(), Name::new(b"buffer"), 7));
    assert_eq!((pdb.toolchain_data, pdb.container), ([2, 3].as_slice(), [].as_slice()));
}

#[test]
fn what_is_not_known_is_kept_or_passed_over() {
    let longer = [RESOURCE.as_slice(), &[0xdead]].concat();
    let (data, _) = part(&[strings(), (12, vec![1, 2]), table(3, 36, &bytes(&longer)), (0x99, vec![])]);
    let data = parse(&data).unwrap();
    assert_eq!(data.unknown, [(12, [1, 2].as_slice()), (0x99, [].as_slice())]);
    assert_eq!(data.resources.get(Row::new(0)).unwrap().flags, 0x12);
    let (empty, _) = part(&[table(3, 1, &[])]);
    assert!(parse(&empty).unwrap().resources.is_empty());
}

#[test]
fn each_bad_field_of_the_headers_is_an_error_with_its_offset() {
    let (good, offsets) = part(&[strings(), table(3, 32, &bytes(&RESOURCE))]);
    assert!(parse(&good).is_ok());
    let size = good.len();
    let error = |at: usize, value: u32| {
        let mut data = good.clone();
        data[at..at + 4].copy_from_slice(&value.to_le_bytes());
        parse(&data).unwrap_err()
    };
    let max = u32::MAX as usize;
    assert_eq!(error(0, 1), invalid("RDAT version", 1, BASE));
    let limit = limits::RDAT_SUB_PARTS;
    assert_eq!(error(4, u32::MAX), over_limit("RDAT sub-part count", max as u64, limit.into(), BASE + 4));
    assert_eq!(error(4, 100), truncated("RDAT index", BASE + 8, 400, size - 8));
    assert_eq!(error(8, u32::MAX), truncated("RDAT sub-part header", BASE + max, 8, 0));
    assert_eq!(error(20, u32::MAX), truncated("RDAT sub-part", BASE + 24, max, size - 24));
    let table = offsets[1];
    assert_eq!(error(table - BASE - 8, 1), invalid("repeated RDAT sub-part", 1, table - 8));
    let limit = limits::RDAT_RECORDS;
    let at = table - BASE;
    assert_eq!(error(at, u32::MAX), over_limit("RDAT record count", max as u64, limit.into(), table));
    assert_eq!(error(at, 2), truncated("RDAT records", table + 8, 64, 32));
    assert_eq!(error(at + 4, 31), invalid("RDAT record stride", 31, table + 4));
    assert_eq!(error(at + 4, u32::MAX), truncated("RDAT records", table + 8, max, 32));
    for end in 0..size {
        assert!(parse(&good[..end]).is_err(), "{end}");
    }
}

#[test]
fn references_that_lead_nowhere_are_errors_with_their_offset() {
    let error = |indices: &[u32], resources: u32, dependencies: u32| {
        let functions = table(4, 44, &bytes(&function(resources, dependencies)));
        let (data, offsets) = part(&[strings(), (INDICES, bytes(indices)), functions, table(3, 32, &bytes(&RESOURCE))]);
        (parse(&data).unwrap_err(), offsets[1])
    };
    let (found, at) = error(&[1, 1], 0, NULL);
    assert_eq!(found, invalid("RDAT function resources", 1, at + 4));
    let (found, at) = error(&[2, 0], 0, NULL);
    assert_eq!(found, truncated("RDAT function resources", at + 4, 8, 4));
    let (found, at) = error(&[NULL], 0, NULL);
    assert_eq!(found, truncated("RDAT function resources", at + 4, 4 * NULL as usize, 0));
    let (found, at) = error(&[1, 0], 2, NULL);
    assert_eq!(found, truncated("RDAT function resources", at + 8, 4, 0));
    let (found, at) = error(&[1, 0], NULL - 1, NULL);
    assert_eq!(found, truncated("RDAT function resources", at + 4 * (NULL - 1) as usize, 4, 0));
    let (found, _) = error(&[1, 12], NULL, 0);
    assert!(matches!(found, ContainerError::Truncated { what: "RDAT function dependencies", needed: 1, .. }));

    let (data, _) = part(&[table(4, 44, &bytes(&function(NULL, NULL)))]);
    assert_eq!(parse(&data), Err(truncated("RDAT function name", BASE + 1, 1, 0)), "there are no strings at all");
    let (data, offsets) = part(&[(STRINGS, b"\0f".to_vec()), table(4, 44, &bytes(&function(NULL, NULL)))]);
    assert_eq!(parse(&data), Err(truncated("RDAT function name", offsets[0] + 1, 2, 1)));
    let (data, offsets) = part(&[(STRINGS, b"\0f".to_vec()), table(0x10002, 8, &bytes(&[0, 1]))]);
    assert_eq!(parse(&data), Err(truncated("RDAT source text", offsets[0] + 1, 2, 1)));
    let (data, offsets) = part(&[strings(), (RAW, vec![0; 4]), table(0x10003, 12, &bytes(&[0, 1, 4]))]);
    assert_eq!(parse(&data), Err(truncated("RDAT library data", offsets[1] + 1, 4, 3)));
    let (data, offsets) = part(&[table(9, 8, &bytes(&[5, 1, 1, 0]))]);
    assert_eq!(parse(&data), Err(invalid("RDAT node name", 0, offsets[0] + 16)));
    let (data, offsets) = part(&[table(8, 8, &bytes(&[1, 3]))]);
    assert_eq!(parse(&data), Err(invalid("RDAT node output", 3, offsets[0] + 8)));
    let (data, offsets) = part(&[strings(), (RAW, vec![7; 8]), table(6, 24, &bytes(&[1, 0, 4, 4, 0, 0]))]);
    assert_eq!(parse(&data), Err(invalid("root signature version", 0x0707_0707, offsets[1] + 4)));
}

#[test]
fn sub_parts_cannot_multiply_one_table() {
    // Three entries of the index name the same long sub-part; each reads its type from it.
    let (mut data, _) = part(&[(0x99, vec![0; 64]), (0x98, vec![]), (0x97, vec![])]);
    let first = data[8..12].to_vec();
    data[12..16].copy_from_slice(&first);
    assert_eq!(parse(&data), Err(over_limit("RDAT sub-part size", 72, (data.len() - 72) as u64, BASE + 12)));
}

#[test]
fn records_cannot_multiply_one_array() {
    let count = 10_000;
    let mut array = vec![count];
    array.extend(vec![0; count as usize]);
    let functions = bytes(&function(0, NULL).repeat(2000));
    let sub_parts = [strings(), (INDICES, bytes(&array)), table(3, 32, &bytes(&RESOURCE)), table(4, 44, &functions)];
    let (data, offsets) = part(&sub_parts);
    let record = limits::RDAT_REFERENCES / u64::from(count);
    let needed = (record + 1) * u64::from(count);
    let error =
        over_limit("RDAT function resources", needed, limits::RDAT_REFERENCES, offsets[3] + 8 + 44 * record as usize);
    assert_eq!(parse(&data), Err(error));
}
