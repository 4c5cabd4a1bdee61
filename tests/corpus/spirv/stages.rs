//! Pipelines of geometry and tessellation: the streams of all stages as SPIR-V, against those of the containers of the
//! same sources.

use super::bound::{Memory, Run, bind, bind_registers, inputs};
use super::{Row, map, places};
use crate::{data, names, read};
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, Config, Draw, DrawVertices, Engine, Lanes, Shader, Stream, Topology,
    Vectors, VertexBufferView,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Pipelines whose modules say something else than their source: of four streams compilers make one, and what a
/// patch-constant function reads of the control points that were made `glslang` leaves undefined (`OpUndef`).
const OTHERWISE: [(&str, &str); 3] = [("gs_mixstreams", ""), ("tess_curve", "glslang"), ("tess_line", "glslang")];

/// The stages of a run, in their order, by the name of the container.
struct Pipeline {
    stages: Vec<(&'static str, String)>,
    topology: Topology,
    instances: u32,
    run: Run,
}

impl Pipeline {
    fn parse(folder: &Path, command: &str) -> Option<Pipeline> {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let value = |option: &str| words.iter().position(|word| *word == option).map(|at| words[at + 1]);
        let named = ["--vs", "--hs", "--ds", "--gs"].map(|stage| (stage, value(stage)));
        let stages = named.into_iter().filter_map(|(stage, file)| Some((stage, file?.to_string()))).collect();
        let topology = match value("--topology")? {
            "point" => Topology::PointList,
            "line" => Topology::LineList,
            "tri" => Topology::TriangleList,
            "lineadj" => Topology::LineListAdjacency,
            "linestripadj" => Topology::LineStripAdjacency,
            "triadj" => Topology::TriangleListAdjacency,
            "tristripadj" => Topology::TriangleStripAdjacency,
            patch => Topology::PatchList(patch.strip_prefix("patch")?.parse().ok()?),
        };
        let mut run = Run::registers_of(folder, command);
        run.input = value("--in").map_or(Vec::new(), |file| read(&folder.join(file)));
        let instances = value("--instances").map_or(1, |count| count.parse().unwrap());
        Some(Pipeline { stages, topology, instances, run })
    }

