//! Whole containers: real files, and the promise that no bytes can do harm.

use super::digest::{DigestClass, Signing};
use super::dxbc::{Builder, FourCc, InputType, ProgramKind, StoredType, SystemValue};
use super::reader::coverage;
use super::shbin::{Constant, OutputSemantic, ShaderKind};
use super::{Container, Dvoj, Dxbc, Shbin};
use crate::error::ContainerError;
use crate::test_data::containers;

macro_rules! data {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $path)).as_slice()
    };
}

mod dxil;

const VS_4_0: &[u8] = data!("dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc");
const VS_5_0: &[u8] = data!("dxbc/vs_transform/VS.vs_5_0.vkd3d21.dxbc");
const VS_5_1: &[u8] = data!("dxbc/vs_transform/VS.vs_5_1.fxc101.dxbc");
const TRANSFORM: &[u8] = data!("pica/t01_transform.shbin");
const SHARED: &[u8] = data!("pica/t27_shared_a.shbin");
const CONSTANTS: &[u8] = data!("pica/t30_constants.shbin");
const GEOMETRY: &[u8] = data!("pica/t31_geo_point.shbin");

const FILES: [&[u8]; 7] = [VS_4_0, VS_5_0, VS_5_1, TRANSFORM, SHARED, CONSTANTS, GEOMETRY];

/// The real files, and one of each kind of which there are none.
fn samples() -> Vec<Vec<u8>> {
    let made = [super::shbin::dvoj_sample()].into_iter().chain(super::vbc::tests::samples());
    let dxil = dxil::FILES.into_iter().map(|(_, bytes)| bytes.to_vec());
    FILES.into_iter().map(<[u8]>::to_vec).chain(made).chain(dxil).collect()
}

fn dxbc(bytes: &[u8]) -> Dxbc<'_> {
    match Container::parse(bytes) {
        Ok(Container::Dxbc(dxbc)) => dxbc,
        other => panic!("not a DXBC container: {other:?}"),
    }
}

fn shbin(bytes: &[u8]) -> Shbin<'_> {
    match Container::parse(bytes) {
        Ok(Container::Shbin(shbin)) => shbin,
        other => panic!("not a SHBIN: {other:?}"),
    }
}

/// A SHBIN written from its parts, if they are all well-formed.
fn rebuilt(shbin: &Shbin<'_>) -> Option<Vec<u8>> {
    let dvles: Option<Vec<_>> = (0..shbin.dvle_count()).map(|index| shbin.dvle(index).ok()?).collect();
    Some(super::shbin::write(&shbin.dvlp().ok()?, &dvles?).unwrap())
}

/// Calls everything a container offers.
fn visit(bytes: &[u8]) -> Result<Vec<ContainerError>, ContainerError> {
    let container = Container::parse(bytes)?;
    for row in container.listing() {
        assert!(row.offset <= u32::MAX as usize && row.size <= bytes.len());
    }
    match &container {
        Container::Dxbc(dxbc) => {
            let _ = dxbc.digest_class();
            for part in dxbc.parts() {
                assert_eq!(bytes[part.data_offset()..][..part.data.len()], *part.data);
            }
            if let Ok(Some(program)) = dxbc.program() {
                assert_eq!(bytes[program.tokens_offset()..][..program.tokens.len()], *program.tokens);
            }
        }
        Container::Shbin(shbin) => {
            if let Ok(dvlp) = shbin.dvlp() {
                let word = |i: usize| u32::from_le_bytes(*bytes[dvlp.code_offset + 4 * i..].first_chunk().unwrap());
                assert!(dvlp.code.iter().enumerate().all(|(i, &code)| code == word(i)));
            }
            if let Some(written) = rebuilt(shbin) {
                let again = self::shbin(&written);
                assert_eq!(rebuilt(&again).unwrap(), written, "what is written is rebuilt byte for byte");
            }
        }
        Container::Spirv(file) => assert_eq!(file.bytes(), bytes),
        Container::Vbc(vbc) => {
            for module in vbc.stages().filter_map(Result::ok) {
                assert_eq!(bytes[module.offset..][..module.bytes.len()], *module.bytes);
                assert_eq!(module.words().len() * 4, module.bytes.len());
            }
            let modules: Vec<_> = vbc.stages().filter_map(Result::ok).collect();
            if container.errors().is_empty() {
                assert_eq!(super::vbc::write(vbc.tables(), &vbc.reflection()?, &modules).as_deref(), Ok(bytes));
            }
        }
        Container::Dvoj(dvoj) => {
            if let Ok(object) = dvoj.object() {
                let written = object.write().unwrap();
                let again = Dvoj::parse(&written).unwrap().object().unwrap();
                assert_eq!(again.code, object.code);
                assert_eq!(again.write().unwrap(), written, "what is written is rebuilt byte for byte");
            }
        }
    }
    Ok(container.errors())
}

