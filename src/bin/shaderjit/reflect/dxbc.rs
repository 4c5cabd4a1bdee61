//! Reflection of a `DXBC` container.

use super::buffers::{ConstantBuffer, constant_buffer};
use super::declared;
use super::dxil::{self, Dxil, Root};
use super::level9::{self, Level9};
use super::library::{self, Library};
use super::{letters, level, name};
use serde::{Serialize, Serializer};
use shaderjit::container::dxbc::{
    self, Counters, InputType, ResourceBinding, Signature, SignatureElement, Statistics, SystemValue,
};
use shaderjit::frontend::sm4::codes::{Primitive, TessDomain, TessOutput, TessPartitioning, Topology};
use shaderjit::frontend::sm4::{Declaration, Program, Stage};

#[derive(Serialize)]
pub struct Dxbc {
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    creator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compile_flags: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum_feature_level: Option<&'static str>,
    features: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_group: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometry: Option<Geometry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tessellation: Option<Tessellation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<Element>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Element>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_constants: Option<Vec<Element>>,
    /// Where bindings and constant buffers come from if there are no resource definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    reflected_from: Option<&'static str>,
    bindings: Vec<Binding>,
    constant_buffers: Vec<ConstantBuffer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Interfaces>,
    /// Programs of Direct3D 9 beside the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    level9: Vec<Level9>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dxil: Option<Dxil>,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<Library>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_signature: Option<Root>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "counters")]
    statistics: Option<Counters>,
}

#[derive(Serialize)]
struct Digest {
    value: String,
    class: String,
}

#[derive(Serialize)]
struct Element {
    semantic: String,
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<u32>,
    mask: String,
    /// Components that are read (inputs) or may be written (outputs).
    used: String,
    system_value: String,
    component_type: String,
    stream: u32,
    min_precision: String,
}

#[derive(Serialize, Default)]
pub struct Binding {
    pub name: String,
    pub kind: String,
    pub slot: u32,
    /// Slots; absent for an unbounded range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    pub space: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Bytes from one element of a structured buffer to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stride: Option<u32>,
    pub comparison: bool,
}

#[derive(Serialize, Default)]
struct Geometry {
    input_primitive: &'static str,
    output_topology: &'static str,
    max_output_vertices: u32,
    instances: u32,
}

#[derive(Serialize, Default)]
struct Tessellation {
    domain: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_control_points: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_control_points: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partitioning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_primitive: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tess_factor: Option<f32>,
}

#[derive(Serialize)]
struct Interfaces {
    slots: u32,
    classes: Vec<Class>,
    instances: Vec<Instance>,
    slot_ranges: Vec<SlotRange>,
}

#[derive(Serialize)]
struct Class {
    name: String,
    constant_buffer_rows: u16,
    textures: u16,
    samplers: u16,
}

#[derive(Serialize)]
struct Instance {
    name: String,
    class: u16,
    count: u16,
    constant_buffer: u16,
    row: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    texture: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampler: Option<u16>,
}

#[derive(Serialize)]
struct SlotRange {
    first: u32,
    count: u32,
    classes: Vec<u16>,
    function_tables: Vec<u32>,
}

/// The profile of a container's program, such as `vs_5_0`, whatever its shader model.
pub fn profile(container: &dxbc::Dxbc<'_>) -> Option<String> {
    let header = container.program().ok().flatten();
    header.as_ref().map(dxbc::Program::profile).or_else(|| dxil::reflect(container)?.profile())
}

/// Everything that can be read; what cannot is in the list of malformed parts.
pub fn reflect(container: &dxbc::Dxbc<'_>) -> Dxbc {
    let definitions = container.resource_definitions().ok().flatten();
    let header = container.program().ok().flatten();
    let program = header.as_ref().and_then(|program| Program::from_container(program).ok());
    let features = container.feature_flags().unwrap_or_default();
    let stage = program.as_ref().map(|program| program.version.stage);
    let signature = |signature: Result<Option<Signature<'_>>, _>, written| {
        let signature = signature.ok().flatten()?;
        Some(signature.elements.iter().map(|element| self::element(element, written, stage)).collect())
    };
    let declarations = |program: &Program| declarations(program);
    let Declared { thread_group, geometry, tessellation } = program.as_ref().map(declarations).unwrap_or_default();
    let dxil = dxil::reflect(container);
    Dxbc {
        digest: Digest { value: container.digest().to_string(), class: container.digest_class().to_string() },
        profile: header.as_ref().map(dxbc::Program::profile).or_else(|| dxil.as_ref()?.profile()),
        creator: definitions.as_ref().map(|definitions| name(definitions.creator)),
        compile_flags: definitions.as_ref().map(|definitions| definitions.flags),
        minimum_feature_level: header.as_ref().map(|program| level::minimum(container, program, features)),
        features: features.known().map(|(name, _)| name).collect(),
        thread_group: thread_group.or_else(|| dxil.as_ref()?.thread_group()),
        geometry,
        tessellation,
        inputs: signature(container.input_signature(), false),
        outputs: signature(container.output_signature(), true),
        patch_constants: signature(container.patch_constant_signature(), stage != Some(Stage::Domain)),
        reflected_from: definitions.is_none().then_some(program.as_ref()).flatten().map(|_| "declarations"),
        bindings: match (&definitions, &program) {
            (Some(definitions), _) => definitions.bindings.iter().map(binding).collect(),
            (None, Some(program)) => declared::bindings(program),
            (None, None) => Vec::new(),
        },
        constant_buffers: match (&definitions, &program) {
            (Some(definitions), _) => {
                definitions.constant_buffers.iter().map(|it| constant_buffer(it, definitions)).collect()
            }
            (None, Some(program)) => declared::constant_buffers(program),
            (None, None) => Vec::new(),
        },
        interfaces: container.interfaces().ok().flatten().map(|it| interfaces(&it)),
        level9: level9::reflect(container),
        dxil,
        library: library::reflect(container),
        root_signature: dxil::root_signature(container),
        statistics: match container.statistics() {
            Ok(Some(Statistics::Counters(counters))) => Some(counters),
            _ => None,
        },
    }
}

