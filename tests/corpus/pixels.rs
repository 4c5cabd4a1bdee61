//! Pixel shaders against what an independent executor drew: the vertex shader's triangles, in quads, through
//! [`Call::pixels_into`](shaderjit::Call::pixels_into). What lies between the two is the plainest rasteriser there is:
//! every quad of the target for every triangle, coverage by edge functions, no clipping and no depth. So `ps_early`,
//! which tests depth, is not here.
//!
//! Integers and moved bits must be equal. Floats may differ by 1e-4 of their size and 1e-5; what is sampled between
//! levels by more, because the executor takes the logarithm of a level piece by piece of a line, up to 0.04 beside it,
//! is quicker than linear between levels, and rounds colours of eight bits after each step: [`tolerance`]. (Weights of
//! eight bits, `Precision::Fixed8`, bring nothing nearer.) What it computes otherwise than Direct3D says is in
//! [`is_left_out`].

use crate::{data, engine, names, read, textures};
use shaderjit::container::dxbc::Dxbc;
use shaderjit::frontend::pixel::{Interpolation, PixelInput, PixelOutput, sample_positions};
use shaderjit::frontend::sm4::{Opcode, Program};
use shaderjit::{
    AtomicBuffer, Backend, BufferView, Comparison, CompileOptions, CompiledShader, ComponentType, Engine, Image,
    ImageLayout, Lanes, MemoryView, OutputLayout, Outputs, Place, Plane, Primitive, Quad, Quads, SamplerState, Shader,
    TexelFormat, VertexBufferView,
};
use std::path::{Path, PathBuf};

/// The container with fine derivatives for coarse ones, of which there is one for a quad: the executor takes all for
/// fine ones.
pub fn with_fine_derivatives(mut container: Vec<u8>) -> Vec<u8> {
    let dxbc = Dxbc::parse(&container).expect("it parses");
    let program =
        Program::from_container(&dxbc.program().expect("it is whole").expect("it has one")).expect("it decodes");
    for instruction in &program.instructions {
        let fine = match instruction.opcode() {
            Opcode::DerivRtxCoarse => Opcode::DerivRtxFine,
            Opcode::DerivRtyCoarse => Opcode::DerivRtyFine,
            _ => continue,
        };
        // The opcode is in the low 11 bits, of which these differ in the first byte alone.
        container[instruction.offset] = fine.number() as u8;
    }
    container
}

/// What targets are filled with: all that is left of a pixel that nothing is drawn to.
fn cleared(ty: ComponentType) -> u32 {
    if ty == ComponentType::F32 { (-7777.0f32).to_bits() } else { 7777 }
}

/// How far floats may be apart beside 1e-4 of their size: a little more than they are.
pub fn tolerance(case: &str) -> f64 {
    match case {
        // Texels from -1 to 1 that have nothing to do with those of other levels, and sums of three samples.
        "ps_sample" => 1.0 / 14.0,
        // A march in steps through a height map, and normals of unit length.
        "ps_tbn" => 1.0 / 25.0,
        // Levels that are like noise to each other.
        "ps_cube3d" | "ps_foliage" => 1.0 / 36.0,
        "ps_divloop" | "ps_mips" => 1.0 / 60.0,
        "ps_helper" => 1.0 / 128.0,
        _ => 1e-5,
    }
}

/// What is not compared.
pub fn is_left_out(case: &str, container: &str, name: &str, component: usize, wanted: u32) -> bool {
    match case {
        // The driver has NaN in some pixels whose centroid it asks for.
        "ps_interp" => f32::from_bits(wanted).is_nan(),
        // In a shader that runs once a sample it restricts the coverage to that sample, and puts the position there.
        // Direct3D says that coverage is the pixel's (16.3.2), and the position where its declaration says (16.3).
        "ps_msaa" => container.starts_with("PSS.") && name.starts_with("u1[") && component >= 2,
        // Its alpha is where `clip` decides.
        "ps_foliage" => name == "rt0(5,8)",
        _ => false,
    }
}