#[test]
fn a_real_vertex_shader_of_model_4() {
    let dxbc = dxbc(VS_4_0);
    assert_eq!(dxbc.digest_class(), DigestClass::Retail);
    assert_eq!(dxbc.file_size(), VS_4_0.len());
    let names: Vec<_> = dxbc.parts().iter().map(|part| part.name).collect();
    assert_eq!(names, [FourCc::RDEF, FourCc::ISGN, FourCc::OSGN, FourCc::SHDR, FourCc::STAT]);

    let program = dxbc.program().unwrap().unwrap();
    assert_eq!((program.profile().as_str(), program.kind, program.part), ("vs_4_0", ProgramKind::Vertex, FourCc::SHDR));
    assert_eq!(program.tokens.len() + 8, dxbc.part(FourCc::SHDR).unwrap().data.len());

    let inputs = dxbc.input_signature().unwrap().unwrap();
    let inputs: Vec<_> = inputs
        .elements
        .iter()
        .map(|e| (e.semantic.to_string(), e.index, e.register, e.mask, e.system_value, e.component_type))
        .collect();
    let element =
        |name: &str, register, mask| (name.to_string(), 0, Some(register), mask, SystemValue::NONE, StoredType::F32);
    let expected = [
        element("POSITION", 0, 0b0111),
        element("NORMAL", 1, 0b0111),
        element("TEXCOORD", 2, 0b0011),
        element("COLOR", 3, 0b1111),
    ];
    assert_eq!(inputs, expected);
    let outputs = dxbc.output_signature().unwrap().unwrap();
    assert_eq!(outputs.part, FourCc::OSGN);
    assert_eq!(outputs.elements[0].semantic, "SV_Position");
    assert_eq!(outputs.elements[0].system_value, SystemValue::POSITION);
    assert_eq!(dxbc.patch_constant_signature(), Ok(None));
}

#[test]
fn resource_definitions_of_three_models() {
    for (bytes, version) in [(VS_4_0, (4, 0)), (VS_5_0, (5, 0)), (VS_5_1, (5, 1))] {
        let rdef = dxbc(bytes).resource_definitions().unwrap().unwrap();
        assert_eq!((rdef.version, rdef.kind), (version, Some(ProgramKind::Vertex)));
        assert!(!rdef.creator.is_empty());
        let [buffer] = rdef.constant_buffers.as_slice() else { panic!("one constant buffer in {version:?}") };
        assert_eq!(buffer.size % 16, 0);
        assert!(buffer.variables.iter().all(|variable| variable.offset + variable.size <= buffer.size));
        let [binding] = rdef.bindings.as_slice() else { panic!("one binding in {version:?}") };
        assert_eq!((binding.name, binding.input_type), (buffer.name, InputType::CBUFFER));
        assert_eq!((binding.slots.first, binding.slots.count), (0, 1));
        assert_eq!(binding.id, (version == (5, 1)).then_some(0));
    }
}

#[test]
fn model_5_code_may_lie_in_a_part_named_shdr() {
    let program = dxbc(VS_5_0).program().unwrap().unwrap();
    assert_eq!((program.part, program.profile().as_str()), (FourCc::SHDR, "vs_5_0"));
}

#[test]
fn one_flipped_bit_is_a_digest_mismatch() {
    let mut bytes = VS_4_0.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(dxbc(&bytes).digest_class(), DigestClass::Mismatch);
    bytes[4..20].fill(0);
    assert_eq!(dxbc(&bytes).digest_class(), DigestClass::Zero);
}

