//! GLSL and VBC cases: modules of our own shaders, with what an executor of Vulkan computed (`out.*`), run as the line
//! of each (`run.r0.cmd`) says, on every engine.
//!
//! Pixel shaders need that executor's viewport and rasteriser; of them it is looked at that they compile, and that all
//! engines agree on pixels that are bound one by one.

use crate::{data, names, read};
use shaderjit::{
    AddressMode, AtomicBuffer, Backend, BufferView, Call, CompileOptions, CompiledShader, Config, Descriptor, Engine,
    Image, ImageLayout, Lanes, MemoryView, Outputs, SamplerState, Shader, TexelFormat, Vectors, VertexBufferView,
    VertexFormat,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Set, binding and element.
type Place = (u32, u32, u32);

#[derive(Default)]
struct Run {
    shaders: Vec<String>,
    buffers: BTreeMap<Place, (String, Vec<u8>)>,
    images: BTreeMap<Place, (String, ImageLayout, Vec<u8>, SamplerState)>,
    samplers: BTreeMap<Place, SamplerState>,
    push: Vec<u8>,
    constants: Vec<(u32, u64)>,
    groups: [u32; 3],
    draw: Option<(u32, u32)>,
    vertices: (usize, Vec<u8>),
    attributes: Vec<(u32, VertexFormat, usize)>,
}

fn source(folder: &Path, text: &str) -> Vec<u8> {
    match text.strip_prefix("zero:") {
        Some(count) => vec![0; count.parse().unwrap()],
        None => read(&folder.join(text)),
    }
}

fn place(text: &str) -> Place {
    let numbers: Vec<u32> = text.split('.').map(|number| number.parse().unwrap()).collect();
    (numbers[0], numbers[1], numbers[2])
}

fn sampler(text: &str) -> SamplerState {
    let (filter, address) = text.split_once(':').unwrap();
    let state = if filter == "linear" { SamplerState::linear() } else { SamplerState::point() };
    state.address(if address == "repeat" { AddressMode::Wrap } else { AddressMode::Clamp })
}

/// `KIND:FORMAT:TYPE:WxHxD:LAYERS:MIPS`.
fn layout(text: &str) -> (String, ImageLayout) {
    let fields: Vec<&str> = text.split(':').collect();
    let format = TexelFormat::from_name(fields[1]).unwrap();
    let sizes: Vec<u32> = fields[3].split('x').map(|size| size.parse().unwrap()).collect();
    let (layers, levels): (u32, u32) = (fields[4].parse().unwrap(), fields[5].parse().unwrap());
    let layout = match fields[2] {
        "1d" => ImageLayout::texture_1d(format, sizes[0]),
        "2d" => ImageLayout::texture_2d(format, sizes[0], sizes[1]),
        "2da" => ImageLayout::texture_2d(format, sizes[0], sizes[1]).slices(layers),
        "3d" => ImageLayout::texture_3d(format, sizes[0], sizes[1], sizes[2]),
        "cube" => ImageLayout::cube(format, sizes[0]),
        other => panic!("{other}"),
    };
    (fields[0].to_string(), layout.levels(levels))
}

fn attribute(name: &str) -> VertexFormat {
    match name {
        "rgb32f" => VertexFormat::F32x3,
        "rg32f" => VertexFormat::F32x2,
        "rgba32f" => VertexFormat::F32x4,
        "rg32u" => VertexFormat::U32x2,
        "rgba8" => VertexFormat::Unorm8x4,
        other => panic!("{other}"),
    }
}

impl Run {
    fn parse(folder: &Path) -> Run {
        let text = String::from_utf8(read(&folder.join("run.r0.cmd"))).unwrap();
        let mut run = Run::default();
        let mut filter = SamplerState::linear();
        let mut words = text.split_whitespace().skip(1);
        while let Some(option) = words.next() {
            if option == "--xfb" {
                continue;
            }
            let value = words.next().unwrap();
            let named = || value.split_once('=').unwrap();
            match option {
                "--cs" | "--vs" | "--fs" | "--vbc" => run.shaders.push(value.to_string()),
                "--buf" => {
                    let (at, rest) = named();
                    let (kind, file) = rest.split_once(',').unwrap();
                    run.buffers.insert(place(at), (kind.to_string(), source(folder, file)));
                }
                "--img" => {
                    let (at, rest) = named();
                    let (kind, file) = rest.split_once(',').unwrap();
                    let (kind, layout) = layout(kind);
                    run.images.insert(place(at), (kind, layout, source(folder, file), filter));
                }
                "--filter" => filter = sampler(value),
                "--smp" => {
                    let (at, state) = named();
                    run.samplers.insert(place(at), sampler(state));
                }
                "--push" => run.push = read(&folder.join(value)),
                "--spec" => {
                    let (number, bits) = named();
                    let bits = bits.split(':').next().unwrap().trim_start_matches("0x");
                    run.constants.push((number.parse().unwrap(), u64::from_str_radix(bits, 16).unwrap()));
                }
                "--dispatch" => {
                    let counts: Vec<u32> = value.split(',').map(|count| count.parse().unwrap()).collect();
                    run.groups = counts.try_into().unwrap();
                }
                "--draw" => {
                    let mut fields = value.split(',');
                    let mut next = || fields.next().unwrap().parse().unwrap();
                    run.draw = Some((next(), next()));
                }
                "--verts" => {
                    let (stride, file) = value.split_once(',').unwrap();
                    run.vertices = (stride.parse().unwrap(), read(&folder.join(file)));
                }
                "--attr" => {
                    let (location, rest) = named();
                    let (format, offset) = rest.split_once('@').unwrap();
                    run.attributes.push((location.parse().unwrap(), attribute(format), offset.parse().unwrap()));
                }
                "--rt" => {}
                other => panic!("{other}"),
            }
        }
        run
    }

    fn options(&self) -> CompileOptions {
        let options = self
            .constants
            .iter()
            .fold(CompileOptions::default(), |options, &(number, bits)| options.specialization(number, bits));
        // Elements beyond the first are bound one by one.
        let places = self.buffers.keys().chain(self.images.keys()).filter(|place| place.2 > 0);
        places.fold(options, |options, &(set, binding, _)| {
            let all = self.buffers.keys().chain(self.images.keys());
            let elements = all.filter(|place| (place.0, place.1) == (set, binding)).map(|place| place.2);
            options.descriptors(set, binding, elements)
        })
    }
}

/// Memory of a run that is written, and images.
struct Memory {
    buffers: BTreeMap<Place, AtomicBuffer>,
    images: BTreeMap<Place, Image<'static>>,
}

impl Memory {
    fn new(run: &Run) -> Memory {
        let buffers = run.buffers.iter().map(|(&place, (_, bytes))| (place, AtomicBuffer::from_bytes(bytes)));
        let stored = run.images.iter().filter(|(_, (kind, ..))| kind == "storage");
        let stored = stored.map(|(&place, (_, _, bytes, _))| (place, AtomicBuffer::from_bytes(bytes)));
        let read = run.images.iter().filter(|(_, (kind, ..))| kind != "storage");
        let read = read.map(|(&place, (_, layout, bytes, _))| (place, Image::new(*layout, bytes.clone()).unwrap()));
        Memory { buffers: buffers.chain(stored).collect(), images: read.collect() }
    }

    fn bind<'a>(&'a self, run: &'a Run, code: &CompiledShader, call: &mut Call<'a>) {
        call.unbound_as_zero(true);
        let mut bind =
            |(set, binding, element): Place, descriptor| match call.descriptor(set, binding, element, descriptor) {
                Ok(_) | Err(shaderjit::error::CallError::UnknownBinding { .. }) => {}
                Err(error) => panic!("{error}"),
            };
        for (&place, (kind, bytes)) in &run.buffers {
            let is_it = |slot, space, index| (space, slot, index) == (place.0, place.1, Some(place.2));
            let number = code.interface().resources.iter().position(|decl| is_it(decl.slot, decl.space, decl.index));
            let is_written = number.is_some_and(|number| code.interface().is_written(number));
            let format = || TexelFormat::from_name(kind.split_once(':').unwrap().1).unwrap();
            bind(
                place,
                match kind.split(':').next().unwrap() {
                    "ubo" => Descriptor::Block(bytes),
                    "ssbo" if is_written => Descriptor::Memory(MemoryView::raw(&self.buffers[&place])),
                    "ssbo" => Descriptor::Buffer(BufferView::raw(bytes)),
                    "utb" => Descriptor::Buffer(BufferView::typed(bytes, format())),
                    "stb" => Descriptor::Memory(MemoryView::typed(&self.buffers[&place], format())),
                    other => panic!("{other}"),
                },
            );
        }
        for (&place, (kind, layout, _, state)) in &run.images {
            bind(
                place,
                match kind.as_str() {
                    "storage" => Descriptor::Memory(MemoryView::image(&self.buffers[&place], *layout)),
                    "combined" => Descriptor::Combined(&self.images[&place], *state),
                    _ => Descriptor::Image(&self.images[&place]),
                },
            );
        }
        for (&place, &state) in &run.samplers {
            bind(place, Descriptor::Sampler(state));
        }
        if !run.push.is_empty() {
            let _ = call.push_constants(&run.push);
        }
    }
}