    /// Runs all stages. `codes` and `calls` are in their order, `streams` are what the vertex shader reads.
    fn draw(&self, calls: &[Call<'_>], count: u32) -> Vec<Stream> {
        let at = |name: &str| self.stages.iter().position(|(stage, _)| *stage == name).map(|at| &calls[at]);
        let mut draw = Draw::new(&calls[0], self.topology);
        if let (Some(hull), Some(domain)) = (at("--hs"), at("--ds")) {
            draw = draw.tessellation(hull, domain);
        }
        if let Some(geometry) = at("--gs") {
            draw = draw.geometry(geometry);
        }
        draw.run(DrawVertices::Count(count), 0..self.instances).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn compile(engine: &Engine, bytes: &[u8], options: &CompileOptions) -> Arc<CompiledShader> {
    let shader = Shader::parse(bytes).unwrap();
    engine.compile(&shader, options).unwrap_or_else(|error| panic!("{error}"))
}

/// What the containers give.
fn of_containers(engine: &Engine, pipeline: &Pipeline, folder: &Path) -> Vec<Stream> {
    let options = CompileOptions::default();
    let codes: Vec<_> =
        pipeline.stages.iter().map(|(_, file)| compile(engine, &read(&folder.join(file)), &options)).collect();
    let memory = Memory::new(&pipeline.run);
    let stride = 16 * codes[0].interface().inputs.len().max(1);
    let mut calls: Vec<Call<'_>> = Vec::new();
    for code in &codes {
        let mut call = code.call();
        call.unbound_as_zero(true).reinterpret_inputs(true);
        bind_registers(&mut call, &pipeline.run, &memory);
        calls.push(call);
    }
    for number in 0..codes[0].interface().inputs.len() {
        let bytes = pipeline.run.input.get(16 * number..).unwrap_or_default();
        calls[0].input_element(number, VertexBufferView::u32x4(bytes, stride)).unwrap();
    }
    pipeline.draw(&calls, (pipeline.run.input.len() / stride) as u32)
}

/// What modules give, with the rows of the map of each.
fn of_modules(
    engine: &Engine,
    pipeline: &Pipeline,
    modules: &[(Vec<u8>, &[Row])],
    elements: &[String],
    options: &CompileOptions,
) -> Vec<Stream> {
    let codes: Vec<_> = modules.iter().map(|(bytes, _)| compile(engine, bytes, options)).collect();
    let memory = Memory::new(&pipeline.run);
    let streams = inputs(&codes[0], modules[0].1, &pipeline.run, elements);
    let mut calls: Vec<Call<'_>> = Vec::new();
    for (code, (_, rows)) in codes.iter().zip(modules) {
        let mut call = code.call();
        call.reinterpret_inputs(true);
        bind(&mut call, code, rows, &pipeline.run, &memory);
        calls.push(call);
    }
    for (&location, bytes) in &streams {
        calls[0].input("LOCATION", location, VertexBufferView::u32x4(bytes, 16)).unwrap();
    }
    pipeline.draw(&calls, (pipeline.run.input.len() / (16 * elements.len()).max(1)) as u32)
}

/// The semantic that Direct3D has for a builtin.
fn system_value(built_in: &str) -> Option<&'static str> {
    Some(match built_in {
        "Position" => "SV_Position",
        "Layer" => "SV_RenderTargetArrayIndex",
        "ViewportIndex" => "SV_ViewportArrayIndex",
        "PrimitiveId" => "SV_PrimitiveID",
        "ClipDistance" => "SV_ClipDistance",
        _ => return None,
    })
}

/// How many elements of the vertices of a module's stream are those of the container's, or the first difference.
fn difference(found: &[Stream], wanted: &[Stream], rows: &[Row]) -> Result<usize, String> {
    if found.len() != wanted.len() {
        return Err(format!("{} streams, not {}", found.len(), wanted.len()));
    }
    let mut compared = 0;
    for (found, wanted) in found.iter().zip(wanted) {
        if (found.topology, &found.indices, &found.ids) != (wanted.topology, &wanted.indices, &wanted.ids) {
            let counts = [found, wanted].map(|stream| stream.indices.len());
            return Err(format!("other primitives: {} vertices, not {}", counts[0], counts[1]));
        }
        // Semantic and index here and there, and which of our components there are which.
        let mut pairs: Vec<(&str, u32, String, u8)> = Vec::new();
        for row in rows.iter().filter(|row| row[0] == "out") {
            let own = places(row).into_iter().map(|(location, semantic, mask)| ("LOCATION", location, semantic, mask));
            pairs.extend(own);
            if let Some(semantic) = row[1].strip_prefix("builtin ").and_then(system_value) {
                pairs.push((semantic, 0, format!("{semantic}0"), 0xf));
            }
        }
        for (semantic, index, name, mask) in pairs {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let there = wanted.vertices.find(stem, name[stem.len()..].parse().unwrap());
            let here = found.vertices.find(semantic, index);
            let (Some(here), Some(there)) = (here, there) else { continue };
            let element = &found.vertices.elements()[here];
            let count = wanted.vertices.elements()[there].components() as usize;
            let components: Vec<usize> = (0..4u8)
                .filter(|component| mask >> component & 1 != 0)
                .filter_map(|component| element.component_of(component).map(usize::from))
                .take(count)
                .collect();
            for vertex in 0..wanted.vertices.len() {
                let (ours, theirs) = (found.vertices.get(vertex, here), wanted.vertices.get(vertex, there));
                for (n, &component) in components.iter().enumerate() {
                    let (a, b) = (f32::from_bits(ours[component]), f32::from_bits(theirs[n]));
                    let is_close = ours[component] == theirs[n] || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) + 1e-5;
                    if !(is_close || a.is_nan() && b.is_nan()) {
                        return Err(format!("vertex {vertex} {name}.{n}: {a}, not {b}"));
                    }
                }
            }
            compared += 1;
        }
    }
    Ok(compared)
}

#[test]
fn pipelines_make_the_streams_that_their_containers_make() {
    let map = map();
    let config = Config::default();
    let separate = Engine::new(config.clone().fused_mad(false)).unwrap();
    let narrow = Engine::new(config.clone().vectors(Vectors::Cranelift)).unwrap();
    let engines = [Engine::new(config).unwrap(), narrow, separate];
    let only = std::env::var("SPIRV_CASE").unwrap_or_default();
    let (mut pipelines, mut compared, mut failures) = (BTreeMap::<&str, usize>::new(), 0, Vec::new());
    let root = data().join("dxbc");
    for case in names(&root).into_iter().filter(|case| case.starts_with("gs_") || case.starts_with("tess_")) {
        let folder = root.join(&case);
        for command in names(&folder).into_iter().filter(|name| name.ends_with(".cmd")) {
            let text = String::from_utf8(read(&folder.join(&command))).unwrap();
            let Some(pipeline) = Pipeline::parse(&folder, &text) else { continue };
            for compiler in ["glslang", "glslangOs", "dxc", "vkd3d"] {
                let what = format!("{case}/{command} {compiler}");
                if !what.contains(&only)
                    || OTHERWISE.iter().any(|(other, by)| case == *other && compiler.starts_with(by))
                {
                    continue;
                }
                let mut modules: Vec<(Vec<u8>, &[Row])> = Vec::new();
                for (_, container) in &pipeline.stages {
                    let stem = container.trim_end_matches(".fxc101.dxbc");
                    // Where optimisation changed nothing, there is one of both.
                    let other = if compiler == "glslangOs" { "glslang" } else { compiler };
                    let found = [compiler, other].into_iter().find_map(|compiler| {
                        let file = format!("{stem}.{compiler}.spv");
                        let rows = map.get(&(case.clone(), file.clone()))?;
                        Some((read(&data().join("spirv").join(&case).join(file)), rows.as_slice()))
                    });
                    modules.extend(found);
                }
                if modules.len() != pipeline.stages.len() {
                    continue;
                }
                let container = Shader::parse(&read(&folder.join(&pipeline.stages[0].1))).unwrap();
                let elements = container.interface(&CompileOptions::default()).unwrap().inputs;
                let elements: Vec<String> =
                    elements.iter().map(|element| format!("{}{}", element.semantic, element.index)).collect();
                let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let mut results = Vec::new();
                    for engine in &engines {
                        let mut first: Option<Vec<Stream>> = None;
                        for lanes in Lanes::ALL {
                            let options = CompileOptions::default().lanes(lanes);
                            for options in [options.clone().backend(Backend::Interpreter), options] {
                                let found = of_modules(engine, &pipeline, &modules, &elements, &options);
                                let first = first.get_or_insert_with(|| found.clone());
                                assert!(*first == found, "{what}: {lanes:?} lanes differ from the interpreter");
                            }
                        }
                        results.push((first.unwrap(), of_containers(engine, &pipeline, &folder)));
                    }
                    let rows = modules.last().unwrap().1;
                    let differences: Vec<_> =
                        results.iter().map(|(found, wanted)| difference(found, wanted, rows)).collect();
                    // Containers fuse other products with their sums than modules do.
                    differences.iter().find(|result| result.is_ok()).unwrap_or(&differences[0]).clone()
                }));
                match attempt {
                    Ok(Ok(count)) => {
                        compared += count;
                        *pipelines.entry(compiler).or_default() += 1;
                    }
                    Ok(Err(difference)) => failures.push(format!("{what}: {difference}")),
                    Err(_) => failures.push(format!("{what}: panicked")),
                }
            }
        }
    }
    println!("{pipelines:?} pipelines, {compared} elements compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let all = BTreeMap::from([("dxc", 45), ("glslang", 35), ("glslangOs", 35), ("vkd3d", 49)]);
    assert!(!only.is_empty() || pipelines == all, "{pipelines:?}");
}