#[test]
fn a_real_shbin() {
    let shbin = shbin(TRANSFORM);
    let dvlp = shbin.dvlp().unwrap();
    assert_eq!((dvlp.code.len(), dvlp.descriptors.len(), dvlp.code_offset), (7, 5, 12 + 0x28));
    let dvle = shbin.dvle(0).unwrap().unwrap();
    assert_eq!((dvle.kind, dvle.main, dvle.end, dvle.geometry), (ShaderKind::Vertex, 0, 7, None));
    assert_eq!((dvle.input_mask, dvle.output_mask), (0b111, 0b111));
    let outputs: Vec<_> = dvle.outputs.iter().map(|o| (o.semantic, o.register, o.mask)).collect();
    let expected =
        [(OutputSemantic::POSITION, 0, 15), (OutputSemantic::COLOR, 1, 15), (OutputSemantic::TEXCOORD_0, 2, 15)];
    assert_eq!(outputs, expected);
    let uniforms: Vec<_> = dvle.uniforms.iter().map(|u| format!("{} {}", u.name, u.registers)).collect();
    assert_eq!(uniforms, ["a v0", "b v1", "c v2", "mvp c0-c3"]);
}

#[test]
fn constants_of_every_type() {
    let shbin = shbin(CONSTANTS);
    let dvle = shbin.dvle(0).unwrap().unwrap();
    assert_eq!(dvle.constants.len(), 14);
    assert_eq!(dvle.constants[0], Constant::Int { register: 3, value: [3, 2, 1, 0] });
    assert_eq!(dvle.constants[1], Constant::Bool { register: 0, value: true });
    assert_eq!(dvle.constants[2], Constant::Bool { register: 1, value: false });
    assert!(dvle.constants.iter().any(|constant| constant.float_value().is_some()));
}

#[test]
fn executables_share_one_program() {
    let two = shbin(SHARED);
    let mains: Vec<_> = (0..two.dvle_count()).map(|k| two.dvle(k).unwrap().unwrap().main).collect();
    assert_eq!(mains, [4, 8]);

    let geometry = shbin(GEOMETRY);
    let kinds: Vec<_> = (0..geometry.dvle_count()).map(|k| geometry.dvle(k).unwrap().unwrap().kind).collect();
    assert_eq!(kinds, [ShaderKind::Vertex, ShaderKind::Geometry]);
    assert!(geometry.dvle(1).unwrap().unwrap().geometry.is_some());
}

#[test]
fn what_is_no_container_is_told_by_its_first_bytes() {
    for bytes in [b"".as_slice(), b"DX", b"\x7fELF\x02\x01", b"BC\xc0\xde"] {
        let found = bytes[..bytes.len().min(4)].to_vec();
        assert_eq!(Container::parse(bytes).unwrap_err(), ContainerError::UnknownMagic { found });
    }
}

#[test]
fn real_files_have_no_errors() {
    for bytes in FILES {
        assert_eq!(visit(bytes), Ok(Vec::new()));
    }
}

/// A container cut short is never accepted silently: `DXBC` states its size, and a SHBIN ends with a table that is read
/// (and up to three bytes of padding).
#[test]
fn every_truncation_is_an_error() {
    for bytes in samples() {
        let padding = if bytes.starts_with(&super::shbin::MAGIC) { 3 } else { 0 };
        for length in 0..bytes.len() - padding {
            let result = visit(&bytes[..length]);
            assert!(result.as_ref().map_or(true, |errors| !errors.is_empty()), "{length} of {}", bytes.len());
        }
    }
}

