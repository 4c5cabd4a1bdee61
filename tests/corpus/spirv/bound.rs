//! What runs bind.

use super::{Row, places};
use crate::{read, textures};
use shaderjit::{
    AtomicBuffer, BufferView, Call, CompiledShader, Descriptor, Image, MemoryView, SamplerState, TexelFormat,
};
use std::collections::BTreeMap;
use std::path::Path;

/// What a register has in a run.
pub enum Bound {
    Constants(Vec<u8>),
    Read(String, Vec<u8>),
    Written(String, Vec<u8>),
    Sampler(SamplerState),
}

/// A run, from its command line.
#[derive(Default)]
pub struct Run {
    pub registers: BTreeMap<String, Bound>,
    pub input: Vec<u8>,
    pub count: Option<u32>,
    pub instances: u32,
    pub groups: [u32; 3],
    pub entry: String,
}

/// A sampler, `cmp` and `cmppoint` with their comparison's number in Direct3D among them.
fn sampler(text: &str) -> SamplerState {
    let fields: Vec<&str> = text.split(':').collect();
    let names = ["", "never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"];
    let comparison = fields.get(2).map_or("lequal", |number| names[number.parse::<usize>().unwrap()]);
    match fields[0] {
        "cmp" => textures::sampler(&format!("linear:{}:{comparison}", fields[1])).unwrap(),
        "cmppoint" => textures::sampler(&format!("point:{}:{comparison}", fields[1])).unwrap(),
        _ => textures::sampler(text).unwrap(),
    }
}