/// `FILTER:ADDRESS[:COMPARISON]`, the filter for comparisons or not, the comparison by Direct3D's number.
fn sampler(text: &str) -> SamplerState {
    let mut fields = text.split(':');
    let (filter, address) = (fields.next().expect("a filter"), fields.next().expect("an address mode"));
    let (filter, compares) = match filter {
        "cmp" => ("linear", true),
        "cmppoint" => ("point", true),
        filter => (filter, false),
    };
    let state = textures::sampler(&format!("{filter}:{address}")).expect("a filter and an address mode");
    if !compares {
        return state;
    }
    state.compare(match fields.next() {
        None | Some("4") => Comparison::LessEqual,
        Some("5") => Comparison::Greater,
        Some("7") => Comparison::GreaterEqual,
        Some(other) => panic!("comparison {other}"),
    })
}

/// How a run was bound, from its command line.
#[derive(Default)]
struct Run {
    vertex: String,
    pixel: String,
    input: Vec<u8>,
    count: Option<u32>,
    size: [u32; 2],
    samples: u32,
    constants: Vec<(u32, Vec<u8>)>,
    buffers: Vec<(u32, TexelFormat, Vec<u8>)>,
    images: Vec<(u32, Image<'static>)>,
    samplers: Vec<(u32, SamplerState)>,
    memory: Vec<(u32, Kind, usize)>,
}

/// What a view that is written is.
#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Typed(TexelFormat),
    Image(ImageLayout),
}

impl Run {
    fn parse(folder: &Path, command: &str) -> Run {
        let mut run = Run { samples: 1, ..Run::default() };
        let mut words = command.split_whitespace().skip(1);
        while let Some(option) = words.next() {
            let value = words.next().expect("every option has a value");
            let slot = || {
                let (slot, rest) = value.split_once('=').expect("SLOT=…");
                (slot.parse::<u32>().expect("a slot"), rest)
            };
            match option {
                "--vs" => run.vertex = value.to_string(),
                "--ps" => run.pixel = value.to_string(),
                "--in" => run.input = read(&folder.join(value)),
                "--count" => run.count = Some(value.parse().expect("a number")),
                "--samples" => run.samples = value.parse().expect("a number"),
                "--rt" => {
                    let (width, height) = value.split_once('x').expect("WxH");
                    run.size = [width, height].map(|size| size.parse().expect("a number"));
                }
                "--cb" => run.constants.push((slot().0, read(&folder.join(slot().1)))),
                "--smp" => run.samplers.push((slot().0, sampler(slot().1))),
                "--srv" => {
                    let (kind, file) = slot().1.split_once(',').expect("KIND,FILE");
                    let bytes = read(&folder.join(file));
                    match kind.strip_prefix("buf:") {
                        Some(format) => {
                            let format = TexelFormat::from_name(format).expect("a format");
                            run.buffers.push((slot().0, format, bytes));
                        }
                        None => {
                            let layout = textures::layout(kind).expect("a texture");
                            let image = Image::new(layout, bytes).expect("the file holds the texels");
                            run.images.push((slot().0, image));
                        }
                    }
                }
                "--uav" => {
                    let (kind, bytes) = slot().1.split_once(",zero:").expect("KIND,zero:BYTES");
                    let kind = match kind.strip_prefix("buf:") {
                        _ if kind == "raw" => Kind::Raw,
                        Some(format) => Kind::Typed(TexelFormat::from_name(format).expect("a format")),
                        None => Kind::Image(textures::layout(kind).expect("a texture")),
                    };
                    run.memory.push((slot().0, kind, bytes.parse().expect("a number")));
                }
                other => panic!("{other} is no option of a run without depth"),
            }
        }
        run
    }

    /// What the vertex shader makes of the vertices.
    fn vertices(&self, engine: &Engine, folder: &Path) -> Outputs {
        let shader = Shader::parse(&read(&folder.join(&self.vertex))).expect("it parses");
        let code = engine.compile(&shader, &CompileOptions::default()).expect("it compiles");
        let elements = code.interface().inputs.len();
        let mut call = code.call();
        for element in 0..elements {
            let view = VertexBufferView::f32x4(&self.input[16 * element..], 16 * elements);
            call.input_element(element, view).expect("the signature has it");
        }
        for (slot, bytes) in &self.constants {
            let _ = call.constant_buffer(*slot, bytes);
        }
        let held = self.input.len().checked_div(16 * elements).map(|count| count as u32);
        let count = self.count.or(held).expect("an input or a count");
        call.run(0..count).expect("the call runs")
    }
}

