//! Made-up pixels, against what the containers of the same sources make of them.

use super::bound::{Bound, Memory, Run, bind, bind_registers};
use super::{Row, map, places};
use crate::{data, names, read};
use shaderjit::{Call, CompileOptions, CompiledShader, Config, Engine, Shader, VertexBufferView};
use std::collections::BTreeMap;

/// What pixels give: a text of targets, depth, discards and memory, by name.
type Shaded = BTreeMap<String, Vec<u32>>;

/// Pixels of a run.
const PIXELS: usize = 32;

/// The words of an input element of made-up pixels, in quads.
fn made_up(element: &shaderjit::Element, pixel: usize) -> [u32; 4] {
    let (quad, lane) = (pixel / 4, pixel % 4);
    let (x, y) = ((2 * (quad % 4) + lane % 2) as f32, (2 * (quad / 4) + lane / 2) as f32);
    match element.semantic.to_ascii_uppercase().as_str() {
        // The reciprocal of 1 is what Vulkan has in its place.
        "SV_POSITION" => [x + 0.5, y + 0.5, 0.25, 1.0].map(f32::to_bits),
        "SV_ISFRONTFACE" => [if quad % 2 == 0 { u32::MAX } else { 0 }, 0, 0, 0],
        "SV_PRIMITIVEID" => [quad as u32, 0, 0, 0],
        "SV_SAMPLEINDEX" => [0; 4],
        "SV_COVERAGE" => [1, 0, 0, 0],
        name => {
            let seed = (name.bytes().map(u32::from).sum::<u32>() % 7 + element.index) as f32;
            let float = |c: usize| 0.1 * seed + 0.11 * x * (1 + c % 2) as f32 + 0.07 * y - 0.05 * c as f32;
            [0, 1, 2, 3].map(|c| match element.ty.is_integer() {
                true => (quad as u32 + seed as u32 + c as u32) % 5,
                false => float(c).to_bits(),
            })
        }
    }
}

/// Shades made-up pixels. `input` gives the words of an element, `bind` binds the rest, `name` says what an output is
/// called.
fn shade<'a>(
    code: &'a CompiledShader,
    memory: &Memory,
    input: impl Fn(&shaderjit::Element, usize) -> [u32; 4],
    bind: impl FnOnce(&mut Call<'a>),
    name: impl Fn(&shaderjit::Element) -> Vec<(String, Vec<usize>)>,
) -> Shaded {
    let elements = code.interface().signature_inputs();
    let streams: Vec<Vec<u8>> = elements
        .iter()
        .map(|element| (0..PIXELS).flat_map(|pixel| input(element, pixel)).flat_map(u32::to_le_bytes).collect())
        .collect();
    let mut shaded = Shaded::new();
    let outputs = {
        let mut call = code.call();
        call.reinterpret_inputs(true).unbound_as_zero(true);
        bind(&mut call);
        // Streams live shorter than what is bound for good.
        let mut call: Call<'_> = call;
        for (number, stream) in streams.iter().enumerate() {
            call.input_element(number, VertexBufferView::u32x4(stream, 16)).unwrap();
        }
        call.run(0..PIXELS as u32).unwrap()
    };
    let discarded: Vec<u32> = outputs.discarded().map(u32::from).collect();
    for element in code.interface().signature_outputs() {
        let Some(output) = outputs.output(&element.semantic, element.index) else { continue };
        for (name, components) in name(element) {
            let words = output.iter().zip(&discarded).flat_map(|(bits, &discarded)| {
                // Of a discarded pixel nothing counts.
                components.iter().map(move |&c| if discarded == 0 { bits[c] } else { 0 }).collect::<Vec<u32>>()
            });
            shaded.insert(name, words.collect());
        }
    }
    if discarded.contains(&1) {
        shaded.insert("discarded".to_string(), discarded);
    }
    for (register, buffer) in memory.buffers.iter().filter(|(register, _)| !register.contains('.')) {
        let bytes = buffer.to_bytes();
        shaded.insert(register.clone(), bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect());
    }
    shaded
}

/// Whether a module has made memory of a typed view whose elements have one word each: `vkd3d`, which sees no format
/// in a container, stores of `RWBuffer<float4>` the first component alone, one word behind the other.
fn is_narrower(register: &str, run: &Run, rows: &[Row]) -> bool {
    let is_typed = matches!(run.registers.get(register), Some(Bound::Written(kind, _)) if kind.starts_with("buf:rg"));
    is_typed && rows.iter().any(|row| row[0] == "res" && row[4] == register && row[5] == "ssbo")
}