#[test]
fn no_change_of_a_file_can_make_parsing_panic() {
    let samples = samples();
    arbtest::arbtest(|u| {
        let mut bytes = u.choose(&samples)?.clone();
        for _ in 0..u.int_in_range(1..=8)? {
            let at = u.choose_index(bytes.len())?;
            if u.ratio(1, 4)? && at + 4 <= bytes.len() {
                let value = *u.choose(&[0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 7, u32::MAX])?;
                bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            } else {
                bytes[at] = u.arbitrary()?;
            }
        }
        if u.ratio(1, 8)? {
            bytes.truncate(u.choose_index(bytes.len())?);
        }
        let _ = visit(&bytes);
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn no_bytes_can_make_parsing_panic() {
    arbtest::arbtest(|u| {
        let vbc = *b"VBC\x01";
        let magic = *u.choose(&[super::dxbc::MAGIC, super::shbin::MAGIC, super::shbin::DVOJ_MAGIC, vbc])?;
        let mut bytes = magic.to_vec();
        if magic == super::dxbc::MAGIC {
            // A valid header, so that what follows is read as an index and parts.
            bytes.extend_from_slice(&[0; 16]);
            let tail: Vec<u8> = u.arbitrary()?;
            for dword in [1, 32 + tail.len() as u32, u.int_in_range(0..=8)?] {
                bytes.extend_from_slice(&dword.to_le_bytes());
            }
            bytes.extend(tail);
        } else {
            bytes.extend(u.arbitrary::<Vec<u8>>()?);
        }
        let _ = visit(&bytes);
        Ok(())
    })
    .budget_ms(500);
}

/// Every file of one kind in the test data.
fn files(extension: &str) -> impl ExactSizeIterator<Item = (String, Vec<u8>)> {
    containers(&[extension]).into_iter().map(|(path, bytes)| (path.display().to_string(), bytes))
}

/// No part of a real container has bytes its parser does not look at, except the padding behind strings.
#[test]
fn real_parts_are_read_whole() {
    for (path, bytes) in files("dxbc").chain(files("dxil")) {
        for part in dxbc(&bytes).parts() {
            let range = part.data_offset()..part.data_offset() + part.data.len();
            let gaps = coverage::unread(range, || drop(part.content().unwrap()));
            for gap in gaps {
                let padding = |byte: &u8| matches!(byte, 0 | 0xab);
                let left = &bytes[gap.clone()];
                assert!(
                    left.len() < 4 && left.iter().all(padding),
                    "{path}: {} leaves {gap:x?}: {left:02x?}",
                    part.name
                );
            }
        }
    }
}

/// A container taken apart and put together again is the same, its digest included.
#[test]
fn real_containers_are_rebuilt() {
    let (mut debug, files) = (0, files("dxbc"));
    let count = files.len();
    for (path, bytes) in files {
        let dxbc = dxbc(&bytes);
        let mut builder = Builder::new();
        builder.extend(dxbc.parts().iter().copied());
        let signing = Signing::of(dxbc.digest(), dxbc.digest_class());
        assert!(matches!(signing, Signing::Retail | Signing::Debug), "{path}");
        debug += usize::from(signing == Signing::Debug);
        assert!(builder.build(signing).unwrap() == bytes, "{path}");
    }
    assert!(count >= 350, "{count}");
    assert_eq!(debug, 4);
}

/// All real containers are signed, and a digest stands for every bit behind it.
#[test]
fn one_flipped_bit_makes_any_digest_wrong() {
    for (path, mut bytes) in files("dxbc") {
        assert!(matches!(dxbc(&bytes).digest_class(), DigestClass::Retail | DigestClass::Debug), "{path}");
        // Somewhere in the parts, elsewhere in each file.
        let start = dxbc(&bytes).parts()[0].data_offset();
        let at = start + path.bytes().map(usize::from).sum::<usize>() * 31 % (bytes.len() - start);
        // A name or a size may lie there, which is an error before any digest is looked at.
        bytes[at] ^= 1 << (at % 8);
        if let Ok(flipped) = Dxbc::parse(&bytes) {
            assert_eq!(flipped.digest_class(), DigestClass::Mismatch, "{path} at {at:#x}");
        }
    }
}

/// No byte of a real SHBIN goes unread, except the padding behind symbol tables.
#[test]
fn real_shbins_are_read_whole() {
    for (path, bytes) in files("shbin") {
        let gaps = coverage::unread(0..bytes.len(), || {
            assert_eq!(visit(&bytes), Ok(Vec::new()), "{path}");
        });
        for gap in gaps {
            let left = &bytes[gap.clone()];
            assert!(left.len() < 4 && left.iter().all(|&byte| byte == 0), "{path} leaves {gap:x?}: {left:02x?}");
        }
    }
}

#[test]
fn real_shbins_are_rebuilt_from_their_parts() {
    for (path, bytes) in files("shbin") {
        assert!(rebuilt(&shbin(&bytes)).unwrap() == bytes, "{path}");
    }
}