/// A triangle on the target.
struct Triangle {
    /// In pixels, and rounded to the 256ths that coverage is decided by.
    corners: [[f64; 2]; 3],
    rounded: [[f64; 2]; 3],
    /// Twice its area, negative if it is seen from behind.
    area: f64,
}

impl Triangle {
    fn new(vertices: &Outputs, first: usize, size: [u32; 2]) -> Triangle {
        let position = vertices.output("SV_Position", 0).expect("a vertex has a position");
        let corners = [0, 1, 2].map(|corner| {
            let [x, y, _, w] = position.vec4(first + corner).expect("there are three").map(f64::from);
            [(x / w + 1.0) / 2.0 * f64::from(size[0]), (1.0 - y / w) / 2.0 * f64::from(size[1])]
        });
        let rounded = corners.map(|corner| corner.map(|at| (at * 256.0).round() / 256.0));
        let [[ax, ay], [bx, by], [cx, cy]] = corners;
        Triangle { corners, rounded, area: (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) }
    }

    /// Whether a point is inside, or on an edge that is its upper one or a left one.
    fn covers(&self, [x, y]: [f64; 2]) -> bool {
        let sign = self.area.signum();
        self.area != 0.0
            && (0..3).all(|edge| {
                let ([ax, ay], [bx, by]) = (self.rounded[edge], self.rounded[(edge + 1) % 3]);
                let (dx, dy) = (sign * (bx - ax), sign * (by - ay));
                let side = dx * (y - ay) - dy * (x - ax);
                side > 0.0 || side == 0.0 && (dy < 0.0 || dy == 0.0 && dx > 0.0)
            })
    }

    /// The plane through a value at each corner, by what it is at the first.
    fn plane(&self, values: [f64; 3]) -> Plane {
        let [[ax, ay], [bx, by], [cx, cy]] = self.corners;
        let (db, dc) = (values[1] - values[0], values[2] - values[0]);
        let dx = (db * (cy - ay) - dc * (by - ay)) / self.area;
        let dy = (dc * (bx - ax) - db * (cx - ax)) / self.area;
        Plane { value: values[0] as f32, dx: dx as f32, dy: dy as f32 }
    }
}

/// What is drawn: quads, and what they belong to.
#[derive(Default)]
struct Drawn {
    quads: Vec<Quad>,
    primitives: Vec<Primitive>,
    planes: Vec<Plane>,
}

