use super::*;
use crate::container::Name;
use crate::container::reader::{over_limit, truncated};

/// A SPIR-V module of so many words.
fn module(words: u32) -> Vec<u8> {
    (0..words).flat_map(|i| if i == 0 { SPIRV_MAGIC } else { i }.to_le_bytes()).collect()
}

/// A file of these stage sizes and this reflection, each byte of which is written here.
fn file(words: [u16; 5], reflection: &[u8]) -> Vec<u8> {
    let mut bytes = b"VBC\x01\x01".to_vec();
    bytes.extend(words.iter().flat_map(|words| words.to_le_bytes()));
    bytes.extend([0x00, 0x20, 0x80, 0, 0x00, 0x02, 0x81, 0, 0x82, 0]);
    bytes.extend(reflection);
    words.iter().for_each(|&words| bytes.extend(module(words.into())));
    bytes
}

/// No inputs, outputs, bindings, uniforms or attachments.
const NOTHING: [u8; 18] = [0; 18];

/// One of everything.
fn everything(subpass: &[u8]) -> Vec<u8> {
    let lists: [&[u8]; 6] = [
        &[2, 0, 0, 0, 0, 4, 3, 1, 1, 0, 0, 0, 1, 4, 4, 4, 2, 7, 8, 9],
        &[1, 0, 0, 0, 0, 4, 4, 1, 1, 0, 0, 0],
        &[
            3, 0, 0, 0, // the count
            0, 5, 0x10, 0, 1, 2, 4, 4, // sampler
            1, 8, 0x11, 0, 0x40, 1, 5, 6, // writable buffer of 320 bytes an element
            31, 77, 1, 0, 1, 2, 3, 4, // of unknown type
        ],
        &[80, 0, 0x11, 0, 2, 0, 0, 0],
        b"\x03mvp\0\0\x04\x04\x04\x01\x05lightH\0\x04\x03\x01\x02",
        subpass,
    ];
    lists.concat()
}

/// What the samples of other tests are: the smallest file, one with everything, and one with the compiler's fault.
pub(crate) fn samples() -> [Vec<u8>; 3] {
    [
        file([5, 0, 0, 0, 6], &NOTHING),
        file([7, 5, 5, 6, 8], &everything(&[2, 0, 0, 0, 2, 4, 0, 0, 1, 1, 0xee, 0xff])),
        file([5, 0, 0, 0, 5], &everything(&[&[2, 0, 0, 0], [0xa5; 96].as_slice()].concat())),
    ]
}

fn reflect(bytes: &[u8]) -> Result<Reflection<'_>, ContainerError> {
    Vbc::parse(bytes)?.reflection()
}

#[test]
fn the_smallest_file() {
    let [bytes, ..] = samples();
    let vbc = Vbc::parse(&bytes).unwrap();
    let empty = Reflection {
        inputs: vec![],
        outputs: vec![],
        bindings: vec![],
        uniform: None,
        subpass_inputs: vec![],
        warning: None,
    };
    assert_eq!(vbc.reflection(), Ok(empty));
    assert_eq!(vbc.tables(), TableSizes { samplers: 8192, images: 128, buffers: 512, ro_texels: 129, rw_texels: 130 });
    let stages: Vec<_> = vbc.stages().map(Result::unwrap).collect();
    let found: Vec<_> = stages.iter().map(|module| (module.stage, module.offset, module.bytes.len())).collect();
    assert_eq!(found, [(VbcStage::Vertex, 43, 20), (VbcStage::Fragment, 63, 24)]);
    assert_eq!(stages[0].words().collect::<Vec<_>>(), [SPIRV_MAGIC, 1, 2, 3, 4]);
    assert_eq!(vbc.stage_list().collect::<Vec<_>>(), [VbcStage::Vertex, VbcStage::Fragment]);
    let rows: Vec<_> = vbc.listing().into_iter().map(|row| (row.name, row.offset, row.size)).collect();
    let expected = [("info", 25, 18), ("vert", 43, 20), ("frag", 63, 24)];
    assert_eq!(rows, expected.map(|(name, offset, size)| (name.to_string(), offset, size)));
}