fn source(folder: &Path, text: &str) -> Vec<u8> {
    if let Some(count) = text.strip_prefix("zero:") {
        return vec![0; count.parse().unwrap()];
    }
    match text.strip_prefix("hex:") {
        None => read(&folder.join(text)),
        Some(hex) => (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect(),
    }
}

impl Run {
    pub fn parse(folder: &Path, command: &str) -> Option<Run> {
        let mut run = Run { instances: 1, groups: [1; 3], ..Run::default() };
        let mut words = command.split_whitespace().skip(1);
        while let Some(option) = words.next() {
            let value = words.next()?;
            match option {
                "--vs" | "--cs" => run.entry = value.split('.').next().unwrap().to_string(),
                "--in" => run.input = source(folder, value),
                "--count" => run.count = value.parse().ok(),
                "--instances" => run.instances = value.parse().unwrap(),
                "--dispatch" => {
                    let mut groups = value.split(',').map(|count| count.parse().unwrap());
                    run.groups = [(); 3].map(|()| groups.next().unwrap());
                }
                "--cb" | "--srv" | "--uav" | "--smp" => {
                    let (slot, view) = value.split_once('=').unwrap();
                    let (kind, file) = view.split_once(',').unwrap_or((view, ""));
                    let (name, bound) = match option {
                        "--cb" => ("b", Bound::Constants(source(folder, view))),
                        "--srv" => ("t", Bound::Read(kind.to_string(), source(folder, file))),
                        "--uav" => ("u", Bound::Written(kind.to_string(), source(folder, file))),
                        _ => ("s", Bound::Sampler(sampler(view))),
                    };
                    run.registers.insert(format!("{name}{slot}"), bound);
                }
                // Runs with other stages say nothing of this one alone.
                _ => return None,
            }
        }
        Some(run)
    }

    /// What a run with other stages binds.
    pub fn registers_of(folder: &Path, command: &str) -> Run {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let bindings = words.chunks(2).filter(|pair| matches!(pair[0], "--cb" | "--srv" | "--uav" | "--smp"));
        let bindings: Vec<&str> = bindings.flatten().copied().collect();
        Run::parse(folder, &format!("run {}", bindings.join(" "))).expect("they are bindings alone")
    }
}

/// Memory of a run, by register and `REGISTER.counter`, and images, which have to live as long as the call.
pub struct Memory {
    pub buffers: BTreeMap<String, AtomicBuffer>,
    pub images: BTreeMap<String, Image<'static>>,
}

impl Memory {
    pub fn new(run: &Run) -> Memory {
        let mut memory = Memory { buffers: BTreeMap::new(), images: BTreeMap::new() };
        for (register, bound) in &run.registers {
            match bound {
                Bound::Written(kind, bytes) => {
                    memory.buffers.insert(register.clone(), AtomicBuffer::from_bytes(bytes));
                    let counter = AtomicBuffer::zeroed(4);
                    if let Some(Ok(start)) = kind.rsplit_once(':').map(|(_, start)| start.parse()) {
                        counter.set_word(
                            0,
                            if kind.starts_with("struct:") && kind.matches(':').count() > 1 { start } else { 0 },
                        );
                    }
                    memory.buffers.insert(format!("{register}.counter"), counter);
                }
                Bound::Read(kind, bytes) => {
                    if let Some(layout) = textures::layout(&spelt(kind)) {
                        memory.images.insert(register.clone(), Image::new(layout, bytes.clone()).unwrap());
                    }
                }
                _ => {}
            }
        }
        memory
    }
}

/// A kind with our name of its format.
fn spelt(kind: &str) -> String {
    kind.replace("r11g11b10f", "rg11b10f")
}

/// The format of a typed view: that of the run, or the one that the module declares for what Direct3D has no format of.
fn format(kind: &str, declared: &str) -> TexelFormat {
    let name = kind.strip_prefix("buf:").unwrap_or(match declared.rsplit_once("-fmt") {
        Some((_, "24")) => "r32i",
        Some((_, "3")) => "r32f",
        Some((_, "30")) => "rgba32u",
        _ => "r32u",
    });
    TexelFormat::from_name(name).unwrap_or_else(|| panic!("{name} is a format"))
}

pub fn bind<'a>(call: &mut Call<'a>, code: &CompiledShader, rows: &[Row], run: &'a Run, memory: &'a Memory) {
    call.unbound_as_zero(true);
    for row in rows.iter().filter(|row| row[0] == "res") {
        let (set, binding): (u32, u32) = (row[1].parse().unwrap(), row[2].parse().unwrap());
        let (register, declared) = (&row[4], &row[5]);
        let base = register.trim_end_matches(".counter");
        let Some(bound) = run.registers.get(base) else { continue };
        let is_it = |slot, space| (slot, space) == (binding, set);
        let number = code.interface().resources.iter().position(|decl| is_it(decl.slot, decl.space));
        let is_written = number.is_some_and(|number| code.interface().is_written(number));
        let descriptor = match bound {
            Bound::Constants(bytes) => Descriptor::Block(bytes),
            Bound::Sampler(state) => Descriptor::Sampler(*state),
            Bound::Written(kind, _) => {
                let buffer = &memory.buffers[register.as_str()];
                Descriptor::Memory(match (declared.as_str(), textures::layout(&spelt(kind))) {
                    ("ssbo", _) => MemoryView::raw(buffer),
                    (_, Some(layout)) if register == base => MemoryView::image(buffer, layout),
                    _ => MemoryView::typed(buffer, format(kind, declared)),
                })
            }
            Bound::Read(kind, bytes) => match memory.images.get(register.as_str()) {
                Some(image) => Descriptor::Image(image),
                None if declared == "ssbo" && !is_written => Descriptor::Buffer(BufferView::raw(bytes)),
                None => Descriptor::Buffer(BufferView::typed(bytes, format(kind, declared))),
            },
        };
        // What a compiler dropped is not there.
        match call.descriptor(set, binding, 0, descriptor) {
            Ok(_) | Err(shaderjit::error::CallError::UnknownBinding { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// The bytes of each input location: 16 a vertex, of the components that the element has.
pub fn inputs(code: &CompiledShader, rows: &[Row], run: &Run, elements: &[String]) -> BTreeMap<u32, Vec<u8>> {
    let stride = 16 * elements.len();
    let count = run.input.len().checked_div(stride).unwrap_or(0);
    let mut bytes = BTreeMap::new();
    for (location, semantic, mask) in rows.iter().filter(|row| row[0] == "in").flat_map(places) {
        let declared = code.interface().inputs.iter().find(|element| element.index == location);
        let (Some(declared), Some(at)) = (declared, elements.iter().position(|element| *element == semantic)) else {
            continue;
        };
        let rows = bytes.entry(location).or_insert_with(|| vec![0; 16 * count]);
        for vertex in 0..count {
            let record = &run.input[vertex * stride + 16 * at..][..16];
            for (n, component) in (0..4).filter(|component| mask >> component & 1 != 0).enumerate() {
                if let Some(to) = declared.component_of(component) {
                    rows[16 * vertex + 4 * usize::from(to)..][..4].copy_from_slice(&record[4 * n..][..4]);
                }
            }
        }
    }
    bytes
}

/// Binds the registers of a run to a container.
pub fn bind_registers<'a>(call: &mut Call<'a>, run: &'a Run, memory: &'a Memory) {
    for (register, bound) in &run.registers {
        let slot: u32 = register[1..].parse().unwrap();
        let buffer = |kind: &str, bytes: &'a [u8]| match kind.split(':').collect::<Vec<_>>()[..] {
            ["raw"] => BufferView::raw(bytes),
            ["struct", stride, ..] => BufferView::structured(bytes, stride.parse().unwrap()),
            _ => BufferView::typed(bytes, format(kind, "")),
        };
        // A container need not have all of them.
        let _ = match bound {
            Bound::Constants(bytes) => call.constant_buffer(slot, bytes).map(drop),
            Bound::Sampler(state) => call.sampler(slot, *state).map(drop),
            Bound::Read(kind, bytes) => match memory.images.get(register) {
                Some(image) => call.texture(slot, image).map(drop),
                None => call.buffer(slot, buffer(kind, bytes)).map(drop),
            },
            Bound::Written(kind, _) => {
                let bytes = &memory.buffers[register];
                let view = match (kind.split(':').collect::<Vec<_>>().as_slice(), textures::layout(&spelt(kind))) {
                    (_, Some(layout)) => MemoryView::image(bytes, layout),
                    (["raw"], _) => MemoryView::raw(bytes),
                    (["struct", stride, ..], _) => MemoryView::structured(bytes, stride.parse().unwrap())
                        .counter(&memory.buffers[&format!("{register}.counter")]),
                    _ => MemoryView::typed(bytes, format(kind, "")),
                };
                call.unordered_access(slot, view).map(drop)
            }
        };
    }
}