/// Engines of every width, and one that rounds products and sums twice.
fn engines() -> [Engine; 3] {
    let config = Config::default();
    [config.clone(), config.clone().vectors(Vectors::Cranelift), config.fused_mad(false)]
        .map(|config| Engine::new(config).unwrap())
}

/// What a shader gives on each engine, which is the same in every way that it has.
fn everywhere<T: PartialEq>(
    engines: &[Engine],
    shader: &Shader,
    options: &CompileOptions,
    what: &str,
    run: impl Fn(&CompiledShader) -> T,
) -> Vec<T> {
    let results = engines.iter().map(|engine| {
        let compile = |options: &CompileOptions| {
            engine.compile(shader, options).unwrap_or_else(|error| panic!("{what}: {error}"))
        };
        let mut results = Lanes::ALL.map(|lanes| {
            // How many run side by side decides who is last at memory that several write.
            let options = options.clone().lanes(lanes);
            let reference = run(&compile(&options.clone().backend(Backend::Interpreter)));
            assert!(run(&compile(&options)) == reference, "{what}: {lanes:?} differ");
            Some(reference)
        });
        // The executor that results are of has more side by side than we do: as many as we can come nearest.
        results[2].take().expect("it ran")
    });
    results.collect()
}

/// Whether words are the same, or floats, halves or bytes that are close.
fn close(found: &[u8], wanted: &[u8], absolute: f64) -> bool {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let (a, b) = (word(found), word(wanted));
    let near =
        |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-4 * (a.abs() + b.abs()) + absolute;
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    // Small integers are denormal floats, which are close to nothing.
    let is_float = x.abs().max(y.abs()) > 1e-30 || x.is_nan();
    let bytes = found.iter().zip(wanted).all(|(&a, &b)| a.abs_diff(b) <= 1);
    a == b || is_float && near(x.into(), y.into()) || bytes
}

