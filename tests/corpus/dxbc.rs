//! Direct3D vertex shaders; pixel shaders are in `pixels`.
//!
//! Integers and moved bits must be equal. Floats may differ as the executors differ among themselves: they fuse
//! multiplications and additions or not, so a value passes if it is close to what either of our modes gives. Close is
//! 1e-5 of the two values, and, where a sum cancels, 1e-6 of the largest value in play.
//!
//! Doubles come out as the words they are made of, and must be equal too, but for the executors that fuse a
//! multiplication and an addition of doubles, which we never do: see [`FUSED_DOUBLES`].

use crate::{data, engine, names, read, run_everywhere, textures};
use shaderjit::ComponentType;
use shaderjit::error::LowerError;
use shaderjit::{
    BufferView, CompiledShader, Engine, Error, Image, Outputs, SamplerState, Shader, Stage, TexelFormat,
    VertexBufferView,
};
use std::collections::BTreeSet;
use std::path::Path;

/// Cases whose unsigned outputs are the words of doubles, the results of an executor that fuses: they may differ from
/// ours by one in the last place.
const FUSED_DOUBLES: &[&str] = &["vs_double"];

/// How a run was bound, from its command line.
struct Run {
    input: Vec<u8>,
    constants: Vec<(u32, Vec<u8>)>,
    resources: Vec<(u32, View)>,
    samplers: Vec<(u32, SamplerState)>,
    count: Option<u32>,
    instances: u32,
    /// What the containers begin with.
    entry: Option<String>,
}

/// What a slot for resources has.
enum View {
    Buffer(TexelFormat, Vec<u8>),
    Texture(Image<'static>),
}

impl View {
    /// `tex2d:rgba32f:8x8:4` or its like, of these bytes.
    fn parse(kind: &str, bytes: Vec<u8>) -> View {
        if let Some(format) = kind.strip_prefix("buf:") {
            return View::Buffer(TexelFormat::from_name(format).expect("a format"), bytes);
        }
        let layout = textures::layout(kind).expect("a buffer or a texture");
        View::Texture(Image::new(layout, bytes).expect("the file holds the texels"))
    }
}

/// A file of the folder, or bytes in place.
fn source(folder: &Path, text: &str) -> Vec<u8> {
    match text.strip_prefix("hex:") {
        None => read(&folder.join(text)),
        Some(hex) => {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits")).collect()
        }
    }
}

impl Run {
    fn parse(folder: &Path, command: &str) -> Run {
        let mut run = Run {
            input: Vec::new(),
            constants: Vec::new(),
            resources: Vec::new(),
            samplers: Vec::new(),
            count: None,
            instances: 1,
            entry: None,
        };
        let mut words = command.split_whitespace().skip(1);
        while let Some(option) = words.next() {
            let value = words.next().expect("every option has a value");
            match option {
                "--vs" => run.entry = value.split_once('.').map(|(entry, _)| format!("{entry}.")),
                "--in" => run.input = source(folder, value),
                "--cb" => {
                    let (slot, bytes) = value.split_once('=').expect("--cb SLOT=FILE");
                    run.constants.push((slot.parse().expect("a slot"), source(folder, bytes)));
                }
                "--srv" => {
                    let (slot, view) = value.split_once('=').expect("--srv SLOT=KIND,FILE");
                    let (kind, file) = view.split_once(',').expect("--srv SLOT=KIND,FILE");
                    let slot = slot.parse().expect("a slot");
                    run.resources.push((slot, View::parse(kind, source(folder, file))));
                }
                "--smp" => {
                    let (slot, state) = value.split_once('=').expect("--smp SLOT=FILTER:ADDRESS");
                    let state = textures::sampler(state).expect("a filter and an address mode");
                    run.samplers.push((slot.parse().expect("a slot"), state));
                }
                "--count" => run.count = Some(value.parse().expect("a number")),
                "--instances" => run.instances = value.parse().expect("a number"),
                other => panic!("{other} is no option of a run without resources"),
            }
        }
        run
    }