impl Drawn {
    fn new(vertices: &Outputs, code: &CompiledShader, run: &Run) -> Drawn {
        let mut drawn = Drawn::default();
        let pixel = code.interface().pixel.as_ref().expect("it is a pixel shader");
        for first in (0..vertices.count() / 3 * 3).step_by(3) {
            let triangle = Triangle::new(vertices, first, run.size);
            drawn.primitive(vertices, first, &triangle, code);
            let primitive = (first / 3) as u32;
            for (y, x) in (0..run.size[1]).step_by(2).flat_map(|y| (0..run.size[0]).step_by(2).map(move |x| (y, x))) {
                let coverage = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[right, down]| {
                    let (px, py) = (x + right, y + down);
                    let samples = sample_positions(run.samples).iter().enumerate();
                    let covered = samples.filter(|(_, [sx, sy])| {
                        let at = [(px, sx), (py, sy)].map(|(pixel, &at)| f64::from(pixel) + 0.5 + f64::from(at) / 16.0);
                        px < run.size[0] && py < run.size[1] && triangle.covers(at)
                    });
                    covered.fold(0u16, |mask, (sample, _)| mask | 1 << sample)
                });
                for sample in 0..if pixel.per_sample { run.samples } else { 1 } {
                    let is_live =
                        |covered: u16| if pixel.per_sample { covered >> sample & 1 != 0 } else { covered != 0 };
                    let live = (0..4).fold(0, |mask, at| mask | u8::from(is_live(coverage[at])) << at);
                    if live != 0 {
                        drawn.quads.push(Quad { x, y, primitive, coverage, live, sample: sample as u8 });
                    }
                }
            }
        }
        drawn
    }

    fn primitive(&mut self, vertices: &Outputs, first: usize, triangle: &Triangle, code: &CompiledShader) {
        let position = vertices.output("SV_Position", 0).expect("a vertex has a position");
        let corner = |number: usize| position.vec4(first + number).expect("there are three").map(f64::from);
        let clip = [corner(0), corner(1), corner(2)];
        self.primitives.push(Primitive {
            origin: triangle.corners[0].map(|at| at as f32),
            depth: triangle.plane(clip.map(|[.., z, w]| z / w)),
            reciprocal_w: triangle.plane(clip.map(|[.., w]| 1.0 / w)),
            front_face: triangle.area > 0.0,
            id: (first / 3) as u32,
        });
        let interface = code.interface();
        let inputs = &interface.pixel.as_ref().expect("it is a pixel shader").inputs;
        for (element, input) in interface.signature_inputs().iter().zip(inputs) {
            let PixelInput::Attribute { interpolation, .. } = *input else { continue };
            let output = vertices.output(&element.semantic, element.index).expect("the vertices have it");
            for component in 0..element.components() as usize {
                let bits = [0, 1, 2].map(|corner| output.bits(first + corner).expect("there are three")[component]);
                let values = bits.map(|bits| f64::from(f32::from_bits(bits)));
                self.planes.push(match interpolation {
                    Interpolation::Constant => Plane::constant(bits[0]),
                    Interpolation::NoPerspective => triangle.plane(values),
                    Interpolation::Perspective => {
                        triangle.plane([0, 1, 2].map(|corner| values[corner] / clip[corner][3]))
                    }
                });
            }
        }
    }
}

/// What a run leaves behind, as the lines of result files name it.
#[derive(PartialEq)]
struct Picture {
    size: [u32; 2],
    samples: u32,
    /// By target: for each pixel its samples.
    targets: Vec<Vec<[u32; 4]>>,
    types: Vec<ComponentType>,
    memory: Vec<(u32, usize, Vec<u8>)>,
}