#[test]
fn every_list_and_field() {
    let [_, bytes, _] = samples();
    let reflection = reflect(&bytes).unwrap();
    let variable =
        |location, base, dimensions, array, reserved| InterfaceVariable { location, base, dimensions, array, reserved };
    let float = VbcBaseType::FLOAT;
    assert_eq!(reflection.inputs, [variable(0, float, [3, 1], 1, [0; 3]), variable(1, float, [4, 4], 2, [7, 8, 9])]);
    assert_eq!(reflection.outputs, [variable(0, float, [4, 1], 1, [0; 3])]);
    let binding = |slot, base, stages, detail| Binding { slot, base, stages: StageMask(stages), detail };
    let texel = BindingDetail::Texel { rank: TexelRank::D2, ty: TexelType::FLOAT, size: 4, components: 4 };
    let expected = [
        binding(0, VbcBaseType::SAMPLER, 0x10, texel),
        binding(1, VbcBaseType::RW_BUFFER, 0x11, BindingDetail::Buffer { size: 320, reserved: [5, 6] }),
        binding(31, VbcBaseType(77), 1, BindingDetail::Unknown([1, 2, 3, 4])),
    ];
    assert_eq!(reflection.bindings, expected);
    let block = reflection.uniform.unwrap();
    assert_eq!((block.size, block.stages.to_string()), (80, "vert|frag".to_string()));
    let member = |name: &'static str, offset, dimensions, array| VbcMember {
        name: Name::new(name.as_bytes()),
        offset,
        base: float,
        dimensions,
        array,
    };
    assert_eq!(block.members, [member("mvp", 0, [4, 4], 1), member("light", 72, [3, 1], 2)]);
    let record = |ty, components, reserved| SubpassInput::Record { ty, components, reserved };
    let expected = [record(TexelType::FLOAT, 4, [0; 2]), record(TexelType::UNSIGNED, 1, [0xee, 0xff])];
    assert_eq!((reflection.subpass_inputs, reflection.warning), (expected.to_vec(), None));
    assert_eq!(Vbc::parse(&bytes).unwrap().stages().filter(Result::is_ok).count(), 5);
}

#[test]
fn masks_print_the_stages_and_what_is_left() {
    assert_eq!(StageMask(0).to_string(), "0x0");
    assert_eq!(StageMask(0x1f).to_string(), "vert|tesc|tese|geom|frag");
    assert_eq!(StageMask(0x82).to_string(), "tesc|0x80");
}

/// The compiler's fault: its object of 48, 56 or 40 bytes stands where the record should.
#[test]
fn subpass_inputs_of_other_sizes_are_read_with_a_warning() {
    for size in [48, 56, 40] {
        let subpass: Vec<u8> = [3, 0, 0, 0].into_iter().chain((0..3 * size as u8).map(|i| i ^ 0x55)).collect();
        let bytes = file([5, 0, 0, 0, 5], &everything(&subpass));
        let reflection = reflect(&bytes).unwrap();
        let offset = bytes.len() - 40 - 3 * size;
        assert_eq!(reflection.warning, Some(Warning::SubpassRecordSize { bytes: size, offset }));
        assert_eq!(reflection.subpass_inputs[1], SubpassInput::Object(&bytes[offset + size..][..size]));
        assert!(reflection.warning.unwrap().to_string().contains(&format!("{size} bytes")));

        // Without SPIR-V behind it, that is not how the bytes are to be read.
        let mut wrong = bytes.clone();
        wrong[offset + 3 * size + 20] = 0;
        assert_eq!(reflect(&wrong), Err(invalid("SPIR-V magic", 0x0723_0200, offset + 3 * size + 20)));
    }
    let bytes = file([5, 0, 0, 0, 5], &[&[0; 14], &[1, 0, 0, 0][..], &[0; 44]].concat());
    assert_eq!(reflect(&bytes), Err(invalid("size of the subpass inputs", 44, 25 + 18)));
}