    /// Runs one instance.
    fn call(&self, code: &CompiledShader, instance: u32) -> Outputs {
        let input = &self.input;
        let mut call = code.call();
        call.reinterpret_inputs(true);
        let elements = if input.is_empty() { 0 } else { code.interface().inputs.len() };
        let stride = 16 * elements;
        for element in 0..elements {
            call.input_element(element, VertexBufferView::u32x4(&input[16 * element..], stride))
                .expect("the signature has it");
        }
        for (slot, bytes) in &self.constants {
            // A compiler may have dropped a buffer that another one kept.
            let _ = call.constant_buffer(*slot, bytes);
        }
        for (slot, view) in &self.resources {
            let _ = match view {
                View::Buffer(format, bytes) => call.buffer(*slot, BufferView::typed(bytes, *format)),
                View::Texture(image) => call.texture(*slot, image),
            };
        }
        for (slot, state) in &self.samplers {
            let _ = call.sampler(*slot, *state);
        }
        let held = input.len().checked_div(stride).map(|count| count as u32);
        let count = self.count.or(held).expect("an input or a count");
        call.instance(instance).run(0..count).expect("the call runs")
    }
}

/// One line of a result: a vertex's element.
struct Line {
    vertex: usize,
    semantic: String,
    index: u32,
    bits: Vec<u32>,
}

impl Line {
    fn parse(text: &str) -> Option<Line> {
        let (values, words) = text.split_once('[')?;
        let mut values = values.split_whitespace();
        let (vertex, name) = (values.next()?.parse().ok()?, values.next()?);
        let semantic = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = name[semantic.len()..].parse().ok()?;
        let words = words.trim_end_matches(']').split_whitespace();
        let bits = words.map(|word| u32::from_str_radix(word, 16).expect("hex words")).collect();
        Some(Line { vertex, semantic: semantic.to_string(), index, bits })
    }
}

/// Results of all instances, one after the other.
struct Results {
    instances: Vec<Outputs>,
}

impl Results {
    fn bits(&self, line: &Line) -> ([u32; 4], ComponentType) {
        let count = self.instances[0].count();
        let outputs = &self.instances[line.vertex / count];
        let view = outputs.output(&line.semantic, line.index).expect("the output is in the signature");
        (view.bits(line.vertex % count).expect("the vertex was shaded"), view.element().ty)
    }