fn draw(drawn: &Drawn, code: &CompiledShader, run: &Run) -> Picture {
    let memory: Vec<AtomicBuffer> = run.memory.iter().map(|&(.., bytes)| AtomicBuffer::zeroed(bytes)).collect();
    let mut call = code.call();
    for (slot, bytes) in &run.constants {
        // A compiler may have dropped a buffer that another one kept.
        let _ = call.constant_buffer(*slot, bytes);
    }
    for (slot, format, bytes) in &run.buffers {
        let _ = call.buffer(*slot, BufferView::typed(bytes, *format));
    }
    for (slot, image) in &run.images {
        let _ = call.texture(*slot, image);
    }
    for (slot, state) in &run.samplers {
        let _ = call.sampler(*slot, *state);
    }
    for ((slot, kind, _), buffer) in run.memory.iter().zip(&memory) {
        let view = match *kind {
            Kind::Raw => MemoryView::raw(buffer),
            Kind::Typed(format) => MemoryView::typed(buffer, format),
            Kind::Image(layout) => MemoryView::image(buffer, layout),
        };
        let _ = call.unordered_access(*slot, view);
    }
    let interface = code.interface();
    let pixel = interface.pixel.as_ref().expect("it is a pixel shader");
    let stride = 16 * interface.outputs.len();
    let layout = (0..interface.outputs.len())
        .fold(OutputLayout::none(code), |layout, element| layout.with(element, Place { offset: 16 * element, stride }));
    let mut bytes = vec![0; 4 * drawn.quads.len() * stride];
    let quads =
        Quads { quads: &drawn.quads, primitives: &drawn.primitives, planes: &drawn.planes, samples: run.samples };
    call.pixels_into(&quads, &layout, &mut bytes).expect("the call runs");
    let (rows, []) = bytes.as_chunks::<4>() else { unreachable!("rows are words") };
    let words = |row: usize, element: usize| -> [u32; 4] {
        let first = (row * stride + 16 * element) / 4;
        std::array::from_fn(|component| u32::from_le_bytes(rows[first + component]))
    };
    let mut picture =
        Picture { size: run.size, samples: run.samples, targets: Vec::new(), types: Vec::new(), memory: Vec::new() };
    let all = (run.size[0] * run.size[1] * run.samples) as usize;
    let coverage = pixel.outputs.iter().position(|output| *output == Some(PixelOutput::Coverage));
    for (element, output) in pixel.outputs.iter().enumerate() {
        let &Some(PixelOutput::Target(number)) = output else { continue };
        let number = number as usize;
        let ty = interface.outputs[element].ty;
        picture.targets.resize(picture.targets.len().max(number + 1), Vec::new());
        picture.targets[number] = vec![[cleared(ty); 4]; all];
        picture.types.resize(picture.targets.len(), ComponentType::F32);
        picture.types[number] = ty;
        for (row, quad) in drawn.quads.iter().flat_map(|quad| [quad; 4]).enumerate() {
            let at = row % 4;
            let is_discarded = interface.discarded.is_some_and(|element| words(row, element)[0] != 0);
            if quad.live >> at & 1 == 0 || is_discarded {
                continue;
            }
            let mut samples = u32::from(quad.coverage[at]);
            samples &= if pixel.per_sample { 1 << quad.sample } else { u32::MAX };
            samples &= coverage.map_or(u32::MAX, |element| words(row, element)[0]);
            let place = (quad.y + at as u32 / 2) * run.size[0] + quad.x + at as u32 % 2;
            for sample in (0..run.samples).filter(|sample| samples >> sample & 1 != 0) {
                picture.targets[number][(place * run.samples + sample) as usize] = words(row, element);
            }
        }
    }
    let sizes = run.memory.iter().map(|(slot, kind, _)| match kind {
        // Printed in rows.
        Kind::Raw => (*slot, 16),
        Kind::Typed(format) => (*slot, format.bytes()),
        Kind::Image(_) => (*slot, 4),
    });
    picture.memory = sizes.zip(&memory).map(|((slot, size), buffer)| (slot, size, buffer.to_bytes())).collect();
    picture
}

impl Picture {
    /// The words that a line names, and whether they are floats: `rt0(x,y)`, `u1[n]`; none for other lines.
    fn words(&self, name: &str, wanted: &[u32]) -> Option<(Vec<u32>, bool)> {
        if let Some(rest) = name.strip_prefix("rt") {
            let (number, place) = rest.trim_end_matches(')').split_once('(')?;
            let (x, y) = place.split_once(',')?;
            let number = number.parse::<usize>().ok()?;
            let place = y.parse::<usize>().ok()? * self.size[0] as usize + x.parse::<usize>().ok()?;
            let samples = &self.targets[number][place * self.samples as usize..][..self.samples as usize];
            let is_float = self.types[number] == ComponentType::F32;
            let mean = |component: usize| {
                let all = samples.iter().map(|sample| f32::from_bits(sample[component]));
                (all.sum::<f32>() / self.samples as f32).to_bits()
            };
            let words = if self.samples > 1 { [0, 1, 2, 3].map(mean) } else { samples[0] };
            return Some((words[..wanted.len()].to_vec(), is_float));
        }
        let (slot, index) = name.strip_prefix('u')?.trim_end_matches(']').split_once('[')?;
        let (slot, index) = (slot.parse::<u32>().ok()?, index.parse::<usize>().ok()?);
        let (_, size, bytes) = self.memory.iter().find(|(number, ..)| *number == slot)?;
        let words = bytes[index * size..][..*size].as_chunks().0;
        Some((words.iter().map(|&word| u32::from_le_bytes(word)).collect(), *size == 16))
    }
}

pub fn is_close(ours: u32, theirs: u32, absolute: f64) -> bool {
    let (a, b) = (f64::from(f32::from_bits(ours)), f64::from(f32::from_bits(theirs)));
    ours == theirs || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + absolute
}

