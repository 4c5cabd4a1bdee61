//! Parts of a `DXBC` container: whatever their bytes, they read as something or are an error inside them, and what was
//! read can be asked for everything.

use crate::container::digest::Signing;
use crate::container::dxbc::{
    Builder, FourCc, Level9Program, Part, PartContent, PipelineState, RuntimeData, SubobjectContent,
};
use crate::container::{Dxbc, limits};
use crate::error::ContainerError;
use crate::frontend::d3d9;

/// A part of a container: the first byte says which of the known names it has, the others are its data.
pub fn container_part(bytes: &[u8]) {
    let Some((&name, data)) = bytes.split_first() else { return };
    let name = FourCc::KNOWN[usize::from(name) % FourCc::KNOWN.len()];
    let container =
        Builder::new().part(name, data).build(Signing::Retail).expect("one small part is within the limits");
    let dxbc = Dxbc::parse(&container).expect("the builder makes containers");
    let part = dxbc.parts()[0];
    assert_eq!((part.name, part.data), (name, data));
    match part.content() {
        Ok(content) => ask(&content, data.len()),
        Err(error) => assert_located(&error, &part),
    }
}

/// An error of a part lies in the part, or says how far outside something would have to be.
fn assert_located(error: &ContainerError, part: &Part<'_>) {
    let end = part.data_offset() + part.data.len();
    let inside = |offset: usize| (part.data_offset()..=end).contains(&offset);
    match error {
        ContainerError::Invalid { offset, .. } | ContainerError::Limit { offset, .. } => {
            assert!(inside(*offset), "{error}");
        }
        ContainerError::Compressed { offset, .. } => assert!(inside(*offset), "{error}"),
        ContainerError::Truncated { offset, needed, available, .. } => {
            assert!(*offset >= part.data_offset() && needed > available, "{error}");
        }
        _ => {}
    }
}

/// Asks what was read for everything that is only read when asked for.
fn ask(content: &PartContent<'_>, size: usize) {
    match content {
        PartContent::PipelineState(state) => ask_pipeline_state(state),
        PartContent::RuntimeData(data) => ask_runtime_data(data),
        PartContent::PdbInfo(info) => {
            assert!(info.bytes().len() <= limits::inflated_bytes(size));
            ask_runtime_data(&info.runtime_data());
        }
        PartContent::SourceInfo(info) => {
            let total: usize = info.files().filter_map(|file| file.text).map(<[u8]>::len).sum();
            assert!(total <= limits::inflated_bytes(size));
            assert_eq!(info.arguments.iter().count(), info.arguments.len());
        }
        PartContent::DebugInformation(debug) => {
            let _ = (debug.string(debug.compiler), debug.string(debug.entry), debug.string(debug.profile));
        }
        PartContent::Level9Program(level9) => ask_level9(level9),
        _ => {}
    }
}

/// The tokens decode or are an error inside them; what decodes is listed, and encodes to the same tokens.
fn ask_level9(level9: &Level9Program<'_>) {
    match d3d9::Program::from_container(level9) {
        Ok(program) => {
            assert!(program.to_string().starts_with(&program.version.to_string()));
            let encoded: Vec<u8> = program.encode().into_iter().flat_map(u32::to_le_bytes).collect();
            assert!(level9.tokens.starts_with(&encoded), "decoding and encoding changed\n{program}");
        }
        Err(error) => {
            let tokens = level9.tokens_offset..=level9.tokens_offset + level9.tokens.len();
            assert!(tokens.contains(&error.offset()), "{error}");
        }
    }
}

fn ask_pipeline_state(state: &PipelineState<'_>) {
    if let Some(stage) = state.stage() {
        let _ = state.stage_info(stage);
    }
    let dependencies = &state.dependencies;
    let tables = dependencies.inputs_to_outputs.iter();
    for table in tables.chain([&dependencies.inputs_to_patch, &dependencies.patch_to_outputs]) {
        for component in 0..=table.len() {
            let _ = table.of(component).iter().count();
        }
    }
}

fn ask_runtime_data(data: &RuntimeData<'_>) {
    for function in data.functions.iter() {
        assert!(function.resources.iter().all(|row| data.resources.get(row).is_some()));
        assert_eq!(function.dependencies.iter().count(), function.dependencies.len());
        if let Some(extension) = function.extension {
            let _ = data.threads(extension.info);
        }
    }
    for subobject in data.subobjects.iter() {
        let _ = subobject.root_signature();
        if let SubobjectContent::Association { exports, .. } = subobject.content {
            assert_eq!(exports.iter().count(), exports.len());
        }
    }
    for node in data.node_shaders.iter() {
        assert!(node.attributes.iter().all(|row| data.node_function_attributes.get(row).is_some()));
        for row in node.inputs.iter().chain(node.outputs.iter()) {
            let io = data.node_ios.get(row).expect("rows were checked");
            assert!(io.attributes.iter().all(|row| data.node_io_attributes.get(row).is_some()));
        }
    }
    for pdb in data.pdbs.iter() {
        assert!(pdb.sources.iter().all(|row| data.pdb_sources.get(row).is_some()));
        assert!(pdb.libraries.iter().all(|row| data.pdb_libraries.get(row).is_some()));
        assert_eq!(pdb.arguments.iter().count(), pdb.arguments.len());
    }
}