#[test]
fn pixel_shaders_do_what_their_containers_do() {
    /// Modules of which something else is to be expected: derivatives without a word about how fine they are, which
    /// shader model 4.0 has finer than we take `OpDPdx` for; coverage, which `glslang` leaves out; and levels of detail
    /// that DXC takes unclamped, whatever the source says.
    const OTHERWISE: [&str; 6] = [
        "ps_deriv/PS4.ps_4_0",
        "ps_derivs2/P4.ps_4_0",
        "ps_msaa/PC.ps_5_0.glslang",
        "ps_msaa/PSS.ps_5_0.glslang",
        "ps_mips/PS.ps_5_0.dxc",
        "ps_cube3d/PS.ps_5_0.dxc",
    ];
    let map = map();
    let engine = Engine::new(Config::default()).unwrap();
    let only = std::env::var("SPIRV_CASE").unwrap_or_default();
    let (mut compared, mut failures) = (0, Vec::new());
    for ((case, file), rows) in &map {
        let is_pixel = rows.iter().any(|row| row[0] == "entry" && row[2] == "Fragment");
        let what = format!("{case}/{file}");
        if !is_pixel || !what.contains(&only) || OTHERWISE.iter().any(|other| what.starts_with(other)) {
            continue;
        }
        let (folder, dxbc) = (data().join("spirv").join(case), data().join("dxbc").join(case));
        let mut parts = file.split('.');
        let (entry, profile) = (parts.next().unwrap(), parts.next().unwrap());
        let container = dxbc.join(format!("{entry}.{profile}.fxc101.dxbc"));
        if !folder.join(file).exists() || !container.exists() {
            continue;
        }
        let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let command = names(&dxbc).into_iter().find(|name| {
                name.ends_with(".cmd")
                    && String::from_utf8_lossy(&read(&dxbc.join(name))).contains(&format!("--ps {entry}."))
            });
            let text = command.map_or(String::new(), |name| String::from_utf8(read(&dxbc.join(name))).unwrap());
            let run = Run::registers_of(&dxbc, &text);
            let compile = |bytes: &[u8]| {
                let shader = Shader::parse(bytes).unwrap();
                engine.compile(&shader, &CompileOptions::default()).unwrap_or_else(|error| panic!("{error}"))
            };
            let (theirs, ours) = (compile(&read(&container)), compile(&read(&folder.join(file))));
            let memory = Memory::new(&run);
            let wanted = shade(
                &theirs,
                &memory,
                made_up,
                |call| bind_registers(call, &run, &memory),
                |element| {
                    let all = (0..element.components() as usize).collect();
                    vec![(format!("{}{}", element.semantic.to_ascii_uppercase(), element.index), all)]
                },
            );
            let memory = Memory::new(&run);
            let inputs: Vec<(u32, String, u8)> = rows.iter().filter(|row| row[0] == "in").flat_map(places).collect();
            let input = |element: &shaderjit::Element, pixel: usize| {
                if element.semantic != "LOCATION" {
                    return made_up(element, pixel);
                }
                let mut words = [0; 4];
                for (_, semantic, mask) in inputs.iter().filter(|(location, ..)| *location == element.index) {
                    let is_it = |other: &&shaderjit::Element| {
                        format!("{}{}", other.semantic, other.index).eq_ignore_ascii_case(semantic)
                    };
                    let Some(other) = theirs.interface().inputs.iter().find(is_it) else { continue };
                    let given = made_up(other, pixel);
                    for (n, component) in (0..4u8).filter(|component| mask >> component & 1 != 0).enumerate() {
                        if let Some(to) = element.component_of(component) {
                            words[usize::from(to)] = given[n];
                        }
                    }
                }
                words
            };
            let outputs: Vec<(u32, String, u8)> = rows.iter().filter(|row| row[0] == "out").flat_map(places).collect();
            let found = shade(
                &ours,
                &memory,
                input,
                |call| bind(call, &ours, rows, &run, &memory),
                |element| {
                    if element.semantic != "SV_Target" {
                        return vec![(format!("{}{}", element.semantic.to_ascii_uppercase(), element.index), vec![0])];
                    }
                    let here = outputs.iter().filter(|(location, ..)| *location == element.index);
                    let named = here.map(|(_, name, mask)| {
                        let components = (0..4u8).filter(|component| mask >> component & 1 != 0);
                        let components = components.filter_map(|component| element.component_of(component));
                        (name.to_ascii_uppercase(), components.map(usize::from).collect())
                    });
                    named.collect()
                },
            );
            let mut differences = Vec::new();
            for (name, found) in &found {
                let Some(wanted) = wanted.get(name) else { continue };
                if is_narrower(name, &run, rows) {
                    continue;
                }
                let near = |(&a, &b): (&u32, &u32)| {
                    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                    a == b || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-4 * (x.abs() + y.abs()) + 1e-5
                };
                if let Some(at) = (0..found.len().min(wanted.len())).find(|&at| !near((&found[at], &wanted[at]))) {
                    differences.push(format!(
                        "{name} word {at}: {:08x} ({}) not {:08x} ({})",
                        found[at],
                        f32::from_bits(found[at]),
                        wanted[at],
                        f32::from_bits(wanted[at])
                    ));
                }
            }
            (found.keys().filter(|name| wanted.contains_key(*name)).count(), differences)
        }));
        match attempt {
            Ok((count, differences)) => {
                compared += count;
                failures.extend(differences.into_iter().map(|difference| format!("{what}: {difference}")));
            }
            Err(_) => failures.push(format!("{what}: panicked")),
        }
    }
    println!("{compared} outputs compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