#[test]
fn each_bad_field_is_an_error_with_its_offset() {
    let [smallest, everything, _] = samples();
    let error = |bytes: &[u8], at: usize, value: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = value;
        match Vbc::parse(&bytes) {
            Ok(vbc) => vbc.errors().into_iter().next().expect("something is wrong"),
            Err(error) => error,
        }
    };
    assert_eq!(error(&smallest, 2, b'X'), ContainerError::UnknownMagic { found: b"VBX\x01".to_vec() });
    assert_eq!(error(&smallest, 3, 2), invalid("VBC version", 2, 3));
    assert_eq!(error(&smallest, 4, 0), invalid("VBC pipeline type", 0, 4));
    assert_eq!(error(&smallest, 6, 1), truncated("SPIR-V", 25, 4 * (256 + 11), 18 + 44));
    // One word more of SPIR-V is one word less of reflection.
    assert_eq!(error(&smallest, 7, 1), truncated("subpass input count", 39, 4, 0));
    assert_eq!(error(&smallest, 25, 2), truncated("interface variable", 29 + 8, 8, 6));
    assert_eq!(error(&smallest, 27, 1), over_limit("vertex input count", 0x1_0000, 256, 25));
    assert_eq!(error(&smallest, 31, 1), over_limit("fragment output count", 0x1_0000, 256, 29));
    assert_eq!(error(&smallest, 35, 1), over_limit("binding count", 0x1_0000, 256, 33));
    assert_eq!(error(&smallest, 41, 1), over_limit("subpass input count", 0x1_0000, 256, 39));
    assert_eq!(error(&smallest, 39, 1), truncated("subpass inputs", 43, 4, 0));
    assert_eq!(error(&smallest, 43, 0), invalid("SPIR-V magic", 0x0723_0200, 43));
    assert_eq!(error(&smallest, 63, 0), invalid("SPIR-V magic", 0x0723_0200, 63));
    // The block's member count, and the length of the first member's name.
    let block = 25 + 20 + 12 + 28;
    assert_eq!(error(&everything, block + 6, 1), over_limit("uniform member count", 0x1_0002, 256, block + 4));
    assert_eq!(error(&everything, block + 8, 200), truncated("name of a member", block + 9, 200, 10 + 14 + 9));
    let longer = [&smallest[..], &[0; 4]].concat();
    assert_eq!(Vbc::parse(&longer).unwrap().errors().len(), 3, "nothing is where it should be");
}

#[test]
fn files_are_rebuilt_from_their_parts() {
    for bytes in samples() {
        let vbc = Vbc::parse(&bytes).unwrap();
        let mut stages: Vec<_> = vbc.stages().map(Result::unwrap).collect();
        stages.reverse();
        assert_eq!(write(vbc.tables(), &vbc.reflection().unwrap(), &stages).unwrap(), bytes);
    }
}

#[test]
fn what_would_not_read_back_is_not_written() {
    let [smallest, everything, _] = samples();
    let tables = Vbc::parse(&smallest).unwrap().tables();
    let empty = reflect(&smallest).unwrap();
    let spirv = |bytes| SpirV { stage: VbcStage::Geometry, offset: 0, bytes };
    let long = module(65536);
    let error = write(tables, &empty, &[spirv(&long)]).unwrap_err();
    assert_eq!(error, over_limit("SPIR-V size in words", 65536, 65535, 5 + 6));
    assert_eq!(write(tables, &empty, &[spirv(&long[4..16])]), Err(invalid("SPIR-V magic", 1, 43)));
    assert_eq!(write(tables, &empty, &[spirv(&long[..18])]), Err(invalid("SPIR-V size in bytes", 18, 43)));
    let twice = [spirv(&long[..20]); 2];
    assert_eq!(write(tables, &empty, &twice), Err(invalid("second module of a stage", 20, 43)));
    let mut reflection = reflect(&everything).unwrap();
    reflection.uniform.as_mut().unwrap().members[0].name = Name::new(&[b'x'; 256]);
    let offset = 25 + 20 + 12 + 28 + 8;
    assert_eq!(write(tables, &reflection, &[]), Err(over_limit("length of a member's name", 256, 255, offset)));
    reflection.uniform.as_mut().unwrap().size = 0;
    assert_eq!(write(tables, &reflection, &[]), Err(invalid("uniform block size", 0, offset - 8)));
}

/// A file within others is measured from its start.
#[test]
fn a_file_ends_where_its_last_stage_does() {
    for bytes in samples() {
        assert_eq!(Vbc::extent(&bytes), Ok(bytes.len()));
        assert_eq!(Vbc::extent(&[&bytes[..], b"and what follows"].concat()), Ok(bytes.len()));
        for length in 0..bytes.len() {
            assert!(Vbc::extent(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
    }
    let [smallest, ..] = samples();
    let mut wrong = smallest.clone();
    wrong[43] = 0;
    assert_eq!(Vbc::extent(&wrong), Err(invalid("SPIR-V magic", 0x0723_0200, 43)));
    wrong = smallest;
    wrong[63] = 0;
    assert_eq!(Vbc::extent(&wrong), Err(invalid("SPIR-V magic", 0x0723_0200, 63)));
    assert_eq!(Vbc::extent(&file([0; 5], &NOTHING)), Err(invalid("SPIR-V size in words", 0, 5)));
}