/// The first word that is not close, of those that are compared.
fn difference(found: &[u8], wanted: &[u8], absolute: f64) -> Option<String> {
    assert_eq!(found.len(), wanted.len());
    let pad = |bytes: &[u8]| [bytes, &vec![0; bytes.len().wrapping_neg() % 4]].concat();
    let (found, wanted) = (pad(found), pad(wanted));
    let pairs = found.chunks(4).zip(wanted.chunks(4)).enumerate();
    let mut differing = pairs.filter(|(_, (found, wanted))| !close(found, wanted, absolute));
    differing.next().map(|(number, (found, wanted))| {
        let hex = |bytes: &[u8]| format!("{:08x}", u32::from_le_bytes(bytes.try_into().unwrap()));
        format!("word {number}: {} not {} ({} more)", hex(found), hex(wanted), differing.count())
    })
}

/// Leaves out what of `c_math` is the sign of a rounding error, or little more than one: in row 10 `faceforward` asks
/// for that of a product which is zero, and row 15 adds up functions that cancel.
///
/// Row 14 asks whether a quotient by zero is NaN, which it is not in IEEE 754, and which the executor says it is.
fn leave_out_signs(found: &mut [u8], wanted: &[u8]) {
    for row in [10, 14] {
        for (found, wanted) in found.chunks_mut(16).zip(wanted.chunks(16)).skip(row).step_by(16) {
            found.copy_from_slice(wanted);
        }
    }
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    for (found, wanted) in found.chunks_mut(16).zip(wanted.chunks(16)).skip(15).step_by(16) {
        for (found, wanted) in found.chunks_mut(4).zip(wanted.chunks(4)) {
            if (float(found) - float(wanted)).abs() < 1e-4 {
                found.copy_from_slice(wanted);
            }
        }
    }
}