fn element(element: &SignatureElement<'_>, written: bool, stage: Option<Stage>) -> Element {
    let system_value: SystemValue = match written && stage == Some(Stage::Pixel) {
        true => element.effective_system_value(),
        false => element.system_value,
    };
    Element {
        semantic: name(element.semantic),
        index: element.index,
        register: element.register,
        mask: letters(element.mask),
        used: letters(if written { element.written() } else { element.rw_mask }),
        system_value: system_value.to_string(),
        component_type: element.component_type.to_string(),
        stream: element.stream,
        min_precision: element.min_precision.to_string(),
    }
}

fn binding(binding: &ResourceBinding<'_>) -> Binding {
    let typed = matches!(binding.input_type, InputType::TEXTURE | InputType::UAV_TYPED);
    let structured = binding.input_type.is_structured();
    let known = (binding.samples_or_stride != u32::MAX).then_some(binding.samples_or_stride);
    Binding {
        name: name(binding.name),
        kind: binding.input_type.to_string(),
        slot: binding.slots.first,
        count: (binding.slots.count != 0).then_some(binding.slots.count),
        space: binding.space,
        id: binding.id,
        dimension: typed.then(|| binding.dimension.to_string()),
        return_type: typed.then(|| binding.return_type.to_string()),
        components: typed.then(|| binding.components()),
        samples: known.filter(|_| binding.dimension.is_multisampled()),
        stride: known.filter(|_| structured),
        comparison: binding.is_comparison(),
    }
}

fn interfaces(interfaces: &dxbc::Interfaces<'_>) -> Interfaces {
    let class = |class: &dxbc::ClassType<'_>| Class {
        name: name(class.name),
        constant_buffer_rows: class.constant_buffer_stride,
        textures: class.textures,
        samplers: class.samplers,
    };
    let instance = |instance: &dxbc::ClassInstance<'_>| Instance {
        name: name(instance.name),
        class: instance.class_type,
        count: instance.count,
        constant_buffer: instance.constant_buffer,
        row: instance.constant_buffer_offset,
        texture: instance.texture,
        sampler: instance.sampler,
    };
    let range = |range: &dxbc::InterfaceSlots| {
        let (classes, function_tables) = range.classes.iter().copied().unzip();
        SlotRange { first: range.first, count: range.count, classes, function_tables }
    };
    Interfaces {
        slots: interfaces.slot_count,
        classes: interfaces.class_types.iter().map(class).collect(),
        instances: interfaces.class_instances.iter().map(instance).collect(),
        slot_ranges: interfaces.slots.iter().map(range).collect(),
    }
}

fn counters<S: Serializer>(statistics: &Option<Counters>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(statistics.iter().flat_map(Counters::counters))
}

/// What only the program's declarations say.
#[derive(Default)]
struct Declared {
    thread_group: Option<[u32; 3]>,
    geometry: Option<Geometry>,
    tessellation: Option<Tessellation>,
}

fn declarations(program: &Program) -> Declared {
    let mut thread_group = None;
    let mut geometry = Geometry { instances: 1, ..Geometry::default() };
    let mut tessellation = Tessellation::default();
    for declaration in program.instructions.iter().filter_map(|instruction| instruction.declaration()) {
        match *declaration {
            Declaration::ThreadGroup(size) => thread_group = Some(size),
            Declaration::InputPrimitive(primitive) => geometry.input_primitive = Primitive::name(primitive),
            Declaration::OutputTopology(topology) => geometry.output_topology = Topology::name(topology),
            Declaration::MaxOutputVertices(count) => geometry.max_output_vertices = count,
            Declaration::GsInstances(count) => geometry.instances = count,
            Declaration::TessDomain(domain) => tessellation.domain = TessDomain::name(domain),
            Declaration::InputControlPointCount(count) => tessellation.input_control_points = Some(count),
            Declaration::OutputControlPointCount(count) => tessellation.output_control_points = Some(count),
            Declaration::TessPartitioning(value) => tessellation.partitioning = Some(TessPartitioning::name(value)),
            Declaration::TessOutput(value) => tessellation.output_primitive = Some(TessOutput::name(value)),
            Declaration::HsMaxTessFactor { bits } => tessellation.max_tess_factor = Some(f32::from_bits(bits)),
            _ => {}
        }
    }
    let stage = program.version.stage;
    Declared {
        thread_group,
        geometry: (stage == Stage::Geometry).then_some(geometry),
        tessellation: matches!(stage, Stage::Hull | Stage::Domain).then_some(tessellation),
    }
}