/// The containers of an entry that have a result for a command, and where it is.
pub fn with_results<'n>(
    folder: &'n Path,
    names: &'n [String],
    command: &'n str,
    entry: &'n str,
) -> impl Iterator<Item = (&'n String, PathBuf)> {
    let is_of_entry = move |name: &&String| name.ends_with(".dxbc") && name.split('.').next() == Some(entry);
    let with_result = move |container: &'n String| {
        let build = container.trim_end_matches("dxbc").split_once('.').expect("an entry and a profile").1;
        (container, folder.join(format!("{}{build}dxvk.txt", command.trim_end_matches("cmd"))))
    };
    names.iter().filter(is_of_entry).map(with_result).filter(|(_, result)| result.exists())
}

/// Every container of a case, on every run, against the result beside it, on every engine.
fn check_case(case: &str) {
    let folder = data().join("dxbc").join(case);
    let engine = engine(true);
    let names = names(&folder);
    let (mut checked, mut compared) = (0, 0);
    let mut failures = Vec::new();
    for command in names.iter().filter(|name| name.ends_with(".cmd")) {
        let run = Run::parse(&folder, &String::from_utf8(read(&folder.join(command))).expect("commands are text"));
        let vertices = run.vertices(&engine, &folder);
        let entry = run.pixel.split_once('.').expect("an entry").0;
        for (container, result) in with_results(&folder, &names, command, entry) {
            let what = format!("{case}/{container} in {command}");
            let shader = Shader::parse(&with_fine_derivatives(read(&folder.join(container)))).expect("it parses");
            let options = CompileOptions::default().samples(run.samples);
            let ways = Lanes::ALL.map(|lanes| options.clone().lanes(lanes));
            let ways = ways.into_iter().chain([options.backend(Backend::Interpreter)]);
            let mut pictures = ways.map(|options| {
                let code = engine.compile(&shader, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
                draw(&Drawn::new(&vertices, &code, &run), &code, &run)
            });
            let picture = pictures.next().expect("there are several");
            assert!(pictures.all(|other| other == picture), "{what}: engines differ");
            let text = String::from_utf8(read(&result)).expect("results are text");
            for line in text.lines() {
                let Some((name, words)) = line
                    .split_once('[')
                    .filter(|_| !line.starts_with('u'))
                    .or_else(|| line.rsplit_once('[').filter(|_| line.starts_with('u')))
                else {
                    continue;
                };
                let words = words.trim_end_matches(']').split_whitespace();
                let wanted: Vec<u32> =
                    words.map(|word| u32::from_str_radix(word, 16).expect("words in hexadecimal")).collect();
                let name = name.split_whitespace().next().expect("a line has a name");
                let Some((found, is_float)) = picture.words(name, &wanted) else { continue };
                for (component, (&ours, &theirs)) in found.iter().zip(&wanted).enumerate() {
                    let floats = [ours, theirs].map(f32::from_bits);
                    let is_same = is_left_out(case, container, name, component, theirs)
                        || ours == theirs
                        || is_float && is_close(ours, theirs, tolerance(case));
                    if !is_same {
                        failures.push(format!("{what}: {name}.{component} {ours:08x} is not {theirs:08x}, {floats:?}"));
                    }
                    compared += 1;
                }
            }
            checked += 1;
        }
    }
    let some = failures[..failures.len().min(12)].join("\n");
    assert!(failures.is_empty(), "{} of {compared} values differ\n{some}", failures.len());
    assert!(checked > 0 && compared > 0, "{case}: nothing to compare");
    println!("{case}: {checked} results, {compared} values");
}

macro_rules! cases {
    ($( $name:ident )*) => { $( #[test] fn $name() { check_case(stringify!($name)); } )* };
}

cases! {
    ps_deriv ps_discard ps_interp ps_mrt ps_raymarch ps_sample ps_uav
    ps_cmp ps_cube3d ps_derivs2 ps_divloop ps_foliage ps_helper ps_mips ps_msaa ps_sysin ps_tbn
}