    /// The largest finite float of an element, over all vertices.
    fn scale(&self, line: &Line) -> f32 {
        let views = self.instances.iter().filter_map(|outputs| outputs.output(&line.semantic, line.index));
        let values =
            views.flat_map(|view| view.iter().flatten().map(|bits| f32::from_bits(bits).abs()).collect::<Vec<_>>());
        values.filter(|value| value.is_finite()).fold(1.0, f32::max)
    }
}

fn is_close(ours: u32, theirs: u32, scale: f32) -> bool {
    let (a, b) = (f32::from_bits(ours), f32::from_bits(theirs));
    ours == theirs || (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= 1e-5 * (a.abs() + b.abs()) + 1e-6 * scale
}

/// Whether the double that a component is half of differs by one in the last place at most.
fn is_next_double(ours: &[u32; 4], theirs: &[u32], component: usize) -> bool {
    let double = |words: &[u32]| u64::from(words[component | 1]) << 32 | u64::from(words[component & !1]);
    theirs.len() == 4 && double(ours).abs_diff(double(theirs)) <= 1
}

/// Checks one container against one result file; the number of values compared.
fn check(engines: &[Engine; 2], folder: &Path, case: &str, container: &str, run: &Run, result: &str) -> usize {
    let what = format!("{case}/{container} against {result}");
    let bytes = read(&folder.join(container));
    let modes: Vec<Results> = engines
        .iter()
        .map(|engine| {
            let instance = |instance| run_everywhere(engine, &bytes, 0, |code| run.call(code, instance), &what);
            Results { instances: (0..run.instances).map(instance).collect() }
        })
        .collect();
    let text = String::from_utf8(read(&folder.join(result))).expect("results are text");
    let lines: Vec<Line> = text.lines().filter_map(Line::parse).collect();
    assert!(!lines.is_empty(), "{what}: no results");
    let mut compared = 0;
    for line in &lines {
        let scale = modes[0].scale(line);
        for (component, &theirs) in line.bits.iter().enumerate() {
            let close = modes.iter().any(|mode| {
                let (ours, ty) = mode.bits(line);
                match ty {
                    ComponentType::F32 => is_close(ours[component], theirs, scale),
                    ComponentType::U32 if FUSED_DOUBLES.contains(&case) => is_next_double(&ours, &line.bits, component),
                    _ => ours[component] == theirs,
                }
            });
            let ours: Vec<u32> = modes.iter().map(|mode| mode.bits(line).0[component]).collect();
            assert!(
                close,
                "{what}: vertex {} {}{}.{component}: {ours:08x?} ({:?}) is not {theirs:08x} ({:?})",
                line.vertex,
                line.semantic,
                line.index,
                ours.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(),
                f32::from_bits(theirs)
            );
            compared += 1;
        }
    }
    compared
}

/// Every container of a case, on every run and against every result beside it.
fn check_case(case: &str) {
    let folder = data().join("dxbc").join(case);
    let engines = [engine(true), engine(false)];
    let names = names(&folder);
    let (mut checked, mut compared, mut entries) = (Vec::new(), 0, BTreeSet::new());
    for command in names.iter().filter(|name| name.ends_with(".cmd")) {
        let run = Run::parse(&folder, &String::from_utf8(read(&folder.join(command))).expect("commands are text"));
        let stem = command.trim_end_matches("cmd");
        let entry = run.entry.clone().unwrap_or_default();
        let containers = names.iter().filter(|name| name.ends_with(".dxbc") && name.starts_with(&entry));
        for container in containers {
            // ENTRY.PROFILE.COMPILER.dxbc has results run.rN.PROFILE.COMPILER.EXECUTOR.txt.
            let build = container.trim_end_matches("dxbc").split_once('.').expect("an entry and a profile").1;
            let prefix = format!("{stem}{build}");
            let mut results: Vec<&String> =
                names.iter().filter(|name| name.starts_with(&prefix) && name.ends_with(".txt")).collect();
            if results.is_empty() {
                // A container without a result of its own computes what the others of the case do.
                results = names
                    .iter()
                    .filter(|name| name.starts_with(stem) && name.ends_with("fxc101.dxvk.txt"))
                    .take(1)
                    .collect();
            }
            for result in results {
                compared += check(&engines, &folder, case, container, &run, result);
                checked.push(container);
            }
        }
        entries.insert(entry);
    }
    let is_of_run = |name: &&String| entries.iter().any(|entry| name.starts_with(entry));
    let containers = names.iter().filter(|name| name.ends_with(".dxbc")).filter(is_of_run);
    assert!(containers.clone().all(|name| checked.contains(&name)), "a container was not checked");
    println!("{case}: {} containers, {} results, {compared} values", containers.count(), checked.len());
}

macro_rules! cases {
    ($( $name:ident )*) => { $( #[test] fn $name() { check_case(stringify!($name)); } )* };
}

cases! {
    vs_transform vs_skin vs_branches vs_indextemp vs_icb vs_intops vs_bits vs_switch vs_ret vs_transcend vs_precise vs_fpops
    vs_fpmad vs_sysvals vs_double vs_double11 vs_calls vs_texfetch
}

/// Every pixel shader runs the same on both engines, those without a result among them.
#[test]
fn every_pixel_shader_runs() {
    let engine = engine(true);
    let mut ran = 0;
    for case in names(&data().join("dxbc")) {
        let folder = data().join("dxbc").join(&case);
        for container in names(&folder).iter().filter(|name| name.ends_with(".dxbc")) {
            let what = format!("{case}/{container}");
            let bytes = read(&folder.join(container));
            let shader = Shader::parse(&bytes).expect("containers of the corpus parse");
            if shader.entry(0).expect("it has a program").stage != Stage::Pixel {
                continue;
            }
            match shader.interface(&shaderjit::CompileOptions::default()) {
                Ok(interface) => {
                    let stride = 16 * interface.signature_inputs().len();
                    let word = |at: usize| {
                        if at.is_multiple_of(3) {
                            (at as u32).wrapping_mul(0x9e37_79b9) >> 12
                        } else {
                            (at as f32 / 7.0).to_bits()
                        }
                    };
                    let input: Vec<u8> = (0..stride / 4 * 21).flat_map(|at| word(at).to_le_bytes()).collect();
                    let run = |code: &CompiledShader| {
                        let mut call = code.call();
                        call.reinterpret_inputs(true);
                        for element in 0..stride / 16 {
                            call.input_element(element, VertexBufferView::u32x4(&input[16 * element..], stride))
                                .unwrap();
                        }
                        call.unbound_as_zero(true).run(0..21).unwrap()
                    };
                    run_everywhere(&engine, &bytes, 0, run, &what);
                    ran += 1;
                }
                Err(Error::Lower(LowerError::Unbound { .. })) if case == "ps_interface" => {}
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
    println!("{ran} pixel shaders ran");
    assert!(ran > 80, "{ran}");
}