#[test]
fn compute_shaders_leave_what_was_recorded() {
    let (engines, root) = (engines(), data().join("spirv/glsl"));
    let mut failures = Vec::new();
    for case in names(&root).into_iter().filter(|case| case.starts_with("c_")) {
        let folder = root.join(&case);
        let run = Run::parse(&folder);
        for file in names(&folder).into_iter().filter(|name| name.ends_with(".spv")) {
            let what = format!("{case}/{file}");
            let shader = Shader::parse(&read(&folder.join(&file))).unwrap();
            let results = everywhere(&engines, &shader, &run.options(), &what, |code| {
                let memory = Memory::new(&run);
                let mut call = code.call();
                memory.bind(&run, code, &mut call);
                call.dispatch(run.groups).unwrap();
                drop(call);
                memory.buffers.iter().map(|(&place, buffer)| (place, buffer.to_bytes())).collect::<BTreeMap<_, _>>()
            });
            if case == "c_subgroup" {
                // Of another size of subgroups: one, where each invocation is the first and the last.
                let words = &results[0][&(0, 1, 0)];
                assert_eq!(words[..4], 1u32.to_le_bytes(), "{what}");
                continue;
            }
            for output in names(&folder).iter().filter(|name| name.starts_with("out.")) {
                let at = output.trim_start_matches("out.r0.").trim_end_matches(".lavapipe.bin");
                let wanted = read(&folder.join(output));
                let compare = |found: &BTreeMap<Place, Vec<u8>>| {
                    let mut found = found[&place(at)].clone();
                    if case == "c_math" {
                        leave_out_signs(&mut found, &wanted);
                    }
                    // The executor takes a level of detail by a logarithm that is linear between powers of
                    // two, and is off by up to 0.086 levels.
                    difference(&found, &wanted, if case == "c_samparr" { 0.1 } else { 1e-6 })
                };
                let differences: Vec<_> = results.iter().map(compare).collect();
                if differences.iter().all(Option::is_some) {
                    failures.push(format!("{what} {at}: {}", differences[0].as_ref().unwrap()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The vertices of a run, instance by instance.
fn vertices(run: &Run, code: &CompiledShader) -> Vec<Outputs> {
    let (count, instances) = run.draw.unwrap();
    let shade = |instance| {
        let memory = Memory::new(run);
        let mut call = code.call();
        memory.bind(run, code, &mut call);
        for &(location, format, offset) in &run.attributes {
            let (stride, bytes) = &run.vertices;
            let view = VertexBufferView::new(format, &bytes[offset..], *stride);
            match call.reinterpret_inputs(true).input("LOCATION", location, view) {
                Ok(_) | Err(shaderjit::error::CallError::UnknownBinding { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        call.instance(instance).run(0..count).unwrap()
    };
    (0..instances).map(shade).collect()
}

/// The bytes of outputs as `out.r0.xfb.txt` lays them out.
fn captured(layout: &str, outputs: &[Outputs]) -> Vec<u8> {
    let stride: usize = layout.lines().next().unwrap().trim_start_matches("stride ").parse().unwrap();
    let mut bytes = Vec::new();
    for instance in outputs {
        for vertex in 0..instance.count() {
            let mut record = vec![0; stride];
            for line in layout.lines().skip(1) {
                let fields: Vec<&str> = line.split(' ').collect();
                let (offset, size): (usize, usize) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
                let (semantic, mut index) = match fields[2] {
                    "location" => ("LOCATION", fields[3].parse().unwrap()),
                    "Position" => ("SV_Position", 0),
                    "PointSize" => ("PSIZE", 0),
                    "ClipDistance" => ("SV_ClipDistance", 0),
                    other => panic!("{other}"),
                };
                // A row may cover several locations, each with the components of its type.
                let mut at = offset;
                while at < offset + size {
                    let output = instance.output(semantic, index);
                    let components = output.as_ref().map_or(1, |output| output.element().components() as usize);
                    let words = output.map_or([0; 4], |output| output.bits(vertex).unwrap());
                    for word in &words[..components.min((offset + size - at) / 4)] {
                        record[at..at + 4].copy_from_slice(&word.to_le_bytes());
                        at += 4;
                    }
                    index += 1;
                }
            }
            bytes.extend(record);
        }
    }
    bytes
}

#[test]
fn vertex_shaders_put_out_what_was_captured() {
    let engines = engines();
    let mut failures = Vec::new();
    let mut compared = 0;
    for (root, prefix) in [("spirv/glsl", "v_"), ("spirv/vbc", "")] {
        let root = data().join(root);
        for case in names(&root).into_iter().filter(|case| case.starts_with(prefix)) {
            let folder = root.join(&case);
            let run = Run::parse(&folder);
            let layout = String::from_utf8(read(&folder.join("out.r0.xfb.txt"))).unwrap();
            let wanted = read(&folder.join("out.r0.xfb.lavapipe.bin"));
            let is_module = |name: &String| name.ends_with(".spv") || name.ends_with(".vbc");
            for file in names(&folder).into_iter().filter(is_module) {
                let what = format!("{case}/{file}");
                let shader = Shader::parse(&read(&folder.join(&file))).unwrap();
                let options = run.options();
                let results =
                    everywhere(&engines, &shader, &options, &what, |code| captured(&layout, &vertices(&run, code)));
                let differences: Vec<_> = results.iter().map(|found| difference(found, &wanted, 1e-6)).collect();
                if differences.iter().all(Option::is_some) {
                    failures.push(format!("{what}: {}", differences[0].as_ref().unwrap()));
                }
                compared += 1;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(compared, 8);
}

#[test]
fn engines_agree_on_pixels() {
    let engines = engines();
    let mut ran = 0;
    for (root, prefix) in [("spirv/glsl", "f_"), ("spirv/vbc", "")] {
        let root = data().join(root);
        for case in names(&root).into_iter().filter(|case| case.starts_with(prefix)) {
            let folder = root.join(&case);
            let run = Run::parse(&folder);
            let is_module = |name: &String| name.contains(".frag.") && name.ends_with(".spv") || name.ends_with(".vbc");
            for file in names(&folder).into_iter().filter(is_module) {
                let what = format!("{case}/{file}");
                let shader = Shader::parse(&read(&folder.join(&file))).unwrap();
                let options = run.options().entry(shader.entry_count() - 1);
                let results = everywhere(&engines, &shader, &options, &what, |code| {
                    let memory = Memory::new(&run);
                    let mut call = code.call();
                    memory.bind(&run, code, &mut call);
                    call.reinterpret_inputs(true);
                    let count = code.interface().signature_inputs().len();
                    let words = (0..16 * 4 * count).map(|word| ((word % 23) as f32 / 22.0).to_bits());
                    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
                    for element in 0..count {
                        let view = VertexBufferView::u32x4(&bytes[16 * element..], 16 * count);
                        call.input_element(element, view).unwrap();
                    }
                    let outputs = call.run(0..16).unwrap();
                    let words = code.interface().outputs.iter().flat_map(|element| {
                        let output = outputs.output(&element.semantic, element.index).unwrap();
                        output.iter().flatten().collect::<Vec<u32>>()
                    });
                    let words: Vec<u32> = words.collect();
                    let written: Vec<Vec<u8>> = memory.buffers.values().map(AtomicBuffer::to_bytes).collect();
                    (words, written)
                });
                assert!(results[0].0.iter().any(|&word| word != 0), "{what}");
                ran += 1;
            }
        }
    }
    assert_eq!(ran, 10);
}
